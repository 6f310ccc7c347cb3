"""What a book has active, counted: so that a block need not look at every memory to say how many it left out.

Held in this process by owner, without any text, together with the ledger's entry up to which it was counted: what was
written since is counted on from the entries. Where time alone changes something, because a memory ends or begins, it is
held until that instant. A state that was rolled back, erased or replaced is known by the hash of its entry.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import and_, bindparam, case, func, or_, select

from keepbook.book.ground import stored_json
from keepbook.book.memory.memories import IS_ACTIVE, fits_scope, holding_at, is_valid_at
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedForIds, PreparedStatement
from keepbook.storage.tables.ledger import ledger
from keepbook.storage.tables.memory import memories, versions

MOST_OWNERS, MOST_CHANGES = 1_000, 500
"""How many owners' counts are cached, and after how many changes they are counted anew."""
FEW = 300
"""Up to this many lines of the person are cached by their ids, if others wrote the rest of the book."""
NEVER = "~"
"""A stamp that is later than every other."""

Numbers = Mapping[tuple[str | None, str | None], int]
"""Counts by scope and category."""
_HELD: dict[str, "Standing"] = {}


@dataclass(frozen=True, slots=True)
class Standing:
    """The active memories of an owner, from the instant `at` until `until`, as entry `seq` with this `hash` left
    them."""

    seq: int
    hash: str
    at: str
    until: str
    active: Numbers
    """How many active memories there are by scope and category, whether they hold or not."""
    gone: Mapping[str, str | None]
    """The ids and scopes of active memories of which no version holds now."""
    instead: Mapping[str, str | None]
    """The ids and scopes of those of which not the newest version holds, but an earlier one."""
    persons: frozenset[str] | None
    """The ids of the memories that are the person's word, if they are few; else None."""

    def count(self, scope: str | None) -> int:
        """How many hold in this scope."""
        gone = Counter(self.gone.values())
        return self.count_active(scope) - sum(number for own, number in gone.items() if fits_scope(own, scope))

    def count_active(self, scope: str | None, category: str | None = None) -> int:
        """How many are active in this scope, of one category or of all."""
        return sum(
            number
            for (own, kind), number in self.active.items()
            if (category is None or kind == category) and fits_scope(own, scope)
        )

    def stand_ins(self, scope: str | None) -> list[str]:
        return [id for id, own in self.instead.items() if fits_scope(own, scope)]


def standing(tx: Tx, now: str) -> Standing:
    """What is active and holds at this instant."""
    known = _HELD.get(tx.owner)
    found = None
    if known is not None:
        found = _counted_on(tx, known, now)
    if found is None:
        found = _counted(tx, now)
    if found is not known:
        if len(_HELD) >= MOST_OWNERS:
            _HELD.clear()
        _HELD[tx.owner] = found
    return found


# Operations


def _counted(tx: Tx, now: str) -> Standing:
    mine = {"owner": tx.owner}
    seq, hash = next(iter(_LAST.tuples(tx.conn, mine)), (0, ""))
    active = {(scope, category): int(number) for scope, category, number in _ACTIVE.tuples(tx.conn, mine)}
    few = [id for (id,) in _PERSONS.tuples(tx.conn, {**mine, "most": FEW + 1})]
    gone, instead, until = _lapsed(tx, _TIMED.tuples(tx.conn, mine), now)
    persons = None
    if len(few) <= FEW:
        persons = frozenset(few)
    return Standing(seq, hash, now, until, active, gone, instead, persons)


def _counted_on(tx: Tx, known: Standing, now: str) -> Standing | None:
    """The same, brought up to date with the entries written since; None if that is not possible."""
    rows = entries_since(tx, known.seq, known.hash)
    if rows is None:
        return None
    new = [row for row in rows[1:] if row[2] is not None]
    in_time = known.at <= now < known.until
    if len(rows) == 1 and in_time:
        return known
    ids = list(dict.fromkeys(row[2] for row in new))
    found = replace(known, seq=rows[-1][0], hash=rows[-1][1], active=_moved(known.active, new))
    if ids:
        found = _with_changed(tx, found, ids, now)
    if not in_time:
        gone, instead, until = _lapsed(tx, _TIMED.tuples(tx.conn, {"owner": tx.owner}), now)
        found = replace(found, at=now, until=until, gone=gone, instead=instead)
    return found


def entries_since(tx: Tx, seq: int, hash: str) -> list[Any] | None:
    """The entry with this number and hash, and all later ones. None if these are too many, if that entry no longer
    exists, or if one of them purged a memory, so that nothing says what it was."""
    rows = _SINCE.tuples(tx.conn, {"owner": tx.owner, "seq": seq, "most": MOST_CHANGES + 1})
    if not rows or rows[0][:2] != (seq, hash) or len(rows) > MOST_CHANGES:
        return None
    purged = any(id is not None and after is None for _, _, id, _, after in rows[1:])
    if purged:
        return None
    return rows


