"""A file to import: chooses its format, decides how its cells are read, and reads every row.

The format is given, recognised by the columns, or made from a mapping; if none fits, the person is asked. Every row is
read once. Fills get their key and are put in the order of time.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any

from keepbook.book.ground.limits import clean_line
from keepbook.book.upkeep.reading_apart import USUAL_LIMITS
from keepbook.errors import Invalid
from keepbook.extensions.trading.book.imports import table, values
from keepbook.extensions.trading.book.imports.formats import (
    format_named,
    nearest_format,
    plain_table,
    recognise_format,
)
from keepbook.extensions.trading.book.imports.formats.reading import CellReader, FileFormat, ReadRow
from keepbook.extensions.trading.book.imports.pairing import ASSIGNED, EXERCISED, Fill, Trip, settle_option
from keepbook.extensions.trading.book.imports.table import FileTable, figures_in
from keepbook.extensions.trading.book.imports.trade_table import read_trade_file
from keepbook.extensions.trading.book.trades import TRADES

SQLITE = b"SQLite format 3\x00"
HEAD_BYTES = 20_000  # by which a file is recognised


@dataclass(slots=True)
class FileImport:
    """A file that is being imported. `unchanged`, `paired` and `added` hold the numbers of rows, `refused` also the
    reason; a row may be in several, see `counts`."""

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
    converted: dict[tuple[str, str, str, str], tuple[float, str, str]] = field(default_factory=dict)
    """Amounts that were counted in another currency. Key: `fees` or `trades`, the coin, the currency, and the source of
    the rate. Value: how much, and the times of the first and last rate."""
    quotes: dict[str, str] = field(default_factory=dict)
    """The currency of each symbol that does not name one: that of its first fee."""
    notes: list[str] = field(default_factory=list)
    held_before: dict[str, float] = field(default_factory=dict)
    """By symbol, the quantity that was sold although no file shows that it was bought."""
    given_away: dict[tuple[str, str], float] = field(default_factory=dict)
    """By symbol and reason, the quantity that left the lots without a price."""
    prices_seen: dict[str, list[tuple[str, float]]] = field(default_factory=dict)
    """The prices that the file itself shows, by symbol and in the order of time."""

    def refuse(self, rows: Iterable[int], reason: str) -> None:
        for row in rows:
            self.refused.setdefault(row, reason)

    def counts(self) -> tuple[int, int, int]:
        """How many rows were added, paired and unchanged. Each row counts once, and not at all if it was refused."""
        wrong = self.refused.keys()
        paired = self.paired - wrong
        added = self.added - paired - wrong
        return len(added), len(paired), len(self.unchanged - paired - added - wrong)


# Rules


def has_own_columns(source: Any) -> bool:
    """Whether a file has the columns of our own trades, which the plain loader reads as a stream."""
    if isinstance(source, bytes):
        source = source[:HEAD_BYTES]  # a character that is cut in half does not matter here
    if isinstance(source, str | Path):
        text = _head(Path(source))
    else:
        text = table.decode_file(source)[:HEAD_BYTES]
    first = next((line for line in text.splitlines() if line.strip()), "").lower()
    needed = [name for name in TRADES.needed if name != "deployment"]
    if first.startswith(("{", "[")):
        return all(f'"{name}"' in first for name in needed)
    return set(needed) <= {cell.strip(' "\ufeff') for cell in first.split(",")}


def is_database(path: Path) -> bool:
    """Whether a file is a SQLite database, as freqtrade's are."""
    return _raw(path).startswith(SQLITE)


