"""Whose an open transaction is: it belongs to the thread and the task that opened it, compared by identity.

Tasks and threads that are made inside a block inherit its context. That makes none of them a party to it: each has
transactions of its own. The context only tells which tasks were made inside, so that one that outlives the block, and
may have counted on it, is told.
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
    """A block that was opened in a context, for whoever is made inside."""

    __slots__ = ("ended", "lost", "of", "outer", "task")

    def __init__(self, of: object, task: Task, outer: "_Block | None") -> None:
        self.of, self.task, self.outer = of, task, outer
        self.ended = self.lost = False


_MADE_INSIDE: ContextVar[_Block | None] = ContextVar("keepbook_made_inside", default=None)


def _still_counting(block: _Block | None) -> _Block | None:
    """The innermost block that somebody may still be refused for."""
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
        """Whether nothing is open on this thread, and nothing is to be begun."""
        return not self._writing and not self._viewing and not self._awaited

    def writing(self) -> Held | None:
        """The transaction of whoever asks."""
        if self._writing:
            return self._writing.get(current_task())
        return None

    def viewing(self) -> Held | None:
        """The view of whoever asks."""
        if self._viewing:
            return self._viewing.get(current_task())
        return None

    def forget(self) -> None:
        """The transaction of whoever asks is over, though its block was kept from saying so."""
        self._writing.pop(current_task(), None)

    @signal_safe
    def hold_awaited(self, begin: Callable[[], object]) -> Iterator[None]:
        """Inside, `begin` opens a transaction for the first who writes."""
        task, of_thread = current_task(), self._awaited
        of_thread[task] = begin
        try:
            yield
        finally:
            of_thread.pop(task, None)

    def begin_awaited(self) -> None:
        """Open the transaction that waits for whoever asks to write, if one does."""
        if self._awaited and (begin := self._awaited.pop(current_task(), None)) is not None:
            begin()

    def on_thread(self) -> list[Held]:
        """Whatever is open on this thread, of any task."""
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
            else:  # It ends in another context than it began in, which keeps it for whoever is made there later. They
                # cannot be told from those made inside, so nobody is refused for it.
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
        """Refuse a task that was made inside a block of this database which has ended since."""
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
    """The task that runs on this thread, if one does."""
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs here
        return None
