"""Row-level security on PostgreSQL, tried from inside: what the application's role can see, write and break.

The connections here are raw and take the role as the engine's do. The engine is trusted with nothing: a
transaction that has not said whom it serves must see nothing, and one that serves alice must not reach bob.
"""

import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import errors, sql
from sqlalchemy import Integer, LargeBinary, Table, Text
from tests import databases
from tests.contracts.contract_folders import (
    all_extensions,
    every_extension,
    every_table,
    with_their_tables,
)
from tests.extensions.agents.deciding import busy_desk
from tests.extensions.trading.floor import busy_floor

from keepbook import Keepbook, NotAllowed
from keepbook.settings import Settings
from keepbook.storage.database import Database
from keepbook.storage.tables import shipped_tables
from keepbook.storage.tables.declare import rules_of

OUTSIDE = {"owners", "due", "tokens", "identities"}
"""Tables that name an owner but hold nothing that was said: what is looked for before anyone is served."""

BY_NAME = {table.name: table for table in every_table().declared}
STRANGE = [table for table in every_table().of_extensions if table not in shipped_tables().of_extensions]
"""Tables of extensions that are not of this package."""
OWNED = [table.name for table in every_table().parents_first if "owner" in table.c and table.name not in OUTSIDE]

CHAIN = (
    "(SELECT link, hash FROM ledger WHERE owner = 'alice' "
    "UNION ALL SELECT link, hash FROM covers WHERE owner = 'alice') AS chain"
)
NEXT = f"(SELECT max(link) + 1 FROM {CHAIN})"
NEWEST = f"(SELECT hash FROM {CHAIN} ORDER BY link DESC LIMIT 1)"


class Server:
    """A database with a book each of alice and bob, and ways in as administrator and as the application."""

    def __init__(self, url: str) -> None:
        self.url = url

    @contextmanager
    def app(self, owner: str | None = None) -> Iterator["psycopg.Connection[Any]"]:
        """One transaction in the application's role, never kept."""
        with closing(psycopg.connect(self.url, options="-c role=keepbook_app")) as connection:
            if owner is not None:
                connection.execute("SELECT keepbook_serve(%s)", [owner])
            yield connection

    @contextmanager
    def admin(self) -> Iterator["psycopg.Connection[Any]"]:
        with psycopg.connect(self.url, autocommit=True) as connection:
            yield connection


@contextmanager
def serving(admin_url: str, template: str) -> Iterator[Server]:
    with databases.database(admin_url, template) as url, every_extension():
        settings = Settings(allow_bypass_login=True).but(extensions=all_extensions())
        with Keepbook(with_their_tables(url), settings=settings, embedder="none") as kb:
            fill(kb)
        made = Server(url)
        fill_the_rest(made)
        yield made


def fill(kb: Keepbook) -> None:
    for owner in ("alice", "bob"):
        book = kb.book(owner)
        first = book.remember(f"The first secret of {owner}")
        second = book.remember(f"Something else {owner} said", subject=owner)
        book.link(first.id, second.id, "relates_to")
        book.update(second.id, f"Something else {owner} says now")
        gone = book.remember(f"Soon forgotten by {owner}")
        book.inject("session")
        book.delete(gone.id, forever=True)
        busy_desk(book)
        busy_floor(book)


def fill_the_rest(server: Server) -> None:
    """A row for each owner in the tables that `fill` does not reach, whatever tables there will be."""
    with server.admin() as admin, admin.transaction():
        admin.execute("SET LOCAL session_replication_role = 'replica'")  # no triggers: only the row counts here
        for table in OWNED:
            if count(admin, table) == 0:
                for owner in ("alice", "bob"):
                    admin.execute(_insert(table, made_up_row(table) | {"owner": owner}))


def made_up_row(table: str) -> dict[str, Any]:
    """A value for each column that its checks allow."""
    known = BY_NAME[table]
    listed = {
        match[1]: match[2]
        for column in known.c
        for check in column.constraints
        if (match := re.match(r"(\w+) IN \('(\w+)'", str(getattr(check, "sqltext", ""))))
    }
    kinds = {Integer: 1, Text: "ROWROW01", LargeBinary: b"row"}
    told = {column.name: listed.get(column.name) or kinds.get(type(column.type), 0.5) for column in known.c}
    return told | ({"instead_of": None} if "instead_of" in told else {})  # the first turn replaces no earlier one


