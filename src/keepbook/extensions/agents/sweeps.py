"""What sweeps do for agents: runs whose hour has come, runs that were lost, decisions followed on the bars, forecasts
answered, and both again where bars came in late."""

from collections.abc import Callable
from typing import Any

from keepbook.book.book import Book
from keepbook.book.ground import due
from keepbook.book.ground.due import Due
from keepbook.book.ground.when import stamp
from keepbook.book.owners import owners
from keepbook.extension import offered
from keepbook.extensions.agents.book import agents, arming, decisions, forecasts, runs
from keepbook.extensions.agents.book.due_work import ANSWER, RESOLVE, RUN, RUN_LOST
from keepbook.jobs import SweepResult
from keepbook.storage.database import Database

FOLD_AGAIN = "fold_again"


def _give_up(book: Book, item: Due) -> bool:
    with book.writing() as (tx, _):
        return runs.give_up(tx, stamp(tx.clock()), item.id)


def _follow(book: Book, item: Due) -> bool:
    with book.writing() as (tx, _):
        return decisions.follow(tx, item.id)


def _answer(book: Book, item: Due) -> bool:
    with book.writing() as (tx, _):
        return forecasts.settle_forecast(tx, book.agents.cards, item.id)


DUE = {RUN_LOST: _give_up, RESOLVE: _follow, ANSWER: _answer}

ERRAND = RUN

WORDS = {
    RUN: ("ran", "agent", "agents"),
    RUN_LOST: ("gave up", "run that was left", "runs that were left"),
    RESOLVE: ("closed", "decision", "decisions"),
}


def queue(book: Book, item: Due) -> str | None:
    """Begin a scheduled run and set the next hour, in one transaction: of two sweeps only one finds it due."""
    with book.writing() as (tx, _):
        now = stamp(tx.clock())
        at = due.reminded_at(tx, RUN, item.id)
        if at is None or at > now:
            return None
        if not arming.is_armed(tx, item.id):  # imported, and nobody here has said that it may
            return None
        if agents.schedule_next_run(tx, item.id) is None:
            return None
        agent = agents.get_agent(tx, item.id)
        return runs.queue(tx, now, book.agents.cards, agent.id, "scheduled", prompt=agent.default_prompt).id


async def perform(kb: Any, book: Book, id: str) -> str:
    """Carry a run through; returns its status."""
    status: str = (await kb.perform(book, id)).status
    return status


def after_sweep(database: Database, open_book: Callable[[str], Book], swept: SweepResult) -> None:
    """Where bars came in: the decisions of everybody that they touch. What fails stays to be done."""
    prices = offered("bars")
    if prices is None:
        return
    with database.unscoped() as conn:
        through, spans = prices.unsettled_spans(conn)
        everyone = owners.everyone(conn) if spans else []
    if not through:
        return
    failed = len(swept.failed)
    for owner in everyone:
        book = open_book(owner)
        try:
            with book.writing() as (tx, _):
                changed = forecasts.resolve_all_anew(tx, book.agents.cards, spans)
        except Exception as error:  # noqa: BLE001  the others have done nothing to wait for it
            swept.failed_at(Due(owner, FOLD_AGAIN, "bars", ""), error)
        else:
            if changed:
                swept.did(FOLD_AGAIN, changed)
    if len(swept.failed) == failed:
        with database.unscoped(writes=True) as conn:
            prices.mark_settled(conn, through)
