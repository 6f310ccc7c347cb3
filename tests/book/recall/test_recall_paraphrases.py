"""Recall of memories by meaning: a question in other words finds its answer, and the words keep what they found."""

import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from keepbook import Keepbook

DATA = tomllib.loads((Path(__file__).parent / "paraphrases.toml").read_text(encoding="utf-8"))


class Found(NamedTuple):
    """The share of questions whose answer is the first hit, and among the first five."""

    first: float
    five: float


class Books(NamedTuple):
    """One book, asked by words alone and with meaning."""

    words: Any
    hybrid: Any

    def found(self, way: str, kind: str) -> Found:
        book = getattr(self, way)
        ranks = []
        for fact in DATA["fact"]:
            for question in fact.get(kind, ()):
                told = [hit.content for hit in book.recall(question, 5)]
                ranks.append(told.index(fact["content"]) if fact["content"] in told else 9)
        return Found(sum(rank == 0 for rank in ranks) / len(ranks), sum(rank < 5 for rank in ranks) / len(ranks))


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Books]:
    with closing(Keepbook(tmp_path_factory.mktemp("asked") / "book.db", embedder="auto")) as kb:
        hybrid, words = kb.book("alice"), kb.book("alice")
        assert hybrid.meaning is not None, "keepbook[embed] belongs to the tests; pip install 'keepbook[dev]'"
        words.meaning = None
        with hybrid.transaction():
            for fact in DATA["fact"]:
                hybrid.remember(fact["content"], force=True)
        hybrid.reindex()
        yield Books(words, hybrid)


def test_a_question_in_other_words_finds_its_answer(books: Books) -> None:
    words, hybrid = books.found("words", "asked"), books.found("hybrid", "asked")

    assert hybrid.five >= 0.87
    assert hybrid.first >= 0.64
    assert hybrid.five > words.five


def test_meaning_takes_nothing_from_what_words_find(books: Books) -> None:
    words, hybrid = books.found("words", "named"), books.found("hybrid", "named")

    assert words.five == hybrid.five == 1.0
    assert hybrid.first >= 0.96


def test_one_word_in_common_does_not_outdo_what_means_the_same(books: Books) -> None:
    told = [hit.content for hit in books.hybrid.recall("how should I invest my savings?", 5)]
    assert "Prefers index funds over single stocks" in told
    told = [hit.content for hit in books.hybrid.recall("what am I scared of?", 1)]
    assert told == ["Afraid of flying, prefers trains even if they take all day"]


def test_what_nothing_answers_is_answered_by_little(books: Books) -> None:
    told = {question: [hit.content for hit in books.hybrid.recall(question)] for question in DATA["unknown"]}

    assert sum(map(len, told.values())) <= 2 * len(told)
    assert sum(not hits for hits in told.values()) >= len(told) / 3
