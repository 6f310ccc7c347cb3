"""Tables of a book as such: whose it is, and its ledger."""

from sqlalchemy import Column, Index, Integer, PrimaryKeyConstraint, Table

from keepbook.storage.tables.declare import Word, declare_table, one_of, owner_column

owners: Table = declare_table(
    "owners",
    owner_column(),
    Column("created_at", Word, nullable=False),
    Column("preset", Word),
    Column("zone", Word, nullable=False, server_default="UTC"),
    PrimaryKeyConstraint("owner"),
    exported="owner",
    covered=True,
    may_go=True,
    open=True,
)

ledger: Table = declare_table(
    "ledger",
    owner_column(),
    Column("seq", Integer, nullable=False),
    Column("link", Integer, nullable=False),
    Column("at", Word, nullable=False),
    Column("actor", Word, one_of("actor", "person", "agent", "extractor", "job"), nullable=False),
    Column("door", Word, nullable=False),
    Column("thread_id", Word),
    Column("action", Word, nullable=False),
    Column("memory_id", Word),
    Column("other_id", Word),
    Column("link_id", Word),
    Column("undoes", Integer),
    Column("before", Word),
    Column("after", Word),
    Column("salt", Word),
    Column("digest", Word, nullable=False),
    Column("previous", Word, nullable=False),
    Column("hash", Word, nullable=False),
    PrimaryKeyConstraint("owner", "seq"),
    exported="entry",
    uncovered="it is the chain",
    may_change=(),
    own=("insert", "update"),
)
Index("ledger_by_memory", ledger.c.owner, ledger.c.memory_id, ledger.c.seq)
