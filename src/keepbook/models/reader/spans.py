"""From tokens to pieces: where the learned cut lets a piece begin, and which letters a run of tokens stands for.

The cut gives every token the chance that a piece begins with it. Where a sentence seems to start, less is asked than
inside one; inside a word nothing begins.
"""

from collections.abc import Sequence
from typing import NamedTuple

from keepbook.models.reader.cuts import starts_word
from keepbook.models.reader.windows import Coded, Run

AT_BREAK, INSIDE = 0.2, 0.5
"""The chance from which on a piece begins at a seeming sentence start, and elsewhere."""


def begins(text: str, coded: Coded, run: Run, chances: Sequence[float]) -> list[int]:
    """The tokens of the run (counted in the turn) with which a piece begins."""
    breaks = set(coded.breaks)
    found = [run.first]
    for step in range(1, run.size):
        token = run.first + step
        bar = AT_BREAK if token in breaks else INSIDE
        if chances[step] > bar and starts_word(text, coded.offsets[token][0]):
            found.append(token)
    return found


class Stretch(NamedTuple):
    """A piece: its tokens in the window (from `first` on, before `until`), and its letters in the turn."""

    first: int
    until: int
    start: int
    end: int


def stretches(text: str, coded: Coded, run: Run, chances: Sequence[float]) -> list[Stretch]:
    """The pieces of a run: their letters lie side by side, and those of all runs of a turn make up its text."""
    starts = begins(text, coded, run, chances)
    last = run.first + run.size
    letters = [0 if token == 0 else coded.offsets[token][0] for token in starts]
    letters.append(coded.offsets[last][0] if last < len(coded.ids) else len(text))
    shift = run.at - run.first
    return [
        Stretch(first + shift, until + shift, start, end)
        for first, until, start, end in zip(starts, [*starts[1:], last], letters, letters[1:], strict=False)
    ]
