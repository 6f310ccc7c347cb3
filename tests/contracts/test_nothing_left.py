"""What was purged or erased stands nowhere any more: in no table of either engine, and in no digest to guess against.

The bytes of a SQLite file are looked at in test_crash.py; here it is every column of every table, read past row-level
security, and the seals: whoever knows what once was said cannot find it by trying it against what they hold.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, select
from tests.furnished import furnished

from keepbook import Keepbook
from keepbook.book.ledger.cover import row_digest, said
from keepbook.storage.covered import COVERED, key_of
from keepbook.storage.tables import metadata, seals

NEEDLES = ("xanthoquill", "brumblewick", "sorrowfjell", "kvadrantel")
OWNER = "nora longbottom"


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


def standing(conn: Connection, needles: tuple[str, ...]) -> dict[str, set[str]]:
    """Which needles stand in which tables, in any column, in any case of letters."""
    found: dict[str, set[str]] = {}
    for name, table in metadata.tables.items():
        for row in conn.execute(select(table)):
            words = " ".join(str(value) for value in row).lower()
            if hits := {needle for needle in needles if needle in words}:
                found.setdefault(name, set()).update(hits)
    return found


def states(conn: Connection) -> list[tuple[str, str, list[Any]]]:
    """Every covered row as it stands: what somebody might know and try later."""
    return [
        (name, key_of(table, row._mapping), said(table, row._mapping))
        for name, table in COVERED.items()
        for row in conn.execute(select(table))
    ]


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
        body="Long ago there was a kvadrantel.",
    )  # fmt: skip
    book.link(secret.id, book.remember("An ordinary thing about gardens").id, "because_of")
    book.inject("before")
    book.update(secret.id, "The treasure is called xanthoquill still", summary="Still the sorrowfjell")
    book.inject("after")
    return str(secret.id)


def test_what_was_purged_is_in_no_table_and_cannot_be_guessed(kb: Keepbook, book_url: str) -> None:
    book = kb.book(OWNER)
    secret = keep_a_secret(book)
    with everything(book_url) as conn:
        before = states(conn)
        assert {"versions", "injections"} <= set(standing(conn, NEEDLES))
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
        before = [one for one in states(conn) if any(needle in str(one).lower() for needle in NEEDLES)]
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
    book = furnished(kb, OWNER)
    keep_a_secret(book)
    book.erase(OWNER)
    with everything(book_url) as conn:
        assert standing(conn, (*NEEDLES, OWNER, "saxophone", "teapot")) == {}
        left = {
            row.owner for name in ("seals", "covers", "ledger") for row in conn.execute(select(metadata.tables[name]))
        }
    assert left == ({"bob"} if also == "beside another" else set())
