"""The resolved forecasts of one series, each with what was stated, what it came to, and its scores.

Decisions that were recorded and forecasts that were brought in are read into one form here, so that every figure is
made from the same. A forecast whose card type is gone is scored as the yes or no that it held to be so.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from types import SimpleNamespace
from typing import Any

from sqlalchemy import select

from keepbook.book.ground import stored_json
from keepbook.book.ground.when import in_zone, parse_stamp
from keepbook.extensions.agents.book.cards import CardTypes
from keepbook.extensions.agents.book.cards.types import CardType, Forecast
from keepbook.extensions.agents.book.outcomes.series import BROUGHT_IN, counted_from, series_of
from keepbook.extensions.agents.book.scoring.forms import YES_NO, ForecastScores, form_of, score_forecast
from keepbook.extensions.agents.tables import brought_forecasts, runs
from keepbook.storage.database import Tx

AT_ONCE = 500
"""How many ids one SELECT asks for at most."""
_PLAIN = Forecast(due="due", probability="probability")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedForecast:
    """A forecast that came true or not. Two with one `question` ask the same; `began` is when it begins to count."""

    agent_id: str
    form: str
    question: tuple[str, ...]
    began: str
    due: str
    closed_at: str
    probability: float
    came: bool
    came_to: str | None
    model: str | None
    prompt_version: str | None
    tags: tuple[str, ...]
    scores: ForecastScores

    def day(self, zone: tzinfo) -> str:
        """The day on which it came out. One that was answered after its date came out on its date."""
        return in_zone(parse_stamp(min(self.closed_at, self.due)), zone).date().isoformat()


def brought_rows(tx: Tx, agent_id: str | None = None, known_at: str | None = None) -> list[Any]:
    """The brought-in forecasts with an outcome, with the columns of a decision that was recorded too late."""
    row = brought_forecasts.c
    query = select(brought_forecasts).where(row.owner == tx.owner, row.outcome.in_(("true", "false")))
    if agent_id is not None:
        query = query.where(row.agent_id == agent_id)
    if known_at is not None:
        query = query.where(row.answered_at <= known_at)
    return [
        SimpleNamespace(
            run_id=f"{one.agent_id}/{one.key}", agent_id=one.agent_id, card_type=one.card_type, decided_at=one.made_at,
            recorded_at=one.answered_at, expires=one.expires, probability=one.probability, claim=one.claim,
            state="resolved", outcome=one.outcome, came_to=one.came_to, closed_at=one.closed_at, closed_by="agent",
            card=one.card, model=one.model, prompt_version=one.prompt_version, event=_event_of(one.card),
        )
        for one in tx.conn.execute(query)
    ]  # fmt: skip


def _event_of(card: str) -> str | None:
    event: str | None = stored_json.load_json(card).get("event")
    return event


def resolved_forecasts(tx: Tx, cards: CardTypes, rows: Sequence[Any]) -> list[ResolvedForecast]:
    """Rows of resolved forecasts, with what their cards say."""
    told = _cards_of_runs(tx, [row.run_id for row in rows if not hasattr(row, "card")])
    found = []
    for row in rows:
        if hasattr(row, "card"):
            source = row
        else:
            source = told[row.run_id]
        slots: Mapping[str, Any] = stored_json.load_json(source.card)
        kind = cards.find(row.card_type)
        found.append(_to_resolved(kind, row, slots, source.model, source.prompt_version))
    return found


def _to_resolved(
    kind: CardType, row: Any, slots: Mapping[str, Any], model: str | None, version: str | None
) -> ResolvedForecast:
    """A row of a decision, or of a brought-in forecast, with its scores."""
    told = kind.forecast or _PLAIN
    if row.came_to is None:
        form = YES_NO
    else:
        form = form_of(told)
    return ResolvedForecast(
        agent_id=row.agent_id,
        form=form,
        question=tuple(_question_of(kind, told, slots)),
        began=row.decided_at if series_of(row) == BROUGHT_IN else counted_from(row),
        due=row.expires or row.closed_at,
        closed_at=row.closed_at,
        probability=row.probability,
        came=row.outcome == "true",
        came_to=row.came_to,
        model=model,
        prompt_version=version,
        tags=tuple(dict.fromkeys(slots.get("tags") or ())),
        scores=score_forecast(told, slots, row.probability, row.outcome, row.came_to),
    )


def _question_of(kind: CardType, told: Forecast, slots: Mapping[str, Any]) -> Iterator[str]:
    """What was asked, by whichever agent: the question, or else all required slots beside the forecast itself."""
    if told.claim is not None:
        yield str(slots.get(told.claim))
    if "question" in slots:
        yield " ".join(str(slots["question"]).split()).casefold()
        return
    forecast = (told.probability, told.classes, told.quantiles, told.claim, told.due)
    for slot in kind.slots:
        if slot.required and slot.name not in forecast:
            yield f"{slot.name}={slots.get(slot.name)}"


def _cards_of_runs(tx: Tx, run_ids: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for start in range(0, len(run_ids), AT_ONCE):
        query = select(runs.c.id, runs.c.card, runs.c.model, runs.c.prompt_version).where(
            runs.c.owner == tx.owner, runs.c.id.in_(run_ids[start : start + AT_ONCE])
        )
        found |= {row.id: row for row in tx.conn.execute(query)}
    return found
