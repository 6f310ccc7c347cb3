"""`/results/forecasts`: what was said to be likely, what came true, and whether the percentages mean anything.

What is due and unanswered stands first, with the three answers there are. A forecast of an agent here and one that was
recorded from outside are told apart by their mark, and scored alike. The person can record one here too, of their own
or of somebody else's: whoever said it becomes an agent that is only recorded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Form
from fastapi.responses import Response

from keepbook.book.ground.when import in_zone
from keepbook.doors.http.web.frame.charts import ChartCurve, curve
from keepbook.doors.http.web.frame.visit import Changing, Visit, Visiting, own_path
from keepbook.errors import Invalid, KeepbookError
from keepbook.extensions.agents.book.calibration import ENOUGH, Calibration
from keepbook.extensions.agents.book.cards import CardType
from keepbook.extensions.agents.book.decisions import CLOSED, Decision
from keepbook.extensions.agents.book.forecasts import possible_outcomes
from keepbook.extensions.agents.book.outcomes.series import BROUGHT_IN, RECORDED_LATER, SELF_GRADED, WITNESSED
from keepbook.extensions.agents.book.runs import Run
from keepbook.extensions.agents.book.scoring.forms import MAIN_SCORE, form_of, score_forecast
from keepbook.extensions.agents.book.scoring.proper_scores import brier
from keepbook.extensions.agents.pages.agents import names
from keepbook.extensions.agents.pages.charts import HistoryChart, Reliability, history_chart, reliability
from keepbook.extensions.agents.pages.results import PAGE, number_of, plot, whole_percent

router: APIRouter = APIRouter(include_in_schema=False)

HOME = "/results/forecasts"
CAME = {"true": "True", "false": "Not true", "void": "Cannot be told"}
MARKS = {RECORDED_LATER: "Recorded later", SELF_GRADED: "Graded by the forecaster", BROUGHT_IN: "Late"}
FORECAST = "forecast"
"""The card type of those that are recorded on the page."""
MYSELF = "Me"
CURVE_FROM = 20
"""From how many resolved forecasts on a curve is drawn; before, the table says what there is."""
DRAWN = 8
"""So many of the last figures are drawn."""
ANSWERS: dict[str, bool | str | None] = {"yes": True, "no": False, "void": None}


SERIES_TITLES = {
    WITNESSED: "Witnessed",
    BROUGHT_IN: "Brought in, not witnessed",
    SELF_GRADED: "Graded by the forecaster",
    RECORDED_LATER: "Recorded later",
}


class SeriesChart(NamedTuple):
    """One series of forecasts, and how it is drawn, from twenty on."""

    name: str
    title: str
    found: Calibration
    plot: Reliability | None


StatedProbability = tuple[datetime, float, float | None, str]


@dataclass(frozen=True, slots=True)
class ForecastRow:
    """A forecast with its second looks, oldest first."""

    decision: Decision
    agent: str
    question: str
    choices: tuple[str, ...]
    looks: tuple[Run, ...]
    kind: CardType
    slots: Mapping[str, Any]

    @property
    def asks_number(self) -> bool:
        """Whether a number answers it."""
        return self.kind.forecast is not None and self.kind.forecast.quantiles is not None

    @property
    def said(self) -> tuple[float, ...]:
        """The probability that was stated, and every one that a later look stated, in percent."""
        stated = self.decision.probability or 0.0
        later = (one.card.slots.get("probability") for one in self.looks if one.card is not None)
        return tuple(100 * one for one in (stated, *later) if one is not None)

    @property
    def convictions(self) -> tuple[float, ...]:
        return tuple(one.card.slots["conviction_score"] for one in self.looks if one.card is not None)

    @property
    def line(self) -> ChartCurve | None:
        if len(self.said) > 1:
            return curve(self.said, low=0, high=100)
        return None

    @property
    def second(self) -> ChartCurve | None:
        if len(self.convictions) > 1:
            return curve(self.convictions, low=0, high=100)
        return None

    @property
    def told(self) -> list[StatedProbability]:
        """When what was said: the probability in percent, the conviction of a second look, and its words."""
        found: list[StatedProbability] = [
            (self.decision.decided_at, 100 * (self.decision.probability or 0.0), None, "")
        ]
        for look in self.looks:
            if look.card is not None:
                slots = look.card.slots
            else:
                slots = {}
            if slots.get("probability") is not None:
                at = look.made_at or look.finished_at or look.created_at
                score = None
                if slots.get("conviction_score") is not None:
                    score = float(slots["conviction_score"])
                found.append((at, 100 * slots["probability"], score, str(slots.get("notes") or "")))
        return found

    def drawn(self, visit: Visit) -> HistoryChart:
        """The last of it as a picture."""
        today = visit.now.astimezone(visit.zone).date()

        def day(at: datetime) -> str:
            then = in_zone(at, visit.zone).date()
            if then == today:
                return "today"
            return f"{then.day} {then:%b}"

        return history_chart([(day(at), said, score) for at, said, score, _ in self.told[-DRAWN:]])

    @property
    def in_words(self) -> str:
        """What the picture shows."""
        said, scores = (", ".join(f"{one:.0f}" for one in some) for some in (self.said, self.convictions))
        return f"Probability {said} percent" + (f"; sure to {scores}" if scores else "")

    @property
    def came(self) -> str:
        return CAME.get(self.decision.outcome or "", "")

    @property
    def mark(self) -> str:
        """What is said of one that counts apart."""
        return MARKS.get(self.decision.series, "")

    @property
    def brier(self) -> str:
        one = self.decision
        if one.late or one.outcome not in ("true", "false") or one.probability is None:
            return "not scored"
        told = self.kind.forecast
        if told is None:
            return f"{brier(one.probability, one.outcome == 'true'):.3f}"
        scores = score_forecast(told, self.slots, one.probability, one.outcome, one.came_to)
        main: float = getattr(scores, MAIN_SCORE[form_of(told)])
        return f"{main:.3f}"


@dataclass(frozen=True, slots=True)
class ForecastDraft:
    """What stands in the form of a new forecast, and what is wrong with it."""

    by: str = ""
    question: str = ""
    likely: str = ""
    due: str = ""
    made: str = ""
    reason: str = ""
    error: KeepbookError | None = None


def forecasts_page(
    visit: Visit,
    *,
    answering: str | None = None,
    wrong: Invalid | None = None,
    typed: Mapping[str, str] | None = None,
    draft: ForecastDraft | None = None,
) -> Response:
    """The page; `answering` names the forecast whose form is open, `draft` what is about to be recorded."""
    asked, book = visit.request.query_params, visit.book
    desks = [one for one in book.agents.list() if book.agents.cards.find(one.card_type).forecast]
    chosen = next((one for one in desks if one.id == asked.get("agent", "")), None)
    whose = None
    if chosen is not None:
        whose = chosen.id
    counts = book.decisions.count(agent=whose, forecasts=True)
    closed_in_all = counts["resolved"] + counts["expired"]
    pages, open_pages = (max(1, -(-many // PAGE)) for many in (closed_in_all, counts["open"]))
    number, open_number = (
        min(number_of(asked.get("page", "1")), pages),
        min(number_of(asked.get("open", "1")), open_pages),
    )
    told: dict[str, Any] = {"agent": whose, "forecasts": True, "limit": PAGE}
    opened = list(book.decisions.list(state="open", offset=(open_number - 1) * PAGE, by_due=True, **told))
    closed = book.decisions.list(state=CLOSED, offset=(number - 1) * PAGE, **told)
    answering = answering or asked.get("resolve")
    # What the address names is shown whatever the page.
    beside = {id for id in (answering, asked.get("history")) if id} - {one.run_id for one in opened}
    for id in sorted(beside):
        one = book.decisions.find(id)
        if one is not None and one.state == "open":
            opened.append(one)
    rows = _rows(visit, [*opened, *closed])
    is_due = [one for one in rows[: len(opened)] if _is_due(one.decision, visit) or one.decision.run_id == answering]
    shown = {one.decision.run_id for one in is_due}
    if draft is None and "record" in asked:
        if chosen:
            draft = ForecastDraft(by=chosen.name)
        else:
            draft = ForecastDraft(by=MYSELF)
    scores = book.decisions.calibration(whose, forecasts=True)
    series = _series(visit, whose, scores)
    since = None
    if pages == 1:
        since = min((one.closed_at for one in closed if one.closed_at), default=None)
    return visit.page(
        "forecasts.html", 422 if wrong or (draft and draft.error) else 200, desks=desks, chosen=chosen, counts=counts,
        due=is_due, open=[one for one in rows[: len(opened)] if one.decision.run_id not in shown], found=scores,
        closed=rows[len(opened) :], closed_in_all=closed_in_all, page=number, pages=pages, open_page=open_number,
        open_pages=open_pages, wrong=wrong, answering=answering, typed=typed or {},
        share=whole_percent, came=CAME, curve_from=CURVE_FROM,
        plot=plot(scores.bands) if scores.resolved >= CURVE_FROM else None, series=series, empty_plot=reliability([]),
        answered=book.decisions.find(asked.get("answered", "")), draft=draft,
        recorded=book.decisions.find(asked.get("recorded", "")),
        history=_forecast_to_draw(rows, rows[: len(opened)], asked.get("history", "")),
        next_due=min((one.expires for one in opened if one.expires and one.expires > visit.now), default=None),
        since=since,
    )  # fmt: skip


def _series(visit: Visit, whose: str | None, witnessed: Calibration) -> list[SeriesChart]:
    """Each series that has enough resolved to say something, what was witnessed first."""
    found = []
    for name, title in SERIES_TITLES.items():
        if name == WITNESSED:
            one = witnessed
        elif witnessed.resolved_by_series.get(name, 0) < ENOUGH:
            continue
        else:
            one = visit.book.decisions.calibration(whose, forecasts=True, series=name)
        if one.enough:
            found.append(SeriesChart(name, title, one, plot(one.bands) if one.resolved >= CURVE_FROM else None))
    return found


def _forecast_to_draw(rows: Sequence[ForecastRow], opened: Sequence[ForecastRow], asked: str) -> ForecastRow | None:
    """The forecast whose history is drawn: the one asked for, else the first open one that has any."""
    named = [row for row in rows if row.decision.run_id == asked]
    return next((row for row in (*named, *opened) if len(row.told) > 1), None)


def forecast_to_answer(visit: Visit, one: Decision | None) -> ForecastRow | None:
    """The forecast of this decision, where it is past its date and nobody has answered it."""
    if one is None or one.probability is None or one.state != "open" or not _is_due(one, visit):
        return None
    return _rows(visit, [one])[0]


def _is_due(one: Decision, visit: Visit) -> bool:
    return one.expires is not None and one.expires <= visit.now


def _rows(visit: Visit, found: Sequence[Decision]) -> list[ForecastRow]:
    ids = [one.run_id for one in found]
    named, types = names(visit, {one.agent_id for one in found}), visit.book.agents.cards
    runs, looks = visit.book.runs.several(ids), visit.book.runs.looks_at(ids)
    rows = []
    for one in found:
        card, kind = runs[one.run_id].card, types.find(one.card_type)
        slots: dict[str, Any] = {}
        if card is not None:
            slots = card.slots
        choices = possible_outcomes(kind, slots)
        question = str(slots.get("question") or next((v for v in slots.values() if isinstance(v, str)), kind.title))
        rows.append(ForecastRow(one, named[one.agent_id], question, choices, tuple(looks[one.run_id]), kind, slots))
    return rows


@router.get(HOME)
def show(visit: Visiting) -> Response:
    return forecasts_page(visit)


@router.post(f"{HOME}/{{id}}/answer")
def answer(
    visit: Changing,
    id: str,
    outcome: Annotated[str, Form()] = "",
    note: Annotated[str, Form()] = "",
    known: Annotated[str, Form()] = "",
    early: Annotated[str, Form()] = "",
    back: Annotated[str, Form()] = "",
) -> Response:
    """The person says how a forecast came out, or says so anew."""
    book = visit.writing()
    try:
        said = ANSWERS.get(outcome, outcome)
        told = {"at": known.strip() or None, "note": note.strip() or None, "settled_early": early.strip() or None}
        book.decisions.answer(id, said, **told)
    except Invalid as error:
        typed = {"note": note, "known": known, "early": early, "outcome": outcome}
        return forecasts_page(visit, answering=id, wrong=error, typed=typed)
    if back:
        return visit.back(own_path(back), answered=id)
    return visit.back(HOME, answered=id)


@router.post(f"{HOME}/record")
def record(
    visit: Changing,
    by: Annotated[str, Form()] = "",
    question: Annotated[str, Form()] = "",
    likely: Annotated[str, Form()] = "",
    due: Annotated[str, Form()] = "",
    made: Annotated[str, Form()] = "",
    reason: Annotated[str, Form()] = "",
) -> Response:
    """The person writes down a forecast that was made elsewhere, or in their own head."""
    book = visit.writing()
    try:
        card: dict[str, Any] = {"question": question.strip(), "probability": _share(likely), "resolves_by": _due(due)}
        if reason.strip():
            card |= {"reason": reason.strip()}
        with book.transaction():
            done = book.decisions.record(_source(visit, by.strip() or MYSELF), card, made_at=made.strip() or None)
    except KeepbookError as error:
        return forecasts_page(visit, draft=ForecastDraft(by, question, likely, due, made, reason, error))
    return visit.back(HOME, recorded=done.run_id)


def _share(typed: str) -> float:
    """In percent, as people say it."""
    try:
        percent = float(typed.replace("%", "").replace(",", ".").strip())
    except ValueError:
        percent = -1
    if not 0 <= percent <= 100:
        raise Invalid("say how likely in percent, a number such as 70", field="probability")
    return round(percent / 100, 6)


def _due(typed: str) -> str:
    """A date means the end of that day."""
    if not typed.strip():
        raise Invalid("say by when it is decided", field="resolves_by")
    if len(typed.strip()) == len("2026-01-01"):
        return f"{typed.strip()}T23:59:59"
    return typed.strip()


def _source(visit: Visit, name: str) -> str:
    """Who said it: an agent with forecasts of that name, else a new one that is only recorded."""
    book = visit.writing()
    known = next((one for one in book.agents.list() if one.name.casefold() == name.casefold()), None)
    if known is None:
        return book.agents.create(name, adapter="external", card_type=FORECAST).id
    if known.card_type != FORECAST:
        raise Invalid(f"{known.name} makes no forecasts of this kind; take another name", field="by")
    return known.id
