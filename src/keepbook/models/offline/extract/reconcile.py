"""A new line against what the book already holds: say it again, change it, or add it.

Two lines are about the same matter when they share an attribute (home, employer, broker, daily loss…) or
most of their words. Same matter and same values → skip; other values → update, unless a person's own word
stands there: then it is skipped with the reason, for review. A change that only names the new value is
written into the old line ("Bumping it to 850" → the old sentence with 850).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from keepbook.book.text.words import numbers, polarity, stem
from keepbook.models.closing.rules import overlap, words
from keepbook.models.model import Known, Op
from keepbook.models.offline.extract.dialog import VALUE, kind

ATTRIBUTES: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "home": (
            r"\b(?:lives?|living|live) (?:in|at|near|with)\b|\b(?:moved|relocated|moving) (?:to|up|down|in|"
            r"back)\b|\baddress\b|\bbased in\b|\b(?:is|are|they're) (?:up |down |over |out )?in [A-Z]|"
            r"\bhas moved\b|\bhome is in\b|\bvive en\b|\bwohn\w+ in\b|\bbor i\b|住在"
        ),
        "boss": r"\breports? to\b|\banswers? to\b|\b(?:boss|manager|supervisor)\b",
        "job": (
            r"\bworks? (?:at|for|as)\b|\bstart(?:s|ing)? (?:at|as) [A-Z]|\bjoin(?:s|ing|ed) [A-Z]|"
            r"\b(?:is|they're) at (?:the )?[A-Z]|\bleft (?:the )?[A-Z]|\bhanded in\b|\bemployer\b|"
            r"\bworking (?:at|for)\b"
        ),
        "retire": (
            r"\bretir\w+|\b(?:stop|done|finish|quit)\w* (?:with )?work\w*|\bhang it up\b|\bwork(?:s|"
            r"ing)? (?:until|till)\b"
        ),
        "pay": r"\b(?:salary|earns?|payrise|pay rise|base|gross|income|take-?home|promot\w+|paid)\b(?!.*\binto\b)",
        "daily loss": r"\bdaily (?:stop|loss|limit)|\b(?:max|maximum) (?:daily )?loss\b|\bloss limit\b",
        "losses": r"\bafter \w+ loss\w*|\b\w+ losses\b",
        "setup": r"\bset-?up\b|\bbreakout\b|\bopening range\b|\bminute range\b",
        "hours": (
            r"\btrades? (?:the|only|from|between|during)\b.*(?:open|session|hour|\d)|\blast hour\b|"
            r"\bwindow\b|\b(?:london|asia|new york|ny) (?:session|open)\b"
        ),
        "markets": (
            r"\btrades? [A-Z]{2,}|\b(?:ES|NQ|MES|MNQ|EURUSD|GBPJPY|gold|crude|DAX)\b.*\bonly\b|"
            r"\bonly (?:trades?|euro|gold|stocks)\b|\bdon't trade\b|\bdoesn't trade\b"
        ),
        "broker": (
            r"\bbroker\b|\buses? (?:Interactive|IBKR|IG|Schwab|Saxo|Degiro|Tasty\w*|\w+ ?Brokers?)|"
            r"\bis at [A-Z]\w+(?:trade|brokers?|bank|invest)\b|\bbrokerage\b|\bwith (?:IG|CMC|IBKR)\b"
        ),
        "risk per trade": r"\brisks?\b.*\b(?:per|each|a) trade\b|\brisk per (?:trade|position)\b",
        "risk": r"\brisk tolerance\b|\bconservative\b|\baggressive\b|\bcautious\b|\bequities\b",
        "emergency fund": r"\bemergency (?:fund|savings|buffer)\b",
        "size": r"\bcontracts?\b|\bposition size\b|\bsizes? by\b|\bstake\b",
        "stand-up": r"\bstand-?up\b",
        "one-on-one": r"\b(?:1:1|one-on-one|one to one)\b",
        "honesty": r"\b(?:blunt\w*|brutal\w*|honest\w*|sugar ?coat\w*|straight talk)\b",
        "length": r"\b(?:short|brief|concise|terse|under \d+ (?:lines|words))\b",
        "diet": r"\b(?:vegan|vegetarian|pescatarian|eats? meat)\b",
        "marital": r"\b(?:single|married|divorced|widowed|engaged)\b",
        "seat": r"\b(?:aisle|window)\b(?: seats?)?",
    }.items()
}
_CHANGED = re.compile(
    r"\b(?:now|changed|moved|switch\w*|no longer|any ?more|instead|bump\w*|lift\w*|rais\w+|upped|"
    r"went (?:up|down)|going forward|from (?:the )?\d|only|dropped|left|new|up to|down to|"
    r"relocat\w*|started?|starting|joined|lower\w*|increas\w+|promoted|shifted|make it|closed)\b",
    re.IGNORECASE,
)


class Verdict(NamedTuple):
    op: Op
    target: str | None
    reason: str | None = None


def stem_of(word: str) -> str:
    return stem(word.lower())


def attributes(text: str) -> set[str]:
    return {name for name, pattern in ATTRIBUTES.items() if pattern.search(text)}


def _names(text: str) -> set[str]:
    return {n.lower() for n in re.findall(r"(?<!^)(?<![.!?:] )\b[A-ZÀ-Þ][\wÀ-ÿ]{1,}", text)}


def says_the_same(new: str, old: str) -> bool:
    """Nothing in the new line that the old one does not say."""
    if numbers(new) - numbers(old) or _names(new) - {n.lower() for n in re.findall(r"[\wÀ-ÿ]+", old)}:
        return False
    if polarity(new) != polarity(old) and words(new) - words(old):
        return False
    left = words(new) - words(old)
    return overlap(new, old) >= 0.6 and len(left) <= max(1, len(words(new)) // 3)


def related(new: str, old: str) -> float:
    """How surely both speak of the same matter (0 to about 2)."""
    shared = words(new) & words(old)
    score = overlap(new, old) if len(shared) >= 2 else (0.45 if shared and len(words(new)) <= 3 else 0.2 * len(shared))
    common = attributes(new) & attributes(old)
    if common:
        score += 0.7
    elif (shared and _CHANGED.search(new) and numbers(new) and numbers(old) and numbers(new) != numbers(old)) or (
        shared & {n.lower() for n in _names(old)} and _CHANGED.search(new)
    ):
        score += 0.5
    return score


def against(content: str, existing: Sequence[Known], *, hedged: bool = False) -> Verdict:
    """What to do with a line, given what is known."""
    best: tuple[float, Known] | None = None
    for known in existing:
        if says_the_same(content, known.content):
            return Verdict("skip", known.id, "already known")
        near = related(content, known.content)
        if near >= 0.5 and (best is None or near > best[0]):
            best = (near, known)
    if best is None:
        return Verdict("add", None)
    near, known = best
    common = attributes(content) & attributes(known.content)
    same_taste = common & {"honesty", "length"} or (
        common & {"seat", "risk"} and overlap(content, known.content) >= 0.3
    )
    said_before = not numbers(content) - numbers(known.content) and polarity(content) == polarity(known.content)
    if same_taste and said_before:
        return Verdict("skip", known.id, "already known")
    if known.protected:
        if common or near >= 0.6:
            return Verdict("skip", known.id, "conflicts with what you said yourself")
        return Verdict("add", None)
    if hedged:
        return Verdict("skip", known.id, "not decided")
    if common or near >= 0.65 or _CHANGED.search(content):
        return Verdict("update", known.id)
    return Verdict("add", None)


def settle_on(known: Known) -> Verdict:
    """The verdict when it is certain which memory is meant."""
    if known.protected:
        return Verdict("skip", known.id, "conflicts with what you said yourself")
    return Verdict("update", known.id)


def with_new_value(old: str, said: str) -> str | None:
    """The old line with its value replaced by the one just said, when exactly one fits."""
    fresh: list[str] = [v for v in VALUE.findall(said) if kind(v) in ("number", "money", "percent", "weekday")]
    if not fresh or len(fresh) > 2:
        return None
    new = fresh[0].rstrip(".,")
    slots: list[re.Match[str]] = [
        m
        for m in VALUE.finditer(old)
        if kind(m.group(0)) in ("number", "money", "percent") and not re.match(r"(?:19|20)\d\d", m.group(0))
    ]
    if kind(new) == "weekday" or not slots:
        return None
    slot = slots[0]
    was = slot.group(0).rstrip(".,")
    if was.lower() == new.lower():
        return None
    sign = re.match(r"[£€$]", was)
    tail = "%" if was.endswith("%") and not new.endswith("%") else ""
    scale = ""
    if re.fullmatch(r"\d{1,3}(?:\.\d+)?", new) and re.search(r"\d[,.' ]?000$", was):
        scale = "k"
    new = (sign.group(0) if sign and new[0] not in "£€$" else "") + new + scale + tail
    return old[: slot.start()] + new + old[slot.start() + len(was) :]
