"""Keepbook's tools for an agent of CrewAI, and the block for its backstory.

    tools = crew_tools(kb, "general", owner="alice", session="chat-42")
    Agent(role="…", goal="…", backstory=memory_block(kb, owner="alice", session="chat-42"), tools=tools)

Names, descriptions and schemas are those of the preset; `kb` may be a remote one. A wrong call is no error: the model
gets an answer in words that says what is wrong.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, create_model

from keepbook.adapters import missing_framework
from keepbook.app import Keepbook
from keepbook.tools.catalogue import ToolSet
from keepbook.tools.definition import Tool

try:
    from crewai.tools import BaseTool
except ImportError as _missing:
    raise missing_framework("CrewAI", package="crewai") from _missing


class CrewTool(BaseTool):
    """One tool of a preset."""

    tools: Any
    last_event: dict[str, Any] | None = None
    """What the last call wrote, with the event that undoes it."""

    def _run(self, **arguments: Any) -> str:
        answer = self.tools.call(self.name, arguments)
        self.last_event = answer.memory_event
        return str(answer.text)


class _AnyArguments(BaseModel):
    """Accepts all arguments, because the tool itself checks them, and answers all that is wrong at once."""

    model_config = ConfigDict(extra="allow")


def crew_tools(kb: Keepbook, preset: str | None = None, *, owner: str, session: str | None = None) -> list[BaseTool]:
    """A preset's tools for one owner's book. What they save is stored with `session`."""
    tools = kb.tools(preset, owner=owner, thread_id=session)
    return [_to_crewai(tools, tool) for tool in tools]


def memory_block(kb: Keepbook, *, owner: str, session: str, preset: str | None = None) -> str:
    """The block of a session for an agent's backstory. It is rendered once; later calls return the same bytes."""
    return kb.book(owner, by="agent", door="crewai").inject(session, preset=preset)


def _to_crewai(tools: ToolSet, tool: Tool) -> BaseTool:
    schema = create_model(f"{tool.name}_arguments", __base__=_AnyArguments)
    # CrewAI tells the model the schema of `args_schema`; the preset's own one is given in its place.
    schema.model_json_schema = classmethod(lambda _, *__, **___: tool.parameters)  # type: ignore[method-assign, assignment]
    described = f"{tool.description} It is told what it needs by name: {', '.join(tool.arguments) or 'nothing'}."
    return CrewTool(name=tool.name, description=described, args_schema=schema, tools=tools)
