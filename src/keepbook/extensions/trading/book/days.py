"""Stores the figures of each day of closed trades, so that a page reads a thousand days and not a million trades.

The trades of a day are folded into figures that can be combined with those of other days: sums, the best and the worst,
and the drawdowns of its equity path, from which equity and drawdown follow exactly, whatever came before. A write marks
the days that it touches in its own transaction, and folds them anew before it ends, or, for a long file, in the next
transaction. A day is read from its trades if it is marked, if it was not completely known at the instant asked about,
or if a period begins in it. So the stored figures are only a shortcut: both ways give the same figures to the last
digit. Days are those of the exit, in UTC.
"""

import heapq
import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import bindparam, delete, func, insert, select, update

from keepbook.book.ground import stored_json
from keepbook.extensions.trading.book import former
from keepbook.extensions.trading.book.market.symbols import spell_market
from keepbook.extensions.trading.tables import trade_days as kept_days
from keepbook.extensions.trading.tables import trades
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement, set_columns

ClosedTrade = tuple[str, float, float]
"""A closed trade: exit time, PnL net of fees, fees. A plain tuple, because there may be a million."""
TradeRow = tuple[str, float, float, str, str, str, str, str]
"""A `ClosedTrade` with more fields behind it: symbol, entry time, tag, when it was known, deployment."""
MOST_AT_ONCE = 10_000
"""How many trades of a long load are folded in one transaction, so that no other writer waits long."""
MOST_SPANS = 200
"""With more `spans` than this, a day stores none of them."""
KINDS = ("symbol", "hour", "weekday", "tag")


class Drawdown(NamedTuple):
    """A new high of the day's equity path and the lowest point before the next high. Only the first and deeper ones are
    kept."""

    high: float
    low: float


class DayPiece(NamedTuple):
    """Consecutive trades of one day, folded into figures. The path starts at zero; `high` is its highest point."""

    day: str
    first: str
    last: str
    trades: int
    wins: int
    gain: float
    loss: float
    fees: float
    best: float
    worst: float
    pnl: float
    high: float
    turns: tuple[Drawdown, ...]


@dataclass(slots=True)
class DayParts:
    """A day's trades, wins and PnL by symbol, hour, weekday and tag. `spans` are the times with an open position;
    `entered` and `left` are the first entry and the last exit."""

    sums: dict[str, dict[str, list[float]]] = field(default_factory=lambda: {kind: {} for kind in KINDS})
    spans: list[tuple[str, str]] | None = field(default_factory=list)
    entered: str = ""
    left: str = ""


# Rules


def fold_day(day: str, rows: Iterable[ClosedTrade]) -> DayPiece:
    """Fold the trades of a day, at least one, in the order of their exits."""
    first = last = ""
    count = wins = 0
    gain = loss = paid = path = high = 0.0
    best, worst = float("-inf"), float("inf")
    low: float | None = None
    turns: list[Drawdown] = []
    for at, pnl, fees in rows:
        first, last = first or at, at
        count += 1
        paid += fees
        if pnl > 0:
            wins += 1
            gain += pnl
        else:
            loss -= pnl
        best, worst = max(best, pnl), min(worst, pnl)
        path += pnl
        if path >= high:
            _turn(turns, high, low)
            high = low = path
        elif low is None or path < low:
            low = path
    _turn(turns, high, low)
    return DayPiece(day, first, last, count, wins, gain, loss, paid, best, worst, path, high, tuple(turns))


def _turn(turns: list[Drawdown], high: float, low: float | None) -> None:
    """Add a drawdown if it is deeper than the last one. If not, it can never be the deepest: the last one began at a
    lower peak and fell further."""
    if low is not None and (not turns or high - low > turns[-1].high - turns[-1].low):
        turns.append(Drawdown(high, low))


def fold_days(rows: Iterable[ClosedTrade], cuts: Collection[str] = ()) -> Iterator[DayPiece]:
    """Fold trades, ordered by exit, into one piece per day. A day is split where an instant of `cuts` falls into it."""
    inside = sorted(cuts)

    def place(row: ClosedTrade) -> tuple[str, int]:
        return row[0][:10], sum(row[0] >= cut for cut in inside)

    return (fold_day(day, some) for (day, _), some in groupby(rows, key=place))


