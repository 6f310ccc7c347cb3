"""What a reply was made from is put together again from what is stored: held against what the server received."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.models.conftest import NAMES
from tests.models.wire import Call, Received, Say, Wire

from keepbook import Keepbook
from keepbook.book.chats.face import Chat
from keepbook.book.chats.threads import Message
from keepbook.models.as_sent import ERASED, SUMMED_UP, sent_reply
from keepbook.models.closing import prompt as sheets
from keepbook.models.compress import Budget
from keepbook.models.providers.address import Address
from keepbook.models.providers.remote import ROUNDS
from keepbook.models.providers.written_request import write_request
from keepbook.settings import Settings

KEY = "sk-a-key-of-nobody"
Open = Callable[..., Keepbook]


@pytest.fixture
def engine_name() -> str:
    return "sqlite"


@pytest.fixture
def opened(book_url: str, clock: Any) -> Iterator[Open]:
    kept: list[Keepbook] = []

    def at(wire: Wire, **told: Any) -> Keepbook:
        place = {f"{wire.kind}_base_url": wire.url, f"{wire.kind}_key": KEY}
        settings = Settings(model=f"{wire.kind}:{NAMES[wire.kind]}", model_timeout=10.0, **place, **told)
        kept.append(Keepbook(book_url, clock=clock, settings=settings))
        return kept[-1]

    yield at
    for kb in kept:
        kb.close()


def talk(kb: Keepbook, chat: Chat, *texts: str) -> None:
    async def all_of_it() -> None:
        for text in texts:
            async for _ in kb.talk(chat).say(text):
                pass

    asyncio.run(all_of_it())


def written(wire: Wire, kb: Keepbook, chat: Chat, reply: Message) -> tuple[bytes, list[str]]:
    """The request of a reply, written again, and what of it is not known."""
    budget = Budget(kb.settings.context_tokens, kb.settings.compress_at)
    sent = sent_reply(chat.book, chat, reply, budget)
    address = Address(wire.kind, NAMES[wire.kind], wire.url)
    body = asyncio.run(write_request(address, sent.conversation, sent.tools, may_call=sent.rounds < ROUNDS))
    return body, list(sent.gaps)


def replies(chat: Chat) -> list[Message]:
    return [one for one in chat.messages() if one.role == "assistant"]


def asked_in_chat(wire: Wire) -> list[Received]:
    apart = (sheets.TITLE[:40], sheets.SUMMARISE[:40])
    return [one for one in wire.received if not one.system.startswith(apart)]


@pytest.mark.parametrize("preset", ["general", "advisor", "assistant", "coach"])
def test_the_last_request_of_each_reply_is_written_again_to_the_byte(wire: Wire, opened: Open, preset: str) -> None:
    kb = opened(wire)
    alice = kb.book("alice")
    alice.remember("Lives in Vienna")
    recall = next((tool.name for tool in alice.preset(preset).tools if tool.does == "recall"), "recall")
    wire.script += [
        Say("Good morning."),
        Say("A talk"),  # the title
        Say("Let me look.", [Call(recall, {"query": "Vienna"}, "a1"), Call("no_such_tool", {"x": 1}, "a2")]),
        Say(calls=[Call(recall, {"query": "zzz"}, "a3")]),
        Say("In Vienna."),
        Say("Gladly."),
    ]
    chat = alice.threads.start(preset=preset, mode="coach")
    talk(kb, chat, "Good morning, I am looking at my savings.", "Where do I live?", "Thanks, and “so on” <b>…")
    asked = asked_in_chat(wire)
    assert len(asked) == 5
    for reply, last in zip(replies(chat), (asked[0], asked[3], asked[4]), strict=True):
        assert written(wire, kb, chat, reply) == (last.body, [])
    assert KEY.encode() not in written(wire, kb, chat, replies(chat)[0])[0]
    assert len(asked_in_chat(wire)) == 5, "nothing was sent"


def test_an_incognito_chat_and_one_with_memory_off_were_sent_no_memory(wire: Wire, opened: Open) -> None:
    kb = opened(wire)
    alice = kb.book("alice")
    alice.remember("Lives in Vienna")
    for begun in ("incognito", "off", "on"):
        wire.script += [Say("Hello."), Say("A title")]
        alice.choose(memory=begun != "off")
        chat = alice.threads.start(incognito=begun == "incognito")
        talk(kb, chat, "Hello")
        alice.choose(memory=begun == "off")  # what is chosen later changes nothing
        last = asked_in_chat(wire)[-1]
        alice.choose(memory=True)
        assert written(wire, kb, chat, replies(chat)[0]) == (last.body, [])
        assert ("Lives in Vienna" in last.system) == (begun == "on")


def test_of_a_chat_that_was_summed_up_only_an_earlier_summary_is_not_known(wire: Wire, opened: Open) -> None:
    def obliging(request: Received) -> Say:
        if request.system.startswith(sheets.SUMMARISE[:40]):
            return Say("They have spoken of many things.")
        return Say("It depends on the weather. " * 100)

    wire.answer = obliging
    kb = opened(wire, context_tokens=6_000)
    chat = kb.book("alice").threads.start(preset="general")
    talk(kb, chat, *(f"What of number {nth}?" for nth in range(14)))
    assert chat.thread.compressed_through > 0
    known = 0
    for reply, last in zip(replies(chat), asked_in_chat(wire), strict=True):
        body, gaps = written(wire, kb, chat, reply)
        known += not gaps
        assert gaps == [SUMMED_UP] or body == last.body
    assert known >= 2
    assert written(wire, kb, chat, replies(chat)[-1])[1] == []


def test_what_was_erased_is_a_gap(wire: Wire, opened: Open) -> None:
    kb = opened(wire)
    alice = kb.book("alice")
    memory = alice.remember("Lives in Vienna")
    wire.script += [Say("Hello."), Say("A title")]
    chat = alice.threads.start()
    talk(kb, chat, "Hello")
    assert b"Vienna" in written(wire, kb, chat, replies(chat)[0])[0]
    alice.delete(memory.id, forever=True)
    body, gaps = written(wire, kb, chat, replies(chat)[0])
    assert gaps == [ERASED]
    assert b"Vienna" not in body
