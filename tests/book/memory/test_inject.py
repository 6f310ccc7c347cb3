"""Injection: the block of a session is rendered once and stays; what was shown is counted; nothing new waits long."""

import io
import math
import threading
from contextlib import suppress
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from keepbook import Conflict, Invalid, Keepbook, KeepbookError
from keepbook.book.ground.when import stamp
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes, injections
from keepbook.presets import load_preset

PRESETS = ("general", "advisor", "assistant", "coach")
_numbers = count()


def extract(kb: Any, owner: str, content: str, score: float = 0.8) -> Any:
    """Keep what the close of a chat found."""
    origin = Origin("extractor", "chat", "thread-1", source="extracted")
    with kb._database.write(owner) as tx:
        return changes.remember(
            tx, origin, load_preset("general"), changes.Statement(content, score=score, made_by="rules")
        )


def inject_into_chat(kb: Any, owner: str, chat: str) -> str:
    """As one of our own chats does it."""
    with kb._database.write(owner) as tx:
        preset = load_preset("general")
        return injections.inject(tx, preset, stamp(kb._database.clock()), chat, space=injections.CHAT)


# --- frozen


@pytest.mark.parametrize("preset", PRESETS)
def test_a_session_sees_the_same_bytes_whatever_is_written_meanwhile(alice: Any, clock: Any, preset: str) -> None:
    id = alice.remember("Lives in Oslo", category="profile", importance=0.9).id
    other = alice.remember("Has a cat").id
    expected = alice.block(preset=preset)
    first = alice.inject("chat-1", preset=preset)
    assert first == expected != ""

    for write in (
        lambda: alice.update(id, "Lives in Rome"),
        lambda: alice.remember("Has a dog", importance=1.0),
        lambda: alice.forget(other),
        lambda: alice.demote(id),
        lambda: alice.delete(id),
        lambda: alice.configure(preset="assistant" if preset != "assistant" else "coach"),
        lambda: clock.forward(days=399),
    ):
        write()
        assert alice.inject("chat-1") == alice.inject("chat-1", preset=preset) == first
    fresh = alice.inject("chat-2", preset=preset)
    assert "Has a dog" in fresh
    assert "Lives in" not in fresh


def test_a_session_stays_frozen_when_the_book_is_opened_again(kb: Any, book_url: str, clock: Any) -> None:
    kb.book("alice").remember("Lives in Oslo")
    first = kb.book("alice").inject("chat-1")
    kb.book("alice").remember("Has a cat")

    with Keepbook(book_url, clock=clock) as again:
        assert again.book("alice").inject("chat-1") == first


def test_an_empty_book_gives_an_empty_block_that_stays_empty(alice: Any) -> None:
    assert alice.block() == alice.inject("chat-1") == ""
    alice.remember("Lives in Oslo")
    assert alice.inject("chat-1") == ""
    assert "Oslo" in alice.inject("chat-2")


def test_another_preset_or_scope_for_the_same_session_is_a_conflict(alice: Any) -> None:
    alice.remember("Lives in Oslo")
    first = alice.inject("chat-1", preset="advisor", scope="gardener")

    for preset in ("general", "coach", "assistant"):
        with pytest.raises(Conflict, match="advisor"):
            alice.inject("chat-1", preset=preset, scope="gardener")
    with pytest.raises(Conflict):
        alice.inject("chat-1", preset="advisor", scope="cook")
    with pytest.raises(Invalid):
        alice.inject("chat-2", preset="nobody")
    assert alice.inject("chat-1", preset="advisor", scope="gardener") == first
    assert alice.inject("chat-2", preset="general")


def test_our_own_chats_and_outside_sessions_have_their_own_names(kb: Any, alice: Any) -> None:
    alice.remember("Lives in Oslo")
    outside = alice.inject("42")
    alice.remember("Has a cat")

    own = inject_into_chat(kb, "alice", "42")
    assert "cat" in own
    assert "cat" not in outside
    assert alice.inject("42") == outside
    assert inject_into_chat(kb, "alice", "42") == own


def test_sessions_of_other_owners_are_other_sessions(kb: Any, alice: Any) -> None:
    alice.remember("Lives in Oslo")
    alice.inject("chat-1", preset="advisor")

    assert kb.book("bob").inject("chat-1") == ""
    assert "Oslo" in alice.inject("chat-1")


