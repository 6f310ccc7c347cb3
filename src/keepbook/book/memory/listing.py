"""Listing memories: filtered, in order of creation, page by page."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, bindparam, func, or_, select

from keepbook.book.ground.limits import clean_count, sought
from keepbook.book.ground.to_json import Page
from keepbook.book.memory.labels import NOTHING, Wanted, bound, labelled
from keepbook.book.memory.memories import EVERY_SCOPE, IN_STATE, IS_ACTIVE, WHOLE, Memory, in_scope, shaped
from keepbook.book.text.words import fold
from keepbook.errors import Invalid
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.prepared import Prepared
from keepbook.storage.tables import memories, versions


class Place(NamedTuple):
    """Where to look: in a category and scope, at what has so many labels; which those are, is said each time."""

    category: str | None
    scope: str | None
    labels: int


def active_in(place: Place) -> ColumnElement[bool]:
    """The active memories of a place."""
    here = and_(IS_ACTIVE, in_scope(place.scope), labelled(place.labels))
    return here if place.category is None else and_(here, memories.c.category == place.category)


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
    labels: Wanted = NOTHING,
) -> Page[Memory]:
    """Memories in order of creation; with `q` those that say it, letter for letter but for case."""
    if state not in IN_STATE:
        raise Invalid(f"state is one of {', '.join(IN_STATE)}, not {state!r}", field="state")
    clean_count(limit, "limit", 1000)
    asked = {"owner": tx.owner, **bound(labels)}
    if category is not None:
        asked["category"] = sought(category)
    if subject is not None:
        asked["subject"] = sought(fold(subject))
    kind = _Kind(state, scope, category is not None, subject is not None, labels.count)
    if q and q.strip():
        return _page_saying(tx, preset, now, fold(q.strip()), _wanted(kind), asked, limit, cursor)
    total = _counted(kind).tuples(tx.conn, asked)[0][0]
    if cursor is not None:
        asked["created_at"], asked["id"] = _place(cursor)
    rows = _listed(kind, cursor is not None).rows(tx.conn, asked | {"most": limit + 1})
    following = _cursor(rows[limit - 1]) if len(rows) > limit else None
    return Page([shaped(row, now, preset) for row in rows[:limit]], total, following)


class _Kind(NamedTuple):
    """What kind of list is asked for: as many as there are of these, so many statements there are."""

    state: str
    scope: str | None
    category: bool
    subject: bool
    labels: int


def _wanted(kind: _Kind) -> list[ColumnElement[bool]]:
    wanted = [memories.c.owner == bindparam("owner"), IN_STATE[kind.state], in_scope(kind.scope)]
    if kind.labels:
        wanted.append(labelled(kind.labels))
    if kind.category:
        wanted.append(memories.c.category == bindparam("category"))
    if kind.subject:
        wanted.append(memories.c.subject_key == bindparam("subject"))
    return wanted


@lru_cache(maxsize=256)
def _counted(kind: _Kind) -> Prepared:
    return Prepared(select(func.count()).select_from(memories).where(*_wanted(kind)))


@lru_cache(maxsize=256)
def _listed(kind: _Kind, goes_on: bool) -> Prepared:
    query = WHOLE.where(*_wanted(kind)).order_by(memories.c.created_at, memories.c.id).limit(bindparam("most"))
    if goes_on:
        when: ColumnElement[str] = bindparam("created_at")
        together = and_(memories.c.created_at == when, memories.c.id > bindparam("id"))
        query = query.where(or_(memories.c.created_at > when, together))
    return Prepared(query)


def standing(tx: Tx) -> Sequence[Any]:
    """The rows of every active memory, oldest first: what a reader of chats reconciles with."""
    here = WHOLE.where(IS_ACTIVE, in_scope(EVERY_SCOPE)).order_by(memories.c.created_at, memories.c.id)
    return tx.conn.execute(here, {"owner": tx.owner}).all()


def _page_saying(
    tx: Tx,
    preset: Preset,
    now: str,
    piece: str,
    wanted: list[ColumnElement[bool]],
    asked: dict[str, str],
    limit: int,
    cursor: str | None,
) -> Page[Memory]:
    """Compared here and not by the database: engines fold letters differently."""
    said = (versions.c.content, versions.c.summary, versions.c.body)
    newest = and_(
        versions.c.owner == memories.c.owner,
        versions.c.memory_id == memories.c.id,
        versions.c.version == memories.c.version,
    )
    query = select(memories.c.created_at, memories.c.id, memories.c.subject, *said).join(versions, newest)
    rows = tx.conn.execute(query.where(*wanted).order_by(memories.c.created_at, memories.c.id), asked)
    found = [row for row in rows if any(piece in fold(text) for text in row[2:] if text)]
    after = [row for row in found if cursor is None or (row.created_at, row.id) > _place(cursor)]
    ids = [row.id for row in after[:limit]]
    whole = {row.id: row for row in tx.conn.execute(WHOLE.where(memories.c.id.in_(ids)), {"owner": tx.owner})}
    following = _cursor(after[limit - 1]) if len(after) > limit else None
    return Page([shaped(whole[id], now, preset) for id in ids], len(found), following)


def _place(cursor: str) -> tuple[str, str]:
    created_at, _, id_ = sought(cursor).partition("~")
    return created_at, id_


def _cursor(row: Any) -> str:
    return f"{row.created_at}~{row.id}"
