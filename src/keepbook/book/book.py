"""A book: everything of one owner, and every operation on it.

What the core does stands in `operations.py`. What extensions add hangs on it by name, `book.habits`, or is asked for by
its class, `book.face(Habits)`, and is loaded when it is first used. Types are in `book.pyi`, which `scripts/stubs.py`
writes from what this package has.
"""

from typing import Any, TypeVar

from keepbook.book.ground.open_book import beside_memory
from keepbook.book.memory.links import MemoryDetail
from keepbook.book.operations import BookOperations
from keepbook.extension import face_name, load_part, loaded_extensions

__all__ = ["Book", "MemoryDetail"]

Face = TypeVar("Face")


class Book(BookOperations):
    """One owner's memory, from `Keepbook.book(owner)`."""

    def face(self, kind: type[Face]) -> Face:
        """What an extension adds to this book, by its class.

        kind: the class, as the extension names it among its faces
        """
        opened: Face = getattr(self, face_name(kind, self.extensions))
        return opened

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        for one in self.extensions:
            if name in one.faces:
                return load_part(one.faces[name])(beside_memory(self))
        raise AttributeError(_why_not(name))


def _why_not(name: str) -> str:
    for one in loaded_extensions():
        if name in one.faces:
            return f"this book has no {name!r} here: add {one.name} to extensions"
    return f"a book has no {name!r}"
