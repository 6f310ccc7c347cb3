"""A book that is spread over a cluster: who touches which node, what a shard shows and refuses, and what is put back.

These run with `make test-citus` alone, beside the suites that every engine passes. The attacks go where no server of
ours goes: straight to a worker, at the shards themselves.
"""

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
import pytest
from psycopg import errors, sql
from sqlalchemy import event
from tests.databases import AS_TABLES, SHARDS, drop, make, nodes, url_of
from tests.extensions.agents.deciding import busy_desk
from tests.extensions.storage.every_table import PARENTS_FIRST
from tests.extensions.trading.floor import busy_floor

from keepbook import Keepbook
from keepbook.errors import Conflict, Invalid
from keepbook.storage.database import distribute, upgrade
from keepbook.storage.engines import cluster
from keepbook.storage.schema_check import differences, repair_guards

BY_OWNER = [table.name for table in PARENTS_FIRST if cluster.placement_of(table) == "owner"]
UNSCOPED = {"owners", "due"}


@contextmanager
def on(node: str, *, role: str = "", owner: str | None = None) -> Iterator["psycopg.Connection[Any]"]:
    """One transaction on one node, straight at its shards, never kept."""
    with closing(psycopg.connect(node, user=role) if role else psycopg.connect(node)) as connection:
        connection.autocommit = True
        connection.execute(AS_TABLES)
        connection.autocommit = False
        if owner is not None:
            connection.execute("SELECT set_config('keepbook.owner', %s, true)", [owner])
        yield connection


def shards(connection: "psycopg.Connection[Any]", table: str) -> list[sql.Identifier]:
    """The parts of a table that lie on this node."""
    found = connection.execute(
        "SELECT c.relname FROM pg_dist_shard s JOIN pg_class c ON c.relname = %(table)s || '_' || s.shardid "
        "WHERE s.logicalrelid = %(table)s::regclass ORDER BY 1",
        {"table": table},
    )
    return [sql.Identifier(name) for (name,) in found.fetchall()]


def rows(connection: "psycopg.Connection[Any]", table: str) -> list[tuple[Any, ...]]:
    """Whose rows a node shows, of all shards of a table."""
    found: list[tuple[Any, ...]] = []
    for shard in shards(connection, table):
        found += connection.execute(sql.SQL("SELECT owner FROM {}").format(shard)).fetchall()
    return found


OWNERS = ("alice", "bob", "carol", "dora", "emil", "frida")


@pytest.fixture
def filled(kb: Any) -> Any:
    """Books on both workers."""
    for owner in OWNERS:
        book = kb.book(owner)
        book.remember(f"The secret of {owner}")
        gone = book.remember(f"Soon forgotten by {owner}")
        book.inject("session")
        book.delete(gone.id, forever=True)
    return kb


# --- where things lie --------------------------------------------------------------------------------------


@contextmanager
def asked(kb: Any) -> Iterator[list[str]]:
    """Which nodes are asked for something, in turn, by whatever this book does."""
    found: list[str] = []

    def hear(notice: Any) -> None:
        if "issuing" in str(notice.message_primary) and (
            place := re.search(r"@([\w.]+:\d+)", str(notice.message_detail))
        ):
            found.append(place[1])

    def listen(connection: Any, *_: Any) -> None:
        connection.add_notice_handler(hear)
        connection.execute("SET citus.log_remote_commands = on")

    engine = kb._database.backend._engine
    engine.dispose()
    event.listen(engine, "connect", listen)
    try:
        yield found
    finally:
        event.remove(engine, "connect", listen)
        engine.dispose()


