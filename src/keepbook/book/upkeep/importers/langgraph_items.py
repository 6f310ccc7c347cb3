"""LangGraph and LangMem: items of a store as `Item.dict()` writes them, one list or one a line.

The namespace tells the person: it is what is left without words that name a kind (`memories`, `profile`). LangMem wraps
each item in its kind and content; a profile becomes one memory for each of its fields.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from keepbook.book.upkeep.importers.incoming import (
    Incoming,
    IncomingMemory,
    LeftOut,
    content_key,
    parse_source_time,
    parse_texts,
    plain_values,
)
from keepbook.book.upkeep.importers.source_file import SourceFile
from keepbook.errors import Invalid

SOURCE = "langgraph"
NEEDED = {"namespace", "key", "value"}
KINDS = {
    "memories", "memory", "profile", "profiles", "user_profile", "facts", "semantic", "episodic", "procedural",
    "episodes", "store", "users", "user", "preferences", "notes", "triples",
}  # fmt: skip
PLAIN = {"memories", "memory", "store", "users", "user"}
"""Kinds whose name says nothing about their items."""
TRIPLE = ("subject", "predicate", "object")
"""The keys of a fact, as LangMem stores it by default."""
TEXT = ("content", "memory", "text", "fact", "data")


def read(found: SourceFile) -> Incoming | None:
    records = found.records
    if not records or not all(isinstance(item, Mapping) and set(item) >= NEEDED for _, item in records):
        return None
    memories: list[IncomingMemory] = []
    refused = []
    for where, item in records:
        try:
            memories += list(_of_item(item))
        except Invalid as error:
            refused.append(LeftOut(where, error.message))
    return Incoming(SOURCE, tuple(memories), refused=tuple(refused))


def _of_item(item: Mapping[str, Any]) -> Iterator[IncomingMemory]:
    space = item["namespace"]
    names = [str(name) for name in (space if isinstance(space, list | tuple) else str(space).split("."))]
    kinds = [name for name in names if name.lower() in KINDS - PLAIN]
    who = "/".join(name for name in names if name.lower() not in KINDS) or None
    since = parse_source_time(item.get("updated_at") or item.get("created_at"))
    value = item["value"]
    said, rest = _texts_of(value)
    if not said:
        raise Invalid("its value holds no text")
    for name, text in said.items():
        key = f"{'/'.join(names)}/{item['key']}" + (f"/{name}" if name else "")
        yield IncomingMemory(
            text=text,
            key=content_key(key),
            who=who,
            since=since,
            subject=name or None,
            category=str(rest["category"]) if rest.get("category") else None,
            tags=(*kinds, *parse_texts(rest.get("tags"))),
            metadata=plain_values(rest, "category", "tags", "kind", *TEXT),
        )


def _texts_of(value: Any) -> tuple[dict[str, str], Mapping[str, Any]]:
    """The texts of a value, by the field of a profile they stand in; and what else it holds."""
    if isinstance(value, str):
        return {"": value}, {}
    if not isinstance(value, Mapping):
        return {}, {}
    triple = [value.get(name) for name in TRIPLE]
    if all(isinstance(part, str) for part in triple):
        return {"": " ".join(map(str, triple))}, {name: one for name, one in value.items() if name not in TRIPLE}
    inner = value.get("content")
    if isinstance(inner, Mapping):  # LangMem: kind and content
        found, rest = _texts_of(inner)
        return found, {**rest, **{name: one for name, one in value.items() if name != "content"}}
    text = next((value[name] for name in TEXT if isinstance(value.get(name), str)), None)
    if text is not None:
        return {"": text}, value
    fields = {name: one for name, one in plain_values(value, "kind").items() if name}
    return {name: f"{name.replace('_', ' ')}: {one}" for name, one in fields.items()}, {}
