"""`keepbook bench http`: what a request costs compared with an empty route of the same framework.

Both servers run in processes of their own and are asked in turns, each over one open connection by a plain client, so a
busy machine slows both alike. The API is asked with a service token for a thousand owners in turn, so that no answer
comes from a cache of the last one. Pages are measured in the same way, of a book with a thousand memories. On Linux,
which shows the CPU time of other processes, the CPU of a request is given too, as a multiple of the empty route's, the
median of five: it does not depend on how busy the machine is.
"""

import itertools
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from keepbook.app import Keepbook
from keepbook.errors import NotAllowed
from keepbook.models.embedders import choose_embedder
from keepbook.storage.tables import shipped_tables

OWNERS = 1000
MEMORIES = 120
"""How many memories each of the OWNERS has, for whom the API is asked in turn."""
LARGE = 1000
"""How many memories are in the book whose pages are measured."""
ROUNDS = 200  # requests of each kind
TRIES = 5  # groups of requests; the median counts
TURNS = 200  # of the open chat
QUESTION = "what+does+she+like+in+Oslo"
MEANT = "auto"
"""The embedder for recall by meaning."""
PAGES = ("/chat", "/chat/{chat}", "/profile/facts", "/memory/{id}", "/journal", "/time", "/settings")

Requests = dict[str, Callable[[], tuple[str, str, dict[str, str] | None]]]
"""A function for each figure, by its name, that returns the method, path and body of the next request."""


@dataclass(frozen=True, slots=True)
class RequestRate:
    """The rate of one kind of request and of the empty route, in requests a second over one connection."""

    name: str
    per_second: float
    empty_per_second: float
    ms: float
    cpu: float | None = None
    """Its CPU time, as a multiple of the empty route's."""

    @property
    def ratio(self) -> float:
        return self.per_second / self.empty_per_second


def main(as_json: bool = False, rounds: int = ROUNDS) -> bool:
    """Print each figure. Returns whether all could be measured."""
    figures = []
    for found in measure(rounds):
        figures.append(found)
        if not as_json:
            cpu = "" if found.cpu is None else f"  CPU of {found.cpu:5.2f} empty routes"
            rate = f"{found.per_second:7.0f} /s  {found.ratio:5.2f} of the empty route's {found.empty_per_second:4.0f}"
            print(f"{rate}{cpu}  {found.name}", flush=True)
    if as_json:
        print(json.dumps([asdict(found) | {"ratio": round(found.ratio, 4)} for found in figures], indent=2))
    return True


def measure(rounds: int) -> Iterator[RequestRate]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        bare = stack.enter_context(_server(["-m", "keepbook.bench.empty"]))
        yield from _of_the_api(str(folder / "many.db"), bare, rounds)
        if choose_embedder(MEANT) is not None:
            yield from _of_meaning(str(folder / "meant.db"), bare, rounds)
        yield from _of_pages(str(folder / "one.db"), bare, rounds)


def _of_the_api(db: str, bare: "RunningServer", rounds: int) -> Iterator[RequestRate]:
    numbered = iter(range(10**9))
    requests: Requests = {
        "block": lambda: ("GET", "/api/memory/block", None),
        "list of 100": lambda: ("GET", "/api/memory/", None),
        "recall by words": lambda: ("GET", f"/api/memory/recall?q={QUESTION}", None),
        "remember": lambda: ("POST", "/api/memory/", {"content": f"Keeps the number {next(numbered)} in mind"}),
    }
    yield from _for_many(db, bare, requests, rounds)


def _of_meaning(db: str, bare: "RunningServer", rounds: int) -> Iterator[RequestRate]:
    """Recall by words and meaning. A question that any owner has asked before is not embedded again."""
    numbered = iter(range(10**9))
    requests: Requests = {
        "recall, asked before": lambda: ("GET", f"/api/memory/recall?q={QUESTION}", None),
        "recall, a new question": lambda: ("GET", f"/api/memory/recall?q={QUESTION}+{next(numbered)}", None),
    }
    yield from _for_many(db, bare, requests, rounds, embedder=MEANT)


