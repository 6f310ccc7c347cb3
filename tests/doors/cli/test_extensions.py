"""The command line and extensions: what is there with them, without them, and with one of a stranger's."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.doors.conftest import Run

from keepbook import extension
from keepbook.doors.cli import _refuse_twins, command_line
from keepbook.errors import Invalid

Ask = Callable[..., Any]

HABITS = """
from keepbook.doors.cli.terminal.command import command, group
from keepbook.errors import NotFound
from keepbook.extension import Extension

NEXT = {"habit": "; `keepbook habit list` shows what there is"}


def register(app):
    habit = group(app, "habit", panel="Habits", words="Keep habits.")
    command(habit, "list", listing)
    command(habit, "show", show)


def listing(call):
    '''List them.'''
    call.paper.put("No habits.")


def show(call):
    '''Show one.'''
    raise NotFound("there is no such habit", field="habit")


HABITS = Extension(name="habits", version=3, about="what one does daily", commands={__name__: ("habit",)})
GREEDY = Extension(name="greedy", commands={__name__: ("list",)})
"""


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module with extensions that this package does not know."""
    (tmp_path / "strange_habits.py").write_text(HABITS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(extension, "_AT_WORK", {})  # whatever other tests have asked for under that name
    yield
    sys.modules.pop("strange_habits", None)
    extension.load_part.cache_clear()


def turn_on(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    monkeypatch.setenv("KEEPBOOK_EXTENSIONS", ",".join(names))


def words(monkeypatch: pytest.MonkeyPatch, *names: str) -> list[str]:
    """The commands there are with these extensions."""
    turn_on(monkeypatch, *names)
    tree: Any = typer.main.get_command(command_line())
    return list(tree.commands)


def test_without_extensions_the_core_works_and_shows_neither(
    run: Run, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn_on(monkeypatch)
    ask("remember", "Likes tea")
    assert "market" not in ask("verify")
    assert "market" not in ask("db", "check")
    assert run("jobs", "--once").out == "Nothing was due.\n"
    help = run("--help").out
    assert "Agents" not in help
    assert "trading" not in help.lower()
    for line in (["agent", "list"], ["run", "list"], ["trading", "skills"]):
        refused = run(*line)
        assert (refused.code, f"No such command '{line[0]}'" in refused.err) == (2, True)


@pytest.mark.parametrize(
    "line", [["chat", "--agent", "Desk"], ["token", "create", "--kind", "agent", "--agent", "Desk"]]
)
def test_an_agent_where_no_extension_has_any_is_refused_in_one_sentence(
    run: Run, monkeypatch: pytest.MonkeyPatch, line: list[str]
) -> None:
    turn_on(monkeypatch)
    refused = run(*line)
    assert refused.code == 1
    assert refused.err == "keepbook: there are no agents here: no extension that has them is on\n"


def test_doctor_names_an_extension_whose_code_is_gone(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    ask("remember", "Likes tea")
    monkeypatch.setattr("keepbook.app.not_compared", lambda _: ["habits"])
    found = {check["name"]: check for check in ask("doctor")["checks"]}
    assert found["extension habits"]["ok"]
    assert "is not on here" in found["extension habits"]["value"]


@pytest.mark.usefixtures("stranger")
def test_a_command_that_is_there_already_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    turn_on(monkeypatch, "strange_habits:GREEDY")
    refused = run("habit", "list", "--json")
    assert refused.code == 1
    assert refused.error["field"] == "extensions"
    assert refused.error["message"] == "extension 'greedy': there is a command 'list' already; call yours otherwise"


def test_a_command_that_an_extension_registers_without_saying_so_takes_no_name() -> None:
    app = command_line("commands.memory_read")
    app.command("list")(lambda: None)
    with pytest.raises(Invalid, match="a command 'list', and there is one already"):
        _refuse_twins(app)
