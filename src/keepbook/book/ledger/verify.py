"""Verification: walks the whole chain and compares the book with it.

Four things must agree: the chain of hashes; the salted digests with the texts they cover; the present state of every
memory, version, link and setting with the last entry about it; every other covered row with its seal. All of it is read
as streams, so that memory stays flat. The first thing that does not agree is named.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, pairwise
from typing import Any

from sqlalchemy import Table, func, select

from keepbook.book.ground import stored_json
from keepbook.book.ledger.chain import Break, LinkSeen, walk_chain
from keepbook.book.ledger.owner_settings import settings_drift
from keepbook.book.ledger.seal_check import OWNER, Progress, RowStreams, rows_break
from keepbook.book.memory.memories import STATE_FIELDS
from keepbook.book.text.words import fold_text
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement
from keepbook.storage.tables.cover import covers, mends, seals
from keepbook.storage.tables.ledger import ledger
from keepbook.storage.tables.memory import erasures, links, memories, versions

LINK_FIELDS = ("id", "from_id", "to_id", "relation", "created_at", "removed_at")


@dataclass(frozen=True, slots=True)
class Mend:
    """What the operator set aside at one time: so many rows, into a file whose digest its entry holds."""

    event: int
    at: str
    rows: int
    file: str
    digest: str


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether the ledger holds. If not, `why` says how: at the entry `broken`, or in the `row` of a `table` that has
    not fit since `link`. `links` counts entries and covers, `hash` is the newest link's. Of a book that was mended
    `since` says since which entry it is whole, and `mends` what was set aside."""

    ok: bool
    entries: int
    broken: int | None = None
    why: str | None = None
    table: str | None = None
    row: str | None = None
    link: int | None = None
    links: int = 0
    hash: str = ""
    since: str | None = None
    mends: tuple[Mend, ...] = ()

    @property
    def where(self) -> str:
        """The place of the break, in words."""
        if self.broken is not None:
            return f"entry {self.broken}"
        return f"link {self.link}"


# Rules


def since_in_words(mends: Sequence[Mend]) -> str | None:
    if not mends:
        return None
    went = [f"{one.rows:,} {'row was' if one.rows == 1 else 'rows were'} set aside on {one.at[:10]}" for one in mends]
    return f"whole since entry {mends[-1].event}; {', '.join(went)}"


def pair_by_id(left: Iterable[Any], right: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any, Any]]:
    """Two streams sorted by id, side by side; None on the side that has no row under that id."""
    ours, theirs = iter(left), iter(right)
    row: Any = next(ours, None)
    told: Any = next(theirs, None)
    while row is not None or told is not None:
        if told is None or (row is not None and row.id < told[0]):
            yield row.id, row, None
            row = next(ours, None)
        elif row is None or told[0] < row.id:
            yield told[0], None, told[1]
            told = next(theirs, None)
        else:
            yield row.id, row, told[1]
            row, told = next(ours, None), next(theirs, None)


def _stands_as_left(table: Table, entry: Any, row: Any) -> bool:
    """Whether a row stands as the last entry about it left it."""
    if table is memories:
        names = STATE_FIELDS
    else:
        names = LINK_FIELDS
    if {name: getattr(row, name) for name in names} != stored_json.load_json(entry.after) or row.event != entry.seq:
        return False
    if table is links:
        return True
    spelled = None
    if row.subject is not None:
        spelled = fold_text(row.subject)
    return row.purged_at is None and row.updated_at == entry.at and row.subject_key == spelled


# Operations


def verify(tx: Tx, progress: Progress = lambda _: None, seen: LinkSeen = lambda *_: None) -> Verification:
    """Check everything of one owner. `progress` is called with how many rows are done, `seen` with each link and its
    hash."""
    with RowStreams(tx) as streams:
        return _verify(tx, streams, progress, seen)


def _verify(tx: Tx, streams: RowStreams, progress: Progress, seen: LinkSeen) -> Verification:
    erased, mended = erased_ids(tx), mend_rows(tx)
    told = tuple(map(_told_mend, mended))
    since = since_in_words(told)
    walked = walk_chain(
        streams.read_rows(_ENTRIES),
        streams.read_rows(_COVERS),
        streams.read_rows(_TEXTS),
        streams.read_rows(_SEALS),
        erased,
        seen,
        mended,
    )
    found = walked.stopped
    if found is None:
        drifts = [*_first(version_drifts(tx, streams, erased)), *_first(state_drifts(streams, erased))]
        drifts += _setting_drifts(tx)
        found = min(drifts, key=lambda one: one.event or 0, default=None)
    if found is None:
        found = rows_break(tx, streams, progress)
    if found is None:
        return Verification(True, walked.entries, links=walked.links, hash=walked.hash, since=since, mends=told)
    if found.row is None:
        why = found.why
    else:
        why = f"{found.table}, {found.row}: {found.why}"
    return Verification(
        False, walked.entries, found.event, why, found.table, found.row, found.link, walked.links, walked.hash, since,
        told,
    )  # fmt: skip


def _first(drifts: Iterator[Break]) -> list[Break]:
    """The earliest of them, if there is any."""
    earliest = min(drifts, key=lambda one: one.event or 0, default=None)
    if earliest is None:
        return []
    return [earliest]


