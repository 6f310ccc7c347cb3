"""Binance: the trade history of the spot account, and that of futures, which has a profit of its own."""

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

DATES = ("date(utc)", "time(utc)", "time", "date")


def spot(line: FileRow, reader: CellReader) -> Fill:
    """Amounts carry their coin: `0.0010BTC`, and the fee may be in a third one."""
    symbol = values.symbol(line.cells[first_filled(line, "pair", "market")])
    base, quote = values.split_symbol(symbol)
    older = "market" in line.cells
    size, coin = reader.amount(line, "amount" if older else "executed")
    if coin and coin != base and not quote:
        symbol = f"{symbol.removesuffix(coin)}/{coin}"
    fee, fee_coin = reader.amount(line, "fee") if line.cells.get("fee") else (values.decimal("0", "fee"), None)
    paid_in = fee_coin or str(line.cells.get("fee coin") or "").upper() or quote
    return make_fill(
        line, time=reader.moment(line, *DATES, zone="UTC"), symbol=symbol,
        side=values.parse_side(line.cells[first_filled(line, "type" if older else "side")]), quantity=size,
        price=reader.number(line, "price"), id=line.cells.get("trade id"), fees=((fee, paid_in),),
    )  # fmt: skip


def futures(line: FileRow, reader: CellReader) -> Fill:
    symbol = values.symbol(line.cells[first_filled(line, "symbol")])
    fee, coin = reader.amount(line, "fee") if line.cells.get("fee") else (values.decimal("0", "fee"), None)
    profit, _ = reader.amount(line, "realized profit")
    paid_in = coin or str(line.cells.get("fee coin") or "").upper() or values.split_symbol(symbol)[1]
    return make_fill(
        line, time=reader.moment(line, *DATES, zone="UTC"), symbol=symbol,
        side=values.parse_side(line.cells[first_filled(line, "side")]),
        quantity=reader.amount(line, "quantity")[0], price=reader.number(line, "price"), id=line.cells.get("trade id"),
        fees=((abs(fee), paid_in),), profit=float(profit), multiplier=reader.multiplier(symbol),
    )  # fmt: skip


SPOT = FileFormat(
    "binance-spot",
    "Binance, spot trade history",
    (
        frozenset({"date(utc)", "pair", "side", "price", "executed", "fee"}),
        frozenset({"date(utc)", "market", "type", "price", "amount", "fee", "fee coin"}),
    ),
    frozenset({*DATES, "pair", "market", "side", "type", "price", "executed", "amount", "total", "fee", "fee coin",
               "trade id"}),
    row_by_row(spot),
)  # fmt: skip
FUTURES = FileFormat(
    "binance-futures",
    "Binance, futures trade history",
    tuple(frozenset({date, "symbol", "side", "price", "quantity", "fee", "realized profit"}) for date in DATES),
    frozenset({*DATES, "symbol", "side", "price", "quantity", "amount", "fee", "fee coin", "realized profit",
               "trade id", "order id", "uid", "quote asset"}),
    row_by_row(futures),
)  # fmt: skip
