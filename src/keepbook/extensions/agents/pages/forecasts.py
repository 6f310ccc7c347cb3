"""`/results/forecasts`: the forecasts, what came true, and whether their percentages mean anything.

Forecasts that are due and unanswered come first, with the three possible answers. One that was recorded from outside is
marked, and scored like the others. The person can record a forecast here too, their own or somebody else's: whoever
made it becomes an agent that is only recorded.
"""

from collections.abc import Iterable, Mapping, Sequence
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
from keepbook.extensions.agents.pages.results import PAGE, count_pages, number_of, plot, whole_percent

router: APIRouter = APIRouter(include_in_schema=False)

HOME = "/results/forecasts"
CAME = {"true": "True", "false": "Not true", "void": "Cannot be told"}
MARKS = {RECORDED_LATER: "Recorded later", SELF_GRADED: "Graded by the forecaster", BROUGHT_IN: "Late"}
FORECAST = "forecast"
"""The card type of forecasts that are recorded on this page."""
MYSELF = "Me"
CURVE_FROM = 20
"""How many resolved forecasts it takes for a curve; with fewer there is only the table."""
DRAWN = 8
"""How many of the last stated probabilities the history chart shows."""
ANSWERS: dict[str, bool | str | None] = {"yes": True, "no": False, "void": None}
SERIES_TITLES = {
    WITNESSED: "Witnessed",
    BROUGHT_IN: "Brought in, not witnessed",
    SELF_GRADED: "Graded by the forecaster",
    RECORDED_LATER: "Recorded later",
}


class SeriesChart(NamedTuple):
    """The calibration of one series of forecasts; `plot` is None below `CURVE_FROM`."""

    name: str
    title: str
    found: Calibration
    plot: Reliability | None


StatedProbability = tuple[datetime, float, float | None, str]
"""When, the probability in percent, the conviction (of a second look), and its notes."""


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
        """The stated probability, and that of every later look, in percent."""
        return tuple(percent for _, percent, _, _ in self.told)

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
        """The stated probability, and that of every later look, in time order."""
        found: list[StatedProbability] = [
            (self.decision.decided_at, 100 * (self.decision.probability or 0.0), None, "")
        ]
        for look in self.looks:
            if look.card is None or look.card.slots.get("probability") is None:
                continue
            slots = look.card.slots
            at = look.made_at or look.finished_at or look.created_at
            score = None
            if slots.get("conviction_score") is not None:
                score = float(slots["conviction_score"])
            found.append((at, 100 * slots["probability"], score, str(slots.get("notes") or "")))
        return found

    def drawn(self, visit: Visit) -> HistoryChart:
        """The last stated probabilities as a picture."""
        today = visit.now.astimezone(visit.zone).date()

        def day(at: datetime) -> str:
            then = in_zone(at, visit.zone).date()
            if then == today:
                return "today"
            return f"{then.day} {then:%b}"

        return history_chart([(day(at), said, score) for at, said, score, _ in self.told[-DRAWN:]])

    @property
    def in_words(self) -> str:
        """What the picture shows, for people who cannot see it."""
        words = f"Probability {', '.join(f'{one:.0f}' for one in self.said)} percent"
        if not self.convictions:
            return words
        return f"{words}; sure to {', '.join(f'{one:.0f}' for one in self.convictions)}"

    @property
    def came(self) -> str:
        return CAME.get(self.decision.outcome or "", "")

    @property
    def mark(self) -> str:
        """The remark on a forecast that counts in a series of its own; empty for one that was witnessed."""
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
    """What was typed into the form of a new forecast, and what is wrong with it."""

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
    """The page. `answering` is the id of the forecast whose form is open, `wrong` and `typed` are for that form;
    `draft` is for the form of a new forecast."""
    query, book = visit.request.query_params, visit.book
    forecasters = [one for one in book.agents.list() if book.agents.cards.find(one.card_type).forecast]
    chosen = next((one for one in forecasters if one.id == query.get("agent", "")), None)
    whose = None
    if chosen is not None:
        whose = chosen.id
    counts = book.decisions.count(agent=whose, forecasts=True)
    closed_in_all = counts["resolved"] + counts["expired"]
    pages, open_pages = count_pages(closed_in_all), count_pages(counts["open"])
    page = min(number_of(query.get("page", "1")), pages)
    open_page = min(number_of(query.get("open", "1")), open_pages)
    told: dict[str, Any] = {"agent": whose, "forecasts": True, "limit": PAGE}
    opened = list(book.decisions.list(state="open", offset=(open_page - 1) * PAGE, by_due=True, **told))
    closed = book.decisions.list(state=CLOSED, offset=(page - 1) * PAGE, **told)
    answering = answering or query.get("resolve")
    opened += _open_beside(visit, opened, (answering, query.get("history")))
    rows = _rows(visit, [*opened, *closed])
    open_rows, closed_rows = rows[: len(opened)], rows[len(opened) :]
    due, later = [], []
    for one in open_rows:
        if one.decision.run_id == answering or _is_due(one.decision, visit):
            due.append(one)
        else:
            later.append(one)
    if draft is None and "record" in query:
        draft = ForecastDraft(by=chosen.name if chosen else MYSELF)
    scores = book.decisions.calibration(whose, forecasts=True)
    series = _series(visit, whose, scores)
    since = None
    if pages == 1:
        since = min((one.closed_at for one in closed if one.closed_at), default=None)
    return visit.page(
        "forecasts.html", 422 if wrong or (draft and draft.error) else 200, desks=forecasters, chosen=chosen,
        counts=counts, due=due, open=later, found=scores, closed=closed_rows, closed_in_all=closed_in_all, page=page,
        pages=pages, open_page=open_page, open_pages=open_pages, wrong=wrong, answering=answering, typed=typed or {},
        share=whole_percent, came=CAME, curve_from=CURVE_FROM, plot=_plot_if_enough(scores), series=series,
        empty_plot=reliability([]), answered=book.decisions.find(query.get("answered", "")), draft=draft,
        recorded=book.decisions.find(query.get("recorded", "")),
        history=_forecast_to_draw(rows, open_rows, query.get("history", "")),
        next_due=min((one.expires for one in opened if one.expires and one.expires > visit.now), default=None),
        since=since,
    )  # fmt: skip


