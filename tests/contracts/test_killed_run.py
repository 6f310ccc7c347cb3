"""A run whose program is killed (-9) keeps the next one waiting for a moment, and the next one says until when."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.models.wire import HANG, Say, Wire

from keepbook import Keepbook
from keepbook.doors.http.app import create_app

RUN = [sys.executable, "-m", "keepbook", "agent", "run", "Desk"]
MOST = timedelta(seconds=30)


def until(holds: Callable[[], Any], seconds: float = 60.0) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := holds():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come to that")


@pytest.fixture
def place(book_url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("KEEPBOOK_DB", book_url)
    monkeypatch.setenv("KEEPBOOK_OWNER", "alice")
    return book_url


def test_after_kill_9_the_next_run_says_until_when_it_waits_and_begins(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Wire("openai") as wire, Keepbook(place, embedder="none") as kb:
        wire.script += [HANG]
        for name, value in (("MODEL", "openai:stand-in"), ("OPENAI_BASE_URL", wire.url), ("OPENAI_KEY", "k")):
            monkeypatch.setenv(f"KEEPBOOK_{name}", value)
        book = kb.book("alice")
        book.agents.create("Desk", memory_enabled=True, default_prompt="What now?")
        with subprocess.Popen(RUN, env=os.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
            until(lambda: wire.received)
            first.send_signal(signal.SIGKILL)
            first.wait()
        killed = datetime.now(UTC)
        wire.answer = lambda _: Say("Nothing today.")
        with subprocess.Popen(RUN, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as second:
            queued = until(lambda: [one for one in book.runs.list("Desk") if one.status == "queued"])
            assert killed < queued[0].waits_until <= killed + MOST
            client = TestClient(create_app(kb), base_url="http://127.0.0.1", client=("127.0.0.1", 1))
            told = client.get(f"/api/runs/{queued[0].id}").json()
            assert told["waits_until"] is not None
            assert "waits for its turn, until" in " ".join(client.get(f"/runs/{queued[0].id}").text.split())
            out, err = second.communicate(timeout=60)
        assert "Desk is at work; this run waits, until" in err
        assert second.returncode == 0, out + err
        done = book.runs.get(queued[0].id)
        assert (done.status, done.waits_until) == ("succeeded", None)
        assert done.started_at is not None
        assert done.started_at - killed < MOST
