"""Single facts about chats: whether the person spoke, whether a session is incognito, how many are being closed."""

from sqlalchemy import bindparam, func, select

from keepbook.book.ground.limits import sought
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement
from keepbook.storage.tables.chats import messages, threads

PERSONS_PART = "deeds"
PERSONS_MARK = f'{{"{PERSONS_PART}":'
"""How the stored parts of a turn begin that the person said at a door of ours; only our own code writes it."""


def person_spoke(tx: Tx, thread_id: str) -> bool:
    """Whether the person said a turn of a chat at a door of ours; all others were recorded, or said by an agent."""
    return bool(_BY_PERSON.tuples(tx.conn, {"owner": tx.owner, "thread_id": sought(thread_id)}))


def is_incognito(tx: Tx, session: str) -> bool:
    """Whether an outside agent's session is one that reads and writes no memory."""
    query = select(threads.c.incognito).where(threads.c.owner == tx.owner, threads.c.session == session)
    return bool(tx.conn.execute(query).scalar())


def being_closed(tx: Tx, now: str) -> int:
    """How many chats of this owner are being closed now."""
    query = select(func.count()).select_from(threads).where(threads.c.owner == tx.owner, threads.c.closing_until > now)
    return tx.conn.execute(query).scalar() or 0


_BY_PERSON = PreparedStatement(
    select(messages.c.turn)
    .where(
        messages.c.owner == bindparam("owner"),
        messages.c.thread_id == bindparam("thread_id"),
        messages.c.role == "user",
        messages.c.parts.startswith(PERSONS_MARK),
    )
    .limit(1)
)
