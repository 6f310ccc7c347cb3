"""A chat's title: at most six words in a row of the person's first statement or question, letter for letter."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepbook.models.model import DialogueTurn
from keepbook.models.notebook.brief.title import MOST_WORDS, UNTITLED, chat_title


def named(*said: str) -> str:
    return chat_title([DialogueTurn(number, "user", text) for number, text in enumerate(said, 1)])


@pytest.mark.parametrize(
    ("first", "words"),
    [
        ("I live in Vienna.", "I live in Vienna"),
        ("Hello! What am I allergic to?", "What am I allergic to"),
        ("My dentist is Dr. Hansen.", "My dentist is Dr. Hansen"),
        ("I'm thinking about buying a used cargo bike", "buying a used cargo bike"),
        ("Can you compare pension providers in Denmark for freelancers?", "compare pension providers in Denmark"),
        ("hey, my sourdough starter smells like nail polish, is it dead?", "my sourdough starter smells"),
        ("ok. my dog is called Rex", "my dog is called Rex"),
        ("remember that I'm allergic to nuts", "I'm allergic to nuts"),
        ("我想买一辆二手自行车，有什么建议？", "我想买一辆二手自行车"),
    ],
)
def test_the_title_is_in_the_persons_words(first: str, words: str):
    assert named(first) == words
    assert words in first


@pytest.mark.parametrize(
    ("first", "words"),
    [
        ("I owe 65 000 euros to my brother in Rome", "I owe 65 000 euros"),
        ("Yesterday we all met Anna Maria von Trapp at noon", "Yesterday we all met"),
        ("My old friends call me Jean Paul Durand again", "My old friends call"),
    ],
)
def test_no_cut_lies_inside_a_name_or_a_number(first: str, words: str):
    assert named(first) == words


@pytest.mark.parametrize(
    "text", ["", "hi", "hey there!", "ok", "yes please", "😀", "```\ncode of mine\n```", "> quoted words"]
)
def test_what_says_nothing_gives_no_title(text: str):
    assert named(text) == UNTITLED


def test_a_greeting_is_no_title():
    assert (
        named("hey there!", "can you compare pension providers in Denmark?") == "compare pension providers in Denmark"
    )


@pytest.mark.parametrize(
    "text",
    [
        "my card is 4111 1111 1111 1111",
        "off the record, I earn 65k",
        "My salary is 65k but don't keep that",
        "I'm getting divorced. Don't tell anyone!",
    ],
)
def test_what_is_secret_or_hushed_is_in_no_title(text: str):
    assert named(text) == UNTITLED
    assert named(text, "What is a good pension?") == "What is a good pension"


def test_what_was_withdrawn_is_in_no_title():
    turns = [DialogueTurn(1, "user", "I owe my aunt 8,000. How do I bake bread?")]
    assert chat_title(turns) == "I owe my aunt 8,000"
    assert chat_title(turns, {1: [(0, 20)]}) == "How do I bake bread"


@given(st.lists(st.text(max_size=120), max_size=3))
@settings(max_examples=40, deadline=None)
def test_a_title_is_short_and_was_said(said: list[str]):
    found = named(*said)
    assert len(found.split()) <= MOST_WORDS
    folded = [" ".join(text.split()) for text in said]
    assert found == UNTITLED or any(found in text for text in folded)
