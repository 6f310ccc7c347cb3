"""`keepbook bench http`: what a request costs beside an empty route of the same framework.

Both servers run as processes of their own and are asked in turns over one open connection each, so a busy machine slows
both alike; the client is the plainest there is. Pages are measured the same way, as a person's browser would ask, of a
book with a thousand memories. Where the system tells what another process has used of the processor (Linux does), that
is given too, in empty routes: it does not depend on who else is busy.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from keepbook.app import Keepbook
from keepbook.errors import NotAllowed

MEMORIES = 200
LARGE = 1000
"""How many memories the book has whose pages are measured."""
ROUNDS = 200
TURNS = 200
PAGES = ("/chat", "/chat/{chat}", "/profile/facts", "/memory/{id}", "/journal", "/time", "/settings")


@dataclass(frozen=True, slots=True)
class Figure:
    """One kind of request beside the empty route, in requests a second over one connection."""

    name: str
    per_second: float
    empty_per_second: float
    ms: float
    cpu: float | None = None
    """What it takes of the processor, in empty routes."""

    @property
    def ratio(self) -> float:
        return self.per_second / self.empty_per_second


def main(as_json: bool = False, rounds: int = ROUNDS) -> bool:
    """Print each figure; answers whether all could be measured."""
    figures = []
    for found in measure(rounds):
        figures.append(found)
        if not as_json:
            cpu = "" if found.cpu is None else f"  CPU of {found.cpu:5.1f} empty routes"
            rate = f"{found.per_second:7.0f} /s  {found.ratio:5.2f} of the empty route's {found.empty_per_second:4.0f}"
            print(f"{rate}{cpu}  {found.name}", flush=True)
    if as_json:
        print(json.dumps([asdict(found) | {"ratio": round(found.ratio, 4)} for found in figures], indent=2))
    return True


def measure(rounds: int) -> Iterator[Figure]:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        db = str(Path(folder) / "bench.db")
        id, chat = _fill(db, range(MEMORIES)), _talk(db)
        serve = ["-m", "keepbook", "--db", db, "--json", "serve", "--port", "0", "--no-open"]
        ours = stack.enter_context(_server(serve))
        bare = stack.enter_context(_server(["-m", "keepbook.bench.empty"]))
        numbered = iter(range(10**9))
        requests: dict[str, Any] = {
            "block": lambda: ("GET", "/api/memory/block", None),
            "list of 100": lambda: ("GET", "/api/memory/", None),
            "remember": lambda: ("POST", "/api/memory/", {"content": f"Keeps the number {next(numbered)} in mind"}),
            "recall": lambda: ("GET", "/api/memory/recall?q=what+does+she+like+in+Oslo", None),
        }
        for name, make in requests.items():
            yield _beside(name, ours, bare, make, rounds)
        _fill(db, range(MEMORIES + next(numbered), LARGE))  # with what was just remembered a thousand in all
        for page in PAGES:
            asked = ("GET", page.format(id=id, chat=chat), None)
            yield _beside(f"page {page}", ours, bare, lambda asked=asked: asked, max(10, rounds // 5))
        with Keepbook(db, embedder="none") as kb:
            book = kb.book(kb.settings.owner)

            def changed() -> Any:
                """What the server has worked out for this page is of no use any more; the write is not its work."""
                book.remember(f"Keeps the number {next(numbered)} in mind", force=True)
                return "GET", "/profile/facts", None

            yield _beside("page /profile/facts after a write", ours, bare, changed, max(10, rounds // 5))


def _fill(db: str, numbers: range) -> str:
    places = ("Oslo", "Bergen", "Lisbon", "Porto", "Turin")
    with Keepbook(db, embedder="none") as kb:
        book = kb.book(kb.settings.owner)
        with book.transaction():
            made = [
                book.remember(f"Likes thing number {number} of {places[number % 5]}", force=True).id
                for number in numbers
            ]
    return made[0]


def _talk(db: str) -> str:
    """A chat of `TURNS` turns that is open, so that closing would read all of it."""
    with Keepbook(db, embedder="none") as kb:
        book = kb.book(kb.settings.owner)
        with book.transaction():
            chat = book.threads.start()
            for number in range(TURNS // 2):
                chat.add("user", f"What about number {number}? I would like to hear more before I decide anything.")
                chat.add("assistant", f"**Number {number}** fits.\n\n- it is cheap\n- it is near\n\nSay if more.")
    return chat.id


@dataclass(frozen=True, slots=True)
class Served:
    """A server that answers, and the process it is."""

    connection: HTTPConnection
    pid: int

    def cpu(self) -> float | None:
        """Seconds of the processor that it has used so far; Linux has a clock for each process, by its number."""
        return time.clock_gettime(~self.pid << 3 | 2) if sys.platform == "linux" else None


@contextmanager
def _server(command: list[str]) -> Iterator[Served]:
    alone = {**os.environ, "KEEPBOOK_EMBEDDER": "none"}  # what makes vectors beside it would be counted as its own
    server = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True, env=alone)
    try:
        assert server.stdout is not None
        line = server.stdout.readline().strip()
        if not line:
            raise NotAllowed("the server did not start; is keepbook[serve] installed?", code="missing_extra")
        address = urlsplit(json.loads(line)["address"] if line.startswith("{") else line)
        connection = HTTPConnection(address.hostname or "", address.port, timeout=60)
        yield Served(connection, server.pid)
        connection.close()
    finally:
        server.terminate()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()


def _beside(name: str, ours: Served, bare: Served, make: Any, rounds: int) -> Figure:
    times: dict[str, list[float]] = {"ours": [], "bare": []}
    used: dict[str, list[float | None]] = {"ours": [], "bare": []}
    for server in (ours, bare):
        server.connection.close()  # one that waited for the figures before may have been hung up on; it opens by itself
    for number in range(rounds + 10):
        for side, server, request in (("ours", ours, make()), ("bare", bare, ("GET", "/", None))):
            if number == 10:
                used[side].append(server.cpu())
            began = time.perf_counter()
            _ask(server.connection, *request)
            if number >= 10:
                times[side].append(time.perf_counter() - began)
    used["ours"].append(ours.cpu())
    used["bare"].append(bare.cpu())
    mine, empty = (statistics.median(times[side]) for side in ("ours", "bare"))
    return Figure(name, 1 / mine, 1 / empty, mine * 1000, _in_empty_routes(used["ours"], used["bare"]))


def _in_empty_routes(ours: list[float | None], bare: list[float | None]) -> float | None:
    (before, after), (first, last) = ours, bare
    if before is None or after is None or first is None or last is None or last == first:
        return None
    return round((after - before) / (last - first), 1)


def _ask(connection: HTTPConnection, method: str, path: str, body: Any) -> None:
    sent = None if body is None else json.dumps(body)
    connection.request(method, path, sent, {"Content-Type": "application/json"} if sent else {})
    answered = connection.getresponse()
    answered.read()
    if answered.status >= 400:
        raise NotAllowed(f"{method} {path} was answered {answered.status}")
