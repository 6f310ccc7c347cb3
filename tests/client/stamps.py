"""A stranger's extension, as small as one is: the stamps of a book, here and on a server, and their catalogue."""

from dataclasses import dataclass
from typing import Any

from keepbook.book.ground.open_book import OpenBook
from keepbook.client.asks import Asks
from keepbook.client.faces import remote_face_of
from keepbook.extension import Extension, at_once


@dataclass(frozen=True, slots=True)
class Stamp:
    country: str
    owner: str


class Stamps:
    """The stamps of a book."""

    def __init__(self, book: OpenBook) -> None:
        self._book = book

    def list(self, country: str) -> "list[Stamp]":
        return [Stamp(country, self._book.owner)]

    def burn(self) -> None:
        """Nothing that a server offers."""


class Catalogue:
    """What there is to collect."""

    def countries(self) -> list[str]:
        return ["Norway"]


def catalogue(_: Any) -> Catalogue:
    return Catalogue()


def count(_: Any, book: OpenBook, country: str) -> int:
    return len(Stamps(book).list(country))


@at_once
def album(_: Any, book: OpenBook) -> str:
    return f"the album of {book.owner}"


async def buy(_: Any, book: OpenBook) -> str:
    return f"bought for {book.owner}"


REMOTE_STAMPS = remote_face_of(Stamps, {"list": Asks("GET", "/api/stamps", list[Stamp], "stamps")})
REMOTE_CATALOGUE = remote_face_of(Catalogue, {"countries": Asks("GET", "/api/catalogue", list[str], "countries")})


def remote_catalogue(kb: Any) -> Any:
    return REMOTE_CATALOGUE(kb.connection, "")


_HERE = "tests.client.stamps"
STAMPS = Extension(
    name="stamps",
    faces={"stamps": f"{_HERE}:Stamps", "swaps": f"{_HERE}:Catalogue"},
    house={name: f"{_HERE}:{name}" for name in ("catalogue", "count", "album", "buy")},
    remote_faces={"stamps": f"{_HERE}:REMOTE_STAMPS"},
    remote_house={"catalogue": f"{_HERE}:remote_catalogue"},
)
