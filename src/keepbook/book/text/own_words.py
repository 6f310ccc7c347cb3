"""Finds the person's own words in a message, and how much of them is read.

Text between fences or after ">" is pasted and counts as nobody's word. Of the rest at most `MOST` letters are read,
half from the beginning and half from the end, since people say what they want first or last. The message is searched
once for these marks alone, so a very long one costs hardly more than a usual one.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from keepbook.patterns import regex

MOST = 8_000
"""How many letters of a person's own words in one message are read."""
_NEAR = 100
"""Within how many letters a blank is looked for, so that a cut lies between words."""

Offsets = tuple[int, int]

_MARKED = regex(r"^ {0,3}(?:(?P<fence>`{3,}|~{3,})[^\n]*(?:\n|\Z)|>[^\n]*(?:\n {0,3}>[^\n]*)*+(?:\n|\Z))", re.MULTILINE)
"""Matches a fence, or successive lines that begin with ">"."""


class OwnWords(NamedTuple):
    """The stretches of a message that are read, in order; and whether own words beyond them, or pasted text, are left
    out."""

    spans: list[Offsets]
    unread: bool
    pasted: bool


def own_words(text: str) -> list[Offsets]:
    """The stretches of a message that are the person's own words and are read."""
    return read_own_words(text).spans


def read_own_words(text: str) -> OwnWords:
    """The person's own words in a message, and whether something of it was left unread."""
    pasted = list(_pasted_parts(text))
    own = _between(pasted, text)
    total = sum(end - start for start, end in own)
    if total <= MOST:
        return OwnWords(own, False, bool(pasted))
    return OwnWords([*_first(own, text), *_last(own, text)], True, bool(pasted))


def without_pasted(text: str) -> str:
    """The message with blanks in place of what is not read, so that every letter keeps its place."""
    parts: list[str] = []
    done = 0
    for start, end in [*own_words(text), (len(text), len(text))]:
        parts.append(_blanks(text[done:start]))
        parts.append(text[start:end])
        done = end
    return "".join(parts)


def _blanks(text: str) -> str:
    """As many blanks as the text has letters; line breaks stay."""
    return "\n".join(" " * len(line) for line in text.split("\n"))


def _pasted_parts(text: str) -> Iterator[Offsets]:
    """Fences with what stands between them (an open one reaches to the end), and lines quoted behind ">"."""
    opened: tuple[int, str] | None = None
    for marked in _MARKED.finditer(text):
        fence = marked["fence"]
        if opened is not None:
            if fence is not None and _closes(opened[1], fence, marked[0]):
                yield opened[0], marked.end()
                opened = None
        elif fence is not None:
            opened = marked.start(), fence
        elif _quotes(marked[0]):
            yield marked.span()
    if opened is not None:
        yield opened[0], len(text)


def _closes(opening: str, fence: str, line: str) -> bool:
    return fence.startswith(opening) and line.strip() == fence


def _quotes(lines: str) -> bool:
    """Whether lines are quoted: words stand behind their ">", not a number ("> 200 is too much")."""
    return lines.lstrip("> \t\n")[:1].isalpha()


def _between(taken: list[Offsets], text: str) -> list[Offsets]:
    """The stretches between those that are read, if they have more than blanks."""
    edges = [0, *(edge for span in taken for edge in span), len(text)]
    free = zip(edges[::2], edges[1::2], strict=True)
    return [(start, end) for start, end in free if start < end and not text[start:end].isspace()]


def _first(own: list[Offsets], text: str) -> Iterator[Offsets]:
    left = MOST // 2
    for start, end in own:
        if end - start >= left:
            yield start, _cut_before(text, start, start + left)
            return
        yield start, end
        left -= end - start


def _last(own: list[Offsets], text: str) -> list[Offsets]:
    left = MOST // 2
    found: list[Offsets] = []
    for start, end in reversed(own):
        if end - start >= left:
            found.append((_cut_after(text, end - left, end), end))
            break
        found.append((start, end))
        left -= end - start
    return found[::-1]


def _cut_before(text: str, start: int, at: int) -> int:
    """The last end of a word before `at`; `at` itself if no blank is near."""
    return next((cut for cut in range(at, max(start, at - _NEAR), -1) if text[cut - 1].isspace()), at)


def _cut_after(text: str, at: int, end: int) -> int:
    """The first beginning of a word after `at`; `at` itself if no blank is near."""
    return next((cut + 1 for cut in range(at, min(end - 1, at + _NEAR)) if text[cut].isspace()), at)
