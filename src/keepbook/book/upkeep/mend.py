"""Mends a book that `verify` refuses: rows that do not fit are moved into a file, and an entry says so.

The first step finds what the chain proves: links that hold by themselves and that the next one continues, and seals
that such a link covers. Then all other rows, and those that depend on them, are set aside, until the rest fits. No hash
is computed anew: the entry of the mend, with which the chain begins anew, has a digest of what is left of it.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from heapq import merge
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from sqlalchemy import Connection, Table, delete, func, insert, select

from keepbook.book.ground.system_clock import utc_now
from keepbook.book.ledger import ledger as entries
from keepbook.book.ledger.chain import InStep, KeptDigest, link_fault, newest_mend
from keepbook.book.ledger.cover import Batch, cover
from keepbook.book.ledger.ledger import Head, Origin
from keepbook.book.ledger.owner_settings import settings_drift
from keepbook.book.ledger.seal_check import OWNER, RowStreams, unfit_batches, unfit_rows
from keepbook.book.ledger.verify import Mend, erased_ids, mend_rows, state_drifts, verify, version_drifts
from keepbook.book.text.indexes.turn_index import take_turns
from keepbook.book.upkeep.loose_rows import loose_rows
from keepbook.book.upkeep.set_aside_files import header_line
from keepbook.errors import Conflict
from keepbook.storage.cover_rules import parts_of, row_key
from keepbook.storage.database import ClockFunction, Tx
from keepbook.storage.engines.unguarded import open_unguarded, serve_owner
from keepbook.storage.installed import read_record, table_set
from keepbook.storage.tables import TableSet
from keepbook.storage.tables.chats import messages
from keepbook.storage.tables.cover import covers, mends, seals, touched
from keepbook.storage.tables.declare import rules_of
from keepbook.storage.tables.ledger import ledger
from keepbook.storage.tables.memory import erasures, links, memories, versions

ACTION = "mend"


class _Ends(NamedTuple):
    """The highest numbers that a chain has."""

    seq: int
    link: int
    seal: int


class SetAside:
    """Moves rows out of a book into a file, each with the rows that depend on it."""

    def __init__(self, tx: Tx, out: TextIO) -> None:
        self._tx = tx
        self._out = out
        self.counts: Counter[str] = Counter[str]()

    def move_rows(self, table: Table, **where: Any) -> None:
        here = [table.c[name] == value for name, value in where.items()]
        if "owner" in table.c:  # sessions of pages have none; they are found by their token
            here.append(table.c.owner == self._tx.owner)
        for row in self._tx.conn.execute(select(table).where(*here)).mappings().all():
            self._move(table, row)

    def move_memory(self, id: str) -> None:
        """Move everything of a memory, since nobody can say which part of it is true."""
        for table in self._tx.tables.declared:
            rules = rules_of(table)
            if rules.of_memory and rules.uncovered and rules.unexported:
                here = (table.c.owner == self._tx.owner, table.c[rules.of_memory] == id)
                self._tx.conn.execute(delete(table).where(*here))  # an index, which can be made anew
            elif rules.of_memory:
                self.move_rows(table, **{rules.of_memory: id})
        for child, columns in _children(self._tx.tables, memories):
            self.move_rows(child, **dict.fromkeys(columns, id))
        self.move_rows(memories, id=id)
        self.move_rows(erasures, memory_id=id)
        self.move_rows(ledger, memory_id=id, link_id=None)
        self._move_seals(memories, id)

    def move_key(self, table: Table, key: str) -> None:
        """Move a covered row and its seals; either may be missing."""
        parts = parts_of(table, key)
        if table in (memories, versions):
            self.move_memory(str(parts[0]))
        else:
            names = (column.name for column in table.primary_key.columns if column.name != "owner")
            self.move_rows(table, **dict(zip(names, parts, strict=True)))
        self._move_seals(table, key)

    def _move_seals(self, table: Table, key: str) -> None:
        self.move_rows(seals, what=table.name, key=key)

    def _move(self, table: Table, row: Mapping[Any, Any]) -> None:
        for child, columns in _children(self._tx.tables, table):
            self.move_rows(child, **{name: row[parent] for name, parent in columns.items()})
        if table is links:
            self.move_rows(ledger, link_id=row["id"])
        if table is messages:
            take_turns(self._tx, row["thread_id"])
        if table.name in self._tx.tables.covered:
            self._move_seals(table, row_key(table, dict(row)))
        self._out.write(json.dumps({"table": table.name, "row": dict(row)}, ensure_ascii=False) + "\n")
        same = (column == row[column.name] for column in table.primary_key.columns)
        self._tx.conn.execute(delete(table).where(*same))
        self.counts[table.name] += 1


@cache
def _children(tables: TableSet, table: Table) -> list[tuple[Table, dict[str, str]]]:
    """The tables that refer to this one by a foreign key, each with its columns and those they refer to, without the
    owner."""
    return [
        (child, {key.parent.name: key.column.name for key in one.elements if key.column.name != "owner"})
        for child in tables.declared
        for one in child.foreign_key_constraints
        if one.referred_table is table and child is not table
    ]


# Operations


def mend_books(address: str, backup: Path, owners: Sequence[str]) -> dict[str, tuple[int, int, str]]:
    """Mend these owners' books in one transaction. Returns for each mended one the number of its entry, how many rows
    were set aside, and the file."""
    files = {owner: backup.with_name(f"{backup.name}.set-aside-{nth}.jsonl") for nth, owner in enumerate(owners, 1)}
    for file in files.values():
        if file.exists():
            raise Conflict(f"{file} exists; choose another name for the backup", code="exists")
    done: dict[str, tuple[int, int, str]] = {}
    try:
        with open_unguarded(address) as conn:
            tables = table_set(read_record(conn))
            for owner, file in files.items():
                serve_owner(conn, owner)
                made = mend_book(conn, owner, utc_now, tables, file)
                if made is not None:
                    done[owner] = (made.event, made.rows, made.file)
    except BaseException:
        for file in files.values():
            file.unlink(missing_ok=True)
        raise
    return done


def mend_book(conn: Connection, owner: str, clock: ClockFunction, tables: TableSet, file: Path) -> Mend | None:
    """Set aside what does not fit of an owner's book, in a transaction without guards. None if all of it fits."""
    tx = Tx(conn, owner, clock, tables, writes=True)
    found = verify(tx)
    if found.ok:
        return None
    before = _ends(tx)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
        out.write(header_line(owner, found.why))
        aside = SetAside(tx, out)
        _set_aside_all(tx, aside)
        out.flush()
        os.fsync(out.fileno())
    made = _begin_anew(tx, aside, before, file, str(found.why))
    left = verify(tx)
    if not left.ok:
        raise Conflict(f"this cannot be mended, and nothing was changed: {left.where}: {left.why}", code="not_mended")
    return made


