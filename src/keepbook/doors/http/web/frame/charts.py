"""The geometry of the charts: numbers and dates in, places in a drawing out.

Pure and without markup; `parts/charts.html` draws it. x is a share of the width in percent, so that a chart fills its
column without a script; y is in pixels, so that type and strokes keep their size.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from itertools import pairwise
from math import ceil, floor, log10, sqrt
from typing import NamedTuple

from keepbook.book.ground.when import in_zone


class Tick(NamedTuple):
    """A mark on the time axis. `wide` ones are left out if there is little room; `anchor` is the alignment of its
    text."""

    x: float
    label: str
    wide: bool = False
    anchor: str = "middle"


class Spell(NamedTuple):
    """A version on both clocks: when it is true in the world, and when the book held it. No end means still."""

    name: str
    said: str
    true_from: datetime
    true_until: datetime | None
    kept_from: datetime
    kept_until: datetime | None


class ChartLane(NamedTuple):
    """One version as a bar of the timeline chart. `lag` is the stretch between becoming true and being recorded, if
    any."""

    name: str
    said: str
    y: int
    x: float
    width: float
    opens: bool  # began before the picture does
    goes_on: bool  # no end, or one after the picture
    kept_x: float
    kept_width: float
    still: bool
    lag: float | None
    place: str  # of the text: within the bar, before or after it


class Clocks(NamedTuple):
    height: int
    now: float
    ticks: Sequence[Tick]
    lanes: Sequence[ChartLane]


class ChartBar(NamedTuple):
    x: float
    y: float
    past: bool


class Strip(NamedTuple):
    """Bars over a time axis; `per_bar` days fall into each."""

    bars: Sequence[ChartBar]
    ticks: Sequence[Tick]
    per_bar: int


class ChartCurve(NamedTuple):
    """A line through points: `path` in a box of 100 × 100 (y grows downwards), `dots` in percent of either side."""

    path: str
    dots: Sequence[tuple[float, float]]
    low: float
    high: float


class HistoryDot(NamedTuple):
    """A point of a history chart: x in percent, y in pixels, its value, the label's position, and the day below it."""

    x: float
    y: float
    figure: str
    figure_y: float
    day: str
    wide: bool


class HistoryChart(NamedTuple):
    """A value over time, and a second line beside it, which may begin later."""

    levels: Sequence[int]
    line: str
    second: str
    points: Sequence[HistoryDot]
    others: Sequence[tuple[float, float]]


class EquityChart(NamedTuple):
    """The equity of each day over a start level, and below it, on the same time axis, the drawdown.

    `line` and `under` run in a box 1000 wide and as high as their part; `start` is where the start level lies.
    """

    levels: Sequence[float]
    line: str
    last: tuple[float, float]  # where it ends: across in percent, down in pixels
    start: float
    deepest: float  # the level that the lower part ends at
    under: str
    ticks: Sequence[Tick]


class CalibrationPoint(NamedTuple):
    """A group of decisions: x is what was stated, y the share that came right, with the ends of its interval."""

    x: float
    y: float
    radius: float
    top: float
    bottom: float


class Reliability(NamedTuple):
    """Stated against right, in a square of `SQUARE` that begins at `LEFT` and `HEAD`; `path` joins the points."""

    points: Sequence[CalibrationPoint]
    path: str
    marks: Sequence[tuple[float, float, int]]  # where a level lies across and up, and its number
    label: tuple[float, float]  # where the words on the diagonal end


class Axis:
    """A time axis over the width."""

    def __init__(self, first: datetime, last: datetime) -> None:
        self.first, self.last = first, last
        self._length = max((last - first).total_seconds(), 1.0)

    def position_of(self, moment: datetime) -> float:
        """The place of a moment, in percent; a moment outside is put at the edge."""
        share = (moment - self.first).total_seconds() / self._length
        return round(100 * min(max(share, 0.0), 1.0), 2)


LANE, TOP = 60, 26
_DAY = timedelta(days=1)
_LEAST = 14 * _DAY
"""No picture spans less: what was written a minute ago would fill it."""
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000)
MOST_TICKS = 7
MOST_BARS = 180


