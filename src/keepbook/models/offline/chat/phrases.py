"""The words of the chat in each language, read from `en.toml` and its siblings: what is understood, what is said.

A language is one file; adding one is adding a file. English has every phrase, the others the basics.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TONGUES = ("en", "es", "de", "nb")
_NAME = re.compile(r"(?<!\?P)<(\w+)>")


@dataclass(frozen=True, slots=True)
class Phrase:
    """One way to say one kind of thing; `needs` names a test of the matter."""

    kind: str
    needs: str
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Words:
    """One language."""

    phrases: tuple[Phrase, ...]
    trading: tuple[Phrase, ...]
    """Of chats with trading tools; tried before the others."""
    slips: re.Pattern[str]
    asking: re.Pattern[str]
    openers: re.Pattern[str]
    says: dict[str, str]


@cache
def words(tongue: str) -> Words:
    """The words of a language; English for one that has none."""
    if tongue not in TONGUES:
        return words("en")
    told = tomllib.loads((Path(__file__).parent / f"{tongue}.toml").read_text(encoding="utf-8"))
    named: dict[str, str] = told["words"]

    def filled(pattern: str) -> str:
        return _NAME.sub(lambda name: named[name.group(1)], pattern)

    head = told["openers"] + told["polite"]

    def phrases(table: str) -> tuple[Phrase, ...]:
        return tuple(
            Phrase(entry["kind"], entry.get("needs", ""), re.compile(f"{head}(?:{filled(line)})", re.IGNORECASE))
            for entry in told[table]
            for line in entry["fits"].split("\n")
            if line
        )

    slips, asking = filled(told["slips"]), told["asking"]
    return Words(
        phrases("phrase"),
        phrases("trading"),
        re.compile(f"(?:{slips})+", re.IGNORECASE),
        re.compile(asking, re.IGNORECASE),
        re.compile(told["openers"], re.IGNORECASE),
        told["says"],
    )


def say(tongue: str, key: str, **told: object) -> str:
    """A sentence of ours."""
    return words(tongue).says[key].format(**told)


def asks(text: str, key: str) -> bool:
    """Whether a reply ended with this question of ours, in whatever language."""
    return any(text.rstrip().endswith(words(tongue).says[key]) for tongue in TONGUES)
