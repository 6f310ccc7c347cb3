"""Reads any table into rows by column name: commas, semicolons or tabs, a preamble, JSON, XML, HTML reports.

Nothing is dropped: a line that is no proper row comes with the reason. The header is the first line that a known format
recognises, else the first of those with the most cells. If another header comes later, its names count for the rows
below it. A second column of the same name is called `Price (2)`. Totals, notes and other lines around the table are in
`beside`. A file that is not text is refused, with what it is.
"""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from keepbook.errors import Invalid
from keepbook.patterns import regex

STATEMENT_ROWS = ("Trades", "Corporate Actions", "Transfers", "TRNT", "CORP", "OPTT", "TRFR")
"""The tables of an Interactive Brokers statement whose rows change holdings: by name, or by a Flex code."""
MOST_COLUMNS = 100  # that one cell of an HTML table may span
PREAMBLE = 30
"""The header is searched for in this many lines."""
LARGEST = 512 * 2**20
"""Bytes that a file may have."""
KINDS = (
    (b"PK\x03\x04", "a workbook of Excel or an archive: save the sheet as CSV, or unpack it, and take that"),
    (b"\xd0\xcf\x11\xe0", "a workbook of an old Excel: save the sheet as CSV, and take that"),
    (b"\x1f\x8b", "packed (gzip): unpack it first"),
    (b"%PDF", "a PDF: take the broker's export as CSV"),
    (b"PAR1", "a Parquet file: those are read with the columns of Keepbook's own trades, by their path"),
    (b"SQLite format 3", "a database: freqtrade's is loaded with keepbook trading import freqtrade"),
)
"""The first bytes of files that are not text, and what such a file is."""


@dataclass(frozen=True, slots=True)
class FileRow:
    """A row of a file: its number, and its cells by lower-case column name. `wrong` says why it is no proper row.
    `section` is the title of its table, if the file has several."""

    row: int
    cells: Mapping[str, Any]
    wrong: str | None = None
    section: str = ""


@dataclass(frozen=True, slots=True)
class FileTable:
    """The columns as the file writes them, its rows, and the lines beside the table, whose cells are named from "1"."""

    columns: tuple[str, ...]
    lines: tuple[FileRow, ...]
    semicolons: bool = False
    beside: tuple[FileRow, ...] = ()


def decode_file(source: Any) -> str:
    """The text of a path, of bytes or of lines; the encoding is found from the bytes."""
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
    if is_statement(start):
        return read_statement(start)
    return _read_separated(text, known)


def _read_separated(text: str, known: Callable[[Sequence[str]], bool]) -> FileTable:
    try:
        return _cut(text, known)
    except csv.Error as error:  # such as a cell that is too long, because a quote is never closed
        raise Invalid(f"this table cannot be read: {error}; is a quote left open?", field="file") from None


def _cut(text: str, known: Callable[[Sequence[str]], bool]) -> FileTable:
    head = text.splitlines()[:PREAMBLE]
    best: tuple[bool, int, int, str] | None = None
    for mark in (",", ";", "\t", "|"):
        for place, cells in enumerate(csv.reader(head, delimiter=mark)):
            names = [cell.strip().lstrip("\ufeff").lower() for cell in cells]
            fits = known(names)
            score = (fits, 0 if fits else len([name for name in names if name]), -place, mark)  # the first of them
            if best is None or score[:3] > best[:3]:
                best = score
    if best is None or (not best[0] and best[1] < 2):
        raise Invalid("this is no table: it has no line with two columns", field="file")
    reader = csv.reader(text.splitlines(keepends=True), delimiter=best[3])
    all_columns: dict[str, None] = {}
    columns: list[str] = []
    keys: list[str] = []
    lines: list[FileRow] = []
    beside: list[FileRow] = []
    other = False  # below the title of a table that is not known
    rows = [(reader.line_num, cells) for cells in reader]
    report = best[3] == "\t" and _is_words(rows[max(0, -best[2] - 1)][1])
    for place, (number, cells) in enumerate(rows):
        if place < -best[2]:
            beside.append(beside_row(number, cells))
        elif columns and report and _is_title(cells, rows[place + 1 :][:1], columns):
            other = True
            beside.append(beside_row(number, cells))
        elif other and not known([cell.strip().lower() for cell in unique_names(cells)]):
            beside.append(beside_row(number, cells))
        elif other or not columns or _is_header_again(cells, columns):
            columns = unique_names(cell.strip().lstrip("\ufeff") for cell in cells)
            keys = [name.lower() for name in columns]
            all_columns |= dict.fromkeys(columns)
            other = False
        elif not any(cell.strip() for cell in cells[: 2 if report else len(columns)]):
            beside.append(beside_row(number, cells))  # nothing, words behind the last column, a total of a report
        else:
            lines.append(_row_of_cells(number, cells, keys))
    return FileTable(tuple(all_columns), tuple(lines), best[3] == ";", tuple(beside))


