"""What thousands of small tests would each pay for anew is paid for once: compiled statements, connections to
PostgreSQL that know its tables, a loop for HTTP, certificates, and a Python that has loaded the house.
"""

import atexit
import json
import os
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from threading import RLock, local
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from anyio.from_thread import BlockingPortal, start_blocking_portal
from jsonschema import Draft202012Validator
from psycopg.pq import TransactionStatus
from sqlalchemy import Engine, event
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.util import LRUCache
from tests import warm_python


def share() -> None:
    _share_statements()
    _share_introductions()
    _share_connections()
    _share_loop()
    _share_certificates()
    _share_schemas()
    warm_python.share()


def _share_statements() -> None:
    """Each test opens a book, thus an engine, of its own; two engines on the same kind of database speak alike."""
    compiled: dict[type[Any], LRUCache[Any, Any]] = {}
    begin = Engine.__init__

    def with_shared(self: Any, pool: Any, dialect: Any, url: Any, hide_parameters: bool = False) -> None:
        begin(self, pool, dialect, url, hide_parameters=hide_parameters)  # by name: Core looks for what it may pass on
        self._compiled_cache = compiled.setdefault(type(self.dialect), LRUCache(5000))

    Engine.__init__ = with_shared  # type: ignore[method-assign]
    # A compiled statement is found again by its dialect among others.
    DefaultDialect.__hash__ = lambda self: hash(type(self))  # type: ignore[method-assign]
    DefaultDialect.__eq__ = lambda self, other: type(self) is type(other)  # type: ignore[method-assign]


def _share_introductions() -> None:
    """What a new engine asks its server first, such as its version, all of them are told alike."""
    ask, told = PGDialect_psycopg.initialize, dict[str, Any]()

    def initialize(self: Any, connection: Any) -> None:
        if told:
            vars(self).update(told)
            return
        before = dict(vars(self))
        ask(self, connection)
        told.update({name: value for name, value in vars(self).items() if before.get(name, ask) is not value})

    PGDialect_psycopg.initialize = initialize  # type: ignore[method-assign]


class Warm:
    """Connections that a closed book leaves behind, for the next book on the same database.

    A new one costs the server fifty milliseconds: it reads its catalogue and compiles the guards. Only databases that
    are emptied and used again have any.
    """

    AT_MOST = 4

    def __init__(self) -> None:
        self._process = os.getpid()  # a child that took one would speak on its parent's
        self._lock = RLock()  # threads share a book, and whatever is thrown away meanwhile closes its own
        self._databases: dict[str, list[tuple[Any, psycopg.Connection[Any]]]] = {}
        self._out: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()

    def welcome(self, database: str) -> None:
        self._databases[database] = []

    def forget(self, database: str) -> None:
        with self._lock:
            kept = self._databases.pop(database, [])
        for _, connection in kept:
            connection.close()

    def backends(self, database: str) -> list[int]:
        with self._lock:
            return [connection.info.backend_pid for _, connection in self._databases[database]]

    def take(self, dialect: Any, record: Any, given: Any, named: dict[str, Any]) -> Any:
        """A connection made with the same words, else None; a new one is made, and known when it comes back."""
        if os.getpid() != self._process:
            return None
        ours = isinstance(dialect, PGDialect_psycopg) and named.get("dbname") in self._databases
        if not ours or "role=" not in named.get("options", ""):  # an administrator's, who may do anything with it
            return None
        asked = {name: value for name, value in named.items() if isinstance(value, str | int)}
        while (connection := self._kept(asked)) is not None:
            if _alive(connection):
                break
            connection.close()
        if connection is None:
            connection = psycopg.connect(*given, **named)
        with self._lock:
            self._out[connection] = asked
        return connection

    def _kept(self, asked: dict[str, Any]) -> Any:
        with self._lock:
            kept = self._databases.get(asked["dbname"], [])
            at = next((at for at, (made_with, _) in enumerate(kept) if made_with == asked), None)
            return None if at is None else kept.pop(at)[1]

    def give_back(self, connection: psycopg.Connection[Any]) -> bool:
        if os.getpid() != self._process:
            return False
        with self._lock:
            asked = self._out.pop(connection, None)
        if asked is None:
            return False
        with suppress(psycopg.Error):  # whether it answers is asked by whoever takes it
            connection.rollback()
        if connection.info.transaction_status != TransactionStatus.IDLE:
            return False  # given up in the middle of something: kept open, it would keep its locks
        with self._lock:
            kept = self._databases.get(asked["dbname"])
            if kept is None or len(kept) >= self.AT_MOST:
                return False
            kept.append((asked, connection))
            return True