def test_a_transaction_of_one_owner_touches_one_node(filled: Any) -> None:
    homes = set()
    for owner in OWNERS:
        book = filled.book(owner)
        with asked(filled) as found:
            told = book.remember("Likes tea without milk", subject="tea")
            book.undo(book.update(told.id, "Likes tea with milk").event)
            book.recall("tea")
            book.inject("another")
            book.block()
            busy_desk(book)
            busy_floor(book)
            book.delete(told.id, forever=True)
            assert book.verify().ok
        assert len(set(found)) == 1, f"{owner}'s work went to {sorted(set(found))}"
        homes.add(found[0])
    assert len(homes) == 2


def test_what_is_due_is_asked_of_all_nodes_at_once(filled: Any) -> None:
    with filled._database.unscoped() as conn:
        query = (
            "EXPLAIN SELECT owner, work, id, at FROM due WHERE work = 'purge' AND at <= '2999' ORDER BY at LIMIT 500"
        )
        plan = "\n".join(conn.exec_driver_sql(query).scalars())
    assert f"Task Count: {SHARDS}" in plan
    assert len(re.findall(r"->\s+Limit", plan)) == 1  # the page is bounded on each node, too


def test_every_owner_lies_on_one_node_with_all_tables(filled: Any, book_url: str) -> None:
    where: dict[str, set[str]] = {}
    for node in nodes(book_url):
        with on(node) as connection:
            for table in BY_OWNER:
                for (owner,) in rows(connection, table):
                    where.setdefault(owner, set()).add(node)
    assert set(where) == set(OWNERS)
    assert all(len(places) == 1 for places in where.values())
    assert len(set.union(*where.values())) == len(nodes(book_url)) - 1  # each worker has some, the coordinator none


# --- attacked on the nodes -----------------------------------------------------------------------------------


def test_a_shard_shows_nothing_to_who_serves_nobody(filled: Any, book_url: str) -> None:
    for node in nodes(book_url)[1:]:
        with on(node, role="keepbook_app") as app:
            assert {table: rows(app, table) for table in BY_OWNER if table not in UNSCOPED} == {
                table: [] for table in BY_OWNER if table not in UNSCOPED
            }
            assert app.execute("SELECT count(*) FROM memories").fetchone() == (0,)


@pytest.mark.parametrize("owner", ["", "*", "alice' OR 'a' = 'a", "ALICE"])
def test_a_shard_shows_nothing_to_nobody(filled: Any, book_url: str, owner: str) -> None:
    for node in nodes(book_url)[1:]:
        with on(node, role="keepbook_app", owner=owner) as app:
            assert rows(app, "memories") == []


def test_a_shard_shows_each_owner_their_own(filled: Any, book_url: str) -> None:
    for owner in OWNERS:
        seen = set()
        for node in nodes(book_url)[1:]:
            with on(node, role="keepbook_app", owner=owner) as app:
                seen |= {shown for table in BY_OWNER if table not in UNSCOPED for (shown,) in rows(app, table)}
        assert seen == {owner}


ATTACKS = {
    "rewrite the ledger": ("ledger", "UPDATE {} SET actor = 'job'"),
    "delete from the ledger": ("ledger", "DELETE FROM {}"),
    "truncate the ledger": ("ledger", "TRUNCATE {} CASCADE"),
    "rewrite a version": ("versions", "UPDATE {} SET content = 'forged'"),
    "end a version": ("versions", "UPDATE {} SET retired_at = '2999' WHERE retired_at IS NULL"),
    "change a memory": ("memories", "UPDATE {} SET confidence = 'inferred'"),
    "delete a memory": ("memories", "DELETE FROM {}"),
    "rewrite an injection": ("injections", "UPDATE {} SET preset = 'forged'"),
    "rewrite a seal": ("seals", "UPDATE {} SET digest = 'forged'"),
    "take an erasure back": ("erasures", "DELETE FROM {}"),
    "give a row away": ("memories", "UPDATE {} SET owner = 'mallory'"),
    "erase by job": (
        "erasures",
        "INSERT INTO {} (owner, memory_id, at, event) VALUES (current_setting('keepbook.owner'), 'GHOST001', '2', 1)",
    ),
}


