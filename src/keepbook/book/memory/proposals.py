"""Proposals: what waits for the person's answer. These are facts that a preset proposes instead of saving, findings
that the person's own word contradicts, and questions with choices (`questions.py`).

Nothing here is injected or recalled. Accepting makes it the person's word; declining is stored, so that the same fact
is not proposed again; without an answer it is gone after 30 days.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import bindparam, exists, insert, or_, select, update

from keepbook.book.ground import due, stored_json
from keepbook.book.ground.ids import new_id
from keepbook.book.ground.when import later, parse_stamp
from keepbook.book.ledger.ledger import AGENT, Origin
from keepbook.book.memory import changes, quotes
from keepbook.book.memory.changes import Statement
from keepbook.book.memory.memories import IS_ACTIVE, Written, find_row, to_state
from keepbook.book.memory.questions import (
    ALL,
    BOTH,
    YES,
    Choice,
    choices_for,
    choices_to_text,
    find_choice,
    plain_choices,
    text_to_choices,
)
from keepbook.book.owners import switches
from keepbook.book.owners.switches import Told
from keepbook.book.text.quotation import spans_of
from keepbook.book.text.topic_meaning import Sense
from keepbook.book.text.words import fold_text, near_duplicate
from keepbook.errors import Conflict, LimitReached, NotFound
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement
from keepbook.storage.tables.choices import proposals
from keepbook.storage.tables.memory import memories

WAITING_DAYS = 30  # after which an unanswered proposal expires
MOST_OF_AGENT, MOST_OF_MEMORY = 20, 3
"""How many proposals of one agent may wait at a time, and how many of all agents about one memory."""
FORGOTTEN, OUTDATED = "you asked to forget this", "a later word of yours stands"
"""The reasons why an imported memory waits as a proposal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A fact that waits (`waiting`), or how it was decided. A `conflict` says in `reason` what stood against it."""

    id: str
    nature: str
    status: str
    op: str
    memory_id: str | None
    category: str | None
    subject: str | None
    content: str
    score: float | None
    made_by: str | None
    thread_id: str | None
    turn_ids: tuple[str, ...]
    valid_from: str | None
    reason: str | None
    created_at: datetime
    decided_at: datetime | None
    question: str | None = None
    choices: tuple[Choice, ...] = ()
    """The possible answers to its question, and what each of them does; empty if the answer is yes or no."""
    valid_until: str | None = None
    quoted: bool = False
    """Whether it would be kept as the person's own words; `spans` says which, each as turn, from, to, kind."""
    spans: tuple[tuple[int | str, ...], ...] = ()
    said_on: str | None = None
    asked_by: str | None = None
    """The agent that left it: its id, that of its token, or the door it came through."""


# Operations


def propose(
    tx: Tx,
    now: str,
    *,
    nature: str,
    op: str,
    content: str,
    turn_ids: Sequence[str],
    spans: Sequence[Sequence[Any]] = (),
    choices: Sequence[Choice] = (),
    asked_by: str | None = None,
    again: bool = False,
    **told: Any,
) -> Proposal | None:
    """Store a fact as a proposal, unless the same is waiting already or was declined; with `again` (the person's order)
    in place of it. What an agent leaves has its limits: `asked_by` says which agent."""
    question, memory_id = told.get("question"), told.get("memory_id")
    rows = _open_or_declined_rows(tx)
    same = [row.id for row in rows if _is_asked(row, op, content, question, memory_id)]
    if same and not again:
        return None
    for id in same:
        expire(tx, id, now)
    if asked_by is not None:
        switches.refuse_topics(tx, _told(content, told.get("subject")))
        _refuse_too_many(rows, asked_by, memory_id)
    row = {
        "owner": tx.owner, "id": new_id(), "nature": nature, "op": op, "content": content, "status": "waiting",
        "turn_ids": json.dumps([str(turn) for turn in turn_ids]), "created_at": now,
        "choices": choices_to_text(choices) if choices else None, "quoted": int(bool(spans)),
        "spans": json.dumps([list(span) for span in spans]) if spans else None, "asked_by": asked_by, **told,
    }  # fmt: skip
    tx.conn.execute(insert(proposals), row)
    due.remind(tx, due.EXPIRE, row["id"], later(now, days=WAITING_DAYS))
    return get_proposal(tx, row["id"])


