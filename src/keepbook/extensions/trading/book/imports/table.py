"""Reads any table into rows by column name: commas, semicolons or tabs, a preamble, JSON, XML, HTML reports.

Nothing is dropped: a line that is no row of the table comes with what is wrong with it. The header is the first line
that a known format recognises, else the first with the most cells. A second column of the same name is called `Price
(2)`. A file that is no text is refused by its kind.
"""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from keepbook.errors import Invalid
from keepbook.patterns import regex

PREAMBLE = 30
"""So many lines may stand before the header."""
LARGEST = 512 * 2**20
KINDS = (
    (b"PK\x03\x04", "a workbook of Excel or an archive: save the sheet as CSV, or unpack it, and take that"),
    (b"\xd0\xcf\x11\xe0", "a workbook of an old Excel: save the sheet as CSV, and take that"),
    (b"\x1f\x8b", "packed (gzip): unpack it first"),
    (b"%PDF", "a PDF: take the broker's export as CSV"),
    (b"PAR1", "a Parquet file: those are read with the columns of Keepbook's own trades, by their path"),
    (b"SQLite format 3", "a database: freqtrade's is loaded with keepbook trading import freqtrade"),
)
"""Files that are no text, by how they begin."""


@dataclass(frozen=True, slots=True)
class FileRow:
    """A row of a file: where it stands, and its cells by lower-case column name. `wrong`: it is none."""

    row: int
    cells: Mapping[str, Any]
    wrong: str | None = None


@dataclass(frozen=True, slots=True)
class FileTable:
    """The columns as the file writes them, and its rows."""

    columns: tuple[str, ...]
    lines: tuple[FileRow, ...]
    semicolons: bool = False


def decode_file(source: Any) -> str:
    """The text of a file, of bytes or of lines, in whatever encoding its first bytes show."""
    if isinstance(source, bytes):
        return _decode(source)
    if isinstance(source, str | Path):
        path = Path(source)
        try:
            if path.stat().st_size > LARGEST:
                raise Invalid(f"{path.name} is larger than {LARGEST // 2**20} MB; load it in parts", field="file")
            return _decode(path.read_bytes())
        except OSError as error:
            raise Invalid(f"cannot read {path}: {error.strerror or error}", field="file") from None
    return "".join(source)


def _decode(raw: bytes) -> str:
    for start, words in KINDS:
        if raw.startswith(start):
            raise Invalid(f"this file is {words}", field="file")
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16", "replace")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


_HTML = regex(r"<(?:!doctype\s+html|html)\b", re.IGNORECASE)


def read_table(text: str, known: Callable[[Sequence[str]], bool]) -> FileTable:
    """The table of a file. `known` says whether these column names are a header that some format recognises."""
    start = text.lstrip("\ufeff \r\n\t")
    if not start:
        raise Invalid("this file is empty", field="file")
    if _HTML.match(start):
        return _html(start, known)
    if start.startswith("<"):
        return _xml(start)
    if start.startswith(("{", "[")):
        return _json(start)
    return _read_separated(text, known)


def _read_separated(text: str, known: Callable[[Sequence[str]], bool]) -> FileTable:
    try:
        return _cut(text, known)
    except csv.Error as error:  # a quote that is never closed swallows all that follows
        raise Invalid(f"this table cannot be read: {error}; is a quote left open?", field="file") from None


def _cut(text: str, known: Callable[[Sequence[str]], bool]) -> FileTable:
    head = text.splitlines()[:PREAMBLE]
    best: tuple[bool, int, int, str] | None = None
    for mark in (",", ";", "\t", "|"):
        for place, cells in enumerate(csv.reader(head, delimiter=mark)):
            names = [cell.strip().lstrip("\ufeff").lower() for cell in cells]
            score = (known(names), len([name for name in names if name]), -place, mark)
            if best is None or score[:3] > best[:3]:
                best = score
    if best is None or best[1] < 2:
        raise Invalid("this is no table: it has no line with two columns", field="file")
    reader = csv.reader(text.splitlines(), delimiter=best[3])
    columns: list[str] = []
    lines: list[FileRow] = []
    for place, cells in enumerate(reader):
        number = reader.line_num
        if place < -best[2]:
            continue
        if not columns:
            columns = _unique_names(cell.strip().lstrip("\ufeff") for cell in cells)
            continue
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) > len(columns) and any(cell.strip() for cell in cells[len(columns) :]):
            lines.append(FileRow(number, {}, f"it has {len(cells)} cells, and the header {len(columns)}"))
            continue
        padded = [*cells, *[""] * (len(columns) - len(cells))]
        lines.append(FileRow(number, {name.lower(): cell.strip() for name, cell in zip(columns, padded, strict=False)}))
    return FileTable(tuple(columns), tuple(lines), best[3] == ";")


