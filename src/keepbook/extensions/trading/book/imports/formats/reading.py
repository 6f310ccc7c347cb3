"""A file format: the columns it is recognised by, those it reads, and how a row becomes a fill or a trade; and the
header lines it was made for, with where they were seen.

For each row, or for several that belong together, a format yields a fill, a whole round trip, or an `Invalid` that says
why it is neither. It names the columns that it reads, so that others with figures can be reported. If a file has a
figure twice, or a total, both must agree (`CellReader.compare`); else nothing of the file is taken.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, ParamSpec, TypeVar

from keepbook.errors import Invalid
from keepbook.extensions.trading.book.imports import values
from keepbook.extensions.trading.book.imports.pairing import SPLIT, Fill, Trip
from keepbook.extensions.trading.book.imports.table import FileRow, FileTable
from keepbook.extensions.trading.book.market.symbols import market_letters

Made = TypeVar("Made")
Given = ParamSpec("Given")
ReadRow = tuple[tuple[int, ...], Fill | Trip | Invalid]
"""The numbers of the rows, and what they were read as."""


CENT = Decimal("0.011")
"""The largest difference of two figures that agree, if both were rounded to cents."""


@dataclass(slots=True)
class CellReader:
    """Reads the cells of one file. `symbol`, `currency` and `multipliers` are given by the person if the file does not
    have them."""

    now: datetime
    mark: str = "."
    zone: str = "UTC"
    symbol: str | None = None
    multipliers: Mapping[str, float] = field(default_factory=dict)
    dates: str | None = None
    """Whether the day or the month comes first in dates like 2/6/2026; None if it is not known."""
    currency: str = ""
    contradictions: list[tuple[int, str]] = field(default_factory=list)
    """Rows whose figures do not agree with each other, and how."""
    profits: dict[str, float] = field(default_factory=dict)
    """The file's own profit of round trips, by their key."""
    notes: list[str] = field(default_factory=list)
    """What was assumed, because the file does not say it."""
    paid: dict[str, tuple[Decimal, str, str]] = field(default_factory=dict)
    """Fees of round trips in another coin, by their key: how much, the coin, and the currency of the price."""

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

    def amount(self, line: FileRow, *columns: str, coins: Sequence[str] = ()) -> tuple[Decimal, str | None]:
        """A number and its coin; one of `coins` may be glued to it and begin with a digit."""
        name = first_filled(line, *columns)
        return values.parse_amount(line.cells[name], name, self.mark, coins)

    def moment(self, line: FileRow, *columns: str, zone: str | None = None) -> str:
        name = first_filled(line, *columns)
        return self.instant(line.cells[name], name, zone)

    def instant(self, text: Any, name: str, zone: str | None = None) -> str:
        return values.parse_cell_time(text, name, self.now, zone or self.zone, self.dates)

    def multiplier(self, symbol: str) -> float:
        return self.told_multiplier(symbol) or 1.0

    def told_multiplier(self, symbol: str) -> float | None:
        """The multiplier that the person gave for a market, in any spelling, or for all (`*`); else None."""
        letters = market_letters(symbol)
        found = next((size for name, size in self.multipliers.items() if market_letters(name) == letters), None)
        if found is None:
            return self.multipliers.get("*")
        return found

    def compare(self, row: int, what: str, computed: Decimal, told: Decimal | None, slack: Decimal = CENT) -> None:
        """Note a contradiction if a computed figure differs from the one in the file; None agrees with everything."""
        if told is not None and abs(computed - told) > slack + abs(told) * Decimal("1e-6"):
            self.contradictions.append((row, f"{what} is {computed.normalize():f}, and the file says {told:f}"))


def _every_row(table: FileTable) -> FileTable:
    return table


