"""A plain list: lines of a text, a table with a header, or JSON of texts; and the list that ChatGPT shows of what it
remembers, which people copy out of its settings with numbers and dates in front."""

import csv
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from keepbook.book.upkeep.importers.incoming import (
    Incoming,
    IncomingMemory,
    LeftOut,
    content_key,
    parse_source_time,
    parse_texts,
    plain_values,
    without_place,
)
from keepbook.book.upkeep.importers.source_file import SourceFile
from keepbook.errors import Invalid
from keepbook.patterns import regex

SOURCE = "list"
TEXT = ("content", "memory", "text", "fact", "data", "value")
"""The keys under which programs keep the sentence itself."""
PERSON = ("user_id", "user", "owner", "person")
SINCE = ("valid_from", "created_at", "date", "timestamp", "time", "updated_at")
UNTIL = ("valid_until", "expires_at")
KEPT = ("category", "subject", "summary", "body", "scope")
PLACED = {*PERSON, *SINCE, *UNTIL, *KEPT, "id", "importance", "tags", "metadata"}
"""Keys whose values have a field of their own here; the others are added to the text."""
MOST = 100_000
"""How many entries a list may have: a whole life has fewer, and each is compared with the book."""
_FRONT = regex(r"^\s*(?:[-*•–]\s+|\d{1,4}[.)]\s+)?(?:\[(?P<date>\d{4}-\d\d-\d\d)\][.:]?\s*)?")
_HEADING = regex(r"^\s*(?:#{1,6}\s(?P<marked>.*)|\*\*(?P<bold>[^*]+)\*\*:?\s*)$")
_RULE = regex(r"^\s*[-=*_]{3,}\s*$")


def read(found: SourceFile) -> Incoming | None:
    """Reads the texts of any other file; this importer is asked last."""
    if found.records:
        return _of_records(found.records)
    if found.name.lower().endswith((".csv", ".tsv")) or _is_table(found.text):
        return _of_records(_rows(found))
    memories, refused = [], []
    if any(line.lstrip().startswith('{"') for line in found.text.splitlines()):
        raise _broken("line 1", "is not JSON, and others are")
    items = list(noted_items(found.text))
    _within_bounds(len(items))
    for item in items:
        where = f"line {item.line}"
        try:
            since = parse_source_time(item.date)
        except Invalid as error:
            refused.append(LeftOut(where, error.message))
            continue
        memories.append(
            IncomingMemory(text=item.text, key=content_key(item.text), where=where, since=since, metadata=item.metadata)
        )
    if memories:
        return Incoming(SOURCE, tuple(memories), refused=tuple(refused))
    return None


class NotedItem(NamedTuple):
    """A line of a text of notes, without its marks: its number, the date in front, and the heading it stands under."""

    line: int
    text: str
    date: str | None
    heading: str | None

    @property
    def metadata(self) -> dict[str, str]:
        if self.heading:
            return {"heading": self.heading}
        return {}


def noted_items(text: str) -> Iterator[NotedItem]:
    """The items of a text of notes. A heading without items says something itself, and is one."""
    bare: list[tuple[int, str]] = []  # headings since the last item: the last of them is that of what follows
    heading = None
    for number, line in enumerate(text.splitlines(), 1):
        if found := _HEADING.match(line):
            if heading := (found["marked"] or found["bold"] or "").strip().rstrip(":") or None:
                bare.append((number, heading))
        elif line.strip() and not _RULE.match(line):
            front = _FRONT.match(line)
            if item := line[front.end() if front else 0 :].strip():
                yield from _headings_alone(bare[:-1])
                bare.clear()
                yield NotedItem(number, item, front["date"] if front else None, heading)
    yield from _headings_alone(bare)


def _headings_alone(bare: list[tuple[int, str]]) -> Iterator[NotedItem]:
    for number, heading in bare:
        yield NotedItem(number, heading, None, None)


