"""The schema's versions: making a new schema, upgrading an older one, refusing an unknown one.

The SQL of a migration is frozen text, written from `tables/`, `guards/` and the extensions of this package. A new
SQLite book runs the newest migration directly. An older SQLite book, and every PostgreSQL database, is brought up by
Alembic, migration by migration. Extensions from elsewhere are installed from their declarations when they are first
turned on.

A book stores its revision with the fingerprint of that revision's SQL (`0001_5f2e…`). The newest revision stays open
until it is released: a change of its SQL makes another fingerprint, and a book made before is refused, not misread.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Table, inspect, text
from sqlalchemy.dialects import registry
from sqlalchemy.schema import CreateIndex, CreateTable

from keepbook.errors import Conflict, Invalid
from keepbook.extension import Extension, loaded_extensions, shipped
from keepbook.extensions import SHIPPED
from keepbook.patterns import regex
from keepbook.storage.cover_rules import noticing
from keepbook.storage.guard_rules import ERASE, PURGE, postgresql_guards, sqlite_guards, with_columns, with_erasing
from keepbook.storage.installed import (
    InstalledExtension,
    Record,
    describe_tables,
    read_record,
    rebuild_tables,
    table_set,
)
from keepbook.storage.statements import split
from keepbook.storage.tables import TableSet, shipped_tables, tables_of
from keepbook.storage.tables.declare import rules_of

if TYPE_CHECKING:
    from alembic.config import Config

ENGINES = ("sqlite", "postgresql")
REVISIONS = ("0001",)
"""Every revision, oldest first; a test holds this against the migration files."""
NEEDS = {"0001": "contracts"}
"""Whether servers of the revision before may go on running after a revision: it `expands` if it only adds what they
need not know, so they may; it `contracts` if they must be stopped first."""
AHEAD = 2
"""A server still works with a schema that is up to so many revisions newer, if all of these expand."""
SERVER = "server "
"""The beginning of the name of the lease by which a server says that it is alive. The lease's holder is the schema that
the server knows."""
PINNED: dict[str, str] = {}
"""The fingerprint of each released revision, pinned at its release: from then on its SQL is never changed."""


def guards(engine: str, tables: TableSet, extensions: Iterable[Extension]) -> str:
    """Every trigger, function, policy and right: first those that note a change, then those that refuse a change."""
    return "\n".join(
        [
            "-- Each row that is touched is noted, for the ledger to cover it.",
            noticing(engine, tables.covered.values()),
            core_guards(engine, tables),
            "-- What follows from how each table is declared.",
            _declared_guards(engine, tables.declared),
            *(own_guards(extension, engine) for extension in extensions),
            *_last_guards(engine),
        ]
    )


def core_guards(engine: str, tables: TableSet) -> str:
    """The core's guards that are written by hand. Two of them reach into every table: a purge takes all rows of a
    memory, an erasure all rows of a book."""
    return with_columns(with_erasing(_guard_file("core", engine), tables.parents_first), engine)


def _declared_guards(engine: str, tables: Sequence[Table]) -> str:
    if engine == "sqlite":
        return sqlite_guards(tables)
    return postgresql_guards(tables)


def own_guards(extension: Extension, engine: str) -> str:
    """The guards of an extension that are written by hand."""
    if extension.guards is None:
        return ""
    return (resources.files(extension.guards) / "guards" / f"{engine}.sql").read_text(encoding="utf-8")


def _last_guards(engine: str) -> list[str]:
    """SQL that is run after functions were made on a server, and again after one was replaced."""
    if engine == "postgresql":
        return [_guard_file("last", engine)]
    return []


def _guard_file(room: str, engine: str) -> str:
    return (resources.files("keepbook.storage") / "guards" / f"{room}_{engine}.sql").read_text(encoding="utf-8")


def frozen(revision: str, engine: str) -> str:
    """The SQL of one migration."""
    place = resources.files("keepbook.storage") / "migrations" / "versions" / f"{revision}_{engine}.sql"
    return place.read_text(encoding="utf-8")


@cache
def fingerprint(revision: str) -> str:
    """The fingerprint of a revision, over the SQL of both engines, so that both name the same schema."""
    parts = "\0".join(frozen(revision, engine) for engine in ENGINES)
    return hashlib.sha256(parts.encode()).hexdigest()


def schema_mark(revision: str) -> str:
    """The mark that a book of this revision stores. If servers of older revisions may use it too, the oldest of these
    follows after `~`: they cannot know it in any other way."""
    own = f"{revision}_{fingerprint(revision)[:12]}"
    oldest = _oldest_served(revision)
    if oldest == revision:
        return own
    return f"{own}~{oldest}_{fingerprint(oldest)[:4]}"


def _oldest_served(revision: str) -> str:
    nth = REVISIONS.index(revision)
    first = nth
    while first > nth - AHEAD and NEEDS[REVISIONS[first]] == "expands":
        first -= 1
    return REVISIONS[first]


KNOWN = tuple(schema_mark(revision) for revision in REVISIONS)
HEAD = KNOWN[-1]


def schema_sql(engine: str, tables: TableSet, extensions: Sequence[Extension]) -> str:
    """A whole schema as SQL. With the extensions of this package it is the text of the newest migration, as
    `scripts/schema.py` writes it."""
    made = _made(engine, tables.parents_first)
    return ";\n\n".join(made) + ";\n\n" + guards(engine, tables, extensions) + _recorded(extensions)


def shipped_sql(engine: str) -> str:
    """The schema of today, with the extensions of this package."""
    return schema_sql(engine, shipped_tables(), tuple(shipped().values()))


def installing_sql(engine: str, extension: Extension, tables: TableSet, there: Collection[str], nth: int) -> str:
    """The SQL that installs one more extension, or a newer version of it: its tables that are not `there` yet, their
    guards, and the core's guards anew, since those reach into all `tables` that there will be. `nth` is its number in
    the record."""
    fresh = [table for table in tables_of(extension) if table.name not in there]
    parts = [
        *(f"{statement};" for statement in _made(engine, fresh)),
        noticing(engine, [table for table in fresh if rules_of(table).covered]),
        *_renewed_guards(engine, tables),
        _declared_guards(engine, fresh),
        *(replacing(statement, engine) for statement in split(own_guards(extension, engine))),
        *_last_guards(engine),
    ]
    return "\n".join(parts) + _recorded([extension], nth)


def _made(engine: str, tables: Iterable[Table]) -> list[str]:
    dialect = registry.load(engine)()
    parts = []
    for table in tables:
        parts.append(str(CreateTable(table).compile(dialect=dialect)))
        parts += [
            str(CreateIndex(index).compile(dialect=dialect))
            for index in sorted(table.indexes, key=lambda index: str(index.name))
        ]
    return ["\n".join(line.rstrip() for line in part.strip().splitlines()) for part in parts]


def _renewed_guards(engine: str, tables: TableSet) -> Iterator[str]:
    """The core's guards that reach into every table, made anew in place of those that are there."""
    for written in split(_guard_file("core", engine)):
        if PURGE not in written and ERASE not in written:
            continue
        yield replacing(with_columns(with_erasing(written, tables.parents_first), engine), engine)


