"""Scores of one forecast against what happened: proper scores, so stating what one believes scores best on average.

Lower is better. Pure functions. A yes or no has the Brier and the log score. Several classes have the Brier score over
all of them, the log score of the class that came true, and, if they have an order, the ranked probability score. A
number with quantiles has the mean pinball loss, the interval score of the widest central interval, and twice the
pinball loss as an approximation of the CRPS, which becomes better the more quantiles are stated.
"""

import math
from collections.abc import Mapping, Sequence

LEAST_PROBABILITY = 0.001
"""The log score takes a smaller probability for this one: else one forecast of 0 would outweigh all others."""
_ONE = 1e-9
"""Two levels count as a pair if their sum differs from 1 by no more than this."""


def brier(said: float, came: bool) -> float:
    """The squared difference between a probability and what happened (1 or 0)."""
    return (said - came) ** 2


def log_score(said: float) -> float:
    """The negative natural logarithm of the probability that was stated for what happened."""
    return -math.log(max(said, LEAST_PROBABILITY))


def brier_over_classes(said: Mapping[str, float], came: str) -> float:
    """The sum of the squares over all classes, from 0 to 2."""
    return math.fsum(brier(share, name == came) for name, share in said.items())


def ranked_probability_score(said: Mapping[str, float], came: str) -> float:
    """The sum of the squared differences between the cumulated probabilities and what happened, over the classes in
    their order."""
    cumulated, has_come, squares = 0.0, False, []
    for name, share in said.items():
        cumulated += share
        has_come = has_come or name == came
        squares.append((cumulated - has_come) ** 2)
    return math.fsum(squares)


def pinball(level: float, said: float, came: float) -> float:
    """The loss of one quantile: `level` for each unit by which it was too low, 1 - `level` for each by which it was too
    high."""
    if came > said:
        return level * (came - said)
    return (1 - level) * (said - came)


def mean_pinball(quantiles: Mapping[float, float], came: float) -> float:
    return math.fsum(pinball(level, said, came) for level, said in quantiles.items()) / len(quantiles)


def crps_approximation(quantiles: Mapping[float, float], came: float) -> float:
    """Twice the mean pinball loss over the levels that were stated."""
    return 2 * mean_pinball(quantiles, came)


def widest_interval(levels: Sequence[float]) -> tuple[float, float] | None:
    """The outermost two levels that are symmetric around 0.5, such as 0.1 and 0.9."""
    for low in sorted(level for level in levels if level < 0.5):
        for high in levels:
            if abs(low + high - 1) <= _ONE:
                return low, high
    return None


def interval_score(low: float, high: float, came: float, miss: float) -> float:
    """The width of an interval, plus a penalty of 2 / `miss` for each unit by which it was missed. `miss` is the stated
    probability of a miss: 0.2 for an interval of 80 %."""
    return (high - low) + 2 / miss * (max(low - came, 0.0) + max(came - high, 0.0))
