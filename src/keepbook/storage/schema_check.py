"""Compares a database's schema with the schema that this version would install.

A missing trigger makes no error, so nobody would notice. So the whole catalogue is compared: tables, columns,
constraints, indexes, triggers, functions, policies and rights. There is no list of what should exist: the schema is
made anew beside the book (in memory, or on PostgreSQL in a transaction that is rolled back) and read in the same way.
"""

import re
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, create_engine, text
from sqlalchemy.exc import DBAPIError

from keepbook.errors import NotAllowed
from keepbook.extensions import SHIPPED
from keepbook.patterns import regex, words_regex
from keepbook.storage import schema
from keepbook.storage.database import is_postgresql
from keepbook.storage.engines import cluster
from keepbook.storage.guard_rules import whole_rights
from keepbook.storage.installed import (
    RECORD,
    InstalledExtension,
    Record,
    missing_code,
    read_record,
    rebuild_tables,
    table_set,
)
from keepbook.storage.statements import split

Catalogue = dict[str, str]
"""Maps a kind and name, such as `trigger ledger_appends`, to its definition, with blanks made alike."""

GUARDING = ("trigger", "function", "policy", "right", "guard")
"""The kinds that `repair_guards` can put back. `guard` stands for all the guards of one shard."""

ALONE = "SET LOCAL citus.enable_ddl_propagation = off"
"""Makes the schema to compare with on this node only. On a single PostgreSQL this setting does nothing."""
ASIDE = "keepbook_as_installed"
"""The PostgreSQL schema in which the tables are made anew, to compare with."""


# Rules


def compare_catalogues(found: Catalogue, expected: Catalogue) -> list[str]:
    """Each difference in a few words: what is missing first, then what was altered or added."""
    missing = [f"{name} is missing" for name in sorted(expected.keys() - found.keys())]
    altered = [
        f"{name} is not as this version installs it"
        for name in sorted(expected.keys() & found.keys())
        if found[name] != expected[name]
    ]
    added = [f"{name} is none of this version's" for name in sorted(found.keys() - expected.keys())]
    return missing + altered + added


# Operations


def differences(address: str) -> list[str]:
    """What is missing, altered or added in a database. PostgreSQL is asked as its administrator."""
    if is_postgresql(address):
        return _differences_on_a_server(address)
    with closing(_open_to_read(address)) as file:
        record, found = _record_of(file), _read_objects(file)
    gone = _tables_without_code(record)
    return compare_catalogues(_describe(found, gone), _describe(_new_objects(record), gone))


def not_compared(address: str) -> list[str]:
    """The extensions whose code is not here: what guards their tables cannot be compared."""
    if is_postgresql(address):
        with _administering(address) as conn:
            return _not_known_here(read_record(conn))
    with closing(_open_to_read(address)) as file:
        return _not_known_here(_record_of(file))


def damage_of(file: Path, busy_seconds: float) -> list[str]:
    """What SQLite finds wrong with its own pages and keys."""
    with closing(sqlite3.connect(file, timeout=busy_seconds)) as connection:
        found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
        found += [f"{row[0]}: a row without its {row[2]}" for row in connection.execute("PRAGMA foreign_key_check")]
    return found


def repair_guards(address: str) -> list[str]:
    """Put back every trigger, function, policy and right that is missing or altered; returns what was done."""
    found = [line for line in differences(address) if line.split()[0] in GUARDING]
    if not found:
        return []
    if is_postgresql(address):
        _repair_server(address)
    else:
        _repair_file(address)
    left = set(differences(address))
    return [line for line in found if line not in left]


# SQLite


def _open_to_read(address: str) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{address}?mode=ro", uri=True)


def _record_of(file: sqlite3.Connection) -> Record:
    return tuple(InstalledExtension(*row) for row in file.execute(RECORD))


def _not_known_here(record: Record) -> list[str]:
    """The extensions whose guards cannot be known, as their code is gone. Those of this package stand in the migrations
    and are always known."""
    return [name for name in missing_code(record) if name not in SHIPPED]


def _tables_without_code(record: Record) -> set[str]:
    gone = _not_known_here(record)
    kept = [one for one in record if one.name in gone]
    return {table.name for one in kept for table in rebuild_tables(one.tables)}


class _Object(NamedTuple):
    """A table, index or trigger of a file."""

    kind: str
    name: str
    sql: str
    table: str


