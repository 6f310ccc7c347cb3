"""Questions with choices: what each answer does, and that nothing else answers them."""

from typing import Any

import pytest

from keepbook import Conflict, Invalid, NotAllowed
from keepbook.book.ground.when import stamp
from keepbook.book.memory import proposals, review
from keepbook.book.memory.proposals import Proposal
from keepbook.book.recall.forgotten import forgotten, turns_not_recalled

THEN = "2025-06-01T00:00:00.000000Z"


def ask(book: Any, question: str, op: str, content: str, **told: Any) -> Any:
    with book.writing() as (tx, _):
        return proposals.ask_question(tx, stamp(tx.clock()), question=question, op=op, content=content, **told)


def choices(proposal: Any) -> list[str]:
    return [one.choice for one in proposal.choices]


def kept(book: Any) -> list[str]:
    return [memory.content for memory in book.list()]


# --- keep


def test_keep_makes_it_the_persons_word_said_in_the_chat(alice: Any) -> None:
    chat = alice.thread("talk")
    asked = ask(alice, "keep", "add", "My dog is called Rex", thread_id=chat.id, turn_ids=["1"], made_by="offline")
    assert choices(asked) == ["keep", "no"]
    written = alice.proposals.answer(asked.id, "keep")
    assert (written.content, written.source, written.confidence) == ("My dog is called Rex", "chat", "asserted")
    assert (written.thread_id, written.turn_ids, written.made_by) == (chat.id, ("1",), "offline")
    assert alice.proposals.get(asked.id).status == "accepted"
    alice.undo(written.event)
    assert kept(alice) == []
    assert alice.proposals.get(asked.id).status == "accepted", "an answer is not asked again by itself"


def test_no_is_remembered_and_not_asked_again(alice: Any) -> None:
    asked = ask(alice, "keep", "add", "My dog is called Rex")
    answered = alice.proposals.answer(asked.id, "no")
    assert isinstance(answered, Proposal)
    assert (answered.status, kept(alice)) == ("declined", [])
    assert ask(alice, "keep", "add", "My dog is called Rex") is None
    with alice.reading() as (tx, _, _):
        assert proposals.declined_contents(tx) == ["My dog is called Rex"]
    assert alice.proposals.reopen(asked.id).status == "waiting"


def test_a_period_that_the_words_gave_is_kept(alice: Any) -> None:
    asked = ask(alice, "keep", "add", "I am in Rome", valid_from=THEN, valid_until="2090-01-01T00:00:00.000000Z")
    written = alice.proposals.answer(asked.id, "keep")
    assert (written.valid_from.year, written.valid_until.year) == (2025, 2090)


# --- over


def over(book: Any, op: str = "end", **told: Any) -> Any:
    old = book.remember("I work at Equinor as a geologist", valid_from="2020")
    new = book.remember("I work at a bakery")
    return old, new, ask(book, "over", op, "I work at a bakery", memory_id=old.id, beside=new.id, **told)


def test_both_changes_nothing_and_is_not_asked_again(alice: Any) -> None:
    old, new, asked = over(alice)
    assert choices(asked) == ["both", "over"]
    events = len(alice.ledger())
    assert alice.proposals.answer(asked.id, "both").status == "declined"
    assert (kept(alice), len(alice.ledger())) == ([old.content, new.content], events)
    assert ask(alice, "over", "end", "I work at a bakery", memory_id=old.id) is None
    with alice.reading() as (tx, _, _):
        assert proposals.declined_contents(tx) == [], "nobody declined the new line"


@pytest.mark.parametrize("since", [THEN, None])
def test_over_ends_the_old_line_from_when_the_new_one_holds(alice: Any, clock: Any, since: str | None) -> None:
    old, new, asked = over(alice, valid_from=since)
    ended = alice.proposals.answer(asked.id, "over")
    assert (ended.id, ended.content, ended.current) == (old.id, old.content, False)
    assert ended.valid_until <= clock.now
    assert since is None or stamp(ended.valid_until) == since
    assert alice.get(new.id).current
    assert alice.undo(ended.event).current


