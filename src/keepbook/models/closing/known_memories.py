"""Selects the memories with which the reader of a chat compares what it finds.

In a large book these are the lines that share most words with what the person says in the chat, so that the cost of
reading a chat does not depend on the size of the book.
"""

from collections.abc import Collection, Sequence

from keepbook.book.ground import stored_json
from keepbook.book.memory import listing
from keepbook.book.memory.memories import is_protected
from keepbook.book.recall.memories import lines_about
from keepbook.models.model import DialogueTurn, KnownMemory
from keepbook.storage.database import Tx


def known_memories(tx: Tx, turns: Sequence[DialogueTurn], shown: Collection[str] = ()) -> tuple[KnownMemory, ...]:
    """The active memories for the extractor of these turns, oldest first; always with those whose ids are in
    `shown`."""
    about = lines_about(tx, (turn.text for turn in turns if turn.role == "user"))
    only = None
    if about is not None:
        only = about.union(shown)
    return tuple(
        KnownMemory(
            id=row.id,
            category=row.category,
            subject=row.subject,
            content=row.content,
            source=row.source,
            score=row.score,
            protected=is_protected(row.source, row),
            since=row.valid_from,
            quoted=bool(row.quoted),
            thread_id=row.thread_id,
            turn_ids=frozenset(map(str, stored_json.load_json(row.turn_ids))),
            recorded_at=row.recorded_at,
        )
        for row in listing.current_memories(tx, only)
    )
