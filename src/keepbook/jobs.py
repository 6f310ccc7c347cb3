"""The sweeps: closing abandoned chats, archiving old ones, emptying the trash, letting proposals expire, embedding.

Each sweep asks, outside any owner's scope, what is due, and then works owner by owner inside that owner's scope.
Whether there is really something to do is decided there, so a stale reminder does nothing, two sweeps at once do the
work once, and one owner's failure does not keep the others waiting.
"""

import logging
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from keepbook.book import due, erase, owners, proposals, threads
from keepbook.book.book import Book
from keepbook.book.due import Due
from keepbook.book.ledger import Origin
from keepbook.book.when import stamp
from keepbook.errors import KeepbookError, ModelFailed
from keepbook.storage.database import Database

log = logging.getLogger(__name__)

EMBED = "embed"
LOOKED_AFTER, EMBEDDED = 1000, 2000
"""Of so many owners, others each time where there are more, a sweep looks after the vectors; and so many it makes."""


@dataclass(slots=True)
class Swept:
    """How often each kind of work was done, and what failed (ids and codes, never contents)."""

    done: dict[str, int] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)


def sweep(database: Database, open_book: Callable[[str], Book]) -> Swept:
    """Everything that is due, once."""
    swept = Swept()
    now = stamp(database.clock())
    work: dict[str, Callable[[Book, Due], bool]] = {
        due.CLOSE: _close,
        due.ARCHIVE: _archive,
        due.PURGE: _purge,
        due.PURGE_CHAT: _purge_chat,
        due.EXPIRE: _expire,
    }
    for kind, do in work.items():
        for item in _waiting(database, now, kind):
            try:
                if do(open_book(item.owner), item):
                    swept.done[kind] = swept.done.get(kind, 0) + 1
            except Exception as error:  # noqa: BLE001  whatever it is, the others have done nothing to wait for it
                code = error.code if isinstance(error, KeepbookError) else type(error).__name__
                log.warning("sweep %s %s: %s", kind, item.id, code)
                swept.failed.append(f"{kind} {item.id}: {code}")
    if {due.PURGE, due.PURGE_CHAT} & swept.done.keys():
        database.compact()
    _embed(database, open_book, swept)
    return swept


def _embed(database: Database, open_book: Callable[[str], Book], swept: Swept) -> None:
    """What programs left that wrote and ended, or a crash. Nobody keeps a list of it: asking an owner costs little."""
    with database.unscoped() as conn:
        everyone = owners.everyone(conn)
    begin = random.randrange(len(everyone)) if len(everyone) > LOOKED_AFTER else 0
    room = EMBEDDED
    for owner in (everyone[begin:] + everyone[:begin])[:LOOKED_AFTER]:
        meaning = open_book(owner).meaning
        if meaning is None or room <= 0:
            return
        try:
            done = meaning.fill(owner, most=room)
        except KeepbookError as error:
            log.warning("sweep %s: %s", EMBED, error.code)
            swept.failed.append(f"{EMBED}: {error.code}")
            return  # the next owner would only meet the same
        room -= done
        if done:
            swept.done[EMBED] = swept.done.get(EMBED, 0) + done


def _waiting(database: Database, now: str, kind: str) -> Iterator[Due]:
    """Page by page, so that what fails and stays due never stands in the way of what comes after it."""
    last: Due | None = None
    while True:
        with database.unscoped() as conn:
            page = due.due_by(conn, now, kind, after=last)
        if not page:
            return
        yield from page
        last = page[-1]


def _close(book: Book, item: Due) -> bool:
    """A chat that fell silent. One that is not open any more only loses its reminder."""
    closed = book.close_thread(item.id)
    if closed.status == "failed":
        raise ModelFailed(closed.notice)
    if closed.status == "nothing":
        _forget(book, item)
    return bool(closed.status == "closed")


def _archive(book: Book, item: Due) -> bool:
    with book.writing() as (tx, _):
        due.cancel(tx, due.ARCHIVE, item.id)
        if threads.get(tx, item.id).state != "idle":
            return False
        threads.archive(tx, item.id)
    return True


def _purge(book: Book, item: Due) -> bool:
    job = Origin("job", "jobs")
    with book.writing() as (tx, _):
        due.cancel(tx, due.PURGE, item.id)
        if item.id not in erase.due_for_purge(tx, threads.later(stamp(tx.clock()), days=-threads.TRASH_DAYS)):
            return False
        erase.purge(tx, job, item.id)
        tx.compact = False  # once, at the end of the sweep
    return True


def _purge_chat(book: Book, item: Due) -> bool:
    with book.writing() as (tx, _):
        due.cancel(tx, due.PURGE_CHAT, item.id)
        if not threads.in_trash(tx, item.id):
            return False
        threads.remove(tx, item.id)
        tx.compact = False
    return True


def _expire(book: Book, item: Due) -> bool:
    with book.writing() as (tx, _):
        return proposals.expire(tx, item.id, stamp(tx.clock()))


def _forget(book: Book, item: Due) -> None:
    with book.writing() as (tx, _):
        due.cancel(tx, item.work, item.id)