def ask_question(
    tx: Tx,
    now: str,
    *,
    question: str,
    op: str,
    content: str,
    memory_id: str | None = None,
    lines: Sequence[tuple[str, str]] = (),
    beside: str | None = None,
    turn_ids: Sequence[str] = (),
    nature: str = "proposal",
    **told: Any,
) -> Proposal | None:
    """Ask the person a question with choices. `lines` (of "which") are the ids and words that could be meant, `beside`
    (of "over") is the new line; the rest is as for `propose`."""
    choices = choices_for(question, op, content, memory_id, lines, beside)
    return propose(
        tx, now, nature=nature, op=op, content=content, turn_ids=turn_ids, choices=choices, question=question,
        memory_id=memory_id, **told,
    )  # fmt: skip


def accept(tx: Tx, origin: Origin, preset: Preset, id: str, now: str, *, both: bool = False) -> Written:
    """Accept a proposal: from now on it is the person's own word, said in the chat it was found in. `made_by` tells it
    from what they typed. With `both` a change is kept beside the line that it would have changed."""
    waiting = _waiting(tx, id)
    choice = YES[waiting.question]
    if both and (waiting.op == "update" or waiting.question is not None):
        choice = BOTH
    answered = answer_proposal(tx, origin, preset, id, choice, now)
    if isinstance(answered, Proposal):
        raise Conflict(f"proposal {id} was answered, and nothing was left to do", code="decided")
    return answered


def decline_proposal(tx: Tx, id: str, now: str) -> Proposal:
    _waiting(tx, id)
    return _decide(tx, id, "declined", now)


def answer_proposal(tx: Tx, origin: Origin, preset: Preset, id: str, choice: str, now: str) -> Written | Proposal:
    """Answer a question with one of its choices. Returns what it wrote (of several writes the last), or the question if
    there was nothing to write."""
    written = write_answer(tx, origin, preset, id, choice, now)
    if written:
        return written[-1]
    return get_proposal(tx, id)


def write_answer(
    tx: Tx, origin: Origin, preset: Preset, id: str, choice: str, now: str, *, until: str | None = None
) -> list[Written]:
    """Carry out the chosen answer: everything that it writes, in order. `until`: when the line ended, as the answer
    itself says."""
    waiting = _waiting(tx, id)
    chosen = find_choice(waiting.choices or plain_choices(waiting.op, waiting.memory_id), choice)
    if chosen.op is None:
        _decide(tx, id, "declined", now)
        return []
    origin = replace(origin, thread_id=waiting.thread_id or origin.thread_id)
    if waiting.question is not None:  # said in the chat, and confirmed by the person's answer
        origin = replace(origin, source="chat")
    ends_at = until or _ends_at(waiting, now)
    written = [_do(tx, origin, preset, waiting, chosen.op, one, ends_at) for one in _targets(tx, waiting, chosen)]
    _decide(tx, id, "accepted", now)
    return written


def _targets(tx: Tx, waiting: Proposal, chosen: Choice) -> Sequence[str | None]:
    """The ids of the memories that a choice is about (None: a new one). "All" leaves out those no longer active."""
    if chosen.choice != ALL:
        return [chosen.memory_id]
    ids = [one.memory_id for one in waiting.choices if one.memory_id is not None]
    return [id for id in ids if to_state(find_row(tx, id)).name == "active"]


def _do(
    tx: Tx, origin: Origin, preset: Preset, waiting: Proposal, op: str, memory_id: str | None, ends_at: str
) -> Written:
    """Carry out one choice on one line."""
    if op == "forget" and memory_id is not None:
        if waiting.question is None:
            reason = "user_corrected"
        else:
            reason = "user_deleted"
        return changes.forget(tx, origin, preset, memory_id, reason)
    if op == "end" and memory_id is not None:
        return changes.end(tx, origin, preset, memory_id, ends_at)
    if op == "confirm" and memory_id is not None:
        return changes.confirm(tx, origin, preset, memory_id)
    if op == "update":
        return _say(tx, origin, preset, waiting, memory_id)
    return _say(tx, origin, preset, waiting, None)


def _ends_at(waiting: Proposal, now: str) -> str:
    """When a line that is ended ends. If the question is whether a new line replaces it: when the new one begins."""
    end = None
    if waiting.question != "over":
        end = waiting.valid_until
    return end or waiting.valid_from or now


