"""The geometry of an agent's charts: what was said over time, and what was stated against what came right.

Pure and without markup; `parts/agent_charts.html` draws it. How the core's charts are measured stands in
`doors/http/web/frame/charts.py`.
"""

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, floor, sqrt
from typing import NamedTuple


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


# History

TOLD = 150
"""How high a history is."""
_SIDES = 4.0
_FEW = 4


def history_chart(said: Sequence[tuple[str, float, float | None]]) -> HistoryChart:
    """The chart of days with a figure from 0 to 100 and an optional second one; at equal distances, in order."""
    every = [one for _, first, second in said for one in (first, second)]
    figures = [one for one in every if one is not None]
    low, high = max(0, 10 * floor(min(figures) / 10) - 10), min(100, 10 * ceil(max(figures) / 10) + 10)
    if high - low <= 60:
        step = 10
    else:
        step = 20
    high = min(100, low + step * ceil((high - low) / step))
    steps = max(len(said) - 1, 1)
    across = [round(_SIDES + (100 - 2 * _SIDES) * nth / steps, 2) for nth in range(len(said))]
    points, others = [], []
    for nth, (day, first, second) in enumerate(said):
        y = _y_in_history(first, low, high)
        under = second is not None and second > first
        wide = len(said) > _FEW and nth not in (0, len(said) - 1)
        if under:
            figure_y = y + 19
        else:
            figure_y = y - 10
        points.append(HistoryDot(across[nth], y, f"{first:.0f}", figure_y, day, wide))
        if second is not None:
            others.append((across[nth], _y_in_history(second, low, high)))
    path = _svg_path([(one.x, one.y) for one in points])
    return HistoryChart(range(high, low - 1, -step), path, _svg_path(others), points, others)


def _y_in_history(value: float, low: float, high: float) -> float:
    return round(TOLD * (high - value) / (high - low), 1)


def _svg_path(places: Sequence[tuple[float, float]]) -> str:
    if len(places) > 1:
        return "M" + "L".join(f"{x:g} {y:g}" for x, y in places)
    return ""


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
    path = ""
    if points:
        path = "M" + "L".join(f"{point.x:g} {point.y:g}" for point in points)
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
