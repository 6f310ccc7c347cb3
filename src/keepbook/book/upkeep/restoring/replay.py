"""Repeats every write of an export, in order, through the guards that every write passes: in short steps, for one
transaction or for many.

Erased memories are written as the blanks that they left. Mends come first, since they tell where the chain has gaps.
"""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, partial
from typing import Any

from sqlalchemy import Table, insert, select, update

from keepbook.book.ledger.verify import LINK_FIELDS
from keepbook.book.memory.memories import STATE_FIELDS
from keepbook.book.text.words import fold_text
from keepbook.book.upkeep.export_lines import misfits
from keepbook.storage.database import Tx
from keepbook.storage.extension_rows import Step, extension_steps, put_steps
from keepbook.storage.prepared_statement import PreparedStatement, set_columns
from keepbook.storage.tables.cover import covers, mends, seals
from keepbook.storage.tables.ledger import ledger, owners
from keepbook.storage.tables.memory import block_rules, erasures, injected, injections, links, memories, versions
from keepbook.storage.tables.upkeep import loads


def replay_steps(tx: Tx, found: Mapping[str, list[Any]]) -> Iterator[Step]:
    """The steps that repeat a file, whose rows are `found` by kind. `tx` tells which tables there are."""
    yield partial(_put_owner, rows=found["owner"])
    yield from put_steps(_put, mends, found["mend"])
    for is_cover, some in itertools.groupby(_links(found), key=lambda row: "seq" not in row):
        yield from put_steps(_put, covers if is_cover else ledger, list(some))
    yield from put_steps(_put, seals, sorted(found["seal"], key=lambda row: row["nth"]))
    yield from put_steps(_put, erasures, found["erasure"])
    erased = {row["memory_id"] for row in found["erasure"]}
    yield from put_steps(_put, memories, [row for row in found["memory"] if row["id"] in erased])
    yield from put_steps(_put, versions, [row for row in found["version"] if row["memory_id"] in erased])
    yield from _entry_steps(found, erased)
    yield from put_steps(_put, block_rules, found["block_rules"])
    yield from put_steps(_put, injections, found["injection"])
    by_memory = sorted(found["injected"], key=lambda row: (row["memory_id"], row["nth"]))
    yield from put_steps(_put, injected, by_memory)
    for kind in ("thread", "message", "note", "proposal", "choice", "meter", "due"):
        yield from put_steps(_put, tx.tables.exported[kind], found[kind])
    yield from extension_steps(tx, found, _put)
    yield from put_steps(_put, loads, found["load"])


@cache
def _putting(table: Table) -> PreparedStatement:
    return PreparedStatement(insert(table), table.c.keys())


def _put(tx: Tx, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    _putting(table).run_many(tx.conn, [{"owner": tx.owner, **row} for row in rows])


def _put_owner(tx: Tx, rows: Sequence[Mapping[str, Any]]) -> None:
    known = tx.conn.execute(select(owners.c.owner).where(owners.c.owner == tx.owner)).first()
    if known is None:
        _put(tx, owners, rows)
    elif rows:
        tx.conn.execute(update(owners).where(owners.c.owner == tx.owner).values(rows[0]))


def _links(found: Mapping[str, list[Any]]) -> list[Any]:
    return sorted([*found["entry"], *found["cover"]], key=lambda row: row["link"])


def _entry_steps(found: Mapping[str, list[Any]], erased: AbstractSet[str]) -> Iterator[Step]:
    """Repeat what each entry did."""
    made = {row["event"]: row for row in found["version"]}
    for entry in found["entry"]:
        if entry["memory_id"] is None:  # of the owner's settings, which `verify` compares, or of a mend
            continue
        if entry["salt"] is not None and (entry["link_id"] or entry["memory_id"] not in erased):
            yield partial(_replay_entry, entry=entry, version=made.get(entry["seq"]))


def _replay_entry(tx: Tx, entry: Mapping[str, Any], version: Mapping[str, Any] | None) -> None:
    after = json.loads(entry["after"])
    table, known = (links, LINK_FIELDS) if entry["link_id"] else (memories, STATE_FIELDS)
    # What else stands there would be written as it says: an owner, for one.
    if after.keys() != set(known) or misfits(table, after):
        raise ValueError(f"entry {entry['seq']} records what it may not")
    columns = after | {"event": entry["seq"]}
    if table is memories:
        columns |= {
            "id": entry["memory_id"],
            "updated_at": entry["at"],
            "subject_key": after["subject"] and fold_text(after["subject"]),
        }
    if entry["before"] is None:
        _putting(table).run(tx.conn, {"owner": tx.owner, **columns})
    if version is not None:
        _putting(versions).run(tx.conn, {"owner": tx.owner, **version, "retired_at": None})
    if entry["before"] is not None:
        set_columns(tx.conn, table, {"owner": tx.owner, "id": columns["id"]}, columns)