# Two clocks


def clocks(spells: Sequence[Spell], now: datetime, zone: tzinfo) -> Clocks:
    """The lanes of all versions. Of a fact that is far older than its record, only the near end is drawn."""
    axis = _axis(spells, now)
    lanes = [_lane(spell, axis, number, now) for number, spell in enumerate(spells)]
    height = TOP + LANE * len(spells) + 4
    return Clocks(height, axis.position_of(now), ticks(axis, zone), lanes)


def _axis(spells: Sequence[Spell], now: datetime) -> Axis:
    told = min(spell.kept_from for spell in spells)
    known = max(now - told, _LEAST)
    first = max(min(spell.true_from for spell in spells), told - 3 * known)
    ends = [spell.true_until for spell in spells if spell.true_until] + [spell.true_from for spell in spells]
    last = min(max(now, *ends), now + 3 * known)
    first, last = min(first, told), max(last, now)
    room = max(last - first, _LEAST) / 12
    return Axis(first - room, last + room)


def _lane(spell: Spell, axis: Axis, number: int, now: datetime) -> ChartLane:
    start = axis.position_of(spell.true_from)
    goes_on = spell.true_until is None or spell.true_until > axis.last
    end = 100.0 if spell.true_until is None else axis.position_of(spell.true_until)
    told, dropped = axis.position_of(spell.kept_from), axis.position_of(spell.kept_until or now)
    width = round(max(end - start, 0.6), 2)
    place = "within" if width >= 24 else "before" if start > 50 else "after"
    room = {"within": width, "before": start, "after": 100 - start - width}[place]
    return ChartLane(
        name=spell.name,
        said=_cut(spell.said, room),
        y=TOP + LANE * number,
        x=start,
        width=width,
        opens=spell.true_from < axis.first,
        goes_on=goes_on,
        kept_x=told,
        kept_width=round(max(dropped - told, 0.6), 2),
        still=spell.kept_until is None,
        lag=start if spell.true_from < spell.kept_from and told - start > 0.6 else None,
        place=place,
    )


def _cut(text: str, room: float) -> str:
    """As much as is likely to fit: in a column of the usual width about four letters go into five percent."""
    most = max(int(room * 0.8), 6)
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def ticks(axis: Axis, zone: tzinfo) -> list[Tick]:
    """Days, months or years, whatever gives a handful; every second one only where there is room."""
    span = axis.last - axis.first
    if span < 75 * _DAY:
        step = next(days for days in (1, 2, 3, 7, 14) if span / _DAY / days <= MOST_TICKS or days == 14)
        found = _by_days(axis, zone, step)
    else:
        months = span / _DAY / 30.4
        step = next(each for each in _MONTHS if months / each <= MOST_TICKS or each == _MONTHS[-1])
        found = _by_months(axis, zone, step)
    return [Tick(axis.position_of(moment), label, number % 2 == 1) for number, (moment, label) in enumerate(found)]


def axis_ticks(axis: Axis, zone: tzinfo, last: str) -> list[Tick]:
    """The first day at the left edge, `last` at the right one, and ticks where they leave room."""
    begins = in_zone(axis.first, zone)
    inner = [tick for tick in ticks(axis, zone) if 12 < tick.x < 89]
    middle = [tick.x for tick in inner if 25 < tick.x < 75][::2]  # beside the edges there is room on wide screens only
    inner = [tick._replace(wide=tick.x not in middle) for tick in inner]
    return [Tick(0.0, f"{begins.day} {begins:%b}", anchor="start"), *inner, Tick(100.0, last, anchor="end")]


def _midnight(day: date, zone: tzinfo) -> datetime:
    return datetime.combine(day, time.min, zone)


def _by_days(axis: Axis, zone: tzinfo, step: int) -> list[tuple[datetime, str]]:
    found, day = [], in_zone(axis.first, zone).date() + _DAY
    while (moment := _midnight(day, zone)) <= axis.last:
        found.append((moment, f"{day.day} {day:%b}"))
        day += timedelta(days=step)
    return found


