"""The days on which what is told happened: "Saturday I varnished it" is about the Saturday before it was said.

A text is cut into pieces that each tell of one day. A sentence that names a day begins the next piece, other sentences
belong to the one before; questions are left out. Events that lie ahead are dated by the day they were told on.
"""

from datetime import date, datetime
from typing import NamedTuple

from keepbook.book.ground.when import parse_date_words, parse_stamp, zone_named
from keepbook.book.text.sentences import sentences
from keepbook.errors import Invalid
from keepbook.patterns import regex


class ToldDay(NamedTuple):
    """A stretch of a text and the day on which it happened."""

    start: int
    end: int
    day: date


_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_COUNT = r"(?:\d{1,2}|an?|one|two|three|four|five|six|seven|eight|nine|ten|a few|a couple(?: of)?)"
_PHRASE = regex(
    rf"\b(?:the day before yesterday|yesterday|last night|today|this (?:morning|afternoon|evening)"
    rf"|{_COUNT} (?:day|night|week|fortnight|month|year)s? (?:ago|back|earlier)"
    rf"|(?:last|this past|this) (?:{_WEEKDAY}|weekend|week|month|spring|summer|autumn|fall|winter|year)"
    rf"|(?:over|at|during|on) the weekend"
    rf"|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH}\b(?:,? (?:19|20)\d\d)?"
    rf"|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b(?:,? (?:19|20)\d\d)?"
    rf"|(?:on|since|by) the \d{{1,2}}(?:st|nd|rd|th)"
    rf"|{_WEEKDAY}(?! to {_WEEKDAY}))\b",
)
_AHEAD = regex(
    rf"\b(?:tomorrow|tonight|next|coming|will|won't|shall|going to|gonna|plan(?:s|ned|ning)? to|hope to|hoping to|soon"
    rf"|(?:is|are|am|'s|'re|'m) \w+ing (?:\w+ ){{0,4}}(?:on )?{_WEEKDAY}|by {_WEEKDAY}|until {_WEEKDAY}|every"
    rf"|{_WEEKDAY}s)\b|'ll\b"
)
_AS_DATE = regex(r"^(?:over|at|during|on|since|by) ")
_NIGHTS = regex(r"\bnight(s?) (?=ago|back|earlier)")


def told_days(text: str, at: datetime, zone: str) -> list[ToldDay]:
    """What a text tells, cut by the days on which it happened; said at a moment in the owner's zone."""
    said_on = at.astimezone(zone_named(zone)).date()
    found: list[ToldDay] = []
    for start, end in sentences(text):
        sentence = text[start:end]
        if sentence.rstrip().endswith(("?", "？")) or not any(letter.isalnum() for letter in sentence):
            continue
        day = _named_day(sentence, at, zone)
        if found and (day is None or day == found[-1].day):
            found[-1] = found[-1]._replace(end=end)
        else:
            found.append(ToldDay(start, end, day or said_on))
    return found


def _named_day(sentence: str, at: datetime, zone: str) -> date | None:
    """The day that a sentence names; None where it names none, or one that lies ahead."""
    plain = sentence.lower().replace("’", "'")
    match = _PHRASE.search(plain)
    if match is None or _AHEAD.search(plain):
        return None
    words = _NIGHTS.sub(r"day\1 ", _AS_DATE.sub("", match[0]))
    if words == "the weekend":
        words = "last weekend"
    try:
        instant = parse_stamp(parse_date_words(words, moment=at, zone=zone))
    except Invalid:
        return None
    if instant <= at:
        return instant.astimezone(zone_named(zone)).date()
    return None
