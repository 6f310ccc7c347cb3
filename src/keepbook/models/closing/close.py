"""Closing a chat: reads what the person said and keeps it as memories, exactly once.

    claim    take the lease, and the turns past the watermark          (a transaction)
    read     one call of the extractor, outside any transaction
    check    every candidate against the rules, in code
    keep     memories, summary, watermark and state together           (a transaction that needs the lease)

An error before the last step leaves the chat as it was, to be tried again; a process that lost the lease writes
nothing. So a chat is closed completely or not at all, whichever process crashes and however many try at once.
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from logging import Logger
from typing import Any, TypeVar

from keepbook.book.chats import learned_memories, threads
from keepbook.book.chats.closing_result import ClosingResult, SkippedCandidate
from keepbook.book.chats.threads import Claim, Message
from keepbook.book.chats.view import block_of
from keepbook.book.ground.limits import clean_line, clean_optional
from keepbook.book.ground.one_line_log import get_logger
from keepbook.book.ground.when import instant, later, parse_stamp, stamp
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes, proposals, quotes
from keepbook.book.memory.changes import Statement
from keepbook.book.memory.likeness.put_away import is_put_away
from keepbook.book.memory.memories import Written
from keepbook.book.memory.proposals import alike
from keepbook.book.memory.questions import Choice, choices_for
from keepbook.book.owners import choices, owners, spending
from keepbook.book.owners.switches import leave_out_topics
from keepbook.book.recall.forgotten import ForgottenMatters, forgotten, turns_not_recalled
from keepbook.book.text.own_words import without_pasted
from keepbook.book.text.topic_meaning import Sense
from keepbook.book.text.words import content_words
from keepbook.book.upkeep.importers.incoming import source_of_session
from keepbook.errors import KeepbookError
from keepbook.extension import Extension
from keepbook.models.closing.checks import (
    KNOWN,
    OFFLINE,
    candidate_text,
    judge_candidates,
    known_line,
    line_made_of,
    said_at,
    strip_injected,
)
from keepbook.models.closing.known_memories import known_memories
from keepbook.models.model import Candidate, ClosingChat, DialogueTurn, Extraction, KnownMemory, Model, TurnId
from keepbook.models.notebook.extract import extract_ordered
from keepbook.models.notebook.values import Deed, from_parts, is_kept_at_once, is_persons, standing_deeds
from keepbook.presets import Preset
from keepbook.storage.database import Database, Tx

LEASE_SECONDS = 180.0
"""The shortest lease of a closing. If a model may take longer, the lease has room for three of its calls: the answer,
its repair, and one more if the endpoint refuses the schema."""
FIRST_RETRY_MINUTES = 15.0
"""How long after the first failure a closing is tried again."""
log: Logger = get_logger(__name__)


@dataclass(slots=True)
class _ClosingOutcome:
    written: list[dict[str, Any]] = field(default_factory=list)
    proposed: list[str] = field(default_factory=list)
    skipped: list[SkippedCandidate] = field(default_factory=list)
    recorders: dict[str, str] = field(default_factory=dict)
    """For each turn that an agent recorded, by its number: which agent."""

    def recorder(self, candidate: Candidate) -> str | None:
        """The agent that recorded all turns of a candidate, or None: a proposal made of them counts as that agent's."""
        recorders = [self.recorders.get(str(turn)) for turn in candidate.turn_ids]
        if recorders and all(recorders):
            return recorders[0]
        return None


# Operations


