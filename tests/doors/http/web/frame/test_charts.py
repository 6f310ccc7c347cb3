"""The geometry of the pictures: nothing leaves the drawing, order is kept, and odd times do not break it."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from keepbook.doors.http.web.frame.charts import MOST_BARS, Axis, Spell, clocks, curve, strip, ticks

NOW = datetime(2026, 11, 12, 9, tzinfo=UTC)
VIENNA = ZoneInfo("Europe/Vienna")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def spell(name: str, true: str, until: str | None, kept: str, dropped: str | None = None) -> Spell:
    return Spell(name, name, at(true), at(until) if until else None, at(kept), at(dropped) if dropped else None)


VERSIONS = (
    spell("v1", "2026-03-01", None, "2026-08-14", "2026-10-03"),
    spell("v2", "2026-09-01", None, "2026-10-03", "2026-11-12"),
    spell("v3", "2026-11-12", "2027-02-28", "2026-11-12"),
)


# --- two clocks


def test_each_version_has_its_lane_below_the_one_before() -> None:
    found = clocks(VERSIONS, NOW, VIENNA)
    assert [lane.name for lane in found.lanes] == ["v1", "v2", "v3"]
    assert [lane.y for lane in found.lanes] == [26, 86, 146]
    assert found.height == 210


def test_bars_begin_in_the_order_of_their_days_and_only_the_last_is_still_kept() -> None:
    one, two, three = clocks(VERSIONS, NOW, VIENNA).lanes
    assert one.x < two.x < three.x
    assert [lane.still for lane in (one, two, three)] == [False, False, True]
    assert one.goes_on
    assert two.goes_on
    assert not three.goes_on
    assert one.x + one.width == 100


def test_what_was_told_late_has_a_lag_from_being_true_to_being_kept() -> None:
    one, two, three = clocks(VERSIONS, NOW, VIENNA).lanes
    assert one.lag == one.x
    assert one.kept_x > one.lag
    assert two.lag == two.x
    assert three.lag is None


def test_a_retired_version_ends_in_the_book_where_its_successor_begins() -> None:
    one, two, three = clocks(VERSIONS, NOW, VIENNA).lanes
    assert abs(one.kept_x + one.kept_width - two.kept_x) < 0.1
    assert abs(two.kept_x + two.kept_width - three.kept_x) < 0.1


def test_a_fact_far_older_than_the_book_does_not_squeeze_the_book_away() -> None:
    found = clocks([spell("v1", "0001-01-01", None, "2026-08-14")], NOW, VIENNA)
    lane = found.lanes[0]
    assert lane.opens
    assert lane.x == 0
    assert lane.kept_width > 10


def test_an_end_far_ahead_runs_off_the_picture() -> None:
    lane = clocks([spell("v1", "2026-08-14", "9999-12-31", "2026-08-14")], NOW, VIENNA).lanes[0]
    assert lane.goes_on
    assert lane.x + lane.width == 100


def test_what_was_written_this_second_still_has_a_picture() -> None:
    found = clocks([Spell("v1", "new", NOW, None, NOW, None)], NOW, VIENNA)
    assert 0 < found.now < 100
    assert found.ticks


moments = st.datetimes(timezones=st.just(UTC))


@given(st.lists(st.tuples(moments, st.none() | moments), min_size=1, max_size=5))
def test_nothing_leaves_the_drawing(times: list[tuple[datetime, datetime | None]]) -> None:
    kept = [NOW - timedelta(days=90 - 10 * number) for number in range(len(times) + 1)]
    spells = [
        Spell(f"v{number}", "words", true, until if until and until > true else None, kept[number], None)
        for number, (true, until) in enumerate(times)
    ]
    found = clocks(spells, NOW, VIENNA)
    assert 0 <= found.now <= 100
    assert 0 < len(found.ticks) <= 12
    for lane in found.lanes:
        assert 0 <= lane.x <= 100
        assert 0 <= lane.kept_x <= 100
        assert lane.width > 0
        assert lane.x + lane.width <= 100.61


# --- ticks


def test_a_few_months_are_ticked_by_months_and_january_names_its_year() -> None:
    found = ticks(Axis(at("2026-02-01"), at("2027-03-01")), ZoneInfo("UTC"))
    assert "Jan 27" in [tick.label for tick in found]
    assert len(found) <= 8
    assert [tick.x for tick in found] == sorted(tick.x for tick in found)


def test_a_few_days_are_ticked_by_days() -> None:
    labels = [tick.label for tick in ticks(Axis(at("2026-11-01"), at("2026-11-15")), ZoneInfo("UTC"))]
    assert labels[0] == "2 Nov"
    assert 4 <= len(labels) <= 8


def test_decades_are_ticked_by_years() -> None:
    labels = [tick.label for tick in ticks(Axis(at("1960-01-01"), at("2026-01-01")), ZoneInfo("UTC"))]
    assert all(len(label) == 4 for label in labels)
    assert 2 <= len(labels) <= 8


# --- the strip


def test_a_bar_for_each_day_and_the_fullest_is_the_highest() -> None:
    counts = {date(2026, 8, 14): 1, date(2026, 9, 1): 9, date(2026, 11, 12): 4}
    axis = Axis(at("2026-08-14"), NOW)
    found = strip(counts, axis, ZoneInfo("UTC"), at("2026-10-01"))
    assert len(found.bars) == 3
    assert found.per_bar == 1
    assert min(found.bars, key=lambda bar: bar.y) == found.bars[1]
    assert [bar.past for bar in found.bars] == [True, True, False]
    assert all(0 <= bar.x <= 100 and 10 <= bar.y < 46 for bar in found.bars)


def test_years_are_gathered_into_a_readable_number_of_bars() -> None:
    first = date(2020, 1, 1)
    counts = {first + timedelta(days=number): 1 for number in range(2000)}
    found = strip(counts, Axis(at("2020-01-01"), at("2025-06-23")), ZoneInfo("UTC"), NOW)
    assert len(found.bars) <= MOST_BARS
    assert found.per_bar == 12


def test_the_ends_of_the_strip_are_labelled() -> None:
    found = strip({}, Axis(at("2026-08-14"), NOW), ZoneInfo("UTC"), NOW)
    assert found.ticks[0].label == "14 Aug"
    assert found.ticks[-1].label == "today"


# --- lines


def test_a_curve_goes_from_edge_to_edge_and_up_is_small() -> None:
    found = curve([60, 68, 54, 72], low=40, high=80)
    assert found.dots[0] == (0, 50)
    assert found.dots[-1] == (100, 20)
    assert found.path.startswith("M0 50L33.33 30")


def test_a_curve_of_one_value_or_of_a_level_is_no_division_by_zero() -> None:
    assert curve([5]).dots == [(0, 0)]
    assert [y for _, y in curve([5, 5]).dots] == [0, 0]
