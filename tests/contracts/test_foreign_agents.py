"""Agents that run elsewhere keep their record here: a script over HTTP, an MCP client, an agent of Pydantic AI.

Each records twenty forecasts and twenty trades through its own door, looks at some of them again, lets them come to
their end, and asks how well calibrated it is. The answer is held against a computation by hand, in this file.
"""

import asyncio
import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, Protocol

import pytest
from mcp import Client
from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from starlette.testclient import TestClient

from keepbook.adapters.pydantic_ai import MemoryToolset
from keepbook.book.ground.when import stamp
from keepbook.doors.auth import Caller
from keepbook.doors.http.app import create_app
from keepbook.doors.mcp.server import build_server

ORACLE, DESK = "Oracle", "Desk"
TRADE = {
    "action": "LONG", "entry": 100.0, "stop": 90.0, "target": 120.0, "size": 1.5, "reason": "above the range",
    "thesis": "A week above the range.", "watch_for": ["funding"], "expires": "2031-01-01T00:00:00Z",
}  # fmt: skip
Told = dict[str, Any]


class Hand(Protocol):
    """What an agent elsewhere does, through its door."""

    def record(self, agent: str, card: Told, key: str) -> str: ...
    def look(self, agent: str, run: str, card: Told) -> None: ...
    def calibration(self, agent: str, forecasts: bool) -> Told: ...


class Script:
    """Plain HTTP."""

    def __init__(self, kb: Any) -> None:
        token = kb.tokens.create("alice", scopes=("read", "write"), kind="agent").token
        self.client = TestClient(
            create_app(kb), base_url="http://127.0.0.1", headers={"Authorization": f"Bearer {token}"}
        )
        judge = kb.tokens.create("alice", scopes=("resolve",), kind="agent", name="Weather office").token
        self.judge = {"Authorization": f"Bearer {judge}"}

    def record(self, agent: str, card: Told, key: str) -> str:
        sent = {"card": card, "key": key}
        first, again = (self.client.post(f"/api/agents/{agent}/decisions", json=sent) for _ in range(2))
        assert (first.status_code, again.status_code) == (201, 200), first.text
        assert first.json()["run_id"] == again.json()["run_id"]
        return str(first.json()["run_id"])

    def look(self, agent: str, run: str, card: Told) -> None:
        asked = self.client.get(f"/api/runs/{run}/re-examine").json()
        assert asked["prompt"]
        done = self.client.post(f"/api/runs/{run}/re-examinations", json={"card": card})
        assert done.status_code == 201, done.text

    def calibration(self, agent: str, forecasts: bool) -> Told:
        asked = {"agent": agent, "forecasts": str(forecasts).lower()}
        found: Told = self.client.get("/api/decisions/calibration", params=asked).json()
        return found


class Protocolled:
    """The official client of MCP, bound to one agent as with `keepbook mcp --agent`."""

    def __init__(self, kb: Any) -> None:
        self.kb = kb

    def call(self, agent: str, name: str, **arguments: Any) -> Told:
        bound = self.kb.book("alice").agents.get(agent).id
        caller = Caller("alice", kind="agent", agent=bound)

        async def work() -> Told:
            async with Client(build_server(self.kb, lambda _: caller)) as client:
                answer = await client.call_tool(name, arguments)
                assert not answer.is_error, answer.content
                told: Told = answer.structured_content
                return told

        return asyncio.run(work())

    def record(self, agent: str, card: Told, key: str) -> str:
        return str(self.call(agent, "record_decision", card=card, key=key)["run_id"])

    def look(self, agent: str, run: str, card: Told) -> None:
        self.call(agent, "record_decision", card=card, re_examines=run)

    def calibration(self, agent: str, forecasts: bool) -> Told:
        found = self.call(agent, "get_calibration")
        return dict(found["forecasts"]) if forecasts else found


class Pydantic(Protocolled):
    """An agent of Pydantic AI with our toolset; its model calls what it is told to."""

    def call(self, agent: str, name: str, **arguments: Any) -> Told:
        def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            if len(messages) == 1:
                return ModelResponse(parts=[ToolCallPart(name, arguments)])
            return ModelResponse(parts=[TextPart("done")])

        tools: MemoryToolset[None] = MemoryToolset(self.kb, "general", owner="alice", agent=agent)
        ran = Agent(FunctionModel(model), toolsets=[tools]).run_sync("Decide.")
        parts = [part for message in ran.all_messages() for part in message.parts]
        [answer] = [part for part in parts if isinstance(part, ToolReturnPart)]
        assert answer.outcome == "success", answer.content
        told: Told = json.loads(json.dumps(answer.metadata["data"]))
        return told


