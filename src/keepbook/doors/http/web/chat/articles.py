"""The turns of a chat as HTML, most of them cached.

A turn never changes. If nothing is attached to it (no version, only the usual buttons), it looks the same whenever it
is shown, so its HTML is cached; a chat of two hundred turns then costs hardly more than one of two. An incognito chat
is never cached. What came of a turn stands beside it, in its exchange; what is asked, under the reply that asks it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Any

from markupsafe import Markup

from keepbook.book.ground.when import in_zone
from keepbook.doors.http.web.chat.chat_view import ChatView, Exchange, TurnView
from keepbook.doors.http.web.frame.visit import Visit, templates
from keepbook.models.notebook.open_questions import OpenQuestion

MOST = 2_000
"""How many are kept."""

_MADE: dict[tuple[Any, ...], str] = {}


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A question that has just got its answer by button: it stays where it stood, with the chosen row."""

    question: OpenQuestion
    choice: str
    events: tuple[int, ...]
    """The ledger entries that the answer wrote, oldest first. Its Undo takes all of them back."""


@dataclass(frozen=True, slots=True)
class ExchangePiece:
    """An exchange and the HTML of its turns; the time of a day that begins with it, if one does."""

    exchange: Exchange
    articles: list[Markup]
    day: datetime | None = None


def turns_of(visit: Visit, talked: ChatView, shown: Sequence[Exchange], seen: Any, refused: int) -> Markup:
    """The HTML of these exchanges, the last of the chat, with the days that begin among them."""
    if shown:
        first = shown[0].number
    else:
        first = 0
    earlier = [turn for turn in talked.turns if turn.number < first]
    last = None
    if earlier:
        last = in_zone(earlier[-1].message.at, visit.zone).date()
    days: list[datetime | None] = []
    for exchange in shown:
        at = exchange.turns[0].message.at
        if in_zone(at, visit.zone).date() == last:
            days.append(None)
        else:
            days.append(at)
        last = in_zone(exchange.turns[-1].message.at, visit.zone).date()
    return _exchanges(visit, talked, shown, seen, refused, days=days)


def exchanges_again(visit: Visit, talked: ChatView, shown: Sequence[Exchange], **told: Any) -> Markup:
    """The HTML of exchanges that something came of: an answer, an undo."""
    return _exchanges(visit, talked, shown, None, told.pop("refused", 0), **told)


def _exchanges(
    visit: Visit,
    talked: ChatView,
    shown: Sequence[Exchange],
    seen: Any,
    refused: int,
    *,
    days: Sequence[datetime | None] = (),
    **told: Any,
) -> Markup:
    """Exchanges as pieces of the page: their turns, with what stands in the margin and below. All of them in one
    template: to begin one, and take up its parts, costs more than to show an exchange."""
    article = _articles(visit, talked, seen, refused, told.get("answered"))
    pieces = [
        ExchangePiece(one, [Markup(article(turn, one)) for turn in one.turns], day)  # noqa: S704 templates escape
        for one, day in zip_longest(shown, days)
    ]
    around = {"visit": visit, "zone": visit.zone, "now": visit.now, "talked": talked, "refused": refused, **told}
    html = templates.get_template("chat_exchanges.html").render(thread=talked.thread, pieces=pieces, **around)
    return Markup(html)  # noqa: S704 templates escape


def _articles(
    visit: Visit, talked: ChatView, seen: Any, refused: int, answered: AnsweredQuestion | None
) -> Callable[[TurnView, Exchange], str]:
    """What makes a turn's piece of the page, or has it."""
    if talked.thread is None:
        raise ValueError("a chat that has not begun has no turns")
    template, thread = templates.get_template("chat_turn.html"), talked.thread
    pressed = {*talked.editable, talked.repeatable, seen.message.turn if seen else None}
    same = (thread.id, talked.partner is not None, visit.book.zone)

    def made(turn: TurnView, exchange: Exchange | None = None) -> str:
        told = {"talked": talked, "thread": thread, "turn": turn, "seen": seen, "refused": refused}
        told |= {"exchange": exchange, "answered": answered}
        return template.render(visit=visit, zone=visit.zone, now=visit.now, **told)

    def article(turn: TurnView, exchange: Exchange) -> str:
        one = turn.message
        if turn is exchange.reply and (exchange.questions or answered):
            return made(turn, exchange)
        hangs = turn.of or one.broke_off or one.recorders or one.turn in pressed
        if hangs or thread.incognito:
            return made(turn)
        key = (*same, one.turn, one.role, turn.by, one.at, one.text, turn.note is not None)
        piece = _MADE.get(key)
        if piece is None:
            if len(_MADE) >= MOST:
                _MADE.clear()
            piece = _MADE[key] = made(turn)
        return piece

    return article
