"""Fifty dialogues for each promise of what a person says: written by other hands than the code, played offline.

What still fails stands in `failing.toml` with its reason, strictly: a dialogue that begins to pass must leave the list.
"""

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from tests.models.orders.playing import HERE, PROMISES, Play, cases

from keepbook import Keepbook

FAILING: dict[str, str] = tomllib.loads((HERE / "failing.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def shelf() -> Iterator[Keepbook]:
    with Keepbook(":memory:", embedder="none") as kb:
        yield kb


def _params() -> list[Any]:
    found = []
    for promise in PROMISES:
        for case in cases(promise):
            why = FAILING.get(case["id"])
            marks = [pytest.mark.xfail(reason=why, strict=True)] if why else []
            found.append(pytest.param(case, id=case["id"], marks=marks))
    return found


@pytest.mark.parametrize("case", _params())
def test_what_a_person_says_is_done(shelf: Keepbook, case: dict[str, Any]) -> None:
    wrong = Play(shelf, case, case["id"]).play()
    assert not wrong, "\n".join(wrong)
