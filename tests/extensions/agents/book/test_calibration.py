"""Calibration against an example worked by hand, and in a book from decisions to figures."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.extensions.agents.deciding import LONG, SECOND_LOOK, ran

from keepbook.extensions.agents.book.calibration import ResolvedDecision, base_rates, calibrate

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
    assert found.base_brier == pytest.approx(0.25), "nothing was known before any of them"
    assert found.skill is not None
    assert (found.skill.mean, found.skill.low) == (pytest.approx(-0.046), None)
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


@pytest.mark.parametrize("count", [0, 1, 9])
def test_with_too_few_it_says_so_and_gives_no_figures(count: int) -> None:
    found = calibrate(BY_HAND[:count])
    assert (found.resolved, found.enough, found.bands) == (count, False, ())
    assert {found.hit_rate, found.interval, found.expectancy, found.brier, found.base_brier, found.skill} == {None}
    assert (found.by_agent, found.by_symbol, found.by_regime, found.looks) == ((), (), (), 0)
    assert str(count) in found.words
    assert "from 10 on" in found.words


def on_days(stated: float, rights: list[bool], **told: Any) -> list[ResolvedDecision]:
    """One a day, stated alike."""
    return [
        ResolvedDecision("Desk", "ETH", "chop", stated, came=right, day=f"{nth:04}", **told)
        for nth, right in enumerate(rights)
    ]


def test_a_conviction_that_is_far_off_is_said_in_words_from_25_on_and_at_looks_only() -> None:
    sure = on_days(95, [nth % 3 == 0 for nth in range(60)])
    words = calibrate(sure).words
    assert words.startswith("60 resolved decisions, of which the first 50 are judged; on the whole it was too high")
    assert "it was too sure (80 stated means about " in words
    assert "at 90 to 100 it was too high (stated 95, right 35 % of 49)" in words
    assert words.removeprefix("60") == calibrate(sure[:59]).words.removeprefix("59")
    assert "from 25 on it is said" in calibrate(sure[:24]).words
    assert "fits what happened" in calibrate(on_days(50, [nth % 2 == 0 for nth in range(30)])).words
    assert (calibrate(sure).judged, calibrate(sure[:24]).judged) == (50, 0)


@pytest.mark.parametrize("told", [{"day": "2026-03-02"}, {"event": "election"}])
def test_what_hangs_together_is_one_outcome(told: dict[str, Any]) -> None:
    """Sixty misses of one day, or about one event, are one miss; in its bands and groups the interval says so."""
    misses = [replace(one, **told) for one in on_days(80, [False] * 60)]
    assert "fits what happened" in calibrate(misses).words
    assert "too high" in calibrate(on_days(80, [False] * 60)).words
    if "day" in told:
        apart = calibrate(on_days(80, [False] * 60))
        band, group = calibrate(misses).bands[0], calibrate(misses).by_symbol[0]
        assert band.interval == group.interval == (0.0, pytest.approx(0.793, abs=1e-3))
        assert apart.by_symbol[0].interval == (0.0, pytest.approx(0.060, abs=1e-3))


def test_the_base_rate_is_the_one_known_before_each_forecast() -> None:
    """Four in a row: made on days 1, 2, 3 and 3, they came out on days 2, 3, 4 and 5, all but the second true."""
    made = [("1", "2", True), ("2x", "3", False), ("3x", "4", True), ("3x", "5", True)]
    closed = [
        ResolvedDecision("Desk", "", "", 70, came=came, day=end, decided_at=begin, closed_at=end)
        for begin, end, came in made
    ]
    assert base_rates(closed) == pytest.approx([0.5, 1.5 / 2, 1.5 / 3, 1.5 / 3])
    many = calibrate(closed * 5)
    assert many.skill is not None
    scored = [0.09, 0.49, 0.09, 0.09]
    assert many.brier == pytest.approx(sum(scored) / 4)
    assert many.skill.mean == pytest.approx(many.base_brier - many.brier)


@pytest.mark.parametrize(("stated", "word"), [(90, "worse by 0.1"), (50, "better by 0.0")])
def test_how_it_stands_to_the_base_rate_is_said_in_a_word(stated: float, word: str) -> None:
    """Half of them came true, by turns."""
    days = [f"{nth:02}" for nth in range(12)]
    closed = [
        ResolvedDecision("Bot", "", "", stated, came=nth % 2 == 0, day=day, decided_at=day, closed_at=f"{day}x")
        for nth, day in enumerate(days)
    ]
    words = calibrate(closed, "forecast").skill_words
    assert words.startswith(word)
    assert "95 % interval of the gain, by days: " in words
    assert calibrate(closed[:2] * 5, "forecast").skill_words.endswith(" on 2 days, too few for an interval")


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
