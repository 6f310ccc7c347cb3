"""Audit without a model: what a careful person would tidy up in this book."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from sqlalchemy import select

from keepbook.book.memory.block import ComposedBlock
from keepbook.book.memory.links import Link, links_of
from keepbook.book.memory.memories import IS_ACTIVE, WHOLE, Memory
from keepbook.book.memory.memory_json import row_to_memory
from keepbook.book.text.secrets import find_secrets
from keepbook.book.text.words import fold_text, near_duplicate, tokens
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.tables.memory import WORDS, versions

OFFLINE = "offline"
"""The `made_by` of lines that were made without a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What was found; each list may be empty, and ideally is."""

    memories: int
    duplicates: tuple[tuple[str, ...], ...]
    near_duplicates: tuple[tuple[str, str], ...]
    stale: tuple[str, ...]
    never_referenced: tuple[str, ...]
    low_score: tuple[str, ...]
    not_current: tuple[str, ...]
    contradictions: tuple[Link, ...]
    secrets: tuple[tuple[str, str], ...]
    worded: tuple[str, ...]
    """Lines that rules worded anew from a chat instead of quoting it, in an older version."""
    block_characters: int
    block_tokens: int
    block_memories: int

    @property
    def clean(self) -> bool:
        return not (self.duplicates or self.near_duplicates or self.contradictions or self.secrets or self.low_score)


def audit(tx: Tx, preset: Preset, now: str, rendered: ComposedBlock) -> Audit:
    rows = tx.conn.execute(WHOLE.where(IS_ACTIVE), {"owner": tx.owner}).all()
    kept = sorted((row_to_memory(row, now, preset) for row in rows), key=lambda memory: (memory.created_at, memory.id))
    length = len(rendered.text)
    return Audit(
        memories=len(kept),
        duplicates=_duplicates(kept),
        near_duplicates=_near_duplicates(kept),
        stale=tuple(memory.id for memory in kept if memory.stale),
        never_referenced=tuple(memory.id for memory in kept if not memory.reference_count),
        low_score=tuple(
            memory.id
            for memory in kept
            if memory.confidence == "inferred" and (memory.effective_score or 1) < preset.floor
        ),
        not_current=tuple(memory.id for memory in kept if not memory.current),
        contradictions=tuple(link for link in links_of(tx) if link.relation == "contradicts"),
        secrets=_secrets(tx),
        worded=tuple(memory.id for memory in kept if _is_worded(memory)),
        block_characters=length,
        block_tokens=-(-length // 4),
        block_memories=len(rendered.shown),
    )


# Rules


def _is_worded(memory: Memory) -> bool:
    """Whether the reader without a model made a line, in words that nobody said."""
    return memory.made_by == OFFLINE and not memory.quoted and memory.source in ("extracted", "chat")


def _duplicates(kept: Sequence[Memory]) -> tuple[tuple[str, ...], ...]:
    """The same words, whatever the category."""
    groups: dict[str, list[str]] = {}
    for memory in kept:
        groups.setdefault(fold_text(memory.content), []).append(memory.id)
    return tuple(tuple(ids) for ids in groups.values() if len(ids) > 1)


def _near_duplicates(kept: Sequence[Memory]) -> tuple[tuple[str, str], ...]:
    """Pairs within a category that share most words; only those that share a rare word are compared."""
    holders: dict[str, list[Memory]] = {}
    for memory in kept:
        for token in set(tokens(memory.content)):
            holders.setdefault(token, []).append(memory)
    seen: dict[tuple[str, str], None] = {}
    for sharing in holders.values():
        if len(sharing) > 50:
            continue
        for one, other in combinations(sharing, 2):
            pair = (one.id, other.id)
            alike = one.category == other.category and fold_text(one.content) != fold_text(other.content)
            if pair not in seen and alike and near_duplicate(one.content, other.content):
                seen[pair] = None
    return tuple(sorted(seen))


def _secrets(tx: Tx) -> tuple[tuple[str, str], ...]:
    """(id, kind) of every secret in any version, since old versions are still in the book."""
    found: dict[tuple[str, str], None] = {}
    query = select(versions.c.memory_id, *(versions.c[name] for name in WORDS if name != "spans"))
    rows: Any = tx.conn.execute(
        query.where(versions.c.owner == tx.owner).order_by(versions.c.memory_id, versions.c.version)
    )
    for id, *texts in rows:
        for text in filter(None, texts):
            found.update({(id, secret.kind): None for secret in find_secrets(text)})
    return tuple(found)
