"""Bars: prices that everybody shares, loaded from files, and read to follow decisions.

A bar is identified by symbol, timeframe and the instant it begins. Loading the same file twice changes nothing. A bar
that comes with other figures is corrected, since the last one of a download is often incomplete, and its old figures
are kept. As of an instant, a bar counts from its end on, as prices are public, and a correction from when it came.
There may be very many bars: every query is a few look-ups in the index, never a scan.
"""

import heapq
import math
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from functools import lru_cache
from itertools import chain
from operator import attrgetter, itemgetter
from sys import byteorder
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Integer, Select, bindparam, func, literal_column, select

from keepbook.book.ground.limits import clean_line, sought
from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.book.ledger.batch import BatchTables
from keepbook.book.upkeep.reading_apart import USUAL_LIMITS, ReadingLimits
from keepbook.errors import Invalid
from keepbook.extensions.trading.book.files import (
    Layout,
    Progress,
    Source,
    Times,
    load_file,
    number,
    optional_number,
    refuse_missing,
)
from keepbook.extensions.trading.book.loading.loaded import LoadedFile
from keepbook.extensions.trading.book.market import batches
from keepbook.extensions.trading.book.market.batches import MARKET, Goods, PriceSpan
from keepbook.extensions.trading.market_tables import bars, former_bars
from keepbook.extensions.trading.market_tables import batches as batch_rows
from keepbook.patterns import regex
from keepbook.storage.bulk_rows import BulkRows, KeptCounts, RowValues
from keepbook.storage.database import Database, Tx
from keepbook.storage.prepared_statement import PreparedStatement

STALE = 5
"""A bar that ended more than this many of its periods ago is stale."""
COLUMNS = ("symbol", "timeframe", "time", "open", "high", "low", "close", "volume")
LAYOUT = Layout("bars", COLUMNS, needed=COLUMNS[:7], listed=COLUMNS[2:])
_TIMEFRAME = regex(r"([1-9]\d{0,3})([smhdwM])")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_NO_VOLUME, _NAMED, _PRICES = math.nan, itemgetter(0, 1), itemgetter(3, 4, 5, 6, 7)
REMOVED_AT_ONCE = 5000  # bars


class Bar(NamedTuple):
    """What a price did from `time` on, for the length of its timeframe."""

    symbol: str
    timeframe: str
    time: str
    open: float
    high: float
    low: float
    close: float
    volume: float | None = None


# Rules


@lru_cache(maxsize=1024)
def seconds(timeframe: str) -> int:
    """The length of a timeframe in seconds (a month counts as 30 days), to compare finer and coarser ones."""
    amount, unit = _parts(timeframe)
    return amount * (30 * 86_400 if unit == "M" else _UNITS[unit])


