"""Tables for upkeep: costs, due work, vectors, tokens and sign-ins, leases, kept answers, loads, extensions."""

from sqlalchemy import CheckConstraint, Column, ForeignKey, Index, Integer, LargeBinary, PrimaryKeyConstraint, Table

from keepbook.storage.tables.declare import DERIVED, Word, declare_table, one_of, owner_column, partial_index

# The cost meter: tokens by month, operation and model.
meter: Table = declare_table(
    "meter",
    owner_column(),
    Column("month", Word, nullable=False),
    Column("operation", Word, nullable=False),
    Column("model", Word, nullable=False),
    Column("calls", Integer, nullable=False),
    Column("tokens_in", Integer, nullable=False),
    Column("tokens_out", Integer, nullable=False),
    PrimaryKeyConstraint("owner", "month", "operation", "model"),
    exported="meter",
    uncovered="a count that changes with every call",
    may_go=True,
)

# Due work. It has no personal text, so that a job may read it across owners to find whom to serve.
due: Table = declare_table(
    "due",
    owner_column(),
    Column("work", Word, nullable=False),
    Column("id", Word, nullable=False),
    Column("at", Word, nullable=False),
    PrimaryKeyConstraint("owner", "work", "id"),
    exported="due",
    uncovered="made anew from what is due",
    may_go=True,
    open=True,
)
Index("due_by_time", due.c.at, due.c.owner)

# The vectors of memories and turns, each in the space of one embedder; spaces are never compared with each other.
# `part` is a memory's version or a chat's turn, `nth` counts what was put in. As with words, only active memories have
# one.
vectors: Table = declare_table(
    "vectors",
    owner_column(),
    Column("space", Word, nullable=False),
    Column("kind", Word, one_of("kind", "memory", "turn"), nullable=False),
    Column("item", Word, nullable=False),
    Column("part", Integer, nullable=False),
    Column("nth", Integer, nullable=False),
    Column("vector", LargeBinary, nullable=False),
    PrimaryKeyConstraint("owner", "space", "kind", "item", "part"),
    **DERIVED,
    may_change=(),
    may_go=True,
)
Index("vectors_by_number", vectors.c.owner, vectors.c.space, vectors.c.kind, vectors.c.nth)

# How far a space is filled: how many vectors were put in and taken out so far, which tells a cache whether it is out of
# date; and the ledger entry up to which memories have theirs.
vector_spaces: Table = declare_table(
    "vector_spaces",
    owner_column(),
    Column("space", Word, nullable=False),
    Column("added", Integer, nullable=False),
    Column("removed", Integer, nullable=False),
    Column("through", Integer, nullable=False),
    PrimaryKeyConstraint("owner", "space"),
    **DERIVED,
    may_go=True,
)

# Tokens; only the hash of each is stored. A service token has no owner: each request names one. If a token's owner is
# erased, its row stays without the name, since it tells that this installation requires tokens. `made_with` is the
# token that it was made with; when that is revoked, so is this one.
tokens: Table = declare_table(
    "tokens",
    Column("id", Word, CheckConstraint("length(id) = 8"), nullable=False),
    Column("owner", Word, CheckConstraint("owner <> ''")),
    Column("hash", Word, nullable=False, unique=True),
    Column("kind", Word, one_of("kind", "person", "agent", "service"), nullable=False),
    Column("scopes", Word, nullable=False),
    Column("name", Word),
    Column("created_at", Word, nullable=False),
    Column("expires_at", Word),
    Column("revoked_at", Word),
    Column("last_used_at", Word),
    Column("agent", Word),
    Column("made_with", Word),
    PrimaryKeyConstraint("id"),
    CheckConstraint("owner IS NOT NULL OR kind = 'service' OR revoked_at IS NOT NULL", name="opens_one_book"),
    covered=True,
    passing=("last_used_at",),
    unexported="opens this installation's doors and no other's",
    home=True,
)
Index("tokens_by_owner", tokens.c.owner, tokens.c.created_at)
Index("tokens_by_maker", tokens.c.made_with)

