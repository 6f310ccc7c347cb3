"""The traces a book's past has left: when it was written to, and which chats were given a memory.

For whoever shows history; nothing here writes. Each function takes the book and reads in one transaction.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import and_, bindparam, func, or_, select

from keepbook.book.ground.opened import Opened
from keepbook.book.ground.when import instant, parse_stamp
from keepbook.book.memory.as_of import block_entry, by_instant, past_of
from keepbook.book.memory.block import Rendered, render
from keepbook.book.memory.injections import CHAT, OUTSIDE
from keepbook.storage.tables import injected, ledger, messages, threads


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A session whose block showed a memory. `thread_id` is empty where no chat of it is kept here (any more)."""

    session: str
    thread_id: str | None
    title: str | None
    at: datetime
    version: int
    replies: int


class Stood(NamedTuple):
    """A memory as it stood at some time, as far as a list of thousands needs it."""

    id: str
    content: str
    confidence: str
    recorded_at: str


@dataclass(frozen=True, slots=True)
class Past:
    """A book at two instants: the memories that stood, oldest first, and the block of a chat that began then."""

    memories: Sequence[Stood]
    rendered: Rendered


# Queries


def instants(book: Opened) -> Sequence[str]:
    """When each entry of the ledger was written, as stamps, oldest first: entry n is at n - 1."""
    with book.reading() as (tx, _, _):
        query = select(ledger.c.at).where(ledger.c.owner == tx.owner).order_by(ledger.c.seq)
        return tx.conn.execute(query).scalars().all()


def past(book: Opened, known: str, valid: str) -> Past:
    """`as_of` and `rendered` of the same instants, at the cost of one of them."""
    with book.reading() as (tx, preset, now):
        known, valid = instant(known, field="known") or now, instant(valid, field="valid") or now
        stood = [each for each in past_of(tx, by_instant(known), valid) if each.state.name == "active"]
        entries = [
            block_entry(each.id, each.state, each.version, each.references[1], each.injection_knew)
            for each in stood
            if each.state.scope is None
        ]
        memories = [
            Stood(each.id, each.version.content, each.state.confidence, each.version.recorded_at) for each in stood
        ]
        return Past(memories, render(entries, preset, valid))


def seen_by(book: Opened, memory_id: str) -> Sequence[Sighting]:
    """The sessions that were given a memory, the latest first, with how many replies came out of each."""
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


def chat_titles(book: Opened, ids: Iterable[str]) -> dict[str, str | None]:
    """The titles of those of these chats that are still here."""
    wanted = sorted(set(ids))
    found: dict[str, str | None] = {}
    with book.reading() as (tx, _, _):
        for start in range(0, len(wanted), 500):
            query = select(threads.c.id, threads.c.title).where(
                threads.c.owner == tx.owner,
                threads.c.deleted_at.is_(None),
                threads.c.id.in_(wanted[start : start + 500]),
            )
            found.update({row.id: row.title for row in tx.conn.execute(query)})
    return found
