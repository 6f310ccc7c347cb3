"""The open questions of a chat, each beside the turn that raised it, as every door shows them.

A question is a waiting proposal. Where a preset saves silently, and past the third of a chat, it waits in Review alone.
A number answers like a button: with one question it is the choice, with several the question that gets a yes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from keepbook.book.book import Book
from keepbook.book.chats import threads
from keepbook.book.chats.threads import Message, current_messages
from keepbook.book.ground.open_book import viewing
from keepbook.book.memory import listing, proposals
from keepbook.book.memory.proposals import Proposal
from keepbook.book.memory.questions import ALL, BOTH, NO, YES, plain_choices
from keepbook.book.text.quotation import shown_text
from keepbook.models.notebook.decide import MOST_QUESTIONS
from keepbook.models.notebook.values import Deed, from_parts

_WITHOUT_BRACKETS = str.maketrans("", "", "[]")


@dataclass(frozen=True, slots=True)
class Option:
    """One answer: its name, and its words for a button."""

    choice: str
    label: str


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question that waits. `question` is keep, over, change or which, or None where it is yes or no to `op`; `line`
    is what the book says of `memory_id`, and `words` what would be written, both as people see them."""

    id: str
    turn: int
    question: str | None
    op: str
    content: str
    memory_id: str | None
    choices: tuple[Option, ...]
    words: str = ""
    line: str | None = None

    @property
    def silence(self) -> str:
        """The answer that holds if nothing is answered."""
        return NO[self.question]

    @property
    def words_to_edit(self) -> str:
        """The words as a person edits them: without the brackets of what is exchanged."""
        return self.content.translate(_WITHOUT_BRACKETS)

    def is_as_offered(self, words: str) -> bool:
        """Whether these are the words that were offered, or none."""
        return words.strip() in ("", self.content, self.words_to_edit)

    @property
    def in_order(self) -> list[Option]:
        """The answers, the one that holds if nothing is answered first."""
        return sorted(self.choices, key=lambda one: one.choice != self.silence)

    @property
    def lines(self) -> list[str]:
        """The lines that it lets one choose among."""
        return [one.label for one in self.choices if one.choice not in (ALL, self.silence)]

    @property
    def text(self) -> str:
        """What is asked, in a sentence."""
        match self.question:
            case "keep":
                return f"Keep this? {_in_marks(self.words)}"
            case "over":
                return f"Your book says {_in_marks(self.line or self.words)}. Is that over?"
            case "which":
                return {"forget": "Which one shall I forget?"}.get(self.op, "Which one do you mean?")
        if self.question == "change" or (self.op == "update" and self.line is not None):
            return f"Your book says {_in_marks(self.line or '')}. Change it to {_in_marks(self.words)}?"
        asked = {"forget": "Forget this?", "end": "Is this over?", "update": "Change it to this?"}
        return f"{asked.get(self.op, 'Keep this?')} {_in_marks(self.words)}"


# Rules


def choice_of_number(questions: Sequence[OpenQuestion], number: int) -> tuple[OpenQuestion, str] | None:
    """The choice that a number alone makes among the questions of one reply."""
    if len(questions) == 1:
        choices = questions[0].choices
        if 0 < number <= len(choices):
            return questions[0], choices[number - 1].choice
        return None
    if not 0 < number <= len(questions) or questions[number - 1].question == "which":
        return None
    return questions[number - 1], YES[questions[number - 1].question]


def choice_to_keep(question: OpenQuestion) -> str | None:
    """The answer that keeps what was said; None if the question has no such answer."""
    names = [one.choice for one in question.choices]
    return next((name for name in ("keep", BOTH) if name in names), None)


def choice_to_refuse(question: OpenQuestion) -> str:
    """The answer that changes nothing."""
    return NO[question.question]


def questions_of_turn(questions: Iterable[OpenQuestion], turn: int) -> list[OpenQuestion]:
    return [one for one in questions if one.turn == turn]