@pytest.fixture(scope="module")
def server(postgres_admin_url: str, postgres_template: str) -> Iterator[Server]:
    """For tests that keep nothing."""
    with serving(postgres_admin_url, postgres_template) as made:
        yield made


@pytest.fixture
def own_server(postgres_admin_url: str, postgres_template: str) -> Iterator[Server]:
    """For tests that change what others would see."""
    with serving(postgres_admin_url, postgres_template) as made:
        yield made


@pytest.fixture
def unguarded(own_server: Server) -> Server:
    """With the triggers off: what is refused then, the policies refuse."""
    with own_server.admin() as admin:
        admin.execute("SET citus.enable_unsafe_triggers = on")  # which only a cluster knows
        for table in OWNED:
            admin.execute(sql.SQL("ALTER TABLE {} DISABLE TRIGGER USER").format(sql.Identifier(table)))
    return own_server


def count(connection: "psycopg.Connection[Any]", table: str, where: LiteralString = "true") -> int:
    query = sql.SQL("SELECT count(*) FROM {} WHERE {}").format(sql.Identifier(table), sql.SQL(where))
    found = connection.execute(query).fetchone()
    assert found is not None
    return int(found[0])


def refused(connection: "psycopg.Connection[Any]", statement: str | sql.Composed) -> bool:
    """Whether the server says that this role has no right to do that. On a cluster no row changes its owner for
    anybody, and where the role has a right to some columns elsewhere, a guard stands there."""
    try:
        with connection.transaction():
            connection.execute(statement)
    except errors.InsufficientPrivilege:
        return True
    except (errors.FeatureNotSupported, errors.IntegrityError) as error:
        return bool(databases.CLUSTER) and any(
            why in str(error) for why in ("modifying the partition value", "guard: ")
        )
    return False


# --- seeing ----------------------------------------------------------------------------------------------


def test_both_books_have_rows_in_every_table(server: Server) -> None:
    """Or the tests below would see nothing for another reason."""
    with server.admin() as admin:
        for table in OWNED:
            assert count(admin, table, "owner = 'alice'") > 0
            assert count(admin, table, "owner = 'bob'") > 0


@pytest.mark.parametrize("table", OWNED)
def test_a_transaction_that_serves_nobody_sees_nothing(server: Server, table: str) -> None:
    with server.app() as app:
        assert count(app, table) == 0


@pytest.mark.parametrize("owner", ["", "*", "%", "Alice", "alice ", "nobody", "alice' OR 'a' = 'a"])
def test_a_name_that_is_nobodys_sees_nothing(server: Server, owner: str) -> None:
    with server.app(owner) as app:
        assert {table: count(app, table) for table in OWNED} == dict.fromkeys(OWNED, 0)


@pytest.mark.parametrize("table", OWNED)
def test_alices_transaction_sees_all_of_hers_and_none_of_bobs(server: Server, table: str) -> None:
    with server.admin() as admin:
        hers = count(admin, table, "owner = 'alice'")
    with server.app("alice") as app:
        assert count(app, table) == hers
        assert count(app, table, "owner <> 'alice'") == 0


def test_every_table_with_an_owner_is_under_row_security(server: Server) -> None:
    """But for those without personal text; a table added later must choose."""
    query = """
        SELECT c.relname, c.relrowsecurity, c.relforcerowsecurity,
               (SELECT count(*) FROM pg_policy p WHERE p.polrelid = c.oid)
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'owner'
        WHERE c.relkind IN ('r', 'p', 'v', 'm') AND c.relnamespace = 'public'::regnamespace
    """
    with server.admin() as admin:
        found = {name: tuple(state) for name, *state in admin.execute(query)}
    assert found == dict.fromkeys(OUTSIDE, (False, False, 0)) | dict.fromkeys(OWNED, (True, True, 1))


