"""The block of a book: previewed at any instant, and frozen for a session.

`preview` is a pure read. `inject` renders at the first call for a session, stores the text and counts each line as a
reference; every later call returns the same bytes. Only deleting a shown memory for good changes that: the stored text
is blanked, and the next call renders anew.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import and_, bindparam, func, insert, select, tuple_, update

from keepbook.book.ground.limits import clean_line
from keepbook.book.ledger import ledger
from keepbook.book.memory.block import (
    BlockEntry,
    ComposedBlock,
    comes_before,
    decides,
    is_decided_in_order,
    is_persons_line,
    render,
    render_first,
)
from keepbook.book.memory.block_rules import read_rules, spell_rules
from keepbook.book.memory.history.as_of import before_injection, block_entry, by_instant, past_entries
from keepbook.book.memory.history.standing import IS_PERSONS, Standing, standing
from keepbook.book.memory.memories import (
    EVERY_SCOPE,
    IS_ACTIVE,
    fits_scope,
    holding_at,
    in_scope,
    is_valid_at,
    to_state,
)
from keepbook.book.text.block_lines import BlockLine, parse_block, places_to_text
from keepbook.errors import Conflict, NotFound
from keepbook.presets import BlockRules, Preset
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedForIds, PreparedStatement
from keepbook.storage.tables.choices import choices
from keepbook.storage.tables.memory import block_rules, injected, injections, memories, versions

CHAT, OUTSIDE = "chat", "outside"
"""The two name spaces of session ids: our own chats, and whatever an outside agent calls its sessions."""


class Injection(NamedTuple):
    """The block that a session was given: its text, and the lines of it."""

    text: str
    lines: tuple[BlockLine, ...]


NOTHING = Injection("", ())
TOKENS_OF_LINE, FIRST = 10, 256
"""How many memories are read at first for a block: one for each 10 tokens of its budget, since most lines have more;
256 at most."""


class PersonsLines(NamedTuple):
    """The first of the person's own lines, in the order of a block, and whether these are all."""

    entries: list[BlockEntry]
    are_all: bool


# Operations


def preview(tx: Tx, preset: Preset, now: str, *, scope: str | None = None) -> ComposedBlock:
    """The block that a chat beginning now would see."""
    return render(_entries(tx, preset, now, _rows(tx, preset, scope)), preset, now)


def present_block(tx: Tx, preset: Preset, now: str, *, scope: str | None = None) -> ComposedBlock:
    """The same block, without the fates of what is not in it. Memories are read in order of priority, and only until
    no other can enter the block."""
    if not is_decided_in_order(preset):
        return preview(tx, preset, now, scope=scope)
    at_first = _lines_at_first(preset)
    rows = _ordered(scope, goes_on=False).tuples(tx.conn, {"owner": tx.owner, "most": at_first})
    if len(rows) < at_first:
        return render(_entries(tx, preset, now, rows), preset, now)
    stands = standing(tx, now)
    stand_ins = _holding_earlier(tx, stands.stand_ins(scope), now)
    ahead = [*stand_ins, *_holding(rows, now)]
    block = render_first(_sure(ahead, rows[-1]), preset, now, stands.count(scope))
    if block is not None:
        return block
    persons = _first_of_person(tx, stands, now, scope)
    theirs = [*persons.entries, *filter(is_persons_line, stand_ins)]
    while rows:
        last, sure = rows[-1], _sure(ahead, rows[-1])
        if decides(sure, theirs, preset, now, every_person=persons.are_all):
            break
        after = {"importance": last[7], "updated_at": last[21], "id": last[0]}
        rows = _ordered(scope, goes_on=True).tuples(tx.conn, {"owner": tx.owner, "most": 2 * len(ahead) + 1, **after})
        ahead += _holding(rows, now)
    else:
        sure = ahead
    return render(
        list({entry.id: entry for entry in (*sure, *theirs)}.values()), preset, now, count=stands.count(scope)
    )


