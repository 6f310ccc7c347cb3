"""Tables of proposals, which wait for the person's answer, and of the person's choices."""

from sqlalchemy import CheckConstraint, Column, Index, Integer, PrimaryKeyConstraint, Table

from keepbook.storage.tables.declare import Number, Word, declare_table, one_of, owner_column

# What waits for the person's answer: proposals of a preset that asks first, and findings that contradict the person's
# own word. A declined one stays, so that it is not proposed again.
proposals: Table = declare_table(
    "proposals",
    owner_column(),
    Column("id", Word, CheckConstraint("length(id) = 8"), nullable=False),
    Column("nature", Word, one_of("nature", "proposal", "conflict"), nullable=False),
    Column("status", Word, one_of("status", "waiting", "accepted", "declined", "expired"), nullable=False),
    Column("op", Word, one_of("op", "add", "update", "end", "forget", "confirm"), nullable=False),
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
    # The kind of the question, if it is more than yes or no, and its possible answers.
    Column("question", Word, one_of("question", "keep", "over", "change", "which")),
    Column("choices", Word),
    Column("valid_until", Word),
    # Which words of the chat it would quote; the day they were said on, if they count days from it.
    Column("quoted", Integer, CheckConstraint("quoted IN (0, 1)"), nullable=False, server_default="0"),
    Column("spans", Word),
    Column("said_on", Word),
    # Which agent left it: the agent that its token is for, or the token, or the door it came through.
    Column("asked_by", Word),
    PrimaryKeyConstraint("owner", "id"),
    CheckConstraint("(question IS NULL) = (choices IS NULL)", name="a_question_has_choices"),
    CheckConstraint("(spans IS NOT NULL) = (quoted = 1)", name="a_quotation_offers_its_words"),
    exported="proposal",
    ids=("id",),
    covered=True,
    younger=("question", "choices", "valid_until", "quoted", "spans", "said_on", "asked_by"),
    may_go=True,
)
Index("proposals_by_status", proposals.c.owner, proposals.c.status, proposals.c.created_at)

# The owner's own choices that may hold personal words: memory switched off, topics never to be remembered.
choices: Table = declare_table(
    "choices",
    owner_column(),
    Column("name", Word, nullable=False),
    Column("value", Word, nullable=False),
    PrimaryKeyConstraint("owner", "name"),
    exported="choice",
    covered=True,
    may_go=True,
)
