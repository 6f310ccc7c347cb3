"""What a reader is shown for each question: what the product brings, and in the same run what one gets without it.

A conversation is ingested as chats of one owner. Keepbook's context is what its own tool says for the bare question,
so that whatever the tool shows is measured. The baselines show whole turns, best first, as many as fit into what
Keepbook's context took for that question (or into `tokens`, which then holds for all); the full text is shown where it
fits into what the reader can hold.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from keepbook.app import Keepbook
from keepbook.bench.answers.answer_sets import AnswerCase, JudgedQuestion
from keepbook.bench.answers.stage_files import StageFile
from keepbook.bench.recall import Finder, of_fts5, of_meaning, role_of, turns_by_key
from keepbook.bench.recall_sets import EvaluationConversation, SpokenTurn, TurnKey
from keepbook.book.book import Book
from keepbook.book.chats.threads import estimate
from keepbook.book.ground.system_clock import utc_now
from keepbook.book.recall.chats import TURNS
from keepbook.book.recall.vectors import Embedder
from keepbook.tools.chat_turns import recall_chats

KEEPBOOK, FTS5, EMBEDDER, FULL = "keepbook", "fts5", "embedder", "full"
WAYS = (KEEPBOOK, FTS5, EMBEDDER, FULL)
DEEP = 200
"""So many turns a baseline may bring, until the budget is full."""
MS = 1000

ContextMaker = Callable[[JudgedQuestion, int | None], str]
"""From a question and the tokens it may take to what the reader is shown."""


class ContextLimits(NamedTuple):
    """How many turns are shown at most, what a context may take, and how long a text is shown in full. The product
    brings as many as it does by itself where nothing is said."""

    places: int | None = None
    tokens: int | None = None
    full: int = 100_000


class AskingClock:
    """The time at which a question is asked: what it calls last week counts from there."""

    def __init__(self) -> None:
        self.at: datetime | None = None

    def __call__(self) -> datetime:
        return self.at or utc_now()


# Ingestion


def ingest(book: Book, case: AnswerCase, stored: StageFile) -> None:
    """Put a conversation into the book, session by session, and embed it; what is there already is left alone."""
    if stored.get((case.name, KEEPBOOK)) is not None:
        return
    resumed = False
    began = time.process_time()
    for session, turns in case.sessions.items():
        with book.transaction():
            chat = book.thread(session)
            if chat.thread.turns:
                resumed = True
                continue
            for turn in turns:
                chat.add(role_of(turn), turn.text or "…", turn.at, turn.speaker)
    words = time.process_time()
    book.reindex()
    texts = [turn.text for turns in case.sessions.values() for turn in turns]
    stored.add(
        {
            "id": case.name, "way": KEEPBOOK, "turns": len(texts), "tokens": sum(map(estimate, texts)),
            "words_cpu_s": round(words - began, 3), "vectors_cpu_s": round(time.process_time() - words, 3),
            "resumed": resumed,
        }
    )  # fmt: skip


# What each way shows


def keepbook_context(book: Book, places: int | None) -> ContextMaker:
    def show(question: JudgedQuestion, tokens: int | None) -> str:
        return _within(recall_chats(book, question.text, places, tokens=tokens).text.splitlines(), tokens)

    return show


def found_context(find: Finder, turns: Mapping[TurnKey, SpokenTurn], places: int | None) -> ContextMaker:
    """Whole turns as a store would give them back."""

    def show(question: JudgedQuestion, tokens: int | None) -> str:
        found = find(question.text)[: (places or TURNS) if tokens is None else DEEP]
        return _within([_shown_turn(turns[key]) for key in found], tokens)

    return show


def full_context(case: AnswerCase) -> ContextMaker:
    text = "\n".join(_shown_turn(turn) for turns in case.sessions.values() for turn in turns)
    return lambda _question, _tokens: text


def _shown_turn(turn: SpokenTurn) -> str:
    day = ""
    if turn.at:
        day = f"{turn.at.day} {turn.at:%B %Y}, "
    return f"- {day}{turn.speaker}: {' '.join(turn.text.split())}"


def _within(lines: Sequence[str], tokens: int | None) -> str:
    """As many lines as fit; the last is cut where half of it would."""
    if tokens is None:
        return "\n".join(lines)
    text = "\n".join(lines)[: tokens * 4]
    whole, _, rest = text.rpartition("\n")
    begun = next((line for line in lines if rest and line.startswith(rest)), "")
    if not whole or len(rest) * 2 >= len(begun):
        return text
    return whole


def makers_of(
    case: AnswerCase, book: Book, ways: Collection[str], limits: ContextLimits, embedder: Embedder | None
) -> dict[str, ContextMaker]:
    """The ways that can be had for this conversation, Keepbook first: the others get as many tokens."""
    told = EvaluationConversation(case.sessions, [], True)
    turns = dict(turns_by_key(told))
    found: dict[str, ContextMaker] = {}
    if KEEPBOOK in ways:
        found[KEEPBOOK] = keepbook_context(book, limits.places)
    if FTS5 in ways:
        found[FTS5] = found_context(of_fts5(told, DEEP), turns, limits.places)
    if EMBEDDER in ways and embedder is not None:
        found[EMBEDDER] = found_context(of_meaning(told, embedder, DEEP), turns, limits.places)
    if FULL in ways and sum(estimate(turn.text) for turn in turns.values()) <= limits.full:
        found[FULL] = full_context(case)
    return found


# The stage


def make_contexts(
    kb: Keepbook,
    clock: AskingClock,
    cases: Iterator[AnswerCase],
    stored: StageFile,
    contexts: StageFile,
    ways: Collection[str],
    limits: ContextLimits,
) -> Iterator[str]:
    """Ingest and ask, conversation by conversation; says which one is done."""
    for case in cases:
        book = kb.book(case.name)
        ingest(book, case, stored)
        if any(contexts.get((question.id, way)) is None for question in case.questions for way in ways):
            embedder = None
            if kb.meaning is not None:
                embedder = kb.meaning.embedder
            missing = {way for way in ways if any(contexts.get((one.id, way)) is None for one in case.questions)}
            makers = makers_of(case, book, {KEEPBOOK, *missing} & set(ways), limits, embedder)
            try:
                for question in case.questions:
                    clock.at = question.asked_at
                    _ask_ways(case, question, makers, contexts, limits.tokens)
            finally:
                clock.at = None
        yield case.name


def _ask_ways(
    case: AnswerCase,
    question: JudgedQuestion,
    makers: Mapping[str, ContextMaker],
    contexts: StageFile,
    tokens: int | None,
) -> None:
    for way, show in makers.items():
        known = contexts.get((question.id, way))
        if known is None:
            began = time.process_time()
            text = show(question, tokens)
            known = _context_line(case, question, way, text, (time.process_time() - began) * MS)
            contexts.add(known)
        if way == KEEPBOOK and tokens is None:
            tokens = known["tokens"]


def _context_line(case: AnswerCase, question: JudgedQuestion, way: str, text: str, cpu_ms: float) -> dict[str, Any]:
    return {
        "id": question.id, "way": way, "case": case.name, "kind": question.kind, "question": question.text,
        "asked_at": question.asked_at.date().isoformat(), "expected": question.expected,
        "points": list(question.points), "told": question.told, "context": text, "tokens": estimate(text),
        "cpu_ms": round(cpu_ms, 3),
    }  # fmt: skip