def test_a_block_shows_what_is_unscoped_and_of_its_scope(alice: Any) -> None:
    alice.remember("Lives in Oslo")
    alice.remember("Plants roses", scope="gardener")

    assert "roses" not in alice.inject("chat-1")
    assert "roses" in alice.inject("chat-2", scope="gardener")
    assert "roses" not in alice.inject("chat-3", scope="cook")


def test_two_processes_that_inject_first_agree(book_url: str, kb: Any, clock: Any) -> None:
    ready = threading.Barrier(6)
    kb.book("alice").remember("Lives in Oslo")
    answers: dict[str, list[str]] = {f"chat-{number}": [] for number in range(4)}
    with Keepbook(book_url, clock=clock) as other:

        def work(number: int) -> None:
            book = (kb, other)[number % 2].book("alice")
            ready.wait(timeout=30)
            for session, seen in answers.items():
                seen.append(book.inject(session))
                book.remember(f"Told in {session} by {number}")

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)

    assert all(len(seen) == 6 and len(set(seen)) == 1 for seen in answers.values())
    assert kb.book("alice").get(kb.book("alice").list()[0].id).reference_count == 4
    assert kb.book("alice").verify().ok


# --- counted


def test_an_injection_counts_as_a_reference_and_is_no_ledger_entry(alice: Any, clock: Any) -> None:
    shown = alice.remember("Lives in Oslo", category="profile").id
    hidden = alice.remember("Will live in Rome", valid_from="2040").id
    entries = alice.ledger()
    clock.forward(days=3)
    for number in range(1, 4):
        at = clock.now
        alice.inject(f"chat-{number}")
        alice.inject(f"chat-{number}")
        alice.block()
        assert (alice.get(shown).reference_count, alice.get(hidden).reference_count) == (number, 0)
    assert alice.get(shown).last_referenced_at >= at
    assert alice.get(hidden).last_referenced_at == alice.get(hidden).created_at
    assert alice.get(shown).last_confirmed_at is None
    assert alice.ledger() == entries
    assert alice.verify().ok


def test_what_was_cut_or_is_recall_only_is_not_counted(kb: Any, alice: Any) -> None:
    with alice.transaction():
        ids = [alice.remember(f"Fact number {number}").id for number in range(13)]
    faint = extract(kb, "alice", "Might like jazz", 0.5).id
    alice.inject("chat-1", preset="coach")

    counts = {id: alice.get(id).reference_count for id in [*ids, faint]}
    assert counts == {id: int(id in ids[3:]) for id in [*ids, faint]}


def test_a_preview_is_a_pure_read(alice: Any) -> None:
    alice.remember("Lives in Oslo")

    def exported() -> str:
        file = io.StringIO()
        alice.export(file)
        return file.getvalue()

    before = exported()
    for preset in PRESETS:
        alice.block(preset=preset)
        alice.block(preset=preset, known="2026-03-01T09:00:05Z")
    assert exported() == before


# --- what a purge does to a frozen block


def test_deleting_a_shown_memory_for_ever_renders_its_sessions_anew_and_only_those(alice: Any) -> None:
    kept = alice.inject("chat-0")
    gone = alice.remember("Lives in Oslo").id
    alice.remember("Has a cat")
    first = alice.inject("chat-1")
    alice.remember("Has a dog")
    alice.delete(gone)
    second = alice.inject("chat-2")
    alice.remember("Has a horse")
    alice.delete(gone, forever=True)

    anew = alice.inject("chat-1")
    assert "Oslo" in first
    assert "Oslo" not in anew
    assert "Has a cat" in anew
    alice.remember("Has a cow")
    assert alice.inject("chat-1") == anew
    assert alice.inject("chat-2") == second
    assert alice.inject("chat-0") == kept == ""
    with pytest.raises(Conflict):
        alice.inject("chat-1", preset="coach")


# --- the coach's ten


def chat(book: Any) -> list[str]:
    """Begin a chat; the ids it shows, in order."""
    preview = book.rendered(preset="coach")
    assert book.inject(f"session {next(_numbers)}", preset="coach") == preview.text
    return [id for id, _ in preview.shown]


