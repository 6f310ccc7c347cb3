"""Takes an answer in free words, where no doubt is left which choice it means.

Three things decide, and none is a list of answers: a turn that opens with a yes or no which the reader does not find
hedged ("yeah, since June"), words that exactly one of the choices has ("the blue one"), and, where the choice takes
nothing away, the reader alone ("both are true"). What has none of them, or has them at odds, leaves the question open.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from keepbook.book.memory.proposals import Proposal
from keepbook.book.memory.questions import ALL, BOTH, NO, NONE, YES, Choice, plain_choices
from keepbook.book.text.periods import period
from keepbook.book.text.words import DENIALS, STOP_WORDS, content_words, stem, tokens, word_set
from keepbook.models.notebook.answers.forms import Opening, plain_opening, whole_answer
from keepbook.models.notebook.change import brings_figures
from keepbook.models.notebook.lists.orders import orders_of_turn
from keepbook.models.notebook.read import Understood
from keepbook.models.notebook.values import Scene, TurnStep

MOST_WORDS = 40
"""A longer turn tells something: who only answers is done before."""
MOST_NAMING = 12
"""An answer of at most this many words may only name a choice."""
LEARNED = 0.9
"""From this likelihood on a choice is taken as the reader has it, where it takes nothing away."""
ANSWERS = 0.65
"""Below this likelihood what goes on from a yes or a no is something else: "no more bikes please"."""
HEDGED = 0.7
"""From this doubt of the reader on a yes or a no is hedged, or put off: "yes, I think", "no idea"."""
AT_ODDS = 2.0
"""A yes is doubted where the reader finds another choice so many times likelier."""
_TURNING = DENIALS | {"but", "or"}
"""Words behind a yes that turn it round. Of answers in free words by seventeen hands none of the hedges that a longer
list had was a wrong yes; the reader's own doubt is what tells a hedge."""
_LIGHT = STOP_WORDS - word_set("over both") | word_set("""
    one ones thing pls ok okay well oh yes mean meant there thanks thank thx
""")
_POINTING = DENIALS | word_set("it is was that this these those they them are be of all now over both there yes thanks")
"""What stands beside a choice that is named by small words alone: "it is over"."""
_HOLDS = frozenset(map(stem, word_set("keep leave still stay stays holds")))
"""Words that leave a line as it is."""


@dataclass(frozen=True, slots=True)
class FreeAnswer:
    """An answer in free words. `alone`: the turn says nothing else."""

    step: TurnStep
    question: Proposal
    alone: bool


class _Option(NamedTuple):
    """A choice, with the words that may name it."""

    question: Proposal
    choice: str
    words: frozenset[str]


def free_answer(scene: Scene, read: Understood) -> FreeAnswer | None:
    """The one choice of an open question that the words of a turn mean; None where there is a doubt."""
    text = scene.turn.text
    said = tokens(text)
    if not scene.questions or "?" in text or not 0 < len(said) <= MOST_WORDS or _means_none(scene.questions, read):
        return None
    opening = plain_opening(text)
    if opening is None:
        rest = said
    else:
        rest = tokens(opening.rest)
    named = None
    if len(rest) <= MOST_NAMING:
        named = _named(scene.questions, rest)
    if named is not None:
        coherent = opening is None or opening.kind == "yes" or _changes_nothing(*named)
        if coherent:
            return _as_answer(scene, *named, alone=True)
        return None
    if len(scene.questions) > 1:
        return None
    question = scene.questions[0]
    if opening is None:
        learned = _learned(question, read)
        if learned is not None:
            return _as_answer(scene, question, learned, alone=True)
        return None
    plain = _choice_of_opening(scene, opening, rest, read)
    if plain is not None:
        return _as_answer(scene, question, plain, alone=False)
    return None


# What the reader has learned


