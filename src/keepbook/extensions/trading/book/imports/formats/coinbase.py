"""Coinbase: the fills of the exchange, and the transactions of the plain account.

Of the account buys, sells and conversions count. A conversion names both coins in its notes and its worth in money: it
is a sale of the one and a purchase of the other, the fee on the latter.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.imports import values
from keepbook.extensions.trading.book.imports.formats.reading import (
    CellReader,
    FileFormat,
    ReadRow,
    first_filled,
    make_fill,
    or_wrong,
    row_by_row,
)
from keepbook.extensions.trading.book.imports.pairing import Fill
from keepbook.extensions.trading.book.imports.table import FileRow, FileTable
from keepbook.patterns import regex

UNIT = "price/fee/total unit"
_TRADE = regex(r"(?:advanced? trade )?(buy|sell)")


def read_fill(line: FileRow, reader: CellReader) -> Fill:
    symbol = values.symbol(line.cells[first_filled(line, "product")])
    fee = reader.optional(line, "fee") or values.decimal("0", "fee")
    return make_fill(
        line, time=reader.moment(line, "created at", zone="UTC"), symbol=symbol,
        side=values.parse_side(line.cells[first_filled(line, "side")]), quantity=reader.number(line, "size"),
        price=reader.number(line, "price"), id=line.cells.get("trade id"),
        fees=((abs(fee), str(line.cells.get(UNIT) or values.split_symbol(symbol)[1]).upper()),),
    )  # fmt: skip


def read_account(table: FileTable, reader: CellReader) -> Iterator[ReadRow]:
    halves: dict[tuple[str, str], list[FileRow]] = {}
    for line in table.lines:
        if line.wrong is None and _kind(line) == "convert":
            halves.setdefault((str(line.cells.get("timestamp")), str(line.cells.get("notes"))), []).append(line)
            continue
        yield (line.row,), or_wrong(line, transaction, line, reader)
    for lines in halves.values():
        yield from _conversion(lines, reader)


def _kind(line: FileRow) -> str:
    return str(line.cells.get("transaction type", "")).strip().lower()


def transaction(line: FileRow, reader: CellReader) -> Fill:
    kind = _kind(line)
    traded = _TRADE.fullmatch(kind)
    if traded is None:
        raise Invalid(f"{kind or 'a row without a type'} is no trade")
    quote = _quote(line)
    symbol = values.symbol(f"{line.cells[first_filled(line, 'asset')]}/{quote}")
    quantity = abs(reader.number(line, "quantity transacted"))
    fee = abs(reader.optional(line, "fees and/or spread", "fees") or Decimal(0))
    subtotal = abs(reader.optional(line, "subtotal") or Decimal(0))
    price = subtotal / quantity if subtotal and quantity else reader.number(line, *PRICES)
    total = abs(reader.optional(line, *TOTALS) or Decimal(0))
    if total and subtotal:
        computed = subtotal + fee if traded[1] == "buy" else subtotal - fee
        reader.compare(line.row, "subtotal and fees", computed, total, Decimal("0.021"))
    return make_fill(
        line, time=reader.moment(line, "timestamp", zone="UTC"), symbol=symbol, side=traded[1], quantity=quantity,
        price=price, id=line.cells.get("id"), fees=((fee, quote),),
    )  # fmt: skip


def _quote(line: FileRow) -> str:
    return str(line.cells.get("price currency") or line.cells.get("spot price currency") or "USD").upper()


_CONVERTED = regex(r"Converted ([\d.,]+) (\S+) to ([\d.,]+) (\S+)", re.IGNORECASE)


def _conversion(lines: Sequence[FileRow], reader: CellReader) -> Iterator[ReadRow]:
    """Newer files have a row for each coin, older ones a single row: the notes are the same."""
    rows = tuple(line.row for line in lines)
    found = _CONVERTED.match(str(lines[0].cells.get("notes") or ""))
    if found is None:
        yield from (((row,), Invalid("notes do not say what was converted into what")) for row in rows)
        return
    coin = found[2].upper()
    line = next((one for one in lines if str(one.cells.get("asset") or "").upper() == coin), lines[0])
    made = or_wrong(line, _two_fills, line, reader, coin, found[4].upper(), found[1], found[3])
    if isinstance(made, Invalid):
        yield from (((row,), made) for row in rows)
    else:
        yield from ((rows, one) for one in made)


def _two_fills(line: FileRow, reader: CellReader, gave: str, got: str, *amounts: str) -> tuple[Fill, Fill]:
    given, received = (values.decimal(text, "notes") for text in amounts)
    quote, id = _quote(line), line.cells.get("id")
    fee = abs(reader.optional(line, "fees and/or spread", "fees") or Decimal(0))
    worth = max(abs(reader.optional(line, name) or Decimal(0)) for name in ("subtotal", *TOTALS))
    if not worth:
        worth = given * reader.number(line, *PRICES)
    if not given or not received:
        raise Invalid("quantity is a number above 0", field="quantity")
    time = reader.moment(line, "timestamp", zone="UTC")
    sold = make_fill(
        line, time=time, symbol=values.symbol(f"{gave}/{quote}"), side="sell", quantity=given, price=worth / given,
        id=id,
    )  # fmt: skip
    bought = make_fill(
        line, time=time, symbol=values.symbol(f"{got}/{quote}"), side="buy", quantity=received,
        price=(worth - fee) / received, id=f"{id}-to" if id else None, fees=((fee, quote),),
    )  # fmt: skip
    return sold, bought


PRICES = ("price at transaction", "spot price at transaction")
TOTALS = ("total (inclusive of fees and/or spread)", "total (inclusive of fees)", "total")
FILLS = FileFormat(
    "coinbase",
    "Coinbase, fills",
    (frozenset({"trade id", "product", "side", "created at", "size", "price", "fee"}),),
    frozenset(
        {"portfolio", "trade id", "product", "side", "created at", "size", "size unit", "price", "fee", "total", UNIT}
    ),
    row_by_row(read_fill),
    ("portfolio,trade id,product,side,created at,size,size unit,price,fee,total,price/fee/total unit",),
    "the fills report of Coinbase Exchange (Pro) in public importers",
    spot=True,
)
ACCOUNT = FileFormat(
    "coinbase-account",
    "Coinbase, transactions of the account",
    (frozenset({"timestamp", "transaction type", "asset", "quantity transacted", "subtotal",
                "fees and/or spread|fees", "price currency|spot price currency"}),),
    frozenset({"id", "timestamp", "transaction type", "asset", "quantity transacted", "price currency", "subtotal",
               "fees", "spot price currency", *PRICES, *TOTALS, "fees and/or spread", "notes"}),
    read_account,
    (
        "ID,Timestamp,Transaction Type,Asset,Quantity Transacted,Price Currency,Price at Transaction,Subtotal,"
        "Total (inclusive of fees and/or spread),Fees and/or Spread,Notes",
        "Timestamp,Transaction Type,Asset,Quantity Transacted,Spot Price Currency,Spot Price at Transaction,Subtotal,"
        "Total (inclusive of fees and/or spread),Fees and/or Spread,Notes",
        "Timestamp,Transaction Type,Asset,Quantity Transacted,Spot Price Currency,Spot Price at Transaction,Subtotal,"
        "Total (inclusive of fees),Fees,Notes",
    ),
    "Export-To-Ghostfolio, GhostfolioSidekick, cryptoTax, BittyTax",
    spot=True,
)  # fmt: skip
