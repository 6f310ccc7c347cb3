"""Closing a chat: reads what the person said and keeps it as memories, exactly once.

    claim    take the lease, and the turns past the watermark          (a transaction)
    read     one call of the extractor, outside any transaction
    check    every candidate against the rules, in code
    keep     memories; with the last ones summary, watermark and state (short transactions that need the lease)

An error leaves the chat open, to be read again; a closer that lost the lease writes nothing. So a chat is read to its
end, whoever crashes and however many try at once, and what was kept of it before is known again. A process that is told
to end leaves the rest of a long chat to a sweep.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from logging import Logger
from typing import Any, TypeVar

from keepbook.book.chats import threads
from keepbook.book.chats.closing_result import ClosingResult
from keepbook.book.chats.threads import Claim, Message
from keepbook.book.chats.view import block_of
from keepbook.book.ground.in_pieces import PIECE_SECONDS, Gaps, Stopping, ToldToStop, after_grace
from keepbook.book.ground.one_line_log import get_logger
from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.book.ledger.ledger import chain_head
from keepbook.book.owners import choices, owners, spending
from keepbook.book.owners.switches import leave_out_topics
from keepbook.book.recall.forgotten import turns_not_recalled
from keepbook.book.text.own_words import without_pasted
from keepbook.book.text.topic_meaning import Sense
from keepbook.book.text.words import content_words
from keepbook.book.upkeep.importers.incoming import source_of_session
from keepbook.errors import KeepbookError
from keepbook.extension import Extension
from keepbook.models.closing.checks import (
    OFFLINE,
    strip_injected,
)
from keepbook.models.closing.closing_pieces import ClosingOutcome, Judged, judge, keep_some
from keepbook.models.closing.known_memories import known_memories
from keepbook.models.model import Candidate, ClosingChat, DialogueTurn, Extraction, Model, TurnId
from keepbook.models.notebook.extract import extract_ordered
from keepbook.models.notebook.values import Deed, from_parts, is_kept_at_once, is_persons, standing_deeds
from keepbook.presets import Preset
from keepbook.storage.database import Database, Tx

LEASE_SECONDS = 180.0
"""The shortest lease of a closing. If a model may take longer, the lease has room for three of its calls: the answer,
its repair, and one more if the endpoint refuses the schema."""
FIRST_RETRY_MINUTES = 15.0
GRACE_SECONDS = 10.0
"""How long a closing goes on in a process that is told to end: most are done by then."""
ASKED_EVERY = 0.1
"""Seconds between two looks whether the process is told to end, while a model reads."""
LEFT_FOR_LATER = "this program was told to end; what is left of this chat is read later"
MOST_JUDGED_AGAIN = 3
"""So often what was found is judged again because somebody wrote meanwhile; then others wait for it."""
log: Logger = get_logger(__name__)


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
    """Close one chat of one owner with one model. Errors are in the result, so that a sweep goes on."""
    now = stamp(database.clock())
    with database.write(owner) as tx:
        held = threads.claim_closing(tx, thread_id, now, lease_seconds=lease_seconds)
        if held is None:
            thread = threads.get_thread(tx, thread_id)
            if thread.state == "active" and thread.deleted_at is None:
                return ClosingResult(thread_id, "busy")
            return ClosingResult(thread_id, "nothing")
    gaps = Gaps(after_grace(database.told_to_stop, GRACE_SECONDS))
    try:
        with database.read(owner) as tx:
            held = replace(held, turns=threads.claimed_turns(tx, held))
            reading = _reading(tx, held, preset, now)
        if reading is None:
            return _close_unread(database, owner, held, now)
        reading = replace(reading, sense=sense, extensions=extensions, go_on=gaps.go_on)
        extraction = _with_requested(run_model(_until_told(model.extract(reading), gaps.told)), reading)
        # By meaning, which takes a while: here no transaction is open. By words it is done once more when it is stored.
        extraction = replace(extraction, summary=leave_out_topics(extraction.summary, reading.never, sense))
        storing = _Storing(database, owner, held, preset, reading, extraction)
        status, kept = storing.store(gaps), storing.outcome
    except ToldToStop:
        with database.write(owner) as tx:
            threads.leave_closing(tx, held, stamp(database.clock()))
        return ClosingResult(thread_id, "busy", notice=LEFT_FOR_LATER)
    except Exception as error:  # noqa: BLE001  whatever broke, the chat is given back and nobody else waits for it
        return _closing_failed(database, owner, held, model, error)
    if status == "busy":
        return ClosingResult(thread_id, "busy")
    found = tuple(kept.written), tuple(kept.proposed), tuple(kept.skipped)
    return ClosingResult(thread_id, status, *found, extraction.made_by, notice)


def _close_unread(database: Database, owner: str, held: Claim, now: str) -> ClosingResult:
    """A chat in which nothing is to be learned."""
    with database.write(owner) as tx:
        if not threads.still_mine(tx, held):
            return ClosingResult(held.thread.id, "busy")
        threads.finish(tx, held, now, summary=None)
    return ClosingResult(held.thread.id, "closed")


class _Storing:
    """Writes what was found, piece by piece; with the last of them the chat is closed."""

    def __init__(
        self, database: Database, owner: str, held: Claim, preset: Preset, reading: ClosingChat, found: Extraction
    ) -> None:
        self._database, self._owner, self._held, self._preset = database, owner, held, preset
        self._reading, self._found = reading, found
        self._judged: Judged | None = None
        self._tries = 0
        self._is_counted = False
        self._is_inside = database.is_writing
        self.outcome = ClosingOutcome()

    def store(self, gaps: Gaps) -> str:
        """Returns the status."""
        status = None
        while status is None:
            if self._judged is None:
                with self._database.read(self._owner) as tx:
                    self._judged = self._judge(tx)
            if self._is_counted:  # before that, what the model cost would be lost
                gaps.wait()
            with self._database.write(self._owner) as tx:
                status = self._write_piece(tx, stamp(self._database.clock()))
            gaps.freed()
            if self._judged is not None:
                self._judged.link = tx.head.link
        return status

    def _judge(self, tx: Tx) -> Judged:
        return judge(tx, self._held, self._reading, self._found)

    def _write_piece(self, tx: Tx, now: str) -> str | None:
        made_by, spent = self._found.made_by, self._found.usage
        if not self._is_counted:
            spending.count_tokens(tx, now, "extract", made_by, spent.tokens_in, spent.tokens_out)
            self._is_counted = True
        if not threads.still_mine(tx, self._held):
            return "busy"
        judged = self._still_judged(tx)
        if judged is None:
            return None
        keep_some(tx, self._held, self._preset, judged, made_by, now, self.outcome, self._piece())
        if judged.left:
            return None
        thread = threads.finish(tx, self._held, now, summary=self._found.summary)
        if thread.state == "idle":
            return "closed"
        return "open"

    def _still_judged(self, tx: Tx) -> Judged | None:
        """What was judged, if nobody wrote since. Where somebody writes all the time it is judged while they wait."""
        judged = self._judged
        assert judged is not None
        if chain_head(tx).link == judged.link:
            self._tries = 0
            return judged
        self._found = replace(self._found, candidates=tuple(one.found for one in judged.left))
        self._tries += 1
        self._judged = None
        if self._tries > MOST_JUDGED_AGAIN:
            self._judged = self._judge(tx)
        return self._judged

    def _piece(self) -> Callable[[], bool]:
        """How long a piece lasts; inside the program's own transaction it is the only one."""
        if self._is_inside:
            return lambda: False
        until = time.perf_counter() + PIECE_SECONDS
        return lambda: time.perf_counter() > until


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


async def _until_told(work: Coroutine[Any, Any, Answer], told: Stopping) -> Answer:
    """Await a model, unless the process is told to end before."""
    task = asyncio.ensure_future(work)
    while not task.done():
        if told():
            task.cancel()
            raise ToldToStop
        await asyncio.wait({task}, timeout=ASKED_EVERY)
    return await task


def run_model(work: Coroutine[Any, Any, Answer]) -> Answer:
    """Run a model's coroutine from code that is not async. If this thread has an event loop that runs, the coroutine
    runs in another thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
