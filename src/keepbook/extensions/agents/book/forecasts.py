"""Forecasts: cards that state how likely something is, and that are answered when it is known.

The person answers, or a program by a call, or a rule of the card type that reads the bars; who answered is stored. An
answer is yes, no, or void (it cannot be known), which leaves the forecast out of every score. It is given at the date,
or before with the reason why it is settled. The person may change the answer of a program or a rule. What the forecast
stated never changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import select, update

from keepbook.book.ground import due, stored_json
from keepbook.book.ground.limits import clean_count, clean_optional
from keepbook.book.ground.when import Moment, in_zone, instant, parse_stamp, stamp
from keepbook.book.owners import owners
from keepbook.book.owners.authority import WRITE, Actor
from keepbook.errors import Conflict, Invalid
from keepbook.extensions.agents.authority import RESOLVE
from keepbook.extensions.agents.book import agents, decisions, prices, results
from keepbook.extensions.agents.book.cards import CardTypes
from keepbook.extensions.agents.book.cards.types import BarRule, CardType
from keepbook.extensions.agents.book.decisions import Decision
from keepbook.extensions.agents.book.due_work import ANSWER
from keepbook.extensions.agents.book.outcomes.on_bars import BarAnswer, BarQuestion
from keepbook.extensions.agents.book.outcomes.series import AGENT, BARS, PERSON, RESOLVER
from keepbook.extensions.agents.book.prices import PriceSpan
from keepbook.extensions.agents.book.scoring.forms import parse_class_outcome, parse_number_outcome
from keepbook.extensions.agents.tables import decisions as decision_rows
from keepbook.extensions.agents.tables import runs as run_rows
from keepbook.storage.database import Tx

VOID = "void"
"""The answer that it cannot be known."""
ASKED_AGAIN = timedelta(hours=1)
"""How long after the bars gave no answer they are asked again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DueForecast:
    """A forecast whose date is over and that nobody has answered: what was asked, and the choices where it has some.
    Not what was held to be likely: whoever answers need not know. `note`: why bars could not tell."""

    run_id: str
    agent: str
    card_type: str
    question: str
    asked: Mapping[str, Any]
    choices: tuple[str, ...]
    due: datetime
    note: str | None


# Rules


def parse_outcome(
    card: CardType, slots: Mapping[str, Any], claim: str | None, outcome: object
) -> tuple[str, str | None]:
    """An answer in the stored form (`true`, `false`, `void`), and what it came to if it is a class or a number."""
    told = card.forecast
    if told is None or outcome is None or outcome == VOID:
        return VOID, None
    if told.classes is not None:
        return parse_class_outcome(told, slots, outcome)
    if told.quantiles is not None:
        return parse_number_outcome(told, slots, outcome)
    if told.claim is None:
        if not isinstance(outcome, bool):
            raise Invalid(f'an outcome is true, false or "{VOID}", not {str(outcome)[:40]!r}', field="outcome")
        return str(outcome).lower(), None
    choices = possible_outcomes(card, slots)
    came = None
    if isinstance(outcome, str):
        came = outcome.strip().casefold()
    chosen = next((choice for choice in choices if choice.casefold() == came), None)
    if chosen is None:
        known = ", ".join(choices)
        raise Invalid(f'an outcome is one of {known}, or "{VOID}", not {str(outcome)[:40]!r}', field="outcome")
    return str(chosen == claim).lower(), chosen


def told_by(hand: Actor) -> str:
    """As what an actor answers a forecast: person, resolver or agent. Only an actor whose sole right is to resolve is a
    resolver; any other agent may be the forecaster itself."""
    if hand.is_person:
        return PERSON
    is_resolver = RESOLVE in hand.scopes and WRITE not in hand.scopes and hand.agent is None
    if is_resolver:
        return RESOLVER
    return AGENT


def refuse_early(decision: Decision, settled_early: str | None, now: str, zone: str) -> None:
    """Raise if a forecast would be answered before its date without a reason why it is settled."""
    if decision.state == "open" and settled_early is None and decision.expires and now < stamp(decision.expires):
        due_on = in_zone(decision.expires, ZoneInfo(zone))
        raise Invalid(
            f"this is due on {due_on.day} {due_on:%B %Y}; to answer it before, say why it is settled",
            field="settled_early",
            code="not_due",
        )


# Operations


