"""Topics never to be remembered, on sentences by other hands: half of them meant, half near misses.

Half of those sentences are shipped as examples by now (`taught`); judged is on the other half.
"""

import json

import pytest
from tests.models.orders.playing import JUDGED

from keepbook.book.text.topics import Likeness, group_named, groups, touched
from keepbook.models.embedders.local import bundled

_ALL = [json.loads(line) for line in (JUDGED / "never-sentences.jsonl").read_text(encoding="utf-8").splitlines()]
ROWS = [row for row in _ALL if not row.get("taught")]


def _judged(likeness: Likeness | None) -> tuple[float, float]:
    hits = [(bool(touched(row["text"], [row["group"]], likeness)), row["meant"]) for row in ROWS]
    both = sum(hit and meant for hit, meant in hits)
    return both / sum(hit for hit, _ in hits), both / sum(meant for _, meant in hits)


def test_words_alone_find_most_of_what_is_meant() -> None:
    precision, recall = _judged(None)
    assert (precision >= 0.75, recall >= 0.73) == (True, True), "the bars are .9 and .85"


def test_meaning_finds_more_and_errs_less() -> None:
    embedder = bundled()
    assert embedder is not None, "the tests need keepbook[embed]"
    shipped = [text for group in groups().values() for text in (*group.meant, *group.near)]
    texts = [*shipped, *(row["text"] for row in ROWS)]
    held = dict(zip(texts, embedder.embed(texts), strict=True))
    precision, recall = _judged(lambda text, others: [float(held[text] @ held[other]) for other in others])
    assert (precision >= 0.83, recall >= 0.89) == (True, True), "the bars are .9 and .95"


@pytest.mark.parametrize(("named", "group"), [("my health", "health"), ("religion", "faith"), ("finances", "money")])
def test_a_group_is_known_by_what_people_call_it(named: str, group: str) -> None:
    assert group_named(named) == group


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("My niece is called Faith", "faith"),
        ("The printer at home is a Brother", "family"),
        ("I watched a series about doctors in Boston", "health"),
        ("The budget of the ministry grew by a tenth", "money"),
    ],
)
def test_names_stories_and_things_are_not_meant(text: str, group: str) -> None:
    assert not touched(text, [group])


def test_a_topic_of_ones_own_is_meant_in_every_form_and_no_other_word() -> None:
    assert touched("since getting divorced I live alone", ["my divorce"])
    assert not touched("my tomatoes are ripe", ["Tom"])
    assert not touched("I drive a Tesla", ["the Tesla position"])
    assert len(groups()) == 8
