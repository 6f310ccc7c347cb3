"""PostgreSQL databases for the tests: copies of a template, and a pool of copies that are emptied and used again.

To copy and drop a database takes sixty milliseconds, to empty the tables that a test has written five. A database in
which a test has changed more than rows is not used again.
"""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql
from tests.quicker import WARM

CATALOGUE = (
    "attrdef", "attribute", "class", "constraint", "default_acl", "event_trigger", "extension", "index", "namespace",
    "policy", "proc", "rewrite", "sequence", "trigger", "type",
)  # fmt: skip
"""Where PostgreSQL notes what a database consists of; each row tells the transaction that wrote it."""
FINGERPRINT = " UNION ALL ".join(
    f"SELECT '{table}', count(*), max(xmin::text::bigint) FROM pg_{table}" for table in CATALOGUE
) + (
    " UNION ALL SELECT 'database', 1, xmin::text::bigint FROM pg_database WHERE datname = current_database()"
    " UNION ALL SELECT 'settings', count(*), max(xmin::text::bigint) FROM pg_db_role_setting"
    " WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
WRITTEN = """
    SELECT relname, pg_relation_size(oid) FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND pg_relation_size(oid) > 0 ORDER BY relname"""
LARGE = 2**17
"""Bytes past which a table begins anew. Deleting rows is ten times quicker, but leaves their places behind."""
ALONE = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND NOT pid = ANY(%s)"""


def admin(url: str, statement: str, *names: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


def url_of(admin_url: str, database: str) -> str:
    return urlunsplit(urlsplit(admin_url)._replace(path=f"/{database}"))


@contextmanager
def database(admin_url: str, template: str) -> Iterator[str]:
    """A copy of the template, gone when the block ends."""
    name = f"kb_{uuid.uuid4().hex}"
    admin(admin_url, "CREATE DATABASE {} TEMPLATE {}", name, template)
    try:
        yield url_of(admin_url, name)
    finally:
        admin(admin_url, "DROP DATABASE {} WITH (FORCE)", name)


class Pool:
    """Copies of one template, each handed out as if it had just been made."""

    def __init__(self, admin_url: str, template: str) -> None:
        self._admin_url, self._template = admin_url, template
        self._known: dict[str, list[Any]] = {}
        self._within: dict[str, psycopg.Connection[Any]] = {}
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
                admin(self._admin_url, "DROP DATABASE {} WITH (FORCE)", name)

    def close(self) -> None:
        """The databases go with their server."""
        for name in list(self._within):
            self._leave(name)

    def _leave(self, name: str) -> None:
        del self._known[name]
        self._within.pop(name).close()
        WARM.forget(name)

    def _made(self) -> str:
        name = f"kb_{uuid.uuid4().hex}"
        admin(self._admin_url, "CREATE DATABASE {} TEMPLATE {}", name, self._template)
        connection = self._within[name] = psycopg.connect(url_of(self._admin_url, name), autocommit=True)
        assert [row[0] for row in connection.execute(WRITTEN)] == ["alembic_version"], "the template holds rows"
        self._known[name] = self._seen(connection)
        WARM.welcome(name)
        return name

    def _emptied(self, name: str) -> bool:
        """Whether it is as it was made: what tests have written is taken out, and nothing else was touched."""
        try:
            return self._emptied_by(self._within[name], name)
        except psycopg.OperationalError:  # a test has ended all that were connected
            return False

    def _emptied_by(self, connection: "psycopg.Connection[Any]", name: str) -> bool:
        connection.execute(ALONE, [WARM.backends(name)])
        if self._seen(connection) != self._known[name]:
            return False
        connection.execute("SET session_replication_role = 'replica'")  # the guards forbid what follows
        large = []
        for table, size in connection.execute(WRITTEN).fetchall():
            if size > LARGE:
                large.append(sql.Identifier(table))
            elif table != "alembic_version":
                connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
        if large:
            connection.execute(sql.SQL("TRUNCATE {} CASCADE").format(sql.SQL(", ").join(large)))
            self._known[name] = self._seen(connection)
        return True

    @staticmethod
    def _seen(connection: "psycopg.Connection[Any]") -> list[Any]:
        return [*connection.execute(FINGERPRINT), *connection.execute("SELECT * FROM alembic_version")]
