"""Reads any file to import: an export of ours, or another program's file.

Small text is read in this process, everything else in a process of its own (`reading_apart.py`), which sends back plain
values. Reading needs no book and is done before one is opened for writing, so that a file that takes a minute to read
does not make writers wait.
"""

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from keepbook.book.upkeep.importers.incoming import (
    Incoming,
    IncomingChat,
    IncomingMemory,
    IncomingTurn,
    LeftOut,
    Wording,
)
from keepbook.book.upkeep.importers.source_file import SourceFile
from keepbook.book.upkeep.importers.sources import detect_source
from keepbook.book.upkeep.reading_apart import ReadingLimits, as_file, is_small_text, read_apart
from keepbook.errors import Invalid

EXPORT = "keepbook"
"""The kind of the first line of our own files."""
_READER = f"{__name__}:values_in_file"


@dataclass(frozen=True, slots=True)
class ReadImport:
    """A file that was read: the numbered lines of an export of ours, or the contents of another program's file."""

    ours: tuple[tuple[int, str], ...] | None = None
    incoming: Incoming | None = None


def is_export(texts: Iterable[str]) -> bool:
    """Whether a file begins like an export."""
    first = next((text for text in texts if text.strip()), "")
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.get("kind") == EXPORT


def read_import(source: bytes | Path, limits: ReadingLimits, name: str = "file") -> ReadImport:
    """Read a file or folder, or bytes that were sent."""
    if isinstance(source, Path):
        SourceFile.from_path(source)  # or there is nothing there
        name = source.name
    if is_small_text(source):
        raw = None
        if isinstance(source, bytes):
            raw = source
        if isinstance(source, Path):
            found = SourceFile(name, path=source, raw=raw)
        else:
            found = SourceFile(name, path=None, raw=raw)
        return _collect(_values(found, partial(_lines_in_text, found)))
    if isinstance(source, Path):
        return _collect(read_apart(_READER, source, {"name": name, "sent": False}, limits))
    with as_file(source) as path:
        return _collect(read_apart(_READER, path, {"name": name, "sent": True}, limits))


def read_incoming(path: Path, limits: ReadingLimits) -> Incoming:
    """Read another program's file or folder."""
    read = read_import(path, limits)
    if read.incoming is None:
        raise Invalid(f"{path.name} is an export of Keepbook; restore it into a book", field="file")
    return read.incoming


def values_in_file(path: Path, told: Mapping[str, Any]) -> Iterator[Any]:
    """The contents of a file as plain values. Runs in the process that reads it."""
    if told["sent"]:
        found = SourceFile(told["name"], raw=path.read_bytes())
    else:
        found = SourceFile(told["name"], path=path)
    return _values(found, partial(_lines_in_file, path))


def _values(found: SourceFile, lines: Any) -> Iterator[Any]:
    if not found.is_folder and is_export(lines()):
        for number, text in enumerate(lines(), 1):
            if text.strip():
                yield {"line": [number, text]}
        return
    incoming = detect_source(found)
    yield {"source": incoming.source, "file": incoming.file}
    for kind, things in (("memory", incoming.memories), ("chat", incoming.chats), ("refused", incoming.refused)):
        for one in things:
            yield {kind: asdict(one)}


def _lines_in_text(found: SourceFile) -> Iterator[str]:
    """The lines of a text, cut at newlines alone: `splitlines` would cut at U+2028 too."""
    if found.is_folder:
        return iter(())
    return iter(io.StringIO(found.text, newline=None))


def _lines_in_file(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8-sig", newline=None) as lines:
            yield from lines
    except UnicodeDecodeError:
        return  # no text, and so no export


def _collect(values: Iterator[Any]) -> ReadImport:
    first = next(values, None)
    if first is None:
        raise Invalid("the file is empty; nothing was imported", field="file")
    if "line" in first:
        return ReadImport(ours=(tuple(first["line"]), *(tuple(one["line"]) for one in values)))
    memories, chats, refused = list[IncomingMemory](), list[IncomingChat](), list[LeftOut]()
    for one in values:
        if "memory" in one:
            memories.append(_to_memory(one["memory"]))
        elif "chat" in one:
            turns = tuple(IncomingTurn(**turn) for turn in one["chat"]["turns"])
            chats.append(IncomingChat(**one["chat"] | {"turns": turns}))
        else:
            refused.append(LeftOut(**one["refused"]))
    return ReadImport(incoming=Incoming(first["source"], tuple(memories), tuple(chats), tuple(refused), first["file"]))


def _to_memory(told: Mapping[str, Any]) -> IncomingMemory:
    earlier = tuple(Wording(**wording) for wording in told["earlier"])
    return IncomingMemory(**{**told, "earlier": earlier, "tags": tuple(told["tags"])})
