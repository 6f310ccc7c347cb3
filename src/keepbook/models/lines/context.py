"""A clause that leans on what stood before it, made to stand alone: an answer to a question, "she", a heading and
its line.

Nothing is made up: the matter is the question's own words, the name is one that was just said.
"""

import re

from keepbook.book.ground.patterns import regex
from keepbook.models.lines.wording import bare

LONGEST_QUESTION = 14
_VERB = regex(
    r"\b(?:am|is|are|was|were|be|been|have|has|had|do|does|did|don'?t|doesn'?t|can|can'?t|will|won'?t|would|should|must|may|i'?m|im|i'?ve|ive|"
    r"we'?re|we'?ve|he'?s|she'?s|it'?s|they'?re|\w+(?:ed|ing)|live|work|like|love|hate|prefer|want|need|use|take|go|eat|drink|earn|pay|save|own|"
    r"trade|hold|keep|risk|speak|teach|study|drive|rent|plan|buy|sell|start|stop|move|call|owe|run|play|read|write|sleep|get|got|make|see|meet|"
    r"went|moved|sold|bought|left|lost|found|quit|grew|met|took|became|began)\b",
    re.IGNORECASE,
)
_SPEAKS = regex(
    r"\W*(?:(?:and|but|so|yes|yeah|no|well|also|oh|then|plus)\b\W*)*(?:i|we|he|she|they)\b(?:'\w+)? \w+", re.IGNORECASE
)
_QUESTION = regex(r"[^.!?\n]*\?")
_ASKED = regex(
    r"^\W*(?:(?:and|so|ok(?:ay)?|got it|great|sure|thanks|just|also|then|right|noted|understood|helpful)\b[\s,:–—-]*)*"
    r"(?:(?:what|which|how|when|where|who|whose|why|do|does|did|is|are|was|were|have|has|would|could|should|can|will|may|shall|any)(?:'s|'re)?\b\s*)+"
    r"(?:(?:you|your|it|that|there|the|i|we|they|this)\b(?:'re|'d|'ll)?\s*)*(?:(?:have|got|like|want|prefer|say|"
    r"think|mind|tell me|describe|be|to)\b\s*)?",
    re.IGNORECASE,
)
_NO_MATTER = regex(
    r"^\W*(?:(?:and|so|ok(?:ay)?|but|then)\b\W*)*(?:shall (?:i|we)|should i|want me to|anything else|does that|"
    r"is (?:that|this|it) \w+\?|sound good|ready|correct|right|really|either|thank|ok(?:ay)?\?|may i|can i|could i|"
    r"would you like me|do you want me|skal jeg|soll ich|dois-je|quieres que|zal ik|devo)\b|"
    r"^(?!.*\b(?:what|which|how|when|where|who|whose|why)\b).*\bor\b",
    re.IGNORECASE | re.DOTALL,
)
""" Questions that ask for a yes, or to choose: they name no matter of the person."""
_YES = regex(r"^\W*(?:yes|yeah|yep|yea|sure|ok(?:ay)?|correct|exactly|right|no|nope|nah)\b[\s,.!:–—-]*", re.IGNORECASE)
_HE = regex(r"^(?P<he>he|she)(?P<is>'s|s|'ll|'d)?\b(?=\s)|^(?P<his>his|her)\b(?=\s\w)", re.IGNORECASE)
_PERSON = regex(
    r"\b(?:[Mm]y|[Oo]ur) (?P<kin>(?:\w+ )?(?:wife|husband|partner|son|daughter|mother|mom|mum|father|dad|brother|"
    r"sister|boss|friend|uncle|aunt|cousin|"
    r"girlfriend|boyfriend|manager|colleague|nephew|niece|grandmother|grandfather|grandma|grandpa)(?:,? [A-ZÀ-Þ]\w+)?)|"
    r"(?<=[a-z,;] )(?P<name>[A-ZÀ-Þ][a-zà-ÿ]+)\b"
)


def whole(words: str) -> bool:
    """Whether a clause has a verb, so that it may stand alone."""
    return bool(_VERB.search(words) or _SPEAKS.match(words)) or len(words.split()) > 9


def asked_matter(reply: str) -> str | None:
    """What the last question of a reply asks for, in its own words."""
    questions = _QUESTION.findall(reply)
    if not questions or _NO_MATTER.match(questions[-1]):
        return None
    matter = _ASKED.sub("", questions[-1]).strip(" ?.,:;–—-")
    matter = re.sub(r"\byou\b", "them", re.sub(r"^you\b", "they", re.sub(r"\byour\b", "their", matter)))
    return matter if 0 < len(matter.split()) <= LONGEST_QUESTION and re.search(r"\w{3}", matter) else None


def answered(words: str, reply: str) -> str:
    """A fragment that answers a question, with what was asked before it."""
    if whole(words) or re.search(r"[^\x00-ɏ‐-⁯₠-⃏]", words):
        return words
    matter = asked_matter(reply)
    plain = _YES.sub("", words)
    if matter is None or not re.search(r"\w", plain):
        return words
    return f"{matter[:1].upper()}{matter[1:]}: {bare(plain)}"


def named(words: str, before: str) -> str:
    """A clause that begins with "she" or "her", with the one who was spoken of just before."""
    found = _HE.match(bare(words))
    people = list(_PERSON.finditer(before[-400:]))
    if found is None or not people:
        return words
    who = people[-1]["kin"] or people[-1]["name"]
    who = who[:1].upper() + who[1:]
    rest = bare(words)[found.end() :]
    if found["his"]:
        return f"{who}'s{rest}"
    short = {"'s": " is", "s": " is", "'ll": " will", "'d": " would"}.get((found["is"] or "").lower(), "")
    return f"{who}{short}{rest}"
