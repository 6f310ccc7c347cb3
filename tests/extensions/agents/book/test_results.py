"""Results follow the facts: bars that come late, are corrected or taken back, against a fold over all bars there are;
and what was answered before stays what is answered as of then."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.extensions.agents.book.test_resolution import BEGIN, TOUCHED, WON, Desk, End, bar, by_every_path, plans
from tests.extensions.agents.deciding import LONG, ran

from keepbook import NotFound
from keepbook.book.ground.when import stamp
from keepbook.extensions.agents.book.resolution import TradePlan

LOST = (99, 100, 89, 95)
_names = count()


@pytest.fixture
def desk(kb: Any, clock: Any) -> Desk:
    return Desk(kb, clock)


def ended(decision: Any) -> tuple[Any, ...]:
    return decision.state, decision.outcome, decision.exit_price, decision.result_r, decision.closed_at


def swept(desk: Desk, hour: float) -> Any:
    desk.clock.set(BEGIN + timedelta(hours=hour))
    assert desk.kb.sweep().failed == []


def test_a_corrected_bar_changes_the_result_and_the_old_one_stays_readable(desk: Desk) -> None:
    run, symbol = desk.decide()
    desk.load(symbol, [bar(1, *TOUCHED), bar(2, *WON)])
    swept(desk, 3)
    won, then = desk.book.decisions.get(run), desk.clock.now
    desk.clock.set(BEGIN + timedelta(hours=9))
    desk.load(symbol, [bar(2, *LOST)])
    swept(desk, 10)
    lost = desk.book.decisions.get(run)
    assert (won.outcome, won.result_r, lost.outcome, lost.result_r) == ("target", 2, "stop", -1)
    assert ended(desk.book.decisions.get(run, known_at=then)) == ended(won)
    formers = [(each.outcome, each.result_r, each.known_at, each.until) for each in desk.book.decisions.history(run)]
    assert formers == [("target", 2, won.known_at, lost.known_at)]
    assert desk.book.verify().ok
    assert desk.kb.sweep().done == {}


def test_bars_that_come_long_after_the_end_put_it_right(desk: Desk) -> None:
    run, symbol = desk.decide(hours=4)
    swept(desk, 5)
    assert desk.book.decisions.get(run).state == "expired"
    desk.load(symbol, [bar(1, *TOUCHED), bar(2, *WON)])
    swept(desk, 40 * 24)
    assert (desk.book.decisions.get(run).outcome, desk.book.decisions.get(run).result_r) == ("target", 2)


def test_bars_taken_back_open_a_decision_again(desk: Desk) -> None:
    run, symbol = desk.decide(hours=2000)
    desk.load(symbol, [bar(1, *TOUCHED), bar(2, *WON)])
    swept(desk, 3)
    assert desk.book.decisions.get(run).outcome == "target"
    assert desk.kb.market.remove(symbol, "1h", since=BEGIN + timedelta(hours=2)) == 1
    swept(desk, 4)
    open_again = desk.book.decisions.get(run)
    assert (open_again.state, open_again.fill_price, open_again.closed_by) == ("open", 100, None)
    desk.load(symbol, [bar(2, *LOST)])
    swept(desk, 5)
    assert desk.book.decisions.get(run).outcome == "stop"
    with pytest.raises(NotFound):
        desk.kb.market.remove(symbol, "1d")


def test_a_persons_own_exit_is_never_folded_again(desk: Desk) -> None:
    run, symbol = desk.decide()
    desk.load(symbol, [bar(1, *TOUCHED)])
    swept(desk, 2)
    desk.book.decisions.exit(run, 104.0)
    desk.load(symbol, [bar(1, *LOST)])
    swept(desk, 3)
    assert (desk.book.decisions.get(run).outcome, desk.book.decisions.get(run).exit_price) == ("exited", 104)
    assert desk.book.decisions.history(run) == []


def test_former_results_move_with_the_book(desk: Desk) -> None:
    run, symbol = desk.decide()
    desk.load(symbol, [bar(1, *TOUCHED), bar(2, *WON)])
    swept(desk, 3)
    desk.load(symbol, [bar(2, *LOST)])
    swept(desk, 4)
    lines: list[str] = []
    desk.book.export(type("Out", (), {"write": lambda _, text: lines.append(text)})())
    text = "".join(lines)
    desk.kb.book("bob").import_(text.splitlines())
    assert desk.kb.book("bob").verify().ok
    assert desk.kb.book("bob").decisions.history(run) == desk.book.decisions.history(run)


# --- against a fold over all bars

PRICE = st.integers(1, 16)
STEP = st.one_of(
    st.tuples(st.just("load"), st.lists(st.tuples(st.integers(1, 10), PRICE, PRICE, PRICE, PRICE), max_size=5)),
    st.tuples(st.just("remove"), st.integers(1, 10)),
    st.tuples(st.just("sweep"), st.just(None)),
    st.tuples(st.just("follow"), st.just(None)),
)


def taken(desk: Desk, symbol: str, there: dict[int, Any], what: str, told: Any) -> None:
    """One step; `there` is what the bars of each hour are now."""
    if what == "load":
        rows = [bar(hour, one, max(one, two, *rest), min(one, two, *rest), two) for hour, one, two, *rest in told]
        desk.load(symbol, rows)
        there |= {row[0]: one for row, one in zip(told, rows, strict=True)}
    elif what == "remove":
        hour = BEGIN + timedelta(hours=told)
        if there.pop(told, None) is not None:
            assert desk.kb.market.remove(symbol, "1h", since=hour, until=hour + timedelta(hours=1)) == 1
    elif what == "sweep":
        assert desk.kb.sweep().failed == []
    else:
        desk.book.decisions.follow()


@settings(
    max_examples=4,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # a few steps are small enough to read
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(plan=plans(), steps=st.lists(STEP, min_size=2, max_size=8))
def test_whenever_bars_come_the_result_is_that_of_all_bars(
    kb: Any, clock: Any, plan: TradePlan, steps: Sequence[Any]
) -> None:
    symbol = f"DRAWN{next(_names)}"
    desk = Desk(kb, clock, symbol.lower())  # an owner of its own: the clock goes back for each example
    desk.clock.set(BEGIN + timedelta(minutes=30))
    told = {"entry": float(plan.entry), "stop": float(plan.stop), "target": float(plan.target), "symbol": symbol}
    run = ran(desk.book, desk.agent, LONG | told | {"action": "LONG" if plan.side > 0 else "SHORT"}).id
    there: dict[int, Any] = {}
    answered = []
    for number, (what, how) in enumerate([*steps, ("sweep", None)]):
        desk.clock.set(BEGIN + timedelta(days=2, hours=number))
        taken(desk, symbol, there, what, how)
        answered.append((stamp(desk.clock.now), ended(desk.book.decisions.get(run)), desk.book.decisions.calibration()))
    found = desk.book.decisions.get(run)
    all_bars = [there[hour]._replace(symbol=symbol) for hour in sorted(there)]
    assert End(found.outcome, found.fill_price, found.exit_price) == by_every_path(plan, all_bars)
    for at, was, weighed in answered:
        assert ended(desk.book.decisions.get(run, known_at=at)) == was
        assert desk.book.decisions.calibration(known_at=at) == weighed
    assert desk.book.verify().ok
    assert desk.kb.market.verify().ok
