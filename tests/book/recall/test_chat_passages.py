"""What recall of chats brings: passages, within a room, the person's own first, and nothing that says nothing."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.embedding import meant

from keepbook import Invalid
from keepbook.book.recall.chats import LEAST_ROOM, LINE, TURNS
from keepbook.book.recall.query_terms import QueryTerm
from keepbook.book.recall.turns.beside import size_of
from keepbook.book.recall.turns.passage_search import PASSAGE, find_passage
from keepbook.book.recall.turns.selection import ChatCandidate, dropped_last, persons_half

MAY = datetime(2023, 5, 8, 13, 0, tzinfo=UTC)
FILLER = "The weather was mild and the road went on between the fields. "


def say(book: Any, session: str, *turns: tuple[str, str], at: datetime = MAY) -> None:
    with book.transaction():
        chat = book.thread(session)
        for role, text in turns:
            chat.add(role, text, at)


def test_a_long_turn_is_shown_by_the_passage_that_answers(alice: Any) -> None:
    long = FILLER * 60 + "The oboe was stolen from the rehearsal room. " + FILLER * 60
    say(alice, "one", ("user", long))

    hit = alice.recall_chats("who took the oboe?")[0]

    assert "The oboe was stolen" in hit.text
    assert len(hit.text) <= PASSAGE
    assert long[hit.start : hit.start + len(hit.text)] == hit.text
    assert hit.length == len(long)


def test_meaning_finds_the_passage_where_no_word_does(kb: Any) -> None:
    book = meant(kb)
    say(book, "one", ("user", FILLER * 40 + "We have a dog that sleeps all day long by the stove. " + FILLER * 40))
    book.reindex()

    assert "dog" in book.recall_chats("pet")[0].text


def test_a_passage_without_blanks_is_cut_around_its_words() -> None:
    text = "x" * 40_000 + " oboe " + "y" * 40_000

    passage = find_passage(text, 1000, [QueryTerm("obo", "obo", 1.0, 2.0)])

    assert passage.end - passage.start <= 1000
    assert "oboe" in text[passage.start : passage.end]


def test_as_much_is_brought_as_twenty_turns_would_fill(alice: Any) -> None:
    for nth in range(30):
        reply = f"About the choir {nth}: " + FILLER * 30
        say(alice, f"chat {nth}", ("user", f"The choir sang piece {nth}"), ("assistant", reply))

    hits = alice.recall_chats("choir")
    first = sorted(alice.recall_chats("choir", tokens=100_000), key=lambda hit: -hit.relevance)[:TURNS]

    assert sum(map(size_of, hits)) <= max(LEAST_ROOM, sum(min(hit.length, PASSAGE) + LINE for hit in first))
    assert sum(map(size_of, alice.recall_chats("choir", tokens=300))) <= 1200
    assert len(alice.recall_chats("choir", tokens=3000)) > len(hits)
    assert len(alice.recall_chats("choir", 3)) == 3
    assert 2 * sum(hit.role == "user" for hit in hits) >= len(hits)


def test_what_answers_little_is_left_out_and_not_filled_up(alice: Any) -> None:
    say(alice, "one", ("user", "The marathon training plan starts with hill repeats in Sheffield"))
    for nth in range(10):
        say(alice, f"other {nth}", ("user", f"I had a plan for lunch number {nth} and then it rained all afternoon"))

    hits = alice.recall_chats("marathon training plan hill repeats Sheffield")

    assert [hit.session for hit in hits] == ["one"]


def test_taking_note_takes_no_place_unless_it_answers(alice: Any) -> None:
    say(
        alice, "one",
        ("user", "I play the tuba in a brass band"), ("assistant", "That sounds wonderful, thanks for sharing!"),
        ("user", "Thank you so much!"), ("assistant", "Do you play the tuba every day?"), ("user", "Yes!"),
    )  # fmt: skip

    texts = [hit.text for hit in alice.recall_chats("tuba")]

    assert "Yes!" in texts
    assert not {"Thank you so much!", "That sounds wonderful, thanks for sharing!"} & set(texts)


def test_neighbours_come_on_request(alice: Any) -> None:
    say(alice, "one", ("user", "Any idea for dinner?"), ("assistant", "Ratatouille."), ("user", "No, we had that."))

    hit = alice.recall_chats("ratatouille", 1, around=1)[0]
    alone = alice.recall_chats("ratatouille", 1)[0]

    assert alone.around == ()
    assert {one.turn for one in (hit, *hit.around)} == {hit.turn, hit.turn + 1, hit.turn - 1} - {0, 4}


def test_time_and_order_are_asked_for(alice: Any) -> None:
    for nth in range(6):
        say(alice, f"chat {nth}", ("user", f"The kiln fired batch {nth}"), at=MAY + timedelta(days=nth))

    within = alice.recall_chats("kiln", since="2023-05-09", until="2023-05-12", order="time")

    assert [hit.text[-1] for hit in within] == ["1", "2", "3"]
    for wrong in ({"order": "best"}, {"since": "2023-05-09", "until": "2023-05-08"}, {"tokens": 0}, {"around": 11}):
        with pytest.raises(Invalid):
            alice.recall_chats("kiln", **wrong)


def test_a_stretch_of_time_is_searched_however_much_better_the_rest_answers(alice: Any) -> None:
    say(alice, "then", ("user", "We walked past a kiln and some other things on a long and rainy afternoon"))
    say(alice, "now", *[("user", f"The kiln, the kiln {nth}") for nth in range(300)], at=MAY + timedelta(days=30))

    assert [hit.session for hit in alice.recall_chats("kiln", until="2023-05-20")] == ["then"]


def test_spread_takes_something_of_every_chat(alice: Any) -> None:
    say(alice, "first", *[("user", f"The garden, the garden plan {nth}") for nth in range(8)])
    for nth in range(4):
        say(alice, f"chat {nth}", ("user", f"In the garden we planted row {nth}"), at=MAY + timedelta(days=1 + nth))

    assert len({hit.session for hit in alice.recall_chats("garden", 5, spread=True)}) == 5


def test_half_of_any_first_places_are_the_persons() -> None:
    found = [ChatCandidate(nth, 1.0 - nth / 10, nth in (4, 6, 7), "chat") for nth in range(8)]

    ordered = [one.is_persons for one in persons_half(found)]

    assert all(2 * sum(ordered[:many]) >= many for many in range(1, 7))
    assert ordered[6:] == [False, False]
    assert dropped_last([True, False, True]) == 2
    assert dropped_last([True, False, False, True]) == 2
    assert dropped_last([False, False]) == 1
