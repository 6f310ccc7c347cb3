"""The file of a stage: lines of JSON, one for each question and way. A line that is there is not made again.

A stage needs only the file of the stage before, so that a file may also be made elsewhere, by another reader or judge.
If a program was stopped while it wrote, the last line may be incomplete; it is removed and made again.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from keepbook.errors import Invalid, NotFound

LineKey = tuple[str, str]
"""A question's id, and a way."""


def mark_of_text(text: str) -> str:
    """A short hash, which a line stores of the text it was made from: if that changes, the line is made again."""
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


class StageFile:
    """The lines of one stage by key. Each is read from the file when it is asked for, because contexts may be long."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[LineKey, int] = {}
        end = self._find_lines()
        if path.exists() and path.stat().st_size > end:
            with path.open("r+b") as file:
                file.truncate(end)

    def _find_lines(self) -> int:
        """Note where each line begins; returns where the last complete one ends."""
        at = 0
        if not self.path.exists():
            return at
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    told = json.loads(line)
                    key = str(told["id"]), str(told["way"])
                except (ValueError, KeyError, TypeError):
                    if line.endswith(b"\n"):
                        raise Invalid(f"{self.path}, line {number}: no JSON with id and way", field="data") from None
                    return at
                self._places[key] = at
                at += len(line)
        return at

    def __len__(self) -> int:
        return len(self._places)

    def get(self, key: LineKey) -> dict[str, Any] | None:
        place = self._places.get(key)
        if place is None:
            return None
        with self.path.open("rb") as file:
            file.seek(place)
            found: dict[str, Any] = json.loads(file.readline())
            return found

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for key in list(self._places):
            found = self.get(key)
            if found is not None:
                yield found

    def add(self, line: Mapping[str, Any]) -> None:
        written = json.dumps(line, ensure_ascii=False).encode() + b"\n"
        with self.path.open("ab") as file:
            if file.tell() and not self._ends_with_its_line():
                file.write(b"\n")
            self._places[str(line["id"]), str(line["way"])] = file.tell()
            file.write(written)

    def _ends_with_its_line(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(-1, 2)
            return file.read(1) == b"\n"


def existing_stage(path: Path, field: str) -> StageFile:
    """The stage file at `path`; raises `NotFound` if there is none."""
    if not path.is_file():
        raise NotFound(f"there is no file {path}", field=field)
    return StageFile(path)