def _say(tx: Tx, origin: Origin, preset: Preset, waiting: Proposal, memory_id: str | None) -> Written:
    """Write the words that waited: as the next version of `memory_id`, or as a new memory. They are kept as a quotation
    if the turns they quote are still stored."""
    topics = switches.touched_topics(tx, _told(waiting.content, waiting.subject))
    if topics:
        raise Conflict(
            f"you asked never to keep anything about {topics[0]}; take that topic back, or type this with force",
            code="against_topic",
            topic=topics[0],
        )
    # The chat may have had another preset than the one in force here.
    category = None
    if not preset.categories or waiting.category in preset.categories:
        category = waiting.category
    said = Statement(
        waiting.content, valid_from=waiting.valid_from, valid_until=waiting.valid_until, turn_ids=waiting.turn_ids,
        made_by=waiting.made_by or AGENT, force=True,
    )  # fmt: skip
    new = replace(said, category=category, subject=waiting.subject)
    spans = spans_of(waiting.spans)
    chat = waiting.thread_id
    if not spans or chat is None or not quotes.are_stored(tx, chat, spans):
        if memory_id is not None:
            return changes.update(tx, origin, preset, memory_id, said)
        return changes.remember(tx, origin, preset, new)
    if memory_id is None:
        return quotes.quote(tx, origin, preset, new, chat, spans, said_on=waiting.said_on)
    return quotes.requote(
        tx, origin, preset, memory_id, spans, thread_id=chat, said_on=waiting.said_on, made_by=said.made_by,
        valid_from=waiting.valid_from, valid_until=waiting.valid_until,
    )  # fmt: skip


def note_declined(
    tx: Tx, now: str, content: str, *, thread_id: str | None = None, turn_ids: Sequence[str] = ()
) -> None:
    """Record that the person said no to a content in a chat, as a declined proposal."""
    row = {
        "owner": tx.owner, "id": new_id(), "nature": "proposal", "op": "add", "content": content, "status": "declined",
        "thread_id": thread_id, "turn_ids": json.dumps(list(turn_ids)), "created_at": now, "decided_at": now,
    }  # fmt: skip
    tx.conn.execute(insert(proposals), row)


def note_forgotten(tx: Tx, now: str, matter: str, thread_id: str, turns: Sequence[int]) -> str:
    """Record that the person wants a matter forgotten, as an accepted proposal to forget it: recall no longer quotes
    these turns, which speak of it. Returns the proposal's id."""
    turn_ids = json.dumps([str(turn) for turn in sorted(set(turns))])
    row = {
        "owner": tx.owner, "id": new_id(), "nature": "proposal", "op": "forget", "content": matter,
        "status": "accepted", "thread_id": thread_id, "turn_ids": turn_ids, "created_at": now, "decided_at": now,
    }  # fmt: skip
    tx.conn.execute(insert(proposals), row)
    return str(row["id"])


def take_back_forgotten(tx: Tx, id: str, now: str) -> None:
    """Take back `note_forgotten`: recall may quote these turns again."""
    _decide(tx, id, "expired", now)


def take_back_proposal_no(tx: Tx, id: str, now: str) -> Proposal:
    """Take back the person's "no"."""
    if get_proposal(tx, id).status != "declined":
        raise Conflict(f"proposal {id} was not declined", code="decided")
    return _decide(tx, id, "expired", now)


def reopen_proposal(tx: Tx, id: str, now: str) -> Proposal:
    """Let a proposal wait again, as if it had not been answered."""
    waiting = update(proposals).where(proposals.c.owner == tx.owner, proposals.c.id == id)
    tx.conn.execute(waiting.values(status="waiting", decided_at=None))
    due.remind(tx, due.EXPIRE, id, later(now, days=WAITING_DAYS))
    return get_proposal(tx, id)


def expire(tx: Tx, id: str, now: str) -> bool:
    """Mark a waiting proposal as expired, as after 30 days. A later chat may propose it again."""
    row = tx.conn.execute(select(proposals).where(proposals.c.owner == tx.owner, proposals.c.id == id)).first()
    if row is None or row.status != "waiting":
        due.cancel(tx, due.EXPIRE, id)
        return False
    _decide(tx, id, "expired", now)
    return True


def expire_forbidden(tx: Tx, never: Sequence[str], now: str, *, ids: Sequence[str] = ()) -> None:
    """Expire the waiting proposals whose yes would write about a topic that is never to be kept. They are found by
    their words; those found by meaning are given by `ids`."""
    for id in {*forbidden_offers(list_proposals(tx), never), *ids}:
        expire(tx, id, now)


def settle_proposals(tx: Tx, content: str, now: str) -> None:
    """Expire the proposals whose content the book says by now."""
    for one in list_proposals(tx):
        if one.op == "add" and alike(one.content, content):
            expire(tx, one.id, now)


def _decide(tx: Tx, id: str, status: str, now: str) -> Proposal:
    due.cancel(tx, due.EXPIRE, id)
    decided = update(proposals).where(proposals.c.owner == tx.owner, proposals.c.id == id)
    tx.conn.execute(decided.values(status=status, decided_at=now))
    return get_proposal(tx, id)


# Rules


def _is_asked(known: Any, op: str, content: str, question: str | None, memory_id: str | None) -> bool:
    """Whether the same proposal waits already, or was declined. The question which line an order means may be asked
    again after a no."""
    if known.op != op or not alike(known.content, content):
        return False
    if question in (None, "keep"):
        return True
    same = known.question == question and known.memory_id == memory_id
    return same and (question != "which" or known.status == "waiting")


