"""The sweeps: closing abandoned chats, archiving old ones, emptying the trash, letting proposals expire, embedding, and
the due work of extensions.

A sweep first lists what is due for all owners, and then works owner by owner inside that owner's scope. There it checks
again whether there is something to do, so a stale item does nothing, two sweeps at once do the work once, and a failure
in one book does not stop the others. Errands, the long work of extensions, are a sweep of their own: all that are due,
a few at once.

The `sweeps` module of an extension may have any of these:

- `DUE`: a mapping from a kind of due work to a function, which is given the book and the due item and returns whether
  it did something
- `after_sweep(database, open_book, swept)`: work for which there is no due item
- `ERRANDS`: kinds of due work that are errands. Then there are also `queue(kb, book, item)`, which begins one and
  returns its id, or None if there is nothing to do; and the coroutine `perform(kb, book, id)`, which carries it through
  and returns how it ended (`succeeded`, or why not)
- `WORDS`: how `keepbook jobs` names what was done, by kind: a verb, and a noun in the singular and in the plural
"""

import asyncio
import os
import random
import secrets
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from logging import Logger
from pathlib import Path
from typing import Any, NamedTuple

from keepbook.book.book import Book
from keepbook.book.chats import chat_facts, going, threads
from keepbook.book.ground import due
from keepbook.book.ground.due import Due
from keepbook.book.ground.in_pieces import Gaps, ToldToStop
from keepbook.book.ground.limits import TRASH_DAYS
from keepbook.book.ground.one_line_log import get_logger
from keepbook.book.ground.when import later, stamp
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import proposals
from keepbook.book.memory.memories import find_row
from keepbook.book.owners import owners
from keepbook.book.owners.servers import Servers
from keepbook.book.recall import rebuild
from keepbook.book.text.indexes import words_behind
from keepbook.book.upkeep import erase
from keepbook.book.upkeep.hidden.erase_book import erase_left
from keepbook.book.upkeep.hidden.hidden_book import hidden_owners
from keepbook.book.upkeep.restoring.pieces import bring_back_left
from keepbook.errors import KeepbookError, ModelFailed, NotFound
from keepbook.extension import Extension, load_part
from keepbook.settings import Settings
from keepbook.storage.backups import copy, ending
from keepbook.storage.database import Database, Tx

log: Logger = get_logger(__name__)

ALIVE_EVERY = 60.0
"""Seconds between two notes of a process that it is alive. It counts as gone when five are missing."""

EMBED = "embed"
MOST_ERRANDS_AT_ONCE = 4
"""How many errands are performed at a time; those begun by hand over HTTP have a limit of their own, the same."""
LATE_DAYS = 2
"""How many days after its day something in the trash still goes at the first look."""
MOST_OWNERS_EMBEDDED = 1000
"""For how many owners one sweep looks for missing vectors. With more owners it begins at a random one."""
MOST_VECTORS = 2000
"""How many missing vectors one sweep makes."""


@dataclass(slots=True)
class SweepResult:
    """How often each kind of work was done, and what failed (ids and codes, never contents)."""

    done: dict[str, int] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    is_cut_short: bool = field(default=False, repr=False)
    """Whether it was told to stop before all was done."""

    def did(self, kind: str, times: int = 1) -> None:
        self.done[kind] = self.done.get(kind, 0) + times

    def failed_at(self, item: Due, error: Exception) -> None:
        if isinstance(error, KeepbookError):
            code = error.code
        else:
            code = type(error).__name__
        log.warning("sweep %s %s: %s", item.work, item.id, code)
        self.failed.append(f"{item.work} {item.id}: {code}")


Perform = Callable[[Any, Book, str], Awaitable[str]]
"""Carries an errand through, given the installation, the book and the errand's id. Returns how it ended."""


class Errand(NamedTuple):
    """Long work that is queued and waits to be performed."""

    kind: str
    book: Book
    id: str
    perform: Perform


