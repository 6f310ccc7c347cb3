"""Keeps which transactions are open, and for whom: one belongs to the thread and the task that opened it.

Tasks and threads that are made inside a block inherit its context, but not its transaction: each has transactions of
its own. The context only records which tasks were made inside, so that a task that outlives the block gets an error: it
may have been written to use that transaction.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

from keepbook.errors import Conflict
from keepbook.storage.transactions.signal_safe import signal_safe

Held = TypeVar("Held")
Task = asyncio.Task[Any] | None


class _Block:
    """A transaction's block, as the context of the tasks made inside it records it.

    of: the `OpenTransactions` of its database. task: who opened it. outer: the block around it.
    ended: whether it has ended. lost: whether it can no longer be told which tasks were made inside.
    """

    __slots__ = ("ended", "lost", "of", "outer", "task")

    def __init__(self, of: object, task: Task, outer: "_Block | None") -> None:
        self.of, self.task, self.outer = of, task, outer
        self.ended = self.lost = False


_MADE_INSIDE: ContextVar[_Block | None] = ContextVar("keepbook_made_inside", default=None)


def _still_counting(block: _Block | None) -> _Block | None:
    """The innermost block, from this one outwards, that is not `lost`."""
    while block is not None and block.lost:
        block = block.outer
    return block


class OpenTransactions(threading.local, Generic[Held]):
    """What is open of one database on the present thread, by task."""

    def __init__(self) -> None:
        self._writing: dict[Task, Held] = {}
        self._viewing: dict[Task, Held] = {}
        self._awaited: dict[Task, Callable[[], object]] = {}

    @property
    def is_idle(self) -> bool:
        """Whether on this thread nothing is open, and no transaction waits for its first write."""
        return not self._writing and not self._viewing and not self._awaited

    def writing(self) -> Held | None:
        """The writing transaction of the current task."""
        if self._writing:
            return self._writing.get(current_task())
        return None

    def viewing(self) -> Held | None:
        """The view (a snapshot to read from) of the current task."""
        if self._viewing:
            return self._viewing.get(current_task())
        return None

    def forget(self) -> None:
        """Drop the current task's transaction, whose block has ended but was kept by a signal from saying so."""
        self._writing.pop(current_task(), None)

    @signal_safe
    def hold_awaited(self, begin: Callable[[], object]) -> Iterator[None]:
        """A context in which the first write calls `begin`, which opens a transaction."""
        task, of_thread = current_task(), self._awaited
        of_thread[task] = begin
        try:
            yield
        finally:
            of_thread.pop(task, None)

    def begin_awaited(self) -> None:
        """Open the transaction that waits for the current task's first write, if there is one."""
        if not self._awaited:
            return
        begin = self._awaited.pop(current_task(), None)
        if begin is not None:
            begin()

    def on_thread(self) -> list[Held]:
        """All transactions and views of this thread, whichever task opened them."""
        return [*self._writing.values(), *self._viewing.values()]

    @signal_safe
    def hold_writing(self, opened: Held) -> Iterator[None]:
        task, of_thread = current_task(), self._writing
        block = _Block(self, task, _still_counting(_MADE_INSIDE.get()))
        try:
            of_thread[task] = opened
            _MADE_INSIDE.set(block)
            yield
        finally:
            of_thread.pop(task, None)
            if _MADE_INSIDE.get() is block:
                block.ended = True
                _MADE_INSIDE.set(block.outer)
            else:  # It ends in another context than the one it began in. That one goes on recording it, also for tasks
                # made after its end, which cannot be told from those made inside: so no task is refused for it.
                block.lost = True

    @signal_safe
    def hold_viewing(self, opened: Held) -> Iterator[None]:
        task, of_thread = current_task(), self._viewing
        before = of_thread.get(task)
        of_thread[task] = opened
        try:
            yield
        finally:
            if before is None:
                of_thread.pop(task, None)
            else:
                of_thread[task] = before

    def refuse_outliving(self) -> None:
        """Refuse the current task, if it was made inside a block of this database that has ended since."""
        block = _MADE_INSIDE.get()
        if block is None:
            return
        task = current_task()
        while block is not None:
            if block.ended and block.of is self and task not in (None, block.task):
                raise Conflict(
                    "this task was made inside a transaction that has ended; make it after the block, or with "
                    "create_task(…, context=contextvars.Context())",
                    code="transaction_ended",
                )
            block = block.outer


def current_task() -> Task:
    """The asyncio task that runs on this thread; None outside of any."""
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs here
        return None