def bar_end(bar: Bar) -> str:
    """The instant at which a bar is complete."""
    amount, unit = _parts(bar.timeframe)
    begun = parse_stamp(bar.time)
    if unit == "M":
        months = begun.year * 12 + begun.month - 1 + amount
        return stamp(begun.replace(year=months // 12, month=months % 12 + 1, day=1))
    return stamp(begun + timedelta(seconds=amount * _UNITS[unit]))


def is_stale(over: str, timeframe: str, at: str) -> bool:
    """Whether a bar that ended at `over` is too old, at the instant `at`, to say anything about the present price."""
    return parse_stamp(at) - parse_stamp(over) > timedelta(seconds=STALE * seconds(timeframe))


def _parts(timeframe: str) -> tuple[int, str]:
    found = _TIMEFRAME.fullmatch(timeframe)
    if found is None:
        raise Invalid(f"{timeframe!r} is no timeframe; write it like 1m, 15m, 4h, 1d, 1w or 1M", field="timeframe")
    return int(found[1]), found[2]


def bar_reader() -> Callable[[RowValues], RowValues]:
    """A function that reads a row of a file as a bar; it raises `Invalid` if the row is wrong.

    Names and days repeat from row to row and are cached, so for most rows only the prices have to be read.
    """
    times = Times()
    names: dict[str, str] = {}
    endless = math.inf

    def read(row: RowValues) -> RowValues:
        symbol, timeframe, time, opened, high, low, closed, volume = row
        try:
            prices = float(opened), float(high), float(low), float(closed)
            amount = None
            if volume is not None and volume != "":
                amount = float(volume)
            first, top, bottom, last = prices
            if (
                0 <= bottom <= first <= top < endless
                and bottom <= last <= top
                and (amount is None or 0 <= amount < endless)
                and timeframe in names
            ):
                return names[symbol], timeframe, times.read(time), *prices, amount
        except (KeyError, TypeError, ValueError, OverflowError):
            pass
        bar = _to_bar(row, times)
        if isinstance(symbol, str) and timeframe == bar.timeframe and len(names) < Times.MOST:
            names[symbol], names[timeframe] = bar.symbol, timeframe
        return bar

    return read


def _to_bar(row: RowValues, times: Times) -> Bar:
    refuse_missing(LAYOUT, row)
    symbol, timeframe, time, *given, volume = row
    timeframe = str(timeframe).strip()
    seconds(timeframe)
    opened, high, low, closed = (number(value, name, low=0) for value, name in zip(given, COLUMNS[3:7], strict=True))
    if not (low <= opened <= high and low <= closed <= high):
        raise Invalid("open and close must lie between low and high", field="high")
    amount = optional_number(volume, "volume", low=0)
    name = clean_line(str(symbol), "symbol", 1, 40)
    return Bar(name, timeframe, times.read(time), opened, high, low, closed, amount)


def _bar_bytes(rows: Sequence[RowValues]) -> tuple[bytes, bytes]:
    """Many bars as bytes, for their seal: all keys, and all figures."""
    keys = []
    for begin, end in _series(rows):
        series = f"{rows[begin][0]}\x1f{rows[begin][1]}\x1f"
        keys.append(series + f"\n{series}".join([row[2] for row in rows[begin:end]]) + "\n")
    try:
        figures = array("d", chain.from_iterable(map(_PRICES, rows)))
    except TypeError:  # a bar without its volume
        values = chain.from_iterable(map(_PRICES, rows))
        figures = array("d", [_NO_VOLUME if value is None else value for value in values])
    if byteorder == "big":
        figures.byteswap()
    return "".join(keys).encode(), figures.tobytes()


def _spans(rows: Sequence[RowValues]) -> list[PriceSpan]:
    """The first and last time of each series."""
    return [PriceSpan(rows[begin][0], rows[begin][2], rows[end - 1][2]) for begin, end in _series(rows)]


def _series(rows: Sequence[RowValues]) -> Iterator[tuple[int, int]]:
    """The begin and end index of each series (the bars of one symbol and timeframe) in rows that are sorted by key."""
    begin = 0
    while begin < len(rows):
        end = bisect_right(rows, _NAMED(rows[begin]), begin, key=_NAMED)
        yield begin, end
        begin = end


# Operations


def load_bars(
    database: Database,
    source: Source,
    *,
    symbol: str | None = None,
    timeframe: str | None = None,
    progress: Progress | None = None,
    limits: ReadingLimits = USUAL_LIMITS,
) -> LoadedFile:
    """Load the bars of a file; `progress` is called with how many rows were read so far."""
    named = batches.source_name(source)

    def keep_rows(rows: list[RowValues]) -> KeptCounts:
        with database.unscoped(writes=True, write_lock=MARKET) as conn:
            return keep_bars(conn, rows, source=named, now=stamp(database.clock()))

    told = {"symbol": symbol, "timeframe": timeframe}
    return load_file(source, LAYOUT, told, bar_reader(), keep_rows, progress, limits).to_loaded()


def keep_bars(conn: Connection, given: Sequence[RowValues], *, source: str, now: str) -> KeptCounts:
    """Add new bars and correct changed ones; a row is a `Bar`."""
    return batches.keep_rows(conn, GOODS, source, now, given)


def remove_bars(
    conn: Connection, symbol: str, timeframe: str, *, source: str, now: str, since: str = "", until: str = "9"
) -> int:
    """Remove the bars that begin at `since` or later and before `until`. As of an earlier instant they are still
    known. Returns how many."""
    within = (bars.c.symbol == sought(symbol), bars.c.timeframe == sought(timeframe))
    query = select(bars).where(*within, bars.c.time >= since, bars.c.time < until).order_by(bars.c.time)
    removed = 0
    while rows := conn.execute(query.limit(REMOVED_AT_ONCE)).all():
        removed += batches.remove_rows(conn, GOODS, source, now, [tuple(row) for row in rows])
    return removed


# Queries


def recent(conn: Connection, symbol: str, now: str, *, timeframe: str | None = None, limit: int = 60) -> Sequence[Bar]:
    """The last bars that are complete at `now`, oldest first; of the finest timeframe if none is named."""
    timeframe = timeframe or next(iter(timeframes(conn, symbol)), None)
    if timeframe is None:
        return []
    query = select(*_FIGURES).where(
        bars.c.symbol == sought(symbol), bars.c.timeframe == sought(timeframe), bars.c.time < now
    )
    rows = conn.execute(query.order_by(bars.c.time.desc()).limit(limit + 1))
    complete = [bar for row in rows if bar_end(bar := Bar(*row)) <= now]
    return complete[:limit][::-1]


def close_at(
    conn: Connection, symbol: str, timeframe: str, instant: str, known_at: str | None = None
) -> tuple[str, float] | None:
    """The end and the close of the last bar that was over at an instant, as it was known at `known_at`; None if there
    is none."""
    amount, unit = _parts(timeframe)
    shortest = amount * (28 * 86_400 if unit == "M" else _UNITS[unit])
    try:
        begun = stamp(parse_stamp(instant) - timedelta(seconds=shortest))
    except OverflowError:
        return None
    place = {"symbol": sought(symbol), "timeframe": timeframe, "begun": begun}
    found = {row[0]: row for row in _CLOSES.tuples(conn, place)}
    if known_at is not None:
        # If a bar was corrected or removed since, its state before the first of those corrections was known.
        for *row, _ in _FORMER_CLOSES.tuples(conn, place | {"known_at": known_at}):
            found[row[0]] = row
    for time in sorted(found, reverse=True):
        bar = Bar(symbol, timeframe, *found[time])
        end = bar_end(bar)
        if end <= instant:
            return end, bar.close
    return None


def latest_close(conn: Connection, symbol: str, instant: str) -> tuple[str, float, str] | None:
    """The end, close and timeframe of the last bar of a symbol that was over at an instant; if several end together,
    of the finest."""
    found: tuple[str, float, str] | None = None
    for timeframe in timeframes(conn, symbol):
        last = close_at(conn, symbol, timeframe, instant)
        if last is not None and (found is None or last[0] > found[0]):
            found = (*last, timeframe)
    return found


def bar_across(conn: Connection, symbol: str, instant: str, now: str) -> Bar | None:
    """The complete bar that an instant lies inside of, not at its ends; if there are several, the finest."""
    for timeframe in timeframes(conn, symbol):
        here = (bars.c.symbol == sought(symbol), bars.c.timeframe == timeframe, bars.c.time < instant)
        row = conn.execute(select(*_FIGURES).where(*here).order_by(bars.c.time.desc()).limit(1)).first()
        if row is None:
            continue
        bar = Bar(*row)
        if instant < bar_end(bar) <= now:
            return bar
    return None


def close_known_then(conn: Connection, symbol: str, instant: str) -> float | None:
    """The last close that was over and loaded at an instant, if it is no older than a week."""
    found: list[tuple[str, float]] = []
    soonest = stamp(parse_stamp(instant) - timedelta(days=7))
    for timeframe in timeframes(conn, symbol):
        query = (
            select(*_FIGURES)
            .join(batch_rows, batch_rows.c.nth == bars.c.batch)
            .where(bars.c.symbol == sought(symbol), bars.c.timeframe == timeframe, bars.c.time <= instant)
            .where(batch_rows.c.at <= instant)
            .order_by(bars.c.time.desc())
        )
        last = next((bar for bar in map(Bar._make, conn.execute(query.limit(2))) if bar_end(bar) <= instant), None)
        if last is not None and bar_end(last) >= soonest:
            found.append((bar_end(last), last.close))
    if found:
        return max(found)[1]
    return None


def bars_in_place_of(conn: Connection, rows: Sequence[RowValues]) -> Iterator[RowValues]:
    """The stored bars with the same keys as `rows`. Files hold whole series, so a range of each series is read."""
    series: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        series.setdefault((row[0], row[1]), []).append(row[2])
    for (symbol, timeframe), times in series.items():
        wanted = set(times)
        here = (bars.c.symbol == symbol, bars.c.timeframe == timeframe)
        query = select(bars).where(*here, bars.c.time >= min(times), bars.c.time <= max(times))
        yield from (tuple(row) for row in conn.execute(query) if row.time in wanted)


def timeframes(conn: Connection, symbol: str) -> list[str]:
    """The timeframes of a symbol, the finest first."""
    found = [name for (name,) in _TIMEFRAMES.tuples(conn, {"symbol": sought(symbol)})]
    return sorted(found, key=lambda name: (seconds(name), name))


def following_bars(tx: Tx, symbol: str, begins: str, until: str, now: str) -> Iterator[Bar]:
    """The bars on which a decision is followed: complete bars that do not overlap, and none ends after `until`.

    Each begins where the last one ended, or later. If several begin together, the finest is taken. The choice never
    depends on a later bar.
    """
    latest = min(until, now)
    within = (bars.c.symbol == sought(symbol), bars.c.time >= begins, bars.c.time < latest)
    within_time = select(*_FIGURES).where(*within).order_by(bars.c.time)
    series = [
        map(Bar._make, tx.conn.execute(within_time.where(bars.c.timeframe == name)))
        for name in timeframes(tx.conn, symbol)
    ]
    free = begins
    together: list[Bar] = []
    for bar in chain(heapq.merge(*series, key=attrgetter("time")), [None]):
        if together and (bar is None or bar.time != together[0].time):
            if together[0].time >= free:
                taken = min(together, key=lambda one: (seconds(one.timeframe), one.timeframe))
                yield taken
                free = bar_end(taken)
            together = []
        if bar is not None and bar.time >= free and bar_end(bar) <= latest:
            together.append(bar)


def symbols(conn: Connection) -> Sequence[str]:
    return list(conn.execute(_SYMBOLS).scalars())


def _steps(column: ColumnElement[str], *within: ColumnElement[bool]) -> Select[str]:
    """A query for the distinct values of a column that looks into the index once for each; DISTINCT would read every
    bar."""
    first = select(func.min(column).label("value")).where(*within)
    walk = first.cte("walk", recursive=True)
    following = select(func.min(column)).where(*within, column > walk.c.value).scalar_subquery()
    walk = walk.union_all(select(following).where(walk.c.value.isnot(None)))
    return select(walk.c.value).where(walk.c.value.isnot(None)).order_by(walk.c.value)


GOODS = Goods("bars", BatchTables(bars, former_bars, _bar_bytes), bars_in_place_of, _spans, BulkRows(bars))
_FIGURES = [bars.c[name] for name in COLUMNS]
_SYMBOLS = _steps(bars.c.symbol)
_TIMEFRAMES = PreparedStatement(_steps(bars.c.timeframe, bars.c.symbol == bindparam("symbol")))
# Two rows, because the last bar that has begun may not be over: months differ in length.
_CLOSES = PreparedStatement(
    select(bars.c.time, bars.c.open, bars.c.high, bars.c.low, bars.c.close)
    .where(bars.c.symbol == bindparam("symbol"), bars.c.timeframe == bindparam("timeframe"))
    .where(bars.c.time <= bindparam("begun"))
    .order_by(bars.c.time.desc())
    .limit(literal_column("2", Integer))
)
# Sorted so that of several former states of a bar the one that was known at the instant comes last and is taken.
_FORMER_CLOSES = PreparedStatement(
    select(*(former_bars.c[name] for name in ("time", "open", "high", "low", "close", "until")))
    .where(former_bars.c.symbol == bindparam("symbol"), former_bars.c.timeframe == bindparam("timeframe"))
    .where(former_bars.c.time <= bindparam("begun"), former_bars.c.until > bindparam("known_at"))
    .order_by(former_bars.c.time.desc(), former_bars.c.until.desc())
    .limit(literal_column("50", Integer))
)
