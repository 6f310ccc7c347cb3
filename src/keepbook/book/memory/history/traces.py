"""Reads for pages that show history: when the book was written to, and which chats were given a memory.

Nothing here writes. Each function takes the book and reads in one transaction.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import and_, bindparam, func, or_, select

from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ground.when import instant, parse_stamp, stamp
from keepbook.book.ledger.ledger import chain_head as newest
from keepbook.book.memory.block import BlockEntry, ComposedBlock, render, render_again
from keepbook.book.memory.history import as_of
from keepbook.book.memory.injections import CHAT, OUTSIDE
from keepbook.book.memory.memories import EVERY_SCOPE, fits_scope
from keepbook.book.text.quotation import shown_text
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.tables.chats import IS_GOING, messages, threads
from keepbook.storage.tables.ledger import ledger
from keepbook.storage.tables.memory import injected


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A session whose block showed a memory. `thread_id` is empty if its chat is not stored here (any more)."""

    session: str
    thread_id: str | None
    title: str | None
    at: datetime
    version: int
    replies: int


class ChatName(NamedTuple):
    """The title of a chat, and whether it lies in the trash. Its session tells where it was spoken."""

    title: str
    in_trash: bool
    session: str | None


class MemoryState(NamedTuple):
    """A memory as it was at some time."""

    id: str
    words: str
    """What it said, as it is shown."""
    guess: bool
    recorded_at: str

    @property
    def told_at(self) -> datetime:
        return parse_stamp(self.recorded_at)


@dataclass(frozen=True, slots=True)
class BookState:
    """A book at a pair of instants (known, valid)."""

    signs: Mapping[str, int]
    """A fingerprint of each memory that was active, oldest first. It changes when the memory says something else."""
    first: Sequence[MemoryState]
    """The oldest of these memories, with their words."""
    rendered: ComposedBlock
    """The block that a chat beginning then would have been given."""


class _KnownState(NamedTuple):
    """The part of a `BookState` that is cached; it has no texts."""

    signs: Mapping[str, int]
    shown: tuple[str, ...]
    many: int


UNTITLED = "a chat without a title"
MOST_PASTS, MOST_IN_ONE, FIRST = 64, 5_000, 100
_PASTS: dict[tuple[Any, ...], _KnownState] = {}


# Queries


def instants(book: OpenBook) -> Sequence[str]:
    """The instant of each ledger entry, as stamps, oldest first: entry n is at index n - 1."""
    with book.reading() as (tx, _, _):
        query = select(ledger.c.at).where(ledger.c.owner == tx.owner).order_by(ledger.c.seq)
        return tx.conn.execute(query).scalars().all()


def book_signs(book: OpenBook, known: str | None = None, valid: str | None = None) -> Mapping[str, int]:
    """A fingerprint of each memory that was active at these instants (default: now), oldest first."""
    with book.reading() as (tx, preset, now):
        return _known_state(tx, preset, now, known, valid).signs


def book_state(book: OpenBook, known: str | None = None, valid: str | None = None) -> BookState:
    """The same answer as `as_of` and `rendered` at these instants (default: now), but cached in part."""
    with book.reading() as (tx, preset, now):
        kept = _known_state(tx, preset, now, known, valid)
        at, true_at = instant(known, field="known") or now, instant(valid, field="valid") or now
        first = list(islice(kept.signs, FIRST))
        by_id = {each.id: each for each in _active_then(tx, at, true_at, sorted({*first, *kept.shown}))}
        return BookState(
            kept.signs,
            [
                MemoryState(each.id, shown_text(each.version), each.guess, each.version.recorded_at)
                for each in (by_id[id] for id in first)
            ],
            render_again(_entries([by_id[id] for id in kept.shown]), preset, kept.many),
        )


