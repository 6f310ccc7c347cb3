"""Memories, one write at a time: what it stores, what it answers, what it refuses, and how it is read again."""

import inspect
import json
import math
import re
import threading
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from keepbook import Ambiguous, Book, Conflict, Invalid, Keepbook, KeepbookError, NotAllowed, NotFound, to_json
from keepbook.book.ground.open_book import viewing
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes
from keepbook.presets import load_preset

MEMORY = [
    *("id", "category", "subject", "scope", "content", "summary", "body", "metadata", "tags"),
    *("version", "source", "confidence"),
    *("score", "effective_score", "importance", "state", "current", "valid_from", "valid_until", "recorded_at"),
    *("created_at", "updated_at", "last_confirmed_at", "last_referenced_at", "reference_count", "archived_at"),
    *("archived_reason", "thread_id", "turn_ids", "made_by", "stale", "quoted", "spans", "said_on"),
    "written_by",
]
VERSION = [
    *(
        "version",
        "content",
        "summary",
        "body",
        "metadata",
        "tags",
        "source",
        "score",
        "made_by",
        "thread_id",
        "turn_ids",
    ),
    *("valid_from", "valid_until", "recorded_at", "retired_at", "restored_from"),
]

START = datetime(2026, 3, 1, 9, tzinfo=UTC)  # what the clock shows first


def extract(kb: Any, owner: str, content: str, score: float = 0.8, **given: Any) -> Any:
    """Keep what the close of a chat found."""
    origin = Origin("extractor", "chat", "thread-1", source="extracted")
    with kb._database.write(owner) as tx:
        return changes.remember(
            tx, origin, load_preset("general"), changes.Statement(content, score=score, made_by="rules", **given)
        )


def extractor(book: Any) -> Any:
    return book.acting(actor="extractor", door="chat", source="extracted")


def contents(memories: Any) -> list[str]:
    return [memory.content for memory in memories]


# --- the shape


def test_a_statement_holds_the_keywords_of_remember_and_update() -> None:
    said = inspect.signature(changes.Statement).parameters
    asked = inspect.signature(Book.remember).parameters
    anew = inspect.signature(Book.update).parameters
    in_words = {"since", "until"}  # the same two instants as valid_from and valid_until
    assert list(said) == [*(name for name in list(asked)[1:] if name not in in_words), "score", "made_by"]
    for method in (asked, anew):
        shared = [name for name in method if name in said]
        assert {name: method[name].default for name in shared} == {name: said[name].default for name in shared}
    assert set(anew) - set(said) == {"self", "ref", "correction", "expect_version", *in_words}


def test_a_memory_has_one_shape_in_python_and_in_json(alice: Any) -> None:
    written = alice.remember("Prefers index funds", category="preference", turn_ids=["t1", 2])
    page = alice.list()
    whole = alice.get(written.id)

    assert list(to_json(page)) == ["memories", "total", "next"]
    assert list(to_json(page)["memories"][0]) == MEMORY
    assert to_json(page)["memories"] == to_json(list(page)), "what is given on unread is what a reader would be given"
    assert (page[0], page.items[:1], len(page.items)) == (next(iter(page)), list(page)[:1], len(page))
    assert list(to_json(written)) == [*MEMORY, "event", "unchanged", "similar", "notice", "capped"]
    assert list(to_json(whole)) == [*MEMORY, "versions", "links"]
    assert list(to_json(whole)["versions"][0])[: len(VERSION)] == VERSION
    assert list(to_json(alice.as_of()[0])) == MEMORY
    assert list(to_json(alice.recall("funds")[0])) == [*MEMORY, "relevance", "reasons", "likeness"]
    assert all(hasattr(whole, name) for name in [*MEMORY, "versions", "links"])
    json.dumps(to_json([written, page, whole]), allow_nan=False)


def test_a_new_memory_has_the_defaults_of_the_spec(alice: Any) -> None:
    written = to_json(alice.remember("Prefers index funds"))
    at = "2026-03-01T09:00:00.000000Z"

    assert re.fullmatch("[A-Za-z0-9]{8}", written.pop("id"))
    assert isinstance(written.pop("event"), int)
    assert written == {
        "category": "fact",
        "subject": None,
        "scope": None,
        "content": "Prefers index funds",
        "summary": None,
        "body": None,
        "metadata": {},
        "tags": [],
        "version": 1,
        "source": "profile",
        "confidence": "asserted",
        "score": None,
        "effective_score": None,
        "importance": 0.5,
        "state": "active",
        "current": True,
        "valid_from": at,
        "valid_until": None,
        "recorded_at": at,
        "created_at": at,
        "updated_at": at,
        "last_confirmed_at": None,
        "last_referenced_at": at,
        "reference_count": 0,
        "archived_at": None,
        "archived_reason": None,
        "thread_id": None,
        "turn_ids": [],
        "made_by": None,
        "stale": False,
        "quoted": False,
        "spans": [],
        "said_on": None,
        "written_by": None,
        "unchanged": False,
        "similar": [],
        "notice": None,
        "capped": False,
    }


def test_every_time_is_iso_8601_in_utc_with_z(alice: Any) -> None:
    written = alice.remember(
        "Lives in Oslo", valid_from="2020-06-01T02:30+02:00", valid_until=date(2030, 1, 1), category="profile"
    )
    alice.confirm(written.id)
    alice.forget(written.id)
    whole = to_json(alice.get(written.id))

    times = [whole[name] for name in MEMORY if name.endswith(("_at", "_from", "_until"))]
    assert len(times) == 8
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", time) for time in times)
    assert (whole["valid_from"], whole["valid_until"]) == (
        "2020-06-01T00:30:00.000000Z",
        "2030-01-01T00:00:00.000000Z",
    )


def test_everything_given_is_stored_and_read_back(alice: Any) -> None:
    given = {
        "content": "Anna takes over the garden project",
        "category": "project",
        "subject": "Garden",
        "summary": "Anna runs the garden",
        "body": "First line\n\tsecond line\r\nthird",
        "confidence": "inferred",
        "importance": 0.9,
        "scope": "gardener",
        "thread_id": "chat-7",
    }
    id = alice.remember(**given, turn_ids=["u1", "u2"]).id
    kept = alice.get(id)

    assert {name: getattr(kept, name) for name in given} == given
    assert kept.turn_ids == ("u1", "u2")