def test_change_is_offered_where_the_old_line_could_say_it(alice: Any) -> None:
    old, _, asked = over(alice, "update")
    assert choices(asked) == ["both", "over", "change"]
    assert asked.choices[-1].label == "Change it to “I work at a bakery”"
    changed = alice.proposals.answer(asked.id, "change")
    assert (changed.id, changed.version, changed.content) == (old.id, 2, "I work at a bakery")


# --- change


@pytest.mark.parametrize(
    ("choice", "lines", "status"),
    [
        ("change", ["My salary is 65,000"], "accepted"),
        ("both", ["My salary is 60,000", "My salary is 65,000"], "accepted"),
        ("no", ["My salary is 60,000"], "declined"),
    ],
)
def test_a_change_is_made_kept_beside_or_not_at_all(alice: Any, choice: str, lines: list[str], status: str) -> None:
    old = alice.remember("My salary is 60,000")
    asked = ask(alice, "change", "update", "My salary is 65,000", memory_id=old.id)
    assert choices(asked) == ["change", "both", "no"]
    alice.proposals.answer(asked.id, choice)
    assert (kept(alice), alice.proposals.get(asked.id).status) == (lines, status)


# --- which


def which(book: Any, op: str, **told: Any) -> Any:
    lines = [book.remember(content) for content in ("Has a red car", "Has a blue car", "Has a bike")]
    pairs = [(line.id, line.content) for line in lines[:2]]
    return lines, ask(book, "which", op, "forget the car", lines=pairs, **told)


def test_the_line_that_is_meant_is_forgotten(alice: Any) -> None:
    lines, asked = which(alice, "forget", thread_id="t", turn_ids=["3"])
    assert choices(asked) == [lines[0].id, lines[1].id, "all", "none"]
    assert [one.label for one in asked.choices[:2]] == ["Has a red car", "Has a blue car"]
    gone = alice.proposals.answer(asked.id, lines[1].id)
    assert (gone.id, gone.state) == (lines[1].id, "archived")
    assert kept(alice) == ["Has a red car", "Has a bike"]
    with alice.reading() as (tx, _, _):
        assert (turns_not_recalled(tx), forgotten(tx).matters) == ({}, ()), "it forgot a line, not a matter"


def test_all_is_every_line_that_is_still_there(alice: Any) -> None:
    lines, asked = which(alice, "end", valid_until=THEN)
    alice.forget(lines[0].id)
    ended = alice.proposals.answer(asked.id, "all")
    assert ended.id == lines[1].id
    assert not ended.current
    assert alice.get(lines[2].id).current


def test_none_does_nothing_and_the_same_order_is_asked_about_again(alice: Any) -> None:
    lines, asked = which(alice, "forget")
    pairs = [(line.id, line.content) for line in lines[:2]]
    assert ask(alice, "which", "forget", "forget the car", lines=pairs) is None, "it waits already"
    assert alice.proposals.answer(asked.id, "none").status == "declined"
    assert len(kept(alice)) == 3
    assert ask(alice, "which", "forget", "forget the car", lines=pairs) is not None


def test_one_of_several_is_updated_and_never_all(alice: Any) -> None:
    lines, asked = which(alice, "update")
    assert "all" not in choices(asked)
    assert alice.proposals.answer(asked.id, lines[0].id).content == "forget the car"
    with pytest.raises(Invalid):
        which(alice, "add")


def test_a_line_that_is_deleted_for_good_takes_the_questions_that_name_it_along(alice: Any) -> None:
    lines, asked = which(alice, "forget")
    alice.delete(lines[1].id, forever=True)
    assert alice.proposals.list() == []
    _, new, _ = over(alice)
    alice.delete(new.id, forever=True)
    assert alice.proposals.list() == []
    assert asked is not None


# --- answering


def test_accept_and_decline_mean_the_yes_and_the_no_of_each_kind(alice: Any) -> None:
    old, _, asked = over(alice)
    assert not alice.proposals.accept(asked.id).current
    again = ask(alice, "over", "end", "I work at a bakery", memory_id=old.id)
    assert alice.proposals.decline(again.id).status == "declined"
    change = ask(alice, "change", "update", "I work at a shop", memory_id=old.id)
    assert alice.proposals.accept(change.id, both=True).id != old.id
    _, several = which(alice, "forget")
    alice.proposals.accept(several.id)
    assert "Has a red car" not in kept(alice)