def _with_changed(tx: Tx, known: Standing, ids: Sequence[str], now: str) -> Standing:
    """The same, with what it says of these memories read again."""
    mine, changed = {"owner": tx.owner}, set(ids)
    gone, instead, until = _lapsed(tx, _TIMED_THESE.tuples(tx.conn, ids, mine), now)
    persons = known.persons
    if persons is not None:
        persons = (persons - changed) | {id for (id,) in _PERSONS_THESE.tuples(tx.conn, ids, mine)}
    return replace(
        known,
        until=min(known.until, until),
        gone={id: scope for id, scope in known.gone.items() if id not in changed} | gone,
        instead={id: scope for id, scope in known.instead.items() if id not in changed} | instead,
        persons=persons if persons is None or len(persons) <= FEW else None,
    )


def _moved(active: Numbers, entries: Iterable[Sequence[Any]]) -> Numbers:
    """The numbers of active memories after these entries."""
    moved = dict(active)
    for *_, before, after in entries:
        for stored, step in ((before, -1), (after, 1)):
            state = None
            if stored is not None:
                state = stored_json.load_json(stored)
            if state is not None and state["archived_at"] is None and state["trashed_at"] is None:
                place = state["scope"], state["category"]
                moved[place] = moved.get(place, 0) + step
    return moved


def _lapsed(
    tx: Tx, timed: Iterable[Sequence[Any]], now: str
) -> tuple[dict[str, str | None], dict[str, str | None], str]:
    """For memories whose newest version has a beginning or an end: those of which no version holds now, those of which
    an earlier one does (both by id, with their scope), and until when this answer is right."""
    gone: dict[str, str | None] = {}
    bounds = [NEVER]
    for id, scope, since, until in timed:
        if is_valid_at(since, until, now):
            bounds.append(until or NEVER)
        else:
            gone[id] = scope
    chains: defaultdict[str, dict[int, Any]] = defaultdict(dict)
    for row in _CHAINS.rows(tx.conn, list(gone), {"owner": tx.owner}):
        chains[row.memory_id][row.version] = row
        bounds += [bound for bound in (row.valid_from, row.valid_until) if bound is not None and bound > now]
    held = [id for id, chain in chains.items() if holding_at(chain, max(chain), now) is not None]
    instead = {id: gone.pop(id) for id in held}
    return gone, instead, min(bounds)


# Queries

_own_version = and_(
    versions.c.owner == memories.c.owner,
    versions.c.memory_id == memories.c.id,
    versions.c.version == memories.c.version,
)
_of_owner = and_(memories.c.owner == bindparam("owner"), IS_ACTIVE)
_with_a_time = or_(versions.c.valid_until.isnot(None), versions.c.valid_from > versions.c.recorded_at)
IS_PERSONS = or_(
    versions.c.source == "profile",
    memories.c.last_confirmed_at.isnot(None),
    and_(or_(versions.c.source == "chat", versions.c.quoted == 1), versions.c.written_by.is_(None)),
    and_(
        versions.c.source != "chat",
        versions.c.source != "imported",
        versions.c.quoted == 0,
        memories.c.confidence == "asserted",
    ),
)
"""A condition for the memories that `block.is_persons_line` takes for the person's own."""
_LAST = PreparedStatement(
    select(ledger.c.seq, ledger.c.hash)
    .where(ledger.c.owner == bindparam("owner"))
    .order_by(ledger.c.seq.desc())
    .limit(1)
)
_SINCE = PreparedStatement(
    select(
        ledger.c.seq,
        ledger.c.hash,
        case((ledger.c.link_id.is_(None), ledger.c.memory_id)).label("memory_id"),
        ledger.c.before,
        ledger.c.after,
    )
    .where(ledger.c.owner == bindparam("owner"), ledger.c.seq >= bindparam("seq"))
    .order_by(ledger.c.seq)
    .limit(bindparam("most"))
)
_ACTIVE = PreparedStatement(
    select(memories.c.scope, memories.c.category, func.count())
    .where(_of_owner)
    .group_by(memories.c.scope, memories.c.category)
)
_timed = (
    select(memories.c.id, memories.c.scope, versions.c.valid_from, versions.c.valid_until)
    .select_from(versions.join(memories, _own_version))
    .where(_of_owner, versions.c.owner == bindparam("owner"), _with_a_time)
)
_persons = select(memories.c.id).select_from(memories.join(versions, _own_version)).where(_of_owner, IS_PERSONS)
_TIMED, _TIMED_THESE = PreparedStatement(_timed), PreparedForIds(lambda ids: _timed.where(memories.c.id.in_(ids)))
_PERSONS = PreparedStatement(_persons.limit(bindparam("most")))
_PERSONS_THESE = PreparedForIds(lambda ids: _persons.where(memories.c.id.in_(ids)))
_CHAINS = PreparedForIds(
    lambda ids: select(versions).where(versions.c.owner == bindparam("owner"), versions.c.memory_id.in_(ids))
)
