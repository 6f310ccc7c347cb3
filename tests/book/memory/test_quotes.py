"""Quotations in the book: made of stored turns alone, kept with their words, and nobody's to claim."""

import inspect
import io
import json
from typing import Any

import pytest

from keepbook import Invalid, NotFound
from keepbook.book.book import Book
from keepbook.book.chats.view import chat_block
from keepbook.book.ground.to_json import to_json
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import quotes
from keepbook.book.memory.changes import Statement
from keepbook.book.text.quotation import Span, shown_text

SAID = "okay so I live in Oslo now, and my salary is 61,000"
OSLO, PAY = Span(1, 8, 26, "said"), Span(1, 32, 51, "said")
READER = Origin("extractor", "close", source="extracted")
PERSON = Origin("person", "web")


@pytest.fixture
def chat(alice: Any) -> Any:
    chat = alice.threads.start()
    chat.add("user", SAID)
    chat.add("assistant", "Noted. And how many hives do you have?")
    chat.add("user", "Fourteen. no sorry, I earn 65,000")
    return chat


def quote(book: Any, chat: Any, *spans: Span, origin: Origin = PERSON, said_on: str | None = None, **told: Any) -> Any:
    if origin.source == "extracted":
        told = {"score": 0.9, "made_by": "offline"} | told
    with book.writing() as (tx, preset):
        return quotes.quote(tx, origin, preset, Statement("", **told), chat.id, spans, said_on=said_on)


def requote(book: Any, chat: Any, id: str, *spans: Span, origin: Origin = PERSON, **how: Any) -> Any:
    with book.writing() as (tx, preset):
        return quotes.requote(tx, origin, preset, id, spans, thread_id=chat.id, **how)


def of(memory: Any) -> tuple[Any, ...]:
    return memory.content, memory.quoted, memory.spans, memory.said_on


# --- made


def test_a_quotation_is_made_of_the_words_that_were_said(alice: Any, chat: Any) -> None:
    made = quote(alice, chat, OSLO, category="profile", said_on="2026-03-01")
    assert of(made) == ("I live in Oslo now", True, ((1, 8, 26, "said"),), "2026-03-01")
    assert (made.source, made.confidence, made.thread_id, made.turn_ids) == ("chat", "asserted", chat.id, ("1",))
    kept = alice.get(made.id)
    assert of(kept) == of(made) == of(kept.versions[0]) == of(alice.list()[0]) == of(alice.as_of()[0])
    assert to_json(kept)["spans"] == to_json(kept)["versions"][0]["spans"] == [[1, 8, 26, "said"]]
    assert alice.verify().ok


def test_what_a_reader_chose_is_extracted_with_its_score(alice: Any, chat: Any) -> None:
    made = quote(alice, chat, OSLO, origin=READER)
    assert (made.source, made.confidence, made.score, made.quoted) == ("extracted", "inferred", 0.9, True)


def test_an_answer_takes_its_question_along_and_rests_on_the_persons_turn(alice: Any, chat: Any) -> None:
    made = quote(alice, chat, Span(2, 11, 38, "question"), Span(3, 0, 8, "said"))
    assert made.content == "(how many hives do you have?) Fourteen"
    assert made.turn_ids == ("3",)
    assert shown_text(made) == "(how many hives do you have?) “Fourteen”"


@pytest.mark.parametrize(
    "spans",
    [
        (),
        (Span(1, 8, 25, "said"),),
        (Span(2, 0, 5, "said"),),
        (Span(9, 0, 5, "said"),),
        (Span(1, 8, 900, "said"),),
    ],
)
def test_what_was_not_said_is_no_quotation(alice: Any, chat: Any, spans: tuple[Span, ...]) -> None:
    with pytest.raises(Invalid) as refused:
        quote(alice, chat, *spans)
    assert refused.value.field == "spans"
    assert alice.list().total == 0


def test_turns_of_another_chat_or_another_owner_are_none_of_this_one(kb: Any, alice: Any, chat: Any) -> None:
    other, bob = alice.threads.start(), kb.book("bob")
    for book, thread in ((alice, other), (bob, chat)):
        with pytest.raises(Invalid):
            quote(book, thread, OSLO)


