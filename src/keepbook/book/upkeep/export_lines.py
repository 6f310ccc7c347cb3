"""The lines of an export: which there are, what each must hold, and the line that closes the file.

An export is JSON Lines: a header, one line for each row of the owner in a fixed order and spelling, and a last line.
The last line has the number of lines of each kind, the newest hash of the chain and a checksum over all lines, so that
none can be altered, added, moved or removed.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Column, Double, Integer, Table

from keepbook.book.ledger.ledger import canonical_json
from keepbook.book.upkeep.hooks import upkeep_hooks
from keepbook.book.upkeep.importers.read_file import EXPORT
from keepbook.errors import Invalid
from keepbook.storage.tables import TableSet
from keepbook.storage.tables.declare import rules_of

FORMAT = 3
BEFORE_QUOTES = 2
"""The format before quotations. It can be read; every line becomes a note."""
BEFORE_COVERS = 1
"""The format of unreleased versions, whose ledger covered memories alone. It can be read; the other rows are sealed on
import."""
HEADER: dict[str, Any] = {"kind": EXPORT, "format": FORMAT}


@dataclass(frozen=True, slots=True)
class ExportLine:
    number: int
    value: Any
    text: str = ""


# Rules


def read_lines(numbered: Iterable[tuple[int, str]]) -> Iterator[ExportLine]:
    """Every line as JSON, read lazily. An error names the first line that is not JSON."""
    yield from (ExportLine(number, _parse_line(text, number), text) for number, text in numbered)


def _parse_line(text: str, number: int) -> Any:
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        if isinstance(error, ValueError):
            why = str(error)
        else:
            why = "nested too deep"
        raise broken_line(number, f"is not JSON ({why})") from None


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a field stands twice")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_no_twins)


def broken_line(number: int, why: str) -> Invalid:
    return Invalid(f"line {number} {why}; nothing was imported", code="broken_line", field="file", line=number)


def altered_file(why: str) -> Invalid:
    return Invalid(
        f"the file does not fit its own ledger, something in it was altered ({why}); nothing was imported",
        field="file",
        code="altered",
    )


def of_ours(found: Iterator[ExportLine], tables: TableSet) -> list[ExportLine]:
    """The lines of one of our own files, up to the first that cannot be a line of an export."""
    lines: list[ExportLine] = []
    for line in found:
        lines.append(line)
        if len(lines) == 1:
            continue
        kind = None
        if isinstance(line.value, dict):
            kind = line.value.get("kind")
        if not isinstance(kind, str) or (kind not in tables.exported and kind != "end"):
            return [*lines, ExportLine(line.number + 1, None)]
    return lines


def sorted_by_kind(lines: Sequence[ExportLine], tables: TableSet) -> dict[str, list[Any]]:
    """The rows of one of our own files, each checked to have exactly its table's columns."""
    if len(lines) > 1:
        head, *rows, last = lines
    else:
        head, *rows, last = [*lines, ExportLine(lines[0].number, None)]
    format = head.value.get("format")
    if format not in (FORMAT, BEFORE_QUOTES, BEFORE_COVERS):
        raise broken_line(head.number, f"has format {format!r}; this program reads format {FORMAT}")
    exported = tables.exported
    found: dict[str, list[Any]] = {kind: [] for kind in exported}
    columns = {kind: {column.name for column in table.c} - {"owner"} for kind, table in exported.items()}
    numbers: dict[Any, int] = {}
    for line in rows:
        value = line.value
        kind = None
        if isinstance(value, dict):
            kind = value.get("kind")
        if not isinstance(kind, str) or kind not in exported:
            raise broken_line(line.number, f"has no kind that this program knows ({kind!r})")
        row = {
            name: item for name, item in _upgrade_line(format, value, numbers, exported[kind]).items() if name != "kind"
        }
        if row.keys() != columns[kind]:
            wrong = sorted(row.keys() ^ columns[kind])
            raise broken_line(line.number, f"lacks or adds fields ({', '.join(wrong[:3])})")
        if wrong := misfits(exported[kind], row):
            raise broken_line(line.number, f"has a value of the wrong kind ({', '.join(wrong[:3])})")
        found[kind].append(row)
    _check_end(format, lines, last)
    return found


def _since_quotes(table: Table) -> dict[str, Any]:
    """The fields that lines of older formats do not have, with the values they stand for."""
    return {name: None if table.c[name].nullable else 0 for name in rules_of(table).younger}


