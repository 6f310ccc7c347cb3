"""Long texts are cut into passages at the ends of sentences, whatever the script, and nothing is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepbook.book.text.passages import MOST, PASSAGE, passages

LONG = {
    "english": "The tram was late again, so I walked along the canal. " * 30,
    "chinese": "我昨天在公园里看见一只黑猫。它一直跟着我回家。" * 30,
    "no sentences": "and then we went on and on " * 60,
    "no words": "x" * 5000,
}


def test_a_text_of_usual_length_is_one_passage() -> None:
    assert passages("We moved. It rained.") == ["We moved. It rained."]


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_long_text_is_cut_evenly(text: str) -> None:
    sizes = [len(passage.encode()) for passage in passages(text)]
    assert 2 <= len(sizes) <= MOST
    assert all(PASSAGE / 2 <= size <= 2 * PASSAGE for size in sizes), sizes


@pytest.mark.parametrize("name", ["english", "chinese"])
def test_sentences_stay_whole(name: str) -> None:
    assert all(passage[-1] in ".。" for passage in passages(LONG[name]))


def test_a_very_long_text_has_no_more_passages_than_others() -> None:
    assert len(passages(LONG["english"] * 50)) == MOST


@given(st.text(alphabet="ab .!?\n。我", max_size=3000))
def test_nothing_is_lost(text: str) -> None:
    assert "".join("".join(passages(text)).split()) == "".join(text.split())