def _means_none(questions: Sequence[Proposal], read: Understood) -> bool:
    """Whether a turn answers nothing, as the reader has it: "what is Aker" to "change it to Aker?"."""
    if read.language != "en":
        return False
    ids = {f"{one.id}/{choice.choice}" for one in questions for choice in _choices(one)}
    points = [point for clause in read.clauses for point in clause.move.points.items()]
    chances = [chance for id, chance in points if id in ids]
    unsure = max((clause.move.unsure for clause in read.clauses), default=0.0)
    return bool(chances) and max(chances) < 1 - LEARNED and unsure >= HEDGED


def _learned(question: Proposal, read: Understood) -> str | None:
    """The choice that a turn surely means as it was read, if it takes nothing away."""
    if read.language != "en" or len(read.clauses) != 1 or read.clauses[0].move.acts["answer"] < LEARNED:
        return None
    best, *others = sorted(_chances(question, read), reverse=True)
    sure = best[0] >= LEARNED and all(chance < 1 - LEARNED for chance, _ in others)
    if sure and question.op != "forget" and best[1] in (YES["keep"], BOTH):
        return best[1]
    return None


def _chances(question: Proposal, read: Understood) -> list[tuple[float, str]]:
    """How likely each choice is what the first clause of a turn means."""
    points = read.clauses[0].move.points
    return [(points.get(f"{question.id}/{one.choice}", 0.0), one.choice) for one in _choices(question)]


def _is_hedged(read: Understood, text: str, opening: Opening) -> bool:
    """Whether the reader doubts that what goes on from a yes or a no decides anything; it has learned English alone."""
    if read.language != "en" or not read.clauses:
        return False
    first = read.clauses[0]
    goes_on = first.end > len(text) - len(opening.rest)
    return goes_on and (first.move.unsure >= HEDGED or first.move.acts["answer"] < ANSWERS)


def _is_at_odds(question: Proposal, choice: str, read: Understood) -> bool:
    """Whether the reader finds another choice much likelier."""
    if read.language != "en" or not read.clauses:
        return False
    chances = {name: chance for chance, name in _chances(question, read)}
    return max(chances.values()) > AT_ODDS * chances[choice]


def _as_answer(scene: Scene, question: Proposal, choice: str, *, alone: bool) -> FreeAnswer:
    ends = any(one.choice == choice and one.op == "end" for one in _choices(question))
    until = None
    if ends:
        until = _end_told(scene)
    step = TurnStep("answer", 0, len(scene.turn.text), proposal=question.id, choice=choice, until=until)
    return FreeAnswer(step, question, alone)


def _end_told(scene: Scene) -> str | None:
    """When something ended, where the answer says so: "yeah, since June"."""
    held = period(scene.turn.text, scene.turn.at or scene.now, scene.zone)
    return held.valid_until or held.valid_from


# Yes and no


def _choice_of_opening(scene: Scene, opening: Opening, rest: Sequence[str], read: Understood) -> str | None:
    """What a yes or no at the head of a turn chooses of the only question, if nothing behind it turns it round."""
    question = scene.questions[0]
    ordered = question.op == "forget" and opening.kind == "yes" and _orders_same(opening.rest)
    if _is_hedged(read, scene.turn.text, opening) and not ordered:
        return None
    if opening.kind == "no" and brings_figures(question.content, opening.rest):
        return None  # "no, 15 June" mends what is offered
    if opening.kind == "no":
        return NO[question.question]
    yes = YES[question.question]
    if question.question == "which" and question.id not in scene.wholes:
        said = whole_answer(opening.rest)
        return ALL if said is not None and said.kind == "all_yes" else None
    if _TURNING.intersection(rest) or _HOLDS.intersection(map(stem, rest)) - _words_of(question):
        return None
    if question.op == "forget" and not (ordered or _only_names(question, rest)):
        return None  # "yes I parked it there" confirms the line that would go
    if _is_at_odds(question, yes, read) and not (ordered or _names_choice(question, yes, rest)):
        return None
    return yes


