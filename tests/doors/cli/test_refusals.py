"""Bad input: one line that says what is wrong and what to do, exit code 1, and nothing is written."""

import gc
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keepbook.settings import load_settings

Run = Callable[..., Any]
on_sqlite = pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)


def refused(ran: Any, *pieces: str, code: int = 1) -> None:
    """One line on stderr, nothing on stdout."""
    assert ran.code == code, (ran.out, ran.err)
    assert ran.out == ""
    (line,) = ran.err.splitlines()
    assert line.startswith("keepbook: ")
    for piece in pieces:
        assert piece in line


# --- what is said ----------------------------------------------------------------------------------------


@on_sqlite
@pytest.mark.parametrize(
    ("args", "pieces"),
    [
        (["tea"], ["content", "4 to 500", "has 3"]),
        (["x" * 501], ["content", "4 to 500", "has 501"]),
        (["bell \x07 rings"], ["content", "control character", "remove"]),
        (["half a pair \udcff"], ["content", "broken character"]),
        (["\u200b\u200b\u200b\u200b"], ["content", "no visible character"]),
        (["Likes tea", "--category", "prefrence"], ["unknown category", "did you mean 'preference'"]),
        (["Likes tea", "--preset", "coach", "--category", "x" * 41], ["category", "1 to 40"]),
        (["Likes tea", "--subject", "x" * 201], ["subject", "200", "201"]),
        (["Likes tea", "--summary", "x" * 201], ["summary", "200", "201"]),
        (["Likes tea", "--detail", "x" * 65_537], ["body", "64 KB"]),
        (["Likes tea", "--scope", "x" * 201], ["scope", "200"]),
        (["Likes tea", "--confidence", "sure"], ["confidence", "asserted", "inferred"]),
        (["Likes tea", "--importance", "1.5"], ["importance", "0 to 1"]),
        (["Likes tea", "--importance", "nan"], ["importance", "0 to 1"]),
        (["Likes tea", "--since", "whenever"], ["since", "not a date", "Try"]),
        (["Likes tea", "--until", "2026-13-01"], ["until", "not a date", "Try"]),
        (["Likes tea", "--since", "2026-05-01", "--until", "2026-04-01"], ["before it begins"]),
        (["Likes tea", "--since", "March", "--zone", "Mars/Base"], ["not a time zone", "Europe/Oslo"]),
        (["Likes tea", "--since", "March", "--at", "soon"], ["at:", "not a date"]),
        (["Likes tea", "--preset", "general2"], ["no preset 'general2'", "general"]),
        (["Likes tea", "--owner", ""], ["owner"]),
        (["Likes tea", "--owner", " alice"], ["owner's name"]),
        (["Likes tea", "--owner", "a\nb"], ["owner's name"]),
        (["Likes tea", "--owner", "x" * 201], ["owner's name"]),
        (["-", "--detail", "-"], ["stdin can be read once"]),
        (["-"], ["content", "UTF-8"]),
    ],
)  # fmt: skip
def test_remember_refuses_what_breaks_a_rule(run: Run, args: list[str], pieces: list[str]) -> None:
    refused(run("remember", *args, stdin=b"\xff\xfe tea"), *pieces)
    assert run("ledger", "--json").json == []


@on_sqlite
def test_update_refuses_what_breaks_a_rule(run: Run) -> None:
    id = run("remember", "Likes tea", "--json").json["id"]
    refused(run("update", id, "no"), "content", "4 to 500")
    refused(run("update", id, "Likes milk", "--category", "food"), "unknown category")
    refused(run("update", id, "Likes milk", "--until", "2001-01-01"), "before it begins")
    refused(run("update", id, "Likes milk", "--expect-version", "7"), "version 1", "not 7")
    run("forget", id)
    refused(run("update", id, "Likes milk"), "archived", "restore")
    assert len(run("ledger", "--json").json) == 2


