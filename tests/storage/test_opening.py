"""Opening a book: what is not one is refused with a word that helps, and left exactly as it was."""

import os
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from sqlalchemy import event, text
from tests.warm_python import program

from keepbook import Conflict, Invalid, Keepbook, KeepbookError, NotAllowed
from keepbook.settings import Settings
from keepbook.storage.database import distribute, upgrade

on_sqlite = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
on_postgresql = pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)


# --- what is not a book ----------------------------------------------------------------------------------


def left_alone(path: Path) -> Any:
    """What of a file would show that somebody wrote to it, or beside it."""
    return path.read_bytes(), sorted(path.parent.iterdir())


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_the_sqlite_file_of_another_program_is_refused_and_left_alone(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA journal_mode = {mode}")
        other.execute("CREATE TABLE owners (name TEXT)")
    before = left_alone(path)
    with pytest.raises(Invalid, match="another program") as refused:
        Keepbook(path)
    assert (refused.value.code, refused.value.field) == ("not_a_book", "db")
    assert left_alone(path) == before


def test_another_program_that_uses_alembic_too_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TABLE alembic_version (version_num TEXT)")
        other.execute("INSERT INTO alembic_version VALUES ('0001')")
    before = left_alone(path)
    with pytest.raises(Invalid) as refused:
        Keepbook(path)
    assert refused.value.code == "not_a_book"
    assert left_alone(path) == before


@pytest.mark.parametrize("content", [b"Dear diary\n", b"SQLite", b"\x00" * 4096, b"%PDF-1.7\n" + b"x" * 4096])
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "diary.txt"
    path.write_bytes(content)
    before = left_alone(path)
    with pytest.raises(Invalid, match="not a book") as refused:
        Keepbook(path)
    assert (refused.value.code, refused.value.field) == ("not_a_book", "db")
    assert left_alone(path) == before


def test_a_book_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    with Keepbook(path) as kb:
        kb.book("alice").remember("Lives in Oslo with a dog")
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(Invalid, match="damaged") as refused, Keepbook(path) as kb:
        kb.book("alice").list()
    assert refused.value.code == "not_a_book"


def test_a_folder_is_refused_with_a_path_to_use_instead(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"is a folder.*keepbook\.db") as refused:
        Keepbook(tmp_path)
    assert refused.value.field == "db"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="no-such-folder does not exist") as refused:
        Keepbook(tmp_path / "no-such-folder" / "book.db")
    assert refused.value.field == "db"
    assert list(tmp_path.iterdir()) == []


def test_an_empty_path_or_an_unknown_address_is_refused() -> None:
    for address in ("", "mysql://root@localhost/books", "ftp://example.org/book.db"):
        with pytest.raises(Invalid) as refused:
            Keepbook(address)
        assert refused.value.field == "db"


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda _, mode: mode != os.W_OK)  # who runs the tests may be root
    with pytest.raises(NotAllowed, match="cannot be written") as refused:
        Keepbook(tmp_path / "book.db")
    assert refused.value.code == "read_only"


# --- what becomes a book ---------------------------------------------------------------------------------