@pytest.mark.parametrize(("old", "waiting"), [(0, 10), (0, 11), (12, 37), (3, 20)])
def test_all_waiting_facts_have_been_shown_after_a_tenth_as_many_chats(alice: Any, old: int, waiting: int) -> None:
    with alice.transaction():
        for number in range(old):
            alice.remember(f"Old fact number {number}")
    while old and chat(alice) and any(not memory.reference_count for memory in alice.list()):
        pass
    with alice.transaction():
        fresh = [alice.remember(f"New fact number {number}").id for number in range(waiting)]

    shown = [set(chat(alice)) for _ in range(math.ceil(waiting / 10))]
    assert shown[0] >= set(fresh[-10:])
    assert set.union(*shown) >= set(fresh)


CHANGES = {
    # what is done before (a method), and what makes it wait again
    "new": (None, lambda book, _: book.remember("Fresh as the dew").id),
    "edited": (None, lambda book, id: book.update(id, "Said in other words").id),
    "corrected": (None, lambda book, id: book.update(id, "Said rightly", correction=True).id),
    "promoted": ("demote", lambda book, id: book.promote(id).id),
    "restored from the archive": ("forget", lambda book, id: book.restore(id).id),
    "restored from the trash": ("delete", lambda book, id: book.restore(id).id),
    "not forgotten after all": ("forget", lambda book, id: book.undo(book.ledger(memory=id)[0].event).id),
}


@pytest.mark.parametrize(("prepare", "change"), CHANGES.values(), ids=CHANGES)
def test_a_changed_fact_is_in_the_next_block(alice: Any, prepare: str | None, change: Any) -> None:
    with alice.transaction():
        ids = [alice.remember(f"Fact number {number}").id for number in range(25)]
    for _ in range(3):
        shown = chat(alice)
    id = next(id for id in ids if id not in shown)
    if prepare is not None:
        getattr(alice, prepare)(id)
    assert id not in chat(alice)  # the ten that were shown last keep each other alive

    changed = change(alice, id)
    assert chat(alice)[0] == changed
    assert changed in chat(alice)


def test_confirming_brings_a_fact_back_as_the_most_recently_referenced(alice: Any) -> None:
    with alice.transaction():
        ids = [alice.remember(f"Fact number {number}").id for number in range(15)]
    for _ in range(3):
        chat(alice)
    away = next(id for id in ids if id not in chat(alice))

    alice.confirm(away)
    assert away in chat(alice)


class Frozen:
    """A clock that does not move by itself."""

    def __init__(self, clock: Any) -> None:
        self.now = clock.now

    def __call__(self) -> Any:
        return self.now


@pytest.mark.parametrize("jump", [timedelta(0), timedelta(days=-1)], ids=["stands still", "was set back"])
def test_facts_take_turns_also_while_the_clock_misbehaves(book_url: str, clock: Any, jump: timedelta) -> None:
    frozen = Frozen(clock)
    with Keepbook(book_url, clock=frozen) as kb:
        book = kb.book("alice")
        with book.transaction():
            ids = [book.remember(f"Fact number {number}").id for number in range(25)]
        frozen.now += jump

        shown = [set(chat(book)) for _ in range(3)]
        assert set.union(*shown) == set(ids)
        frozen.now += jump
        edited = next(id for id in ids if id not in chat(book))
        book.update(edited, "Said in other words")
        assert edited in chat(book)


def test_an_edit_after_the_clock_was_set_back_behind_a_chat_is_in_the_next_block(alice: Any, clock: Any) -> None:
    with alice.transaction():
        ids = [alice.remember(f"Fact number {number}").id for number in range(15)]
    clock.forward(days=2)
    chat(alice), chat(alice)
    edited = next(id for id in ids if id not in chat(alice))
    clock.forward(days=-1)
    alice.update(edited, "Said in other words")
    assert edited in chat(alice)


def test_a_new_fact_is_in_the_next_block_also_where_another_clock_runs_ahead(
    kb: Any, book_url: str, clock: Any
) -> None:
    ahead = Frozen(clock)
    ahead.now += timedelta(seconds=90)
    with Keepbook(book_url, clock=ahead) as other:
        other.book("alice").remember("Lives in Oslo")

    assert kb.book("alice").list()[0].current
    for preset in PRESETS:
        assert "Oslo" in kb.book("alice").block(preset=preset)
        assert "Oslo" in kb.book("alice").inject(f"{preset} chat", preset=preset)


