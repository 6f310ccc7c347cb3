"""Vectors: meaning beside the words, filled behind the writer, and never of what must not be found."""

import threading
from collections.abc import Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from keepbook import Keepbook, ModelFailed
from keepbook.book.recall.nearest import VectorRows, directions
from keepbook.book.recall.vectors import BATCH, Meaning, pack_vectors
from keepbook.storage.tables.upkeep import vectors

THEMES = (("dog", "pet", "bamse", "puppy"), ("fund", "stock", "invest", "saving"), ("tea", "drink", "coffee"))


class Themes:
    """An embedder that knows three themes: texts of one theme are alike, whatever words they use."""

    floor = 0.3

    def __init__(self, space: str = "themes") -> None:
        self.space = space
        self.embedded: list[str] = []
        self.fails = False

    def embed(self, texts: Sequence[str]) -> Any:
        self.embedded += texts
        return np.asarray([self._row(text) for text in texts], dtype=np.float32)

    def ask(self, text: str) -> Any:
        if self.fails:
            raise ModelFailed("the embedder did not answer", code="embedder")
        return np.asarray(self._row(text), dtype=np.float32)

    def _row(self, text: str) -> Any:
        row = np.asarray([sum(word in text.lower() for word in theme) for theme in THEMES] + [0.1])
        return row / np.linalg.norm(row)


def meant(kb: Any, owner: str = "alice", embedder: Any = None) -> Any:
    """A book with an embedder of which the test says when it works."""
    book = kb.book(owner)
    book.meaning = Meaning(kb._database, embedder or Themes())
    book.meaning.nudge = lambda _: None
    return book


def held(kb: Any, owner: str = "alice") -> int:
    with kb._database.read(owner) as tx:
        return int(tx.conn.execute(select(func.count()).select_from(vectors).where(vectors.c.owner == owner)).scalar())


def found(book: Any, query: str, **how: Any) -> list[str]:
    return [hit.content for hit in book.recall(query, **how)]


def test_meaning_finds_what_no_word_would(kb: Any) -> None:
    alice = meant(kb)
    alice.remember("The dog is called Bamse")
    alice.remember("Prefers index funds over stocks")

    assert found(alice, "Which pet lives here?") == []
    assert alice.reindex() == 2
    hits = alice.recall("Which pet lives here?")
    assert [hit.content for hit in hits] == ["The dog is called Bamse"]
    assert any(reason.startswith("meaning: ") for reason in hits[0].reasons)
    assert found(alice, "submarine") == []


def test_meaning_finds_turns_too(kb: Any) -> None:
    alice = meant(kb)
    with alice.transaction():
        chat = alice.thread("one")
        for text in ("We talked for long", "Bamse barked at night", "It rained", "Nothing more"):
            chat.add("user", text)
    alice.reindex()

    hits = alice.recall_chats("Which pet do we have?")
    assert hits[0].text == "Bamse barked at night"
    alice.threads.delete(chat.id)
    assert alice.recall_chats("Which pet do we have?") == []
    alice.threads.delete(chat.id, forever=True)
    assert held(kb) == 0


def test_category_and_scope_hold_for_meaning(kb: Any) -> None:
    alice = meant(kb)
    alice.remember("The dog is called Bamse", category="profile")
    alice.remember("The puppy is called Rex", scope="vet")
    alice.reindex()

    assert found(alice, "pet") == ["The dog is called Bamse"]
    assert found(alice, "pet", category="person") == []
    assert set(found(alice, "pet", scope="vet")) == {"The dog is called Bamse", "The puppy is called Rex"}


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["remember", "update", "forget", "delete", "purge", "restore", "reindex"]), st.integers(0, 5)
    ),
    min_size=4,
    max_size=12,
)
_owners = count()


@settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS)
def test_only_what_is_active_and_current_is_ever_found(kb: Any, steps: Any) -> None:
    owner = f"walker {next(_owners)}"
    book, stranger = meant(kb, owner), meant(kb, f"stranger of {owner}")
    stranger.remember("The dog of a stranger is a secret")
    stranger.reindex()
    said: dict[str, str] = {book.remember("The first dog is a puppy").id: "The first dog is a puppy"}
    state = dict.fromkeys(said, "active")
    for number, (step, which) in enumerate(steps):
        id = list(said)[which % len(said)]
        if step == "remember":
            said[id := book.remember(f"The dog number {number} is a puppy", force=True).id] = (
                f"The dog number {number} is a puppy"
            )
            state[id] = "active"
        elif step == "reindex":
            book.reindex()
        elif state[id] == "active" and step == "update":
            said[id] = book.update(id, f"The dog was renamed to Bamse {number}").content
        elif state[id] == "active" and step in ("forget", "delete"):
            getattr(book, step)(id)
            state[id] = "resting"
        elif state[id] == "resting" and step == "restore":
            book.restore(id)
            state[id] = "active"
        elif state[id] != "gone" and step == "purge":
            book.delete(id, forever=True)
            state[id] = "gone"
        active = {said[id] for id in said if state[id] == "active"}
        assert set(found(book, "dog", limit=50)) == active
        assert set(found(book, "pet", limit=50)) <= active
    book.reindex()
    active = {said[id] for id in said if state[id] == "active"}
    assert set(found(book, "pet", limit=50)) == active
    assert held(kb, owner) == len(active)


def test_what_one_process_wrote_another_recalls_at_once(kb: Any, book_url: str, clock: Any) -> None:
    with closing(Keepbook(book_url, clock=clock)) as other:
        writer, reader = meant(kb), meant(other)
        writer.remember("The dog is called Bamse")
        assert found(reader, "Bamse") == ["The dog is called Bamse"]
        writer.reindex()
        assert found(reader, "pet") == ["The dog is called Bamse"]
        second = writer.remember("A puppy came too")
        writer.reindex()
        assert set(found(reader, "pet")) == {"The dog is called Bamse", "A puppy came too"}
        writer.forget(second.id)
        assert found(reader, "pet") == ["The dog is called Bamse"]
        writer.erase("alice")
        writer.remember("The puppy is new")
        writer.reindex()
        assert found(reader, "pet") == ["The puppy is new"]


def test_after_a_restart_nothing_is_embedded_again(kb: Any, book_url: str, clock: Any) -> None:
    alice = meant(kb)
    alice.remember("The dog is called Bamse")
    alice.reindex()
    with closing(Keepbook(book_url, clock=clock)) as again:
        embedder = Themes()
        book = meant(again, embedder=embedder)
        assert found(book, "pet") == ["The dog is called Bamse"]
        assert book.reindex() == 0
        assert embedder.embedded == []


def test_a_stopped_reindex_goes_on_where_it_stopped(kb: Any) -> None:
    embedder = Themes()
    alice = meant(kb, embedder=embedder)
    with alice.transaction():
        for number in range(BATCH + 20):
            alice.remember(f"Dog number {number} of the kennel", force=True)

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        alice.reindex(stop)
    assert held(kb) == BATCH
    seen: list[int] = []
    assert alice.reindex(seen.append) == 20
    assert seen[-1] == 20
    assert len(embedder.embedded) == BATCH + 20


def test_where_another_was_quicker_the_rest_is_embedded_all_the_same(kb: Any, monkeypatch: Any) -> None:
    class Beaten(Themes):
        """While it embeds its first texts, somebody else stores the same."""

        def embed(self, texts: Sequence[str]) -> Any:
            if not self.embedded:
                Meaning(kb._database, Themes()).fill("alice", most=1)
            return super().embed(texts)

    monkeypatch.setattr("keepbook.book.recall.vectors.BATCH", 2)
    alice = meant(kb, embedder=Beaten())
    with alice.transaction():
        chat = alice.thread("one")
        for number in range(7):
            chat.add("user", f"The dog barked {number} times")

    assert alice.reindex() == 5
    assert held(kb) == 7


def test_another_embedder_never_meets_the_vectors_of_the_first(kb: Any) -> None:
    first = meant(kb)
    first.remember("The dog is called Bamse")
    first.reindex()
    second = meant(kb, embedder=Themes("other"))

    assert found(second, "pet") == []
    assert found(second, "dog") == ["The dog is called Bamse"]
    second.reindex()
    assert found(second, "pet") == ["The dog is called Bamse"]
    assert found(first, "pet") == []
    assert held(kb) == 1


