"""Sentences are found by one loop over the letters: what ends one, what does not, and what that costs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.growth import grows_in_step

from keepbook.book.text.sentences import sentences


def cut(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in sentences(text)]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("I work in the U.S. My editor is Ann.", ["I work in the U.S.", "My editor is Ann."]),
        ("i live in the u.s. my editor is ann", ["i live in the u.s.", "my editor is ann"]),
        ("I left at 6 a.m. We drove on.", ["I left at 6 a.m.", "We drove on."]),
        ("Pears, figs etc. Then we left.", ["Pears, figs etc.", "Then we left."]),
        ("I met Anna K. She is kind.", ["I met Anna K.", "She is kind."]),
        ("i live in oslo. my sister lives in rome", ["i live in oslo.", "my sister lives in rome"]),
        ("I am 61. My wife is 60.", ["I am 61.", "My wife is 60."]),
        ("No. I live in Rome.", ["No.", "I live in Rome."]),
        ("I see it at example.com. Thanks", ["I see it at example.com.", "Thanks"]),
        ("how are you? i'm fine!!! ok", ["how are you?", "i'm fine!!!", "ok"]),
        ("I live in Oslo... My sister does not.", ["I live in Oslo...", "My sister does not."]),
        ("(I live in Rome.) My cat does too.", ["(I live in Rome.)", "My cat does too."]),
        ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
        ("我住在东京。我喜欢猫！你呢？", ["我住在东京。", "我喜欢猫！", "你呢？"]),
        ("I love it! 😀 My dog is Rex 🐶 He is 3", ["I love it! 😀", "My dog is Rex 🐶", "He is 3"]),
        ("my name is Ola\nI live in Oslo", ["my name is Ola", "I live in Oslo"]),
        ("- tea\n* milk\n• figs", ["- tea", "* milk", "• figs"]),
        ("1. I like tea.\n2. My dog is Rex.", ["1. I like tea.", "2. My dog is Rex."]),
        ("1. milk 2. bread 3. eggs", ["1. milk", "2. bread", "3. eggs"]),
        ("we need: • milk • bread", ["we need:", "• milk", "• bread"]),
        ("Am 5. Mai ziehe ich um. Danach bin ich weg.", ["Am 5. Mai ziehe ich um.", "Danach bin ich weg."]),
    ],
)
def test_a_sentence_ends(text: str, pieces: list[str]) -> None:
    assert cut(text) == pieces


@pytest.mark.parametrize(
    "text",
    [
        "My dentist is Dr. Hansen in St. Gallen",
        "I joined the U.S. Army in 2001",
        "H.M. Revenue has written to me",
        "I lived on Gt. Portland Street",
        "I owe Sgt. Ola (ret.) Ferreira a bottle",
        "We meet at 5 p.m. Monday in the hall",
        "J. R. Smith is my boss",
        "The bill was $65,000.50 for version 3.5.1",
        "Write to a.b@mail.example.org or see https://example.org/a.b?c=1!x",
        "I like fruit, e.g. pears, i.e. sweet ones",
        "hmm... maybe later… who knows",
        "“Really?” she said",
        "Ich wohne z.B. in Graz, bzw. bei Graz",
        "Jeg går i 3. klasse",
        "I read Node.js and No. 5 of it",
    ],
)
def test_a_dot_inside_ends_nothing(text: str) -> None:
    assert cut(text) == [text]


@given(st.text(alphabet=st.sampled_from(" \n\t.!?…。a1AU.S\"'”)•-*😀\u200d"), max_size=60))
@settings(max_examples=120, deadline=None)
def test_sentences_lie_side_by_side_and_none_is_blank(text: str) -> None:
    found = sentences(text)
    assert "".join(text[start:end] for start, end in found) == text
    assert len(found) <= 1 or all(text[start:end].strip() for start, end in found)


@pytest.mark.parametrize("unit", ["a. ", "U.S. ", ".", "? ", "1. ", "\n", " ", "😀", "😀 ", "• ", '." ', ".   ", "a"])
def test_the_work_is_in_step_with_the_length(unit: str) -> None:
    assert grows_in_step(lambda size: sentences((unit * size)[:size]), 20_000)
