"""What was purged or erased stands nowhere any more: in no table of either engine, and in no digest to guess against.

The bytes of a SQLite file are looked at in test_crash.py; here it is every column of every table that the database
itself lists, read past row-level security, and the seals, of rows and of batches: whoever knows what once was said
cannot find it by trying it against what they hold.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, select
from tests.contracts.contract_folders import every_extension, with_their_tables
from tests.furnished import NEVER_FURNISHED, furnished

from keepbook import Keepbook
from keepbook.book.ledger import batch
from keepbook.book.ledger.cover import row_digest, values_to_seal
from keepbook.book.memory.labels import keys_of
from keepbook.storage.cover_rules import row_key
from keepbook.storage.tables import TableSet
from keepbook.storage.tables import memory as memory_tables
from keepbook.storage.tables.cover import seals

WORDS = ("xanthoquill", "brumblewick", "sorrowfjell", "kvadrantel")
LABELS = keys_of('{"sorrowfjell": "kvadrantel"}', '["brumblewick"]')
"""What stands in the index of labels for those of the secret: digests without salt, so that they could be guessed."""
NEEDLES = (*WORDS, *LABELS)
OWNER = "nora longbottom"


@pytest.fixture(autouse=True)
def _every_extension() -> Iterator[None]:
    with every_extension():
        yield


@pytest.fixture
def book_url(book_url: str) -> str:
    return with_their_tables(book_url)


@contextmanager
def everything(url: str) -> Iterator[Connection]:
    """The database as its administrator sees it."""
    address = (
        url.replace("postgresql:", "postgresql+psycopg:", 1) if url.startswith("postgresql:") else f"sqlite:///{url}"
    )
    engine = create_engine(address)
    with engine.connect() as conn:
        yield conn
    engine.dispose()


LISTED = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table'",
    "postgresql": """SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM pg_class c JOIN pg_namespace n
                     ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'm')
                     AND n.nspname NOT IN ('pg_catalog', 'information_schema')""",
}


def contents(conn: Connection) -> Iterator[tuple[str, Any]]:
    """Every row of every table that is in the database, whoever has made it."""
    names = conn.exec_driver_sql(LISTED[conn.dialect.name]).scalars().all()
    for name in names:
        yield from ((name, row) for row in conn.exec_driver_sql(f"SELECT * FROM {name}"))


def standing(conn: Connection, needles: tuple[str, ...]) -> dict[str, set[str]]:
    """Which needles stand in which tables, in any column, in any case of letters."""
    found: dict[str, set[str]] = {}
    for name, row in contents(conn):
        words = " ".join(str(value) for value in row).lower()
        if hits := {needle for needle in needles if needle in words}:
            found.setdefault(name.split(".")[-1], set()).update(hits)
    return found


def told(conn: Connection, tables: TableSet, owner: str) -> set[str]:
    """Every text in the owner's own rows but instants, in every table that has owners."""
    found = {
        value
        for table in tables.declared
        if "owner" in table.c
        for row in conn.execute(select(table).where(table.c.owner == owner))
        for value in row
        if isinstance(value, str) and value
    }
    return {value for value in found if not INSTANT.fullmatch(value)}


INSTANT = re.compile(r"\d{4}-\d\d-\d\d(T[\d:.]+Z)?")


def states(conn: Connection, tables: TableSet) -> list[tuple[str, str, list[Any]]]:
    """Every covered row of the owner as it stands, and every batch: what somebody might know and try later."""
    rows = [
        (name, row_key(table, row._mapping), values_to_seal(table, row._mapping))
        for name, table in tables.covered.items()
        for row in conn.execute(select(table).where(table.c.owner == OWNER))
    ]
    batches = [
        (what, str(nth), [total.digest()])
        for what, kind in batch.batch_kinds(tables).items()
        for nth, total in batch.batch_digests(conn, kind, OWNER).items()
    ]
    return [*rows, *batches]


def guessed(conn: Connection, known: list[tuple[str, str, list[Any]]]) -> set[tuple[str, str]]:
    """Which of the known states can be told from a salt and a digest that are still there."""
    there: dict[tuple[str, str], list[Any]] = {}
    for seal in conn.execute(select(seals).where(seals.c.salt.isnot(None))):
        there.setdefault((seal.what, seal.key), []).append(seal)
    return {
        (what, key)
        for what, key, values in known
        for seal in there.get((what, key), ())
        if row_digest(seal.salt, what, key, values) == seal.digest
    }


