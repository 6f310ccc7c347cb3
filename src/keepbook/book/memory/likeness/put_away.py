"""What the person put away stays away: an agent that saves the same words again leaves a proposal.

A memory that is forgotten or deleted keeps one key in the index (`word_index.put_away_key`), so that the same words are
known again by look-up. Only agents are asked; the person may say anything again. What was erased left no key.
"""

from typing import Any

from sqlalchemy import bindparam, select

from keepbook.book.ledger import ledger
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory.memories import State
from keepbook.book.text.indexes.word_index import put_away_key
from keepbook.errors import NotAllowed
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement
from keepbook.storage.tables.memory import likeness


def refuse_forgotten(tx: Tx, origin: Origin, content: str, state: State, summary: str | None = None) -> None:
    """Refuse an agent that saves what the person forgot, also as the `summary` that stands for it; it is left as a
    proposal."""
    if origin.is_agent and (is_put_away(tx, content) or (summary and is_put_away(tx, summary))):
        raise NotAllowed(
            "the person put this away",
            code="forgotten",
            wanted={"op": "add", "category": state.category, "subject": state.subject, "content": content},
        )


def is_put_away(tx: Tx, content: str) -> bool:
    """Whether the person put away what says this."""
    return any(ledger.is_put_away_by_person(tx, row.memory_id) for row in _saying(tx, content))


# Queries


def _saying(tx: Tx, content: str) -> list[Any]:
    """The memories that were put away and say these words."""
    return list(_PUT_AWAY.rows(tx.conn, {"owner": tx.owner, "key": put_away_key(content)}))


_PUT_AWAY = PreparedStatement(
    select(likeness.c.memory_id).where(likeness.c.owner == bindparam("owner"), likeness.c.key == bindparam("key"))
)
