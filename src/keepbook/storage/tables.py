"""Every table, once, for both engines.

The owner comes first in every key and index: one owner is one contiguous range, row-level security is
cheap, and the schema can be sharded by owner as it stands. Instants are fixed-width UTC text
(`2026-11-15T03:26:39.123456Z`), so both engines compare, hash and export the same bytes.
What a constraint can say stands here; what needs a look at other rows is a trigger in `guards/`.
"""

from typing import Any

from sqlalchemy import (
    REAL,
    CheckConstraint,
    Column,
    ColumnElement,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateIndex
from sqlalchemy.types import TypeEngine

metadata = MetaData()

# Code-point order on both engines, whatever the locale of the server.
Word = Text().with_variant(Text(collation="C"), "postgresql")
# STRICT tables of SQLite know REAL, where PostgreSQL's REAL would lose digits.
Number: TypeEngine[Any] = Double().with_variant(REAL(), "sqlite")

WHOLE_BOOK = "*"
"""The `memory_id` of an erasure that takes everything of its owner."""


def _table(name: str, *parts: Any) -> Table:
    return Table(name, metadata, *parts, sqlite_strict=True, sqlite_with_rowid=False)


def _partial(name: str, *columns: Column[Any], where: ColumnElement[bool], unique: bool = False) -> None:
    """An index over the rows for which `where` holds."""
    Index(name, *columns, unique=unique, info={"where": where})


@compiles(CreateIndex)
def _compile_partial_index(create: CreateIndex, compiler: Any, **options: Any) -> str:
    """Both engines write it alike; told earlier, as `postgresql_where=`, it would load a dialect that nobody uses."""
    index: Index = create.element
    if "where" in index.info:
        index.dialect_options[compiler.dialect.name]["where"] = index.info["where"]
    return str(compiler.visit_create_index(create, **options))


def _owner() -> Column[Any]:
    return Column("owner", Word, CheckConstraint("owner <> ''"), nullable=False)


def _check_in(column: str, *words: str) -> CheckConstraint:
    listed = ", ".join(f"'{word}'" for word in words)
    return CheckConstraint(f"{column} IN ({listed})")


owners = _table(
    "owners",
    _owner(),
    Column("created_at", Word, nullable=False),
    Column("preset", Word),
    Column("zone", Word, nullable=False, server_default="UTC"),
    PrimaryKeyConstraint("owner"),
)

ledger = _table(
    "ledger",
    _owner(),
    Column("seq", Integer, nullable=False),
    Column("link", Integer, nullable=False),
    Column("at", Word, nullable=False),
    Column("actor", Word, _check_in("actor", "person", "agent", "extractor", "job"), nullable=False),
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
)
Index("ledger_by_memory", ledger.c.owner, ledger.c.memory_id, ledger.c.seq)

# What else the book holds is sealed: one row here for each state that a covered row was in. `was` is the seal before it
# on the same row; a seal that another one follows, or whose row is gone, loses its salt, so that nothing can be guessed
# from its digest. A row that was removed has a seal of that, without a digest. See book/ledger/cover.py.
seals = _table(
    "seals",
    _owner(),
    Column("what", Word, nullable=False),
    Column("key", Word, nullable=False),
    Column("nth", Integer, nullable=False),
    Column("was", Integer),
    Column("salt", Word),
    Column("digest", Word),
    PrimaryKeyConstraint("owner", "what", "key", "nth"),
)
Index("seals_by_number", seals.c.owner, seals.c.nth, unique=True)

# Links of the same chain as the entries, for what else a transaction wrote: the seals `first` to `last`, by one digest
# over theirs. They are no entries: nobody reads them in the ledger, and nothing counts them.
covers = _table(
    "covers",
    _owner(),
    Column("link", Integer, nullable=False),
    Column("at", Word, nullable=False),
    Column("first", Integer, nullable=False),
    Column("last", Integer, nullable=False),
    Column("digest", Word, nullable=False),
    Column("previous", Word, nullable=False),
    Column("hash", Word, nullable=False),
    PrimaryKeyConstraint("owner", "link"),
)

# What a transaction touched and has not sealed yet; empty between transactions.
touched = _table(
    "touched",
    _owner(),
    Column("what", Word, nullable=False),
    Column("key", Word, nullable=False),
    Column("fresh", Integer, nullable=False),
    PrimaryKeyConstraint("owner", "what", "key"),
)

memories = _table(
    "memories",
    _owner(),
    Column("id", Word, CheckConstraint("length(id) = 8"), nullable=False),
    Column("category", Word),
    Column("subject", Word, CheckConstraint("length(subject) <= 200")),
    Column("subject_key", Word),
    Column("scope", Word),
    Column("confidence", Word, _check_in("confidence", "asserted", "inferred"), nullable=False),
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
)
_partial("memories_by_subject", memories.c.owner, memories.c.subject_key, where=memories.c.subject_key.isnot(None))
Index("memories_by_creation", memories.c.owner, memories.c.created_at, memories.c.id)

versions = _table(
    "versions",
    _owner(),
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
        _check_in("source", "profile", "chat", "inferred", "extracted", "imported"),
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
    Column("event", Integer, nullable=False),
    PrimaryKeyConstraint("owner", "memory_id", "version"),
    ForeignKeyConstraint(["owner", "memory_id"], ["memories.owner", "memories.id"]),
    CheckConstraint("(score IS NOT NULL) = (source = 'extracted')", name="only_extracted_has_a_score"),
    CheckConstraint("retired_at >= recorded_at", name="retired_after_recorded"),
    CheckConstraint("valid_until > valid_from", name="ends_after_it_began"),
    # A quotation names the words it is made of for as long as it says anything; a note never does.
    CheckConstraint("(spans IS NOT NULL) = (quoted = 1 AND content IS NOT NULL)", name="a_quotation_names_its_words"),
    CheckConstraint("said_on IS NULL OR quoted = 1", name="only_a_quotation_has_its_day"),
)

links = _table(
    "links",
    _owner(),
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
)
_standing = links.c.removed_at.is_(None)
_partial("links_from", links.c.owner, links.c.from_id, links.c.to_id, links.c.relation, unique=True, where=_standing)
Index("links_to", links.c.owner, links.c.to_id)

# One row a session: the block as that session saw it. `space` keeps our own chats and the session ids of
# outside agents apart. `seq` is the last entry that the block knew, `nth` counts the injections of the owner: with both
# it can be rendered again, whatever the clocks said.
injections = _table(
    "injections",
    _owner(),
    Column("space", Word, _check_in("space", "chat", "outside"), nullable=False),
    Column("session", Word, nullable=False),
    Column("at", Word, nullable=False),
    Column("preset", Word, nullable=False),
    Column("scope", Word),
    Column("seq", Integer, nullable=False),
    Column("nth", Integer, nullable=False),
    Column("block", Word),
    Column("lines", Word),
    PrimaryKeyConstraint("owner", "space", "session"),
    CheckConstraint("lines IS NULL OR block IS NOT NULL", name="lines_of_a_block"),
)

# One row for each memory in an injected block. `nth` counts a memory's injections, so its newest row holds
# both how often and when last, and nothing has to be summed or swept. `known` is the ledger's time up to which
# the block spoke: whether a memory was edited since is a question to the ledger, not to anybody's clock.
injected = _table(
    "injected",
    _owner(),
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
)
Index("injections_by_number", injections.c.owner, injections.c.nth, unique=True)
Index("injected_by_session", injected.c.owner, injected.c.space, injected.c.session)

erasures = _table(
    "erasures",
    _owner(),
    Column("memory_id", Word, nullable=False),
    Column("at", Word, nullable=False),
    Column("event", Integer, nullable=False),
    PrimaryKeyConstraint("owner", "memory_id"),
)

# The word index: the analysed terms of each active memory's current version, in plain rows, so that both
# engines give the same hits, the statistics are this owner's alone, and forgotten words cannot be found.
terms = _table(
    "terms",
    _owner(),
    Column("term", Word, nullable=False),
    Column("memory_id", Word, nullable=False),
    Column("weight", Number, nullable=False),
    PrimaryKeyConstraint("owner", "term", "memory_id"),
)

# A few keys for each active memory, such that any two near-duplicates share one (see book/memory/likeness/similar.py).
likeness = _table(
    "likeness",
    _owner(),
    Column("key", Word, nullable=False),
    Column("memory_id", Word, nullable=False),
    PrimaryKeyConstraint("owner", "key", "memory_id"),
)

# One key for each tag and each metadata pair that a memory's current version has, in whatever state the memory is: what
# filters look up (see book/memory/labels.py).
labels = _table(
    "labels",
    _owner(),
    Column("key", Word, nullable=False),
    Column("memory_id", Word, nullable=False),
    PrimaryKeyConstraint("owner", "key", "memory_id"),
)

# A chat of one owner. `session` names it for an outside agent; our own chats have none. `extracted_through` is the
# watermark: the last turn that closing has read. `closing_until` is the lease of whoever is closing it.
threads = _table(
    "threads",
    _owner(),
    Column("id", Word, CheckConstraint("length(id) = 8"), nullable=False),
    Column("session", Word),
    Column("agent", Word),
    Column("preset", Word, nullable=False),
    Column("title", Word),
    Column("titled_by", Word, _check_in("titled_by", "person", "model", "rules")),
    Column("state", Word, _check_in("state", "active", "idle", "archived"), nullable=False),
    Column("incognito", Integer, CheckConstraint("incognito IN (0, 1)"), nullable=False),
    Column("tier", Word),
    Column("mode", Word),
    Column("focus", Word),
    Column("created_at", Word, nullable=False),
    Column("touched_at", Word, nullable=False),
    Column("deleted_at", Word),
    Column("turns", Integer, nullable=False),
    Column("summary", Word),
    Column("extracted_through", Integer, nullable=False),
    Column("closing_until", Word),
    Column("closing_by", Word),
    Column("failures", Integer, nullable=False),
    Column("failure", Word),
    Column("compressed_through", Integer, nullable=False),
    Column("compressed", Word),
    PrimaryKeyConstraint("owner", "id"),
    CheckConstraint("extracted_through BETWEEN 0 AND turns", name="watermark_within_the_chat"),
)
_outside = threads.c.session.isnot(None)
_partial("threads_by_session", threads.c.owner, threads.c.session, unique=True, where=_outside)
Index("threads_by_touch", threads.c.owner, threads.c.touched_at, threads.c.id)

messages = _table(
    "messages",
    _owner(),
    Column("thread_id", Word, nullable=False),
    Column("turn", Integer, CheckConstraint("turn >= 1"), nullable=False),
    Column("role", Word, _check_in("role", "user", "assistant", "tool", "system"), nullable=False),
    Column("speaker", Word),
    Column("text", Word, nullable=False),
    Column("hidden", Word),
    Column("parts", Word),
    Column("at", Word, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("model", Word),
    Column("tokens_in", Integer),
    Column("tokens_out", Integer),
    Column("instead_of", Integer, CheckConstraint("instead_of >= 1 AND instead_of < turn")),
    Column("broke_off", Word, _check_in("broke_off", "stopped", "left", "failed")),
    PrimaryKeyConstraint("owner", "thread_id", "turn"),
    ForeignKeyConstraint(["owner", "thread_id"], ["threads.owner", "threads.id"]),
)

# The word index of what was said in chats, as `terms` is of memories.
turn_terms = _table(
    "turn_terms",
    _owner(),
    Column("term", Word, nullable=False),
    Column("thread_id", Word, nullable=False),
    Column("turn", Integer, nullable=False),
    Column("weight", Number, nullable=False),
    PrimaryKeyConstraint("owner", "term", "thread_id", "turn"),
)

notes = _table(
    "notes",
    _owner(),
    Column("id", Word, CheckConstraint("length(id) = 8"), nullable=False),
    Column("text", Word, nullable=False),
    Column("thread_id", Word),
    Column("turn", Integer),
    Column("created_at", Word, nullable=False),
    Column("updated_at", Word, nullable=False),
    PrimaryKeyConstraint("owner", "id"),
)

# What waits for the person's word: proposals of a preset that asks first, and findings that a person's own
# word stood against. A declined one stays, so that it is not proposed again.
proposals = _table(
    "proposals",
    _owner(),
    Column("id", Word, CheckConstraint("length(id) = 8"), nullable=False),
    Column("nature", Word, _check_in("nature", "proposal", "conflict"), nullable=False),
    Column("status", Word, _check_in("status", "waiting", "accepted", "declined", "expired"), nullable=False),
    Column("op", Word, _check_in("op", "add", "update", "end", "forget"), nullable=False),
    Column("memory_id", Word),
    Column("category", Word),
    Column("subject", Word),
    Column("content", Word, nullable=False),
    Column("score", Number),
    Column("made_by", Word),
    Column("thread_id", Word),
    Column("turn_ids", Word, nullable=False, server_default="[]"),
    Column("valid_from", Word),
    Column("reason", Word),
    Column("created_at", Word, nullable=False),
    Column("decided_at", Word),
    # What is asked, if it is more than yes or no, and the answers there are to it.
    Column("question", Word, _check_in("question", "keep", "over", "change", "which")),
    Column("choices", Word),
    Column("valid_until", Word),
    # Which words of the chat it would quote; the day they were said on, where they count from it.
    Column("quoted", Integer, CheckConstraint("quoted IN (0, 1)"), nullable=False, server_default="0"),
    Column("spans", Word),
    Column("said_on", Word),
    PrimaryKeyConstraint("owner", "id"),
    CheckConstraint("(question IS NULL) = (choices IS NULL)", name="a_question_has_choices"),
    CheckConstraint("(spans IS NOT NULL) = (quoted = 1)", name="a_quotation_offers_its_words"),
)
Index("proposals_by_status", proposals.c.owner, proposals.c.status, proposals.c.created_at)

# The owner's own choices that may hold personal words: memory switched off, topics never to be remembered.
choices = _table(
    "choices",
    _owner(),
    Column("name", Word, nullable=False),
    Column("value", Word, nullable=False),
    PrimaryKeyConstraint("owner", "name"),
)

# The cost meter: tokens by month, operation and model.
meter = _table(
    "meter",
    _owner(),
    Column("month", Word, nullable=False),
    Column("operation", Word, nullable=False),
    Column("model", Word, nullable=False),
    Column("calls", Integer, nullable=False),
    Column("tokens_in", Integer, nullable=False),
    Column("tokens_out", Integer, nullable=False),
    PrimaryKeyConstraint("owner", "month", "operation", "model"),
)

# Due work, without personal text, so that a job finds whom to serve before it serves anyone.
due = _table(
    "due",
    _owner(),
    Column("work", Word, nullable=False),
    Column("id", Word, nullable=False),
    Column("at", Word, nullable=False),
    PrimaryKeyConstraint("owner", "work", "id"),
)
Index("due_by_time", due.c.at, due.c.owner)

# What memories and turns mean, in the space of one embedder: `part` is a memory's version or a chat's turn, `nth`
# counts what was put in. Only what is active has one, as with words; spaces are never compared with each other.
vectors = _table(
    "vectors",
    _owner(),
    Column("space", Word, nullable=False),
    Column("kind", Word, _check_in("kind", "memory", "turn"), nullable=False),
    Column("item", Word, nullable=False),
    Column("part", Integer, nullable=False),
    Column("nth", Integer, nullable=False),
    Column("vector", LargeBinary, nullable=False),
    PrimaryKeyConstraint("owner", "space", "kind", "item", "part"),
)
Index("vectors_by_number", vectors.c.owner, vectors.c.space, vectors.c.kind, vectors.c.nth)

# How far a space is filled: vectors put in and taken out so far, by which a cache knows that it is behind, and the
# ledger entry through which memories have theirs.
vector_spaces = _table(
    "vector_spaces",
    _owner(),
    Column("space", Word, nullable=False),
    Column("added", Integer, nullable=False),
    Column("removed", Integer, nullable=False),
    Column("through", Integer, nullable=False),
    PrimaryKeyConstraint("owner", "space"),
)

# Keys to the doors; only a token's hash is kept. A service token names its owner with each request and has none of
# its own; one whose owner was erased keeps no name, but still says that this installation asks for tokens.
tokens = _table(
    "tokens",
    Column("id", Word, CheckConstraint("length(id) = 8"), nullable=False),
    Column("owner", Word, CheckConstraint("owner <> ''")),
    Column("hash", Word, nullable=False, unique=True),
    Column("kind", Word, _check_in("kind", "person", "agent", "service"), nullable=False),
    Column("scopes", Word, nullable=False),
    Column("name", Word),
    Column("created_at", Word, nullable=False),
    Column("expires_at", Word),
    Column("revoked_at", Word),
    Column("last_used_at", Word),
    Column("agent", Word),
    PrimaryKeyConstraint("id"),
    CheckConstraint("owner IS NOT NULL OR kind = 'service' OR revoked_at IS NOT NULL", name="opens_one_book"),
)
Index("tokens_by_owner", tokens.c.owner, tokens.c.created_at)

# A page's sign-in: its hash alone, and the token it was made with. It opens as long as both do.
page_sessions = _table(
    "page_sessions",
    Column("hash", Word, nullable=False),
    Column("token_id", Word, ForeignKey("tokens.id"), nullable=False),
    Column("created_at", Word, nullable=False),
    Column("expires_at", Word, nullable=False),
    PrimaryKeyConstraint("hash"),
)
Index("page_sessions_by_token", page_sessions.c.token_id)

# Which agents may run by themselves or start programs on this machine. A local mark: in no chain and in no export.
armed = _table(
    "armed",
    _owner(),
    Column("agent_id", Word, nullable=False),
    Column("at", Word, nullable=False),
    PrimaryKeyConstraint("owner", "agent_id"),
)

# Who may do what only one worker at a time should do, and until when.
leases = _table(
    "leases",
    Column("name", Word, nullable=False),
    Column("holder", Word, nullable=False),
    Column("until", Word, nullable=False),
    PrimaryKeyConstraint("name"),
)

# What a write with an idempotency key was answered, so that it can be sent again: kept in the transaction of the write
# itself, for a day. An erasure takes all of an owner's, since an answer quotes what was written.
answers = _table(
    "answers",
    _owner(),
    Column("key", Word, nullable=False),
    Column("request", Word, nullable=False),
    Column("status", Integer, nullable=False),
    Column("body", Word, nullable=False),
    Column("at", Word, nullable=False),
    PrimaryKeyConstraint("owner", "key"),
)

# An agent of one owner. `session` is its one shared session, moved by each run that succeeds under Active Memory:
# `step` counts those, `epoch` counts fresh starts, so that a run that began before a reset moves nothing after it.
# `turn_until` is the lease of whoever has the session in hand. `compressed` stands for the steps through
# `compressed_through`.
agents = _table(
    "agents",
    _owner(),
    Column("id", Word, CheckConstraint("length(id) = 8"), nullable=False),
    Column("name", Word, CheckConstraint("length(name) BETWEEN 1 AND 80"), nullable=False),
    Column("instructions", Word, nullable=False),
    Column("default_prompt", Word, nullable=False),
    Column("model", Word),
    Column("adapter", Word, nullable=False),
    Column("card_type", Word, nullable=False),
    Column("schedule", Word),
    Column("team", Word, nullable=False, server_default="[]"),
    Column("use_block", Integer, CheckConstraint("use_block IN (0, 1)"), nullable=False),
    Column("memory_enabled", Integer, CheckConstraint("memory_enabled IN (0, 1)"), nullable=False),
    Column("review_decisions", Integer, CheckConstraint("review_decisions IN (0, 1)"), nullable=False),
    Column("second_looks", Integer, CheckConstraint("second_looks IN (0, 1)"), nullable=False, server_default="0"),
    Column("thread_id", Word),
    Column("created_at", Word, nullable=False),
    Column("updated_at", Word, nullable=False),
    Column("deleted_at", Word),
    Column("session", Word),
    Column("session_at", Word),
    Column("fresh_at", Word),
    Column("epoch", Integer, nullable=False),
    Column("step", Integer, nullable=False),
    Column("compressed", Word),
    Column("compressed_through", Integer, nullable=False),
    Column("turn_until", Word),
    Column("turn_by", Word),
    PrimaryKeyConstraint("owner", "id"),
)

# One execution of an agent, here or, where it was only recorded, elsewhere: `made_at` says when it was made, `key` is
# the name under which it was sent, `link` where more of it stands. Once it has succeeded or failed its row never
# changes: not by its own agent, not by a re-examination (`parent_run` names the run it looks at again), not by a
# specialist (`lead_run` names its lead's run).
runs = _table(
    "runs",
    _owner(),
    Column("id", Word, CheckConstraint("length(id) = 8"), nullable=False),
    Column("agent_id", Word, nullable=False),
    Column(
        "nature", Word, _check_in("nature", "scheduled", "manual", "chat", "recorded", "re-examination"), nullable=False
    ),
    Column("status", Word, _check_in("status", "queued", "running", "succeeded", "failed"), nullable=False),
    Column("prompt", Word, nullable=False),
    Column("adapter", Word),
    Column("model", Word),
    Column("card_type", Word),
    Column("card", Word),
    Column("error", Word),
    Column("parent_run", Word),
    Column("lead_run", Word),
    Column("specialist", Word),
    Column("thread_id", Word),
    Column("session_before", Word),
    Column("session_after", Word),
    Column("epoch", Integer),
    Column("step", Integer),
    Column("tokens_in", Integer, nullable=False),
    Column("tokens_out", Integer, nullable=False),
    Column("created_at", Word, nullable=False),
    Column("started_at", Word),
    Column("finished_at", Word),
    Column("made_at", Word),
    Column("key", Word, CheckConstraint("length(key) BETWEEN 1 AND 200")),
    Column("link", Word),
    PrimaryKeyConstraint("owner", "id"),
    ForeignKeyConstraint(["owner", "agent_id"], ["agents.owner", "agents.id"]),
    ForeignKeyConstraint(["owner", "parent_run"], ["runs.owner", "runs.id"]),
    ForeignKeyConstraint(["owner", "lead_run"], ["runs.owner", "runs.id"]),
    CheckConstraint(
        "(parent_run IS NOT NULL) = (nature = 're-examination' AND lead_run IS NULL)", name="looks_again_at_one_run"
    ),
    CheckConstraint("(specialist IS NOT NULL) = (lead_run IS NOT NULL)", name="a_specialist_has_a_lead"),
    CheckConstraint("(finished_at IS NOT NULL) = (status IN ('succeeded', 'failed'))", name="ended_when_done"),
    CheckConstraint("card IS NULL OR (card_type IS NOT NULL AND status = 'succeeded')", name="a_card_is_a_result"),
    CheckConstraint("(error IS NOT NULL) = (status = 'failed')", name="a_failure_says_why"),
    CheckConstraint("session_after IS NULL OR (step IS NOT NULL AND status = 'succeeded')", name="success_moves"),
)
Index("runs_by_agent", runs.c.owner, runs.c.agent_id, runs.c.created_at, runs.c.id)
Index("runs_by_creation", runs.c.owner, runs.c.created_at, runs.c.id)
_children = runs.c.parent_run.isnot(None)
_partial("runs_by_parent", runs.c.owner, runs.c.parent_run, where=_children)
_led = runs.c.lead_run.isnot(None)
_partial("runs_by_lead", runs.c.owner, runs.c.lead_run, where=_led)
_moved = runs.c.step.isnot(None)
_partial("runs_by_step", runs.c.owner, runs.c.agent_id, runs.c.step, unique=True, where=_moved)

_keyed = runs.c.key.isnot(None)
_partial("runs_by_key", runs.c.owner, runs.c.agent_id, runs.c.key, unique=True, where=_keyed)

# What was said in a run, as it was said. The memory block is not in it: that stands in `injections`, where a purge
# reaches it.
transcripts = _table(
    "transcripts",
    _owner(),
    Column("run_id", Word, nullable=False),
    Column("turn", Integer, CheckConstraint("turn >= 1"), nullable=False),
    Column("role", Word, _check_in("role", "user", "assistant", "tool", "system"), nullable=False),
    Column("text", Word, nullable=False),
    Column("parts", Word),
    Column("at", Word, nullable=False),
    Column("tokens", Integer, nullable=False),
    PrimaryKeyConstraint("owner", "run_id", "turn"),
    ForeignKeyConstraint(["owner", "run_id"], ["runs.owner", "runs.id"]),
)

# How a run's card turned out. The first half is what the card said and never changes (`claim` is what it took to be so,
# with this `probability`, where it is a forecast; `recorded_at`: when it came in from outside); the second follows the
# bars, or the person's word, and comes to rest when the decision is closed.
decisions = _table(
    "decisions",
    _owner(),
    Column("run_id", Word, nullable=False),
    Column("agent_id", Word, nullable=False),
    Column("card_type", Word, nullable=False),
    Column("decided_at", Word, nullable=False),
    Column("action", Word),
    Column("symbol", Word),
    Column("entry", Number),
    Column("stop", Number),
    Column("target", Number),
    Column("conviction", Number),
    Column("expires", Word),
    Column("regime", Word),
    Column("probability", Number, CheckConstraint("probability BETWEEN 0 AND 1")),
    Column("claim", Word),
    Column("recorded_at", Word),
    Column("state", Word, _check_in("state", "open", "resolved", "expired"), nullable=False),
    Column("filled_at", Word),
    Column("fill_price", Number),
    Column("through", Word),
    Column("last_close", Number),
    Column("closed_at", Word),
    Column("closed_by", Word, _check_in("closed_by", "bars", "person", "agent")),
    Column(
        "outcome", Word, _check_in("outcome", "target", "stop", "time", "exited", "expired", "true", "false", "void")
    ),
    Column("exit_price", Number),
    Column("result_r", Number),
    Column("result_pct", Number),
    Column("note", Word),
    Column("known_at", Word),
    PrimaryKeyConstraint("owner", "run_id"),
    ForeignKeyConstraint(["owner", "run_id"], ["runs.owner", "runs.id"]),
    CheckConstraint("(state = 'open') = (closed_at IS NULL)", name="closed_when_not_open"),
    CheckConstraint("(closed_at IS NULL) = (closed_by IS NULL)", name="closed_by_somebody"),
    CheckConstraint("(closed_at IS NULL) = (outcome IS NULL)", name="closed_with_an_outcome"),
    CheckConstraint(
        "outcome IS NULL OR (outcome IN ('expired', 'void')) = (state = 'expired')", name="expired_is_an_outcome"
    ),
)
Index("decisions_by_state", decisions.c.owner, decisions.c.state, decisions.c.decided_at)
Index("decisions_by_agent", decisions.c.owner, decisions.c.agent_id, decisions.c.decided_at)

RESULT = (
    "state", "filled_at", "fill_price", "through", "last_close", "closed_at", "closed_by", "outcome", "exit_price",
    "result_r", "result_pct", "note",
)  # fmt: skip
"""What the bars, or somebody, say of a decision; the rest is the card's."""

# How a decision had turned out as far as was known from `known_at` to `until`, when bars came late or were corrected.
former_results = _table(
    "former_results",
    _owner(),
    Column("run_id", Word, nullable=False),
    Column("nth", Integer, CheckConstraint("nth >= 1"), nullable=False),
    Column("known_at", Word, nullable=False),
    Column("until", Word, nullable=False),
    *(Column(name, decisions.c[name].type) for name in RESULT),
    PrimaryKeyConstraint("owner", "run_id", "nth"),
    ForeignKeyConstraint(["owner", "run_id"], ["decisions.owner", "decisions.run_id"]),
)

# What everybody shares comes in batches, some thousands of rows of a file at a time. Each is a link in the chain of its
# source: one digest over the rows that came with it and those that went. `settled`: decisions were folded anew for it.
batches = _table(
    "batches",
    Column("nth", Integer, nullable=False),
    Column("source", Word, CheckConstraint("source <> ''"), nullable=False),
    Column("link", Integer, nullable=False),
    Column("what", Word, _check_in("what", "bars", "events"), nullable=False),
    Column("at", Word, nullable=False),
    Column("came", Integer, nullable=False),
    Column("went", Integer, nullable=False),
    Column("spans", Word, nullable=False),
    Column("digest", Word, nullable=False),
    Column("previous", Word, nullable=False),
    Column("hash", Word, nullable=False),
    Column("settled", Integer, CheckConstraint("settled IN (0, 1)"), nullable=False),
    PrimaryKeyConstraint("nth"),
)
Index("batches_by_source", batches.c.source, batches.c.link, unique=True)
_partial("batches_to_settle", batches.c.nth, where=batches.c.settled == 0)


def _bar_columns() -> list[Column[Any]]:
    return [
        Column("symbol", Word, CheckConstraint("symbol <> ''"), nullable=False),
        Column("timeframe", Word, nullable=False),
        Column("time", Word, nullable=False),
        Column("open", Number, nullable=False),
        Column("high", Number, nullable=False),
        Column("low", Number, nullable=False),
        Column("close", Number, nullable=False),
        Column("volume", Number),
        Column("batch", Integer, nullable=False),
    ]


# Prices, the same for everybody: nothing in here is anybody's. `time` is when a bar begins.
bars = _table(
    "bars",
    *_bar_columns(),
    PrimaryKeyConstraint("symbol", "timeframe", "time"),
    CheckConstraint("low <= open AND low <= close AND high >= open AND high >= close", name="within_its_range"),
)

# Bars as they were before the batch `went` corrected or removed them: what was known until then.
former_bars = _table(
    "former_bars",
    *_bar_columns(),
    Column("went", Integer, nullable=False),
    Column("until", Word, nullable=False),
    PrimaryKeyConstraint("symbol", "timeframe", "time", "went"),
)


def _event_columns() -> list[Column[Any]]:
    return [
        Column("id", Word, CheckConstraint("id <> ''"), nullable=False),
        Column("kind", Word, CheckConstraint("kind <> ''"), nullable=False),
        Column("time", Word, nullable=False),
        Column("importance", Number, CheckConstraint("importance BETWEEN 0 AND 1"), nullable=False),
        Column("title", Word, nullable=False),
        Column("symbols", Word, nullable=False),
        Column("known_at", Word),
        Column("batch", Integer, nullable=False),
    ]


# What moves prices, and when: as shared as they are. `symbols` is what the event touches, with `;` between; `known_at`
# is when it was announced, none if it always was known.
market_events = _table("market_events", *_event_columns(), PrimaryKeyConstraint("id"))
Index("market_events_by_time", market_events.c.time)

# Events as they were before the batch `went` corrected them.
former_events = _table(
    "former_events",
    *_event_columns(),
    Column("went", Integer, nullable=False),
    Column("until", Word, nullable=False),
    PrimaryKeyConstraint("id", "went"),
)

# The same events by what they touch, so that earlier ones of a kind are found without a look at the others.
event_symbols = _table(
    "event_symbols",
    Column("symbol", Word, CheckConstraint("symbol <> ''"), nullable=False),
    Column("kind", Word, nullable=False),
    Column("time", Word, nullable=False),
    Column("event_id", Word, nullable=False),
    PrimaryKeyConstraint("symbol", "kind", "time", "event_id"),
)

# A strategy of one owner. What it says (strategy, schedule, chat) stands in `skill_fields`, version by version.
skills = _table(
    "skills",
    _owner(),
    Column("id", Word, CheckConstraint("length(id) = 8"), nullable=False),
    Column("name", Word, CheckConstraint("length(name) BETWEEN 1 AND 80"), nullable=False),
    Column("description", Word, nullable=False),
    Column("created_at", Word, nullable=False),
    Column("ended_at", Word),
    PrimaryKeyConstraint("owner", "id"),
)

skill_fields = _table(
    "skill_fields",
    _owner(),
    Column("skill_id", Word, nullable=False),
    Column("field", Word, _check_in("field", "strategy", "schedule", "chat"), nullable=False),
    Column("version", Integer, CheckConstraint("version >= 1"), nullable=False),
    Column("value", Word, nullable=False),
    Column("recorded_at", Word, nullable=False),
    Column("actor", Word, _check_in("actor", "person", "agent", "extractor", "job"), nullable=False),
    Column("thread_id", Word),
    PrimaryKeyConstraint("owner", "skill_id", "field", "version"),
    ForeignKeyConstraint(["owner", "skill_id"], ["skills.owner", "skills.id"]),
)

# A skill at work on an account.
deployments = _table(
    "deployments",
    _owner(),
    Column("id", Word, CheckConstraint("length(id) = 8"), nullable=False),
    Column("skill_id", Word, nullable=False),
    Column("name", Word, CheckConstraint("length(name) BETWEEN 1 AND 80"), nullable=False),
    Column("account", Word),
    Column("capital", Number, CheckConstraint("capital > 0")),
    Column("currency", Word, nullable=False, server_default="USDT"),
    Column("started_at", Word),
    Column("ended_at", Word),
    Column("created_at", Word, nullable=False),
    PrimaryKeyConstraint("owner", "id"),
    ForeignKeyConstraint(["owner", "skill_id"], ["skills.owner", "skills.id"]),
    CheckConstraint("ended_at >= started_at", name="ends_after_it_started"),
)

# What a deployment holds, or held until `closed_at`.
positions = _table(
    "positions",
    _owner(),
    Column("deployment_id", Word, nullable=False),
    Column("symbol", Word, CheckConstraint("symbol <> ''"), nullable=False),
    Column("side", Word, _check_in("side", "long", "short"), nullable=False),
    Column("entry_time", Word, nullable=False),
    Column("known_at", Word, nullable=False),
    Column("entry_price", Number, nullable=False),
    Column("quantity", Number, CheckConstraint("quantity > 0"), nullable=False),
    Column("closed_at", Word),
    PrimaryKeyConstraint("owner", "deployment_id", "symbol", "side", "entry_time", "known_at"),
    ForeignKeyConstraint(["owner", "deployment_id"], ["deployments.owner", "deployments.id"]),
)

# What a deployment closed. `pnl` is net of fees; `known_at` is when the trade was known to be over.
trades = _table(
    "trades",
    _owner(),
    Column("deployment_id", Word, nullable=False),
    Column("exit_time", Word, nullable=False),
    Column("key", Word, CheckConstraint("key <> ''"), nullable=False),
    Column("symbol", Word, CheckConstraint("symbol <> ''"), nullable=False),
    Column("side", Word, _check_in("side", "long", "short"), nullable=False),
    Column("quantity", Number, CheckConstraint("quantity > 0"), nullable=False),
    Column("entry_time", Word, nullable=False),
    Column("entry_price", Number, CheckConstraint("entry_price > 0"), nullable=False),
    Column("exit_price", Number, nullable=False),
    Column("fees", Number, nullable=False),
    Column("pnl", Number, nullable=False),
    Column("mfe", Number),
    Column("mae", Number),
    Column("entry_regime_tag", Word),
    Column("entry_reason", Word),
    Column("exit_reason", Word),
    Column("known_at", Word, nullable=False),
    Column("batch", Integer, nullable=False),
    PrimaryKeyConstraint("owner", "deployment_id", "exit_time", "key"),
    ForeignKeyConstraint(["owner", "deployment_id"], ["deployments.owner", "deployments.id"]),
    CheckConstraint("entry_time <= exit_time AND exit_time <= known_at", name="entered_left_and_known"),
)

# Trades as they were until the batch `went` corrected them.
former_trades = _table(
    "former_trades",
    *(Column(column.name, column.type, nullable=column.nullable) for column in trades.c),
    Column("went", Integer, nullable=False),
    Column("until", Word, nullable=False),
    PrimaryKeyConstraint("owner", "deployment_id", "exit_time", "key", "went"),
    ForeignKeyConstraint(["owner", "deployment_id"], ["deployments.owner", "deployments.id"]),
)
Index("former_trades_by_end", former_trades.c.owner, former_trades.c.deployment_id, former_trades.c.until)

# Derived: what the trades of a day came to, so that no page walks them all. Where `trades` is null they have changed
# since, and the day is to be folded anew. It is under no chain and in no export.
trade_days = _table(
    "trade_days",
    _owner(),
    Column("deployment_id", Word, nullable=False),
    Column("day", Word, nullable=False),
    Column("trades", Integer),
    Column("last", Word),
    Column("known_at", Word),
    Column("figures", Word),
    Column("parts", Word),
    PrimaryKeyConstraint("owner", "deployment_id", "day"),
    ForeignKeyConstraint(["owner", "deployment_id"], ["deployments.owner", "deployments.id"]),
)

# What brokers' files told, execution by execution: `remaining` is what of it is open, written exactly, with the `fee`
# that belongs to it; funding has a side of its own and nothing that remains.
fills = _table(
    "fills",
    _owner(),
    Column("deployment_id", Word, nullable=False),
    Column("key", Word, CheckConstraint("key <> ''"), nullable=False),
    Column("symbol", Word, CheckConstraint("symbol <> ''"), nullable=False),
    Column("side", Word, _check_in("side", "buy", "sell", "funding"), nullable=False),
    Column("time", Word, nullable=False),
    Column("quantity", Number, nullable=False),
    Column("price", Number, nullable=False),
    Column("fee", Number, nullable=False),
    Column("multiplier", Number, nullable=False),
    Column("remaining", Word, nullable=False),
    Column("load", Integer),
    PrimaryKeyConstraint("owner", "deployment_id", "key"),
    ForeignKeyConstraint(["owner", "deployment_id"], ["deployments.owner", "deployments.id"]),
)
Index("fills_by_time", fills.c.owner, fills.c.deployment_id, fills.c.symbol, fills.c.time)

# What files brought, load by load, so that one can be taken back. `brought`: of memories the first and the last of its
# entries and its chats, each with its turns; of trades the batches it made, and in `before` what of earlier fills it
# found open. `told` is how its page tells it. `gone` is what went when it was taken back: memories and chats by their
# ids, or the fills; its trades are former.
loads = _table(
    "loads",
    _owner(),
    Column("nth", Integer, nullable=False),
    Column("at", Word, nullable=False),
    Column("actor", Word, nullable=False),
    Column("what", Word, _check_in("what", "trades", "memories"), nullable=False),
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
    CheckConstraint("(what = 'trades') = (deployment_id IS NOT NULL)", name="trades_have_a_deployment"),
    ForeignKeyConstraint(["owner", "deployment_id"], ["deployments.owner", "deployments.id"]),
)

# Which columns of a file are which of ours, by a name of the owner's.
mappings = _table(
    "mappings",
    _owner(),
    Column("name", Word, CheckConstraint("name <> ''"), nullable=False),
    Column("columns", Word, nullable=False),
    PrimaryKeyConstraint("owner", "name"),
)

# The figures behind one version of a lesson, which is a memory: only whether they still hold may change.
lessons = _table(
    "lessons",
    _owner(),
    Column("memory_id", Word, nullable=False),
    Column("version", Integer, nullable=False),
    Column("finding", Word, nullable=False),
    Column("skill_id", Word, nullable=False),
    Column("deployment_id", Word),
    Column("known_at", Word, nullable=False),
    Column("window_from", Word),
    Column("window_until", Word),
    Column("trades", Integer, nullable=False),
    Column("wins", Integer, nullable=False),
    Column("mean", Number, nullable=False),
    Column("median", Number, nullable=False),
    Column("low", Number, nullable=False),
    Column("high", Number, nullable=False),
    Column("p", Number, nullable=False),
    Column("tried", Integer, nullable=False),
    Column("withdrawn_at", Word),
    PrimaryKeyConstraint("owner", "memory_id", "version"),
    ForeignKeyConstraint(
        ["owner", "memory_id", "version"], ["versions.owner", "versions.memory_id", "versions.version"]
    ),
    ForeignKeyConstraint(["owner", "skill_id"], ["skills.owner", "skills.id"]),
    ForeignKeyConstraint(["owner", "deployment_id"], ["deployments.owner", "deployments.id"]),
)
Index("lessons_by_skill", lessons.c.owner, lessons.c.skill_id, lessons.c.finding)

# What belongs to one owner, children first: the order in which it can be erased.
OWNED = (
    answers,
    lessons,
    mappings,
    loads,
    fills,
    trade_days,
    former_trades,
    trades,
    positions,
    deployments,
    skill_fields,
    skills,
    former_results,
    decisions,
    transcripts,
    runs,
    agents,
    vectors,
    vector_spaces,
    turn_terms,
    messages,
    threads,
    notes,
    proposals,
    choices,
    meter,
    due,
    terms,
    likeness,
    labels,
    injected,
    injections,
    links,
    versions,
    memories,
    ledger,
    covers,
    seals,
    touched,
    erasures,
)
