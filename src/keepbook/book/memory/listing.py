"""Listing memories: filtered, in order of creation, page by page."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_, func, or_, select

from keepbook.book.ground.limits import clean_count, sought
from keepbook.book.ground.to_json import Page
from keepbook.book.memory.labels import NOTHING, Wanted, bound, labelled
from keepbook.book.memory.memories import EVERY_SCOPE, IN_STATE, IS_ACTIVE, WHOLE, Memory, in_scope, shaped
from keepbook.book.text.words import fold
from keepbook.errors import Invalid
from keepbook.presets import Preset
from keepbook.storage.database import Tx
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
    wanted = [memories.c.owner == tx.owner, IN_STATE[state], in_scope(scope)]
    if labels is not NOTHING:
        wanted.append(labelled(labels.count))
    asked = {"owner": tx.owner, **bound(labels)}
    if category is not None:
        wanted.append(memories.c.category == sought(category))
    if subject is not None:
        wanted.append(memories.c.subject_key == sought(fold(subject)))
    if q and q.strip():
        return _page_saying(tx, preset, now, fold(q.strip()), wanted, asked, limit, cursor)
    total = tx.conn.execute(select(func.count()).select_from(memories).where(*wanted), asked).scalar() or 0
    query = WHOLE.where(*wanted).order_by(memories.c.created_at, memories.c.id).limit(limit + 1)
    if cursor is not None:
        created_at, id_ = _place(cursor)
        query = query.where(
            or_(
                memories.c.created_at > created_at,
                and_(memories.c.created_at == created_at, memories.c.id > id_),
            )
        )
    rows = tx.conn.execute(query, asked).all()
    following = _cursor(rows[limit - 1]) if len(rows) > limit else None
    return Page([shaped(row, now, preset) for row in rows[:limit]], total, following)


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
