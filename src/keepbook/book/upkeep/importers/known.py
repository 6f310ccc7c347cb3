"""What an import must know before it writes: what came from the same source before, what was removed with a load that
was taken back, and, in a dry run, what the file itself has said so far.
"""

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import and_, select

from keepbook.book.ledger import loads
from keepbook.book.memory.changes import Statement
from keepbook.book.memory.likeness.similar import same_subject
from keepbook.book.recall.forgotten import ForgottenMatters
from keepbook.book.text.indexes.word_index import likeness_keys
from keepbook.book.text.quotation import bare_words
from keepbook.book.text.words import near_duplicate
from keepbook.storage.database import Tx
from keepbook.storage.tables.memory import memories, versions

MOST_COMPARED = 20
"""How many stored lines that share a key with an imported line are compared with it."""


@dataclass(frozen=True, slots=True)
class KnownImport:
    """A memory that came from the same source before; `content` as it came in."""

    memory_id: str
    content: str | None
    untouched: bool = True
    forgotten: bool = False


@dataclass(slots=True)
class LookedMemories:
    """The memories that a dry run would have written so far, so that the same words again are not counted twice."""

    known: dict[str, KnownImport] = field(default_factory=dict)
    _ids: set[str] = field(default_factory=set)
    _by_words: dict[tuple[str, str | None], list[Statement]] = field(default_factory=dict)
    _by_key: dict[tuple[str, str | None], list[str]] = field(default_factory=dict)

    def has(self, one: KnownImport) -> bool:
        return one.memory_id in self._ids

    def same(self, said: Statement) -> str | None:
        """The content of such a memory that says the same; None if there is none."""
        for one in self._by_words.get((bare_words(said.content), said.scope), ()):
            if one.valid_until is None and same_subject(said.content, said.subject, one.subject):
                return one.content
        return None

    def near(self, said: Statement, category: str | None) -> str | None:
        """The content of such a memory of this category that says nearly the same; None if there is none."""
        for key in likeness_keys(said.content, category):
            for content in self._by_key.get((key, said.scope), ()):
                if near_duplicate(said.content, content):
                    return content
        return None

    def add(self, said: Statement, known: KnownImport) -> None:
        self.known[said.made_by or ""] = known
        self._ids.add(known.memory_id)
        self._by_words.setdefault((bare_words(said.content), said.scope), []).append(said)
        for key in likeness_keys(said.content, said.category):
            alike = self._by_key.setdefault((key, said.scope), [])
            if len(alike) < MOST_COMPARED:
                alike.append(said.content)


# Queries


def came_before(tx: Tx, source: str, lost: ForgottenMatters) -> dict[str, KnownImport]:
    """The memories that came from this source before, by their key there. Each tells whether it is still as it came in,
    and whether the person wanted it to be forgotten."""
    joined = versions.join(memories, and_(memories.c.owner == versions.c.owner, memories.c.id == versions.c.memory_id))
    query = (
        select(
            versions.c.made_by, versions.c.memory_id, versions.c.content, versions.c.version,
            memories.c.version.label("newest"), memories.c.archived_at, memories.c.trashed_at,
            memories.c.purged_at, memories.c.last_confirmed_at, memories.c.archived_reason, memories.c.edited_at,
        )
        .select_from(joined)
        .where(versions.c.owner == tx.owner, versions.c.source == "imported", versions.c.made_by.like(f"{source} %"))
        .order_by(versions.c.memory_id, versions.c.version)
    )  # fmt: skip
    found: dict[str, KnownImport] = {}
    for row in tx.conn.execute(query):
        away = not _is_active(row) and row.content is not None and lost.put_away(row, row.content)
        found[row.made_by] = KnownImport(row.memory_id, row.content, _stands(row), away)
    return found


def ids_taken_back(tx: Tx) -> frozenset[str]:
    """The ids of memories and chats that were removed when loads were taken back, without chats that a later load has
    brought again."""
    gone, again = set[str](), set[str]()
    for one in loads.list_loads(tx, loads.MOST, what=loads.MEMORIES):
        if one.gone is None:
            again.update(one.brought.get("chats", ()))
        else:
            gone.update({*one.gone["memories"], *one.gone["chats"], *one.gone.get("deleted", ())} - again)
    return frozenset(gone)


def _is_active(row: Any) -> bool:
    return row.archived_at is None and row.trashed_at is None and row.purged_at is None


def _stands(row: Any) -> bool:
    return _is_active(row) and row.version == row.newest and row.last_confirmed_at is None
