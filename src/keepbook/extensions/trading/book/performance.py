"""The results of a strategy: figures, periods and the equity curve, from its closed trades alone.

They are computed from pieces, each a day of trades in the order in which they were closed (`days`), so a million trades
cost a thousand days. Money counts on the day of the exit, in UTC. Without capital, figures relative to it are None,
never zero. The drawdown is taken after each trade, from a peak that begins at the capital.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.extensions.trading.book.currencies.rates import Conversion
from keepbook.extensions.trading.book.days import DayPiece

SAMPLE = 30
"""Under so many trades, or so many days, a ratio of risk says nothing: there is none, and why."""
DAYS_A_YEAR = 365
"""Crypto trades on every day of it."""


@dataclass(frozen=True, slots=True)
class PeriodFigures:
    """The short figures of a stretch of time up to the instant asked about."""

    since: datetime
    trades: int
    wins: int
    pnl: float | None
    return_pct: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Performance:
    """Every figure of a skill or a deployment as it was known at `known_at`; `*_pct` are fractions (0.018 is 1.8 %).

    `profit_factor` is None without losses. `sharpe`, `sortino` and `calmar` are None under 30 trades or 30 `days`,
    without capital or any deviation, and `why` says so by name. `expectancy_r` counts in average losses.
    `longest_drawdown` is in days, from a peak to the day that reached it again, or to the last.

    Amounts in several currencies are not added up: then `currency` and every amount is None, and `by_currency` has the
    figures of each. Where a currency was asked for, `converted` says by which bars the others were counted in it.
    """

    known_at: datetime
    since: datetime | None
    capital: float | None
    currency: str | None
    trades: int
    wins: int
    pnl: float | None
    fees: float | None
    return_pct: float | None
    days: int
    sharpe: float | None
    sortino: float | None
    calmar: float | None
    why: dict[str, str]
    max_drawdown: float | None
    max_drawdown_pct: float | None
    longest_drawdown: int | None
    average_win: float | None
    average_loss: float | None
    expectancy_r: float | None
    win_rate: float | None
    profit_factor: float | None
    expectancy: float | None
    best: float | None
    worst: float | None
    first: datetime | None
    last: datetime | None
    open_positions: int
    periods: dict[str, PeriodFigures]
    by_currency: "dict[str, Performance]" = field(default_factory=dict)
    converted: tuple[Conversion, ...] = ()


@dataclass(frozen=True, slots=True)
class EquityPoint:
    """A day of the equity curve: what there was at its end, and the deepest it stood under the peak after its trades.

    Without capital the curve begins at zero, and `drawdown_pct` is None. `day` is written like 2026-03-05.
    """

    day: str
    equity: float
    drawdown: float
    drawdown_pct: float | None


# Rules


def period_starts(at: str, zone: ZoneInfo) -> dict[str, str]:
    """The beginnings of the periods that end at `at`; a week begins on Monday, in the owner's zone."""
    moment = parse_stamp(at)
    local = moment.astimezone(zone)
    monday = datetime.combine(local.date() - timedelta(days=local.weekday()), time.min, tzinfo=zone)
    return {
        "this_week": stamp(monday),
        "last_7_days": stamp(moment - timedelta(days=7)),
        "last_30_days": stamp(moment - timedelta(days=30)),
    }


class ResultTally:
    """Sums that grow piece by piece."""

    __slots__ = ("best", "fees", "first", "gain", "last", "loss", "trades", "wins", "worst")

    def __init__(self) -> None:
        self.trades: int = 0
        self.wins: int = 0
        self.gain: float = 0.0
        self.loss: float = 0.0
        self.fees: float = 0.0
        self.best: float = -math.inf
        self.worst: float = math.inf
        self.first: str = ""
        self.last: str = ""

    def add(self, piece: DayPiece) -> None:
        self.trades += piece.trades
        self.wins += piece.wins
        self.gain += piece.gain
        self.loss += piece.loss
        self.fees += piece.fees
        self.best = max(self.best, piece.best)
        self.worst = min(self.worst, piece.worst)
        self.first = self.first or piece.first
        self.last = piece.last

    @property
    def pnl(self) -> float:
        return self.gain - self.loss


class EquityDay(NamedTuple):
    """A day with exits: its PnL, equity and peak at its end, and the deepest under the peak after one of its trades."""

    day: str
    pnl: float
    equity: float
    peak: float
    drawdown: float
    drawdown_pct: float


