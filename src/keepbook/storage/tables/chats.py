"""Tables of chats: what was said, and the owner's notes."""

from sqlalchemy import (
    CheckConstraint,
    Column,
    ColumnElement,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
)

from keepbook.storage.tables.declare import DERIVED, Number, Word, declare_table, one_of, owner_column, partial_index

GOING = "going"
"""The state of a chat that was deleted for good and is being removed: for everybody there is none."""

# A chat of one owner. `session` names it for an outside agent; our own chats have none. `extracted_through` is the
# watermark: the last turn that closing has read. `closing_until` is the lease of whoever is closing it.
threads: Table = declare_table(
    "threads",
    owner_column(),
    Column("id", Word, CheckConstraint("length(id) = 8"), nullable=False),
    Column("session", Word),
    Column("agent", Word),
    Column("preset", Word, nullable=False),
    Column("title", Word),
    Column("titled_by", Word, one_of("titled_by", "person", "model", "rules")),
    Column("state", Word, one_of("state", "active", "idle", "archived", GOING), nullable=False),
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
    # The turns that the person took out of what a model is sent, as a list.
    Column("out_of_view", Word),
    # The agent or program that began it; NULL: the person, or somebody before this was noted.
    Column("begun_by", Word),
    PrimaryKeyConstraint("owner", "id"),
    CheckConstraint("extracted_through BETWEEN 0 AND turns", name="watermark_within_the_chat"),
    exported="thread",
    ids=("id",),
    covered=True,
    passing=("closing_until", "closing_by"),
    younger=("out_of_view", "begun_by"),
    may_go=True,
)
IS_GOING: ColumnElement[bool] = threads.c.state == GOING
_outside = threads.c.session.isnot(None)
partial_index("threads_by_session", threads.c.owner, threads.c.session, unique=True, where=_outside)
Index("threads_by_touch", threads.c.owner, threads.c.touched_at, threads.c.id)

messages: Table = declare_table(
    "messages",
    owner_column(),
    Column("thread_id", Word, nullable=False),
    Column("turn", Integer, CheckConstraint("turn >= 1"), nullable=False),
    Column("role", Word, one_of("role", "user", "assistant", "tool", "system"), nullable=False),
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
    Column("broke_off", Word, one_of("broke_off", "stopped", "left", "failed")),
    # Who recorded it; NULL: it was said or answered in one of our own chats.
    Column("recorded_by", Word),
    # 1: it was said while memory was off. Nothing is learned from it, and no recall finds it.
    Column("unkept", Integer, CheckConstraint("unkept = 1")),
    PrimaryKeyConstraint("owner", "thread_id", "turn"),
    ForeignKeyConstraint(["owner", "thread_id"], ["threads.owner", "threads.id"]),
    exported="message",
    covered=True,
    younger=("recorded_by", "unkept"),
    may_change=(),
    may_go=True,
    own=("insert",),
)

# The word index of what was said in chats, as `terms` is of memories.
turn_terms: Table = declare_table(
    "turn_terms",
    owner_column(),
    Column("term", Word, nullable=False),
    Column("thread_id", Word, nullable=False),
    Column("turn", Integer, nullable=False),
    Column("weight", Number, nullable=False),
    PrimaryKeyConstraint("owner", "term", "thread_id", "turn"),
    **DERIVED,
    may_change=(),
    may_go=True,
)

notes: Table = declare_table(
    "notes",
    owner_column(),
    Column("id", Word, CheckConstraint("length(id) = 8"), nullable=False),
    Column("text", Word, nullable=False),
    Column("thread_id", Word),
    Column("turn", Integer),
    Column("created_at", Word, nullable=False),
    Column("updated_at", Word, nullable=False),
    PrimaryKeyConstraint("owner", "id"),
    exported="note",
    ids=("id",),
    covered=True,
    may_go=True,
)
