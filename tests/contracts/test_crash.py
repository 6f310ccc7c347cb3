"""What survives a crash, a full disk and an erasure, and what must not.

Writers are killed (-9) at random moments: whatever they were told was kept is there, nothing is half there,
and the ledger verifies. A full disk refuses clearly and harms nothing. What was deleted for good is in none of
the bytes of the files. Short by default; KEEPBOOK_TEST_SECONDS=60 makes the killing long.
Run as a program, this file raises writers: loaded once, it forks one for each line it reads.
"""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from keepbook import Keepbook, KeepbookError, LimitReached
from keepbook.settings import Settings
from keepbook.storage.engines import removed_bytes

# Read when the file is loaded: the tests themselves run without any setting of the developer.
SECONDS = float(os.environ.get("KEEPBOOK_TEST_SECONDS", "0"))
ROUNDS = 4


# --- writers that are killed -----------------------------------------------------------------------------


def write_until_killed(url: str, name: str) -> None:
    """Say each thing as soon as it is kept, and not before."""

    def tell(**kept: Any) -> None:
        os.write(1, (json.dumps({"by": os.getpid()} | kept) + "\n").encode())  # one write: lines never mix

    chance = random.Random(name)
    with Keepbook(url) as kb:
        book = kb.book("alice")
        tell(open=True)
        for number in range(100_000):
            kind = chance.choice(["one", "one", "update", "pair", "forget", "undo", "inject"])
            thing = f"{name} {kind} {number} {chance.randrange(10**9)}"
            if kind == "pair":
                with book.transaction():
                    left, right = book.remember(f"left {thing}"), book.remember(f"right {thing}")
                    joined = book.link(left.id, right.id, "relates_to")
                tell(event=joined.event, action="link", id=left.id)
                continue
            if kind == "inject":
                tell(session=thing, block=book.inject(thing))
                continue
            written: Any = book.remember(thing, body=f"{thing} " * chance.randrange(1, 60))
            tell(event=written.event, action="remember", id=written.id, version=1, content=thing)
            if kind == "update":
                later = book.update(written.id, f"{thing} later")
                tell(event=later.event, action="update", id=later.id, version=2, content=later.content)
            elif kind in ("forget", "undo"):
                gone = book.forget(written.id) if kind == "forget" else book.undo(written.event)
                tell(event=gone.event, action=kind, id=gone.id)


