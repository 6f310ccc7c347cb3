"""Reads the period that a person's words state, and whether it counts from the day they were said.

"Since June" begins a period, "until Friday" ends one, both counted from the time of the message in its owner's zone.
Only what is plainly stated counts: habits ("Monday to Friday"), conditions, times of day and things that are over set
no period. `relative` says that words are understood only together with their day ("yesterday", "next month", "I'm 61").
"""

import re
from datetime import datetime, timedelta
from typing import NamedTuple

from keepbook.book.ground.when import parse_date_words, parse_stamp, stamp
from keepbook.book.text.language import language
from keepbook.errors import KeepbookError
from keepbook.patterns import regex


class StatedPeriod(NamedTuple):
    """From when and until when words hold, as stamps; None if they do not say."""

    valid_from: str | None
    valid_until: str | None
    relative: bool


NOTHING = StatedPeriod(None, None, False)

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|march|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)"
)
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_SEASON = r"(?:spring|summer|autumn|winter)"
_YEAR = r"(?:19|20)\d\d"
_COUNT = r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|a couple of|a few)"
_UNIT = r"(?:day|week|month|year)s?"
_NTH = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE = (
    rf"(?:(?:the )?{_NTH} (?:of )?{_MONTH}(?:,? {_YEAR})?|{_MONTH} {_NTH}(?:,? {_YEAR})?|"
    r"the \d{1,2}(?:st|nd|rd|th)|\d{4}-\d\d-\d\d)"
)
_NAMED = rf"(?:(?:last|next|this) (?:week|month|year|weekend|{_MONTH}|{_WEEKDAY}|{_SEASON})|yesterday|today|tomorrow)"
_LONGER = rf"(?:{_MONTH}(?: {_YEAR})?|(?:the )?{_SEASON}(?: {_YEAR})?|{_YEAR}|christmas|easter|new year's?)"
_EDGE = r"(?:(?:the )?(?:end|start|beginning|middle) of )?"
_WHEN = rf"(?:{_EDGE}(?:{_DATE}|{_NAMED}|{_WEEKDAY}|{_LONGER}|the (?:week|month|year))(?!'s?\b))"
_SINCE = regex(rf"\b(?:ever )?since (?P<when>{_WHEN})\b(?! and\b)", re.IGNORECASE)
_FROM = regex(
    r"\b(?:from|starting(?: on)?|beginning(?: on)?|as of|as from|effective) "
    rf"(?P<when>{_WHEN})\b(?P<on> on(?:wards?)?\b)?",
    re.IGNORECASE,
)
_UNTIL = regex(rf"\b(?:until|till|'til|through|to|up to) (?P<when>{_WHEN})\b", re.IGNORECASE)
_FOR = regex(
    rf"\bfor (?:the next |another )?(?P<count>{_COUNT}) (?P<unit>{_UNIT})\b(?! (?:old|ago|a week)\b)", re.IGNORECASE
)
_BEGAN = regex(
    rf"\b(?:moved|switched|started|joined|quit|went vegan|opened|married|relocated|bought|retired|became)\b.{{0,60}}?"
    rf"\b(?P<when>in {_LONGER}|on {_DATE}|{_NAMED}|{_COUNT} {_UNIT} ago)\b",
    re.IGNORECASE,
)
_BEGAN_AFTER = regex(
    rf"^\W*(?P<when>in {_YEAR}|in {_MONTH}(?: {_YEAR})?|on {_DATE}|{_NAMED}|{_COUNT} {_UNIT} ago),? (?:i|we) "
    rf"(?:moved|switched|started|joined|quit|opened|married|relocated|bought|retired|became)\b",
    re.IGNORECASE,
)
_UNSURE = regex(
    r"\b(?:if|unless|would|could|might|maybe|perhaps|probably|wish|whether|suppose|in case|as long as|every|each|"
    r"always|usually|normally|often|mostly|sometimes|never)\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days\b",
    re.IGNORECASE,
)
"""Matches conditions, wishes and habits, which state no period."""
_PAST = regex(
    r"\b(?:was|were|got|had|did|didn'?t|wasn'?t|used to|lived|worked|stayed|spent|went|studied|rented|owned|taught|"
    r"been in|[a-z]{3,20}(?<!ne)(?<!re)(?<!fe)(?<!se)ed)\b",
    re.IGNORECASE,
)
_HAVE = regex(r"\b(?:i'?ve|we'?ve|has|have|he's been|she's been|been)\b", re.IGNORECASE)
_PLANNED = regex(
    r"\b(?:am|i'?m|are|we'?re|is|he'?s|she'?s|it'?s|will|'ll|going to|staying|away|off|out|on)\b", re.IGNORECASE
)
_BARE_YEAR = regex(rf"{_YEAR}", re.IGNORECASE)
_BARE_WEEKDAY = regex(_WEEKDAY, re.IGNORECASE)
_BARE_NAME = regex(rf"{_WEEKDAY}|{_MONTH}|{_SEASON}", re.IGNORECASE)
_NAMED_DATE = regex(rf"\b(?:{_WEEKDAY}|{_MONTH}|{_SEASON})s?\b", re.IGNORECASE)
_COMES = regex(r"(?:\bi'?m|\bam|\bis|\bare|'re|'s|\bcomes?) $", re.IGNORECASE)
"""Matches words before "from" that tell where somebody comes from: "I'm from May"."""


