"""Closing a chat: what the person said becomes memory exactly once, whatever a model answers and whoever crashes.

The models here do what a test tells them to and keep what they were shown. Run as a program, this file raises
processes that close a chat, and may be killed in the middle of it.
"""

import asyncio
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TextIO

import pytest

from keepbook import Keepbook, jobs
from keepbook.book.chats import threads
from keepbook.book.chats.face import Chat
from keepbook.book.ground import due
from keepbook.book.ground.in_pieces import Gaps, nobody_stops
from keepbook.book.ground.when import parse_stamp
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes
from keepbook.book.recall import memories as recalled
from keepbook.book.text.block_lines import BlockLine, block_text
from keepbook.errors import ModelFailed
from keepbook.models.choose import OVER_CAP, Models
from keepbook.models.closing import close as closing
from keepbook.models.closing.checks import judge_candidates, strip_injected
from keepbook.models.closing.close import ClosingResult
from keepbook.models.model import (
    Candidate,
    ClosingChat,
    Conversation,
    DialogueTurn,
    Extraction,
    KnownMemory,
    ReplyEvent,
    Toolbox,
    Usage,
)
from keepbook.models.offline.model import OfflineModel
from keepbook.settings import Settings

NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)
Answer = Sequence[Candidate] | Exception | Callable[[ClosingChat], Sequence[Candidate]]


class Reader:
    """Gives one answer after the other (the last one again and again), and keeps what it was shown."""

    name = "scripted"

    def __init__(self, *answers: Answer, usage: Usage = Usage(100, 10)) -> None:  # noqa: B008  frozen
        self.answers = list(answers or [()])
        self.usage = usage
        self.seen: list[ClosingChat] = []
        self.meanwhile: Callable[[], Any] = lambda: None

    async def extract(self, reading: ClosingChat) -> Extraction:
        self.seen.append(reading)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        self.meanwhile()
        if isinstance(answer, Exception):
            raise answer
        found = answer(reading) if callable(answer) else answer
        return Extraction(tuple(found), f"Summary {len(self.seen)}.", self.name, self.usage)

    async def reply(self, conversation: Conversation, tools: Toolbox | None) -> AsyncIterator[ReplyEvent]:
        raise NotImplementedError
        yield

    async def summarise(self, previous: str | None, turns: Sequence[DialogueTurn]) -> tuple[str, Usage]:
        raise NotImplementedError

    async def title(self, turns: Sequence[DialogueTurn]) -> tuple[str, Usage]:
        raise NotImplementedError


def add(content: str, *turns: int | str, **told: Any) -> Candidate:
    known: dict[str, Any] = {"op": "add", "target": None, "category": "fact", "subject": None, "score": 0.9}
    return Candidate(**(known | told), content=content, turn_ids=turns or (1,))


def update(target: str, content: str, *turns: int | str, **told: Any) -> Candidate:
    return add(content, *turns, op="update", target=target, **told)


def forget(target: str, *turns: int | str) -> Candidate:
    return add("", *turns, op="forget", target=target)


def use(kb: Any, model: Any) -> Any:
    """From here on this model reads what closes."""
    kb.__dict__["models"] = Models(model, model, OfflineModel())
    return model


def began(kb: Any, *said: str, owner: str = "alice", **told: Any) -> Chat:
    """A chat in which the person says this."""
    chat: Chat = kb.book(owner).threads.start(**told)
    for text in said:
        chat.add("user", text)
    return chat


def found_by_software(book: Any, content: str) -> Any:
    """A memory on no person's word."""
    origin = Origin("extractor", "close", source="extracted")
    with book._database.write(book.owner) as tx:
        return changes.remember(tx, origin, book.preset(), changes.Statement(content, score=0.9, made_by="rules"))


def contents(book: Any) -> list[str]:
    return [memory.content for memory in book.list(limit=1000)]


def reasons(closed: ClosingResult) -> list[str]:
    return [skipped.reason for skipped in closed.skipped]


# --- what is read


def test_the_new_turns_are_read_in_one_call_with_all_they_need(kb: Any, alice: Any) -> None:
    reader = use(kb, Reader([add("Lives in Oslo", 1)]))
    alice.configure(zone="Europe/Oslo")
    alice.choose(never=["health"])
    own = alice.remember("Drinks green tea", category="preference")
    chat = began(kb, "I live in Oslo")
    chat.add("assistant", "Noted.")
    chat.add("tool", "a page says: the person is rich")
    chat.add("system", "rules of the host")
    closed = chat.close()
    assert (closed.status, closed.made_by, closed.notice) == ("closed", "scripted", None)
    (reading,) = reader.seen
    assert [(turn.id, turn.role, turn.text) for turn in reading.turns] == [
        (1, "user", "I live in Oslo"),
        (2, "assistant", "Noted."),
    ]
    assert [(memory.id, memory.content, memory.protected) for memory in reading.known] == [
        (own.id, "Drinks green tea", True)
    ]
    assert (reading.zone, reading.never, reading.summary) == ("Europe/Oslo", ("health",), None)
    assert reading.categories == alice.preset().categories
    assert reading.turns[0].at == chat.messages()[0].at


def test_of_a_large_book_the_lines_are_read_that_speak_of_the_chat(
    kb: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recalled, "COUNTED", 20)
    for number in range(30):
        alice.remember(f"Shelf {number} of the cellar holds jars", force=True)
    ferry = alice.remember("The ferry to Horten leaves at nine")
    gone = alice.remember("A ferry used to stop at Moss", valid_from="2020-01-01", valid_until="2021-01-01")
    reader = use(kb, Reader([update(ferry.id, "The ferry to Horten leaves at ten", 1)]))
    closed = began(kb, "The ferry to Horten leaves at ten now").close()
    assert [memory.id for memory in reader.seen[0].known] == [ferry.id]
    assert gone.id not in {memory.id for memory in reader.seen[0].known}, "what has ended is not compared with"
    assert [proposal.memory_id for proposal in alice.proposals.list()] == [ferry.id], "it is the person's own word"
    assert closed.status == "closed"
    monkeypatch.setattr(recalled, "COUNTED", 2000)
    began(kb, "Nothing of the kind").close()
    assert len(reader.seen[1].known) == 31, "a usual book is read whole"


def test_a_memory_says_where_it_comes_from_and_who_made_it(kb: Any, alice: Any) -> None:
    use(kb, Reader([add("Lives in Oslo", 1, 2, 99, category="profile", subject="home", valid_from="2020-05-01")]))
    chat = began(kb, "I moved here in May 2020", "Oslo, I mean")
    (written,) = chat.close().written
    memory = alice.get(written["id"])
    assert (memory.content, memory.category, memory.subject) == ("Lives in Oslo", "profile", "home")
    assert (memory.source, memory.confidence, memory.made_by) == ("extracted", "inferred", "scripted")
    assert memory.score == 0.9
    assert (memory.thread_id, memory.turn_ids) == (chat.id, ("1", "2"))
    assert memory.valid_from == datetime(2020, 5, 1, tzinfo=UTC)
    (entry,) = alice.ledger()
    assert (entry.event, entry.actor, entry.door, entry.thread_id) == (written["event"], "extractor", "close", chat.id)
    assert alice.undo(written["event"]).state == "archived"


