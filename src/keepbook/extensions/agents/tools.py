"""The tools of agents: their last decisions, their calibration, the bars, and recording a decision.

In a run the tools know which agent calls them. Over MCP the agent is bound by `--agent` or by the token; where it is
not, each call names it. A specialist is blind: it has only the tools that tell nothing of decisions, positions or
memories.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from keepbook.book.book import Book
from keepbook.book.ground.to_json import to_json
from keepbook.errors import Invalid
from keepbook.extensions.agents.book import prices
from keepbook.extensions.agents.book.agents import Agent
from keepbook.extensions.agents.book.calibration import Calibration
from keepbook.extensions.agents.book.decisions import PastCard
from keepbook.extensions.agents.book.prices import Bar
from keepbook.extensions.agents.book.scoring.feedback import feedback_lines
from keepbook.tools.catalogue import SYSTEM, ToolSet, build_tools
from keepbook.tools.definition import READS, Annotations, Tool, ToolAnswer, define

MY_DECISIONS = "get_my_decisions"
CHAT_TOOLS = ("recall_chats", "timeline", "record_turns")
"""The memory's tools that a run is not given, because it takes part in no chat."""
MOST_BARS = 300
"""How many bars one call answers at most."""

LimitParameter = Annotated[int, Field(ge=1, le=50), "How many, newest first."]
AgentParameter = Annotated[str | None, "The agent, by its id or name."]
CardSlots = Annotated[dict[str, Any], "The slots of your card type, as an object."]
MadeAtParameter = Annotated[str | None, "When you decided, ISO 8601 with its zone; now, if nothing is said."]
RecordKey = Annotated[str | None, "A name of yours for this decision: sent again under it, it is recorded once."]
SecondLookParameter = Annotated[str | None, "For a second look: the id of the run whose card you looked at again."]
WRITES = Annotations()


# The tools


def get_my_decisions(book: Book, agent: str | None, /, limit: LimitParameter = 5) -> ToolAnswer:
    """Your own last decisions, newest first, each as one line: how long ago, what, why, and how it turned out.
    Use it before you decide again on the same matter. It tells nothing of what was said in those runs."""
    if agent is None:
        raise Invalid("say which agent you are", field="agent")
    past = book.agents.decisions(agent, limit)
    lines = [_line(one) for one in past] or ["You have not decided anything yet."]
    return ToolAnswer("\n".join(lines), {"decisions": to_json(past)})


def get_calibration(book: Book, agent: str | None, /) -> ToolAnswer:
    """Whether stated conviction has meant anything: of the decisions that were resolved, how many came right at each
    level of conviction, hit rate, expectancy in R, and the Brier score. Use it before you state a conviction."""
    trades, forecasts = book.decisions.calibration(agent), book.decisions.calibration(agent, forecasts=True)
    if not forecasts.resolved:
        return ToolAnswer("\n".join(_calibration_lines(trades)), to_json(trades))
    lines: list[str] = []
    if trades.resolved:
        lines += _calibration_lines(trades)
    lines += _calibration_lines(forecasts)
    return ToolAnswer("\n".join(lines), {**to_json(trades), "forecasts": to_json(forecasts)})


def get_bars(
    book: Book,
    /,
    symbol: Annotated[str, "Such as ETH/USDT."],
    timeframe: Annotated[str | None, "Such as 1d or 1h; the finest there is, if none is named."] = None,
    limit: Annotated[int, Field(ge=1, le=MOST_BARS), "How many, the latest."] = 60,
) -> ToolAnswer:
    """The last complete bars of a symbol, oldest first: time, open, high, low, close, volume."""
    with book.reading() as (tx, _, now):
        known = prices.known_symbols(tx.conn)
        found = prices.recent(tx.conn, prices.resolve_symbol(tx.conn, symbol), now, timeframe=timeframe, limit=limit)
    if not found:
        if known:
            there = f" There are bars for {', '.join(known[:20])}."
        else:
            there = " There are no bars at all."
        return ToolAnswer(f"There are no bars for {symbol}.{there}", {"symbol": symbol, "bars": []})
    data = {"symbol": found[-1].symbol, "timeframe": found[-1].timeframe, "bars": [_bar(bar) for bar in found]}
    return ToolAnswer("\n".join(_bar_lines(found)), data)


def record_decision(
    book: Book,
    agent: str,
    /,
    card: CardSlots,
    made_at: MadeAtParameter = None,
    key: RecordKey = None,
    re_examines: SecondLookParameter = None,
) -> ToolAnswer:
    """Write down a decision of yours that you made outside of Keepbook, so that it is followed and your conviction can
    be held against what came of it. The card is checked; it never changes afterwards. With `re_examines` the card is a
    second look at an earlier run: conviction_score, notes, suggested_action."""
    told = {"made_at": made_at, "key": key}
    if re_examines is None:
        made = book.decisions.record(agent, card, **told)
    else:
        if book.runs.get(re_examines).agent_id != book.agents.get(agent).id:
            raise Invalid(f"run {re_examines} is another agent's", field="re_examines")
        made = book.decisions.record_second_look(re_examines, card, **told)
    if made.replayed:
        said = "It was recorded already"
    else:
        said = "Recorded"
    apart = ""
    if made.late:
        apart = " It comes late: how it ends could be known already, so it counts for no calibration."
    elif made.decision is not None and made.decision.recorded_later:
        apart = " It comes more than ten minutes after it was made, so it counts apart."
    return ToolAnswer(f"{said}, run {made.run_id}.{apart}", to_json(made))


# The same tools for a caller that names the agent with each call


