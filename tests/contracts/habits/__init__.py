"""Habits: what somebody wants to do every day, on which days they did, and ideas for more. An example extension."""

from keepbook.extension import Extension

HABITS = Extension(
    name="habits",
    about="habits, and the days on which they were kept",
    tables=("tests.contracts.habits.tables",),
    operations="tests.contracts.habits:OPERATIONS",
    faces={"habits": "tests.contracts.habits.face:Habits"},
    house={"suggest_habit": "tests.contracts.habits.face:suggest_habit"},
    outside_tools="tests.contracts.habits.tools:habit_tools",
    sweeps="tests.contracts.habits.face",
    commands={"tests.contracts.habits.commands": ("habits",)},
    api=("tests.contracts.habits.api",),
    pages=("tests.contracts.habits.pages",),
    templates="tests.contracts.habits",
    menu="tests.contracts.habits.pages",
    metrics="tests.contracts.habits:METRICS",
    remote_faces={"habits": "tests.contracts.habits.client:HABITS"},
)
OPERATIONS = {"habits.read": "book", "habits.write": "talk"}
METRICS = {"habit_days": ("keepbook_habits_days", "Days on which a habit was kept.", None)}