def _for_many(
    db: str, bare: "RunningServer", requests: Requests, rounds: int, embedder: str = "none"
) -> Iterator[RequestRate]:
    """The rate of each request, sent for a thousand owners in turn."""
    with Keepbook(db, embedder="none") as kb:
        first = kb.settings.owner
        token = kb.tokens.create(kind="service", scopes=("read", "write")).token
    _fill(db, range(MEMORIES), embedder)
    everybody = [first, *_copy_book(db, first)]
    _unpack(db, everybody, embedder)
    owners = itertools.cycle(everybody)
    with _server(_serving(db), embedder) as ours:
        if embedder != "none":
            _warm_up_vectors(ours, token, owners)
        for name, make in requests.items():

            def for_the_next(make: Any = make) -> Any:
                return *make(), {"Authorization": f"Bearer {token}", "X-Keepbook-Owner": next(owners)}

            yield _compare_with_bare(name, ours, bare, for_the_next, rounds)


def _warm_up_vectors(server: "RunningServer", token: str, owners: Iterator[str]) -> None:
    """Ask once for every owner, and wait until the server is idle. At the first question of an owner it loads their
    vectors, and looks in the background for missing ones; that should not be measured."""
    for owner in itertools.islice(owners, OWNERS):
        asked = {"Authorization": f"Bearer {token}", "X-Keepbook-Owner": owner}
        _ask(server.connection, "GET", f"/api/memory/recall?q={QUESTION}", None, asked)
    used = None
    while (now := server.cpu()) is not None and (used is None or now - used > 0.01):
        used = now
        time.sleep(1.0)


