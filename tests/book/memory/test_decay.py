"""Decay: what software found fades and leaves the block unless it is confirmed; what a person said never does."""

from datetime import timedelta
from typing import Any

import pytest

from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes
from keepbook.presets import load_preset

PRESETS = ("general", "advisor", "assistant", "coach")


def extract(kb: Any, owner: str, content: str, score: float, **given: Any) -> Any:
    """Keep what the close of a chat found."""
    origin = Origin("extractor", "chat", "thread-1", source="extracted")
    with kb._database.write(owner) as tx:
        return changes.remember(
            tx, origin, load_preset("general"), changes.Statement(content, score=score, made_by="rules", **given)
        )


def in_block(book: Any, text: str) -> set[str]:
    return {preset for preset in PRESETS if text in book.block(preset=preset)}


@pytest.mark.parametrize(("score", "last"), [(0.8, 70), (0.9, 132)])
def test_an_extracted_memory_leaves_every_block_on_its_day_and_stays_recallable(
    kb: Any, alice: Any, clock: Any, score: float, last: int
) -> None:
    found = extract(kb, "alice", "Seems to like jazz", score)

    clock.set(found.recorded_at + timedelta(days=last))
    assert in_block(alice, "jazz") == set(PRESETS)
    assert alice.get(found.id).effective_score > 0.7
    clock.set(found.recorded_at + timedelta(days=last + 1))
    assert in_block(alice, "jazz") == set()
    faded = alice.get(found.id)
    assert (faded.score, faded.version, faded.state, faded.current) == (score, 1, "active", True)
    assert faded.effective_score < 0.7
    assert [hit.id for hit in alice.recall("jazz")] == [found.id]
    assert [memory.id for memory in alice.list()] == [found.id]
    assert len(alice.ledger()) == 1  # nothing was rewritten


def test_a_score_halves_in_a_year_from_recording_or_confirmation(kb: Any, alice: Any, clock: Any) -> None:
    found = extract(kb, "alice", "Seems to like jazz", 0.8)

    clock.set(found.recorded_at + timedelta(days=365))
    assert alice.get(found.id).effective_score == pytest.approx(0.4)
    confirmed = alice.confirm(found.id).last_confirmed_at
    clock.set(confirmed + timedelta(days=730))
    assert alice.get(found.id).effective_score == pytest.approx(0.2)
    assert alice.list()[0].effective_score == pytest.approx(0.2)


def test_what_begins_below_the_floor_is_recall_only(kb: Any, alice: Any) -> None:
    extract(kb, "alice", "Might like opera", 0.69)
    extract(kb, "alice", "Should like jazz", 0.71)

    assert in_block(alice, "opera") == set()
    assert in_block(alice, "jazz") == set(PRESETS)
    assert alice.recall("opera")


def test_confirming_starts_the_decay_anew(kb: Any, alice: Any, clock: Any) -> None:
    found = extract(kb, "alice", "Seems to like jazz", 0.8)
    clock.forward(days=100)
    assert in_block(alice, "jazz") == set()

    confirmed = alice.confirm(found.id).last_confirmed_at
    assert in_block(alice, "jazz") == set(PRESETS)
    clock.set(confirmed + timedelta(days=70))
    assert in_block(alice, "jazz") == set(PRESETS)
    clock.set(confirmed + timedelta(days=71))
    assert in_block(alice, "jazz") == set()


def test_reading_and_injecting_do_not_stop_the_decay(kb: Any, alice: Any, clock: Any) -> None:
    found = extract(kb, "alice", "Seems to like jazz", 0.8)
    clock.set(found.recorded_at + timedelta(days=69))
    for preset in PRESETS:
        alice.inject(f"{preset} chat", preset=preset)
    alice.recall("jazz"), alice.get(found.id)

    clock.set(found.recorded_at + timedelta(days=71))
    assert in_block(alice, "jazz") == set()


@pytest.mark.parametrize("by", ["person", "chat", "inferred", "imported", "taken over", "promoted"])
def test_what_a_person_said_and_what_an_agent_inferred_never_fades(kb: Any, alice: Any, clock: Any, by: str) -> None:
    agent = kb.book("alice", by="agent")
    if by == "person":
        id = alice.remember("Likes jazz").id
    elif by == "chat":
        id = agent.remember("Likes jazz").id
    elif by == "inferred":
        id = agent.remember("Likes jazz", confidence="inferred").id
    elif by == "imported":
        alice.import_(['{"content": "Likes jazz"}'])
        id = alice.list()[0].id
    else:
        id = extract(kb, "alice", "Likes jazz", 0.75).id
        assert (alice.promote(id) if by == "promoted" else alice.remember("likes jazz")).id == id
    clock.forward(days=20 * 365)

    assert in_block(alice, "jazz") == set(PRESETS)
    memory = alice.get(id)
    assert memory.effective_score is None or by == "promoted"
    assert memory.stale


def test_the_past_block_fades_by_the_time_it_speaks_of(kb: Any, alice: Any, clock: Any) -> None:
    found = extract(kb, "alice", "Seems to like jazz", 0.8)
    early, late = found.recorded_at + timedelta(days=60), found.recorded_at + timedelta(days=80)
    clock.set(found.recorded_at + timedelta(days=300))

    assert "jazz" in alice.block(known=early, valid=early)
    assert "jazz" not in alice.block(known=late, valid=late)
    assert alice.as_of(known=early, valid=early)[0].effective_score == pytest.approx(0.8 * 0.5 ** (60 / 365))


def test_what_was_not_referenced_for_sixty_days_is_stale(alice: Any, clock: Any) -> None:
    memory = alice.remember("Likes jazz")

    def stale_at(moment: Any) -> bool:
        clock.set(moment)
        return bool(alice.get(memory.id).stale)

    sixty, second = timedelta(days=60), timedelta(seconds=1)
    assert not stale_at(memory.created_at + sixty - second)
    assert stale_at(memory.created_at + sixty)
    for refer in (
        lambda: alice.inject("chat-1"),
        lambda: alice.confirm(memory.id),
        lambda: alice.update(memory.id, "Likes old jazz"),
        lambda: (alice.demote(memory.id), alice.promote(memory.id)),
        lambda: (alice.forget(memory.id), alice.restore(memory.id)),
    ):
        refer()
        referenced = alice.get(memory.id).last_referenced_at
        assert not stale_at(referenced + sixty - second)
        assert stale_at(referenced + sixty)
