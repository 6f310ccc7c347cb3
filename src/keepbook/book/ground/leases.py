"""Leases: for work that only one worker should do at a time, across processes and machines.

A lease is taken for a while and renewed by its holder before it ends. If the holder died, the lease is free when its
time is up. Nothing relies on a lease for correctness: work done twice must be harmless, a lease only avoids it. A lease
that nobody holds can be left for somebody who uses it up.
"""

from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, insert, select, update

from keepbook.book.ground.when import stamp
from keepbook.errors import Invalid
from keepbook.storage.database import Database
from keepbook.storage.tables.upkeep import leases

DAY = 86_400.0  # seconds


# Rules


def has_lapsed(until: str, now: datetime, seconds: float) -> bool:
    """Whether a lease that is taken for so many seconds is free. One that lasts longer than any is ever taken comes
    from a clock that ran ahead."""
    return until <= stamp(now) or until > _too_long(now, seconds)


def _too_long(now: datetime, seconds: float) -> str:
    return stamp(now + timedelta(seconds=10 * seconds + DAY))


# Operations


def take(database: Database, name: str, holder: str, seconds: float) -> bool:
    """Take or renew a lease; False if somebody else has it."""
    now = database.clock()
    until = stamp(now + timedelta(seconds=seconds))
    over = (leases.c.until <= stamp(now)) | (leases.c.until > _too_long(now, seconds))
    mine_or_over = (leases.c.holder == holder) | over
    try:
        with database.unscoped(writes=True) as conn:
            mine = update(leases).where(leases.c.name == name, mine_or_over).values(holder=holder, until=until)
            if conn.execute(mine).rowcount:
                return True
            if conn.execute(select(leases.c.name).where(leases.c.name == name)).first() is not None:
                return False  # somebody else's; an insert that fails would stand in the log of a server
            conn.execute(insert(leases), {"name": name, "holder": holder, "until": until})
        return True
    except Invalid:  # somebody else has just taken it
        return False


def leave(database: Database, name: str, until: str) -> None:
    """Store a lease that nobody holds, for the next caller of `use_up`."""
    with database.unscoped(writes=True) as conn:
        conn.execute(delete(leases).where(leases.c.name == name))
        conn.execute(insert(leases), {"name": name, "holder": "", "until": until})


def give_back(database: Database, name: str) -> None:
    """Give a lease back, whoever holds it."""
    with database.unscoped(writes=True) as conn:
        conn.execute(delete(leases).where(leases.c.name == name))


def use_up(conn: Connection, name: str, now: str) -> bool:
    """Remove a lease that `leave` stored and that is not over; False if there is none."""
    left = delete(leases).where(leases.c.name == name, leases.c.holder == "", leases.c.until > now)
    return conn.execute(left).rowcount > 0
