"""Finds the memories that were learned from a chat and what became of them, and lets them go and come with it."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, and_, bindparam, case, exists, or_, select

from keepbook.book.chats.threads import Thread
from keepbook.book.ground import stored_json
from keepbook.book.ground.in_pieces import PIECE_SECONDS, Gaps
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ground.when import later, stamp
from keepbook.book.ledger import ledger
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement
from keepbook.storage.tables.ledger import ledger as ledger_entries
from keepbook.storage.tables.memory import memories, versions


class TakenBack(NamedTuple):
    """What a memory that came out of a chat said, and does not say any more: it was undone, forgotten or deleted, or
    `changed` since. An erased one has no content."""

    content: str | None
    turn_ids: frozenset[str]
    changed: bool = False
    """Whether the memory stands, in later words."""


# Queries


def learned_from(tx: Tx, thread_id: str) -> list[str]:
    """The ids of the memories with a version that came out of this chat, except deleted ones."""
    return _memory_ids(tx, thread_id, memories.c.trashed_at.is_(None))


def trashed_with_chat(tx: Tx, thread: Thread) -> list[str]:
    """The memories that were moved to the trash together with their chat; none that the person deleted by itself."""
    if thread.deleted_at is None:
        return []
    gone = stamp(thread.deleted_at)
    with_it = exists().where(
        ledger_entries.c.owner == tx.owner,
        ledger_entries.c.seq == memories.c.event,
        or_(ledger_entries.c.thread_id == thread.id, ledger_entries.c.actor != "person"),
    )
    return _memory_ids(
        tx, thread.id, memories.c.trashed_at >= gone, memories.c.trashed_at <= later(gone, minutes=5), with_it
    )


def _memory_ids(tx: Tx, thread_id: str, *where: ColumnElement[bool]) -> list[str]:
    query = (
        select(versions.c.memory_id)
        .join(memories, and_(memories.c.owner == versions.c.owner, memories.c.id == versions.c.memory_id))
        .where(versions.c.owner == tx.owner, versions.c.thread_id == thread_id, memories.c.purged_at.is_(None), *where)
    )
    return sorted(set(tx.conn.execute(query).scalars()))


def memories_taken_back(tx: Tx, thread_id: str) -> list[TakenBack]:
    """The memories of this chat that the person (or the agent, when told to) has removed again, and what the others
    said before they were changed."""
    rows = _TAKEN_BACK.tuples(tx.conn, {"owner": tx.owner, "thread": thread_id})
    return [
        TakenBack(content, frozenset(stored_json.load_json(turn_ids)), not removed)
        for id, content, turn_ids, removed in rows
        if not removed or content is None or ledger.is_put_away_by_person(tx, id)
    ]


_back = versions.alias()
_gone = or_(memories.c.archived_at.isnot(None), memories.c.trashed_at.isnot(None), memories.c.purged_at.isnot(None))
_undone = exists().where(
    _back.c.owner == bindparam("owner"),
    _back.c.memory_id == versions.c.memory_id,
    _back.c.version > versions.c.version,
    _back.c.restored_from < versions.c.version,
)
_removed = or_(_gone, _undone)
_changed = exists().where(
    _back.c.owner == bindparam("owner"),
    _back.c.memory_id == versions.c.memory_id,
    _back.c.version > versions.c.version,
    _back.c.content != versions.c.content,
)
_TAKEN_BACK = PreparedStatement(
    select(versions.c.memory_id, versions.c.content, versions.c.turn_ids, case((_removed, 1), else_=0))
    .join(memories, and_(memories.c.owner == versions.c.owner, memories.c.id == versions.c.memory_id))
    .where(versions.c.owner == bindparam("owner"), versions.c.thread_id == bindparam("thread"))
    .where(or_(_removed, _changed))
    .order_by(versions.c.memory_id, versions.c.version)
)


class WithTheirChat:
    """Memories that are deleted or restored together with the chat they were learned from: in short pieces, between
    which others write; inside a transaction of the program at once. Whoever is ended between two pieces leaves the chat
    in the trash, and there what is left."""

    def __init__(self, book: OpenBook, change: Callable[[Tx, Preset, str], object]) -> None:
        self._book, self._change = book, change
        self._is_one = book._is_writing
        self._ids: deque[str] = deque()

    def begin(self, tx: Tx, preset: Preset, ids: Sequence[str]) -> None:
        """Change the first of them, in the transaction of the chat."""
        self._ids.extend(ids)
        self._change_some(tx, preset)

    @property
    def is_done(self) -> bool:
        return not self._ids

    def end(self) -> None:
        """Change all others."""
        gaps = Gaps()
        while self._ids:
            gaps.freed()
            gaps.wait()
            with self._book.writing() as (tx, preset):
                self._change_some(tx, preset)

    def _change_some(self, tx: Tx, preset: Preset) -> None:
        until = time.perf_counter() + PIECE_SECONDS
        while self._ids:
            self._change(tx, preset, self._ids.popleft())
            if time.perf_counter() > until and not self._is_one:
                return
