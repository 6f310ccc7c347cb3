"""A plain table of fills or of whole trades, with column names that people commonly use, or with those of a mapping.

A mapping says which column of the file is which of ours: `entry_time=Open Time`. A table with a column for the entry is
one of whole trades; any other is one of fills.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from hashlib import blake2b
from typing import NoReturn

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
    "account": ("account", "account name", "portfolio"),
    "tag": ("tag", "entry_regime_tag", "setup", "strategy"),
}
"""Our columns, and the names that a file may have for each."""
PLAIN = "A plain table"
"""What people call a table that is no broker's."""
WHOLE = ("symbol", "side", "quantity", "entry_time", "entry_price", "exit_time", "exit_price")
"""The columns that a table of whole trades needs."""
FILLS = ("time", "symbol", "side", "quantity", "price")
"""The columns that a table of fills needs."""
ONLY_WHOLE = {"entry_time", "entry_price", "exit_time", "exit_price"}
"""Columns that no table of fills has."""
DAY_AND_CLOCK = {"date", "time"}
"""The columns of a table that has day and time of day apart."""
_CLOCK = regex(r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?[AaPp][Mm])?")
_NOT_ZERO = regex(r"[1-9]")


def fits(names: Iterable[str]) -> bool:
    """Whether a plain table may have these column names. The symbol may be missing, because the person can give it."""
    there = {name.strip().lower() for name in names}
    found = {ours for ours, known in OURS.items() if there & set(known)}
    return any(set(needed) - {"symbol"} <= found for needed in (FILLS, WHOLE))


def format_of_mapping(mapping: Mapping[str, str]) -> FileFormat:
    """The format for a mapping of our columns to the file's. Columns that the mapping leaves out are sought by the
    names in `OURS`."""
    unknown = sorted(mapping.keys() - OURS.keys())
    if unknown:
        raise Invalid(f"there is no {unknown[0]!r} to map to; there are {', '.join(OURS)}", field="map")
    theirs = {name.strip().lower(): ours for ours, name in mapping.items()}

    def read(table: FileTable, reader: CellReader) -> Iterator[ReadRow]:
        found = _find_columns(table, theirs)
        is_whole = all(name in found for name in WHOLE)
        needed = WHOLE if is_whole or ONLY_WHOLE & found.keys() else FILLS
        missing = [name for name in needed if name not in found]
        if reader.symbol:
            missing = [name for name in missing if name != "symbol"]
        if missing:
            _refuse_table(table, missing)
        names = {name.lower() for name in table.columns}
        if "time" not in mapping and names >= DAY_AND_CLOCK:
            table = replace(table, lines=tuple(map(_join_day_and_clock, table.lines)))
        renamed = replace(table, lines=tuple(_rename_cells(line, found) for line in table.lines))
        read_one = partial(_whole if is_whole else _fill, sign=_sign_of_fees(renamed))
        yield from row_by_row(read_one)(renamed, reader)

    used = frozenset(theirs) | frozenset(name for names in OURS.values() for name in names)
    return FileFormat("plain", PLAIN, (frozenset(theirs),), used, read, whose="Trades")


def _find_columns(table: FileTable, theirs: Mapping[str, str]) -> dict[str, str]:
    """The columns of the file by ours: those of a mapping (`theirs`: from the file's name to ours), and for what it
    leaves out, those that `OURS` names."""
    names = {name.lower() for name in table.columns}
    missing = sorted(theirs.keys() - names)
    if missing:
        raise Invalid(f"the file has no column {missing[0]!r}; it has {', '.join(table.columns)}", field="map")
    found = {ours: name for name, ours in theirs.items()}
    free = names - theirs.keys()
    for ours, known in OURS.items():
        there = next((name for name in known if name in free), None)
        if ours not in found and there is not None:
            found[ours] = there
    if "side" not in found:
        side = side_column(table, found.values())
        if side is not None:
            found["side"] = side
    return found


def _refuse_table(table: FileTable, missing: Sequence[str]) -> NoReturn:
    """Raise for a table without needed columns. If most of its column names have digits, it has no header."""
    with_digits = sum(any(char.isdigit() for char in name) for name in table.columns)
    has_header = with_digits <= len(table.columns) / 2
    *others, last = (name.replace("_", " ") for name in missing)
    if others:
        asks = f"say which columns are {', '.join(others)} and {last}: map {missing[0]}=COLUMN and so on"
    else:
        asks = f"say which column is the {last}: map {missing[0]}=COLUMN"
    if not has_header:
        asks = "its first line is no header: put the names of the columns above it"
    raise Invalid(f"{asks}; the file has {', '.join(table.columns)}", field="map")


