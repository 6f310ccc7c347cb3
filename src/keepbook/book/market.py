"""Prices that everybody shares: bars, loaded from files, read by whoever follows a decision.

A bar is known by symbol, timeframe and the instant it begins. Loading the same file twice changes nothing; a bar that
comes with other figures is taken over, since the last one of a download is often still in the making. A row that is
wrong is named and skipped: it never costs a good one.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection

from keepbook.storage.database import Database, Tx


class Bar(NamedTuple):
    symbol: str
    timeframe: str
    time: str
    open: float
    high: float
    low: float
    close: float
    volume: float | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """A row that was not taken: where it stands, and why."""

    row: int
    reason: str


@dataclass(frozen=True, slots=True)
class Loaded:
    added: int
    changed: int
    unchanged: int
    refused: tuple[Refused, ...]


def ends(bar: Bar) -> str:
    """The instant at which a bar is complete."""
    raise NotImplementedError


def load(
    database: Database,
    text: Iterable[str],
    *,
    symbol: str | None = None,
    timeframe: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Loaded:
    """Bars from a file's lines: CSV with a header, JSON Lines, or OHLCV in the ccxt shape (JSON lists of
    `[milliseconds, open, high, low, close, volume]`), which needs `symbol` and `timeframe` said beside it."""
    raise NotImplementedError


def keep(conn: Connection, bars: Sequence[Bar]) -> tuple[int, int, int]:
    """Added, changed, unchanged."""
    raise NotImplementedError


def recent(tx: Tx, symbol: str, *, timeframe: str | None = None, limit: int = 60, before: datetime | None = None) -> Sequence[Bar]:
    """The last complete bars of a symbol, oldest first; of the finest timeframe there is, if none is named."""
    raise NotImplementedError


def symbols(tx: Tx) -> Sequence[str]:
    raise NotImplementedError
