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
    """What the operator set aside at one time, and the file it went to."""

    event: int
    """The number of the ledger entry that tells of it."""
    at: str
    rows: int
    """How many rows were set aside."""
    file: str
    digest: str
    """The file's digest, which the entry holds too."""


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether the ledger holds, and if not, where and why it does not."""

    ok: bool
    entries: int
    """How many entries were checked."""
    broken: int | None = None
    """The entry that does not hold, or that a memory, version, link or setting differs from."""
    why: str | None = None
    table: str | None = None
    """The table of a row that differs from its seal; None if the fault is elsewhere."""
    row: str | None = None
    """That row's key, in words."""
    link: int | None = None
    """The link that covers that row, or the one at which the chain breaks."""
    links: int = 0
    """How many entries and covers were checked."""
    hash: str = ""
    """The hash of the newest link."""
    since: str | None = None
    """Since which entry a mended book is whole, in words."""
    mends: tuple[Mend, ...] = ()
    """What the operator set aside, oldest first."""

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
    set_aside = [
        f"{one.rows:,} {'row was' if one.rows == 1 else 'rows were'} set aside on {one.at[:10]}" for one in mends
    ]
    return f"whole since entry {mends[-1].event}; {', '.join(set_aside)}"


def pair_by_id(rows: Iterable[Any], entries: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any, Any]]:
    """Two streams sorted by id, side by side, as (id, row, entry). Where one side has nothing under an id, it is
    None."""
    more_rows, more_entries = iter(rows), iter(entries)
    row: Any = next(more_rows, None)
    entry_id, entry = next(more_entries, (None, None))
    while row is not None or entry_id is not None:
        if entry_id is None or (row is not None and row.id < entry_id):
            yield row.id, row, None
            row = next(more_rows, None)
        elif row is None or entry_id < row.id:
            yield entry_id, None, entry
            entry_id, entry = next(more_entries, (None, None))
        else:
            yield row.id, row, entry
            row = next(more_rows, None)
            entry_id, entry = next(more_entries, (None, None))


def _stands_as_left(table: Table, entry: Any, row: Any) -> bool:
    """Whether a row stands as the last entry about it left it."""
    if table is memories:
        names = STATE_FIELDS
    else:
        names = LINK_FIELDS
    now = {name: getattr(row, name) for name in names}
    then = stored_json.load_json(entry.after)
    if now != then or row.event != entry.seq:
        return False
    if table is links:
        return True
    subject_key = None
    if row.subject is not None:
        subject_key = fold_text(row.subject)
    return row.purged_at is None and row.updated_at == entry.at and row.subject_key == subject_key


# Operations


def verify(tx: Tx, progress: Progress = lambda _: None, seen: LinkSeen = lambda *_: None) -> Verification:
    """Check everything of one owner. `progress` is called with how many rows are done, `seen` with each link and its
    hash."""
    with RowStreams(tx) as streams:
        return _verify(tx, streams, progress, seen)


def _verify(tx: Tx, streams: RowStreams, progress: Progress, seen: LinkSeen) -> Verification:
    erased = erased_ids(tx)
    mended = mend_rows(tx)
    its_mends = tuple(map(_mend_of_row, mended))
    since = since_in_words(its_mends)
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
        drifts = chain(version_drifts(tx, streams, erased), state_drifts(streams, erased), _setting_drifts(tx))
        found = min(drifts, key=lambda one: one.event or 0, default=None)
    if found is None:
        found = rows_break(tx, streams, progress)
    if found is None:
        return Verification(
            ok=True, entries=walked.entries, links=walked.links, hash=walked.hash, since=since, mends=its_mends
        )
    if found.row is None:
        why = found.why
    else:
        why = f"{found.table}, {found.row}: {found.why}"
    return Verification(
        ok=False,
        entries=walked.entries,
        broken=found.event,
        why=why,
        table=found.table,
        row=found.row,
        link=found.link,
        links=walked.links,
        hash=walked.hash,
        since=since,
        mends=its_mends,
    )


