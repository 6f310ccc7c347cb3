"""From what the person said to the lines that are kept: one fact each, plain, with names, numbers and units as said.

English is turned to the third person as the extractor does it, so that closing the chat finds the same line and does
not learn it again. Other languages keep the person's own words, in the order of a main clause.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from keepbook.models.offline.extract import english as w
from keepbook.models.offline.extract import evidence, other_languages
from keepbook.models.offline.extract.categories import category
from keepbook.models.offline.extract.clauses import pieces, sentences
from keepbook.models.offline.extract.people import relations
from keepbook.models.offline.extract.third_person import line

_NAMED = re.compile(r"(?!I\b|I'|My\b|We\b|Our\b|The\b|No\b|It\b)(?P<name>[A-ZÀ-Þ][\wÀ-ÿ-]+)(?:'s|’s)? [a-z]")
_SINCE = re.compile(
    r"\b(?:(?:since|as of|starting|from) (?P<from>(?:last |the )?(?:\w+ )?(?:(?:19|20)\d\d|\d{1,2} [A-Z]\w+(?: \d{4})?|"
    rf"{w.MONTH}(?: \d{{4}})?)|yesterday|last \w+)|(?P<ago>yesterday|last (?:week|month|year|{w.WEEKDAY})|"
    r"(?:\d+|a|two|three|four|five|six) (?:days?|weeks?|months?|years?) ago))\b",
    re.IGNORECASE,
)
_BEGAN = re.compile(r"\b(?:moved|started|joined|switched|began|quit|stopped|bought|sold|married|got)\b", re.IGNORECASE)
_BY_NOW = re.compile(r",? (?:now|nowadays|these days|currently|at the moment)$", re.IGNORECASE)
_CALLED = re.compile(r"^(?:me as|(?:please )?call me) (?!back\b|when\b|at\b)", re.IGNORECASE)
_POLITE_END = re.compile(r",?\s*(?:por favor|gracias|bitte|danke|takk|vær så snill)$", re.IGNORECASE)
_INVERTED = re.compile(r"^(?P<verb>\w+) (?P<who>ich|wir|jeg|vi)\b(?P<rest>.*)$", re.IGNORECASE)
_VERB_LAST = re.compile(
    r"^(?P<who>ich|wir|(?:mein|unser)\w* \w+|[A-ZÄÖÜ]\w+) (?P<rest>.+) (?P<verb>\w+)$", re.IGNORECASE
)
_GERMAN_VERB = re.compile(r"bin|kann|muss|will|mag|darf|soll|weiß|sind|\w{2,}(?:e|t|en)", re.IGNORECASE)
_NO_VERB = re.compile(r"(?:ein|kein|mein|gern|heute|nicht)", re.IGNORECASE)
_NOT_FIRST = re.compile(r"^(?P<who>jeg|vi) (?P<how>ikke|aldri|alltid|bare) (?P<verb>\w+)", re.IGNORECASE)


class Fact(NamedTuple):
    """A line to keep."""

    content: str
    category: str | None = None
    subject: str | None = None
    since: str | None = None


def facts_of(matter: str, tongue: str, categories: Sequence[str]) -> list[Fact]:
    """The facts of what was told. A sentence falls apart only where each of its parts is a fact by itself."""
    told = _CALLED.sub("I want to be called ", matter.strip())
    if tongue != "en":
        return [_foreign(sentence, tongue, categories) for sentence in sentences(told)]
    found = []
    for sentence in sentences(told):
        parts = [piece.text for piece in pieces(sentence, evidence.STANDS)]
        whole = len(parts) < 2 or not all(evidence.weigh(part, sentence).kept for part in parts)
        found += [_english(part, categories) for part in ([sentence] if whole else parts)]
    return [fact for fact in found if fact.content]


def _english(text: str, categories: Sequence[str]) -> Fact:
    content = reworded(text, "en")
    group = category(content, evidence.weigh(text, text).features, categories)
    return Fact(content, group, _subject(text, group), _since(text))


def _subject(text: str, group: str | None) -> str | None:
    named = relations(text)
    if len(named) == 1 and " and " not in named[0].name and named[0].name not in ("Mr", "Mrs", "Ms", "Dr"):
        return named[0].name
    led = _NAMED.match(text) if group == "person" else None
    return led["name"] if led else None


def _since(text: str) -> str | None:
    found = _SINCE.search(text)
    if found is None:
        return None
    return found["from"] or (found["ago"] if _BEGAN.search(text) else None)


def _foreign(text: str, tongue: str, categories: Sequence[str]) -> Fact:
    content = reworded(text, tongue)
    read = other_languages.read(content, tongue)
    return Fact(content, category(content, read[0].features if read else (), categories))


def reworded(text: str, tongue: str) -> str:
    """A line of its own, in the person's words and their language."""
    if tongue == "en":
        plain = _BY_NOW.sub("", re.sub(r"^(?:Actually|Now|Currently) ", "", line(text)))
        return plain[:1].upper() + plain[1:]
    out = _POLITE_END.sub("", text.strip(" .,!;:…"))
    if tongue in ("de", "nb") and (turned := _INVERTED.match(out)):
        out = f"{turned['who']} {turned['verb']}{turned['rest']}"
    elif tongue == "de" and (last := _VERB_LAST.match(out)) and _ends_with_verb(last):
        out = f"{last['who']} {last['verb']} {last['rest']}"
    elif tongue == "nb" and (early := _NOT_FIRST.match(out)):
        out = f"{early['who']} {early['verb']} {early['how']}{out[early.end() :]}"
    return out[:1].upper() + out[1:500]


def _ends_with_verb(clause: re.Match[str]) -> bool:
    """ "ich in Köln wohne", as it stands after "dass"; not "ich wohne in Köln"."""
    return _is_verb(clause["verb"]) and not _is_verb(clause["rest"].split()[0])


def _is_verb(word: str) -> bool:
    return word.islower() and bool(_GERMAN_VERB.fullmatch(word)) and not _NO_VERB.match(word)
