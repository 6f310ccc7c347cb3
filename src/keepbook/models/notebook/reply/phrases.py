"""Phrases as data, by language: questions about trading (`en.toml` and its siblings), and sentences of the notebook."""

import re
import tomllib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from keepbook.patterns import regex

TRADED = ("en", "es", "de", "nb")
"""Languages in which questions about trading are understood."""
LANGUAGES = (*TRADED, "fr")
_NAME = regex(r"(?<!\?P)<(\w+)>")
_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Phrase:
    """One way to ask one kind of thing."""

    kind: str
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class LanguagePhrases:
    """The phrases of one language: its questions about trading, and words that only open a sentence."""

    trading: tuple[Phrase, ...]
    openers: re.Pattern[str]
    says: dict[str, str]


@cache
def phrases_of(tongue: str) -> LanguagePhrases:
    """The phrases of a language; English for a language without any."""
    if tongue not in TRADED:
        english = phrases_of("en")
        return replace(english, says=english.says | _sayings().get(tongue, {}))
    told = tomllib.loads((_HERE / f"{tongue}.toml").read_text(encoding="utf-8"))
    named: dict[str, str] = told["words"]

    def filled(pattern: str) -> str:
        return _NAME.sub(lambda name: named[name.group(1)], pattern)

    head = told["openers"] + told["polite"]
    trading = tuple(
        Phrase(entry["kind"], regex(f"{head}(?:{filled(line)})", re.IGNORECASE, anchored=True))
        for entry in told["trading"]
        for line in entry["fits"].split("\n")
        if line
    )
    return LanguagePhrases(trading, regex(told["openers"], re.IGNORECASE), _sayings().get(tongue, {}) | told["says"])


@cache
def _sayings() -> dict[str, dict[str, str]]:
    return tomllib.loads((_HERE / "says.toml").read_text(encoding="utf-8"))


def phrase(tongue: str, key: str, **told: object) -> str:
    """A sentence of the notebook."""
    said = phrases_of(tongue).says.get(key) or phrases_of("en").says[key]
    return said.format(**told)


def day(tongue: str, at: object) -> str:
    """The day of a stamp, as people write it."""
    year, month, nth = (int(part) for part in str(at)[:10].split("-"))
    return phrase(tongue, "date", day=nth, month=phrase(tongue, "months").split()[month - 1], year=year)


def asks(text: str, key: str) -> bool:
    """Whether a reply ended with this question of ours, in whatever language."""
    ends = (phrases_of(tongue).says.get(key, "").rpartition("}")[2].strip() for tongue in LANGUAGES)
    return any(end and text.rstrip().endswith(end) for end in ends)
