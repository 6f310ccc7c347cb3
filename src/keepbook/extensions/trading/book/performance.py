"""The results of a strategy: figures, periods and the equity curve, from its closed trades alone.

They are computed from the folded days of `days`, so that the cost grows with the days and not with the trades. A result
counts on the day of the exit, in UTC. Without capital, figures relative to it are None, never zero. The drawdown is
measured after each trade, from the highest equity so far; that begins at the capital.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.extensions.trading.book.currencies.rates import Conversion
from keepbook.extensions.trading.book.days import DayPiece

SAMPLE = 30
"""How many trades and how many days it takes for a ratio of risk; with fewer it would be noise."""
DAYS_A_YEAR = 365
"""All days, because crypto trades on each of them."""


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
    """Sums over pieces. `first` and `last` are the times of the first and the last exit."""

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
    """A day with exits: its PnL, equity and peak at its end, and its deepest drawdown after one of its trades."""

    day: str
    pnl: float
    equity: float
    peak: float
    drawdown: float
    drawdown_pct: float


class EquityCurve:
    """The equity, which `add` continues by a piece; `days` are the days with exits."""

    __slots__ = ("base", "days", "equity", "peak")

    def __init__(self, base: float) -> None:
        self.base: float = base
        self.equity: float = base
        self.peak: float = base
        self.days: list[EquityDay] = []

    def add(self, piece: DayPiece) -> None:
        pnl, deepest, deepest_pct = piece.pnl, 0.0, 0.0
        if self.days and self.days[-1].day == piece.day:  # another piece of the same day
            before = self.days.pop()
            pnl, deepest, deepest_pct = before.pnl + pnl, before.drawdown, before.drawdown_pct
        for turn in piece.turns:
            peak = max(self.peak, self.equity + turn.high)
            drawdown = peak - (self.equity + turn.low)
            deepest = max(deepest, drawdown)
            if self.base:
                deepest_pct = max(deepest_pct, drawdown / peak)
        self.peak = max(self.peak, self.equity + piece.high)
        self.equity += piece.pnl
        day = EquityDay(
            day=piece.day, pnl=pnl, equity=self.equity, peak=self.peak, drawdown=deepest, drawdown_pct=deepest_pct
        )
        self.days.append(day)


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
    """All figures in one pass. The pieces must come in the order of exit, begin with the earliest period or `since`,
    whichever is earlier, and none may contain the beginning of a period, or `since`."""
    total, curve = ResultTally(), EquityCurve(capital or 0.0)
    starts = period_starts(known_at, zone)
    by_period = {name: ResultTally() for name in starts}
    for piece in pieces:
        if piece.first >= (since or ""):
            total.add(piece)
            curve.add(piece)
        for name, start in starts.items():
            if piece.first >= start:
                by_period[name].add(piece)
    count = total.trades
    losing = count - total.wins
    days = _span(curve.days)
    max_drawdown_pct = max((one.drawdown_pct for one in curve.days), default=0.0) if capital else None
    ratios: Any
    ratios, why = risk_ratios({one.day: one.pnl for one in curve.days}, capital, count, days, max_drawdown_pct)
    average_loss = total.loss / losing if losing else None
    return Performance(
        known_at=parse_stamp(known_at),
        since=None if since is None else parse_stamp(since),
        capital=capital,
        currency=currency,
        trades=count,
        wins=total.wins,
        pnl=total.pnl,
        fees=total.fees,
        return_pct=total.pnl / capital if capital else None,
        days=days,
        **ratios,
        why=why,
        max_drawdown=max((one.drawdown for one in curve.days), default=0.0),
        max_drawdown_pct=max_drawdown_pct,
        longest_drawdown=longest_drawdown(curve.days),
        average_win=total.gain / total.wins if total.wins else None,
        average_loss=average_loss,
        expectancy_r=total.pnl / count / average_loss if count and average_loss else None,
        win_rate=total.wins / count if count else None,
        profit_factor=total.gain / total.loss if total.loss else None,
        expectancy=total.pnl / count if count else None,
        best=total.best if count else None,
        worst=total.worst if count else None,
        first=parse_stamp(total.first) if count else None,
        last=parse_stamp(total.last) if count else None,
        open_positions=open_positions,
        periods={name: _period(starts[name], tally, capital) for name, tally in by_period.items()},
    )


def keep_apart(found: Mapping[str, Performance]) -> Performance:
    """The results in several currencies together: counts are added up, amounts are None."""
    each = list(found.values())
    amounts: dict[str, Any] = dict.fromkeys((
        "capital", "currency", "pnl", "fees", "return_pct", "max_drawdown", "max_drawdown_pct", "longest_drawdown",
        "average_win", "average_loss", "expectancy_r", "profit_factor", "expectancy", "best", "worst", "sharpe",
        "sortino", "calmar",
    ))  # fmt: skip
    trades, wins = sum(one.trades for one in each), sum(one.wins for one in each)
    first = [one.first for one in each if one.first is not None]
    last = [one.last for one in each if one.last is not None]
    periods = {name: _add_up([one.periods[name] for one in each]) for name in each[0].periods}
    return replace(
        each[0], **amounts, trades=trades, wins=wins, win_rate=wins / trades if trades else None,
        first=min(first, default=None), last=max(last, default=None), days=max(one.days for one in each),
        why=dict.fromkeys(("sharpe", "sortino", "calmar"), "needs one currency"), periods=periods,
        open_positions=sum(one.open_positions for one in each), by_currency=dict(found),
    )  # fmt: skip


def _add_up(each: Sequence[PeriodFigures]) -> PeriodFigures:
    """The counts of one period in several currencies."""
    trades, wins = sum(one.trades for one in each), sum(one.wins for one in each)
    return PeriodFigures(since=each[0].since, trades=trades, wins=wins, pnl=None, return_pct=None)


def _period(start: str, tally: ResultTally, capital: float | None) -> PeriodFigures:
    return_pct = tally.pnl / capital if capital else None
    return PeriodFigures(
        since=parse_stamp(start), trades=tally.trades, wins=tally.wins, pnl=tally.pnl, return_pct=return_pct
    )


def _span(days: Sequence[EquityDay]) -> int:
    """The number of days from the first with an exit to the last, both counted."""
    if not days:
        return 0
    return _days_from(days[0].day, days[-1].day) + 1


def longest_drawdown(days: Sequence[EquityDay]) -> int:
    """The longest time below a peak, in days from the peak to the day that reached it again, or to the last day."""
    longest, peak_day, peak, is_below = 0, "", -math.inf, False
    for one in days:
        if one.peak <= peak and one.equity < peak:
            is_below = True
            continue
        if is_below:
            longest = max(longest, _days_from(peak_day, one.day))
        peak_day, peak, is_below = one.day, one.peak, one.equity < one.peak
    if is_below:
        return max(longest, _days_from(peak_day, days[-1].day))
    return longest


def _days_from(first: str, last: str) -> int:
    return (date.fromisoformat(last) - date.fromisoformat(first)).days


def risk_ratios(
    daily: Mapping[str, float], capital: float | None, trades: int, days: int, max_drawdown_pct: float | None
) -> tuple[dict[str, float | None], dict[str, str]]:
    """Sharpe, Sortino and Calmar from the PnL of each day, and the reason for each that is None."""
    names = ("sharpe", "sortino", "calmar")
    if not capital:
        return dict.fromkeys(names), dict.fromkeys(names, "needs the capital")
    if trades < SAMPLE or days < SAMPLE:
        why = f"{trades} trades in {days} days; from {SAMPLE} of both on"
        return dict.fromkeys(names), dict.fromkeys(names, why)
    return_a_year = math.fsum(daily.values()) / capital * DAYS_A_YEAR / days
    found = {
        "sharpe": sharpe(daily, capital),
        "sortino": sortino(daily, capital, days),
        "calmar": return_a_year / max_drawdown_pct if max_drawdown_pct else None,
    }
    reasons = {"sharpe": "no deviation", "sortino": "no losing day", "calmar": "no drawdown"}
    return dict(found), {name: reasons[name] for name, value in found.items() if value is None}


def sortino(daily: Mapping[str, float], capital: float, days: int) -> float | None:
    """The Sortino ratio: like Sharpe, but its deviation counts losing days alone. The mean is over all days in both."""
    mean = math.fsum(daily.values()) / capital / days
    deviation = math.sqrt(math.fsum((pnl / capital) ** 2 for pnl in daily.values() if pnl < 0) / days)
    if deviation > 1e-12 * abs(mean):
        return mean / deviation * math.sqrt(DAYS_A_YEAR)
    return None


def sharpe(daily: Mapping[str, float], capital: float | None) -> float | None:
    """The Sharpe ratio of daily returns on the capital, for a year of 365 days. A day without an exit counts as zero;
    `daily` has only the others."""
    if not capital or len(daily) == 0:
        return None
    days = (date.fromisoformat(max(daily)) - date.fromisoformat(min(daily))).days + 1
    if days < 2:
        return None
    returns = [pnl / capital for pnl in daily.values()]
    mean = math.fsum(returns) / days
    squares = math.fsum((one - mean) ** 2 for one in returns) + (days - len(returns)) * mean * mean
    deviation = math.sqrt(squares / (days - 1))
    if deviation > 1e-12 * abs(mean):  # less is an error of rounding: the result was the same every day
        return mean / deviation * math.sqrt(DAYS_A_YEAR)
    return None


def equity_points(pieces: Iterable[DayPiece], capital: float | None) -> list[EquityPoint]:
    """The curve with a point for every day from the first exit to the last."""
    curve = EquityCurve(capital or 0.0)
    for piece in pieces:
        curve.add(piece)
    points: list[EquityPoint] = []
    before: EquityDay | None = None
    for one in curve.days:
        if before is not None:
            points += _points_between(before, one.day, has_capital=bool(capital))
        drawdown_pct = one.drawdown_pct if capital else None
        points.append(EquityPoint(one.day, one.equity, one.drawdown, drawdown_pct))
        before = one
    return points


def _points_between(before: EquityDay, until: str, *, has_capital: bool) -> Iterator[EquityPoint]:
    """The points of the days without an exit between two days: the equity stays as it was."""
    drawdown = before.peak - before.equity
    drawdown_pct = drawdown / before.peak if has_capital else None
    begin, end = date.fromisoformat(before.day).toordinal(), date.fromisoformat(until).toordinal()
    for number in range(begin + 1, end):
        yield EquityPoint(date.fromordinal(number).isoformat(), before.equity, drawdown, drawdown_pct)
