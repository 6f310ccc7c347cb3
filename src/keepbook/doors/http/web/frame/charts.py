"""The geometry of the charts: computes positions in a drawing from numbers and dates.

Pure functions without markup; `parts/charts.html` draws them. x is in percent of the width, so that a chart fills its
column without a script; y is in pixels, so that text and strokes keep their size.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from math import ceil, sqrt
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
    """A version on both clocks: from when to when it is true in the world, and was held in the book. An end of None
    means that it still is."""

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


class Axis:
    """A time axis over the width."""

    def __init__(self, first: datetime, last: datetime) -> None:
        self.first: datetime = first
        self.last: datetime = last
        self._length = max((last - first).total_seconds(), 1.0)

    def position_of(self, moment: datetime) -> float:
        """The place of a moment, in percent; a moment outside is put at the edge."""
        share = (moment - self.first).total_seconds() / self._length
        return round(100 * min(max(share, 0.0), 1.0), 2)


LANE, TOP = 60, 26
_DAY = timedelta(days=1)
_LEAST = 14 * _DAY
"""The shortest time that a chart shows: without it, something written a minute ago would fill the chart."""
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000)
MOST_TICKS = 7
MOST_BARS = 180


# Two clocks


def clocks(spells: Sequence[Spell], now: datetime, zone: tzinfo) -> Clocks:
    """The lanes of all versions. If a fact is far older than its record, only its later part is drawn."""
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
    if spell.true_until is None:
        end = 100.0
    else:
        end = axis.position_of(spell.true_until)
    told, dropped = axis.position_of(spell.kept_from), axis.position_of(spell.kept_until or now)
    width = round(max(end - start, 0.6), 2)
    if width >= 24:
        place = "within"
    elif start > 50:
        place = "before"
    else:
        place = "after"
    room = {"within": width, "before": start, "after": 100 - start - width}[place]
    lag = None
    if spell.true_from < spell.kept_from and told - start > 0.6:
        lag = start
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
        lag=lag,
        place=place,
    )


def _cut(text: str, room: float) -> str:
    """The text, cut to what is likely to fit: at the usual width, about four characters to five percent."""
    most = max(int(room * 0.8), 6)
    if len(text) <= most:
        return text
    return f"{text[: most - 1].rstrip()}…"


def ticks(axis: Axis, zone: tzinfo) -> list[Tick]:
    """Ticks at days, months or years, so that there are up to MOST_TICKS; every second one is `wide`."""
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
    """Ticks with the first day at the left edge and `last` at the right one, and others between them where there is
    room."""
    begins = in_zone(axis.first, zone)
    inner = [tick for tick in ticks(axis, zone) if 12 < tick.x < 89]
    middle = [tick.x for tick in inner if 25 < tick.x < 75][::2]  # beside the edges there is room on wide screens only
    inner = [tick._replace(wide=tick.x not in middle) for tick in inner]
    return [Tick(0.0, f"{begins.day} {begins:%b}", anchor="start"), *inner, Tick(100.0, last, anchor="end")]


def midnight(day: date, zone: tzinfo) -> datetime:
    """The instant at which a day begins in a zone."""
    return datetime.combine(day, time.min, zone)


def _by_days(axis: Axis, zone: tzinfo, step: int) -> list[tuple[datetime, str]]:
    found, day = [], in_zone(axis.first, zone).date() + _DAY
    while (moment := midnight(day, zone)) <= axis.last:
        found.append((moment, f"{day.day} {day:%b}"))
        day += timedelta(days=step)
    return found


def _by_months(axis: Axis, zone: tzinfo, step: int) -> list[tuple[datetime, str]]:
    """Ticks on the first of a month. The first tick of each year shows the year."""
    found: list[tuple[datetime, str]] = []
    begins = in_zone(axis.first, zone)
    number = ceil((begins.year * 12 + begins.month) / step) * step
    year = begins.year
    while number // 12 < 9999:
        day = date(number // 12, number % 12 + 1, 1)
        if (moment := midnight(day, zone)) > axis.last:
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
        start = midnight(begins + timedelta(days=heap * per_bar), zone)
        middle = min(start + timedelta(days=per_bar) / 2, axis.last)
        bars.append(ChartBar(axis.position_of(middle), round(46 - 4 - 32 * sqrt(count / most), 1), start <= until))
    return Strip(bars, axis_ticks(axis, zone, "today"), per_bar)


# Lines


def curve(values: Sequence[float], *, low: float | None = None, high: float | None = None) -> ChartCurve:
    """A line through values at equal distances, between the given levels or its own extremes."""
    if low is None:
        floor = min(values)
    else:
        floor = low
    if high is None:
        top = max(values)
    else:
        top = high
    height, steps = (top - floor) or 1.0, max(len(values) - 1, 1)
    dots = [(round(100 * n / steps, 2), round(100 * (top - value) / height, 2)) for n, value in enumerate(values)]
    path = "M" + "L".join(f"{x:g} {y:g}" for x, y in dots)
    return ChartCurve(path, dots, floor, top)