def test_only_turns_past_the_watermark_are_read_with_the_summary_of_the_rest(kb: Any) -> None:
    reader = use(kb, Reader([add("Lives in Oslo", 1)], [add("Works as a nurse", 3)]))
    chat = began(kb, "I live in Oslo")
    chat.add("assistant", "Noted.")
    chat.close()
    assert (chat.thread.summary, chat.thread.extracted_through) == ("Summary 1.", 2)
    chat.add("user", "I work as a nurse")
    chat.close()
    assert [[turn.id for turn in reading.turns] for reading in reader.seen] == [[1, 2], [3]]
    assert [reading.summary for reading in reader.seen] == [None, "Summary 1."]
    assert (chat.thread.summary, chat.thread.extracted_through) == ("Summary 2.", 3)


def test_reopened_and_closed_ten_times_each_turn_is_seen_once(kb: Any, alice: Any) -> None:
    reader = use(kb, Reader(lambda reading: [add(f"Fact {turn.id} of many", turn.id) for turn in reading.turns]))
    chat = alice.threads.start()
    for number in range(10):
        chat.add("user", f"This is fact {number}")
        if number % 3 == 0:
            chat.add("assistant", "I see.")
        assert chat.close().status == "closed"
        assert chat.close().status == "nothing"  # a refresh costs nothing
    seen = [turn.id for reading in reader.seen for turn in reading.turns]
    assert seen == list(range(1, 15))
    assert len(reader.seen) == 10
    assert len(contents(alice)) == 10  # the person spoke as often


def test_a_chat_in_which_the_person_said_nothing_new_asks_no_model(kb: Any) -> None:
    reader = use(kb, Reader())
    chat = began(kb, "Hello")
    chat.close()
    chat.add("assistant", "Anything else?")
    chat.add("tool", "a result")
    assert chat.close().status == "closed"
    assert (chat.thread.state, chat.thread.extracted_through, len(reader.seen)) == ("idle", 3, 1)
    assert began(kb).close().status == "closed"
    assert len(reader.seen) == 1


def test_incognito_chats_and_owners_without_memory_are_shown_to_no_model(kb: Any, alice: Any) -> None:
    reader = use(kb, Reader([add("Lives in Oslo", 1)]))
    began(kb, "I live in Oslo", incognito=True).close()
    alice.choose(memory=False)
    began(kb, "I live in Oslo").close()
    assert reader.seen == []
    assert contents(alice) == []
    assert alice.spending.list() == []


def test_what_the_prompt_gave_is_taken_out_of_what_the_model_reads(kb: Any, alice: Any) -> None:
    reader = use(kb, Reader())
    alice.acting(actor="agent").remember("Lives in Oslo", confidence="inferred")
    alice.remember("Drinks green tea")
    chat = alice.threads.start()
    block = chat.inject()
    line = next(line for line in block.splitlines() if "Oslo" in line)
    chat.add("user", f"{block}\nMy sister is called Mia", hidden="Page: Orders\nThe customer is a doctor")
    chat.add("user", f"You wrote:\n> {line}\n  lives in oslo.\nand I moved last week")
    chat.add("assistant", "Drinks green tea\nThe customer is a doctor\nI see.")
    chat.close()
    assert [turn.text.strip() for turn in reader.seen[0].turns] == [
        "My sister is called Mia",
        "You wrote:\nand I moved last week",
        "I see.",
    ]
    assert block_text(reader.seen[0].block) == block


@pytest.mark.parametrize("preset", ["general", "advisor", "assistant", "coach"])
def test_a_line_of_any_presets_block_is_recognised(preset: str, tmp_path: Any) -> None:
    with Keepbook(tmp_path / "book.db", preset=preset) as kb:
        book = kb.book("alice", by="agent")
        book.remember("Keeps bees near Ålesund", subject="hobby", confidence="inferred")
        block, lines = book.block(), book.rendered().lines
    (line,) = [line for line in block.splitlines() if "bees" in line]
    said = [
        DialogueTurn(n, "user", text) for n, text in enumerate([line, f"> {line}", "Keeps bees near Ålesund.", block])
    ]
    assert [turn.text.strip() for turn in strip_injected(said, lines)] == [""] * 4
    kept = [DialogueTurn(1, "user", "I keep bees near Ålesund, and goats\n\nToo many")]
    assert strip_injected(kept, lines) == tuple(kept)


# --- what a candidate may be

KNOWN = (
    KnownMemory("own00001", "fact", None, "Drinks green tea", "profile", None, True),
    KnownMemory("read0001", "fact", "home", "Lives in Oslo near the park", "extracted", 0.9, False),
)
READING = ClosingChat(
    turns=(
        DialogueTurn(1, "user", "I moved to Bergen in May, and please forget that I drink tea"),
        DialogueTurn(2, "assistant", "Shall I note that you like boats?"),
        DialogueTurn(3, "user", "Yes, and it rains"),
        DialogueTurn(4, "user", "  "),
    ),
    known=KNOWN,
    categories=("profile", "fact"),
    zone="UTC",
    now=NOW,
    block=(
        BlockLine("line", "Plays the old saxophone", "- [gone0001] ", "gone0001", 1),
        BlockLine("line", "Drinks green tea", "- [own00001] ", "own00001", 1),
    ),
    never=("health", "my salary"),
)


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [
        (add("Likes boats", 2, 3), None),
        (add("Likes boats", 2), "no turn of the person says it"),
        (add("Likes boats", 4), "no turn of the person says it"),
        (add("Likes boats", 99), "no turn of the person says it"),
        (replace(add("Likes boats"), turn_ids=()), "no turn of the person says it"),
        (add("Likes boats", "1"), None),
        (update("read0001", "Lives in Bergen"), None),
        (update("nobody01", "Lives in Bergen"), "it names a memory that was not shown"),
        (replace(add("Lives in Bergen"), op="update"), "it names a memory that was not shown"),
        (forget("nobody01", 1), "it names a memory that was not shown"),
        (forget("read0001", 1), None),
        (forget("read0001", 3), None),  # what it means is the model's to say; it becomes a proposal
        (forget("read0001", 2), "no turn of the person says it"),
        (add("Drinks green tea"), "it is known already"),
        (add("drinks  GREEN tea.", category="profile"), "it is known already"),
        (update("own00001", "Drinks green tea!"), "it is known already"),
        (update("read0001", "Drinks green tea"), "it is known already"),
        (add("Plays the old saxophone"), "it is known already"),
        (add("The card is 4111 1111 1111 1111"), "it holds a secret"),
        (add("The wifi password is hunter2"), "it holds a secret"),
        (add("Her health is poor"), "you asked never to keep anything about health"),
        (add("Is poor", subject="health"), "you asked never to keep anything about health"),
        (update("read0001", "Gets a salary of 5,000"), "you asked never to keep anything about my salary"),
        (add("Owns a small boat"), "the person declined it"),
        (replace(add("Hm"), op="skip", reason="a mood"), "a mood"),
        (replace(add("Hm"), op="merge", reason=None), "not worth keeping"),
    ],
)
def test_each_candidate_is_checked_in_code(candidate: Candidate, reason: str | None) -> None:
    extraction = Extraction((candidate,), "", "scripted")
    assert [why for _, why in judge_candidates(READING, extraction, ["owns a small boat"])] == [reason]


