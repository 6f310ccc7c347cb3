"""How a trade decision turns out on bars: pure rules, applied bar by bar.

It begins with the first bar that starts after the decision. The entry is filled when a bar touches it. If the price
jumped over it between two bars, or since the last close known at the decision, it is filled at the open. From then on
the first bar that touches the stop or the target closes the trade; if the open is already beyond it, at the open. A bar
does not say in which order its prices came, so the worst possible order is assumed, with a note: stop and target in one
bar count as the stop, and a target that may have been touched before the entry does not count.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from keepbook.extensions.agents.book.prices import Bar, bar_end

BOTH = "stop and target in one bar, counted as stop"
BEFORE_ENTRY = "the stop lies in the bar of the entry and may have come first, counted as stop"
JUMPED = "the price jumped over it, closed at the open"
NO_BARS = "no bars of this time"


@dataclass(frozen=True, slots=True)
class TradePlan:
    """The plan of a trade: `side` is 1 for a long, −1 for a short."""

    side: int
    entry: float
    stop: float
    target: float

    @property
    def risk(self) -> float:
        return abs(self.entry - self.stop)

    def result_r(self, fill: float, exit: float) -> float:
        """The result in units of the planned risk, entry to stop."""
        return self.side * (exit - fill) / self.risk

    def result_pct(self, fill: float, exit: float) -> float:
        return 100 * self.side * (exit - fill) / fill


@dataclass(frozen=True, slots=True)
class Course:
    """The state of a trade. The bars were read through the instant `through`; the other fields are what they did."""

    through: str | None = None
    last_close: float | None = None
    filled_at: str | None = None
    fill_price: float | None = None
    closed_at: str | None = None
    exit_price: float | None = None
    outcome: str | None = None
    note: str | None = None


def follow_bars(plan: TradePlan, course: Course, bars: Iterable[Bar]) -> Course:
    """Follow a trade until a bar closes it or there are no more bars."""
    for bar in bars:
        course = step(plan, course, bar)
        if course.outcome is not None:
            break
    return course


def step(plan: TradePlan, course: Course, bar: Bar) -> Course:
    """The state after one more bar."""
    read = replace(course, through=bar_end(bar), last_close=bar.close)
    if course.fill_price is not None:
        return _close_on_bar(plan, read, bar, whole_bar=True)
    before = course.last_close
    jumped = before is not None and (before < plan.entry) != (bar.open < plan.entry)
    if jumped or before == plan.entry:
        # The price crossed the entry between two bars, or was exactly on it: it is filled at the open.
        return _close_on_bar(plan, replace(read, filled_at=bar.time, fill_price=bar.open), bar, whole_bar=True)
    if bar.low <= plan.entry <= bar.high:
        return _close_on_bar(plan, replace(read, filled_at=bar.time, fill_price=plan.entry), bar, whole_bar=False)
    return read


def _close_on_bar(plan: TradePlan, course: Course, bar: Bar, *, whole_bar: bool) -> Course:
    """The state after a bar that may close the trade. With `whole_bar` the trade was open from the bar's open on, so
    none of its prices came before the entry."""
    if plan.side > 0:
        best, worst = bar.high, bar.low
    else:
        best, worst = bar.low, bar.high
    stopped = plan.side * (worst - plan.stop) <= 0
    reached = plan.side * (best - plan.target) >= 0
    if whole_bar and plan.side * (bar.open - plan.stop) <= 0:
        return _with_outcome(course, bar, "stop", bar.open, JUMPED)
    if whole_bar and plan.side * (bar.open - plan.target) >= 0:
        return _with_outcome(course, bar, "target", bar.open, JUMPED)
    if stopped:
        may_be_before_entry = not whole_bar and plan.side * (bar.open - plan.entry) < 0
        note = None
        if reached:
            note = BOTH
        elif may_be_before_entry:
            note = BEFORE_ENTRY
        return _with_outcome(course, bar, "stop", plan.stop, note)
    # The target came after the entry if the bar opened on the other side of the entry, or closed beyond the target.
    is_after_entry = plan.side * (bar.open - plan.entry) <= 0 or plan.side * (bar.close - plan.target) >= 0
    if reached and (whole_bar or is_after_entry):
        return _with_outcome(course, bar, "target", plan.target, None)
    return course


def _with_outcome(course: Course, bar: Bar, outcome: str, price: float, note: str | None) -> Course:
    return replace(course, outcome=outcome, exit_price=price, closed_at=bar_end(bar), note=note)


def at_expiry(course: Course, expires: str, *, waited: bool = False) -> Course:
    """The state at expiry: a trade that was never filled has expired, a filled one is closed at the last close."""
    if course.fill_price is None:
        note = None
        if course.through is None and not waited:
            note = NO_BARS
        return replace(course, outcome="expired", closed_at=expires, note=note)
    return replace(course, outcome="time", closed_at=expires, exit_price=course.last_close)
