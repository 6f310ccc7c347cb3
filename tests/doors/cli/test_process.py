"""The program as it is installed: streams kept apart, exit codes, pipes, terminals, signals, speed of --help."""

import json
import os
import pty
import re
import select
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keepbook import Keepbook

PROGRAM = [sys.executable, "-m", "keepbook"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KEEPBOOK_DB", str(tmp_path / "book.db"))
    monkeypatch.setenv("KEEPBOOK_OWNER", "alice")
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "book.db"


def program(*args: object, **more: Any) -> "subprocess.CompletedProcess[str]":
    line = [*PROGRAM, *map(str, args)]
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=60, **more)


def test_answers_go_to_stdout_and_all_else_to_stderr(place: Path) -> None:
    done = program("list", "--json")
    assert (done.returncode, json.loads(done.stdout)["total"]) == (0, 0)
    assert "There is no book at" in done.stderr
    assert program("remember", "Likes tea").returncode == 0
    done = program("forget", "coffee", "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert json.loads(done.stderr)["error"]["code"] == "not_found"
    done = program("remember")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("keepbook: Missing argument")


def test_the_text_can_be_piped_in_and_the_export_piped_through(place: Path) -> None:
    assert program("remember", "-", input="Likes tæ\n").returncode == 0
    ascii_only = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    exported = subprocess.run([*PROGRAM, "export"], capture_output=True, check=True, env=ascii_only, timeout=60)
    assert "Likes tæ" in exported.stdout.decode("utf-8")
    taken = subprocess.run(
        [*PROGRAM, "import", "-", "--owner", "bob"], input=exported.stdout, env=ascii_only, check=True, timeout=60
    )
    assert taken.returncode == 0
    again = subprocess.run([*PROGRAM, "export", "--owner", "bob"], capture_output=True, check=True, timeout=60)
    assert again.stdout == exported.stdout


@pytest.mark.parametrize("line", [["list", "--limit", "1000", "--json"], ["ledger", "--limit", "1000"], ["export"]])
def test_a_reader_that_leaves_early_causes_no_noise(place: Path, line: list[str]) -> None:
    with Keepbook(place) as kb:
        book = kb.book("alice")
        with book.transaction():
            for number in range(400):
                book.remember(f"Fact {number} " + "with a long tail " * 20)
    with subprocess.Popen([*PROGRAM, *line], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 1


def test_ctrl_c_ends_it_in_one_line(place: Path) -> None:
    with subprocess.Popen([*PROGRAM, "remember", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        while not place.exists():  # it has made the book by the time it waits for the text, or is about to
            if process.poll() is not None or _waits_for_input(process.pid):
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read().decode()
        assert process.wait(60) == 130
    assert said.startswith("keepbook: stopped")
    assert said.count("\n") == 1


def _waits_for_input(pid: int) -> bool:
    try:
        return "pipe_read" in Path(f"/proc/{pid}/wchan").read_text(encoding="ascii")
    except OSError:
        return False


def _in_terminal(columns: int, line: list[str], answer: str = "", **environment: str) -> tuple[int, str]:
    """Run in a terminal of that width; answer its question, if it asks one."""
    parent, child = pty.openpty()
    subprocess.run(["stty", "cols", str(columns), "rows", "40"], stdin=child, check=True)
    env = os.environ | {"TERM": "xterm-256color"} | environment
    with subprocess.Popen([*PROGRAM, *line], stdin=child, stdout=child, stderr=child, env=env) as process:
        os.close(child)
        seen = b""
        while True:
            ready, _, _ = select.select([parent], [], [], 60)
            assert ready, "the program neither answers nor ends"
            try:
                part = os.read(parent, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            seen += part
            if answer and b"keep the book: " in seen:
                os.write(parent, answer.encode() + b"\n")
                answer = ""
        code = process.wait(60)
    os.close(parent)
    return code, seen.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colour_and_its_own_width_unless_it_wants_none(place: Path) -> None:
    program("remember", "Likes tea " + "of every kind " * 30)
    code, narrow = _in_terminal(60, ["list"])
    assert code == 0
    assert "\x1b[" in narrow
    plain = re.sub(r"\x1b\[[0-9;]*m", "", narrow)
    assert max(map(len, plain.splitlines())) <= 60
    _, wide = _in_terminal(120, ["list"])
    assert 60 < max(map(len, re.sub(r"\x1b\[[0-9;]*m", "", wide).splitlines())) <= 120
    _, quiet = _in_terminal(60, ["list"], NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", quiet)


def test_a_terminal_is_asked_for_the_owners_name_before_an_erasure(place: Path) -> None:
    program("remember", "Likes tea")
    code, said = _in_terminal(80, ["erase"], "bob")
    assert code == 1
    assert "This cannot be undone, not even by us." in said
    assert "nothing was erased" in said
    assert json.loads(program("list", "--json").stdout)["total"] == 1
    code, said = _in_terminal(80, ["erase"], "alice")
    assert code == 0
    assert "Erased everything of alice" in said
    assert "1 memory, 1 version, 1 ledger entry" in said
    assert json.loads(program("list", "--json").stdout)["total"] == 0


def test_progress_is_shown_on_a_terminal_only(place: Path, tmp_path: Path) -> None:
    program("remember", "Likes tea")
    _, said = _in_terminal(80, ["export", str(tmp_path / "out.jsonl")])
    assert "Exporting" in said
    assert "Exporting" not in program("export").stderr


def test_a_backup_is_whole_while_others_write(place: Path, tmp_path: Path) -> None:
    program("remember", "Likes tea")
    stop = threading.Event()
    written = 0

    def write() -> None:
        nonlocal written
        with Keepbook(place) as kb:
            while not stop.is_set():
                kb.book("alice").remember(f"Fact number {written} of many")
                written += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while written < 5:
            time.sleep(0.01)
        done = program("backup", tmp_path / "copy.db", "--json")
    finally:
        stop.set()
        writer.join()
    assert done.returncode == 0, done.stderr
    copy = tmp_path / "copy.db"
    assert json.loads(done.stdout) == {"file": str(copy), "bytes": copy.stat().st_size}
    assert copy.stat().st_mode & 0o077 == 0
    with Keepbook(copy) as kb:
        book = kb.book("alice")
        assert book.verify().ok
        assert 5 < book.list(limit=1).total <= written + 1
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_backup_does_not_wait_for_a_transaction_that_stays_open(place: Path, tmp_path: Path) -> None:
    program("remember", "Likes tea")
    holder = sqlite3.connect(place, isolation_level=None)
    try:
        holder.execute("BEGIN IMMEDIATE")
        assert program("backup", tmp_path / "copy.db").returncode == 0
    finally:
        holder.close()


def test_help_and_version_answer(place: Path) -> None:
    shown = program("--help")
    assert (shown.returncode, "<bool>" in shown.stdout) == (0, False)
    for name in (
        "remember", "update", "forget", "delete", "restore", "confirm", "promote", "demote", "link", "unlink", "list",
        "show", "history", "recall", "block", "as-of", "inject", "undo", "ledger", "verify", "audit", "export",
        "import", "erase", "doctor", "db", "backup", "quickstart", "bench",
    ):  # fmt: skip
        assert re.search(rf"\b{name}\b", shown.stdout)
    line = [sys.executable, "-X", "importtime", "-m", "keepbook", "--version"]
    asked = subprocess.run(line, capture_output=True, text=True, check=True, timeout=60)
    assert asked.stdout.startswith("keepbook ")
    loaded = {row.rpartition("|")[2].strip() for row in asked.stderr.splitlines()}
    assert not {"sqlalchemy", "keepbook.book.book", "keepbook.storage", "keepbook.app"} & loaded
    assert program("remember", "--help").returncode == 0


def test_each_part_of_the_command_line_has_the_commands_it_is_listed_with() -> None:
    import typer.main

    from keepbook.doors.cli import _PARTS, command_line

    for part, names in _PARTS.items():
        assert set(typer.main.get_command(command_line(part, "commands.audit")).commands) == {*names, "audit"}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (["list"], "list"), (["--db", "show", "list"], "list"), (["--json", "--owner=me", "undo", "3"], "undo"),
        (["--help", "list"], None), (["-h"], None), ([], None), (["--db"], None), (["--", "list"], "list"),
    ],
)  # fmt: skip
def test_the_command_on_a_line_is_told_from_options_and_their_values(line: list[str], word: str | None) -> None:
    from keepbook.doors.cli.terminal.command import first_word

    assert first_word(line) == word


def test_every_command_has_words_for_each_argument_and_option() -> None:
    import typer.main

    from keepbook.doors.cli import command_line

    def walk(command: Any, path: str) -> Callable[..., None] | None:
        assert command.help, path
        for parameter in command.params:
            assert getattr(parameter, "help", None), f"{path} {parameter.name}"
        for name, inner in getattr(command, "commands", {}).items():
            walk(inner, f"{path} {name}")
        return None

    walk(typer.main.get_command(command_line()), "keepbook")
