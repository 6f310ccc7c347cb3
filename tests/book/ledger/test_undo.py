"""Undo: every write can be taken back exactly, as long as nothing newer touched the same thing; so can the undo."""

from datetime import timedelta
from itertools import count, pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepbook import Conflict, Invalid, KeepbookError, NotAllowed, NotFound
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes
from keepbook.book.memory.links import links_of
from keepbook.presets import load_preset

SAME = [
    *("id", "category", "subject", "scope", "content", "summary", "body", "source", "confidence", "score"),
    *("importance", "state", "valid_from", "valid_until", "created_at", "last_confirmed_at", "archived_reason"),
    *("archived_at", "thread_id", "turn_ids", "made_by", "reference_count"),
]
"""What an undo brings back. A copy of a version has its own number and instant of recording."""

_numbers = count()


def extract(kb: Any, owner: str, content: str, score: float = 0.8) -> Any:
    """Keep what the close of a chat found."""
    origin = Origin("extractor", "chat", "thread-1", source="extracted")
    with kb._database.write(owner) as tx:
        return changes.remember(
            tx, origin, load_preset("general"), changes.Statement(content, score=score, made_by="rules")
        )


def seen(book: Any, id: str) -> dict[str, Any]:
    memory = book.get(id)
    return {name: getattr(memory, name) for name in SAME} | {"links": tuple(link.id for link in memory.links)}


def everything(kb: Any, owner: str) -> tuple[list[dict[str, Any]], list[str]]:
    """All memories as `seen`, whatever their state, and the links that stand."""
    page = kb.book(owner).list(state="all", limit=1000)
    with kb._database.read(owner) as tx:
        standing = [link.id for link in links_of(tx)]
    return [{name: getattr(memory, name) for name in SAME} for memory in page], standing


# --- each kind of write


def forgotten(book: Any, id: str) -> None:
    book.forget(id, "user_corrected")


def deleted(book: Any, id: str) -> None:
    book.delete(id)


def forgotten_and_deleted(book: Any, id: str) -> None:
    book.forget(id)
    book.delete(id)


def untouched(book: Any, id: str) -> None:
    pass


