"""Contexts that a signal cannot leave open.

A signal handler may raise between any two steps, also just after a context was entered and before its `with` knows. Of
`contextlib`'s nobody would leave such a one then: its transaction would stay open, and its lock taken, for as long as
somebody keeps the error; who wrote meanwhile on that thread would write into it, and lose it. Here it is left at once.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from functools import wraps
from types import TracebackType
from typing import Generic, ParamSpec, TypeVar, cast

Given = ParamSpec("Given")
Entered = TypeVar("Entered")


class _SafeContext(Generic[Entered]):
    """What a generator does before and after its `yield`. It passes every error on."""

    __slots__ = ("_steps",)

    def __init__(self, steps: Generator[Entered, None, None]) -> None:
        self._steps = steps

    def __enter__(self) -> Entered:
        try:
            entered = next(self._steps)
        except BaseException:
            self._steps.close()  # it has ended by itself, or stands at its `yield`
            raise
        return entered  # no call from here to the `with`: no handler runs

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is None:
            for _ in self._steps:
                raise RuntimeError("this context yields once")
            return
        try:
            self._steps.throw(error)
        except BaseException as raised:
            if raised is not error and not _stands_for(raised, error):
                raise
            error.__traceback__ = at
            return
        raise RuntimeError("this context swallows an error")


def _stands_for(raised: BaseException, error: BaseException) -> bool:
    """A generator may not raise a `StopIteration` itself."""
    return isinstance(error, StopIteration) and raised.__cause__ is error


def signal_safe(function: Callable[Given, Iterator[Entered]]) -> Callable[Given, AbstractContextManager[Entered, None]]:
    """A generator that yields once, as a context: `contextlib.contextmanager` for what holds a lock."""

    @wraps(function)
    def make(*given: Given.args, **named: Given.kwargs) -> AbstractContextManager[Entered, None]:
        return _SafeContext(cast("Generator[Entered, None, None]", function(*given, **named)))

    return make
