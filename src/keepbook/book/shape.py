"""The one JSON shape of everything the book answers: field names as in Python, times as ISO 8601 UTC with Z."""

from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import Any

from keepbook.book.memories import Page
from keepbook.book.when import stamp

_PLAIN = frozenset((str, int, float, bool, type(None)))


def to_json(value: Any) -> Any:
    """A value of the book as plain JSON types."""
    kind = type(value)
    if kind in _PLAIN:  # most of what there is
        return value
    if isinstance(value, datetime):
        return stamp(value)
    if isinstance(value, Page):
        return {"memories": to_json(value.items), "total": value.total, "next": value.next}
    if (names := _names(kind)) is not None:  # type: ignore[arg-type]  # every class has a hash
        return {name: to_json(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return value


@cache
def _names(kind: type) -> tuple[str, ...] | None:
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None
