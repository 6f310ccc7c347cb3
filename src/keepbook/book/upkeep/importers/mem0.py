"""mem0: the answer of `get_all` (library and platform), its history database, and what Qdrant or Chroma hold for it.

Records name their user; dates are the source's own. The history database knows every wording a memory ever had and no
user, so what it holds goes to whoever asks. Vectors and hashes are left behind.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from keepbook.book.ground.foreign_sqlite import columns_of, open_foreign_sqlite
from keepbook.book.upkeep.importers.incoming import (
    AGENT,
    Incoming,
    IncomingMemory,
    LeftOut,
    Wording,
    content_key,
    names_left_out,
    parse_source_time,
    parse_texts,
    plain_values,
    without_place,
)
from keepbook.book.upkeep.importers.source_file import LISTS, SourceFile
from keepbook.errors import Invalid

SOURCE = "mem0"
HISTORY = {"memory_id", "old_memory", "new_memory", "event", "created_at"}
SIGNS = {"user_id", "agent_id", "run_id", "app_id", "actor_id", "hash"}
"""Keys that only records of mem0 have, beside the text."""
OF_MEM0 = ("hash", "role", "score", "text_lemmatized")
"""Keys whose values are of use only in mem0."""
OF_ANSWERS = (
    "count", "next", "previous", "page", "result", "status", "time", "points", "next_page_offset",
    "ids", "documents", "metadatas", "embeddings", "included", "uris",
)  # fmt: skip
"""Keys of an answer as a whole that have been read, or tell only which part of all it is."""
TIMES = ("created_at", "updated_at", "expiration_date")
OWN = ("id", "memory", "data", "categories", "user_id", "metadata", *OF_MEM0, *TIMES)
"""Keys whose values have a field of their own here, or none."""


def read(found: SourceFile) -> Incoming | None:
    if found.is_database:
        return _history(found)
    records = _of_qdrant(found.value) or _of_chroma(found.value) or _of_answer(found)
    if not records:
        return None
    memories, refused = [], []
    for where, record in records:
        try:
            memory = _to_memory(where, record)
        except Invalid as error:
            refused.append(LeftOut(where, error.message, who=_owner_of(record)))
            continue
        memories.append(memory)
        refused += without_place(where, record, [memory], *OF_MEM0, *TIMES)
    refused += names_left_out(found.value, *LISTS, *OF_ANSWERS)
    return Incoming(SOURCE, tuple(memories), refused=tuple(refused))


def _owner_of(record: Any) -> str | None:
    """The person it is about. If a record names only an agent, that name is returned, and the importer has to say whose
    it is."""
    if not isinstance(record, Mapping):
        return None
    if record.get("user_id"):
        return str(record["user_id"])
    if record.get("agent_id"):
        return f"{AGENT}{record['agent_id']}"
    return None


def _of_answer(found: SourceFile) -> list[tuple[str, Any]]:
    records = found.records
    signs = [record for _, record in records if isinstance(record, Mapping) and "memory" in record]
    if 2 * len(signs) > len(records) and any(SIGNS & set(record) for record in signs):
        return records  # one that holds no text is left out, and said; it makes no plain list of the others
    return []


def _of_qdrant(value: Any) -> list[tuple[str, Any]]:
    """Points of a scroll, over the library or over REST."""
    if isinstance(value, Mapping) and isinstance(value.get("result"), Mapping):
        value = value["result"]
    if isinstance(value, Mapping):
        points = value.get("points")
    else:
        points = value
    if not isinstance(points, list) or not points or not all(isinstance(point, Mapping) for point in points):
        return []
    if not all(isinstance(point.get("payload"), Mapping) and "data" in point["payload"] for point in points):
        return []
    return [(f"point {point.get('id')}", {"id": point.get("id"), **point["payload"]}) for point in points]


def _of_chroma(value: Any) -> list[tuple[str, Any]]:
    """A collection as `get()` answers it: columns of ids and metadata."""
    if not isinstance(value, Mapping) or not isinstance(value.get("ids"), list):
        return []
    held = value.get("metadatas")
    if (
        not isinstance(held, list)
        or len(held) != len(value["ids"])
        or not all(isinstance(one, Mapping) for one in held)
    ):
        return []
    if not all("data" in one for one in held):
        return []
    return [(f"id {id}", {"id": id, **one}) for id, one in zip(value["ids"], held, strict=True)]


def _to_memory(where: str, record: Any) -> IncomingMemory:
    if not isinstance(record, Mapping):
        raise Invalid("it is no record of mem0")
    text = record.get("memory") or record.get("data")
    if not isinstance(text, str):
        raise Invalid("it holds no text")
    told = {name: value for name, value in record.items() if name not in OWN}  # a store keeps them side by side
    if isinstance(record.get("metadata"), Mapping):
        told |= record["metadata"]
    categories, named = parse_texts(record.get("categories")), parse_texts(told.get("category"))
    return IncomingMemory(
        text=text,
        where=where,
        key=str(record.get("id") or content_key(where, text)),
        who=_owner_of(record),
        since=parse_source_time(record.get("created_at")),
        until=parse_source_time(record.get("expiration_date")),
        category=next(iter((*named, *categories)), None),
        tags=categories or named,
        metadata=plain_values(told, "category"),
    )


# The history database


def _history(found: SourceFile) -> Incoming | None:
    if found.path is None:
        raise Invalid("a database comes in from the command line; give its path to keepbook import", field="file")
    with open_foreign_sqlite(found.path, "a history of mem0") as file:
        if not columns_of(file, "history") >= HISTORY:
            return None
        rows = [dict(row) for row in file.execute("SELECT * FROM history ORDER BY memory_id, rowid")]
    memories, refused = [], []
    for id, steps in _by_memory(rows):
        try:
            memories.append(_memory_with_history(id, steps))
        except Invalid as error:
            refused.append(LeftOut(id, error.message))
    return Incoming(SOURCE, tuple(memories), refused=tuple(refused))


def _by_memory(rows: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(str(row["memory_id"]), []).append(row)
    return iter(found.items())


def _memory_with_history(id: str, steps: list[dict[str, Any]]) -> IncomingMemory:
    """A memory with its earlier wordings."""
    if steps[-1]["event"] == "DELETE" or steps[-1].get("is_deleted"):
        raise Invalid("it was deleted there")
    said: list[Wording] = []
    for step in steps:
        text = step["new_memory"]
        if step["event"] in ("ADD", "UPDATE") and isinstance(text, str) and not (said and said[-1].text == text):
            said.append(Wording(text, parse_source_time(step.get("updated_at") or step["created_at"])))
    if not said:
        raise Invalid("its history holds no text")
    return IncomingMemory(text=said[-1].text, key=id, since=said[-1].since, earlier=tuple(said[:-1]))
