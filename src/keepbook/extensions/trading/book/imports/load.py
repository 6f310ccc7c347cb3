"""Imports a broker's file into the book: recognised, read, paired, and every row accounted for.

Each row ends in exactly one place: added (a fill that is open), paired into round trips, unchanged (known from an
earlier file), or refused with a reason. Fills are stored, so that later files complete what is open and what overlaps
counts once: by its id, else as the n-th identical row. Files are loaded in the order of time; a fill older than what is
paired already would have changed that, and is refused.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from decimal import Decimal
from typing import Any

from sqlalchemy import func, insert, select, update

from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ledger import loads
from keepbook.book.ledger.ledger import Origin
from keepbook.book.upkeep.reading_apart import USUAL_LIMITS, ReadingLimits, limits_in
from keepbook.errors import Invalid
from keepbook.extensions.trading.book import days, skills
from keepbook.extensions.trading.book.files import MOST_REFUSED, Progress, RefusedRow
from keepbook.extensions.trading.book.imports import mapping, pairing, values
from keepbook.extensions.trading.book.imports.file import (
    FileImport,
    ignored_columns,
    prepare_import,
    take_in,
)
from keepbook.extensions.trading.book.imports.formats import NAMES
from keepbook.extensions.trading.book.imports.pairing import FUNDING, Fill, PairedFills, Trip
from keepbook.extensions.trading.book.imports.table import FileTable
from keepbook.extensions.trading.book.imports.take_back import OpenPositions
from keepbook.extensions.trading.book.imports.trade_table import read_trade_file
from keepbook.extensions.trading.book.market import bars
from keepbook.extensions.trading.book.trades import Trade, keep_trades
from keepbook.extensions.trading.tables import fills as fill_rows
from keepbook.extensions.trading.tables import trades as trade_rows
from keepbook.storage.database import Tx

SKILL = "Imported trades"
"""The skill of deployments that a file brings along."""
NET = ("ibkr-flex", "tradingview", "plain")
"""Formats whose own profit is net of fees."""
SHOWN = 20
TOLD = 50
"""So many refused rows are told with a load for as long as it is kept."""
AT_ONCE = 500
KEPT_AT_ONCE = 2000


@dataclass(frozen=True, slots=True)
class Difference:
    """The file's own profit of a symbol beside ours, where they are not the same."""

    symbol: str
    file: float
    ours: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTrades:
    """What a file brought, or would. `rows` is the sum of added, paired, unchanged and wrong.

    `trades` counts round trips, `open` what is left open in the symbols of the file. `profit` is net of fees;
    `unconverted` are fees in coins for which no price is known: they are in no figure. `ignored` are columns with
    figures that this format does not read. `stated` is the file's own profit of each trade in `preview`, where it has
    one for that trade alone. `load` is the number by which it is taken back, where something came in.
    """

    format: str
    title: str
    rows: int
    added: int
    paired: int
    unchanged: int
    wrong: int
    refused: tuple[RefusedRow, ...]
    trades: int
    open: int
    profit: float
    profit_file: float | None
    profit_compared: float | None
    differences: tuple[Difference, ...]
    unconverted: dict[str, float]
    ignored: tuple[str, ...]
    notes: tuple[str, ...]
    columns: tuple[str, ...]
    preview: tuple[Trip, ...]
    stated: tuple[float | None, ...]
    dry_run: bool
    load: int | None = None


# Operations