# People who sign in at an OpenID provider, identified by issuer and subject; each opens one book. Before the first
# sign-in the row is an invitation to that book, of which only the hash is stored. A row that has ended opens nothing;
# the person may be invited anew.
identities: Table = declare_table(
    "identities",
    Column("id", Word, CheckConstraint("length(id) = 8"), nullable=False),
    Column("owner", Word, CheckConstraint("owner <> ''"), nullable=False),
    Column("invitation", Word, unique=True),
    Column("issuer", Word),
    Column("subject", Word),
    Column("created_at", Word, nullable=False),
    Column("expires_at", Word),
    Column("joined_at", Word),
    Column("ended_at", Word),
    PrimaryKeyConstraint("id"),
    CheckConstraint("(joined_at IS NULL) = (issuer IS NULL) AND (issuer IS NULL) = (subject IS NULL)", name="joined"),
    covered=True,
    unexported="opens this installation's doors and no other's",
    may_change=("issuer", "subject", "joined_at", "ended_at"),
    may_go=True,
    home=True,
)
Index("identities_by_owner", identities.c.owner)
partial_index(
    "identities_by_subject",
    identities.c.issuer,
    identities.c.subject,
    unique=True,
    where=identities.c.ended_at.is_(None),
)

# Sessions of the pages: the hash of each, and the token or identity it was made with. It is valid as long as that is.
page_sessions: Table = declare_table(
    "page_sessions",
    Column("hash", Word, nullable=False),
    Column("token_id", Word, ForeignKey("tokens.id")),
    Column("identity_id", Word, ForeignKey("identities.id")),
    Column("created_at", Word, nullable=False),
    Column("expires_at", Word, nullable=False),
    PrimaryKeyConstraint("hash"),
    CheckConstraint("(token_id IS NULL) <> (identity_id IS NULL)", name="made_with_one"),
    home=True,
    may_go=True,
)
Index("page_sessions_by_token", page_sessions.c.token_id)
Index("page_sessions_by_identity", page_sessions.c.identity_id)

# Leases: who may do a piece of work that only one worker should do at a time, and until when.
leases: Table = declare_table(
    "leases",
    Column("name", Word, nullable=False),
    Column("holder", Word, nullable=False),
    Column("until", Word, nullable=False),
    PrimaryKeyConstraint("name"),
    home=True,
    may_go=True,
)

# Answers to writes with an idempotency key, to be sent again if the write is repeated. Each is stored by the
# transaction of its write, for a day. An erasure deletes all of an owner's, since an answer quotes what was written.
answers: Table = declare_table(
    "answers",
    owner_column(),
    Column("key", Word, nullable=False),
    Column("request", Word, nullable=False),
    Column("status", Integer, nullable=False),
    Column("body", Word, nullable=False),
    Column("at", Word, nullable=False),
    PrimaryKeyConstraint("owner", "key"),
    unexported="an answer of this installation, for a day",
    uncovered="an answer of this installation, for a day",
    may_change=(),
    may_go=True,
)

# Imported files, one row each, so that an import can be taken back. `brought` says what came in: for memories the first
# and last of its entries, and its chats with their turns; for trades its batches, and `before` has the earlier fills
# that were open; for others what the extension needs. `told` is what its page shows, with a `count` of other things.
# `gone` is what was removed when it was taken back: ids of memories and chats, or the fills.
loads: Table = declare_table(
    "loads",
    owner_column(),
    Column("nth", Integer, nullable=False),
    Column("at", Word, nullable=False),
    Column("actor", Word, nullable=False),
    Column("what", Word, CheckConstraint("what <> ''"), nullable=False),
    Column("title", Word, nullable=False),
    Column("deployment_id", Word),
    Column("trades", Integer, nullable=False),
    Column("fills", Integer, nullable=False),
    Column("brought", Word, nullable=False),
    Column("before", Word, nullable=False),
    Column("told", Word, nullable=False),
    Column("undone_at", Word),
    Column("gone", Word),
    PrimaryKeyConstraint("owner", "nth"),
    CheckConstraint("what = 'trades' OR deployment_id IS NULL", name="memories_have_no_deployment"),
    exported="load",
    exported_after="fill",
    covered=True,
    may_change=("brought", "told", "undone_at", "gone"),
    own=("update",),
)

# The extensions installed in this database. `tables` describes their tables, so that rows are exported, covered and
# erased even if the code is gone.
installed_extensions: Table = declare_table(
    "extensions",
    Column("name", Word, nullable=False),
    Column("nth", Integer, nullable=False),
    Column("version", Integer, nullable=False),
    Column("tables", Word, nullable=False),
    PrimaryKeyConstraint("name"),
    home=True,
    admin=True,
)
