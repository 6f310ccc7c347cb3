"""Every example of the documentation runs: Python as it stands, `keepbook …` on the real command line, SQL on a server.

A page is one story: its blocks run in order, in a folder of their own, with a home of their own and no network.
Where an example shows what is printed, that is compared: `Ab12Cd34` stands for any id, `…` for anything in a line.
"""

import io
import json
import os
import re
import shlex
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from tests.docs.pages import PAGES, Block, blocks, name_of
from tests.extensions.strangers import forgetting_strangers

from keepbook import Keepbook
from keepbook.doors.cli import main

ID = "Ab12Cd34"
ADMIN, LOGIN = "postgresql://admin@localhost/keepbook", "postgresql://keepbook_web@localhost/keepbook"
RUNNABLE = ("python", "sh", "sql")
LISTINGS = {
    "threads restore": ["threads", "list", "--trash"],
    "threads": ["threads", "list"],
    "notes bookmark": ["threads", "list"],
    "notes": ["notes", "list"],
    "proposals reopen": ["proposals", "list", "--status", "declined"],
    "proposals": ["proposals", "list"],
    "run": ["run", "list"],
    "people": ["people", "list"],
}
"""Which command shows the ids that another one takes; all others take a memory or a link."""
DATA = ("toml", "json", "jsonl", "csv", "text", "ini", "yaml")


def _needs_server(page: Path) -> bool:
    return any(ADMIN in block.code or LOGIN in block.code for block in blocks(page) if _acts(block))


def _acts(block: Block) -> bool:
    return block.runs and (block.language in RUNNABLE or block.file is not None)


TOLD = [page for page in PAGES if any(map(_acts, blocks(page)))]
AT_HOME = [page for page in TOLD if not _needs_server(page)]
ON_A_SERVER = [page for page in TOLD if _needs_server(page)]

Rewrite = Callable[[str], str]


