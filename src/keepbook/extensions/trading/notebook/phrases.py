"""Phrases about trading as data, by language: what people ask (`en.toml` and its siblings), and what is said back."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from keepbook.models.notebook.reply.talk import ReplyContext
from keepbook.patterns import regex

TRADED = ("en", "es", "de", "nb")
"""Languages in which questions about trading are understood."""
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
        return phrases_of("en")
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
    return LanguagePhrases(trading, regex(told["openers"], re.IGNORECASE), told["says"])


def say(talk: ReplyContext, key: str, **told: object) -> str:
    """A sentence about trading in the language of the chat; in English where that has none."""
    said = phrases_of(talk.tongue).says.get(key) or phrases_of("en").says[key]
    return said.format(**told)
