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
