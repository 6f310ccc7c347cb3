"""Closing a chat: what the person said in it becomes memory, exactly once.

    claim    take the lease, and the turns past the watermark          (a transaction)
    read     one call of the extractor, outside any transaction
    check    every candidate against the rules, in code
    keep     memories, summary, watermark and state together           (a transaction that needs the lease)

Whatever goes wrong before the last step leaves the chat as it was, to be tried again; whoever loses the lease writes
nothing. So a chat is read to its end or not at all, whoever crashes and however many try at once.
"""

import asyncio
import re
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from keepbook.book import changes, choices, meter, owners, proposals, threads
from keepbook.book.ledger import Origin
from keepbook.book.memories import IS_ACTIVE, WHOLE, is_protected, to_state
from keepbook.book.proposals import alike
from keepbook.book.secrets import find_secrets
from keepbook.book.threads import Claim, Message, Thread
from keepbook.book.when import parse_stamp, stamp
from keepbook.book.words import fold
from keepbook.errors import KeepbookError, ModelFailed
from keepbook.models.model import Extraction, Model, Reading
from keepbook.models.offline.values import Candidate, Known, Turn
from keepbook.presets import Preset
from keepbook.storage.database import Database, Tx
from keepbook.storage.tables import memories

LEASE_SECONDS = 180.0
"""How long a closing may take at least; a model that may take longer gets a longer lease."""
RETRY_MINUTES = 15.0


@dataclass(frozen=True, slots=True)
class Skipped:
    """A candidate that was not kept, and why."""

    op: str
    content: str
    reason: str


@dataclass(frozen=True, slots=True)
class Closed:
    """How a closing went. `status`: closed, nothing (it was not open), busy, open (more was said), failed."""

    thread_id: str
    status: str
    written: tuple[dict[str, Any], ...] = ()
    proposed: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    made_by: str | None = None
    notice: str | None = None


@dataclass(slots=True)
class _Kept:
    written: list[dict[str, Any]] = field(default_factory=list)
    proposed: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


# Rules


def strip_injected(turns: Sequence[Turn], block: str | None) -> tuple[Turn, ...]:
    """Take out of the person's turns whatever merely repeats what the prompt said, so it is not learned again."""
    lines = {
        fold(re.sub(r"^- (?:\[[^\]]*\] )*", "", line)) for line in (block or "").splitlines() if line.startswith("- ")
    }
    if not lines:
        return tuple(turns)
    stripped = []
    for turn in turns:
        kept = [
            line for line in turn.text.splitlines() if fold(re.sub(r"^[-*>\s]*(?:\[[^\]]*\] )*", "", line)) not in lines
        ]
        stripped.append(Turn(turn.id, turn.role, "\n".join(kept), turn.at, turn.speaker))
    return tuple(stripped)


def refusal(candidate: Candidate, reading: Reading, declined: Sequence[str], asked_by: set[str]) -> str | None:
    """Why a candidate may not be kept, whatever the model thought; None if it may be looked at further."""
    if candidate.op not in ("add", "update", "forget"):
        return candidate.reason or "not worth keeping"
    turns = {str(turn) for turn in candidate.turn_ids}
    if not turns or not turns & asked_by:
        return "no turn of the person says it"
    known = {memory.id: memory for memory in reading.known}
    if candidate.op != "add" and candidate.target not in known:
        return "it names a memory that was not shown"
    if candidate.op == "forget":
        return None
    if find_secrets(candidate.content):
        return "it holds a secret"
    if (topic := choices.touches(candidate.content, reading.never)) is not None:
        return f"the person never wants {topic!r} remembered"
    if any(alike(candidate.content, text) for text in declined):
        return "the person declined it"
    same = [memory for memory in reading.known if alike(memory.content, candidate.content)]
    if any(memory.id != candidate.target or candidate.op == "add" for memory in same):
        return "it is known already"
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
) -> Closed:
    """Close one chat of one owner with one model; raises nothing that a sweep would stumble over."""
    with database.write(owner) as tx:
        now = stamp(database.clock())
        held = threads.claim(tx, thread_id, now, lease_seconds=lease_seconds)
        if held is None:
            busy = threads.get(tx, thread_id).state == "active"
            return Closed(thread_id, "busy" if busy else "nothing")
        reading, declined = _reading(tx, held, preset, now)
        if reading is None:
            thread = threads.finish(tx, held, now, summary=None)
            return Closed(thread_id, "closed" if thread.state == "idle" else "open")
    try:
        extraction = run(model.extract(reading))
    except ModelFailed as error:
        return _failed(database, owner, held, model, error)
    with database.write(owner) as tx:
        now = stamp(database.clock())
        if not threads.still_mine(tx, held, now):
            return Closed(thread_id, "busy")
        kept = _keep(tx, held, preset, reading, extraction, declined, now)
        thread = threads.finish(tx, held, now, summary=extraction.summary)
        meter.count(tx, now, "extract", extraction.made_by, extraction.usage.tokens_in, extraction.usage.tokens_out)
    status = "closed" if thread.state == "idle" else "open"
    return Closed(
        thread_id, status, tuple(kept.written), tuple(kept.proposed), tuple(kept.skipped), extraction.made_by, notice
    )


