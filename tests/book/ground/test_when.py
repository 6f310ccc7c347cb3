"""Dates in: every form a program or a person may write, and the instant it must mean."""

from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepbook.book.ground.when import instant, parse_date_words, parse_stamp, stamp, zone_named
from keepbook.errors import Invalid

OSLO = "Europe/Oslo"
WEDNESDAY = datetime(2026, 3, 11, 14, 30, tzinfo=ZoneInfo(OSLO))
LAST_TICK = "23:59:59.999999"


def at(wall: str, zone: str = OSLO) -> str:
    """The stamp of a wall-clock time that exists once."""
    return stamp(datetime.fromisoformat(wall).replace(tzinfo=ZoneInfo(zone)))


def since(text: str, moment: datetime = WEDNESDAY, zone: str = OSLO) -> str:
    return parse_date_words(text, moment=moment, zone=zone)


def until(text: str, moment: datetime = WEDNESDAY, zone: str = OSLO) -> str:
    return parse_date_words(text, moment=moment, zone=zone, end=True)


# Stamps


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 11, 15, 3, 26, 39, 123456, tzinfo=UTC), "2026-11-15T03:26:39.123456Z"),
        (datetime(2026, 11, 15, tzinfo=UTC), "2026-11-15T00:00:00.000000Z"),
        (datetime(2026, 7, 1, 1, tzinfo=ZoneInfo(OSLO)), "2026-06-30T23:00:00.000000Z"),
        (datetime(987, 1, 2, tzinfo=UTC), "0987-01-02T00:00:00.000000Z"),
    ],
)
def test_a_stamp_is_utc_with_microseconds_and_fixed_width(moment: datetime, text: str) -> None:
    assert stamp(moment) == text
    assert len(text) == 27
    assert parse_stamp(text) == moment
    assert parse_stamp(text).tzinfo == UTC


def test_a_time_without_a_zone_gets_no_stamp() -> None:
    with pytest.raises(Invalid, match="time zone"):
        stamp(datetime(2026, 3, 5))  # noqa: DTZ001


def test_a_time_that_utc_cannot_hold_gets_no_stamp() -> None:
    with pytest.raises(Invalid, match="0001 to 9999"):
        stamp(datetime.min.replace(tzinfo=timezone(timedelta(hours=1))))


@pytest.mark.parametrize(
    "text",
    [
        "", "2026-03-05", "2026-03-05T10:00:00Z", "2026-03-05T10:00:00.000000+00:00", "2026-13-05T10:00:00.000000Z",
        "2026-03-05T24:00:00.000000Z", "2026-03-05 10:00:00.000000Z", "2026-03-05T10:00:00.000000Z\n",
        "२०२६-03-05T10:00:00.000000Z",
    ],
)  # fmt: skip
def test_only_a_stamp_is_read_as_a_stamp(text: str) -> None:
    with pytest.raises(Invalid, match="not an instant as the book writes them"):
        parse_stamp(text)


@given(st.lists(st.datetimes(timezones=st.just(UTC)), min_size=2))
def test_stamps_sort_as_the_instants_they_stand_for(moments: list[datetime]) -> None:
    assert sorted(map(stamp, moments)) == list(map(stamp, sorted(moments)))
    assert [parse_stamp(stamp(moment)) for moment in moments] == moments


