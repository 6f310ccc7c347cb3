"""An agent of Pydantic AI with the tools and the block of a book, driven by its own test models."""

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from pydantic_ai import Agent, ModelMessage, ModelResponse, RunContext, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from keepbook.adapters.pydantic_ai import MemoryToolset, memory_block


class User(NamedTuple):
    name: str
    chat: str = "chat-1"


def _name(ctx: RunContext[User]) -> str:
    return ctx.deps.name


def _chat(ctx: RunContext[User]) -> str:
    return ctx.deps.chat


def _calling(*calls: tuple[str, dict[str, Any] | str]) -> Callable[[list[ModelMessage], AgentInfo], ModelResponse]:
    """A model that makes these calls, one a request, and then says what it was told last."""

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        done = sum(isinstance(message, ModelResponse) for message in messages)
        if done < len(calls):
            name, arguments = calls[done]
            return ModelResponse(parts=[ToolCallPart(name, arguments, tool_call_id=f"call-{done}")])
        return ModelResponse(parts=[TextPart(str(messages[-1].parts[-1].content))])

    return reply


def _returns(messages: list[ModelMessage]) -> list[ToolReturnPart]:
    return [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]


def test_the_model_sees_the_tools_of_the_preset_as_they_are_defined_once(kb: Any) -> None:
    model = TestModel(call_tools=[])
    Agent(model, toolsets=[MemoryToolset(kb, "advisor", owner="alice")]).run_sync("hello")
    seen = model.last_model_request_parameters.function_tools
    defined = kb.tools("advisor", owner="alice").schemas("openai")
    assert [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema} for tool in seen
    ] == [each["function"] for each in defined]


def test_every_reading_tool_answers_a_model_that_calls_whatever_there_is(kb: Any, alice: Any) -> None:
    kept = alice.remember("Prefers index funds", category="preference")
    result = Agent(
        TestModel(call_tools=["list_memories", "recall"]), toolsets=[MemoryToolset(kb, "general", owner="alice")]
    ).run_sync("go")
    assert kept.id in json.loads(result.output)["list_memories"]


def test_a_save_is_answered_in_words_and_its_event_undoes_it(kb: Any, alice: Any) -> None:
    model = FunctionModel(_calling(("remember", {"content": "Is allergic to peanuts", "category": "profile"})))
    agent = Agent(model, toolsets=[MemoryToolset(kb, "general", owner="alice", session="chat-7")])
    result = agent.run_sync("I am allergic to peanuts")
    [answer] = _returns(result.all_messages())
    [kept] = alice.list()
    assert answer.content.startswith(f"Saved [{kept.id}]: Is allergic to peanuts")
    assert (kept.source, kept.thread_id) == ("chat", "chat-7")
    event = answer.metadata["memory_event"]
    assert (event["op"], event["id"]) == ("remember", kept.id)
    alice.undo(event["event"])
    assert not list(alice.list())


def test_a_wrong_call_is_told_in_words_and_never_ends_the_run(kb: Any, alice: Any) -> None:
    wrong = ("update", {"memory": "nothing like it", "content": "Prefers tea"})
    agent = Agent(
        FunctionModel(_calling(wrong, wrong, wrong, ("remember", {"words": 1}))),
        toolsets=[MemoryToolset(kb, "general", owner="alice")],
    )
    answers = _returns(agent.run_sync("go").all_messages())
    assert [answer.outcome for answer in answers] == ["failed"] * 4
    assert "No active memory" in answers[0].content
    assert "Look with list_memories or recall" in answers[0].content
    assert "`content` is missing" in answers[3].content
    assert not list(alice.list())


def test_one_agent_serves_many_people_and_keeps_them_apart(kb: Any) -> None:
    agent = Agent(
        FunctionModel(_calling(("remember", {"content": "Lives in Oslo"}), ("list_memories", {}))),
        deps_type=User,
        toolsets=[MemoryToolset(kb, "general", owner=_name)],
    )
    for name in ("ann", "anna"):
        output = agent.run_sync("I live in Oslo", deps=User(name)).output
        [kept] = kb.book(name).list()
        assert output == f"1 stored:\n[{kept.id}] Lives in Oslo (fact; by agent)"


def test_the_block_is_the_same_bytes_for_a_session_whatever_is_saved_meanwhile(kb: Any, alice: Any) -> None:
    alice.remember("Prefers index funds", category="preference")
    seen: list[str | None] = []

    def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(info.instructions)
        return ModelResponse(parts=[TextPart("ok")])

    block = memory_block(kb, owner=_name, session=_chat)
    agent = Agent(FunctionModel(reply), deps_type=User, instructions=["Be brief.", block])
    agent.run_sync("one", deps=User("alice"))
    alice.remember("Lives in Oslo")
    agent.run_sync("two", deps=User("alice"))
    agent.run_sync("three", deps=User("alice", "chat-2"))
    agent.run_sync("four", deps=User("bob"))
    assert seen[0] == seen[1] == "Be brief.\n\n" + alice.inject("chat-1")
    assert "Lives in Oslo" in str(seen[2])
    assert seen[3] == "Be brief."
