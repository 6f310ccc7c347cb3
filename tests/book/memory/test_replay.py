"""Replay: a block rendered again from the ledger is the block that was given, whatever the clocks did meanwhile."""

import io
import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

import keepbook.presets
from keepbook import Keepbook, KeepbookError, NotFound
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes
from keepbook.presets import load_preset

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


# --- a preset file that was edited since

EDITS = {
    "heading": ('heading = "What you have told me"', 'heading = "What I know"'),
    "intro": ("These lines are", "What follows are"),
    "title": ('profile = "Profile"', 'profile = "Who they are"'),
    "tool": ('recall_tool = "recall"', 'recall_tool = "history"'),
    "id": ('id = "short"', 'id = "labelled"'),
    "subject": ("subject = false", "subject = true"),
    "total": ("total = 150", "total = 1500"),
    "floor": ("floor = 0.7", "floor = 0.9"),
    "order": ('categories = ["profile", "preference"', 'categories = ["preference", "profile"'),
}
"""One after the other, each changes the block of `lines_of_a_life`."""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A preset of one's own, made from `general`; ask for it before the book."""
    shipped = (Path(keepbook.presets.__file__).parent / "general.toml").read_text(encoding="utf-8")
    path = tmp_path / "presets" / "own.toml"
    path.parent.mkdir()
    path.write_text(shipped.replace('name = "general"', 'name = "own"').replace("1500", "150"), encoding="utf-8")
    monkeypatch.setenv("KEEPBOOK_PRESETS", str(path.parent))
    return path


def edit(path: Path, old: str, new: str) -> None:
    """Edited, and surely younger than before, however coarse the clock of the disk."""
    written = path.read_text(encoding="utf-8")
    assert old in written
    later = path.stat().st_mtime_ns + 1_000_000_000
    path.write_text(written.replace(old, new), encoding="utf-8")
    os.utime(path, ns=(later, later))


def lines_of_a_life(kb: Any) -> Any:
    """A book whose block has two groups, a reading that could fade, and a line too many."""
    book = kb.book("alice")
    book.remember("Lives in Oslo", category="profile", subject="home")
    book.remember("Prefers tea to coffee", category="preference", subject="drinks")
    found = Origin("extractor", "chat", "thread-1", source="extracted")
    with kb._database.write("alice") as tx:
        read = changes.Statement("Seems to like jazz", category="profile", score=0.8, made_by="rules")
        changes.remember(tx, found, load_preset("general"), read)
    for year in range(1990, 1996):
        said = f"Has crossed the Norwegian Sea in {year} in a boat without a keel"
        book.remember(said, category="fact", importance=0.1, force=True)
    return book


def kept_rules(kb: Any) -> list[Any]:
    with kb._database.read("alice") as tx:
        return list(tx.conn.execute(text("SELECT digest, rules FROM block_rules WHERE owner = 'alice'")))


def test_a_block_renders_again_after_its_preset_was_edited(own: Path, kb: Any) -> None:
    book = lines_of_a_life(kb)
    given = {"first": book.inject("first", preset="own")}
    for name, change in EDITS.items():
        edit(own, *change)
        before = list(given.values())[-1]
        given[name] = book.inject(name, preset="own")
        assert given[name] != before, f"{name}: an edit that changes nothing proves nothing"
    assert {session: book.replay(session) for session in given} == given
    own.unlink()
    assert {session: book.replay(session) for session in given} == given, "the file is not needed any more"
    assert book.verify().ok


def test_the_rules_of_a_block_are_kept_once(own: Path, kb: Any) -> None:
    book = lines_of_a_life(kb)
    for session in range(5):
        book.inject(f"session {session}", preset="own")
    assert len(kept_rules(kb)) == 1
    edit(own, 'consent = "visible"', 'consent = "silent"')
    book.inject("quieter", preset="own")
    assert len(kept_rules(kb)) == 1, "how it saves changes no block"
    edit(own, *EDITS["heading"])
    book.inject("renamed", preset="own")
    assert len(kept_rules(kb)) == 2


def test_the_rules_move_with_the_book_and_go_with_it(own: Path, kb: Any) -> None:
    book = lines_of_a_life(kb)
    given = book.inject("before", preset="own")
    own.unlink()
    file = io.StringIO()
    book.export(file)
    kb.book("moved").import_(io.StringIO(file.getvalue()))
    assert kb.book("moved").replay("before") == given
    again = io.StringIO()
    kb.book("moved").export(again)
    assert again.getvalue() == file.getvalue()
    assert book.erase(confirm="alice").counts["block_rules"] == 1
    assert kept_rules(kb) == []


def test_rules_that_were_taken_back_are_kept_by_the_next_injection(own: Path, kb: Any) -> None:
    book = lines_of_a_life(kb)
    with pytest.raises(NotFound), book.transaction():
        book.replay(book.inject("never", preset="own")[:9])
    assert kept_rules(kb) == []
    given = book.inject("once", preset="own")
    book.erase(confirm="alice")
    lines_of_a_life(kb)
    assert book.inject("once", preset="own").splitlines()[0] == given.splitlines()[0]
    edit(own, *EDITS["heading"])
    assert book.replay("once").splitlines()[0] == given.splitlines()[0]


def test_a_block_that_a_purge_emptied_is_rendered_by_the_rules_of_now(own: Path, kb: Any) -> None:
    book = lines_of_a_life(kb)
    before = book.inject("one", preset="own")
    book.delete(book.find("Oslo"), forever=True)
    edit(own, *EDITS["heading"])
    anew = book.inject("one", preset="own")
    assert anew.splitlines()[0] != before.splitlines()[0]
    assert book.replay("one") == anew
    assert book.verify().ok
