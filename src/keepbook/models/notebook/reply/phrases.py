"""The sentences of the notebook as data, by language; `says.toml` has them."""

import tomllib
from functools import cache
from pathlib import Path

from keepbook.patterns import regex

LANGUAGES = ("en", "es", "de", "nb", "fr")

_QUOTED = regex(r"”\.")
"""Where the lines that a sentence names are at their end."""
_YOURS = {
    "en": {"my": "your", "our": "your", "me": "you", "mine": "yours"},
    "de": {f"mein{end}": f"dein{end}" for end in ("", "e", "en", "em", "er", "es")},
    "es": {"mi": "tu", "mis": "tus"},
    "nb": {"min": "din", "mi": "di", "mitt": "ditt", "mine": "dine"},
    "fr": {"mon": "ton", "ma": "ta", "mes": "tes"},
}
"""Who speaks of their own says "my"; who speaks to them says "your"."""


@cache
def _sayings() -> dict[str, dict[str, str]]:
    return tomllib.loads((Path(__file__).parent / "says.toml").read_text(encoding="utf-8"))


def phrase(tongue: str, key: str, **told: object) -> str:
    """A sentence of the notebook; in English where the language has none."""
    said = _sayings().get(tongue, {}).get(key) or _sayings()["en"][key]
    return said.format(**told)


def day(tongue: str, at: object) -> str:
    """The day of a stamp, as people write it."""
    year, month, nth = (int(part) for part in str(at)[:10].split("-"))
    return phrase(tongue, "date", day=nth, month=phrase(tongue, "months").split()[month - 1], year=year)


def asks(text: str, key: str) -> bool:
    """Whether a reply ended with this question of ours, in whatever language."""
    ends = (_sayings()[tongue].get(key, "").rpartition("}")[2].strip() for tongue in LANGUAGES)
    return any(end and text.rstrip().endswith(end) for end in ends)


def says(text: str, key: str) -> bool:
    """Whether a reply holds this sentence of ours, in whatever language."""
    return any(phrase(tongue, key) in text for tongue in LANGUAGES)


def without_lines(text: str, key: str) -> str:
    """A reply whose sentence of this key, in whatever language, ends before the lines that it names."""
    for tongue in LANGUAGES:
        opening = _sayings()[tongue].get(key, "").partition(": {lines}")[0]
        found = _QUOTED.search(text, len(opening)) if opening and text.startswith(f"{opening}: “") else None
        if found:
            return f"{opening}.{text[found.end() :]}"
    return text


def said_to_person(tongue: str, topic: str) -> str:
    """A topic in the person's own words, as it is said to them: "my ex" is "your ex"."""
    yours = _YOURS.get(tongue, {})
    return " ".join(yours.get(word.lower(), word) for word in topic.split(" "))


def is_felt(text: str) -> bool:
    """Whether a reply holds the kind sentence to a feeling."""
    return says(text, "felt_low") or says(text, "felt_glad")