def _open_beside(visit: Visit, opened: Sequence[Decision], ids: Iterable[str | None]) -> list[Decision]:
    """The open forecasts among `ids` that this page does not list: what the address names is shown on every page."""
    missing = {id for id in ids if id} - {one.run_id for one in opened}
    found = (visit.book.decisions.find(id) for id in sorted(missing))
    return [one for one in found if one is not None and one.state == "open"]


def _plot_if_enough(scores: Calibration) -> Reliability | None:
    if scores.resolved < CURVE_FROM:
        return None
    return plot(scores.bands)


def _series(visit: Visit, whose: str | None, witnessed: Calibration) -> list[SeriesChart]:
    """The series that have enough resolved forecasts for figures, the witnessed one first."""
    found = []
    for name, title in SERIES_TITLES.items():
        scores = witnessed
        if name != WITNESSED:
            if witnessed.resolved_by_series.get(name, 0) < ENOUGH:
                continue
            scores = visit.book.decisions.calibration(whose, forecasts=True, series=name)
        if scores.enough:
            found.append(SeriesChart(name, title, scores, plot=_plot_if_enough(scores)))
    return found


def _forecast_to_draw(rows: Sequence[ForecastRow], opened: Sequence[ForecastRow], asked: str) -> ForecastRow | None:
    """The forecast whose history is drawn: the one asked for, or else the first open one, among those with a second
    look."""
    candidates = [row for row in rows if row.decision.run_id == asked]
    candidates += opened
    return next((row for row in candidates if len(row.told) > 1), None)


def forecast_to_answer(visit: Visit, one: Decision | None) -> ForecastRow | None:
    """The forecast of this decision, where it is past its date and nobody has answered it."""
    if one is None or one.probability is None or one.state != "open" or not _is_due(one, visit):
        return None
    return _rows(visit, [one])[0]


def _is_due(one: Decision, visit: Visit) -> bool:
    return one.expires is not None and one.expires <= visit.now


def _rows(visit: Visit, found: Sequence[Decision]) -> list[ForecastRow]:
    """The decisions as rows of the page, with the agents' names, cards and second looks."""
    ids = [one.run_id for one in found]
    agent_names, types = names(visit, {one.agent_id for one in found}), visit.book.agents.cards
    runs, looks = visit.book.runs.several(ids), visit.book.runs.looks_at(ids)
    rows = []
    for one in found:
        card, kind = runs[one.run_id].card, types.find(one.card_type)
        slots: dict[str, Any] = {}
        if card is not None:
            slots = card.slots
        first_text = next((value for value in slots.values() if isinstance(value, str)), kind.title)
        row = ForecastRow(
            decision=one, agent=agent_names[one.agent_id], question=str(slots.get("question") or first_text),
            choices=possible_outcomes(kind, slots), looks=tuple(looks[one.run_id]), kind=kind, slots=slots,
        )  # fmt: skip
        rows.append(row)
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
    """Store how a forecast came out, for the first time or in place of an earlier answer."""
    book = visit.writing()
    try:
        said = ANSWERS.get(outcome, outcome)
        at, why_early = known.strip() or None, early.strip() or None
        book.decisions.answer(id, said, at=at, note=note.strip() or None, settled_early=why_early)
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
    """Record a forecast that was made elsewhere, or by the person."""
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
    """A typed percentage, such as `70 %`, as a share of 1."""
    try:
        percent = float(typed.replace("%", "").replace(",", ".").strip())
    except ValueError:
        percent = -1
    if not 0 <= percent <= 100:
        raise Invalid("say how likely in percent, a number such as 70", field="probability")
    return round(percent / 100, 6)


def _due(typed: str) -> str:
    """A typed date or time; a date alone means the end of that day."""
    if not typed.strip():
        raise Invalid("say by when it is decided", field="resolves_by")
    if len(typed.strip()) == len("2026-01-01"):
        return f"{typed.strip()}T23:59:59"
    return typed.strip()


def _source(visit: Visit, name: str) -> str:
    """The id of the agent who made a recorded forecast: the one of that name, or a new one that is only recorded."""
    book = visit.writing()
    known = next((one for one in book.agents.list() if one.name.casefold() == name.casefold()), None)
    if known is None:
        return book.agents.create(name, adapter="external", card_type=FORECAST).id
    if known.card_type != FORECAST:
        raise Invalid(f"{known.name} makes no forecasts of this kind; take another name", field="by")
    return known.id