def _set_aside_all(tx: Tx, aside: SetAside) -> None:
    with RowStreams(tx) as streams:
        broken, unvouched = list(_unfit_links(tx, streams)), set(_unvouched_seals(tx, streams))
        unfit_covers = list(_unfit_covers(tx, streams))
    for table, number in [*broken, *unfit_covers]:
        aside.move_rows(table, **{"seq" if table is ledger else "link": number})
    before = -1
    while before != sum(aside.counts.values()):  # repeated, as other rows may no longer fit without those set aside
        before = sum(aside.counts.values())
        _set_aside_once(tx, aside, unvouched)


def _set_aside_once(tx: Tx, aside: SetAside, unvouched: set[int]) -> None:
    with RowStreams(tx) as streams:
        erased = erased_ids(tx)
        broken = list(_unfit_entries(streams, erased))
        drifts = [*version_drifts(tx, streams, erased), *state_drifts(streams, erased)]
        rows, batches = list(unfit_rows(tx, streams, unvouched)), list(unfit_batches(tx, streams, unvouched))
    changed = settings_drift(tx)
    if changed is not None:  # the settings differ from their last entry, and nobody knows since when
        broken.append(changed)
    for seq in broken:
        aside.move_rows(ledger, seq=seq)
    torn = [id for query in _TORN for id in tx.conn.execute(query, {"owner_": tx.owner}).scalars()]
    headless = tx.conn.execute(_HEADLESS, {"owner_": tx.owner}).scalars().all()
    about = {one.about for one in drifts if one.about}
    for name, id in {*about, *((memories.name, id) for id in torn), *((links.name, id) for id in headless)}:
        if name == links.name:
            aside.move_rows(links, id=id)
            aside.move_rows(ledger, link_id=id)
        else:
            aside.move_memory(id)
    for table, key in rows:
        aside.move_key(table, key)
    for kind, key in batches:
        if key.isdigit():
            number = int(key)
        else:
            number = -1
        aside.move_rows(kind.table, batch=number)
        aside.move_rows(kind.former, batch=number)
        aside.move_rows(kind.former, went=number)
        aside.move_rows(seals, what=kind.table.name, key=key)
    for table, where in list(loose_rows(tx)):
        aside.move_rows(table, **where)
    known = {*tx.tables.covered, *(kind.name for kind in tx.tables.declared)}
    for what in tx.conn.execute(select(seals.c.what).where(seals.c.owner == tx.owner).distinct()).scalars().all():
        if what not in known:
            aside.move_rows(seals, what=what)


