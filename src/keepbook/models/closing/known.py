"""What the book says, as every reader of a chat is shown it."""

from keepbook.book.ground import stored
from keepbook.book.memory import listing
from keepbook.book.memory.memories import is_protected
from keepbook.models.model import Known
from keepbook.storage.database import Tx


def known_memories(tx: Tx) -> tuple[Known, ...]:
    """The active memories an extractor reconciles with, oldest first."""
    return tuple(
        Known(
            row.id,
            row.category,
            row.subject,
            row.content,
            row.source,
            row.score,
            is_protected(row.source, row),
            row.valid_from,
            bool(row.quoted),
            row.thread_id,
            frozenset(map(str, stored.loads(row.turn_ids))),
            row.recorded_at,
        )
        for row in listing.standing(tx)
    )
