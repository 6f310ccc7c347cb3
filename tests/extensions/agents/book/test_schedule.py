"""When an agent runs by itself: cron in the owner's zone, and what happens when clocks change."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepbook.book.ground.when import zone_named
from keepbook.errors import Invalid
from keepbook.extensions.agents.book.schedule import check_schedule, following

BERLIN = "Europe/Berlin"


def times(schedule: str, after: str, zone: str, count: int) -> list[str]:
    found, moment = [], datetime.fromisoformat(after).replace(tzinfo=UTC)
    for _ in range(count):
        moment = following(schedule, moment, zone)
        found.append(f"{moment:%Y-%m-%d %H:%M}")
    return found


def test_the_hour_is_the_owners() -> None:
    # Friday; weekends are left out.
    assert times("30 7 * * 1-5", "2026-11-13 00:00", "Europe/Vienna", 2) == ["2026-11-13 06:30", "2026-11-16 06:30"]
    assert times("30 7 * * 1-5", "2026-11-13 00:00", "Asia/Tokyo", 1) == ["2026-11-15 22:30"]
    assert times("0 6 * * 0", "2026-11-13 00:00", "UTC", 1) == ["2026-11-15 06:00"]  # 0 is Sunday, as in every cron


def test_an_hour_that_comes_twice_is_run_once() -> None:
    assert times("30 2 * * *", "2026-10-24 12:00", BERLIN, 2) == ["2026-10-25 00:30", "2026-10-26 01:30"]
    # An island where the clock goes back by half an hour.
    assert times("45 1 * * *", "2026-04-04 12:00", "Australia/Lord_Howe", 2) == ["2026-04-04 14:45", "2026-04-05 15:15"]


def test_an_hour_that_does_not_come_is_run_at_the_next() -> None:
    assert times("30 2 * * *", "2026-03-28 12:00", BERLIN, 2) == ["2026-03-29 01:00", "2026-03-30 00:30"]


def test_what_runs_every_hour_runs_through_the_change() -> None:
    assert times("0 * * * *", "2026-10-24 23:30", BERLIN, 4) == [
        "2026-10-25 00:00", "2026-10-25 01:00", "2026-10-25 02:00", "2026-10-25 03:00",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    ["", "soon", "@daily", "* * * * * *", "61 * * * *", "0 25 * * *", "0 0 30 2 *", "*/0 * * * *", "R R * * *",
     "H H * * *", "0 0 * *", "0 0 * * 8", "* " * 200],
)  # fmt: skip
def test_what_is_no_schedule_is_refused_with_an_example(wrong: str) -> None:
    with pytest.raises(Invalid, match="30 7") as refused:
        check_schedule(wrong)
    assert refused.value.field == "schedule"


@given(
    st.integers(0, 59), st.integers(0, 23), st.integers(0, 50_000),
    st.sampled_from(["UTC", BERLIN, "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"]),
)  # fmt: skip
def test_a_daily_run_comes_once_on_each_day(minute: int, hour: int, later: int, zone: str) -> None:
    moment = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=later)
    days = []
    for _ in range(5):
        found = following(f"{minute} {hour} * * *", moment, zone)
        assert found > moment
        days.append(found.astimezone(zone_named(zone)).date())
        moment = found
    assert [(late - early).days for early, late in pairwise(days)] == [1] * 4
