"""A large restore into a file, in which all writers wait for one: in short pieces, between which others write.

It was proved before, in memory. From the first piece to the last a lease hides the book: to whoever asks, it is being
restored. So a book is restored as a whole or not at all. If a piece fails, the book is what it was before; if the
process is ended, a sweep or the next restore makes it that, once the lease is over. What the book was before is small,
its settings alone, and is kept in the lease.
"""

import json
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from keepbook.book.ground.in_pieces import PIECE_SECONDS, Gaps
from keepbook.book.ground.when import stamp
from keepbook.book.ledger.cover import cover, forget_touched
from keepbook.book.upkeep.export_lines import of_ours, read_lines, sorted_by_kind
from keepbook.book.upkeep.restoring.replay import replay_steps
from keepbook.errors import Conflict
from keepbook.storage.database import Database, Tx
from keepbook.storage.extension_rows import Step
from keepbook.storage.tables import WHOLE_BOOK
from keepbook.storage.tables.cover import touched
from keepbook.storage.tables.memory import erasures
from keepbook.storage.tables.upkeep import leases, tokens
from keepbook.storage.transactions.hidden import RESTORING, lease_of

HIDDEN_FOR = timedelta(seconds=60)
"""How long a book stays hidden after a piece, if no other follows."""


class HiddenBook:
    """A book while it is being restored by this process."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database, self._owner = database, owner
        self._token = secrets.token_hex(8)

    def hide(self, tx: Tx, before: Sequence[str]) -> None:
        """Hide the book from the end of this transaction on. `before` are its lines so far."""
        row = {"name": lease_of(self._owner), "holder": json.dumps([self._token, *before]), "until": _until(tx)}
        tx.conn.execute(insert(leases), row)

    def write(self, steps: Iterator[Step]) -> None:
        """Take all steps, as many in a transaction as take no longer than a piece."""
        gaps, step = Gaps(), next(steps, None)
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
                forget_touched(tx)  # the file brings its own seals
            gaps.freed()

    def show(self, end: Callable[[Tx], Any]) -> Any:
        """Do what is left in one transaction, after which the book is seen."""
        with self._database.write(self._owner, hidden=True) as tx:
            self._stay_hidden(tx)
            done = end(tx)
            _show(tx)
            return done

    def give_up(self) -> None:
        """Make the book what it was before."""
        with self._database.write(self._owner, hidden=True) as tx:
            if _holder(tx)[:1] == [self._token]:
                _bring_back(tx)

    def _stay_hidden(self, tx: Tx) -> None:
        if _holder(tx)[:1] != [self._token]:
            raise Conflict("this restore took too long between two pieces, and was given up; begin anew", code="busy")
        mine = leases.c.name == lease_of(tx.owner)
        tx.conn.execute(update(leases).where(mine).values(until=_until(tx)))


def empty_book(tx: Tx) -> None:
    """Take the settings and the chain, in whose place those of a file come."""
    tx.conn.execute(insert(erasures), {"owner": tx.owner, "memory_id": WHOLE_BOOK, "at": "", "event": 0})
    tx.head = None


def touch_tokens(tx: Tx) -> None:
    """Mark the tokens of this owner as changed. No export has them, so the book's chain has to seal them anew."""
    mine = tx.conn.execute(select(tokens.c.id).where(tokens.c.owner == tx.owner)).scalars().all()
    noted = [{"owner": tx.owner, "what": tokens.name, "key": id, "fresh": 0} for id in mine]
    if noted:
        tx.conn.execute(insert(touched), noted)


def take_steps(tx: Tx, steps: Iterator[Step]) -> None:
    """Take all steps in one transaction."""
    for step in steps:
        step(tx)
    tx.head = tx.own_preset = None


def bring_back_left(database: Database, owner: str) -> bool:
    """Make a book what it was before a restore whose process was ended; says whether there was one."""
    with database.write(owner, hidden=True) as tx:
        left = leases.c.name == lease_of(owner), leases.c.until <= stamp(tx.clock())
        if tx.conn.execute(select(leases.c.name).where(*left)).first() is None:
            return False
        _bring_back(tx)
        return True


def _bring_back(tx: Tx) -> None:
    before = _holder(tx)[1:]
    empty_book(tx)
    tx.compact = True
    if before:
        ours = of_ours(read_lines(list(enumerate(before, 1))), tx.tables)
        take_steps(tx, replay_steps(tx, sorted_by_kind(ours, tx.tables)))
    forget_touched(tx)
    touch_tokens(tx)
    cover(tx)
    _show(tx)


def _show(tx: Tx) -> None:
    tx.conn.execute(delete(leases).where(leases.c.name == lease_of(tx.owner)))


def _until(tx: Tx) -> str:
    return stamp(tx.clock() + HIDDEN_FOR)


# Queries


def _holder(tx: Tx) -> list[str]:
    """Whose restore it is, and the lines of the book before it; nothing if there is none."""
    held = tx.conn.execute(select(leases.c.holder).where(leases.c.name == lease_of(tx.owner))).scalar()
    return list(json.loads(held or "[]"))


def hidden_owners(conn: Connection) -> list[str]:
    """The owners whose books are being restored, or whose restore was cut short."""
    found = conn.execute(select(leases.c.name).where(leases.c.name.startswith(RESTORING))).scalars()
    return [name.removeprefix(RESTORING) for name in found]
