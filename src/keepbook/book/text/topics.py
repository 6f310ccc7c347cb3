"""Topics that a person wants never remembered: shipped groups, and topics of the person's own.

A group (health, money, …) is matched by its words in six languages and, where there is an embedder, by meaning: a text
is held against sentences that are meant and sentences that only sound like it. A topic of one's own is matched by its
words in any of their forms, and by meaning. What is shipped is data: `topics.toml`.
"""

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, log
from pathlib import Path
from typing import Any, NamedTuple

from keepbook.book.ground.patterns import regex
from keepbook.book.text.words import STOP_WORDS, fold, query_terms, stem, tokens

Likeness = Callable[[str, Sequence[str]], Sequence[float]]
"""How alike a text is to each of some others, 0 to 1: the embedder's word."""
NEAR, ELSEWHERE, WORDED, LEAST = 0.04, 0.2, 2.0, 0.25
"""By meaning: how fast a sentence loses its say with distance, what one of another group has to say, how much a word of
the group tells, and how much more has to speak for the group than against it."""
OWN = 0.62
SOME = 4
"""Of other groups every so many-th sentence is looked at."""
_UNSPACED = regex(r"[぀-ヿ㐀-鿿฀-๿]")


@dataclass(frozen=True, slots=True)
class Group:
    name: str
    covers: str
    names: frozenset[str]
    words: re.Pattern[str]
    beside: re.Pattern[str]
    meant: tuple[str, ...]
    near: tuple[str, ...]


@cache
def groups() -> dict[str, Group]:
    return {
        name: Group(
            name,
            row["covers"],
            frozenset(map(fold, (name, *row["names"]))),
            _any(row["words"]),
            _any(row["not"]),
            tuple(row["about"]),
            tuple(row["beside"]),
        )
        for name, row in _shipped()["group"].items()
    }


@cache
def _shipped() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "topics.toml").read_text(encoding="utf-8"))


@cache
def _proper() -> frozenset[str]:
    """What is written with a capital and is no name of somebody or something."""
    return frozenset(_shipped()["capital"])


def _any(words: Sequence[str]) -> re.Pattern[str]:
    """One pattern of many words: whole words, with * any ending; scripts without spaces anywhere in the text."""
    spaced = [_pattern(word) for word in words if not _UNSPACED.search(word)]
    dense = [re.escape(fold(word)) for word in words if _UNSPACED.search(word)]
    whole = rf"(?<!\w)(?:{'|'.join(sorted(set(spaced), key=len, reverse=True))})(?!\w)" if spaced else ""
    return regex("|".join(filter(None, [whole, *dense])) or r"(?!)")


def _pattern(word: str) -> str:
    plain = fold(word)
    if plain.endswith("*") or "*" in plain:
        return re.escape(plain).replace(r"\*", r"\w*")
    plural = "" if " " in plain or not plain.isalpha() or plain.endswith("s") else "(?:s|'s)?"
    return re.escape(plain) + plural


def group_named(phrase: str) -> str | None:
    """The group that a phrase names, if it names one as a whole."""
    plain = fold(phrase).strip(" .,!")
    return next((group.name for group in groups().values() if plain in group.names), None)


def named_in(phrase: str) -> list[str]:
    """The groups whose names stand in a phrase: "my political views and how I vote"; "what I earn" by its words."""
    plain = " ".join(["", *re.findall(r"\w+", fold(phrase)), ""])
    found = [group.name for group in groups().values() if any(f" {name} " in plain for name in group.names)]
    if not found and re.match(r"(?:what|how|who|where|whether)\b", phrase, re.IGNORECASE):
        found = [group.name for group in groups().values() if group.words.search(fold(phrase))]
    return found


def covers(topic: str) -> str:
    """What a topic covers, in words for a settings page."""
    name = group_named(topic)
    return groups()[name].covers if name else f"whatever speaks of “{topic}”, in any form of the words"


def touched(text: str, topics: Sequence[str], likeness: Likeness | None = None) -> list[str]:
    """The topics that a text is about, in the order of the list."""
    return [topic for topic in topics if _touches(text, topic, likeness)]


def _touches(text: str, topic: str, likeness: Likeness | None) -> bool:
    name = group_named(topic)
    return _own(text, topic, likeness) if name is None else _of_group(text, groups()[name], likeness)


