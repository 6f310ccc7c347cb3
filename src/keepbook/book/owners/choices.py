"""An owner's choices for their own book: memory on or off, topics never to be remembered, tier, their name."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, delete, insert, select

from keepbook.book.ground import stored_json
from keepbook.book.ground.limits import clean_line
from keepbook.errors import Invalid
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement, read_once
from keepbook.storage.tables.choices import choices

TIERS = ("beginner", "intermediate", "advanced")
MOST_NAME = 80  # characters
MOST_NEVER = 100
"""How many topics never to be remembered there may be; every write is searched for each of them."""


@dataclass(frozen=True, slots=True)
class Choices:
    """An owner's choices, each with its default."""

    memory: bool = True
    never: tuple[str, ...] = ()
    tier: str | None = None
    name: str | None = None
    """What they want to be called, on pages; what an agent knows of it is a memory like any other."""


# Operations


def change_choices(
    tx: Tx,
    *,
    memory: bool | None = None,
    never: Sequence[str] | None = None,
    tier: str | None = None,
    name: str | None = None,
) -> Choices:
    """Change the choices that are given; the rest stays."""
    if memory is not None and not isinstance(memory, bool):
        raise Invalid(f"memory is true or false, not {memory!r}", field="memory")
    if tier is not None and tier not in TIERS:
        raise Invalid(f"tier is one of {', '.join(TIERS)}, not {tier!r}", field="tier")
    given: dict[str, Any] = {"memory": memory, "tier": tier}
    if never is not None:
        given["never"] = clean_never(tx, never)
    if name is not None:
        given["name"] = clean_line(name, "name", 1, MOST_NAME)
    for key, value in given.items():
        if value is not None:
            tx.conn.execute(delete(choices).where(choices.c.owner == tx.owner, choices.c.name == key))
            row = {"owner": tx.owner, "name": key, "value": json.dumps(value, ensure_ascii=False)}
            tx.conn.execute(insert(choices), row)
    tx.switches = None
    return get_choices(tx)


def clean_never(tx: Tx, never: Sequence[str]) -> list[str]:
    topics = list(dict.fromkeys(clean_line(topic, "never", 2, 80) for topic in never))
    if len(topics) > max(MOST_NEVER, len(get_choices(tx).never)):
        raise Invalid(
            f"at most {MOST_NEVER} topics are never remembered, and these are {len(topics)}; take some out, or name "
            "what they have in common",
            field="never",
        )
    return topics


# Queries


def get_choices(tx: Tx) -> Choices:
    return read_once(tx, "choices", lambda: _get_choices(tx))


def _get_choices(tx: Tx) -> Choices:
    known = {name: stored_json.load_json(value) for name, value in _CHOSEN.tuples(tx.conn, {"owner": tx.owner})}
    return Choices(known.get("memory", True), tuple(known.get("never", ())), known.get("tier"), known.get("name"))


_CHOSEN = PreparedStatement(select(choices.c.name, choices.c.value).where(choices.c.owner == bindparam("owner")))
