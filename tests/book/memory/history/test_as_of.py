"""Two clocks: what the book knew at one instant about another, and any past block again to the byte."""

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepbook import Invalid, KeepbookError, to_json
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes
from keepbook.book.memory.memories import holding_at
from keepbook.presets import load_preset

PRESETS = ("general", "advisor", "assistant", "coach")
TICK = timedelta(microseconds=1)
FAR = datetime(2090, 1, 1, tzinfo=UTC)

_numbers = count()


def extract(kb: Any, owner: str, content: str, score: float, **given: Any) -> Any:
    """Keep what the close of a chat found."""
    origin = Origin("extractor", "chat", "thread-1", source="extracted")
    with kb._database.write(owner) as tx:
        return changes.remember(
            tx, origin, load_preset("general"), changes.Statement(content, score=score, made_by="rules", **given)
        )


def said(book: Any, known: Any, valid: Any) -> list[str]:
    return [memory.content for memory in book.as_of(known=known, valid=valid)]


def year(number: int) -> str:
    return f"{number}-07-01"


# --- both clocks


def test_a_change_holds_from_its_own_day_and_its_predecessor_until_then(alice: Any) -> None:
    first = alice.remember("Sarah works in Sales")
    second = alice.update(first.id, "Sarah moved to Design")
    then, now = first.recorded_at, second.recorded_at

    assert said(alice, then - TICK, FAR) == []
    assert said(alice, then, then) == said(alice, then, FAR) == said(alice, now - TICK, FAR) == ["Sarah works in Sales"]
    assert said(alice, now, now) == said(alice, FAR, FAR) == ["Sarah moved to Design"]
    assert said(alice, now, now - TICK) == said(alice, FAR, then) == ["Sarah works in Sales"]
    assert said(alice, FAR, then - TICK) == []


def test_a_change_may_begin_in_the_past_or_in_the_future(alice: Any) -> None:
    first = alice.remember("Sarah works in Sales", valid_from="2020")
    second = alice.update(first.id, "Sarah works in Design", valid_from="2024")
    third = alice.update(first.id, "Sarah runs the firm", valid_from="2030")

    expected = {
        2019: [],
        2021: ["Sarah works in Sales"],
        2025: ["Sarah works in Design"],
        2031: ["Sarah runs the firm"],
    }
    assert {number: said(alice, FAR, year(number)) for number in expected} == expected
    assert said(alice, third.recorded_at - TICK, year(2031)) == ["Sarah works in Design"]
    assert said(alice, second.recorded_at - TICK, year(2025)) == ["Sarah works in Sales"]


def test_a_correction_hides_what_it_corrects_entirely(alice: Any) -> None:
    first = alice.remember("Her name is Sarah", valid_from="2020")
    second = alice.update(first.id, "Her name is Sara", correction=True)

    for valid in (year(2020), first.recorded_at, second.recorded_at, FAR):
        assert said(alice, second.recorded_at - TICK, valid) == ["Her name is Sarah"]
        assert said(alice, second.recorded_at, valid) == ["Her name is Sara"]


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [
        pytest.param(
            {"valid_from": "2020", "valid_until": "2022"},
            [{"correction": True}],
            {2019: None, 2021: 1, 2023: None},
            id="a correction keeps both ends",
        ),
        pytest.param(
            {"valid_from": "2020", "valid_until": "2024"},
            [{"correction": True, "valid_until": "2022"}],
            {2019: None, 2021: 1, 2023: None, 2025: None},
            id="a correction to an earlier end lets nothing through behind it",
        ),
        pytest.param(
            {"valid_from": "2020"},
            [{"correction": True, "valid_from": "2022"}],
            {2019: None, 2021: None, 2023: 1},
            id="a correction to a later beginning lets nothing through before it",
        ),
        pytest.param(
            {"valid_from": "2020", "valid_until": "2022"},
            [{"valid_from": "2024"}],
            {2019: None, 2021: 0, 2023: None, 2025: 1},
            id="between an end and the next beginning nothing is true",
        ),
        pytest.param(
            {"valid_from": "2020"},
            [{"valid_from": "2022", "valid_until": "2024"}],
            {2019: None, 2021: 0, 2023: 1, 2025: 0},
            id="where the newest has ended the first one that covers answers",
        ),
        pytest.param(
            {"valid_from": "2020"},
            [{"valid_from": "2022"}, {"correction": True, "valid_from": "2024"}],
            {2019: None, 2021: 0, 2023: 0, 2025: 2},
            id="a correction of a change uncovers what stood before the change",
        ),
        pytest.param(
            {"valid_from": "2020"},
            [{"valid_from": "2024"}, {"valid_from": "2022"}],
            {2021: 0, 2023: 2, 2025: 2},
            id="the newest word wins over a later date",
        ),
        pytest.param(
            {"valid_from": "2020"},
            [{"correction": True}, {"correction": True}, {"valid_from": "2024"}, {"correction": True}],
            {2019: None, 2021: 2, 2025: 4},
            id="corrections on corrections",
        ),
    ],
)
def test_which_version_holds(alice: Any, first: Any, then: Any, expected: dict[int, int | None]) -> None:
    id = alice.remember("Version 0 says this", **first).id
    for number, how in enumerate(then, 1):
        alice.update(id, f"Version {number} says this", **how)

    found = {number: said(alice, FAR, year(number)) for number in expected}
    assert found == {
        number: [] if version is None else [f"Version {version} says this"] for number, version in expected.items()
    }


