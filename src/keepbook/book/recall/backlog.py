"""The texts that wait to be embedded. They are computed, not stored in a list.

The ledger shows which memories were changed since the last embedded one; for each chat, its turns are compared with its
vectors. So nothing need be noted for a crash, a restore or a change of embedder. Hidden, incognito and inactive texts
are not embedded.
"""

from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, func, select

from keepbook.book.memory.memories import IS_ACTIVE
from keepbook.storage.database import Tx
from keepbook.storage.tables.chats import IS_GOING, messages, threads
from keepbook.storage.tables.ledger import ledger
from keepbook.storage.tables.memory import memories, versions
from keepbook.storage.tables.upkeep import vector_spaces, vectors

MEMORY, TURN = "memory", "turn"


class TextToEmbed(NamedTuple):
    """A text that waits to be embedded."""

    kind: str
    item: str
    part: int
    text: str


# Queries


def texts_to_embed(tx: Tx, space: str, most: int) -> tuple[list[TextToEmbed], int | None]:
    """Texts without a vector, memories first; and the ledger entry up to which memories have theirs once these are
    stored (None: it does not change)."""
    through, head = _embedded_through(tx, space), _head(tx)
    if through < head:
        return _waiting_memories(tx, space, through, head, most)
    found: list[TextToEmbed] = []
    for thread_id, filled in tx.conn.execute(_behind(tx, space)).all():
        query = select(messages.c.turn, messages.c.text).where(_turns_to_embed(tx, thread_id, filled))
        query = query.order_by(messages.c.turn).limit(most - len(found))
        found += [TextToEmbed(TURN, thread_id, turn, text) for turn, text in tx.conn.execute(query)]
        if len(found) >= most:
            break
    return found, None


def count_to_embed(tx: Tx, space: str, most: int) -> int:
    """How many memories and turns have no vector yet, counted no further than `most`."""
    count = 0
    if _embedded_through(tx, space) < _head(tx):
        embedded = and_(
            vectors.c.owner == memories.c.owner, vectors.c.space == space, vectors.c.kind == MEMORY,
            vectors.c.item == memories.c.id, vectors.c.part == memories.c.version,
        )  # fmt: skip
        query = select(memories.c.id).outerjoin(vectors, embedded)
        query = query.where(memories.c.owner == tx.owner, IS_ACTIVE, vectors.c.item.is_(None)).limit(most)
        count = tx.conn.execute(select(func.count()).select_from(query.subquery())).scalar() or 0
    for thread_id, filled in tx.conn.execute(_behind(tx, space)).all() if count < most else ():
        count += tx.conn.execute(select(func.count()).where(_turns_to_embed(tx, thread_id, filled))).scalar() or 0
    return min(count, most)


def still_says(tx: Tx, space: str, text: TextToEmbed) -> bool:
    """Whether a vector of this text may be stored: there is none yet, and the text is still the one that was
    embedded."""
    here = vectors.c
    if tx.conn.execute(
        select(here.nth).where(
            here.owner == tx.owner, here.space == space, here.kind == text.kind, here.item == text.item,
            here.part == text.part,
        )
    ).first():  # fmt: skip
        return False
    if text.kind == TURN:
        query = select(threads.c.id).where(threads.c.owner == tx.owner, threads.c.id == text.item, ~IS_GOING)
    else:
        query = select(memories.c.id).where(
            memories.c.owner == tx.owner, memories.c.id == text.item, memories.c.version == text.part, IS_ACTIVE
        )
    return tx.conn.execute(query).first() is not None


def _waiting_memories(tx: Tx, space: str, through: int, head: int, most: int) -> tuple[list[TextToEmbed], int]:
    touched = (
        select(ledger.c.memory_id, ledger.c.seq)
        .where(ledger.c.owner == tx.owner, ledger.c.seq > through, ledger.c.memory_id.isnot(None))
        .order_by(ledger.c.seq)
        .limit(most)
    )
    rows = tx.conn.execute(touched).all()
    query = (
        select(memories.c.id, memories.c.version, memories.c.subject, versions.c.content, versions.c.summary,
               versions.c.body)
        .join(versions, and_(versions.c.owner == memories.c.owner, versions.c.memory_id == memories.c.id,
                             versions.c.version == memories.c.version))
        .outerjoin(vectors, and_(vectors.c.owner == memories.c.owner, vectors.c.space == space,
                                 vectors.c.kind == MEMORY, vectors.c.item == memories.c.id,
                                 vectors.c.part == memories.c.version))
        .where(memories.c.owner == tx.owner, IS_ACTIVE, vectors.c.item.is_(None))
        .where(memories.c.id.in_({row.memory_id for row in rows}))
        .order_by(memories.c.id)
    )  # fmt: skip
    found = [
        TextToEmbed(
            MEMORY, row.id, row.version, ". ".join(filter(None, (row.content, row.summary, (row.body or "")[:1000])))
        )
        for row in tx.conn.execute(query)
    ]
    return found, rows[-1].seq if len(rows) == most else head


def _behind(tx: Tx, space: str) -> Select[Any]:
    """Chats in which more was said than has vectors. What is hidden or incognito has none."""
    here = vectors.c
    filled = (
        select(func.max(here.part))
        .where(here.owner == tx.owner, here.space == space, here.kind == TURN, here.item == threads.c.id)
        .scalar_subquery()
    )
    return (
        select(threads.c.id, filled)
        .where(threads.c.owner == tx.owner, threads.c.incognito == 0, ~IS_GOING)
        .where(threads.c.turns > func.coalesce(filled, 0))
        .order_by(threads.c.id)
    )


def _turns_to_embed(tx: Tx, thread_id: str, filled: int | None) -> ColumnElement[bool]:
    here = messages.c
    said = and_(here.role.in_(("user", "assistant")), here.text != "", here.unkept.is_(None))
    return and_(here.owner == tx.owner, here.thread_id == thread_id, here.turn > (filled or 0), said)


def _embedded_through(tx: Tx, space: str) -> int:
    """The ledger entry through which memories have their vectors."""
    here = vector_spaces.c
    query = select(here.through).where(here.owner == tx.owner, here.space == space)
    return int(tx.conn.execute(query).scalar() or 0)


def _head(tx: Tx) -> int:
    return int(tx.conn.execute(select(func.max(ledger.c.seq)).where(ledger.c.owner == tx.owner)).scalar() or 0)
