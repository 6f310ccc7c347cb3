"""`/review`: questions that wait for a yes or no, one card at a time and at most five in a visit.

The address holds the cards of a visit, which one is shown, and what was answered, so the page needs no script, and a
reload changes nothing. All questions are listed at `/review?all=1` for 30 days. Questions about a line that is in the
book come first, and those that the person put off come last.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated
from urllib.parse import parse_qsl, urlencode, urlsplit

from fastapi import APIRouter, Form
from fastapi.responses import Response

from keepbook.book.ground.open_book import viewing
from keepbook.book.ledger.ledger import Entry
from keepbook.book.memory import review
from keepbook.book.memory.history.verbatim import SaidLine, verbatim_words
from keepbook.book.memory.proposals import WAITING_DAYS
from keepbook.book.memory.review import ReviewQuestion
from keepbook.doors.http.web.frame.visit import Changing, Visit, Visiting
from keepbook.doors.http.web.frame.written import entries_named, entries_written, name_events, undo_events
from keepbook.doors.http.web.memory.listing import answered_proposal, done_to_many, teller_of
from keepbook.doors.http.web.memory.review import bulk_sources
from keepbook.doors.http.web.memory.review_words import (
    AnswerTold,
    answer_told,
    card_asked,
    leaves_in_book,
    words_asked,
)
from keepbook.errors import Invalid

router: APIRouter = APIRouter(include_in_schema=False)

PATH = "/review"
CARDS = 5
LISTED = 200
"""How many questions are read, and listed under All."""
LATER = "keepbook_later"
LATER_SECONDS, MOST_LATER = WAITING_DAYS * 86_400, 100
ANSWERS = ("yes", "no", "later")

IdField = Annotated[str, Form(max_length=20)]
PlaceField = Annotated[str, Form(max_length=2000)]


@dataclass(frozen=True, slots=True)
class DeckVisit:
    """The state of one visit: its cards, the index of the one that is shown, how often each answer was given, and the
    last answer."""

    cards: tuple[str, ...] = ()
    at: int = 0
    yes: int = 0
    no: int = 0
    later: int = 0
    last: str = ""
    """The id of the question that was answered last."""
    events: str = ""
    """The ledger entries that the answer wrote, if any, as `first-last`."""
    said: str = ""
    """One of ANSWERS: whether the line is in the book now, or not, or was put off."""

    @staticmethod
    def read(query: Mapping[str, str]) -> "DeckVisit":
        cards = [one for one in query.get("of", "")[:200].split(".") if one.isalnum()][:CARDS]
        numbers = {name: _number(query.get(name, "")) for name in ("at", *ANSWERS)}
        said = query.get("said", "")
        return DeckVisit(
            tuple(cards), **numbers, last=query.get("last", "")[:20], events=query.get("events", "")[:30],
            said=said if said in ANSWERS else "",
        )  # fmt: skip

    def address(self) -> str:
        numbers = {name: getattr(self, name) for name in ("at", *ANSWERS)}
        if self.last:
            last = {"last": self.last, "events": self.events, "said": self.said}
        else:
            last = {}
        told = {"of": ".".join(self.cards), **numbers, **last}
        return f"{PATH}?{urlencode({name: value for name, value in told.items() if value})}"

    def answered(self, said: str, written: Sequence[Entry] = ()) -> "DeckVisit":
        """The visit with the next card."""
        count = {said: getattr(self, said) + 1}
        events = name_events([entry.event for entry in written]) or ""
        return replace(self, at=self.at + 1, last=self.cards[self.at], events=events, said=said, **count)

    def taken_back(self) -> "DeckVisit":
        """The visit as it was before the last answer."""
        if self.said:
            count = {self.said: max(getattr(self, self.said) - 1, 0)}
        else:
            count = {}
        return replace(self, at=max(self.at - 1, 0), last="", events="", said="", **count)


def _number(text: str) -> int:
    if text.isascii() and text.isdecimal() and len(text) < 4:
        return int(text)
    return 0


# The page


@router.get(PATH)
def show(visit: Visiting, all: bool = False, edit: bool = False) -> Response:
    with viewing(visit.book):
        asked = sorted(review.first(visit.book, LISTED), key=lambda one: not touches_line(one))
        if all:
            return _list_all(visit, asked)
        return _card(visit, DeckVisit.read(visit.request.query_params), asked, edit)


def touches_line(one: ReviewQuestion) -> bool:
    """Whether the answer changes a line that is in the book, beside adding one."""
    return one.link is not None or (one.proposal is not None and one.memory is not None)


def _card(visit: Visit, deck: DeckVisit, asked: Sequence[ReviewQuestion], edit: bool) -> Response:
    waiting = {one.id: one for one in asked}
    if not deck.cards:
        put_off = _put_off(visit)
        chosen = sorted(waiting, key=lambda id: id in put_off)[:CARDS]
        deck = replace(deck, cards=tuple(chosen))
    at = deck.at
    while at < len(deck.cards) and deck.cards[at] not in waiting:
        at += 1  # it was answered elsewhere
    deck = replace(deck, at=at)
    one = None
    if at < len(deck.cards):
        one = waiting.get(deck.cards[at])
    lines: list[SaidLine] = []
    if one:
        lines = [each for each in (one.proposal, one.memory, one.against) if each]
    return visit.page(
        "review.html",
        deck=deck,
        one=one,
        edit=edit and one is not None,
        teller=teller_of(visit, [], [one] if one else []),
        words=verbatim_words(visit.book, lines),
        left=len(set(waiting) - set(deck.cards)),
        did=_last_answer(visit, deck),
        asked=card_asked(one) if one else None,
    )


def _list_all(visit: Visit, asked: Sequence[ReviewQuestion]) -> Response:
    proposed = [one.proposal for one in asked if one.proposal]
    return visit.page(
        "review_all.html",
        asked=asked,
        card_asked=card_asked,
        teller=teller_of(visit, [], asked),
        words=verbatim_words(visit.book, proposed),
        days=WAITING_DAYS,
        sources=bulk_sources(visit, proposed),
        many=done_to_many(visit),
        answered=answered_proposal(visit),
        told=visit.request.query_params.get("bulk", "")[:2000],
        events=visit.request.query_params.get("events", "")[:30],
    )


def _last_answer(visit: Visit, deck: DeckVisit) -> AnswerTold | None:
    """What the last answer did, and the line, if it was about one."""
    if not deck.last:
        return None
    if deck.said != "later":
        return answer_told(visit.book, deck.last, entries_named(visit.book, deck.events))
    line = words_asked(visit.book, deck.last)
    if line:
        return AnswerTold("Can wait:", line)
    return AnswerTold("These two can wait.")


# Answers


@router.post(PATH + "/answer")
def answer(
    visit: Changing,
    id: IdField,
    say: Annotated[str, Form(max_length=200)] = "",
    words: Annotated[str, Form(max_length=5000)] = "",
    place: PlaceField = "",
) -> Response:
    """One answer: yes, no, later, a choice of the question, the id of a line to forget, or other words."""
    deck = _deck_of(place)
    if not deck.cards or deck.at >= len(deck.cards) or deck.cards[deck.at] != id:
        return visit.back(PATH)
    if say == "later":
        response = visit.back(deck.answered("later").address())
        put_off = [*(one for one in _put_off(visit) if one != id), id][-MOST_LATER:]
        response.set_cookie(LATER, ".".join(put_off), LATER_SECONDS, httponly=True, samesite="lax")
        return response
    one = next((one for one in review.first(visit.book, LISTED) if one.id == id), None)
    if one is None:
        return visit.back(deck.answered("later").address())
    book = visit.writing()
    with book.transaction():
        written = entries_written(book, lambda: _carry_out(visit, one, say, words.strip()))
    if leaves_in_book(one, written):
        said = "yes"
    else:
        said = "no"
    return visit.back(deck.answered(said, written).address())


def _carry_out(visit: Visit, one: ReviewQuestion, say: str, words: str) -> None:
    if say == "words":
        _write_other_words(visit, one, words)
    elif one.proposal is not None:
        visit.book.proposals.answer(one.proposal.id, say)
    elif one.link is not None:
        if say in _either(one):
            visit.book.forget(say)
        else:
            visit.book.unlink(one.link.id)
    elif one.memory is not None and say == "yes":
        visit.book.promote(one.memory.id)
    elif one.memory is not None:
        visit.book.forget(one.memory.id, "user_corrected")


def _write_other_words(visit: Visit, one: ReviewQuestion, words: str) -> None:
    if not words:
        raise Invalid("write what should stand in the book", field="words")
    if one.memory is not None:
        visit.book.update(one.memory.id, words)
    else:
        category = None
        if one.proposal:
            category = one.proposal.category
        visit.book.remember(words, category=category, force=True)
    if one.proposal is not None:
        visit.book.proposals.decline(one.proposal.id)


def _either(one: ReviewQuestion) -> set[str]:
    """The ids of two lines that do not go together: the answer is the one that is taken out."""
    if one.link is not None and one.memory is not None and one.against is not None:
        return {one.memory.id, one.against.id}
    return set()


@router.post(PATH + "/back")
def take_back(visit: Changing, place: PlaceField = "") -> Response:
    """Undo the last answer, and bring its card back."""
    deck = _deck_of(place)
    book = visit.writing()
    with book.transaction():
        if deck.events:
            undo_events(book, deck.events)
        if deck.said in ("yes", "no") and _is_proposal(visit, deck.last):
            review.reopen_answered(book, deck.last)
    return visit.back(deck.taken_back().address())


def _is_proposal(visit: Visit, id: str) -> bool:
    return any(one.id == id for status in ("accepted", "declined") for one in visit.book.proposals.list(status))


def _deck_of(place: str) -> DeckVisit:
    return DeckVisit.read(dict(parse_qsl(urlsplit(place).query)))


def _put_off(visit: Visit) -> list[str]:
    """The ids of the questions that the person put off, from a cookie."""
    found = [one for one in visit.request.cookies.get(LATER, "").split(".") if one.isalnum()]
    return found[:MOST_LATER]