def import_trades(
    tx: Tx, source: Any, *, deployment: str | None = None, format: str | None = None,
    columns: Mapping[str, str] | None = None, symbol: str | None = None, zone: str = "UTC",
    multipliers: Mapping[str, float] | None = None, dry_run: bool = False, create: Any = None,
    origin: Origin | None = None, progress: Progress | None = None, limits: ReadingLimits = USUAL_LIMITS,
) -> ImportedTrades:  # fmt: skip
    """Import a file of trades or fills, or show the result. A mapping with a name of its own is stored. `progress` is
    called with how much is stored; an exception from it ends the load, and nothing of it stays."""
    if columns and format is not None and format not in NAMES:
        columns = mapping.check_mapping(columns) if dry_run else mapping.store_mapping(tx, format, columns)
        format = None
    elif format is not None and format not in NAMES:
        columns, format = mapping.get_mapping(tx, format), None
    elif columns:
        if format not in (None, "plain"):
            raise Invalid(f"{format!r} is a format of Keepbook's own; name a mapping otherwise", field="format")
        columns, format = mapping.check_mapping(columns), None
    told = multipliers or {}
    table = read_trade_file(source, format, columns, limits)
    work = prepare_import(
        table, tx.clock().astimezone(UTC), format=format, columns=columns or None, zone=zone,
        symbol=symbol, multipliers=told,
    )  # fmt: skip
    take_in(work)
    place = _deployment(tx, work, deployment, dry_run, create)
    _leave_out_known(tx, work, place)
    work.fills = [_with_fees_in_quote(tx, work, one) for one in work.fills]
    work.trips = [_paid_for(tx, work, one) for one in work.trips]
    _refuse_older(tx, work, place)
    before = _open_lots(tx, place, {one.symbol for one in work.fills})
    results = _pair_all(work, before)
    load = None
    if origin is not None and place is not None and (work.fills or work.trips):
        load = loads.next_number(tx)
        _keep(tx, work, place, results, load, origin, progress or _silent)
    return _to_imported(work, results, dry_run, load)


def read_before(book: OpenBook, source: Any, format: str | None, columns: Mapping[str, str] | None) -> FileTable:
    """Read a file before the book is opened for writing: `import_trades` takes what comes of it."""
    if isinstance(source, FileTable):
        return source
    if columns:
        columns, format = mapping.check_mapping(columns), None
    elif format is not None and format not in NAMES:
        with book.reading() as (tx, _, _):
            columns, format = mapping.get_mapping(tx, format), None
    return read_trade_file(source, format, columns, limits_in(book.settings))


def _silent(_: int) -> None:
    """Nobody wants to hear how far it is."""


def _deployment(tx: Tx, work: FileImport, ref: str | None, dry_run: bool, create: Any) -> str | None:
    """Where it goes: the deployment named, else one for the format, made where it is missing."""
    name = ref or work.format.title
    found = skills.deployment_called(tx, name)
    if found is not None:
        return found.id
    if ref is not None:
        raise Invalid(f"there is no deployment {ref[:80]!r} in this book; create it first", field="deployment")
    if dry_run:
        return None
    made: str = create(tx, name)
    return made


def _leave_out_known(tx: Tx, work: FileImport, place: str | None) -> None:
    known = _known_keys(tx, place, [one.key for one in work.fills], fill_rows)
    for one in work.fills:
        if one.key in known:
            work.unchanged.update(one.rows)
    work.fills = [one for one in work.fills if one.key not in known]
    there = _known_keys(tx, place, [one.key for one in work.trips], trade_rows)
    for trip in work.trips:
        (
            work.unchanged if trip.key in there else work.paired if len(work.rows_of[trip.key]) > 1 else work.added
        ).update(work.rows_of[trip.key])
    work.trips = [one for one in work.trips if one.key not in there]


def _with_fees_in_quote(tx: Tx, work: FileImport, one: Fill) -> Fill:
    """With its fees in the quote; what cannot be converted is counted by its coin."""
    paid = (_in_quote(tx, work, one.symbol, one.quote, one.price, one.time, *fee) for fee in one.fees)
    return replace(one, fee=one.fee + sum(paid))


def _paid_for(tx: Tx, work: FileImport, trip: Trip) -> Trip:
    """The same for a whole trade, at the price of its exit."""
    if trip.key not in work.reader.paid:
        return trip
    paid, coin, quote = work.reader.paid[trip.key]
    fee = _in_quote(tx, work, trip.symbol, quote, trip.exit_price, trip.exit_time, paid, coin)
    return trip._replace(fees=trip.fees + fee)