def _upgrade_line(format: int, value: dict[str, Any], numbers: dict[Any, int], table: Table) -> dict[str, Any]:
    """A line with the fields that its older format does not have."""
    if format == FORMAT:
        return value
    kind = value["kind"]
    if format == BEFORE_COVERS:
        older = _since_covers(kind, value, numbers)
    else:
        older = {}
    return {**value, **older, **_since_quotes(table)}


def _since_covers(kind: str, value: dict[str, Any], numbers: dict[Any, int]) -> dict[str, Any]:
    """The fields that a line of the first format does not have. Injections are numbered in the order of the file."""
    session = (value.get("space"), value.get("session"))
    if kind == "entry":
        return {"link": value.get("seq")}
    if kind == "injection":
        numbers[session] = len(numbers) + 1
        return {"nth": numbers[session]}
    if kind == "version":
        return {"metadata": None, "tags": None}
    if kind == "injected":
        return {"injection": numbers.get(session, 0)}
    told: dict[str, Any] = {}
    for _, older_line in upkeep_hooks("older_line"):
        told |= older_line(kind, value)
    return told


def export_spelling(lines: Sequence[ExportLine]) -> list[str]:
    """The lines as an export of today writes them. They are returned unchanged if their checksum matches the last
    line."""
    *texts, _ = (line.text for line in lines)
    last = lines[-1].value
    told = None
    if isinstance(last, dict):
        told = last.get("sum")
    if hashlib.sha256("".join([f"{text}\n" for text in texts]).encode()).hexdigest() != told:
        texts = [canonical_json(line.value) for line in lines[:-1]]
    return [*texts, canonical_json(last)]


def respell_lines(lines: Sequence[ExportLine], tables: TableSet) -> list[str]:
    """The lines of an older file as an export of today would write the same book."""
    if lines[0].value["format"] != BEFORE_QUOTES:
        return export_spelling(lines)
    closing, texts = Closing(), [canonical_json(HEADER)]
    for line in lines[1:-1]:
        table = tables.exported[line.value["kind"]]
        texts.append(canonical_json(_upgrade_line(BEFORE_QUOTES, line.value, {}, table)))
    for text, line in zip(texts, lines, strict=False):
        closing.add(text, line.value["kind"])
    return [*texts, closing.line(lines[-1].value.get("hash"))]


def _check_end(format: int, lines: Sequence[ExportLine], last: ExportLine) -> None:
    """Raise `Invalid` unless the closing line fits the lines before it."""
    if format == BEFORE_COVERS:
        holds = last.value == {"kind": "end", "lines": len(lines) - 2}
    else:
        closing, said = Closing(), export_spelling(lines)
        for line, text in zip(lines[:-1], said, strict=False):
            closing.add(text, line.value["kind"])
        if isinstance(last.value, dict):
            named = last.value
        else:
            named = {}
        if named.get("kind") == "end" and named.get("lines") == closing.count and named.get("sum") != closing.sum:
            raise altered_file("the sum of its lines is another than the last line says")
        holds = said[-1] == closing.line(named.get("hash"))
    if not holds:
        raise broken_line(last.number, "should close the file; it seems to be cut off")


class Closing:
    """The last line of an export, updated with each line before it."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._sum = hashlib.sha256()

    def add(self, line: str, kind: str) -> None:
        self._sum.update(line.encode() + b"\n")
        if kind != HEADER["kind"]:
            self.counts[kind] = self.counts.get(kind, 0) + 1

    @property
    def count(self) -> int:
        return sum(self.counts.values())

    @property
    def sum(self) -> str:
        return self._sum.hexdigest()

    def line(self, newest: object) -> str:
        told = {"kind": "end", "lines": self.count, "counts": self.counts, "hash": newest, "sum": self.sum}
        return canonical_json(told)


def misfits(table: Table, row: Mapping[str, Any]) -> list[str]:
    """The columns of a row whose value has a wrong type. All other checks are the guards'."""
    types = _types(table)
    return [name for name, value in row.items() if value is not None and type(value) not in types[name]]


@cache
def _types(table: Table) -> dict[str, tuple[type, ...]]:
    def of(column: Column[Any]) -> tuple[type, ...]:
        if isinstance(column.type, Integer):
            return (int,)
        if isinstance(column.type, Double):
            return int, float
        return (str,)

    return {column.name: of(column) for column in table.c}
