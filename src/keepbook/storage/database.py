"""One open database and its transactions.

A transaction always serves exactly one owner: there is no way to ask for "all". Reads see one snapshot; writes hold the
owner's lock, so that the ledger of an owner has one writer at a time, across processes. A transaction opened inside
another one of the same thread and task joins it: all is committed, or nothing is (`transactions/` says what an error
does inside one). What differs between the engines stands behind `Backend`; this module says when, the engines say how.
"""

import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from logging import getLogger
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, StatementError, TimeoutError

from keepbook.errors import Conflict, Invalid, KeepbookError, NotAllowed, keepbook_closed
from keepbook.extension import Extension
from keepbook.forking import follow_forks, forked
from keepbook.settings import UNLIMITED, Allowance
from keepbook.storage import schema
from keepbook.storage.engines.backend import Backend
from keepbook.storage.installed import Record, table_set
from keepbook.storage.prepared_statement import driver_of
from keepbook.storage.tables import TableSet
from keepbook.storage.tally import EventTally
from keepbook.storage.transactions.behind import do_behind
from keepbook.storage.transactions.hidden import refuse_hidden
from keepbook.storage.transactions.open_transactions import OpenTransactions
from keepbook.storage.transactions.savepoints import (
    ErrorTranslation,
    operation,
    refuse_failed,
    savepoint,
    transaction_failed,
)
from keepbook.storage.transactions.signal_safe import signal_safe

if TYPE_CHECKING:
    from keepbook.storage.engines.cluster import Spread

ClockFunction = Callable[[], datetime]
Found = TypeVar("Found")


@dataclass(slots=True)
class Tx:
    """A transaction that serves one owner. `head` is the ledger's last entry; None until it was read under the lock.
    `presets` keeps the presets in force once they were read, in a transaction that only reads."""

    conn: Connection
    owner: str
    clock: ClockFunction
    tables: TableSet
    """All tables of this database, those of extensions among them."""
    writes: bool
    head: Any = None
    presets: dict[Any, Any] = field(default_factory=dict)
    batches: dict[tuple[str, str], list[Any]] = field(default_factory=dict)
    """Batches of rows that are still to be sealed, by table and batch number."""
    compact: bool = False
    """Whether something was removed for good, so that its bytes are overwritten after the commit."""
    compact_later: bool = False
    """Whether a sweep does that, once for all that it removes."""
    allowance: Allowance = UNLIMITED
    reach: str | None = None
    """If set, only memories of this scope and those without a scope are served; None: all."""
    counted: dict[tuple[str, str], float] = field(default_factory=dict)
    coming: dict[tuple[str, int], tuple[str, str]] = field(default_factory=dict)
    """Role and text of each turn that this transaction is about to store, by chat and turn number."""
    failed: str | None = None
    """The error after which nothing of this transaction can be kept, in words."""
    savepoints: int = 0
    """How many savepoints were made; used to name the next one."""
    clock_checked: bool = False
    notice: str | None = None
    """A sentence that every write adds to its answer."""
    switches: tuple[str | None, str | None] | None = None
    """The owner's switches as they are stored: memory, and the topics never to be kept. None: not read yet."""
    looks: bool = False
    """Whether this is a dry run: a change is answered as if it were written, and not written."""
    own_preset: tuple[str | None] | None = None
    """The name of the preset that the owner has set, if any. None: not read yet."""
    afterwards: list[Callable[["Database"], None]] = field(default_factory=list)
    """Called after the commit, each in transactions of its own."""
    sense: Any = None
    """The embedder that finds topics in what is written, if there is one."""

    read_before: dict[str, Any] = field(default_factory=dict)
    """A cache of what was read, in a transaction that only reads."""

    def count(self, name: str, kind: str = "", times: float = 1) -> None:
        """Add to the tally, once this transaction is committed."""
        self.counted[name, kind] = self.counted.get((name, kind), 0) + times

    def state(self) -> tuple[Any, ...]:
        """A copy of what `restore` puts back when a savepoint is rolled back."""
        copied = [self.presets, self.batches, self.counted, self.coming]
        return self.head, self.compact, list(self.afterwards), *map(dict, copied)

    def restore(self, state: tuple[Any, ...]) -> None:
        self.head, self.compact, self.afterwards, self.presets, self.batches, self.counted, self.coming = state
        self.switches = self.own_preset = None  # may be out of date now; read again when needed