def test_what_was_said_elsewhere_earlier_does_not_replace_a_later_word() -> None:
    said = DialogueTurn(1, "user", "I live in Bergen", parse_stamp("2023-02-01T10:00:00.000000Z"))
    for since, reason in (("2024-05-01", "a later word of yours stands"), ("2022-05-01", None)):
        known = (replace(KNOWN[1], since=f"{since}T00:00:00.000000Z"),)
        reading = replace(READING, turns=(said,), known=known, elsewhere=True)
        found = Extraction((update("read0001", "Lives in Bergen", 1), forget("read0001", 1)), "", "scripted")
        assert [why for _, why in judge_candidates(reading, found)] == [reason, reason]
        assert [why for _, why in judge_candidates(replace(reading, elsewhere=False), found)] == [None, None]


def test_the_same_fact_twice_in_one_answer_is_kept_once() -> None:
    found = Extraction((add("Likes boats", 1), add("likes boats.", 3), add("Likes horses", 3)), "", "scripted")
    assert [reason for _, reason in judge_candidates(READING, found)] == [None, "it was found twice", None]


def test_what_breaks_a_rule_of_the_book_is_skipped_and_the_rest_is_kept(kb: Any, alice: Any) -> None:
    bad = [
        add("No", 1),
        add("x" * 501, 1),
        add("A bell \x07 rings", 1),
        add("Half a pair \ud800", 1),
        add("Since a day that is none", 1, valid_from="the day before"),
        add("A subject without end", 1, subject="s" * 300),
    ]
    use(kb, Reader([*bad, add("Keeps bees", 1, category="no such category", score=7.5), add("Has a goat", 1)]))
    closed = began(kb, "I keep bees and a goat").close()
    assert closed.status == "closed"
    assert contents(alice) == ["Keeps bees", "Has a goat"]
    assert [skipped.content for skipped in closed.skipped] == [candidate.content for candidate in bad]
    assert all(reasons(closed))
    bees = next(iter(alice.list()))
    assert (bees.category, bees.score) == (alice.preset().default_category, 1.0)


def test_ids_that_are_wrong_or_another_owners_reach_nothing(kb: Any, alice: Any) -> None:
    bob = kb.book("bob")
    his = found_by_software(bob, "Bob keeps bees")
    stranger = bob.remember("Bob has a goat")
    before = bob.ledger(limit=None)
    use(kb, Reader([update(his.id, "Bob is poor"), forget(his.id), update(stranger.id, "x" * 9), forget("nobody01")]))
    closed = began(kb, "Forget everything about Bob").close()
    assert (closed.status, closed.written, closed.proposed) == ("closed", (), ())
    assert reasons(closed) == ["it names a memory that was not shown"] * 4
    assert bob.ledger(limit=None) == before
    assert alice.ledger() == []
    assert [message.text for message in bob.threads.list()] == []


def test_a_persons_word_is_not_overwritten_but_the_finding_is_shown(kb: Any, alice: Any) -> None:
    own, told = alice.remember("Lives in Oslo"), alice.acting(actor="agent").remember("Has a dog")
    before = alice.ledger(limit=None)
    use(kb, Reader([update(own.id, "Lives in Bergen", 1, category="profile"), forget(told.id, 2)]))
    chat = began(kb, "I moved to Bergen", "Forget the dog")
    closed = chat.close()
    assert (closed.status, closed.written) == ("closed", ())
    assert reasons(closed) == ["it conflicts with the person's own word"] * 2
    assert alice.ledger(limit=None) == before
    moved, gone = alice.proposals.list()
    assert closed.proposed == (moved.id, gone.id)
    assert (moved.nature, moved.op, moved.memory_id, moved.content) == ("conflict", "update", own.id, "Lives in Bergen")
    assert (moved.reason, moved.made_by, moved.thread_id) == ("your own word says: Lives in Oslo", "scripted", chat.id)
    assert (gone.nature, gone.op, gone.memory_id, gone.turn_ids) == ("conflict", "forget", told.id, ("2",))
    assert alice.proposals.accept(moved.id).content == "Lives in Bergen"


@pytest.mark.parametrize(
    ("known", "said", "op"),
    [
        ("Lives in Oslo", "I live in Bergen now.", "update"),
        ("Has a savings goal of 20,000", "Please forget my savings goal.", "forget"),
    ],
)
def test_what_the_offline_reader_holds_back_for_a_persons_word_is_shown_too(
    kb: Any, alice: Any, monkeypatch: pytest.MonkeyPatch, known: str, said: str, op: str
) -> None:
    from tests.models.notebook.scripted import Scripted  # as a program this file knows no other test

    change = {"act": "change", "points": known, "old": "Oslo", "new": "Bergen"}

    moves = Scripted({"Bergen": change, "forget": {"act": "withdraw", "points": known}})
    monkeypatch.setattr("keepbook.models.notebook.extract.shared_moves", lambda: moves)
    own = alice.remember(known)
    closed = began(kb, said).close()
    assert (closed.made_by, contents(alice)) == ("offline", [known])
    (waiting,) = alice.proposals.list()
    assert (waiting.nature, waiting.op, waiting.memory_id) == ("conflict", op, own.id)
    assert waiting.reason == f"your own word says: {known}"


@pytest.mark.parametrize(
    "invented",
    [
        "Lives in Oslo with a Labrador called Rex",  # a name and an animal that nobody spoke of
        "Lives in Oslo and earns 90,000 a year",
        "Plans a sabbatical in Patagonia next spring",
    ],
)
def test_what_a_model_invents_waits_for_a_yes_though_it_cites_a_real_turn(kb: Any, alice: Any, invented: str) -> None:
    use(kb, Reader([add(invented, 1), add("Lives in Oslo", 1)]))
    began(kb, "I live in Oslo").close()
    assert contents(alice) == ["Lives in Oslo"]
    assert [waiting.content for waiting in alice.proposals.list()] == [invented]


@pytest.mark.parametrize(
    "said",
    ["Oublie mon chien, s'il te plaît", "ช่วยลืมเรื่องหมาของฉันด้วย", "请把我的狗忘掉吧", "Ne garde plus rien sur mon chien"],
)
def test_a_wish_to_forget_in_another_language_is_proposed(kb: Any, alice: Any, said: str) -> None:
    dog = found_by_software(alice, "Has a dog called Bo")
    use(kb, Reader([forget(dog.id, 1)]))
    began(kb, said).close()
    assert alice.get(dog.id).state == "active"
    (waiting,) = alice.proposals.list()
    assert (waiting.op, waiting.memory_id) == ("forget", dog.id)


def test_what_software_found_is_updated_and_forgotten_by_it(kb: Any, alice: Any) -> None:
    home, dog = found_by_software(alice, "Lives in Oslo"), found_by_software(alice, "Has a dog")
    use(kb, Reader([update(home.id, "Lives in Bergen", 1), forget(dog.id, 2)]))
    closed = began(kb, "I moved to Bergen", "Please forget about the dog").close()
    assert [(each["op"], each["id"]) for each in closed.written] == [("update", home.id), ("forget", dog.id)]
    assert (alice.get(home.id).content, alice.get(home.id).version) == ("Lives in Bergen", 2)
    assert (alice.get(dog.id).state, alice.get(dog.id).archived_reason) == ("archived", "agent_forget")


