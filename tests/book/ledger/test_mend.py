"""A book that `verify` refuses has a way on: what does not fit goes into a file, the rest is whole since an entry."""

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.book.ledger.test_verify import FORGERIES, fill, guards_off
from tests.furnished import _program as program

from keepbook import Keepbook
from keepbook.app import differences, put_back_guards
from keepbook.copies import back_up
from keepbook.errors import Conflict
from keepbook.mending import mend, prove_same, refuse_open_elsewhere

pytestmark = [pytest.mark.connections, pytest.mark.process]  # pg_dump and pg_restore

FEW = ("the current content", "a version that is gone", "who did it", "a purge taken back", "a link smuggled in")
KINDS = tuple(FORGERIES) if "KEEPBOOK_ALL_MENDS" in os.environ else FEW
"""Every forgery is mended with KEEPBOOK_ALL_MENDS; one of each kind always."""


@pytest.fixture(autouse=True)
def programs_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(program('pg_dump')).parent}{os.pathsep}{os.environ['PATH']}")


ON_ONE = pytest.mark.parametrize("engine_name", ["sqlite"])
"""What the engines do in their own ways is asked above."""


def forge(engine_name: str, book_url: str, name: str, known: dict[str, str], kind: str) -> None:
    """Do to this owner's book what a kind of forgery is."""
    names = known | {"owner": name, "own": f"owner = '{name}'"}
    with guards_off(engine_name, book_url) as execute:
        for seq, of in ((1, "oslo"), (2, "tea")):
            salt = execute(f"SELECT salt FROM ledger WHERE owner = '{name}' AND seq = {seq}").fetchone()
            names[f"salt of {of}"] = salt[0]
        for statement in FORGERIES[kind][1]:
            execute(statement.format(**names))


def exported(book: Any) -> list[str]:
    out = io.StringIO()
    book.export(out)
    return out.getvalue().splitlines(keepends=True)


def proved(book_url: str, backup: Path) -> dict[str, Any]:
    """Back up, prove and mend, as the command does; by owner what was set aside."""
    refuse_open_elsewhere(book_url)
    back_up(book_url, backup)
    return {one.owner: one for one in mend(book_url, backup, prove_same(book_url, backup))}


def mended(book_url: str, folder: Path, name: str = "before.copy") -> Any:
    """Mend one book: what was set aside."""
    (found,) = mend(book_url, folder / name, ["alice"])
    return found


def lines_of(file: str) -> list[Any]:
    return [json.loads(line) for line in Path(file).read_text().splitlines()[1:]]


def test_what_was_forged_is_set_aside_and_the_rest_is_whole(engine_name: str, book_url: str, tmp_path: Path) -> None:
    with Keepbook(book_url, embedder="none") as kb:
        known = {kind: fill(kb, kind) for kind in (*KINDS, "untouched")}
        for kind in KINDS:
            forge(engine_name, book_url, kind, known[kind], kind)
            assert not kb.book(kind).verify().ok
        untouched = exported(kb.book("untouched"))
    put_back_guards(book_url)
    found = proved(book_url, tmp_path / "before.copy")
    assert set(found) == set(KINDS)
    assert differences(book_url) == []  # the guards are awake again
    with Keepbook(book_url, embedder="none") as kb, Keepbook(":memory:", embedder="none") as elsewhere:
        assert exported(kb.book("untouched")) == untouched
        for kind, one in found.items():
            book = kb.book(kind)
            result = book.verify()
            assert result.ok, (kind, result)
            assert result.since is not None
            assert result.since.startswith(f"whole since entry {one.event}; ")
            assert len(lines_of(one.file)) == one.rows > 0
            assert "smuggled" not in str(exported(book))
            book.remember("Whatever comes later")
            assert book.verify().ok
            texts = exported(book)
            assert json.loads(texts[0])["since"] == result.since
            elsewhere.book(kind).import_(texts)
            assert exported(elsewhere.book(kind)) == texts, kind
            assert elsewhere.book(kind).verify().since == result.since


def one_broken_book(engine_name: str, book_url: str) -> None:
    with Keepbook(book_url, embedder="none") as kb:
        known = fill(kb, "alice")
    forge(engine_name, book_url, "alice", known, "the current content")


