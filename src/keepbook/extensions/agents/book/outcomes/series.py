"""In which score a decision counts.

A book vouches for what it has seen: a card that was written down when it was made, before its end could be known, and
whose end was told by somebody else than whoever made it. Everything else is kept and shown, and has a score of its
own. Each decision stands in exactly one of these series; which one follows from its row alone.
"""

from datetime import timedelta
from typing import Any

from keepbook.book.ground.when import parse_stamp
from keepbook.errors import Invalid

WITNESSED = "witnessed"
RECORDED_LATER = "recorded_later"
"""Written down more than ten minutes after it was made: it was seen before its end, not at its beginning."""
SELF_GRADED = "self_graded"
"""The forecaster itself, or an agent that may be the forecaster, said how it came out."""
BROUGHT_IN = "brought_in"
"""Written down when its end could be known: there is nobody's word but its own."""
SERIES = (WITNESSED, RECORDED_LATER, SELF_GRADED, BROUGHT_IN)

GRACE = timedelta(minutes=10)

BARS, PERSON, AGENT, RESOLVER = "bars", "person", "agent", "resolver"
"""Who told the end. A resolver has a token that may resolve and not record; any other agent may be the forecaster."""
CLOSERS = (BARS, PERSON, AGENT, RESOLVER)


def counted_from(row: Any) -> str:
    """From when on a decision is followed and scored: when it was recorded; a run of ours is when it ends."""
    recorded: str = row.recorded_at or row.decided_at
    made: str = row.decided_at
    return max(recorded, made)


def is_recorded_later(made_at: str, recorded_at: str | None) -> bool:
    """Whether a card came in long after it was made. A run of ours takes its time and is written down at its end."""
    return recorded_at is not None and parse_stamp(recorded_at) - parse_stamp(made_at) > GRACE


def is_late(row: Any) -> bool:
    """Whether a decision was recorded when its end could be known: after what closed it, or after its date."""
    if row.recorded_at is None:
        return False
    return any(known is not None and known <= row.recorded_at for known in (row.closed_at, row.expires))


def series_of(row: Any) -> str:
    """The one series that a decision counts in, as far as it has come."""
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
