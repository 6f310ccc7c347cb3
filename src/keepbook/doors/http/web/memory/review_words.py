"""The wording of what waits for an answer: the question above a line, its buttons, and what an answer did."""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from keepbook.book.book import Book
from keepbook.book.ledger.ledger import Entry
from keepbook.book.memory.proposals import Proposal
from keepbook.book.memory.questions import ALL, NO, NONE, YES, plain_choices
from keepbook.book.memory.review import ReviewQuestion
from keepbook.book.text.quotation import shown_text
from keepbook.errors import KeepbookError

TAKES_OUT = ("forget", "delete")
"""The ledger's actions that take a line out of the book."""
DID = {"update": "Changed:", "end": "Over:"} | dict.fromkeys(TAKES_OUT, "Taken out:")
"""What an answer wrote, by the ledger's action; everything else puts its line into the book."""
PLAIN_ANSWERS = {"forget": ("Take it out", "Leave it"), "end": ("It is over", "Not over")}
"""The two answers by what is asked. A yes alone would not say that a line goes."""
TO_CHOSEN = {"forget": "Take out", "end": "Over:", "update": "Change"}
"""What is done to the line that is chosen of several."""


class AnswerButton(NamedTuple):
    """One answer: what the form sends, the words on the button, and the letter that presses it."""

    say: str
    label: str
    letter: str = ""
    kind: str = ""
    line: str = ""
    """The line that it is about, for those who hear the page."""


class CardAsked(NamedTuple):
    """A question as a card asks it: the words above the line, the answers, and which other ones there are."""

    words: str
    buttons: list[AnswerButton]
    others: list[AnswerButton]
    """Answers that a list has, and a card leaves out: it asks for a yes or a no."""
    may_edit: bool
    """Whether other words could be written instead."""
    lines: list[str]
    """The lines that could be meant, where one is to be chosen."""


class AnswerTold(NamedTuple):
    """What an answer did, and the line, if it was about one."""

    words: str
    line: str = ""


# What is asked


def card_asked(one: ReviewQuestion) -> CardAsked:
    which = one.proposal is not None and one.proposal.question == "which"
    plain = one.link is None and not which
    takes_out = one.proposal is not None and one.proposal.op in PLAIN_ANSWERS and one.proposal.question is None
    lines = []
    if one.proposal is not None and which:
        lines = [words for _, words in _lines_to_choose(one.proposal)]
    return CardAsked(_question_words(one), _answer_buttons(one), _other_answers(one), plain and not takes_out, lines)


def _question_words(one: ReviewQuestion) -> str:
    """The question, which stands above the line."""
    if one.link is not None:
        return "These two do not go together. Which holds?"
    if one.proposal is None:
        return "I put this together from what you said. Is it right?"
    if one.proposal.nature == "conflict" and one.proposal.asked_by:
        return _agents_wish(one.proposal.asked_by, one.proposal.op)
    if one.proposal.nature == "conflict":
        return "You said otherwise before. Your word stands unless you say yes:"
    return _plain_question(one.proposal, one.memory is not None)


def _plain_question(proposal: Proposal, about_line: bool) -> str:
    if proposal.question == "over":
        return "Is the first of these over?"
    if proposal.question == "which":
        of_several = {"forget": "Which of these shall I take out of your book?", "end": "Which of these is over?"}
        return of_several.get(proposal.op, "Which of these do you mean?")
    of_line = {"update": "I could change this line:", "forget": "Shall I take this line out of your book?"}
    of_line |= {"end": "Is this over?", "confirm": "Is this still true?"}
    if about_line:
        return of_line.get(proposal.op, "I could write this down:")
    return "I could write this down:"


def _agents_wish(agent: str, op: str) -> str:
    """What an agent asks for that only the person may decide, and what a yes does."""
    wishes = {
        "forget": f"{agent} asks to forget this line. You can put it back:",
        "update": f"{agent} asks to change this line. Your word stands unless you say yes:",
        "end": f"{agent} says that this is over. A yes writes down that it has ended:",
        "confirm": f"{agent} says that this is still true. Yes confirms it:",
    }
    return wishes.get(op, f"{agent} asks to write this down. Yes puts it into your book:")