# ISO 8601


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("2026", "2026-01-01T00:00:00.000000Z"),
        ("2026-03", "2026-03-01T00:00:00.000000Z"),
        ("2026-03-05", "2026-03-05T00:00:00.000000Z"),
        ("05.03.2026", "2026-03-05T00:00:00.000000Z"),
        ("  2026-03-05 ", "2026-03-05T00:00:00.000000Z"),
        ("2026-03-05T10", "2026-03-05T10:00:00.000000Z"),
        ("2026-03-05T10:07", "2026-03-05T10:07:00.000000Z"),
        ("2026-03-05 10:07:08", "2026-03-05T10:07:08.000000Z"),
        ("2026-03-05t10:07:08.5z", "2026-03-05T10:07:08.500000Z"),
        ("2026-03-05T10:07:08,25", "2026-03-05T10:07:08.250000Z"),
        ("2026-03-05T10:07:08.123456789Z", "2026-03-05T10:07:08.123456Z"),
        ("2026-03-05T10:07:59.9999999Z", "2026-03-05T10:07:59.999999Z"),
        ("2026-03-05T10:07+02:00", "2026-03-05T08:07:00.000000Z"),
        ("2026-03-05T10:07:00-0330", "2026-03-05T13:37:00.000000Z"),
        ("2026-03-05T10+02", "2026-03-05T08:00:00.000000Z"),
        ("2024-02-29", "2024-02-29T00:00:00.000000Z"),
        ("0001", "0001-01-01T00:00:00.000000Z"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"),
        (date(2026, 3, 5), "2026-03-05T00:00:00.000000Z"),
        (datetime(2026, 3, 5, 10), "2026-03-05T10:00:00.000000Z"),  # noqa: DTZ001
        (datetime(2026, 3, 5, 10, tzinfo=ZoneInfo(OSLO)), "2026-03-05T09:00:00.000000Z"),
    ],
)
def test_iso_dates_of_any_precision_mean_their_start(value: str | date, meant: str) -> None:
    assert instant(value, field="valid_from") == meant


@pytest.mark.parametrize(
    ("value", "zone", "meant"),
    [
        ("2026", OSLO, "2025-12-31T23:00:00.000000Z"),
        ("2026-07-05", OSLO, "2026-07-04T22:00:00.000000Z"),
        (date(2026, 7, 5), "America/New_York", "2026-07-05T04:00:00.000000Z"),
        (datetime(2026, 7, 5, 1), OSLO, "2026-07-04T23:00:00.000000Z"),  # noqa: DTZ001
        ("2026-07-05T10:00Z", OSLO, "2026-07-05T10:00:00.000000Z"),
        ("2026-03-29T02:30", OSLO, "2026-03-29T01:30:00.000000Z"),  # skipped that night: half past three
        ("2026-10-25T02:30", OSLO, "2026-10-25T00:30:00.000000Z"),  # twice that night: the first
        (
            "2018-11-04",
            "America/Sao_Paulo",
            "2018-11-04T03:00:00.000000Z",
        ),  # no midnight: the day starts at one
        ("2011-12-30", "Pacific/Apia", "2011-12-30T10:00:00.000000Z"),  # no such day: the first instant after
    ],
)
def test_what_names_no_offset_is_read_in_the_zone(value: str | date, zone: str, meant: str) -> None:
    assert instant(value, field="valid_from", zone=zone) == meant


def test_no_date_stays_none() -> None:
    assert instant(None, field="valid_until") is None


@pytest.mark.parametrize(
    "value",
    [
        "", "soon", "26", "2026-3-5", "2026-13", "2026-02-30", "2025-02-29", "0000", "10000", "2026-03-05T",
        "2026-03-05T24:00", "2026-03-05T10:60", "2026-03-05T10:00:60", "2026-03-05T10:00+24:00",
        "2026-03-05T10:00+01:99", "2026-03-05Z", "20260305", "-2026", "２０２６", "2026-03-05T10:00Z Z", True, 3.5,
    ],
)  # fmt: skip
def test_a_bad_date_is_refused_with_its_field_its_value_and_an_example(value: str) -> None:
    with pytest.raises(Invalid) as refused:
        instant(value, field="valid_from")
    assert refused.value.field == "valid_from"
    assert "valid_from" in refused.value.message
    assert repr(value) in refused.value.message
    assert "2026-03-05T10:00+01:00" in refused.value.message


