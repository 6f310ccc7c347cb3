"""The life of a stranger's extension in a book that was there before it: on, off, its code gone, back again, grown.

Whatever happens to the extension, its rows stay the owner's: exported, covered, purged with their memory, erased. The
strangers are those with a contract folder; a walk here asks nothing of them but that folder.
"""

import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from importlib import import_module
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any

import pytest
import typer
from sqlalchemy import Column, PrimaryKeyConstraint, func, select
from tests.book.ledger.unguarded import unguarded, verified
from tests.conftest import DEEPER, Clock, Prepared
from tests.contracts.contract_folders import Contract, contracts, strangers
from tests.contracts.test_authority_walk import commands, routes_of
from tests.extensions.book.test_tamper import edits, whole_rows
from tests.extensions.strangers import forgetting_strangers
from tests.furnished import OWNER
from tests.storage.test_installed import change

from keepbook import Keepbook, extension
from keepbook.app import differences, not_compared, put_back_guards, upgrade
from keepbook.book.upkeep import transfer
from keepbook.doors.auth import Caller
from keepbook.doors.cli import command_line
from keepbook.doors.http.app import create_app
from keepbook.doors.mcp.server import _Handlers
from keepbook.errors import Conflict, Invalid, NotAllowed
from keepbook.extension import Extension, load_part
from keepbook.settings import Settings, load_settings
from keepbook.storage import tables
from keepbook.storage.tables import tables_of
from keepbook.storage.tables.declare import Word, declare_table, owner_column, rules_of

ENTRIES = 1000
FEW = ENTRIES if DEEPER > 1 else 60
"""Where nothing depends on how long a book was kept: each test checks the whole chain again and again."""
OTHERS = tuple(one.setting for one in contracts() if one not in strangers())
Open = Callable[..., Keepbook]


@pytest.fixture(params=strangers(), ids=lambda one: one.name)
def stranger(request: pytest.FixtureRequest) -> Iterator[Contract]:
    with forgetting_strangers():
        yield request.param


@pytest.fixture
def place(prepared: Prepared, clock: Clock, request: pytest.FixtureRequest) -> Iterator[str]:
    """Where a book lies that was kept before, and knows of no stranger."""
    entries = getattr(request, "param", FEW)

    def fill(kb: Keepbook, _: Clock) -> None:
        book = kb.book(OWNER)
        with book.transaction():
            for nth in range(entries):
                book.remember(f"Bought item {nth:04} on day {nth * 7919 % 1000}", force=True)

    with prepared(f"kept_{entries}", fill, clock) as (url, _):
        yield url


@pytest.fixture
def opened(place: str, clock: Clock) -> Open:
    """Opens that book with the extensions of this package and those named."""

    def open_with(*names: str) -> Keepbook:
        settings = settings_with(place, *names)
        upgrade(place, settings)
        return Keepbook(place, settings=settings, clock=clock)

    return open_with


def settings_with(place: str, *names: str) -> Settings:
    return load_settings(db=place).but(extensions=(*OTHERS, *names))


@contextmanager
def without_code(stranger: Contract) -> Iterator[None]:
    """The stranger cannot be imported, and this process has never heard of it."""
    package, _, _ = stranger.setting.partition(":")
    theirs = {name: module for name, module in sys.modules.items() if f"{name}.".startswith(f"{package}.")}
    blocker = _Blocker(package)
    sys.meta_path.insert(0, blocker)
    for name in theirs:
        del sys.modules[name]
    known = extension._AT_WORK.pop(stranger.name, None)
    _forget_parts()
    try:
        with pytest.raises(ModuleNotFoundError):
            import_module(package)
        yield
    finally:
        sys.meta_path.remove(blocker)
        sys.modules.update(theirs)
        _forget_parts()
        if known is not None:
            extension._AT_WORK[stranger.name] = known


class _Blocker(MetaPathFinder):
    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, name: str, *_: Any) -> None:
        if f"{name}.".startswith(f"{self._package}."):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _forget_parts() -> None:
    extension.load_part.cache_clear()
    tables.tables_of.cache_clear()


@contextmanager
def gone_or_off(stranger: Contract, how: str) -> Iterator[None]:
    with without_code(stranger) if how == "gone" else nullcontext():
        yield


def exported(book: Any) -> list[str]:
    out = io.StringIO()
    book.export(out)
    return out.getvalue().splitlines()


def lines_of(lines: list[str], kinds: set[str]) -> list[str]:
    return [line for line in lines if json.loads(line)["kind"] in kinds]


def kinds_of(one: Extension) -> set[str]:
    """The kinds of line that an extension brings to an export."""
    return {rules_of(table).exported for table in tables_of(one)} - {""}


