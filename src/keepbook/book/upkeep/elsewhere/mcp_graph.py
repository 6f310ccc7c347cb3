"""The reference memory server of MCP: `memory.jsonl`, entities with observations and relations between them.

An observation is a memory about its entity; a relation is read as the sentence it stands for. The file has no dates,
so what it says holds from the import on.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from keepbook.book.upkeep.elsewhere.found import Found
from keepbook.book.upkeep.elsewhere.incoming import Incoming, LeftOut, Noted, key_of
from keepbook.errors import Invalid

SOURCE = "mcp-memory"


def read(found: Found) -> Incoming | None:
    records = found.records
    if not records or not all(_is_one(record) for _, record in records):
        return None
    memories: list[Noted] = []
    refused = []
    for where, record in records:
        try:
            memories += list(_of_entity(record)) if record["type"] == "entity" else [_of_relation(record)]
        except Invalid as error:
            refused.append(LeftOut(where, error.message))
    return Incoming(SOURCE, tuple(memories), refused=tuple(refused))


def _is_one(record: Any) -> bool:
    if not isinstance(record, Mapping):
        return False
    if record.get("type") == "entity":
        return "observations" in record and "entityType" in record
    return record.get("type") == "relation" and "relationType" in record


def _of_entity(record: Mapping[str, Any]) -> Iterator[Noted]:
    name, kind, said = record.get("name"), record["entityType"], record["observations"]
    if not isinstance(name, str) or not isinstance(said, list):
        raise Invalid("an entity has a name and a list of observations")
    for text in said:
        if not isinstance(text, str):
            raise Invalid("an observation is a text")
        yield Noted(text=text, key=key_of(name, text), subject=_about(name), category=str(kind), tags=(str(kind),))


def _of_relation(record: Mapping[str, Any]) -> Noted:
    ends = [record.get("from"), record["relationType"], record.get("to")]
    if not all(isinstance(word, str) and word.strip() for word in ends):
        raise Invalid("a relation goes from one name to another")
    one, how, other = map(str, ends)
    text = f"{_about(one) or 'User'} {how.replace('_', ' ')} {_about(other) or 'the user'}"
    return Noted(text=text, key=key_of(*ends), subject=_about(one), tags=("relation",))


def _about(name: str) -> str | None:
    """Whom a memory is about; none for the person of the book, whom that server's prompt calls so."""
    return None if name.lower() in ("default_user", "user") else name
