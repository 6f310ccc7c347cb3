"""Recognises which program a file comes from. The first source that recognises its own format reads it."""

from collections.abc import Callable
from dataclasses import replace

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
from keepbook.book.upkeep.importers.incoming import Incoming, LeftOut, labels_left_out
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
"""The importers, in the order in which they are tried. The last one, for plain lists, takes what no other
recognises."""


def detect_source(found: SourceFile) -> Incoming:
    if not (found.is_folder or found.raw.strip()):
        raise Invalid("the file is empty; nothing was imported", field="file")
    for read in SOURCES.values():
        incoming = read(found)
        if incoming is not None:
            links = tuple(LeftOut(name, "a link, and links are not followed") for name in found.links)
            cut = filter(None, map(labels_left_out, incoming.memories))
            return replace(incoming, file=found.name, refused=(*incoming.refused, *cut, *links))
    raise Invalid(
        f"{found.name} is of no program that is known here ({', '.join(SOURCES)}); "
        "a list of texts, one a line, always works. Nothing was imported",
        field="file",
        code="unknown_source",
    )
