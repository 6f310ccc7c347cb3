"""The one JSON shape of everything the book answers: field names as in Python, times as ISO 8601 UTC with Z."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from functools import cache
from operator import attrgetter
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
    if (shape := _shape(kind)) is not None:  # type: ignore[arg-type]  # every class has a hash
        names, take = shape
        return {
            name: item if type(item) in _PLAIN else to_json(item) for name, item in zip(names, take(value), strict=True)
        }
    if isinstance(value, Mapping):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return value


@cache
def _shape(kind: type) -> tuple[tuple[str, ...], Callable[[Any], Iterable[Any]]] | None:
    """The fields of a dataclass or a named tuple, and what takes them all at once."""
    if is_dataclass(kind):
        names = tuple(field.name for field in fields(kind))
        return names, attrgetter(*names) if len(names) > 1 else lambda one: [getattr(one, name) for name in names]
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return kind._fields, iter
    return None
