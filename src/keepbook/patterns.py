"""Makes every regular expression of the package, and lists them, so that a test can try each on long texts.

Anybody may type a text, so the time that a pattern takes may grow in proportion to the text and no faster (see
`tests/extensions/test_patterns.py`). A pattern is compiled when it is first used, so a command that uses none does not
wait. The module imports no other of ours, because every room has patterns.
"""

import re
import sys
from functools import lru_cache
from typing import Any, NamedTuple, cast

_LOOKING = frozenset(["search", "sub", "subn", "split", "findall", "finditer"])
"""The methods that try a pattern at each letter of a text."""
_ENDLESS = re.compile(r"(?<!\\)(?:\\\\)*(?:[*+]|\{\d*,\})")
"""Finds an unbounded repetition in a pattern: a `*`, `+` or `{2,}` that is not escaped."""


class PatternSource(NamedTuple):
    """A regular expression of the package: its text, flags, module and line, and whether it is anchored (see
    `regex`)."""

    text: str
    flags: int
    where: str
    anchored: bool


_made: dict[tuple[str, int, bool], PatternSource] = {}


def regex(text: str, flags: int = 0, *, anchored: bool = False) -> re.Pattern[str]:
    """A regular expression with the methods of `re.Pattern`. An `anchored` one has only `match` and `fullmatch`, which
    try it at one place. It may then read the whole text, which would be too slow if it were tried at each letter."""
    frame = sys._getframe(1)  # the module `inspect` has a public way, and would cost each command 10 ms
    where = f"{frame.f_globals['__name__']}:{frame.f_lineno}"
    _made.setdefault((text, int(flags), anchored), PatternSource(text, int(flags), where, anchored))
    return cast("re.Pattern[str]", _LazyPattern(text, flags, anchored))


@lru_cache(maxsize=256)
def words_regex(text: str, flags: int = 0) -> re.Pattern[str]:
    """A regular expression around words that are known only at run time. It has no unbounded repetition, so its time
    grows with the text alone, and it needs no listing."""
    if _ENDLESS.search(text):
        raise ValueError(f"this pattern repeats something without a bound: {text}")
    return re.compile(text, flags)


def all_patterns() -> list[PatternSource]:
    """The patterns that were made so far: those of every module that is loaded."""
    return list(_made.values())


class _LazyPattern:
    def __init__(self, text: str, flags: int, anchored: bool) -> None:
        self._source = text, flags
        self._anchored = anchored

    def __getattr__(self, name: str) -> Any:
        """The attribute of the compiled expression, which is kept from the first call on."""
        if self._anchored and name in _LOOKING:
            raise AttributeError(f"a pattern that is anchored knows no {name}")
        method = getattr(re.compile(*self._source), name)
        setattr(self, name, method)
        return method
