"""A list is searched by words and beginnings of words, and what the index brings is what reading every text brings."""

from typing import Any

import pytest

from keepbook.book.text.indexes import beginnings
from keepbook.book.text.indexes.beginnings import begins_a_word

TEXTS = (
    "Moved to Oslo in May", "The boat is called Hopper", "Hoping for happiness and flies", "Owes 12,300 to O'Neil",
    "Rent of 123 euros for the myth club", "A long-term plan with abilities", "Lives in Oslofjord", "住在东京的公寓里",
    "Müller's naïve brother", "My boat leaks", "It is the one", "Runs at 12:30 on 1230 street", "Dyes and dies, dying",
)  # fmt: skip
PIECES = (
    "oslo", "OSLO in m", "oslof", "slo", "hop", "hopi", "happi", "happine", "abilit", "fli", "flies", "12", "123",
    "1230", "30", "neil", "o'n", "term", "long-t", "东京", "京", "müll", "my boat", "the", "th", "it is", "boat",
    "12,3", "?", "(", "naïve bro", "runs at 12:3", "nothing of it",
)  # fmt: skip


def test_the_index_brings_what_reading_every_text_brings(alice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in TEXTS:
        alice.remember(text, force=True)
    alice.remember(
        "Somebody's sister", subject="Oslo Hansen", summary="happily married", body="hops at 123", force=True
    )
    gone = alice.remember("Oslo was sold").id
    alice.forget(gone)
    by_index = {piece: [one.id for one in alice.list(q=piece)] for piece in PIECES}
    assert gone in [one.id for one in alice.list(q="oslo", state="all")]
    assert gone not in by_index["oslo"]
    asked: list[str] = []
    by_itself = beginnings._ids_of_word
    monkeypatch.setattr(beginnings, "_ids_of_word", lambda tx, word: asked.append(word) or by_itself(tx, word))
    assert len(alice.list(q="happi")) == 2
    assert asked == ["happi"], "the index is asked"
    monkeypatch.setattr(beginnings, "FEW", -1)
    assert by_index == {piece: [one.id for one in alice.list(q=piece)] for piece in PIECES}
    assert by_index["slo"] == by_index["neil"] == []
    assert len(by_index["oslo"]) == 3
    assert all(by_index[piece] for piece in ("hopi", "happine", "abilit", "京", "my boat", "th", "runs at 12:3"))


def test_what_is_found_by_its_beginning_comes_page_by_page(alice: Any) -> None:
    made = [alice.remember(f"Ferry number {nth}", force=True).id for nth in range(5)]
    first = alice.list(q="ferr", limit=2)
    assert (first.total, [one.id for one in first]) == (5, made[:2])
    assert [one.id for one in alice.list(q="ferr", limit=2, cursor=first.next)] == made[2:4]


@pytest.mark.parametrize(
    ("text", "piece", "found"),
    [("a boat", "boat", True), ("a lifeboat", "boat", False), ("a lifeboat, a boat", "boat", True), ("x", "y", False)],
)
def test_a_piece_begins_a_word_or_is_not_found(text: str, piece: str, found: bool) -> None:
    assert begins_a_word(text, piece) is found
