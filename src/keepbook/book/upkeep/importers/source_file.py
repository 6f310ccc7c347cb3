"""A file to import: a text, a database, an archive, or a folder of notes. It is read once, when a source asks for
it."""

import io
import json
import os
import zipfile
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from keepbook.book.ground.foreign_sqlite import HEAD
from keepbook.errors import Invalid, NotFound

LISTS = ("results", "memories", "facts", "items", "data")
"""The keys under which programs keep their list."""
MOST = 2_000_000_000
"""How many bytes a file may have."""
UNFOLDED = 500_000_000
"""How many bytes the files of an archive may have together, since they are all held in memory."""
MAY_HOLD_WORDS = (".json", ".jsonl", ".md", ".csv")
"""The endings of files that are unpacked from an archive."""


def file_or_lines(given: str | os.PathLike[str] | Iterable[str]) -> Path | bytes:
    """The file or folder that somebody names, or what is in it: lines that come with their ends or without."""
    if isinstance(given, str | os.PathLike):
        return Path(given).expanduser()
    whole = bytearray()
    try:
        for text in given:
            if not isinstance(text, str):
                raise Invalid("open the file as text, or name it; nothing was imported", field="file")
            whole += text.encode()
            if not text.endswith("\n"):
                whole += b"\n"
    except UnicodeError:
        raise Invalid("the file is not text in UTF-8; nothing was imported", field="file") from None
    return bytes(whole)


class SourceFile:
    """A file, folder or text to import. `path` is None for an upload or a member of an archive."""

    def __init__(self, name: str, *, path: Path | None = None, raw: bytes | None = None) -> None:
        self.name: str = name
        self.path: Path | None = path
        self._raw = raw

    @classmethod
    def from_path(cls, path: Path) -> "SourceFile":
        try:
            there = path.exists()
        except OSError:  # a name that no file can have, such as the words of one
            there = False
        if not there:
            raise NotFound(f"there is nothing at {str(path)[:200]}; check its name", field="file")
        return cls(path.name, path=path)

    @cached_property
    def is_folder(self) -> bool:
        return self.path is not None and self.path.is_dir()

    @cached_property
    def is_database(self) -> bool:
        return not self.is_folder and self.raw[: len(HEAD)] == HEAD

    @cached_property
    def raw(self) -> bytes:
        if self._raw is not None:
            return self._raw
        if self.path is None or self.is_folder:
            return b""
        try:
            if self.path.stat().st_size > MOST:
                raise Invalid(f"{self.name} is larger than {MOST // 10**9} GB; split it first", field="file")
            return self.path.read_bytes()
        except OSError as error:
            raise NotFound(f"cannot read {self.path} ({error.strerror}); check its permissions", field="file") from None

    @cached_property
    def text(self) -> str:
        """The file as text; empty if it is no text."""
        if self.is_folder or self.is_database or self.members:
            return ""
        try:
            return self.raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise Invalid("the file is not text in UTF-8; nothing was imported", field="file") from None

    @cached_property
    def members(self) -> dict[str, "SourceFile"]:
        """The contents of the files of an archive or folder, by their path in it."""
        if self.is_folder and self.path is not None:
            files = [path for path in self._inside if not path.is_symlink() and path.is_file()]
            return {path.relative_to(self.path).as_posix(): SourceFile(path.name, path=path) for path in files}
        if not self.raw.startswith(b"PK\x03\x04"):
            return {}
        try:
            with zipfile.ZipFile(io.BytesIO(self.raw)) as archive:
                wanted = [one for one in archive.infolist() if one.filename.endswith(MAY_HOLD_WORDS)]
                if sum(one.file_size for one in wanted) > UNFOLDED:
                    raise Invalid(
                        f"{self.name} unfolds to more than {UNFOLDED // 10**6} MB; unpack it, and bring in the file "
                        "with your chats or memories alone. Nothing was imported",
                        field="file",
                    )
                return {
                    one.filename: SourceFile(PurePosixPath(one.filename).name, raw=archive.read(one)) for one in wanted
                }
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
            raise Invalid(f"{self.name} is a damaged archive ({error}); nothing was imported", field="file") from None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The paths of all files of an archive or folder, including those that are not unpacked."""
        if self.is_folder or not self.members:
            return tuple(self.members)
        with zipfile.ZipFile(io.BytesIO(self.raw)) as archive:
            return tuple(one.filename for one in archive.infolist() if not one.is_dir())

    @cached_property
    def links(self) -> list[str]:
        """The symbolic links in a folder, none of which is followed."""
        if self.path is None or not self.is_folder:
            return []
        return [path.relative_to(self.path).as_posix() for path in self._inside if path.is_symlink()]

    @cached_property
    def _inside(self) -> list[Path]:
        """All paths in a folder, however deep. Links are among them, what they point to is not."""
        found: list[Path] = []
        for folder, folders, files in os.walk(self.path or "", followlinks=False):
            found += [Path(folder, name) for name in (*folders, *files)]
        return sorted(found)

    def member(self, name: str) -> "SourceFile | None":
        """The file of this name, wherever it lies in the archive or folder; the file itself if it has this name."""
        return next((one for path, one in self.members.items() if PurePosixPath(path).name == name), None)

    @cached_property
    def value(self) -> Any:
        """The file as one JSON value; None if it is not JSON."""
        head = self.text.lstrip()[:1]
        if not head or head not in '[{"':
            return None
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return None

    @cached_property
    def records(self) -> list[tuple[str, Any]]:
        """The items of a list, of an object that holds a list, or of JSON lines, each with its place; empty if the file
        is no JSON at all. Among JSON lines, the first line that is not JSON is an error that names it."""
        whole = self.value
        if isinstance(whole, dict):
            whole = next((whole[name] for name in LISTS if isinstance(whole.get(name), list)), [whole])
        if isinstance(whole, str):
            whole = [whole]
        if whole is not None:
            return [(f"item {number}", item) for number, item in enumerate(whole, 1)] if isinstance(whole, list) else []
        lines = [(number, line) for number, line in enumerate(self.text.split("\n"), 1) if line.strip()]
        if not lines or lines[0][1].lstrip()[0] not in '[{"':
            return []
        return [(f"line {number}", _parse_json_line(line, number)) for number, line in lines]


def _parse_json_line(line: str, number: int) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        if isinstance(error, ValueError):
            why = str(error)
        else:
            why = "nested too deep"
        raise Invalid(
            f"line {number} is not JSON ({why}); nothing was imported", code="broken_line", field="file", line=number
        ) from None
