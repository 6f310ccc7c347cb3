"""Windows judge each token of a user's turn once, stay within their size, and see both sides."""

from typing import Any, NamedTuple

import pytest

from keepbook.models.reader.values import ReaderTurn
from keepbook.models.reader.windows import CORE, SIZE, Coder


class _Found(NamedTuple):
    ids: list[int]
    offsets: list[tuple[int, int]]


class _Letters:
    """A tokenizer of single letters: enough to see where they go."""

    def no_truncation(self) -> None: ...

    def no_padding(self) -> None: ...

    def token_to_id(self, name: str) -> int:
        return {"[CLS]": 1, "[SEP]": 2, "[UNK]": 3}[name]

    def encode(self, text: str, add_special_tokens: bool = True) -> _Found:
        return _Found([10 + ord(letter) for letter in text], [(at, at + 1) for at in range(len(text))])

    def encode_batch(self, texts: list[str], add_special_tokens: bool = True) -> list[_Found]:
        return [self.encode(text) for text in texts]


@pytest.fixture
def coder() -> Coder:
    tokenizer: Any = _Letters()
    return Coder(tokenizer)


@pytest.mark.parametrize("letters", [3, 50, 159, 160, 161, 2_000])
def test_every_token_is_judged_once(coder: Coder, letters: int) -> None:
    turns = [
        ReaderTurn("user", "x" * letters),
        ReaderTurn("assistant", "y" * 500),
        ReaderTurn("user", "One. Two. " * letters),
    ]
    coded = coder.code(turns)
    judged = [(run.turn, run.first + step) for window in coder.windows(coded) for run in window.runs
              for step in range(run.size)]  # fmt: skip
    assert judged == [(turn, at) for turn in (0, 2) for at in range(len(turns[turn].text))]


def test_a_window_is_bounded_and_marks_what_it_judges(coder: Coder) -> None:
    turns = [ReaderTurn(role, "word after word. " * 30) for role in ("user", "assistant") * 20]
    coded = coder.code(turns)
    for window in coder.windows(coded):
        assert len(window.ids) == len(window.types) <= SIZE
        assert sum(window.types) == sum(run.size for run in window.runs) <= CORE
        for run in window.runs:
            assert window.ids[run.at : run.at + run.size] == coded[run.turn].ids[run.first : run.first + run.size]
            assert all(window.types[run.at : run.at + run.size])


def test_a_short_chat_is_one_window_and_turns_left_out_are_context(coder: Coder) -> None:
    coded = coder.code(
        [ReaderTurn("user", "I live in Oslo."), ReaderTurn("assistant", "Nice."), ReaderTurn("user", "No, Bergen.")]
    )
    (window,) = coder.windows(coded)
    assert [run.turn for run in window.runs] == [0, 2]
    (window,) = coder.windows(coded, leave={0})
    assert [run.turn for run in window.runs] == [2]
    assert coder.windows(coded, leave={0, 2}) == []


def test_a_long_turn_is_cut_where_sentences_start(coder: Coder) -> None:
    coded = coder.code([ReaderTurn("user", "This is a sentence of forty-four letters yes. " * 40)])
    firsts = [run.first for window in coder.windows(coded) for run in window.runs]
    assert set(firsts) <= {0, *coded[0].breaks}


@pytest.mark.parametrize("text", ["x" * 200_000, "No. " * 50_000, ("A long sentence " * 30 + ". ") * 400])
def test_a_very_long_turn_is_a_bounded_number_of_windows(coder: Coder, text: str) -> None:
    windows = coder.windows(coder.code([ReaderTurn("user", text)]))
    assert len(windows) <= 2 * len(text) / CORE + 1
    assert max(len(window.ids) for window in windows) <= SIZE


def test_many_short_turns_share_windows(coder: Coder) -> None:
    turns = [ReaderTurn(role, "twenty letters here.") for role in ("user", "assistant") * 100]
    read = sum(len(window.ids) for window in coder.windows(coder.code(turns)))
    assert read < 3 * sum(len(turn.text) + 11 for turn in turns)
