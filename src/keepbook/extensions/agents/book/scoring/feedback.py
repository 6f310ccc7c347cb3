"""Lines that tell a forecaster how its earlier percentages turned out: your 80 means 63."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keepbook.extensions.agents.book.calibration import Calibration

FEEDBACK_FROM = 30
"""How many resolved forecasts a band of ten needs for a line."""


def feedback_lines(found: "Calibration") -> list[str]:
    """One line for each band of ten with enough resolved."""
    lines = []
    for band in found.bands:
        if band.count < FEEDBACK_FROM or band.share is None or band.interval is None:
            continue
        low, high = (round(100 * edge) for edge in band.interval)
        lines.append(
            f"Your {band.stated:.0f} means {100 * band.share:.0f}: {band.right} of {band.count} came true "
            f"(95 % interval {low} to {high} %)."
        )
    return lines