def _in_quote(
    tx: Tx, work: FileImport, symbol: str, told: str, price: float, at: str, paid: Decimal, coin: str
) -> float:  # fmt: skip
    """A fee in the currency of the price: that of the symbol, else as the file says, else that of its first fee."""
    base, named = values.split_symbol(symbol)
    quote = named or told or work.quotes.setdefault(symbol, coin)
    if coin in ("", quote):
        return float(paid)
    if coin == base:
        return float(paid) * price
    if (rate := _rate(tx, work, coin, quote, at)) is not None:
        return float(paid) * rate
    work.unconverted[coin] = work.unconverted.get(coin, 0.0) + float(paid)
    return 0.0


def _rate(tx: Tx, work: FileImport, coin: str, quote: str, at: str) -> float | None:
    """What a coin cost then: by the bars of either way round, else by the last fill of that pair in this file."""
    symbol = f"{coin}/{quote}"
    for name, way in ((symbol, 1), (f"{quote}/{coin}", -1)):
        for timeframe in bars.timeframes(tx.conn, name):
            if (found := bars.close_at(tx.conn, name, timeframe, at)) is not None and found[1] > 0:
                return float(found[1] ** way)
    if {coin, quote} <= {"USDT", "USDC", "USD", "BUSD", "FDUSD", "TUSD", "DAI"}:
        return 1.0
    seen = [one.price for one in work.fills if one.symbol == symbol and one.time <= at]
    return seen[-1] if seen else None


def _refuse_older(tx: Tx, work: FileImport, place: str | None) -> None:
    if place is None:
        return
    query = select(fill_rows.c.symbol, func.max(fill_rows.c.time)).where(
        fill_rows.c.owner == tx.owner, fill_rows.c.deployment_id == place
    )
    last = {row[0]: row[1] for row in tx.conn.execute(query.group_by(fill_rows.c.symbol))}
    for one in work.fills:
        if one.time < last.get(one.symbol, ""):
            work.refuse(
                one.rows, f"older than what is paired already for {one.symbol}; load files in the order of time"
            )
    work.fills = [one for one in work.fills if one.time >= last.get(one.symbol, "")]


def _pair_all(work: FileImport, before: Mapping[str, list[Fill]]) -> dict[str, PairedFills]:
    results: dict[str, PairedFills] = {}
    for symbol in dict.fromkeys(one.symbol for one in work.fills):
        mine = [one for one in work.fills if one.symbol == symbol]
        results[symbol] = found = pairing.pair_fills(before.get(symbol, []), mine)
        for one in found.unassigned:
            work.refuse(one.rows, "funding with nothing open to charge it to")
        unassigned = {one.key for one in found.unassigned}
        for one in mine:
            if one.key not in unassigned:
                (work.paired if one.key in found.touched else work.added).update(one.rows)
    return results


