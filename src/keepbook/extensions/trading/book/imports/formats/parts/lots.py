"""What a lot of MetaTrader holds, which its files do not say, and what currency its profits are in.

A lot is what the profits of a symbol over the moves of its price come to: of what was closed, else of what is open.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from keepbook.extensions.trading.book.imports import values
from keepbook.extensions.trading.book.imports.formats.reading import CellReader, or_wrong
from keepbook.extensions.trading.book.imports.pairing import Fill, pair_fills, position_of
from keepbook.extensions.trading.book.imports.table import FileRow, FileTable
from keepbook.extensions.trading.book.market.symbols import COUNTRIES
from keepbook.patterns import regex

HALF_A_CENT = 0.00501  # a profit in the file is rounded to cents
STANDARD_LOT = 100_000.0
"""What a lot of a pair of currencies holds, if nothing says otherwise."""
NEAR = 0.003
"""The share by which an exchange rate of the moment and rounding to cents may distort a figure."""
CLOSE_TIME = regex(r"\d{4}\.\d{2}\.\d{2} \d{2}:\d{2}(?::\d{2})?")


def guess_currency(fills: Sequence[Fill], sizes: Mapping[str, float], reader: CellReader) -> str:
    """The account's currency, which is one for all its deals. Profits are in it: where by them a lot of EURUSD holds a
    round number, they are dollars; where it does so times the price, euros. Without any profit it is what all the pairs
    are quoted in; else nothing is known."""
    pairs = {one.symbol: values.split_symbol(one.symbol) for one in fills}
    told = {symbol for symbol in sizes if pairs[symbol][1]}
    found = {quote for _, quote in pairs.values() if quote}
    if told:
        found = {pairs[symbol][1] for symbol in told if float(f"{sizes[symbol]:.2g}") == sizes[symbol]}
        found = found or {pairs[symbol][0] for symbol in told if _is_in_base(symbol, fills, sizes[symbol])}
    if len(found) != 1:
        reader.notes.append("the file does not name the account's currency: it is taken to be that of each pair")
        return ""
    currency = found.pop()
    reader.notes.append(f"the file does not name the account's currency; by its pairs and profits it is {currency}")
    return currency


def _is_in_base(symbol: str, fills: Sequence[Fill], size: float) -> bool:
    """Whether profits of a pair are in its first currency: then they are its second's over the price."""
    closed = [one for one in fills if one.symbol == symbol and one.profit]
    price = max(closed, key=lambda one: abs(one.profit or 0.0)).price
    return _is_pair_of_currencies(symbol) and abs(size * price / STANDARD_LOT - 1) < NEAR


def sizes_of_closed(fills: Sequence[Fill]) -> dict[str, float]:
    """How much one lot holds: the profit of a deal over what its price moved for one unit. A terminal counts from the
    average price of a position, other files first in, first out: whichever comes to the rounder number."""
    sizes: dict[str, float] = {}
    for symbol in {one.symbol for one in fills}:
        mine = sorted((one for one in fills if one.symbol == symbol), key=lambda one: one.time)
        found = []
        for moves in (_moves_of_average, _moves_in_turn):
            size = _size_by(mine, moves(mine))
            if size:
                found.append(size)
        if found:
            sizes[symbol] = min(found, key=_digits)
    return sizes


def _size_by(fills: Iterable[Fill], moves: Iterable[float]) -> float | None:
    """The size of a lot by the deal with the largest profit; None if no deal has a profit."""
    told_of = [(one.profit, move) for one, move in zip(fills, moves, strict=True) if one.profit and move]
    if told_of:
        return _size(*max(told_of, key=lambda both: abs(both[0])))
    return None


def _digits(size: float) -> int:
    """The number of significant digits of a size: 1 for 100,000."""
    return len(f"{size:.12e}".partition("e")[0].rstrip("0").replace(".", ""))


def _moves_in_turn(fills: Sequence[Fill]) -> list[float]:
    """For each fill the price move times the quantity that it closes, first in, first out."""
    marked = []
    for nth, one in enumerate(fills):
        position = position_of(one.key)
        key = f"{position}/{nth}" if position else str(nth)
        marked.append(replace(one, key=key, fee=0.0, fees=(), closing_fee=0.0))
    moved: dict[str, float] = {}
    for trip in pair_fills((), marked).trips:
        moved[trip.exit_key] = moved.get(trip.exit_key, 0.0) + trip.pnl
    return [moved.get(one.key, 0.0) for one in marked]


