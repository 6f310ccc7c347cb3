"""A real program: an agent of LlamaIndex over two sessions, with a model that is scripted. `make test-adapters` runs it
in an environment of its own, on a book that is here and on one on a server."""

import asyncio
from typing import Any

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.llms.mock import MockFunctionCallingLLM
from place import PLACES

from keepbook import Keepbook
from keepbook.adapters.llama_index import KeepbookMemory

asked: list[list[ChatMessage]] = []


class Scripted(MockFunctionCallingLLM):
    """Says that it noted it, and notes what it was sent."""

    async def astream_chat_with_tools(self, tools: Any, **told: Any) -> Any:
        asked.append(list(told["chat_history"]))
        return await super().astream_chat_with_tools(tools, **told)


def lookup(word: str) -> str:
    """Look a word up."""
    return word


async def remember(kb: Keepbook, here: Keepbook) -> None:
    asked.clear()
    alice = here.book("alice")
    alice.remember("Prefers short answers")
    agent = FunctionAgent(tools=[lookup], llm=Scripted(), streaming=True)
    memory = KeepbookMemory.over(kb, owner="alice", session="chat-1")
    await agent.run("What a fine day!", memory=memory)

    first = asked[0]
    assert any(one.role == MessageRole.SYSTEM and "Prefers short answers" in str(one.content) for one in first)
    said = [(turn.role, turn.text) for turn in alice.thread("chat-1").messages()]
    assert said[0] == ("user", "What a fine day!"), said
    assert said[1][0] == "assistant", said

    again = KeepbookMemory.over(kb, owner="alice", session="chat-1")
    assert [one.content for one in again.get_all()] == [text for _, text in said]
    again.set([*again.get_all(), ChatMessage(role="user", content="And I live in Oslo.")])
    assert len(alice.thread("chat-1").messages()) == len(said) + 1
    again.reset()
    assert again.get_all() == []
    again.close()
    found = [*alice.list(), *alice.proposals.list()]  # kept or offered: that is the reader's
    assert any("Oslo" in one.content for one in found), found
    assert {entry.actor for entry in alice.ledger()} <= {"person", "extractor"}
    assert [one.content for one in here.book("bob").list()] == []


for place in PLACES:
    with place() as (there, book):
        asyncio.run(remember(there, book))
