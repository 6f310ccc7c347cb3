"""Typed links between two memories of one book.

A link is shown while both its ends are active; it waits while one is forgotten, and goes when one is erased.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, alias, and_, bindparam, insert, or_, select, update

from keepbook.book.ground.ids import new_id
from keepbook.book.ground.limits import clean_line, sought
from keepbook.book.ground.when import parse_stamp
from keepbook.book.ledger import ledger
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory.likeness.put_away import refuse_words
from keepbook.book.memory.memories import Memory, Version, find_row, resolve, to_state, to_version, version_rows
from keepbook.book.memory.memory_json import row_to_memory
from keepbook.book.owners.switches import Told
from keepbook.errors import Conflict, Invalid, LimitReached, NotAllowed, NotFound
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement
from keepbook.storage.tables.ledger import ledger as ledger_entries
from keepbook.storage.tables.memory import links, memories

RELATIONS = ("relates_to", "contradicts", "supersedes", "because_of")
"""The usual relations; any other short word may be used."""
MOST_OF_AGENTS, MOST_OF_MEMORY = 20, 3
"""So many pairs that agents call contradictory wait for the person: in all, and of one memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """From one memory to another; `event` undoes the write that this answers, where it answers one."""

    id: str
    from_id: str
    to_id: str
    relation: str
    created_at: datetime
    event: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDetail(Memory):
    """A memory with all its versions, oldest first, and its links."""

    versions: tuple[Version, ...]
    links: tuple[Link, ...]


# Operations


def link(tx: Tx, origin: Origin, from_ref: str, to_ref: str, relation: str) -> Link:
    """Join two active memories. The same link again returns the one that exists."""
    from_id, to_id = resolve(tx, from_ref), resolve(tx, to_ref)
    word = clean_line(relation, "relation", 1, 40).replace(" ", "_").lower()
    if from_id == to_id:
        raise Invalid("a link joins two different memories", field="to_id")
    for id in (from_id, to_id):
        state = to_state(find_row(tx, id)).name
        if state != "active":
            raise Conflict(
                f"memory {id} is {'in the trash' if state == 'trash' else state}; restore it first",
                code=state,
            )
    row = _standing(tx, from_id, to_id, word)
    if row is not None:
        return to_link(row)
    refuse_words(tx, origin, Told(labels=(relation,)))
    if origin.is_agent and word == "contradicts":
        _refuse_too_many(tx, (from_id, to_id))
    at = ledger.begin_entry(tx)
    id = new_id()
    after = {
        "id": id,
        "from_id": from_id,
        "to_id": to_id,
        "relation": word,
        "created_at": at,
        "removed_at": None,
    }
    event = ledger.append(tx, origin, "link", at, memory_id=from_id, other_id=to_id, link_id=id, after=after)
    tx.conn.execute(insert(links), after | {"owner": tx.owner, "event": event})
    return to_link(_find(tx, id), event)


def unlink(tx: Tx, origin: Origin, id: str) -> Link:
    row = _find(tx, id)
    if row.removed_at is not None:
        raise NotFound(f"link {id!r} was removed already", field="link_id")
    if tx.reach is not None:
        for end in (row.from_id, row.to_id):
            find_row(tx, end)  # raises if the caller may not name this memory
    if origin.actor == "agent" and not origin.for_person and ledger.get_row(tx, row.event).actor == "person":
        raise NotAllowed(f"the person made link {id}; only they take it away", code="person_only")
    return set_removed(tx, origin, "unlink", id, removed=True)


def set_removed(tx: Tx, origin: Origin, action: str, id: str, *, removed: bool, undoes: int | None = None) -> Link:
    """Remove a link, or (for an undo) put it back."""
    row = _find(tx, id)
    if not removed and _standing(tx, row.from_id, row.to_id, row.relation) is not None:
        raise Conflict(f"not undone: {row.from_id} and {row.to_id} were linked anew; undo that first", code="touched")
    if not removed and origin.is_agent and row.relation == "contradicts":
        _refuse_too_many(tx, (row.from_id, row.to_id))
    at = ledger.begin_entry(tx)
    before = {name: getattr(row, name) for name in ("id", "from_id", "to_id", "relation", "created_at", "removed_at")}
    removed_at = None
    if removed:
        removed_at = at
    after = before | {"removed_at": removed_at}
    event = ledger.append(
        tx,
        origin,
        action,
        at,
        memory_id=row.from_id,
        other_id=row.to_id,
        link_id=id,
        before=before,
        after=after,
        undoes=undoes,
    )
    changed = update(links).where(links.c.owner == tx.owner, links.c.id == id)
    tx.conn.execute(changed.values(removed_at=after["removed_at"], event=event))
    return to_link(row, event)


