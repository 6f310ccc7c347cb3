"""Backups of a whole database with all its owners, and opening a backup aside to look into it.

SQLite copies itself from one snapshot. PostgreSQL is copied by its own `pg_dump` and opened by `pg_restore`, as the
administrator: a role that row-level security binds would dump an empty book.
"""

import os
import secrets
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import create_engine, make_url, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from keepbook.errors import Invalid, KeepbookError, NotAllowed, NotFound
from keepbook.forking import FORK_GATE
from keepbook.storage.database import is_postgresql
from keepbook.storage.engines.book_file import connect_file

OWNERS = "SELECT owner FROM ledger UNION SELECT owner FROM covers ORDER BY owner"
"""The query for all owners: those who have a chain."""
ENDINGS = {"sqlite": ".db", "postgresql": ".dump"}


def ending(address: str) -> str:
    """The file ending of a backup."""
    return ENDINGS["postgresql" if is_postgresql(address) else "sqlite"]


def copy(address: str, target: Path, busy_seconds: float = 30.0) -> None:
    """Write one snapshot of everything, which writers do not disturb. It is on disk when this returns."""
    if is_postgresql(address):
        _program("pg_dump", ["--format=custom", f"--file={target}"], _url(address))
    else:
        _copy_file(Path(address), target, busy_seconds)
    with target.open("rb+") as file:
        os.fsync(file.fileno())


@contextmanager
def open_copy(address: str, made: Path) -> Iterator[tuple[str, list[str]]]:
    """Open a backup as a database of its own, for reading. Yields its address and the owners in it. The backup is not
    changed. A SQLite backup is copied to a temporary folder; a PostgreSQL backup is restored into a temporary database
    on the server of `address`."""
    if not made.is_file():
        raise NotFound(f"there is no copy at {made}; check its name", field="file")
    with made.open("rb") as file:
        is_file = file.read(16).startswith(b"SQLite format 3")
    if is_file == is_postgresql(address):
        if is_file:
            kind, other = "SQLite", "PostgreSQL"
        else:
            kind, other = "PostgreSQL", "SQLite"
        raise Invalid(f"{made} is no copy of a {other} book; name the {kind} book with --db", field="file")
    with _file_aside(made) if is_file else _server_aside(address, made) as found:
        yield found


# SQLite


def _copy_file(source: Path, target: Path, busy_seconds: float) -> None:
    """Copied by VACUUM INTO, which reads one snapshot. The backup API would start over with each write to the source,
    and never end beside a connection that keeps a transaction open."""
    with FORK_GATE, closing(connect_file(str(source), timeout=busy_seconds, isolation_level=None)) as connection:
        try:
            connection.execute("VACUUM INTO ?", (str(target),))
        except sqlite3.OperationalError as error:
            raise KeepbookError(f"the copy failed: {error}; nothing was written", code="disk_error") from None


@contextmanager
def _file_aside(made: Path) -> Iterator[tuple[str, list[str]]]:
    with tempfile.TemporaryDirectory(prefix="keepbook-") as folder:
        place = Path(folder) / "aside.db"
        shutil.copyfile(made, place)
        try:
            with closing(sqlite3.connect(place)) as connection:
                owners = [str(row[0]) for row in connection.execute(OWNERS)]
        except sqlite3.DatabaseError as error:
            raise Invalid(f"{made} is damaged: {error}; take an older copy", field="file", code="not_a_book") from None
        yield str(place), owners


# PostgreSQL


@contextmanager
def _server_aside(address: str, made: Path) -> Iterator[tuple[str, list[str]]]:
    url, name = _url(address), f"keepbook_check_{secrets.token_hex(6)}"
    _as_admin(url, f'CREATE DATABASE "{name}" TEMPLATE template0')
    try:
        aside = url.set(database=name)
        _program("pg_restore", ["--exit-on-error", "--no-owner", f"--dbname={name}", str(made)], url)
        engine = create_engine(aside)
        try:
            with engine.connect() as conn:
                owners = [str(owner) for owner in conn.execute(text(OWNERS)).scalars()]
        finally:
            engine.dispose()
        yield aside.set(drivername="postgresql").render_as_string(hide_password=False), owners
    finally:
        _as_admin(url, f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def _url(address: str) -> URL:
    return make_url(address).set(drivername="postgresql+psycopg")


def _as_admin(url: URL, statement: str) -> None:
    engine = create_engine(url, isolation_level="AUTOCOMMIT", connect_args={"connect_timeout": 10})
    try:
        with engine.connect() as conn:
            conn.execute(text(statement))
    except DBAPIError as error:
        why = str(error.orig).strip().splitlines()[0]
        raise NotAllowed(
            f"a copy is opened in a database of its own, and the login {url.username!r} may not make one ({why}); "
            f'let a superuser say ALTER ROLE "{url.username}" CREATEDB, or name another login in KEEPBOOK_ADMIN_DB',
            code="not_admin",
        ) from None
    finally:
        engine.dispose()


def _program(name: str, words: Sequence[str], url: URL) -> None:
    """Run one of PostgreSQL's programs. The password is passed in the environment, as process lists show arguments."""
    found = shutil.which(name)
    if found is None:
        raise NotFound(f"{name} is not installed here; it comes with PostgreSQL's client programs", code="no_program")
    plain = URL.create("postgresql", url.username, None, url.host, url.port, url.database, url.query)
    environment = {**os.environ, "PGOPTIONS": ""}
    if url.password is not None:
        environment["PGPASSWORD"] = str(url.password)
    if name == "pg_restore":  # its --dbname is the new database's name, so the server is named by the environment
        environment |= _server(url)
    else:
        words = [*words, f"--dbname={plain.render_as_string()}"]
    command = [found, *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 the database's own
    if done.returncode != 0:
        why = next((line for line in done.stderr.splitlines() if line.strip()), f"it ended with {done.returncode}")
        if "row-level security" in done.stderr:
            why += (
                f'; a copy holds every owner: let a superuser say ALTER ROLE "{url.username}" BYPASSRLS, or name '
                "another login in KEEPBOOK_ADMIN_DB"
            )
        raise KeepbookError(why, code="copy_failed")


def _server(url: URL) -> dict[str, str]:
    host = url.host or url.query.get("host")
    port = url.port or url.query.get("port")
    named = {"PGHOST": host, "PGPORT": port, "PGUSER": url.username}
    return {name: str(value) for name, value in named.items() if value}