def test_an_undone_change_was_known_for_a_while_and_is_true_of_no_time(alice: Any) -> None:
    first = alice.remember("Lives in Oslo", valid_from="2020")
    change = alice.update(first.id, "Lives in Rome")
    undone = alice.undo(change.event)
    redone = alice.undo(undone.event)

    assert said(alice, change.recorded_at, change.recorded_at) == ["Lives in Rome"]
    assert said(alice, undone.recorded_at, change.recorded_at) == ["Lives in Oslo"]
    assert said(alice, undone.recorded_at, FAR) == ["Lives in Oslo"]
    assert said(alice, redone.recorded_at, FAR) == ["Lives in Rome"]
    assert said(alice, redone.recorded_at, year(2021)) == ["Lives in Oslo"]


def test_an_undone_change_does_not_come_through_where_the_copy_has_ended(alice: Any) -> None:
    first = alice.remember("Lives in Oslo", valid_from="2020", valid_until="2028")
    change = alice.update(first.id, "Lives in Rome")
    alice.undo(change.event)

    assert said(alice, FAR, year(2027)) == ["Lives in Oslo"]
    assert said(alice, FAR, year(2029)) == []


def test_an_undone_correction_lets_the_corrected_word_stand_again(alice: Any) -> None:
    first = alice.remember("Her name is Sarah", valid_from="2020")
    correction = alice.update(first.id, "Her name is Sara", correction=True)
    undone = alice.undo(correction.event)

    assert said(alice, undone.recorded_at, year(2021)) == ["Her name is Sarah"]
    assert said(alice, undone.recorded_at - TICK, year(2021)) == ["Her name is Sara"]


def test_an_undone_remember_was_known_until_then(alice: Any) -> None:
    first = alice.remember("Lives in Oslo")
    undone = alice.undo(first.event)

    assert said(alice, undone.archived_at - TICK, FAR) == ["Lives in Oslo"]
    assert said(alice, undone.archived_at, FAR) == []


@pytest.mark.parametrize("by", ["correction", "undo"])
def test_a_history_of_any_length_is_read_to_its_end(by: str) -> None:
    """By the rule itself: ten thousand writes take a while."""
    blank = {"valid_from": "2030", "valid_until": None, "correction": 0, "restored_from": None}
    chain = {number: SimpleNamespace(**blank) for number in (1, 2)}
    for number in range(3, 10_000):
        how = {"correction": 1} if by == "correction" else {"restored_from": number - 2}
        chain[number] = SimpleNamespace(**(blank | how))
    assert holding_at(chain, max(chain), "2020") is None
    assert holding_at(chain, max(chain), "2031") is chain[9_999]


# --- what is not valid now


def test_what_is_not_true_yet_enters_when_it_is(alice: Any, clock: Any) -> None:
    alice.remember("Starts at the bank", valid_from="2026-06-01", valid_until="2026-09-01")

    assert alice.block() == ""
    assert [memory.current for memory in alice.list()] == [False]
    clock.set("2026-06-01T00:00:00Z")
    assert "Starts at the bank" in alice.block()
    assert [memory.current for memory in alice.list()] == [True]
    clock.set("2026-09-01T00:00:00Z")
    assert alice.block() == ""
    assert [memory.current for memory in alice.list()] == [False]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_change_of_the_future_leaves_the_present_in_the_block_until_then(alice: Any, clock: Any, preset: str) -> None:
    id = alice.remember("Lives in Oslo").id
    alice.update(id, "Lives in Rome", valid_from="2026-06-01")

    assert "Oslo" in alice.block(preset=preset)
    assert "Oslo" in alice.inject(f"{preset} in spring", preset=preset)
    clock.set("2026-06-01T00:00:00Z")
    assert "Rome" in alice.block(preset=preset)
    assert "Oslo" not in alice.block(preset=preset)
    assert "Rome" in alice.inject(f"{preset} in summer", preset=preset)


