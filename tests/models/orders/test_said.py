"""What a person says in a chat, by its effect: cases that were wrong once."""

import asyncio

import pytest
from tests.conftest import Clock

from keepbook import Book, Keepbook
from keepbook.book.chats.face import Chat
from keepbook.models.chat import Talk
from keepbook.models.lines.matters import apart, same_matter, without
from keepbook.models.lines.slots import filled
from keepbook.models.model import TextDelta


@pytest.fixture
def kb() -> Keepbook:
    return Keepbook(":memory:", clock=Clock(), embedder="none")


def _say(kb: Keepbook, chat: Chat, text: str) -> str:
    async def said() -> str:
        return "".join([one.text async for one in kb.talk(chat).say(text) if isinstance(one, TextDelta)])

    return asyncio.run(said())


def _lines(book: Book) -> list[str]:
    return [memory.content for memory in book.list()]


def test_a_line_about_two_children_is_not_dropped_for_the_age_of_one(kb: Keepbook) -> None:
    alice = kb.book("alice")
    alice.remember("Has two kids, Max is 6 and Ella is 9")
    chat = alice.threads.start(preset="general")
    assert "Ella is 9" in _say(kb, chat, "Forget Max's age.")
    assert _lines(alice) == ["Has two kids, Max is 6 and Ella is 9"]
    _say(kb, chat, "yes")
    assert _lines(alice) == ["Has two kids, Ella is 9"]


def test_a_line_about_one_is_not_asked_about() -> None:
    assert without("Max's age", "Max is 6 and plays chess") is None
    assert without("my trip to Rome", "Trip to Rome and Naples in May") is None


def test_a_value_is_meant_for_what_was_told_before_a_question(kb: Keepbook) -> None:
    alice = kb.book("alice")
    chat = alice.threads.start(preset="general")
    for text in ("I weigh 61 kilos.", "How much protein should I eat?", "make that 62"):
        _say(kb, chat, text)
    chat.close()
    assert [line for line in _lines(alice) if "62" in line]
    assert not [line for line in _lines(alice) if "61" in line]


def test_what_is_told_beside_a_correction_is_not_lost(kb: Keepbook) -> None:
    alice = kb.book("alice")
    chat = alice.threads.start(preset="general")
    _say(kb, chat, "I work four days a week as a nurse.")
    _say(kb, chat, "Make that three days. And my daughter Mia is allergic to peanuts.")
    assert [one.content for one in chat.pencil()] == ["Daughter Mia is allergic to peanuts"]
    assert _lines(alice) == ["Works three days a week as a nurse"]


def test_a_value_is_meant_for_a_question_that_has_one(kb: Keepbook) -> None:
    alice = kb.book("alice")
    chat = alice.threads.start(preset="general")
    for text in ("I weigh 61 kilos.", "What is 20 percent of 80?", "make that 90"):
        _say(kb, chat, text)
    chat.close()
    assert not [line for line in _lines(alice) if "90" in line]


@pytest.mark.parametrize(
    ("line", "fragment", "made"),
    [
        ("Has a cottage in Lofoten which they do not intend to sell", "the other way round", []),
        ("Wants to retire", "the opposite", []),
        ("Has a friend who works at the harbour", "airport", []),
        ("Is allergic to walnuts", "hazelnuts", ["Is allergic to hazelnuts"]),
    ],
)
def test_a_value_never_takes_the_place_of_a_verb(line: str, fragment: str, made: list[str]) -> None:
    assert filled(line, fragment) == made


@pytest.mark.parametrize("text", ["I'm vegetarian.", "I'm vegan", "My bus pass costs 38 euros a month."])
def test_a_plain_statement_is_noted(kb: Keepbook, text: str) -> None:
    chat = kb.book("alice").thread("elsewhere")
    chat.add("user", text)
    assert len(chat.pencil()) == 1


def test_a_plain_statement_that_is_likely_is_kept(kb: Keepbook) -> None:
    alice = kb.book("alice")
    chat = alice.thread("elsewhere")
    chat.add("user", "I'm vegetarian.")
    chat.close()
    assert _lines(alice) == ["Is vegetarian"]


def test_a_second_thing_of_a_kind_takes_nothing_away(kb: Keepbook) -> None:
    assert apart("Locker number at the pool is 12", "Locker number at the office is 31")
    assert not same_matter("Owes the garage 300 dollars as well", "Owes 900 dollars on a card")
    assert same_matter("Trains 4 times a week", "Trains 3 times a week")
    alice = kb.book("alice")
    alice.remember("Sails dinghies at Hamble")
    chat = alice.threads.start(preset="general")
    _say(kb, chat, "My dinghy is a Laser.")
    assert "Sails dinghies at Hamble" in _lines(alice)


def test_without_orders_the_model_does_what_the_person_wants(kb: Keepbook) -> None:
    alice = kb.book("alice")
    alice.remember("Lives in Oslo")
    chat = alice.threads.start(preset="general")
    told = kb.talk(chat)
    talk = Talk(alice, chat, kb.models, budget=told._budget, monthly_tokens=None, orders=False)

    async def said() -> None:
        async for _ in talk.say("Forget that I live in Oslo."):
            pass

    asyncio.run(said())
    assert _lines(alice) == ["Lives in Oslo"]
    assert chat.messages()[0].hidden is None
