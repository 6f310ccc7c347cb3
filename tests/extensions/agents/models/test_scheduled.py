"""Runs by the clock: when their hour has come, once, whoever sweeps; what was left behind is given up."""

import asyncio
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.extensions.agents.models.house import Breaks, House, Waits

from keepbook.book.ground import due
from keepbook.extensions.agents.book.due_work import RUN_LOST
from keepbook.extensions.agents.models import runner


@pytest.fixture
def house(build: Callable[..., House], clock: Any) -> House:
    clock.set("2026-03-02T09:00:00Z")  # a Monday
    return build("native")


def test_an_agent_runs_when_its_hour_has_come_and_then_not_before_the_next(house: House, clock: Any) -> None:
    house.agent(schedule="30 7 * * *", default_prompt="What is up?", memory_enabled=True)
    house.answers("Quiet.", "Still quiet.")
    assert house.kb.sweep().done == {}
    clock.set("2026-03-03T07:30:30Z")
    assert house.kb.sweep().done == {"run": 1}
    assert house.kb.sweep().done == {}
    (run,) = house.book.runs.list()
    assert (run.kind, run.status, run.prompt) == ("scheduled", "succeeded", "What is up?")
    assert house.memory.runs == 1
    clock.set("2026-03-04T07:30:30Z")
    assert house.kb.sweep().done == {"run": 1}
    assert house.sent[1].texts == ["What is up?", "Quiet.", "What is up?"]


def test_hours_that_passed_while_nobody_swept_are_run_once(house: House, clock: Any) -> None:
    house.agent(schedule="0 * * * *")
    house.answers("ok")
    clock.forward(days=3)
    assert house.kb.sweep().done == {"run": 1}
    assert house.kb.sweep().done == {}


def test_a_schedule_that_is_changed_taken_away_or_of_an_agent_that_is_gone(house: House, clock: Any) -> None:
    for name in ("Moved", "Stopped", "Gone"):
        house.agent(name, schedule="0 10 * * *")
    house.book.agents.update("Moved", schedule="0 12 * * *")
    house.book.agents.update("Stopped", schedule=None)
    house.book.agents.delete("Gone")
    clock.set("2026-03-02T11:00:00Z")
    assert house.kb.sweep().done == {}
    house.answers("ok")
    clock.set("2026-03-02T12:00:01Z")
    assert house.kb.sweep().done == {"run": 1}


def test_two_sweeps_at_once_run_it_once(house: House, clock: Any) -> None:
    house.agent(schedule="0 10 * * *")
    house.answers("ok", "ok")
    clock.set("2026-03-02T10:00:30Z")
    swept: list[Any] = []
    both = [threading.Thread(target=lambda: swept.append(house.kb.sweep())) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join(60)
    assert sorted(one.done.get("run", 0) for one in swept) == [0, 1]
    assert [one.failed for one in swept] == [[], []]
    assert len(house.book.runs.list()) == 1


def test_of_several_workers_one_has_the_runs_in_hand(house: House, clock: Any) -> None:
    house.agent(schedule="* * * * *")
    clock.forward(minutes=2)
    (queued,) = house.kb.queue_errands_in_turn("one", 60)
    clock.forward(seconds=30)
    house.agent("Other", schedule="* * * * *")
    clock.forward(seconds=20)
    assert house.kb.queue_errands_in_turn("two", 60) == ()
    clock.forward(seconds=90)
    assert len(house.kb.queue_errands_in_turn("two", 60)) == 2
    house.answers("ok")
    assert asyncio.run(house.kb.perform(queued.book, queued.id)).status == "succeeded"


def test_one_that_fails_keeps_no_other_from_running(house: House, clock: Any) -> None:
    house.agent("Bad", schedule="0 10 * * *")
    house.agent("Good", schedule="0 10 * * *")
    house.answers(Breaks(), "ok")
    clock.set("2026-03-02T10:00:30Z")
    swept = house.kb.sweep()
    assert swept.done == {"run": 1}
    (failed,) = swept.failed
    assert failed.startswith("run ")
    assert sorted(run.status for run in house.book.runs.list()) == ["failed", "succeeded"]


def test_a_run_whose_program_died_is_given_up_and_its_turn_is_free(house: House, clock: Any) -> None:
    agent = house.agent(memory_enabled=True)
    held = house.book.agents.claim(agent.id, lease_seconds=60)
    run = house.book.runs.queue(agent.id, "manual", prompt="Go.")
    house.book.runs.start(run.id, adapter="native", model=None, lease_seconds=60, turn=held)
    assert house.kb.sweep().done == {}
    clock.forward(minutes=2)
    assert house.kb.sweep().done == {"run_lost": 1}
    lost = house.book.runs.get(run.id)
    assert lost.status == "failed"
    assert "ended before it did" in str(lost.error)
    house.answers("ok")
    assert house.run("Go on.").status == "succeeded"


def test_a_run_that_nobody_took_up_is_given_up(house: House, clock: Any) -> None:
    run = house.book.runs.queue(house.agent().id, "manual", prompt="Go.")
    clock.forward(minutes=5)
    assert house.kb.sweep().done == {}
    clock.forward(minutes=6)
    assert house.kb.sweep().done == {"run_lost": 1}
    assert house.book.runs.get(run.id).status == "failed"


def test_a_run_that_another_has_taken_up_is_left_to_it(house: House) -> None:
    run = house.book.runs.queue(house.agent().id, "manual", prompt="Go.")
    house.book.runs.start(run.id, adapter="native", model=None, lease_seconds=60)
    assert asyncio.run(house.kb.perform(house.book, run.id)).status == "running"
    assert house.sent == []


def test_a_run_that_lives_long_is_not_given_up(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gives a sign of life in time: the reminder to give it up moves on."""
    monkeypatch.setattr(runner, "LEASE_SECONDS", 0.3)
    house.agent(memory_enabled=True)
    house.answers(Waits("Done.", "gate"))
    done: list[Any] = []
    working = threading.Thread(target=lambda: done.append(house.run("Go.")))
    working.start()
    seen: set[str] = set()
    while len(seen) < 3:
        for run in house.book.runs.list(status="running"):
            with house.book.reading() as (tx, _, _):
                seen |= {due.reminded_at(tx, RUN_LOST, run.id) or ""}
    house.release("gate")
    working.join(30)
    assert done[0].status == "succeeded"


def test_the_sweep_follows_open_decisions_on_the_bars(house: House, clock: Any) -> None:
    house.agent(card_type="trade-decision")
    house.answers(
        '{"action": "LONG", "symbol": "ETH/USDT", "entry": 100, "stop": 90, "target": 120, "size": 1, "conviction": 60,'
        ' "reason": "up", "thesis": "Up.", "expires": "2026-03-20T00:00:00Z"}'
    )
    run = house.run("Trade?")
    assert house.kb.sweep().done == {}
    day = clock.now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    rows = ["symbol,timeframe,time,open,high,low,close,volume"]
    rows += [f"ETH/USDT,1d,{day:%Y-%m-%d}T00:00:00Z,101,102,99,101,1"]
    rows += [f"ETH/USDT,1d,{day + timedelta(days=1):%Y-%m-%d}T00:00:00Z,101,121,100,119,1"]
    house.kb.market.load(rows)
    clock.forward(days=5)
    assert house.kb.sweep().done == {"resolve": 1}
    decision = house.book.decisions.get(run.id)
    assert (decision.state, decision.outcome, decision.result_r) == ("resolved", "target", 2)
    assert house.kb.sweep().done == {}
