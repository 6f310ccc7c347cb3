"""MetaTrader 5 and 4: reads positions by their number, or deals. Times are in the broker's zone, which must be given if
it is not UTC.

A hedging account may have several positions of one symbol at a time. So the table of positions is read, or deals by the
column that names their position; deals without it are paired first in, first out, as in a netting account. The file
does not have the size of a lot. It is given (`--multiplier EURUSD=100000`), or else derived from the largest profit of
the symbol; if that does not fit a position, because its profit is in another currency, from the position's own profit.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.imports.formats.parts.lots import (
    CLOSE_TIME,
    close_cell,
    figure_in,
    guess_currency,
    is_trade_row,
    lot_sizes,
    own_sizes,
    sizes_of_closed,
)
from keepbook.extensions.trading.book.imports.formats.reading import (
    CellReader,
    FileFormat,
    ReadRow,
    first_filled,
    make_fill,
    or_wrong,
    row_by_row,
)
from keepbook.extensions.trading.book.imports.pairing import Fill, position_of
from keepbook.extensions.trading.book.imports.table import FileRow, FileTable
from keepbook.patterns import regex

COSTS = ("commission", "fee", "swap", "taxes")
ELSEWHERE = "another table of the report"
"""The section of rows that repeat what other rows say, such as deals beside positions; they are not read."""
_ACCOUNT = regex(r"(?:Account: ?)?(\d+)(?: \(([A-Z]{3})\b.*)?")
_CURRENCY = regex(r"Currency: ?([A-Z]{3})")


@dataclass(frozen=True, slots=True)
class ReportHead:
    """What is written above the tables of a report: the account, and its currency and kind."""

    account: str = ""
    currency: str = ""
    netting: bool = False


def report_of(table: FileTable) -> ReportHead:
    found = ReportHead()
    for line in table.beside:
        for cell in map(str, line.cells.values() if line.section != ELSEWHERE else ()):
            told = _ACCOUNT.fullmatch(cell)
            if told and not found.account:
                found = replace(found, account=told[1], currency=told[2] or found.currency)
            currency = _CURRENCY.fullmatch(cell)
            if currency:
                found = replace(found, currency=currency[1])
            if "netting" in cell.lower():
                found = replace(found, netting=True)
    return found


# Deals


_TYPES = {"0": "buy", "1": "sell", "2": "balance"}


def deal(line: FileRow, reader: CellReader) -> Fill:
    """A row of a table of deals; its multiplier and currency are set later, by `deals`."""
    kind = str(line.cells.get("type", "")).strip().lower()
    kind = _TYPES.get(kind, kind)
    if kind not in ("buy", "sell"):
        raise Invalid(f"{kind or 'a row without a type'} is no trade")
    symbol = str(line.cells[first_filled(line, "symbol")]).strip().upper()
    paid = [reader.optional(line, name) or Decimal(0) for name in COSTS if name != "swap"]
    swap, profit = reader.optional(line, "swap"), reader.optional(line, "profit")
    way = str(line.cells.get("direction") or line.cells.get("entry") or "").strip().lower()
    closes = "out" in way or way in ("1", "2", "3")
    turns = way in ("in/out", "in / out", "2")
    position = str(line.cells.get("position_id") or line.cells.get("position") or "").strip()
    number = line.cells.get("deal") or line.cells.get("ticket")
    made = make_fill(
        line, time=reader.moment(line, "time_msc", "time"), symbol=symbol, side=kind,
        quantity=reader.number(line, "volume"), price=reader.number(line, "price"), id=number,
        fees=((-sum(paid, Decimal(0)), ""),), profit=float(profit) if profit is not None and closes else None,
        reason=str(line.cells.get("comment") or "")[:500] or None, closing_fee=-float(swap or 0),
        closes_only=closes and not turns,
    )  # fmt: skip
    if position and number:
        return replace(made, key=f"pos-{position}/{number}")
    return made


def deals(table: FileTable, reader: CellReader) -> Iterator[ReadRow]:
    """The fills of a table of deals, with the size of a lot and the account's currency."""
    report = report_of(table)
    found = list(row_by_row(deal)(table, reader))
    _compare_totals(table, reader)
    fills = [one for _, one in found if isinstance(one, Fill)]
    sizes = sizes_of_closed(fills)
    currency = report.currency or guess_currency(fills, sizes, reader)
    sizes = lot_sizes(table, fills, sizes, reader)
    for rows, one in found:
        if isinstance(one, Fill):
            size = sizes[one.symbol]
            yield rows, replace(one, multiplier=size, account=report.account, quote=currency)
        else:
            yield rows, one


