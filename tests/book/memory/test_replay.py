"""Replay: a block rendered again from the ledger is the block that was given, whatever the clocks did meanwhile."""

import os
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from keepbook import Keepbook, KeepbookError, NotFound

WORDS = ("tea", "coffee", "Oslo", "Bergen", "the cello", "chess", "index funds", "a boat", "swimming", "trains", "jazz")
REPLAYS = int(os.environ.get("REPLAYS", "60"))
"""How many blocks of each preset; `make faults` asks for 500."""
PRESETS = ("general", "coach", "assistant", "advisor")


class Unsteady:
    """A clock that stands still, runs, and now and then jumps back."""

    def __init__(self, draw: random.Random) -> None:
        self.draw, self.now = draw, datetime(2026, 3, 1, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        step = self.draw.choice((0, 0, 0, 1, 60, 86_400, -1, -3_600, -90_000))
        self.now += timedelta(seconds=step)
        return self.now


def lived(book: Any, draw: random.Random, sessions: int) -> dict[str, str]:
    """Random writes, with injections between them; the blocks by session."""
    given: dict[str, str] = {}
    categories = list(book.preset().categories) or [None]
    active = [book.remember("Was here from the first day", category=categories[0]).id]
    while len(given) < sessions:
        act, one, year = draw.random(), draw.choice(active), draw.randint(1900, 2026)
        try:
            if act < 0.15 and len(active) < 40:
                said = f"{draw.choice(('Likes', 'Knows', 'Has', 'Avoids'))} {draw.choice(WORDS)} since {year}"
                told = {"category": draw.choice(categories), "importance": draw.random(), "force": True}
                active.append(book.remember(said, **told).id)
            elif act < 0.35:
                book.update(one, f"Changed to {draw.choice(WORDS)} in {year}")
            elif act < 0.4:
                book.forget(one)
            elif act < 0.45:
                book.restore(one)
            elif act < 0.5:
                book.confirm(one)
            elif act < 0.55:
                book.undo(book.ledger(limit=1)[0].event)
            else:
                session = f"session-{len(given)}"
                given[session] = book.inject(session)
        except KeepbookError:
            continue
    return given


@pytest.mark.parametrize("preset", PRESETS)
def test_blocks_render_again_to_the_byte(preset: str) -> None:
    draw = random.Random(f"replay {preset}")
    with Keepbook(":memory:", preset=preset, clock=Unsteady(draw)) as kb:
        book = kb.book("alice")
        given = lived(book, draw, REPLAYS)
        assert len({block for block in given.values() if block}) > 4, "blocks that never change prove nothing"
        assert {session: book.replay(session) for session in given} == given
        assert book.verify().ok


@pytest.mark.parametrize("preset", PRESETS)
def test_some_blocks_render_again_on_both_engines(book_url: str, preset: str) -> None:
    draw = random.Random(f"engines {preset}")
    with Keepbook(book_url, preset=preset, clock=Unsteady(draw)) as kb:
        book = kb.book("alice")
        given = lived(book, draw, 12)
        assert {session: book.replay(session) for session in given} == given


def test_a_session_that_was_given_nothing_has_no_replay(alice: Any) -> None:
    with pytest.raises(NotFound):
        alice.replay("nobody")