@pytest.mark.parametrize(
    ("value", "zone"),
    [
        ("0001", "Asia/Tokyo"),
        ("9999-12-31T23:00", "America/New_York"),
        ("0001-01-01T00:00+01:00", "UTC"),
        ("9999-12-31T23:59-00:01", "UTC"),
        (date.min, "Asia/Tokyo"),
    ],
)
def test_a_date_that_leaves_the_calendar_in_utc_is_refused(value: str | date, zone: str) -> None:
    with pytest.raises(Invalid, match="until"):
        instant(value, field="until", zone=zone)


@pytest.mark.parametrize("name", ["", "Nowhere/Town", "Europe", "../etc/passwd", "/etc/localtime", "a\0b", "x" * 999])
def test_an_unknown_zone_is_refused(name: str) -> None:
    with pytest.raises(Invalid, match="Europe/Oslo"):
        zone_named(name)


@given(st.text(max_size=30))
def test_any_text_is_a_date_or_invalid(text: str) -> None:
    for read in (lambda: instant(text, field="at", zone=OSLO), lambda: since(text), lambda: until(text)):
        with suppress(Invalid):
            assert len(read() or "") == 27


# Plain words. Said on Wednesday, 11 March 2026, 14:30 in Oslo.
# The columns: what is said, what it means as a start, what it means as an end.

