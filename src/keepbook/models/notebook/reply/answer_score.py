"""Tells how likely it is that a line answers a question: a logistic function of a few things seen in the two.

None of them decides alone. A line may lack each word of a question and answer it ("What food don't I like?", "I hate
mushrooms"), and may have all of them and not answer it. What each of them weighs was learned from questions with and
without an answer (`training/answer_fit.py`): once with the likeness that the embedder of Keepbook sees, and once
without any, which is also used with another embedder.
"""

import tomllib
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from math import exp
from pathlib import Path
from typing import NamedTuple

from keepbook.book.text.topic_meaning import Sense
from keepbook.book.text.words import content_words, fold_text, numbers, stem, tokens, word_set
from keepbook.models.notebook.lists.kin import PEOPLE, person_spoken_of
from keepbook.models.notebook.lists.matters import QUESTION_WORDS
from keepbook.models.notebook.reply.asked_kind import AskedKind, asked_kind, has_kind, measure_words
from keepbook.patterns import regex

WEIGHTS = Path(__file__).parent / "answer_weights.toml"
MUCH_LIKE, USUAL_LIKE = 0.5, 0.3
"""From the one on likeness counts more; a line without rivals is held against the other."""
MOST_LACKING = 4
"""So many missing words count; more are no worse."""
LONG = 12
"""A line of more words is a long one: it says more than one thing."""
_PEOPLE = frozenset(map(stem, PEOPLE))
_OF_SELF = word_set("""
    i i'm i've me my mine we we're we've us our ours ich mein meine wir yo mi mis jeg min mitt mine je mon ma mes
""")
_NAME = regex(r"(?<=\s)[A-Z][^\W\d_]{1,30}")
"""A name in a question: a capital that does not begin it."""


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question as it is held against lines."""

    text: str
    kind: AskedKind
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


class Bars(NamedTuple):
    """From `answers` on a line is told as the answer, from `near` on it is shown as the nearest there is."""

    answers: float
    near: float


class LearnedWeights(NamedTuple):
    """What each thing weighs, with the likeness that the embedder of this space sees, and without any."""

    space: str
    with_likeness: Mapping[str, float]
    by_words: Mapping[str, float]


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
        text, asked_kind(text), frozenset(matter), people,
        names=frozenset(stem(fold_text(name)) for name in _NAME.findall(text)),
        names_of_people={one: known[one] for one in people if one in known},
        numbers=frozenset(numbers(text)), is_of_self=not _OF_SELF.isdisjoint(words),
    )  # fmt: skip


def features_of(
    asked: ParsedQuestion, line: str, subject: str | None, likeness: float, best_other: float
) -> dict[str, float]:
    """What is seen in a question and a line. `best_other` is the likeness of the likest other line."""
    content = set(content_words(line))
    every = stems_of(line, subject)
    return {
        "likeness": likeness,
        "much likeness": max(0.0, likeness - MUCH_LIKE),
        "ahead of the others": likeness - max(best_other, USUAL_LIKE),
        "numbers missing": float(not asked.numbers <= numbers(line)),
        "long line": float(len(tokens(line)) > LONG),
        **_words_seen(asked, content, every, likeness),
        **_kind_seen(asked, line),
        **_people_seen(asked, line, subject, every, likeness),
    }


def _words_seen(
    asked: ParsedQuestion, content: AbstractSet[str], every: AbstractSet[str], likeness: float
) -> dict[str, float]:
    measures = measure_words(asked.kind)
    matter = (asked.matter - (measures - content)) or measures.intersection(map(stem, tokens(asked.text)))
    lacking = matter - every
    shared = 0.0
    if matter:
        shared = 1 - len(lacking) / len(matter)
    return {
        "share of its words": shared,
        "all of its words": float(bool(matter) and not lacking),
        "none of its words": float(shared == 0),
        "share and likeness": shared * likeness,
        "words lacking": float(min(len(lacking), MOST_LACKING)),
        "share, yes or no": shared * (asked.kind == "whether"),
        "some words lacking": float(bool(lacking) and shared > 0),
        "some words lacking, yes or no": float(bool(lacking) and shared > 0 and asked.kind == "whether"),
    }


def _kind_seen(asked: ParsedQuestion, line: str) -> dict[str, float]:
    if asked.kind in ("matter", "whether"):
        return {f"kind: {asked.kind}": 1.0}
    if has_kind(asked.kind, asked.text, line):
        return {f"{asked.kind} found": 1.0}
    return {f"{asked.kind} missing": 1.0}


def stems_of(line: str, subject: str | None) -> frozenset[str]:
    """The stems of all words of a line and of whom it is about."""
    return frozenset(content_words(line)) | frozenset(map(stem, tokens(f"{subject or ''} {line}")))


def missing_people(asked: ParsedQuestion, every: AbstractSet[str]) -> frozenset[str]:
    """Whom a question asks about and a line with these stems does not name."""
    return frozenset(one for one in asked.people if one not in every and asked.names_of_people.get(one) not in every)


def names_asked(asked: ParsedQuestion, line: str, subject: str | None) -> bool:
    """Whether a line names everybody whom a question asks about."""
    return not missing_people(asked, stems_of(line, subject))


def _people_seen(
    asked: ParsedQuestion, line: str, subject: str | None, every: AbstractSet[str], likeness: float
) -> dict[str, float]:
    missing = missing_people(asked, every)
    about = subject or person_spoken_of(line)
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
    weights = _weights_for(sense)
    scores = []
    for at, (line, subject) in enumerate(texts):
        others = [likeness for place, likeness in enumerate(likenesses) if place != at]
        seen = features_of(asked, line, subject, likenesses[at], max(others, default=0.0))
        total = weights["base"] + sum(weights.get(name, 0.0) * value for name, value in seen.items())
        scores.append(1 / (1 + exp(-total)))
    return scores


def bars_for(sense: Sense | None) -> Bars:
    weights = _weights_for(sense)
    return Bars(weights["bar: answers"], weights["bar: near"])


def _weights_for(sense: Sense | None) -> Mapping[str, float]:
    learned = _load_weights()
    if sense is not None and sense.space == learned.space:
        return learned.with_likeness
    return learned.by_words


@cache
def _load_weights() -> LearnedWeights:
    found = tomllib.loads(WEIGHTS.read_text(encoding="utf-8"))
    return LearnedWeights(found["space"], found["with likeness"], found["by words"])