@pytest.fixture(params=[Script, Protocolled, Pydantic])
def hand(request: pytest.FixtureRequest, kb: Any, alice: Any) -> Hand:
    alice.agents.create(ORACLE, adapter="external", card_type="forecast")
    alice.agents.create(DESK, adapter="external", card_type="trade-decision")
    made: Callable[[Any], Hand] = request.param
    return made(kb)


def by_hand(stated: list[float], right: list[bool], looks: dict[int, float]) -> Told:
    """`stated` of 100, `looks` what was said at the second look, by the number of the decision."""
    share = sum(right) / len(right)
    towards = [(looks[nth] > stated[nth]) == right[nth] for nth in looks]
    bands = {}
    for low in range(0, 100, 10):
        inside = [nth for nth, one in enumerate(stated) if min(int(one // 10), 9) * 10 == low]
        if inside:
            came = sum(right[nth] for nth in inside)
            bands[low] = (len(inside), came, came / len(inside) if len(inside) >= 6 else None)
    return {
        "resolved": len(stated), "right": sum(right), "hit_rate": share,
        "base_brier": 0.25,  # all were made before the first came out, so that nothing was known
        "brier": sum((one / 100 - was) ** 2 for one, was in zip(stated, right, strict=True)) / len(stated),
        "looks": len(looks), "looks_right": sum(towards), "bands": bands,
    }  # fmt: skip


def agrees(found: Told, expected: Told) -> None:
    told = {one["low"]: (one["count"], one["right"], one["share"]) for one in found["bands"]}
    assert told == expected.pop("bands")
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-12), name


def test_twenty_forecasts(hand: Hand, alice: Any, clock: Any) -> None:
    stated = [72.0] * 7 + [5.0, 13.0, 21.0, 28.0, 34.0, 41.0, 47.0, 55.0, 58.0, 63.0, 81.0, 92.0, 100.0]
    came = [nth % 3 != 0 for nth in range(20)]
    runs, looks = [], {}
    for nth, one in enumerate(stated):
        card = {"question": f"Does {nth} happen?", "probability": one / 100, "resolves_by": "2031-01-01T00:00:00Z"}
        runs.append(hand.record(ORACLE, card, f"f-{nth}"))
    clock.forward(hours=1)
    for nth in range(0, 20, 4):
        looks[nth] = stated[nth] - 3.0
        look = {"conviction_score": 40, "notes": "Less.", "suggested_action": "LOWER", "probability": looks[nth] / 100}
        hand.look(ORACLE, runs[nth], look)
    clock.forward(hours=1)
    for run, true in zip(runs, came, strict=True):
        if isinstance(hand, Script):
            said = {"outcome": true, "settled_early": "seen"}
            answer = hand.client.post(f"/api/runs/{run}/resolve", json=said, headers=hand.judge).json()
            assert (answer["closed_by"], answer["resolver"]) == ("resolver", "Weather office")
        else:
            alice.decisions.answer(run, true, settled_early="seen")
    agrees(hand.calibration(ORACLE, True), by_hand(stated, came, looks))


def candles(start: Any, wins: list[bool]) -> Iterator[str]:
    """Each entry is filled by the first bar and closed by the second: at its target or at its stop."""
    yield "symbol,timeframe,time,open,high,low,close,volume\n"
    for nth, won in enumerate(wins):
        second = "110,121,109,120" if won else "95,96,89,90"
        for hour, prices in enumerate(("101,102,99,101", second)):
            yield f"S{nth}/USDT,1h,{stamp(start + timedelta(hours=hour))},{prices},1\n"


def test_twenty_trades(hand: Hand, kb: Any, alice: Any, clock: Any) -> None:
    stated, wins = [30.0 + 3 * nth for nth in range(20)], [nth % 3 != 1 for nth in range(20)]
    clock.set(clock.now.replace(minute=0, second=0, microsecond=0))
    start = clock.now + timedelta(hours=1)
    runs, looks = [], {}
    for nth, one in enumerate(stated):
        runs.append(hand.record(DESK, TRADE | {"symbol": f"S{nth}/USDT", "conviction": one}, f"t-{nth}"))
    for nth in range(0, 20, 5):
        looks[nth] = stated[nth] + 8.0
        hand.look(DESK, runs[nth], {"conviction_score": looks[nth], "notes": "More.", "suggested_action": "HOLD"})
    assert clock.now < start, "all of it was decided before the bars began"
    clock.forward(hours=5)
    kb.market.load(candles(start, wins))
    assert alice.decisions.follow() == 20
    found = hand.calibration(DESK, False)
    agrees(found, by_hand(stated, wins, looks))
    assert found["expectancy"] == pytest.approx(sum(2.0 if won else -1.0 for won in wins) / 20, abs=1e-12)
    assert {one.outcome for one in alice.decisions.list(state="resolved", limit=50)} == {"target", "stop"}
