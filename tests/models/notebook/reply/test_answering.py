"""Which lines answer a question, as it was learned: one about the same thing that lacks what is asked for does not."""

from typing import Any

import pytest
from tests.embedding import meant
from tests.models.notebook.talking import say

from keepbook import Keepbook
from keepbook.models.embedders.bundled import find_bundled
from keepbook.models.notebook.reply.answering import ANSWERS, answer_score
from keepbook.models.notebook.reply.lookup import find_answers
from keepbook.models.notebook.scene import question_in


class Bundled:
    """The embedder that comes with Keepbook, as the notebook is given it."""

    def __init__(self) -> None:
        found = find_bundled()
        assert found is not None, "the tests come with the embed extra"
        self._embedder, self.space = found, found.space

    def direction(self, text: str) -> Any:
        return self._embedder.embed([text])[0]

    def directions(self, texts: Any) -> Any:
        return self._embedder.embed(list(texts))


@pytest.fixture(scope="module")
def sense() -> Bundled:
    return Bundled()


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("when is my dentist appointment?", "The dentist is on 3 May at nine", "my dentist is Dr. Wu"),
        ("how much did the tractor cost?", "the tractor cost 9,000", "the red tractor is a 1974 Deutz"),
        ("how old is my mother?", "My mother lives in Porto and is 81", "My mother lives in Porto"),
        ("where do I work?", "I work at Equinor", "I work out three times a week"),
        ("how many rooms does the cabin have?", "the cabin has four rooms", "we bought the cabin for 2 million"),
        ("What car do I drive?", "I drive a 2012 Volvo V60", "I live in Oslo"),
    ],
)
def test_a_line_answers_that_has_what_is_asked_for(sense: Bundled, question: str, answer: str, other: str) -> None:
    right, wrong = answer_score(question, answer, sense), answer_score(question, other, sense)
    assert right is not None
    assert wrong is not None
    assert right >= ANSWERS > wrong


def test_of_another_embedder_nothing_was_learned(sense: Bundled) -> None:
    other = Bundled()
    other.space = "another embedder"
    assert answer_score("where do I live?", "I live in Bergen", other) is None


LINES = ["my dentist is Dr. Wu", "I teach maths at Ridgeway School", "I owe Priya 40"]


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("who is my dentist?", "Dr. Wu"),
        ("what do I owe Priya?", "40"),
        ("did you write down my dentist?", "Dr. Wu"),
        ("when is my dentist appointment?", None),
        ("how old am I?", None),
        ("what do I owe Mark?", None),
        ("what room do I teach in?", None),
        ("do I teach physics?", None),
    ],
)
def test_what_is_not_in_the_book_is_said_so(kb: Keepbook, question: str, told: str | None) -> None:
    alice: Any = kb.book("alice")
    for line in LINES:
        alice.remember(line, force=True)
    alice.reindex()
    reply = say(kb, alice.threads.start(preset="general"), question)
    if told:
        assert told in reply
    assert reply.startswith(("Your book says", "From your book:")) == bool(told)


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("what do you know about Pluis?", ["we have a cat, Pluis"]),
        ("who is pluis", ["we have a cat, Pluis"]),
        ("Who is Pluis?", ["we have a cat, Pluis"]),
        ("what have you got on Joost", ["Joost is allergic", "my boyfriend Joost"]),
        ("tell me about my boyfriend", ["Joost is allergic", "my boyfriend Joost"]),
        ("what do you know about my sister?", []),
    ],
)
def test_of_whom_all_is_asked_all_lines_that_name_them_are_told(kb: Keepbook, question: str, told: list[str]) -> None:
    alice: Any = kb.book("alice")
    for line in ("we have a cat, Pluis, she's 11", "I live with my boyfriend Joost", "Joost is allergic to shellfish"):
        alice.remember(line, force=True)
    alice.reindex()
    reply = say(kb, alice.threads.start(preset="general"), question)
    assert all(line in reply for line in told)
    assert reply.startswith(("Your book says", "From your book:")) == bool(told)


def test_where_nothing_answers_the_nearest_line_is_shown_as_no_more(kb: Keepbook) -> None:
    alice: Any = kb.book("alice")
    for line in LINES:
        alice.remember(line, force=True)
    alice.reindex()
    chat = alice.threads.start(preset="general")
    told = say(kb, chat, "what room do I teach in?")
    assert told.startswith("The nearest I have is “I teach maths at Ridgeway School”.")
    assert say(kb, chat, "what colour is my car?") == "I have nothing about that."


def test_a_question_without_its_mark_is_answered(kb: Keepbook) -> None:
    alice: Any = kb.book("alice")
    for line in LINES:
        alice.remember(line, force=True)
    alice.reindex()
    chat = alice.threads.start(preset="general")
    assert "Dr. Wu" in say(kb, chat, "who is my dentist")
    assert say(kb, chat, "what colour is my car") == "I have nothing about that."
    assert not alice.proposals.list()


@pytest.mark.parametrize(("text", "asks"), [("what is my goal this year", True), ("my goal is a marathon", False)])
def test_a_question_is_known_without_its_mark(kb: Keepbook, text: str, asks: bool) -> None:
    alice = kb.book("alice")
    assert ("I have nothing about that." in say(kb, alice.threads.start(preset="general"), text)) == asks


def test_what_was_said_later_of_what_a_line_names_is_told_with_it(kb: Keepbook) -> None:
    alice: Any = meant(kb, embedder=find_bundled())
    for line in ("I drive a 2012 Volvo V60", "I live in Oslo", "I've traded the Volvo for a Tesla Model Y"):
        alice.remember(line, force=True)
    alice.reindex()
    reply = say(kb, alice.threads.start(preset="general"), "Which Volvo do I drive?")
    assert reply.index("Tesla") < reply.index("V60")
    assert "Oslo" not in reply


def test_what_was_told_a_moment_ago_is_an_answer_before_it_has_a_vector(alice: Any, sense: Bundled) -> None:
    for line in ("I live in Leeds", "I have a cat called Miso"):
        alice.remember(line, force=True)
    hits = alice.recall("where do I live?")
    assert [hit.likeness for hit in hits] == [0.0]
    found = find_answers("where do I live?", hits, (), (), sense=sense)
    assert [line.content for line in found.lines] == ["I live in Leeds"]


@pytest.mark.parametrize(
    ("turn", "question"),
    [
        ("thanks, that was painless. what do you know about my kids?", "what do you know about my kids?"),
        ("where do I live? I always forget", "where do I live?"),
        ("My mother is Bev. How old is she?", "My mother is Bev. How old is she?"),
        ("Where do I live?", "Where do I live?"),
        ("I moved to Oslo", "I moved to Oslo"),
    ],
)
def test_a_question_is_looked_up_without_what_is_said_beside_it(turn: str, question: str) -> None:
    assert question_in(turn) == question


def test_what_is_said_of_somebody_else_is_not_the_nearest_to_a_question_of_oneself(alice: Any, sense: Bundled) -> None:
    alice.remember("My sister lives in Toronto", force=True)
    asked = "Where do I live?"
    assert find_answers(asked, alice.recall(asked), (), (), sense=sense).nearest is None
    asked = "Where does my sister live?"
    assert find_answers(asked, alice.recall(asked), (), (), sense=sense).lines