def _compare_totals(table: FileTable, reader: CellReader) -> None:
    """The report ends the deals with the sums of what was paid and earned: the first figures after an empty start."""
    columns = list(next((line.cells for line in table.lines if line.wrong is None), {}))
    places = {name: str(columns.index(name) + 1) for name in (*COSTS, "profit") if name in columns}
    for line in table.beside:
        below = line.section != ELSEWHERE and line.row > max((one.row for one in table.lines), default=0)
        if not below or len(line.cells) != len(columns) or line.cells.get("1") or line.cells.get("2"):
            continue
        for name, place in places.items():
            told = reader.optional(line, place)
            mine = (reader.optional(one, name) or Decimal(0) for one in table.lines if one.wrong is None)
            reader.compare(line.row, f"the sum of {name}", sum(mine, Decimal(0)), told, Decimal("0.05"))
        return


def _deals_alone(table: FileTable) -> FileTable:
    """The table of the deals, of a report with several tables."""
    return _lines_with(table, {"direction", "entry"})


def _lines_with(table: FileTable, names: set[str]) -> FileTable:
    """The table that has one of these columns, and lines that are no rows at all."""
    mine = [line for line in table.lines if line.wrong is not None or names & line.cells.keys()]
    columns = [name for name in table.columns if any(name.lower() in line.cells for line in mine)]
    read = {line.row for line in mine}
    others = (replace(line, section=ELSEWHERE) for line in table.lines if line.row not in read)
    beside = (*table.beside, *others)
    return replace(table, lines=tuple(mine), columns=tuple(columns) or table.columns, beside=beside)


# Positions


def positions(table: FileTable, reader: CellReader) -> Iterator[ReadRow]:
    """Closed ones come in and go out; open ones only came in."""
    report = report_of(table)
    found: list[ReadRow] = []
    for line in table.lines:
        made = or_wrong(line, _position, line, reader)
        if isinstance(made, Invalid):
            yield (line.row,), made
        else:
            found += [((line.row,), one) for one in made]
    _compare_closed(table, reader)
    fills = [one for _, one in found if isinstance(one, Fill)]
    charged = _deal_fees(table, fills, reader)
    closed = sizes_of_closed(fills)
    currency = report.currency or guess_currency(fills, closed, reader)
    usual = lot_sizes(table, fills, closed, reader)
    own = own_sizes(fills, usual)
    for rows, one in sorted(found, key=lambda read: (read[1].time, read[1].key.endswith("/out"))):  # type: ignore[union-attr]
        if isinstance(one, Fill):
            size = reader.told_multiplier(one.symbol) or own.get(position_of(one.key)) or usual[one.symbol]
            fees = (*one.fees, *((fee, "") for fee in charged.get(one.key, ())))
            yield rows, replace(one, multiplier=size, fees=fees, account=report.account, quote=currency)


def _deal_fees(table: FileTable, fills: Sequence[Fill], reader: CellReader) -> dict[str, list[Decimal]]:
    """What deals paid as `Fee`, for which the positions have no column: by the key of what came in or went out."""
    found: dict[str, list[Decimal]] = {}
    if any("fee" in line.cells for line in table.lines):
        return found
    known = PositionFills(fills)
    for line in table.beside:
        if "direction" in line.cells:
            fee = figure_in(line, "fee", reader)
        else:
            fee = Decimal(0)
        if fee and (one := _fill_of_deal(line, known, reader)) is not None:
            found.setdefault(one.key, []).append(-fee)
        elif fee:
            reader.notes.append(f"a fee of {-fee:f} in row {line.row} is of a position that this report does not have")
    return found


