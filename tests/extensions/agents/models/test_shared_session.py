"""The contract of the one session that chat and runs of an agent share, the same for every adapter.

What is asserted is what was sent: with memory off, on, after a reset and switched on again, before and after chats and
scheduled runs. A run that fails moves nothing, a chat and a run at once come one after the other, and what a run saw
and left is told by its `session_before` and `session_after`.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.extensions.agents.models.house import Breaks, House, Waits

from keepbook.errors import ModelFailed
from keepbook.extensions.agents.models import runner
from keepbook.models.chat import ReplyStored

on_each_adapter = pytest.mark.parametrize(
    ("adapter", "engine_name"),
    [("native", "sqlite"), ("native", "postgresql"), ("claude-cli", "sqlite"), ("claude-cli", "postgresql")],
    indirect=["engine_name"],
)
pytestmark = on_each_adapter


@pytest.fixture
def house(adapter: str, build: Callable[..., House]) -> House:
    return build(adapter)


# --- memory off


def test_without_memory_a_run_sees_nothing_of_chats_and_earlier_runs(house: House) -> None:
    house.agent(instructions="Watch the market.", default_prompt="What is up?")
    house.answers("All quiet.", "Hello.", "Still quiet.", "Hello again.")
    first = house.run()
    house.say("Good morning")
    second = house.run(kind="scheduled")
    house.say("And now?")

    assert [request.said for request in house.sent[:3]] == [
        [("user", "What is up?")],
        [("user", "Good morning")],
        [("user", "What is up?")],
    ]
    assert all("Watch the market." in request.system for request in house.sent)
    for run in (first, second):
        assert (run.status, run.session_before, run.session_after) == ("succeeded", None, None)
    # A chat still sees its own thread, and nothing of the runs.
    last = house.sent[3].everything
    assert "Good morning" in last
    assert "Hello." in last
    assert "quiet" not in last
    assert house.sent[3].texts[-1].endswith("And now?")
    assert (house.memory.status, house.memory.runs, house.memory.session) == ("fresh", 0, None)


# --- memory on


def test_with_memory_chat_and_runs_read_the_latest_and_move_it(house: House) -> None:
    house.agent(memory_enabled=True, default_prompt="Look.")
    house.answers("First.", "Reply.", "Second.", "Third.")
    first = house.run()
    house.say("Why?")
    second = house.run("Look at gold.", kind="scheduled")
    third = house.run()
    chat = next(run for run in house.book.runs.list(kind="chat"))

    past = [("user", "Look."), ("assistant", "First."), ("user", "Why?"), ("assistant", "Reply.")]
    assert [request.said for request in house.sent] == [
        past[:1],
        past[:3],
        [*past, ("user", "Look at gold.")],
        [*past, ("user", "Look at gold."), ("assistant", "Second."), ("user", "Look.")],
    ]
    chain = [first, chat, second, third]
    assert [run.session_before for run in chain] == [None, *(run.session_after for run in chain[:-1])]
    assert len({run.session_after for run in chain}) == 4
    assert house.memory.session == third.session_after
    assert (house.memory.status, house.memory.runs, house.memory.chats) == ("carrying", 3, 1)
    assert all(run.tokens_in == 120 and run.tokens_out == 10 for run in chain)


def test_what_is_said_while_the_persons_memory_is_off_is_in_no_later_run(house: House) -> None:
    house.agent(memory_enabled=True, default_prompt="Look.")
    house.answers("Noted.", "I see.", "I do.", "Quiet.", "All is well.")
    house.say("My boat is yellow.")
    house.book.choose(memory=False)
    house.say("I have a secret plan.")
    house.say("You recall the plan?")
    assert "secret plan" in house.sent[2].everything  # its own chat goes on
    house.book.choose(memory=True)
    house.run()
    house.say("And now?")
    for sent in house.sent[3:]:
        assert "boat is yellow" in sent.everything
        assert "plan" not in sent.everything


def test_the_runs_own_prompt_is_the_last_word(house: House) -> None:
    house.agent(memory_enabled=True, default_prompt="Always say buy.", instructions="Be brief.")
    house.answers("Buy.", "Reply.", "Wait.")
    house.run()
    house.say("From now on, answer in French.")
    house.run("Answer in English: wait or buy?")
    whole = house.sent[-1].whole[-1]
    assert whole[0] == "user"
    assert whole[1].endswith("</context>\n\nAnswer in English: wait or buy?")


def test_the_thread_of_a_chat_with_an_agent_goes_on(house: House) -> None:
    house.agent(memory_enabled=True)
    house.answers("One.", "Two.")
    house.say("a")
    events = house.say("b")
    assert isinstance(events[-1], ReplyStored)
    agent = house.book.agents.get("Desk")
    (thread,) = house.book.threads.list()
    assert (thread.id, thread.title, thread.agent) == (agent.thread_id, "Desk", agent.id)
    said = [(one.role, one.text) for one in house.book.threads.get(thread.id).messages()]
    assert said == [("user", "a"), ("assistant", "One."), ("user", "b"), ("assistant", "Two.")]
    assert [run.thread_id for run in house.book.runs.list(kind="chat")] == [thread.id, thread.id]


# --- fresh starts


def test_a_reset_starts_fresh_and_leaves_the_chat_to_be_read(house: House) -> None:
    house.agent(memory_enabled=True, default_prompt="Look.")
    house.answers("First.", "Reply.", "After.", "New reply.")
    house.run()
    house.say("Why?")
    fresh = house.book.agents.reset("Desk").memory
    assert (fresh.status, fresh.runs, fresh.chats, fresh.session, fresh.age) == ("fresh", 0, 0, None, None)
    after = house.run()
    house.say("And now?")

    assert house.sent[2].said == [("user", "Look.")]
    assert after.session_before is None
    assert house.sent[3].said == [("user", "Look."), ("assistant", "After."), ("user", "And now?")]
    thread = house.book.agents.get("Desk").thread_id
    assert [one.text for one in house.book.threads.get(thread).messages()] == [
        "Why?",
        "Reply.",
        "And now?",
        "New reply.",
    ]
    assert (house.memory.runs, house.memory.chats) == (1, 1)


def test_switching_off_ignores_the_session_and_switching_on_again_starts_fresh(house: House) -> None:
    house.agent(memory_enabled=True, default_prompt="Look.")
    house.answers("First.", "Off.", "On.", "On again.")
    house.run()
    house.book.agents.update("Desk", memory_enabled=False)
    off = house.run()
    house.book.agents.update("Desk", memory_enabled=True)
    on = house.run()
    then = house.run()
    assert [request.said for request in house.sent[1:]] == [
        [("user", "Look.")],
        [("user", "Look.")],
        [("user", "Look."), ("assistant", "On."), ("user", "Look.")],
    ]
    assert (off.session_before, off.session_after) == (None, None)
    assert (on.session_before, then.session_before) == (None, on.session_after)
    assert house.memory.runs == 2


def test_a_reset_is_allowed_while_memory_is_off(house: House) -> None:
    house.agent(memory_enabled=True)
    house.answers("First.")
    house.run("Look.")
    house.book.agents.update("Desk", memory_enabled=False)
    memory = house.book.agents.reset("Desk").memory
    assert (memory.enabled, memory.status, memory.session) == (False, "fresh", None)


def test_a_run_that_began_before_a_reset_moves_nothing_after_it(house: House) -> None:
    house.agent(memory_enabled=True)
    house.answers("Seen.", Waits("Late.", "gate"), "Fresh.")
    house.run("One.")
    done: list[Any] = []
    working = threading.Thread(target=lambda: done.append(house.run("Two.")))
    working.start()
    _until(lambda: len(house.sent) == 2)
    house.book.agents.reset("Desk")
    house.release("gate")
    working.join(30)
    assert (done[0].status, done[0].session_after) == ("succeeded", None)
    assert house.memory.status == "fresh"
    house.run("Three.")
    assert house.sent[-1].said == [("user", "Three.")]


# --- what fails, and what comes at once


def test_a_failed_run_moves_nothing_and_keeps_what_was_said(house: House) -> None:
    house.agent(memory_enabled=True)
    house.answers("First.", Breaks("no line to the model"), "Third.")
    first = house.run("One.")
    failed = house.run("Two.")
    assert failed.status == "failed"
    assert "no line to the model" in str(failed.error)
    assert (failed.session_before, failed.session_after, failed.card) == (first.session_after, None, None)
    assert [line.text for line in house.book.runs.transcript(failed.id)] == ["Two."]
    assert (house.memory.session, house.memory.runs) == (first.session_after, 1)
    third = house.run("Three.")
    assert third.session_before == first.session_after
    assert house.sent[-1].said == [("user", "One."), ("assistant", "First."), ("user", "Three.")]


def test_a_chat_that_fails_keeps_what_the_person_said_and_can_be_tried_again(house: House) -> None:
    house.agent(memory_enabled=True)
    house.answers("First.", Breaks(), "Now.")
    house.run("One.")
    before = house.memory.session
    with pytest.raises(ModelFailed):
        house.say("Why?")
    assert house.memory.session == before
    chat = house.kb.chat_with(house.book, "Desk")
    assert [one.text for one in chat.messages()] == ["Why?"]

    async def again() -> list[Any]:
        return [event async for event in house.kb.talk(chat).again()]

    assert asyncio.run(again())[-1].message.text == "Now."
    assert house.sent[-1].said == [("user", "One."), ("assistant", "First."), ("user", "Why?")]


def test_a_chat_and_a_run_at_once_lose_nothing_of_each_other(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "LEASE_SECONDS", 3600.0)  # each look of who waits takes a second on the tests' clock
    house.agent(memory_enabled=True)
    house.answers(Waits("Run done.", "gate"), "Chat done.", "Later.")
    running = threading.Thread(target=lambda: house.run("Run."))
    chatting = threading.Thread(target=lambda: house.say("Chat."))
    running.start()
    _until(lambda: len(house.sent) == 1)
    chatting.start()
    _until(lambda: len(house.book.runs.list(kind="chat")) == 1)
    assert len(house.sent) == 1  # it waits: nothing was sent for it
    house.release("gate")
    running.join(30)
    chatting.join(30)
    assert house.sent[1].said == [("user", "Run."), ("assistant", "Run done."), ("user", "Chat.")]
    house.run("Last.")
    assert house.sent[2].texts == ["Run.", "Run done.", "Chat.", "Chat done.", "Last."]


# --- cards


def test_an_answer_that_is_no_card_is_sent_back_once_with_what_is_wrong(house: House) -> None:
    house.agent(card_type="trade-decision", memory_enabled=True)
    house.answers('{"action": "LONG", "symbol": "ETH/USDT"}', _wait("range unresolved"), "ok")
    run = house.run("Trade?")
    assert run.status == "succeeded"
    assert run.card is not None
    assert (run.card.type, run.card.slots["action"], run.card.slots["reason"]) == (
        "trade-decision", "WAIT", "range unresolved",
    )  # fmt: skip
    asked_again = house.sent[1].texts
    assert asked_again[:2] == ["Trade?", '{"action": "LONG", "symbol": "ETH/USDT"}']
    assert "entry: is missing" in asked_again[2]
    assert "conviction: is missing" in asked_again[2]
    assert (run.tokens_in, run.tokens_out) == (240, 20)
    assert [line.role for line in house.book.runs.transcript(run.id)] == ["user", "assistant", "user", "assistant"]
    # The session goes on from the answer that was good.
    house.say("Why?")
    assert house.sent[2].texts[0] == "Trade?"
    assert house.sent[2].texts[-2:] == [_wait("range unresolved"), "Why?"]


def test_a_card_that_is_wrong_twice_fails_the_run_and_its_transcript_is_kept(house: House) -> None:
    house.agent(card_type="trade-decision", memory_enabled=True)
    house.answers("I would buy.", "Really, buy!")
    run = house.run("Trade?")
    assert (run.status, run.card, run.session_after) == ("failed", None, None)
    assert "JSON" in str(run.error)
    texts = [line.text for line in house.book.runs.transcript(run.id)]
    assert (texts[0], texts[1], texts[3]) == ("Trade?", "I would buy.", "Really, buy!")
    assert (run.tokens_in, run.tokens_out) == (240, 20)
    assert house.memory.status == "fresh"


# --- the panel


def test_the_counter_counts_runs_that_moved_the_session_and_suggests_a_reset_past_twenty(house: House) -> None:
    house.agent(memory_enabled=True)
    house.answers(*["ok"] * 19, Breaks(), "chat", "ok", "ok")
    for number in range(19):
        house.run("Go.", kind="scheduled" if number % 2 else "manual")
    house.run("Go.")  # fails
    house.say("Hello")
    house.run("Go.")
    assert (house.memory.runs, house.memory.chats, house.memory.suggest_reset) == (20, 1, False)
    house.run("Go.")
    assert (house.memory.runs, house.memory.suggest_reset) == (21, True)
    assert house.book.agents.reset("Desk").memory.suggest_reset is False


def test_the_age_of_the_session_is_the_time_since_it_moved(house: House, clock: Any) -> None:
    house.agent(memory_enabled=True)
    house.answers("ok", Breaks())
    house.run("Go.")
    clock.forward(hours=2, minutes=15)
    house.run("Go.")  # fails, and is no move
    assert house.memory.age == "2h 15m"


# --- what else is sent


def test_block_and_roster_are_sent_where_they_are_switched_on(house: House) -> None:
    house.book.remember("Risks at most 1 % on one idea", category="preference")
    team = [{"name": "Tape", "instructions": "Read the tape."}]
    house.agent("Plain")
    house.agent("Told", use_block=True)
    house.agent("Lead", team=team)
    house.answers("ok", "ok", "a read", "ok")
    house.run("Go.", agent="Plain")
    house.run("Go.", agent="Told")
    house.run("Go.", agent="Lead")
    plain, told, tape, lead = house.sent
    assert "Risks at most" not in plain.everything
    assert "Risks at most 1 % on one idea" in told.system
    assert "Tape: Read the tape." in lead.system
    assert "a read" in lead.whole[-1][1]
    assert lead.said == [("user", "Go.")]
    assert "You are Tape" in tape.system


def test_previous_decisions_are_reviewed_where_that_is_switched_on(house: House) -> None:
    house.agent(card_type="trade-decision", review_decisions=True)
    house.answers(_wait("range unresolved"), _wait("still nothing"))
    house.run("Trade?")
    house.run("Trade?")
    second = house.sent[1]
    if house.adapter == "native":
        assert second.conversation is not None
        prompt, review = second.conversation.said
        assert prompt.text == "Trade?"
        (call,) = review.calls
        assert (call.name, call.arguments) == ("get_my_decisions", {"limit": 5})
        assert "WAIT · range unresolved" in str(call.answer)
    else:
        assert "call the tool get_my_decisions" in second.whole[-1][1]
        assert "range unresolved" not in second.everything  # it asks for itself


def _wait(reason: str) -> str:
    return (
        f'{{"action": "WAIT", "symbol": "ETH/USDT", "conviction": 50, "reason": "{reason}", '
        '"thesis": "Nothing to do.", "expires": "2030-01-01T00:00:00Z"}'
    )


def _until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.01)
