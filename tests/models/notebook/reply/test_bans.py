"""Topics that are never to be kept, as a person forbids them in a chat: what is meant, what of it is there already, and
what the notebook says of it."""

import threading
from typing import Any

import pytest
from tests.models.notebook.scripted import Scripted
from tests.models.notebook.talking import holding, moved_by, say

from keepbook import Keepbook
from keepbook.book.text import own_words
from keepbook.models.notebook import turn

BOOK = ("Works at Equinor as an engineer", "Has a colleague called Anna", "Plays the cello")


@pytest.fixture
def talk(kb: Keepbook) -> Any:
    def spoken(*texts: str, preset: str = "general") -> tuple[Any, list[str]]:
        alice = kb.book("alice")
        for line in BOOK:
            alice.remember(line)
        chat = alice.threads.start(preset=preset)
        with moved_by(Scripted({"?": {"act": "ask"}, "stop": {"act": "off"}})):
            return alice, [say(kb, chat, text) for text in texts]

    return spoken


@pytest.mark.parametrize(
    ("text", "never"),
    [
        ("stop remembering stuff about work", ("work",)),
        ("Please stop saving my health", ("health",)),
        ("stop remembering what I tell you about my ex", ("my ex",)),
        ("never remember anything about my ex", ("my ex",)),
        ("hör auf dir alles zu merken über Arbeit", ("work",)),
        ("Please don't keep anything about my health.", ("health",)),
        ("don't save stuff about my ex", ("my ex",)),
        ("no guardes nada sobre mi salud", ("health",)),
        ("stop remembering", ()),
        ("stop remembering everything", ()),
        ("stop remembering what I tell you", ()),
        ("stop remembering things about me", ()),
    ],
)
def test_to_stop_for_a_topic_is_a_ban_and_no_switch(talk: Any, text: str, never: tuple[str, ...]) -> None:
    alice, (reply,) = talk(text)
    assert alice.choices.never == never
    assert ("Shall I switch memory off?" in reply) == (never == ())
    assert "my ex" not in reply, "it is said to the person: your ex"
    assert alice.choices.memory


@pytest.mark.parametrize(
    ("text", "never"),
    [
        ("never talk about my ex", ("my ex",)),
        ("never store my salary", ("money",)),
        ("stuff about work is off limits", ("work",)),
        ("anything to do with my brother stays out of this", ("my brother",)),
        ("please don't ever bring up my late mother, ok?", ("my late mother",)),
    ],
)
def test_what_is_read_as_a_ban_bans_what_it_names_in_whatever_words(
    kb: Keepbook, text: str, never: tuple[str, ...]
) -> None:
    alice = kb.book("alice")
    with moved_by(Scripted({text[:8]: {"act": "never"}})):
        say(kb, alice.threads.start(preset="general"), text)
    assert alice.choices.never == never


@pytest.mark.parametrize("answer", ["3", "no"])
def test_a_ban_in_other_words_lists_what_there_is_too(kb: Keepbook, answer: str) -> None:
    alice = kb.book("alice")
    for line in BOOK:
        alice.remember(line)
    chat = alice.threads.start(preset="general")
    with moved_by(Scripted({"store": {"act": "never"}})):
        replies = [say(kb, chat, text) for text in ("never store stuff about work", answer)]
    assert f"\n1. “{BOOK[0]}”\n2. “{BOOK[1]}”\nSay" in replies[0]
    assert set(holding(alice)) == set(BOOK[2:] if answer == "3" else BOOK)


@pytest.mark.parametrize("text", ["don't keep that", "don't save anything", "don't remember anything about that"])
def test_to_keep_out_what_was_said_is_no_ban(talk: Any, text: str) -> None:
    alice, _ = talk(text)
    assert alice.choices.never == ()


@pytest.mark.parametrize(("answer", "left"), [("3", ("Plays the cello",)), ("1", BOOK[1:]), ("4", BOOK), ("no", BOOK)])
def test_what_the_book_has_of_a_topic_is_listed_and_taken_out_if_told_to(
    talk: Any, answer: str, left: tuple[str, ...]
) -> None:
    alice, replies = talk("never remember anything about work", answer)
    assert f"\n1. “{BOOK[0]}”\n2. “{BOOK[1]}”\nSay" in replies[0]
    assert set(holding(alice)) == set(left)
    assert alice.choices.never == ("work",)


def test_what_was_taken_out_comes_back_with_its_own_undo(talk: Any) -> None:
    alice, _ = talk("never remember anything about work", "3", "undo")
    assert (set(holding(alice)), alice.choices.never) == (set(BOOK), ("work",))
    assert alice.verify().ok


def test_topics_are_told_when_asked_for(talk: Any) -> None:
    asked = "what do you never keep?"
    _, replies = talk(asked, "never remember anything about my ex", asked, "What topics do you never save?")
    assert "nothing that I never keep" in replies[0]
    assert "about your ex" in replies[2]
    assert "about your ex" in replies[3]


def test_a_word_that_is_spelt_almost_like_one_of_a_topic_is_not_of_it(kb: Keepbook) -> None:
    alice = kb.book("alice")
    alice.choose(never=["health"])
    alice.remember("my mums birthday is on 3 May")
    assert holding(alice) == ["my mums birthday is on 3 May"]


@pytest.mark.parametrize(("answer", "never", "asked"), [("yes", ("my ex",), True), ("no", (), False)])
def test_what_is_only_likely_a_ban_is_asked(kb: Keepbook, answer: str, never: tuple[str, ...], asked: bool) -> None:
    alice = kb.book("alice")
    alice.remember("My ex Daniel owes me 500")
    chat = alice.threads.start(preset="general")
    with moved_by(Scripted({"never": {"act": "never", "unsure": 0.6}})):
        replies = [say(kb, chat, text) for text in ("never talk about my ex", answer)]
    assert "Shall I never keep anything about my ex" in replies[0]
    assert alice.choices.never == never
    assert (replies[1].endswith("Shall I forget “My ex Daniel owes me 500”?")) == asked
    assert holding(alice) == ["My ex Daniel owes me 500"]


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What do you know about my health?", ["I'm allergic to penicillin"]),
        ("anything about my job?", ["Works at Equinor as an engineer", "Has a colleague called Anna"]),
        ("was weißt du über meine Gesundheit", ["I'm allergic to penicillin"]),
        ("What do you know about my faith?", []),
    ],
)
def test_who_asks_about_a_topic_is_told_the_lines_of_it(kb: Keepbook, question: str, told: list[str]) -> None:
    alice = kb.book("alice")
    for line in (*BOOK, "I'm allergic to penicillin"):
        alice.remember(line)
    with moved_by(Scripted({"?": {"act": "ask"}, "was": {"act": "ask"}})):
        reply = say(kb, alice.threads.start(preset="general"), question)
    assert {line for line in holding(alice) if line in reply} == set(told)


def test_topics_are_looked_for_in_what_is_read_and_not_where_the_server_waits(
    kb: Keepbook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole of a long message takes seconds, in which nobody else would be served."""
    looked = list[tuple[int, bool]]()

    def recorded(text: str, *_: Any) -> list[str]:
        looked.append((len(text), threading.current_thread() is threading.main_thread()))
        return []

    monkeypatch.setattr(turn, "find_topics", recorded)
    alice = kb.book("alice")
    alice.choose(never=["health"])
    say(kb, alice.threads.start(), "word " * 6_000)
    assert looked
    assert all(letters < own_words.MOST + 100 and not waits for letters, waits in looked)
