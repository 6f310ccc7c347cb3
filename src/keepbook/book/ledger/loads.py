"""Loads: what one imported file brought, stored so that it can be shown, and taken back as a whole.

This module reads and writes their rows. `upkeep/take_back.py` takes back memories and chats; an extension takes back
what it imported itself. Some columns are named after the first extension that imported something (trades, fills).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, insert, select, update

from keepbook.book.ground import stored_json
from keepbook.book.ground.limits import LARGEST, clean_count
from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.book.ledger.ledger import Origin
from keepbook.errors import Conflict, NotAllowed, NotFound
from keepbook.storage.database import Tx
from keepbook.storage.tables.upkeep import loads

MEMORIES, TRADES = "memories", "trades"
MOST = 1000  # loads that one call lists
UNDER_WAY = "under_way"
"""The key in `told` of a load that is not complete: it is being written, or was cut off."""
NOTHING_TOLD: Mapping[str, Any] = {"file": "", "added": 0, "paired": 0, "wrong": 0, "unchanged": 0, "refused": ()}
"""The `told` of a load that had no rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A load as its row has it. `told` is what its page shows, `brought` and `before` are needed to take it back,
    `gone` is what went then."""

    nth: int
    at: datetime
    actor: str
    what: str
    title: str
    deployment_id: str | None
    trades: int
    fills: int
    brought: Any
    before: Any
    told: Mapping[str, Any]
    undone_at: datetime | None
    gone: Any


@dataclass(frozen=True, slots=True)
class Load:
    """One file that came in, as everybody is told of it. `what` it brought: memories (chats among them) or trades.
    `whole` is false while it comes in, and if it was cut off: then take it back, or import the same file again.
    `undone_at` is when it was taken back; then `lines_out` and `chats_out` went, and `stayed` were touched by something
    newer."""

    nth: int
    at: str
    actor: str
    what: str
    title: str
    memories: int
    chats: int
    trades: int
    fills: int
    deployment_id: str | None
    undone_at: str | None
    lines_out: int
    chats_out: int
    stayed: int
    whole: bool = True


# Operations


def next_number(tx: Tx) -> int:
    query = select(func.max(loads.c.nth)).where(loads.c.owner == tx.owner)
    return int(tx.conn.execute(query).scalar() or 0) + 1


def record_load(
    tx: Tx, origin: Origin, what: str, title: str, *, brought: Any, told: Mapping[str, Any], before: Any = None,
    nth: int | None = None, deployment_id: str | None = None, trades: int = 0, fills: int = 0,
) -> int:  # fmt: skip
    """Record what a file brought; returns the number of the load."""
    nth = nth or next_number(tx)
    row = {
        "owner": tx.owner, "nth": nth, "at": stamp(tx.clock()), "actor": origin.actor, "what": what, "title": title,
        "deployment_id": deployment_id, "trades": trades, "fills": fills, "brought": _json(brought),
        "before": _json(before or {}), "told": _json(told), "undone_at": None, "gone": None,
    }  # fmt: skip
    tx.conn.execute(insert(loads), row)
    return nth


def grow_load(tx: Tx, nth: int, *, brought: Any, told: Mapping[str, Any]) -> None:
    """Record what came in since, for a load that is written piece by piece; `told` has `UNDER_WAY` until the last.
    Raises `Conflict` if the load is gone, because the book was erased meanwhile: what came in now could not be taken
    back."""
    mine = update(loads).where(loads.c.owner == tx.owner, loads.c.nth == nth)
    if not tx.conn.execute(mine.values(brought=_json(brought), told=_json(told))).rowcount:
        raise Conflict("the book was erased while this came in; nothing more of it is taken in")


def mark_taken_back(tx: Tx, nth: int, gone: Any) -> None:
    taken = update(loads).where(loads.c.owner == tx.owner, loads.c.nth == nth)
    tx.conn.execute(taken.values(undone_at=stamp(tx.clock()), gone=_json(gone)))


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


# Queries


def get_load(tx: Tx, nth: int) -> Arrival:
    where = (loads.c.owner == tx.owner, loads.c.nth == clean_count(nth, "load", LARGEST))
    row = tx.conn.execute(select(loads).where(*where)).first()
    if row is None:
        raise NotFound(f"there is no load {nth} in this book", field="load")
    return _arrival(row)


def load_to_take_back(tx: Tx, origin: Origin, nth: int) -> Arrival:
    """The load with this number, if this caller may take it back now. Otherwise an error says why not."""
    found = get_load(tx, nth)
    if found.actor == "person" and origin.actor != "person" and not origin.for_person:
        raise NotAllowed(f"load {nth} is the person's own; only they take it back", code="person_only")
    if found.undone_at is not None:
        raise Conflict(f"load {nth} was taken back already", code="touched")
    return found


def list_loads(tx: Tx, limit: int = 100, *, what: str | None = None) -> Sequence[Arrival]:
    """The loads, newest first."""
    query = select(loads).where(loads.c.owner == tx.owner)
    if what is not None:
        query = query.where(loads.c.what == what)
    query = query.order_by(loads.c.nth.desc()).limit(clean_count(limit, "limit", MOST))
    return [_arrival(row) for row in tx.conn.execute(query)]


def is_whole(one: Arrival) -> bool:
    """Whether all of its file came in."""
    return not one.told.get(UNDER_WAY)


def load_of(one: Arrival) -> Load:
    """The public form of a load."""
    mine = one.what == MEMORIES
    gone: Mapping[str, Any]
    if mine and one.gone:
        gone = one.gone
    else:
        gone = {"memories": (), "chats": (), "stayed": 0}
    memories = chats = 0
    if mine:
        memories = one.told["memories"]
        chats = one.told["chats"]
    undone_at = None
    if one.undone_at is not None:
        undone_at = stamp(one.undone_at)
    return Load(
        nth=one.nth, at=stamp(one.at), actor=one.actor, what=one.what, title=one.title,
        memories=memories, chats=chats, trades=one.trades,
        fills=one.fills, deployment_id=one.deployment_id,
        undone_at=undone_at,
        lines_out=len(gone["memories"]), chats_out=len(gone["chats"]), stayed=gone["stayed"],
        whole=is_whole(one),
    )  # fmt: skip


def _arrival(row: Any) -> Arrival:
    known = {name: getattr(row, name) for name in Arrival.__dataclass_fields__}
    for name in ("brought", "before", "told", "gone"):
        if known[name] is not None:
            known[name] = stored_json.load_json(known[name])
        else:
            known[name] = None
    for name in ("at", "undone_at"):
        if known[name] is not None:
            known[name] = parse_stamp(known[name])
        else:
            known[name] = None
    return Arrival(**known)
