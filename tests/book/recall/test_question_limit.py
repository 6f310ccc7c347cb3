"""A question has a limit, the same at every door, told before anything is looked for."""

from typing import Any

import pytest

from keepbook import Invalid
from keepbook.book.ground.limits import MOST_QUESTION

LONG = "otters " * MOST_QUESTION


@pytest.mark.parametrize("how", ["recall", "recall_chats", "timeline", "search", "threads"])
def test_a_question_of_any_length_is_refused_before_anything_is_read(alice: Any, how: str) -> None:
    alice.thread("one").add("user", "The otters live by the river")
    asks = {"search": alice.threads.search, "threads": alice.threads.recall}
    ask = asks.get(how) or getattr(alice, how)
    ask(("otters " * MOST_QUESTION)[:MOST_QUESTION])
    with pytest.raises(Invalid, match=r"at most 2,000 letters; this has 14,000") as refused:
        ask(LONG)
    assert refused.value.field == "query"
