"""A book that is restored or erased in short pieces, between which others write: in a file all writers wait for one.

From the first piece to the last a lease hides the book (`storage/transactions/hidden.py`): for whoever asks, all of it
is done at once. Who does it says so with each piece. Once nobody has for `HIDDEN_FOR`, a sweep does what is to be done:
`bring_back_left` of a restore, `erase_left` of an erasure.
"""

import json
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from keepbook.book.ground.in_pieces import PIECE_SECONDS, Gaps, Stopping, nobody_stops
from keepbook.book.ground.leases import has_lapsed
from keepbook.book.ground.when import stamp
from keepbook.book.ledger.cover import forget_touched
from keepbook.errors import Conflict
from keepbook.storage.database import Database, Tx
from keepbook.storage.extension_rows import Step
from keepbook.storage.tables.upkeep import leases
from keepbook.storage.transactions.hidden import HIDDEN, lease_of

HIDDEN_FOR = timedelta(seconds=60)
"""How long a book stays hidden after a piece, if no other follows."""

# Operations


class HiddenBook:
    """A book that this process hides."""

    def __init__(self, database: Database, owner: str, why: str) -> None:
        self._database, self._owner, self._why = database, owner, why
        self._token = secrets.token_hex(8)

    def hide(self, tx: Tx, before: Sequence[str] = ()) -> None:
        """Hide the book from the end of this transaction on, also if somebody did who was ended. `before` is what
        whoever goes on with it needs."""
        show(tx)
        row = {
            "name": lease_of(self._owner), "holder": json.dumps([self._token, self._why, *before]), "until": _until(tx),
        }  # fmt: skip
        tx.conn.execute(insert(leases), row)

    def write(self, steps: Iterator[Step], told: Stopping = nobody_stops) -> None:
        """Take all steps, as many in a transaction as take no longer than a piece."""
        gaps, step = Gaps(told), next(steps, None)
        while step is not None:
            gaps.wait()
            until = time.perf_counter() + PIECE_SECONDS
            with self._database.write(self._owner, hidden=True) as tx:
                self._stay_hidden(tx)
                while step is not None:
                    step(tx)
                    step = next(steps, None)
                    if time.perf_counter() > until:
                        break
                forget_touched(tx)  # a file brings its own seals, and what is erased needs none
            gaps.freed()

    def end(self, last: Callable[[Tx], Any]) -> Any:
        """Do what is left in one transaction, after which the book is seen."""
        with self._database.write(self._owner, hidden=True) as tx:
            self._stay_hidden(tx)
            done = last(tx)
            show(tx)
            return done

    def hides(self, tx: Tx) -> bool:
        """Whether it is still this process that hides the book."""
        return holder_of(tx)[:1] == [self._token]

    def _stay_hidden(self, tx: Tx) -> None:
        if not self.hides(tx):
            raise Conflict("this took too long between two pieces, and another has gone on with it", code="busy")
        mine = leases.c.name == lease_of(tx.owner)
        tx.conn.execute(update(leases).where(mine).values(until=_until(tx)))


def show(tx: Tx) -> None:
    """Hide the book no more."""
    tx.conn.execute(delete(leases).where(leases.c.name == lease_of(tx.owner)))


def _until(tx: Tx) -> str:
    return stamp(tx.clock() + HIDDEN_FOR)


# Queries


def holder_of(tx: Tx) -> list[str]:
    """Who hides the book, why, and what was kept for that; nothing if nobody does."""
    held = tx.conn.execute(select(leases.c.holder).where(leases.c.name == lease_of(tx.owner))).scalar()
    return list(json.loads(held or "[]"))


def is_left(tx: Tx, why: str) -> bool:
    """Whether somebody hid the book for this, and was ended before that was done."""
    query = select(leases.c.until).where(leases.c.name == lease_of(tx.owner))
    until = tx.conn.execute(query).scalar()
    return until is not None and has_lapsed(until, tx.clock(), HIDDEN_FOR.total_seconds()) and holder_of(tx)[1] == why


def hidden_owners(conn: Connection) -> list[str]:
    """The owners whose books are hidden."""
    found = conn.execute(select(leases.c.name).where(leases.c.name.startswith(HIDDEN))).scalars()
    return [name.removeprefix(HIDDEN) for name in found]