KINDS = {
    # how the memory stands before, the write, its action in the ledger
    "change": (untouched, lambda book, id: book.update(id, "Lives in Bergen", body="", thread_id="c9", turn_ids=[1])),
    "correction": (untouched, lambda book, id: book.update(id, "Lives in Asker", correction=True, summary="Asker")),
    "dated change": (untouched, lambda book, id: book.update(id, "Lives in Rome", valid_from="2031")),
    "change of fields": (
        untouched,
        lambda book, id: book.update(id, "Lives in Oslo", category="context", subject="Home", importance=0.9),
    ),
    "forget": (untouched, lambda book, id: book.forget(id, "agent_forget")),
    "delete": (untouched, lambda book, id: book.delete(id)),
    "delete from the archive": (forgotten, lambda book, id: book.delete(id)),
    "restore from the archive": (forgotten, lambda book, id: book.restore(id)),
    "restore from the trash": (deleted, lambda book, id: book.restore(id)),
    "restore from the trash to the archive": (forgotten_and_deleted, lambda book, id: book.restore(id)),
    "confirm": (untouched, lambda book, id: book.confirm(id)),
    "confirm again": (lambda book, id: book.confirm(id), lambda book, id: book.confirm(id)),
    "demote": (untouched, lambda book, id: book.demote(id)),
    "promote": (lambda book, id: book.demote(id), lambda book, id: book.promote(id)),
    "link": (untouched, lambda book, id: book.link(id, "a cat", "relates_to")),
    "unlink": (
        lambda book, id: book.link(id, "a cat", "because_of"),
        lambda book, id: book.unlink(book.get(id).links[0].id),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("prepare", "write"), KINDS.values(), ids=KINDS)
def test_undo_brings_back_what_stood_before_and_undo_of_undo_redoes(alice: Any, prepare: Any, write: Any) -> None:
    alice.remember("Has a cat")
    id = alice.remember("Lives in Oslo", category="profile", subject="Flat", summary="Oslo", body="Third floor").id
    prepare(alice, id)
    before = seen(alice, id)
    event = write(alice, id).event
    after = seen(alice, id)
    assert after != before

    for expected in (before, after) * 3:
        taken_back = alice.undo(event)
        assert seen(alice, id) == expected
        entry = alice.ledger(limit=1)[0]
        assert (entry.event, entry.action, entry.undoes) == (taken_back.event, "undo", event)
        event = taken_back.event
    assert alice.verify().ok


def test_undo_of_remember_archives_and_redo_restores(alice: Any) -> None:
    written = alice.remember("Lives in Oslo")

    for _ in range(2):
        undone = alice.undo(written.event)
        assert (undone.id, undone.state, undone.archived_reason) == (written.id, "archived", "undone")
        assert not alice.list().total
        assert not alice.recall("Oslo")
        written = alice.undo(undone.event)
        assert (written.state, written.archived_reason, written.archived_at) == ("active", None, None)
        assert alice.recall("Oslo")
    assert alice.get(written.id).version == 1


def test_undo_of_an_update_writes_a_copy_that_names_what_it_copies(alice: Any) -> None:
    first = alice.remember("Lives in Oslo", summary="Oslo", body="Third floor", thread_id="c1", turn_ids=["u1"])
    update = alice.update(first.id, "Lives in Bergen", summary="Bergen")
    alice.undo(alice.undo(alice.undo(update.event).event).event)

    versions = alice.history(first.id)
    assert [version.content for version in versions] == [
        f"Lives in {city}" for city in ("Oslo", "Bergen") * 2 + ("Oslo",)
    ][:5]
    assert [version.restored_from for version in versions[:3]] == [None, None, 1]
    assert versions[3].restored_from == 2
    assert versions[4].restored_from in (1, 3)
    copied = ("content", "summary", "body", "source", "score", "thread_id", "turn_ids", "valid_from", "valid_until")
    assert all(getattr(versions[2], name) == getattr(versions[0], name) for name in copied)
    for older, newer in pairwise(versions):
        assert older.retired_at == newer.recorded_at > older.recorded_at


def test_a_persons_repeat_of_an_automatic_memory_can_be_undone(kb: Any, alice: Any) -> None:
    id = extract(kb, "alice", "Plays the cello").id
    before = seen(alice, id)
    repeat = alice.remember("plays the cello")

    alice.undo(repeat.event)
    assert seen(alice, id) == before


# --- when it is refused


OTHERS = {
    "update": lambda book, id: book.update(id, "Lives in Tromsø"),
    "confirm": lambda book, id: book.confirm(id),
    "demote": lambda book, id: book.demote(id),
    "forget": lambda book, id: book.forget(id),
    "delete": lambda book, id: book.delete(id),
}


@pytest.mark.parametrize(("action", "newer"), OTHERS.items(), ids=OTHERS)
def test_a_newer_entry_is_in_the_way_and_named(alice: Any, action: str, newer: Any) -> None:
    id = alice.remember("Lives in Oslo").id
    update = alice.update(id, "Lives in Bergen")
    blocking = newer(alice, id)
    before = seen(alice, id)

    with pytest.raises(Conflict, match=rf"\b{blocking.event}\b.*{action}") as refused:
        alice.undo(update.event)
    assert refused.value.details["by"] == blocking.event
    assert seen(alice, id) == before
    alice.undo(blocking.event)


def test_what_was_taken_back_is_in_the_way_of_nothing_older(alice: Any) -> None:
    made = alice.remember("Likes chess")
    changed = alice.update(made.id, "Likes go")
    forgotten = alice.delete(made.id)
    again = alice.undo(alice.undo(alice.undo(forgotten.event).event).event)
    assert alice.undo(changed.event).content == "Likes chess"
    with pytest.raises(Conflict, match=r"entry 7 \(undo\) touched the same memory .* undo entry 7"):
        alice.undo(again.event)
    with pytest.raises(Conflict, match=r"entry 7 undid it") as undone:
        alice.undo(changed.event)
    alice.undo(undone.value.details["by"])
    assert [alice.undo(event).state for event in (changed.event, made.event)] == ["active", "archived"]
    with alice.transaction():
        one, other = alice.remember("Sails"), alice.remember("Rows")
        link = alice.link(one.id, other.id, "related_to")
        alice.undo(alice.unlink(link.id).event)
    alice.undo(link.event)
    assert alice.verify().ok


def test_what_is_undone_cannot_be_undone_twice(alice: Any) -> None:
    update = alice.update(alice.remember("Lives in Oslo").id, "Lives in Bergen")
    undone = alice.undo(update.event)

    with pytest.raises(Conflict, match=rf"\b{undone.event}\b") as refused:
        alice.undo(update.event)
    assert refused.value.details["by"] == undone.event


def test_what_other_memories_and_injections_do_is_never_in_the_way(alice: Any) -> None:
    id = alice.remember("Lives in Oslo").id
    update = alice.update(id, "Lives in Bergen")
    alice.update(alice.remember("Has a cat").id, "Has two cats")
    for session in ("chat-1", "chat-2"):
        assert "Bergen" in alice.inject(session)

    assert alice.undo(update.event).content == "Lives in Oslo"
    assert alice.get(id).reference_count == 2


def test_an_entry_that_does_not_exist_is_not_found(kb: Any, alice: Any) -> None:
    alice.remember("Lives in Oslo")
    with kb.book("bob").transaction():
        for number in range(3):
            kb.book("bob").remember(f"Bob's fact {number}")

    for event in (0, -1, 3, 99, 10**12, 10**40):  # the third is bob's
        with pytest.raises(NotFound):
            alice.undo(event)
    for wrong in (True, "1", None, 1.0):
        with pytest.raises(Invalid):
            alice.undo(wrong)


def test_nothing_of_what_was_deleted_for_ever_can_be_undone(alice: Any) -> None:
    kept = alice.remember("Has a cat")
    first = alice.remember("Lives in Oslo")
    update = alice.update(first.id, "Lives in Bergen")
    link = alice.link(kept.id, first.id, "relates_to")
    removed = alice.unlink(link.id)
    alice.delete(first.id, forever=True)
    purge = alice.ledger(limit=1)[0].event

    for event in (first.event, update.event, link.event, removed.event, purge):
        with pytest.raises(Conflict):
            alice.undo(event)
    assert alice.undo(kept.event).state == "archived"
    assert alice.verify().ok


# --- whose word counts


def test_a_person_may_undo_back_to_an_automatic_memory_and_an_agent_may_not(kb: Any, alice: Any) -> None:
    found = extract(kb, "alice", "Seems to like jazz", 0.85)
    overwritten = alice.update(found.id, "Hates jazz")
    agent = kb.book("alice", by="agent")
    before = seen(alice, found.id)

    for refused in (agent, alice.acting(actor="extractor", source="extracted"), alice.acting(actor="job")):
        with pytest.raises(NotAllowed):
            refused.undo(overwritten.event)
    assert seen(alice, found.id) == before
    restored = alice.undo(overwritten.event)
    assert (restored.content, restored.source, restored.score) == ("Seems to like jazz", "extracted", 0.85)
    assert (restored.confidence, restored.made_by, restored.thread_id) == ("inferred", "rules", "thread-1")
    assert alice.get(found.id).versions[-1].restored_from == 1


def test_an_agent_may_undo_what_software_did_to_its_own_reading(kb: Any, alice: Any) -> None:
    agent = kb.book("alice", by="agent")
    id = agent.remember("Seems to like jazz", confidence="inferred").id
    update = agent.update(id, "Seems to love jazz", confidence="inferred")

    assert agent.undo(update.event).content == "Seems to like jazz"
    with pytest.raises(NotAllowed, match="only they take it back"):
        agent.undo(alice.remember("Has a cat").event)


def test_undo_of_a_confirmation_gives_the_memory_back_to_software(kb: Any, alice: Any) -> None:
    id = extract(kb, "alice", "Seems to like jazz").id
    confirmed = alice.confirm(id)
    automatic = alice.acting(actor="extractor", source="extracted")

    with pytest.raises(NotAllowed):
        automatic.forget(id)
    alice.undo(confirmed.event)
    assert automatic.forget(id).state == "archived"


def test_automation_may_not_undo_a_persons_writes(alice: Any) -> None:
    written = alice.remember("Votes green")
    automatic = alice.acting(actor="extractor", source="extracted")

    with pytest.raises(NotAllowed):
        automatic.undo(written.event)
    assert alice.get(written.id).state == "active"


# --- links


def test_undo_of_a_link_is_undisturbed_by_writes_to_its_ends(alice: Any) -> None:
    one, other = alice.remember("Has a cat"), alice.remember("Lives in Oslo")
    link = alice.link(one.id, other.id, "because_of")
    alice.update(one.id, "Has two cats")
    alice.forget(other.id)

    undone = alice.undo(link.event)
    alice.restore(other.id)
    assert alice.get(one.id).links == ()
    alice.undo(undone.event)
    assert [(kept.id, kept.relation) for kept in alice.get(one.id).links] == [(link.id, "because_of")]


def test_a_link_made_anew_is_in_the_way_of_bringing_the_old_one_back(alice: Any) -> None:
    one, other = alice.remember("Has a cat"), alice.remember("Lives in Oslo")
    first = alice.link(one.id, other.id, "because_of")
    removed = alice.unlink(first.id)
    anew = alice.link(one.id, other.id, "because_of")

    with pytest.raises(Conflict):
        alice.undo(removed.event)
    assert [link.id for link in alice.get(one.id).links] == [anew.id]
    assert alice.verify().ok


# --- time


def test_undo_works_while_the_clock_runs_backwards(alice: Any, clock: Any) -> None:
    first = alice.remember("Lives in Oslo")
    clock.forward(days=-10)
    update = alice.update(first.id, "Lives in Bergen")
    clock.forward(days=-10)
    undone = alice.undo(update.event)
    clock.forward(days=-10)
    redone = alice.undo(undone.event)

    times = [version.recorded_at for version in alice.history(first.id)]
    assert times == sorted(set(times))
    assert redone.content == "Lives in Bergen"
    contents = [[memory.content for memory in alice.as_of(known=at, valid=at + timedelta(days=1))] for at in times]
    assert contents == [["Lives in Oslo"], ["Lives in Bergen"]] * 2
    assert alice.verify().ok


def test_undo_in_the_same_transaction(alice: Any) -> None:
    id = alice.remember("Lives in Oslo").id
    with alice.transaction():
        update = alice.update(id, "Lives in Bergen")
        alice.undo(update.event)

    assert [version.content for version in alice.history(id)] == ["Lives in Oslo", "Lives in Bergen", "Lives in Oslo"]


# --- any write in any book

steps = st.lists(
    st.tuples(
        st.sampled_from(
            [
                *("remember", "extract", "update", "correct", "forget", "delete", "restore", "confirm"),
                *("promote", "demote", "link", "unlink", "inject", "undo"),
            ]
        ),
        st.integers(0, 5),
        st.integers(0, 5),
    ),
    min_size=4,
    max_size=14,
)


def take(kb: Any, book: Any, name: str, one: int, other: int) -> Any:
    """One step of a random walk; what the book refuses is no step."""
    ids = [memory.id for memory in book.list(state="all", limit=1000)]
    fresh = next(_numbers)
    if not ids or name == "remember":
        confidence = ("asserted", "inferred")[other % 2]
        return book.remember(f"Said fact {fresh}", confidence=confidence, valid_from=("2020", None)[one % 2])
    id = ids[one % len(ids)]
    if name == "extract":
        return extract(kb, book.owner, f"Found fact {fresh}")
    if name in ("update", "correct"):
        until = "2040" if other == 5 else None
        return book.update(id, f"Told fact {fresh}", correction=name == "correct", valid_until=until)
    if name == "link":
        return book.link(id, ids[other % len(ids)], ("relates_to", "because_of")[other % 2])
    if name == "unlink":
        return book.unlink(book.get(id).links[0].id) if book.get(id).links else None
    if name == "undo":
        return book.undo(1 + other)
    if name == "inject":
        book.inject(f"session {fresh}")
        return None
    return getattr(book, name)(id)


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_any_write_in_any_book_can_be_undone_and_redone_at_once(kb: Any, walk: list[tuple[str, int, int]]) -> None:
    book = kb.book(f"walker {next(_numbers)}")
    for step in walk:
        before = everything(kb, book.owner)
        try:
            written = take(kb, book, *step)
        except KeepbookError:
            assert everything(kb, book.owner) == before
            continue
        if written is None or written.event is None:
            continue
        after = everything(kb, book.owner)
        undone = book.undo(written.event)
        if len(after[0]) > len(before[0]):  # a new memory: it goes to the archive, all else is as it was
            back = everything(kb, book.owner)
            assert (back[0][:-1], back[1]) == before
            assert (back[0][-1]["state"], back[0][-1]["archived_reason"]) == ("archived", "undone")
        else:
            assert everything(kb, book.owner) == before
        book.undo(undone.event)
        assert everything(kb, book.owner) == after
    assert book.verify().ok


# --- no twins


def test_restoring_what_stands_already_answers_that_memory(alice: Any) -> None:
    old = alice.remember("Lives in Oslo", category="profile")
    alice.forget(old.id)
    new = alice.remember("lives in Oslo", category="profile")
    entries = len(alice.ledger(limit=None))

    answer = alice.restore(old.id)
    assert (answer.id, answer.unchanged, answer.event) == (new.id, True, None)
    refuse_undo(alice, 2, new.id)
    assert len(alice.ledger(limit=None)) == entries
    assert [memory.id for memory in alice.list()] == [new.id]
    assert alice.verify().ok


def refuse_undo(book: Any, event: int, named: str) -> None:
    """Undo says where the text stands now, and does nothing."""
    before = [(one.id, one.content, one.version) for one in book.list()]
    with pytest.raises(Conflict, match=named) as refused:
        book.undo(event)
    assert (refused.value.code, refused.value.details["memory"]) == ("stands_elsewhere", named)
    assert [(one.id, one.content, one.version) for one in book.list()] == before


def test_an_update_whose_old_text_stands_elsewhere_is_not_undone(alice: Any) -> None:
    changed = alice.remember("Plays the cello")
    event = alice.update(changed.id, "Plays the viola").event
    other = alice.remember("Plays the cello")
    refuse_undo(alice, event, other.id)
    alice.forget(other.id)
    assert alice.undo(event).content == "Plays the cello"
    assert alice.verify().ok


def test_redo_makes_no_twin(alice: Any) -> None:
    first = alice.remember("Plays the cello")
    undone = alice.undo(first.event)
    again = alice.remember("Plays the cello")

    refuse_undo(alice, undone.event, again.id)
    assert [memory.id for memory in alice.list()] == [again.id]


def test_from_the_trash_comes_no_twin(alice: Any) -> None:
    old = alice.remember("Plays the cello")
    alice.delete(old.id)
    new = alice.remember("Plays the cello")
    answer = alice.restore(old.id)
    assert (answer.id, answer.unchanged) == (new.id, True)
    other = alice.remember("Plays chess")
    alice.forget(other.id)
    assert alice.restore(other.id).unchanged is False
