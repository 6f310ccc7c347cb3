"""The person's own clause, made to stand alone: "oh and I live in Oslo with my wife" → "Lives in Oslo with their wife".

Only the edges and the first person change. The person's nouns, names, numbers and units stay as they were said; other
languages keep the person's own words.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from keepbook.book.ground.patterns import regex
from keepbook.book.text.words import STOP_WORDS

LONGEST = 300
_OPENERS = regex(
    r"(?:\s*\b(?:no(?:pe)?,? (?:sorry|wait|actually)|no(?:pe)?(?=,)|(?:we|i) (?:switched|swapped)(?=,)|sorry|"
    r"oops|wait|correction|i meant?(?: to say)?(?: that)?|i got (?:that|it) wrong|i misspoke|my (?:mistake|bad)|"
    r"oh+|ah|well|so|and|but|also|"
    r"plus|ok(?:ay)?|um+|uh+|er|hm+|hey|hi|hello|yes|yeah|yep|anyway|anyways|"
    r"actually|honestly|basically|listen|look|btw|fyi|ps|ugh+|just|besides|though|because|then|"
    r"by the (?:way|by)|for (?:your|ur) (?:info(?:rmation)?|notes?)|(?:just )?so (?:you|u) know|in case (?:you|u) "
    r"need it|"
    r"first of all|"
    r"good (?:morning|evening|afternoon)|"
    r"(?:please |pls |can you |could you |i(?:'d| would| should) like you to |i (?:want|"
    r"need) you to )*(?:remember|note|keep in mind|bear in mind|write down|jot down|save|"
    r"make a note)"
    r"(?: (?:that|this|down))*(?=\s*[:,]|\s+(?:i|i'm|im|my|we|our|that|the)\b)|"
    r"(?:you forgot|(?:i(?:'ve)? )?(?:already )?told you)(?: that)?"
    r"(?=\s+(?:i|i'm|im|i've|we|my [\w' -]{2,30} (?:is|are|has))\b)|"
    r"looked it up|to be clear|(?:as|like) i (?:said|told you)(?: before)?|as (?:you|u) know|"
    r"(?:i )?(?:must|should) (?:say|mention)(?: that)?)\b[\s,.;:!–—-]*)+",
    re.IGNORECASE,
)
_ENDINGS = regex(
    r"(?:[\s,;.–—-]*\b(?:by the (?:way|by)|btw|thanks?|thank you|thx|cheers|please|pls|lol|haha+|though|anyway|"
    r"ok(?:ay)?|"
    r"right|as you know|you know|if (?:that|it) matters(?: for anything)?|if (?:you|u) need it|i (?:think|guess)|"
    r"(?:it'?s )?(?:nice|good|great|pleased|a pleasure) to meet (?:you|u)|"
    r"and|but|so|because|sorry)\b[\s.!?)…]*)+$",
    re.IGNORECASE,
)
_CUT_SHORT = regex(r"\b(?:is|are|am|was|were|be|i'm|it's|'s|feels?|looks?|seems?|very|so|the|an?)$", re.IGNORECASE)
""" "My English is so so": what seems to trail behind is what is said."""
_EDGES = ' \t\n.,;:!…–—-"“”„«»*()。，；！、'
_ADVERBS = (
    r"also|usually|always|never|only|still|just|mostly|normally|generally|often|mainly|really|currently|typically|"
    r"basically|actually|both|already|now|personally|absolutely|sometimes|rarely|all|definitely|still|finally|recently"
)
_SAME = frozenset([
    "can", "can't", "cannot", "could", "couldn't", "will", "won't", "would", "wouldn't", "should", "shouldn't",
    "must", "may", "might", "shall", "used", "had", "did", "didn't", "ought", "was", "went", "got", "grew", "left",
    "met", "took", "became", "began", "bought", "sold", "knew", "found", "lost", "made", "came", "said", "told",
    "wrote", "ran", "paid", "spent", "kept", "gave", "broke", "felt", "thought", "taught", "built", "saw", "let",
    "put", "cut", "set", "quit", "meant",
])  # fmt: skip
_IRREGULAR = {
    "have": "has", "ve": "has", "do": "does", "don't": "doesn't", "dont": "doesn't", "am": "is", "are": "is", "be":
    "is",
    "go": "goes", "haven't": "hasn't", "havent": "hasn't", "aren't": "isn't", "were": "was",
    "cant": "can't", "wont": "won't",
}  # fmt: skip
_LEADS = (
    (regex(r"(?:i'm|im|i am|we're|we are)\s+", re.IGNORECASE), "Is "),
    (regex(r"(?:i've|ive|we've|weve)\s+got\s+", re.IGNORECASE), "Has "),
    (regex(r"(?:i've|ive|we've|weve)\s+", re.IGNORECASE), "Has "),
    (regex(r"(?:i'd|we'd)\s+", re.IGNORECASE), "Would "),
    (regex(r"(?:i'll|we'll|i will|we will)\s+", re.IGNORECASE), "Will "),
    (regex(r"(?:i|we) do(?: not|n't|nt)\s+", re.IGNORECASE), "Doesn't "),
)
_I = regex(rf"(?:i|we)\s+((?:(?:{_ADVERBS})\s+)*)([a-z']+)\b", re.IGNORECASE)
_AND = regex(
    rf"(?P<and>\b(?:and|but)\s+(?:(?:{_ADVERBS})\s+)*)(?:"
    # What is a verb wherever it stands, and what is one only before what it does something to ("drinks", "a drink").
    r"(?P<verb>live|earn|own|prefer|speak|teach|eat|want|need|hate|have|do|am|go|commute|collect|follow|manage|"
    r"write|keep|"
    r"take|use|read|get|rent(?= a| the| out)|(?:drink|drive|hold|lead|like|love|pay|play|run|save|sing|sleep|"
    r"study|swim|"
    r"trade|train|travel|volunteer|walk|work)"
    r"(?=\s+(?:an?|the|my|our|about|as|at|every|for|from|in|on|only|with|\d|one|two|three|four|five|six|some|no|"
    r"part|full|mostly|mainly|remotely|nights|shifts|(?-i:[A-ZÀ-Þ]))\b)))\b",
    re.IGNORECASE,
)
_COMMA = regex(
    rf"(?P<and>,\s+(?:(?:{_ADVERBS})\s+)*)(?P<verb>hate|love|like|dislike|prefer|eat|speak|own|live)\b(?=\s+\w)",
    re.IGNORECASE,
)
""" "I love hiking, hate mushrooms"; "keep that in mind" behind a comma is said to somebody."""
_INFINITIVE = regex(
    r"\b(?:to|can|will|would|could|should|must|might|let|don'?t|did|used) (?-i:[a-z]+)\b", re.IGNORECASE
)
_MY = regex(r"(?:my|our)\s+(?=\w)", re.IGNORECASE)
_INSIDE = [
    (regex(rf"\b(?:{said})\b", re.IGNORECASE), plain)
    for said, plain in (
        (r"i am|i was", "they are"), (r"i'm", "they're"), (r"i've|we've", "they've"), (r"i'd|we'd", "they'd"),
        (r"i'll|we'll", "they'll"), (r"we're", "they're"), (r"myself|ourselves", "themselves"),
        (r"mine|ours", "theirs"),
        (r"my|our", "their"),
        (r"me|us(?!\w|\.| (?:small|large|mid|stock|share|equit|market|dollar|citizen|tax|treasur|bond|future|"
         r"tech|visa|passport)\w*)",
         "them"), (r"i(?!\.\w)|we", "they"),
    )
]  # fmt: skip
_FOREIGN = regex(r"[^\x00-ɏ‐-⁯₠-⃏]")
_TONGUES = {
    "es": frozenset([
        "yo", "mi", "mis", "soy", "estoy", "tengo", "vivo", "trabajo", "el", "la", "los", "una", "un", "de", "que",
        "en", "por", "para", "con", "me", "es", "no", "pero",
    ]),
    "de": frozenset([
        "ich", "mein", "meine", "bin", "habe", "wohne", "arbeite", "der", "die", "das", "und", "nicht", "ein",
        "eine", "ist", "wir", "mit", "auf", "für", "den",
    ]),
    "nb": frozenset([
        "jeg", "min", "mitt", "mine", "er", "har", "bor", "jobber", "og", "ikke", "en", "et", "vi", "på", "som",
        "til", "for", "med", "det", "å", "den",
    ]),
    "fr": frozenset([
        "je", "mon", "ma", "mes", "suis", "ai", "j'ai", "habite", "travaille", "le", "la", "les", "et", "pas", "un",
        "une", "est", "nous", "avec", "pour", "des",
    ]),
}  # fmt: skip


def tongue(text: str) -> str:
    """Which language a text is in, as far as that matters here: en, es, de, nb, fr, or another script."""
    if _FOREIGN.search(text):
        return "other"
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", text.lower())
    counts = {name: sum(word in known for word in words) for name, known in _TONGUES.items()}
    english = sum(word in STOP_WORDS for word in words)
    best = max(counts, key=lambda name: counts[name])
    return best if (counts[best] > english and counts[best] > 1) or (counts[best] and not english) else "en"


def third(verb: str) -> str:
    """The verb as it goes with "she": live → lives, have → has, don't → doesn't."""
    low = verb.lower()
    if low in _IRREGULAR:
        return _IRREGULAR[low]
    if low in _SAME or low.endswith(("ed", "'t", "'ve", "'d", "'ll")):
        return low
    if re.search(r"(?:s|sh|ch|x|z|o)$", low):
        return low + "es"
    return low[:-1] + "ies" if re.search(r"[^aeiou]y$", low) else low + "s"


@lru_cache(maxsize=1024)  # an open chat is read anew with each turn
def bare(text: str) -> str:
    """The clause without what only leads to it or trails behind it."""
    out = text.strip(_EDGES)
    found = _OPENERS.match(out)
    rest = out[found.end() :] if found else out
    out = rest if re.search(r"\w", rest) else out
    cut = _ENDINGS.sub("", out)
    return (cut if re.search(r"\w\W+\w", cut) and not _CUT_SHORT.search(cut) else out).strip(_EDGES)


def only_leads(text: str) -> bool:
    """Whether a text is nothing but what leads to something: "oh wait", "ok so"."""
    out = text.strip(_EDGES)
    found = _OPENERS.match(out)
    return found is not None and not re.search(r"\w", out[found.end() :])


@lru_cache(maxsize=1024)
def line(text: str) -> str:
    """One readable line of at most `LONGEST` letters."""
    out = re.sub(r"\s+", " ", bare(text))
    if tongue(out) == "en":
        out = _lead(_without_too(_straight(out)))
        for pattern, plain in _INSIDE:
            out = pattern.sub(plain, out)
    if len(out) > LONGEST:
        out = out[:LONGEST].rsplit(" ", 1)[0]
    return out[:1].upper() + out[1:]


_ALSO = regex(r"^(?!.*\b(?:not only|but also)\b)(?P<before>(?:[\w'’-]+ ){1,5}?)also (?=\w)", re.IGNORECASE)
_TOO = regex(r"(?<=\w)[\s,]+(?:too|as well|either)\W*$", re.IGNORECASE)
ADDS = regex(rf"\w[^,;]*? (?:also|auch|også|también|aussi) \w|{_TOO.pattern}", re.IGNORECASE)
""" "I also …", "… too": one more beside what is known."""


def _without_too(text: str) -> str:
    """A line stands alone: that it is one more was said of the conversation."""
    plain = _TOO.sub("", _ALSO.sub(r"\g<before>", text, count=1))
    return plain if len(plain.split()) > 2 else text


_WHO = r"(?P<who>(?:i|we|he|she|they)(?:'?m|'?re|'?s| am| are| is)?|(?:my|our) [\w ]{2,20}? (?:is|are))"
CLEFT = (
    regex(
        rf"(?:it|that)(?:'s not| is not| isn'?t| was not| wasn'?t) (?P<old>[^,;]{{1,40}}?) (?:that |which )?{_WHO} "
        r"(?P<does>[^,;]{2,40}?)(?:[,;]\s*(?:but |it'?s |it is |it was )+|\s+but\s+)(?P<new>[^,;]{1,40})$",
        re.IGNORECASE,
    ),
    regex(
        rf"(?:it|that)(?:'s| is| was) (?P<new>[^,;]{{1,40}}?) (?:that |which )?{_WHO} "
        r"(?P<does>[^,;]{2,40}?),? (?:and )?not (?P<old>[^,;]{1,40})$",
        re.IGNORECASE,
    ),
)
""" "It isn't cats I'm allergic to, it's dogs", "it's dogs I'm allergic to, not cats"."""


def _straight(text: str) -> str:
    """Such a sentence said straight: "I'm allergic to dogs"."""
    found = next((one for pattern in CLEFT if (one := pattern.match(text))), None)
    return text if found is None else f"{found['who']} {found['does']} {found['new']}"


_NAMED = regex(
    r"(?:i'm|im|i am) (?!(?-i:\w*(?:ish|ese|ian|ean|ican|exan|eli|aqi|ani|ist|ench|erman|uslim|atholic|ese)\b|"
    r"(?:Dutch|Greek|Swiss|Thai|Czech|Danes?|Swede|Finn|Pole|Turk|Arab|Sikh|Hindu|Roman|Cuban|Afghan|Tibetan|Moroccan|"
    r"Saudi|Protestant|Orthodox|Democrat|Labour|Aries|Taurus|Gemini|Cancer|Virgo|Libra|Scorpio|Capricorn|Aquarius|"
    r"Pisces|Sagittarius)\b))"
    r"(?P<name>(?-i:[A-ZÀ-Þ][a-zà-ÿ’'-]+)(?: (?-i:[A-ZÀ-Þ][a-zà-ÿ’'-]+))?)",
    re.IGNORECASE,
)
""" "I'm Sam" tells a name; "I'm Norwegian" tells what one is."""


def _lead(text: str) -> str:
    """The subject at the head dropped, its verbs turned to the third person."""
    if found := _NAMED.fullmatch(text):
        return f"Is called {found['name']}"
    for pattern, plain in _LEADS:
        if found := pattern.match(text):
            rest = text[found.end() :]
            return plain + (_turned(rest) if plain in ("Is ", "Has ") else rest)
    if found := _I.match(text):
        return f"{found[1]}{third(found[2])}{_turned(text)[found.end() :]}"
    found = _MY.match(text)
    return text[found.end() :] if found else text


def shares_subject(text: str) -> bool:
    """Whether a clause goes on with the subject of the one before it: "and work four days a week"."""
    return bool(_AND.match(text.strip()))


def _turned(text: str) -> str:
    """The verbs that go on with the same subject: "I live in Graz and work four days"."""

    def turn(found: re.Match[str]) -> str:
        return found[0] if _INFINITIVE.search(text[: found.start()]) else found["and"] + third(found["verb"])

    return _COMMA.sub(turn, _AND.sub(turn, text))


def joined(lines: Iterable[str]) -> str:
    """Lines in one sentence of ours, each as a quotation."""
    return "; ".join(f"“{one.rstrip(' .')}”" for one in lines)