def _of_group(text: str, group: Group, likeness: Likeness | None) -> bool:
    plain = group.beside.sub(" ", fold(_nameless(text)).replace("’", "'"))
    worded = bool(group.words.search(plain)) and not _of_others(text)
    if likeness is None or _UNSPACED.search(text):
        return worded
    told = _sentences(group.name)
    weights = [exp(one / NEAR) for one in likeness(text, [one.text for one in told])]
    speaks = sum(weight for weight, one in zip(weights, told, strict=True) if one.group == group.name and one.meant)
    against = sum(
        weight * (1.0 if one.group == group.name else ELSEWHERE)
        for weight, one in zip(weights, told, strict=True)
        if one.group != group.name or not one.meant
    )
    return log(speaks) - log(against) + WORDED * (worded - 0.5) >= LEAST


class _Sentence(NamedTuple):
    group: str
    text: str
    meant: bool


@cache
def _sentences(name: str) -> tuple[_Sentence, ...]:
    """What a text is held against: sentences that are meant, that only sound like it, and some of other groups."""
    return tuple(
        _Sentence(group.name, text, meant)
        for group in groups().values()
        for meant, texts in ((True, group.meant), (False, group.near))
        for text in texts[:: 1 if group.name == name else SOME]
    )


_NAME = regex(
    r"(?<![.!?…:])(?<=[\w,&'’]\s)(?:The |La |El )?[A-ZÀ-Þ][a-zà-ÿ][\w'’-]*|^\W*[A-ZÀ-Þ][a-zà-ÿ]+(?= [A-ZÀ-Þ][a-zà-ÿ])"
)
_CAPITALS = regex(r"\b(?:ich|mein\w*|und|wir|ist|hat|habe|der|die|das|nicht)\b", re.IGNORECASE)
"""German writes every noun with a capital."""


def _nameless(text: str) -> str:
    """Without names: who is called Faith, and the Brother on the desk, say nothing of faith and family."""
    if _CAPITALS.search(text) or text.istitle():
        return text
    return _NAME.sub(lambda one: one[0] if one[0].lower().split("'")[0] in _proper() else " ", text)


_TOLD = regex(
    r"\b(?:tv show|show about|series|film|movie|novel|episode|chapter|scene|video ?game|board game|song|album|musical|"
    r"podcast|documentary|sitcom|thriller|cartoon|museum)\b",
    re.IGNORECASE,
)
_OF_THINGS = regex(
    r"\W*(?:(?:the(?! (?:new|old)\b)|an?|this|that|these|those|its?|it's|what|which|who|how|why)\b"
    r"|(?:is|are|does)\b(?=.*\?))",  # without a question it is a line of the book: "Is allergic to walnuts"
    re.IGNORECASE | re.DOTALL,
)
_OF_PEOPLE = regex(
    r"\b(?:i|i'?m|i'?ve|i'?d|i'?ll|me|my|mine|we|we'?re|we'?ve|us|our|he|she|him|his|her|hers|they|their|them|myself)\b",
    re.IGNORECASE,
)


def _of_others(text: str) -> bool:
    """A story that somebody tells, or a sentence about things in which nobody is spoken of."""
    return bool(_TOLD.search(text)) or (bool(_OF_THINGS.match(text)) and not _OF_PEOPLE.search(text))


def _own(text: str, topic: str, likeness: Likeness | None) -> bool:
    wanted = [word for word in query_terms(topic) if word not in STOP_WORDS]
    said = set(map(stem, tokens(text)))
    if wanted and all(_has(word, said) for word in wanted):
        return True
    names = [stem(word.lower()) for word in re.findall(r"\b[A-ZÀ-Þ][\w-]+", topic)]
    proper = [name for name in names if name not in _common()]
    if len(names) == len(wanted) and any(name in said and _capital(name, text) for name in proper):
        return True  # "Project Nightjar" is also called Nightjar; "the Tesla position" is not any Tesla
    return likeness is not None and max(likeness(text, [topic])) >= OWN


@cache
def _common() -> frozenset[str]:
    return frozenset(map(stem, ["project", "team", "plan", "operation", "mission", "the", "position", "company"]))


def _capital(name: str, text: str) -> bool:
    return any(stem(word.lower().removesuffix("'s")) == name for word in re.findall(r"\b[A-ZÀ-Þ][\w'’-]+", text))


def _has(word: str, said: set[str]) -> bool:
    """A word in any of its forms: divorce, divorced, divorcing; never another word that begins like it (Tom,
    tomatoes)."""
    if word in said:
        return True
    return len(word) >= 5 and any(one.startswith(word[:-1]) and abs(len(one) - len(word)) <= 3 for one in said)
