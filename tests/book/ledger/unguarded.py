"""A database in an attacker's hands, and what its owner is told of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, create_engine, text

from keepbook.book.ledger.verify import verify
from keepbook.storage.database import Tx


@contextmanager
def unguarded(url: str) -> Iterator[Connection]:
    """The whole database in an attacker's hands: no trigger, no foreign key, no check of any kind in the way."""
    if url.startswith("postgresql:"):
        engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:", 1))
        with engine.begin() as conn:
            conn.execute(text("SET LOCAL session_replication_role = replica"))
            for name, table in conn.execute(text(_CHECKS)).all():
                conn.execute(text(f'ALTER TABLE {table} DROP CONSTRAINT "{name}"'))
            for (name,) in conn.execute(text(_UNIQUE)).all():
                conn.execute(text(f'DROP INDEX "{name}"'))
            yield conn
    else:
        engine = create_engine(f"sqlite:///{url}")
        with engine.begin() as conn:
            conn.exec_driver_sql("PRAGMA ignore_check_constraints = ON")
            for (name,) in conn.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'trigger'").all():
                conn.exec_driver_sql(f'DROP TRIGGER "{name}"')
            unique = "SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE 'CREATE UNIQUE %'"
            for (name,) in conn.exec_driver_sql(unique).all():
                conn.exec_driver_sql(f'DROP INDEX "{name}"')
            yield conn
    engine.dispose()


_CHECKS = """SELECT conname, conrelid::regclass::text FROM pg_constraint
             WHERE contype IN ('c', 'u') AND connamespace = 'public'::regnamespace"""
_UNIQUE = """SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
             WHERE i.indisunique AND NOT i.indisprimary AND c.relnamespace = 'public'::regnamespace"""


def verified(book: Any, conn: Connection) -> Any:
    """What the book says of itself as it stands on that connection, before anything is kept."""
    return verify(Tx(conn, book.owner, book._database.clock, book._database.tables, writes=False))
