"""What is said of a calibration, held against forecasters by chance: a calibrated one hears next to nothing, ever.

The full tables are those of docs/statistics.md (`make test-deep`); else a few books of each kind are tried.
"""

import sys
from itertools import pairwise
from random import Random

import pytest
from tests.conftest import DEEPER
from tests.extensions.agents.simulated_forecasts import CALIBRATED, TOO_SURE, Forecaster, forecasts_of

from keepbook.extensions.agents.book.evidence import miscalibration
from keepbook.extensions.agents.book.evidence.miscalibration import (
    BAND,
    LEVEL,
    WEIGHTS,
    StatedOutcome,
    find_miscalibration,
    last_look,
    log_stake,
    poisson_binomial,
)

BOOKS = 1000 if DEEPER > 1 else 3
LOOKS = (25, 50, 100, 200, 400, 800)


def book_of(who: Forecaster, count: int, seed: int) -> list[StatedOutcome]:
    return [StatedOutcome(*one) for one in forecasts_of(who, count, Random(f"{who.name} {seed}"))]


@pytest.mark.parametrize("who", CALIBRATED if DEEPER > 1 else CALIBRATED[::5], ids=lambda who: who.name)
def test_a_calibrated_forecaster_hears_nothing_up_to_a_thousand(who: Forecaster) -> None:
    heard = 0
    for seed in range(BOOKS):
        outcomes = book_of(who, 1000, seed)
        heard += any(find_miscalibration(outcomes[:look]) for look in LOOKS)
    sys.stdout.write(f"{who.name}: {heard} of {BOOKS} heard anything\n")
    assert heard <= max(0.05 * BOOKS, 1)


def test_one_who_is_too_sure_hears_it() -> None:
    books = BOOKS if DEEPER > 1 else 12
    heard = [{one.kind for one in find_miscalibration(book_of(TOO_SURE, 200, seed))} for seed in range(books)]
    sys.stdout.write(f"{TOO_SURE.name}: {sum(map(bool, heard))} of {books} heard it\n")
    assert sum("slope" in kinds for kinds in heard) >= (0.8 if DEEPER > 1 else 0.6) * books


def test_looks_are_at_25_and_at_every_doubling() -> None:
    counts = (0, 24, 25, 49, 50, 99, 100, 199, 200, 399, 400, 6399, 6400)
    assert [last_look(count) for count in counts] == [0, 0, 25, 25, 50, 50, 100, 100, 200, 200, 400, 3200, 6400]


def test_the_family_shares_its_level() -> None:
    assert WEIGHTS["whole"] + WEIGHTS["slope"] + WEIGHTS["band"] * 100 / BAND == pytest.approx(1)
    assert LEVEL == 0.05


@pytest.mark.parametrize("kind", ["whole", "slope"])
@pytest.mark.parametrize("too_high", [True, False])
@pytest.mark.parametrize(("stated", "together"), [((0.3, 0.6, 0.97), False), ((0.02, 0.02, 0.5, 0.9), True)])
def test_no_bet_is_expected_to_win_where_what_was_stated_is_right(
    kind: str, too_high: bool, stated: tuple[float, ...], together: bool
) -> None:
    """Exactly, over every outcome of a day: each for itself, or all by the same luck."""
    expected = 0.0
    if together:
        edges = [0.0, *sorted(set(stated)), 1.0]
        ways = [(high - low, [one > low + 1e-9 for one in stated]) for low, high in pairwise(edges)]
    else:
        ways = []
        for number in range(2 ** len(stated)):
            came = [bool(number >> nth & 1) for nth in range(len(stated))]
            chance = 1.0
            for one, true in zip(stated, came, strict=True):
                chance *= one if true else 1 - one
            ways.append((chance, came))
    for chance, came in ways:
        day = [StatedOutcome(one, true, "1") for one, true in zip(stated, came, strict=True)]
        expected += chance * 2.718281828459045 ** log_stake([day], kind, too_high)
    assert expected == pytest.approx(1)
    alone = [StatedOutcome(stated[0], True, "1")], [StatedOutcome(stated[0], False, "1")]
    won, lost = (2.718281828459045 ** log_stake([day], kind, too_high) for day in alone)
    assert stated[0] * won + (1 - stated[0]) * lost == pytest.approx(1)


def test_the_poisson_binomial_is_that_of_every_way_counted() -> None:
    stated = [0.1, 0.5, 0.7, 0.95]
    chances = [0.0] * 5
    for number in range(16):
        came = [number >> nth & 1 for nth in range(4)]
        chance = 1.0
        for one, true in zip(stated, came, strict=True):
            chance *= one if true else 1 - one
        chances[sum(came)] += chance
    for right in range(5):
        both = sum(chances[: right + 1]), sum(chances[right:])
        assert poisson_binomial(stated, right) == pytest.approx(min(1.0, 2 * min(both)))
    many = [0.3] * (miscalibration._EXACT + 1)
    assert poisson_binomial(many, 210) == pytest.approx(poisson_binomial(many[:-1], 210), abs=0.03)


def test_an_event_counts_once_and_the_day_under_way_not_yet() -> None:
    missed = [StatedOutcome(0.9, False, f"{nth:03}") for nth in range(25)]
    assert find_miscalibration(missed)
    assert not find_miscalibration([one._replace(event="the same") for one in missed])
    assert not find_miscalibration([one._replace(day="1") for one in missed])
    fresh = [one._replace(event=f"event {nth // 2}") for nth, one in enumerate(missed)]
    assert [one.count for one in find_miscalibration(fresh) if one.kind == "whole"] == [12]
    assert [one.count for one in find_miscalibration(missed) if one.kind == "whole"] == [24]


def test_what_is_said_must_still_show() -> None:
    """Far off at first, then right for long: the bets have won, the figures no longer show it."""
    wrong = [StatedOutcome(0.7, False, f"{nth:04}") for nth in range(20)]
    right = [StatedOutcome(0.7, nth % 24 < 23, f"{20 + nth:04}") for nth in range(180)]
    assert [one.too_high for one in find_miscalibration(wrong + right[:5]) if one.kind == "whole"] == [True]
    assert not any(one.too_high for one in find_miscalibration(wrong + right))
