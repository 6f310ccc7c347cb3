"""PostgreSQL while somebody waits: a timeout and a signal are told as what they are, and leave no lock behind."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from keepbook import Conflict, Keepbook, KeepbookError, NotAllowed
from keepbook.storage.prepared_statement import driver_of

pytestmark = [
    pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True),
    pytest.mark.connections,
]


class Alarm(Exception):
    """What a program's own handler raises."""


@contextmanager
def alarm(seconds: float, raises: type[BaseException]) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise raises

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def held(kb: Any) -> Iterator[None]:
    """Another thread has the owner's lock meanwhile."""
    inside, end = threading.Event(), threading.Event()

    def hold() -> None:
        with kb.book("alice").transaction() as book:
            book.remember("Plays the cello")
            inside.set()
            end.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait()
    try:
        yield
    finally:
        end.set()
        thread.join()


def locks(url: str, waiting: bool = False) -> int:
    with psycopg.connect(url, autocommit=True) as admin:
        found = admin.execute(
            "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database "
            "WHERE d.datname = current_database() AND l.locktype = 'advisory' AND (NOT l.granted OR NOT %s)",
            [waiting],
        )
        return int(found.fetchone()[0])  # type: ignore[index]


def no_lock_stays(url: str) -> bool:
    """A server that is told to stop takes a moment to do so; left alone these statements would take much longer."""
    for _ in range(100):
        if locks(url) == 0:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("raises", [Alarm, KeyboardInterrupt])
def test_a_signal_while_waiting_is_raised_and_leaves_no_lock(
    kb: Any, book_url: str, raises: type[BaseException]
) -> None:
    book = kb.book("alice")
    with held(kb):
        with pytest.raises(raises), alarm(0.2, raises):
            book.remember("Plays chess")
        assert locks(book_url, waiting=True) == 0
    assert no_lock_stays(book_url)
    book.remember("Plays go")
    assert [one.content for one in book.list()] == ["Plays the cello", "Plays go"]
    assert book.verify().ok


def sleep(tx: Any) -> None:
    tx.conn.exec_driver_sql("SELECT pg_sleep(20)")


def sleep_for_many(tx: Any) -> None:
    driver_of(tx.conn).cursor().executemany("SELECT pg_sleep(%s)", [(20,), (20,)])


@pytest.mark.parametrize("statement", [sleep, sleep_for_many])
@pytest.mark.parametrize("raises", [Alarm, KeyboardInterrupt])
def test_a_signal_during_a_statement_leaves_no_lock(
    kb: Any, book_url: str, raises: type[BaseException], statement: Any
) -> None:
    def write() -> None:
        with kb._database.write("alice") as tx:
            statement(tx)

    with pytest.raises(raises), alarm(0.2, raises):
        write()
    assert no_lock_stays(book_url)
    kb.book("alice").remember("Plays go")
    assert kb.book("alice").verify().ok


@pytest.mark.parametrize("statement", [sleep, sleep_for_many])
@pytest.mark.parametrize("raises", [Alarm, KeyboardInterrupt])
def test_a_signal_that_is_caught_leaves_its_block_or_the_whole_undone(
    kb: Any, book_url: str, raises: type[BaseException], statement: Any
) -> None:
    book = kb.book("alice")

    def write_inside() -> None:
        with kb._database.write("alice", apart=True) as tx:
            statement(tx)

    kept, refused = ["Plays chess", "Plays the flute"], None
    try:
        with book.transaction():
            book.remember(kept[0])
            with pytest.raises(raises), alarm(0.2, raises):
                write_inside()
            book.remember(kept[1])
    except Conflict as told:
        kept, refused = [], told.code
    assert refused in (None, "transaction_failed")
    assert no_lock_stays(book_url)
    book.remember("Plays go")
    assert [one.content for one in book.list()] == [*kept, "Plays go"]
    assert book.verify().ok


def test_the_servers_timeout_is_told_as_such(kb: Any, book_url: str) -> None:
    with psycopg.connect(book_url, autocommit=True) as admin:
        admin.execute("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET statement_timeout = 200', "
                      "current_database()); END $$")  # fmt: skip
    with Keepbook(book_url) as hasty:
        with held(kb), pytest.raises(KeepbookError, match="statement timeout") as told:
            hasty.book("alice").remember("Plays chess")
        assert told.value.code == "canceled"
        assert "cannot reach" not in told.value.message
        assert no_lock_stays(book_url)
        hasty.book("alice").remember("Plays go")
        assert [one.content for one in hasty.book("alice").list()] == ["Plays the cello", "Plays go"]


def test_a_server_that_takes_no_writes_is_told_as_such(kb: Any, book_url: str) -> None:
    with psycopg.connect(book_url, autocommit=True) as admin:
        admin.execute("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', "
                      "current_database()); END $$")  # fmt: skip
    with Keepbook(book_url) as standby:
        with pytest.raises(NotAllowed, match="takes no writes now") as told:
            standby.book("alice").remember("Plays chess")
        assert told.value.code == "read_only"
