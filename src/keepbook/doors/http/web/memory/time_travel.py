"""`/time`: the book as it was known at one instant about another, compared with now.

The address names both instants; a form, the slider and the arrows only lead to other addresses. The slider counts
minutes from the first day of the book, so it works as a plain form too.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response

from keepbook.book.ground.open_book import viewing
from keepbook.book.ground.when import in_zone, instant, parse_stamp, stamp
from keepbook.book.ledger.ledger import Entry
from keepbook.book.memory.history.traces import book_signs, book_state, chats_named, instants
from keepbook.book.memory.listing import overview
from keepbook.doors.http.web.frame.charts import Axis, strip
from keepbook.doors.http.web.frame.visit import Visit, Visiting
from keepbook.doors.http.web.memory.block_comparison import compare
from keepbook.doors.http.web.memory.looking_back import Meant, differences, read_when, when_chips
from keepbook.doors.http.web.memory.memory_page import EntryRow, entry_row
from keepbook.errors import Invalid

router: APIRouter = APIRouter(include_in_schema=False)

PATH = "/time"
ENTRIES = 40


@dataclass(frozen=True, slots=True)
class Instants:
    """The instants on the two clocks. With `together`, moving one moves the other."""

    known: datetime
    valid: datetime
    together: bool = True

    def address(self) -> str:
        told = {"known": stamp(self.known), "valid": stamp(self.valid)}
        return f"{PATH}?{urlencode(told if self.together else told | {'apart': '1'})}"

    def move_to(self, to: datetime) -> "Instants":
        if self.together:
            return Instants(to, to, self.together)
        return Instants(to, self.valid, self.together)


@dataclass(frozen=True, slots=True)
class TimeSteps:
    """The addresses of the arrows: an entry or a day back and forth; None at either end."""

    entry_back: str | None
    entry_on: str | None
    day_back: str | None
    day_on: str | None


@router.get(PATH)
def travel(visit: Visiting) -> Response:
    with viewing(visit.book):
        return _time_page(visit)


def _time_page(visit: Visit) -> Response:
    now = visit.now
    written = instants(visit.book)
    if not written:
        return visit.page("time_empty.html")
    axis = _axis(written[0], now, visit.zone)
    query, meant = visit.request.query_params, None
    try:
        meant = read_when(visit, query)
        if meant:
            chosen = Instants(meant.at, meant.at)
        else:
            chosen = read_instants(query, axis, visit.zone, now)
    except Invalid as error:
        return _show(visit, Instants(now, now), written, axis, 422, error)
    if "minute" in query and chosen.known < now:
        return RedirectResponse(chosen.address(), 303)
    return _show(visit, chosen, written, axis, meant=meant)


def _show(
    visit: Visit,
    chosen: Instants,
    written: Sequence[str],
    axis: Axis,
    status: int = 200,
    error: Invalid | None = None,
    meant: Meant | None = None,
) -> Response:
    book, now = visit.book, axis.last
    query = visit.request.query_params
    about = query.get("q", "").strip()[:200]
    at_present = chosen.known == chosen.valid == now
    today = book_signs(book)
    if at_present:
        then = today
    else:
        then = book_signs(book, stamp(chosen.known), stamp(chosen.valid))
    exactly = meant is None or meant.when == "now" or "precisely" in query
    return visit.page(
        "time.html",
        status,
        chosen=chosen,
        at_present=at_present,
        error=error,
        meant=meant,
        whens=when_chips(visit, meant, query),
        begun=in_zone(parse_stamp(written[0]), visit.zone),
        found=differences(visit, then, today, chosen.known, about),
        had=len(then),
        has=len(today),
        over=len(overview(book).kept) - len(today),
        about=about,
        exactly=exactly,
        precisely_at=f"/time?{urlencode([*query.items(), ('precisely', '1')])}#precisely",
        **(_precisely(visit, chosen, written, axis, at_present) if exactly else {}),
    )


def _precisely(visit: Visit, chosen: Instants, written: Sequence[str], axis: Axis, at_present: bool) -> dict[str, Any]:
    """The content of the section Precisely: both clocks, the block then and now, and the entries in between."""
    book, now, zone = visit.book, axis.last, visit.zone
    known = stamp(chosen.known)
    event = bisect_right(written, known)
    today = book_state(book)
    if at_present:
        then = today
    else:
        then = book_state(book, known, stamp(chosen.valid))
    later = book.ledger(after=event, limit=ENTRIES)
    days = per_day(written, zone)
    return {
        "event": event,
        "strip": strip(days, axis, zone, chosen.known),
        "busiest": days.most_common(1)[0],
        "minutes": (_minute(axis.last, axis), min(_minute(chosen.known, axis), _minute(axis.last, axis))),
        "local": {"known": _local(chosen.known, zone), "valid": _local(chosen.valid, zone)},
        "steps": steps(chosen, written, event, now, zone),
        "then": then,
        "today": today,
        "comparison": compare(then.rendered, today.rendered),
        "entries": by_day([entry_row(entry) for entry in later], zone),
        "later": len(written) - event,
        "chats": chats_named(book, [entry.thread_id for entry in later if entry.thread_id]),
        "story": story,
    }


# Reading the address


def read_instants(query: Mapping[str, str], axis: Axis, zone: ZoneInfo, now: datetime) -> Instants:
    """Both instants; if only one is given, it sets both. Local times of a form have no zone and are in the owner's. The
    valid instant may be in the future, but the known one may not."""
    minute = query.get("minute", "")
    if minute:
        if not (minute.isascii() and minute.isdecimal() and len(minute) < 10):
            raise Invalid("choose an instant on the strip", field="minute")
        at = min(axis.first + timedelta(minutes=int(minute)), now)
        return Instants(at, at)
    known, valid = _moment(query, "known", zone), _moment(query, "valid", zone)
    apart = query.get("apart") == "1" or (known is not None and valid is not None and known != valid)
    if query.get("together") == "1":
        # From the form: the one that was changed sets both.
        was = _moment(query, "was", zone)
        changed = valid if was is not None and known == was else known
        chosen = changed or now
        return Instants(min(chosen, now), chosen)
    return Instants(min(known or valid or now, now), valid or known or now, not apart)


def _moment(query: Mapping[str, str], name: str, zone: ZoneInfo) -> datetime | None:
    text = query.get(name, "").strip()[:40]
    found = None
    if text:
        found = instant(text, field=name, zone=zone.key)
    if found:
        return parse_stamp(found)
    return None


# The axis and the strip


def _axis(first: str, now: datetime, zone: ZoneInfo) -> Axis:
    """An axis from the beginning of the book's first day until now."""
    day = in_zone(parse_stamp(first), zone).date()
    return Axis(datetime.combine(day, time.min, zone).astimezone(UTC), now)


