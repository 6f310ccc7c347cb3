"""A turn without a model is one unit of work: three transactions at most, and as many questions to the database at ten
memories as at thousands, at two turns as at hundreds."""

import asyncio
from typing import Any

import pytest
from tests.models.notebook.counting import counting
from tests.models.notebook.scripted import Scripted
from tests.models.notebook.talking import holding, moved_by
from tests.models.notebook.talking import say as said

from keepbook import Keepbook
from keepbook.models.notebook import turn

MOST_TRANSACTIONS, MOST_READS = 3, 25
TURNS = (
    "I live in Oslo with my wife Kari.", "thanks", "where do I live?", "forget where I live",
    "what did I say of the vilage, my weddign and the gardn?",
)  # fmt: skip


def say(kb: Keepbook, chat: Any, text: str) -> None:
    async def heard() -> None:
        async for _ in kb.talk(chat).say(text):
            pass

    asyncio.run(heard())


def fill(book: Any, count: int) -> None:
    with book.transaction():
        for number in range(count):
            book.remember(f"Keeps bees in hive {number} near village {number % 17}", force=True)


@pytest.mark.parametrize("text", TURNS)
def test_a_turn_has_three_transactions_and_few_reads(kb: Keepbook, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    book = kb.book("alice")
    fill(book, 10)
    chat = book.threads.start()
    say(kb, chat, "I keep bees in Oslo.")
    with counting(kb, monkeypatch) as counted:
        say(kb, chat, text)
    assert counted.transactions <= MOST_TRANSACTIONS
    assert 0 < counted.reads <= MOST_READS


def test_the_count_does_not_grow_with_the_book_or_the_chat(kb: Keepbook, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = []
    for owner, memories, turns in (("small", 10, 2), ("large", 1_000, 2), ("long", 10, 120)):
        book = kb.book(owner)
        fill(book, memories)
        chat = book.threads.start()
        for number in range(turns // 2):
            chat.add("user", f"The weather is like day {number}.")
            chat.add("assistant", "Noted.")
        say(kb, chat, "I keep bees in Oslo.")
        with counting(kb, monkeypatch) as counted:
            say(kb, chat, "I live in Oslo with my wife Kari.")
        counts.append((counted.transactions, counted.reads))
    assert counts[0] == counts[1] == counts[2]


# --- decided on what the book says when it is written

CHANGE = Scripted({"Bergen": {"act": "change", "points": "Oslo", "old": "Oslo", "new": "Bergen"}})


def touched_meanwhile(kb: Keepbook, monkeypatch: pytest.MonkeyPatch, times: int) -> list[int]:
    """Somebody else gives the line another version, so often, while a turn is understood."""
    understand, left = turn.understand, [times]
    alice = kb.book("alice")

    def slow(*given: Any, **told: Any) -> Any:
        if left[0]:
            left[0] -= 1
            (home,) = alice.list()
            alice.update(home.id, "I live in Oslo", body=f"House {left[0]}")
        return understand(*given, **told)

    monkeypatch.setattr(turn, "understand", slow)
    return left


@pytest.mark.both_engines
def test_a_conflict_is_decided_anew_once_and_then_written(kb: Keepbook, monkeypatch: pytest.MonkeyPatch) -> None:
    alice = kb.book("alice")
    alice.remember("I live in Oslo")
    chat = alice.threads.start()
    with moved_by(CHANGE):
        left = touched_meanwhile(kb, monkeypatch, 1)
        reply = said(kb, chat, "I live in Bergen these days")
    assert left == [0]
    assert [(one.content, one.version) for one in alice.list()] == [("I live in Bergen these days", 3)]
    assert [one.turn for one in chat.messages() if one.role == "user"] == [1]
    assert "Changed: “I live in Bergen these days”." in reply


@pytest.mark.both_engines
def test_a_second_conflict_is_asked_and_nothing_is_lost(kb: Keepbook, monkeypatch: pytest.MonkeyPatch) -> None:
    alice = kb.book("alice")
    alice.remember("I live in Oslo")
    chat = alice.threads.start()
    with moved_by(CHANGE):
        touched_meanwhile(kb, monkeypatch, 2)
        reply = said(kb, chat, "I live in Bergen these days")
    (home,) = (one for one in alice.list() if "Oslo" in one.content)
    assert home.version == 3
    (asked,) = alice.proposals.list()
    assert (asked.question, asked.memory_id) == ("change", home.id)
    assert "Shall I change" in reply
    assert [one.text for one in chat.messages() if one.role == "user"] == ["I live in Bergen these days"]


@pytest.mark.both_engines
@pytest.mark.parametrize("part", ["understand", "decide_steps"])
def test_where_reading_or_deciding_fails_the_turn_is_stored_and_nothing_is_done(
    kb: Keepbook, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    alice = kb.book("alice")
    alice.remember("I live in Oslo")
    before = alice.ledger(limit=None)
    chat = alice.threads.start()
    monkeypatch.setattr(turn, part, lambda *_, **__: 1 / 0)
    reply = said(kb, chat, "forget where I live. I take metformin every morning.")
    assert reply
    assert [one.role for one in chat.messages()] == ["user", "assistant"]
    assert chat.messages()[0].text == "forget where I live. I take metformin every morning."
    assert (alice.ledger(limit=None), alice.proposals.list()) == (before, [])
    assert holding(alice) == ["I live in Oslo"]


def test_a_turn_that_cannot_be_read_is_answered_again_all_the_same(
    kb: Keepbook, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = kb.book("alice").threads.start()
    said(kb, chat, "where do I live?")
    monkeypatch.setattr(turn, "understand", lambda *_, **__: 1 / 0)

    async def again() -> None:
        async for _ in kb.talk(chat).again(instead_of=2):
            pass

    asyncio.run(again())
    assert [one.turn for one in chat.messages()] == [1, 2, 3]