DAYS = [
    ("today", "2026-03-11 00:00", f"2026-03-11 {LAST_TICK}"),
    ("yesterday", "2026-03-10 00:00", f"2026-03-10 {LAST_TICK}"),
    ("tomorrow", "2026-03-12 00:00", f"2026-03-12 {LAST_TICK}"),
    ("tonight", "2026-03-11 18:00", f"2026-03-11 {LAST_TICK}"),
    ("last night", "2026-03-10 18:00", f"2026-03-10 {LAST_TICK}"),
    ("the day before yesterday", "2026-03-09 00:00", f"2026-03-09 {LAST_TICK}"),
    ("the day after tomorrow", "2026-03-13 00:00", f"2026-03-13 {LAST_TICK}"),
    ("Friday", "2026-03-06 00:00", f"2026-03-13 {LAST_TICK}"),
    ("Fri.", "2026-03-06 00:00", f"2026-03-13 {LAST_TICK}"),
    ("Wednesday", "2026-03-11 00:00", f"2026-03-11 {LAST_TICK}"),
    ("last Friday", "2026-03-06 00:00", f"2026-03-06 {LAST_TICK}"),
    ("last Wednesday", "2026-03-04 00:00", f"2026-03-04 {LAST_TICK}"),
    ("this Friday", "2026-03-13 00:00", f"2026-03-13 {LAST_TICK}"),
    ("this Monday", "2026-03-09 00:00", f"2026-03-16 {LAST_TICK}"),
    ("this past Monday", "2026-03-09 00:00", f"2026-03-09 {LAST_TICK}"),
    ("this coming Friday", "2026-03-13 00:00", f"2026-03-13 {LAST_TICK}"),
    ("next Friday", "2026-03-20 00:00", f"2026-03-20 {LAST_TICK}"),
    ("next Monday", "2026-03-16 00:00", f"2026-03-16 {LAST_TICK}"),
    ("Tuesday last week", "2026-03-03 00:00", f"2026-03-03 {LAST_TICK}"),
    ("5 March", "2026-03-05 00:00", f"2027-03-05 {LAST_TICK}"),
    ("20 March", "2025-03-20 00:00", f"2026-03-20 {LAST_TICK}"),
    ("11 March", "2026-03-11 00:00", f"2026-03-11 {LAST_TICK}"),
    ("March 5th, 2025", "2025-03-05 00:00", f"2025-03-05 {LAST_TICK}"),
    ("the 5th of March 2025", "2025-03-05 00:00", f"2025-03-05 {LAST_TICK}"),
    ("5 Mar last year", "2025-03-05 00:00", f"2025-03-05 {LAST_TICK}"),
    ("Sept 1", "2025-09-01 00:00", f"2026-09-01 {LAST_TICK}"),
    ("29 February", "2024-02-29 00:00", f"2028-02-29 {LAST_TICK}"),
    ("the 5th", "2026-03-05 00:00", f"2026-04-05 {LAST_TICK}"),
    ("the 31st", "2026-01-31 00:00", f"2026-03-31 {LAST_TICK}"),
    ("the 5th of next month", "2026-04-05 00:00", f"2026-04-05 {LAST_TICK}"),
    ("Christmas", "2025-12-25 00:00", f"2026-12-25 {LAST_TICK}"),
    ("Christmas 2023", "2023-12-25 00:00", f"2023-12-25 {LAST_TICK}"),
    ("New Year's Eve", "2025-12-31 00:00", f"2026-12-31 {LAST_TICK}"),
    ("2 weeks ago", "2026-02-25 00:00", f"2026-02-25 {LAST_TICK}"),
    ("2w ago", "2026-02-25 00:00", f"2026-02-25 {LAST_TICK}"),
    ("a couple of days ago", "2026-03-09 00:00", f"2026-03-09 {LAST_TICK}"),
    ("three years ago", "2023-03-11 00:00", f"2023-03-11 {LAST_TICK}"),
    ("half a year ago", "2025-09-11 00:00", f"2025-09-11 {LAST_TICK}"),
    ("a decade ago", "2016-03-11 00:00", f"2016-03-11 {LAST_TICK}"),
    ("in 3 days", "2026-03-14 00:00", f"2026-03-14 {LAST_TICK}"),
    ("a fortnight from now", "2026-03-25 00:00", f"2026-03-25 {LAST_TICK}"),
    ("for 2 years", "2024-03-11 00:00", f"2028-03-11 {LAST_TICK}"),
    ("two months", "2026-01-11 00:00", f"2026-05-11 {LAST_TICK}"),
    ("for the last 2 years", "2024-03-11 00:00", f"2024-03-11 {LAST_TICK}"),
    ("the next 10 days", "2026-03-21 00:00", f"2026-03-21 {LAST_TICK}"),
]
PERIODS = [
    ("March", "2026-03-01 00:00", "2027-03-01 00:00"),
    ("in March", "2026-03-01 00:00", "2027-03-01 00:00"),
    ("last March", "2025-03-01 00:00", "2025-03-01 00:00"),
    ("this March", "2026-03-01 00:00", "2027-03-01 00:00"),
    ("this May", "2026-05-01 00:00", "2026-05-01 00:00"),
    ("next May", "2026-05-01 00:00", "2026-05-01 00:00"),
    ("December", "2025-12-01 00:00", "2026-12-01 00:00"),
    ("March 2024", "2024-03-01 00:00", "2024-03-01 00:00"),
    ("March of last year", "2025-03-01 00:00", "2025-03-01 00:00"),
    ("early March", "2026-03-01 00:00", "2027-03-01 00:00"),
    ("mid-March", "2025-03-15 00:00", "2026-03-15 00:00"),
    ("late March 2024", "2024-03-21 00:00", "2024-03-21 00:00"),
    ("mid 2025", "2025-07-01 00:00", "2025-07-01 00:00"),
    ("late summer", "2025-08-01 00:00", "2026-08-01 00:00"),
    ("spring 2025", "2025-03-01 00:00", "2025-03-01 00:00"),
    ("the spring of 2025", "2025-03-01 00:00", "2025-03-01 00:00"),
    ("last summer", "2025-06-01 00:00", "2025-06-01 00:00"),
    ("summer", "2025-06-01 00:00", "2026-06-01 00:00"),
    ("last winter", "2025-12-01 00:00", "2025-12-01 00:00"),
    ("Q3 2025", "2025-07-01 00:00", "2025-07-01 00:00"),
    ("q4", "2025-10-01 00:00", "2026-10-01 00:00"),
    ("New Year", "2026-01-01 00:00", "2027-01-01 00:00"),
    ("last week", "2026-03-02 00:00", "2026-03-02 00:00"),
    ("this week", "2026-03-09 00:00", "2026-03-09 00:00"),
    ("next week", "2026-03-16 00:00", "2026-03-16 00:00"),
    ("the weekend", "2026-03-07 00:00", "2026-03-14 00:00"),
    ("last weekend", "2026-03-07 00:00", "2026-03-07 00:00"),
    ("last month", "2026-02-01 00:00", "2026-02-01 00:00"),
    ("next month", "2026-04-01 00:00", "2026-04-01 00:00"),
    ("last quarter", "2025-10-01 00:00", "2025-10-01 00:00"),
    ("this year", "2026-01-01 00:00", "2026-01-01 00:00"),
    ("last year", "2025-01-01 00:00", "2025-01-01 00:00"),
    ("next year", "2027-01-01 00:00", "2027-01-01 00:00"),
]
EDGES = [
    ("start of March", "2026-03-01 00:00", "2027-03-01 00:00"),
    ("the beginning of the year", "2026-01-01 00:00", "2027-01-01 00:00"),
    ("start of last summer", "2025-06-01 00:00", "2025-06-01 00:00"),
    ("end of March", f"2025-03-31 {LAST_TICK}", f"2026-03-31 {LAST_TICK}"),
    ("through March", f"2025-03-31 {LAST_TICK}", f"2026-03-31 {LAST_TICK}"),
    ("end of the week", f"2026-03-08 {LAST_TICK}", f"2026-03-15 {LAST_TICK}"),
    ("the end of this month", f"2026-03-31 {LAST_TICK}", f"2026-03-31 {LAST_TICK}"),
    ("end of the year", f"2025-12-31 {LAST_TICK}", f"2026-12-31 {LAST_TICK}"),
    ("the end of last year", f"2025-12-31 {LAST_TICK}", f"2025-12-31 {LAST_TICK}"),
    ("end of 2027", f"2027-12-31 {LAST_TICK}", f"2027-12-31 {LAST_TICK}"),
    ("end of 2027-02", f"2027-02-28 {LAST_TICK}", f"2027-02-28 {LAST_TICK}"),
    ("end of yesterday", f"2026-03-10 {LAST_TICK}", f"2026-03-10 {LAST_TICK}"),
    ("end of day", f"2026-03-10 {LAST_TICK}", f"2026-03-11 {LAST_TICK}"),
    ("through Friday", f"2026-03-06 {LAST_TICK}", f"2026-03-13 {LAST_TICK}"),
    ("through 2026-04-01", f"2026-04-01 {LAST_TICK}", f"2026-04-01 {LAST_TICK}"),
    ("through summer", f"2025-08-31 {LAST_TICK}", f"2026-08-31 {LAST_TICK}"),
]
INSTANTS = [
    ("now", "2026-03-11 14:30", "2026-03-11 14:30"),
    ("3 hours ago", "2026-03-11 11:30", "2026-03-11 11:30"),
    ("in half an hour", "2026-03-11 15:00", "2026-03-11 15:00"),
    ("yesterday at 10:05", "2026-03-10 10:05", "2026-03-10 10:05"),
    ("Friday 3pm", "2026-03-06 15:00", "2026-03-13 15:00"),
    ("Wednesday at 4 p.m.", "2026-03-04 16:00", "2026-03-11 16:00"),
    ("tomorrow at 12am", "2026-03-12 00:00", "2026-03-12 00:00"),
    ("today at noon", "2026-03-11 12:00", "2026-03-11 12:00"),
    ("at 9", "2026-03-11 09:00", "2026-03-12 09:00"),
    ("5 March 2025 at 9:15", "2025-03-05 09:15", "2025-03-05 09:15"),
    ("2026", "2026-01-01 00:00", "2026-01-01 00:00"),
    ("2026-04", "2026-04-01 00:00", "2026-04-01 00:00"),
    ("2026-03-05", "2026-03-05 00:00", "2026-03-05 00:00"),
    ("5.3.2026", "2026-03-05 00:00", "2026-03-05 00:00"),
    ("until 05.01.2027", "2027-01-05 00:00", "2027-01-05 00:00"),
    ("2026-03-05T10:00", "2026-03-05 10:00", "2026-03-05 10:00"),
    ("2026-03-05T10:00Z", "2026-03-05 11:00", "2026-03-05 11:00"),
    ("2026-03-05 at 3pm", "2026-03-05 15:00", "2026-03-05 15:00"),
]


