"""`keepbook doctor`: what is configured, what works, what to do.

Each check answers for itself, so that a broken part hides no other: a book that cannot be opened still shows
which settings led there. Nothing is made or changed, not even an empty book.
"""

import os
import platform
import shutil
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from keepbook.doors.cli.desk import BEGIN, Desk, command, home, version
from keepbook.doors.cli.paper import AMBER, META, Paper, count, grid, ink
from keepbook.errors import KeepbookError

LOW_DISK = 500_000_000


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at; `advice` says what to do where it is not as it should be."""

    name: str
    value: str
    ok: bool = True
    advice: str | None = None


def register(app: typer.Typer) -> None:
    command(app, "doctor", doctor, panel=BEGIN)


def doctor(desk: Desk) -> None:
    """Tell what is configured, what works and what to do."""
    checks = list(_checks(desk))
    ok = all(check.ok for check in checks)
    desk.answer({"ok": ok, "checks": checks}, _examined)
    if not ok:
        raise typer.Exit(1)


def _checks(desk: Desk) -> Iterator[Check]:
    yield Check("keepbook", version())
    yield Check("python", f"{platform.python_version()} at {sys.executable}")
    yield Check("sqlite", sqlite3.sqlite_version)
    try:
        settings = desk.settings
    except KeepbookError as error:
        yield Check("settings", error.message, False, "correct it, then run `keepbook doctor` again")
        return
    yield _config_file()
    yield Check("owner", settings.owner)
    yield from _presets(desk)
    yield from _database(desk)


def _config_file() -> Check:
    path = Path(os.environ.get("KEEPBOOK_CONFIG", home() / "config.toml")).expanduser()
    return Check("config file", str(path) if path.is_file() else f"none (it would be {path})")


def _presets(desk: Desk) -> Iterator[Check]:
    # With the settings by now; at the top of the module it would slow --help.
    from keepbook.presets import load_preset, preset_names

    folder = desk.settings.presets
    if not folder.is_dir():
        yield Check("presets folder", f"none (it would be {folder})")
    else:
        own = sorted(set(preset_names((folder,))) - set(preset_names()))
        yield Check("presets folder", f"{folder}: {', '.join(own) or 'no preset in it'}")
    for name in preset_names((folder,)):
        try:
            load_preset(name, (folder,))
        except KeepbookError as error:
            yield Check(f"preset {name}", error.message, False, "correct the file, or move it away")


def _database(desk: Desk) -> Iterator[Check]:
    file = desk.file
    if file is not None and not file.exists():
        yield _no_book(file)
        return
    try:
        facts = desk.keepbook.facts()
    except (KeepbookError, ImportError) as error:
        place = desk.place if file is not None else desk.place.partition("://")[0]
        yield Check("database", f"{place}: {error}", False, "correct that, or name another place with --db")
        return
    yield Check("database", f"{facts['engine']} at {facts['place']}")
    yield Check("size", f"{facts['size']}, schema {facts['schema']}")
    if file is not None:
        yield _disk(file)
    try:
        yield from _book(desk)
    except KeepbookError as error:
        yield Check("book", error.message, False, "correct that, then run `keepbook doctor` again")


def _no_book(file: Path) -> Check:
    """There is none yet: could there be?"""
    folder = next(parent for parent in file.absolute().parents if parent.exists())
    if not os.access(folder, os.W_OK) or not folder.is_dir():
        return Check(
            "database", f"none at {file}, and {folder} cannot be written to", False, "name another place with --db"
        )
    made = "" if folder == file.absolute().parent or file.parent == home() else f"; make the folder {file.parent} first"
    return Check("database", f"none at {file} yet", not made, f'begin with: keepbook remember "…"{made}')


def _disk(file: Path) -> Check:
    free = shutil.disk_usage(file.parent).free
    advice = None if free > LOW_DISK else "make room: a full disk refuses every write"
    return Check("free disk", f"{free / 1e9:.1f} GB", advice is None, advice)


def _book(desk: Desk) -> Iterator[Check]:
    book = desk.book
    yield Check("preset", book.preset().name)
    yield Check("time zone", desk.zone)
    try:
        with book.transaction():
            pass
        yield Check("writing", "works")
    except KeepbookError as error:
        yield Check("writing", error.message, False, "the book can be read only until that is corrected")
    totals = {state: book.list(scope="*", state=state, limit=1).total for state in ("active", "archived", "trash")}
    yield Check(
        "memories", f"{totals['active']:,} active, {totals['archived']:,} archived, {totals['trash']:,} in the trash"
    )
    result = book.verify()
    holds = f"holds, {count(result.entries, 'entry', 'entries')}"
    broken = f"broken at entry {result.broken}: {result.why}"
    yield Check("ledger", holds if result.ok else broken, result.ok, None if result.ok else "compare with a backup")


def _examined(paper: Paper, answer: dict[str, Any]) -> None:
    table = grid(text=1)
    for check in answer["checks"]:
        table.add_row(ink(check.name, META), ink(check.value, "" if check.ok else AMBER))
        if check.advice:
            table.add_row("", ink(f"To do: {check.advice}"))
    paper.sheet(table)
    paper.gap()
    wrong = sum(not check.ok for check in answer["checks"])
    paper.put("All is well." if not wrong else f"{count(wrong, 'thing')} to put right, marked with: To do.")
