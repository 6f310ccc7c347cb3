"""A sentence that tells several things, as the clauses that tell one each; and whether a clause leans on another.

Cut is only where what follows has a subject and a verb of its own and what stands before has them too, so that both
stand alone. A condition and what hangs on it stay together, as do a statement and its reason.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from keepbook.book.ground.patterns import regex
from keepbook.models.lines.context import whole
from keepbook.models.lines.matters import content_words
from keepbook.models.lines.people import KIN, whose
from keepbook.models.lines.slots import slots
from keepbook.models.lines.wording import bare, line

LEAST = 2
"""Words that say something, which a clause needs at least."""
_VERB = (
    r"(?:am|is|are|was|were|have|has|had|do|does|don'?t|doesn'?t|can|can'?t|cannot|will|won'?t|must|use|take|"
    r"go|goes|eat|drink|earn|pay|save|own|trade|hold|keep|risk|speak|teach|study|drive|rent|live|work|like|love|hate|"
    r"prefer|want|need|run|lead|play|read|write|sleep|get|got|moved|sold|bought|left|met|took|started|stopped|switched|"
    r"lives|works|likes|loves|hates|wants|needs|plays|speaks|teaches|studies|owns|runs|earns|pays|gets|takes|signs|"
    r"manages|leads|doubles|matches|starts|ends|goes|turns|prefers|eats|does)"
)
_SUBJECT = (
    rf"(?:i'?m|i'?ve|i'?d|we'?re|we'?ve|we'd|(?:he|she)'?s|"
    rf"(?:i|we|he|she) (?:(?:only|always|never|usually|still|now|also) )?{_VERB}|"
    rf"(?:my|our) (?:{KIN}|[\w'-]+(?: [\w'-]+)?)(?:,? (?-i:[A-ZÀ-Þ])\w+)?(?:'s| {_VERB})|"
    rf"(?-i:[A-ZÀ-Þ])[\w-]+ (?-i:{_VERB}))\b"
)
LED = regex(r"(?:(?:please )?(?:remember|note|keep in mind) )?(?:that )?", re.IGNORECASE)
"""What may stand before a clause of what is to be remembered: "… and remember that I …"."""
_BOUNDARY = regex(
    rf"(?:(?:[,;–—…]|\s-\s|\.\.)\s*(?:(?:and|but|so|plus|also|while|btw|by the way)\s+)*|"
    rf"\s+(?:and|but|plus)\s+(?:(?:also|so)\s+)?)"
    rf"(?={LED.pattern}{_SUBJECT})",
    re.IGNORECASE,
)
_HANGS = regex(
    r"\W*(?:(?:and|but|so|oh|also|plus)\s+)*(?:if|when|whenever|unless|because|since|as|although|though|while|once|"
    r"until|after|before|in case|even|whether|not only|both|either|neither)\b",
    re.IGNORECASE,
)
_TOLD_ON = regex(
    r"\b(?:that|which|who|if|when|because|since|unless|until|whether|says?|said|means?|so long as|told|think|thinks|"
    r"know|hope|where|what|how)\W*$",
    re.IGNORECASE,
)
_HAN_COMMA = regex(r"[，；]\s*")
_HAN = regex(r"[一-鿿]")
LEAST_HAN = 4


def clauses(text: str) -> list[tuple[int, int]]:
    """Where the clauses of a text lie that stand alone; side by side they are the text."""
    edges = [0, *_cuts(text), len(text)]
    return list(pairwise(edges))


def _cuts(text: str) -> Iterator[int]:
    begin = 0
    for found in _BOUNDARY.finditer(text):
        left, right = text[begin : found.start()], LED.sub("", text[found.end() :], count=1)
        if _HANGS.match(left) or _TOLD_ON.search(left) or goes_on(right, left) or not _stands(left):
            continue
        if not _says(right) and not (_I.match(right) and whose(line(left)) is not None):
            continue
        begin = found.end()
        yield begin
    for found in _HAN_COMMA.finditer(text):
        if min(len(_HAN.findall(side)) for side in (text[begin : found.start()], text[found.end() :])) >= LEAST_HAN:
            begin = found.end()
            yield begin


_I = regex(r"i\b", re.IGNORECASE)
"""After what was told of somebody else it stands alone: as "they" it would seem to be told of both."""


def goes_on(clause: str, after: str) -> bool:
    """ "… but I quit in 2019", "…, it gives me hives": what is meant stands in the clause before."""
    return not _ENDED.search(after) and bool(_QUIT.match(bare(clause)) or _IT.match(clause))


_QUIT = regex(
    r"(?:i|we|he|she) (?:have |'ve )?(?:quit|stopped|gave up|left)"
    r"(?=\W*$|\s+(?:in|last|since|when|years|a|an|two|three|four|five|\d+|this|before|after) )",
    re.IGNORECASE,
)


_IT = regex(r"\W*(?:(?:and|but|because|as|since)\s+)?it(?:'s| is| was| gives| makes| has)\b", re.IGNORECASE)
_ENDED = regex(r"(?:[.!?…]|\n)\s*$|^\s*$")


def _stands(clause: str) -> bool:
    return _says(clause) and (whole(clause) or bool(_SPEAKS.match(bare(clause))))


_SPEAKS = regex(rf"(?:i|we|he|she) \w+|{_SUBJECT}", re.IGNORECASE)
_OWN = regex(
    r"\W*(?:(?:and|but|so|also|plus)\s+)*(?:i'?m|i am|i'?ve|i (?:also |only |always |never |usually )?"
    r"(?:am|have|live|work|like|love|hate|prefer|need|eat|drink|speak|own|drive|don'?t|can'?t))\s+"
    r"(?!(?:it|that|this|them|those|sure|not sure|sorry|afraid|glad|happy|going|trying|looking|thinking|"
    r"wondering|here|back|fine|ok)\b)",
    re.IGNORECASE,
)
""" "I am allergic to peanuts": a standing thing of one's own, whatever it names."""
_BEING = regex(
    r"\W*(?:(?:and|but|so|also|plus)\s+)*(?:i'?m|i am) (?:an? )?"
    r"(?!(?:sure|sorry|afraid|glad|happy|here|back|fine|ok|okay|good|well|tired|busy|late|bored|sick|ill|new|lost|stuck|"
    r"done|ready|free|curious|confused|hungry|in|at|on)\b)[\w-]+\W*",
    re.IGNORECASE,
)
""" "I'm vegetarian", "I am a nurse": what one is, in one word that does not pass with the day."""
_NAMED = regex(r"\W*(?:i'?m|i am) (?:(?-i:[A-ZÀ-Þ])\w+|\d\d)\b", re.IGNORECASE)