def _of_records(records: list[tuple[str, Any]]) -> Incoming:
    _within_bounds(len(records))
    memories, refused = [], []
    for where, record in records:
        try:
            memory = _to_memory(where, record)
        except Invalid as error:
            if error.code == "broken_line":
                raise
            refused.append(LeftOut(where, error.message, who=_person_of(record)))
            continue
        memories.append(memory)
        known = [*SINCE, *UNTIL]
        if memory.importance is not None:
            known.append("importance")
        refused += without_place(where, record, [memory], *known)
    return Incoming(SOURCE, tuple(memories), refused=tuple(refused))


def _within_bounds(entries: int) -> None:
    if entries > MOST:
        raise Invalid(
            f"this list has {entries:,} entries, more than {MOST:,}; bring them in in parts. Nothing was imported",
            field="file",
            code="too_many",
        )


def _to_memory(where: str, record: Any) -> IncomingMemory:
    if isinstance(record, str):
        return IncomingMemory(text=record, key=content_key(record), where=where)
    if not isinstance(record, Mapping):
        raise _broken(where, "is neither a text nor an object with a text")
    text = next((record[name] for name in TEXT if isinstance(record.get(name), str)), None)
    if text is None:
        raise _broken(where, f"has none of the fields {', '.join(TEXT)}")
    kept: dict[str, Any] = {name: str(record[name]) for name in KEPT if record.get(name) not in (None, "")}
    return IncomingMemory(
        text=text,
        where=where,
        key=str(record.get("id") or content_key(text, sorted(kept.items()))),
        who=_person_of(record),
        since=parse_source_time(next((record[name] for name in SINCE if record.get(name)), None)),
        until=parse_source_time(next((record[name] for name in UNTIL if record.get(name)), None)),
        importance=_number(record.get("importance")),
        tags=parse_texts(record.get("tags")),
        metadata=plain_values(_beside(record)) | plain_values(record.get("metadata")),
        **kept,
    )


def _person_of(record: Mapping[str, Any]) -> str | None:
    return next((str(record[name]) for name in PERSON if record.get(name)), None)


def _beside(record: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a record that have no field of their own here, as text."""
    said = next(name for name in TEXT if isinstance(record.get(name), str))
    return {str(name): value for name, value in record.items() if name != said and name not in PLACED}


def _number(value: Any) -> float | None:
    """A number, which in a table is a text."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _broken(where: str, why: str) -> Invalid:
    number = int(where.rsplit(maxsplit=1)[-1])
    return Invalid(f"{where} {why}; nothing was imported", code="broken_line", field="file", line=number)


_SEPARATOR = regex(r"[,;\t]")


def _is_table(text: str) -> bool:
    first = text.lstrip().split("\n", 1)[0].lower()
    names = [name.strip().strip('"') for name in _SEPARATOR.split(first)]
    return len(names) > 1 and bool(set(TEXT) & set(names))


def _rows(found: SourceFile) -> list[tuple[str, Any]]:
    first = found.text.lstrip().split("\n", 1)[0]
    mark = max(",;\t", key=first.count)
    reader = csv.reader(found.text.splitlines(keepends=True), delimiter=mark, strict=True)
    try:
        rows = list(reader)
    except csv.Error as error:
        raise _broken(f"line {reader.line_num}", f"is not a line of a table ({error})") from None
    if not rows:
        return []
    names = [name.strip().lower() for name in rows[0]]
    if not set(TEXT) & set(names):
        raise Invalid(
            f"the first line names no column of texts; call it one of {', '.join(TEXT)}. Nothing was imported",
            field="file",
            code="no_texts",
        )
    names = list(_column_names(names, max(map(len, rows))))
    return [
        (f"line {number}", dict(zip(names, row, strict=False))) for number, row in enumerate(rows[1:], 2) if any(row)
    ]


def _column_names(names: list[str], columns: int) -> Iterator[str]:
    """A name of its own for every column: one without a name, or with that of one before it, has its number too."""
    for number in range(columns):
        name = names[number] if number < len(names) else ""
        if not name or name in names[:number]:
            name = f"{name or 'column'} {number + 1}"
        yield name