def close(
    database: Database,
    owner: str,
    thread_id: str,
    preset: Preset,
    model: Model,
    *,
    notice: str | None = None,
    lease_seconds: float = LEASE_SECONDS,
    sense: Sense | None = None,
    extensions: tuple[Extension, ...] = (),
) -> ClosingResult:
    """Close one chat of one owner with one model. An error is not raised but in the result, so that a sweep goes on."""
    with database.write(owner) as tx:
        now = stamp(database.clock())
        held = threads.claim_closing(tx, thread_id, now, lease_seconds=lease_seconds)
        if held is None:
            thread = threads.get_thread(tx, thread_id)
            if thread.state == "active" and thread.deleted_at is None:
                return ClosingResult(thread_id, "busy")
            return ClosingResult(thread_id, "nothing")
        reading = _reading(tx, held, preset, now)
        if reading is None:
            threads.finish(tx, held, now, summary=None)
            return ClosingResult(thread_id, "closed")
    reading = replace(reading, sense=sense, extensions=extensions)
    try:
        extraction = _with_requested(run_model(model.extract(reading)), reading)
        # By meaning, which takes a while: here no transaction is open. By words it is done once more when it is stored.
        extraction = replace(extraction, summary=leave_out_topics(extraction.summary, reading.never, sense))
        return _store_closing(database, owner, held, preset, reading, extraction, notice)
    except Exception as error:  # noqa: BLE001  whatever broke, the lease must be given back
        return _closing_failed(database, owner, held, model, error)


def _store_closing(
    database: Database, owner: str, held: Claim, preset: Preset, reading: ClosingChat, extraction: Extraction,
    notice: str | None,
) -> ClosingResult:  # fmt: skip
    with database.write(owner) as tx:
        now = stamp(database.clock())
        spending.count_tokens(
            tx, now, "extract", extraction.made_by, extraction.usage.tokens_in, extraction.usage.tokens_out
        )
        if not threads.still_mine(tx, held):
            return ClosingResult(held.thread.id, "busy")
        kept = _keep(tx, held, preset, reading, extraction, now)
        thread = threads.finish(tx, held, now, summary=extraction.summary)
    if thread.state == "idle":
        status = "closed"
    else:
        status = "open"
    found = tuple(kept.written), tuple(kept.proposed), tuple(kept.skipped)
    return ClosingResult(held.thread.id, status, *found, extraction.made_by, notice)


def _reading(tx: Tx, held: Claim, preset: Preset, now: str) -> ClosingChat | None:
    """What the extractor is shown; None if there is nothing to learn, or the person wants nothing learned."""
    chosen = choices.get_choices(tx)
    spoken = [message for message in held.turns if message.role in ("user", "assistant")]
    if held.thread.incognito or not chosen.memory or not any(message.role == "user" for message in spoken):
        return None
    orders = standing_deeds({one.turn: from_parts(one.parts) for one in held.turns if one.role == "user"})
    block = block_of(tx, held.thread)
    turns = strip_injected([_turn(message) for message in spoken], block, *(message.hidden for message in spoken))
    return ClosingChat(
        turns=turns,
        known=known_memories(tx, turns),
        categories=preset.categories,
        zone=owners.zone_name(tx),
        now=parse_stamp(now),
        summary=held.thread.summary,
        block=block,
        never=chosen.never,
        elsewhere=source_of_session(held.thread.session) is not None,
        deeds=_with_forgotten(tx, held.thread.id, orders),
        kept=frozenset(one.turn for one in held.turns if is_kept_at_once(one.parts)),
        written=dict(written_with_tools(held.turns).items()),
        thread_id=held.thread.id,
        preset=preset,
    )


def written_with_tools(messages: Sequence[Message]) -> dict[int, tuple[str, ...]]:
    """For each turn that the person said here, the content of the memories that the reply to it wrote with tools."""
    found: dict[int, tuple[str, ...]] = {}
    turn: int | None = None
    for one in messages:
        if one.role == "user":
            turn = None
            if is_persons(one.parts):
                turn = one.turn
                found[turn] = ()
        elif one.role == "assistant" and turn is not None:
            found[turn] += tuple(_lines_written(one))
    return found


def _lines_written(message: Message) -> list[str]:
    after = [(call.get("memory_event") or {}).get("after") or {} for call in message.calls]
    return [str(state["content"]) for state in after if state.get("content")]


