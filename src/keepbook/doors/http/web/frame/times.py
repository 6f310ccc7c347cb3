"""Times as a person reads them: in their zone, to the second behind it, and exact for programs.

`{{ memory.created_at | time("near") }}` writes a `<time>` element. The styles: `time` 09:16 · `day` 2 Nov (with the
year where it is another) · `date` 2 Nov 2026 · `moment` 2 Nov, 20:12 · `near` today, 09:16 · `lately` yesterday ·
`full` Saturday, 3 October 2026, 18:00 · `utc` 2026-11-02 19:12:00 UTC.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from keepbook.book.ground.when import in_zone, parse_stamp


def utc(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _day(then: datetime, now: datetime) -> str:
    if then.year == now.year:
        return f"{then.day} {then:%b}"
    return _date(then, now)


def _date(then: datetime, _: datetime) -> str:
    return f"{then.day} {then:%b %Y}"


def _moment(then: datetime, now: datetime) -> str:
    return f"{_day(then, now)}, {then:%H:%M}"


def _near(then: datetime, now: datetime) -> str:
    ago = (now.date() - then.date()).days
    if 0 <= ago <= 1:
        return f"{('today', 'yesterday')[ago]}, {then:%H:%M}"
    return _moment(then, now)


def _lately(then: datetime, now: datetime) -> str:
    ago = (now.date() - then.date()).days
    if 0 <= ago <= 1:
        return ("today", "yesterday")[ago]
    return _day(then, now)


_STYLES: dict[str, Callable[[datetime, datetime], str]] = {
    "time": lambda then, _: f"{then:%H:%M}",
    "day": _day,
    "date": _date,
    "moment": _moment,
    "near": _near,
    "lately": _lately,
    "full": lambda then, _: f"{then:%A}, {then.day} {then:%B %Y}, {then:%H:%M}",
    "utc": lambda then, _: utc(then),
}


def moment_in_words(moment: datetime, style: str, zone: Any, now: datetime) -> str:
    """A moment in words, without markup."""
    return _STYLES[style](in_zone(moment, zone), now.astimezone(zone))


def form_day(moment: datetime, zone: ZoneInfo) -> str:
    """The day as a form has it: 2026-11-05."""
    return str(in_zone(moment, zone).date())


@pass_context
def time(context: Context, moment: datetime | str, style: str = "moment") -> Markup:
    """The filter. A macro that uses it is imported `with context`, for the zone is the visitor's."""
    if isinstance(moment, str):
        then = parse_stamp(moment)
    else:
        then = moment
    words = moment_in_words(then, style, context["zone"], context["now"])
    exact = then.astimezone(UTC).isoformat("T", "seconds")[:19]
    here = in_zone(then, context["zone"]).isoformat(" ", "seconds")[:19]
    # Dates and month names hold nothing that would need escaping; a page has hundreds of them.
    return Markup(f'<time datetime="{exact}Z" title="{here}">{words}</time>')  # noqa: S704


@pass_context
def time_text(context: Context, moment: datetime, style: str = "moment") -> str:
    """The same without the element, for a label."""
    return moment_in_words(moment, style, context["zone"], context["now"])
