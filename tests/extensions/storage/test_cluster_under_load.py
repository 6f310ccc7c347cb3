"""A cluster while everybody writes: parts move between its workers, its workers die and come back.

Whoever was told "written" finds it again, every chain holds, and the guards are still there. The cluster must lie on
this machine (`citus-up`): its workers are stopped as a power cut would stop them.
"""

import io
import json
import os
import pwd
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.databases import nodes

from keepbook import Keepbook, KeepbookError
from keepbook.storage.schema_check import differences

pytestmark = pytest.mark.process
OWNERS = [f"writer-{number}" for number in range(3)]


class Writers:
    """One for each owner, each writing until told to stop; `acknowledged` is what they were told is written."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.acknowledged: dict[str, list[str]] = {owner: [] for owner in OWNERS}
        self.refused = 0
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._write, args=(owner,)) for owner in OWNERS]

    def _write(self, owner: str) -> None:
        with closing(Keepbook(self._url, embedder="none")) as kb:
            number = 0
            while not self._stop.is_set():
                number += 1
                told = f"Number {number} that {owner} said was {number * 7919}"
                try:
                    kb.book(owner).remember(told, force=True)
                except KeepbookError:
                    self.refused += 1
                else:
                    self.acknowledged[owner].append(told)

    def reached(self, more: int) -> None:
        """Wait until each has written so many more."""
        goal = {owner: len(written) + more for owner, written in self.acknowledged.items()}
        deadline = time.monotonic() + 300
        while any(len(self.acknowledged[owner]) < goal[owner] for owner in OWNERS):
            assert time.monotonic() < deadline, "the writers do not get on"
            time.sleep(0.05)

    @contextmanager
    def writing(self) -> Iterator["Writers"]:
        for thread in self._threads:
            thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            for thread in self._threads:
                thread.join()


def nothing_is_lost(url: str, writers: Writers) -> None:
    with closing(Keepbook(url, embedder="none")) as kb:
        for owner in OWNERS:
            book = kb.book(owner)
            book.export(told := io.StringIO())
            assert [text for text in writers.acknowledged[owner] if json.dumps(text) not in told.getvalue()] == []
            assert book.verify().ok
    assert differences(url) == []


def placements(url: str) -> list[tuple[int, str, int]]:
    """Of each group of parts one that leads the others, and the worker on which they lie."""
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT s.shardid, p.nodename, p.nodeport FROM pg_dist_shard s JOIN pg_dist_shard_placement p "
            "USING (shardid) WHERE s.logicalrelid = 'ledger'::regclass ORDER BY s.shardid"
        ).fetchall()


def test_parts_move_while_everybody_writes(book_url: str) -> None:
    workers = {(node, port) for _, node, port in placements(book_url)}
    assert len(workers) == 2
    with Writers(book_url).writing() as writers, psycopg.connect(book_url, autocommit=True) as admin:
        writers.reached(3)
        for shard, host, port in placements(book_url):
            ((to, at),) = workers - {(host, port)}
            # Writers of that part wait for it. A move by replication is refused where row-level security is forced.
            move = "SELECT citus_move_shard_placement(%s, %s, %s, %s, %s, 'block_writes')"
            admin.execute(move, [shard, host, port, to, at])
            writers.reached(1)
        writers.reached(3)
    nothing_is_lost(book_url, writers)


class Node:
    """A worker's own PostgreSQL, as the machine sees it."""

    def __init__(self, url: str) -> None:
        with psycopg.connect(url) as connection:
            self.folder = Path(self._asked(connection, "SHOW data_directory"))
            programs = self._asked(connection, "SELECT setting FROM pg_config() WHERE name = 'BINDIR'")
        self._program = Path(programs, "pg_ctl")
        assert self.folder.is_dir(), "these workers are not on this machine"

    @staticmethod
    def _asked(connection: "psycopg.Connection[Any]", question: str) -> str:
        return str(connection.execute(question.encode()).fetchall()[0][0])

    def stop_as_a_power_cut_would(self) -> None:
        leader = int((self.folder / "postmaster.pid").read_text().splitlines()[0])
        os.kill(leader, signal.SIGQUIT)
        while Path("/proc", str(leader)).exists():
            time.sleep(0.02)

    def start(self) -> None:
        owner = self.folder.stat()
        log = f"{self.folder}.log"
        words = [str(self._program), "-D", str(self.folder), "-l", log, "-w", "-t", "120", "start"]
        # With nothing of ours: it outlives the test, and would look for certificates in a home that is gone.
        home = {"HOME": pwd.getpwuid(owner.st_uid).pw_dir, "PATH": os.defpath, "LANG": "C.UTF-8"}
        subprocess.run(
            words, user=owner.st_uid, group=owner.st_gid, env=home, cwd="/", check=True, stdout=subprocess.DEVNULL
        )


def test_both_workers_die_while_everybody_writes(book_url: str) -> None:
    workers = [Node(url) for url in nodes(book_url)[1:]]
    assert len(workers) == 2
    with Writers(book_url).writing() as writers:
        for worker in (*workers, *workers):
            writers.reached(2)
            worker.stop_as_a_power_cut_would()
            worker.start()
        for worker in workers:
            worker.stop_as_a_power_cut_would()
        for worker in workers:
            worker.start()
        writers.reached(2)
    assert writers.refused, "nobody noticed that a worker was gone"
    nothing_is_lost(book_url, writers)
