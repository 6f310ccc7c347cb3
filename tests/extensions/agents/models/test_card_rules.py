"""The named rule: a valid card by what it states, from the bars it really reads."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.extensions.agents.models.test_no_model import load

from keepbook.extensions.agents.book.cards import card_types, validate
from keepbook.extensions.agents.models.card_rules import LOOKED_BACK, SymbolBars, advice, drift, second_look

pytestmark = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
TYPES = card_types()
_NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)
UP, DOWN, FLAT = ([100.0 + step * number for number in range(20)] for step in (1, -1, 0))


def answered(kb: Any, prompt: str, **told: Any) -> tuple[dict[str, Any], list[Any]]:
    alice = kb.book("alice")
    agent = alice.agents.create(f"Desk {len(alice.agents.list())}", card_type="drift-trade", **told)
    run = asyncio.run(kb.runner(alice).run(agent.id, prompt))
    assert run.card is not None, run.error
    return run.card.slots, (alice.runs.transcript(run.id)[-1].parts or {}).get("calls", [])


def test_it_goes_with_the_drift_or_waits_and_says_by_which_rule(kb: Any, clock: Any) -> None:
    for symbol, closes in (("ETH/USDT", UP), ("SOL/USDT", DOWN), ("BTC/USDT", FLAT), ("ADA/USDT", UP[:3])):
        load(kb, clock, closes, symbol)
    up, down = answered(kb, "ETH/USDT?")[0], answered(kb, "And SOL/USDT?")[0]
    assert (up["action"], up["entry"]) == ("LONG", 119)
    assert up["stop"] < up["entry"] < up["target"]
    assert "Rule drift" in up["thesis"]
    assert (down["action"], down["target"] < down["entry"] < down["stop"]) == ("SHORT", True)
    flat = answered(kb, "BTC/USDT?")[0]
    assert (flat["action"], flat["entry"], flat["reason"]) == ("WAIT", None, "no drift to go with")
    assert answered(kb, "XYZ/USDT?")[0]["reason"] == "no bars for XYZ/USDT"
    assert answered(kb, "What now?")[0]["reason"] == "no symbol named"
    assert answered(kb, "ADA/USDT?")[0]["reason"] == "only 3 bars"


def test_it_really_reads_the_bars_through_the_tool(kb: Any, clock: Any) -> None:
    load(kb, clock, UP)
    slots, calls = answered(kb, "What about ETH?")
    assert [(call["name"], call["arguments"]["symbol"]) for call in calls] == [("get_bars", "ETH")]
    assert "The last 15 bars of ETH/USDT, 1d" in calls[0]["answer"]
    assert slots["symbol"] == "ETH/USDT"


def test_of_several_that_it_watches_each_has_its_day(kb: Any, clock: Any) -> None:
    for symbol in ("ETH/USDT", "SOL/USDT"):
        load(kb, clock, UP, symbol)
    seen = []
    for _ in range(3):
        seen.append(answered(kb, "Go.", instructions="You watch ETH/USDT and SOL/USDT.")[0]["symbol"])
        clock.forward(days=1)
    assert seen[0] == seen[2] != seen[1]


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
    closes = (5.0,) * (LOOKED_BACK - 1) + (11.0,)
    wild = SymbolBars("X", (12.0,) * LOOKED_BACK, (0.5,) * LOOKED_BACK, closes)
    found = drift(wild, "X", _NOW)
    validate(TYPES.get("drift-trade"), found, "2026-03-01T09:00:00.000000Z")
    assert found["action"] == "WAIT"


def _at(close: float) -> SymbolBars:
    return SymbolBars("X", (close,) * 30, (close,) * 30, (close,) * 30)
