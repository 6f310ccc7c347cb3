"""The offline model as an agent: a valid card by a stated rule, from the bars it really reads."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keepbook.extensions.agents.book.cards import card_types, validate
from keepbook.extensions.agents.models.offline import RANGE, SymbolBars, advice, second_look, trade
from keepbook.extensions.agents.tools import toolbox
from keepbook.models.model import Conversation, PromptMessage, ReplyFinished, ToolCalled
from keepbook.models.offline.model import OfflineModel

pytestmark = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
HEADER = "symbol,timeframe,time,open,high,low,close,volume"
HOUR = "It is Sunday, 2026-03-01 09:00 (UTC)."
TYPES = card_types()
_NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)


def load(kb: Any, clock: Any, closes: list[float], symbol: str = "ETH/USDT") -> None:
    first = clock.now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=len(closes))
    rows = [HEADER]
    for number, close in enumerate(closes):
        at = first + timedelta(days=number)
        rows.append(f"{symbol},1d,{at:%Y-%m-%dT00:00:00Z},{close},{close + 2},{close - 2},{close},1")
    assert kb.market.load(rows).refused == ()


def answered(kb: Any, prompt: str, card: str, *, system: str = "You are Desk.") -> tuple[str, list[Any]]:
    alice = kb.book("alice")
    agent = alice.agents.list()[0] if alice.agents.list() else alice.agents.create("Desk")
    kind = TYPES.get(card)
    if card == "re-examination":
        kind = TYPES.re_examination_of(TYPES.get("trade-decision"))
    conversation = Conversation(system, (PromptMessage("user", prompt, HOUR),), kind)

    async def ask() -> list[Any]:
        return [event async for event in OfflineModel().reply(conversation, toolbox(alice, agent))]

    events = asyncio.run(ask())
    assert isinstance(events[-1], ReplyFinished)
    return events[-1].text, [event.call for event in events if isinstance(event, ToolCalled)]


def card(kb: Any, prompt: str, kind: str = "trade-decision") -> dict[str, Any]:
    text, _ = answered(kb, prompt, kind)
    return validate(TYPES.get(kind), json.loads(text), "2026-03-01T09:00:00.000000Z")


def test_a_close_above_its_range_is_long_and_below_it_short(kb: Any, clock: Any) -> None:
    load(kb, clock, [100.0] * 30 + [110.0])
    load(kb, clock, [100.0] * 30 + [90.0], "SOL/USDT")
    up, down = card(kb, "ETH/USDT?"), card(kb, "And SOL/USDT?")
    assert (up["action"], up["entry"]) == ("LONG", 110)
    assert up["stop"] < up["entry"] < up["target"]
    assert (down["action"], down["symbol"]) == ("SHORT", "SOL/USDT")
    assert down["target"] < down["entry"] < down["stop"]
    assert "breakout of 20 bars" in up["thesis"]


def test_inside_its_range_it_waits(kb: Any, clock: Any) -> None:
    load(kb, clock, [100.0 + number % 3 for number in range(31)])
    found = card(kb, "ETH/USDT?")
    assert (found["action"], found["entry"], found["reason"]) == ("WAIT", None, "inside its range of 20 bars")


def test_without_bars_for_the_symbol_it_waits_and_says_so(kb: Any, clock: Any) -> None:
    load(kb, clock, [100.0] * 30 + [110.0])
    found = card(kb, "SOL/USDT?")
    assert (found["action"], found["symbol"], found["reason"]) == ("WAIT", "SOL/USDT", "no bars for SOL/USDT")
    assert card(kb, "What now?")["reason"] == "no symbol named"
    load(kb, clock, [5.0] * 3, "BTC/USDT")
    assert card(kb, "BTC/USDT?")["reason"] == "only 3 bars"


def test_it_really_reads_the_bars_through_the_tool(kb: Any, clock: Any) -> None:
    load(kb, clock, [100.0] * 30 + [110.0])
    text, calls = answered(kb, "What about ETH?", "trade-decision")
    assert [(call.name, call.arguments["symbol"]) for call in calls] == [("get_bars", "ETH")]
    assert "The last 31 bars of ETH/USDT, 1d" in str(calls[0].answer)
    assert json.loads(text)["symbol"] == "ETH/USDT"


def test_the_symbol_may_stand_in_what_the_agent_is(kb: Any, clock: Any) -> None:
    load(kb, clock, [100.0] * 30 + [110.0])
    system = "You are Desk.\n\nYou trade ETH/USDT.\n\n## Your answer\n\nAnswer with LONG or SHORT or SOL/USDT."
    text, _ = answered(kb, "Go.", "trade-decision", system=system)
    assert json.loads(text)["action"] == "LONG"


def test_a_note_is_plain_words_and_a_thesis_a_valid_card(kb: Any, clock: Any) -> None:
    load(kb, clock, [100.0] * 30 + [110.0])
    text, _ = answered(kb, "ETH/USDT?", "note")
    assert "the last close 110" in text
    assert "points up" in text
    assert "the last close 110" in card(kb, "ETH/USDT?", "research-thesis")["evidence"][0]


def test_looking_again_conviction_falls_with_the_trade_and_rises_with_it(engine_name: str) -> None:
    earlier = {"action": "LONG", "symbol": "X", "entry": 100, "stop": 90, "target": 120, "conviction": 60}
    scores = [second_look(earlier, _at(close), "X")[0] for close in (85, 90, 95, 100, 110, 120, 130)]
    assert scores == [0, 0, 30, 60, 80, 100, 100]
    short = earlier | {"action": "SHORT", "stop": 110, "target": 80}
    assert [second_look(short, _at(close), "X")[0] for close in (110, 105, 100, 90, 80)] == [0, 30, 60, 80, 100]
    assert second_look(earlier, _at(95), "X")[1] == "The last close 95 is -0.50 R from the entry at 100."
    assert second_look(short, _at(105), "X")[1] == "The last close 105 is -0.50 R from the entry at 100."
    score, notes = second_look(earlier, None, "X")
    assert (score, notes) == (60, "There are no bars for X, so nothing could be checked.")


def test_advice_is_of_the_cards_own_words(engine_name: str) -> None:
    trade_words = ("HOLD", "CLOSE", "SCALE")
    assert [advice(score, trade_words) for score in (10, 50, 90)] == ["CLOSE", "HOLD", "SCALE"]
    assert advice(10, ("KEEP", "DROP")) == "KEEP"
    assert advice(10, ()) == "CLOSE"


def test_a_trade_is_never_one_that_its_card_refuses(engine_name: str) -> None:
    """A range so wide that the stop would lie below zero is no trade."""
    wild = SymbolBars("X", (10.0,) * RANGE + (12.0,), (0.5,) * RANGE + (1.0,), (5.0,) * RANGE + (11.0,))
    found = trade(wild, "X", _NOW)
    validate(TYPES.get("trade-decision"), found, "2026-03-01T09:00:00.000000Z")
    assert found["action"] == "WAIT"


def _at(close: float) -> SymbolBars:
    return SymbolBars("X", (close,) * 30, (close,) * 30, (close,) * 30)
