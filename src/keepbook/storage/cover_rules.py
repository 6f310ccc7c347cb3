"""Which tables and columns the ledger's covers seal, and how changed rows are noticed.

Triggers write every inserted, updated or deleted row into `touched`. Before the transaction commits,
book/ledger/cover.py seals those rows. Memories, versions and links are sealed by ledger entries instead, until a purge
blanks the entry.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from sqlalchemy import Integer, Table

from keepbook.storage.tables.declare import rules_of

SEPARATOR = "\x1f"
"""Stands between the parts of a row's key. No name, id or instant contains it: control characters are refused."""


def key_columns(table: Table) -> list[str]:
    """The columns that tell the rows of one owner apart."""
    return [column.name for column in table.primary_key.columns if column.name != "owner"]


def sealed_columns(table: Table) -> list[str]:
    """The columns that a seal covers, with those that were added later last. The owner is not among them, since a book
    may be imported under another name."""
    younger = rules_of(table).younger
    left_out = {"owner", *rules_of(table).passing, *younger}
    return [*(column.name for column in table.c if column.name not in left_out), *younger]


def sealed_values(table: Table, values: Sequence[Any]) -> Sequence[Any]:
    """The values that go into a row's seal, given those of all sealed columns. Columns that were added later are left
    out if all of them are empty, so that rows from an older file still fit their seals."""
    count = len(rules_of(table).younger)
    if count and not any(values[-count:]):
        return values[:-count]
    return values


def row_key(table: Table, row: Mapping[str, object]) -> str:
    return SEPARATOR.join(str(row[name]) for name in key_columns(table))


def parts_of(table: Table, key: str) -> tuple[object, ...]:
    """The values of the key columns that a row's key was made of, each in its column's type."""
    types = _key_types(table)
    if types:
        texts = key.split(SEPARATOR)
    else:
        texts = []
    if int not in types and len(texts) == len(types):
        return tuple(texts)
    return tuple(kind(text) for kind, text in zip(types, texts, strict=True))


@cache
def _key_types(table: Table) -> list[type]:
    return [int if isinstance(table.c[part].type, Integer) else str for part in key_columns(table)]


def noticing(engine: str, tables: Iterable[Table]) -> str:
    """The SQL of the triggers that note every changed row of these tables in `touched`."""
    if engine == "sqlite":
        write = _sqlite
    else:
        write = _postgresql
    return "\n".join(line for table in tables for line in write(table)) + "\n"


def _key(table: Table, row: str, separator: str, text: str) -> str:
    """SQL for a row's key. `row` is NEW or OLD; `separator` and `text` are the engine's words for the separator and for
    the type of a text."""
    names = key_columns(table)
    if not names:
        return "''"
    parts = [
        f"CAST({row}.{name} AS {text})" if isinstance(table.c[name].type, Integer) else f'{row}."{name}"'
        for name in names
    ]
    return f" || {separator} || ".join(parts)


def _columns(table: Table) -> str:
    return ", ".join(f'"{name}"' for name in ["owner", *sealed_columns(table)])


def _noted_condition(table: Table, row: str) -> str:
    """SQL for the condition under which a row (NEW or OLD) is noted; empty if all are."""
    if "owner" not in table.primary_key.columns:
        return f"{row}.owner IS NOT NULL"
    only = rules_of(table).covered_where
    if only:
        return f"{row}.{only}"
    return ""


def _sqlite(table: Table) -> Iterator[str]:
    if rules_of(table).covered_where:
        changed = "NEW"
    else:
        changed = "OLD"
    for name, when, row, fresh in (
        ("made", "INSERT", "NEW", 1),
        ("changed", f"UPDATE OF {_columns(table)}", changed, 0),
        ("removed", "DELETE", "OLD", 0),
    ):
        key, only = _key(table, row, "char(31)", "TEXT"), _noted_condition(table, row)
        guard = ""
        if only:
            guard = f"WHEN {only} "
        yield f"CREATE TRIGGER {table.name}_{name}_is_noted AFTER {when} ON {table.name} {guard}BEGIN"
        yield (
            f"  INSERT OR IGNORE INTO touched (owner, what, key, fresh) "  # noqa: S608 names of our own tables
            f"VALUES ({row}.owner, '{table.name}', {key}, {fresh});"
        )
        yield "END;"


def _postgresql(table: Table) -> Iterator[str]:
    yield f"CREATE FUNCTION keepbook_note_{table.name}() RETURNS trigger LANGUAGE plpgsql AS $$"
    yield "BEGIN"
    if rules_of(table).covered_where:
        changed = "NEW"
    else:
        changed = "OLD"
    for condition, row, fresh in (
        ("IF TG_OP = 'INSERT' THEN", "NEW", 1),
        ("ELSIF TG_OP = 'UPDATE' THEN", changed, 0),
        ("ELSE", "OLD", 0),
    ):
        key, only = _key(table, row, "chr(31)", "text"), _noted_condition(table, row)
        yield f"  {condition}"
        yield "    INSERT INTO touched (owner, what, key, fresh)"
        yield f"      SELECT {row}.owner, '{table.name}', {key}, {fresh}{' WHERE ' + only if only else ''}"
        yield "      ON CONFLICT DO NOTHING;"
    yield "  END IF;"
    yield "  RETURN NULL;"
    yield "END $$;"
    yield f"CREATE TRIGGER {table.name}_is_noted AFTER INSERT OR DELETE OR UPDATE OF {_columns(table)}"
    yield f"  ON {table.name} FOR EACH ROW EXECUTE FUNCTION keepbook_note_{table.name}();"
