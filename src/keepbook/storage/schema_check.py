"""Compares a database's schema with the schema that this version would install.

A trigger that is gone guards nothing, and nobody sees it missing. So the whole catalogue is compared: tables, columns,
constraints, indexes, triggers, functions, policies and rights. What should be there is not kept in a list: the schema
is made anew beside the book (in memory, or on PostgreSQL in a transaction that is rolled back) and described alike.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, text

from keepbook.patterns import regex, words_regex
from keepbook.storage import cluster, schema
from keepbook.storage.database import is_postgresql
from keepbook.storage.guard_rules import whole_rights
from keepbook.storage.statements import split
from keepbook.storage.tables import DECLARED

Catalogue = dict[str, str]
"""`trigger ledger_appends` → its definition, spelled in one way."""

GUARDING = ("trigger", "function", "policy", "right", "guard")
"""What can be put back; a `guard` is any of a shard's."""

ALONE = "SET LOCAL citus.enable_ddl_propagation = off"
"""What is made to look at is made here; on a single PostgreSQL these are words without a meaning."""
ASIDE = "keepbook_as_installed"
"""The schema in which PostgreSQL is shown how it should be."""


# Rules


def compare_catalogues(found: Catalogue, expected: Catalogue) -> list[str]:
    """Each difference in a few words, the missing ones first."""
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
    """What is missing, altered or added in a database; PostgreSQL is asked as its administrator."""
    if is_postgresql(address):
        return _differences_on_a_server(address)
    with closing(sqlite3.connect(f"file:{address}?mode=ro", uri=True)) as file:
        return compare_catalogues(_described_file(file), _described_file(_new_file()))


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


def _new_file() -> sqlite3.Connection:
    made = sqlite3.connect(":memory:")
    for statement in schema.statements("sqlite"):
        made.execute(statement)
    return made


def _described_file(file: sqlite3.Connection) -> Catalogue:
    rows = file.execute(
        "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' "
        "AND name <> 'alembic_version'"
    )
    return {f"{kind} {name}": _normalise_sql(sql) for kind, name, sql in rows}


_BLANKS_AT_MARKS = regex(r" ?([(),]) ?")


def _normalise_sql(sql: str) -> str:
    return _BLANKS_AT_MARKS.sub(r"\1", " ".join(sql.replace('"', "").split()))


def _repair_file(address: str) -> None:
    with closing(_new_file()) as made:
        wanted = dict(made.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall())
    with closing(sqlite3.connect(address, isolation_level=None)) as file:
        file.execute("BEGIN IMMEDIATE")
        present = dict(file.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall())
        for name in present.keys() - wanted.keys():
            file.execute(f'DROP TRIGGER "{name}"')
        for name, sql in wanted.items():
            if name not in present or _normalise_sql(present[name]) != _normalise_sql(sql):
                file.execute(f'DROP TRIGGER IF EXISTS "{name}"')
                file.execute(sql)
        file.execute("COMMIT")


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


def _differences_on_a_server(address: str) -> list[str]:
    engine = _admin(address)
    try:
        with engine.connect() as conn, conn.begin() as transaction:
            spread, elsewhere = cluster.is_spread(conn), cluster.differences(conn)
            conn.execute(text(ALONE))
            home = str(conn.execute(text("SELECT current_schema()")).scalar())
            found = _read_catalogue(conn, home)
            conn.execute(text(f"CREATE SCHEMA {ASIDE}"))
            conn.execute(text(f"SET LOCAL search_path = {ASIDE}"))
            written = schema.schema_sql("postgresql") + (whole_rights(DECLARED) if spread else "")
            for statement in split(written):
                conn.exec_driver_sql(statement, execution_options={"no_parameters": True})
            expected = _read_catalogue(conn, ASIDE)
            transaction.rollback()
        return compare_catalogues(found, expected) + elsewhere
    finally:
        engine.dispose()


def _read_catalogue(conn: Connection, place: str) -> Catalogue:
    found = {}
    home = words_regex(rf'"?\b{place}\b"?\.?')
    conn.execute(text(f'SET LOCAL search_path = "{place}"'))
    for kind, query in _QUERIES.items():
        for name, told in conn.execute(text(query), {"place": place}):
            if "alembic_version" not in name:
                found[f"{kind} {name}"] = home.sub("", " ".join(str(told).split()))
    return found


_CREATE = regex(r"^((?:--[^\n]*\n)*\s*)CREATE (FUNCTION|TRIGGER)")


def _repair_server(address: str) -> None:
    """Every guard anew, as it is installed; what is there already is replaced by its like."""
    engine = _admin(address)
    try:
        with engine.begin() as conn:
            spread = cluster.is_spread(conn)
            cluster.prepare_to_guard(conn)
            for table in conn.execute(text("SELECT tablename FROM pg_policies WHERE schemaname = current_schema()")):
                conn.execute(text(f'DROP POLICY IF EXISTS one_owner ON "{table[0]}"'))
            home = conn.execute(text("SELECT current_schema()")).scalar()
            conn.execute(text(f'REVOKE ALL ON ALL TABLES IN SCHEMA "{home}" FROM keepbook_app'))
            conn.execute(text("GRANT SELECT ON alembic_version TO keepbook_app"))
            for statement in split(schema.guards("postgresql")):
                again = _CREATE.sub(r"\1CREATE OR REPLACE \2", statement)
                with cluster.here_alone(conn, when="GRANT UPDATE (" in statement):
                    conn.exec_driver_sql(again, execution_options={"no_parameters": True})
            if spread:
                cluster.distribute(conn, cluster.shards_of(conn))
    finally:
        engine.dispose()


def _admin(address: str) -> Any:
    _, rest = address.split(":", 1)
    return create_engine(f"postgresql+psycopg:{rest}", connect_args={"connect_timeout": 10})
