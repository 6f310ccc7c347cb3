"""`keepbook habits`."""

from typing import Annotated

import typer
from tests.contracts.habits.face import Habit, Habits

from keepbook.doors.cli.terminal.command import Invocation, command, group
from keepbook.doors.cli.terminal.paper import Paper


def register(app: typer.Typer) -> None:
    habits = group(app, "habits", panel="Habits", words="What to do every day, and whether it was done.")
    command(habits, "add", add, writes=True)
    command(habits, "list", show)


def add(call: Invocation, name: Annotated[str, typer.Argument(show_default=False)]) -> None:
    """Begin a habit."""
    call.answer([call.book.face(Habits).add(name)], _listed)


def show(call: Invocation) -> None:
    """List the habits."""
    call.answer(call.book.face(Habits).list(), _listed)


def _listed(paper: Paper, habits: list[Habit]) -> None:
    for habit in habits:
        paper.put(f"{habit.id}  {habit.name}: {habit.kept_on or 'not kept yet'}")
