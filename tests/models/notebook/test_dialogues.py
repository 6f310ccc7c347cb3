"""Random dialogues: what a reply says was done, and the lines that are kept, are held against the ledger.

What a clause does is drawn too, so that every act meets every state of the book, whatever the readers have learned.
"""

import random
import re
from collections import Counter
from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.models.notebook.scripted import BARS, Sentences
from tests.models.notebook.talking import assert_own_words, moved_by, read_by, say

from keepbook import Keepbook
from keepbook.models.notebook.values import from_parts
from keepbook.models.reader.moves import MOVES, RESTS, Move, MoveBars, MoveLine
from keepbook.models.reader.values import ReaderTurn

STATEMENTS = (
    "I live in Oslo with my wife Kari.", "I live in Bergen now", "I live in Oslo", "I live in Milan these days",
    "My salary is 55,000 a year", "no sorry, 65,000", "I take metformin every morning", "we sold the boat",
    "My sister Clare lives in Leeds. Her husband has Parkinson's.", "not Rome: Milan",
    "My PIN is 4471 and I have a boat called Vilja", "I prefer bonds over stocks", "I prefer stocks over bonds",
    "Ich wohne in Graz und habe zwei Katzen", "I'm flying to Rome on the 14th",
)  # fmt: skip
ORDERS = (
    "undo that", "undo that", "forget my salary", "forget everything", "never keep anything about my health",
    "remember that my bike is in the shed", "don't keep this: I have had diabetes since 2009", "forget my health",
    "don't forget the milk", "forget where I live", "vergiss mein Gehalt", "stop remembering",
)  # fmt: skip
ANSWERS = ("yes", "no", "ok no", "2", "1", "yes to all", "no to all", "both", "the first", "ok. my dog is called Rex")
QUESTIONS = ("where do I live?", "What do you know about me?", "What is my salary?", "thanks", "hello")
PRESETS = ("general", "general", "advisor", "assistant", "coach")
ACTS = ("say", "say", "change", "change", "change", "end", "end", "withdraw", "withdraw", *MOVES)
"""What clauses do, the rarer things oftener than in life."""
DIALOGUE = st.lists(
    st.one_of(map(st.sampled_from, (STATEMENTS, STATEMENTS, ORDERS, ANSWERS, QUESTIONS))), min_size=5, max_size=10
)
CLAIMS = {
    "Kept: ": ("remember", "restore"),
    "Changed: ": ("update",),
    "Forgotten: ": ("forget",),
    "Over, and kept with its days: ": ("end", "update"),
    "Taken out again: ": ("undo",),
    "Put back: ": ("undo",),
    "It says again: ": ("undo",),
}
"""How a reply says what was done, and what the ledger may call it."""
QUOTED = re.compile("“([^”]*)”")
_numbers = count()
ALIKE = 3
"""Words with which a line and what changes it begin; the next one is the value."""


class DrawnMoves:
    """A reader of moves that says anything at all, sure or not; the same for the same seed."""

    name = "drawn"
    bars: MoveBars = BARS

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)

    def moves(
        self, turns: Sequence[ReaderTurn], at: int, pieces: Sequence[tuple[int, int]], lines: Sequence[MoveLine]
    ) -> list[Move]:
        own = [MoveLine(f"{at}:{start}", turns[at].text[start:end], "said") for start, end in pieces]
        return [self._move(turns[at].text, piece, [*lines, *own]) for piece in pieces]

    def _move(self, text: str, piece: tuple[int, int], lines: Sequence[MoveLine]) -> Move:
        draw = self._draw
        act, likely = draw.choice(ACTS), draw.choice((0.6, 0.95, 0.95))
        act = "undo" if text.startswith("undo") else act
        acts = dict.fromkeys(MOVES, 0.0) | {act: likely}
        meant = draw.sample(list(lines), min(len(lines), draw.choice((0, 1, 1, 1, 2))))
        if (twin := _twin(text[slice(*piece)], lines)) is not None and act in ("change", "end"):
            meant = [twin]
        points = {line.id: draw.choice((0.6, 0.95, 0.95)) if line in meant else 0.0 for line in lines}
        old = {line.id: (*self._stretch(line.content), 0.95) for line in meant if line.content.strip()}
        new = (*self._stretch(text, piece), 0.95) if draw.random() < 0.7 else None
        flags = [draw.choice((0.0, 0.0, 0.95)) for _ in range(3)]
        return Move(*piece, acts, points, *flags, 0.0, dict.fromkeys(RESTS, 0.0), old, new, (), None)

    def _stretch(self, text: str, within: tuple[int, int] | None = None) -> tuple[int, int]:
        start, end = within or (0, len(text))
        words = [(start + one.start(), start + one.end()) for one in re.finditer(r"\S+", text[start:end])]
        if len(words) > ALIKE:
            return words[ALIKE]
        return self._draw.choice(words) if words else (start, end)


def _twin(words: str, lines: Sequence[MoveLine]) -> MoveLine | None:
    """A line that begins as a clause does: what follows may have changed."""
    begun = words.split()[:ALIKE]
    return next((one for one in lines if one.kind == "memory" and one.content.split()[:ALIKE] == begun), None)


@given(dialogue=DIALOGUE, seed=st.integers(0, 2**32), preset=st.sampled_from(PRESETS))
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@pytest.mark.both_engines
def test_replies_and_kept_lines_agree_with_the_ledger(
    kb: Keepbook, dialogue: list[str], seed: int, preset: str
) -> None:
    book = kb.book(f"person {next(_numbers)}")
    for line in ("I have a boat called Vilja", "My salary is 50,000"):
        book.remember(line, force=True)
    chat = book.threads.start(preset=preset)
    with moved_by(DrawnMoves(seed)), read_by(Sentences()):
        for text in dialogue:
            before = book.ledger(limit=1)[0].event
            reply = say(kb, chat, text)
            entries = [one for one in book.ledger(after=before, limit=None) if one.link_id is None]
            assert_said_as_written(book, chat, reply, entries)
            assert_own_words(book, chat)
    assert book.verify().ok


def assert_said_as_written(book: Any, chat: Any, reply: str, entries: Sequence[Any]) -> None:
    """The turn's deeds name its entries, each once; the reply claims what they say, and no more."""
    spoken = next(one for one in reversed(chat.messages()) if one.role == "user")
    deeds = from_parts(spoken.parts)
    named = Counter(deed.event for deed in deeds if deed.event)
    assert named == Counter(one.event for one in entries), (spoken.text, deeds, entries)
    for deed in deeds:
        assert not deed.failed or deed.failed in reply
    claims = [(ways, line) for start, ways in CLAIMS.items() for line in _claimed(reply, start)]
    for ways, line in claims:
        done = {one.action for one in entries if _words(one) == line}
        assert done & set(ways), (line, reply, entries)
    for one in entries:
        assert one.thread_id == chat.id


def _claimed(reply: str, start: str) -> list[str]:
    """The lines that a reply says were dealt with so."""
    told = [
        one.removeprefix(start).split(" Before, it said ")[0] for one in reply.splitlines() if one.startswith(start)
    ]
    return [words for one in told for words in QUOTED.findall(one)]


def _words(entry: Any) -> str:
    state = entry.after or entry.before
    return str(state["content"]).replace("“", "‘").replace("”", "’")
