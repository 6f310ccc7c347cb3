"""Audit: what a careful person would tidy up, found without a model and without touching anything."""

import io
from typing import Any

from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes, quotes
from keepbook.book.text.quotation import Span
from keepbook.presets import load_preset


def extract(kb: Any, owner: str, content: str, score: float) -> Any:
    """Keep what the close of a chat found."""
    origin = Origin("extractor", "chat", "thread-1", source="extracted")
    with kb._database.write(owner) as tx:
        return changes.remember(
            tx, origin, load_preset("general"), changes.Statement(content, score=score, made_by="rules")
        )


def test_an_empty_and_a_tidy_book_are_clean(alice: Any) -> None:
    assert alice.audit().clean
    assert alice.audit().memories == 0
    alice.remember("Lives in Oslo", category="profile")
    alice.remember("Prefers tea", category="preference")
    alice.inject("chat-1")

    found = alice.audit()
    assert found.clean
    assert found.memories == found.block_memories == 2
    assert not found.never_referenced


def test_the_same_words_in_two_categories_are_duplicates(alice: Any) -> None:
    one = alice.remember("Prefers tea", category="preference")
    other = alice.update(alice.remember("Prefers milk", category="fact").id, "prefers  TEA")
    alice.remember("Prefers coffee", category="fact")
    alice.forget(alice.update(alice.remember("Prefers water").id, "Prefers tea").id)

    assert [set(group) for group in alice.audit().duplicates] == [{one.id, other.id}]
    assert not alice.audit().clean


def test_nearly_the_same_words_in_one_category_are_near_duplicates(alice: Any) -> None:
    one = alice.remember("Prefers broad index funds to single stocks for the pension")
    other = alice.remember("Prefers broad index funds to single stocks for the pension account")
    alice.remember("Prefers broad index funds to single stocks for the old pension", category="preference")
    alice.remember("Pays 300 euros into the pension every month")
    alice.remember("Pays 400 euros into the pension every month")

    assert [set(pair) for pair in alice.audit().near_duplicates] == [{one.id, other.id}]
    assert not alice.audit().clean


def test_what_was_not_referenced_for_sixty_days_is_stale(alice: Any, clock: Any) -> None:
    old = alice.remember("Lives in Oslo")
    clock.forward(days=59)
    new = alice.remember("Prefers tea")
    assert alice.audit().stale == ()

    clock.forward(days=2)
    assert alice.audit().stale == (old.id,)
    assert set(alice.audit().never_referenced) == {old.id, new.id}
    alice.inject("chat-1")
    assert alice.audit().stale == alice.audit().never_referenced == ()


def test_what_has_faded_is_of_low_score_until_it_is_confirmed(kb: Any, alice: Any, clock: Any) -> None:
    low = extract(kb, "alice", "Might like opera", 0.5)
    fading = extract(kb, "alice", "Seems to like jazz", 0.8)
    alice.remember("Votes green")
    assert alice.audit().low_score == (low.id,)

    clock.forward(days=100)
    assert set(alice.audit().low_score) == {low.id, fading.id}
    alice.confirm(fading.id)
    assert alice.audit().low_score == (low.id,)
    alice.promote(low.id)  # in the block again: the person's word
    assert alice.audit().low_score == ()


def test_what_is_not_true_now_and_what_contradicts_is_listed(alice: Any) -> None:
    past = alice.remember("Lived in Rome", valid_from="2010", valid_until="2020")
    to_come = alice.remember("Lives in Berlin", valid_from="2030")
    now = alice.remember("Lives in Oslo")
    link = alice.link(now.id, to_come.id, "contradicts")
    alice.link(now.id, past.id, "relates_to")

    found = alice.audit()
    assert set(found.not_current) == {past.id, to_come.id}
    assert [kept.id for kept in found.contradictions] == [link.id]
    assert not found.clean
    alice.forget(to_come.id)
    assert alice.audit().contradictions == ()


def test_a_secret_is_found_even_in_an_old_version(alice: Any) -> None:
    id = alice.remember("Logs in to the cloud", body="with the key AKIAIOSFODNN7EXAMPLQ").id
    alice.update(id, "Logs in to the cloud daily", body="")
    card = alice.remember("Pays with 4111 1111 1111 1111").id
    alice.remember("Bought 4 books and 11 pens on 2026-03-01 for 1,111 euros")

    found = alice.audit()
    assert {memory_id for memory_id, _ in found.secrets} == {id, card}
    assert not found.clean
    alice.delete(id, forever=True)
    assert {memory_id for memory_id, _ in alice.audit().secrets} == {card}


def test_the_size_of_the_block_is_measured(alice: Any) -> None:
    with alice.transaction():
        for number in range(40):
            alice.remember(f"Fact number {number}")

    for preset in ("general", "coach"):
        alice.configure(preset=preset)
        found, text = alice.audit(), alice.block()
        assert found.block_characters == len(text)
        assert found.block_tokens == -(-len(text) // 4)
        assert found.block_memories == text.count("\n- ")


def test_an_audit_is_a_pure_read_of_one_book(kb: Any, alice: Any) -> None:
    kb.book("bob").remember("Lives in Rome", category="profile")
    kb.book("bob").remember("Lives in Rome", category="fact")
    alice.remember("Lives in Oslo")

    def exported() -> str:
        file = io.StringIO()
        alice.export(file)
        return file.getvalue()

    before = exported()
    assert alice.audit().clean
    assert exported() == before


def test_lines_that_rules_worded_are_named_and_quotations_are_not(kb: Any, alice: Any) -> None:
    chat = alice.threads.start()
    chat.add("user", "I live in Oslo, I sail, I ski")
    worded, preset = [], load_preset("general")
    with kb._database.write("alice") as tx:
        for source, made_by, content in (
            ("extracted", "offline", "Lives in Oslo"), ("chat", "offline", "Sails"), ("extracted", "a model", "Skis"),
        ):  # fmt: skip
            said = changes.Statement(content, score=0.9, made_by=made_by)
            worded.append(changes.remember(tx, Origin("extractor", "close", source=source), preset, said).id)
        spoken = changes.Statement("", score=0.9, made_by="offline")
        reader = Origin("extractor", "close", source="extracted")
        quotes.quote(tx, reader, preset, spoken, chat.id, [Span(1, 0, 14, "said")])
    found = alice.audit()
    assert sorted(found.worded) == sorted(worded[:2])
    assert found.clean, "lines that exist stay as they are"
