"""What an MCP client does with each preset: every tool once, with what its answer must hold. Both transports run it."""

from collections.abc import Awaitable, Callable
from typing import Any

from mcp import Client

Call = Callable[..., Awaitable[dict[str, Any]]]


async def general(call: Call) -> None:
    saved = await call("remember", content="Has a dog called Bo", category="profile", subject="Bo", detail="A spaniel")
    id = saved["id"]
    assert (saved["content"], saved["category"], saved["body"]) == ("Has a dog called Bo", "profile", "A spaniel")
    assert (saved["memory_event"]["op"], saved["memory_event"]["after"]["content"]) == ("remember", saved["content"])
    cause = (await call("remember", content="Walks before work", since="2024-01-01"))["id"]
    changed = await call("update", memory=id, content="Has two dogs, Bo and Kit", correction=True)
    assert (changed["id"], changed["version"], changed["memory_event"]["before"]["version"]) == (id, 2, 1)
    assert (await call("confirm", memory="two dogs"))["last_confirmed_at"] is None  # only the person's word counts
    assert (await call("link", from_memory=id, to_memory=cause, relation="because_of"))["relation"] == "because_of"
    assert [memory["id"] for memory in (await call("list_memories"))["memories"]] == [id, cause]
    assert [hit["id"] for hit in (await call("recall", query="Which dogs are there?", limit=1))["hits"]] == [id]
    labels = {"tags": ["garden"], "metadata": {"source": "crm"}}
    assert (await call("remember", content="Grows plums", **labels))["tags"] == ["garden"]
    assert [memory["content"] for memory in (await call("list_memories", **labels))["memories"]] == ["Grows plums"]
    assert (await call("recall", query="plums", metadata={"source": "mail"}))["hits"] == []
    turns = [{"role": "user", "text": "I keep bees in Oslo"}, {"role": "assistant", "text": "How many hives?"}]
    assert len((await call("record_turns", session="chat-1", turns=turns))["turns"]) == 2
    assert (await call("recall_chats", query="bees"))["hits"][0]["text"] == "I keep bees in Oslo"
    assert [line["text"] for line in (await call("timeline", topic="bees"))["lines"]] == ["I keep bees in Oslo"]
    assert [version["version"] for version in (await call("history", memory=id))["versions"]] == [1, 2]
    assert (await call("forget", memory=cause, reason="user_corrected"))["state"] == "archived"


async def advisor(call: Call) -> None:
    saved = await call("save_preference", category="finance_context", content="Saves for a house", detail="By 2030")
    id, event = saved["id"], saved["memory_event"]
    assert (saved["category"], saved["body"], event["op"]) == ("finance_context", "By 2030", "remember")
    style = (await call("save_preference", category="response_style", content="Wants short answers"))["id"]
    changed = await call("update_preference", id_or_substring="house", new_content="Saves for a flat")
    assert (changed["id"], changed["content"]) == (id, "Saves for a flat")
    assert (await call("confirm_preference", id_or_substring=id))["last_confirmed_at"] is None
    await call("link_preferences", from_id=id, to_id=style, relation="relates_to")
    assert (await call("list_preferences", category="response_style"))["total"] == 1
    assert (await call("recall_chats", query="flat"))["hits"] == []
    assert (await call("recall_preferences", query="flat", limit=5))["hits"][0]["id"] == id
    assert (await call("forget_preference", id_or_substring=style))["state"] == "archived"


async def assistant(call: Call) -> None:
    saved = await call("add_to_memory", content="Sarah leads the design team", category="person", subject="Sarah")
    assert (saved["subject"], saved["memory_event"]["id"]) == ("Sarah", saved["id"])
    changed = await call("update_memory", memory_id=saved["id"], content="Sarah leads the whole studio")
    assert changed["version"] == 2
    assert (await call("recall_chats", query="studio"))["hits"] == []
    assert (await call("recall_memory", query="Who leads the studio?"))["hits"][0]["id"] == saved["id"]


async def coach(call: Call) -> None:
    saved = await call("remember", fact="Runs on Tuesdays", topic="training", confidence="asserted")
    assert (saved["category"], saved["confidence"]) == ("training", "asserted")
    assert (await call("forget", fact_id="on Tuesdays"))["archived_reason"] == "agent_forget"


async def look_back(call: Call) -> None:
    """What every preset has outside: its last write is taken back."""
    told = await call("memory_stats")
    undone = await call("undo", event=told["entries"])
    assert (undone["state"], undone["memory_event"]["op"]) == ("active", "undo")
    assert (await call("restore", memory=undone["id"]))["unchanged"]
    assert (await call("history", memory=undone["id"]))["versions"][-1]["content"] == undone["content"]
    assert (await call("memory_stats"))["entries"] == told["entries"] + 1


PRESETS: dict[str, Callable[[Call], Awaitable[None]]] = {
    "general": general,
    "advisor": advisor,
    "assistant": assistant,
    "coach": coach,
}


async def drive(client: Client, preset: str, calls: Callable[[Call], Awaitable[None]] | None = None) -> None:
    """Call every tool of the preset that this client is shown."""
    called = set()

    async def call(name: str, **arguments: Any) -> dict[str, Any]:
        called.add(name)
        result = await client.call_tool(name, arguments)
        assert not result.is_error, result.content
        assert result.content[0].type == "text"
        assert result.content[0].text
        return dict(result.structured_content)

    await (calls or PRESETS[preset])(call)
    await look_back(call)
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert called == tools.keys(), f"call it in {preset}() above"  # and none of agents: there are none
    assert all(tool.title and tool.output_schema and tool.annotations for tool in tools.values())


async def text_of(client: Client, uri: str) -> str:
    (content,) = (await client.read_resource(uri)).contents
    return str(content.text)  # type: ignore[union-attr]