def sweep_parts(extensions: Iterable[Extension]) -> list[Any]:
    """The `sweeps` modules of the extensions that have one."""
    return [load_part(one.sweeps) for one in extensions if one.sweeps is not None]


def sweep(database: Database, open_book: Callable[[str], Book], extensions: Sequence[Extension]) -> SweepResult:
    """Everything that is due, once, but for errands. Once the process is told to stop it begins nothing more, also in
    the middle of what is done in pieces: all that stays due."""
    swept, gaps = SweepResult(), Gaps(database.told_to_stop)
    try:
        _sweep(database, open_book, extensions, swept, gaps)
    except ToldToStop:
        swept.is_cut_short = True
    if not swept.is_cut_short and database.holds_removed():
        database.compact()
    database.tally.add({("jobs", kind): times for kind, times in swept.done.items()})
    database.tally.add({("failed_jobs", ""): len(swept.failed)})
    return swept


def _sweep(
    database: Database,
    open_book: Callable[[str], Book],
    extensions: Sequence[Extension],
    swept: SweepResult,
    gaps: Gaps,
) -> None:
    now = stamp(database.clock())
    hidden = _end_hidden(database, swept, gaps)
    work: dict[str, Callable[[Book, Due], bool]] = {
        due.CLOSE: _close,
        due.ARCHIVE: _archive,
        due.PURGE: _purge,
        due.PURGE_CHAT: partial(_purge_chat, database, gaps),
        due.EXPIRE: _expire,
        due.INDEX: partial(_index, database, gaps),
    }
    parts = sweep_parts(extensions)
    for part in parts:
        work |= getattr(part, "DUE", {})
    for kind, do in work.items():
        for item in _waiting(database, now, kind):
            if item.owner in hidden:
                continue
            gaps.go_on()
            book = open_book(item.owner)
            try:
                if do(book, item):
                    swept.did(kind)
            except ToldToStop:
                raise
            except NotFound:  # what it reminds of is not in the book, and will not come
                _forget(book, item)
            except Exception as error:  # noqa: BLE001  whatever it is, the others have done nothing to wait for it
                swept.failed_at(item, error)
    for part in parts:
        if (after := getattr(part, "after_sweep", None)) is not None:
            gaps.go_on()
            after(database, open_book, swept)
    _embed(database, open_book, swept, gaps, hidden)


def _end_hidden(database: Database, swept: SweepResult, gaps: Gaps) -> list[str]:
    """Make books what they were before a restore that was cut short, and go on with erasures that were. Returns the
    owners of those that others restore or erase."""
    with database.unscoped() as conn:
        hidden = hidden_owners(conn)
    left = []
    for owner in hidden:
        gaps.go_on()
        try:
            if bring_back_left(database, owner):
                swept.did("restore")
                continue
            if erase_left(database, owner, gaps.told):
                swept.did("erase")
                continue
        except KeepbookError as error:
            swept.failed_at(Due(owner, "hidden", "", ""), error)
        left.append(owner)
    return left


def keep_copies(address: str, folder: Path, settings: Settings, now: datetime, swept: SweepResult) -> None:
    """Copy the whole database if the last copy is old enough, and remove the copies beyond those to keep. A copy is
    given its name when it is complete; two sweeps at once make one each, which is harmless."""
    pattern = f"keepbook-*{ending(address)}"
    dated_now = _copy_name(address, now)
    # A copy dated in the future, made when the clock ran ahead, does not count: else none would be made until its day.
    made = [copy for copy in sorted(folder.glob(pattern)) if copy.name <= dated_now]
    before = now - timedelta(hours=settings.backup_every_hours)
    if swept.is_cut_short:
        return
    if made and made[-1].name > _copy_name(address, before):
        return
    draft = folder / f".draft-{os.getpid()}{ending(address)}"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft.unlink(missing_ok=True)
        copy(address, draft, settings.busy_seconds)
        draft.chmod(0o600)
        draft.replace(folder / dated_now)
    except (OSError, KeepbookError) as error:
        if isinstance(error, KeepbookError):
            why: str | None = error.message  # of PostgreSQL's own program, or of the disk: nobody's words
        else:
            why = error.strerror
        log.warning("no copy was made in %s: %s", folder, why)
        swept.failed.append(f"backup: {why}")
        return
    finally:
        with suppress(OSError):  # the folder may be missing too
            draft.unlink(missing_ok=True)
    for old in [*made, folder / dated_now][: -settings.backup_keep]:
        old.unlink(missing_ok=True)
    swept.did("backup")


