"""Two writers, one book: threads and processes that write the same memories at the same time.

Nothing that was acknowledged is lost, nothing is written that was not, and whoever comes second gets a
Conflict and never "database is locked". Short by default; KEEPBOOK_TEST_SECONDS=60 makes it long.
Run as a program, this file is one of the writing processes.
"""

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from keepbook import Book, Conflict, Keepbook
from keepbook.settings import Settings

# Read when the file is loaded: the tests themselves run without any setting of the developer.
SECONDS = float(os.environ.get("KEEPBOOK_TEST_SECONDS", "0"))
LONGEST = SECONDS or 6.0
MOST_WRITES = None if SECONDS else 120
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "jetty", "knoll", "larch")


# --- a writer --------------------------------------------------------------------------------------------


@dataclass
class Said:
    """What one writer was told."""

    writes: list[dict[str, Any]] = field(default_factory=list)
    blocks: dict[str, str] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)


class Writer:
    """Does what people and agents do to a book, at random, on memories of its own and on shared ones."""

    def __init__(self, kb: Keepbook, name: str, shared: list[str]) -> None:
        self.book = kb.book("alice")
        self.name = name
        self.shared = shared
        self.chance = random.Random(name)
        self.said = Said()

    def work(self, seconds: float, most: int | None) -> Said:
        deadline = time.monotonic() + seconds
        acts = [self.remember, self.update, self.update_expecting, self.forget, self.restore, self.undo, self.inject]
        while time.monotonic() < deadline and (most is None or len(self.said.writes) < most):
            act = self.chance.choices(acts, weights=[4, 4, 3, 1, 2, 2, 2])[0]
            try:
                act()
            except Conflict as conflict:
                self.said.refused[conflict.code] += 1
            except Exception as error:  # noqa: BLE001  any other is what the test is looking for
                self.said.errors.append(f"{act.__name__}: {type(error).__name__}: {error}")
        return self.said

    def remember(self) -> None:
        self.heard("remember", self.book.remember(self.sentence()))

    def update(self) -> None:
        self.heard("update", self.book.update(self.chance.choice(self.shared), self.sentence()))

    def update_expecting(self) -> None:
        memory = self.book.get(self.chance.choice(self.shared))
        written = self.book.update(memory.id, self.sentence(), expect_version=memory.version)
        assert written.version == memory.version + 1
        self.heard("update", written)

    def forget(self) -> None:
        self.heard("forget", self.book.forget(self.chance.choice(self.shared)))

    def restore(self) -> None:
        self.heard("restore", self.book.restore(self.chance.choice(self.shared)))

    def undo(self) -> None:
        if self.said.writes:
            undone = self.book.undo(self.said.writes[-1]["event"])
            self.heard("undo", undone)

    def inject(self) -> None:
        session = f"session {self.chance.randrange(1000)}"
        self.said.blocks.setdefault(session, self.book.inject(session))
        assert self.book.inject(session) == self.said.blocks[session]

    def heard(self, action: str, written: Any) -> None:
        if not written.unchanged:
            told = {"event": written.event, "id": written.id, "version": written.version, "content": written.content}
            self.said.writes.append({"action": action} | told)

    def sentence(self) -> str:
        return f"{self.name} noted {' '.join(self.chance.choices(WORDS, k=5))} {self.chance.randrange(10**9)}"


# --- two of them -----------------------------------------------------------------------------------------