def _unique_names(cells: Iterable[str]) -> list[str]:
    """Column names, each once."""
    names: list[str] = []
    for cell in cells:
        nth = sum(name.lower() == cell.lower() or name.lower().startswith(f"{cell.lower()} (") for name in names)
        names.append(f"{cell} ({nth + 1})" if nth and cell else cell)
    return names


class _Rows(HTMLParser):
    """The rows of all tables of a page, as a person sees them."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._cell: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th") and "hidden" not in (dict(attrs).get("class") or ""):
            self._cell = []

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self._cell is not None:
            if self.rows:
                self.rows[-1].append(" ".join("".join(self._cell).split()))
            self._cell = None

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)


def _html(text: str, known: Callable[[Sequence[str]], bool]) -> FileTable:
    """The first table that a format recognises: MetaTrader's report has several. It ends where rows grow short."""
    page = _Rows()
    page.feed(text)
    place = next((nth for nth, row in enumerate(page.rows) if known([cell.lower() for cell in row])), None)
    if place is None:
        raise Invalid("this page has no table of trades that is known; take the export as CSV", field="file")
    columns, lines = _unique_names(page.rows[place]), []
    for nth, row in enumerate(page.rows[place + 1 :], place + 2):
        if len(row) != len(columns):
            break
        lines.append(FileRow(nth, {name.lower(): cell for name, cell in zip(columns, row, strict=True)}))
    return FileTable(tuple(columns), tuple(lines))


def _json(text: str) -> FileTable:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        value = [_parse_json(line) for line in text.splitlines() if line.strip()]
        if not any(isinstance(one, dict) for one in value):
            raise Invalid(f"this JSON cannot be read: {error}", field="file") from None
    if isinstance(value, dict):
        value = next((part for part in value.values() if isinstance(part, list)), [value])
    columns: dict[str, None] = {}
    lines = []
    for number, one in enumerate(value if isinstance(value, list) else [value], 1):
        if isinstance(one, dict):
            columns |= dict.fromkeys(map(str, one))
            lines.append(FileRow(number, {str(name).lower(): cell for name, cell in one.items()}))
        else:
            lines.append(FileRow(number, {}, "it is no JSON object"))
    return FileTable(tuple(columns), tuple(lines))


def _parse_json(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


_DECLARES = regex(r"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)


def _xml(text: str) -> FileTable:
    """The `Trade` elements of a statement, by their attributes."""
    if _DECLARES.search(text):
        raise Invalid("an XML file with entities of its own is not read", field="file")
    try:
        root = ElementTree.fromstring(text)  # noqa: S314 a file with entities of its own is refused before
    except ElementTree.ParseError as error:
        raise Invalid(f"this XML file is broken: {error}", field="file") from None
    found = [one for one in root.iter() if one.tag.rpartition("}")[2] == "Trade"]
    columns = dict.fromkeys(name for one in found for name in one.attrib)
    rows = (FileRow(nth, {name.lower(): cell for name, cell in one.attrib.items()}) for nth, one in enumerate(found, 1))
    return FileTable(tuple(columns), tuple(rows))


_DIGIT = regex(r"\d")


def figures_in(table: FileTable, column: str) -> Iterator[str]:
    """The cells of a column that hold digits."""
    for line in table.lines:
        cell = line.cells.get(column.lower())
        if cell not in (None, "") and _DIGIT.search(str(cell)):
            yield str(cell)
