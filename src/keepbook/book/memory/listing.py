"""Listing memories: filtered, in order of creation, page by page; or all of them in brief, to choose a page from."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, bindparam, case, func, or_, select

from keepbook.book.ground import stored_json
from keepbook.book.ground.limits import clean_count, sought
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ground.to_json import LazyValues, Page
from keepbook.book.ledger import ledger
from keepbook.book.memory import injections
from keepbook.book.memory.block import Fate
from keepbook.book.memory.history.standing import entries_since, standing
from keepbook.book.memory.labels import NOTHING, LabelFilter, are_many, bound, has_each_label, has_labels, keys_of
from keepbook.book.memory.memories import (
    EVERY_SCOPE,
    IN_STATE,
    IS_ACTIVE,
    SHOWN,
    WHOLE,
    Memory,
    State,
    fits_scope,
    in_scope,
)
from keepbook.book.memory.memory_json import as_memory, memory_to_json, row_to_memory
from keepbook.book.text.indexes.beginnings import begins_a_word, ids_with_beginnings
from keepbook.book.text.quotation import is_an_agents
from keepbook.book.text.words import fold_text
from keepbook.errors import Invalid
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedForIds, PreparedStatement
from keepbook.storage.tables.memory import memories, versions

MOST_GLANCES, MOST_AT_A_GLANCE = 64, 5_000
"""How many overviews are cached, and of how many memories each may be."""
MOST_TOTALS = 1_000  # how many counts are cached
_TOTALS: dict[tuple[Any, ...], "CountedList"] = {}
"""A cache of how many memories a list has in all, by owner and filters; adjusted when something was written since."""
_GLANCES: dict[tuple[str, str, Preset, str], "Overview"] = {}


class ListingPlace(NamedTuple):
    """Which kind of listing query is needed: by category, by scope, with how many labels. The values themselves are
    parameters."""

    category: str | None
    scope: str | None
    labels: int


def active_in(place: ListingPlace) -> ColumnElement[bool]:
    """The active memories of a place."""
    here = and_(IS_ACTIVE, in_scope(place.scope), has_labels(place.labels))
    if place.category is None:
        return here
    return and_(here, memories.c.category == place.category)


def list_page(
    tx: Tx,
    preset: Preset,
    now: str,
    *,
    category: str | None = None,
    subject: str | None = None,
    scope: str | None = None,
    state: str = "active",
    q: str | None = None,
    limit: int = 100,
    cursor: str | None = None,
    labels: LabelFilter = NOTHING,
) -> Page[Memory]:
    """Memories in order of creation; with `q` those in which it begins a word, ignoring case."""
    if state not in IN_STATE:
        raise Invalid(f"state is one of {', '.join(IN_STATE)}, not {state!r}", field="state")
    clean_count(limit, "limit", 1000)
    asked = {"owner": tx.owner, **bound(labels)}
    if category is not None:
        asked["category"] = sought(category)
    if subject is not None:
        asked["subject"] = sought(fold_text(subject))
    kind = _Kind(state, scope, category is not None, subject is not None, labels.count, are_many(tx, labels))
    if q and q.strip():
        return _page_saying(tx, preset, now, fold_text(q.strip()), kind, asked, limit, cursor)
    after = {} if cursor is None else dict(zip(("created_at", "id"), _place(cursor), strict=True))
    rows = _page_query(kind, cursor is not None).tuples(tx.conn, {**asked, **after, "most": limit + 1})
    is_whole = cursor is None and len(rows) <= limit
    total = len(rows) if is_whole else _total(tx, now, kind, asked)
    return _page([memory_to_json(row, now, preset) for row in rows[:limit]], total, more=len(rows) > limit)


def _total(tx: Tx, now: str, kind: "_Kind", asked: Mapping[str, str]) -> int:
    """How many memories there are in all: taken from the book's own count, or counted once and then kept up to date."""
    if kind.state == "active" and not kind.subject and not kind.labels:
        return standing(tx, now).count_active(kind.scope, asked.get("category"))
    key = (tx.owner, kind, *sorted(asked.items()))
    known = _TOTALS.get(key)
    found = None
    if known is not None:
        found = _counted_on(tx, known, kind, asked)
    if found is None:
        head = ledger.chain_head(tx)
        found = CountedList(head.seq, head.hash, int(_count_query(kind).tuples(tx.conn, asked)[0][0]))
    if found is not known:
        if len(_TOTALS) >= MOST_TOTALS:
            _TOTALS.clear()
        _TOTALS[key] = found
    return found.total


