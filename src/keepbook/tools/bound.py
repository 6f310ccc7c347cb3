"""What a token that is bound to an agent may do: which agent it is for, whether it sees the memory, and its tools.

The core knows no agents. It asks the one extension whose `bound` names a module with these functions:
`agent_id(book, ref)`, `gives_memory(book, agent_id)`, `own_tools(book, agent_id)` and
`bound_tools(book, agent_id, blind=, records=)`. Without such an extension no token can be bound. `outside_tools` are
the tools that every outside agent gets, bound or not: those of the memory and of all extensions that have some.
"""

from typing import Any

from keepbook.book.book import Book
from keepbook.errors import NotFound
from keepbook.extension import load_part
from keepbook.tools.catalogue import ToolSet
from keepbook.tools.definition import Tool
from keepbook.tools.outside import memory_outside


def agent_id(book: Book, ref: str) -> str:
    """The id of an agent, given its id or its name; raises `NotFound` if there is none."""
    found: str = _bound_part(book).agent_id(book, ref)
    return found


def gives_memory(book: Book, agent_id: str) -> bool:
    """Whether the agent's settings, and the person's, let it see the person's memory."""
    given: bool = _bound_part(book).gives_memory(book, agent_id)
    return given


def own_tools(book: Book, agent_id: str) -> list[Tool]:
    """The agent's own tools if it runs elsewhere, to be added to those of a preset."""
    tools: list[Tool] = _bound_part(book).own_tools(book, agent_id)
    return tools


def bound_tools(book: Book, agent_id: str, *, blind: bool = False, records: bool | None = None) -> ToolSet:
    """All that a token bound to this agent may call.

    blind: only what tells nothing of decisions, positions or memories
    records: whether it may also record what it decided; None leaves that to how the agent is run
    """
    tools: ToolSet = _bound_part(book).bound_tools(book, agent_id, blind=blind, records=records)
    return tools


def outside_tools(book: Book, preset: str | None = None) -> list[Tool]:
    """The tools that every outside agent gets beside those of its preset (the book's own, if none is named). Extensions
    that the preset names are left out, since their tools are among those of the preset."""
    tools = memory_outside(book, preset)
    for one in book.extensions:
        if one.outside_tools is None or (one.tools is not None and one.name in book.preset(preset).extensions):
            continue
        tools += load_part(one.outside_tools)(book)
    return tools


def _bound_part(book: Book) -> Any:
    for one in book.extensions:
        if one.bound is not None:
            return load_part(one.bound)
    raise NotFound("there are no agents here: no extension that has them is on", field="agent")
