"""Scores of single forecasts, held against `scoringrules`; and what is no distribution is refused."""

import random
from typing import Any

import numpy as np
import pytest
import scoringrules as sr

from keepbook import Invalid
from keepbook.extensions.agents.book.cards import card_types, instructions, line_of, validate
from keepbook.extensions.agents.book.cards.distributions import read_classes, read_quantiles
from keepbook.extensions.agents.book.scoring import proper_scores as ours

NOW = "2026-03-01T09:00:00.000000Z"
DUE = "2026-04-01T00:00:00Z"
LEVELS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)


def test_scores_are_those_of_scoringrules() -> None:
    drawn = random.Random(7)
    for count in (2, 3, 5, 9) * 5:
        weights = [drawn.random() ** 3 for _ in range(count)]
        shares = [one / sum(weights) for one in weights]
        said, came = {f"c{nth}": share for nth, share in enumerate(shares)}, drawn.randrange(count)
        hot = np.eye(count)[came]
        assert ours.brier_over_classes(said, f"c{came}") == pytest.approx(sr.brier_score(hot, np.array(shares)).sum())
        assert ours.ranked_probability_score(said, f"c{came}") == pytest.approx(
            sr.rps_score(hot, np.array(shares), onehot=True)
        )
        assert ours.log_score(shares[came]) == pytest.approx(sr.log_score(1, max(shares[came], 0.001)))
        assert ours.brier(shares[0], came == 0) == pytest.approx(sr.brier_score(int(came == 0), shares[0]))
        numbers = sorted(drawn.gauss(0, 10) for _ in LEVELS)
        value = drawn.choice([drawn.gauss(0, 14), numbers[3]])
        told = dict(zip(LEVELS, numbers, strict=True))
        losses = [sr.quantile_score(value, number, level) for level, number in told.items()]
        assert ours.mean_pinball(told, value) == pytest.approx(np.mean(losses))
        assert ours.crps_approximation(told, value) == pytest.approx(
            sr.crps_quantile(value, np.array(numbers), np.array(LEVELS))
        )
        assert ours.widest_interval(LEVELS) == (0.05, 0.95)
        assert ours.interval_score(numbers[0], numbers[-1], value, 0.1) == pytest.approx(
            sr.interval_score(value, numbers[0], numbers[-1], 0.1)
        )
    assert ours.log_score(0.0) == ours.log_score(0.001) == pytest.approx(6.907755, abs=1e-6)
    assert [ours.widest_interval(levels) for levels in ([0.5], [0.2, 0.9], [0.9, 0.3, 0.7, 0.1])] == [
        None, None, (0.1, 0.9),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"a": 0.5, "b": 0.494}, "adds up to 0.994"),
        ({"a": 0.5, "b": 0.506}, "adds up to 1.006"),
        ({"a": 1.2, "b": -0.2}, "from 0 to 1"),
        ({"a": float("nan"), "b": 1}, "needs a number"),
        ({"a": True, "b": 0}, "needs a number"),
        ({"a": "half", "b": 0.5}, "needs a number"),
        ({"a": 1}, "2 to 50"),
        ({str(nth): 1 / 60 for nth in range(60)}, "2 to 50"),
        ({"Home": 0.5, "home ": 0.5}, "twice"),
        ({"": 0.5, "b": 0.5}, "without a name"),
        ({"a\0": 0.5, "b": 0.5}, "NUL"),
        ([0.5, 0.5], "object"),
    ],
)
def test_what_is_no_distribution_over_classes_is_refused(value: Any, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        read_classes(value)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"0.1": 5, "0.5": 4}, "crosses: 5 at 0.1 lies above 4 at 0.5"),
        ({"0": 5}, "between 0 and 1"),
        ({"1": 5}, "between 0 and 1"),
        ({"10": 5}, "between 0 and 1"),
        ({"low": 5}, "between 0 and 1"),
        ({"nan": 5}, "between 0 and 1"),
        ({"0.1": 5, "0.10": 6}, "twice"),
        ({"0.1": float("inf")}, "needs a number"),
        ({"0.1": None}, "needs a number"),
        ({}, "1 to 199"),
        (5, "1 to 199"),
    ],
)
def test_what_are_no_quantiles_is_refused(value: Any, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        read_quantiles(value)


def test_what_is_one_is_kept_in_its_order() -> None:
    assert read_classes({"a": 0.5, "b": "0.495"}) == {"a": 0.5, "b": 0.495}
    assert list(read_classes({" B  c": 0.4, "a": 0.6})) == ["B c", "a"]
    assert list(read_classes({"HIGH": 0.4, "low": 0.6}, ("low", "high"))) == ["low", "high"]
    for wrong in ({"low": 0.5, "mid": 0.5}, {"low": 0.5, "mid": 0.2, "high": 0.3}):
        with pytest.raises(Invalid, match=r"none of|no probability for"):
            read_classes(wrong, ("low", "high"))
    assert read_quantiles({0.9: 8, "0.1": "3", "0.5": 3}) == {"0.1": 3.0, "0.5": 3.0, "0.9": 8.0}


def test_a_card_says_and_checks_them() -> None:
    classes, number = (card_types().get(name) for name in ("forecast-classes", "forecast-number"))
    assert "an object with a probability for each class, 1 in all" in instructions(classes)
    assert "rising numbers by level" in instructions(number)
    told = {"question": "Who wins?", "resolves_by": DUE}
    kept = validate(classes, told | {"probabilities": {"home": 0.5, "away": 0.5}, "tags": ["football"]}, NOW)
    assert line_of(classes, kept, NOW, NOW) == "just now · home 0.5, away 0.5 · Who wins?"
    with pytest.raises(Invalid, match=r"probabilities: adds up to 1\.1, not to 1"):
        validate(classes, told | {"probabilities": {"home": 0.5, "away": 0.6}}, NOW)
    with pytest.raises(Invalid, match="quantiles: crosses"):
        validate(number, told | {"quantiles": {"0.1": 9, "0.9": 1}}, NOW)
