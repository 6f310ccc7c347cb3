"""The two parts in which the tests run: the core's where no extension can be imported, all others with both.

`KEEPBOOK_TESTS` says which part runs, `core` or `extensions`; where it says nothing, the files of the command line do.
In the core's part neither extension is found, also not by programs that a test starts. `make test` runs one part after
the other; each test is in one of them.
"""

import os
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
WITHOUT = TESTS / "core_alone"
PARTS = ("core", "extensions")

WITH_EXTENSIONS = (
    "bench",
    "contracts",
    "demo",
    "docs",
    "extensions",
)
"""Folders, below tests, of what needs an extension or walks over all that this package has."""


def needs_extensions(path: Path) -> bool:
    return any(path.is_relative_to(TESTS / name) for name in WITH_EXTENSIONS)


def may_have(path: Path, part: str) -> bool:
    """Whether a file or folder has tests of a part."""
    if part == "core":
        return not needs_extensions(path)
    return needs_extensions(path) or any((TESTS / name).is_relative_to(path) for name in WITH_EXTENSIONS)


def named_path(word: str) -> Path:
    """What a word of the command line names, if it is a file, a folder, or a test in one."""
    return Path(word.partition("::")[0]).resolve()


def _named_files() -> Iterator[Path]:
    for word in sys.argv[1:]:
        path = named_path(word)
        if TESTS in path.parents and path.exists():
            yield path


def _choose_part() -> str | None:
    """The part that was asked for, or to which all named files belong."""
    asked = os.environ.get("KEEPBOOK_TESTS")
    if asked is not None:
        return asked
    found = {PARTS[needs_extensions(path)] for path in _named_files()}
    return found.pop() if len(found) == 1 else None


PART = _choose_part()


def check_part(config: pytest.Config) -> None:
    """Tests of both parts cannot run in one process; they can be counted in one."""
    if PART not in PARTS and not config.option.collectonly:
        raise pytest.UsageError(
            "the core's tests run without extensions and all others with them: name tests of one kind, set "
            "KEEPBOOK_TESTS to core or extensions, or run `make test`"
        )


def hide_extensions() -> None:
    """In the core's part, from here on: in this process and in those it starts."""
    if PART is not None:
        os.environ["KEEPBOOK_TESTS"] = PART  # for the workers, whose command line is another
    if PART != "core":
        return
    if loaded := [name for name in sys.modules if name.startswith("keepbook.extensions.")]:
        raise RuntimeError(f"extensions are hidden before any is loaded, not after {loaded}")
    import_module("tests.core_alone.sitecustomize")
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(WITHOUT), before)))


def in_other_part(path: Path) -> bool:
    """Whether a file or folder of the tests belongs to the part that does not run now."""
    if PART == "core":
        return needs_extensions(path)
    return PART == "extensions" and path.suffix == ".py" and not needs_extensions(path)
