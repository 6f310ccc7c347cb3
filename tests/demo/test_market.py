"""The market that never was: always the same, believable, and every trade stands on its bars."""

import math
import statistics
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

import pytest

from keepbook import Keepbook
from keepbook.bench import trading
from keepbook.demo import market
from keepbook.demo.market import (
    DESKS,
    KINDS,
    REGIMES,
    GeneratedBar,
    GeneratedTrade,
    OpenPosition,
    World,
    generate_bars,
    play_strategy,
)
from keepbook.extensions.trading.book.face import Trading

WORLD = World(seed=3, days=60)
STEP = WORLD.minutes * 60


@pytest.fixture(scope="module")
def prices() -> dict[str, list[GeneratedBar]]:
    return {symbol: list(generate_bars(WORLD, symbol)) for symbol in WORLD.symbols}


def test_a_seed_is_always_the_same_market() -> None:
    small = {"symbols": ("BTC/USDT",), "days": 3.0}
    first, again, other = World(seed=1, **small), World(seed=1, **small), World(seed=2, **small)
    for lines in (market.bar_lines, market.event_lines, market.market_trade_lines, market.position_lines):
        assert list(lines(first)) == list(lines(again))
    assert list(market.bar_lines(first)) != list(market.bar_lines(other))
    assert list(market.bar_lines(first))[:2] == [
        "symbol,timeframe,time,open,high,low,close,volume\n",
        "BTC/USDT,15m,2026-01-01T00:00:00Z,64000.0,64072.78,63770.76,63800.16,1145.68\n",
    ]


def test_bars_hold_together_and_hours_are_missing(prices: dict[str, list[GeneratedBar]]) -> None:
    whole = int(WORLD.days * 96)
    for found in prices.values():
        assert all(0 < bar.low <= min(bar.open, bar.close) <= max(bar.open, bar.close) <= bar.high for bar in found)
        assert 0.9 * whole < len(found) < whole
        assert {bar.time % STEP for bar in found} == {0}
        assert {bar.regime for bar in found} == set(REGIMES)


def test_tails_are_fat_and_volatility_comes_in_clusters(prices: dict[str, list[GeneratedBar]]) -> None:
    for found in prices.values():
        moves = [math.log(bar.close / bar.open) for bar in found]
        spread = statistics.pstdev(moves)
        assert statistics.fmean((move / spread) ** 4 for move in moves) > 6  # a normal one has 3
        sizes = [abs(move) for move in moves]
        assert statistics.correlation(sizes[:-1], sizes[1:]) > 0.1


