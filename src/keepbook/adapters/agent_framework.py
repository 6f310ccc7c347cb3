"""A context provider for Microsoft's Agent Framework, with the block and the tools of a book; it also stores the chat.

    memory = KeepbookProvider(kb, "general", owner="alice")
    agent = Agent(client=client, context_providers=[memory])
    await agent.run("I moved to Oslo", session=session)

Before a run, the block of the session is added to the instructions, with the same bytes in every run, and the tools of
the preset are offered. After it, what the person and the agent said is added to the chat of the book that has the id of
the session. That chat is closed, which reads it for memories, when it has been idle, or by `close`. `kb` may be a
remote one.
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
"""The roles whose messages are stored."""


class KeepbookProvider(ContextProvider):
    """Memory for an agent's sessions with one person, `owner`."""

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
        messages = list(context.input_messages)
        if context.response is not None:
            messages += context.response.messages
        turns = [
            NewTurn(str(message.role), message.text)
            for message in messages
            if str(message.role) in SAID and message.text.strip()
        ]
        await asyncio.to_thread(lambda: self._book.thread(session.session_id).add_all(turns))

    async def close(self, session: Any) -> ClosingResult:
        """Close the chat of a session: read its new turns for memories."""
        return await asyncio.to_thread(lambda: self._book.thread(session.session_id).close())


def _to_function_tool(tools: ToolSet, tool: Tool) -> FunctionTool:
    async def call(**arguments: Any) -> str:
        answer = await asyncio.to_thread(tools.call, tool.name, arguments)
        return answer.text

    return FunctionTool(name=tool.name, description=tool.description, func=call, input_model=tool.parameters)
