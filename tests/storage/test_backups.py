"""Copies of a whole database: they open, the ledger of every owner in them is proved, and a schedule keeps some."""

import os
import re
import secrets
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, make_url, text
from tests.databases import admin, drop, make, url_of
from tests.furnished import _program as program
from tests.furnished import furnished

from keepbook import Invalid, Keepbook, KeepbookError, NotFound
from keepbook.copies import back_up, prove
from keepbook.settings import Settings
from keepbook.storage.database import upgrade

pytestmark = pytest.mark.process  # pg_dump and pg_restore


@pytest.fixture(autouse=True)
def programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL's own programs, found as on any machine that has them."""
    monkeypatch.setenv("PATH", f"{Path(program('pg_dump')).parent}{os.pathsep}{os.environ['PATH']}")


def two_books(kb: Any) -> None:
    furnished(kb)
    kb.book("bob").remember("Keeps bees")


def left_of(url: str, drawn: list[str]) -> int:
    """How many of the databases stand that a copy was proved in; other tests prove theirs meanwhile."""
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:", 1))
    with closing(engine.raw_connection()) as conn, closing(conn.cursor()) as cursor:
        names = [f"keepbook_check_{one}" for one in drawn]
        cursor.execute("SELECT count(*) FROM pg_database WHERE datname = ANY(%s)", [names])
        count = int(cursor.fetchone()[0])
    engine.dispose()
    return count


