"""Takes an answer in free words, where no doubt is left which choice it means.

Two things decide, and neither is a list of answers: a turn that opens with a plain yes or no and has no word that turns
it round ("yeah, since June"), and words that exactly one of the choices has ("the blue one"). What has neither, or has
them at odds, leaves the question open.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from keepbook.book.memory.proposals import Proposal
from keepbook.book.memory.questions import ALL, BOTH, NO, NONE, YES, Choice, plain_choices
from keepbook.book.text.periods import period
from keepbook.book.text.words import DENIALS, STOP_WORDS, content_words, stem, tokens, word_set
from keepbook.models.notebook.answers.forms import Opening, plain_opening
from keepbook.models.notebook.values import Scene, TurnStep

MOST_WORDS = 40
"""A longer turn tells something: who only answers is done before."""
MOST_NAMING = 12
"""So many words at most only name a choice."""
_TURNING = DENIALS | word_set("""
    but except excluding without unless if till until or nor maybe perhaps probably possibly almost nearly hardly barely
    partly half mostly though although however instead rather otherwise wait hold guess think suppose wonder unsure
    depends later soon eventually first apart other others another else none right whatever anything something yet ask
    might may could would should did was were what which who why how when where
""")
"""Words that turn an answer round, hedge it, or put it off."""
_BEFORE_MONTHS = word_set("in since of last this early late mid by")
_GO_WITH_NO = DENIALS | word_set("yet did was were other anything when where who")
"""Of these the ones that a no may have."""
_BEHIND_NO = word_set("""
    i we it its that this these those they he she my our do did does leave keep still please thanks not there yes
""")
"""What may stand behind "no" without a mark: before other words it counts them, "no problem", "no more bikes"."""
_LIGHT = STOP_WORDS - word_set("over both") | word_set("""
    one ones thing pls ok okay well oh yes mean meant there thanks thank thx
""")
_POINTING = DENIALS | word_set("it is was that this these those they them are be of all now over both there yes thanks")
"""What stands beside a choice that is named by small words alone: "it is over"."""
_HOLDS = frozenset(map(stem, word_set("keep leave still stay stays holds")))
"""Words that leave a line as it is."""
_DOES = {"forget": "forget delete remove erase drop", "end": "over", "update": "change", "add": "keep save"}
"""What the yes to each kind of question is called, where its words do not say it."""


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


def free_answer(scene: Scene) -> FreeAnswer | None:
    """The one choice of an open question that the words of a turn mean; None where there is a doubt."""
    text = scene.turn.text
    said = _without_months(tokens(text))
    if not scene.questions or "?" in text or not 0 < len(said) <= MOST_WORDS:
        return None
    opening = plain_opening(text)
    if opening is None:
        rest = said
    else:
        rest = _without_months(tokens(opening.rest))
    named = None
    if len(rest) <= MOST_NAMING:
        named = _named(scene.questions, rest)
    if named is not None:
        coherent = opening is None or opening.kind == "yes" or _changes_nothing(*named)
        if coherent:
            return _as_answer(scene, *named, alone=True)
        return None
    if opening is None or len(scene.questions) > 1 or "both" in rest:
        return None
    plain = _choice_of_opening(scene, opening, rest)
    if plain is not None:
        return _as_answer(scene, scene.questions[0], plain, alone=False)
    return None


def _without_months(said: Sequence[str]) -> list[str]:
    """The words without a "may" that is a month: behind a preposition, or beside a number."""
    pairs = zip(["", *said], said, [*said[1:], ""], strict=False)
    return [word for before, word, after in pairs if word != "may" or not _is_month(before, after)]


def _is_month(before: str, after: str) -> bool:
    return before in _BEFORE_MONTHS or before.isdecimal() or after.isdecimal()


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


def _choice_of_opening(scene: Scene, opening: Opening, rest: Sequence[str]) -> str | None:
    """What a plain yes or no chooses of the only question, if nothing behind it turns it round."""
    question = scene.questions[0]
    if opening.kind == "no":
        turned = (_TURNING - _GO_WITH_NO).intersection(rest)
        counts = not opening.marked and bool(rest) and rest[0] not in _BEHIND_NO
        if turned or counts:
            return None
        return NO[question.question]
    if _TURNING.intersection(rest) or _HOLDS.intersection(map(stem, rest)) - _words_of(question):
        return None
    if question.question == "which" and question.id not in scene.wholes:
        return None
    if question.op == "forget" and not _only_names(question, rest):
        return None  # "yes I parked it there" confirms the line that would go
    return YES[question.question]


def _only_names(question: Proposal, rest: Sequence[str]) -> bool:
    return {stem(word) for word in rest if word not in _LIGHT} <= _words_of(question)


def _words_of(question: Proposal) -> set[str]:
    """The words of a question and of all its choices."""
    labels = (word for one in _choices(question) for word in _label_words(one.label))
    return {*content_words(question.content), *labels, *_names_of_yes(question.op)}


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
        return {*_label_words(one.label), *_names_of_yes(one.op or question.op)} - {"yes"}
    if one.op is not None or one.choice == BOTH:
        words = set(_label_words(one.label))
    else:
        words = set()
    if one.choice != NO[kind] or question.op == "add":
        return words  # an offer is not left as it is: nobody knows what "leave it" wants of it
    apart = any(other.choice == BOTH for other in _choices(question)) and one.choice != BOTH
    return words | (_HOLDS - {"keep"} if apart else _HOLDS)


def _names_of_yes(op: str) -> set[str]:
    return set(map(stem, _DOES.get(op, "").split()))


def _label_words(label: str) -> list[str]:
    return [stem(word) for word in tokens(label) if word not in _LIGHT and word not in DENIALS]


def _choices(question: Proposal) -> Sequence[Choice]:
    return question.choices or plain_choices(question.op, question.memory_id)