def _by_months(axis: Axis, zone: tzinfo, step: int) -> list[tuple[datetime, str]]:
    """On the first of a month; January (or the first tick of a year) names its year."""
    found: list[tuple[datetime, str]] = []
    begins = in_zone(axis.first, zone)
    number = ceil((begins.year * 12 + begins.month) / step) * step
    year = begins.year
    while number // 12 < 9999:
        day = date(number // 12, number % 12 + 1, 1)
        if (moment := _midnight(day, zone)) > axis.last:
            break
        if moment >= axis.first:
            turned = day.year != year
            found.append((moment, f"{day.year}" if step >= 12 else f"{day:%b %y}" if turned else f"{day:%b}"))
            year = day.year
        number += step
    return found


# The ledger strip


def strip(counts: Mapping[date, int], axis: Axis, zone: tzinfo, until: datetime) -> Strip:
    """Entries per day; over a long time several days make one bar. Bars up to `until` lie in the past of that instant.
    A bar's height is the root of its count, so that a day of importing does not flatten all others."""
    begins, ends = in_zone(axis.first, zone).date(), in_zone(axis.last, zone).date()
    per_bar = ceil(((ends - begins).days + 1) / MOST_BARS)
    heaps: dict[int, int] = {}
    for day, count in counts.items():
        heap = (day - begins).days // per_bar
        heaps[heap] = heaps.get(heap, 0) + count
    most = max(heaps.values(), default=1)
    bars = []
    for heap, count in sorted(heaps.items()):
        start = _midnight(begins + timedelta(days=heap * per_bar), zone)
        middle = min(start + timedelta(days=per_bar) / 2, axis.last)
        bars.append(ChartBar(axis.position_of(middle), round(46 - 4 - 32 * sqrt(count / most), 1), start <= until))
    return Strip(bars, axis_ticks(axis, zone, "today"), per_bar)


# Lines


def curve(values: Sequence[float], *, low: float | None = None, high: float | None = None) -> ChartCurve:
    """A line through values at equal distances, between the given levels or its own extremes."""
    floor = min(values) if low is None else low
    top = max(values) if high is None else high
    height, steps = (top - floor) or 1.0, max(len(values) - 1, 1)
    dots = [(round(100 * n / steps, 2), round(100 * (top - value) / height, 2)) for n, value in enumerate(values)]
    path = "M" + "L".join(f"{x:g} {y:g}" for x, y in dots)
    return ChartCurve(path, dots, floor, top)


TOLD = 150
"""How high a history is."""
_SIDES = 4.0
_FEW = 4


def history_chart(said: Sequence[tuple[str, float, float | None]]) -> HistoryChart:
    """The chart of days with a figure from 0 to 100 and an optional second one; at equal distances, in order."""
    figures = [one for _, first, second in said for one in (first, second) if one is not None]
    low, high = max(0, 10 * floor(min(figures) / 10) - 10), min(100, 10 * ceil(max(figures) / 10) + 10)
    step = 10 if high - low <= 60 else 20
    high = min(100, low + step * ceil((high - low) / step))
    steps = max(len(said) - 1, 1)
    across = [round(_SIDES + (100 - 2 * _SIDES) * nth / steps, 2) for nth in range(len(said))]
    points, others = [], []
    for nth, (day, first, second) in enumerate(said):
        y = _y_in_history(first, low, high)
        under = second is not None and second > first
        wide = len(said) > _FEW and nth not in (0, len(said) - 1)
        points.append(HistoryDot(across[nth], y, f"{first:.0f}", y + 19 if under else y - 10, day, wide))
        if second is not None:
            others.append((across[nth], _y_in_history(second, low, high)))
    path = _svg_path([(one.x, one.y) for one in points])
    return HistoryChart(range(high, low - 1, -step), path, _svg_path(others), points, others)


def _y_in_history(value: float, low: float, high: float) -> float:
    return round(TOLD * (high - value) / (high - low), 1)


def _svg_path(places: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in places) if len(places) > 1 else ""


# Equity

TALL, SHALLOW = 220, 70
"""How high its two parts are."""
_STEPS = (1.0, 2.0, 2.5, 5.0)


FLAT = 1e-4
"""Under this a drawdown is a straight line."""


def equity_chart(
    days: Sequence[tuple[date, float, float]], start: float, zone: tzinfo, *, last: str, room: float = 0.01
) -> EquityChart:
    """The chart of days with equity and drawdown at the end of each; the first is the start. The levels are round
    numbers around all of it, at least a share of the start apart: a quiet week is no mountain."""
    values = [value for _, value, _ in days]
    levels = _levels(min(*values, start), max(*values, start), max(abs(start) * room, 1e-9))
    top, height = levels[0], levels[0] - levels[-1]
    deep = max(under for *_, under in days)
    deepest = _round_up(deep if deep > FLAT else room)
    first, end = days[0][0], days[-1][0]
    length = max((end - first).days, 1)
    across = [round(1000 * (day - first).days / length, 1) for day, *_ in days]
    drawn = [round(TALL * (top - value) / height, 1) for value in values]
    hung = [round(SHALLOW * under / deepest, 1) for *_, under in days]
    axis = Axis(_midnight(first + _DAY, zone), _midnight(max(end, first + _DAY) + _DAY, zone))  # each day at its end
    return EquityChart(
        levels=levels,
        line=_path(across, drawn),
        last=(across[-1] / 10, drawn[-1]),
        start=round(TALL * (top - start) / height, 1),
        deepest=deepest,
        under=_path(across, hung),
        ticks=axis_ticks(axis, zone, last),
    )


def _path(across: Sequence[float], down: Sequence[float]) -> str:
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in zip(across, down, strict=True))