def _alive(connection: psycopg.Connection[Any]) -> bool:
    """Whether it answers; and it is as new."""
    with suppress(psycopg.Error):
        connection.autocommit, connection.isolation_level, connection.read_only = True, None, None
        connection.execute("RESET ALL")
        connection.autocommit = False
        return not connection.closed
    return False


WARM = Warm()


def _share_connections() -> None:
    event.listen(Engine, "do_connect", WARM.take)
    close = PGDialect_psycopg.do_close

    def shelve(self: Any, connection: Any) -> None:
        if not WARM.give_back(connection):
            close(self, connection)

    PGDialect_psycopg.do_close = shelve  # type: ignore[method-assign]


@cache
def _portal() -> BlockingPortal:
    kept = ExitStack()
    atexit.register(kept.close)
    return kept.enter_context(start_blocking_portal())


def _share_loop() -> None:
    """A test client that no `with` has opened would start a thread and a loop for each request, and would go there and
    back for each part of an answer: who asks for no stream is answered in one go.
    """
    try:
        from starlette import testclient
    except ImportError:  # the engine's own tests run also without a server
        return

    @contextmanager
    def portal(self: Any) -> Iterator[BlockingPortal]:
        yield self.portal if self.portal is not None else _portal()

    asked, ask, in_parts = local(), testclient.TestClient.request, testclient._TestClientTransport.handle_request

    def request(self: Any, *given: Any, **named: Any) -> Any:
        asked.whole = True
        try:
            return ask(self, *given, **named)
        finally:
            asked.whole = False

    def handle(self: Any, request: Any) -> Any:
        if not getattr(asked, "whole", False) or not isinstance(request.stream, testclient.httpx.AsyncByteStream):
            return in_parts(self, request)

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await self.app(scope | {"state": self.app_state.copy()}, receive, send)

        async def answered() -> Any:
            whole = testclient.httpx.ASGITransport(app, self.raise_server_exceptions, self.root_path, self.client)
            answer = await whole.handle_async_request(request)
            raw = b"".join([part async for part in answer.stream])  # as it was sent: compressed, say
            body = testclient.httpx.ByteStream(raw)
            return testclient.httpx.Response(answer.status_code, headers=answer.headers, stream=body, request=request)

        with self.portal_factory() as loop:
            return loop.call(answered)

    testclient.TestClient._portal_factory = portal  # type: ignore[method-assign, assignment]
    testclient.TestClient.request = request  # type: ignore[method-assign]
    testclient._TestClientTransport.handle_request = handle  # type: ignore[method-assign]


def _share_certificates() -> None:
    """Each client of HTTP would read all certificates of the world anew, to speak to a server on this machine."""
    read = ssl.create_default_context

    @cache
    def known(*given: Any) -> ssl.SSLContext:
        return read(*given[:1], **dict(given[1:]))

    def context(purpose: Any = ssl.Purpose.SERVER_AUTH, **named: Any) -> ssl.SSLContext:
        return known(purpose, *named.items())

    ssl.create_default_context = context


def _share_schemas() -> None:
    """Each client of MCP would look through the schemas of all answers anew, which takes longer than its calls."""
    looked, found_whole = Draft202012Validator.check_schema, set[str]()

    def check(schema: Any, *given: Any, **named: Any) -> None:
        words = json.dumps(schema, sort_keys=True)
        if words not in found_whole:
            looked(schema, *given, **named)
            found_whole.add(words)

    Draft202012Validator.check_schema = check
