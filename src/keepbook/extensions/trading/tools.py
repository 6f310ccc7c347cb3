"""The tools of trading, for a model that talks with a trader.

Most of them only read: how a skill did, where it runs, which events are coming and what they may do to open positions.
`prepare_action` returns a draft; it does nothing and stores nothing. In the mode `authoring` three more tools write the
fields of a skill, each time as a new version. All parts of one answer are as of one instant. Figures that do not exist
are null in the data and left out of the words; they are never shown as zero.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Annotated, Any, Literal

from pydantic import Field

from keepbook.book.book import Book
from keepbook.book.ground.to_json import Page, to_json
from keepbook.book.ground.when import Moment, parse_stamp, zone_named
from keepbook.errors import Invalid
from keepbook.extensions.trading.book.exposure import LONGEST_LOOK, Coming, Exposure
from keepbook.extensions.trading.book.lessons import Lesson
from keepbook.extensions.trading.book.market.events import event_names_of
from keepbook.extensions.trading.book.market.symbols import market_letters
from keepbook.extensions.trading.book.performance import Performance, PeriodFigures
from keepbook.extensions.trading.book.skills import Deployment, Skill
from keepbook.extensions.trading.book.trades import Position, Trade
from keepbook.tools.catalogue import AUTHORING
from keepbook.tools.definition import READS, Annotations, Tool, ToolAnswer, define

LAST_TRADES = 30  # how many closed trades an answer lists at most
WORDS_CHARS = 24_000
"""The most characters of an answer's words, some 6,000 tokens. Its data is not cut."""

SkillParameter = Annotated[str, "The skill, by its id or name."]
DeploymentParameter = Annotated[str | None, "One deployment, by its id or name; all of them where none is named."]
TextParameter = Annotated[str, "All that it is to say from now on; it replaces what it says now."]
PERIODS = {"this_week": "This week", "last_7_days": "Last 7 days", "last_30_days": "Last 30 days"}


@dataclass(frozen=True, slots=True)
class Report:
    """How a skill or a deployment did. `trades` and `lessons` are None if they were not asked for."""

    performance: Performance
    positions: Sequence[Position]
    trades: Page[Trade] | None
    lessons: Sequence[Lesson] | None

    @property
    def data(self) -> dict[str, Any]:
        data = {"performance": to_json(self.performance), "positions": to_json(self.positions)}
        if self.trades is not None:
            data |= {"trades": to_json(self.trades.items)}
        if self.lessons is not None:
            data |= {"lessons": to_json(self.lessons)}
        return data


def trading_answer(
    book: Book,
    *,
    skill: str | None = None,
    deployment: str | None = None,
    detail: str = "summary",
    known_at: Moment = None,
    currency: str | None = None,
) -> Report:
    """The report on a skill or a deployment, by id. Every part of it is as of one instant."""
    trading, at = book.trading, known_at or book.now
    of: dict[str, Any] = {"skill": skill, "deployment": deployment, "known_at": at}
    if deployment is None:
        deployment_ids = {one.id for one in trading.deployments(skill)}
    else:
        deployment_ids = {deployment}
    trades, lessons = None, None
    if detail in ("trades", "full"):
        trades = trading.trades(**of, limit=LAST_TRADES)
    if detail in ("lessons", "full"):
        lessons = trading.lessons(**of)
    return Report(
        performance=trading.performance(**of, currency=currency),
        positions=[one for one in trading.positions(deployment, known_at=at) if one.deployment_id in deployment_ids],
        trades=trades,
        lessons=lessons,
    )


# Reading


def list_my_skills(book: Book, /) -> ToolAnswer:
    """The person's skills (their strategies), each with what it says and where it runs. Use it to find out which skill
    they mean."""
    found, running = book.trading.skills(), book.trading.deployments()
    lines = [_skill_line(skill, [one for one in running if one.skill_id == skill.id]) for skill in found]
    data = {"skills": [{**to_json(one), "deployments": _names(running, one.id)} for one in found]}
    return ToolAnswer(_join_within_limit(lines or ["There are no skills in this book yet."]), data)


