"""Recognises which program a file comes from. The first source that recognises its own format reads it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from keepbook.book.upkeep.importers import (
    basic_memory,
    chatgpt,
    claude,
    graphiti,
    langgraph_items,
    letta,
    lists,
    mcp_graph,
    mem0,
)
from keepbook.book.upkeep.importers.incoming import Incoming
from keepbook.book.upkeep.importers.source_file import SourceFile
from keepbook.errors import Invalid

SOURCES: dict[str, Callable[[SourceFile], Incoming | None]] = {
    letta.SOURCE: letta.read,
    graphiti.SOURCE: graphiti.read,
    langgraph_items.SOURCE: langgraph_items.read,
    mcp_graph.SOURCE: mcp_graph.read,
    chatgpt.SOURCE: chatgpt.read,
    claude.SOURCE: claude.read,
    mem0.SOURCE: mem0.read,
    basic_memory.SOURCE: basic_memory.read,
    lists.SOURCE: lists.read,
}
"""In the order they are asked; a plain list is what nobody else claims."""


def read_path(path: Path) -> Incoming:
    """The contents of a file or folder, in the one form."""
    return detect_source(SourceFile.from_path(path))


def read_text(text: str, name: str = "file") -> Incoming:
    """The contents of a text that was uploaded or came from stdin."""
    return detect_source(SourceFile(name, raw=text.encode()))


def detect_source(found: SourceFile) -> Incoming:
    if not (found.is_folder or found.raw.strip()):
        raise Invalid("the file is empty; nothing was imported", field="file")
    for read in SOURCES.values():
        if (incoming := read(found)) is not None:
            return replace(incoming, file=found.name)
    raise Invalid(
        f"{found.name} is of no program that is known here ({', '.join(SOURCES)}); "
        "a list of texts, one a line, always works. Nothing was imported",
        field="file",
        code="unknown_source",
    )