def _moves_of_average(fills: Iterable[Fill]) -> Iterator[float]:
    """For each fill the price move times the quantity that it closes, from the average price of its position."""
    held: dict[str, tuple[Decimal, float]] = {}
    for one in fills:
        quantity, average = held.get(position_of(one.key), (Decimal(0), 0.0))
        signed = one.quantity if one.side == "buy" else -one.quantity
        closes = Decimal(0)
        if signed * quantity < 0:
            closes = min(abs(signed), abs(quantity))
        yield (one.price - average) * float(closes.copy_sign(quantity))
        rest = quantity + signed
        if not closes:
            average = (float(abs(quantity)) * average + float(abs(signed)) * one.price) / float(abs(rest))
        elif closes < abs(signed):
            average = one.price
        held[position_of(one.key)] = (rest, average)


def lot_sizes(
    table: FileTable, fills: Sequence[Fill], closed: Mapping[str, float], reader: CellReader
) -> dict[str, float]:  # fmt: skip
    """The size of a lot of each symbol: as given, else derived from closed positions (`closed`), else from open ones,
    else the usual size, with a note."""
    still = _sizes_of_open(table, reader)
    found: dict[str, float] = {}
    for symbol in sorted({one.symbol for one in fills}):
        size = reader.told_multiplier(symbol) or closed.get(symbol) or still.get(symbol)
        if not size:
            size = STANDARD_LOT if _is_pair_of_currencies(symbol) else 1.0
            reader.notes.append(f"what a lot of {symbol} holds is not in the file: counted as {size:g}, or say it")
        found[symbol] = float(size)
    return found


def _is_pair_of_currencies(symbol: str) -> bool:
    return len(symbol) >= 6 and symbol[:3] in COUNTRIES and symbol[3:6] in COUNTRIES


def _sizes_of_open(table: FileTable, reader: CellReader) -> dict[str, float]:
    """The size of a lot by open positions: their profit so far, and the present price."""
    found: dict[str, float] = {}
    for line in (*table.lines, *table.beside):
        if line.wrong is not None or not is_trade_row(line):
            continue
        if "direction" in line.cells or CLOSE_TIME.fullmatch(close_cell(line)):
            continue  # a deal, or closed
        begun, now = (figure_in(line, name, reader) for name in ("price", "market price"))
        now = now or figure_in(line, "price (2)", reader)
        lots = figure_in(line, "volume", reader) or figure_in(line, "size", reader) or figure_in(line, "lots", reader)
        way = 1 if str(line.cells["type"]).strip().lower() == "buy" else -1
        profit, move = float(figure_in(line, "profit", reader)), float((now - begun) * lots) * way
        symbol = str(line.cells.get("symbol") or line.cells.get("item") or "").strip().upper()
        if begun and now and profit and move and profit / move > 0:
            found.setdefault(symbol, _size(profit, move))
    return found


def _size(profit: float, move: float) -> float:
    """A round size, if the profit is right with it to the cent; else the exact one, which includes an exchange rate."""
    if profit / move <= 0:
        return 1.0
    found = float(f"{profit / move:.3g}")
    if abs(found * move - profit) <= HALF_A_CENT:
        return found
    return profit / move


def _pairs(fills: Iterable[Fill]) -> dict[str, tuple[Fill, Fill]]:
    """The fill that opened and the one that closed each closed position."""
    ins = {position_of(one.key): one for one in fills if one.key.endswith("/in")}
    return {position_of(one.key): (ins[position_of(one.key)], one) for one in fills if one.key.endswith("/out")}


def own_sizes(fills: Sequence[Fill], usual: Mapping[str, float]) -> dict[str, float]:
    """The size of a lot for positions whose profit in the file is not right with the usual size of the symbol: profits
    are in the currency of the account, so this size includes the exchange rate of the day."""
    found: dict[str, float] = {}
    for position, (into, out) in _pairs(fills).items():
        way = 1 if into.side == "buy" else -1
        move = way * (out.price - into.price) * float(into.quantity)
        if not out.profit or not move or out.profit / move <= 0:
            continue
        if abs(move * usual.get(into.symbol, 1.0) - out.profit) > HALF_A_CENT:
            found[position] = out.profit / move
    return found


def close_cell(line: FileRow) -> str:
    return str(line.cells.get("time (2)") or line.cells.get("close time") or "").strip()


def is_trade_row(line: FileRow) -> bool:
    return str(line.cells.get("type", "")).strip().lower() in ("buy", "sell")


def figure_in(line: FileRow, name: str, reader: CellReader) -> Decimal:
    found = or_wrong(line, reader.optional, line, name)
    if isinstance(found, Decimal):
        return found
    return Decimal(0)
