"""The times that a question names, and how they match the days on which things were said.

Calendar words ("8 May 2023", "in May") are looked up as marks of the day; words that count from now ("last spring",
"two weeks ago") are a stretch of time, and what was recorded or became true in it counts a little more. A number is a
day of the month only next to a month, and "may" or "march" a month only where it cannot be the verb.
"""

import re
from datetime import timedelta
from typing import NamedTuple

from keepbook.book.ground.when import parse_date_words, parse_stamp, stamp
from keepbook.errors import Invalid
from keepbook.patterns import regex

DAY = "@"
"""The beginning of a day's marks in the index: `@8`, `@may`, `@2023`."""
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip


class NamedTime(NamedTuple):
    """A time that a question names: its words, its first instant, and the first instant after it."""

    said: str
    since: str
    until: str

    def covers(self, *moments: str) -> bool:
        return any(self.since <= moment < self.until for moment in moments)


def day_terms(at: str) -> list[str]:
    """The marks of an instant: its day, month and year."""
    return [DAY + str(int(at[8:10])), DAY + MONTHS[int(at[5:7]) - 1], DAY + at[:4]]


def asked_days(question: str) -> list[str]:
    """The days, months and years that a question names, as words."""
    found: dict[str, None] = {}
    for match in _DATE.finditer(question.lower()):
        month = _month(match["month"] or match["alone"])
        for part in (match["day"] or match["day_after"], month, match["year"] or match["year_alone"]):
            if part:
                found[part.lstrip("0")] = None
    return list(found)


_LEADING = regex(r"^(?:in|during) (?:the )?")


def asked_stretch(question: str, now: str, zone: str = "UTC") -> NamedTime | None:
    """The time a question counts from now, or the last month or season of the name it says."""
    match = _COUNTED.search(question.lower())
    if match is None:
        return None
    said = " ".join(match[0].split())
    try:
        since = parse_stamp(parse_date_words(_LEADING.sub("", said), moment=parse_stamp(now), zone=zone))
    except Invalid:
        return None
    unit = next((unit for unit in _LENGTHS if unit in said), "day")
    return NamedTime(said, stamp(since), stamp(since + timedelta(days=_LENGTHS.get(unit, 1))))


def _month(word: str | None) -> str | None:
    return next((month for month in MONTHS if word and month.startswith(word[:3])), None)


_NAMES = "|".join(f"{month}|{month[:3]}" for month in MONTHS) + "|sept"
# Names that are words too: alone they need a word before them that only a date has.
_ALONE = "|".join(f"{month}" for month in MONTHS if month not in ("march", "may"))
_DATE = regex(
    rf"""\b(?:
    (?P<day>\d{{1,2}})(?:st|nd|rd|th)?[ ](?:of[ ])?(?P<month>{_NAMES})\b(?:,?[ ](?P<year>(?:19|20)\d\d))?
  | (?P<alone>(?:(?<=in[ ])|(?<=of[ ])|(?<=since[ ])|(?<=during[ ])|(?<=until[ ])|(?<=last[ ])|(?<=early[ ])
      |(?<=late[ ])|(?<=mid[ ])|(?<=this[ ])|(?<=by[ ])|(?<=before[ ])|(?<=after[ ]))(?:{_NAMES})
      | (?:{_NAMES})(?=,?[ ](?:\d{{1,2}}(?:st|nd|rd|th)?\b|(?:19|20)\d\d)) | {_ALONE})\b
      (?:[ ](?P<day_after>\d{{1,2}})(?:st|nd|rd|th)?\b)?
  | (?P<year_alone>(?:19|20)\d\d)
    )\b""",
    re.VERBOSE,
)
_LENGTHS = {
    "spring": 92, "summer": 92, "autumn": 92, "fall": 92, "winter": 92, "year": 366, "quarter": 92,
    "week": 7, "month": 31, **dict.fromkeys(MONTHS, 31),
}  # fmt: skip
_COUNTED = regex(
    rf"""\b(?:
    yesterday|today
  | (?:last|this|past)[ ](?:week|month|year|quarter|spring|summer|autumn|fall|winter|{"|".join(MONTHS)}
      |monday|tuesday|wednesday|thursday|friday|saturday|sunday)
  | (?:a|an|one|two|three|four|five|six|\d{{1,2}}|a[ ]few|a[ ]couple[ ]of)[ ](?:day|week|month|year)s?[ ]ago
  | (?:in|during)[ ](?:the[ ])?(?:spring|summer|autumn|winter|{"|".join(MONTHS)})(?:[ ](?:19|20)\d\d)?
    )\b""",
    re.VERBOSE,
)
