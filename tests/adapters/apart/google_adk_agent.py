"""A real program: an agent of Google's ADK that searches what an earlier session said, with a model that is scripted.
`make test-adapters` runs it in an environment of its own, on a book that is here and on one on a server."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools import load_memory
from google.genai import types
from place import PLACES

from keepbook import Keepbook
from keepbook.adapters.google_adk import KeepbookMemoryService


class Scripted(BaseLlm):
    """Searches its memory once where it has a tool for that, then repeats what it found."""

    model: str = "scripted"

    async def generate_content_async(self, request: Any, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        last = request.contents[-1].parts[-1]
        if request.tools_dict and last.function_response is None:
            call = types.FunctionCall(name="load_memory", args={"query": "Where do I live?"})
            yield _says(types.Part(function_call=call))
        else:
            found = last.function_response.response if last.function_response else "Noted."
            yield _says(types.Part(text=str(found)))


def _says(part: types.Part) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=[part]))


async def _say(runner: Runner, session: str, text: str) -> str:
    message = types.Content(role="user", parts=[types.Part(text=text)])
    said = ""
    async for event in runner.run_async(user_id="alice", session_id=session, new_message=message):
        said = "".join(part.text or "" for part in event.content.parts) if event.content else said
    return said


async def remember(kb: Keepbook, here: Keepbook) -> None:
    memory, sessions = KeepbookMemoryService(kb, close=True), InMemorySessionService()

    def runner(tools: list[Any]) -> Runner:
        agent = LlmAgent(name="helper", model=Scripted(), tools=tools)
        return Runner(agent=agent, app_name="shop", session_service=sessions, memory_service=memory)

    await sessions.create_session(app_name="shop", user_id="alice", session_id="one")
    await _say(runner([]), "one", "I live in Oslo.")
    for _ in range(2):  # a session may be added again
        await memory.add_session_to_memory(
            await sessions.get_session(app_name="shop", user_id="alice", session_id="one")
        )
    alice = here.book("alice")
    assert [turn.role for turn in alice.thread("shop:one").messages()] == ["user", "assistant"]
    assert any("Oslo" in one.content for one in alice.list()), list(alice.list())

    await sessions.create_session(app_name="shop", user_id="alice", session_id="two")
    told = await _say(runner([load_memory]), "two", "Where is my home?")
    assert "Oslo" in told, told
    assert "Oslo" not in str(await memory.search_memory(app_name="shop", user_id="bob", query="Oslo"))

    tea = MemoryEntry(content=types.Content(parts=[types.Part(text="Likes tea")]), timestamp="2025-03-01")
    await memory.add_memory(app_name="shop", user_id="alice", memories=[tea])
    [found] = (await memory.search_memory(app_name="shop", user_id="alice", query="tea")).memories
    assert (found.content.parts[0].text, found.timestamp[:10]) == ("Likes tea", "2025-03-01")
    await memory.delete_memory(app_name="shop", user_id="alice", memory_id=found.id)
    assert (await memory.search_memory(app_name="shop", user_id="alice", query="tea")).memories == []
    assert alice.verify().ok


for place in PLACES:
    with place() as (there, book):
        asyncio.run(remember(there, book))