def version_drifts(tx: Tx, streams: RowStreams, erased: set[str]) -> Iterator[Break]:
    """Versions that no entry made, that one entry made twice, or whose times are not what the ledger says."""
    newest = _NEWEST.tuples(tx.conn, {"owner_": tx.owner})[0][0]
    last_entry = max(1, newest or 1)

    def within_ledger(event: int) -> int:
        """The nearest entry that exists: a forged version may name one that does not."""
        return min(max(event, 1), last_entry)

    for (event,) in _TWICE.tuples(tx.conn, {"owner_": tx.owner}):
        yield _drift(within_ledger(event), "a version stands in the book that this ledger did not make")
    for row, following in pairwise(chain(streams.read_rows(_VERSIONS), [None])):
        place = within_ledger(row.event)
        about = (memories.name, row.memory_id)
        if row.entry_memory != row.memory_id:
            yield _drift(place, "a version stands in the book that this ledger did not make", about)
        elif row.entry_at != row.recorded_at:
            yield _drift(row.event, "the version it made has another time", about)
        next_begins = None
        if following is not None and following.memory_id == row.memory_id:
            next_begins = following.recorded_at
        if row.retired_at != next_begins:
            yield _drift(place, "the version it made ends at another time than the next begins", about)
        if row.content is None and row.memory_id not in erased:
            yield _drift(place, "its text was blanked without an erasure", about)


def state_drifts(streams: RowStreams, erased: set[str]) -> Iterator[Break]:
    """Memories and links that are not as the last entry about them left them, or that no entry knows."""
    last_entries = ((memories, _last_about_memories(streams, erased)), (links, _last_about_links(streams)))
    for table, entries in last_entries:
        for id, row, entry in pair_by_id(streams.read_rows(_PRESENT[table.name]), entries):
            if entry is None and id not in erased:
                why = f"something stands in {table.name} that this ledger did not make"
                yield _drift(max(1, row.event), why, (table.name, id))
            elif entry is not None and (row is None or not _stands_as_left(table, entry, row)):
                yield _drift(entry.seq, f"what stands in {table.name} now is not what it left", (table.name, id))


def _setting_drifts(tx: Tx) -> Iterator[Break]:
    """Whether the owner's settings differ from what the last entry about them left: nothing, or one drift."""
    event = settings_drift(tx)
    if event is not None:
        yield _drift(event, "what stands in owners now is not what it left")


def _drift(event: int, why: str, about: tuple[str, str] | None = None) -> Break:
    """A state of the book that does not fit the entry `event`. It breaks no link of the chain, so its link is 0."""
    return Break(link=0, why=why, event=event, about=about)


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
    """The memories that were purged: an erasure names the entry, and that entry is the purge of this memory."""
    return {id for (id,) in _ERASED.tuples(tx.conn, {"owner_": tx.owner})}


_MENDS = PreparedStatement(select(mends).where(mends.c.owner == OWNER).order_by(mends.c.event))


def mend_rows(tx: Tx) -> list[Any]:
    """The rows of `mends`, oldest first."""
    return _MENDS.rows(tx.conn, {"owner_": tx.owner})


def mends_of(tx: Tx) -> tuple[Mend, ...]:
    return tuple(map(_mend_of_row, mend_rows(tx)))


def _mend_of_row(row: Any) -> Mend:
    return Mend(event=row.event, at=row.at, rows=row.rows, file=row.file, digest=row.digest)


def _last_about_memories(streams: RowStreams, erased: set[str]) -> Iterator[tuple[str, Any]]:
    """Each memory's id and the last entry about it. If a purge has blanked that entry, there is no state to compare:
    an entry without a salt is blank."""
    for id, group in groupby(streams.read_rows(_ABOUT_MEMORIES), key=lambda row: row.memory_id):
        last = _last(group)
        if id not in erased and last.salt is not None:
            yield id, last


def _last_about_links(streams: RowStreams) -> Iterator[tuple[str, Any]]:
    """Each link's id and the last entry about it; the query leaves out entries that a purge has blanked."""
    for id, group in groupby(streams.read_rows(_ABOUT_LINKS), key=lambda row: row.link_id):
        yield id, _last(group)


def _last(rows: Iterable[Any]) -> Any:
    """The last row of a stream that is not empty, read through without keeping it."""
    return deque(rows, maxlen=1)[0]
