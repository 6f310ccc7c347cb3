"""The schedule of an agent: five fields of cron, in the owner's zone.

A library reads the fields; this module decides what happens when clocks change. A time that does not exist that night
is moved forward to the next one that does. At a time that exists twice the agent runs once, unless the schedule says
every hour.
"""

from datetime import UTC, datetime, timedelta

from croniter import CroniterError, croniter

from keepbook.book.ground.when import zone_named
from keepbook.errors import Invalid
from keepbook.patterns import regex

FIELDS = 5  # of a cron schedule
LONGEST = 100  # characters of a schedule
_CHANCE = regex(r"(?i)(?<![a-z])[hr](?![a-z])")
"""The library's `H` and `R`, which choose a time at random; we refuse them."""


def check_schedule(schedule: str) -> str:
    """The schedule with single blanks, as it is stored. Raises `Invalid` if it is none."""
    text = " ".join(schedule.split())
    if len(text) > LONGEST or len(text.split()) != FIELDS or _CHANCE.search(text):
        raise _invalid(schedule, "it has five fields: minute, hour, day, month, weekday")
    try:
        croniter(text, datetime(2026, 1, 1, tzinfo=UTC), ret_type=datetime).get_next()
    except (CroniterError, ValueError, KeyError) as error:
        if "failed to find" in str(error):
            why = "it never comes"
        else:
            why = str(error).partition("] ")[2] or str(error)
        raise _invalid(schedule, why) from None
    return text


def following(schedule: str, after: datetime, zone: str) -> datetime:
    """The next time of the schedule after an instant, in UTC."""
    times = croniter(check_schedule(schedule), after.astimezone(zone_named(zone)), ret_type=datetime)
    every_hour = schedule.split()[1].startswith("*")
    found: datetime = times.get_next()
    while not every_hour and _is_second_time(found):
        found = times.get_next()
    return found.astimezone(UTC)


def _is_second_time(moment: datetime) -> bool:
    """Whether the clock shows this time for the second time that night."""
    return moment.astimezone(UTC).astimezone(moment.tzinfo).fold == 1


def _invalid(schedule: str, why: str) -> Invalid:
    return Invalid(
        f"schedule {schedule[:60]!r}: {why}; weekdays at half past seven are '30 7 * * 1-5'", field="schedule"
    )


def span_in_words(span: timedelta) -> str:
    """`31d 2h`, `2h 15m`, `4m`, `now`: the two largest parts."""
    minutes = max(0, int(span.total_seconds() // 60))
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = []
    if days:
        parts.append(f"{days}d")
    if hours:
        parts.append(f"{hours}h")
    if minutes:
        parts.append(f"{minutes}m")
    return " ".join(parts[:2]) or "now"
