"""The first stage: makes the contexts that a reader is shown for each question, by Keepbook and by the baselines.

A conversation is stored as chats of one owner. Keepbook's context is the answer of its own tool `recall_chats` to the
bare question. The baselines show whole turns, the best first, as many as fit into the tokens that Keepbook's context
took for that question, or into `tokens`, which then is the limit for all. The way `full` shows the whole conversation,
if that is short enough for a reader.
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
"""How many turns a baseline finds; the limit of tokens then decides how many of them are shown."""
MS = 1000
"""Milliseconds in a second."""

ContextMaker = Callable[[JudgedQuestion, int | None], str]
"""Makes the context for a question, within a number of tokens, or without a limit."""


class ContextLimits(NamedTuple):
    """`places`: how many turns a context has; None for the product's own default. `tokens`: its limit. `full`: up to
    how many tokens a conversation is shown in full."""

    places: int | None = None
    tokens: int | None = None
    full: int = 100_000


class AskingClock:
    """A clock that shows the time of the question that is asked, so that "last week" means the right week; without a
    question, the real time."""

    def __init__(self) -> None:
        self.at: datetime | None = None

    def __call__(self) -> datetime:
        return self.at or utc_now()


# Ingestion


def ingest(book: Book, case: AnswerCase, stored: StageFile) -> None:
    """Store a conversation in the book, session by session, and embed it; sessions that are stored are skipped. Notes
    the processor time that each of the two steps took."""
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
    stored_at = time.process_time()
    book.reindex()
    texts = [turn.text for turns in case.sessions.values() for turn in turns]
    stored.add(
        {
            "id": case.name, "way": KEEPBOOK, "turns": len(texts), "tokens": sum(map(estimate, texts)),
            "words_cpu_s": round(stored_at - began, 3), "vectors_cpu_s": round(time.process_time() - stored_at, 3),
            "resumed": resumed,
        }
    )  # fmt: skip


# What each way shows


def keepbook_context(book: Book, places: int | None) -> ContextMaker:
    def show(question: JudgedQuestion, tokens: int | None) -> str:
        return _within(recall_chats(book, question.text, places, tokens=tokens).text.splitlines(), tokens)

    return show


def found_context(find: Finder, turns: Mapping[TurnKey, SpokenTurn], places: int | None) -> ContextMaker:
    """The context of a baseline: the whole turns that `find` returns."""

    def show(question: JudgedQuestion, tokens: int | None) -> str:
        most = DEEP if tokens is not None else places or TURNS
        found = find(question.text)[:most]
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
    """As many lines as fit into the tokens. The line at the limit is cut if at least half of it fits, else left out."""
    if tokens is None:
        return "\n".join(lines)
    text = "\n".join(lines)[: tokens * 4]
    whole_lines, _, cut = text.rpartition("\n")
    uncut = next((line for line in lines if cut and line.startswith(cut)), "")
    if not whole_lines or len(cut) * 2 >= len(uncut):
        return text
    return whole_lines


def makers_of(
    case: AnswerCase, book: Book, ways: Collection[str], limits: ContextLimits, embedder: Embedder | None
) -> dict[str, ContextMaker]:
    """The wanted ways that are possible for this conversation. Keepbook is the first, because the tokens of its context
    are the limit of the others."""
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
    """Store each conversation and make its contexts; yields the name of each that is done."""
    for case in cases:
        book = kb.book(case.name)
        ingest(book, case, stored)
        missing = {way for way in ways if any(contexts.get((one.id, way)) is None for one in case.questions)}
        if missing:
            embedder = kb.meaning.embedder if kb.meaning is not None else None
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
    """Make the missing contexts of a question, one by each way."""
    for way, show in makers.items():
        line = contexts.get((question.id, way))
        if line is None:
            began = time.process_time()
            text = show(question, tokens)
            line = _context_line(case, question, way, text, (time.process_time() - began) * MS)
            contexts.add(line)
        if way == KEEPBOOK and tokens is None:
            tokens = line["tokens"]  # the limit for the ways after it


def _context_line(case: AnswerCase, question: JudgedQuestion, way: str, text: str, cpu_ms: float) -> dict[str, Any]:
    return {
        "id": question.id, "way": way, "case": case.name, "kind": question.kind, "question": question.text,
        "asked_at": question.asked_at.date().isoformat(), "expected": question.expected,
        "points": list(question.points), "told": question.told, "context": text, "tokens": estimate(text),
        "cpu_ms": round(cpu_ms, 3),
    }  # fmt: skip
