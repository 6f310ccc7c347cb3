"""Formats trading for the pages: figures as text, and the reason if there is no figure.

Pure functions: they take what the book returned, and return what a template prints. A figure that does not exist is
shown as a dash with the reason beside it, never as zero; gains and losses always have their sign.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from math import floor, log10
from typing import NamedTuple

from keepbook.book.ground.when import in_zone, parse_stamp
from keepbook.doors.http.web.frame.charts import ChartCurve, curve
from keepbook.doors.http.web.frame.numbers import plain_number
from keepbook.extensions.trading.book.exposure import ENOUGH, Coming, Exposure
from keepbook.extensions.trading.book.lessons import Lesson, LessonVersion
from keepbook.extensions.trading.book.market.events import Event
from keepbook.extensions.trading.book.performance import EquityPoint, Performance
from keepbook.extensions.trading.book.skills import Deployment
from keepbook.extensions.trading.book.trades import Position, Trade
from keepbook.extensions.trading.pages.charts import EquityChart, equity_chart

NONE = "—"
A_YEAR = 250
"""With fewer days of trading than this, a yearly figure is marked as unreliable."""
DAY = timedelta(days=1)
DOLLARS = ("USD", "USDT", "USDC")
PRESSING = 0.75
"""An event with this importance or more is marked."""
SPARK = 48
"""The most points of a small curve: on 72 pixels, more cannot be seen."""


class Total(NamedTuple):
    """A figure with its name above and what it means below."""

    name: str
    value: str
    hint: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class DeploymentRow:
    """A deployment in a list."""

    deployment: Deployment
    running: bool
    found: Performance
    line: ChartCurve | None


class DrawnCurve(NamedTuple):
    """The equity curve with its levels as text, and both of its parts in words."""

    plot: EquityChart
    levels: Sequence[str]
    deepest: tuple[str, str]
    said: str
    said_below: str


@dataclass(frozen=True, slots=True)
class Ahead:
    """A coming event. `rows` are the touched positions with figures, `few` sentences on those for which there are too
    few earlier events."""

    event: Event
    day: str
    wait: str
    rows: Sequence[Exposure]
    few: Sequence[str]

    @property
    def pressing(self) -> bool:
        return self.event.importance >= PRESSING

    @property
    def importance(self) -> str:
        if self.event.importance < 1:
            return f"{self.event.importance:.2f}".lstrip("0")
        return "1"


@dataclass(frozen=True, slots=True)
class Learnt:
    """A lesson with its main figure: the median if all its trades won or all lost, else the mean.

    `interval` is that of the mean, or None if the wording of the lesson has it.
    """

    lesson: Lesson
    figure: str
    word: str
    was: str | None
    interval: str | None
    replaced: LessonVersion | None


@dataclass(frozen=True, slots=True)
class Holding:
    """An open position and the last price, or None if there is none."""

    position: Position
    price: float | None

    @property
    def so_far(self) -> float | None:
        if self.price is None:
            return None
        side = 1 if self.position.side == "long" else -1
        return side * (self.price - self.position.entry_price) * self.position.quantity

    @property
    def so_far_pct(self) -> float | None:
        if self.so_far is None:
            return None
        return self.so_far / (self.position.entry_price * self.position.quantity)


# Figures


def price(value: float) -> str:
    """A price with up to six significant digits: `3,412.5`, `0.00001234`."""
    if value >= 0.001:
        return plain_number(float(f"{value:.6g}"))
    return f"{value:.3g}"


def signed_money(value: float) -> str:
    """An amount with its sign: `+45.10`, `−1,204`. Amounts from 1,000 on have no cents."""
    return _with_sign(value, 2 if abs(value) < 1000 else 0)


def signed_percent(share: float, places: int = 1) -> str:
    """A fraction in percent with its sign, and with more places if it would look like zero."""
    if share and not round(abs(share) * 100, places):
        places = min(-floor(log10(abs(share) * 100)), 4)
    return f"{_with_sign(share * 100, places)}\N{NO-BREAK SPACE}%"


def plain_percent(share: float, places: int = 1) -> str:
    return signed_percent(abs(share), places).lstrip("+")


def _with_sign(value: float, places: int) -> str:
    text = f"{abs(value):,.{places}f}"
    if not any(digit in text for digit in "123456789"):
        sign = ""
    elif value < 0:
        sign = "−"
    else:
        sign = "+"
    return f"{sign}{text}"


def tone(value: float | None) -> str:
    """The CSS class that colours a figure by its sign."""
    if not value:
        return ""
    if value > 0:
        return "gain"
    return "loss"


def worth(symbol: str, amount: float | None) -> str:
    """The value of a position in the currency of its pair, as text."""
    if amount is None:
        return "no price on record"
    quote = symbol.partition(":")[0].partition("/")[2] or "USD"
    if amount >= 100:
        text = f"{amount:,.0f}"
    else:
        text = f"{amount:,.2f}"
    if quote in DOLLARS:
        return f"${text}"
    return f"{text} {quote}"


def reason(text: str | None) -> str:
    """The reason of an entry or exit in words; files write them like `trailing_stop`."""
    words = (text or "").replace("_", " ").strip()
    return words[:1].upper() + words[1:]


# Totals


def total_figures(found: Performance) -> list[Total]:
    """The five figures of a deployment or a skill."""
    if not found.trades:
        names = ("Profit", "Sharpe", "Deepest drawdown", "Win rate", "Profit factor")
        return [Total(name, NONE, "no closed trades yet", "faint") for name in names]
    return [_profit(found), _sharpe(found), _drawdown(found), _win_rate(found), _factor(found)]


def _profit(found: Performance) -> Total:
    share = "" if found.return_pct is None else f", {signed_percent(found.return_pct)}"
    if found.pnl is None:
        each = (f"{signed_money(one.pnl or 0.0)} {name}" for name, one in found.by_currency.items())
        return Total("Profit", " · ".join(each), "currencies are not added up")
    hint = f"{found.currency}{share}"
    return Total("Profit", _with_sign(found.pnl, 0 if abs(found.pnl) >= 100 else 2), hint, tone(found.pnl))


def _sharpe(found: Performance) -> Total:
    caveat = "" if found.days >= A_YEAR else ", too few to count on"
    return _ratio(found, "Sharpe", found.sharpe, f"daily, annualised; {found.days:,} days{caveat}")


def _ratio(found: Performance, name: str, value: float | None, hint: str) -> Total:
    """A ratio with its sample as the hint, or a dash with the reason why there is none."""
    if value is not None:
        return Total(name, _with_sign(value, 2), hint)
    return Total(name, NONE, _no_capital(found) if found.capital is None else found.why[name.lower()], "faint")


def more_totals(found: Performance) -> list[Total]:
    """Further figures that traders look at; none if no trade was closed."""
    if not found.trades:
        return []
    lost = found.trades - found.wins
    won = NONE if found.average_win is None else signed_money(found.average_win)
    down = NONE if found.average_loss is None else signed_money(-found.average_loss)
    in_r = NONE if found.expectancy_r is None else f"{_with_sign(found.expectancy_r, 2)}\N{NO-BREAK SPACE}R"
    longest = found.longest_drawdown or 0
    days = "day" if longest == 1 else "days"
    return [
        _ratio(found, "Sortino", found.sortino, f"losing days alone; {found.days:,} days"),
        _ratio(found, "Calmar", found.calmar, f"a year’s return over the drawdown; {found.days:,} days"),
        Total("Average win", won, f"{found.wins:,} trades"),
        Total("Average loss", down, f"{lost:,} trades"),
        Total("Expectancy", in_r, f"in average losses; {found.trades:,} trades"),
        Total("Longest drawdown", f"{longest:,} {days}", "from a peak until it was back"),
    ]


def _drawdown(found: Performance) -> Total:
    if found.max_drawdown_pct is None:
        down = "" if found.max_drawdown is None else f"{signed_money(-found.max_drawdown)}; "
        return Total("Deepest drawdown", NONE, f"{down}{_no_capital(found)}", "faint")
    if not found.max_drawdown:
        return Total("Deepest drawdown", "0 %", "never under its peak")
    return Total("Deepest drawdown", signed_percent(-found.max_drawdown_pct), "from the peak", "loss")


def _no_capital(found: Performance) -> str:
    if found.currency is None:
        return "needs one currency"
    return "needs the capital"


def _win_rate(found: Performance) -> Total:
    share = found.wins / found.trades
    return Total("Win rate", f"{100 * share:.0f}\N{NO-BREAK SPACE}%", f"{found.wins:,} of {found.trades:,}")


def _factor(found: Performance) -> Total:
    if found.profit_factor is None:
        why = "needs one currency" if found.by_currency else "no losing trade yet"
        return Total("Profit factor", NONE, why, "faint")
    return Total("Profit factor", f"{found.profit_factor:.2f}", "after fees")


def lately(found: Performance) -> str:
    """The last days in a sentence."""
    named = (("This week", "this_week"), ("last 7 days", "last_7_days"), ("last 30 days", "last_30_days"))
    parts = []
    for name, key in named:
        period = found.periods[key]
        count = "1 trade" if period.trades == 1 else f"{period.trades:,} trades"
        parts.append(f"{name} {signed_money(period.pnl or 0.0)} from {count}" if period.trades else f"{name} no trades")
    return "; ".join(parts) + "."


# Equity


def draw_equity(
    points: Sequence[EquityPoint],
    found: Performance,
    begun: datetime | None,
    now: datetime,
    zone: tzinfo,
    *,
    ended: bool,
) -> DrawnCurve | None:
    """The curve from the beginning (or the day before the first exit) to today, or if it has ended to the last exit.
    None if nothing was closed."""
    if not points:
        return None
    start, unit = found.capital or 0.0, f" {found.currency}" if found.currency else ""
    days = _days(points, start, begun, None if ended else now)
    deepest = max(under for *_, under in days)
    last = "today" if not ended else _short(days[-1][0])
    plot = equity_chart(days, start, zone, last=last)
    is_share = found.capital is not None
    said = (
        f"Equity from {_amount(start)}{unit} on {_long(days[0][0] + DAY)} to {_amount(days[-1][1])}{unit} "
        f"on {_long(days[-1][0])}"
    )
    down = plain_percent(deepest) if is_share else f"{_amount(deepest)}{unit}"
    if is_share:
        level = f"−{plain_number(round(plot.deepest * 100, 4))}\N{NO-BREAK SPACE}%"
    else:
        level = f"−{plain_number(plot.deepest)}"
    if deepest:
        said_below = f"Drawdown, deepest {down} under the peak"
    else:
        said_below = "Drawdown: never under the peak"
    return DrawnCurve(
        plot,
        [plain_number(one) for one in plot.levels],
        ("0\N{NO-BREAK SPACE}%" if is_share else "0", level),
        said,
        said_below,
    )


def _days(
    points: Sequence[EquityPoint], start: float, begun: datetime | None, now: datetime | None
) -> list[tuple[date, float, float]]:
    days = [
        (date.fromisoformat(one.day), one.equity, one.drawdown if one.drawdown_pct is None else one.drawdown_pct)
        for one in points
    ]
    before = days[0][0] - DAY  # the curve is level from the beginning to the day before the first exit
    first = begun.astimezone(UTC).date() - DAY if begun else before
    lead = [(day, start, 0.0) for day in dict.fromkeys((first, before)) if day <= before]
    last = now.astimezone(UTC).date() if now else days[-1][0]
    return lead + days + ([(last, *_standing(points, start))] if last > days[-1][0] else [])


def _standing(points: Sequence[EquityPoint], start: float) -> tuple[float, float]:
    """Equity and drawdown at the end of the last day; the drawdown of a point is the deepest of its day instead."""
    equity, peak = points[-1].equity, max(start, *(one.equity for one in points))
    under = max(peak - equity, 0.0)
    return equity, under if points[-1].drawdown_pct is None else under / peak


def _amount(value: float) -> str:
    return plain_number(round(value, 2 if abs(value) < 1000 else 0))


def _short(day: date) -> str:
    return f"{day.day} {day:%b}"


def _long(day: date) -> str:
    return f"{day.day} {day:%B}"


def spark(points: Sequence[EquityPoint], start: float) -> ChartCurve | None:
    """The equity curve for a table cell, with SPARK points at most; None if there are no points."""
    values = [start, *(one.equity for one in points)]
    if len(values) > SPARK:
        values = [values[round(n * (len(values) - 1) / (SPARK - 1))] for n in range(SPARK)]
    if len(values) > 1:
        return curve(values)
    return None


# Events


def ahead(coming: Coming, now: datetime, zone: tzinfo) -> list[Ahead]:
    """The coming events, each with the positions that it touches."""
    exposed = coming.your_exposure or ()
    found = []
    for event in coming.events:
        mine = [row for row in exposed if row.event_id == event.id]
        then = parse_stamp(event.time)
        found.append(
            Ahead(
                event,
                _day_of(in_zone(then, zone).date(), now.astimezone(zone).date()),
                _wait(then - now) if in_zone(then, zone).date() == now.astimezone(zone).date() else "",
                [row for row in mine if row.median_abs_move_pct is not None],
                [_too_few(row) for row in mine if row.median_abs_move_pct is None],
            )
        )
    return found


def _day_of(day: date, today: date) -> str:
    ahead = (day - today).days
    if 0 <= ahead <= 1:
        return ("today", "tomorrow")[ahead]
    return f"{day:%A}"


def _wait(left: timedelta) -> str:
    minutes = max(int(left.total_seconds() // 60), 0)
    if minutes >= 60:
        return f"in {minutes // 60} h {minutes % 60:02} m"
    return f"in {minutes} m"


def _too_few(row: Exposure) -> str:
    count = row.similar_events_back
    known = f"Only {count} like it on record" if count else "None like it on record"
    held = f"{row.symbol} {row.position_side}, {worth(row.symbol, row.notional_usd)}"
    return f"{held}. {known}; {ENOUGH} are needed for a figure."


# Lessons


def learnt(lesson: Lesson) -> Learnt:
    replaced = lesson.earlier[-1] if lesson.earlier else None
    one_way = lesson.wins in (0, lesson.trades)
    now, was = _figure(lesson, one_way), None if replaced is None else _figure(replaced, one_way)
    if one_way:
        word = "median"
    else:
        word = "mean"
    interval = None
    if not (one_way or "interval" in lesson.text):
        interval = f"{_bare(lesson.low_pct)} to {signed_percent(lesson.high_pct)}"
    return Learnt(
        lesson,
        now,
        word,
        None if was == now else was,
        interval,
        replaced,
    )


def _figure(told: LessonVersion, one_way: bool) -> str:
    return signed_percent(told.median_pct if one_way else told.mean_pct)


def _bare(share: float) -> str:
    return signed_percent(share).removesuffix("\N{NO-BREAK SPACE}%")


# Trades


def trade_return(trade: Trade) -> float:
    """The net return of a trade, as a fraction of what was invested."""
    return trade.pnl / (trade.entry_price * trade.quantity)
