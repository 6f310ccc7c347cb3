"""What changed between two wordings, word by word: the old struck, the new underlined."""

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import NamedTuple

from keepbook.patterns import regex


class DiffPiece(NamedTuple):
    """A run of text that is `same`, `gone` or `new`."""

    kind: str
    text: str


_WORDS = regex(r"\s+|\[[^\[\]]{1,200}\]|\w+(?:[.,:]\d+)*|[^\w\s]")
"""A figure is one word, and so is what was exchanged, with its brackets."""
MOST_WORDS = 2_000
"""Longer texts are shown as one replaced by the other: comparing them would take longer than reading them."""


def word_diff(before: str, after: str) -> list[DiffPiece]:
    """The pieces in reading order; what is gone stands before what took its place."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    if max(len(old), len(new)) > MOST_WORDS:
        return [DiffPiece("gone", before), DiffPiece("new", after)]
    return [piece for piece in _pieces(old, new) if piece.text]


def _pieces(old: list[str], new: list[str]) -> Iterator[DiffPiece]:
    """A space or comma that happens to be the same between two changes is part of one change: so it reads better."""
    runs = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    gone = fresh = ""
    for number, (what, a, b, c, d) in enumerate(runs):
        inner = 0 < number < len(runs) - 1
        if what == "equal" and not (inner and not any(word[0].isalnum() for word in old[a:b])):
            yield from (DiffPiece("gone", gone), DiffPiece("new", fresh), DiffPiece("same", "".join(old[a:b])))
            gone = fresh = ""
        else:
            gone += "".join(old[a:b])
            fresh += "".join(new[c:d])
    yield from (DiffPiece("gone", gone), DiffPiece("new", fresh))