def test_events_move_prices_and_quiet_ones_less(prices: dict[str, list[GeneratedBar]]) -> None:
    world = World(seed=5, symbols=("BTC/USDT",), days=900, minutes=60, outages=0)
    by_time = {bar.time: abs(math.log(bar.close / bar.open)) for bar in generate_bars(world, "BTC/USDT")}
    moved: dict[str, list[float]] = defaultdict(list)
    for event in world.events:
        first = -(-event.time // 3600) * 3600
        if first in by_time and event.symbols in (("*",), ("BTC",)):
            moved[event.kind].append(by_time[first])
    usual = statistics.median(by_time.values())
    assert statistics.median(moved["rates"]) > 3 * usual
    assert statistics.median(moved["minutes"]) < statistics.median(moved["rates"])
    assert {event.kind for event in world.events} == set(KINDS)
    assert all(event.known_at < event.time for event in world.events)
    assert max(event.time for event in world.events) > world.ends


def test_every_trade_stands_on_its_bars(prices: dict[str, list[GeneratedBar]]) -> None:
    for desk in DESKS:
        strategy = desk.strategy
        for symbol, found in prices.items():
            ended = {bar.time + STEP: bar for bar in found}
            trades = [one for one in play_strategy(strategy, found, STEP) if isinstance(one, GeneratedTrade)]
            assert trades
            for one in trades:
                held, last = one.held, ended[one.exit_time]
                assert (held.symbol, held.entry_price) == (symbol, ended[held.entry_time].close)
                assert held.regime == ended[held.entry_time].regime
                assert last.low * 0.99999 <= one.exit_price <= last.high * 1.00001
                lasted = [bar for bar in found if held.entry_time <= bar.time < one.exit_time]
                sign = 1 if held.side == "long" else -1
                reach = [sign * (price / held.entry_price - 1) for bar in lasted for price in (bar.high, bar.low)]
                assert one.mfe == pytest.approx(max(0.0, *reach), abs=1e-6)
                assert one.mae == pytest.approx(min(0.0, *reach), abs=1e-6)
                assert one.fees == pytest.approx(strategy.fee * held.quantity * (held.entry_price + one.exit_price))
            assert {one.held.side for one in trades} == {"long", "short"}
            assert {one.reason for one in trades} == {"stop", "target", "time"}


def test_what_a_strategy_earns_depends_on_the_regime(prices: dict[str, list[GeneratedBar]]) -> None:
    follow, fade = (_by_regime(desk.strategy, prices) for desk in DESKS)
    assert follow["trend_up"] > 0 > follow["chop"]
    assert fade["chop"] > 0 > fade["trend_up"]


def _by_regime(strategy: Any, prices: dict[str, list[GeneratedBar]]) -> dict[str, float]:
    earned: dict[str, list[float]] = defaultdict(list)
    for found in prices.values():
        for one in play_strategy(strategy, found, STEP):
            if isinstance(one, GeneratedTrade):
                sign = 1 if one.held.side == "long" else -1
                earned[one.held.regime].append(sign * (one.exit_price / one.held.entry_price - 1))
    return {regime: statistics.fmean(moves) for regime, moves in earned.items()}


def test_many_years_neither_end_in_nothing_nor_in_riches() -> None:
    world = World(seed=9, symbols=("DOGE/USDT",), days=4000, minutes=240)
    closes = [bar.close for bar in generate_bars(world, "DOGE/USDT")]
    assert 0.005 < min(closes) < max(closes) < 3


def test_all_its_files_load_without_a_wrong_row() -> None:
    end = datetime.fromtimestamp(WORLD.ends, UTC)
    with Keepbook(":memory:", embedder="none", clock=lambda: end) as kb:
        book = Trading(kb.book("alice"))
        loads = [
            kb.market.load(market.bar_lines(WORLD)), kb.market.load_events(market.event_lines(WORLD)),
            book.load("skills", market.skill_lines()), book.load("deployments", market.deployment_lines(WORLD)),
            book.load("trades", market.market_trade_lines(WORLD)), book.load("positions", market.position_lines(WORLD)),
        ]  # fmt: skip
        assert [(loaded.wrong, loaded.changed, loaded.unchanged) for loaded in loads] == [(0, 0, 0)] * 6
        closed = [one for desk in DESKS for one in market._play_desk(WORLD, desk) if isinstance(one, GeneratedTrade)]
        open_now = [one for desk in DESKS for one in market._play_desk(WORLD, desk) if isinstance(one, OpenPosition)]
        assert book.trades().total == loads[4].added == len(closed)
        assert len(book.positions()) == loads[5].added == len(open_now)


def test_the_bench_measures_and_judges(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        trading, "measure_sizes", lambda sizes, trades: (trading.measure(size, trades) for size in sizes)
    )
    monkeypatch.setattr(trading, "ASKED", 1)
    found = trading.measure(2_000, 50)
    assert (found.bars, found.trades, found.rows > 0) == (2_000, 50, True)
    small = trading.SizeMeasurement(10, 1.0, 10.0, 1, 1.0, 0.0, 1.0, 2.0, 2.0, 1)
    large = trading.SizeMeasurement(1000, 1.0, 20.0, 1, 1.0, 0.0, 1.0, 2.8, 2.0, 1)
    assert trading.trading_report([small, large])["ok"] is True
    assert (
        trading.trading_report([small, trading.SizeMeasurement(1000, 1.0, 20.0, 1, 1.0, 0.0, 1.0, 3.2, 2.0, 1)])["ok"]
        is False
    )
    assert (
        trading.trading_report([small, trading.SizeMeasurement(1000, 1.0, 99.0, 1, 1.0, 0.0, 1.0, 2.0, 2.0, 1)])["ok"]
        is False
    )
    trading.main(True, [1_000], 0)
    assert '"exposure_ratio": 1.0' in capsys.readouterr().out
