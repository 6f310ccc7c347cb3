"""`keepbook bench http`: what a request costs beside an empty route of the same framework.

Both servers run as processes of their own and are asked in turns over one open connection each, so a busy machine slows
both alike; the client is the plainest there is. Pages are measured the same way, as a person's browser would ask.
"""

import json
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
from keepbook.book.book import Book
from keepbook.errors import NotAllowed

MEMORIES = 200
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

    @property
    def ratio(self) -> float:
        return self.per_second / self.empty_per_second


def main(as_json: bool = False, rounds: int = ROUNDS) -> bool:
    """Print each figure; answers whether all could be measured."""
    figures = []
    for found in measure(rounds):
        figures.append(found)
        if not as_json:
            rate = f"{found.per_second:7.0f} /s"
            beside = f"{found.ratio:5.2f} of the empty route's {found.empty_per_second:.0f}"
            print(f"{rate}  {beside} ({1 / found.ratio:4.1f} of it)  {found.name}", flush=True)
    if as_json:
        print(json.dumps([asdict(found) | {"ratio": round(found.ratio, 4)} for found in figures], indent=2))
    return True


def measure(rounds: int) -> Iterator[Figure]:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        db = str(Path(folder) / "bench.db")
        with Keepbook(db, embedder="none") as kb:
            known = _fill(kb.book(kb.settings.owner))
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
        for page in PAGES:
            requests[f"page {page}"] = lambda page=page: ("GET", page.format(**known), None)
        for name, make in requests.items():
            yield _beside(name, ours, bare, make, rounds if not name.startswith("page") else max(10, rounds // 5))


def _fill(book: Book) -> dict[str, str]:
    """Memories, and a chat of `TURNS` turns that is open, so that closing would read all of it."""
    places = ("Oslo", "Bergen", "Lisbon", "Porto", "Turin")
    with book.transaction():
        made = [
            book.remember(f"Likes thing number {number} of {places[number % 5]}", force=True).id
            for number in range(MEMORIES)
        ]
        chat = book.threads.start()
        for number in range(TURNS // 2):
            chat.add("user", f"What about number {number}? I would like to hear more before I decide anything.")
            chat.add("assistant", f"**Number {number}** fits.\n\n- it is cheap\n- it is near\n\nSay if you want more.")
    return {"id": made[0], "chat": chat.id}


@contextmanager
def _server(command: list[str]) -> Iterator[HTTPConnection]:
    server = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        line = server.stdout.readline().strip()
        if not line:
            raise NotAllowed("the server did not start; is keepbook[serve] installed?", code="missing_extra")
        address = urlsplit(json.loads(line)["address"] if line.startswith("{") else line)
        connection = HTTPConnection(address.hostname or "", address.port, timeout=60)
        yield connection
        connection.close()
    finally:
        server.terminate()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()


def _beside(name: str, ours: HTTPConnection, bare: HTTPConnection, make: Any, rounds: int) -> Figure:
    times: dict[str, list[float]] = {"ours": [], "bare": []}
    for number in range(rounds + 10):
        for side, connection, request in (("ours", ours, make()), ("bare", bare, ("GET", "/", None))):
            began = time.perf_counter()
            _ask(connection, *request)
            if number >= 10:
                times[side].append(time.perf_counter() - began)
    mine, empty = (statistics.median(times[side]) for side in ("ours", "bare"))
    return Figure(name, 1 / mine, 1 / empty, mine * 1000)


def _ask(connection: HTTPConnection, method: str, path: str, body: Any) -> None:
    sent = None if body is None else json.dumps(body)
    connection.request(method, path, sent, {"Content-Type": "application/json"} if sent else {})
    answered = connection.getresponse()
    answered.read()
    if answered.status >= 400:
        raise NotAllowed(f"{method} {path} was answered {answered.status}")
