"""Due work: which owner a job has to look at, for what, and when.

Rows have no personal text and can be read without an owner's scope, so a job can first ask what is due for anyone and
then work in one owner's scope. A row is only a reminder: whether there is something to do is decided there.
"""

from typing import NamedTuple

from sqlalchemy import Connection, and_, bindparam, delete, func, insert, or_, select, tuple_

from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement
from keepbook.storage.tables.upkeep import due


class Due(NamedTuple):
    owner: str
    work: str
    id: str
    at: str


CLOSE, ARCHIVE, PURGE, PURGE_CHAT, EXPIRE = "close", "archive", "purge", "purge_chat", "expire"
INDEX = "index"
"""Index words of a chat that are still to be written; with the id `WHOLE`, those of a whole book. It counts as due at
once, even if it was dated by a clock that ran ahead."""
WHOLE = "*"


_THIS = and_(due.c.owner == bindparam("owner"), due.c.work == bindparam("work"), due.c.id == bindparam("id"))
_PUT = PreparedStatement(insert(due), due.c.keys())
_TAKE = PreparedStatement(delete(due).where(_THIS))
_AT = PreparedStatement(select(due.c.at).where(_THIS))


def remind(tx: Tx, work: str, id: str, at: str) -> None:
    """Set a reminder, or move it."""
    cancel(tx, work, id)
    _PUT.run(tx.conn, {"owner": tx.owner, "work": work, "id": id, "at": at})


def cancel(tx: Tx, work: str, id: str) -> None:
    _TAKE.run(tx.conn, {"owner": tx.owner, "work": work, "id": id})


def reminded_at(tx: Tx, work: str, id: str) -> str | None:
    """When a reminder falls due."""
    found = _AT.first(tx.conn, {"owner": tx.owner, "work": work, "id": id})
    if found is None:
        return None
    return str(found.at)


def reminders(tx: Tx, work: str) -> list[str]:
    """All reminders of this owner, whenever they fall due."""
    query = select(due.c.id).where(due.c.owner == tx.owner, due.c.work == work)
    return list(tx.conn.execute(query.order_by(due.c.at, due.c.id)).scalars())


def due_counts(conn: Connection, now: str) -> dict[str, tuple[int, str]]:
    """For each kind of work, how much is due, and since when the oldest waits. Runs without an owner's scope."""
    query = (
        select(due.c.work, func.count(), func.min(due.c.at))
        .where(or_(due.c.at <= now, due.c.work == INDEX))
        .group_by(due.c.work)
    )
    return {work: (number, since) for work, number, since in conn.execute(query)}


def due_by(conn: Connection, now: str, work: str, *, after: Due | None = None, limit: int = 500) -> list[Due]:
    """The reminders that are due, the longest waiting first, page by page. Runs without an owner's scope."""
    query = select(due.c.owner, due.c.work, due.c.id, due.c.at).where(due.c.work == work)
    if work != INDEX:
        query = query.where(due.c.at <= now)
    order = tuple_(due.c.at, due.c.owner, due.c.id)
    if after is not None:
        query = query.where(order > tuple_(after.at, after.owner, after.id))
    return [Due._make(row) for row in conn.execute(query.order_by(*order.clauses).limit(limit))]
