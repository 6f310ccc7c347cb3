"""The story of Ines Varga: three months with an agent, performed from a seed, ending now.

A chapter is a function that yields steps, each with its moment. The steps of all chapters are sorted by time and then
performed, because a ledger can only be written forwards. To add a chapter, add a function to `CHAPTERS`. The seed sets
the pauses between turns; the dates depend on the day on which the story ends. Visitors get it from `packed_story`.
"""

import json
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from zoneinfo import ZoneInfo

from keepbook.app import Keepbook
from keepbook.demo.desks import agent_steps
from keepbook.demo.guesses import guessing
from keepbook.demo.life import Chapter, Life, StoryClock, StoryDeed, StoryStep
from keepbook.demo.plays import Calendar, read_plays
from keepbook.demo.stage import OWNER, demo_settings
from keepbook.demo.trades import trading

ZONE = "Europe/Vienna"
SEED = 7
DAYS = 97
"""How long ago it begins."""


def tell(now: datetime, *, seed: int = SEED) -> Keepbook:
    """The whole story in a book in memory, as it stands at `now`."""
    local = now.astimezone(ZoneInfo(ZONE))
    calendar = _calendar(local)
    clock = StoryClock(now - timedelta(days=DAYS))
    kb = Keepbook(":memory:", clock=clock, settings=demo_settings(), demo=True)
    life = Life(kb, OWNER, clock, calendar, random.Random(seed))
    steps = sorted((step for chapter in CHAPTERS for step in chapter(calendar)), key=lambda step: step.at)
    for step in steps:
        clock.turn(step.at)
        step.do(life)
    clock.turn(now)
    return kb


def _calendar(now: datetime) -> Calendar:
    """The move is the first of the month that lies two to three months back; the other days follow from it."""
    moved = (now - timedelta(days=62)).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    back = now + timedelta(days=100)
    school = now.year + (now.month >= 7)
    words = {
        "moved": f"{moved.day} {moved:%B}",
        "rate": f"June {now.year + 3}",
        "back": f"{back:%B}",
        "school": f"September {school}",
        "next_year": str(now.year + 1),
    }
    return Calendar(now, {"moved": moved}, words)


# Chapters


def chat_steps(calendar: Calendar) -> Iterator[StoryStep]:
    """The chats."""
    for play in read_plays(calendar):
        yield StoryStep(play.at, partial(Life.perform, play=play))


def keeping(calendar: Calendar) -> Iterator[StoryStep]:
    """What Ines does herself, on the pages of her book."""
    at, words = calendar.moment, calendar.words
    deeds: dict[str, StoryDeed] = {
        "-96 20:02": lambda life: life.book.configure(zone=ZONE, preset="advisor"),
        "-96 20:04": lambda life: life.book.choose(tier="intermediate"),
        "-95 09:30": _bring_along,
        "-95 09:41": _type("finance_context", "Will not hold more than 5 % of the portfolio in one stock."),
        "-95 09:43": _type("response_style", "Euros; convert dollars at the day's rate."),
        "-70 19:02": _type("fact", "Lena has swimming lessons on Thursdays at four.", until=at("-24 00:00")),
        "-62 21:10": _type("fact", "The trio's rehearsal room costs Jonas €85 a month."),
        "moved+32 18:21": _set_moving_day,
        "-35 20:15": _reword("engineer", "Works as a structural engineer, four days a week; Fridays are free."),
        "-34 20:20": lambda life: life.book.delete("confirmation of residence"),
        "-29 21:00": lambda life: life.book.forget("camper van"),
        "-29 21:02": lambda life: life.book.confirm("€900 to a world index fund"),
        "-22 20:53": _take_back,
        "-21 10:30": _reword("Mortgage of", f"Mortgage of €212,000, fixed at 2.9 % until {words['rate']}."),
        "now-29m": lambda life: life.book.choose(never=["health", "diagnosis"]),
        "-11 07:45": _link("May pay back up to", "relates_to", "Mortgage of"),
        "-11 07:46": _link("Lives in Vienna", "relates_to", "Mortgage of"),
        "-11 07:47": _link("Takes the train", "because_of", "office is near Wien Mitte"),
        "-10 21:15": _type("profile", "Speaks German, Slovene and English."),
        "-5 19:50": lambda life: life.book.threads.delete(life.chats["A present for Petra"].id),
        "-3 20:40": _note("Ask Frau Brandl in February: moving costs, Jonas's severance pay, the job ticket."),
        "-1 20:40": _note("School bag: not before the sales in July. Mira's mother has one to pass on."),
        "now-31m": _link("six months of expenses", "because_of", "Jonas is between jobs"),
        "now-30m": _link("six months of expenses", "relates_to", "€900 to a world index fund"),
    }
    for when, deed in deeds.items():
        yield StoryStep(at(when), deed)


