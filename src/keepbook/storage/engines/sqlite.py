"""SQLite: one file, no server, several processes.

It uses a write-ahead log with synchronous=FULL: what was acknowledged survives a power cut. Writers begin IMMEDIATE and
wait for each other, so no reader is upgraded half way and none sees "database is locked". Deleted bytes are overwritten
(secure_delete). A book in memory has one connection, which threads take in turns.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Self, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool, StaticPool

from keepbook.errors import Invalid, KeepbookError
from keepbook.extension import Extension
from keepbook.forking import FORK_GATE, follow_forks, forked, keep_for_ever
from keepbook.storage import schema
from keepbook.storage.engines import book_file
from keepbook.storage.engines.book_file import APPLICATION_ID, FileConnection, FileIdentity
from keepbook.storage.engines.empty_copy import empty_copy
from keepbook.storage.engines.removed_bytes import note_removal, overwrite_removed, removals
from keepbook.storage.engines.sqlite_connection import WatchedConnection
from keepbook.storage.installed import Record, read_record, to_install
from keepbook.storage.prepared_statement import driver_of
from keepbook.storage.schema import install
from keepbook.storage.transactions.savepoints import WaitsFor
from keepbook.storage.transactions.signal_safe import signal_safe

IN_MEMORY = ":memory:"
WAIT_MILLISECONDS = 100
"""How long a writer waits for the file's lock at once. Between two waits it lets the process fork."""
KEPT_OPEN = 8
"""How many idle connections are kept. More are opened when more are needed, and closed afterwards."""

Found = TypeVar("Found")


