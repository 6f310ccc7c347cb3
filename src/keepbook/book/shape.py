"""The one JSON shape of everything the book answers: field names as in Python, times as ISO 8601 UTC with Z."""

from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

from keepbook.book.memories import Page
from keepbook.book.when import stamp


def to_json(value: Any) -> Any:
    """A value of the book as plain JSON types."""
    if isinstance(value, datetime):
        return stamp(value)
    if isinstance(value, Page):
        return {"memories": to_json(value.items), "total": value.total, "next": value.next}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item) for item in value]
    return value
