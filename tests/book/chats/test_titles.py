"""Chats found by their titles."""

from typing import Any

import pytest

from keepbook.book.chats.titles import find_by_title, title_fits


@pytest.mark.parametrize(
    ("title", "asked", "fits"),
    [
        ("A present for Kari", ["present"], True),
        ("A present for Kari", ["kar"], True),  # while it is typed
        ("Presents", ["present"], True),
        ("A present for Kari", ["present", "tor"], False),
        ("Cabin at Easter", ["abin"], False),
    ],
)
def test_a_title_fits_by_the_forms_and_beginnings_of_its_words(title: str, asked: list[str], fits: bool) -> None:
    assert title_fits(title, asked) == fits


def test_chats_are_found_by_title_the_last_touched_first(alice: Any, clock: Any) -> None:
    def titled(title: str, **started: Any) -> str:
        clock.pass_time(minutes=1) if hasattr(clock, "pass_time") else None
        chat = alice.threads.start(**started)
        chat.add("user", "Hello")
        alice.threads.rename(chat.id, title)
        return str(chat.id)

    first, last = titled("A present for Kari"), titled("Presents at Easter")
    hidden, gone = titled("Present in secret", incognito=True), titled("Presents for nobody")
    alice.threads.delete(gone)
    alice.threads.start()  # nothing is said in it yet
    found = find_by_title(alice, "presents", 10)
    assert {chat.id for chat in found.chats} == {first, last}
    assert hidden not in {chat.id for chat in found.chats}
    assert found.looked_through == 2
    assert [chat.id for chat in find_by_title(alice, "kari present", 1).chats] == [first]
    assert find_by_title(alice, "", 10).chats == []