def _in_marks(line: str) -> str:
    """A line inside a sentence: a quotation has its marks already."""
    if line.startswith(("“", "(")):
        return line
    return f"“{line}”"


def _asking_deeds(messages: Sequence[Message]) -> dict[str, Deed]:
    """The deeds of turns that have left a proposal, by its id."""
    kept = [one for one in messages if one.role == "user"]
    deeds = [deed for one in kept for deed in from_parts(one.parts)]
    return {deed.proposal: deed for deed in deeds if deed.proposal and _leaves_question(deed)}


def _leaves_question(deed: Deed) -> bool:
    return deed.act not in ("answer", "withdraw")


def _turn_of(one: Proposal) -> int:
    last = ""
    if one.turn_ids:
        last = one.turn_ids[-1]
    if last.isdecimal():
        return int(last)
    return 0


def _questions_of_turns(waiting: Iterable[Proposal], deeds: Mapping[str, Deed], turns: set[int]) -> list[Proposal]:
    """The questions of a chat: those that its turns asked, then those that a model missed or closing found, up to the
    number that a chat may put."""
    here = [one for one in waiting if _turn_of(one) in turns]
    by_turns = [one for one in here if one.id in deeds and deeds[one.id].asked]
    found = [one for one in here if one.id not in deeds and one.question is not None]
    left = max(0, MOST_QUESTIONS - sum(deed.is_own_question for deed in deeds.values()))
    return [*by_turns, *found[:left]]


def _as_asked(asked: Mapping[str, Deed]) -> Callable[[Proposal], tuple[int, int]]:
    """Sorts questions as their turns put them: numbers in a reply count the same way."""
    places = {id: place for place, id in enumerate(asked)}
    return lambda one: (_turn_of(one), places.get(one.id, len(places)))


# Queries


def open_questions(book: Book, thread_id: str) -> list[OpenQuestion]:
    """The questions of a chat that wait for an answer under their turns, in the order they were asked."""
    with viewing(book), book.reading() as (tx, _, now):
        thread = threads.get_thread(tx, thread_id)
        preset = book.preset(thread.preset)
        waiting = proposals.list_proposals(tx, thread_id=thread_id)
        if not waiting or thread.incognito or preset.consent == "silent":
            return []
        messages = current_messages(threads.messages_of(tx, thread_id))
        asked, turns = _asking_deeds(messages), {one.turn for one in messages if one.role == "user"}
        found = sorted(_questions_of_turns(waiting, asked, turns), key=_as_asked(asked))
        ids = [one.memory_id for one in found if one.memory_id]
        lines = {one.id: shown_text(one) for one in listing.memories_by_id(tx, preset, now, ids)}
    return [_open_question(one, lines) for one in found]


def waiting_questions(book: Book) -> list[OpenQuestion]:
    """Everything of the book that waits for an answer, whichever chat it came from: first what touches a line that is
    there, then what is new, the oldest before the newest."""
    with viewing(book), book.reading() as (tx, _, now):
        waiting = proposals.list_proposals(tx)
        ids = [one.memory_id for one in waiting if one.memory_id]
        lines = {one.id: shown_text(one) for one in listing.memories_by_id(tx, book.preset(), now, ids)}
    waiting = sorted(waiting, key=lambda one: one.memory_id is None)
    return [_open_question(one, lines) for one in waiting]


def _open_question(one: Proposal, lines: Mapping[str, str]) -> OpenQuestion:
    choices = one.choices or plain_choices(one.op, one.memory_id)
    options = tuple(Option(each.choice, each.label) for each in choices)
    return OpenQuestion(
        one.id, _turn_of(one), one.question, one.op, one.content, one.memory_id, options, shown_text(one),
        lines.get(one.memory_id or ""),
    )  # fmt: skip


def last_asked(questions: Sequence[OpenQuestion], messages: Sequence[Message]) -> list[OpenQuestion]:
    """The open questions of the person's last turn."""
    turns = [one.turn for one in current_messages(messages) if one.role == "user"]
    if turns:
        return questions_of_turn(questions, turns[-1])
    return []
