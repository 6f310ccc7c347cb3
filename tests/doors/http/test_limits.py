"""A crowd at the door: streams, heads, bodies and keys are counted, timed, and end with who opened them."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from keepbook import Keepbook
from keepbook.doors.http import gate, server
from keepbook.doors.http.app import create_app
from keepbook.doors.http.stream import LOOK_EVERY
from keepbook.settings import load_settings

STREAM = {"Accept": "text/event-stream"}


@contextmanager
def open_door(kb: Keepbook) -> Iterator[str]:
    """The application on a real socket, in a thread."""
    import uvicorn

    listening = server.bind("127.0.0.1", 0)
    running = uvicorn.Server(server._config(create_app(kb)))
    thread = threading.Thread(target=running.run, args=([listening],), daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        running.should_exit = running.force_exit = True
        thread.join(30)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize("how", ["revoked", "signed out"])
def test_a_stream_ends_within_a_second_of_its_token(kb: Keepbook, how: str) -> None:
    made = kb.tokens.create("alice")
    session = kb.tokens.session_for(made.known.id)
    headers = bearer(made.token) if how == "revoked" else {"Cookie": f"keepbook_session={session}"}
    kb.book("alice").remember("Lives in Oslo")
    with open_door(kb) as address, httpx.Client(base_url=address, headers=STREAM | headers, timeout=60) as client:
        with client.stream("GET", "/api/events") as stream:
            pieces = stream.iter_text()
            assert "remember" in next(pieces)
            kb.tokens.revoke(made.known.id) if how == "revoked" else kb.tokens.sign_out(session)
            assert "".join(pieces) == "", "it ends, and tells nothing more"
        assert LOOK_EVERY <= 0.5, "twice a second it is looked whether the key still opens"
        assert client.get("/api/events").status_code == 401


def test_streams_are_counted_for_each_token_and_in_all(kb: Keepbook) -> None:
    kb.settings = kb.settings.but(streams_per_token=2, streams=3)
    alice, bob = (kb.tokens.create(owner).token for owner in ("alice", "bob"))
    with open_door(kb) as address, httpx.Client(base_url=address, headers=STREAM, timeout=60) as client:
        held = [client.send(client.build_request("GET", "/api/events", headers=bearer(alice)), stream=True)]
        held.append(client.send(client.build_request("GET", "/api/events", headers=bearer(alice)), stream=True))
        refused = client.get("/api/events", headers=bearer(alice))
        assert (refused.status_code, refused.json()["code"]) == (429, "streams")
        held.append(client.send(client.build_request("GET", "/api/events", headers=bearer(bob)), stream=True))
        assert client.get("/api/events", headers=bearer(bob)).status_code == 429
        held.pop(0).close()
        until = time.monotonic() + 30
        while time.monotonic() < until:
            again = client.send(client.build_request("GET", "/api/events", headers=bearer(alice)), stream=True)
            again.close()
            if again.status_code == 200:
                break
        assert again.status_code == 200
        for one in held:
            one.close()


def test_half_a_head_is_not_waited_for(kb: Keepbook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.5)
    with open_door(kb) as address:
        host, port = address.removeprefix("http://").split(":")
        with closing(socket.create_connection((host, int(port)), timeout=60)) as slow:
            slow.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-")
            assert slow.recv(1000) == b""
        assert httpx.get(f"{address}/health", timeout=60).status_code == 200


def test_half_a_body_is_not_waited_for(kb: Keepbook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "BODY_SECONDS", 0.5)
    with open_door(kb) as address:
        host, port = address.removeprefix("http://").split(":")
        with closing(socket.create_connection((host, int(port)), timeout=60)) as slow:
            slow.sendall(
                b"POST /api/memory/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                b'Content-Length: 100\r\n\r\n{"content":'
            )
            assert slow.recv(1000).startswith(b"HTTP/1.1 408 ")
    assert kb.book(kb.settings.owner).list().total == 0


def test_a_client_that_hangs_up_is_no_error_here(kb: Keepbook, caplog: pytest.LogCaptureFixture) -> None:
    said = [{"type": "http.request", "body": b'{"content":', "more_body": True}, {"type": "http.disconnect"}]
    answered: list[Any] = []

    async def receive() -> Any:
        return said.pop(0)

    async def send(message: Any) -> None:
        answered.append(message)

    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json"), (b"content-length", b"100000")]
    scope = {
        "type": "http", "method": "POST", "path": "/api/memory/", "raw_path": b"/api/memory/", "query_string": b"",
        "headers": headers, "client": ("127.0.0.1", 50000), "server": ("127.0.0.1", 8765), "scheme": "http",
        "http_version": "1.1", "root_path": "",
    }  # fmt: skip
    asyncio.run(create_app(kb)(scope, receive, send))
    assert [one["status"] for one in answered if one["type"] == "http.response.start"] == [499]
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


def test_wrong_keys_are_slowed_for_each_address(kb: Keepbook) -> None:
    made = kb.tokens.create("alice")
    app = create_app(kb)

    def knock(token: str, address: str) -> int:
        client = TestClient(app, base_url="http://127.0.0.1", headers=bearer(token), client=(address, 50000))
        return int(client.get("/api/memory/").status_code)

    answers = [knock("kb_wrong", "192.0.2.7") for _ in range(gate.WRONG_A_MINUTE + 3)]
    assert answers == [401] * gate.WRONG_A_MINUTE + [429] * 3
    assert knock("kb_wrong", "192.0.2.8") == 401
    assert knock(made.token, "192.0.2.7") == 200, "who has the right key is not kept out by who guesses"
    page = TestClient(app, base_url="http://127.0.0.1", client=("192.0.2.7", 50000))
    assert page.post("/sign-in", data={"token": "kb_wrong"}).status_code == 429
    assert page.post("/sign-in", data={"token": made.token}, follow_redirects=False).status_code == 303


def test_a_number_that_no_entry_has_is_the_end_of_the_feed(kb: Keepbook) -> None:
    client = TestClient(create_app(kb), base_url="http://127.0.0.1", client=("127.0.0.1", 50000))
    for number in ("99999999999999999999", "2147483647", "0"):
        assert client.get("/api/events", headers={"Last-Event-ID": number}).status_code == 200, number


def test_a_page_keeps_a_session_that_ends_with_sign_out_and_with_its_token(kb: Keepbook, clock: Any) -> None:
    made = kb.tokens.create("alice")
    app = create_app(kb)

    def browser() -> TestClient:
        return TestClient(app, base_url="http://127.0.0.1", headers={"Accept": "text/html"}, client=("127.0.0.1", 5))

    def signed_in(client: TestClient, cookie: str) -> bool:
        client.cookies.set("keepbook_session", cookie)
        return client.get("/settings", follow_redirects=False).status_code == 200

    client = browser()
    client.post("/sign-in", data={"token": made.token})
    cookie = client.cookies["keepbook_session"]
    assert made.token != cookie
    assert kb.tokens.check(cookie) is None, "a session is no token"
    assert not signed_in(browser(), made.token), "and a token no session"
    assert signed_in(browser(), cookie)
    client.post("/sign-out")
    assert not signed_in(browser(), cookie)
    other, third = kb.tokens.session_for(made.known.id), kb.tokens.session_for(made.known.id)
    clock.forward(days=29)
    assert signed_in(browser(), other)
    kb.tokens.revoke(made.known.id)
    assert not signed_in(browser(), other)
    assert not signed_in(browser(), third)


def test_hosts_without_a_token_do_not_open(kb: Keepbook, monkeypatch: pytest.MonkeyPatch) -> None:
    from keepbook.errors import NotAllowed  # beside its one use

    monkeypatch.setenv("KEEPBOOK_ALLOWED_HOSTS", '["book.example.org"]')
    kb.settings = load_settings()
    with pytest.raises(NotAllowed, match="allowed_hosts"):
        server.refuse_open_door(kb, "127.0.0.1")
    kb.tokens.create("alice")
    server.refuse_open_door(kb, "127.0.0.1")
