"""Context managers that a signal cannot leave open.

A signal handler may raise between any two steps: after a context was entered but before its `with` knows, or after the
`with` has ended but before the context was left. A context manager made by `contextlib` then stays open as long as
somebody keeps the error, with its lock, and with a transaction into which the same thread goes on writing.

Two things prevent this. If entering is interrupted, the generator is closed at once. And only the `with` statement
refers to the context, not the call that leaves it, whose frame the error would keep: if that call is interrupted before
it begins, nothing refers to the generator any more, and Python closes it.
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
    """The `__exit__` of a context: `with` looks it up before it enters, and calls it at the end. It refers to the
    context weakly, but for an attribute that goes with the `with` statement."""

    def __get__(self, context: "_SafeContext[Any] | None", _: type | None = None) -> Any:
        if context is None:
            return self
        leave = partial(_leave, ref(context))
        leave.context = context  # type: ignore[attr-defined]  # the `with` statement keeps it alive by this
        return leave

    def __call__(self, context: "_SafeContext[Any]", kind: Kind, error: BaseException | None, at: Traceback) -> None:
        """`contextlib.ExitStack` calls it in this way."""
        _leave(ref(context), kind, error, at)


class _SafeContext(Generic[Entered]):
    """Runs a generator up to its `yield` on entering, and to its end on leaving. It never swallows an error."""

    __slots__ = ("__weakref__", "steps")

    def __init__(self, steps: Generator[Entered, None, None]) -> None:
        self.steps = steps

    def __enter__(self) -> Entered:
        try:
            entered = next(self.steps)
        except BaseException:
            self.steps.close()  # does nothing if the generator has ended, and else leaves it at its `yield`
            raise
        return entered  # from here until the `with` has it there is no call, so no signal handler runs

    __exit__ = _Exit()


def _leave(held: "ref[_SafeContext[Any]]", _: Kind, error: BaseException | None, at: Traceback) -> None:
    context = held()
    assert context is not None  # its `with` keeps it alive
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
    """Whether Python raised this in place of the error: a generator may not raise a `StopIteration`."""
    return isinstance(error, StopIteration) and raised.__cause__ is error


def signal_safe(function: Callable[Given, Iterator[Entered]]) -> Callable[Given, AbstractContextManager[Entered, None]]:
    """A decorator like `contextlib.contextmanager`, for a context that a signal must not leave open."""

    @wraps(function)
    def make(*given: Given.args, **named: Given.kwargs) -> AbstractContextManager[Entered, None]:
        steps = cast("Generator[Entered, None, None]", function(*given, **named))
        return cast("AbstractContextManager[Entered, None]", _SafeContext(steps))

    return make
