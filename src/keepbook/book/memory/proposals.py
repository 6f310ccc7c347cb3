"""What waits for the person's word: facts that a preset proposes instead of saving, and findings that a person's
own word stood against.

Nothing here is injected or recalled. Accepting makes it the person's word; declining is remembered, so that the
same fact is not proposed again; unanswered, it is gone after 30 days.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import bindparam, insert, select, update

from keepbook.book.ground import due, stored
from keepbook.book.ground.ids import new_id
from keepbook.book.ground.when import later, parse_stamp
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes
from keepbook.book.memory.changes import Statement
from keepbook.book.memory.memories import Written
from keepbook.book.text.words import fold, near_duplicate
from keepbook.errors import Conflict, NotFound
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.prepared import Prepared
from keepbook.storage.tables import proposals

WAITING_DAYS = 30
FORGOTTEN, OUTDATED = "you asked to forget this", "a later word of yours stands"
"""Why something that comes in from elsewhere is left out until the person takes it."""
AGENT = "agent"
"""Who found what no reader of a chat did."""


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


# Operations


def propose(
    tx: Tx, now: str, *, nature: str, op: str, content: str, turn_ids: Sequence[str], **told: Any
) -> Proposal | None:
    """Let a fact wait, unless the same is waiting already or was declined."""
    for known in _known(tx):
        if known.status in ("waiting", "declined") and known.op == op and alike(known.content, content):
            return None
    row = {
        "owner": tx.owner, "id": new_id(), "nature": nature, "op": op, "content": content, "status": "waiting",
        "turn_ids": json.dumps([str(turn) for turn in turn_ids]), "created_at": now, **told,
    }  # fmt: skip
    tx.conn.execute(insert(proposals), row)
    due.remind(tx, due.EXPIRE, row["id"], later(now, days=WAITING_DAYS))
    return get(tx, row["id"])


def accept(tx: Tx, origin: Origin, preset: Preset, id: str, now: str, *, both: bool = False) -> Written:
    """The person says yes: from here on it is their own word, said in the chat it was found in. `made_by` tells it
    from what they typed. With `both` a change is kept beside the line that it would have changed."""
    waiting = _waiting(tx, id)
    origin = replace(origin, thread_id=waiting.thread_id or origin.thread_id)
    said = Statement(
        waiting.content, valid_from=waiting.valid_from, turn_ids=waiting.turn_ids, made_by=waiting.made_by or AGENT
    )
    # The chat may have had another preset than the one in force here.
    category = waiting.category if not preset.categories or waiting.category in preset.categories else None
    if waiting.op == "forget" and waiting.memory_id is not None:
        written = changes.forget(tx, origin, preset, waiting.memory_id, "user_corrected")
    elif waiting.op == "update" and waiting.memory_id is not None and not both:
        written = changes.update(tx, origin, preset, waiting.memory_id, said)
    else:
        new = replace(said, category=category, subject=waiting.subject, force=True)
        written = changes.remember(tx, origin, preset, new)
    _decide(tx, id, "accepted", now)
    return written


def decline(tx: Tx, id: str, now: str) -> Proposal:
    _waiting(tx, id)
    return _decide(tx, id, "declined", now)


def note_declined(
    tx: Tx, now: str, content: str, *, thread_id: str | None = None, turn_ids: Sequence[str] = ()
) -> None:
    """A "no" in the conversation: nothing is stored but that it was declined."""
    row = {
        "owner": tx.owner, "id": new_id(), "nature": "proposal", "op": "add", "content": content, "status": "declined",
        "thread_id": thread_id, "turn_ids": json.dumps(list(turn_ids)), "created_at": now, "decided_at": now,
    }  # fmt: skip
    tx.conn.execute(insert(proposals), row)


def note_forgotten(tx: Tx, now: str, matter: str, thread_id: str, turns: Sequence[int]) -> str:
    """The person wants a matter forgotten that these turns speak of: recall quotes them no longer."""
    told = json.dumps([str(turn) for turn in sorted(set(turns))])
    row = {
        "owner": tx.owner, "id": new_id(), "nature": "proposal", "op": "forget", "content": matter,
        "status": "accepted", "thread_id": thread_id, "turn_ids": told, "created_at": now, "decided_at": now,
    }  # fmt: skip
    tx.conn.execute(insert(proposals), row)
    return str(row["id"])


def take_back_forgotten(tx: Tx, id: str, now: str) -> None:
    """Recall may quote them again."""
    _decide(tx, id, "expired", now)


def take_back_no(tx: Tx, id: str, now: str) -> Proposal:
    """The person takes their no back: it is as if nothing had been asked."""
    if get(tx, id).status != "declined":
        raise Conflict(f"proposal {id} was not declined", code="decided")
    return _decide(tx, id, "expired", now)


def reopen(tx: Tx, id: str, now: str) -> Proposal:
    """Ask it again: it waits as if nothing had been said."""
    waiting = update(proposals).where(proposals.c.owner == tx.owner, proposals.c.id == id)
    tx.conn.execute(waiting.values(status="waiting", decided_at=None))
    due.remind(tx, due.EXPIRE, id, later(now, days=WAITING_DAYS))
    return get(tx, id)


def expire(tx: Tx, id: str, now: str) -> bool:
    """Unanswered for 30 days: gone. A later chat may propose it again."""
    row = tx.conn.execute(select(proposals).where(proposals.c.owner == tx.owner, proposals.c.id == id)).first()
    if row is None or row.status != "waiting":
        due.cancel(tx, due.EXPIRE, id)
        return False
    _decide(tx, id, "expired", now)
    return True


def settle(tx: Tx, content: str, now: str) -> None:
    """What the book says by now is not asked for any more."""
    for one in listed(tx):
        if one.op == "add" and alike(one.content, content):
            expire(tx, one.id, now)


def _decide(tx: Tx, id: str, status: str, now: str) -> Proposal:
    due.cancel(tx, due.EXPIRE, id)
    decided = update(proposals).where(proposals.c.owner == tx.owner, proposals.c.id == id)
    tx.conn.execute(decided.values(status=status, decided_at=now))
    return get(tx, id)


# Rules


def alike(one: str, other: str) -> bool:
    return fold(one) == fold(other) or near_duplicate(one, other)


# Queries


def get(tx: Tx, id: str) -> Proposal:
    row = tx.conn.execute(select(proposals).where(proposals.c.owner == tx.owner, proposals.c.id == id)).first()
    if row is None:
        raise NotFound(f"there is no proposal {id!r}", field="proposal")
    return _to_proposal(row)


def listed(tx: Tx, *, status: str = "waiting", thread_id: str | None = None) -> Sequence[Proposal]:
    asked = {"owner": tx.owner, "status": status, "thread_id": thread_id}
    return [_to_proposal(row) for row in _listed(thread_id is not None).rows(tx.conn, asked)]


@cache
def _listed(of_chat: bool) -> Prepared:
    query = select(proposals).where(proposals.c.owner == bindparam("owner"), proposals.c.status == bindparam("status"))
    if of_chat:
        query = query.where(proposals.c.thread_id == bindparam("thread_id"))
    return Prepared(query.order_by(proposals.c.created_at, proposals.c.id))


def declined(tx: Tx) -> list[str]:
    """What the person did not want kept."""
    return [known.content for known in _known(tx) if known.status == "declined"]


def _known(tx: Tx) -> Sequence[Any]:
    query = select(proposals.c.status, proposals.c.op, proposals.c.content).where(proposals.c.owner == tx.owner)
    return tx.conn.execute(query.where(proposals.c.status.in_(("waiting", "declined")))).all()


def _waiting(tx: Tx, id: str) -> Proposal:
    found = get(tx, id)
    if found.status != "waiting":
        raise Conflict(f"proposal {id} was {found.status} already", code="decided")
    return found


def _to_proposal(row: Any) -> Proposal:
    known = {name: getattr(row, name) for name in Proposal.__dataclass_fields__}
    known["turn_ids"] = tuple(stored.loads(row.turn_ids))
    known["created_at"] = parse_stamp(row.created_at)
    known["decided_at"] = None if row.decided_at is None else parse_stamp(row.decided_at)
    return Proposal(**known)
