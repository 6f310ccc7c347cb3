"""A large restore into a file, in which all writers wait for one: in short pieces, between which others write.

It was proved before, in memory. So a book is restored as a whole or not at all: if a piece fails, the book is what it
was before; if the process is ended, a sweep or the next restore makes it that. What the book was before is small, its
settings alone, and is kept in the lease that hides it.
"""

from collections.abc import Iterator

from sqlalchemy import delete, insert, select

from keepbook.book.ledger.cover import cover, forget_touched
from keepbook.book.upkeep.export_lines import of_ours, read_lines, sorted_by_kind
from keepbook.book.upkeep.hidden.hidden_book import HiddenBook, holder_of, is_left, show
from keepbook.book.upkeep.restoring.replay import replay_steps
from keepbook.storage.database import Database, Tx
from keepbook.storage.extension_rows import Step
from keepbook.storage.tables import WHOLE_BOOK
from keepbook.storage.tables.cover import touched
from keepbook.storage.tables.ledger import owners
from keepbook.storage.tables.memory import erasures
from keepbook.storage.tables.upkeep import tokens
from keepbook.storage.transactions.hidden import RESTORED

# Operations


def abandon(database: Database, owner: str, hidden: HiddenBook) -> None:
    """Make a book what it was before a restore of this process."""
    with database.write(owner, hidden=True) as tx:
        if hidden.hides(tx):
            _bring_back(tx)


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
        if not is_left(tx, RESTORED):
            return False
        _bring_back(tx)
        return True


def _bring_back(tx: Tx) -> None:
    before = holder_of(tx)[2:]
    empty_book(tx)
    tx.compact = True
    was_known = False
    if before:
        found = sorted_by_kind(of_ours(read_lines(list(enumerate(before, 1))), tx.tables), tx.tables)
        take_steps(tx, replay_steps(tx, found))
        was_known = bool(found["owner"])
    if not was_known:  # the file has made the row, which no link would vouch for
        tx.conn.execute(delete(owners).where(owners.c.owner == tx.owner))
    forget_touched(tx)
    touch_tokens(tx)
    cover(tx)
    show(tx)