def _lines_at_first(preset: Preset) -> int:
    return min((preset.selection.total or 0) // TOKENS_OF_LINE + 1, FIRST)


def preview_of_all(tx: Tx, preset: Preset, now: str) -> tuple[ComposedBlock, list[Any]]:
    """The same block, and the rows of every active memory of every scope, oldest first, from the same read. The columns
    of a row are those of `_COLUMNS`, then those of `_WHERE`."""
    rows = _rows(tx, preset, EVERY_SCOPE)
    rows.sort(key=itemgetter(0))
    rows.sort(key=itemgetter(10))
    return render(_entries(tx, preset, now, [row for row in rows if row[20] is None]), preset, now), rows


def preview_past(tx: Tx, preset: Preset, known: str, valid: str, *, scope: str | None = None) -> ComposedBlock:
    """The block as it would have been, from what was known at `known` about `valid`."""
    return render(list(past_entries(tx, by_instant(known), valid, lambda own: fits_scope(own, scope))), preset, valid)


def inject(tx: Tx, preset: Preset, now: str, session: str, *, scope: str | None = None, space: str = OUTSIDE) -> str:
    """The block of a session: rendered once, then the same bytes. Call it in a write."""
    return inject_lines(tx, preset, now, session, scope=scope, space=space).text


def inject_lines(
    tx: Tx, preset: Preset, now: str, session: str, *, scope: str | None = None, space: str = OUTSIDE
) -> Injection:
    """The block of a session, as `inject`, with its lines."""
    session = clean_line(session, "session", 1, 200)
    kept = find_injection(tx, session, space)
    if kept is not None:
        if kept.preset != preset.name or kept.scope != scope:
            raise Conflict(
                f"session {session!r} began with preset {kept.preset!r}"
                + (f" and scope {kept.scope!r}" if kept.scope else "")
                + "; use that, or begin another session",
                code="other_preset",
            )
        if kept.block is not None:
            return injection_of(kept)
    rendered = present_block(tx, preset, now, scope=scope)
    rules = spell_rules(preset)
    ((last, known),) = _BEFORE.tuples(tx.conn, {"owner": tx.owner, "digest": rules.digest})
    if not known:
        tx.conn.execute(insert(block_rules), {"owner": tx.owner, **rules._asdict()})
    nth = 1 + (last or 0)
    row = {"at": now, "seq": ledger.chain_head(tx).seq, "nth": nth, "block": rendered.text}
    row |= {"lines": places_to_text(rendered.lines), "rules_digest": rules.digest}
    if kept is None:
        key = {"owner": tx.owner, "space": space, "session": session}
        tx.conn.execute(insert(injections), key | row | {"preset": preset.name, "scope": scope})
    else:
        blanked = and_(injections.c.owner == tx.owner, injections.c.space == space, injections.c.session == session)
        tx.conn.execute(update(injections).where(blanked).values(row))
    _count(tx, rendered.shown, now, session, space, nth)
    return Injection(rendered.text, rendered.lines)


def replay(tx: Tx, load: Callable[[str], Preset], session: str, *, space: str = OUTSIDE) -> ComposedBlock:
    """The block of a session rendered again: from the ledger up to the entry that it knew, from the injections before
    it, and by the rules it was rendered with. If it came from an older file, which has no rules, those of its preset
    are taken, which `load` finds."""
    kept = find_injection(tx, session, space)
    if kept is None:
        raise NotFound(f"nothing was injected into session {session!r}", field="session")
    cut = before_injection(kept.seq, kept.nth)
    rules = _rules_of(tx, kept.rules_digest) or load(kept.preset)
    return render(list(past_entries(tx, cut, kept.at, lambda own: fits_scope(own, kept.scope))), rules, kept.at)


def _count(tx: Tx, shown: Sequence[tuple[str, int]], now: str, session: str, space: str, injection: int) -> None:
    if not shown:
        return
    query = (
        select(injected.c.memory_id, func.max(injected.c.nth).label("nth"))
        .where(injected.c.owner == tx.owner, injected.c.memory_id.in_([id for id, _ in shown]))
        .group_by(injected.c.memory_id)
    )
    before = {row.memory_id: row.nth for row in tx.conn.execute(query)}
    known = ledger.chain_head(tx).at
    rows = [
        {"owner": tx.owner, "memory_id": id, "nth": before.get(id, 0) + 1, "at": now, "known": known,
         "version": version, "space": space, "session": session, "injection": injection}
        for id, version in shown
    ]  # fmt: skip
    tx.conn.execute(insert(injected), rows)


def injection_of(kept: Any) -> Injection:
    """The block of a row of `injections`; an empty one if it was blanked."""
    return Injection(kept.block or "", parse_block(kept.block, kept.lines))


# Queries


def find_injection(tx: Tx, session: str, space: str = OUTSIDE) -> Any:
    """The block that was injected into a session, if any."""
    return _STORED.first(tx.conn, {"owner": tx.owner, "space": space, "session": session})


def key_of_chat(
    tx: Tx, thread_id: str, session: str | None, preset: str, scope: str | None, *, is_own: bool = True
) -> tuple[str, str]:
    """The session and space under which the block of a chat is kept. If a program has stored a block of another kind
    under the name of the chat's session, the chat has one of its own: nobody decides for the person by coming first.
    `is_own` says whether the scope is the chat's own; only for that one the chat's id is the key."""
    if session is not None:
        kept = find_injection(tx, session)
        if kept is None or (kept.preset, kept.scope) == (preset, scope):
            return session, OUTSIDE
    if is_own:
        return thread_id, CHAT
    return f"{thread_id} {scope}", CHAT


_STORED = PreparedStatement(
    select(
        injections,
        # Whether memory is switched on, read by the same query.
        select(choices.c.value)
        .where(choices.c.owner == bindparam("owner"), choices.c.name == "memory")
        .scalar_subquery()
        .label("memory"),
    ).where(
        injections.c.owner == bindparam("owner"),
        injections.c.space == bindparam("space"),
        injections.c.session == bindparam("session"),
    )
)


def _rules_of(tx: Tx, digest: str | None) -> BlockRules | None:
    if digest is None:
        return None
    mine = and_(block_rules.c.owner == tx.owner, block_rules.c.digest == digest)
    return read_rules(tx.conn.execute(select(block_rules.c.rules).where(mine)).scalar_one())


_BEFORE = PreparedStatement(
    select(
        select(func.max(injections.c.nth)).where(injections.c.owner == bindparam("owner")).scalar_subquery(),
        select(block_rules.c.digest)
        .where(block_rules.c.owner == bindparam("owner"), block_rules.c.digest == bindparam("digest"))
        .scalar_subquery(),
    )
)
"""The number of the last injection, and whether the rules of this one are stored already, in one query."""
_own_version = and_(
    versions.c.owner == memories.c.owner,
    versions.c.memory_id == memories.c.id,
    versions.c.version == memories.c.version,
)
_newest = injected.alias()
_last_injection = and_(
    injected.c.owner == memories.c.owner,
    injected.c.memory_id == memories.c.id,
    injected.c.nth
    == select(func.max(_newest.c.nth))
    .where(_newest.c.owner == bindparam("owner"), _newest.c.memory_id == memories.c.id)
    .correlate(memories)
    .scalar_subquery(),
)
_COLUMNS = (
    memories.c.id, versions.c.version, memories.c.category, memories.c.subject, versions.c.content, versions.c.summary,
    memories.c.confidence, memories.c.importance, versions.c.source, versions.c.score, memories.c.created_at,
    versions.c.recorded_at, memories.c.last_confirmed_at, memories.c.edited_at, versions.c.quoted, versions.c.spans,
    versions.c.said_on, versions.c.written_by,
)  # fmt: skip
_WHERE = (versions.c.valid_from, versions.c.valid_until, memories.c.scope)
_PRESENT = (
    select(*_COLUMNS, *_WHERE)
    .select_from(memories.join(versions, _own_version))
    .where(memories.c.owner == bindparam("owner"), IS_ACTIVE)
)
_PRESENT_BY_RECENCY = (
    select(*_COLUMNS, *_WHERE, injected.c.at, injected.c.known)
    .select_from(memories.join(versions, _own_version).outerjoin(injected, _last_injection))
    .where(memories.c.owner == bindparam("owner"), IS_ACTIVE)
)


@lru_cache(maxsize=256)
def _present(by_recency: bool, scope: str | None) -> PreparedStatement:
    return PreparedStatement((_PRESENT_BY_RECENCY if by_recency else _PRESENT).where(in_scope(scope)))


def _rows(tx: Tx, preset: Preset, scope: str | None) -> list[Any]:
    """The rows of all active memories in scope. Injections are read only for a preset that chooses by recency."""
    return _present(preset.selection.kind == "recent", scope).tuples(tx.conn, {"owner": tx.owner})


@lru_cache(maxsize=256)
def _ordered(scope: str | None, *, goes_on: bool, persons: bool = False) -> PreparedStatement:
    """The query for active memories in scope by importance and last update, which an index has. That is nearly the
    order of the block, since a memory is never affirmed later than it was updated (`comes_before`)."""
    order = (memories.c.importance, memories.c.updated_at, memories.c.id)
    query = _PRESENT.add_columns(memories.c.updated_at).where(in_scope(scope))
    if goes_on:
        query = query.where(tuple_(*order) < tuple_(*(bindparam(one.name, type_=one.type) for one in order)))
    if persons:
        query = query.where(IS_PERSONS)
    return PreparedStatement(query.order_by(*(one.desc() for one in order)).limit(bindparam("most")))


def _first_of_person(tx: Tx, stands: Standing, now: str, scope: str | None) -> PersonsLines:
    mine = {"owner": tx.owner}
    if stands.persons is not None:
        rows = _THESE.tuples(tx.conn, sorted(stands.persons), mine)
        rows = [row for row in rows if fits_scope(row[20], scope)]
    else:
        rows = _ordered(scope, goes_on=False, persons=True).tuples(tx.conn, {**mine, "most": FIRST})
    are_all = stands.persons is not None or len(rows) < FIRST
    entries = _holding(rows, now)
    if are_all:
        return PersonsLines(entries, are_all)
    return PersonsLines(_sure(entries, rows[-1]), are_all)


_THESE = PreparedForIds(lambda ids: _PRESENT.where(memories.c.id.in_(ids)))


def _holding(rows: Iterable[Any], now: str) -> list[BlockEntry]:
    return _as_entries(row for row in rows if is_valid_at(row[18], row[19], now))


def _sure(entries: Iterable[BlockEntry], last: Any) -> list[BlockEntry]:
    """The entries that have priority over every row after this one."""
    return [entry for entry in entries if comes_before(entry, last[7], last[21])]


def _as_entries(rows: Iterable[Any]) -> list[BlockEntry]:
    return [tuple.__new__(BlockEntry, (*row[:14], None, False, *row[14:18])) for row in rows]


def _entries(tx: Tx, preset: Preset, now: str, rows: Sequence[Any]) -> list[BlockEntry]:
    """The entries of those memories that hold now, in the version that does."""
    holding = [row for row in rows if row[18] <= now and (row[19] is None or now < row[19])]
    if preset.selection.kind == "recent":
        entries = [tuple.__new__(BlockEntry, (*row[:14], *_last_reference(row), *row[14:18])) for row in holding]
    else:
        entries = _as_entries(holding)
    if len(holding) == len(rows):
        return entries
    return entries + _holding_earlier(tx, [row[0] for row in rows if not is_valid_at(row[18], row[19], now)], now)


def _last_reference(row: Any) -> tuple[str, bool]:
    """When a memory was last referenced, and whether it waits: it was not injected since it was edited."""
    edited, injected_at, known = row[13], row[21], row[22]
    return max(edited, row[12] or "", injected_at or ""), known is None or known < edited


def _holding_earlier(tx: Tx, ids: Sequence[str], now: str) -> list[BlockEntry]:
    """Entries for memories whose newest version does not hold now, but an earlier one does. Most of them have only one
    version, which has ended."""
    mine = {"owner": tx.owner}
    several = [id for (id,) in _OF_SEVERAL_VERSIONS.tuples(tx.conn, ids, mine)]
    chains: defaultdict[str, dict[int, Any]] = defaultdict(dict)
    for row in _VERSIONS.rows(tx.conn, several, mine):
        chains[row.memory_id][row.version] = row
    holding = {id: holding_at(chain, max(chain), now) for id, chain in chains.items()}
    found = [id for id in several if holding[id] is not None]
    seen = {id: (at, known) for id, at, known in _LAST_SHOWN.tuples(tx.conn, found, mine)}
    states = {row.id: to_state(row) for row in _STATES.rows(tx.conn, found, mine)}
    return [block_entry(id, states[id], holding[id], *seen.get(id, (None, None))) for id in found]


_of_owner = memories.c.owner == bindparam("owner")
_OF_SEVERAL_VERSIONS = PreparedForIds(
    lambda ids: select(memories.c.id).where(_of_owner, memories.c.id.in_(ids), memories.c.version > 1)
)
_STATES = PreparedForIds(lambda ids: select(memories).where(_of_owner, memories.c.id.in_(ids)))
_VERSIONS = PreparedForIds(
    lambda ids: select(versions).where(versions.c.owner == bindparam("owner"), versions.c.memory_id.in_(ids))
)
_LAST_SHOWN = PreparedForIds(
    lambda ids: (
        select(memories.c.id, injected.c.at, injected.c.known)
        .select_from(memories.join(injected, _last_injection))
        .where(_of_owner, memories.c.id.in_(ids))
    )
)
