"""A program of LangChain with the tools and the block of a book: a scripted model, its calls, the messages of tools."""

from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from keepbook.adapters.langchain import memory_block, memory_tools


def call(name: str, arguments: dict[str, Any], id: str = "call-1") -> dict[str, Any]:
    return {"name": name, "args": arguments, "id": id, "type": "tool_call"}


def test_a_model_calls_the_tools_and_the_program_finds_what_undoes_it(kb: Any, alice: Any) -> None:
    alice.remember("Prefers short answers")
    tools = {tool.name: tool for tool in memory_tools(kb, "general", owner="alice", session="chat-42")}
    script = [
        AIMessage("", tool_calls=[call("remember", {"content": "Is allergic to peanuts"})]),
        AIMessage("I will keep that in mind."),
    ]
    model = GenericFakeChatModel(messages=iter(script))
    said: list[Any] = [
        SystemMessage(memory_block(kb, owner="alice", session="chat-42")),
        HumanMessage("I am allergic to peanuts."),
    ]
    assert "Prefers short answers" in said[0].content
    while (answer := model.invoke(said)).tool_calls:
        said += [answer, *(tools[one["name"]].invoke(one) for one in answer.tool_calls)]

    assert answer.content == "I will keep that in mind."
    told = said[-1]
    assert isinstance(told, ToolMessage)
    assert (told.status, told.content.startswith("Saved [")) == ("success", True)
    kept = alice.list()[-1]
    assert (kept.content, kept.thread_id, kept.source) == ("Is allergic to peanuts", "chat-42", "chat")
    alice.undo(told.artifact["memory_event"]["event"])
    assert alice.list().total == 1


def test_the_schemas_are_those_of_the_preset(kb: Any) -> None:
    defined = kb.tools("advisor", owner="alice").schemas("openai")
    seen = [convert_to_openai_tool(tool)["function"] for tool in memory_tools(kb, "advisor", owner="alice")]
    assert [(one["name"], one["description"]) for one in seen] == [
        (one["function"]["name"], one["function"]["description"]) for one in defined
    ]
    assert [one["parameters"]["required"] for one in seen] == [
        one["function"]["parameters"]["required"] for one in defined
    ]


def test_a_wrong_call_is_an_answer_and_writes_nothing(kb: Any, alice: Any) -> None:
    tools = {tool.name: tool for tool in memory_tools(kb, owner="alice")}
    told = tools["forget"].invoke(call("forget", {"memory": "nothing like it"}))
    assert (told.status, alice.ledger()) == ("error", [])
    assert "list_memories" in told.content


def test_one_set_of_tools_serves_many_people(kb: Any) -> None:
    tools = {tool.name: tool for tool in memory_tools(kb, owner=lambda config: config["configurable"]["user"])}
    for name in ("alice", "bob"):
        tools["remember"].invoke(call("remember", {"content": f"Is {name}"}), {"configurable": {"user": name}})
    assert [[one.content for one in kb.book(name).list()] for name in ("alice", "bob")] == [["Is alice"], ["Is bob"]]
