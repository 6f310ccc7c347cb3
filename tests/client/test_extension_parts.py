"""What a stranger's extension hangs on a book and an installation: here, on a server, and where one awaits."""

import asyncio
from typing import Any

import pytest
from fastapi import FastAPI, Request

from keepbook import AsyncKeepbook, Keepbook, NotAllowed, NotFound, extension
from keepbook.extension import load_part

PLACE = "tests.client.stamps"


@pytest.fixture(autouse=True)
def stamps(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The extension is on by the settings of this machine, and forgotten afterwards."""
    monkeypatch.setattr(extension, "_AT_WORK", {})
    monkeypatch.setenv("KEEPBOOK_EXTENSIONS", f"agents,trading,{PLACE}:STAMPS")
    return load_part(PLACE)


def collector() -> FastAPI:
    """A server that has stamps."""
    app = FastAPI()

    @app.get("/api/stamps")
    def answer_stamps(request: Request, country: str) -> Any:
        return {"stamps": [{"country": country, "owner": request.headers["x-keepbook-owner"]}]}

    @app.get("/api/catalogue")
    def answer_catalogue() -> Any:
        return {"countries": ["Norway"]}

    return app


def test_a_face_hangs_on_a_book_here(stamps: Any) -> None:
    with Keepbook(":memory:", embedder="none") as kb:
        any_kb: Any = kb
        book: Any = kb.book("alice")
        kept = [stamps.Stamp("Norway", "alice")]
        assert book.stamps.list("Norway") == book.face(stamps.Stamps).list("Norway") == kept
        assert (any_kb.catalogue.countries(), any_kb.count(book, "Norway")) == (["Norway"], 1)
        with pytest.raises(NotFound):
            book.face(dict)


def test_a_face_hangs_on_a_book_on_a_server(stamps: Any, serve: Any) -> None:
    with serve(collector()) as address, Keepbook(address, token="kb_x") as kb:
        any_kb: Any = kb
        book: Any = kb.book("alice")
        kept = [stamps.Stamp("Norway", "alice")]
        assert book.stamps.list("Norway") == book.face(stamps.Stamps).list("Norway") == kept
        assert isinstance(book.stamps, stamps.Stamps)
        assert any_kb.catalogue.countries() == ["Norway"]
        for refused in (
            book.stamps.burn, lambda: book.swaps, lambda: book.face(stamps.Catalogue), lambda: any_kb.count,
        ):  # fmt: skip
            with pytest.raises(NotAllowed) as no:
                refused()
            assert no.value.code == "local_only"
        with pytest.raises(NotFound):
            book.face(dict)
        with pytest.raises(AttributeError, match="coins"):
            _ = book.coins


def test_a_face_hangs_on_a_book_that_is_awaited(stamps: Any) -> None:
    async def look() -> None:
        async with AsyncKeepbook(":memory:", embedder="none") as kb:
            any_kb: Any = kb
            book: Any = kb.book("alice")
            kept = [stamps.Stamp("Norway", "alice")]
            assert await book.stamps.list("Norway") == await book.face(stamps.Stamps).list("Norway") == kept
            for _ in range(2):
                assert await any_kb.catalogue.countries() == ["Norway"]
            assert await any_kb.count(book, "Norway") == await any_kb.count(book=book, country="Norway") == 1
            assert any_kb.album(book) == any_kb.album(book=book) == "the album of alice"
            assert await any_kb.buy(book) == "bought for alice"

    asyncio.run(look())


def test_a_face_hangs_on_a_book_on_a_server_that_is_awaited(stamps: Any, serve: Any) -> None:
    async def look(address: str) -> None:
        async with AsyncKeepbook(address, token="kb_x") as kb:
            any_kb: Any = kb
            book: Any = kb.book("alice")
            kept = [stamps.Stamp("Norway", "alice")]
            assert await book.stamps.list("Norway") == await book.face(stamps.Stamps).list("Norway") == kept
            assert await any_kb.catalogue.countries() == ["Norway"]

    with serve(collector()) as address:
        asyncio.run(look(address))
