"""Fifty dialogues for each promise of what a person says: written by other hands than the code, played offline."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.models.orders.playing import PROMISES, Play, cases

from keepbook import Keepbook


@pytest.fixture(scope="module")
def shelf() -> Iterator[Keepbook]:
    with Keepbook(":memory:", embedder="none") as kb:
        yield kb


@pytest.mark.parametrize("case", [pytest.param(one, id=one["id"]) for promise in PROMISES for one in cases(promise)])
def test_what_a_person_says_is_done(shelf: Keepbook, case: dict[str, Any]) -> None:
    wrong = Play(shelf, case, case["id"]).play()
    assert not wrong, "\n".join(wrong)
