"""MetaTrader 5: the deals of the history. Times are the broker's: name its zone where that is not UTC.

What a lot holds the file does not say. It is told (`--multiplier EURUSD=100000`), else derived from the deal with the
largest profit of the symbol; where profits are in another currency than the price, the difference is shown.
"""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.imports import values
from keepbook.extensions.trading.book.imports.formats.reading import (
    CellReader,
    FileFormat,
    ReadRow,
    first_filled,
    make_fill,
    row_by_row,
)
from keepbook.extensions.trading.book.imports.pairing import Fill, pair_fills
from keepbook.extensions.trading.book.imports.table import FileRow, FileTable


def deal(line: FileRow, reader: CellReader) -> Fill:
    kind = str(line.cells.get("type", "")).strip().lower()
    if kind not in ("buy", "sell"):
        raise Invalid(f"{kind or 'a row without a type'} is no trade")
    symbol = str(line.cells[first_filled(line, "symbol")]).strip().upper()
    paid = [reader.optional(line, name) or Decimal(0) for name in ("commission", "fee", "swap")]
    profit = reader.optional(line, "profit")
    closes = "out" in str(line.cells.get("direction", "")).lower()
    return make_fill(
        line, time=reader.moment(line, "time"), symbol=symbol, side=kind, quantity=reader.number(line, "volume"),
        price=reader.number(line, "price"), id=line.cells.get("deal"), fees=((-sum(paid, Decimal(0)), ""),),
        profit=float(profit) if profit is not None and closes else None,
        reason=str(line.cells.get("comment") or "")[:500] or None,
    )  # fmt: skip


def deals(table: FileTable, reader: CellReader) -> Iterator[ReadRow]:
    found = list(row_by_row(deal)(table, reader))
    sizes = {**_contract_sizes([one for _, one in found if isinstance(one, Fill)]), **reader.multipliers}
    for rows, one in found:
        if isinstance(one, Fill):
            size = sizes.get(one.symbol, sizes.get("*", 1.0))
            yield rows, replace(one, multiplier=float(size))
        else:
            yield rows, one


def _contract_sizes(fills: list[Fill]) -> dict[str, float]:
    """How much one lot holds: the profit of a deal over what its price moved for one unit."""
    sizes: dict[str, float] = {}
    for symbol in {one.symbol for one in fills}:
        mine = sorted((one for one in fills if one.symbol == symbol), key=lambda one: one.time)
        marked = [replace(one, key=str(nth), fee=0.0, fees=()) for nth, one in enumerate(mine)]
        moved: dict[str, float] = {}
        for trip in pair_fills((), marked).trips:
            moved[trip.exit_key] = moved.get(trip.exit_key, 0.0) + trip.pnl
        told_of = [(one.profit, moved[one.key]) for one in marked if one.profit and moved.get(one.key)]
        if told_of:
            profit, move = max(told_of, key=lambda both: abs(both[0]))
            sizes[symbol] = float(f"{profit / move:.3g}") if profit / move > 0 else 1.0
    return sizes


DEALS = FileFormat(
    "metatrader5",
    "MetaTrader 5, deals",
    (frozenset({"time", "deal", "symbol", "type", "direction", "volume", "price"}),),
    frozenset({"time", "deal", "symbol", "type", "direction", "volume", "price", "order", "commission", "fee", "swap",
               "profit", "balance", "comment", "cost"}),
    deals,
)  # fmt: skip
__all__ = ["DEALS", "values"]