def _begin_anew(tx: Tx, aside: SetAside, before: _Ends, file: Path, why: str) -> Mend:
    """Write the entry of the mend, which the chain continues."""
    kept, moved = _ends(tx), sum(aside.counts.values())
    # Numbers go on from the old ends, so that none is given twice; but a forged number far ahead does not count.
    ends = _Ends(*(min(was, now + moved) for was, now in zip(before, kept, strict=True)))
    left = _kept_digest(tx)
    last = tx.conn.execute(select(func.max(ledger.c.at)).where(ledger.c.owner == tx.owner)).scalar()
    tx.head = Head(ends.seq, last or "", left.newest, ends.link, ends.seal, last or "")
    at, digest = entries.begin_entry(tx), hashlib.sha256(file.read_bytes()).hexdigest()
    summary = {"rows": moved, "tables": dict(aside.counts), "why": why, "file": str(file), "digest": digest}
    event = entries.append(tx, Origin("job", "cli"), ACTION, at, after={**summary, "kept": left.digest()})
    row = {
        "owner": tx.owner, "event": event, "link": ends.link + 1, "sealed": ends.seal, "at": at, "rows": moved,
        "kept": left.digest(), "file": str(file), "digest": digest,
    }  # fmt: skip
    tx.conn.execute(insert(mends), row)
    tx.conn.execute(insert(touched), {"owner": tx.owner, "what": mends.name, "key": str(event), "fresh": 1})
    cover(tx)
    return Mend(event, at, moved, str(file), digest)


# Queries

_VERSIONS_OF = select(versions.c.memory_id).where(versions.c.owner == OWNER)
_TORN = (
    _VERSIONS_OF.group_by(versions.c.memory_id, versions.c.event).having(func.count() > 1),
    _VERSIONS_OF.group_by(versions.c.memory_id).having(func.max(versions.c.version) != func.count()),
)
"""Memories of which one entry made two versions, or of which a version is missing."""
_HEADLESS = (
    select(ledger.c.link_id)
    .where(ledger.c.owner == OWNER, ledger.c.link_id.isnot(None), ledger.c.salt.isnot(None))
    .group_by(ledger.c.link_id)
    .having(func.count() == func.count(ledger.c.before))
)
"""Links whose first entry is missing."""
_ENTRIES = select(ledger).where(ledger.c.owner == OWNER).order_by(ledger.c.seq)
_COVERS = select(covers).where(covers.c.owner == OWNER).order_by(covers.c.link)
_TEXTS = select(versions).where(versions.c.content.isnot(None), versions.c.owner == OWNER).order_by(versions.c.event)
_SEALS = select(seals).where(seals.c.owner == OWNER).order_by(seals.c.nth)


