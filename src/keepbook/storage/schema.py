"""The schema's versions: making a new schema, upgrading an older one, refusing an unknown one.

A new SQLite book is made from `tables/` and `guards/` in one go; an older one, and every PostgreSQL, runs the Alembic
migrations, whose SQL is frozen text. A test compares the two.

A book stores its revision with the fingerprint of that revision's SQL (`0001_5f2e…`). The newest revision stays open
until it is released: a change of its SQL makes another fingerprint, and a book made before is refused, not misread.
"""

import hashlib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text
from sqlalchemy.dialects import registry
from sqlalchemy.schema import CreateIndex, CreateTable

from keepbook.errors import Conflict
from keepbook.storage.cover_rules import noticing
from keepbook.storage.guard_rules import postgresql_guards, sqlite_guards, with_columns, with_erasing
from keepbook.storage.statements import split
from keepbook.storage.tables import DECLARED
from keepbook.storage.tables.declare import metadata

if TYPE_CHECKING:
    from alembic.config import Config

ENGINES = ("sqlite", "postgresql")
REVISIONS = ("0001",)
"""Every revision, oldest first; a test holds this against the migration files."""
PINNED: dict[str, str] = {}
"""The fingerprint of each released revision, pinned at its release: from then on its SQL is never changed."""


def guards(engine: str) -> str:
    """Every trigger, function, policy and right: first those that note a change, then those that refuse a change."""
    refusing = sqlite_guards(DECLARED) if engine == "sqlite" else postgresql_guards(DECLARED)
    return "\n".join(
        [
            "-- Each row that is touched is noted, for the ledger to cover it.",
            noticing(engine),
            with_columns(with_erasing(_guard_file("core", engine), DECLARED), engine),
            "-- What follows from how each table is declared.",
            refusing,
            _guard_file("agents", engine),
            _guard_file("trading", engine),
            *([_guard_file("last", engine)] if engine == "postgresql" else []),
        ]
    )


def _guard_file(room: str, engine: str) -> str:
    """The rules of a room that no declaration can say."""
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
    """The mark that a book of this revision stores."""
    return f"{revision}_{fingerprint(revision)[:12]}"


KNOWN = tuple(schema_mark(revision) for revision in REVISIONS)
HEAD = KNOWN[-1]


def schema_sql(engine: str) -> str:
    """The whole schema of today as SQL: the text of the open migration, as `scripts/schema.py` writes it."""
    dialect = registry.load(engine)()
    parts = []
    for table in metadata.sorted_tables:
        parts.append(str(CreateTable(table).compile(dialect=dialect)))
        parts += [
            str(CreateIndex(index).compile(dialect=dialect))
            for index in sorted(table.indexes, key=lambda index: str(index.name))
        ]
    tidy = ["\n".join(line.rstrip() for line in part.strip().splitlines()) for part in parts]
    return ";\n\n".join(tidy) + ";\n\n" + guards(engine)


@cache
def statements(engine: str) -> tuple[str, ...]:
    """The schema of today as single statements, cached, however many books a program makes."""
    return tuple(split(schema_sql(engine)))


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
    """Run the migrations up to HEAD on an open connection, inside its transaction."""
    # Loaded lazily: Alembic is needed only where a schema moves.
    from alembic import command

    config = _config()
    config.attributes["connection"] = conn
    command.upgrade(config, "head")


@cache
def _config() -> "Config":
    # See migrate().
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return config
