"""Links: typed relations between two memories of one book, shown while both ends are active, never dangling."""

from typing import Any

import pytest

from keepbook import Ambiguous, Conflict, Invalid, NotFound, to_json


@pytest.fixture
def pair(alice: Any) -> tuple[str, str]:
    return alice.remember("Sold the car").id, alice.remember("Rides a bicycle").id


def shown(book: Any, id: str) -> list[tuple[str, str, str]]:
    return [(link.from_id, link.relation, link.to_id) for link in book.get(id).links]


def test_a_link_is_shown_at_both_ends_with_its_direction(alice: Any, pair: tuple[str, str]) -> None:
    car, bicycle = pair
    for relation in ("relates_to", "contradicts", "supersedes", "because_of", "shortword"):
        alice.link(bicycle, car, relation)
    expected = [
        (bicycle, relation, car) for relation in ("relates_to", "contradicts", "supersedes", "because_of", "shortword")
    ]

    assert shown(alice, car) == shown(alice, bicycle) == expected
    alice.link(car, bicycle, "relates_to")
    assert shown(alice, car) == [*expected, (car, "relates_to", bicycle)]


def test_a_link_answers_with_its_event_and_shape(alice: Any, pair: tuple[str, str]) -> None:
    link = alice.link(*pair, "because_of")

    assert (link.from_id, link.to_id, link.relation) == (*pair, "because_of")
    assert alice.ledger(limit=1)[0].event == link.event
    written = to_json(link)
    assert written["created_at"].endswith("Z")
    assert {"id", "from_id", "to_id", "relation"} <= written.keys()
    assert {row["id"] for row in to_json(alice.get(pair[0]))["links"]} == {link.id}


def test_a_link_is_made_between_references(alice: Any, pair: tuple[str, str]) -> None:
    assert alice.link("the car", "a bicycle", "relates_to").from_id == pair[0]
    alice.remember("Washed the car")
    with pytest.raises(Ambiguous):
        alice.link("the car", "a bicycle", "because_of")
    with pytest.raises(NotFound):
        alice.link("the boat", "a bicycle", "because_of")


def test_the_same_link_again_is_one_link(alice: Any, pair: tuple[str, str]) -> None:
    first = alice.link(*pair, "because_of")
    entries = len(alice.ledger())
    again = alice.link(*pair, "because_of")

    assert (again.id, again.event) == (first.id, None)
    assert len(alice.ledger()) == entries
    assert len(shown(alice, pair[0])) == 1


def test_a_link_joins_two_different_memories_by_a_short_word(alice: Any, pair: tuple[str, str]) -> None:
    with pytest.raises(Invalid):
        alice.link(pair[0], pair[0], "relates_to")
    for relation in ("", "  ", "r" * 41, "a\x00b", "\ud800", None, 5):
        with pytest.raises(Invalid) as refused:
            alice.link(*pair, relation)
        assert refused.value.field == "relation"
    assert shown(alice, pair[0]) == []


def test_a_link_never_reaches_into_another_book(kb: Any, alice: Any, pair: tuple[str, str]) -> None:
    foreign = kb.book("bob").remember("Owns a boat").id
    link = alice.link(*pair, "because_of")

    for ends in ((pair[0], foreign), (foreign, pair[0])):
        with pytest.raises(NotFound):
            alice.link(*ends, "relates_to")
    with pytest.raises(NotFound):
        kb.book("bob").unlink(link.id)
    assert len(shown(alice, pair[0])) == 1


def test_what_is_unlinked_is_gone_at_both_ends_and_only_once(alice: Any, pair: tuple[str, str]) -> None:
    link = alice.link(*pair, "because_of")
    other = alice.link(*pair, "relates_to")
    removed = alice.unlink(link.id)

    assert removed.event == alice.ledger(limit=1)[0].event
    assert [kept.id for kept in alice.get(pair[0]).links] == [other.id]
    assert [kept.id for kept in alice.get(pair[1]).links] == [other.id]
    for id in (link.id, "zzzzzzzz"):
        with pytest.raises(NotFound):
            alice.unlink(id)
    assert alice.link(*pair, "because_of").id != link.id


@pytest.mark.parametrize("drop", ["forget", "delete"])
@pytest.mark.parametrize("end", [0, 1])
def test_a_link_waits_while_an_end_is_forgotten(alice: Any, pair: tuple[str, str], drop: str, end: int) -> None:
    link = alice.link(*pair, "because_of")
    getattr(alice, drop)(pair[end])
    assert shown(alice, pair[0]) == shown(alice, pair[1]) == []

    alice.restore(pair[end])
    assert [kept.id for kept in alice.get(pair[1 - end]).links] == [link.id]


def test_links_stay_with_a_memory_through_updates(alice: Any, pair: tuple[str, str]) -> None:
    alice.link(*pair, "because_of")
    alice.update(pair[0], "Sold both cars")
    alice.update(pair[0], "Gave both cars away", correction=True)

    assert shown(alice, pair[0]) == [(*pair[:1], "because_of", pair[1])]


@pytest.mark.parametrize("end", [0, 1])
def test_a_link_never_dangles(alice: Any, pair: tuple[str, str], end: int) -> None:
    alice.link(*pair, "because_of")
    alice.unlink(alice.link(*pair, "relates_to").id)
    alice.delete(pair[end], forever=True)

    assert shown(alice, pair[1 - end]) == []
    assert alice.verify().ok
    with pytest.raises(NotFound):
        alice.link(pair[1 - end], pair[end], "relates_to")


def test_what_is_forgotten_cannot_be_linked(alice: Any, pair: tuple[str, str]) -> None:
    alice.forget(pair[0])

    for ends in (pair, pair[::-1]):
        with pytest.raises(Conflict):
            alice.link(*ends, "relates_to")