def _raw(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except OSError as error:
        raise Invalid(f"cannot read {path}: {error.strerror or error}", field="file") from None


def _head(path: Path) -> str:
    raw = _raw(path)
    if raw.startswith(b"PAR1"):
        return "PAR1"
    return raw.decode("utf-8", "replace")


def prepare_import(
    found: FileTable, now: datetime, *, format: str | None, columns: Mapping[str, str] | None, zone: str,
    symbol: str | None, multipliers: Mapping[str, float], dates: str | None = None, currency: str | None = None,
) -> FileImport:  # fmt: skip
    """An import that is ready to be read. Raises `Invalid`, which asks for a mapping, if no format fits."""
    chosen = _choose_format(found.columns, format, columns)
    found = chosen.pick(found)
    kept = [name for name in found.columns if not _is_time(name)]
    cells = (cell for name in kept for cell in figures_in(found, name))
    mark = values.decimal_mark((cell for cell in cells if not _looks_like_time(cell)), semicolons=found.semicolons)
    of_dates = [name for name in found.columns if _has_dates(found, name)]
    written = (cell for name in of_dates for cell in figures_in(found, name))
    order = clean_order(dates) or values.date_order(written) or chosen.dates
    money = clean_line(currency or "", "currency", 0, 20).upper()
    return FileImport(chosen, found, CellReader(now, mark, zone, symbol, multipliers, order, money))


def _choose_format(names: Sequence[str], format: str | None, columns: Mapping[str, str] | None) -> FileFormat:
    if columns is not None:
        return plain_table.format_of_mapping(columns)
    if format is None:
        known = recognise_format(names)
        if known is not None:
            return known
        near = nearest_format(names)
        if near is not None:
            raise Invalid(
                f"this looks like a file of {near.title}, and has no column {_in_words(near.missing(names))}, which "
                "counts: export it with that, or say which column is which", field="file",
            )  # fmt: skip
        return plain_table.format_of_mapping({})
    chosen = format_named(format)
    missing = chosen.missing(names)
    if chosen.name != "plain" and missing:
        raise Invalid(
            f"this is no file of {chosen.title}: it has no column {_in_words(missing)}; its columns are "
            f"{_columns_in_words(names)}", field="format",
        )  # fmt: skip
    return chosen


def _in_words(missing: Sequence[str]) -> str:
    return ", ".join(" or ".join(map(repr, name.split("|"))) for name in missing)


def clean_order(dates: str | None) -> str | None:
    if dates not in (None, "", values.DAY_FIRST, values.MONTH_FIRST):
        raise Invalid(f"dates is day or month, whichever comes first, not {str(dates)[:40]!r}", field="dates")
    return dates or None


def _has_dates(found: FileTable, column: str) -> bool:
    """Whether a column begins with dates that may be read in two ways, whatever it is called."""
    return any(map(values.is_date_of_some_order, islice(figures_in(found, column), 20)))


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
    """A preview, for the person to check the columns. `columns` maps our names to the file's, as far as known."""
    found = read_trade_file(source, None, columns, USUAL_LIMITS)
    known = None
    if not columns:
        known = recognise_format(found.columns)
    samples = {name: list(islice(_cells(found, name), 2)) for name in found.columns if name}
    chosen = {name.strip().lower(): ours for ours, name in (columns or {}).items()}
    by_name = {name: ours for ours, names in plain_table.OURS.items() for name in names}
    meant = {name: chosen.get(name.lower(), "" if columns else by_name.get(name.lower(), "")) for name in samples}
    if not columns and "side" not in meant.values():
        taken = {name.lower() for name, ours in meant.items() if ours}
        told = plain_table.side_column(found, taken)
        meant |= {name: "side" for name in samples if name.lower() == told}
    if known:
        title = known.title
    else:
        title = "A table, not a known export"
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
    """Read every row. Fills get a key (the file's id, else a digest of their figures and a number) and are put in the
    order of time."""
    reads: list[ReadRow] = list(work.format.read(work.table, work.reader))
    _refuse_contradictions(work.reader.contradictions)
    for rows, one in reads:
        if isinstance(one, Invalid):
            if one.field == "dates":  # the order of day and month is unknown for the whole file: no row can be trusted
                raise one
            work.refuse(rows, one.message)
    kept = [(rows, one) for rows, one in reads if isinstance(one, Fill)]
    found = [each for rows, one in kept for each in _executions(_in_rows(one, rows))]
    if len(found) > 1 and found[0].time > found[-1].time:
        found.reverse()  # the file has the newest first, so fills of one instant are in reverse order too
    found.sort(key=lambda one: one.time)
    seen: dict[str, int] = {}
    by_id: dict[str, str] = {}
    for one in found:
        figures = _digest(one.time, one.symbol, one.side, one.quantity, one.price, one.fees, one.fee)
        if one.key:
            if by_id.setdefault(one.key, figures) == figures:
                key = one.key
            else:
                key = f"{one.key}~{figures}"
        else:
            key = figures
        seen[key] = nth = seen.get(key, 0) + 1
        if nth > 1 and one.key:
            work.unchanged.update(one.rows)
            continue
        spot = one.spot or work.format.spot
        work.prices_seen.setdefault(one.symbol, []).append((one.time, one.price))
        work.fills.append(replace(one, key=key if one.key else f"{key}#{nth}", spot=spot))
    _take_trips(work, reads, seen)


def _take_trips(work: FileImport, reads: Iterable[ReadRow], seen: dict[str, int]) -> None:
    """Take in the rows that are whole trades, with a key each."""
    for rows, trip in ((rows, one) for rows, one in reads if isinstance(one, Trip)):
        seen[trip.key] = nth = seen.get(trip.key, 0) + 1
        if nth > 1 and trip.key.startswith("id-"):
            work.unchanged.update(rows)
            continue
        if nth == 1:
            key = trip.key
        else:
            key = f"{trip.key}#{nth}"
        if trip.key in work.reader.profits:
            work.reader.profits[key] = work.reader.profits[trip.key]
        if trip.key in work.reader.paid:
            work.reader.paid[key] = work.reader.paid[trip.key]
        work.trips.append(trip._replace(key=key))
        work.rows_of[key] = rows


def _refuse_contradictions(found: Sequence[tuple[int, str]]) -> None:
    """Raise if figures of the file contradict each other."""
    if found:
        row, words = min(found)
        more = ""
        if len(found) > 1:
            more = f" (and {len(found) - 1} more rows)"
        raise Invalid(
            f"nothing was loaded: in row {row} {words}{more}. Is a multiplier missing, or was the file changed?",
            field="file",
        )  # fmt: skip


def _in_rows(one: Fill, rows: tuple[int, ...]) -> Fill:
    return one if one.rows == rows else replace(one, rows=rows)


def _executions(one: Fill) -> tuple[Fill, ...]:
    """The fills that a row stands for: one, or for an assignment two, the end of the option and the trade of the
    stock."""
    if one.side in (ASSIGNED, EXERCISED):
        return settle_option(one)
    return (one,)


def _digest(*figures: Any) -> str:
    return blake2b(repr(figures).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def ignored_columns(work: FileImport) -> tuple[str, ...]:
    """The columns that have figures and were not read."""
    prefixes = ("price", "profit", "net p", "cum", "run-up", "drawdown") if work.format.name == "tradingview" else ()
    used = work.format.uses
    return tuple(
        name
        for name in work.table.columns
        if name.lower() not in used
        and not name.lower().startswith(prefixes or ("\0",))
        and next(figures_in(work.table, name), None) is not None
    )
