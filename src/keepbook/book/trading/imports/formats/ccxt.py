"""ccxt: what `fetch_my_trades` answers, as JSON. The exchange's own words stand in `info` and are not read."""

from decimal import Decimal
from typing import Any

from keepbook.book.trading.imports import values
from keepbook.book.trading.imports.formats.reading import Format, Reader, each, fill, told
from keepbook.book.trading.imports.pairing import Fill
from keepbook.book.trading.imports.table import Line


def row(line: Line, reader: Reader) -> Fill:
    symbol = values.symbol(line.cells[told(line, "symbol")])
    listed: Any = line.cells.get("fees") or ([line.cells["fee"]] if line.cells.get("fee") else [])
    fees = tuple(
        (values.decimal(one.get("cost") or 0, "fee"), str(one.get("currency") or "").upper())
        for one in listed
        if isinstance(one, dict)
    )
    return fill(
        line, time=reader.moment(line, "timestamp", "datetime", zone="UTC"), symbol=symbol,
        side=values.side(line.cells[told(line, "side")]), quantity=reader.number(line, "amount"),
        price=reader.number(line, "price"), id=line.cells.get("id"), fees=fees or ((Decimal(0), ""),),
        multiplier=reader.multiplier(symbol),
    )  # fmt: skip


TRADES = Format(
    "ccxt",
    "ccxt, fetch_my_trades",
    (frozenset({"timestamp", "symbol", "side", "price", "amount", "info"}),),
    frozenset({"id", "timestamp", "datetime", "symbol", "side", "price", "amount", "fee", "fees", "info", "order",
               "cost", "type", "takerormaker"}),
    each(row),
)  # fmt: skip
