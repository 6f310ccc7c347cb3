"""Every table, once, for both engines, room by room.

The owner comes first in every key and index: one owner is one contiguous range, row-level security is
cheap, and the schema can be sharded by owner as it stands. Instants are fixed-width UTC text
(`2026-11-15T03:26:39.123456Z`), so both engines compare, hash and export the same bytes.
What a constraint can say stands here; what needs a look at other rows is a trigger in `guards/`.

Within a room a table is declared after those it depends on.
"""

from sqlalchemy import Table

from keepbook.storage.tables import agents, chats, choices, cover, ledger, market, memory, trading, upkeep
from keepbook.storage.tables.declare import metadata as metadata
from keepbook.storage.tables.declare import rules_of

WHOLE_BOOK = "*"
"""The `memory_id` of an erasure that takes everything of its owner."""

ROOMS = (ledger, memory, chats, choices, upkeep, agents, market, trading, cover)
"""In the order of an export."""

DECLARED: tuple[Table, ...] = tuple(
    table for room in ROOMS for table in vars(room).values() if isinstance(table, Table)
)

EXPORTED: dict[str, Table] = {
    rules_of(table).exported: table
    for last in (False, True)
    for table in DECLARED
    if rules_of(table).exported and rules_of(table).exported_last is last
}
"""The kinds of line of an export and the tables they come from, in file order."""

COVERED: dict[str, Table] = {table.name: table for table in DECLARED if rules_of(table).covered}
"""What the ledger covers beside its own entries."""

AT_HOME = frozenset(table.name for table in DECLARED if rules_of(table).home)
"""What stays with the coordinator of a cluster. A token is covered by its owner's chain wherever that lies."""

BY_HAND = ("owners", "tokens", "armed")
"""What names an owner and is erased by a step of its own."""

OWNED: tuple[Table, ...] = tuple(
    table for table in reversed(DECLARED) if "owner" in table.c and table.name not in BY_HAND
)
"""What belongs to one owner, children first: the order in which it can be erased."""
