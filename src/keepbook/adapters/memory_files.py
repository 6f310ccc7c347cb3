"""Anthropic's memory tool over a book: files under /memories, each of them one memory.

    files = MemoryFiles(kb, owner="alice")
    files.run({"command": "view", "path": "/memories"})     # the input of a tool call → the text of its result
    files.tool()                                            # the same for the runner of Anthropic's SDK

The path is the memory's subject, the text its body, and its content shows the path and the first line. Every edit makes
a version, a deleted file is in the trash, a renamed one keeps its history, and directories exist only as parts of
paths. Only `tool` and `async_tool` need the SDK.
"""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from keepbook.app import Keepbook
from keepbook.book.memory import named_texts
from keepbook.book.memory.memories import Memory
from keepbook.book.texts import NONE_THERE, TextChange
from keepbook.errors import KeepbookError
from keepbook.patterns import regex

ROOT = "/memories"
SCOPE = "memory-tool"
TOOL = {"type": "memory_20250818", "name": "memory"}
"""The tool in a request; the model knows its commands."""
LARGEST = 64 * 1024
LEVELS = 2  # of folders that a listing shows
MOST_LINES = 999_999  # of a file that may be viewed
TRIES = 5
"""How often a command is tried, if another program writes the same files at the same time."""
AROUND = 2
"""How many lines are shown before and after an edit."""

_ARGUMENTS: Mapping[str, Mapping[str, type]] = {
    "view": {"path": str},
    "create": {"path": str, "file_text": str},
    "str_replace": {"path": str, "old_str": str},
    "insert": {"path": str, "insert_line": int, "insert_text": str},
    "delete": {"path": str},
    "rename": {"old_path": str, "new_path": str},
}
_OPTIONAL: Mapping[str, Mapping[str, type]] = {"view": {"view_range": list}, "str_replace": {"new_str": str}}
_KINDS = {str: "text", int: "a whole number", list: "a list of two line numbers"}


class Refused(Exception):
    """A command that was not carried out; its text is for the model."""


_LINE = regex(r"[^\n]*\n|[^\n]+")