class PositionFills:
    """The fills of a report's positions: what came in by its position, and what went out in the order of time."""

    def __init__(self, fills: Sequence[Fill]) -> None:
        self.ins: dict[str, Fill] = {position_of(one.key): one for one in fills if one.key.endswith("/in")}
        self._outs: dict[tuple[str, str], list[Fill]] = {}
        for one in sorted((one for one in fills if one.key.endswith("/out")), key=lambda one: one.time):
            self._outs.setdefault((one.symbol, one.side), []).append(one)

    def closed_at(self, symbol: str, side: str, at: str, size: Decimal | None) -> Fill | None:
        """What of a symbol was open then and is the next to go out on this side; of several those of this size."""
        outs = self._outs.get((symbol, side), [])
        soonest: Fill | None = None
        for one in islice(outs, bisect_left(outs, at, key=lambda out: out.time), None):
            if soonest is not None and one.time > soonest.time:
                break
            if self.ins[position_of(one.key)].time <= at:
                soonest = soonest or one
                if one.quantity == size:
                    return one
        return soonest

    def held_at(self, symbol: str, side: str, at: str) -> Fill | None:
        """The last that came in of a symbol which this side would close."""
        ins = reversed(self.ins.values())
        return next((one for one in ins if one.symbol == symbol and one.side != side and one.time <= at), None)


def _fill_of_deal(line: FileRow, known: PositionFills, reader: CellReader) -> Fill | None:
    """What a deal did: a position has the number of the order that opened it; what closed it is found by its time."""
    order, symbol = str(line.cells.get("order") or ""), str(line.cells.get("symbol") or "").strip().upper()
    if (opened := known.ins.get(f"pos-{order}")) is not None:
        return opened
    at, kind = reader.moment(line, "time"), str(line.cells.get("type") or "").strip().lower()
    size = reader.optional(line, "volume")
    return known.closed_at(symbol, kind, at, size) or known.held_at(symbol, kind, at)


def _position(line: FileRow, reader: CellReader) -> tuple[Fill, ...]:
    """The fill that opened a position, and if it is closed, the one that closed it."""
    cells = line.cells
    kind = str(cells.get("type", "")).strip().lower()
    if kind not in ("buy", "sell"):
        raise Invalid(f"{kind or 'a row without a type'} is no trade")
    number = str(cells[first_filled(line, "position", "ticket", "order")]).strip()
    symbol = str(cells[first_filled(line, "symbol", "item")]).strip().upper()
    size = reader.number(line, "volume", "size", "lots")
    paid = -sum((reader.optional(line, name) or Decimal(0) for name in COSTS), Decimal(0))
    profit = reader.optional(line, "profit", "trade p/l")
    left = close_cell(line)
    begun = reader.moment(line, "time", "open time")
    into = make_fill(
        line, time=begun, symbol=symbol, side=kind, quantity=size, price=reader.number(line, "price"),
        reason=str(cells.get("comment") or "")[:500] or None,
    )  # fmt: skip
    into = replace(into, key=f"pos-{number}/in")
    if not CLOSE_TIME.fullmatch(left):
        return (into,)
    ended = reader.instant(left, "close time")
    if ended < begun:
        raise Invalid(f"position {number} ends before it begins", field="time")
    if kind == "buy":
        side = "sell"
    else:
        side = "buy"
    out = make_fill(
        line, time=ended, symbol=symbol, side=side, quantity=size,
        price=reader.number(line, "price (2)"), fees=((paid, ""),),
        profit=None if profit is None else float(profit), reason=into.reason,
    )  # fmt: skip
    return replace(into, reason=None), replace(out, key=f"pos-{number}/out")


def _compare_closed(table: FileTable, reader: CellReader) -> None:
    """`Closed P/L:` below the closed trades of MetaTrader 4 is the sum of all that was earned and paid."""
    for line in table.beside:
        cells = [str(cell) for cell in line.cells.values() if cell]
        if not cells or not cells[0].lower().startswith("closed p/l"):
            continue
        told = reader.optional(line, *(name for name, cell in line.cells.items() if cell and cell != cells[0]))
        closed = [one for one in table.lines if one.row < line.row and one.wrong is None]
        names = ("commission", "taxes", "swap", "profit")
        computed = sum((figure_in(one, name, reader) for one in closed for name in names), Decimal(0))
        trades = sum(
            (figure_in(one, name, reader) for one in closed for name in names if is_trade_row(one)), Decimal(0)
        )  # deposits are part of the sum in some statements
        if told is not None and abs(trades - told) > Decimal("0.05"):
            reader.compare(line.row, "the sum of the closed trades", computed, told, Decimal("0.05"))


