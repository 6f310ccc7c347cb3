"""Walks the chain: checks that every link follows the one before it, and every digest what it covers.

Links are the entries of the ledger and the covers between them. They are read as streams, in step with the versions
that entries made and the seals that covers count, so that a long ledger needs no more memory than a short one.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import Any

from keepbook.book.ledger import cover
from keepbook.book.ledger.ledger import digest_fields, digest_of, entry_hash

LinkSeen = Callable[[int, str], None]
"""Hears of each link that holds: its number and its hash."""


@dataclass(frozen=True, slots=True)
class Break:
    """The place where the chain does not hold: a link, the entry it is, or a row and the link that covers it."""

    link: int
    why: str
    event: int | None = None
    table: str | None = None
    row: str | None = None


class InStep:
    """A stream of rows ordered by a number, read forward: `row_at(number)` skips rows with smaller numbers."""

    def __init__(self, rows: Iterable[Any], number: Callable[[Any], int]) -> None:
        self._rows, self._number = iter(rows), number
        self._next: Any = next(self._rows, None)

    def row_at(self, number: int) -> Any:
        """The row of this number, if there is one. Rows before it are skipped."""
        found = None
        while self._next is not None and self._number(self._next) <= number:
            if self._number(self._next) == number:
                found = self._next
            self._next = next(self._rows, None)
        return found


@dataclass(slots=True)
class ChainWalk:
    """How far a walk along the chain came, and what stopped it."""

    entries: int = 0
    links: int = 0
    seals: int = 0
    hash: str = ""
    stopped: Break | None = None


# Rules


def walk_chain(
    entries: Iterable[Any],
    covers: Iterable[Any],
    texts: Iterable[Any],
    seals: Iterable[Any],
    erased: set[str],
    seen: LinkSeen = lambda *_: None,
) -> ChainWalk:
    """Check an owner's chain link by link. `entries` and `covers` come ordered by link, `texts` (versions) by the entry
    that made them, `seals` by number. `seen` is called with each link that holds, and its hash."""
    walked, made, left = ChainWalk(), InStep(texts, lambda row: row.event), iter(seals)
    for row in merge(entries, covers, key=lambda row: row.link):
        is_entry = hasattr(row, "seq")
        walked.links += 1
        walked.entries += is_entry
        why = _entry_break(row, walked, made, erased) if is_entry else _cover_break(row, walked, left)
        if why is not None:
            # A cover out of step: what is missing before it may be the next entry.
            event = walked.entries if is_entry else walked.entries + 1 if row.link != walked.links else None
            walked.stopped = Break(walked.links, why, event)
            return walked
        walked.hash = row.hash
        seen(walked.links, row.hash)
    if (loose := next(left, None)) is not None:
        walked.stopped = Break(walked.links, "a seal stands in the book that no link covers", None, loose.what)
    return walked


def _entry_break(row: Any, walked: ChainWalk, made: InStep, erased: set[str]) -> str | None:
    if row.seq != walked.entries or row.link != walked.links:
        return "an entry is missing before it"
    if row.previous != walked.hash or entry_hash(row._mapping) != row.hash:
        return "its hash does not fit: the entry or one before it was altered"
    version = made.row_at(row.seq)
    if row.salt is None:
        if row.memory_id not in erased and row.other_id not in erased:
            return "its text was blanked without an erasure"
        if row.before is not None or row.after is not None:
            return "it was blanked, and words were put into the blank"
        return None
    text = None if version is None else digest_fields(version._mapping)
    if digest_of(row.salt, row.before, row.after, text) != row.digest:
        return "what it recorded, or the text it made, was altered"
    return None


def _cover_break(row: Any, walked: ChainWalk, seals: Iterator[Any]) -> str | None:
    if row.link != walked.links:
        return "a link is missing before it"
    if row.previous != walked.hash or cover.cover_hash(row._mapping) != row.hash:
        return "its hash does not fit: the link or one before it was altered"
    if row.first != walked.seals + 1:
        return "seals are missing before it"
    batch = cover.Batch()
    for seal in islice(seals, row.last - row.first + 1):
        walked.seals += 1
        if seal.nth != walked.seals:
            return f"the seal before {seal.nth} is missing"
        batch.add(seal.nth, seal.what, seal.key, seal.was, seal.digest)
    if walked.seals != row.last or batch.digest() != row.digest:
        return "a seal that it covers was altered, or is missing"
    return None
