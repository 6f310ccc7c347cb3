"""The due work of agents: begin scheduled runs, let lost runs fail, follow decisions on the bars, answer forecasts by
their rules, and resolve both anew after late bars."""

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
"""The name that a sweep reports for the work of `after_sweep`."""


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
"""How each kind of due work is done, by name."""

ERRANDS = (RUN_AGAIN, RUN)
"""The kinds of due work that take long: `queue` begins one, `perform` carries it out."""

WORDS = {
    RUN: ("ran", "agent", "agents"),
    RUN_AGAIN: ("made up for", "run that had failed", "runs that had failed"),
    RUN_LOST: ("gave up", "run that was left", "runs that were left"),
    RESOLVE: ("closed", "decision", "decisions"),
}


def queue(kb: Any, book: Book, item: Due) -> str | None:
    """Begin a run that is due. The same transaction sets when the next one is due, so of two sweeps only one begins
    it."""
    if item.work == RUN_AGAIN:
        return _queue_retry(kb, book, item)
    return _queue_scheduled(book, item)


def _queue_scheduled(book: Book, item: Due) -> str | None:
    with book.writing() as (tx, _):
        now = stamp(tx.clock())
        at = due.reminded_at(tx, RUN, item.id)
        if at is None or at > now:
            return None
        if not arming.is_armed(tx, item.id):  # it came in by an import, and nobody has armed it here
            return None
        if agents.schedule_next_run(tx, item.id) is None:
            return None
        agent = agents.get_agent(tx, item.id)
        if awaits_retry(tx, agent.id, "scheduled", agent.default_prompt):
            return None  # the same run has failed because there was no model, and will be tried again
        return runs.queue(tx, now, book.agents.cards, agent.id, "scheduled", prompt=agent.default_prompt).id


def _queue_retry(kb: Any, book: Book, item: Due) -> str | None:
    """Try a failed run again, if there is a model now and the run is still wanted."""
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
    """Whether the agent of a failed run still exists and may run, and no run with the same prompt has succeeded
    since."""
    try:
        agent = agents.get_agent(tx, failed.agent_id)
    except NotFound:
        return False
    lost_its_schedule = agent.schedule is None and agent.updated_at > failed.created_at
    if failed.kind == "scheduled" and (lost_its_schedule or not agent.armed):
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
    """Resolve anew the decisions of all owners that are touched by bars which came in late. If a book fails, all of it
    is done again by the next sweep."""
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
        except Exception as error:  # noqa: BLE001  whatever it is, it must not stop the work of other owners
            swept.failed_at(Due(owner, FOLD_AGAIN, "bars", ""), error)
        else:
            if changed:
                swept.did(FOLD_AGAIN, changed)
    if len(swept.failed) == failed:
        with database.unscoped(writes=True) as conn:
            prices.mark_settled(conn, through)
