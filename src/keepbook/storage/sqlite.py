"""SQLite: one file, no server, several processes.

Write-ahead log with synchronous=FULL: what was acknowledged survives a power cut. Writers begin IMMEDIATE and
wait for each other, so no reader is upgraded half way and none sees "database is locked". Deleted bytes are
overwritten (secure_delete). A book in memory has one connection, taken in turns.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool, StaticPool

from keepbook.errors import Conflict, Invalid, KeepbookError, LimitReached, NotAllowed
from keepbook.extension import Extension
from keepbook.storage import schema
from keepbook.storage.installed import Record, read_record, to_install
from keepbook.storage.prepared_statement import driver_of
from keepbook.storage.schema import install

APPLICATION_ID = 0x4B424F4B
"""Marks a SQLite file as a book ("KBOK"), so that another program's file is never taken for one."""

IN_MEMORY = ":memory:"
KEPT_OPEN = 8
"""So many connections wait for the next transaction; more are opened when more are needed, and closed after."""

Found = TypeVar("Found")


class Sqlite:
    """The engine of one file, or of one book in memory."""

    driver_error: type[Exception] = sqlite3.Error

    def __init__(self, path: str, busy_seconds: float) -> None:
        self.address = path
        self._busy_seconds = busy_seconds
        self._in_memory = path == IN_MEMORY
        self._turn: AbstractContextManager[Any] = threading.RLock() if self._in_memory else nullcontext()
        if not self._in_memory:
            _check_place(Path(path))
        self._engine = self._make_engine()
        self._idle: list[Connection] = []
        self._most_idle = KEPT_OPEN

    def prepare(self, extensions: Sequence[Extension]) -> Record:
        with self._begin("DEFERRED") as conn:
            found = self._recognise(conn)
            record = read_record(conn) if found == schema.HEAD else ()
        if found == schema.HEAD and not to_install(record, extensions):
            return record
        with self._begin("IMMEDIATE") as conn:
            found = self._recognise(conn)  # another process may have been first
            if found is None:
                for statement in schema.statements("sqlite"):
                    driver_of(conn).execute(statement)
                schema.stamp_revision(conn)
                conn.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
            elif found != schema.HEAD:
                schema.migrate(conn)
            for one in to_install(read_record(conn), extensions):
                install(conn, one)
            return read_record(conn)

    def reading(self, owner: str) -> AbstractContextManager[Connection]:
        return self._begin("DEFERRED")

    def writing(self, owner: str) -> AbstractContextManager[Connection]:
        return self._begin("IMMEDIATE")

    def unscoped(self, *, writes: bool, write_lock: str | None = None) -> AbstractContextManager[Connection]:
        return self._begin("IMMEDIATE" if writes else "DEFERRED")

    def query_once(self, ask: Callable[[Connection], Found]) -> Found:
        if self._in_memory:  # there its one connection may be in the middle of something
            with self._begin("DEFERRED") as conn:
                return ask(conn)
        conn = self._take()
        try:
            found = ask(conn)
        except BaseException:
            conn.close()
            raise
        self._leave(conn)
        return found

    def compact(self) -> list[str]:
        """Rewrite the file and empty the log: deleted bytes are overwritten at once, but a rebalanced page keeps copies
        in its gaps, and the log keeps older pages. A reader in another process can hold that back."""
        if self._in_memory:
            return []
        left = []
        conn = self._connect()
        try:
            conn.execute("VACUUM")
            deadline = time.monotonic() + min(self._busy_seconds, 5.0)
            while conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                if time.monotonic() > deadline:
                    left.append("the write-ahead log while another program reads it; it empties itself after that")
                    break
                time.sleep(0.05)
        except sqlite3.OperationalError:
            left.append("the free space of the file while another program uses it; erase again to compact it")
        finally:
            conn.close()
        return left

    def copy_into(self, other: Any) -> None:
        """Make another book in memory the same as this one in memory, page by page."""
        if not isinstance(other, Sqlite):
            raise _not_in_memory()
        with other._alone() as there, self._alone() as here:
            here.backup(there)

    def image(self) -> bytes:
        """This book in memory as the bytes of a file."""
        with self._alone() as here, closing(sqlite3.connect(":memory:")) as whole:
            here.backup(whole)
            whole.execute("VACUUM")
            return whole.serialize()

    def become(self, image: bytes) -> bool:
        """Take over, in memory, the contents of an image; False if its schema is not the one that is here."""
        with self._alone() as here, closing(sqlite3.connect(":memory:")) as given:
            given.deserialize(image)
            if _schema(given) != _schema(here):
                return False
            given.backup(here)
            return True

    @contextmanager
    def _alone(self) -> Iterator[sqlite3.Connection]:
        """The connection of a book in memory, which has one."""
        if not self._in_memory:
            raise _not_in_memory()
        with self._turn:
            here: Any = self._engine.raw_connection().driver_connection
            yield here

    def refusal(self, error: Exception) -> KeepbookError | None:
        driver = getattr(error, "orig", error)
        if isinstance(driver, sqlite3.IntegrityError):
            return Invalid(f"the book cannot hold that: {driver}", code="refused")
        return _refusal(str(driver), self.address)

    def damage(self) -> KeepbookError | None:
        if self._in_memory:
            return None
        try:
            with self._begin("DEFERRED") as conn:
                conn.exec_driver_sql("SELECT sql FROM sqlite_master").all()  # the check below does not read its words
                whole = conn.exec_driver_sql("PRAGMA integrity_check(1)").scalar() == "ok"
        except (DBAPIError, sqlite3.Error) as error:
            return self.refusal(error) or _damaged_error(self.address)
        except UnicodeDecodeError:  # what SQLite says of a damaged schema quotes it
            whole = False
        return None if whole else _damaged_error(self.address)

    def facts(self) -> dict[str, str]:
        size = "in memory" if self._in_memory else f"{Path(self.address).stat().st_size / 1e6:.1f} MB"
        return {
            "engine": f"SQLite {sqlite3.sqlite_version}",
            "place": self.address,
            "size": size,
            "schema": schema.HEAD,
        }

    def close(self) -> None:
        self._most_idle = 0  # a thread that is still at it closes its own
        while self._idle:
            self._idle.pop().close()
        self._engine.dispose()

    @contextmanager
    def _begin(self, mode: str) -> Iterator[Connection]:
        # By the driver itself: each transaction begins and ends here, and Core's way costs more than SQLite's.
        with self._turn:
            conn = self._take()
            driver = driver_of(conn)
            try:
                driver.execute(f"BEGIN {mode}")
                yield conn
                driver.commit()
            except BaseException:
                try:
                    driver.rollback()
                finally:
                    conn.close()
                raise
            self._leave(conn)

    def _take(self) -> Connection:
        """A connection that somebody left; to ask the pool for one costs more than a short transaction."""
        try:
            return self._idle.pop()
        except IndexError:
            return self._engine.connect()

    def _leave(self, conn: Connection) -> None:
        """For the next."""
        conn.commit()  # what Core has begun for itself, if it was asked at all
        if len(self._idle) < self._most_idle:
            self._idle.append(conn)
        else:
            conn.close()

    def _recognise(self, conn: Connection) -> str | None:
        """The schema's revision; None for an empty file; refuses what is not a book or is too new."""
        driver = driver_of(conn)
        tables, stamped = driver.execute("SELECT count(*), max(name = 'alembic_version') FROM sqlite_master").fetchone()
        stamp = driver.execute("SELECT version_num FROM alembic_version").fetchone() if stamped else None
        found = stamp[0] if stamp else None
        mark = driver.execute("PRAGMA application_id").fetchone()[0]
        if tables and (found is None or mark != APPLICATION_ID):
            raise _not_a_book(self.address)
        schema.refuse_unknown(found)
        return found

    def _make_engine(self) -> Engine:
        if self._in_memory:
            pool: dict[str, Any] = {"poolclass": StaticPool}
        else:
            pool = {
                "poolclass": QueuePool,
                "pool_size": KEPT_OPEN,
                "max_overflow": 56,
                "pool_timeout": self._busy_seconds,
            }
        engine = create_engine(
            "sqlite://",
            creator=self._connect,
            isolation_level="AUTOCOMMIT",  # it begins and ends nothing by itself
            pool_reset_on_return=None,  # every transaction here ends itself
            **pool,
        )
        event.listen(engine, "handle_error", _stay_connected)
        return engine

    def _connect(self) -> sqlite3.Connection:
        conn = sqlite3.connect(
            self.address,
            timeout=self._busy_seconds,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        try:
            if not self._in_memory and conn.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                self._switch_to_wal(conn)
            conn.execute("PRAGMA synchronous = FULL")
            conn.execute("PRAGMA foreign_keys = ON")
            conn.execute("PRAGMA secure_delete = ON")
            conn.execute("PRAGMA cache_size = -32000")
        except BaseException:
            conn.close()
            raise
        return conn

    def _switch_to_wal(self, conn: sqlite3.Connection) -> None:
        """Changing the journal mode ignores the busy timeout, so two first openers have to take turns here."""
        deadline = time.monotonic() + self._busy_seconds
        while True:
            try:
                conn.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)


