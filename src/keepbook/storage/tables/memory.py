"""Tables of memories: what they say, version by version, what joins them, where they were shown, what was erased."""

from sqlalchemy import CheckConstraint, Column, ForeignKeyConstraint, Index, Integer, PrimaryKeyConstraint, Table

from keepbook.storage.tables.declare import DERIVED, Number, Word, declare_table, one_of, owner_column, partial_index

memories: Table = declare_table(
    "memories",
    owner_column(),
    Column("id", Word, CheckConstraint("length(id) = 8"), nullable=False),
    Column("category", Word),
    Column("subject", Word, CheckConstraint("length(subject) <= 200")),
    Column("subject_key", Word),
    Column("scope", Word),
    Column("confidence", Word, one_of("confidence", "asserted", "inferred"), nullable=False),
    Column("importance", Number, CheckConstraint("importance BETWEEN 0 AND 1"), nullable=False),
    Column("version", Integer, nullable=False),
    Column("created_at", Word, nullable=False),
    Column("edited_at", Word, nullable=False),
    Column("updated_at", Word, nullable=False),
    Column("last_confirmed_at", Word),
    Column("archived_at", Word),
    Column("archived_reason", Word),
    Column("trashed_at", Word),
    Column("purged_at", Word),
    Column("event", Integer, nullable=False),
    PrimaryKeyConstraint("owner", "id"),
    CheckConstraint("(archived_at IS NULL) = (archived_reason IS NULL)", name="archived_with_a_reason"),
    exported="memory",
    ids=("id",),
    covered=True,
    covered_where="purged_at IS NOT NULL",
    own=("insert", "update"),
)
partial_index(
    "memories_by_subject", memories.c.owner, memories.c.subject_key, memories.c.created_at, memories.c.id,
    where=memories.c.subject_key.isnot(None),
)  # fmt: skip
Index("memories_by_creation", memories.c.owner, memories.c.created_at, memories.c.id)
Index("memories_by_category", memories.c.owner, memories.c.category, memories.c.created_at, memories.c.id)
# As a block reads them.
partial_index(
    "memories_by_importance", memories.c.owner, memories.c.importance, memories.c.updated_at, memories.c.id,
    where=memories.c.archived_at.is_(None) & memories.c.trashed_at.is_(None) & memories.c.purged_at.is_(None),
)  # fmt: skip

WORDS = ("content", "summary", "body", "metadata", "tags", "spans")
"""What a version says: a purge blanks these columns, and leaves the others."""

BOOKKEEPING = ("owner", "memory_id", "version", "recorded_at", "retired_at", "restored_from", "correction", "event")
"""What the book notes of a version; the other columns are what was said, by whom and from when."""

versions: Table = declare_table(
    "versions",
    owner_column(),
    Column("memory_id", Word, nullable=False),
    Column("version", Integer, CheckConstraint("version >= 1"), nullable=False),
    Column("content", Word, CheckConstraint("length(content) BETWEEN 4 AND 500")),
    Column("summary", Word, CheckConstraint("length(summary) <= 200")),
    Column("body", Word),
    Column("metadata", Word),
    Column("tags", Word),
    Column(
        "source",
        Word,
        one_of("source", "profile", "chat", "inferred", "extracted", "imported"),
        nullable=False,
    ),
    Column("score", Number, CheckConstraint("score BETWEEN 0 AND 1")),
    Column("made_by", Word),
    Column("thread_id", Word),
    Column("turn_ids", Word, nullable=False, server_default="[]"),
    Column("valid_from", Word, nullable=False),
    Column("valid_until", Word),
    Column("recorded_at", Word, nullable=False),
    Column("retired_at", Word),
    Column("restored_from", Integer),
    Column("correction", Integer, CheckConstraint("correction IN (0, 1)"), nullable=False, server_default="0"),
    Column("quoted", Integer, CheckConstraint("quoted IN (0, 1)"), nullable=False, server_default="0"),
    Column("spans", Word),
    Column("said_on", Word, CheckConstraint("length(said_on) = 10")),
    # Who chose these words; NULL: the person.
    Column("written_by", Word),
    Column("event", Integer, nullable=False),
    PrimaryKeyConstraint("owner", "memory_id", "version"),
    ForeignKeyConstraint(["owner", "memory_id"], ["memories.owner", "memories.id"]),
    CheckConstraint("(score IS NOT NULL) = (source = 'extracted')", name="only_extracted_has_a_score"),
    CheckConstraint("retired_at >= recorded_at", name="retired_after_recorded"),
    CheckConstraint("valid_until > valid_from", name="ends_after_it_began"),
    # A quotation names the words it is made of for as long as it says anything; a note never does.
    CheckConstraint("(spans IS NOT NULL) = (quoted = 1 AND content IS NOT NULL)", name="a_quotation_names_its_words"),
    CheckConstraint("said_on IS NULL OR quoted = 1", name="only_a_quotation_has_its_day"),
    exported="version",
    covered=True,
    covered_where="content IS NULL",
    younger=("quoted", "spans", "said_on", "written_by"),
    may_change=("retired_at",),
    own=("insert", "update"),
)

partial_index(
    "versions_with_a_time", versions.c.owner, versions.c.memory_id, versions.c.version,
    where=versions.c.valid_until.isnot(None) | (versions.c.valid_from > versions.c.recorded_at),
)  # fmt: skip