def keep_a_secret(book: Any) -> str:
    secret = book.remember(
        "The treasure is called xanthoquill", subject="Brumblewick", summary="About the sorrowfjell",
        body="Long ago there was a kvadrantel.", tags=["brumblewick"], metadata={"sorrowfjell": "kvadrantel"},
    )  # fmt: skip
    assert all(getattr(secret, name) for name in memory_tables.WORDS if name != "spans"), (
        "fill in every text that a purge must take"
    )
    book.link(secret.id, book.remember("An ordinary thing about gardens").id, "because_of")
    book.inject("before")
    book.update(secret.id, "The treasure is called xanthoquill still", summary="Still the sorrowfjell", force=True)
    book.inject("after")
    return str(secret.id)


def test_what_was_purged_is_in_no_table_and_cannot_be_guessed(kb: Keepbook, book_url: str) -> None:
    book = kb.book(OWNER)
    secret = keep_a_secret(book)
    with everything(book_url) as conn:
        before = states(conn, kb._database.tables)
        assert {"versions", "injections", "labels", "terms"} <= set(standing(conn, NEEDLES))
        assert guessed(conn, before)
    book.delete(secret, forever=True)
    with everything(book_url) as conn:
        assert standing(conn, NEEDLES) == {}
        told = [one for one in before if any(needle in str(one).lower() for needle in NEEDLES)]
        assert told
        assert guessed(conn, told) == set()
    assert book.verify().ok


def test_what_was_changed_or_deleted_cannot_be_guessed_from_its_old_seal(kb: Keepbook, book_url: str) -> None:
    book = kb.book(OWNER)
    note = book.notes.write("The xanthoquill is under the stairs")
    chat = book.thread("told")
    chat.add("user", "My password hint is brumblewick")
    with everything(book_url) as conn:
        known = states(conn, kb._database.tables)
        before = [one for one in known if any(needle in str(one).lower() for needle in NEEDLES)]
        assert {what for what, *_ in before} == {"notes", "messages"}
        assert len(guessed(conn, before)) == 2
    book.notes.edit(note.id, "Nothing is under the stairs")
    book.threads.delete(chat.id, forever=True)
    with everything(book_url) as conn:
        assert standing(conn, NEEDLES) == {}
        assert guessed(conn, before) == set()
    assert book.verify().ok


@pytest.mark.parametrize("also", ["alone", "beside another"])
def test_an_erased_owner_is_in_no_table(kb: Keepbook, book_url: str, clock: Any, also: str) -> None:
    clock.set("2026-12-31T09:00:00Z")
    if also == "beside another":
        kb.book("bob").remember("Keeps bees")
    tables = kb._database.tables
    book = furnished(kb, OWNER)
    keep_a_secret(book)
    with everything(book_url) as conn:
        before, words = states(conn, tables), told(conn, tables, OWNER)
        assert {what for what, _ in guessed(conn, before)} == (
            {*tables.covered, *batch.batch_kinds(tables)} - NEVER_FURNISHED
        )
        assert {name.split(".")[-1].strip('"') for name, _ in contents(conn)} >= _filled_tables(tables)
        assert len(words) > 500
    book.erase(OWNER)
    with everything(book_url) as conn:
        assert standing(conn, (*NEEDLES, OWNER, "saxophone", "teapot")) == {}
        assert guessed(conn, before) == set()
        rows = [(name.split(".")[-1], row._mapping) for name, row in contents(conn)]
    others = {row.get("owner") for _, row in rows} - {None}
    assert others == ({"bob"} if also == "beside another" else set())
    (key,) = [row for name, row in rows if name == "tokens"]  # it stays shut: what is left tells it from other keys
    assert (key["owner"], key["name"], key["revoked_at"] is None) == (None, None, False)
    # What is installed is the program's word, such as `agents`, and no owner's.
    mine = [row for name, row in rows if name not in ("tokens", "extensions") and row.get("owner") not in others]
    left = {value for row in mine for value in row.values()}
    assert {value for value in left & words if not _is_everybodys(value)} == set()


def _filled_tables(tables: TableSet) -> set[str]:
    return {table.name for table in tables.declared} - NEVER_FURNISHED


def _is_everybodys(value: str) -> bool:
    """Symbols, and words of the program such as bars and 1h."""
    return "/" in value or len(value) < 6
