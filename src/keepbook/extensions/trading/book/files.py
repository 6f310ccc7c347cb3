"""Reads files into rows, for everything that is loaded: CSV, JSON Lines, one JSON value, ccxt's OHLCV, Parquet.

A file is read as a stream of rows, each with the wanted columns in order, some thousands at a time, so that a long file
needs no more memory than a short one. A large or packed file is read in a process of its own. A wrong row is reported
and skipped; the others are loaded. New rows are added, changed rows are updated, and loading the same file twice
changes nothing.
"""

import csv
import importlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from itertools import chain, groupby, islice
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from keepbook.book.ground.limits import clean_line
from keepbook.book.ground.when import instant, stamp
from keepbook.book.upkeep.reading_apart import USUAL_LIMITS, Answer, ReadingLimits, is_small_text, read_apart
from keepbook.errors import Invalid, NotAllowed
from keepbook.extensions.trading.book.loading.loaded import LoadTally

if TYPE_CHECKING:  # the process that reads a file has no database
    from keepbook.storage.bulk_rows import KeptCounts, RowValues

AT_ONCE = 20_000
"""How many rows are read, checked and stored together."""
SENT_AT_ONCE = 1000
"""How many rows the process that reads a file sends together."""
LARGEST = 1e15
"""The largest number in a file, so that the sum of very many does not overflow."""
PARQUET = b"PAR1"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400_000_000  # microseconds


class RowsRead(tuple[tuple[Any, Any], ...]):
    """The rows of a file that was read before the transaction, so that reading does not hold it open."""

    __slots__ = ()


Source = str | PathLike[str] | Iterable[str] | RowsRead
"""The path of a file, its lines, or its rows."""
Progress = Callable[[int], None]
"""Is called with how many rows were read so far."""


@dataclass(frozen=True)
class Layout:
    """The columns a file may have, in the order in which rows are given; those in `needed` must be there.

    `listed` names the values of a row that is a bare list, as ccxt writes bars.
    """

    what: str
    columns: tuple[str, ...]
    needed: tuple[str, ...]
    listed: tuple[str, ...] = ()

    @cached_property
    def needed_of(self) -> "Callable[[RowValues], RowValues]":
        """A function that takes the needed values out of a row."""
        places = [self.columns.index(name) for name in self.needed]
        if len(places) > 1:
            return itemgetter(*places)
        return itemgetter(slice(places[0], places[0] + 1))


# Rules