def test_a_preset_that_proposes_saves_nothing_by_itself(kb: Any, alice: Any) -> None:
    alice.configure(preset="assistant")
    home = found_by_software(alice, "Lives in Oslo")
    found = [
        add("Mia is her sister", 1, category="person", subject="Mia", valid_from="2020-01-01", reason="said outright"),
        update(home.id, "Lives in Bergen", 1),
        add("Hi", 1),
        add("x" * 501, 1),
        add("Half a pair \ud800", 1),
    ]
    use(kb, Reader(found))
    chat = began(kb, "My sister Mia and I live in Bergen")
    closed = chat.close()
    assert (closed.status, closed.written, len(closed.proposed)) == ("closed", (), 2)
    assert contents(alice) == ["Lives in Oslo"]
    new, moved = alice.proposals.list()
    assert (new.nature, new.op, new.content, new.category, new.subject) == (
        "proposal", "add", "Mia is her sister", "person", "Mia",
    )  # fmt: skip
    assert (new.thread_id, new.turn_ids, new.made_by, new.score) == (chat.id, ("1",), "scripted", 0.9)
    assert (moved.op, moved.memory_id) == ("update", home.id)
    assert len(closed.skipped) == 3  # what could never be accepted is not asked about
    assert "Mia" not in alice.block()
    written = [alice.proposals.accept(waiting.id) for waiting in (new, moved)]
    assert [memory.source for memory in written] == ["chat", "profile"]
    assert written[0].valid_from == datetime(2020, 1, 1, tzinfo=UTC)


def test_what_was_declined_is_neither_saved_nor_proposed_again(kb: Any, alice: Any) -> None:
    use(kb, Reader([add("Owns a small boat", 1)]))
    assistant = alice.acting()
    assistant.configure(preset="assistant")
    began(kb, "I own a small boat").close()
    (waiting,) = alice.proposals.list()
    alice.proposals.decline(waiting.id)
    for preset in ("assistant", "general"):
        alice.configure(preset=preset)
        closed = began(kb, "As I said, I own a small boat").close()
        assert (closed.written, closed.proposed, reasons(closed)) == ((), (), ["the person declined it"])


def test_what_a_tool_saved_in_the_chat_is_not_saved_again(kb: Any, alice: Any) -> None:
    use(kb, Reader([add("Lives in Oslo", 1, category="profile")]))
    chat = began(kb, "Remember that I live in Oslo")
    alice.acting(actor="agent", thread_id=chat.id).remember("Lives in Oslo", turn_ids=("1",))
    assert reasons(chat.close()) == ["it is known already"]
    assert contents(alice) == ["Lives in Oslo"]


@pytest.mark.parametrize("how", ["undo", "forget", "delete", "delete for good"])
def test_what_the_person_took_back_in_the_chat_does_not_return_when_it_closes(kb: Any, alice: Any, how: str) -> None:
    found = [add("Has type 1 diabetes", 1), add("Lives in Oslo", 2)]
    use(kb, Reader(found))
    chat = began(kb, "I have diabetes", "And I live in Oslo")
    saved = alice.acting(actor="agent", thread_id=chat.id).remember("Has diabetes", turn_ids=("1",))
    if how == "undo":
        alice.undo(saved.event)
    elif how == "forget":
        alice.forget(saved.id)
    else:
        alice.delete(saved.id, forever=how == "delete for good")
    closed = chat.close()
    assert contents(alice) == ["Lives in Oslo"]
    assert reasons(closed) == ["it was taken back"]
    chat.add("user", "Fine, remember that I have diabetes")
    use(kb, Reader([add("Has diabetes", 3)]))
    chat.close()
    assert contents(alice) == ["Lives in Oslo", "Has diabetes"]


def test_what_an_agent_wrote_and_put_away_on_its_own_keeps_nothing_out(kb: Any, alice: Any) -> None:
    use(kb, Reader([add("Has type 1 diabetes", 1), add("Lives in Oslo", 2)]))
    chat, agent = alice.thread("mine"), kb.book("alice", by="agent")
    chat.add("user", "I have diabetes")
    chat.add("user", "And I live in Oslo")
    for words, turn in (("Has diabetes", "1"), ("Lives in Oslo, Norway", "2")):
        saved = agent.acting(thread_id=chat.id).remember(words, turn_ids=(turn,))
        if turn == "1":
            agent.forget(saved.id)
        else:
            agent.undo(saved.event)
    assert reasons(chat.close()) == []
    assert contents(alice) == ["Has type 1 diabetes", "Lives in Oslo"]


def test_an_update_that_was_undone_does_not_return_when_the_chat_closes(kb: Any, alice: Any) -> None:
    home = found_by_software(alice, "Lives in Oslo")
    chat = began(kb, "We think of Bergen as home")
    saved = alice.acting(actor="agent", thread_id=chat.id).update(home.id, "Lives in Bergen", turn_ids=("1",))
    alice.undo(saved.event)
    use(kb, Reader([update(home.id, "Lives in Bergen", 1)]))
    assert reasons(chat.close()) == ["it was taken back"]
    assert contents(alice) == ["Lives in Oslo"]


def test_what_the_person_changed_does_not_return_in_its_old_words_when_the_chat_closes(kb: Any, alice: Any) -> None:
    chat = began(kb, "I am allergic to nickel", "I have a cat")
    saved = alice.acting(thread_id=chat.id).remember("I am allergic to nickel", turn_ids=("1",))
    alice.update(saved.id, "My skin reacts to nickel and cobalt")
    alice.undo(alice.forget(saved.id).event)
    use(kb, Reader([add("Is allergic to nickel", 1), add("Has a cat", 2)]))
    assert not [one for one in chat.pencil() if "nickel" in one.content]
    assert reasons(chat.close()) == ["it was changed since"]
    assert contents(alice) == ["My skin reacts to nickel and cobalt", "Has a cat"]
    chat.add("user", "I am allergic to nickel, as I said")
    use(kb, Reader([add("I am allergic to nickel", 3)]))
    chat.close()
    assert contents(alice)[-1] == "I am allergic to nickel"  # said anew it counts


# --- while the model reads


def test_what_is_said_meanwhile_keeps_the_chat_open_and_is_read_next_time(kb: Any, alice: Any) -> None:
    reader = use(kb, Reader([add("Lives in Oslo", 1)], [add("Keeps bees", 2)]))
    chat = began(kb, "I live in Oslo")
    reader.meanwhile = lambda: chat.add("user", "And I keep bees")
    assert chat.close().status == "open"
    assert (chat.thread.state, chat.thread.extracted_through, chat.thread.turns) == ("active", 1, 2)
    reader.meanwhile = lambda: None
    assert chat.close().status == "closed"
    assert [[turn.id for turn in reading.turns] for reading in reader.seen] == [[1], [2]]
    assert contents(alice) == ["Lives in Oslo", "Keeps bees"]


