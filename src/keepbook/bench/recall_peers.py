"""Other programs' memories, for the same questions over the same vectors: each as its own documents say, on disk where
it has a disk, and asked for one user, as a host of many must ask.

A peer that is not installed is left out. None may call home: what each has to switch that off is set before it is
loaded. What is measured is the store, so the embedder is the stand-in of the benchmark for all of them.
"""

import hashlib
import importlib
import importlib.util
import logging
import os
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ask = Callable[[str], Any]

USER = "bench"
LIMIT = 10
TOGETHER = 1000
"""So many are put in at once where a peer takes several."""


class PeerData(NamedTuple):
    """What a peer is filled with, and where it may write."""

    folder: Path
    texts: Sequence[str]
    rows: Floats
    embedder: Any

    def batches(self) -> Iterator[range]:
        for start in range(0, len(self.texts), TOGETHER):
            yield range(start, min(start + TOGETHER, len(self.texts)))


class Peer(Protocol):
    def __call__(self, filled: PeerData, /) -> AbstractContextManager[Ask]: ...


def are_installed(*modules: str) -> bool:
    try:
        return all(importlib.util.find_spec(module) is not None for module in modules)
    except ModuleNotFoundError:  # the package above it is missing
        return False


@contextmanager
def _chroma(filled: PeerData) -> Iterator[Ask]:
    """One collection for all users, and a filter by user."""
    chromadb = _import_peer("chromadb")
    client = chromadb.PersistentClient(str(filled.folder), chromadb.Settings(anonymized_telemetry=False))
    kept = client.create_collection("bench", metadata={"hnsw:space": "cosine"})
    for some in filled.batches():
        kept.add(
            ids=[str(at) for at in some],
            documents=[filled.texts[at] for at in some],
            embeddings=[filled.rows[at] for at in some],
            metadatas=[{"user_id": USER} for _ in some],
        )

    def ask(question: str) -> Any:
        asked = filled.embedder.ask(question)
        return kept.query(query_embeddings=[asked], n_results=LIMIT, where={"user_id": USER})

    yield ask


@contextmanager
def _langgraph_memory(filled: PeerData) -> Iterator[Ask]:
    """A namespace for each user; it has no disk."""
    index = {"dims": filled.rows.shape[1], "embed": _lists(filled.embedder), "fields": ["text"]}
    yield _asked_by_namespace(_import_peer("langgraph.store.memory").InMemoryStore(index=index), filled)


@contextmanager
def _langgraph_sqlite(filled: PeerData) -> Iterator[Ask]:
    """The same on disk. Its vectors need a sqlite3 that loads extensions; where this Python's does not, pysqlite3."""
    if hasattr(sqlite3.Connection, "enable_load_extension"):
        library = sqlite3
    else:
        library = _import_peer("pysqlite3")
    place = str(filled.folder / "store.db")
    # It reads `text_fields`, whatever its documents say of `fields`.
    index = {"dims": filled.rows.shape[1], "embed": _lists(filled.embedder), "text_fields": ["text"]}
    with closing(library.connect(place, check_same_thread=False, isolation_level=None)) as conn:
        store = _import_peer("langgraph.store.sqlite").SqliteStore(conn, index=index)
        store.setup()
        yield _asked_by_namespace(store, filled)


def _asked_by_namespace(store: Any, filled: PeerData) -> Ask:
    put, mine = _import_peer("langgraph.store.base").PutOp, ("memories", USER)
    for some in filled.batches():
        store.batch([put(mine, str(at), {"text": filled.texts[at]}) for at in some])
    return lambda question: store.search(mine, query=question, limit=LIMIT)


@contextmanager
def _mem0(filled: PeerData) -> Iterator[Ask]:
    """Its default store (Qdrant) on disk, asked through its own search; see `NOTES` for how it is filled."""
    os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(filled.folder / "home")}
    logging.getLogger("mem0").setLevel(logging.ERROR)
    unused = {"provider": "openai", "config": {"api_key": "none is called"}}
    store = {
        "collection_name": "bench", "embedding_model_dims": filled.rows.shape[1], "path": str(filled.folder / "qdrant"),
        "on_disk": True,
    }  # fmt: skip
    config = {
        "vector_store": {"provider": "qdrant", "config": store}, "llm": unused, "embedder": unused,
        "history_db_path": str(filled.folder / "history.db"),
    }  # fmt: skip
    memory = _import_peer("mem0").Memory.from_config(config)
    memory.embedding_model = SimpleNamespace(embed=lambda text, *_, **__: filled.embedder.ask(text).tolist())
    at_once = datetime.now(UTC).isoformat()
    for some in filled.batches():
        texts = [filled.texts[at] for at in some]
        memory.vector_store.insert(
            vectors=[filled.rows[at].tolist() for at in some],
            ids=[str(uuid.uuid4()) for _ in some],
            payloads=[
                {
                    "data": text, "hash": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
                    "created_at": at_once, "updated_at": at_once, "text_lemmatized": text, "user_id": USER,
                }
                for text in texts
            ],
        )  # fmt: skip
    yield lambda question: memory.search(question, filters={"user_id": USER}, top_k=LIMIT)
    memory.vector_store.client.close()


def _import_peer(module: str) -> Any:
    """A peer is loaded only to be measured, and most machines have none."""
    return importlib.import_module(module)


def _lists(embedder: Any) -> Callable[[list[str]], list[list[float]]]:
    return lambda texts: [row.tolist() for row in embedder.embed(texts)]


PEERS: dict[str, tuple[Peer, tuple[str, ...]]] = {
    "chroma": (_chroma, ("chromadb",)),
    "langgraph, in memory": (_langgraph_memory, ("langgraph.store.memory",)),
    "langgraph, sqlite": (_langgraph_sqlite, ("langgraph.store.sqlite", "sqlite_vec")),
    "mem0": (_mem0, ("mem0", "qdrant_client")),
}
"""Each with the modules that it is made of."""
NOTES = {
    "mem0": (
        "filled through its own vector store in batches, as add(infer=False) takes one at a time (measured: 8 to 22 ms "
        "each, over 6 minutes for 50,000); its keyword and entity search work only with its extras installed"
    ),
}
"""What has to be known to read a peer's figures."""
