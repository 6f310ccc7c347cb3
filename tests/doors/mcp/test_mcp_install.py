"""`keepbook mcp --install`: what goes into the clients' configs, and that all else in them stays."""

import json
import os
import pty
import select
import stat
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.doors.conftest import Run

from keepbook.doors.mcp import clients
from keepbook.doors.mcp.clients import CLIENTS, add_to_client
from keepbook.errors import Conflict

LINE = ["/opt/keepbook/bin/keepbook", "mcp", "--db", "/var/books/a b.db", "--owner", 'ann "the" first']
PLACES = {
    "claude-desktop": (".config/Claude/claude_desktop_config.json", "mcpServers", {}),
    "claude-code": (".claude.json", "mcpServers", {"type": "stdio"}),
    "cursor": (".cursor/mcp.json", "mcpServers", {}),
    "vscode": (".config/Code/User/mcp.json", "servers", {"type": "stdio"}),
    "windsurf": (".codeium/windsurf/mcp_config.json", "mcpServers", {}),
    "zed": (".config/zed/settings.json", "context_servers", {}),
    "codex": (".codex/config.toml", "mcp_servers", {}),
    "gemini": (".gemini/settings.json", "mcpServers", {}),
}
JSON_CLIENTS = [name for name in PLACES if name != "codex"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    return tmp_path


@pytest.fixture
def run(keepbook_command: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """On one engine: no book is opened."""
    monkeypatch.setenv("KEEPBOOK_DB", str(home / "book.db"))
    return keepbook_command


def config_of(home: Path, name: str) -> Path:
    return home / PLACES[name][0]


def read(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    return tomllib.loads(text) if path.suffix == ".toml" else dict(json.loads(text))


def entry_in(path: Path, name: str) -> dict[str, Any]:
    return dict(read(path)[PLACES[name][1]]["keepbook"])


def entry_for(name: str) -> dict[str, Any]:
    return {**PLACES[name][2], "command": LINE[0], "args": LINE[1:]}


def settled(home: Path) -> list[str]:
    """Every file below the home, to see that nothing is left lying about."""
    return sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", CLIENTS)
def test_a_config_that_is_not_there_is_made(home: Path, name: str) -> None:
    added = add_to_client(CLIENTS[name], LINE)
    path = config_of(home, name)
    assert (added.file, added.changed, added.backup) == (path, True, None)
    assert entry_in(path, name) == entry_for(name)
    assert settled(home) == [PLACES[name][0]]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = add_to_client(CLIENTS[name], LINE)
    assert (again.changed, again.backup) == (False, None)
    assert settled(home) == [PLACES[name][0]]


@pytest.mark.parametrize("name", JSON_CLIENTS)
def test_all_else_in_a_config_stays(home: Path, name: str) -> None:
    path, key = config_of(home, name), PLACES[name][1]
    others = {"theme": "dark", key: {"other": {"command": "ls", "args": ["-l"]}}, "zoom": 1.5, "Ünïcode": ["å", None]}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(others, indent=4, ensure_ascii=False), encoding="utf-8")
    path.chmod(0o640)
    before = path.read_bytes()
    added = add_to_client(CLIENTS[name], LINE)
    assert added.backup is not None
    assert added.backup.read_bytes() == before
    now = read(path)
    assert now[key].pop("keepbook") == entry_for(name)
    assert now == others
    assert list(now) == list(others)
    assert path.read_text(encoding="utf-8").startswith('{\n    "theme"')  # in the file's own indentation
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(added.backup.stat().st_mode) == 0o640


CODEX = """\
# mine
model = "o9"   # the good one

[mcp_servers.other]
command = "ls"
args = [
  "-l", # long
]

[profiles.fast]
model = "o9-mini"
"""


def test_all_else_in_a_toml_config_stays_letter_by_letter(home: Path) -> None:
    path = config_of(home, "codex")
    path.parent.mkdir()
    path.write_text(CODEX, encoding="utf-8")
    assert add_to_client(CLIENTS["codex"], LINE).backup == path.with_name("config.toml.bak")
    text = path.read_text(encoding="utf-8")
    assert text.startswith(CODEX)
    assert entry_in(path, "codex") == entry_for("codex")
    add_to_client(CLIENTS["codex"], [*LINE[:-1], "bob"])
    changed = path.read_text(encoding="utf-8")
    assert changed.startswith(CODEX)
    assert entry_in(path, "codex")["args"][-1] == "bob"
    assert len(changed.splitlines()) == len(text.splitlines())


def test_an_entry_that_is_there_is_brought_up_to_date(home: Path) -> None:
    path = config_of(home, "cursor")
    path.parent.mkdir()
    old = {"mcpServers": {"keepbook": {"command": "old", "args": [], "env": {"A": "1"}}, "z": {}}}
    path.write_text(json.dumps(old), encoding="utf-8")
    add_to_client(CLIENTS["cursor"], LINE)
    assert entry_in(path, "cursor") == {"command": LINE[0], "args": LINE[1:], "env": {"A": "1"}}
    add_to_client(CLIENTS["cursor"], [*LINE, "--preset", "coach"])
    assert sorted(each.name for each in path.parent.iterdir()) == ["mcp.json", "mcp.json.bak", "mcp.json.bak2"]
    assert json.loads(path.with_name("mcp.json.bak").read_text(encoding="utf-8")) == old


def test_an_entry_with_an_address_becomes_one_with_a_command(home: Path) -> None:
    path = config_of(home, "cursor")
    path.parent.mkdir()
    path.write_text(json.dumps({"mcpServers": {"keepbook": {"url": "http://localhost/mcp"}}}), encoding="utf-8")
    add_to_client(CLIENTS["cursor"], LINE)
    assert entry_in(path, "cursor") == entry_for("cursor")


def test_a_toml_entry_keeps_what_else_it_says(home: Path) -> None:
    path = config_of(home, "codex")
    path.parent.mkdir()
    entry = 'command = "old"\nargs = [\n  "a",\n  "[b",\n]\n# slow disk\nstartup_timeout_sec = 30\n'
    env = '\n[mcp_servers.keepbook.env]\nA = "1"\n'
    path.write_text(f"[mcp_servers.keepbook]\n{entry}{env}", encoding="utf-8")
    add_to_client(CLIENTS["codex"], LINE)
    assert entry_in(path, "codex") == {**entry_for("codex"), "startup_timeout_sec": 30, "env": {"A": "1"}}
    assert "# slow disk\nstartup_timeout_sec = 30\n" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cursor", '{"mcpServers": {'),
        ("zed", '// mine\n{"theme": "dark"}'),
        ("vscode", '{"servers": {},}'),
        ("cursor", "[]"),
        ("cursor", '"text"'),
        ("cursor", '{"mcpServers": []}'),
        ("cursor", '{"mcpServers": {"keepbook": "yes"}}'),
        ("cursor", '{"a": 1, "a": 2}'),
        ("gemini", "[" * 100_000),
        ("codex", "[mcp_servers"),
        ("codex", "mcp_servers = 3\n"),
        ("codex", 'mcp_servers = { other = { command = "ls" } }\n'),
        ("codex", 'mcp_servers.keepbook.command = "old"\n'),
    ],
)
def test_a_config_that_is_not_understood_is_left_alone(home: Path, run: Run, name: str, text: str) -> None:
    path = config_of(home, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    done = run("mcp", "--install", name, "--yes")
    assert done.code == 1
    assert "left alone" in done.err
    assert path.read_text(encoding="utf-8") == text
    assert settled(home) == [PLACES[name][0]]


def test_bytes_that_are_no_text_are_left_alone(home: Path, run: Run) -> None:
    path = config_of(home, "cursor")
    path.parent.mkdir()
    path.write_bytes(b'{"a": "\xff"}')
    assert run("mcp", "--install", "cursor", "--yes").code == 1
    assert path.read_bytes() == b'{"a": "\xff"}'


def test_an_empty_file_and_one_with_a_mark_are_fine(home: Path) -> None:
    path = config_of(home, "cursor")
    path.parent.mkdir()
    for text in ("", "\n", '\ufeff{"a": 1}'):
        path.write_text(text, encoding="utf-8")
        assert add_to_client(CLIENTS["cursor"], LINE).changed
        assert entry_in(path, "cursor") == entry_for("cursor")


def test_a_link_to_a_config_stays_a_link(home: Path) -> None:
    real, path = home / "dotfiles" / "cursor.json", config_of(home, "cursor")
    real.parent.mkdir()
    path.parent.mkdir()
    real.write_text('{"a": 1}', encoding="utf-8")
    path.symlink_to(real)
    added = add_to_client(CLIENTS["cursor"], LINE)
    assert path.is_symlink()
    assert (added.file, read(real)["a"]) == (real, 1)
    assert entry_in(real, "cursor") == entry_for("cursor")


def test_what_the_client_writes_in_the_meantime_is_not_lost(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = config_of(home, "claude-code")
    path.write_text('{"a": 1}', encoding="utf-8")
    copied = clients._back_up

    def meanwhile(where: Path, old: str) -> Path:
        path.write_text('{"a": 2}', encoding="utf-8")
        return copied(where, old)

    monkeypatch.setattr(clients, "_back_up", meanwhile)
    with pytest.raises(Conflict, match="try again"):
        add_to_client(CLIENTS["claude-code"], LINE)
    assert read(path) == {"a": 2}


def test_a_folder_that_cannot_be_written_is_told(home: Path, run: Run) -> None:
    (home / ".cursor").write_text("a file", encoding="utf-8")
    done = run("mcp", "--install", "cursor", "--yes")
    assert done.code == 1
    assert "Traceback" not in done.err
    assert settled(home) == [".cursor"]


def test_a_mac_has_some_of_them_elsewhere(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    support = home / "Library" / "Application Support"
    assert CLIENTS["claude-desktop"].path == support / "Claude" / "claude_desktop_config.json"
    assert CLIENTS["vscode"].path == support / "Code" / "User" / "mcp.json"
    assert CLIENTS["cursor"].path == home / ".cursor" / "mcp.json"


# --- the command -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLIENTS)
def test_without_a_yes_it_shows_and_writes_nothing(home: Path, run: Run, name: str) -> None:
    done = run("mcp", "--install", name)
    assert done.code == 0
    shown = tomllib.loads(done.out) if name == "codex" else json.loads(done.out)
    entry = shown[PLACES[name][1]]["keepbook"]
    assert entry["args"][-5:] == ["mcp", "--db", str(home / "book.db"), "--owner", "alice"]
    assert str(config_of(home, name)) in done.err
    assert "Nothing was written" in done.err
    assert settled(home) == []


def test_the_command_is_complete_wherever_the_client_runs(
    home: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(home)
    told = run("mcp", "--install", "cursor", "--db", "books/a.db", "--preset", "coach", "--owner", "-x", "--json").json
    entry = json.loads(told["snippet"])["mcpServers"]["keepbook"]
    assert os.path.isabs(entry["command"])
    assert os.access(entry["command"], os.X_OK)
    said = entry["args"][entry["args"].index("mcp") :]
    assert said == ["mcp", "--db", str(home / "books/a.db"), "--owner", "-x", "--preset", "coach"]
    assert (told["client"], told["written"], told["exists"]) == ("cursor", False, False)


def test_the_program_is_the_one_that_runs(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    program = home / "bin" / "keepbook"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(program)])
    told = run("mcp", "--install", "cursor", "--json").json
    assert json.loads(told["snippet"])["mcpServers"]["keepbook"]["command"] == str(program)


def test_with_yes_it_writes_and_tells_where_the_old_file_is(home: Path, run: Run) -> None:
    path = config_of(home, "gemini")
    path.parent.mkdir()
    path.write_text('{"theme": "dark"}', encoding="utf-8")
    done = run("mcp", "--install", "gemini", "--yes")
    assert done.code == 0
    assert f"Written to {path}" in done.err
    assert f"{path}.bak" in done.err
    assert read(path)["theme"] == "dark"
    assert entry_in(path, "gemini")["args"][-1] == "alice"
    assert "says so already" in run("mcp", "--install", "gemini", "--yes").err
    told = run("mcp", "--install", "gemini", "--yes", "--owner", "bob", "--json").json
    assert (told["written"], told["backup"]) == (True, f"{path}.bak2")


def test_without_a_client_it_lists_them_all(home: Path, run: Run) -> None:
    listed = run("mcp", "--install").out
    assert all(name in listed and CLIENTS[name].title in listed for name in CLIENTS)
    assert [each["client"] for each in run("mcp", "--install", "--json").json] == list(CLIENTS)
    assert settled(home) == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["mcp", "--install", "netscape"], "known are claude-desktop"),
        (["mcp", "cursor"], "add --install"),
        (["mcp", "--yes"], "add --install"),
        (["mcp", "--install", "--yes"], "say which client"),
    ],
)
def test_a_line_that_makes_no_sense_is_refused(home: Path, run: Run, line: list[str], words: str) -> None:
    done = run(*line)
    assert done.code == 1
    assert words in done.err
    assert settled(home) == []


