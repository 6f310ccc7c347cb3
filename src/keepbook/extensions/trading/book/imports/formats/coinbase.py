"""Coinbase: the fills of the exchange, and the transactions of the plain account, of which buys and sells count."""

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.imports import values
from keepbook.extensions.trading.book.imports.formats.reading import (
    CellReader,
    FileFormat,
    first_filled,
    make_fill,
    row_by_row,
)
from keepbook.extensions.trading.book.imports.pairing import Fill
from keepbook.extensions.trading.book.imports.table import FileRow

UNIT = "price/fee/total unit"
_TRADES = {"buy": "buy", "sell": "sell", "advanced trade buy": "buy", "advanced trade sell": "sell"}


def read_fill(line: FileRow, reader: CellReader) -> Fill:
    symbol = values.symbol(line.cells[first_filled(line, "product")])
    fee = reader.optional(line, "fee") or values.decimal("0", "fee")
    return make_fill(
        line, time=reader.moment(line, "created at", zone="UTC"), symbol=symbol,
        side=values.parse_side(line.cells[first_filled(line, "side")]), quantity=reader.number(line, "size"),
        price=reader.number(line, "price"), id=line.cells.get("trade id"),
        fees=((abs(fee), str(line.cells.get(UNIT) or values.split_symbol(symbol)[1]).upper()),),
    )  # fmt: skip


def transaction(line: FileRow, reader: CellReader) -> Fill:
    kind = str(line.cells.get("transaction type", "")).strip().lower()
    if kind not in _TRADES:
        raise Invalid(f"{kind or 'a row without a type'} is no trade")
    quote = str(line.cells.get("price currency") or line.cells.get("spot price currency") or "USD").upper()
    symbol = values.symbol(f"{line.cells[first_filled(line, 'asset')]}/{quote}")
    quantity = abs(reader.number(line, "quantity transacted"))
    fee = reader.optional(line, "fees and/or spread", "fees") or values.decimal("0", "fees")
    subtotal = reader.optional(line, "subtotal")
    price = abs(subtotal) / quantity if subtotal and quantity else reader.number(line, *PRICES)
    return make_fill(
        line, time=reader.moment(line, "timestamp", zone="UTC"), symbol=symbol, side=_TRADES[kind], quantity=quantity,
        price=price, id=line.cells.get("id"), fees=((abs(fee), quote),),
    )  # fmt: skip


PRICES = ("price at transaction", "spot price at transaction")
FILLS = FileFormat(
    "coinbase",
    "Coinbase, fills",
    (frozenset({"trade id", "product", "side", "created at", "size", "price", "fee"}),),
    frozenset(
        {"portfolio", "trade id", "product", "side", "created at", "size", "size unit", "price", "fee", "total", UNIT}
    ),
    row_by_row(read_fill),
)
ACCOUNT = FileFormat(
    "coinbase-account",
    "Coinbase, transactions of the account",
    (frozenset({"timestamp", "transaction type", "asset", "quantity transacted"}),),
    frozenset({"id", "timestamp", "transaction type", "asset", "quantity transacted", "price currency", "subtotal",
               "fees", "spot price currency", *PRICES, "total (inclusive of fees and/or spread)",
               "fees and/or spread", "notes"}),
    row_by_row(transaction),
)  # fmt: skip