def test_vectors_stay_within_their_memory_and_misses_are_counted(kb: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    alice, bob = meant(kb), meant(kb, "bob")
    bob.meaning = alice.meaning
    for book in (alice, bob):
        book.remember("Walks the dog at seven")
        alice.meaning.fill(book.owner)
    for book in (alice, bob, alice, bob):
        book.recall("puppy")
    assert (kb.counted()["vectors", "missed"], kb.counted()["vectors", "held"]) == (2, 2)
    monkeypatch.setattr("keepbook.book.recall.vectors.HELD_BYTES", 1)  # room for the last one only
    small = meant(kb).meaning
    for book in (alice, bob, alice, alice, bob):
        book.meaning = small
        book.recall("puppy")
    assert (kb.counted()["vectors", "missed"], kb.counted()["vectors", "held"]) == (6, 3)


def test_when_the_embedder_fails_words_answer_and_say_so(kb: Any) -> None:
    embedder = Themes()
    alice = meant(kb, embedder=embedder)
    alice.remember("The dog is called Bamse")
    alice.thread("one").add("user", "The dog barked")
    alice.reindex()
    embedder.fails = True

    for hits in (alice.recall("dog"), alice.recall_chats("dog")):
        assert len(hits) == 1
        assert hits[0].reasons[-1].startswith("words alone: ")
    assert found(alice, "pet") == []


def test_vectors_are_filled_behind_the_writer(kb: Any) -> None:
    book = kb.book("alice")
    embedder, filled = Themes(), threading.Event()
    book.meaning = Meaning(kb._database, embedder)
    fill = book.meaning.fill
    book.meaning.fill = lambda owner: (fill(owner), filled.set())
    book.remember("The dog is called Bamse")

    assert filled.wait(30)
    book.meaning.close()
    assert found(book, "pet") == ["The dog is called Bamse"]


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_an_erased_book_leaves_no_vector_and_no_word_in_the_file(kb: Any, book_url: str) -> None:
    alice = meant(kb)
    alice.remember("The dog is called Quetzalcoatl")
    alice.thread("one").add("user", "Quetzalcoatl barked at night")
    alice.reindex()
    with kb._database.read("alice") as tx:
        kept = tx.conn.execute(select(vectors.c.vector)).scalars().all()
    alice.erase("alice")

    assert held(kb) == 0
    kb.close()
    left = b"".join(path.read_bytes() for path in Path(book_url).parent.glob(Path(book_url).name + "*"))
    assert b"uetzalcoatl" not in left
    assert kept
    assert all(len(vector) == len(THEMES) + 1 for vector in kept)


def test_a_byte_a_number_keeps_the_direction() -> None:
    rows = np.random.default_rng(1).standard_normal((50, 384)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)

    held = VectorRows()
    held.add([("text", part, vector) for part, vector in enumerate(pack_vectors(rows))])
    again = directions(held.arrays(384)[0])
    assert float((rows * again).sum(axis=1).min()) > 0.999


def test_a_program_that_ends_waits_for_one_batch_and_not_for_all_that_wait(kb: Any) -> None:
    """Without a limit of seconds: a thread that is left inside an embedder's own code would abort the program."""
    book, begun, steps = meant(kb), threading.Event(), []
    filler = book.meaning._filler

    class Slow(Themes):
        def embed(self, texts: Sequence[str]) -> Any:
            steps.append(len(texts))
            begun.set()
            while not filler.is_closed:
                threading.Event().wait(0.01)
            return super().embed(texts)

    book.meaning.embedder = Slow()
    with kb._database.write("alice"):
        for number in range(BATCH + 10):
            book.remember(f"Dog number {number} of many", force=True)
    filler.nudge("alice")
    assert begun.wait(60)
    filler.close()
    assert not filler._thread.is_alive()
    assert (steps, held(kb)) == ([BATCH], BATCH)
