"""Any table as rows by column name: commas, semicolons or tabs, a preamble before the header, JSON, XML attributes.

Nothing is thrown away: a line that is no row of the table comes as what is wrong with it. The header is the first line
that a known format recognises, else the first with the most cells.
"""

import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree  # nosec B405 a file with entities of its own is refused before it is parsed

from keepbook.errors import Invalid

PREAMBLE = 30
"""So many lines may stand before the header."""
LARGEST = 512 * 2**20


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a file: where it stands, and its cells by lower-case column name. `wrong`: it is none."""

    row: int
    cells: Mapping[str, Any]
    wrong: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """The columns as the file writes them, and its rows."""

    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    semicolons: bool = False


def text_of(source: Any) -> str:
    """The text of a file, of bytes or of lines, in whatever encoding its first bytes show."""
    if isinstance(source, bytes):
        return _decoded(source)
    if isinstance(source, str | Path):
        path = Path(source)
        try:
            if path.stat().st_size > LARGEST:
                raise Invalid(f"{path.name} is larger than {LARGEST // 2**20} MB; load it in parts", field="file")
            return _decoded(path.read_bytes())
        except OSError as error:
            raise Invalid(f"cannot read {path}: {error.strerror or error}", field="file") from None
    return "".join(source)


def _decoded(raw: bytes) -> str:
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16", "replace")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("cp1252", "replace")


def read(text: str, known: Callable[[Sequence[str]], bool]) -> Table:
    """`known` says whether these column names are a header that some format recognises."""
    start = text.lstrip("\ufeff \r\n\t")
    if start.startswith("<"):
        return _xml(start)
    if start.startswith(("{", "[")):
        return _json(start)
    return _separated(text, known)


def _separated(text: str, known: Callable[[Sequence[str]], bool]) -> Table:
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
    lines: list[Line] = []
    for place, cells in enumerate(reader):
        number = reader.line_num
        if place < -best[2]:
            continue
        if not columns:
            columns = [cell.strip().lstrip("\ufeff") for cell in cells]
            continue
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) > len(columns) and any(cell.strip() for cell in cells[len(columns) :]):
            lines.append(Line(number, {}, f"it has {len(cells)} cells, and the header {len(columns)}"))
            continue
        padded = [*cells, *[""] * (len(columns) - len(cells))]
        lines.append(Line(number, {name.lower(): cell.strip() for name, cell in zip(columns, padded, strict=False)}))
    return Table(tuple(columns), tuple(lines), best[3] == ";")


def _json(text: str) -> Table:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = [_parsed(line) for line in text.splitlines() if line.strip()]
    if isinstance(value, dict):
        value = next((part for part in value.values() if isinstance(part, list)), [value])
    columns: dict[str, None] = {}
    lines = []
    for number, one in enumerate(value if isinstance(value, list) else [value], 1):
        if isinstance(one, dict):
            columns |= dict.fromkeys(map(str, one))
            lines.append(Line(number, {str(name).lower(): cell for name, cell in one.items()}))
        else:
            lines.append(Line(number, {}, "it is no JSON object"))
    return Table(tuple(columns), tuple(lines))


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _xml(text: str) -> Table:
    """The `Trade` elements of a statement, by their attributes."""
    if re.search(r"<!(?:DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise Invalid("an XML file with entities of its own is not read", field="file")
    try:
        root = ElementTree.fromstring(text)  # nosec B314 see above: no entities
    except ElementTree.ParseError as error:
        raise Invalid(f"this XML file is broken: {error}", field="file") from None
    found = [one for one in root.iter() if one.tag.rpartition("}")[2] == "Trade"]
    columns = dict.fromkeys(name for one in found for name in one.attrib)
    rows = (Line(nth, {name.lower(): cell for name, cell in one.attrib.items()}) for nth, one in enumerate(found, 1))
    return Table(tuple(columns), tuple(rows))


def figures_in(table: Table, column: str) -> Iterator[str]:
    """The cells of a column that hold digits."""
    for line in table.lines:
        cell = line.cells.get(column.lower())
        if cell not in (None, "") and re.search(r"\d", str(cell)):
            yield str(cell)