def test_the_book_is_judged_as_it_stands_when_it_is_written(kb: Any, alice: Any) -> None:
    home, dog, cat = (found_by_software(alice, text) for text in ("Lives in Oslo", "Has a dog", "Has a cat"))

    def meanwhile() -> None:
        alice.update(home.id, "Lives in Tromsø")  # the person's own word now
        alice.forget(dog.id)
        alice.delete(cat.id, forever=True)
        alice.remember("Keeps bees near the river")
        alice.choose(never=["goats"])

    found = [
        update(home.id, "Lives in Bergen"),
        update(dog.id, "Has two dogs"),
        forget(cat.id),
        add("Keeps bees near the river"),
        add("Has goats"),
        add("Plays chess"),
    ]
    reader = use(kb, Reader(found))
    reader.meanwhile = meanwhile
    closed = began(kb, "Forget the cat. I moved, have two dogs, bees, goats and play chess").close()
    assert closed.status == "closed"
    assert contents(alice) == ["Lives in Tromsø", "Keeps bees near the river", "Plays chess"]
    assert [proposal.content for proposal in alice.proposals.list()] == ["Lives in Bergen"]
    assert sorted(reasons(closed)) == [
        "it conflicts with the person's own word",
        "it is known already",
        "it names a memory that was not shown",
        "it names a memory that was not shown",
        "you asked never to keep anything about goats",
    ]


def test_memory_switched_off_meanwhile_is_off(kb: Any, alice: Any) -> None:
    reader = use(kb, Reader([add("Lives in Oslo")]))
    reader.meanwhile = lambda: alice.choose(memory=False)
    assert began(kb, "I live in Oslo").close().status == "closed"
    assert contents(alice) == []


@pytest.mark.parametrize("forever", [False, True])
def test_a_chat_that_is_deleted_meanwhile_teaches_nothing(kb: Any, alice: Any, forever: bool) -> None:
    for answer in ([add("Lives in Oslo")], ModelFailed("the model is asleep")):
        reader = use(kb, Reader(answer))
        chat = began(kb, "I live in Oslo")
        reader.meanwhile = lambda chat=chat: alice.threads.delete(chat.id, forever=forever)
        assert chat.close().status in ("busy", "failed")
        assert contents(alice) == []


def test_a_summary_that_was_erased_meanwhile_does_not_come_back(kb: Any, alice: Any) -> None:
    reader = use(kb, Reader([add("Has diabetes", 1)], []))
    chat = began(kb, "I have diabetes")
    (written,) = chat.close().written
    chat.add("user", "What else?")
    reader.meanwhile = lambda: alice.delete(written["id"], forever=True)
    chat.close()
    assert reader.seen[1].summary == "Summary 1."
    assert chat.thread.summary is None


# --- when it fails

BROKEN = [ModelFailed("the model is asleep", cause="timeout"), KeyError("I live in Oslo"), RecursionError()]


@pytest.mark.parametrize("error", BROKEN, ids=lambda error: type(error).__name__)
def test_a_model_that_fails_leaves_the_chat_as_it_was(kb: Any, alice: Any, error: Exception, caplog: Any) -> None:
    use(kb, Reader(error, [add("Lives in Oslo")]))
    chat = began(kb, "I live in Oslo")
    closed = chat.close()
    assert (closed.status, closed.made_by, closed.written) == ("failed", "scripted", ())
    assert "1 of 5" in (closed.notice or "")
    assert "nothing is lost" in (closed.notice or "")
    left = chat.thread
    assert (left.state, left.extracted_through, left.failures, left.parked) == ("active", 0, 1, False)
    assert left.failure
    assert "Oslo" not in left.failure + str(closed.notice) + caplog.text  # a library's error may quote the chat
    assert chat.close().status == "closed"
    assert contents(alice) == ["Lives in Oslo"]
    assert (chat.thread.failures, chat.thread.failure) == (0, None)


def test_what_breaks_while_writing_leaves_nothing_half_written(kb: Any, alice: Any, monkeypatch: Any) -> None:
    use(kb, Reader([add("Lives in Oslo"), add("Keeps bees")]))
    chat = began(kb, "I live in Oslo and keep bees")

    def breaks(*args: Any, **told: Any) -> None:
        raise OSError("the disk is gone")

    with monkeypatch.context() as patch:
        patch.setattr(threads, "finish", breaks)
        assert chat.close().status == "failed"
    assert (contents(alice), alice.ledger(), chat.thread.extracted_through) == ([], [], 0)
    assert chat.close().status == "closed"
    assert contents(alice) == ["Lives in Oslo", "Keeps bees"]


def test_what_a_failed_try_cost_is_on_the_meter(kb: Any, alice: Any) -> None:
    use(kb, Reader(ModelFailed("broke off", tokens_in=70, tokens_out=7), [add("Lives in Oslo")]))
    chat = began(kb, "I live in Oslo")
    chat.close()
    chat.close()
    (spent,) = alice.spending.list()
    assert (spent.operation, spent.model, spent.calls, spent.tokens_in, spent.tokens_out) == (
        "extract", "scripted", 2, 170, 17,
    )  # fmt: skip


def test_after_five_failures_a_chat_is_parked_with_its_error_until_somebody_speaks(
    kb: Any, alice: Any, clock: Any
) -> None:
    reader = use(kb, Reader(ModelFailed("the model is asleep")))
    chat = began(kb, "I live in Oslo")
    for _ in range(20):
        clock.forward(hours=7)
        kb.sweep()
    assert len(reader.seen) == 5
    parked = chat.thread
    assert (parked.state, parked.parked, parked.failures) == ("active", True, 5)
    assert parked.failure == "the model is asleep"
    reader.answers = [[add("Lives in Oslo")]]
    chat.add("user", "Are you there?")
    assert (chat.thread.parked, chat.thread.failure) == (False, None)
    clock.forward(hours=7)
    assert kb.sweep().done == {"close": 1}
    assert [turn.id for turn in reader.seen[-1].turns] == [1, 2]
    assert contents(alice) == ["Lives in Oslo"]


def test_a_parked_chat_can_be_closed_by_hand(kb: Any, alice: Any) -> None:
    use(kb, Reader(*[ModelFailed("the model is asleep")] * 5, [add("Lives in Oslo")]))
    chat = began(kb, "I live in Oslo")
    notices = [chat.close().notice or "" for _ in range(5)]
    assert "parked" in notices[-1]
    assert not [notice for notice in notices[:-1] if "parked" in notice]
    assert chat.close().status == "closed"
    assert contents(alice) == ["Lives in Oslo"]


def test_each_failure_waits_longer_before_the_next_try(kb: Any, clock: Any) -> None:
    reader = use(kb, Reader(ModelFailed("the model is asleep")))
    chat = began(kb, "I live in Oslo")
    chat.close()
    tries = []
    for quarter in range(1, 40):
        clock.forward(minutes=15)
        before = len(reader.seen)
        kb.sweep()
        if len(reader.seen) > before:
            tries.append(quarter)
    assert len(tries) == 4
    waits = [later - earlier for earlier, later in zip([0, *tries], tries, strict=False)]
    assert waits == sorted(waits)
    assert waits[-1] > waits[0]


# --- the cap