def test_the_docs_name_every_table_outside_row_security(server: Server) -> None:
    query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND NOT rowsecurity"
    with server.admin() as admin:
        outside = {name for (name,) in admin.execute(query)}
    page = Path(__file__).parents[3].joinpath("docs", "postgresql.md").read_text()
    listed = page.partition("These tables stand outside")[2].partition("## ")[0]
    rows = [line.split("|")[1] for line in listed.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == outside - {table.name for table in STRANGE}


# --- writing ---------------------------------------------------------------------------------------------


def test_a_transaction_that_serves_nobody_writes_nothing(unguarded: Server) -> None:
    with unguarded.admin() as admin, unguarded.app() as app:
        assert all(refused(app, _insert(table, _any_row(admin, table, "alice"))) for table in OWNED)


def test_alices_transaction_writes_nothing_in_bobs_book(unguarded: Server) -> None:
    with unguarded.admin() as admin, unguarded.app("alice") as app:
        assert all(refused(app, _insert(table, _any_row(admin, table, "bob"))) for table in OWNED)


def test_alice_gives_nothing_of_hers_to_bob(unguarded: Server) -> None:
    with unguarded.app("alice") as app:
        assert refused(app, "UPDATE memories SET owner = 'bob'")
        assert refused(app, "UPDATE links SET owner = 'bob'")


@pytest.mark.parametrize("table", ["memories", "links"])
def test_alices_transaction_changes_nothing_of_bobs(server: Server, table: str) -> None:
    with server.app("alice") as app:
        changed = app.execute(
            sql.SQL("UPDATE {} SET event = event + 1 WHERE owner = 'bob'").format(sql.Identifier(table))
        )
        assert changed.rowcount == 0


def test_alices_transaction_erases_nothing_of_bobs(server: Server) -> None:
    with server.app("alice") as app:
        assert refused(app, "INSERT INTO erasures (owner, memory_id, at, event) VALUES ('bob', '*', '2027', 0)")
    with server.admin() as admin:
        assert count(admin, "memories", "owner = 'bob'") == 4


def test_an_erasure_by_alice_reaches_only_her_own(own_server: Server) -> None:
    with own_server.admin() as admin, psycopg.connect(own_server.url, options="-c role=keepbook_app") as app:
        bobs = {table: count(admin, table, "owner = 'bob'") for table in OWNED}
        app.execute("SELECT keepbook_serve('alice')")
        app.execute("INSERT INTO erasures (owner, memory_id, at, event) VALUES ('alice', '*', '2027', 0)")
        app.commit()
        assert {table: count(admin, table, "owner = 'alice'") for table in OWNED} == dict.fromkeys(OWNED, 0)
        assert {table: count(admin, table, "owner = 'bob'") for table in OWNED} == bobs


def test_a_link_of_alice_cannot_name_bobs_memory(server: Server) -> None:
    with server.admin() as admin, server.app("alice") as app:
        bobs = admin.execute("SELECT id FROM memories WHERE owner = 'bob' AND purged_at IS NULL").fetchall()[0][0]
        app.execute(
            "INSERT INTO ledger (owner, seq, link, at, actor, door, action, memory_id, link_id, digest, previous, "
            f"hash) SELECT owner, seq + 1, {NEXT}, '2999', 'person', 'raw', 'link', memory_id, 'NEWLINK1', 'x', "
            f"{NEWEST}, 'y' "
            "FROM ledger WHERE owner = 'alice' ORDER BY seq DESC LIMIT 1"
        )
        with pytest.raises(errors.IntegrityError, match=r"guard: |foreign key"):
            app.execute(
                "INSERT INTO links (owner, id, from_id, to_id, relation, created_at, event) "
                "SELECT owner, 'NEWLINK1', id, %s, 'relates_to', '2999', "
                "(SELECT max(seq) FROM ledger WHERE owner = 'alice') "
                "FROM memories WHERE owner = 'alice' AND purged_at IS NULL LIMIT 1",
                [bobs],
            )


def _any_row(admin: "psycopg.Connection[Any]", table: str, owner: str) -> dict[str, Any]:
    names = [column.name for column in BY_NAME[table].c]
    columns = sql.SQL(", ").join(map(sql.Identifier, names))
    query = sql.SQL("SELECT {} FROM {} WHERE owner = {}").format(columns, sql.Identifier(table), sql.Literal(owner))
    row = admin.execute(query).fetchone()
    assert row is not None
    return dict(zip(names, row, strict=True))


def _insert(table: str, row: dict[str, Any]) -> sql.Composed:
    return sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, row)),
        sql.SQL(", ").join(map(sql.Literal, row.values())),
    )


