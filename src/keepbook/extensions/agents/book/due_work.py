"""The kinds of due work of agents, and which failed runs are tried again.

A run that failed because there was no model is tried again when there is one; a scheduled run whose program ended is
tried again once. If several failed runs ask the same of one agent, only the last is tried again.
"""

from typing import Any

from sqlalchemy import select

from keepbook.book.ground import due
from keepbook.extensions.agents.tables import runs
from keepbook.storage.database import Tx

RUN, RUN_AGAIN, RUN_LOST, RESOLVE, ANSWER = "run", "run_again", "run_lost", "resolve", "answer"
NO_MODEL, OVER_ALLOWANCE, LOST = "no_model", "over_allowance", "lost"
WANTS_MODEL = (NO_MODEL, OVER_ALLOWANCE)
"""Codes of failures that end when there is a model, or when the next month begins."""


def is_tried_again(run: Any, code: str | None) -> bool:
    """Whether another run should be made in place of a run that failed with this code."""
    if run.lead_run is not None or run.kind == "chat":
        return False
    return code in WANTS_MODEL or (code == LOST and run.kind == "scheduled" and run.retry_of is None)


def remind_of_retry(tx: Tx, now: str, run: Any) -> None:
    """Note that a failed run is to be tried again, in place of earlier ones that asked the same."""
    for id in _waiting_like(tx, run.agent_id, run.kind, run.prompt, run.parent_run):
        due.cancel(tx, RUN_AGAIN, id)
    due.remind(tx, RUN_AGAIN, run.id, now)


def awaits_retry(tx: Tx, agent_id: str, kind: str, prompt: str) -> bool:
    """Whether a failed run with the same prompt waits to be tried again."""
    return bool(_waiting_like(tx, agent_id, kind, prompt, None))


def _waiting_like(tx: Tx, agent_id: str, kind: str, prompt: str, parent_run: str | None) -> list[str]:
    waiting = due.reminders(tx, RUN_AGAIN)
    if not waiting:
        return []
    query = select(runs.c.id).where(runs.c.owner == tx.owner, runs.c.id.in_(waiting), runs.c.agent_id == agent_id)
    query = query.where(runs.c.nature == kind, runs.c.prompt == prompt)
    if parent_run is None:
        query = query.where(runs.c.parent_run.is_(None))
    else:
        query = query.where(runs.c.parent_run == parent_run)
    return list(tx.conn.execute(query).scalars())
