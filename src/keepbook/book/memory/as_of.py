"""Time travel: the book as it was known at one instant, about another.

`known` is the book's clock: the ledger up to that instant gives each memory's state, and only versions
recorded by then exist. `valid` is the world's clock: of those versions, newest first, the one that holds.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, func, select

from keepbook.book.ground import stored
from keepbook.book.memory.block import Entry
from keepbook.book.memory.memories import Memory, State, holding_at, to_memory
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.tables import injected, ledger, versions


class Cut(NamedTuple):
    """How much of the book is known: which entries, which versions, which injections."""

    entries: ColumnElement[bool]
    versions: ColumnElement[bool]
    injected: ColumnElement[bool]


def by_instant(known: str) -> Cut:
    """What was known at an instant."""
    return Cut(ledger.c.at <= known, versions.c.recorded_at <= known, injected.c.at <= known)


def before_injection(seq: int, nth: int) -> Cut:
    """What an injection knew: counted in entries and injections, so that clocks may stand still or jump."""
    return Cut(ledger.c.seq <= seq, versions.c.event <= seq, injected.c.injection < nth)


class Past(NamedTuple):
    """A memory as it stood: its state, the version that held, its injections so far."""

    id: str
    state: State
    version: Any
    changed_at: str
    references: tuple[int, str | None]
    injection_knew: str | None


def past_of(tx: Tx, cut: Cut, valid: str) -> list[Past]:
    """Every memory known by then and holding in the world at `valid`, oldest first; forgotten ones too."""
    states = _states(tx, cut)
    chains = _chains(tx, cut)
    references = _references(tx, cut)
    found = []
    for id, (state, changed_at) in states.items():
        version = holding_at(chains[id], state.version, valid)
        if version is not None and version.content is not None:
            count, at, knew = references.get(id, (0, None, None))
            found.append(Past(id, state, version, changed_at, (count, at), knew))
    return sorted(found, key=lambda past: (past.state.created_at, past.id))


def as_of(tx: Tx, preset: Preset, known: str, valid: str) -> list[Memory]:
    """The active memories as they were known at `known` and held at `valid`."""
    return [
        to_memory(
            past.state,
            past.version,
            past.references,
            id=past.id,
            updated_at=past.changed_at,
            now=valid,
            preset=preset,
        )
        for past in past_of(tx, by_instant(known), valid)
        if past.state.name == "active"
    ]


def past_entries(tx: Tx, cut: Cut, valid: str, in_scope: Any) -> Iterable[Entry]:
    """What the block of then chooses from."""
    for past in past_of(tx, cut, valid):
        if past.state.name == "active" and in_scope(past.state.scope):
            yield block_entry(past.id, past.state, past.version, past.references[1], past.injection_knew)


def block_entry(id: str, state: State, version: Any, last_injected: str | None, known: str | None) -> Entry:
    return Entry(
        id, version.version, state.category, state.subject, version.content, version.summary, state.confidence,
        state.importance, version.source, version.score, state.created_at, version.recorded_at, state.last_confirmed_at,
        state.edited_at, max(state.edited_at, state.last_confirmed_at or "", last_injected or ""),
        known is None or known < state.edited_at,
    )  # fmt: skip


# Queries


def _states(tx: Tx, cut: Cut) -> dict[str, tuple[State, str]]:
    """Each memory's state after the last entry about it by then. Purged ones have none left."""
    last = (
        select(func.max(ledger.c.seq))
        .where(
            ledger.c.owner == tx.owner,
            cut.entries,
            ledger.c.memory_id.isnot(None),
            ledger.c.link_id.is_(None),
        )
        .group_by(ledger.c.memory_id)
    )
    query = select(ledger.c.memory_id, ledger.c.after, ledger.c.at).where(
        ledger.c.owner == tx.owner, ledger.c.seq.in_(last), ledger.c.after.isnot(None)
    )
    return {id: (State(**stored.loads(after)), at) for id, after, at in tx.conn.execute(query)}


def _chains(tx: Tx, cut: Cut) -> Mapping[str, dict[int, Any]]:
    chains: defaultdict[str, dict[int, Any]] = defaultdict(dict)
    for row in tx.conn.execute(select(versions).where(versions.c.owner == tx.owner, cut.versions)):
        chains[row.memory_id][row.version] = row
    return chains


def _references(tx: Tx, cut: Cut) -> dict[str, tuple[int, str | None, str | None]]:
    """How often each was injected by then; and of the last time, by number, when that was and what it knew."""
    last = (
        select(injected.c.memory_id, func.count().label("count"), func.max(injected.c.nth).label("nth"))
        .where(injected.c.owner == tx.owner, cut.injected)
        .group_by(injected.c.memory_id)
        .subquery("last")
    )
    join = (injected.c.memory_id == last.c.memory_id) & (injected.c.nth == last.c.nth)
    query = select(last.c.memory_id, last.c.count, injected.c.at, injected.c.known).select_from(
        injected.join(last, join)
    )
    rows = tx.conn.execute(query.where(injected.c.owner == tx.owner))
    return {id: (count, at, knew) for id, count, at, knew in rows}