# --- the role --------------------------------------------------------------------------------------------


def test_the_role_cannot_log_in_bypass_or_make_anything(server: Server) -> None:
    """On a cluster the coordinator logs in as the role, on the nodes."""
    query = """
        SELECT rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication, rolcanlogin
        FROM pg_roles WHERE rolname = 'keepbook_app'
    """
    with server.admin() as admin:
        assert admin.execute(query).fetchone() == (*[False] * 5, bool(databases.CLUSTER))


def test_the_role_belongs_to_no_other_role(server: Server) -> None:
    with server.admin() as admin:
        query = "SELECT count(*) FROM pg_auth_members WHERE member = 'keepbook_app'::regrole"
        assert admin.execute(query).fetchone() == (0,)


def test_the_role_owns_nothing(server: Server) -> None:
    query = """
        SELECT relname FROM pg_class WHERE relowner = 'keepbook_app'::regrole
        UNION ALL SELECT proname FROM pg_proc WHERE proowner = 'keepbook_app'::regrole
        UNION ALL SELECT nspname FROM pg_namespace WHERE nspowner = 'keepbook_app'::regrole
        UNION ALL SELECT datname FROM pg_database WHERE datdba = 'keepbook_app'::regrole
    """
    with server.admin() as admin:
        assert admin.execute(query).fetchall() == []


GROWING = {
    "ledger": {"SELECT", "INSERT"},
    "covers": {"SELECT", "INSERT"},
    "seals": {"SELECT", "INSERT", "UPDATE (salt)"},
    "touched": {"SELECT", "INSERT", "DELETE"},
    "versions": {"SELECT", "INSERT", "UPDATE (retired_at)"},
    "injected": {"SELECT", "INSERT"},
    "erasures": {"SELECT", "INSERT"},
    "memories": {"SELECT", "INSERT", "UPDATE"},
    "links": {"SELECT", "INSERT", "UPDATE"},
    "injections": {"SELECT", "INSERT", "UPDATE (at, block, lines, nth, rules_digest, seq)"},
    "alembic_version": {"SELECT"},
    "extensions": {"SELECT"},
    "agents": {"SELECT", "INSERT", "UPDATE"},
    "transcripts": {"SELECT", "INSERT"},
    "runs": {
        "SELECT",
        "INSERT",
        "UPDATE (adapter, card, epoch, error, error_code, finished_at, model, session_after, session_before, "
        "started_at, status, step, tokens_in, tokens_out)",
    },
    "decisions": {
        "SELECT",
        "INSERT",
        "UPDATE (came_to, closed_at, closed_by, exit_price, fill_price, filled_at, gap, known_at, last_close, note, "
        "outcome, resolver, result_pct, result_r, settled_early, state, through)",
    },
    "former_results": {"SELECT", "INSERT"},
    "brought_forecasts": {
        "SELECT",
        "INSERT",
        "DELETE",
        "UPDATE (answer_load, answered_at, came_to, closed_at, outcome)",
    },
    "former_trades": {"SELECT", "INSERT"},
    "batches": {"SELECT", "INSERT", "UPDATE (settled)"},
    "bars": {"SELECT", "INSERT", "UPDATE", "DELETE"},
    "former_bars": {"SELECT", "INSERT"},
    "former_events": {"SELECT", "INSERT"},
    "market_events": {"SELECT", "INSERT", "UPDATE"},
    "event_symbols": {"SELECT", "INSERT", "DELETE"},
    "skills": {"SELECT", "INSERT", "UPDATE"},
    "skill_fields": {"SELECT", "INSERT"},
    "deployments": {"SELECT", "INSERT", "UPDATE"},
    "positions": {"SELECT", "INSERT", "UPDATE"},
    "trades": {"SELECT", "INSERT", "UPDATE", "DELETE"},
    "trade_days": {"SELECT", "INSERT", "UPDATE", "DELETE"},
    "lessons": {"SELECT", "INSERT", "UPDATE (withdrawn_at)"},
    "fills": {"SELECT", "INSERT", "UPDATE (fee, remaining)", "DELETE"},
    "loads": {"SELECT", "INSERT", "UPDATE (brought, gone, told, undone_at)"},
    "mappings": {"SELECT", "INSERT", "DELETE"},
    "identities": {"SELECT", "INSERT", "UPDATE (ended_at, issuer, joined_at, subject)", "DELETE"},
}
"""All that the role may do with what only grows: to delete and to blank is the erasing function's alone."""