# Rules


def _refuse_too_many(tx: Tx, ends: tuple[str, str]) -> None:
    """Refuse an agent that says of more lines than a person can look at that they contradict each other: of each pair
    they are asked."""
    waiting = _CONTRADICTED_BY_AGENTS.tuples(tx.conn, {"owner": tx.owner})
    for id in ends:
        if sum(id in pair for pair in waiting) >= MOST_OF_MEMORY:
            raise LimitReached(
                f"{MOST_OF_MEMORY} contradictions of memory {id} wait for the person already; wait for their answer",
                limit=MOST_OF_MEMORY,
            )
    if len(waiting) >= MOST_OF_AGENTS:
        raise LimitReached(
            f"{MOST_OF_AGENTS} contradictions wait for the person already; wait for their answer",
            limit=MOST_OF_AGENTS,
        )


# Queries


def links_of(tx: Tx, memory_id: str | None = None) -> list[Link]:
    """The links between active memories, of one memory or of the whole book."""
    if memory_id is None:
        asked = _ALL
    else:
        asked = _OF_ONE
    return [to_link(row) for row in asked.rows(tx.conn, {"owner": tx.owner, "id": memory_id})]


def _stand() -> Select[Any]:
    """Links whose both ends are active."""
    query = select(links).where(links.c.owner == bindparam("owner"), links.c.removed_at.is_(None))
    for end in (links.c.from_id, links.c.to_id):
        there = alias(memories)
        live = [there.c[name].is_(None) for name in ("archived_at", "trashed_at", "purged_at")]
        query = query.join(there, and_(there.c.owner == links.c.owner, there.c.id == end, *live))
    return query.order_by(links.c.created_at, links.c.id)


_ALL = PreparedStatement(_stand())
_OF_ONE = PreparedStatement(_stand().where(or_(links.c.from_id == bindparam("id"), links.c.to_id == bindparam("id"))))


_contradicting = _stand().where(links.c.relation == "contradicts")
CONTRADICTS = PreparedStatement(_contradicting)
"""The links between lines that say opposite things."""
_CONTRADICTED_BY_AGENTS = PreparedStatement(
    _contradicting.join(
        ledger_entries, and_(ledger_entries.c.owner == links.c.owner, ledger_entries.c.seq == links.c.event)
    )
    .where(ledger_entries.c.actor == "agent")
    .with_only_columns(links.c.from_id, links.c.to_id)
)


def memory_detail(tx: Tx, id: str, now: str, preset: Preset) -> MemoryDetail:
    """A memory with its versions and links, in whatever state it is."""
    memory = row_to_memory(find_row(tx, id), now, preset)
    told = tuple(to_version(row) for row in version_rows(tx, id))
    values = {name: getattr(memory, name) for name in Memory.__dataclass_fields__}
    return MemoryDetail(**values, versions=told, links=tuple(links_of(tx, id)))


def to_link(row: Any, event: int | None = None) -> Link:
    return Link(
        id=row.id, from_id=row.from_id, to_id=row.to_id, relation=row.relation,
        created_at=parse_stamp(row.created_at), event=event,
    )  # fmt: skip


def _standing(tx: Tx, from_id: str, to_id: str, relation: str) -> Any:
    ends = and_(links.c.from_id == from_id, links.c.to_id == to_id, links.c.relation == relation)
    return tx.conn.execute(select(links).where(links.c.owner == tx.owner, ends, links.c.removed_at.is_(None))).first()


def _find(tx: Tx, id: str) -> Any:
    row = tx.conn.execute(select(links).where(links.c.owner == tx.owner, links.c.id == sought(id))).first()
    if row is None:
        raise NotFound(f"there is no link {id!r} in this book", field="link_id")
    return row
