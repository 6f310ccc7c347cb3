"""Erases everything of an owner, chain included, and leaves a receipt, which is not in the book.

On a server one transaction does it, for which nobody but this owner waits. In a file all writers wait for one. There
the first transaction hides the book and closes its doors; from then on there is none for anybody. Its rows go behind
that in short pieces, and whoever erases is answered when all are gone. If the process is ended before, a sweep goes on.
"""

import time
from collections.abc import Iterator, Sequence

from sqlalchemy import Table, bindparam, delete, func, insert, or_, select, true, tuple_, update

from keepbook.book.ground.in_pieces import PIECE_SECONDS, Stopping, nobody_stops
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.book.ledger.cover import forget_touched
from keepbook.book.ledger.verify import Mend, mends_of
from keepbook.book.upkeep.erase import BEYOND_REACH, Receipt
from keepbook.book.upkeep.hidden.hidden_book import HiddenBook, holder_of, is_left
from keepbook.book.upkeep.set_aside_files import remove_files
from keepbook.errors import Invalid
from keepbook.storage.cover_rules import key_columns
from keepbook.storage.database import Database, Tx
from keepbook.storage.extension_rows import Step
from keepbook.storage.tables import WHOLE_BOOK, TableSet
from keepbook.storage.tables.cover import mends, touched
from keepbook.storage.tables.ledger import owners
from keepbook.storage.tables.memory import erasures
from keepbook.storage.tables.upkeep import due, identities, page_sessions, tokens
from keepbook.storage.transactions.hidden import ERASED, refuse_hidden

AT_ONCE, PIECEWISE = 0, -1
"""The `event` of the row in `erasures`: whether it takes all rows itself, or only lets them go."""
FIRST_ROWS, MOST_ROWS = 100, 10_000
"""How many rows of a table go with one statement, at first and at most."""
_LAST = ((mends, true()), (erasures, erasures.c.memory_id != WHOLE_BOOK), (erasures, true()), (touched, true()))
"""What the last transaction removes, in this order: guards ask for the row that lets all go."""

# Operations


def erase_book(book: OpenBook, confirm: str) -> Receipt:
    """Erase everything of this owner for good. `confirm` must be the owner's name."""
    database, owner = book._database, book.owner
    if confirm != owner:
        raise Invalid(f"to erase everything of {owner!r}, confirm with exactly that name", field="confirm")
    if database.all_wait and not database.is_writing:
        receipt, mended = _erase_in_pieces(database, owner)
    else:
        with database.write(owner) as tx:
            mended, receipt = mends_of(tx), _receipt(tx)
            _close_doors(tx)
            _name_what_goes(tx, AT_ONCE)
    left = (*remove_files(owner, mended), *database.compact())
    return Receipt(owner, receipt.at, receipt.counts, (*receipt.beyond_reach, *left))


def _erase_in_pieces(database: Database, owner: str) -> tuple[Receipt, Sequence[Mend]]:
    hidden = HiddenBook(database, owner, ERASED)
    with database.write(owner, hidden=True) as tx:
        if not (holder_of(tx) and is_left(tx, ERASED)):
            refuse_hidden(tx.conn, owner)
        receipt = _receipt(tx)
        _hide(tx, hidden)
    return receipt, _remove_rows(hidden, database.tables)


def erase_left(database: Database, owner: str, told: Stopping = nobody_stops) -> bool:
    """Go on with an erasure whose process was ended; says whether there was one."""
    hidden = HiddenBook(database, owner, ERASED)
    with database.write(owner, hidden=True) as tx:
        if not is_left(tx, ERASED):
            return False
        _hide(tx, hidden)
    remove_files(owner, _remove_rows(hidden, database.tables, told))
    return True


def _hide(tx: Tx, hidden: HiddenBook) -> None:
    """From the end of this transaction on there is no book. Also of one whose erasure was begun before."""
    _close_doors(tx)
    hidden.hide(tx)
    if tx.conn.execute(_ENDS, {"owner": tx.owner}).first() is None:
        _name_what_goes(tx, PIECEWISE)
    forget_touched(tx)


