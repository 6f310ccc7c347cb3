"""Keepbook: the memory of an AI agent, kept like a ledger.

The public names load when they are first used: `keepbook --help` needs none of them, and the engine takes a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keepbook.app import Keepbook
    from keepbook.asynchronous import AsyncKeepbook
    from keepbook.book.book import Book
    from keepbook.book.ground.to_json import Page, to_json
    from keepbook.book.memory.links import Link
    from keepbook.book.memory.memories import Memory, Version, Written
    from keepbook.book.recall.memories import Hit
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
    "AsyncKeepbook",
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
    "AsyncKeepbook": "asynchronous",
    "Book": "book.book",
    "Link": "book.memory.links",
    "Memory": "book.memory.memories",
    "Page": "book.ground.to_json",
    "Version": "book.memory.memories",
    "Written": "book.memory.memories",
    "Hit": "book.recall.memories",
    "to_json": "book.ground.to_json",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'keepbook' has no attribute {name!r}")
    value = getattr(import_module(f"keepbook.{_HOMES.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
