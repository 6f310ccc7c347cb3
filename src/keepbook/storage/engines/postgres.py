"""PostgreSQL: many owners, many workers.

Every connection takes the application's role, which row-level security binds. Each transaction names the owner it
serves (SET LOCAL) and sees that owner's rows alone. A writer holds an advisory lock for the owner until it commits, so
the ledger has one writer at a time. Only the administrator changes the schema, with `keepbook db upgrade`.

Round trips are expensive, so all of that is sent in one, together with the BEGIN. If the connection turns out to be
lost then, nothing was done on it yet, and a new one takes its place.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.sql import SQL, Composable
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError

from keepbook.errors import Conflict, Invalid, KeepbookError, NotAllowed
from keepbook.extension import Extension
from keepbook.forking import LivingSet, follow_forks, keep_for_ever
from keepbook.storage import schema
from keepbook.storage.engines import cluster
from keepbook.storage.engines.held_connections import connect, put_back, roll_back
from keepbook.storage.engines.postgres_cursor import WatchedCursor, changes_of
from keepbook.storage.guard_rules import is_scoped
from keepbook.storage.installed import Record, read_record, table_set, to_install
from keepbook.storage.prepared_statement import driver_of
from keepbook.storage.transactions.savepoints import WaitsFor
from keepbook.storage.transactions.signal_safe import signal_safe

APP_ROLE = "keepbook_app"

# Every way in which the role could see more than one owner: its own rights, a role it may become, a table it owns
# (who owns a table may change its policies), a table whose row-level security is off.
_WAYS_AROUND = text("""
    SELECT 'the role ' || rolname || ' bypasses row-level security' FROM pg_roles
      WHERE (rolsuper OR rolbypassrls) AND pg_has_role(current_user, oid, 'MEMBER')
    UNION ALL
    SELECT 'the role owns the table ' || relname FROM pg_class
      WHERE relname = ANY (:tables) AND relnamespace = current_schema()::regnamespace
        AND pg_has_role(current_user, relowner, 'MEMBER')
    UNION ALL
    SELECT 'row-level security is off on ' || relname FROM pg_class
      WHERE relname = ANY (:tables) AND relnamespace = current_schema()::regnamespace
        AND NOT (relrowsecurity AND relforcerowsecurity)
""")

# The same for the login behind the role: whoever has its password could leave the role (RESET ROLE) and see everybody.
_LOGIN = text("""
    SELECT 'the login ' || session_user || ' is a superuser or bypasses row-level security' FROM pg_roles
      WHERE rolname = session_user AND (rolsuper OR rolbypassrls)
    UNION ALL
    SELECT DISTINCT 'the login ' || session_user || ' may become ' || rolname || ', who bypasses it' FROM pg_roles
      WHERE (rolsuper OR rolbypassrls) AND rolname <> session_user AND pg_has_role(session_user, oid, 'MEMBER')
        AND NOT (SELECT rolsuper FROM pg_roles WHERE rolname = session_user)
    UNION ALL
    SELECT DISTINCT 'the login ' || session_user || ' owns the tables' FROM pg_class
      WHERE relname = ANY (:tables) AND relnamespace = current_schema()::regnamespace
        AND pg_has_role(session_user, relowner, 'MEMBER')
        AND NOT (SELECT rolsuper FROM pg_roles WHERE rolname = session_user)
