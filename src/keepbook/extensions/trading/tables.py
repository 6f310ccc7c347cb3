"""Tables of trading: what an owner trades by, what was traded, and what was learnt from it."""

from sqlalchemy import CheckConstraint, Column, ForeignKeyConstraint, Index, Integer, PrimaryKeyConstraint, Table

from keepbook.storage.tables.declare import DERIVED, Number, Word, declare_table, one_of, owner_column

# A strategy of one owner. What it says (strategy, schedule, chat) stands in `skill_fields`, version by version.
skills: Table = declare_table(
    "skills",
    owner_column(),
    Column("id", Word, CheckConstraint("length(id) = 8"), nullable=False),
    Column("name", Word, CheckConstraint("length(name) BETWEEN 1 AND 80"), nullable=False),
    Column("description", Word, nullable=False),
    Column("created_at", Word, nullable=False),
    Column("ended_at", Word),
    PrimaryKeyConstraint("owner", "id"),
    exported="skill",
    ids=("id",),
    covered=True,
)

skill_fields: Table = declare_table(
    "skill_fields",
    owner_column(),
    Column("skill_id", Word, nullable=False),
    Column("field", Word, one_of("field", "strategy", "schedule", "chat"), nullable=False),
    Column("version", Integer, CheckConstraint("version >= 1"), nullable=False),
    Column("value", Word, nullable=False),
    Column("recorded_at", Word, nullable=False),
    Column("actor", Word, one_of("actor", "person", "agent", "extractor", "job"), nullable=False),
    Column("thread_id", Word),
    PrimaryKeyConstraint("owner", "skill_id", "field", "version"),
    ForeignKeyConstraint(["owner", "skill_id"], ["skills.owner", "skills.id"]),
    exported="field",
    covered=True,
    may_change=(),
    own=("insert",),
)

# A skill at work on an account. `removed_at`: the load that had made it was taken back, or its making was.
deployments: Table = declare_table(
    "deployments",
    owner_column(),
    Column("id", Word, CheckConstraint("length(id) = 8"), nullable=False),
    Column("skill_id", Word, nullable=False),
    Column("name", Word, CheckConstraint("length(name) BETWEEN 1 AND 80"), nullable=False),
    Column("account", Word),
    Column("capital", Number, CheckConstraint("capital > 0")),
    Column("currency", Word, nullable=False, server_default="USDT"),
    Column("started_at", Word),
    Column("ended_at", Word),
    Column("created_at", Word, nullable=False),
    Column("removed_at", Word),
    PrimaryKeyConstraint("owner", "id"),
    ForeignKeyConstraint(["owner", "skill_id"], ["skills.owner", "skills.id"]),
    CheckConstraint("ended_at >= started_at", name="ends_after_it_started"),
    exported="deployment",
    ids=("id", "skill_id"),
    covered=True,
)

# What a deployment holds, or held until `closed_at`.
positions: Table = declare_table(
    "positions",
    owner_column(),
    Column("deployment_id", Word, nullable=False),
    Column("symbol", Word, CheckConstraint("symbol <> ''"), nullable=False),
    Column("side", Word, one_of("side", "long", "short"), nullable=False),
    Column("entry_time", Word, nullable=False),
    Column("known_at", Word, nullable=False),
    Column("entry_price", Number, nullable=False),
    Column("quantity", Number, CheckConstraint("quantity > 0"), nullable=False),
    Column("closed_at", Word),
    PrimaryKeyConstraint("owner", "deployment_id", "symbol", "side", "entry_time", "known_at"),
    ForeignKeyConstraint(["owner", "deployment_id"], ["deployments.owner", "deployments.id"]),
    exported="position",
    covered=True,
    bulk=True,
)

# What a deployment closed. `pnl` is net of fees; `known_at` is when the trade was known to be over.
trades: Table = declare_table(
    "trades",
    owner_column(),
    Column("deployment_id", Word, nullable=False),
    Column("exit_time", Word, nullable=False),
    Column("key", Word, CheckConstraint("key <> ''"), nullable=False),
    Column("symbol", Word, CheckConstraint("symbol <> ''"), nullable=False),
    Column("side", Word, one_of("side", "long", "short"), nullable=False),
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
    exported="trade",
    uncovered="sealed batch by batch",
    bulk=True,
    may_go=True,
    own=("delete",),
)

