"""How decisions turn out on bars, held against another way to compute it, and against what must have no say.

The other way knows no cases: on a grid of whole prices it walks every path that a bar's price can have taken, from the
open to the close with low and high touched, and asks how each of them ends. Of those the worst for the decision counts.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.extensions.agents.deciding import LONG, WAIT, ran

from keepbook import Conflict, Invalid, NotAllowed, NotFound
from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.extensions.agents.book.outcomes.regime import regime
from keepbook.extensions.agents.book.resolution import (
    BEFORE_ENTRY,
    BOTH,
    JUMPED,
    NO_BARS,
    Course,
    TradePlan,
    at_expiry,
    follow_bars,
)
from keepbook.extensions.trading.book.market.bars import Bar, bar_end, keep_bars

BEGIN = datetime(2026, 3, 2, tzinfo=UTC)
_symbols = count()


def bar(hour: int, opened: float, high: float, low: float, closed: float, symbol: str = "ETH/USDT") -> Bar:
    return Bar(symbol, "1h", stamp(BEGIN + timedelta(hours=hour)), opened, high, low, closed, 1.0)


# --- the other way to compute it --------------------------------------------------------------------------


class End(NamedTuple):
    outcome: str | None
    fill: float | None
    exit: float | None


def endings(one: Bar, plan: TradePlan, filled: bool) -> set[str | None]:
    """How a bar can have ended, over every path of single steps; None is to be in and still open."""
    low, high = int(one.low), int(one.high)
    begin = (int(one.open), False, False, filled, None)
    todo, seen, found = [begin], {begin}, set()
    while todo:
        price, low_seen, high_seen, is_in, outcome = todo.pop()
        if outcome is None and is_in and plan.side * (price - plan.stop) <= 0:
            outcome = "stop"
        if outcome is None and is_in and plan.side * (price - plan.target) >= 0:
            outcome = "target"
        is_in = is_in or price == plan.entry
        low_seen, high_seen = low_seen or price == low, high_seen or price == high
        if low_seen and high_seen and price == one.close:
            found.add(outcome if is_in else "out")
        for step in (price - 1, price + 1):
            state = (step, low_seen, high_seen, is_in, outcome)
            if low <= step <= high and state not in seen:
                seen.add(state)
                todo.append(state)
        state = (price, low_seen, high_seen, is_in, outcome)
        if state not in seen:
            seen.add(state)
            todo.append(state)
    return found


def by_every_path(plan: TradePlan, bars: list[Bar]) -> End:
    fill: float | None = None
    before: float | None = None
    for one in bars:
        if fill is None and before is not None and min(before, one.open) < plan.entry < max(before, one.open):
            fill = one.open  # over the entry while no bar was running
        if fill is not None:
            beyond = plan.side * one.open
            if beyond <= plan.side * plan.stop:
                return End("stop", fill, one.open)
            if beyond >= plan.side * plan.target:
                return End("target", fill, one.open)
        ways = endings(one, plan, fill is not None)
        if fill is None and ways != {"out"}:
            fill = plan.entry
        if "stop" in ways:
            return End("stop", fill, plan.stop)
        if ways == {"target"}:
            return End("target", fill, plan.target)
        before = one.close
    return End(None, fill, None)


prices = st.integers(1, 16)


@st.composite
def plans(draw: st.DrawFn) -> TradePlan:
    low, middle, high = sorted(draw(st.lists(st.integers(3, 14), min_size=3, max_size=3, unique=True)))
    return TradePlan(1, middle, low, high) if draw(st.booleans()) else TradePlan(-1, middle, high, low)


@st.composite
def series(draw: st.DrawFn, most: int = 8) -> list[Bar]:
    """Bars that jump, overlap and are missing here and there."""
    found, hour = [], 0
    for _ in range(draw(st.integers(0, most))):
        hour += draw(st.integers(1, 3))
        opened, closed, *rest = draw(st.lists(prices, min_size=4, max_size=4))
        found.append(bar(hour, opened, max(opened, closed, *rest), min(opened, closed, *rest), closed))
    return found


@settings(max_examples=80)
@given(plan=plans(), bars=series())
def test_resolution_equals_the_worst_of_every_path(plan: TradePlan, bars: list[Bar]) -> None:
    course = follow_bars(plan, Course(), bars)
    assert End(course.outcome, course.fill_price, course.exit_price) == by_every_path(plan, bars)


@given(plan=plans(), bars=series(), cuts=st.lists(st.integers(0, 8), max_size=3))
def test_looking_now_and_then_comes_to_the_same_as_looking_once(
    plan: TradePlan, bars: list[Bar], cuts: list[int]
) -> None:
    course, begin = Course(), 0
    for end in [*sorted(cuts), len(bars)]:
        if course.outcome is None:
            course = follow_bars(plan, course, bars[begin:end])
        begin = max(begin, end)
    assert course == follow_bars(plan, Course(), bars)


# --- single cases, by hand --------------------------------------------------------------------------------

UP = TradePlan(1, 100, 90, 120)
DOWN = TradePlan(-1, 100, 110, 80)

CASES = {
    "touched, then the target": (UP, [(99, 101, 98, 99), (99, 121, 99, 119)], "target", 100, 120, None),
    "touched, then the stop": (UP, [(99, 101, 98, 99), (99, 100, 89, 95)], "stop", 100, 90, None),
    "a jump over the entry fills at the open": (UP, [(95, 97, 94, 96), (103, 121, 102, 118)], "target", 103, 120, None),
    "a jump down to a limit fills at the open": (
        UP, [(105, 106, 104, 105), (97, 99, 96, 98), (98, 125, 98, 120)], "target", 97, 120, None,
    ),
    "a jump through the stop": (UP, [(99, 101, 98, 99), (85, 88, 84, 86)], "stop", 100, 85, JUMPED),
    "a jump through the target": (UP, [(99, 101, 98, 99), (125, 126, 124, 125)], "target", 100, 125, JUMPED),
    "stop and target in one bar": (UP, [(99, 101, 98, 99), (100, 121, 89, 110)], "stop", 100, 90, BOTH),
    "stop and target in the bar of the entry": (UP, [(99, 121, 89, 110)], "stop", 100, 90, BOTH),
    "the stop may have come before the entry": (UP, [(95, 101, 89, 96)], "stop", 100, 90, BEFORE_ENTRY),
    "the stop came after the entry": (UP, [(105, 106, 89, 96)], "stop", 100, 90, None),
    "the target may have come before the entry": (UP, [(105, 121, 99, 101)], None, 100, None, None),
    "the target came after the entry": (UP, [(99, 121, 99, 101)], "target", 100, 120, None),
    "a short stopped": (DOWN, [(99, 101, 98, 99), (99, 111, 99, 105)], "stop", 100, 110, None),
    "a short on target by a jump": (DOWN, [(99, 101, 98, 99), (75, 78, 74, 76)], "target", 100, 75, JUMPED),
    "never touched": (UP, [(95, 97, 94, 96), (96, 99, 95, 98)], None, None, None, None),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_case_by_hand(name: str) -> None:
    plan, rows, outcome, fill, exit_price, note = CASES[name]
    course = follow_bars(plan, Course(), [bar(hour, *row) for hour, row in enumerate(rows)])
    assert (course.outcome, course.fill_price, course.exit_price, course.note) == (outcome, fill, exit_price, note)


def test_results_are_in_units_of_the_planned_risk_and_in_percent_of_the_fill() -> None:
    assert UP.result_r(100, 120) == 2
    assert UP.result_r(100, 85) == -1.5
    assert DOWN.result_r(100, 80) == 2
    assert DOWN.result_pct(100, 110) == -10
    assert UP.result_pct(103, 120) == pytest.approx(16.50485, abs=1e-5)


def test_time_is_up() -> None:
    assert at_expiry(Course(through="x", last_close=97.0), "2027").outcome == "expired"
    assert at_expiry(Course(), "2027").note == NO_BARS
    held = at_expiry(Course(through="x", last_close=97.0, filled_at="x", fill_price=100.0), "2027")
    assert (held.outcome, held.exit_price, held.closed_at) == ("time", 97.0, "2027")


# --- in the book ------------------------------------------------------------------------------------------


class Desk:
    """An agent, and decisions of its on a symbol that nobody else has."""

    def __init__(self, kb: Any, clock: Any, owner: str = "alice") -> None:
        self.kb, self.clock, self.book = kb, clock, kb.book(owner)
        self.agent = self.book.agents.create("Swing desk", card_type="trade-decision")

    def decide(self, symbol: str | None = None, hours: float = 24.0, **slots: Any) -> tuple[str, str]:
        symbol = symbol or f"SYM{next(_symbols)}"
        self.clock.set(BEGIN + timedelta(minutes=30))
        expires = stamp(BEGIN + timedelta(hours=hours))
        return ran(self.book, self.agent, LONG | {"symbol": symbol, "expires": expires} | slots).id, symbol

    def load(self, symbol: str, bars: list[Bar]) -> None:
        with self.kb._database.unscoped(writes=True) as conn:
            keep_bars(conn, [one._replace(symbol=symbol) for one in bars], source="test", now=stamp(self.clock()))

    def look(self, run: str, hour: float) -> Any:
        self.clock.set(BEGIN + timedelta(hours=hour))
        self.book.decisions.follow()
        return self.book.decisions.get(run)


@pytest.fixture
def desk(kb: Any, clock: Any) -> Iterator[Desk]:
    return Desk(kb, clock)


TOUCHED, FLAT, WON = (99, 101, 98, 99), (99, 102, 98, 101), (101, 121, 100, 119)


def test_a_decision_is_followed_from_the_bar_after_it_to_its_end(desk: Desk) -> None:
    run, symbol = desk.decide()
    desk.load(symbol, [bar(0, 100, 130, 80, 100)])  # began before the decision
    assert desk.look(run, 1).filled_at is None
    desk.load(symbol, [bar(1, *TOUCHED)])
    held = desk.look(run, 2)
    assert (held.state, held.fill_price, held.filled_at) == ("open", 100, BEGIN + timedelta(hours=1))
    assert held.so_far_r == pytest.approx(-0.1)
    desk.load(symbol, [bar(2, *WON)])
    won = desk.look(run, 3)
    assert (won.state, won.outcome, won.exit_price, won.closed_by) == ("resolved", "target", 120, "bars")
    assert (won.result_r, won.result_pct) == (2, 20)
    assert won.closed_at == BEGIN + timedelta(hours=3)
    assert won.so_far_r is None


def test_the_sweep_follows_every_open_decision_and_goes_on_with_those_that_stay_open(desk: Desk) -> None:
    won, symbol = desk.decide()
    open_still, other = desk.decide()
    desk.load(symbol, [bar(1, *TOUCHED), bar(2, *WON)])
    desk.load(other, [bar(1, *TOUCHED)])
    desk.clock.set(BEGIN + timedelta(hours=3))
    assert desk.kb.sweep().done == {"resolve": 1}
    assert (desk.book.decisions.get(won).state, desk.book.decisions.get(open_still).state) == ("resolved", "open")
    desk.load(other, [bar(2, *WON)])
    assert desk.kb.sweep().done == {"resolve": 1}
    assert desk.kb.sweep().done == {}
    desk.clock.set(BEGIN + timedelta(days=400))
    assert desk.kb.sweep().failed == []


def test_a_bar_in_the_making_has_no_say(desk: Desk) -> None:
    run, symbol = desk.decide()
    desk.load(symbol, [bar(1, *TOUCHED), bar(2, 99, 99, 85, 86)])
    assert desk.look(run, 2.9).state == "open"
    desk.load(symbol, [bar(2, 99, 121, 99, 120)])  # as it really ended
    assert desk.look(run, 3).outcome == "target"


def test_unfilled_it_expires_and_filled_it_is_closed_at_the_last_close(desk: Desk) -> None:
    idle, symbol = desk.decide(hours=4)
    held, other = desk.decide(hours=4)
    desk.load(symbol, [bar(hour, 95, 97, 94, 96) for hour in range(1, 6)])
    desk.load(other, [bar(1, *TOUCHED), bar(2, *FLAT), bar(3, 101, 106, 100, 105), bar(4, *WON)])
    assert desk.look(idle, 3.9).state == desk.look(held, 3.9).state == "open"
    gone, closed = desk.look(idle, 5), desk.look(held, 5)
    assert (gone.state, gone.outcome, gone.result_r, gone.closed_at) == (
        "expired", "expired", None, BEGIN + timedelta(hours=4),
    )  # fmt: skip
    assert (closed.state, closed.outcome, closed.exit_price, closed.result_r) == ("resolved", "time", 105, 0.5)


def test_a_bar_that_ends_after_the_expiry_has_no_say(desk: Desk) -> None:
    run, symbol = desk.decide(hours=2.5)
    desk.load(symbol, [bar(1, *TOUCHED), bar(2, *WON)])
    assert desk.look(run, 5).outcome == "time"


def test_to_wait_only_expires(desk: Desk) -> None:
    run, symbol = desk.decide(hours=3, **{name: WAIT[name] for name in ("action", "entry", "stop", "target", "size")})
    desk.load(symbol, [bar(hour, 100, 130, 80, 100) for hour in range(1, 6)])
    assert desk.look(run, 2).state == "open"
    closed = desk.look(run, 4)
    assert (closed.state, closed.result_r, closed.note) == ("expired", None, None)
    with pytest.raises(Conflict):
        desk.book.decisions.exit(run, 100.0)


def test_without_bars_it_expires_and_says_so_and_late_bars_put_it_right(desk: Desk) -> None:
    run, symbol = desk.decide(hours=4)
    assert desk.look(run, 5).note == NO_BARS
    assert desk.look(run, 6).state == "expired"
    desk.load(symbol, [bar(1, *TOUCHED), bar(2, *WON)])
    assert (desk.look(run, 30).state, desk.look(run, 30).result_r) == ("resolved", 2)
    desk.load(symbol, [bar(3, 80, 81, 79, 80)])
    assert desk.look(run, 31).result_r == 2


def test_missing_bars_are_jumped_over(desk: Desk) -> None:
    run, symbol = desk.decide()
    desk.load(symbol, [bar(1, 95, 97, 94, 96), bar(9, 104, 105, 103, 104), bar(15, 85, 86, 84, 85)])
    done = desk.look(run, 16)
    assert (done.fill_price, done.outcome, done.exit_price, done.note) == (104, "stop", 85, JUMPED)


def test_a_gap_on_the_first_bar_fills(desk: Desk) -> None:
    """By the close that was known at the decision; what is loaded later for that time has no say."""
    symbol = f"GAP{next(_symbols)}/USDT"
    desk.clock.set(BEGIN + timedelta(minutes=5))
    desk.load(symbol, [bar(-1, 101, 102, 99, 101, symbol)])
    run, _ = desk.decide(symbol=symbol)
    late, other = desk.decide()
    desk.clock.forward(minutes=1)
    desk.load(other, [bar(-1, 101, 102, 99, 101, other)])
    for name in (symbol, other):
        desk.load(name, [bar(1, 97, 98, 96, 97, name), bar(2, 98, 99, 97, 98, name)])
    assert (desk.look(run, 5).fill_price, desk.look(late, 5).fill_price) == (97, None)


def test_of_several_timeframes_the_finest_speaks(desk: Desk) -> None:
    run, symbol = desk.decide()
    coarse = bar(1, 99, 130, 80, 100)._replace(timeframe="4h")  # all in one: would be the stop
    desk.load(symbol, [coarse, bar(1, *TOUCHED), bar(2, *WON)])
    assert desk.look(run, 8).outcome == "target"


def test_a_coarse_bar_fills_the_gap_of_a_fine_one(desk: Desk) -> None:
    run, symbol = desk.decide()
    desk.load(symbol, [bar(1, *TOUCHED), bar(2, *WON)._replace(timeframe="4h"), bar(3, 99, 99, 80, 81)])
    assert (desk.look(run, 8).outcome, desk.look(run, 8).closed_at) == ("target", BEGIN + timedelta(hours=6))


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data(), plan=plans(), bars=series(6), after=series(3), before=series(3))
def test_no_bar_after_the_end_and_none_before_the_decision_has_a_say(
    desk: Desk, data: st.DataObject, plan: TradePlan, bars: list[Bar], after: list[Bar], before: list[Bar]
) -> None:
    """The same decision twice: once with the bars up to its end alone, once with others around them."""
    side = "LONG" if plan.side > 0 else "SHORT"
    told = {"action": side, "entry": plan.entry, "stop": plan.stop, "target": plan.target, "hours": 20.0}
    (alone, one), (among, other) = desk.decide(**told), desk.decide(**told)
    expected = by_every_path(plan, [bar for bar in bars if parse_stamp(bar_end(bar)) <= BEGIN + timedelta(hours=20)])
    last = 20 if expected.outcome is None else int((desk_end(plan, bars) - BEGIN).total_seconds() // 3600)
    kept = [one for one in bars if parse_stamp(bar_end(one)) <= BEGIN + timedelta(hours=last)]
    desk.load(one, kept)
    early = [late._replace(time=stamp(parse_stamp(late.time) - timedelta(hours=20))) for late in before]
    late = [late._replace(time=stamp(parse_stamp(late.time) + timedelta(hours=last - 1))) for late in after]
    desk.load(other, [*early, *kept, *late])
    for hour in sorted(data.draw(st.lists(st.integers(1, 40), max_size=2))):
        desk.look(among, hour)
    first, second = desk.look(alone, 41), desk.look(among, 41)
    fields = (
        "state",
        "outcome",
        "filled_at",
        "fill_price",
        "exit_price",
        "closed_at",
        "result_r",
        "result_pct",
        "note",
    )
    assert [getattr(first, name) for name in fields] == [getattr(second, name) for name in fields]
    if expected.outcome is not None:
        assert (first.outcome, first.fill_price, first.exit_price) == expected


def desk_end(plan: TradePlan, bars: list[Bar]) -> datetime:
    """When the bar ends that is the first to end it, by every path."""
    return next(
        parse_stamp(bar_end(bars[length - 1]))
        for length in range(1, len(bars) + 1)
        if by_every_path(plan, bars[:length]).outcome is not None
    )


# --- by the person ----------------------------------------------------------------------------------------


def test_the_person_marks_it_exited_at_a_price(desk: Desk) -> None:
    run, symbol = desk.decide()
    desk.load(symbol, [bar(1, *TOUCHED)])
    desk.look(run, 2)
    done = desk.book.decisions.exit(run, 106.0)
    assert (done.state, done.outcome, done.closed_by) == ("resolved", "exited", "person")
    assert (done.result_r, done.result_pct) == (pytest.approx(0.6), pytest.approx(6))
    desk.load(symbol, [bar(2, *WON)])
    assert desk.look(run, 4) == done
    with pytest.raises(Conflict) as refused:
        desk.book.decisions.exit(run, 120.0)
    assert refused.value.code == "closed"


def test_one_that_the_bars_had_not_filled_counts_from_its_entry(desk: Desk) -> None:
    run, _ = desk.decide()
    done = desk.book.decisions.exit(run, 95.0)
    assert (done.result_r, done.note) == (-0.5, "no bar had filled it; counted from its entry")


@pytest.mark.parametrize("price", [None, 0, -1, True, "100", float("nan"), float("inf")])
def test_an_exit_needs_a_price(desk: Desk, price: Any) -> None:
    run, _ = desk.decide()
    with pytest.raises(Invalid):
        desk.book.decisions.exit(run, price)
    assert desk.book.decisions.get(run).state == "open"


def test_an_exit_lies_between_the_decision_and_now(desk: Desk) -> None:
    run, _ = desk.decide()
    for at in (BEGIN, BEGIN + timedelta(days=300)):
        with pytest.raises(Invalid, match="between"):
            desk.book.decisions.exit(run, 100.0, at=at)


def test_only_the_person_marks_it_exited(desk: Desk) -> None:
    run, _ = desk.decide()
    with pytest.raises(NotAllowed) as refused:
        desk.kb.book("alice", by="agent").decisions.exit(run, 100.0)
    assert refused.value.code == "person_only"


def test_a_run_of_another_owner_is_not_there(desk: Desk) -> None:
    run, _ = desk.decide()
    with pytest.raises(NotFound):
        desk.kb.book("bob").decisions.exit(run, 100.0)
    with pytest.raises(NotFound):
        desk.kb.book("bob").runs.get(run)


# --- regimes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("closes", "name"),
    [
        ([100.0 + step for step in range(20)], "trend_up"),
        ([100.0 - step for step in range(20)], "trend_down"),
        ([100.0 + step % 2 for step in range(20)], "chop"),
        ([100.0] * 20, "chop"),
        ([100.0 + step for step in range(19)], "unknown"),
    ],
)
def test_a_regime_is_how_much_of_the_way_led_somewhere(closes: list[float], name: str) -> None:
    assert regime(closes) == name


def test_a_decision_remembers_the_regime_it_was_made_in(desk: Desk) -> None:
    symbol = f"SYM{next(_symbols)}"
    daily = [
        bar(-24 * back, 200 - back, 201 - back, 199 - back, 200 - back)._replace(timeframe="1d")
        for back in range(30, 0, -1)
    ]
    noise = [bar(-hour, 100, 101, 99, 100 + hour % 2) for hour in range(30, 0, -1)]
    desk.load(symbol, [*daily, *noise])
    run, _ = desk.decide(symbol)
    assert desk.book.decisions.get(run).regime == "trend_up"


def test_what_is_over_is_not_looked_at_again_though_nobody_followed_it_yet(desk: Desk) -> None:
    expired, _ = desk.decide(hours=3)
    won, symbol = desk.decide(hours=40)
    desk.load(symbol, [bar(1, *TOUCHED), bar(2, *WON)])
    assert desk.book.runs.may_re_examine(expired)
    desk.clock.forward(hours=4)
    for run in (expired, won):
        assert desk.book.decisions.get(run).state == "open", "no sweep has run"
        assert not desk.book.runs.may_re_examine(run)
        with pytest.raises(Conflict):
            desk.book.runs.queue(desk.book.runs.get(run).agent_id, "re-examination", prompt="?", parent_run=run)