def answer_forecast(
    tx: Tx,
    hand: Actor,
    cards: CardTypes,
    run_id: str,
    outcome: object,
    *,
    at: Moment = None,
    note: str | None = None,
    settled_early: str | None = None,
    name: str | None = None,
) -> Decision:
    """Record how a forecast came out; `name` is what the program is called that says so. An answer that exists may be
    changed only by the person."""
    decision = decisions.get_decision(tx, run_id)
    kind = cards.find(decision.card_type)
    told = kind.forecast
    if told is None or decision.probability is None:
        raise Conflict(f"run {run_id} made no forecast; a trade is exited at a price", code="no_forecast")
    by = told_by(hand)
    if decision.state != "open" and by != PERSON:
        raise Conflict("this forecast was answered already; only the person can say otherwise", code="closed")
    kept, came_to = parse_outcome(kind, _slots(tx, run_id), decision.claim, outcome)
    came = None
    if came_to is not None:
        came = f"it was {came_to}"
    now = stamp(tx.clock())
    reason = clean_optional(settled_early, "settled_early", 500) or decision.settled_early
    zone = owners.zone_name(tx)
    refuse_early(decision, reason, now, zone)
    moment = instant(at, field="at", zone=zone) or now
    if not stamp(decision.decided_at) <= moment <= now:
        raise Invalid("it was known between the forecast and now", field="at")
    earlier = None
    if decision.outcome is not None:
        earlier = f"before: {decision.outcome}, said by {decision.closed_by}"
    said = "; ".join(part for part in (came, clean_optional(note, "note", 500), earlier) if part)
    resolver = None
    if by != PERSON:
        resolver = name or hand.agent or hand.token
    _close(tx, run_id, kept, moment, by, note=said or None, resolver=resolver, settled_early=reason, came_to=came_to)
    return decisions.get_decision(tx, run_id)


def settle_forecast(tx: Tx, cards: CardTypes, run_id: str) -> bool:
    """Let the card type's rule answer an open forecast; for the sweep. Returns whether it did."""
    decision = decisions.find_decision(tx, run_id)
    if decision is not None and decision.card_type not in cards.types:
        return False  # the file of the card type is missing or broken, and may be there again later
    told = None
    if decision is not None:
        told = cards.find(decision.card_type).forecast
    if decision is None or decision.state != "open" or told is None or told.rule is None:
        due.cancel(tx, ANSWER, run_id)
        return False
    slots = _slots(tx, run_id)
    symbol, level, due_at = slots.get(told.rule.symbol), slots.get(told.rule.level), slots.get(told.due)
    if symbol is None or level is None or due_at is None:  # an optional slot was left out, so the person must answer
        due.cancel(tx, ANSWER, run_id)
        return False
    found = _ask_bars(tx, decision, told.rule, slots, due_at)
    if found is None:
        return False
    if found.came is None:
        if decision.note != found.why_not:  # it waits for the person, or for other bars
            _set(tx, run_id, note=found.why_not)
        due.remind(tx, ANSWER, run_id, stamp(tx.clock() + ASKED_AGAIN))
        return False
    _close_on_bars(tx, run_id, told.rule, slots, found)
    return True


def resolve_all_anew(tx: Tx, cards: CardTypes, spans: Sequence[PriceSpan]) -> int:
    """Follow trades and answer forecasts anew after bars came late, were corrected or removed; returns how many have
    another result."""
    changed = sum(decisions.resolve_anew(tx, run_id) for run_id in results.touched_by(tx, spans))
    return changed + sum(_answer_again(tx, cards, run_id) for run_id in results.answered_by_bars(tx, spans))


def _answer_again(tx: Tx, cards: CardTypes, run_id: str) -> bool:
    """Answer a forecast that bars have answered anew, or open it again. Returns whether its outcome has changed."""
    decision = decisions.get_decision(tx, run_id)
    told = cards.find(decision.card_type).forecast
    if told is None or told.rule is None:
        return False
    slots = _slots(tx, run_id)
    found = _ask_bars(tx, decision, told.rule, slots, slots[told.due])
    if found is None or found.came is None:
        _reopen(tx, run_id, None if found is None else found.why_not)
        return True
    before = (decision.outcome, stamp(decision.closed_at or decision.decided_at), decision.gap)
    if before == (str(found.came).lower(), found.at, found.gap):
        return False
    _close_on_bars(tx, run_id, told.rule, slots, found)
    return True