steps = st.lists(
    st.tuples(
        st.sampled_from(["new", "new", "update", "demote", "promote", "forget", "restore", "chat"]), st.integers(0, 30)
    ),
    min_size=10,
    max_size=45,
)


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
@example([("new", 0)] * 25 + [("chat", 0)] * 4)
@example(
    [("new", 0)] * 14
    + [("chat", 0)] * 2
    + [("update", 0), ("new", 0), ("forget", 1), ("chat", 0), ("restore", 1), ("chat", 0)]
)
def test_a_chat_shows_the_newest_of_what_waits(kb: Any, walk: list[tuple[str, int]]) -> None:
    book = kb.book(f"walker {next(_numbers)}")
    waiting: dict[str, None] = {}  # in the order in which they began to wait
    ids: list[str] = []
    for name, number in [*walk, ("chat", 0)]:
        if name == "chat":
            active = {memory.id for memory in book.list(limit=1000)}
            shown = chat(book)
            due = [id for id in reversed(waiting) if id in active][:10]
            assert shown[: len(due)] == due
            assert len(shown) == len(set(shown)) == min(10, len(active))
            for id in shown:
                waiting.pop(id, None)
            continue
        if name == "new" or not ids:
            id = book.remember(f"Fact number {next(_numbers)}").id
            ids.append(id)
        else:
            id = ids[number % len(ids)]
            with suppress(KeepbookError):
                text = [f"Edited to {next(_numbers)}"] if name == "update" else []
                written = getattr(book, name)(id, *text)
                if written.unchanged or name in ("demote", "forget"):
                    continue
                waiting.pop(id, None)
                waiting[id] = None
            continue
        waiting[id] = None


# --- the same on both engines


def moved(source: Any, target: Any, owner: str) -> Any:
    """The same book on the other engine, with the same ids."""
    file = io.StringIO()
    source.book(owner).export(file)
    file.seek(0)
    target.book(owner).import_(file)
    return target.book(owner)


WORDS = st.sampled_from(
    ["tea", "ÅSE", "straße", "文字", "400", "4.000", "-", "#", "<b>", "[id:x]", "\u202e\u2066", "‹›", "naïve", "İ"]
)
books = st.lists(
    st.fixed_dictionaries(
        {
            "content": st.lists(WORDS, min_size=4, max_size=9).map(" ".join),
            "category": st.sampled_from([None, "profile", "finance_context", "project", "Ærlig"]),
            "subject": st.sampled_from([None, "Sara", "[x]", "ß"]),
            "summary": st.sampled_from([None, "Short", "# Heading"]),
            "importance": st.sampled_from([0.1, 0.5, 0.7, 1 / 3]),
            "confidence": st.sampled_from(["asserted", "inferred"]),
            "valid_until": st.sampled_from([None, "2026-03-20", "2040"]),
        }
    ),
    min_size=1,
    max_size=14,
)


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(books, st.data())
def test_the_same_book_gives_the_same_bytes_on_both_engines(both_kbs: Any, book: Any, data: st.DataObject) -> None:
    sqlite, postgresql = both_kbs
    for kb in both_kbs:
        kb._database.clock.set("2026-03-01T09:00:00Z")
    one = sqlite.book(f"walker {next(_numbers)}")
    one.configure(preset="coach")
    with one.transaction():
        ids = list({one.remember(**memory).id: None for memory in book})
        ids.append(extract(sqlite, one.owner, "Seems to like jazz", 0.75).id)
    other = moved(sqlite, postgresql, one.owner)
    for kb in both_kbs:
        kb._database.clock.set("2026-03-10T09:00:00Z")

    for name in data.draw(
        st.lists(st.sampled_from(["update", "forget", "confirm", "demote", "inject", "wait"]), max_size=6)
    ):
        id = data.draw(st.sampled_from(ids))
        for kb, side in ((sqlite, one), (postgresql, other)):
            with suppress(Conflict):
                if name == "update":
                    side.update(id, f"Said anew of {id}")
                elif name == "inject":
                    side.inject(f"session {id}", preset="coach")
                elif name == "wait":
                    kb._database.clock.forward(days=20)
                else:
                    getattr(side, name)(id)
    now = sqlite._database.clock.now
    for kb in both_kbs:
        kb._database.clock.set(now)
    for preset in PRESETS:
        assert one.block(preset=preset) == other.block(preset=preset)
        assert one.inject(f"at last {preset}", preset=preset) == other.inject(f"at last {preset}", preset=preset)
        past = {"known": "2026-03-05", "valid": "2026-03-30"}
        assert one.block(preset=preset, **past) == other.block(preset=preset, **past)
