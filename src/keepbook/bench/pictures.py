"""A chart of lines on two scales of powers of ten, written as SVG by hand: light and dark, and readable as text."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDE, HIGH, LEFT, TOP, RIGHT, BELOW = 800, 420, 100, 48, 210, 44
COLOURS = ("#1C4F93", "#9A4A12", "#2E6B3F", "#7A2E6B", "#8A6D00", "#4B5A63", "#B03A48")
STYLE = """
  .ground { fill: #FBFCFA } .grid { stroke: #D3DDE0 } text { font-family: sans-serif; font-size: 12px; fill: #3A4852 }
  .title { font-size: 16px; fill: #16212B }
  @media (prefers-color-scheme: dark) { .ground { fill: #131B20 } .grid { stroke: #28353C } text { fill: #93A1A6 }
    .title { fill: #E6ECE8 } }
"""
DASHES = ("", "6 3", "2 3")


@dataclass(frozen=True, slots=True)
class PlotLine:
    """A name, its points, and the group that gives it its colour; within a group lines differ by their dashes."""

    name: str
    points: Sequence[tuple[float, float]]
    group: str


def chart(title: str, across: str, up: str, lines: Sequence[PlotLine]) -> str:
    xs = _span([x for line in lines for x, _ in line.points])
    ys = _span([y for line in lines for _, y in line.points])

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            LEFT + (WIDE - LEFT - RIGHT) * (math.log10(x) - xs[0]) / (xs[1] - xs[0]),
            HIGH - BELOW - (HIGH - TOP - BELOW) * (math.log10(y) - ys[0]) / (ys[1] - ys[0]),
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" role="img" aria-labelledby="title">',
        f'<title id="title">{escape(title)}: {escape(up)} by {escape(across)}</title>',
        f'<style>{STYLE}</style><rect width="{WIDE}" height="{HIGH}" class="ground"/>',
        f'<text x="{LEFT}" y="28" class="title">{escape(title)}</text>',
    ]
    for power in range(xs[0], xs[1] + 1):
        x, bottom = place(10.0**power, 10.0 ** ys[0])
        parts.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom:.1f}" class="grid"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 18:.1f}" text-anchor="middle">{10**power:,}</text>')
    for power in range(ys[0], ys[1] + 1):
        x, y = place(10.0 ** xs[0], 10.0**power)
        parts.append(f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{WIDE - RIGHT}" y2="{y:.1f}" class="grid"/>')
        parts.append(
            f'<text x="{x - 8:.1f}" y="{y + 4:.1f}" text-anchor="end">{_power_label(power)} {escape(up)}</text>'
        )
    return "\n".join([*parts, *_draw_lines(lines, place), "</svg>", ""])


def _draw_lines(lines: Sequence[PlotLine], place: Callable[[float, float], tuple[float, float]]) -> list[str]:
    groups = list(dict.fromkeys(line.group for line in lines))
    seen: dict[str, int] = {}
    parts = []
    for nth, line in enumerate(lines):
        dash = DASHES[seen.get(line.group, 0) % len(DASHES)]
        seen[line.group] = seen.get(line.group, 0) + 1
        colour = COLOURS[groups.index(line.group) % len(COLOURS)]
        way = " ".join("{:.1f},{:.1f}".format(*place(*point)) for point in line.points)
        look = f'fill="none" stroke="{colour}" stroke-width="2"' + (f' stroke-dasharray="{dash}"' if dash else "")
        parts.append(f'<polyline points="{way}" {look}/>')
        y, x = TOP + 8 + nth * 17, WIDE - RIGHT + 16
        parts.append(f'<polyline points="{x},{y} {x + 26},{y}" {look}/>')
        parts.append(f'<text x="{x + 32}" y="{y + 4}">{escape(line.name)}</text>')
    return parts


def _power_label(power: int) -> str:
    if power >= 0:
        return f"{10**power:,}"
    return f"{10.0**power:g}"


def _span(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)