def test_over_the_monthly_cap_a_chat_is_read_offline_and_that_is_said(book_url: str, clock: Any) -> None:
    with Keepbook(book_url, clock=clock, settings=Settings(monthly_tokens=200)) as kb:
        reader = use(kb, Reader([add("Lives in Oslo")], usage=Usage(150, 60)))
        alice = kb.book("alice")
        first = began(kb, "I live in Oslo").close()
        assert (first.made_by, first.notice) == ("scripted", None)
        second = began(kb, "I have two daughters, Ida and Nora.").close()
        assert (second.made_by, second.notice) == ("offline", OVER_CAP)
        assert len(reader.seen) == 1
        assert {memory.made_by for memory in alice.list()} == {"scripted", "offline"}
        assert began(kb, "I live in Rome", owner="bob").close().made_by == "scripted"
        clock.forward(days=32)
        assert began(kb, "I live in Rome").close().made_by == "scripted"


# --- two at once, and the dead


def test_while_one_closes_another_finds_it_busy_and_asks_no_model(kb: Any, alice: Any) -> None:
    reader = use(kb, Reader([add("Lives in Oslo")]))
    chat = began(kb, "I live in Oslo")
    second: list[str] = []
    reader.meanwhile = lambda: second.append(chat.close().status)
    assert chat.close().status == "closed"
    assert (second, len(reader.seen)) == (["busy"], 1)
    assert contents(alice) == ["Lives in Oslo"]


def test_a_closer_whose_lease_was_taken_over_writes_nothing(kb: Any, alice: Any, clock: Any) -> None:
    slow, quick = Reader([add("Lives in Oslo, says the slow one")]), Reader([add("Lives in Oslo")])
    chat = began(kb, "I live in Oslo")

    def overtaken() -> None:
        clock.forward(hours=2)
        use(kb, quick)
        assert chat.close().status == "closed"

    slow.meanwhile = overtaken
    use(kb, slow)
    assert chat.close().status == "busy"
    assert contents(alice) == ["Lives in Oslo"]
    assert (chat.thread.summary, chat.thread.state) == ("Summary 1.", "idle")
    assert alice.spending.this_month() == 220  # both were paid for


def test_what_was_found_is_written_in_pieces_and_judged_by_what_others_wrote_between(
    kb: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closing, "PIECE_SECONDS", 0)
    said: list[str] = []

    def wait(_: object) -> None:
        if len(contents(alice)) == 1 and not said:
            said.append(alice.remember("Keeps bees").id)

    monkeypatch.setattr(Gaps, "wait", wait)
    use(kb, Reader([add("Lives in Oslo"), add("Keeps bees"), add("Plays the cello")]))
    closed = began(kb, "I live in Oslo, keep bees and play the cello").close()
    assert [one["content"] for one in closed.written] == ["Lives in Oslo", "Plays the cello"]
    assert [one.content for one in closed.skipped] == ["Keeps bees"]
    assert contents(alice) == ["Lives in Oslo", "Keeps bees", "Plays the cello"]
    monkeypatch.setattr(Gaps, "wait", lambda _: alice.notes.write("Again and again"))  # somebody never rests
    use(kb, Reader([add("Owns a boat"), add("Sails it")]))
    assert began(kb, "I own a boat and sail it").close().status == "closed"
    assert contents(alice)[3:] == ["Owns a boat", "Sails it"]
    assert [spent.calls for spent in alice.spending.list()] == [2]


def test_a_closing_that_is_told_to_stop_leaves_the_rest_to_the_next_sweep(
    kb: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closing, "PIECE_SECONDS", 0)
    monkeypatch.setattr(closing, "GRACE_SECONDS", 0)
    use(kb, Reader([add("Lives in Oslo"), add("Keeps bees"), add("Plays the cello")]))
    chat = began(kb, "I live in Oslo, keep bees and play the cello")
    kb.stop_when(lambda: contents(alice) == ["Lives in Oslo"])
    closed = chat.close()
    assert (closed.status, closed.notice) == ("busy", closing.LEFT_FOR_LATER)
    assert (contents(alice), chat.thread.state, chat.thread.failures) == (["Lives in Oslo"], "active", 0)
    assert kb.sweep().done == {}  # this process begins nothing more
    kb.stop_when(nobody_stops)
    assert kb.sweep().done == {"close": 1}
    assert contents(alice) == ["Lives in Oslo", "Keeps bees", "Plays the cello"]
    assert alice.spending.this_month() == 220  # it was read twice


