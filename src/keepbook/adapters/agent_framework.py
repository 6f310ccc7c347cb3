"""A book in an agent of Microsoft's Agent Framework: a context provider with the block, the tools and the chat.

    memory = KeepbookProvider(kb, "general", owner="alice")
    agent = Agent(client=client, context_providers=[memory])
    await agent.run("I moved to Oslo", session=session)

The block of the session becomes instructions, the same bytes in every run; the tools of the preset are offered with it.
What the person and the agent said becomes a chat of the book under the id of the session, read for memories when it
falls silent, or by `close`. `kb` is here or on a server.
"""

import asyncio
from typing import Any

from keepbook.adapters import missing_framework
from keepbook.app import Keepbook
from keepbook.book.chats.closing_result import ClosingResult
from keepbook.book.chats.face import NewTurn
from keepbook.tools.catalogue import ToolSet
from keepbook.tools.definition import Tool

try:
    from agent_framework import ContextProvider, FunctionTool
except ImportError as _missing:
    raise missing_framework("Microsoft's Agent Framework", package="agent-framework-core") from _missing

SAID = ("user", "assistant")


class KeepbookProvider(ContextProvider):
    """The memory of one person, for every session with them."""

    def __init__(self, kb: Keepbook, preset: str | None = None, *, owner: str, source_id: str = "keepbook") -> None:
        super().__init__(source_id)
        self._kb = kb
        self._preset = preset
        self._owner = owner
        self._book = kb.book(owner, by="agent", door="agent-framework")

    async def before_run(self, *, agent: Any, session: Any, context: Any, state: dict[str, Any]) -> None:
        block = await asyncio.to_thread(self._book.inject, session.session_id, preset=self._preset)
        tools = await asyncio.to_thread(
            self._kb.tools, self._preset, owner=self._owner, thread_id=session.session_id
        )  # fmt: skip
        if block:
            context.extend_instructions(self.source_id, block)
        context.extend_tools(self.source_id, [_to_function_tool(tools, tool) for tool in tools])

    async def after_run(self, *, agent: Any, session: Any, context: Any, state: dict[str, Any]) -> None:
        if context.response is not None:
            answered = context.response.messages
        else:
            answered = []
        turns = [
            NewTurn(str(message.role), message.text)
            for message in [*context.input_messages, *answered]
            if str(message.role) in SAID and message.text.strip()
        ]
        await asyncio.to_thread(lambda: self._book.thread(session.session_id).add_all(turns))

    async def close(self, session: Any) -> ClosingResult:
        """Read what is new of a session for memories: it is over for now."""
        return await asyncio.to_thread(lambda: self._book.thread(session.session_id).close())


def _to_function_tool(tools: ToolSet, tool: Tool) -> FunctionTool:
    async def call(**arguments: Any) -> str:
        answer = await asyncio.to_thread(tools.call, tool.name, arguments)
        return answer.text

    return FunctionTool(name=tool.name, description=tool.description, func=call, input_model=tool.parameters)
