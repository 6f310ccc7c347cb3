"""Python without the extensions of this package, for the core's own tests.

Python imports a module of this name before the first line of any program. With this folder on PYTHONPATH, every Python
that a test starts finds neither extension, as if the package had come without them.
"""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from typing import Any

MISSING = ("keepbook.extensions.agents", "keepbook.extensions.trading")


class MissingExtensions(MetaPathFinder):
    """Answers for the extensions of this package, before anybody else does, that there is no such module."""

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: Any = None) -> None:
        if fullname in MISSING:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname, path=str(path))


sys.meta_path.insert(0, MissingExtensions())
