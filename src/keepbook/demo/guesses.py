"""A chapter of the story: forecasts about a household, by its person and a friend.

Most have been answered, so that the page can show how good the percentages were. One is due and waits for an answer,
some are open, and one was changed twice.
"""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import NamedTuple

from keepbook.demo.life import Life, StoryStep
from keepbook.demo.plays import Calendar
from keepbook.extensions.agents.book.runs import Run

MYSELF, FRIEND = "Me", "Petra"
ANSWERS: dict[str, bool | None] = {"yes": True, "no": False, "nobody knows": None}
OFFER = "Will the bank offer ten years fixed under 2.9 % before the year is over?"


class Guess(NamedTuple):
    """A forecast. `made` and `due` are days from the end of the story; `came` is the answer, "" if there is none."""

    made: int
    due: int
    by: str
    likely: float
    question: str
    came: str = ""
    reason: str = ""


GUESSES = (
    Guess(-91, -60, MYSELF, 0.9, "Will we have the keys by the end of the month?", "yes"),
    Guess(-90, -45, FRIEND, 0.35, "Will the move cost less than €3,000?", "no", "Nobody's ever does."),
    Guess(-84, -30, MYSELF, 0.75, "Will Lena have a place in the choir school?", "yes"),
    Guess(-80, -50, MYSELF, 0.6, "Will I take the train on at least four of five days?", "yes"),
    Guess(-76, -40, FRIEND, 0.8, "Will Jonas give up the car once he lives in the city?", "no"),
    Guess(-71, -35, MYSELF, 0.3, "Will the notary send the bill before the papers?", "yes"),
    Guess(-66, -28, MYSELF, 0.85, "Will groceries stay under €700 a month?", "yes"),
    Guess(-61, -33, FRIEND, 0.2, "Will you go bouldering more than twice in a month?", "no"),
    Guess(-55, -25, MYSELF, 0.5, "Will the old flat be let again within eight weeks?", "nobody knows",
          "It is not ours any more."),
    Guess(-50, -21, MYSELF, 0.7, "Will the electricity tariff be below 24 cents after the change?", "yes"),
    Guess(-46, -18, FRIEND, 0.65, "Will the kitchen come in time?", "no", "Three firms, one crane."),
    Guess(-38, -10, MYSELF, 0.25, "Will the bank waive the fee if I ask?", "no"),
    Guess(-31, -6, MYSELF, 0.8, "Will I have the buffer back at four months?", "yes"),
    Guess(-26, -4, FRIEND, 0.55, "Will the race be your fastest ten kilometres?", "no"),
    Guess(-24, -1, MYSELF, 0.7, "Will Jonas hear back from the school in time for the term?"),
    Guess(-41, 48, MYSELF, 0.5, OFFER, "", "One cut is priced in, and the offers follow slowly."),
    Guess(-15, 20, FRIEND, 0.4, "Will the cat sleep on the new sofa and nowhere else?"),
    Guess(-8, 75, MYSELF, 0.85, "Will the job ticket still be there in February?"),
)  # fmt: skip
LOOKS = (
    ("-25 20:45", 0.35, 58, "LOWER", "The best offer is 3.0 % and has not moved for a week."),
    ("-11 07:40", 0.45, 64, "RAISE", "A second cut is priced in now; still above 2.9 %, but no longer by much."),
)


def guessing(calendar: Calendar) -> Iterator[StoryStep]:
    """The steps: forecasts are recorded, looked at again, and answered on the evening after the answer was known."""
    at = calendar.moment
    yield StoryStep(at("-92 21:00"), _begin)
    for guess in GUESSES:
        yield StoryStep(at(f"{guess.made:+d} 20:50"), partial(_write_down, guess=guess))
        if guess.came:
            yield StoryStep(at(f"{guess.due + 1:+d} 20:40"), partial(_answer, guess=guess))
    for when, likely, score, action, notes in LOOKS:
        look = {"conviction_score": score, "suggested_action": action, "notes": notes, "probability": likely}
        yield StoryStep(at(when), partial(_look_again, look=look))


def _begin(life: Life) -> None:
    for name in (MYSELF, FRIEND):
        life.book.agents.create(name, adapter="external", card_type="forecast")
        life.clock.wait(20)


def _write_down(life: Life, guess: Guess) -> None:
    due = life.calendar.moment(f"{guess.due:+d} 00:00") + timedelta(hours=18)
    card = {"question": guess.question, "probability": guess.likely, "resolves_by": due.isoformat()}
    life.book.decisions.record(guess.by, card | ({"reason": guess.reason} if guess.reason else {}))


def _answer(life: Life, guess: Guess) -> None:
    life.book.decisions.answer(_run_asking(life, guess.question).id, ANSWERS[guess.came])


def _look_again(life: Life, look: dict[str, object]) -> None:
    life.book.decisions.record_second_look(_run_asking(life, OFFER).id, look)


def _run_asking(life: Life, question: str) -> Run:
    found = (run for by in (MYSELF, FRIEND) for run in life.book.runs.list(by, limit=100))
    return next(run for run in found if run.card is not None and run.card.slots.get("question") == question)
