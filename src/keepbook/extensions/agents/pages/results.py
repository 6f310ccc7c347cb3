"""`/results/trade-decisions`: what the agents decided, how it turned out, and whether their conviction means anything.

Under ten resolved decisions there are no figures and no plot, and the page says so. The book decides whether a decision
may be looked at again or marked exited; the page offers only what the book would accept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
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
"""How many decisions one page lists."""
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
        """The slots of the second looks that ended in a card."""
        return [look.card.slots for look in self.looks if look.card is not None]

    @property
    def failed(self) -> Run | None:
        """The last look, if it failed."""
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
        """The convictions, drawn on the whole scale from 0 to 100, so that a small change looks small."""
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
        """Whether this is a trade; a decision to WAIT is none."""
        return self.decision.action in SIDES

    @property
    def outcome(self) -> str:
        one = self.decision
        if one.outcome == "expired" and not self.trades:
            return "Waited until it expired"
        said = OUTCOMES.get(one.outcome or "", "Closed")
        if one.outcome == "exited" and one.exit_price is not None:
            return f"{said} at {plain_number(one.exit_price)}"
        return said


def results_page(
    visit: Visit, *, exiting: str | None = None, typed: str | None = None, wrong: Invalid | None = None
) -> Response:
    """The page. `exiting` is the id of the decision whose form is open, `typed` the text in its field, `wrong` why that
    was refused."""
    query = visit.request.query_params
    told = _results_context(
        visit, query.get("agent", "")[:200],
        page=number_of(query.get("page", "1")), open_page=number_of(query.get("open", "1")),
    )  # fmt: skip
    told |= {
        "exiting": exiting or query.get("exit"),
        "typed": typed,
        "wrong": wrong,
        "exited": visit.book.decisions.find(query.get("exited", "")),
        "figure": plain_number,
        "signed": cards.signed_number,
        "share": whole_percent,
        "tone": _tone,
        "regimes": REGIMES,
        "regime_bars": REGIME_BARS,
    }
    return visit.page("results.html", 422 if wrong else 200, **told)


def _results_context(visit: Visit, agent: str, *, page: int, open_page: int) -> dict[str, Any]:
    """The values for the template that the decisions of an agent give, or of all agents if there is none of that id."""
    book = visit.book
    traders = [one for one in book.agents.list() if book.agents.cards.find(one.card_type).follow]
    chosen = next((one for one in traders if one.id == agent), None)
    whose = None
    if chosen is not None:
        whose = chosen.id
    followed = [name for name, one in book.agents.cards.types.items() if one.follow]
    counts = book.decisions.count(agent=whose, card_types=followed)
    closed_in_all = counts["resolved"] + counts["expired"]
    pages, open_pages = count_pages(closed_in_all), count_pages(counts["open"])
    page, open_page = min(page, pages), min(open_page, open_pages)
    told: dict[str, Any] = {"agent": whose, "card_types": followed, "limit": PAGE}
    opened = book.decisions.list(state="open", offset=(open_page - 1) * PAGE, **told)
    closed = book.decisions.list(state=CLOSED, offset=(page - 1) * PAGE, **told)
    found = book.decisions.calibration(whose)
    return {
        "desks": traders,
        "due": book.decisions.count(forecasts=True)["due"],
        "chosen": chosen,
        "open": _rows(visit, opened),
        "closed": _rows(visit, closed),
        "closed_in_all": closed_in_all,
        "open_in_all": counts["open"],
        "open_page": open_page,
        "open_pages": open_pages,
        "since": book.decisions.first_resolved(whose),
        "page": page,
        "pages": pages,
        "found": found,
        "plot": plot(found.bands) if found.enough else None,
        "groups": [("Agent", found.by_agent), ("Symbol", found.by_symbol), ("Regime", found.by_regime)],
    }


def _rows(visit: Visit, decisions: Sequence[Decision]) -> list[DecisionRow]:
    agent_names = names(visit, {one.agent_id for one in decisions})
    looks = visit.book.runs.looks_at([one.run_id for one in decisions])
    return [DecisionRow(one, agent_names[one.agent_id], tuple(looks[one.run_id])) for one in decisions]


def plot(bands: Sequence[Band]) -> Reliability:
    """The chart of the bands that have enough decisions for a share."""
    return reliability(
        [
            (one.stated, one.share, one.interval, one.count)
            for one in bands
            if one.share is not None and one.interval is not None
        ]
    )


def count_pages(entries: int) -> int:
    """How many pages of `PAGE` entries it takes; an empty list has one page too."""
    return max(1, ceil(entries / PAGE))


def number_of(text: str) -> int:
    """The number of a page as it stands in an address; 1 if that is no number."""
    if text.isascii() and text.isdecimal() and len(text) < 8:
        return max(int(text), 1)
    return 1


def whole_percent(value: float | None) -> str:
    """A fraction in whole percent; a dash if there are too few to say."""
    if value is None:
        return "—"
    return f"{100 * value:.0f}\N{NO-BREAK SPACE}%"


def _tone(value: float | None) -> str:
    """The CSS class that colours a figure by its sign."""
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
    """Store that the person got out of an open trade, at this price."""
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
