"""`/trading`: the pages of skills, deployments and trades.

A deployment has a page with figures, equity, coming events with the open positions they touch, lessons, and trades.
`forms` has the forms of these pages.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from keepbook.doors.http.web.frame.visit import Visit, Visiting
from keepbook.doors.http.web.frame.written import read_events
from keepbook.errors import KeepbookError
from keepbook.extensions.trading.book.lessons import Lesson
from keepbook.extensions.trading.book.reflection import Outcome, reflection_in_words
from keepbook.extensions.trading.book.skills import FIELDS, Deployment, Skill
from keepbook.extensions.trading.pages import view

router: APIRouter = APIRouter(include_in_schema=False)

HOME = "/trading"
HOURS, LEAST = 72, 0.4
"""How many hours ahead events are shown, and the least importance of those."""
RECENT, A_PAGE = 6, 50  # trades on a deployment's page, and on a page of all its trades
COUNTED = ("no", "one", "two", "three", "four", "five", "six")
OUTCOMES = ("new", "changed", "back", "unchanged", "withdrawn", "pinned", "unsupported", "retired", "not_kept")
DONE = {
    "promote": "Pinned. It stays as it is, and chats about this skill are told it.",
    "demote": "Unpinned. The next reflection may say it anew.",
    "forget": "Retired. A later reflection does not bring it back.",
    "restore": "Put back.",
}
"""The toast after a person has changed a lesson, by the action in the ledger."""
WORDS: dict[str, Any] = {
    "price": view.price,
    "money": view.signed_money,
    "percent": view.signed_percent,
    "plain_percent": view.plain_percent,
    "tone": view.tone,
    "worth": view.worth,
    "reason": view.reason,
    "returned": view.trade_return,
}


@dataclass(frozen=True, slots=True)
class TradingDone:
    """What a form has just done; a post to `action`, with `field` set to `value`, undoes it."""

    words: str
    action: str = ""
    field: str = ""
    value: str = ""
    label: str = "Undo"


# What a form has put into the address


def encode_reflection(trades: int, tried: int, whats: Sequence[str]) -> str:
    """The outcome of a reflection, short enough for an address: `67.14.new2.changed1`."""
    counts = [f"{what}{whats.count(what)}" for what in OUTCOMES if what in whats]
    return ".".join([str(trades), str(tried), *counts])


def reflection_done(visit: Visit) -> TradingDone | None:
    """The reflection that led to this page, in words, with a way to undo all of it; None if there was none."""
    trades, _, rest = visit.request.query_params.get("reflected", "").partition(".")
    tried, *counts = rest.split(".")
    if not all(part.isascii() and part.isdecimal() and len(part) < 10 for part in (trades, tried)):
        return None
    outcomes: list[Outcome] = []
    for part in counts:
        what = part.rstrip("0123456789")
        times = part[len(what) :]
        if what not in OUTCOMES or not 0 < len(times) < 4:
            return None
        outcomes += [Outcome(what, None, None)] * int(times)
    words, events = reflection_in_words(int(trades), int(tried), outcomes), _events(visit)
    if events:
        return TradingDone(words, f"{HOME}/undo", "events", events)
    return TradingDone(words)


def _events(visit: Visit) -> str:
    """The ledger entries in the address, as `first-last`; "" if there are none that can be undone."""
    try:
        first, last = read_events(visit.request.query_params.get("events", ""))
    except KeepbookError:
        return ""
    return f"{first}-{last}"


def done_from_address(visit: Visit) -> TradingDone | None:
    """What was just done to a lesson (`?event=311`), or that a reflection was taken back (`?events=311-315`)."""
    asked = visit.request.query_params
    event, events = asked.get("event", ""), _events(visit)
    if events and "reflected" not in asked:
        return TradingDone("Undone. The lessons are as they were.", f"{HOME}/undo", "events", events, "Redo")
    if not (event.isascii() and event.isdecimal() and len(event) < 16):
        return None
    found = visit.book.ledger(after=int(event) - 1, before=int(event) + 1, limit=1)
    if found and found[0].action in DONE:
        return TradingDone(DONE[found[0].action], "/undo", "event", event)
    return None


# Reading


def deployment_row(visit: Visit, deployment: Deployment) -> view.DeploymentRow:
    trading = visit.book.trading
    found, points = trading.performance(deployment=deployment.id), trading.equity(deployment=deployment.id)
    return view.DeploymentRow(
        deployment, running(visit, deployment), found, view.spark(points, deployment.capital or 0.0)
    )


def running(visit: Visit, deployment: Deployment) -> bool:
    return deployment.ended_at is None or deployment.ended_at > visit.now


def lessons_context(visit: Visit, **which: str) -> dict[str, Any]:
    """The active lessons, and those that were retired or withdrawn, which a toggle shows."""
    found: Sequence[Lesson] = visit.book.trading.lessons(**which, state="all")
    shown = [view.learnt(one) for one in found]
    return {
        "lessons": [one for one in shown if one.lesson.state == "active"],
        "put_away": [one for one in shown if one.lesson.state != "active"],
        "reflection": reflection_done(visit),
        "outcome": done_from_address(visit),
    }


@router.get(HOME)
def home(visit: Visiting) -> Response:
    trading = visit.book.trading
    rows = [deployment_row(visit, one) for one in trading.deployments()]
    skills: list[tuple[Skill, list[view.DeploymentRow]]] = [
        (skill, [one for one in rows if one.deployment.skill_id == skill.id]) for skill in trading.skills()
    ]
    return visit.page("trading.html", skills=skills, **WORDS)


@router.get(f"{HOME}/skills/{{id}}")
def one_skill(visit: Visiting, id: str) -> Response:
    trading = visit.book.trading
    skill = trading.skill(id)
    history = trading.field_history(skill.id)
    fields = [(field, [one for one in history if one.field == field]) for field in FIELDS]
    found, rows = (
        trading.performance(skill=skill.id),
        [deployment_row(visit, one) for one in trading.deployments(skill.id)],
    )
    return visit.page(
        "trading_skill.html", skill=skill, fields=fields, rows=rows, found=found, totals=view.total_figures(found),
        where={one.deployment.id: one.deployment.name for one in rows},
        **lessons_context(visit, skill=skill.id), **WORDS,
    )  # fmt: skip


@router.get(f"{HOME}/{{id}}")
def one(visit: Visiting, id: str, parts: bool = False) -> Response:
    """The page of a deployment; with `parts` also where its results come from, which takes longer."""
    trading = visit.book.trading
    deployment = trading.deployment(id)
    found, is_running = trading.performance(deployment=deployment.id), running(visit, deployment)
    coming = trading.events(lookahead_hours=HOURS, min_importance=LEAST, deployment=deployment.id)
    recent = trading.trades(deployment=deployment.id, limit=RECENT)
    drawn = view.draw_equity(
        trading.equity(deployment=deployment.id), found, deployment.started_at, visit.now, visit.zone,
        ended=not is_running,
    )  # fmt: skip
    return visit.page(
        "trading_one.html",
        deployment=deployment,
        running=is_running,
        found=found,
        totals=view.total_figures(found),
        more=view.more_totals(found),
        parts=trading.breakdown(deployment=deployment.id) if parts else None,
        drawn=drawn,
        lately=view.lately(found),
        ahead=view.ahead(coming, visit.now, visit.zone),
        hours=HOURS,
        minutes=visit.book.settings.impact_minutes,
        holdings=holdings(visit, deployment),
        trades=recent.items,
        trades_in_all=recent.total,
        counted=COUNTED,
        where={},
        **lessons_context(visit, deployment=deployment.id),
        **WORDS,
    )


def holdings(visit: Visit, deployment: Deployment) -> list[view.Holding]:
    positions = visit.book.trading.positions(deployment.id)
    last = {symbol: visit.kb.market.recent(symbol, limit=1) for symbol in {one.symbol for one in positions}}
    return [view.Holding(one, last[one.symbol][0].close if last[one.symbol] else None) for one in positions]


@router.get(f"{HOME}/{{id}}/trades")
def all_trades(visit: Visiting, id: str, before: str = "") -> Response:
    """Every closed trade, a page at a time; `before` is where the last page ended."""
    trading = visit.book.trading
    deployment = trading.deployment(id)
    page = trading.trades(deployment=deployment.id, limit=A_PAGE, cursor=before[:300] or None)
    return visit.page(
        "trading_trades.html", deployment=deployment, trades=page.items, total=page.total, next=page.next,
        before=before, found=trading.performance(deployment=deployment.id), **WORDS,
    )  # fmt: skip
