"""How loading and exposure grow with what is loaded: `keepbook bench trading`.

For each size a new book, in a process of its own so that its peak of memory is its own: a file of bars is loaded, then
trades, then a deployment with twenty positions is asked what is coming and how exposed it is. The events and the last
weeks are the same at every size, so that the question is; only the history behind them grows. What is measured is the
loading of a file that is there, by the clock, with whatever else this machine is doing.
"""

import json as json_module
import multiprocessing
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

from keepbook.app import Keepbook
from keepbook.demo.market import (
    FIRST_PRICES,
    Strategy,
    StrategyDesk,
    World,
    bar_lines,
    deployment_lines,
    event_lines,
    market_trade_lines,
    skill_lines,
)
from keepbook.extensions.trading.book.face import Trading
from keepbook.extensions.trading.book.loading.loaded import LoadedFile

SIZES = (100_000, 1_000_000)  # bars
TRADES = 100_000
SYMBOLS = tuple(FIRST_PRICES)
MINUTES = 15  # of a bar
NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
RECENT_DAYS = 50
"""How far back events go: the smallest size has bars for all of them."""
LEAST = 24 * 60 // MINUTES * (RECENT_DAYS + 2) * len(SYMBOLS)
ASKED, TRIES = 15, 7  # questions, and how often each is asked
MOST_RATIO = 1.5  # of the time at the largest size to that at the smallest
MOST_MORE_MB = 48.0
"""How many megabytes the largest load may take more than the smallest, for a batch and the cache of the database."""
QUICK = Strategy("In and out", follows=True, looks_back=3, threshold=0.0005, stop=0.004, target=0.004, patience=3)
DESK = StrategyDesk("Bench", QUICK)


@dataclass(frozen=True, slots=True)
class SizeMeasurement:
    """What one size took. `grown` is by how much the process grew at its peak, in MB; `ms` is for one question."""

    bars: int
    bars_per_second: float
    bars_grown: float
    trades: int
    trades_per_second: float
    trades_grown: float
    book_mb: float
    ms: float
    cpu_ms: float
    rows: int


def measure(bars: int, trades: int) -> SizeMeasurement:
    """One size, in a folder that goes when it is done."""
    recent = World(seed=7, symbols=SYMBOLS, start=NOW - timedelta(days=RECENT_DAYS), days=RECENT_DAYS, minutes=MINUTES)
    days = bars / len(SYMBOLS) * MINUTES / (24 * 60)
    world = World(seed=7, symbols=SYMBOLS, start=NOW - timedelta(days=days), days=days, minutes=MINUTES, outages=0)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        place = Path(folder) / "bench.db"
        with closing(Keepbook(place, clock=lambda: NOW, embedder="none")) as kb:
            trading = Trading(kb.book("bench"))
            kb.market.load_events(event_lines(recent))
            trading.load("skills", skill_lines([DESK]))
            trading.load("deployments", deployment_lines(world, [DESK]))
            trading.load("positions", _positions())
            taken, seconds, grown = _measure_load(Path(folder) / "bars.csv", bar_lines(world), kb.market.load)
            sold, took, swollen = _measure_load(
                Path(folder) / "trades.csv",
                islice(market_trade_lines(_long_enough(trades), [DESK]), trades + 1),
                lambda file: trading.load("trades", file),
            )
            ms, cpu_ms, rows = _time_exposure(trading)
        size = sum(path.stat().st_size for path in Path(folder).glob("bench.db*")) / 1e6
    if sold:
        trades_per_second = sold / took
    else:
        trades_per_second = 0.0
    return SizeMeasurement(
        taken, taken / seconds, grown, sold, trades_per_second, swollen, size, ms, cpu_ms, rows
    )  # fmt: skip


def _long_enough(trades: int) -> World:
    """A market in which the desk makes that many trades; it makes one in fewer than twenty bars."""
    days = max(2.0, 20 * trades / len(SYMBOLS) * MINUTES / (24 * 60))
    return World(seed=11, symbols=SYMBOLS, start=NOW - timedelta(days=min(days, 300_000)), days=days, minutes=MINUTES)


