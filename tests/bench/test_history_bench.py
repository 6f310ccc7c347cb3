"""The history bench: the same sessions whoever makes them, kept once, asked meanwhile, and told as figures."""

import itertools
import json
from pathlib import Path

import pytest

from keepbook import Keepbook
from keepbook.bench.history import history_scale
from keepbook.bench.history.history_scale import Asker, bars, grow_history, keep_sessions
from keepbook.bench.history.made_up_history import EXCHANGES, MadeUpHistory
from keepbook.bench.history.opened_history import figures

HISTORY = MadeUpHistory(["".join(word) for word in itertools.product("bdklmr", "aeou", "nst", "aeiou")])


def test_a_session_is_the_same_whoever_makes_it() -> None:
    again = MadeUpHistory(HISTORY._words)
    assert again.session(7) == HISTORY.session(7) != HISTORY.session(8)
    said = HISTORY.session(7)
    assert [turn.role for turn in said] == ["user", "assistant"] * EXCHANGES
    assert [turn.at for turn in said] == sorted(turn.at for turn in said)
    asked = HISTORY.question(3, upto=1).split()
    assert any(set(asked) <= set(turn.text.replace(".", "").split()) for turn in HISTORY.session(0)[::2])


def test_a_history_is_kept_once_and_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_scale, "STEP", history_scale.SESSION)
    monkeypatch.setattr(history_scale, "PAUSE", 0.01)
    steps = tmp_path / "steps.jsonl"
    with Keepbook(tmp_path / "book.db", embedder="none") as kb:
        book = kb.book("history")
        keep_sessions(book, HISTORY, 0, 1)  # a run that was killed before it wrote its line
        (first,) = grow_history(book, HISTORY, steps, 100)
        more = list(grow_history(book, HISTORY, steps, 5000))
        assert list(grow_history(book, HISTORY, steps, 5000)) == []
        turns = sum(chat.turns for chat in book.threads.list(limit=1000))
    assert first["sessions"] == 1
    assert first["tokens"] == sum(len(turn.text.split()) for turn in HISTORY.session(0))
    assert more[-1]["tokens"] >= 5000
    assert turns == 2 * EXCHANGES * more[-1]["sessions"], "nothing is kept twice"
    assert not any(step["failures"] for step in [first, *more])
    assert len(steps.read_text(encoding="utf-8").splitlines()) == 1 + len(more)


def test_a_question_that_fails_while_it_is_kept_is_told(tmp_path: Path) -> None:
    with Keepbook(tmp_path / "book.db", embedder="none") as kb:
        book = kb.book("history")
        asker = Asker(book, HISTORY, 1)
        asker._history = None  # type: ignore[assignment]
        with asker:
            pass
    assert asker.failures == ["AttributeError"]


def test_an_opened_history_answers_beside_reading_and_scanning(tmp_path: Path) -> None:
    place = tmp_path / "book.db"
    with Keepbook(place, embedder="auto") as kb:
        book = kb.book("history")
        book.thread("one").add("user", "Banna lesta runo. Kilto")
        book.thread("one").add("user", "Marut denno")
        book.reindex()
    full = figures(place, "history", ["banna lesta"], "auto")
    assert (full["vectors"], full["asked"], full["answered"]) == (2, 1, 1)
    empty = figures(tmp_path / "empty.db", "nobody", ["banna lesta"], "auto")
    assert (empty["vectors"], empty["answered"]) == (0, 0)
    told = bars(full | {"scan_ms": 2.0, "question_ms": 3.0, "first_ms": 8.0, "read_ms": 4.0}, empty)
    assert (told["search_beside_a_scan"], told["first_question_beside_reading"]) == (1.5, 2.0)
    json.dumps(full)
