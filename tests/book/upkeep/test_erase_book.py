"""A whole book erased: at once for everybody, and its rows in pieces behind that, between which others write."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from keepbook import KeepbookError
from keepbook.book.ground import in_pieces
from keepbook.book.ground.in_pieces import nobody_stops
from keepbook.book.upkeep.hidden import erase_book, hidden_book
from keepbook.copies import back_up, prove


class Ended(BaseException):
    """As if the process ended here: what was committed stays, and nothing else is done."""


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hidden_book, "PIECE_SECONDS", 0.0)
    monkeypatch.setattr(erase_book, "FIRST_ROWS", 3)


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """What is done before each piece."""
    doing: list[Callable[[], object]] = []

    def wait(gaps: in_pieces.Gaps) -> None:
        gaps.go_on()
        for do in doing:
            do()

    monkeypatch.setattr(in_pieces.Gaps, "wait", wait)
    return doing


@pytest.fixture
def full(alice: Any) -> Any:
    """A book that has something of nearly everything."""
    for nth in range(8):
        alice.remember(f"Otters live by river {nth}", tags=["animal"], force=True)
    first, second = (one.id for one in alice.list(limit=2).items)
    alice.link(first, second, "because_of")
    alice.update(first, "Otters moved away")
    alice.delete(second, forever=True)
    alice.thread("one").add("user", "I saw otters today")
    alice.notes.write("Otters, again")
    alice.configure(zone="Europe/Oslo")
    alice.inject("a session")
    return alice


def seen(book: Any) -> object:
    """How many memories a book shows, or why it shows none."""
    try:
        return book.list().total
    except KeepbookError as error:
        return error.code


def rows_left(kb: Any, owner: str) -> dict[str, int]:
    with kb._database.write(owner, hidden=True) as tx:
        counted = {one: select(func.count()).select_from(one).where(one.c.owner == owner) for one in tx.tables.declared
                   if "owner" in one.c}  # fmt: skip
        return {one.name: number for one, query in counted.items() if (number := tx.conn.execute(query).scalar())}


def test_it_is_gone_for_everybody_at_once_and_others_write_meanwhile(
    kb: Any, full: Any, engine_name: str, between: list[Callable[[], object]]
) -> None:
    key, bob, shown = kb.tokens.create("alice").token, kb.book("bob"), []
    before = {name: number for name, number in rows_left(kb, "alice").items() if name not in ("owners", "tokens")}

    def look() -> None:
        bob.remember(f"Bob's turn came, {len(shown)}", force=True)
        shown.append({seen(full), seen(kb.book("alice", by="agent"))})
        assert "alice" not in kb.owners()
        assert kb.tokens.check(key) is None

    between.append(look)
    receipt = full.erase("alice")
    assert {name: number for name, number in receipt.counts.items() if number} == before
    assert shown == [{"busy"}] * len(shown)
    assert (len(shown) > 20) == (engine_name == "sqlite")
    assert rows_left(kb, "alice") == {}
    assert (full.list().total, full.verify().ok, bob.verify().ok) == (0, True, True)
    full.remember("Begins anew")
    assert full.list().total == 1


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("nth", "who"), [(1, "a sweep"), (9, "the person"), (20, "a sweep")])
def test_who_is_ended_between_two_pieces_leaves_no_book_and_others_go_on_with_it(
    kb: Any, clock: Any, full: Any, nth: int, who: str, between: list[Callable[[], object]]
) -> None:
    waits: list[object] = []

    def end() -> None:
        waits.append(None)
        if len(waits) == nth:
            raise Ended

    between.append(end)
    with pytest.raises(Ended):
        full.erase("alice")
    between.clear()
    assert {seen(full), seen(kb.book("alice", by="agent"))} == {"busy"}
    assert kb.sweep().done == {}  # it may be going on elsewhere
    assert seen(full) == "busy"
    assert rows_left(kb, "alice")
    clock.forward(minutes=2)
    if who == "a sweep":
        told = iter([False] * 3)
        kb.stop_when(lambda: next(told, True))
        kb.sweep()
        assert seen(full) == "busy"
        kb.stop_when(nobody_stops)
        clock.forward(minutes=2)
        swept = kb.sweep()
        assert (swept.done["erase"], swept.failed) == (1, [])
    else:
        full.erase("alice")
    assert rows_left(kb, "alice") == {}
    assert not kb._database.holds_removed()
    assert full.list().total == 0
    assert full.verify().ok


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_what_was_begun_by_a_clock_ahead_is_gone_on_with_by_the_right_one(
    kb: Any, clock: Any, full: Any, between: list[Callable[[], object]]
) -> None:
    def end() -> None:
        raise Ended

    between.append(end)
    clock.forward(days=30)
    with pytest.raises(Ended):
        full.erase("alice")
    between.clear()
    clock.forward(days=-30)
    assert seen(full) == "busy"
    assert kb.sweep().done["erase"] == 1
    assert seen(full) == 0


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_a_copy_made_meanwhile_is_proved_and_names_the_book(
    kb: Any, full: Any, book_url: str, tmp_path: Path, between: list[Callable[[], object]]
) -> None:
    kb.book("bob").remember("Likes boats")
    copy = tmp_path / "copy.db"

    def back_up_once() -> None:
        if not copy.exists():
            back_up(book_url, copy)

    between.append(back_up_once)
    full.erase("alice")
    proved = {one.owner: (one.ok, one.why) for one in prove(book_url, copy)}
    assert proved == {"alice": (True, "this book is being erased"), "bob": (True, None)}


def test_in_a_transaction_of_the_program_it_is_part_of_that(kb: Any, full: Any) -> None:
    def give_up() -> None:
        with full.transaction():
            full.erase("alice")
            raise Ended

    with pytest.raises(Ended):
        give_up()
    assert full.list().total == 7
    assert full.verify().ok