def _on_a_shard(right: str) -> str:
    """A shard knows no rights to single columns: there a guard holds the others."""
    return right.split(" (", maxsplit=1)[0] if databases.CLUSTER else right


def _declared_rights(table: Table) -> set[str]:
    """What follows from how a stranger's table is declared."""
    rules = rules_of(table)
    rights = {"SELECT", "INSERT"} | ({"DELETE"} if rules.may_go else set())
    if rules.may_change is None:
        return rights | {"UPDATE"}
    return rights | ({f"UPDATE ({', '.join(sorted(rules.may_change))})"} if rules.may_change else set())


def test_the_role_may_do_this_and_nothing_more(server: Server) -> None:
    query = """
        SELECT c.relname, privilege, has_table_privilege('keepbook_app', c.oid, privilege),
               ARRAY(SELECT attname::text FROM pg_attribute a
                     WHERE a.attrelid = c.oid AND attnum > 0 AND NOT attisdropped
                       AND privilege IN ('SELECT', 'INSERT', 'UPDATE')
                       AND has_column_privilege('keepbook_app', c.oid, attnum, privilege) ORDER BY attname)
        FROM pg_class c,
             unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) privilege
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm')
    """
    found: dict[str, set[str]] = {}
    with server.admin() as admin:
        for table, privilege, whole, columns in admin.execute(query):
            if whole or columns:
                found.setdefault(table, set()).add(privilege if whole else f"{privilege} ({', '.join(columns)})")
    growing = GROWING | {table.name: _declared_rights(table) for table in STRANGE}
    may = {table: {_on_a_shard(right) for right in rights} for table, rights in growing.items()}
    assert {table: found.pop(table) for table in growing} == may
    assert set().union(*found.values()) <= {"SELECT", "INSERT", "UPDATE", "DELETE"}


BEYOND = {
    "delete from the ledger": "DELETE FROM ledger",
    "delete a memory": "DELETE FROM memories",
    "delete a version": "DELETE FROM versions",
    "delete a link": "DELETE FROM links",
    "delete an injection": "DELETE FROM injections",
    "take an erasure back": "DELETE FROM erasures",
    "rewrite the ledger": "UPDATE ledger SET actor = 'person'",
    "rewrite a version": "UPDATE versions SET content = 'forged'",
    "rewrite an injection's preset": "UPDATE injections SET preset = 'coach'",
    "rewrite a count": "UPDATE injected SET nth = 7",
    "truncate the index": "TRUNCATE terms",
    "truncate a book": "TRUNCATE memories CASCADE",
    "switch the guards off": "ALTER TABLE ledger DISABLE TRIGGER ALL",
    "drop a guard": "DROP TRIGGER ledger_appends ON ledger",
    "add a trigger": (
        "CREATE TRIGGER mine AFTER INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION keepbook_never_truncated()"
    ),
    "write as a replica, which fires no trigger": "SET LOCAL session_replication_role = 'replica'",
    "switch row security off": "ALTER TABLE memories DISABLE ROW LEVEL SECURITY",
    "free the owner from row security": "ALTER TABLE memories NO FORCE ROW LEVEL SECURITY",
    "add a policy": "CREATE POLICY mine ON memories USING (true)",
    "drop the policy": "DROP POLICY one_owner ON memories",
    "replace a guard's function": (
        "CREATE OR REPLACE FUNCTION keepbook_refuse(why text) RETURNS void LANGUAGE sql AS 'SELECT'"
    ),
    "change a guard's function": "ALTER FUNCTION keepbook_erase() SET search_path TO pg_temp",
    "drop a guard's function": "DROP FUNCTION keepbook_refuse(text) CASCADE",
    "make a function": "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "make a table": "CREATE TABLE mine (owner text)",
    "make a schema": "CREATE SCHEMA mine",
    "make itself mightier": "ALTER ROLE keepbook_app BYPASSRLS",
    "make a role": "CREATE ROLE keepbook_twin",
    "take a role": "GRANT pg_read_all_data TO keepbook_app",
    "say that the schema is another": "UPDATE alembic_version SET version_num = '9999'",
    "read a file of the server": "SELECT pg_read_file('postgresql.conf')",
    "run a program": "COPY (SELECT 1) TO PROGRAM 'cat'",
}