class EquityCurve:
    """Equity, piece by piece; `days` has those with exits."""

    __slots__ = ("base", "days", "equity", "peak")

    def __init__(self, base: float) -> None:
        self.base: float = base
        self.equity: float = base
        self.peak: float = base
        self.days: list[EquityDay] = []

    def add(self, piece: DayPiece) -> None:
        pnl, deepest, share = piece.pnl, 0.0, 0.0
        if self.days and self.days[-1].day == piece.day:
            before = self.days.pop()
            pnl, deepest, share = before.pnl + pnl, before.drawdown, before.drawdown_pct
        for turn in piece.turns:
            peak = max(self.peak, self.equity + turn.high)
            down = peak - (self.equity + turn.low)
            deepest = max(deepest, down)
            if self.base:
                share = max(share, down / peak)
        self.peak = max(self.peak, self.equity + piece.high)
        self.equity += piece.pnl
        self.days.append(EquityDay(piece.day, pnl, self.equity, self.peak, deepest, share))


def measure_performance(
    pieces: Iterable[DayPiece],
    *,
    known_at: str,
    since: str | None,
    capital: float | None,
    currency: str | None,
    open_positions: int,
    zone: ZoneInfo,
) -> Performance:
    """All figures in one pass. The pieces come in order of exit, begin with the earliest period or `since`, and are
    split where a period begins, and at `since`."""
    whole, curve = ResultTally(), EquityCurve(capital or 0.0)
    starts = period_starts(known_at, zone)
    parts = {name: ResultTally() for name in starts}
    for piece in pieces:
        if piece.first >= (since or ""):
            whole.add(piece)
            curve.add(piece)
        for name, start in starts.items():
            if piece.first >= start:
                parts[name].add(piece)
    count = whole.trades
    days = _span(curve.days)
    deepest = max((one.drawdown_pct for one in curve.days), default=0.0) if capital else None
    ratios: Any
    ratios, why = risk_ratios({one.day: one.pnl for one in curve.days}, capital, count, days, deepest)
    lost = whole.loss / (count - whole.wins) if count > whole.wins else None
    return_pct = None
    if capital:
        return_pct = whole.pnl / capital
    return Performance(
        known_at=parse_stamp(known_at),
        since=None if since is None else parse_stamp(since),
        capital=capital,
        currency=currency,
        trades=count,
        wins=whole.wins,
        pnl=whole.pnl,
        fees=whole.fees,
        return_pct=return_pct,
        days=days,
        **ratios,
        why=why,
        max_drawdown=max((one.drawdown for one in curve.days), default=0.0),
        max_drawdown_pct=deepest,
        longest_drawdown=longest_under(curve.days),
        average_win=whole.gain / whole.wins if whole.wins else None,
        average_loss=lost,
        expectancy_r=whole.pnl / count / lost if count and lost else None,
        win_rate=whole.wins / count if count else None,
        profit_factor=whole.gain / whole.loss if whole.loss else None,
        expectancy=whole.pnl / count if count else None,
        best=whole.best if count else None,
        worst=whole.worst if count else None,
        first=parse_stamp(whole.first) if count else None,
        last=parse_stamp(whole.last) if count else None,
        open_positions=open_positions,
        periods={name: _period(starts[name], part, capital) for name, part in parts.items()},
    )


def keep_apart(found: Mapping[str, Performance]) -> Performance:
    """The results in several currencies: counts are added up, amounts are not."""
    each = list(found.values())
    none: dict[str, Any] = dict.fromkeys((
        "capital", "currency", "pnl", "fees", "return_pct", "max_drawdown", "max_drawdown_pct", "longest_drawdown",
        "average_win", "average_loss", "expectancy_r", "profit_factor", "expectancy", "best", "worst", "sharpe",
        "sortino", "calmar",
    ))  # fmt: skip
    trades, wins = sum(one.trades for one in each), sum(one.wins for one in each)
    first = [one.first for one in each if one.first is not None]
    last = [one.last for one in each if one.last is not None]
    periods = {
        name: PeriodFigures(
            part.since, sum(one.periods[name].trades for one in each), sum(one.periods[name].wins for one in each),
            None, None,
        )
        for name, part in each[0].periods.items()
    }  # fmt: skip
    win_rate = None
    if trades:
        win_rate = wins / trades
    return replace(
        each[0], **none, trades=trades, wins=wins, win_rate=win_rate,
        first=min(first, default=None), last=max(last, default=None), days=max(one.days for one in each),
        why=dict.fromkeys(("sharpe", "sortino", "calmar"), "needs one currency"), periods=periods,
        open_positions=sum(one.open_positions for one in each), by_currency=dict(found),
    )  # fmt: skip


