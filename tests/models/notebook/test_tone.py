"""How the notebook speaks where it has nothing to do: it says what it is once a chat, and of a model once a day."""

from typing import Any

from tests.models.notebook.talking import say

from keepbook import Keepbook


def test_a_model_is_hinted_at_once_a_day_whatever_the_chat(kb: Keepbook, clock: Any) -> None:
    alice = kb.book("alice")
    first, second = alice.threads.start(), alice.threads.start()
    replies = [say(kb, chat, "qwerty asdf") for chat in (first, first, second)]
    clock.forward(hours=25)
    replies.append(say(kb, second, "qwerty asdf"))
    assert ["Settings → Model" in reply for reply in replies] == [True, False, False, True]
    assert ["I am Keepbook's notebook" in reply for reply in replies] == [True, False, True, False]
