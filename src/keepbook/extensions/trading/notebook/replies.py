"""Replies about trading: the skills, their results, and the lessons of their trades.

Every figure is taken unchanged from a tool's data; what has no figure is left out. A skill is found by the words of its
name; if several fit, or none, the reply says so and lists them. If a sentence turns out to be about something else,
these functions return None, and the notebook goes on with other answers. If a tool has one of these names but data of
another shape, its own text is the reply.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from keepbook.book.text.words import stem, tokens
from keepbook.extensions.trading.notebook.intents import (
    ABOUT_TRADING,
    NICKNAMES,
    Intent,
    about_markets,
    tickers,
    trading_intents,
)
from keepbook.extensions.trading.notebook.phrases import say
from keepbook.extensions.trading.tools import local_time, money_with_currency, percent_with_sign
from keepbook.models.notebook.reply.lookup import find_answers
from keepbook.models.notebook.reply.say import describe_answer
from keepbook.models.notebook.reply.talk import ReplyContext, refusal_in_words
from keepbook.patterns import regex
from keepbook.tools.definition import ToolAnswer

MOST_AT_ONCE = 6
"""How many skills or deployments are in one reply."""
_EXTREMES: Mapping[str, Callable[[Iterable[float]], float]] = {"best": max, "worst": min}
_PERIODS = (
    (regex(r"\b(?:this week|diese woche|esta semana|denne uken?)\b", re.IGNORECASE), "this_week"),
    (
        regex(r"\b(?:(?:last|past) (?:week|7 days|seven days|few days)|lately|recently)\b", re.IGNORECASE),
        "last_7_days",
    ),
    (regex(r"\b(?:this|last|past) (?:month|30 days|four weeks)\b", re.IGNORECASE), "last_30_days"),
    (regex(r"\b(?:yesterday|today|tonight)\b", re.IGNORECASE), "last_7_days"),
)
_ONE_DAY = _PERIODS[-1][0]
"""There are no figures of a single day: the reply gives those of the shortest period, and says so."""
_METRICS = (
    (regex(r"\b(?:win ?rate|hit rate|how (?:often|many) .*\b(?:won|win|wins|right))\b", re.IGNORECASE), "rate"),
    (regex(r"\bdraw ?downs?\b", re.IGNORECASE), "drawdown"),
    (regex(r"\bsharpe\b", re.IGNORECASE), "sharpe"),
    (regex(r"\bprofit factor\b", re.IGNORECASE), "profit_factor"),
    (regex(r"\bexpectancy\b", re.IGNORECASE), "expectancy"),
    (regex(r"\b(?:worst|(?:biggest|largest) los(?:s|ses|ing|ers?)|lost the most)\b", re.IGNORECASE), "worst"),
    (
        regex(r"\b(?:best|(?:biggest|largest) (?:win(?:s|ning|ners?)?|gains?)|won the most)\b", re.IGNORECASE),
        "best",
    ),
)
_LISTED = regex(r"\b(?:last|latest|recent|list|show)\b.*\btrades\b|\blosing trades\b", re.IGNORECASE)
_LOSSES = regex(r"\b(?:los(?:e|es|ing|t|ers?|s|ses)|wrong|mistakes?|down)\b", re.IGNORECASE)
_ONE_OF_ITS_KIND = regex(
    r"\b(?:my|our|the) (?!(?:best|worst|last|whole|trading|other|only|main|average|overall)\b)(?:[\w/&-]+ ){1,4}?"
    r"(?:skill|strategy|bot|scalper|swing|trader|system|setup|deployment|desk)\b",
    re.IGNORECASE,
)
"""Matches a certain skill, such as "my momentum skill"."""
_ALTOGETHER = regex(
    r"\W*(?:\w+\W+)?(?:how (?:much |many )?(?:am i|are we|have (?:i|we)|did (?:i|we)|do (?:i|we)|was i|were we)|"
    r"what (?:did|have) (?:i|we)|(?:am i|are we|did (?:i|we)|have (?:i|we)))\b",
    re.IGNORECASE,
    anchored=True,
)
_LEARNING = regex(r"\b(?:lessons?|learn\w*)\b", re.IGNORECASE)
_LEARNED_OF = regex(
    r"\b(?:learn(?:ed|t)?|tak(?:e|en)|conclude[sd]?)\b.*?\b(?:in|at|about|from|on|of|for)\b(?P<what>.+)$", re.IGNORECASE
)
_OWNED = regex(r"\b(?:my|our|the)\b", re.IGNORECASE)
_DEPLOYMENTS = regex(r"\bdeployments\b", re.IGNORECASE)
_UNOWNED = regex(
    r"how(?:'s|s| is| was| has| did| does) (?!(?:my|our|the|much|many|i|we)\b)(?P<name>.{1,60}?) (?:been )?"
    r"(?:do|doing|going|perform|performing|getting on|holding up|looking|trading|running|faring)\b",
    re.IGNORECASE,
)
"""Matches a question like "How's scalper alt going?". It is about trading only if a skill has that name: it could be
about a friend."""


class NamedTarget(NamedTuple):
    """A skill or a deployment that a sentence may be about."""

    id: str
    name: str
    deployment: bool = False


# --- the tools that are there


def has_trading_tools(talk: ReplyContext) -> bool:
    return any(map(talk.tools.has, ("get_skill_performance", "get_my_deployments", "get_upcoming_events")))


# --- the skill or deployment that is meant


def known_names(talk: ReplyContext) -> list[NamedTarget] | None:
    """The skills and then the deployments; None if no tool lists them."""
    if not talk.tools.has("list_my_skills"):
        return None
    data = talk.tools.use("list_my_skills").data
    if isinstance(data, Mapping):
        rows = data.get("skills", ())
    else:
        rows = ()
    running = [NamedTarget(at["id"], at["name"], True) for row in rows for at in row.get("deployments", ())]
    return [NamedTarget(row["id"], row["name"]) for row in rows] + running


def _words(text: str) -> set[str]:
    return {stem(NICKNAMES.get(word, word)) for word in tokens(text)}


def targets_named_in(text: str, known: Sequence[NamedTarget]) -> list[NamedTarget]:
    """The targets with which the sentence shares most words of their names. If it also names a symbol that is not part
    of the name, it must have the whole name."""
    asked, symbols = _words(text), {stem(word) for word in tickers(text)}
    scored = []
    for each in known:
        own = _words(each.name)
        shared = asked & own
        whole = own <= asked
        if shared and (whole or not symbols - own):
            scored.append((len(shared), not each.deployment, each))
    best = max((score[:2] for score in scored), default=None)
    return [each for *score, each in scored if tuple(score) == best]


def is_target_named(subject: str, known: Sequence[NamedTarget]) -> bool:
    """Whether all words of a subject belong to one name, as those of "scalper alt" belong to "BTC scalper alt"."""
    asked = _words(subject)
    return bool(asked) and any(asked <= _words(each.name) for each in known)


def may_be_ours(talk: ReplyContext, what: str) -> bool:
    """Whether a sentence is about trading, by its words or by a skill's name. Names are looked up last, because that
    calls a tool."""
    return about_markets(what) or (bool(_OWNED.search(what)) and bool(targets_named_in(what, known_names(talk) or ())))


def _names(found: Iterable[NamedTarget]) -> str:
    return ", ".join(sorted(dict.fromkeys(each.name for each in found)))


def _resolve_target(talk: ReplyContext, text: str, known: Sequence[NamedTarget]) -> list[NamedTarget] | str:
    """The targets that a sentence means; or, as a text, why that is not clear."""
    only = [each for each in known if not each.deployment]
    if not only:
        return say(talk, "skills_none")
    found = targets_named_in(text, known)
    if len(found) > 1:
        return f"{say(talk, 'skills_several', names=_names(found))} {talk.say('which_end')}"
    if found:
        return found
    if tickers(text) or _ONE_OF_ITS_KIND.search(text):
        return say(talk, "skills_unknown", names=_names(only))
    return only


def answer_which(talk: ReplyContext) -> str | None:
    """If the text answers our question which one is meant, answer the earlier question for that one; else None."""
    asked = talk.previous
    if asked is None or len(talk.text.split()) > 8 or trading_intents(talk.text, talk.tongue):
        return None
    for intent in trading_intents(asked, talk.tongue):
        if act := {"performance": performance, "learned": lessons_reply}.get(intent.kind):
            return act(talk, intent._replace(sentence=f"{talk.text.strip(' .!?')} {intent.sentence}"))
    return None


# --- results


def performance(talk: ReplyContext, intent: Intent) -> str | None:
    """The results of a skill or a deployment."""
    text = intent.sentence or talk.text
    if not has_trading_tools(talk):
        return _answer_without_trading(talk, intent)
    known = known_names(talk)
    if known is None:
        return _answer_without_tools(talk, intent, text)
    if intent.sentence and not _is_about_trading(text, known):
        return None
    meant = _resolve_target(talk, text, known)
    if isinstance(meant, str):
        return meant
    metrics = {metric for pattern, metric in _METRICS if pattern.search(text)}
    by_time = not metrics or metrics & _EXTREMES.keys()
    said = []
    if by_time and _ONE_DAY.search(text):
        said.append(say(talk, "one_day"))
    listed = bool(_DEPLOYMENTS.search(text)) and not targets_named_in(text, known)
    if talk.tools.has("get_my_deployments") and not metrics and (listed or len(meant) > 1):
        return "\n".join([*said, _all_results(talk, text)])
    return "\n".join([*said, *(_result(talk, each, text, known) for each in meant[:MOST_AT_ONCE])])


def _is_about_trading(text: str, known: Sequence[NamedTarget]) -> bool:
    """Whether a question about results is about trading at all: "How is Rex doing?" may be about a dog."""
    unowned = _UNOWNED.search(text)
    if unowned:
        return is_target_named(unowned["name"], known)
    about = ABOUT_TRADING.search(text) or _ALTOGETHER.match(text) or _ONE_OF_ITS_KIND.search(text)
    return bool(about or tickers(text) or targets_named_in(text, known))


def _answer_without_trading(talk: ReplyContext, intent: Intent) -> str:
    view = talk.view
    found = find_answers(intent.matter, view.hits, (), (), sense=view.sense)
    known = "" if found.empty else describe_answer(found, talk.voice)
    return "\n".join(part for part in (say(talk, "no_trading"), known) if part)


def _answer_without_tools(talk: ReplyContext, intent: Intent, text: str) -> str:
    """The results if no tool lists the skills: the matter of the sentence is taken for the name of one."""
    tools = talk.tools
    if tools.has("get_skill_performance") and intent.matter.strip():
        return tools.use("get_skill_performance", skill_id=intent.matter.strip(), detail=_detail(text)).text
    if tools.has("get_my_deployments"):
        return tools.use("get_my_deployments").text
    return say(talk, "no_trading")


_IN_FULL = regex(r"\b(?:everything|in full|full|whole story|all details)\b")


def _detail(text: str) -> str:
    asked = text.lower()
    if _IN_FULL.search(asked):
        return "full"
    if _LEARNING.search(asked):
        return "lessons"
    return "trades"


def _result(talk: ReplyContext, each: NamedTarget, text: str, known: Sequence[NamedTarget]) -> str:
    answer = _ask_figures(talk, each, _detail(text))
    found = _figures(answer, each)
    if answer.error or found is None:
        return refusal_in_words(answer) if answer.error else answer.text
    figures, more = found["performance"], found
    if not figures["trades"]:
        return " ".join([say(talk, "result_none", name=each.name), *_open(talk, more)])
    zone = str(answer.data.get("zone") or "UTC")
    period = next((name for pattern, name in _PERIODS if pattern.search(text)), None)
    asked = [metric for pattern, metric in _METRICS if pattern.search(text)]
    said = [_metric(talk, each.name, metric, more, zone, period) for metric in asked]
    if not said:
        if period:
            said.append(_period(talk, each.name, figures, period))
        said += [_whole(talk, each.name, figures, named=not period), *_open(talk, more)]
    lines = [" ".join(said)]
    detail = _detail(text)
    if detail in ("lessons", "full"):
        lessons = _lesson_lines(more.get("lessons") or (), known)
        lines += [say(talk, "learned" if lessons else "learned_none", name=each.name), *lessons]
    if detail == "full" or _LISTED.search(text):
        lines += [_trade_line(trade, figures["currency"], zone) for trade in (more.get("trades") or ())[:10]]
    return "\n".join(lines)


def _ask_figures(talk: ReplyContext, each: NamedTarget, detail: str) -> ToolAnswer:
    if each.deployment:
        return talk.tools.use("get_my_deployments", deployment_id=each.id, detail=detail)
    return talk.tools.use("get_skill_performance", skill_id=each.id, detail=detail)


def _figures(answer: ToolAnswer, each: NamedTarget) -> Mapping[str, Any] | None:
    """The part of the data that has the figures; None if the data has another shape than ours."""
    data = answer.data if isinstance(answer.data, Mapping) else {}
    if each.deployment and isinstance(data.get("deployments"), list) and data["deployments"]:
        data = data["deployments"][0]
    if isinstance(data.get("performance"), Mapping):
        return data
    return None


def _all_results(talk: ReplyContext, text: str) -> str:
    """A line for every deployment, in answer to a question about all of them."""
    answer = talk.tools.use("get_my_deployments")
    rows = None
    if isinstance(answer.data, Mapping):
        rows = answer.data.get("deployments")
    if not rows:
        return answer.text
    period = next((name for pattern, name in _PERIODS if pattern.search(text)), None)
    lines = []
    for row in rows[:MOST_AT_ONCE]:
        figures, name = row["performance"], str(row["name"])
        if not figures["trades"]:
            lines.append(say(talk, "result_none", name=name))
        elif period:
            lines.append(_period(talk, name, figures, period))
        else:
            lines.append(_whole(talk, name, figures, named=True))
    if len(rows) > MOST_AT_ONCE:
        lines.append(say(talk, "listing_more", count=len(rows) - MOST_AT_ONCE))
    return "\n".join(lines)


def _period(talk: ReplyContext, name: str, figures: Mapping[str, Any], period: str) -> str:
    part = figures["periods"][period]
    when = say(talk, period)
    if not part["trades"]:
        return say(talk, "result_period_none", name=name, period=when)
    net = _with_share(part["pnl"], part["return_pct"], figures["currency"])
    return say(talk, "result_period", name=name, period=when, trades=part["trades"], wins=part["wins"], net=net)


def _whole(talk: ReplyContext, name: str, figures: Mapping[str, Any], *, named: bool) -> str:
    rest = []
    if figures["max_drawdown_pct"] is not None:
        rest.append(say(talk, "result_drawdown", share=percent_with_sign(figures["max_drawdown_pct"], signed=False)))
    rest += [
        f"{title} {figures[key]:.2f}".replace("-", "−")
        for key, title in (("sharpe", "Sharpe"), ("profit_factor", say(talk, "profit_factor")))
        if figures[key] is not None
    ]
    return say(talk,
        "result_whole" if not named else "result_named", name=name, trades=f"{figures['trades']:,}",
        wins=f"{figures['wins']:,}", rate=percent_with_sign(figures["win_rate"], signed=False),
        net=_with_share(figures["pnl"], figures["return_pct"], figures["currency"]),
        rest=f"; {', '.join(rest)}" if rest else "",
    )  # fmt: skip


def _metric(talk: ReplyContext, name: str, metric: str, more: Mapping[str, Any], zone: str, period: str | None) -> str:
    figures = more["performance"]
    unit = figures["currency"]
    if metric == "rate":
        rate = percent_with_sign(figures["win_rate"], signed=False)
        return say(talk, "result_rate", name=name, wins=figures["wins"], trades=figures["trades"], rate=rate)
    if metric == "drawdown":
        share = figures["max_drawdown_pct"]
        amount = f"{figures['max_drawdown']:,.2f}{f' {unit}' if unit else ''}"
        amount += f" ({percent_with_sign(share, signed=False)})" if share is not None else ""
        return say(talk, "result_deepest", name=name, amount=amount)
    if metric in ("best", "worst"):
        listed, earned = more.get("trades") or (), figures[metric]
        if period and 0 < (count := figures["periods"][period]["trades"]) <= len(listed):
            earned = _EXTREMES[metric](one["pnl"] for one in listed[:count])
            name = f"{name} {say(talk, period)}"
        same = next((one for one in listed if one["pnl"] == earned), None)
        which = f": {_trade_words(same, zone)}" if same else ""
        return say(talk, f"result_{metric}", name=name, net=money_with_currency(earned, unit), which=which)
    value = figures[metric]
    title = "Sharpe" if metric == "sharpe" else say(talk, metric)
    if value is None:
        return say(talk, "result_no_figure", name=name, what=title)
    shown = money_with_currency(value, unit) if metric == "expectancy" else f"{value:.2f}".replace("-", "−")
    return say(talk, "result_figure", name=name, what=title, value=shown)


def _with_share(pnl: float, share: float | None, unit: str | None) -> str:
    return money_with_currency(pnl, unit) + ("" if share is None else f" ({percent_with_sign(share)})")


def _open(talk: ReplyContext, more: Mapping[str, Any]) -> list[str]:
    held = [f"{one['symbol']} {one['side']}" for one in more.get("positions") or ()]
    if held:
        return [say(talk, "result_open", what=", ".join(held[:MOST_AT_ONCE]))]
    return []


def _trade_words(trade: Mapping[str, Any], zone: str) -> str:
    prices = f"{trade['entry_price']:.10g} → {trade['exit_price']:.10g}"
    notes = [trade["entry_regime_tag"], trade["exit_reason"]]
    told = ", ".join(note for note in notes if note)
    closed = local_time(trade["exit_time"], zone)
    return f"{trade['symbol']} {trade['side']}, {prices}, {closed}{f' ({told})' if told else ''}"


def _trade_line(trade: Mapping[str, Any], unit: str | None, zone: str) -> str:
    return f"- {_trade_words(trade, zone)}: {money_with_currency(trade['pnl'], unit)}"


# --- lessons


def lessons_reply(talk: ReplyContext, intent: Intent) -> str | None:
    """The lessons of the trades; for a question about losses only those of losing trades. None if the question is about
    other lessons."""
    text = intent.sentence
    learned_of = _LEARNED_OF.search(text)
    if learned_of and not may_be_ours(talk, learned_of["what"]):
        return None
    known = known_names(talk)
    if known is None or not talk.tools.has("get_skill_performance"):
        return None
    meant = _resolve_target(talk, text, known)
    if isinstance(meant, str):
        return meant
    said = []
    for each in meant[:MOST_AT_ONCE]:
        answer = _ask_figures(talk, each, "lessons")
        found = _figures(answer, each)
        if answer.error or found is None:
            said.append(refusal_in_words(answer) if answer.error else answer.text)
            continue
        every = found.get("lessons") or ()
        lessons = [one for one in every if one["mean_pct"] < 0] if _LOSSES.search(text) else every
        if every and not lessons:
            said.append(say(talk, "losses_none", name=each.name))
            continue
        said.append(say(talk, "learned" if lessons else "learned_none", name=each.name))
        said += _lesson_lines(lessons, known)
    return "\n".join(said)


def _lesson_lines(lessons: Sequence[Mapping[str, Any]], known: Sequence[NamedTarget]) -> list[str]:
    """A line for each lesson. If several have the same text, those of deployments name the deployment."""
    texts = Counter(one["text"] for one in lessons)
    places = {each.id: each.name for each in known if each.deployment}
    return [
        f"- {one['text']}"
        + (f" ({place})" if texts[one["text"]] > 1 and place else "")
        + ("" if one.get("supported", True) else " (corrected trades no longer support it)")
        for one in lessons
        for place in [places.get(one.get("deployment_id") or "")]
    ]


# --- the list of skills


def skills_reply(talk: ReplyContext, _: Intent) -> str | None:
    if not talk.tools.has("list_my_skills"):
        return None
    answer = talk.tools.use("list_my_skills")
    rows = answer.data.get("skills") if isinstance(answer.data, Mapping) else None
    if rows is None:
        return answer.text
    if not rows:
        return say(talk, "skills_none")
    lines = []
    for row in rows:
        where = ", ".join(at["name"] for at in row.get("deployments", ()))
        what = f": {row['description']}" if row.get("description") else ""
        lines.append(f"- {row['name']}{what}{f' ({where})' if where else ''}")
    return "\n".join([say(talk, "skills"), *lines])