def _join_day_and_clock(line: FileRow) -> FileRow:
    """A row with the day in one column and the time of day in another gets both in each of them."""
    day, clock = (str(line.cells.get(name) or "").strip() for name in ("date", "time"))
    if not _CLOCK.fullmatch(clock):
        return line
    return replace(line, cells={**line.cells, "time": f"{day} {clock}", "date": f"{day} {clock}"})


def side_column(table: FileTable, taken: Collection[str]) -> str | None:
    """The column, whatever its name, that has only words for a side, such as `buy`; None if there is not just one."""
    free = [name.lower() for name in table.columns if name and name.lower() not in taken]
    cells = {name: [str(line.cells.get(name) or "") for line in table.lines] for name in free}
    found = [name for name, some in cells.items() if some and all(map(values.is_side, some))]
    if len(found) == 1:
        return found[0]
    return None


def _rename_cells(line: FileRow, found: Mapping[str, str]) -> FileRow:
    """The row with our column names."""
    return replace(line, cells={ours: line.cells.get(name) for ours, name in found.items()})


def _sign_of_fees(table: FileTable) -> int:
    """-1 if the file writes fees with a minus, as it does if most have one; else 1. A fee with the other sign is a
    rebate."""
    fees = [str(line.cells.get("fee") or "").strip() for line in table.lines]
    is_negative = [fee.startswith(("-", "\u2212", "(")) for fee in fees if _NOT_ZERO.search(fee)]
    return -1 if sum(is_negative) * 2 > len(is_negative) else 1


def _fee_of(line: FileRow, reader: CellReader, sign: int) -> tuple[Decimal, str]:
    """The fee of a row, and its coin; empty if the row does not name it."""
    fee, coin = Decimal(0), None
    if line.cells.get("fee"):
        fee, coin = reader.amount(line, "fee")
    return fee * sign, coin or str(line.cells.get("fee_currency") or "").upper()


def _fill(line: FileRow, reader: CellReader, sign: int) -> Fill:
    """A row of a table of fills."""
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
        account=_account(line),
    )


def _currency(line: FileRow) -> str:
    return str(line.cells.get("currency") or "").strip().upper()


def _account(line: FileRow) -> str:
    """The account, or whatever else the person tells their strategies apart by."""
    return str(line.cells.get("account") or "").strip()[:100]


def _whole(line: FileRow, reader: CellReader, sign: int) -> Trip:
    """A row of a table of whole trades."""
    symbol = values.symbol(line.cells.get("symbol") or reader.symbol or "")
    is_long = values.parse_side(line.cells[first_filled(line, "side")]) == "buy"
    side = "long" if is_long else "short"
    size = float(reader.optional(line, "multiplier") or reader.multiplier(symbol))
    quantity = float(abs(reader.amount(line, "quantity")[0])) * size
    entry_price, exit_price = (float(reader.amount(line, name)[0]) for name in ("entry_price", "exit_price"))
    entry_time, exit_time = reader.moment(line, "entry_time"), reader.moment(line, "exit_time")
    if quantity <= 0 or entry_price <= 0:
        raise Invalid(f"{'quantity' if quantity <= 0 else 'entry_price'} is a number above 0", field="quantity")
    if exit_time < entry_time:
        raise Invalid("exit_time is before entry_time", field="exit_time")
    fee, coin = _fee_of(line, reader, sign)
    figures = (symbol, side, quantity, entry_time, entry_price, exit_time, exit_price, fee * sign, coin)
    if line.cells.get("id"):
        key = f"id-{line.cells['id']}"
    else:
        key = blake2b(repr(figures).encode(), digest_size=12).hexdigest()
    profit = reader.optional(line, "profit")
    if profit is not None:
        reader.profits[key] = float(profit)
    fees = 0.0
    if coin:  # it is converted later
        reader.paid[key] = (fee, coin, _currency(line))
    else:
        fees = float(fee)
    return Trip(
        key=key,
        symbol=symbol,
        side=side,
        quantity=quantity,
        entry_time=entry_time,
        entry_price=entry_price,
        exit_time=exit_time,
        exit_price=exit_price,
        fees=fees - float(reader.optional(line, "funding") or 0),
        entry_key=f"{key}-in",
        exit_key=f"{key}-out",
        entry_reason=str(line.cells.get("tag") or "")[:500] or None,
        quote=_currency(line),
        account=_account(line),
    )


TABLE = replace(format_of_mapping({}), needs=(frozenset(WHOLE),))