def test_a_file_of_zero_bytes_becomes_a_book(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()
    with Keepbook(path) as kb:
        kb.book("alice").remember("Lives in Oslo with a dog")
    with Keepbook(path) as kb:
        assert [memory.content for memory in kb.book("alice").list()] == ["Lives in Oslo with a dog"]


def test_a_name_with_every_kind_of_character_is_a_path(tmp_path: Path) -> None:
    path = tmp_path / "my book? #1 %41 é.db"
    with Keepbook(path) as kb:
        kb.book("alice").remember("Lives in Oslo with a dog")
    assert path.is_file()


def test_a_path_may_be_written_as_an_address(tmp_path: Path) -> None:
    with Keepbook(f"sqlite:///{tmp_path}/book.db") as kb:
        kb.book("alice").remember("Lives in Oslo with a dog")
    with Keepbook(tmp_path / "book.db") as kb:
        assert kb.book("alice").list().total == 1


def test_a_book_opens_again_and_again(book_url: str) -> None:
    for number in range(3):
        with Keepbook(book_url) as kb:
            kb.book("alice").remember(f"This is fact number {number} of several")
            assert kb.book("alice").list().total == number + 1


# --- two at once -----------------------------------------------------------------------------------------

CHILD = """
import sys
from keepbook import Keepbook
sys.stdin.readline()
with Keepbook(sys.argv[1]) as kb:
    for number in range(3):
        kb.book("alice").remember(f"Process {sys.argv[2]} says {number} about {'abcdefgh'[int(sys.argv[2])] * 9}")
"""


@contextmanager
def children(url: str, count: int) -> Iterator[list["subprocess.Popen[str]"]]:
    """Processes that have loaded everything and wait for a line before they open the book."""
    started = [
        subprocess.Popen(
            program(CHILD, url, str(number)),
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(count)
    ]
    try:
        yield started
    finally:
        for child in started:
            child.kill()
            child.communicate()


@pytest.mark.process
def test_processes_that_open_a_new_book_at_once_all_get_it(book_url: str) -> None:
    with children(book_url, 2) as started:
        for child in started:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        for child in started:
            _, words = child.communicate(timeout=60)
            assert (child.returncode, words) == (0, "")
    with Keepbook(book_url) as kb:
        assert kb.book("alice").list().total == 6
        assert kb.book("alice").verify().ok


def together(count: int, act: Any) -> list[BaseException]:
    """Run `act(number)` in threads that start at one moment; answers what they raised."""
    failures: list[BaseException] = []
    gate = threading.Barrier(count)

    def run(number: int) -> None:
        gate.wait()
        try:
            act(number)
        except BaseException as error:  # noqa: BLE001  a thread's failure would be lost
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


@on_sqlite
def test_threads_that_open_a_new_file_at_once_all_get_it(book_url: str) -> None:
    def open_and_write(number: int) -> None:
        with Keepbook(book_url) as kb:
            kb.book("alice").remember(f"Thread {number} was here on a {'abcdefghijkl'[number] * 7} day")

    assert together(6, open_and_write) == []
    with Keepbook(book_url) as kb:
        assert kb.book("alice").list().total == 6


def test_a_book_in_memory_serves_many_threads() -> None:
    with Keepbook(":memory:") as kb:

        def write_and_read(number: int) -> None:
            owner = kb.book(f"owner {number % 3}")
            for turn in range(10):
                owner.remember(f"Fact {turn} of thread {number} is about {'abcdefgh'[number] * 5}")
                owner.list()
                owner.inject(f"session {number} {turn}")

        assert together(8, write_and_read) == []
        books = [kb.book(f"owner {number}") for number in range(3)]
        assert sum(book.list().total for book in books) == 80
        assert all(book.verify().ok for book in books)


def test_two_books_in_memory_are_two_books() -> None:
    with Keepbook(":memory:") as one, Keepbook(":memory:") as other:
        one.book("alice").remember("Lives in Oslo with a dog")
        assert other.book("alice").list().total == 0


# --- how SQLite keeps a promise --------------------------------------------------------------------------


@on_sqlite
def test_every_connection_is_durable_and_forgets_what_was_deleted(kb: Any) -> None:
    for begin in (kb._database.read, kb._database.write):
        with begin("alice") as tx:
            pragmas = ("journal_mode", "synchronous", "foreign_keys", "secure_delete")
            found = {name: tx.conn.exec_driver_sql(f"PRAGMA {name}").scalar() for name in pragmas}
        assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "secure_delete": 1}


@on_sqlite
def test_a_writer_takes_its_turn_before_it_reads(kb: Any, alice: Any) -> None:
    """A transaction that read first and wrote later could find that the book had moved on, and fail."""
    begun: list[str] = []

    def note(statement: str) -> None:
        if statement.startswith("BEGIN"):
            begun.append(statement)

    with kb._database.read("alice") as tx:
        tx.conn.connection.dbapi_connection.set_trace_callback(note)  # what SQLite itself is told
    alice.remember("Lives in Oslo with a dog")
    alice.list()
    assert begun == ["BEGIN IMMEDIATE", "BEGIN DEFERRED"]


@on_sqlite
def test_a_book_that_stays_busy_says_so(book_url: str) -> None:
    with Keepbook(book_url, settings=Settings(busy_seconds=0.2)) as kb, closing(sqlite3.connect(book_url)) as other:
        kb.book("alice").remember("Lives in Oslo with a dog")
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Conflict, match="busy") as refused:
            kb.book("alice").remember("Plays the cello on Sundays")
        assert refused.value.code == "busy"
        assert kb.book("alice").list().total == 1  # reading never waits
        other.rollback()
        kb.book("alice").remember("Plays the cello on Sundays")


# --- PostgreSQL ------------------------------------------------------------------------------------------


def test_a_postgresql_that_is_not_there_is_named_without_the_password() -> None:
    address = "postgresql://keeper:swordfish@127.0.0.1:1/book"
    for attempt in (Keepbook, upgrade):
        with pytest.raises(
            KeepbookError, match=r"cannot reach postgresql://keeper:\*\*\*@127\.0\.0\.1:1/book"
        ) as refused:
            attempt(address)
        assert refused.value.code == "unavailable"
        assert "swordfish" not in str(refused.value)


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(Invalid) as refused:
        Keepbook("postgresql://keeper@host:port/book")
    assert refused.value.field == "db"


