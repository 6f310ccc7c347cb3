"""What every format consists of: the columns it is recognised by, those it reads, and how a row becomes a fill or a
trade.

For each row, or several that belong together, a format yields a fill, a whole round trip, or an `Invalid` that says why
it is neither. It names the columns that it reads, so that others with figures can be reported.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.imports import values
from keepbook.extensions.trading.book.imports.pairing import Fill, Trip
from keepbook.extensions.trading.book.imports.table import FileRow, FileTable

ReadRow = tuple[tuple[int, ...], Fill | Trip | Invalid]
"""The rows it stands in, and what it is."""


@dataclass(slots=True)
class CellReader:
    """Reads the cells of one file. `symbol` and `multipliers` are given if the file does not say them."""

    now: datetime
    mark: str = "."
    zone: str = "UTC"
    symbol: str | None = None
    multipliers: Mapping[str, float] = field(default_factory=dict)
    profits: dict[str, float] = field(default_factory=dict)
    """The file's own profit of round trips, by their key, where it has one."""
    paid: dict[str, tuple[Decimal, str, str]] = field(default_factory=dict)
    """What round trips paid in a coin of its own, by their key: how much, the coin, and the currency of the price."""

    def number(self, line: FileRow, *columns: str) -> Decimal:
        """The first of these columns that is not empty, as a number."""
        name = first_filled(line, *columns)
        return values.decimal(line.cells[name], name, self.mark)

    def optional(self, line: FileRow, *columns: str) -> Decimal | None:
        for name in columns:
            cell = line.cells.get(name)
            if cell not in (None, "", "-", "--", "—"):
                return values.decimal(cell, name, self.mark)
        return None

    def amount(self, line: FileRow, *columns: str) -> tuple[Decimal, str | None]:
        name = first_filled(line, *columns)
        return values.parse_amount(line.cells[name], name, self.mark)

    def moment(self, line: FileRow, *columns: str, zone: str | None = None) -> str:
        name = first_filled(line, *columns)
        return values.parse_cell_time(line.cells[name], name, self.now, zone or self.zone)

    def multiplier(self, symbol: str) -> float:
        return float(self.multipliers.get(symbol, self.multipliers.get("*", 1.0)))


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A kind of file. `needs` are column names it is known by, all of one of the sets; `uses` those that it reads."""

    name: str
    title: str
    needs: tuple[frozenset[str], ...]
    uses: frozenset[str]
    read: Callable[[FileTable, CellReader], Iterator[ReadRow]]

    def knows(self, columns: Iterable[str]) -> bool:
        there = {name.strip().lower() for name in columns}
        return any(needed <= there for needed in self.needs)


def first_filled(line: FileRow, *columns: str) -> str:
    for name in columns:
        if line.cells.get(name) not in (None, ""):
            return name
    raise Invalid(f"{columns[0]} is missing", field=columns[0])


def row_by_row(
    row: Callable[[FileRow, CellReader], Fill | Trip],
) -> Callable[[FileTable, CellReader], Iterator[ReadRow]]:
    """A format that reads each row by itself."""

    def read(table: FileTable, reader: CellReader) -> Iterator[ReadRow]:
        for line in table.lines:
            yield (line.row,), _or_wrong(lambda line=line: row(line, reader), line)  # type: ignore[misc]

    return read


def _or_wrong(make: Callable[[], Fill | Trip], line: FileRow) -> Fill | Trip | Invalid:
    if line.wrong is not None:
        return Invalid(line.wrong)
    try:
        return make()
    except Invalid as error:
        return error


def make_fill(
    line: FileRow,
    *,
    time: str,
    symbol: str,
    side: str,
    quantity: Decimal,
    price: Decimal,
    id: Any = None,
    fees: tuple[tuple[Decimal, str], ...] = (),
    **more: Any,
) -> Fill:
    """A fill, with quantity and price checked. A fee paid in the coin that was bought is taken out of the quantity."""
    base = values.split_symbol(symbol)[0]
    bought = sum(fee for fee, coin in fees if coin == base and side == "buy")
    size = abs(quantity) - (bought if 0 < bought < abs(quantity) else 0)
    if size <= 0 or price <= 0:
        raise Invalid(f"{'quantity' if size <= 0 else 'price'} is a number above 0", field="quantity")
    return Fill(
        time, symbol, side, size, float(price), key="" if id in (None, "") else f"id-{str(id)[:180]}",
        fees=tuple((fee, coin) for fee, coin in fees if fee), rows=(line.row,), **more,
    )  # fmt: skip