@on_sqlite
@pytest.mark.parametrize(
    ("args", "pieces"),
    [
        (["list", "--state", "lost"], ["state", "archived"]),
        (["list", "--limit", "0"], ["limit", "1 to 1000"]),
        (["list", "--limit", "1001"], ["limit", "1 to 1000"]),
        (["recall", "  "], ["query is empty"]),
        (["recall", "tea", "--limit", "201"], ["limit", "1 to 200"]),
        (["recall", "tea", "--known", "someday"], ["known", "not a date"]),
        (["block", "--valid", "someday"], ["valid", "not a date"]),
        (["block", "--preset", "nobody"], ["no preset"]),
        (["as-of", "--known", ""], ["known", "not a date"]),
        (["inject", ""], ["session"]),
        (["inject", "x" * 201], ["session", "200"]),
        (["forget", ""], ["name the memory"]),
        (["undo"], ["number", "--last"]),
        (["undo", "3", "--last"], ["number", "--last"]),
        (["undo", "--last"], ["nothing to undo"]),
        (["undo", "99"], ["no entry 99", "keepbook ledger"]),
        (["unlink", "nothing1"], ["no link", "keepbook show"]),
        (["show", "nothing1"], ["'nothing1'", "keepbook list"]),
        (["history", "nothing1"], ["nothing1", "keepbook list"]),
        (["restore", "nothing1"], ["nothing1", "keepbook list"]),
        (["delete", "nothing1", "--forever"], ["nothing1", "keepbook list"]),
        (["configure"], ["--preset", "--zone"]),
        (["configure", "--zone", "Mars/Base"], ["time zone"]),
        (["erase"], ["--confirm alice"]),
        (["erase", "--confirm", "bob"], ["alice"]),
    ],
)
def test_commands_refuse_what_cannot_be(run: Run, args: list[str], pieces: list[str]) -> None:
    run("remember", "Likes tea", "--owner", "bob")
    refused(run(*args), *pieces)


def test_another_owners_memory_does_not_exist(run: Run) -> None:
    foreign = run("remember", "Likes tea", "--owner", "bob", "--json").json["id"]
    own = run("remember", "Likes milk", "--json").json["id"]
    for line in (
        ["show", foreign],
        ["update", foreign, "Likes water"],
        ["forget", foreign],
        ["delete", foreign],
        ["delete", foreign, "--forever"],
        ["restore", foreign],
        ["confirm", foreign],
        ["promote", foreign],
        ["demote", foreign],
        ["history", foreign],
        ["link", own, foreign],
    ):
        refused(run(*line), foreign)
    assert run("show", foreign, "--owner", "bob", "--json").json["version"] == 1


def test_a_piece_that_fits_several_names_them_all(run: Run) -> None:
    ids = [run("remember", text, "--json").json["id"] for text in ("Likes green tea", "Likes black tea")]
    refused(run("forget", "tea"), "'tea' fits 2 memories", *ids)
    said = run("forget", "tea", "--json")
    assert (said.code, said.error["code"]) == (1, "ambiguous")
    assert {each["id"] for each in said.error["candidates"]} == set(ids)


@on_sqlite
def test_a_link_needs_two_memories_and_a_short_word(run: Run) -> None:
    one, other = (run("remember", text, "--json").json["id"] for text in ("Likes tea", "Likes milk"))
    refused(run("link", one, one), "two different")
    refused(run("link", one, other, ""), "relation")
    refused(run("link", one, other, "x" * 41), "relation", "40")
    refused(run("forget", one, "--reason", "bored"), "reason", "user_deleted")


def test_an_undo_that_something_newer_stands_on_says_what(run: Run) -> None:
    id = run("remember", "Likes tea", "--json").json["id"]
    run("update", id, "Likes milk")
    refused(run("undo", "1"), "entry 2", "undo entry 2")


def test_a_session_keeps_its_preset(run: Run) -> None:
    run("remember", "Likes tea")
    assert run("inject", "chat-1").code == 0
    refused(run("inject", "chat-1", "--preset", "coach"), "chat-1", "general", "another session")


# --- files -----------------------------------------------------------------------------------------------


@on_sqlite
@pytest.mark.parametrize(
    ("lines", "pieces"),
    [
        ([], ["empty"]),
        (['{"content": "Likes tea"}', "oops"], ["line 2", "not JSON"]),
        (['{"content": "Likes tea"}', "17"], ["line 2", "neither"]),
        (['{"kind": "keepbook", "format": 99}', "{}"], ["line 1", "format 99"]),
    ],
)
def test_a_broken_line_is_named_and_nothing_is_imported(
    run: Run, tmp_path: Path, lines: list[str], pieces: list[str]
) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text("\n".join(lines), encoding="utf-8")
    refused(run("import", file), *pieces, "nothing was imported")
    assert run("list", "--json").json["total"] == 0


