"""The file of a SQLite book while it is open: moved, deleted or replaced, nothing more is acknowledged; and a closed
Keepbook refuses, on both engines."""

import asyncio
import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import CheckConstraint
from tests.warm_python import program

from keepbook import AsyncKeepbook, Conflict, Keepbook
from keepbook.presets import CONTENT_LENGTH
from keepbook.storage.database import open_backend
from keepbook.storage.engines import book_file
from keepbook.storage.tables.memory import versions


def log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def index_of(path: Path) -> Path:
    return path.with_name(path.name + "-shm")


def delete(path: Path) -> None:
    path.unlink()


def move(path: Path) -> None:
    path.rename(path.with_name("elsewhere.db"))


def replace(path: Path) -> None:
    """By a backup that is put in its place."""
    shutil.copyfile(path, path.with_name("copy.db"))
    path.with_name("copy.db").replace(path)


def link_where_it_was(path: Path) -> None:
    elsewhere = path.with_name("elsewhere.db")
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def delete_log(path: Path) -> None:
    log_of(path).unlink()


def delete_index(path: Path) -> None:
    index_of(path).unlink()


@pytest.mark.parametrize("harm", [delete, move, replace, link_where_it_was, delete_log, delete_index])
def test_what_is_written_to_a_file_that_is_gone_is_refused(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    path = tmp_path / "book.db"
    with Keepbook(path) as kb:
        book = kb.book("alice")
        book.remember("Plays the cello")
        harm(path)
        for _ in range(2):
            with pytest.raises(Conflict, match=r"book\.db") as refused:
                book.remember("Plays chess")
            assert refused.value.code == "moved"
        there = path.exists()
    assert path.exists() == there
    assert there == (harm not in (delete, move))


OTHER = """
import sys
from keepbook import Keepbook
with Keepbook(sys.argv[1], embedder="none") as kb:
    book = kb.book("alice")
    if len(sys.argv) > 2:
        book.remember(sys.argv[2])
    print(*(memory.content for memory in book.list()), book.verify().ok, sep=",")
"""


def other_process(*arguments: object) -> str:
    command = program(OTHER, *map(str, arguments))
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.process
def test_without_the_logs_index_nobody_writes_over_what_another_process_kept(tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    with Keepbook(path) as kb:
        book = kb.book("alice")
        book.remember("Plays the cello")
        index_of(path).unlink()
        assert other_process(path, "Plays the oboe") == "Plays the cello,Plays the oboe,True"
        for _ in range(2):
            with pytest.raises(Conflict) as refused:
                book.remember("Plays chess")
            assert refused.value.code == "moved"
        with kb._database.read("alice"), pytest.raises(Conflict), kb._database.read("alice"):
            pass  # a further connection of this process would share the old index
    assert other_process(path) == "Plays the cello,Plays the oboe,True"


@pytest.mark.parametrize("harm", [delete_log, delete_index])
def test_what_was_kept_before_the_log_went_is_kept_at_the_end(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    path = tmp_path / "book.db"
    with Keepbook(path) as kb:
        kb.book("alice").remember("Plays the cello")
        harm(path)
    with Keepbook(path) as again:
        assert again.book("alice").list().total == 1


def test_no_new_file_is_made_where_the_book_was(tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    with Keepbook(path) as kb:
        kb.book("alice").remember("Plays the cello")
        path.unlink()
        with kb._database.read("alice"), pytest.raises(Conflict) as refused, kb._database.read("alice"):
            pass  # needs a second connection
        assert refused.value.code == "moved"
        assert not path.exists()


def test_a_link_to_a_book_and_another_folder_are_no_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "real" / "book.db")
    monkeypatch.chdir(tmp_path)
    with Keepbook("link.db") as kb:
        kb.book("alice").remember("Plays the cello")
        monkeypatch.chdir("/")
        with kb._database.read("alice"):
            kb.book("alice").remember("Plays chess")
        assert kb.book("alice").list().total == 2
    assert (tmp_path / "real" / "book.db").exists()


def test_a_book_and_its_log_are_for_their_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    before = os.umask(0)
    try:
        with Keepbook(path) as kb:
            kb.book("alice").remember("Plays the cello")
            files = [one for one in tmp_path.iterdir() if one.name.startswith("book.db")]
            assert len(files) == 3
            assert {stat.S_IMODE(one.stat().st_mode) for one in files} == {0o600}
    finally:
        os.umask(before)


READER = """
import sqlite3, sys
file = sqlite3.connect(sys.argv[1])
file.execute("SELECT * FROM ledger").fetchall()
file.close()
"""


@pytest.mark.process
def test_a_second_keepbook_leaves_the_locks_of_the_first(tmp_path: Path) -> None:
    """To close a file lets go of all locks that a process has on it; then another process takes the log away."""
    path = tmp_path / "book.db"
    with Keepbook(path) as first:
        first.book("alice").remember("Plays the cello")
        open_backend(str(path), 1.0).close()
        subprocess.run(program(READER, str(path)), check=True)
        assert log_of(path).exists()
        first.book("alice").remember("Plays chess")
    with Keepbook(path) as again:
        assert again.book("alice").list().total == 2


@pytest.mark.parametrize("engine_name", ["sqlite", "postgresql"], indirect=True)
def test_a_closed_keepbook_refuses(book_url: str) -> None:
    kb: Any = Keepbook(book_url)
    book = kb.book("alice")
    book.remember("Plays the cello")
    kb.close()
    kb.close()
    for ask in (
        lambda: book.remember("Plays chess"),
        book.list,
        book.verify,
        kb.owners,
        kb.tokens.list,
        lambda: kb.book("bob").list(),
        lambda: kb._database.query_once(lambda _: None),
    ):
        with pytest.raises(Conflict, match="closed") as refused:
            ask()
        assert refused.value.code == "book_closed"
    with Keepbook(book_url) as again:
        assert again.book("alice").list().total == 1


def test_a_closed_keepbook_refuses_those_who_await(tmp_path: Path) -> None:
    async def ask() -> None:
        kb = AsyncKeepbook(tmp_path / "book.db")
        book = kb.book("alice")
        await book.remember("Plays the cello")
        await kb.close()
        await kb.close()
        await book.list()

    with pytest.raises(Conflict) as refused:
        asyncio.run(ask())
    assert refused.value.code == "book_closed"


def test_a_closed_book_in_memory_refuses() -> None:
    kb = Keepbook(":memory:")
    kb.close()
    for ask in (kb.owners, kb.image):
        with pytest.raises(Conflict) as refused:
            ask()
        assert refused.value.code == "book_closed"


def test_presets_and_the_database_agree_how_long_a_content_may_be() -> None:
    (rule,) = [one for one in versions.c.content.constraints if isinstance(one, CheckConstraint)]
    least, most = CONTENT_LENGTH
    assert str(rule.sqltext) == f"length(content) BETWEEN {least} AND {most}"


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_what_a_signal_handler_raises_is_not_taken_for_a_file_that_is_gone(
    alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TimeoutError, which many raise on SIGALRM, is an OSError."""
    alice.remember("Lives in Oslo")

    def struck(_: object) -> Any:
        raise TimeoutError

    with monkeypatch.context() as patched:
        patched.setattr(book_file.os, "stat", struck)
        with pytest.raises(TimeoutError):
            alice.remember("Lives in Bergen")
    assert [one.content for one in alice.list().items] == ["Lives in Oslo"]
