"""Tells how likely it is that a line answers a question: a logistic function of a few things seen in the two.

None of them decides alone. A line may lack each word of a question and answer it ("What food don't I like?", "I hate
mushrooms"), and may have all of them and not answer it. What each of them weighs was learned from questions with and
without an answer (`training/answer_fit.py`), for the embedder that comes with Keepbook; without it words alone decide.
"""

import tomllib
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from math import exp
from pathlib import Path
from typing import NamedTuple

from keepbook.book.recall.people import RELATIONS
from keepbook.book.text.topic_meaning import Sense
from keepbook.book.text.words import STOP_WORDS, content_words, fold_text, numbers, stem, tokens, word_set
from keepbook.models.notebook.lists.matters import QUESTION_WORDS
from keepbook.models.notebook.reply.answering import answer_score
from keepbook.patterns import regex

WEIGHTS = Path(__file__).parent / "answer_weights.toml"
MUCH_LIKE, USUAL_LIKE = 0.5, 0.3
"""From the one on likeness counts more; a line without rivals is held against the other."""
ANSWERS, NEAR = 0.5, 0.2
"""From the one on a line is told as the answer, from the other on it is shown as the nearest there is."""
LACKING = 0.4
"""How sure a line is, by words alone, that has all words of a question but is not sure to answer."""
MOST_LACKING = 4
"""So many missing words count; more are no worse."""
LONG = 12
"""A line of more words is a long one: it says more than one thing."""
_PEOPLE = frozenset(map(stem, RELATIONS))
_OWNERS = ("my", "our")
_OF_SELF = word_set("""
    i i'm i've me my mine we we're we've us our ours ich mein meine wir yo mi mis jeg min mitt mine je mon ma mes
""")
_SELF = _OF_SELF - word_set("my mine our ours mein meine mi mis min mitt mon ma mes")
"""Of these, the words for the person, and not for what is theirs."""
_LIGHT = frozenset(map(stem, STOP_WORDS))
_NAME = regex(r"(?<=\s)[A-Z][^\W\d_]{1,30}")
"""A name in a question: a capital that does not begin it."""


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question as it is held against lines."""

    text: str
    matter: frozenset[str]
    """The stems of the words that say what is asked about."""
    people: frozenset[str]
    """The stems of words such as "wife" in it."""
    names: frozenset[str]
    """The stems of the names in it."""
    names_of_people: Mapping[str, str]
    """The stems of the names that the book gives the people asked about, by what they are."""
    numbers: frozenset[str]
    is_of_self: bool

    @property
    def names_asked(self) -> frozenset[str]:
        """The stems of the names of whom it asks about."""
        return self.names | frozenset(self.names_of_people.values())


class LearnedWeights(NamedTuple):
    """What each thing weighs, for the embedder of this space."""

    space: str
    base: float
    weights: Mapping[str, float]


def parse_question(text: str, called: Mapping[str, str], addressing: frozenset[str] = frozenset()) -> ParsedQuestion:
    """`called` has the names of people by what they are to the person; `addressing` are words that only speak to the
    book: "did you write down the tablets?" asks about the tablets."""
    words = tokens(text)
    stems = set(map(stem, words))
    matter = set(content_words(text)) - QUESTION_WORDS
    if "you" in words:
        matter -= addressing
    people = frozenset(stems & _PEOPLE)
    known = {stem(relation): stem(fold_text(name)) for relation, name in called.items()}
    return ParsedQuestion(
        text, frozenset(matter), people,
        names=frozenset(stem(fold_text(name)) for name in _NAME.findall(text)),
        names_of_people={one: known[one] for one in people if one in known},
        numbers=frozenset(numbers(text)), is_of_self=not _OF_SELF.isdisjoint(words),
    )  # fmt: skip


def features_of(
    asked: ParsedQuestion, line: str, subject: str | None, likeness: float, best_other: float, learned: float
) -> dict[str, float]:
    """What is seen in a question and a line. `best_other` is the likeness of the likest other line;
    `learned` are the log-odds of `answering.py`, or 0."""
    every = stems_of(line, subject)
    words, people = _words_seen(asked, every, likeness), _people_seen(asked, line, subject, every, likeness)
    return {
        "learned": learned,
        "likeness": likeness,
        "much likeness": max(0.0, likeness - MUCH_LIKE),
        "ahead of the others": likeness - max(best_other, USUAL_LIKE),
        "numbers missing": float(not asked.numbers <= numbers(line)),
        "long line": float(len(tokens(line)) > LONG),
        "own line with all of its words": words["all of its words"] * people["own question, own line"],
        **words,
        **people,
    }


def _lacking(asked: ParsedQuestion, every: AbstractSet[str]) -> tuple[frozenset[str], float]:
    """The words of a question that a line lacks, and which share of them it has. Who is named as the book names them
    is not lacking."""
    matter = asked.matter or frozenset(map(stem, tokens(asked.text))) - _LIGHT
    named = {one for one, name in asked.names_of_people.items() if name in every}
    lacking = matter - every - named
    if not matter:
        return lacking, 0.0
    return lacking, 1 - len(lacking) / len(matter)


def _words_seen(asked: ParsedQuestion, every: AbstractSet[str], likeness: float) -> dict[str, float]:
    lacking, shared = _lacking(asked, every)
    return {
        "share of its words": shared,
        "all of its words": float(shared == 1),
        "none of its words": float(shared == 0),
        "share and likeness": shared * likeness,
        "words lacking": float(min(len(lacking), MOST_LACKING)),
        "some words lacking": float(0 < shared < 1),
    }


def _begins_with_another(line: str) -> bool:
    """Whether a line begins with somebody of the person's: "My little sister lives in Leeds"."""
    first, *rest = tokens(line)[:3] or [""]
    return first in _OWNERS and not _PEOPLE.isdisjoint(map(stem, rest))


