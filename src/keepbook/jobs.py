"""The sweeps: closing abandoned chats, archiving old ones, emptying the trash, letting proposals expire, embedding,
following decisions on the bars, running agents when their hour has come.

Each sweep asks, outside any owner's scope, what is due, and then works owner by owner inside that owner's scope.
Whether there is really something to do is decided there, so a stale reminder does nothing, two sweeps at once do the
work once, and one owner's failure does not keep the others waiting. Runs are a sweep of their own, since a model may
take its time: all that are due, a few at once.
"""

import asyncio
import logging
import os
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from keepbook.book.agents import agents, arming, decisions, forecasts, runs
from keepbook.book.agents.runs import Run
from keepbook.book.book import Book
from keepbook.book.chats import threads
from keepbook.book.ground import due
from keepbook.book.ground.due import Due
from keepbook.book.ground.limits import TRASH_DAYS
from keepbook.book.ground.when import later, stamp
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import proposals
from keepbook.book.owners import owners
from keepbook.book.trading.market import batches
from keepbook.book.upkeep import erase
from keepbook.errors import KeepbookError, ModelFailed
from keepbook.settings import Settings
from keepbook.storage.backups import copy, ending
from keepbook.storage.database import Database

log = logging.getLogger(__name__)

EMBED, FOLD_AGAIN = "embed", "fold_again"
MOST_RUNS_AT_ONCE = 4
"""So many runs are carried out at a time: of those that are scheduled, and of those begun by hand over HTTP."""
LOOKED_AFTER, EMBEDDED = 1000, 2000
"""Of so many owners, others each time where there are more, a sweep looks after the vectors; and so many it makes."""


@dataclass(slots=True)
class SweepResult:
    """How often each kind of work was done, and what failed (ids and codes, never contents)."""

    done: dict[str, int] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)

    def did(self, kind: str, times: int = 1) -> None:
        self.done[kind] = self.done.get(kind, 0) + times

    def failed_at(self, item: Due, error: Exception) -> None:
        code = error.code if isinstance(error, KeepbookError) else type(error).__name__
        log.warning("sweep %s %s: %s", item.work, item.id, code)
        self.failed.append(f"{item.work} {item.id}: {code}")


class QueuedRun(NamedTuple):
    """A run that waits to be carried out."""

    book: Book
    run_id: str


Perform = Callable[[Book, str], Awaitable[Run]]
"""Carries a queued run of a book through, with the installation's models."""


def sweep(database: Database, open_book: Callable[[str], Book]) -> SweepResult:
    """Everything that is due, once, but for the runs of agents."""
    swept = SweepResult()
    now = stamp(database.clock())
    work: dict[str, Callable[[Book, Due], bool]] = {
        due.CLOSE: _close,
        due.ARCHIVE: _archive,
        due.PURGE: _purge,
        due.PURGE_CHAT: _purge_chat,
        due.EXPIRE: _expire,
        due.RUN_LOST: _give_up,
        due.RESOLVE: _follow,
        due.ANSWER: _answer,
    }
    for kind, do in work.items():
        for item in _waiting(database, now, kind):
            try:
                if do(open_book(item.owner), item):
                    swept.did(kind)
            except Exception as error:  # noqa: BLE001  whatever it is, the others have done nothing to wait for it
                swept.failed_at(item, error)
    _fold_again(database, open_book, swept)
    if {due.PURGE, due.PURGE_CHAT} & swept.done.keys():
        database.compact()
    _embed(database, open_book, swept)
    database.tally.add({("jobs", kind): times for kind, times in swept.done.items()})
    database.tally.add({("failed_jobs", ""): len(swept.failed)})
    return swept


def keep_copies(address: str, folder: Path, settings: Settings, now: datetime, swept: SweepResult) -> None:
    """Copy the whole database where the last copy is old enough, and remove the copies beyond those to keep. A copy
    takes its name when it is whole; two sweeps at once make one each, which is harmless."""
    pattern = f"keepbook-*{ending(address)}"
    made = sorted(folder.glob(pattern))
    before = now - timedelta(hours=settings.backup_every_hours)
    if made and made[-1].name > f"keepbook-{before:{_COPIED}}{ending(address)}":
        return
    draft = folder / f".draft-{os.getpid()}{ending(address)}"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft.unlink(missing_ok=True)
        copy(address, draft, settings.busy_seconds)
        draft.chmod(0o600)
        draft.replace(folder / f"keepbook-{now:{_COPIED}}{ending(address)}")
    except (OSError, KeepbookError) as error:
        why = error.code if isinstance(error, KeepbookError) else error.strerror
        log.warning("no copy was made in %s: %s", folder, why)
        swept.failed.append(f"backup: {why}")
        return
    finally:
        with suppress(OSError):  # where there is no folder, there is no draft
            draft.unlink(missing_ok=True)
    for old in sorted(folder.glob(pattern))[: -settings.backup_keep]:
        old.unlink(missing_ok=True)
    swept.did("backup")


