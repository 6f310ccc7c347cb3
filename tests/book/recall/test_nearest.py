"""Vectors in memory: past a size a sketch goes first, and what is found stays what it was."""

from typing import Any

import numpy as np
import pytest

from keepbook.book.recall import nearest
from keepbook.book.recall.nearest import Likeness, VectorIndex, VectorRows
from keepbook.book.recall.vectors import pack_vectors

DIMS = 96


def made(many: int, seed: int = 1) -> Any:
    """Directions in bunches, as texts on the same things are."""
    chance = np.random.default_rng(seed)
    bunches = chance.standard_normal((many // 20, DIMS))
    rows = bunches[chance.integers(0, len(bunches), many)] + 0.7 * chance.standard_normal((many, DIMS))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def loaded(rows: Any, per_chat: int = 0) -> VectorIndex:
    parts = [
        (f"chat {at // per_chat:04}", at % per_chat + 1) if per_chat else (f"{at:08}", 1) for at in range(len(rows))
    ]
    return gathered(parts, pack_vectors(rows))


def gathered(parts: list[tuple[str, int]], held: list[bytes]) -> VectorIndex:
    rows = VectorRows()
    for start in range(0, len(held), 1000):
        some = slice(start, start + 1000)
        rows.add([(*part, vector) for part, vector in zip(parts[some], held[some], strict=True)])
    return VectorIndex(len(held), 0, rows.parts, *rows.arrays(DIMS))


def in_passages(rows: Any, per_text: int) -> VectorIndex:
    """The same directions, so many of them passages of one text."""
    held = [b"".join(pack_vectors(rows[at : at + per_text])) for at in range(0, len(rows), per_text)]
    parts = [(f"chat {at // 10:04}", at % 10 + 1) for at in range(len(held))]
    return gathered(parts, held)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A book of a few thousand as if it were one of many."""

    def as_if() -> None:
        monkeypatch.setattr(nearest, "EXACT", 100)
        monkeypatch.setattr(nearest, "CLOSE", 300)

    return as_if


def test_the_sketch_finds_the_same_memories_as_the_exact_comparison(small: Any) -> None:
    rows = made(4000)
    words = {"00000007": 0.5, "00003999": 0.9, "not embedded": 0.7}
    asked = made(4020, seed=2)[:40] * 0.4 + rows[:40] * 0.6
    exact = [Likeness(loaded(rows), one, 0.2).blend(words, 1.0, 0.2, 10, 0.0) for one in asked]
    small()
    sketched = [Likeness(loaded(rows), one, 0.2).blend(words, 1.0, 0.2, 10, 0.0) for one in asked]

    missed = sum(len(one.keys() - other.keys()) for one, other in zip(exact, sketched, strict=True))
    assert missed <= 0.01 * sum(map(len, exact))
    for one, other in zip(exact, sketched, strict=True):
        assert other["not embedded"] == one["not embedded"] == (0.7, 0.0)
        for id in one.keys() & other.keys():
            assert other[id][0] == pytest.approx(one[id][0], abs=0.1)  # the scale is set by a few
            assert other[id][1] == pytest.approx(one[id][1], abs=1e-5)


def test_the_sketch_finds_the_same_turns_with_their_neighbours(small: Any) -> None:
    rows = made(3000)
    asked = made(40, seed=3)[:20] * 0.4 + rows[:20] * 0.6
    turns = [("chat 0003", 4), ("chat 0100", 1), ("nowhere", 1)]
    exact = [Likeness(loaded(rows, 10), one, 0.2).near(turns, 20, without=["chat 0001"]) for one in asked]
    small()
    sketched = [Likeness(loaded(rows, 10), one, 0.2).near(turns, 20, without=["chat 0001"]) for one in asked]

    missed = sum(len(one.keys() - other.keys()) for one, other in zip(exact, sketched, strict=True))
    assert missed <= 0.02 * sum(map(len, exact))
    assert all({turns[0], turns[1]} <= one.keys() for one in sketched)
    assert all(item != "chat 0001" for one in sketched for item, _ in one)


@pytest.mark.parametrize("sketched", [False, True])
def test_what_comes_later_is_found_like_what_was_there_at_once(small: Any, sketched: bool) -> None:
    rows, asked = made(400), made(40, seed=4)[0]
    if sketched:
        small()
    at_once = loaded(rows)
    first = VectorIndex(300, 0, at_once.parts[:300], at_once.codes[:300])
    Likeness(first, asked, 0.2).blend({"00000007": 0.5}, 1.0, 0.2, 10, 0.0)  # now much is worked out
    later = first.grown(400, at_once.parts[300:], at_once.codes[300:])

    assert Likeness(later, asked, 0.2).blend({"00000399": 0.5}, 1.0, 0.0, 10, 0.0) == Likeness(
        at_once, asked, 0.2
    ).blend({"00000399": 0.5}, 1.0, 0.0, 10, 0.0)
    assert first.grown(301, [], first.codes[:0]).added == 301


@pytest.mark.parametrize("sketched", [False, True])
def test_a_long_text_is_as_alike_as_its_best_passage(small: Any, sketched: bool) -> None:
    rows = made(1200)
    asked = rows[7] * 0.8 + made(40, seed=7)[0] * 0.2  # the eighth of all is the second passage of the third text
    best = (rows.reshape(400, 3, DIMS) @ asked).max(axis=1)
    if sketched:
        small()
    whole = in_passages(rows, 3)
    first = VectorIndex(200, 0, whole.parts[:200], whole.codes[:600], np.full(200, 3))
    Likeness(first, asked, 0.2).near([], 5)  # now much is worked out
    later = first.grown(400, whole.parts[200:], whole.codes[600:], np.full(200, 3))
    for one in (whole, later):
        near = Likeness(one, asked, 0.2).near([("chat 0001", 1)], 5)
        assert near[whole.parts[2]][1] == max(value for _, value in near.values())
        for part, (_, value) in near.items():
            assert value == pytest.approx(best[whole.parts.index(part)], abs=0.02)
    plain = loaded(rows[:30]).grown(40, whole.parts[:10], whole.codes[:30], np.full(10, 3))
    assert plain.all_rows.tolist() == [1] * 30 + [3] * 10


def test_the_order_in_which_vectors_came_changes_nothing(small: Any) -> None:
    rows, asked = made(2000), made(40, seed=5)[0]
    one = loaded(rows)
    order = np.random.default_rng(6).permutation(len(rows))
    other = VectorIndex(len(rows), 0, [one.parts[at] for at in order], one.codes[order])
    for _ in range(2):
        assert Likeness(one, asked, 0.2).blend({}, 1.0, 0.2, 25, 0.0) == Likeness(other, asked, 0.2).blend(
            {}, 1.0, 0.2, 25, 0.0
        )
        small()
