"""How much one owner may keep: limits that an installation sets, and the error messages when one is reached.

They are checked before something is added, in its transaction. An installation without limits pays nothing for them.
"""

from sqlalchemy import ColumnElement, FromClause, bindparam, func, select, true

from keepbook.errors import LimitReached
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement
from keepbook.storage.tables.chats import messages, threads
from keepbook.storage.tables.memory import memories, versions


def room_for_memory(tx: Tx, text: str) -> None:
    most = tx.allowance.memories
    if most is not None and _count(tx, memories, memories.c.purged_at.is_(None)) >= most:
        raise LimitReached(_FULL.format(most=most, what="memories"), code="limit_memories")
    room_for_text(tx, text)


def room_for_chat(tx: Tx) -> None:
    most = tx.allowance.chats
    if most is not None and _count(tx, threads, true()) >= most:
        raise LimitReached(_FULL.format(most=most, what="chats"), code="limit_chats")


def room_for_text(tx: Tx, text: str | int) -> None:
    """Check whether a text, or a number of characters, may be added. All versions of all memories and all messages of
    chats count."""
    most = tx.allowance.bytes
    if most is None:
        return
    used = sum(total.tuples(tx.conn, {"owner": tx.owner})[0][0] or 0 for total in (_KEPT, _SAID))
    if used + (text if isinstance(text, int) else len(text)) > most:
        raise LimitReached(
            f"this book may hold {most:,} characters and has {used:,}; delete for good what you can do without",
            code="limit_bytes",
        )


def room_for_all(tx: Tx, *, memories_more: int, chats_more: int, letters: int) -> None:
    """Check the limits for many things at once, before the first of them is written."""
    for most, more, table, counted, what in (
        (tx.allowance.memories, memories_more, memories, memories.c.purged_at.is_(None), "memories"),
        (tx.allowance.chats, chats_more, threads, true(), "chats"),
    ):
        if most is None or not more:
            continue
        there = _count(tx, table, counted)
        if there + more > most:
            raise LimitReached(
                f"this book may hold {most:,} {what} and has {there:,}; {more:,} more do not fit, so nothing came in",
                code=f"limit_{what}",
            )
    room_for_text(tx, letters)


_KEPT = PreparedStatement(
    select(func.sum(func.length(versions.c.content) + func.length(func.coalesce(versions.c.body, "")))).where(
        versions.c.owner == bindparam("owner")
    )
)
_SAID = PreparedStatement(select(func.sum(func.length(messages.c.text))).where(messages.c.owner == bindparam("owner")))
_FULL = "this book may hold {most:,} {what} and has them; delete for good what you can do without"


def _count(tx: Tx, table: FromClause, counted: ColumnElement[bool]) -> int:
    count = select(func.count()).select_from(table).where(table.c.owner == tx.owner, counted)
    return tx.conn.execute(count).scalar() or 0