def get_skill_performance(
    book: Book,
    /,
    skill_id: SkillParameter,
    detail: Annotated[
        Literal["summary", "trades", "lessons", "full"],
        "summary: the figures; trades: also the last 30 closed trades; lessons: also what was learned; full: all.",
    ] = "summary",
) -> ToolAnswer:
    """How a skill did, all its deployments taken together: net result, return, Sharpe ratio, drawdown, win rate, profit
    factor, expectancy, this week and the last days. For a question about performance ask for trades, lessons or all."""
    skill = book.trading.skill(skill_id)
    found = trading_answer(book, skill=skill.id, detail=detail)
    data = {
        "skill": {"id": skill.id, "name": skill.name, "description": skill.description},
        "deployments": _names(book.trading.deployments(skill.id), skill.id),
        "zone": book.zone,
    }
    return ToolAnswer(
        _join_within_limit([f"{skill.name} [{skill.id}]", *_report_lines(found, book.zone)]), data | found.data
    )


def get_my_deployments(
    book: Book,
    /,
    deployment_id: DeploymentParameter = None,
    detail: Annotated[
        Literal["list", "trades", "lessons", "full"],
        "list: figures and open positions; trades: also the last 30 closed trades; lessons: also what was learned.",
    ] = "list",
) -> ToolAnswer:
    """Where the person's skills run: account, capital, open positions, results; of one deployment or of all."""
    trading = book.trading
    if deployment_id:
        found = [trading.deployment(deployment_id)]
    else:
        found = list(trading.deployments())
    data, lines = [], []
    for one in found:
        report = trading_answer(book, deployment=one.id, detail=detail)
        data.append(to_json(one) | report.data)
        account = f" on {one.account}" if one.account else ""
        ended = ", ended" if one.ended_at is not None else ""
        lines.append(f"{one.name} [{one.id}]: {one.skill}{account}{ended}")
        lines += _report_lines(report, book.zone)
    return ToolAnswer(
        _join_within_limit(lines or ["There are no deployments in this book yet."]),
        {"deployments": data, "zone": book.zone},
    )


def get_upcoming_events(
    book: Book,
    /,
    lookahead_hours: Annotated[int, Field(ge=1, le=LONGEST_LOOK), f"How far ahead, up to {LONGEST_LOOK}."] = 24,
    types: Annotated[list[str] | None, "Only these kinds of event, such as cpi or fomc."] = None,
    symbols: Annotated[list[str] | None, "Only what touches these, such as BTC/USDT or BTC."] = None,
    min_importance: Annotated[float, Field(ge=0, le=1), "Leave out what matters less, 0 to 1."] = 0.4,
    deployment_id: Annotated[str | None, "With it: what each event may do to its open positions."] = None,
) -> ToolAnswer:
    """Market events that are coming. With a deployment the answer has your_exposure: for each event and open position
    its size and how far the price went after earlier events of the kind. Use it before a word about the days ahead."""
    deployment, id, deployment_json = None, None, None
    if deployment_id:
        deployment = book.trading.deployment(deployment_id)
        id, deployment_json = deployment.id, _deployment_to_json(deployment)
    found = book.trading.events(
        lookahead_hours=lookahead_hours, types=types or (), symbols=symbols or (), min_importance=min_importance,
        deployment=id, known_at=book.now,
    )  # fmt: skip
    data = to_json(found) | {"deployment": deployment_json, "lookahead_hours": lookahead_hours, "zone": book.zone}
    return ToolAnswer(_join_within_limit(_coming(found, lookahead_hours, deployment, book.zone)), data)


