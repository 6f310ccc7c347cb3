"""A file to import: its kind, how its cells are read, and what each of its rows is.

The format is given, or recognised by its columns, or made of a mapping; if none fits, the person is asked. Every row is
then read once, and fills get their key and are put in the order of time.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

from keepbook.book.upkeep.reading_apart import USUAL_LIMITS
from keepbook.errors import Invalid
from keepbook.extensions.trading.book.imports import table, values
from keepbook.extensions.trading.book.imports.formats import format_named, plain_table, recognise_format
from keepbook.extensions.trading.book.imports.formats.reading import CellReader, FileFormat, ReadRow
from keepbook.extensions.trading.book.imports.pairing import Fill, Trip
from keepbook.extensions.trading.book.imports.table import FileTable, figures_in
from keepbook.extensions.trading.book.imports.trade_table import read_trade_file
from keepbook.extensions.trading.book.trades import TRADES

SQLITE = b"SQLite format 3\x00"
HEAD_BYTES = 20_000


@dataclass(slots=True)
class FileImport:
    """A file that is being imported."""

    format: FileFormat
    table: FileTable
    reader: CellReader
    fills: list[Fill] = field(default_factory=list)
    trips: list[Trip] = field(default_factory=list)
    rows_of: dict[str, tuple[int, ...]] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    unchanged: set[int] = field(default_factory=set)
    paired: set[int] = field(default_factory=set)
    added: set[int] = field(default_factory=set)
    unconverted: dict[str, float] = field(default_factory=dict)
    quotes: dict[str, str] = field(default_factory=dict)
    """For symbols that do not name their currency: that of their first fee."""
    lots: list[Fill] = field(default_factory=list)

    def refuse(self, rows: Iterable[int], reason: str) -> None:
        for row in rows:
            self.refused.setdefault(row, reason)


# Rules


def has_own_columns(source: Any) -> bool:
    """Whether a file has the columns of our own trades, which the plain loader reads as a stream."""
    if isinstance(source, bytes):
        source = source[:HEAD_BYTES]  # half a letter at its end does not matter
    text = _head(Path(source)) if isinstance(source, str | Path) else table.decode_file(source)[:HEAD_BYTES]
    first = next((line for line in text.splitlines() if line.strip()), "").lower()
    needed = [name for name in TRADES.needed if name != "deployment"]
    if first.startswith(("{", "[")):
        return all(f'"{name}"' in first for name in needed)
    return set(needed) <= {cell.strip(' "\ufeff') for cell in first.split(",")}


def is_database(path: Path) -> bool:
    """Whether a file is one of SQLite: freqtrade's."""
    return _raw(path).startswith(SQLITE)


