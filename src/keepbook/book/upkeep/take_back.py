"""Lists the imported files of a book, and takes one back: its memories, its chats and what was read out of these. Files
of an extension are taken back by that extension.

Everything that came in is removed, including what the person said yes to, even if its chat was deleted since. A memory
that was changed since, or a chat that has gone on, is the person's and stays. If the load wrote a memory several times,
one entry takes all of it back.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import or_, select

from keepbook.book.chats import threads
from keepbook.book.ground import stored_json
from keepbook.book.ground.idempotency import Keyed, answered, heed_answer
from keepbook.book.ground.in_pieces import PIECE_SECONDS, Gaps
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ground.when import stamp
from keepbook.book.ledger import loads
from keepbook.book.ledger import undo as undoing
from keepbook.book.ledger.loads import Arrival, Load
from keepbook.book.memory import proposals
from keepbook.book.memory.changes import revert
from keepbook.book.memory.memories import State
from keepbook.book.upkeep.hooks import upkeep_hooks
from keepbook.errors import Conflict, NotAllowed, NotFound
from keepbook.extension import load_part
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.tables.ledger import ledger
from keepbook.storage.tables.memory import versions

AT_ONCE = 200
KEPT, OUT, TOUCHED = "kept", "out", "touched"
CLOSING = "close"
"""The door that entries have which were written by reading a chat."""


# Queries


def list_all_loads(book: OpenBook, limit: int = 100) -> Sequence[Arrival]:
    """The imported files, newest first, including those that were taken back."""
    with book.reading() as (tx, _, _):
        return loads.list_loads(tx, limit)


def list_loads_told(book: OpenBook, limit: int = 100) -> Sequence[Load]:
    return [loads.load_of(one) for one in list_all_loads(book, limit)]


def get_arrival(book: OpenBook, nth: int) -> Arrival:
    with book.reading() as (tx, _, _):
        return loads.get_load(tx, nth)


def chats_of(load: Arrival) -> list[str]:
    """The chats that a load brought, or added turns to."""
    if load.what == loads.MEMORIES:
        return [*load.brought.get("chats", ()), *load.brought.get("grown", ())]
    return []


def read_out(tx: Tx, chats: Sequence[str]) -> list[Any]:
    """The entries that were written by reading these chats or by the person's yes to uncertain lines, oldest first."""
    found: list[Any] = []
    for start in range(0, len(chats), AT_ONCE):
        some = chats[start : start + AT_ONCE]
        whose = or_(ledger.c.door == CLOSING, ledger.c.actor == "person")
        mine = (ledger.c.owner == tx.owner, whose, ledger.c.thread_id.in_(some))
        found += tx.conn.execute(select(ledger).where(*mine)).all()
    return sorted(found, key=lambda row: row.seq)


# Operations


def take_back_load(book: OpenBook, nth: int, keyed: Keyed | None = None) -> Arrival:
    """Take a load back. The answer to a `keyed` request is stored in the last transaction."""
    with book.reading() as (tx, _, _):
        load = loads.load_to_take_back(tx, book.origin, nth)
    if load.what == loads.MEMORIES:
        book.ask("undo.person")
        return _TakingOut(book, nth, keyed).run()
    for one, take_back_first in upkeep_hooks("take_back_first"):
        if load.what in load_part(str(one.upkeep)).LOADS:
            take_back_first(book, load)
    with book.writing() as (tx, _):
        heed_answer(tx, keyed)
        _take_back_elsewhere(book, tx, loads.load_to_take_back(tx, book.origin, nth))
        return _told(tx, nth, keyed)


def take_back_unfinished(book: OpenBook, nth: int) -> None:
    """Take back the part of a load that came in before it failed. No permission is asked: the caller was allowed to
    import it."""
    _TakingOut(book, nth, None).run()