class Nursery:
    """The program below: forks writers, and says when one is dead."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process

    def ask(self, *words: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write((json.dumps(words) + "\n").encode())
        self._process.stdin.flush()

    def hear(self) -> Iterator[dict[str, Any]]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            yield json.loads(line)


@contextmanager
def nursery() -> Iterator[Nursery]:
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, __file__], start_new_session=True, **pipes)
    try:
        yield Nursery(process)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def kill_two_writers(raised: Nursery, url: str, turn: int, chance: random.Random) -> list[dict[str, Any]]:
    """Two writers at once, killed after some of what they say; answers all that they said."""
    raised.ask(url, f"writer {turn} a")
    raised.ask(url, f"writer {turn} b")
    told: list[dict[str, Any]] = []
    living: set[int] = set()
    patience = {"said": chance.randrange(2, 40), "moment": chance.uniform(0, 0.02)}
    dead = 0
    for line in raised.hear():
        if "dead" in line:
            dead += 1
            if dead == 2:
                return told
            continue
        living.add(line["by"])
        if "open" not in line:
            told.append(line)
        if len(living) == 2 and len(told) >= patience["said"]:
            time.sleep(patience["moment"])
            for pid in living:
                os.kill(pid, signal.SIGKILL)
            patience["said"] = 10**9  # once; what was in the pipe is still read
    raise AssertionError("the writers' program ended by itself")


def test_what_was_acknowledged_survives_the_death_of_its_writer(book_url: str, engine_name: str) -> None:
    Keepbook(book_url).close()
    told: list[dict[str, Any]] = []
    chance, deadline, turn = random.Random(engine_name), time.monotonic() + SECONDS, 0
    with nursery() as raised:
        while turn < ROUNDS or time.monotonic() < deadline:
            turn += 1
            last = kill_two_writers(raised, book_url, turn, chance)
            told += last
            with Keepbook(book_url) as kb:
                check(kb, told, most_unheard=2 * turn)
                for line in last:
                    if "session" in line:
                        assert kb.book("alice").inject(line["session"]) == line["block"]
    sys.stdout.write(f"{len(told)} acknowledged by {2 * turn} writers, all killed; nothing lost\n")


def check(kb: Keepbook, told: list[dict[str, Any]], most_unheard: int) -> None:
    book = kb.book("alice")
    verified = book.verify()
    assert verified.ok, verified
    entries = {entry.event: entry for entry in book.ledger(limit=None)}
    writes = [line for line in told if "event" in line]
    for line in writes:
        assert (entries[line["event"]].action, entries[line["event"]].memory_id) == (line["action"], line["id"])
    # A writer may die between keeping and telling: one write of each, and a pair has three entries.
    counted = len(writes) + 2 * sum(line["action"] == "link" for line in writes)
    assert counted <= len(entries) <= counted + 3 * most_unheard
    query = "SELECT memory_id, version, content, retired_at FROM versions WHERE owner = 'alice'"
    with kb._database.read("alice") as tx:
        rows = {(memory, number): rest for memory, number, *rest in tx.conn.exec_driver_sql(query)}
    for line in writes:
        if "content" in line:
            assert rows[line["id"], line["version"]][0] == line["content"]
    current = Counter(memory for (memory, _), (_, retired) in rows.items() if retired is None)
    assert set(current.values()) <= {1}
    assert current.keys() == {memory for memory, _ in rows}
    sides = {
        side: {text[len(side) :] for text, _ in rows.values() if text.startswith(side)} for side in ("left", "right")
    }
    assert sides["left"] == sides["right"]


# --- a full disk -----------------------------------------------------------------------------------------

on_sqlite = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)


def fill_the_disk(url: str) -> None:
    """With a limit on the size of files: write until it is reached; then without it, write again."""
    with Keepbook(url) as kb:
        book = kb.book("alice")
        kept = [book.remember("The first thing is small").content]
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        largest = max(path.stat().st_size for path in Path(url).parent.glob(f"{Path(url).name}*"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 150_000, hard))
        refusals = []
        for number in range(40):
            thing = f"Thing {number} is rather large"
            try:
                kept.append(book.remember(thing, body=f"{thing} " * 900).content)
            except KeepbookError as error:
                refusals.append([type(error).__name__, error.code, str(error)])
        readable = book.list(limit=1).total
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        kept.append(book.remember("There is room again").content)
    os.write(1, json.dumps({"kept": kept, "refusals": refusals, "readable": readable}).encode())


@on_sqlite
def test_a_full_disk_is_refused_clearly_and_harms_nothing(book_url: str) -> None:
    command = [sys.executable, __file__, "fill", book_url]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert 0 < len(told["refusals"]) < 40
    assert {code for _, code, _ in told["refusals"]} <= {"disk_full", "disk_error"}
    assert all("nothing was written" in words for *_, words in told["refusals"])
    assert told["readable"] == len(told["kept"]) - 1
    with Keepbook(book_url) as kb:
        book = kb.book("alice")
        assert [memory.content for memory in book.list(limit=1000)] == told["kept"]
        assert book.verify().entries == len(told["kept"])
        assert book.verify().ok


@on_sqlite
def test_a_book_that_may_not_grow_says_that_the_disk_is_full(kb: Keepbook) -> None:
    def limit(pages: int) -> None:
        with kb._database.unscoped() as conn:  # the one connection of this thread
            conn.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

    book = kb.book("alice")
    book.remember("The first thing is small")
    limit(1)  # SQLite makes that: no more than there are
    with pytest.raises(LimitReached, match="full") as refused:
        book.remember("The second is large", body="large " * 9000)
    assert refused.value.code == "disk_full"
    assert book.list().total == 1
    limit(1_000_000)
    book.remember("The third has room again", body="large " * 9000)
    assert [memory.content for memory in book.list()] == ["The first thing is small", "The third has room again"]
    assert book.verify().ok


# --- what must not survive -------------------------------------------------------------------------------


def holding(url: str, needles: list[str]) -> dict[str, set[str]]:
    """Which of the needles stand in the raw bytes of which of the book's files, in any case of letters."""
    files = {suffix: Path(url + suffix) for suffix in ("", "-wal", "-shm", "-journal")}
    found = {name: path.read_bytes().lower() for name, path in files.items() if path.exists()}
    return {
        name: {needle for needle in needles if needle.lower().encode() in content} for name, content in found.items()
    }


def anywhere(url: str, needles: list[str]) -> set[str]:
    return set().union(*holding(url, needles).values())


NEEDLES = ["xanthoquill", "brumblewick", "sorrowfjell", "kvadrantel", "murkenholt"]


def keep_a_secret(book: Any) -> str:
    """A memory whose every kind of text holds a word of its own; all of them stand in an index, a block or a link."""
    secret = book.remember(
        "The treasure is called xanthoquill",
        subject="Brumblewick",
        summary="About the sorrowfjell",
        body="Long ago there was a kvadrantel. " * 40,
    )
    other = book.remember("An ordinary thing about gardens")
    book.link(secret.id, other.id, "because_of")
    book.inject("before")
    book.update(secret.id, "The treasure is called murkenholt now, not xanthoquill", summary="Still the sorrowfjell")
    book.inject("after")
    return str(secret.id)


