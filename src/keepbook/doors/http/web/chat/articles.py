"""The turns of a chat as HTML, most of them cached.

A turn never changes. If nothing is attached to it (no slip, no pencil, no version, only the usual buttons), it looks
the same whenever it is shown, so its HTML is cached; a chat of two hundred turns then costs hardly more than one of
two. An incognito chat is never cached.
"""

from collections.abc import Callable, Sequence
from typing import Any

from markupsafe import Markup

from keepbook.book.ground.when import in_zone
from keepbook.doors.http.web.chat.chat_view import ChatView, TurnView
from keepbook.doors.http.web.frame.visit import Visit, templates

MOST = 2_000
"""How many are kept."""

_MADE: dict[tuple[Any, ...], str] = {}


def turns_of(visit: Visit, talked: ChatView, shown: Sequence[TurnView], seen: Any, refused: int) -> Markup:
    """The HTML of these turns, the last of the chat, with the days that begin among them."""
    article, day_of = _articles(visit, talked, seen, refused), templates.get_template("chat_day.html")
    earlier = talked.turns[: len(talked.turns) - len(shown)]
    last = in_zone(earlier[-1].message.at, visit.zone).date() if earlier else None
    pieces: list[str] = []
    for turn in shown:
        day = in_zone(turn.message.at, visit.zone).date()
        if day != last:
            pieces.append(day_of.render(at=turn.message.at, zone=visit.zone, now=visit.now))
        last = day
        pieces.append(article(turn))
    return Markup("".join(pieces))  # noqa: S704 templates escape


def _articles(visit: Visit, talked: ChatView, seen: Any, refused: int) -> Callable[[TurnView], str]:
    """What makes a turn's piece of the page, or has it."""
    if talked.thread is None:
        raise ValueError("a chat that has not begun has no turns")
    template, thread = templates.get_template("chat_turn.html"), talked.thread
    pressed = {talked.editable, talked.repeatable, seen.message.turn if seen else None}
    same = (thread.id, talked.partner is not None, visit.book.zone)

    def made(turn: TurnView) -> str:
        told = {"talked": talked, "thread": thread, "turn": turn, "seen": seen, "refused": refused}
        return template.render(visit=visit, zone=visit.zone, now=visit.now, **told)

    def article(turn: TurnView) -> str:
        one = turn.message
        told = turn.slips or turn.lines or turn.skipped or turn.questions or turn.heeded or turn.asks_off
        hangs = told or turn.of or one.broke_off or one.recorders or one.turn in pressed
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
