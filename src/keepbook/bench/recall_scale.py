"""How recall grows with the book, and how long peers take for the same question over the same vectors.

One owner's book grows from 1,000 to 100,000 memories; the same questions are asked at each size, by words alone and
with meaning. Embedding a question costs the same at any size and for everybody, so a stand-in embedder is used that
costs next to nothing: what is measured is the store. Peers are measured if they are installed, at 5,000 and 50,000.
"""

import importlib.util
import itertools
import json as json_module
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from keepbook.app import Keepbook
from keepbook.bench.crowd import COLUMNS
from keepbook.book.book import Book
from keepbook.book.index import Said, term_weights
from keepbook.book.vectors import Meaning
from keepbook.book.when import stamp

Floats = NDArray[np.float32]

SIZES = (1_000, 5_000, 50_000, 100_000)
BESIDE = (5_000, 50_000)
"""Where peers are measured: they take long to fill."""
ASKED = 40
DIMS = 384


class Timed(NamedTuple):
    """Milliseconds a question takes, in the middle, of one way at one size."""

    way: str
    size: int
    ms: float


class Directions:
    """A stand-in for an embedder: texts with words in common point a little the same way."""

    space, floor = "bench", 0.3

    def __init__(self) -> None:
        self._known: dict[str, Floats] = {}

    def embed(self, texts: Sequence[str]) -> Floats:
        rows = np.asarray([sum(self._word(word) for word in text.split()) for text in texts], dtype=np.float32)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)  # type: ignore[no-any-return]

    def ask(self, text: str) -> Floats:
        return self.embed([text])[0]  # type: ignore[no-any-return]

    def _word(self, word: str) -> Floats:
        if word not in self._known:
            made = np.random.default_rng(int.from_bytes(word.encode()[:8].ljust(8), "big")).standard_normal(DIMS)
            self._known[word] = made.astype(np.float32)
        return self._known[word]


# What is in the book


def texts(seed: int) -> Iterator[str]:
    """Facts with the words of a language: a few common ones, and ever rarer ones."""
    chance = random.Random(seed)
    syllables = [one + two for one in "bdfgklmnprstv" for two in "aeiou"]
    words = ["".join(chance.choices(syllables, k=chance.choice((2, 3, 3, 4)))) for _ in range(30_000)]
    weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(words))))
    while True:
        yield " ".join(chance.choices(words, cum_weights=weights, k=chance.randint(6, 14)))


def grow(path: Path, owner: str, held: int, facts: Sequence[str]) -> None:
    """Put memories into a book bare, past the operations but under the guards: it is the reading that is measured."""
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute("PRAGMA synchronous = OFF")
        conn.execute("BEGIN IMMEDIATE")
        for nth, content in enumerate(facts, held + 1):
            at = stamp(datetime(2020, 1, 1, tzinfo=UTC) + timedelta(minutes=nth))
            id, mark, previous = f"{nth:08d}", f"mark {nth}", f"mark {nth - 1}" if nth > 1 else ""
            entry = (owner, nth, at, "person", "bench", "remember", id, "{}", "{}", "", "", previous, mark)
            for table, row in (
                ("ledger", entry),
                ("memories", (owner, id, "fact", "asserted", 0.5, 1, at, at, at, nth)),
                ("versions", (owner, id, 1, content, "profile", "[]", at, at, 0, nth)),
            ):
                columns = COLUMNS[table]
                conn.execute(f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(row))})", row)
            weights = term_weights(Said(None, None, content, None, None))
            rows = [(owner, term, id, weight) for term, weight in weights.items()]
            conn.executemany(f"INSERT INTO terms ({COLUMNS['terms']}) VALUES (?, ?, ?, ?)", rows)
        conn.execute("COMMIT")


# Measuring


def timed(ask: Callable[[str], Any], questions: Sequence[str]) -> float:
    ask(questions[0])
    spent = []
    for question in questions:
        tries = []
        for _ in range(3):  # the quickest of three: what else runs on the machine is not recall's
            start = time.perf_counter()
            ask(question)
            tries.append(time.perf_counter() - start)
        spent.append(min(tries) * 1000)
    return statistics.median(spent)


def measure(sizes: Sequence[int] = SIZES, beside: Sequence[int] = BESIDE) -> list[Timed]:
    facts, found = texts(1), []
    written: list[str] = []
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        place = Path(folder) / "bench.db"
        kb = stack.enter_context(closing(Keepbook(place, embedder="none")))
        meaning = Meaning(kb._database, Directions())
        words = kb.book("grower")
        hybrid = Book(kb._database, "grower", words.origin, kb._presets, meaning=meaning)
        for size in sizes:
            fresh = list(itertools.islice(facts, size - len(written)))
            grow(place, words.owner, len(written), fresh)
            written += fresh
            hybrid.reindex()
            chance = random.Random(size)
            questions = [" ".join(chance.sample(chance.choice(written).split(), 4)) for _ in range(ASKED)]
            found += [
                Timed("words", size, timed(words.recall, questions)),
                Timed("hybrid", size, timed(hybrid.recall, questions)),
            ]
            if size in beside:
                rows = meaning.embedder.embed(written)
                for name, peer in PEERS.items():
                    if (ask := peer(Path(folder), written, rows, meaning.embedder)) is not None:
                        found.append(Timed(name, size, timed(ask, questions)))
        meaning.close()
    return found