@contextmanager
def crowded(url: str, **settings: Any) -> Iterator[Keepbook]:
    """A book with so much around the secret that its pages are split and joined."""
    with Keepbook(url, settings=Settings(**settings)) as kb:
        for number in range(60):
            words = " ".join(random.Random(number).choices(["ash", "bay", "cove", "dune", "elm", "fen"], k=9))
            kb.book("alice").remember(f"Thing {number} {words}", body=f"{words} " * (number * 7 % 50 + 1))
        yield kb


@on_sqlite
def test_what_was_deleted_for_ever_is_in_no_byte_of_the_files(book_url: str) -> None:
    with crowded(book_url) as kb:
        book = kb.book("alice")
        secret = keep_a_secret(book)
        assert anywhere(book_url, NEEDLES) == set(NEEDLES)
        book.delete(secret, forever=True)
        assert anywhere(book_url, NEEDLES) == set()
    assert anywhere(book_url, NEEDLES) == set()


@on_sqlite
def test_what_was_deleted_for_ever_in_a_transaction_is_in_no_byte_of_the_files(book_url: str) -> None:
    with crowded(book_url) as kb:
        book = kb.book("alice")
        secret = keep_a_secret(book)
        with book.transaction():
            book.remember("Something else altogether, in the same breath")
            book.delete(secret, forever=True)
        assert anywhere(book_url, NEEDLES) == set()


@on_sqlite
def test_what_the_trash_gave_up_is_in_no_byte_of_the_files(book_url: str, kb: Keepbook, clock: Any) -> None:
    book = kb.book("alice")
    secret = keep_a_secret(book)
    book.delete(secret)
    clock.forward(days=31)
    assert book.purge() == 1
    assert anywhere(book_url, NEEDLES) == set()


@on_sqlite
@pytest.mark.parametrize("small", [0, removed_bytes.SMALL_FILE], ids=["in pieces", "rewritten"])
def test_secrets_deleted_one_after_another_leave_no_byte_while_the_others_stay(
    book_url: str, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every deletion moves its neighbours about in their pages, and none of the copies may stay."""
    monkeypatch.setattr(removed_bytes, "SMALL_FILE", small)
    with crowded(book_url) as kb:
        book = kb.book("alice")
        chance = random.Random(7)
        secrets = {f"zq{number:02d}vexillum": "" for number in range(40)}
        for needle in secrets:
            body = f"the {needle} hides " * chance.randrange(1, 120)
            secrets[needle] = book.remember(f"Secret {needle} lies here", body=body).id
        for needle in chance.sample(sorted(secrets), len(secrets)):
            if chance.random() < 0.3:
                book.remember(f"Filler {chance.randrange(10**9)}", body="filler words " * chance.randrange(1, 200))
            book.delete(secrets.pop(needle), forever=True)
            assert anywhere(book_url, [needle]) == set()
            assert anywhere(book_url, list(secrets)) == set(secrets)
        assert book.verify().ok
        assert kb._database.backend.damage() is None


@on_sqlite
def test_after_an_erasure_no_byte_of_the_owner_is_left(book_url: str) -> None:
    with crowded(book_url) as kb:
        book = kb.book("nora longbottom")
        keep_a_secret(book)
        needles = [*NEEDLES, "nora longbottom"]
        assert anywhere(book_url, needles) == set(needles)
        receipt = book.erase(confirm="nora longbottom")
        assert anywhere(book_url, needles) == set()
        assert receipt.counts["versions"] == 3
        assert len(receipt.beyond_reach) == 1  # backups; nothing of these files
        assert kb.book("alice").verify().ok
        assert kb.book("alice").list().total == 60


@on_sqlite
def test_an_erasure_that_a_reader_holds_back_says_so(book_url: str) -> None:
    with crowded(book_url, busy_seconds=0.3) as kb, Keepbook(book_url) as reader:
        book = kb.book("nora")
        keep_a_secret(book)
        with reader._database.read("nora") as tx:
            tx.conn.exec_driver_sql("SELECT count(*) FROM memories").scalar()
            receipt = book.erase(confirm="nora")
        assert len(receipt.beyond_reach) > 1
        assert any("another program" in words for words in receipt.beyond_reach)


# --- as a program ----------------------------------------------------------------------------------------


def raise_writers() -> None:
    """Fork a writer for each line read; they die by the test's hand, and are reported dead here."""
    signal.signal(signal.SIGCHLD, lambda *_: bury())
    for line in sys.stdin:
        url, name = json.loads(line)
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            write_until_killed(url, name)
            os._exit(0)


def bury() -> None:
    try:
        while (dead := os.waitpid(-1, os.WNOHANG)[0]) != 0:
            os.write(1, f'{{"dead": {dead}}}\n'.encode())
    except ChildProcessError:
        pass


if __name__ == "__main__":
    if sys.argv[1:2] == ["fill"]:
        fill_the_disk(sys.argv[2])
    else:
        raise_writers()
