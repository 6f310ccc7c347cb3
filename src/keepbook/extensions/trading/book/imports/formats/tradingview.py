"""TradingView: the list of trades of a strategy. A trade is two rows, its entry and its exit. The person has to give
the symbol, because the file does not have it."""

from collections.abc import Iterator
from typing import NamedTuple

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.imports import values
from keepbook.extensions.trading.book.imports.formats.reading import CellReader, FileFormat, ReadRow, first_filled
from keepbook.extensions.trading.book.imports.pairing import Trip
from keepbook.extensions.trading.book.imports.table import FileRow, FileTable
from keepbook.extensions.trading.book.market.symbols import MONEY

NUMBERS, TIMES = ("trade #", "trade number"), ("date/time", "date and time")


def read_trades(table: FileTable, reader: CellReader) -> Iterator[ReadRow]:
    """The rows of a trade have its number. Without an exit, or with one whose signal is `Open`, it is still open."""
    names = [name.lower() for name in table.columns]
    sizes = [name for name in names if name in ("contracts", "quantity", "size (qty)", "position size (qty)")]
    profits = [name for name in names if name.startswith(("net p&l", "net pnl", "profit")) and "%" not in name]
    price = next(name for name in names if name.startswith("price"))
    size = sizes[0] if sizes else "contracts"
    columns = _Columns(price=price, size=size, profit=profits[0] if profits else None)
    groups: dict[str, list[FileRow]] = {}
    for line in table.lines:
        number = next((str(line.cells[name]) for name in NUMBERS if line.cells.get(name)), "")
        if line.wrong is not None or not number:
            yield (line.row,), Invalid(line.wrong or "it has no trade number")
        else:
            groups.setdefault(number, []).append(line)
    for number, lines in groups.items():
        yield from _trade(number, lines, reader, columns)


class _Columns(NamedTuple):
    """The columns of a file whose names differ between versions and currencies (`Price USDT`)."""

    price: str
    size: str
    profit: str | None


def _trade(number: str, lines: list[FileRow], reader: CellReader, columns: _Columns) -> Iterator[ReadRow]:
    """The trade of the rows with one number; the same `Invalid` for each of them if they do not make a trade."""
    rows = tuple(line.row for line in lines)
    kinds = [str(line.cells.get("type", "")).strip().lower() for line in lines]
    entries = [line for line, kind in zip(lines, kinds, strict=True) if kind.startswith("entry")]
    exits = [line for line, kind in zip(lines, kinds, strict=True) if kind.startswith("exit")]
    try:
        if len(entries) != 1 or len(exits) != 1:
            raise Invalid(f"trade {number} has {len(entries)} entries and {len(exits)} exits; it needs one of each")
        if str(exits[0].cells.get("signal", "")).strip().lower() == "open":
            raise Invalid(f"trade {number} is still open")
        yield rows, _trip(number, entries[0], exits[0], reader, columns)
    except Invalid as error:
        for row in rows:
            yield (row,), error


def _trip(number: str, entry: FileRow, out: FileRow, reader: CellReader, columns: _Columns) -> Trip:
    """The trade of an entry and an exit. Its fees are what the file's own profit is less than that by the prices."""
    if reader.symbol is None:
        raise Invalid("the file does not name its symbol; say which", field="symbol")
    symbol = values.symbol(reader.symbol)
    is_long = "long" in str(entry.cells["type"]).lower()
    quantity = float(abs(reader.number(entry, columns.size))) * reader.multiplier(symbol)
    entry_price, exit_price = float(reader.number(entry, columns.price)), float(reader.number(out, columns.price))
    if quantity <= 0 or entry_price <= 0:
        raise Invalid("quantity and price are numbers above 0", field="quantity")
    stated_profit = None
    if columns.profit is not None:
        stated_profit = reader.optional(out, columns.profit)
    entry_time, exit_time = reader.moment(entry, *TIMES), reader.moment(out, *TIMES)
    if exit_time < entry_time:
        raise Invalid(f"trade {number} ends before it begins", field="time")
    key = f"tv-{symbol}-{number}-{entry_time}"
    side = "long" if is_long else "short"
    quote = columns.price.removeprefix("price").strip().upper()  # `USDT` of `Price USDT`
    fees = 0.0
    if stated_profit is not None:
        way = 1 if is_long else -1
        fees = way * (exit_price - entry_price) * quantity - float(stated_profit)
        reader.profits[key] = float(stated_profit)
    return Trip(
        key=key,
        symbol=symbol,
        side=side,
        quantity=quantity,
        entry_time=entry_time,
        entry_price=entry_price,
        exit_time=exit_time,
        exit_price=exit_price,
        fees=fees,
        entry_key=f"{key}-in",
        exit_key=f"{key}-out",
        entry_reason=str(entry.cells.get("signal") or "")[:500] or None,
        exit_reason=str(out.cells.get("signal") or "")[:500] or None,
        quote=quote if quote in MONEY else "",
    )


LIST = FileFormat(
    "tradingview",
    "TradingView, list of trades",
    tuple(frozenset({number, "type", "signal", time}) for number in NUMBERS for time in TIMES),
    frozenset({*NUMBERS, *TIMES, "type", "signal", "contracts", "quantity", "size (qty)", "position size (qty)"}),
    read_trades,
    (
        "Trade #,Type,Signal,Date/Time,Price USDT,Contracts,Profit USDT,Profit %",
        "Trade number,Type,Date and time,Signal,Price USDT,Size (qty),Size (value),Net PnL USDT,Net PnL %",
    ),
    "lists exported from the strategy tester",
)
__all__ = ["LIST", "first_filled"]
