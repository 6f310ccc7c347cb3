"""What it takes to change a line: ends that are kept, lines that have ended, what is said again, and opposites."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keepbook import Conflict, Invalid, NotAllowed
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes, quotes, review
from keepbook.book.memory.changes import Statement
from keepbook.book.text.quotation import Span
from keepbook.presets import load_preset

TICK = timedelta(microseconds=1)
PERSON = Origin("person", "test")
READER = Origin("extractor", "close", "thread-1", source="extracted")


def do(book: Any, operation: Any, *args: Any, origin: Origin = PERSON, **given: Any) -> Any:
    """An operation that no public face has."""
    with book.writing() as (tx, _):
        return operation(tx, origin, load_preset("general"), *args, **given)


def extract(book: Any, content: str, score: float = 0.8, **given: Any) -> Any:
    said = Statement(content, score=score, made_by="offline", **given)
    return do(book, changes.remember, said, origin=READER)


def contents(book: Any, valid: Any = None) -> list[str]:
    return sorted(memory.content for memory in book.as_of(None, valid))


# --- the end that was set


def test_an_update_that_names_no_end_keeps_the_end_that_was_set(alice: Any) -> None:
    first = alice.remember("Rents a flat in Oslo", valid_until="2090-05-01")
    kept = alice.update(first.id, "Rents a room in Oslo")
    assert kept.valid_until == datetime(2090, 5, 1, tzinfo=UTC)
    assert alice.update(first.id, "Rents a house in Oslo", valid_until="2091").valid_until.year == 2091
    assert alice.update(first.id, "Rents a barn in Oslo", valid_until="").valid_until is None


def test_an_end_that_has_passed_says_nothing_about_new_words(alice: Any) -> None:
    first = alice.remember("Rents a flat in Oslo", valid_from="2020", valid_until="2024")
    moved = alice.update(first.id, "Rents a room in Bergen")
    assert moved.current
    assert moved.valid_until is None
    assert contents(alice, "2022") == ["Rents a flat in Oslo"]


def test_a_line_that_has_ended_is_filed_otherwise_without_beginning_anew(alice: Any) -> None:
    first = alice.remember("Rents a flat in Oslo", valid_from="2020", valid_until="2024")
    filed = alice.update(first.id, "Rents a flat in Oslo", category="profile")
    assert (filed.category, filed.current, filed.valid_until) == ("profile", False, first.valid_until)


def test_a_correction_takes_over_beginning_and_end(alice: Any) -> None:
    first = alice.remember("Her name is Sarah", valid_from="2020", valid_until="2090")
    mended = alice.update(first.id, "Her name is Sara", correction=True)
    assert (mended.valid_from, mended.valid_until) == (first.valid_from, first.valid_until)
    assert contents(alice, "2021") == ["Her name is Sara"]


# --- ending


def test_an_end_is_the_same_words_until_then_in_one_entry_that_is_undone(alice: Any, clock: Any) -> None:
    first = alice.remember("Works at Equinor", subject="job", tags=["work"], body="Since the merger")
    clock.forward(days=30)
    then = clock.now - timedelta(days=1)
    ended = do(alice, changes.end, first.id, then)

    assert (ended.content, ended.version, ended.tags) == ("Works at Equinor", 2, ("work",))
    assert ended.body == "Since the merger"
    assert (ended.valid_from, ended.valid_until, ended.current) == (first.valid_from, then, False)
    assert [entry.action for entry in alice.ledger()] == ["end", "remember"]
    assert contents(alice) == []
    assert contents(alice, then - TICK) == ["Works at Equinor"]
    assert "Equinor" not in alice.block()
    undone = alice.undo(ended.event)
    assert (undone.valid_until, undone.current) == (None, True)
    assert contents(alice) == ["Works at Equinor"]


def test_an_end_before_the_beginning_is_set_one_instant_after_it(alice: Any) -> None:
    first = alice.remember("Works at Equinor", valid_from="2020")
    assert do(alice, changes.end, first.id, "2019").valid_until == first.valid_from + TICK
    assert do(alice, changes.end, first.id, "2018").unchanged


def test_what_an_ended_change_had_replaced_does_not_come_back(alice: Any, clock: Any) -> None:
    first = alice.remember("Lives in Oslo", valid_from="2020")
    alice.update(first.id, "Lives in Bergen", valid_from="2024")
    ended = do(alice, changes.end, first.id, "2025")
    expected = {"2021": ["Lives in Oslo"], "2024-06": ["Lives in Bergen"], "2025-06": []}
    assert {day: contents(alice, day) for day in expected} == expected
    assert "Lives in" not in alice.block()
    alice.undo(ended.event)
    assert contents(alice, "2025-06") == ["Lives in Bergen"]


def test_a_change_that_was_made_for_a_time_gives_its_place_back(alice: Any) -> None:
    first = alice.remember("Lives in Oslo", valid_from="2020")
    alice.update(first.id, "Lives in Bergen", valid_from="2022", valid_until="2024")
    do(alice, changes.end, first.id, "2023")
    expected = {"2021": ["Lives in Oslo"], "2022-06": ["Lives in Bergen"], "2023-06": ["Lives in Oslo"]}
    assert {day: contents(alice, day) for day in expected} == expected


def test_the_reader_of_a_chat_does_not_end_the_persons_word(alice: Any) -> None:
    own = alice.remember("Works at Equinor")
    read = extract(alice, "Plays the cello")
    with pytest.raises(NotAllowed) as refused:
        do(alice, changes.end, own.id, "2090", origin=READER)
    assert refused.value.code == "protected"
    assert do(alice, changes.end, read.id, "2090", origin=READER).source == "extracted"


@pytest.mark.parametrize("word", ["confirm", "promote"])
def test_who_ends_what_they_had_confirmed_says_it_themself(alice: Any, word: str) -> None:
    read = extract(alice, "Plays the cello")
    getattr(alice, word)(read.id)
    ended = do(alice, changes.end, read.id, "2090")
    assert (ended.source, ended.score, ended.confidence) == ("profile", None, "asserted")
    back = alice.undo(ended.event)
    assert (back.source, back.valid_until) == ("extracted", None)


def test_an_agent_that_would_end_the_persons_word_leaves_a_proposal(kb: Any, alice: Any) -> None:
    own = alice.remember("Works at Equinor")
    agent = kb.book("alice", by="agent")
    with pytest.raises(NotAllowed) as refused:
        do(agent, changes.end, own.id, "2090", origin=agent.origin)
    proposal = alice.proposals.get(refused.value.details["proposal"])
    assert (proposal.op, proposal.memory_id, proposal.valid_until) == ("end", own.id, "2090-01-01T00:00:00.000000Z")
    assert alice.proposals.accept(proposal.id).valid_until.year == 2090


# --- a line that has ended is not known


def test_an_ended_line_said_again_gets_a_new_version_from_that_day(alice: Any, clock: Any) -> None:
    first = alice.remember("Works at Equinor", tags=["work"], valid_from="2020", valid_until="2024")
    again = alice.remember("works at Equinor", tags=["oil"])

    assert (again.id, again.version, again.unchanged, again.similar) == (first.id, 2, False, ())
    assert (again.valid_until, again.current, again.tags) == (None, True, ("oil", "work"))
    assert [entry.action for entry in alice.ledger()] == ["remember", "remember"]
    expected = {"2021": ["Works at Equinor"], "2025": []}
    assert {day: contents(alice, day) for day in expected} == expected
    assert contents(alice) == ["works at Equinor"]
    alice.undo(again.event)
    assert contents(alice) == []
    given = alice.remember("Works at Equinor", valid_from="2025", valid_until="2090")
    assert (given.id, given.valid_from.year, given.valid_until.year) == (first.id, 2025, 2090)


def test_an_ended_line_is_neither_similar_nor_an_opposite(alice: Any) -> None:
    alice.configure(preset="assistant")
    alice.remember("Likes to travel by night train through the Alps", subject="trips", valid_until="2090")
    with pytest.raises(Conflict):
        alice.remember("Likes to travel by night train through the high Alps", subject="trips")
    (known,) = alice.list()
    do(alice, changes.end, known.id, "2021")
    fresh = alice.remember("Likes to travel by night train through the high Alps", subject="trips")
    assert fresh.similar == ()
    alice.remember("Smokes", valid_from="2019", valid_until="2020")
    assert alice.get(alice.remember("Does not smoke").id).links == ()


def test_what_begins_later_is_known(alice: Any) -> None:
    first = alice.remember("Works at Equinor", valid_from="2090")
    assert alice.remember("Works at Equinor").id == first.id


def test_the_past_said_twice_is_one_line_and_another_past_another(alice: Any) -> None:
    first = alice.remember("Lived in Rome", valid_from="2010", valid_until="2012")
    assert alice.remember("Lived in Rome", valid_from="2010", valid_until="2012").unchanged
    assert alice.remember("Lived in Rome", valid_from="2015", valid_until="2016").id != first.id


def test_a_past_period_does_not_end_the_line_that_holds(alice: Any) -> None:
    first = alice.remember("Lives in Oslo")
    past = alice.remember("Lives in Oslo", valid_from="2010", valid_until="2012")
    assert past.id != first.id
    assert alice.get(first.id).current


def test_the_reader_begins_no_ended_line_of_the_persons_anew_but_one_beside_it(alice: Any) -> None:
    own = alice.remember("Works at Equinor", valid_from="2020", valid_until="2024")
    found = extract(alice, "Works at Equinor")
    assert found.id != own.id
    assert (alice.get(own.id).version, found.current) == (1, True)
    read = extract(alice, "Plays the cello", valid_from="2020", valid_until="2024")
    assert extract(alice, "Plays the cello").id == read.id


# --- said again


def test_a_repeat_confirms_and_merges_what_is_new(alice: Any) -> None:
    first = alice.remember("Works at Equinor", tags=["work"], body="In Stavanger", metadata={"a": "1"})
    again = alice.remember(
        "works at equinor", category="profile", tags=["oil"], body="On the rig", metadata={"b": "2"}, importance=0.9,
        valid_from="2020", valid_until="2090",
    )  # fmt: skip

    assert (again.id, again.version, again.unchanged) == (first.id, 2, False)
    assert (again.content, again.category) == ("Works at Equinor", first.category)
    assert (again.tags, again.metadata, again.importance) == (("oil", "work"), {"a": "1", "b": "2"}, 0.9)
    assert again.body == "In Stavanger\nOn the rig"
    assert (again.valid_from.year, again.valid_until.year) == (2020, 2090)
    assert again.last_confirmed_at is not None
    assert len(alice.ledger()) == 2
    assert contents(alice, "2021") == ["Works at Equinor"]
    undone = alice.undo(again.event)
    assert (undone.tags, undone.importance, undone.last_confirmed_at) == (("work",), 0.5, None)


def test_of_two_beginnings_that_were_given_the_earlier_stays(alice: Any) -> None:
    alice.remember("Works at Equinor", valid_from="2020")
    assert alice.remember("Works at Equinor", valid_from="2023").valid_from.year == 2020
    assert alice.remember("Works at Equinor", valid_from="2018").valid_from.year == 2018


def test_a_repeat_with_another_importance_alone_makes_no_version(alice: Any) -> None:
    first = alice.remember("Works at Equinor")
    again = alice.remember("Works at Equinor", importance=0.9)
    assert (again.id, again.version, again.importance, again.unchanged) == (first.id, 1, 0.9, False)


def test_whose_it_is_tells_two_lines_with_the_same_words_apart(alice: Any) -> None:
    mine = alice.remember("Is allergic to nuts")
    hers = alice.remember("Is allergic to nuts", subject="Anna")
    his = alice.remember("Is allergic to nuts", subject="Tom")
    assert len({mine.id, hers.id, his.id}) == 3
    assert alice.remember("is allergic to nuts", subject=" anna ").id == hers.id
    named = alice.remember("Anna lives in Oslo")
    again = alice.remember("Anna lives in Oslo", subject="Anna")
    assert (again.id, again.subject) == (named.id, "Anna")


def test_what_the_reader_finds_again_fades_from_then_on_and_is_not_confirmed(alice: Any, clock: Any) -> None:
    first = extract(alice, "Plays the cello", 0.8, category="fact")
    clock.forward(days=100)
    faded = alice.get(first.id).effective_score
    again = extract(alice, "plays the cello", 0.7, category="profile")
    assert (again.id, again.unchanged, again.score) == (first.id, True, 0.8)
    assert faded < 0.7
    assert again.effective_score == pytest.approx(0.8)
    assert again.last_confirmed_at is None
    assert review.count_waiting(alice) == 1


def test_the_reader_that_finds_the_persons_word_again_leaves_it_alone(alice: Any) -> None:
    own = alice.remember("Plays the cello")
    again = extract(alice, "plays the cello", tags=["music"])
    assert (again.id, again.unchanged, again.event, again.tags) == (own.id, True, None, ())


def test_who_types_what_an_agent_had_saved_makes_it_their_own_word(kb: Any, alice: Any) -> None:
    saved = kb.book("alice", by="agent").remember("Plays the cello")
    assert saved.source == "chat"
    own = alice.remember("Plays the cello")
    assert (own.id, own.source, own.unchanged) == (saved.id, "profile", False)
    with pytest.raises(NotAllowed):
        kb.book("alice", by="agent").forget(saved.id)


def test_an_agent_adds_to_what_agents_saved(kb: Any, alice: Any) -> None:
    agent = kb.book("alice", by="agent")
    saved = agent.remember("Plays the cello", tags=["music"])
    again = agent.remember("Plays the cello", tags=["strings"])
    assert (again.id, again.tags, again.last_confirmed_at) == (saved.id, ("music", "strings"), None)
    assert agent.remember("Plays the cello").event is None


def test_a_reader_may_say_which_line_its_other_words_repeat(alice: Any) -> None:
    own = alice.remember("Works at Equinor")
    said = do(alice, changes.repeat_memory, own.id, Statement("I'm at Equinor, as an engineer", tags=["job"]))
    assert (said.id, said.content, said.tags) == (own.id, "Works at Equinor", ("job",))


def test_who_types_what_was_quoted_of_them_repeats_it_and_leaves_the_quotation(alice: Any) -> None:
    chat = alice.thread("talk")
    chat.add("user", "My salary is 60,000 a year, sorry, 65,000")
    spans = [Span(1, 0, 12, "said"), Span(1, 35, 41, "exchanged"), Span(1, 20, 26, "said")]
    said = do(alice, quotes.quote, Statement("", score=0.9), chat.id, spans, origin=replace(READER, thread_id=chat.id))
    assert said.content == "My salary is [65,000] a year"
    own = alice.remember("my salary is 65,000 a year", tags=["money"])
    assert (own.id, own.content, own.quoted, own.spans) == (said.id, said.content, True, said.spans)
    assert (own.source, own.tags) == ("profile", ("money",))
    ended = do(alice, changes.end, said.id, "2090")
    assert (ended.quoted, ended.spans, ended.content) == (True, said.spans, said.content)


# --- which version is meant


@pytest.mark.parametrize("verb", ["forget", "restore"])
def test_who_forgets_or_restores_must_have_read_what_is_there(alice: Any, verb: str) -> None:
    first = alice.remember("Works at Equinor")
    alice.update(first.id, "Works at Statoil")
    if verb == "restore":
        alice.forget(first.id)
    with pytest.raises(Conflict) as stale:
        getattr(alice, verb)(first.id, expect_version=1)
    assert (stale.value.code, stale.value.details["current"]) == ("version", 2)
    assert getattr(alice, verb)(first.id, expect_version=2).event is not None


def test_who_ends_must_have_read_what_is_there(alice: Any) -> None:
    first = alice.remember("Works at Equinor")
    with pytest.raises(Conflict) as stale:
        do(alice, changes.end, first.id, "2090", expect_version=3)
    assert stale.value.code == "version"
    with pytest.raises(Invalid):
        do(alice, changes.end, first.id, None)
    assert do(alice, changes.end, first.id, "2090", expect_version=1).version == 2


# --- opposites


OPPOSITES = [
    ("Prefers bonds over stocks", "I prefer stocks over bonds"),
    ("never trades alts", "I trade alts sometimes"),
    ("I like opera", "I don't like opera"),
    ("Trades more than 5 times a day", "Trades less than 5 times a day"),
]


@pytest.mark.parametrize(("one", "other"), OPPOSITES)
@pytest.mark.parametrize("preset", ["general", "assistant"])
def test_opposites_both_stand_and_are_linked_whoever_writes(alice: Any, one: str, other: str, preset: str) -> None:
    alice.configure(preset=preset)
    first = alice.remember(one)
    second = extract(alice, other)

    assert second.id != first.id
    (link,) = alice.get(first.id).links
    assert (link.relation, {link.from_id, link.to_id}) == ("contradicts", {first.id, second.id})
    alice.undo(second.event)
    assert alice.get(first.id).links == ()


def test_opposites_of_others_or_of_another_scope_are_not_linked(alice: Any) -> None:
    first = alice.remember("Likes opera")
    alice.remember("Does not like opera", subject="Anna")
    alice.remember("Does not like opera", scope="project")
    assert alice.get(first.id).links == ()


def test_review_shows_opposites_side_by_side_until_one_goes(alice: Any) -> None:
    first = alice.remember("Likes opera")
    second = alice.remember("Doesn't like opera")
    (asked,) = review.first(alice, 10)
    assert {asked.memory.id, asked.against.id} == {first.id, second.id}
    assert review.count_waiting(alice) == 1
    alice.forget(first.id)
    assert list(review.first(alice, 10)) == []
    assert review.count_waiting(alice) == 0