def _is_title(cells: Sequence[str], following: Sequence[tuple[int, Sequence[str]]], columns: Sequence[str]) -> bool:
    """Whether a line of a copied report is the title of another table: it has words in its first cell alone, and the
    next line is no row of the table above."""
    below: Sequence[str] = following[0][1] if following else []
    is_row_below = len(below) == len(columns) and any(map(_DIGIT.search, below))
    return _is_words(cells) and not is_row_below


def _is_words(cells: Sequence[str]) -> bool:
    """Whether only the first cell has a text."""
    return bool(cells) and bool(cells[0].strip()) and not any(cell.strip() for cell in cells[1:])


def _is_header_again(cells: Sequence[str], columns: Sequence[str]) -> bool:
    """Whether a line is a header: some programs write one for each page or each table of a file."""
    first = ""
    if cells:
        first = cells[0].strip().lower()
    names = [cell for cell in cells if cell.strip()]
    return bool(first) and first == columns[0].lower() and len(names) > 1 and not any(map(_DIGIT.search, names))


def _row_of_cells(number: int, cells: Sequence[str], names: Sequence[str]) -> FileRow:
    """A row by the names of its columns in small letters."""
    if len(cells) > len(names) and any(cell.strip() for cell in cells[len(names) :]):
        return FileRow(number, {}, f"it has {len(cells)} cells, and the header {len(names)}")
    padded = [*cells, *[""] * (len(names) - len(cells))]
    return FileRow(number, dict(zip(names, map(str.strip, padded), strict=False)))


def beside_row(number: int, cells: Sequence[str], section: str = "") -> FileRow:
    """A line beside the table, such as a title, a total or a note."""
    return FileRow(number, {str(nth): cell.strip() for nth, cell in enumerate(cells, 1)}, section=section)


_STATEMENT = regex(r'"?(?:[A-Z][A-Z &]{3,40}"?,"?Header|BOF|HEADER"?,"?[A-Z]{3,5})"?,', re.IGNORECASE)
_DAY, _CLOCK = regex(r"\d{4}-\d{2}-\d{2}"), regex(r"\d{1,2}:\d{2}(?::\d{2})?")


def is_statement(text: str) -> bool:
    """Whether a text is a statement: each line begins with the table it belongs to, and whether it is a header or a
    row."""
    return _STATEMENT.match(text) is not None


def read_statement(text: str) -> FileTable:
    """All tables of a statement: those in STATEMENT_ROWS are the table, all other lines are beside it. If it has none
    of these, its longest table is taken."""
    columns: dict[str, list[str]] = {}
    counted: dict[str, None] = {}
    lines: list[FileRow] = []
    beside: list[FileRow] = []
    reader = csv.reader(text.splitlines(keepends=True))
    for cells in reader:
        told = [cell.strip() for cell in cells]
        first, second = (*told, "", "")[:2]
        if first.upper() in ("HEADER", "DATA"):
            section, kind = second, first.title()
        else:
            section, kind = first, second
        if kind == "Header":
            columns[section] = unique_names(told[2:])
            counted |= dict.fromkeys(columns[section] if section in STATEMENT_ROWS else ())
        elif section not in columns:
            beside.append(beside_row(reader.line_num, told))
        else:
            names = [name.lower() for name in columns[section]]
            row = _row_of_cells(reader.line_num, _join_times(told[2:]), names)
            is_sum = any(cell.startswith("Total") for cell in told[2:3])
            if kind == "Data" and section in STATEMENT_ROWS and not is_sum:
                lines.append(replace(row, section=section))
            else:
                beside.append(replace(row, section=f"{section} {kind}"))
    if not counted:
        longest = max(columns, key=lambda name: sum(one.section == f"{name} Data" for one in beside), default="")
        lines = [replace(one, section=longest) for one in beside if one.section == f"{longest} Data"]
        beside = [one for one in beside if one.section != f"{longest} Data"]
        counted = dict.fromkeys(columns.get(longest, ()))
    return FileTable(tuple(counted), tuple(lines), beside=tuple(beside))


def _join_times(cells: list[str]) -> list[str]:
    """Join a day and a time in two cells. A spreadsheet that saved the file may have removed the quotes around
    `"2026-01-05, 10:00:00"`."""
    for nth, (day, clock) in enumerate(pairwise(cells)):
        if _DAY.fullmatch(day) and _CLOCK.fullmatch(clock):
            return [*cells[:nth], f"{day}, {clock}", *cells[nth + 2 :]]
    return cells


def unique_names(cells: Iterable[str]) -> list[str]:
    """The column names, with a number behind those that were used before."""
    names: list[str] = []
    for cell in cells:
        nth = sum(name.lower() == cell.lower() or name.lower().startswith(f"{cell.lower()} (") for name in names)
        if nth and cell:
            names.append(f"{cell} ({nth + 1})")
        else:
            names.append(cell)
    return names


