"""`keepbook` as a test calls it: in this process, on the book of the test, as alice."""

import io
import json
import shutil
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest


class Ran(NamedTuple):
    """What a command left: its exit code, its answer and its remarks."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        return dict(json.loads(self.err)["error"])


Run = Callable[..., Ran]


@pytest.fixture
def keepbook_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line, wherever its book is."""
    from keepbook.doors.cli import main  # here: the tests of other doors run also while this one does not

    monkeypatch.setenv("KEEPBOOK_OWNER", "alice")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*args: object, stdin: str | bytes = "") -> Ran:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
        capsys.readouterr()
        code = main([str(arg) for arg in args])
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return Ran(code, said.out, said.err)

    return run


@pytest.fixture
def run_without_book(keepbook_command: Run, book_url: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command line where a book may be made, on each engine in turn."""
    monkeypatch.setenv("KEEPBOOK_DB", book_url)
    return keepbook_command


@pytest.fixture
def run(run_without_book: Run, book_url: str, engine_name: str, sqlite_template: str) -> Run:
    """Runs a command line on a fresh book, on each engine in turn."""
    if engine_name == "sqlite":
        shutil.copyfile(sqlite_template, book_url)
    return run_without_book


@pytest.fixture
def ask(run: Run) -> Callable[..., Any]:
    """Runs a command with --json and gives its answer."""

    def answer(*args: object, **more: Any) -> Any:
        ran = run(*args, "--json", **more)
        assert ran.code == 0, ran.err
        return ran.json

    return answer