def prepare_action(
    book: Book,
    /,
    kind: Annotated[
        Literal["pause", "resume", "close", "reduce", "change"],
        "pause or resume the deployment, close or reduce what is open, or change how it runs.",
    ],
    deployment_id: Annotated[str, "The deployment, by its id or name."],
    reason: Annotated[str, "Why, in a sentence the person can judge."],
    symbol: Annotated[str | None, "For close and reduce: one symbol; all that is open where none is named."] = None,
    details: Annotated[str | None, "By how much to reduce, or what to change and to what."] = None,
) -> ToolAnswer:
    """Draft an action for the person to carry out. It does nothing and keeps nothing, so nothing waits anywhere: show
    the draft, and say that only they can do it. Use it when they ask for an action, or when you propose one."""
    if not reason.strip():
        raise Invalid("reason is empty; say why", field="reason")
    if kind == "change" and not (details or "").strip():
        raise Invalid("details is missing; say what to change, and to what", field="details")
    deployment = book.trading.deployment(deployment_id)
    touched: Sequence[Position] = []
    if kind in ("close", "reduce"):
        touched = _touched_positions(book, deployment, symbol)
        if symbol is not None:
            symbol = touched[0].symbol
    draft = {
        "kind": kind,
        "deployment": _deployment_to_json(deployment),
        "symbol": symbol,
        "positions": to_json(touched),
        "reason": " ".join(reason.split()),
        "details": " ".join(details.split()) if details else None,
        "executed": False,
    }
    what = ", ".join(f"{one.symbol} {one.side} {one.quantity:.10g}" for one in touched)
    words = [f"Draft, not carried out: {kind} {deployment.name}{f' ({what})' if what else ''}."]
    if details:
        words += [f"Details: {draft['details']}"]
    return ToolAnswer("\n".join([*words, f"Reason: {draft['reason']}", "Only the person can do it."]), {"draft": draft})


def _touched_positions(book: Book, deployment: Deployment, symbol: str | None) -> Sequence[Position]:
    """The open positions that a draft is about: those of one symbol, or all. Raises if there is none."""
    held = book.trading.positions(deployment.id)
    wanted = market_letters(symbol or "")
    fits = [one for one in held if not wanted or wanted in event_names_of(one.symbol)]
    if fits:
        return fits
    words = f"{deployment.name} has no open position"
    if wanted:
        words += f" in {symbol}"
    if held:
        words += f"; open are {', '.join(dict.fromkeys(one.symbol for one in held))}"
    raise Invalid(words, field="symbol", code="no_position")


# Writing what a skill says


def set_strategy(book: Book, /, skill_id: SkillParameter, text: TextParameter) -> ToolAnswer:
    """Write a skill's strategy: when it enters and leaves, and how much it risks. Only when the person agreed to these
    words; every earlier version stays."""
    return _set(book, skill_id, "strategy", text)


def set_schedule(book: Book, /, skill_id: SkillParameter, text: TextParameter) -> ToolAnswer:
    """Write when a skill is to run, as cron (30 7 * * 1-5) or in words. Only when the person agreed; every earlier
    version stays."""
    return _set(book, skill_id, "schedule", text)


def set_chat(book: Book, /, skill_id: SkillParameter, text: TextParameter) -> ToolAnswer:
    """Write how a skill talks about itself in a chat. Only when the person agreed to these words; every earlier version
    stays."""
    return _set(book, skill_id, "chat", text)


def _set(book: Book, skill_id: str, field: str, text: str) -> ToolAnswer:
    with book.transaction():
        skill = book.trading.skill(skill_id)
        before = getattr(skill, field)
        written = book.trading.set_field(skill.id, field, text)
    unchanged = written.version == skill.versions[field]
    said = f"{'Already so' if unchanged else 'Written'}: the {field} of {skill.name}, version {written.version}."
    return ToolAnswer(said, {**to_json(written), "skill": skill.name, "before": before, "unchanged": unchanged})


# Tool sets

WRITES_ONCE = Annotations(idempotent=True)
TOOLS: tuple[tuple[Callable[..., ToolAnswer], Annotations], ...] = (
    (get_skill_performance, READS),
    (get_my_deployments, READS),
    (get_upcoming_events, READS),
    (list_my_skills, READS),
    (prepare_action, READS),
    (set_strategy, WRITES_ONCE),
    (set_schedule, WRITES_ONCE),
    (set_chat, WRITES_ONCE),
)
"""Every tool of trading, in the order in which a model is shown them."""


