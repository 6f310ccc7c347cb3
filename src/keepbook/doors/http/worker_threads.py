"""The threads that serve requests: calls that wait for a database run there, and the event loop goes on.

A few lines of our own where a library would do: the work is handed over last of all, so that the thread that takes it
does not wait for the one that gave it, and a short answer costs a fifteenth less.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

from keepbook.forking import follow_forks

MOST = 40
"""So many requests of one process are served at the same time; the next ones wait for their turn."""
END_SECONDS = 5.0

Made = TypeVar("Made")


class _Task(NamedTuple):
    work: Callable[[], Any]
    context: Context
    loop: asyncio.AbstractEventLoop
    done: "asyncio.Future[Any]"


class WorkerThreads:
    """Threads that are started when they are needed, and stay until `end`; after that new ones are started."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.renew_in_child()
        follow_forks(self)

    def renew_in_child(self) -> None:
        self._lock = threading.Lock()
        self._free, self._threads, self._tasks = _nobody()

    async def do(self, work: Callable[[], Made]) -> Made:
        """Run blocking work in a thread, in the caller's context."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Made] = loop.create_future()
        task = _Task(work, copy_context(), loop, done)
        with self._lock:
            if self._free:
                self._free -= 1
            elif len(self._threads) < self._most:
                name = f"keepbook {len(self._threads) + 1}"
                thread = threading.Thread(target=self._serve, args=(self._tasks,), name=name, daemon=True)
                self._threads.append(thread)
                thread.start()
            self._tasks.put(task)
        return await done

    async def end(self) -> None:
        """Let the threads end when their work is done; a thread that takes too long is not waited for."""
        with self._lock:
            threads, tasks = self._threads, self._tasks
            self._free, self._threads, self._tasks = _nobody()
        for _ in threads:
            tasks.put(None)
        until = time.monotonic() + END_SECONDS
        while any(thread.is_alive() for thread in threads) and time.monotonic() < until:
            await asyncio.sleep(0.005)

    def _serve(self, tasks: "SimpleQueue[_Task | None]") -> None:
        while (task := tasks.get()) is not None:
            self._run_task(task, tasks)
            del task  # or it would be held until the next one comes

    def _run_task(self, task: _Task, tasks: "SimpleQueue[_Task | None]") -> None:
        made: Any = None
        error: BaseException | None = None
        try:
            made = task.context.run(task.work)
        except StopIteration as raised:  # nobody can wait for that one
            error = RuntimeError(f"work ended with {raised!r}")
        except BaseException as raised:  # noqa: BLE001  whoever waits for it gets it
            error = raised
        with self._lock:
            self._free += tasks is self._tasks
        with suppress(RuntimeError):  # a loop that has ended waits for nothing
            task.loop.call_soon_threadsafe(_tell, task.done, made, error)
        error = None  # or it would hold itself, by the frame that it was raised in


def _nobody() -> "tuple[int, list[threading.Thread], SimpleQueue[_Task | None]]":
    """How many are free, who there is, and what there is to do."""
    return 0, [], SimpleQueue()


def _tell(done: "asyncio.Future[Any]", made: Any, error: BaseException | None) -> None:
    if done.cancelled():  # nobody waits for it any more
        return
    if error is None:
        done.set_result(made)
    else:
        done.set_exception(error)


WORKER_THREADS = WorkerThreads(MOST)