def counted(kb: Keepbook, names: set[str], owner: str = OWNER) -> dict[str, int]:
    """How many rows an owner has in these tables."""
    with kb._database.read(owner) as tx:
        owned = [table for table in tx.tables.of_extensions if table.name in names and "owner" in table.c]
        return {
            table.name: tx.conn.execute(
                select(func.count()).select_from(table).where(table.c.owner == owner)
            ).scalar_one()
            for table in owned
        }


class Begun:
    """What a stranger left in the book when it was on."""

    def __init__(self, kb: Keepbook, stranger: Contract) -> None:
        book = kb.book(OWNER)
        assert book.verify().ok
        stranger.part("furnish").furnish(kb, book)
        self.extension = load_part(stranger.setting)
        self.kinds = kinds_of(self.extension)
        self.names = {table.name for table in tables_of(self.extension)}
        self.rows = counted(kb, self.names)
        rules = {table.name: rules_of(table) for table in tables_of(self.extension)}
        self.kept = [name for name, rows in self.rows.items() if rows and not rules[name].may_go]
        self.of_memory = {name: told.of_memory for name, told in rules.items() if told.of_memory}
        self.file = exported(book)
        assert all(self.rows.values())


@pytest.fixture
def begun(opened: Open, stranger: Contract) -> Begun:
    with opened(stranger.setting) as kb:
        return Begun(kb, stranger)


# On


@pytest.mark.parametrize("place", [ENTRIES], indirect=True)
def test_turned_on_in_a_long_kept_book_it_goes_on_in_the_same_chain(
    opened: Open, place: str, stranger: Contract
) -> None:
    with opened() as kb:
        before = kb.book(OWNER).verify()
        assert (before.ok, before.entries >= ENTRIES) == (True, True)
        file = exported(kb.book(OWNER))
    with opened(stranger.setting) as kb:
        assert exported(kb.book(OWNER)) == file
        begun = Begun(kb, stranger)
        after = kb.book(OWNER).verify()
        assert (after.ok, after.links > before.links) == (True, True)
    assert {json.loads(line)["kind"] for line in begun.file} >= begun.kinds
    assert (differences(place), not_compared(place)) == ([], [])


def test_on_a_server_it_waits_for_the_upgrade(place: str, clock: Clock, stranger: Contract, engine_name: str) -> None:
    settings = settings_with(place, stranger.setting)
    if engine_name == "postgresql":
        with pytest.raises(Conflict, match="keepbook db upgrade"):
            Keepbook(place, settings=settings, clock=clock)
        assert upgrade(place, settings) == [f"{stranger.name} 1"]
    assert upgrade(place, settings) == []
    with Keepbook(place, settings=settings, clock=clock) as kb:
        assert [one.name for one in kb.extensions][-1] == stranger.name


# Off, or without its code


