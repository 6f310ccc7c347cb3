"""What is installed in a database: the record of extensions and their tables, and how another one is installed.

The table `extensions` says of each extension which tables it brought and what is done with their rows. Where the code
is there, its own declarations are used; where it is gone, tables are made again from the record, so that an export, an
import, an erasure and `verify` reach every row. What guards a table stands in the database itself.
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
"""All of them, in the order in which they were installed."""


# Rules


def describe_tables(tables: Iterable[Table]) -> str:
    """What the record says of tables: columns with their types, the key, and the rules that are not the usual ones."""
    told = [
        {
            "name": table.name,
            "columns": {column.name: _type_name(column) for column in table.c},
            "key": [column.name for column in table.primary_key.columns],
            "rules": _unusual_rules(rules_of(table)),
        }
        for table in tables
    ]
    return json.dumps(told, ensure_ascii=True, separators=(",", ":"))


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
    home = MetaData()
    return tuple(_rebuild(home, told) for told in json.loads(described))


def _rebuild(home: MetaData, told: dict[str, Any]) -> Table:
    columns = [Column(name, _TYPES[kind]) for name, kind in told["columns"].items()]
    table = Table(told["name"], home, *columns, PrimaryKeyConstraint(*told["key"]))
    rules: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in told["rules"].items()
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
    """The code is asked for anew each time: it may come after a book with its rows was opened."""
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
    """The extensions whose code is not here and of which this owner has rows."""
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