class _TakingOut:
    """Takes out what a load of memories brought, in short pieces, between which others write; inside a transaction of
    the program in one. Whoever is ended between two pieces has taken out a part: the load is still listed as it came,
    and taking it back again takes out the rest."""

    def __init__(self, book: OpenBook, nth: int, keyed: Keyed | None) -> None:
        self._book, self._nth, self._keyed = book, nth, keyed
        self._memories: list[str] = []
        self._chats: list[str] = []
        self._stayed = self._left = 0
        self._is_one = book._is_writing

    def run(self) -> Arrival:
        with self._book.reading() as (tx, _, _):
            load = loads.get_load(tx, self._nth)
            brought = load.brought.get("chats", {})
            still, deleted, self._stayed = _as_they_came(tx, brought)
            written = [*_written_by(tx, load), *read_out(tx, [*still, *deleted])]
        steps: list[Callable[[Tx, Preset], None]] = [
            partial(self._take_out, entries=entries) for entries in _by_what_they_touch(written).values()
        ]
        steps += [partial(self._take_chat, id=id, turns=brought[id]) for id in still]
        steps += [partial(self._expire_offers, id=id) for id in deleted]
        gaps, left = Gaps(), deque(steps)
        while True:
            gaps.wait()
            with self._book.writing() as (tx, preset):
                heed_answer(tx, self._keyed)
                if loads.get_load(tx, self._nth).undone_at is not None:
                    raise Conflict(f"load {self._nth} was taken back meanwhile", code="touched")
                self._take(tx, preset, left)
                if not left:
                    return self._end(tx, deleted)
            gaps.freed()

    def _take(self, tx: Tx, preset: Preset, left: "deque[Callable[[Tx, Preset], None]]") -> None:
        until = time.perf_counter() + PIECE_SECONDS
        while left:
            left.popleft()(tx, preset)
            if time.perf_counter() > until and not self._is_one:
                return

    def _take_out(self, tx: Tx, preset: Preset, entries: Sequence[Any]) -> None:
        newest, fate = fate_of(tx, entries)
        if fate == KEPT:
            take_out(tx, self._book, preset, entries, newest)
            if not newest.link_id:
                self._memories.append(newest.memory_id)
        self._stayed += fate == TOUCHED
        if fate == OUT and not newest.link_id:
            self._left += stored_json.load_json(newest.after)["archived_reason"] == "undone"

    def _take_chat(self, tx: Tx, preset: Preset, id: str, turns: int) -> None:
        self._expire_offers(tx, preset, id)
        still, _, stayed = _as_they_came(tx, {id: turns})  # others may have spoken meanwhile
        self._stayed += stayed
        if still:
            threads.trash(tx, id, stamp(tx.clock()), by_person=self._book.hand.is_person)
            self._chats.append(id)

    def _expire_offers(self, tx: Tx, _: Preset, id: str) -> None:
        for one in proposals.list_proposals(tx, thread_id=id):
            proposals.expire(tx, one.id, stamp(tx.clock()))

    def _end(self, tx: Tx, deleted: Sequence[str]) -> Arrival:
        gone = {
            "memories": self._memories, "chats": self._chats, "deleted": deleted, "stayed": self._stayed,
            "left": self._left,
        }  # fmt: skip
        loads.mark_taken_back(tx, self._nth, gone)
        return _told(tx, self._nth, self._keyed)


def _told(tx: Tx, nth: int, keyed: Keyed | None) -> Arrival:
    taken = loads.get_load(tx, nth)
    answered(tx, loads.load_of(taken), keyed)
    return taken


def _written_by(tx: Tx, load: Arrival) -> list[Any]:
    """The entries of a load, oldest first. It is read piece by piece, since others may have written between them."""
    found: list[Any] = []
    for first, last in load.brought["pieces"]:
        mine = (ledger.c.owner == tx.owner, ledger.c.seq.between(first, last))
        found += tx.conn.execute(select(ledger).where(*mine).order_by(ledger.c.seq)).all()
    return found


