"""What of a long chat is sent: bounded, cut only before the person speaks, growing at its end only."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.models.wire import Received, Say, Wire

from keepbook.book.chats.threads import Message, estimate
from keepbook.models.compress import Budget, SendPlan, calls_to_parts, fixed_tokens_of, plan_messages, size, to_said
from keepbook.models.model import Conversation, DialogueTurn, PromptMessage, ReplyFinished, ToolCall
from keepbook.models.providers.remote import RemoteModel

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SMALL = Budget(tokens=1_000)


def message(turn: int, role: str, text: str, **told: Any) -> Message:
    return Message(turn=turn, role=role, speaker=None, text=text, at=NOW, tokens=0, **told)


def chat(turns: int, chars: int = 200) -> list[Message]:
    """Person and assistant by turns, each turn so long."""
    return [message(n, "user" if n % 2 else "assistant", f"{n}:".ljust(chars, "x")) for n in range(1, turns + 1)]


def test_a_short_chat_is_sent_whole() -> None:
    found = plan_messages(chat(5), budget=SMALL)
    assert [said.text[:2] for said in found.said] == ["1:", "2:", "3:", "4:", "5:"]
    assert found.tokens == 5 * 50
    assert found.through is None


def test_by_default_a_request_may_have_32000_tokens_and_is_compressed_past_four_fifths() -> None:
    assert (Budget().tokens, Budget().room) == (32_000, 25_600)


def test_past_the_share_of_the_budget_older_turns_are_due() -> None:
    fits, over = plan_messages(chat(16), budget=SMALL), plan_messages(chat(17), budget=SMALL)
    assert (fits.tokens, fits.through) == (800, None)
    assert over.tokens == 850
    assert over.through == 10  # the turns 11 to 17 fit into half of the room
    assert [each.turn for each in over.due] == list(range(1, 11))


def test_what_goes_along_every_time_counts() -> None:
    tools = [{"type": "function", "function": {"name": "remember"}}]
    along = fixed_tokens_of("s" * 400, tools)
    assert along == 100 + estimate('[{"type": "function", "function": {"name": "remember"}}]')
    assert plan_messages(chat(14), budget=SMALL).through is None
    assert plan_messages(chat(14), budget=SMALL, fixed_tokens=along).through is not None


def test_after_a_compression_the_summary_stands_for_the_older_turns() -> None:
    found = plan_messages(chat(17), compressed_through=10, summary="They spoke of tea.", budget=SMALL)
    assert found.through is None
    assert found.said[0].text.startswith("11:")
    assert "They spoke of tea." in (found.said[0].hidden or "")
    assert all(said.hidden is None for said in found.said[1:])


def test_the_summary_is_frozen_and_what_is_sent_only_grows() -> None:
    earlier = plan_messages(chat(17), compressed_through=10, summary="Tea.", budget=SMALL).said
    later = plan_messages(chat(19), compressed_through=10, summary="Tea.", budget=SMALL).said
    assert later[: len(earlier)] == earlier


def test_hidden_context_of_the_first_message_stays_behind_the_summary() -> None:
    turns = chat(17)
    turns[10] = replace(turns[10], hidden="page: Orders")
    hidden = plan_messages(turns, compressed_through=10, summary="Tea.", budget=SMALL).said[0].hidden or ""
    assert hidden.index("Tea.") < hidden.index("page: Orders")


def test_a_last_message_that_alone_is_too_long_is_sent_and_the_rest_summarised() -> None:
    turns = [*chat(4), message(5, "user", "y" * 10_000)]
    found = plan_messages(turns, budget=SMALL)
    assert found.through == 4
    after = plan_messages(turns, compressed_through=4, summary="Tea.", budget=SMALL)
    assert [said.text[0] for said in after.said] == ["y"]
    assert after.through is None, "nothing is left to summarise"


def test_a_cut_never_parts_a_call_from_its_answer() -> None:
    calls = calls_to_parts([ToolCall("c1", "clock", {}, "noon " * 200)])
    turns = chat(16)
    turns[13] = replace(turns[13], parts=calls)
    found = plan_messages(turns, budget=SMALL)
    assert found.through is not None
    assert turns[found.through].role == "user"
    kept = plan_messages(turns, compressed_through=found.through, summary="Tea.", budget=SMALL).said
    assert all(call.answer for said in kept for call in said.calls)


def test_calls_and_answers_count() -> None:
    plain = PromptMessage("assistant", "x" * 40)
    assert size(plain) == 10
    assert size(replace(plain, calls=(ToolCall("c1", "clock", {}, "y" * 4_000),))) > 1_000


def test_a_chat_that_the_assistant_began_is_sent_as_one_the_person_began() -> None:
    turns = [message(1, "assistant", "Your report is ready."), message(2, "user", "Thanks"), message(3, "tool", "{}")]
    (said,) = plan_messages(turns, budget=SMALL).said
    assert (said.role, said.text) == ("user", "Thanks")
    assert "Your report is ready." in (said.hidden or "")


def test_stored_calls_come_back_as_they_were() -> None:
    call = ToolCall("c1", "clock", {"zone": "UTC"}, "noon", {"op": "add", "event": 3}, 2, 17)
    stored = message(2, "assistant", "It is noon.", parts=calls_to_parts([call]))
    assert to_said(stored) == PromptMessage("assistant", "It is noon.", None, (call,))
    assert to_said(message(1, "assistant", " ")) is None


@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), st.integers(1, 900)), max_size=40),
    st.integers(0, 700),
)
def test_compressing_comes_to_an_end_and_keeps_the_last_word_of_the_person(
    shape: list[tuple[str, int]], along: int
) -> None:
    turns = [message(n, role, "x" * chars) for n, (role, chars) in enumerate(shape, 1)]
    through, rounds, summary = 0, 0, None
    found: SendPlan = plan_messages(turns, fixed_tokens=along, budget=SMALL)
    while found.through is not None:
        assert found.through > through
        through, summary, rounds = found.through, "Tea.", rounds + 1
        found = plan_messages(turns, compressed_through=through, summary=summary, fixed_tokens=along, budget=SMALL)
        assert turns[through].role == "user"
    assert rounds <= 2
    people = [each.text for each in turns if each.role == "user"]
    assert [said.text for said in found.said if said.role == "user"][-1:] == people[-1:]


# --- over the wire


def test_fifty_turns_cost_about_what_a_few_do(wire: Wire, model: RemoteModel) -> None:
    """A long chat, turn by turn, as the chat loop leads it; counted in the tokens actually sent."""
    budget = Budget(4_000)
    long = "The person tells of a day in the garden. " * (budget.tokens // 160)
    wire.answer = lambda request: Say("They spoke of the garden." if "Summarise" in request.system else long)
    system = "You are a friend.\n\n## What you have told me\n- Lives in Oslo"
    turns: list[Message] = []
    through, summary, compressions = 0, None, []
    asked: list[Received] = []

    async def one(text: str) -> None:
        nonlocal through, summary
        turns.append(message(len(turns) + 1, "user", text))
        along = fixed_tokens_of(system, [])
        found = plan_messages(turns, compressed_through=through, summary=summary, fixed_tokens=along, budget=budget)
        if found.through is not None:
            told = [DialogueTurn(each.turn, each.role, each.text) for each in found.due]
            summary, _ = await model.summarise(summary, told)
            through = found.through
            compressions.append(len(asked))
            found = plan_messages(turns, compressed_through=through, summary=summary, fixed_tokens=along, budget=budget)
        async for event in model.reply(Conversation(system, found.said), None):
            if isinstance(event, ReplyFinished):
                turns.append(message(len(turns) + 1, "assistant", event.text, parts=calls_to_parts(event.calls)))
        asked.append(wire.received[-1])

    async def all_fifty() -> None:
        for number in range(50):
            await one(f"Day {number}: {long}")

    asyncio.run(all_fifty())
    cost = [estimate(request.body.decode()) for request in asked]
    assert max(cost) <= budget.tokens
    assert 0.5 * cost[4] <= cost[49] <= 1.5 * cost[4]
    assert 3 <= len(compressions) <= 25
    for number, (earlier, later) in enumerate(pairwise(asked), 1):
        assert later.extends(earlier) == (number not in compressions)
        assert later.raw("messages").split(b'"role":"user"')[0] == asked[0].raw("messages").split(b'"role":"user"')[0]
