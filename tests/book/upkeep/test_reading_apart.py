"""A stranger's file is read in a process that has nothing to lose, and is ended at its limits."""

import errno
import gzip
import json
import os
import socket
import sqlite3
import subprocess
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from keepbook.book.upkeep import reading_apart
from keepbook.book.upkeep.importers.read_file import read_import
from keepbook.book.upkeep.reading_apart import SMALL, ReadingLimits, is_small_text, read_apart, resident_bytes
from keepbook.errors import Invalid, KeepbookError, NotFound

LIMITS = ReadingLimits(512, 60)
TRIED = "tests.book.upkeep.tried_readers:tried"


def read(does: str, limits: ReadingLimits = LIMITS, **told: Any) -> list[Any]:
    return list(read_apart(TRIED, Path(__file__), {"does": does, **told}, limits))


@pytest.fixture(autouse=True)
def own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Other programs leave folders in the one that all share."""
    (folder := tmp_path / "shared").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))


def left_behind() -> set[str]:
    return {one.name for one in Path(tempfile.gettempdir()).glob("keepbook-*") if one.is_dir()}


def test_it_knows_nothing_of_its_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEEPBOOK_DB", "postgresql://secret")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    (told,) = read("tell")
    assert {name for name in told["environment"] if not name.startswith("LC_")} <= {
        "HOME", "PYTHONPATH", "PYTHONUTF8", "SYSTEMROOT", "TMPDIR",
    }  # fmt: skip
    assert told["folder"] == told["temporary"]
    assert not Path(told["folder"]).exists()


def test_it_reaches_nobody_and_starts_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(Invalid, match="PermissionError"):
        read("connect", port=server.getsockname()[1])
    with pytest.raises(Invalid, match="PermissionError"):
        read("start")
    with pytest.raises(Invalid, match="OSError"):
        read("write")


def test_over_its_memory_it_is_ended_and_the_error_names_the_limit() -> None:
    before = left_behind()
    with pytest.raises(Invalid, match=r"more than 64 MB of memory.*import_memory_mb") as refused:
        read("take", ReadingLimits(64, 60), mb=500)
    assert refused.value.code == "import_memory"
    with pytest.raises(Invalid, match="64 MB"):
        read("tell all", ReadingLimits(64, 60))
    assert left_behind() <= before


def test_over_its_processor_time_it_is_ended_and_the_error_names_the_limit() -> None:
    with pytest.raises(Invalid, match=r"more than 1 s of computing.*import_cpu_seconds") as refused:
        read("spin", ReadingLimits(512, 1))
    assert refused.value.code == "import_cpu"


def test_what_it_refuses_is_refused_in_its_words_and_its_end_is_told() -> None:
    with pytest.raises(NotFound, match="no such thing") as refused:
        read("refuse")
    assert (refused.value.code, refused.value.field, refused.value.details) == ("gone", "file", {"line": 7})
    with pytest.raises(Invalid, match="ended with 3"):
        read("die")


@pytest.mark.parametrize("fails", ["process", "thread", "folder"])
def test_where_no_process_can_be_started_the_error_says_so_and_nothing_is_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fails: str
) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Process(subprocess.Popen[bytes]):
        def __init__(self, *told: Any, **more: Any) -> None:
            if fails == "process":
                raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
            super().__init__(*told, **more)
            started.append(self)

    def start(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(subprocess, "Popen", Process)
    if fails == "thread":
        monkeypatch.setattr(reading_apart._MemoryWatch, "start", start)
    if fails == "folder":
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(KeepbookError) as refused:
        list(read_apart("json:loads", tmp_path, {}, LIMITS))
    assert refused.value.code == "unavailable"
    assert all(one.poll() is not None for one in started)


def test_who_stops_listening_ends_it() -> None:
    before = left_behind()
    values = read_apart(TRIED, Path(__file__), {"does": "tell all"}, LIMITS, answer="stream")
    next(values)
    values.close()  # type: ignore[attr-defined]
    assert left_behind() <= before


@pytest.mark.parametrize(
    ("sent", "here"),
    [
        (b"one\ntwo\n", True),
        (b"\n" * SMALL, True),
        (b"\n" * (SMALL + 1), False),
        (b"PK\x03\x04", False),
        (gzip.compress(b"x", mtime=0), False),
        (b"PAR1", False),
        (b"SQLite format 3\x00", False),
        (b"a\x00b", False),
        (b" <html>", False),
        ("\ufeff \ufeff<html>".encode(), False),
    ],
)
def test_only_small_text_is_read_by_whoever_asks(sent: bytes, here: bool, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(sent)
    assert is_small_text(sent) is is_small_text(tmp_path / "file") is here
    assert not is_small_text(tmp_path)


# What came of hostile files; see docs/security.md

HEAVY = os.environ.get("KEEPBOOK_HEAVY_FILES") == "1"


def taken_by(source: bytes | Path, limits: ReadingLimits = LIMITS) -> tuple[float, int]:
    """Seconds, and bytes by which this process grew, until the file was read or refused."""
    before, began = resident_bytes(os.getpid()), time.perf_counter()
    with pytest.raises(Invalid):
        read_import(source, limits)
    return time.perf_counter() - began, resident_bytes(os.getpid()) - before


def test_megabytes_of_newlines_are_an_empty_file() -> None:
    sent = b"\n" * (20_000_000 if HEAVY else 2_000_000)
    with pytest.raises(Invalid, match="empty"):
        read_import(sent, LIMITS)
    header = json.dumps({"kind": "keepbook", "format": 3}).encode()
    assert read_import(header + sent, LIMITS).ours == ((1, header.decode() + "\n"),)


def test_a_small_archive_of_much_ends_at_the_memory_limit(tmp_path: Path) -> None:
    size = 200_000_000 if HEAVY else 60_000_000
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b"[" + b" " * size + b"]")
    assert (tmp_path / "bomb.zip").stat().st_size < size // 900
    _, grown = taken_by((tmp_path / "bomb.zip").read_bytes(), LIMITS if HEAVY else ReadingLimits(100, 60))
    assert grown < 30_000_000


def test_a_forged_export_is_read_apart_and_refused_by_its_line(kb: Any) -> None:
    header = json.dumps({"kind": "keepbook", "format": 3})
    deep = '{"kind":"memory","x":' + "[" * (40_000_000 if HEAVY else 2_000_000)
    with pytest.raises(Invalid, match="line 2 is not JSON") as refused:
        kb.book("alice").import_([header, deep])
    assert refused.value.code == "broken_line"


def test_a_database_whose_rows_are_computed_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "history.sqlite"
    with sqlite3.connect(path) as file:
        columns = "id, memory_id, old_memory, new_memory, event, created_at, updated_at, is_deleted"
        file.execute(
            f"CREATE VIEW history ({columns}) AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
            "SELECT i, i, '', 'x', 'ADD', '', '', 0 FROM n"
        )
    file.close()
    with pytest.raises(Invalid, match="no program"):
        read_import(path, LIMITS)


def test_links_in_a_folder_are_not_followed(tmp_path: Path) -> None:
    secret, notes = tmp_path / "secret", tmp_path / "notes"
    (secret / "deep").mkdir(parents=True)
    notes.mkdir()
    (secret / "key.md").write_text("# Key\n\nsk-secret\n")
    (notes / "Tea.md").write_text("- [habit] Drinks tea\n")
    (notes / "Key.md").symlink_to(secret / "key.md")
    (notes / "all").symlink_to(secret)
    (notes / "round").symlink_to(notes)
    incoming = read_import(notes, LIMITS).incoming
    assert incoming is not None
    assert [one.text for one in incoming.memories] == ["Drinks tea"]
    assert {(one.where, one.why) for one in incoming.refused} == {
        (name, "a link, and links are not followed") for name in ("Key.md", "all", "round")
    }


def test_what_comes_from_the_process_is_what_is_read_here(tmp_path: Path) -> None:
    samples = Path(__file__).parent / "importers" / "samples"
    for name in ("mem0-history.sqlite", "letta.af"):
        apart = list(read_apart("keepbook.book.upkeep.importers.read_file:values_in_file", samples / name,
                                {"name": name, "sent": False}, LIMITS))  # fmt: skip
        assert apart
    small = read_import(samples / "letta.af", LIMITS).incoming
    (tmp_path / "letta.af").write_bytes((samples / "letta.af").read_bytes() + b" " * SMALL)
    assert read_import(tmp_path / "letta.af", LIMITS).incoming == small
