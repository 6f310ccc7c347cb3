"""What the market was like before a decision: it went up, it went down, or nowhere."""

from collections.abc import Sequence
from itertools import pairwise

from keepbook.extensions.agents.book import prices
from keepbook.storage.database import Tx

REGIME_BARS = 20
TRENDING = 0.35
"""From this share on, of the way the price went that led somewhere, the time before a decision was a trend."""


def regime(closes: Sequence[float]) -> str:
    """`trend_up`, `trend_down` or `chop`, by how much of the way went somewhere; `unknown` with too few closes."""
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
    """By the daily bars before the decision, else by the coarsest of which there are enough."""
    there = prices.timeframes(tx.conn, symbol)
    for timeframe in sorted(there, key=lambda name: (name != "1d", -prices.seconds(name))):
        latest = prices.recent(tx.conn, symbol, now, timeframe=timeframe, limit=REGIME_BARS)
        if latest and prices.is_stale(prices.bar_end(latest[-1]), timeframe, now):
            continue
        closes = [bar.close for bar in latest]
        if (found := regime(closes)) != "unknown":
            return found
    return "unknown"
