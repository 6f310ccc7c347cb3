"""Chats that are deleted for good: gone for everybody at once, removed in pieces behind that."""

import io
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import text

from keepbook.book.chats import going
from keepbook.book.chats.face import NewTurn
from keepbook.book.ground import due, in_pieces
from keepbook.book.ground.in_pieces import nobody_stops
from keepbook.book.ground.when import stamp
from keepbook.book.memory.proposals import note_forgotten
from keepbook.errors import NotFound

TURNS = [NewTurn("user", f"Turn {nth} tells of otters, rivers and weather {nth * 7}") for nth in range(12)]
TABLES = ("threads", "messages", "turn_terms")


class Killed(BaseException):
    """As if the process ended here: what was committed stays, and nothing else is done."""


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """What is done between two small pieces."""
    doing: list[Callable[[], object]] = []

    def wait(_: object) -> None:
        for do in doing:
            do()

    monkeypatch.setattr(in_pieces.Gaps, "wait", wait)
    monkeypatch.setattr(going, "LETTERS_IN_A_PIECE", 150)
    return doing


def left(kb: Any) -> list[int]:
    """How many rows of alice's chats there are, and reminders."""
    with kb._database.read("alice") as tx:
        counted = [
            tx.conn.execute(text(f"SELECT count(*) FROM {table} WHERE owner = 'alice'")).scalar() for table in TABLES
        ]
        return [*counted, len(due.reminders(tx, due.PURGE_CHAT))]


def assert_gone(alice: Any, id: str) -> None:
    with pytest.raises(NotFound):
        alice.threads.get(id)
    with pytest.raises(NotFound):
        alice.threads.restore(id)
    assert [*alice.threads.list(), *alice.threads.list(trash=True)] == []
    assert list(alice.threads.search("otters")) == []
    assert list(alice.threads.recall("otters")) == []


def test_others_write_between_the_pieces_and_see_nothing_of_it(kb: Any, alice: Any, between: Any) -> None:
    bob, states = kb.book("bob"), []
    chat = alice.thread("long")
    chat.add_all(TURNS)
    note = alice.notes.bookmark(chat.id, 1)

    def look() -> None:
        bob.remember(f"Bob's turn came, {len(states)}", force=True)
        assert_gone(alice, chat.id)
        states.append(left(kb))
        if len(states) == 3:
            assert alice.verify().ok
            exported = io.StringIO()
            alice.export(exported)
            kb.book("carol").import_(exported.getvalue().splitlines())

    between.append(look)
    alice.threads.delete(chat.id, forever=True)
    between.clear()
    assert [one[1] for one in states][:4] == [12, 9, 6, 3]
    assert left(kb) == [0, 0, 0, 0]
    assert alice.notes.get(note.id).thread_id is None
    assert alice.verify().ok
    assert kb.sweep().done["purge_chat"] == 1
    assert kb.book("carol").verify().ok
    assert [one.id for one in kb.book("carol").threads.list(trash=True)] == []
    assert alice.thread("long").id != chat.id


@pytest.mark.parametrize("pieces", [0, 2, 4, 5])
def test_who_is_ended_between_two_pieces_leaves_the_rest_to_a_sweep(
    kb: Any, alice: Any, between: Any, pieces: int
) -> None:
    chat = alice.thread("long")
    chat.add_all(TURNS)
    countdown = iter(range(pieces))

    def end() -> None:
        if next(countdown, None) is None:
            raise Killed

    between.append(end)
    with pytest.raises(Killed):
        alice.threads.delete(chat.id, forever=True)
    between.clear()
    assert_gone(alice, chat.id)
    assert left(kb)[0] == 1
    assert alice.verify().ok
    swept = kb.sweep()
    assert (swept.done["purge_chat"], swept.failed) == (1, [])
    assert left(kb) == [0, 0, 0, 0]


def test_a_sweep_that_is_told_to_stop_ends_between_two_pieces(kb: Any, alice: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(going, "LETTERS_IN_A_PIECE", 150)
    chat = alice.thread("long")
    chat.add_all(TURNS)
    with kb._database.write("alice") as tx:  # as if its process had ended right after
        going.let_go(tx, chat.id)
    told = iter([False] * 3)
    kb.stop_when(lambda: next(told, True))
    assert kb.sweep().done == {}
    assert 0 < left(kb)[1] < len(TURNS)
    kb.stop_when(nobody_stops)
    assert kb.sweep().done["purge_chat"] == 1
    assert left(kb) == [0, 0, 0, 0]


def test_two_remove_it_at_once_and_a_chat_begun_meanwhile_stays(kb: Any, alice: Any, between: Any) -> None:
    chat = alice.thread("long")
    chat.add_all(TURNS)

    def again() -> None:
        between.clear()
        alice.thread("long").add("user", "Herons now")
        assert kb.sweep().done["purge_chat"] == 1

    between.append(again)
    alice.threads.delete(chat.id, forever=True)
    assert [one.text for one in alice.thread("long").messages()] == ["Herons now"]
    assert len(alice.threads.search("herons")) == 1
    assert alice.index.rebuild() == 0


def test_a_chat_that_is_not_deleted_after_all_stays_whole(kb: Any, alice: Any) -> None:
    chat = alice.thread("long")
    chat.add_all(TURNS)
    with suppress(ZeroDivisionError), alice.transaction():
        alice.threads.delete(chat.id, forever=True)
        assert_gone(alice, chat.id)
        raise ZeroDivisionError
    assert len(chat.messages()) == len(TURNS)
    assert len(alice.threads.search("otters")) == len(TURNS)


def test_no_offer_of_a_chat_outlives_it(kb: Any, alice: Any) -> None:
    chat = alice.thread("one")
    chat.add("user", "I collect zanthoquills.")
    chat.decline(chat.pencil()[0].key)
    with alice.writing() as (tx, _):
        note_forgotten(tx, stamp(tx.clock()), "my quuxly affair", chat.id, [1])
    assert [one.content for one in kb.book("alice", by="agent").proposals.list("accepted")] == []
    assert [one.content for one in alice.proposals.list("accepted")] == ["my quuxly affair"]
    alice.threads.delete(chat.id, forever=True)
    there = io.StringIO()
    alice.export(there)
    assert ("zanthoquill" in there.getvalue(), "quuxly" in there.getvalue()) == (False, False)
    assert alice.verify().ok
