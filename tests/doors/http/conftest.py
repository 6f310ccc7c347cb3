"""The HTTP door in this process: a client for each caller, on both engines."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from keepbook.doors.http.app import create_app

Clients = Callable[..., TestClient]


@pytest.fixture
def app(kb: Any) -> Any:
    return create_app(kb)


@pytest.fixture
def client(app: Any) -> Iterator[Clients]:
    """`client()` is a program on this machine; `client(token)` one that sends a token."""

    def make(token: str | None = None, *, owner: str | None = None, host: str = "127.0.0.1") -> TestClient:
        headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
        if owner is not None:
            headers["X-Keepbook-Owner"] = owner.encode()  # type: ignore[assignment]  # names are UTF-8
        return TestClient(app, base_url="http://127.0.0.1", headers=headers, client=(host, 50000))

    return make


@pytest.fixture
def mine(kb: Any, client: Clients) -> TestClient:
    """Alice, with every scope."""
    return client(kb.tokens.create("alice", scopes=("read", "write", "admin")).token)