def judge(reading: Reading, extraction: Extraction, declined: Sequence[str] = ()) -> list[tuple[Candidate, str | None]]:
    """Each candidate with the reason it would be skipped for, or None: what a dry run shows."""
    people = {str(turn.id) for turn in reading.turns if turn.role == "user"}
    judged: list[tuple[Candidate, str | None]] = []
    for candidate in extraction.candidates:
        why = refusal(candidate, reading, declined, people)
        earlier = [one.content for one, skipped in judged if skipped is None and one.op == "add"]
        if why is None and candidate.op == "add" and any(alike(candidate.content, text) for text in earlier):
            why = "it was found twice"
        judged.append((candidate, why))
    return judged


def _reading(tx: Tx, held: Claim, preset: Preset, now: str) -> tuple[Reading | None, list[str]]:
    """What the extractor is shown, or nothing where there is nothing to learn or no wish to."""
    chosen = choices.chosen(tx)
    people = [message for message in held.turns if message.role == "user"]
    if held.thread.incognito or not chosen.memory or not people:
        return None, []
    block = threads.block_of(tx, held.thread)
    return Reading(
        turns=strip_injected(
            [_turn(message) for message in held.turns if message.role in ("user", "assistant")], block
        ),
        known=known_memories(tx),
        categories=preset.categories,
        zone=owners.zone_name(tx),
        now=parse_stamp(now),
        summary=held.thread.summary,
        block=block,
        never=chosen.never,
    ), proposals.declined(tx)


def _turn(message: Message) -> Turn:
    return Turn(message.turn, message.role, message.text, message.at, message.speaker)


def known_memories(tx: Tx) -> tuple[Known, ...]:
    """The active memories an extractor reconciles with, oldest first."""
    rows = tx.conn.execute(WHOLE.where(IS_ACTIVE).order_by(memories.c.created_at, memories.c.id), {"owner": tx.owner})
    return tuple(
        Known(
            row.id,
            row.category,
            row.subject,
            row.content,
            row.source,
            row.score,
            is_protected(row.source, to_state(row)),
        )
        for row in rows
    )


def _keep(
    tx: Tx, held: Claim, preset: Preset, reading: Reading, extraction: Extraction, declined: Sequence[str], now: str
) -> _Kept:
    origin = Origin("extractor", "close", held.thread.id, source="extracted")
    kept = _Kept()
    for candidate, why in judge(reading, extraction, declined):
        if why is not None:
            kept.skipped.append(Skipped(candidate.op, candidate.content, why))
            continue
        try:
            _keep_one(tx, origin, preset, reading, candidate, extraction.made_by, now, kept)
        except KeepbookError as error:  # a rule of the book; the rest of the chat is not lost for it
            kept.skipped.append(Skipped(candidate.op, candidate.content, error.message))
    return kept


def _keep_one(
    tx: Tx, origin: Origin, preset: Preset, reading: Reading, candidate: Candidate, made_by: str, now: str, kept: _Kept
) -> None:
    target = next((memory for memory in reading.known if memory.id == candidate.target), None)
    protected = target is not None and target.protected
    category = candidate.category if not preset.categories or candidate.category in preset.categories else None
    turn_ids = tuple(str(turn) for turn in candidate.turn_ids)
    told: dict[str, Any] = {"score": min(1.0, max(0.0, candidate.score)), "made_by": made_by, "turn_ids": turn_ids}
    if protected or (preset.on_close == "propose" and candidate.op != "forget"):
        reason = f"your own word says: {target.content}" if protected and target is not None else candidate.reason
        proposal = proposals.propose(
            tx, now, nature="conflict" if protected else "proposal", op=candidate.op, memory_id=candidate.target,
            category=category, subject=candidate.subject, valid_from=candidate.valid_from, reason=reason,
            content=candidate.content, thread_id=origin.thread_id, **told,
        )  # fmt: skip
        if proposal is not None:
            kept.proposed.append(proposal.id)
        if protected:
            kept.skipped.append(Skipped(candidate.op, candidate.content, "it conflicts with the person's own word"))
        return
    if candidate.op == "forget" and candidate.target is not None:
        written = changes.forget(tx, origin, preset, candidate.target, "agent_forget")
    elif candidate.op == "update" and candidate.target is not None:
        written = changes.update(
            tx, origin, preset, candidate.target, candidate.content, valid_from=candidate.valid_from, **told
        )
    else:
        written = changes.remember(
            tx, origin, preset, candidate.content, category=category, subject=candidate.subject,
            valid_from=candidate.valid_from, force=True, **told,
        )  # fmt: skip
    if written.event is None:
        kept.skipped.append(Skipped(candidate.op, candidate.content, "it is known already"))
    else:
        kept.written.append({"op": candidate.op, "id": written.id, "content": written.content, "event": written.event})


def _failed(database: Database, owner: str, held: Claim, model: Model, error: ModelFailed) -> Closed:
    with database.write(owner) as tx:
        now = stamp(database.clock())
        thread: Thread = threads.give_back(tx, held, now, error.message, retry_minutes=RETRY_MINUTES)
        spent = [int(error.details.get(name, 0)) for name in ("tokens_in", "tokens_out")]
        if any(spent):
            meter.count(tx, now, "extract", model.name, *spent)
    tries = f"{thread.failures} of {threads.MOST_FAILURES} tries"
    again = "it is parked until you open it again" if thread.parked else "it will be tried again"
    return Closed(
        held.thread.id, "failed", made_by=model.name,
        notice=f"this chat could not be read for memories ({error.message}, {tries}); nothing is lost; {again}",
    )  # fmt: skip


Answer = TypeVar("Answer")


def run(work: Coroutine[Any, Any, Answer]) -> Answer:
    """Wait for a model from code that is not async; inside an event loop another thread does the waiting."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
