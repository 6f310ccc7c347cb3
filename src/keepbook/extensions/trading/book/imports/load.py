"""Imports a broker's file into the book: recognised, read, paired, and every row accounted for.

Each row ends in exactly one place: added (a fill that is open), paired into round trips, unchanged (known from an
earlier file), or refused with a reason. Fills are stored, so that later files complete what is open and what overlaps
counts once: by its id, else as the n-th identical row. Files are loaded in the order of time; a fill older than what is
paired already would have changed that, and is refused.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ledger import loads
from keepbook.book.ledger.ledger import Origin
from keepbook.book.upkeep.reading_apart import USUAL_LIMITS, ReadingLimits, limits_in
from keepbook.errors import Invalid
from keepbook.extensions.trading.book import days, skills
from keepbook.extensions.trading.book.files import Progress
from keepbook.extensions.trading.book.imports import keeping, mapping
from keepbook.extensions.trading.book.imports.fees import convert_fees
from keepbook.extensions.trading.book.imports.file import (
    FileImport,
    ignored_columns,
    prepare_import,
    take_in,
)
from keepbook.extensions.trading.book.imports.formats import NAMES
from keepbook.extensions.trading.book.imports.pairing import Trip
from keepbook.extensions.trading.book.imports.places import FilePart, MakeDeployment, make_places, parts_of_file
from keepbook.extensions.trading.book.imports.spot_account import follow_coins
from keepbook.extensions.trading.book.imports.table import FileTable
from keepbook.extensions.trading.book.imports.trade_table import read_trade_file
from keepbook.extensions.trading.book.loading.corrections import OFFER, clean_mode
from keepbook.extensions.trading.book.loading.loaded import MOST_REFUSED, TOLD, RefusedRow
from keepbook.storage.database import Tx

NET = ("ibkr-flex", "ibkr-activity", "tradingview", "plain")
"""Formats whose own profit is net of fees."""
SHOWN = 20  # trades that a dry run answers
_UNNAMED = (
    f"the file does not say in which currency its prices are: they count in that of their strategy, {skills.CURRENCY} "
    "where it is new. Say which one it is if it is another"
)


@dataclass(frozen=True, slots=True)
class Difference:
    """The file's own profit of a symbol beside ours, where they are not the same."""

    symbol: str
    file: float
    ours: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTrades:
    """The result of an import, or of its dry run. `rows` is the sum of added, paired, unchanged and wrong.

    `trades` counts round trips, `open` what is left open in the symbols of the file. `profits` are net of fees, by
    currency; `profit` is the one of them, and None where there are several, which are not added up. `deployments` are
    the names of those it went to, or would. `unconverted` are fees in coins for which no price is known: they are in no
    figure. `ignored` are columns with figures that this format does not read. `stated` is the file's own profit of each
    trade in `preview`, where it has one for that trade alone. `held_before` is what a spot account sold, by symbol,
    that no file shows being bought: without an entry price it is in no figure. `load` is the number by which it is
    taken back, where something came in.
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
    profit: float | None
    profits: dict[str, float]
    deployments: tuple[str, ...]
    profit_file: float | None
    profit_compared: float | None
    differences: tuple[Difference, ...]
    unconverted: dict[str, float]
    held_before: dict[str, float]
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
    multipliers: Mapping[str, float] | None = None, dates: str | None = None, currency: str | None = None,
    dry_run: bool = False, create: MakeDeployment | None = None, ask_for_place: Callable[[], None] | None = None,
    origin: Origin | None = None, progress: Progress | None = None, limits: ReadingLimits = USUAL_LIMITS,
    corrections: str = OFFER,
) -> ImportedTrades:  # fmt: skip
    """Import a file of trades or fills, or show the result. A mapping with a name of its own is stored. `ask_for_place`
    refuses who may not make a deployment, if one would be made. `progress` is called with how much is stored; an
    exception from it ends the load, and nothing of it stays."""
    if columns and format is not None and format not in NAMES:
        if dry_run:
            columns = mapping.check_mapping(columns)
        else:
            columns = mapping.store_mapping(tx, format, columns)
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
        symbol=symbol, multipliers=told, dates=dates, currency=currency,
    )  # fmt: skip
    take_in(work)
    follow_coins(tx, work, deployment)
    parts = parts_of_file(tx, work, deployment)
    for part in parts:
        keeping.drop_refused(work, part)
        keeping.leave_out_known(tx, work, part, clean_mode(corrections))
        convert_fees(tx, work, part)
        keeping.refuse_older(tx, work, part)
        keeping.pair_part(tx, work, part)
    if ask_for_place is not None and any(part.place is None and (part.fills or part.trips) for part in parts):
        ask_for_place()
    load = None
    if origin is not None and any(part.fills or part.trips for part in parts):
        load = loads.next_number(tx)
        _keep(tx, work, [part for part in parts if part.fills or part.trips], load, origin, progress or _silent, create)
    return _to_imported(work, parts, dry_run, load)


def read_before(book: OpenBook, source: Any, format: str | None, columns: Mapping[str, str] | None) -> FileTable:
    """Read a file before the book is opened for writing; `import_trades` takes the result as its source."""
    if isinstance(source, FileTable):
        return source
    if columns:
        columns, format = mapping.check_mapping(columns), None
    elif format is not None and format not in NAMES:
        with book.reading() as (tx, _, _):
            columns, format = mapping.get_mapping(tx, format), None
    return read_trade_file(source, format, columns, limits_in(book.settings))


def _silent(_: int) -> None:
    """A progress that is not shown."""


def _keep(
    tx: Tx, work: FileImport, parts: Sequence[FilePart], load: int, origin: Origin, progress: Progress,
    create: MakeDeployment | None,
) -> None:  # fmt: skip
    made = make_places(tx, parts, create)
    earlier, before = set(tx.batches), {}
    rows = {part.home: keeping.fills_to_store(tx, part, part.home, load) for part in parts}
    fills, trades = sum(map(len, rows.values())), sum(len(part.all_trips) for part in parts)
    done = 0

    def tell(many: int) -> None:
        progress(len(work.table.lines) * (done + many) // max(1, fills + trades))

    for part in parts:
        for start in keeping.store_fills(tx, rows[part.home]):
            tell(start)
        done += len(rows[part.home])
        before[part.home] = {"lots": keeping.use_up_lots(tx, part, part.home)}
        for start in keeping.store_trades(tx, part, part.home):
            tell(start)
        done += len(part.all_trips)
    days.fold_marked_days(tx)
    tell(0)
    batches = [int(nth) for what, nth in tx.batches if what == "trades" and (what, nth) not in earlier]
    brought = {"batches": sorted(batches), "places": [part.home for part in parts], "made": made}
    loads.record_load(
        tx, origin, loads.TRADES, work.format.title, nth=load, deployment_id=parts[0].home, trades=trades, fills=fills,
        brought=brought, before=before, told=count_rows(work),
    )  # fmt: skip


def count_rows(work: FileImport) -> dict[str, Any]:
    """How many rows were added, paired and so on, as the load stores it for its page."""
    added, paired, unchanged = work.counts()
    return {
        "file": "", "added": added, "paired": paired, "wrong": len(work.refused), "unchanged": unchanged,
        "refused": sorted(work.refused.items())[:TOLD], "held_before": work.held_before,
    }  # fmt: skip


def _to_imported(work: FileImport, parts: Sequence[FilePart], dry_run: bool, load: int | None) -> ImportedTrades:
    trips = [trip for part in parts for trip in part.all_trips]
    compared, profits = _compare_profits(work, trips), _profits(parts)
    lines = {line.row for line in work.table.lines}
    refused = sorted(work.refused.items())
    added, paired, unchanged = work.counts()
    notes = [*work.notes, *work.reader.notes, *_conversions(work)]
    if work.fills and work.reader.zone == "UTC":
        notes += ["times that name no zone are read as UTC"]
    if not lines:
        notes += ["the file has a header and no rows"]
    unnamed = [part for part in parts if not part.currency and not part.chosen and (part.fills or part.trips)]
    if unnamed:
        notes += [_UNNAMED]
    for coin, paid in sorted(work.unconverted.items()):
        notes.append(f"fees of {paid:g} {coin} have no price in the book or in the file: they are in no figure")
    for (symbol, why), amount in sorted(work.given_away.items()):
        notes.append(f"{amount:.10g} {symbol} {why}: closed without a figure")
    for symbol, sold in sorted(work.held_before.items()):
        notes.append(f"sold {sold:.10g} {symbol} held before this file began: no entry price is known, so no figure")
    return ImportedTrades(
        format=work.format.name, title=work.format.title, rows=len(lines), added=added, paired=paired,
        unchanged=unchanged, wrong=len(work.refused),
        refused=tuple(RefusedRow(row, reason) for row, reason in refused[:MOST_REFUSED]), trades=len(trips),
        open=sum(len(found.open) for part in parts for found in part.results.values()),
        profit=next(iter(profits.values()), 0.0) if len(profits) < 2 else None, profits=profits,
        deployments=tuple(part.name for part in parts if part.place is not None or part.fills or part.trips),
        profit_file=sum(one.file for one in compared) if compared and len(profits) < 2 else None,
        profit_compared=sum(one.ours for one in compared) if compared and len(profits) < 2 else None,
        differences=tuple(one for one in compared if abs(one.file - one.ours) > 0.005 + 1e-6 * abs(one.file)),
        unconverted=work.unconverted, held_before=work.held_before, ignored=ignored_columns(work), notes=tuple(notes),
        columns=work.table.columns,
        preview=tuple(trips[:SHOWN]) if dry_run else (), dry_run=dry_run,
        stated=tuple(_alone(work, trips)[:SHOWN]) if dry_run else (), load=load,
    )  # fmt: skip


def _conversions(work: FileImport) -> list[str]:
    """Notes that say by which rates fees and trades in other coins were counted, and of which days."""
    return [
        f"{what} of {paid:.8g} {coin} were counted in {quote} by {source}, {first[:10]} to {last[:10]}"
        for (what, coin, quote, source), (paid, first, last) in sorted(work.converted.items())
    ]


def _profits(parts: Sequence[FilePart]) -> dict[str, float]:
    found: dict[str, float] = {}
    for part in parts:
        for trip in part.all_trips:
            found[part.currency] = found.get(part.currency, 0.0) + trip.pnl
    return found


def _alone(work: FileImport, trips: Sequence[Trip]) -> list[float | None]:
    """The file's own profit of each trade; None if it states none, or if it is for several trades together."""
    stated, closes = _stated_profits(work), Counter(trip.exit_key for trip in trips)
    return [stated.get(_closed_by(work, one)) if closes[one.exit_key] == 1 else None for one in trips]


def _stated_profits(work: FileImport) -> Mapping[str, float | None]:
    """The file's own profits, by the key of the fill that closed the trade."""
    return {one.key: one.profit for one in work.fills if one.profit is not None} | {
        f"{key}-out": profit for key, profit in work.reader.profits.items()
    }


def _closed_by(work: FileImport, trip: Trip) -> str:
    if trip.key in work.reader.profits:
        return f"{trip.key}-out"
    return trip.exit_key


def _compare_profits(work: FileImport, trips: Sequence[Trip]) -> list[Difference]:
    """The file's own profit of each symbol and ours, over the fills for which the file states one."""
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
