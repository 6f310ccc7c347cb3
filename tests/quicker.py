"""What thousands of small tests would each pay for anew is paid for once: compiled statements, and a loop for HTTP."""

import atexit
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from sqlalchemy import Engine
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.util import LRUCache


def share() -> None:
    _share_statements()
    _share_loop()


def _share_statements() -> None:
    """Each test opens a book, thus an engine, of its own; two engines on the same kind of database speak alike."""
    compiled: dict[type[Any], LRUCache[Any, Any]] = {}
    begin = Engine.__init__

    def with_shared(self: Any, *given: Any, **named: Any) -> None:
        begin(self, *given, **named)
        self._compiled_cache = compiled.setdefault(type(self.dialect), LRUCache(5000))

    Engine.__init__ = with_shared  # type: ignore[method-assign]
    # A compiled statement is found again by its dialect among others.
    DefaultDialect.__hash__ = lambda self: hash(type(self))  # type: ignore[method-assign]
    DefaultDialect.__eq__ = lambda self, other: type(self) is type(other)  # type: ignore[method-assign]


@cache
def _portal() -> BlockingPortal:
    kept = ExitStack()
    atexit.register(kept.close)
    return kept.enter_context(start_blocking_portal())


def _share_loop() -> None:
    """A test client that no `with` has opened would start a thread and a loop for each request."""
    try:
        from starlette.testclient import TestClient
    except ImportError:  # the engine's own tests run also without a server
        return

    @contextmanager
    def portal(self: Any) -> Iterator[BlockingPortal]:
        yield self.portal if self.portal is not None else _portal()

    TestClient._portal_factory = portal  # type: ignore[method-assign, assignment]
