"""Nothing is scored by hindsight: decisions count from when they were written down, second looks too, and what was not
witnessed counts apart."""

from datetime import timedelta
from typing import Any

import pytest
from tests.extensions.agents.deciding import LONG, SECOND_LOOK

from keepbook import Invalid
from keepbook.book.ground.when import stamp

HEAD = "symbol,timeframe,time,open,high,low,close,volume\n"
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
RAIN = {"question": "Does it rain?", "probability": 0.7}


@pytest.fixture
def desk(alice: Any) -> Any:
    return alice.agents.create("My own bot", adapter="external", card_type="trade-decision")


@pytest.fixture
def oracle(alice: Any) -> Any:
    return alice.agents.create("Oracle", adapter="external", card_type="forecast")


def load(kb: Any, *bars: tuple[Any, str]) -> None:
    rows = [f"ETH/USDT,1h,{stamp(at)},{prices},1\n" for at, prices in bars]
    kb.market.load([HEAD, *rows])


def counts(book: Any, **asked: Any) -> dict[str, int]:
    found: dict[str, int] = book.decisions.calibration(**asked).resolved_by_series
    return {name: count for name, count in found.items() if count}


@pytest.mark.parametrize("loaded_first", [True, False])
def test_bars_before_the_record_change_nothing(kb: Any, alice: Any, desk: Any, clock: Any, loaded_first: bool) -> None:
    """A LONG at 100 that says it was made six hours ago, with bars since then that fill it and reach its target."""
    made_at = clock.now.replace(minute=0) - 6 * HOUR
    known = [(made_at + HOUR, "101,102,99,101"), (made_at + 2 * HOUR, "110,121,109,120")]
    if loaded_first:
        load(kb, *known)
    run = alice.decisions.record(desk.id, LONG, made_at=made_at).run_id
    if not loaded_first:
        load(kb, *known)
    alice.decisions.follow()
    kb.sweep()
    found = alice.decisions.get(run)
    assert (found.decided_at, found.state, found.filled_at, found.outcome) == (made_at, "open", None, None)
    assert (found.recorded_later, found.late, found.series) == (True, False, "recorded_later")
    clock.forward(hours=4)
    load(kb, (found.recorded_at + HOUR, "101,102,99,101"), (found.recorded_at + 2 * HOUR, "95,96,89,90"))
    alice.decisions.follow()
    assert alice.decisions.get(run).outcome == "stop", "what came after it was recorded tells"
    assert counts(alice) == {"recorded_later": 1}
    assert alice.decisions.calibration().resolved == 0
    assert alice.decisions.calibration(series="recorded_later").resolved == 1


@pytest.mark.parametrize(("minutes", "later"), [(0, False), (10, False), (11, True)])
def test_ten_minutes_are_enough_to_write_it_down(
    alice: Any, oracle: Any, clock: Any, minutes: int, later: bool
) -> None:
    card = RAIN | {"resolves_by": stamp(clock.now + DAY)}
    now = clock.now
    made = alice.decisions.record(oracle.id, card, made_at=now - timedelta(minutes=minutes) + timedelta(seconds=5))
    assert made.decision.recorded_later is later
    clock.forward(days=2)
    alice.decisions.answer(made.run_id, True)
    assert counts(alice, forecasts=True) == {"recorded_later" if later else "witnessed": 1}


def test_a_run_of_ours_takes_as_long_as_it_takes(alice: Any, clock: Any) -> None:
    agent = alice.agents.create("Weather", card_type="forecast")
    run = alice.runs.queue(agent.id, "manual", prompt="Rain?")
    alice.runs.start(run.id, adapter="native", model="offline", lease_seconds=6000)
    clock.forward(minutes=50)
    alice.runs.succeed(run.id, slots=RAIN | {"resolves_by": stamp(clock.now + DAY)})
    found = alice.decisions.get(run.id)
    assert (found.recorded_later, found.series) == (False, "witnessed")


def test_after_its_date_or_its_outcome_it_counts_only_as_brought_in(alice: Any, oracle: Any, clock: Any) -> None:
    week = clock.now - 7 * DAY
    over = alice.decisions.record(oracle.id, RAIN | {"resolves_by": stamp(clock.now - DAY)}, made_at=week)
    assert (over.late, over.decision.series) == (True, "brought_in")
    alice.decisions.answer(over.run_id, True)
    known = alice.decisions.record(oracle.id, RAIN | {"resolves_by": stamp(clock.now + DAY)}, made_at=week)
    clock.forward(days=2)
    alice.decisions.answer(known.run_id, True, at=week + DAY)
    assert alice.decisions.get(known.run_id).late, "it came true before it was written down"
    assert counts(alice, forecasts=True) == {"brought_in": 2}
    with pytest.raises(Invalid, match="series is one of witnessed"):
        alice.decisions.calibration(series="lucky")


def test_a_second_look_counts_from_when_it_was_written_down(alice: Any, oracle: Any, clock: Any) -> None:
    """Ten forecasts that came true; each has a look that raised it in time, one that was sent hours later, and one that
    was sent after the person had told the end."""
    for nth in range(10):
        run = alice.decisions.record(oracle.id, RAIN | {"resolves_by": stamp(clock.now + DAY)}).run_id
        made = clock.now
        clock.forward(hours=3)
        look = SECOND_LOOK | {"suggested_action": "RAISE"}
        alice.decisions.record_second_look(run, look | {"probability": 0.8}, made_at=clock.now)
        late = alice.decisions.record_second_look(run, look | {"probability": 0.99}, made_at=made + HOUR / 2)
        assert late.run.recorded_later
        alice.decisions.answer(run, True, at=made + 2 * HOUR if nth == 0 else None, settled_early="it pours")
    found = alice.decisions.calibration(forecasts=True)
    assert (found.resolved, found.looks, found.looks_right) == (10, 9, 9)
