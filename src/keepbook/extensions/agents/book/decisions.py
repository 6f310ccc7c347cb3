"""Decisions: cards that are open until bars or the person close them.

A trade is followed on the stored bars (the rules are in `resolution`), a few at a time: each look goes on where the
last one stopped. Past its expiry it is closed with the bars there are. If bars come late, are corrected or removed, the
decisions they touch are followed again from the beginning, and the earlier result stays readable (`results`). A
re-examination never changes anything here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, bindparam, func, insert, select

from keepbook.book.ground import due, stored_json
from keepbook.book.ground.limits import clean_count, sought
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ground.when import instant, parse_stamp, stamp
from keepbook.book.ledger.ledger import Origin
from keepbook.book.owners import owners
from keepbook.errors import Conflict, Invalid, NotAllowed, NotFound
from keepbook.extensions.agents.book import prices, results
from keepbook.extensions.agents.book.cards import RE_EXAMINATION, CardType, CardTypes, line_of
from keepbook.extensions.agents.book.due_work import ANSWER, RESOLVE
from keepbook.extensions.agents.book.outcomes.regime import regime_before
from keepbook.extensions.agents.book.outcomes.series import counted_from, is_late, is_recorded_later, series_of
from keepbook.extensions.agents.book.resolution import Course, TradePlan, at_expiry, follow_bars
from keepbook.extensions.agents.book.scoring.forms import stated_forecast
from keepbook.extensions.agents.tables import decisions, runs
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement, set_columns

STATES = ("open", "resolved", "expired")
CLOSED = "closed"
"""To ask for both kinds that are over: resolved and expired."""
SIDES = {"LONG": 1, "SHORT": -1}
_COURSE = ("through", "last_close", "filled_at", "fill_price", "closed_at", "exit_price", "outcome", "note")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """How a card turned out. `outcome`: target, stop, time (closed at its expiry), exited (by the person), expired.

    Of a forecast it is true, false or void; `expires` is then when it is due, `probability` what was said. `closed_by`:
    bars, person, resolver, or agent (the forecaster, as far as one can tell); `resolver` is its name. `settled_early`:
    why it was answered before its date. `gap`: a stretch (from/to) without bars, so that a no may be wrong.
    `recorded_later`, `late`: written down well after it was made; when its end could be known. `series`: the score
    that it counts in. Outcomes about the same `event` hang together. `known_at`: since when its course is known as it
    stands here.
    """

    run_id: str
    agent_id: str
    card_type: str
    decided_at: datetime
    action: str | None
    symbol: str | None
    entry: float | None
    stop: float | None
    target: float | None
    conviction: float | None
    expires: datetime | None
    regime: str | None
    probability: float | None
    claim: str | None
    event: str | None
    recorded_at: datetime | None
    recorded_later: bool
    late: bool
    series: str
    state: str
    filled_at: datetime | None
    fill_price: float | None
    last_close: float | None
    closed_at: datetime | None
    closed_by: str | None
    outcome: str | None
    exit_price: float | None
    result_r: float | None
    result_pct: float | None
    note: str | None
    came_to: str | None
    resolver: str | None
    settled_early: str | None
    gap: str | None
    known_at: datetime | None

    @property
    def plan(self) -> TradePlan | None:
        """What is followed on bars, where it is a trade."""
        side = SIDES.get(self.action or "")
        if side is None or self.entry is None or self.stop is None or self.target is None:
            return None
        return TradePlan(side, self.entry, self.stop, self.target)

    @property
    def so_far_r(self) -> float | None:
        """The present result of an open, filled trade at the last close, in R."""
        if self.state != "open" or self.plan is None or self.fill_price is None or self.last_close is None:
            return None
        return self.plan.result_r(self.fill_price, self.last_close)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastCard:
    """One earlier card of an agent, as `get_my_decisions` answers it."""

    run_id: str
    at: datetime
    card_type: str
    line: str
    symbol: str | None
    action: str | None
    conviction: float | None
    state: str | None
    outcome: str | None
    result_r: float | None


NOT_FILLED = "no bar had filled it; counted from its entry"


# Operations


def open_decision(
    tx: Tx,
    card: CardType,
    run_id: str,
    agent_id: str,
    slots: Mapping[str, Any],
    now: str,
    recorded_at: str | None = None,
) -> Decision | None:
    """Open the decision of a card, if its card type has one. A card whose action is to wait gets a decision that only
    expires. `now` is when it was made; a decision made outside has `recorded_at` too, and is followed from then on."""
    if not card.is_decision:
        return None
    told = {name: slots.get(name) for name in ("action", "symbol", "entry", "stop", "target", "conviction", "expires")}
    event = slots.get("event")
    told["event"] = event if isinstance(event, str) else None  # a card type may mean something else by it
    if card.follow and told["symbol"]:
        told["symbol"] = prices.resolve_unambiguous(tx.conn, told["symbol"])
    symbol = told["symbol"]
    regime = None
    if card.follow and symbol:
        regime = regime_before(tx, symbol, now)
    row = {
        "owner": tx.owner, "run_id": run_id, "agent_id": agent_id, "card_type": card.name, "decided_at": now,
        "state": "open", "regime": regime,
        "recorded_at": recorded_at, **told, **_forecast_of(card, slots),
    }  # fmt: skip
    tx.conn.execute(insert(decisions), row)
    if card.forecast is not None:
        due.remind(tx, ANSWER, run_id, now)
    elif card.follow or told["expires"]:
        due.remind(tx, RESOLVE, run_id, now)
    return get_decision(tx, run_id)


def refuse_ambiguous_symbol(tx: Tx, card: CardType, slots: Mapping[str, Any]) -> None:
    """Refuse a new card whose symbol may mean several of those that have bars."""
    if card.follow and isinstance(symbol := slots.get("symbol"), str):
        prices.resolve_unambiguous(tx.conn, symbol)


def _forecast_of(card: CardType, slots: Mapping[str, Any]) -> dict[str, Any]:
    """What a forecast says, under the names that every forecast has."""
    told = card.forecast
    if told is None:
        return {"probability": None, "claim": None}
    return {**stated_forecast(told, slots)._asdict(), "expires": slots.get(told.due)}


def follow(tx: Tx, run_id: str) -> bool:
    """Follow a decision on the bars since the last look; for the sweep. True when that closed it.

    The reminder stays due while there is something to follow: bars come in when somebody loads them.
    """
    row = _find(tx, run_id)
    now = stamp(tx.clock())
    if row is None or row.state != "open":
        due.cancel(tx, RESOLVE, run_id)
        return False
    decision, before = _to_decision(row), _so_far(row)
    course = _course(tx, row, decision, before, now)
    if course.through != before.through or course.outcome is not None:
        _set(tx, run_id, now, **_result(decision, course))
    return course.outcome is not None


def resolve_anew(tx: Tx, run_id: str) -> bool:
    """Follow a decision from its beginning on the present bars. True if the result is another one."""
    row, now = _find(tx, run_id), stamp(tx.clock())
    if row is None or row.closed_by not in (None, "bars") or row.probability is not None:
        return False
    decision = _to_decision(row)
    course = _course(tx, row, decision, Course(), now)
    if all(value == getattr(row, name) for name, value in _result(decision, course).items()):
        return False
    results.keep_former(tx, row, now)
    _set(tx, run_id, now, **_result(decision, course))
    if course.outcome is None:
        due.remind(tx, RESOLVE, run_id, now)
    return True


def is_over(tx: Tx, run_id: str) -> bool:
    """Whether a decision is closed, or would be at the next look at the bars and the clock."""
    row = _find(tx, run_id)
    if row is None or row.state != "open":
        return row is not None
    if row.probability is not None:
        return bool(row.expires is not None and stamp(tx.clock()) >= row.expires)
    return _course(tx, row, _to_decision(row), _so_far(row), stamp(tx.clock())).outcome is not None


def _so_far(row: Any) -> Course:
    return Course(**{name: getattr(row, name) for name in _COURSE})


def _course(tx: Tx, row: Any, decision: Decision, course: Course, now: str) -> Course:
    """How it goes up to now, from where it stands."""
    if decision.plan is not None and row.symbol is not None:
        # From when it was recorded: what came before could be known. A bar that starts in that very instant does not
        # start after it.
        begins = course.through or stamp(parse_stamp(counted_from(row)) + timedelta(microseconds=1))
        symbol = prices.resolve_symbol(tx.conn, row.symbol)
        if course.through is None:  # where the price stood then: the first bar may have jumped over the entry
            course = replace(course, last_close=prices.close_known_then(tx.conn, symbol, begins))
        coming = prices.following_bars(tx, symbol, begins, row.expires or now, now)
        course = follow_bars(decision.plan, course, coming)
    if course.outcome is None and row.expires is not None and now >= row.expires:
        course = at_expiry(course, row.expires, waited=decision.plan is None)
    return course


def exit_at(tx: Tx, origin: Origin, run_id: str, price: float | None = None, *, at: Any = None) -> Decision:
    """Record that the person got out, of a trade at a price. A trade that the bars had not filled yet counts from its
    entry."""
    if origin.actor != "person":
        raise NotAllowed("only the person says that a decision was exited", code="person_only")
    decision = get_decision(tx, run_id)
    if decision.probability is not None:
        raise Conflict("a forecast is not exited; say whether it came true", code="no_exit")
    if decision.state != "open":
        raise Conflict(f"this decision is {decision.state} already; that is not changed any more", code="closed")
    if decision.action is not None and decision.action not in SIDES and decision.symbol is not None:
        raise Conflict(f"a {decision.action} holds nothing that could be exited; it expires", code="nothing_to_exit")
    now = stamp(tx.clock())
    moment = instant(at, field="at", zone=owners.zone_name(tx)) or now
    if not stamp(decision.decided_at) <= moment <= now:
        raise Invalid("the exit lies between the decision and now", field="at")
    values: dict[str, Any] = {"closed_by": "person", "outcome": "exited", "state": "resolved", "closed_at": moment}
    if (plan := decision.plan) is not None:
        paid = _clean_price(price)
        if decision.fill_price is not None:
            fill = decision.fill_price
        else:
            fill = plan.entry
        values |= {
            "exit_price": paid,
            "fill_price": fill,
            "filled_at": stamp(decision.filled_at or parse_stamp(moment)),
        }
        values |= {"result_r": plan.result_r(fill, paid), "result_pct": plan.result_pct(fill, paid)}
        if decision.fill_price is None:
            values |= {"note": NOT_FILLED}
    _set(tx, run_id, now, **values)
    due.cancel(tx, RESOLVE, run_id)
    return get_decision(tx, run_id)


def _result(decision: Decision, course: Course) -> dict[str, Any]:
    """What a decision says of its end, from how it went."""
    values: dict[str, Any] = {name: getattr(course, name) for name in _COURSE}
    values |= {"state": "open", "closed_by": None, "result_r": None, "result_pct": None}
    if course.outcome is not None:
        values |= {"state": "expired" if course.outcome == "expired" else "resolved", "closed_by": "bars"}
        plan = decision.plan
        if plan is not None and course.fill_price is not None and course.exit_price is not None:
            values["result_r"] = plan.result_r(course.fill_price, course.exit_price)
            values["result_pct"] = plan.result_pct(course.fill_price, course.exit_price)
    return values


def _clean_price(price: object) -> float:
    if isinstance(price, bool) or not isinstance(price, int | float) or not 0 < price <= 1e15:
        raise Invalid("say at which price, a number above 0", field="price")
    return float(price)


def _set(tx: Tx, run_id: str, now: str, **values: Any) -> None:
    set_columns(tx.conn, decisions, {"owner": tx.owner, "run_id": run_id}, values | {"known_at": now})


# Queries


def get_decision(tx: Tx, run_id: str, known_at: str | None = None) -> Decision:
    found = find_decision(tx, run_id, known_at)
    if found is None:
        raise NotFound(f"run {run_id!r} made no decision that could be followed", field="run")
    return found


def find_decision(tx: Tx, run_id: str, known_at: str | None = None) -> Decision | None:
    """The decision of a run, if its card made one; as it was known at an instant."""
    row = _find(tx, run_id)
    if row is not None and known_at is not None:
        row = next(results.decisions_as_of(tx, [row], known_at), None)
    if row is None:
        return None
    return _to_decision(row)


def are_there(book: OpenBook) -> bool:
    """Whether any decision was ever made."""
    with book.reading() as (tx, _, _):
        return bool(_ANY.tuples(tx.conn, {"owner": tx.owner}))


def list_decisions(
    tx: Tx,
    *,
    state: str | None = None,
    agent_id: str | None = None,
    limit: int = 100,
    offset: int = 0,
    forecasts: bool | None = None,
    card_types: Sequence[str] | None = None,
    by_due: bool = False,
) -> Sequence[Decision]:
    """The decisions, newest first; closed ones by when they were closed. `forecasts`: only those, or none of them.
    `by_due`: the earliest date first."""
    if state is not None and state not in (*STATES, CLOSED):
        raise Invalid(f"state is one of {', '.join(STATES)}, not {state!r}", field="state")
    query = select(decisions).where(decisions.c.owner == tx.owner)
    for column, value in ((decisions.c.state, None if state == CLOSED else state), (decisions.c.agent_id, agent_id)):
        if value is not None:
            query = query.where(column == value)
    query = query.where(*_of_kind(forecasts, card_types))
    if state in (None, "open"):
        newest = decisions.c.decided_at
    else:
        newest = decisions.c.closed_at
    if state == CLOSED:
        query = query.where(decisions.c.state != "open")
    order = decisions.c.expires if by_due else newest.desc()
    query = query.order_by(order, decisions.c.run_id).limit(clean_count(limit, "limit", 10_000)).offset(offset)
    return [_to_decision(row) for row in tx.conn.execute(query)]


def count_decisions(
    tx: Tx,
    now: str,
    *,
    agent_id: str | None = None,
    forecasts: bool | None = None,
    card_types: Sequence[str] | None = None,
) -> dict[str, int]:
    """How many there are in each state, and of forecasts how many wait past their date (`due`)."""
    within = [decisions.c.owner == tx.owner, *_of_kind(forecasts, card_types)]
    if agent_id is not None:
        within += [decisions.c.agent_id == agent_id]
    query = select(decisions.c.state, func.count()).where(*within).group_by(decisions.c.state)
    found = dict.fromkeys(STATES, 0) | {row[0]: row[1] for row in tx.conn.execute(query)}
    waits = (decisions.c.state == "open", decisions.c.probability.isnot(None), decisions.c.expires <= now)
    return found | {
        "due": tx.conn.execute(select(func.count()).select_from(decisions).where(*within, *waits)).scalar() or 0
    }


def _of_kind(forecasts: bool | None, card_types: Sequence[str] | None) -> list[ColumnElement[bool]]:
    kinds: list[ColumnElement[bool]] = []
    if forecasts is not None:
        if forecasts:
            kinds.append(decisions.c.probability.isnot(None))
        else:
            kinds.append(decisions.c.probability.is_(None))
    if card_types is not None:
        kinds.append(decisions.c.card_type.in_([sought(name) for name in card_types]))
    return kinds


def first_resolved(tx: Tx, agent_id: str | None = None) -> datetime | None:
    """When the first of the resolved trades was decided."""
    query = select(func.min(decisions.c.decided_at)).where(
        decisions.c.owner == tx.owner, decisions.c.state == "resolved", decisions.c.probability.is_(None)
    )
    if agent_id is not None:
        query = query.where(decisions.c.agent_id == agent_id)
    found = tx.conn.execute(query).scalar()
    if found is None:
        return None
    return parse_stamp(found)


def past_cards(tx: Tx, cards: CardTypes, agent_id: str, *, limit: int = 5) -> Sequence[PastCard]:
    """An agent's own last cards, newest first: no re-examinations, none of its specialists."""
    # Joined by hand: a run without a decision is listed too.
    query = (
        select(runs.c.id, runs.c.card_type, runs.c.card, runs.c.finished_at)
        .where(runs.c.owner == tx.owner, runs.c.agent_id == agent_id, runs.c.card.isnot(None))
        .where(runs.c.nature != RE_EXAMINATION, runs.c.lead_run.is_(None))
        .order_by(runs.c.finished_at.desc(), runs.c.id)
        .limit(clean_count(limit, "limit", 100))
    )
    now = stamp(tx.clock())
    return [_to_past(tx, cards, row, now) for row in tx.conn.execute(query).all()]


