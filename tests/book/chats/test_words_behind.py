"""Long turns: nothing is read or cut while others wait, and their words come behind them, in pieces."""

import signal
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import text
from tests.conftest import Clock

from keepbook import Invalid, Keepbook, KeepbookError
from keepbook.book.chats import face
from keepbook.book.chats.face import NewTurn
from keepbook.book.ground import due, in_pieces
from keepbook.book.text.indexes import turn_index, words_behind
from keepbook.errors import Conflict
from keepbook.settings import Settings

LONG = [NewTurn("user", f"Turn {nth} tells of otters, rivers and weather {nth * 7}") for nth in range(12)]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a few letters were many."""
    for module in (words_behind, face):
        monkeypatch.setattr(module, "LETTERS_AT_ONCE", 60)
    monkeypatch.setattr(words_behind, "TERMS_IN_A_PIECE", 20)


@pytest.fixture
def gaps(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """What is done between two pieces, by whoever appends it here."""
    doing: list[Any] = []

    def wait(_: object) -> None:
        for do in doing:
            do()

    monkeypatch.setattr(in_pieces.Gaps, "wait", wait)
    return iter([doing])


def indexed(kb: Any, owner: str) -> int:
    with kb._database.read(owner) as tx:
        return int(tx.conn.execute(text("SELECT count(*) FROM turn_terms WHERE owner = :o"), {"o": owner}).scalar())


def words_behind_of(kb: Any, chat: str) -> bool:
    with kb._database.read("alice") as tx:
        return bool(words_behind._without_words(tx, chat, 0, 1))


def reminders(kb: Any, owner: str) -> list[str]:
    with kb._database.read(owner) as tx:
        return due.reminders(tx, due.INDEX)


@pytest.mark.usefixtures("short")
def test_others_write_between_the_pieces_and_all_is_found(kb: Any, alice: Any, gaps: Any) -> None:
    bob, written = kb.book("bob"), []
    next(gaps).append(lambda: written.append(bob.remember(f"Bob's turn came, {len(written)}", force=True)))
    alice.thread("long").add_all(LONG)
    assert len(written) > 3
    assert len(alice.threads.search("otters")) == len(LONG)
    assert reminders(kb, "alice") == []
    assert alice.index.rebuild() == 0
    assert alice.verify().ok


@pytest.mark.parametrize("long", [False, True])
def test_no_turn_is_read_while_anybody_waits(
    kb: Any, alice: Any, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, long: bool
) -> None:
    if long:
        request.getfixturevalue("short")
    read, own = [], turn_index.term_weights

    def term_weights(said: Any) -> Any:
        read.append(kb._database.is_writing)
        return own(said)

    monkeypatch.setattr(turn_index, "term_weights", term_weights)
    alice.thread("one").add_all(LONG)
    alice.thread("one").add("user", "And " + LONG[0].text)
    face.record_session(alice, "two", LONG)
    assert len(read) == 2 * len(LONG) + 1
    assert not any(read)


@pytest.mark.usefixtures("short")
def test_who_was_ended_before_is_helped_by_a_sweep(kb: Any, alice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise Conflict("somebody else writes for long", code="busy")

    with monkeypatch.context() as patched:
        patched.setattr(words_behind, "write_words", fails)
        chat = alice.thread("long")
        chat.add_all(LONG)
    assert len(chat.messages()) == len(LONG)  # they are kept, whatever their words met
    assert reminders(kb, "alice") == [chat.id]
    assert list(alice.threads.search("otters")) == []
    chat.add("user", "Newer: otters")  # whose words are there at once
    assert kb.sweep().done["index"] == 1
    assert len(alice.threads.search("otters")) == len(LONG) + 1
    assert reminders(kb, "alice") == []
    assert alice.index.rebuild() == 0


@pytest.mark.usefixtures("short")
def test_what_a_signal_handler_raises_behind_a_write_is_no_failure_of_it(kb: Any, alice: Any, gaps: Any) -> None:
    def handler(*_: object) -> None:
        raise TimeoutError("give up")

    doing, before = next(gaps), signal.signal(signal.SIGTERM, handler)
    doing.append(lambda: signal.raise_signal(signal.SIGTERM))
    try:
        chat = alice.thread("long")
        assert len(chat.add_all(LONG)) == len(LONG)
        assert reminders(kb, "alice") == [chat.id]
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # an order to end is heard, and says that it is kept
        with pytest.raises(KeyboardInterrupt) as ended:
            chat.add_all(LONG)
        assert "is kept" in ended.value.__notes__[0]
        assert len(chat.messages()) == 2 * len(LONG)
    finally:
        signal.signal(signal.SIGTERM, before)
    doing.clear()
    assert kb.sweep().done["index"] == 1
    assert alice.index.rebuild() == 0


@pytest.mark.usefixtures("short")
def test_turns_that_come_when_all_others_have_their_words_are_not_forgotten(
    kb: Any, alice: Any, gaps: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat, doing = alice.thread("long"), next(gaps)

    def store_and_end() -> None:
        if words_behind_of(kb, chat.id):
            return
        doing.clear()
        with monkeypatch.context() as patched:
            patched.setattr(words_behind, "write_words", lambda *_: None)  # as if killed before
            chat.add_all(LONG)

    doing.append(store_and_end)
    chat.add_all(LONG)
    assert not doing
    assert len(alice.threads.search("otters", limit=50)) == 2 * len(LONG)
    assert reminders(kb, "alice") == []
    assert alice.index.rebuild() == 0


@pytest.mark.usefixtures("short")
def test_a_sweep_helps_also_whose_clock_ran_ahead(
    kb: Any, alice: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock.forward(days=3)
    with monkeypatch.context() as patched:
        patched.setattr(words_behind, "write_words", lambda *_: None)
        alice.thread("long").add_all(LONG)
    clock.forward(days=-3)
    assert (kb.counted()["due", "index"], kb.counted()["due_seconds", "index"]) == (1, 0)
    swept = kb.sweep()
    assert (swept.done["index"], swept.failed) == (1, [])
    assert len(alice.threads.search("otters")) == len(LONG)
    assert reminders(kb, "alice") == []


@pytest.mark.usefixtures("short")
def test_a_chat_that_goes_meanwhile_leaves_no_words(kb: Any, alice: Any, gaps: Any) -> None:
    chat = alice.thread("long")
    doing = next(gaps)

    def remove() -> None:
        if indexed(kb, "alice"):
            doing.clear()
            alice.threads.delete(chat.id, forever=True)

    doing.append(remove)
    chat.add_all(LONG)
    assert indexed(kb, "alice") == 0
    assert reminders(kb, "alice") == []


@pytest.mark.usefixtures("short")
def test_of_what_was_taken_back_no_words_are_written(kb: Any, alice: Any) -> None:
    chat = alice.thread("long")
    with alice.transaction():
        with suppress(ZeroDivisionError), alice.transaction():
            chat.add_all(LONG)
            raise ZeroDivisionError
        chat.add("user", "Short and kept")
    assert reminders(kb, "alice") == []
    assert [one.text for one in chat.messages()] == ["Short and kept"]
    with alice.transaction():
        chat.add_all(LONG)
    assert len(alice.threads.search("otters")) == len(LONG)


@pytest.mark.parametrize(
    "turns",
    [
        [("user", "Hello"), ("nobody", "Hello")],
        [("user", "x" * (face.MOST_LETTERS // 6))] * 7,
        [("user", "x" * 300_000)],
        [("user", "")] * (face.MOST_TURNS + 1),
        [("user", "Hello"), ("user", "later", "2999-01-01")],
        [("user", "half \ud800 of a letter")],
    ],
)
def test_refused_turns_leave_no_chat_behind(kb: Any, alice: Any, turns: list[Any]) -> None:
    with pytest.raises(Invalid):
        face.record_session(alice, "new", [NewTurn(*one) for one in turns])
    assert list(alice.threads.list()) == []
    with pytest.raises(Invalid):
        alice.thread("there").add_all([NewTurn(*one) for one in turns])
    assert alice.thread("there").messages() == []


def test_what_a_program_notes_counts_as_letters(alice: Any) -> None:
    noted = NewTurn("user", "Hello", parts={"log": "x" * face.MOST_LETTERS})
    with pytest.raises(Invalid, match="letters at once"):
        alice.thread("there").add_all([noted])


def test_a_full_book_leaves_no_chat_behind(book_url: str) -> None:
    allowed = Settings(db=book_url, allow_bypass_login=True, max_bytes=50)
    with Keepbook(book_url, settings=allowed, embedder="none") as kb:
        book = kb.book("alice")
        with pytest.raises(KeepbookError) as refused:
            face.record_session(book, "new", [NewTurn("user", "Far too long for fifty letters, as it is " * 2)])
        assert refused.value.code == "limit_bytes"
        assert list(book.threads.list()) == []