@dataclass(frozen=True, slots=True)
class FileFormat:
    """A kind of file.

    needs: sets of column names; a file has this format if it has all columns of one set (`a|b`: one of the two)
    uses: the columns that it reads
    headers: the header lines it was made for
    seen: where they were seen: a public importer, a sample
    dates: whether day or month comes first in its dates
    pick: leaves out lines that are no rows, such as a total, a note, or a repetition
    """

    name: str
    title: str
    needs: tuple[frozenset[str], ...]
    uses: frozenset[str]
    read: Callable[[FileTable, CellReader], Iterator[ReadRow]]
    headers: tuple[str, ...] = ()
    seen: str = ""
    dates: str | None = None
    pick: Callable[[FileTable], FileTable] = _every_row
    spot: bool = False
    """Whether it is of an account that can only sell what it holds, and is never short."""
    whose: str = ""
    """The name of the account if the file names none; formats of the same account have the same. "" for the title."""
    further: tuple[frozenset[str], ...] = ()
    """The columns of other tables that such a file may have, such as one of open positions."""

    def knows(self, columns: Iterable[str]) -> bool:
        return not self.missing(columns)

    def has_table(self, columns: Iterable[str]) -> bool:
        """Whether these are the columns of a table in such a file."""
        there = {name.strip().lower() for name in columns}
        return self.knows(there) or any(names <= there for names in self.further)

    def missing(self, columns: Iterable[str]) -> list[str]:
        """The needed columns that are missing, of the set with the fewest missing."""
        there = {name.strip().lower() for name in columns}
        lacks = ([need for need in needed if there.isdisjoint(need.split("|"))] for needed in self.needs)
        return min((sorted(lack) for lack in lacks), key=len)


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
            yield (line.row,), or_wrong(line, row, line, reader)

    return read


def or_wrong(line: FileRow, make: Callable[Given, Made], *given: Given.args, **named: Given.kwargs) -> Made | Invalid:
    """What `make` returns for a line, or the `Invalid` that it raises."""
    if line.wrong is not None:
        return Invalid(line.wrong)
    try:
        return make(*given, **named)
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
        time, symbol, side, size, float(price), key=id_key(id, more.get("id_kind", "")),
        fees=tuple((fee, coin) for fee, coin in fees if fee), rows=(line.row,), **more,
    )  # fmt: skip


def paid_beside(fees: Iterable[tuple[Decimal, str]], symbol: str, price: Decimal) -> tuple[tuple[Decimal, str], ...]:
    """The fees of a trade on margin. A fee in the traded coin is not taken out of the quantity, but converted at the
    price of the trade."""
    base, quote = values.split_symbol(symbol)
    return tuple((fee * price, quote) if coin == base else (fee, coin) for fee, coin in fees)


def make_action(
    line: FileRow, *, time: str, symbol: str, side: str, quantity: Decimal, price: float = 0.0, id: Any = None,
    **more: Any,
) -> Fill:  # fmt: skip
    """A fill for what happens to a holding without a trade: a split, an expiry, an assignment; see `Fill`."""
    if side == SPLIT and quantity <= 0:
        raise Invalid("a split is a number above 0: how many there are now for one", field="quantity")
    key = id_key(id, more.get("id_kind", ""))
    return Fill(time, symbol, side, abs(quantity), float(price), key=key, rows=(line.row,), **more)


def id_key(id: Any, kind: str = "") -> str:
    """The key of a fill with an id; "" without one."""
    if id in (None, ""):
        return ""
    if kind:
        return f"id-{kind}={str(id)[:160]}"
    return f"id-{str(id)[:180]}"


def without_cancelled(reads: Iterable[ReadRow], cancels: Collection[int]) -> Iterator[ReadRow]:
    """The rows, with an `Invalid` in place of each row in `cancels`, and of the earlier row with the same fill that it
    cancels."""
    found = list(reads)
    gone: dict[int, str] = {}
    for rows, one in found:
        if isinstance(one, Fill) and rows[0] in cancels:
            mine = (one.symbol, one.side, one.quantity, one.price)
            others = (
                at[0]
                for at, other in reversed(found)
                if isinstance(other, Fill) and at[0] not in cancels and at[0] not in gone and other.time <= one.time
                and mine == (other.symbol, other.side, other.quantity, other.price)
            )  # fmt: skip
            original = next(others, None)
            gone[rows[0]] = "cancels a trade that is not in this file: take that back where it was loaded"
            if original is not None:
                gone[original], gone[rows[0]] = f"cancelled by row {rows[0]}", f"cancels row {original}"
    for rows, one in found:
        yield rows, Invalid(gone[rows[0]]) if rows[0] in gone else one


def rounding(text: Any) -> Decimal:
    """The rounding error of a figure: half of its last digit."""
    _, _, places = str(text).strip("()$ ").partition(".")
    return Decimal(5).scaleb(-1 - len(places))
