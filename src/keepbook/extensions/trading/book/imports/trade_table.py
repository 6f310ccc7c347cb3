"""Reads the table of a broker's file: small text here and now, all else in a process of its own."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from keepbook.book.upkeep.reading_apart import ReadingLimits, as_file, is_small_text, read_apart
from keepbook.extensions.trading.book.imports import table
from keepbook.extensions.trading.book.imports.formats import KNOWN, format_named, nearest_format, plain_table
from keepbook.extensions.trading.book.imports.table import FileRow, FileTable

ROWS_AT_ONCE = 1000  # in one message of the reading process


def is_header(names: Sequence[str], format: str | None, columns: Mapping[str, str] | None) -> bool:
    """Whether a line with these cells is the header of a table that is meant."""
    if columns:
        return {name.strip().lower() for name in columns.values()} <= set(names)
    if format is not None and format != "plain":
        return format_named(format).has_table(names)
    return any(one.has_table(names) for one in KNOWN) or plain_table.fits(names) or nearest_format(names) is not None


def read_trade_file(
    source: Any, format: str | None, columns: Mapping[str, str] | None, limits: ReadingLimits
) -> FileTable:
    """The table of a path, of bytes or of lines; in a process of its own unless it is small text."""
    if isinstance(source, FileTable):
        return source
    if isinstance(source, str):
        source = Path(source)
    if not isinstance(source, bytes | Path) or is_small_text(source):
        return table.read_table(table.decode_file(source), partial(is_header, format=format, columns=columns))
    order = {"format": format, "columns": columns and dict(columns)}
    if isinstance(source, Path):
        return _collect_table(read_apart(f"{__name__}:table_in_file", source, order, limits, answer="rows"))
    with as_file(source) as path:
        return _collect_table(read_apart(f"{__name__}:table_in_file", path, order, limits, answer="rows"))


def table_in_file(path: Path, order: Mapping[str, Any]) -> Iterator[Any]:
    """The table of a file, many rows at a time, as plain values; in the process that reads it."""
    found = table.read_table(table.decode_file(path), partial(is_header, **order))
    yield found.columns, found.semicolons, len(found.lines)
    whole = (*found.lines, *found.beside)
    for start in range(0, len(whole), ROWS_AT_ONCE):
        yield [(line.row, line.cells, line.wrong, line.section) for line in whole[start : start + ROWS_AT_ONCE]]


def _collect_table(values: Iterator[Any]) -> FileTable:
    columns, semicolons, count = next(values)
    whole = tuple(FileRow(*line) for part in values for line in part)
    return FileTable(tuple(columns), whole[:count], semicolons, whole[count:])