def _known_state(tx: Tx, preset: Preset, now: str, known: str | None, valid: str | None) -> _KnownState:
    """The cached part of the state at these instants. It stays valid while the ledger's last hash and the last
    injection are unchanged; for the present it is renewed once a minute."""
    at, true_at = instant(known, field="known") or now, instant(valid, field="valid") or now
    minute = now[:16]
    asked = (known and at) or minute, (valid and true_at) or minute
    last = tx.conn.execute(select(func.max(injected.c.nth)).where(injected.c.owner == tx.owner)).scalar()
    key = (tx.owner, newest(tx).hash, last, preset, *asked)
    kept = _PASTS.get(key)
    if kept is None:
        stood = _active_then(tx, at, true_at)
        entries = _entries(stood)
        in_block = render(entries, preset, true_at).shown
        signs = {each.id: hash(each.version.content) for each in stood}
        kept = _KnownState(signs, tuple(id for id, _ in in_block), len(entries))
        if len(_PASTS) >= MOST_PASTS:
            _PASTS.clear()
        if len(signs) <= MOST_IN_ONE:
            _PASTS[key] = kept
    return kept


def states_of(book: OpenBook, ids: Sequence[str], at: datetime | None = None) -> dict[str, MemoryState]:
    """What these memories said at an instant (default: now); those that were not there then are left out."""
    if not ids:
        return {}
    with book.reading() as (tx, _, now):
        if at is None:
            then = now
        else:
            then = stamp(at)
        stood = _active_then(tx, then, then, sorted(ids))
    return {
        each.id: MemoryState(each.id, shown_text(each.version), each.guess, each.version.recorded_at) for each in stood
    }


def _active_then(tx: Tx, known: str, valid: str, only: Sequence[str] | None = None) -> list[as_of.PastMemory]:
    """The memories that were active then, without those whose scope is set apart, which the page Memory does not list
    either."""
    found = as_of.past_memories(tx, as_of.by_instant(known), valid, only)
    return [each for each in found if each.state.name == "active" and fits_scope(each.state.scope, EVERY_SCOPE)]


def _entries(stood: Sequence[as_of.PastMemory]) -> list[BlockEntry]:
    """The entries that a block without a scope is chosen from."""
    return [
        as_of.block_entry(each.id, each.state, each.version, each.references[1], each.injection_knew)
        for each in stood
        if each.state.scope is None
    ]


def sessions_that_saw(book: OpenBook, memory_id: str) -> Sequence[Sighting]:
    """The sessions that were given a memory, the latest first, with the number of replies in each since."""
    same = or_(
        and_(injected.c.space == CHAT, threads.c.id == injected.c.session),
        and_(injected.c.space == OUTSIDE, threads.c.session == injected.c.session),
    )
    kept = and_(threads.c.owner == injected.c.owner, threads.c.deleted_at.is_(None), same)
    replies = (
        select(func.count())
        .where(messages.c.owner == bindparam("owner"), messages.c.thread_id == threads.c.id)
        .where(messages.c.role == "assistant", messages.c.at >= injected.c.at)
        .correlate(threads, injected)
        .scalar_subquery()
    )
    query = (
        select(injected, threads.c.id.label("thread_id"), threads.c.title, replies.label("replies"))
        .select_from(injected.outerjoin(threads, kept))
        .order_by(injected.c.nth.desc())
    )
    with book.reading() as (tx, _, _):
        mine = query.where(injected.c.owner == bindparam("owner"), injected.c.memory_id == memory_id)
        rows = tx.conn.execute(mine, {"owner": tx.owner})
        return [
            Sighting(
                session=row.session, thread_id=row.thread_id, title=row.title, at=parse_stamp(row.at),
                version=row.version, replies=row.replies,
            )
            for row in rows
        ]  # fmt: skip


def chats_named(book: OpenBook, ids: Iterable[str]) -> dict[str, ChatName]:
    """The names of those of these chats that are still stored, by id; chats in the trash are among them."""
    wanted = sorted(set(ids))
    found: dict[str, ChatName] = {}
    with book.reading() as (tx, _, _):
        for start in range(0, len(wanted), 500):
            query = select(threads.c.id, threads.c.title, threads.c.session, threads.c.deleted_at).where(
                threads.c.owner == tx.owner, threads.c.id.in_(wanted[start : start + 500]), ~IS_GOING
            )
            for row in tx.conn.execute(query):
                found[row.id] = ChatName(row.title or UNTITLED, row.deleted_at is not None, row.session)
    return found