def test_said_again_it_is_known(alice: Any, chat: Any) -> None:
    first = quote(alice, chat, OSLO)
    assert quote(alice, chat, OSLO, force=True).unchanged
    assert of(alice.remember("i live in oslo now")) == of(first)


def test_the_person_takes_over_what_a_reader_quoted_and_it_stays_a_quotation(alice: Any, chat: Any) -> None:
    quote(alice, chat, OSLO, origin=READER, said_on="2026-03-01")
    typed = alice.remember("i live in oslo NOW")
    assert of(typed) == ("I live in Oslo now", True, ((1, 8, 26, "said"),), "2026-03-01")
    assert (typed.source, typed.confidence, typed.thread_id) == ("profile", "asserted", chat.id)


def test_no_public_way_in_takes_quoted_or_spans() -> None:
    for method in (Book.remember, Book.update):
        assert not {"quoted", "spans", "said_on", "quotation"} & set(inspect.signature(method).parameters)
    assert not {"quoted", "spans", "said_on"} & set(inspect.signature(Statement).parameters)


# --- changed


def test_an_update_that_leaves_the_content_leaves_the_quotation(alice: Any, chat: Any) -> None:
    made = quote(alice, chat, OSLO, said_on="2026-03-01")
    elsewhere = alice.acting(thread_id="another chat")
    tagged = elsewhere.update(made.id, made.content, tags=["home"], valid_until="2027-01-01")
    assert tagged.version == 2
    assert of(tagged) == of(made)
    assert (tagged.thread_id, tagged.turn_ids) == (chat.id, ("1",))
    assert alice.verify().ok


def test_an_edit_of_the_words_makes_a_note_and_undo_brings_the_quotation_back(alice: Any, chat: Any) -> None:
    made = quote(alice, chat, OSLO, said_on="2026-03-01")
    edited = alice.update(made.id, "I live in Bergen now")
    assert of(edited) == ("I live in Bergen now", False, (), None)
    back = alice.undo(edited.event)
    assert of(back) == of(made)
    assert [of(version) for version in alice.get(made.id).versions] == [of(made), of(edited), of(made)]
    assert alice.verify().ok


def test_undo_brings_back_what_a_reader_quoted_although_a_person_had_changed_it(alice: Any, chat: Any) -> None:
    made = quote(alice, chat, OSLO, origin=READER)
    assert of(alice.undo(alice.update(made.id, "Lives in Bergen").event)) == of(made)


def test_requote_is_the_next_version_in_words_of_a_chat(alice: Any, chat: Any) -> None:
    note = alice.remember("Earns 61,000", tags=["money"])
    changed = requote(alice, chat, note.id, Span(3, 20, 33, "said"), expect_version=1)
    assert (changed.id, changed.version, changed.source, changed.tags) == (note.id, 2, "chat", ("money",))
    assert of(changed) == ("I earn 65,000", True, ((3, 20, 33, "said"),), None)
    mended = requote(alice, chat, note.id, PAY, correction=True, valid_until="2027-01-01", said_on="2026-03-01")
    assert (mended.content, mended.valid_from) == ("my salary is 61,000", changed.valid_from)
    assert [version.quoted for version in alice.get(note.id).versions] == [False, True, True]


def exchange(book: Any, chat: Any, id: str, old: tuple[int, int], new: Span, **how: Any) -> Any:
    with book.writing() as (tx, preset):
        return quotes.exchange(tx, PERSON, preset, id, old, new, thread_id=chat.id, **how)


def test_a_value_exchanged_in_the_same_chat_stays_a_quotation(alice: Any, chat: Any) -> None:
    made = quote(alice, chat, PAY)
    changed = exchange(alice, chat, made.id, (13, 19), Span(3, 27, 33, "said"))
    assert changed.content == "my salary is [65,000]"
    assert changed.quoted
    assert changed.spans == ((1, 32, 44, "said"), (3, 27, 33, "exchanged"))
    assert changed.turn_ids == ("1", "3")


