"""Whose a line is: the person's own, or somebody's it names at its head; and whether it tells what holds or what is
past.

A line takes the place of another, or repeats it, only if both are the same one's; and what is past ends nothing that
holds.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from keepbook.book.ground.patterns import regex
from keepbook.book.text.words import stem, tokens

KIN = (
    r"(?:mother|father|brother|sister|son|daughter)-in-law|step-?(?:son|daughter|mother|mom|mum|father|dad|brother|sister)|"
    r"wife|husband|partner|boyfriend|girlfriend|son|daughter|mother|mom|mum|father|dad|brother|sister|boss|friend|uncle|"
    r"aunt|cousin|niece|nephew|neighbou?r|colleague|grand\w+|ex-\w+|ex|parents?|kids?|child(?:ren)?|team|managers?|"
    r"doctor|dentist|therapist|landlord|landlady|teacher|fianc[eé]e?|co-?worker|(?:flat|room|house)mate|"
    r"bro|sis|hubby"
)
_ELSEWHERE = (
    r"frau|mann|sohn|tochter|schwester|bruder|mutter|vater|freundin|freund|kone|sønn|datter|søster|bror|mor|far|venn|"
    r"venninne|samboer|kjæreste|mujer|esposa|marido|hijo|hija|hermana|hermano|madre|padre|amigo|amiga|novia|novio|"
    r"femme|mari|fils|fille|sœur|soeur|frère|mère|père|amie?"
)
_AFTER = r"søsteren|broren|moren|faren|kona|mannen|sønnen|dattera|datteren|kjæresten|samboeren"
_NAME = r"(?-i:[A-ZÀ-Þ])[\w-]+"
_RELATED = regex(
    r"(?:(?:(?:my|our|their|the) )?"
    r"(?:(?:best|old|older|elder|oldest|eldest|young|younger|youngest|little|big|twin|late|former|new|other|first|second|"
    r"middle|close|good|childhood) )*"
    rf"(?P<kin>(?:{KIN})s?)|(?:mein\w*|min|mitt|mi|mon|ma) (?P<before>{_ELSEWHERE})|(?P<after>{_AFTER})(?= min\b))\b"
    rf"(?:,? (?P<name>{_NAME}))?",
    re.IGNORECASE,
)
""" "Younger sister Eva": the relation that a line begins with, and who it is."""
LASTING = (
    r"(?:is (?:(?:also|now|still|very|severely|not) )*"
    r"(?:allergic|(?:\w+ )?intolerant|vegan|vegetarian|pregnant|married|divorced|engaged|retired|afraid|scared|coeliac|"
    r"celiac|diabetic|deaf|blind|born|fond of|into|learning|studying|living|from|"
    r"an? (?-i:[a-z]+)(?:er|or|ist|ian|ant|man|woman|nurse|chef|cook|student|fan)\b)|"
    r"was born|has (?:an? |two |three )(?:son|daughter|kid|dog|cat|(?:\w+ )?allergy|baby)|"
    r"has (?:coeliac|celiac|diabetes|asthma|epilepsy)|can(?:not|[’']?t) (?:eat|have|stand|drink|tolerate|swim|drive)|"
    r"doesn[’']?t (?:eat|like|drink|smoke|drive|speak)|works|lives|likes|plays|speaks|teaches|studies|goes to|"
    r"owns|prefers|hates|loves|eats|drinks|drives|enjoys|dislikes|avoids|sings|collects|smokes|manages|leads|reports)"
)
"""What people are and do for long, as it is said of somebody else."""
_NAMED = regex(
    rf"(?P<names>{_NAME}(?:(?:,| and| &) {_NAME})*)(?:['’]s?\s|\s+"
    rf"(?:(?:also|always|never|only|still|now|really|just) )*(?:{LASTING}|goes|needs|wants|snores|doesn[’']t|"
    r"can[’']?t|cannot|can|moved|will|left|joined|started|got|turns|turned|became|hate|love|like|live|play|work|"
    r"are allergic)\b)",
    re.IGNORECASE,
)
""" "Eva moved to …", "Ola and Kari hate fish": a name, and something that people do or are."""
_CLEARLY = regex(r"['’]s?\s$|(?:s|[’']t|cannot|is (?:\w+ )*\w+)$")
_NO_NAME = regex(
    r"\w+ed|\w+ing|I|Is|Has|Was|Had|Will|Would|Can|Could|Should|Must|May|My|We|The|Their|This|That|No|Not|It|Also|Never|"
    r"Always|Only|Usually|Often|Now|Still|Just|Since|Used|Got|Left|People|Everyone|Nobody|Who|What|If|When|On|In|At",
    re.IGNORECASE,
)
_PET = regex(
    rf"(?:(?:my|our|their) )?(?:dog|cat|puppy|kitten|horse|pony|rabbit|hamster|parrot) (?P<name>{_NAME})\b",
    re.IGNORECASE,
)
_ROLE = regex(rf"(?P<name>{_NAME}) (?:is|was) (?:now )?(?:my|our|their) (?:new )?(?P<kin>{KIN})\b", re.IGNORECASE)
""" "Alec is their boss"."""
_SAME = {
    stem(said): stem(meant)
    for said, meant in (
        ("mom", "mother"), ("mum", "mother"), ("dad", "father"), ("boss", "manager"), ("kid", "child"),
        ("children", "child"), ("kids", "child"), ("parents", "parent"), ("bro", "brother"), ("sis", "sister"),
        ("hubby", "husband"),
    )
}  # fmt: skip
_ONE = frozenset(
    map(stem, ["wife", "husband", "partner", "manager", "landlord", "landlady", "dentist", "doctor", "therapist"])
)
"""Of these there is one: another name for it is another one in the same place."""


class Whose(NamedTuple):
    """A relation and names, in stems."""

    kin: str | None
    names: tuple[str, ...]

    @property
    def relation(self) -> str | None:
        """The same word whichever was said: mum and mother are one."""
        return None if self.kin is None else _SAME.get(self.kin, self.kin)


@lru_cache(maxsize=32_768)  # each statement is held against every line of a book
def whose(text: str) -> Whose | None:
    """Somebody else whose the line is, where it says so at its head; None where it is the person's own."""
    if role := _ROLE.match(text):
        return Whose(_kin(role["kin"]), (stem(role["name"].lower()),))
    if related := _RELATED.match(text):
        name = related["name"]
        return Whose(_kin(_said(related)), (stem(name.lower()),) if name else ())
    if pet := _PET.match(text):
        return Whose(None, (stem(pet["name"].lower()),))
    named = _NAMED.match(text)
    if named is None:
        return None
    names = [name for name in re.findall(r"[\w-]+", named["names"]) if name != "and"]
    if any(_NO_NAME.fullmatch(name) for name in names) or (names[0].endswith("s") and not _CLEARLY.search(named[0])):
        return None  # "Lives left of the church": a verb of the person's own
    return Whose(None, tuple(stem(name.lower()) for name in names))