def _with_forgotten(
    tx: Tx, thread_id: str, orders: Mapping[int, tuple[Deed, ...]]
) -> Mapping[TurnId, tuple[Deed, ...]]:
    """The deeds of a chat, and for each turn what the person has since asked, in other chats, to have forgotten."""
    deeds: dict[TurnId, tuple[Deed, ...]] = dict(orders.items())
    for turn, matter in turns_not_recalled(tx).get(thread_id, {}).items():
        if turn in deeds:
            deeds[turn] = (*deeds[turn], Deed("withdraw", hushed=matter))
    return deeds


def _turn(message: Message) -> DialogueTurn:
    if message.role == "user":
        text = without_pasted(message.text)
    else:
        text = message.text
    return DialogueTurn(message.turn, message.role, text, message.at, message.speaker)


def _keep(
    tx: Tx, held: Claim, preset: Preset, reading: ClosingChat, extraction: Extraction, now: str
) -> _ClosingOutcome:
    """Write what the extractor found. The book is read anew: the person may have changed it while the model read."""
    origin = Origin("extractor", "close", held.thread.id, source="extracted")
    kept, chosen = _ClosingOutcome(), choices.get_choices(tx)
    if not chosen.memory:
        return kept
    shown = {one.id for one in reading.known}
    reading = replace(reading, known=known_memories(tx, reading.turns, shown), never=chosen.never)
    gone = learned_memories.memories_taken_back(tx, held.thread.id)
    lost = ForgottenMatters()
    if reading.elsewhere:  # in a chat of ours the order itself has reached what was said before it
        lost = forgotten(tx)
    theirs = frozenset(str(one.turn) for one in held.turns if one.recorded_by is not None)
    if not reading.elsewhere:  # what a person imports counts as the person's, not as the importing program's
        kept.recorders = {str(one.turn): one.recorded_by for one in held.turns if one.recorded_by is not None}
    for found, barred in judge_candidates(reading, extraction, proposals.declined_contents(tx), gone):
        candidate = found
        if not reading.elsewhere and _brings_back(tx, found, theirs):
            candidate = replace(found, op="add", target=None, sure=False, reason=proposals.FORGOTTEN)
        is_lost = candidate.op != "forget" and lost.is_forgotten(candidate_text(candidate), said_at(candidate, reading))
        why = barred
        if not why and is_lost:
            why = proposals.FORGOTTEN
        try:
            if why is None:
                _keep_one(tx, origin, preset, reading, candidate, extraction.made_by, now, kept)
            else:
                kept.skipped.append(SkippedCandidate(candidate.op, candidate.content, why))
                if why == KNOWN:
                    _say_again(tx, origin, preset, reading, candidate, extraction.made_by)
                    asked_by = kept.recorder(candidate)
                    _offer_wording(tx, origin, preset, reading, candidate, extraction.made_by, now, asked_by)
                if why in (proposals.FORGOTTEN, proposals.OUTDATED) and candidate.op != "forget":
                    _offer(tx, origin, preset, reading, replace(candidate, reason=why), extraction.made_by, now)
        except KeepbookError as error:  # it breaks a rule of the book; the other candidates are kept all the same
            kept.skipped.append(SkippedCandidate(candidate.op, candidate.content, error.message))
    return kept


def _brings_back(tx: Tx, candidate: Candidate, theirs: frozenset[str]) -> bool:
    """Whether a candidate says what the person has put away, and is said only in turns that others recorded."""
    said = {str(turn) for turn in candidate.turn_ids}
    return candidate.op != "forget" and bool(said) and said <= theirs and is_put_away(tx, candidate_text(candidate))


def _with_requested(extraction: Extraction, reading: ClosingChat) -> Extraction:
    """Add what the person explicitly asked to remember and the model has left out."""
    if extraction.made_by == OFFLINE:
        return extraction
    found = extraction.candidates
    missed = [one for one in extract_ordered(reading) if not any(_is_about_same(other, one) for other in found)]
    return replace(extraction, candidates=(*found, *missed))


def _is_about_same(candidate: Candidate, asked: Candidate) -> bool:
    """Whether two candidates have a turn in common, and a word of their content."""
    common_turns = {str(turn) for turn in candidate.turn_ids} & {str(turn) for turn in asked.turn_ids}
    common_words = set(content_words(candidate.content)) & set(content_words(asked.content))
    return bool(common_turns) and bool(common_words)


