"""`keepbook serve` as a process: it answers, finishes under SIGTERM, loses nothing under SIGKILL, runs jobs once."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from keepbook import Keepbook
from keepbook.doors.http.gate import WRONG_A_MINUTE

pytestmark = pytest.mark.both_engines  # several processes on one database
START_SECONDS = 60.0


@contextmanager
def serving(db: str, *more: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server on a free port; it is gone when the block ends, however."""
    command = [sys.executable, "-m", "keepbook", "--db", db, "--json", "serve", "--port", "0", "--no-open", *more]
    server = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        assert line, server.stderr.read() if server.stderr else ""
        yield server, json.loads(line)["address"]
    finally:
        server.kill()
        server.wait()
        for stream in (server.stdout, server.stderr):
            if stream is not None:
                stream.close()


def test_asked_to_stop_it_finishes_what_it_has(book_url: str) -> None:
    with Keepbook(book_url) as kb, serving(book_url) as (server, address):
        acknowledged: list[str] = []
        under_way = threading.Event()

        def write() -> None:
            with httpx.Client(base_url=address, timeout=START_SECONDS) as client:
                for number in range(10_000):
                    try:
                        answered = client.post("/api/memory/", json={"content": f"Fact number {number}"})
                    except httpx.TransportError:
                        return
                    if answered.status_code != 201:
                        return
                    acknowledged.append(answered.json()["id"])
                    if number == 5:
                        under_way.set()

        writer = threading.Thread(target=write)
        writer.start()
        streaming = {"Accept": "text/event-stream"}
        with httpx.stream("GET", f"{address}/api/events", headers=streaming, timeout=START_SECONDS) as feed:
            assert under_way.wait(START_SECONDS)
            assert next(feed.iter_lines()).startswith("id: ")
            server.send_signal(signal.SIGTERM)
            assert server.wait(START_SECONDS) == 0, "an endless stream held it up"
        writer.join(START_SECONDS)
        kept = {entry.memory_id for entry in kb.book(kb.settings.owner).ledger(limit=None)}  # however many they were
        assert set(acknowledged) <= kept


def test_killed_it_loses_nothing_acknowledged_and_keys_keep_writes_single(book_url: str) -> None:
    acknowledged: dict[str, str] = {}
    for life in range(3):
        with serving(book_url) as (server, address), httpx.Client(base_url=address, timeout=START_SECONDS) as client:
            begun = threading.Event()
            killer = threading.Thread(target=lambda: begun.wait(START_SECONDS) and server.kill())  # noqa: B023
            killer.start()
            for number in range(10_000):
                key = f"{life}-{number}"
                said = {"content": f"Fact {key} of this test", "force": True}
                try:
                    answered = client.post("/api/memory/", json=said, headers={"Idempotency-Key": key})
                except httpx.TransportError:
                    break
                acknowledged[key] = answered.json()["id"]
                if number == 10:
                    begun.set()
            killer.join()
    assert acknowledged
    with serving(book_url) as (_, address), httpx.Client(base_url=address, timeout=START_SECONDS) as client:
        for key, id in list(acknowledged.items())[-20:]:
            said = {"content": f"Fact {key} of this test", "force": True}
            again = client.post("/api/memory/", json=said, headers={"Idempotency-Key": key})
            assert again.json()["id"] == id, "a request sent again was written again"
        assert client.get("/api/memory/verify").json()["ok"] is True
    with Keepbook(book_url) as kb:
        kept = {memory.id for memory in kb.book(kb.settings.owner).list(limit=1000)}
        assert set(acknowledged.values()) <= kept
        assert len(kept) <= len(acknowledged) + 3, "at most one write a life was under way"


def test_several_workers_serve_one_book_and_count_together(book_url: str) -> None:
    apart, began = httpx.Limits(max_keepalive_connections=0), time.monotonic()
    with serving(book_url, KEEPBOOK_WORKERS="2", KEEPBOOK_RATE_PER_MINUTE="600") as (server, address):
        with httpx.Client(base_url=address, timeout=START_SECONDS, limits=apart) as client:
            made = [client.post("/api/memory/", json={"content": f"Fact {number}"}) for number in range(8)]
            assert [one.status_code for one in made] == [201] * 8
            left = int(made[-1].headers["RateLimit"].split(";")[1].removeprefix("r="))
            assert 592 <= left <= 592 + (time.monotonic() - began) * 10, "whichever worker they met"
            assert client.get("/api/memory/").json()["total"] == 8
            told = [client.get("/metrics").text for _ in range(6)]
            assert all('keepbook_writes_total{action="remember"} 8.0' in each for each in told), told
        wrong = {"Authorization": "Bearer kb_wrong"}
        began = time.monotonic()
        with httpx.Client(base_url=address, timeout=START_SECONDS, headers=wrong, limits=apart) as client:
            answered = sum(client.get("/api/me").status_code == 401 for _ in range(40))
        refilled = (time.monotonic() - began) * WRONG_A_MINUTE / 60
        assert WRONG_A_MINUTE <= answered <= WRONG_A_MINUTE + refilled, "whichever worker they met"
        server.send_signal(signal.SIGTERM)
        assert server.wait(START_SECONDS) == 0
        assert not Path(f"{book_url}-wal").exists(), "the log of a file is emptied into it"


def test_jobs_run_in_the_server_and_two_servers_run_them_once(book_url: str) -> None:
    with Keepbook(book_url) as kb:
        chat = kb.book(kb.settings.owner).thread("left behind")
        chat.add("user", "I work as a nurse in Bergen.", at="2026-01-01T00:00:00Z")
        quick = {"KEEPBOOK_JOBS_EVERY": "0.2"}
        with serving(book_url, **quick) as (_, first), serving(book_url, **quick) as (_, second):
            for address in (first, second):
                assert httpx.get(f"{address}/health", timeout=START_SECONDS).status_code == 200
            waiting = threading.Event()
            for _ in range(300):
                if chat.thread.state == "idle":
                    break
                waiting.wait(0.1)
        assert chat.thread.state == "idle"
        assert [memory.content for memory in kb.book(kb.settings.owner).list()] == ["I work as a nurse in Bergen"]


def refusal(*arguments: str) -> str:
    command = [sys.executable, "-m", "keepbook", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=START_SECONDS, check=False)
    assert done.returncode == 1, done.stdout
    return done.stderr


def test_a_public_address_without_tokens_is_refused_in_one_line(tmp_path: Any) -> None:
    said = refusal("--db", str(tmp_path / "b.db"), "serve", "--host", "0.0.0.0", "--port", "0", "--no-open")
    assert "keepbook token create" in said
    assert len(said.splitlines()) == 1


def test_a_port_in_use_is_told_in_one_line(tmp_path: Any) -> None:
    with serving(str(tmp_path / "a.db")) as (_, address):
        port = address.rsplit(":", 1)[1]
        said = refusal("--db", str(tmp_path / "b.db"), "serve", "--port", port, "--no-open")
    assert "choose another --port" in said
    assert len(said.splitlines()) == 1