class _Rows(HTMLParser):
    """Collects the visible rows of all tables of a page. A cell that spans several columns is followed by empty
    ones. `titles` has the rows that are a single cell."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.titles: dict[int, str] = {}
        self._cell: list[str] | None = None
        self._width = 1
        self._count = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if tag == "tr":
            self.rows.append([])
            self._count = 0
        elif tag in ("td", "th") and "hidden" not in (told.get("class") or ""):
            self.handle_endtag("td")  # older pages do not close their cells
            self._cell = []
            self._count += 1
            width = told.get("colspan") or "1"
            if width.isdecimal():
                self._width = min(int(width), MOST_COLUMNS)
            else:
                self._width = 1

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "tr", "table") and self._cell is not None:
            if self.rows:
                text = " ".join("".join(self._cell).split())
                self.rows[-1] += [text, *[""] * (self._width - 1)]
            self._cell = None
        if tag == "tr" and self.rows and self._count == 1 and self.rows[-1][0]:
            self.titles[len(self.rows) - 1] = self.rows[-1][0]

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.append(data)


def _html(text: str, known: Callable[[Sequence[str]], bool]) -> FileTable:
    """The rows of all tables that a format recognises; MetaTrader's report has several, each under its title. A proper
    row has a time and a number in its first two cells; other lines are totals or words."""
    page = _Rows()
    page.feed(text)
    all_columns: dict[str, None] = {}
    columns: list[str] = []
    lines: list[FileRow] = []
    beside: list[FileRow] = []
    title = ""
    for nth, row in enumerate(page.rows):
        if nth in page.titles:
            title, columns = page.titles[nth], []
            beside.append(beside_row(nth + 1, row, title))
        elif known([cell.lower() for cell in row]) or known([name.lower() for name in unique_names(row)]):
            columns = unique_names(row)
            all_columns |= dict.fromkeys(columns)
        elif columns and len(row) > 1 and row[0] and row[1]:
            one = FileRow(nth + 1, {}, f"it has {len(row)} cells, and the header {len(columns)}", title)
            if len(row) >= len(columns) and not any(row[len(columns) :]):  # the last cell may span more columns
                cells = {name.lower(): cell for name, cell in zip(columns, row, strict=False)}
                one = FileRow(nth + 1, cells, None, title)
            lines.append(one)
        elif any(row):
            beside.append(beside_row(nth + 1, row, title))
    if not all_columns:
        raise Invalid(
            f"this page has no table of trades whose columns are known{_heads_in_words(page.rows)}. Take the export "
            "as CSV, or with the program in English, or say which column is which", field="file",
        )  # fmt: skip
    return FileTable(tuple(all_columns), tuple(lines), beside=tuple(beside))


def _heads_in_words(rows: Sequence[Sequence[str]]) -> str:
    """Words for the longest line without digits above one with digits: most likely the header that was meant."""
    heads = [
        row for row, below in pairwise(rows) if not any(map(_DIGIT.search, row)) and any(map(_DIGIT.search, below))
    ]
    longest = max(heads, key=lambda row: sum(map(bool, row)), default=[])
    if any(longest):
        return f"; it has {', '.join(filter(None, unique_names(longest)))[:300]}"
    return ""


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


XML_ROWS = ("Trade", "CorporateAction", "OptionEAE", "Transfer")
_DECLARES = regex(r"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)


def _xml(text: str) -> FileTable:
    """The elements of a statement that change holdings, as rows of their attributes; the tag is the section."""
    if _DECLARES.search(text):
        raise Invalid("an XML file with entities of its own is not read", field="file")
    try:
        root = ElementTree.fromstring(text)  # noqa: S314 a file with entities of its own is refused before
    except ElementTree.ParseError as error:
        raise Invalid(f"this XML file is broken: {error}", field="file") from None
    named = [(one.tag.rpartition("}")[2], one.attrib) for one in root.iter()]
    kinds = XML_ROWS if any(tag == "Trade" for tag, _ in named) else ("Order", *XML_ROWS)
    found = [(tag, attributes) for tag, attributes in named if tag in kinds and attributes]
    columns = dict.fromkeys(name for tag, attributes in found for name in attributes)
    rows = (
        FileRow(nth, {name.lower(): cell for name, cell in attributes.items()}, None, tag)
        for nth, (tag, attributes) in enumerate(found, 1)
    )
    return FileTable(tuple(columns), tuple(rows))


_DIGIT = regex(r"\d")


def figures_in(table: FileTable, column: str) -> Iterator[str]:
    """The cells of a column that hold digits."""
    for line in table.lines:
        cell = line.cells.get(column.lower())
        if cell not in (None, "") and _DIGIT.search(str(cell)):
            yield str(cell)
