"""Breaks results down by symbol, hour, weekday and tag; the time in the market, and a comparison with holding.

They are computed from the stored figures of each day (`days`), so that a million trades cost a thousand days. A part of
fewer than six trades has its number and no mean. Hours and weekdays are those of the entry, in UTC. Holding is what
equal parts of each traded symbol would have made from the first entry to the last exit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from keepbook.book.ground.when import parse_stamp
from keepbook.extensions.trading.book import days
from keepbook.extensions.trading.book.market import bars
from keepbook.extensions.trading.book.market.symbols import resolve_symbol
from keepbook.storage.database import Tx

SAMPLE = 6
"""How many trades a part needs for a mean, as many as a lesson."""
MOST_SPANS = 50_000
"""With more trades than this, the time in the market is computed only if the days have stored their spans."""
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class BreakdownPart:
    """Trades that have something in common; `mean` is what one of them earned, None under six."""

    name: str
    trades: int
    wins: int
    pnl: float
    mean: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """`exposure_time` is the share of the time from the first entry to the last exit in which something was open.

    `holding_pct` is what holding would have made, a fraction. What is None says why in `why`, by name.
    """

    trades: int
    by_symbol: tuple[BreakdownPart, ...]
    by_hour: tuple[BreakdownPart, ...]
    by_weekday: tuple[BreakdownPart, ...]
    by_tag: tuple[BreakdownPart, ...]
    exposure_time: float | None
    holding_pct: float | None
    why: dict[str, str]


# Rules


def part(name: str, count: int, wins: int, pnl: float) -> BreakdownPart:
    mean = None
    if count >= SAMPLE:
        mean = pnl / count
    return BreakdownPart(name, count, wins, pnl, mean)


def time_in(spans: Sequence[tuple[str, str]]) -> float | None:
    """The share of the whole time that the spans cover, overlaps counted once; they come in the order of entries."""
    if not spans:
        return None
    first, last = parse_stamp(spans[0][0]), max(parse_stamp(out) for _, out in spans)
    covered, until = 0.0, first
    for entry, out in ((parse_stamp(one), parse_stamp(other)) for one, other in spans):
        begin = max(entry, until)
        if out > begin:
            covered += (out - begin).total_seconds()
            until = out
    whole = (last - first).total_seconds()
    if whole:
        return covered / whole
    return None


# Queries


def broken_down(tx: Tx, deployment_ids: Sequence[str], known_at: str) -> Breakdown:
    """The breakdown of these deployments together, as it was known at an instant."""
    found = days.parts(tx, deployment_ids, known_at)
    sums = {kind: _sums_by_name(named) for kind, named in found.sums.items()}
    count = sum(one[1] for one in sums["symbol"])
    why: dict[str, str] = {}
    spans = days.spans(tx, deployment_ids, known_at) if found.spans is None and count <= MOST_SPANS else found.spans
    exposure = None if spans is None else time_in(days.merge_spans(spans))
    if exposure is None:
        why["exposure_time"] = f"more than {MOST_SPANS:,} trades" if spans is None else "no time between them"
    return Breakdown(
        trades=count, by_symbol=_largest_parts(sums["symbol"]),
        by_hour=tuple(part(f"{one[0]}:00", *one[1:]) for one in sums["hour"]),
        by_weekday=tuple(part(WEEKDAYS[int(one[0])], *one[1:]) for one in sums["weekday"]),
        by_tag=_largest_parts(sums["tag"]), exposure_time=exposure,
        holding_pct=_holding(tx, found.entered, found.left, [one[0] for one in sums["symbol"]], why), why=why,
    )  # fmt: skip


def _sums_by_name(named: Mapping[str, Sequence[float]]) -> list[tuple[str, int, int, float]]:
    return [(name, int(count), int(wins), pnl) for name, (count, wins, pnl) in sorted(named.items())]


def _largest_parts(sums: Sequence[tuple[str, int, int, float]]) -> tuple[BreakdownPart, ...]:
    return tuple(part(*one) for one in sorted(sums, key=lambda one: (-one[1], one[0]))[:50])


def _holding(tx: Tx, first: str, last: str, symbols: Sequence[str], why: dict[str, str]) -> float | None:
    made = []
    for symbol in symbols:
        named = resolve_symbol(tx.conn, symbol)
        frames = bars.timeframes(tx.conn, named)
        begin = next((one for name in frames if (one := bars.close_at(tx.conn, named, name, first))), None)
        end = next((one for name in frames if (one := bars.close_at(tx.conn, named, name, last))), None)
        if begin is None or end is None or begin[1] <= 0:
            why["holding_pct"] = f"no prices of {symbol} for that time"
            return None
        made.append(end[1] / begin[1] - 1)
    if not made:
        why["holding_pct"] = "no trades"
        return None
    return sum(made) / len(made)
