"""The one JSON shape of everything the book answers: field names as in Python, times as ISO 8601 UTC with Z."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any, Generic, TypeVar

from keepbook.book.ground.when import stamp

Item = TypeVar("Item")
_PLAIN = frozenset((str, int, float, bool, type(None)))


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """A part of a listing; `next` is the cursor of the following part, empty at the end. `rows` names what they are."""

    items: Sequence[Item]
    total: int
    next: str | None = None
    rows: str = "memories"

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Item:
        return self.items[index]


def to_json(value: Any) -> Any:
    """A value of the book as plain JSON types."""
    kind = type(value)
    if kind in _PLAIN:  # most of what there is
        return value
    if isinstance(value, datetime):
        return stamp(value)
    if isinstance(value, Page):
        return {value.rows: to_json(value.items), "total": value.total, "next": value.next}
    if (names := _names(kind)) is not None:  # type: ignore[arg-type]  # every class has a hash
        return {name: to_json(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return value


@cache
def _names(kind: type) -> tuple[str, ...] | None:
    """The fields of a dataclass or a named tuple."""
    if is_dataclass(kind):
        return tuple(field.name for field in fields(kind))
    return getattr(kind, "_fields", None) if issubclass(kind, tuple) else None