@pytest.mark.parametrize(("said", "start", "end"), DAYS + PERIODS + EDGES + INSTANTS)
def test_plain_words_mean_this_as_a_start_and_that_as_an_end(said: str, start: str, end: str) -> None:
    assert (since(said), until(said)) == (at(start), at(end))
    assert (since(f"  {said.upper()}. "), until(f"  {said.upper()}. ")) == (at(start), at(end))


@pytest.mark.parametrize("lead", ["since", "from", "until", "till", "by", "as of", "up to", "ever since"])
@pytest.mark.parametrize("said", ["March", "the 5th", "last Friday", "2026-03-05", "end of the year", "2 weeks ago"])
def test_leading_words_change_nothing(lead: str, said: str) -> None:
    assert since(f"{lead} {said}") == since(said)
    assert until(f"{lead} {said}") == until(said)


@pytest.mark.parametrize(
    ("day", "said", "start", "end"),
    [
        (14, "this Friday", "2026-03-13 00:00", f"2026-03-20 {LAST_TICK}"),  # on a Saturday
        (14, "last Friday", "2026-03-13 00:00", f"2026-03-13 {LAST_TICK}"),
        (14, "next Friday", "2026-03-20 00:00", f"2026-03-20 {LAST_TICK}"),
        (15, "next Monday", "2026-03-16 00:00", f"2026-03-16 {LAST_TICK}"),  # on a Sunday
        (9, "Monday", "2026-03-09 00:00", f"2026-03-09 {LAST_TICK}"),  # on a Monday
        (9, "last Monday", "2026-03-02 00:00", f"2026-03-02 {LAST_TICK}"),
        (9, "next Monday", "2026-03-16 00:00", f"2026-03-16 {LAST_TICK}"),
        (31, "a month ago", "2026-02-28 00:00", f"2026-02-28 {LAST_TICK}"),
        (31, "in a month", "2026-04-30 00:00", f"2026-04-30 {LAST_TICK}"),
    ],
)
def test_the_day_it_is_said_on_counts(day: int, said: str, start: str, end: str) -> None:
    moment = WEDNESDAY.replace(day=day)
    assert (since(said, moment), until(said, moment)) == (at(start), at(end))


MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
COUNTS = "one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905


@pytest.mark.parametrize("short", [False, True])
def test_every_month_and_weekday_is_known_by_its_name_and_short(short: bool) -> None:
    for number, name in enumerate(MONTHS, 1):
        assert since(f"{name[:3] if short else name} 2024") == at(f"2024-{number:02}-01 00:00"), name
    for number, name in enumerate(WEEKDAYS, 9):
        assert since(f"this {name[:3] if short else name}") == at(f"2026-03-{number:02} 00:00"), name


@pytest.mark.parametrize(
    ("said", "first", "last"),
    [
        ("spring 2025", "2025-03-01", "2025-05-31"),
        ("summer 2025", "2025-06-01", "2025-08-31"),
        ("autumn 2025", "2025-09-01", "2025-11-30"),
        ("fall 2025", "2025-09-01", "2025-11-30"),
        ("winter 2023", "2023-12-01", "2024-02-29"),
        ("Q1 2025", "2025-01-01", "2025-03-31"),
        ("Q2 2025", "2025-04-01", "2025-06-30"),
        ("Q3 2025", "2025-07-01", "2025-09-30"),
        ("Q4 2025", "2025-10-01", "2025-12-31"),
        ("February 2024", "2024-02-01", "2024-02-29"),
        ("this quarter", "2026-01-01", "2026-03-31"),
        ("last week", "2026-03-02", "2026-03-08"),
        ("last weekend", "2026-03-07", "2026-03-08"),
        ("Christmas Eve 2025", "2025-12-24", "2025-12-24"),
        ("New Year's Day", "2026-01-01", "2026-01-01"),
    ],
)
def test_every_period_has_its_first_and_its_last_instant(said: str, first: str, last: str) -> None:
    assert since(said) == at(f"{first} 00:00")
    assert since(f"end of {said}") == at(f"{last} {LAST_TICK}")