class Files:
    """The memory directory of one owner."""

    def __init__(self, kb: Keepbook, *, owner: str, scope: str = SCOPE) -> None:
        self._texts = kb.book(owner, by="agent", door="memory-tool").texts
        self._scope = named_texts.exact(scope, "scope")

    def run(self, command: Mapping[str, Any]) -> str:
        """Carry out a tool call. If it is refused, the answer says why."""
        try:
            return self.do(command)
        except Refused as refusal:
            return str(refusal)

    def do(self, command: Mapping[str, Any]) -> str:
        """Carry out a tool call. If it is refused, `Refused` is raised, so that it can be marked as an error."""
        name, given = _check_arguments(command)
        for left in reversed(range(TRIES)):
            try:
                answer: str = getattr(self, f"_{name}")(**given)
                return answer
            except KeepbookError as error:
                if error.code == "version" and left:  # the file was changed between reading and writing it
                    continue
                raise Refused(f"Error: {error.message}") from error
        raise AssertionError("the last try answers or refuses")

    def clear(self) -> str:
        """Put every file into the trash."""
        self._texts.write([self._removal(memory) for memory in self._below(ROOT)])
        return "All memory cleared"

    # Commands

    def _view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        path = clean_path(path)
        memory = self._file(path)
        if memory is not None:
            return _numbered_file(path, memory.body or "", view_range)
        inside = self._below(path)
        if not inside and path != ROOT:
            raise Refused(f"The path {path} does not exist. Please provide a valid path.")
        return _directory(path, {memory.subject or "": _size(memory) for memory in inside})

    def _create(self, path: str, file_text: str) -> str:
        path = self._vacant(path, f"Error: File {path} already exists")
        self._write(path, file_text)
        return f"File created successfully at: {path}"

    def _str_replace(self, path: str, old_str: str, new_str: str = "") -> str:
        path, memory = self._existing(path)
        text = memory.body or ""
        places = list(_occurrences(old_str, text)) if old_str else []
        if not places:
            raise Refused(f"No replacement was performed, old_str `{old_str}` did not appear verbatim in {path}.")
        if len(places) > 1:
            lines = ", ".join(str(text.count("\n", 0, place) + 1) for place in places)
            raise Refused(
                f"No replacement was performed. Multiple occurrences of old_str `{old_str}` in lines: {lines}. "
                "Please ensure it is unique"
            )
        edited = text.replace(old_str, new_str, 1)
        self._write(path, edited, known=memory)
        first = text.count("\n", 0, places[0])
        last = first + new_str.count("\n")
        shown = _number_lines(_lines(edited), max(0, first - AROUND), last + 1 + AROUND)
        return "\n".join(["The memory file has been edited. The lines around the change:", *shown])

    def _insert(self, path: str, insert_line: int, insert_text: str) -> str:
        path, memory = self._existing(path)
        text = memory.body or ""
        lines = _LINE.findall(text)
        if not 0 <= insert_line <= len(lines):
            raise Refused(
                f"Error: Invalid `insert_line` parameter: {insert_line}. "
                f"It should be within the range of lines of the file: [0, {len(lines)}]"
            )
        before, after = "".join(lines[:insert_line]), "".join(lines[insert_line:])
        if before and not before.endswith("\n"):
            before += "\n"
        if (after or text.endswith("\n")) and not insert_text.endswith("\n"):
            insert_text += "\n"
        self._write(path, before + insert_text + after, known=memory)
        return f"The file {path} has been edited."

    def _delete(self, path: str) -> str:
        path = clean_path(path)
        if path == ROOT:
            raise Refused(f"Error: The {ROOT} directory itself cannot be deleted")
        self._texts.write([self._removal(memory) for memory in self._files_of(path)])
        return f"Successfully deleted {path}"

    def _rename(self, old_path: str, new_path: str) -> str:
        old = clean_path(old_path)
        if old == ROOT:
            raise Refused(f"Error: The {ROOT} directory itself cannot be renamed")
        moved = self._files_of(old)
        new = self._vacant(new_path, f"Error: The destination {new_path} already exists")
        if f"{new}/".startswith(f"{old}/"):
            raise Refused(f"Error: {old} cannot be moved into itself")
        paths = [clean_path(new + (memory.subject or "").removeprefix(old)) for memory in moved]
        renamed = [self._change(path, memory.body or "", memory) for path, memory in zip(paths, moved, strict=True)]
        self._texts.write(renamed)
        return f"Successfully renamed {old} to {new}"

    # Files

    def _file(self, path: str) -> Memory | None:
        found = self._texts.list(self._scope, name=path)
        if found:
            return found[-1]
        return None

    def _below(self, path: str) -> Sequence[Memory]:
        return self._texts.list(self._scope, prefix=f"{path}/")

    def _files_of(self, path: str) -> Sequence[Memory]:
        """The file with that path, or all files below it; raises if there is none."""
        found = [*self._texts.list(self._scope, name=path), *self._below(path)]
        if not found:
            raise Refused(f"Error: The path {path} does not exist")
        return found

    def _existing(self, path: str) -> tuple[str, Memory]:
        path = clean_path(path)
        memory = self._file(path)
        if memory is not None:
            return path, memory
        if path == ROOT or self._below(path):
            raise Refused(f"Error: The path {path} is a directory, not a file.")
        raise Refused(f"Error: The path {path} does not exist. Please provide a valid path.")

    def _vacant(self, path: str, taken: str) -> str:
        """The path, cleaned, if a file can be made there; raises if something is there, or a file is above it."""
        path = clean_path(path)
        if path == ROOT or self._file(path) is not None or self._below(path):
            raise Refused(taken)
        above = path.rpartition("/")[0]
        while above != ROOT:
            if self._file(above) is not None:
                raise Refused(f"Error: {above} is a file, so nothing can be below it")
            above = above.rpartition("/")[0]
        return path

    def _write(self, path: str, text: str, *, known: Memory | None = None) -> None:
        self._texts.write([self._change(path, text, known)])

    def _change(self, path: str, text: str, known: Memory | None) -> TextChange:
        size = len(text.encode(errors="replace"))
        if size > LARGEST:
            raise Refused(
                f"Error: {path} would have {size / 1024:.1f} KB, and a memory file holds at most {LARGEST // 1024} KB; "
                "shorten it, or put a part into another file"
            )
        first = next((line for line in text.splitlines() if line.strip()), "(empty)")
        version = NONE_THERE if known is None else known.version
        return TextChange(
            scope=self._scope,
            name=path,
            line=f"{path}: {first}",
            body=text,
            id=None if known is None else known.id,
            version=version,
        )

    def _removal(self, memory: Memory) -> TextChange:
        return TextChange(scope=self._scope, name=memory.subject or "", id=memory.id, version=memory.version)


# Rules


_SLASH = regex(r"[/\\]")
_SLASHES = regex("/+")


