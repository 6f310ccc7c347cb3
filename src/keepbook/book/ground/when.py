"""Instants, and dates as people say them.

Inside the engine a time is fixed-width text in UTC ("2026-03-05T09:00:00.000000Z"), which sorts as text on every
engine. Three functions make it: `stamp` from a datetime of a clock, `instant` from what a program passes (ISO 8601 in
any precision), `parse_date_words` from what a person types ("last Friday", "until the end of March"). `read_moment`
takes any of these; every `since` and `until` is read by it.

Words are read by a small grammar: a rule turns a phrase into the spans of local time it may mean. The table at
`parse_date_words` says which of these spans is taken, and whether its beginning or its end. The present is passed in;
no clock is read here.
"""

import calendar
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from keepbook.book.ground.stored_json import damaged_error
from keepbook.errors import Invalid
from keepbook.patterns import regex

Moment = Any
"""A point in time as a caller may give it: ISO text (also partial), a date, a datetime."""

KEPT = 8192
"""How many conversions between text and datetime are cached: the times of a row are mostly equal, and lists are read
again and again."""
_TICK = timedelta(microseconds=1)


class TimeSpan(NamedTuple):
    """A stretch of time that starts at `first` and is `months` and `days` long. Without a length it is an
    instant."""

    first: datetime  # naive: wall-clock time in the zone of the `DateAnchor`; aware: an exact instant
    months: int = 0
    days: int = 0
    to_last: bool = False  # "end of", "through": its last instant is meant, be it a beginning or an end

    @property
    def after(self) -> datetime:
        """The first instant after it."""
        if not (self.months or self.days):
            return self.first
        return _shift(self.first.replace(hour=0), months=self.months, days=self.days)

    @property
    def is_day(self) -> bool:
        return (self.months, self.days) == (0, 1)

    def edge(self, zone: tzinfo, end: bool) -> datetime:
        """The instant that is meant: the first of the span, or its last, if so said or if a day ends something."""
        if (self.to_last and self.after != self.first) or (end and self.is_day):
            return _utc(self.after, zone) - _TICK
        return _utc(self.first, zone)


class DateAnchor(NamedTuple):
    """The moment and zone in which a phrase is said, and whether the date ends something (`until`)."""

    moment: datetime
    zone: ZoneInfo
    end: bool

    @property
    def local(self) -> datetime:
        return self.moment.astimezone(self.zone).replace(tzinfo=None, fold=0)

    @property
    def today(self) -> datetime:
        return self.local.replace(hour=0, minute=0, second=0, microsecond=0)


DateMatch = re.Match[str]
DateReader = Callable[[DateMatch, DateAnchor], list[TimeSpan]]


def stamp(moment: datetime) -> str:
    """The one text form of an instant: UTC, microseconds, 27 characters."""
    if moment.tzinfo is UTC:  # the usual case, so it comes first
        return _text(moment)
    if moment.utcoffset() is None:
        raise Invalid("A time needs a time zone, as in datetime.now(UTC).", field="moment")
    try:
        utc = moment.astimezone(UTC)
    except OverflowError:
        raise Invalid(f"{moment} is outside the years 0001 to 9999 in UTC.", field="moment") from None
    return _text(utc)


@lru_cache(maxsize=KEPT)
def _text(utc: datetime) -> str:
    return utc.isoformat(timespec="microseconds").replace("+00:00", "Z")


@lru_cache(maxsize=KEPT)
def parse_stamp(text: str) -> datetime:
    """The aware datetime of a stamp; strict, since only `stamp` writes them."""
    if _STAMP.fullmatch(text):
        try:
            return datetime.fromisoformat(text)
        except ValueError:  # right in shape, but no such day or hour
            pass
    raise damaged_error(f"{_short_repr(text)} is not an instant as the book writes them")


def later(at: str, **span: float) -> str:
    """An instant plus a duration; the end of the calendar if that is later."""
    moment = parse_stamp(at)
    try:
        return stamp(moment + timedelta(**span))
    except OverflowError:
        return stamp(datetime.max.replace(tzinfo=UTC))


def in_zone(moment: datetime, zone: tzinfo | None) -> datetime:
    """The local time. At the very ends of the calendar, where a zone has no time, it is UTC."""
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment


