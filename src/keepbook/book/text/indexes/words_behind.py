"""Writes the word index of long turns after the transaction that stored them, in short pieces between which others can
write.

Turns of usual length are indexed in their own transaction. For long turns, or many at once, the words take longer to
write than the turns. Their transaction then leaves a reminder that the words are missing. The program that stored the
turns writes them next; if it ends before, a sweep does. A turn whose words are written has the term `SAYS`.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, select

from keepbook.book.ground import due
from keepbook.book.ground.when import stamp
from keepbook.book.text.indexes.turn_index import INDEXED, SAYS, TurnWords, put_turns, turn_words
from keepbook.storage.database import Database, Tx
from keepbook.storage.prepared_statement import PreparedStatement
from keepbook.storage.tables.chats import messages, threads, turn_terms

if TYPE_CHECKING:
    from keepbook.book.ground.in_pieces import Gaps

LETTERS_AT_ONCE = 20_000
"""If new turns have at most this many letters, they are indexed in the same transaction."""
TERMS_IN_A_PIECE, TURNS_IN_A_PIECE = 5000, 100
"""How many terms and turns a piece has at most; it ends with the turn that reaches one of these."""

# Operations


def index_turns(tx: Tx, thread_id: str, rows: Sequence[Mapping[str, Any]], words: Mapping[int, TurnWords]) -> None:
    """Index turns of a chat that were just written: in this transaction, or if they are long, after it. `words` are the
    words of some of them, if they are known already, by turn."""
    if sum(len(row["text"]) for row in rows) <= LETTERS_AT_ONCE:
        put_turns(tx, rows, words)
        return
    due.remind(tx, due.INDEX, thread_id, stamp(tx.clock()))
    tx.afterwards.append(partial(_write, owner=tx.owner, thread_id=thread_id))


def _write(database: Database, *, owner: str, thread_id: str) -> None:
    write_words(database, owner, thread_id)


def write_words(database: Database, owner: str, thread_id: str, gaps: "Gaps | None" = None) -> bool:
    """Write the words of all turns of a chat that have none, and cancel the reminder. Returns whether there were any.

    A piece is prepared in a reading transaction, and written in another; turns that got their words, or were deleted,
    in between are left out.
    """
    from keepbook.book.ground.in_pieces import Gaps  # imported late, because most programs have no long chat

    gaps, after, any_missed = gaps or Gaps(database.told_to_stop), 0, False
    while True:
        with database.read(owner) as tx:
            missing = _without_words(tx, thread_id, after, TURNS_IN_A_PIECE)
            is_reminded = due.reminded_at(tx, due.INDEX, thread_id) is not None
        piece, words = _fill_piece(missing)
        if not piece and not is_reminded:
            return any_missed
        gaps.wait()
        with database.write(owner) as tx:
            if not piece:
                if not _without_words(tx, thread_id, 0, 1):
                    due.cancel(tx, due.INDEX, thread_id)
                    return any_missed
                after = 0  # another program has stored turns since then, and may have ended: begin again
                continue
            still_missing = {row["turn"] for row in _without_words(tx, thread_id, after, len(piece))}
            put_turns(tx, [row for row in piece if row["turn"] in still_missing], words)
        gaps.freed()
        any_missed, after = True, piece[-1]["turn"]


def _fill_piece(missing: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], dict[int, TurnWords]]:
    """The first turns, up to the limit of a piece, and their words by turn."""
    piece: list[Mapping[str, Any]] = []
    words: dict[int, TurnWords] = {}
    room = TERMS_IN_A_PIECE
    for row in missing:
        piece.append(row)
        found = words[row["turn"]] = turn_words(row["text"], row["role"])
        room -= len(found)
        if room <= 0:
            break
    return piece, words


# Queries


def _without_words(tx: Tx, thread_id: str, after: int, most: int) -> list[dict[str, Any]]:
    told = {"owner": tx.owner, "thread_id": thread_id, "after": after, "most": most}
    return [row._asdict() for row in _WITHOUT.rows(tx.conn, told)]


_HAS_WORDS = (
    select(turn_terms.c.turn)
    .where(turn_terms.c.owner == messages.c.owner, turn_terms.c.term == SAYS)
    .where(turn_terms.c.thread_id == messages.c.thread_id, turn_terms.c.turn == messages.c.turn)
)
_WITHOUT = PreparedStatement(
    select(messages.c.thread_id, messages.c.turn, messages.c.role, messages.c.speaker, messages.c.text, messages.c.at)
    .join(threads, (threads.c.owner == messages.c.owner) & (threads.c.id == messages.c.thread_id))
    .where(messages.c.owner == bindparam("owner"), messages.c.thread_id == bindparam("thread_id"))
    .where(threads.c.incognito == 0, messages.c.unkept.is_(None), messages.c.turn > bindparam("after"))
    .where(messages.c.role.in_([bindparam(f"role_{role}", role) for role in INDEXED]), ~_HAS_WORDS.exists())
    .order_by(messages.c.turn)
    .limit(bindparam("most"))
)
