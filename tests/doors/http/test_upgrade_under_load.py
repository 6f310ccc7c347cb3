"""Upgrades while servers of the version before run: one that expands stops nobody, one that contracts waits for them.

The newer program is this one with two revisions more, made for this test in a copy of the storage.
"""

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.doors.http.test_serving import START_SECONDS, serving

import keepbook
from keepbook import Conflict, Keepbook

pytestmark = [pytest.mark.process, pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)]
EXPANDS = "ALTER TABLE memories ADD COLUMN tried text;\nCREATE TABLE tried (id text PRIMARY KEY);\n"
CONTRACTS = "DROP TABLE tried;\nALTER TABLE memories DROP COLUMN tried;\n"


def newer_program(folder: Path, **revisions: str) -> Path:
    """This program with these revisions more: what each asks of older servers, and its SQL."""
    package, ours = folder / "keepbook", Path(keepbook.__file__).parent
    package.mkdir(parents=True)
    for each in ours.iterdir():
        if each.name not in ("storage", "__pycache__"):
            (package / each.name).symlink_to(each)
    shutil.copytree(ours / "storage", package / "storage")
    rules = package / "storage" / "schema.py"
    words, versions = rules.read_text(), package / "storage" / "migrations" / "versions"
    before = "0001"
    for nth, (needs, sql) in enumerate(revisions.items(), 2):
        number = f"{nth:04}"
        words = words.replace(f'"{before}",)', f'"{before}", "{number}",)', 1)
        words = words.replace("NEEDS = {", f'NEEDS = {{"{number}": "{needs}", ', 1)
        for engine in ("sqlite", "postgresql"):
            (versions / f"{number}_{engine}.sql").write_text(sql)
        (versions / f"{number}_tried.py").write_text(
            "from keepbook.storage.migrations import run_frozen\n"
            "from keepbook.storage.schema import schema_mark\n"
            f'revision, down_revision = schema_mark("{number}"), schema_mark("{before}")\n'
            f'def upgrade() -> None:\n    run_frozen("{number}")\n'
        )
        before = number
    rules.write_text(words)
    return folder


def upgrade_with(program: Path, book_url: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONPATH": str(program), "KEEPBOOK_DB": book_url}
    command = [sys.executable, "-m", "keepbook", "db", "upgrade"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


class Load(threading.Thread):
    """Writes and reads, one after the other, until it is stopped."""

    def __init__(self, address: str, token: str | None = None) -> None:
        super().__init__(daemon=True)
        self.address, self.stopping = address, threading.Event()
        self.said = {"Authorization": f"Bearer {token}"} if token else {}
        self.kept: list[str] = []
        self.failed: list[Any] = []

    def run(self) -> None:
        with httpx.Client(base_url=self.address, timeout=START_SECONDS, headers=self.said) as client:
            while not self.stopping.is_set():
                said = {"content": f"Fact {len(self.kept)} of {self.name}", "force": True}
                written, read = client.post("/api/memory/", json=said), client.get("/api/memory/?limit=3")
                if written.status_code == 201:
                    self.kept.append(written.json()["id"])
                wrong = [one for one in (written, read) if one.status_code not in (200, 201)]
                self.failed += [(one.status_code, one.text) for one in wrong]


def test_one_that_expands_stops_nobody_and_one_that_contracts_waits(book_url: str, tmp_path: Path) -> None:
    Keepbook(book_url).close()
    expanding = newer_program(tmp_path / "two", expands=EXPANDS)
    contracting = newer_program(tmp_path / "three", expands=EXPANDS, contracts=CONTRACTS)
    with serving(book_url) as (server, address):
        loads = [Load(address) for _ in range(3)]
        for each in loads:
            each.start()
        done = upgrade_with(expanding, book_url)
        assert done.returncode == 0, done.stderr
        after = [len(each.kept) for each in loads]
        while any(len(each.kept) < count + 5 for each, count in zip(loads, after, strict=True)):
            assert all(each.is_alive() for each in loads)
            threading.Event().wait(0.05)
        for each in loads:
            each.stopping.set()
            each.join(START_SECONDS)
        assert [each.failed for each in loads] == [[], [], []]
        with Keepbook(book_url) as kb:  # and whoever begins anew on the version before
            kept = {memory.id for memory in kb.book(kb.settings.owner).list(limit=1000)}
            assert {id for each in loads for id in each.kept} == kept
            assert kb.book(kb.settings.owner).verify().ok

        refused = upgrade_with(contracting, book_url)
        assert refused.returncode == 1
        assert "one of them was alive within five minutes; stop them first" in refused.stderr
        server.terminate()
        server.wait(START_SECONDS)
    with Keepbook(book_url) as kb:
        done = upgrade_with(contracting, book_url)
        assert done.returncode == 0, done.stderr
        for _ in range(2):
            with pytest.raises(Conflict, match="no longer serves this program"):
                kb.servers.note("one that runs on")
    with pytest.raises(Conflict, match="update keepbook") as unknown:
        Keepbook(book_url)
    assert unknown.value.code == "newer_schema"
