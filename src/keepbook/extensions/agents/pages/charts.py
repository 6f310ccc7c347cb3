"""The geometry of an agent's charts: a figure over time (history), and stated against right (reliability).

Only numbers are computed here; `parts/agent_charts.html` draws them. `doors/http/web/frame/charts.py` does the same for
the core's charts.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, floor, sqrt
from typing import NamedTuple


class HistoryDot(NamedTuple):
    """A point of a history chart: x in percent, y in pixels, its value, the y of that label, and the day below it.

    A `wide` point has its day only where the chart is wide enough.
    """

    x: float
    y: float
    figure: str
    figure_y: float
    day: str
    wide: bool


class HistoryChart(NamedTuple):
    """A value over time, and a second line (`second`, through `others`), which may begin later."""

    levels: Sequence[int]
    line: str
    second: str
    points: Sequence[HistoryDot]
    others: Sequence[tuple[float, float]]


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
    marks: Sequence[tuple[float, float, int]]  # a level from 0 to 100: its x on one axis, its y on the other, itself
    label: tuple[float, float]  # x and y of the end of the words beside the diagonal


# History

HEIGHT = 150
"""Height of a history chart in pixels."""
_MARGIN = 4.0  # percent of the width that is free at each side
_ALL_DAYS = 4
"""Up to this many points each has its day below it, however narrow the chart is."""


def history_chart(said: Sequence[tuple[str, float, float | None]]) -> HistoryChart:
    """The chart of (day, figure from 0 to 100, second figure or None), in order and at equal distances."""
    seconds = [second for _, _, second in said if second is not None]
    figures = [first for _, first, _ in said] + seconds
    low, high = max(0, 10 * floor(min(figures) / 10) - 10), min(100, 10 * ceil(max(figures) / 10) + 10)
    step = 10 if high - low <= 60 else 20
    high = min(100, low + step * ceil((high - low) / step))
    last = len(said) - 1
    points, others = [], []
    for nth, (day, first, second) in enumerate(said):
        x = round(_MARGIN + (100 - 2 * _MARGIN) * nth / max(last, 1), 2)
        y = _y_in_history(first, low, high)
        second_is_above = second is not None and second > first
        figure_y = y + 19 if second_is_above else y - 10
        wide = len(said) > _ALL_DAYS and nth not in (0, last)
        points.append(HistoryDot(x, y, f"{first:.0f}", figure_y, day, wide))
        if second is not None:
            others.append((x, _y_in_history(second, low, high)))
    path = _svg_path([(one.x, one.y) for one in points])
    levels = range(high, low - 1, -step)
    return HistoryChart(levels=levels, line=path, second=_svg_path(others), points=points, others=others)


def _y_in_history(value: float, low: float, high: float) -> float:
    return round(HEIGHT * (high - value) / (high - low), 1)


def _svg_path(places: Sequence[tuple[float, float]]) -> str:
    if len(places) > 1:
        return "M" + "L".join(f"{x:g} {y:g}" for x, y in places)
    return ""


# Calibration

SQUARE, LEFT, HEAD = 300, 34, 14
"""Pixels: the side of the square, and its distance from the left and from the top."""


def reliability(groups: Sequence[tuple[float, float, tuple[float, float], int]]) -> Reliability:
    """The chart of groups (stated 0 to 100, share that came right, its interval, count), in the order of what was
    stated. A point's area grows with its count, from a size that can be seen to one that hides no other."""
    points = [
        CalibrationPoint(
            x=_x_in_square(stated / 100),
            y=_y_in_square(share),
            radius=round(min(2.4 + 1.04 * sqrt(count), 14), 1),
            top=_y_in_square(high),
            bottom=_y_in_square(low),
        )
        for stated, share, (low, high), count in groups
    ]
    path = ""
    if points:
        path = "M" + "L".join(f"{point.x:g} {point.y:g}" for point in points)
    marks = [(_x_in_square(n / 100), _y_in_square(n / 100), n) for n in (0, 25, 50, 75, 100)]
    return Reliability(points, path, marks, label=_beside_the_diagonal(points))


def _beside_the_diagonal(points: Sequence[CalibrationPoint]) -> tuple[float, float]:
    """Where words fit above the diagonal without touching a bar or the line between the points.

    Bars and lines are taken as 41 dots each; the first spot of a list is taken whose rectangle has no dot in it.
    """
    dots = [(point.x, point.bottom + (point.top - point.bottom) * nth / 40) for point in points for nth in range(41)]
    dots += [
        (one.x + (other.x - one.x) * nth / 40, one.y + (other.y - one.y) * nth / 40)
        for one, other in pairwise(points)
        for nth in range(41)
    ]
    shares = (0.27, 0.92, 0.6, 0.45, 0.75, 0.35, 0.52, 0.68, 0.84)  # along the diagonal, the best spots first
    spots = [(_x_in_square(share) - 9, _y_in_square(share) - 12) for share in shares]
    for right, base in spots:
        if not any(right - 60 <= x <= right + 4 and base - 16 <= y <= base + 6 for x, y in dots):
            return right, base
    return spots[0]


def _x_in_square(share: float) -> float:
    return round(LEFT + SQUARE * share, 1)


def _y_in_square(share: float) -> float:
    return round(HEAD + SQUARE * (1 - share), 1)