def _ends(tx: Tx) -> _Ends:
    columns = (ledger.c.seq, ledger.c.link, covers.c.link, seals.c.nth)
    seq, entry, cover_link, seal = (
        tx.conn.execute(select(func.max(column)).where(column.table.c.owner == tx.owner)).scalar() or 0
        for column in columns
    )
    return _Ends(seq, max(entry, cover_link), seal)


def _kept_digest(tx: Tx) -> KeptDigest:
    kept = KeptDigest()
    with RowStreams(tx) as streams:
        for row in merge(streams.read_rows(_ENTRIES), streams.read_rows(_COVERS), key=lambda row: row.link):
            kept.add_link(row)
        for seal in streams.read_rows(_SEALS):
            kept.add_seal(seal)
    return kept


def _unfit_entries(streams: RowStreams, erased: set[str]) -> Iterator[int]:
    """Entries that do not hold by themselves, or whose text is not what they recorded."""
    made = InStep(streams.read_rows(_TEXTS), lambda row: row.event)
    return (row.seq for row in streams.read_rows(_ENTRIES) if link_fault(row, made, erased) is not None)


def _unfit_links(tx: Tx, streams: RowStreams) -> Iterator[tuple[Table, int]]:
    """Links that do not hold by themselves, and links that the next one does not continue although that one holds; each
    as its table and number."""
    unfit = set(_unfit_entries(streams, erased_ids(tx)))
    entry_links = ((row.link, row.hash, row.previous, ledger, row.seq) for row in streams.read_rows(_ENTRIES))
    cover_links = ((row.link, row.hash, row.previous, covers, row.link) for row in streams.read_rows(_COVERS))
    altered = {row.link for row in streams.read_rows(_COVERS) if link_fault(row, _NO_TEXTS, set()) is not None}
    every = sorted(chain(entry_links, cover_links), key=lambda one: one[0])
    holds = [number not in (unfit if table is ledger else altered) for *_, table, number in every]
    nothing = ((0, "", "", ledger, 0), False)
    for (one, fits), (following, next_fits) in pairwise([*zip(every, holds, strict=True), nothing]):
        follows = following[0] != one[0] + 1 or following[2] == one[1]
        if not fits or (next_fits and not follows) or (next_fits and following[0] == one[0]):
            yield one[3], one[4]


_NO_TEXTS = InStep((), lambda _: 0)


def _covers_and_seals(tx: Tx, streams: RowStreams) -> tuple[dict[int, Any], Iterator[Any]]:
    """The seals by number, and the covers, since the last mend. The digest of that mend covers what is older."""
    last = newest_mend(mend_rows(tx))
    if last is None:
        link, sealed = 0, 0
    else:
        link, sealed = last.link, last.sealed
    numbered = {seal.nth: seal for seal in streams.read_rows(_SEALS) if seal.nth > sealed}
    return numbered, (row for row in streams.read_rows(_COVERS) if row.link >= link)


def _fits_its_seals(row: Any, numbered: Mapping[int, Any]) -> bool:
    batch = Batch()
    if link_fault(row, _NO_TEXTS, set()) is not None or row.last - row.first >= len(numbered):
        return False
    for nth in range(row.first, row.last + 1):
        seal = numbered.get(nth)
        if seal is None:
            return False
        batch.add(seal.nth, seal.what, seal.key, seal.was, seal.digest)
    return bool(batch.digest() == row.digest)


def _unvouched_seals(tx: Tx, streams: RowStreams) -> set[int]:
    numbered, since = _covers_and_seals(tx, streams)
    kept = [row for row in since if _fits_its_seals(row, numbered)]
    vouched = {nth for row in kept for nth in range(row.first, row.last + 1)}
    return numbered.keys() - vouched


def _unfit_covers(tx: Tx, streams: RowStreams) -> Iterator[tuple[Table, int]]:
    numbered, since = _covers_and_seals(tx, streams)
    return ((covers, row.link) for row in since if not _fits_its_seals(row, numbered))
