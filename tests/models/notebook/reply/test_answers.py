"""What a question finds: the line that answers, without being denied; whose it is; what was only said in this chat."""

from typing import Any

import pytest
from tests.models.notebook.talking import say

from keepbook import Keepbook


def told(kb: Keepbook, *lines: str, asked: str) -> str:
    alice: Any = kb.book("alice")
    for line in lines:
        alice.remember(line, force=True)
    alice.reindex()
    return say(kb, alice.threads.start(preset="general"), asked).splitlines()[0]


def test_one_line_is_quoted(kb: Keepbook) -> None:
    lines = ("My name is Tom", "My mother lives in Marseille and she's 78", "I live in Lyon with my wife Marie")
    assert told(kb, *lines, asked="What's my name?") == "Your book says “My name is Tom”."


def test_whose_day_it_is_is_known_by_the_name_that_the_book_gives_them(kb: Keepbook) -> None:
    lines = ("I live in Lyon with my wife Marie", "My birthday is on 3 April", "Marie's birthday is 12 June")
    assert told(kb, *lines, asked="When is my wife's birthday?") == "Your book says “Marie's birthday is 12 June”."


@pytest.mark.parametrize("asked", ["What's the capital of France?", "When is my brother's birthday?"])
def test_what_is_not_about_the_book_names_no_line(kb: Keepbook, asked: str) -> None:
    lines = ("My mother lives in Marseille and she's 78", "My birthday is on 3 April")
    assert told(kb, *lines, asked=asked) == "I have nothing about that."


def test_opposites_are_said_not_to_go_together(kb: Keepbook) -> None:
    lines = ("I'm allergic to peanuts", "I'm not allergic to peanuts")
    assert "do not go together" in told(kb, *lines, asked="Am I allergic to peanuts?")


def test_what_was_said_in_this_chat_and_not_kept_is_quoted(kb: Keepbook) -> None:
    alice: Any = kb.book("alice")
    chat = alice.threads.start(preset="general")
    said = "ugh, the dentist on Tuesday again"
    say(kb, chat, said)
    alice.reindex()
    reply = say(kb, chat, "when is the dentist?")
    assert "dentist on Tuesday" in reply
    assert "nothing about that" not in reply