def review_steps(calendar: Calendar) -> Iterator[StoryStep]:
    """On some evenings she answers the questions of the review, and leaves others for later."""
    yes = {
        "-81 21:05": ("Salary arrives", "Lena is allergic"),
        "-60 20:40": ("choir that rehearses", "Takes the train", "office is near", "Never buys single stocks"),
        "-36 21:20": ("bouldering", "Hates being called", "was freelance", "Her mother lives", "Prefers lists"),
        "-17 20:10": ("drawers instead", "old Octavia"),
        "-3 20:55": ("cat called Miso", "finances on Sunday"),
    }
    for when, pieces in yes.items():
        for minutes, piece in enumerate(pieces):
            yield StoryStep(calendar.moment(when) + timedelta(minutes=minutes), _promote(piece))
    yield StoryStep(calendar.moment("-3 20:59"), _decline("Klara"))


def reading_between_the_lines(calendar: Calendar) -> Iterator[StoryStep]:
    """What an outside agent thinks it has understood, and what the sweeps do."""
    at = calendar.moment
    yield StoryStep(at("-15 06:30"), _infer("profile", "Does her banking late in the evening."))
    yield StoryStep(
        at("-3 06:30"), _infer("response_style", "Decides faster when she sees one list than several pages.")
    )
    for days in range(90, 0, -15):
        yield StoryStep(at(f"-{days} 04:00"), lambda life: life.kb.sweep())


CHAPTERS: tuple[Chapter, ...] = (
    chat_steps, keeping, review_steps, reading_between_the_lines, agent_steps, guessing, trading,
)  # fmt: skip


# Deeds


def _type(category: str, content: str, *, until: datetime | None = None) -> StoryDeed:
    """Written by hand on the Memory page."""
    return lambda life: life.book.remember(content, category=category, valid_until=until)


def _reword(piece: str, content: str) -> StoryDeed:
    return lambda life: life.book.update(piece, content)


def _promote(piece: str) -> StoryDeed:
    return lambda life: life.book.promote(piece)


def _link(one: str, relation: str, other: str) -> StoryDeed:
    return lambda life: life.book.link(one, other, relation)


def _note(text: str) -> StoryDeed:
    return lambda life: life.book.notes.write(text)


def _decline(piece: str) -> StoryDeed:
    def do(life: Life) -> None:
        asked = next(one for one in life.book.proposals.list() if piece in one.content)
        life.book.proposals.decline(asked.id)

    return do


def _infer(category: str, content: str) -> StoryDeed:
    """An outside agent's own reading, in a session of its own."""

    def do(life: Life) -> None:
        agent = life.kb.book(life.owner, by="agent", door="mcp")
        agent.inject(f"evening-review-{life.clock.now:%m%d}")
        agent.remember(content, category=category, confidence="inferred")

    return do


def _bring_along(life: Life) -> None:
    """What another assistant knew about her, from its export."""
    known = (
        "Was born in Maribor.",
        "Prefers trains to planes for anything under 800 km.",
        "Rents nothing on instalments.",
    )
    life.book.import_([json.dumps({"memory": line}) for line in known], merge=True)


def _set_moving_day(life: Life) -> None:
    """The chat noted the move from the day it was told; she knows the day itself."""
    here = life.book.find("Lives in Vienna")
    life.book.update(here, life.book.get(here).content, valid_from=life.calendar.days["moved"], correction=True)


def _take_back(life: Life) -> None:
    """Undo, under the reply that saved it: Jonas does not want it known yet."""
    saved = next(entry for entry in life.book.ledger() if entry.actor == "agent")
    life.book.undo(saved.event)
