"""An import is data: nothing in it acts, nobody speaks for another, and what is no book of ours is refused early."""

import io
from typing import Any

import pytest

from keepbook import Keepbook
from keepbook.book.owners.authority import Actor
from keepbook.book.upkeep import export_lines, import_checks
from keepbook.errors import Invalid, KeepbookError, NotAllowed


def exported(book: Any) -> str:
    out = io.StringIO()
    book.export(out)
    return out.getvalue()


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
        import_checks.check_import({"agent": [{"id": id, "session": None, "thread_id": None}]}, Actor("person"))
    assert bob.agents.list() == []


def test_a_session_that_is_an_option_does_not_come_in() -> None:
    row = {"id": "abcdefgh", "thread_id": None, "session": "--dangerously-skip-permissions"}
    with pytest.raises(Invalid, match="is no session"):
        import_checks.check_import({"agent": [row]}, Actor("person"))


@pytest.mark.parametrize("at", ["", "yesterday", "2026-02-30T00:00:00.000000Z", "\u202e", "2026-03-01"])
def test_what_is_no_instant_does_not_come_in(at: str) -> None:
    """No ledger covers when a note was written: every page that shows one would meet it."""
    for kind, column in (("note", "created_at"), ("injected", "known"), ("due", "at"), ("trade", "exit_time")):
        with pytest.raises(Invalid, match=f"is no {column} of a {kind}"):
            import_checks.check_import({kind: [{"id": "abcdefgh", column: at}]}, Actor("person"))


def test_nobody_brings_in_entries_on_another_word(kb: Keepbook) -> None:
    rows = {"entry": [{"actor": "person"}]}
    import_checks.check_import(rows, Actor("person"))
    for kind in ("agent", "service", "bound"):
        with pytest.raises(NotAllowed) as refused:
            import_checks.check_import(rows, Actor(kind))
        assert refused.value.code == "actor"
    text = exported(desk(kb))
    with pytest.raises(NotAllowed):
        kb.book("bob", by="agent").import_(io.StringIO(text))
    assert kb.book("bob").ledger() == []


def test_a_file_is_refused_at_its_first_wrong_line(kb: Keepbook, monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[int]()
    parsed = export_lines._parse_line
    monkeypatch.setattr(
        export_lines, "_parse_line", lambda text, number: (read.append(number), parsed(text, number))[1]
    )
    many = ['"x"'] * 900_000
    for texts in (many, ["hello there"] * 200_000):
        with pytest.raises(Invalid) as refused:  # a list of texts it could be, but not of so many
            kb.book("bob").import_(texts)
        assert refused.value.code == "too_many"
    with pytest.raises(Invalid) as refused:
        kb.book("bob").import_(['{"kind":"keepbook","format":1}', *many])
    assert refused.value.details["line"] == 2
    assert max(read) < 10, "the rest is not even read"
    assert kb.book("bob").ledger() == []
