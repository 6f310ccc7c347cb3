"""First person into a line that stands by itself: "I live in Oslo with my wife" → "Lives in Oslo with
their wife". The person's own nouns, names, numbers and units stay as they were said.

"We" is read as the person too: a line in a list about somebody is clearest in the singular.
"""

from __future__ import annotations

import re

from keepbook.models.offline.extract.english import word_set
from keepbook.models.offline.extract.speech_acts import opening

_ADVERBS = (
    r"also|usually|always|never|only|still|just|mostly|normally|generally|often|mainly|really|"
    r"currently|typically|basically|"
    r"actually|both|ever|even|already|now|personally|absolutely|sometimes|rarely|each|all|obviously|definitely"
)
_MODALS = word_set(
    """
    can can't cannot could couldn't will won't would wouldn't should shouldn't must may might shall used had did
    didn't ought 'd 'll
    """
)
_IRREGULAR = {
    "have": "has",
    "do": "does",
    "don't": "doesn't",
    "dont": "doesn't",
    "am": "is",
    "are": "is",
    "be": "is",
    "go": "goes",
    "haven't": "hasn't",
    "aren't": "isn't",
    "were": "was",
}
_TAG = re.compile(
    r"(?:\s*,?\s*\b(?:by the (?:way|by)|btw|thanks?|thank you|ta|cheers|please|lol|haha|though|"
    r"anyway|(?<=, )mate|ok|okay|right|as you know|"
    r"you know|if that matters|i think|i guess|thank god|or so|that lot|for me)\b)+\s*$",
    re.IGNORECASE,
)
_PLAIN = [
    (re.compile(p), r)
    for p, r in (
        (r"\b[Ii] (?:am|was)\b", "they are"),
        (r"\b[Ii]'m\b|\bi'm\b", "they're"),
        (r"\b[Ii]'ve\b", "they've"),
        (r"\b[Ii]'d\b", "they'd"),
        (r"\b[Ii]'ll\b", "they'll"),
        (r"\b[Ii]\b(?!\.)", "they"),
        (r"\b[Mm]yself\b|\b[Oo]urselves\b", "themselves"),
        (r"\b[Mm]ine\b|\b[Oo]urs\b", "theirs"),
        (r"\b[Mm]y\b|\b[Oo]ur\b", "their"),
        (r"\b[Mm]e\b(?!\w)", "them"),
        (r"\b[Ww]e're\b", "they're"),
        (r"\b[Ww]e've\b", "they've"),
        (r"\b[Ww]e\b", "they"),
        (r"\bus\b", "them"),
    )
]


def third(verb: str) -> str:
    """The verb as it goes with "she": live → lives, have → has, don't → doesn't."""
    low = verb.lower()
    if low in _IRREGULAR:
        return _IRREGULAR[low]
    if low in _MODALS or low.endswith(("ed", "'t", "'ve", "'d", "'ll")):
        return low
    if re.search(r"(?:s|sh|ch|x|z|o)$", low):
        return low + "es"
    if re.search(r"[^aeiou]y$", low):
        return low[:-1] + "ies"
    return low + "s"


def _lead(text: str) -> str:
    """The subject at the head dropped, its verb turned to the third person."""
    for pattern, plain in (
        (r"^(?:I'm|I am|we're|we are)\s+", "Is "),
        (
            (
                r"^(?:I've|we've)\s+(?:got\s+)?(?=(?:a|an|the|no|none|two|three|four|five|six|about|around|"
                r"[£€$\d])\b|[£€$\d])"
            ),
            "Has ",
        ),
        (r"^(?:I've|we've)\s+", "Has "),
        (r"^(?:I'd|we'd)\s+", "Would "),
        (r"^(?:I'll|we'll)\s+", "Will "),
        (r"^(?:I|we) (?:do not|do NOT)\s+", "Doesn't "),
    ):
        found = re.match(pattern, text, re.IGNORECASE)
        if found:
            return plain + text[found.end() :]
    found = re.match(rf"^(?:both of us|I|we)\s+((?:(?:{_ADVERBS})\s+)*)([a-z']+)\b", text, re.IGNORECASE)
    if found:
        # "I never have", "I only trade": the adverb stays, the verb turns.
        return f"{found.group(1)}{third(found.group(2))}{text[found.end() :]}"
    found = re.match(r"^(?:my|our)\s+(?=\w)", text, re.IGNORECASE)
    return text[found.end() :] if found else text


def line(text: str, *, he: str | None = None) -> str:
    """One readable line; `he` names the person a leading he/she/her/him speaks of."""
    out = _TAG.sub("", opening(text).strip(" .,!;:…–-"))
    out = re.sub(r"^(?:so|and|but|plus|because|then|that)\s+(?=\w)", "", out, flags=re.IGNORECASE)
    if he:
        out = re.sub(
            r"^(?:he|she|they)(?='s\b|\s)|^(?:shes|hes)\b",
            lambda m: he + ("'s" if len(m.group(0)) > 4 else ""),
            out,
            count=1,
            flags=re.IGNORECASE,
        )
        out = re.sub(r"^(?:his|her)\b(?= \w)", f"{he}'s", out, count=1, flags=re.IGNORECASE)
        if not re.search(rf"\b{re.escape(he)}\b", out):
            out = re.sub(r"\b(?:him|her)\b(?! [a-z])", he, out, count=1)
    out = _lead(out)
    for pattern, plain in _PLAIN:
        out = pattern.sub(plain, out)
    out = re.sub(r"^Is ([A-ZÀ-Þ][a-zà-ÿ]+)$", r"Is named \1", out)
    out = re.sub(r"^Is (\d\d)$", r"Is \1 years old", out)
    out = re.sub(r"\s+", " ", out).strip(" ,;:–-")
    return out[:1].upper() + out[1:500] if out else out
