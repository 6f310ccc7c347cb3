"""What waits for the person's yes or no, and how an answer is taken back."""

from typing import Any

import pytest

from keepbook import Conflict, NotAllowed
from keepbook.book.ground.when import stamp
from keepbook.book.memory import proposals, review


def propose(book: Any, content: str, nature: str = "proposal", op: str = "add", memory_id: str | None = None) -> Any:
    with book.writing() as (tx, _):
        return proposals.propose(
            tx, stamp(tx.clock()), nature=nature, op=op, content=content, turn_ids=[], memory_id=memory_id
        )


def test_conflicts_come_first_then_proposals_then_what_was_read_newest_first(alice: Any) -> None:
    said = alice.remember("Keeps six months in cash")
    older = alice.remember("Dislikes risk", confidence="inferred")
    newer = alice.remember("Prefers mornings", confidence="inferred")
    proposal = propose(alice, "Has a dog")
    conflict = propose(alice, "Keeps two months in cash", "conflict", "update", said.id)

    found = review.first(alice, 10)

    assert [one.id for one in found] == [conflict.id, proposal.id, newer.id, older.id]
    assert found[0].memory.content == "Keeps six months in cash"
    assert found[1].memory is None
    assert review.count_waiting(alice) == 4
    assert [one.id for one in review.first(alice, 2)] == [conflict.id, proposal.id]
    alice.forget(older.id)
    weighs = alice.remember("Is allergic to peanuts", confidence="inferred")
    alice.remember("Likes rain", confidence="inferred")
    assert [one.id for one in review.first(alice, 2)] == [conflict.id, weighs.id], "what could hurt somebody is asked"


@pytest.mark.parametrize("answer", ["promote", "confirm", "forget", "delete"])
def test_an_answered_reading_is_not_asked_again(alice: Any, answer: str) -> None:
    read = alice.remember("Dislikes risk", confidence="inferred")
    getattr(alice, answer)(read.id)
    assert review.count_waiting(alice) == 0
    assert list(review.first(alice, 3)) == []


def test_what_was_deleted_for_good_takes_the_questions_about_it_along(alice: Any) -> None:
    said = alice.remember("Keeps six months in cash")
    propose(alice, "Keeps two months in cash", "conflict", "update", said.id)
    alice.delete(said.id, forever=True)
    assert list(review.first(alice, 3)) == []
    assert review.count_waiting(alice) == 0


def test_a_declined_proposal_waits_again_when_the_no_is_taken_back(alice: Any) -> None:
    proposal = propose(alice, "Has a dog")
    alice.proposals.decline(proposal.id)
    assert review.count_waiting(alice) == 0

    assert alice.proposals.reopen(proposal.id).status == "waiting"

    assert review.count_waiting(alice) == 1
    assert alice.proposals.accept(proposal.id).content == "Has a dog"


def test_a_reopened_proposal_is_gone_after_thirty_days(alice: Any, kb: Any, clock: Any) -> None:
    proposal = propose(alice, "Has a dog")
    alice.proposals.decline(proposal.id)
    clock.forward(days=29)
    review.reopen_answered(alice, proposal.id)
    clock.forward(days=29)
    kb.sweep()
    assert review.count_waiting(alice) == 1
    clock.forward(days=2)
    kb.sweep()
    assert review.count_waiting(alice) == 0


def test_what_still_waits_has_no_answer_to_take_back(alice: Any) -> None:
    proposal = propose(alice, "Has a dog")
    with pytest.raises(Conflict):
        review.reopen_answered(alice, proposal.id)


def test_only_ones_own_book_is_asked_about(kb: Any, alice: Any) -> None:
    kb.book("bob").remember("Dislikes risk", confidence="inferred")
    propose(kb.book("bob"), "Has a dog")
    assert review.count_waiting(alice) == 0
    assert list(review.first(alice, 3)) == []


def test_an_accepted_proposal_is_undone_and_not_reopened(alice: Any) -> None:
    proposal = propose(alice, "Has a dog")
    alice.proposals.accept(proposal.id)
    with pytest.raises(Conflict, match="accepted"):
        alice.proposals.reopen(proposal.id)


def test_a_change_can_be_kept_beside_the_line_that_it_would_have_changed(alice: Any) -> None:
    said = alice.remember("Wife Anna is allergic to walnuts", category="fact")
    proposal = propose(alice, "Is allergic to kiwi", "conflict", "update", said.id)
    new = alice.proposals.accept(proposal.id, both=True)
    assert new.id != said.id
    assert [one.content for one in alice.list()] == ["Wife Anna is allergic to walnuts", "Is allergic to kiwi"]
    assert review.count_waiting(alice) == 0


@pytest.mark.parametrize("op", ["forget", "update"])
def test_a_yes_is_to_the_line_as_it_was_shown(kb: Any, alice: Any, op: str) -> None:
    """A line whose words have changed since is shown once more before the same yes reaches it."""
    line = alice.remember("Prefers index funds")
    agent = kb.book("alice", by="agent")
    with pytest.raises(NotAllowed):
        agent.forget(line.id) if op == "forget" else agent.update(line.id, "Prefers gold")
    alice.update(line.id, "Prefers bonds")
    (waiting,) = alice.proposals.list()
    with pytest.raises(Conflict, match="'Prefers bonds'"):
        alice.proposals.accept(waiting.id)
    assert alice.get(line.id).content == "Prefers bonds"
    assert alice.get(line.id).state == "active"
    (shown,) = alice.proposals.list()
    assert (shown.id, shown.content) == (waiting.id, "Prefers bonds" if op == "forget" else "Prefers gold")
    alice.update(line.id, "Prefers bonds", tags=["money"])
    alice.proposals.accept(waiting.id)
    told = alice.get(line.id)
    assert (told.state, told.content) == (
        ("archived", "Prefers bonds") if op == "forget" else ("active", "Prefers gold")
    )