class Sqlite:
    """The engine of one file, or of one book in memory."""

    driver_error: type[Exception] = sqlite3.Error

    def __init__(self, path: str, busy_seconds: float) -> None:
        self.address = path
        self._busy_seconds = busy_seconds
        self._patience = round(busy_seconds * 1000)
        self._in_memory = path == IN_MEMORY
        self.waits_for: WaitsFor = "anybody" if self._in_memory else "writer"
        self._turn: AbstractContextManager[Any] = threading.RLock() if self._in_memory else nullcontext()
        self._path = os.path.abspath(path)  # the program may change its working directory later
        self._file: FileIdentity = None
        self._inherited = False
        if not self._in_memory:
            book_file.check_place(Path(path))
        self._engine = self._make_engine()
        self._idle: list[Connection] = []
        self._most_idle = KEPT_OPEN
        follow_forks(self)

    def prepare(self, extensions: Sequence[Extension]) -> Record:
        with self._begin("DEFERRED") as conn:
            found = self._recognise(conn)
            if schema.serves_program(found):
                record = read_record(conn)
            else:
                record = ()
        if schema.serves_program(found) and not to_install(record, extensions):
            return record
        with self._begin("IMMEDIATE") as conn:
            found = self._recognise(conn)  # another process may have been first
            if found is None:
                for statement in schema.statements("sqlite"):
                    driver_of(conn).execute(statement)
                schema.stamp_revision(conn)
                conn.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
            elif not schema.serves_program(found):
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

    def administering(self, address: str | None) -> AbstractContextManager[Connection]:
        return self._begin("IMMEDIATE")  # a file has no administrator of its own

    def query_once(self, ask: Callable[[Connection], Found]) -> Found:
        if self._in_memory:  # its one connection may be in use by another thread: take a turn
            with self._begin("DEFERRED") as conn:
                return ask(conn)
        with FORK_GATE:
            conn = self._take()
            driver_of(conn).wait_for(self._patience)
            try:
                found = ask(conn)
            except BaseException:
                conn.close()
                raise
            self._leave(conn)
            return found

    def changes(self, conn: Connection) -> int:
        changed: int = driver_of(conn).total_changes
        return changed

    def is_sound(self, conn: Connection) -> bool:
        driver: WatchedConnection = driver_of(conn)
        return driver.in_transaction and not driver.failed

    def move_savepoint(self, conn: Connection, statement: str) -> None:
        driver: WatchedConnection = driver_of(conn)
        driver.execute(statement)
        driver.failed = False

    def compact(self) -> list[str]:
        if self._in_memory:
            return []
        with FORK_GATE:
            return overwrite_removed(self._connect, self._path)

    def note_removal(self, conn: Connection) -> None:
        if not self._in_memory:
            note_removal(driver_of(conn))

    def holds_removed(self) -> bool:
        if self._in_memory:
            return False
        with self._begin("DEFERRED") as conn:
            return removals(driver_of(conn)) > 0

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
        """Replace this book in memory by the contents of an image. Returns False, and does nothing, if their schemas
        differ."""
        with self._alone() as here, closing(sqlite3.connect(":memory:")) as given:
            given.deserialize(image)
            if _schema(given) != _schema(here):
                return False
            given.backup(here)
            return True

    def become_empty_like(self, other: sqlite3.Connection) -> None:
        with self._alone() as here, closing(empty_copy(other)) as made:
            made.backup(here)

    @contextmanager
    def _alone(self) -> Iterator[sqlite3.Connection]:
        """A turn on the only connection of a book in memory."""
        if not self._in_memory:
            raise _not_in_memory()
        with self._turn, FORK_GATE:
            self._refuse_inherited()
            here: Any = self._engine.raw_connection().driver_connection
            yield here

    def refusal(self, error: Exception) -> KeepbookError | None:
        driver = getattr(error, "orig", error)
        if isinstance(driver, sqlite3.IntegrityError):
            return Invalid(f"the book cannot hold that: {driver}", code="refused")
        return book_file.refusal_of(str(driver), self.address)

    def damage(self) -> KeepbookError | None:
        if self._in_memory:
            return None
        try:
            with self._begin("DEFERRED") as conn:
                conn.exec_driver_sql("SELECT sql FROM sqlite_master").all()  # the check below does not read the schema
                whole = conn.exec_driver_sql("PRAGMA integrity_check(1)").scalar() == "ok"
        except (DBAPIError, sqlite3.Error) as error:
            return self.refusal(error) or book_file.damaged_file(self.address)
        except UnicodeDecodeError:  # SQLite's message about a damaged schema quotes the damaged bytes
            whole = False
        if whole:
            return None
        return book_file.damaged_file(self.address)

    def facts(self) -> dict[str, str]:
        if self._in_memory:
            size = "in memory"
        else:
            size = f"{Path(self.address).stat().st_size / 1e6:.1f} MB"
        return {
            "engine": f"SQLite {sqlite3.sqlite_version}",
            "place": self.address,
            "size": size,
            "schema": schema.HEAD,
        }

    def close(self) -> None:
        self._most_idle = 0  # so that a thread that still uses a connection closes it afterwards
        self._close_idle()

    def before_fork(self) -> None:
        FORK_GATE.shut()
        if not self._in_memory:
            self._close_idle()

    def renew_in_child(self) -> None:
        FORK_GATE.renew()
        book_file.set_open_files_aside()
        keep_for_ever((self._engine.pool, self._idle))
        self._inherited = self._in_memory
        if self._in_memory:
            self._turn = threading.RLock()
        else:
            self._turn = nullcontext()
        self._engine.dispose(close=False)
        self._idle = []

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()
        self._engine.pool.dispose()  # the pool stays: connections in use now return to it, and go at the next fork

    def _refuse_inherited(self) -> None:
        if self._inherited:
            raise forked("after this book in memory was made; open another here, or keep the book in a file")

    @signal_safe
    def _begin(self, mode: str) -> Iterator[Connection]:
        # Begun and ended through the driver: doing it through Core costs more than SQLite itself.
        with self._turn, _Passage() as inside:
            try:
                conn = self._take_begun(mode, inside)
                driver = driver_of(conn)
                writes_file = mode == "IMMEDIATE" and not self._in_memory
                driver.failed = False
                if writes_file:
                    driver.check_index()
                yield conn
                if writes_file:
                    driver.check_in_place()  # a commit to a replaced file would overwrite what others have there
                driver.commit()
                if writes_file:
                    driver.check_in_place()  # before the caller is told that the write was kept
            except BaseException:
                self._abandon(inside)
                raise
            self._leave(conn)

    def _take_begun(self, mode: str, inside: "_Passage") -> Connection:
        """A connection with its transaction begun, inside the fork gate. While it waits for the file's lock it leaves
        the gate now and then, holding no connection, so that a fork need not wait for the lock."""
        until = time.monotonic() + self._busy_seconds
        while True:
            inside.enter()
            conn = inside.conn = self._take()
            try:
                self._begin_soon(driver_of(conn), mode)
                return conn
            except sqlite3.OperationalError as error:
                if not book_file.is_locked(error) or time.monotonic() >= until:
                    raise
            self._abandon(inside)
            inside.leave()

    def _abandon(self, inside: "_Passage") -> None:
        """Roll back the transaction, and give the connection back."""
        conn = inside.conn
        inside.conn = None
        if conn is not None:
            try:
                driver_of(conn).rollback()
            finally:
                self._give_back(conn)

    def _begin_soon(self, driver: WatchedConnection, mode: str) -> None:
        """Begin a transaction. A writer waits for the lock only here, so briefly, and is asked again; a reader may have
        to wait at any statement while the file is opened or closed."""
        if driver.in_transaction:  # a signal kept its last user from ending it
            driver.rollback()
        if not self._in_memory:
            driver.wait_for(WAIT_MILLISECONDS if mode == "IMMEDIATE" else self._patience)
        driver.execute(f"BEGIN {mode}")

    def _take(self) -> Connection:
        """An idle connection, or a new one. Kept here, since asking the pool costs more than a short transaction."""
        self._refuse_inherited()
        try:
            return self._idle.pop()
        except IndexError:
            return self._engine.connect()

    def _leave(self, conn: Connection) -> None:
        """Leave a connection for the next transaction."""
        conn.commit()  # ends the transaction that Core believes it has begun, if Core was used
        if len(self._idle) < self._most_idle:
            self._idle.append(conn)
        else:
            self._give_back(conn)

    def _give_back(self, conn: Connection) -> None:
        if not self._most_idle:
            conn.detach()  # this engine is closed: in the pool the connection would stay open
        conn.close()

    def _recognise(self, conn: Connection) -> str | None:
        """The schema's revision, or None for an empty file. Refuses a file that is no book or is too new."""
        driver = driver_of(conn)
        tables, stamped = driver.execute("SELECT count(*), max(name = 'alembic_version') FROM sqlite_master").fetchone()
        stamp = driver.execute("SELECT version_num FROM alembic_version").fetchone() if stamped else None
        found = stamp[0] if stamp else None
        mark = driver.execute("PRAGMA application_id").fetchone()[0]
        if tables and (found is None or mark != APPLICATION_ID):
            raise book_file.not_a_book(self.address)
        schema.refuse_unserved(found)
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
            isolation_level="AUTOCOMMIT",  # Core itself begins and ends no transaction
            pool_reset_on_return=None,  # transactions end themselves; `_take_back` ends those cut short by a signal
            hide_parameters=True,  # keeps what people said out of errors and logs
            **pool,
        )
        event.listen(engine, "handle_error", _stay_connected)
        if not self._in_memory:
            event.listen(engine, "reset", _take_back)
        return engine

    def _connect(self) -> sqlite3.Connection:
        options: dict[str, Any] = {
            "timeout": self._busy_seconds,
            "isolation_level": None,
            "check_same_thread": False,
            "cached_statements": 256,
        }
        conn: WatchedConnection
        if self._in_memory:
            conn = sqlite3.connect(IN_MEMORY, factory=WatchedConnection, **options)
        else:
            conn = self._connect_file(options)
        try:
            if isinstance(conn, FileConnection):
                if conn.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                    self._switch_to_wal(conn)
                    conn.execute("SELECT count(*) FROM sqlite_master").fetchone()  # its first reader makes the log
                conn.note_place()
            conn.execute("PRAGMA synchronous = FULL")
            conn.execute("PRAGMA foreign_keys = ON")
            conn.execute("PRAGMA secure_delete = ON")
            conn.execute("PRAGMA cache_size = -32000")
        except BaseException:
            conn.close()
            raise
        return conn

    def _connect_file(self, options: dict[str, Any]) -> FileConnection:
        """Open the file. Later connections are refused if it is no longer the file that the first one opened."""
        if self._file is not None and book_file.identity_of(self._path) != self._file:
            raise book_file.moved(self._path)
        conn = book_file.connect_file(self._path, **options)
        self._file = conn.file
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


class _Passage:
    """A block that may enter and leave the fork gate, and leaves it at the end; `conn` is the connection it holds."""

    __slots__ = ("_is_inside", "conn")

    def __enter__(self) -> Self:
        self._is_inside = False
        self.conn: Connection | None = None
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def enter(self) -> None:
        FORK_GATE.__enter__()
        self._is_inside = True

    def leave(self) -> None:
        if self._is_inside:
            self._is_inside = False
            FORK_GATE.__exit__()


def _stay_connected(context: Any) -> None:
    """Keep a connection that Ctrl-C interrupted. Core would close it, and with it lose a book in memory. After a
    rollback it is as good as before: no server waits for the rest of a message."""
    context.is_disconnect = False


def _take_back(driver: FileConnection, *_: object) -> None:
    """Roll back what a signal left open on a connection that returns to the pool: it would keep the file's lock."""
    if driver.in_transaction and not driver.is_set_aside:
        driver.rollback()


def _schema(conn: sqlite3.Connection) -> set[tuple[str, ...]]:
    return set(conn.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_master"))


def _not_in_memory() -> Invalid:
    return Invalid("only a book in memory is copied like this; use keepbook export and import", field="db")
