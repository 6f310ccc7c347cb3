"""A clock that cannot be right writes nothing: one write from 2099 would move every later entry there."""

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from keepbook import Keepbook
from keepbook.book.ground import system_clock
from keepbook.errors import Conflict, Invalid


class Machine:
    """The machine under the program: what its clock says is set here."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def now(self, zone: Any) -> datetime:
        return datetime.now(zone) + self.ahead


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    monkeypatch.setattr(system_clock, "datetime", made)
    return made


@pytest.fixture
def by_the_machine(book_url: str) -> Iterator[Any]:
    with Keepbook(book_url, embedder="none") as kb:
        yield kb


def refusal(write: Callable[[], Any]) -> str:
    with pytest.raises(Conflict) as refused:
        write()
    assert refused.value.code == "clock"
    return refused.value.message


@pytest.mark.parametrize("days", [2, 30, 399])
def test_a_book_that_rested_goes_on(kb: Any, clock: Any, days: int) -> None:
    book = kb.book("alice")
    book.remember("Lives in Oslo")
    clock.forward(days=days)
    assert book.remember("Has a cat").event == 2


def test_a_jump_of_more_than_400_days_is_refused_and_reading_goes_on(kb: Any, clock: Any) -> None:
    book = kb.book("alice")
    book.remember("Lives in Oslo")
    clock.set("2099-01-01T00:00:00Z")
    said = refusal(lambda: book.remember("Has a cat"))
    assert "2099-01-01" in said
    assert "2026-03-01" in said
    assert "keepbook db accept-clock" in said
    refusal(lambda: book.thread("s1").add("user", "Hello there"))
    refusal(lambda: book.inject("s2"))
    assert [one.content for one in book.recall("Oslo")] == ["Lives in Oslo"]
    assert "Oslo" in book.block()
    assert book.verify().ok
    assert len(book.list().items) == 1
    clock.set("2026-03-02T00:00:00Z")
    assert book.remember("Has a cat").created_at.year == 2026


def test_chats_alone_are_no_rest(kb: Any, clock: Any) -> None:
    """What the book covers counts as well as its entries."""
    book = kb.book("alice")
    book.remember("Lives in Oslo")
    for _ in range(3):
        clock.forward(days=300)
        book.thread("s1").add("user", "Hello there")
    book.remember("Has a cat")


def test_the_operators_word_lets_it_through_once(kb: Any, clock: Any) -> None:
    book, other = kb.book("alice"), kb.book("bob")
    book.remember("Lives in Oslo")
    other.remember("Lives in Rome")
    assert kb.accept_clock("alice") is None  # nothing is wrong: nothing is let through later
    clock.forward(days=500)
    refusal(lambda: book.remember("Has a cat"))
    assert "500 days" in str(kb.accept_clock("alice"))
    book.remember("Has a cat")
    refusal(lambda: other.remember("Has a dog"))
    clock.forward(days=500)
    refusal(lambda: book.remember("Has a dog"))
    assert kb.accept_clock("alice") is not None
    clock.forward(days=2)  # it was said of the clock as it stood
    refusal(lambda: book.remember("Has a dog"))
    assert book.verify().ok


def test_a_write_that_fails_uses_nothing_up(kb: Any, clock: Any) -> None:
    book = kb.book("alice")
    book.remember("Lives in Oslo")
    clock.forward(days=500)
    kb.accept_clock("alice")
    twins = [{"content": "Has a cat"}, {"content": ""}]
    with pytest.raises(Invalid):
        _remember_all(book, twins)
    book.remember("Has a cat")


def _remember_all(book: Any, said: list[dict[str, str]]) -> None:
    with book.transaction() as inside:
        for one in said:
            inside.remember(**one)


def test_the_year_9999_is_a_refusal(kb: Any, clock: Any) -> None:
    book = kb.book("alice")
    clock.set("9999-12-31T23:59:50Z")
    assert "9999" in refusal(lambda: book.remember("Lives in Oslo"))
    refusal(lambda: kb.accept_clock("alice"))


def test_before_the_build_the_machines_clock_is_wrong(
    by_the_machine: Any, kb: Any, clock: Any, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system_clock, "build_day", lambda: datetime.now(UTC).date() - timedelta(days=3))
    book = by_the_machine.book("alice")
    book.remember("Lives in Oslo")
    machine.ahead = timedelta(minutes=-59)
    book.remember("Has a cat")
    machine.ahead = timedelta(days=-5)
    assert "built" in refusal(lambda: book.remember("Has a dog"))
    by_the_machine.accept_clock("alice")
    book.remember("Has a dog")
    refusal(lambda: book.remember("Has a horse"))
    clock.set("2011-01-01T00:00:00Z")
    kb.book("bob").remember("A clock that the program passes is its own affair")


def test_a_wheel_has_its_build_day_and_a_checkout_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert system_clock.build_day() is None
    (tmp_path / "build_day.txt").write_text("2026-03-01\n")
    monkeypatch.setattr(system_clock, "BUILD_DAY", tmp_path / "build_day.txt")
    assert system_clock.build_day.__wrapped__() == date(2026, 3, 1)


def test_the_servers_clock_counts(engine_name: str, by_the_machine: Any, machine: Machine) -> None:
    book = by_the_machine.book("alice")
    book.remember("Lives in Oslo")
    for ahead in (timedelta(minutes=50), timedelta(minutes=-50)):
        machine.ahead = ahead
        book.remember(f"Has a cat, {ahead}")
    for ahead in (timedelta(hours=2), timedelta(hours=-2)):
        machine.ahead = ahead
        if engine_name == "postgresql":
            assert "server" in refusal(lambda: book.remember("Has a dog"))
    if engine_name == "sqlite":
        book.remember("Has a dog")


def test_a_book_from_the_future_says_so(kb: Any, clock: Any, caplog: pytest.LogCaptureFixture) -> None:
    book = kb.book("alice")
    clock.set("2026-12-01T00:00:00Z")
    assert book.remember("Lives in Oslo").notice is None
    clock.set("2026-03-01T00:00:00Z")
    caplog.clear()
    for write in (lambda: book.remember("Has a cat"), lambda: book.update("cat", "Has a dog")):
        notice = write().notice
        assert "2026-12-01" in notice
        assert "future" in notice
        assert notice in caplog.text
        caplog.clear()
    book.thread("s1").add("user", "Hello there")
    assert "future" in caplog.text
    assert "future" in kb.clock_trouble("alice")
    clock.set("2026-12-02T00:00:00Z")
    assert kb.clock_trouble("alice") is None


@pytest.mark.parametrize("days", [60, 390])
def test_a_clock_that_jumps_ahead_empties_no_trash_at_one_look(kb: Any, alice: Any, clock: Any, days: int) -> None:
    """Within 400 days a clock may be right: nobody wrote for so long. What is found late stays for one more day."""
    chat = alice.thread("one")
    chat.add("user", "I live in Oslo")
    alice.threads.delete(chat.id)
    memory = alice.remember("Lives in Rome").id
    alice.delete(memory)
    clock.forward(days=days)
    assert not kb.sweep().done.keys() & {"purge", "purge_chat"}
    clock.forward(hours=23)
    assert not kb.sweep().done.keys() & {"purge", "purge_chat"}
    assert alice.restore(memory).state == "active"
    alice.threads.restore(chat.id)
    alice.delete(memory)
    alice.threads.delete(chat.id)
    clock.forward(days=31)  # swept in time, it goes at once
    done = kb.sweep().done
    assert (done["purge"], done["purge_chat"]) == (1, 1)


def test_what_no_sweep_found_in_time_goes_a_day_after_it_is_found(kb: Any, alice: Any, clock: Any) -> None:
    alice.delete(alice.remember("Lives in Rome").id)
    clock.forward(days=90)
    assert "purge" not in kb.sweep().done
    clock.forward(days=7)
    assert kb.sweep().done["purge"] == 1
    assert alice.list(state="trash").total == 0