@pytest.mark.parametrize("statement", [pytest.param(attempt, id=name) for name, attempt in BEYOND.items()])
def test_the_role_cannot(server: Server, statement: str) -> None:
    with server.app("alice") as app:
        assert refused(app, statement)


def test_row_security_turned_off_is_an_error_and_not_a_way_in(server: Server) -> None:
    with server.app("alice") as app:
        app.execute("SET LOCAL row_security = off")
        with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
            app.execute("SELECT content FROM versions")


def test_a_function_of_the_role_is_never_run_with_more_rights(server: Server) -> None:
    """The erasing function runs with its maker's rights: a table of the same name in the role's own temporary
    schema, with a trigger on it, must not be taken for the real one."""
    steps = [
        "CREATE TEMP TABLE versions (LIKE public.versions)",
        "INSERT INTO pg_temp.versions SELECT * FROM public.versions",
        "CREATE FUNCTION pg_temp.mine() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'ran as %', current_user; END $$",
        "CREATE TRIGGER mine BEFORE UPDATE ON pg_temp.versions FOR EACH ROW EXECUTE FUNCTION pg_temp.mine()",
        "INSERT INTO public.ledger (owner, seq, link, at, actor, door, action, memory_id, digest, previous, hash) "
        f"SELECT owner, seq + 1, {NEXT}, '2999', 'person', 'raw', 'purge', "
        f"(SELECT id FROM memories WHERE owner = 'alice' AND purged_at IS NULL LIMIT 1), 'x', {NEWEST}, 'y' "
        "FROM public.ledger WHERE owner = 'alice' ORDER BY seq DESC LIMIT 1",
        "INSERT INTO public.erasures (owner, memory_id, at, event) "
        "SELECT owner, memory_id, at, seq FROM public.ledger WHERE owner = 'alice' ORDER BY seq DESC LIMIT 1",
    ]
    with server.app("alice") as app:
        app.execute("SET LOCAL citus.multi_shard_modify_mode = 'sequential'")  # which only a cluster knows
        for step in steps:
            if refused(app, step):
                return  # no temporary tables for this role: no way to try
        left = "SELECT content FROM public.versions JOIN public.erasures USING (owner, memory_id)"
        assert set(app.execute(left)) == {(None,)}


# --- the pool --------------------------------------------------------------------------------------------


@pytest.fixture
def database(server: Server) -> Iterator[Database]:
    with closing(Database(server.url, lambda: datetime.now(UTC), allow_bypass_login=True)) as opened:
        yield opened


def counted(conn: Any) -> tuple[int, int]:
    """Which connection it is, and how many of Alice's memories it sees; by her name, as a cluster wants to be asked."""
    mine = conn.exec_driver_sql("SELECT count(*) FROM memories WHERE owner = 'alice'").scalar()
    return conn.exec_driver_sql("SELECT pg_backend_pid()").scalar(), mine


