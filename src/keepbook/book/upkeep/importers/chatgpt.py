"""ChatGPT's export: `conversations.json`, or its parts `conversations-000.json` and on, alone or in the archive. Chats
come in as chats.

A conversation is a tree, since answers can be generated again; the branch it ended on is imported. Hidden turns, tools
and pictures are left out and counted. A list of memories that was copied out of the settings is read by `lists.py`.
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from keepbook.book.upkeep.importers.incoming import (
    ChatPart,
    Incoming,
    IncomingChat,
    IncomingTurn,
    LeftOut,
    content_key,
    files_left_out,
    list_in_source,
    parse_source_time,
    parts_left_out,
    text_or_none,
)
from keepbook.book.upkeep.importers.source_file import SourceFile
from keepbook.errors import Invalid
from keepbook.patterns import regex

SOURCE = "chatgpt"
PARTS = regex(r"conversations(-\d+)?\.json")
"""Matches the names of its files: a long history is cut into several."""


def read(found: SourceFile) -> Incoming | None:
    files = {path: one for path, one in sorted(found.members.items()) if PARTS.fullmatch(PurePosixPath(path).name)}
    values = [file.value for file in files.values() or [found]]
    kept = [value for value in values if isinstance(value, list)]
    talks = [one for value in kept for one in value]
    if not talks or not all(isinstance(one, Mapping) and isinstance(one.get("mapping"), Mapping) for one in talks):
        return None
    chats, refused = [], files_left_out(SOURCE, found.names, files)
    for number, one in enumerate(talks, 1):
        where = f"chat {one.get('title') or number}"
        try:
            branch = _branch(one["mapping"], one.get("current_node"))
            turns = tuple(turn for node in branch if (turn := _turn(node.get("message"))) is not None)
            refused += parts_left_out(where, _left_in(one["mapping"], branch))
        except Invalid as error:
            refused.append(LeftOut(where, error.message))
            continue
        if turns:
            key = str(one.get("conversation_id") or one.get("id") or content_key(*(turn.text for turn in turns)))
            chats.append(IncomingChat(key=key, title=text_or_none(one.get("title")), turns=turns))
        else:
            refused.append(LeftOut(where, "nobody said anything in it"))
    return Incoming(SOURCE, chats=tuple(chats), refused=tuple(refused))


def _branch(nodes: Mapping[str, Any], last: Any) -> list[Mapping[str, Any]]:
    """The nodes from the beginning of a chat to the one it ended on."""
    if not isinstance(last, str) or last not in nodes:
        tips = [id for id, node in nodes.items() if isinstance(node, Mapping) and not node.get("children")]
        last = max(tips, key=lambda id: _time(nodes[id]), default=None)
    branch: list[Mapping[str, Any]] = []
    seen = set()
    while isinstance(last, str) and last in nodes and last not in seen:
        seen.add(last)
        node = nodes[last]
        if not isinstance(node, Mapping):
            break
        branch.append(node)
        last = node.get("parent")
    return branch[::-1]


def _time(node: Mapping[str, Any]) -> float:
    message = node.get("message")
    at = None
    if isinstance(message, Mapping):
        at = message.get("create_time")
    if isinstance(at, int | float):
        return float(at)
    return 0.0


def _turn(message: Any) -> IncomingTurn | None:
    if not isinstance(message, Mapping) or _why_no_turn(message) is not None:
        return None
    text = _spoken(message)
    if text:
        return IncomingTurn(_role(message), text, parse_source_time(message.get("create_time")))
    return None


def _role(message: Mapping[str, Any]) -> str:
    author = message.get("author")
    if isinstance(author, Mapping):
        return str(author.get("role"))
    return ""


def _content(message: Mapping[str, Any]) -> Mapping[str, Any]:
    content = message.get("content")
    if isinstance(content, Mapping):
        return content
    return {}


def _told(message: Mapping[str, Any]) -> Mapping[str, Any]:
    told = message.get("metadata")
    if isinstance(told, Mapping):
        return told
    return {}


def _spoken(message: Mapping[str, Any]) -> str:
    parts = list_in_source(_content(message).get("parts"), "parts")
    return "\n".join(part for part in parts if isinstance(part, str)).strip()


def _why_no_turn(message: Mapping[str, Any]) -> ChatPart | None:
    """What kind of thing a message is, if it was not said by the person or the assistant; else None."""
    if _role(message) == "tool" or message.get("recipient") not in (None, "all"):
        return ChatPart.TOOL
    if _role(message) not in ("user", "assistant") or _told(message).get("is_visually_hidden_from_conversation"):
        return ChatPart.HIDDEN
    if _content(message).get("content_type") not in ("text", "multimodal_text"):
        return ChatPart.THOUGHT
    return None


def _left_in(nodes: Mapping[str, Any], branch: list[Mapping[str, Any]]) -> Iterator[ChatPart]:
    """The parts of a chat that are left out; empty ones are not counted."""
    for node in branch:
        if isinstance(message := node.get("message"), Mapping):
            yield from _left_of(message)
    taken = {id(node) for node in branch}
    for node in nodes.values():
        if isinstance(node, Mapping) and id(node) not in taken and _turn(node.get("message")) is not None:
            yield ChatPart.OTHER_TRY


def _left_of(message: Mapping[str, Any]) -> Iterator[ChatPart]:
    why = _why_no_turn(message)
    if why is not None:
        if any(_holds(value) for name, value in _content(message).items() if name != "content_type"):
            yield why
        return
    parts = list_in_source(_content(message).get("parts"), "parts")
    pictures = [part for part in parts if not isinstance(part, str)]
    attached = list_in_source(_told(message).get("attachments"), "attachments")
    for _ in range(max(len(pictures), len(attached))):  # a picture is named in both
        yield ChatPart.PICTURE


def _holds(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_holds, value))
    return bool(value)
