"""What a token that is bound to one of the book's agents gets; see `keepbook/tools/bound.py`."""

from keepbook.book.book import Book
from keepbook.extensions.agents.book.arming import PROGRAM
from keepbook.extensions.agents.tools import agent_tools, toolbox
from keepbook.tools.catalogue import ToolSet
from keepbook.tools.definition import Tool


def agent_id(book: Book, ref: str) -> str:
    found: str = book.agents.get(ref).id
    return found


def gives_memory(book: Book, agent_id: str) -> bool:
    return bool(book.agents.get(agent_id).use_block)  # memory that is switched off the book itself refuses


def own_tools(book: Book, agent_id: str) -> list[Tool]:
    return agent_tools(book, agent_id)


def bound_tools(book: Book, agent_id: str, *, blind: bool = False, records: bool | None = None) -> ToolSet:
    agent = book.agents.get(agent_id)
    if records is None:
        # A program that we start for a run answers with its card; it has nothing to record beside it.
        records = agent.adapter != PROGRAM
    return toolbox(book, agent, blind=blind, records=records)
