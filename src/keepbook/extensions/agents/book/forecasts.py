"""Forecasts: cards that say how likely something is, and that are answered when it can be told.

The person answers, or a program by a call, or a rule in the card type that reads the bars. An answer is yes, no, or
that it cannot be told, which leaves the forecast out of every score. What a program or a rule answered the person may
answer anew; what the forecast itself said never changes.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import select, update

from keepbook.book.ground import due, stored_json
from keepbook.book.ground.limits import clean_optional
from keepbook.book.ground.when import Moment, instant, parse_stamp, stamp
from keepbook.book.ledger.ledger import Origin
from keepbook.book.owners import owners
from keepbook.errors import Conflict, Invalid
from keepbook.extensions.agents.book import decisions, prices, results
from keepbook.extensions.agents.book.cards import CardTypes
from keepbook.extensions.agents.book.cards.types import BarRule, Forecast
from keepbook.extensions.agents.book.decisions import Decision
from keepbook.extensions.agents.book.due_work import ANSWER
from keepbook.extensions.agents.book.prices import Bar, PriceSpan
from keepbook.extensions.agents.tables import decisions as decision_rows
from keepbook.extensions.agents.tables import runs as run_rows
from keepbook.storage.database import Tx

VOID = "void"
"""The answer that it cannot be told."""


# Rules


def parse_outcome(told: Forecast, claim: str | None, outcome: object) -> tuple[str, str | None]:
    """An answer in the stored form (`true`, `false`, `void`), and what it was if it is a choice."""
    if outcome is None or outcome == VOID:
        return VOID, None
    if told.claim is None:
        if not isinstance(outcome, bool):
            raise Invalid(f'an outcome is true, false or "{VOID}", not {str(outcome)[:40]!r}', field="outcome")
        return str(outcome).lower(), None
    if not isinstance(outcome, str) or not outcome.strip():
        raise Invalid(f'an outcome is what it came to, or "{VOID}"', field="outcome")
    return str(outcome.strip().upper() == str(claim).upper()).lower(), f"it was {outcome.strip()[:80]}"


def by_rule(rule: BarRule, level: float, seen: list[Bar], due_at: str, now: str) -> tuple[bool, str] | None:
    """The answer of the bars since the forecast, and since when it holds; None as long as there is none."""
    up = rule.test.endswith("_above")
    if rule.test.startswith("reaches"):
        for bar in seen:
            if bar.high >= level if up else bar.low <= level:
                return True, prices.bar_end(bar)
    if not seen or now < due_at or not _reach(seen[-1], due_at):
        return None
    if rule.test.startswith("reaches"):
        return False, due_at
    close = seen[-1].close
    return (close > level if up else close < level), due_at


def _reach(last: Bar, due_at: str) -> bool:
    """Whether no further bar of its kind ends by the date."""
    end = prices.bar_end(last)
    return stamp(parse_stamp(end) + timedelta(seconds=prices.seconds(last.timeframe))) > due_at


# Operations


def answer_forecast(
    tx: Tx,
    origin: Origin,
    cards: CardTypes,
    run_id: str,
    outcome: object,
    *,
    at: Moment = None,
    note: str | None = None,
) -> Decision:
    """Record how a forecast came out. An answer that exists may be changed only by the person."""
    decision, told = (
        decisions.get_decision(tx, run_id),
        cards.find(decisions.get_decision(tx, run_id).card_type).forecast,
    )
    if told is None or decision.probability is None:
        raise Conflict(f"run {run_id} made no forecast; a trade is exited at a price", code="no_forecast")
    person = origin.actor == "person"
    if decision.state != "open" and not person:
        raise Conflict("this forecast was answered already; only the person can say otherwise", code="closed")
    kept, came = parse_outcome(told, decision.claim, outcome)
    now = stamp(tx.clock())
    moment = instant(at, field="at", zone=owners.zone_name(tx)) or now
    if not stamp(decision.decided_at) <= moment <= now:
        raise Invalid("it was known between the forecast and now", field="at")
    earlier = None if decision.outcome is None else f"before: {decision.outcome}, said by {decision.closed_by}"
    said = "; ".join(part for part in (came, clean_optional(note, "note", 500), earlier) if part)
    _close(tx, run_id, kept, moment, "person" if person else "agent", said or None)
    return decisions.get_decision(tx, run_id)


def settle_forecast(tx: Tx, cards: CardTypes, run_id: str) -> bool:
    """Let the card type's rule answer an open forecast, as far as the bars go; for the sweep. True when it did."""
    decision = decisions.find_decision(tx, run_id)
    told = None if decision is None else cards.find(decision.card_type).forecast
    if decision is None or decision.state != "open" or told is None or told.rule is None:
        due.cancel(tx, ANSWER, run_id)
        return False
    slots = _slots(tx, run_id)
    symbol, level, due_at = slots.get(told.rule.symbol), slots.get(told.rule.level), slots.get(told.due)
    if symbol is None or level is None or due_at is None:  # such a slot may be left out: then the person answers
        due.cancel(tx, ANSWER, run_id)
        return False
    found = _told_by_bars(tx, decision, told.rule, slots, due_at)
    if found is None:
        return False
    _close(tx, run_id, *found)
    return True


