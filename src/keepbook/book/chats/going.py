"""Chats that are deleted for good: gone for everybody at once, and removed behind that in short pieces, between which
others write.

One transaction marks a chat as going and takes what it says of itself; from then on no door finds it. Its turns, their
words and vectors go piece by piece, at last its row. A reminder is due until then: a sweep does it for who was ended
before.
"""

from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import and_, bindparam, delete, func, or_, select, tuple_, update

from keepbook.book.chats.threads import get_thread
from keepbook.book.ground import due
from keepbook.book.ground.idempotency import forget_answers
from keepbook.book.ground.when import stamp
from keepbook.book.text.indexes.word_index import take_vectors
from keepbook.storage.database import Database, Tx
from keepbook.storage.prepared_statement import PreparedStatement, set_columns
from keepbook.storage.tables.chats import GOING, IS_GOING, messages, notes, threads, turn_terms
from keepbook.storage.tables.choices import proposals

if TYPE_CHECKING:
    from keepbook.book.ground.in_pieces import Gaps

TURNS_IN_A_PIECE, LETTERS_IN_A_PIECE, WORDS_IN_A_PIECE = 100, 500_000, 5000
"""What is removed in one transaction at most, but for one turn that is longer."""

# Operations


def let_go(tx: Tx, thread_id: str) -> None:
    """Mark a chat as going: from now on there is none, and what is left of it is removed behind this transaction. Notes
    keep their text and lose the way back.

    The block it was given is part of the record of what was shown, which only erasing a memory in it changes.
    """
    get_thread(tx, thread_id)
    kept = update(notes).where(notes.c.owner == tx.owner, notes.c.thread_id == thread_id)
    tx.conn.execute(kept.values(thread_id=None, turn=None))
    _remove_offers(tx, thread_id)
    for work in (due.CLOSE, due.ARCHIVE, due.INDEX):
        due.cancel(tx, work, thread_id)
    now = stamp(tx.clock())
    due.remind(tx, due.PURGE_CHAT, thread_id, now)
    forget_answers(tx)
    told = dict.fromkeys(("session", "title", "titled_by", "focus", "summary", "compressed", "failure", "out_of_view"))
    set_columns(
        tx.conn, threads, {"owner": tx.owner, "id": thread_id},
        {**told, "state": GOING, "deleted_at": now, "closing_until": None, "closing_by": None},
    )  # fmt: skip


def _remove_offers(tx: Tx, thread_id: str) -> None:
    """Remove what the chat has offered, or was asked to forget. What a yes has written stays, as the memories do; so
    does what an agent left."""
    is_matter = and_(proposals.c.op == "forget", proposals.c.memory_id.is_(None))
    of_chat = proposals.c.owner == tx.owner, proposals.c.thread_id == thread_id, proposals.c.asked_by.is_(None)
    tx.conn.execute(delete(proposals).where(*of_chat, or_(proposals.c.status != "accepted", is_matter)))


def remove_behind(tx: Tx, thread_id: str) -> None:
    """Remove a chat that is going once this transaction is kept."""
    tx.afterwards.append(partial(_remove, owner=tx.owner, thread_id=thread_id))


def _remove(database: Database, *, owner: str, thread_id: str) -> None:
    remove_left(database, owner=owner, thread_id=thread_id)


def remove_left(
    database: Database, *, owner: str, thread_id: str, gaps: "Gaps | None" = None, sweeps: bool = False
) -> bool:
    """Remove what is left of a chat that is going; says whether it was this that ended it. Others may do the same
    meanwhile, and it may be begun again. The words come after the turns: where there is no turn, nobody writes
    words."""
    from keepbook.book.ground.in_pieces import Gaps  # with the first chat that goes: most programs delete none

    gaps = gaps or Gaps(database.told_to_stop)
    any_left = True
    while any_left:
        gaps.wait()
        with database.write(owner) as tx:
            any_left = is_going(tx, thread_id) and _take_turns(tx, thread_id)
        gaps.freed()
    after = ("", 0)
    while found := _words_after(database, owner, thread_id, after):
        gaps.wait()
        with database.write(owner) as tx:
            here = {"owner": owner, "thread_id": thread_id}
            _TAKE_WORD.run_many(tx.conn, [{**here, "term": term, "turn": turn} for term, turn in found])
        gaps.freed()
        after = found[-1]
    gaps.wait()
    with database.write(owner) as tx:
        this = threads.c.owner == owner, threads.c.id == thread_id, IS_GOING
        ended = tx.conn.execute(delete(threads).where(*this)).rowcount > 0
        due.cancel(tx, due.PURGE_CHAT, thread_id)
        tx.compact, tx.compact_later = True, sweeps
    gaps.freed()
    return ended


def _take_turns(tx: Tx, thread_id: str) -> bool:
    """Remove the last turns, so that what is left is a chat; says whether any is left."""
    room, first = LETTERS_IN_A_PIECE, None
    for turn, letters in _LAST_TURNS.tuples(tx.conn, {"owner": tx.owner, "thread_id": thread_id}):
        room -= letters
        if first is not None and room < 0:
            break
        first = turn
    if first is None:
        return False
    of_chat = messages.c.owner == tx.owner, messages.c.thread_id == thread_id
    tx.conn.execute(delete(messages).where(*of_chat, messages.c.turn >= first))
    take_vectors(tx, "turn", thread_id, since=first)
    left = {"turns": first - 1, "extracted_through": 0, "compressed_through": 0}
    set_columns(tx.conn, threads, {"owner": tx.owner, "id": thread_id}, left)
    return bool(first > 1)


# Queries


def is_going(tx: Tx, thread_id: str) -> bool:
    """Whether a chat was deleted for good and is not removed yet."""
    return bool(_GOING.tuples(tx.conn, {"owner": tx.owner, "thread_id": thread_id}))


def _words_after(database: Database, owner: str, thread_id: str, after: tuple[str, int]) -> list[tuple[str, int]]:
    """Which words are left, read while others write: the index begins with the words, so all of a book are looked
    through."""
    with database.read(owner) as tx:
        told = {"owner": owner, "thread_id": thread_id, "term": after[0], "turn": after[1]}
        return _WORDS.tuples(tx.conn, told)


_GOING = PreparedStatement(
    select(threads.c.id).where(threads.c.owner == bindparam("owner"), threads.c.id == bindparam("thread_id"), IS_GOING)
)
_LAST_TURNS = PreparedStatement(
    select(messages.c.turn, func.length(messages.c.text))
    .where(messages.c.owner == bindparam("owner"), messages.c.thread_id == bindparam("thread_id"))
    .order_by(messages.c.turn.desc())
    .limit(TURNS_IN_A_PIECE)
)
_WORDS = PreparedStatement(
    select(turn_terms.c.term, turn_terms.c.turn)
    .where(turn_terms.c.owner == bindparam("owner"), turn_terms.c.thread_id == bindparam("thread_id"))
    .where(
        tuple_(turn_terms.c.term, turn_terms.c.thread_id, turn_terms.c.turn)
        > tuple_(bindparam("term"), bindparam("thread_id"), bindparam("turn"))
    )
    .order_by(turn_terms.c.term, turn_terms.c.turn)
    .limit(WORDS_IN_A_PIECE)
)
_TAKE_WORD = PreparedStatement(
    delete(turn_terms).where(
        turn_terms.c.owner == bindparam("owner"), turn_terms.c.term == bindparam("term"),
        turn_terms.c.thread_id == bindparam("thread_id"), turn_terms.c.turn == bindparam("turn"),
    )
)  # fmt: skip