_CREATE = regex(r"^((?:--[^\n]*\n|\s)*)CREATE (FUNCTION|TRIGGER) (\w+)")


def replacing(statement: str, engine: str) -> str:
    """The same statement that makes a guard, written so that it replaces one of that name."""
    if engine == "postgresql":
        return _CREATE.sub(r"\1CREATE OR REPLACE \2 \3", statement) + ";"
    return _CREATE.sub(r"\1DROP TRIGGER IF EXISTS \3;\nCREATE \2 \3", statement) + ";"


def grants_columns(statement: str) -> bool:
    """Whether a statement gives rights to single columns, which a cluster cannot pass on to its shards."""
    return statement.lstrip().startswith("GRANT UPDATE (")


def _recorded(extensions: Iterable[Extension], first: int = 1) -> str:
    """The SQL that enters extensions into the record of what is installed. `first` is the number of the first one."""
    lines = ["\n-- What is installed.\n"]
    for nth, one in enumerate(extensions, first):
        described = describe_tables(tables_of(one)).replace("'", "''")
        lines.append(
            f"INSERT INTO extensions (name, nth, version, tables)\n"
            f"VALUES ('{one.name}', {nth}, {one.version}, '{described}')\n"
            "ON CONFLICT (name) DO UPDATE SET version = excluded.version, tables = excluded.tables;\n"
        )
    return "".join(lines)


def install(conn: Connection, extension: Extension) -> None:
    """Make the tables and guards of an extension, inside the caller's transaction."""
    engine = conn.dialect.name
    record = read_record(conn)
    others = [one for one in record if one.name != extension.name]
    names = [one.name for one in record]
    if extension.name in names:
        nth = names.index(extension.name) + 1
    else:
        nth = len(names) + 1
    tables = TableSet(lambda: [*table_set(tuple(others)).of_extensions, *tables_of(extension)])
    there = set(inspect(conn).get_table_names())
    _refuse_foreign_tables(extension, record, there)
    for statement in split(installing_sql(engine, extension, tables, there, nth)):
        conn.exec_driver_sql(statement, execution_options={"no_parameters": True})


