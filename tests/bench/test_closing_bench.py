"""What reading a closing chat costs grows with the text and no faster: counted in calls, never in time."""

import json
import sys
from types import FrameType
from typing import Any

import pytest

from keepbook.bench import closing
from keepbook.models.notebook.extract import extract
from keepbook.models.reader.choice import linear_move_reader, linear_reader


def _calls(text: str) -> int:
    """How many calls of Python reading a text takes."""
    count = 0

    def called(_: FrameType, event: str, __: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        extract(closing.reading_of([text]), reader=linear_reader(), moves=linear_move_reader())
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("shape", sorted(closing.SHAPES))
def test_four_times_the_text_is_about_four_times_the_work(shape: str) -> None:
    piece = closing.SHAPES[shape]
    whole = piece * (2400 // len(piece) + 1)
    _calls(whole[:100])  # what is loaded once
    few, many = _calls(whole[:600]), _calls(whole[:2400])
    assert many <= 6 * few


def test_the_bench_names_what_it_measures(capsys: pytest.CaptureFixture[str]) -> None:
    closing.main(json=True, turns=4, characters=800)
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 2 + len(closing.SHAPES)
    assert all({"name", "ratio", "most", "ok"} == set(row) for row in rows)