class CountedList(NamedTuple):
    """How many memories a list has in all, and the ledger entry (number and hash) up to which they were counted."""

    seq: int
    hash: str
    total: int


def _counted_on(tx: Tx, known: CountedList, kind: "_Kind", asked: Mapping[str, str]) -> CountedList | None:
    """The count, brought up to date with the entries written since. None if these cannot be told."""
    rows = entries_since(tx, known.seq, known.hash)
    if rows is None:
        return None
    if len(rows) == 1:  # only the entry that is counted already
        return known
    before: dict[str, Any] = {}
    for _, _, id, state, _ in rows[1:]:
        if id is not None:
            before.setdefault(id, None if state is None else stored_json.load_json(state))
    listed_before = len(_listed_before(tx, before, kind, asked))
    listed_now = 0
    if before:
        listed_now = sum(int(many) for (many,) in _count_these(kind).tuples(tx.conn, list(before), asked))
    return CountedList(rows[-1][0], rows[-1][1], known.total - listed_before + listed_now)


def _listed_before(tx: Tx, before: Mapping[str, Any], kind: "_Kind", asked: Mapping[str, str]) -> list[str]:
    """The ids of those memories that the list had while their state was the one given here."""
    states = {id: State(**fields) for id, fields in before.items() if fields is not None}
    wanted = {key for name, key in asked.items() if name.startswith("label_")}
    labels: dict[tuple[str, int], set[str]] = {}
    if wanted and states:
        rows = _LABELLED.tuples(tx.conn, list(states), {"owner": tx.owner})
        labels = {(id, version): keys_of(metadata, tags) for id, version, metadata, tags in rows}
    return [
        id
        for id, state in states.items()
        if kind.state in ("all", state.name)
        and fits_scope(state.scope, kind.scope)
        and (not kind.category or state.category == asked["category"])
        and (not kind.subject or fold_text(state.subject or "") == asked["subject"])
        and wanted <= labels.get((id, state.version), set())
    ]


class _Kind(NamedTuple):
    """What a list is filtered by, without the values: one prepared statement is made for each of these."""

    state: str
    scope: str | None
    category: bool
    subject: bool
    labels: int
    many: bool = False
    """Whether many memories have these labels. Then memories are read in order and each one's labels are looked up;
    else the memories of each label are."""


def _conditions(kind: _Kind) -> list[ColumnElement[bool]]:
    wanted = [memories.c.owner == bindparam("owner"), IN_STATE[kind.state], in_scope(kind.scope)]
    if kind.labels:
        wanted.append(has_each_label(kind.labels) if kind.many else has_labels(kind.labels))
    if kind.category:
        wanted.append(memories.c.category == bindparam("category"))
    if kind.subject:
        wanted.append(memories.c.subject_key == bindparam("subject"))
    return wanted


@lru_cache(maxsize=256)
def _count_query(kind: _Kind) -> PreparedStatement:
    """Counts a list. With a subject it has the page's order, and a limit never reached, to use the same index."""
    here = select(memories.c.id).where(*_conditions(kind._replace(many=False)))
    ordered = here.order_by(memories.c.created_at, memories.c.id).limit(2**31 - 1)
    return PreparedStatement(select(func.count()).select_from((ordered if kind.subject else here).subquery()))


