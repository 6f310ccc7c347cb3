"""Finds memories that a new one may repeat, resemble or contradict.

Only memories that hold count: a line whose end has passed may be said again. They are found by looking up the keys of
`word_index.likeness_keys`, and not by embeddings, so that writes wait for nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import bindparam, select

from keepbook.book.memory.memories import IS_ACTIVE, WHOLE, Memory
from keepbook.book.text.indexes.word_index import likeness_keys
from keepbook.book.text.opposites import opposite
from keepbook.book.text.quotation import bare_words
from keepbook.book.text.words import fold_text, near_duplicate, tokens
from keepbook.errors import Conflict
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement
from keepbook.storage.tables.memory import likeness, memories

MOST_SHOWN = 5  # similar memories that a write answers
MOST_NEAR = 50
"""How many lines that may be nearly the same are read at most, so that a write costs no more in a large book."""


@dataclass(frozen=True, slots=True)
class SimilarRows:
    """Rows of active memories, each list oldest first."""

    same: Any = None
    """A memory that says the same and holds, in any category."""
    ended: Any = None
    """A memory that says the same and has ended."""
    similar: Sequence[Any] = field(default=())
    """Memories of the same category that have nearly the same words or the same subject."""
    opposites: Sequence[Any] = field(default=())
    """Memories that say the opposite."""


# Rules


def refuse_similar(similar: Sequence[Memory]) -> None:
    """Refuse to add a memory that is similar to existing ones; these should be updated instead."""
    if similar:
        shown = "; ".join(f"{memory.id} {memory.content}" for memory in similar)
        raise Conflict(
            f"something like it is already kept: {shown}. "
            "Update that one, or repeat with force if this is another fact",
            code="similar",
            similar=similar,
        )


def has_ended(row: Any, now: str) -> bool:
    """Whether a memory has ended. One that has not begun yet counts as known."""
    return row.valid_until is not None and row.valid_until <= now


def same_subject(content: str, one: str | None, other: str | None) -> bool:
    """Whether two subjects mean the same for a line. None means the person, unless the line's words have the other
    subject: "Anna is allergic to nuts" is about Anna with or without a subject."""
    if one is not None and other is not None:
        return fold_text(one) == fold_text(other)
    named = one or other
    return named is None or set(tokens(content)).issuperset(tokens(named))


# Queries


def find_alike(
    tx: Tx,
    content: str,
    category: str | None,
    subject: str | None,
    scope: str | None,
    now: str,
    *,
    apart_from: str | None = None,
) -> SimilarRows:
    """The memories that say the same, nearly the same, or the opposite; never the one with the id `apart_from`.
    Memories of another scope do not count, since the readers of this one never see them."""
    rows = [row for row in _sharing(tx, content, category) if row.scope == scope and row.id != apart_from]
    about = [row for row in rows if same_subject(content, subject, row.subject)]
    holding = [row for row in about if not has_ended(row, now)]
    ended = _first_saying([row for row in about if has_ended(row, now)], content, category)
    same = _first_saying(holding, content, category)
    if same is not None:
        return SimilarRows(same, ended)
    near = {row.id: row for row in rows if not has_ended(row, now) and _is_near(row, content, category)}
    if subject is not None:
        of_subject = tx.conn.execute(_ABOUT, {"owner": tx.owner, "subject_key": fold_text(subject)})
        known = [row for row in of_subject if not has_ended(row, now)]
        near.update({row.id: row for row in known if (row.category, row.scope) == (category, scope)})
        near.pop(apart_from or "", None)
    contrary = _oldest_first(row for row in holding if opposite(content, row.content))
    return SimilarRows(None, ended, _oldest_first(near.values()), contrary)


def is_said(tx: Tx, content: str, scope: str | None) -> bool:
    """Whether an active memory of this scope has these words, whatever its subject."""
    wanted = bare_words(content)
    rows = _rows(tx, _ids(tx, likeness_keys(content, None)[-1:]))
    return any(row.scope == scope and bare_words(row.content) == wanted for row in rows)


def _is_near(row: Any, content: str, category: str | None) -> bool:
    return row.category == category and near_duplicate(content, row.content)


def _first_saying(rows: Sequence[Any], content: str, category: str | None) -> Any:
    """A row that says exactly these words, preferably of the same category, then the oldest."""
    if not rows:
        return None
    wanted = bare_words(content)
    saying = [row for row in rows if bare_words(row.content) == wanted]
    return min(saying, key=lambda row: (row.category != category, row.created_at, row.id), default=None)


def _oldest_first(rows: Any) -> Sequence[Any]:
    return sorted(rows, key=lambda row: (row.created_at, row.id))[:MOST_SHOWN]


def _sharing(tx: Tx, content: str, category: str | None) -> Sequence[Any]:
    """The active memories that share a key with a line. If they are too many to compare, those with the same words and
    the first others."""
    keys = likeness_keys(content, category)
    ids = _ids(tx, keys)
    if len(ids) > MOST_NEAR:
        ids = _ids(tx, keys[-1:]) | set(sorted(ids)[:MOST_NEAR])
    return _rows(tx, ids)


def _ids(tx: Tx, keys: Sequence[str]) -> set[str]:
    return {id for few in _by_fours(keys) for (id,) in _KEYED.tuples(tx.conn, few | {"owner": tx.owner})}


def _rows(tx: Tx, ids: set[str]) -> Sequence[Any]:
    if ids:
        return tx.conn.execute(_THESE, {"owner": tx.owner, "ids": sorted(ids)}).all()
    return []


_ABOUT = WHOLE.where(memories.c.subject_key == bindparam("subject_key"), IS_ACTIVE)
_KEYED = PreparedStatement(
    select(likeness.c.memory_id).where(
        likeness.c.owner == bindparam("owner"), likeness.c.key.in_([bindparam(f"key{at}") for at in range(4)])
    )
)
_THESE = WHOLE.where(memories.c.id.in_(bindparam("ids", expanding=True)), IS_ACTIVE)


def _by_fours(keys: Sequence[str]) -> Iterator[dict[str, str]]:
    """The keys in groups of four, as the parameters of `_KEYED`; a short group repeats its first key. Most texts need
    one group."""
    for start in range(0, len(keys), 4):
        four = [*keys[start : start + 4], *[keys[start]] * 3][:4]
        yield {f"key{at}": key for at, key in enumerate(four)}
