"""`keepbook mcp` where there are agents: their tools, and an agent of another program that records what it decided."""

from mcp import Client
from tests.doors.mcp.test_mcp_stdio import beside, file, use, use_here

from keepbook import Book

__all__ = ["beside", "file"]


def test_the_tools_of_agents_are_there_where_there_are_agents(beside: Book) -> None:
    beside.agents.create("Desk")

    async def look(client: Client) -> None:
        assert (await client.call_tool("get_calibration", {})).structured_content["resolved"] == 0
        for name in ("get_my_decisions", "record_decision"):
            assert (await client.call_tool(name, {"agent": "nobody", "card": {}})).is_error

    use_here(look)


def test_a_foreign_agent_records_its_forecasts_and_looks_again(beside: Book) -> None:
    beside.agents.create("Oracle", adapter="external", card_type="forecast")
    card = {"question": "Rain?", "probability": 0.7, "resolves_by": "2031-01-01T00:00:00Z"}
    look = {"conviction_score": 40, "notes": "Less.", "suggested_action": "LOWER", "probability": 0.5}

    async def work(client: Client) -> None:
        assert "record_decision" in {tool.name for tool in (await client.list_tools()).tools}
        for nth in range(20):
            made = await client.call_tool("record_decision", {"card": card, "key": f"f-{nth}"})
            assert not made.is_error, made.content
        again = await client.call_tool("record_decision", {"card": card, "key": "f-0"})
        assert "already" in again.content[0].text
        run = again.structured_content["run_id"]
        seen = await client.call_tool("record_decision", {"card": look, "re_examines": run})
        assert not seen.is_error, seen.content
        wrong = await client.call_tool("record_decision", {"card": card | {"probability": 7}})
        assert wrong.is_error

    use(work, "--agent", "Oracle")
    assert len(beside.runs.list("Oracle", kind="recorded", limit=100)) == 20
    assert len(beside.runs.list("Oracle", kind="re-examination")) == 1