# --- vocabulary


@pytest.mark.parametrize(
    ("preset", "categories", "default"),
    [
        ("general", ["profile", "preference", "person", "project", "context", "fact"], "fact"),
        ("advisor", ["profile", "finance_context", "response_style", "fact"], "fact"),
        ("assistant", ["person", "preference", "context", "project"], "context"),
    ],
)
def test_a_preset_closes_the_list_of_categories(alice: Any, preset: str, categories: list[str], default: str) -> None:
    alice.configure(preset=preset)

    assert alice.remember("Something without a category").category == default
    for category in categories:
        assert alice.remember(f"Something about {category}", category=category).category == category
    for unknown in ("hobby", "Fact", "facts", "finance-context"):
        with pytest.raises(Invalid, match="category") as refused:
            alice.remember("Something of an unknown kind", category=unknown)
        assert refused.value.field == "category"
        assert all(category in refused.value.message for category in categories)
    memory = alice.list()[0]
    with pytest.raises(Invalid, match="category"):
        alice.update(memory.id, "Said otherwise", category="hobby")
    assert alice.list().total == 1 + len(categories)


def test_the_coach_takes_any_short_topic_or_none(alice: Any) -> None:
    alice.configure(preset="coach")

    assert alice.remember("Trades only in the morning").category is None
    assert alice.remember("Risks one percent a trade", category="risk").category == "risk"
    assert alice.remember("Watches the opening range", category="Session 1").category == "Session 1"
    with pytest.raises(Invalid) as refused:
        alice.remember("Has a topic like a novel", category="t" * 201)
    assert refused.value.field == "category"


def test_the_call_outranks_the_installation_which_outranks_the_owner(kb: Any, book_url: str, clock: Any) -> None:
    kb.book("alice").configure(preset="coach")
    kb.book("alice").remember("Trades only in the morning", category="risk")

    assert "What I know about you" in kb.book("alice").block()
    assert "Your stored preferences" in kb.book("alice").block(preset="advisor")
    assert kb.book("bob").remember("Has chosen no preset").category == "fact"
    with Keepbook(book_url, preset="assistant", clock=clock) as other:
        assert "Your Memory" in other.book("alice").block()
        assert "Your stored preferences" in other.book("alice").block(preset="advisor")
        assert other.book("alice").remember("Goes to Rome in May", force=True).category == "context"


# --- limits

BODY = 64 * 1024