# --- the state of a memory


def test_the_state_of_a_memory_is_what_the_ledger_said_by_then(kb: Any, alice: Any) -> None:
    id = extract(kb, "alice", "Seems to like jazz", 0.8, category="fact", subject="Music").id
    steps: list[tuple[Callable[[], Any], dict[str, Any]]] = [
        (lambda: alice.promote(id), {"confidence": "asserted"}),
        (lambda: alice.demote(id), {"confidence": "inferred"}),
        (lambda: alice.confirm(id), {}),
        (lambda: alice.update(id, "Likes jazz", category="preference", subject="Jazz", importance=0.9), {}),
        (lambda: alice.forget(id), {"state": "archived"}),
        (lambda: alice.restore(id), {"state": "active"}),
        (lambda: alice.delete(id), {"state": "trash"}),
        (lambda: alice.restore(id), {"state": "active"}),
    ]
    taken = [alice.get(id)]
    for step, expected in steps:
        written = step()
        assert {name: getattr(written, name) for name in expected} == expected
        taken.append(alice.get(id))

    fields = ("category", "subject", "confidence", "importance", "last_confirmed_at", "content", "source", "version")
    for memory in taken:
        at = memory.updated_at
        past = [(then.state, *(getattr(then, name) for name in fields)) for then in alice.as_of(known=at, valid=at)]
        present = [(memory.state, *(getattr(memory, name) for name in fields))]
        assert past == (present if memory.state == "active" else [])


def test_what_was_deleted_for_ever_is_gone_from_the_past_too(alice: Any) -> None:
    kept = alice.remember("Has a cat")
    gone = alice.remember("Lives in Oslo")
    alice.update(gone.id, "Lives in Rome")
    after = alice.ledger(limit=1)[0].at
    alice.delete(gone.id, forever=True)

    assert said(alice, after, after) == ["Has a cat"]
    assert "Rome" not in alice.block(known=after, valid=after)
    assert "Has a cat" in alice.block(known=after, valid=after)
    assert [memory.id for memory in alice.as_of(known=gone.recorded_at, valid=FAR)] == [kept.id]


def test_an_instant_may_be_given_in_any_iso_form(alice: Any) -> None:
    alice.remember("Lives in Oslo", valid_from="2020-01-01")
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)

    for known in (noon, "2026-03-01T12:00Z", "2026-03-01T13:00+01:00", "2027", noon.date() + timedelta(days=1)):
        assert said(alice, known, "2020-01-01") == ["Lives in Oslo"]
    assert said(alice, "tomorrow", "summer 2020") == ["Lives in Oslo"]
    for wrong in ("some day", "", 12, "2026-02-30"):
        with pytest.raises(Invalid) as refused:
            alice.as_of(known=wrong)
        assert refused.value.field == "known"
        with pytest.raises(Invalid) as refused:
            alice.block(valid=wrong)
        assert refused.value.field == "valid"


# --- any past instant again

OPERATIONS = [
    *("remember", "remember", "extract", "update", "update", "correct", "forget", "delete", "restore"),
    *("confirm", "promote", "demote", "undo", "undo", "link", "inject", "inject", "wait", "wait"),
]
CATEGORIES = ("profile", "preference", "person", "finance_context", "risk", None)
walks = st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 9), st.integers(0, 9)), min_size=8, max_size=24)