""")

_READING = SQL("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ")
_WRITING = SQL("BEGIN; ")
_SERVE = SQL("SELECT keepbook_serve({})")
_SERVE_AND_LOCK = SQL("SELECT keepbook_serve({}, {})")
_LOCK = SQL("SELECT pg_advisory_xact_lock({})")

Found = TypeVar("Found")

POOLING = "pooling"
BEHIND_A_POOLER = (
    f"a pooler such as PgBouncer stands before this server and drops what connections say at their start; write "
    f"?{POOLING}=transaction at the end of the address"
)


class Postgres:
    """The engine of one PostgreSQL database."""

    driver_error: type[Exception] = psycopg.Error
    waits_for: WaitsFor = "owner"

    def __init__(self, address: str, busy_seconds: float, *, allow_bypass_login: bool = False) -> None:
        self._allow_bypass_login = allow_bypass_login
        url = make_url(_with_driver(address))
        self.address: str = url.render_as_string(hide_password=True).replace("+psycopg", "")
        self._pooled = _is_pooled(url)
        wait = int(busy_seconds * 1000)
        # Behind a pooler each transaction may run on another server connection: so each one sets these anew.
        anew = "SELECT set_config('role', {}, true), set_config('lock_timeout', {}, true); "
        self._anew = SQL(anew).format(APP_ROLE, str(wait)) if self._pooled else SQL("")
        options = {"options": f"-c role={APP_ROLE} -c lock_timeout={wait} -c timezone=UTC"}
        always = {"connect_timeout": 10, "cursor_factory": WatchedCursor}
        self._engine = create_engine(
            url.difference_update_query([POOLING]),
            connect_args=always | ({"prepare_threshold": None} if self._pooled else options),
            pool_size=10,
            max_overflow=20,
            pool_timeout=busy_seconds,
            isolation_level="AUTOCOMMIT",  # Core itself begins and ends no transaction
            hide_parameters=True,  # keeps what people said out of errors and logs
        )
        self._closed = False
        self._drivers = LivingSet[Any]()
        event.listen(self._engine, "checkin", self._close_late_one)
        event.listen(self._engine, "connect", lambda driver, _: self._drivers.add(driver))
        follow_forks(self)

    def prepare(self, extensions: Sequence[Extension]) -> Record:
        with self.unscoped(writes=False) as conn:
            if conn.execute(text("SELECT current_user")).scalar() != APP_ROLE:
                raise Invalid(BEHIND_A_POOLER, field="db", code="pooler")
            cluster.refuse_what_does_not_serve(conn)
            found = schema.revision(conn)
            if schema.serves_program(found):
                record = read_record(conn)
            else:
                record = ()
            scoped = sorted(table.name for table in table_set(record).declared if is_scoped(table))
            way_around = conn.execute(_WAYS_AROUND, {"tables": scoped}).scalars().all()
            mighty = conn.execute(_LOGIN, {"tables": scoped}).scalars().all()
        schema.refuse_unserved(found)
        if not schema.serves_program(found) or to_install(record, extensions):
            raise _needs_upgrade(self.address)
        if way_around:
            raise NotAllowed(
                f"owners would not be apart: {'; '.join(way_around)}; take that away from {APP_ROLE}, then try again",
                code="role_bypasses",
            )
        if mighty and not self._allow_bypass_login:
            raise NotAllowed(
                f"this login could see all owners: {'; '.join(mighty)}; use one that is only a member of {APP_ROLE}, "
                "or set allow_bypass_login",
                code="login_bypasses",
            )
        return record

    def reading(self, owner: str) -> AbstractContextManager[Connection]:
        return self._begin(_READING, _SERVE.format(owner))

    def writing(self, owner: str) -> AbstractContextManager[Connection]:
        return self._begin(_WRITING, _SERVE_AND_LOCK.format(owner, _lock_number(owner)))

    def unscoped(self, *, writes: bool, write_lock: str | None = None) -> AbstractContextManager[Connection]:
        first = SQL("") if write_lock is None else _LOCK.format(_lock_number(f"turn {write_lock}"))
        return self._begin(_WRITING if writes else _READING, first)

    @contextmanager
    def administering(self, address: str | None) -> Iterator[Connection]:
        engine = _admin_engine(address or self._engine.url.render_as_string(hide_password=False))
        try:
            with engine.begin() as conn:
                yield conn
        except DBAPIError as error:
            known = _unreachable(error.orig, _shown(engine))
            if getattr(error.orig, "sqlstate", None) == "42501":
                known = NotAllowed(
                    "this login may not do that; name the administrator's in KEEPBOOK_ADMIN_DB", code="not_admin"
                )
            if known is None:
                raise
            raise known from error
        finally:
            engine.dispose()

    def query_once(self, ask: Callable[[Connection], Found]) -> Found:
        if self._pooled:  # the role is set at the beginning of a transaction, so there has to be one
            with self.unscoped(writes=False) as conn:
                return ask(conn)
        held: list[Connection] = []
        try:
            return self._connect_and_ask(ask, held)
        except BaseException:
            roll_back(held)
            raise
        finally:
            put_back(held)

    @signal_safe
    def _begin(self, how: SQL, first: Composable) -> Iterator[Connection]:
        beginning = how + self._anew + first
        held: list[Connection] = []
        try:
            self._connect_and_ask(lambda conn: driver_of(conn).execute(beginning, prepare=False), held)
            driver = driver_of(held[0])
            yield held[0]
            driver.commit()
        except BaseException:
            roll_back(held)
            raise
        finally:
            put_back(held)

    def _connect_and_ask(self, ask: Callable[[Connection], Found], held: list[Connection]) -> Found:
        """Take a connection, put it into `held`, and ask it. If it was lost while it was idle, the other idle ones are
        probably lost too: drop them all and try once more with a new one."""
        anew = False
        while True:
            held.append(connect(self._engine))
            driver = driver_of(held[0])
            try:
                return ask(held[0])
            except BaseException:
                if anew or not driver.closed:
                    raise
            roll_back(held)
            put_back(held)
            self._engine.dispose()
            anew = True

    def changes(self, conn: Connection) -> int:
        return changes_of(driver_of(conn))

    def is_sound(self, conn: Connection) -> bool:
        if conn.invalidated:  # Core would replace it by another one, on which no transaction has begun
            return False
        sound: bool = driver_of(conn).pgconn.transaction_status == TransactionStatus.INTRANS
        return sound

    def move_savepoint(self, conn: Connection, statement: str) -> None:
        if conn.invalidated:  # as in `is_sound`
            raise psycopg.OperationalError("the connection was given up")
        driver_of(conn).execute(statement, prepare=False)

    def compact(self) -> list[str]:
        return ["dead rows until PostgreSQL's autovacuum has passed; an administrator's VACUUM FULL does it at once"]

    def note_removal(self, conn: Connection) -> None:
        """The server's vacuum finds it."""

    def holds_removed(self) -> bool:
        return False

    def refusal(self, error: Exception) -> KeepbookError | None:
        driver = error.orig if isinstance(error, DBAPIError) else error
        state = getattr(driver, "sqlstate", None)
        if state == "55P03":
            return Conflict("the book is busy: another program has been writing to it for long; try again", code="busy")
        if state in ("40001", "40P01"):
            return Conflict("two programs wrote at the same moment; try again", code="busy")
        if state in ("57014", "25P03", "25P04"):
            why = str(driver).splitlines()[0]
            return KeepbookError(f"the server ended it: {why}; nothing was written; try again", code="canceled")
        if state == "25006":
            return NotAllowed(
                f"{self.address} takes no writes now, as a standby does; nothing was written; name the server that "
                "takes them",
                code="read_only",
            )
        if state in ("XX001", "XX002"):
            return KeepbookError(
                f"the disk of {self.address} gave an error: {str(driver).splitlines()[0]}; nothing was written",
                code="disk_error",
            )
        if state == "42501":
            return NotAllowed("the database refuses: this owner's scope does not cover that", code="guard")
        if isinstance(driver, psycopg.IntegrityError | psycopg.DataError):
            return Invalid(f"the book cannot hold that: {str(driver).splitlines()[0]}", code="refused")
        if isinstance(driver, psycopg.InternalError) and (lost := cluster.lost_node(str(driver))):
            return KeepbookError(f"a node of {self.address} does not answer: {lost}; try again", code="unavailable")
        return _unreachable(driver, self.address)

    def damage(self) -> KeepbookError | None:
        return None  # the server looks after its own pages

    def facts(self) -> dict[str, str]:
        with self.unscoped(writes=False) as conn:
            server = conn.execute(text("SHOW server_version")).scalar()
            size = conn.execute(text("SELECT pg_size_pretty(pg_database_size(current_database()))")).scalar()
        return {
            "engine": f"PostgreSQL {server}",
            "place": self.address,
            "size": str(size),
            "schema": schema.HEAD,
        }

    def close(self) -> None:
        self._closed = True
        self._engine.dispose()

    def renew_in_child(self) -> None:
        """Never use or close the parent's connections, but let go of their sockets without a message to the server: as
        long as a child holds them, the server would take a killed parent for alive and keep its locks."""
        keep_for_ever((self._engine.pool, self._drivers.living()))
        nothing = os.open(os.devnull, os.O_RDWR)
        for driver in self._drivers.living():
            if not driver.closed:
                os.dup2(nothing, driver.fileno(), inheritable=False)
        os.close(nothing)
        self._drivers.clear()
        self._engine.dispose(close=False)

    def _close_late_one(self, driver: Any, _: object) -> None:
        """Close a connection that comes back to the pool after this database was closed."""
        if self._closed and driver is not None:
            driver.close()


