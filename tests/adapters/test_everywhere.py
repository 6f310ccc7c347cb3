"""Every adapter over a book that is here and over one on a server: ten lines each on what all of them share."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import ToolCall
from langgraph.store.base import GetOp, PutOp
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from tests.serving import SCOPES, serving

from keepbook import Keepbook
from keepbook.adapters import langchain, openai_agents, pydantic_ai
from keepbook.adapters.anthropic_memory import MemoryFiles
from keepbook.adapters.langgraph import KeepbookStore
from keepbook.book.texts import TextChange
from keepbook.doors.http.app import create_app
from keepbook.errors import Conflict, NotAllowed


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, Keepbook]]:
    with Keepbook(tmp_path_factory.mktemp("served") / "book.db", embedder="none") as here:
        token = here.tokens.create(kind="service", scopes=SCOPES).token
        with serving(create_app(here)) as address:
            yield address, token, here


@pytest.fixture(params=["here", "server"])
def kb(request: pytest.FixtureRequest, server: tuple[str, str, Keepbook]) -> Iterator[Any]:
    address, token, here = server
    if request.param == "here":
        yield here
        return
    with Keepbook(address, token=token) as there:
        yield there


@pytest.fixture
def owner(request: pytest.FixtureRequest) -> str:
    return request.node.name


def test_texts_are_written_together_or_not_at_all(kb: Any, owner: str) -> None:
    texts = kb.book(owner, by="agent").texts
    one, two = texts.write([TextChange(scope="s", name=name, line="The same words", body=name) for name in "ab"])
    assert (one.content, two.content) == ("The same words", "The same words [b]")
    assert [(memory.subject, memory.body) for memory in texts.list("s")] == [("a", "a"), ("b", "b")]
    with pytest.raises(Conflict) as taken:
        texts.write([
            TextChange(scope="s", name="c", line="New words"),
            TextChange(scope="s", name="b", line="Others", version=7),
        ])  # fmt: skip
    assert (taken.value.code, len(texts.list("s"))) == ("version", 2)
    texts.write([TextChange(scope="s", name="c", line="The same words", id=one.id, version=1)])
    with pytest.raises(Conflict):
        texts.write([TextChange(scope="s", name="c", line="The same words", id=two.id)])
    texts.write([TextChange(scope="s", name="b")])
    assert [memory.subject for memory in texts.list("s", name="c")] == ["c"]
    assert texts.scopes("s") == ["s"]


def test_a_transaction_over_a_server_is_refused_in_a_sentence(server: tuple[str, str, Keepbook]) -> None:
    with Keepbook(server[0], token=server[1]) as kb, pytest.raises(NotAllowed, match=r"each call is one of its own"):
        kb.book("alice").transaction()


def test_langgraph_keeps_and_finds(kb: Any, owner: str) -> None:
    store = KeepbookStore(kb, owner=owner)
    store.put(("notes",), "a", {"text": "Likes tea"})
    store.put(("notes",), "b", {"text": "Likes tea", "ttl": 1}, ttl=5)
    assert store.get(("notes",), "a").value == {"text": "Likes tea"}
    assert {item.key for item in store.search(("notes",), query="tea")} == {"a", "b"}
    assert store.list_namespaces() == [("notes",)]
    done = store.batch([PutOp(("notes",), "a", None), GetOp(("notes",), "b")])
    assert done[1].value["ttl"] == 1
    assert store.get(("notes",), "a") is None


def test_claude_has_its_files(kb: Any, owner: str) -> None:
    run = MemoryFiles(kb, owner=owner).run
    run({"command": "create", "path": "/memories/d/a.md", "file_text": "Likes tea\n"})
    run({"command": "str_replace", "path": "/memories/d/a.md", "old_str": "tea", "new_str": "cake"})
    assert "renamed" in run({"command": "rename", "old_path": "/memories/d", "new_path": "/memories/e"})
    assert "Likes cake" in run({"command": "view", "path": "/memories/e/a.md"})
    assert "already exists" in run({"command": "create", "path": "/memories/e/a.md", "file_text": "x"})
    assert "deleted" in run({"command": "delete", "path": "/memories/e"})
    assert run({"command": "view", "path": "/memories"}).count("\n") == 1


def test_a_session_of_openai_keeps_every_item(kb: Any, owner: str) -> None:
    async def talk() -> None:
        session = openai_agents.KeepbookSession(kb, owner=owner, session_id="s-1")
        items: Any = [{"role": "user", "content": "I live in Oslo"}, {"role": "assistant", "content": "Noted"}]
        await session.add_items(items)
        await asyncio.gather(*(session.add_items([{"role": "user", "content": f"{nth}"}]) for nth in range(3)))
        assert (await session.get_items())[:2] == items
        assert (await session.pop_item())["role"] == "user"  # type: ignore[index]
        assert len(await session.get_items()) == 4
        await session.clear_session()
        assert await session.get_items() == []

    asyncio.run(talk())


def test_tools_of_langchain_and_pydantic_ai_write(kb: Any, owner: str) -> None:
    kb.book(owner).remember("Likes tea")
    tools = {tool.name: tool for tool in langchain.memory_tools(kb, "general", owner=owner, session="c-1")}
    call = ToolCall(name="remember", args={"content": "Likes cake"}, id="1", type="tool_call")
    assert tools["remember"].invoke(call).artifact["memory_event"]["op"] == "remember"
    assert "Likes cake" in langchain.memory_block(kb, owner=owner, session="c-2")
    model = TestModel(call_tools=["list_memories"])
    agent = Agent(model, toolsets=[pydantic_ai.MemoryToolset(kb, "general", owner=owner)])
    assert "Likes cake" in agent.run_sync("go").output
