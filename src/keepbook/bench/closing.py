"""`keepbook bench closing`: what reading a closing chat costs, as ratios within one run, which any machine can compare.

It compares a chat of two hundred turns with the embedding of its turns; a long text with a quarter of it, in shapes
that people paste (sentences, only commas, no punctuation, one word); and measures by how much the process grows.
"""

import json as json_module
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from keepbook.models.embedders.bundled import find_bundled
from keepbook.models.model import ClosingChat, DialogueTurn
from keepbook.models.notebook.extract import extract

TURNS, CHARACTERS = 200, 200_000  # of the longest chat, and of the longest turn
MOST_TIMES, MOST_GROWTH, MOST_MEGABYTES = 8.0, 1.5, 120.0
SAID = (
    "I moved to Bremen in March and the flat is above a bakery.",
    "Could you draft a short note to the landlord about the heating?",
    "My sister Wilma works at the harbour, she starts at five.",
    "No sorry, it is the 14th, I mixed the weeks up.",
    "I pay {number} euros for the parking space, which is too much.",
    "What would you cook with leeks and two eggs?",
    "If I had a car I would drive to the coast every weekend.",
    "Please keep answers short, I read them on the bus.",
    "Long day, everybody wanted something at once.",
    "We have {number} tomato plants on the roof this year.",
)
_PIECE = "I moved to Bremen and my sister works at a bakery while we still pay rent for the old flat "
SHAPES: dict[str, str] = {
    "sentences": f"{_PIECE.strip()}. ",
    "commas": f"{_PIECE.strip()}, ",
    "no stop": _PIECE,
    "one word": "x",
}


@dataclass(frozen=True, slots=True)
class Cost:
    name: str
    ratio: float
    most: float

    @property
    def is_fine(self) -> bool:
        return self.ratio <= self.most


def main(*, json: bool, turns: int = TURNS, characters: int = CHARACTERS) -> bool:
    """Measure and print. Returns whether no figure is above its limit."""
    costs = [*_chat(turns), *(_growth(name, piece, characters) for name, piece in SHAPES.items())]
    if json:
        print(json_module.dumps([asdict(cost) | {"ok": cost.is_fine} for cost in costs]))
    else:
        for cost in costs:
            print(f"{cost.name:<44} {cost.ratio:8.2f}  at most {cost.most:g}  {'ok' if cost.is_fine else 'OVER'}")
    return all(cost.is_fine for cost in costs)


def reading_of(texts: list[str]) -> ClosingChat:
    turns = tuple(DialogueTurn(str(at), "user", text) for at, text in enumerate(texts))
    return ClosingChat(turns, (), ("profile", "fact"), "UTC", datetime(2026, 1, 5, tzinfo=UTC))


def _chat(turns: int) -> list[Cost]:
    texts = [SAID[at % len(SAID)].format(number=30 + at) for at in range(turns)]
    embedder = find_bundled()
    embedding = 0.0
    if embedder is not None:
        embedder.embed(texts[:1])
        embedding = _seconds(lambda: embedder.embed(texts))
    before = megabytes_held()
    extract(reading_of(texts[:2]))  # loads the reader
    closing = _seconds(lambda: extract(reading_of(texts)))
    grown = Cost("megabytes that reading adds to the embedder", megabytes_held() - before, MOST_MEGABYTES)
    if embedder is None:
        return [grown]
    return [grown, Cost(f"closing {turns} turns / embedding them", closing / embedding, MOST_TIMES)]


def _growth(name: str, piece: str, characters: int) -> Cost:
    """The cost of a character in a long text, compared with that in a quarter of the text."""
    whole = piece * (characters // len(piece) + 1)
    quarter, full = reading_of([whole[: characters // 4]]), reading_of([whole[:characters]])
    first, last = _seconds(lambda: extract(quarter)) / (characters // 4), _seconds(lambda: extract(full)) / characters
    return Cost(f"{name}: a character of {characters} / of a quarter", last / first, MOST_GROWTH)


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def megabytes_held() -> float:
    """The memory of the process now, in MB. If the system does not tell it, the largest it ever was."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize() / 2**20
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
