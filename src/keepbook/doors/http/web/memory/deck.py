"""`/review`: questions that wait for a yes or no, one card at a time and at most five in a visit.

The address holds the cards of a visit, which one is shown, and what was answered, so the page needs no script, and a
reload changes nothing. All questions are listed at `/review?all=1` for 30 days. Questions about a line that is in the
book come first, and those that the person put off come last.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated
from urllib.parse import parse_qsl, urlencode, urlsplit

from fastapi import APIRouter, Form
from fastapi.responses import Response

from keepbook.book.ground.open_book import viewing
from keepbook.book.memory import review
from keepbook.book.memory.history.verbatim import SaidLine, verbatim_words
from keepbook.book.memory.proposals import WAITING_DAYS
from keepbook.book.memory.review import ReviewQuestion
from keepbook.book.text.quotation import shown_text
from keepbook.doors.http.web.frame.visit import Changing, Visit, Visiting
from keepbook.doors.http.web.memory.listing import done_to_many, teller_of
from keepbook.doors.http.web.memory.review import bulk_sources
from keepbook.errors import Invalid, KeepbookError

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
    event: str = ""
    """The ledger entry that the answer wrote, if any."""
    said: str = ""
    """The answer: one of ANSWERS."""

    @staticmethod
    def read(query: Mapping[str, str]) -> "DeckVisit":
        cards = [one for one in query.get("of", "")[:200].split(".") if one.isalnum()][:CARDS]
        numbers = {name: _number(query.get(name, "")) for name in ("at", *ANSWERS)}
        said = query.get("said", "")
        return DeckVisit(
            tuple(cards), **numbers, last=query.get("last", "")[:20], event=query.get("event", "")[:16],
            said=said if said in ANSWERS else "",
        )  # fmt: skip

    def address(self) -> str:
        numbers = {name: getattr(self, name) for name in ("at", *ANSWERS)}
        if self.last:
            last = {"last": self.last, "event": self.event, "said": self.said}
        else:
            last = {}
        told = {"of": ".".join(self.cards), **numbers, **last}
        return f"{PATH}?{urlencode({name: value for name, value in told.items() if value})}"

    def answered(self, said: str, event: int | None) -> "DeckVisit":
        """The visit with the next card."""
        count = {said: getattr(self, said) + 1}
        if event is None:
            written = ""
        else:
            written = str(event)
        return replace(self, at=self.at + 1, last=self.cards[self.at], event=written, said=said, **count)

    def taken_back(self) -> "DeckVisit":
        """The visit as it was before the last answer."""
        if self.said:
            count = {self.said: max(getattr(self, self.said) - 1, 0)}
        else:
            count = {}
        return replace(self, at=max(self.at - 1, 0), last="", event="", said="", **count)


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
        why=_why_asked(one) if one else "",
    )


def _list_all(visit: Visit, asked: Sequence[ReviewQuestion]) -> Response:
    proposed = [one.proposal for one in asked if one.proposal]
    return visit.page(
        "review_all.html",
        asked=asked,
        why_asked=_why_asked,
        teller=teller_of(visit, [], asked),
        words=verbatim_words(visit.book, proposed),
        days=WAITING_DAYS,
        sources=bulk_sources(visit, proposed),
        many=done_to_many(visit),
        told=visit.request.query_params.get("bulk", "")[:2000],
        events=visit.request.query_params.get("events", "")[:30],
    )


def _why_asked(one: ReviewQuestion) -> str:
    """The question, which stands above the line."""
    if one.link is not None:
        return "These two do not go together. Which holds?"
    if one.proposal is None:
        return "I put this together from what you said. Is it right?"
    if one.proposal.nature == "conflict" and one.proposal.asked_by:
        return _agents_wish(one.proposal.asked_by, one.proposal.op)
    if one.proposal.nature == "conflict":
        return "You said otherwise before. Your word stands unless you say yes:"
    known = {"update": "I could change this line:", "forget": "I could take this line out:", "end": "Is this over?"}
    known["confirm"] = "Is this still true?"
    by_question = {"over": "Is the first of these over?", "which": "Which one do you mean?"}
    if one.memory:
        words = known.get(one.proposal.op, "I could write this down:")
    else:
        words = "I could write this down:"
    return by_question.get(one.proposal.question or "", words)


def _agents_wish(agent: str, op: str) -> str:
    """What an agent asks for that only the person may decide, and what a yes does."""
    wishes = {
        "forget": f"{agent} asks to forget this line. Yes takes it out of your book; you can put it back:",
        "update": f"{agent} asks to change this line. Your word stands unless you say yes:",
        "end": f"{agent} says that this is over. Yes writes down that it has ended:",
        "confirm": f"{agent} says that this is still true. Yes confirms it:",
    }
    return wishes.get(op, f"{agent} asks to write this down. Yes puts it into your book:")


@dataclass(frozen=True, slots=True)
class LastAnswer:
    """What the last answer did, and the line, if it was about one."""

    words: str
    line: str = ""


def _last_answer(visit: Visit, deck: DeckVisit) -> LastAnswer | None:
    if not deck.last:
        return None
    line = _line_of(visit, deck.last)
    if line:
        words = {"yes": "In your book:", "no": "Left out:", "later": "Can wait:"}
        return LastAnswer(words.get(deck.said, "Answered:"), line)
    if deck.said == "no":
        return LastAnswer("Taken out:", _taken_out(visit, deck.event))
    words = {"yes": "Both lines stay in your book.", "later": "These two can wait."}
    return LastAnswer(words.get(deck.said, "Answered."))


def _line_of(visit: Visit, asked: str) -> str:
    """The line that a question was about; empty if it was about two."""
    for read in (visit.book.proposals.get, visit.book.get):
        with suppress(KeepbookError):
            return shown_text(read(asked))
    return ""


def _taken_out(visit: Visit, event: str) -> str:
    """The line that the ledger entry of this number took out."""
    number = int(event)
    entries = visit.book.ledger(after=number - 1, before=number + 1, limit=1)
    for entry in entries:
        if entry.memory_id:
            return shown_text(visit.book.get(entry.memory_id))
    return ""


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
        response = visit.back(deck.answered("later", None).address())
        put_off = [*(one for one in _put_off(visit) if one != id), id][-MOST_LATER:]
        response.set_cookie(LATER, ".".join(put_off), LATER_SECONDS, httponly=True, samesite="lax")
        return response
    one = next((one for one in review.first(visit.book, LISTED) if one.id == id), None)
    if one is None:
        return visit.back(deck.answered("later", None).address())
    book = visit.writing()
    with book.transaction():
        event = _carry_out(visit, one, say, words.strip())
    if say == "no" or say in _declining(one) or say in _either(one):
        said = "no"
    else:
        said = "yes"
    return visit.back(deck.answered(said, event).address())


def _carry_out(visit: Visit, one: ReviewQuestion, say: str, words: str) -> int | None:
    """Write the answer. Returns the number of the ledger entry, by which it can be undone; None if there is none."""
    if say == "words":
        return _in_other_words(visit, one, words)
    if one.proposal is not None:
        return _answer_proposal(visit, one, say)
    if one.link is not None and one.memory is not None and one.against is not None:
        if say in _either(one):
            return visit.book.forget(say).event
        return visit.book.unlink(one.link.id).event
    assert one.memory is not None
    if say == "yes":
        return visit.book.promote(one.memory.id).event
    return visit.book.forget(one.memory.id, "user_corrected").event


def _answer_proposal(visit: Visit, one: ReviewQuestion, say: str) -> int | None:
    assert one.proposal is not None
    proposals = visit.book.proposals
    if one.proposal.choices:
        return getattr(proposals.answer(one.proposal.id, say), "event", None)
    if say == "yes":
        return proposals.accept(one.proposal.id).event
    proposals.decline(one.proposal.id)
    return None


def _in_other_words(visit: Visit, one: ReviewQuestion, words: str) -> int | None:
    if not words:
        raise Invalid("write what should stand in the book", field="words")
    if one.memory is not None:
        event = visit.book.update(one.memory.id, words).event
    else:
        category = None
        if one.proposal:
            category = one.proposal.category
        event = visit.book.remember(words, category=category, force=True).event
    if one.proposal is not None:
        visit.book.proposals.decline(one.proposal.id)
    return event


def _either(one: ReviewQuestion) -> set[str]:
    """The ids of two lines that do not go together: the answer is the one that is taken out."""
    if one.link is not None and one.memory is not None and one.against is not None:
        return {one.memory.id, one.against.id}
    return set()


def _declining(one: ReviewQuestion) -> set[str]:
    """The choices that write nothing."""
    if one.proposal:
        return {choice.choice for choice in one.proposal.choices if not choice.op}
    return set()


@router.post(PATH + "/back")
def take_back(visit: Changing, place: PlaceField = "") -> Response:
    """Undo the last answer, and bring its card back."""
    deck = _deck_of(place)
    book = visit.writing()
    with book.transaction():
        if deck.event.isascii() and deck.event.isdecimal():
            book.undo(int(deck.event))
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
