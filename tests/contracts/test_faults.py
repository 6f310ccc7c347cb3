"""Work that is killed (-9) at any moment: remember, close, import, erase, purge, run, bars load, backup.

Each kill has an owner of its own, some dozens share a book, and a backup copies and proves them all. A worker says what
was acknowledged as soon as it was; after its death all of that is there, once, nothing is half there, and the ledger
holds. Then the same work is done again to its end: it finishes what was begun and doubles nothing. A few kills by
default; `make faults` makes a thousand an engine.
Run as a program, this file raises workers: loaded once, it forks one for each line it reads. Of half of them it opened
the book itself, and goes on writing to it.
"""

import contextlib
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from tests.extensions.agents.deciding import LONG, ran
from tests.extensions.storage.every_table import OWNED
from tests.furnished import _program as program

from keepbook import Conflict, Keepbook
from keepbook.book.upkeep.hidden import hidden_book
from keepbook.copies import back_up, prove
from keepbook.settings import Settings

KILLS = int(os.environ.get("KILLS", "16"))
"""How many on each engine."""
BOOKFUL = 80
"""How many owners a book has: a backup proves them all, so that one book for a thousand would take hours."""
MOMENTS = (-2.5, 0.2)
"""A worker is killed 3 ms to 1.6 s after its beginning, as powers of ten; some are done before."""
PARENT = "parent"
"""Whose book the parent of a worker writes to, before and after it."""
SAID = ("I live in Bergen", "I keep bees in the garden", "My sister is called Ingrid", "I am allergic to nuts")
BARS = 3000


def opened(url: str) -> Keepbook:
    return Keepbook(url, settings=Settings(db=url, allow_bypass_login=True), embedder="none")


# --- what is done: before the kill, by the worker, and what must hold after it


Tell = Callable[..., None]


class Work:
    """One kind of work. `before` makes ready, `work` tells what is acknowledged, `after` holds the book against it;
    `again` is the same work once more, to its end."""

    def before(self, kb: Keepbook, owner: str, folder: Path) -> None:
        kb.book(owner).remember("Was here before")

    def work(self, kb: Keepbook, owner: str, folder: Path, tell: Tell) -> None:
        raise NotImplementedError

    def after(self, kb: Keepbook, owner: str, folder: Path, told: list[Any]) -> None:
        raise NotImplementedError


class Remember(Work):
    def work(self, kb: Keepbook, owner: str, folder: Path, tell: Tell) -> None:
        for number in range(200):
            written = kb.book(owner).remember(f"Thing number {number} of many", force=True)
            tell(written.content)

    def after(self, kb: Keepbook, owner: str, folder: Path, told: list[Any]) -> None:
        found = Counter(one.content for one in kb.book(owner).list(limit=1000))
        assert set(found.values()) == {1}
        assert set(told) <= set(found)
        assert len(found) <= len(told) + 2  # one may be kept and not told; and the first


class Close(Work):
    def before(self, kb: Keepbook, owner: str, folder: Path) -> None:
        for nth, said in enumerate(SAID):
            chat = kb.book(owner).thread(f"chat-{nth}")
            chat.add("user", said)
            chat.add("assistant", "Good to know.")

    def work(self, kb: Keepbook, owner: str, folder: Path, tell: Tell) -> None:
        for nth in range(len(SAID)):
            closed = kb.book(owner).thread(f"chat-{nth}").close()
            tell([nth, [one["content"] for one in closed.written]])

    def after(self, kb: Keepbook, owner: str, folder: Path, told: list[Any]) -> None:
        book = kb.book(owner)
        kept = Counter(one.content for one in book.list(limit=1000))
        assert all(kept[content] == 1 for _, written in told for content in written)
        assert set(kept.values()) <= {1}
        for nth, _ in told:
            assert book.thread(f"chat-{nth}").close().status == "nothing"
        turns = [[one.text for one in book.thread(f"chat-{nth}").messages()] for nth in range(len(SAID))]
        assert turns == [[said, "Good to know."] for said in SAID]


