"""A book with a row in each table of each extension that has a contract: undone, moved, checked.

Who may do what is walked in test_authority_walk.py, who sees what in test_isolation.py, erasure in
test_nothing_left.py, tampering in tests/extensions/book/test_tamper.py, being off and gone in test_extension_life.py.
"""

import io
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from sqlalchemy import func, select
from tests.conftest import Clock
from tests.contracts.contract_folders import all_extensions, contracts, every_extension, with_their_tables
from tests.furnished import OWNER, furnished

from keepbook import Keepbook
from keepbook.app import differences, not_compared
from keepbook.errors import KeepbookError
from keepbook.extensions import SHIPPED
from keepbook.storage.tables import tables_of

NOW = "2026-12-31T09:00:00Z"


@pytest.fixture(autouse=True)
def _every_extension() -> Iterator[None]:
    with every_extension():
        yield


@pytest.fixture
def book_url(book_url: str) -> str:
    return with_their_tables(book_url)


@pytest.fixture
def full(kb: Keepbook, clock: Clock) -> Any:
    clock.set(NOW)
    return furnished(kb)


def exported(book: Any) -> list[str]:
    out = io.StringIO()
    book.export(out)
    return out.getvalue().splitlines()


def test_every_extension_of_this_package_has_a_contract_and_strangers_have() -> None:
    names = {one.name for one in contracts()}
    assert names > set(SHIPPED)
    assert len(names) == len(all_extensions())


def test_a_contract_makes_a_row_in_each_of_its_tables(kb: Keepbook, full: Any) -> None:
    with kb._database.read(OWNER) as tx:
        for one in kb.extensions:
            for table in tables_of(one):
                rows = tx.conn.execute(select(func.count()).select_from(table)).scalar_one()
                assert rows, f"furnish of {one.name} leaves {table.name} empty"


def test_undoing_whatever_can_be_undone_leaves_every_row_covered(kb: Keepbook, full: Any) -> None:
    done = 0
    for entry in sorted(full.ledger(limit=None), key=lambda entry: -entry.event):
        with suppress(KeepbookError):
            full.undo(entry.event)
            done += 1
    assert done > 5
    assert full.verify().ok
    lines = exported(full)
    kb.book("bob").import_(lines)
    assert exported(kb.book("bob")) == lines
    assert kb.book("bob").verify().ok


def test_the_database_is_as_it_was_installed(book_url: str, full: Any) -> None:
    assert (differences(book_url), not_compared(book_url)) == ([], [])
