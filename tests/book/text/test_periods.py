"""Periods in a person's words: what begins or ends one, what does not, and which words count from their day."""

from datetime import UTC, datetime

import pytest
from tests.growth import grows_in_step

from keepbook.book.text.periods import is_relative, period

AT = datetime(2026, 10, 7, 10, 0, tzinfo=UTC)  # a Wednesday
ZONE = "Europe/Oslo"


@pytest.mark.parametrize(
    ("text", "begins"),
    [
        ("I live in Bergen since June", "2026-05-31T22"),
        ("I have worked at Equinor since 2015", "2014-12-31T23"),
        ("from 1 November I work in Paris", "2026-10-31T23"),
        ("From 1 May I work in Paris", "2027-04-30T22"),
        ("as of 1 October I work in Paris", "2026-09-30T22"),
        ("I've been at home from 1 May", "2026-04-30T22"),
        ("starting Monday I'm on a diet", "2026-10-11T22"),
        ("In 2019 I moved to Oslo", "2018-12-31T23"),
        ("yesterday i started a new job", "2026-10-05T22"),
        ("I moved here two years ago", "2024-10-06T22"),
        ("I've been vegan for two years", "2024-10-06T22"),
    ],
)
def test_words_that_begin_a_period(text: str, begins: str) -> None:
    found = period(text, AT, ZONE)
    assert (found.valid_from or "")[:13] == begins
    assert found.valid_until is None


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("I'm on leave until Friday", "2026-10-09T21"),
        ("We're staying with my mum till Sunday", "2026-10-11T21"),
        ("I'm off through Friday", "2026-10-09T21"),
        ("I'm in Lisbon for two weeks", "2026-10-21T21"),
        ("My contract runs until the end of March", "2027-03-31T21"),
        ("We rent the flat until 31 December 2027", "2027-12-31T22"),
    ],
)
def test_words_that_end_a_period(text: str, ends: str) -> None:
    found = period(text, AT, ZONE)
    assert (found.valid_until or "")[:13] == ends
    assert found.valid_from is None


def test_words_that_give_both_ends() -> None:
    found = period("I'll be away from 5 November until 12 November", AT, ZONE)
    assert [(edge or "")[:10] for edge in found[:2]] == ["2026-11-04", "2026-11-12"]


def test_the_zone_of_the_owner_counts() -> None:
    late = datetime(2026, 10, 7, 23, 30, tzinfo=UTC)  # the eighth in Oslo
    assert period("since yesterday I work at home", late, "Europe/Oslo").valid_from == "2026-10-06T22:00:00.000000Z"
    assert period("since yesterday I work at home", late, "UTC").valid_from == "2026-10-06T00:00:00.000000Z"


@pytest.mark.parametrize(
    "text",
    [
        "I lived in Rome until 2019",
        "She was here until Friday",
        "in 2019 I lived in Rome",
        "I took the pills for 3 days",
        "If it rains I stay until Friday",
        "I would stay until Friday",
        "Maybe I'm away for two weeks",
        "I work from Monday to Friday",
        "I work from 9 to 5",
        "I trade from 8pm to 10pm",
        "the shop is open until 6 pm",
        "I have a bike from 2019",
        "I'm from May",
        "I moved to May Street",
        "every year from May until July I sail",
        "since you asked, I like tea",
        "I need to leave by Friday",
        "my birthday is in June",
        "I am allergic to nuts",
        "",
    ],
)
def test_words_that_set_nothing(text: str) -> None:
    assert period(text, AT, ZONE)[:2] == (None, None)


@pytest.mark.parametrize(
    "text",
    [
        "yesterday i started a new job",
        "next month I fly to Rome",
        "Last week I quit",
        "I'm 61",
        "my son Max is 7",
        "our 3-year-old hates peas",
        "I moved here two years ago",
        "tonight I cook",
        "I'm on leave until Friday",
        "I've been vegan for two years",
        "Gestern habe ich angefangen",
        "Ich bin 61 und wohne in Graz",
        "ayer empecé un trabajo nuevo",
        "tengo 61 años",
        "i går begynte jeg i ny jobb",
        "for to år siden flyttet jeg hit",
        "hier j'ai commencé un nouveau travail",
        "je suis arrivé il y a deux ans",
    ],
)
def test_words_that_count_from_the_day_they_were_said(text: str) -> None:
    assert is_relative(text)


@pytest.mark.parametrize(
    "text",
    [
        "I live in Oslo",
        "my shoe size is 42",
        "I'm 180 cm tall",
        "my dog weighs 3 kg",
        "I play tennis every Monday",
        "I work from Monday to Friday",
        "my birthday is in June",
        "I worked there since May 2019",
        "Guten Morgen, ich bin vegan",
        "In 2019 I moved to Oslo",
    ],
)
def test_words_that_do_not(text: str) -> None:
    assert not is_relative(text)


@pytest.mark.parametrize(
    "unit", ["from ", "since June ", "for two ", "in two ", "every ", "moved ", "I'm 6", "until Friday "]
)
def test_the_work_is_in_step_with_the_length(unit: str) -> None:
    assert grows_in_step(lambda size: period((unit * size)[:size], AT, ZONE), 10_000)
