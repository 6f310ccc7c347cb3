"""What trading offers to other extensions under the name `bars`: prices, symbols, and which prices came in late."""

from keepbook.extensions.trading.book.market.bars import (
    bar_across,
    bar_end,
    close_known_then,
    following_bars,
    is_stale,
    latest_close,
    recent,
    seconds,
    symbols,
    timeframes,
)
from keepbook.extensions.trading.book.market.batches import mark_settled, unsettled_spans
from keepbook.extensions.trading.book.market.pauses import usual_pause
from keepbook.extensions.trading.book.market.symbols import resolve_symbol, resolve_unambiguous

__all__ = [
    "bar_across",
    "bar_end",
    "close_known_then",
    "following_bars",
    "is_stale",
    "latest_close",
    "mark_settled",
    "recent",
    "resolve_symbol",
    "resolve_unambiguous",
    "seconds",
    "symbols",
    "timeframes",
    "unsettled_spans",
    "usual_pause",
]
