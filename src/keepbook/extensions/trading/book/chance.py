"""The p-value of a group of trades: how likely its mean is as far from zero by chance alone.

Trades of one day depend on each other, so a group is described by its days: the sum of returns on each, and the number
of trades. The group's mean, in standard errors by days, is compared with that of random groups. These have as many days
and trades and are drawn from all trades of the book, less their mean, each day's trades from one day. So a strategy is
compared with the variation of its own results. If positions are held for more than a day, weeks are taken in place of
days. The level of 10 % is for all looks together: findings are looked for at 30, 60, 120 … trades, and each look has a
fixed part of it.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from operator import itemgetter, mul
from random import Random

from keepbook.book.ground.by_days import student

FIRST_TRADES = 30
"""The number of trades at the first look; the next looks are at every doubling."""
FEWEST_CLOSING_DAYS = 12
FALSE_DISCOVERIES = 0.10  # the share of findings that may be due to chance
RESAMPLES = 20_000  # random groups that are drawn for a p-value, at most
BEYOND = 20
"""Drawing stops when this many random groups were further from zero: then p is not small, and known well enough."""
INTERVAL_SAMPLES = 4000  # that are drawn for an interval
_EARLY_PARTS = (0.0, 0.15, 0.15, 0.45)
_LATER_PARTS = 0.25
"""The parts of the 10 %: _EARLY_PARTS before 30 trades and at 30, 60 and 120; _LATER_PARTS for all later looks
together, each with half as much as the one before."""
LARGE = 60
"""For groups of more days, Student's t is used in place of random groups."""

DaySums = tuple[tuple[float, int], ...]
"""For each day of a group, the sum of returns and the number of trades."""


# Looks


def judged_trades(count: int) -> int:
    """How many trades were judged at the last look, if there are `count`: 30, 60, 120 …; 0 before the first look."""
    if count < FIRST_TRADES:
        return 0
    doublings = (count // FIRST_TRADES).bit_length() - 1
    return FIRST_TRADES << doublings


def level_of_look(judged: int) -> float:
    """The part of the 10 % for the look at so many trades. The look at 120 has most: before there are too few trades,
    and after it most of what there is has been found."""
    nth = (judged // FIRST_TRADES).bit_length()
    if nth < len(_EARLY_PARTS):
        part = _EARLY_PARTS[nth]
    else:
        part = _LATER_PARTS / 2 ** (nth - len(_EARLY_PARTS) + 1)
    return FALSE_DISCOVERIES * part


def discovery_bound(ps: Sequence[float], rate: float) -> float:
    """Benjamini–Hochberg: the largest p that counts as a discovery, so that the share of false ones is at most `rate`;
    -1 if none counts."""
    found = [p for rank, p in enumerate(sorted(ps), 1) if p <= rate * rank / len(ps)]
    if found:
        return found[-1]
    return -1.0


# One group


def in_errors(sums: Sequence[float], counts: Sequence[int]) -> float:
    """The mean of a group in standard errors by days; `sums` and `counts` are the returns and trades of its days.
    Infinite if every day has the same mean, 0 if there is only one day."""
    days = len(sums)
    if days < 2:
        return 0.0
    total = sum(sums)
    mean = total / sum(counts)
    apart = 2 * sum(map(mul, sums, counts)) - mean * sum(map(mul, counts, counts))
    squares = sum(map(mul, sums, sums)) - mean * apart
    if squares <= 1e-12 * days * mean * mean:  # zero but for rounding
        return math.copysign(math.inf, mean) if mean else 0.0
    return total / math.sqrt(days / (days - 1) * squares)


@lru_cache(maxsize=512)
def bootstrap(days: DaySums, *, seed: str) -> tuple[float, float]:
    """The 95 % interval of the mean by a bootstrap of days; `seed` fixes the draws. The result is cached: most groups
    have not changed since the last reflection."""
    count = len(days)
    sums, counts = zip(*Random(seed).choices(days, k=count * INTERVAL_SAMPLES), strict=True)
    means = sorted(sum(sums[at : at + count]) / sum(counts[at : at + count]) for at in range(0, len(sums), count))
    tail = INTERVAL_SAMPLES // 40
    return means[tail], means[-1 - tail]


class Chance:
    """The distribution from which random groups are drawn: the returns of all trades of a book by days (or weeks), less
    their mean."""

    def __init__(self, returns: Iterable[tuple[str, float]]) -> None:
        days: defaultdict[str, list[float]] = defaultdict(list)
        for day, value in sorted(returns):
            days[day].append(value)
        self._trades = sum(map(len, days.values()))
        self._mean = math.fsum(value for some in days.values() for value in some) / max(1, self._trades)
        self.days: tuple[tuple[float, ...], ...] = tuple(
            tuple(value - self._mean for value in some) for some in days.values()
        )

    def p_value(self, group: DaySums) -> float:
        """The two-sided p-value of a group's mean. Unless the group is most of the book, the mean must also be far from
        the mean of the book: what all trades have in common is no lesson about some of them, and one large gain moves
        both means."""
        sums, counts = zip(*sorted(group, key=itemgetter(1)), strict=True)
        seen = in_errors(sums, counts)
        if len(group) > LARGE:
            return student(seen, len(group) - 1)
        left = 1 - sum(counts) / self._trades
        if left < 0.5:
            return _drawn_p(self.days, counts, seen)
        beside = [one - many * self._mean for one, many in zip(sums, counts, strict=True)]
        # The group is a part of the book, so the difference of its mean varies less by the factor sqrt(left).
        return _drawn_p(self.days, counts, seen, in_errors(beside, counts) / math.sqrt(left))


@lru_cache(maxsize=4096)
def _drawn_p(luck: tuple[tuple[float, ...], ...], counts: tuple[int, ...], *seen: float) -> float:
    """The larger p-value of the values seen, by drawing random groups. If it is large, a few hundred draws are enough;
    only if it is small, all RESAMPLES are drawn."""
    dice, sizes, drawn, more = Random(len(counts)), Counter(counts), 0, 200
    low, high = min(seen), max(seen)  # of two values on the same side, the one nearer to zero decides
    above, below = 0, 0
    while drawn < RESAMPLES and min(above, below) < BEYOND:
        more = min(more, RESAMPLES - drawn)
        for some in _draw_days(luck, sizes, more, dice):
            reached = in_errors(some, counts)
            above += reached >= low
            below += reached <= high
        drawn, more = drawn + more, drawn + more
    return min(1.0, 2 * (min(above, below) + 1) / (drawn + 1))


def _draw_days(
    luck: tuple[tuple[float, ...], ...], sizes: Mapping[int, int], times: int, dice: Random
) -> Iterable[tuple[float, ...]]:
    """Random groups, `times` of them, each with as many days of each size as given, the smallest days first."""
    columns = []
    for many, days in sorted(sizes.items()):
        drawn = dice.choices(_sums_within_days(luck, many), k=days * times)
        columns += [drawn[at::days] for at in range(days)]
    return zip(*columns, strict=True)


@lru_cache(maxsize=256)
def _sums_within_days(luck: tuple[tuple[float, ...], ...], many: int) -> list[float]:
    """The sums of `many` consecutive trades of a day, for every day with as many and every trade to begin at, less
    their mean. A day is read as a circle."""
    found = []
    for day in luck:
        if len(day) >= many:
            sums = list(accumulate(day + day[: many - 1], initial=0.0))
            found += [sums[at + many] - sums[at] for at in range(len(day))]
    mean = math.fsum(found) / len(found)
    return [one - mean for one in found]
