"""The connection to a server: what it refuses to speak to, what it sends again, streams, what a program sees of it."""

import asyncio
import json
import ssl
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from keepbook import AsyncKeepbook, Conflict, Invalid, Keepbook, KeepbookError, LimitReached, NotAllowed
from keepbook.client import connection as connections
from keepbook.client.books import open_book
from keepbook.client.connection import AsyncConnection, Connection
from keepbook.models.chat import ReplyStored
from keepbook.models.model import TextDelta


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("http://example.org", "insecure"),
        ("http://10.0.0.4:8000", "insecure"),
        ("https://", "invalid"),
        ("https://me:secret@example.org", "invalid"),
        ("https://example.org/?token=kb_x", "invalid"),
    ],
)
def test_an_address_that_would_give_something_away_is_refused(address: str, code: str) -> None:
    for kind in (Keepbook, AsyncKeepbook):
        with pytest.raises(Invalid) as refused:
            kind(address, token="kb_x")
        assert (refused.value.code, refused.value.field) == (code, "db")


@pytest.mark.parametrize("address", ["https://example.org/keepbook/", "http://localhost:1", "http://[::1]:1"])
def test_other_addresses_are_spoken_to(address: str) -> None:
    with Keepbook(address) as kb:
        assert address.rstrip("/") in repr(kb.book("alice"))


def test_a_file_of_authorities_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/etc/our-rot.crt")
    for kind in (Keepbook, AsyncKeepbook):
        with pytest.raises(Invalid, match=r"SSL_CERT_FILE names /etc/our-rot\.crt"):
            kind("https://example.org", token="kb_x")


def test_a_token_opens_no_file() -> None:
    with pytest.raises(Invalid, match="https://host"):
        Keepbook(":memory:", token="kb_x")


class Server:
    """Answers as told, one after the other, and notes what it was sent."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self.answers, self.seen = list(answers), list[httpx.Request]()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def book(self) -> Any:
        client = httpx.Client(transport=httpx.MockTransport(self))
        return open_book(Connection("https://example.org", "kb_x", client=client), "alice", "person")

    def awaited(self) -> Any:
        client = httpx.AsyncClient(transport=httpx.MockTransport(self))
        return open_book(AsyncConnection("https://example.org", "kb_x", client=client), "alice", "person")


def problem(status: int, code: str, **more: Any) -> httpx.Response:
    told = {"detail": "no", "code": code, "status": status, **more}
    return httpx.Response(status, text=json.dumps(told), headers={"content-type": "application/problem+json"})


BUSY = {"retry-after": "1"}


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long a connection would have waited."""
    told: list[float] = []

    async def wait(seconds: float) -> None:
        told.append(seconds)

    monkeypatch.setattr(connections, "rest", told.append)
    monkeypatch.setattr(connections, "rest_async", wait)
    return told


@pytest.mark.parametrize("awaits", [False, True])
def test_a_write_is_sent_again_under_one_key(awaits: bool, slept: list[float]) -> None:
    server = Server(
        httpx.ConnectError("no"), problem(503, "unavailable"), httpx.Response(429, headers=BUSY),
        problem(409, "busy", kind="Conflict"), httpx.Response(200, json={"id": "abcdefgh"}),
    )  # fmt: skip
    book = server.awaited() if awaits else server.book()
    asked = book.find("tea")
    assert (asyncio.run(asked) if awaits else asked) == "abcdefgh"
    assert len(slept) == 4
    assert slept[2] >= 1

    server.answers = [httpx.ReadTimeout("late"), httpx.Response(200, json={"block": "x", "preset": "general"})]
    said = book.inject("chat")
    assert (asyncio.run(said) if awaits else said) == "x"
    first, second = server.seen[-2:]
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert second.headers["authorization"] == "Bearer kb_x"
    assert "idempotency-key" not in server.seen[0].headers