def _read_objects(file: sqlite3.Connection) -> list[_Object]:
    rows = file.execute(
        "SELECT type, name, sql, tbl_name FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' "
        "AND name <> 'alembic_version'"
    )
    return [_Object(*row) for row in rows]


def _new_objects(record: Record) -> list[_Object]:
    """What a new file would have."""
    return _made_by(tuple(schema.expected_statements("sqlite", record)))


@cache
def _made_by(statements: tuple[str, ...]) -> list[_Object]:
    """What statements make, found out once a process."""
    with closing(sqlite3.connect(":memory:")) as made:
        for statement in statements:
            made.execute(statement)
        return _read_objects(made)


def _describe(objects: list[_Object], left_out: Collection[str]) -> Catalogue:
    return {f"{one.kind} {one.name}": _normalise_sql(one.sql) for one in objects if one.table not in left_out}


_BLANKS_AT_MARKS = regex(r" ?([(),]) ?")


def _normalise_sql(sql: str) -> str:
    return _BLANKS_AT_MARKS.sub(r"\1", " ".join(sql.replace('"', "").split()))


def _repair_file(address: str) -> None:
    with closing(sqlite3.connect(address, isolation_level=None)) as file:
        file.execute("BEGIN IMMEDIATE")
        gone = _tables_without_code(record := _record_of(file))
        wanted = _triggers(_new_objects(record), gone)
        present = _triggers(_read_objects(file), gone)
        for name in present.keys() - wanted.keys():
            file.execute(f'DROP TRIGGER "{name}"')
        for name, sql in wanted.items():
            if name not in present or _normalise_sql(present[name]) != _normalise_sql(sql):
                file.execute(f'DROP TRIGGER IF EXISTS "{name}"')
                file.execute(sql)
        file.execute("COMMIT")


def _triggers(objects: list[_Object], left_out: Collection[str]) -> dict[str, str]:
    return {one.name: one.sql for one in objects if one.kind == "trigger" and one.table not in left_out}


# PostgreSQL

_QUERIES = {
    "column": """
        SELECT c.relname || '.' || a.attname, format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull || ' '
               || coalesce(pg_get_expr(d.adbin, d.adrelid), '') || ' ' || a.attcollation
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE c.relnamespace = CAST(:place AS regnamespace) AND c.relkind = 'r' AND a.attnum > 0
          AND NOT a.attisdropped""",
    "constraint": """
        SELECT c.relname || '.' || n.conname, pg_get_constraintdef(n.oid)
        FROM pg_constraint n JOIN pg_class c ON c.oid = n.conrelid
        WHERE n.connamespace = CAST(:place AS regnamespace)""",
    "index": "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = :place",
    "trigger": """
        SELECT c.relname || '.' || t.tgname, pg_get_triggerdef(t.oid) || ' ' || CAST(t.tgenabled AS text)
        FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
        WHERE NOT t.tgisinternal AND c.relnamespace = CAST(:place AS regnamespace)""",
    "function": """
        SELECT proname, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = CAST(:place AS regnamespace)""",
    "policy": """
        SELECT tablename || '.' || policyname,
               concat_ws(' ', permissive, replace(CAST(roles AS text), 'public', 'all'), cmd, qual, with_check)
        FROM pg_policies WHERE schemaname = :place
        UNION ALL
        SELECT relname || ' in force', concat_ws(' ', relrowsecurity, relforcerowsecurity)
        FROM pg_class WHERE relnamespace = CAST(:place AS regnamespace) AND relkind = 'r'""",
    "right": """
        SELECT c.relname || coalesce('.' || a.attname, '') || ' ' || r.privilege_type, 'granted'
        FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attacl IS NOT NULL,
             aclexplode(coalesce(a.attacl, c.relacl)) r
        WHERE c.relnamespace = CAST(:place AS regnamespace) AND c.relkind = 'r'
          AND r.grantee = CAST('keepbook_app' AS regrole)""",
}


_NEW: dict[tuple[object, ...], Catalogue] = {}
"""What a new schema has, by the server's version and the statements."""


