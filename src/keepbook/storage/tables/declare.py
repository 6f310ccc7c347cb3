"""How a table is declared: its columns, and what the house does with its rows.

The lists of what is exported, covered, erased and spread over nodes are made from these declarations, so that a table
stands in one place.
"""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import REAL, CheckConstraint, Column, ColumnElement, Double, Index, MetaData, Table, Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateIndex
from sqlalchemy.types import TypeEngine

from keepbook.errors import Invalid

metadata: MetaData = MetaData()

# Code-point order on both engines, whatever the locale of the server.
Word: Text = Text().with_variant(Text(collation="C"), "postgresql")
# STRICT tables of SQLite know REAL, where PostgreSQL's REAL would lose digits.
Number: TypeEngine[Any] = Double().with_variant(REAL(), "sqlite")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRules:
    """What is done with the rows of a table.

    exported: the kind of their lines in an export. unexported: the reason why they are not exported.
    exported_after: the kind of line after which theirs follow; if empty, they stand in the order of the tables.
    ids: columns that hold an id made by Keepbook; an import refuses anything else in them.
    covered: whether the ledger seals the rows. uncovered: the reason why it does not.
    passing: columns that no seal covers. covered_where: a condition; only rows that meet it are sealed.
    younger: columns that were added after books had been sealed. A row that is empty there is sealed without them.
    may_change: the only columns that may change. None: all may. (): none may.
    may_go: whether rows may be deleted. If not, they go only with the whole book, or with their memory.
    of_memory: the column that names a memory. The row is deleted when that memory is purged.
    blanked: columns that a purge empties, in the rows for which `blanked_where` holds.
    guards_memory: how a memory that has such a row is called in messages. Only the person may change that memory.
    bulk: whether rows are written by the thousand; then no trigger looks at each inserted row.
    former_of: the table whose corrected and removed rows are kept here. Both tables are sealed batch by batch.
    begins: the state in which a row is first written: `column` is empty, `column=word` has that word. This and the next
        two tell an import in which order it must write rows, so that the guards accept them.
    during: a table, and the column here that names a row of it: these rows are written before that one is ended.
    earlier_of: a table, and the column here that names a row of it: these rows hold its earlier states, in order.
    open: whether every transaction sees the rows of every owner.
    home: whether the table stays on the coordinator of a cluster.
    admin: whether only the administrator of a server writes it.
    own: which of insert, update and delete are guarded by SQL that is written by hand, in `guards/`.
    """

    exported: str = ""
    unexported: str = ""
    exported_after: str = ""
    ids: tuple[str, ...] = ()
    covered: bool = False
    uncovered: str = ""
    passing: tuple[str, ...] = ()
    covered_where: str = ""
    younger: tuple[str, ...] = ()
    may_change: tuple[str, ...] | None = None
    may_go: bool = False
    of_memory: str = ""
    blanked: tuple[str, ...] = ()
    blanked_where: str = ""
    guards_memory: str = ""
    bulk: bool = False
    former_of: str = ""
    begins: tuple[str, ...] = ()
    during: tuple[str, ...] = ()
    earlier_of: tuple[str, ...] = ()
    open: bool = False
    home: bool = False
    admin: bool = False
    own: tuple[str, ...] = ()


DERIVED: dict[str, Any] = {"unexported": "made anew on import", "uncovered": "made anew from what is covered"}
"""The rules of an index: a table that can be made anew from others."""


def declare_table(name: str, *parts: Any, **rules: Any) -> Table:
    """A table with its columns and constraints; the rest are fields of `RowRules`."""
    if name in metadata.tables:
        raise Invalid(f"there is a table {name!r} already; call yours otherwise", field="extensions")
    table = Table(name, metadata, *parts, sqlite_strict=True, sqlite_with_rowid=False)
    table.info["rules"] = RowRules(**rules)
    return table


def rules_of(table: Table) -> RowRules:
    rules: RowRules = table.info["rules"]
    return rules


def partial_index(name: str, *columns: Column[Any], where: ColumnElement[bool], unique: bool = False) -> None:
    """An index over the rows for which `where` holds."""
    Index(name, *columns, unique=unique, info={"where": where})


@compiles(CreateIndex)
def _compile_partial_index(create: CreateIndex, compiler: Any, **options: Any) -> str:
    """Give an index its condition when it is compiled. Declared as `postgresql_where=` and `sqlite_where=`, it would
    load both dialects."""
    index: Index = create.element
    if "where" in index.info:
        index.dialect_options[compiler.dialect.name]["where"] = index.info["where"]
    return str(compiler.visit_create_index(create, **options))


def owner_column() -> Column[Any]:
    return Column("owner", Word, CheckConstraint("owner <> ''"), nullable=False)


def one_of(column: str, *words: str) -> CheckConstraint:
    listed = ", ".join(f"'{word}'" for word in words)
    return CheckConstraint(f"{column} IN ({listed})")
