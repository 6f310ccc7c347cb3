"""MCP with the coach's tools of trading, over both transports."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from tests.doors.mcp import calls
from tests.doors.mcp.calls import Call, drive
from tests.doors.mcp.test_mcp_http import client_of, url
from tests.doors.mcp.test_mcp_http import use as use_over_http
from tests.doors.mcp.test_mcp_stdio import file, place, use

from keepbook import Book, Keepbook
from keepbook.extensions.trading.tools import TOOLS

__all__ = ["file", "place", "url"]


async def coach(call: Call) -> None:
    await calls.coach(call)
    (skill,) = (await call("list_my_skills"))["skills"]
    assert (await call("get_skill_performance", skill_id=skill["id"], detail="full"))["performance"]["trades"] == 0
    (running,) = (await call("get_my_deployments"))["deployments"]
    assert (await call("get_upcoming_events", deployment_id=running["id"]))["your_exposure"] == []
    told = {"kind": "pause", "deployment_id": "BTC scalper main", "reason": "A holiday"}
    assert (await call("prepare_action", **told))["draft"]["executed"] is False


async def drive_coach(client: Client) -> None:
    await drive(client, "coach", coach)


def at_work(book: Any) -> Any:
    """A book with what must be there before an agent can ask about it."""
    book.trading.create_deployment("BTC scalper main", book.trading.create_skill("BTC scalper").id)
    return book


def assert_written_by_an_agent(book: Book) -> None:
    written = [entry for entry in book.ledger() if entry.other_id is None]  # the skills are the person's
    assert {(entry.actor, entry.door) for entry in written} == {("agent", "mcp")}
    assert book.verify().ok


def test_the_official_client_calls_every_tool_of_the_coach(place: str) -> None:
    with closing(Keepbook(place)) as kb:
        at_work(kb.book("alice"))
    use(drive_coach, "--preset", "coach")
    with closing(Keepbook(place)) as kb:
        assert_written_by_an_agent(kb.book("alice"))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_calls_every_tool_of_the_coach_over_http(kb: Keepbook, url: str, mode: str) -> None:
    book = at_work(kb.book("coach"))
    use_over_http(client_of(url, "coach", mode), drive_coach)
    assert_written_by_an_agent(book)


def test_the_tools_that_write_a_skill_are_there_in_authoring_alone(file: Path) -> None:
    writers = {function.__name__ for function, may in TOOLS if not may.read_only}

    def names(*args: str) -> set[str]:
        found: set[str] = set()

        async def ask(client: Client) -> None:
            found.update(tool.name for tool in (await client.list_tools()).tools)

        use(ask, *args)
        return found

    assert names("--preset", "coach", "--mode", "authoring") - names("--preset", "coach") == writers
    assert not names("--preset", "general", "--mode", "authoring") & writers
