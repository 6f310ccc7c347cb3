"""Prices for the story: a few pairs with three bars a day, always the same, up to the day on which the story ends.

They are a random walk with a drift that changes every two weeks. One fall is drawn by hand: that of the trade whose
conviction the story follows.
"""

import math
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from keepbook.demo.plays import Calendar

PAIRS = {"BTC/EUR": 71_400.0, "ETH/EUR": 2_640.0, "SOL/EUR": 128.0}
"""Each with the price it begins at."""
FALLING = "SOL/EUR"
DAYS = 105  # of bars before the end of the story
CLIMBS_FROM = 0.87
FALL = {
    -24: 0.89, -23: 0.915, -22: 0.945, -21: 0.972, -20: 1.0, -19: 0.995, -18: 0.982, -17: 0.972, -16: 0.965,
    -15: 0.955, -14: 0.945, -13: 0.936, -12: 0.914,
}  # fmt: skip
"""The closes of the days around the trade that goes wrong, as shares of its entry, by days before the end."""
_DRIFTS = (-0.009, -0.004, 0.004, 0.009)


def price_lines(calendar: Calendar) -> Iterator[str]:
    """The lines of a CSV file of the bars that are complete when the story ends."""
    yield "symbol,timeframe,time,open,high,low,close"
    midnight = datetime.combine(calendar.now.date(), datetime.min.time(), UTC)
    for symbol, first in PAIRS.items():
        for hours, *prices in _random_walk(symbol, first):
            begins = midnight + timedelta(hours=hours)
            if begins + timedelta(hours=8) <= calendar.now:
                yield f"{symbol},8h,{begins:%Y-%m-%dT%H:%M:%SZ},{','.join(f'{price:.6g}' for price in prices)}"


def _random_walk(symbol: str, close: float) -> Iterator[tuple[int, float, float, float, float]]:
    """The bars of a symbol: hours from the last midnight, open, high, low, close."""
    dice, drift, bought = random.Random(symbol), 0.0, 0.0
    for day in range(-DAYS, 1):
        if day % 14 == 0:
            drift = dice.choice(_DRIFTS)
        for part in (1, 2, 3):
            opened = close
            close *= math.exp(drift / 3 + dice.gauss(0, 0.01))
            reach = 1 + abs(dice.gauss(0, 0.006))
            if symbol == FALLING and day in FALL:
                bought = bought or opened / CLIMBS_FROM
                before = FALL.get(day - 1, CLIMBS_FROM)
                close, reach = bought * (before + (FALL[day] - before) * part / 3), 1.02
            yield 24 * day + 8 * part - 8, opened, max(opened, close) * reach, min(opened, close) / reach, close
