"""Keepbook: the memory of an AI agent, kept like a ledger.

The public names load when they are first used: `keepbook --help` needs none of them, and the engine takes a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keepbook.app import Keepbook
    from keepbook.book.book import Book
    from keepbook.book.links import Link
    from keepbook.book.memories import Memory, Page, Version, Written
    from keepbook.book.recall import Hit
    from keepbook.book.shape import to_json
    from keepbook.errors import (
        Ambiguous,
        Conflict,
        Invalid,
        KeepbookError,
        LimitReached,
        ModelFailed,
        NotAllowed,
        NotFound,
    )

__all__ = [
    "Ambiguous",
    "Book",
    "Conflict",
    "Hit",
    "Invalid",
    "Keepbook",
    "KeepbookError",
    "LimitReached",
    "Link",
    "Memory",
    "ModelFailed",
    "NotAllowed",
    "NotFound",
    "Page",
    "Version",
    "Written",
    "to_json",
]

_HOMES = {
    "Keepbook": "app",
    "Book": "book.book",
    "Link": "book.links",
    "Memory": "book.memories",
    "Page": "book.memories",
    "Version": "book.memories",
    "Written": "book.memories",
    "Hit": "book.recall",
    "to_json": "book.shape",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'keepbook' has no attribute {name!r}")
    value = getattr(import_module(f"keepbook.{_HOMES.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