def names_date(text: str) -> bool:
    """Whether a text names a day of the week, a month or a season."""
    return _NAMED_DATE.search(text) is not None


def period(text: str, at: datetime, zone: str) -> StatedPeriod:
    """The period that words state, said at a moment in the owner's zone."""
    relative = is_relative(text)
    if _UNSURE.search(text):
        return StatedPeriod(None, None, relative)
    valid_from = _beginning(text, at, zone)
    valid_until = _end(text, at, zone)
    if valid_from is not None and valid_until is not None and valid_until <= valid_from:
        return StatedPeriod(None, None, relative)
    return StatedPeriod(valid_from, valid_until, relative)


def _beginning(text: str, at: datetime, zone: str) -> str | None:
    found = _SINCE.search(text)
    if found:
        return _instant(found["when"], at, zone)
    found = _FROM.search(text)
    if found:
        return _start_named(found, text, at, zone)
    found = _FOR.search(text)
    if found and _HAVE.search(text):
        return _instant(f"{found['count']} {found['unit']} ago", at, zone)
    found = _BEGAN_AFTER.search(text) or _BEGAN.search(text)
    if found:
        return _instant(found["when"], at, zone)
    return None


def _start_named(found: re.Match[str], text: str, at: datetime, zone: str) -> str | None:
    """ "From 1 May": the coming one, unless the words are of the past or it was just now."""
    when = found["when"]
    if _BARE_YEAR.fullmatch(when) and not found["on"] and not _UNTIL.match(text, found.end() + 1):
        return None  # a car from 1998 is as old as that; since when it is somebody's is not said
    if _BARE_WEEKDAY.fullmatch(when) and _is_habit(text, found.end()):
        return None
    if _BARE_NAME.fullmatch(when) and _COMES.search(text, 0, found.start()):
        return None
    before = _instant(when, at, zone)
    if before is None or _PAST.search(text, 0, found.start()) or _HAVE.search(text, 0, found.start()):
        return before
    if before > stamp(at) or _is_fixed(when):
        return before
    is_weekday = bool(_BARE_WEEKDAY.fullmatch(when))
    if not is_weekday and parse_stamp(before) > at - _JUST_NOW:
        return before
    return _instant(when, at + (_WEEK if is_weekday else _A_YEAR), zone)


_JUST_NOW, _WEEK, _A_YEAR = timedelta(days=14), timedelta(days=7), timedelta(days=365)
_FIXED = regex(rf"{_YEAR}|last|next|this|yesterday|today|tomorrow", re.IGNORECASE)


def _is_fixed(when: str) -> bool:
    """Whether words name one day whatever is meant: with a year, or counted from today."""
    return bool(_FIXED.search(when))


_TO_WEEKDAY = regex(rf" (?:to|until|till|through) {_WEEKDAY}", re.IGNORECASE)


def _is_habit(text: str, end: int) -> bool:
    """ "From Monday to Friday" is a week like any other."""
    return bool(_TO_WEEKDAY.match(text, end))


def _end(text: str, at: datetime, zone: str) -> str | None:
    if _PAST.search(text):
        return None
    found = _UNTIL.search(text)
    if found is not None:
        word = text[found.start() : found.start("when")].strip().lower()
        if word in ("to", "up to") and not _FROM.search(text, 0, found.start()):
            return None  # "I moved to May Street", "to Friday's meeting"
        first = _FROM.search(text, 0, found.start())
        if first is not None and _is_habit(text, first.end()):
            return None
        return _instant(found["when"], at, zone, end=True)
    if _HAVE.search(text) or not _PLANNED.search(text):
        return None
    found = _FOR.search(text)
    if found:
        return _instant(f"{found['count']} {found['unit']}", at, zone, end=True)
    return None


_LEADING = regex(r"(?:in|on|the) ", re.IGNORECASE)


def _instant(words: str, at: datetime, zone: str, end: bool = False) -> str | None:
    if _LEADING.match(words):
        phrase = _LEADING.sub("", words, count=1)
    else:
        phrase = words
    phrase = phrase.replace(" couple of", " couple")
    try:
        return parse_date_words(phrase, moment=at, zone=zone, end=end)
    except KeepbookError:
        return None


# --- words that count from the day they were said