@ON_ONE
def test_the_file_is_the_persons_alone_and_the_entry_names_it(engine_name: str, book_url: str, tmp_path: Path) -> None:
    one_broken_book(engine_name, book_url)
    one = mended(book_url, tmp_path)
    assert Path(one.file).stat().st_mode & 0o777 == 0o600
    assert Path(one.file).parent == tmp_path
    moved = lines_of(one.file)
    assert "Lives in Bonn" in str(moved)
    with Keepbook(book_url, embedder="none") as kb:
        book = kb.book("alice")
        (entry,) = book.ledger(limit=1)
        assert (entry.event, entry.action, entry.after["rows"]) == (one.event, "mend", len(moved))
        assert sum(entry.after["tables"].values()) == len(moved)
        assert "Bonn" not in str(book.recall("Where does the person live? Bonn"))
        assert {memory.content for memory in book.list().items} == {"Has a cat", "Likes jazz"}
        with pytest.raises(Conflict, match="cannot be undone"):
            book.undo(one.event)


@ON_ONE
def test_what_the_mend_left_is_still_guarded(engine_name: str, book_url: str, tmp_path: Path) -> None:
    one_broken_book(engine_name, book_url)
    mended(book_url, tmp_path)
    with Keepbook(book_url, embedder="none") as kb:
        for forgery in (
            "UPDATE ledger SET actor = 'agent' WHERE owner = 'alice' AND seq = 10",
            "UPDATE mends SET rows = 1 WHERE owner = 'alice'",
            "DELETE FROM mends WHERE owner = 'alice'",
            "DELETE FROM ledger WHERE owner = 'alice' AND seq = 10",
            "DELETE FROM ledger WHERE owner = 'alice' AND action = 'mend'",
            "UPDATE versions SET content = 'Has a dog' WHERE owner = 'alice' AND content = 'Has a cat'",
        ):
            assert kb.book("alice").verify().ok
            with guards_off(engine_name, book_url) as execute:
                columns = {"ledger": "seq", "mends": "event", "versions": "memory_id, version"}
                table = next(name for name in columns if name in forgery)
                kept = execute(f"SELECT * FROM {table} WHERE owner = 'alice'").fetchall()
                execute(forgery)
                assert not kb.book("alice").verify().ok, forgery
                execute(f"DELETE FROM {table} WHERE owner = 'alice'")
                for row in kept:
                    told = ", ".join("NULL" if one is None else repr(one) for one in row)
                    execute(f"INSERT INTO {table} VALUES ({told})")


def test_rows_beside_memories(engine_name: str, book_url: str, tmp_path: Path) -> None:
    """A turn that was altered, one that was put in, and a note whose seal is gone."""
    with Keepbook(book_url, embedder="none") as kb:
        book = kb.book("alice")
        for session in ("one", "two", "three"):
            book.thread(session).add("user", f"Hello from {session}")
        book.notes.write("A note")
    with guards_off(engine_name, book_url) as execute:
        execute("UPDATE messages SET text = 'Forged' WHERE owner = 'alice' AND text = 'Hello from one'")
        execute("DELETE FROM seals WHERE owner = 'alice' AND what = 'notes'")
        execute("DELETE FROM messages WHERE owner = 'alice' AND text = 'Hello from two'")
    put_back_guards(book_url)
    one = mended(book_url, tmp_path)
    assert {"messages", "notes", "seals"} <= {line["table"] for line in lines_of(one.file)}
    with Keepbook(book_url, embedder="none") as kb:
        book = kb.book("alice")
        assert book.verify().ok
        assert [hit.text for hit in book.recall_chats("Hello from three")] == ["Hello from three"]
        book.thread("three").add("user", "And on")
        book.remember("Lives in Oslo")
        assert book.verify().ok