def clean_path(path: str) -> str:
    """The path in its stored form. Refuses a path that leads out of /memories, also if it is encoded."""
    spelled = path
    for _ in range(5):  # it may be URL-encoded more than once
        spelled = unquote(spelled)
    parts = _SLASH.split(unicodedata.normalize("NFKC", spelled))
    if any(part.strip() in (".", "..") for part in parts):
        raise Refused(f"Error: The path {path} is not inside {ROOT}; use plain paths without . and .. parts")
    clean = _SLASHES.sub("/", path).rstrip("/")
    if clean != ROOT and not clean.startswith(f"{ROOT}/"):
        raise Refused(f"Error: Path must start with {ROOT}, got: {path}")
    if len(clean) > named_texts.LONGEST_NAME:
        raise Refused(
            f"Error: The path has {len(clean)} characters; a path here has at most {named_texts.LONGEST_NAME}"
        )
    try:
        return named_texts.exact(clean, "path")
    except KeepbookError as error:
        raise Refused(f"Error: {error.message}") from error


def _check_arguments(command: object) -> tuple[str, dict[str, Any]]:
    name = None
    if isinstance(command, Mapping):
        name = command.get("command")
    if not isinstance(command, Mapping) or not isinstance(name, str) or name not in _ARGUMENTS:
        raise Refused(f"Error: Unknown command: {name}. The commands are {', '.join(_ARGUMENTS)}")
    given: dict[str, Any] = {}
    for argument, kind in {**_ARGUMENTS[name], **_OPTIONAL.get(name, {})}.items():
        value = command.get(argument)
        if value is None and argument not in _ARGUMENTS[name]:
            continue
        if not isinstance(value, kind) or isinstance(value, bool):
            raise Refused(f"Error: `{argument}` of {name} must be {_KINDS[kind]}")
        given[argument] = value
    return name, given


def _size(memory: Memory) -> int:
    return len((memory.body or "").encode())


def _occurrences(part: str, text: str) -> Iterator[int]:
    """The places of a part in a text, also of those that overlap."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _lines(text: str) -> list[str]:
    """The lines of a file. A line break at its end does not begin another line."""
    lines = text.split("\n")
    if lines[-1] == "":
        return lines[:-1]
    return lines


def _number_lines(lines: Sequence[str], start: int, end: int) -> list[str]:
    return [f"{number:>6}\t{line}" for number, line in enumerate(lines[start:end], start + 1)]


def _numbered_file(path: str, text: str, view_range: Sequence[int] | None) -> str:
    lines = _lines(text)
    if len(lines) > MOST_LINES:
        raise Refused(f"File {path} exceeds maximum line limit of {MOST_LINES:,} lines.")
    start, end = 1, len(lines)
    if view_range is not None:
        if len(view_range) != 2 or not all(type(number) is int for number in view_range):
            raise Refused("Error: `view_range` of view must be a list of two line numbers")
        start, end = view_range[0], len(lines) if view_range[1] == -1 else view_range[1]
        if not 1 <= start <= max(1, len(lines)) or end < start - 1:
            raise Refused(
                f"Error: Invalid `view_range` parameter: {list(view_range)}. "
                f"It should be within the range of lines of the file: [1, {len(lines)}]"
            )
    return "\n".join([f"Here's the content of {path} with line numbers:", *_number_lines(lines, start - 1, end)])


def _directory(path: str, sizes: Mapping[str, int]) -> str:
    """The listing of a directory: every entry of two levels, with the total size of what is in it."""
    totals: dict[str, int] = {path: 0}
    for file, size in sizes.items():
        parts = file.removeprefix(f"{path}/").split("/")
        if any(part.startswith(".") or part == "node_modules" for part in parts):
            continue
        totals[path] += size
        for depth in range(1, min(len(parts), LEVELS) + 1):
            entry = f"{path}/{'/'.join(parts[:depth])}" + ("/" if depth < len(parts) else "")
            totals[entry] = totals.get(entry, 0) + size
    told = [f"{_told_size(totals[entry])}\t{entry}" for entry in sorted(totals)]
    head = f"Here're the files and directories up to {LEVELS} levels deep in {path}, "
    return "\n".join([f"{head}excluding hidden items and node_modules:", *told])


def _told_size(size: int) -> str:
    if size < 1024:
        return f"{size}B"
    if size < 1024 * 1024:
        return f"{size / 1024:.1f}K"
    return f"{size / 1024 / 1024:.1f}M"