class Database:
    """An open book file or server."""

    def __init__(
        self,
        address: str,
        clock: ClockFunction,
        *,
        busy_seconds: float = 30.0,
        allowance: Allowance = UNLIMITED,
        allow_bypass_login: bool = False,
        before_keeping: Callable[[Tx], None] = lambda _: None,
        extensions: Sequence[Extension] = (),
    ) -> None:
        """`before_keeping` is called last in every owner's transaction that writes: the ledger covers there what was
        written. `extensions` are those whose tables must exist."""
        self.clock = clock
        self._before_keeping = before_keeping
        self.allowance = allowance
        self.tally: EventTally = EventTally()
        self.backend: Backend = open_backend(address, busy_seconds, allow_bypass_login=allow_bypass_login)
        self._hides = self.backend.waits_for == "writer"
        # Run even if a program never closes its book: the last connection to a file empties the log into it.
        self._end = weakref.finalize(self, self.backend.close)
        self._open: OpenTransactions[Tx] = OpenTransactions()
        self._translating = ErrorTranslation(self)
        self.told_to_stop: Callable[[], bool] = lambda: False
        """Whether this process is told to end. Then work in pieces begins no more of them; a sweep does the rest."""
        self._unusable: Callable[[], KeepbookError] | None = None
        """Makes the error for any further call, once this database can no longer be used."""
        follow_forks(self)
        self._serves = False
        try:
            with self._translating:
                self.record: Record = self.backend.prepare(extensions)
            self.tables: TableSet = table_set(self.record)
            self._serves = True
        except BaseException:
            self._end()
            raise

    @signal_safe
    def read(self, owner: str) -> Iterator[Tx]:
        """A consistent view of one owner's book. Inside a write it sees what the write has written so far."""
        self._check_usable()
        if self._open.is_idle:
            self._open.refuse_outliving()
        elif (outer := self._outer_transaction(owner)) is not None:
            with self._translating, operation(self.backend, outer):
                yield outer
            return
        elif (view := self._open_view(owner)) is not None:
            yield view
            return
        else:
            self._refuse_endless_wait(owner, writes=False)
        asked = time.perf_counter()
        with self._translating, self.backend.reading(owner) as conn:
            self._count_wait("read", asked)
            if self._hides:
                refuse_hidden(conn, owner)
            yield Tx(conn, owner, self.clock, self.tables, writes=False, allowance=self.allowance)

    @signal_safe
    def view(self, owner: str) -> Iterator[Tx]:
        """One snapshot for everything that this thread reads of the owner inside the block, as a page does. Writing
        inside it is refused."""
        with self.read(owner) as tx, self._open.hold_viewing(tx):
            yield tx

    @signal_safe
    def write(self, owner: str, *, apart: bool = False, hidden: bool = False) -> Iterator[Tx]:
        """A transaction that is committed when the block ends, and rolled back when it raises. Inside another one it
        joins that one as an operation, or with `apart` as a savepoint. `hidden`: also if the book is being restored."""
        self._check_usable()
        if not self._open.is_idle:
            self._open.begin_awaited()
        if self._open.is_idle:
            self._open.refuse_outliving()
        elif (outer := self._outer_transaction(owner)) is not None:
            joining = savepoint if apart else operation
            with self._translating, joining(self.backend, outer):
                yield outer
            return
        elif self._open.viewing() is not None:
            raise Conflict("a view is open here, in which nothing is written; write after it")
        else:
            self._refuse_endless_wait(owner, writes=True)
        asked = time.perf_counter()
        with self._translating, self.backend.writing(owner) as conn:
            self._count_wait("write", asked)
            if self._hides and not hidden:
                refuse_hidden(conn, owner)
            tx = Tx(conn, owner, self.clock, self.tables, writes=True, allowance=self.allowance)
            with self._open.hold_writing(tx):
                yield tx
                refuse_failed(self.backend, tx)
                self._before_keeping(tx)
                if tx.compact:
                    self.backend.note_removal(conn)
        if tx.counted:
            self.tally.add(tx.counted)
        do_behind(self, tx)

    @signal_safe
    def write_once_asked(self, owner: str, begun: Callable[[Tx], None]) -> Iterator[Callable[[], Tx]]:
        """One transaction for all that is written of the owner inside. It begins with the first write, so that nobody
        waits before; `begun` is called then. Yields a function that begins it, if it has not begun, and returns it."""
        with ExitStack() as ended:
            opened: list[Tx] = []

            def begin() -> Tx:
                if not opened:
                    opened.append(ended.enter_context(self.write(owner)))
                    begun(opened[0])
                return opened[0]

            with self._open.hold_awaited(begin):
                yield begin

    @signal_safe
    def unscoped(self, *, writes: bool = False, write_lock: str | None = None) -> Iterator[Connection]:
        """A transaction on tables without personal text: due work, tokens, leases, prices. Writers that name the same
        `write_lock` wait for each other."""
        self._check_usable()
        self._refuse_endless_wait(None, writes=writes)
        with self._translating, self.backend.unscoped(writes=writes, write_lock=write_lock) as conn:
            yield conn
            if writes and not self.backend.is_sound(conn):
                raise transaction_failed("a statement failed")

    @signal_safe
    def administering(self, address: str | None) -> Iterator[Connection]:
        """A transaction for what only the administrator of a server may do, by their address if they have another."""
        with self._translating, self.backend.administering(address) as conn:
            yield conn

    def query_once(self, ask: Callable[[Connection], Found]) -> Found:
        """Run one query on tables without an owner, outside a transaction: a third of a transaction's cost."""
        self._check_usable()
        self._refuse_endless_wait(None, writes=False)
        with self._translating:
            return self.backend.query_once(ask)

    def check_schema(self) -> str:
        """Check that the schema still serves this program, and refuse every further call if not. Returns the revision
        that this program knows."""
        with self.unscoped() as conn:
            found = schema.revision(conn)
        if not schema.serves_program(found):
            self._unusable = lambda: _overtaken(found)
            self._check_usable()
        return schema.HEAD

    @property
    def is_writing(self) -> bool:
        """Whether the caller is inside a transaction that writes."""
        return self._open.writing() is not None

    @property
    def all_wait(self) -> bool:
        """Whether writers of different owners wait for each other, as in a file that many programs may open."""
        return self._hides

    def compact(self) -> list[str]:
        with self._translating:
            return self.backend.compact()

    def holds_removed(self) -> bool:
        """Whether bytes of what was removed for good are still to be overwritten."""
        with self._translating:
            return self.backend.holds_removed()

    def copy_into(self, other: "Database") -> None:
        """Make another book the same as this one. Both must be in memory."""
        self._in_memory().copy_into(other.backend)

    def image(self) -> bytes:
        """This book as bytes. It must be in memory."""
        image: bytes = self._in_memory().image()
        return image

    def become(self, image: bytes) -> bool:
        """Take over the contents of an image; False if it has another schema than this program makes."""
        fits: bool = self._in_memory().become(image)
        return fits

    def become_empty_like(self, conn: Connection) -> None:
        """Take the tables and guards of the file behind a connection, and what is installed there; no rows of anybody.
        This book must be in memory."""
        self._in_memory().become_empty_like(driver_of(conn))

    def close(self) -> None:
        self._unusable = keepbook_closed
        self._end()

    def facts(self) -> dict[str, str]:
        """What is open: engine, place, size, schema."""
        self._check_usable()
        with self._translating:
            return self.backend.facts()

    def renew_in_child(self) -> None:
        if self._open.on_thread():
            self._unusable = _forked_inside
        self._open = OpenTransactions()

    def _check_usable(self) -> None:
        if self._unusable is not None:
            raise self._unusable()

    def _in_memory(self) -> Any:
        self._check_usable()
        if not hasattr(self.backend, "copy_into"):
            raise Invalid("only a book in memory is copied like this; use keepbook export and import", field="db")
        return self.backend

    def _count_wait(self, kind: str, since: float) -> None:
        """Count how long it took until the transaction began: to get a connection, and to write, the lock."""
        self.tally.add({("waits", kind): 1, ("wait_seconds", kind): time.perf_counter() - since})

    def _outer_transaction(self, owner: str) -> Tx | None:
        outer = self._open.writing()
        if outer is not None and outer.conn.closed:  # a signal kept its block from saying that it has ended
            self._open.forget()
            outer = None
        if outer is None:
            self._open.refuse_outliving()
        elif outer.owner != owner:
            raise Conflict(f"a transaction of {outer.owner!r} is open here; finish it before you serve {owner!r}")
        return outer

    def _open_view(self, owner: str) -> Tx | None:
        view = self._open.viewing()
        return view if view is not None and view.owner == owner else None

    def _refuse_endless_wait(self, owner: str | None, *, writes: bool) -> None:
        """Refuse to wait for a transaction of this very thread, which could not end meanwhile."""
        for other in self._open.on_thread():
            both_write = writes and other.writes
            would_wait = {"owner": both_write and other.owner == owner, "writer": both_write, "anybody": True}
            if would_wait[self.backend.waits_for]:
                raise Conflict(
                    "a transaction is open on this thread, of this or of another task, and would never end if one "
                    "waited for it here; end it first",
                    code="busy",
                )

    def raise_translated(self, error: BaseException) -> None:
        """Raise the Keepbook error that a database error means, if there is one. Other errors are left as they are."""
        if isinstance(error, DBAPIError | self.backend.driver_error | UnicodeDecodeError):
            if self._unusable is _forked_inside:  # the connection was the parent's
                raise _forked_inside() from error
            known = self._to_keepbook_error(error)
            if known is not None:
                raise known from error
        elif isinstance(error, StatementError) and error.orig is not None:
            raise error.orig from None  # Core wraps an error that a signal handler raised in the middle of its work
        elif isinstance(error, TimeoutError):  # the pool's own
            raise Conflict("the database is busy: no connection became free; try again", code="busy") from error

    def _to_keepbook_error(self, error: Exception) -> KeepbookError | None:
        """The Keepbook error that a database error means. A damaged file may show as a guard's refusal or as an unknown
        error; in these cases the file is checked first."""
        words = str(error.orig if isinstance(error, DBAPIError) else error)
        known = self.backend.refusal(error)
        if "guard: " in words:
            why = words.split("guard: ", 1)[1].splitlines()[0]
            known = NotAllowed(f"the book refuses: {why}", code="guard")
        if known is None or known.code in ("guard", "refused"):
            return self.backend.damage() or known
        return self._for_anybody(known)

    def _for_anybody(self, known: KeepbookError) -> KeepbookError:
        """Of a server that was open, whoever asks may hear the error: where it is stands in the log alone."""
        if self._serves and is_postgresql(self.backend.address) and self.backend.address in known.message:
            getLogger("keepbook").warning("%s", " ".join(known.message.split()))
            known.message = known.message.replace(self.backend.address, "the database")
            if known.code == "unavailable":
                known.message = "the database is away; try again in a moment"
            known.args = (known.message,)
        return known