def per_day(written: Sequence[str], zone: ZoneInfo) -> Counter[date]:
    """The number of entries per day, in the owner's zone. They are counted by minutes first, so that fewer times have
    to be converted."""
    days: Counter[date] = Counter()
    for minute, count in Counter(at[:16] for at in written).items():
        days[datetime.fromisoformat(f"{minute}:00+00:00").astimezone(zone).date()] += count
    return days


def _minute(moment: datetime, axis: Axis) -> int:
    return max(int((moment - axis.first).total_seconds() // 60), 0)


def _local(moment: datetime, zone: ZoneInfo) -> str:
    """The instant in the form of a `datetime-local` field, to the minute or the second. It is rounded up, so that the
    same value sent back still includes the entry of that instant."""
    there = in_zone(moment, zone).replace(tzinfo=None)
    if there.microsecond:
        there = there.replace(microsecond=0) + timedelta(seconds=1)
    if there.second:
        return there.isoformat(timespec="seconds")
    return there.isoformat(timespec="minutes")


def steps(chosen: Instants, written: Sequence[str], event: int, now: datetime, zone: ZoneInfo) -> TimeSteps:
    """The arrows: to the entry before the last known one, to the next one, and to the same time a day before or
    after."""
    back = None
    if event > 1:
        back = parse_stamp(written[event - 2])
    forth = None
    if event < len(written):
        forth = parse_stamp(written[event])
    first = parse_stamp(written[0])
    local = in_zone(chosen.known, zone)
    day_back = None
    if chosen.known > first:
        day_back = max((local - timedelta(days=1)).astimezone(UTC), first)
    day_on = None
    if chosen.known < now:
        day_on = min((local + timedelta(days=1)).astimezone(UTC), now)

    def to(moment: datetime | None) -> str | None:
        if moment is None:
            return None
        return chosen.move_to(moment).address()

    return TimeSteps(to(back), to(forth), to(day_back), to(day_on))


# Then and now


@dataclass(frozen=True, slots=True)
class EntryDay:
    day: datetime
    rows: list[EntryRow]


def by_day(rows: Sequence[EntryRow], zone: ZoneInfo) -> list[EntryDay]:
    days: list[EntryDay] = []
    for row in rows:
        at = in_zone(row.entry.at, zone)
        if not days or days[-1].day.date() != at.date():
            days.append(EntryDay(at, []))
        days[-1].rows.append(row)
    return days


def story(entry: Entry) -> tuple[str | None, str | None]:
    """The text of a memory, or the owner's settings, before and after an entry."""

    def words(state: dict[str, object] | None) -> str | None:
        if entry.memory_id is None and state:
            return ", ".join(f"{name} {value or 'not set'}" for name, value in state.items())
        content = None
        if state:
            content = state.get("content")
        if isinstance(content, str):
            return content
        return None

    return words(entry.before), words(entry.after)
