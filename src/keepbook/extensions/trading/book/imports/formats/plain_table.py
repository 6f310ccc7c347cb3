"""A plain table: fills or whole trades under names that people use, or under those that a mapping gives.

A mapping says which column of the file is which of ours, `entry_time=Open Time`. With an `entry_price` the rows are
whole trades, without they are fills.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import partial
from hashlib import blake2b

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
from keepbook.extensions.trading.book.imports.pairing import Fill, Trip
from keepbook.extensions.trading.book.imports.table import FileRow, FileTable
from keepbook.patterns import regex

OURS: Mapping[str, tuple[str, ...]] = {
    "time": ("time", "date", "datetime", "timestamp", "executed at", "filled at"),
    "symbol": ("symbol", "ticker", "instrument", "market", "pair"),
    "side": ("side", "direction", "action", "buy/sell"),
    "quantity": ("quantity", "qty", "amount", "size", "volume", "contracts", "shares"),
    "price": ("price", "fill price", "rate"),
    "fee": ("fee", "fees", "commission"),
    "fee_currency": ("fee currency", "fee coin", "commission currency"),
    "currency": ("currency", "quote currency", "price currency", "quote"),
    "id": ("id", "trade id", "execution id", "fill id"),
    "profit": ("profit", "pnl", "p&l", "realized pnl", "net profit"),
    "multiplier": ("multiplier", "contract size", "point value"),
    "entry_time": ("entry_time", "entry time", "open time", "opened", "entry date"),
    "exit_time": ("exit_time", "exit time", "close time", "closed", "exit date"),
    "entry_price": ("entry_price", "entry price", "open price"),
    "exit_price": ("exit_price", "exit price", "close price"),
    "funding": ("funding", "swap", "overnight"),
    "tag": ("tag", "entry_regime_tag", "setup", "strategy"),
}
WHOLE = ("symbol", "side", "quantity", "entry_time", "entry_price", "exit_time", "exit_price")
FILLS = ("time", "symbol", "side", "quantity", "price")
DAY_AND_CLOCK = {"date", "time"}
_CLOCK = regex(r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?[AaPp][Mm])?")
_SOME = regex(r"[1-9]")
ONLY_WHOLE = {"entry_time", "entry_price", "exit_time", "exit_price"}
"""No table of fills has these: with one of them its rows are whole trades."""


def fits(names: Iterable[str]) -> bool:
    """Whether these column names are a header that a plain table may have."""
    there = {name.strip().lower() for name in names}
    found = {ours for ours, known in OURS.items() if there & set(known)}
    return any(set(needed) - {"symbol"} <= found for needed in (FILLS, WHOLE))


def format_of_mapping(mapping: Mapping[str, str]) -> FileFormat:
    """A format by a mapping of ours to theirs; names that it leaves out are sought as a plain table has them."""
    if unknown := sorted(mapping.keys() - OURS.keys()):
        raise Invalid(f"there is no {unknown[0]!r} to map to; there are {', '.join(OURS)}", field="map")
    theirs = {name.strip().lower(): ours for ours, name in mapping.items()}

    def read(table: FileTable, reader: CellReader) -> Iterator[ReadRow]:
        names = {name.lower() for name in table.columns}
        if missing := sorted(theirs.keys() - names):
            raise Invalid(f"the file has no column {missing[0]!r}; it has {', '.join(table.columns)}", field="map")
        found = {ours: name for name, ours in theirs.items()}
        for ours, known in OURS.items():
            if ours not in found and (there := next((name for name in known if name in names - theirs.keys()), None)):
                found[ours] = there
        if "side" not in found and (told := side_column(table, found.values())):
            found["side"] = told
        whole = all(name in found for name in WHOLE)
        needed = WHOLE if whole or ONLY_WHOLE & found.keys() else FILLS
        if missing := [name for name in needed if name not in found and not (name == "symbol" and reader.symbol)]:
            bare = sum(any(char.isdigit() for char in name) for name in table.columns) > len(table.columns) / 2
            asks = "its first line is no header: put the names of the columns above it" if bare else (
                f"say which column is the {missing[0]}: map {missing[0]}=COLUMN"
            )  # fmt: skip
            raise Invalid(f"{asks}; the file has {', '.join(table.columns)}", field="map")
        if "time" not in mapping and names >= DAY_AND_CLOCK:
            table = replace(table, lines=tuple(map(_join_day_and_clock, table.lines)))
        ours_first = replace(table, lines=tuple(_rename_cells(line, found) for line in table.lines))
        read_one = partial(_whole if whole else _fill, sign=_sign_of_fees(ours_first))
        yield from row_by_row(read_one)(ours_first, reader)

    used = frozenset(theirs) | frozenset(name for names in OURS.values() for name in names)
    return FileFormat("plain", "A plain table", (frozenset(theirs),), used, read)


def _join_day_and_clock(line: FileRow) -> FileRow:
    """A table may have the day in one column and the time of day in another."""
    day, clock = (str(line.cells.get(name) or "").strip() for name in ("date", "time"))
    if not _CLOCK.fullmatch(clock):
        return line
    return replace(line, cells={**line.cells, "time": f"{day} {clock}", "date": f"{day} {clock}"})


def side_column(table: FileTable, taken: Collection[str]) -> str | None:
    """The one column, whatever its name, in which nothing stands but which way a trade went."""
    free = [name.lower() for name in table.columns if name and name.lower() not in taken]
    cells = {name: [str(line.cells.get(name) or "") for line in table.lines] for name in free}
    found = [name for name, some in cells.items() if some and all(map(values.is_side, some))]
    if len(found) == 1:
        return found[0]
    return None


def _rename_cells(line: FileRow, found: Mapping[str, str]) -> FileRow:
    return replace(line, cells={ours: line.cells.get(name) for ours, name in found.items()})


def _sign_of_fees(table: FileTable) -> int:
    """-1 where a file writes fees with a minus. What has the other sign than most was given back."""
    fees = [str(line.cells.get("fee") or "").strip() for line in table.lines]
    below = [fee.startswith(("-", "\u2212", "(")) for fee in fees if _SOME.search(fee)]
    return -1 if sum(below) * 2 > len(below) else 1


def _fee_of(line: FileRow, reader: CellReader, sign: int) -> tuple[Decimal, str]:
    """What a row paid, and the coin of it, where one is told."""
    fee, coin = Decimal(0), None
    if line.cells.get("fee"):
        fee, coin = reader.amount(line, "fee")
    return fee * sign, coin or str(line.cells.get("fee_currency") or "").upper()


def _fill(line: FileRow, reader: CellReader, sign: int) -> Fill:
    symbol = values.symbol(line.cells.get("symbol") or reader.symbol or "")
    quantity, _ = reader.amount(line, "quantity")
    fee, coin = _fee_of(line, reader, sign)
    profit, size = reader.optional(line, "profit"), reader.optional(line, "multiplier")
    return make_fill(
        line,
        time=reader.moment(line, "time"),
        symbol=symbol,
        side=values.parse_side(line.cells[first_filled(line, "side")]),
        quantity=quantity,
        price=reader.amount(line, "price")[0],
        id=line.cells.get("id"),
        fees=((fee, coin),),
        profit=None if profit is None else float(profit),
        multiplier=float(size or reader.multiplier(symbol)),
        quote=_currency(line),
    )


def _currency(line: FileRow) -> str:
    return str(line.cells.get("currency") or "").strip().upper()


def _whole(line: FileRow, reader: CellReader, sign: int) -> Trip:
    symbol = values.symbol(line.cells.get("symbol") or reader.symbol or "")
    if values.parse_side(line.cells[first_filled(line, "side")]) == "buy":
        side = "long"
    else:
        side = "short"
    size = float(reader.optional(line, "multiplier") or reader.multiplier(symbol))
    quantity = float(abs(reader.amount(line, "quantity")[0])) * size
    entered, left = (float(reader.amount(line, name)[0]) for name in ("entry_price", "exit_price"))
    begun, ended = reader.moment(line, "entry_time"), reader.moment(line, "exit_time")
    if quantity <= 0 or entered <= 0:
        raise Invalid(f"{'quantity' if quantity <= 0 else 'entry_price'} is a number above 0", field="quantity")
    if ended < begun:
        raise Invalid("exit_time is before entry_time", field="exit_time")
    fee, coin = _fee_of(line, reader, sign)
    paid = (0.0 if coin else float(fee)) - float(reader.optional(line, "funding") or 0)
    figures = repr((symbol, side, quantity, begun, entered, ended, left, fee * sign, coin)).encode()
    if line.cells.get("id"):
        key = f"id-{line.cells['id']}"
    else:
        key = blake2b(figures, digest_size=12).hexdigest()
    profit = reader.optional(line, "profit")
    if profit is not None:
        reader.profits[key] = float(profit)
    if coin:
        reader.paid[key] = (fee, coin, _currency(line))
    tag = str(line.cells.get("tag") or "")[:500] or None
    return Trip(key, symbol, side, quantity, begun, entered, ended, left, paid, f"{key}-in", f"{key}-out", tag)


TABLE = replace(format_of_mapping({}), needs=(frozenset(WHOLE),))
