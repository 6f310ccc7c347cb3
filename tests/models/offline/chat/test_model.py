"""The offline model as a model: streamed, deterministic, free, and in step with its own reading at the close."""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.models.offline.chat.conftest import Chat, Open

from keepbook import Keepbook
from keepbook.models.closing.close import close
from keepbook.models.model import (
    Called,
    Conversation,
    Extraction,
    Model,
    Reading,
    Replied,
    Said,
    TextDelta,
    Turn,
    Usage,
)
from keepbook.models.offline.model import OfflineModel
from keepbook.presets import load_preset
from keepbook.tools.catalogue import ToolSet
from keepbook.tools.definition import READS, Answer, define

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)
TURNS = (
    Turn(1, "user", "I live in Oslo with my wife Ana. What should I cook tonight?", NOW),
    Turn(2, "assistant", "Soup.", NOW),
)


@pytest.fixture
def model() -> Model:
    return OfflineModel()


def test_a_reply_comes_in_small_pieces_after_its_calls(chat: Open) -> None:
    events = chat().events("what do you know about me?")
    kinds = [type(event) for event in events]
    deltas = kinds.count(TextDelta)
    assert kinds == [Called, *[TextDelta] * deltas, Replied]
    assert deltas > 5
    assert all(1 <= len(event.text.split()) <= 3 for event in events if isinstance(event, TextDelta))


def test_the_same_conversation_gets_the_same_reply(chat: Open) -> None:
    one, other = chat(), chat()
    for text in ("hello", "Remember that I play chess", "where do I live?", "forget about Oslo", "both"):
        assert one.tell(text) == other.tell(text)


def test_a_reply_costs_nothing_and_its_calls_can_be_sent_again_in_order(chat: Open) -> None:
    replied = chat().events("Remember that I play chess and my wife is called Ana")[-1]
    assert isinstance(replied, Replied)
    assert replied.usage == Usage()
    assert [call.round for call in replied.calls] == list(range(len(replied.calls)))
    assert {call.at for call in replied.calls} == {0}


def test_calls_of_different_turns_have_different_ids(chat: Open) -> None:
    talk = chat()
    for text in ("where do I live?", "Remember that I play chess", "list everything"):
        talk.tell(text)
    ids = [call.id for said in talk.said for call in said.calls]
    assert len(set(ids)) == len(ids) == 4


def test_tools_that_only_sound_alike_are_left_alone(model: Model) -> None:
    called = []

    def add_to_watchlist(content: str) -> Answer:
        called.append(content)
        return Answer("added")

    tools = ToolSet([define(add_to_watchlist, annotations=READS)])

    async def last() -> object:
        conversation = Conversation("You help.", (Said("user", "remember that I like Tesla"),))
        return [event async for event in model.reply(conversation, tools)][-1]

    replied = asyncio.run(last())
    assert isinstance(replied, Replied)
    assert (called, replied.calls) == ([], ())
    assert replied.text.startswith("I have no way to reach your book")


def test_an_empty_conversation_is_answered_too(model: Model) -> None:
    async def last() -> object:
        return [event async for event in model.reply(Conversation("", ()), None)][-1]

    replied = asyncio.run(last())
    assert isinstance(replied, Replied)
    assert "offline model" in replied.text


def test_a_very_long_message_is_answered(chat: Open) -> None:
    talk = chat()
    assert talk.tell("word, " * 20_000)
    assert not talk.wrote


def test_a_chat_is_read_by_the_rules(model: Model) -> None:
    reading = Reading(TURNS, (), load_preset("general").categories, "Europe/Oslo", NOW, summary="Likes soup.")
    extraction = asyncio.run(model.extract(reading))
    assert isinstance(extraction, Extraction)
    assert (extraction.made_by, extraction.usage) == ("offline", Usage())
    assert any("Oslo" in candidate.content for candidate in extraction.candidates)
    assert "soup" in extraction.summary
    assert "Oslo" in extraction.summary


def test_summary_and_title_cost_nothing(model: Model) -> None:
    summary, usage = asyncio.run(model.summarise("Likes soup.", TURNS))
    assert (usage, "soup" in summary) == (Usage(), True)
    title, usage = asyncio.run(model.title(TURNS))
    assert (usage, 3 <= len(title.split()) <= 5) == (Usage(), True)


# --- a whole chat, and its close


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Keepbook]:
    with closing(Keepbook(str(tmp_path / "book.db"))) as kb:
        yield kb


def closed(kb: Keepbook, talk: Chat) -> None:
    """Record the chat as ours are recorded, and close it with the offline model."""
    book = kb.book("alice")
    thread = book.threads.start(preset=talk.preset)
    thread.inject()
    for said in talk.said:
        thread.add(said.role, said.text, hidden=said.hidden)
    done = close(kb._database, "alice", thread.id, load_preset(talk.preset), OfflineModel())
    assert done.status == "closed", done


@pytest.mark.parametrize("preset", ["general", "advisor", "coach"])
def test_closing_learns_nothing_again_that_was_kept_in_the_chat(fresh: Keepbook, preset: str) -> None:
    talk = Chat(fresh.book("alice"), preset, ("Lives in Oslo", "Has two kids"))
    for text in (
        "Remember that my cat is called Tom",
        "from now on keep your answers short",
        "actually, I live in Bergen",
        "don't forget that I'm allergic to peanuts",
        "Remember that my brother works at NASA",
    ):
        talk.tell(text)
    kept = talk.memories
    assert len(kept) == 6
    closed(fresh, talk)
    assert talk.memories == kept


@pytest.mark.parametrize("preset", ["general", "coach"])
def test_closing_does_not_bring_back_what_was_declined_or_forgotten(fresh: Keepbook, preset: str) -> None:
    talk = Chat(fresh.book("alice"), preset, ("Works at Acme",))
    for text in ("Remember that I play the violin", "don't remember that", "forget that I work at Acme"):
        talk.tell(text)
    assert talk.memories == []
    closed(fresh, talk)
    assert talk.memories == []


def test_closing_keeps_what_was_only_told(fresh: Keepbook) -> None:
    talk = Chat(fresh.book("alice"), "general", ())
    said = talk.tell("I live in Oslo and I'm allergic to peanuts.")
    assert said == "I hear you. When this chat closes I keep what is worth keeping."
    assert talk.memories == []
    closed(fresh, talk)
    assert any("Oslo" in content for content in talk.memories)
    assert any("peanuts" in content for content in talk.memories)


def test_a_no_in_the_chat_is_no_proposal_at_the_close(fresh: Keepbook) -> None:
    talk = Chat(fresh.book("alice"), "assistant", ())
    talk.tell("My brother Tim lives in Lyon.")
    talk.tell("no thanks")
    closed(fresh, talk)
    assert [proposal.content for proposal in fresh.book("alice").proposals.list()] == []


def test_a_yes_in_the_chat_is_not_proposed_again(fresh: Keepbook) -> None:
    talk = Chat(fresh.book("alice"), "assistant", ())
    talk.tell("My brother Tim lives in Lyon.")
    talk.tell("yes")
    closed(fresh, talk)
    assert talk.memories == ["Brother Tim lives in Lyon"]
    assert [proposal.content for proposal in fresh.book("alice").proposals.list()] == []