def test_a_plain_proposal_is_answered_with_yes_and_no(alice: Any) -> None:
    said = alice.remember("Keeps six months in cash")
    with alice.writing() as (tx, _):
        now = stamp(tx.clock())
        new = proposals.propose(tx, now, nature="proposal", op="add", content="Has a dog", turn_ids=[])
        other = proposals.propose(
            tx, now, nature="conflict", op="update", content="Keeps a year in cash", turn_ids=[], memory_id=said.id
        )
    assert (new.question, new.choices) == (None, ())
    assert alice.proposals.answer(new.id, "yes").source == "profile"
    assert alice.proposals.answer(other.id, "no").status == "declined"


def test_an_unknown_choice_is_refused_with_those_there_are(alice: Any) -> None:
    asked = ask(alice, "keep", "add", "My dog is called Rex")
    with pytest.raises(Invalid, match="keep, no") as refused:
        alice.proposals.answer(asked.id, "maybe")
    assert refused.value.field == "choice"
    assert alice.proposals.get(asked.id).status == "waiting"


def test_a_question_is_answered_once(alice: Any) -> None:
    asked = ask(alice, "keep", "add", "My dog is called Rex")
    alice.proposals.answer(asked.id, "keep")
    for again in (lambda: alice.proposals.answer(asked.id, "no"), lambda: alice.proposals.accept(asked.id)):
        with pytest.raises(Conflict) as decided:
            again()
        assert decided.value.code == "decided"


def test_only_the_person_answers(kb: Any, alice: Any) -> None:
    asked = ask(alice, "keep", "add", "My dog is called Rex")
    with pytest.raises(NotAllowed):
        kb.book("alice", by="agent").proposals.answer(asked.id, "keep")
    assert kept(alice) == []


def test_an_unanswered_question_is_gone_after_thirty_days(kb: Any, alice: Any, clock: Any) -> None:
    old, _, asked = over(alice)
    assert [one.id for one in review.first(alice, 5)] == [asked.id]
    clock.forward(days=31)
    kb.sweep()
    assert alice.proposals.get(asked.id).status == "expired"
    assert alice.get(old.id).current, "if nothing is answered, both stay"


def test_what_is_offered_as_a_quotation_becomes_one(alice: Any) -> None:
    chat = alice.thread("talk")
    chat.add("user", "ok so my dog is called Rex, and we moved to Oslo")
    dog, home = [[1, 6, 26, "said"]], [[1, 32, 48, "said"]]
    asked = ask(alice, "keep", "add", "my dog is called Rex", thread_id=chat.id, spans=dog, said_on="2026-03-01")
    assert (asked.quoted, asked.spans, asked.said_on) == (True, ((1, 6, 26, "said"),), "2026-03-01")
    written = alice.proposals.answer(asked.id, "keep")
    assert (written.content, written.quoted, written.said_on) == ("my dog is called Rex", True, "2026-03-01")
    assert (written.source, written.turn_ids, written.spans) == ("chat", ("1",), ((1, 6, 26, "said"),))
    old = alice.remember("Lives in Bergen")
    change = ask(alice, "change", "update", "we moved to Oslo", memory_id=old.id, thread_id=chat.id, spans=home)
    changed = alice.proposals.answer(change.id, "change")
    assert (changed.id, changed.content, changed.quoted) == (old.id, "we moved to Oslo", True)


def test_what_was_offered_of_a_chat_that_is_gone_becomes_a_note(alice: Any) -> None:
    asked = ask(alice, "keep", "add", "My dog is called Rex", thread_id="gonegone", spans=[[1, 0, 20, "said"]])
    written = alice.proposals.answer(asked.id, "keep")
    assert (written.content, written.quoted) == ("My dog is called Rex", False)
    assert not ask(alice, "keep", "add", "My cat is called Tom").quoted


def test_a_question_needs_what_it_is_about(alice: Any) -> None:
    about = {"over": None, "change": None, "whether": "abcdefgh"}
    for question, memory_id in about.items():
        with pytest.raises(Invalid):
            ask(alice, question, "update", "I work at a bakery", memory_id=memory_id)
