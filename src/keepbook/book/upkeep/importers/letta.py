"""Letta's agent files: what the memory blocks say of the person, the archive, and the chat with its own times.

Both shapes are read: one agent whose blocks and messages lie in it, and the newer one of several agents with blocks
beside them. What a block says of the agent itself (its persona) is not about the person and stays out.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from keepbook.book.upkeep.importers.incoming import (
    ChatPart,
    Incoming,
    IncomingChat,
    IncomingMemory,
    IncomingTurn,
    LeftOut,
    content_key,
    names_left_out,
    parse_source_time,
    parse_texts,
    parts_left_out,
    plain_values,
    without_place,
)
from keepbook.book.upkeep.importers.lists import noted_items
from keepbook.book.upkeep.importers.source_file import SourceFile

SOURCE = "letta"
OF_AN_AGENT = (
    "id", "name", "block_ids", "core_memory", "messages", "archival_memory", "passages", "in_context_message_ids",
)  # fmt: skip
OF_A_BLOCK = (
    "id", "label", "limit", "description", "created_at", "updated_at", "is_template", "template_name", "name",
    "organization_id", "created_by_id", "last_updated_by_id", "preserve_on_migration", "read_only", "hidden",
)  # fmt: skip
OF_A_PASSAGE = (
    "id", "created_at", "updated_at", "is_deleted", "embedding", "embedding_config", "organization_id", "agent_id",
    "archive_id", "source_id", "file_id", "created_by_id", "last_updated_by_id",
)  # fmt: skip
"""Keys that have been read, or are of use only in Letta."""
OF_THE_AGENT = "it describes the agent, not the person"


def read(found: SourceFile) -> Incoming | None:
    value = found.value
    if not isinstance(value, Mapping):
        return None
    if isinstance(value.get("core_memory"), list) and isinstance(value.get("messages"), list):
        return _incoming([(value, value["core_memory"])])
    if not (isinstance(value.get("agents"), list) and isinstance(value.get("blocks"), list)):
        return None
    blocks = {str(block.get("id")): block for block in value["blocks"] if isinstance(block, Mapping)}
    agents = [agent for agent in value["agents"] if isinstance(agent, Mapping)]
    held = [[blocks.pop(id) for id in map(str, agent.get("block_ids") or ()) if id in blocks] for agent in agents]
    nobodys: tuple[Mapping[str, Any], list[Any]] = ({}, list(blocks.values()))
    incoming = _incoming([*zip(agents, held, strict=True), nobodys])
    beside = names_left_out(value, "agents", "blocks")
    return replace(incoming, refused=(*incoming.refused, *beside))


def _incoming(agents: list[tuple[Mapping[str, Any], list[Any]]]) -> Incoming:
    memories: dict[str, IncomingMemory] = {}
    chats, refused = [], dict[str, LeftOut]()
    left: list[LeftOut] = []
    for agent, blocks in agents:
        for block in blocks:
            label = str(block.get("label") or "block")
            if "persona" in label.lower():
                refused[label] = LeftOut(f"block {label}", OF_THE_AGENT)
                continue
            lines = list(_of_block(block, label))
            memories |= {one.key: one for one in lines}
            known = [*OF_A_BLOCK, "value"] if lines else OF_A_BLOCK
            left += without_place(f"block {label}", block, lines, *known)
        for number, passage in enumerate(_passages(agent), 1):
            where = f"passage {passage.get('id') or number}"
            if _says(passage):
                kept = _of_archive(passage)
                memories[kept.key] = kept
                left += without_place(where, passage, [kept], *OF_A_PASSAGE)
            else:
                left.append(LeftOut(where, "it holds no text"))
        left += _settings_left_out(agent)
        if (talk := _talk(agent)) is not None:
            chats.append(talk)
        said = (part for message in agent.get("messages") or () for part in _left_of(message))
        left += parts_left_out(f"chat {_name_of(agent)}", said)
    return Incoming(SOURCE, tuple(memories.values()), tuple(chats), (*refused.values(), *left))


def _of_block(block: Mapping[str, Any], label: str) -> Iterator[IncomingMemory]:
    value, id = block.get("value"), str(block.get("id") or label)
    since = parse_source_time(block.get("updated_at") or block.get("created_at"))
    for item in noted_items(value if isinstance(value, str) else ""):
        yield IncomingMemory(
            text=item.text, key=f"{id}/{content_key(item.text)}", since=since, tags=(label,), metadata=item.metadata
        )


def _passages(agent: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    held = agent.get("archival_memory") or agent.get("passages") or ()
    return [passage for passage in held if isinstance(passage, Mapping)]


def _says(passage: Mapping[str, Any]) -> bool:
    return isinstance(passage.get("text"), str) and bool(passage["text"].strip())


def _of_archive(passage: Mapping[str, Any]) -> IncomingMemory:
    text = passage["text"]
    return IncomingMemory(
        text=text,
        key=str(passage.get("id") or content_key(text)),
        since=parse_source_time(passage.get("created_at")),
        tags=("archive", *parse_texts(passage.get("tags"))),
        metadata=plain_values(passage.get("metadata") or passage.get("metadata_")),
    )


def _name_of(agent: Mapping[str, Any]) -> str:
    return str(agent.get("name") or "agent")


def _settings_left_out(agent: Mapping[str, Any]) -> Iterator[LeftOut]:
    beside = [name for name, value in agent.items() if value and name not in OF_AN_AGENT]
    if beside:
        yield LeftOut(f"agent {_name_of(agent)}", f"{', '.join(beside)}: {OF_THE_AGENT}")


def _talk(agent: Mapping[str, Any]) -> IncomingChat | None:
    turns = []
    for message in agent.get("messages") or ():
        turn = _turn(message)
        if turn is not None:
            turns.append(turn)
    name = _name_of(agent)
    key = str(agent.get("id") or content_key(name, [turn.text for turn in turns[:1]]))
    if turns:
        return IncomingChat(key=key, title=name, turns=tuple(turns))
    return None


def _turn(message: Any) -> IncomingTurn | None:
    if not isinstance(message, Mapping) or message.get("role") not in ("user", "assistant"):
        return None
    text = _message_text(message)
    at = parse_source_time(message.get("created_at"))
    if message["role"] == "user":
        wrapped = _object(text)
        if _is_from_program(wrapped):
            return None
        text = str(wrapped.get("message", text))
        if text.strip():
            return IncomingTurn("user", text, at)
        return None
    answers = _answers(message)
    if message.get("tool_calls") and not answers:
        return None
    text = "\n".join(answers) or text  # beside a call stands what it thought, which it did not say
    if text.strip():
        return IncomingTurn("assistant", text, at)
    return None


def _is_from_program(wrapped: Mapping[str, Any]) -> bool:
    """Whether the program itself made a message, such as a heartbeat or a login."""
    return str(wrapped.get("type", "user_message")) != "user_message"


def _answers(message: Mapping[str, Any]) -> list[str]:
    """The texts that an agent sent by calling its tool for messages."""
    calls = message.get("tool_calls") or ()
    spoken = [_object(_send_message_call(call).get("arguments")).get("message") for call in calls]
    return [one for one in spoken if isinstance(one, str)]


def _left_of(message: Any) -> Iterator[ChatPart]:
    """The parts of a message that are left out."""
    if not isinstance(message, Mapping):
        return
    text, calls = _message_text(message), message.get("tool_calls") or ()
    if message.get("role") == "tool":
        yield ChatPart.TOOL
        return
    if message.get("role") not in ("user", "assistant") or _is_from_program(_object(text)):
        yield ChatPart.HIDDEN
        return
    if calls and text.strip():
        yield ChatPart.THOUGHT
    for call in calls:
        if not _send_message_call(call):
            yield ChatPart.TOOL
    content = message.get("content")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, Mapping) and part.get("type") not in ("text", None):
            yield ChatPart.PICTURE if part["type"] in ("image", "file") else ChatPart.THOUGHT


def _send_message_call(call: Any) -> Mapping[str, Any]:
    made = None
    if isinstance(call, Mapping):
        made = call.get("function")
    if isinstance(made, Mapping) and made.get("name") == "send_message":
        return made
    return {}


def _message_text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if content is None:
        content = message.get("text")
    if isinstance(content, str):
        return content
    parts = [part.get("text") for part in content or () if isinstance(part, Mapping) and part.get("type") == "text"]
    return "\n".join(part for part in parts if isinstance(part, str))


def _object(text: Any) -> Mapping[str, Any]:
    try:
        if isinstance(text, str) and text.lstrip().startswith("{"):
            value = json.loads(text)
        else:
            value = {}
    except (ValueError, RecursionError):
        return {}
    if isinstance(value, Mapping):
        return value
    return {}
