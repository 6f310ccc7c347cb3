"""Calibration against an example worked by hand, and in a book from decisions to figures."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.extensions.agents.deciding import LONG, SECOND_LOOK, ran

from keepbook.extensions.agents.book.calibration import ResolvedDecision, calibrate, wilson

# Ten decisions, worked by hand:
#   stated 40, 40, 60, 60, 60, 80, 80, 80, 80, 100
#   in R  −1, +2, +1, −1, +1, +2, −1, +2, +1, −1     → six came right
#   squares (stated/100 − right)²: .16 .36 .16 .36 .16 .04 .64 .04 .04 1 → 2.96 / 10
BY_HAND = [
    ResolvedDecision("Desk", "ETH", "chop", 40, -1.0),
    ResolvedDecision("Desk", "ETH", "chop", 40, 2.0, (50,)),  # up, and it came right
    ResolvedDecision("Desk", "ETH", "trend_up", 60, 1.0, (50, 70)),  # down wrongly, up rightly
    ResolvedDecision("Desk", "BTC", "trend_up", 60, -1.0, (60, 20)),  # not moved; down rightly
    ResolvedDecision("Desk", "BTC", "trend_up", 60, 1.0),
    ResolvedDecision("Brief", "ETH", "trend_up", 80, 2.0),
    ResolvedDecision("Brief", "ETH", "chop", 80, -1.0, (90,)),  # up wrongly
    ResolvedDecision("Brief", "ETH", "trend_up", 80, 2.0),
    ResolvedDecision("Brief", "BTC", "trend_up", 80, 1.0),
    ResolvedDecision("Brief", "BTC", "chop", 100, -1.0),
]


def test_figures_equal_the_example_worked_by_hand() -> None:
    found = calibrate(BY_HAND)
    assert (found.resolved, found.enough, found.right) == (10, True, 6)
    assert found.hit_rate == 0.6
    assert found.expectancy == pytest.approx(0.5)
    assert found.brier == pytest.approx(0.296)
    assert found.base_brier == pytest.approx(0.24)
    assert [(band.low, band.high, band.count, band.stated, band.right) for band in found.bands] == [
        (40, 50, 2, 40, 1),
        (60, 70, 3, 60, 2),
        (80, 90, 4, 80, 3),
        (90, 100, 1, 100, 0),
    ]
    assert [(band.share, band.interval) for band in found.bands] == [(None, None)] * 4, "under six nothing is said"
    assert [(group.name, group.count, group.right) for group in found.by_agent] == [("Brief", 5, 3), ("Desk", 5, 3)]
    assert [(group.hit_rate, group.expectancy) for group in found.by_agent] == [(None, None)] * 2
    assert [(group.name, group.count, group.hit_rate) for group in found.by_symbol] == [
        ("ETH", 6, pytest.approx(4 / 6)),
        ("BTC", 4, None),
    ]
    assert [(group.name, group.count, group.right, group.expectancy) for group in found.by_regime] == [
        ("trend_up", 6, 5, 1.0),
        ("chop", 4, 1, None),
    ]
    more = calibrate(BY_HAND * 6)
    assert [band.share for band in more.bands] == pytest.approx([0.5, 2 / 3, 0.75, 0])
    assert [group.expectancy for group in more.by_agent] == pytest.approx([0.6, 0.4])
    assert more.by_regime[1].expectancy == pytest.approx(-0.25)
    assert (found.looks, found.looks_right) == (5, 3)


@pytest.mark.parametrize(
    ("right", "count", "low", "high"),
    [(2, 5, 0.118, 0.769), (5, 11, 0.213, 0.720), (25, 46, 0.402, 0.678), (0, 4, 0.0, 0.490), (4, 4, 0.510, 1.0)],
)
def test_the_interval_of_a_share(right: int, count: int, low: float, high: float) -> None:
    """Against Wilson's interval as tables give it."""
    assert wilson(right, count) == (pytest.approx(low, abs=5e-4), pytest.approx(high, abs=5e-4))


@pytest.mark.parametrize("count", [0, 1, 9])
def test_with_too_few_it_says_so_and_gives_no_figures(count: int) -> None:
    found = calibrate(BY_HAND[:count])
    assert (found.resolved, found.enough, found.bands) == (count, False, ())
    assert {found.hit_rate, found.interval, found.expectancy, found.brier, found.base_brier} == {None}
    assert (found.by_agent, found.by_symbol, found.by_regime, found.looks) == ((), (), (), 0)
    assert str(count) in found.words
    assert "from 10 on" in found.words


def test_a_conviction_that_is_far_off_is_said_in_words() -> None:
    sure = [ResolvedDecision("Desk", "ETH", "chop", 95, -1.0 if number % 3 else 1.0) for number in range(20)]
    assert "at 90 to 100 it was too high (stated 95, right 35 % of 20)" in calibrate(sure).words
    fair = [ResolvedDecision("Desk", "ETH", "chop", 50, -1.0 if number % 2 else 1.0) for number in range(20)]
    assert "fits what happened" in calibrate(fair).words


def test_nothing_gained_did_not_come_right() -> None:
    assert not ResolvedDecision("Desk", "ETH", "chop", 50, 0.0).right


def test_a_book_counts_what_was_resolved_and_nothing_else(kb: Any, clock: Any) -> None:
    clock.set(datetime(2026, 3, 2, tzinfo=UTC))
    book = kb.book("alice")
    desk, brief = (book.agents.create(name, card_type="trade-decision") for name in ("Desk", "Brief"))
    for number in range(10):
        run = ran(book, desk if number < 6 else brief, LONG | {"conviction": 70})
        if number < 3:
            ran(book, desk, SECOND_LOOK | {"conviction_score": 80}, "re-examination", parent_run=run.id)
        book.decisions.exit(run.id, 110.0 if number % 2 == 0 else 95.0)
    ran(book, desk, LONG | {"conviction": 5})  # open
    soon = clock.now + timedelta(hours=1)
    ran(book, desk, LONG | {"conviction": 5, "expires": soon.isoformat()})
    clock.forward(days=2)
    assert book.decisions.follow() == 1
    assert [one.state for one in book.decisions.list(state="expired")] == ["expired"]

    found = book.decisions.calibration()
    assert (found.resolved, found.right) == (10, 5)
    assert found.expectancy == pytest.approx((5 * 1.0 - 5 * 0.5) / 10)
    assert found.brier == pytest.approx((5 * 0.09 + 5 * 0.49) / 10)
    assert [(group.name, group.count) for group in found.by_agent] == [("Desk", 6), ("Brief", 4)]
    assert [group.name for group in found.by_symbol] == ["ETH/USDT"]
    assert (found.looks, found.looks_right) == (3, 2)
    assert not book.decisions.calibration("Desk").enough
    assert kb.book("bob").decisions.calibration().resolved == 0


def test_an_agent_that_was_removed_still_counts(kb: Any) -> None:
    book = kb.book("alice")
    desk = book.agents.create("Desk", card_type="trade-decision")
    for _ in range(10):
        book.decisions.exit(ran(book, desk, LONG).id, 120.0)
    book.agents.delete(desk.id)
    assert [group.name for group in book.decisions.calibration().by_agent] == ["Desk"]