def test_without_the_library_it_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("keepbook.doors.mcp.s", "mcp."))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    done = run("mcp")
    assert done.code == 1
    assert "pip install 'keepbook[mcp]'" in done.err
    assert run("mcp", "--install").code == 0  # a config can be had without


def test_a_password_stays_out_of_the_clients_config(home: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    address = "postgresql://ann:geheim@localhost/books"
    for line in (["--db", address], []):
        monkeypatch.setenv("KEEPBOOK_DB", address)
        done = run("mcp", "--install", "cursor", "--yes", *line)
        assert done.code == 1
        assert "geheim" not in done.out + done.err
        assert settled(home) == []
    monkeypatch.delenv("KEEPBOOK_DB")
    monkeypatch.setenv("KEEPBOOK_CONFIG", str(home / "config.toml"))
    (home / "config.toml").write_text(f'db = "{address}"\n', encoding="utf-8")
    assert run("mcp", "--install", "cursor", "--yes").code == 0
    assert entry_in(config_of(home, "cursor"), "cursor")["args"][-3:] == ["mcp", "--owner", "alice"]
    monkeypatch.setenv("KEEPBOOK_DB", "postgresql://ann@localhost/books")
    told = run("mcp", "--install", "zed", "--json").json
    assert "postgresql://ann@localhost/books" in told["snippet"]


@pytest.mark.parametrize(("answer", "written"), [("y", True), ("yes", True), ("", False), ("no", False)])
def test_at_a_terminal_it_asks(home: Path, monkeypatch: pytest.MonkeyPatch, answer: str, written: bool) -> None:
    monkeypatch.setenv("KEEPBOOK_DB", str(home / "book.db"))
    monkeypatch.setenv("TERM", "xterm")
    parent, child = pty.openpty()
    line = [sys.executable, "-m", "keepbook", "mcp", "--install", "cursor"]
    with subprocess.Popen(line, stdin=child, stdout=child, stderr=child) as process:
        os.close(child)
        seen, asked = b"", False
        while True:
            assert select.select([parent], [], [], 60)[0], "the program neither answers nor ends"
            try:
                part = os.read(parent, 65536)
            except OSError:  # the other end is closed
                break
            seen += part
            if not part:
                break
            if not asked and b"[y/N]" in seen:
                asked = True
                os.write(parent, f"{answer}\n".encode())
        assert process.wait(60) == 0
    os.close(parent)
    assert asked
    assert config_of(home, "cursor").exists() is written