def _period(start: str, part: ResultTally, capital: float | None) -> PeriodFigures:
    return_pct = None
    if capital:
        return_pct = part.pnl / capital
    return PeriodFigures(parse_stamp(start), part.trades, part.wins, part.pnl, return_pct)


def _span(days: Sequence[EquityDay]) -> int:
    """From the first day with an exit to the last, both counted."""
    if not days:
        return 0
    return (date.fromisoformat(days[-1].day) - date.fromisoformat(days[0].day)).days + 1


def longest_under(days: Sequence[EquityDay]) -> int:
    """The most days in a row from a peak until it is reached again, or until the last day."""
    longest, peak_day, peak, under = 0, "", -math.inf, False
    for one in days:
        if one.peak > peak or one.equity >= peak:
            if under:
                longest = max(longest, _days_from(peak_day, one.day))
            else:
                longest = max(longest, 0)
            peak_day, peak, under = one.day, one.peak, one.equity < one.peak
        else:
            under = True
    if under:
        return max(longest, _days_from(peak_day, days[-1].day))
    return longest


def _days_from(first: str, last: str) -> int:
    return (date.fromisoformat(last) - date.fromisoformat(first)).days


def risk_ratios(
    daily: Mapping[str, float], capital: float | None, trades: int, days: int, deepest: float | None
) -> tuple[dict[str, float | None], dict[str, str]]:
    """Sharpe, Sortino and Calmar, with the reason for each that is missing."""
    names = ("sharpe", "sortino", "calmar")
    why = ""
    if not capital:
        why = "needs the capital"
    if not why and (trades < SAMPLE or days < SAMPLE):
        why = f"{trades} trades in {days} days; from {SAMPLE} of both on"
    if why or not capital:
        return dict.fromkeys(names), dict.fromkeys(names, why)
    yearly = math.fsum(daily.values()) / capital * DAYS_A_YEAR / days
    calmar = None
    if deepest:
        calmar = yearly / deepest
    found = {
        "sharpe": sharpe(daily, capital),
        "sortino": sortino(daily, capital, days),
        "calmar": calmar,
    }
    none = {"sharpe": "no deviation", "sortino": "no losing day", "calmar": "no drawdown"}
    return dict(found), {name: none[name] for name, value in found.items() if value is None}


def sortino(daily: Mapping[str, float], capital: float, days: int) -> float | None:
    """The Sortino ratio: like Sharpe, over the deviation of losing days alone, their squares spread over all days."""
    mean = math.fsum(daily.values()) / capital / days
    below = math.sqrt(math.fsum((pnl / capital) ** 2 for pnl in daily.values() if pnl < 0) / days)
    if below > 1e-12 * abs(mean):
        return mean / below * math.sqrt(DAYS_A_YEAR)
    return None


def sharpe(daily: Mapping[str, float], capital: float | None) -> float | None:
    """The Sharpe ratio of daily returns on the capital, a day without an exit being zero, over a year of 365 days."""
    if not capital or len(daily) == 0:
        return None
    days = (date.fromisoformat(max(daily)) - date.fromisoformat(min(daily))).days + 1
    if days < 2:
        return None
    returns = [pnl / capital for pnl in daily.values()]
    mean = math.fsum(returns) / days
    squares = math.fsum((one - mean) ** 2 for one in returns) + (days - len(returns)) * mean * mean
    deviation = math.sqrt(squares / (days - 1))
    # The same amount every day deviates by rounding alone: that is none.
    if deviation > 1e-12 * abs(mean):
        return mean / deviation * math.sqrt(DAYS_A_YEAR)
    return None


def equity_points(pieces: Iterable[DayPiece], capital: float | None) -> list[EquityPoint]:
    """The curve with a point for every day from the first exit to the last."""
    curve = EquityCurve(capital or 0.0)
    for piece in pieces:
        curve.add(piece)
    points: list[EquityPoint] = []
    for before, one in pairwise([*curve.days[:1], *curve.days]):
        for day in _days_between(before.day, one.day):  # no exit: it stands where it stood
            under = before.peak - before.equity
            drawdown_pct = None
            if capital:
                drawdown_pct = under / before.peak
            points.append(EquityPoint(day, before.equity, under, drawdown_pct))
        drawdown_pct = None
        if capital:
            drawdown_pct = one.drawdown_pct
        points.append(EquityPoint(one.day, one.equity, one.drawdown, drawdown_pct))
    return points


def _days_between(first: str, last: str) -> Iterator[str]:
    begin, end = date.fromisoformat(first).toordinal(), date.fromisoformat(last).toordinal()
    return (date.fromordinal(number).isoformat() for number in range(begin + 1, end))
