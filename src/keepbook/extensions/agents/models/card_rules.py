"""Rules that compute the cards of a type with `computed = "…"`, without a model.

A rule reads the bars with the agent's own tool, so that the transcript shows what it saw, and the card names the rule.
`drift` compares the last close with the mean of 15 bars. If it is far enough above it, in average ranges of a bar, the
card says LONG; far enough below, SHORT; else WAIT. The stop is two ranges away and the target 2.8, and conviction grows
with the distance. At a second look, conviction is the stated one at the entry, 0 at the stop and 100 at the target. The
symbol is the first one in the prompt that has bars; without one in the prompt, the agent's watched symbols take turns,
one a day.
"""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from keepbook.book.book import Book
from keepbook.book.ground.when import stamp
from keepbook.extensions.agents.book.cards import RE_EXAMINATION, RULE_PREFIX, CardType
from keepbook.extensions.agents.models.adapter import Execution, ExecutionResult
from keepbook.models.model import PromptMessage, ReplyEvent, TextDelta, ToolCall, ToolCalled, Usage
from keepbook.patterns import regex

LOOKED_BACK = 15  # bars
WEAK = 0.3  # a distance from the mean, in average ranges, that is too small for a trade
STOP, TARGET = 2.0, 2.8  # distances from the entry, in average ranges
LEAST_SURE, MOST_SURE = 42, 89  # the bounds of the conviction of a trade
HOLDING, WAITING = timedelta(days=12), timedelta(days=2)
"""When a trade, and a decision to wait, expire."""
RISKED = 30.0
"""The loss of a trade at its stop, in the currency of its price; the size of the trade follows from it."""
CLOSE_UNDER, SCALE_OVER = 35, 80
"""The convictions of a second look below and above which it advises to close or to scale."""
TRIED = 4
"""How many symbols of a prompt are looked up."""
STATED = f"Rule drift: with the close against its mean of {LOOKED_BACK} bars; stop {STOP:g}, target {TARGET:g} ranges."

_SYMBOL = regex(r"(?<![\w/])[A-Z][A-Z0-9]{1,11}(?:[/-][A-Z][A-Z0-9]{1,11})?(?![\w/])")
_NO_SYMBOLS = {"LONG", "SHORT", "WAIT", "HOLD", "CLOSE", "SCALE", "JSON", "UTC", "NO", "OK", "AND", "OR", "NOT"}
_DECISION = regex(r'<decision type="([^"\n]*)">\n([^<]*+(?:<(?!/?decision\b)[^<]*+)*+)</decision>')


@dataclass(frozen=True, slots=True)
class SymbolBars:
    """The bars of one symbol, oldest first."""

    symbol: str
    highs: tuple[float, ...]
    lows: tuple[float, ...]
    closes: tuple[float, ...]

    @property
    def close(self) -> float:
        return self.closes[-1]

    @property
    def mean(self) -> float:
        return sum(self.closes) / len(self.closes)

    @property
    def span(self) -> float:
        """The average range of a bar."""
        return sum(high - low for high, low in zip(self.highs, self.lows, strict=True)) / len(self.closes)


# Rules


def drift(bars: SymbolBars | None, named: str | None, now: datetime) -> dict[str, Any]:
    """The slots of a card: a trade in the direction of the drift, or to wait, with the reason."""
    if bars is None and named:
        nothing = f"There are no bars for {named}, so there is nothing to go by."
        return _wait(named, f"no bars for {named}", nothing, now)
    if bars is None:
        return _wait("NONE", "no symbol named", "No symbol was named.", now)
    if len(bars.closes) < LOOKED_BACK or bars.span <= 0:
        return _wait(bars.symbol, f"only {len(bars.closes)} bars", f"There is too little to go by. {STATED}", now)
    close, mean, span = bars.close, bars.mean, bars.span
    strength = (close - mean) / span
    if abs(strength) < WEAK:
        where = f"The close {close:g} is where the mean of {LOOKED_BACK} bars is, {mean:.6g}."
        return _wait(bars.symbol, "no drift to go with", f"{where} {STATED}", now)
    if strength > 0:
        action, side, word, back = "LONG", 1, "above", "below"
    else:
        action, side, word, back = "SHORT", -1, "below", "above"
    entry, stop, target = (_price(close + side * step * span) for step in (0.0, -STOP, TARGET))
    if min(stop, target) <= 0:
        return _wait(bars.symbol, "stop or target below zero", f"The ranges are too wide for a trade. {STATED}", now)
    return {
        "action": action,
        "symbol": bars.symbol,
        "entry": entry,
        "stop": stop,
        "target": target,
        "size": float(f"{RISKED / abs(entry - stop):.3g}"),
        "conviction": round(min(MOST_SURE, max(LEAST_SURE, 48 + 14 * abs(strength)))),
        "reason": f"{abs(strength):.1f} ranges {word} its mean of {LOOKED_BACK} bars",
        "thesis": f"The close {close:g} is {word} the mean of {LOOKED_BACK} bars, {mean:.6g}, by {abs(strength):.1f} "
        f"average ranges. {STATED}",
        "watch_for": [f"a close back {back} {mean:.5g}"],
        "expires": stamp(now + HOLDING),
    }


