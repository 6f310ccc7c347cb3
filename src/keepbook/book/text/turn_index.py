"""The word index of chats: which turn says which term. Hidden context and incognito chats stay out of it.

Beside its words each turn has marks, in the same table: how much it says, whether it asks, who speaks, and the day.
A mark begins with a sign no analysed word can begin with, so that the two never meet. Whoever is named nowhere goes
by the role: `~user`, `~assistant`.
"""

from sqlalchemy import bindparam, delete, insert, select

from keepbook.book.text.time_hints import day_terms
from keepbook.book.text.word_index import Said, take_vectors, term_weights
from keepbook.book.text.words import STOP_WORDS, tokens
from keepbook.storage.database import Tx
from keepbook.storage.prepared import Prepared
from keepbook.storage.tables import messages, turn_terms

SAYS, ASKS, SPEAKER = "#", "?", "~"
"""The marks: how many words that say something, a question, `~name` for each word of the speaker's name."""

# Rules


def speaker_marks(speaker: str | None, role: str) -> list[str]:
    names = tokens(speaker) if speaker else []
    return sorted({SPEAKER + name for name in names or [role]})


def marks(text: str, role: str, speaker: str | None, at: str) -> dict[str, float]:
    """What the index knows of a turn beside its words."""
    says = sum(word not in STOP_WORDS for word in tokens(text))
    known = dict.fromkeys([*speaker_marks(speaker, role), *day_terms(at)], 1.0)
    return known | {SAYS: float(says)} | ({ASKS: 1.0} if "?" in text else {})


def turn_weights(text: str, role: str, speaker: str | None, at: str) -> dict[str, float]:
    """All that the index says of a turn."""
    return term_weights(Said(None, None, text, None, None)) | marks(text, role, speaker, at)


# Operations


def put_turn(tx: Tx, thread_id: str, turn: int, text: str, incognito: bool) -> None:
    """Index a turn that has just been written."""
    if incognito:
        return
    key = {"owner": tx.owner, "thread_id": thread_id, "turn": turn}
    row = _SAID.first(tx.conn, key)
    found = turn_weights(text, row.role, row.speaker, row.at)
    _PUT.run_many(tx.conn, [{**key, "term": term, "weight": weight} for term, weight in sorted(found.items())])


def take_turns(tx: Tx, thread_id: str) -> None:
    tx.conn.execute(delete(turn_terms).where(turn_terms.c.owner == tx.owner, turn_terms.c.thread_id == thread_id))
    take_vectors(tx, "turn", thread_id)


# Queries

_PUT = Prepared(insert(turn_terms), turn_terms.c.keys())
_SAID = Prepared(
    select(messages.c.role, messages.c.speaker, messages.c.at).where(
        messages.c.owner == bindparam("owner"),
        messages.c.thread_id == bindparam("thread_id"),
        messages.c.turn == bindparam("turn"),
    )
)
