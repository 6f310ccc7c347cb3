"""Reads imported chats for memories: each is closed like any other chat, the oldest first, so that what was said later
wins.

The lines that were found are shown with a tick each. Removing a tick takes its line back; setting one brings it back or
accepts it. Lines that are ticked when the person saves become their own word, and nobody asks again. Lines that they
have asked to forget have no tick at first. All of this is read from the book; nothing else is stored.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import select

from keepbook.book.chats import threads
from keepbook.book.chats.closing_result import ClosingResult
from keepbook.book.chats.threads import Thread
from keepbook.book.ground import stored_json
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.book.ledger import ledger
from keepbook.book.ledger import loads as rows
from keepbook.book.memory import changes, proposals
from keepbook.book.memory.changes import Statement
from keepbook.book.memory.memories import State
from keepbook.book.memory.proposals import Proposal
from keepbook.book.recall.forgotten import ForgottenMatters, forgotten
from keepbook.book.upkeep import take_back
from keepbook.book.upkeep.importers.incoming import Enough
from keepbook.book.upkeep.take_back import KEPT, OUT
from keepbook.errors import NotFound
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.tables.memory import versions

UNSURE = "unsure"
TRIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundLine:
    """One line that was found. `key` names it in a form; `op` is what it did to the book: add, update or forget.
    `fate`: kept, out, touched (changed by something since) or unsure, which waits for the person's yes."""

    key: str
    op: str
    content: str
    fate: str
    thread: Thread
    said_at: datetime
    memory_id: str | None = None
    before: str | None = None
    """The line that it replaced, or would replace."""
    forgotten: bool = False
    """Whether it is out because the person asked to forget it."""
    outdated: bool = False
    """Whether it is out because the book says something newer."""
    proposal: str | None = None
    """The id of the proposal that offers it, if it is in no memory."""


# Queries


def unread(book: OpenBook, nth: int) -> Sequence[Thread]:
    """The chats of a load that were not read yet, in the order they were spoken."""
    with book.reading() as (tx, _, _):
        here = [one for one in _chats(tx, nth) if one.deleted_at is None]
        return [one for one in here if one.state == "active" and one.turns > one.extracted_through]


def found_lines(book: OpenBook, nth: int) -> Sequence[FoundLine]:
    """The lines found in the chats of a load, in the order they were said; uncertain ones come last."""
    with book.reading() as (tx, _, _):
        chats = {one.id: one for one in _chats(tx, nth)}
        written = _by_memory(tx, list(chats))
        texts = _texts(tx, list(written))
        lost = forgotten(tx)
        kept = [_line(tx, chats, entries, texts, lost) for entries in written.values()]
        asked = [one for one in proposals.list_proposals(tx) if one.thread_id in chats]
        known = _texts(tx, [one.memory_id for one in asked if one.memory_id])
        unsure = [_question(chats, one, known) for one in asked]
        gone = [one for one in proposals.list_proposals(tx, status="expired") if one.thread_id in chats]
        offered = (proposals.FORGOTTEN, proposals.OUTDATED)
        out = [_question(chats, one, known, OUT) for one in gone if one.reason in offered]
    told = {(one.op, one.content) for one in [*kept, *unsure] if one.fate != OUT}
    missing = {
        (one.op, one.content): one for one in [*out, *kept] if one.fate == OUT
    }  # once, however often it was said
    lines = [*(one for one in kept if one.fate != OUT), *(missing[one] for one in missing if one not in told)]
    return [*sorted(lines, key=lambda one: (one.said_at, one.key)), *unsure]


def _chats(tx: Tx, nth: int) -> list[Thread]:
    """The chats of a load, including those in the trash, since what was read out of them is still in the book."""
    here = []
    for id in take_back.chats_of(rows.get_load(tx, nth)):
        with suppress(NotFound):  # deleted for good
            here.append(threads.get_thread(tx, id))
    return sorted(here, key=lambda one: one.touched_at)


def _by_memory(tx: Tx, chats: Sequence[str]) -> dict[str, list[Any]]:
    """The entries of each memory that reading these chats wrote, without what was deleted for good."""
    written: dict[str, list[Any]] = {}
    for row in take_back.read_out(tx, chats):
        if row.link_id is None and row.salt is not None:
            written.setdefault(row.memory_id, []).append(row)
    return written


def _texts(tx: Tx, ids: Sequence[str]) -> dict[str, list[Any]]:
    """The versions of some memories, each oldest first."""
    texts: dict[str, list[Any]] = {}
    for start in range(0, len(ids), take_back.AT_ONCE):
        some = ids[start : start + take_back.AT_ONCE]
        query = select(versions).where(versions.c.owner == tx.owner, versions.c.memory_id.in_(some))
        for row in tx.conn.execute(query.order_by(versions.c.memory_id, versions.c.version)):
            texts.setdefault(row.memory_id, []).append(row)
    return texts


