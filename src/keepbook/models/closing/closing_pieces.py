"""What a closing writes: memories and questions, in short pieces, between which others write.

What was found is judged by the book as it stands, while nobody waits. A piece is written only if nothing was written in
the book since it was judged; else the rest is judged anew. Each line is whole by itself: whoever is ended between two
pieces leaves the chat open, and who reads it again finds the lines of before and keeps none of them twice.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from keepbook.book.chats import learned_memories
from keepbook.book.chats.closing_result import SkippedCandidate
from keepbook.book.chats.threads import Claim
from keepbook.book.ground.limits import clean_line, clean_optional
from keepbook.book.ground.when import instant, later, stamp
from keepbook.book.ledger.ledger import Origin, chain_head
from keepbook.book.memory import changes, proposals, quotes
from keepbook.book.memory.changes import Statement
from keepbook.book.memory.likeness.put_away import is_put_away
from keepbook.book.memory.memories import Written
from keepbook.book.memory.proposals import alike
from keepbook.book.memory.questions import Choice, choices_for
from keepbook.book.owners import choices
from keepbook.book.recall.forgotten import ForgottenMatters, forgotten
from keepbook.errors import KeepbookError
from keepbook.models.closing.checks import (
    KNOWN,
    OFFLINE,
    candidate_text,
    judge_candidates,
    known_line,
    line_made_of,
    said_at,
)
from keepbook.models.closing.known_memories import known_memories
from keepbook.models.model import Candidate, ClosingChat, Extraction, KnownMemory
from keepbook.presets import Preset
from keepbook.storage.database import Tx


@dataclass(slots=True)
class ClosingOutcome:
    written: list[dict[str, Any]] = field(default_factory=list)
    proposed: list[str] = field(default_factory=list)
    skipped: list[SkippedCandidate] = field(default_factory=list)
    recorders: dict[str, str] = field(default_factory=dict)
    """The agent that recorded a turn, by the turn's number; only turns that an agent recorded."""

    def recorder(self, candidate: Candidate) -> str | None:
        """The agent whose turns alone say it: what waits because of them counts as left by it."""
        said = [self.recorders.get(str(turn)) for turn in candidate.turn_ids]
        if said and all(said):
            return said[0]
        return None


class JudgedCandidate(NamedTuple):
    """A candidate as it was `found`, as it would be kept, and why it is left out, if it is."""

    found: Candidate
    kept: Candidate
    why: str | None


@dataclass(slots=True)
class Judged:
    """What is left to write of a closing, judged by the book as it stood at a link of its ledger."""

    link: int
    reading: ClosingChat
    left: list[JudgedCandidate]


# Operations


def judge(tx: Tx, held: Claim, reading: ClosingChat, extraction: Extraction) -> Judged:
    """Judge once more by how the book stands now: while the model read, the person may have gone on."""
    link, chosen = chain_head(tx).link, choices.get_choices(tx)
    if not chosen.memory:
        return Judged(link, reading, [])
    shown = {one.id for one in reading.known}
    reading = replace(reading, known=known_memories(tx, reading.turns, shown), never=chosen.never)
    gone = learned_memories.memories_taken_back(tx, held.thread.id)
    lost = (
        forgotten(tx) if reading.elsewhere else ForgottenMatters()
    )  # here an order reaches what was said before it anyway
    theirs = frozenset(str(one.turn) for one in held.turns if one.recorded_by is not None)
    found: list[JudgedCandidate] = []
    for candidate, barred in judge_candidates(reading, extraction, proposals.declined_contents(tx), gone):
        kept = candidate
        if not reading.elsewhere and _brings_back(tx, candidate, theirs):
            kept = replace(candidate, op="add", target=None, sure=False, reason=proposals.FORGOTTEN)
        told = kept.op != "forget" and lost.is_forgotten(candidate_text(kept), said_at(kept, reading))
        found.append(JudgedCandidate(candidate, kept, barred or (proposals.FORGOTTEN if told else None)))
    return Judged(link, reading, found)


def keep_some(
    tx: Tx, held: Claim, preset: Preset, judged: Judged, made_by: str, now: str, kept: ClosingOutcome,
    enough: Callable[[], bool],
) -> None:  # fmt: skip
    """Write what was judged, until it is `enough`; what is left over stays in `judged`."""
    origin, reading = Origin("extractor", "close", held.thread.id, source="extracted"), judged.reading
    if not reading.elsewhere:  # what a person brings in from elsewhere is theirs, however much it is
        kept.recorders = {str(one.turn): one.recorded_by for one in held.turns if one.recorded_by is not None}
    while judged.left:
        _, candidate, why = judged.left.pop(0)
        try:
            if why is None:
                _keep_one(tx, origin, preset, reading, candidate, made_by, now, kept)
            else:
                _leave_out(tx, origin, preset, reading, candidate, made_by, now, kept, why)
        except KeepbookError as error:  # a rule of the book; the rest of the chat is not lost for it
            kept.skipped.append(SkippedCandidate(candidate.op, candidate.content, error.message))
        if enough():
            break


