"""The schema, held against itself: what a new book is made of, what the migrations make, what this program says.

A new SQLite book is made from `tables/` and `guards/`; an older one, and every PostgreSQL, walks frozen
migrations. If the two ever differ, a guard would hold in one book and not in another.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic import command
from sqlalchemy import Connection, create_engine, make_url
from tests.extensions.storage.every_table import BY_NAME, OWNED, PARENTS_FIRST

from keepbook import Conflict, Keepbook
from keepbook.storage import schema
from keepbook.storage.database import upgrade
from keepbook.storage.statements import split

SHARED = {
    "extensions", "owners", "due", "tokens", "identities", "leases", "page_sessions", "bars", "market_events",
    "event_symbols", "batches", "former_bars", "former_events", "alembic_version",
}  # fmt: skip
"""Tables without personal text, which work that serves no owner may search as it needs."""


@contextmanager
def raw(url: str) -> Iterator[Any]:
    if url.startswith("postgresql:"):
        with psycopg.connect(url) as connection:
            yield connection
    else:
        with closing(sqlite3.connect(url)) as file, file:
            yield file


@contextmanager
def core(url: str) -> Iterator[Connection]:
    """A SQLAlchemy transaction on a database that Keepbook has not touched."""
    if url.startswith("postgresql:"):
        engine = create_engine(make_url(url).set(drivername="postgresql+psycopg"))
    else:
        engine = create_engine(f"sqlite:///{url}")
    with engine.begin() as conn:
        yield conn
    engine.dispose()


def migrate_to(conn: Connection, revision: str) -> None:
    config = schema._config()
    config.attributes["connection"] = conn
    command.upgrade(config, revision)


# --- a new book and a migrated one -----------------------------------------------------------------------


def described_sqlite(path: str) -> dict[str, str]:
    """Every table, index and trigger by name, spelled in one way."""
    with raw(path) as connection:
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {name: re.sub(r"\s*([(),])\s*", r"\1", " ".join(sql.replace('"', "").split())) for name, sql in rows}


CATALOGUE = {
    "columns": """
        SELECT table_name || '.' || column_name, data_type, collation_name, is_nullable, column_default
        FROM information_schema.columns WHERE table_schema = 'public'""",
    "constraints": """
        SELECT conrelid::regclass || '.' || conname, pg_get_constraintdef(oid)
        FROM pg_constraint WHERE connamespace = 'public'::regnamespace""",
    "indexes": "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "triggers": """
        SELECT tgrelid::regclass || '.' || tgname, pg_get_triggerdef(oid), tgenabled
        FROM pg_trigger WHERE NOT tgisinternal""",
    "functions": """
        SELECT oid::regprocedure::text, pg_get_functiondef(oid), proacl::text
        FROM pg_proc WHERE pronamespace = 'public'::regnamespace""",
    "row security": """
        SELECT oid::regclass::text, relrowsecurity, relforcerowsecurity
        FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'""",
    "policies": """
        SELECT tablename || '.' || policyname, permissive, roles::text, cmd, qual, with_check
        FROM pg_policies WHERE schemaname = 'public'""",
    "rights": """
        SELECT c.oid::regclass || coalesce('.' || a.attname, ''), coalesce(a.attacl, c.relacl)::text
        FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attacl IS NOT NULL
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname <> 'alembic_version'""",
    "rights on the database": """
        SELECT 'temporary tables', has_database_privilege('keepbook_app', current_database(), 'TEMP')""",
}


def described_postgresql(url: str) -> dict[str, dict[str, tuple[Any, ...]]]:
    with raw(url) as connection:
        return {what: {name: rest for name, *rest in connection.execute(query)} for what, query in CATALOGUE.items()}