def _positions() -> Iterator[str]:
    """Twenty of them, each in a symbol of its own."""
    yield "deployment,symbol,side,quantity,entry_time,entry_price\n"
    entered = f"{NOW - timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}"
    for nth, (symbol, price) in enumerate(FIRST_PRICES.items()):
        yield f"{DESK.name},{symbol},{'short' if nth % 3 == 0 else 'long'},{1000 / price:.6g},{entered},{price}\n"


def _measure_load(file: Path, lines: Iterable[str], load: Callable[[Path], LoadedFile]) -> tuple[int, float, float]:
    """How many rows were taken, in how many seconds, and by how many MB the process grew at its peak."""
    with file.open("w", encoding="utf-8") as out:
        out.writelines(lines)
    before, start = _peak(), time.perf_counter()
    loaded = load(file)
    seconds, grown = time.perf_counter() - start, _peak() - before
    file.unlink()
    if loaded.wrong:
        raise AssertionError(f"the bench's own rows were refused: {loaded.refused[:3]}")
    return loaded.added, seconds, grown


def _time_exposure(trading: Trading) -> tuple[float, float, int]:
    """What the question takes, in the middle of the quickest of a few, and how many rows of exposure it answers."""
    walls, works, rows = [], [], 0
    for _ in range(ASKED):
        tries = []
        for _ in range(TRIES):
            start, worked = time.perf_counter(), time.process_time()
            answer = trading.events(lookahead_hours=72, min_importance=0.0, deployment=DESK.name)
            tries.append((time.perf_counter() - start, time.process_time() - worked))
            rows = len(answer.your_exposure or ())
        walls.append(min(wall for wall, _ in tries))
        works.append(min(work for _, work in tries))
    return statistics.median(walls) * 1000, statistics.median(works) * 1000, rows


def _peak() -> float:
    """The most memory this process ever had, in MB; Linux tells kilobytes, macOS bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1 << 20 if sys.platform == "darwin" else 1 << 10)


# Showing


def measure_sizes(sizes: Sequence[int], trades: int) -> Iterator[SizeMeasurement]:
    for size in sizes:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as alone:
            yield alone.submit(measure, max(size, LEAST), trades).result()


def trading_report(found: Sequence[SizeMeasurement]) -> dict[str, object]:
    first, last = min(found, key=lambda one: one.bars), max(found, key=lambda one: one.bars)
    ratio = last.ms / first.ms
    return {
        "sizes": [asdict(one) for one in found],
        "exposure_ratio": round(ratio, 2),
        "exposure_cpu_ratio": round(last.cpu_ms / first.cpu_ms, 2),
        "more_mb": round(last.bars_grown - first.bars_grown, 1),
        "ok": ratio <= MOST_RATIO and last.bars_grown - first.bars_grown <= MOST_MORE_MB,
    }


def main(json: bool, sizes: Sequence[int] = SIZES, trades: int = TRADES) -> bool:
    """Print what was measured; true where memory stays flat and the question costs the same at every size."""
    found = []
    for one in measure_sizes(sizes, trades):
        found.append(one)
        if not json:
            print(
                f"{one.bars:>12,} bars: {one.bars_per_second:>9,.0f} a second, {one.bars_grown:5.1f} MB more at the "
                f"peak; {one.trades:,} trades: {one.trades_per_second:,.0f} a second, {one.trades_grown:.1f} MB more; "
                f"book {one.book_mb:,.0f} MB; exposure ({one.rows} rows) {one.ms:.2f} ms ({one.cpu_ms:.2f})",
                flush=True,
            )
    told = trading_report(found)
    if json:
        print(json_module.dumps(told))
    else:
        print("milliseconds of one get_upcoming_events with exposure; in brackets the processor's part of it")
        print(f"exposure, largest to smallest: {told['exposure_ratio']} × (at most {MOST_RATIO})")
        print(f"memory, largest to smallest: {told['more_mb']} MB more (at most {MOST_MORE_MB:.0f})")
    return bool(told["ok"])
