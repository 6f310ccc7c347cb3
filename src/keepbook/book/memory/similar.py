"""Memories that a new one may repeat: the very same words, nearly the same, or the same subject and category.

No embeddings: writes wait for nothing. The keys of `word_index.likeness_keys` find repetitions by look-up alone.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import bindparam, select

from keepbook.book.memory.memories import IS_ACTIVE, WHOLE
from keepbook.book.text.word_index import likeness_keys
from keepbook.book.text.words import fold, near_duplicate
from keepbook.storage.database import Tx
from keepbook.storage.prepared import Prepared
from keepbook.storage.tables import likeness, memories

MOST_SHOWN = 5


def find_alike(
    tx: Tx, content: str, category: str | None, subject: str | None, scope: str | None
) -> tuple[Any, Sequence[Any]]:
    """The row of the active memory that says the same, if one does; else the rows of similar ones, oldest first."""
    keys = likeness_keys(content, category)
    ids = sorted({id for few in _by_fours(keys) for (id,) in _SHARING.tuples(tx.conn, few | {"owner": tx.owner})})
    near = tx.conn.execute(_THESE, {"owner": tx.owner, "ids": ids}).all() if ids else []
    wanted = fold(content)
    found: dict[str, Any] = {}
    for row in near:
        if (row.category, row.scope) != (category, scope):  # what other readers never see is no repetition to them
            continue
        if fold(row.content) == wanted:
            return row, ()
        if near_duplicate(content, row.content):
            found[row.id] = row
    if subject is not None:
        about = tx.conn.execute(_ABOUT, {"owner": tx.owner, "subject_key": fold(subject)})
        found.update({row.id: row for row in about if (row.category, row.scope) == (category, scope)})
    return None, sorted(found.values(), key=lambda row: (row.created_at, row.id))[:MOST_SHOWN]


# Queries

_ABOUT = WHOLE.where(memories.c.subject_key == bindparam("subject_key"), IS_ACTIVE)
_SHARING = Prepared(
    select(likeness.c.memory_id).where(
        likeness.c.owner == bindparam("owner"), likeness.c.key.in_([bindparam(f"key{at}") for at in range(4)])
    )
)
_THESE = WHOLE.where(memories.c.id.in_(bindparam("ids", expanding=True)), IS_ACTIVE)


def _by_fours(keys: Sequence[str]) -> Iterator[dict[str, str]]:
    """The keys as parameters of a statement of fixed length; most texts need one run of it."""
    for start in range(0, len(keys), 4):
        four = [*keys[start : start + 4], *[keys[start]] * 3][:4]
        yield {f"key{at}": key for at, key in enumerate(four)}
