"""Regular expressions that are compiled by the first text they meet: a command without one does not wait for them."""

import re
from typing import Any, cast


def regex(text: str, flags: int = 0) -> re.Pattern[str]:
    """A regular expression, to be asked by its methods."""
    return cast("re.Pattern[str]", _Uncompiled(text, flags))


class _Uncompiled:
    def __init__(self, text: str, flags: int) -> None:
        self._told = text, flags

    def __getattr__(self, name: str) -> Any:
        """What the compiled expression has; asked once, it is at hand from then on."""
        asked = getattr(re.compile(*self._told), name)
        setattr(self, name, asked)
        return asked