@pytest.mark.parametrize("how", ["off", "gone"])
def test_it_has_no_door_any_more(
    opened: Open, stranger: Contract, begun: Begun, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = stranger.lines
    with gone_or_off(stranger, how), opened() as kb:
        book = kb.book(OWNER)
        assert not [name for name in begun.extension.faces if hasattr(book, name)]
        assert not [name for name in begun.extension.house if hasattr(kb, name)]
        app = create_app(kb)
        assert not routes_of(app) & set(lines.get("api", {}))
        paths = {getattr(route, "path", "") for route in app.routes}
        assert not paths & {route.split(" ", 1)[1] for route in lines.get("pages", {})}
        caller = Caller(OWNER, "agent", frozenset({"read", "write", "admin"}))
        assert not {tool.name for tool in _Handlers(kb, lambda _: caller)._tools(caller)} & set(lines.get("tools", {}))
        monkeypatch.setenv("KEEPBOOK_EXTENSIONS", ",".join(OTHERS))
        typed = set(commands(typer.main.get_command(command_line())))
        assert not typed & {name for names in lines.get("commands", {}).values() for name in names.split()}


@pytest.mark.parametrize("how", ["off", "gone"])
def test_its_rows_are_exported_to_the_byte_and_the_book_goes_on(
    opened: Open, place: str, stranger: Contract, begun: Begun, how: str
) -> None:
    with gone_or_off(stranger, how):
        with opened() as kb:
            book = kb.book(OWNER)
            assert exported(book) == begun.file
            book.remember("Something said meanwhile")
            assert book.verify().ok
            assert lines_of(exported(book), begun.kinds) == lines_of(begun.file, begun.kinds)
        assert differences(place) == []
        assert not_compared(place) == ([stranger.name] if how == "gone" else [])
        assert put_back_guards(place) == []


LOST = {"sqlite": "DROP TRIGGER ledger_appends", "postgresql": "DROP TRIGGER ledger_appends ON ledger"}


@pytest.mark.parametrize("how", ["on", "off", "gone"])
def test_guards_of_the_core_are_put_back_and_its_own_stay(
    opened: Open, place: str, stranger: Contract, begun: Begun, how: str, engine_name: str
) -> None:
    change(place, LOST[engine_name])
    with gone_or_off(stranger, how):
        assert len(differences(place)) == 1
        assert len(put_back_guards(place)) == 1
        assert differences(place) == []
        with opened() as kb:
            assert exported(kb.book(OWNER)) == begun.file
            _refuses_to_delete(kb, begun)
            kb.book(OWNER).erase(OWNER)
            assert counted(kb, begun.names) == dict.fromkeys(begun.rows, 0)
    assert differences(place) == []


@pytest.mark.parametrize("how", ["off", "gone"])
def test_whoever_edits_its_rows_is_found_out(
    opened: Open, place: str, stranger: Contract, begun: Begun, how: str
) -> None:
    missed, tried = [], 0
    with gone_or_off(stranger, how), opened() as kb, unguarded(place) as conn:
        book: Any = kb.book(OWNER)
        for table in (one for name, one in kb._database.tables.covered.items() if name in begun.names):
            for what, statements in edits(table, whole_rows(conn, table)):
                tried += 1
                inner = conn.begin_nested()
                try:
                    for statement in statements:
                        conn.execute(statement)
                    found = verified(book, conn)
                finally:
                    inner.rollback()
                if found.ok:
                    missed.append(f"{table.name}: {what}")
        assert verified(book, conn).ok
    assert (missed, tried > 5) == ([], True)


@pytest.mark.parametrize("how", ["off", "gone"])
def test_its_guards_hold(opened: Open, stranger: Contract, begun: Begun, how: str) -> None:
    with gone_or_off(stranger, how), opened() as kb:
        _refuses_to_delete(kb, begun)


def _refuses_to_delete(kb: Keepbook, begun: Begun) -> None:
    assert begun.kept
    for name in begun.kept:
        with pytest.raises(NotAllowed), kb._database.write(OWNER) as tx:
            tx.conn.exec_driver_sql(f"DELETE FROM {name}")


@pytest.mark.parametrize("how", ["on", "off", "gone"])
def test_its_rows_go_with_their_memory(opened: Open, stranger: Contract, begun: Begun, how: str) -> None:
    on = (stranger.setting,) if how == "on" else ()
    with gone_or_off(stranger, how), opened(*on) as kb:
        book = kb.book(OWNER)
        memories = {id for name, column in begun.of_memory.items() for id in _column(kb, name, column)}
        assert memories
        for id in memories:
            book.delete(id, forever=True)
        assert counted(kb, {*begun.of_memory}) == dict.fromkeys(begun.of_memory, 0)
        assert book.verify().ok
        assert not [line for line in lines_of(exported(book), begun.kinds) if any(id in line for id in memories)]


def _column(kb: Keepbook, name: str, column: str) -> list[str]:
    """What stands in a column of the owner's rows."""
    (table,) = [table for table in kb._database.tables.declared if table.name == name]
    with kb._database.read(OWNER) as tx:
        query = select(table.c[column]).where(table.c.owner == OWNER, table.c[column].isnot(None))
        return list(tx.conn.execute(query).scalars())


@pytest.mark.parametrize("how", ["off", "gone"])
def test_an_export_brings_its_rows_to_another_owner_and_an_erasure_takes_them(
    opened: Open, stranger: Contract, begun: Begun, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "SMALL_LINES", 0)  # it is proved before, where all would wait for that
    with gone_or_off(stranger, how), opened() as kb:
        bob = kb.book("bob")
        looked = bob.import_(begun.file, dry_run=True)
        assert kb.owners() == [OWNER]
        with bob.transaction():
            assert bob.import_(begun.file, dry_run=True) == looked
        assert replace(bob.import_(begun.file), dry_run=True) == looked
        assert exported(bob) == begun.file
        assert bob.verify().ok
        assert counted(kb, begun.names, "bob") == begun.rows
        bob.erase("bob")
        assert counted(kb, begun.names, "bob") == dict.fromkeys(begun.rows, 0)
        assert counted(kb, begun.names) == begun.rows
        kb.book(OWNER).erase(OWNER)
        assert counted(kb, begun.names) == dict.fromkeys(begun.rows, 0)


# Back, or never there


def test_back_on_everything_is_there(opened: Open, place: str, stranger: Contract, begun: Begun) -> None:
    with without_code(stranger), opened() as kb:
        kb.book(OWNER).remember("Something said meanwhile")
    with opened(stranger.setting) as kb:
        book = kb.book(OWNER)
        assert all(hasattr(book, name) for name in begun.extension.faces)
        assert counted(kb, begun.names) == begun.rows
        assert lines_of(exported(book), begun.kinds) == lines_of(begun.file, begun.kinds)
        stranger.part("furnish").furnish(kb, book)
        assert book.verify().ok
    assert (differences(place), not_compared(place)) == ([], [])


def test_a_program_that_knew_only_its_rows_may_turn_it_on(opened: Open, stranger: Contract, begun: Begun) -> None:
    del extension._AT_WORK[stranger.name]
    _forget_parts()
    with opened() as kb:
        assert exported(kb.book(OWNER)) == begun.file
    with opened(stranger.setting) as kb:
        declared = {table.name: table for table in kb._database.tables.of_extensions}
        assert all(declared[table.name] is table for table in tables_of(begun.extension))
        stranger.part("furnish").furnish(kb, kb.book(OWNER))
        assert kb.book(OWNER).verify().ok


def test_another_one_is_installed_while_its_code_is_gone(
    opened: Open, place: str, stranger: Contract, begun: Begun, another: str
) -> None:
    """The guards that reach into every table are made anew then, and still take its rows before what they name."""
    with without_code(stranger), opened(another) as kb:
        assert differences(place) == []
        assert exported(kb.book(OWNER)) == begun.file
        kb.book("bob").import_(begun.file)
        kb.book(OWNER).erase(OWNER)
        assert counted(kb, begun.names) == dict.fromkeys(begun.rows, 0)
        assert kb.book("bob").verify().ok
    with opened(stranger.setting, another):
        assert differences(place) == []


@pytest.mark.parametrize("how", ["off", "gone"])
def test_a_book_where_it_never_was_refuses_its_lines_in_one_sentence(
    stranger: Contract, begun: Begun, how: str, clock: Clock
) -> None:
    with gone_or_off(stranger, how), Keepbook(":memory:", settings=settings_with(":memory:"), clock=clock) as kb:
        with pytest.raises(Invalid) as refused:
            kb.book("bob").import_(begun.file)
        said = refused.value.message
        assert any(repr(kind) in said for kind in begun.kinds)
        assert "\n" not in said
        assert kb.owners() == []


# Grown, or beside another


@contextmanager
def declared(table: str, **rules: Any) -> Iterator[tuple[ModuleType, str]]:
    """A module to put an extension into, and the name of one that declares a table, for as long as they are used."""
    module, more = ModuleType("strange_module"), ModuleType("strange_tables")
    sys.modules |= {"strange_module": module, "strange_tables": more}
    more.table = declare_table(  # type: ignore[attr-defined]
        table, owner_column(), Column("id", Word, nullable=False), PrimaryKeyConstraint("owner", "id"),
        exported=table, covered=True, may_change=(), **rules,
    )  # fmt: skip
    _forget_parts()
    try:
        yield module, "strange_tables"
    finally:
        for name in ("strange_module", "strange_tables"):
            del sys.modules[name]
        _forget_parts()


@pytest.fixture
def grown(begun: Begun) -> Iterator[str]:
    """The next version of the stranger, with one more table; how `extensions` names it."""
    with declared("strange_later") as (module, place):
        every = (*begun.extension.tables, place)
        module.GROWN = replace(begun.extension, version=2, tables=every)  # type: ignore[attr-defined]
        del extension._AT_WORK[begun.extension.name]
        yield "strange_module:GROWN"
        extension._AT_WORK.pop(begun.extension.name, None)


@pytest.fixture
def another(begun: Begun) -> Iterator[str]:
    """One more stranger, with a table of its own."""
    with declared("another_table") as (module, place):
        module.ANOTHER = Extension(name="another", tables=(place,))  # type: ignore[attr-defined]
        yield "strange_module:ANOTHER"
        extension._AT_WORK.pop("another", None)


def test_a_higher_version_adds_a_table_and_an_older_program_is_refused(
    opened: Open, place: str, stranger: Contract, begun: Begun, grown: str
) -> None:
    with opened(grown) as kb:
        book = kb.book(OWNER)
        assert exported(book) == begun.file
        with kb._database.write(OWNER) as tx:
            tx.conn.exec_driver_sql(f"INSERT INTO strange_later (owner, id) VALUES ('{OWNER}', 'one')")
        assert book.verify().ok
        assert '{"id":"one","kind":"strange_later"}' in exported(book)
        with pytest.raises(NotAllowed), kb._database.write(OWNER) as tx:
            tx.conn.exec_driver_sql("DELETE FROM strange_later")
    assert differences(place) == []
    del extension._AT_WORK[stranger.name]
    _forget_parts()
    with pytest.raises(Conflict, match=f"{stranger.name} 2 is installed") as refused:
        opened(stranger.setting)
    assert refused.value.code == "newer_schema"
    with without_code(stranger), opened() as kb:
        assert '{"id":"one","kind":"strange_later"}' in exported(kb.book(OWNER))
        kb.book(OWNER).erase(OWNER)
        assert counted(kb, {*begun.names, "strange_later"}) == dict.fromkeys([*begun.rows, "strange_later"], 0)
