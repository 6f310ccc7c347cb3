"""Verification: walking the whole ledger and holding the book against it.

Three things must agree: the chain of hashes, the salted digests with the texts they cover, and the present
state of every memory and link with what the last entry about it says. The first entry that does not is named.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from keepbook.book.ledger import VERSION_TEXT, digest_of, hash_of, walk
from keepbook.book.memories import STATE_FIELDS
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
        else:
            made = texts.get(row.seq)
            text = None if made is None else {name: getattr(made, name) for name in VERSION_TEXT}
            if digest_of(row.salt, row.before, row.after, text) != row.digest:
                return count, row.seq, "what it recorded, or the text it made, was altered"
        previous = row.hash
    return count, None, None


# Operations


def verify(tx: Tx) -> Verification:
    erased = set(tx.conn.execute(select(erasures.c.memory_id).where(erasures.c.owner == tx.owner)).scalars())
    made = tx.conn.execute(select(versions).where(versions.c.owner == tx.owner, versions.c.content.isnot(None))).all()
    texts = {row.event: row for row in made}
    rows = list(walk(tx))
    count, broken, why = first_break(rows, texts, erased)
    if broken is None:
        broken, why = _first_drift(tx, rows, erased)
    if broken is None and len(texts) != len(made):
        twice = sorted(row.event for row in made if texts[row.event] is not row)
        broken, why = twice[0], "two versions claim the same entry"
    return Verification(broken is None, count, broken, why)


def _first_drift(tx: Tx, rows: Iterable[Any], erased: set[str]) -> tuple[int | None, str | None]:
    """The earliest entry whose outcome is not what stands in the book now."""
    states: dict[str, tuple[int, Any]] = {}
    joined: dict[str, tuple[int, Any]] = {}
    for row in rows:
        if row.salt is not None and row.link_id is not None:
            joined[row.link_id] = (row.seq, json.loads(row.after))
        elif row.salt is not None and row.memory_id not in erased:
            states[row.memory_id] = (row.seq, json.loads(row.after))
    drifts: list[tuple[int, str]] = []
    drifts += _differences(tx, memories, STATE_FIELDS, states, "the memory's present state is not what it left")
    drifts += _differences(tx, links, LINK_FIELDS, joined, "the link's present state is not what it left")
    return min(drifts, default=(None, None))


def _differences(
    tx: Tx, table: Any, names: Iterable[str], told: Mapping[str, tuple[int, Any]], why: str
) -> list[tuple[int, str]]:
    query = select(table).where(table.c.owner == tx.owner)
    present = {row.id: {name: getattr(row, name) for name in names} for row in tx.conn.execute(query)}
    return [(seq, why) for id, (seq, after) in told.items() if present.get(id) != after]
