"""What lessons are worth: books of noise, in which there is nothing to learn, and books with something in them.

The full tables are those of docs/statistics.md (`make test-deep`); else a few books of each kind are tried.
"""

import sys
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tests.conftest import DEEPER
from tests.extensions.trading.simulated_trades import NOISE, SHARED, noise_trades, planted_losses

from keepbook.extensions.trading.book.findings import Findings, find_effects, gather

BOOKS = 500 if DEEPER > 1 else 2
LOOKS = (30, 60, 120, 240) if DEEPER > 1 else (30, 60, 120)
PLANTED = "symbol=BTC/USDT;side=long;regime=chop"
FOUND_BEFORE = {0.002: 59, 0.004: 35}
"""In how many of 60 books the six losses were found when trades were drawn one by one, and for one look."""


def found_in(trades: list[Any], judged: int) -> Findings:
    return find_effects(gather(trades[:judged], ZoneInfo("Europe/Oslo")), judged)


@pytest.mark.parametrize("kind", NOISE)
@pytest.mark.parametrize("shared", SHARED)
def test_of_noise_next_to_nothing_is_ever_learnt(kind: str, shared: str) -> None:
    """At most 46 of 500: the upper 95 % limit of that is 12 %."""
    learnt = 0
    for seed in range(BOOKS):
        trades = list(noise_trades(kind, SHARED[shared], LOOKS[-1], Random(f"{kind} {shared} {seed}")))
        learnt += any(found_in(trades, look).findings for look in LOOKS)
    sys.stdout.write(f"{kind}, {shared} shared: {learnt} of {BOOKS} books ever got a lesson\n")
    assert learnt <= max(46 * BOOKS // 500, 1)


@pytest.mark.parametrize("spread", FOUND_BEFORE if DEEPER > 1 else [0.002])
def test_six_like_losses_among_noise_are_found(spread: float) -> None:
    books = 60 if DEEPER > 1 else 4
    found = [found_in(planted_losses(spread, Random(f"{seed} {spread}")), 120).findings for seed in range(books)]
    told = sum(PLANTED in {one.key for one in some} for some in found)
    sys.stdout.write(f"losses that differ by {spread:.1%}: found in {told} of {books} books\n")
    assert told / books >= (2 / 3 * FOUND_BEFORE[spread] / 60 if DEEPER > 1 else 0.5)