EDGES = [
    # field, the shortest and the longest that is kept, the first beyond on either side
    ("content", "abcd", "x" * 500, ["abc", "  abc\n", "", "x" * 501]),
    ("summary", "s", "s" * 200, ["s" * 201]),
    ("subject", "s", "s" * 200, ["s" * 201]),
    ("body", "b", "b" * BODY, ["b" * (BODY + 1), "é" * (BODY // 2) + "b"]),
]


@pytest.mark.parametrize(("field", "shortest", "longest", "beyond"), EDGES)
def test_a_limit_holds_at_its_edge_and_refuses_one_beyond(
    alice: Any, field: str, shortest: str, longest: str, beyond: list[str]
) -> None:
    base = alice.remember("Something to update")
    for text in (shortest, longest):
        given = {"content": f"About {len(text)} characters", field: text}
        for kept in (alice.remember(**given), alice.update(base.id, **given)):
            assert getattr(alice.get(kept.id), field) == text
    entries = len(alice.ledger())
    for text in beyond:
        for write in (alice.remember, lambda **given: alice.update(base.id, **given)):
            with pytest.raises(Invalid) as refused:
                write(**{"content": "Too much or too little", field: text})
            assert refused.value.field == field
    assert len(alice.ledger()) == entries


def test_the_assistant_wants_five_characters(alice: Any) -> None:
    alice.configure(preset="assistant")

    assert alice.remember("abcde").content == "abcde"
    with pytest.raises(Invalid) as refused:
        alice.remember("abcd")
    assert refused.value.field == "content"


def test_limits_count_characters_not_bytes(alice: Any) -> None:
    long = "𝔘" * 500

    assert alice.get(alice.remember(long, summary="𝔘" * 200, subject="é" * 200).id).content == long
    with pytest.raises(Invalid):
        alice.remember(long + "𝔘")


LINES = ("content", "summary", "subject", "category", "scope")


@pytest.mark.parametrize("mark", ["\x00", "\x01", "\x08", "\x1b", "\x7f", "\x9f", "\ud800"])
def test_control_characters_nul_and_half_surrogates_are_refused_in_every_field(alice: Any, mark: str) -> None:
    alice.configure(preset="coach")
    kept = alice.remember("Something to update")

    for field in (*LINES, "body"):
        given = {"content": "Quite harmless", field: f"some{mark}thing"}
        with pytest.raises(Invalid) as refused:
            alice.remember(**given)
        assert refused.value.field == field
        if field != "scope":
            with pytest.raises(Invalid) as refused:
                alice.update(kept.id, **given)
            assert refused.value.field == field
    assert [entry.action for entry in alice.ledger()] == ["remember", "configure"]


def test_line_breaks_and_tabs_become_spaces_in_a_line_and_stay_in_a_body(alice: Any) -> None:
    text = "one\ttwo\nthree\r\nfour"
    kept = alice.get(alice.remember(f"  {text}\n", summary=text, subject=text, body=f" {text}\n").id)

    assert (kept.content, kept.summary, kept.subject) == ("one two three four",) * 3
    assert kept.body == f" {text}\n"


def test_direction_and_format_characters_are_kept_and_folded_in_the_block_only(alice: Any) -> None:
    text = "pays \u202e001\u202c euros\u200b\u2066 a\ufeff month\u00ad"
    kept = alice.get(alice.remember(text).id)

    assert kept.content == text
    assert "pays 001 euros a month" in alice.block()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.sampled_from("ab 1\t\n\r\x00\x1f\x7f\u0301\u202e\ud800ß𝔘\u00a0文\u200d'\"%_\\"), max_size=12))
@example("x" * 500)
@example("%_'\";--\\")
def test_any_text_is_kept_to_the_character_or_refused(kb: Any, text: str) -> None:
    book = kb.book("any text")
    line = re.sub("\r\n|[\n\r\t]", " ", text).strip()
    forbidden = any(mark < " " or mark == "\x7f" or "\ud800" <= mark <= "\udfff" for mark in line)
    unseen = not any(map(str.isprintable, line.replace(" ", "")))
    if forbidden or not 4 <= len(line) <= 500:
        with pytest.raises(Invalid, match="content"):
            book.remember(text)
    elif not unseen:
        kept = book.get(book.remember(text).id).content
        assert kept.casefold().split() == line.casefold().split()  # said before in another case, it stays so


WRONG = {
    "importance": [-0.01, 1.01, math.nan, math.inf, -math.inf, True, "0.5", []],
    "confidence": ["certain", "Asserted", 1, ["asserted"]],
    "valid_from": ["once upon a time", "2026-13-01", "9999999-01-01", 17],
    "valid_until": ["some day", "2026-02-30", "2026-03-01T09:00:00.000000Z"],
    "content": [None, 5, b"bytes", ["list"]],
    "subject": [5, b"bytes"],
    "summary": [5, {"a": 1}],
    "category": [5],
    "scope": [5],
    "body": [5, b"bytes"],
    "thread_id": [5, ["t"], "a\x00b", "\ud800"],
    "turn_ids": ["u1", 5, [None], [{"id": 1}], ["\ud800"]],
}


@pytest.mark.parametrize("field", WRONG)
def test_a_wrong_value_is_refused_by_the_name_of_its_field(alice: Any, field: str) -> None:
    for value in WRONG[field]:
        with pytest.raises(Invalid) as refused:
            alice.remember(**{"content": "Quite harmless", field: value})
        assert refused.value.field == field
    assert not alice.ledger()


def test_importance_is_kept_to_the_last_digit(alice: Any) -> None:
    for importance in (0, 0.1, 1 / 3, 1):
        id = alice.remember(f"Matters {importance}", importance=importance).id
        assert alice.get(id).importance == importance
        assert alice.update(id, f"Matters still {importance}").importance == importance
        assert alice.update(id, f"Matters less than {importance}", importance=0.25).importance == 0.25


def test_what_ends_before_it_begins_is_refused(alice: Any, clock: Any) -> None:
    for began, ended in [("2026-05-02", "2026-05-01"), ("2026-05-01", "2026-05-01"), (None, "2025-01-01")]:
        with pytest.raises(Invalid) as refused:
            alice.remember("Rents a flat", valid_from=began, valid_until=ended)
        assert refused.value.field == "valid_until"
    kept = alice.remember("Rents a flat", valid_from="2026-05-01", valid_until="2026-05-01T00:00:00.000001Z")
    with pytest.raises(Invalid):
        alice.update(kept.id, "Rents a house", valid_from="2027-01-01", valid_until="2026-12-31")
    with pytest.raises(Invalid):
        alice.update(kept.id, "Rents a house", correction=True, valid_until="2026-04-30")
    assert alice.get(kept.id).version == 1


def test_there_is_no_book_without_an_owner(kb: Any) -> None:
    for owner in (None, "", "  ", " alice", "a\x00b", "a\nb", "\ud800", "x" * 201, 7):
        with pytest.raises(Invalid) as refused:
            kb.book(owner)
        assert refused.value.field == "owner"


@pytest.mark.parametrize("odd", ["\x00", "a\x00b", "\ud800", "%", "_", "'; DROP TABLE memories; --", "é" * 9999])
def test_odd_words_in_a_read_find_nothing_and_break_nothing(alice: Any, odd: str) -> None:
    alice.remember("Something to be left alone", category="profile")
    reads = [
        lambda: alice.get(odd),
        lambda: alice.history(odd),
        lambda: alice.list(category=odd),
        lambda: alice.list(subject=odd),
        lambda: alice.list(state=odd),
        lambda: alice.ledger(memory=odd),
        lambda: alice.ledger(thread=odd),
        lambda: alice.ledger(actor=odd),
        lambda: alice.recall(odd),
        lambda: alice.recall("word", category=odd),
        lambda: alice.block(preset=odd),
        lambda: alice.as_of(known=odd),
        lambda: alice.restore(odd),
        lambda: alice.unlink(odd),
        lambda: alice.link(odd, odd, odd),
    ]
    for read in reads:
        try:
            found = read()
        except KeepbookError:
            continue
        assert not list(found)
    for read in (alice.list, alice.block):
        try:
            assert "left alone" in str(read(scope=odd))
        except Invalid:
            assert not odd.isprintable()


def test_a_session_has_a_readable_name(alice: Any) -> None:
    for session in ("", " ", "s" * 201, None, 5, "\x00", "a\x00b", "\ud800"):
        with pytest.raises(Invalid) as refused:
            alice.inject(session)
        assert refused.value.field == "session"


# --- where it comes from


@pytest.mark.parametrize(
    ("by", "confidence", "source", "kept"),
    [
        ("person", None, "profile", "asserted"),
        ("person", "asserted", "profile", "asserted"),
        ("person", "inferred", "profile", "inferred"),
        ("agent", None, "chat", "asserted"),
        ("agent", "asserted", "chat", "asserted"),
        ("agent", "inferred", "inferred", "inferred"),
    ],
)
def test_the_source_follows_from_who_writes(kb: Any, by: str, confidence: str | None, source: str, kept: str) -> None:
    book = kb.book("alice", by=by, door="mcp")
    first = book.remember("Likes the sea", confidence=confidence, thread_id="chat-1")
    again = book.update(first.id, "Likes the mountains", confidence=confidence)

    assert [(memory.source, memory.confidence, memory.score) for memory in (first, again)] == [(source, kept, None)] * 2
    assert [(entry.actor, entry.door) for entry in book.ledger()] == [(by, "mcp")] * 2


def test_what_a_closed_chat_gave_is_extracted_inferred_and_scored(kb: Any, alice: Any) -> None:
    kept = extract(kb, "alice", "Seems to like jazz", 0.85, confidence="asserted", turn_ids=["u3"])

    whole = alice.get(kept.id)
    assert (whole.source, whole.confidence, whole.score) == ("extracted", "inferred", 0.85)
    assert (whole.made_by, whole.thread_id, whole.turn_ids) == ("rules", "thread-1", ("u3",))
    assert alice.ledger()[0].actor == "extractor"
    for score in (None, -0.1, 1.1, math.nan):
        with pytest.raises(Invalid) as refused:
            extract(kb, "alice", "Seems to like opera", score)
        assert refused.value.field == "score"
    for score in (0, 1):
        assert extract(kb, "alice", f"Seems to like {score} bands", score).score == score


def test_a_caller_cannot_name_a_source_or_another_writer(kb: Any, alice: Any) -> None:
    with pytest.raises(TypeError):
        alice.remember("Likes the sea", source="chat")
    with pytest.raises(Invalid):
        kb.book("alice", by="extractor")


# --- the same and the similar


@pytest.mark.parametrize("again", ["Prefers tea", "  prefers   TEA ", "PREFERS\tTEA", "prefers\ntea"])
def test_what_is_kept_already_is_answered_unchanged_and_confirmed(alice: Any, again: str) -> None:
    first = alice.remember("Prefers tea", category="preference")
    second = alice.remember(again, category="preference")

    assert (second.id, second.unchanged) == (first.id, True)
    assert (second.content, second.version, second.importance) == ("Prefers tea", 1, 0.5)
    assert second.last_confirmed_at is not None
    assert [entry.action for entry in alice.ledger()] == ["confirm", "remember"]
    assert alice.undo(second.event).last_confirmed_at is None


def test_the_same_words_in_another_category_are_the_same_and_in_the_archive_or_another_scope_not(alice: Any) -> None:
    first = alice.remember("Prefers tea", category="preference")
    other = alice.remember("Prefers tea", category="fact")
    assert (other.id, other.category, other.unchanged) == (first.id, "preference", True)
    apart = alice.remember("Prefers tea", category="preference", scope="project")
    alice.forget(first.id)
    anew = alice.remember("Prefers tea", category="preference")

    assert len({first.id, apart.id, anew.id}) == 3
    assert not apart.unchanged
    assert not anew.unchanged


@pytest.mark.parametrize("automatic", ["extracted", "inferred"])
def test_a_person_who_repeats_an_automatic_memory_makes_it_their_own(kb: Any, alice: Any, automatic: str) -> None:
    if automatic == "extracted":
        first = extract(kb, "alice", "Plays the cello")
    else:
        first = kb.book("alice", by="agent").remember("Plays the cello", confidence="inferred")
    repeated = extract(kb, "alice", "plays the cello", 0.9)
    assert (repeated.id, repeated.unchanged, repeated.source) == (first.id, True, automatic)

    own = alice.remember("plays the Cello")
    assert (own.id, own.version, own.source, own.score) == (first.id, repeated.version + 1, "profile", None)
    assert own.event is not None
    assert not own.unchanged
    assert alice.remember("plays the cello").unchanged
    with pytest.raises(NotAllowed):
        extractor(alice).forget(first.id)
    assert alice.get(first.id).versions[0].source == automatic


def test_an_agent_that_repeats_a_person_changes_nothing(kb: Any, alice: Any) -> None:
    first = alice.remember("Plays the cello")

    for confidence in ("asserted", "inferred"):
        again = kb.book("alice", by="agent").remember("plays the cello", confidence=confidence, tags=["music"])
        assert (again.id, again.unchanged, again.source) == (first.id, True, "profile")
        assert (again.event, again.tags, again.last_confirmed_at) == (None, (), None)


FUNDS = "Prefers broad index funds to single stocks for the pension"
BANK, DESIGN = "Works at the bank", "Moved to Design"
TRAIN = "Likes to travel by night train through the Alps"
SIMILAR = {
    # the first, the second, whether the second carries a hint to the first; (content, subject, category)
    "the same subject": ((BANK, "Sara"), (DESIGN, " sara"), True),
    "the same subject in another category": ((BANK, "Sara"), (DESIGN, "Sara", "person"), False),
    "another subject": ((BANK, "Sara"), (DESIGN, "Tom"), False),
    "one word more": ((FUNDS,), (f"{FUNDS} account",), True),
    "one word more in another category": ((FUNDS,), (f"{FUNDS} account", None, "person"), False),
    "four of five words": (("drinks black coffee daily",), ("drinks black coffee daily outside",), True),
    "three of four words": (("drinks black coffee",), ("drinks black coffee outside",), False),
    "another number": (("Pays 300 euros rent a month for it",), ("Pays 400 euros rent a month for it",), False),
    "the opposite": ((TRAIN,), (TRAIN.replace("to", "not to"),), False),
}
similar = pytest.mark.parametrize(("first", "second", "hinted"), SIMILAR.values(), ids=SIMILAR)


def say(book: Any, content: str, subject: str | None = None, category: str = "context", **given: Any) -> Any:
    return book.remember(content, subject=subject, category=category, **given)


@similar
def test_a_write_hints_at_what_is_similar_and_is_kept_all_the_same(
    alice: Any, first: tuple[str, ...], second: tuple[str, ...], hinted: bool
) -> None:
    one = say(alice, *first)
    other = say(alice, *second)

    assert [memory.id for memory in other.similar] == ([one.id] if hinted else [])
    assert other.event is not None
    assert alice.list().total == 2


def test_what_is_forgotten_or_another_owners_is_no_hint(kb: Any, alice: Any) -> None:
    kb.book("bob").remember(FUNDS, subject="Pension")
    alice.forget(alice.remember(FUNDS, subject="Pension").id)

    assert alice.remember(FUNDS + " account", subject="pension").similar == ()


@similar
def test_a_preset_that_asks_first_stores_nothing_similar_without_force(
    alice: Any, first: tuple[str, ...], second: tuple[str, ...], hinted: bool
) -> None:
    alice.configure(preset="assistant")
    one = say(alice, *first)
    if hinted:
        with pytest.raises(Conflict) as asked:
            say(alice, *second)
        assert asked.value.code == "similar"
        assert [memory.id for memory in asked.value.similar] == [one.id]
        assert one.id in asked.value.message
        assert alice.list().total == 1
        assert [entry.action for entry in alice.ledger()] == ["remember", "configure"]
        assert say(alice, *second, force=True).event is not None
    else:
        assert say(alice, *second).event is not None
    assert alice.list().total == 2


def test_a_preset_that_asks_first_does_not_ask_about_a_repeat_or_an_update(alice: Any) -> None:
    alice.configure(preset="assistant")
    one = alice.remember(FUNDS, subject="Pension")

    assert alice.remember(FUNDS.upper(), subject="Pension").unchanged
    assert alice.update(one.id, FUNDS + " account").version == 2


# --- update


def test_an_update_ends_one_version_and_begins_the_next(alice: Any) -> None:
    first = alice.remember(
        "Sarah works in Sales", category="person", subject="Sarah", importance=0.7, thread_id="c1", turn_ids=["u1"]
    )
    second = alice.update(first.id, "Sarah moved to Design", thread_id="c2")
    old, new = alice.history(first.id)

    assert (second.id, second.version, second.created_at) == (first.id, 2, first.created_at)
    assert (second.category, second.subject, second.importance) == ("person", "Sarah", 0.7)
    assert (old.version, old.content, old.thread_id) == (1, "Sarah works in Sales", "c1")
    assert (new.version, new.content, new.thread_id) == (2, "Sarah moved to Design", "c2")
    assert old.retired_at == new.recorded_at == second.recorded_at
    assert new.valid_from == second.recorded_at > old.valid_from
    assert (new.retired_at, new.restored_from) == (None, None)
    assert alice.get(first.id).versions == (old, new)
    assert contents(alice.list()) == ["Sarah moved to Design"]


def test_a_correction_takes_over_the_period_of_what_it_corrects(alice: Any) -> None:
    first = alice.remember("Her name is Sarah", valid_from="2020-01-01", valid_until="2030-01-01")
    second = alice.update(first.id, "Her name is Sara", correction=True)

    assert (second.valid_from, second.valid_until) == (first.valid_from, first.valid_until)
    third = alice.update(first.id, "Her name is Zara", correction=True, valid_from="2021-01-01")
    assert third.valid_from == datetime(2021, 1, 1, tzinfo=UTC)


def test_a_summary_not_given_is_cleared_and_a_body_not_given_is_kept(alice: Any) -> None:
    id = alice.remember("Owns a boat", summary="Boat", body="A blue one").id

    kept = alice.update(id, "Owns two boats")
    assert (kept.summary, kept.body) == (None, "A blue one")
    kept = alice.update(id, "Owns three boats", summary="Boats", body="All blue")
    assert (kept.summary, kept.body) == ("Boats", "All blue")
    kept = alice.update(id, "Owns no boat", summary="", body="")
    assert (kept.summary, kept.body) == (None, None)
    assert [version.body for version in alice.history(id)] == ["A blue one", "A blue one", "All blue", None]


def test_an_update_of_an_old_version_is_a_conflict_that_names_the_current_one(alice: Any) -> None:
    id = alice.remember("Owns a boat").id
    alice.update(id, "Owns two boats", expect_version=1)

    for expected in (1, 3):
        with pytest.raises(Conflict, match="version 2") as conflict:
            alice.update(id, "Owns three boats", expect_version=expected)
        assert conflict.value.details["current"] == 2
    assert alice.update(id, "Owns three boats", expect_version=2).version == 3


def test_an_id_survives_any_number_of_updates(alice: Any) -> None:
    id = alice.remember("Reads book 0").id

    for number in range(1, 12):
        assert alice.update(id, f"Reads book {number}").version == number + 1
    numbers = [version.version for version in alice.history(id)]
    assert numbers == list(range(1, 13))
    assert alice.list().total == 1


# --- forget, delete, restore, confirm, promote, demote


@pytest.mark.parametrize("reason", ["user_deleted", "user_corrected", "agent_forget"])
def test_what_is_forgotten_is_archived_with_its_reason_and_nowhere_else(alice: Any, reason: str) -> None:
    kept = alice.remember("Collects stamps")
    gone = alice.forget(kept.id, reason)

    assert (gone.state, gone.archived_reason) == ("archived", reason)
    assert gone.archived_at == gone.updated_at
    assert not list(alice.list())
    assert alice.block() == ""
    assert alice.recall("stamps") == []
    assert contents(alice.list(state="archived")) == ["Collects stamps"]
    assert alice.get(kept.id).state == "archived"
    back = alice.restore(kept.id)
    assert (back.state, back.archived_at, back.archived_reason) == ("active", None, None)
    assert "stamps" in alice.block()
    assert alice.recall("stamps")


def test_a_reason_nobody_knows_is_refused(alice: Any) -> None:
    id = alice.remember("Collects stamps").id

    with pytest.raises(Invalid) as refused:
        alice.forget(id, "because")
    assert refused.value.field == "reason"
    assert alice.get(id).state == "active"


def test_the_trash_outranks_the_archive_and_restores_to_the_state_before(alice: Any) -> None:
    id = alice.remember("Collects stamps").id
    archived = alice.forget(id, "user_corrected")

    assert alice.delete(id).state == "trash"
    assert not alice.list(state="archived").total
    assert contents(alice.list(state="trash")) == ["Collects stamps"]
    back = alice.restore(id)
    assert (back.state, back.archived_reason, back.archived_at) == (
        "archived",
        "user_corrected",
        archived.archived_at,
    )
    assert alice.restore(id).state == "active"
    assert alice.delete(id).state == "trash"
    assert alice.restore(id).state == "active"


WRITES = [
    lambda book, id: book.update(id, "Collects coins"),
    lambda book, id: book.update(id, "Collects coins", correction=True),
    lambda book, id: book.confirm(id),
    lambda book, id: book.promote(id),
    lambda book, id: book.demote(id),
    lambda book, id: book.link(id, "a friend", "relates_to"),
    lambda book, id: book.link("a friend", id, "relates_to"),
]


@pytest.mark.parametrize("drop", ["forget", "delete"])
def test_what_is_archived_or_in_the_trash_cannot_be_changed(alice: Any, drop: str) -> None:
    alice.remember("Has a friend in Rome")
    id = alice.remember("Collects stamps", confidence="inferred").id
    getattr(alice, drop)(id)
    before = alice.get(id)

    for write in WRITES:
        with pytest.raises(Conflict, match="restore"):
            write(alice, id)
    assert alice.get(id) == before
    assert len(alice.ledger()) == 3


def test_what_is_so_already_is_answered_unchanged(alice: Any) -> None:
    for prepare, again, state in [
        ([], "restore", "active"),
        ([], "promote", "active"),
        (["demote"], "demote", "active"),
        (["forget"], "forget", "archived"),
        (["delete"], "delete", "trash"),
    ]:
        id = alice.remember(f"Collects what one may {again}").id
        for step in prepare:
            getattr(alice, step)(id)
        before, entries = alice.get(id), len(alice.ledger())
        answer = getattr(alice, again)(id)
        assert (answer.unchanged, answer.event, answer.state) == (True, None, state)
        assert alice.get(id) == before
        assert len(alice.ledger()) == entries


def test_the_trash_is_emptied_after_thirty_days(alice: Any, clock: Any) -> None:
    early, late = alice.remember("Collects stamps"), alice.remember("Collects coins")
    trashed = alice.delete(early.id).updated_at
    clock.forward(days=10)
    alice.delete(late.id)

    clock.set(trashed + timedelta(days=30) - timedelta(seconds=1))
    assert alice.purge() == 0
    clock.set(trashed + timedelta(days=30))
    assert alice.purge() == 1
    assert contents(alice.list(state="trash")) == ["Collects coins"]
    assert alice.restore(late.id).state == "active"
    assert_gone(alice, early.id, "stamps")


@pytest.mark.parametrize("drop", ["keep", "forget", "delete"])
def test_deleted_for_ever_is_gone_from_every_read(alice: Any, drop: str) -> None:
    kept = alice.remember("Collects coins", subject="Coins")
    id = alice.remember("Collects stamps", subject="Stamps", summary="stamps", body="stamps of Peru").id
    alice.update(id, "Collects old stamps", summary="old stamps")
    alice.link(id, kept.id, "relates_to")
    alice.inject("chat-1")
    if drop != "keep":
        getattr(alice, drop)(id)

    assert alice.delete(id, forever=True) is None
    assert_gone(alice, id, "stamps")
    assert contents(alice.list()) == ["Collects coins"]


def assert_gone(book: Any, id: str, word: str) -> None:
    for read in (book.get, book.history, book.restore, book.delete, book.confirm):
        with pytest.raises(NotFound):
            read(id)
    assert all(id not in [memory.id for memory in book.list(state=state)] for state in ("active", "archived", "trash"))
    assert not book.recall(word)
    assert not book.recall(word, known="2026-03-01T09:00:30Z", valid="2026-03-01T09:00:30Z")
    everything = json.dumps(to_json([book.ledger(), book.as_of(), book.block(), book.inject("chat-1")]))
    assert word not in everything.casefold()
    assert book.verify().ok


def test_confirming_is_a_persons_word_and_reading_is_not(alice: Any) -> None:
    id = alice.remember("Collects stamps").id
    alice.recall("stamps"), alice.block(), alice.inject("chat-1"), alice.list()
    assert alice.get(id).last_confirmed_at is None

    confirmed = alice.confirm(id)
    assert confirmed.last_confirmed_at == confirmed.updated_at == alice.get(id).last_confirmed_at
    later = alice.confirm(id)
    assert later.last_confirmed_at > confirmed.last_confirmed_at
    assert alice.get(id).version == 1


def test_a_person_promotes_and_demotes(kb: Any, alice: Any) -> None:
    id = extract(kb, "alice", "Seems to like jazz").id

    promoted = alice.promote(id)
    assert (promoted.confidence, promoted.source, promoted.score, promoted.version) == (
        "asserted",
        "extracted",
        0.8,
        1,
    )
    assert alice.demote(id).confidence == "inferred"
    assert [entry.action for entry in alice.ledger()] == ["demote", "promote", "remember"]


def test_the_last_reference_follows_what_counts_as_one(alice: Any) -> None:
    id = alice.remember("Collects stamps", confidence="inferred").id
    other = alice.remember("Collects coins").id

    def moves(step: Any) -> bool:
        before = alice.get(id).last_referenced_at
        step()
        return bool(alice.get(id).last_referenced_at > before)

    assert moves(lambda: alice.update(id, "Collects old stamps", confidence="inferred"))
    assert moves(lambda: alice.confirm(id))
    assert moves(lambda: alice.promote(id))
    assert not moves(lambda: alice.demote(id))
    assert not moves(lambda: alice.link(id, other, "relates_to"))
    assert not moves(lambda: (alice.get(id), alice.list(), alice.recall("stamps"), alice.block(), alice.as_of()))
    assert alice.get(id).reference_count == 0
    assert moves(lambda: alice.inject("chat-1"))
    assert alice.get(id).reference_count == 1
    assert not moves(lambda: alice.inject("chat-1"))
    assert not moves(lambda: alice.forget(id))
    assert moves(lambda: alice.restore(id))
    assert alice.get(id).reference_count == 1


# --- whose word counts


def test_automation_never_overrules_a_person(kb: Any, alice: Any) -> None:
    said = alice.remember("Votes green").id
    promoted = extract(kb, "alice", "Seems to like jazz").id
    alice.promote(promoted)
    confirmed = extract(kb, "alice", "Seems to like opera").id
    alice.confirm(confirmed)
    automatic, agent = extractor(alice), kb.book("alice", by="agent")
    job = alice.acting(actor="job", door="jobs", source="extracted")

    def overwrite(id: str) -> None:
        with kb._database.write("alice") as tx:
            said = changes.Statement("Said by software", score=1.0, made_by="rules")
            changes.update(tx, automatic.origin, load_preset("general"), id, said)

    attempts = [
        overwrite,
        lambda id: agent.update(id, "Read by software", confidence="inferred"),
        *(automatic.forget, job.forget),
        *(automatic.delete, job.delete),
        *(partial(automatic.delete, forever=True), partial(job.delete, forever=True)),
    ]
    for id in (said, promoted, confirmed):
        before = alice.get(id)
        entries = len(alice.ledger())
        weaken = [automatic.demote, job.demote] if before.confidence == "asserted" else []
        for attempt in [*attempts, *weaken]:
            with pytest.raises(NotAllowed):
                attempt(id)
        after = alice.get(id)
        assert (after.versions, after.state, after.confidence) == (before.versions, "active", before.confidence)
        assert len(alice.ledger()) == entries
    assert alice.verify().ok


def test_automation_may_replace_and_forget_its_own(kb: Any, alice: Any) -> None:
    found = extract(kb, "alice", "Seems to like jazz").id
    read = kb.book("alice", by="agent").remember("Seems to like opera", confidence="inferred").id

    with kb._database.write("alice") as tx:
        said = changes.Statement("Seems to love opera", score=0.9, made_by="m")
        again = changes.update(tx, extractor(alice).origin, load_preset("general"), read, said)
    assert (again.source, again.score, again.version) == ("extracted", 0.9, 2)
    assert kb.book("alice", by="agent").update(found, "Likes jazz", confidence="inferred").source == "inferred"
    assert extractor(alice).forget(found, "agent_forget").state == "archived"


def test_a_tool_at_the_persons_turn_acts_on_their_behalf(kb: Any, alice: Any) -> None:
    id = alice.remember("Votes green").id
    agent = kb.book("alice", by="agent").acting(for_person=True)

    changed = agent.update(id, "Votes blue")
    assert (changed.source, changed.confidence) == ("chat", "asserted")
    assert agent.forget(id, "user_corrected").state == "archived"


# --- references


def test_a_memory_is_named_by_its_id_or_a_piece_of_what_it_says(alice: Any) -> None:
    street = alice.remember("Lives in the Lange Straße").id
    alice.remember("Works at the harbour")

    for piece in (street, "Lange Straße", "lange STRASSE", "  lives   in the ", "Straße"):
        assert alice.confirm(piece).id == street
    with pytest.raises(NotFound):
        alice.get("Lange Straße")


def test_a_piece_that_fits_several_lists_them_with_their_ids(alice: Any) -> None:
    ids = [alice.remember(text).id for text in ("Likes red wine", "Likes white wine", "Likes beer")]

    for write in (alice.forget, alice.confirm, alice.delete, lambda piece: alice.update(piece, "Likes water")):
        with pytest.raises(Ambiguous) as several:
            write("WINE")
        assert several.value.candidates == [(ids[0], "Likes red wine"), (ids[1], "Likes white wine")]
        assert all(id in several.value.message for id in ids[:2])
    assert len(alice.ledger()) == 3


def test_an_id_wins_over_a_text_that_holds_it(alice: Any) -> None:
    first = alice.remember("Likes red wine").id
    alice.remember(f"Wrote {first} on a bottle")

    assert alice.confirm(first).content == "Likes red wine"


def test_nothing_fits_an_old_version_an_archived_text_or_another_owner(kb: Any, alice: Any) -> None:
    id = alice.remember("Lives in Oslo").id
    alice.update(id, "Lives in Bergen")
    alice.forget(alice.remember("Has a cat").id)
    foreign = kb.book("bob").remember("Has a dog").id

    for ref in ("Oslo", "a cat", "a dog", foreign, "zzzzzzzz"):
        with pytest.raises(NotFound):
            alice.confirm(ref)
    for ref in ("", "  ", None, 5):
        with pytest.raises(Invalid):
            alice.confirm(ref)
    for read in (alice.get, alice.history, alice.restore):
        with pytest.raises(NotFound):
            read(foreign)


# --- lists and ledgers


def test_a_scope_reads_what_is_unscoped_and_its_own(kb: Any, alice: Any) -> None:
    alice.remember("Speaks Norwegian")
    alice.remember("Plants in rows of roses", scope="gardener")
    alice.remember("Cooks without salt or roses", scope="cook")
    expected = {
        None: ["Speaks Norwegian"],
        "gardener": ["Speaks Norwegian", "Plants in rows of roses"],
        "cook": ["Speaks Norwegian", "Cooks without salt or roses"],
        "nobody": ["Speaks Norwegian"],
    }

    for scope, texts in expected.items():
        page = alice.list(scope=scope)
        assert (contents(page), page.total) == (texts, len(texts))
        shown = alice.block(scope=scope)
        past = alice.block(scope=scope, known=START + timedelta(hours=1), valid=START + timedelta(hours=1))
        injected = alice.inject(f"chat of {scope}", scope=scope)
        for text in expected["gardener"] + expected["cook"]:
            assert (text in shown, text in past, text in injected) == (text in texts,) * 3
        rows = [text for text in texts if "roses" in text]
        assert contents(alice.recall("roses", scope=scope)) == rows
        now = {"known": START + timedelta(hours=1), "valid": START + timedelta(hours=1)}
        assert contents(alice.recall("roses", scope=scope, **now)) == rows


def test_a_list_filters_by_category_subject_and_state(alice: Any) -> None:
    for content, category, subject in [
        ("Sara works in Sales", "person", "Sara"),
        ("Sara likes tea", "preference", "sara"),
        ("Tom works in Design", "person", "Tom"),
        ("Tom has left", "person", "Tom"),
    ]:
        alice.remember(content, category=category, subject=subject)
    alice.forget("Tom has left")

    assert contents(alice.list("person")) == ["Sara works in Sales", "Tom works in Design"]
    assert contents(alice.list(subject="SARA")) == ["Sara works in Sales", "Sara likes tea"]
    assert contents(alice.list(category="person", subject="Sara")) == ["Sara works in Sales"]
    assert contents(alice.list(category="person", state="archived")) == ["Tom has left"]
    assert alice.list(category="fact").total == 0
    with pytest.raises(Invalid):
        alice.list(state="gone")


@pytest.mark.parametrize("limit", [1, 3, 7, 8, 100])
def test_pages_hold_every_memory_once_in_order_of_creation(alice: Any, limit: int) -> None:
    with alice.transaction():
        ids = [alice.remember(f"Fact number {number}").id for number in range(8)]
    seen: list[str] = []
    cursor = None
    while True:
        page = alice.list(limit=limit, cursor=cursor)
        assert len(page) <= limit
        assert page.total == 8 - min(len(seen), 1)
        if not seen:
            alice.forget(page[0].id)  # what is gone from an earlier page moves nothing on the next
        seen += [memory.id for memory in page]
        cursor = page.next
        if cursor is None:
            break
    assert seen == ids


@pytest.mark.parametrize("more", [{}, {"q": "tea"}])
def test_a_cursor_that_is_none_is_refused_and_is_no_end(alice: Any, more: dict[str, str]) -> None:
    alice.remember("Likes tea")
    with pytest.raises(Invalid) as refused:
        alice.list(cursor="zzz", **more)
    assert refused.value.field == "cursor"


def test_a_limit_that_is_no_number_of_lines_is_refused(alice: Any) -> None:
    for wrong in (0, -1, "3", 2.5):
        with pytest.raises(Invalid) as refused:
            alice.list(limit=wrong)
        assert refused.value.field == "limit"


def test_the_ledger_tells_who_did_what_where_newest_first(kb: Any, alice: Any) -> None:
    agent = kb.book("alice", by="agent", door="mcp").acting(thread_id="chat-9", for_person=True)
    first = alice.remember("Lives in Oslo", category="profile")
    other = agent.remember("Has a cat")
    changed = agent.update(first.id, "Lives in Bergen", category="context")
    link = alice.link(first.id, other.id, "relates_to")
    alice.forget(other.id)

    entries = alice.ledger()
    assert [entry.action for entry in entries] == ["forget", "link", "update", "remember", "remember"]
    assert [entry.event for entry in entries] == [5, 4, 3, 2, 1]
    assert [entry.event for entry in alice.ledger(memory=first.id)] == [4, 3, 1]
    assert [entry.event for entry in alice.ledger(thread="chat-9")] == [3, 2]
    assert [entry.event for entry in alice.ledger(actor="agent")] == [3, 2]
    assert [entry.event for entry in alice.ledger(limit=2)] == [5, 4]
    update = alice.ledger(memory=first.id)[1]
    assert (update.event, update.actor, update.door, update.thread_id) == (changed.event, "agent", "mcp", "chat-9")
    assert (update.before["content"], update.after["content"]) == ("Lives in Oslo", "Lives in Bergen")
    assert (update.before["category"], update.after["category"]) == ("profile", "context")
    assert (entries[1].event, entries[1].link_id) == (link.event, link.id)
    assert entries[-1].before is None
    assert kb.book("bob").ledger() == []


def test_writes_in_one_transaction_are_kept_together_or_not_at_all(kb: Any, alice: Any) -> None:
    with alice.transaction():
        id = alice.remember("Lives in Oslo").id
        assert alice.get(id).content == "Lives in Oslo"  # it sees its own writes
    before = alice.list()

    def stopped_half_way() -> None:
        with alice.transaction():
            alice.update(id, "Lives in Bergen")
            alice.remember("Has a cat")
            raise ZeroDivisionError

    def serving_two() -> None:
        with alice.transaction():
            alice.remember("Has a cat")
            kb.book("bob").remember("Belongs to somebody else")

    with pytest.raises(ZeroDivisionError):
        stopped_half_way()
    with pytest.raises(Conflict):
        serving_two()
    assert contents(alice.list()) == contents(before)
    assert len(alice.ledger()) == 1
    assert kb.book("bob").ledger() == []


def test_a_clock_that_jumps_back_does_not_reorder_the_book(alice: Any, clock: Any) -> None:
    first = alice.remember("Lives in Oslo")
    clock.forward(days=-400)
    second = alice.update(first.id, "Lives in Bergen")
    third = alice.remember("Has a cat")

    assert first.recorded_at < second.recorded_at < third.recorded_at
    assert [entry.event for entry in alice.ledger()] == [3, 2, 1]
    clock.set(START + timedelta(days=1))
    assert contents(alice.as_of()) == ["Lives in Bergen", "Has a cat"]
    assert contents(alice.list()) == ["Lives in Bergen", "Has a cat"]
    assert alice.verify().ok


def test_what_is_read_in_one_view_is_of_one_instant_and_nothing_is_written_in_it(alice: Any) -> None:
    alice.remember("Lives in Vienna")
    with viewing(alice):
        assert alice.list().total == 1
        other = threading.Thread(target=alice.remember, args=("Plays the piano",))
        other.start()
        other.join()
        assert alice.list().total == 1, "as it was when the view began"
        with pytest.raises(Conflict, match="nothing is written"):
            alice.remember("Drinks coffee")
    assert alice.list().total == 2
    assert alice.remember("Drinks coffee").event


def test_of_a_flood_of_one_kind_few_are_read(alice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keepbook.book.memory.likeness.similar.MOST_NEAR", 2)
    first = alice.remember("The boiler room of the house has a red pump")
    for place in ("old", "new", "blue", "grey"):
        alice.remember(f"The boiler room of the {place} house has a red pump", force=True)
    again = alice.remember("The boiler room of the house has a red pump")
    assert (again.id, again.unchanged) == (first.id, True)
    assert 1 <= len(alice.remember("The boiler room of the tall house has a red pump").similar) <= 3


def test_what_a_program_prints_of_a_memory_is_one_short_line(alice: Any) -> None:
    written = alice.remember("Lives in Oslo", body="a\nlong text")
    assert str(written) == f"{written.id} Lives in Oslo"
    assert str(alice.undo(written.event)) == str(written)