def made_anew(url: str) -> None:
    """The schema from `tables/` and `guards/`, without any migration."""
    with core(url) as conn:
        for statement in split(schema.shipped_sql(conn.dialect.name)):
            conn.exec_driver_sql(statement, execution_options={"no_parameters": True})
        schema.stamp_revision(conn)


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_a_new_sqlite_book_equals_a_migrated_one(book_url: str, tmp_path: Path) -> None:
    Keepbook(book_url).close()
    migrated = str(tmp_path / "migrated.db")
    with core(migrated) as conn:
        schema.migrate(conn)
    new = described_sqlite(book_url)
    assert new.keys() >= {table.name for table in PARENTS_FIRST}
    assert described_sqlite(migrated) == new


@pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
def test_a_migrated_postgresql_equals_what_the_tables_and_guards_say(book_url: str, empty_url: str) -> None:
    made_anew(empty_url)
    migrated = described_postgresql(book_url)
    assert all(migrated.values())
    assert described_postgresql(empty_url) == migrated


@pytest.mark.parametrize("released", schema.KNOWN)
@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_opening_brings_every_released_sqlite_book_up(book_url: str, tmp_path: Path, released: str) -> None:
    with core(book_url) as conn:
        migrate_to(conn, released)
        conn.exec_driver_sql("PRAGMA application_id = 0x4B424F4B")
    Keepbook(book_url).close()
    new = str(tmp_path / "new.db")
    Keepbook(new).close()
    assert described_sqlite(book_url) == described_sqlite(new)
    assert stamped(book_url) == schema.HEAD


@pytest.mark.parametrize("released", schema.KNOWN)
@pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
def test_upgrading_brings_every_released_postgresql_up(book_url: str, empty_url: str, released: str) -> None:
    with core(empty_url) as conn:
        migrate_to(conn, released)
    taken = upgrade(empty_url)
    assert taken == list(schema.KNOWN[schema.KNOWN.index(released) + 1 :])
    assert upgrade(empty_url) == []
    assert described_postgresql(empty_url) == described_postgresql(book_url)
    assert stamped(empty_url) == schema.HEAD


# --- revisions -------------------------------------------------------------------------------------------


def stamped(url: str) -> str:
    with raw(url) as connection:
        return str(connection.execute("SELECT version_num FROM alembic_version").fetchone()[0])


def test_the_known_revisions_are_the_migration_files_in_order() -> None:
    folder = Path(schema.__file__).parent / "migrations" / "versions"
    files = sorted(path.name[:4] for path in folder.glob("[0-9]*.py"))
    assert list(schema.REVISIONS) == files
    assert [mark.partition("_")[0] for mark in schema.KNOWN] == files
    assert schema.KNOWN[-1] == schema.HEAD
    for revision in files:
        assert {path.suffix for path in folder.glob(f"{revision}_*")} == {".py", ".sql"}
        assert {path.name for path in folder.glob(f"{revision}_*.sql")} == {
            f"{revision}_sqlite.sql",
            f"{revision}_postgresql.sql",
        }


def test_a_program_runs_on_schemas_up_to_two_expanding_revisions_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    assert schema.NEEDS.keys() == set(schema.REVISIONS)
    needs = {"0001": "contracts", "0002": "expands", "0003": "expands", "0004": "expands", "0005": "contracts"}
    monkeypatch.setattr(schema, "NEEDS", needs)
    monkeypatch.setattr(schema, "fingerprint", lambda revision: revision[::-1] * 16)
    monkeypatch.setattr(schema, "REVISIONS", tuple(needs))
    marks = [schema.schema_mark(revision) for revision in needs]
    assert all(len(mark) <= 32 for mark in marks), "as long as the column is wide"
    served = {}
    for nth, revision in enumerate(needs, 1):
        monkeypatch.setattr(schema, "REVISIONS", tuple(needs)[:nth])
        monkeypatch.setattr(schema, "KNOWN", tuple(marks[:nth]))
        monkeypatch.setattr(schema, "HEAD", marks[nth - 1])
        served[revision] = [mark[:4] for mark in marks if schema.serves_program(mark)]
    assert served == {
        "0001": ["0001", "0002", "0003"], "0002": ["0002", "0003", "0004"], "0003": ["0003", "0004"],
        "0004": ["0004"], "0005": ["0005"],
    }  # fmt: skip


