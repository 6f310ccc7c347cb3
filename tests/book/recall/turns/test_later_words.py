"""What was said later in the words of the first hits is among what recall of chats brings."""

from datetime import UTC, datetime, timedelta
from typing import Any

from keepbook.book.recall.turns.beside import size_of
from keepbook.book.recall.turns.later_words import SHOWN

MAY = datetime(2023, 5, 8, 13, 0, tzinfo=UTC)
PASTED = "The minutes of a meeting of somebody else, word for word. " * 20


def tell_of_dentists(book: Any) -> None:
    """One statement answers the question; twenty others say its word; what changed says another."""
    book.thread("then").add("user", "My dentist at the harbour is Dr Halvorsen.", MAY)
    for nth in range(20):
        said = f"The dentist of child {nth} was kind and the waiting room had a new toy train in it"
        book.thread(f"child {nth}").add("user", said, MAY + timedelta(days=nth + 1))
    book.thread("before").add("user", "Dr Halvorsen treated my brother.", MAY - timedelta(days=9))
    news = f"{PASTED}\nHalvorsen retired, so my teeth are with Dr Rao.\n{PASTED}"
    book.thread("now").add("user", news, MAY + timedelta(days=60))
    book.thread("now").add("assistant", "Halvorsen retired? Rao is good.", MAY + timedelta(days=61))


def test_what_changed_later_is_found_by_the_words_of_what_it_changes(alice: Any) -> None:
    tell_of_dentists(alice)

    hits = alice.recall_chats("who is my dentist at the harbour?")

    later = [hit for hit in hits if hit.session == "now" and hit.role == "user"]
    assert [hit.text.startswith("Halvorsen retired") for hit in later] == [True]
    assert later[0].reasons == ("said later: dr, halvorsen",)
    assert len(later[0].text) <= SHOWN
    assert "before" not in {hit.session for hit in hits}
    assert [hit.relevance for hit in hits] == sorted((hit.relevance for hit in hits), reverse=True)


def test_it_takes_no_more_room_and_keeps_to_what_is_asked(alice: Any) -> None:
    tell_of_dentists(alice)
    asked = "who is the kind dentist at the harbour?"

    assert sum(map(size_of, alice.recall_chats(asked, tokens=300))) <= 1200
    until = alice.recall_chats(asked, until=MAY + timedelta(days=40))
    assert "now" not in {hit.session for hit in until}
    assert [hit.session for hit in alice.recall_chats(asked, 1)] == ["then"], "none makes way among few"
    assert len(alice.recall_chats(asked, 14)) <= 14


def test_what_was_forgotten_does_not_come_back_that_way(alice: Any) -> None:
    tell_of_dentists(alice)
    alice.choose(never=["teeth"])

    assert not any("retired" in hit.text for hit in alice.recall_chats("who is my dentist at the harbour?"))
