"""A damaged file is told in one plain sentence, whatever is asked of it, and a file that is closed is whole."""

import io
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Clock, alike_in_every_run

from keepbook import Invalid, Keepbook

ASKED: dict[str, Callable[[Any], Any]] = {
    "list": lambda book: book.list(limit=1000),
    "recall": lambda book: book.recall("thing many"),
    "block": lambda book: book.inject("s1"),
    "verify": lambda book: book.verify(),
    "export": lambda book: book.export(io.StringIO()),
    "remember": lambda book: book.remember("A new thing was said", force=True),
    "ledger": lambda book: book.ledger(limit=None),
    "messages": lambda book: book.thread("x").messages(),
    "audit": lambda book: book.audit(),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The same bytes in every run, its ids and instants too, so that a seed means one damage for ever."""
    path = tmp_path_factory.mktemp("whole") / "book.db"
    with alike_in_every_run(), Keepbook(path, embedder="none", clock=Clock()) as kb:
        book = kb.book("alice")
        with book.transaction():
            for number in range(200):
                book.remember(f"Thing {number} of many things", force=True)
        chat = book.thread("x")
        for number in range(20):
            chat.add("user", f"Said {number} " * 30)
    return path.read_bytes()


def damaged(whole: bytes, draw: random.Random) -> bytes:
    """Some bytes become others, anywhere behind the header, one or very many."""
    made = bytearray(whole)
    for _ in range(draw.choice((1, 3, 30))):
        at, size = draw.randrange(100, len(made) - 200), draw.choice((1, 8, 200))
        made[at : at + size] = draw.randbytes(size)
    return bytes(made[: len(made) // 2] if draw.random() < 0.1 else made)


@pytest.mark.parametrize("seed", [*range(12), 20, 124])
def test_a_damaged_file_gives_one_plain_sentence(
    whole: bytes, tmp_path: Path, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    """It is answered, or refused as damaged; never anything else, and nothing beside it in the log."""
    made = damaged(whole, random.Random(seed))
    refusals = []
    for name, ask in ASKED.items():
        path = tmp_path / f"{name}.db"
        path.write_bytes(made)
        try:
            with Keepbook(path, embedder="none") as kb:
                ask(kb.book("alice"))
        except Invalid as refused:
            refusals.append(refused)
    assert {refused.code for refused in refusals} <= {"not_a_book"}
    assert not [refused.message for refused in refusals if "\n" in refused.message]
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


def test_a_book_that_is_closed_leaves_its_file_alone(tmp_path: Path) -> None:
    """The write-ahead log is emptied into the file, whoever wrote, and no thread is left."""
    before = set(threading.enumerate())
    kb = Keepbook(tmp_path / "book.db", embedder="none")

    def write(owner: str) -> None:
        for number in range(10):
            kb.book(owner).remember(f"Thing {number} said", force=True)

    writers = [threading.Thread(target=write, args=(f"owner {nth}",)) for nth in range(4)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    assert (tmp_path / "book.db-wal").stat().st_size
    kb.close()
    assert [path.name for path in tmp_path.iterdir()] == ["book.db"]
    assert set(threading.enumerate()) == before
