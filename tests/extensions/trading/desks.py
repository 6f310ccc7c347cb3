"""What tests of trading need again and again: a market that never was, and an owner who traded on it."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from keepbook.demo.market import (
    Strategy,
    StrategyDesk,
    World,
    bar_lines,
    deployment_lines,
    event_lines,
    market_trade_lines,
    position_lines,
    skill_lines,
)

SCALPER = Strategy("BTC scalper", follows=True, looks_back=8, threshold=0.008, patience=12)
SWING = Strategy("ETH swing", follows=False, looks_back=16, threshold=0.012, stop=0.02, target=0.015, patience=200)
DESKS = (
    StrategyDesk("BTC scalper main", SCALPER, 10_000.0, ("BTC/USDT",)),
    StrategyDesk("ETH swing paper", SWING, 25_000.0, ("ETH/USDT",)),
)
NOW = datetime(2026, 3, 1, 9, tzinfo=UTC)
"""When the clock of the tests begins, a Sunday; the market ends there."""


def world(until: datetime = NOW, **told: Any) -> World:
    """Six weeks of quarter hours that end at an instant."""
    days = 45
    given = {"seed": 1, "symbols": ("BTC/USDT", "ETH/USDT"), "minutes": 15} | told
    return World(start=until - timedelta(days=days), days=days, **given)


@cache
def _lines(write: Callable[..., Iterable[str]], *given: Any) -> tuple[str, ...]:
    """What a file of the same world holds is drawn once."""
    return tuple(write(*given))


def market(kb: Any, the: World) -> None:
    """What all owners share."""
    assert kb.market.load(_lines(bar_lines, the)).wrong == 0
    assert kb.market.load_events(_lines(event_lines, the)).wrong == 0


def traded(book: Any, the: World, desks: tuple[StrategyDesk, ...] = DESKS) -> None:
    """What one owner did on it."""
    files = {
        "skills": _lines(skill_lines, desks),
        "deployments": _lines(deployment_lines, the, desks),
        "trades": _lines(market_trade_lines, the, desks),
        "positions": _lines(position_lines, the, desks),
    }
    for kind, lines in files.items():
        assert book.trading.load(kind, list(lines)).wrong == 0


def learn(book: Any, *, reflects: bool = True) -> None:
    """Twelve longs by hand that all lost about as much and twelve shorts that paid, every three days, and what they
    teach."""
    header = "deployment,symbol,side,quantity,entry_time,entry_price,exit_time,exit_price,entry_regime_tag"
    rows = [header]
    for nth in range(12):
        day = f"{NOW - timedelta(days=43 - 3 * nth):%Y-%m-%d}"
        for side, hour in (("long", 20), ("short", 4)):
            times = f"{day}T{hour:02}:07Z,60000,{day}T{hour + 2:02}:07Z"
            price = 59_400 - 10 * nth
            rows.append(f"{DESKS[0].name},BTC/USDT,{side},0.05,{times},{price},by hand")
    assert book.trading.load("trades", rows).added == 24
    if reflects:
        book.trading.reflect(skill=SCALPER.name)
