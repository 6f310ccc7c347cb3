"""Commands that take care: verify, audit, doctor, configure, db upgrade and check, bench."""

import os
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keepbook.doors.cli import reports
from keepbook.doors.cli.desk import CARE, Desk, command, group, version
from keepbook.doors.cli.paper import Paper, count, ink
from keepbook.errors import Invalid, KeepbookError, NotFound

if TYPE_CHECKING:
    from keepbook.book.verify import Verification


def register(app: typer.Typer) -> None:
    command(app, "verify", verify, panel=CARE)
    command(app, "audit", audit, panel=CARE)
    command(app, "doctor", doctor, panel=CARE)
    command(app, "configure", configure, panel=CARE, writes=True)
    database = group(app, "db", panel=CARE, words="The database under the books.")
    command(database, "upgrade", upgrade, writes=True)
    command(database, "check", check)
    bench = group(app, "bench", panel=CARE, words="Measure Keepbook on this machine.")
    command(bench, "memory", bench_memory)


def verify(desk: Desk) -> None:
    """Walk the whole ledger and hold the book against it."""
    result = desk.book.verify()
    desk.answer(result, _verified)
    if not result.ok:
        raise typer.Exit(1)


def audit(desk: Desk) -> None:
    """Report what a careful person would tidy up."""
    found = desk.book.audit()
    if desk.as_json:
        # The book is open by now, and with it this.
        from keepbook.book.shape import to_json

        desk.json({"clean": found.clean} | to_json(found))
        return
    reports.audited(desk.paper, found, lambda id: desk.book.get(id).content)


def configure(desk: Desk) -> None:
    """Set the owner's own preset (--preset) and time zone (--zone)."""
    given = desk.given
    if given.preset is None and given.zone is None:
        raise Invalid("say what to set: --preset NAME, --zone ZONE, or both", field="preset")
    desk.book.configure(preset=given.preset, zone=given.zone)
    answer = {"owner": desk.book.owner, "preset": given.preset, "zone": given.zone}
    desk.answer({name: value for name, value in answer.items() if value is not None}, _configured)


# The database


def upgrade(desk: Desk) -> None:
    """Bring the database to this version's schema; for PostgreSQL as its administrator."""
    # SQLAlchemy is slow to load, and --help does not need it.
    from keepbook.storage.database import upgrade as bring_up

    steps = [] if desk.file is not None else bring_up(desk.place)
    facts = desk.keepbook.facts()  # opening a SQLite book brings it up
    desk.answer({"place": facts["place"], "schema": facts["schema"], "steps": steps}, _upgraded)


def check(desk: Desk) -> None:
    """Check that the database is reachable, prepared for this version and whole."""
    if desk.file is not None and not desk.file.exists():
        raise NotFound(f"there is no book at {desk.file}; the first write makes it", field="db")
    facts = desk.keepbook.facts()
    damage = [] if desk.file is None else _damage(desk.file, desk.settings.busy_seconds)
    desk.answer({"ok": not damage, **facts, "damage": damage}, _checked)
    if damage:
        raise typer.Exit(1)


def _damage(path: Path, busy_seconds: float) -> list[str]:
    """What SQLite finds wrong with its own pages and keys."""
    with closing(sqlite3.connect(path, timeout=busy_seconds)) as connection:
        found = [row[0] for row in connection.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
        found += [f"{row[0]}: a row without its {row[2]}" for row in connection.execute("PRAGMA foreign_key_check")]
    return found


# The doctor


def doctor(desk: Desk) -> None:
    """Tell what is configured, what works and what to do."""
    checks = _checks(desk)
    answer = {"ok": all(each.ok for each in checks), "checks": checks}
    desk.answer(answer, reports.examined) if desk.as_json else reports.examined(Paper.plain(), answer)
    if not answer["ok"]:
        raise typer.Exit(1)
