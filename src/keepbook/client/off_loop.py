"""A local book for async programs: every call runs in a worker thread.

A stand-in wraps a local object and has the same names. Its methods and properties are awaited. Rooms (`book.threads`)
are stand-ins themselves, including those that extensions add to a book or an installation.
"""

import asyncio
import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial, wraps
from typing import Any

from keepbook.book.chats.face import Chat
from keepbook.book.ground.open_book import OpenBook
from keepbook.errors import NotAllowed, keepbook_closed
from keepbook.forking import follow_forks

LOCKED = ("transaction", "reading", "writing")
"""Methods that would hold the database while the program awaits something else; they are refused."""


class ThreadsBeside:
    """The worker threads of an event loop. A forked child gets its own."""

    def __init__(self, number: int) -> None:
        self._number = number
        self.is_closed: bool = False
        self._threads: ThreadPoolExecutor
        self.renew_in_child()
        follow_forks(self)

    def renew_in_child(self) -> None:
        self._threads = ThreadPoolExecutor(self._number, "keepbook")

    async def run(self, work: Callable[[], Any]) -> Any:
        if self.is_closed:
            raise keepbook_closed()
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def close(self) -> None:
        self.is_closed = True
        self._threads.shutdown(wait=False)


OPENS_FACE = "face"
"""The name of a book's method that opens a room by its class, which needs no query."""


class OffLoop:
    """A stand-in for a book, a room of it or a chat."""

    def __init__(self, held: Any, pool: ThreadsBeside) -> None:
        self._held, self._pool = held, pool

    def __repr__(self) -> str:
        return f"<Async {self._held!r}>"

    def __dir__(self) -> list[str]:
        return [name for name in dir(self._held) if not name.startswith("_")]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        own = inspect.getattr_static(type(self._held), name, None)
        if own is None:
            return self._value_or_part(name)
        if name in LOCKED:
            return _refuse_locked(name)
        if name == OPENS_FACE:
            return self._open_face
        if inspect.isfunction(own):
            return self._as_coroutine(getattr(self._held, name))
        if is_room(own):
            return OffLoop(getattr(self._held, name), self._pool)
        return self._run(partial(getattr, self._held, name))

    def _value_or_part(self, name: str) -> Any:
        """A plain value, such as `chat.id`, or an attribute that an extension adds to a book or an installation."""
        value = getattr(self._held, name)
        extensions = getattr(self._held, "extensions", ())
        if not any(name in one.faces or name in one.house for one in extensions):
            return value
        if not inspect.ismethod(value):
            return OffLoop(value, self._pool)
        if hasattr(value, "at_once") or inspect.iscoroutinefunction(value):
            return _with_unwrapped(value)
        return self._as_coroutine(value)

    def _open_face(self, kind: type) -> Any:
        return OffLoop(self._held.face(kind), self._pool)

    def _as_coroutine(self, method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def call(*args: Any, **given: Any) -> Any:
            return self._run(partial(_with_unwrapped(method), *args, **given))

        return call

    async def _run(self, work: Callable[[], Any]) -> Any:
        value = await self._pool.run(work)
        if isinstance(value, OpenBook | Chat):
            return OffLoop(value, self._pool)
        return value


def unwrap(value: Any) -> Any:
    """The object behind a stand-in; any other value unchanged."""
    if isinstance(value, OffLoop):
        return value._held
    return value


def _with_unwrapped(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*args: Any, **given: Any) -> Any:
        return method(*map(unwrap, args), **{name: unwrap(value) for name, value in given.items()})

    return call


def is_room(own: Any) -> bool:
    """Whether an attribute of a class is a room, which is opened without a query."""
    read = None
    if isinstance(own, cached_property):
        read = own.func
    elif isinstance(own, property):
        read = own.fget
    kind = getattr(read, "__annotations__", {}).get("return")
    return getattr(kind, "__name__", kind) in ROOMS


ROOMS = ("Chats", "Journal", "Review", "Spending", "Index", "Tokens", "Texts")


def _refuse_locked(name: str) -> Callable[..., Any]:
    def refused(*_: Any, **__: Any) -> Any:
        raise NotAllowed(
            f"{name} would hold the database while your program awaits; do it in one function and give that to "
            "AsyncKeepbook.run",
            code="local_only",
        )

    return refused
