"""The one JSON form of everything the book returns: field names as in Python, times as ISO 8601 UTC with Z."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from functools import cache
from math import isfinite
from operator import attrgetter
from typing import Any, ClassVar, Generic, TypeVar, overload

from keepbook.book.ground.limits import LEAST_WHOLE, MOST_WHOLE
from keepbook.book.ground.when import stamp

Item = TypeVar("Item")
DEEPEST = 200
"""How deep an answer may be nested."""
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


class LazyValues(Sequence[Item]):
    """A sequence of values in JSON form that become Python values only when an item is read. A door that passes them on
    as JSON never converts them."""

    __slots__ = ("_make", "told")

    def __init__(self, told: list[dict[str, Any]], make: Callable[[dict[str, Any]], Item]) -> None:
        self.told: list[dict[str, Any]] = told
        self._make = make

    def __len__(self) -> int:
        return len(self.told)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        if isinstance(index, slice):
            return [self._make(one) for one in self.told[index]]
        return self._make(self.told[index])

    def __iter__(self) -> Iterator[Item]:
        return map(self._make, self.told)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # as a list has none

    def __repr__(self) -> str:
        return repr(list(self))


def to_json(value: Any) -> Any:
    """A value of the book as plain JSON types."""
    kind: type = type(value)
    return _encoder_of(kind)(value)


@cache
def _encoder_of(kind: type) -> Callable[[Any], Any]:
    """How the values of a class become JSON."""
    if kind in _PLAIN:
        return lambda value: value
    if issubclass(kind, datetime):
        return stamp
    if issubclass(kind, LazyValues):
        return lambda values: values.told
    if issubclass(kind, Page):
        return lambda page: {page.rows: to_json(page.items), "total": page.total, "next": page.next}
    if is_dataclass(kind):
        return _by_fields([field.name for field in fields(kind)])
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return _by_fields(kind._fields)
    if issubclass(kind, Mapping):
        return lambda pairs: {key: to_json(item) for key, item in pairs.items()}
    if issubclass(kind, list | tuple):
        return lambda items: [item if type(item) in _PLAIN else to_json(item) for item in items]
    return lambda value: value


def writable(value: Any, deep: int = 0) -> Any:
    """The value with everything replaced that a writer of JSON would refuse, by what comes nearest. Such values can no
    longer be stored, but older books may have them."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, int) and not LEAST_WHOLE <= value <= MOST_WHOLE:
        return str(value)
    if isinstance(value, float) and not isfinite(value):
        return None
    if isinstance(value, dict | list) and deep > DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {writable(key): writable(item, deep + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [writable(item, deep + 1) for item in value]
    return value


def _by_fields(names: Sequence[str]) -> Callable[[Any], dict[str, Any]]:
    """A function that writes an object as JSON: it reads all fields at once and converts those that are not plain."""
    take: Callable[[Any], Iterable[Any]] = (
        attrgetter(*names) if len(names) > 1 else lambda one: [getattr(one, name) for name in names]
    )

    def told(value: Any) -> dict[str, Any]:
        found = dict(zip(names, take(value), strict=True))
        for name, item in found.items():
            if type(item) not in _PLAIN:
                found[name] = to_json(item)
        return found

    return told