def subject(text: str) -> str | None:
    """The relation or the name of somebody else whose the line is, as one stem."""
    who = whose(text)
    return None if who is None else who.kin or who.names[0]


def is_of_somebody(text: str) -> bool:
    """Whether a line tells of somebody, and not of an appointment with them: "Dentist appointment is on Friday"."""
    related = _RELATED.match(text)
    if related is None or related["name"]:
        return whose(text) is not None and not _PET.match(text)
    return _kin(_said(related)) != "team" and bool(_ACTS.match(text, related.end()))


_ACTS = regex(
    r"['’]s?\b|\s+(?:\w+s|are|have|can\w*|will|moved|got|left|hate|love|like|live|work|don[’']?t|min|ist|hat|wohnt|"
    r"arbeitet|mag|er|bor|har|liker|jobber|vive|tiene|trabaja|est|habite|travaille)\b",
    re.IGNORECASE,
)


def with_relation(new: str, old: str) -> str:
    """The new line with all that the old one says of who it is: "Eva moved to Graz" in the place of "Sister Eva lives
    in Bergen" is "Sister Eva moved to Graz"."""
    mine, theirs, head = whose(new), whose(old), _RELATED.match(old)
    if mine is None or theirs is None or head is None or not theirs.names:
        return new
    if mine.kin is None and mine.names == theirs.names:
        return f"{head[0]}{re.sub(_NAME, '', new, count=1)}"
    said = _RELATED.match(new)
    if said is not None and not mine.names and mine.relation == theirs.relation:
        return f"{head[0]}{new[said.end() :]}"
    return new


def _said(related: re.Match[str]) -> str:
    return related["kin"] or related["before"] or related["after"]


def _kin(word: str) -> str:
    plain = word.lower()
    return stem(plain.split("-")[0] if plain.startswith("ex") else plain)


_ASKED = regex(rf"\b(?:my|our) (?:\w+ ){{0,2}}?(?P<kin>{KIN})s?\b(?:['’]s)?", re.IGNORECASE)


def names_only_people(matter: str) -> bool:
    """ "my wife", "everything about our kids": it asks for somebody, and for nothing in particular of them."""
    return bool(_PEOPLE.fullmatch(matter.strip()))


_PEOPLE = regex(
    rf"(?:(?:everything|anything|all|stuff|whatever) (?:\w+ )?(?:about|on|of) )?(?:my|our) (?:{KIN})s?", re.IGNORECASE
)


