"""The tools of agents: what each tells, and which a run, a chat, a specialist and a program outside are given."""

import json
from datetime import timedelta
from typing import Any

import pytest

from keepbook import Keepbook
from keepbook.extensions.agents.tools import agent_tools, get_bars, toolbox
from keepbook.tools import bound
from keepbook.tools.catalogue import ToolSet

OWN = ["get_my_decisions", "get_calibration", "get_bars"]


def names(tools: ToolSet) -> list[str]:
    return [tool.name for tool in tools]


def trade(alice: Any, agent: Any, action: str, reason: str) -> str:
    run = alice.runs.queue(agent.id, "manual", prompt="Trade?")
    alice.runs.start(run.id, adapter="native", model=None, lease_seconds=60)
    slots: dict[str, Any] = {"action": action, "symbol": "ETH/USDT", "conviction": 60, "reason": reason, "thesis": "…"}
    if action != "WAIT":
        slots |= {"entry": 100, "stop": 90, "target": 120, "size": 1}
    slots["expires"] = "2026-12-01T00:00:00Z"
    return str(alice.runs.succeed(run.id, slots=slots).id)


def load(kb: Any, clock: Any, symbol: str = "ETH/USDT", count: int = 3, timeframe: str = "1d") -> None:
    first = clock.now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=count)
    rows = ["symbol,timeframe,time,open,high,low,close,volume"]
    for number in range(count):
        at = first + timedelta(days=number)
        rows.append(f"{symbol},{timeframe},{at:%Y-%m-%dT00:00:00Z},1,2,0.5,{1 + number / 10},")
    assert kb.market.load(rows).wrong == 0


# --- what they tell


def test_an_agents_own_decisions_come_as_lines_newest_first(kb: Any, alice: Any, clock: Any) -> None:
    desk = alice.agents.create("Desk", card_type="trade-decision")
    other = alice.agents.create("Other", card_type="trade-decision")
    first = trade(alice, desk, "LONG", "closed above its range")
    trade(alice, other, "LONG", "somebody else decided")
    alice.decisions.exit(first, 110)
    clock.forward(days=2)
    second = trade(alice, desk, "WAIT", "range unresolved")
    clock.forward(hours=3)
    tools = toolbox(alice, desk)
    answer = tools.call("get_my_decisions", {})
    late, early = answer.text.splitlines()
    assert late == "3h ago · WAIT · range unresolved · ETH/USDT · open"
    assert early.startswith("2d ago · LONG · closed above its range · ETH/USDT · exited, ")
    assert [one["run_id"] for one in answer.data["decisions"]] == [second, first]
    assert len(tools.call("get_my_decisions", {"limit": 1}).data["decisions"]) == 1
    assert tools.call("get_my_decisions", {"limit": 0}).error == "invalid"


def test_an_agent_without_a_past_is_told_so(alice: Any) -> None:
    tools = toolbox(alice, alice.agents.create("Desk"))
    assert tools.call("get_my_decisions").text == "You have not decided anything yet."
    few = tools.call("get_calibration")
    assert few.data["enough"] is False
    assert few.data["bands"] == []


def test_bars_are_told_in_full_and_a_symbol_is_found_by_what_it_is_called(kb: Any, alice: Any, clock: Any) -> None:
    load(kb, clock)
    for said in ("ETH/USDT", "eth/usdt", "ETH", " eth "):
        answer = get_bars(alice, said)
        assert answer.text.splitlines()[0].startswith("The last 3 bars of ETH/USDT, 1d: time,open")
        assert len(answer.text.splitlines()) == 4
        assert [bar["close"] for bar in answer.data["bars"]] == [1, 1.1, 1.2]
    assert len(get_bars(alice, "ETH", limit=2).data["bars"]) == 2
    load(kb, clock, "ETH/EUR")
    assert get_bars(alice, "ETH").text == "There are no bars for ETH. There are bars for ETH/EUR, ETH/USDT."
    assert get_bars(alice, "ETH/USDT", timeframe="1h").data["bars"] == []