def stems_of(line: str, subject: str | None) -> frozenset[str]:
    """The stems of all words of a line and of whom it is about."""
    return frozenset(content_words(line)) | frozenset(map(stem, tokens(f"{subject or ''} {line}")))


def missing_people(asked: ParsedQuestion, every: AbstractSet[str]) -> frozenset[str]:
    """Whom a question asks about and a line with these stems does not name."""
    return frozenset(one for one in asked.people if one not in every and asked.names_of_people.get(one) not in every)


def names_asked(asked: ParsedQuestion, line: str, subject: str | None) -> bool:
    """Whether a line names everybody whom a question asks about."""
    every = stems_of(line, subject)
    has_names = asked.is_of_self or asked.names <= every
    return has_names and not missing_people(asked, every)


def is_of_another(asked: ParsedQuestion, line: str, subject: str | None) -> bool:
    """Whether a line is about somebody and not about the person, and a question about the person alone."""
    if not asked.is_of_self or asked.people or asked.names:
        return False
    return bool(subject or _begins_with_another(line)) and _SELF.isdisjoint(tokens(line))


def _people_seen(
    asked: ParsedQuestion, line: str, subject: str | None, every: AbstractSet[str], likeness: float
) -> dict[str, float]:
    missing = missing_people(asked, every)
    about = subject or _begins_with_another(line)
    others = bool(about or (every & _PEOPLE))
    is_named = bool(asked.names & every)
    is_own = not about and not _OF_SELF.isdisjoint(tokens(line))
    asks_of_somebody = bool(asked.people or asked.names)
    is_of_self = asked.is_of_self and not asks_of_somebody
    is_of_the_world = not (asked.is_of_self or asked.people or is_named)
    seen = {
        "people found": bool(asked.people) and not missing,
        "people missing, others named": bool(missing) and others,
        "people missing, none named": bool(missing) and not others,
        "own question, somebody else": bool(about) and is_of_self,
        "own question, own line": is_own and is_of_self,
        "somebody's question, own line": is_own and asks_of_somebody and not (is_of_self or is_named),
        "names missing": len(asked.names - every),
        "names missing, others named": bool(asked.names - every) and others,
        "asks about the world": is_of_the_world,
        "asks about the world, likeness": is_of_the_world * likeness,
    }
    return {name: float(value) for name, value in seen.items()}


def score_texts(
    asked: ParsedQuestion, texts: Sequence[tuple[str, str | None]], likenesses: Sequence[float], sense: Sense | None
) -> list[float]:
    """How likely each text answers, 0 to 1; each with whom it is about, if that is somebody else."""
    known = answer_score_weights()
    if sense is None or sense.space != known.space:
        return [_score_by_words(asked, line, subject) for line, subject in texts]
    scores = []
    for at, (line, subject) in enumerate(texts):
        best_other = max((likeness for place, likeness in enumerate(likenesses) if place != at), default=0.0)
        learned = learned_of(asked.text, line, sense)
        seen = features_of(asked, line, subject, likenesses[at], best_other, learned)
        total = known.base + sum(known.weights[name] * value for name, value in seen.items())
        scores.append(1 / (1 + exp(-total)))
    return scores


def _score_by_words(asked: ParsedQuestion, line: str, subject: str | None) -> float:
    """Where nothing was learned for the embedder: sure of a line that has all words and numbers of a question, and does
    not begin with somebody it does not ask about."""
    if not asked.numbers <= numbers(line):
        return 0.0
    every = stems_of(line, subject)
    lacking, shared = _lacking(asked, every)
    of_another = _begins_with_another(line) and not (asked.people or asked.names & every)
    if lacking or of_another:
        return shared * LACKING
    return shared


def learned_of(question: str, line: str, sense: Sense | None) -> float:
    """What was learned of which kinds of lines answer such a question, as log-odds; 0 where nothing was."""
    if sense is None:
        return 0.0
    return answer_score(question, line, sense) or 0.0


@cache
def answer_score_weights() -> LearnedWeights:
    found = tomllib.loads(WEIGHTS.read_text(encoding="utf-8"))
    return LearnedWeights(found["space"], found["base"], found["weights"])