def _keep_one(
    tx: Tx,
    origin: Origin,
    preset: Preset,
    reading: ClosingChat,
    candidate: Candidate,
    made_by: str,
    now: str,
    kept: _ClosingOutcome,
) -> None:
    target = next((memory for memory in reading.known if memory.id == candidate.target), None)
    protected = target is not None and target.protected
    facts = _facts(candidate, reading, preset, made_by)
    if protected or not candidate.sure or (preset.on_close == "propose" and candidate.op != "forget"):
        _propose(tx, origin, preset, candidate, target, facts, now, kept)
        return
    written = _write(tx, origin, preset, candidate, facts)
    if written.unchanged:  # the book knew it: only noted that it was said again
        kept.skipped.append(SkippedCandidate(candidate.op, candidate.content, KNOWN))
        return
    if candidate.op != "forget":
        proposals.settle_proposals(tx, written.content, now)
    kept.written.append({"op": candidate.op, "id": written.id, "content": written.content, "event": written.event})


def _facts(candidate: Candidate, reading: ClosingChat, preset: Preset, made_by: str) -> dict[str, Any]:
    """The fields of a candidate beside its content, as the operations of the book take them."""
    shown = {str(turn.id) for turn in reading.turns}
    since = candidate.valid_from or None
    if since is None and reading.elsewhere:
        since = said_at(candidate, reading)
    category = None
    if not preset.categories or candidate.category in preset.categories:
        category = candidate.category
    return {
        "category": category,
        "subject": clean_optional(candidate.subject, "subject", 200),
        "score": min(1.0, max(0.0, candidate.score)),
        "made_by": made_by,
        "turn_ids": tuple(turn for turn in map(str, candidate.turn_ids) if turn in shown),
        "valid_from": instant(since, field="valid_from"),
        "valid_until": candidate.valid_until,
    }


def _propose(
    tx: Tx, origin: Origin, preset: Preset, candidate: Candidate, target: KnownMemory | None, facts: dict[str, Any],
    now: str, kept: _ClosingOutcome,
) -> None:  # fmt: skip
    """Let a candidate wait for the person's word."""
    protected = target is not None and target.protected
    content = candidate.content or (target.content if target is not None else "")
    question = candidate.question or ("keep" if candidate.op == "add" else None)
    left = proposals.propose(
        tx, later(now, microseconds=len(kept.proposed)),  # the review shows them in the order of the chat
        nature="conflict" if protected else "proposal", op=candidate.op, memory_id=candidate.target,
        content=clean_line(content, "content", preset.content_min, preset.content_max), thread_id=origin.thread_id,
        reason=f"your own word says: {target.content}" if protected and target is not None else candidate.reason,
        question=question, choices=_choices(question, candidate, content),
        spans=candidate.spans, said_on=candidate.said_on, asked_by=kept.recorder(candidate), **facts,
    )  # fmt: skip
    if left is not None:
        kept.proposed.append(left.id)
    if protected:
        kept.skipped.append(
            SkippedCandidate(candidate.op, candidate.content, "it conflicts with the person's own word")
        )


def _choices(question: str | None, candidate: Candidate, content: str) -> tuple[Choice, ...]:
    if question:
        return choices_for(question, candidate.op, content, candidate.target)
    return ()


def _write(tx: Tx, origin: Origin, preset: Preset, candidate: Candidate, facts: dict[str, Any]) -> Written:
    target = candidate.target
    if candidate.op == "forget" and target is not None:
        return changes.forget(tx, origin, preset, target, "agent_forget")
    if candidate.op == "update" and target is not None:
        facts = {name: value for name, value in facts.items() if name not in ("category", "subject")}
        if not candidate.spans:
            return changes.update(tx, origin, preset, target, Statement(candidate.content, **facts))
        facts.pop("turn_ids")
        return quotes.requote(
            tx, origin, preset, target, candidate.spans, thread_id=origin.thread_id or "", said_on=candidate.said_on,
            **facts,
        )  # fmt: skip
    if not candidate.spans:
        return changes.remember(tx, origin, preset, Statement(candidate.content, force=True, **facts))
    said = Statement("", force=True, **facts)
    return quotes.quote(tx, origin, preset, said, origin.thread_id or "", candidate.spans, said_on=candidate.said_on)


