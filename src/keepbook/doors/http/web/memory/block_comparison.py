"""Two blocks side by side: what a new chat was given then, and what it is given now.

Lines are matched by the memory they show, not by their words, so a memory that says something else is one row with the
changed words marked, and one that only moved is the same row.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

from keepbook.book.memory.block import ComposedBlock
from keepbook.book.text.block_lines import LINE, MORE
from keepbook.doors.http.web.frame.diff import DiffPiece, word_diff


class ComparedLine(NamedTuple):
    """A line of a block; `key` is the same for the same thing in another block."""

    key: tuple[str, str]
    text: str


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One line of two blocks side by side: `same`, `changed`, `gone` or `new`. The missing side is empty."""

    kind: str
    of: str  # a heading, a memory, or text around them
    then: Sequence[DiffPiece]
    now: Sequence[DiffPiece]


@dataclass(frozen=True, slots=True)
class Comparison:
    rows: Sequence[ComparedRow]

    def count(self, kind: str) -> int:
        """How many memories are that."""
        return sum(row.kind == kind for row in self.rows if row.of == "memory")


def compare(then: ComposedBlock, now: ComposedBlock) -> Comparison:
    old, new = lines(then), lines(now)
    shown_then = {line.key: line.text for line in old}
    shown_now = {line.key for line in new}
    rows = [_row(key, shown_then.get(key), text) for key, text in _merge_lines(old, new, shown_now)]
    return Comparison(rows)


def lines(rendered: ComposedBlock) -> list[ComparedLine]:
    """The lines of a block, each with what tells it from the others."""
    found, heading = list[ComparedLine](), ""
    for number, line in enumerate(rendered.lines):
        if line.kind == LINE:
            found.append(ComparedLine((heading, line.id or ""), line.whole))
        elif line.mark:
            heading = line.whole
            found.append(ComparedLine(("#", heading), line.text))
        elif line.kind == MORE:
            found.append(ComparedLine(("text", "last"), line.text))
        else:
            found += [
                ComparedLine(("text", f"{number}.{at}"), text) for at, text in enumerate(line.text.split("\n")) if text
            ]
    return found


def _merge_lines(
    old: Sequence[ComparedLine], new: Sequence[ComparedLine], shown_now: set[tuple[str, str]]
) -> Iterator[tuple[tuple[str, str], str | None]]:
    """All lines in the order of now, with what is gone where it stood."""
    before, after = [line.key for line in old], [line.key for line in new]
    for what, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if what != "equal":
            yield from ((line.key, None) for line in old[a:b] if line.key not in shown_now)
        yield from ((line.key, line.text) for line in new[c:d])


def _row(key: tuple[str, str], then: str | None, now: str | None) -> ComparedRow:
    of = {"#": "heading", "text": "text"}.get(key[0], "memory")
    if then is None:
        return ComparedRow("new", of, (), [DiffPiece("same", now or "")])
    if now is None:
        return ComparedRow("gone", of, [DiffPiece("same", then)], ())
    if then == now:
        return ComparedRow("same", of, [DiffPiece("same", then)], [DiffPiece("same", now)])
    pieces = word_diff(then, now)
    old = [piece for piece in pieces if piece.kind != "new"]
    return ComparedRow("changed", of, old, [piece for piece in pieces if piece.kind != "gone"])
