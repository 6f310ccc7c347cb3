"""Closing a chat: what the person said in it becomes memory, exactly once.

    claim    take the lease, and the turns past the watermark          (a transaction)
    read     one call of the extractor, outside any transaction
    check    every candidate against the rules, in code
    keep     memories, summary, watermark and state together           (a transaction that needs the lease)

Whatever goes wrong before the last step leaves the chat as it was, to be tried again; whoever loses the lease writes
nothing. So a chat is read to its end or not at all, whoever crashes and however many try at once.
"""

import asyncio
import logging
import re
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from keepbook.book.chats import kept_from, threads
from keepbook.book.chats.closed import Closed, Skipped
from keepbook.book.chats.kept_from import TakenBack
from keepbook.book.chats.threads import Claim, Message
from keepbook.book.chats.view import block_of
from keepbook.book.ground.limits import clean_line, clean_optional
from keepbook.book.ground.when import instant, later, parse_stamp, stamp
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes, proposals
from keepbook.book.memory.changes import Statement
from keepbook.book.memory.proposals import alike
from keepbook.book.owners import choices, owners, spending
from keepbook.book.recall.forgotten import Forgotten, forgotten, unquoted
from keepbook.book.text.secrets import find_secrets
from keepbook.book.text.topic_meaning import Sense
from keepbook.book.text.topics import touched
from keepbook.book.text.words import fold, tokens
from keepbook.book.upkeep.elsewhere.incoming import source_of
from keepbook.errors import KeepbookError
from keepbook.models.closing.grounded import is_grounded
from keepbook.models.closing.known import known_memories
from keepbook.models.closing.rules import asks_to_forget, overlap
from keepbook.models.lines.matters import can_mean, common_ground, content_words, sharing
from keepbook.models.lines.wording import tongue
from keepbook.models.model import Candidate, Extraction, Model, Op, Reading, Turn, TurnId
from keepbook.models.noted import keeps_out, unpasted
from keepbook.models.offline.extraction import ordered
from keepbook.models.orders.asked import written
from keepbook.models.orders.values import Change, Deed, Held, of_parts, standing, was_heard
from keepbook.presets import Preset
from keepbook.storage.database import Database, Tx

