"""When an agent runs by itself: five fields of cron, read in the zone where its owner lives.

The fields are a well-kept library's; ours is what happens when clocks change. A time that does not exist that night is
moved forward to the next that does; one that exists twice is run once, unless the schedule names every hour.
"""

from datetime import UTC, datetime, timedelta

from croniter import CroniterError, croniter

from keepbook.book.ground.when import zone_named
from keepbook.errors import Invalid
from keepbook.patterns import regex

FIELDS = 5
LONGEST = 100
_CHANCE = regex(r"(?i)(?<![a-z])[hr](?![a-z])")
"""The library's extras that throw dice: a schedule is to say when."""


def check_schedule(schedule: str) -> str:
    """The schedule as it is kept; `Invalid` says what is wrong with it."""
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
    """The next time after this one, in UTC."""
    times = croniter(check_schedule(schedule), after.astimezone(zone_named(zone)), ret_type=datetime)
    every_hour = schedule.split()[1].startswith("*")
    found: datetime = times.get_next()
    while not every_hour and _again(found):
        found = times.get_next()
    return found.astimezone(UTC)


def _again(moment: datetime) -> bool:
    """Whether the clock has shown this once already that night."""
    return moment.astimezone(UTC).astimezone(moment.tzinfo).fold == 1


def _invalid(schedule: str, why: str) -> Invalid:
    return Invalid(
        f"schedule {schedule[:60]!r}: {why}; weekdays at half past seven are '30 7 * * 1-5'", field="schedule"
    )


def span_in_words(span: timedelta) -> str:
    """`31d 2h`, `2h 15m`, `4m`, `now`: the two largest parts."""
    minutes = max(0, int(span.total_seconds() // 60))
    days, hours, minutes = minutes // 1440, minutes // 60 % 24, minutes % 60
    if days:
        parts = [f"{days}d"]
    else:
        parts = []
    if hours:
        parts += [f"{hours}h"]
    if minutes:
        parts += [f"{minutes}m"]
    return " ".join(parts[:2]) or "now"