def _to_past(tx: Tx, cards: CardTypes, row: Any, now: str) -> PastCard:
    slots, decision = stored_json.load_json(row.card), find_decision(tx, row.id)
    state = None
    if decision is not None:
        state = decision.state
    return PastCard(
        run_id=row.id, at=parse_stamp(row.finished_at), card_type=row.card_type,
        line=line_of(cards.find(row.card_type), slots, row.finished_at, now),
        symbol=slots.get("symbol"), action=slots.get("action"), conviction=slots.get("conviction"),
        state=state, outcome=None if decision is None else decision.outcome,
        result_r=None if decision is None else decision.result_r,
    )  # fmt: skip


def _find(tx: Tx, run_id: str) -> Any:
    return _ONE.first(tx.conn, {"owner": tx.owner, "run_id": sought(run_id)})


_ANY = PreparedStatement(select(decisions.c.run_id).where(decisions.c.owner == bindparam("owner")).limit(1))
_ONE = PreparedStatement(
    select(decisions).where(decisions.c.owner == bindparam("owner"), decisions.c.run_id == bindparam("run_id"))
)


def _to_decision(row: Any) -> Decision:
    told: dict[str, Any] = {
        "recorded_later": is_recorded_later(row.decided_at, row.recorded_at),
        "late": is_late(row),
        "series": series_of(row),
    }
    known = told | {name: getattr(row, name) for name in Decision.__dataclass_fields__ if name not in told}
    for name in ("decided_at", "expires", "filled_at", "closed_at", "recorded_at", "known_at"):
        if known[name] is not None:
            known[name] = parse_stamp(known[name])
        else:
            known[name] = None
    return Decision(**known)
