"""Building the word index anew: what an older program left is put right, and what is right is not touched."""

from typing import Any

import pytest
from sqlalchemy import delete, insert, select

from keepbook.book.recall import rebuild
from keepbook.storage.tables.chats import turn_terms
from keepbook.storage.tables.memory import likeness, terms

INDEXES = (terms, likeness, turn_terms)


@pytest.fixture(autouse=True)
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuild, "SLICE", 3)
    monkeypatch.setattr(rebuild, "TOGETHER", 2)


def rows(kb: Any, owner: str = "alice") -> list[Any]:
    with kb._database.read(owner) as tx:
        return [
            sorted(map(tuple, tx.conn.execute(select(index).where(index.c.owner == owner)).all())) for index in INDEXES
        ]


@pytest.fixture
def filled(alice: Any) -> Any:
    """A book with everything in it that has an index, and some that must not be in it."""
    with alice.transaction():
        ids = [alice.remember(f"Thing {number} is a {word}").id for number, word in enumerate(WORDS)]
        alice.update(ids[0], "The first thing became a lantern")
        alice.forget(ids[1])
        alice.delete(ids[2])
        for name in ("one", "two", "three"):
            chat = alice.thread(name)
            for text in ("Where is the anchor?", "It lies in the harbour", "Good"):
                chat.add("user", text, speaker="Nora")
            chat.add("tool", "a tool says kettle")
        alice.thread("private", incognito=True).add("user", "the secret is a walrus")
    return alice


WORDS = ("violin", "trumpet", "hammer", "ladder", "bucket", "saddle", "compass", "anvil")


def test_a_book_that_is_right_is_left_as_it_is(kb: Any, filled: Any) -> None:
    before = rows(kb)
    seen: list[int] = []
    assert filled.index.rebuild(seen.append) == 0
    assert rows(kb) == before
    put_away = 2  # of which one key is kept, so that no agent saves them again
    assert seen[-1] == len(WORDS) - 2 + 9 + put_away


def test_whatever_an_older_program_left_is_put_right(kb: Any, filled: Any) -> None:
    right = rows(kb)
    with kb._database.write("alice") as tx:
        gone, other = next(iter(filled.list(state="archived"))).id, next(iter(filled.list())).id
        tx.conn.execute(delete(terms).where(terms.c.owner == "alice", terms.c.term == "ladder"))
        bucket = next(memory.id for memory in filled.list() if "bucket" in memory.content)
        tx.conn.execute(delete(terms).where(terms.c.owner == "alice", terms.c.term == "bucket"))
        tx.conn.execute(insert(terms), {"owner": "alice", "term": "bucket", "memory_id": bucket, "weight": 0.1})
        for id in (gone, other, "zzzzzzzz"):
            tx.conn.execute(insert(terms), {"owner": "alice", "term": "ghost", "memory_id": id, "weight": 0.5})
        tx.conn.execute(delete(likeness).where(likeness.c.owner == "alice"))
        tx.conn.execute(delete(turn_terms).where(turn_terms.c.owner == "alice", turn_terms.c.term == "anchor"))
        chat = filled.threads.list()[0].id
        ghost = {"owner": "alice", "term": "ghost", "thread_id": chat, "turn": 3, "weight": 0.5}
        tx.conn.execute(insert(turn_terms), ghost)

    assert filled.index.rebuild() > 0
    assert rows(kb) == right
    assert filled.index.rebuild() == 0


def test_an_empty_index_is_filled_from_the_book_alone(kb: Any, filled: Any) -> None:
    right = rows(kb)
    bob = kb.book("bob")
    bob.remember("Bob has a violin too")
    with kb._database.write("alice") as tx:
        for index in INDEXES:
            tx.conn.execute(delete(index).where(index.c.owner == "alice"))
    assert filled.recall("lantern") == []
    filled.index.rebuild()
    assert rows(kb) == right
    assert [hit.content for hit in filled.recall("lantern")] == ["The first thing became a lantern"]
    assert [hit.content for hit in bob.recall("violin")] == ["Bob has a violin too"]


def test_what_is_written_meanwhile_is_not_lost(kb: Any, filled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with kb._database.write("alice") as tx:
        tx.conn.execute(delete(terms).where(terms.c.owner == "alice"))
    mend = rebuild._reindex
    ladder = next(memory.id for memory in filled.list() if "ladder" in memory.content)

    def write_first(*args: Any) -> None:
        if filled.get(ladder).version == 1:
            filled.update(ladder, "The ladder became a telescope")
        mend(*args)

    monkeypatch.setattr(rebuild, "_reindex", write_first)
    filled.index.rebuild()
    assert [hit.id for hit in filled.recall("telescope")] == [ladder]
    monkeypatch.setattr(rebuild, "_reindex", mend)
    assert filled.index.rebuild() == 0


def test_stopped_in_the_middle_it_goes_on_with_what_is_left(
    kb: Any, filled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = rows(kb)
    with kb._database.write("alice") as tx:
        tx.conn.execute(delete(terms).where(terms.c.owner == "alice"))
    mended: list[int] = []
    mend = rebuild._reindex

    def stop(tx: Any, kind: Any, keys: Any, does: Any) -> None:
        mended.append(len(keys))
        if len(mended) == 2:
            raise KeyboardInterrupt
        mend(tx, kind, keys, does)

    monkeypatch.setattr(rebuild, "_reindex", stop)
    with pytest.raises(KeyboardInterrupt):
        filled.index.rebuild()
    monkeypatch.setattr(rebuild, "_reindex", mend)
    assert filled.index.rebuild() == len(WORDS) - 2 - mended[0]
    assert rows(kb) == right
