"""Means and shares with a confidence interval that treats outcomes of one day as dependent.

Outcomes of one day depend on each other: a hundred outcomes of ten days say not much more than ten. So the spread is
that between whole days. With few days, or days of very different size, it is widened by Student's t with as many
degrees of freedom as there are days that count. A "day" may be any name for outcomes that belong together.
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache

FEWEST_DAYS = 6
"""With fewer days than this, no interval of a mean is given."""
_Z = 1.959963984540054  # 97.5 % of a normal distribution: two-sided 95 %


@dataclass(frozen=True, slots=True)
class MeanByDays:
    """A mean of `count` values on `days` days, and its 95 % interval; `low` and `high` are None with fewer than six
    days."""

    mean: float
    low: float | None
    high: float | None
    count: int
    days: int


def mean_by_days(values: Sequence[float], days: Sequence[Hashable]) -> MeanByDays:
    """The mean of values, each of which belongs to a day."""
    sums, counts = sum_by_days(values, days)
    count = len(values)
    mean = math.fsum(values) / count
    if len(sums) < FEWEST_DAYS:
        return MeanByDays(mean, None, None, count, len(sums))
    error = _error_of_mean(sums, counts, mean)
    alike = count * count / sum(many * many for many in counts)  # days of the same size that would weigh as much
    half = student_quantile(max(1, math.floor(alike) - 1)) * error
    return MeanByDays(mean, mean - half, mean + half, count, len(sums))


def share_by_days(came: Sequence[bool], days: Sequence[Hashable]) -> tuple[float, float]:
    """The 95 % interval of a share: Wilson's, for as many independent outcomes as these are worth."""
    sums, counts = sum_by_days([float(one) for one in came], days)
    count, right = len(came), sum(came)
    worth = float(len(sums))
    if len(sums) >= FEWEST_DAYS:
        share = right / count
        alone = share * (1 - share) / count
        together = _error_of_mean(sums, counts, share) ** 2
        if together <= alone:
            worth = count
        else:
            worth = max(1.0, count * alone / together)
    return wilson(right / count * worth, worth)


def wilson(right: float, count: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a share, which is right for few outcomes too, and never outside 0 to 1."""
    share, z2 = right / count, _Z * _Z
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = _Z / (1 + z2 / count) * math.sqrt(share * (1 - share) / count + z2 / (4 * count * count))
    return max(0.0, middle - half), min(1.0, middle + half)


def student(t: float, freedom: int) -> float:
    """The two-sided probability of a t of this size or more, for a whole number of degrees of freedom."""
    angle = math.atan2(abs(t), math.sqrt(freedom))
    cosine, odd = math.cos(angle), freedom % 2
    if odd:
        term = total = cosine
    else:
        term = total = 1.0
    for each in range(2 + odd, freedom, 2):
        term *= cosine * cosine * (each - 1) / each
        total += term
    within = math.sin(angle) * total
    if odd:
        within = (angle + (within if freedom > 1 else 0.0)) * 2 / math.pi
    return max(0.0, 1.0 - within)


@lru_cache(maxsize=256)
def student_quantile(freedom: int, p: float = 0.05) -> float:
    """The t that is reached with the two-sided probability `p`."""
    freedom = min(freedom, 1000)  # from there on it is the normal distribution, to three digits
    low, high = 0.0, 1.0
    while student(high, freedom) > p:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        if student(middle, freedom) > p:
            low = middle
        else:
            high = middle
    return high


def sum_by_days(values: Sequence[float], days: Sequence[Hashable]) -> tuple[list[float], list[int]]:
    """The sum of each day and how many values it has, in the order in which the days first occur."""
    found: defaultdict[Hashable, list[float]] = defaultdict(list)
    for value, day in zip(values, days, strict=True):
        found[day].append(value)
    return [math.fsum(some) for some in found.values()], [len(some) for some in found.values()]


def _error_of_mean(sums: Sequence[float], counts: Sequence[int], mean: float) -> float:
    days = len(sums)
    squares = math.fsum((total - count * mean) ** 2 for total, count in zip(sums, counts, strict=True))
    return math.sqrt(days / (days - 1) * squares) / sum(counts)
