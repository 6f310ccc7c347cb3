"""The schema's versions: making it new, bringing an older one up, refusing a newer one.

A new SQLite book is made from `tables.py` and `guards/` in one go; an older one walks the Alembic
migrations, whose SQL is frozen text. A test holds the two against each other.
"""

from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text

from keepbook.errors import Conflict

if TYPE_CHECKING:
    from alembic.config import Config

HEAD = "0006"
KNOWN = ("0001", "0002", "0003", "0004", "0005", "0006")
"""Every released revision, oldest first; a test holds this against the migration files."""


def guards(engine: str) -> str:
    return (resources.files("keepbook.storage") / "guards" / f"{engine}.sql").read_text(encoding="utf-8")


def revision(conn: Connection) -> str | None:
    """The schema's revision, or None where there is none yet."""
    if not inspect(conn).has_table("alembic_version"):
        return None
    return conn.execute(text("SELECT version_num FROM alembic_version")).scalar()


def stamp(conn: Connection) -> None:
    conn.execute(
        text(
            "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL, "
            "CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num))"
        )
    )
    conn.execute(text("INSERT INTO alembic_version (version_num) VALUES (:head)"), {"head": HEAD})


def refuse_newer(found: str | None) -> None:
    if found is not None and found not in KNOWN:
        raise Conflict(
            f"this book has schema {found}, which is newer than this program knows ({HEAD}); update keepbook",
            code="newer_schema",
        )


def migrate(conn: Connection) -> None:
    """Walk the migrations up to HEAD on an open connection, inside its transaction."""
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
