"""Background work of the server: what goes on after the request that began it, and what a sweep has found due. It is
stopped with the server."""

import asyncio
import contextlib
from collections.abc import Coroutine
from logging import Logger
from typing import Any

from keepbook.book.ground.one_line_log import get_logger
from keepbook.jobs import MOST_ERRANDS_AT_ONCE

log: Logger = get_logger(__name__)


class BackgroundRuns:
    """The work in progress in this process; `app.state.runs`."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._room = asyncio.Semaphore(MOST_ERRANDS_AT_ONCE)

    def begin(self, work: Coroutine[Any, Any, Any], *, in_turn: bool = False) -> "asyncio.Task[Any]":
        """Start work in the background. Of all work with `in_turn`, only MOST_ERRANDS_AT_ONCE goes on at a time."""
        if in_turn:
            task = asyncio.create_task(self._in_turn(work))
        else:
            task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._forget_task)
        return task

    async def stay(self, work: Coroutine[Any, Any, Any], *, wait: float) -> None:
        """Start work in the background, and wait for it `wait` seconds at most."""
        await asyncio.wait({self.begin(work)}, timeout=wait)

    async def end(self) -> None:
        """Cancel all work, and wait until it has ended; a run then fails as stopped."""
        for task in list(self._tasks):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task

    async def _in_turn(self, work: Coroutine[Any, Any, Any]) -> None:
        async with self._room:
            await work

    def _forget_task(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            log.error("a run broke off: %s", type(error).__name__)