def test_who_is_told_to_stop_waits_for_no_reader_of_a_long_chat(
    kb: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(closing, "GRACE_SECONDS", 0)
    chat = began(kb, "I live in Oslo.", "I keep bees.", "I play the cello.")
    counted = itertools.count()
    kb.stop_when(lambda: next(counted) > 1)
    assert chat.close(offline=True).status == "busy"
    assert (contents(alice), chat.thread.state) == ([], "active")

    class Silent(Reader):
        async def extract(self, reading: ClosingChat) -> Extraction:
            await asyncio.sleep(60)
            raise AssertionError

    use(kb, Silent())
    asked = time.monotonic()
    kb.stop_when(lambda: time.monotonic() > asked + 0.1)
    assert chat.close().status == "busy"
    assert time.monotonic() < asked + 30
    kb.stop_when(nobody_stops)
    use(kb, OfflineModel())
    assert kb.sweep().done == {"close": 1}
    assert contents(alice) == ["I live in Oslo", "I play the cello"]


def test_a_slow_model_whose_lease_nobody_took_is_not_asked_in_vain(kb: Any, alice: Any, clock: Any) -> None:
    reader = use(kb, Reader([add("Lives in Oslo")]))
    reader.meanwhile = lambda: clock.forward(hours=2)
    assert began(kb, "I live in Oslo").close().status == "closed"
    assert contents(alice) == ["Lives in Oslo"]


def test_closing_works_inside_a_running_event_loop(kb: Any, alice: Any) -> None:
    use(kb, Reader([add("Lives in Oslo")]))
    chat = began(kb, "I live in Oslo")

    async def door() -> str:
        return str(chat.close().status)

    assert asyncio.run(door()) == "closed"
    assert contents(alice) == ["Lives in Oslo"]


class Gate(Reader):
    """Says that it was asked, and waits for a line before it answers."""

    def __init__(self, wire: TextIO, *answers: Answer) -> None:
        super().__init__(*answers)
        self.wire = wire

    async def extract(self, reading: ClosingChat) -> Extraction:
        tell(self.wire, asked=[turn.id for turn in reading.turns])
        self.wire.readline()
        return await super().extract(reading)


def tell(wire: TextIO, **said: Any) -> None:
    wire.write(json.dumps(said) + "\n")
    wire.flush()


def close_here(url: str, thread_id: str, now: str, die_in: str, port: int, piece: float) -> None:
    """What a closing process does, on the word of the test at the other end of the wire."""
    moment = datetime.fromisoformat(now)
    with (
        socket.create_connection(("127.0.0.1", port)) as line,
        line.makefile("rw") as wire,
        Keepbook(url, clock=lambda: moment) as kb,
    ):
        use(kb, Gate(wire, [add("Lives in Oslo"), add("Keeps bees")]))
        chat = kb.book("alice").threads.get(thread_id)
        closing.PIECE_SECONDS = piece
        if die_in:
            setattr(threads, die_in, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
        tell(wire, ready=True)
        wire.readline()
        tell(wire, status=chat.close().status)


def raise_closers() -> None:
    """Loaded once, this program forks a closing process for each line it reads."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        if os.fork() == 0:
            close_here(**json.loads(line))
            os._exit(0)


@pytest.fixture(scope="module")
def nursery() -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, text=True, start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


class Closer:
    """A process that closes a chat, one step for each `go`; what it says is `heard`, {} once it is dead."""

    def __init__(self, wire: TextIO) -> None:
        self._wire = wire

    def go(self) -> dict[str, Any]:
        self.send()
        return self.heard()

    def send(self) -> None:
        self._wire.write("go\n")
        self._wire.flush()

    def heard(self) -> dict[str, Any]:
        try:
            said: dict[str, Any] = json.loads(self._wire.readline() or "{}")
        except ConnectionResetError:  # killed before it had read everything
            return {}
        return said


@contextmanager
def closers(
    nursery: Any, url: str, chat: Chat, now: datetime, *ends: str, piece: float = 60.0
) -> Iterator[list[Closer]]:
    """One process for each of `ends`: where it is to die, or "" if it is not. Each writes for so long in a piece."""
    with ExitStack() as stack:
        raised = []
        for end in ends:
            with socket.create_server(("127.0.0.1", 0)) as door:
                door.settimeout(60)
                told = {"url": url, "thread_id": chat.id, "now": now.isoformat(), "die_in": end, "piece": piece}
                nursery.stdin.write(json.dumps(told | {"port": door.getsockname()[1]}) + "\n")
                nursery.stdin.flush()
                line = stack.enter_context(door.accept()[0])
            raised.append(Closer(stack.enter_context(line.makefile("rw"))))
        assert [closer.heard() for closer in raised] == [{"ready": True}] * len(ends)
        yield raised


def test_two_processes_that_close_at_once_read_the_chat_once(nursery: Any, book_url: str, clock: Any) -> None:
    with Keepbook(book_url, clock=clock) as kb:
        alice, chat = kb.book("alice"), began(kb, "I live in Oslo and keep bees")
        with closers(nursery, book_url, chat, clock.now, "", "") as pair:
            for closer in pair:
                closer.send()
            first = [closer.heard() for closer in pair]
            assert sorted(map(str, first)) == ["{'asked': [1]}", "{'status': 'busy'}"]
            assert pair[first.index({"asked": [1]})].go() == {"status": "closed"}
        assert contents(alice) == ["Lives in Oslo", "Keeps bees"]
        assert (chat.thread.state, alice.verify().ok) == ("idle", True)
        assert [spent.calls for spent in alice.spending.list()] == [1]


@pytest.mark.parametrize(
    ("moment", "piece", "kept"), [("still_mine", 60, []), ("finish", 60, []), ("finish", 0, ["Lives in Oslo"])]
)
def test_a_closer_that_is_killed_is_taken_over_once_its_lease_is_over(
    nursery: Any, book_url: str, clock: Any, moment: str, piece: float, kept: list[str]
) -> None:
    """Killed with the model's answer in hand: before the first write, after all of them but before the commit, and
    between two pieces."""
    with Keepbook(book_url, clock=clock) as kb:
        alice, chat = kb.book("alice"), began(kb, "I live in Oslo and keep bees")
        with closers(nursery, book_url, chat, clock.now, moment, piece=piece) as (dies,):
            assert dies.go() == {"asked": [1]}
            assert dies.go() == {}
        assert contents(alice) == kept
        assert [len(alice.ledger()), len(alice.spending.list())] == [len(kept)] * 2
        assert (chat.thread.state, chat.thread.extracted_through) == ("active", 0)
        reader = use(kb, Reader([add("Lives in Oslo"), add("Keeps bees")]))
        assert chat.close().status == "busy"
        clock.forward(hours=7)  # far behind the lease: it is the sweep that finds the chat
        assert kb.sweep().done == {"close": 1}
        assert [turn.id for turn in reader.seen[0].turns] == [1]
        assert contents(alice) == ["Lives in Oslo", "Keeps bees"]
        assert (chat.thread.state, alice.verify().ok) == ("idle", True)
        assert chat.close().status == "nothing"


# --- chats that say nothing new

REMEMBERED = (
    "Lives in Oslo",
    "Works as a nurse at Ullevål hospital",
    "Prefers short answers without tables",
    "Has a daughter named Mia who is six",
    "Is allergic to penicillin",
    "Saves 500 euros a month for a house",
    "Runs every Tuesday morning",
)
FIRST_PERSON = (
    "I live in Oslo",
    "I work as a nurse at Ullevål hospital",
    "I prefer short answers without tables",
    "I have a daughter named Mia who is six",
    "I'm allergic to penicillin",
    "I save 500 euros a month for a house",
    "I run every Tuesday morning",
)
REPEATS = (
    "As you know, {own}.",
    "{own}.",
    "{line}",
    "> {line}\nWhy do you have that?",
    'You wrote "{fact}". Is that still in there?',
    "Yes, that's right: {own}.",
    "You know that {own}, don't you?",
    "{block}",
    "Here is what I see:\n{block}\nWhat does it mean?",
    "What do you know about me?",
    "Like I told you before, {own}.",
    "{own}, as always.",
    "Correct. {own}. And still so.",
)
ECHOES = (
    "You told me: {fact}. Is that still right?",
    "{line}",
    "This is what I know:\n{block}",
    "Noted. {fact}.",
)


def count_chats() -> int:
    """All ways to repeat, or more for `make test-deep`."""
    from tests.conftest import DEEPER  # as a program this file knows no other test

    return 50 if DEEPER > 1 else len(REPEATS)


def repeat_the_block(kb: Any, number: int) -> ClosingResult:
    """A chat in which both sides only say what the block says."""
    chat = kb.book("alice").threads.start()
    block = chat.inject()
    at = number % len(REMEMBERED)
    fact, own = REMEMBERED[at], FIRST_PERSON[at]
    line = next(line for line in block.splitlines() if fact in line)
    told = {"fact": fact, "own": own, "line": line, "block": block}
    chat.add("user", REPEATS[number % len(REPEATS)].format(**told))
    chat.add("assistant", ECHOES[number % len(ECHOES)].format(**told))
    chat.add("user", "Yes, that's right." if number % 2 else "Thanks!")
    closed: ClosingResult = chat.close()
    return closed


def remembered(kb: Any) -> Any:
    """What the block says: some on the person's word, some found by software."""
    alice = kb.book("alice")
    for number, fact in enumerate(REMEMBERED):
        if number % 2:
            alice.remember(fact)
        else:
            found_by_software(alice, fact)
    return alice


def test_chats_that_only_repeat_the_block_teach_the_offline_reader_nothing(kb: Any) -> None:
    alice = remembered(kb)
    before = alice.ledger(limit=None)
    for number in range(count_chats()):
        closed = repeat_the_block(kb, number)
        assert (closed.status, closed.made_by) == ("closed", "offline")
        assert (closed.written, closed.proposed) == ((), ()), REPEATS[number % len(REPEATS)]
    assert alice.ledger(limit=None) == before
    assert alice.proposals.list() == []


def eager(reading: ClosingChat) -> list[Candidate]:
    """Every line of the block again: as something new, and as a change of what is known."""
    people = [turn.id for turn in reading.turns if turn.role == "user"]
    lines = [line.text for line in reading.block if line.kind == "line"]
    found = [add(line, *people, category=reading.categories[n % 2]) for n, line in enumerate(lines)]
    found += [add(f"{line.upper()}.", *people) for line in lines]
    return found + [update(memory.id, f"{memory.content}.", *people) for memory in reading.known]


def test_chats_that_only_repeat_the_block_teach_an_eager_model_nothing(kb: Any) -> None:
    alice = remembered(kb)
    reader = use(kb, Reader(eager))
    before = alice.ledger(limit=None)
    for number in range(count_chats()):
        closed = repeat_the_block(kb, number)
        assert (closed.status, closed.written, closed.proposed) == ("closed", (), ())
        assert len(closed.skipped) == 3 * len(REMEMBERED)
    assert len(reader.seen) == count_chats()
    assert alice.ledger(limit=None) == before
    assert alice.proposals.list() == []


def test_what_was_forgotten_in_the_chat_is_not_learned_again_from_its_old_block(kb: Any, alice: Any) -> None:
    alice.remember("Plays the saxophone")
    use(kb, Reader(eager))
    chat = alice.threads.start()
    chat.inject()
    chat.add("user", "Forget the saxophone, please, I sold it")
    alice.forget("saxophone")
    assert chat.close().written == ()
    assert contents(alice) == []


# --- the sweep


def test_the_sweep_closes_what_fell_silent_six_hours_ago(kb: Any, alice: Any, clock: Any) -> None:
    reader = use(kb, Reader([add("Lives in Oslo")]))
    chat = began(kb, "I live in Oslo")
    clock.forward(hours=5)
    chat.add("assistant", "And then?")
    clock.forward(hours=5, minutes=59)
    assert kb.sweep().done == {}
    clock.forward(minutes=1)
    assert kb.sweep().done == {"close": 1}
    assert (chat.thread.state, len(reader.seen), contents(alice)) == ("idle", 1, ["Lives in Oslo"])
    assert kb.sweep().done == {}


def test_how_long_silence_lasts_is_a_setting(book_url: str, clock: Any) -> None:
    with Keepbook(book_url, clock=clock, settings=Settings(close_after_hours=0.5)) as kb:
        use(kb, Reader([add("Lives in Oslo")]))
        began(kb, "I live in Oslo")
        clock.forward(minutes=31)
        assert kb.sweep().done == {"close": 1}


def test_the_sweep_archives_what_rests_for_thirty_days(kb: Any, clock: Any) -> None:
    use(kb, Reader())
    rests, spoken, waits = began(kb, "One"), began(kb, "Two"), began(kb, "Three")
    rests.close()
    spoken.close()
    clock.forward(days=29)
    spoken.add("user", "Still here")
    spoken.close()
    clock.forward(days=1, hours=1)
    swept = kb.sweep()
    assert swept.done == {"close": 1, "archive": 1}
    assert [chat.thread.state for chat in (rests, spoken, waits)] == ["archived", "idle", "idle"]


def test_the_sweep_empties_the_trash_of_memories_and_chats_and_ends_proposals(kb: Any, alice: Any, clock: Any) -> None:
    alice.configure(preset="assistant")
    use(kb, Reader([add("Owns a small boat", category="context")]))
    chat = began(kb, "I own a boat")
    chat.close()
    use(kb, Reader())
    other = began(kb, "Hello")
    other.close()
    memory = alice.remember("Has a secret wish")
    alice.delete(memory.id)
    alice.threads.delete(other.id)
    clock.forward(days=31)
    swept = kb.sweep()
    assert swept.done == {"archive": 2, "purge": 1, "purge_chat": 1, "expire": 1}
    assert swept.failed == []
    assert alice.list(state="trash").total == 0
    assert (alice.threads.list(trash=True), alice.proposals.list()) == ([], [])
    assert alice.verify().ok
    assert kb.sweep().done == {}


def test_a_stale_reminder_does_nothing(kb: Any, alice: Any, clock: Any) -> None:
    use(kb, Reader())
    chat = began(kb, "Hello")
    chat.close()
    with kb._database.write("alice") as tx:
        for kind in (due.CLOSE, due.PURGE_CHAT, due.EXPIRE, due.PURGE):
            due.remind(tx, kind, chat.id, "2020")
    swept = kb.sweep()
    assert (swept.done, swept.failed, chat.thread.state) == ({}, [], "idle")


class Moody(Reader):
    """Fails in its own way for each owner that says so."""

    async def extract(self, reading: ClosingChat) -> Extraction:
        text = reading.turns[0].text
        if "model" in text:
            raise ModelFailed("the model is asleep")
        if "rules" in text:
            raise ZeroDivisionError
        return await super().extract(reading)


def test_one_owners_failure_does_not_keep_the_others_waiting(kb: Any, clock: Any, monkeypatch: Any) -> None:
    use(kb, Moody([add("Lives in Oslo")]))
    began(kb, "break the model", owner="a")
    began(kb, "break the rules", owner="b")
    lost = began(kb, "break the preset", owner="c")
    with kb._database.write("c") as tx:
        tx.conn.exec_driver_sql(f"UPDATE threads SET preset = 'gone' WHERE owner = 'c' AND id = '{lost.id}'")
    fine = [began(kb, "I live in Oslo", owner=owner) for owner in ("d", "e")]
    monkeypatch.setattr(due.due_by, "__kwdefaults__", {"after": None, "limit": 2})  # and no page of failures does
    clock.forward(hours=7)
    swept = kb.sweep()
    assert swept.done == {"close": 2}
    assert [chat.thread.state for chat in fine] == ["idle", "idle"]
    assert len(swept.failed) == 3
    assert not [line for line in swept.failed if "break" in line]


def test_two_sweeps_at_once_do_everything_once(book_url: str, clock: Any, monkeypatch: Any) -> None:
    with Keepbook(book_url, clock=clock) as kb, Keepbook(book_url, clock=clock) as other:
        alice, reader = kb.book("alice"), Reader([add("Lives in Oslo")])
        alice.configure(preset="assistant")
        use(kb, Reader([add("Owns a boat")]))
        began(kb, "I own a boat").close()
        alice.configure(preset="general")
        trashed = began(kb, "Hello")
        trashed.close()
        alice.threads.delete(trashed.id)
        alice.delete(alice.remember("Has a secret wish").id)
        clock.forward(days=31)
        silent = began(kb, "I live in Oslo")
        clock.forward(hours=7)
        use(kb, reader)
        use(other, reader)
        # Both have seen what is due before either does anything about it.
        gate, waiting = threading.Barrier(2), jobs._waiting

        def together(*args: Any) -> Any:
            found = list(waiting(*args))
            gate.wait(60)
            return found

        monkeypatch.setattr(jobs, "_waiting", together)
        with ThreadPoolExecutor(2) as pool:
            swept = [each.result() for each in [pool.submit(one.sweep) for one in (kb, other)]]
        assert [one.failed for one in swept] == [[], []]
        done = {kind: sum(one.done.get(kind, 0) for one in swept) for kind in swept[0].done | swept[1].done}
        assert done == {"close": 1, "archive": 2, "purge": 1, "purge_chat": 1, "expire": 1}
        assert (len(reader.seen), silent.thread.state, contents(alice)) == (1, "idle", ["Lives in Oslo"])
        assert alice.verify().ok


if __name__ == "__main__":
    raise_closers()
