"""Opens a whole database for one program alone, without its guards: only for `keepbook db mend`.

No other program may have it open, since no guard would check what it writes. Everything happens in one transaction, in
which the triggers are removed (or disabled) and put back; if it fails, nothing has changed.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from keepbook.errors import Conflict, NotAllowed
from keepbook.storage.database import is_postgresql
from keepbook.storage.installed import read_record, table_set

ENDING_SECONDS = 2.0
"""How long to wait for other programs to disconnect."""
_OTHERS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""


@contextmanager
def open_unguarded(address: str) -> Iterator[Connection]:
    """A transaction without guards. Raises `Conflict` if another program has the database open."""
    with _server(address) if is_postgresql(address) else _file(address) as conn:
        yield conn


def refuse_in_use(address: str) -> None:
    """Refuse a database that another program has open."""
    with open_unguarded(address):
        pass


def serve_owner(conn: Connection, owner: str) -> None:
    """Set the owner whose rows are visible: PostgreSQL's policies bind an administrator who is not a superuser."""
    if conn.dialect.name == "postgresql":
        conn.execute(text("SELECT keepbook_serve(:owner)"), {"owner": owner})


def _in_use() -> Conflict:
    return Conflict("another program has this book open; stop the server and whatever else uses it", code="busy")


@contextmanager
def _file(path: str) -> Iterator[Connection]:
    driver = sqlite3.connect(path, timeout=0, isolation_level=None)
    engine = create_engine(
        "sqlite://",
        creator=lambda: driver,
        poolclass=StaticPool,
        isolation_level="AUTOCOMMIT",
        pool_reset_on_return=None,
    )
    try:
        conn = engine.connect()  # first, as SQLAlchemy runs some queries of its own and rolls back
        # Set before the log is first used, it keeps everybody else out, readers too.
        driver.execute("PRAGMA locking_mode = EXCLUSIVE")
        driver.execute("PRAGMA secure_delete = ON")
        driver.execute("PRAGMA synchronous = FULL")
        driver.execute("BEGIN EXCLUSIVE")
        asleep = driver.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in asleep:
            driver.execute(f'DROP TRIGGER "{name}"')
        yield conn
        for _, sql in asleep:
            driver.execute(sql)
        driver.commit()
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise _in_use() from None
        raise
    finally:
        driver.rollback()
        driver.close()


def _wait_for_others(conn: Connection) -> None:
    """Wait until no other program is connected: one that has just ended is still listed for a moment."""
    deadline = time.monotonic() + ENDING_SECONDS
    while conn.execute(text(_OTHERS)).scalar():
        if time.monotonic() > deadline:
            raise _in_use()
        conn.execute(text("SELECT pg_stat_clear_snapshot()"))
        time.sleep(0.05)


@contextmanager
def _server(address: str) -> Iterator[Connection]:
    _, rest = address.split(":", 1)
    engine = create_engine(f"postgresql+psycopg:{rest}", connect_args={"connect_timeout": 10})
    try:
        with engine.begin() as conn:
            _wait_for_others(conn)
            owned = [table.name for table in table_set(read_record(conn)).declared if "owner" in table.c]
            for name in owned:
                conn.execute(text(f'LOCK TABLE "{name}" IN ACCESS EXCLUSIVE MODE'))
                conn.execute(text(f'ALTER TABLE "{name}" DISABLE TRIGGER USER'))
            yield conn
            for name in owned:
                conn.execute(text(f'ALTER TABLE "{name}" ENABLE TRIGGER USER'))
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != "42501":
            raise
        raise NotAllowed(
            "this login may not put the guards to sleep; name the administrator in KEEPBOOK_ADMIN_DB", code="not_admin"
        ) from None
    finally:
        engine.dispose()
