"""Pencil: what an open chat would leave behind, and the person's word on it."""

import asyncio

import pytest
from tests.conftest import Clock

from keepbook import Book, Keepbook, NotFound


@pytest.fixture
def alice() -> Book:
    return Keepbook(":memory:", clock=Clock(), embedder="none").book("alice")


def test_pencil_shows_the_line_beside_its_turn_and_stores_nothing(alice: Book) -> None:
    chat = alice.thread("elsewhere")
    chat.add("user", "I have a wedding gig in Porto on the 14th of September.")
    [line] = chat.pencil()
    assert (line.turn_id, line.op, line.target) == (1, "add", None)
    assert "Porto" in line.content
    assert chat.pencil()[0].key == line.key
    assert not list(alice.list())


def test_a_no_is_heeded_by_closing(alice: Book) -> None:
    chat = alice.thread("elsewhere")
    chat.add("user", "I have a wedding gig in Porto on the 14th of September.")
    chat.decline(chat.pencil()[0].key)
    assert not chat.pencil()
    chat.close()
    assert not list(alice.list())
    assert not alice.proposals.list()


def test_keep_now_is_written_as_the_person_and_not_twice(alice: Book) -> None:
    chat = alice.thread("elsewhere")
    chat.add("user", "I have a wedding gig in Porto on the 14th of September.")
    written = chat.keep(chat.pencil()[0].key)
    assert written.source == "chat"
    assert written.turn_ids == ("1",)
    assert not chat.pencil()
    chat.close()
    assert len(alice.list()) == 1


def test_a_closed_or_private_chat_has_none(alice: Book) -> None:
    private = alice.thread("private", incognito=True)
    private.add("user", "I have a wedding gig in Porto on the 14th of September.")
    assert not private.pencil()
    chat = alice.thread("elsewhere")
    chat.add("user", "I have a wedding gig in Porto on the 14th of September.")
    chat.close()
    assert not chat.pencil()
    with pytest.raises(NotFound):
        chat.keep("1-00000000")


def test_an_order_is_done_once_and_told_to_the_model() -> None:
    kb = Keepbook(":memory:", clock=Clock(), embedder="none")
    alice = kb.book("alice")
    alice.remember("Lives in Oslo")
    chat = alice.threads.start(preset="general")

    async def said(text: str) -> None:
        async for _ in kb.talk(chat).say(text):
            pass

    asyncio.run(said("Forget that I live in Oslo."))
    message = chat.messages()[0]
    assert "carried out already" in (message.hidden or "")
    assert not list(alice.list())
    assert [entry.action for entry in alice.ledger()] == ["forget", "remember"]
    assert alice.ledger()[0].actor == "person"
