"""The reference memory server of MCP: `memory.jsonl`, entities with observations and relations between them.

An observation is a memory about its entity; a relation is read as the sentence it stands for. The file has no dates,
so what it says holds from the import on.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from keepbook.book.upkeep.importers.incoming import Incoming, IncomingMemory, LeftOut, content_key, without_place
from keepbook.book.upkeep.importers.source_file import SourceFile
from keepbook.errors import Invalid

SOURCE = "mcp-memory"


def read(found: SourceFile) -> Incoming | None:
    records = found.records
    if not records or not all(_is_one(record) for _, record in records):
        return None
    memories: list[IncomingMemory] = []
    refused = []
    for where, record in records:
        try:
            if record["type"] == "entity":
                made = list(_of_entity(record))
            else:
                made = [_of_relation(record)]
        except Invalid as error:
            refused.append(LeftOut(where, error.message))
            continue
        memories += made
        if made:
            refused += without_place(where, record, made, "type", "name", "from", "to", "relationType")
        else:
            refused.append(LeftOut(where, "nothing was observed of it"))
    return Incoming(SOURCE, tuple(memories), refused=tuple(refused))


def _is_one(record: Any) -> bool:
    if not isinstance(record, Mapping):
        return False
    if record.get("type") == "entity":
        return "observations" in record and "entityType" in record
    return record.get("type") == "relation" and "relationType" in record


def _of_entity(record: Mapping[str, Any]) -> Iterator[IncomingMemory]:
    name, kind, said = record.get("name"), record["entityType"], record["observations"]
    if not isinstance(name, str) or not isinstance(said, list):
        raise Invalid("an entity has a name and a list of observations")
    for text in said:
        if not isinstance(text, str):
            raise Invalid("an observation is a text")
        yield IncomingMemory(
            text=text, key=content_key(name, text), subject=_about(name), category=str(kind), tags=(str(kind),)
        )


def _of_relation(record: Mapping[str, Any]) -> IncomingMemory:
    ends = [record.get("from"), record["relationType"], record.get("to")]
    if not all(isinstance(word, str) and word.strip() for word in ends):
        raise Invalid("a relation goes from one name to another")
    one, how, other = map(str, ends)
    text = f"{_about(one) or 'User'} {how.replace('_', ' ')} {_about(other) or 'the user'}"
    return IncomingMemory(text=text, key=content_key(*ends), subject=_about(one), tags=("relation",))


def _about(name: str) -> str | None:
    """The subject of a memory; None for the person of the book, for whom that server's prompt has a fixed name."""
    if name.lower() in ("default_user", "user"):
        return None
    return name
