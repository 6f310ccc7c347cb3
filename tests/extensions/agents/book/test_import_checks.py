"""An import is data: agents that come in run nothing by themselves, and their ids and sessions are what they claim."""

import io
from typing import Any

import pytest
from tests.book.upkeep.test_import_checks import exported
from tests.extensions.storage.every_table import TABLES

from keepbook import Keepbook
from keepbook.book.owners.authority import Actor
from keepbook.book.upkeep import import_checks
from keepbook.errors import Invalid, KeepbookError


def desk(kb: Keepbook, owner: str = "alice") -> Any:
    """A book with agents that would run by themselves or start a program."""
    book = kb.book(owner)
    book.remember("Lives in Oslo")
    book.agents.create("Morning", schedule="30 7 * * *")
    book.agents.create("Program", adapter="claude-cli", schedule="* * * * *")
    book.agents.create("By hand")
    return book


def test_an_import_arms_nothing_and_says_so(kb: Keepbook, clock: Any) -> None:
    text = exported(desk(kb))
    bob = kb.book("bob")
    taken = bob.import_(io.StringIO(text))
    assert taken.to_arm == ("Morning", "Program")
    assert exported(bob) == text
    assert not any(agent.armed for agent in bob.agents.list())
    clock.forward(days=2)
    kb.book("alice").erase("alice")
    assert kb.sweep().done.get("run") is None
    assert bob.runs.list() == []
    assert bob.agents.arm("Morning").armed


def test_a_dry_run_tells_and_keeps_nothing(kb: Keepbook) -> None:
    text = exported(desk(kb))
    bob = kb.book("bob")
    before = exported(bob)
    looked = bob.import_(io.StringIO(text), dry_run=True)
    assert (looked.memories, looked.to_arm, looked.dry_run) == (1, ("Morning", "Program"), True)
    assert exported(bob) == before


@pytest.mark.parametrize("id", ["/bin/sh", "../../../tmp", "--help", "short", "far too long for one", "ab cd ef"])
def test_ids_that_are_paths_or_options_do_not_come_in(kb: Keepbook, id: str) -> None:
    book = desk(kb)
    known = book.agents.get("Program").id
    bob = kb.book("bob")
    with pytest.raises(KeepbookError):
        bob.import_(io.StringIO(exported(book).replace(known, id)))
    with pytest.raises(Invalid, match="is no id of a agent"):
        import_checks.check_import({"agent": [{"id": id, "session": None, "thread_id": None}]}, Actor("person"), TABLES)
    assert bob.agents.list() == []


def test_a_session_that_is_an_option_does_not_come_in() -> None:
    row = {"id": "abcdefgh", "thread_id": None, "session": "--dangerously-skip-permissions"}
    with pytest.raises(Invalid, match="is no session"):
        import_checks.check_import({"agent": [row]}, Actor("person"), TABLES)
