"""Sets up other memory stores (peers), to ask them the same questions over the same vectors.

Each is used as its documentation says, on disk if it can, and asked for one user of many. Peers that are not installed
are left out. Their telemetry is switched off before they are loaded. Only the store is measured: all of them use the
benchmark's stand-in for an embedder.
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
"""How many hits a question asks for."""
TOGETHER = 1000
"""How many texts are stored in one call, if a peer takes several."""


class PeerData(NamedTuple):
    """The texts and their vectors (`rows`) that a peer stores, the embedder for questions, and a folder for its
    files."""

    folder: Path
    texts: Sequence[str]
    rows: Floats
    embedder: Any

    def batches(self) -> Iterator[range]:
        for start in range(0, len(self.texts), TOGETHER):
            yield range(start, min(start + TOGETHER, len(self.texts)))


class Peer(Protocol):
    """A context manager that fills a peer, and gives the function that asks it."""

    def __call__(self, filled: PeerData, /) -> AbstractContextManager[Ask]: ...


def are_installed(*modules: str) -> bool:
    try:
        return all(importlib.util.find_spec(module) is not None for module in modules)
    except ModuleNotFoundError:  # the package above it is missing
        return False


@contextmanager
def _chroma(filled: PeerData) -> Iterator[Ask]:
    """Chroma: one collection for all users, and a filter by user."""
    chromadb = _import_peer("chromadb")
    client = chromadb.PersistentClient(str(filled.folder), chromadb.Settings(anonymized_telemetry=False))
    collection = client.create_collection("bench", metadata={"hnsw:space": "cosine"})
    for batch in filled.batches():
        collection.add(
            ids=[str(at) for at in batch],
            documents=[filled.texts[at] for at in batch],
            embeddings=[filled.rows[at] for at in batch],
            metadatas=[{"user_id": USER} for _ in batch],
        )

    def ask(question: str) -> Any:
        vector = filled.embedder.ask(question)
        return collection.query(query_embeddings=[vector], n_results=LIMIT, where={"user_id": USER})

    yield ask


@contextmanager
def _langgraph_memory(filled: PeerData) -> Iterator[Ask]:
    """LangGraph's store in memory, with a namespace for each user."""
    index = {"dims": filled.rows.shape[1], "embed": _lists(filled.embedder), "fields": ["text"]}
    yield _asked_by_namespace(_import_peer("langgraph.store.memory").InMemoryStore(index=index), filled)


@contextmanager
def _langgraph_sqlite(filled: PeerData) -> Iterator[Ask]:
    """LangGraph's store on disk. Its vectors need a sqlite3 module that loads extensions: `pysqlite3`, if Python's own
    cannot."""
    library: Any = sqlite3
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        library = _import_peer("pysqlite3")
    place = str(filled.folder / "store.db")
    # This store reads `text_fields`, although its documentation says `fields`.
    index = {"dims": filled.rows.shape[1], "embed": _lists(filled.embedder), "text_fields": ["text"]}
    with closing(library.connect(place, check_same_thread=False, isolation_level=None)) as conn:
        store = _import_peer("langgraph.store.sqlite").SqliteStore(conn, index=index)
        store.setup()
        yield _asked_by_namespace(store, filled)


def _asked_by_namespace(store: Any, filled: PeerData) -> Ask:
    """Fill a store of LangGraph; returns the function that asks it."""
    put_op, namespace = _import_peer("langgraph.store.base").PutOp, ("memories", USER)
    for batch in filled.batches():
        store.batch([put_op(namespace, str(at), {"text": filled.texts[at]}) for at in batch])
    return lambda question: store.search(namespace, query=question, limit=LIMIT)


@contextmanager
def _mem0(filled: PeerData) -> Iterator[Ask]:
    """mem0 with its default store (Qdrant) on disk, asked through its own search; see `NOTES` for how it is filled."""
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
    now = datetime.now(UTC).isoformat()
    for batch in filled.batches():
        texts = [filled.texts[at] for at in batch]
        memory.vector_store.insert(
            vectors=[filled.rows[at].tolist() for at in batch],
            ids=[str(uuid.uuid4()) for _ in batch],
            payloads=[
                {
                    "data": text, "hash": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
                    "created_at": now, "updated_at": now, "text_lemmatized": text, "user_id": USER,
                }
                for text in texts
            ],
        )  # fmt: skip
    yield lambda question: memory.search(question, filters={"user_id": USER}, top_k=LIMIT)
    memory.vector_store.client.close()


def _import_peer(module: str) -> Any:
    """Import a module of a peer, late, because most machines have none of them."""
    return importlib.import_module(module)


def _lists(embedder: Any) -> Callable[[list[str]], list[list[float]]]:
    """The embedder as a function that returns lists instead of arrays."""
    return lambda texts: [row.tolist() for row in embedder.embed(texts)]


PEERS: dict[str, tuple[Peer, tuple[str, ...]]] = {
    "chroma": (_chroma, ("chromadb",)),
    "langgraph, in memory": (_langgraph_memory, ("langgraph.store.memory",)),
    "langgraph, sqlite": (_langgraph_sqlite, ("langgraph.store.sqlite", "sqlite_vec")),
    "mem0": (_mem0, ("mem0", "qdrant_client")),
}
"""The peers by name, each with the modules that it needs."""
NOTES = {
    "mem0": (
        "filled through its own vector store in batches, as add(infer=False) takes one at a time (measured: 8 to 22 ms "
        "each, over 6 minutes for 50,000); its keyword and entity search work only with its extras installed"
    ),
}
"""Remarks on peers whose figures need an explanation."""
