"""Programs that fork (gunicorn, multiprocessing, celery): a child and its parent write to the same book, whichever ends
first, and nothing that was acknowledged is lost or doubled.

Children are forked here and end by `os._exit`; where a child or its parent is to end by itself, this file is run as a
program. FORKED_WRITES=2000 makes the load long.
"""

import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.forked import Child, thread_that

from keepbook import Keepbook, KeepbookError
from keepbook.settings import Settings
from keepbook.storage.engines import book_file

WRITES = int(os.environ.get("FORKED_WRITES", "20"))
"""How many are acknowledged under load, in all."""
WORKERS = 4
SOME = 3

pytestmark = pytest.mark.process
both_engines = pytest.mark.parametrize("engine_name", ["sqlite", "postgresql"], indirect=True)


def write(kb: Any, name: str, number: int = SOME) -> list[str]:
    """What was acknowledged."""
    return [kb.book("alice").remember(f"{name} says number {nth}", force=True).content for nth in range(number)]


def check_kept(url: str, acknowledged: list[str]) -> None:
    with Keepbook(url) as kb:
        book = kb.book("alice")
        found = Counter(one.content for one in all_of(book))
        assert [one for one in acknowledged if found[one] != 1] == []
        assert set(found) == set(acknowledged)
        assert book.verify().ok


def all_of(book: Any) -> Iterator[Any]:
    page = book.list(limit=1000)
    yield from page
    while page.next is not None:
        page = book.list(limit=1000, cursor=page.next)
        yield from page


def run_alone(*words: str) -> "subprocess.CompletedProcess[str]":
    """This file as a program."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
    command = [sys.executable, __file__, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=environment)


def test_whoever_ends_first_nothing_is_lost(book_url: str) -> None:
    done = run_alone(book_url)
    assert done.stderr == ""
    acknowledged = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(acknowledged) == 6 * SOME
    check_kept(book_url, acknowledged)


@both_engines
def test_parent_and_children_write_at_once(kb: Any, book_url: str) -> None:
    acknowledged = write(kb, "First")

    def work(name: str) -> tuple[list[str], int]:
        empty = 0
        told = []
        for nth in range(WRITES // (WORKERS + 1)):
            told += write(kb, f"{name} {nth}", 1)
            empty += kb.book("alice").list().total < SOME
        return told, empty

    children = [Child(lambda nth=nth: work(f"Child {nth}")) for nth in range(WORKERS)]  # type: ignore[misc]
    answers = [work("Parent"), *(child.told()["came"] for child in children)]
    acknowledged += [one for told, _ in answers for one in told]
    assert [empty for _, empty in answers] == [0] * (WORKERS + 1)
    check_kept(book_url, acknowledged)


@both_engines
def test_a_child_writes_though_another_thread_held_the_lock(kb: Any, book_url: str) -> None:
    acknowledged = write(kb, "First")
    inside = threading.Event()

    def hold(_: threading.Event) -> None:
        with kb.book("alice").transaction():
            acknowledged.extend(write(kb, "Thread"))
            inside.set()
            time.sleep(0.2)

    with thread_that(hold):
        inside.wait()
        child = Child(lambda: write(kb, "Child"))
        acknowledged += write(kb, "Parent")
        acknowledged += child.told()["came"]
    check_kept(book_url, acknowledged)


@both_engines
def test_threads_that_never_rest_hold_no_fork_up(kb: Any, book_url: str) -> None:
    acknowledged = write(kb, "First")

    def go_on(end: threading.Event) -> None:
        nth = 0
        while not end.is_set():
            acknowledged.extend(write(kb, f"Thread {nth}", 1))
            kb.book("alice").list()
            nth += 1

    with thread_that(go_on):
        children = [Child(lambda nth=nth: write(kb, f"Child {nth}")) for nth in range(3)]  # type: ignore[misc]
        told = [child.told()["came"] for child in children]
    check_kept(book_url, acknowledged + [one for some in told for one in some])


def test_threads_that_fork_at_once_leave_no_child_without_its_book(kb: Any, book_url: str) -> None:
    acknowledged = write(kb, "First")
    told: list[Any] = []

    def go_on(end: threading.Event) -> None:
        nth = 0
        while not end.is_set():
            acknowledged.extend(write(kb, f"Thread {nth}", 1))
            nth += 1

    def fork(name: int) -> None:
        for nth in range(2):
            told.append(Child(lambda nth=nth: write(kb, f"Child {name} {nth}", 1)).told())  # type: ignore[misc] # noqa: PERF401 one by one

    forking = [threading.Thread(target=fork, args=(name,)) for name in range(2)]
    with thread_that(go_on):
        for thread in forking:
            thread.start()
        for thread in forking:
            thread.join()
    assert [one for one in told if "came" not in one] == []
    check_kept(book_url, acknowledged + [line for one in told for line in one["came"]])


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_a_fork_inside_a_transaction_spoils_no_later_one(kb: Any, book_url: str) -> None:
    with kb.book("alice").transaction():
        acknowledged = write(kb, "Inside")
        assert Child(lambda: write(kb, "Child")).told()["refused"] == "forked"
    acknowledged += Child(lambda: write(kb, "Later child")).told()["came"]
    check_kept(book_url, acknowledged)


@both_engines
def test_a_fork_inside_a_transaction_is_refused_in_the_child(kb: Any, book_url: str) -> None:
    book = kb.book("alice")

    with book.transaction():
        acknowledged = write(kb, "Inside")
        joins = Child(lambda: write(kb, "Child")).told()
        acknowledged += write(kb, "Inside still")
    assert joins["refused"] == "forked"
    assert "transaction" in joins["why"]
    acknowledged += write(kb, "After")
    check_kept(book_url, acknowledged)


@both_engines
def test_a_child_that_leaves_the_block_commits_nothing(book_url: str) -> None:
    """Run as a program, since the child goes on where its parent was."""
    done = run_alone(book_url, "inside")
    assert (done.stdout, done.stderr) == ("child forked\nparent kept\n", "")
    check_kept(book_url, ["Parent says it inside"])


def test_a_book_in_memory_belongs_to_who_made_it() -> None:
    with Keepbook(":memory:") as kb:
        write(kb, "Parent")
        told = Child(lambda: write(kb, "Child")).told()
        assert told["refused"] == "forked"
        assert "in memory" in told["why"]
        assert Child(lambda: Keepbook(":memory:").book("alice").list().total).told()["came"] == 0
        assert kb.book("alice").list().total == SOME


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_a_child_of_a_transaction_that_does_not_end_is_told(
    kb: Any, book_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite itself believes its locks in the child: nobody there may open the file."""
    monkeypatch.setattr("keepbook.forking.PATIENCE", 0.05)
    acknowledged = write(kb, "First")
    inside = threading.Event()

    def hold(end: threading.Event) -> None:
        with kb.book("alice").transaction():
            acknowledged.extend(write(kb, "Thread"))
            inside.set()
            end.wait(30)

    with thread_that(hold):
        inside.wait()
        told = Child(lambda: write(kb, "Child")).told()
        opened = Child(lambda: write(Keepbook(book_url), "Child")).told()
    assert (told["refused"], opened["refused"]) == ("forked", "forked")
    check_kept(book_url, acknowledged)


