"""The values in a line, by kind: figures with their unit, days, dates, times, names; and a value put in another's
place.

A correction that is only a value ("65,000", "the 15th", "Thursdays") fits a line if exactly one value of its kind
stands there. Then the line with the new value is a whole sentence that says what was said; nothing else is ever
replaced.
"""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from keepbook.book.ground.patterns import regex
from keepbook.book.text.words import STOP_WORDS

NUMBER_WORDS = [
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty", "thirty", "forty", "fifty",
    "sixty", "seventy", "eighty", "ninety", "hundred",
]  # fmt: skip
_ORDINALS = [
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth",
]  # fmt: skip
_DECADES = ["twenties", "thirties", "forties", "fifties", "sixties", "seventies", "eighties", "nineties"]
_MONTHS = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec",
]  # fmt: skip
_DAYS = [
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "mon", "tue", "tues", "wed", "thu",
    "thur", "thurs", "fri", "sat", "sun",
]  # fmt: skip
_COLOURS = [
    "red", "blue", "green", "black", "white", "grey", "gray", "silver", "yellow", "orange", "purple", "brown",
    "pink", "gold", "beige",
]  # fmt: skip
_PERIODS = ["hour", "day", "week", "fortnight", "month", "quarter", "year", "term", "night", "morning", "evening"]


TITLE = r"(?:(?i:Dr|Mr|Mrs|Prof)|Ms|St)\."
"""What stands before a name and is written short: its stop ends nothing."""
INSIDE = (
    r"(?:(?<=\b(?i:Dr|Mr))|(?<=\b(?:Ms|St))|(?<=\b(?i:Mrs))|(?<=\b(?i:Prof)))\.(?=\s+\w)|"
    r"(?:(?<=\d[ap])|(?<=\d [ap]))\.(?=m\b)|(?<=[ap]\.m)\.(?=\s+(?-i:[a-z]))"
)
"""A stop that ends no sentence: the title's of somebody, and those of a.m. and p.m."""