def _of_pages(db: str, bare: "RunningServer", rounds: int) -> Iterator[RequestRate]:
    id, chat = _fill(db, range(LARGE)), _talk(db)
    rounds = max(10, rounds // 5)
    with _server(_serving(db)) as ours, Keepbook(db, embedder="none") as kb:
        for page in PAGES:
            asked: Any = ("GET", page.format(id=id, chat=chat), None, {})
            yield _compare_with_bare(f"page {page}", ours, bare, lambda asked=asked: asked, rounds)
        book, numbered = kb.book(kb.settings.owner), iter(range(10**9))

        def changed() -> Any:
            """Write from this process, so that what the server has cached for the page is outdated."""
            book.remember(f"Keeps the number {next(numbered)} in mind", force=True)
            return "GET", "/profile/facts", None, {}

        yield _compare_with_bare("page /profile/facts after a write", ours, bare, changed, rounds)


def _serving(db: str) -> list[str]:
    return ["-m", "keepbook", "--db", db, "--json", "serve", "--port", "0", "--no-open"]


def _copy_book(db: str, first: str) -> list[str]:
    """Copy the rows of a book for every other owner. No hash covers the owner's name, so all ledgers are valid."""
    others = [f"owner-{number:04d}" for number in range(1, OWNERS)]
    with closing(sqlite3.connect(db, isolation_level=None)) as conn:
        conn.execute("PRAGMA synchronous = OFF")
        conn.execute("BEGIN IMMEDIATE")
        for (trigger,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            conn.execute(f"DROP TRIGGER {trigger}")  # checked already for the first owner; the file is temporary
        for table in shipped_tables().parents_first:
            if "owner" in table.c and table.name != "tokens":
                names = ", ".join(f'"{column.name}"' for column in table.c if column.name != "owner")
                insert = (
                    f"INSERT INTO {table.name} (owner, {names}) SELECT ?, {names} FROM {table.name} WHERE owner = ?"
                )
                conn.executemany(insert, [(other, first) for other in others])
        conn.execute("COMMIT")
    return others


def _unpack(db: str, owners: Iterable[str], embedder: str) -> None:
    """Write once to every book: after the copy all database pages are full, so the first write to each is slower."""
    with Keepbook(db, embedder=embedder) as kb:
        for owner in owners:
            book = kb.book(owner)
            book.remember("Keeps the first number in mind")
            if embedder != "none":
                book.reindex()


def _fill(db: str, numbers: range, embedder: str = "none") -> str:
    places = ("Oslo", "Bergen", "Lisbon", "Porto", "Turin")
    with Keepbook(db, embedder=embedder) as kb:
        book = kb.book(kb.settings.owner)
        with book.transaction():
            made = [
                book.remember(f"Likes thing number {number} of {places[number % 5]}", force=True).id
                for number in numbers
            ]
        if embedder != "none":
            book.reindex()
    return made[0]


def _talk(db: str) -> str:
    """Make an open chat with `TURNS` turns, all of which closing would read. Returns its id."""
    with Keepbook(db, embedder="none") as kb:
        book = kb.book(kb.settings.owner)
        with book.transaction():
            chat = book.threads.start()
            for number in range(TURNS // 2):
                chat.add("user", f"What about number {number}? I would like to hear more before I decide anything.")
                chat.add("assistant", f"**Number {number}** fits.\n\n- it is cheap\n- it is near\n\nSay if more.")
    return chat.id


@dataclass(frozen=True, slots=True)
class RunningServer:
    """A running server: a connection to it, and its process."""

    connection: HTTPConnection
    pid: int

    def cpu(self) -> float | None:
        """The CPU seconds that it has used so far; None if the system is not Linux."""
        if sys.platform != "linux":
            return None
        return time.clock_gettime((~self.pid << 3) | 2)  # Linux's number for the CPU clock of another process


@contextmanager
def _server(command: list[str], embedder: str = "none") -> Iterator[RunningServer]:
    # No vectors are missing, so none are made while it is measured; and there is no rate limit.
    alone = {**os.environ, "KEEPBOOK_EMBEDDER": embedder, "KEEPBOOK_RATE_PER_MINUTE": "0"}
    server = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True, env=alone)
    try:
        assert server.stdout is not None
        line = server.stdout.readline().strip()
        if not line:
            raise NotAllowed("the server did not start; is keepbook[serve] installed?", code="missing_extra")
        if line.startswith("{"):
            address = urlsplit(json.loads(line)["address"])
        else:
            address = urlsplit(line)
        connection = HTTPConnection(address.hostname or "", address.port, timeout=60)
        yield RunningServer(connection, server.pid)
        connection.close()
    finally:
        server.terminate()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()


def _compare_with_bare(name: str, ours: RunningServer, bare: RunningServer, make: Any, rounds: int) -> RequestRate:
    times: dict[str, list[float]] = {"ours": [], "bare": []}
    marks: dict[str, list[float]] = {"ours": [], "bare": []}  # the CPU time before each request
    for server in (ours, bare):
        server.connection.close()  # the server may have closed it while it was idle; it is opened again by itself
    for number in range(10 + rounds + 1):
        for side, server, request in (("ours", ours, make()), ("bare", bare, ("GET", "/", None, {}))):
            if number >= 10:
                marks[side].append(server.cpu() or 0.0)
            began = time.perf_counter()
            _ask(server.connection, *request)
            if number >= 10:
                times[side].append(time.perf_counter() - began)
    mine, empty = (statistics.median(times[side]) for side in ("ours", "bare"))
    return RequestRate(name, 1 / mine, 1 / empty, mine * 1000, _in_empty_routes(marks["ours"], marks["bare"]))


def _in_empty_routes(*marks: list[float]) -> float | None:
    """The CPU time of our request as a multiple of the empty route's: the requests are divided into TRIES groups, and
    the median of the groups is taken."""
    ours, bare = ([after - before for before, after in itertools.pairwise(side)] for side in marks)
    tries = [(sum(ours[nth::TRIES]), sum(bare[nth::TRIES])) for nth in range(TRIES)]
    mine, empty = (statistics.median(side) for side in zip(*tries, strict=True))
    return round(mine / empty, 2) if empty else None


def _ask(connection: HTTPConnection, method: str, path: str, body: Any, headers: dict[str, str]) -> None:
    sent = None
    if body is not None:
        sent = json.dumps(body)
    connection.request(method, path, sent, headers | ({"Content-Type": "application/json"} if sent else {}))
    answered = connection.getresponse()
    answered.read()
    if answered.status >= 400:
        raise NotAllowed(f"{method} {path} was answered {answered.status}")
