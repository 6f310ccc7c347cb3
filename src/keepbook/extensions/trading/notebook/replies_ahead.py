"""Replies about what lies ahead: coming events and what they may do to open positions, open positions, and drafts.

Nothing is carried out here: a draft is words, and its person does it or leaves it. Everything comes from the data of
the tools; for a sentence that is about something else these functions return None.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from keepbook.extensions.trading.notebook.intents import ABOUT_TRADING, Intent, tickers
from keepbook.extensions.trading.notebook.phrases import say
from keepbook.extensions.trading.notebook.replies import (
    MOST_AT_ONCE,
    NamedTarget,
    is_target_named,
    may_be_ours,
    targets_named_in,
)
from keepbook.extensions.trading.tools import local_time, percent_with_sign
from keepbook.models.notebook.reply.talk import ReplyContext, refusal_in_words
from keepbook.patterns import regex
from keepbook.tools.definition import ToolAnswer

LONGEST_LOOK = 72  # hours ahead
_DAYS = regex(r"\b(?:days|weeks?|weekend|months?|tage|woche|días|semana|dager|uken?)\b", re.IGNORECASE)
_NEXT_DAY = regex(r"\b(?:tomorrow|48|morgen|mañana|i morgen)\b", re.IGNORECASE)
_AMOUNT = regex(
    r"\b(?P<number>\d{1,4}) ?(?P<unit>hours?|h|days?|weeks?|stunden?|tagen?|horas?|días?|timer?|dager?)\b",
    re.IGNORECASE,
)
_KINDS = {
    "change": regex(r"\b(?:chang|mov|adjust|rais|lower|switch|tighten|widen)\w*\b", re.IGNORECASE),
    "resume": regex(r"\b(?:resum|restart|unpaus|continu)\w*\b", re.IGNORECASE),
    "reduce": regex(r"\b(?:reduc|trim|halv)\w*\b|\bcut(?:ting)?\b|\bscal(?:e|ing)\b", re.IGNORECASE),
    "close": regex(r"\b(?:clos|exit|flatten|sell)\w*\b|\bget(?:ting)? out\b", re.IGNORECASE),
    "pause": regex(r"\b(?:paus|stop|halt|suspend)\w*\b", re.IGNORECASE),
}
_PART = regex(r"\b(?:half|a third|a quarter|part|some)\b|\d ?%", re.IGNORECASE)
_REASON = regex(r"\b(?:because(?: of)?|since|due to|(?=before\b))\s*(?P<reason>.+)$", re.IGNORECASE)
_HOW = regex(r"\b(?P<how>(?:by|to) .+|half|a third|a quarter|\d[\d.,]* ?%)", re.IGNORECASE)
_COMING_FOR = regex(
    r"\b(?:coming(?: up)?|upcoming|ahead|scheduled|calendar|agenda|schedule) (?:for|in|on|at|with|of)\b(?P<what>.+)$",
    re.IGNORECASE,
)
_EVENT_KINDS = {
    "fomc": regex(r"\b(?:fomc|fed(?:eral reserve)?|rates?(?: decision)?)\b", re.IGNORECASE),
    "rates": regex(r"\brates?(?: decision)?\b", re.IGNORECASE),
    "cpi": regex(r"\b(?:cpi|inflation|consumer prices)\b", re.IGNORECASE),
    "inflation": regex(r"\b(?:inflation|consumer prices)\b", re.IGNORECASE),
    "nfp": regex(r"\b(?:nfp|(?:non-?farm )?payrolls?|jobs (?:report|data|numbers))\b", re.IGNORECASE),
    "jobs": regex(r"\b(?:jobs (?:report|data|numbers)|payrolls?)\b", re.IGNORECASE),
    **{
        name: regex(rf"\b{name}s?\b", re.IGNORECASE)
        for name in ("ppi", "pce", "ecb", "gdp", "halving", "fork", "upgrade", "unlock", "listing", "delisting",
                     "expiry", "earnings", "airdrop")
    },
}  # fmt: skip
"""The kinds of event that a word may stand for; those who load events name kinds as they like."""
_ORDER = regex(
    r"\b(?:paus|stop|halt|suspend|resum|restart|unpaus)\w* (?:(?:my|our|the) )?(?P<name>.+?)"
    r"(?:,? (?:please|now|again|today|tonight|tomorrow|for|until|till|before|because|since|due|over|during|after)\b"
    r".*)?$",
    re.IGNORECASE,
)
_PLACES = regex(
    r"\b(?:skills?|strategy|strategies|bots?|deployments?|desks?|scalper|trading|positions?|trades?|longs?|shorts?|"
    r"exposure)\b",
    re.IGNORECASE,
)
_SIDE = regex(r"\b(?P<side>long|short)s?\b", re.IGNORECASE)


# --- what is coming


def upcoming(talk: ReplyContext, intent: Intent) -> str | None:
    """The coming events, and what they may do to open positions."""
    if not talk.tools.has("get_upcoming_events"):
        return say(talk, "no_trading")
    text = intent.sentence or talk.text
    if (about := _COMING_FOR.search(text)) and not may_be_ours(talk, about["what"]):
        return None
    kinds = [name for name, pattern in _EVENT_KINDS.items() if pattern.search(text)]
    asked = _hours(text) or (LONGEST_LOOK if kinds else 24)
    hours = min(LONGEST_LOOK, asked)
    told: dict[str, Any] = {"lookahead_hours": hours} | ({"types": kinds} if kinds else {})
    exposed = [row for row in _deployments(talk) if row.get("positions")]
    symbols = tickers(text)
    if symbols:
        told["symbols"] = sorted(word.upper() for word in symbols)
        exposed = [row for row in exposed if any(_base(one) in symbols for one in row["positions"])]
    exposed = exposed[:MOST_AT_ONCE]
    answers = [_ask_events(talk, told | {"deployment_id": row["id"]}) for row in exposed]
    answers = answers or [_ask_events(talk, told)]
    if any(answer.error or "events" not in (answer.data or {}) for answer in answers):
        return "\n".join(refusal_in_words(answer) if answer.error else answer.text for answer in answers)
    said = [*_coming(talk, answers, exposed, told)]
    return "\n".join([*([say(talk, "furthest", hours=hours)] if asked > hours else []), *said])


def _ask_events(talk: ReplyContext, told: dict[str, Any]) -> ToolAnswer:
    """The coming events. Of a kind that no event here has ever had, there are none."""
    answer = talk.tools.use("get_upcoming_events", **told)
    if "types" not in told or not answer.error or (answer.data or {}).get("field") != "types":
        return answer
    return replace(answer, error=None, data={"events": [], "your_exposure": None})


def _hours(text: str) -> int | None:
    """How far ahead a sentence asks to look, beyond what can be seen too; None where it does not say."""
    if found := _AMOUNT.search(text):
        unit = found["unit"].lower()
        if unit.startswith(("d", "tag")):
            each = 24
        elif unit.startswith("week"):
            each = 7 * 24
        else:
            each = 1
        return max(1, int(found["number"]) * each)
    if _DAYS.search(text):
        return LONGEST_LOOK
    if _NEXT_DAY.search(text):
        return 48
    return None


def _deployments(talk: ReplyContext) -> Sequence[Mapping[str, Any]]:
    if not talk.tools.has("get_my_deployments"):
        return ()
    data = talk.tools.use("get_my_deployments").data
    if isinstance(data, Mapping):
        return data.get("deployments") or ()
    return ()


def _coming(
    talk: ReplyContext, answers: Sequence[ToolAnswer], exposed: Sequence[Mapping[str, Any]], told: Mapping[str, Any]
) -> Iterable[str]:
    first, hours, symbols = answers[0].data, told["lookahead_hours"], {word.lower() for word in told.get("symbols", ())}
    if not first["events"]:
        of_kind = ""
        if "types" in told:
            of_kind = f"{', '.join(told['types']).upper()}: "
        yield of_kind + say(talk, "coming_none", hours=hours)
        yield from _position_lines(talk, exposed)
        return
    yield say(talk, "coming", hours=hours)
    rows = [
        (answer.data.get("deployment") or {}, row)
        for answer in answers
        for row in answer.data["your_exposure"] or ()
        if not symbols or _base(row) in symbols
    ]
    for event in first["events"]:
        when = local_time(event["time"], str(first.get("zone") or "UTC"))
        yield say(talk, "coming_event", when=when, title=event["title"], importance=f"{event['importance']:.2f}")
        for deployment, row in rows:
            if row["event_id"] == event["id"]:
                yield _exposure(talk, str(deployment.get("name", "")), row)
    if symbols and not exposed:
        yield say(talk, "symbol_not_open", what=", ".join(told["symbols"]))
    elif not rows:
        names = ", ".join(str(row["name"]) for row in exposed)
        yield say(talk, "exposed_not", names=names) if exposed else say(talk, "exposed_none")


def _exposure(talk: ReplyContext, name: str, row: Mapping[str, Any]) -> str:
    if row["notional_usd"] is None:
        size = say(talk, "size_unknown")
    else:
        size = f"{row['notional_usd']:,.2f} USD"
    if row["median_abs_move_pct"] is None:
        moves = say(talk, "exposed_few", count=row["similar_events_back"])
    else:
        typical = percent_with_sign(row["median_abs_move_pct"], signed=False)
        worst = percent_with_sign(row["worst_move_pct"])
        moves = say(talk, "exposed_moves", count=row["similar_events_back"], median=typical, worst=worst)
    return f"  · {name}: {row['symbol']} {row['position_side']}, {size}; {moves}"


# --- what is open


def positions_reply(talk: ReplyContext, _: Intent) -> str | None:
    """The open positions of all deployments."""
    if not talk.tools.has("get_my_deployments"):
        return None
    return "\n".join(_position_lines(talk, _deployments(talk)))


def _position_lines(talk: ReplyContext, rows: Iterable[Mapping[str, Any]]) -> list[str]:
    lines = [
        f"- {row['name']}: {one['symbol']} {one['side']} {one['quantity']:.10g} @ {one['entry_price']:.10g}"
        for row in rows
        for one in row.get("positions") or ()
    ]
    if lines:
        return [say(talk, "held"), *lines]
    return [say(talk, "held_none")]


# --- drafts


def draft(talk: ReplyContext, intent: Intent) -> str | None:
    """An action in writing, for the person to do or to leave; nothing is done."""
    if not talk.tools.has("prepare_action"):
        return None
    text = intent.sentence.strip(" .!?")
    kind, rows = _kind(text), _deployments(talk)
    if kind is None or not rows:
        return say(talk, "skills_none") if kind and ABOUT_TRADING.search(text) else None
    if not _is_order(text, rows):
        return None
    symbols, side = tickers(text), _SIDE.search(text)
    symbol, fits = None, []
    if kind in ("close", "reduce") and (symbols or side):
        wanted = None
        if side:
            wanted = side["side"].lower()
        places = [(row, one) for row in rows for one in row["positions"] if _fits(one, symbols, wanted)]
        if not places:
            named = [*sorted(word.upper() for word in symbols), *([wanted] if wanted else [])]
            return say(talk, "draft_not_open", what=" ".join(named))
        fits, symbol = list({row["id"]: row for row, _ in places}.values()), str(places[0][1]["symbol"])
    else:
        named_ids = {
            each.id for each in targets_named_in(text, [NamedTarget(row["id"], row["name"], True) for row in rows])
        }
        by_skill = targets_named_in(text, [NamedTarget(row["id"], row["skill"], True) for row in rows])
        fits = [row for row in rows if row["id"] in (named_ids or {each.id for each in by_skill})]
    if not fits and len(rows) == 1:
        fits = list(rows)
    if len(fits) != 1:
        names = ", ".join(str(row["name"]) for row in fits or rows)
        return say(talk, "draft_which", names=names)
    told = {"kind": kind, "deployment_id": fits[0]["id"], "symbol": symbol, **_terms(talk, kind, text)}
    answer = talk.tools.use("prepare_action", **{name: value for name, value in told.items() if value is not None})
    if answer.error:
        return refusal_in_words(answer)
    made = answer.data["draft"]
    what = ", ".join(f"{one['symbol']} {one['side']} {one['quantity']:.10g}" for one in made["positions"])
    whole = f"{made['kind']} {made['deployment']['name']}{f' ({what})' if what else ''}"
    if made["details"]:
        whole += f", {made['details']}"
    return say(talk, "drafted", what=whole, reason=made["reason"])


def _is_order(text: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether it is for a deployment at all, and not for the music to stop."""
    known = [NamedTarget(row["id"], row[name], True) for row in rows for name in ("name", "skill")]
    order = _ORDER.search(text)
    return bool(
        _PLACES.search(text) or (is_target_named(order["name"], known) if order else targets_named_in(text, known))
    )


def _terms(talk: ReplyContext, kind: str, text: str) -> dict[str, str | None]:
    given = _REASON.search(text)
    rest = (text[: given.start()] if given else text).strip(" ,")
    how = None
    if kind == "reduce":
        how = _HOW.search(rest)
    if how:
        details = how["how"]
    elif kind == "change":
        details = rest
    else:
        details = None
    if given:
        reason = f"{given['reason'][:1].upper()}{given['reason'][1:]}."
    else:
        reason = say(talk, "draft_reason")
    return {"reason": reason, "details": details}


def _kind(text: str) -> str | None:
    """What is to be done: the first verb of it decides."""
    places = {name: found.start() for name, pattern in _KINDS.items() if (found := pattern.search(text))}
    kind = min(places, key=lambda name: places[name], default=None)
    if kind == "close" and _PART.search(text):
        return "reduce"
    return kind


def _fits(position: Mapping[str, Any], symbols: set[str], side: str | None) -> bool:
    return (not symbols or _base(position) in symbols) and side in (None, position["side"])


def _base(position: Mapping[str, Any]) -> str:
    return str(position["symbol"]).split("/")[0].lower()