LEASE_SECONDS = 180.0
"""How long a closing may take at least; a model that may take longer gets a longer lease."""
RETRY_MINUTES = 15.0
OFFLINE = "offline"
"""Made by the reader, whose lines are the person's own clauses."""
TAKEN_BACK = 0.5
"""From which share of its words on a candidate says again what was taken back."""
_HELD_BACK: dict[str | None, Op] = {"conflicts with what you said yourself": "update", "asked to forget": "forget"}
"""Why the offline reader itself holds back a change of the person's own word, and what the change would be."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Kept:
    written: list[dict[str, Any]] = field(default_factory=list)
    proposed: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


# Rules


def strip_injected(turns: Sequence[Turn], *given: str | None) -> tuple[Turn, ...]:
    """Take out of what was said whatever merely repeats what the prompt gave (the block, hidden context), so that it
    is not learned again."""
    lines = {_bare(line) for text in given for line in (text or "").splitlines()} - {""}
    return tuple(
        replace(turn, text="\n".join(line for line in turn.text.splitlines() if _bare(line) not in lines))
        for turn in turns
    )


def _bare(line: str) -> str:
    """What a line says, without the marks that a block (or whoever quotes it) puts around it."""
    return fold(re.sub(r"^[-*>\s]*(?:\[[^\]]*\] )*|\s*\(inferred\)\s*$", "", line)).rstrip(".!")


def refusal(candidate: Candidate, reading: Reading, declined: Sequence[str]) -> str | None:
    """Why a candidate may not be kept, whatever the model thought; None if it may be looked at further."""
    if candidate.op not in ("add", "update", "forget"):
        return candidate.reason or "not worth keeping"
    evidence = [turn.text for turn in _evidence(candidate, reading)]
    if not evidence:
        return "no turn of the person says it"
    known = {memory.id: memory for memory in reading.known}
    if candidate.op != "add" and candidate.target not in known:
        return "it names a memory that was not shown"
    target = known.get(candidate.target or "")
    if reading.elsewhere and target is not None and (target.since or "") > said_at(candidate, reading):
        return proposals.OUTDATED
    if candidate.op == "forget":
        return None  # what the person means is the model's to say; where their words do not show it, it is proposed
    told = _whole(candidate)
    if find_secrets(told):
        return "it holds a secret"
    if (topic := next(iter(touched(told, reading.never, reading.sense)), None)) is not None:
        return f"you asked never to keep anything about {topic}"
    if any(alike(candidate.content, text) for text in declined):
        return "the person declined it"
    if _is_taken_back(candidate, reading):
        return "you asked not to keep it"
    return "it is known already" if _is_known(candidate, reading) else None


def _whole(candidate: Candidate) -> str:
    return f"{candidate.subject or ''} {candidate.content}"


def _is_taken_back(candidate: Candidate, reading: Reading) -> bool:
    """Whether an order of this chat keeps it out: the words it rests on were taken back, or its matter is hushed."""
    cited = {str(turn) for turn in candidate.turn_ids}
    order = {str(turn.id): at for at, turn in enumerate(reading.turns)}
    last = max((order.get(turn, 0) for turn in cited), default=0)
    for turn, deed in ((str(turn), deed) for turn, deeds in reading.deeds.items() for deed in deeds):
        if keeps_out(deed, candidate.content, before=last <= order.get(turn, last)):
            return True
        said = [place.content for place in deed.taken if str(place.turn) in cited and place.content]
        if any(overlap(candidate.content, one) >= TAKEN_BACK and _can_be(candidate.content, one) for one in said):
            return True
    return False


def _can_be(new: str, said: str) -> bool:
    """Whether a line can be what was taken back: the same one's, of the same time, with more in common than that."""
    return can_mean(new, said) and common_ground(new, said)


def checked(candidate: Candidate, reading: Reading, made_by: str) -> Candidate:
    """Any model's word is checked: what the cited turns do not say becomes a proposal, as does a wish to forget that
    the person's words do not show."""
    if made_by == OFFLINE or candidate.op == "skip":
        return candidate
    if candidate.op == "forget":
        line = next((one.content for one in reading.known if one.id == candidate.target), "")
        sure = any(
            asks_to_forget(turn.text) and tongue(turn.text) == tongue(line) for turn in _evidence(candidate, reading)
        )  # in another language the words show that something is to go, not that it is this
    else:
        sure = is_grounded(candidate, reading)
    return replace(candidate, sure=candidate.sure and sure)


def _evidence(candidate: Candidate, reading: Reading) -> list[Turn]:
    """The turns of the person that a candidate names and that say something of their own."""
    named = {str(turn) for turn in candidate.turn_ids}
    return [turn for turn in reading.turns if turn.role == "user" and turn.text.strip() and str(turn.id) in named]


def said_at(candidate: Candidate, reading: Reading) -> str:
    """When the person said it: with the last of the turns that it rests on."""
    return max((stamp(turn.at) for turn in _evidence(candidate, reading) if turn.at), default="")


def _is_known(candidate: Candidate, reading: Reading) -> bool:
    """Whether the book says it. A line of the block that the book has no more was taken out of it meanwhile."""
    old = next((one for one in reading.known if one.id == candidate.target), None) if candidate.op == "update" else None
    if old is not None and tokens(old.content) == tokens(candidate.content):
        return True
    others = (memory.content for memory in reading.known if memory is not old)
    if any(alike(line, candidate.content) for line in sharing(candidate.content, others)):
        return True
    shown = (line for line in (reading.block or "").splitlines() if line.startswith("- "))
    return candidate.op == "add" and any(alike(_bare(line), candidate.content) for line in shown)