class Reading:
    """Somebody who follows a page step by step."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], rewrite: Rewrite, admin_url: str
    ) -> None:
        self._monkeypatch, self._capsys, self._rewrite, self._admin_url = monkeypatch, capsys, rewrite, admin_url
        self._names: dict[str, Any] = {"__name__": "docs"}

    def follow(self, page: Path) -> None:
        printed: str | None = None
        for block in blocks(page):
            if not block.runs:
                printed = None
            elif block.language == "text" and block.file is None:
                assert printed is not None, f"{block.place}: it shows what was printed, but nothing ran before it"
                _compare(block, printed)
            elif _acts(block):
                printed = self._do(block)

    def _do(self, block: Block) -> str:
        self._capsys.readouterr()
        if block.file is not None:
            path = Path(block.file).expanduser()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.code, encoding="utf-8")
        elif block.language == "python":
            # Line numbers as on the page, so that a traceback leads there.
            source = "\n" * (block.line - 1) + self._rewrite(block.code)
            exec(compile(source, str(block.page), "exec"), self._names)
        elif block.language == "sql":
            with psycopg.connect(self._admin_url, autocommit=True) as server:
                server.execute(self._rewrite(block.code).encode())
        else:
            return "".join(self._command(line, block) for line in _lines(block.code))
        return self._capsys.readouterr().out

    def _command(self, line: str, block: Block) -> str:
        words = shlex.split(self._rewrite(line), comments=True)
        if not words:
            return ""
        typed = ""
        if words[0] == "echo" and words[2:3] == ["|"]:
            typed, words = f"{words[1]}\n", words[3:]
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            self._monkeypatch.setenv(name, value)
            return ""
        assert words[0] == "keepbook", f"{block.place}: only `keepbook …` can run; mark the block no-run: {line}"
        if ID in words:
            newest = self._newest_id(words)
            words = [newest if word == ID else word for word in words]
        code, out, err = self._run(words[1:], typed)
        assert code == 0, f"{block.place}: {line}\nexit code {code}\n{err}"
        return out

    def _newest_id(self, words: list[str]) -> str:
        """The id that the example before has just answered with: the newest of the kind that this command takes."""
        whose = [part for at, word in enumerate(words) if word in ("--owner", "--db") for part in words[at : at + 2]]
        listing = next((LISTINGS[start] for start in LISTINGS if " ".join(words[1:]).startswith(start)), None)
        if listing is not None:
            return str(json.loads(self._run([*listing, "--json", *whose])[1])[0]["id"])
        newest = json.loads(self._run(["ledger", "--limit", "1", "--json", *whose])[1])[0]
        return str(newest["link_id"] or newest["memory_id"])

    def _run(self, args: list[str], typed: str = "") -> tuple[int, str, str]:
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed.encode()), encoding="utf-8"))
        self._capsys.readouterr()
        code = main(args)
        said = self._capsys.readouterr()
        return code, said.out, said.err

    def close(self) -> None:
        for value in self._names.values():
            if isinstance(value, Keepbook):
                value.close()


def _lines(code: str) -> Iterator[str]:
    yield from code.replace("\\\n", " ").splitlines()


def _compare(block: Block, printed: str) -> None:
    def pattern(line: str) -> str:
        return re.escape(line).replace(ID, "[A-Za-z0-9]{8}").replace("…", ".*")

    shown = [line.rstrip() for line in block.code.rstrip("\n").splitlines()]
    real = [line.rstrip() for line in printed.rstrip("\n").splitlines()]
    fits = len(shown) == len(real) and all(
        re.fullmatch(pattern(one), two) for one, two in zip(shown, real, strict=True)
    )
    assert fits, f"{block.place} shows something else than is printed:\n{printed}"


@pytest.fixture
def follow(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Iterator[Callable[..., None]]:
    """Follows a page in an empty folder, as alice, at home in another one."""
    home, folder = tmp_path / "home", tmp_path / "here"
    home.mkdir()
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("KEEPBOOK_CONFIG", raising=False)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    settings = {"HOME": str(home), "LOGNAME": "alice", "TZ": "UTC", "COLUMNS": "100"}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)

    def no_network(self: socket.socket, address: Any) -> None:
        raise AssertionError(f"an example wants to reach {address}")

    monkeypatch.setattr(socket.socket, "connect", no_network)
    readings: list[Reading] = []

    def read(page: Path, rewrite: Rewrite = lambda code: code, admin_url: str = "") -> None:
        readings.append(Reading(monkeypatch, capsys, rewrite, admin_url))
        readings[-1].follow(page)

    monkeypatch.syspath_prepend(folder)  # what a page makes as a package is as good as installed
    with forgetting_strangers():
        yield read
        for reading in readings:
            reading.close()


@pytest.mark.parametrize("page", AT_HOME, ids=name_of)
def test_the_examples_of_a_page_run(page: Path, follow: Callable[..., None]) -> None:
    follow(page)


@pytest.mark.parametrize("engine_name", ["postgresql"])
@pytest.mark.parametrize("page", ON_A_SERVER, ids=name_of)
def test_the_examples_for_postgresql_run_on_a_real_server(
    page: Path, follow: Callable[..., None], empty_url: str
) -> None:
    login = f"keepbook_web_{os.getpid()}"
    has_login = any(block.language == "sql" for block in blocks(page))
    parts = urlsplit(empty_url)
    as_login = urlunsplit(parts._replace(netloc=f"{login}@{parts.netloc.rpartition('@')[2]}"))

    def rewrite(code: str) -> str:
        code = code.replace(ADMIN, empty_url).replace(LOGIN, as_login if has_login else empty_url)
        return re.sub(r"\bkeepbook_web\b", login, code)

    try:
        follow(page, rewrite, empty_url)
    finally:
        with psycopg.connect(empty_url, autocommit=True) as server:
            server.execute(f"DROP ROLE IF EXISTS {login}".encode())


def test_every_block_says_what_it_is() -> None:
    known = {*RUNNABLE, *DATA, "ts"}  # TypeScript runs in `make test-typescript`
    assert [block.place for page in PAGES for block in blocks(page) if block.language not in known] == []


def test_few_blocks_are_kept_from_running() -> None:
    kept = [block.place for page in PAGES for block in blocks(page) if block.language in RUNNABLE and not block.runs]
    run = [block.place for page in PAGES for block in blocks(page) if block.language in RUNNABLE and block.runs]
    assert len(kept) * 4 <= len(run), kept
