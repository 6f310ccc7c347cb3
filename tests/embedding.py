"""A stand-in for an embedder: words have directions of their own, a few mean the same, and everything asked is counted.

It has no model to load, gives the same on every machine, and its vectors are long enough to be told apart in raw bytes.
"""

import hashlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from keepbook import ModelFailed
from keepbook.book.recall.vectors import Meaning
from keepbook.book.text.words import STOP_WORDS, tokens

SAME = {"dog": "pet", "puppy": "pet", "fund": "money", "stock": "money", "coffee": "drink", "tea": "drink"}
SIZE = 256


class StandIn:
    floor = 0.3

    def __init__(self, space: str = "stand-in", pause: float = 0.0) -> None:
        self.space = space
        self.pause = pause
        self.embedded: list[str] = []
        self.asked: list[str] = []
        self.fails = False

    def embed(self, texts: Sequence[str], within: float | None = None) -> Any:
        time.sleep(self.pause)
        self.embedded += texts
        return np.stack([self._row(text) for text in texts])

    def ask(self, text: str) -> Any:
        self.asked.append(text)
        if self.fails:
            raise ModelFailed("the embedder did not answer", code="embedder")
        return self._row(text)

    def _row(self, text: str) -> Any:
        row = np.full(SIZE, 1e-3, dtype=np.float32)
        for word in set(tokens(text)) - STOP_WORDS:
            seed = hashlib.sha256(f"{self.space} {SAME.get(word, word)}".encode()).digest()
            row += np.random.default_rng(int.from_bytes(seed[:8], "big")).standard_normal(SIZE).astype(np.float32)
        return row / np.linalg.norm(row)


def meant(kb: Any, owner: str = "alice", embedder: Any = None, *, behind: bool = False) -> Any:
    """A book with this embedder; unless it works behind the writers, the test says when."""
    meaning = Meaning(kb._database, embedder or StandIn())
    kb.__dict__["meaning"] = meaning
    if not behind:
        meaning.nudge = lambda _: None  # type: ignore[method-assign]
    return kb.book(owner)


class Watching(StandIn):
    """An embedder that notes whether somebody waits for it."""

    def __init__(self, kb: Any) -> None:
        super().__init__()
        self.held: list[bool] = []
        self._kb = kb

    def ask(self, text: str) -> Any:
        self.held.append(self._kb._database.is_writing)
        return super().ask(text)

    def embed(self, texts: Any, within: float | None = None) -> Any:
        self.held.append(self._kb._database.is_writing)
        return super().embed(texts, within)
