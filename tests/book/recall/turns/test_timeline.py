"""The timeline of a topic: a dated line for each event, in the order in which they happened."""

from datetime import UTC, date, datetime
from typing import Any

import pytest
from tests.book.recall.test_vectors import Themes, meant

from keepbook.book.recall.turns.told_days import told_days

MONDAY = datetime(2024, 5, 6, 9, 10, tzinfo=UTC)


def test_lines_stand_in_the_order_of_what_happened(alice: Any) -> None:
    alice.thread("one").add("user", "We took the canoe down the river today.", "2024-06-10")
    alice.thread("two").add("user", "I varnished the canoe on 4 May. Any soup for six?", "2024-06-12")
    alice.thread("two").add("assistant", "A canoe wants varnish every year.", "2024-06-12")
    kept = alice.remember("The canoe has a new seat", valid_from="2024-05-20")

    lines = alice.timeline("the canoe")

    assert [line.day.isoformat() for line in lines] == ["2024-05-04", "2024-05-20", "2024-06-10"]
    assert [line.memory_id for line in lines] == [None, kept.id, None]
    assert lines[0].text == "I varnished the canoe on 4 May."
    assert [line.day.isoformat() for line in alice.timeline("the canoe", since="2024-06-11")] == ["2024-05-04"]


def test_a_topic_nobody_named_is_found_by_meaning(kb: Any) -> None:
    """A topic is less like what was told of it than two texts are that say the same."""
    alice = meant(kb, embedder=Themes())
    alice.thread("one").add("user", "Fed Bamse and the fund report.", "2024-05-06")
    alice.meaning.embedder.floor = 0.85
    alice.reindex()

    assert [line.text for line in alice.timeline("the puppy")] == ["Fed Bamse and the fund report."]
    assert not alice.recall_chats("the puppy")
    alice.meaning.embedder.floor = 1.2
    assert not alice.timeline("the puppy")


def test_only_so_much_is_brought_and_the_most_about_the_topic(alice: Any) -> None:
    for nth in range(9):
        alice.thread(f"chat {nth}").add("user", f"The kiln in the shed fired batch {nth}.", f"2024-05-0{nth + 1}")
    alice.thread("more").add("user", "Shed door painted.", "2024-06-01")

    lines = alice.timeline("kiln shed", 100)

    assert 1 <= len(lines) < 9
    assert all("kiln" in line.text for line in lines)


def test_days_count_in_the_owners_zone(alice: Any) -> None:
    alice.remember("Pacific/Auckland", subject="timezone")
    alice.thread("one").add("user", "The canoe sank yesterday.", "2024-05-06T20:00Z")

    assert [line.day for line in alice.timeline("canoe")] == [date(2024, 5, 6)]


@pytest.mark.parametrize(
    ("said", "days"),
    [
        ("Saturday I finally varnished it.", [date(2024, 5, 4)]),
        ("I varnished it. Then we ate.", [date(2024, 5, 6)]),
        ("Two weeks ago the seat broke. Yesterday I glued it.", [date(2024, 4, 22), date(2024, 5, 5)]),
        ("I broke the paddle on the 2nd and bought one on May 3rd.", [date(2024, 5, 2)]),
        ("Over the weekend we paddled to the weir.", [date(2024, 5, 4)]),
        ("Next Saturday I will varnish it.", [date(2024, 5, 6)]),
        ("Did it sink last Friday?", []),
    ],
)
def test_what_is_told_is_dated_by_its_words(said: str, days: list[date]) -> None:
    assert [one.day for one in told_days(said, MONDAY, "UTC")] == days
