"""A room of the book that few calls enter, such as trading: it is loaded by the first that does."""

from importlib import import_module
from typing import Any, Generic, Self, TypeVar, overload

from keepbook.book.ground.open_book import OpenBook

Face = TypeVar("Face")


class Room(Generic[Face]):
    """Stands in a class for the face of a room, and gives each book its own: `book.trading`."""

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
