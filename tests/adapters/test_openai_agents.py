"""A session of the OpenAI Agents SDK as a chat of the book, driven by the SDK's own runner and scripted model."""

import asyncio
import itertools
import json
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import pytest
from agents import Agent, RunConfig, Runner, function_tool
from agents.memory import Session, SessionSettings, SQLiteSession
from agents.testing import ScriptedModel, assistant_message, function_call
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepbook import Invalid, Keepbook
from keepbook.adapters.openai_agents import KeepbookSession

QUIET = RunConfig(tracing_disabled=True)
Answered = TypeVar("Answered")


def run(work: Coroutine[Any, Any, Answered]) -> Answered:
    return asyncio.run(work)


@pytest.fixture
def session(kb: Any) -> KeepbookSession:
    return KeepbookSession(kb, owner="alice", session_id="support-17")


def _user(text: str) -> Any:
    return {"role": "user", "content": text}


def _reply(text: str) -> Any:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}],
    }


ITEMS: list[Any] = [
    _user("Which places in Oslo?"),
    {"role": "developer", "content": "Be brief."},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "thinking"}]},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "places", "arguments": '{"city":"Oslo"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "Ekeberg\x00\ud800"},
    {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "Vigeland"}]},
    {"role": "user", "content": [{"type": "input_text", "text": "This?"}, {"type": "input_image", "image_url": "x"}]},
    {"role": "user", "content": [{"type": "input_image", "image_url": "y"}]},
    {"role": "assistant", "content": "Ekeberg."},
    _reply("Vigeland, and\nthe opera."),
]  # fmt: skip


# --- the protocol ----------------------------------------------------------------------------------------


def test_it_is_a_session(session: KeepbookSession) -> None:
    assert isinstance(session, Session)
    assert session.session_id == "support-17"


def test_items_come_back_exactly_and_in_order(session: KeepbookSession) -> None:
    run(session.add_items(ITEMS))
    assert [json.dumps(item) for item in run(session.get_items())] == [json.dumps(item) for item in ITEMS]


def test_a_limit_gives_the_latest_in_order(kb: Any, session: KeepbookSession) -> None:
    run(session.add_items(ITEMS))
    assert run(session.get_items(3)) == ITEMS[-3:]
    assert run(session.get_items(100)) == ITEMS
    assert run(session.get_items(0)) == []
    limited = KeepbookSession(
        kb, owner="alice", session_id="support-17", session_settings=SessionSettings(limit=2)
    )  # fmt: skip
    assert run(limited.get_items()) == ITEMS[-2:]
    assert run(limited.get_items(4)) == ITEMS[-4:]


def test_popping_takes_the_last_item_back_and_the_chat_still_shows_it(session: KeepbookSession, alice: Any) -> None:
    run(session.add_items([_user("I live in Oslo"), _reply("Noted.")]))
    assert run(session.pop_item()) == _reply("Noted.")
    assert run(session.get_items()) == [_user("I live in Oslo")]
    run(session.add_items([_reply("Good to know.")]))
    assert run(session.get_items()) == [_user("I live in Oslo"), _reply("Good to know.")]
    assert run(session.pop_item()) == _reply("Good to know.")
    assert run(session.pop_item()) == _user("I live in Oslo")
    assert run(session.pop_item()) is None
    assert run(session.get_items()) == []
    said = [message.text for message in alice.thread("support-17").messages() if message.role != "tool"]
    assert said == ["I live in Oslo", "Noted.", "Good to know."]


def test_clearing_closes_the_chat_and_goes_on_in_a_new_one(kb: Any, session: KeepbookSession, alice: Any) -> None:
    run(session.add_items([_user("I am vegetarian."), _reply("Noted.")]))
    before = alice.threads.list()
    run(session.clear_session())
    assert run(session.get_items()) == []
    assert alice.threads.get(before[0].id).thread.state == "idle"
    assert [memory.source for memory in alice.list()] == ["extracted"]
    run(session.add_items([_user("Hello again")]))
    elsewhere = KeepbookSession(kb, owner="alice", session_id="support-17")
    assert run(elsewhere.get_items()) == [_user("Hello again")]
    run(elsewhere.clear_session())
    assert run(session.get_items()) == []
    run(session.add_items([_user("Third time")]))
    assert run(elsewhere.get_items()) == [_user("Third time")]
    assert len(alice.threads.list()) == 3


def test_clearing_an_empty_session_changes_nothing(session: KeepbookSession, alice: Any) -> None:
    run(session.clear_session())
    run(session.clear_session())
    assert len(alice.threads.list()) == 1


def test_adding_nothing_begins_no_chat(session: KeepbookSession, alice: Any) -> None:
    run(session.add_items([]))
    assert alice.threads.list() == []


def test_sessions_of_other_names_and_owners_are_apart(kb: Any, session: KeepbookSession) -> None:
    run(session.add_items([_user("Only alice says this")]))
    for owner, name in (("bob", "support-17"), ("alice", "support-1"), ("alice", "support-17~")):
        assert run(KeepbookSession(kb, owner=owner, session_id=name).get_items()) == []


def test_a_name_that_is_too_long_is_refused(kb: Any) -> None:
    with pytest.raises(Invalid, match="session_id must have 1 to 190"):
        KeepbookSession(kb, owner="alice", session_id="x" * 191)


# --- the chat --------------------------------------------------------------------------------------------


