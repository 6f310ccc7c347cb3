"""The threads that serve requests: what asks a database waits there, and the loop goes on.

A few lines of our own where a library would do: the work is handed over last of all, so that the thread that takes it
up does not wait for the one that gave it, and a short answer costs a fifteenth less.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

MOST = 40
"""So many requests of one process are served at the same time; the next ones wait for their turn."""

Made = TypeVar("Made")


class _Task(NamedTuple):
    work: Callable[[], Any]
    context: Context
    loop: asyncio.AbstractEventLoop
    done: "asyncio.Future[Any]"


class Crew:
    """Threads that are made when they are needed, and stay."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._free = self._made = 0
        self._lock = threading.Lock()
        self._tasks: SimpleQueue[_Task] = SimpleQueue()

    async def do(self, work: Callable[[], Made]) -> Made:
        """Work that waits, done by a thread in the context of whoever asks."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Made] = loop.create_future()
        task = _Task(work, copy_context(), loop, done)
        with self._lock:
            if self._free:
                self._free -= 1
            elif self._made < self._most:
                self._made += 1
                threading.Thread(target=self._serve, name=f"keepbook {self._made}", daemon=True).start()
        self._tasks.put(task)
        return await done

    def _serve(self) -> None:
        while True:
            self._one(self._tasks.get())

    def _one(self, task: _Task) -> None:
        made: Any = None
        error: BaseException | None = None
        try:
            made = task.context.run(task.work)
        except StopIteration as raised:  # nobody can wait for that one
            error = RuntimeError(f"work ended with {raised!r}")
        except BaseException as raised:  # noqa: BLE001  whoever waits for it gets it
            error = raised
        with self._lock:
            self._free += 1
        with suppress(RuntimeError):  # a loop that has ended waits for nothing
            task.loop.call_soon_threadsafe(_tell, task.done, made, error)
        error = None  # or it would hold itself, by the frame that it was raised in


def _tell(done: "asyncio.Future[Any]", made: Any, error: BaseException | None) -> None:
    if done.cancelled():  # nobody waits for it any more
        return
    if error is None:
        done.set_result(made)
    else:
        done.set_exception(error)


CREW = Crew(MOST)
