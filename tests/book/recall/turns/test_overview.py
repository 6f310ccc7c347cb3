"""What is asked for an overview: many turns, each a little, of all the time there was, the oldest first."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keepbook.book.recall.chats import LEAST_ROOM, LINE, OVERVIEW, PASSAGE, TURNS
from keepbook.book.recall.turns.beside import size_of
from keepbook.book.recall.turns.overview_questions import asks_for_overview, matter_of_overview

MAY = datetime(2023, 5, 8, 13, 0, tzinfo=UTC)
PASTED = "The minutes of a meeting of somebody else, word for word, with all that was agreed there. " * 20
STEPS = ("plan", "measure", "order", "paint", "tile", "wire", "plaster", "clean", "light", "curtain")


def tell_in_long_turns(book: Any) -> None:
    """Something of a matter each week, each with a long text pasted below and a long reply that says it again."""
    for nth in range(40):
        with book.transaction():
            chat = book.thread(f"week {nth}")
            step = f"{STEPS[nth % 10]} {nth}"
            chat.add("user", f"For the kitchen renovation I did {step}.\n\n{PASTED}", MAY + timedelta(weeks=nth))
            reply = f"About {step} of your kitchen renovation: the kitchen renovation needs it. {PASTED}"
            chat.add("assistant", reply, MAY + timedelta(weeks=nth, minutes=1))


@pytest.mark.parametrize(
    "question",
    [
        "In which order did things happen with the kitchen renovation?",
        "Summarize how the kitchen renovation went.",
        "Can you list the order in which I brought up the kitchen renovation in our chats? Mention ONLY five items.",
    ],
)
def test_an_overview_has_all_phases_in_the_room_of_twenty_turns(alice: Any, question: str) -> None:
    tell_in_long_turns(alice)

    hits = alice.recall_chats(question)

    told = [hit for hit in hits if hit.role == "user"]
    assert len(told) >= 36, "of forty"
    assert all("For the kitchen renovation I did" in hit.text for hit in told)
    assert [hit.at for hit in hits] == sorted(hit.at for hit in hits)
    assert all(len(hit.text) <= OVERVIEW for hit in hits)
    assert sum(map(size_of, hits)) <= max(LEAST_ROOM, TURNS * (PASSAGE + LINE))


def test_order_and_number_are_as_asked(alice: Any) -> None:
    tell_in_long_turns(alice)
    question = "Give me an overview of my kitchen renovation"

    best_first = alice.recall_chats(question, order="relevance")
    few = alice.recall_chats(question, 8)

    assert [hit.relevance for hit in best_first] == sorted((hit.relevance for hit in best_first), reverse=True)
    assert len(few) == 8
    assert len({hit.session for hit in few}) == 8, "spread over the weeks"
    assert max(len(hit.text) for hit in few) > OVERVIEW, "few have room for more"


@pytest.mark.parametrize(
    ("question", "matter"),
    [
        ("Walk me through how my move to Lisbon went", "my move to Lisbon"),
        ("Can you provide a comprehensive summary of how my novel has developed?", "novel"),
        ("How has my running progressed since spring?", "running"),
        ("How many roles did I ask for across our conversations?", "roles"),
        ("What was the chronological order of Ada's operations?", "Ada's operations"),
        ("Recap Anna's illness for me", "Anna's illness"),
    ],
)
def test_what_asks_for_an_overview_and_of_what(question: str, matter: str) -> None:
    assert asks_for_overview(question)
    assert matter in matter_of_overview(question)
    assert not {"summary", "order", "across", "walk"} & set(matter_of_overview(question).lower().split())


@pytest.mark.parametrize(
    "question",
    [
        "Which company will deliver the order of wood I placed?",
        "In order to get the visa, what did I need?",
        "In what order should your answers be set out?",
        "Which summaries do I like?",
        "Summarize this article",
        "How could I keep an overview of my spending?",
        "When did I walk through the park?",
        "How did Ada develop the film?",
    ],
)
def test_other_questions_are_asked_as_they_are(question: str) -> None:
    assert not asks_for_overview(question)


def test_an_overview_of_nothing_in_particular_is_asked_as_it_is() -> None:
    assert matter_of_overview("Summarize our conversations") == "Summarize our conversations"