def resolve_all_anew(tx: Tx, cards: CardTypes, spans: Sequence[PriceSpan]) -> int:
    """Follow trades and answer forecasts anew after bars came late, were corrected or removed; returns how many have
    another result."""
    changed = sum(decisions.resolve_anew(tx, run_id) for run_id in results.touched_by(tx, spans))
    return changed + sum(_answer_again(tx, cards, run_id) for run_id in results.answered_by_bars(tx, spans))


def _answer_again(tx: Tx, cards: CardTypes, run_id: str) -> bool:
    decision, told = (
        decisions.get_decision(tx, run_id),
        cards.find(decisions.get_decision(tx, run_id).card_type).forecast,
    )
    if told is None or told.rule is None:
        return False
    slots = _slots(tx, run_id)
    found = _told_by_bars(tx, decision, told.rule, slots, slots[told.due])
    if found is None:
        _reopen(tx, run_id)
    elif (decision.outcome, stamp(decision.closed_at or decision.decided_at)) != found[:2]:
        _close(tx, run_id, *found)
    else:
        return False
    return True


def _told_by_bars(
    tx: Tx, decision: Decision, rule: BarRule, slots: Mapping[str, Any], due_at: str
) -> tuple[str, str, str, str] | None:
    """Outcome, since when, by whom and a note, where the bars tell."""
    now, level = stamp(tx.clock()), float(slots[rule.level])
    begins = stamp(decision.decided_at + timedelta(microseconds=1))
    there = list(prices.following_bars(tx, prices.resolve_symbol(tx.conn, slots[rule.symbol]), begins, due_at, now))
    found = by_rule(rule, level, there, due_at, now)
    if found is None:
        return None
    return str(found[0]).lower(), found[1], "bars", f"{rule.test.replace('_', ' ')} {level:g}"


def _reopen(tx: Tx, run_id: str) -> None:
    """The bars that answered it are gone: it waits for others."""
    _set(tx, run_id, state="open", outcome=None, closed_at=None, closed_by=None, note=None)
    due.remind(tx, ANSWER, run_id, stamp(tx.clock()))


def _close(tx: Tx, run_id: str, outcome: str, at: str, by: str, note: str | None) -> None:
    state = "expired" if outcome == VOID else "resolved"
    _set(tx, run_id, state=state, outcome=outcome, closed_at=at, closed_by=by, note=note)
    due.cancel(tx, ANSWER, run_id)


def _set(tx: Tx, run_id: str, **values: Any) -> None:
    where = (decision_rows.c.owner == tx.owner, decision_rows.c.run_id == run_id)
    now = stamp(tx.clock())
    results.keep_former(tx, tx.conn.execute(select(decision_rows).where(*where)).one(), now)
    tx.conn.execute(update(decision_rows).where(*where).values(values | {"known_at": now}))


# Queries


def _slots(tx: Tx, run_id: str) -> Mapping[str, Any]:
    query = select(run_rows.c.card).where(run_rows.c.owner == tx.owner, run_rows.c.id == run_id)
    found: Mapping[str, Any] = stored_json.load_json(tx.conn.execute(query).scalar() or "{}")
    return found