links: Table = declare_table(
    "links",
    owner_column(),
    Column("id", Word, CheckConstraint("length(id) = 8"), nullable=False),
    Column("from_id", Word, nullable=False),
    Column("to_id", Word, nullable=False),
    Column("relation", Word, CheckConstraint("length(relation) BETWEEN 1 AND 40"), nullable=False),
    Column("created_at", Word, nullable=False),
    Column("removed_at", Word),
    Column("event", Integer, nullable=False),
    PrimaryKeyConstraint("owner", "id"),
    ForeignKeyConstraint(["owner", "from_id"], ["memories.owner", "memories.id"]),
    ForeignKeyConstraint(["owner", "to_id"], ["memories.owner", "memories.id"]),
    CheckConstraint("from_id <> to_id", name="joins_two"),
    exported="link",
    ids=("id", "from_id", "to_id"),
    uncovered="held by the entries of the ledger",
    own=("insert", "update", "delete"),
)
_standing = links.c.removed_at.is_(None)
partial_index(
    "links_from", links.c.owner, links.c.from_id, links.c.to_id, links.c.relation, unique=True, where=_standing
)
Index("links_to", links.c.owner, links.c.to_id)

# The parts of a preset that decide the bytes of a block, one row for each digest: preset files may be edited later.
block_rules: Table = declare_table(
    "block_rules",
    owner_column(),
    Column("digest", Word, CheckConstraint("length(digest) = 64"), nullable=False),
    Column("rules", Word, nullable=False),
    PrimaryKeyConstraint("owner", "digest"),
    exported="block_rules",
    covered=True,
    may_change=(),
)

# One row per session: the block as that session was given it. `space` tells our own chats from the session ids of
# outside agents. `seq` is the last entry that the block knew, `nth` counts the injections of the owner: with both it
# can be rendered again, whatever the clocks said. `rules_digest` names the rules of its preset; rows from an older file
# have none.
injections: Table = declare_table(
    "injections",
    owner_column(),
    Column("space", Word, one_of("space", "chat", "outside"), nullable=False),
    Column("session", Word, nullable=False),
    Column("at", Word, nullable=False),
    Column("preset", Word, nullable=False),
    Column("scope", Word),
    Column("seq", Integer, nullable=False),
    Column("nth", Integer, nullable=False),
    Column("block", Word),
    Column("lines", Word),
    Column("rules_digest", Word),
    PrimaryKeyConstraint("owner", "space", "session"),
    ForeignKeyConstraint(["owner", "rules_digest"], ["block_rules.owner", "block_rules.digest"]),
    CheckConstraint("lines IS NULL OR block IS NOT NULL", name="lines_of_a_block"),
    exported="injection",
    covered=True,
    younger=("lines", "rules_digest"),
    may_change=("at", "seq", "nth", "block", "lines", "rules_digest"),
    own=("insert", "update"),
)

# One row for each memory in an injected block. `nth` counts a memory's injections, so its newest row tells both how
# often and when last, and nothing has to be summed. `known` is the time of the last entry that the block knew: it tells
# whether the memory was edited since, whatever the clocks say.
injected: Table = declare_table(
    "injected",
    owner_column(),
    Column("memory_id", Word, nullable=False),
    Column("nth", Integer, nullable=False),
    Column("at", Word, nullable=False),
    Column("known", Word, nullable=False),
    Column("version", Integer, nullable=False),
    Column("space", Word, nullable=False),
    Column("session", Word, nullable=False),
    Column("injection", Integer, nullable=False),
    PrimaryKeyConstraint("owner", "memory_id", "nth"),
    ForeignKeyConstraint(["owner", "memory_id"], ["memories.owner", "memories.id"]),
    exported="injected",
    covered=True,
    may_change=(),
    own=("insert",),
)
Index("injections_by_number", injections.c.owner, injections.c.nth, unique=True)
Index("injected_by_session", injected.c.owner, injected.c.space, injected.c.session)

erasures: Table = declare_table(
    "erasures",
    owner_column(),
    Column("memory_id", Word, nullable=False),
    Column("at", Word, nullable=False),
    Column("event", Integer, nullable=False),
    PrimaryKeyConstraint("owner", "memory_id"),
    exported="erasure",
    covered=True,
    covered_where="memory_id <> '*'",
    may_change=(),
    own=("insert", "update"),
)

# The word index: the terms of each active memory's current version, in plain rows. So both engines give the same hits,
# the statistics are of this owner alone, and forgotten words cannot be found.
terms: Table = declare_table(
    "terms",
    owner_column(),
    Column("term", Word, nullable=False),
    Column("memory_id", Word, nullable=False),
    Column("weight", Number, nullable=False),
    PrimaryKeyConstraint("owner", "term", "memory_id"),
    **DERIVED,
    may_change=(),
    may_go=True,
    of_memory="memory_id",
)

# A few keys for each active memory; any two near-duplicates share one (see book/memory/likeness/similar.py). And one
# key for each memory that was put away, by which its exact words are recognised.
likeness: Table = declare_table(
    "likeness",
    owner_column(),
    Column("key", Word, nullable=False),
    Column("memory_id", Word, nullable=False),
    PrimaryKeyConstraint("owner", "key", "memory_id"),
    **DERIVED,
    may_change=(),
    may_go=True,
    of_memory="memory_id",
)

# One key for each tag and each metadata pair of a memory's current version, whatever its state. Filters look them up
# (see book/memory/labels.py).
labels: Table = declare_table(
    "labels",
    owner_column(),
    Column("key", Word, nullable=False),
    Column("memory_id", Word, nullable=False),
    PrimaryKeyConstraint("owner", "key", "memory_id"),
    **DERIVED,
    may_change=(),
    may_go=True,
    of_memory="memory_id",
)