@pytest.mark.parametrize("way", ["read", "write"])
def test_whom_a_transaction_served_is_forgotten_with_it(database: Database, way: str) -> None:
    begin: Callable[..., Any] = getattr(database, way)
    with begin("alice") as tx:
        connection, alices = counted(tx.conn)
    with database.unscoped() as conn:
        after = counted(conn)
    assert alices == 4
    assert after == (connection, 0)  # the same connection, serving nobody now


@pytest.mark.parametrize("way", ["read", "write"])
def test_whom_a_failed_transaction_served_is_forgotten_too(database: Database, way: str) -> None:
    begin: Callable[..., Any] = getattr(database, way)
    with pytest.raises(ZeroDivisionError), begin("alice"):
        raise ZeroDivisionError
    with database.unscoped() as conn:
        assert counted(conn)[1] == 0


def test_the_engines_own_connections_wear_the_role(database: Database) -> None:
    for begin in (database.read, database.write):
        with begin("alice") as tx:
            assert tx.conn.exec_driver_sql("SELECT current_user").scalar() == "keepbook_app"
    with database.unscoped() as conn:
        assert conn.exec_driver_sql("SELECT current_user").scalar() == "keepbook_app"


def test_a_reader_cannot_write(database: Database) -> None:
    with pytest.raises(Exception, match="takes no writes"), database.read("alice") as tx:
        tx.conn.exec_driver_sql("UPDATE owners SET zone = 'Europe/Oslo' WHERE owner = 'alice'")


# --- opening ---------------------------------------------------------------------------------------------


@pytest.fixture
def roles(own_server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, sql.Identifier]]:
    """A role in place of the application's, and a mighty one: roles are the whole server's, and other tests
    use the real one."""
    name = f"keepbook_{uuid.uuid4().hex[:12]}"
    monkeypatch.setattr("keepbook.storage.engines.postgres.APP_ROLE", name)
    known = {"app": sql.Identifier(name), "mighty": sql.Identifier(f"{name}_mighty")}
    with own_server.admin() as admin:
        for statement in (
            "CREATE ROLE {app} NOLOGIN",
            "CREATE ROLE {mighty} NOLOGIN BYPASSRLS",
            "GRANT {app} TO CURRENT_USER",
            "GRANT USAGE ON SCHEMA public TO {app}",
            "GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO {app}",
        ):
            admin.execute(sql.SQL(statement).format(**known))
        yield known
        for statement in (
            "ALTER TABLE memories OWNER TO CURRENT_USER",
            "REASSIGN OWNED BY {app} TO CURRENT_USER",
            "DROP OWNED BY {app}",
            "DROP ROLE {app}",
            "DROP ROLE {mighty}",
        ):
            admin.execute(sql.SQL(statement).format(**known))


def open_and_close(url: str) -> None:
    Database(url, lambda: datetime.now(UTC), allow_bypass_login=True).close()


def test_a_book_opens_for_a_role_that_cannot_bypass(own_server: Server, roles: dict[str, sql.Identifier]) -> None:
    open_and_close(own_server.url)


MIGHTY = {
    "is a superuser": "ALTER ROLE {app} SUPERUSER",
    "bypasses row security": "ALTER ROLE {app} BYPASSRLS",
    "may become one that bypasses it": "GRANT {mighty} TO {app}",
    "owns a table and so its policies": "ALTER TABLE memories OWNER TO {app}",
}


@pytest.mark.parametrize("might", [pytest.param(might, id=name) for name, might in MIGHTY.items()])
def test_a_book_does_not_open_for_a_role_that(
    own_server: Server, roles: dict[str, sql.Identifier], might: LiteralString
) -> None:
    with own_server.admin() as admin:
        admin.execute(sql.SQL(might).format(**roles))
    with pytest.raises(NotAllowed) as refusal:
        open_and_close(own_server.url)
    assert refusal.value.code == "role_bypasses"


def test_a_book_does_not_open_while_a_table_has_its_row_security_off(own_server: Server) -> None:
    with own_server.admin() as admin:
        admin.execute("ALTER TABLE versions DISABLE ROW LEVEL SECURITY")
    with pytest.raises(NotAllowed) as refusal:
        open_and_close(own_server.url)
    assert refusal.value.code == "role_bypasses"
