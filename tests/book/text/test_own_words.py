"""Of a message the person's own words are understood, 8,000 letters at most, and what was pasted is nobody's word."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.growth import grows_in_step

from keepbook.book.text.own_words import MOST, own_words, read_own_words, without_pasted


def own(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in own_words(text)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("I live in Oslo", ["I live in Oslo"]),
        ("look:\n```py\nx = 1\n```\nI wrote that", ["look:", "I wrote that"]),
        ("look:\n~~~\nI am Ada\n~~~\nthanks", ["look:", "thanks"]),
        ("````\n```\nI am Ada\n````\nthanks", ["thanks"]),
        ("an open one\n```\nI live in Rome", ["an open one"]),
        ("she wrote\n> I love you\n> 2 much\n>\nwhat now?", ["she wrote", "what now?"]),
        ("> 200 is too much for me", ["> 200 is too much for me"]),
        ("my code is `x = 1` and > y", ["my code is `x = 1` and > y"]),
        ("  \n ", []),
        ("", []),
    ],
)
def test_pasted_text_is_nobodys_word(text: str, words: list[str]) -> None:
    assert own(text) == words
    assert not read_own_words(text).unread


def test_what_was_pasted_is_told_apart_from_what_is_unread() -> None:
    assert read_own_words("see\n> I love you").pasted
    assert not read_own_words("see").pasted
    assert read_own_words("word " * MOST).unread


def test_a_long_message_is_read_at_both_ends_and_cut_between_words() -> None:
    text = " ".join(f"word{number}" for number in range(5_000))
    first, last = own(text)
    assert first.startswith("word0 ")
    assert last.endswith(" word4999")
    assert set(first.split()) | set(last.split()) <= set(text.split())
    assert MOST - 300 < len(first) + len(last) <= MOST


def test_own_words_behind_a_long_paste_are_read() -> None:
    text = "first\n```\n" + "x = 1\n" * 20_000 + "```\n" + "> quoted words\n" * 5_000 + "I live in Oslo"
    assert own(text) == ["first", "I live in Oslo"]
    assert not read_own_words(text).unread


@given(st.text(alphabet=st.sampled_from("ab >`~\n\t1"), max_size=80), st.integers(1, 400))
@settings(max_examples=80, deadline=None)
def test_spans_are_in_order_and_letters_keep_their_places(text: str, times: int) -> None:
    text = text * times
    spans = own_words(text)
    assert spans == sorted(spans)
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(one[1] <= two[0] for one, two in pairwise(spans))
    assert sum(end - start for start, end in spans) <= MOST
    blanked = without_pasted(text)
    assert len(blanked) == len(text)
    assert all(blanked[start:end] == text[start:end] for start, end in spans)
    assert blanked.count("\n") == text.count("\n")


@pytest.mark.parametrize("unit", ["a ", "\n", "> a\n", ">\n", "```\n", "```\na\n", "`", "~~~ x\n", "   >\n", " ", "a"])
def test_the_work_is_in_step_with_the_length(unit: str) -> None:
    assert grows_in_step(lambda size: own_words((unit * size)[:size]), 100_000)
