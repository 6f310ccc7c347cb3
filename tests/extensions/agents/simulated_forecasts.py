"""Forecasters by chance: calibrated ones whose outcomes hang together by day, and one who is too sure.

An outcome comes true where its own share of luck and that of its day together fall below what was stated, so that each
alone is exactly as likely as was said, whatever the day does. Nothing of the program takes part in it.
"""

from collections.abc import Callable, Iterator
from random import Random
from statistics import NormalDist
from typing import NamedTuple

NORMAL = NormalDist()


class Forecaster(NamedTuple):
    """How somebody forecasts: what is stated, over how many days, how much a day's outcomes have in common."""

    name: str
    stated: Callable[[Random], float]
    days: int | None = None
    together: float = 0.0
    true: Callable[[float], float] = float


def widely(dice: Random) -> float:
    return dice.uniform(0.05, 0.95)


def near_half(dice: Random) -> float:
    return dice.uniform(0.4, 0.6)


def near_the_ends(dice: Random) -> float:
    share = dice.betavariate(0.5, 15)
    return share if dice.random() < 0.5 else 1 - share


def rarely(dice: Random) -> float:
    return dice.uniform(0.01, 0.06)


CALIBRATED = [
    *(Forecaster(f"independent, {name}", stated) for name, stated in
      (("anywhere", widely), ("near 50", near_half), ("near 0 or 100", near_the_ends), ("near 0", rarely))),
    *(Forecaster(f"days together {together}, {days} days, {name}", stated, days, together)
      for together in (0.2, 0.5) for days in (10, 20, 60)
      for name, stated in (("anywhere", widely), ("near 0 or 100", near_the_ends))),
    Forecaster("days together 0.5, 20 days, near 0", rarely, 20, 0.5),
    Forecaster("days together 0.5, 20 days, near 50", near_half, 20, 0.5),
]  # fmt: skip
TOO_SURE = Forecaster("too sure", widely, 100, 0.0, lambda stated: 0.5 + 0.5 * (stated - 0.5))


def forecasts_of(who: Forecaster, count: int, dice: Random) -> Iterator[tuple[float, bool, str]]:
    """Stated, whether it came true, and the day, in the order of the days."""
    own, shared, day, weather = (1 - who.together) ** 0.5, who.together**0.5, -1, 0.0
    for nth in range(count):
        today = nth if who.days is None else nth * who.days // count
        if today != day:
            day, weather = today, dice.gauss(0, 1)
        stated = min(max(round(who.stated(dice), 2), 0.002), 0.998)
        came = own * dice.gauss(0, 1) + shared * weather < NORMAL.inv_cdf(who.true(stated))
        yield stated, came, f"{day:04}"
