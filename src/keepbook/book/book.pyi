"""Written by scripts/stubs.py from the classes it stands in for: change those."""

from typing import TypeVar

import keepbook.extensions.agents.book.face
import keepbook.extensions.trading.book.face
from keepbook.book.memory.links import MemoryDetail
from keepbook.book.operations import BookOperations

__all__ = ["Book", "MemoryDetail"]
Face = TypeVar("Face")

class Book(BookOperations):
    """One owner's memory, from `Keepbook.book(owner)`."""

    def face(self, kind: type[Face]) -> Face:
        """What an extension adds to this book, by its class.

        kind: the class, as the extension names it among its faces
        """
    @property
    def agents(self) -> keepbook.extensions.agents.book.face.Agents: ...
    @property
    def runs(self) -> keepbook.extensions.agents.book.face.Runs: ...
    @property
    def decisions(self) -> keepbook.extensions.agents.book.face.Decisions: ...
    @property
    def trading(self) -> keepbook.extensions.trading.book.face.Trading: ...
