"""The tables: habits and their days belong to owners, ideas to everybody."""

from sqlalchemy import CheckConstraint, Column, ForeignKeyConstraint, PrimaryKeyConstraint

from keepbook.storage.tables.declare import Word, declare_table, owner_column

habits = declare_table(
    "habits",
    owner_column(),
    Column("id", Word, CheckConstraint("length(id) = 8"), nullable=False),
    Column("name", Word, nullable=False),
    Column("memory_id", Word),
    Column("kept_on", Word),
    PrimaryKeyConstraint("owner", "id"),
    ForeignKeyConstraint(["owner", "memory_id"], ["memories.owner", "memories.id"]),
    exported="habit",
    covered=True,
    ids=("id", "memory_id"),
    may_change=("kept_on",),
    of_memory="memory_id",
)

habit_days = declare_table(
    "habit_days",
    owner_column(),
    Column("habit_id", Word, nullable=False),
    Column("day", Word, nullable=False),
    Column("memory_id", Word),
    PrimaryKeyConstraint("owner", "habit_id", "day"),
    ForeignKeyConstraint(["owner", "habit_id"], ["habits.owner", "habits.id"]),
    exported="habit_day",
    covered=True,
    bulk=True,
    ids=("habit_id", "memory_id"),
    may_change=(),
    of_memory="memory_id",
)

habit_ideas = declare_table("habit_ideas", Column("name", Word, nullable=False), PrimaryKeyConstraint("name"))
