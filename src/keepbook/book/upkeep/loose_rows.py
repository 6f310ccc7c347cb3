"""Finds rows that no longer fit after a mend has set others aside: with them a book could not be restored or go on.

These are rows whose parent is missing, chats of which a turn is missing, and injections of a memory after a gap.
"""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Table, exists, func, or_, select

from keepbook.storage.database import Tx
from keepbook.storage.tables.chats import messages, threads
from keepbook.storage.tables.memory import injected

_TURNS = select(func.count(), func.coalesce(func.max(messages.c.turn), 0)).where(
    messages.c.owner == threads.c.owner, messages.c.thread_id == threads.c.id
)
_IS_TORN = or_(*(threads.c.turns != _TURNS.with_only_columns(one).scalar_subquery() for one in _TURNS.selected_columns))


def loose_rows(tx: Tx) -> Iterator[tuple[Table, dict[str, Any]]]:
    """These rows, each as its table and key."""
    for table in tx.tables.declared:
        if "owner" in table.c:
            for rule in table.foreign_key_constraints:
                parent = rule.referred_table.alias()
                same = [key.parent == parent.c[key.column.name] for key in rule.elements]
                given = [key.parent.isnot(None) for key in rule.elements]
                yield from _keys(tx, table, *given, ~exists().where(*same))
    yield from _keys(tx, threads, _IS_TORN)
    place = func.row_number().over(partition_by=injected.c.memory_id, order_by=injected.c.nth).label("place")
    ranked = select(injected.c.memory_id, injected.c.nth, place).where(injected.c.owner == tx.owner).subquery()
    same = [ranked.c.memory_id == injected.c.memory_id, ranked.c.nth == injected.c.nth]
    yield from _keys(tx, injected, exists().where(*same, ranked.c.place != injected.c.nth))


def _keys(tx: Tx, table: Table, *where: Any) -> Iterator[tuple[Table, dict[str, Any]]]:
    key = [column for column in table.primary_key.columns if column.name != "owner"]
    for row in tx.conn.execute(select(*key).where(table.c.owner == tx.owner, *where)).mappings().all():
        yield table, dict(row)
