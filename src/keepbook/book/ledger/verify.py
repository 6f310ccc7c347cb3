"""Verification: walking the whole ledger and holding the book against it.

Three things must agree: the chain of hashes, the salted digests with the texts they cover, and the present
state of every memory and link with what the last entry about it says. The first entry that does not is named.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from sqlalchemy import select

from keepbook.book.ledger.ledger import VERSION_TEXT, digest_of, hash_of, walk
from keepbook.book.memory.memories import STATE_FIELDS
from keepbook.storage.database import Tx
from keepbook.storage.tables import erasures, links, memories, versions


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether the ledger holds; `broken` is the first entry that does not, `why` says how."""

    ok: bool
    entries: int
    broken: int | None = None
    why: str | None = None


LINK_FIELDS = ("id", "from_id", "to_id", "relation", "created_at", "removed_at")


# Rules


def first_break(rows: Iterable[Any], texts: Mapping[int, Any], erased: set[str]) -> tuple[int, int | None, str | None]:
    """Walk rows oldest first: (how many, the first broken entry, why)."""
    previous, count = "", 0
    for row in rows:
        count += 1
        if row.seq != count:
            return count, count, "an entry is missing before it"
        if row.previous != previous or hash_of(row._mapping) != row.hash:
            return count, row.seq, "its hash does not fit: the entry or one before it was altered"
        if row.salt is None:
            if row.memory_id not in erased and row.other_id not in erased:
                return count, row.seq, "its text was blanked without an erasure"
            if row.before is not None or row.after is not None:
                return count, row.seq, "it was blanked, and words were put into the blank"
        else:
            made = texts.get(row.seq)
            text = None if made is None else {name: getattr(made, name) for name in VERSION_TEXT}
            if digest_of(row.salt, row.before, row.after, text) != row.digest:
                return count, row.seq, "what it recorded, or the text it made, was altered"
        previous = row.hash
    return count, None, None


# Operations


def verify(tx: Tx) -> Verification:
    rows = list(walk(tx))
    purged = {(row.seq, row.memory_id) for row in rows if row.action == "purge"}
    named = tx.conn.execute(select(erasures.c.event, erasures.c.memory_id).where(erasures.c.owner == tx.owner))
    erased = {id for event, id in named if (event, id) in purged}
    made = tx.conn.execute(
        select(versions).where(versions.c.owner == tx.owner).order_by(versions.c.memory_id, versions.c.version)
    ).all()
    texts = {row.event: row for row in made if row.content is not None}
    count, broken, why = first_break(rows, texts, erased)
    if broken is None:
        drifts = [*_version_drifts(rows, made, erased), *_state_drifts(tx, rows, erased)]
        broken, why = min(drifts, default=(None, None))
    return Verification(broken is None, count, broken, why)


def _version_drifts(rows: Sequence[Any], made: Sequence[Any], erased: set[str]) -> Iterator[tuple[int, str]]:
    """Versions that no entry made, twice made, or whose time in the book is not what the ledger says."""
    entries = {row.seq: row for row in rows}
    seen: set[int] = set()
    for row, following in zip_longest(made, made[1:]):
        entry = entries.get(row.event)
        place = min(max(row.event, 1), len(rows) or 1)
        if entry is None or entry.memory_id != row.memory_id or row.event in seen:
            yield place, "a version stands in the book that this ledger did not make"
        elif entry.at != row.recorded_at:
            yield row.event, "the version it made has another time"
        seen.add(row.event)
        next_one = following if following is not None and following.memory_id == row.memory_id else None
        if row.retired_at != (None if next_one is None else next_one.recorded_at):
            yield place, "the version it made ends at another time than the next begins"
        if row.content is None and row.memory_id not in erased:
            yield place, "its text was blanked without an erasure"


def _state_drifts(tx: Tx, rows: Iterable[Any], erased: set[str]) -> Iterator[tuple[int, str]]:
    """Memories and links that are not as the last entry about them left them, or that no entry knows."""
    states: dict[str, tuple[int, Any]] = {}
    joined: dict[str, tuple[int, Any]] = {}
    for row in rows:
        if row.salt is not None and row.link_id is not None:
            joined[row.link_id] = (row.seq, json.loads(row.after))
        elif row.salt is not None and row.memory_id not in erased:
            states[row.memory_id] = (row.seq, json.loads(row.after))
    for table, names, told in ((memories, STATE_FIELDS, states), (links, LINK_FIELDS, joined)):
        found = {row.id: row for row in tx.conn.execute(select(table).where(table.c.owner == tx.owner))}
        for id, (seq, after) in told.items():
            present = found.get(id)
            hidden = table is memories and present is not None and present.purged_at is not None
            if present is None or hidden or {name: getattr(present, name) for name in names} != after:
                yield seq, f"what stands in {table.name} now is not what it left"
        for id in found.keys() - told.keys() - erased:
            yield max(1, found[id].event), f"something stands in {table.name} that this ledger did not make"
