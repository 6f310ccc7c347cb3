"""`keepbook bench pages`: what the two heaviest pages cost where a book has grown large, in seconds of the processor.

A deployment with a million closed trades over three years, and the results of ten thousand decisions of which two
thousand are open, each looked at again now and then. The pages are asked from the application itself, without a network
and without a browser, so that what is measured is our own work: the quickest of a few, after one that warms up.
"""

import asyncio
import json as json_module
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from keepbook.app import Keepbook
from keepbook.book.book import Book

TRADES, DECISIONS, OPEN = 1_000_000, 10_000, 0.2  # `OPEN` is the share of decisions that are open
DAYS = 3 * 365
NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
SYMBOLS = ("BTC/USDT", "ETH/USDT", "SOL/USDT", "XRP/USDT", "ADA/USDT")
TRIES = 3
MOST_SECONDS = 1.0  # of processor time for a page


@dataclass(frozen=True, slots=True)
class PageCost:
    """One page: how large its subject is, and what it took of the processor and by the clock."""

    page: str
    rows: int
    cpu: float
    wall: float
    bytes: int


def trade_csv_lines(count: int) -> Iterator[str]:
    """Closed one after the other, by day and by night."""
    draw, step = Random(5), timedelta(days=DAYS) / max(count, 1)
    yield "id,symbol,side,quantity,entry_time,entry_price,exit_time,exit_price,fees,entry_regime_tag\n"
    for number in range(count):
        out = NOW - timedelta(days=DAYS) + step * number
        price = draw.uniform(50, 150)
        yield (
            f"t{number},{SYMBOLS[number % 5]},{'long' if number % 3 else 'short'},1,"
            f"{out - timedelta(minutes=draw.randrange(1, 600)):%Y-%m-%dT%H:%M:%SZ},{price:.2f},"
            f"{out:%Y-%m-%dT%H:%M:%SZ},{price * (1 + draw.gauss(0.0002, 0.01)):.2f},0.05,chop\n"
        )


def record_decisions(book: Book, count: int, left_open: int) -> None:
    """Decisions from elsewhere, each third of them looked at again."""
    draw = Random(7)
    agent = book.agents.create("Desk", card_type="trade-decision", adapter="external").id
    with book.transaction():
        for number in range(count):
            made = NOW - timedelta(minutes=9) * (count - number) / count  # in time to count as witnessed
            conviction = draw.randrange(30, 90)
            card = {
                "action": "LONG", "symbol": SYMBOLS[number % 5], "entry": 100.0, "stop": 90.0, "target": 120.0,
                "size": 1.0, "conviction": conviction, "reason": f"above the range {number}",
                "thesis": "A week above the range.", "watch_for": ["funding"],
                "expires": f"{NOW + timedelta(days=400):%Y-%m-%dT%H:%M:%SZ}",
            }  # fmt: skip
            run = book.decisions.record(agent, card, made_at=made).run_id
            if number % 3 == 0:
                look = {"conviction_score": conviction - 5, "notes": "Volume faded.", "suggested_action": "HOLD"}
                book.decisions.record_second_look(run, look, made_at=made)
            if number < count - left_open:
                if draw.random() < conviction / 100:
                    book.decisions.exit(run, 112.0)
                else:
                    book.decisions.exit(run, 93.0)


# Asking


def get_page(app: Any, path: str) -> bytes:
    """One GET, as the server would hand it to the application."""
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": path.partition("?")[0], "raw_path": path.encode(), "query_string": path.partition("?")[2].encode(),
        "headers": [(b"host", b"127.0.0.1")], "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "root_path": "",
    }  # fmt: skip
    told: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        told.append(message)

    asyncio.run(app(scope, receive, send))
    if told[0]["status"] != 200:
        raise AssertionError(f"{path} was answered {told[0]['status']}")
    return b"".join(one.get("body", b"") for one in told[1:])


def measure_page(app: Any, path: str, rows: int, name: str) -> PageCost:
    tries = []
    for _ in range(TRIES + 1):
        start, worked = time.perf_counter(), time.process_time()
        body = get_page(app, path)
        tries.append((time.process_time() - worked, time.perf_counter() - start))
    cpu, wall = min(tries[1:])
    return PageCost(name, rows, round(cpu, 3), round(wall, 3), len(body))


def measure(create: Callable[[Keepbook], Any], trades: int, decisions: int, left_open: int) -> Iterator[PageCost]:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        kb = stack.enter_context(closing(Keepbook(Path(folder) / "bench.db", clock=lambda: NOW, embedder="none")))
        book = kb.book(kb.settings.owner)
        app = create(kb)
        record_decisions(book, decisions, left_open)
        yield measure_page(app, "/results/trade-decisions", decisions, "results")
        book.trading.create_skill("In and out")
        place = book.trading.create_deployment("Bench", "In and out", capital=100_000.0)
        file = Path(folder) / "trades.csv"
        with file.open("w", encoding="utf-8") as out:
            out.writelines(trade_csv_lines(trades))
        book.trading.load("trades", file, deployment="Bench")
        for path, name in (("", "deployment"), ("?parts=1", "deployment in parts"), ("/trades", "its trades")):
            yield measure_page(app, f"/trading/{place.id}{path}", trades, name)
        yield measure_page(app, "/trading", trades, "trading")


def main(json: bool, create: Callable[[Keepbook], Any], trades: int = TRADES, decisions: int = DECISIONS) -> bool:
    """Print what each page of the application took that `create` makes; true where all stay under a second."""
    found = []
    for one in measure(create, trades, decisions, round(OPEN * decisions)):
        found.append(one)
        if not json:
            print(f"{one.cpu:7.3f} s CPU  {one.wall:7.3f} s  {one.rows:>9,} rows  {one.page}", flush=True)
    ok = all(one.cpu < MOST_SECONDS for one in found)
    if json:
        print(json_module.dumps({"pages": [asdict(one) for one in found], "ok": ok}))
    return ok