def _positions_alone(table: FileTable) -> FileTable:
    """The tables of the positions, closed and open, of a report."""
    return _lines_with(table, {"position", "ticket"})


def read_report(table: FileTable, reader: CellReader) -> Iterator[ReadRow]:
    """A report of MetaTrader 5: its positions, or its deals where the account nets."""
    if any("direction" in line.cells for line in table.lines):
        return deals(table, reader)
    return positions(table, reader)


def pick_table(table: FileTable) -> FileTable:
    """The positions; of a netting account the deals, if they are there."""
    has_deals = any("direction" in line.cells for line in table.lines)
    if has_deals and report_of(table).netting:
        return _deals_alone(table)
    return _positions_alone(table)


_PLACES = frozenset({"time", "position", "symbol", "type", "volume", "price", "s / l", "t / p", "time (2)", "price (2)",
                     "commission", "swap", "profit", "fee", "comment", "market price", "deal", "direction", "order",
                     "balance", "cost"})  # fmt: skip
POSITIONS = FileFormat(
    "metatrader5-positions",
    "MetaTrader 5, positions",
    (
        frozenset({"time", "position", "symbol", "type", "volume", "price", "time (2)", "price (2)", "commission",
                   "swap", "profit"}),
    ),
    _PLACES,
    read_report,
    ("Time\tPosition\tSymbol\tType\tVolume\tPrice\tS / L\tT / P\tTime\tPrice\tCommission\tSwap\tProfit",),
    "reports of the terminal in the tests of public parsers of ReportHistory",
    pick=pick_table,
    further=(frozenset({"time", "position", "symbol", "type", "volume", "price", "market price", "swap", "profit"}),),
)  # fmt: skip
DEALS = FileFormat(
    "metatrader5",
    "MetaTrader 5, deals",
    (
        frozenset({"time", "deal", "symbol", "type", "direction", "volume", "price", "commission", "swap", "profit"}),
        frozenset({"time|time_msc", "ticket", "symbol", "type", "entry", "position_id", "volume", "price",
                   "commission", "swap", "profit"}),
    ),
    frozenset({*_PLACES, "ticket", "entry", "position_id", "time_msc", "magic", "reason", "external_id"}),
    deals,
    (
        "Time\tDeal\tSymbol\tType\tDirection\tVolume\tPrice\tOrder\tCommission\tFee\tSwap\tProfit\tBalance\tComment",
        "ticket,order,time,time_msc,type,entry,magic,position_id,reason,volume,price,commission,swap,profit,fee,symbol,"
        "comment,external_id",
    ),
    "reports of the terminal in public parsers; history_deals_get of its Python package",
    pick=_deals_alone,
)  # fmt: skip
MT4 = FileFormat(
    "metatrader4",
    "MetaTrader 4, statement",
    (
        frozenset({"ticket", "open time", "type", "size|lots", "item|symbol", "price", "close time", "price (2)",
                   "commission", "swap", "profit"}),
    ),
    frozenset({"ticket", "open time", "type", "size", "lots", "item", "symbol", "price", "s / l", "t / p", "close time",
               "price (2)", "commission", "taxes", "swap", "profit", "comment", "s/l", "t/p"}),
    positions,
    (
        "Ticket\tOpen Time\tType\tSize\tItem\tPrice\tS / L\tT / P\tClose Time\tPrice\tCommission\tTaxes\tSwap\tProfit",
    ),
    "statements of the terminal in public parsers (mt4-mql-framework, RMQAnalystic)",
    pick=_positions_alone,
    further=(frozenset({"ticket", "open time", "type", "size", "item", "price", "", "price (2)", "swap", "profit"}),),
)  # fmt: skip