def test_a_fork_beside_a_thread_that_waits_for_the_lock_waits_for_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the thread would give up first: the lock is free only after the fork."""
    path, waits, is_locked = str(tmp_path / "keepbook.db"), threading.Event(), book_file.is_locked

    def look(error: BaseException) -> bool:
        waits.set()
        return is_locked(error)

    monkeypatch.setattr("keepbook.forking.PATIENCE", 600)
    monkeypatch.setattr(book_file, "is_locked", look)
    with closing(Keepbook(path, embedder="none")) as kb:
        book = kb.book("alice")
        book.remember("Lives in Oslo")
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            waiting = threading.Thread(target=book.remember, args=("Has a dog",))
            waiting.start()
            waits.wait()
            if not (child := os.fork()):
                os._exit(0)
            os.waitpid(child, 0)
            other.execute("ROLLBACK")
        waiting.join()
        assert len(book.list()) == 2


# --- as a program


def end_in_any_order(url: str) -> None:
    """A child that ends by itself before its parent, then one that goes on after its parent has ended by itself."""
    kb = open_alone(url)
    say(write(kb, "Parent"))
    if (first := os.fork()) == 0:
        say(write(kb, "First child"))
        return
    os.waitpid(first, 0)
    say(write(kb, "Parent again"))
    parent = os.getpid()
    if os.fork() == 0:
        say(write(kb, "Second child"))
        while os.getppid() == parent:
            time.sleep(0.01)
        say(write(kb, "Second child alone"))
        os._exit(0)  # nothing is closed
    say(write(kb, "Parent at last"))


def leave_the_block(url: str) -> None:
    kb = open_alone(url)
    parent = os.getpid()
    try:
        with kb.book("alice").transaction():
            kb.book("alice").remember("Parent says it inside")
            child = os.fork()
            if child:
                os.waitpid(child, 0)
    except KeepbookError as error:
        print("child", error.code)  # noqa: T201
        return
    print("parent" if os.getpid() == parent else "child", "kept")  # noqa: T201


def open_alone(url: str) -> Keepbook:
    return Keepbook(url, settings=Settings(db=url, allow_bypass_login=True), embedder="none")


def say(acknowledged: list[str]) -> None:
    os.write(1, "".join(json.dumps(one) + "\n" for one in acknowledged).encode())


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        leave_the_block(sys.argv[1]) if "inside" in sys.argv else end_in_any_order(sys.argv[1])
