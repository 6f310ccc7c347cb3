"""LangGraph and LangMem: items of a store as `Item.dict()` writes them, one list or one a line.

The namespace says whose an item is: what is left of it without the words that name a kind (`memories`, `profile`) is
the person. LangMem wraps what it keeps in kind and content; a profile becomes one memory for each of its fields.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from keepbook.book.upkeep.elsewhere.found import Found
from keepbook.book.upkeep.elsewhere.incoming import Incoming, LeftOut, Noted, key_of, moment, plain_values, texts
from keepbook.errors import Invalid

SOURCE = "langgraph"
NEEDED = {"namespace", "key", "value"}
KINDS = {
    "memories", "memory", "profile", "profiles", "user_profile", "facts", "semantic", "episodic", "procedural",
    "episodes", "store", "users", "user", "preferences", "notes",
}  # fmt: skip
PLAIN = {"memories", "memory", "store", "users", "user"}
"""Kinds that say nothing of what is kept in them."""
TEXT = ("content", "memory", "text", "fact", "data")


def read(found: Found) -> Incoming | None:
    records = found.records
    if not records or not all(isinstance(item, Mapping) and set(item) >= NEEDED for _, item in records):
        return None
    memories: list[Noted] = []
    refused = []
    for where, item in records:
        try:
            memories += list(_of_item(item))
        except Invalid as error:
            refused.append(LeftOut(where, error.message))
    return Incoming(SOURCE, tuple(memories), refused=tuple(refused))


def _of_item(item: Mapping[str, Any]) -> Iterator[Noted]:
    space = item["namespace"]
    names = [str(name) for name in (space if isinstance(space, list | tuple) else str(space).split("."))]
    kinds = [name for name in names if name.lower() in KINDS - PLAIN]
    who = "/".join(name for name in names if name.lower() not in KINDS) or None
    since = moment(item.get("updated_at") or item.get("created_at"))
    value = item["value"]
    said, rest = _said(value)
    if not said:
        raise Invalid("its value holds no text")
    for name, text in said.items():
        key = f"{'/'.join(names)}/{item['key']}" + (f"/{name}" if name else "")
        yield Noted(
            text=text, key=key_of(key), who=who, since=since, subject=name or None,
            category=str(rest["category"]) if rest.get("category") else None,
            tags=(*kinds, *texts(rest.get("tags"))), metadata=plain_values(rest, "category", "tags", "kind", *TEXT),
        )  # fmt: skip


def _said(value: Any) -> tuple[dict[str, str], Mapping[str, Any]]:
    """The texts of a value, by the field of a profile they stand in; and what else it holds."""
    if isinstance(value, str):
        return {"": value}, {}
    if not isinstance(value, Mapping):
        return {}, {}
    inner = value.get("content")
    if isinstance(inner, Mapping):  # LangMem: kind and content
        found, rest = _said(inner)
        return found, {**rest, **{name: one for name, one in value.items() if name != "content"}}
    text = next((value[name] for name in TEXT if isinstance(value.get(name), str)), None)
    if text is not None:
        return {"": text}, value
    fields = {name: one for name, one in plain_values(value, "kind").items() if name}
    return {name: f"{name.replace('_', ' ')}: {one}" for name, one in fields.items()}, {}