# Peers: each is filled with the same texts and vectors, and answers the same questions, for one user as a store of many
# would; nothing where not installed.


def _chroma(folder: Path, written: Sequence[str], rows: Floats, embedder: Any) -> Callable[[str], Any] | None:
    if importlib.util.find_spec("chromadb") is None:
        return None
    # A peer is loaded only to be measured.
    import chromadb  # type: ignore[import-not-found,unused-ignore]

    client = chromadb.PersistentClient(str(folder / f"chroma-{len(written)}"))
    kept = client.create_collection("bench", metadata={"hnsw:space": "cosine"})
    for start in range(0, len(written), 1000):
        some = range(start, min(start + 1000, len(written)))
        kept.add(
            ids=[str(at) for at in some],
            documents=[written[at] for at in some],
            embeddings=[rows[at].tolist() for at in some],
            metadatas=[{"user_id": "bench"} for _ in some],
        )
    return lambda question: kept.query(
        query_embeddings=[embedder.ask(question).tolist()], n_results=10, where={"user_id": "bench"}
    )


def _langgraph(_folder: Path, written: Sequence[str], _rows: Floats, embedder: Any) -> Callable[[str], Any] | None:
    if importlib.util.find_spec("langgraph") is None or importlib.util.find_spec("langgraph.store") is None:
        return None
    # See _chroma().
    from langgraph.store.memory import InMemoryStore  # type: ignore[import-not-found,unused-ignore]

    def embed(some: list[str]) -> list[list[float]]:
        return [list(map(float, row)) for row in embedder.embed(some)]

    store = InMemoryStore(index={"dims": DIMS, "embed": embed, "fields": ["text"]})
    for at, text in enumerate(written):
        store.put(("bench",), str(at), {"text": text})
    return lambda question: store.search(("bench",), query=question, limit=10)


def _mem0(folder: Path, written: Sequence[str], rows: Floats, embedder: Any) -> Callable[[str], Any] | None:
    """Its store on disk as it comes (Qdrant), filled and asked through its own vector store: `infer` plays no part."""
    if importlib.util.find_spec("mem0") is None:
        return None
    # See _chroma().
    from mem0.vector_stores.qdrant import Qdrant  # type: ignore[import-not-found,unused-ignore]

    place = str(folder / f"mem0-{len(written)}")
    store = Qdrant(collection_name="bench", embedding_model_dims=DIMS, path=place, on_disk=True)
    for start in range(0, len(written), 1000):
        some = range(start, min(start + 1000, len(written)))
        store.insert(
            vectors=[rows[at].tolist() for at in some],
            payloads=[{"data": written[at], "user_id": "bench"} for at in some],
            ids=list(some),
        )
    return lambda question: store.search(
        query=question, vectors=embedder.ask(question).tolist(), top_k=10, filters={"user_id": "bench"}
    )


PEERS = {"chroma": _chroma, "langgraph": _langgraph, "mem0": _mem0}


# Showing


def report(found: Sequence[Timed]) -> dict[str, Any]:
    by_way: dict[str, dict[int, float]] = {}
    for one in found:
        by_way.setdefault(one.way, {})[one.size] = round(one.ms, 3)
    growth = {way: round(sizes[max(sizes)] / sizes[min(sizes)], 2) for way, sizes in by_way.items() if way not in PEERS}
    slower = [
        f"{way} is slower than {peer} at {size:,}"
        for peer in PEERS
        for size, ms in by_way.get(peer, {}).items()
        for way in growth
        if by_way[way][size] > ms
    ]
    absent = [peer for peer in PEERS if peer not in by_way]
    return {"ms": by_way, "growth": growth, "slower_than_a_peer": slower, "peers_not_installed": absent}


def main(json: bool) -> bool:
    """Print what was measured; true where recall grows at most tenfold and no peer is faster."""
    told = report(measure())
    if json:
        print(json_module.dumps(told))
    else:
        for way, sizes in told["ms"].items():
            print(f"{way:12}" + "".join(f"{size:>10,}: {ms:9.2f} ms" for size, ms in sizes.items()))
        print("growth for 100 × the data: " + ", ".join(f"{way} {ratio} ×" for way, ratio in told["growth"].items()))
        print("slower than a peer: " + ("; ".join(told["slower_than_a_peer"]) or "never"))
        if told["peers_not_installed"]:
            print("not installed, so not measured: " + ", ".join(told["peers_not_installed"]))
    return not told["slower_than_a_peer"] and all(ratio <= 10 for ratio in told["growth"].values())
