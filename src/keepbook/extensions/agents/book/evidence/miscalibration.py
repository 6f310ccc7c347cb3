"""Finds where stated probabilities and outcomes differ, and is wrong by chance in at most 5 % of books, ever.

Twelve hypotheses are tested together: too high or too low on the whole, too sure or not sure enough, and each band of
ten. The test is a bet against the forecaster, day by day (an e-value). If the stated probabilities are right, no bet
wins on average, however the outcomes of one day depend on each other. So its stake grows twentyfold in at most one book
of twenty, no matter how often it is looked at; Holm's method divides the 5 % among the hypotheses. The looks are at the
first 25, 50, 100, 200 … resolved decisions. The last day before a look does not count yet, and an event counts only on
its first day.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import add, attrgetter
from typing import NamedTuple

FIRST_LOOK = 25  # outcomes; later looks are at 50, 100, 200 …
LEVEL = 0.05  # the probability of a false alarm
BAND = 10  # percentage points of a band
WEIGHTS = {"whole": 1 / 3, "slope": 1 / 3, "band": 1 / 3 * BAND / 100}
"""The part of the 5 % of each hypothesis: the whole, the slope, and all bands together have a third each."""
SHIFTS = (0.25, 0.5, 1.0, 2.0)
"""The alternatives of the bets on "too low" and "too high": the true log odds differ by so much from the stated."""
NEARER = (0.3, 0.6)
"""Alternatives of the bets on "too sure": the distance of the true probability from 50 % is this part of the stated."""
STEEPER: dict[bool, tuple[float, ...]] = {True: (0.6,), False: (1.5, 2.5)}
"""More alternatives: the true log odds are these multiples of the stated ones. True is for "too sure", False for "not
sure enough"."""
TOGETHER = (0.0, 0.1, 1.0)
"""Assumed correlations of the outcomes of one day; the larger it is, the less a bet stakes on a day with many."""
_LEAST, _MOST_LOST = 1e-6, 0.9
_EXACT = 600
"""With more outcomes than this, the Poisson-binomial distribution is approximated by a normal one."""


class StatedOutcome(NamedTuple):
    """A stated probability, whether it came true, the day of the outcome, and the event it was about."""

    stated: float
    came: bool
    day: str
    event: str | None = None


@dataclass(frozen=True, slots=True)
class Miscalibration:
    """The test of a hypothesis. `kind`: whole, slope, or band, which begins at `band`. `p` is valid over all looks.

    `too_high`: more was stated than came true; for the slope: too sure. `slope`: the distance of outcomes from 50 % as
    a part of the stated distance; 1 is right.
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
    """How many resolved decisions were judged at the last look: 25, 50, 100, 200 …; 0 before the first."""
    if count < FIRST_LOOK:
        return 0
    doublings = (count // FIRST_LOOK).bit_length() - 1
    return FIRST_LOOK << doublings


def find_miscalibration(outcomes: Sequence[StatedOutcome]) -> list[Miscalibration]:
    """The hypotheses that were rejected at the last look. The outcomes must be in the order of their days."""
    days = _independent_days(outcomes[: last_look(len(outcomes))])
    judged = [_judge(kind, None, days) for kind in ("whole", "slope") if days]
    judged += [_judge("band", low, some) for low, some in _days_of_bands(days).items()]
    found: list[Miscalibration] = []
    left = 1.0
    for one in sorted(judged, key=lambda one: one.p / WEIGHTS[one.kind]):
        if one.p > LEVEL * WEIGHTS[one.kind] / left:  # by Holm's method, the first that is not rejected ends it
            break
        found.append(one)
        left -= WEIGHTS[one.kind]
    return found


def band_of(stated: float) -> int:
    """The band of a probability; 100 belongs to the last."""
    return min(int(stated * 100 / BAND + 1e-9) * BAND, 100 - BAND)


def _independent_days(outcomes: Sequence[StatedOutcome]) -> list[list[StatedOutcome]]:
    """The outcomes by day, without those of events that had an outcome on an earlier day, and without the last day,
    which may not be complete."""
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


# One hypothesis


def _judge(kind: str, low: int | None, days: Sequence[Sequence[StatedOutcome]]) -> Miscalibration:
    """The test of one hypothesis, in the direction that the figures show."""
    every = [one for day in days for one in day]
    count = len(every)
    stated = math.fsum(one.stated for one in every) / count
    share = sum(one.came for one in every) / count
    slope = _fitted_slope(every)
    too_high = slope < 1 if kind == "slope" else stated > share
    p = min(1.0, 2 * math.exp(-log_stake(days, kind, too_high)))  # doubled, because either direction could be tested
    if kind != "slope" and p <= LEVEL:
        p = max(p, poisson_binomial([one.stated for one in every], sum(one.came for one in every)))
    return Miscalibration(kind, low, too_high, count, stated, share, slope, p)


def log_stake(days: Sequence[Sequence[StatedOutcome]], kind: str, too_high: bool) -> float:
    """The logarithm of the mean stake that the bets have after these days, if each began with 1.

    On each outcome a bet wins by the ratio of its own probability to the stated one, so it wins nothing on average if
    the stated one is right. The wins of one day are added and never multiplied, which is fair however these outcomes
    depend on each other; on a day with many outcomes a smaller part is staked, so that it cannot be lost completely.
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
    """For each bet the logarithm of the factor by which its stake grows on a day with several outcomes."""
    outcomes = [_gains(kind, too_high, one.stated, one.came) for one in day]
    gains, worst = (list(map(sum, zip(*some, strict=True))) for some in zip(*outcomes, strict=True))
    found = []
    for together in TOGETHER:
        part = 1 / (1 + together * (len(day) - 1))
        found += [math.log1p(_staked(part, loss) * gain) for gain, loss in zip(gains, worst, strict=True)]
    return found


def _staked(part: float, worst: float) -> float:
    """The part of the stake that is bet: `part`, or less if more than nine tenths could be lost."""
    return min(part, _MOST_LOST / max(-worst, _MOST_LOST))


@lru_cache(maxsize=20_000)
def _gains(kind: str, too_high: bool, stated: float, came: bool) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """For each bet the gain on an outcome with this stated probability, and the worst gain that was possible."""
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
    """The regression slope of outcomes on stated probabilities, both counted from 50 %: 1 is right, below 1 too
    sure."""
    far = math.fsum((one.stated - 0.5) ** 2 for one in outcomes)
    came = math.fsum((one.stated - 0.5) * (one.came - 0.5) for one in outcomes)
    if far:
        return came / far
    return 1.0


def poisson_binomial(stated: Sequence[float], right: int) -> float:
    """The two-sided probability of this number of true outcomes, or of one further from the expected one, if all are
    independent."""
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
