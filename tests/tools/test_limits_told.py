"""What a model asks for past a limit is told to it in words, and leaves nothing."""

from typing import Any

import pytest

from keepbook.book.ground.limits import MOST_QUESTION
from keepbook.tools.catalogue import build_tools


@pytest.mark.parametrize(("tool", "named"), [("recall", "query"), ("recall_chats", "query"), ("timeline", "topic")])
def test_a_model_is_told_how_long_a_question_may_be(alice: Any, tool: str, named: str) -> None:
    answer = build_tools(None, alice, outside=True).call(tool, {named: "otters " * MOST_QUESTION})
    assert answer.error == "invalid"
    assert "at most 2,000 letters" in answer.text


def test_turns_that_are_refused_begin_no_chat(alice: Any) -> None:
    turns = [{"role": "user", "text": "Hello"}, {"role": "user", "text": "x" * 300_000}]
    answer = build_tools(None, alice, outside=True).call("record_turns", {"session": "new", "turns": turns})
    assert answer.error == "invalid"
    assert list(alice.threads.list()) == []