_COPIED = "%Y%m%dT%H%M%SZ"


def queue_runs(database: Database, open_book: Callable[[str], Book], swept: SweepResult) -> list[QueuedRun]:
    """Begin the runs whose hour has come. The sweep that queued a run carries it out."""
    queued: list[QueuedRun] = []
    for item in _waiting(database, stamp(database.clock()), due.RUN):
        book = open_book(item.owner)
        try:
            run_id = _queue(book, item)
        except Exception as error:  # noqa: BLE001  see sweep()
            swept.failed_at(item, error)
        else:
            queued += [] if run_id is None else [QueuedRun(book, run_id)]
    return queued


async def perform_runs(queued: Sequence[QueuedRun], perform: Perform, swept: SweepResult) -> None:
    """Carry out queued runs, a few at once."""
    room = asyncio.Semaphore(MOST_RUNS_AT_ONCE)

    async def one(each: QueuedRun) -> None:
        async with room:
            try:
                status = (await perform(*each)).status
            except Exception as error:  # noqa: BLE001  see sweep()
                status = error.code if isinstance(error, KeepbookError) else type(error).__name__
        if status == "succeeded":
            swept.did(due.RUN)
        else:
            log.warning("run %s: %s", each.run_id, status)
            swept.failed.append(f"{due.RUN} {each.run_id}: {status}")

    await asyncio.gather(*map(one, queued))


def _queue(book: Book, item: Due) -> str | None:
    """Begin a scheduled run and set the next hour, in one transaction: of two sweeps only one finds it due."""
    with book.writing() as (tx, _):
        now = stamp(tx.clock())
        at = due.reminded_at(tx, due.RUN, item.id)
        if at is None or at > now:
            return None
        if not arming.is_armed(tx, item.id):  # imported, and nobody here has said that it may
            return None
        if agents.schedule_next_run(tx, item.id) is None:
            return None
        agent = agents.get_agent(tx, item.id)
        return runs.queue(tx, now, book.agents.cards, agent.id, "scheduled", prompt=agent.default_prompt).id


def _give_up(book: Book, item: Due) -> bool:
    with book.writing() as (tx, _):
        return runs.give_up(tx, stamp(tx.clock()), item.id)


def _follow(book: Book, item: Due) -> bool:
    with book.writing() as (tx, _):
        return decisions.follow(tx, item.id)


def _answer(book: Book, item: Due) -> bool:
    with book.writing() as (tx, _):
        return forecasts.settle_forecast(tx, book.agents.cards, item.id)


def _fold_again(database: Database, open_book: Callable[[str], Book], swept: SweepResult) -> None:
    """Where bars came in: the decisions of everybody that they touch. What fails stays to be done."""
    with database.unscoped() as conn:
        through, spans = batches.unsettled_spans(conn)
        everyone = owners.everyone(conn) if spans else []
    if not through:
        return
    failed = len(swept.failed)
    for owner in everyone:
        book = open_book(owner)
        try:
            with book.writing() as (tx, _):
                changed = forecasts.resolve_all_anew(tx, book.agents.cards, spans)
        except Exception as error:  # noqa: BLE001  see sweep()
            swept.failed_at(Due(owner, FOLD_AGAIN, "bars", ""), error)
        else:
            if changed:
                swept.did(FOLD_AGAIN, changed)
    if len(swept.failed) == failed:
        with database.unscoped(writes=True) as conn:
            batches.mark_settled(conn, through)


def _embed(database: Database, open_book: Callable[[str], Book], swept: SweepResult) -> None:
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
            swept.did(EMBED, done)


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
        if threads.get_thread(tx, item.id).state != "idle":
            return False
        threads.archive(tx, item.id)
    return True


def _purge(book: Book, item: Due) -> bool:
    job = Origin("job", "jobs")
    with book.writing() as (tx, _):
        due.cancel(tx, due.PURGE, item.id)
        if item.id not in erase.due_for_purge(tx, later(stamp(tx.clock()), days=-TRASH_DAYS)):
            return False
        erase.purge(tx, job, item.id)
        tx.compact = False  # once, at the end of the sweep
    return True


def _purge_chat(book: Book, item: Due) -> bool:
    with book.writing() as (tx, _):
        due.cancel(tx, due.PURGE_CHAT, item.id)
        if not threads.is_thread_in_trash(tx, item.id):
            return False
        threads.delete_thread(tx, item.id)
        tx.compact = False
    return True


def _expire(book: Book, item: Due) -> bool:
    with book.writing() as (tx, _):
        return proposals.expire(tx, item.id, stamp(tx.clock()))


def _forget(book: Book, item: Due) -> None:
    with book.writing() as (tx, _):
        due.cancel(tx, item.work, item.id)