def _any_decisions(
    book: Book, /, agent: Annotated[str, "The agent, by its id or name."], limit: LimitParameter = 5
) -> ToolAnswer:
    """An agent's own last decisions, newest first, each as one line: how long ago, what, why, and how it turned out.
    Use it before that agent decides again on the same matter."""
    return get_my_decisions(book, agent, limit=limit)


def _any_calibration(book: Book, /, agent: AgentParameter = None) -> ToolAnswer:
    """Whether stated conviction has meant anything, for one agent or all: how many resolved decisions came right at
    each level of conviction, hit rate, expectancy in R, and the Brier score."""
    return get_calibration(book, agent)


def _any_record(
    book: Book,
    /,
    agent: Annotated[str, "The agent, by its id or name."],
    card: CardSlots,
    made_at: MadeAtParameter = None,
    key: RecordKey = None,
    re_examines: SecondLookParameter = None,
) -> ToolAnswer:
    """Write down a decision that an agent made outside of Keepbook, so that it is followed and its conviction can be
    held against what came of it. The card has the slots of that agent's card type and never changes afterwards."""
    return record_decision(book, agent, card, made_at, key, re_examines)


# Tool sets


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A tool, and who is given it: an agent in its run (`in_runs`), one that runs elsewhere (`elsewhere`), a blind
    specialist (`blind`).

    `function` is called with the agent it is bound to; `naming` is the same tool with the agent as an argument, or None
    if the tool is not about an agent.
    """

    function: Callable[..., ToolAnswer]
    naming: Callable[..., ToolAnswer] | None
    annotations: Annotations = READS
    in_runs: bool = True
    elsewhere: bool = True
    blind: bool = False


TOOLS = (
    AgentTool(get_my_decisions, _any_decisions),
    AgentTool(get_calibration, _any_calibration),
    AgentTool(get_bars, None, elsewhere=False, blind=True),
    AgentTool(record_decision, _any_record, WRITES, in_runs=False),
)
"""Every tool of agents, in the order in which a model is shown them."""


def toolbox(
    book: Book,
    agent: Agent,
    *,
    chat: bool = False,
    blind: bool = False,
    thread_id: str | None = None,
    turn_ids: Sequence[str] = (),
    records: bool = False,
    others: Sequence[str] = (),
) -> ToolSet:
    """The tools that an agent is given in a run or, with `chat`, in a chat with it. `records` adds the tool with which
    one that runs elsewhere records its decisions. `others`: see `build_tools`."""
    if blind:
        return ToolSet([_of_agent(one, book, agent.id) for one in TOOLS if one.blind])
    own = [_of_agent(one, book, agent.id) for one in TOOLS if one.in_runs or records]
    if not agent.use_block or not book.choices.memory:
        return ToolSet(own)
    if chat:
        return build_tools(None, book, thread_id=thread_id, turn_ids=turn_ids, extra=own, others=others)
    # In a run no person says anything, so that what the agent writes is inferred.
    inferring = book.acting(source="inferred")
    tools = build_tools(None, inferring, thread_id=thread_id, turn_ids=turn_ids, extra=own, others=others)
    return tools.without(CHAT_TOOLS)


def agent_tools(book: Book, agent: str | None = None) -> list[Tool]:
    """The tools for agents outside: bound to `agent`, or else with the agent as an argument; none if the book has no
    agents."""
    offered = [one for one in TOOLS if one.elsewhere]
    if agent is not None:
        return [_of_agent(one, book, agent) for one in offered]
    if not book.agents.list():
        return []
    return [_define(one, partial(one.naming, book)) for one in offered if one.naming is not None]


def _of_agent(tool: AgentTool, book: Book, agent: str) -> Tool:
    given = (book,) if tool.naming is None else (book, agent)
    return _define(tool, partial(tool.function, *given))


def _define(tool: AgentTool, handler: Callable[..., ToolAnswer]) -> Tool:
    name = tool.function.__name__
    return define(handler, name=name, tags=("agents", SYSTEM), annotations=tool.annotations)


# Words


def _line(one: PastCard) -> str:
    parts = [one.line]
    if one.symbol and one.symbol not in one.line:
        parts.append(one.symbol)
    if one.outcome:
        if one.result_r is None:
            parts.append(one.outcome)
        else:
            parts.append(f"{one.outcome}, {one.result_r:+z.1f} R")
    elif one.state:
        parts.append(one.state)
    return " · ".join(parts)


def _calibration_lines(found: Calibration) -> list[str]:
    lines = [found.words]
    for band in found.bands:
        told = f"stated {band.low}–{band.high - 1}: {band.right} of {band.count} came right"
        if band.share is None or band.interval is None:
            lines.append(f"{told} (too few to say more)")
            continue
        low, high = (round(100 * edge) for edge in band.interval)
        lines.append(f"{told} ({band.share:.0%}, 95 % interval {low}–{high} %)")
    if found.enough and found.brier is not None and found.base_brier is not None:
        base = f"stating the share known before each would score {found.base_brier:.3f}"
        lines.append(f"Brier score {found.brier:.3f}; {base}. Better by {found.skill_words}.")
    lines += feedback_lines(found)
    if found.enough and found.expectancy is not None:
        lines.append(f"Expectancy {found.expectancy:+z.2f} R per decision.")
    return lines


def _bar_lines(bars: Sequence[Bar]) -> Iterator[str]:
    last = bars[-1]
    yield f"The last {len(bars)} bars of {last.symbol}, {last.timeframe}: time,open,high,low,close,volume"
    for bar in bars:
        figures = (bar.open, bar.high, bar.low, bar.close, bar.volume)
        yield ",".join([f"{bar.time[:16]}Z", *("" if figure is None else f"{figure:.10g}" for figure in figures)])


def _bar(bar: Bar) -> dict[str, object]:
    return {name: getattr(bar, name) for name in ("time", "open", "high", "low", "close", "volume")}