def names_of(matter: str, lines: Iterable[str]) -> list[str]:
    """What those are called whom a matter asks for by their relation, as far as these lines say."""
    if not names_only_people(matter):
        return []
    words = ((word, who) for line in lines if (who := whose(line)) for word in re.findall(r"[\w-]+", line))
    return list(dict.fromkeys(word for word, who in words if stem(word.lower()) in who.names))


def of_those(question: str, lines: Iterable[str]) -> list[str]:
    """The lines of whom a question asks: where it names a relation or somebody of these lines, those of the one that it
    names; where it asks of "me" and "my", those of nobody else."""
    held = [(line, whose(line)) for line in lines]
    asked = [found["kin"] for found in _ASKED.finditer(question)]
    asked += [found[1] or found[2] for found in _HAS.finditer(question)]
    said_kin = {_SAME.get(one, one) for one in map(_kin, asked)}
    kin = {one for word in said_kin for one in _MEANT.get(word, (word,))}
    said = {stem(word) for word in tokens(question)} | {stem(word.removesuffix("'s")) for word in tokens(question)}
    names = {name for _, who in held if who for name in who.names if name in said or who.relation in kin}
    names |= {stem(name.lower()) for line, who in held if who and who.relation in kin for name in _CALLED.findall(line)}
    if kin or names:
        return [line for line, who in held if _speaks_of(line, kin, names)]
    if _OF_ME.search(question) and not _OF_ANYONE.search(question):
        return [line for line, who in held if who is None]
    return [line for line, _ in held]


_HAS = regex(
    rf"\b(?:have|had|got) (?:(?:an?|any|some|more) )?({KIN}|siblings?)\b|\b(?:am i|are we) (married)\b", re.IGNORECASE
)
""" "Do I have a daughter?", "Am I married?": whom a question asks for."""
_MEANT = {
    stem(said): tuple(map(stem, meant))
    for said, meant in (
        ("child", ("child", "son", "daughter")), ("siblings", ("brother", "sister")), ("parent", ("mother", "father")),
        ("married", ("wife", "husband", "partner")),
    )
}  # fmt: skip


def _speaks_of(line: str, kin: set[str], names: set[str]) -> bool:
    words = {stem(word.removesuffix("'s")) for word in tokens(line)}
    return bool(words & names or {_SAME.get(word, word) for word in words} & kin)


_CALLED = regex(rf"\b(?:called|named|name is) ({_NAME})", re.IGNORECASE)
_OF_ME = regex(
    r"\b(?:(?:do|am|did|was|have|can|must|should|will) i|my|i (?:live|work|like|eat|drink|have))\b", re.IGNORECASE
)
_OF_ANYONE = regex(
    r"\b(?:who|whose|we|our|us|any(?:one|body)|some(?:one|body)|every(?:one|body|thing)|family|friends|people|names?|"
    r"know|say|said|told|tell|remember|about)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=32_768)
def same_one(new: str, old: str) -> bool:
    """Both are the same one's: "Ida is on the Legal team" goes with "Ida works on the Sales team", "Eva moved to Graz"
    with "Sister Eva lives in Oslo"; what I am allergic to does not go with what my wife is."""
    one, other = whose(new), whose(old)
    if one is None or other is None:
        known, text = (other, new) if one is None else (one, old)
        return known is None or _heads(text, known)
    if one.names and other.names:
        return not set(one.names).isdisjoint(other.names) or (one.relation == other.relation and one.relation in _ONE)
    return one.kin is not None and one.relation == other.relation


def _heads(text: str, known: Whose) -> bool:
    """A line that begins with somebody's name, whatever it says of them."""
    first = tokens(text)[:1]
    return bool(first) and stem(first[0].removesuffix("'s")) in {known.kin, *known.names}


_PAST = regex(
    r"(?<!is )(?<!get )(?<!got )\bused to (?!it\b|the\b|that\b|this\b|\w+ing\b)|"
    r"^(?:(?:once|formerly|previously|originally|(?:years|long) ago|back then|"
    r"as an? (?:kid|child|student|teenager|boy|girl)|in (?:their|my) (?:youth|twenties|childhood)|"
    r"when (?:they were|i was) (?:\w+ ){1,3})\b|"
    r"(?:lived|worked|studied|grew up|was (?:an?|married|engaged|single|employed)|were|had an?|played|smoked|taught|"
    r"rented|drove)\b)|"
    r"^\w+(?: \w+)? (?:lived|worked|studied|grew up) |\bwas (?!born\b|\w+ed\b).*\b(?:in|until) (?:19|20)\d\d\b|"
    r"\b(?:once|back then|at the time|in those days|years ago)\W*$|"
    r"\b(?:früher|damals|tidligere|før i tiden|bodde|antes vivía|autrefois)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def is_past(text: str) -> bool:
    """Whether a line tells what was and does not say that anything has changed: "Used to live in Bergen"."""
    return bool(_PAST.search(text))
