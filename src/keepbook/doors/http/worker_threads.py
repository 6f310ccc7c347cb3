"""The threads that serve requests: calls that wait for a database run here, so that the event loop goes on.

Written by us although a library could do it: here the work is put into the queue as the last step, so the thread that
takes it never waits for the one that gave it. That makes a short answer a fifteenth cheaper.

A write may wait for the lock of its owner, on a file for everybody's, and holds a thread and a connection meanwhile. If
all threads waited so, nobody could even read. So of one caller a few writes are served at the same time, and of all
together half as many as there are threads; the others wait in the event loop, where that costs nothing.
"""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from contextvars import Context, copy_context
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from starlette.types import Scope

from keepbook.forking import follow_forks

MOST = 40
"""How many requests one process serves at the same time; further ones wait for their turn."""
MOST_WRITES, MOST_OF_ONE = 20, 6
"""How many of these may be writes, and how many writes of one caller."""
END_SECONDS = 5.0
"""How long `end` waits for the threads."""

Made = TypeVar("Made")


class _Task(NamedTuple):
    work: Callable[[], Any]
    context: Context
    loop: asyncio.AbstractEventLoop
    done: "asyncio.Future[Any]"


class WorkerThreads:
    """Threads that are started when they are needed and stay until `end`. It can be used again after `end`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.renew_in_child()
        follow_forks(self)

    def renew_in_child(self) -> None:
        self._lock = threading.Lock()
        self._free, self._threads, self._tasks = _no_threads()

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
            self._free, self._threads, self._tasks = _no_threads()
        for _ in threads:
            tasks.put(None)
        until = time.monotonic() + END_SECONDS
        while any(thread.is_alive() for thread in threads) and time.monotonic() < until:
            await asyncio.sleep(0.005)

    def _serve(self, tasks: "SimpleQueue[_Task | None]") -> None:
        while (task := tasks.get()) is not None:
            self._run_task(task, tasks)
            del task  # else this frame would keep it alive until the next one comes

    def _run_task(self, task: _Task, tasks: "SimpleQueue[_Task | None]") -> None:
        made: Any = None
        error: BaseException | None = None
        try:
            made = task.context.run(task.work)
        except StopIteration as raised:  # a future refuses this exception
            error = RuntimeError(f"work ended with {raised!r}")
        except BaseException as raised:  # noqa: BLE001  it is raised where the work is awaited
            error = raised
        with self._lock:
            if tasks is self._tasks:  # else `end` was called, and this thread is none of the new ones
                self._free += 1
        with suppress(RuntimeError):  # the loop may have ended: then nobody awaits the result
            task.loop.call_soon_threadsafe(_tell, task.done, made, error)
        error = None  # the error refers to this frame: without this the two would keep each other alive


def _no_threads() -> "tuple[int, list[threading.Thread], SimpleQueue[_Task | None]]":
    """The state at the beginning: how many threads are free, all threads, and the queue of tasks."""
    return 0, [], SimpleQueue()


def _tell(done: "asyncio.Future[Any]", made: Any, error: BaseException | None) -> None:
    """Set the result in the loop of whoever awaits it."""
    if done.cancelled():
        return
    if error is None:
        done.set_result(made)
    else:
        done.set_exception(error)


WORKER_THREADS = WorkerThreads(MOST)


# Turns of writes

READS = ("GET", "HEAD")
SentKey = tuple[str | None, str | None]
"""What tells callers apart before one is known: the key that was sent, and the owner that was named. Nothing else of a
request counts: whoever varied it would be taken for many."""


class WriteTurns:
    """The turns of one event loop."""

    def __init__(self) -> None:
        self._all = asyncio.Semaphore(MOST_WRITES)
        self._of: dict[SentKey, asyncio.Semaphore] = {}
        self._waiting: dict[SentKey, int] = {}

    @asynccontextmanager
    async def turn(self, who: SentKey) -> AsyncIterator[None]:
        """A turn of this caller."""
        mine = self._of.setdefault(who, asyncio.Semaphore(MOST_OF_ONE))
        self._waiting[who] = self._waiting.get(who, 0) + 1
        try:
            async with mine, self._all:
                yield
        finally:
            self._waiting[who] -= 1
            if not self._waiting[who]:
                del self._waiting[who], self._of[who]


_TURNS: "WeakKeyDictionary[asyncio.AbstractEventLoop, WriteTurns]" = WeakKeyDictionary()


@asynccontextmanager
async def turn_to_serve(scope: Scope) -> AsyncIterator[None]:
    """A request's turn to be served in a thread; one that only reads has it at once."""
    if scope["method"] in READS:
        yield
        return
    turns = _TURNS.setdefault(asyncio.get_running_loop(), WriteTurns())
    async with turns.turn(scope["state"]["sender"]()):
        yield
