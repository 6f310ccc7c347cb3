"""TradingView: the list of trades of a strategy, entry and exit in a row each. The file does not name the symbol."""

from collections.abc import Iterator

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.imports import values
from keepbook.extensions.trading.book.imports.formats.reading import CellReader, FileFormat, ReadRow, first_filled
from keepbook.extensions.trading.book.imports.pairing import Trip
from keepbook.extensions.trading.book.imports.table import FileRow, FileTable
from keepbook.extensions.trading.book.market.symbols import MONEY

NUMBERS, TIMES = ("trade #", "trade number"), ("date/time", "date and time")


def read_trades(table: FileTable, reader: CellReader) -> Iterator[ReadRow]:
    """Rows that share a number belong together; one without the other is a trade that is still open."""
    columns = [name.lower() for name in table.columns]
    price = next(name for name in columns if name.startswith("price"))
    size = next(
        (name for name in columns if name in ("contracts", "quantity", "size (qty)", "position size (qty)")), ""
    )
    profit = next(
        (name for name in columns if name.startswith(("net p&l", "net pnl", "profit")) and "%" not in name), ""
    )
    groups: dict[str, list[FileRow]] = {}
    for line in table.lines:
        number = next((str(line.cells[name]) for name in NUMBERS if line.cells.get(name)), "")
        if line.wrong is not None or not number:
            yield (line.row,), Invalid(line.wrong or "it has no trade number")
        else:
            groups.setdefault(number, []).append(line)
    for number, lines in groups.items():
        yield from _trade(number, lines, reader, (price, size, profit))


def _trade(number: str, lines: list[FileRow], reader: CellReader, columns: tuple[str, str, str]) -> Iterator[ReadRow]:
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


def _trip(number: str, entry: FileRow, out: FileRow, reader: CellReader, columns: tuple[str, str, str]) -> Trip:
    price, size, profit = columns
    if reader.symbol is None:
        raise Invalid("the file does not name its symbol; say which", field="symbol")
    symbol = values.symbol(reader.symbol)
    if "long" in str(entry.cells["type"]).lower():
        way = "long"
    else:
        way = "short"
    quantity = float(abs(reader.number(entry, size or "contracts"))) * reader.multiplier(symbol)
    entered, left = float(reader.number(entry, price)), float(reader.number(out, price))
    if quantity <= 0 or entered <= 0:
        raise Invalid("quantity and price are numbers above 0", field="quantity")
    gross = (1 if way == "long" else -1) * (left - entered) * quantity
    told_profit = None
    if profit:
        told_profit = reader.optional(out, profit)
    begun, ended = reader.moment(entry, *TIMES), reader.moment(out, *TIMES)
    if ended < begun:
        raise Invalid(f"trade {number} ends before it begins", field="time")
    key = f"tv-{symbol}-{number}-{begun}"
    quote = price.removeprefix("price").strip().upper()  # `Price USDT`
    if told_profit is not None:
        reader.profits[key] = float(told_profit)
    if told_profit is not None:
        fees = gross - float(told_profit)
    else:
        fees = 0.0
    return Trip(
        key, symbol, way, quantity, begun, entered, ended, left,
        fees,
        f"{key}-in", f"{key}-out", str(entry.cells.get("signal") or "")[:500] or None,
        str(out.cells.get("signal") or "")[:500] or None, quote if quote in MONEY else "",
    )  # fmt: skip


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
