"""Time travel: the book as it was known at one instant, about another.

`known` is the book's clock: the ledger up to that instant gives each memory's state, and only versions
recorded by then exist. `valid` is the world's clock: of those versions, newest first, the one that holds.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

from sqlalchemy import Column, ColumnElement, Select, bindparam, func, or_, select, true

from keepbook.book.ground import stored_json
from keepbook.book.ground.limits import clean_count, sought
from keepbook.book.memory.block import BlockEntry
from keepbook.book.memory.memories import Memory, State, holding_at
from keepbook.book.memory.memory_json import as_memory, told_memory
from keepbook.errors import Invalid
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedForIds, PreparedStatement
from keepbook.storage.tables.ledger import ledger
from keepbook.storage.tables.memory import injected, memories, versions

AT_LEAST = 20
"""How many more memories than a page needs are read at a time, since some had been forgotten or did not hold then."""
ColumnCondition = Callable[[Column[Any]], ColumnElement[bool]]
"""Makes the condition that limits a query to some memories, given the column that names a memory."""


class Cut(NamedTuple):
    """How much of the book is known: everything up to an instant, or what an injection knew. `by` names which, `values`
    are its parameters."""

    by: str
    values: Mapping[str, Any]


def by_instant(known: str) -> Cut:
    """What was known at an instant."""
    return Cut("instant", {"known": known})


def before_injection(seq: int, nth: int) -> Cut:
    """What an injection knew, given as numbers of the last entry and of the injection; clocks may stand still or
    jump."""
    return Cut("injection", {"seq": seq, "nth": nth})


class PastMemory(NamedTuple):
    """A memory at a past instant: its state, the version that held, its injections so far."""

    id: str
    state: State
    version: Any
    changed_at: str
    references: tuple[int, str | None]
    injection_knew: str | None

    @property
    def guess(self) -> bool:
        """Whether somebody else had worded it and the person had not made it their own."""
        return self.state.confidence == "inferred" and not self.version.quoted

    def to_json_fields(self, now: str, preset: Preset) -> dict[str, Any]:
        """The JSON object of the memory."""
        return told_memory(
            self.state, self.version, self.references, id=self.id, updated_at=self.changed_at, now=now, preset=preset
        )


def past_memories(tx: Tx, cut: Cut, valid: str, only: Sequence[str] | None = None) -> list[PastMemory]:
    """Every memory that was known by `cut` and valid at `valid`, oldest first, forgotten ones included. `only` limits
    it to these ids."""
    asked, values = _queries(cut.by), {"owner": tx.owner, **cut.values}

    def rows(what: str) -> Iterable[Any]:
        if only is None:
            return asked[what][0].rows(tx.conn, values)
        return asked[what][1].rows(tx.conn, only, values)

    chains: defaultdict[str, dict[int, Any]] = defaultdict(dict)
    for row in rows("versions"):
        chains[row.memory_id][row.version] = row
    references = {row.memory_id: row for row in rows("injected")}
    found = []
    for id, after, changed_at in rows("entries"):
        state = State(**stored_json.load_json(after))
        version = holding_at(chains[id], state.version, valid)
        if version is not None and version.content is not None:
            _, count, at, knew = references.get(id, (id, 0, None, None))
            found.append(PastMemory(id, state, version, changed_at, (count, at), knew))
    return sorted(found, key=lambda past: (past.state.created_at, past.id))


def as_of(
    tx: Tx, preset: Preset, known: str, valid: str, *, limit: int | None = None, cursor: str | None = None
) -> list[Memory]:
    """The active memories that were known at `known` and true at `valid`: all of them, or a page after the memory that
    `cursor` names."""
    if limit is not None:
        clean_count(limit, "limit", 1000)
    found: list[PastMemory] = []
    for some in _stretches(tx, known, limit, cursor):
        found += [past for past in past_memories(tx, by_instant(known), valid, some) if past.state.name == "active"]
        if limit is not None and len(found) >= limit:
            break
    return [as_memory(past.to_json_fields(valid, preset)) for past in found[:limit]]


def _stretches(tx: Tx, known: str, limit: int | None, cursor: str | None) -> Iterator[Sequence[str] | None]:
    """The ids of the memories made by then, in order of creation, some at a time. A single None stands for all."""
    if limit is None and cursor is None:
        yield None
        return
    last: tuple[str, str] | None
    if cursor is None:
        last = "", ""
    else:
        last = _place_of(tx, cursor)
    if limit is None:
        many = 1000
    else:
        many = limit + AT_LEAST
    while last is not None:
        asked = {"owner": tx.owner, "known": known, "created_at": last[0], "id": last[1], "most": many}
        rows = _MADE.tuples(tx.conn, asked)
        yield [id for _, id in rows]
        last = None
        if len(rows) == many:
            last = rows[-1]


def _place_of(tx: Tx, id: str) -> tuple[str, str]:
    row = _CREATED.first(tx.conn, {"owner": tx.owner, "id": sought(id)})
    if row is None:
        raise Invalid(f"there is no memory {id!r} in this book to go on after", field="cursor")
    return row.created_at, id


def past_entries(tx: Tx, cut: Cut, valid: str, in_scope: Any) -> Iterable[BlockEntry]:
    """The memories that the block of that time is chosen from."""
    for past in past_memories(tx, cut, valid):
        if past.state.name == "active" and in_scope(past.state.scope):
            yield block_entry(past.id, past.state, past.version, past.references[1], past.injection_knew)


def block_entry(id: str, state: State, version: Any, last_injected: str | None, known: str | None) -> BlockEntry:
    return BlockEntry(
        id, version.version, state.category, state.subject, version.content, version.summary, state.confidence,
        state.importance, version.source, version.score, state.created_at, version.recorded_at, state.last_confirmed_at,
        state.edited_at, max(state.edited_at, state.last_confirmed_at or "", last_injected or ""),
        known is None or known < state.edited_at, version.quoted, version.spans, version.said_on, version.written_by,
    )  # fmt: skip


# Queries


@cache
def _queries(by: str) -> Mapping[str, tuple[PreparedStatement, PreparedForIds]]:
    """The three queries for what was known, each for all memories and for some. `by` is that of a `Cut`."""
    entries, said, shown = {
        "instant": (
            ledger.c.at <= bindparam("known"), versions.c.recorded_at <= bindparam("known"),
            injected.c.at <= bindparam("known"),
        ),
        "injection": (
            ledger.c.seq <= bindparam("seq"), versions.c.event <= bindparam("seq"),
            injected.c.injection < bindparam("nth"),
        ),
    }[by]  # fmt: skip

    def both(question: Callable[[ColumnCondition], Select[Any]]) -> tuple[PreparedStatement, PreparedForIds]:
        # Entries may have no memory. This is not asked beside a list of ids, or SQLite would not use the index.
        return PreparedStatement(
            question(lambda column: column.isnot(None) if column.nullable else true())
        ), PreparedForIds(lambda ids: question(lambda column: column.in_(ids)))

    return {
        "entries": both(partial(_states, entries)),
        "versions": both(partial(_versions, said)),
        "injected": both(partial(_references, shown)),
    }


_MADE = PreparedStatement(
    select(memories.c.created_at, memories.c.id)
    .where(memories.c.owner == bindparam("owner"), memories.c.created_at <= bindparam("known"))
    .where(memories.c.created_at >= bindparam("created_at"))
    .where(or_(memories.c.created_at > bindparam("created_at"), memories.c.id > bindparam("id")))
    .order_by(memories.c.created_at, memories.c.id)
    .limit(bindparam("most"))
)
_CREATED = PreparedStatement(
    select(memories.c.created_at).where(memories.c.owner == bindparam("owner"), memories.c.id == bindparam("id"))
)


def _states(known: ColumnElement[bool], some: ColumnCondition) -> Select[Any]:
    """The query for each memory's state after the last entry about it by then. Purged memories have none."""
    about = (ledger.c.link_id.is_(None), some(ledger.c.memory_id))
    mine = ledger.c.owner == bindparam("owner")
    last = select(func.max(ledger.c.seq)).where(mine, known, *about).group_by(ledger.c.memory_id)
    query = select(ledger.c.memory_id, ledger.c.after, ledger.c.at)
    return query.where(mine, ledger.c.seq.in_(last), ledger.c.after.isnot(None))


def _versions(known: ColumnElement[bool], some: ColumnCondition) -> Select[Any]:
    return select(versions).where(versions.c.owner == bindparam("owner"), known, some(versions.c.memory_id))


def _references(known: ColumnElement[bool], some: ColumnCondition) -> Select[Any]:
    """The query for how often each memory was injected by then, and for the last of these injections: when it was, and
    up to which time of the ledger it knew."""
    mine = injected.c.owner == bindparam("owner")
    last = (
        select(injected.c.memory_id, func.count().label("count"), func.max(injected.c.nth).label("nth"))
        .where(mine, known, some(injected.c.memory_id))
        .group_by(injected.c.memory_id)
        .subquery("last")
    )
    join = (injected.c.memory_id == last.c.memory_id) & (injected.c.nth == last.c.nth)
    query = select(last.c.memory_id, last.c.count, injected.c.at, injected.c.known)
    return query.select_from(injected.join(last, join)).where(mine)
