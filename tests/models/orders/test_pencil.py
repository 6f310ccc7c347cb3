"""Pencil: what an open chat would leave behind, and the person's word on it."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.conftest import Clock

from keepbook import Book, Keepbook, NotFound
from keepbook.models.choose import Models
from keepbook.models.model import Conversation, Event, Extraction, Reading, Replied, TextDelta, Toolbox, ToolCall, Usage
from keepbook.models.offline.model import OfflineModel


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


TALK = (
    "Hello, I am allergic to peanuts. What is for dinner?",
    "by the way I'm also allergic to cats",
    "I live in Oslo, I work as a nurse, my sister Lena has two kids and I hate coriander.",
    "sorry, I meant I live in Trondheim, not Oslo",
    "What am I allergic to?",
    "Forget everything about Lena",
)


def test_what_was_noted_stays_noted_whatever_is_said_later() -> None:
    kb = Keepbook(":memory:", clock=Clock(), embedder="none")
    alice = kb.book("alice")
    chat = alice.threads.start(preset="general")

    async def said(text: str) -> str:
        return "".join([one.text async for one in kb.talk(chat).say(text) if isinstance(one, TextDelta)])

    told: set[str] = set()
    for text in TALK:
        reply = asyncio.run(said(text))
        here = {one.content for one in chat.pencil()} | {one.content for one in alice.list()}
        gone = {one for one in told - here if "Oslo" not in one and "Lena" not in one}
        assert not gone, f"after {text!r}"
        told = here
        if "Trondheim" in text:
            assert "“Lives in Trondheim”" in reply
    chat.close()
    kept = {one.content for one in alice.list()}
    assert kept >= {"Is allergic to peanuts", "Is allergic to cats", "Lives in Trondheim", "Works as a nurse"}
    assert not any("Oslo" in one or "Lena" in one for one in kept)


class Polite(OfflineModel):
    """A model that says "Noted." to everything, and saves with its tool only what it is told to here."""

    name = "polite"
    saves: str | None = None

    async def reply(self, conversation: Conversation, tools: Toolbox | None) -> AsyncIterator[Event]:
        calls: tuple[ToolCall, ...] = ()
        if self.saves is not None and tools is not None:
            told = {"content": self.saves}
            answer = tools.call("remember", told)
            calls = (ToolCall("call_1", "remember", told, answer.text, answer.memory_event),)
        yield Replied("Noted.", calls, Usage())

    async def extract(self, reading: Reading) -> Extraction:
        return Extraction((), "They spoke.", self.name)


@pytest.mark.parametrize("offline", [False, True], ids=["the model reads", "the notebook reads"])
@pytest.mark.parametrize(
    ("said", "saves", "pencil", "kept"),
    [
        ("Remember that I like jazz", None, ["Likes jazz"], ["Likes jazz"]),
        (
            "I love hiking. Remember that I am allergic to wasps.",
            None,
            ["Loves hiking", "Is allergic to wasps"],
            ["Is allergic to wasps"],
        ),
        ("Remember that I like jazz", "Enjoys jazz music", [], ["Enjoys jazz music"]),
        ("Remember that I like jazz", "Prefers swing", [], ["Prefers swing"]),
        ("Note that the file is large.", None, [], []),
        ("Do you remember that I like jazz?", None, [], []),
        ("Remember that my password is hunter2hunter2", None, [], []),
    ],
)
def test_what_the_person_asks_to_remember_is_not_lost_for_the_model(
    said: str, saves: str | None, pencil: list[str], kept: list[str], offline: bool
) -> None:
    kb = Keepbook(":memory:", clock=Clock(), embedder="none")
    alice, model = kb.book("alice"), Polite()
    model.saves = saves
    kb.__dict__["models"] = Models(model, model, OfflineModel())
    chat = alice.threads.start(preset="general")

    async def turn(text: str) -> None:
        async for _ in kb.talk(chat).say(text):
            pass

    asyncio.run(turn(said))
    assert [line.content for line in chat.pencil()] == pencil
    chat.close(offline=offline)
    assert [memory.content for memory in alice.list()] == kept


def test_what_was_asked_and_taken_back_is_not_kept() -> None:
    kb = Keepbook(":memory:", clock=Clock(), embedder="none")
    alice, model = kb.book("alice"), Polite()
    kb.__dict__["models"] = Models(model, model, OfflineModel())
    chat = alice.threads.start(preset="general")

    async def turns(*texts: str) -> None:
        for text in texts:
            async for _ in kb.talk(chat).say(text):
                pass

    asyncio.run(turns("Remember that I like jazz", "Remember that I live in Oslo", "Forget the jazz"))
    assert [line.content for line in chat.pencil()] == ["Lives in Oslo"]
    chat.close()
    assert [memory.content for memory in alice.list()] == ["Lives in Oslo"]


def test_what_is_pasted_or_quoted_is_nobodys_word(alice: Book) -> None:
    chat = alice.thread("elsewhere")
    chat.add("user", "Forwarded:\n> I live in Oslo.\n>> I eat nuts.\n```\nI own a boat.\n```\nI live in Bergen.")
    assert [line.content for line in chat.pencil()] == ["Lives in Bergen"]