def _close_doors(tx: Tx) -> None:
    """Nothing opens this book any more: no session, no sign-in, no token, and no list names it. A token's row stays
    without the owner."""
    known = select(tokens.c.id).where(tokens.c.owner == tx.owner)
    here = select(identities.c.id).where(identities.c.owner == tx.owner)
    signed_in = or_(page_sessions.c.token_id.in_(known), page_sessions.c.identity_id.in_(here))
    nobodys = {"owner": None, "name": None, "revoked_at": stamp(tx.clock())}
    tx.conn.execute(delete(page_sessions).where(signed_in))
    tx.conn.execute(delete(identities).where(identities.c.owner == tx.owner))
    for table in (owners, due):
        tx.conn.execute(delete(table).where(table.c.owner == tx.owner))
    tx.conn.execute(update(tokens).where(tokens.c.owner == tx.owner).values(nobodys))


def _name_what_goes(tx: Tx, how: int) -> None:
    """The row that lets everything of the owner go. Last of its transaction: it may also take what was noted until
    then."""
    row = {"owner": tx.owner, "memory_id": WHOLE_BOOK, "at": stamp(tx.clock()), "event": how}
    tx.conn.execute(insert(erasures), row)
    _compact_behind(tx)


def _remove_rows(hidden: HiddenBook, tables: TableSet, told: Stopping = nobody_stops) -> Sequence[Mend]:
    """Remove the rows of a hidden book. Returns its mends, whose files are to be removed."""
    hidden.write(_steps(tables), told)

    def last(tx: Tx) -> Sequence[Mend]:
        mended = mends_of(tx)
        for table, also in _LAST:
            tx.conn.execute(delete(table).where(table.c.owner == tx.owner, also))
        _compact_behind(tx)
        return mended

    gone: Sequence[Mend] = hidden.end(last)
    return gone


def _steps(tables: TableSet) -> Iterator[Step]:
    for table in tables.owned:
        if table not in (mends, erasures, touched):
            some = _RowsOfTable(table)
            while some.any_left:
                yield some.remove


class _RowsOfTable:
    """The rows of one table, of which some go with each step: as many as a fraction of a piece has time for."""

    def __init__(self, table: Table) -> None:
        self._rows, self.any_left = FIRST_ROWS, True
        self._is_one_step = any(key.column.table is table for key in table.foreign_keys) or not key_columns(table)
        theirs = table.c.owner == bindparam("owner")
        key = tuple_(*(table.c[name] for name in key_columns(table) or ["owner"]))
        self._all = delete(table).where(theirs)
        self._some = self._all.where(key.in_(select(*key.clauses).where(theirs).limit(bindparam("rows"))))

    def remove(self, tx: Tx) -> None:
        _compact_behind(tx)
        if self._is_one_step:  # rows that refer to others of their table
            tx.conn.execute(self._all, {"owner": tx.owner})
            self.any_left = False
            return
        began = time.perf_counter()
        number = tx.conn.execute(self._some, {"owner": tx.owner, "rows": self._rows}).rowcount
        took = time.perf_counter() - began
        self.any_left = number == self._rows
        if took < PIECE_SECONDS / 8:
            self._rows = min(MOST_ROWS, 2 * self._rows)
        elif took > PIECE_SECONDS / 2:
            self._rows = max(1, self._rows // 4)


def _compact_behind(tx: Tx) -> None:
    tx.compact = tx.compact_later = True  # by whoever erases: they tell what could not be reached


# Queries

_ENDS = select(erasures.c.at).where(erasures.c.owner == bindparam("owner"), erasures.c.memory_id == WHOLE_BOOK)


def _receipt(tx: Tx) -> Receipt:
    """What is there to be erased."""
    counts = {
        table.name: tx.conn.execute(select(func.count()).select_from(table).where(table.c.owner == tx.owner)).scalar()
        or 0
        for table in tx.tables.owned
    }
    return Receipt(tx.owner, parse_stamp(stamp(tx.clock())), counts, BEYOND_REACH)