@pytest.mark.parametrize(
    ("unit", "two_ago"),
    [
        ("minutes", "2026-03-11 14:28"), ("mins", "2026-03-11 14:28"), ("hours", "2026-03-11 12:30"),
        ("hrs", "2026-03-11 12:30"), ("h", "2026-03-11 12:30"), ("days", "2026-03-09 00:00"), ("d", "2026-03-09 00:00"),
        ("weeks", "2026-02-25 00:00"), ("wks", "2026-02-25 00:00"), ("w", "2026-02-25 00:00"),
        ("fortnights", "2026-02-11 00:00"), ("months", "2026-01-11 00:00"), ("mo", "2026-01-11 00:00"),
        ("quarters", "2025-09-11 00:00"), ("years", "2024-03-11 00:00"), ("yrs", "2024-03-11 00:00"),
        ("y", "2024-03-11 00:00"), ("decades", "2006-03-11 00:00"),
    ],
)  # fmt: skip
def test_every_unit_can_be_counted(unit: str, two_ago: str) -> None:
    assert since(f"2 {unit} ago") == since(f"two {unit} back") == since(f"the past 2 {unit}") == at(two_ago)


def test_counts_may_be_words() -> None:
    for number, word in enumerate(COUNTS, 1):
        assert since(f"{word} days ago") == since(f"{number} days ago"), word
    assert since("a day ago") == since("1 day ago")
    assert since("a few days ago") == since("3 days ago")
    assert since("a year and a half ago") == since("18 months ago")
    assert since("thirty days ago") == since("30 days ago")


@pytest.mark.parametrize(
    ("said", "hour"), [("this morning", "06"), ("this afternoon", "12"), ("this evening", "18"), ("tonight", "18")]
)
def test_parts_of_today_start_at_their_hour(said: str, hour: str) -> None:
    assert since(said) == at(f"2026-03-11 {hour}:00")


def test_at_the_very_instant_a_period_starts_it_has_started() -> None:
    midnight = datetime(2026, 3, 1, tzinfo=ZoneInfo(OSLO))  # a Sunday
    for said in ("March", "Sunday", "the 1st", "1 March"):
        assert since(said, midnight) == at("2026-03-01 00:00")
    assert until("March", midnight) == at("2027-03-01 00:00")
    assert since("last February", midnight) == at("2026-02-01 00:00")
    assert since("this February", midnight) == at("2026-02-01 00:00")
    assert since("next March", midnight) == at("2027-03-01 00:00")


def test_this_winter_in_january_is_the_one_that_has_begun() -> None:
    january = datetime(2026, 1, 20, 12, tzinfo=ZoneInfo(OSLO))
    assert since("this winter", january) == at("2025-12-01 00:00")
    assert since("last winter", january) == at("2024-12-01 00:00")


def test_today_is_the_day_of_the_zone_not_of_utc() -> None:
    moment = datetime(2026, 3, 11, 23, 30, tzinfo=UTC)
    assert since("yesterday", moment, "UTC") == at("2026-03-10 00:00", "UTC")
    assert since("yesterday", moment, "Asia/Tokyo") == at("2026-03-11 00:00", "Asia/Tokyo")
    assert since("yesterday", moment, "America/Los_Angeles") == at("2026-03-10 00:00", "America/Los_Angeles")


