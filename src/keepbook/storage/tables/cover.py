"""Tables by which the ledger covers rows that are no entries. Their lines are the last of an export."""

from sqlalchemy import Column, Index, Integer, PrimaryKeyConstraint, Table

from keepbook.storage.tables.declare import Word, declare_table, owner_column

# Links of the same chain as the entries, one for all other rows that a transaction wrote: `digest` covers the seals
# `first` to `last`. Covers are not entries: people do not see them in the ledger, and nothing counts them.
covers: Table = declare_table(
    "covers",
    owner_column(),
    Column("link", Integer, nullable=False),
    Column("at", Word, nullable=False),
    Column("first", Integer, nullable=False),
    Column("last", Integer, nullable=False),
    Column("digest", Word, nullable=False),
    Column("previous", Word, nullable=False),
    Column("hash", Word, nullable=False),
    PrimaryKeyConstraint("owner", "link"),
    exported="cover",
    uncovered="it is the chain",
    may_change=(),
    own=("insert", "update"),
)

# Seals: one row for each state that a covered row was in. `was` is the previous seal of the same row. A seal that is
# followed by another, or whose row is gone, loses its salt, so that nothing can be guessed from its digest. The removal
# of a row has a seal too, without a digest. See book/ledger/cover.py.
seals: Table = declare_table(
    "seals",
    owner_column(),
    Column("what", Word, nullable=False),
    Column("key", Word, nullable=False),
    Column("nth", Integer, nullable=False),
    Column("was", Integer),
    Column("salt", Word),
    Column("digest", Word),
    PrimaryKeyConstraint("owner", "what", "key", "nth"),
    exported="seal",
    uncovered="they are what covers",
    may_change=("salt",),
    own=("insert", "update"),
)
Index("seals_by_number", seals.c.owner, seals.c.nth, unique=True)

# Mends: what the operator set aside (`keepbook db mend`), one row for each time. The chain has gaps before `link`, and
# begins anew with the entry `event`; `kept` is the digest of the links before `link` and of the seals up to `sealed`.
mends: Table = declare_table(
    "mends",
    owner_column(),
    Column("event", Integer, nullable=False),
    Column("link", Integer, nullable=False),
    Column("sealed", Integer, nullable=False),
    Column("at", Word, nullable=False),
    Column("rows", Integer, nullable=False),
    Column("kept", Word, nullable=False),
    Column("file", Word, nullable=False),
    Column("digest", Word, nullable=False),
    PrimaryKeyConstraint("owner", "event"),
    exported="mend",
    covered=True,
    may_change=(),
    own=("insert",),
)

# Rows that a transaction has changed and not sealed yet; empty between transactions.
touched: Table = declare_table(
    "touched",
    owner_column(),
    Column("what", Word, nullable=False),
    Column("key", Word, nullable=False),
    Column("fresh", Integer, nullable=False),
    PrimaryKeyConstraint("owner", "what", "key"),
    unexported="empty between transactions",
    uncovered="what is yet to be sealed",
    may_change=(),
    may_go=True,
)
