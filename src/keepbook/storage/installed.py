"""What is installed in a database: the record of extensions and their tables, and how another one is installed.

The table `extensions` records for each extension which tables it has and what is done with their rows. If its code is
installed, its own declarations are used. If the code is gone, its tables are rebuilt from the record, so that exports,
imports, erasures and `verify` reach every row. The guards of a table are in the database itself.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, fields
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Column, Connection, Integer, MetaData, PrimaryKeyConstraint, Table, Text, select
from sqlalchemy.types import TypeEngine

from keepbook.errors import Conflict
from keepbook.extension import Extension, loaded_extensions, shipped
from keepbook.storage.prepared_statement import driver_of
from keepbook.storage.tables import TableSet, tables_of
from keepbook.storage.tables.declare import Number, RowRules, Word, rules_of

_TYPES: dict[str, TypeEngine[Any]] = {"text": Word, "integer": Integer(), "number": Number}
RECORD = "SELECT name, version, tables FROM extensions ORDER BY nth"


class InstalledExtension(NamedTuple):
    """A row of the record."""

    name: str
    version: int
    tables: str


Record = tuple[InstalledExtension, ...]
"""All rows of the record, in the order of installation."""


# Rules


def describe_tables(tables: Iterable[Table]) -> str:
    """How the record describes tables: columns with their types, the key, and the rules that differ from the
    defaults."""
    described = [
        {
            "name": table.name,
            "columns": {column.name: _type_name(column) for column in table.c},
            "key": [column.name for column in table.primary_key.columns],
            "rules": _unusual_rules(rules_of(table)),
        }
        for table in tables
    ]
    return json.dumps(described, ensure_ascii=True, separators=(",", ":"))


def _type_name(column: Column[Any]) -> str:
    if isinstance(column.type, Integer):
        return "integer"
    if isinstance(column.type, Text):
        return "text"
    return "number"


def _unusual_rules(rules: RowRules) -> dict[str, Any]:
    usual = {one.name: one.default for one in fields(RowRules) if one.default is not MISSING}
    return {name: getattr(rules, name) for name in usual if getattr(rules, name) != usual[name]}


def rebuild_tables(described: str) -> tuple[Table, ...]:
    """The tables of an extension whose code is gone, as far as the record tells."""
    metadata = MetaData()
    return tuple(_rebuild(metadata, one) for one in json.loads(described))


def _rebuild(metadata: MetaData, described: dict[str, Any]) -> Table:
    columns = [Column(name, _TYPES[kind]) for name, kind in described["columns"].items()]
    table = Table(described["name"], metadata, *columns, PrimaryKeyConstraint(*described["key"]))
    rules: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in described["rules"].items()
    }
    table.info["rules"] = RowRules(**rules)
    return table


def missing_code(record: Sequence[InstalledExtension]) -> list[str]:
    """The names of extensions that are installed and whose code is not here."""
    known = {one.name for one in loaded_extensions()}
    return [one.name for one in record if one.name not in known]


def to_install(record: Sequence[InstalledExtension], wanted: Iterable[Extension]) -> list[Extension]:
    """The extensions that are not installed yet, or in an older version. A newer one than this program's is refused."""
    there = {one.name: one.version for one in record}
    for one in wanted:
        if there.get(one.name, 0) > one.version:
            raise Conflict(
                f"{one.name} {there[one.name]} is installed in this book and this program has {one.name} "
                f"{one.version}; update it",
                code="newer_schema",
            )
    return [one for one in wanted if one.tables and there.get(one.name, 0) < one.version]


def _code_of(one: InstalledExtension) -> Extension | None:
    """The extension behind a row of the record, if its code is here."""
    return next((each for each in loaded_extensions() if each.name == one.name), None)


def installed_code(record: Record) -> list[Extension]:
    """The extensions that are installed, as far as their code is here, whether they are on or not."""
    found = []
    for one in record:
        code = _code_of(one)
        if code is not None:
            found.append(code)
    return found


def table_set(record: Record) -> TableSet:
    """The tables of a database with this record."""
    return _table_set(record, tuple(_code_of(one) for one in record))


@cache
def _table_set(record: Record, code: tuple[Extension | None, ...]) -> TableSet:
    """`code` is part of the cache's key, since an extension may be loaded after a book with its rows was opened."""
    found = tuple(zip(record, code, strict=True))
    tables = TableSet(lambda: (table for one, extension in found for table in _tables_of_row(one, extension)))
    known_to_fit = {None, *shipped().values()}
    if not known_to_fit.issuperset(code):
        tables.refuse_unfit()
    return tables


def _tables_of_row(one: InstalledExtension, extension: Extension | None) -> tuple[Table, ...]:
    if extension is None:
        return rebuild_tables(one.tables)
    return tables_of(extension)


# Queries


def rows_without_code(conn: Connection, owner: str, record: Record) -> list[str]:
    """The names of extensions whose code is not installed but of which this owner has rows."""
    gone = missing_code(record)
    theirs = {one.name: rebuild_tables(one.tables) for one in record if one.name in gone}
    return [name for name, tables in theirs.items() if any(_has_rows(conn, owner, table) for table in tables)]


def _has_rows(conn: Connection, owner: str, table: Table) -> bool:
    if "owner" not in table.c:
        return False
    return conn.execute(select(table.c.owner).where(table.c.owner == owner).limit(1)).first() is not None


def read_record(conn: Connection) -> Record:
    """What this database says is installed."""
    return tuple(InstalledExtension(*row) for row in driver_of(conn).execute(RECORD).fetchall())
