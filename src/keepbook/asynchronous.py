"""The same book for programs that await: `AsyncKeepbook`, with the names of `Keepbook`.

`book()` is not awaited, every read or write is. A book on this machine runs in threads beside the event loop; a book on
a server is asked asynchronously. There is no second engine and no second client: calls are passed on to `keepbook.app`
and `keepbook.client`. The types are in `asynchronous.pyi`, which `scripts/stubs.py` writes.
"""

from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any, Self

from keepbook.app import Keepbook
from keepbook.client.address import is_address
from keepbook.client.off_loop import OffLoop, ThreadsBeside, unwrap

THREADS = 8  # in which calls are carried out
AsyncBook = AsyncChat = OffLoop
"""Names for annotations; their types are in `asynchronous.pyi`."""


class AsyncKeepbook:
    """An open installation for programs that await: `async with AsyncKeepbook("keepbook.db") as kb`.

    db: a file (`keepbook.db`), `postgresql://…`, `:memory:`, or a server's address (`https://host`); else the settings'
    token: the key to a server
    preset: the vocabulary and policy in force, whatever an owner's own is
    clock: what tells the time
    settings: instead of those of environment and file
    embedder: what recall by meaning goes by
    demo: whether this is a visitor's copy of the demo
    """

    def __init__(self, db: str | Path | None = None, **given: Any) -> None:
        self._pool = ThreadsBeside(THREADS)
        self._is_remote = is_address(db)
        self._kb: Any
        if self._is_remote:
            self._kb = _open_remote(str(db), given)
        else:
            self._kb = Keepbook(db, **given)

    def __repr__(self) -> str:
        return f"<Async {self._kb!r}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if self._is_remote:
            return getattr(self._kb, name)
        return getattr(OffLoop(self._kb, self._pool), name)

    @wraps(Keepbook.book)
    def book(self, owner: str, **given: Any) -> Any:
        book = self._kb.book(owner, **given)
        if self._is_remote:
            return book
        return OffLoop(book, self._pool)

    @wraps(Keepbook.talk)
    def talk(self, chat: Any, **given: Any) -> Any:
        return self._kb.talk(unwrap(chat), **given)

    @wraps(Keepbook.tools)
    async def tools(self, preset: str | None = None, **given: Any) -> Any:
        if self._is_remote:
            return await self._kb.tools(preset, **given)
        # Loaded with the first use: a book alone needs no tools.
        from keepbook.client.tool_sets import AsyncToolSet

        return AsyncToolSet(await self.run(partial(self._kb.tools, preset, **given)), self._pool)

    async def run(self, work: Callable[..., Any], *args: Any) -> Any:
        """Run a function of your own beside the event loop, with the book itself: one transaction, many steps.

        work: a function; it is called beside the event loop
        args: what that function is given; a book stands for the book itself
        """
        return await self._pool.run(partial(work, *map(unwrap, args)))

    async def close(self) -> None:
        """Close what is open; nothing can be used any more."""
        if self._is_remote:
            await self._kb.close()
        elif not self._pool.is_closed:
            await self.run(self._kb.close)
        self._pool.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def __getattr__(name: str) -> Any:
    if name != "AsyncToolSet":
        raise AttributeError(name)
    # Loaded when it is asked for, as with `tools`.
    from keepbook.client.tool_sets import AsyncToolSet

    return AsyncToolSet


def _open_remote(address: str, given: dict[str, Any]) -> Any:
    # Loaded for a server alone.
    from keepbook.client.remote import RemoteKeepbook

    return RemoteKeepbook(address, awaits=True, **given)