def was_taken_back(candidate: Candidate, gone: Sequence[TakenBack]) -> bool:
    """Whether the same turns gave the same thing before, and it was undone, forgotten or deleted."""
    turns = {str(turn) for turn in candidate.turn_ids}
    return any(
        bool(turns & one.turn_ids) and (one.content is None or overlap(candidate.content, one.content) >= TAKEN_BACK)
        for one in gone
    )


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
) -> Closed:
    """Close one chat of one owner with one model; raises nothing that a sweep would stumble over."""
    with database.write(owner) as tx:
        now = stamp(database.clock())
        held = threads.claim(tx, thread_id, now, lease_seconds=lease_seconds)
        if held is None:
            thread = threads.get(tx, thread_id)
            return Closed(thread_id, "busy" if thread.state == "active" and thread.deleted_at is None else "nothing")
        reading = _reading(tx, held, preset, now)
        if reading is None:
            threads.finish(tx, held, now, summary=None)
            return Closed(thread_id, "closed")
    reading = replace(reading, sense=sense)
    try:
        extraction = _with_asked(run(model.extract(reading)), reading)
        return _kept(database, owner, held, preset, reading, extraction, notice)
    except Exception as error:  # noqa: BLE001  whatever broke, the chat is given back and nobody else waits for it
        return _failed(database, owner, held, model, error)


def _kept(
    database: Database, owner: str, held: Claim, preset: Preset, reading: Reading, extraction: Extraction,
    notice: str | None,
) -> Closed:  # fmt: skip
    with database.write(owner) as tx:
        now = stamp(database.clock())
        spending.count(tx, now, "extract", extraction.made_by, extraction.usage.tokens_in, extraction.usage.tokens_out)
        if not threads.still_mine(tx, held):
            return Closed(held.thread.id, "busy")
        kept = _keep(tx, held, preset, reading, extraction, now)
        thread = threads.finish(tx, held, now, summary=extraction.summary)
    status = "closed" if thread.state == "idle" else "open"
    found = tuple(kept.written), tuple(kept.proposed), tuple(kept.skipped)
    return Closed(held.thread.id, status, *found, extraction.made_by, notice)


def judge(
    reading: Reading, extraction: Extraction, declined: Sequence[str] = (), gone: Sequence[TakenBack] = ()
) -> list[tuple[Candidate, str | None]]:
    """Each candidate with the reason it would be skipped for, or None: what a dry run shows."""
    judged: list[tuple[Candidate, str | None]] = []
    for candidate in (checked(one, reading, extraction.made_by) for one in extraction.candidates):
        why = refusal(candidate, reading, declined)
        if why is None and candidate.op != "forget" and was_taken_back(candidate, gone):
            why = "it was taken back"
        earlier = [one.content for one, skipped in judged if skipped is None and one.op == "add"]
        if why is None and candidate.op == "add" and any(alike(candidate.content, text) for text in earlier):
            why = "it was found twice"
        judged.append((candidate, why))
    return judged


def _reading(tx: Tx, held: Claim, preset: Preset, now: str) -> Reading | None:
    """What the extractor is shown, or nothing where there is nothing to learn or no wish to."""
    chosen = choices.chosen(tx)
    spoken = [message for message in held.turns if message.role in ("user", "assistant")]
    if held.thread.incognito or not chosen.memory or not any(message.role == "user" for message in spoken):
        return None
    orders = standing({one.turn: of_parts(one.parts) for one in held.turns if one.role == "user"})
    block = block_of(tx, held.thread)
    return Reading(
        turns=strip_injected([_turn(message) for message in spoken], block, *(message.hidden for message in spoken)),
        known=known_memories(tx),
        categories=preset.categories,
        zone=owners.zone_name(tx),
        now=parse_stamp(now),
        summary=held.thread.summary,
        block=block,
        never=chosen.never,
        elsewhere=source_of(held.thread.session) is not None,
        deeds=_with_forgotten(tx, held.thread.id, orders),
        heard=frozenset(one.turn for one in held.turns if one.role == "user" and was_heard(one.parts)),
        written=dict(written(held.turns).items()),
    )


