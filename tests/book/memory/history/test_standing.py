"""A block that reads only what decides it is the block of the whole book, to the byte, whatever happened to it."""

import os
import random
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from keepbook import KeepbookError
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes, injections, labels
from keepbook.book.memory.history import standing
from keepbook.presets import load_preset

HISTORIES = int(os.environ.get("KEEPBOOK_TESTS_DEEPER", "1"))
SCOPES = (None, None, None, "desk", "lab")
IMPORTANCE = (0.2, 0.5, 0.5, 0.5, 0.7, 1.0)


def extract(kb: Any, content: str, score: float) -> Any:
    origin = Origin("extractor", "chat", "thread-1", source="extracted")
    with kb._database.write("alice") as tx:
        said = changes.Statement(content, score=score, made_by="rules")
        return changes.remember(tx, origin, load_preset("general"), said)


def act(kb: Any, alice: Any, clock: Any, chance: random.Random, number: int) -> None:
    """Something that people, agents, readers and time do to a book."""
    known = [memory.id for memory in alice.list(state="all", scope="*", limit=1000)]
    some = chance.choice(known) if known else ""
    book = chance.choice((alice, alice.acting(actor="agent")))
    words = f"Keeps the {chance.choice(('red', 'blue', 'long and winding'))} thing number {number} in its place"
    near = clock() + timedelta(hours=chance.randrange(-30, 60))
    for_a_time: Any = {"valid_until": near + timedelta(hours=chance.randrange(1, 40))} if chance.random() < 0.4 else {}
    if for_a_time or chance.random() < 0.2:
        for_a_time["valid_from"] = near
    kind = chance.randrange(14)
    if kind < 5 or not known:
        scope, importance = chance.choice(SCOPES), chance.choice(IMPORTANCE)
        given = for_a_time if chance.random() < 0.3 else {}
        book.remember(words, scope=scope, importance=importance, force=True, **given)
    elif kind == 5:
        extract(kb, words, chance.choice((0.71, 0.9)))
    elif kind < 8:
        book.update(some, words, force=True, importance=chance.choice((None, 0.9)), **for_a_time)
    else:
        acts = {
            8: lambda: book.forget(some),
            9: lambda: alice.delete(some, forever=chance.random() < 0.3),
            10: lambda: alice.restore(some),
            11: lambda: alice.confirm(some),
            12: lambda: alice.undo(chance.randrange(1, alice.ledger(limit=1)[0].event + 1)),
            13: lambda: alice.promote(some),
        }
        acts[kind]()


@pytest.mark.parametrize(("preset", "first"), [("general", 1), ("assistant", 7)])
def test_a_block_reads_what_decides_it(kb: Any, clock: Any, monkeypatch: Any, preset: str, first: int) -> None:
    monkeypatch.setattr(injections, "FIRST", first)
    monkeypatch.setattr(standing, "FEW", first)
    monkeypatch.setattr(standing, "MOST_CHANGES", 5)
    rules = load_preset(preset)
    alice = kb.book("alice").under(replace(rules, selection=replace(rules.selection, total=150)))
    cut = 0

    def compare(scope: str | None = None) -> int:
        instant = clock.now
        told = alice.block(scope=scope)
        clock.set(instant)
        whole = alice.rendered(scope=scope)
        assert told == whole.text
        return len(whole.fates) - len(whole.shown)

    for history in range(HISTORIES):
        chance = random.Random(f"{preset} {history}")
        with alice.transaction():
            for number in range(14):
                alice.remember(f"Has seen the place number {number}", importance=chance.choice(IMPORTANCE), force=True)
        for number in range(16):
            with suppress(KeepbookError):
                act(kb, alice, clock, chance, number)
            if chance.random() < 0.2:
                clock.forward(hours=chance.randrange(1, 48))
            if chance.random() < 0.1:
                with suppress(ZeroDivisionError), alice.transaction():
                    alice.remember(f"Was never here, number {number}", force=True)
                    compare()
                    raise ZeroDivisionError
            cut += compare()
            compare("desk")
        instant = clock.now
        told = alice.inject(f"session {history}")
        clock.set(instant)
        assert told == alice.rendered().text
    assert cut > 50


def test_a_large_book_is_not_read_for_a_block(alice: Any, monkeypatch: Any) -> None:
    with alice.transaction():
        for number in range(injections.FIRST + 40):
            alice.remember(f"Has read the book of the number {number} once", force=True)
    whole = alice.rendered().text
    monkeypatch.delattr(injections, "_rows")  # which reads all that is active
    assert alice.block() == alice.inject("a session") == whole
    alice.forget(alice.list(limit=1)[0].id)
    assert alice.block() != whole


def test_a_list_says_how_many_there_are(alice: Any, monkeypatch: Any) -> None:
    """Page by page, by category, tag and subject, after each kind of change, as if all were counted."""
    monkeypatch.setattr(labels, "MANY", 2)
    categories, everything = ("person", "project"), []

    def compare() -> None:
        kept = alice.list(limit=1000).items
        for found, fits in (
            (alice.list(limit=2), lambda _: True),
            (alice.list(limit=2, category="person"), lambda one: one.category == "person"),
            (alice.list(limit=1, tags=["red"]), lambda one: "red" in one.tags),
            (alice.list(limit=1, subject="Ida"), lambda one: one.subject == "Ida"),
        ):
            wanted = [one.id for one in kept if fits(one)]
            assert (found.total, [one.id for one in found]) == (len(wanted), wanted[: len(found)])
            following = alice.list(limit=1, cursor=found.next) if found.next else None
            assert following is None or following.total == len(kept)
        for state in ("archived", "trash", "all"):
            wanted = [one.id for one in alice.list(limit=1000, state=state) if "red" in one.tags]
            found = alice.list(limit=1, state=state, tags=["red"])
            assert (found.total, [one.id for one in found]) == (len(wanted), wanted[:1])

    for number in range(9):
        written = alice.remember(
            f"Has met them {number} times", category=categories[number % 2], subject="Ida" if number % 3 else None,
            tags=["red"] if number % 2 else None, force=True,
        )  # fmt: skip
        everything.append(written.id)
    compare()
    for change in (
        lambda: alice.forget(everything[0]),
        lambda: alice.delete(everything[1]),
        lambda: alice.restore(everything[0]),
        lambda: alice.update(everything[2], "Has met them often", category="project", tags=["red"], force=True),
        lambda: alice.delete(everything[3], forever=True),
        lambda: alice.undo(alice.forget(everything[4]).event),
        lambda: alice.update(everything[5], "Has met them seldom", tags=[], force=True),
        lambda: (alice.forget(everything[7]), alice.restore(everything[7]), alice.forget(everything[7])),
        lambda: alice.remember("Has met them in a red place", tags=["red"], subject="Ida", scope="desk", force=True),
    ):
        change()
        compare()