def _keep(
    tx: Tx,
    work: FileImport,
    place: str,
    results: Mapping[str, PairedFills],
    load: int,
    origin: Origin,
    progress: Progress,
) -> None:
    left = {lot.key: lot for found in results.values() for lot in found.open}
    unassigned = {one.key for found in results.values() for one in found.unassigned}
    fresh = {one.key for one in work.fills}
    rows = []
    for one in work.fills:
        if one.key in unassigned:
            continue
        lot = left.get(one.key)
        remaining = Decimal(0) if lot is None else lot.left
        rows.append(
            {
                "owner": tx.owner, "deployment_id": place, "key": one.key, "symbol": one.symbol, "side": one.side,
                "time": one.time, "quantity": float(one.quantity), "price": one.price,
                "fee": one.fee if lot is None else lot.fee, "multiplier": one.multiplier, "remaining": str(remaining),
                "load": load,
            }
        )  # fmt: skip
    trips = [*work.trips, *(trip for found in results.values() for trip in found.trips)]
    kept, earlier = [(tx.owner, *_trade(trip, place)) for trip in trips], set(tx.batches)

    def done(many: int) -> None:
        progress(len(work.table.lines) * many // max(1, len(rows) + len(kept)))

    for start in range(0, len(rows), KEPT_AT_ONCE):
        done(start)
        tx.conn.execute(insert(fill_rows), rows[start : start + KEPT_AT_ONCE])
    before: dict[str, tuple[str, float]] = {}
    for symbol, found in results.items():
        before |= _use_up(tx, place, symbol, fresh, {lot.key: lot for lot in found.open})
    for start in range(0, len(kept), KEPT_AT_ONCE):
        done(len(rows) + start)
        keep_trades(tx, kept[start : start + KEPT_AT_ONCE])
    days.fold_marked_days(tx)
    done(len(rows) + len(kept))
    batches = [int(nth) for what, nth in tx.batches if what == "trades" and (what, nth) not in earlier]
    told = {
        "file": "", "added": len(work.added), "paired": len(work.paired), "wrong": len(work.refused),
        "unchanged": len(work.unchanged - work.paired - work.added), "refused": sorted(work.refused.items())[:TOLD],
    }  # fmt: skip
    loads.record_load(
        tx, origin, loads.TRADES, work.format.title, nth=load, deployment_id=place, trades=len(kept), fills=len(rows),
        brought=sorted(batches), before=before, told=told,
    )  # fmt: skip


def _use_up(tx: Tx, place: str, symbol: str, fresh: set[str], lots: Mapping[str, Any]) -> OpenPositions:
    """Of earlier fills what is left after this file; answers what was left before it."""
    found = {}
    for key, was in _open_keys(tx, place, symbol).items():
        if key in fresh:
            continue
        lot = lots.get(key)
        left = ("0", was[1]) if lot is None else (str(lot.left), lot.fee)
        if left != was:
            found[key] = was
            where = (fill_rows.c.owner == tx.owner, fill_rows.c.deployment_id == place, fill_rows.c.key == key)
            tx.conn.execute(update(fill_rows).where(*where).values(remaining=left[0], fee=left[1]))
    return found


def _trade(trip: Trip, place: str) -> Trade:
    return Trade(
        place, trip.exit_time, trip.key, trip.symbol, trip.side, trip.quantity, trip.entry_time, trip.entry_price,
        trip.exit_price, trip.fees, trip.pnl, None, None, None, trip.entry_reason, trip.exit_reason, trip.exit_time,
    )  # fmt: skip


def _to_imported(
    work: FileImport, results: Mapping[str, PairedFills], dry_run: bool, load: int | None
) -> ImportedTrades:
    trips = [*work.trips, *(trip for found in results.values() for trip in found.trips)]
    compared = _compare_profits(work, trips)
    lines = {line.row for line in work.table.lines}
    refused = sorted(work.refused.items())
    notes = [] if work.reader.zone != "UTC" or not work.fills else ["times that name no zone are read as UTC"]
    notes += [] if lines else ["the file has a header and no rows"]
    for coin, paid in sorted(work.unconverted.items()):
        notes.append(f"fees of {paid:g} {coin} have no price in the book or in the file: they are in no figure")
    return ImportedTrades(
        format=work.format.name, title=work.format.title, rows=len(lines), added=len(work.added),
        paired=len(work.paired), unchanged=len(work.unchanged - work.paired - work.added), wrong=len(work.refused),
        refused=tuple(RefusedRow(row, reason) for row, reason in refused[:MOST_REFUSED]), trades=len(trips),
        open=sum(len(found.open) for found in results.values()), profit=sum(trip.pnl for trip in trips),
        profit_file=sum(one.file for one in compared) if compared else None,
        profit_compared=sum(one.ours for one in compared) if compared else None,
        differences=tuple(one for one in compared if abs(one.file - one.ours) > 0.005 + 1e-6 * abs(one.file)),
        unconverted=work.unconverted, ignored=ignored_columns(work), notes=tuple(notes), columns=work.table.columns,
        preview=tuple(trips[:SHOWN]) if dry_run else (), dry_run=dry_run,
        stated=tuple(_alone(work, trips)[:SHOWN]) if dry_run else (), load=load,
    )  # fmt: skip


def _alone(work: FileImport, trips: Sequence[Trip]) -> list[float | None]:
    """The file's own profit of each trade, where what closed it closed nothing else."""
    stated, closes = _stated_profits(work), Counter(trip.exit_key for trip in trips)
    return [stated.get(_closed_by(work, one)) if closes[one.exit_key] == 1 else None for one in trips]


def _stated_profits(work: FileImport) -> Mapping[str, float | None]:
    """The file's own profits, by what closed the trade."""
    return {one.key: one.profit for one in work.fills if one.profit is not None} | {
        f"{key}-out": profit for key, profit in work.reader.profits.items()
    }


def _closed_by(work: FileImport, trip: Trip) -> str:
    return f"{trip.key}-out" if trip.key in work.reader.profits else trip.exit_key


def _compare_profits(work: FileImport, trips: Sequence[Trip]) -> list[Difference]:
    """Of each symbol the file's own profit and ours, over the closings for which the file has one."""
    net = work.format.name in NET
    stated = _stated_profits(work)
    file: dict[str, float] = {}
    ours: dict[str, float] = {}
    told: set[str] = set()
    for trip in trips:
        out = _closed_by(work, trip)
        if stated.get(out) is None:
            continue
        ours[trip.symbol] = ours.get(trip.symbol, 0.0) + trip.pnl + (0.0 if net else trip.fees)
        if out not in told:
            file[trip.symbol] = file.get(trip.symbol, 0.0) + float(stated[out] or 0.0)
        told.add(out)
    return [Difference(symbol, file[symbol], ours[symbol]) for symbol in ours]


# Queries


def _known_keys(tx: Tx, place: str | None, keys: Sequence[str], rows: Any) -> set[str]:
    found: set[str] = set()
    for start in range(0, 0 if place is None else len(keys), AT_ONCE):
        part = list(keys[start : start + AT_ONCE])
        query = select(rows.c.key).where(rows.c.owner == tx.owner, rows.c.deployment_id == place, rows.c.key.in_(part))
        found |= set(tx.conn.execute(query).scalars())
    return found


def _open_keys(tx: Tx, place: str, symbol: str) -> dict[str, tuple[str, float]]:
    """Of what is open what is left, and the fee that belongs to it."""
    query = select(fill_rows.c.key, fill_rows.c.remaining, fill_rows.c.fee).where(
        fill_rows.c.owner == tx.owner, fill_rows.c.deployment_id == place, fill_rows.c.symbol == symbol,
        fill_rows.c.remaining != "0",
    )  # fmt: skip
    return {row.key: (row.remaining, row.fee) for row in tx.conn.execute(query)}


def _open_lots(tx: Tx, place: str | None, symbols: set[str]) -> dict[str, list[Fill]]:
    """What earlier files left open, the oldest first."""
    lots: dict[str, list[Fill]] = {}
    if place is None:
        return lots
    query = select(fill_rows).where(
        fill_rows.c.owner == tx.owner, fill_rows.c.deployment_id == place, fill_rows.c.remaining != "0"
    )
    for row in tx.conn.execute(query.order_by(fill_rows.c.time, fill_rows.c.key)):
        if row.symbol in symbols and row.side != FUNDING:
            lots.setdefault(row.symbol, []).append(
                Fill(
                    row.time, row.symbol, row.side, Decimal(str(row.quantity)), row.price, row.key, row.fee,
                    multiplier=row.multiplier, remaining=Decimal(row.remaining),
                )
            )  # fmt: skip
    return lots
