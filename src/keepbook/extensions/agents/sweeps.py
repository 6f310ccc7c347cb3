"""What sweeps do for agents: runs whose hour has come, runs that were lost, decisions followed on the bars, forecasts
answered, and both again where bars came in late."""

from collections.abc import Callable
from typing import Any

from keepbook.book.book import Book
from keepbook.book.ground import due
from keepbook.book.ground.due import Due
from keepbook.book.ground.when import stamp
from keepbook.book.owners import owners
from keepbook.errors import NotFound
from keepbook.extension import offered
from keepbook.extensions.agents.book import agents, arming, decisions, forecasts, runs
from keepbook.extensions.agents.book.due_work import ANSWER, RESOLVE, RUN, RUN_AGAIN, RUN_LOST, awaits_retry
from keepbook.extensions.agents.book.runs import Run
from keepbook.jobs import SweepResult
from keepbook.storage.database import Database, Tx

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

ERRANDS = (RUN_AGAIN, RUN)

WORDS = {
    RUN: ("ran", "agent", "agents"),
    RUN_AGAIN: ("made up for", "run that had failed", "runs that had failed"),
    RUN_LOST: ("gave up", "run that was left", "runs that were left"),
    RESOLVE: ("closed", "decision", "decisions"),
}


def queue(kb: Any, book: Book, item: Due) -> str | None:
    """Begin a run that is due, in one transaction with what is due next: of two sweeps only one finds it."""
    if item.work == RUN_AGAIN:
        return _queue_retry(kb, book, item)
    return _queue_scheduled(book, item)


def _queue_scheduled(book: Book, item: Due) -> str | None:
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
        if awaits_retry(tx, agent.id, "scheduled", agent.default_prompt):
            return None  # it has failed once for want of a model, and is made up for when there is one
        return runs.queue(tx, now, book.agents.cards, agent.id, "scheduled", prompt=agent.default_prompt).id


def _queue_retry(kb: Any, book: Book, item: Due) -> str | None:
    """Begin the run that makes up for a failed one, once somebody can do it."""
    with book.writing() as (tx, _):
        now = stamp(tx.clock())
        at = due.reminded_at(tx, RUN_AGAIN, item.id)
        if at is None or at > now:
            return None
        due.cancel(tx, RUN_AGAIN, item.id)
        failed = runs.get_run(tx, item.id)
        if not _is_still_wanted(tx, failed):
            return None
        agent = agents.get_agent(tx, failed.agent_id)
        if kb.runner(book).missing_judge(agent, failed.kind) is not None:
            due.remind(tx, RUN_AGAIN, item.id, now)
            return None
        return runs.queue(
            tx, now, book.agents.cards, agent.id, failed.kind, prompt=failed.prompt, parent_run=failed.parent_run,
            retry_of=failed.id,
        ).id  # fmt: skip


def _is_still_wanted(tx: Tx, failed: Run) -> bool:
    """Whether its agent is there and may run, and nobody has run the same since."""
    try:
        agent = agents.get_agent(tx, failed.agent_id)
    except NotFound:
        return False
    unscheduled = agent.schedule is None and agent.updated_at > failed.created_at
    if failed.kind == "scheduled" and (unscheduled or not agent.armed):
        return False
    since = runs.list_runs(tx, agent_id=agent.id, kind=failed.kind, status="succeeded", limit=20)
    return not any(
        one.created_at > failed.created_at and (one.prompt, one.parent_run) == (failed.prompt, failed.parent_run)
        for one in since
    )


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
        if spans:
            everyone = owners.everyone(conn)
        else:
            everyone = []
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