def trading_tools(book: Book, *, mode: str | None = None) -> list[Tool]:
    """The tools that a preset with trading adds to its memory tools. Those that write are added in authoring only."""
    authoring = mode == AUTHORING
    return [
        replace(tool, handler=partial(tool.handler, book))
        for tool in _define_tools()
        if authoring or tool.annotations.read_only
    ]


@cache
def _define_tools() -> tuple[Tool, ...]:
    """The tools before they are bound to a book."""
    return tuple(define(function, tags=("trading",), annotations=may) for function, may in TOOLS)


# Data


def _deployment_to_json(deployment: Deployment) -> dict[str, str]:
    return {"id": deployment.id, "name": deployment.name}


def _names(deployments: Sequence[Deployment], skill_id: str) -> list[dict[str, Any]]:
    shown = ("id", "name", "account", "capital", "currency", "ended_at")
    mine = [one for one in deployments if one.skill_id == skill_id]
    return [{name: to_json(getattr(one, name)) for name in shown} for one in mine]


# Words


def _join_within_limit(lines: Iterable[str]) -> str:
    """The lines up to the limit, and a remark if some are left out."""
    room, said = WORDS_CHARS, []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            said.append("… more than fits here; ask for one deployment, or for less detail.")
            break
        said.append(line)
    return "\n".join(said)


def _skill_line(skill: Skill, running: Sequence[Deployment]) -> str:
    where = ", ".join(f"{one.name} [{one.id}]" for one in running) or "nowhere"
    what = " ".join(skill.description.split())
    return f"[{skill.id}] {skill.name}{f': {what}' if what else ''} (runs on {where})"


def money_with_currency(value: float, currency: str | None) -> str:
    unit = f" {currency}" if currency else ""
    return f"{value:+z,.2f}{unit}".replace("-", "−")


def percent_with_sign(value: float, *, signed: bool = True) -> str:
    return f"{100 * value:{'+' if signed else ''}.2f} %".replace("-", "−")


def _report_lines(found: Report, zone: str) -> Iterator[str]:
    yield from _figures(found.performance)
    yield from _positions(found.positions, zone)
    if found.trades is not None:
        yield from _trades(found.trades.items, found.trades.total, zone)
    if found.lessons is not None:
        yield from _lessons(found.lessons)


def _figures(found: Performance) -> Iterator[str]:
    if not found.trades:
        yield f"No closed trades yet; open positions: {found.open_positions}."
        return
    if found.by_currency:
        yield f"{found.trades:,} closed trades, {found.wins:,} won, in currencies that are not added up:"
        for name, one in found.by_currency.items():
            yield f"in {name}:"
            yield from _figures(one)
        return
    unit = found.currency
    results = [f"{found.trades:,} closed trades, {found.wins:,} won"]
    if found.pnl is not None:
        results.append(f"net {money_with_currency(found.pnl, unit)} after fees")
    if found.return_pct is not None:
        results.append(f"return {percent_with_sign(found.return_pct)}")
    yield ", ".join(results) + "."
    drawdown = f"max drawdown {found.max_drawdown or 0.0:,.2f}"
    if found.max_drawdown_pct is not None:
        drawdown += f" ({percent_with_sign(found.max_drawdown_pct, signed=False)})"
    ratios = (
        ("Sharpe", found.sharpe),
        ("Sortino", found.sortino),
        ("Calmar", found.calmar),
        ("profit factor", found.profit_factor),
    )
    rest = [drawdown, *(f"{name} {value:.2f}".replace("-", "−") for name, value in ratios if value is not None)]
    amounts = (("expectancy", found.expectancy), ("best", found.best), ("worst", found.worst))
    rest += [f"{name} {money_with_currency(value, None)}" for name, value in amounts if value is not None]
    if found.win_rate is not None:
        rest += [f"win rate {percent_with_sign(found.win_rate, signed=False)}"]
    yield " · ".join([*rest, f"open positions {found.open_positions}"])
    yield " ".join(_period(PERIODS[name], part, unit) for name, part in found.periods.items() if name in PERIODS)


