"""Keepbook's tools and block in an agent of Pydantic AI.

    agent = Agent(model, deps_type=User, toolsets=[MemoryToolset(kb, owner=lambda ctx: ctx.deps.name)],
                  instructions=memory_block(kb, owner=lambda ctx: ctx.deps.name, session=lambda ctx: ctx.deps.chat))

Names, descriptions and schemas are those of the preset. The model gets an answer in words; the application finds what
was written, with the event that undoes it, as the metadata of the tool's return.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic_core import SchemaValidator, core_schema

from keepbook.adapters import missing_framework
from keepbook.app import Keepbook
from keepbook.tools.catalogue import ToolSet

try:
    from pydantic_ai import RunContext, ToolDefinition, ToolReturn
    from pydantic_ai.exceptions import ToolFailed
    from pydantic_ai.tools import AgentDepsT
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
except ImportError as _missing:
    raise missing_framework("Pydantic AI", "pydantic-ai") from _missing

ContextText = str | Callable[[RunContext[AgentDepsT]], str]
"""A name, or how to read it from a run, so that one agent serves many people."""

# The tools check their own arguments, kindly, and answer all that is wrong with them at once.
_ANYTHING = SchemaValidator(core_schema.any_schema())


class MemoryToolset(AbstractToolset[AgentDepsT]):
    """A preset's tools over the book of whoever the run is for. `session` is noted with what is saved in it; with
    `agent`, one of the book's agents, it also has the tools with which that agent records what it decides."""

    def __init__(
        self,
        kb: Keepbook,
        preset: str | None = None,
        *,
        owner: ContextText[AgentDepsT],
        session: ContextText[AgentDepsT] | None = None,
        agent: ContextText[AgentDepsT] | None = None,
        id: str | None = "keepbook",
    ) -> None:
        self._kb = kb
        self._preset = preset
        self._owner = owner
        self._session = session
        self._agent = agent
        self._id = id

    @property
    def id(self) -> str | None:
        return self._id

    async def get_tools(self, ctx: RunContext[AgentDepsT]) -> dict[str, ToolsetTool[AgentDepsT]]:
        tools = await asyncio.to_thread(self._tools, ctx)
        return {
            tool.name: ToolsetTool(
                toolset=self,
                tool_def=ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=tool.parameters,
                    metadata={"tags": list(tool.tags), "read_only": tool.annotations.read_only},
                ),
                max_retries=ctx.max_retries,
                args_validator=_ANYTHING,
            )
            for tool in tools
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[AgentDepsT], tool: ToolsetTool[AgentDepsT]
    ) -> ToolReturn[str]:
        answer = await asyncio.to_thread(lambda: self._tools(ctx).call(name, tool_args))
        if answer.error:
            # Not ModelRetry: its budget ends the run, and a wrong guess at an id is no reason to end one.
            raise ToolFailed(answer.text)
        return ToolReturn(answer.text, metadata={"memory_event": answer.memory_event, "data": answer.data})

    def _tools(self, ctx: RunContext[AgentDepsT]) -> ToolSet:
        session = None
        if self._session is not None:
            session = _chosen(self._session, ctx)
        agent = None
        if self._agent is not None:
            agent = _chosen(self._agent, ctx)
        return self._kb.tools(self._preset, owner=_chosen(self._owner, ctx), thread_id=session, agent=agent)


def memory_block(
    kb: Keepbook,
    *,
    owner: ContextText[AgentDepsT],
    session: ContextText[AgentDepsT],
    preset: str | None = None,
    scope: str | None = None,
) -> Callable[[RunContext[AgentDepsT]], Awaitable[str | None]]:
    """Instructions that are the memory block: rendered once for a session, then the same bytes in every request."""

    async def block(ctx: RunContext[AgentDepsT]) -> str | None:
        book = kb.book(_chosen(owner, ctx), by="agent", door="pydantic-ai")
        text = await asyncio.to_thread(book.inject, _chosen(session, ctx), preset=preset, scope=scope)
        return text or None

    return block


def _chosen(chosen: ContextText[AgentDepsT], ctx: RunContext[AgentDepsT]) -> str:
    if isinstance(chosen, str):
        return chosen
    return chosen(ctx)
