"""The word index of chats: which turn says which term. Hidden context and incognito chats stay out of it."""

from sqlalchemy import delete, insert

from keepbook.book.index import Said, term_weights
from keepbook.storage.database import Tx
from keepbook.storage.prepared import Prepared
from keepbook.storage.tables import turn_terms

_PUT = Prepared(insert(turn_terms), turn_terms.c.keys())


def put_turn(tx: Tx, thread_id: str, turn: int, text: str, incognito: bool) -> None:
    if incognito:
        return
    weights = term_weights(Said(None, None, text, None, None))
    key = {"owner": tx.owner, "thread_id": thread_id, "turn": turn}
    _PUT.run_many(tx.conn, [{**key, "term": term, "weight": weight} for term, weight in sorted(weights.items())])


def take_turns(tx: Tx, thread_id: str) -> None:
    tx.conn.execute(delete(turn_terms).where(turn_terms.c.owner == tx.owner, turn_terms.c.thread_id == thread_id))
