"""An import is data: nothing in it acts, nobody speaks for another, and what is no book of ours is refused early."""

import io
import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepbook import Keepbook
from keepbook.book.owners.authority import Actor
from keepbook.book.upkeep import admission
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
        admission.check({"agent": [{"id": id, "session": None, "thread_id": None}]}, Actor("person"))
    assert bob.agents.list() == []


def test_a_session_that_is_an_option_does_not_come_in() -> None:
    row = {"id": "abcdefgh", "thread_id": None, "session": "--dangerously-skip-permissions"}
    with pytest.raises(Invalid, match="is no session"):
        admission.check({"agent": [row]}, Actor("person"))


def test_nobody_brings_in_entries_on_another_word(kb: Keepbook) -> None:
    rows = {"entry": [{"actor": "person"}]}
    admission.check(rows, Actor("person"))
    for kind in ("agent", "service", "bound"):
        with pytest.raises(NotAllowed) as refused:
            admission.check(rows, Actor(kind))
        assert refused.value.code == "actor"
    text = exported(desk(kb))
    with pytest.raises(NotAllowed):
        kb.book("bob", by="agent").import_(io.StringIO(text))
    assert kb.book("bob").ledger() == []


def test_a_file_is_refused_at_its_first_wrong_line(kb: Keepbook) -> None:
    many = ['"x"'] * 900_000
    began = time.process_time()
    with pytest.raises(Invalid) as refused:
        kb.book("bob").import_(many)
    assert refused.value.details["line"] == 1
    with pytest.raises(Invalid) as refused:
        kb.book("bob").import_(['{"kind":"keepbook","format":1}', *many])
    assert refused.value.details["line"] == 2
    assert time.process_time() - began < 5


MUTATIONS = st.lists(
    st.tuples(st.integers(0, 200), st.sampled_from(("drop", "twice", "swap", "text", "id", "actor", "kind"))),
    min_size=1,
    max_size=4,
)


def mutated(lines: list[str], changes: list[tuple[int, str]]) -> list[str]:
    """A file as somebody might have made it: lines lost, doubled, moved, or saying something else."""
    made = list(lines)
    for number, what in changes:
        at = number % len(made)
        try:
            row = json.loads(made[at])
        except ValueError:
            continue
        if not isinstance(row, dict):
            continue
        match what:
            case "drop":
                del made[at]
            case "twice":
                made.insert(at, made[at])
            case "swap":
                made[at], made[-1] = made[-1], made[at]
            case "text":
                made[at] = json.dumps(
                    {name: f"{value}x" if isinstance(value, str) else 7 for name, value in row.items()}
                )
            case "id":
                made[at] = json.dumps(row | {name: "../../tmp" for name in row if name == "id" or name.endswith("_id")})
            case "actor":
                made[at] = json.dumps(row | {name: "job" for name in row if name == "actor"})
            case _:
                made[at] = json.dumps(row | {"kind": "agent"})
        if not made:
            return ["{}"]
    return made


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(changes=MUTATIONS)
def test_any_file_comes_in_whole_or_not_at_all(kb: Keepbook, changes: list[tuple[int, str]]) -> None:
    """Nothing starts, nobody else's book is written, and no book is left half."""
    alice = kb.book("alice")
    if not alice.ledger():
        desk(kb)
    text = exported(alice)
    bob = kb.book("bob")
    before = exported(bob)
    file = mutated(text.splitlines(), changes)
    try:
        bob.import_(file)
    except KeepbookError:
        assert exported(bob) == before
    else:
        assert bob.verify().ok
        assert not any(agent.armed for agent in bob.agents.list())
        bob.erase("bob")
    assert exported(alice) == text
    assert alice.agents.get("Morning").armed