def _line(
    tx: Tx, chats: Mapping[str, Thread], entries: Sequence[Any], texts: Mapping[str, list[Any]], lost: ForgottenMatters
) -> FoundLine:
    first, last = entries[0], entries[-1]
    said = texts[last.memory_id]
    version = said[stored_json.load_json(last.after)["version"] - 1]
    old = None
    if first.before is not None:
        old = said[stored_json.load_json(first.before)["version"] - 1]
    if last.action == "forget":
        op = "forget"
    elif old is None:
        op = "add"
    else:
        op = "update"
    newest, fate = take_back.fate_of(tx, entries)
    before = None
    if op == "update" and old is not None:
        before = old.content
    return FoundLine(
        key=last.memory_id, op=op, content=version.content or "", fate=fate, thread=chats[last.thread_id],
        said_at=parse_stamp(version.valid_from), memory_id=last.memory_id,
        before=before,
        forgotten=fate == OUT
        and op != "forget"
        and lost.put_away(State(**stored_json.load_json(newest.after)), version.content or ""),
    )  # fmt: skip


def _question(
    chats: Mapping[str, Thread], one: Proposal, known: Mapping[str, list[Any]], fate: str = UNSURE
) -> FoundLine:
    thread = chats[one.thread_id or ""]
    said = known.get(one.memory_id or "", [])
    if one.valid_from:
        said_at = parse_stamp(one.valid_from)
    else:
        said_at = thread.touched_at
    before = None
    if said and one.op == "update":
        before = said[-1].content
    return FoundLine(
        key=one.id, op=one.op, content=one.content, fate=fate, thread=thread, memory_id=one.memory_id,
        said_at=said_at,
        before=before,
        forgotten=one.reason == proposals.FORGOTTEN, outdated=one.reason == proposals.OUTDATED, proposal=one.id,
    )  # fmt: skip


# Operations


def read_chats(
    book: OpenBook, nth: int, *, offline: bool = False, progress: Callable[[int], None] = lambda _: None
) -> Sequence[ClosingResult]:
    """Read the chats of a load for memories, one after the other. If `progress` raises `Enough`, or the model fails
    again and again, what was found until then stays, and the rest can be read later."""
    book.ask("chats.write")
    closed: list[ClosingResult] = []
    for one in unread(book, nth):
        closed.append(book.close_thread(one.id, offline=offline))
        try:
            progress(len(closed))
        except Enough:
            break
        if book._database.told_to_stop():
            break
        if [last.status for last in closed[-TRIES:]] == ["failed"] * TRIES:  # it is not the chat, it is the model
            break
    return closed


def keep_ticked(book: OpenBook, nth: int, ticked: Collection[str]) -> int:
    """Keep the lines that are ticked, as the person's own word, and leave out the others. An uncertain line without a
    tick waits in the review. Returns how many changed."""
    book.ask("proposals.answer")
    with book.writing() as (tx, preset):
        first = ledger.chain_head(tx).seq
        written = _by_memory(tx, [one.id for one in _chats(tx, nth)])
        for line in found_lines(book, nth):
            if line.proposal is not None and line.key in ticked:
                now = stamp(tx.clock())
                if line.fate == OUT:
                    proposals.reopen_proposal(tx, line.key, now)
                proposals.accept(tx, book.origin, preset, line.key, now)
            elif line.proposal is None and line.fate in (KEPT, OUT):
                _settle(tx, book, preset, line, written[line.key], wanted=line.key in ticked)
        return ledger.chain_head(tx).seq - first


def _settle(tx: Tx, book: OpenBook, preset: Preset, line: FoundLine, entries: Sequence[Any], *, wanted: bool) -> None:
    """Bring a line back, take it out, or accept it if it was only offered."""
    newest, _ = take_back.fate_of(tx, entries)
    if not wanted and line.fate == KEPT:
        take_back.take_out(tx, book, preset, entries, newest)
    if wanted and line.fate == OUT:
        _bring_back(tx, book, preset, line, entries[-1])
    if wanted and line.op != "forget":
        changes.set_confidence(tx, book.origin, preset, line.key, "asserted")


def _bring_back(tx: Tx, book: OpenBook, preset: Preset, line: FoundLine, last: Any) -> None:
    """Repeat what the line did to the book: forget a memory, restore one, or replace what it says now."""
    if line.op == "forget":
        changes.forget(tx, book.origin, preset, line.key, stored_json.load_json(last.after)["archived_reason"])
        return
    back = changes.restore_memory(tx, book.origin, preset, line.key)
    if back.state != "active":  # out of the trash into the archive
        back = changes.restore_memory(tx, book.origin, preset, line.key)
    if back.content != line.content:
        told = _texts(tx, [line.key])[line.key][stored_json.load_json(last.after)["version"] - 1]
        said = Statement(
            line.content,
            valid_from=told.valid_from,
            turn_ids=stored_json.load_json(told.turn_ids),
            made_by=told.made_by,
        )
        changes.update(tx, replace(book.origin, thread_id=line.thread.id), preset, line.key, said)