@lru_cache(maxsize=256)
def _page_query(kind: _Kind, goes_on: bool) -> PreparedStatement:
    query = SHOWN.where(*_conditions(kind)).order_by(memories.c.created_at, memories.c.id).limit(bindparam("most"))
    if goes_on:
        when: ColumnElement[str] = bindparam("created_at")
        together = and_(memories.c.created_at == when, memories.c.id > bindparam("id"))
        query = query.where(or_(memories.c.created_at > when, together))
    return PreparedStatement(query)


@lru_cache(maxsize=256)
def _count_these(kind: _Kind) -> PreparedForIds:
    conditions = _conditions(kind._replace(many=True))
    return PreparedForIds(lambda ids: select(func.count()).where(*conditions, memories.c.id.in_(ids)))


_LABELLED = PreparedForIds(
    lambda ids: select(versions.c.memory_id, versions.c.version, versions.c.metadata, versions.c.tags).where(
        versions.c.owner == bindparam("owner"), versions.c.memory_id.in_(ids)
    )
)


class Brief(NamedTuple):
    """The part of a memory that decides its place on a page of many."""

    id: str
    category: str | None
    said: bool
    """Whether it is the person's word, or quoted from them; not what an agent worded and they have not confirmed."""
    found: bool
    """If it is not the person's: whether software found it in a chat. Else it was only inferred."""


def in_brief(book: OpenBook, state: str = "active", q: str = "") -> list[Brief]:
    """Every memory of a state, of every agent, oldest first. With `q` only those that have a word beginning with it."""
    with book.reading() as (tx, _, _):
        rows = _briefly(state, bool(q.strip())).tuples(tx.conn, {"owner": tx.owner})
    piece = fold_text(q.strip())
    return [Brief._make(row[:4]) for row in rows if not piece or _says(row[4:], piece)]


def count_older(book: OpenBook, id: str) -> int:
    """How many active memories are older than this one (which need not be active): its place in their list."""
    with book.reading() as (tx, _, _):
        return int(_OLDER.tuples(tx.conn, {"owner": tx.owner, "id": id})[0][0])


class Overview(NamedTuple):
    """What a page needs to know of all memories before it shows some."""

    kept: Sequence[Brief]
    """The active ones."""
    fates: Mapping[str, Fate]
    """Whether the next chat is given each of them, and if not, why."""
    shown: int
    """How many the next chat is given."""
    dropped: Mapping[str, int]
    """How many are archived, and how many in the trash."""
    own_words: int
    """How many are the person's own words: quoted from them, or written by their hand."""
    unconfirmed: Sequence[str]
    """The ids of memories that are not in the person's words and that they have not confirmed, newest first."""


ReadLines = Callable[[str, str, Sequence[Any]], None]
"""Is called with an owner, the newest hash of their ledger, and the row of each active memory, as `preview_of_all`
reads them."""


def overview(book: OpenBook, also: ReadLines | None = None) -> Overview:
    """All active memories in brief. The result, which has no texts, is cached for a minute, until something is written
    (the ledger's last hash tells). If it has to be read, `also` is called with the rows."""
    with book.reading() as (tx, preset, now):
        key = (tx.owner, ledger.chain_head(tx).hash, preset, now[:16])
        known = _GLANCES.get(key)
        if known is None:
            rendered, rows = injections.preview_of_all(tx, preset, now)
            if also is not None:
                also(tx.owner, key[1], rows)
            kept = [tuple.__new__(Brief, (row[0], row[2], _is_said(row), row[8] == "extracted")) for row in rows]
            dropped = zip(("archived", "trash"), _DROPPED.tuples(tx.conn, {"owner": tx.owner})[0], strict=True)
            unconfirmed = [row for row in rows if row[6] == "inferred" and row[12] is None and not row[14]]
            newest = [row[0] for row in sorted(unconfirmed, key=itemgetter(10), reverse=True)]
            own = sum(bool(row[14]) or (row[8], row[6]) == ("profile", "asserted") for row in rows)
            known = Overview(kept, rendered.fates, len(rendered.shown), dict(dropped), own, newest)
            if len(known.kept) <= MOST_AT_A_GLANCE:
                if len(_GLANCES) >= MOST_GLANCES:
                    _GLANCES.clear()
                _GLANCES[key] = known
        return known