def _offer(
    tx: Tx, origin: Origin, preset: Preset, reading: ClosingChat, candidate: Candidate, made_by: str, now: str
) -> None:
    """Keep a candidate that is left out, because the person has said otherwise since, as an expired proposal: nobody is
    asked, but the page of the load offers it."""
    asked, left = _ClosingOutcome(), replace(candidate, op="add", target=None, sure=False)
    _keep_one(tx, origin, preset, reading, left, made_by, now, asked)
    for id in asked.proposed:
        proposals.expire(tx, id, now)


def _say_again(
    tx: Tx, origin: Origin, preset: Preset, reading: ClosingChat, candidate: Candidate, made_by: str
) -> None:
    """Note that a memory was said again, so that it begins to fade anew; at most once a day for each."""
    line = next((one for one in reading.known if candidate.op == "skip" and one.id == candidate.target), None)
    line = line or line_made_of(candidate, reading) or known_line(candidate, reading)
    if line is None or line.protected:
        return
    is_recent = later(line.recorded_at, days=1) > stamp(tx.clock())
    if not is_recent:
        facts = _facts(candidate, reading, preset, made_by)
        repeated = {name: facts[name] for name in ("score", "made_by", "turn_ids")}
        changes.repeat_memory(tx, origin, preset, line.id, Statement(line.content, **repeated))


def _offer_wording(
    tx: Tx, origin: Origin, preset: Preset, reading: ClosingChat, candidate: Candidate, made_by: str, now: str,
    asked_by: str | None,
) -> None:  # fmt: skip
    """If a quotation of the same turn is in the book, offer the model's wording as an edit of it. This is offered once,
    because a No is remembered."""
    line = line_made_of(candidate, reading)
    if line is None or not line.quoted or made_by == OFFLINE or alike(line.content, candidate.content):
        return
    content = clean_line(candidate.content, "content", preset.content_min, preset.content_max)
    proposals.ask_question(
        tx, now, question="change", op="update", content=content, memory_id=line.id, made_by=made_by,
        thread_id=origin.thread_id, turn_ids=tuple(map(str, candidate.turn_ids)), reason="said in other words",
        asked_by=asked_by,
    )  # fmt: skip


def _closing_failed(database: Database, owner: str, held: Claim, model: Model, error: Exception) -> ClosingResult:
    """Give the lease back and leave the chat as it was, but count what the attempt has cost."""
    cost: Mapping[str, Any] = {}
    if isinstance(error, KeepbookError):
        why, cost = error.message, error.details
    else:
        why = f"{type(error).__name__} in {model.name}"
        log.error("closing %s: %s", held.thread.id, why)  # without its message: a library's error may quote the chat
    spent = [int(cost.get(name, 0)) for name in ("tokens_in", "tokens_out")]
    with database.write(owner) as tx:
        now = stamp(database.clock())
        if any(spent):
            spending.count_tokens(tx, now, "extract", model.name, *spent)
        thread = threads.release_closing(tx, held, now, why, retry_minutes=FIRST_RETRY_MINUTES)
    if thread is None:
        return ClosingResult(held.thread.id, "busy")
    tries = f"{thread.failures} of {threads.MOST_FAILURES} tries"
    if thread.parked:
        again = "it is parked until you open it again"
    else:
        again = "it will be tried again"
    return ClosingResult(
        held.thread.id, "failed", made_by=model.name,
        notice=f"this chat could not be read for memories ({why}, {tries}); nothing is lost; {again}",
    )  # fmt: skip


Answer = TypeVar("Answer")


def run_model(work: Coroutine[Any, Any, Answer]) -> Answer:
    """Run a model's coroutine from code that is not async. If this thread has an event loop that runs, the coroutine
    runs in another thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