def test_a_value_exchanged_in_another_chat_or_in_a_note_leaves_a_note_with_a_bracket(alice: Any, chat: Any) -> None:
    made, note = quote(alice, chat, PAY), alice.remember("Earns 61,000 a year")
    later = alice.threads.start()
    later.add("user", "make that 70,000")
    for id, old, content in (
        (made.id, (13, 19), "my salary is [70,000]"),
        (note.id, (6, 12), "Earns [70,000] a year"),
    ):
        changed = exchange(alice, later, id, old, Span(1, 10, 16, "said"))
        assert of(changed) == (content, False, (), None)
        assert (changed.thread_id, changed.turn_ids) == (later.id, ("1",))
    assert alice.verify().ok


def test_a_purge_blanks_the_spans_and_the_chat_keeps_its_turn(alice: Any, chat: Any) -> None:
    made = quote(alice, chat, OSLO)
    alice.delete(made.id, forever=True)
    assert alice.verify().ok
    file = io.StringIO()
    alice.export(file)
    (row,) = [line for line in map(json.loads, file.getvalue().splitlines()) if line["kind"] == "version"]
    assert (row["content"], row["spans"], row["quoted"]) == (None, None, 1)
    assert chat.messages()[0].text == SAID


def test_an_export_brings_quotations_along_and_a_merge_brings_notes(kb: Any, alice: Any, chat: Any) -> None:
    made = quote(alice, chat, OSLO, said_on="2026-03-01")
    file = io.StringIO()
    alice.export(file)
    restored, merged = kb.book("bob"), kb.book("carol")
    restored.import_(io.StringIO(file.getvalue()))
    assert of(restored.get(made.id)) == of(made)
    merged.remember("Something of her own")
    merged.import_(io.StringIO(file.getvalue()), merge=True)
    (memory,) = [one for one in merged.list() if "Oslo" in one.content]
    assert of(memory) == ("I live in Oslo now", False, (), None), "its chat did not come along"


# --- named and shown


@pytest.mark.parametrize(
    "ref",
    [
        "“I live in Oslo now” (said 1 Mar 2026)", "live in Oslo", "“I live in Oslo now”",
        "(how many hives do you have?) “Fourteen”", "my salary is 61,000", "“my salary is [61,000]”",
    ],
)  # fmt: skip
def test_a_line_is_named_by_its_words_whatever_marks_they_are_repeated_with(alice: Any, chat: Any, ref: str) -> None:
    lines = [
        quote(alice, chat, OSLO, said_on="2026-03-01"),
        quote(alice, chat, Span(2, 11, 38, "question"), Span(3, 0, 8, "said")),
        quote(alice, chat, PAY),
    ]
    assert alice.forget(ref).id in {line.id for line in lines}
    with pytest.raises(NotFound):
        alice.forget("“I live in Bergen” (said 1 Mar 2026)")


def test_a_block_quotes_and_says_so_once(alice: Any, chat: Any) -> None:
    quote(alice, chat, OSLO, origin=READER, said_on="2026-03-01", category="profile")
    note = alice.remember("Plays the cello", category="profile")
    before = alice.block()
    assert before.count("Lines in “ ” are quoted") == 1
    assert "“I live in Oslo now” (said 1 Mar 2026)" in before.split("\n- ")[-1][11:]
    assert "(inferred)" not in alice.block(preset="coach")
    assert chat.inject() == before
    rendered = alice.rendered()
    (line,) = [line for line in rendered.lines if line.id not in (None, note.id)]
    assert (line.kind, line.text, line.version) == ("line", "“I live in Oslo now” (said 1 Mar 2026)", 1)


def test_what_a_chat_was_given_is_kept_as_lines(alice: Any, chat: Any) -> None:
    quote(alice, chat, OSLO)
    alice.remember("Plays the [cello] - \\ `x` “y”", category="preference", subject="music")
    for preset in ("general", "coach", "advisor", "assistant"):
        alice.configure(preset=preset)
        fresh = alice.threads.start()
        text, rendered = fresh.inject(), alice.rendered()
        block = chat_block(alice, fresh.thread)
        assert block is not None
        assert (block.text, block.lines) == (text, rendered.lines)
