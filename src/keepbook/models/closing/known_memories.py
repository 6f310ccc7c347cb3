"""The memories of the book in the form that every reader of a chat gets.

Of a large book these are the lines that share most words with what the person says in the chat: reading a chat costs
what the chat asks for, not what the book holds.
"""

from collections.abc import Collection, Sequence

from keepbook.book.ground import stored_json
from keepbook.book.memory import listing
from keepbook.book.memory.memories import is_protected
from keepbook.book.recall.memories import lines_about
from keepbook.models.model import DialogueTurn, KnownMemory
from keepbook.storage.database import Tx


def known_memories(tx: Tx, turns: Sequence[DialogueTurn], shown: Collection[str] = ()) -> tuple[KnownMemory, ...]:
    """The active memories that an extractor of these turns compares with, oldest first; those of the ids `shown` are
    among them."""
    about = lines_about(tx, (turn.text for turn in turns if turn.role == "user"))
    only = None
    if about is not None:
        only = about.union(shown)
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
        for row in listing.current_memories(tx, only)
    )
