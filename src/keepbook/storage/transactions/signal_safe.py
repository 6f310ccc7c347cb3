"""Contexts that a signal cannot leave open.

A signal handler may raise between any two steps: when a context was entered and its `with` does not know yet, or when
the `with` has ended and nothing was done about it yet. One of `contextlib`'s stays open then, for as long as somebody
keeps the error: with its lock, and with a transaction into which the same thread writes what nobody will find.

So what was entered is left at once where its `with` does not come to know of it. And only the `with` itself holds a
context, not the frame that is to leave it, which an error keeps: where that is interrupted before it begins, nobody
holds the generator any more, and it ends.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from functools import partial, wraps
from types import TracebackType
from typing import Any, Generic, ParamSpec, TypeVar, cast
from weakref import ref

Given = ParamSpec("Given")
Entered = TypeVar("Entered")
Kind = type[BaseException] | None
Traceback = TracebackType | None


class _Exit:
    """What `with` looks up before it enters a context, and calls at its end."""

    def __get__(self, context: "_SafeContext[Any] | None", _: type | None = None) -> Any:
        if context is None:
            return self
        leave = partial(_leave, ref(context))
        leave.context = context  # type: ignore[attr-defined]  # held by whoever holds this
        return leave

    def __call__(self, context: "_SafeContext[Any]", kind: Kind, error: BaseException | None, at: Traceback) -> None:
        """As `contextlib.ExitStack` does it."""
        _leave(ref(context), kind, error, at)


class _SafeContext(Generic[Entered]):
    """What a generator does before and after its `yield`. It passes every error on."""

    __slots__ = ("__weakref__", "steps")

    def __init__(self, steps: Generator[Entered, None, None]) -> None:
        self.steps = steps

    def __enter__(self) -> Entered:
        try:
            entered = next(self.steps)
        except BaseException:
            self.steps.close()  # it has ended by itself, or stands at its `yield`
            raise
        return entered  # no call from here to the `with`: no handler runs

    __exit__ = _Exit()


def _leave(held: "ref[_SafeContext[Any]]", _: Kind, error: BaseException | None, at: Traceback) -> None:
    context = held()
    assert context is not None  # its `with` holds it
    try:
        _end(context.steps, error, at)
    finally:
        context.steps.close()


def _end(steps: Generator[Any, None, None], error: BaseException | None, at: Traceback) -> None:
    if error is None:
        for _ in steps:
            raise RuntimeError("this context yields once")
        return
    try:
        steps.throw(error)
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
        steps = cast("Generator[Entered, None, None]", function(*given, **named))
        return cast("AbstractContextManager[Entered, None]", _SafeContext(steps))

    return make
