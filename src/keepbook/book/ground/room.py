"""A room of the book that few calls need, such as trading. It is loaded by the first call that needs it."""

from importlib import import_module
from typing import Any, Generic, Self, TypeVar, overload

from keepbook.book.ground.open_book import OpenBook

Face = TypeVar("Face")


class Room(Generic[Face]):
    """A descriptor for the face of a room, which gives each book its own: `book.trading`."""

    def __init__(self, module: str, face: str) -> None:
        self._module, self._face = module, face

    @overload
    def __get__(self, book: None, of: Any) -> Self: ...

    @overload
    def __get__(self, book: OpenBook, of: Any) -> Face: ...

    def __get__(self, book: OpenBook | None, of: Any) -> Self | Face:
        if book is None:
            return self
        face: Face = getattr(import_module(self._module), self._face)(book)
        return face
