"""PostgreSQL databases for the tests: copies of a template, and a pool of copies that are emptied and used again.

To copy and drop a database takes sixty milliseconds, to empty the tables that a test has written five. A database in
which a test has changed more than rows is not used again. Where `KEEPBOOK_TEST_CITUS` names a cluster (`make
test-citus`), a database is one on each of its nodes, and a book in it is spread over them.
"""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, LiteralString, cast
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql
from tests.quicker import WARM

from keepbook.storage.engines import postgres

CLUSTER = os.environ.get("KEEPBOOK_TEST_CITUS", "")
"""The operator's address of a Citus cluster's coordinator, in whose `pg_dist_node` its nodes stand."""
SHARDS = 4

CATALOGUE = {
    "attribute": "attrelid", "class": "oid", "constraint": "oid", "proc": "oid", "rewrite": "oid", "type": "oid",
} | dict.fromkeys(
    ("attrdef", "default_acl", "event_trigger", "extension", "index", "namespace", "policy", "sequence", "trigger")
)  # fmt: skip
"""Where PostgreSQL notes what a database consists of; each row tells the transaction that wrote it. Most rows of
the larger ones came with PostgreSQL, under numbers below 16384, and stay as they are."""
# The newest transaction: what is youngest, counted from the first that there was.
FINGERPRINT = " UNION ALL ".join(
    f"SELECT '{table}', count(*), age('3'::xid) - min(age(xmin)) FROM pg_{table}"
    + (f" WHERE {number} >= 16384" if number else "")
    for table, number in CATALOGUE.items()
) + (
    " UNION ALL SELECT 'database', 1, xmin::text::int FROM pg_database WHERE datname = current_database()"
    " UNION ALL SELECT 'settings', count(*), max(xmin::text::int) FROM pg_db_role_setting"
    " WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
WRITTEN = """
    SELECT relname, pg_relation_size(oid) FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND pg_relation_size(oid) > 0 ORDER BY relname"""
STAYS = {"alembic_version", "extensions"}
"""What a new database says of itself."""
LARGE = 2**17
"""Bytes past which a table begins anew. Deleting rows is ten times quicker, but leaves their places behind."""
ALONE = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
    AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND NOT pid = ANY(%s)"""
# A shard is a table like any other to whoever empties it.
AS_TABLES = "SET citus.override_table_visibility = off; SET citus.enable_manual_changes_to_shards = on"


def admin(url: str, statement: str, *names: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def url_of(admin_url: str, database: str) -> str:
    return urlunsplit(urlsplit(admin_url)._replace(path=f"/{database}"))


def hold_to_one_node() -> None:
    """On a cluster a transaction that serves somebody fails if it asks more than the one node that they lie on. A plan
    for everybody, which the server makes only to compare its cost, would look as if it did."""
    if CLUSTER:
        alone = (
            "set_config('citus.multi_task_query_log_level', 'error', true), "
            "set_config('plan_cache_mode', 'force_custom_plan', true)"
        )
        for name in ("_SERVE", "_SERVE_AND_LOCK"):
            serving = f"{getattr(postgres, name).as_string()}, {alone}"
            setattr(postgres, name, sql.SQL(cast("LiteralString", serving)))


@cache
def _workers() -> list[str]:
    """The addresses of the cluster's workers; none where there is no cluster."""
    if not CLUSTER:
        return []
    parts = urlsplit(CLUSTER)
    with psycopg.connect(CLUSTER) as connection:
        found = connection.execute("SELECT nodename, nodeport FROM pg_dist_node WHERE groupid <> 0 ORDER BY nodeid")
        return [urlunsplit(parts._replace(netloc=f"{parts.username}@{host}:{port}")) for host, port in found]


def nodes(url: str) -> list[str]:
    """Where a database lies: its own address, and on a cluster that of each worker."""
    name = urlsplit(url).path[1:]
    return [url, *(url_of(worker, name) for worker in _workers())]


def make(admin_url: str, name: str) -> None:
    """A database without any table; on a cluster one that knows its nodes."""
    for node in nodes(admin_url):
        admin(node, "CREATE DATABASE {} TEMPLATE template0", name)
        if CLUSTER:
            admin(url_of(node, name), "CREATE EXTENSION citus")
    with psycopg.connect(url_of(admin_url, name), autocommit=True) as connection:
        for place, node in enumerate(nodes(admin_url) if CLUSTER else []):
            host, port = urlsplit(node).hostname, urlsplit(node).port
            way = "SELECT citus_add_node(%s, %s)" if place else "SELECT citus_set_coordinator_host(%s, %s)"
            connection.execute(way, [host, port])


def copied(admin_url: str, name: str, template: str) -> None:
    """A database like the template, which nobody is connected to."""
    for node in nodes(admin_url):
        if CLUSTER:  # its own daemon would come back
            admin(node, "ALTER DATABASE {} ALLOW_CONNECTIONS false", template)
            with psycopg.connect(node, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", [template]
                )
        admin(node, "CREATE DATABASE {} TEMPLATE {}", name, template)
        if CLUSTER:  # a copy has the rows of a database, not its settings
            admin(node, "ALTER DATABASE {} SET citus.propagate_set_commands = 'local'", name)


def drop(admin_url: str, name: str) -> None:
    for node in nodes(admin_url):
        admin(node, "DROP DATABASE IF EXISTS {} WITH (FORCE)", name)


@contextmanager
def database(admin_url: str, template: str) -> Iterator[str]:
    """A copy of the template, gone when the block ends."""
    name = f"kb_{uuid.uuid4().hex}"
    copied(admin_url, name, template)
    try:
        yield url_of(admin_url, name)
    finally:
        drop(admin_url, name)


class Pool:
    """Copies of one template, each handed out as if it had just been made."""

    def __init__(self, admin_url: str, template: str) -> None:
        self._admin_url, self._template = admin_url, template
        self._known: dict[str, list[Any]] = {}
        self._within: dict[str, list[psycopg.Connection[Any]]] = {}
        self._free: list[str] = []

    @contextmanager
    def database(self) -> Iterator[str]:
        name = self._free.pop() if self._free else self._made()
        try:
            yield url_of(self._admin_url, name)
        finally:
            if self._emptied(name):
                self._free.append(name)
            else:
                self._leave(name)
                drop(self._admin_url, name)

    def close(self) -> None:
        """The databases go with their server; a cluster outlives the tests."""
        for name in list(self._within):
            self._leave(name)
            if CLUSTER:
                drop(self._admin_url, name)

    def _leave(self, name: str) -> None:
        del self._known[name]
        for connection in self._within.pop(name):
            connection.close()
        WARM.forget(name)

    def _made(self) -> str:
        name = f"kb_{uuid.uuid4().hex}"
        copied(self._admin_url, name, self._template)
        connections = self._within[name] = [
            psycopg.connect(node, autocommit=True) for node in nodes(url_of(self._admin_url, name))
        ]
        for connection in connections:
            connection.execute(AS_TABLES)
        written = [row[0] for connection in connections for row in connection.execute(WRITTEN)]
        assert set(written) == STAYS, "the template holds rows"
        self._known[name] = self._seen(connections)
        WARM.welcome(name)
        return name

    def _emptied(self, name: str) -> bool:
        """Whether it is as it was made: what tests have written is taken out, and nothing else was touched."""
        connections = self._within[name]
        try:
            connections[0].execute(ALONE, [WARM.backends(name)])
            if self._seen(connections) != self._known[name]:
                return False
            anew = [self._empty(connection) for connection in connections]
            if any(anew):
                self._known[name] = self._seen(connections)
        except psycopg.OperationalError:  # a test has ended all that were connected
            return False
        return True

    @staticmethod
    def _empty(connection: "psycopg.Connection[Any]") -> bool:
        """Whether tables began anew."""
        connection.execute("SET session_replication_role = 'replica'")  # the guards forbid what follows
        large = []
        for table, size in connection.execute(WRITTEN).fetchall():
            if size > LARGE:
                large.append(sql.Identifier(table))
            elif table not in STAYS:
                connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
        if large:
            connection.execute(sql.SQL("TRUNCATE {} CASCADE").format(sql.SQL(", ").join(large)))
        return bool(large)

    @staticmethod
    def _seen(connections: "list[psycopg.Connection[Any]]") -> list[Any]:
        seen = [row for connection in connections for row in connection.execute(FINGERPRINT)]
        return [*seen, *connections[0].execute("SELECT * FROM alembic_version")]