def _is_said(row: Sequence[Any]) -> bool:
    return bool(row[14]) or (row[6] == "asserted" and not is_an_agents(row[8], row[17], row[12]))


def in_full(book: OpenBook, ids: Sequence[str]) -> list[Memory]:
    """These memories, in this order."""
    with book.reading() as (tx, preset, now):
        found = {row.id: row_to_memory(row, now, preset) for row in _THESE.rows(tx.conn, ids, {"owner": tx.owner})}
        return [found[id] for id in ids]


NEWEST = and_(
    versions.c.owner == memories.c.owner,
    versions.c.memory_id == memories.c.id,
    versions.c.version == memories.c.version,
)
_DROPPED = PreparedStatement(
    select(*(func.count(case((IN_STATE[state], 1))) for state in ("archived", "trash")))
    .where(memories.c.owner == bindparam("owner"), in_scope(EVERY_SCOPE))
    .where(or_(memories.c.archived_at.isnot(None), memories.c.trashed_at.isnot(None)))
)
_SAID = (memories.c.subject, versions.c.content, versions.c.summary, versions.c.body)
_THESE = PreparedForIds(lambda ids: WHOLE.where(memories.c.id.in_(ids)))


@lru_cache(maxsize=16)
def _briefly(state: str, with_words: bool) -> PreparedStatement:
    mine = versions.c.owner == bindparam("owner")
    source, quoted, written_by = (
        select(versions.c[name]).where(mine, NEWEST).correlate(memories).scalar_subquery()
        for name in ("source", "quoted", "written_by")
    )
    guessed = memories.c.confidence == "inferred"  # asked first, so that few need a look at the version
    an_agents = and_(memories.c.last_confirmed_at.is_(None), written_by.isnot(None), source == "chat")
    said = case((and_(or_(guessed, an_agents), quoted == 0), 0), else_=1).label("said")
    found = case((and_(guessed, source == "extracted"), 1), else_=0).label("found")
    query = select(memories.c.id, memories.c.category, said, found)
    if with_words:
        query = query.add_columns(*_SAID).join(versions, NEWEST)
    every = _conditions(_Kind(state, EVERY_SCOPE, category=False, subject=False, labels=0))
    return PreparedStatement(query.where(*every).order_by(memories.c.created_at, memories.c.id))


_one = memories.alias()
_OLDER = PreparedStatement(
    select(func.count())
    .select_from(memories.join(_one, _one.c.owner == memories.c.owner))
    .where(
        memories.c.owner == bindparam("owner"), IS_ACTIVE, _one.c.id == bindparam("id"),
        or_(
            memories.c.created_at < _one.c.created_at,
            and_(memories.c.created_at == _one.c.created_at, memories.c.id < _one.c.id),
        ),
    )
)  # fmt: skip


def _says(texts: Sequence[str | None], piece: str) -> bool:
    """Whether a text has a word that begins with this piece. Not left to the database: engines fold differently."""
    return any(begins_a_word(fold_text(text), piece) for text in texts if text)


def current_memories(tx: Tx, only: Collection[str] | None = None) -> Sequence[Any]:
    """The rows of all active memories that hold now, oldest first, for the closing of a chat to compare with. Memories
    that have ended are left out. `only` limits them to these ids."""
    asked = {"owner": tx.owner, "now": ledger.present(tx)}
    if only is None:
        return _STANDING.rows(tx.conn, asked)
    return sorted(_STANDING_THESE.rows(tx.conn, list(only), asked), key=lambda row: (row.created_at, row.id))