def test_an_upgrade_waits_for_every_server_that_would_not_be_served(
    book_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Keepbook(book_url) as kb:
        kb.servers.note("of the first revision")
    needs = dict.fromkeys(("0001", "0002", "0003", "0004"), "expands")
    monkeypatch.setattr(schema, "NEEDS", needs)
    place = f"sqlite:///{book_url}"
    if book_url.startswith("postgresql:"):
        place = book_url.replace("postgresql:", "postgresql+psycopg:", 1)
    engine = create_engine(place)
    with engine.connect() as conn:
        for newest in (3, 4):
            monkeypatch.setattr(schema, "REVISIONS", tuple(needs)[:newest])
            if newest == 3:
                schema.refuse_older_servers(conn)
            else:
                with pytest.raises(Conflict, match="serves none before revision 0002, and one of them was alive"):
                    schema.refuse_older_servers(conn)
    engine.dispose()


def test_a_new_book_bears_the_newest_revision(kb: Keepbook, book_url: str) -> None:
    assert stamped(book_url) == schema.HEAD


@pytest.mark.parametrize(
    ("bears", "code", "words"),
    [
        ("9999_0123456789ab", "newer_schema", "update keepbook"),
        ("0001", "unreleased_schema", "export with the old version, import with this one"),
        ("0006", "unreleased_schema", "export with the old version, import with this one"),
        ("0001_0123456789ab", "unreleased_schema", "export with the old version, import with this one"),
    ],
)
def test_a_schema_that_this_program_does_not_know_is_refused_and_left_alone(
    book_url: str, bears: str, code: str, words: str
) -> None:
    Keepbook(book_url).close()
    with raw(book_url) as connection:
        connection.execute(f"UPDATE alembic_version SET version_num = '{bears}'")
    for attempt in (Keepbook, upgrade):
        with pytest.raises(Conflict, match=words) as refused:
            attempt(book_url)
        assert refused.value.code == code
    assert stamped(book_url) == bears


# --- owner first -----------------------------------------------------------------------------------------


def first_columns(url: str) -> dict[str, str]:
    """Of every key and index in the database, by `table.index`, the column that leads it."""
    with raw(url) as connection:
        if url.startswith("postgresql:"):
            query = """
                SELECT indrelid::regclass || '.' || indexrelid::regclass, attname
                FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
                JOIN pg_class c ON c.oid = indrelid WHERE c.relnamespace = 'public'::regnamespace"""
        else:
            query = """
                SELECT t.name || '.' || i.name, c.name
                FROM sqlite_master t, pragma_index_list(t.name) i, pragma_index_xinfo(i.name) c
                WHERE t.type = 'table' AND c.seqno = 0"""
        return dict(connection.execute(query).fetchall())


def test_the_owner_leads_every_key_and_index_of_personal_tables(kb: Keepbook, book_url: str) -> None:
    found = first_columns(book_url)
    assert {name.split(".")[0] for name in found} == {*BY_NAME, "alembic_version"}
    personal = {name: column for name, column in found.items() if name.split(".")[0] not in SHARED}
    assert {name: column for name, column in personal.items() if column != "owner"} == {}


def test_every_foreign_key_stays_within_one_owner() -> None:
    keys = [key for table in PARENTS_FIRST for key in table.foreign_key_constraints]
    assert keys
    for key in keys:
        if key.table.name == "page_sessions":  # of a token or an identity, which names its owner
            continue
        assert (key.columns[0].name, key.elements[0].column.name) == ("owner", "owner")


def test_everything_with_personal_text_goes_with_its_owner() -> None:
    """A table that `erase` forgets would outlive the person who asked."""
    owned = {table.name for table in OWNED}
    with_owner = {table.name for table in PARENTS_FIRST if "owner" in table.c}
    assert with_owner - owned == {"owners", "tokens", "identities"}  # their rows go, or lose the name, by hand
