"""Keepbook's tools for any agent of LangChain, and the block for its system prompt.

    tools = memory_tools(kb, "general", owner="alice", session="chat-42")
    tools = memory_tools(kb, owner=lambda config: config["configurable"]["user_id"])
    prompt = memory_block(kb, owner="alice", session="chat-42")

Names, descriptions and schemas are those of the preset. The model gets an answer in words; what was written, with the
event that undoes it, is the artifact of the tool's message. A wrong call is a message marked as an error, never an end
of the run.
"""

from collections.abc import Callable
from typing import Any

from keepbook.adapters import missing_framework
from keepbook.app import Keepbook
from keepbook.tools.definition import Tool

try:
    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import BaseTool, StructuredTool, ToolException
except ImportError as _missing:
    raise missing_framework("LangChain", "langchain") from _missing

ConfiguredText = str | Callable[[RunnableConfig], str]
"""A name, or how to read it from the config of a run, so that one agent serves many people."""


def memory_tools(
    kb: Keepbook, preset: str | None = None, *, owner: ConfiguredText, session: ConfiguredText | None = None
) -> list[BaseTool]:
    """A preset's tools over the book of a run's owner. `session` is noted with what is saved in it. If the owner is
    known only when it runs, the preset must be named, else it is `general`."""
    if isinstance(owner, str):
        named = preset or None
        defined = kb.tools(named, owner=owner)
    else:
        named = preset or "general"
        defined = kb.tools(named, owner="nobody")  # for names and schemas alone
    return [_to_langchain_tool(kb, tool, named, owner, session) for tool in defined]


def memory_block(kb: Keepbook, *, owner: str, session: str, preset: str | None = None) -> str:
    """The block of a session for its system prompt: rendered once, then the same bytes."""
    return kb.book(owner, by="agent", door="langchain").inject(session, preset=preset)


def _to_langchain_tool(
    kb: Keepbook, tool: Tool, preset: str | None, owner: ConfiguredText, session: ConfiguredText | None
) -> BaseTool:
    def call(config: RunnableConfig, **arguments: Any) -> tuple[str, dict[str, Any]]:
        thread = None
        if session is not None:
            thread = _chosen(session, config)
        answer = kb.tools(preset, owner=_chosen(owner, config), thread_id=thread).call(tool.name, arguments)
        if answer.error:
            raise ToolException(answer.text)
        return answer.text, {"memory_event": answer.memory_event, "data": answer.data}

    return StructuredTool(
        name=tool.name,
        description=tool.description,
        args_schema=tool.parameters,
        func=call,
        response_format="content_and_artifact",
        handle_tool_error=True,
        tags=list(tool.tags),
    )


def _chosen(chosen: ConfiguredText, config: RunnableConfig) -> str:
    if isinstance(chosen, str):
        return chosen
    return chosen(config)
