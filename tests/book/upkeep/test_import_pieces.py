"""An import beside other work: whoever writes the same book waits for one piece of it, and a dry run for nobody."""

import io
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from keepbook.book.ground import in_pieces
from keepbook.book.upkeep import importing
from keepbook.errors import Conflict, LimitReached
from keepbook.settings import Allowance


def chats(many: int, turns: int = 4) -> list[str]:
    """A file of Claude's."""
    said = [
        {"uuid": f"{at}", "sender": "human", "created_at": "2024-05-01T10:00:00Z", "text": f"I planted tree {at} today"}
        for at in range(turns)
    ]
    made = {"created_at": "2024-05-01T10:00:00Z", "chat_messages": said}
    return [json.dumps([made | {"uuid": f"c{at}", "name": f"Garden {at}"} for at in range(many)])]


def lines(many: int) -> list[str]:
    made = {"created_at": "2024-05-01T10:00:00Z"}
    return [json.dumps({"results": [made | {"id": f"m{at}", "memory": f"Owns pear tree {at}"} for at in range(many)]})]


FILES = {"chats": chats(12), "memories": lines(24)}


@contextmanager
def other_writer(book: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Somebody who writes the same book whenever an import pauses, and is done before it goes on; their entries."""
    entries = list[int]()

    def write() -> None:
        entries.append(book.remember(f"Something else, number {len(entries)}", force=True).event)

    def pause(_: float) -> None:
        other = threading.Thread(target=write)
        other.start()
        other.join()

    monkeypatch.setattr(importing.time, "sleep", pause)
    yield entries
    monkeypatch.undo()


@pytest.mark.parametrize("what", FILES)
def test_others_write_between_the_pieces_of_one_load_and_undo_takes_that_load_alone(
    alice: Any, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "PIECE_SECONDS", 0.0)
    looked = alice.import_(FILES[what], dry_run=True)
    before = alice.ledger(limit=1)
    with other_writer(alice, monkeypatch) as entries:
        came = alice.import_(FILES[what])
    assert (came.memories, came.chats) == (looked.memories, looked.chats) != (0, 0)
    assert not before
    assert len(entries) > 2  # the first pause is before the first piece
    (load,) = alice.loads()
    assert (load.memories, load.chats) == (came.memories, came.chats)
    assert alice.import_(FILES[what]).load is None
    alice.take_back(came.load)
    kept = {one.content for one in alice.list(limit=1000)}
    assert kept == {f"Something else, number {at}" for at in range(len(entries))}
    assert alice.verify().ok


@pytest.mark.parametrize("what", FILES)
def test_an_import_whose_book_is_erased_meanwhile_writes_nothing_more(
    alice: Any, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came in after it would stand in no load, so that nobody could take it back."""
    monkeypatch.setattr(importing, "PIECE_SECONDS", 0.0)
    pauses = list[float]()

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            erasing = threading.Thread(target=alice.erase, args=("alice",))
            erasing.start()
            erasing.join()

    monkeypatch.setattr(importing.time, "sleep", pause)
    with pytest.raises(Conflict, match="erased"):
        alice.import_(FILES[what])
    assert alice.list().total == 0
    assert list(alice.threads.list()) == []
    assert list(alice.loads()) == []


@pytest.mark.parametrize("what", FILES)
def test_a_dry_run_takes_no_write_lock(alice: Any, what: str) -> None:
    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("a dry run wrote")

    alice.remember("Lives in Oslo")
    exported = "".join(f"{line}\n" for line in _export(alice))
    alice._database.backend.writing = never
    try:
        assert alice.import_(FILES[what], dry_run=True).dry_run
        assert alice.import_(exported.splitlines(), merge=True, dry_run=True).unchanged == 1
        assert alice.import_(exported.splitlines(), dry_run=True).unchanged == 1
    finally:
        del alice._database.backend.writing


def test_a_file_that_breaks_off_leaves_nothing_and_one_too_large_does_not_begin(
    kb: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "PIECE_SECONDS", 0.0)
    monkeypatch.setattr(in_pieces, "GAP_SECONDS", 0.0)
    monkeypatch.setattr(alice._database, "allowance", Allowance(memories=20))
    with pytest.raises(LimitReached, match="24 more do not fit"):
        alice.import_(FILES["memories"])
    assert not alice.ledger()
    monkeypatch.undo()
    monkeypatch.setattr(importing, "PIECE_SECONDS", 0.0)
    monkeypatch.setattr(in_pieces, "GAP_SECONDS", 0.0)

    def break_off(done: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    incoming = importing.read_for(alice, "\n".join(FILES["memories"]).encode()).incoming
    with pytest.raises(KeyboardInterrupt):
        importing.import_incoming(alice, incoming, progress=break_off)
    assert alice.list().total == 0
    assert alice.loads()[0].undone_at
    assert alice.verify().ok


def test_a_load_that_was_cut_off_is_taken_back_or_completed(alice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "PIECE_SECONDS", 0.0)
    monkeypatch.setattr(in_pieces, "GAP_SECONDS", 0.0)
    monkeypatch.setattr(importing, "take_back_unfinished", lambda *_: None)  # nobody is left to do it after a kill
    monkeypatch.setattr(importing.time, "sleep", _killed_at(9))
    with pytest.raises(SystemExit):
        alice.import_(FILES["chats"])
    (load,) = alice.loads()
    assert not load.whole
    left = 12 - sum(one.turns == 4 for one in alice.threads.list(limit=100))
    monkeypatch.undo()
    assert 0 < left < 12
    assert alice.import_(FILES["chats"]).chats == left
    assert {one.turns for one in alice.threads.list(limit=100)} == {4}
    alice.take_back(load.nth)
    assert len(alice.threads.list(limit=100)) == left
    assert alice.verify().ok


def _killed_at(piece: int) -> Any:
    seen = []

    def sleep(_: float) -> None:
        seen.append(1)
        if len(seen) == piece:
            raise SystemExit

    return sleep


def _export(book: Any) -> list[str]:
    out = io.StringIO()
    book.export(out)
    return out.getvalue().splitlines()
