"""No model, no card: such a run fails, says why, and is made up for when there is a model; a named rule needs none."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.extensions.agents.models.house import House

from keepbook import Keepbook
from keepbook.extensions.agents.book.cards import card_types
from keepbook.extensions.agents.models.card_rules import RULES
from keepbook.models.choose import Models
from keepbook.models.offline.model import OfflineModel
from keepbook.settings import Settings

REVIEW = """\
name = "code-review"
title = "Code review"
line = "{age} · {verdict} · {risk}"
[slots.verdict]
type = "choice"
choices = ["approve", "reject"]
[slots.risk]
type = "number"
min = 0
max = 10
"""
GOOD = '{"verdict": "reject", "risk": 10}'


@pytest.fixture
def alone(build: Callable[..., House], clock: Any, tmp_path: Path) -> House:
    """A house without a model; `give_model` is what its person does in Settings."""
    clock.set("2026-03-02T09:00:00Z")
    (tmp_path / "cards").mkdir()
    (tmp_path / "cards" / "code-review.toml").write_text(REVIEW)
    house = build("native", cards=tmp_path / "cards", monthly_tokens=1000)
    notebook = OfflineModel()
    house.kb.__dict__["models"] = Models(notebook, notebook, notebook)
    return house


def give_model(house: House) -> None:
    house.kb.__dict__["models"] = Models(house.model, house.model, OfflineModel())


@pytest.mark.parametrize("card_type", ["code-review", "trade-decision", "research-thesis", "forecast", "note"])
@pytest.mark.parametrize("model", [None, "offline"])
def test_without_a_model_a_run_fails_and_says_what_to_do(alone: House, card_type: str, model: str | None) -> None:
    alone.book.remember("Likes short reviews")
    alone.agent(card_type=card_type, model=model, use_block=True, team=[{"name": "Tape"}], memory_enabled=True)
    run = alone.run("Review this: rm -rf /")
    assert (run.status, run.card, run.error_code, run.tokens_in) == ("failed", None, "no_model", 0)
    assert "Settings" in str(run.error)
    assert list(alone.book.agents.decisions("Desk")) == []
    assert list(alone.book.runs.specialists(run.id)) == []
    assert alone.memory.status == "fresh"
    assert alone.book.verify().ok


def test_it_is_tried_again_once_when_there_is_a_model_and_a_schedule_fails_once(alone: House, clock: Any) -> None:
    alone.agent(card_type="code-review", schedule="0 * * * *", default_prompt="Look at the last commit.")
    alone.run("Review this: rm -rf /")
    clock.forward(hours=1, minutes=1)
    alone.kb.sweep()
    clock.forward(hours=5)
    alone.kb.sweep()
    failed = alone.book.runs.list(status="failed")
    assert sorted(one.kind for one in failed) == ["manual", "scheduled"]  # not one an hour
    give_model(alone)
    alone.answers(GOOD, GOOD, GOOD)
    assert alone.kb.sweep().done == {"run_again": 2}
    assert alone.kb.sweep().done == {}
    made = alone.book.runs.list(status="succeeded")
    assert {(one.kind, one.prompt, one.retry_of) for one in made} == {(one.kind, one.prompt, one.id) for one in failed}
    clock.forward(hours=1)
    assert alone.kb.sweep().done == {"run": 1}


def test_what_was_run_by_hand_meanwhile_or_has_no_agent_any_more_is_not_tried_again(alone: House, clock: Any) -> None:
    for name in ("Desk", "Gone", "Twice"):
        alone.agent(name, card_type="code-review", default_prompt="Look.")
        alone.run(agent=name)
    alone.run(agent="Twice")
    alone.book.agents.delete("Gone")
    give_model(alone)
    alone.answers(GOOD, GOOD)
    clock.forward(minutes=1)
    alone.run()
    assert alone.kb.sweep().done == {"run_again": 1}
    assert len(alone.book.runs.list(status="succeeded")) == 2


def test_over_the_allowance_a_scheduled_run_fails_and_by_hand_the_person_decides(alone: House, clock: Any) -> None:
    give_model(alone)
    alone.agent(card_type="code-review", default_prompt="Review this.")
    alone.book.spending.count("chat", "openai:dear", 1000, 0)
    run = alone.run(kind="scheduled")
    assert (run.status, run.card, run.error_code, alone.sent) == ("failed", None, "over_allowance", [])
    alone.kb.sweep()
    assert len(alone.book.runs.list()) == 1
    alone.answers(GOOD)
    assert alone.run("By hand.").status == "succeeded"
    clock.set("2026-04-01T09:00:00Z")
    alone.answers(GOOD)
    assert alone.kb.sweep().done == {"run_again": 1}
    assert alone.book.runs.list(kind="scheduled")[0].retry_of == run.id


def test_a_scheduled_run_that_was_lost_is_made_up_for_once(alone: House, clock: Any) -> None:
    give_model(alone)
    agent = alone.agent(card_type="code-review", schedule="0 10 * * *")
    lost = alone.book.runs.queue(agent.id, "scheduled", prompt="")
    alone.book.runs.start(lost.id, adapter="native", model=None, lease_seconds=60)
    clock.forward(minutes=10)
    alone.answers(GOOD)
    assert alone.kb.sweep().done == {"run_lost": 1, "run_again": 1}
    assert alone.book.runs.get(lost.id).error_code == "lost"
    again = alone.book.runs.queue(agent.id, "scheduled", prompt="", retry_of=lost.id)
    clock.forward(minutes=20)
    assert alone.kb.sweep().done == {"run_lost": 1}
    assert alone.book.runs.get(again.id).status == "failed"


# Named rules


def test_a_type_that_names_its_rule_is_computed_and_says_so(book_url: str, clock: Any, tmp_path: Path) -> None:
    with Keepbook(book_url, clock=clock, settings=Settings(embedder="none")) as kb:
        load(kb, clock, [100.0 + number for number in range(20)])
        alice = kb.book("alice")
        alice.agents.create("Desk", card_type="drift-trade", instructions="Takes ETH/USDT.", memory_enabled=True)
        run = asyncio.run(kb.runner(alice).run("Desk"))
        assert (run.status, run.model, run.tokens_in) == ("succeeded", "rule:drift", 0), run.error
        assert run.card is not None
        assert (run.card.computed, run.card.slots["action"], run.card.slots["entry"]) == ("drift", "LONG", 119)
        calls = alice.runs.transcript(run.id)[-1].parts["calls"]
        assert [call["name"] for call in calls] == ["get_bars"]
        again = asyncio.run(kb.runner(alice).re_examine(run.id))
        assert again.card is not None
        assert (again.status, again.card.computed, again.card.slots["conviction_score"]) == (
            "succeeded", "drift", run.card.slots["conviction"],
        )  # fmt: skip
        nowhere = asyncio.run(kb.runner(alice).run("Desk", "And XYZ/USDT?"))
        assert (nowhere.card.slots["action"], nowhere.card.slots["symbol"]) == ("WAIT", "XYZ/USDT")  # type: ignore[union-attr]


def test_every_rule_has_its_type_and_every_computed_type_its_rule() -> None:
    known = {one.computed for one in card_types().types.values() if one.computed}
    assert known == RULES.keys() == {"drift"}


def test_a_file_that_names_no_rule_there_is_is_no_card_type(tmp_path: Path) -> None:
    (tmp_path / "code-review.toml").write_text(
        REVIEW.replace("[slots.verdict]", 'computed = "oracle"\n[slots.verdict]')
    )
    (broken,) = card_types((tmp_path,)).broken
    assert (broken.line, "drift" in broken.reason) == (4, True)


def load(kb: Any, clock: Any, closes: list[float], symbol: str = "ETH/USDT") -> None:
    first = clock.now.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=len(closes))
    rows = ["symbol,timeframe,time,open,high,low,close,volume"]
    for number, close in enumerate(closes):
        at = first + timedelta(days=number)
        rows.append(f"{symbol},1d,{at:%Y-%m-%dT00:00:00Z},{close},{close + 2},{close - 2},{close},1")
    assert kb.market.load(rows).refused == ()