def test_no_bar_that_is_not_complete_is_told(kb: Any, alice: Any, clock: Any) -> None:
    load(kb, clock)
    clock.set(clock.now.replace(hour=0, minute=0) - timedelta(hours=1))
    assert len(get_bars(alice, "ETH/USDT").data["bars"]) == 2


# --- who has which


def test_a_run_has_the_agents_tools_and_the_memorys_only_where_it_is_told_of_the_person(alice: Any) -> None:
    plain = alice.agents.create("Plain")
    told = alice.agents.create("Told", use_block=True)
    assert names(toolbox(alice, plain)) == OWN
    run, chat = names(toolbox(alice, told)), names(toolbox(alice, told, chat=True))
    assert {"remember", "recall", *OWN} <= set(run)
    assert "recall_chats" not in run
    assert "recall_chats" in chat
    alice.choose(memory=False)
    assert names(toolbox(alice, told)) == OWN


@pytest.mark.parametrize("use_block", [False, True])
def test_a_specialist_has_nothing_that_tells_of_decisions_or_memories(alice: Any, use_block: bool) -> None:
    desk = alice.agents.create("Desk", use_block=use_block, memory_enabled=True, review_decisions=True)
    assert names(toolbox(alice, desk, blind=True)) == ["get_bars"]
    assert toolbox(alice, desk, blind=True).call("get_my_decisions").error == "unknown_tool"


def test_what_a_run_writes_is_its_own_reading_and_what_a_chat_writes_the_persons_word(alice: Any) -> None:
    told = alice.agents.create("Told", use_block=True)
    toolbox(alice, told).call("remember", {"content": "Trades less in summer"})
    toolbox(alice, told, chat=True).call("remember", {"content": "Never trades on Fridays"})
    read, said = alice.list()
    assert (read.source, read.confidence) == ("inferred", "inferred")
    assert (said.source, said.confidence) == ("chat", "asserted")


def test_outside_an_agent_is_bound_or_named_with_each_call(kb: Any, alice: Any) -> None:
    desk = alice.agents.create("Desk", card_type="trade-decision")
    run = trade(alice, desk, "WAIT", "range unresolved")
    bound = ToolSet(agent_tools(alice, desk.id))
    free = ToolSet(agent_tools(alice))
    assert bound.call("get_my_decisions").data["decisions"][0]["run_id"] == run
    assert free.call("get_my_decisions", {"agent": "desk"}).data["decisions"][0]["run_id"] == run
    assert free.call("get_my_decisions").error == "invalid"
    assert free.call("get_my_decisions", {"agent": "nobody"}).error == "not_found"
    assert free.call("get_calibration").data == free.call("get_calibration", {"agent": "Desk"}).data
    assert "agent" not in json.dumps(bound.schemas("openai")[0]["function"]["parameters"])
    writes = [tool.name for tool in [*bound, *free] if not tool.annotations.read_only]
    assert writes == ["record_decision", "record_decision"]


def test_an_agent_is_found_by_its_name_and_has_its_own_tools(kb: Keepbook) -> None:
    book = kb.book("alice")
    of_the_memory = ["undo", "restore", "memory_stats"]
    assert [tool.name for tool in bound.outside_tools(book)] == of_the_memory
    made = book.agents.create("Desk")
    assert bound.agent_id(book, "Desk") == made.id
    assert bound.gives_memory(book, made.id) is made.use_block
    assert "record_decision" in bound.bound_tools(book, made.id)
    assert "record_decision" not in bound.bound_tools(book, made.id, records=False)
    assert "get_my_decisions" not in bound.bound_tools(book, made.id, blind=True)
    theirs = [tool.name for tool in bound.own_tools(book, made.id)]
    assert [*of_the_memory, *theirs] == [one.name for one in bound.outside_tools(book)]
