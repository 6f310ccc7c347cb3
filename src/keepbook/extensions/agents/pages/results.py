"""`/results/trade-decisions`: what the agents decided, how it turned out, and whether their conviction means anything.

Under ten resolved decisions there are no figures and no plot: the page says so. Whether a decision may be looked at
again or marked exited the book decides; the page only does not offer what would be refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Form
from fastapi.responses import Response

from keepbook.doors.http.web.frame.charts import ChartCurve, curve
from keepbook.doors.http.web.frame.numbers import plain_number
from keepbook.doors.http.web.frame.visit import Changing, Visit, Visiting, own_path
from keepbook.errors import Invalid
from keepbook.extensions.agents.book.calibration import Band
from keepbook.extensions.agents.book.decisions import CLOSED, SIDES, Decision
from keepbook.extensions.agents.book.outcomes.regime import REGIME_BARS
from keepbook.extensions.agents.book.runs import Run
from keepbook.extensions.agents.pages import cards
from keepbook.extensions.agents.pages.agents import names
from keepbook.extensions.agents.pages.charts import Reliability, reliability

router: APIRouter = APIRouter(include_in_schema=False)

HOME = "/results/trade-decisions"
PAGE = 25
REGIMES = {"trend_up": "Trend up", "trend_down": "Trend down", "chop": "Sideways", "unknown": "Not known"}
OUTCOMES = {
    "target": "Target touched",
    "stop": "Stopped",
    "time": "Closed at its expiry",
    "exited": "You marked it exited",
    "expired": "Expired, never filled",
}


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """A decision with its second looks, oldest first."""

    decision: Decision
    agent: str
    looks: tuple[Run, ...]

    @property
    def scored(self) -> list[dict[str, Any]]:
        """What those said that came to an end."""
        return [look.card.slots for look in self.looks if look.card is not None]

    @property
    def failed(self) -> Run | None:
        """The last look, where it failed."""
        if self.looks and self.looks[-1].status == "failed":
            return self.looks[-1]
        return None

    @property
    def busy(self) -> bool:
        return any(look.status in ("queued", "running") for look in self.looks)

    @property
    def convictions(self) -> tuple[float, ...]:
        stated = () if self.decision.conviction is None else (self.decision.conviction,)
        return (*stated, *(slots["conviction_score"] for slots in self.scored))

    @property
    def line(self) -> ChartCurve | None:
        """Against the whole scale: a small change shall look small."""
        if len(self.convictions) > 1:
            return curve(self.convictions, low=0, high=100)
        return None

    @property
    def advice(self) -> str | None:
        if self.scored:
            return str(self.scored[-1]["suggested_action"])
        return None

    @property
    def trades(self) -> bool:
        """Whether it holds something, or would: a WAIT does not."""
        return self.decision.action in SIDES

    @property
    def outcome(self) -> str:
        one = self.decision
        if one.outcome == "expired" and not self.trades:
            return "Waited until it expired"
        said = OUTCOMES.get(one.outcome or "", "Closed")
        priced = one.outcome == "exited" and one.exit_price is not None
        if priced:
            return f"{said} at {plain_number(one.exit_price or 0)}"
        return said


def results_page(
    visit: Visit, *, exiting: str | None = None, typed: str | None = None, wrong: Invalid | None = None
) -> Response:
    """The page; `exiting` names the open decision whose form is open, `typed` what stands in its field."""
    asked = visit.request.query_params
    told = _results_context(
        visit, asked.get("agent", "")[:200], number_of(asked.get("page", "1")), number_of(asked.get("open", "1"))
    )
    told |= {
        "exiting": exiting or asked.get("exit"),
        "typed": typed,
        "wrong": wrong,
        "exited": visit.book.decisions.find(asked.get("exited", "")),
        "figure": plain_number,
        "signed": cards.signed_number,
        "share": whole_percent,
        "tone": _tone,
        "regimes": REGIMES,
        "regime_bars": REGIME_BARS,
    }
    if wrong:
        return visit.page("results.html", 422, **told)
    return visit.page("results.html", 200, **told)


def _results_context(visit: Visit, agent: str, number: int, open_number: int) -> dict[str, Any]:
    book = visit.book
    desks = [one for one in book.agents.list() if book.agents.cards.find(one.card_type).follow]
    chosen = next((one for one in desks if one.id == agent), None)
    whose = None
    if chosen is not None:
        whose = chosen.id
    followed = [name for name, one in book.agents.cards.types.items() if one.follow]
    counts = book.decisions.count(agent=whose, card_types=followed)
    over = counts["resolved"] + counts["expired"]
    pages, open_pages = max(1, -(-over // PAGE)), max(1, -(-counts["open"] // PAGE))
    number, open_number = min(number, pages), min(open_number, open_pages)
    told: dict[str, Any] = {"agent": whose, "card_types": followed, "limit": PAGE}
    open_ones = book.decisions.list(state="open", offset=(open_number - 1) * PAGE, **told)
    shown = book.decisions.list(state=CLOSED, offset=(number - 1) * PAGE, **told)
    found = book.decisions.calibration(whose)
    return {
        "desks": desks,
        "due": book.decisions.count(forecasts=True)["due"],
        "chosen": chosen,
        "open": _rows(visit, open_ones),
        "closed": _rows(visit, shown),
        "closed_in_all": over,
        "open_in_all": counts["open"],
        "open_page": open_number,
        "open_pages": open_pages,
        "since": book.decisions.first_resolved(whose),
        "page": number,
        "pages": pages,
        "found": found,
        "plot": plot(found.bands) if found.enough else None,
        "groups": [("Agent", found.by_agent), ("Symbol", found.by_symbol), ("Regime", found.by_regime)],
    }


def _rows(visit: Visit, found: Sequence[Decision]) -> list[DecisionRow]:
    named = names(visit, {one.agent_id for one in found})
    looks = visit.book.runs.looks_at([one.run_id for one in found])
    return [DecisionRow(one, named[one.agent_id], tuple(looks[one.run_id])) for one in found]


def plot(bands: Sequence[Band]) -> Reliability:
    """Only of bands with enough in them for a share."""
    told = ((one.stated, one.share, one.interval, one.count) for one in bands)
    return reliability([(at, part, span, count) for at, part, span, count in told if part is not None and span])


def number_of(text: str) -> int:
    if text.isascii() and text.isdecimal() and len(text) < 8:
        return max(int(text), 1)
    return 1


def whole_percent(value: float | None) -> str:
    """A fraction in whole percent; a dash if there are too few to say."""
    if value is None:
        return "—"
    return f"{100 * value:.0f}\N{NO-BREAK SPACE}%"


def _tone(value: float | None) -> str:
    """The class that colours a figure; its sign says the same."""
    if value is None or abs(value) < 0.005:
        return "faint"
    if value > 0:
        return "gain"
    return "loss"


@router.get("/results")
def home(visit: Visiting) -> Response:
    """To what waits for an answer; else to the kind of result that there is."""
    forecasts = visit.book.decisions.count(forecasts=True)
    none_else = not any(visit.book.decisions.count(forecasts=False).values())
    if forecasts["due"] or (none_else and any(forecasts.values())):
        return visit.back("/results/forecasts")
    return visit.back(HOME)


@router.get(HOME)
def show(visit: Visiting) -> Response:
    return results_page(visit)


@router.post(f"{HOME}/{{id}}/exit")
def mark_exited(
    visit: Changing, id: str, price: Annotated[str, Form()] = "", back: Annotated[str, Form()] = ""
) -> Response:
    """The person got out of an open decision, at this price."""
    book = visit.writing()
    try:
        book.decisions.exit(id, _price(price))
    except Invalid as error:
        return results_page(visit, exiting=id, typed=price, wrong=error)
    if back:
        return visit.back(own_path(back), exited=id)
    return visit.back(f"{HOME}#d-{id}", exited=id)


def _price(typed: str) -> float:
    try:
        return float(typed.strip())
    except ValueError:
        raise Invalid("say at which price, a number such as 176.20", field="price") from None