@on_postgresql
def test_a_database_that_does_not_exist_is_named(book_url: str) -> None:
    missing = urlunsplit(urlsplit(book_url)._replace(path="/no_such_book"))
    with pytest.raises(KeepbookError, match="no_such_book") as refused:
        Keepbook(missing)
    assert refused.value.code == "unavailable"


@on_postgresql
def test_a_postgresql_that_was_not_upgraded_says_what_to_run(empty_url: str) -> None:
    with pytest.raises(Conflict, match="keepbook db upgrade") as refused:
        Keepbook(empty_url)
    assert refused.value.code == "needs_upgrade"
    upgrade(empty_url)
    with Keepbook(empty_url) as kb:
        kb.book("alice").remember("Lives in Oslo with a dog")


@on_postgresql
def test_a_server_where_the_role_was_never_made_says_what_to_run(
    empty_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keepbook.storage.engines.postgres.APP_ROLE", "keepbook_never_made")
    with pytest.raises(Conflict, match="keepbook db upgrade") as refused:
        Keepbook(empty_url)
    assert refused.value.code == "needs_upgrade"


@on_postgresql
def test_upgrades_at_once_take_turns(empty_url: str) -> None:
    assert together(3, lambda _: upgrade(empty_url)) == []
    with Keepbook(empty_url) as kb:
        kb.book("alice").remember("Lives in Oslo with a dog")


@on_postgresql
def test_an_ordinary_user_cannot_upgrade_and_is_told_so(empty_url: str) -> None:
    role = f"keepbook_plain_{os.getpid()}"
    with psycopg.connect(empty_url, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role} LOGIN")
    parts = urlsplit(empty_url)
    host = parts.netloc.rpartition("@")[2]
    try:
        with pytest.raises(NotAllowed, match="administrator") as refused:
            upgrade(urlunsplit(parts._replace(netloc=f"{role}@{host}")))
        assert refused.value.code == "not_admin"
    finally:
        with psycopg.connect(empty_url, autocommit=True) as admin:
            admin.execute(f"DROP ROLE {role}")


# --- after a refusal -------------------------------------------------------------------------------------


@pytest.mark.connections
def test_a_refused_opening_leaves_no_connection_behind(book_url: str, engine_name: str) -> None:
    Keepbook(book_url).close()
    connect: Any = psycopg.connect if engine_name == "postgresql" else sqlite3.connect
    with closing(connect(book_url)) as raw:
        raw.execute("UPDATE alembic_version SET version_num = '9999_0123456789ab'")
        raw.commit()
    with pytest.raises(Conflict) as refused:  # keeps what the error refers to alive
        Keepbook(book_url)
    assert refused.value.code == "newer_schema"
    if engine_name == "sqlite":
        assert not Path(f"{book_url}-shm").exists()  # goes with the last connection
        return
    with closing(connect(book_url)) as raw:
        others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        assert raw.execute(others).fetchone() == (0,)


def test_only_a_cluster_is_spread(book_url: str, engine_name: str) -> None:
    """What `db distribute` says of a file and of one PostgreSQL; what it does is for `make test-citus`."""
    with pytest.raises(Invalid) as refused:
        distribute(book_url, 4)
    assert refused.value.code == {"sqlite": "invalid", "postgresql": "no_cluster"}[engine_name]


# --- cut short -------------------------------------------------------------------------------------------


def cut_short(kb: Keepbook) -> None:
    """Ctrl-C while a statement is under way."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    def ask() -> None:
        with kb._database.unscoped(writes=True) as conn:
            event.listen(conn, "before_cursor_execute", interrupt)
            conn.execute(text("SELECT 1"))

    with pytest.raises(KeyboardInterrupt):
        ask()


def test_a_book_that_ctrl_c_cut_short_goes_on(kb: Keepbook) -> None:
    book = kb.book("alice")
    book.remember("Plays the cello")
    cut_short(kb)
    book.remember("Plays chess")
    assert [each.content for each in book.list()] == ["Plays the cello", "Plays chess"]


def test_a_book_in_memory_outlives_ctrl_c() -> None:
    with closing(Keepbook(":memory:")) as kb:
        kb.book("alice").remember("Plays the cello")
        cut_short(kb)
        assert [each.content for each in kb.book("alice").list()] == ["Plays the cello"]