def _levels(low: float, high: float, least: float) -> list[float]:
    """Round levels from above the highest to below the lowest, the highest first; three steps or one more."""
    step = _round_up(max((high - low) / 3, least))
    bottom, top = floor(low / step), ceil(high / step)
    return [round(number * step, 10) for number in range(max(top, bottom + 1), bottom - 1, -1)]


def _round_up(value: float) -> float:
    """The next round number: 1, 2, 2.5 or 5 of its size."""
    size = 10.0 ** floor(log10(value))
    return next((step * size for step in _STEPS if value <= step * size * (1 + 1e-9)), 10 * size)


# Calibration

SQUARE, LEFT, HEAD = 300, 34, 14


def reliability(groups: Sequence[tuple[float, float, tuple[float, float], int]]) -> Reliability:
    """The chart of groups (stated 0 to 100, share that came right, its interval, count), in the order of what was
    stated. A point's area grows with its count, from a size that can be seen to one that hides no other."""
    points = [
        CalibrationPoint(
            _across(stated / 100),
            _y_in_square(share),
            round(min(2.4 + 1.04 * sqrt(count), 14), 1),
            _y_in_square(high),
            _y_in_square(low),
        )
        for stated, share, (low, high), count in groups
    ]
    path = "M" + "L".join(f"{point.x:g} {point.y:g}" for point in points) if points else ""
    marks = [(_across(n / 100), _y_in_square(n / 100), n) for n in (0, 25, 50, 75, 100)]
    return Reliability(points, path, marks, _beside_the_diagonal(points))


def _beside_the_diagonal(points: Sequence[CalibrationPoint]) -> tuple[float, float]:
    """Where words fit above the diagonal without touching a bar or the line between the points."""
    drawn = [(point.x, point.bottom + (point.top - point.bottom) * nth / 40) for point in points for nth in range(41)]
    drawn += [
        (one.x + (other.x - one.x) * nth / 40, one.y + (other.y - one.y) * nth / 40)
        for one, other in pairwise(points)
        for nth in range(41)
    ]
    spots = [
        (_across(share / 100) - 9, _y_in_square(share / 100) - 12) for share in (27, 92, 60, 45, 75, 35, 52, 68, 84)
    ]
    for right, base in spots:
        if not any(right - 60 <= x <= right + 4 and base - 16 <= y <= base + 6 for x, y in drawn):
            return right, base
    return spots[0]


def _across(share: float) -> float:
    return round(LEFT + SQUARE * share, 1)


def _y_in_square(share: float) -> float:
    return round(HEAD + SQUARE * (1 - share), 1)
