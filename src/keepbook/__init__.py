"""Keepbook: the memory of an AI agent, kept like a ledger.

The public names load when they are first used: `keepbook --help` needs none of them, and the engine takes a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keepbook.app import Keepbook
    from keepbook.asynchronous import AsyncBook, AsyncChat, AsyncKeepbook, AsyncToolSet
    from keepbook.book.book import Book
    from keepbook.book.chats.closing_result import ClosingResult as Closed
    from keepbook.book.chats.face import Chat
    from keepbook.book.chats.threads import Message, Thread
    from keepbook.book.ground.to_json import Page, to_json
    from keepbook.book.ledger.ledger import Entry
    from keepbook.book.ledger.verify import Verification
    from keepbook.book.memory.links import Link, MemoryDetail
    from keepbook.book.memory.memories import Memory, Version, Written
    from keepbook.book.memory.proposals import Proposal
    from keepbook.book.recall.memories import Hit
    from keepbook.book.texts import TextChange
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
    from keepbook.tools.catalogue import ToolSet
    from keepbook.tools.definition import ToolAnswer as Answer

__all__ = [
    "Ambiguous",
    "Answer",
    "AsyncBook",
    "AsyncChat",
    "AsyncKeepbook",
    "AsyncToolSet",
    "Book",
    "Chat",
    "Closed",
    "Conflict",
    "Entry",
    "Hit",
    "Invalid",
    "Keepbook",
    "KeepbookError",
    "LimitReached",
    "Link",
    "Memory",
    "MemoryDetail",
    "Message",
    "ModelFailed",
    "NotAllowed",
    "NotFound",
    "Page",
    "Proposal",
    "TextChange",
    "Thread",
    "ToolSet",
    "Verification",
    "Version",
    "Written",
    "to_json",
]

# The module that each name is in; after a colon its name there, if that is another. Names not listed are in `errors`.
_HOMES = {
    "Keepbook": "app",
    "AsyncKeepbook": "asynchronous",
    "AsyncBook": "asynchronous",
    "AsyncChat": "asynchronous",
    "AsyncToolSet": "asynchronous",
    "Answer": "tools.definition:ToolAnswer",
    "Book": "book.book",
    "Chat": "book.chats.face",
    "Closed": "book.chats.closing_result:ClosingResult",
    "Entry": "book.ledger.ledger",
    "Link": "book.memory.links",
    "Memory": "book.memory.memories",
    "MemoryDetail": "book.memory.links",
    "Message": "book.chats.threads",
    "Page": "book.ground.to_json",
    "Proposal": "book.memory.proposals",
    "TextChange": "book.texts",
    "Thread": "book.chats.threads",
    "ToolSet": "tools.catalogue",
    "Verification": "book.ledger.verify",
    "Version": "book.memory.memories",
    "Written": "book.memory.memories",
    "Hit": "book.recall.memories",
    "to_json": "book.ground.to_json",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'keepbook' has no attribute {name!r}")
    place, _, called = _HOMES.get(name, "errors").partition(":")
    value = getattr(import_module(f"keepbook.{place}"), called or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