def test_what_was_said_becomes_memory_when_the_session_closes(session: KeepbookSession, alice: Any) -> None:
    run(session.add_items([_user("I'm vegetarian, and I moved to Oslo in March."), _reply("You like salmon.")]))
    closed = run(session.close())
    assert closed.status == "closed"
    kept = " ".join(memory.content for memory in alice.list())
    assert "vegetarian" in kept
    assert "salmon" not in kept
    assert run(session.get_items(1)) == [_reply("You like salmon.")]


def test_the_sweep_closes_a_session_that_fell_silent(kb: Any, session: KeepbookSession, alice: Any, clock: Any) -> None:
    run(session.add_items([_user("I work as a nurse in Bergen.")]))
    clock.forward(hours=7)
    kb.sweep()
    assert ["nurse" in memory.content for memory in alice.list()] == [True]


def test_an_incognito_session_leaves_no_memory(kb: Any, alice: Any) -> None:
    alice.remember("Prefers tea", category="preference")
    private = KeepbookSession(kb, owner="alice", session_id="private", incognito=True)
    run(private.add_items([_user("I'm vegetarian.")]))
    assert run(private.inject()) == ""
    run(private.close())
    assert alice.list().total == 1


def test_the_block_of_a_session_stays_and_a_cleared_one_gets_a_new_one(session: KeepbookSession, alice: Any) -> None:
    alice.remember("Prefers tea", category="preference")
    first = run(session.inject())
    alice.remember("Lives in Oslo")
    assert run(session.inject()) == first
    run(session.add_items([_user("hello")]))
    run(session.clear_session())
    assert "Lives in Oslo" in run(session.inject())


def test_what_is_said_through_another_door_is_part_of_the_session(session: KeepbookSession, alice: Any) -> None:
    chat = alice.thread("support-17")
    chat.add("user", "I asked on the phone")
    chat.add("assistant", "And I answered")
    run(session.add_items([_user("And here")]))
    assert run(session.get_items()) == [
        _user("I asked on the phone"), {"role": "assistant", "content": "And I answered"}, _user("And here"),
    ]  # fmt: skip


def test_our_own_chat_can_go_on_where_the_session_was(kb: Any, session: KeepbookSession, alice: Any) -> None:
    run(session.add_items(ITEMS))

    async def talk() -> str:
        async for event in kb.talk(alice.thread("support-17")).say("Remember that I play the cello."):
            last = event
        return str(last.message.text)

    assert run(talk())
    assert run(session.get_items())[: len(ITEMS)] == ITEMS
    assert run(session.get_items())[len(ITEMS)] == _user("Remember that I play the cello.")


# --- the runner ------------------------------------------------------------------------------------------


def test_the_runner_carries_a_conversation_over_its_runs(session: KeepbookSession, alice: Any) -> None:
    model = ScriptedModel([[assistant_message("Nice.")], [assistant_message("You live in Oslo.")]])
    agent = Agent(name="helper", model=model)

    async def talk() -> list[str]:
        first = await Runner.run(agent, "I live in Oslo.", session=session, run_config=QUIET)
        second = await Runner.run(agent, "Where do I live?", session=session, run_config=QUIET)
        return [first.final_output, second.final_output]

    assert run(talk()) == ["Nice.", "You live in Oslo."]
    sent = [(item["role"], str(item["content"])) for item in model.calls[1].input]
    assert [role for role, _ in sent] == ["user", "assistant", "user"]
    assert "I live in Oslo." in sent[0][1]
    turns = [(message.role, message.text) for message in alice.thread("support-17").messages()]
    assert [turn for turn in turns if turn[0] != "tool"] == [
        ("user", "I live in Oslo."), ("assistant", "Nice."),
        ("user", "Where do I live?"), ("assistant", "You live in Oslo."),
    ]  # fmt: skip


def test_the_runner_keeps_tool_calls_with_their_answers(session: KeepbookSession) -> None:
    @function_tool
    def places(city: str) -> str:
        """Places worth seeing."""
        return f"Ekeberg in {city}"

    model = ScriptedModel([[function_call("places", {"city": "Oslo"}, call_id="c1")], [assistant_message("Ekeberg.")]])
    agent = Agent(name="guide", model=model, tools=[places])
    run(Runner.run(agent, "Where to?", session=session, run_config=QUIET))
    kept = run(session.get_items())
    assert [item.get("type") or item["role"] for item in kept] == [
        "user", "function_call", "function_call_output", "message",
    ]  # fmt: skip
    assert kept[2]["output"] == "Ekeberg in Oslo"


_items = st.sampled_from(ITEMS)
_count = itertools.count()
_steps = st.lists(
    st.one_of(st.lists(_items, max_size=3), st.just("pop"), st.just("clear"), st.integers(0, 4)), max_size=8
)


@pytest.fixture(scope="module")
def small() -> Iterator[Keepbook]:
    with Keepbook(":memory:") as kb:
        yield kb


@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(steps=_steps)
def test_it_does_what_the_session_of_the_sdk_does(small: Keepbook, steps: list[Any]) -> None:
    name = f"s{next(_count)}"  # drawn names come twice, and one book serves all examples

    async def both() -> None:
        ours, theirs = KeepbookSession(small, owner="o", session_id=name), SQLiteSession(name)
        try:
            for step in steps:
                for_both = [await _take(each, step) for each in (ours, theirs)]
                assert for_both[0] == for_both[1]
                assert await ours.get_items() == await theirs.get_items()
        finally:
            theirs.close()

    async def _take(session: Any, step: Any) -> Any:
        if step == "pop":
            return await session.pop_item()
        if step == "clear":
            return await session.clear_session()
        if isinstance(step, int):
            return await session.get_items(step)
        return await session.add_items(step)

    run(both())