def _refuse_too_many(rows: Sequence[Any], asked_by: str, memory_id: str | None) -> None:
    """Refuse an agent that leaves more proposals than a person can answer."""
    waiting = [row for row in rows if row.status == "waiting" and row.asked_by is not None]
    if memory_id is not None and sum(row.memory_id == memory_id for row in waiting) >= MOST_OF_MEMORY:
        raise LimitReached(
            f"memory {memory_id} is the person's own word, and {MOST_OF_MEMORY} proposals about it wait for them "
            "already; wait for their answer",
            limit=MOST_OF_MEMORY,
        )
    if sum(row.asked_by == asked_by for row in waiting) >= MOST_OF_AGENT:
        raise LimitReached(
            f"{MOST_OF_AGENT} proposals of yours wait for the person already; wait for their answer",
            limit=MOST_OF_AGENT,
        )


def forbidden_offers(waiting: Sequence[Proposal], never: Sequence[str], sense: Sense | None = None) -> list[str]:
    """The ids of the proposals whose yes would write about a topic that is never to be kept."""
    return [
        one.id
        for one in waiting
        if {one.op, *(choice.op for choice in one.choices)} & {"add", "update"}
        and switches.topics_told(_told(one.content, one.subject), never, sense)
    ]


def _told(content: str, subject: str | None) -> Told:
    return Told(content, labels=tuple(filter(None, [subject])))


def alike(one: str, other: str) -> bool:
    return fold_text(one) == fold_text(other) or near_duplicate(one, other)


# Queries


def get_proposal(tx: Tx, id: str) -> Proposal:
    row = tx.conn.execute(select(proposals).where(proposals.c.owner == tx.owner, proposals.c.id == id)).first()
    if row is None:
        raise NotFound(f"there is no proposal {id!r}", field="proposal")
    return _to_proposal(row)


def list_proposals(tx: Tx, *, status: str = "waiting", thread_id: str | None = None) -> Sequence[Proposal]:
    asked = {"owner": tx.owner, "status": status, "thread_id": thread_id}
    return [_to_proposal(row) for row in _list_query(thread_id is not None).rows(tx.conn, asked)]


IS_ASKED = or_(
    proposals.c.status != "waiting", proposals.c.memory_id.is_(None), proposals.c.op == "add",
    exists().where(memories.c.owner == proposals.c.owner, memories.c.id == proposals.c.memory_id, IS_ACTIVE),
)  # fmt: skip
"""While a line is out of the book, nothing is asked about it; once it is put back, its questions are too."""


@cache
def _list_query(of_chat: bool) -> PreparedStatement:
    query = select(proposals).where(proposals.c.owner == bindparam("owner"), proposals.c.status == bindparam("status"))
    query = query.where(IS_ASKED)
    if of_chat:
        query = query.where(proposals.c.thread_id == bindparam("thread_id"))
    return PreparedStatement(query.order_by(proposals.c.created_at, proposals.c.id))


def declined_contents(tx: Tx) -> list[str]:
    """The contents that the person did not want to be kept. A no to whether a line is over, or which line was meant,
    does not count."""
    refused = (known for known in _open_or_declined_rows(tx) if known.status == "declined")
    return [known.content for known in refused if known.question not in ("over", "which")]


def _open_or_declined_rows(tx: Tx) -> Sequence[Any]:
    names = ("id", "status", "op", "content", "question", "memory_id", "asked_by")
    query = select(*(proposals.c[name] for name in names)).where(proposals.c.owner == tx.owner)
    return tx.conn.execute(query.where(proposals.c.status.in_(("waiting", "declined")))).all()


def _waiting(tx: Tx, id: str) -> Proposal:
    found = get_proposal(tx, id)
    if found.status != "waiting":
        raise Conflict(f"proposal {id} was {found.status} already", code="decided")
    return found


def _to_proposal(row: Any) -> Proposal:
    known = {name: getattr(row, name) for name in Proposal.__dataclass_fields__}
    known["turn_ids"] = tuple(stored_json.load_json(row.turn_ids))
    known["choices"] = text_to_choices(row.choices)
    known["quoted"] = bool(row.quoted)
    if row.spans is not None:
        known["spans"] = tuple(tuple(span) for span in stored_json.load_json(row.spans))
    else:
        known["spans"] = ()
    known["created_at"] = parse_stamp(row.created_at)
    if row.decided_at is not None:
        known["decided_at"] = parse_stamp(row.decided_at)
    else:
        known["decided_at"] = None
    return Proposal(**known)
