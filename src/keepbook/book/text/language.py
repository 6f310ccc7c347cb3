"""Detects the language of a text: en, de, es, nb, fr, or unknown.

It is decided by the common words of `languages.toml` and by letters that one language alone has. Each word counts for
the languages that have it, and the language with the most wins. A language that is only known by name (Danish, Dutch,
…) makes the text unknown, and so does another script. A text that shows no language, such as a name or a number, has
the language that the caller says the talk was in so far.
"""

import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

from keepbook.patterns import regex

UNKNOWN = "unknown"
LANGUAGES = ("en", "de", "es", "nb", "fr")
FEW = 3
"""A text with at most this many unknown words may be a name; with more it is in a language that is not known here."""
_WORD = regex(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_LATIN_END = "\u024f"
"""The last letter of the Latin script in plain and accented forms."""


class _Language(NamedTuple):
    words: frozenset[str]
    letters: frozenset[str]


def language(text: str, otherwise: str = UNKNOWN) -> str:
    """The language of a text; `otherwise` if nothing in it shows one."""
    words = [word.replace("’", "'") for word in _WORD.findall(text.lower())]
    foreign = sum(len(word) for word in words if word[0] > _LATIN_END)
    if foreign and 3 * foreign >= sum(map(len, words)):
        return UNKNOWN
    counts = _counts(text, words)
    if not counts:
        return otherwise if len(words) <= FEW else UNKNOWN
    ranked = counts.most_common(2)
    best, most = ranked[0]
    if len(ranked) > 1 and ranked[1][1] == most:
        return _of_equals([name for name, count in counts.items() if count == most], otherwise)
    if most * 8 < len(words):  # a word or two of it in a long text prove nothing
        return UNKNOWN
    if best in LANGUAGES:
        return best
    return UNKNOWN


def same_language(text: str, other: str) -> bool:
    """Whether two texts are in one language. A text that shows none, a name or a number, counts as the other's."""
    return language(text, language(other)) == language(other, language(text))


def _counts(text: str, words: list[str]) -> Counter[str]:
    """For each language, the words of the text that are common in it, and the letters that it alone has."""
    often = Counter(words)
    found: Counter[str] = Counter()
    for name, one in _languages().items():
        found[name] += sum(often[word] for word in one.words & often.keys())
        found[name] += sum(text.count(letter) for letter in one.letters)
    return +found


def _of_equals(names: list[str], otherwise: str) -> str:
    """One of several languages with equal counts: that of the talk so far, or else English, if it is among them."""
    if otherwise in names:
        return otherwise
    if "en" in names:
        return "en"
    return UNKNOWN


@cache
def _languages() -> dict[str, _Language]:
    data = tomllib.loads((Path(__file__).parent / "languages.toml").read_text(encoding="utf-8"))
    others = data.pop("others")
    known = {name: _Language(frozenset(one["words"].split()), frozenset(one["letters"])) for name, one in data.items()}
    return known | {name: _Language(frozenset(words.split()), frozenset()) for name, words in others.items()}
