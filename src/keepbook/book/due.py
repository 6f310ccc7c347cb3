"""Due work: what a job has to look at, when, and whose it is.

Rows hold no personal text and stand outside the owners' scopes, so a job can ask what is due before it serves
anyone, and then works in one owner's scope. The work itself is decided there: a row is a reminder, not an order.
"""

from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select

from keepbook.storage.database import Tx
from keepbook.storage.tables import due


class Due(NamedTuple):
    owner: str
    kind: str
    id: str
    at: str


CLOSE, ARCHIVE, PURGE, PURGE_CHAT, EXPIRE = "close", "archive", "purge", "purge_chat", "expire"


def remind(tx: Tx, kind: str, id: str, at: str) -> None:
    """Put (or move) a reminder."""
    cancel(tx, kind, id)
    tx.conn.execute(insert(due), {"owner": tx.owner, "kind": kind, "id": id, "at": at})


def cancel(tx: Tx, kind: str, id: str) -> None:
    tx.conn.execute(delete(due).where(due.c.owner == tx.owner, due.c.kind == kind, due.c.id == id))


def due_by(conn: Connection, now: str, kind: str, limit: int = 500) -> list[Due]:
    """What is due, the longest waiting first; a job asks without an owner's scope."""
    query = select(due.c.owner, due.c.kind, due.c.id, due.c.at).where(due.c.kind == kind, due.c.at <= now)
    return [Due._make(row) for row in conn.execute(query.order_by(due.c.at, due.c.owner, due.c.id).limit(limit))]
