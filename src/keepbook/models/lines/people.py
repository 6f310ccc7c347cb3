"""Whose a line is: the person's own, or somebody's it names at its head; and whether it tells what holds or what is
past.

A line takes the place of another, or repeats it, only if both are the same one's; and what is past ends nothing that
holds.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from keepbook.book.ground.patterns import regex
from keepbook.book.text.words import stem, tokens

KIN = (
    r"(?:mother|father|brother|sister|son|daughter)-in-law|step-?(?:son|daughter|mother|mom|mum|father|dad|brother|sister)|"
    r"wife|husband|partner|boyfriend|girlfriend|son|daughter|mother|mom|mum|father|dad|brother|sister|boss|friend|uncle|"
    r"aunt|cousin|niece|nephew|neighbou?r|colleague|grand\w+|ex-\w+|ex|parents?|kids?|child(?:ren)?|team|managers?|"
    r"doctor|dentist|therapist|landlord|landlady|teacher|fianc[eé]e?|co-?worker|(?:flat|room|house)mate"
)
_ELSEWHERE = (
    r"frau|mann|sohn|tochter|schwester|bruder|mutter|vater|freundin|freund|kone|sønn|datter|søster|bror|mor|far|venn|"
    r"venninne|samboer|kjæreste|mujer|esposa|marido|hijo|hija|hermana|hermano|madre|padre|amigo|amiga|novia|novio|"
    r"femme|mari|fils|fille|sœur|soeur|frère|mère|père|amie?"
)
_NAME = r"(?-i:[A-ZÀ-Þ])[\w-]+"
_RELATED = regex(
    rf"(?:(?:my|our|their|the|mein\w*|min|mitt|mi|mon|ma) )?"
    rf"(?:(?:best|old|older|elder|oldest|eldest|young|younger|youngest|little|big|twin|late|former|new|other|first|second|"
    rf"middle|close|good|childhood) )*"
    rf"(?P<kin>(?:{KIN}|{_ELSEWHERE})s?)\b(?:,? (?P<name>{_NAME}))?",
    re.IGNORECASE,
)
""" "Younger sister Eva": the relation that a line begins with, and who it is."""
_NAMED = regex(
    rf"(?P<names>{_NAME}(?:(?:,| and| &) {_NAME})*)(?:['’]s?\s|\s+"
    r"(?:(?:also|always|never|only|still|now|really|just) )*(?:is (?:(?:also|now|still|very|severely|not) )*"
    r"(?:allergic|intolerant|vegan|vegetarian|pregnant|married|divorced|engaged|retired|afraid|scared|coeliac|celiac|"
    r"diabetic|deaf|blind|born|fond of|into|learning|studying|living|from|an? (?-i:[a-z]+)(?:er|or|ist|ian|ant)\b)|"
    r"was born|has (?:an? |two |three )(?:son|daughter|kid|dog|cat|allergy|nut allergy|baby)|"
    r"works|lives|likes|wants|plays|speaks|teaches|studies|goes|owns|needs|prefers|hates|loves|eats|drinks|drives|"
    r"enjoys|dislikes|avoids|sings|collects|smokes|snores|doesn[’']t|can[’']?t|cannot|can|manages|leads|reports|"
    r"moved|will|left|joined|started|got|turns|turned|became|hate|love|like|live|play|work|are allergic)\b)",
    re.IGNORECASE,
)
""" "Eva moved to …", "Ola and Kari hate fish": a name, and something that people do or are."""
_CLEARLY = regex(r"['’]s?\s$|(?:s|[’']t|cannot|allergic)$")
_NO_NAME = regex(
    r"\w+ed|\w+ing|I|Is|Has|Was|Had|Will|Would|Can|Could|Should|Must|May|My|We|The|Their|This|That|No|Not|It|Also|Never|"
    r"Always|Only|Usually|Often|Now|Still|Just|Since|Used|Got|Left|People|Everyone|Nobody|Who|What|If|When|On|In|At",
    re.IGNORECASE,
)
_ROLE = regex(rf"(?P<name>{_NAME}) (?:is|was) (?:now )?(?:my|our|their) (?:new )?(?P<kin>{KIN})\b", re.IGNORECASE)
""" "Alec is their boss"."""
_SAME = {
    stem(said): stem(meant)
    for said, meant in (
        ("mom", "mother"), ("mum", "mother"), ("dad", "father"), ("boss", "manager"), ("kid", "child"),
        ("children", "child"), ("kids", "child"), ("parents", "parent"),
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


@lru_cache(maxsize=4096)
def whose(text: str) -> Whose | None:
    """Somebody else whose the line is, where it says so at its head; None where it is the person's own."""
    if role := _ROLE.match(text):
        return Whose(_kin(role["kin"]), (stem(role["name"].lower()),))
    if related := _RELATED.match(text):
        name = related["name"]
        return Whose(_kin(related["kin"]), (stem(name.lower()),) if name else ())
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


def _kin(word: str) -> str:
    plain = word.lower()
    return stem(plain.split("-")[0] if plain.startswith("ex") else plain)


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
    r"(?:lived|worked|studied|grew up|was an?|were|had an?|played|smoked|taught|rented|drove)\b)|"
    r"^\w+(?: \w+)? (?:lived|worked|studied|grew up) |"
    r"\b(?:früher|damals|tidligere|før i tiden|bodde|antes vivía|autrefois)\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def is_past(text: str) -> bool:
    """Whether a line tells what was and does not say that anything has changed: "Used to live in Bergen"."""
    return bool(_PAST.search(text))