def _copy_name(address: str, made_at: datetime) -> str:
    """The file name of a copy. Names sort by the time at which the copies were made."""
    return f"keepbook-{made_at:%Y%m%dT%H%M%SZ}{ending(address)}"


def queue_errands(
    kb: Any, database: Database, open_book: Callable[[str], Book], extensions: Sequence[Extension], swept: SweepResult
) -> list[Errand]:
    """Begin the errands that are due, and return them. Whoever queued them performs them."""
    queued: list[Errand] = []
    if swept.is_cut_short:
        return queued
    now = stamp(database.clock())
    due_now = (
        (part, item)
        for part in sweep_parts(extensions)
        for kind in getattr(part, "ERRANDS", ())
        for item in _waiting(database, now, kind)
    )
    for part, item in due_now:
        book = open_book(item.owner)
        try:
            id = part.queue(kb, book, item)
        except NotFound:
            _forget(book, item)
        except Exception as error:  # noqa: BLE001  see sweep()
            swept.failed_at(item, error)
        else:
            if id is not None:
                queued.append(Errand(item.work, book, id, part.perform))
    return queued


async def perform_errands(
    queued: Sequence[Errand], perform: Callable[[Errand], Awaitable[str]], swept: SweepResult
) -> None:
    """Perform the queued errands, a few at once, and note in `swept` how they ended."""
    room = asyncio.Semaphore(MOST_ERRANDS_AT_ONCE)

    async def one(each: Errand) -> None:
        async with room:
            try:
                ended = await perform(each)
            except Exception as error:  # noqa: BLE001  see sweep()
                if isinstance(error, KeepbookError):
                    ended = error.code
                else:
                    ended = type(error).__name__
        if ended == "succeeded":
            swept.did(each.kind)
        else:
            log.warning("%s %s: %s", each.kind, each.id, ended)
            swept.failed.append(f"{each.kind} {each.id}: {ended}")

    await asyncio.gather(*map(one, queued))


def _embed(
    database: Database, open_book: Callable[[str], Book], swept: SweepResult, gaps: Gaps, hidden: Sequence[str]
) -> None:
    """What programs left that wrote and ended, or a crash. Nobody keeps a list of it: asking an owner costs little."""
    with database.unscoped() as conn:
        everyone = [owner for owner in owners.everyone(conn) if owner not in hidden]
    begin = 0
    if len(everyone) > MOST_OWNERS_EMBEDDED:
        begin = random.randrange(len(everyone))
    in_turn = everyone[begin:] + everyone[:begin]
    room = MOST_VECTORS
    for owner in in_turn[:MOST_OWNERS_EMBEDDED]:
        meaning = open_book(owner).meaning
        if meaning is None or room <= 0:
            return
        gaps.go_on()
        try:
            done = meaning.fill(owner, most=room)
        except KeepbookError as error:
            log.warning("sweep %s: %s", EMBED, error.code)
            swept.failed.append(f"{EMBED}: {error.code}")
            return  # the embedder failed, and would fail for the next owner too
        room -= done
        if done:
            swept.did(EMBED, done)


def _waiting(database: Database, now: str, kind: str) -> Iterator[Due]:
    """The due items of a kind, page by page. The next page begins after the last item, so an item that fails and stays
    due does not hide those after it."""
    last: Due | None = None
    while True:
        with database.unscoped() as conn:
            page = due.due_by(conn, now, kind, after=last)
        if not page:
            return
        yield from page
        last = page[-1]


