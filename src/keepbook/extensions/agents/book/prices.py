"""Prices from whichever extension offers them under the name `bars`. If none does, there are no bars: then trades are
not followed, and symbols stay as they were written."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, Protocol

from sqlalchemy import Connection

from keepbook.extension import offered
from keepbook.storage.database import Tx


class Bar(Protocol):
    """One bar; `time` is when it begins."""

    @property
    def symbol(self) -> str: ...
    @property
    def timeframe(self) -> str: ...
    @property
    def time(self) -> str: ...
    @property
    def open(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def close(self) -> float: ...
    @property
    def volume(self) -> float | None: ...


class PriceSpan(Protocol):
    """The time span in which bars of a symbol came in, or were corrected."""

    @property
    def symbol(self) -> str: ...
    @property
    def first(self) -> str: ...
    @property
    def last(self) -> str: ...


def resolve_symbol(conn: Connection, symbol: str) -> str:
    prices = offered("bars")
    if prices is None:
        return symbol
    return str(prices.resolve_symbol(conn, symbol))


def resolve_unambiguous(conn: Connection, symbol: str) -> str:
    prices = offered("bars")
    if prices is None:
        return symbol
    return str(prices.resolve_unambiguous(conn, symbol))


def known_symbols(conn: Connection) -> Sequence[str]:
    found: Sequence[str] = _asked("symbols", conn)
    return found


def timeframes(conn: Connection, symbol: str) -> Sequence[str]:
    found: Sequence[str] = _asked("timeframes", conn, symbol)
    return found


def recent(conn: Connection, symbol: str, now: str, *, timeframe: str | None = None, limit: int = 60) -> Sequence[Bar]:
    """The last complete bars of a symbol, oldest first."""
    found: Sequence[Bar] = _asked("recent", conn, symbol, now, timeframe=timeframe, limit=limit)
    return found


def following_bars(tx: Tx, symbol: str, begins: str, until: str, now: str) -> Iterator[Bar]:
    """The complete bars of a stretch of time, oldest first."""
    yield from _asked("following_bars", tx, symbol, begins, until, now)


def latest_close(conn: Connection, symbol: str, instant: str) -> tuple[str, float, str] | None:
    """End, close and timeframe of the last bar that was over by an instant."""
    prices = offered("bars")
    found: tuple[str, float, str] | None = None
    if prices is not None:
        found = prices.latest_close(conn, symbol, instant)
    return found


def bar_across(conn: Connection, symbol: str, instant: str, now: str) -> Bar | None:
    """The complete bar in which an instant lies, not at its ends."""
    prices = offered("bars")
    found: Bar | None = None
    if prices is not None:
        found = prices.bar_across(conn, symbol, instant, now)
    return found


def close_known_then(conn: Connection, symbol: str, instant: str) -> float | None:
    """The last close that was known at an instant."""
    prices = offered("bars")
    return None if prices is None else prices.close_known_then(conn, symbol, instant)


def unsettled_spans(conn: Connection) -> Sequence[PriceSpan]:
    """The spans of bars that came in and after which decisions were not followed anew."""
    prices = offered("bars")
    return () if prices is None else prices.unsettled_spans(conn)[1]


# The rest is called only with bars, so some extension offers them.


def bar_end(bar: Bar) -> str:
    return str(offered("bars").bar_end(bar))


def seconds(timeframe: str) -> int:
    return int(offered("bars").seconds(timeframe))


def usual_pause(conn: Connection, symbol: str, timeframe: str, around: str, now: str) -> timedelta:
    """How long that market usually pauses between two bars, at the longest."""
    found: timedelta = offered("bars").usual_pause(conn, symbol, timeframe, around, now)
    return found


def is_stale(over: str, timeframe: str, at: str) -> bool:
    return bool(offered("bars").is_stale(over, timeframe, at))


def _asked(name: str, *args: Any, **given: Any) -> Any:
    prices = offered("bars")
    if prices is None:
        return ()
    return getattr(prices, name)(*args, **given)
