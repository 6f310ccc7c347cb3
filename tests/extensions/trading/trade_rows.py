"""What tests of trading need again and again: rows as files have them, a desk that trades, and a story with a moral.

The rows are drawn here and nowhere else, with what real files have: shorts, fees, gaps of days, offsets from UTC,
regimes that are missing now and then. Nothing of the program takes part in it.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from random import Random
from typing import Any

BEGIN = datetime(2026, 1, 5, tzinfo=UTC)
"""A Monday."""
SYMBOLS = ("BTC/USDT", "ETH/USDT", "SOL/USDT")
REGIMES = ("chop", "trend_up", "trend_down", None)
OFFSETS = (0, 60, -300, 330)
"""Minutes from UTC, as exchanges and people write them."""


def lines(rows: Iterable[dict[str, Any]]) -> list[str]:
    """As a file of JSON Lines."""
    return [json.dumps(row) for row in rows]


def at(hours: float = 0.0, *, offset: int = 0) -> str:
    """So many hours after the beginning, written at an offset of minutes from UTC."""
    return (BEGIN + timedelta(hours=hours)).astimezone(timezone(timedelta(minutes=offset))).isoformat()


def trade(hours: float, net: float = 0.01, *, held: float = 2.0, **changed: Any) -> dict[str, Any]:
    """A trade that was closed so many hours after the beginning and returned `net` of what it took."""
    side = changed.get("side", "long")
    price = 100 * (1 + net) if side == "long" else 100 * (1 - net)
    return {
        "symbol": "BTC/USDT", "side": side, "quantity": 2.0, "entry_time": at(hours - held), "entry_price": 100.0,
        "exit_time": at(hours), "exit_price": price, "fees": 0.0, "entry_regime_tag": "chop",
    } | changed  # fmt: skip


def many_trades(seed: int, count: int, *, begin: float = 0.0) -> list[dict[str, Any]]:
    """Trades over some months, with days on which nothing was closed."""
    draw, hours, rows = Random(seed), begin, []
    for number in range(count):
        hours += draw.choice((0.4, 1.7, 3.1, 6.5, 90.0 if number % 40 == 0 else 2.2))
        price, offset = draw.uniform(20, 60_000), draw.choice(OFFSETS)
        held = draw.choice((0.2, 0.9, 3.0, 9.0, 20.0))
        rows.append(
            {
                "id": f"t{seed}-{number}",
                "symbol": draw.choice(SYMBOLS),
                "side": draw.choice(("long", "short")),
                "quantity": draw.uniform(0.5, 3),
                "entry_time": at(hours - held, offset=offset),
                "entry_price": price,
                "exit_time": at(hours, offset=offset),
                "exit_price": price * (1 + draw.gauss(0.0005, 0.012)),
                "fees": draw.choice((0.0, price * 0.001)),
                "entry_regime_tag": draw.choice(REGIMES),
            }
        )
    draw.shuffle(rows)  # files come in any order
    return rows


def bars(symbol: str, closes: Sequence[float | None], *, minutes: int = 15, begin: float = 0.0) -> list[dict[str, Any]]:
    """Bars one after the other; None is one that is missing."""
    return [
        {
            "symbol": symbol, "timeframe": f"{minutes}m", "time": at(begin + number * minutes / 60), "open": close,
            "high": close, "low": close, "close": close, "volume": 1.0,
        }
        for number, close in enumerate(closes)
        if close is not None
    ]  # fmt: skip


def event(id: str, hours: float, *, kind: str = "cpi", symbols: str = "BTC", **changed: Any) -> dict[str, Any]:
    told = {"id": id, "kind": kind, "symbols": symbols, "time": at(hours), "importance": 0.8, "title": f"{kind} {id}"}
    return told | changed


def position(symbol: str = "BTC/USDT", side: str = "long", *, hours: float = 0.0, **changed: Any) -> dict[str, Any]:
    told = {"symbol": symbol, "side": side, "quantity": 2.0, "entry_time": at(hours), "entry_price": 100.0}
    return told | changed


class Desk:
    """A skill at work in one deployment of one owner, with what loads and asks."""

    def __init__(self, kb: Any, clock: Any, *, capital: float | None = 10_000.0, owner: str = "alice") -> None:
        self.kb, self.clock, self.book = kb, clock, kb.book(owner)
        clock.set(BEGIN)
        self.trading = self.book.trading
        self.skill = self.trading.create_skill("Scalper")
        self.deployment = self.trading.create_deployment("Main", "Scalper", capital=capital, started_at=BEGIN)
        clock.set(BEGIN + timedelta(days=200))

    def load(self, rows: Iterable[dict[str, Any]], *, kind: str = "trades", deployment: str = "Main") -> None:
        loaded = self.trading.load(kind, lines(rows), deployment=deployment)
        assert not loaded.wrong, loaded.refused

    def market(self, rows: Iterable[dict[str, Any]] = (), events: Iterable[dict[str, Any]] = ()) -> None:
        for load, given in ((self.kb.market.load, lines(rows)), (self.kb.market.load_events, lines(events))):
            loaded = load(given) if given else None
            assert loaded is None or not loaded.wrong, loaded

    def reflect(self, **told: Any) -> Any:
        return self.trading.reflect(**({"deployment": "Main"} | told))


def moral(count: int = 8, *, begin: float = 0.0, loss: float = -0.011) -> list[dict[str, Any]]:
    """Longs in BTC that all lost in chop, beside others that led nowhere."""
    losers = [trade(begin + 30 * number, loss - number * 1e-4) for number in range(count)]
    others = [
        trade(
            begin + 30 * number + 11,
            (1 if number % 2 else -1) * (0.002 + number * 7 % 24 * 2e-4),
            symbol=SYMBOLS[1 + number % 2],
            side=("long", "short")[number // 2 % 2],
            entry_regime_tag=("trend_up", "trend_down")[number // 4 % 2],
            held=(0.5, 12.0)[number // 8 % 2],
        )
        for number in range(24)
    ]
    return losers + others
