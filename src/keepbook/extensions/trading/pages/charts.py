"""The geometry of the equity chart: figures of days in, places in a drawing out.

Pure and without markup; `parts/equity.html` draws it. How the core's charts are measured stands in
`doors/http/web/frame/charts.py`.
"""

from collections.abc import Sequence
from datetime import date, timedelta, tzinfo
from math import ceil, floor, log10
from typing import NamedTuple

from keepbook.doors.http.web.frame.charts import Axis, Tick, axis_ticks, midnight


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


TALL, SHALLOW = 220, 70
"""How high its two parts are."""
_DAY = timedelta(days=1)
_STEPS = (1.0, 2.0, 2.5, 5.0)  # the round numbers that a scale may end at
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
    if deep > FLAT:
        deepest = _round_up(deep)
    else:
        deepest = _round_up(room)
    first, end = days[0][0], days[-1][0]
    length = max((end - first).days, 1)
    across = [round(1000 * (day - first).days / length, 1) for day, *_ in days]
    drawn = [round(TALL * (top - value) / height, 1) for value in values]
    hung = [round(SHALLOW * under / deepest, 1) for *_, under in days]
    axis = Axis(midnight(first + _DAY, zone), midnight(max(end, first + _DAY) + _DAY, zone))  # each day at its end
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
