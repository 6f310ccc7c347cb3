"""`keepbook quickstart`: a first look at a book, on one that is made for it and gone afterwards.

It types nothing into a script of answers: each step runs the very command it shows, and prints what that says.
"""

import shlex
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import typer

from keepbook.doors.cli.commands import care, memory_read, memory_write
from keepbook.doors.cli.terminal.command import BEGIN, Desk, Given, command
from keepbook.doors.cli.terminal.paper import HEAD, ID, META, Paper, ink


class Step(NamedTuple):
    words: str
    line: tuple[object, ...]
    run: Callable[[], None]


class _Table(Desk):
    """A desk whose JSON answers are gathered, and whose hints name the program alone."""

    def __init__(self, given: Given) -> None:
        super().__init__(given)
        self.answers: list[Any] = []

    @property
    def program(self) -> str:
        return "keepbook"

    def json(self, value: Any) -> None:
        self.answers.append(value)


def register(app: typer.Typer) -> None:
    command(app, "quickstart", quickstart, panel=BEGIN)


def quickstart(desk: Desk) -> None:
    """See a book at work; nothing is left behind."""
    with tempfile.TemporaryDirectory(prefix="keepbook-") as folder:
        place = str(Path(folder) / "keepbook.db")
        given = Given(db=place, owner=desk.settings.owner, preset="general", zone=desk.given.zone, json=desk.given.json)
        table = _Table(given)
        try:
            shown = [_take(table, number, step) for number, step in enumerate(_steps(table), 1)]
            if desk.as_json:
                desk.json({"ok": table.book.verify().ok, "steps": shown})
            else:
                _farewell(table.paper)
        finally:
            table.close()


def _take(table: _Table, number: int, step: Step) -> dict[str, Any]:
    line = shlex.join(["keepbook", *map(str, step.line)])
    if not table.as_json:
        table.paper.put(ink(f"{number}. {step.words}", HEAD))
        table.paper.put(ink("$ ", META), ink(line, ID))
    step.run()
    if table.as_json:
        return {"command": line, "answer": table.answers.pop()}
    table.paper.gap()
    return {}


def _steps(table: _Table) -> Iterator[Step]:
    book = table.book
    said, anew = "Prefers index funds", "Prefers index funds, no single stocks"
    yield Step(
        "Keep what you would not want to say twice.",
        ("remember", said, "--category", "preference"),
        lambda: memory_write.remember(table, said, category="preference"),
    )
    sarah, since = "Sarah leads the design team", "last March"
    yield Step(
        "Say since when it is true, in plain words.",
        ("remember", sarah, "--category", "person", "--subject", "Sarah", "--since", since),
        lambda: memory_write.remember(table, sarah, category="person", subject="Sarah", since=since),
    )
    id = next(memory.id for memory in book.list() if memory.content == said)
    yield Step(
        "When it changes, the id stays and the old wording is kept.",
        ("update", id, anew),
        lambda: memory_write.update(table, id, anew),
    )
    yield Step("This is what every new chat is given.", ("block",), lambda: memory_read.block(table))
    question = "Which funds do I prefer?"
    yield Step(
        "The rest is found when it is asked for.", ("recall", question), lambda: memory_read.recall(table, question)
    )
    event = next(entry.event for entry in book.ledger() if entry.action == "update")
    yield Step("Any write can be taken back.", ("undo", event), lambda: memory_write.undo(table, event))
    yield Step(
        "Nothing is overwritten: all wordings, on both clocks.", ("history", id), lambda: memory_read.history(table, id)
    )
    yield Step("And nobody can rewrite it unseen.", ("verify",), lambda: care.verify(table))


def _farewell(paper: Paper) -> None:
    paper.put("That book is gone now. Begin your own: ", paper.hint("remember", '"…"'))
    paper.put("All commands: ", paper.hint("--help"), ink("   Your set-up: ", META), paper.hint("doctor"))
