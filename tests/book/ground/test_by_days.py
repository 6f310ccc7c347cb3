"""Means and shares whose values come by days: against tables, by hand, and against days that hang together."""

from random import Random

import numpy as np
import pytest

from keepbook.book.ground.by_days import mean_by_days, share_by_days, student, student_quantile, wilson


@pytest.mark.parametrize(
    ("right", "count", "low", "high"),
    [(2, 5, 0.118, 0.769), (5, 11, 0.213, 0.720), (25, 46, 0.402, 0.678), (0, 4, 0.0, 0.490), (4, 4, 0.510, 1.0)],
)
def test_the_interval_of_a_share(right: int, count: int, low: float, high: float) -> None:
    """Against Wilson's interval as tables give it; one outcome a day is just that."""
    assert wilson(right, count) == (pytest.approx(low, abs=5e-4), pytest.approx(high, abs=5e-4))
    came = [nth < right for nth in range(count)]
    assert share_by_days(came, range(count)) == pytest.approx((low, high), abs=0.02)


@pytest.mark.parametrize(("freedom", "t"), [(1, 12.706), (5, 2.571), (11, 2.201), (29, 2.045), (100, 1.984)])
def test_quantiles_of_students_t(freedom: int, t: float) -> None:
    assert student_quantile(freedom) == pytest.approx(t, abs=1e-3)
    assert student(t, freedom) == pytest.approx(0.05, abs=1e-4)


@pytest.mark.parametrize(
    ("t", "freedom", "p"),
    [(12.706, 1, 0.05), (4.303, 2, 0.05), (2.571, 5, 0.05), (4.032, 5, 0.01), (2.228, 10, 0.05), (3.169, 10, 0.01),
     (2.045, 29, 0.05), (1.984, 100, 0.05), (-2.571, 5, 0.05), (0.0, 7, 1.0), (60.0, 499, 0.0)],
)  # fmt: skip
def test_students_t_is_that_of_the_tables(t: float, freedom: int, p: float) -> None:
    assert student(t, freedom) == pytest.approx(p, abs=1e-4)


def test_one_value_a_day_is_the_usual_interval() -> None:
    values = [0.3, -0.1, 0.4, 0.2, 0.5, -0.2, 0.1]
    found = mean_by_days(values, range(7))
    half = 2.4469 * np.std(values, ddof=1) / np.sqrt(7)
    assert (found.mean, found.count, found.days) == (pytest.approx(np.mean(values)), 7, 7)
    assert (found.low, found.high) == pytest.approx((found.mean - half, found.mean + half), abs=1e-4)
    assert mean_by_days(values, [1, 1, 2, 3, 4, 5, 5]).low is None, "five days are too few"


def test_the_same_said_ten_times_a_day_is_no_surer() -> None:
    values, days = [0.3, -0.1, 0.4, 0.2, 0.5, -0.2, 0.1] * 10, list(range(7)) * 10
    once, often = mean_by_days(values[:7], days[:7]), mean_by_days(values, days)
    assert (often.low, often.high) == pytest.approx((once.low, once.high))
    came = [True, False, True, True, False, True, True, False]
    assert share_by_days(came * 10, list(range(8)) * 10) == pytest.approx(share_by_days(came, range(8)), abs=0.03)


def test_the_interval_holds_what_it_says_where_days_hang_together() -> None:
    """Of 400 samples with a shock a day, 95 % hold the mean; as if each were alone, it would be half of them."""
    dice, within = Random(3), 0
    for _ in range(400):
        shocks = [dice.gauss(0, 1) for _ in range(12)]
        days = [dice.randrange(12) for _ in range(80)]
        found = mean_by_days([shocks[day] + dice.gauss(0, 1) for day in days], days)
        assert found.low is not None
        assert found.high is not None
        within += found.low <= 0 <= found.high
    assert within / 400 >= 0.92
