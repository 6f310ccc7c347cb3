"""How likely a group of trades got as far from zero by luck alone, where the trades of a day share their luck.

A group is its days: what it made on each, and with how many trades. Its mean is put in standard errors of whole days,
and compared with groups of as many days and trades that are drawn from the whole book, its mean taken out, each day's
part from one day. So every strategy is held against its own kind of luck, days included. Where positions are held for
more than a day, weeks take the place of days. The level of 10 % is for the life of a book: it is looked at 30, 60,
120 … trades, and each look has a part of it that was fixed beforehand.
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
"""From so many trades on there is something to look for, and again at every doubling."""
FEWEST_CLOSING_DAYS = 12
FALSE_DISCOVERIES = 0.10
RESAMPLES = 20_000
BEYOND = 20
"""So many draws beyond what was seen are enough to know a p that is no small one."""
INTERVAL_SAMPLES = 4000
_EARLY_PARTS = (0.0, 0.15, 0.15, 0.45)
_LATER_PARTS = 0.25
"""Of the 10 %: before 30 trades, at 30, 60 and 120; at all later looks together, each half as much as the last."""
LARGE = 60
"""In groups of more days chance is Student's t."""

DaySums = tuple[tuple[float, int], ...]
"""What a group made on each of its days, and with how many trades."""


# Looks


def judged_trades(count: int) -> int:
    """How many of so many trades are judged: 30, 60, 120 …; 0 before the first look."""
    if count < FIRST_TRADES:
        return 0
    doublings = (count // FIRST_TRADES).bit_length() - 1
    return FIRST_TRADES << doublings


def level_of_look(judged: int) -> float:
    """What of the 10 % the look at so many trades has. Most is found at 120 trades: before there are too few, and later
    what is there was found."""
    nth = (judged // FIRST_TRADES).bit_length()
    if nth < len(_EARLY_PARTS):
        part = _EARLY_PARTS[nth]
    else:
        part = _LATER_PARTS / 2 ** (nth - len(_EARLY_PARTS) + 1)
    return FALSE_DISCOVERIES * part


def discovery_bound(ps: Sequence[float], rate: float) -> float:
    """Benjamini–Hochberg: the largest p that counts, so that of those that do `rate` are by chance; -1 for none."""
    found = [p for rank, p in enumerate(sorted(ps), 1) if p <= rate * rank / len(ps)]
    if found:
        return found[-1]
    return -1.0


# One group


def in_errors(sums: Sequence[float], counts: Sequence[int]) -> float:
    """The mean of a group in standard errors of its days, which made these sums with so many trades each; infinite if
    every day has the same mean, 0 if there is but one."""
    days = len(sums)
    if days < 2:
        return 0.0
    total = sum(sums)
    mean = total / sum(counts)
    apart = 2 * sum(map(mul, sums, counts)) - mean * sum(map(mul, counts, counts))
    squares = sum(map(mul, sums, sums)) - mean * apart
    if squares <= 1e-12 * days * mean * mean:  # whatever rounding says
        return math.copysign(math.inf, mean) if mean else 0.0
    return total / math.sqrt(days / (days - 1) * squares)


@lru_cache(maxsize=512)
def bootstrap(days: DaySums, *, seed: str) -> tuple[float, float]:
    """The 95 % interval of the mean, from the percentiles of as many days drawn again; `seed` fixes them. The result
    is cached: most groups are as they were at the last reflection."""
    count = len(days)
    sums, counts = zip(*Random(seed).choices(days, k=count * INTERVAL_SAMPLES), strict=True)
    means = sorted(sum(sums[at : at + count]) / sum(counts[at : at + count]) for at in range(0, len(sums), count))
    tail = INTERVAL_SAMPLES // 40
    return means[tail], means[-1 - tail]


class Chance:
    """The luck of a book: its trades by days (or weeks), their mean taken out."""

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
        """The two-sided p of a group's mean. It must be far from zero and, unless the group is most of the book, as far
        from the mean of the book: what all trades do is no lesson about some, and one large gain moves that mean."""
        sums, counts = zip(*sorted(group, key=itemgetter(1)), strict=True)
        seen = in_errors(sums, counts)
        if len(group) > LARGE:
            return student(seen, len(group) - 1)
        left = 1 - sum(counts) / self._trades
        if left < 0.5:
            return _drawn_p(self.days, counts, seen)
        beside = [one - many * self._mean for one, many in zip(sums, counts, strict=True)]
        return _drawn_p(self.days, counts, seen, in_errors(beside, counts) / math.sqrt(left))  # a part of what it is in


@lru_cache(maxsize=4096)
def _drawn_p(luck: tuple[tuple[float, ...], ...], counts: tuple[int, ...], *seen: float) -> float:
    """The larger p of those seen, by drawing: a few hundred tell that it is large, and only if it is small is it drawn
    for to the end."""
    dice, sizes, drawn, more = Random(len(counts)), Counter(counts), 0, 200
    low, high = min(seen), max(seen)  # of two on the same side the nearer to zero decides
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
    """So many groups with as many days of each size, the smallest days first."""
    columns = []
    for many, days in sorted(sizes.items()):
        drawn = dice.choices(_sums_within_days(luck, many), k=days * times)
        columns += [drawn[at::days] for at in range(days)]
    return zip(*columns, strict=True)


@lru_cache(maxsize=256)
def _sums_within_days(luck: tuple[tuple[float, ...], ...], many: int) -> list[float]:
    """What so many trades of one day made together, wherever in a day with as many one begins; their mean taken out."""
    found = []
    for day in luck:
        if len(day) >= many:
            sums = list(accumulate(day + day[: many - 1], initial=0.0))
            found += [sums[at + many] - sums[at] for at in range(len(day))]
    mean = math.fsum(found) / len(found)
    return [one - mean for one in found]