def _answer_buttons(one: ReviewQuestion) -> list[AnswerButton]:
    """The answers to a question, first the one that does what is asked."""
    if one.link is not None and one.memory is not None and one.against is not None:
        first, second = one.memory, one.against
        either = AnswerButton(second.id, "Only the first"), AnswerButton(first.id, "Only the second")
        return [*either, AnswerButton("both", "Both hold")]
    if one.proposal is None:
        return [AnswerButton("yes", "Yes", "y", "primary"), AnswerButton("no", "No", "n")]
    asked = one.proposal
    if asked.question == "which":
        return _which_buttons(asked)
    yes, no, kind = "Yes", "No", "primary"
    if asked.question is None and asked.op in PLAIN_ANSWERS:
        yes, no = PLAIN_ANSWERS[asked.op]
        kind = ""
    return [AnswerButton(YES[asked.question], yes, "y", kind), AnswerButton(NO[asked.question], no, "n")]


def _other_answers(one: ReviewQuestion) -> list[AnswerButton]:
    """What else could be answered: that both lines are kept, or the line changed."""
    asked = one.proposal
    if asked is None or asked.question == "which":
        return []
    choices = asked.choices or plain_choices(asked.op, asked.memory_id)
    plain = (YES[asked.question], NO[asked.question])
    return [AnswerButton(each.choice, each.label, "", "quiet") for each in choices if each.choice not in plain]


def _which_buttons(proposal: Proposal) -> list[AnswerButton]:
    verb, lines = TO_CHOSEN[proposal.op], _lines_to_choose(proposal)
    found = [AnswerButton(id, f"{verb} {number}", "", "", words) for number, (id, words) in enumerate(lines, 1)]
    takes_all = {"forget": "Take them all out", "end": "All are over"}
    if any(choice.choice == ALL for choice in proposal.choices):
        found.append(AnswerButton(ALL, takes_all[proposal.op]))
    return [*found, AnswerButton(NONE, "Leave them", "n", "quiet")]


def _lines_to_choose(proposal: Proposal) -> list[tuple[str, str]]:
    """The lines that could be meant: id and words."""
    return [(one.choice, one.label) for one in proposal.choices if one.choice not in (ALL, NONE)]


# What an answer did


def leaves_in_book(one: ReviewQuestion, entries: Sequence[Entry]) -> bool:
    """Whether what was asked about stands in the book after the answer, which wrote these entries."""
    if entries:
        return not any(entry.action in TAKES_OUT for entry in entries)
    return one.memory is not None or (one.proposal is not None and one.proposal.op != "add")


def answer_told(book: Book, asked: str, entries: Sequence[Entry]) -> AnswerTold:
    """What the answer to this question did. `asked` is the id of a proposal, a line or a link."""
    if any(entry.link_id for entry in entries):
        return AnswerTold("Both lines stay in your book.")
    if entries:
        return _entries_told(book, entries)
    for read in (book.proposals.get, book.get):
        with suppress(KeepbookError):
            return _unwritten(book, read(asked))
    return AnswerTold("Nothing was changed.")


def _entries_told(book: Book, entries: Sequence[Entry]) -> AnswerTold:
    words = DID.get(entries[0].action, "In your book:")
    lines = {entry.memory_id for entry in entries}
    if len(lines) > 1:
        return AnswerTold(f"{words} {len(lines)} lines.")
    return AnswerTold(words, _words_of(book, entries[0].memory_id))


def _unwritten(book: Book, asked: object) -> AnswerTold:
    if not isinstance(asked, Proposal):
        return AnswerTold("In your book:", _words_of(book, getattr(asked, "id", None)))
    if asked.question in ("over", "which"):
        return AnswerTold("Nothing was changed.")
    if asked.memory_id is not None:
        return AnswerTold("Stays in your book:", _words_of(book, asked.memory_id))
    return AnswerTold("Left out:", shown_text(asked))


def _words_of(book: Book, id: str | None) -> str:
    if id is not None:
        with suppress(KeepbookError):
            return shown_text(book.get(id))
    return ""


def words_asked(book: Book, asked: str) -> str:
    """The line that a question was about; empty if it was about two."""
    for read in (book.proposals.get, book.get):
        with suppress(KeepbookError):
            return shown_text(read(asked))
    return ""
