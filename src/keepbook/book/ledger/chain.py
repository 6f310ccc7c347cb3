"""Walks the chain: checks that every link follows the one before it, and every digest what it covers.

Links are the entries of the ledger and the covers between them. They are read as streams, in step with the versions
that entries made and the seals that covers count, so that a long ledger needs no more memory than a short one. If the
book was mended (upkeep/mend.py), the chain before the mend has gaps; it is checked against one digest that was taken
then.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import chain, islice
from typing import Any

from keepbook.book.ledger import cover
from keepbook.book.ledger.ledger import digest_fields, digest_of, entry_hash

LinkSeen = Callable[[int, str], None]
"""Called with each link that holds: its number and its hash."""


@dataclass(frozen=True, slots=True)
class Break:
    """The first place where the book does not hold."""

    link: int
    """The link that breaks, or that covers the row; 0 if no link breaks, but a state differs from its entry."""
    why: str
    event: int | None = None
    """The entry, if the link is one, or a state differs from it."""
    table: str | None = None
    row: str | None = None
    about: tuple[str, str] | None = None
    """The table and id whose state differs from its entry."""


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


class KeptDigest:
    """The digest of the part of the chain that a mend kept: its links, then its seals."""

    def __init__(self) -> None:
        self._sum = hashlib.sha256()
        self.newest: str = ""

    def add_link(self, row: Any) -> None:
        self._sum.update(f"{row.link}\x1e{row.hash}\n".encode())
        self.newest = row.hash

    def add_seal(self, seal: Any) -> None:
        self._sum.update(f"{seal.nth}\x1e{seal.what}\x1e{seal.key}\x1e{seal.was}\x1e{seal.digest}\n".encode())

    def digest(self) -> str:
        return self._sum.hexdigest()


# Rules


def newest_mend(mends: Iterable[Any]) -> Any | None:
    return max(mends, key=lambda row: row.link, default=None)


def walk_chain(
    entries: Iterable[Any],
    covers: Iterable[Any],
    texts: Iterable[Any],
    seals: Iterable[Any],
    erased: set[str],
    seen: LinkSeen = lambda *_: None,
    mends: Sequence[Any] = (),
) -> ChainWalk:
    """Check an owner's chain link by link. `entries` and `covers` come ordered by link, `texts` (versions) by the entry
    that made them, `seals` by number. `seen` is called with each link that holds since the last mend, and its hash."""
    walked = ChainWalk()
    made = InStep(texts, lambda row: row.event)
    left = iter(seals)
    links: Iterator[Any] = merge(entries, covers, key=lambda row: row.link)
    mend = newest_mend(mends)
    if mend is not None:
        links, left = _walk_kept(mend, walked, links, left, made, erased)
        if walked.stopped is not None:
            return walked
    for row in links:
        is_entry = hasattr(row, "seq")
        walked.links += 1
        walked.entries += is_entry
        if is_entry:
            why = _entry_break(row, walked, made, erased)
        else:
            why = _cover_break(row, walked, left)
        if why is not None:
            if is_entry:
                event = walked.entries
            elif row.link != walked.links:  # a link is missing before this cover: it may be the next entry
                event = walked.entries + 1
            else:
                event = None
            walked.stopped = Break(walked.links, why, event)
            return walked
        walked.hash = row.hash
        seen(walked.links, row.hash)
    loose = next(left, None)
    if loose is not None:
        why = "a seal stands in the book that no link covers"
        walked.stopped = Break(walked.links, why, table=loose.what)
    return walked


def _walk_kept(
    mend: Any, walked: ChainWalk, links: Iterator[Any], seals: Iterator[Any], made: InStep, erased: set[str]
) -> tuple[Iterator[Any], Iterator[Any]]:
    """Check the chain before the mend against the digest taken then. Returns the links and seals since then; the first
    of each has been read already, so it is put back in front."""
    kept = KeptDigest()
    row = None
    for row in links:
        if row.link >= mend.link:
            links = chain([row], links)
            break
        kept.add_link(row)
        why = link_fault(row, made, erased)
        if why is not None:
            walked.stopped = Break(row.link, why, getattr(row, "seq", None))
            return links, seals
    for seal in seals:
        if seal.nth > mend.sealed:
            seals = chain([seal], seals)
            break
        kept.add_seal(seal)
    if row is None or row.link != mend.link or getattr(row, "seq", None) != mend.event:
        walked.stopped = Break(mend.link, "the entry of the mend is missing", mend.event)
    elif kept.digest() != mend.kept:
        walked.stopped = Break(mend.link, "what the mend left before it was altered", mend.event)
    walked.links = mend.link - 1
    walked.entries = mend.event - 1
    walked.seals = mend.sealed
    walked.hash = kept.newest
    return links, seals


def link_fault(row: Any, made: InStep, erased: set[str]) -> str | None:
    """Why a link does not hold by itself, whatever stands before it."""
    is_cover = not hasattr(row, "seq")
    if is_cover:
        return None if cover.cover_hash(row._mapping) == row.hash else "its hash does not fit: the link was altered"
    if entry_hash(row._mapping) != row.hash:
        return "its hash does not fit: the entry was altered"
    return text_fault(row, made, erased)


def _entry_break(row: Any, walked: ChainWalk, made: InStep, erased: set[str]) -> str | None:
    if row.seq != walked.entries or row.link != walked.links:
        return "an entry is missing before it"
    if row.previous != walked.hash or entry_hash(row._mapping) != row.hash:
        return "its hash does not fit: the entry or one before it was altered"
    return text_fault(row, made, erased)


def text_fault(row: Any, made: InStep, erased: set[str]) -> str | None:
    """What is wrong with what an entry recorded, or with the text it made; None if both are as they were."""
    version = made.row_at(row.seq)
    if row.salt is None:
        if row.memory_id not in erased and row.other_id not in erased:
            return "its text was blanked without an erasure"
        if row.before is not None or row.after is not None:
            return "it was blanked, and words were put into the blank"
        return None
    text = None
    if version is not None:
        text = digest_fields(version._mapping)
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
