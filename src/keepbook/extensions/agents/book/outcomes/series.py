"""The series of a decision: the score in which it counts.

A decision is witnessed if its card was recorded when it was made, before its result could be known, and if somebody
else than its maker said how it came out. All others are stored and shown, and count in scores of their own. Each
decision is in exactly one series, which follows from its row alone.
"""

from datetime import timedelta
from typing import Any

from keepbook.book.ground.when import parse_stamp
from keepbook.errors import Invalid

WITNESSED = "witnessed"
RECORDED_LATER = "recorded_later"
"""Recorded more than ten minutes after it was made, but before its result could be known."""
SELF_GRADED = "self_graded"
"""The forecaster, or an agent that may be the forecaster, said how it came out."""
BROUGHT_IN = "brought_in"
"""Recorded when its result could be known already."""
SERIES = (WITNESSED, RECORDED_LATER, SELF_GRADED, BROUGHT_IN)

GRACE = timedelta(minutes=10)
"""How long after it was made a decision may be recorded without counting as recorded later."""

BARS, PERSON, AGENT, RESOLVER = "bars", "person", "agent", "resolver"
"""Who said how it came out. A resolver has a token that may resolve and not record; any other agent may be the
forecaster."""
CLOSERS = (BARS, PERSON, AGENT, RESOLVER)


def counted_from(row: Any) -> str:
    """The instant from which a decision is followed and scored: when it was recorded; for our own runs, when they
    ended."""
    recorded: str = row.recorded_at or row.decided_at
    made: str = row.decided_at
    return max(recorded, made)


def is_recorded_later(made_at: str, recorded_at: str | None) -> bool:
    """Whether a card was recorded long after it was made. Our own runs have no `recorded_at`."""
    return recorded_at is not None and parse_stamp(recorded_at) - parse_stamp(made_at) > GRACE


def is_late(row: Any) -> bool:
    """Whether a decision was recorded when its result could be known: after it was closed, or after its date."""
    if row.recorded_at is None:
        return False
    return any(known is not None and known <= row.recorded_at for known in (row.closed_at, row.expires))


def series_of(row: Any) -> str:
    """The series in which a decision counts, as things are now."""
    if is_late(row):
        return BROUGHT_IN
    if row.closed_by == AGENT:
        return SELF_GRADED
    if is_recorded_later(row.decided_at, row.recorded_at):
        return RECORDED_LATER
    return WITNESSED


def clean_series(name: object) -> str:
    if name not in SERIES:
        raise Invalid(f"series is one of {', '.join(SERIES)}, not {str(name)[:40]!r}", field="series")
    return str(name)