_holding = (
    select(
        memories.c.id, memories.c.category, memories.c.subject, memories.c.confidence, memories.c.last_confirmed_at,
        versions.c.content, versions.c.source, versions.c.score, versions.c.valid_from, versions.c.quoted,
        versions.c.thread_id, versions.c.turn_ids, versions.c.recorded_at, memories.c.created_at,
    )
    .join(versions, NEWEST)
    .where(
        memories.c.owner == bindparam("owner"), IS_ACTIVE, in_scope(EVERY_SCOPE),
        or_(versions.c.valid_until.is_(None), versions.c.valid_until > bindparam("now")),
    )
)  # fmt: skip
_STANDING = PreparedStatement(_holding.order_by(memories.c.created_at, memories.c.id))
_STANDING_THESE = PreparedForIds(lambda ids: _holding.where(memories.c.id.in_(ids)))


def memories_by_id(tx: Tx, preset: Preset, now: str, ids: Sequence[str]) -> list[Memory]:
    """The memories with these ids, in this order, without those that are not active."""
    if not ids:
        return []
    rows = _ACTIVE_THESE.rows(tx.conn, ids, {"owner": tx.owner})
    found = {row.id: row_to_memory(row, now, preset) for row in rows}
    return [found[id] for id in ids if id in found]


def latest(tx: Tx, preset: Preset, now: str, limit: int) -> list[Memory]:
    """The active memories that hold, the newest first."""
    rows = _LATEST.rows(tx.conn, {"owner": tx.owner, "now": now, "most": limit})
    return [row_to_memory(row, now, preset) for row in rows]


_ACTIVE_THESE = PreparedForIds(lambda ids: SHOWN.where(memories.c.id.in_(ids), IS_ACTIVE))
_LATEST = PreparedStatement(
    SHOWN.where(
        IS_ACTIVE,
        in_scope(EVERY_SCOPE),
        or_(versions.c.valid_until.is_(None), versions.c.valid_until > bindparam("now")),
    )
    .order_by(memories.c.edited_at.desc(), memories.c.id)
    .limit(bindparam("most"))
)


def _page_saying(
    tx: Tx,
    preset: Preset,
    now: str,
    piece: str,
    kind: _Kind,
    asked: dict[str, str],
    limit: int,
    cursor: str | None,
) -> Page[Memory]:
    """A page of memories that have a word beginning with `piece`. The word index finds active ones only; of other
    states, all texts are read."""
    ids = ids_with_beginnings(tx, piece) if kind.state == "active" else None
    if ids is None:
        rows = _all_texts(kind).tuples(tx.conn, asked)
    else:
        rows = sorted(_texts_of(kind).tuples(tx.conn, sorted(ids), asked)) if ids else []
    found = [(created_at, id) for created_at, id, *texts in dict.fromkeys(rows) if _says(texts, piece)]
    after = [place for place in found if cursor is None or place > _place(cursor)]
    shown = [id for _, id in after[:limit]]
    whole = {row.id: row for row in _THESE.rows(tx.conn, shown, {"owner": tx.owner})}
    return _page([memory_to_json(whole[id], now, preset) for id in shown], len(found), more=len(after) > limit)


def _texts(kind: _Kind) -> Select[Any]:
    return select(memories.c.created_at, memories.c.id, *_SAID).join(versions, NEWEST).where(*_conditions(kind))


@lru_cache(maxsize=256)
def _all_texts(kind: _Kind) -> PreparedStatement:
    return PreparedStatement(_texts(kind).order_by(memories.c.created_at, memories.c.id))


@lru_cache(maxsize=256)
def _texts_of(kind: _Kind) -> PreparedForIds:
    return PreparedForIds(lambda ids: _texts(kind).where(memories.c.id.in_(ids)))


def _place(cursor: str) -> tuple[str, str]:
    created_at, mark, id = sought(cursor).partition("~")
    if not mark:
        raise Invalid(f"cursor is the `next` of the page before, not {cursor[:40]!r}", field="cursor")
    return created_at, id


def _page(found: list[dict[str, Any]], total: int, *, more: bool) -> Page[Memory]:
    following = f"{found[-1]['created_at']}~{found[-1]['id']}" if more else None
    return Page(LazyValues(found, as_memory), total, following)
