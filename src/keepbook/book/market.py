"""Prices that everybody shares: bars, loaded from files, read by whoever follows a decision.

A bar is known by symbol, timeframe and the instant it begins. Loading the same file twice changes nothing; a bar that
comes with other figures is taken over, since the last one of a download is often still in the making. A row that is
wrong is named and skipped: it never costs a good one.
"""

import csv
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, bindparam, insert, or_, select, update

from keepbook.book.limits import clean_line, sought
from keepbook.book.when import instant, parse_stamp, stamp
from keepbook.errors import Invalid
from keepbook.storage.database import Database, Tx
from keepbook.storage.tables import bars

COLUMNS = ("symbol", "timeframe", "time", "open", "high", "low", "close", "volume")
AT_ONCE = 500
MOST_REFUSED = 1000
"""So many wrong rows are told one by one; of more only the number."""
_TIMEFRAME = re.compile(r"([1-9]\d{0,3})([smhdwM])")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


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


@dataclass(frozen=True, slots=True)
class Refused:
    """A row that was not taken: where it stands in the file, and why."""

    row: int
    reason: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a file brought. `refused` tells the first thousand wrong rows, `wrong` counts them all."""

    added: int
    changed: int
    unchanged: int
    wrong: int
    refused: tuple[Refused, ...]


class Kept(NamedTuple):
    added: int
    changed: int
    unchanged: int


# Rules


@lru_cache(maxsize=1024)
def seconds(timeframe: str) -> int:
    """How long a timeframe is (a month counts as 30 days): what finer and coarser are judged by."""
    amount, unit = _parts(timeframe)
    return amount * (30 * 86_400 if unit == "M" else _UNITS[unit])


def ends(bar: Bar) -> str:
    """The instant at which a bar is complete."""
    amount, unit = _parts(bar.timeframe)
    begun = parse_stamp(bar.time)
    if unit == "M":
        months = begun.year * 12 + begun.month - 1 + amount
        return stamp(begun.replace(year=months // 12, month=months % 12 + 1, day=1))
    return stamp(begun + timedelta(seconds=amount * _UNITS[unit]))


def _parts(timeframe: str) -> tuple[int, str]:
    found = _TIMEFRAME.fullmatch(timeframe)
    if found is None:
        raise Invalid(f"{timeframe!r} is no timeframe; write it like 1m, 15m, 4h, 1d, 1w or 1M", field="timeframe")
    return int(found[1]), found[2]


def to_bar(row: Mapping[str, Any]) -> Bar:
    """A row of a file as a bar; `Invalid` says what is wrong with it."""
    if missing := [name for name in COLUMNS[:7] if row.get(name) in (None, "")]:
        raise Invalid(f"{missing[0]} is missing", field=missing[0])
    timeframe = str(row["timeframe"]).strip()
    seconds(timeframe)
    prices = [_price(row[name], name) for name in ("open", "high", "low", "close")]
    opened, high, low, closed = prices
    if not (low <= opened <= high and low <= closed <= high):
        raise Invalid("open and close must lie between low and high", field="high")
    volume = row.get("volume")
    amount = None if volume in (None, "") else _price(volume, "volume")
    symbol = clean_line(str(row["symbol"]), "symbol", 1, 40)
    return Bar(symbol, timeframe, _time(row["time"]), opened, high, low, closed, amount)


def _price(value: Any, field: str) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise Invalid(f"{field} is a number from 0 on, not {str(value)[:40]!r}", field=field)
    return number


def _time(value: Any) -> str:
    """ISO 8601, or milliseconds since 1970 as ccxt has them."""
    if isinstance(value, str) and not value.strip().lstrip("-").isdigit():
        return instant(value.strip(), field="time") or ""
    try:
        return stamp(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(value)))
    except (TypeError, ValueError, OverflowError):
        raise Invalid(f"time is ISO 8601 or milliseconds, not {str(value)[:40]!r}", field="time") from None


def rows_of(lines: Iterable[str], told: Mapping[str, str]) -> Iterator[tuple[int, Any]]:
    """(where it stands, the row) for each row of a file: CSV with a header, JSON Lines, or one JSON value.

    `told` holds symbol and timeframe where the file does not say them, as in OHLCV of the ccxt shape: lists of
    milliseconds, open, high, low, close, volume, all in one list or one a line.
    """
    coming = iter(lines)
    first = next((line for line in coming if line.strip()), "")
    whole = chain([first], coming)
    if first.lstrip("\ufeff").lstrip().startswith(("{", "[")):
        yield from _json_rows(whole, told)
    else:
        yield from _csv_rows(whole, told)


def _csv_rows(lines: Iterable[str], told: Mapping[str, str]) -> Iterator[tuple[int, Any]]:
    reader = csv.reader(lines)
    header = [name.strip().lstrip("\ufeff").lower() for name in next(reader, [])]
    if missing := [name for name in COLUMNS[:7] if name not in header and name not in told]:
        raise Invalid(f"the file has no column {missing[0]!r}; bars have {', '.join(COLUMNS)}", field="file")
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield reader.line_num, Invalid(f"no line of a table: {error}")
            continue
        if any(cell.strip() for cell in cells):
            yield reader.line_num, {**told, **dict(zip(header, cells, strict=False))}


def _json_rows(lines: Iterable[str], told: Mapping[str, str]) -> Iterator[tuple[int, Any]]:
    texts = list(lines)
    try:
        value = json.loads("".join(texts).lstrip("\ufeff"))
    except (ValueError, RecursionError):
        value = None  # one a line, then
    if isinstance(value, dict) and isinstance(value.get("ohlcv"), list):
        told = {**told, **{name: str(value[name]) for name in ("symbol", "timeframe") if name in value}}
        value = value["ohlcv"]
    if isinstance(value, list) and (not value or isinstance(value[0], list | dict)):
        yield from ((number, _json_row(row, told)) for number, row in enumerate(value, 1))
        return
    for number, text in enumerate(texts, 1):
        if text.strip():
            try:
                yield number, _json_row(json.loads(text.lstrip("\ufeff")), told)
            except (ValueError, RecursionError):
                yield number, Invalid("is not JSON")


def _json_row(row: Any, told: Mapping[str, str]) -> Any:
    if isinstance(row, list):
        return {**told, **dict(zip(COLUMNS[2:], row, strict=False))}
    return {**told, **row} if isinstance(row, dict) else Invalid("is neither an object nor a list")


# Operations


def load(
    database: Database,
    lines: Iterable[str],
    *,
    symbol: str | None = None,
    timeframe: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Loaded:
    """Keep the bars of a file, a few hundred at a time; `progress` hears how many rows were read so far."""
    told = {name: value for name, value in (("symbol", symbol), ("timeframe", timeframe)) if value}
    counts, wrong, seen = Kept(0, 0, 0), 0, 0
    refused: list[Refused] = []
    rows = rows_of(lines, told)
    while part := list(islice(rows, AT_ONCE)):
        good: dict[tuple[str, ...], Bar] = {}
        for number, row in part:
            try:
                if isinstance(row, Invalid):
                    raise row
                bar = to_bar(row)
                good[bar[:3]] = bar  # said twice in one file, the later stands
            except Invalid as error:
                wrong += 1
                if len(refused) < MOST_REFUSED:
                    refused.append(Refused(number, error.message))
        counts = Kept(*map(sum, zip(counts, _keep(database, list(good.values())), strict=True)))
        seen += len(part)
        if progress is not None:
            progress(seen)
    return Loaded(*counts, wrong, tuple(refused))


def _keep(database: Database, given: Sequence[Bar]) -> Kept:
    try:
        with database.unscoped(writes=True) as conn:
            return keep(conn, given)
    except Invalid:  # another program added one of them between our look and our write: now it is known
        with database.unscoped(writes=True) as conn:
            return keep(conn, given)


def keep(conn: Connection, given: Sequence[Bar]) -> Kept:
    """Add what is new, take over what changed."""
    known = _known(conn, given)
    new = [bar for bar in given if bar[:3] not in known]
    changed = [bar for bar in given if bar[:3] in known and known[bar[:3]] != bar]
    if new:
        conn.execute(insert(bars), [bar._asdict() for bar in new])
    if changed:
        key = and_(*(bars.c[name] == bindparam(f"the_{name}") for name in COLUMNS[:3]))
        values: dict[str, Any] = {name: bindparam(f"new_{name}") for name in COLUMNS[3:]}
        told = [
            {f"{'the' if name in COLUMNS[:3] else 'new'}_{name}": value for name, value in bar._asdict().items()}
            for bar in changed
        ]
        conn.execute(update(bars).where(key).values(values), told)
    return Kept(len(new), len(changed), len(given) - len(new) - len(changed))


def _known(conn: Connection, given: Sequence[Bar]) -> dict[tuple[str, ...], Bar]:
    series: dict[tuple[str, str], list[str]] = {}
    for bar in given:
        series.setdefault((bar.symbol, bar.timeframe), []).append(bar.time)
    spans = [
        and_(bars.c.symbol == symbol, bars.c.timeframe == timeframe, bars.c.time.between(min(times), max(times)))
        for (symbol, timeframe), times in series.items()
    ]
    if not spans:
        return {}
    return {row[:3]: Bar(*row) for row in map(tuple, conn.execute(select(bars).where(or_(*spans))))}


class Market:
    """What the whole installation knows of prices: `kb.market`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(
        self,
        lines: Iterable[str],
        *,
        symbol: str | None = None,
        timeframe: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Loaded:
        """Bars from a file: CSV, JSON Lines or ccxt's OHLCV, which needs `symbol` and `timeframe` said beside it."""
        return load(self._database, lines, symbol=symbol, timeframe=timeframe, progress=progress)

    def recent(self, symbol: str, *, timeframe: str | None = None, limit: int = 60) -> Sequence[Bar]:
        """The last complete bars, oldest first; of the finest timeframe there is, if none is named."""
        with self._database.unscoped() as conn:
            return recent(conn, symbol, stamp(self._database.clock()), timeframe=timeframe, limit=limit)

    def symbols(self) -> Sequence[str]:
        with self._database.unscoped() as conn:
            return symbols(conn)


# Queries


def recent(conn: Connection, symbol: str, now: str, *, timeframe: str | None = None, limit: int = 60) -> Sequence[Bar]:
    """The last bars that are complete by `now`, oldest first; of the finest timeframe there is, if none is named."""
    timeframe = timeframe or next(iter(timeframes(conn, symbol)), None)
    if timeframe is None:
        return []
    query = select(bars).where(bars.c.symbol == sought(symbol), bars.c.timeframe == timeframe, bars.c.time < now)
    rows = conn.execute(query.order_by(bars.c.time.desc()).limit(limit + 1))
    complete = [bar for row in rows if ends(bar := Bar(*row)) <= now]
    return complete[:limit][::-1]


def timeframes(conn: Connection, symbol: str) -> list[str]:
    """Which there are of a symbol, the finest first."""
    query = select(bars.c.timeframe).where(bars.c.symbol == sought(symbol)).distinct()
    return sorted(conn.execute(query).scalars(), key=lambda name: (seconds(name), name))


def coming(tx: Tx, symbol: str, begins: str, until: str, now: str) -> Iterator[Bar]:
    """The bars to follow something on, one after the other: each begins where the last one ended, or later.

    Of several that begin together the finest is taken. None ends after `until`, and none is still in the making. What
    is taken depends on nothing that comes after it.
    """
    latest = min(until, now)
    query = select(bars).where(bars.c.symbol == symbol, bars.c.time >= begins, bars.c.time < latest)
    free = begins
    together: list[Bar] = []
    for row in chain(tx.conn.execute(query.order_by(bars.c.time)), [None]):
        bar = None if row is None else Bar(*row)
        if together and (bar is None or bar.time != together[0].time):
            if together[0].time >= free:
                taken = min(together, key=lambda one: (seconds(one.timeframe), one.timeframe))
                yield taken
                free = ends(taken)
            together = []
        if bar is not None and bar.time >= free and ends(bar) <= latest:
            together.append(bar)


def symbols(conn: Connection) -> Sequence[str]:
    return list(conn.execute(select(bars.c.symbol).distinct().order_by(bars.c.symbol)).scalars())
