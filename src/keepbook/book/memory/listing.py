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
from keepbook.book.memory.labels import (
    NOTHING,
    LabelFilter,
    are_many,
    bound,
    has_each_label,
    has_labels,
    keys_of,
)
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
from keepbook.book.text.words import fold_text
from keepbook.errors import Invalid
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedForIds, PreparedStatement
from keepbook.storage.tables.memory import memories, versions

MOST_GLANCES, MOST_AT_A_GLANCE = 64, 5_000
"""How many overviews are held, and of how many memories at most."""
MOST_TOTALS = 1_000
_TOTALS: dict[tuple[Any, ...], "CountedList"] = {}
"""How many a list has in all, by owner and what is asked for: what was written since is counted on."""
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
    if cursor is not None:
        after = dict(zip(("created_at", "id"), _place(cursor), strict=True))
    else:
        after = {}
    rows = _page_query(kind, cursor is not None).tuples(tx.conn, {**asked, **after, "most": limit + 1})
    is_whole = cursor is None and len(rows) <= limit
    total = len(rows) if is_whole else _total(tx, now, kind, asked)
    return _page([memory_to_json(row, now, preset) for row in rows[:limit]], total, more=len(rows) > limit)


def _total(tx: Tx, now: str, kind: "_Kind", asked: Mapping[str, str]) -> int:
    """How many there are of a kind: as the book has them counted, else counted once in a program, and on."""
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
    """How many a list has in all, and the ledger's entry up to which they were counted."""

    seq: int
    hash: str
    total: int


def _counted_on(tx: Tx, known: CountedList, kind: "_Kind", asked: Mapping[str, str]) -> CountedList | None:
    """The same after what was written since; None where that cannot be told."""
    rows = entries_since(tx, known.seq, known.hash)
    if rows is None or len(rows) == 1:
        return None if rows is None else known
    before: dict[str, Any] = {}
    for _, _, id, told, _ in rows[1:]:
        if id is not None:
            before.setdefault(id, None if told is None else stored_json.load_json(told))
    gone = len(_listed_before(tx, before, kind, asked))
    come = sum(int(many) for (many,) in _count_these(kind).tuples(tx.conn, list(before), asked)) if before else 0
    return CountedList(rows[-1][0], rows[-1][1], known.total - gone + come)


def _listed_before(tx: Tx, before: Mapping[str, Any], kind: "_Kind", asked: Mapping[str, str]) -> list[str]:
    """Those of these memories that a list had, when they were as they are told here."""
    states = {id: State(**told) for id, told in before.items() if told is not None}
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
    """What kind of list is asked for: as many as there are of these, so many statements there are."""

    state: str
    scope: str | None
    category: bool
    subject: bool
    labels: int
    many: bool = False
    """Whether many memories have these labels: then each is asked for its labels, in order, and not each label for
    its memories."""


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
    """In the order of the page and without an end, so that it takes the same index."""
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
    """Whether it is the person's: their word, or quoted from them."""
    found: bool
    """Of what nobody has said: whether software found it in a chat, or only inferred it."""


def in_brief(book: OpenBook, state: str = "active", q: str = "") -> list[Brief]:
    """Every memory of a state, of every agent, oldest first; with `q` those in which it begins a word."""
    with book.reading() as (tx, _, _):
        rows = _briefly(state, bool(q.strip())).tuples(tx.conn, {"owner": tx.owner})
    piece = fold_text(q.strip())
    return list(map(Brief._make, rows if not piece else (row[:4] for row in rows if _says(row[4:], piece))))


def count_older(book: OpenBook, id: str) -> int:
    """How many active memories are older than one, whatever has become of it: its place in their list."""
    with book.reading() as (tx, _, _):
        return int(_OLDER.tuples(tx.conn, {"owner": tx.owner, "id": id})[0][0])


class Overview(NamedTuple):
    """What a page needs of all memories before it shows some: what there is, and what of it the next chat is given."""

    kept: Sequence[Brief]
    fates: Mapping[str, Fate]
    shown: int
    dropped: Mapping[str, int]
    """How many are archived, and how many in the trash."""
    own_words: int
    """How many are the person's own words: quoted from them, or written by their hand."""
    unconfirmed: Sequence[str]
    """The ids of what somebody else worded and was never confirmed, newest first."""