@contextmanager
def processes(*arguments: list[str]) -> Iterator[list["subprocess.Popen[str]"]]:
    """This file as programs that have loaded everything and wait for a line to begin."""
    started = [
        subprocess.Popen(
            [sys.executable, __file__, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for words in arguments
    ]
    try:
        for child in started:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n", child.communicate()[1]
        for child in started:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        yield started
    finally:
        for child in started:
            child.kill()
            child.communicate()


def answers(children: list["subprocess.Popen[str]"]) -> list[Any]:
    found = []
    for child in children:
        out, words = child.communicate(timeout=LONGEST + 120)
        assert (child.returncode, words) == (0, "")
        found.append(json.loads(out))
    return found


def together(*acts: Callable[[], Any]) -> list[Any]:
    """Each act in a thread of its own, all at one moment; answers what each gave back or raised."""
    given: list[Any] = [None] * len(acts)
    gate = threading.Barrier(len(acts))

    def run(number: int) -> None:
        gate.wait()
        try:
            given[number] = acts[number]()
        except Exception as error:  # noqa: BLE001  a thread's failure would be lost
            given[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return given


def by_threads(url: str, shared: list[str]) -> list[Said]:
    with Keepbook(url) as kb:
        writers = [Writer(kb, name, shared) for name in ("Ann", "Ben")]
        return together(*(partial(writer.work, LONGEST, MOST_WRITES) for writer in writers))


def by_processes(url: str, shared: list[str]) -> list[Said]:
    orders = [["work", url, name, str(LONGEST), str(MOST_WRITES or 0), *shared] for name in ("Ann", "Ben")]
    with processes(*orders) as children:
        return [Said(**(told | {"refused": Counter(told["refused"])})) for told in answers(children)]


@pytest.mark.parametrize("write", [by_threads, by_processes])
def test_two_writers_lose_nothing_and_only_ever_meet_a_conflict(
    book_url: str, write: Callable[[str, list[str]], list[Said]]
) -> None:
    with Keepbook(book_url) as kb:
        shared = [kb.book("alice").remember(f"Shared thing number {n} {WORDS[n]}").id for n in range(6)]
    ann, ben = write(book_url, shared)
    assert ann.errors + ben.errors == []
    refused = ann.refused + ben.refused
    assert refused.keys() <= {"version", "touched", "archived", "trash"}
    with Keepbook(book_url) as kb:
        check(kb, shared, ann, ben)
    blocks = len(ann.blocks | ben.blocks)
    sys.stdout.write(f"{len(ann.writes)} + {len(ben.writes)} writes, {blocks} blocks, conflicts {dict(refused)}\n")


def check(kb: Keepbook, shared: list[str], ann: Said, ben: Said) -> None:
    book = kb.book("alice")
    verified = book.verify()
    assert verified.ok, verified
    told = {write["event"]: write for write in ann.writes + ben.writes}
    assert len(told) == len(ann.writes) + len(ben.writes), "two writers were told the same event"
    assert ann.writes
    assert ben.writes
    # All that was acknowledged stands in the ledger, and nothing else does.
    entries = {entry.event: entry for entry in book.ledger(limit=None) if entry.event > len(shared)}
    assert {event: (entry.action, entry.memory_id) for event, entry in entries.items()} == {
        event: (write["action"], write["id"]) for event, write in told.items()
    }
    rows = versions(kb)
    for write in told.values():
        assert rows[write["id"]][write["version"] - 1][1] == write["content"]
    for history in rows.values():
        assert [number for number, *_ in history] == list(range(1, len(history) + 1))
        ends = [retired for *_, retired in history]
        begins = [recorded for *_, recorded, _ in history]
        assert ends == [*begins[1:], None], "each version ends when the next begins"
    for session in ann.blocks.keys() & ben.blocks.keys():
        assert ann.blocks[session] == ben.blocks[session]
    for session, block in (ann.blocks | ben.blocks).items():
        assert book.inject(session) == block


def versions(kb: Keepbook) -> dict[str, list[tuple[int, str, str, str | None]]]:
    found: dict[str, list[tuple[int, str, str, str | None]]] = {}
    query = (
        "SELECT memory_id, version, content, recorded_at, retired_at FROM versions "
        "WHERE owner = 'alice' ORDER BY memory_id, version"
    )
    with kb._database.read("alice") as tx:
        for memory, *rest in tx.conn.exec_driver_sql(query):
            found.setdefault(memory, []).append(tuple(rest))
    return found


# --- the moments that matter -----------------------------------------------------------------------------


def test_of_two_updates_that_expect_the_same_version_exactly_one_wins(book_url: str) -> None:
    with Keepbook(book_url) as one, Keepbook(book_url) as other:
        books = one.book("alice"), other.book("alice")
        memory = books[0].remember("Lives in a city that changes")
        for turn in range(1, 11):
            outcomes = together(
                *(
                    partial(book.update, memory.id, f"Lives in {place} as of round {turn}", expect_version=turn)
                    for book, place in zip(books, ("Oslo", "Bergen"), strict=True)
                )
            )
            (lost,) = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
            (won,) = [outcome for outcome in outcomes if not isinstance(outcome, Exception)]
            assert isinstance(lost, Conflict)
            assert (lost.code, lost.details["current"]) == ("version", turn + 1)
            assert won.version == turn + 1
            assert books[0].get(memory.id).content == won.content
        assert books[0].verify().entries == 11


def test_the_same_thing_said_twice_at_once_is_kept_once(book_url: str) -> None:
    with Keepbook(book_url) as one, Keepbook(book_url) as other:
        for turn in range(10):
            thing = f"Said twice at once in round {turn} {WORDS[turn]}"
            said = together(*(partial(kb.book("alice").remember, thing) for kb in (one, other)))
            assert sorted(written.unchanged for written in said) == [False, True]
            assert said[0].id == said[1].id
        assert one.book("alice").list().total == 10


def test_two_processes_that_inject_the_same_new_session_see_the_same_bytes(book_url: str) -> None:
    Keepbook(book_url).close()
    with processes(["inject", book_url, "Ann"], ["inject", book_url, "Ben"]) as children:
        ann, ben = answers(children)
    assert ann == ben
    assert len(set(ann)) > 1, "the book changed between the sessions, or equal bytes would prove little"
    with Keepbook(book_url) as kb:
        assert [kb.book("alice").inject(f"session {n}") for n in range(len(ann))] == ann


def test_a_writer_that_waited_too_long_is_told_that_the_book_is_busy(book_url: str) -> None:
    patient, hasty = Settings(), Settings(busy_seconds=0.3)
    with Keepbook(book_url, settings=patient) as one, Keepbook(book_url, settings=hasty) as other:
        with one.book("alice").transaction() as alice:
            alice.remember("Lives in Oslo with a dog")
            with pytest.raises(Conflict, match="busy") as refused:
                other.book("alice").remember("Plays the cello on Sundays")
            assert refused.value.code == "busy"
            assert other.book("alice").list().total == 0  # reading never waits, and sees nothing half done
        other.book("alice").remember("Plays the cello on Sundays")
        assert one.book("alice").list().total == 2


@pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
def test_on_postgresql_one_owner_does_not_wait_for_another(book_url: str) -> None:
    with Keepbook(book_url, settings=Settings(busy_seconds=0.3)) as one, Keepbook(book_url) as other:
        with other.book("alice").transaction() as alice:
            alice.remember("Lives in Oslo with a dog")
            one.book("bob").remember("Keeps bees in the garden")
        assert (one.book("alice").list().total, one.book("bob").list().total) == (1, 1)


def test_a_transaction_that_fails_leaves_nothing_to_the_next_writer(book_url: str) -> None:
    with Keepbook(book_url) as one, Keepbook(book_url) as other:
        with pytest.raises(Conflict):
            _write_and_fail(one.book("alice"))
        written = other.book("alice").remember("Plays the cello on Sundays")
        assert (written.event, other.book("alice").list().total) == (1, 1)
        assert one.book("alice").verify().ok


def _write_and_fail(alice: Book) -> None:
    with alice.transaction():
        written = alice.remember("Lives in Oslo with a dog")
        alice.update(written.id, "Lives in Bergen with a cat", expect_version=7)


# --- as a program ----------------------------------------------------------------------------------------


def main(order: str, url: str, name: str, *rest: str) -> None:
    with Keepbook(url) as kb:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        answer: Any
        if order == "work":
            seconds, most, *shared = rest
            said = Writer(kb, name, shared).work(float(seconds), int(most) or None)
            answer = said.__dict__
        else:
            writer = Writer(kb, name, [])
            answer = []
            for number in range(15):
                writer.remember()
                answer.append(writer.book.inject(f"session {number}"))
        sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