def _overtaken(found: str | None) -> KeepbookError:
    return Conflict(
        f"the database has schema {found} now, which no longer serves this program ({schema.HEAD}); start the new one",
        code="newer_schema",
    )


def _forked_inside() -> KeepbookError:
    return forked("inside an open transaction, which is its parent's; fork outside of transactions")


def is_postgresql(address: str) -> bool:
    return address.startswith(("postgresql:", "postgres:", "postgresql+psycopg:"))


def open_backend(address: str, busy_seconds: float, *, allow_bypass_login: bool = False) -> Backend:
    """The engine behind an address: a PostgreSQL URL, else the path of a SQLite file (or `:memory:`)."""
    if is_postgresql(address):
        # Imported here, since a program that uses SQLite alone need not have the PostgreSQL driver.
        from keepbook.storage.engines.postgres import Postgres

        return Postgres(address, busy_seconds, allow_bypass_login=allow_bypass_login)
    # Imported here too: only the engine that is used is ever loaded.
    from keepbook.storage.engines.sqlite import Sqlite

    path = address.removeprefix("sqlite:///") if address.startswith("sqlite:") else address
    if not path or "://" in path:
        raise Invalid(
            f"{address!r} is not a book: give the path of a file (keepbook.db), or postgresql://user@host/name",
            field="db",
        )
    return Sqlite(path, busy_seconds)


def upgrade(address: str, extensions: Sequence[Extension] = ()) -> list[str]:
    """Bring a database to this program's schema with these extensions, as its administrator; says the steps taken."""
    if is_postgresql(address):  # see open_backend
        from keepbook.storage.engines.postgres import upgrade_server

        return upgrade_server(address, extensions)
    backend = open_backend(address, 30.0)
    try:
        backend.prepare(extensions)
    finally:
        backend.close()  # writes the log into the file, so that the file alone can be copied
    return []


def distribute(address: str, shards: int) -> "Spread":
    """Spread a PostgreSQL database over the nodes of its Citus cluster, as its administrator."""
    if not is_postgresql(address):
        raise Invalid("a file lies on one machine; only a PostgreSQL book can be distributed", field="db")
    from keepbook.storage.engines.postgres import distribute_server  # see open_backend

    return distribute_server(address, shards)
