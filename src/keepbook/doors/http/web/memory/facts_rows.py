"""What stands on the memory page beside the lines of the book: chips, people, and lines that wait for a yes."""

from collections.abc import Sequence
from typing import NamedTuple

from keepbook.book.memory import review
from keepbook.book.memory.proposals import Proposal
from keepbook.book.memory.review import ReviewQuestion
from keepbook.book.recall.people import KnownPerson, people
from keepbook.doors.http.web.frame.visit import Visit
from keepbook.doors.http.web.memory.wording import GUESSED, SAID, WAITS
from keepbook.presets import Preset
from keepbook.presets.group_names import group_name

CARDS = 4
"""How many people have a card; the others are behind one that says how many there are."""
MOST_WAITING = 100
"""How many waiting questions are listed."""
OUT = "out"
"""Taken out: archived, or in the trash."""


class Chip(NamedTuple):
    """One choice of which lines are shown, and how many those are."""

    words: str
    show: str
    number: int | None = None


class PeopleCards(NamedTuple):
    """Those who have a card, how many people there are, and whether all of them are shown."""

    shown: Sequence[KnownPerson]
    total: int


def state_chips(kinds: dict[str, int], waiting: int, dropped: int) -> list[Chip]:
    """The choices by state, each with its count; states without lines are left out."""
    chips = [Chip("All", "")]
    named = ((WAITS, "Waits for you", waiting), (SAID, "You said", kinds[SAID]), (GUESSED, "I guessed", kinds[GUESSED]))
    chips += [Chip(words, show, count) for show, words, count in named if count]
    if dropped:
        chips.append(Chip("Taken out", OUT, dropped))
    return chips


def cards_of_people(visit: Visit, every: bool) -> PeopleCards:
    found = people(visit.book)
    if every:
        shown = found
    else:
        shown = found[:CARDS]
    return PeopleCards(shown, len(found))


def waiting_lines(visit: Visit, preset: Preset) -> dict[str, list[Proposal]]:
    """What a yes would add to the book, by the group it would stand in."""
    found: dict[str, list[Proposal]] = {}
    for one in visit.book.proposals.list():
        if one.op == "add" and one.nature != "conflict":
            found.setdefault(group_name(one.category, preset), []).append(one)
    return found


def listed_questions(visit: Visit) -> Sequence[ReviewQuestion]:
    return review.first(visit.book, MOST_WAITING)
