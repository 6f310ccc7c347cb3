"""A book made by an earlier release, with things in it, is brought up by this one and goes on."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, create_engine, event, select, text

import keepbook.storage
from keepbook import Keepbook
from keepbook.storage import schema
from keepbook.storage.database import upgrade
from keepbook.storage.sqlite import APPLICATION_ID
from keepbook.storage.tables import metadata

OLD = [revision for revision in schema.KNOWN if revision != schema.HEAD]
KEPT = ("owners", "ledger", "memories", "versions", "links", "injections", "injected", "terms", "likeness")


@contextmanager
def raw(url: str, engine_name: str) -> Iterator[Connection]:
    """A plain connection, as administrator where there is a server."""
    address = f"sqlite:///{url}" if engine_name == "sqlite" else url.replace("postgresql:", "postgresql+psycopg:", 1)
    engine = create_engine(address)
    if engine_name == "sqlite":
        event.listen(engine, "connect", lambda conn, _: setattr(conn, "isolation_level", None))
        event.listen(engine, "begin", lambda conn: conn.exec_driver_sql("BEGIN"))
    with engine.begin() as conn:
        yield conn
    engine.dispose()


def bring_to(conn: Connection, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(keepbook.storage.__file__).parent / "migrations"))
    config.attributes["connection"] = conn
    command.upgrade(config, revision)


def rows_of(conn: Connection) -> dict[str, list[Any]]:
    return {name: [dict(row._mapping) for row in conn.execute(select(metadata.tables[name]))] for name in KEPT}


@pytest.mark.parametrize("revision", OLD)
def test_an_older_book_with_data_is_brought_up_and_goes_on(
    book_url: str, empty_url: str, engine_name: str, clock: Any, revision: str
) -> None:
    with Keepbook(book_url, clock=clock) as kb:
        alice = kb.book("alice")
        one = alice.remember("Prefers index funds", category="preference", subject="money")
        other = alice.remember("Lives in Oslo", category="profile", body="since the spring of 2021")
        alice.link(one.id, other.id, "because_of")
        block = alice.inject("chat-1")
    with raw(book_url, engine_name) as conn:
        rows = rows_of(conn)
    older = f"{empty_url}.older" if engine_name == "sqlite" else empty_url
    with raw(older, engine_name) as conn:
        bring_to(conn, revision)
        if engine_name == "sqlite":
            conn.execute(text(f"PRAGMA application_id = {APPLICATION_ID}"))
        for name in KEPT:
            for row in sorted(rows[name], key=lambda row: row.get("seq", 0)):
                conn.execute(metadata.tables[name].insert(), row)
        assert schema.revision(conn) == revision
    if engine_name == "postgresql":
        assert upgrade(older) == list(schema.KNOWN[schema.KNOWN.index(revision) + 1 :])

    with Keepbook(older, clock=clock) as kb:
        alice = kb.book("alice")
        assert alice.verify().ok
        assert alice.inject("chat-1") == block
        assert [hit.id for hit in alice.recall("which funds?")] == [one.id]
        changed = alice.update(other.id, "Lives in Bergen")
        assert alice.undo(changed.event).content == "Lives in Oslo"
        alice.thread("session-1").add("user", "I have a dog called Bo.")
        alice.delete(one.id, forever=True)
        assert alice.verify().ok
        assert kb.book("alice").erase(confirm="alice").counts["memories"] == 2
