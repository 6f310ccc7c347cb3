"""What is removed for good is overwritten in the bytes of a SQLite file, and nobody waits for that."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from keepbook import Keepbook
from keepbook.storage.engines import removed_bytes

on_sqlite = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
SOON = 1.0


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if any file were large, and a page of it a piece."""
    monkeypatch.setattr(removed_bytes, "SMALL_FILE", 0)
    monkeypatch.setattr(removed_bytes, "PAGES_IN_A_PIECE", 1)


@contextmanager
def reading(url: str) -> Iterator[None]:
    """Another program reads, as an export or a backup does, and has begun before whatever comes next."""
    with closing(sqlite3.connect(url, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM ledger").fetchone()
        yield
        other.execute("COMMIT")


@contextmanager
def meanwhile(do: Callable[[], Any]) -> Iterator[None]:
    thread = Thread(target=do)
    thread.start()
    yield
    thread.join()


def stands_in(url: str, word: str) -> bool:
    files = (Path(url + end) for end in ("", "-wal"))
    return any(word.encode() in file.read_bytes() for file in files if file.exists())


@on_sqlite
@pytest.mark.parametrize("small", [0, removed_bytes.SMALL_FILE], ids=["in pieces", "rewritten"])
def test_a_reader_keeps_nobody_from_writing_and_a_sweep_does_what_waits(
    kb: Any, alice: Any, book_url: str, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removed_bytes, "SMALL_FILE", small)
    monkeypatch.setattr(removed_bytes, "PATIENCE", 0.3)
    bob, slowest = kb.book("bob"), 0.0
    gone = alice.remember("The treasure is called quetzalcoatl").id
    with reading(book_url), meanwhile(lambda: alice.delete(gone, forever=True)):
        for nth in range(8):
            began = time.monotonic()
            bob.remember(f"Bob said {nth}", force=True)
            slowest = max(slowest, time.monotonic() - began)
            time.sleep(0.05)
    assert slowest < SOON
    assert stands_in(book_url, "quetzalcoatl")
    assert kb._database.holds_removed()
    assert kb.sweep().failed == []
    assert not stands_in(book_url, "quetzalcoatl")
    assert not kb._database.holds_removed()


@on_sqlite
@pytest.mark.usefixtures("in_pieces")
def test_others_write_between_the_pieces(kb: Any, alice: Any, book_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What they write meanwhile stays, and what they have read of a page before is not written back."""
    for nth in range(60):
        alice.remember(f"The treasure {nth} is called quetzalcoatl", body=f"quetzalcoatl {nth} " * (nth * 7 % 50 + 1))
    ids = [one.id for one in alice.list(limit=100).items]
    with Keepbook(book_url) as second:
        bob, carol = kb.book("bob"), second.book("carol")
        written: list[str] = []
        begin = removed_bytes._Overwriting._begin_piece

        def first_others(self: Any) -> bool:
            for book in (bob, carol):
                written.append(f"Piece {len(written)} came")
                book.remember(written[-1], force=True)
            return begin(self)

        with alice.transaction():
            for id in ids[:-1]:
                alice.delete(id, forever=True)
            monkeypatch.setattr(removed_bytes._Overwriting, "_begin_piece", first_others)
        assert len(written) > 10
        assert sorted(one.content for book in (bob, carol) for one in book.list(limit=1000).items) == sorted(written)
        alice.delete(ids[-1], forever=True)
        assert not stands_in(book_url, "quetzalcoatl")
        assert all(book.verify().ok for book in (alice, bob, carol))
    assert kb._database.backend.damage() is None


@on_sqlite
@pytest.mark.usefixtures("in_pieces")
def test_who_was_ended_between_the_commit_and_the_overwriting_leaves_it_to_a_sweep(
    kb: Any, alice: Any, book_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = alice.remember("The treasure is called quetzalcoatl").id
    with monkeypatch.context() as patched:
        patched.setattr(kb._database.backend, "compact", lambda: 1 // 0)
        alice.delete(gone, forever=True)
    assert kb._database.holds_removed()
    kb.sweep()
    assert not kb._database.holds_removed()
    assert not stands_in(book_url, "quetzalcoatl")


@pytest.mark.parametrize("kind", removed_bytes.CELLS_BEGIN)
def test_a_page_that_does_not_read_as_one_is_left_as_it_is(kind: int) -> None:
    size = 512
    rows = bytes([kind, 0, 0, 0, 1, 1, 0, 0]) + bytes(4)
    whole = rows + bytes(256 - len(rows)) + b"x" * 256
    begin = removed_bytes.CELLS_BEGIN[kind] + 2
    assert removed_bytes.unused_stretches(whole) == [(begin, 256)]
    for at, number in ((1, 100), (1, 511), (3, 200), (5, 5), (5, 600)):
        assert removed_bytes.unused_stretches(whole[:at] + number.to_bytes(2, "big") + whole[at + 2 :]) is None
    freed = whole[:1] + (300).to_bytes(2, "big") + whole[3:300] + bytes([0, 0, 0, 20]) + whole[304:]
    assert removed_bytes.unused_stretches(freed) == [(begin, 256), (304, 320)]
    assert removed_bytes.unused_stretches(bytes(size)) == []
