"""Runs that go on in the server when their request has ended."""

import asyncio
import logging

from fastapi import Request

from keepbook.book.runs import Run
from keepbook.models.agents.runner import Runner

log = logging.getLogger(__name__)


async def set_going(request: Request, runner: Runner, run_id: str, *, wait: float) -> None:
    """Let a queued run go its way, and stay with it for `wait` seconds at most. The server ends when it has ended."""
    task = asyncio.create_task(runner.perform(run_id))
    going: set[asyncio.Task[Run]] = request.app.state.runs
    going.add(task)
    task.add_done_callback(going.discard)
    task.add_done_callback(_told)
    await asyncio.wait({task}, timeout=wait)


def _told(task: "asyncio.Task[Run]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("a run broke off: %s", type(error).__name__)
