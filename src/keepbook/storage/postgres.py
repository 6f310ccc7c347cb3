"""PostgreSQL: many owners, many workers.

Every connection takes the application's role, which row-level security binds; each transaction says whom it
serves (SET LOCAL) and sees that owner alone. A writer holds a lock in the owner's name until it commits, so
the ledger has one writer at a time. Schema changes are the administrator's: `keepbook db upgrade`.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy import Connection, Engine, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError

from keepbook.errors import Conflict, Invalid, KeepbookError, NotAllowed
from keepbook.storage import cluster, schema
from keepbook.storage.tables import OWNED

APP_ROLE = "keepbook_app"

SCOPED = {table.name for table in OWNED} - {"due"}
"""The tables that row-level security guards; `due` holds no personal text."""

# Every way in which the role could see more than one owner: its own might, a role it may become, a table it owns
# (an owner may change policies), a table whose security is off.
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

# The login behind the role: whoever holds its password could put the role aside (RESET ROLE) and see everybody.
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

_SERVE = text("SELECT keepbook_serve(:owner)")
_SERVE_AND_LOCK = text("SELECT keepbook_serve(:owner, :lock)")


class Postgres:
    """The engine of one PostgreSQL database."""

    driver_error: type[Exception] = psycopg.Error

    def __init__(self, address: str, busy_seconds: float, *, allow_bypass_login: bool = False) -> None:
        self._allow_bypass_login = allow_bypass_login
        url = make_url(_with_driver(address))
        self.address = url.render_as_string(hide_password=True).replace("+psycopg", "")
        options = f"-c role={APP_ROLE} -c lock_timeout={int(busy_seconds * 1000)} -c timezone=UTC"
        self._engine = create_engine(
            url,
            connect_args={"options": options, "connect_timeout": 10},
            pool_size=10,
            max_overflow=20,
            pool_timeout=busy_seconds,
            pool_pre_ping=True,
        )
        self._readers = self._engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    def prepare(self) -> None:
        with self.unscoped(writes=False) as conn:
            cluster.refuse_what_does_not_serve(conn)
            found = schema.revision(conn)
            way_around = conn.execute(_WAYS_AROUND, {"tables": sorted(SCOPED)}).scalars().all()
            mighty = conn.execute(_LOGIN, {"tables": sorted(SCOPED)}).scalars().all()
        schema.refuse_unknown(found)
        if found != schema.HEAD:
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

    @contextmanager
    def reading(self, owner: str) -> Iterator[Connection]:
        with self._readers.connect() as conn, conn.begin():
            conn.execute(_SERVE, {"owner": owner})
            yield conn

    @contextmanager
    def writing(self, owner: str) -> Iterator[Connection]:
        with self._engine.connect() as conn, conn.begin():
            conn.execute(_SERVE_AND_LOCK, {"owner": owner, "lock": _lock_number(owner)})
            yield conn

    @contextmanager
    def unscoped(self, *, writes: bool, turn: str | None = None) -> Iterator[Connection]:
        with (self._engine if writes else self._readers).connect() as conn, conn.begin():
            if turn is not None:
                conn.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _lock_number(f"turn {turn}")})
            yield conn

    def compact(self) -> list[str]:
        return ["dead rows until PostgreSQL's autovacuum has passed; an administrator's VACUUM FULL does it at once"]

    def refusal(self, error: Exception) -> KeepbookError | None:
        driver = error.orig if isinstance(error, DBAPIError) else error
        state = getattr(driver, "sqlstate", None)
        if state == "55P03":
            return Conflict("the book is busy: another program has been writing to it for long; try again", code="busy")
        if state in ("40001", "40P01"):
            return Conflict("two programs wrote at the same moment; try again", code="busy")
        if state == "42501":
            return NotAllowed("the database refuses: this owner's scope does not cover that", code="guard")
        if isinstance(driver, psycopg.IntegrityError | psycopg.DataError):
            return Invalid(f"the book cannot hold that: {str(driver).splitlines()[0]}", code="refused")
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
        self._engine.dispose()


def upgrade_server(address: str) -> list[str]:
    """As administrator: make the application's role and walk the migrations, under a lock."""
    with _administrating(address) as conn:
        before = schema.revision(conn)
        schema.refuse_unknown(before)
        _make_role(conn)
        if before != schema.HEAD:
            schema.migrate(conn)
            if cluster.is_spread(conn):
                cluster.distribute(conn, cluster.shards_of(conn))
        conn.execute(text(f"GRANT SELECT ON alembic_version TO {APP_ROLE}"))
    return [] if before == schema.HEAD else [*schema.KNOWN[schema.KNOWN.index(before) + 1 if before else 0 :]]


def distribute_server(address: str, shards: int) -> cluster.Spread:
    """As administrator: spread what is there over the nodes of a cluster."""
    with _administrating(address) as conn:
        schema.refuse_unknown(found := schema.revision(conn))
        if found != schema.HEAD:
            raise _needs_upgrade(conn.engine.url.render_as_string(hide_password=True).replace("+psycopg", ""))
        return cluster.distribute(conn, shards)


@contextmanager
def _administrating(address: str) -> Iterator[Connection]:
    """One transaction as administrator; of several programs one at a time."""
    engine = _admin_engine(address)
    shown = engine.url.render_as_string(hide_password=True).replace("+psycopg", "")
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
    conn.execute(
        text(
            f"DO $$ BEGIN CREATE ROLE {APP_ROLE} NOLOGIN NOSUPERUSER NOBYPASSRLS; "
            "EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"
        )
    )
    conn.execute(text(f"GRANT {APP_ROLE} TO CURRENT_USER"))
    place = conn.execute(text("SELECT current_schema()")).scalar()
    conn.execute(text(f'GRANT USAGE ON SCHEMA "{place}" TO {APP_ROLE}'))


def _admin_engine(address: str) -> Engine:
    return create_engine(_with_driver(address), connect_args={"connect_timeout": 10})


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
    if f'role "{APP_ROLE}"' in words:
        return _needs_upgrade(place)
    if isinstance(error, psycopg.OperationalError):
        why = words.strip().splitlines()[0] if words.strip() else "no answer"
        return KeepbookError(
            f"cannot reach {place}: {why}; check that the server runs and the address is right", code="unavailable"
        )
    return None