def zone_named(name: str, *, field: str = "zone") -> ZoneInfo:
    """The time zone with that IANA name."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # OSError: the name of a directory ("Europe"), or far too long
        raise Invalid(f"{_short_repr(name)} is not a time zone. Write it like Europe/Oslo.", field=field) from None


def instant(value: str | datetime | date | None, *, field: str, zone: str = "UTC") -> str | None:
    """The stamp of an ISO 8601 text, a day such as 05.01.2027, a datetime or a date; None stays None.

    A period means its start ("2026-03": the first instant of March). What carries no offset is read in
    `zone`; a wall-clock time that summer time skips moves on by what is missing.
    """
    if value is None:
        return None
    where = zone_named(zone)
    first = None
    if isinstance(value, datetime):
        first = value
    elif isinstance(value, date):
        first = datetime.combine(value, time.min)
    else:
        span = _iso(str(value).strip())
        if span is not None:
            first = span.first
    if first is not None:
        try:
            return stamp(_utc(first, where))
        except OverflowError:  # its instant in UTC lies beyond the years 0001 to 9999
            pass
    example = "2026-03-05 or 2026-03-05T10:00+01:00"
    raise Invalid(f"{field}: {_short_repr(value)} is not a date. Write it like {example}.", field=field)


_STAMP = regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
_ISO = regex(
    r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d)"
    r"(?:[T ](?P<hour>\d\d)(?::(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?)?"
    r" ?(?P<offset>Z|(?P<sign>[+-])(?P<ahead>\d\d)(?::?(?P<ahead_minute>[0-5]\d))?)?)?)?)?",
    re.ASCII | re.IGNORECASE,
)
_DOTTED = regex(r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})", re.ASCII)


def _iso(text: str) -> TimeSpan | None:
    """The year, month, day or instant that an ISO 8601 text names, or the day of `05.01.2027` (5 January); None if it
    is no such text."""
    dotted = _DOTTED.fullmatch(text)
    if dotted is not None:
        text = f"{dotted['year']}-{dotted['month']:0>2}-{dotted['day']:0>2}"
    found = _ISO.fullmatch(text)
    if not found:
        return None
    part = found.groupdict(default="0")
    try:
        zone = None
        if found["offset"]:
            ahead = timedelta(hours=int(part["ahead"]), minutes=int(part["ahead_minute"]))
            if part["sign"] == "-":
                zone = timezone(-ahead)
            else:
                zone = timezone(ahead)
        day = date(int(part["year"]), int(found["month"] or 1), int(found["day"] or 1))
        micro = int((part["fraction"] + "000000")[:6])
        clock = time(int(part["hour"]), int(part["minute"]), int(part["second"]), micro, zone)
    except ValueError:  # no such month, day, hour or offset
        return None
    first = datetime.combine(day, clock)
    if found["hour"]:
        return TimeSpan(first)
    if found["day"]:
        return TimeSpan(first, days=1)
    if found["month"]:
        return TimeSpan(first, months=1)
    return TimeSpan(first, months=12)


def _utc(moment: datetime, zone: tzinfo) -> datetime:
    # zoneinfo reads a time that summer time skips with the offset before the gap. So a midnight that did not exist
    # becomes the first instant of that day.
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    return moment.astimezone(UTC)


def _shift(moment: datetime, *, months: int = 0, days: int = 0) -> datetime:
    """The same time that many months and days later. A day that the month does not have becomes its last: one month
    before 31 March is the last day of February."""
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise OverflowError
    day = min(moment.day, calendar.monthrange(year, month + 1)[1])
    return moment.replace(year=year, month=month + 1, day=day) + timedelta(days=days)


def _short_repr(value: object) -> str:
    text = repr(value)
    if len(text) <= 60:
        return text
    return f"{text[:58]}…{text[-1]}"


def parse_date_words(text: str, *, moment: datetime, zone: str, end: bool = False, field: str = "date") -> str:
    """The stamp of a date in plain English, as said at `moment` in `zone`.

    | said                                    | since when (no `end`)     | until when (`end`)             |
    |-----------------------------------------|---------------------------|--------------------------------|
    | Friday, March, summer, 5 March, the 5th | the nearest in the past   | the nearest to come            |
    | … a day (also tomorrow, in 3 days)      | its first instant         | its last instant               |
    | … a week, month, season, quarter, year  | its first instant         | its first instant: up to March |
    | end of …, through …                     | the last instant of it    | the last instant of it         |
    | start of … · early, mid, late …         | the first instant of that | the first instant of that      |
    | ISO 8601, or 05.01.2027 (5 January)     | its first instant         | its first instant              |
    | for 2 years                             | two years ago             | in two years                   |
    | now · 3 hours ago · Friday at 15:00     | that instant              | that instant                   |

    `last` is the nearest that is over; `this` the one of the current week or year (as an end, if that is
    over, the one to come); `next` the nearest not begun, but for weekdays the one of next week. Weeks start on
    Monday, spring on 1 March, winter on 1 December; mid March is the 15th, late March the 21st.
    Leading words such as since, from, until, by and as of are passed over: `end` decides.
    """
    where = zone_named(zone)
    if moment.utcoffset() is None:
        raise Invalid("A time needs a time zone, as in datetime.now(UTC).", field="moment")
    try:
        edge = _nearest(text, DateAnchor(moment.astimezone(UTC), where, end))
    except OverflowError:  # beyond the years 0001 to 9999
        edge = None
    if edge is None:
        if end:
            examples = "Friday, in 3 days, end of March"
        else:
            examples = "yesterday, last Friday, 2 weeks ago"
        words = f"is not a date I can read. Try 2026-03-05, March 2026, or words like {examples}."
        raise Invalid(f"{field}: {_short_repr(text)} {words}", field=field)
    return stamp(edge)


def read_moment(said: Moment, *, field: str, moment: datetime, zone: str) -> str | None:
    """The stamp of what a caller hands in as `since` or `until`: a datetime, a date, ISO 8601 or plain words, as said
    at `moment` in `zone`. None and an empty text stay None."""
    if not isinstance(said, str):
        return instant(said, field=field, zone=zone)
    if not said.strip():
        return None
    return parse_date_words(said, moment=moment, zone=zone, end=field == "until", field=field)


def _nearest(text: str, anchor: DateAnchor) -> datetime | None:
    """The instant that a phrase means: of all that it may mean, the nearest past one, or for an end the nearest to
    come. None if it is no date."""
    if len(text) > 100:
        return None
    phrase = " ".join(text.casefold().split()).rstrip(".")
    through = False
    lead = _LEAD.match(phrase)
    while lead is not None:
        through = through or lead[1] in ("through", "thru")
        phrase = phrase[lead.end() :]
        lead = _LEAD.match(phrase)
    iso = _iso(phrase)
    if iso:
        spans = [iso]
    else:
        spans = _spans(_normalise(phrase), anchor)
    if through:
        spans = [span._replace(to_last=True) for span in spans]
    elif iso:
        spans = [TimeSpan(iso.first)]  # meant exactly as written: not stretched to the end of its day
    edges = [span.edge(anchor.zone, anchor.end) for span in spans]
    if not edges:
        return None
    if anchor.end:
        return next((edge for edge in edges if edge > anchor.moment), edges[-1])
    return next((edge for edge in reversed(edges) if edge <= anchor.moment), edges[0])


_LEAD = regex(
    r"(since|ever since|from|starting|as of|as from|until|till|'?til|by|up to|to|through|thru"
    r"|on|back|about|around) "
)
_SAME = [  # what a phrase is rewritten to before the rules see it, in this order
    (regex(r"[’`]"), "'"),
    (regex(r"\."), ""),
    (regex(r"'s\b|\bthe\b|\bof\b|,|(?<!\d)[-_]|[-_](?!\d)"), " "),
    (regex(r"(\d)([a-z]{1,4})\b(?<!st)(?<!nd)(?<!rd)(?<!th)"), r"\1 \2"),  # 3pm, 2w
    (regex(r"\s+"), " "),
    (regex(r"\bhalf an? year\b"), "6 months"),
    (regex(r"\bhalf an hour\b"), "30 minutes"),
    (regex(r"\ba year and a half\b"), "18 months"),
    (regex(r"\b(?:a )?couple\b"), "2"),
    (regex(r"\b(?:a )?few\b"), "3"),
    (regex(r"\bthis (?:past|last)\b"), "last"),
    (regex(r"\bthis (?:coming|next)\b"), "coming"),
    (regex(r"\bnew years?\b"), "newyear"),
    (regex(r"\bchristmas day\b|\bxmas\b"), "christmas"),
]


def _normalise(phrase: str) -> str:
    for pattern, same in _SAME:
        phrase = pattern.sub(same, phrase)
    return phrase.strip()


def _spans(phrase: str, anchor: DateAnchor) -> list[TimeSpan]:
    """All spans that the phrase may mean, in order of time; none if no rule fits it."""
    iso = _iso(phrase)
    if iso is not None:
        return [iso]
    for pattern, read in _RULES:
        found = pattern.fullmatch(phrase)
        if found is not None:
            return read(found, anchor)
    return []


# The vocabulary. Months and weekdays are not taken from `calendar`, which follows the locale.
_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905
_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_SHORT = {name[:3]: name for name in [*_MONTHS, *_WEEKDAYS]} | {
    "sept": "september", "tues": "tuesday", "thur": "thursday", "thurs": "thursday",
}  # fmt: skip
_YEARLY = {name: (month, 1, 1, 0) for month, name in enumerate(_MONTHS, 1)} | {
    # first month, first day, length in months and in days; New Year is the turn itself, not a day
    "spring": (3, 1, 3, 0), "summer": (6, 1, 3, 0), "autumn": (9, 1, 3, 0), "fall": (9, 1, 3, 0),
    "winter": (12, 1, 3, 0), "q1": (1, 1, 3, 0), "q2": (4, 1, 3, 0), "q3": (7, 1, 3, 0), "q4": (10, 1, 3, 0),
    "newyear": (1, 1, 0, 0), "newyear day": (1, 1, 0, 1), "newyear eve": (12, 31, 0, 1),
    "christmas": (12, 25, 0, 1), "christmas eve": (12, 24, 0, 1),
}  # fmt: skip
_DAYS = {  # days from today, hour
    "today": (0, 0), "yesterday": (-1, 0), "tomorrow": (1, 0), "tonight": (0, 18), "last night": (-1, 18),
    "this morning": (0, 6), "this afternoon": (0, 12), "this evening": (0, 18),
    "day before yesterday": (-2, 0), "day after tomorrow": (2, 0),
}  # fmt: skip
_UNITS = {  # months, days, minutes
    "minute": (0, 0, 1), "min": (0, 0, 1), "hour": (0, 0, 60), "hr": (0, 0, 60), "h": (0, 0, 60),
    "day": (0, 1, 0), "d": (0, 1, 0), "week": (0, 7, 0), "wk": (0, 7, 0), "w": (0, 7, 0),
    "fortnight": (0, 14, 0), "month": (1, 0, 0), "mo": (1, 0, 0), "quarter": (3, 0, 0), "year": (12, 0, 0),
    "yr": (12, 0, 0), "y": (12, 0, 0), "decade": (120, 0, 0),
}  # fmt: skip
_COUNTS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30,
}  # fmt: skip
_WHICH = {
    "last": "last", "past": "last", "previous": "last", "this": "this", "current": "this",
    "next": "next", "following": "next", "coming": "coming", "upcoming": "coming",
}  # fmt: skip
_STEPS = {"last": -1, "this": 0, "next": 1, "coming": 1}
_PARTS = {  # how far in they begin: for a month in days; for a season or quarter, and for a year, in months
    1: {"early": 0, "mid": 14, "late": 20},
    3: {"early": 0, "mid": 1, "late": 2},
    12: {"early": 0, "mid": 6, "late": 9},
}


def _steps(said: str | None, otherwise: Iterable[int]) -> Iterable[int]:
    """How many weeks, months or years away "last", "this" or "next" means; `otherwise`, if none of them was said."""
    if said:
        return [_STEPS[_WHICH[said]]]
    return otherwise


def _day_from(anchor: DateAnchor, days: int, months: int = 0) -> TimeSpan:
    return TimeSpan(_shift(anchor.today, days=days, months=months), days=1)


def _at_edge(found: DateMatch, anchor: DateAnchor) -> list[TimeSpan]:
    spans = _spans(found["rest"], anchor)
    return [span._replace(to_last=True) if found["edge"] == "end" else TimeSpan(span.first) for span in spans]


def _part(found: DateMatch, anchor: DateAnchor) -> list[TimeSpan]:
    parts = []
    for span in _spans(found["rest"], anchor):
        if span.months in _PARTS:
            into = _PARTS[span.months][found["part"]]
            if span.months == 1:
                step = {"days": into}
            else:
                step = {"months": into}
            parts.append(TimeSpan(_shift(span.first, **step)))
    return parts


def _at_clock(found: DateMatch, anchor: DateAnchor) -> list[TimeSpan]:
    hour, minute, half = int(found["hour"] or 12), int(found["minute"] or 0), found["half"]
    if not (found["at"] or found["minute"] or half or found["noon"]):
        return []  # a bare number is no time of day
    if half:
        if hour > 12:
            hour = 24
        else:
            hour = hour % 12 + (12 if half == "pm" else 0)
    if hour > 23 or minute > 59:
        return []
    # An hour without a day may be of yesterday, today or tomorrow.
    if found["rest"]:
        days = _spans(found["rest"], anchor)
    else:
        days = [_day_from(anchor, n) for n in (-1, 0, 1)]
    return [TimeSpan(day.first.replace(hour=hour, minute=minute)) for day in days if day.is_day]


def _a_day(found: DateMatch, anchor: DateAnchor) -> list[TimeSpan]:
    days, hour = _DAYS[found[0]]
    day = _day_from(anchor, days)
    return [day._replace(first=day.first.replace(hour=hour))]


def _away(found: DateMatch, anchor: DateAnchor) -> list[TimeSpan]:
    """A number of units before or after now. If the phrase does not say which ("for 2 years"), an end lies ahead and a
    beginning lies back."""
    if found["count"].isdigit():
        count = int(found["count"])
    else:
        count = _COUNTS[found["count"]]
    way = found["way"] or found["tail"] or ("in" if anchor.end else "ago")
    if way in ("ago", "back", "earlier", "last", "past", "previous"):
        count = -count
    months, days, minutes = _UNITS[found["unit"]]
    if minutes:
        return [TimeSpan(anchor.moment + timedelta(minutes=count * minutes))]
    return [_day_from(anchor, count * days, count * months)]


def _a_unit(found: DateMatch, anchor: DateAnchor) -> list[TimeSpan]:
    months, days, minutes = _UNITS[found["unit"]]
    if minutes or days > 7 or months > 12:
        return []
    first = anchor.today
    if days == 7:
        first = _shift(first, days=-first.weekday())
    elif months:
        first = first.replace(day=1, month=first.month - (first.month - 1) % months)
    steps = _steps(found["which"], (-1, 0, 1))
    return [TimeSpan(_shift(first, months=n * months, days=n * days), months, days) for n in steps]


def _a_weekday(found: DateMatch, anchor: DateAnchor) -> list[TimeSpan]:
    name = found["weekday"]
    if name == "weekend":
        offset, length = 5, 2
    else:
        offset, length = _WEEKDAYS.index(_SHORT.get(name, name)), 1
    week = TimeSpan(_shift(anchor.today, days=-anchor.today.weekday()), days=7)
    steps = _steps(found["week"], range(-2, 3))
    spans = [TimeSpan(_shift(week.first, days=7 * n + offset), days=length) for n in steps]
    return _chosen(spans, found["which"], anchor, frame=week, next_from=week.after)


def _a_yearly(found: DateMatch, anchor: DateAnchor) -> list[TimeSpan]:
    name = found["name"]
    month, day, months, days = _YEARLY[_SHORT.get(name, name)]
    if "day" in found.groupdict():
        day, months, days = int(found["day"]), 0, 1
    now, said = anchor.local, (found["year"] or "").removesuffix(" year")
    if said.isdigit():
        years: Iterable[int] = [int(said)]
    else:
        years = [now.year + n for n in _steps(said, range(-8, 9))]  # leap days can be eight years apart
    spans = [
        TimeSpan(datetime.combine(date(year, month, day), time.min), months, days)
        for year in years
        if 1 <= year <= 9999 and 1 <= day <= calendar.monthrange(year, month)[1]
    ]
    frame = TimeSpan(anchor.today.replace(month=1, day=1), months=12)
    return _chosen(spans, found["which"], anchor, frame=frame, next_from=now)


def _a_monthly(found: DateMatch, anchor: DateAnchor) -> list[TimeSpan]:
    day = int(found["day"])
    months = [_shift(anchor.today.replace(day=1), months=n) for n in _steps(found["month"], range(-2, 3))]
    return [
        TimeSpan(first.replace(day=day), days=1)
        for first in months
        if 1 <= day <= calendar.monthrange(first.year, first.month)[1]
    ]


def _chosen(
    spans: Sequence[TimeSpan], said: str | None, anchor: DateAnchor, *, frame: TimeSpan, next_from: datetime
) -> list[TimeSpan]:
    """The spans that "last", "this" or "next" selects. `frame` is the current week or year, `next_from` the instant
    from which on "next" may begin."""
    now, which = anchor.local, _WHICH.get(said or "")
    if which == "last":
        return [span for span in spans if span.after <= now][-1:]
    if which in ("next", "coming"):
        if which == "next":
            start = next_from
        else:
            start = now
        return [span for span in spans if span.first > now and span.first >= start][:1]
    if which == "this":
        around = [span for span in spans if span.first <= now < span.after]
        this = around or [span for span in spans if frame.first <= span.first < frame.after]
        if anchor.end:
            later = [span for span in spans if span.first > now]
        else:
            later = []
        return [*this, *later]
    return list(spans)


def _alternatives(*names: Iterable[str]) -> str:
    return "|".join(sorted((name for group in names for name in group), key=len, reverse=True))


_SHORT_MONTHS = [short for short, name in _SHORT.items() if name in _MONTHS]
_CHOICES = {
    "COUNT": r"\d{1,4}|" + _alternatives(_COUNTS),
    "DATE": r"\d{1,2}",
    "DAYS": _alternatives(_DAYS),
    "MONTH": _alternatives(_MONTHS, _SHORT_MONTHS),
    "NTH": "st|nd|rd|th",
    "UNIT": _alternatives(_UNITS),
    "WEEKDAY": _alternatives(["weekend"], _WEEKDAYS, set(_SHORT) - set(_SHORT_MONTHS)),
    "WHICH": _alternatives(_WHICH),
    "YEAR": rf"\d{{4}}|(?:{_alternatives(_WHICH)}) year",
    "YEARLY": _alternatives(_YEARLY, _SHORT_MONTHS),
}


_CHOICE = regex("[A-Z]{3,}")


def _rule(phrase: str, read: DateReader) -> tuple[re.Pattern[str], DateReader]:
    return regex(_CHOICE.sub(lambda name: f"(?:{_CHOICES[name[0]]})", phrase), re.ASCII, anchored=True), read


_RULES = [  # the first that fits the whole phrase reads it
    _rule(r"now|right now|just now", lambda _, anchor: [TimeSpan(anchor.moment)]),
    _rule(r"DAYS", _a_day),
    _rule(r"(?P<edge>start|beginning|end) (?P<rest>.+)", _at_edge),
    _rule(r"(?P<part>early|mid|late) (?P<rest>.+)", _part),
    _rule(r"(?:for |over |within )?(?:(?P<way>in|last|past|previous|next|coming) )?(?P<count>COUNT) "
          r"(?P<unit>UNIT)s?(?: (?P<tail>ago|back|earlier|from now|from today|later))?", _away),
    _rule(r"(?:(?P<which>WHICH) )?(?P<unit>UNIT)", _a_unit),
    _rule(r"(?:(?P<which>WHICH) )?(?P<weekday>WEEKDAY)(?: (?P<week>WHICH) week)?", _a_weekday),
    _rule(r"(?:(?P<which>WHICH) )?(?P<name>YEARLY)(?: (?P<year>YEAR))?", _a_yearly),
    _rule(r"(?P<which>)(?P<day>DATE)(?:NTH)? (?P<name>MONTH)(?: (?P<year>YEAR))?", _a_yearly),
    _rule(r"(?P<which>)(?P<name>MONTH) (?P<day>DATE)(?:NTH)?(?: (?P<year>YEAR))?", _a_yearly),
    _rule(r"(?P<day>DATE)NTH(?: (?P<month>WHICH) month)?", _a_monthly),
    _rule(r"(?P<rest>.*?) ?\b(?:(?P<at>at) )?(?:(?P<noon>noon)|(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?"
          r"(?: (?P<half>[ap]m))?)", _at_clock),
    _rule(r"in (?P<rest>.+)", lambda found, anchor: _spans(found["rest"], anchor)),
]  # fmt: skip
