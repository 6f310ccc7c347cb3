"""A large restore: proved before anything is locked, whole or not at all, and its words behind it, in pieces."""

import io
from typing import Any

import pytest

from keepbook import KeepbookError
from keepbook.book.ground import due, in_pieces
from keepbook.book.recall import rebuild
from keepbook.book.upkeep import importing, transfer
from keepbook.book.upkeep.hidden import hidden_book
from keepbook.errors import Conflict


@pytest.fixture
def file(alice: Any) -> list[str]:
    """An export of a book that has something of everything that is searched."""
    for nth in range(4):
        alice.remember(f"Otters live by river {nth}", tags=["animal"], force=True)
    alice.update(alice.list().items[0].id, "Otters moved away")
    alice.forget(alice.list().items[1].id)
    alice.thread("one").add("user", "I saw otters today")
    alice.thread("two").add("assistant", "Otters sleep now")
    return exported(alice)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if any file were large, and each step a piece."""
    monkeypatch.setattr(transfer, "SMALL_LINES", 0)
    monkeypatch.setattr(hidden_book, "PIECE_SECONDS", 0.0)


def exported(book: Any) -> list[str]:
    there = io.StringIO()
    book.export(there)
    return there.getvalue().splitlines(keepends=True)


def reminders(kb: Any, owner: str) -> list[str]:
    with kb._database.read(owner) as tx:
        return due.reminders(tx, due.INDEX)


@pytest.mark.usefixtures("large")
def test_others_write_between_the_pieces_and_all_is_found(
    kb: Any, file: list[str], engine_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob, carol = kb.book("bob"), kb.book("carol")
    waits: list[int] = []
    shown: list[object] = []

    def wait(_: object) -> None:
        waits.append(bob.remember(f"Bob's turn came, {len(waits)}", force=True).event)
        shown.append(seen(carol))

    monkeypatch.setattr(in_pieces.Gaps, "wait", wait)
    assert carol.import_(file).memories == 4
    assert shown[-3:] == [3, 3, 3]  # then come the words: one piece of memories, and one of each chat
    assert set(shown[:-3]) == ({"busy"} if engine_name == "sqlite" else set())
    assert (len(shown) > 10) == (engine_name == "sqlite")
    assert exported(carol) == file
    assert len(carol.recall("otters")) == 3
    assert len(carol.threads.search("otters")) == 2
    assert [one.content for one in carol.list(tags=["animal"]).items]
    assert reminders(kb, "carol") == []
    assert carol.index.rebuild() == 0
    assert carol.import_(file).memories == 0
    assert carol.verify().ok


def without_seals(lines: list[str]) -> list[str]:
    """The key of an installation is sealed anew."""
    return [line for line in lines if '"kind":"seal"' not in line and '"kind":"cover"' not in line][:-1]


def seen(book: Any) -> object:
    """How many memories a book shows, or why it shows none."""
    try:
        return book.list().total
    except KeepbookError as error:
        return error.code


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("nth", [1, 4, 12])
@pytest.mark.parametrize(("how", "has_settings"), [("raised", True), ("killed", True), ("killed", False)])
def test_who_is_ended_between_two_pieces_leaves_the_book_as_it_was(
    kb: Any, clock: Any, file: list[str], how: str, has_settings: bool, nth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Restored, the file makes the very book; before, it had a key of its own, and perhaps settings."""
    carol = kb.book("carol")
    if has_settings:
        carol.configure(zone="Europe/Oslo", preset="advisor")
    key = kb.tokens.create("carol").token
    before, preset = exported(carol), carol.preset().name

    class Ended(BaseException):
        pass

    def wait(gaps: Any) -> None:
        waits.append(gaps)
        if len(waits) == nth:
            raise Ended

    waits: list[object] = []
    with monkeypatch.context() as patched:
        patched.setattr(in_pieces.Gaps, "wait", wait)
        if how == "killed":
            patched.setattr(transfer, "abandon", lambda *_: None)
        with pytest.raises(Ended):
            carol.import_(file)
    if how == "killed":
        assert {seen(carol), seen(kb.book("carol", by="agent"))} == {"busy"}
        assert seen(kb.book("bob")) == 0
        assert kb.sweep().failed == []
        with pytest.raises(Conflict):
            carol.import_(file)
        clock.forward(minutes=2)
        assert kb.sweep().done["restore"] == 1
    assert without_seals(exported(carol)) == without_seals(before)
    assert carol.preset().name == preset
    assert kb.tokens.check(key).owner == "carol"
    assert carol.verify().ok
    assert carol.import_(file).memories == 4
    assert without_seals(exported(carol)) == without_seals(file)
    assert carol.verify().ok


@pytest.mark.usefixtures("large")
def test_what_is_proved_is_proved_while_nobody_waits(
    kb: Any, file: list[str], engine_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a file, where all wait for one; on a server nobody else waits, and it is proved in place."""
    held: list[bool] = []

    def watched(tx: Any) -> Any:
        held.append(kb._database.is_writing)
        return verify(tx)

    verify = transfer.verify
    monkeypatch.setattr(transfer, "verify", watched)
    kb.book("carol").import_(file)
    assert held == [engine_name == "postgresql"]


@pytest.mark.usefixtures("large")
def test_a_file_that_does_not_hold_never_takes_the_lock_and_leaves_nothing(kb: Any, file: list[str]) -> None:
    where = next(nth for nth, line in enumerate(file) if '"kind":"message"' in line)
    broken = [*file[:where], file[where].replace("otters", "badgers").replace("Otters", "Badgers"), *file[where + 1 :]]
    with pytest.raises(KeepbookError) as refused:
        kb.book("carol").import_(broken)
    assert refused.value.code == "altered"
    assert exported(kb.book("carol"))[1:-1] == []
    assert reminders(kb, "carol") == []


@pytest.mark.usefixtures("large")
def test_who_was_ended_before_the_words_has_the_whole_book_and_a_sweep_writes_them(
    kb: Any, file: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise Conflict("somebody else writes for long", code="busy")

    carol = kb.book("carol")
    with monkeypatch.context() as patched:
        patched.setattr(rebuild, "write_all_words", fails)
        assert carol.import_(file).memories == 4
    assert exported(carol) == file  # the reminder is no part of it
    assert reminders(kb, "carol") == [due.WHOLE]
    assert list(carol.recall("otters")) == []
    changed = carol.update(carol.list().items[0].id, "Otters came back")  # before its words are there
    assert kb.sweep().done["index"] == 1
    assert changed.id in [one.id for one in carol.recall("otters came back")]
    assert len(carol.threads.search("otters")) == 2
    assert carol.index.rebuild() == 0
    assert reminders(kb, "carol") == []
    assert carol.verify().ok


@pytest.mark.usefixtures("large")
def test_a_restore_in_a_transaction_of_the_program_is_part_of_it(kb: Any, file: list[str]) -> None:
    carol = kb.book("carol")

    def block() -> None:
        with carol.transaction():
            carol.import_(file)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        block()
    assert exported(carol)[1:-1] == []
    with carol.transaction():
        carol.import_(file)
    assert len(carol.recall("otters")) == 3
    assert importing.restore is transfer.restore
