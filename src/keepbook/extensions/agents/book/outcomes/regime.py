"""The market before a decision: a trend up, a trend down, or none."""

from collections.abc import Sequence
from itertools import pairwise

from keepbook.extensions.agents.book import prices
from keepbook.storage.database import Tx

REGIME_BARS = 20  # by which a regime is told
TRENDING = 0.35
"""It is a trend if the price moved at least this share of the sum of its absolute moves."""


def regime(closes: Sequence[float]) -> str:
    """`trend_up`, `trend_down` or `chop`: the net move compared with the sum of absolute moves; `unknown` with too few
    closes."""
    if len(closes) < REGIME_BARS:
        return "unknown"
    way = sum(abs(after - before) for before, after in pairwise(closes))
    gone = closes[-1] - closes[0]
    if not way or abs(gone) / way < TRENDING:
        return "chop"
    if gone > 0:
        return "trend_up"
    return "trend_down"


def regime_before(tx: Tx, symbol: str, now: str) -> str:
    """The regime by the daily bars before a decision; if there are too few, by the coarsest timeframe with enough."""
    there = prices.timeframes(tx.conn, symbol)
    for timeframe in sorted(there, key=lambda name: (name != "1d", -prices.seconds(name))):
        latest = prices.recent(tx.conn, symbol, now, timeframe=timeframe, limit=REGIME_BARS)
        if latest and prices.is_stale(prices.bar_end(latest[-1]), timeframe, now):
            continue
        closes = [bar.close for bar in latest]
        found = regime(closes)
        if found != "unknown":
            return found
    return "unknown"