class Import(Work):
    def before(self, kb: Keepbook, owner: str, folder: Path) -> None:
        book = kb.book(f"{owner} source")
        for number in range(12):
            book.remember(f"Carried along, number {number}", force=True)
        book.thread("one").add("user", "Said before the move")
        book.notes.write("A note that moves")
        with (folder / f"{owner}.jsonl").open("w", encoding="utf-8") as file:
            book.export(file)

    def work(self, kb: Keepbook, owner: str, folder: Path, tell: Tell) -> None:
        lines = (folder / f"{owner}.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        tell(kb.book(owner).import_(lines).memories)

    def after(self, kb: Keepbook, owner: str, folder: Path, told: list[Any]) -> None:
        sent, there = (folder / f"{owner}.jsonl").read_text(encoding="utf-8"), io.StringIO()
        kb.book(owner).export(there)
        assert there.getvalue() == sent or (not told and kb.book(owner).list().total == 0)
        kb.book(owner).import_(sent.splitlines(keepends=True))
        again = io.StringIO()
        kb.book(owner).export(again)
        assert again.getvalue() == sent


class Erase(Work):
    def before(self, kb: Keepbook, owner: str, folder: Path) -> None:
        for number in range(12):
            kb.book(owner).remember(f"Soon gone, number {number}", force=True)
        kb.book(owner).thread("one").add("user", "Soon gone as well")

    def work(self, kb: Keepbook, owner: str, folder: Path, tell: Tell) -> None:
        kb.book(owner).erase(owner)
        tell("erased")

    def after(self, kb: Keepbook, owner: str, folder: Path, told: list[Any]) -> None:
        left = rows(kb, owner)
        assert not any(left.values()) or (not told and left["memories"] == 12 and left["messages"] == 1)
        kb.book(owner).erase(owner)
        assert not any(rows(kb, owner).values())


class Purge(Work):
    def before(self, kb: Keepbook, owner: str, folder: Path) -> None:
        for number in range(8):
            kb.book(owner).remember(f"Secret xanthoquill {number} hidden", force=True)
        kb.book(owner).inject("saw them all")

    def work(self, kb: Keepbook, owner: str, folder: Path, tell: Tell) -> None:
        for one in kb.book(owner).list(limit=100):
            kb.book(owner).delete(one.id, forever=True)
            tell([one.id, one.content])

    def after(self, kb: Keepbook, owner: str, folder: Path, told: list[Any]) -> None:
        there = io.StringIO()
        kb.book(owner).export(there)
        assert [content for _, content in told if content in there.getvalue()] == []
        left = {one.id for one in kb.book(owner).list(limit=100)}
        assert len(left) in (8 - len(told), 8 - len(told) - 1)
        assert not left & {id for id, _ in told}


class Run(Work):
    def before(self, kb: Keepbook, owner: str, folder: Path) -> None:
        kb.book(owner).agents.create("Desk", card_type="trade-decision")

    def work(self, kb: Keepbook, owner: str, folder: Path, tell: Tell) -> None:
        book = kb.book(owner)
        for _ in range(50):
            tell(ran(book, book.agents.list()[0], LONG).id)

    def after(self, kb: Keepbook, owner: str, folder: Path, told: list[Any]) -> None:
        book = kb.book(owner)
        decided = Counter(one.run_id for one in book.decisions.list(limit=1000))
        assert set(decided.values()) <= {1}
        assert set(told) <= set(decided)
        assert len(decided) <= len(told) + 1
        for run in book.runs.list(limit=1000):
            assert (run.card is not None) == (run.status == "succeeded") == (run.id in decided)


class Load(Work):
    def before(self, kb: Keepbook, owner: str, folder: Path) -> None:
        day = "2026-01-{:02d}T{:02d}:{:02d}:00Z"
        lines = [f"{owner.upper()},1m,{day.format(1 + n // 1440, n // 60 % 24, n % 60)},1,2,1,{1 + n % 2}\n"
                 for n in range(BARS)]  # fmt: skip
        (folder / f"{owner}.csv").write_text("symbol,timeframe,time,open,high,low,close\n" + "".join(lines))

    def work(self, kb: Keepbook, owner: str, folder: Path, tell: Tell) -> None:
        tell(kb.market.load(folder / f"{owner}.csv").added)

    def after(self, kb: Keepbook, owner: str, folder: Path, told: list[Any]) -> None:
        there = len(kb.market.recent(owner.upper(), timeframe="1m", limit=BARS + 1))
        assert told in ([], [BARS])
        assert there == BARS if told else there <= BARS
        assert kb.market.load(folder / f"{owner}.csv").added == BARS - there
        closes = [one.close for one in kb.market.recent(owner.upper(), timeframe="1m", limit=BARS + 1)]
        assert closes == [1 + n % 2 for n in range(BARS)]


class Backup(Work):
    def work(self, kb: Keepbook, owner: str, folder: Path, tell: Tell) -> None:
        target = folder / f"{owner}.copy"
        draft = target.with_suffix(".draft")
        back_up(kb.settings.db, draft)
        draft.replace(target)
        tell("copied")

    def after(self, kb: Keepbook, owner: str, folder: Path, told: list[Any]) -> None:
        target = folder / f"{owner}.copy"
        assert target.exists() or not told
        target.with_suffix(".draft").unlink(missing_ok=True)
        if target.exists():
            proved = {one.owner: one.ok for one in prove(kb.settings.db, target)}
            assert proved[owner]
            assert all(proved.values())
            target.unlink()


WORKS: dict[str, Work] = {
    "remember": Remember(), "close": Close(), "import": Import(), "erase": Erase(), "purge": Purge(), "run": Run(),
    "bars": Load(), "backup": Backup(),
}  # fmt: skip


def rows(kb: Keepbook, owner: str) -> dict[str, int]:
    with kb._database.read(owner) as tx:
        counting = {one.name: text(f"SELECT count(*) FROM {one.name} WHERE owner = :owner") for one in OWNED}
        return {name: tx.conn.execute(query, {"owner": owner}).scalar_one() for name, query in counting.items()}


# --- killing


class Nursery:
    """The program below: it forks workers; each dies by our hand, or is done before."""

    def __init__(self) -> None:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
        self._process = subprocess.Popen([sys.executable, __file__], start_new_session=True, env=environment, **pipes)

    def __enter__(self) -> "Nursery":
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()

    def killed(
        self, url: str, kind: str, owner: str, folder: Path, moment: float, *, inherits: bool
    ) -> tuple[list[Any], bool]:
        """What a worker was told before it was killed at this moment of its work, and whether it was done by then."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write((json.dumps([url, kind, owner, str(folder), inherits]) + "\n").encode())
        self._process.stdin.flush()
        told: list[Any] = []
        done = False
        for line in iter(self._process.stdout.readline, b""):
            heard = json.loads(line)
            if "begins" in heard:
                self._kill(heard["begins"], moment)
            elif "told" in heard:
                told.append(heard["told"])
            elif "done" in heard:
                done = True
            elif "failed" in heard:
                raise AssertionError(f"{kind} failed by itself: {heard['failed']}")
            elif "dead" in heard:
                return told, done
        raise AssertionError("the workers' program ended by itself")

    def _kill(self, pid: int, moment: float) -> None:
        time.sleep(moment)
        with contextlib.suppress(ProcessLookupError):  # done, and buried
            os.killpg(pid, signal.SIGKILL)  # with the program that it may have started


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(program('pg_dump')).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def new_book(engine_name: str, request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Any]:
    """Where another new book may be opened, for as long as it is used."""

    @contextlib.contextmanager
    def file() -> Iterator[str]:
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            yield str(Path(folder) / "book.db")

    return file if engine_name == "sqlite" else request.getfixturevalue("postgres_pool").database


@pytest.mark.process
@pytest.mark.usefixtures("programs")
@pytest.mark.parametrize("begin", range(0, KILLS, BOOKFUL))
def test_whatever_is_killed_nothing_acknowledged_is_lost_and_nothing_doubled(
    new_book: Callable[[], Any], tmp_path: Path, begin: int
) -> None:
    """A bookful of kills is a test by itself: several run at once, and each says how it went."""
    draw, done, told_in_all = random.Random(f"faults {KILLS} {begin}"), Counter[str](), 0
    numbers, began = range(begin, min(begin + BOOKFUL, KILLS)), time.monotonic()
    with Nursery() as raised, new_book() as url, opened(url) as kb:
        for nth in numbers:
            kind = list(WORKS)[nth % len(WORKS)]
            told, finished = one_kill(kb, raised, kind, nth, tmp_path / str(nth), 10 ** draw.uniform(*MOMENTS))
            done[f"{kind} {'done' if finished else 'killed'}"] += 1
            told_in_all += told
        assert all(kb.book(f"owner{nth}").verify().ok for nth in numbers)
        forked = sum(nth // len(WORKS) % 2 for nth in numbers)
        assert kb.book(PARENT).list(limit=1).total == 2 * forked
        assert kb.book(PARENT).verify().ok
        assert kb.market.verify().ok
    sys.stdout.write(
        f"{len(numbers)} kills, {forked} of them of forks, {told_in_all} acknowledged, none lost, none doubled, in "
        f"{time.monotonic() - began:.0f} s: {', '.join(f'{kind} {times}' for kind, times in sorted(done.items()))}\n"
    )


def one_kill(kb: Keepbook, raised: Nursery, kind: str, nth: int, folder: Path, moment: float) -> tuple[int, bool]:
    owner, work = f"owner{nth}", WORKS[kind]
    folder.mkdir()
    work.before(kb, owner, folder)
    inherits = nth // len(WORKS) % 2 == 1
    told, finished = raised.killed(kb.settings.db, kind, owner, folder, moment, inherits=inherits)
    end_what_hides_it(kb, owner)
    assert kb.book(owner).verify().ok, (nth, kind)
    work.after(kb, owner, folder, told)
    assert kb.book(owner).verify().ok, (nth, kind)
    shutil.rmtree(folder)
    return len(told), finished


def end_what_hides_it(kb: Keepbook, owner: str) -> None:
    """An erasure that was killed hides the book until a sweep has gone on with it."""
    with contextlib.suppress(Conflict):
        kb.book(owner).list(limit=1)
        return
    for _ in range(100):
        time.sleep(0.1)
        if "erase" in kb.sweep().done:
            return
    raise AssertionError(f"{owner} stays hidden")


# --- as a program


def raise_workers() -> None:
    """Fork a worker for each line read, and say when it is dead."""
    book = OpenForWorkers()
    for line in sys.stdin:
        url, kind, owner, folder, inherits = json.loads(line)
        kb = book.of(url) if inherits else None
        pid = os.fork()
        if pid == 0:
            labour(kb or opened(url), kind, owner, Path(folder))
            os._exit(0)
        os.waitpid(pid, 0)
        if inherits:
            book.of(url)
        say(dead=pid)


class OpenForWorkers:
    """The book that the parent of workers has open, one at a time."""

    def __init__(self) -> None:
        self._kb: Keepbook | None = None

    def of(self, url: str) -> Keepbook:
        if self._kb is None or self._kb.settings.db != url:
            if self._kb is not None:
                self._kb.close()
            self._kb = opened(url)
        self._kb.book(PARENT).remember(f"Here I am {time.monotonic_ns()}", force=True)
        return self._kb


def labour(kb: Keepbook, kind: str, owner: str, folder: Path) -> None:
    os.setpgid(0, 0)
    hidden_book.HIDDEN_FOR = timedelta(seconds=1)  # nobody else is at it whom a sweep would have to wait for
    with kb:
        kb.owners()  # the connection stands
        say(begins=os.getpid())
        try:
            WORKS[kind].work(kb, owner, folder, lambda what: say(told=what))
        except Exception as error:  # noqa: BLE001 told to the test, which fails by it
            say(failed=repr(error))
        say(done=True)


def say(**what: Any) -> None:
    os.write(1, (json.dumps(what) + "\n").encode())  # one write: lines never mix


if __name__ == "__main__":
    raise_workers()
