"""Asked what it can do, the notebook says what it is, and looks nothing up in the book."""

from typing import Any

import pytest
from tests.models.notebook.scripted import Scripted
from tests.models.notebook.talking import moved_by, say

from keepbook import Keepbook


@pytest.mark.parametrize("text", ["what can you do?", "So, what can you do for me?", "Help!", "ok how does this work"])
def test_what_can_you_do_is_no_question_to_the_book(kb: Keepbook, text: str) -> None:
    alice = kb.book("alice")
    alice.remember("I can do the splits")
    with moved_by(Scripted({"do": {"act": "ask"}, "work": {"act": "ask"}, "?": {"act": "ask"}})):
        said: list[Any] = [say(kb, alice.threads.start(preset="general"), text)]
    [reply] = said
    assert reply.startswith("I am your book: ")
    assert "forget" in reply
    assert reply.count("Settings") == 1
    assert "splits" not in reply
    assert "nothing about that" not in reply