ReadLines = Callable[[str, str, Sequence[Any]], None]
"""Takes an owner, the hash of the ledger's end, and a row for each active memory as `preview_of_all` reads them."""


def overview(book: OpenBook, also: ReadLines | None = None) -> Overview:
    """All active memories in brief. It is cached for a minute while the ledger's last hash stays the same, which means
    that nothing was written; no text is cached. `also` is given the rows where they are read."""
    with book.reading() as (tx, preset, now):
        key = (tx.owner, ledger.chain_head(tx).hash, preset, now[:16])
        known = _GLANCES.get(key)
        if known is None:
            rendered, rows = injections.preview_of_all(tx, preset, now)
            if also is not None:
                also(tx.owner, key[1], rows)
            new = tuple.__new__  # as `Brief` does it, without asking a thousand times
            kept = [
                new(Brief, (row[0], row[2], row[6] == "asserted" or bool(row[14]), row[8] == "extracted"))
                for row in rows
            ]
            dropped = zip(("archived", "trash"), _DROPPED.tuples(tx.conn, {"owner": tx.owner})[0], strict=True)
            unconfirmed = [row for row in rows if row[6] == "inferred" and row[12] is None and not row[14]]
            unconfirmed.sort(key=itemgetter(10), reverse=True)
            newest = [row[0] for row in unconfirmed]
            own = sum(bool(row[14]) or (row[8], row[6]) == ("profile", "asserted") for row in rows)
            known = Overview(kept, rendered.fates, len(rendered.shown), dict(dropped), own, newest)
            if len(_GLANCES) >= MOST_GLANCES:
                _GLANCES.clear()
            if len(known.kept) <= MOST_AT_A_GLANCE:
                _GLANCES[key] = known
        return known


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
    source, quoted = (
        select(versions.c[name]).where(mine, NEWEST).correlate(memories).scalar_subquery()
        for name in ("source", "quoted")
    )
    guessed = memories.c.confidence == "inferred"  # most are asserted: no second look there
    said = case((and_(guessed, quoted == 0), 0), else_=1).label("said")
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
    """Compared here and not by the database: engines fold letters differently."""
    return any(begins_a_word(fold_text(text), piece) for text in texts if text)


def current_memories(tx: Tx, only: Collection[str] | None = None) -> Sequence[Any]:
    """Every active memory that holds now, in brief, oldest first: what the reader of a chat compares with. A line that
    has ended is left out. `only` limits it to these ids."""
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
    """Those of these memories that are active, in the given order."""
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
    """Only active memories are in the word index."""
    ids = ids_with_beginnings(tx, piece) if kind.state == "active" else None
    if ids is None:
        rows = _all_texts(kind).tuples(tx.conn, asked)
    else:
        rows = sorted(_texts_of(kind).tuples(tx.conn, sorted(ids), asked)) if ids else []
    found = [(created_at, id) for created_at, id, *texts in dict.fromkeys(rows) if _says(texts, piece)]
    after = [place for place in found if cursor is None or place > _place(cursor)]
    shown = [id for _, id in after[:limit]]
    whole = {row.id: row for row in _WHOLE_THESE.rows(tx.conn, shown, {"owner": tx.owner})} if shown else {}
    return _page([memory_to_json(whole[id], now, preset) for id in shown], len(found), more=len(after) > limit)


def _texts(kind: _Kind) -> Select[Any]:
    return select(memories.c.created_at, memories.c.id, *_SAID).join(versions, NEWEST).where(*_conditions(kind))


@lru_cache(maxsize=256)
def _all_texts(kind: _Kind) -> PreparedStatement:
    return PreparedStatement(_texts(kind).order_by(memories.c.created_at, memories.c.id))


@lru_cache(maxsize=256)
def _texts_of(kind: _Kind) -> PreparedForIds:
    return PreparedForIds(lambda ids: _texts(kind).where(memories.c.id.in_(ids)))


_WHOLE_THESE = PreparedForIds(lambda ids: WHOLE.where(memories.c.id.in_(ids)))


def _place(cursor: str) -> tuple[str, str]:
    created_at, _, id_ = sought(cursor).partition("~")
    return created_at, id_


def _page(found: list[dict[str, Any]], total: int, *, more: bool) -> Page[Memory]:
    following = f"{found[-1]['created_at']}~{found[-1]['id']}" if more else None
    return Page(LazyValues(found, as_memory), total, following)
