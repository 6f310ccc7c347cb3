"""How the notebook speaks where it has nothing to do: it says what it is once a chat, and of a model once a day. To a
feeling it says one kind sentence."""

from typing import Any

import pytest
from tests.embedding import meant
from tests.models.notebook.scripted import Scripted
from tests.models.notebook.talking import holding, moved_by, say

from keepbook import Keepbook
from keepbook.models.embedders.bundled import BundledEmbedder, find_bundled
from keepbook.models.notebook.feelings import feeling_of_direction


def test_a_model_is_hinted_at_once_a_day_whatever_the_chat(kb: Keepbook, clock: Any) -> None:
    alice = kb.book("alice")
    first, second = alice.threads.start(), alice.threads.start()
    replies = [say(kb, chat, "qwerty asdf") for chat in (first, first, second)]
    clock.forward(hours=25)
    replies.append(say(kb, second, "qwerty asdf"))
    assert ["Settings → Model" in reply for reply in replies] == [True, False, False, True]
    assert ["I am your book" in reply for reply in replies] == [True, False, True, False]


@pytest.fixture(scope="module")
def embedder() -> BundledEmbedder:
    found = find_bundled()
    assert found is not None, "the tests come with the embed extra"
    return found


def test_to_a_feeling_it_says_one_kind_sentence_keeps_nothing_and_asks_nothing(
    kb: Keepbook, embedder: BundledEmbedder
) -> None:
    alice = meant(kb, embedder=embedder)
    chat = alice.threads.start()
    replies = [say(kb, chat, text) for text in ("I feel so lonely these days", "I'm so happy, what a lovely day!")]
    assert replies == ["I'm sorry, that sounds hard.", "That is good to hear."]
    assert (holding(alice), alice.proposals.list()) == ([], [])
    say(kb, chat, "i quit smoking!! so happy")
    assert holding(alice) == ["i quit smoking"]  # a fact that is told with it is one
    alice.choose(never=["health"])
    assert say(kb, chat, "I feel really down lately") == "I'm sorry, that sounds hard."


@pytest.mark.parametrize(
    ("text", "despairs"),
    [
        ("I don't want to live anymore", True),
        ("I want to die", True),
        ("I don't want to live in Amsterdam anymore", False),
        ("my phone died yesterday", False),
    ],
)
def test_despair_of_life_is_no_fact(kb: Keepbook, embedder: BundledEmbedder, text: str, despairs: bool) -> None:
    alice = meant(kb, embedder=embedder)
    reply = say(kb, alice.threads.start(), text)
    assert reply.startswith("I'm sorry, that sounds hard.") == despairs
    assert not (despairs and (holding(alice) or alice.proposals.list()))


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("I feel so sad and lonely. Forget that I live in Oslo.", []),
        ("I feel so sad and lonely, take Oslo out of there.", []),
        ("I feel so sad and lonely, I have left Oslo.", ["Lives in Oslo"]),
    ],
)
def test_an_order_beside_a_feeling_is_carried_out(
    kb: Keepbook, embedder: BundledEmbedder, text: str, held: list[str]
) -> None:
    alice = meant(kb, embedder=embedder)
    alice.remember("Lives in Oslo")
    script = {"take Oslo": {"act": "withdraw", "points": "Oslo"}, "left Oslo": {"act": "end", "points": "Oslo"}}
    with moved_by(Scripted(script)):
        say(kb, alice.threads.start(), text)
    assert (holding(alice), alice.proposals.list()) == (held, [])


@pytest.mark.parametrize(
    ("text", "feeling"),
    [
        ("I can't stop crying, everything is too much", "low"),
        ("I am so relieved and happy right now", "glad"),
        ("I work at Equinor as an engineer", None),
        ("My sister is sad about the move", None),
        ("I feel we should sell the house", None),
        ("How do you treat anxiety?", None),
    ],
)
def test_a_feeling_is_the_persons_own_and_of_the_moment(
    embedder: BundledEmbedder, text: str, feeling: str | None
) -> None:
    assert feeling_of_direction(embedder.embed([text])[0], embedder.space) == feeling
    assert feeling_of_direction(embedder.embed([text])[0], "another embedder") is None
