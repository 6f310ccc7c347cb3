# ruff: noqa: S608  names of our own tables
"""The guards that follow from how a table is declared, as SQL: what never changes, what never goes, who may do what.

Further guards are written by hand for each engine, in `guards/`. Two things are filled into that SQL here. `--: purge`
is replaced by one statement per table that deletes or empties the rows of one memory, `--: erase` by one per table that
deletes the rows of one owner. `<<words become null>>` and the like stand for a list of columns of a version: its
`words`, all that was `said` in it, or the `rest` beside its words.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from sqlalchemy import Table

from keepbook.patterns import regex
from keepbook.storage.tables.declare import rules_of
from keepbook.storage.tables.memory import BOOKKEEPING, WORDS, versions

PURGE, ERASE = "--: purge\n", "--: erase\n"
LEFT_TO_THE_LAST = ("erasures", "touched")
"""`--: erase` leaves these two out: triggers write to `touched` and read `erasures` while the rows of other tables go,
so the guards written by hand empty them last."""


def is_owned(table: Table) -> bool:
    """Whether each row belongs to one owner."""
    return "owner" in table.primary_key.columns


def is_scoped(table: Table) -> bool:
    """Whether a transaction sees only the rows of the owner it serves."""
    return is_owned(table) and not rules_of(table).open


def needs_delete_guard(table: Table) -> bool:
    """Whether a trigger made here refuses to delete a row that no erasure names. Not where rows may go anyway, nor
    where `guards/` has a trigger of its own for this."""
    return is_owned(table) and not rules_of(table).may_go and "delete" not in rules_of(table).own


def has_fixed_columns(table: Table) -> bool:
    """Whether a trigger made here refuses to change some columns: not where all may change, nor where `guards/` has a
    trigger of its own for this."""
    return rules_of(table).may_change is not None and "update" not in rules_of(table).own


def fixed_columns(table: Table) -> list[str]:
    """The columns of a row that never change."""
    may_change = rules_of(table).may_change
    if may_change is None:
        return []
    return [column.name for column in table.c if column.name not in may_change]


def with_erasing(sql: str, tables: Sequence[Table]) -> str:
    """The SQL with `--: purge` and `--: erase` filled in, for tables that depend on others first."""
    children_first = [table for table in reversed(tables) if is_owned(table)]
    return sql.replace(PURGE, "".join(_purging(children_first))).replace(ERASE, "".join(_erasing(children_first)))


def _purging(tables: Iterable[Table]) -> Iterator[str]:
    for table in tables:
        rules = rules_of(table)
        if rules.of_memory:
            yield f"DELETE FROM {table.name} WHERE owner = NEW.owner AND {rules.of_memory} = NEW.memory_id;\n"
        if rules.blanked:
            emptied = ", ".join(f"{name} = NULL" for name in rules.blanked)
            full = " OR ".join(f"{name} IS NOT NULL" for name in rules.blanked)
            yield f"UPDATE {table.name} SET {emptied} WHERE owner = NEW.owner AND ({full}) AND {rules.blanked_where};\n"


def _erasing(tables: Iterable[Table]) -> Iterator[str]:
    for table in tables:
        if table.name not in (*LEFT_TO_THE_LAST, "owners"):
            yield f"DELETE FROM {table.name} WHERE owner = NEW.owner;\n"


# Columns of a version, named together

_COLUMNS = {
    "words": WORDS,
    "said": tuple(column.name for column in versions.c if column.name not in BOOKKEEPING),
    "rest": tuple(column.name for column in versions.c if column.name not in (*WORDS, "retired_at")),
}
_TOGETHER = regex(
    r"<<(?P<columns>\w+) (?:"
    r"(?P<becomes_null>become null)|"  # <<words become null>>
    r"(?:is|are) null in (?P<null_in>\w+)|"  # <<words are null in NEW>>
    r"(?:is|are) equal in (?P<one>\w+) and (?P<other>\w+)"  # <<rest is equal in NEW and OLD>>
    r")>>"
)


def with_columns(sql: str, engine: str) -> str:
    """The SQL with each `<<…>>` replaced by the columns it stands for."""
    if engine == "sqlite":
        same = "IS"
    else:
        same = "IS NOT DISTINCT FROM"

    def spelled(found: re.Match[str]) -> str:
        names = _COLUMNS[found["columns"]]
        if found["becomes_null"]:
            return ", ".join(f"{name} = NULL" for name in names)
        if found["null_in"]:
            return " AND ".join(f"{found['null_in']}.{name} IS NULL" for name in names)
        return " AND ".join(f"{found['one']}.{name} {same} {found['other']}.{name}" for name in names)

    return _TOGETHER.sub(spelled, sql)


# SQLite


def sqlite_guards(tables: Iterable[Table]) -> str:
    return "\n".join(line for table in tables for line in _sqlite(table)) + "\n"


def _sqlite(table: Table) -> Iterator[str]:
    rules, name = rules_of(table), table.name
    if needs_delete_guard(table) and not rules.bulk and "insert" not in rules.own:
        same = " AND ".join(f'"{column.name}" = NEW."{column.name}"' for column in table.primary_key.columns)
        # INSERT OR REPLACE deletes without firing delete triggers.
        yield f"CREATE TRIGGER {name}_are_not_replaced BEFORE INSERT ON {name}"
        yield f"WHEN EXISTS (SELECT 1 FROM {name} WHERE {same})"
        yield _refusing(f"a row of {name} is never replaced")
    if has_fixed_columns(table):
        same = " AND ".join(f'NEW."{column}" IS OLD."{column}"' for column in fixed_columns(table))
        yield f"CREATE TRIGGER {name}_never_change BEFORE UPDATE ON {name}"
        if rules.may_change:  # if it is (), nothing may change, and every update is refused
            yield f"WHEN NOT ({same})"
        yield _refusing(f"a row of {name} is never rewritten")
    if needs_delete_guard(table):
        if rules.of_memory:
            gone = f"IN ('*', OLD.{rules.of_memory})"
        else:
            gone = "= '*'"
        yield f"CREATE TRIGGER {name}_never_vanish BEFORE DELETE ON {name}"
        yield f"WHEN NOT EXISTS (SELECT 1 FROM erasures WHERE owner = OLD.owner AND memory_id {gone})"
        yield _refusing(f"nothing is deleted from {name} but by an erasure")


def _refusing(why: str) -> str:
    return f"BEGIN SELECT RAISE(ABORT, 'guard: {why}'); END;"


# PostgreSQL


def postgresql_guards(tables: Sequence[Table]) -> str:
    """The triggers of each table, row-level security, and the rights of the application's role. The role itself is made
    by `keepbook db upgrade`."""
    return (
        "\n".join(line for table in tables for line in (*_postgresql(table), *_security(table), *_rights(table))) + "\n"
    )


def _postgresql(table: Table) -> Iterator[str]:
    rules, name = rules_of(table), table.name
    if has_fixed_columns(table):
        yield f"CREATE FUNCTION keepbook_{name}_never_change() RETURNS trigger LANGUAGE plpgsql AS $$"
        yield "BEGIN"
        if rules.may_change:  # if it is (), nothing may change, and every update is refused
            new = ", ".join(f'NEW."{column}"' for column in fixed_columns(table))
            old = ", ".join(f'OLD."{column}"' for column in fixed_columns(table))
            yield f"  IF ({new}) IS NOT DISTINCT FROM ({old}) THEN RETURN NEW; END IF;"
        yield f"  PERFORM keepbook_refuse('a row of {name} is never rewritten');"
        yield "  RETURN NULL;"
        yield "END $$;"
        yield f"CREATE TRIGGER {name}_never_change BEFORE UPDATE ON {name}"
        yield f"  FOR EACH ROW EXECUTE FUNCTION keepbook_{name}_never_change();"
    if needs_delete_guard(table):
        argument = ""
        if rules.of_memory:
            argument = f"'{rules.of_memory}'"
        yield f"CREATE TRIGGER {name}_never_vanish BEFORE DELETE ON {name}"
        yield f"  FOR EACH ROW EXECUTE FUNCTION keepbook_never_vanishes({argument});"
    may_be_truncated = rules.may_go and "delete" not in rules.own
    if is_owned(table) and not may_be_truncated:
        yield f"CREATE TRIGGER {name}_never_truncated BEFORE TRUNCATE ON {name}"
        yield "  EXECUTE FUNCTION keepbook_never_truncated();"


def _security(table: Table) -> Iterator[str]:
    """A transaction that has not said whom it serves sees and writes nothing."""
    if is_scoped(table):
        served = "owner = current_setting('keepbook.owner', true)"
        yield f"ALTER TABLE {table.name} ENABLE ROW LEVEL SECURITY;"
        yield f"ALTER TABLE {table.name} FORCE ROW LEVEL SECURITY;"
        yield f"CREATE POLICY one_owner ON {table.name} USING ({served}) WITH CHECK ({served});"


def _rights(table: Table) -> Iterator[str]:
    rules = rules_of(table)
    if rules.admin:
        yield f"GRANT SELECT ON {table.name} TO keepbook_app;"
        return
    rights = ["SELECT", "INSERT"]
    if rules.may_change is None:
        rights.append("UPDATE")
    if rules.may_go:
        rights.append("DELETE")
    yield f"GRANT {', '.join(rights)} ON {table.name} TO keepbook_app;"
    if rules.may_change:  # a statement of its own: a cluster does not hand rights to single columns on to its shards
        columns = ", ".join(f'"{name}"' for name in rules.may_change)
        yield f"GRANT UPDATE ({columns}) ON {table.name} TO keepbook_app;"


def whole_rights(tables: Iterable[Table]) -> str:
    """The right to update whole tables, for a cluster, whose shards know no rights to single columns. Which columns may
    change is then enforced by the triggers alone."""
    names = ", ".join(table.name for table in tables if rules_of(table).may_change)
    return f"GRANT UPDATE ON {names} TO keepbook_app;"