def _stay_connected(context: Any) -> None:
    """Core would close a connection that Ctrl-C cut short, and a book in memory with it. Here no server waits for the
    rest of a sentence: the transaction is rolled back, and the connection is as good as before."""
    context.is_disconnect = False


def _schema(conn: sqlite3.Connection) -> set[tuple[str, ...]]:
    return set(conn.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_master"))


def _not_in_memory() -> Invalid:
    return Invalid("only a book in memory is copied like this; use keepbook export and import", field="db")


def _check_place(path: Path) -> None:
    """What SQLite would call "unable to open database file", said so that one can act on it."""
    if path.is_dir():
        raise Invalid(f"{path} is a folder; give the path of a file, such as {path / 'keepbook.db'}", field="db")
    if not path.exists():
        if not path.parent.is_dir():
            raise Invalid(f"the folder {path.parent} does not exist; make it first, or choose another path", field="db")
        if not os.access(path.parent, os.W_OK):
            raise NotAllowed(f"the folder {path.parent} cannot be written to; choose another path", code="read_only")
        return
    if not os.access(path, os.R_OK):
        raise NotAllowed(f"{path} cannot be read by this user; check its permissions", code="read_only")
    with path.open("rb") as file:
        head = file.read(100)
    if head and not head.startswith(b"SQLite format 3\x00"):
        raise Invalid(
            f"{path} is not a book (not even a SQLite file); choose another path",
            code="not_a_book",
            field="db",
        )
    # Read off the file's header, so that another program's file is not even opened.
    schema_cookie, application = int.from_bytes(head[40:44], "big"), int.from_bytes(head[68:72], "big")
    if schema_cookie and application != APPLICATION_ID:
        raise _not_a_book(str(path))


def _not_a_book(place: str) -> Invalid:
    return Invalid(
        f"{place} is a SQLite file of another program, not a book; choose another path", code="not_a_book", field="db"
    )


def _refusal(words: str, place: str) -> KeepbookError | None:
    if "database is locked" in words or "database table is locked" in words:
        return Conflict(f"{place} is busy: another program has been writing to it for long; try again", code="busy")
    if "readonly database" in words or "unable to open database file" in words:
        return NotAllowed(
            f"{place} cannot be written to; check the permissions of the file and its folder",
            code="read_only",
        )
    if "disk is full" in words:
        return LimitReached(
            f"the disk that holds {place} is full; nothing was written; make room and try again",
            code="disk_full",
        )
    if "disk I/O error" in words:
        return KeepbookError(f"the disk that holds {place} gave an error; nothing was written", code="disk_error")
    if "malformed" in words or "not a database" in words or "Could not decode to UTF-8" in words:
        return _damaged_error(place)
    return None


def _damaged_error(place: str) -> Invalid:
    return Invalid(f"{place} is damaged or not a book; restore it from a backup", code="not_a_book", field="db")