def _with_forgotten(
    tx: Tx, thread_id: str, orders: Mapping[int, tuple[Deed, ...]]
) -> Mapping[TurnId, tuple[Deed, ...]]:
    """The orders of a chat, and those of other chats that mean what was said here."""
    deeds: dict[TurnId, tuple[Deed, ...]] = dict(orders.items())
    for turn, matter in unquoted(tx).get(thread_id, {}).items():
        if turn in deeds:
            said = (Change(old=Held(matter)),)  # found, so what is told after it is told anew
            deeds[turn] = (*deeds[turn], Deed("withdraw", matter, said, hushed=(matter,)))
    return deeds


def _turn(message: Message) -> Turn:
    text = unpasted(message.text) if message.role == "user" else message.text
    return Turn(message.turn, message.role, text, message.at, message.speaker)


def _keep(tx: Tx, held: Claim, preset: Preset, reading: Reading, extraction: Extraction, now: str) -> _Kept:
    """Judge once more by how the book stands now: while the model read, the person may have gone on."""
    origin = Origin("extractor", "close", held.thread.id, source="extracted")
    kept, chosen = _Kept(), choices.chosen(tx)
    if not chosen.memory:
        return kept
    reading = replace(reading, known=known_memories(tx), never=chosen.never)
    gone = kept_from.taken_back(tx, held.thread.id)
    lost = forgotten(tx) if reading.elsewhere else Forgotten()  # here an order reaches what was said before it anyway
    for candidate, barred in judge(reading, _with_held_back(extraction, reading), proposals.declined(tx), gone):
        told = candidate.op != "forget" and lost.meant(_whole(candidate), said_at(candidate, reading))
        why = barred or (proposals.FORGOTTEN if told else None)
        try:
            if why is None:
                _keep_one(tx, origin, preset, reading, candidate, extraction.made_by, now, kept)
            else:
                kept.skipped.append(Skipped(candidate.op, candidate.content, why))
                if why in (proposals.FORGOTTEN, proposals.OUTDATED) and candidate.op != "forget":
                    _offer(tx, origin, preset, reading, replace(candidate, reason=why), extraction.made_by, now)
        except KeepbookError as error:  # a rule of the book; the rest of the chat is not lost for it
            kept.skipped.append(Skipped(candidate.op, candidate.content, error.message))
    return kept


def _with_held_back(extraction: Extraction, reading: Reading) -> Extraction:
    """What a reader left out for the sake of the person's own word is for the person to see."""
    protected = {memory.id for memory in reading.known if memory.protected}
    return replace(
        extraction,
        candidates=tuple(
            replace(one, op=_HELD_BACK[one.reason])
            if one.op == "skip" and one.target in protected and one.reason in _HELD_BACK
            else one
            for one in extraction.candidates
        ),
    )


def _with_asked(extraction: Extraction, reading: Reading) -> Extraction:
    """What the person asked to remember and a model that read the chat does not name is kept all the same."""
    if extraction.made_by == OFFLINE:
        return extraction
    missed = [one for one in ordered(reading) if not any(_names(other, one) for other in extraction.candidates)]
    return replace(extraction, candidates=(*extraction.candidates, *missed))


def _names(candidate: Candidate, asked: Candidate) -> bool:
    same = {str(turn) for turn in candidate.turn_ids} & {str(turn) for turn in asked.turn_ids}
    return bool(same) and bool(set(content_words(candidate.content)) & set(content_words(asked.content)))