def upgrade_server(address: str, extensions: Sequence[Extension] = ()) -> list[str]:
    """As administrator: make the application's role, run the migrations and install extensions, under a lock."""
    with _administrating(address) as conn:
        before = schema.revision(conn)
        schema.refuse_unknown(before)
        _make_role(conn)
        if before != schema.HEAD:
            schema.migrate(conn)
        added = to_install(read_record(conn), extensions)
        if added:
            cluster.prepare_to_guard(conn)
        for one in added:
            schema.install(conn, one)
        if (added or before != schema.HEAD) and cluster.is_spread(conn):
            cluster.distribute(conn, cluster.shards_of(conn))
        conn.execute(text(f"GRANT SELECT ON alembic_version TO {APP_ROLE}"))
    if before != schema.HEAD:
        steps = [*schema.KNOWN[schema.KNOWN.index(before) + 1 if before else 0 :]]
    else:
        steps = []
    return [*steps, *(f"{one.name} {one.version}" for one in added)]


def distribute_server(address: str, shards: int) -> cluster.Spread:
    """As administrator: spread the tables over the nodes of a cluster."""
    with _administrating(address) as conn:
        found = schema.revision(conn)
        schema.refuse_unknown(found)
        if found != schema.HEAD:
            raise _needs_upgrade(conn.engine.url.render_as_string(hide_password=True).replace("+psycopg", ""))
        return cluster.distribute(conn, shards)


