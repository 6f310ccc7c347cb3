"""Scores of one forecast against what happened; lower is better, and honesty scores best on average.

Pure and without a book. Yes or no: Brier and log score. Several classes: Brier over all of them, log score of the one
it came to, and the ranked probability score where they have an order. A number with quantiles: the mean pinball loss,
the interval score of the widest central interval, and twice the pinball loss as an approximation of the CRPS, which
needs the whole distribution and gets closer to it the more levels are stated.
"""

import math
from collections.abc import Mapping, Sequence

LEAST_PROBABILITY = 0.001
"""The log score counts a smaller probability as this one: one forecast of 0 would outweigh all others."""
_ONE = 1e-9
"""By so much two levels may miss adding up to one."""


def brier(said: float, came: bool) -> float:
    """The square of how far a probability was from what happened."""
    return (said - came) ** 2


def log_score(said: float) -> float:
    """Of the probability that was given to what happened: its negative natural logarithm."""
    return -math.log(max(said, LEAST_PROBABILITY))


def brier_over_classes(said: Mapping[str, float], came: str) -> float:
    """The sum of the squares over all classes, from 0 to 2."""
    return math.fsum(brier(share, name == came) for name, share in said.items())


def ranked_probability_score(said: Mapping[str, float], came: str) -> float:
    """The sum of the squares between the cumulated shares and what happened, over classes in their order."""
    total, reached, squares = 0.0, False, []
    for name, share in said.items():
        total, reached = total + share, reached or name == came
        squares.append((total - reached) ** 2)
    return math.fsum(squares)


def pinball(level: float, said: float, came: float) -> float:
    """The loss of one quantile: `level` for each unit it lies too low, the rest of one for each it lies too high."""
    if came > said:
        return level * (came - said)
    return (1 - level) * (said - came)


def mean_pinball(quantiles: Mapping[float, float], came: float) -> float:
    return math.fsum(pinball(level, said, came) for level, said in quantiles.items()) / len(quantiles)


def crps_approximation(quantiles: Mapping[float, float], came: float) -> float:
    """Twice the mean pinball loss over the levels that were stated."""
    return 2 * mean_pinball(quantiles, came)


def widest_interval(levels: Sequence[float]) -> tuple[float, float] | None:
    """The outermost two levels that lie evenly around the middle, such as 0.1 and 0.9."""
    for low in sorted(level for level in levels if level < 0.5):
        for high in levels:
            if abs(low + high - 1) <= _ONE:
                return low, high
    return None


def interval_score(low: float, high: float, came: float, miss: float) -> float:
    """The width of an interval, and for a miss 2 / `miss` for each unit, where `miss` is how likely that was said to
    be: 0.2 of an interval for 80 %."""
    return (high - low) + 2 / miss * (max(low - came, 0.0) + max(came - high, 0.0))
