"""Keepbook: the memory of an AI agent, kept like a ledger."""

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
