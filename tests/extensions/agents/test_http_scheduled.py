"""Agents by the clock in a running server: it runs them itself, and what is under way when it ends says so."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from keepbook import Keepbook
from keepbook.doors.http.app import create_app
from keepbook.settings import Settings

pytestmark = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)


@pytest.fixture
def kb(book_url: str, clock: Any, tmp_path: Path) -> Iterator[Keepbook]:
    sleeper = tmp_path / "sleeper.py"
    sleeper.write_text("import time; time.sleep(60)")
    settings = Settings(
        jobs_every=0.05,
        embedder="none",
        agent_command=f"python3 {sleeper}",
        agent_programs=("python3",),
        agent_folder=tmp_path,
    )
    with Keepbook(book_url, clock=clock, settings=settings) as opened:
        yield opened


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.02)


def test_a_server_runs_an_agent_when_its_hour_has_come(kb: Keepbook, clock: Any) -> None:
    alice = kb.book("alice")
    alice.agents.create("Desk", schedule="0 10 * * *", default_prompt="Go.", card_type="drift-trade")
    with TestClient(create_app(kb)):
        time.sleep(0.3)
        assert alice.runs.list() == []
        clock.set("2026-03-01T10:00:01Z")
        until(lambda: [run.status for run in alice.runs.list()] == ["succeeded"])
    (run,) = alice.runs.list()
    assert (run.kind, run.prompt) == ("scheduled", "Go.")


def test_a_run_under_way_ends_with_the_server_and_says_so(kb: Keepbook) -> None:
    alice = kb.book("alice")
    desk = alice.agents.create("Desk", adapter="claude-cli", memory_enabled=True)
    token = kb.tokens.create("alice", scopes=("read", "write", "admin")).token
    headers = {"Authorization": f"Bearer {token}"}
    with TestClient(create_app(kb), base_url="http://127.0.0.1", headers=headers) as client:
        begun = client.post(f"/api/agents/{desk.id}/runs?wait=0.1", json={"prompt": "Go."}).json()
        assert begun["status"] in ("queued", "running")
        until(lambda: alice.runs.get(begun["id"]).status == "running")
    run = alice.runs.get(begun["id"])
    assert (run.status, run.error) == ("failed", "it was stopped before it was done")
    assert alice.agents.get("Desk").memory.status == "fresh"
