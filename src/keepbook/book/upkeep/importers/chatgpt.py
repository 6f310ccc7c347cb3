"""ChatGPT's export: `conversations.json`, or its parts `conversations-000.json` and on, alone or in the archive. Chats
come in as chats.

A conversation is a tree of answers tried again; what counts is the branch it ended on. Hidden turns, tools and pictures
are left; a list of memories copied out of the settings is a plain list (`lists.py`).
"""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from keepbook.book.upkeep.importers.incoming import (
    Incoming,
    IncomingChat,
    IncomingTurn,
    LeftOut,
    content_key,
    list_in_source,
    parse_source_time,
    text_or_none,
)
from keepbook.book.upkeep.importers.source_file import SourceFile
from keepbook.errors import Invalid
from keepbook.patterns import regex

SOURCE = "chatgpt"
PARTS = regex(r"conversations(-\d+)?\.json")
"""What its files are called: a long history is cut into several."""


def read(found: SourceFile) -> Incoming | None:
    files = [one for path, one in sorted(found.members.items()) if PARTS.fullmatch(PurePosixPath(path).name)]
    values = [file.value for file in files or [found]]
    talks = [one for value in values if isinstance(value, list) for one in value]
    if not talks or not all(isinstance(one, Mapping) and isinstance(one.get("mapping"), Mapping) for one in talks):
        return None
    chats, refused = [], []
    for number, one in enumerate(talks, 1):
        where = f"chat {one.get('title') or number}"
        try:
            turns = _branch(one["mapping"], one.get("current_node"))
        except Invalid as error:
            refused.append(LeftOut(where, error.message))
            continue
        if turns:
            key = str(one.get("conversation_id") or one.get("id") or content_key(*(turn.text for turn in turns)))
            chats.append(IncomingChat(key=key, title=text_or_none(one.get("title")), turns=turns))
        else:
            refused.append(LeftOut(where, "nobody said anything in it"))
    return Incoming(SOURCE, chats=tuple(chats), refused=tuple(refused))


def _branch(nodes: Mapping[str, Any], last: Any) -> tuple[IncomingTurn, ...]:
    """From the node a chat ended on up to its beginning, turned round."""
    if not isinstance(last, str) or last not in nodes:
        tips = [id for id, node in nodes.items() if isinstance(node, Mapping) and not node.get("children")]
        last = max(tips, key=lambda id: _time(nodes[id]), default=None)
    turns: list[IncomingTurn] = []
    seen = set()
    while isinstance(last, str) and last in nodes and last not in seen:
        seen.add(last)
        node = nodes[last]
        if not isinstance(node, Mapping):
            break
        if (turn := _turn(node.get("message"))) is not None:
            turns.append(turn)
        last = node.get("parent")
    return tuple(reversed(turns))


def _time(node: Mapping[str, Any]) -> float:
    message = node.get("message")
    at = message.get("create_time") if isinstance(message, Mapping) else None
    return float(at) if isinstance(at, int | float) else 0.0


def _turn(message: Any) -> IncomingTurn | None:
    if not isinstance(message, Mapping):
        return None
    author, content = message.get("author"), message.get("content")
    role = author.get("role") if isinstance(author, Mapping) else None
    hidden = isinstance(told := message.get("metadata"), Mapping) and told.get("is_visually_hidden_from_conversation")
    if role not in ("user", "assistant") or hidden or not isinstance(content, Mapping):
        return None
    if content.get("content_type") not in ("text", "multimodal_text"):
        return None  # code, thoughts, what a tool was told
    text = "\n".join(part for part in list_in_source(content.get("parts"), "parts") if isinstance(part, str)).strip()
    return IncomingTurn(role, text, parse_source_time(message.get("create_time"))) if text else None
