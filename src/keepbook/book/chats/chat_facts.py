"""Single facts about chats: whether the person spoke, whether a session is incognito, how many are being closed."""

from sqlalchemy import bindparam, func, select

from keepbook.book.ground.limits import sought
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement
from keepbook.storage.tables.chats import messages, threads

PERSONS_PART = "deeds"
PERSONS_MARK = f'{{"{PERSONS_PART}":'
"""The beginning of the stored `parts` of a turn that the person said in one of our own chats; only our own code writes
it."""


def person_spoke(tx: Tx, thread_id: str) -> bool:
    """Whether the person said a turn in one of our own chats; others were recorded, or said by an agent."""
    return bool(_BY_PERSON.tuples(tx.conn, {"owner": tx.owner, "thread_id": sought(thread_id)}))


def is_incognito(tx: Tx, session: str) -> bool:
    """Whether an outside agent's session is one that reads and writes no memory."""
    query = select(threads.c.incognito).where(threads.c.owner == tx.owner, threads.c.session == session)
    return bool(tx.conn.execute(query).scalar())


def person_is_heard(tx: Tx, thread_id: str) -> bool:
    """Whether a chat has a turn that the person said at a door of ours, or recorded by their own hand."""
    return bool(_OF_PERSON.tuples(tx.conn, {"owner": tx.owner, "thread_id": sought(thread_id)}))


def spoke_incognito(tx: Tx) -> bool:
    """Whether the person said anything in a chat of which programs see nothing."""
    query = select(threads.c.id).where(threads.c.owner == tx.owner, threads.c.incognito == 1)
    return any(person_is_heard(tx, id) for id in tx.conn.execute(query).scalars())


def trashed_since(tx: Tx, thread_id: str) -> str | None:
    """When a chat was moved to the trash, if it is there."""
    query = select(threads.c.deleted_at).where(threads.c.owner == tx.owner, threads.c.id == thread_id)
    return tx.conn.execute(query).scalar()


def being_closed(tx: Tx, now: str) -> int:
    """How many chats of this owner are being closed now."""
    query = select(func.count()).select_from(threads).where(threads.c.owner == tx.owner, threads.c.closing_until > now)
    return tx.conn.execute(query).scalar() or 0


def said_since(tx: Tx, speaker: str, words: str, since: str) -> bool:
    """Whether somebody has said words in any chat since an instant."""
    asked = {"owner": tx.owner, "speaker": speaker, "words": words, "since": since}
    return bool(_SAID_SINCE.tuples(tx.conn, asked))


_SAID_SINCE = PreparedStatement(
    select(messages.c.turn)
    .join_from(threads, messages, (messages.c.owner == threads.c.owner) & (messages.c.thread_id == threads.c.id))
    .where(
        threads.c.owner == bindparam("owner"),
        threads.c.touched_at >= bindparam("since"),
        messages.c.at >= bindparam("since"),
        messages.c.speaker == bindparam("speaker"),
        messages.c.text.contains(bindparam("words")),
    )
    .limit(1)
)
_OF_PERSON = PreparedStatement(
    select(messages.c.turn)
    .where(
        messages.c.owner == bindparam("owner"),
        messages.c.thread_id == bindparam("thread_id"),
        messages.c.role == "user",
        messages.c.recorded_by.is_(None),
    )
    .limit(1)
)
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