def _ask_bars(tx: Tx, decision: Decision, rule: BarRule, slots: Mapping[str, Any], due_at: str) -> BarAnswer | None:
    """The answer of the bars since the forecast was recorded; None while later bars may still decide it."""
    begins = stamp(max(decision.recorded_at or decision.decided_at, decision.decided_at))
    symbol = prices.resolve_symbol(tx.conn, slots[rule.symbol])
    return BarQuestion(tx, rule, symbol, float(slots[rule.level]), begins, due_at, stamp(tx.clock())).answer()


def _close_on_bars(tx: Tx, run_id: str, rule: BarRule, slots: Mapping[str, Any], found: BarAnswer) -> None:
    note = f"{rule.test.replace('_', ' ')} {float(slots[rule.level]):g}"
    if found.gap is not None:
        note += "; no, with a gap: of a part of that time there are no bars"
    _close(tx, run_id, str(found.came).lower(), found.at, BARS, note=note, gap=found.gap)


def _reopen(tx: Tx, run_id: str, why: str | None) -> None:
    """Open a forecast again, because the bars that answered it were corrected or removed."""
    _set(tx, run_id, state="open", note=why)
    due.remind(tx, ANSWER, run_id, stamp(tx.clock()))


def _close(tx: Tx, run_id: str, outcome: str, at: str, by: str, **told: str | None) -> None:
    state = "expired" if outcome == VOID else "resolved"
    _set(tx, run_id, state=state, outcome=outcome, closed_at=at, closed_by=by, **told)
    due.cancel(tx, ANSWER, run_id)


def _set(tx: Tx, run_id: str, **values: Any) -> None:
    where = (decision_rows.c.owner == tx.owner, decision_rows.c.run_id == run_id)
    now = stamp(tx.clock())
    results.keep_former(tx, tx.conn.execute(select(decision_rows).where(*where)).one(), now)
    nothing = dict.fromkeys(
        ("outcome", "came_to", "closed_at", "closed_by", "note", "resolver", "settled_early", "gap")
    )
    tx.conn.execute(update(decision_rows).where(*where).values(nothing | values | {"known_at": now}))


# Queries


def due_forecasts(
    tx: Tx, cards: CardTypes, now: str, *, agent_id: str | None = None, limit: int = 100
) -> Sequence[DueForecast]:
    """The forecasts that wait for an answer, the longest waiting first."""
    row = decision_rows.c
    query = select(row.run_id, row.agent_id, row.card_type, row.expires, row.note).where(
        row.owner == tx.owner, row.state == "open", row.probability.isnot(None), row.expires <= now
    )
    if agent_id is not None:
        query = query.where(row.agent_id == agent_id)
    found = tx.conn.execute(query.order_by(row.expires, row.run_id).limit(clean_count(limit, "limit", 1000))).all()
    names = {id: agents.name_of(tx, id) for id in {one.agent_id for one in found}}
    return [_to_due(cards.find(one.card_type), one, names[one.agent_id], _slots(tx, one.run_id)) for one in found]


def _to_due(kind: CardType, row: Any, agent: str, slots: Mapping[str, Any]) -> DueForecast:
    told = kind.forecast
    opinions = () if told is None else (told.probability, told.claim, told.classes, told.quantiles)
    asked = {name: value for name, value in slots.items() if name not in opinions}
    question = asked.get("question") or next((value for value in asked.values() if isinstance(value, str)), kind.title)
    return DueForecast(
        run_id=row.run_id, agent=agent, card_type=row.card_type, question=str(question), asked=asked,
        choices=possible_outcomes(kind, slots), due=parse_stamp(row.expires), note=row.note,
    )  # fmt: skip


def possible_outcomes(kind: CardType, slots: Mapping[str, Any]) -> tuple[str, ...]:
    """The choices or classes of which one is the answer; empty if the answer is yes or no, or a number."""
    told = kind.forecast
    if told is not None and told.classes is not None:
        return tuple(slots[told.classes])
    claim = None
    if told is not None:
        claim = told.claim
    return next((slot.choices for slot in kind.slots if slot.name == claim), ())


def _slots(tx: Tx, run_id: str) -> Mapping[str, Any]:
    query = select(run_rows.c.card).where(run_rows.c.owner == tx.owner, run_rows.c.id == run_id)
    found: Mapping[str, Any] = stored_json.load_json(tx.conn.execute(query).scalar() or "{}")
    return found