def _raw(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except OSError as error:
        raise Invalid(f"cannot read {path}: {error.strerror or error}", field="file") from None


def _head(path: Path) -> str:
    raw = _raw(path)
    return "PAR1" if raw.startswith(b"PAR1") else raw.decode("utf-8", "replace")


def prepare_import(
    found: FileTable, now: datetime, *, format: str | None, columns: Mapping[str, str] | None, zone: str,
    symbol: str | None, multipliers: Mapping[str, float],
) -> FileImport:  # fmt: skip
    """The table and how to read it; raises `Invalid`, which asks for a mapping, if no format fits."""
    if columns is not None:
        chosen = plain_table.format_of_mapping(columns)
    elif format is not None:
        chosen = format_named(format)
        if chosen.name != "plain" and not chosen.knows(found.columns):
            raise Invalid(
                f"this is no file of {chosen.title}: its columns are {_columns_in_words(found.columns)}", field="format"
            )
    else:
        chosen = recognise_format(found.columns) or plain_table.format_of_mapping({})
    cells = (cell for name in found.columns if not _is_time(name) for cell in figures_in(found, name))
    mark = values.decimal_mark((cell for cell in cells if not _looks_like_time(cell)), semicolons=found.semicolons)
    return FileImport(chosen, found, CellReader(now, mark, zone, symbol, multipliers))


@dataclass(frozen=True, slots=True)
class FilePreview:
    """A first look at a file: the format it was recognised as, its columns with their first cells, and, for an unknown
    format, which of ours each column is by its name."""

    format: str | None
    title: str
    rows: int
    samples: dict[str, list[str]]
    meant: dict[str, str]


def preview_file(source: Any, columns: Mapping[str, str] | None = None) -> FilePreview:
    """The choices when a file is imported; `columns` maps ours to theirs as far as they are known."""
    found = read_trade_file(source, None, columns, USUAL_LIMITS)
    known = None if columns else recognise_format(found.columns)
    samples = {name: list(islice(_cells(found, name), 2)) for name in found.columns if name}
    chosen = {name.strip().lower(): ours for ours, name in (columns or {}).items()}
    by_name = {name: ours for ours, names in plain_table.OURS.items() for name in names}
    meant = {name: chosen.get(name.lower(), "" if columns else by_name.get(name.lower(), "")) for name in samples}
    if not columns and "side" not in meant.values():
        taken = {name.lower() for name, ours in meant.items() if ours}
        told = plain_table.side_column(found, taken)
        meant |= {name: "side" for name in samples if name.lower() == told}
    title = known.title if known else "A table, not a known export"
    return FilePreview(known.name if known else None, title, len(found.lines), samples, meant)


def _cells(found: FileTable, column: str) -> Iterator[str]:
    cells = (line.cells.get(column.lower()) for line in found.lines)
    return (str(cell)[:60] for cell in cells if cell not in (None, ""))


def _columns_in_words(columns: Sequence[str]) -> str:
    return ", ".join(columns)[:400] or "none"


def _is_time(column: str) -> bool:
    return any(word in column.lower() for word in ("time", "date", "created at", "info", "comment", "notes"))


def _looks_like_time(cell: str) -> bool:
    return cell.count(":") > 0 or cell.count("-") > 1 or (cell.count(".") > 1 and cell.count(" ") == 1)


def take_in(work: FileImport) -> None:
    """Read every row. Fills get a key and are put in the order of time."""
    reads: list[ReadRow] = list(work.format.read(work.table, work.reader))
    for rows, one in reads:
        if isinstance(one, Invalid):
            work.refuse(rows, one.message)
    found = [replace(one, rows=rows) for rows, one in reads if isinstance(one, Fill)]
    if len(found) > 1 and found[0].time > found[-1].time:
        found.reverse()  # the newest first: what stands together at one instant came in the other order
    found.sort(key=lambda one: one.time)
    seen: dict[str, int] = {}
    for one in found:
        key = one.key or _digest(one.time, one.symbol, one.side, one.quantity, one.price, one.fees, one.fee)
        seen[key] = nth = seen.get(key, 0) + 1
        if nth > 1 and one.key:
            work.unchanged.update(one.rows)
            continue
        work.fills.append(replace(one, key=key if one.key else f"{key}#{nth}"))
    for rows, trip in ((rows, one) for rows, one in reads if isinstance(one, Trip)):
        seen[trip.key] = nth = seen.get(trip.key, 0) + 1
        if nth > 1 and trip.key.startswith("id-"):
            work.unchanged.update(rows)
            continue
        key = trip.key if nth == 1 else f"{trip.key}#{nth}"
        if trip.key in work.reader.profits:
            work.reader.profits[key] = work.reader.profits[trip.key]
        if trip.key in work.reader.paid:
            work.reader.paid[key] = work.reader.paid[trip.key]
        work.trips.append(trip._replace(key=key))
        work.rows_of[key] = rows


def _digest(*figures: Any) -> str:
    return blake2b(repr(figures).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def ignored_columns(work: FileImport) -> tuple[str, ...]:
    """Columns with figures that nothing was read from."""
    prefixes = ("price", "profit", "net p", "cum", "run-up", "drawdown") if work.format.name == "tradingview" else ()
    used = work.format.uses
    return tuple(
        name
        for name in work.table.columns
        if name.lower() not in used
        and not name.lower().startswith(prefixes or ("\0",))
        and next(figures_in(work.table, name), None) is not None
    )