def _refuse_foreign_tables(extension: Extension, record: Record, there: Collection[str]) -> None:
    """Refuse to take over a table that somebody else made: an extension whose code is gone, or another program."""
    kept = [one for one in record if one.name == extension.name]
    own = {table.name for one in kept for table in rebuild_tables(one.tables)}
    for table in tables_of(extension):
        if table.name in there and table.name not in own:
            raise Invalid(
                f"extension {extension.name!r}: this database has a table {table.name!r} already; call yours otherwise",
                field="extensions",
            )


def expected_statements(engine: str, record: Record) -> list[str]:
    """Every statement that made a database with this record. The tables of extensions whose code is gone are left
    out."""
    known = {one.name: one for one in loaded_extensions()}
    done: list[InstalledExtension] = [one for one in record if one.name in SHIPPED]
    found = [*statements(engine)]
    added = [one for one in record if one.name not in SHIPPED]
    for one in added:
        done.append(one)
        tables = table_set(tuple(done))
        if one.name in known:
            there = {table.name for table in tables.declared} - {table.name for table in tables_of(known[one.name])}
            found += split(installing_sql(engine, known[one.name], tables, there, len(done)))
        else:
            found += split("\n".join([*_renewed_guards(engine, tables), *_last_guards(engine)]))
    return found


@cache
def statements(engine: str) -> tuple[str, ...]:
    """The newest schema as single statements; cached, since a program may make many books."""
    return tuple(split(frozen(REVISIONS[-1], engine)))


def revision(conn: Connection) -> str | None:
    """The schema's revision, or None if there is no schema yet."""
    if not inspect(conn).has_table("alembic_version"):
        return None
    return conn.execute(text("SELECT version_num FROM alembic_version")).scalar()


def stamp_revision(conn: Connection) -> None:
    conn.execute(
        text(
            "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
            "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
        )
    )
    conn.execute(text("INSERT INTO alembic_version (version_num) VALUES (:head)"), {"head": HEAD})


def serves_program(found: str | None) -> bool:
    """Whether this program runs on a schema: its own, or a newer one whose mark says that it serves this one too."""
    if found == HEAD:
        return True
    own, _, oldest = (found or "").partition("~")
    newer = own.partition("_")[0] > REVISIONS[-1]
    return newer and oldest != "" and any(mark.startswith(oldest) for mark in KNOWN)


def refuse_unserved(found: str | None) -> None:
    """Refuse a book that this program can neither use as it is nor migrate."""
    if not serves_program(found):
        refuse_unknown(found)


def refuse_unknown(found: str | None) -> None:
    """Refuse a book of a later version, or of a schema that was never released."""
    if found is None or found in KNOWN:
        return
    number, _, print_ = found.partition("_")
    if print_ and number > REVISIONS[-1]:
        raise Conflict(
            f"this book has schema {found}, which is newer than this program knows ({HEAD}); update keepbook",
            code="newer_schema",
        )
    raise Conflict(
        f"this book has schema {found}, which was never released, and this program has {HEAD}: "
        "export with the old version, import with this one",
        code="unreleased_schema",
    )


def migrate(conn: Connection) -> None:
    """Run the migrations up to HEAD on an open connection, inside its transaction. Refused while a server is alive that
    the new schema would not serve."""
    found = revision(conn)
    if found is not None:
        before = KNOWN.index(found) + 1
    else:
        before = 0
    if found is not None and REVISIONS[before:]:
        refuse_older_servers(conn)
    # Imported here, since Alembic is needed only to migrate.
    from alembic import command

    config = _config()
    config.attributes["connection"] = conn
    command.upgrade(config, "head")


def refuse_older_servers(conn: Connection) -> None:
    """Refuse to bring a schema up while a server is alive that it would not serve: one from before a revision that
    contracts, or more than AHEAD revisions behind."""
    oldest = _oldest_served(REVISIONS[-1])
    alive = conn.execute(
        text("SELECT name, holder, until FROM leases WHERE name LIKE :server"), {"server": f"{SERVER}%"}
    ).all()
    now = datetime.now(UTC)
    older = [one for one in alive if datetime.fromisoformat(one.until) > now and one.holder[:4] < oldest]
    if older:
        number = "one of them was" if len(older) == 1 else f"{len(older)} of them were"
        raise Conflict(
            f"the new schema serves none before revision {oldest}, and {number} alive within five minutes; "
            "stop them first, then upgrade again",
            code="older_servers",
        )


@cache
def _config() -> "Config":
    # See migrate().
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return config
