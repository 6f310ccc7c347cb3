"""Claude's export: `conversations.json` and `memories.json`, alone or in their archive.

Chats are imported with what was said, and without what was thought or looked up. What Claude remembers of the person is
imported line by line. The account names the person.
"""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from keepbook.book.upkeep.importers.incoming import (
    ChatPart,
    Incoming,
    IncomingChat,
    IncomingMemory,
    IncomingTurn,
    LeftOut,
    content_key,
    files_left_out,
    list_in_source,
    parse_source_time,
    parts_left_out,
    text_or_none,
    without_place,
)
from keepbook.book.upkeep.importers.lists import noted_items
from keepbook.book.upkeep.importers.source_file import SourceFile
from keepbook.errors import Invalid

SOURCE = "claude"
FILES = ("conversations.json", "memories.json", "projects.json")
PARTS = {
    "image": ChatPart.PICTURE, "document": ChatPart.PICTURE, "thinking": ChatPart.THOUGHT,
    "redacted_thinking": ChatPart.THOUGHT, "tool_use": ChatPart.TOOL, "tool_result": ChatPart.TOOL,
}  # fmt: skip
"""The parts of a message that nobody said, and how the report calls them."""
SAYS_NOTHING = ("text", "token_budget")
"""Parts that are imported, or that have no text."""


OF_A_ROW = ("uuid", "account", "account_uuid", "created_at", "updated_at")
OF_A_CHAT = (
    *OF_A_ROW, "name", "chat_messages", "settings", "model", "is_starred", "is_temporary", "platform",
    "current_leaf_message_uuid", "project_uuid",
)  # fmt: skip
OF_MEMORIES = (*OF_A_ROW, "conversations_memory", "project_memories")
"""Keys of a chat, and of what is remembered, that have been read, or are of use only in Claude."""


def read(found: SourceFile) -> Incoming | None:
    talks, kept = _talks(found), _memory_rows(found)
    if not talks and not kept:
        return None
    chats, refused = [], []
    for number, one in enumerate(talks, 1):
        where = f"chat {one.get('name') or number}"
        try:
            turns = tuple(turn for message in one["chat_messages"] if (turn := _turn(message)) is not None)
            refused += parts_left_out(where, (part for message in one["chat_messages"] for part in _left_of(message)))
        except Invalid as error:
            refused.append(LeftOut(where, error.message))
            continue
        if turns:
            key = str(one.get("uuid") or content_key(*(turn.text for turn in turns)))
            chats.append(IncomingChat(key=key, who=_account(one), title=text_or_none(one.get("name")), turns=turns))
        else:
            refused.append(LeftOut(where, "nobody said anything in it"))
        refused += without_place(where, one, [], *OF_A_CHAT)
    memories = tuple(noted for one in kept for noted in _of_memory(one))
    for number, one in enumerate(kept, 1):
        refused += without_place(f"memories {number}", one, [], *OF_MEMORIES)
    refused += [*_unread_texts(kept), *_projects(found)]
    read_here = [path for path in found.members if PurePosixPath(path).name in FILES]
    refused += files_left_out(SOURCE, found.names, read_here)
    return Incoming(SOURCE, memories, tuple(chats), tuple(refused))


def _talks(found: SourceFile) -> list[Any]:
    rows = [record for _, record in (found.member("conversations.json") or found).records]
    fits = all(isinstance(row, Mapping) and isinstance(row.get("chat_messages"), list) for row in rows)
    if fits:
        return rows
    return []


def _memory_rows(found: SourceFile) -> list[Any]:
    rows = [record for _, record in (found.member("memories.json") or found).records]
    names = {"conversations_memory", "project_memories"}
    if all(isinstance(row, Mapping) and names & set(row) for row in rows):
        return rows
    return []


def _account(row: Mapping[str, Any]) -> str | None:
    account = row.get("account")
    if isinstance(account, Mapping):
        found = account.get("uuid")
    else:
        found = row.get("account_uuid")
    if found:
        return str(found)
    return None


def _of_memory(row: Mapping[str, Any]) -> Iterator[IncomingMemory]:
    since = parse_source_time(row.get("updated_at") or row.get("created_at"))
    for project, text in _texts_of(row).items():
        for item in noted_items(text if isinstance(text, str) else ""):
            yield IncomingMemory(
                text=item.text, key=content_key(project, item.text), who=_account(row), since=since,
                metadata=item.metadata | ({"project": project} if project else {}),
            )  # fmt: skip


def _texts_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """What Claude remembers from all chats (under an empty name), and from the chats of each project."""
    projects = row.get("project_memories")
    if isinstance(projects, Mapping):
        of_projects = {str(id): text for id, text in projects.items()}
    else:
        of_projects = {}
    return {"": row.get("conversations_memory")} | of_projects


def _unread_texts(rows: list[Any]) -> Iterator[LeftOut]:
    for row in rows:
        for project, text in _texts_of(row).items():
            if text is not None and not isinstance(text, str):
                if project:
                    where = f"project {project}"
                else:
                    where = "conversations_memory"
                yield LeftOut(where, "it holds no text")


def _projects(found: SourceFile) -> Iterator[LeftOut]:
    """The projects, whose instructions and documents are in a file of their own."""
    file = found.member("projects.json")
    for number, (_, one) in enumerate(file.records if file is not None else (), 1):
        name = None
        if isinstance(one, Mapping):
            name = one.get("name")
        yield LeftOut(f"project {name or number}", "its instructions and documents are no memory of the person")


def _turn(message: Any) -> IncomingTurn | None:
    if not isinstance(message, Mapping) or (role := _role(message)) is None:
        return None
    text = _spoken(message)
    if text:
        return IncomingTurn(role, text, parse_source_time(message.get("created_at")))
    return None


def _role(message: Mapping[str, Any]) -> str | None:
    return {"human": "user", "assistant": "assistant"}.get(str(message.get("sender")))


def _parts(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [part for part in list_in_source(message.get("content"), "content") if isinstance(part, Mapping)]


def _spoken(message: Mapping[str, Any]) -> str:
    texts = [str(part.get("text") or "") for part in _parts(message) if part.get("type") == "text"]
    return ("\n".join(texts) or str(message.get("text") or "")).strip()


def _left_of(message: Any) -> Iterator[str]:
    """The parts of a message that are left out."""
    if not isinstance(message, Mapping):
        return
    if _role(message) is None and _spoken(message):
        yield ChatPart.HIDDEN
    for part in _parts(message):
        kind = str(part.get("type"))
        if kind not in SAYS_NOTHING:
            yield PARTS.get(kind, f"parts of the kind {kind}")
    given = [*list_in_source(message.get("attachments"), "attachments"), *list_in_source(message.get("files"), "files")]
    for _ in given:
        yield ChatPart.PICTURE
