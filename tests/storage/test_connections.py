"""Connections: what is asked in how many ways there and back, and what becomes of one that falls."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.pq import TransactionStatus

from keepbook import Keepbook, KeepbookError
from keepbook.storage.prepared_statement import driver_of

ON_A_SERVER = pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)


def fell(url: str) -> int:
    """End every connection that others have to a database, as a server does that starts anew; how many there were."""
    with psycopg.connect(url, autocommit=True) as admin:
        found = admin.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        return len(found.fetchall())


@contextmanager
def ways(kb: Keepbook, place: Path) -> Iterator[list[str]]:
    """What is sent meanwhile, each way to the server one line."""
    sent: list[str] = []
    with kb._database.read("alice") as tx:
        line = driver_of(tx.conn).pgconn
    with place.open("w+") as told:
        line.trace(told.fileno())
        try:
            yield sent
        finally:
            line.untrace()
            told.seek(0)
            sent += [one for one in told if one.split("\t")[1:2] == ["F"] and ("Query" in one or "Sync" in one)]


def test_a_single_query_is_no_transaction(kb: Any) -> None:
    def ask(conn: Any) -> bool:
        driver: Any = driver_of(conn)
        if isinstance(driver, sqlite3.Connection):
            return driver.in_transaction
        return bool(driver.info.transaction_status != TransactionStatus.IDLE)

    assert kb._database.query_once(ask) is False
    with pytest.raises(ZeroDivisionError):
        kb._database.query_once(lambda _: 1 // 0)
    assert kb._database.query_once(ask) is False


@ON_A_SERVER
def test_a_key_is_asked_for_in_one_way_and_a_transaction_begins_in_one(kb: Any, tmp_path: Path) -> None:
    token = kb.tokens.create("alice").token
    kb.tokens.check(token)  # notes that it was used
    with ways(kb, tmp_path / "key") as sent:
        assert kb.tokens.check(token) is not None
    assert len(sent) == 1
    with ways(kb, tmp_path / "read") as sent, kb._database.read("alice"):
        pass
    assert len(sent) == 2, "to begin and to end"
    with ways(kb, tmp_path / "write") as sent, kb._database.write("alice"):
        pass
    assert len(sent) == 3, "the ledger asks what was touched"


@ON_A_SERVER
@pytest.mark.connections
def test_connections_that_fell_while_they_rested_are_made_anew_unnoticed(kb: Any, book_url: str) -> None:
    book = kb.book("alice")
    token = kb.tokens.create("alice").token
    kept = book.remember("Likes tea")
    for asked in (
        lambda: kb.tokens.check(token),
        lambda: book.get(kept.id),
        lambda: book.update(kept.id, "Likes coffee"),
        lambda: kb.tokens.stands(kb.tokens.list()[0].id),
        kb.sweep,
    ):
        with kb._database.read("alice"), kb._database.unscoped():  # two of them rest
            pass
        assert fell(book_url) >= 2
        asked()
    assert book.get(kept.id).content == "Likes coffee"
    assert book.verify().ok


@ON_A_SERVER
@pytest.mark.connections
def test_one_that_falls_in_the_middle_is_told_and_leaves_nothing(kb: Any, book_url: str) -> None:
    book = kb.book("alice")

    def write() -> None:
        with book.transaction():
            book.remember("Likes tea")
            fell(book_url)
            book.remember("Likes coffee")

    with pytest.raises(KeepbookError) as told:
        write()
    assert told.value.code == "unavailable"
    assert book.list().total == 0
    book.remember("Likes milk")
    assert book.verify().ok


@ON_A_SERVER
@pytest.mark.connections
def test_a_beginning_that_is_refused_leaves_the_connection_to_others(kb: Any, book_url: str) -> None:
    kb.book("alice").remember("Likes tea")
    with pytest.raises(KeepbookError), kb._database.write("al\x00ice"):
        pass
    assert kb.book("alice").list().total == 1
    with psycopg.connect(book_url) as admin:
        open_ones = admin.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'"
        )
        assert open_ones.fetchone() == (0,)


@ON_A_SERVER
def test_a_connection_that_comes_back_after_closing_is_closed(book_url: str) -> None:
    kb: Any = Keepbook(book_url)
    with kb._database.read("alice") as tx:
        driver: Any = driver_of(tx.conn)
        kb.close()
        assert not driver.closed  # whoever is at work ends it
    assert driver.closed
