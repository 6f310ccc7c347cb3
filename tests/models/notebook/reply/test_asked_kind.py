"""What a question asks for, and which lines have it: a line about the same thing that lacks it answers nothing."""

from typing import Any

import pytest
from tests.models.notebook.talking import say

from keepbook import Keepbook
from keepbook.models.notebook.reply.asked_kind import asked_kind, has_kind, is_asked


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("when is the concert?", "our concert is on 21 November"),
        ("when does Luna get her pill?", "Luna needs her pill at eight"),
        ("since when am I vegetarian", "I'm vegetarian since 2018"),
        ("how much do I owe Priya?", "I owe Priya 340 dollars"),
        ("how many kids do we have?", "we have two kids"),
        ("how often do I run?", "I run every day"),
        ("how old is my mother?", "My mother lives in Porto and is 81"),
        ("how old is my cello?", "my cello was made in 1890"),
        ("who is my dentist?", "my dentist is Dr. Wu"),
        ("who is my dentist?", "my dentist is dr wu"),
        ("who drives me?", "my brother drives me on Mondays"),
        ("what is my dog called?", "Rex is my dog"),
        ("where do I live?", "I live in Bergen"),
        ("what is my passport number?", "my passport number is 3320 1188"),
    ],
)
def test_a_line_that_says_it(question: str, line: str) -> None:
    assert has_kind(asked_kind(question), question, line)


@pytest.mark.parametrize(
    ("question", "line"),
    [
        ("when is my dentist appointment?", "my dentist is Dr. Wu"),
        ("how much did the tractor cost?", "the red tractor is a 1974 Deutz"),
        ("how much is my flat?", "I rent a flat on Langstrasse 14"),
        ("how many rooms does the cabin have?", "we bought the cabin for 2 million"),
        ("how old is dad?", "dad's pension is 1,900 a month"),
        ("when is Yara's exam?", "my apprentice Yara starts her exam year"),
        ("how old is Tiago?", "my brother Tiago has two daughters"),
        ("how much is the cleaner?", "our cleaner comes every other Thursday"),
        ("who serviced the boiler?", "The boiler was serviced in October"),
        ("who made my cello?", "my cello was made in 1890"),
        ("what are Tiago's daughters called?", "my brother Tiago has two daughters"),
        ("where is the bar exam?", "I'm studying for the bar exam in February"),
        ("what is our flight number?", "Our flight to Lisbon is on 14 May"),
    ],
)
def test_a_line_about_it_that_does_not_say_it(question: str, line: str) -> None:
    assert not has_kind(asked_kind(question), question, line)


LINES = ["my dentist is Dr. Wu", "I teach maths at Ridgeway School", "I owe Priya 40"]


def is_answered(reply: str) -> bool:
    """Whether lines are told as the answer, not only as the nearest."""
    return reply.startswith(("Your book says", "From your book:"))


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("who is my dentist?", "Dr. Wu"),
        ("what do I owe Priya?", "40"),
        ("did you write down my dentist?", "Dr. Wu"),
        ("when is my dentist appointment?", None),
        ("what room do I teach in?", None),
        ("what do I owe Mark?", None),
        ("do I teach physics?", None),
    ],
)
def test_what_is_not_in_the_book_is_told_by_no_line(kb: Keepbook, question: str, told: str | None) -> None:
    alice: Any = kb.book("alice")
    for line in LINES:
        alice.remember(line, force=True)
    alice.reindex()
    reply = say(kb, alice.threads.start(preset="general"), question)
    if told:
        assert told in reply
    assert is_answered(reply) == bool(told)


def test_where_nothing_answers_the_nearest_line_is_shown_as_no_more(kb: Keepbook) -> None:
    alice: Any = kb.book("alice")
    for line in LINES:
        alice.remember(line, force=True)
    alice.reindex()
    chat = alice.threads.start(preset="general")
    told = say(kb, chat, "what room do I teach in?")
    assert told.startswith("The nearest I have is “")
    assert say(kb, chat, "what colour is my car?") == "I have nothing about that."


@pytest.mark.parametrize(
    ("text", "is_question"),
    [
        ("when do i turn another year older", True),
        ("what is my goal this year", True),
        ("in which weeks am I on call", True),
        ("how much do i send my aunt", True),
        ("whats the wifi password", True),
        ("dónde vivo", True),
        ("what a sunset there is tonight", False),
        ("what i mean is I hate it", False),
        ("when i was six we moved to Leeds", False),
        ("who knows", False),
        ("I know who is my friend", False),
    ],
)
def test_a_question_is_known_without_its_mark(text: str, is_question: bool) -> None:
    assert is_asked(text) == is_question


def test_a_question_without_its_mark_is_answered(kb: Keepbook) -> None:
    alice: Any = kb.book("alice")
    for line in LINES:
        alice.remember(line, force=True)
    alice.reindex()
    chat = alice.threads.start(preset="general")
    assert "Dr. Wu" in say(kb, chat, "who is my dentist")
    assert say(kb, chat, "what colour is my car") == "I have nothing about that."
    assert not alice.proposals.list()