def test_what_never_comes_through_says_so(slept: list[float]) -> None:
    server = Server(*[httpx.ConnectError("refused")] * 99)
    with pytest.raises(KeepbookError, match="cannot be reached") as away:
        server.book().list()
    assert (away.value.code, len(server.seen)) == ("unavailable", len(slept) + 1)
    assert connections.PATIENCE <= sum(slept) < connections.PATIENCE + 2 * connections.LONGEST_PAUSE
    server = Server(httpx.ConnectError("refused"))
    with pytest.raises(KeepbookError):
        server.book().erase("alice")
    assert len(server.seen) == 1  # what cannot be known by a key is sent once
    server = Server(*[httpx.Response(502, text="<h1>Bad gateway</h1>")] * 99)
    with pytest.raises(KeepbookError, match="answered 502: the server is away"):
        server.book().list()


def test_a_certificate_that_is_not_trusted_is_not_waited_for(slept: list[float]) -> None:
    refused = httpx.ConnectError("certificate verify failed")
    refused.__cause__ = ConnectionError()
    refused.__cause__.__context__ = ssl.SSLCertVerificationError()
    with pytest.raises(KeepbookError, match="name its certificate in SSL_CERT_FILE"):
        Server(*[refused] * 99).book().list()
    assert slept == []


def test_a_refusal_is_not_tried_again(slept: list[float]) -> None:
    for status, told, kind in (
        (429, {"code": "limit_reached", "kind": "LimitReached"}, LimitReached),
        (409, {"code": "version", "kind": "Conflict", "current": 3}, Conflict),
        (403, {"code": "scope"}, NotAllowed),
    ):
        server = Server(*[problem(status, **told) for _ in range(99)])
        with pytest.raises(kind) as refused:
            server.book().forget("abcdefgh")
        assert refused.value.code == told["code"]
    assert refused.value.details == {}


@pytest.mark.parametrize("place", ["sqlite", "remote"])
def test_a_reply_comes_in_pieces(place: str, places: Callable[[str], Any], owner: str) -> None:
    kb = places(place)
    book = kb.book(owner)
    chat = book.threads.start()

    async def say() -> list[Any]:
        return [told async for told in kb.talk(chat).say("I have two dogs called Bo and Kit")]

    told = asyncio.run(say())
    assert isinstance(told[-1], ReplyStored)
    assert "".join(piece.text for piece in told if isinstance(piece, TextDelta)) == told[-1].message.text
    assert [message.role for message in chat.messages()] == ["user", "assistant"]

    async def nothing() -> None:
        async for _ in kb.talk(chat).say(" "):
            raise AssertionError

    with pytest.raises(Invalid) as empty:
        asyncio.run(nothing())
    assert empty.value.field == "text"


def test_programs_that_await_do_not_wait_for_each_other(served: tuple[str, str], owner: str) -> None:
    async def work() -> list[str]:
        async with AsyncKeepbook(served[0], token=served[1]) as kb:
            book = kb.book(owner)
            made = await asyncio.gather(*(book.remember(f"Fact number {nth}") for nth in range(5)))
            assert (await book.list()).total == 5
            assert await book.zone == "UTC"
            chat = await book.thread("session")
            assert (await chat.thread).session == "session"
            return [one.content for one in made]

    assert asyncio.run(work()) == [f"Fact number {nth}" for nth in range(5)]


def test_a_transaction_of_many_steps_runs_beside_the_loop() -> None:
    def both(book: Any) -> int:
        with book.transaction():
            book.remember("Likes tea")
            return int(book.remember("Likes cake").event)

    async def work() -> None:
        async with AsyncKeepbook(":memory:", embedder="none") as kb:
            book = kb.book("alice")
            assert await kb.run(both, book) == 2
            with pytest.raises(NotAllowed, match=r"AsyncKeepbook\.run"):
                book.transaction()
            assert "alice" in await kb.owners()

    asyncio.run(work())