def second_look(earlier: Mapping[str, Any], bars: SymbolBars | None, named: str | None) -> tuple[int, str]:
    """The conviction that an earlier trade has now, and one sentence on what changed."""
    stated = 50.0
    if isinstance(earlier.get("conviction"), int | float):
        stated = float(earlier["conviction"])
    if bars is None:
        return round(stated), f"There are no bars for {named or 'it'}, so nothing could be checked."
    prices = [earlier.get(name) for name in ("entry", "stop", "target")]
    if not all(isinstance(price, int | float) for price in prices):
        return round(stated), f"It waits for a drift; the last close is {bars.close:g}."
    entry, stop, target = (float(price) for price in prices if price is not None)
    moved = bars.close - entry
    to_target = moved / (target - entry) if target != entry else 0.0  # 1 at the target, negative beyond the entry
    if to_target >= 0:
        score = stated + (100 - stated) * min(1.0, to_target)
    else:
        score = stated * max(0.0, 1 - moved / (stop - entry))
    side = 1 if target > entry else -1
    result_r = side * moved / abs(entry - stop) if entry != stop else 0.0
    return round(score), f"The last close {bars.close:g} is {result_r:+z.2f} R from the entry at {entry:g}."


def advice(score: int, choices: Sequence[str]) -> str:
    """The advice for a score: HOLD, CLOSE or SCALE. If the card's choices are other words, the first of them, because
    their meaning is not known."""
    wanted = "HOLD"
    if score < CLOSE_UNDER:
        wanted = "CLOSE"
    elif score > SCALE_OVER:
        wanted = "SCALE"
    if not choices or wanted in choices:
        return wanted
    return choices[0]


RULES: dict[str, Callable[[SymbolBars | None, str | None, datetime], dict[str, Any]]] = {"drift": drift}
"""The rules, by the name that a card type has in `computed`."""


# An execution


class ByRule:
    """Executes the runs of card types that name their rule."""

    name = "rule"

    def __init__(self, book: Book) -> None:
        self._book = book

    async def execute(self, order: Execution) -> AsyncIterator[ReplyEvent | ExecutionResult]:
        """Compute the card, and yield it as the answer, after the tool calls that were made for it."""
        assert order.card is not None
        card, rule = order.card, str(order.card.computed)
        work = _RuleWork(order, self._book.now)
        # In a thread: a tool reads the database and may have to wait, while other runs go on.
        if card.name == RE_EXAMINATION:
            slots = await asyncio.to_thread(work.second_look, card)
        else:
            slots = await asyncio.to_thread(work.decide, card)
        text = json.dumps(slots, ensure_ascii=False)
        for call in work.made:
            yield ToolCalled(call)
        yield TextDelta(text)
        said = (order.prompt, PromptMessage("assistant", text, calls=tuple(work.made)))
        yield ExecutionResult(text, said, f"s_{secrets.token_hex(6)}", Usage(), f"{RULE_PREFIX}{rule}")


class _RuleWork:
    """Computes one card; `made` are the tool calls made for it."""

    def __init__(self, order: Execution, now: datetime) -> None:
        self._order = order
        self._now = now
        self.made: list[ToolCall] = []

    def decide(self, card: CardType) -> dict[str, Any]:
        bars, named = self._find_bars(self._symbols())
        return RULES[str(card.computed)](bars, named, self._now)

    def second_look(self, card: CardType) -> dict[str, Any]:
        choices = next((slot.choices for slot in card.slots if slot.name == "suggested_action"), ())
        found = _DECISION.search(self._order.prompt.text)
        earlier = json.loads(found[2]) if found else {}
        symbols = [str(earlier["symbol"])] if earlier.get("symbol") else []
        bars, named = self._find_bars(symbols)
        score, notes = second_look(earlier, bars, named)
        return {"conviction_score": score, "notes": notes, "suggested_action": advice(score, choices)}

    def _symbols(self) -> list[str]:
        """The symbols of the prompt; without any, the one of the agent's watched symbols whose turn it is today."""
        asked = symbols_in(self._order.prompt.text)
        if asked:
            return asked
        watched = symbols_in(self._order.agent.instructions)
        if watched:
            return [watched[self._now.date().toordinal() % len(watched)]]
        return []

    def _find_bars(self, symbols: Sequence[str]) -> tuple[SymbolBars | None, str | None]:
        """The bars of the first symbol that has any, and that symbol. If none has, None and the first symbol."""
        for symbol in symbols[:TRIED]:
            bars = self._bars(symbol)
            if bars is not None:
                return bars, symbol
        return None, next(iter(symbols), None)

    def _bars(self, symbol: str) -> SymbolBars | None:
        arguments = {"symbol": symbol, "limit": LOOKED_BACK}
        answer = self._order.tools.call("get_bars", arguments)
        # A random id, because no two calls in a session may have the same.
        self.made.append(ToolCall(f"look_{secrets.token_hex(4)}", "get_bars", arguments, answer.text))
        found = None
        if not answer.error:
            found = (answer.data or {}).get("bars")
        if not found:
            return None
        columns = (tuple(float(bar[name]) for bar in found) for name in ("high", "low", "close"))
        return SymbolBars(str(answer.data["symbol"]), *columns)


def symbols_in(text: str) -> list[str]:
    """The symbols that a text names, in their order, but pairs (`BTC/USD`) before single words."""
    found = [word for word in _SYMBOL.findall(text) if word not in _NO_SYMBOLS]
    pairs, others = [word for word in found if "/" in word], [word for word in found if "/" not in word]
    return list(dict.fromkeys(pairs + others))


def _wait(symbol: str, reason: str, thesis: str, now: datetime) -> dict[str, Any]:
    return {
        "action": "WAIT",
        "symbol": symbol,
        "conviction": 50,
        "reason": reason[:60],
        "thesis": thesis,
        "watch_for": [],
        "expires": stamp(now + WAITING),
    }


def _price(value: float) -> float:
    """A price, rounded to six digits."""
    return float(f"{value:.6g}")
