"""A table that leaves open what becomes of its rows is refused at start, and so is one that takes a name."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, ForeignKeyConstraint, PrimaryKeyConstraint
from tests.extensions.storage.test_schema import core
from tests.extensions.strangers import forgetting_strangers

from keepbook import Invalid, Keepbook
from keepbook.app import upgrade
from keepbook.settings import load_settings
from keepbook.storage.tables.declare import Word, declare_table, owner_column

HOME = 'from keepbook.extension import Extension\nSOCKS = Extension(name="socks", tables=("socks.tables",))\n'
TABLES = "from tests.contracts.test_declared_tables import holes, socks\n"
KEPT = 'exported="sock", covered=True'


def socks(name: str = "socks", **rules: Any) -> Any:
    return declare_table(
        name, owner_column(), Column("id", Word, nullable=False), Column("memory_id", Word),
        PrimaryKeyConstraint("owner", "id"), **rules,
    )  # fmt: skip


def holes(**rules: Any) -> Any:
    """Each in one of the socks."""
    return declare_table(
        "holes", owner_column(), Column("id", Word, nullable=False), Column("sock_id", Word), Column("memory_id", Word),
        PrimaryKeyConstraint("owner", "id"), ForeignKeyConstraint(["owner", "sock_id"], ["socks.owner", "socks.id"]),
        exported="hole", covered=True, **rules,
    )  # fmt: skip


REFUSED = {
    "socks(covered=True)": "say `exported=` or",
    f'socks({KEPT}, unexported="why")': "say `exported=` or",
    'socks(exported="sock")': "say `covered=True` or",
    f'socks({KEPT}), socks("stockings", {KEPT})': "'socks' and 'stockings' are both exported as 'sock'",
    'socks(exported="memory", covered=True)': "both exported as 'memory'",
    f'socks("memories", {KEPT})': "there is a table 'memories' already",
    f'socks({KEPT}, of_memory="memory_id"), holes()': "name it too, as `of_memory`",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the package of a stranger lies, as good as installed."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "socks").mkdir()
    (tmp_path / "socks" / "__init__.py").write_text(HOME, encoding="utf-8")
    with forgetting_strangers():
        yield tmp_path / "socks"


def opened(folder: Path, declared: str) -> Keepbook:
    lines = TABLES + f"made = [{declared}]\nglobals().update((table.name, table) for table in made)\n"
    (folder / "tables.py").write_text(lines, encoding="utf-8")
    return Keepbook(":memory:", settings=load_settings(db=":memory:", extensions=["socks:SOCKS"]))


@pytest.mark.parametrize("declared", REFUSED)
def test_a_table_that_does_not_fit_is_refused(folder: Path, declared: str) -> None:
    with pytest.raises(Invalid, match=REFUSED[declared]) as refused:
        opened(folder, declared)
    assert refused.value.field == "extensions"


@pytest.mark.both_engines
def test_a_table_that_somebody_else_made_is_not_taken_over(folder: Path, book_url: str) -> None:
    Keepbook(book_url).close()
    with core(book_url) as conn:
        conn.exec_driver_sql("CREATE TABLE socks (owner TEXT)")
    (folder / "tables.py").write_text(f"{TABLES}one = socks({KEPT})\n", encoding="utf-8")
    settings = load_settings(db=book_url, extensions=["socks:SOCKS"])
    with pytest.raises(Invalid, match="has a table 'socks' already"):
        upgrade(book_url, settings)
    with Keepbook(book_url) as kb:  # nothing of it was done
        assert "socks" not in {table.name for table in kb._database.tables.declared}


def test_what_fits_is_installed(folder: Path) -> None:
    with opened(folder, f'socks({KEPT}, of_memory="memory_id"), holes(of_memory="memory_id")') as kb:
        assert {"socks", "holes"} <= {table.name for table in kb._database.tables.declared}
        assert kb.book("alice").verify().ok