_KIN = (
    r"(?:son|daughter|wife|husband|partner|mother|mom|mum|father|dad|brother|sister|kid|child|boy|girl|baby|dog|cat|"
    r"grandma|grandmother|grandpa|grandfather|niece|nephew|friend|boyfriend|girlfriend|twins)"
)
_AGE_END = r"(?=\s*(?:$|[.,;!?)]|years?\b|yrs?\b|yo\b|y/o\b|months?\b|and\b|but\b|now\b|today\b|already\b|so\b|with\b))"
_RELATIVE = {
    "en": regex(
        r"\b(?:yesterday|today|tonight|tomorrow|recently|lately|just now|soon|nowadays|"
        rf"(?:this|last|next|past|coming) (?:morning|afternoon|evening|night|day|week|weekend|month|year|quarter|"
        rf"{_WEEKDAY}|{_MONTH}|{_SEASON}|few days|few weeks|few months|few years)|"
        rf"{_COUNT} (?:{_UNIT}|hours?|minutes?|weekends?|decades?) (?:ago|from now|old)|ages ago|long ago|"
        rf"(?:in|for|within) (?:the (?:next|last|past) |another )?{_COUNT} (?:{_UNIT}|hours?)|"
        rf"(?:since|until|till|through|from|by|on|starting|as of) (?:the )?{_EDGE}"
        rf"(?:{_WEEKDAY}|{_MONTH}|{_SEASON}|christmas|easter)"
        rf"(?! (?:\d{{1,2}},? )?{_YEAR})|"
        r"turn(?:ed|ing|s) \d{1,3}|\d{1,3}[- ]years?[- ]old)\b|"
        rf"\b(?:i'?m|i am|(?:he|she)(?:'s| is)|they(?:'re| are)|my {_KIN}(?: [A-Z]\w{{1,20}})?(?:'s| is| are)) "
        rf"(?:only |just |now |almost |nearly |about |over |already )?\d{{1,3}}{_AGE_END}",
        re.IGNORECASE,
    ),
    "de": regex(
        r"\b(?:(?:vor)?gestern|heute|(?<!guten )(?:über)?morgen|neulich|kürzlich|bald|"
        r"(?:diese[nrsm]?|letzte[nrsm]?|vorige[nrsm]?|nächste[nrsm]?|kommende[nrsm]?) (?:woche|monat|jahr|nacht|"
        r"montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|wochenende|sommer|winter|frühjahr|herbst)|"
        r"vor \w{1,12} (?:tag|woche|monat|jahr)(?:e|en|n)?|in \w{1,12} (?:tag|woche|monat|jahr)(?:e|en|n)?|"
        r"(?:ich bin|er ist|sie ist) \d{1,3}(?: jahre)?)\b",
        re.IGNORECASE,
    ),
    "es": regex(
        r"\b(?:ayer|anteayer|hoy|anoche|mañana|pronto|recientemente|esta (?:mañana|tarde|noche|semana)|"
        r"este (?:mes|año)|"
        r"(?:la|el) (?:semana|mes|año|verano|invierno|lunes|martes|miércoles|jueves|viernes|sábado|domingo|noche) "
        r"(?:pasad[oa]|próxim[oa]|que viene)|(?:la|el) (?:próxim[oa]|pasad[oa]) (?:semana|mes|año)|"
        r"(?:hace|dentro de|en) \w{1,12} (?:días?|semanas?|mes(?:es)?|años?)|"
        r"(?:tengo|tiene) \d{1,3} años)\b",
        re.IGNORECASE,
    ),
    "nb": regex(
        r"\b(?:i går|i dag|i morgen|i kveld|i natt|i fjor|i år|nylig|snart|i overmorgen|i forgårs|"
        r"(?:forrige|neste|denne|dette) (?:uke|uken|måned|måneden|år|året|helg|helgen|mandag|tirsdag|onsdag|torsdag|"
        r"fredag|lørdag|søndag|sommer|vinter)|for \w{1,12} (?:dag(?:er)?|uker?|måned(?:er)?|år) siden|"
        r"om \w{1,12} (?:dag(?:er)?|uker?|måned(?:er)?|år)|(?:jeg|han|hun) er \d{1,3}(?: år)?)\b",
        re.IGNORECASE,
    ),
    "fr": regex(
        r"\b(?:hier|avant-hier|aujourd'hui|demain|après-demain|ce (?:soir|matin|mois)|cette (?:semaine|année|nuit)|"
        r"récemment|bientôt|(?:la|le|l') ?(?:semaine|mois|année|an|été|hiver) (?:derni(?:er|ère)|prochaine?|passée?)|"
        r"(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche) "
        r"(?:dernier|prochain)|il y a \w{1,12} (?:jours?|semaines?|mois|ans?|années?)|"
        r"dans \w{1,12} (?:jours?|semaines?|mois|ans?)|(?:j'ai|il a|elle a) \d{1,3} ans)\b",
        re.IGNORECASE,
    ),
}
_HABIT = regex(
    rf"\b(?:every|each|most|usually on|always on) (?:{_WEEKDAY}|{_MONTH}|{_SEASON}|morning|evening|day)\b|"
    rf"\b(?:from )?{_WEEKDAY} (?:to|until|till|through) {_WEEKDAY}\b",
    re.IGNORECASE,
)


def is_relative(text: str) -> bool:
    """Whether words count from the day they were said, in the language they are in."""
    plain = text.replace("’", "'")
    pattern = _RELATIVE.get(language(plain, "en"))
    return pattern is not None and bool(pattern.search(_HABIT.sub(" ", plain)))
