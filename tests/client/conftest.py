"""The same book in five places: a file, PostgreSQL, a server, and the first and third for programs that await.

Each place is opened once for all tests, and each test has an owner of its own in it.
"""

import asyncio
import inspect
import itertools
import shutil
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.databases import database
from tests.serving import SCOPES, serving

from keepbook import AsyncKeepbook, Keepbook
from keepbook.client.off_loop import OffLoop
from keepbook.client.tool_sets import AsyncToolSet, RemoteToolSet
from keepbook.doors.http.app import create_app

PLACES = ("sqlite", "postgresql", "remote", "async", "async-remote")
_numbers = itertools.count(1)


class Loop:
    """An event loop in a thread, for tests that do not await."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Driven:
    """What is awaited, as if it were not: one suite for both."""

    def __init__(self, held: Any, loop: Loop) -> None:
        self._held, self._loop = held, loop

    def __getattr__(self, name: str) -> Any:
        return self._shown(getattr(self._held, name))

    def _shown(self, value: Any) -> Any:
        if inspect.iscoroutine(value):
            return self._shown(self._loop.run(value))
        if isinstance(value, AsyncToolSet | RemoteToolSet):
            return DrivenTools(value, self._loop)
        if callable(value) and not isinstance(value, OffLoop):
            return lambda *args, **given: self._shown(value(*(getattr(arg, "_held", arg) for arg in args), **given))
        return Driven(value, self._loop) if isinstance(value, OffLoop) or hasattr(value, "_connection") else value


class DrivenTools(Driven):
    """A set of tools also answers what is in it."""

    def __iter__(self) -> Iterator[Any]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, name: object) -> bool:
        return name in self._held


@pytest.fixture(scope="session")
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.close()


@pytest.fixture(scope="session")
def served(sqlite_template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A real server on loopback, and a key that opens every owner's book in it."""
    with opened(sqlite_template, tmp_path_factory.mktemp("served")) as kb:
        token = kb.tokens.create(kind="service", scopes=SCOPES).token
        with serving(create_app(kb)) as address:
            yield address, token


@contextmanager
def opened(template: str, folder: Path) -> Iterator[Keepbook]:
    shutil.copyfile(template, folder / "book.db")
    with Keepbook(folder / "book.db", embedder="none") as kb:
        yield kb


@pytest.fixture
def serve() -> Callable[[Any], AbstractContextManager[str]]:
    """Lets a server of a test's own answer on loopback: `with serve(app) as address`."""
    return serving


@pytest.fixture(scope="session")
def places(
    request: pytest.FixtureRequest, loop: Loop, sqlite_template: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Any]]:
    """The installation in each place, opened when it is first asked for."""
    known: dict[str, Any] = {}
    with ExitStack() as stack:

        def open_in(place: str) -> Any:
            if place == "sqlite":
                return stack.enter_context(opened(sqlite_template, tmp_path_factory.mktemp("here")))
            if place == "postgresql":
                given = [request.getfixturevalue(name) for name in ("postgres_admin_url", "postgres_template")]
                return stack.enter_context(Keepbook(stack.enter_context(database(*given)), embedder="none"))
            if place == "async":
                path = shutil.copyfile(sqlite_template, tmp_path_factory.mktemp("beside") / "book.db")
                kb: Any = AsyncKeepbook(path, embedder="none")
            else:
                address, token = request.getfixturevalue("served")
                if place == "remote":
                    return stack.enter_context(Keepbook(address, token=token))
                kb = AsyncKeepbook(address, token=token)
            stack.callback(lambda: loop.run(kb.close()))
            return Driven(kb, loop)

        def at(place: str) -> Any:
            if place not in known:
                known[place] = open_in(place)
            return known[place]

        yield at


@pytest.fixture(params=PLACES)
def there(request: pytest.FixtureRequest, places: Callable[[str], Any]) -> Any:
    """The installation, in each place in turn."""
    return places(request.param)


@pytest.fixture
def owner() -> str:
    return f"björn {next(_numbers)}"


@pytest.fixture
def book(there: Any, owner: str) -> Any:
    return there.book(owner)