def test_an_export_that_was_cut_or_altered_is_refused(run: Run) -> None:
    run("remember", "Likes tea")
    lines = run("export").out.splitlines(keepends=True)
    refused(run("import", "-", "--owner", "bob", stdin="".join(lines[:-1])), "cut off")
    altered = "".join(lines).replace("Likes tea", "Likes gin")
    refused(run("import", "-", "--owner", "bob", stdin=altered), "something in it was altered", "nothing was imported")
    run("remember", "Other", "--owner", "bob")
    refused(run("import", "-", "--owner", "bob", stdin="".join(lines)), "not empty", "--merge")


@on_sqlite
def test_files_that_cannot_be_read_or_written(run: Run, tmp_path: Path, book_url: str) -> None:
    run("remember", "Likes tea")
    (tmp_path / "there").write_bytes(b"\xff\xfe")
    refused(run("import", tmp_path / "missing.jsonl"), "missing.jsonl", "check its name")
    refused(run("import", tmp_path), "of no program that is known here", "Nothing was imported")
    refused(run("import", tmp_path / "there"), "UTF-8", "nothing was imported")
    for command in ("export", "backup"):
        refused(run(command, tmp_path / "there"), "exists", "--force")
        refused(run(command, tmp_path), "is a folder")
        refused(run(command, tmp_path / "nowhere" / "file"), "does not exist", "make it first")
        refused(run(command, os.devnull, "--force"), "not a plain file")
        for end in ("", "-wal", "-shm"):
            refused(run(command, f"{book_url}{end}", "--force"), "the book itself, or its log")
    assert run("verify").code == 0
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
def test_backup_of_a_server_without_its_programs_says_what_to_install(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    refused(run("backup", tmp_path / "copy.dump"), "pg_dump", "client programs")
    assert not (tmp_path / "copy.dump").exists()


# --- the place of the book -------------------------------------------------------------------------------


@pytest.fixture
def place(keepbook_command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A book with one memory, in a file."""
    path = tmp_path / "book.db"
    monkeypatch.setenv("KEEPBOOK_DB", str(path))
    assert keepbook_command("remember", "Likes tea").code == 0
    return path


EVERY = (["list"], ["remember", "Likes milk"], ["recall", "tea"], ["verify"], ["export"], ["db", "check"])


def test_a_folder_is_not_a_book(keepbook_command: Run, tmp_path: Path) -> None:
    for line in EVERY:
        refused(keepbook_command(*line, "--db", tmp_path), "is a folder", "keepbook.db")


def test_a_missing_folder_is_named(keepbook_command: Run, tmp_path: Path) -> None:
    for line in EVERY[:-1]:
        refused(keepbook_command(*line, "--db", tmp_path / "no" / "book.db"), "does not exist", "make it first")


def test_another_kind_of_file_is_left_alone(keepbook_command: Run, tmp_path: Path) -> None:
    text, foreign = tmp_path / "notes.txt", tmp_path / "photos.db"
    text.write_text("not a database", encoding="utf-8")
    with sqlite3.connect(foreign) as connection:
        connection.execute("CREATE TABLE photos (id)")
    connection.close()
    before = foreign.read_bytes()
    for line in EVERY:
        refused(keepbook_command(*line, "--db", text), "not a book", "choose another path")
        refused(keepbook_command(*line, "--db", foreign), "another program", "choose another path")
    assert (text.read_text(encoding="utf-8"), foreign.read_bytes()) == ("not a database", before)


def test_a_damaged_file_is_said_to_be_one(keepbook_command: Run, place: Path) -> None:
    whole = place.read_bytes()
    place.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))
    refused(keepbook_command("list"), "damaged", "backup")


def test_a_book_of_a_newer_program_asks_for_an_update(keepbook_command: Run, place: Path) -> None:
    with sqlite3.connect(place) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999_0123456789ab'")
    connection.close()
    refused(keepbook_command("list"), "9999_0123456789ab", "update keepbook")


def test_a_locked_file_is_busy(keepbook_command: Run, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPBOOK_BUSY_SECONDS", "0.2")
    holder = sqlite3.connect(place, isolation_level=None)
    try:
        holder.execute("BEGIN IMMEDIATE")
        refused(keepbook_command("remember", "Likes milk"), "busy", "try again")
        assert keepbook_command("list", "--json").json["total"] == 1
        doctor = keepbook_command("doctor", "--json")
        assert (doctor.code, doctor.json["ok"]) == (1, False)
    finally:
        holder.close()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that any user may enter, unlike those of pytest."""
    folder = Path(tempfile.mkdtemp(prefix="keepbook-test-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


AS_NOBODY = Path(__file__).with_name("as_nobody.py")


def _as_nobody(home: Path, *args: object) -> Any:
    line = [sys.executable, str(AS_NOBODY), *map(str, args)]
    env = os.environ | {"HOME": str(home), "KEEPBOOK_CONFIG": str(home / "config.toml")}
    del env["KEEPBOOK_DB"]
    done = subprocess.run(line, env=env, capture_output=True, text=True, check=False, timeout=60)
    out = done.stdout.partition("\n")[2]  # without the line of the first
    return type("Ran", (), {"code": done.returncode, "out": out, "err": done.stderr})


def test_a_read_only_book_says_so(keepbook_command: Run, place: Path, open_folder: Path) -> None:
    book = open_folder / "book.db"
    shutil.copy(place, book)
    book.chmod(0o444)
    open_folder.chmod(0o555)

    def nobody(*args: object) -> Any:
        return _as_nobody(open_folder, *args)

    refused(nobody("remember", "Likes milk", "--db", book), "cannot be written to", "permissions")
    refused(nobody("remember", "Likes milk", "--db", open_folder / "new.db"), "cannot be written to")
    refused(nobody("remember", "Likes milk"), ".keepbook", "--db")
    refused(nobody("export", "--db", ":memory:", open_folder / "out"), "cannot write", "another folder")
    book.chmod(0o000)
    refused(nobody("list", "--db", book), "cannot be read", "permissions")
    open_folder.chmod(0o000)
    refused(nobody("list", "--db", book), "Permission denied", "name another place")


def test_a_server_that_does_not_answer_is_named_without_its_password(keepbook_command: Run) -> None:
    with socket.socket() as taken:  # bound and not listening: nobody answers there
        taken.bind(("127.0.0.1", 0))
        url = f"postgresql://alice:geheim@127.0.0.1:{taken.getsockname()[1]}/books"
        for line in (*EVERY, ["db", "upgrade"]):
            ran = keepbook_command(*line, "--db", url)
            refused(ran, "cannot reach", "127.0.0.1", "check that the server runs")
            assert "geheim" not in ran.err
        doctor = keepbook_command("doctor", "--db", url)
        assert doctor.code == 1
        assert "cannot reach" in doctor.out
        assert "geheim" not in doctor.out + doctor.err


@pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
def test_a_server_without_the_schema_asks_for_the_upgrade(keepbook_command: Run, empty_url: str) -> None:
    refused(keepbook_command("list", "--db", empty_url), " db upgrade` as its administrator", "`keepbook --db ")
    gc.collect()  # a refused opening leaves no connection behind, which would warn here


@pytest.mark.parametrize("address", ["mysql://host/books", "https://example.org/book.db", "postgresql:books"])
def test_an_address_that_is_none_says_how_to_write_one(keepbook_command: Run, address: str) -> None:
    refused(keepbook_command("list", "--db", address), "postgresql://")


def test_a_missing_driver_says_what_to_install(keepbook_command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "psycopg"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    refused(keepbook_command("list", "--db", "postgresql://host/books"), "pip install 'keepbook[postgres]'")


def test_a_default_folder_that_cannot_be_made_is_named(
    keepbook_command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    refused(keepbook_command("remember", "Likes tea"), ".keepbook", "--db")


@pytest.mark.parametrize(
    ("config", "pieces"),
    [
        ("db = ", ["config.toml"]),
        ('dbb = "x"', ["dbb", "config.toml", "did you mean 'db'"]),
        ("busy_seconds = -1", ["busy_seconds", "config.toml"]),
    ],
)
def test_a_wrong_setting_is_named(
    keepbook_command: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: str, pieces: list[str]
) -> None:
    (tmp_path / "config.toml").write_text(config, encoding="utf-8")
    monkeypatch.setenv("KEEPBOOK_CONFIG", str(tmp_path / "config.toml"))
    refused(keepbook_command("list"), *pieces)
    doctor = keepbook_command("doctor", "--json")
    assert doctor.code == 1
    assert [check["name"] for check in doctor.json["checks"] if not check["ok"]] == ["settings"]


# --- programs --------------------------------------------------------------------------------------------


@on_sqlite
def test_an_error_in_json_has_code_message_and_field(run: Run) -> None:
    ran = run("--json", "remember", "tea")
    assert (ran.code, ran.out) == (1, "")
    assert ran.error["code"] == "invalid"
    assert ran.error["field"] == "content"
    assert "4 to 500" in ran.error["message"]
    broken = run("import", "-", "--json", stdin='{"oops')
    assert (broken.error["code"], broken.error["line"]) == ("broken_line", 1)


@on_sqlite
@pytest.mark.parametrize(
    "line", [["nonsense"], ["remember"], ["remember", "two", "words"], ["list", "--limit", "x"], ["list", "--nope"]]
)
def test_a_line_written_wrongly_exits_with_two(run: Run, line: list[str]) -> None:
    refused(run(*line), "--help", code=2)
    said = run(*line, "--json")
    assert (said.code, said.error["code"]) == (2, "usage")


@on_sqlite
def test_a_broken_ledger_exits_with_one(run: Run, book_url: str) -> None:
    run("remember", "Likes tea")
    with sqlite3.connect(book_url) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f'DROP TRIGGER "{name}"')
        connection.execute("UPDATE versions SET content = 'Likes gin'")
    connection.close()
    ran = run("verify", "--json")
    assert ran.code == 1
    assert (ran.json["ok"], ran.json["broken"]) == (False, 1)
    assert "broken at entry 1" in run("verify").out
    assert run("doctor").code == 1


def test_what_nobody_thought_of_is_one_line_and_verbose_shows_where(
    keepbook_command: Run, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from keepbook.book.book import Book
    from keepbook.doors.cli import main

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("by\nnothing")

    monkeypatch.setattr(Book, "list", fail)
    refused(keepbook_command("list"), "ZeroDivisionError: by nothing", "--verbose", "report")
    assert keepbook_command("list", "--json").error["code"] == "internal"
    assert main(["list", "--verbose"]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("more", [(), ("--public",), ("--yes",)])
def test_a_demo_for_others_must_be_meant(keepbook_command: Any, more: tuple[str, ...]) -> None:
    ran = keepbook_command("demo", "--host", "0.0.0.0", "--port", "0", "--no-open", "--json", *more)
    assert (ran.code, ran.error["code"]) == (1, "open_door")


def test_doctor_warns_of_each_unsafe_choice(
    keepbook_command: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".keepbook").mkdir(mode=0o755)
    (tmp_path / ".keepbook").chmod(0o755)
    monkeypatch.setenv("KEEPBOOK_DB", str(tmp_path / "book.db"))
    keepbook_command("remember", "Lives in Oslo")
    monkeypatch.setenv("KEEPBOOK_AGENT_PROGRAMS", '["claude"]')
    monkeypatch.setenv("KEEPBOOK_ALLOWED_HOSTS", '["book.example.org"]')
    ran = keepbook_command("doctor", "--json")
    told = {check["name"]: check for check in ran.json["checks"]}
    assert ran.code == 1
    assert not told["tokens"]["ok"]
    for name in ("programs", "login", "folder rights", "tokens"):
        assert told[name]["advice"], name
    keepbook_command("token", "create")
    (tmp_path / ".keepbook").chmod(0o700)
    monkeypatch.delenv("KEEPBOOK_AGENT_PROGRAMS")
    monkeypatch.delenv("KEEPBOOK_ALLOW_BYPASS_LOGIN")
    names = {check["name"] for check in keepbook_command("doctor", "--json").json["checks"]}
    assert not names & {"programs", "login", "folder rights", "tokens"}


@pytest.mark.parametrize("written", ['["one.org", "two.org"]', "one.org,two.org", " one.org , two.org,"])
def test_a_list_in_the_environment_is_written_either_way(written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPBOOK_ALLOWED_HOSTS", written)
    assert load_settings().allowed_hosts == ("one.org", "two.org")


def test_a_list_that_is_none_is_refused_with_how_to_write_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPBOOK_ALLOWED_HOSTS", '["one.org"')
    refused = run("list")
    assert refused.code == 1
    assert "allowed_hosts" in refused.err
    assert "one,another" in refused.err
