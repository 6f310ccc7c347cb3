"""The example of a stranger's extension through every door: a server, programs that await, MCP, metrics, the sweep.

What each walk holds against it, and its life from being turned on to being gone, stands beside (`contract_folders.py`,
`test_extension_life.py`)."""

import asyncio
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx2
import pytest
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.contracts.contract_folders import every_extension, with_their_tables

from keepbook import AsyncKeepbook, Keepbook
from keepbook.doors.http.app import create_app
from keepbook.tools.catalogue import SYSTEM

pytestmark = pytest.mark.both_engines


@pytest.fixture
def kb(book_url: str, clock: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Keepbook]:
    monkeypatch.setenv("KEEPBOOK_JOBS_EVERY", "0")  # a sweep is asked for, where there is one
    with every_extension(), Keepbook(with_their_tables(book_url), clock=clock, embedder="none") as opened:
        yield opened


@pytest.fixture
def server(kb: Keepbook) -> Iterator[tuple[str, str]]:
    """Its address, with the whole life of the application around it, and a key."""
    token = kb.tokens.create("alice").token
    running = uvicorn.Server(uvicorn.Config(create_app(kb), port=0, log_level="error", ws="none"))
    thread = threading.Thread(target=running.run)
    thread.start()
    try:
        while not running.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        yield f"http://127.0.0.1:{running.servers[0].sockets[0].getsockname()[1]}", token
    finally:
        running.should_exit = True
        thread.join()


def _habits(kb: Any) -> Any:
    return kb.book("alice").habits


def test_a_server_is_asked_like_a_file(kb: Keepbook, server: tuple[str, str]) -> None:
    from tests.contracts.habits.face import (  # once it is on: what declares its tables is forgotten with it
        Habit,
        Habits,
    )

    here = kb.book("alice")
    said = here.remember("Wants to run every morning")
    with Keepbook(server[0], token=server[1]) as elsewhere:
        there = elsewhere.book("alice")
        run = there.face(Habits).add("Run", said.id)
        assert isinstance(run, Habit)
        assert there.face(Habits).keep(run.id).kept_on == here.now.date().isoformat()
        assert there.face(Habits).list() == here.face(Habits).list()
    assert here.verify().ok


def test_a_program_that_awaits_has_it_too(server: tuple[str, str]) -> None:
    async def look() -> list[Any]:
        async with AsyncKeepbook(server[0], token=server[1]) as kb:
            book: Any = kb.book("alice")
            await book.habits.add("Read")
            found: list[Any] = await book.habits.list()
            return found

    assert [one.name for one in asyncio.run(look())] == ["Read"]


def test_an_mcp_client_finds_its_tool(kb: Keepbook, server: tuple[str, str]) -> None:
    _habits(kb).add("Swim")

    async def use() -> tuple[list[str], str]:
        headers = {"Authorization": f"Bearer {server[1]}"}
        async with (
            httpx2.AsyncClient(headers=headers) as http,
            Client(streamable_http_client(f"{server[0]}/mcp", http_client=http)) as client,
        ):
            names = [tool.name for tool in (await client.list_tools()).tools]
            told = await client.call_tool("get_habits", {})
            return names, str(told.content[0].text)  # type: ignore[union-attr]

    names, told = asyncio.run(use())
    assert names.count("get_habits") == 1
    assert told == "Swim: not kept yet"


def test_its_tool_counts_in_the_ceiling(kb: Keepbook, server: tuple[str, str]) -> None:
    with httpx2.Client(headers={"Authorization": f"Bearer {server[1]}"}) as http:
        listed = http.get(f"{server[0]}/api/tools", params={"format": "mcp"}).json()
    (tool,) = [one for one in listed if one["name"] == "get_habits"]
    assert SYSTEM not in tool["_meta"]["tags"]


def test_what_it_counts_is_among_the_metrics(kb: Keepbook, server: tuple[str, str]) -> None:
    habits = _habits(kb)
    habits.keep(habits.add("Sing").id)
    scraper = kb.tokens.create(None, kind="service", scopes=("metrics",)).token
    with httpx2.Client(headers={"Authorization": f"Bearer {scraper}"}) as http:
        assert "keepbook_habits_days_total 1.0" in http.get(f"{server[0]}/metrics").text


def test_a_sweep_does_what_is_due(kb: Keepbook, clock: Any) -> None:
    _habits(kb).add("Draw")
    clock.now += timedelta(days=8)
    assert kb.sweep().done == {"habits.idle": 1}
    assert [note.text for note in kb.book("alice").notes.list()] == ["Draw: not kept for 7 days."]
    assert kb.sweep().done == {}
