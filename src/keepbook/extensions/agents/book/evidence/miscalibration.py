"""Finds where what was stated and what happened part, and says so only as often as chance may mislead: in 5 % of books.

Twelve questions are asked as one family: too high or low on the whole, too sure or not sure enough, and each band of
ten. Each is a bet against the forecaster, day by day. If what was stated is right, no bet can be expected to win,
however the outcomes of a day hang together, so a stake grows twentyfold in at most one book of twenty, ever: all looks
share the 5 %, however many there are, and Holm divides it over the questions. Looked at are the first 25, 50, 100,
200 … resolved. The day under way at a look does not count yet, and an event counts once, on its first day.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import add, attrgetter
from typing import NamedTuple

FIRST_LOOK = 25
LEVEL = 0.05
BAND = 10
WEIGHTS = {"whole": 1 / 3, "slope": 1 / 3, "band": 1 / 3 * BAND / 100}
"""What of the 5 % a question has: the whole, the slope and all bands together a third each."""
SHIFTS = (0.25, 0.5, 1.0, 2.0)
"""By so much, in log odds, a bet takes what was stated to be too low, and as many that it is too high."""
NEARER = (0.3, 0.6)
"""A bet that somebody is too sure takes what is true to lie so much nearer to 50 than what was stated."""
STEEPER: dict[bool, tuple[float, ...]] = {True: (0.6,), False: (1.5, 2.5)}
"""Or the true log odds to be so many times those stated: for one who is too sure, and one who is not sure enough."""
TOGETHER = (0.0, 0.1, 1.0)
"""How much the outcomes of a day are taken to hang together, as a correlation: what a bet stakes on a full day."""
_LEAST, _MOST_LOST = 1e-6, 0.9
_EXACT = 600
"""Of more outcomes the Poisson-binomial is taken to be normal."""


class StatedOutcome(NamedTuple):
    """What was stated, from 0 to 1, and whether it came true, on which day and about which event."""

    stated: float
    came: bool
    day: str
    event: str | None = None


@dataclass(frozen=True, slots=True)
class Miscalibration:
    """One thing that is off. `kind`: whole, slope, or band, which begins at `band`; `p` holds over the life of a book.

    `too_high`: more was stated than came; of the slope: too sure. `slope`: of how far 50 was left, this part came.
    """

    kind: str
    band: int | None
    too_high: bool
    count: int
    stated: float
    share: float
    slope: float
    p: float


# Looks


def last_look(count: int) -> int:
    """At how many resolved it was looked last: 25, 50, 100, 200 …; 0 before the first."""
    if count < FIRST_LOOK:
        return 0
    doublings = (count // FIRST_LOOK).bit_length() - 1
    return FIRST_LOOK << doublings


def find_miscalibration(outcomes: Sequence[StatedOutcome]) -> list[Miscalibration]:
    """What was off at the last look at these outcomes, which come in the order of their days."""
    days = _independent_days(outcomes[: last_look(len(outcomes))])
    judged = [_judge(kind, None, days) for kind in ("whole", "slope") if days]
    judged += [_judge("band", low, some) for low, some in _days_of_bands(days).items()]
    found: list[Miscalibration] = []
    left = 1.0
    for one in sorted(judged, key=lambda one: one.p / WEIGHTS[one.kind]):
        if one.p > LEVEL * WEIGHTS[one.kind] / left:  # Holm: the first that fails ends it
            break
        found.append(one)
        left -= WEIGHTS[one.kind]
    return found


def band_of(stated: float) -> int:
    """The band of a probability; 100 belongs to the last."""
    return min(int(stated * 100 / BAND + 1e-9) * BAND, 100 - BAND)


def _independent_days(outcomes: Sequence[StatedOutcome]) -> list[list[StatedOutcome]]:
    """The outcomes by day, without those of an event of an earlier day, and without the last day: it may go on."""
    first: dict[str, str] = {}
    for one in outcomes:
        if one.event is not None:
            first.setdefault(one.event, one.day)
    days = [list(some) for _, some in groupby(outcomes, key=attrgetter("day"))]
    fresh = ([one for one in day if one.event is None or first[one.event] == one.day] for day in days[:-1])
    return [day for day in fresh if day]


def _days_of_bands(days: Iterable[list[StatedOutcome]]) -> dict[int, list[list[StatedOutcome]]]:
    found: defaultdict[int, list[list[StatedOutcome]]] = defaultdict(list)
    for day in days:
        for low, some in groupby(sorted(day, key=lambda one: one.stated), key=lambda one: band_of(one.stated)):
            found[low].append(list(some))
    return found


# One question


def _judge(kind: str, low: int | None, days: Sequence[Sequence[StatedOutcome]]) -> Miscalibration:
    """What one question came to, asked in the direction that the figures show."""
    every = [one for day in days for one in day]
    count = len(every)
    stated = math.fsum(one.stated for one in every) / count
    share = sum(one.came for one in every) / count
    slope = _fitted_slope(every)
    if kind == "slope":
        too_high = slope < 1
    else:
        too_high = stated > share
    p = min(1.0, 2 * math.exp(-log_stake(days, kind, too_high)))  # twice, for there is a bet either way
    if kind != "slope" and p <= LEVEL:
        p = max(p, poisson_binomial([one.stated for one in every], sum(one.came for one in every)))
    return Miscalibration(kind, low, too_high, count, stated, share, slope, p)


def log_stake(days: Sequence[Sequence[StatedOutcome]], kind: str, too_high: bool) -> float:
    """What bets that it is too high (too sure), or else too low, have made of 1 together, as a logarithm.

    On each outcome a bet wins what its own probability is to the one stated, so that on the average it wins nothing
    where that is right. The wins of a day are added up and never multiplied, which is fair whatever they have in
    common; of a day of many so much is staked that it cannot lose everything.
    """
    alone = Counter((day[0].stated, day[0].came) for day in days if len(day) == 1)
    logs = [0.0] * (len(_gains(kind, too_high, 0.5, True)[0]) * len(TOGETHER))
    for (stated, came), times in alone.items():
        gains, worst = _gains(kind, too_high, stated, came)
        grown = [math.log1p(_staked(1.0, loss) * gain) for gain, loss in zip(gains, worst, strict=True)]
        logs = [log + times * one for log, one in zip(logs, grown * len(TOGETHER), strict=True)]
    for day in days:
        if len(day) > 1:
            logs = list(map(add, logs, _full_day(day, kind, too_high)))
    largest = max(logs)
    return largest + math.log(math.fsum(math.exp(one - largest) for one in logs) / len(logs))


def _full_day(day: Sequence[StatedOutcome], kind: str, too_high: bool) -> list[float]:
    """The logarithm of what each bet makes of 1 on a day of several outcomes."""
    outcomes = [_gains(kind, too_high, one.stated, one.came) for one in day]
    gains, worst = (list(map(sum, zip(*some, strict=True))) for some in zip(*outcomes, strict=True))
    found = []
    for together in TOGETHER:
        part = 1 / (1 + together * (len(day) - 1))
        found += [math.log1p(_staked(part, loss) * gain) for gain, loss in zip(gains, worst, strict=True)]
    return found


def _staked(part: float, worst: float) -> float:
    """This part, or less where more than nine tenths could be lost."""
    return min(part, _MOST_LOST / max(-worst, _MOST_LOST))


@lru_cache(maxsize=20_000)
def _gains(kind: str, too_high: bool, stated: float, came: bool) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """What each bet wins on an outcome that was stated so and came true or not, and the worst that it could have."""
    stated = min(max(stated, _LEAST), 1 - _LEAST)
    odds = math.log(stated / (1 - stated))
    if kind == "slope":
        likely = [_share_at(odds * one) for one in STEEPER[too_high]]
        if too_high:
            likely += [0.5 + one * (stated - 0.5) for one in NEARER]
    else:
        likely = [_share_at(odds - one if too_high else odds + one) for one in SHIFTS]
    both = [(one / stated - 1, (1 - one) / (1 - stated) - 1) for one in likely]
    return tuple(true if came else false for true, false in both), tuple(map(min, both))


def _share_at(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


def _fitted_slope(outcomes: Sequence[StatedOutcome]) -> float:
    """Of how far what was stated lies from 50, the part that came: 1 is right, 0.5 half as sure."""
    far = math.fsum((one.stated - 0.5) ** 2 for one in outcomes)
    came = math.fsum((one.stated - 0.5) * (one.came - 0.5) for one in outcomes)
    if far:
        return came / far
    return 1.0


def poisson_binomial(stated: Sequence[float], right: int) -> float:
    """The two-sided probability that so many come true, or further from what is expected, where each is independent."""
    mean, variance = math.fsum(stated), math.fsum(one * (1 - one) for one in stated)
    if len(stated) > _EXACT:
        if variance:
            z = max(0.0, abs(right - mean) - 0.5) / math.sqrt(variance)
        else:
            z = math.inf
        return math.erfc(z / math.sqrt(2))
    chances = [1.0]
    for one in stated:
        chances = [
            (chances[at] * (1 - one) if at < len(chances) else 0.0) + (chances[at - 1] * one if at else 0.0)
            for at in range(len(chances) + 1)
        ]
    return min(1.0, 2 * min(math.fsum(chances[: right + 1]), math.fsum(chances[right:])))
