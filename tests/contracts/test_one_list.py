"""What stands in one place: where something has to be said a second time, the test names the place to touch."""

import importlib
import inspect
import io
import re
import subprocess
import sys
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pytest
import typer
from fastapi import APIRouter
from tests.extensions.storage.every_table import DECLARED

import keepbook
from keepbook import Keepbook, to_json
from keepbook.book.book import Book
from keepbook.book.memory.changes import Statement
from keepbook.book.memory.memories import OF_STATE, OF_VERSION, REASONS, Memory
from keepbook.book.memory.memory_json import memory_to_json
from keepbook.book.memory.write_path import VersionText
from keepbook.doors.cli import _PARTS
from keepbook.doors.cli.commands import memory_write
from keepbook.doors.cli.sheets.memory import memory_sheet
from keepbook.doors.cli.terminal.paper import Paper
from keepbook.doors.http.api.memory_bodies import ChangedMemory, NewMemory
from keepbook.doors.http.extension_routes import extension_routers
from keepbook.doors.http.web.routes import ROUTERS
from keepbook.extension import shipped
from keepbook.presets import load_preset
from keepbook.storage.tables.declare import Word, rules_of
from keepbook.storage.tables.memory import WORDS, versions
from keepbook.tools.memory import forget

SOURCE = Path(keepbook.__file__).parent


# Tables


@pytest.mark.parametrize("table", [table for table in DECLARED if "owner" in table.c], ids=lambda table: table.name)
def test_a_table_says_whether_its_rows_are_exported_and_covered(table: Any) -> None:
    rules = rules_of(table)
    assert bool(rules.exported) != bool(rules.unexported), "say `exported=` or, with the reason, `unexported=`"
    assert bool(rules.covered) != bool(rules.uncovered), "say `covered=True` or, with the reason, `uncovered=`"