def test_what_hangs_in_the_air_is_set_aside_too(engine_name: str, book_url: str, tmp_path: Path) -> None:
    """A chat without its first turn, a token whose page is signed in, an injection that is gone."""
    with Keepbook(book_url, embedder="none") as kb:
        book = kb.book("alice")
        book.remember("Drinks green tea")
        for session in ("one", "two"):
            book.thread(session).add("user", f"Hello from {session}")
            book.thread(session).add("user", f"And on from {session}")
            book.inject(f"outside {session}")
        kb.tokens.session_for(kb.tokens.create("alice", name="phone").known.id)
    with guards_off(engine_name, book_url) as execute:
        execute("DELETE FROM messages WHERE owner = 'alice' AND text = 'Hello from one'")
        execute("UPDATE tokens SET name = 'forged' WHERE owner = 'alice'")
        execute("DELETE FROM injected WHERE owner = 'alice' AND nth = 1")
    put_back_guards(book_url)
    mended(book_url, tmp_path)
    with Keepbook(book_url, embedder="none") as kb, Keepbook(":memory:", embedder="none") as elsewhere:
        book, other = kb.book("alice"), elsewhere.book("alice")
        other.import_(exported(book))
        assert exported(other) == exported(book)
        book.thread("one").add("user", "Once more")
        book.thread("two").add("user", "And on")
        book.inject("outside three")
        assert book.verify().ok


@ON_ONE
def test_a_book_is_mended_twice(engine_name: str, book_url: str, tmp_path: Path) -> None:
    one_broken_book(engine_name, book_url)
    first = mended(book_url, tmp_path)
    with Keepbook(book_url, embedder="none") as kb:
        kb.book("alice").remember("Lives in Rome")
    with guards_off(engine_name, book_url) as execute:
        execute("UPDATE versions SET content = 'Forged again' WHERE owner = 'alice' AND content = 'Lives in Rome'")
    second = mended(book_url, tmp_path, "again.copy")
    with Keepbook(book_url, embedder="none") as kb:
        result = kb.book("alice").verify()
        assert [one.event for one in result.mends] == [first.event, second.event]
        assert result.ok
        assert f"{first.rows} rows" in str(result.since)


@ON_ONE
def test_an_older_anchor_fails_and_says_why(engine_name: str, book_url: str, tmp_path: Path) -> None:
    anchor = tmp_path / "ledger.anchor"
    with Keepbook(book_url, embedder="none") as kb:
        known = fill(kb, "alice")
        assert kb.book("alice").verify(anchor).ok
    forge(engine_name, book_url, "alice", known, "a category")
    mended(book_url, tmp_path)
    with Keepbook(book_url, embedder="none") as kb:
        result = kb.book("alice").verify(anchor)
        assert not result.ok
        assert "mend" in str(result.why)
        assert "set aside" in str(result.why)
        newer = tmp_path / "newer.anchor"
        assert kb.book("alice").verify(newer).ok
        kb.book("alice").remember("Lives in Rome")
        assert kb.book("alice").verify(newer).ok


def test_it_is_refused_while_the_book_is_open(engine_name: str, book_url: str, tmp_path: Path) -> None:
    one_broken_book(engine_name, book_url)
    with Keepbook(book_url, embedder="none") as kb:
        kb.book("alice").list()
        with pytest.raises(Conflict, match="stop the server"):
            refuse_open_elsewhere(book_url)
        with pytest.raises(Conflict, match="stop the server"):
            mended(book_url, tmp_path)
    assert list(tmp_path.glob("*set-aside*")) == []
    assert mended(book_url, tmp_path)


@ON_ONE
def test_erasing_removes_the_file_or_names_it(engine_name: str, book_url: str, tmp_path: Path) -> None:
    with Keepbook(book_url, embedder="none") as kb:
        known = {name: fill(kb, name) for name in ("alice", "bob")}
    for name, ids in known.items():
        forge(engine_name, book_url, name, ids, "the current content")
    put_back_guards(book_url)
    found = {one.owner: one for one in mend(book_url, tmp_path / "b", ["alice", "bob"])}
    Path(found["bob"].file).write_text("Another file by now\n")
    with Keepbook(book_url, embedder="none") as kb:
        assert not any("set aside" in line for line in kb.book("alice").erase("alice").beyond_reach)
        assert not Path(found["alice"].file).exists()
        assert any(found["bob"].file in line for line in kb.book("bob").erase("bob").beyond_reach)
        assert Path(found["bob"].file).read_text() == "Another file by now\n"


@ON_ONE
def test_a_book_that_holds_is_left_alone(book_url: str, tmp_path: Path) -> None:
    with Keepbook(book_url, embedder="none") as kb:
        fill(kb, "alice")
        before = exported(kb.book("alice"))
    assert proved(book_url, tmp_path / "before.copy") == {}
    assert mend(book_url, tmp_path / "b", ["alice"]) == []
    with Keepbook(book_url, embedder="none") as kb:
        assert exported(kb.book("alice")) == before
