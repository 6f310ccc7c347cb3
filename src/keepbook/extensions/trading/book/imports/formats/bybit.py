"""Bybit: the transaction log of a unified account. Trades are fills, settlements are funding; the rest is no trade."""

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.imports import values
from keepbook.extensions.trading.book.imports.formats.reading import (
    CellReader,
    FileFormat,
    first_filled,
    make_fill,
    row_by_row,
)
from keepbook.extensions.trading.book.imports.pairing import FUNDING, Fill
from keepbook.extensions.trading.book.imports.table import FileRow

TIMES = ("time(utc)", "time", "tradedtime")


def read_fill(line: FileRow, reader: CellReader) -> Fill:
    kind = str(line.cells.get("type", "")).strip().upper()
    if kind not in ("TRADE", "SETTLEMENT"):
        raise Invalid(f"{kind or 'a row without a type'} is no trade")
    symbol = values.symbol(line.cells[first_filled(line, "contract")])
    at = reader.moment(line, *TIMES, zone="UTC")
    id = line.cells.get("tradeid")
    if kind == "SETTLEMENT":  # what is received has a plus there; as a fee it is taken off
        paid = -(reader.optional(line, "funding") or values.decimal("0", "funding"))
        key = f"id-{id}" if id else ""
        return Fill(at, symbol, FUNDING, abs(reader.number(line, "position")), 0.0, key, float(paid), rows=(line.row,))
    fee = -(reader.optional(line, "fee paid") or values.decimal("0", "fee"))
    cash = reader.optional(line, "cash flow")
    closes = str(line.cells.get("action", "")).strip().upper() == "CLOSE"
    return make_fill(
        line, time=at, symbol=symbol, side=values.parse_side(line.cells[first_filled(line, "direction")]),
        quantity=reader.number(line, "quantity"), price=reader.number(line, "filled price"), id=id,
        fees=((fee, str(line.cells.get("currency") or "").upper() or values.split_symbol(symbol)[1]),),
        profit=float(cash) if cash is not None and (closes or cash) else None, multiplier=reader.multiplier(symbol),
    )  # fmt: skip


LOG = FileFormat(
    "bybit",
    "Bybit, transaction log",
    (frozenset({"contract", "type", "direction", "quantity", "filled price", "fee paid"}),),
    frozenset({*TIMES, "uid", "currency", "contract", "type", "direction", "quantity", "position", "filled price",
               "funding", "fee paid", "cash flow", "change", "wallet balance", "action", "orderid", "tradeid"}),
    row_by_row(read_fill),
    (
        "Uid,Currency,Contract,Type,Direction,Quantity,Position,Filled Price,Funding,Fee Paid,Cash Flow,Change,"
        "Wallet Balance,Action,OrderId,TradeId,Time(UTC)",
    ),
    "exports of the unified account in public importers",
)  # fmt: skip