def _keep_one(
    tx: Tx, origin: Origin, preset: Preset, reading: Reading, candidate: Candidate, made_by: str, now: str, kept: _Kept
) -> None:
    target = next((memory for memory in reading.known if memory.id == candidate.target), None)
    category = candidate.category if not preset.categories or candidate.category in preset.categories else None
    shown = {str(turn.id) for turn in reading.turns}
    turn_ids = tuple(turn for turn in map(str, candidate.turn_ids) if turn in shown)
    told: dict[str, Any] = {"score": min(1.0, max(0.0, candidate.score)), "made_by": made_by, "turn_ids": turn_ids}
    since = candidate.valid_from or (said_at(candidate, reading) if reading.elsewhere else None)
    told["valid_from"] = instant(since, field="valid_from")
    subject = clean_optional(candidate.subject, "subject", 200)
    protected = target is not None and target.protected
    if protected or not candidate.sure or (preset.on_close == "propose" and candidate.op != "forget"):
        content = candidate.content or (target.content if target is not None else "")
        proposal = proposals.propose(
            tx, later(now, microseconds=len(kept.proposed)),  # the review shows them in the order of the chat
            nature="conflict" if protected else "proposal", op=candidate.op, memory_id=candidate.target,
            content=clean_line(content, "content", preset.content_min, preset.content_max), category=category,
            subject=subject, thread_id=origin.thread_id,
            reason=f"your own word says: {target.content}" if protected and target is not None else candidate.reason,
            **told,
        )  # fmt: skip
        if proposal is not None:
            kept.proposed.append(proposal.id)
        if protected:
            kept.skipped.append(Skipped(candidate.op, candidate.content, "it conflicts with the person's own word"))
        return
    if candidate.op == "forget" and candidate.target is not None:
        written = changes.forget(tx, origin, preset, candidate.target, "agent_forget")
    elif candidate.op == "update" and candidate.target is not None:
        written = changes.update(tx, origin, preset, candidate.target, Statement(candidate.content, **told))
    else:
        said = Statement(candidate.content, category=category, subject=subject, force=True, **told)
        written = changes.remember(tx, origin, preset, said)
    if written.event is None:
        kept.skipped.append(Skipped(candidate.op, candidate.content, "it is known already"))
    else:
        if candidate.op != "forget":
            proposals.settle(tx, written.content, now)
        kept.written.append({"op": candidate.op, "id": written.id, "content": written.content, "event": written.event})


def _offer(
    tx: Tx, origin: Origin, preset: Preset, reading: Reading, candidate: Candidate, made_by: str, now: str
) -> None:
    """What is left out for what the person has said since: nobody is asked, but the page of the load offers it."""
    asked, left = _Kept(), replace(candidate, op="add", target=None, sure=False)
    _keep_one(tx, origin, preset, reading, left, made_by, now, asked)
    for id in asked.proposed:
        proposals.expire(tx, id, now)


def _failed(database: Database, owner: str, held: Claim, model: Model, error: Exception) -> Closed:
    """The chat is as it was; what the try has cost is counted all the same."""
    why = error.message if isinstance(error, KeepbookError) else f"{type(error).__name__} in {model.name}"
    cost = error.details if isinstance(error, KeepbookError) else {}
    if not isinstance(error, KeepbookError):
        log.error("closing %s: %s", held.thread.id, why)  # the kind only: an error of a library may quote the chat
    spent = [int(cost.get(name, 0)) for name in ("tokens_in", "tokens_out")]
    with database.write(owner) as tx:
        now = stamp(database.clock())
        if any(spent):
            spending.count(tx, now, "extract", model.name, *spent)
        thread = threads.give_back(tx, held, now, why, retry_minutes=RETRY_MINUTES)
    if thread is None:
        return Closed(held.thread.id, "busy")
    tries = f"{thread.failures} of {threads.MOST_FAILURES} tries"
    again = "it is parked until you open it again" if thread.parked else "it will be tried again"
    return Closed(
        held.thread.id, "failed", made_by=model.name,
        notice=f"this chat could not be read for memories ({why}, {tries}); nothing is lost; {again}",
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