class Times:
    """Parses the instants of many rows and caches the result: days and times of day repeat.

    ISO 8601 (UTC if it names no zone), milliseconds since 1970 as ccxt has them, or a datetime.
    """

    MOST = 100_000

    def __init__(self) -> None:
        self._days: dict[Any, str] = {}
        self._clocks: dict[Any, str] = {}

    def read(self, value: Any, name: str = "time") -> str:
        if isinstance(value, str):
            day, clock = self._days.get(value[:10]), self._clocks.get(value[10:])
            if day is not None and clock is not None:
                return day + clock
            return self._text(value.strip(), name)
        if isinstance(value, datetime):
            return stamp(value if value.tzinfo else value.replace(tzinfo=UTC))
        if isinstance(value, date):
            return f"{value.isoformat()}T00:00:00.000000Z"
        if value is None:
            raise Invalid(f"{name} is missing", field=name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise Invalid(f"{name} is ISO 8601 or milliseconds, not {str(value)[:40]!r}", field=name)
        return self.micros(int(value) * 1000, name)

    def micros(self, since: int, name: str = "time") -> str:
        """An instant from microseconds since 1970."""
        number, rest = divmod(since, _DAY)
        day, clock = self._days.get(number), self._clocks.get(rest)
        if day is None or clock is None:
            try:
                whole = stamp(_EPOCH + timedelta(microseconds=since))
            except OverflowError:
                raise Invalid(f"{name} is ISO 8601 or milliseconds, not {since // 1000}", field=name) from None
            day, clock = whole[:10], whole[10:]
            self._learn(number, day, rest, clock)
        return day + clock

    def _text(self, text: str, name: str) -> str:
        if text.lstrip("-").isdecimal() and len(text) < 20:
            return self.micros(int(text) * 1000, name)
        if not text:
            raise Invalid(f"{name} is missing", field=name)
        whole = instant(text, field=name) or ""
        # Only a time in UTC is cached: in another zone the day of the text may not be the day of the instant.
        if len(text) > 10 and text[10] in "T " and (text[-1] in "Zz" or not set(text[10:]) & set("+-")):
            self._learn(text[:10], whole[:10], text[10:], whole[10:])
        return whole

    def _learn(self, given_day: Any, day: str, given_clock: Any, clock: str) -> None:
        for known in (self._days, self._clocks):
            if len(known) > self.MOST:
                known.clear()
        self._days[given_day] = day
        self._clocks[given_clock] = clock


def number(value: Any, name: str, *, low: float = -math.inf, above: bool = False) -> float:
    """A finite number that is at least `low`, or above it."""
    try:
        if isinstance(value, bool):
            found = math.nan
        else:
            found = float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if abs(found) <= LARGEST and (found > low if above else found >= low):
        return found
    if LARGEST < abs(found) < math.inf:
        raise Invalid(f"{name} is too large; numbers go up to {LARGEST:g}", field=name)
    reach = ""
    if math.isfinite(low):
        reach = f" {'above' if above else 'from'} {low:g}{'' if above else ' on'}"
    raise Invalid(f"{name} is a number{reach}, not {str(value)[:40]!r}", field=name)


def optional_number(value: Any, name: str, **bounds: Any) -> float | None:
    if value is None or value == "":
        return None
    return number(value, name, **bounds)


def refuse_missing(layout: Layout, row: "RowValues") -> None:
    needed = layout.needed_of(row)
    if None in needed or "" in needed:
        name = next(name for name, value in zip(layout.needed, needed, strict=True) if value is None or value == "")
        raise Invalid(f"{name} is missing", field=name)


class TextReader:
    """Cleans short texts of rows and caches the result: symbols, tags and reasons repeat."""

    MOST = 10_000

    def __init__(self) -> None:
        self._known: dict[tuple[Any, str], str] = {}

    def read(self, value: Any, name: str, most: int) -> str:
        found = None
        if isinstance(value, str):
            found = self._known.get((value, name))
        if found is None:
            found = clean_line(str(value), name, 1, most)
            if len(self._known) > self.MOST:
                self._known.clear()
            self._known[str(value), name] = found
        return found

    def optional(self, value: Any, name: str, most: int) -> str | None:
        if value is None or value == "":
            return None
        return self.read(value, name, most)


# Reading


def read_rows(
    source: Source,
    layout: Layout,
    told: Mapping[str, Any],
    limits: ReadingLimits = USUAL_LIMITS,
    answer: Answer = "stream",
) -> Iterator[tuple[int, Any]]:
    """The number and the values of each row of a file; in place of a row that cannot be read comes an `Invalid`.

    `told` holds values that the file does not have, such as the symbol of a file of ccxt's OHLCV.
    """
    if isinstance(source, RowsRead):
        return iter(source)
    if not isinstance(source, str | PathLike):
        return _rows_in_lines(source, layout, told)
    path = Path(source)
    if is_small_text(path):
        return _rows_in_path(path, layout, told)
    return _rows_apart(path, layout, told, limits, answer)


def _rows_apart(
    path: Path, layout: Layout, told: Mapping[str, Any], limits: ReadingLimits, answer: Answer
) -> Iterator[tuple[int, Any]]:
    order = {"layout": asdict(layout), "told": told}
    for part in read_apart(f"{__name__}:rows_in_file", path, order, limits, answer=answer):
        if "wrong" in part:
            yield part["place"], Invalid(part["wrong"])
        else:
            yield from zip(part["places"], zip(*part["columns"], strict=True), strict=True)


def rows_in_file(path: Path, order: Mapping[str, Any]) -> Iterator[Any]:
    """The rows of a file as JSON values, for the process that reads it: many rows together as a list for each column,
    which is parsed in half the time of a list for each row; a wrong row alone."""
    told = order["layout"]
    layout = Layout(told["what"], tuple(told["columns"]), tuple(told["needed"]), tuple(told["listed"]))
    rows = _rows_in_path(path, layout, order["told"])
    for is_wrong, some in groupby(rows, key=lambda read: isinstance(read[1], Invalid)):
        if is_wrong:
            yield from ({"place": place, "wrong": row.message} for place, row in some)
            continue
        while part := list(islice(some, SENT_AT_ONCE)):
            places, values = zip(*part, strict=True)
            yield {"places": places, "columns": list(zip(*values, strict=True))}


def _rows_in_path(path: Path, layout: Layout, told: Mapping[str, Any]) -> Iterator[tuple[int, Any]]:
    with _open_lines(path) as lines:
        if lines is None:
            yield from _parquet_rows(path, layout, told)
        else:
            yield from _rows_in_lines(lines, layout, told)


def _rows_in_lines(source: Iterable[str], layout: Layout, told: Mapping[str, Any]) -> Iterator[tuple[int, Any]]:
    coming = iter(source)
    first = next((line for line in coming if line.strip()), "")
    if first.lstrip("\ufeff").lstrip().startswith(("{", "[")):
        yield from _json_rows(first, coming, layout, told)
    else:
        yield from _csv_rows(chain([first], coming), layout, told)


@contextmanager
def _open_lines(path: Path) -> Iterator[Iterable[str] | None]:
    """The lines of a file; None if it is a Parquet file. A byte that is not UTF-8 makes only its own row wrong."""
    try:
        with path.open("rb") as head:
            is_parquet = head.read(4) == PARQUET
        if is_parquet:
            yield None
            return
        with path.open(encoding="utf-8", errors="surrogateescape", newline="") as lines:
            yield lines
    except OSError as error:
        raise Invalid(f"cannot read {path}: {error.strerror or error}", field="file") from None


def _picker(
    names: Sequence[str], layout: Layout, told: Mapping[str, Any]
) -> "tuple[Callable[[Any], RowValues], list[Any]]":
    """A function that takes the wanted values, in order, from a row to which the list, returned second, was
    appended."""
    places = {name: place for place, name in enumerate(names)}
    missing = [name for name in layout.needed if name not in places and not told.get(name)]
    if missing:
        columns = ", ".join(layout.columns)
        raise Invalid(f"the file has no column {missing[0]!r}; {layout.what} have {columns}", field="file")
    extra: list[Any] = []
    wanted = []
    for name in layout.columns:
        if name not in places:
            places[name] = len(names) + len(extra)
            extra.append(told.get(name))
        wanted.append(places[name])
    return itemgetter(*wanted), extra


def _csv_rows(lines: Iterable[str], layout: Layout, told: Mapping[str, Any]) -> Iterator[tuple[int, Any]]:
    reader = csv.reader(lines)
    header = [name.strip().lstrip("\ufeff").lower() for name in next(reader, [])]
    pick, extra = _picker(header, layout, told)
    width = len(header)
    while True:
        try:
            for cells in reader:
                if len(cells) == width:
                    yield reader.line_num, pick(cells + extra)
                elif any(map(str.strip, cells)):
                    yield reader.line_num, pick((cells + [""] * width)[:width] + extra)
            return
        except csv.Error as error:
            yield reader.line_num, Invalid(f"no line of a table: {error}")


def _json_rows(first: str, rest: Iterator[str], layout: Layout, told: Mapping[str, Any]) -> Iterator[tuple[int, Any]]:
    """The rows of JSON Lines, line by line; or of one JSON value, which is read completely before."""
    value = _value(first)
    if isinstance(value, Invalid):  # a value over many lines, or a wrong first line
        texts = [first, *rest]
        value, rest = _value("".join(texts)), iter(())
        if isinstance(value, Invalid):
            for place, text in enumerate(texts, 1):
                if text.strip():
                    yield place, _json_row(_value(text), layout, told)
            return
    if isinstance(value, dict) and isinstance(value.get("ohlcv"), list):
        told = {**told, **{name: str(value[name]) for name in ("symbol", "timeframe") if name in value}}
        value = value["ohlcv"]
    if isinstance(value, list) and (not value or isinstance(value[0], list | dict)):
        last = 0
        for last, row in enumerate(value, 1):
            yield last, _json_row(row, layout, told)
        yield from ((last + 1, Invalid("stands after the end of the list")) for text in rest if text.strip())
        return
    yield 1, _json_row(value, layout, told)
    for place, text in enumerate(rest, 2):
        if text.strip():
            yield place, _json_row(_value(text), layout, told)


def _value(text: str) -> Any:
    try:
        return json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return Invalid("is not JSON")


def _json_row(row: Any, layout: Layout, told: Mapping[str, Any]) -> Any:
    if isinstance(row, list) and layout.listed:
        row = dict(zip(layout.listed, row, strict=False))
    if isinstance(row, dict):
        values = [row[name] if name in row else told.get(name) for name in layout.columns]
        return tuple([str(value) if isinstance(value, bool) else value for value in values])  # true is no number
    if isinstance(row, Invalid):
        return row
    return Invalid("is neither an object nor a list")


def _parquet_rows(path: Path, layout: Layout, told: Mapping[str, Any]) -> Iterator[tuple[int, Any]]:
    try:
        # Loaded only for such a file: few need it, and it is large.
        arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise NotAllowed(
            "this is a Parquet file; to read it, install pyarrow: pip install 'keepbook[parquet]'",
            code="missing_extra",
        ) from None
    try:
        file = parquet.ParquetFile(path)
    except (arrow.ArrowException, OSError) as error:
        raise Invalid(f"{path.name} is a broken Parquet file: {str(error)[:200]}", field="file") from None
    with file:
        names = {name.strip().lower(): name for name in file.schema_arrow.names}
        wanted = [name for name in layout.columns if name in names]
        pick, extra = _picker(wanted, layout, told)
        times, before = Times(), 0
        for batch in file.iter_batches(batch_size=AT_ONCE, columns=[names[name] for name in wanted]):
            columns = [_column_values(arrow, batch.column(nth), times) for nth in range(len(wanted))]
            columns += [[value] * batch.num_rows for value in extra]
            for place, row in enumerate(zip(*columns, strict=True), before + 1):
                yield place, pick(row)
            before += batch.num_rows


def _column_values(arrow: Any, column: Any, times: Times) -> list[Any]:
    """The values of a column as they would stand in another file; a time without a zone is one of UTC."""
    if arrow.types.is_temporal(column.type) and not arrow.types.is_time(column.type):
        micros = column.cast(arrow.timestamp("us"), safe=False).cast(arrow.int64())
        return [None if value is None else times.micros(value) for value in micros.to_pylist()]
    if arrow.types.is_boolean(column.type):
        column = column.cast(arrow.string())  # true is no number
    return list(column.to_pylist())


# Operations


def load_file(
    source: Source,
    layout: Layout,
    told: Mapping[str, Any],
    to_row: "Callable[..., RowValues]",
    keep: "Callable[[list[RowValues]], KeptCounts]",
    progress: Progress | None = None,
    limits: ReadingLimits = USUAL_LIMITS,
    *,
    tally: LoadTally | None = None,
    with_place: bool = False,
) -> LoadTally:
    """Read a file, convert its rows with `to_row` and pass them to `keep`, some thousands at a time.

    `to_row` raises `Invalid` if a row is wrong; `with_place` also gives it the row's place in the file.
    """
    tally, seen = tally or LoadTally(), 0
    rows = read_rows(source, layout, told, limits)
    while True:
        good, before = list[Any](), seen
        for place, row in islice(rows, AT_ONCE):
            seen += 1
            try:
                if type(row) is Invalid:
                    raise row
                if with_place:
                    good.append(to_row(row, place))
                else:
                    good.append(to_row(row))
            except Invalid as error:
                tally.refuse(place, error.message)
        if seen == before:
            return tally
        tally.keep(keep(good))
        if progress is not None:
            progress(seen)
