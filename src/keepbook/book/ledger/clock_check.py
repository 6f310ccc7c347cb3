"""Refuses to write by a clock that cannot be right: one entry from 2099 would move every later entry there.

An instant may be at most 400 days after the book's last link. The machine's own clock is also compared with the day of
the build and with the database server's clock. Reading is never refused. The operator can let one refused write
through. If the end of a book already lies in the future, writes go on, with a notice.
"""

import hashlib
from datetime import datetime, timedelta

from keepbook.book.ground import leases, system_clock
from keepbook.book.ground.one_line_log import get_logger
from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.errors import Conflict
from keepbook.storage.database import Database, Tx

LONGEST_REST = timedelta(days=400)
FROM_SERVER = timedelta(hours=1)
AHEAD = timedelta(minutes=1)
"""How far a link may lie in the future without a notice; clocks of several machines differ by less."""
ACCEPTED_FOR = timedelta(days=1)
"""How long the operator's permission lasts, by the clock that it is for."""
LAST_YEAR = "9999"
"""The last year of the calendar: no entry could follow one at its end."""

_log = get_logger("keepbook")


# Rules


def clock_fault(now: datetime, last: str, server: datetime | None, *, is_machines: bool) -> str | None:
    """Why this instant cannot be right; None if it can. `last` is the instant of the book's last link."""
    if last:
        rest = now - parse_stamp(last)
    else:
        rest = timedelta()
    built = None
    if is_machines:
        built = system_clock.build_day()
    if rest > LONGEST_REST:
        fault = f"{rest.days:,} days after the book's last entry on {last[:10]}"
    elif built is not None and now.date() < built:
        fault = f"and this program was built on {built}"
    elif is_machines and server is not None and abs(now - server) > FROM_SERVER:
        fault = f"and that of the database server {_minute(stamp(server))}"
    else:
        return None
    return f"the clock says {_minute(stamp(now))}, {fault}"


def future_notice(now: datetime, last: str) -> str | None:
    """The notice for a book whose last link lies in the future; None if it does not."""
    if not last or parse_stamp(last) - now <= AHEAD:
        return None
    return (
        f"the book's last entry lies in the future, on {_minute(last)}: whatever is written now gets an instant "
        "after it; check the clock, and compare with a backup"
    )


def _minute(at: str) -> str:
    return f"{at[:16].replace('T', ' ')} UTC"


# Operations


def check_clock(tx: Tx, now: datetime, last: str, server: datetime | None) -> None:
    """Refuse a write at an instant that cannot be right, unless the operator has let it through."""
    refuse_last_year(now, last)
    fault = clock_fault(now, last, server, is_machines=tx.clock is system_clock.utc_now)
    if fault is not None and not leases.use_up(tx.conn, _lease_name(tx.owner), stamp(now)):
        raise Conflict(
            f"nothing was written: {fault}; set the clock right, or let one write through with "
            "`keepbook db accept-clock`",
            code="clock",
        )
    tx.notice = future_notice(now, last)
    if tx.notice is not None:
        _log.warning(tx.notice)


def refuse_last_year(now: datetime, last: str) -> None:
    """Refuse a write in the last year of the calendar; the operator cannot let it through."""
    if max(stamp(now), last) >= LAST_YEAR:
        raise Conflict("the clock, or the book's last entry, is in the year 9999: nothing could follow", code="clock")


def accept_clock(database: Database, owner: str, now: datetime) -> None:
    """Let one write through that would be refused because of its clock."""
    leases.leave(database, _lease_name(owner), stamp(now + ACCEPTED_FOR))


def _lease_name(owner: str) -> str:
    """The name of the permission's lease. It has a hash of the owner's name: an erasure leaves that name nowhere."""
    return f"clock {hashlib.sha256(owner.encode()).hexdigest()[:32]}"