def _differences_on_a_server(address: str) -> list[str]:
    with _administering(address) as conn:
        spread, elsewhere = cluster.is_spread(conn), cluster.differences(conn)
        conn.execute(text(ALONE))
        home = str(conn.execute(text("SELECT current_schema()")).scalar())
        record = read_record(conn)
        found = _read_catalogue(conn, home)
        expected = _new_catalogue(conn, tuple(_expected(record, spread=spread)))
        conn.rollback()
    gone = _tables_without_code(record)
    return compare_catalogues(_without_tables(found, gone), _without_tables(expected, gone)) + elsewhere


def _new_catalogue(conn: Connection, statements: tuple[str, ...]) -> Catalogue:
    """What a new schema would have. It is made once a process for each version of a server, which spells it its own
    way; whether this login may make one is asked each time."""
    conn.execute(text(f"CREATE SCHEMA {ASIDE}"))
    spelled = (conn.dialect.server_version_info, *statements)
    if spelled not in _NEW:
        conn.execute(text(f"SET LOCAL search_path = {ASIDE}"))
        for statement in statements:
            conn.exec_driver_sql(statement, execution_options={"no_parameters": True})
        _NEW[spelled] = _read_catalogue(conn, ASIDE)
    return _NEW[spelled]


def _expected(record: Record, *, spread: bool) -> list[str]:
    found = schema.expected_statements("postgresql", record)
    if spread:
        return [*found, *split(whole_rights(table_set(record).declared))]
    return found


def _without_tables(catalogue: Catalogue, gone: Collection[str]) -> Catalogue:
    """The catalogue without tables whose code is gone, and without what has such a table in its name."""
    if not gone:
        return catalogue
    theirs = words_regex(rf"(?:{'|'.join(map(re.escape, sorted(gone)))})")
    of_core = {name for name in catalogue if "keepbook_erase " in f"{name} "}
    return {name: spelled for name, spelled in catalogue.items() if name in of_core or not theirs.search(name)}


def _read_catalogue(conn: Connection, place: str) -> Catalogue:
    found = {}
    home = words_regex(rf'"?\b{place}\b"?\.?')
    conn.execute(text(f'SET LOCAL search_path = "{place}"'))
    for kind, query in _QUERIES.items():
        for name, definition in conn.execute(text(query), {"place": place}):
            if "alembic_version" not in name:
                found[f"{kind} {name}"] = home.sub("", " ".join(str(definition).split()))
    return found


def _repair_server(address: str) -> None:
    """Make every guard anew, in place of what is there."""
    with _administering(address) as conn:
        spread = cluster.is_spread(conn)
        cluster.prepare_to_guard(conn)
        record = read_record(conn)
        for table in _tables_to_guard(conn, record):
            conn.execute(text(f'DROP POLICY IF EXISTS one_owner ON "{table}"'))
            conn.execute(text(f'REVOKE ALL ON "{table}" FROM keepbook_app'))
        conn.execute(text("GRANT SELECT ON alembic_version TO keepbook_app"))
        for statement in _guarding(schema.expected_statements("postgresql", record)):
            with cluster.here_alone(conn, when=schema.grants_columns(statement)):
                again = schema.replacing(statement, "postgresql")
                conn.exec_driver_sql(again, execution_options={"no_parameters": True})
        if spread:
            cluster.distribute(conn, cluster.shards_of(conn))


def _tables_to_guard(conn: Connection, record: Record) -> list[str]:
    """The tables whose guards this program knows; only those can be put back."""
    found = conn.execute(text("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")).scalars()
    unknown = _tables_without_code(record)
    return [name for name in found if name not in unknown]


_GUARDING = regex(r"^(?:--[^\n]*\n|\s)*(?:CREATE (?:OR REPLACE )?(?:FUNCTION|TRIGGER|POLICY)|ALTER TABLE|GRANT|DO\b)")


def _guarding(statements: list[str]) -> list[str]:
    """The statements that make functions, triggers, policies and rights, without tables and rows."""
    return [statement for statement in statements if _GUARDING.match(statement)]


@contextmanager
def _administering(address: str) -> Iterator[Connection]:
    """One transaction as administrator."""
    _, rest = address.split(":", 1)
    engine = create_engine(f"postgresql+psycopg:{rest}", connect_args={"connect_timeout": 10})
    try:
        with engine.connect() as conn:
            yield conn
            conn.commit()
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != "42501":
            raise
        raise NotAllowed(
            "this login may not compare or mend the schema; name the administrator's in KEEPBOOK_ADMIN_DB",
            code="not_admin",
        ) from error
    finally:
        engine.dispose()