@pytest.mark.parametrize("role", ["", "keepbook_app"], ids=["admin", "application"])
@pytest.mark.parametrize("attack", [pytest.param(attack, id=name) for name, attack in ATTACKS.items()])
def test_a_shard_is_guarded(filled: Any, book_url: str, attack: tuple[str, str], role: str) -> None:
    table, statement = attack
    tried = 0
    for node in nodes(book_url)[1:]:
        for owner in OWNERS:
            with on(node, role=role, owner=owner) as connection:
                for shard in shards(connection, table):
                    query = sql.SQL(statement).format(shard)  # type: ignore[arg-type]
                    try:
                        with connection.transaction():
                            touched = connection.execute(query).rowcount
                        assert touched == 0, f"{node} let {touched} rows go"
                    except (errors.InsufficientPrivilege, errors.IntegrityError, errors.FeatureNotSupported):
                        tried += 1
    assert tried


# --- made, looked at, put back --------------------------------------------------------------------------------


def test_a_missing_guard_of_one_shard_is_found_and_put_back(book_url: str) -> None:
    worker = nodes(book_url)[1]
    with on(worker) as connection:
        (name,) = connection.execute(
            "SELECT c.relname FROM pg_dist_shard s JOIN pg_class c ON c.relname = 'ledger_' || s.shardid LIMIT 1"
        ).fetchone() or ("",)
        number = name.rpartition("_")[2]
        connection.execute("SET LOCAL citus.enable_ddl_propagation = off")
        connection.execute(f"DROP TRIGGER ledger_appends_{number} ON {name}")
        connection.execute(f"ALTER TABLE {name} NO FORCE ROW LEVEL SECURITY")
        connection.commit()
    assert [line for line in differences(book_url) if name in line]
    assert repair_guards(book_url)
    assert differences(book_url) == []


@pytest.fixture
def plain_url(postgres_admin_url: str) -> Iterator[str]:
    """A cluster's database in which nothing is spread yet."""
    name = "kb_before_it_is_spread"
    drop(postgres_admin_url, name)
    make(postgres_admin_url, name)
    yield url_of(postgres_admin_url, name)
    drop(postgres_admin_url, name)


def test_a_book_that_is_spread_keeps_what_was_in_it(plain_url: str) -> None:
    with pytest.raises(Conflict) as early:
        distribute(plain_url, SHARDS)
    assert early.value.code == "needs_upgrade"
    upgrade(plain_url)
    with closing(Keepbook(plain_url)) as kb:
        for owner in OWNERS:
            kb.book(owner).remember(f"The secret of {owner}")
            busy_desk(kb.book(owner))
        before = {owner: kb.book(owner).verify() for owner in OWNERS}
    done = distribute(plain_url, SHARDS)
    assert set(done.by_owner) == set(BY_OWNER)
    assert "bars" in done.everywhere
    assert (done.shards, len(done.nodes)) == (SHARDS, 2)
    again = distribute(plain_url, SHARDS)
    assert again.by_owner == again.everywhere == ()
    assert upgrade(plain_url) == []
    assert differences(plain_url) == []
    with closing(Keepbook(plain_url)) as kb:
        assert {owner: kb.book(owner).verify() for owner in OWNERS} == before
        kb.book("alice").remember("Something new after it was spread")
        assert kb.book("alice").verify().ok


def test_a_worker_is_no_place_to_connect_to(book_url: str) -> None:
    with pytest.raises(Invalid, match="coordinator"):
        Keepbook(nodes(book_url)[1])


def test_a_cluster_that_does_not_tell_its_nodes_is_refused(book_url: str) -> None:
    silent = f"{book_url}?options=-c%20citus.propagate_set_commands%3Dnone"
    with psycopg.connect(silent) as connection:
        connection.execute("SELECT keepbook_serve('alice')")
        assert connection.execute("SELECT current_setting('citus.propagate_set_commands')").fetchone() == ("none",)