def _leave_out(
    tx: Tx, origin: Origin, preset: Preset, reading: ClosingChat, candidate: Candidate, made_by: str, now: str,
    kept: ClosingOutcome, why: str,
) -> None:  # fmt: skip
    kept.skipped.append(SkippedCandidate(candidate.op, candidate.content, why))
    if why == KNOWN:
        _say_again(tx, origin, preset, reading, candidate, made_by)
        asked_by = kept.recorder(candidate)
        _offer_wording(tx, origin, preset, reading, candidate, made_by, now, asked_by)
    if why in (proposals.FORGOTTEN, proposals.OUTDATED) and candidate.op != "forget":
        _offer(tx, origin, preset, reading, replace(candidate, reason=why), made_by, now)


def _brings_back(tx: Tx, candidate: Candidate, theirs: frozenset[str]) -> bool:
    """Whether it is what the person put away, and only turns that others recorded say it."""
    said = {str(turn) for turn in candidate.turn_ids}
    return candidate.op != "forget" and bool(said) and said <= theirs and is_put_away(tx, candidate_text(candidate))


def _keep_one(
    tx: Tx,
    origin: Origin,
    preset: Preset,
    reading: ClosingChat,
    candidate: Candidate,
    made_by: str,
    now: str,
    kept: ClosingOutcome,
) -> None:
    target = next((memory for memory in reading.known if memory.id == candidate.target), None)
    protected = target is not None and target.protected
    facts = _facts(candidate, reading, preset, made_by)
    if protected or not candidate.sure or (preset.on_close == "propose" and candidate.op != "forget"):
        _propose(tx, origin, preset, candidate, target, facts, now, kept)
        return
    written = _write(tx, origin, preset, candidate, facts)
    if written.unchanged:  # nothing new but that it was said again
        kept.skipped.append(SkippedCandidate(candidate.op, candidate.content, KNOWN))
        return
    if candidate.op != "forget":
        proposals.settle_proposals(tx, written.content, now)
    kept.written.append({"op": candidate.op, "id": written.id, "content": written.content, "event": written.event})


def _facts(candidate: Candidate, reading: ClosingChat, preset: Preset, made_by: str) -> dict[str, Any]:
    """What is kept beside the words."""
    shown = {str(turn.id) for turn in reading.turns}
    since = candidate.valid_from or (said_at(candidate, reading) if reading.elsewhere else None)
    known = not preset.categories or candidate.category in preset.categories
    category = None
    if known:
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
    now: str, kept: ClosingOutcome,
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
    """What is left out for what the person has said since: nobody is asked, but the page of the load offers it."""
    asked, left = ClosingOutcome(), replace(candidate, op="add", target=None, sure=False)
    _keep_one(tx, origin, preset, reading, left, made_by, now, asked)
    for id in asked.proposed:
        proposals.expire(tx, id, now)


def _say_again(
    tx: Tx, origin: Origin, preset: Preset, reading: ClosingChat, candidate: Candidate, made_by: str
) -> None:
    """What a chat says again adds nothing, and the line that says it begins to fade anew; once a day is enough."""
    line = next((one for one in reading.known if candidate.op == "skip" and one.id == candidate.target), None)
    line = line or line_made_of(candidate, reading) or known_line(candidate, reading)
    lately = line is not None and later(line.recorded_at, days=1) > stamp(tx.clock())
    if line is not None and not line.protected and not lately:
        facts = _facts(candidate, reading, preset, made_by)
        repeated = {name: facts[name] for name in ("score", "made_by", "turn_ids")}
        changes.repeat_memory(tx, origin, preset, line.id, Statement(line.content, **repeated))


def _offer_wording(
    tx: Tx, origin: Origin, preset: Preset, reading: ClosingChat, candidate: Candidate, made_by: str, now: str,
    asked_by: str | None,
) -> None:  # fmt: skip
    """A model's wording of a line that quotes the same turn is offered as an edit; once, since a No is remembered."""
    line = line_made_of(candidate, reading)
    if line is None or not line.quoted or made_by == OFFLINE or alike(line.content, candidate.content):
        return
    content = clean_line(candidate.content, "content", preset.content_min, preset.content_max)
    proposals.ask_question(
        tx, now, question="change", op="update", content=content, memory_id=line.id, made_by=made_by,
        thread_id=origin.thread_id, turn_ids=tuple(map(str, candidate.turn_ids)), reason="said in other words",
        asked_by=asked_by,
    )  # fmt: skip
