"""Recall across processes, restarts and deaths: found at once, never embedded twice, and a crash leaves a backlog only.

Run as a program, this file is a process with an open, warmed book: it answers the questions that come on stdin, or
fills the backlog until it is killed.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import func, select

sys.path.insert(0, str(Path(__file__).parents[2]))  # as a program it is not started from there

from tests.embedding import StandIn, meant

from keepbook import Keepbook
from keepbook.book.recall.vectors import BATCH
from keepbook.storage.tables.upkeep import vectors

# --- another process -------------------------------------------------------------------------------------


class Reader:
    """A process that has the book open and has asked it before."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def ask(self, what: str, question: str) -> list[str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([what, question]) + "\n")
        self._process.stdin.flush()
        return list(json.loads(self._process.stdout.readline()))


@contextmanager
def reader(url: str) -> Iterator[Reader]:
    command = [sys.executable, __file__, "answer", url]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield Reader(process)
    finally:
        process.kill()
        process.communicate()


def test_what_one_process_writes_another_recalls_at_once(kb: Any, book_url: str) -> None:
    alice = meant(kb)
    kept = alice.remember("The dog of the mill is old")
    chat = alice.thread("one")
    chat.add("user", "The puppy barked at night")
    alice.reindex()
    with reader(book_url) as other:
        assert other.ask("recall", "pet") == ["The dog of the mill is old"]
        assert other.ask("recall_chats", "pet") == ["The puppy barked at night"]

        alice.remember("The tea of the tower is cold")
        chat.add("user", "A stock fell on Monday")
        assert other.ask("recall", "tower") == ["The tea of the tower is cold"]
        assert other.ask("recall_chats", "Monday")[0] == "A stock fell on Monday"
        assert other.ask("recall", "drink") == []
        alice.reindex()
        assert other.ask("recall", "drink") == ["The tea of the tower is cold"]
        assert "A stock fell on Monday" in other.ask("recall_chats", "money")

        alice.update(kept.id, "The dog of the castle is young")
        assert other.ask("recall", "pet") == []
        assert other.ask("recall", "mill") == []
        alice.reindex()
        assert other.ask("recall", "pet") == ["The dog of the castle is young"]
        alice.threads.delete(chat.id)
        assert other.ask("recall_chats", "pet") == other.ask("recall_chats", "money") == []
        alice.delete(kept.id, forever=True)
        assert other.ask("recall", "pet") == other.ask("recall", "castle") == []
        alice.erase("alice")
        assert other.ask("recall", "drink") == other.ask("recall", "tower") == []


# --- a restart -------------------------------------------------------------------------------------------


def test_after_a_restart_only_the_question_is_embedded(kb: Any, book_url: str, clock: Any) -> None:
    alice = meant(kb)
    with alice.transaction():
        for number in range(500):
            alice.remember(f"Thing {number} lies in room {number % 40}", force=True)
        alice.remember("The dog of the mill is old")
        for number in range(20):
            alice.thread("one").add("user", f"The puppy barked {number} times")
    assert alice.reindex() == 521
    with closing(Keepbook(book_url, clock=clock)) as again:
        embedder = StandIn()
        book = meant(again, embedder=embedder, behind=True)
        assert [hit.content for hit in book.recall("pet", limit=1)] == ["The dog of the mill is old"]
        assert len(book.recall_chats("pet", limit=30)) == 20
        assert book.reindex() == 0
    assert embedder.embedded == []
    assert embedder.asked == ["pet"], "what was asked before is not embedded again"


# --- a death ---------------------------------------------------------------------------------------------


def held(kb: Any) -> int:
    with kb._database.read("alice") as tx:
        return int(
            tx.conn.execute(select(func.count()).select_from(vectors).where(vectors.c.owner == "alice")).scalar()
        )


def test_a_filler_that_is_killed_leaves_a_backlog_and_nothing_else(kb: Any, book_url: str) -> None:
    alice = kb.book("alice")
    total = 3 * BATCH
    with alice.transaction():
        for number in range(total - 50):
            alice.remember(f"The dog number {number} is old", force=True)
        for number in range(50):
            alice.thread("one").add("user", f"The puppy barked {number} times")
    deaths = 0
    while True:
        process = subprocess.Popen([sys.executable, __file__, "fill", book_url], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        told = process.stdout.readline()  # a batch is kept by now, and the next under way
        if told.strip() != "all":
            os.kill(process.pid, signal.SIGKILL)
            deaths += 1
        process.communicate()
        alice = meant(kb)
        assert alice.index.left() == total - held(kb)
        assert alice.verify().ok
        if told.strip() == "all":
            break
    assert deaths >= 2
    assert held(kb) == total
    assert len(alice.recall("pet", limit=200)) == total - 50
    assert alice.reindex() == 0


# --- what must not be left -------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["purge", "erase"])
def test_of_what_is_gone_no_word_and_no_vector_is_left(kb: Any, book_url: str, way: str) -> None:
    alice = meant(kb)
    with alice.transaction():
        for number in range(40):
            alice.remember(f"Thing {number} lies in room {number % 4}", force=True)
    secret = alice.remember("The treasure is called Quetzalcoatl", subject="Brumblewick", body="Deep in Sorrowfjell")
    chat = alice.thread("one")
    chat.add("user", "Quetzalcoatl sleeps in Sorrowfjell", speaker="Brumblewick")
    alice.reindex()
    with kb._database.read("alice") as tx:
        query = select(vectors.c.vector).where(vectors.c.owner == "alice", vectors.c.item.in_([secret.id, chat.id]))
        directions = [bytes(row) for row in tx.conn.execute(query).scalars()]
    needles = [b"quetzalcoatl", b"brumblewick", b"sorrowfjel", *directions]
    assert len(directions) == 2
    assert all(needle in everything(book_url) for needle in needles)

    if way == "erase":
        alice.erase("alice")
    else:
        alice.delete(secret.id, forever=True)
        alice.threads.delete(chat.id, forever=True)
    left = everything(book_url)
    assert [needle for needle in needles if needle in left] == []
    for mode in (None, alice.meaning):
        alice.meaning = mode
        for question in ("Quetzalcoatl", "treasure", "Sorrowfjell", "Brumblewick"):
            assert alice.recall(question) == alice.recall_chats(question) == []


def everything(url: str) -> bytes:
    """All that is kept, letters in lower case: the bytes of the files, or every value of every row of the server."""
    if "://" not in url:
        found = b"".join(path.read_bytes() for path in sorted(Path(url).parent.glob(Path(url).name + "*")))
        return found + found.lower()
    found = b""
    with psycopg.connect(url) as server:  # as its administrator, from whom nothing is hidden
        names = server.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        for (name,) in names:
            for row in server.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(name))):
                found += b"\n".join(value if isinstance(value, bytes) else str(value).encode() for value in row)
    return found + found.lower()


# --- as a program ----------------------------------------------------------------------------------------


def tell(told: object) -> None:
    sys.stdout.write(f"{told}\n")
    sys.stdout.flush()


def main(order: str, url: str) -> None:
    with Keepbook(url) as kb:
        book = meant(kb, embedder=StandIn(pause=0.05 if order == "fill" else 0.0))
        if order == "fill":
            book.reindex(tell)
            tell("all")
            return
        book.recall("pet")
        book.recall_chats("pet")
        for line in sys.stdin:
            what, question = json.loads(line)
            hits = getattr(book, what)(question)
            tell(json.dumps([hit.content if what == "recall" else hit.text for hit in hits]))


if __name__ == "__main__":
    main(*sys.argv[1:])