def _says(clause: str) -> bool:
    """Whether there is something in it to go by: a name, a figure, a day, a relation."""
    if _NAMED.match(clause) or _BEING.fullmatch(clause):
        return True
    if _OWN.match(clause) and len(content_words(clause)) >= LEAST:
        return True
    valued = any(one.text.lower() not in ("i", "i'm") for one in slots(f"= {clause.strip()}"))
    return len(content_words(clause)) >= LEAST and (valued or bool(_ABOUT.search(clause)))


_ABOUT = regex(rf"\b(?:{KIN})\b", re.IGNORECASE)


_POINTS = regex(
    r"(?:she|he|it|that|this|they|those|these|there|the (?:third|second|first|other|same|latter|former))\b",
    re.IGNORECASE,
)
_ENDS_POINTING = regex(r".*\b(?:it|that|this|those|there|em)(?: (?:up|down|out|off|too|again))?\W*", re.IGNORECASE)
SHORT = 6
"""Words that a clause has at most for the "it" at its end to mean something outside it."""


def leans(clause: str) -> bool:
    """Whether a clause only points: what it says is in what stood before it."""
    plain = bare(clause)
    if _POINTS.match(plain) or not content_words(plain):
        return True
    return len(plain.split()) <= SHORT and bool(_ENDS_POINTING.fullmatch(plain))