def _period(name: str, part: PeriodFigures, unit: str | None) -> str:
    if not part.trades:
        return f"{name}: none closed."
    share = "" if part.return_pct is None else f", {percent_with_sign(part.return_pct)}"
    net = "" if part.pnl is None else f", {money_with_currency(part.pnl, unit)}{share}"
    return f"{name}: {part.trades:,} trades, {part.wins:,} won{net}."


def local_time(instant: str, zone: str) -> str:
    return f"{parse_stamp(instant).astimezone(zone_named(zone)):%Y-%m-%d %H:%M}"


def _trades(found: Sequence[Trade], total: int, zone: str) -> Iterator[str]:
    if found:
        yield f"The last {len(found)} of {total:,} closed trades, newest first, times of {zone}:"
    for one in found:
        notes = [one.entry_regime_tag, one.entry_reason and f"in: {one.entry_reason}"]
        notes.append(one.exit_reason and f"out: {one.exit_reason}")
        told = "; ".join(note for note in notes if note)
        prices = f"{one.entry_price:.10g} → {one.exit_price:.10g}"
        line = f"{local_time(one.exit_time, zone)} {one.symbol} {one.side} {one.quantity:.10g}, {prices}"
        yield f"{line}, net {money_with_currency(one.pnl, None)}{f' ({told})' if told else ''}"


def _positions(found: Sequence[Position], zone: str) -> Iterator[str]:
    for one in found:
        since = local_time(one.entry_time, zone)
        yield f"open: {one.symbol} {one.side} {one.quantity:.10g} at {one.entry_price:.10g} since {since}"


def _lessons(found: Sequence[Lesson]) -> Iterator[str]:
    if not found:
        yield "No lesson is supported by the trades so far."
    for one in found:
        since = f" since {one.window_from:%Y-%m-%d}" if one.window_from else ""
        pinned = "; pinned by the person" if one.pinned else ""
        unsupported = "" if one.supported else "; corrected trades no longer support it"
        yield f"[{one.id}] {one.text} ({one.trades} trades{since}{pinned}{unsupported})"


def _coming(found: Coming, hours: int, deployment: Deployment | None, zone: str) -> Iterator[str]:
    if not found.events:
        yield f"No event is known for the next {hours} hours."
    by_event: Mapping[str, list[Exposure]] = _by_event(found.your_exposure or ())
    for event in found.events:
        symbols = f", {'; '.join(event.symbols)}" if event.symbols else ""
        when = local_time(event.time, zone)
        yield f"{when} {event.title} ({event.kind}{symbols}, importance {event.importance:.2f}) [{event.id}]"
        for row in by_event.get(event.id, ()):
            yield f"  your {row.symbol} {row.position_side}: {_exposure_line(row)}"
    if deployment is not None and found.events and not found.your_exposure:
        yield f"No open position of {deployment.name} is touched by them."


def _by_event(rows: Iterable[Exposure]) -> dict[str, list[Exposure]]:
    found: dict[str, list[Exposure]] = {}
    for row in rows:
        found.setdefault(row.event_id, []).append(row)
    return found


def _exposure_line(row: Exposure) -> str:
    size = "size unknown (no bars)" if row.notional_usd is None else f"{row.notional_usd:,.2f} USD"
    if row.median_abs_move_pct is None or row.worst_move_pct is None:
        return f"{size}; too few earlier events to say how far it may move ({row.similar_events_back})"
    typical, worst = percent_with_sign(row.median_abs_move_pct, signed=False), percent_with_sign(row.worst_move_pct)
    return f"{size}; after {row.similar_events_back} earlier events the median move was {typical}, the worst {worst}"