def _take_back_elsewhere(book: OpenBook, tx: Tx, load: Arrival) -> None:
    """Let the extension that brought a load in take it back."""
    for one, take_back in upkeep_hooks("take_back"):
        if load.what in load_part(str(one.upkeep)).LOADS:
            take_back(book, tx, load)
            return
    raise NotAllowed(f"load {load.nth} brought {load.what}, and what takes that back is not installed here")


def told_back(book: OpenBook, nth: int, keyed: Keyed | None = None) -> Load:
    return loads.load_of(take_back_load(book, nth, keyed))


def _as_they_came(tx: Tx, chats: Mapping[str, int]) -> tuple[list[str], list[str], int]:
    """The chats in which nobody has said anything since, those that were deleted, and how many others there are."""
    still: list[str] = []
    deleted: list[str] = []
    for id, turns in chats.items():
        try:
            thread = threads.get_thread(tx, id)
        except NotFound:  # deleted for good
            deleted.append(id)
            continue
        if thread.turns > turns:
            continue
        if thread.deleted_at is None:
            still.append(id)
        else:
            deleted.append(id)
    return still, deleted, len(chats) - len(still) - len(deleted)


def _by_what_they_touch(entries: Iterable[Any]) -> dict[tuple[str | None, str | None], list[Any]]:
    """Entries grouped by their link or memory. Links come first, so that they are gone before their memories."""
    found: dict[tuple[str | None, str | None], list[Any]] = {}
    for row in entries:
        found.setdefault((row.link_id, None if row.link_id else row.memory_id), []).append(row)
    return dict(sorted(found.items(), key=lambda one: one[0][0] is None))


def take_out(tx: Tx, book: OpenBook, preset: Preset, entries: Sequence[Any], newest: Any) -> None:
    """Put a memory back to its state before these entries, in one entry."""
    if newest.link_id is not None:
        undoing.undo(tx, book.origin, preset, newest.seq)
        return
    first = entries[0].before
    before = None
    if first is not None:
        before = State(**stored_json.load_json(first))
    revert(tx, book.origin, preset, newest.memory_id, before, entries[-1].seq)


def fate_of(tx: Tx, entries: Sequence[Any]) -> tuple[Any, str]:
    """The newest entry about a memory or link, and what became of it after these entries: `kept` as they left it, taken
    `out` again, or `touched` by something else. Only its present state decides, whatever led there."""
    last = entries[-1]
    if last.link_id:
        same = ledger.c.link_id == last.link_id
    else:
        same = ledger.c.memory_id == last.memory_id
    mine = (ledger.c.owner == tx.owner, ledger.c.seq >= last.seq, same)
    rows = tx.conn.execute(select(ledger).where(*mine).order_by(ledger.c.seq)).all()
    newest = [row for row in rows if row.link_id == last.link_id][-1]
    if last.salt is None:  # it was deleted for good
        return newest, OUT
    if last.link_id:
        stands = stored_json.load_json(newest.after)["removed_at"] == stored_json.load_json(last.after)["removed_at"]
        return newest, KEPT if stands else OUT
    ours, now = (State(**stored_json.load_json(row.after)) for row in (last, newest))
    if last.action == "forget":  # what a load forgot is kept as long as it stays forgotten
        return newest, OUT if now.name == "active" else KEPT
    texts = _texts(tx, last.memory_id)
    if texts[now.version] == texts[ours.version]:
        return newest, KEPT if now.name == "active" else OUT
    return newest, OUT if texts[now.version] in [texts[one] for one in range(1, ours.version)] else TOUCHED


def _texts(tx: Tx, memory_id: str) -> dict[int, str | None]:
    mine = (versions.c.owner == tx.owner, versions.c.memory_id == memory_id)
    return {
        row.version: row.content for row in tx.conn.execute(select(versions.c.version, versions.c.content).where(*mine))
    }