def take(kb: Any, book: Any, clock: Any, name: str, one: int, other: int) -> None:
    """One step of a random walk through a book that waits for days now and then."""
    fresh = next(_numbers)
    if name == "wait":
        clock.forward(days=one * 8 + 0.1)
        return
    if name == "inject":
        book.inject(f"session {fresh}", preset=PRESETS[one % 4])
        return
    ids = [memory.id for memory in book.list(state="all", limit=1000)]
    starts = clock.now + timedelta(days=(one - 4) * 7) if one % 3 else None
    ends = (starts or clock.now) + timedelta(days=other * 9 + 1) if other % 3 == 0 else None
    given = {"valid_from": starts, "valid_until": ends}
    if not ids or name == "remember":
        book.remember(
            f"Said {fresh} {'words ' * other}",
            category=CATEGORIES[one % 6],
            subject=("Sara", None)[other % 2],
            summary=(None, f"Short {fresh}")[one % 2],
            importance=other / 10,
            confidence=("asserted", "inferred")[one % 2],
            **given,
        )
        return
    id = ids[one * 10 % len(ids)]
    if name == "extract":
        extract(kb, book.owner, f"Found {fresh}", 0.7 + other / 40)
    elif name == "link":
        book.link(id, ids[other % len(ids)], "relates_to")
    elif name == "undo":
        entries = book.ledger(limit=3)
        book.undo(entries[other % len(entries)].event)
    elif name in ("update", "correct"):
        book.update(id, f"Told {fresh}", correction=name == "correct", **given)
    else:
        getattr(book, name)(id)


def observed(book: Any, clock: Any) -> dict[str, Any]:
    """What one could see at the instants of looking."""
    blocks = {}
    for preset in PRESETS:
        blocks[preset] = (clock.now, book.block(preset=preset))
    return {"blocks": blocks, "listed": (clock.now, book.list()), "as_of": (clock.now, book.as_of())}


@settings(max_examples=4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(walk=walks)
def test_every_past_instant_can_be_seen_again_as_it_was(kb: Any, clock: Any, walk: list[tuple[str, int, int]]) -> None:
    clock.set("2026-03-01T09:00:00Z")
    book = kb.book(f"walker {next(_numbers)}")
    book.configure(preset="coach")  # its open categories let every other preset's in
    seen = []
    for position, step in enumerate(walk):
        with suppress(KeepbookError):  # what the book refuses is no step
            take(kb, book, clock, *step)
        if position % 2:
            seen.append(observed(book, clock))
    for then in seen:
        for preset, (at, text) in then["blocks"].items():
            assert book.block(preset=preset, known=at, valid=at) == text
        at, memories = then["as_of"]
        assert book.as_of(known=at, valid=at) == memories
        # What was listed as current is what was known and true; where the newest version was not, an older may be.
        at, listed = then["listed"]
        held = {memory.id: memory for memory in book.as_of(known=at, valid=at)}
        assert all(held[memory.id] == memory for memory in listed if memory.current)
        assert held.keys() <= {memory.id for memory in listed}
    assert book.verify().ok
    json.dumps(to_json(book.as_of()))


# --- page by page


def test_the_past_is_read_page_by_page(alice: Any, clock: Any) -> None:
    """Pages put together are the whole, whatever was forgotten, changed or not true yet between; and so are those of a
    question about then."""
    for number in range(60):
        made = alice.remember(f"Has walked the path number {number}", force=True)
        if number % 5 == 2:
            alice.update(made.id, f"Has run the path number {number}", force=True)
        if number % 4 == 1:
            alice.forget(made.id)
    then = clock()
    for memory in alice.list(limit=30):
        alice.forget(memory.id)

    def pages(ask: Callable[..., Any], limit: int) -> list[str]:
        found: list[str] = []
        while page := ask(limit=limit, cursor=found[-1] if found else None):
            assert len(page) <= limit
            found += [memory.id for memory in page]
        return found

    whole = [memory.id for memory in alice.as_of(known=then)]
    assert len(whole) == 45
    assert pages(lambda **page: alice.as_of(known=then, **page), 7) == whole
    assert [memory.id for memory in alice.as_of(known=then, cursor=whole[9])] == whole[10:]
    assert pages(alice.as_of, 4) == [memory.id for memory in alice.as_of()] != whole

    asked = [hit.id for hit in alice.recall("path", 100, known=then)]
    assert sorted(asked) == sorted(whole)
    assert pages(lambda **page: alice.recall("path", known=then, **page), 11) == asked
    assert pages(lambda **page: alice.recall("path", **page), 4) == [hit.id for hit in alice.recall("path", 100)]

    for wrong in ({"cursor": "nobody00"}, {"limit": 0}, {"limit": 1001}):
        with pytest.raises(Invalid):
            alice.as_of(known=then, **wrong)
    with pytest.raises(Invalid, match="without a cursor"):
        alice.recall("path", known=then, cursor="nobody00")