def test_a_copy_holds_every_owner_and_each_ledger_is_proved(
    kb: Any, clock: Any, book_url: str, engine_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, draw = list[str](), secrets.token_hex
    monkeypatch.setattr(secrets, "token_hex", lambda size: drawn.append(draw(size)) or drawn[-1])
    clock.set("2026-12-31T09:00:00Z")
    two_books(kb)
    copy = tmp_path / "copy"
    back_up(book_url, copy)
    kb.book("bob").remember("Said after the copy")
    before = copy.read_bytes()
    proved = prove(book_url, copy)
    assert [(one.owner, one.ok) for one in proved] == [("alice", True), ("bob", True)]
    assert [one.entries for one in proved] == [kb.book("alice").verify().entries, 1]
    assert copy.read_bytes() == before
    if engine_name == "postgresql":
        assert [one for one in drawn if len(one) == 12], "a name was drawn"
        assert left_of(book_url, drawn) == 0


@pytest.mark.parametrize("engine_name", ["postgresql"], indirect=True)
def test_a_password_in_the_address_reaches_the_program_in_its_environment_alone(
    kb: Any, book_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the tests' server asks for no password, a program in front of pg_dump looks at what it is given."""
    real, looked = program("pg_dump"), tmp_path / "looked"
    looks = tmp_path / "pg_dump"
    looks.write_text(f'#!/bin/sh\necho "$PGPASSWORD $*" > {looked}\nexec {real} "$@"\n')
    looks.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    kb.book("bob").remember("Keeps bees")
    address = make_url(book_url).set(password="s:cret").render_as_string(hide_password=False)
    back_up(address, tmp_path / "copy")
    password, *words = looked.read_text().split()
    assert (password, "***" in str(words), "cret" in str(words)) == ("s:cret", False, False)


@pytest.fixture
def owned(postgres_template: str, postgres_admin_url: str) -> Iterator[Callable[[str], str]]:
    """Given attributes, makes a role that owns a database with two books, and returns its address."""
    name = f"kb_copies_{uuid.uuid4().hex[:12]}"

    def made(attributes: str) -> str:
        admin(postgres_admin_url, f"CREATE ROLE {name} LOGIN {attributes}")
        admin(postgres_admin_url, f"GRANT keepbook_app TO {name}")
        make(postgres_admin_url, name)
        admin(postgres_admin_url, f"ALTER DATABASE {name} OWNER TO {name}")
        of_superuser = url_of(postgres_admin_url, name)
        address = make_url(of_superuser).set(username=name).render_as_string(hide_password=False)
        upgrade(address)
        with closing(Keepbook(of_superuser)) as kb:
            two_books(kb)
        return address

    yield made
    drop(postgres_admin_url, name)
    admin(postgres_admin_url, f"DROP ROLE {name}")


def test_the_administrator_of_the_docs_makes_and_proves_a_copy(owned: Callable[[str], str], tmp_path: Path) -> None:
    page = Path("docs/production.md").read_text(encoding="utf-8")
    [attributes] = re.findall(r"CREATE ROLE keepbook_admin LOGIN PASSWORD 'choose-one' ?(.*);", page)
    address = owned(attributes)
    back_up(address, tmp_path / "copy")
    assert [(one.owner, one.ok) for one in prove(address, tmp_path / "copy")] == [("alice", True), ("bob", True)]


def test_a_login_that_lacks_a_right_is_told_which(
    owned: Callable[[str], str], postgres_admin_url: str, tmp_path: Path
) -> None:
    address = owned("NOBYPASSRLS NOCREATEDB")
    login = make_url(address).username
    with pytest.raises(KeepbookError, match=f'ALTER ROLE "{login}" BYPASSRLS'):
        back_up(address, tmp_path / "copy")
    admin(postgres_admin_url, f"ALTER ROLE {login} BYPASSRLS")
    back_up(address, tmp_path / "copy")
    with pytest.raises(KeepbookError, match=f'ALTER ROLE "{login}" CREATEDB'):
        prove(address, tmp_path / "copy")


def test_a_copy_of_a_book_that_was_tampered_with_is_not_proved(
    kb: Any, book_url: str, engine_name: str, tmp_path: Path
) -> None:
    kb.book("alice").notes.write("Buy reeds")
    kb.book("bob").remember("Keeps bees")
    if engine_name == "sqlite":
        engine = create_engine(f"sqlite:///{book_url}")
    else:
        engine = create_engine(book_url.replace("postgresql:", "postgresql+psycopg:", 1))
    with engine.begin() as conn:
        if engine_name == "sqlite":
            for name in conn.execute(text("SELECT name FROM sqlite_master WHERE type = 'trigger'")).scalars().all():
                conn.execute(text(f'DROP TRIGGER "{name}"'))
        else:
            conn.execute(text("SET LOCAL session_replication_role = replica"))
        conn.execute(text("UPDATE notes SET text = 'Sell reeds'"))
    engine.dispose()
    back_up(book_url, tmp_path / "copy")
    alice, bob = prove(book_url, tmp_path / "copy")
    assert (alice.ok, bob.ok) == (False, True)
    assert "notes" in (alice.why or "")


def test_what_is_no_copy_is_refused(kb: Any, book_url: str, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no copy"):
        prove(book_url, tmp_path / "missing")
    (tmp_path / "noise").write_bytes(b"SQLite format 3\x00" + b"noise" * 1000)
    with pytest.raises(Invalid):
        prove(book_url, tmp_path / "noise")
    (tmp_path / "words").write_text("no dump")
    with pytest.raises(KeepbookError):
        prove(book_url, tmp_path / "words")


def test_the_sweep_makes_copies_and_keeps_the_newest(book_url: str, clock: Any, tmp_path: Path) -> None:
    folder = tmp_path / "copies"
    settings = Settings(
        db=book_url, backup_folder=folder, backup_every_hours=24, backup_keep=2, allow_bypass_login=True
    )
    with Keepbook(book_url, settings=settings, clock=clock) as kb:
        kb.book("alice").remember("Keeps bees")
        made = []
        for day in range(4):
            assert kb.sweep().done.get("backup") == 1
            made.append(max(path.name for path in folder.iterdir()))
            assert "backup" not in kb.sweep().done
            clock.now += timedelta(days=1)
            kb.book("alice").remember(f"Day {day}")
    assert sorted(path.name for path in folder.iterdir()) == sorted(made)[-2:]
    assert len(set(made)) == 4
    newest = prove(book_url, folder / made[-1])
    ahead = folder / made[-1].replace("20", "29", 1)
    ahead.touch()
    with Keepbook(book_url, settings=settings, clock=clock) as kb:  # what a clock ahead has made is no reason to wait
        clock.now += timedelta(days=1)
        assert kb.sweep().done.get("backup") == 1
    assert ahead.exists()
    assert [(one.owner, one.entries, one.ok) for one in newest] == [("alice", 4, True)]


def test_a_folder_that_cannot_be_written_is_told_and_the_sweep_goes_on(
    book_url: str, clock: Any, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    settings = Settings(db=book_url, backup_folder=tmp_path / "file" / "below", allow_bypass_login=True)
    with Keepbook(book_url, settings=settings, clock=clock) as kb:
        swept = kb.sweep()
    assert "backup" not in swept.done
    assert [line for line in swept.failed if line.startswith("backup")]
