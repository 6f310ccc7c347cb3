"""Kraken: the trades export. Its pairs carry a letter for the kind of each coin, and bitcoin is XBT."""

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

_NAMES = {"XBT": "BTC", "XDG": "DOGE"}


def kraken_pair(text: str) -> str:
    """`XXBTZEUR` is `BTC/EUR`, `SOLUSD` is `SOL/USD`."""
    plain = text.strip().upper()
    if "/" in plain:
        base, _, quote = plain.partition("/")
    elif len(plain) == 8 and plain[0] in "XZ" and plain[4] in "XZ":
        base, quote = plain[1:4], plain[5:]
    else:
        base, quote = values.split_symbol(plain)
        quote = quote or plain[-3:]
        base = base if base != plain else plain[:-3]
        base = base[:-1] if base.endswith("Z") and len(base) > 4 else base
    return f"{_NAMES.get(base, base)}/{_NAMES.get(quote, quote)}"


def read_fill(line: FileRow, reader: CellReader) -> Fill:
    symbol = values.symbol(kraken_pair(str(line.cells[first_filled(line, "pair")])))
    fee = reader.optional(line, "fee") or values.decimal("0", "fee")
    profit = reader.optional(line, "net")
    return make_fill(
        line, time=reader.moment(line, "time", zone="UTC"), symbol=symbol,
        side=values.parse_side(line.cells[first_filled(line, "type")]),
        quantity=reader.number(line, "vol"), price=reader.number(line, "price"), id=line.cells.get("txid"),
        fees=((abs(fee), values.split_symbol(symbol)[1]),), profit=None if profit is None else float(profit),
    )  # fmt: skip


TRADES = FileFormat(
    "kraken",
    "Kraken, trades",
    (frozenset({"txid", "pair", "time", "type", "price", "fee", "vol"}),),
    frozenset({"txid", "ordertxid", "pair", "time", "type", "ordertype", "price", "cost", "fee", "vol", "margin",
               "misc", "ledgers", "postxid", "posstatus", "net", "aclass", "subclass", "costusd"}),
    row_by_row(read_fill),
)  # fmt: skip
