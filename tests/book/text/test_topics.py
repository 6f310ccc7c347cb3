"""Topics never to be remembered, on sentences that nothing was learned from: half of them meant, half near misses."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from keepbook.book.text import topic_meaning, topic_words
from keepbook.book.text.topic_meaning import Sense, topic_examples
from keepbook.book.text.topics import find_topics, group_named, groups
from keepbook.models.embedders.bundled import BundledEmbedder, find_bundled

if TYPE_CHECKING:
    from keepbook.book.recall.vectors import Floats

JUDGED = Path(__file__).parents[3] / "training" / "judged"
ROWS = [json.loads(line) for line in (JUDGED / "never-aside.jsonl").read_text(encoding="utf-8").splitlines()]


class Bundled:
    """The embedder that comes with Keepbook, in a space of any name."""

    def __init__(self, embedder: BundledEmbedder, space: str) -> None:
        self.space, self._embedder, self.asked = space, embedder, 0

    def direction(self, text: str) -> "Floats":
        return self._embedder.ask(text)

    def directions(self, texts: Sequence[str]) -> "Floats":
        self.asked += len(texts)
        return self._embedder.embed(texts)


def _embedder() -> BundledEmbedder:
    embedder = find_bundled()
    assert embedder is not None, "the tests need keepbook[embed]"
    return embedder


def _judged(sense: Sense | None) -> tuple[float, float]:
    hits = [(bool(find_topics(row["text"], [row["group"]], sense)), row["meant"]) for row in ROWS]
    both = sum(hit and meant for hit, meant in hits)
    return both / sum(hit for hit, _ in hits), both / sum(meant for _, meant in hits)


def test_words_alone_find_what_is_meant() -> None:
    precision, recall = _judged(None)
    assert (precision >= 0.9, recall >= 0.85) == (True, True), (precision, recall)


def test_meaning_finds_more() -> None:
    embedder = _embedder()
    precision, recall = _judged(Bundled(embedder, embedder.space))
    assert (precision >= 0.9, recall >= 0.95) == (True, True), (precision, recall)


def test_nothing_that_was_learned_from_is_judged() -> None:
    assert {row["text"] for row in ROWS}.isdisjoint(one.text for one in topic_examples())


def test_for_another_embedder_a_group_is_learned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    few = tuple(one for one in topic_examples() if one.group == "health" or one.meant)[::12]
    monkeypatch.setattr(topic_meaning, "topic_examples", lambda: few)
    monkeypatch.setattr(topic_meaning, "_LEARNED", {})
    sense = Bundled(_embedder(), "another")
    meant, not_meant = "I was diagnosed with asthma in spring", "The new printer is a pain to set up"
    for_it, against = (topic_meaning.meaning_score(text, "health", sense) for text in (meant, not_meant))
    assert for_it is not None
    assert against is not None
    assert for_it > against
    assert 0 < sense.asked <= len(few)


def test_where_the_embedder_cannot_say_words_decide() -> None:
    class Silent:
        space = "silent"

        def direction(self, _: str) -> None:
            return None

        def directions(self, _: Sequence[str]) -> None:
            return None

    assert find_topics("I was diagnosed with asthma in spring", ["health"], Silent()) == ["health"]


def test_a_long_text_is_looked_at_up_to_a_bound() -> None:
    assert topic_words.frame_words("word " * 100_000) == {"word"}
    assert np.isfinite(topic_words.word_score("pain " * 100_000, "health"))


@pytest.mark.parametrize(("named", "group"), [("my health", "health"), ("religion", "faith"), ("finances", "money")])
def test_a_group_is_known_by_what_people_call_it(named: str, group: str) -> None:
    assert group_named(named) == group


@pytest.mark.parametrize(
    ("text", "group"),
    [
        ("My niece is called Faith", "faith"),
        ("The printer at home is a Brother", "family"),
        ("I watched a series about doctors in Boston", "health"),
        ("The party is on Saturday, bring cake", "politics"),
        ("The budget of the ministry grew by a tenth", "money"),
    ],
)
def test_names_stories_and_things_are_not_meant(text: str, group: str) -> None:
    assert not find_topics(text, [group])


@pytest.mark.parametrize(
    ("line", "group"),
    [
        ("Lives in Bergen", "whereabouts"),
        ("Is allergic to walnuts", "health"),
        ("Earns 72k a year", "money"),
        ("Works at Siemens", "work"),
        ("Her health is poor", "health"),
    ],
)
def test_the_books_own_lines_are_meant_as_well(line: str, group: str) -> None:
    assert find_topics(line, [group]) == [group]


def test_a_topic_of_ones_own_is_meant_in_every_form_and_no_other_word() -> None:
    assert find_topics("since getting divorced I live alone", ["my divorce"])
    assert not find_topics("my tomatoes are ripe", ["Tom"])
    assert not find_topics("I drive a Tesla", ["the Tesla position"])
    assert len(groups()) == 8


def test_a_group_is_found_however_far_back_in_a_text_it_is_named() -> None:
    filler = "The boat is painted green and white, and lies in the old harbour. " * 40
    assert find_topics(filler, ["health"]) == []
    assert find_topics(filler + "Her diabetes is bad, she needs insulin.", ["health"]) == ["health"]


DISGUISED = (
    "Told about diabbetes at noon", "ddiiaabbeetteess", "Heard of diab etes again", "dia-betes", "di\u200babetes",
    "\u1d05\u026a\u1d00\u0299\u1d07\u1d1b\u1d07s", "".join(chr(0x1F170 + ord(letter) - 65) for letter in "DIABETES"),
)  # fmt: skip
"""Doubled letters, gaps, small capitals, letters in boxes."""


@pytest.mark.parametrize("said", DISGUISED)
def test_no_disguise_hides_a_topic(said: str) -> None:
    assert find_topics(said, ["health"]) == ["health"]
    own = said.replace("Told about ", "").replace(" at noon", "").replace("Heard of ", "").replace(" again", "")
    assert find_topics(f"She met {own} there on the way home", ["diabetes"]) == ["diabetes"]


@pytest.mark.parametrize("by", ["words", "meaning"])
def test_a_topic_that_a_sentence_touches_is_found_whatever_stands_beside_it(by: str) -> None:
    """Neighbours that have nothing to do with it made the whole seem harmless."""
    sense = None
    if by == "meaning":
        sense = Bundled(_embedder(), BundledEmbedder.space)
    neighbours = (
        "We walked along the river and saw two herons near the old bridge.",
        "Anna brought a cake with plums and we played chess until late.",
        "The garden has tomatoes, beans and a small pond with frogs.",
    )
    touching = {"I am gay.": "sexuality", "I am a Muslim.": "faith", "We pray at the mosque on Fridays.": "faith",
                "I joined the Labour party.": "politics", "She has depression.": "health"}  # fmt: skip
    for said, topic in touching.items():
        for before in range(3):
            text = " ".join((*neighbours[:before], said, *neighbours[before:]))
            assert find_topics(text, [topic], sense) == [topic], text
    assert find_topics(" ".join(neighbours), sorted(set(touching.values())), sense) == []


def test_ordinary_words_are_no_disguise() -> None:
    plain = "Still both sorts of coffee, good soon: see the rapist's casa de campo, ok remove it, canvas step, in come"
    assert find_topics(plain, list(groups())) == []
    assert find_topics("All over the hall, a balloon", ["hal", "Tom", "ball"]) == []


@pytest.mark.parametrize("between", [" ", "\n", "; "])
@pytest.mark.parametrize(
    ("said", "topic"),
    [("She has depression.", "health"), ("I am gay.", "sexuality"), ("I joined the Labour party.", "politics")],
)
def test_what_is_found_alone_is_found_beside_harmless_sentences(said: str, topic: str, between: str) -> None:
    harmless = ["The cat slept on the chair.", "The train was late because of snow on the line.", "We saw two herons."]
    assert find_topics(said, [topic]) == [topic]
    assert find_topics(between.join(harmless), [topic]) == []
    for at in range(len(harmless) + 1):
        text = between.join([*harmless[:at], said, *harmless[at:]])
        assert find_topics(text, [topic]) == [topic], text
