"""Lists the imported files of a book, and takes one back: its memories, its chats and what was read out of these. Files
of an extension are taken back by that extension.

Everything that came in is removed, including what the person said yes to, even if its chat was deleted since. A memory
that was changed since, or a chat that has gone on, is the person's and stays. If the load wrote a memory several times,
one entry takes all of it back.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import or_, select

from keepbook.book.chats import threads
from keepbook.book.ground import stored_json
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ground.when import stamp
from keepbook.book.ledger import loads
from keepbook.book.ledger import undo as undoing
from keepbook.book.ledger.loads import Arrival, Load
from keepbook.book.memory import proposals
from keepbook.book.memory.changes import revert
from keepbook.book.memory.memories import State
from keepbook.book.upkeep.hooks import upkeep_hooks
from keepbook.errors import NotAllowed, NotFound
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


def take_back_load(book: OpenBook, nth: int) -> Arrival:
    """Take a load back."""
    with book.writing() as (tx, preset):
        load = loads.load_to_take_back(tx, book.origin, nth)
        if load.what != loads.MEMORIES:
            _take_back_elsewhere(book, tx, load)
        else:
            book.ask("undo.person")
            _take_out_load(book, tx, preset, load)
        return loads.get_load(tx, nth)


def take_back_unfinished(book: OpenBook, nth: int) -> None:
    """Take back the part of a load that came in before it failed. No permission is asked: the caller was allowed to
    import it."""
    with book.writing() as (tx, preset):
        _take_out_load(book, tx, preset, loads.get_load(tx, nth))


def _take_out_load(book: OpenBook, tx: Tx, preset: Preset, load: Arrival) -> None:
    still, deleted, stayed = _as_they_came(tx, load.brought.get("chats", {}))
    written = [*_written_by(tx, load), *read_out(tx, [*still, *deleted])]
    memories: list[str] = []
    left = 0
    for entries in _by_what_they_touch(written).values():
        newest, fate = fate_of(tx, entries)
        if fate == KEPT:
            take_out(tx, book, preset, entries, newest)
            if not newest.link_id:
                memories += [newest.memory_id]
        stayed += fate == TOUCHED
        left += (
            fate == OUT and not newest.link_id and stored_json.load_json(newest.after)["archived_reason"] == "undone"
        )
    now = stamp(tx.clock())
    for id in (*still, *deleted):
        for one in proposals.list_proposals(tx, thread_id=id):
            proposals.expire(tx, one.id, now)
    for id in still:
        threads.trash(tx, id, now, by_person=book.hand.is_person)
    gone = {"memories": memories, "chats": still, "deleted": deleted, "stayed": stayed, "left": left}
    loads.mark_taken_back(tx, load.nth, gone)


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


def told_back(book: OpenBook, nth: int) -> Load:
    return loads.load_of(take_back_load(book, nth))


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
