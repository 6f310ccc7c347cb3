"""Forecasts resolve on markets as they are: closed at night and over weekends, with half days, summer time, holes and
symbols that are gone. One book for each engine holds all cases, each with a symbol of its own."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from keepbook.book.ground.when import stamp

HEAD = "symbol,timeframe,time,open,high,low,close,volume\n"
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
TUESDAY = datetime(2026, 3, 3, 12, tzinfo=UTC)
"""When everything is recorded. In New York summer time begins on Sunday, the 8th."""
CARD = """
name = "%(name)s"
title = "Level"
line = "{age} · {symbol}"
re_examinable = "until_resolved"
[forecast]
probability = "probability"
due = "by"
[forecast.rule]
symbol = "symbol"
test = "%(test)s"
level = "level"
[slots.symbol]
type = "text"
max = 40
[slots.level]
type = "number"
[slots.probability]
type = "number"
min = 0
max = 1
[slots.by]
type = "time"
future = true
"""


def march(day: int, hour: float = 0) -> datetime:
    return datetime(2026, 3, day, tzinfo=UTC) + hour * HOUR


class Bars(NamedTuple):
    """When bars of a symbol begin; all are alike, at 100, but for `high`."""

    timeframe: str
    begin: Sequence[datetime]
    high: float = 101.0

    def rows(self, symbol: str) -> list[str]:
        prices = f"100,{self.high},99,100"
        return [f"{symbol},{self.timeframe},{stamp(at)},{prices},1\n" for at in self.begin]


def days(first: datetime, last: datetime, closed: Sequence[int] = (5, 6)) -> Iterator[datetime]:
    """Each day that is no weekday in `closed`; 5 and 6 are the weekend."""
    while first <= last:
        if first.weekday() not in closed:
            yield first
        first += DAY


def sessions(first: datetime, last: datetime, half: Sequence[datetime] = ()) -> list[datetime]:
    """The hourly bars of New York from 9:30 to 16:30, of half days to 13:30, before and in summer time."""
    return [
        day + ((14.5 if day.date() < date(2026, 3, 8) else 13.5) + nth) * HOUR
        for day in days(first, last)
        for nth in range(4 if day in half else 7)
    ]


def hours(first: datetime, last: datetime, but: Sequence[datetime] = ()) -> list[datetime]:
    return [at for nth in range(int((last - first) / HOUR)) if (at := first + nth * HOUR) not in but]


WEEKS = march(1) - 28 * DAY
CLOSED = datetime(2026, 3, 6, tzinfo=UTC)


class Case(NamedTuple):
    symbol: str
    test: str
    level: float
    due: datetime
    bars: Sequence[Bars]
    comes: str | None
    """The outcome; None: the person is asked."""
    gap: bool = False


CASES = [
    # Friday night: Friday's last bar answers, once Monday's are there.
    Case("AAPL", "close_above", 90, march(6, 23), [Bars("1h", sessions(WEEKS, march(9)))], "true"),
    Case("AAPL.FEW", "close_above", 90, march(6, 23), [Bars("1h", sessions(march(6), march(9)))], "true"),
    Case("AAPL.MONDAY", "close_below", 90, march(9, 13), [Bars("1h", sessions(WEEKS, march(9)))], "false"),
    # Sunday, by daily bars, which begin at midnight here, in New York, or when trading ends.
    Case("SPY", "close_above", 90, march(8, 18), [Bars("1d", [*days(WEEKS, march(9))])], "true"),
    Case("SPY.FEW", "close_above", 90, march(8, 18), [Bars("1d", [*days(march(4), march(9))])], "true"),
    Case("SPY.NY", "close_above", 90, march(8, 18), [Bars("1d", [*days(WEEKS + 5 * HOUR, march(9, 5))])], "true"),
    Case("SPY.END", "close_above", 90, march(8, 22), [Bars("1d", [*days(WEEKS + 21 * HOUR, march(9, 21))])], "true"),
    # A market that is open on Sunday and closed on Friday and Saturday.
    Case("TADAWUL", "close_above", 90, march(7, 12), [Bars("1d", [*days(WEEKS, march(8), (4, 5))])], "true"),
    # A coin has no pauses. One bar missing: the one before it is no older than a bar may be; two are too many.
    Case("BTC", "close_above", 90, march(5, 12), [Bars("1h", hours(march(1), march(6), [march(5, 11)]))], "true"),
    Case(
        "BTC.TWO", "close_above", 90, march(5, 12),
        [Bars("1h", hours(march(1), march(6), [march(5, 10), march(5, 11)]))], None,
    ),
    Case("BTC.NO", "reaches_above", 150, march(5, 12), [Bars("1h", hours(march(1), march(6)))], "false"),
    Case(
        "BTC.GAP", "reaches_above", 150, march(5, 12),
        [Bars("1h", hours(march(1), march(6), [march(4, 3)]))], "false", True,
    ),
    Case(
        "BTC.END", "reaches_above", 150, march(5, 12),
        [Bars("1h", hours(march(1), march(6), [march(5, 11)]))], "false", True,
    ),
    Case(
        "BTC.YES", "reaches_above", 150, march(5, 12),
        [Bars("1h", hours(march(1), march(4))), Bars("1h", [march(4, 9)], 151)], "true",
    ),
    # Daily bars up to a day, then hourly ones.
    Case(
        "BTC.MIXED", "reaches_above", 150, march(7, 12),
        [Bars("1d", [*days(WEEKS, march(4), ())]), Bars("1h", hours(march(5), march(8)))], "false",
    ),
    # The day's bar in which it was recorded reached the level: before, or after?
    Case(
        "BTC.WHEN", "reaches_above", 150, march(6),
        [Bars("1d", [*days(WEEKS, march(7), ())]), Bars("1d", [march(3)], 151)], "false", True,
    ),
    # No more bars since the 4th: after a week the person is asked, whatever the question.
    Case("GONE", "close_above", 90, march(13, 20), [Bars("1d", [*days(WEEKS, march(4))])], None),
    Case("GONE.NO", "reaches_above", 150, march(13, 20), [Bars("1d", [*days(WEEKS, march(4))])], None),
    Case("NEVER", "close_above", 90, march(6), [], None),
    # On Friday trading ends at half past one; the weekend after it is longer than any other.
    Case("HALF", "close_above", 90, march(6, 21), [Bars("1h", sessions(WEEKS, march(9), [CLOSED]))], "true"),
    Case("HALF.NO", "reaches_above", 150, march(10, 15), [Bars("1h", sessions(WEEKS, march(11), [CLOSED]))], "false"),
    # Over the change to summer time there is no hole; a lost day is one.
    Case("DST", "reaches_below", 50, march(13, 21), [Bars("1h", sessions(WEEKS, march(16)))], "false"),
    Case(
        "LOST", "reaches_below", 50, march(13, 21),
        [Bars("1h", [*sessions(WEEKS, march(6)), *sessions(march(11), march(16))])], "false", True,
    ),
    # A few bars and nothing since: nobody knows how long this pauses.
    Case("FEW", "close_above", 90, march(5, 12), [Bars("1h", hours(march(5), march(5, 4)))], None),
]  # fmt: skip


class Levels:
    """A book with an agent for each test, and a clock."""

    def __init__(self, kb: Any, clock: Any, folder: Path) -> None:
        kb.settings = kb.settings.but(cards=folder)
        self.kb, self.book, self.clock = kb, kb.book("alice"), clock
        self.agents = {}
        for test in ("close_above", "close_below", "reaches_above", "reaches_below"):
            name = test.replace("_", "-")
            (folder / f"{name}.toml").write_text(CARD % {"name": name, "test": test})
            self.agents[test] = self.book.agents.create(test, adapter="external", card_type=name).id

    def record(self, symbol: str, test: str, level: float, due: datetime) -> str:
        card = {"symbol": symbol, "level": level, "probability": 0.8, "by": stamp(due)}
        run: str = self.book.decisions.record(self.agents[test], card).run_id
        return run

    def load(self, symbol: str, *bars: Bars) -> None:
        self.kb.market.load([HEAD, *(row for one in bars for row in one.rows(symbol))])

    def sweep(self, at: datetime) -> None:
        self.clock.set(at)
        assert self.kb.sweep().failed == []


@pytest.fixture
def levels(kb: Any, clock: Any, tmp_path: Path) -> Levels:
    clock.set(TUESDAY)
    return Levels(kb, clock, tmp_path)


def test_forecasts_resolve_on_real_markets(levels: Levels) -> None:
    runs = {one.symbol: levels.record(one.symbol, one.test, one.level, one.due) for one in CASES}
    levels.kb.market.load([HEAD, *(row for one in CASES for bars in one.bars for row in bars.rows(one.symbol))])
    levels.sweep(march(30))
    levels.book.decisions.follow()
    found = {symbol: levels.book.decisions.get(run) for symbol, run in runs.items()}
    assert {name: (one.outcome, one.gap is not None) for name, one in found.items()} == {
        one.symbol: (one.comes, one.gap) for one in CASES
    }
    asked = [one.symbol for one in CASES if one.comes is None]
    assert all(found[name].state == "open" and "the bars do not tell" in found[name].note for name in asked)
    assert found["BTC.GAP"].gap == "2026-03-04T03:00:00.000000Z/2026-03-04T04:00:00.000000Z"
    assert {one.closed_by for one in found.values()} == {"bars", None}
    assert levels.book.decisions.count(forecasts=True)["due"] == len(asked)
    assert levels.book.verify().ok


def test_an_answer_waits_for_the_next_bar_and_for_a_week_at_most(levels: Levels) -> None:
    """Until Monday's first bar nobody can say that Friday's last one was the last, or until a week has gone by."""
    goes_on, ends = (levels.record(name, "close_above", 90, march(6, 23)) for name in ("AAPL", "ENDS"))
    for symbol in ("AAPL", "ENDS"):
        levels.load(symbol, Bars("1h", sessions(WEEKS, march(6))))
    levels.sweep(march(8))
    assert levels.book.decisions.get(goes_on).state == "open"
    levels.clock.set(march(9, 16))
    levels.load("AAPL", Bars("1h", sessions(march(9), march(9))[:2]))
    levels.sweep(march(9, 17))
    done = levels.book.decisions.get(goes_on)
    assert (done.outcome, done.closed_at, levels.book.decisions.get(ends).state) == ("true", march(6, 23), "open")
    levels.sweep(march(13, 23.1))
    assert levels.book.decisions.get(ends).outcome == "true"


def test_a_no_with_a_gap_is_told_again_when_bars_come(levels: Levels) -> None:
    run = levels.record("BTC/USDT", "reaches_above", 150, march(5, 12))
    levels.load("BTCUSDT", Bars("1h", hours(march(1), march(6), [march(4, 3)])))  # by its other name
    levels.sweep(march(7))
    no = levels.book.decisions.get(run)
    assert (no.outcome, no.gap is None, "with a gap" in no.note) == ("false", False, True)
    levels.load("BTCUSDT", Bars("1h", [march(4, 3)], high=151))
    levels.sweep(march(8))
    yes = levels.book.decisions.get(run)
    assert (yes.outcome, yes.gap, yes.closed_at) == ("true", None, march(4, 4))
    assert [one.outcome for one in levels.book.decisions.history(run)] == ["false"]
    assert levels.book.decisions.get(run, known_at=march(7, 12)).gap == no.gap
    levels.load("BTCUSDT", Bars("1h", [march(4, 3)]))  # corrected: it was not reached after all
    levels.sweep(march(9))
    assert (levels.book.decisions.get(run).outcome, levels.book.decisions.get(run).gap) == ("false", None)
    assert levels.book.verify().ok


def test_a_price_from_before_the_record_answers_nothing(levels: Levels) -> None:
    """On Saturday, Friday's close is known: who says then where Sunday's lies has forecast nothing."""
    levels.clock.set(march(7, 12))
    run = levels.record("SPY", "close_above", 90, march(8, 12))
    levels.load("SPY", Bars("1d", [*days(WEEKS, march(9))]))
    levels.sweep(march(20))
    found = levels.book.decisions.get(run)
    assert (found.state, "before this was recorded" in found.note) == ("open", True)
    done = levels.book.decisions.answer(run, True, note="looked it up")
    assert (done.closed_by, done.note) == ("person", "looked it up")