def scale_piece(piece: DayPiece, rate: float) -> DayPiece:
    """The piece with its amounts in another currency."""
    turns = tuple(Drawdown(one.high * rate, one.low * rate) for one in piece.turns)
    amounts = {name: getattr(piece, name) * rate for name in ("gain", "loss", "fees", "best", "worst", "pnl", "high")}
    return piece._replace(turns=turns, **amounts)


def merge_spans(spans: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Time spans without overlaps, in order."""
    found: list[tuple[str, str]] = []
    for entry, out in sorted(spans):
        if found and entry <= found[-1][1]:
            found[-1] = (found[-1][0], max(out, found[-1][1]))
        else:
            found.append((entry, out))
    return found


def together(parts: Iterable[DayParts]) -> DayParts:
    """The parts of several days added up; with spans only if every day has stored them."""
    whole = DayParts()
    for one in parts:
        for kind, named in one.sums.items():
            for name, sums in named.items():
                known = whole.sums[kind].setdefault(name, [0, 0, 0.0])
                known[:] = [mine + more for mine, more in zip(known, sums, strict=True)]
        if whole.spans is None or one.spans is None:
            whole.spans = None
        else:
            whole.spans = [*whole.spans, *one.spans]
        whole.entered = min(filter(None, (whole.entered, one.entered)), default="")
        whole.left = max(whole.left, one.left)
    return whole


def _whole_day(day: str, rows: Sequence[TradeRow]) -> dict[str, Any]:
    """The columns that are stored for a day, from all its trades."""
    left, pnl, fees, *_, known_at, _ = columns = list(zip(*rows, strict=True))
    piece, parts = fold_day(day, zip(left, pnl, fees, strict=True)), _parts(columns)
    told = {"sums": parts.sums, "spans": parts.spans, "entered": parts.entered, "left": parts.left}
    return {
        "trades": piece.trades, "last": piece.last, "known_at": max(known_at),
        "figures": json.dumps(piece[1:]), "parts": json.dumps(told),
    }  # fmt: skip


def _parts(columns: Iterable[Sequence[Any]]) -> DayParts:
    """The parts of a day. `columns` are the columns of its `TradeRow`s."""
    left, pnl, _, symbols, entered, tags, *_ = columns
    spans = merge_spans(zip(entered, left, strict=True))
    hours, weekdays = [entry[11:13] for entry in entered], [_weekday(entry[:10]) for entry in entered]
    names = (map(spell_market, symbols), hours, weekdays, tags)
    sums = {kind: _sum_by_name(some, pnl) for kind, some in zip(KINDS, names, strict=True)}
    return DayParts(sums, spans if len(spans) <= MOST_SPANS else None, min(entered), max(left))


def _sum_by_name(names: Iterable[str], pnl: Iterable[float]) -> dict[str, list[float]]:
    """For each name the number of trades, the number of wins, and the sum of PnL, in the order of exits."""
    found: dict[str, list[float]] = {}
    for name, earned in zip(names, pnl, strict=True):
        sums = found.get(name)
        if sums is None:
            sums = found[name] = [0, 0, 0.0]
        sums[0] += 1
        sums[1] += earned > 0
        sums[2] += earned
    return found


@lru_cache(maxsize=4096)
def _weekday(day: str) -> str:
    return str(date.fromisoformat(day).weekday())


def _piece(day: str, figures: str) -> DayPiece:
    *told, turns = stored_json.load_json(figures)
    return DayPiece._make((day, *told, tuple(Drawdown._make(one) for one in turns)))


def _kept_parts(told: str) -> DayParts:
    known = stored_json.load_json(told)
    spans = None
    if known["spans"] is not None:
        spans = [(one, other) for one, other in known["spans"]]
    return DayParts(known["sums"], spans, known["entered"], known["left"])


# Operations


def mark_days(tx: Tx, touched: Collection[tuple[str, str]]) -> None:
    """Mark days (deployment, day) whose trades have changed: their stored figures are not used any more."""
    for place, some in groupby(sorted(touched), key=itemgetter(0)):
        days = [day for _, day in some]
        mine = (kept_days.c.owner == tx.owner, kept_days.c.deployment_id == place)
        known: set[str] = set()
        for start in range(0, len(days), 500):
            here = (*mine, kept_days.c.day.in_(days[start : start + 500]))
            known |= set(tx.conn.execute(select(kept_days.c.day).where(*here)).scalars())
            tx.conn.execute(update(kept_days).where(*here, kept_days.c.trades.isnot(None)).values(trades=None))
        new = [{"owner": tx.owner, "deployment_id": place, "day": day} for day in days if day not in known]
        if new:
            tx.conn.execute(insert(kept_days), new)


def mark_all(tx: Tx) -> None:
    """Mark every day with a trade, for a book whose trades were not written by `keep_trades`."""
    query = select(trades.c.deployment_id, func.substr(trades.c.exit_time, 1, 10)).where(trades.c.owner == tx.owner)
    mark_days(tx, {(row[0], row[1]) for row in tx.conn.execute(query.distinct())})


def fold_marked_days(tx: Tx, most: int | None = None) -> bool:
    """Fold the marked days, until `most` trades were read. Returns whether no marked day is left."""
    read = 0
    for place, day in _MARKED.tuples(tx.conn, {"owner": tx.owner}):
        if most is not None and read >= most:
            return False
        rows = _OF_DAY.tuples(tx.conn, {"owner": tx.owner, "place": place, "begin": day, "end": f"{day}~"})
        here = {"owner": tx.owner, "deployment_id": place, "day": day}
        if rows:
            set_columns(tx.conn, kept_days, here, _whole_day(day, rows))
        else:
            _DROP.run(tx.conn, here)
        read += len(rows)
    return True


# Queries


def pieces(
    tx: Tx, deployment_ids: Sequence[str], known_at: str, since: str | None = None, cuts: Collection[str] = ()
) -> Iterator[DayPiece]:
    """The trades that were known to be closed by an instant, as pieces in the order of exits, split at the `cuts`."""
    inside = {cut[:10] for cut in (*cuts, since) if cut and not cut.endswith("T00:00:00.000000Z")}
    for usable, days in _days_with_trades(tx, deployment_ids, known_at, since, inside, together=False):
        if usable:
            yield from (_piece(day, row.figures) for day, (row,) in days)
        else:
            first = max(days[0][0], since or "")
            yield from fold_days(closed_by(tx, deployment_ids, known_at, first, days[-1][0]), cuts)


def parts(tx: Tx, deployment_ids: Sequence[str], known_at: str) -> DayParts:
    """The parts of the results that were known at an instant, day by day."""

    def found() -> Iterator[DayParts]:
        for usable, days in _days_with_trades(tx, deployment_ids, known_at, None, (), together=True, wanted="parts"):
            if usable:
                yield from (_kept_parts(row.parts) for _, rows in days for row in rows)
            else:
                rows = tx.conn.execute(_kept_days(tx, deployment_ids, known_at, days[0][0], days[-1][0]))
                by_day = groupby(rows, key=lambda row: (row.exit_time[:10], row.deployment_id))
                yield from (_parts(zip(*some, strict=True)) for _, some in by_day)

    return together(found())


def spans(tx: Tx, deployment_ids: Sequence[str], known_at: str) -> list[tuple[str, str]]:
    """The time span of each trade that was known to be closed by an instant."""
    rows = tx.conn.execute(_kept_days(tx, deployment_ids, known_at, "", "9"))
    return [(row.entry_time, row.exit_time) for row in rows]


def count_trades(tx: Tx, deployment_ids: Sequence[str], known_at: str) -> int:
    """How many trades were known to be closed by an instant."""
    total = 0
    for usable, days in _days_with_trades(tx, deployment_ids, known_at, None, (), together=True):
        if usable:
            total += sum(row.trades for _, rows in days for row in rows)
        else:
            rows = _kept_days(tx, deployment_ids, known_at, days[0][0], days[-1][0]).order_by(None).subquery()
            total += tx.conn.execute(select(func.count()).select_from(rows)).scalar() or 0
    return total


FoldedDay = tuple[str, list[Any]]


def _days_with_trades(
    tx: Tx, deployment_ids: Sequence[str], known_at: str, since: str | None, inside: Collection[str], *,
    together: bool, wanted: str = "figures",
) -> Iterator[tuple[bool, list[FoldedDay]]]:  # fmt: skip
    """The days that have trades, in order: runs of days whose stored figures can be used, and days that must be read
    from their trades.

    `together` uses the stored figures of a day in which several deployments closed trades, to be added. Without it such
    a day must be read: only the trades in one order give its path.
    """
    columns = (kept_days.c.day, kept_days.c.trades, kept_days.c.last, kept_days.c.known_at, kept_days.c[wanted])
    query = select(*columns).where(kept_days.c.owner == tx.owner, kept_days.c.deployment_id.in_(list(deployment_ids)))
    query = query.where(kept_days.c.day <= known_at[:10], kept_days.c.day >= (since or "")[:10])
    days: list[FoldedDay] = []
    corrected = former.corrected_days(tx, deployment_ids, known_at)
    for row in tx.conn.execute(query.order_by(kept_days.c.day, kept_days.c.deployment_id)):
        if days and days[-1][0] == row.day:
            days[-1][1].append(row)
        else:
            days.append((row.day, [row]))
    # Days whose trades were all removed since have no stored row, but had trades at that instant.
    gone = corrected - {day for day, _ in days}
    days = sorted([*days, *((day, []) for day in gone if (since or "")[:10] <= day <= known_at[:10])])

    def usable(one: FoldedDay) -> bool:
        day, rows = one
        if day in inside or day in corrected or (len(rows) > 1 and not together):
            return False
        return all(row.trades is not None and row.last <= known_at and row.known_at <= known_at for row in rows)

    return ((is_usable, list(some)) for is_usable, some in groupby(days, key=usable))


def closed_by(
    tx: Tx, deployment_ids: Sequence[str], known_at: str, since: str = "", through: str = "9"
) -> Iterator[ClosedTrade]:
    """The trades that were known to be closed by an instant, in the order of exits, read lazily."""
    streams = [_closed_trades(tx, id, known_at, since, through) for id in dict.fromkeys(deployment_ids)]
    if len(streams) == 1:
        merged_streams = streams[0]
    else:
        merged_streams = heapq.merge(*streams)
    return (row[-3:] for row in merged_streams)


def _closed_trades(tx: Tx, deployment_id: str, known_at: str, since: str, through: str) -> Iterator[Any]:
    """The closed trades of one deployment: exit time, deployment and key, by which streams are merged, followed by a
    `ClosedTrade`."""
    of = former.trades_as_of(tx, [deployment_id], known_at).c
    query = select(of.exit_time, of.deployment_id, of.key, of.exit_time.label("at"), of.pnl, of.fees)
    query = query.where(of.owner == tx.owner, of.deployment_id == deployment_id)
    query = query.where(of.exit_time >= since, of.exit_time < f"{through}~")
    query = query.where(of.exit_time <= known_at, of.known_at <= known_at)
    rows = tx.conn.execute(query.order_by(of.exit_time, of.key), execution_options={"yield_per": 5000})
    return map(tuple, rows)


def _columns(of: Any) -> list[Any]:
    """The columns of a `TradeRow`."""
    tag = func.coalesce(of.entry_regime_tag, of.entry_reason, "none").label("tag")
    return [of.exit_time, of.pnl, of.fees, of.symbol, of.entry_time, tag, of.known_at, of.deployment_id]


def _kept_days(tx: Tx, deployment_ids: Sequence[str], known_at: str, first: str, last: str) -> Any:
    """A query for the `TradeRow`s of some days, by day and deployment, each in the order in which days are folded."""
    of = former.trades_as_of(tx, deployment_ids, known_at).c
    query = select(*_columns(of)).where(of.owner == tx.owner, of.deployment_id.in_(list(deployment_ids)))
    query = query.where(of.exit_time >= first, of.exit_time < f"{last}~")
    query = query.where(of.exit_time <= known_at, of.known_at <= known_at)
    return query.order_by(func.substr(of.exit_time, 1, 10), of.deployment_id, of.exit_time, of.key)


_MARKED = PreparedStatement(
    select(kept_days.c.deployment_id, kept_days.c.day).where(
        kept_days.c.owner == bindparam("owner"), kept_days.c.trades.is_(None)
    )
)
_OF_DAY = PreparedStatement(
    select(*_columns(trades.c))
    .where(trades.c.owner == bindparam("owner"), trades.c.deployment_id == bindparam("place"))
    .where(trades.c.exit_time >= bindparam("begin"), trades.c.exit_time < bindparam("end"))
    .order_by(trades.c.exit_time, trades.c.key)
)
_DROP = PreparedStatement(
    delete(kept_days).where(*(column == bindparam(column.name) for column in kept_days.primary_key))
)