# Trades as they were until the batch `went` corrected them.
former_trades: Table = declare_table(
    "former_trades",
    *(Column(column.name, column.type, nullable=column.nullable) for column in trades.c),
    Column("went", Integer, nullable=False),
    Column("until", Word, nullable=False),
    PrimaryKeyConstraint("owner", "deployment_id", "exit_time", "key", "went"),
    ForeignKeyConstraint(["owner", "deployment_id"], ["deployments.owner", "deployments.id"]),
    exported="former_trade",
    uncovered="sealed batch by batch",
    former_of="trades",
    bulk=True,
    may_change=(),
)
Index("former_trades_by_end", former_trades.c.owner, former_trades.c.deployment_id, former_trades.c.until)

# Derived: what the trades of a day came to, so that no page walks them all. Where `trades` is null they have changed
# since, and the day is to be folded anew. It is under no chain and in no export.
trade_days: Table = declare_table(
    "trade_days",
    owner_column(),
    Column("deployment_id", Word, nullable=False),
    Column("day", Word, nullable=False),
    Column("trades", Integer),
    Column("last", Word),
    Column("known_at", Word),
    Column("figures", Word),
    Column("parts", Word),
    PrimaryKeyConstraint("owner", "deployment_id", "day"),
    ForeignKeyConstraint(["owner", "deployment_id"], ["deployments.owner", "deployments.id"]),
    **DERIVED,
    may_go=True,
)

# What brokers' files told, execution by execution: `remaining` is what of it is open, written exactly and in the units
# of its own day, with the `fee` that belongs to it. Funding, splits (`quantity` for one) and expiries have a side of
# their own and nothing that remains.
fills: Table = declare_table(
    "fills",
    owner_column(),
    Column("deployment_id", Word, nullable=False),
    Column("key", Word, CheckConstraint("key <> ''"), nullable=False),
    Column("symbol", Word, CheckConstraint("symbol <> ''"), nullable=False),
    Column("side", Word, one_of("side", "buy", "sell", "funding", "split", "expiry"), nullable=False),
    Column("time", Word, nullable=False),
    Column("quantity", Number, nullable=False),
    Column("price", Number, nullable=False),
    Column("fee", Number, nullable=False),
    Column("multiplier", Number, nullable=False),
    Column("remaining", Word, nullable=False),
    Column("reason", Word),
    Column("load", Integer),
    PrimaryKeyConstraint("owner", "deployment_id", "key"),
    ForeignKeyConstraint(["owner", "deployment_id"], ["deployments.owner", "deployments.id"]),
    exported="fill",
    covered=True,
    bulk=True,
    may_change=("remaining", "fee"),
    may_go=True,
    own=("delete",),
)
Index("fills_by_time", fills.c.owner, fills.c.deployment_id, fills.c.symbol, fills.c.time)

# Splits that the person said, for every deployment that holds the symbol: `ratio` is how many there are for one.
splits: Table = declare_table(
    "splits",
    owner_column(),
    Column("symbol", Word, CheckConstraint("symbol <> ''"), nullable=False),
    Column("time", Word, nullable=False),
    Column("ratio", Word, CheckConstraint("ratio <> ''"), nullable=False),
    Column("load", Integer, nullable=False),
    PrimaryKeyConstraint("owner", "symbol", "time"),
    exported="split",
    covered=True,
    may_change=(),
    may_go=True,
)

# Which columns of a file are which of ours, by a name of the owner's.
mappings: Table = declare_table(
    "mappings",
    owner_column(),
    Column("name", Word, CheckConstraint("name <> ''"), nullable=False),
    Column("columns", Word, nullable=False),
    PrimaryKeyConstraint("owner", "name"),
    exported="mapping",
    covered=True,
    may_change=(),
    may_go=True,
)

# The figures behind one version of a lesson, which is a memory: only whether they still hold may change.
lessons: Table = declare_table(
    "lessons",
    owner_column(),
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
    exported="lesson",
    covered=True,
    may_change=("withdrawn_at",),
    of_memory="memory_id",
    guards_memory="lesson",
    own=("insert",),
)
Index("lessons_by_skill", lessons.c.owner, lessons.c.skill_id, lessons.c.finding)
