"""A message is cheap: 200,000 letters of any kind cost little more to understand and answer than 8,000 usual ones."""

import time
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from tests.models.notebook.talking import say

from keepbook import Keepbook
from keepbook.book.chats.threads import Message
from keepbook.models.model import Conversation, PromptMessage
from keepbook.models.notebook import turn
from keepbook.models.notebook.reply import compose
from keepbook.models.notebook.reply.talk import ReplyContext
from keepbook.models.notebook.scene import load_context

LONG, USUAL = 199_990, 8_000
MOST_RATIO = 3
_numbers = count(1)


def of(piece: str, letters: int = LONG) -> str:
    return (piece * (letters // len(piece) + 1))[:letters]


ORDINARY = (
    "We went to the market in the old town and bought bread, cheese and a few apples for the week. "
    "My sister says that the weather will turn on Thursday, so I plan to stay at home and paint the fence. "
    "Do you think that is wise? Last year I waited too long, and the wood was wet by October. "
)
KINDS = {
    "one word": of("a"),
    "blanks": f"I live in{' ' * (LONG - 14)}Oslo",
    "brackets": of("(["),
    "closers": of(")]}"),
    "emoji": of("🦊"),
    "no marks": of("so we went on and on and then "),
    "fence": "```\n" + of("x = f(y)\n", LONG - 100) + "```\nI live in Oslo",
    "open fence": "```\n" + of("I live in Oslo\n", LONG - 100),
    "so so": "I live in Oslo" + of(" so  so ", LONG - 100),
    "marks": of("?!.,;:"),
    "lines": of("\n- "),
    "quotes": of("\"“'"),
    "digits": of("1234 5678 "),
    "usual": of(ORDINARY),
}
UNREAD = set(KINDS) - {"fence", "open fence"}
"""Kinds whose own words are more than are understood; what is pasted is none."""


@pytest.fixture
def understood(kb: Keepbook) -> Callable[[str], str]:
    """Reads, understands, decides and answers a message; storing it, with its words for recall, is not counted."""
    alice = kb.book("alice")
    alice.remember("I live in Oslo with my wife Kari")
    chat = alice.threads.start()

    def answered(text: str) -> str:
        loaded = load_context(alice, chat.id, text)
        read, _ = turn._decide(alice, loaded, text)
        message = Message(**{"turn": 1, "role": "user", "text": text, "at": loaded.scene.now} | _rest())
        view = turn.view_of(turn.TurnTaken(message, (), loaded, read), alice.meaning)
        said = (PromptMessage("user", text),)
        return compose.compose_answer(ReplyContext(Conversation("", said, preset=loaded.preset, view=view), None))

    return answered


def _rest() -> dict[str, Any]:
    given = {"turn", "role", "text", "at"}
    return {name: None for name in Message.__dataclass_fields__ if name not in given}


def cost(work: Callable[[str], Any], text: str) -> float:
    """CPU seconds for a message that nobody has read before: a word of its own stands in front."""
    start = time.process_time()
    work(f"{next(_numbers)} {text}")
    return time.process_time() - start


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
@pytest.mark.parametrize("reader", ["plain", "learned"])
def test_a_long_message_costs_at_most_three_usual_ones(
    understood: Callable[[str], str], reader: str, request: pytest.FixtureRequest
) -> None:
    if reader == "plain":
        request.getfixturevalue("plain_reader")
    understood("hello")  # whatever is loaded once
    usual = of(ORDINARY, USUAL)
    kinds = KINDS if reader == "plain" else {name: KINDS[name] for name in ("so so",)}
    floor = cost(understood, usual)
    for name, text in kinds.items():
        spent = cost(understood, text)
        if spent > MOST_RATIO * floor:  # other work can only add to it
            spent = min(spent, cost(understood, text))
        assert spent <= MOST_RATIO * floor, (name, spent, floor)


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("plain_reader")
def test_what_was_not_read_is_said_and_stored(kb: Keepbook, kind: str) -> None:
    alice = kb.book("alice")
    chat = alice.threads.start()
    reply = say(kb, chat, KINDS[kind])
    assert ("I read its beginning and its end" in reply) is (kind in UNREAD)
    assert chat.messages()[0].text.strip() == KINDS[kind].strip()