def test_every_table_stands_in_a_room() -> None:
    """Asked where no other extension has been loaded before."""
    script = (
        "from tests.extensions.storage.every_table import DECLARED\n"
        "from keepbook.storage.tables.declare import metadata\n"
        "print(*sorted(set(metadata.tables) ^ {table.name for table in DECLARED}))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not done.stdout.split(), "name its module in storage/tables, or in `tables` of its extension"


# A field of a memory

KEPT_BY_A_PURGE = {
    "source", "made_by", "thread_id", "turn_ids", "valid_from", "valid_until", "recorded_at", "retired_at", "said_on",
    "owner", "memory_id", "written_by",
}  # fmt: skip
"""Columns of text that hold no words of the person's: a purge leaves them."""


def test_every_text_of_a_version_is_words_or_stays_with_good_reason() -> None:
    texts = {column.name for column in versions.c if column.type is Word}
    assert texts == {*WORDS, *KEPT_BY_A_PURGE}, "name it in WORDS of storage/tables/memory.py, or in KEPT_BY_A_PURGE"


GIVEN: dict[str, Any] = {
    "content": "Lives in Oslo", "category": "profile", "subject": "home", "summary": "Oslo", "body": "Since the move",
    "metadata": {"source": "crm"}, "tags": ["place"], "confidence": "asserted", "importance": 0.7,
    "valid_from": "2026-01-01T00:00:00.000000Z", "valid_until": "2030-01-01T00:00:00.000000Z", "scope": "team",
    "thread_id": "chat-1", "turn_ids": ["3"], "force": True,
}  # fmt: skip
OTHERWISE: dict[str, Any] = {
    "content": "Lives in Bergen", "category": "fact", "subject": "flat", "summary": "Bergen", "body": "By the harbour",
    "metadata": {"source": "mail"}, "tags": ["town"], "confidence": "inferred", "importance": 0.2,
    "valid_from": "2026-02-01T00:00:00.000000Z", "valid_until": "2031-01-01T00:00:00.000000Z", "thread_id": "chat-2",
    "turn_ids": ["4"],
}  # fmt: skip
"""For every field of a `Statement` a value, and another one."""
ABOUT_THE_SAYING = {"valid_from", "thread_id", "turn_ids", "importance", "confidence"}
"""What alone makes no new version: when, where and how surely the same was said."""


def _told(memory: Any) -> dict[str, Any]:
    return {name: to_json(getattr(memory, name)) for name in GIVEN if name != "force"}


def test_what_is_said_of_a_memory_is_kept_in_every_way_it_goes(kb: Keepbook) -> None:
    assert set(GIVEN) == SAID, "give a new field of Statement two values above"
    book = kb.book("alice")
    kept = book.remember(**GIVEN)
    assert _told(kept) == {name: value for name, value in GIVEN.items() if name != "force"}, "see next_version_text"
    for name in OTHERWISE.keys() - ABOUT_THE_SAYING - {"content"}:
        changed = book.update(kept.id, **{"content": "Lives in Oslo", name: OTHERWISE[name]})
        assert to_json(getattr(changed, name)) == OTHERWISE[name], f"{name}: see next_version_text and says_the_same"
    filled = {**{name: OTHERWISE[name] for name in WORDS if name in OTHERWISE}, "content": "Plays the cello"}
    bare = book.remember("Plays the cello", category="fact")
    again = book.remember(**filled, category="fact")
    assert again.id == bare.id
    assert {name: to_json(getattr(again, name)) for name in filled} == filled, "see likeness/repeats.py"


def test_what_is_said_of_a_memory_comes_along_with_an_export(kb: Keepbook) -> None:
    kept = kb.book("alice").remember(**{**GIVEN, "scope": None})
    lines = io.StringIO()
    kb.book("alice").export(lines)
    kb.book("bob").remember("Has a dog")
    kb.book("bob").import_(io.StringIO(lines.getvalue()), merge=True)
    (merged,) = [one for one in kb.book("bob").list() if one.content == kept.content]
    for name in (*WORDS, "valid_from", "valid_until", "category", "subject", "importance"):
        assert getattr(merged, name) == getattr(kept, name), f"{name}: see _active of book/upkeep/transfer.py"


def test_a_secret_is_found_in_all_words_of_a_memory(kb: Keepbook) -> None:
    for name in set(WORDS) - {"spans"}:
        told = GIVEN[name]
        said = {name: [SECRET] if isinstance(told, list) else {"key": SECRET} if isinstance(told, dict) else SECRET}
        kept = kb.book("alice").remember(**{"content": f"Something about {name}", **said}, force=True)
        assert kept.id in [id for id, _ in kb.book("alice").audit().secrets], f"{name}: see _secrets of upkeep/audit.py"


SECRET = "password: hunter2-Xy99"


def test_the_sheet_of_a_memory_shows_all_its_words(kb: Keepbook, capsys: pytest.CaptureFixture[str]) -> None:
    detail = kb.book("alice").get(kb.book("alice").remember(**GIVEN).id)
    memory_sheet(Paper(zone=lambda: "UTC", now=datetime(2026, 11, 18, tzinfo=UTC)), detail, {})
    shown = capsys.readouterr().out
    for name in (*WORDS, "subject"):
        missing = [piece for piece in _pieces(getattr(detail, name)) if piece not in shown]
        assert not missing, f"{name}: see _facts of doors/cli/sheets/memory.py"


def _pieces(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [*value, *value.values()]
    return [value] if isinstance(value, str) else [str(one) for one in value]


def test_a_row_gives_each_field_its_own_column() -> None:
    """The row is taken apart by position, for speed: here each column holds its own name."""
    day = "2026-11-18T00:00:00.000000Z"
    given = {"metadata": None, "tags": None, "turn_ids": "[]", "spans": None, "quoted": 0, "trashed_at": None}
    given |= {name: day for name in (*OF_STATE, *OF_VERSION) if name.endswith(("_at", "_from", "_until"))}
    given |= {"archived_at": None, "trashed_at": None, "score": None, "last_confirmed_at": None}
    named = [given.get(name, name) for name in (*OF_STATE, "id", "updated_at", *OF_VERSION)]
    told = memory_to_json([*named, 3, None], day, load_preset("general"))
    assert list(told) == [field.name for field in fields(Memory)], "Memory and memory_to_json have the same fields"
    shifted = {name: value for name, value in told.items() if value != name and isinstance(value, str)}
    assert set(shifted) <= {name for name in given if given[name] == day} | {
        "state",
        "last_referenced_at",
        "updated_at",
    }


def test_a_new_version_has_a_column_for_each_of_its_texts() -> None:
    assert {field.name for field in fields(VersionText)} <= set(versions.c.keys()), "see storage/tables/memory.py"


SAID = {field.name for field in fields(Statement)} - {"score", "made_by", "_"}
"""What can be said of a memory; who read it, and how surely, is for readers alone."""


PERIOD = {"since", "until"}
"""The same two instants as `valid_from` and `valid_until`, in words too; the book reads them where the owner lives."""


def _keywords(function: Any) -> set[str]:
    return set(inspect.signature(function).parameters) - {"self", "ref", "id"}


def test_every_door_takes_what_can_be_said_of_a_new_memory() -> None:
    place = "it is in Statement (book/memory/changes.py): offer it in "
    assert _keywords(Book.remember) == SAID | PERIOD, place + "book/writing.py"
    assert set(NewMemory.model_fields) == SAID | PERIOD, place + "doors/http/api/memory_bodies.py"
    assert _given_to(memory_write.remember, "remember") == SAID - {"content"}, place + "cli/commands/memory_write.py"


def test_every_door_takes_what_can_be_said_of_a_memory_anew() -> None:
    anew = SAID - {"scope"} | {"correction", "expect_version"}
    place = "it is in Statement (book/memory/changes.py): offer it in "
    assert _keywords(Book.update) == anew | PERIOD, place + "book/writing.py"
    assert set(ChangedMemory.model_fields) == anew | PERIOD, place + "doors/http/api/memory_bodies.py"
    assert _given_to(memory_write.update, "update") == anew - {"content"}, place + "cli/commands/memory_write.py"


def _given_to(function: Any, method: str) -> set[str]:
    """The keywords with which a command calls a method of the book."""
    called = inspect.getsource(function).partition(f"call.book.{method}(")[2].partition("# fmt: skip")[0]
    return set(re.findall(r"\b(\w+)=(?!=)", called)) - {"end"}


def test_the_reasons_to_forget_are_those_of_the_book() -> None:
    told = inspect.signature(forget).parameters["reason"].annotation
    assert get_args(told) == REASONS[:-1], "the tool spells them once more, for its schema: tools/memory.py"


# Doors


@pytest.mark.parametrize("part", sorted(_PARTS))
def test_a_module_of_commands_registers_what_the_list_says(part: str) -> None:
    app = typer.Typer()
    importlib.import_module(f"keepbook.doors.cli.{part}").register(app)
    told = [one.name for one in app.registered_commands] + [one.name for one in app.registered_groups]
    assert set(told) == set(_PARTS[part]), "name it in _PARTS of doors/cli"


def test_every_router_of_a_page_is_served() -> None:
    found = {
        name
        for path in (*(SOURCE / "doors" / "http" / "web").rglob("*.py"), *SOURCE.glob("extensions/*/pages/*.py"))
        if isinstance(getattr(importlib.import_module(name := _module(path)), "router", None), APIRouter)
    }
    served = {id(router) for router in (*ROUTERS, *extension_routers(list(shipped().values()), "pages"))}
    missing = {name for name in found if id(importlib.import_module(name).router) not in served}
    assert not missing, "add it to ROUTERS of doors/http/web/routes.py, or to `pages` of its extension"


def _module(path: Path) -> str:
    return ".".join(("keepbook", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")
