"""Who is who: relations said in passing, and whom "he" or "her" means.

A relation counts when it is near (kin, pets, people who act for the person) and comes with a name. Loose
acquaintances (a mate, a neighbour) are other people's stories: what is said of them is not kept.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from keepbook.models.offline.extract import english as w
from keepbook.models.offline.extract.english import word_set

_NAME = r"(?:Dr\.? )?[A-ZÀ-ÖØ-Þ][\wÀ-ÿ'’-]*[a-zà-ÿ](?: [A-ZÀ-ÖØ-Þ][\wÀ-ÿ-]+)?"
_NEAR = f"{w.KIN}|{w.ROLE}|{w.PET}"
_ADJ = (
    r"(?:(?:new|old|eldest|oldest|youngest|little|big|late|dear|two|three|other|older|younger|only|"
    r"first|second|current|elderly|twin|business|own|lovely) )*"
)
_MINE = re.compile(
    rf"\b(?:[Mm]y|[Oo]ur|[Tt]he) (?P<rel>{_ADJ}(?i:{_NEAR})|(?i:business partner))(?:,| is| are|"
    rf" called| named| is called| are called|'s name is| is named|:)? (?P<name>{_NAME}(?:(?:,|"
    rf" and) {_NAME})?)"
)
_IS_MINE = re.compile(rf"\b(?P<name>{_NAME})(?:,| is|'s|, who's) (?:my|our) (?P<rel>{_ADJ}(?i:{_NEAR}))\b")
_BARE = re.compile(rf"^(?P<rel>(?i:{w.KIN})) (?P<name>[A-Z][\wÀ-ÿ-]*[a-zà-ÿ])\b")
_TO = re.compile(rf"\b(?:married to|engaged to|together with|partnered with) (?P<name>{_NAME})")
_LOOSE = re.compile(rf"\b(?:my|our|a|some|this|that|the) (?:[\w-]+ )?(?i:{w.LOOSE})\b(?:\s(?P<name>[A-Z]\w+))?")
_ANY = re.compile(rf"(?:(?<=[a-z,:;)] )|(?<=\band )|^)(?P<name>{_NAME})\b")
_COMMON = word_set(
    """
    The This That And But Also Anything Everything Yes No Monday Tuesday Wednesday Thursday Friday Saturday
    Sunday January February March April May June July August September October November December Please Just Now
    Then What When Where Before After Always Never Only Good Thanks My Our We It He She They If So Oh Ok Okay In
    On At From For To Two Three Of A An Is Are Do Don't I'm I've I'd
    """
)


class Person(NamedTuple):
    name: str
    near: bool


class Relation(NamedTuple):
    noun: str
    name: str

    def line(self) -> str:
        noun = self.noun[:1].upper() + self.noun[1:]
        plural = " and " in self.name or "," in self.name
        return f"{noun} {'are' if plural else 'is'} {self.name}"


def relations(text: str) -> list[Relation]:
    """Near people named in a piece."""
    found: list[Relation] = []
    for pattern in (_MINE, _IS_MINE, _BARE):
        for hit in pattern.finditer(text):
            name = hit.group("name").strip()
            if name.split()[0] not in _COMMON and not re.match(
                r"(?:manager|assistant|coach|team|client|ex)$", name, re.IGNORECASE
            ):
                found.append(Relation(hit.group("rel").lower().strip(), re.sub(r"['’]s$", "", name)))
    found.extend(Relation("partner", hit.group("name")) for hit in _TO.finditer(text))
    return found


def introduced(text: str) -> str | None:
    """ "my sister" in answer to "who is Devorah?"."""
    hit = re.match(
        (
            rf"^(?:(?:she|he|that|they)(?:'s| is|'re| are) )?(?:my|our) (?P<rel>{_ADJ}(?:{_NEAR}|"
            rf"{w.LOOSE}))\b"
        ),
        text,
        re.IGNORECASE,
    )
    return hit.group("rel").lower() if hit else None


def antecedent(text: str, before: Person | None) -> Person | None:
    """Whom a later he or she would mean."""
    loose = _LOOSE.search(text)
    near = relations(text)
    if near:
        return Person(re.split(r" and |,", near[-1].name)[0].strip(), True)
    kin = re.search(rf"\b(?:[Mm]y|[Oo]ur) (?:{_ADJ})(?P<rel>{_NEAR})\b", text)
    if loose and not (kin and kin.start() < loose.start()):
        return Person(loose.group("name") or "", False)
    names = [
        n
        for n in (m.group("name") for m in _ANY.finditer(text))
        if n.split()[0] not in _COMMON and len(n) > 2 and not n.isupper()
    ]
    if names and re.search(
        (
            rf"\b{re.escape(names[0])}(?:'s)? (?:is|was|does|has|needs|in|to|and|wants|gets|[a-z]+s)\b|"
            rf"\b(?:to|for|with|than) {re.escape(names[0])}\b|^{re.escape(names[0])}'s"
        ),
        text,
    ):
        return Person(names[0], before.near if before and before.name == names[0] else True)
    if kin:
        return Person(f"their {kin.group('rel').lower()}".strip(), True)
    return before
