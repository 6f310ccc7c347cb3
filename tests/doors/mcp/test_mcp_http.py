"""MCP over HTTP: a real server on loopback, a small app around it that knows some tokens, and the official client."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any

import httpx2
import pytest
import uvicorn
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from tests.doors.mcp.calls import PRESETS, drive, text_of

from keepbook import Keepbook, NotAllowed
from keepbook.doors.auth import Caller
from keepbook.doors.mcp.asgi import mount

READ, WRITE = frozenset({"read"}), frozenset({"read", "write"})
Use = Callable[[Client], Awaitable[None]]


def app_around(kb: Keepbook, callers: dict[str, Caller], **more: Any) -> Starlette:
    """What the parent app does: it knows tokens, answers strangers, and holds the lifespan."""

    def caller_of(request: Request) -> Caller:
        caller = callers.get(request.headers.get("authorization", "").removeprefix("Bearer "))
        if caller is None:
            raise NotAllowed("send a token")
        return caller

    async def refused(request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, status_code=401)

    endpoint, lifespan = mount(kb, caller_of, **more)

    @asynccontextmanager
    async def whole(app: Starlette) -> AsyncIterator[None]:
        async with lifespan():
            yield

    return Starlette(routes=[Route("/mcp", endpoint)], lifespan=whole, exception_handlers={NotAllowed: refused})


@contextmanager
def served(app: Starlette) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", ws="none"))
    thread = threading.Thread(target=server.run, name="server")
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


CALLERS = {
    "alices": Caller("alice", "agent", WRITE, "t1"),
    "readers": Caller("alice", "person", READ, "t2"),
    "bobs": Caller("bob", "person", WRITE, "t3"),
    "writers": Caller("alice", "agent", frozenset({"write"}), "t4"),
    **{preset: Caller(preset, "agent", WRITE, preset, preset) for preset in PRESETS},
}


@pytest.fixture
def url(kb: Keepbook) -> Iterator[str]:
    with served(app_around(kb, CALLERS)) as url:
        yield url


@asynccontextmanager
async def client_of(url: str, token: str, mode: str = "auto") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


def use(client: AbstractAsyncContextManager[Client], do: Use) -> None:
    async def whole() -> None:
        async with asyncio.timeout(120), client as ready:
            await do(ready)

    asyncio.run(whole())


def post(url: str, token: str = "alices", **headers: str) -> httpx2.Response:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    given = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-06-18",
    }
    return httpx2.post(url, json=message, headers=given | headers, timeout=60)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_calls_every_tool_of_every_preset(kb: Keepbook, url: str, mode: str) -> None:
    for preset in PRESETS:

        async def each(client: Client, preset: str = preset) -> None:
            await drive(client, preset)

        use(client_of(url, preset, mode), each)
        book = kb.book(preset)
        assert {(entry.actor, entry.door) for entry in book.ledger()} == {("agent", "mcp")}
        assert book.verify().ok


def test_each_owner_meets_their_own_book_and_preset(kb: Keepbook, url: str) -> None:
    secret = kb.book("alice").remember("Keeps bees on the roof").id
    kb.book("bob").configure(preset="advisor")
    kb.book("bob").remember("Saves for a boat", category="finance_context")

    async def as_bob(client: Client) -> None:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert "save_preference" in names
        assert "remember" not in names
        seen = [
            str(await client.call_tool("list_preferences", {})),
            str(await client.call_tool("recall_preferences", {"query": "bees on the roof"})),
            str(await client.call_tool("update_preference", {"id_or_substring": secret, "new_content": "Keeps hens"})),
            str(await client.call_tool("forget_preference", {"id_or_substring": "bees"})),
            await text_of(client, "keepbook://block"),
            await text_of(client, "keepbook://block/chat-1"),
            str(await client.get_prompt("memory")),
        ]
        assert not [text for text in seen if "roof" in text]
        assert "boat" in seen[0]
        with pytest.raises(MCPError):
            await client.read_resource(f"keepbook://memory/{secret}")

    use(client_of(url, "bobs"), as_bob)
    assert kb.book("alice").get(secret).content == "Keeps bees on the roof"
    assert len(kb.book("alice").ledger()) == 1


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_two_owners_at_once_are_never_mixed_up(kb: Keepbook, url: str, mode: str) -> None:
    async def write(token: str, name: str) -> None:
        async with client_of(url, token, mode) as client:
            for number in range(8):
                result = await client.call_tool("remember", {"content": f"Habit {number} of {name}"})
                assert not result.is_error, result.content
            for line in (await text_of(client, "keepbook://block")).splitlines():
                assert "Habit" not in line or f"of {name}" in line

    async def both() -> None:
        async with asyncio.timeout(120):
            await asyncio.gather(write("alices", "alice"), write("bobs", "bob"), write("alices", "alice"))

    asyncio.run(both())
    for name in ("alice", "bob"):
        assert {memory.content for memory in kb.book(name).list()} == {
            f"Habit {number} of {name}" for number in range(8)
        }
        assert kb.book(name).verify().ok


def test_a_token_that_may_only_read_sees_and_uses_only_reads(kb: Keepbook, url: str) -> None:
    alice = kb.book("alice")
    alice.remember("Likes tea")

    async def read(client: Client) -> None:
        tools = (await client.list_tools()).tools
        reads = {"list_memories", "recall", "recall_chats", "timeline", "history", "memory_stats"}
        assert {tool.name for tool in tools} == reads
        assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
        assert (await client.call_tool("recall", {"query": "tea"})).structured_content["hits"]
        for name, arguments in (("remember", {"content": "Likes milk"}), ("forget", {"memory": "tea"})):
            refused = await client.call_tool(name, arguments)
            assert (refused.is_error, refused.structured_content["code"]) == (True, "scope")
            assert "'write'" in refused.content[0].text  # type: ignore[union-attr]
        assert "Likes tea" in await text_of(client, "keepbook://block")
        assert "Likes tea" in await text_of(client, "keepbook://block/chat-1")

    use(client_of(url, "readers"), read)
    assert len(alice.ledger()) == 1
    assert alice.list()[0].reference_count == 1, "what the session was told counts as a use"


def test_a_token_that_may_only_write_reads_nothing(kb: Keepbook, url: str) -> None:
    kb.book("alice").remember("Likes tea")

    async def write(client: Client) -> None:
        assert "recall" not in [tool.name for tool in (await client.list_tools()).tools]
        assert not (await client.call_tool("remember", {"content": "Likes milk"})).is_error
        assert (await client.call_tool("list_memories", {})).structured_content["code"] == "scope"
        with pytest.raises(MCPError, match="'read'"):
            await client.read_resource("keepbook://block")
        with pytest.raises(MCPError, match="'read'"):
            await client.get_prompt("memory")

    use(client_of(url, "writers"), write)


# --- the wire --------------------------------------------------------------------------------------------


@pytest.fixture
def plain(tmp_path: Any) -> Iterator[str]:
    """For what does not depend on the engine."""
    with Keepbook(tmp_path / "book.db") as kb, served(app_around(kb, CALLERS)) as url:
        yield url


def test_a_stranger_is_answered_by_the_app_around(plain: str) -> None:
    assert post(plain, "nobodys").status_code == 401
    assert post(plain).status_code == 200


def test_another_host_or_page_is_refused(plain: str) -> None:
    assert post(plain, Host="evil.test").status_code == 421
    assert post(plain, Host="evil.test:8000").status_code == 421
    assert post(plain, Origin="http://evil.test").status_code == 403
    assert post(plain, Origin="null").status_code == 403
    assert post(plain, Host="localhost:1234", Origin="http://localhost:1234").status_code == 200


def test_hosts_and_pages_can_be_allowed(tmp_path: Any) -> None:
    allowed = {"allowed_hosts": ["book.test"], "allowed_origins": ["https://chat.test"]}
    with Keepbook(tmp_path / "book.db") as kb, served(app_around(kb, CALLERS, **allowed)) as url:
        assert post(url, Host="book.test", Origin="https://chat.test").status_code == 200
        assert post(url, Host="book.test:81").status_code == 421
        assert post(url).status_code == 421


def test_there_is_nothing_to_listen_to_and_nothing_to_end(plain: str) -> None:
    headers = {"Authorization": "Bearer alices", "Accept": "text/event-stream"}
    for method in ("GET", "DELETE", "PUT"):
        answer = httpx2.request(method, plain, headers=headers, timeout=60)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_no_session_is_kept_between_requests(plain: str) -> None:
    answer = post(plain)
    assert "mcp-session-id" not in answer.headers
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["result"]["tools"]
    assert post(plain, **{"Mcp-Session-Id": "of-another-worker"}).status_code == 200


def test_a_body_that_is_too_large_is_refused(tmp_path: Any) -> None:
    with Keepbook(tmp_path / "book.db") as kb, served(app_around(kb, CALLERS, body_bytes=20)) as url:
        assert post(url).status_code == 413


def test_what_breaks_inside_is_not_told_outside(tmp_path: Any, caplog: pytest.LogCaptureFixture) -> None:
    """The text of an unforeseen error may hold anything."""

    class Broken(Keepbook):
        def book(self, *args: Any, **more: Any) -> Any:
            raise RuntimeError("bob keeps bees")

    async def ask(client: Client) -> None:
        result = await client.call_tool("remember", {"content": "Likes tea"})
        assert result.is_error
        assert "bees" not in str(result)
        with pytest.raises(MCPError) as caught:
            await client.read_resource("keepbook://block")
        assert "bees" not in str(caught.value.error)

    with Broken(tmp_path / "book.db") as kb, served(app_around(kb, CALLERS)) as url:
        use(client_of(url, "alices", "legacy"), ask)
        use(client_of(url, "alices"), ask)
    assert "bob keeps bees" in caplog.text