def version_drifts(tx: Tx, streams: RowStreams, erased: set[str]) -> Iterator[Break]:
    """Versions that no entry made, twice made, or whose time in the book is not what the ledger says."""
    ((newest,),) = _NEWEST.tuples(tx.conn, {"owner_": tx.owner})
    last_entry = max(1, newest or 1)
    for (event,) in _TWICE.tuples(tx.conn, {"owner_": tx.owner}):
        yield _drift(min(max(event, 1), last_entry), "a version stands in the book that this ledger did not make")
    for row, following in pairwise(chain(streams.read_rows(_VERSIONS), [None])):
        place, about = min(max(row.event, 1), last_entry), (memories.name, row.memory_id)
        if row.entry_memory != row.memory_id:
            yield _drift(place, "a version stands in the book that this ledger did not make", about)
        elif row.entry_at != row.recorded_at:
            yield _drift(row.event, "the version it made has another time", about)
        next_one = None
        if following is not None and following.memory_id == row.memory_id:
            next_one = following
        if row.retired_at != (None if next_one is None else next_one.recorded_at):
            yield _drift(place, "the version it made ends at another time than the next begins", about)
        if row.content is None and row.memory_id not in erased:
            yield _drift(place, "its text was blanked without an erasure", about)


def state_drifts(streams: RowStreams, erased: set[str]) -> Iterator[Break]:
    """Memories and links that are not as the last entry about them left them, or that no entry knows."""
    for table, told in ((memories, _last_about_memories(streams, erased)), (links, _last_about_links(streams))):
        for id, row, entry in pair_by_id(streams.read_rows(_PRESENT[table.name]), told):
            if entry is None and id not in erased:
                why = f"something stands in {table.name} that this ledger did not make"
                yield _drift(max(1, row.event), why, (table.name, id))
            elif entry is not None and (row is None or not _stands_as_left(table, entry, row)):
                yield _drift(entry.seq, f"what stands in {table.name} now is not what it left", (table.name, id))


def _setting_drifts(tx: Tx) -> Iterator[Break]:
    """What of the owner's settings is not as the last entry about it left it."""
    event = settings_drift(tx)
    if event is not None:
        yield _drift(event, "what stands in owners now is not what it left")


def _drift(event: int, why: str, about: tuple[str, str] | None = None) -> Break:
    return Break(0, why, event, about=about)


# Queries

_ENTRIES = select(ledger).where(ledger.c.owner == OWNER).order_by(ledger.c.seq)
_COVERS = select(covers).where(covers.c.owner == OWNER).order_by(covers.c.link)
_TEXTS = select(versions).where(versions.c.content.isnot(None), versions.c.owner == OWNER).order_by(versions.c.event)
_SEALS = select(seals).where(seals.c.owner == OWNER).order_by(seals.c.nth)
_NEWEST = PreparedStatement(select(func.max(ledger.c.seq)).where(ledger.c.owner == OWNER))
_TWICE = PreparedStatement(
    select(versions.c.event).where(versions.c.owner == OWNER).group_by(versions.c.event).having(func.count() > 1)
)
_VERSIONS = (
    select(versions, ledger.c.memory_id.label("entry_memory"), ledger.c.at.label("entry_at"))
    .select_from(versions.outerjoin(ledger, (ledger.c.owner == versions.c.owner) & (ledger.c.seq == versions.c.event)))
    .where(versions.c.owner == OWNER)
    .order_by(versions.c.memory_id, versions.c.version)
)
_PRESENT = {table.name: select(table).where(table.c.owner == OWNER).order_by(table.c.id) for table in (memories, links)}
_ABOUT_MEMORIES = (
    select(ledger)
    .where(ledger.c.owner == OWNER, ledger.c.link_id.is_(None), ledger.c.memory_id.isnot(None))
    .order_by(ledger.c.memory_id, ledger.c.seq)
)
_ABOUT_LINKS = (
    select(ledger)
    .where(ledger.c.owner == OWNER, ledger.c.link_id.isnot(None), ledger.c.salt.isnot(None))
    .order_by(ledger.c.link_id, ledger.c.seq)
)
_ERASED = PreparedStatement(
    select(erasures.c.memory_id)
    .select_from(erasures.join(ledger, (ledger.c.owner == erasures.c.owner) & (ledger.c.seq == erasures.c.event)))
    .where(
        erasures.c.owner == OWNER,
        (ledger.c.memory_id == erasures.c.memory_id) & (ledger.c.action == "purge"),
    )
)


def erased_ids(tx: Tx) -> set[str]:
    """Memories whose purge stands in the ledger and whose erasure names it."""
    return {id for (id,) in _ERASED.tuples(tx.conn, {"owner_": tx.owner})}


_MENDS = PreparedStatement(select(mends).where(mends.c.owner == OWNER).order_by(mends.c.event))


def mend_rows(tx: Tx) -> list[Any]:
    """What was set aside, oldest first."""
    return _MENDS.rows(tx.conn, {"owner_": tx.owner})


def mends_of(tx: Tx) -> tuple[Mend, ...]:
    return tuple(map(_told_mend, mend_rows(tx)))


def _told_mend(row: Any) -> Mend:
    return Mend(row.event, row.at, row.rows, row.file, row.digest)


def _last_about_memories(streams: RowStreams, erased: set[str]) -> Iterator[tuple[str, Any]]:
    for id, group in groupby(streams.read_rows(_ABOUT_MEMORIES), key=lambda row: row.memory_id):
        last = deque(group, maxlen=1)[0]
        if id not in erased and last.salt is not None:
            yield id, last


def _last_about_links(streams: RowStreams) -> Iterator[tuple[str, Any]]:
    for id, group in groupby(streams.read_rows(_ABOUT_LINKS), key=lambda row: row.link_id):
        yield id, deque(group, maxlen=1)[0]
