"""Where results come from: by symbol, hour, weekday and tag, how much of the time was in the market, and holding.

Sums are made by the database, so that a million trades cost a walk there and a few rows here. A part of fewer than six
trades says how many it has and no mean. Hours and weekdays are those of the entry, in UTC. Holding is what equal parts
of each traded symbol would have made from the first entry to the last exit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from sqlalchemy import ColumnElement, Integer, case, cast, func, select

from keepbook.book.ground.when import parse_stamp
from keepbook.book.trading import bars
from keepbook.storage.database import Tx
from keepbook.storage.tables import trades

SAMPLE = 6
"""From so many trades on a mean is told, as with lessons."""
MOST_SPANS = 50_000
"""Of more trades than this the time in the market is not worked out."""
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True, slots=True)
class Part:
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
    by_symbol: tuple[Part, ...]
    by_hour: tuple[Part, ...]
    by_weekday: tuple[Part, ...]
    by_tag: tuple[Part, ...]
    exposure_time: float | None
    holding_pct: float | None
    why: dict[str, str]


# Rules


def part(name: str, count: int, wins: int, pnl: float) -> Part:
    return Part(name, count, wins, pnl, pnl / count if count >= SAMPLE else None)


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
    return covered / whole if whole else None


# Queries


def broken_down(tx: Tx, deployment_ids: Sequence[str], known_at: str) -> Breakdown:
    """Of these deployments together, as it was known at an instant."""
    within = (
        trades.c.owner == tx.owner, trades.c.deployment_id.in_(list(deployment_ids)),
        trades.c.exit_time <= known_at, trades.c.known_at <= known_at,
    )  # fmt: skip
    days = _summed(tx, within, func.substr(trades.c.entry_time, 1, 10))
    weekdays: dict[int, list[float]] = {}
    for day, count, wins, pnl in days:
        sums = weekdays.setdefault(date.fromisoformat(day).weekday(), [0, 0, 0.0])
        sums[0], sums[1], sums[2] = sums[0] + count, sums[1] + wins, sums[2] + pnl
    symbols = _summed(tx, within, trades.c.symbol)
    count = sum(one[1] for one in symbols)
    why: dict[str, str] = {}
    exposure = None
    if count <= MOST_SPANS:
        spans = tx.conn.execute(
            select(trades.c.entry_time, trades.c.exit_time).where(*within).order_by(trades.c.entry_time)
        )
        exposure = time_in([(row[0], row[1]) for row in spans])
    if exposure is None:
        why["exposure_time"] = f"more than {MOST_SPANS:,} trades" if count > MOST_SPANS else "no time between them"
    hours = _summed(tx, within, func.substr(trades.c.entry_time, 12, 2))
    holding = _holding(tx, within, [one[0] for one in symbols], why)
    return Breakdown(
        trades=count, by_symbol=_ranked(symbols),
        by_hour=tuple(part(f"{one[0]}:00", *one[1:]) for one in hours),
        by_weekday=tuple(
            part(WEEKDAYS[day], int(sums[0]), int(sums[1]), sums[2]) for day, sums in sorted(weekdays.items())
        ),
        by_tag=_ranked(_summed(tx, within, func.coalesce(trades.c.entry_regime_tag, trades.c.entry_reason, "none"))),
        exposure_time=exposure, holding_pct=holding, why=why,
    )  # fmt: skip


def _ranked(sums: Sequence[tuple[str, int, int, float]]) -> tuple[Part, ...]:
    return tuple(part(*one) for one in sorted(sums, key=lambda one: (-one[1], one[0]))[:50])


def _summed(tx: Tx, within: tuple[ColumnElement[bool], ...], by: Any) -> list[tuple[str, int, int, float]]:
    wins = func.sum(cast(case((trades.c.pnl > 0, 1), else_=0), Integer))
    query = select(by.label("part"), func.count(), wins, func.sum(trades.c.pnl)).where(*within).group_by(by)
    return [(str(row[0]), int(row[1]), int(row[2]), float(row[3])) for row in tx.conn.execute(query.order_by(by))]


def _holding(
    tx: Tx, within: tuple[ColumnElement[bool], ...], symbols: Sequence[str], why: dict[str, str]
) -> float | None:
    first, last = tx.conn.execute(
        select(func.min(trades.c.entry_time), func.max(trades.c.exit_time)).where(*within)
    ).one()
    made = []
    for symbol in symbols:
        frames = bars.timeframes(tx.conn, symbol)
        begin = next((one for name in frames if (one := bars.close_at(tx.conn, symbol, name, first))), None)
        end = next((one for name in frames if (one := bars.close_at(tx.conn, symbol, name, last))), None)
        if begin is None or end is None or begin[1] <= 0:
            why["holding_pct"] = f"no bars of {symbol} for that time"
            return None
        made.append(end[1] / begin[1] - 1)
    if not made:
        why["holding_pct"] = "no trades"
        return None
    return sum(made) / len(made)
