"""Earlier results of decisions, and which decisions new bars touch.

A result is computed from the card and the bars. If bars come late, are corrected or removed, it is computed again; the
earlier result is stored with the time span in which it was known, so that an answer as of then is the same. A person's
own answer is never changed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from sqlalchemy import func, insert, or_, select

from keepbook.book.ground.when import parse_stamp
from keepbook.extensions.agents.book import prices
from keepbook.extensions.agents.book.prices import PriceSpan
from keepbook.extensions.agents.tables import RESULT, decisions, former_results
from keepbook.storage.database import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Former:
    """The result of a decision that was known from `known_at` to `until`."""

    known_at: datetime
    until: datetime
    state: str
    outcome: str | None
    closed_at: datetime | None
    exit_price: float | None
    result_r: float | None
    result_pct: float | None
    note: str | None


# Operations


def keep_former(tx: Tx, row: Any, now: str) -> None:
    """Store the present result of a closed decision as a former one, before it is replaced."""
    if row.state == "open":
        return
    mine = (former_results.c.owner == tx.owner, former_results.c.run_id == row.run_id)
    nth = 1 + (tx.conn.execute(select(func.max(former_results.c.nth)).where(*mine)).scalar() or 0)
    told = {name: getattr(row, name) for name in RESULT}
    kept = {"owner": tx.owner, "run_id": row.run_id, "nth": nth, "known_at": row.known_at, "until": now}
    tx.conn.execute(insert(former_results), kept | told)


# Queries


def touched_by(tx: Tx, spans: Sequence[PriceSpan]) -> list[str]:
    """The decisions that were followed on bars in these spans. Those that the new bars only continue are left out: the
    sweep follows them."""
    if not spans:
        return []
    of = {span.symbol: span for span in spans}
    reached = func.coalesce(decisions.c.closed_at, decisions.c.through)
    query = (
        select(decisions.c.run_id, decisions.c.symbol, decisions.c.decided_at, reached.label("reached"))
        .where(decisions.c.owner == tx.owner, decisions.c.symbol.isnot(None), decisions.c.entry.isnot(None))
        .where(or_(decisions.c.closed_by.is_(None), decisions.c.closed_by == "bars"))
        .where(reached > min(span.first for span in spans))
        .where(decisions.c.decided_at < max(span.last for span in spans))
        .order_by(decisions.c.decided_at, decisions.c.run_id)
    )
    meant: dict[str, str] = {}
    found = []
    for row in tx.conn.execute(query).all():
        if row.symbol not in meant:
            meant[row.symbol] = prices.resolve_symbol(tx.conn, row.symbol)
        span = of.get(meant[row.symbol])
        if span is not None and span.first < row.reached and span.last > row.decided_at:
            found.append(row.run_id)
    return found


def answered_by_bars(tx: Tx, spans: Sequence[PriceSpan]) -> list[str]:
    """The forecasts that a rule answered on bars within the time of the new data."""
    if not spans:
        return []
    query = select(decisions.c.run_id).where(
        decisions.c.owner == tx.owner,
        decisions.c.probability.isnot(None),
        decisions.c.closed_by == "bars",
        decisions.c.closed_at > min(span.first for span in spans),
    )
    return list(tx.conn.execute(query.order_by(decisions.c.run_id)).scalars())


def outcome_history(tx: Tx, run_id: str) -> list[Former]:
    """The earlier results of a decision, the oldest first."""
    mine = (former_results.c.owner == tx.owner, former_results.c.run_id == run_id)
    rows = tx.conn.execute(select(former_results).where(*mine).order_by(former_results.c.nth))
    return [
        Former(
            known_at=parse_stamp(row.known_at), until=parse_stamp(row.until), state=row.state, outcome=row.outcome,
            closed_at=None if row.closed_at is None else parse_stamp(row.closed_at), exit_price=row.exit_price,
            result_r=row.result_r, result_pct=row.result_pct, note=row.note,
        )
        for row in rows
    ]  # fmt: skip


def decisions_as_of(tx: Tx, rows: Sequence[Any], known_at: str) -> Iterator[Any]:
    """Rows of decisions as they were known at an instant: with the present result, a former one, or still open."""
    stood = (former_results.c.owner == tx.owner, former_results.c.known_at <= known_at)
    query = select(former_results).where(*stood, former_results.c.until > known_at)
    former = {row.run_id: row for row in tx.conn.execute(query)}
    for row in rows:
        told = dict(row._mapping)
        if row.decided_at > known_at or (row.recorded_at or "") > known_at:
            continue
        if row.known_at is not None and row.known_at > known_at:
            before = former.get(row.run_id)
            told |= {name: None if before is None else getattr(before, name) for name in RESULT}
            told["state"] = told["state"] or "open"
            told["known_at"] = None if before is None else before.known_at
        yield SimpleNamespace(**told)