def _any(words: list[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


WHEN = rf"(?:{_any([*_MONTHS, *_DAYS, *_PERIODS])})s?\b"
"""A month, a weekday or a span of time, in any letters."""
_MONTH = rf"(?:{_any(_MONTHS)})\b\.?"
_END = rf"(?:\d{{1,4}}(?:[:.]\d\d)?|{_any(NUMBER_WORDS)})"
_FIGURE = r"\d+(?:[.,  ]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?"
_KINDS: tuple[tuple[str, str], ...] = (
    ("date", rf"\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? \d{{4}})?|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? "
             rf"\d{{4}})?|\d{{4}}-\d\d-\d\d"),
    ("time", r"\d{1,2}[:.]\d\d(?: ?[ap]\.?m\.?)?|\d{1,2} ?[ap]\.?m\b\.?"),
    ("range", rf"{_END}(?: to |–){_END}"),
    ("phone", r"\+?\d[\d  -]{6,}\d"),
    ("ordinal", rf"\d{{1,2}}(?:st|nd|rd|th)|(?:{_any(_ORDINALS)})\b"),
    ("decade", rf"(?:{_any(_DECADES)})\b|\d0s\b"),
    ("weekday", rf"(?:{_any(_DAYS)})(?:day)?s?\b"),
    ("month", _MONTH),
    ("code", r"(?=\w*\d)(?=\w*[A-Za-z])(?!\d+(?:x|k|m|kg|cm|mm|km|h|pm|am)\b)[A-Za-z0-9]{2,}"),
    ("number", rf"(?:[$€£¥₹] ?)?(?:{_FIGURE}|(?:{_any(NUMBER_WORDS)})\b(?:[- ](?:{_any(NUMBER_WORDS)})\b)*)(?: "
               rf"?(?:%|x|k|m|bn|lakh|grand|percent)\b|%)?"),
    ("colour", rf"(?:{_any(_COLOURS)})\b"),
    ("period", rf"(?:{_any(_PERIODS)})s?\b"),
    ("name", r"[A-ZÀ-ÞŁŚŻ][\w'’.-]*(?: (?:de |da |del |von |van |of |the )?[A-ZÀ-ÞŁŚŻ][\w'’-]*)*"),
)  # fmt: skip
_SLOT = regex("|".join(rf"(?P<{kind}>(?<!\w){pattern}(?!\w))" for kind, pattern in _KINDS))
_CASELESS = regex(
    "|".join(rf"(?P<{kind}>(?<!\w){pattern}(?!\w))" for kind, pattern in _KINDS if kind != "name"), re.IGNORECASE
)
_UNIT = regex(r"[\s-]*(?P<unit>%|[^\W\d_]+)")
_HELD = regex(r"^.*\b(?:in|at|to|from|with|for|on|by|is|are|was|called|named|of|as|into)\s+(?:the |a |an |my "
                   r"|their |our )?"
                   rf"(?P<held>(?:{TITLE} )?[^\s,.;]+(?: [^\s,.;]+){{0,2}})\W*$", re.IGNORECASE)  # fmt: skip
_NO_VALUE = regex(
    r"\b(?:intend|want|plan|like|love|hate|need|have|has|had|going|hope|try|tries|trying|prefer|decide|refuse|able|used|"
    r"wish|aim|mean)(?:s|d|ed|ing)?\s+to\s+$|\b(?:which|who|whom|whose)\b",
    re.IGNORECASE,
)
"""What follows is a verb ("intend to sell"), or said of something else ("a cottage which …"): no value goes there."""
_FAINT = frozenset(
    [
        "i", "my", "we", "our", "the", "a", "an", "is", "has", "no", "not", "it", "they", "their", "this", "that",
        "im", "ive",
    ]
)  # fmt: skip


class Slot(NamedTuple):
    """A value in a line: its kind, where it stands, and the word behind a figure."""

    kind: str
    start: int
    end: int
    text: str
    unit: str = ""


def slots(text: str) -> list[Slot]:
    """Every value of a line, in order."""
    found = []
    taken = 0
    at = 0
    while at < len(text):
        one = _first(text, at)
        if one is None:
            break
        at = one.end
        if one.start < taken:
            continue
        taken = one.end
        if one.kind == "name" and (one.start == 0 or one.text.lower() in _FAINT):
            taken = min(taken, one.start + len(one.text.split()[0]))
            at = one.start + len(one.text.split()[0])
            if one.start and one.text.lower() not in _FAINT:
                found.append(one)
            continue
        found.append(one)
        if one.unit and text[one.end :].lstrip(" -").lower().startswith(one.unit):
            taken = text.lower().index(one.unit, one.end) + len(one.unit)
    return found


def _first(text: str, at: int) -> Slot | None:
    plain, cased = _CASELESS.search(text, at), _SLOT.search(text, at)
    options = [match for match in (plain, cased) if match]
    if not options:
        return None
    match = min(options, key=lambda one: (one.start(), one.lastgroup == "name"))
    kind = str(match.lastgroup)
    found = _UNIT.match(text, match.end()) if kind in ("number", "ordinal") else None
    unit = found["unit"].lower() if found and found["unit"].lower() not in STOP_WORDS else ""
    return Slot(kind, match.start(), match.end(), match[0], unit)


def value(text: str) -> Slot | None:
    """The one value that a fragment consists of, with its unit; None where it is more or less than a value."""
    plain = text.strip(" .,!?;:…\"'“”").removeprefix("the ").removeprefix("The ")
    found = slots(f"= {plain}")
    if len(found) == 1 and found[0].start == 2:
        rest = plain[found[0].end - 2 :].strip()
        if not rest or (found[0].unit and len(rest.split()) <= 3):
            return found[0]._replace(start=0, end=len(plain), text=plain)
    if _POINTS.search(plain):
        return None
    if 0 < len(plain.split()) <= 3 and _WORDS.fullmatch(plain) and not found:
        return Slot("word", 0, len(plain), plain)
    if len(found) == 1 and found[0].kind == "name" and found[0].text == plain:
        return found[0]._replace(start=0, end=len(plain))
    return None


_WORDS = regex(rf"(?:{TITLE} )?[^\W\d_][\w'’-]*(?: [^\W\d_][\w'’-]*)*")
_POINTS = regex(
    r"\b(?:i|you|he|she|it|its|it's|that|this|they|we|me|them|too|also|is|are|was|were)\b|n't\b", re.IGNORECASE
)
"""Words of a clause: what has them is more than a value."""


def _same_unit(one: str, other: str) -> bool:
    return not one or not other or one.rstrip("s").endswith(other.rstrip("s"))


def _year(text: str) -> bool:
    return bool(re.fullmatch(r"(?:19|20)\d\d", text))


def _fits(slot: Slot, new: Slot) -> bool:
    if new.kind in ("number", "ordinal") and slot.kind == new.kind:
        return _same_unit(slot.unit, new.unit) and _year(slot.text) == _year(new.text)
    return slot.kind == new.kind


def filled(line: str, fragment: str) -> list[str]:
    """The lines that come out where the fragment takes the place of a value of its kind: one if it is certain."""
    new = value(fragment)
    if new is None:
        return []
    text = new.text
    known = slots(line)
    if new.kind == "ordinal" and (dated := [one for one in known if one.kind == "date"]):
        return [_day_changed(line, one, text) for one in dated]
    places = [one for one in known if _fits(one, new)]
    if new.kind in ("number", "ordinal") and new.unit:
        exact = [one for one in places if one.unit.rstrip("s").endswith(new.unit.rstrip("s"))]
        places = exact or [one for one in places if not one.unit]
        return [_put(line, one.start, _with_unit(line, one, text), text) for one in places]
    if new.kind in ("name", "word") and not places:
        return _named(line, known, text, new.kind)
    if new.kind == "name":
        return [_put(line, one.start, one.end, text) for one in places]
    return [_put(line, one.start, _end(one, text), text) for one in places]


def _end(slot: Slot, text: str) -> int:
    """Where the old value ends: a bare figure leaves the old one its "percent"."""
    figure = re.match(r"[$€£¥₹]? ?[\d.,\s]*\d", slot.text) if re.fullmatch(r"[\d.,]+", text) else None
    return slot.start + figure.end() if figure and slot.kind == "number" else slot.end


def _with_unit(line: str, slot: Slot, text: str) -> int:
    """Where a figure ends together with its unit, and with as many words as the new one has."""
    more = len(text.split()) - 1
    found = re.match(rf"(?:\s*\S+?){{{max(more, 1)}}}(?=[\s,.;]|$)", line[slot.end :]) if slot.unit else None
    return slot.end + found.end() if found else slot.end


def _named(line: str, known: list[Slot], text: str, kind: str) -> list[str]:
    """A name or a plain word: the one name there is, else what the line ends with."""
    names = [one for one in known if one.kind == "name"]
    if len(names) > 1:
        return [_put(line, one.start, one.end, text) for one in names]
    held = _HELD.search(line)
    held = None if held and _NO_VALUE.search(line[: held.start("held")]) else held
    if len(names) == 1 and (kind == "name" or (held and names[0].start >= held.start("held"))):
        return [_put(line, names[0].start, names[0].end, text)]
    if held and not any(one.start >= held.start("held") for one in known if one.kind in ("number", "date", "time")):
        return [_put(line, held.start("held"), held.end("held"), text)]
    return []


def _day_changed(line: str, date: Slot, text: str) -> str:
    day = re.sub(r"\D", "", text)
    if not day:
        return _put(line, date.start, date.end, text)
    said = text if re.search(r"\d(?:st|nd|rd|th)", date.text) and text.startswith(day) else day
    new = re.sub(r"(?<!\d)\d{1,2}(?:st|nd|rd|th)?(?!\w)", said, date.text, count=1)
    return _put(line, date.start, date.end, new)


def _put(line: str, start: int, end: int, text: str) -> str:
    old = line[start:end]
    if old[:1].isupper() and text[:1].islower() and not any(map(str.isdigit, text)):
        text = text[:1].upper() + text[1:]
    if old[:1].islower() and text[:1].isupper() and text[1:].islower() and text.lower() in _LOWERED:
        text = text.lower()
    rest = line[end:]
    if re.fullmatch(r"\d+x", text) and rest.startswith(" times"):
        rest = rest.removeprefix(" times")
    words = text.lower().split()
    for many in range(len(words), 0, -1):
        said = f" {' '.join(words[-many:])}"
        if rest.lower().startswith(said) and not rest[len(said) : len(said) + 1].isalnum():
            rest = rest[len(said) :]  # the unit was said with the value
            break
    return f"{line[:start]}{text}{rest}"


_LOWERED = frozenset([*NUMBER_WORDS, *_ORDINALS, *_DECADES, *_COLOURS, *_PERIODS])


def exchanged(line: str, old: str, new: str) -> str | None:
    """The line with the one place that says `old` saying `new`; None where there is none, or more than one."""
    wanted = re.escape(old.strip(" .,!?\"'“”"))
    if not wanted:
        return None
    found = list(re.finditer(rf"(?<!\w){wanted}(?!\w)", line, re.IGNORECASE))
    if not found and (number := _as_figure(old)) is not None:
        found = [one for one in re.finditer(r"(?<![\w.,])[\w.,]+(?![\w])", line) if _as_figure(one[0]) == number]
    if len(found) != 1:
        return None
    return _put(line, found[0].start(), found[0].end(), new.strip(" .,!?\"'“”"))


def turned(line: str, said: str) -> str | None:
    """The line with its two figures, else the two names that were said, in each other's place; None where there are not
    two."""
    marked = f"= {line}"  # a name may stand at the head
    known = slots(marked)
    figures = [one for one in known if one.kind == "number"]
    names = [one for one in known if one.kind == "name" and one.text.lower() in said.lower()]
    for found in (figures, names):
        if len(found) == 2:
            (a, b), (c, d) = ((one.start, one.end) for one in found)
            return f"{marked[:a]}{marked[c:d]}{marked[b:c]}{marked[a:b]}{marked[d:]}"[2:]
    return None


LIKE = 2.5
"""How many times as large a figure may be for another to be meant in its place, where nothing says which."""
LARGE = 100
"""Smaller figures are everywhere: what a bare one is meant for, its size does not say."""


def of_size(line: str, fragment: str) -> str | None:
    """The line with its one figure of about that size said anew; None where it has none, or several."""
    new = value(fragment)
    size = _size(new.text) if new is not None and new.kind == "number" else None
    if new is None or size is None or size < LARGE or _year(new.text):
        return None
    like = [
        one
        for one in slots(line)
        if one.kind == "number" and not _year(one.text) and _same_unit(one.unit, new.unit)
        and (old := _size(one.text)) and 1 / LIKE <= size / old <= LIKE
    ]  # fmt: skip
    return _put(line, like[0].start, _end(like[0], new.text), new.text) if len(like) == 1 else None


def _size(text: str) -> float | None:
    figure = _as_figure(text)
    try:
        return float(figure) if figure else None
    except ValueError:
        return None


def misspelt(name: str, lines: Sequence[str], least: float) -> str | None:
    """The one word of some lines that is nearly this name: the same first letter, and so much alike."""
    words = {word for line in lines for word in re.findall(r"[^\W\d_][\w'’-]+", line)}
    near = {
        word
        for word in words
        if word[0].lower() == name[0].lower() and word.lower() not in (name.lower(), *STOP_WORDS)
        and SequenceMatcher(None, word.lower(), name.lower()).ratio() >= least
    }  # fmt: skip
    return near.pop() if len(near) == 1 else None


def _as_figure(text: str) -> str | None:
    plain = text.strip(" .,!?").lower()
    if plain in NUMBER_WORDS:
        at = NUMBER_WORDS.index(plain)
        return str(at + 1 if at < 20 else (at - 18) * 10)
    digits = re.match(r"[$€£]?(\d[\d.,  ]*)(k?)", plain)
    if digits is None:
        return None
    whole = re.sub(r"[,  ](?=\d{3})|\.(?=\d{3}(?!\d))", "", digits[1]).rstrip(".,")
    return f"{whole}000" if digits[2] else whole
