"""Programs that end: told to by a signal, at the end of their input, or because a script is over.

Each ends with the code it should, with no thread of its own alive, and with the write-ahead log emptied into the file:
whoever copies the file then has the whole book.
"""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.warm_python import program

from keepbook import Keepbook

pytestmark = pytest.mark.process

ENDS = 300.0
WATCHED = """
import atexit, sys, threading

def tell():
    print("alive:", sorted(each.name for each in threading.enumerate() if each is not threading.main_thread()),
          file=sys.stderr)

atexit.register(tell)  # the first to be registered is the last to be heard
"""
COMMAND = str(Path(__file__).with_name("watched.py"))
NOBODY = "alive: []"


@contextmanager
def started(*line: str, **more: Any) -> Iterator[subprocess.Popen[str]]:
    """A program that is gone when the block ends, however."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, *line], text=True, **pipes, **more) as running:
        try:
            yield running
        finally:
            running.kill()


def left_beside(book: Path) -> list[str]:
    """What a book that nobody has open has beside it."""
    return sorted(each.name for each in book.parent.iterdir() if each.name.startswith(f"{book.name}-"))


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A file with something in it."""
    place = tmp_path / "book.db"
    with Keepbook(place, embedder="none") as kb:
        kb.book(kb.settings.owner).remember("Plays the cello")
    return place


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_told_to_stop_ends_well(book: Path, told: signal.Signals) -> None:
    with started(COMMAND, "serve", "--db", str(book), "--port", "0", "--no-open", "--json") as server:
        assert server.stdout is not None
        address = json.loads(server.stdout.readline())["address"]
        wanted = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{address}/api/memory/", b'{"content": "Lives in Oslo"}', wanted)
        with urllib.request.urlopen(request) as answer:
            assert answer.status == 201
        server.send_signal(told)
        _, said = server.communicate(timeout=ENDS)
    assert (server.returncode, said.strip()) == (0, NOBODY)
    assert left_beside(book) == []


def test_the_demo_opens_and_ends_well_on_a_signal(tmp_path: Path) -> None:
    at_home = {**os.environ, "HOME": str(tmp_path), "KEEPBOOK_DB": str(tmp_path / "mine.db")}
    with started(COMMAND, "demo", "--port", "0", "--json", "--no-open", env=at_home) as demo:
        assert demo.stdout is not None
        address = json.loads(demo.stdout.readline())["address"]
        with urllib.request.urlopen(f"{address}/api/me") as answer:
            assert json.load(answer)["owner"] == "Ines Varga"
        demo.send_signal(signal.SIGTERM)
        _, said = demo.communicate(timeout=ENDS)
    assert (demo.returncode, said.splitlines()[-1]) == (0, NOBODY)
    assert not (tmp_path / "mine.db").exists()


@pytest.mark.parametrize("told", [signal.SIGTERM, None])
def test_a_chat_that_is_told_to_stop_or_is_over_ends_well(book: Path, told: signal.Signals | None) -> None:
    with started(COMMAND, "chat", "--db", str(book), "--json") as chat:
        assert chat.stdin is not None
        assert chat.stdout is not None
        chat.stdin.write("From now on call me Kim.\n")
        chat.stdin.flush()
        assert any(json.loads(line)["type"] == "reply" for line in iter(chat.stdout.readline, ""))
        if told is not None:
            chat.send_signal(told)
        _, said = chat.communicate(timeout=ENDS)
    assert (chat.returncode, said.strip()) == (128 + told if told else 0, NOBODY)
    assert left_beside(book) == []
    with Keepbook(book, embedder="none") as kb:
        assert len(kb.book(kb.settings.owner).threads.list()) == 1
        assert kb.book(kb.settings.owner).verify().ok


TOLD_AFTER_THE_REPLY = (
    WATCHED
    + """
import asyncio, os, signal
from keepbook.doors.cli import main
from keepbook.doors.cli.commands import chat

show = chat.Sitting._show

async def told(self, *given):
    await show(self, *given)
    asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGTERM)

chat.Sitting._show = told
sys.exit(main(sys.argv[1:]))
"""
)


def test_a_chat_that_is_told_to_stop_as_its_reply_ends_has_nothing_to_report(book: Path) -> None:
    """The loop is asked to stop by the reply that is over while it is being closed, and asyncio complains of that."""
    with started(*program(TOLD_AFTER_THE_REPLY)[1:], "chat", "--db", str(book), "--json") as chat:
        _, said = chat.communicate("From now on call me Kim.\n", timeout=ENDS)
    assert (chat.returncode, said.strip()) == (128 + signal.SIGTERM, NOBODY)
    assert left_beside(book) == []


def test_jobs_that_are_told_to_stop_end_well(book: Path) -> None:
    with started(COMMAND, "jobs", "--db", str(book), "--every", "3600", "--json") as jobs:
        assert jobs.stdout is not None
        json.loads(jobs.stdout.readline())
        jobs.send_signal(signal.SIGTERM)
        _, said = jobs.communicate(timeout=ENDS)
    assert (jobs.returncode, said.strip()) == (0, NOBODY)
    assert left_beside(book) == []


SCRIPT = (
    WATCHED
    + """
from keepbook import Keepbook
from keepbook.book.recall import background

background.QUIET = 0.0  # vectors are made while the script ends
kb = Keepbook(sys.argv[1])
alice = kb.book("alice")
for number in range(150):
    alice.remember(f"Thing number {number} of many that wait for their vectors", force=True)
chat = alice.thread("one")
chat.add("user", "I moved to Oslo last month. I only buy index funds.")
chat.add("assistant", "Noted.")
print(chat.close().status)
chat.circle = chat, kb  # nobody frees what points at itself, and nobody closes the book
"""
)


def test_a_script_that_just_ends_ends_well(book: Path) -> None:
    """With the embedder installed its thread is in the middle of it; that was an abort (134) in four of five runs."""
    with started(*program(SCRIPT, str(book))[1:]) as script:
        out, said = script.communicate(timeout=ENDS)
    assert (script.returncode, out.strip(), said.strip()) == (0, "closed", NOBODY)
    assert left_beside(book) == []
    with Keepbook(book, embedder="none") as kb:
        assert kb.book("alice").list(limit=1).total > 150
        assert kb.book("alice").verify().ok