def _close(book: Book, item: Due) -> bool:
    """Close a chat that has been silent for long enough. If it is not open any more, only the due item is removed."""
    closed = book.close_thread(item.id)
    if closed.status == "failed":
        raise ModelFailed(closed.notice)
    if closed.status == "nothing":
        _forget(book, item)
    return bool(closed.status == "closed")


def _archive(book: Book, item: Due) -> bool:
    with book.writing() as (tx, _):
        due.cancel(tx, due.ARCHIVE, item.id)
        if threads.get_thread(tx, item.id).state != "idle":
            return False
        threads.archive(tx, item.id)
    return True


def _purge(book: Book, item: Due) -> bool:
    job = Origin("job", "jobs")
    with book.writing() as (tx, _):
        if _is_first_look(tx, item, find_row(tx, item.id).trashed_at):
            return False
        due.cancel(tx, due.PURGE, item.id)
        if item.id not in erase.due_for_purge(tx, later(stamp(tx.clock()), days=-TRASH_DAYS)):
            return False
        erase.purge(tx, job, item.id)
        tx.compact_later = True  # at the end of the sweep
    return True


def _purge_chat(database: Database, gaps: Gaps, book: Book, item: Due) -> bool:
    """A chat that lay in the trash for long enough, or that somebody was kept from removing."""
    with book.writing() as (tx, _):
        trashed_at = chat_facts.trashed_since(tx, item.id)
        if _is_first_look(tx, item, trashed_at):
            return False
        is_going = going.is_going(tx, item.id)
        if trashed_at is None and not is_going:
            due.cancel(tx, due.PURGE_CHAT, item.id)
            return False
        if not is_going:
            going.let_go(tx, item.id)
    return going.remove_left(database, owner=book.owner, thread_id=item.id, gaps=gaps, sweeps=True)


def _is_first_look(tx: Tx, item: Due, trashed_at: str | None) -> bool:
    """Whether something that lay in the trash is found long after its day, for the first time. It stays for one day
    more: perhaps no sweep came, but perhaps the clock has jumped, and somebody notices."""
    now = stamp(tx.clock())
    if trashed_at is None or item.at != later(trashed_at, days=TRASH_DAYS) or later(item.at, days=LATE_DAYS) >= now:
        return False
    due.remind(tx, item.work, item.id, later(now, days=1))
    return True


def _expire(book: Book, item: Due) -> bool:
    with book.writing() as (tx, _):
        return proposals.expire(tx, item.id, stamp(tx.clock()))


def _index(database: Database, gaps: Gaps, book: Book, item: Due) -> bool:
    """A chat whose words somebody was kept from writing, or a whole book."""
    if item.id == due.WHOLE:
        rebuild.write_all_words(database, book.owner, gaps)
        return True
    return words_behind.write_words(database, book.owner, item.id, gaps)


def _forget(book: Book, item: Due) -> None:
    with book.writing() as (tx, _):
        due.cancel(tx, item.work, item.id)


# Alive


def process_name() -> str:
    """A new name for this process, unique among those that serve or sweep."""
    return f"{os.getpid()}-{secrets.token_hex(4)}"


async def stay_known(servers: Servers, stopping: asyncio.Event) -> None:
    """Note every minute that this process is alive, and at its end that it is gone: an upgrade that removes something
    waits until no older process is alive."""
    name = process_name()
    while not stopping.is_set():
        try:
            await asyncio.to_thread(servers.note, name)
        except Exception as error:  # noqa: BLE001  whatever it was, it is tried again
            log.warning("alive: %s", shown_failure(error))
        await pause(ALIVE_EVERY, stopping)
    with suppress(Exception):
        await asyncio.to_thread(servers.forget, name)


def shown_failure(error: Exception) -> str:
    """The words with which a failure of background work is logged."""
    if isinstance(error, KeepbookError):
        return f"{error.code}: {error.message}"
    return type(error).__name__


async def pause(seconds: float, stopping: asyncio.Event) -> None:
    """Wait for `seconds`, or until `stopping` is set. Not with `asyncio.wait_for`, which can lose a cancellation that
    comes at the moment when the event is set."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stopping.wait()