@contextmanager
def _administrating(address: str) -> Iterator[Connection]:
    """One transaction as administrator, under a lock: several programs take turns."""
    engine = _admin_engine(address)
    shown = _shown(engine)
    try:
        with engine.begin() as conn:
            conn.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _lock_number("keepbook db upgrade")})
            yield conn
    except DBAPIError as error:
        known = _unreachable(error.orig, shown)
        if known is None and getattr(error.orig, "sqlstate", None) == "42501":
            known = NotAllowed(
                f"{shown}: this user may not change the schema or make the role {APP_ROLE}; use an administrator",
                code="not_admin",
            )
        if known is None:
            raise
        raise known from error
    finally:
        engine.dispose()


def _make_role(conn: Connection) -> None:
    """Make the application's role and let the administrator become it: the upgrade ends with a check of the database as
    the application sees it."""
    login = conn.execute(text("SELECT quote_ident(current_user)")).scalar()
    role, member = f"CREATE ROLE {APP_ROLE} NOLOGIN NOSUPERUSER NOBYPASSRLS", f"GRANT {APP_ROLE} TO {login}"
    if not conn.execute(text("SELECT count(*) FROM pg_roles WHERE rolname = :name"), {"name": APP_ROLE}).scalar():
        made_meanwhile = "duplicate_object OR unique_violation"
        _unless_refused(conn, f"BEGIN {role}; EXCEPTION WHEN {made_meanwhile} THEN NULL; END", f"{role}; {member};")
    become = f"SET LOCAL ROLE {APP_ROLE}; RESET ROLE"
    _unless_refused(conn, f"BEGIN {become}; EXCEPTION WHEN insufficient_privilege THEN {member}; END", f"{member};")
    place = conn.execute(text("SELECT current_schema()")).scalar()
    held = text("SELECT has_schema_privilege(:role, current_schema(), 'USAGE')")
    if not conn.execute(held, {"role": APP_ROLE}).scalar():
        # Only if it is missing: on a cluster each node grants it by itself, and would wait for this transaction.
        conn.execute(text(f'GRANT USAGE ON SCHEMA "{place}" TO {APP_ROLE}'))


def _unless_refused(conn: Connection, block: str, to_run: str) -> None:
    try:
        conn.execute(text(f"DO $$ {block} $$"))
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) != "42501":
            raise
        raise NotAllowed(
            f"this login may not make the role {APP_ROLE} or become a member of it; let an administrator run "
            f"{to_run} and upgrade again",
            code="not_admin",
        ) from error


def _is_pooled(url: URL) -> bool:
    """Whether the address says that a pooler gives each transaction any of its connections."""
    said = url.query.get(POOLING)
    if said not in (None, "transaction"):
        raise Invalid(f"{POOLING} is transaction, or left out; not {said!r}", field="db")
    return said is not None


def _admin_engine(address: str) -> Engine:
    return create_engine(_with_driver(address), connect_args={"connect_timeout": 10})


def _shown(engine: Engine) -> str:
    """The address of an engine as people may see it."""
    return engine.url.render_as_string(hide_password=True).replace("+psycopg", "")


def _with_driver(address: str) -> str:
    _, rest = address.split(":", 1)
    try:
        return make_url(f"postgresql+psycopg:{rest}").render_as_string(hide_password=False)
    except (ArgumentError, ValueError) as error:
        raise Invalid("that is not a PostgreSQL address; write postgresql://user@host:5432/name", field="db") from error


def _lock_number(name: str) -> int:
    """A 63-bit number for the advisory lock; a rare collision only makes two owners take turns."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big") >> 1


def _needs_upgrade(place: str) -> Conflict:
    return Conflict(
        f"{place} is not prepared for this version; run `keepbook db upgrade` as its administrator",
        code="needs_upgrade",
    )


def _unreachable(error: BaseException | None, place: str) -> KeepbookError | None:
    words = str(error)
    if "unsupported startup parameter" in words:
        return Invalid(BEHIND_A_POOLER, field="db", code="pooler")
    if f'role "{APP_ROLE}"' in words:
        return _needs_upgrade(place)
    if isinstance(error, psycopg.OperationalError):
        why = words.strip().splitlines()[0] if words.strip() else "no answer"
        advice = "check that the server runs and the address is right"
        if "authentication failed" in words:
            advice = "check the password; one in the address goes before PGPASSWORD"
        return KeepbookError(f"cannot reach {place}: {why}; {advice}", code="unavailable")
    return None
