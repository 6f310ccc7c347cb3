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
from keepbook.doors.cli.terminal.command import BEGIN, GlobalOptions, Invocation, command
from keepbook.doors.cli.terminal.paper import HEAD, ID, META, Paper, ink


class QuickstartStep(NamedTuple):
    words: str
    line: tuple[object, ...]
    run: Callable[[], None]


class _Rehearsal(Invocation):
    """An invocation whose JSON answers are gathered, and whose hints name the program alone."""

    def __init__(self, given: GlobalOptions) -> None:
        super().__init__(given)
        self.answers: list[Any] = []

    @property
    def program(self) -> str:
        return "keepbook"

    def json(self, value: Any) -> None:
        self.answers.append(value)


def register(app: typer.Typer) -> None:
    command(app, "quickstart", quickstart, panel=BEGIN)


def quickstart(call: Invocation) -> None:
    """See a book at work; nothing is left behind."""
    with tempfile.TemporaryDirectory(prefix="keepbook-") as folder:
        place = str(Path(folder) / "keepbook.db")
        given = GlobalOptions(
            db=place, owner=call.settings.owner, preset="general", zone=call.given.zone, json=call.given.json
        )
        rehearsal = _Rehearsal(given)
        try:
            shown = [_take(rehearsal, number, step) for number, step in enumerate(_steps(rehearsal), 1)]
            if call.as_json:
                call.json({"ok": rehearsal.book.verify().ok, "steps": shown})
            else:
                _farewell(rehearsal.paper)
        finally:
            rehearsal.close()


def _take(rehearsal: _Rehearsal, number: int, step: QuickstartStep) -> dict[str, Any]:
    line = shlex.join(["keepbook", *map(str, step.line)])
    if not rehearsal.as_json:
        rehearsal.paper.put(ink(f"{number}. {step.words}", HEAD))
        rehearsal.paper.put(ink("$ ", META), ink(line, ID))
    step.run()
    if rehearsal.as_json:
        return {"command": line, "answer": rehearsal.answers.pop()}
    rehearsal.paper.gap()
    return {}


def _steps(rehearsal: _Rehearsal) -> Iterator[QuickstartStep]:
    book = rehearsal.book
    said, anew = "Prefers index funds", "Prefers index funds, no single stocks"
    yield QuickstartStep(
        "Keep what you would not want to say twice.",
        ("remember", said, "--category", "preference"),
        lambda: memory_write.remember(rehearsal, said, category="preference"),
    )
    sarah, since = "Sarah leads the design team", "last March"
    yield QuickstartStep(
        "Say since when it is true, in plain words.",
        ("remember", sarah, "--category", "person", "--subject", "Sarah", "--since", since),
        lambda: memory_write.remember(rehearsal, sarah, category="person", subject="Sarah", since=since),
    )
    id = next(memory.id for memory in book.list() if memory.content == said)
    yield QuickstartStep(
        "When it changes, the id stays and the old wording is kept.",
        ("update", id, anew),
        lambda: memory_write.update(rehearsal, id, anew),
    )
    yield QuickstartStep("This is what every new chat is given.", ("block",), lambda: memory_read.block(rehearsal))
    question = "Which funds do I prefer?"
    yield QuickstartStep(
        "The rest is found when it is asked for.", ("recall", question), lambda: memory_read.recall(rehearsal, question)
    )
    event = next(entry.event for entry in book.ledger() if entry.action == "update")
    yield QuickstartStep("Any write can be taken back.", ("undo", event), lambda: memory_write.undo(rehearsal, event))
    yield QuickstartStep(
        "Nothing is overwritten: all wordings, on both clocks.",
        ("history", id),
        lambda: memory_read.history(rehearsal, id),
    )
    yield QuickstartStep("And nobody can rewrite it unseen.", ("verify",), lambda: care.verify(rehearsal))


def _farewell(paper: Paper) -> None:
    paper.put("That book is gone now. Begin your own: ", paper.hint("remember", '"…"'))
    paper.put("All commands: ", paper.hint("--help"), ink("   Your set-up: ", META), paper.hint("doctor"))
