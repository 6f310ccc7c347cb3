"""Compares two texts word by word, for pages that show the old words struck through and the new ones underlined."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

from keepbook.patterns import regex


class DiffPiece(NamedTuple):
    """A run of text that is `same`, `gone` or `new`."""

    kind: str
    text: str


_WORDS = regex(r"\s+|\[[^\[\]]{1,200}\]|\w+(?:[.,:]\d+)*|[^\w\s]")
"""A number is one word, and so is a text in brackets."""
MOST_WORDS = 2_000
"""Longer texts are not compared: that would take too long. The whole old text is shown as replaced by the new."""


def word_diff(before: str, after: str) -> list[DiffPiece]:
    """The pieces in reading order; a removed piece comes before the one that replaces it."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    if max(len(old), len(new)) > MOST_WORDS:
        return [DiffPiece("gone", before), DiffPiece("new", after)]
    return [piece for piece in _pieces(old, new) if piece.text]


def _pieces(old: list[str], new: list[str]) -> Iterator[DiffPiece]:
    """The pieces of a comparison. Two changes with only spaces or commas between them are joined, which is easier to
    read."""
    runs = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    gone = fresh = ""
    for number, (what, a, b, c, d) in enumerate(runs):
        is_inner = 0 < number < len(runs) - 1
        has_words = any(word[0].isalnum() for word in old[a:b])
        if what == "equal" and (has_words or not is_inner):
            yield from (DiffPiece("gone", gone), DiffPiece("new", fresh), DiffPiece("same", "".join(old[a:b])))
            gone = fresh = ""
        else:
            gone += "".join(old[a:b])
            fresh += "".join(new[c:d])
    yield from (DiffPiece("gone", gone), DiffPiece("new", fresh))
