"""Topics never to be remembered, on sentences by other hands: half of them meant, half near misses."""

import json

import pytest
from tests.models.orders.playing import JUDGED

from keepbook.book.text.topics import group_named, groups, touched

ROWS = [json.loads(line) for line in (JUDGED / "never-sentences.jsonl").read_text(encoding="utf-8").splitlines()]
RECALL, PRECISION = 0.7, 0.7
"""What words alone reach so far; the bars are .85 and .9."""


def test_words_alone_find_most_of_what_is_meant() -> None:
    hits = [(bool(touched(row["text"], [row["group"]])), row["meant"]) for row in ROWS]
    both = sum(hit and meant for hit, meant in hits)
    assert both / sum(meant for _, meant in hits) >= RECALL
    assert both / sum(hit for hit, _ in hits) >= PRECISION


@pytest.mark.parametrize(("named", "group"), [("my health", "health"), ("religion", "faith"), ("finances", "money")])
def test_a_group_is_known_by_what_people_call_it(named: str, group: str) -> None:
    assert group_named(named) == group


def test_a_topic_of_ones_own_is_meant_in_every_form_and_no_other_word() -> None:
    assert touched("since getting divorced I live alone", ["my divorce"])
    assert not touched("my tomatoes are ripe", ["Tom"])
    assert not touched("I drive a Tesla", ["the Tesla position"])
    assert len(groups()) == 8