def _names_choice(question: Proposal, choice: str, rest: Sequence[str]) -> bool:
    """Whether words have one that no other choice has: "the Siemens job is over"."""
    named, others = set[str](), set[str]()
    for one in _answers(question):
        if one.choice == choice:
            named |= one.words
        else:
            others |= one.words
    return not (named - others).isdisjoint(map(stem, rest))


def _orders_same(rest: str) -> bool:
    """Whether what follows a yes is itself the order to forget what was asked about: "ja, lösch das"."""
    return any(order.act == "withdraw" and order.rest_start == order.rest_end for order in orders_of_turn(rest))


def _only_names(question: Proposal, rest: Sequence[str]) -> bool:
    return {stem(word) for word in rest if word not in _LIGHT} <= _words_of(question)


def _words_of(question: Proposal) -> set[str]:
    """The words of a question and of all its choices."""
    labels = (word for one in _choices(question) for word in _label_words(one.label))
    return {*content_words(question.content), *labels}


def _changes_nothing(question: Proposal, choice: str) -> bool:
    return choice in (NO[question.question], BOTH)


# Names


def _named(questions: Sequence[Proposal], said: Sequence[str]) -> tuple[Proposal, str] | None:
    """The only choice that the words name; all of them are words of what was asked, and one at least tells it from the
    other choices."""
    options = _options(questions)
    denied = sum(word in DENIALS for word in said)
    words = {stem(word) for word in said if word not in _LIGHT and word not in DENIALS}
    if not words or (_TURNING - DENIALS).intersection(said) or not words <= _all_words(options):
        return None
    if words <= STOP_WORDS and not _POINTING.issuperset(said):
        return None  # "over to you"
    often = Counter(word for option in options for word in option.words)
    meant = [option for option in options if any(often[word] == 1 for word in words & option.words)]
    if len(meant) != 1 or not words <= meant[0].words:
        return None
    if not denied:
        return meant[0].question, meant[0].choice
    if denied == 1:
        return _opposite(meant[0])
    return None


def _opposite(option: _Option) -> tuple[Proposal, str] | None:
    """What a denied choice means: "it is not over". Of several lines it means none for sure."""
    kind = option.question.question
    if kind == "which" or option.choice != YES[kind]:
        return None
    return option.question, NO[kind]


def _all_words(options: Iterable[_Option]) -> set[str]:
    return {word for option in options for word in option.words}


def _options(questions: Sequence[Proposal]) -> list[_Option]:
    """The choices that words can name; of several questions an offer is named by what it would keep."""
    found: list[_Option] = []
    for one in questions:
        if len(questions) > 1 and one.question == "keep":
            found.append(_Option(one, YES["keep"], frozenset(content_words(one.content))))
        else:
            found += _answers(one)
    return found


def _answers(question: Proposal) -> list[_Option]:
    lines = question.question == "which"
    if question.op in ("end", "forget"):
        line = content_words(question.content)
    else:
        line = ()
    found = []
    for one in _choices(question):
        if lines and one.choice in (ALL, NONE):
            continue
        if lines:
            words = content_words(one.label)
        else:
            words = (*_words_of_choice(question, one), *line)
        found.append(_Option(question, one.choice, frozenset(words)))
    return found


def _words_of_choice(question: Proposal, one: Choice) -> set[str]:
    kind = question.question
    if one.choice == YES[kind]:
        return set(_label_words(one.label)) - {"yes"}
    if one.op is not None or one.choice == BOTH:
        words = set(_label_words(one.label))
    else:
        words = set()
    if one.choice != NO[kind] or question.op == "add":
        return words  # an offer is not left as it is: nobody knows what "leave it" wants of it
    apart = any(other.choice == BOTH for other in _choices(question)) and one.choice != BOTH
    return words | (_HOLDS - {"keep"} if apart else _HOLDS)


def _label_words(label: str) -> list[str]:
    return [stem(word) for word in tokens(label) if word not in _LIGHT and word not in DENIALS]


def _choices(question: Proposal) -> Sequence[Choice]:
    return question.choices or plain_choices(question.op, question.memory_id)