def test_days_that_summer_time_makes_shorter_or_longer_keep_their_edges() -> None:
    short = datetime(2026, 3, 29, 12, tzinfo=ZoneInfo(OSLO))
    assert (since("today", short), until("today", short)) == (
        "2026-03-28T23:00:00.000000Z",
        "2026-03-29T21:59:59.999999Z",
    )
    long = datetime(2026, 10, 25, 12, tzinfo=ZoneInfo(OSLO))
    assert (since("today", long), until("today", long)) == (
        "2026-10-24T22:00:00.000000Z",
        "2026-10-25T22:59:59.999999Z",
    )


def test_a_day_without_midnight_starts_at_its_first_instant() -> None:
    zone = "America/Sao_Paulo"  # on 4 November 2018 midnight was one o'clock
    moment = datetime(2018, 11, 4, 12, tzinfo=ZoneInfo(zone))
    assert since("today", moment, zone) == "2018-11-04T03:00:00.000000Z"
    assert until("yesterday", moment, zone) == "2018-11-04T02:59:59.999999Z"


def test_hours_ago_count_real_hours_across_a_change_of_the_clock() -> None:
    morning = datetime(2026, 3, 29, 4, tzinfo=ZoneInfo(OSLO))  # two o'clock did not happen
    assert since("2 hours ago", morning) == at("2026-03-29 01:00")


def test_now_inside_the_doubled_hour_stays_the_same_instant() -> None:
    second = datetime(2026, 10, 25, 1, 30, tzinfo=UTC)  # 02:30 in Oslo for the second time
    assert since("now", second) == stamp(second)
    assert since("an hour ago", second) == stamp(second - timedelta(hours=1))


@pytest.mark.parametrize(
    "text",
    [
        "", "since", "whenever", "when I was five", "5/3/2026", "31.2.2026", "31 April", "30 February 2024", "the 0th",
        "the 32nd", "Friday at 25:00", "Friday at 13pm", "Friday 5", "last", "next", "3", "early Friday", "March 0",
        "end of", "9999 decades ago", "in 9999 years", "2026-02-30", "March 2024 at 9", "x" * 200, "for ever",
    ],
)  # fmt: skip
def test_other_words_are_refused_with_examples(text: str) -> None:
    for end, example in ((False, "last Friday"), (True, "in 3 days")):
        with pytest.raises(Invalid, match=example) as refused:
            parse_date_words(text, moment=WEDNESDAY, zone=OSLO, end=end, field="since")
        assert refused.value.field == "since"
        assert len(refused.value.message) < 220


def test_words_need_a_moment_with_a_zone() -> None:
    with pytest.raises(Invalid, match="time zone"):
        parse_date_words("today", moment=datetime(2026, 3, 11), zone=OSLO)  # noqa: DTZ001


SAID = sorted({said for said, _, _ in DAYS + PERIODS + EDGES + INSTANTS})


@given(
    st.sampled_from(SAID),
    st.datetimes(timezones=st.just(UTC)),
    st.sampled_from(["UTC", OSLO, "America/New_York", "Asia/Kathmandu", "Pacific/Apia", "America/Sao_Paulo"]),
)
def test_a_known_phrase_is_read_at_any_moment_in_any_zone(said: str, moment: datetime, zone: str) -> None:
    far_from_the_edges = 20 < moment.year < 9980
    for end in (False, True):
        try:
            answer = parse_date_words(said, moment=moment, zone=zone, end=end)
        except Invalid:
            assert not far_from_the_edges
        else:
            assert len(answer) == 27


@given(
    st.sampled_from(["Friday", "March", "summer", "5 May", "29 February", "the 31st", "q2", "New Year", "end of June"]),
    st.datetimes(datetime(1700, 1, 1), datetime(2500, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    st.sampled_from(["UTC", OSLO, "America/New_York", "Asia/Kathmandu", "Pacific/Apia"]),
)
def test_a_bare_name_lies_in_the_past_as_a_start_and_ahead_as_an_end(said: str, moment: datetime, zone: str) -> None:
    assert since(said, moment, zone) <= stamp(moment) < until(said, moment, zone)
