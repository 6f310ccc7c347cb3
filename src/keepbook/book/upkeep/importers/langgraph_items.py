"""LangGraph and LangMem: items of a store as `Item.dict()` writes them, one list or one a line.

The namespace tells the person: it is what is left without words that name a kind (`memories`, `profile`). LangMem wraps
each item in its kind and content; a profile becomes one memory for each of its fields.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from keepbook.book.upkeep.importers.incoming import (
    Incoming,
    IncomingMemory,
    LeftOut,
    content_key,
    parse_source_time,
    parse_texts,
    plain_values,
    without_place,
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
OF_THE_STORE = ("namespace", "key", "created_at", "updated_at", "score", "value.kind")
"""Keys of an item that have been read, or are of use only in the store."""
TEXT = ("content", "memory", "text", "fact", "data")


def read(found: SourceFile) -> Incoming | None:
    records = found.records
    if not records or not all(isinstance(item, Mapping) and set(item) >= NEEDED for _, item in records):
        return None
    memories: list[IncomingMemory] = []
    refused = []
    for where, item in records:
        try:
            made = list(_of_item(item))
        except Invalid as error:
            refused.append(LeftOut(where, error.message))
            continue
        memories += made
        refused += without_place(where, item, made, *OF_THE_STORE)
    return Incoming(SOURCE, tuple(memories), refused=tuple(refused))


def _of_item(item: Mapping[str, Any]) -> Iterator[IncomingMemory]:
    space = item["namespace"]
    names = [str(name) for name in (space if isinstance(space, list | tuple) else str(space).split("."))]
    kinds = [name for name in names if name.lower() in KINDS - PLAIN]
    who = "/".join(name for name in names if name.lower() not in KINDS) or None
    since = parse_source_time(item.get("updated_at") or item.get("created_at"))
    texts = list(_texts_in(item["value"]))
    if not texts:
        raise Invalid("its value holds no text")
    for said in texts:
        key = "/".join([*names, str(item["key"]), *filter(None, [said.name])])
        category = said.rest.get("category")
        yield IncomingMemory(
            text=said.text,
            key=content_key(key),
            who=who,
            since=since,
            subject=said.subject,
            category=str(category) if category else None,
            tags=(*kinds, *parse_texts(said.rest.get("tags"))),
            metadata=plain_values(said.rest, "category", "tags", "kind"),
        )


class _Said(NamedTuple):
    """A text of a value: which of several it is, its words, whom or what it is about, and what stood beside it."""

    name: str
    text: str
    subject: str | None
    rest: Mapping[str, Any]


def _texts_in(value: Any) -> Iterator[_Said]:
    beside: dict[str, Any] = {}
    while isinstance(value, Mapping) and isinstance(value.get("content"), Mapping | list):  # LangMem: kind and content
        beside |= {name: one for name, one in value.items() if name != "content"}
        value = value["content"]
    if not isinstance(value, list):
        return _of_value(value, beside)
    several = ((str(number), one) for number, one in enumerate(value, 1))
    return (said._replace(name=f"{name}/{said.name}") for name, one in several for said in _of_value(one, beside))


def _of_value(value: Any, beside: Mapping[str, Any]) -> Iterator[_Said]:
    if isinstance(value, str):
        yield _Said("", value, None, beside)
    if not isinstance(value, Mapping):
        return
    triple = [value.get(name) for name in TRIPLE]
    text = next((name for name in TEXT if isinstance(value.get(name), str)), None)
    if all(isinstance(part, str) for part in triple):
        yield _Said("", " ".join(map(str, triple)), None, {**beside, **_without(value, *TRIPLE)})
    elif text is not None:
        yield _Said("", value[text], None, {**beside, **_without(value, text)})
    else:
        for name, one in plain_values(value, "kind").items():
            yield _Said(name, f"{name.replace('_', ' ').replace('.', ' ')}: {one}", name, beside)


def _without(value: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: one for name, one in value.items() if name not in names}
