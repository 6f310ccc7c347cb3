"""The memories of the book in the form that every reader of a chat gets."""

from keepbook.book.ground import stored_json
from keepbook.book.memory import listing
from keepbook.book.memory.memories import is_protected
from keepbook.models.model import KnownMemory
from keepbook.storage.database import Tx


def known_memories(tx: Tx) -> tuple[KnownMemory, ...]:
    """The active memories that an extractor compares with, oldest first."""
    return tuple(
        KnownMemory(
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
            frozenset(map(str, stored_json.load_json(row.turn_ids))),
            row.recorded_at,
        )
        for row in listing.current_memories(tx)
    )
