"""The offline model as an agent: it reads the bars and answers with a valid card, by rules that it states.

The rule for a trade is a breakout. The last close above the highest high of the 20 bars before it is LONG, below their
lowest low SHORT, anything else WAIT. The stop is two average ranges away, the target four; the conviction grows with
how far the close is beyond the range. At a second look, conviction runs from what was stated at the entry to 0 at the
stop and 100 at the target. Without bars it waits, or changes nothing, and says so. For other cards it has no opinion:
it fills them with what the bars show, and says that too.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from keepbook.book.ground.when import stamp, zone_named
from keepbook.book.text.block_lines import LINE
from keepbook.extensions.agents.book.cards import RE_EXAMINATION, CardType, Slot
from keepbook.models.model import (
    Conversation,
    ReplyEvent,
    ReplyFinished,
    TextDelta,
    Toolbox,
    ToolCall,
    ToolCalled,
    Usage,
)
from keepbook.patterns import regex

RANGE, AVERAGE = 20, 14
STOP, TARGET = 2.0, 4.0
HOLDING, WAITING = timedelta(days=10), timedelta(days=1)
CLOSE_UNDER, SCALE_OVER = 35, 80
TRIED = 4
"""How many of the symbols named it looks up."""
RULE = f"Rule: breakout of {RANGE} bars; stop {STOP:g}, target {TARGET:g} average ranges."

MOST_LINES = 12
NOTEBOOK = "The notebook lists what is known and plans nothing; a model, chosen in Settings, would."
_SYMBOL = regex(r"(?<![\w/])[A-Z][A-Z0-9]{1,11}(?:[/-][A-Z][A-Z0-9]{1,11})?(?![\w/])")
_NO_SYMBOLS = {"LONG", "SHORT", "WAIT", "HOLD", "CLOSE", "SCALE", "JSON", "UTC", "NO", "OK", "AND", "OR", "NOT"}
_DECISION = regex(r'<decision type="([^"\n]*)">\n([^<]*+(?:<(?!/?decision\b)[^<]*+)*+)</decision>')
_CLOCK = regex(r"It is \w+, (\d{4}-\d\d-\d\d \d\d:\d\d) \(([^()]{1,100})\)")


@dataclass(frozen=True, slots=True)
class SymbolBars:
    """The bars of one symbol, oldest first."""

    symbol: str
    highs: tuple[float, ...]
    lows: tuple[float, ...]
    closes: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.closes)

    @property
    def close(self) -> float:
        return self.closes[-1]

    @property
    def high(self) -> float:
        """The highest high of the bars before the last."""
        return max(self.highs[-RANGE - 1 : -1])

    @property
    def low(self) -> float:
        return min(self.lows[-RANGE - 1 : -1])

    @property
    def average(self) -> float:
        """The average true range."""
        spans = [
            max(high, before) - min(low, before)
            for high, low, before in zip(self.highs[1:], self.lows[1:], self.closes, strict=False)
        ][-AVERAGE:]
        return sum(spans) / len(spans) if spans else 0.0


def answer_in_form(conversation: Conversation, tools: Toolbox | None) -> AsyncIterator[ReplyEvent] | None:
    """The answer as a card; None where another form than a card is asked for."""
    return agent_reply(conversation, tools) if isinstance(conversation.form, CardType) else None


async def agent_reply(conversation: Conversation, tools: Toolbox | None) -> AsyncIterator[ReplyEvent]:
    """Answer the last prompt with a card of the requested type."""
    play = _Play(conversation, tools)
    # A tool reads the database and may wait its turn there; others go on meanwhile.
    text = await asyncio.to_thread(play.answer)
    for call in play.made:
        yield ToolCalled(call)
    yield TextDelta(text)
    yield ReplyFinished(text, tuple(play.made), Usage())


class _Play:
    """One answer in the making."""

    def __init__(self, conversation: Conversation, tools: Toolbox | None) -> None:
        assert isinstance(conversation.form, CardType)
        self.form = conversation.form
        self.made: list[ToolCall] = []
        self._tools = tools
        self._turn = len(conversation.said)
        asked = [one for one in conversation.said if one.role == "user"]
        self._texts = [one.text for one in reversed(asked)]
        self._about = conversation.system.partition("\n\n## ")[0]
        self._known = [line.text for line in conversation.block if line.kind == LINE]
        self.now = _clock([one.hidden or "" for one in reversed(asked)])

    def answer(self) -> str:
        if self.form.name == RE_EXAMINATION:
            return _slots_as_json(self._second_look())
        bars, named = self._find_bars()
        if self.form.follow == "trade":
            return _slots_as_json(trade(bars, named, self.now))
        if self.form.plain is not None:
            return read_bars(bars, named, self._known)
        return _slots_as_json(fill_card(self.form, read_bars(bars, named, self._known), self.now))

    def _second_look(self) -> dict[str, Any]:
        choices = next((slot.choices for slot in self.form.slots if slot.name == "suggested_action"), ())
        found = next((match for text in self._texts if (match := _DECISION.search(text))), None)
        earlier = json.loads(found[2]) if found else {}
        bars, named = self._find_bars([str(earlier["symbol"])] if earlier.get("symbol") else None)
        score, notes = second_look(earlier, bars, named)
        return {"conviction_score": score, "notes": notes, "suggested_action": advice(score, choices)}

    def _find_bars(self, symbols: Sequence[str] | None = None) -> tuple[SymbolBars | None, str | None]:
        """The bars of the first symbol named that has any, and the first one named. The latest prompt that names any
        decides; then what the agent is."""
        named = list(symbols or next(filter(None, map(_symbols_in, [*self._texts, self._about])), ()))
        for symbol in named[:TRIED]:
            if (bars := self._bars(symbol)) is not None:
                return bars, symbol
        return None, named[0] if named else None

    def _bars(self, symbol: str) -> SymbolBars | None:
        if self._tools is None:
            return None
        arguments = {"symbol": symbol, "limit": 3 * RANGE}
        answer = self._tools.call("get_bars", arguments)
        self.made.append(ToolCall(f"look_{self._turn}_{len(self.made) + 1}", "get_bars", arguments, answer.text))
        found = (answer.data or {}).get("bars") if not answer.error else None
        if not found:
            return None
        columns = (tuple(float(bar[name]) for bar in found) for name in ("high", "low", "close"))
        return SymbolBars(str(answer.data["symbol"]), *columns)


# Rules


def trade(bars: SymbolBars | None, named: str | None, now: datetime) -> dict[str, Any]:
    """A trade by breakout, or the reason to wait."""
    if bars is None:
        why = f"no bars for {named}" if named else "no symbol named"
        said = f"There are no bars for {named}, so there is nothing to go by." if named else "No symbol was named."
        return _wait(named or "NONE", why, said, now)
    if len(bars) <= RANGE:
        return _wait(bars.symbol, f"only {len(bars)} bars", f"The rule needs {RANGE + 1} bars. {RULE}", now)
    side = 1 if bars.close > bars.high else -1 if bars.close < bars.low else 0
    inside = f"The last close {bars.close:g} lies between {bars.low:g} and {bars.high:g}."
    if side == 0 or not bars.average:
        return _wait(bars.symbol, f"inside its range of {RANGE} bars", f"{inside} {RULE}", now)
    edge, span = (bars.high, bars.average) if side > 0 else (bars.low, bars.average)
    beyond = min(1.0, abs(bars.close - edge) / span)
    entry, stop, target = (_price(bars.close + side * step * span) for step in (0.0, -STOP, TARGET))
    if min(stop, target) <= 0:
        return _wait(bars.symbol, "stop or target below zero", f"The ranges are too wide for a trade. {RULE}", now)
    return {
        "action": "LONG" if side > 0 else "SHORT",
        "symbol": bars.symbol,
        "entry": entry,
        "stop": stop,
        "target": target,
        "size": 1,
        "conviction": round(50 + 40 * beyond),
        "reason": f"close {'above' if side > 0 else 'below'} its range of {RANGE} bars",
        "thesis": f"The last close {bars.close:g} is beyond {edge:g}, the edge of the {RANGE} bars before it. {RULE}",
        "watch_for": [f"a close back {'below' if side > 0 else 'above'} {_price(edge):g}"],
        "expires": stamp(now + HOLDING),
    }


def second_look(earlier: Mapping[str, Any], bars: SymbolBars | None, named: str | None) -> tuple[int, str]:
    """How much of an earlier card still holds, and one sentence on what changed."""
    stated = earlier.get("conviction")
    stated = float(stated) if isinstance(stated, int | float) else 50.0
    if bars is None:
        return round(stated), f"There are no bars for {named or 'it'}, so nothing could be checked."
    prices = [earlier.get(name) for name in ("entry", "stop", "target")]
    if not all(isinstance(price, int | float) for price in prices):
        if earlier.get("action") == "WAIT" and len(bars) > RANGE:
            broken = not bars.low <= bars.close <= bars.high
            return (20, f"The range broke: the last close is {bars.close:g}.") if broken else (
                max(50, round(stated)), f"Still inside its range: the last close is {bars.close:g}."
            )  # fmt: skip
        return round(stated), f"There is no rule for this card; the last close is {bars.close:g}."
    entry, stop, target = (float(price) for price in prices if price is not None)
    way = (bars.close - entry) / (target - entry) if target != entry else 0.0
    if way >= 0:
        score = stated + (100 - stated) * min(1.0, way)
    else:
        score = stated * max(0.0, 1 - (bars.close - entry) / (stop - entry))
    gained = (bars.close - entry) / abs(entry - stop) * (1 if target > entry else -1) if entry != stop else 0.0
    return round(score), f"The last close {bars.close:g} is {gained:+.2f} R from the entry at {entry:g}."


def advice(score: int, choices: Sequence[str]) -> str:
    """The advice for a score, in the words of a trade; for other words the first, since their meaning is not known."""
    wanted = "CLOSE" if score < CLOSE_UNDER else "SCALE" if score > SCALE_OVER else "HOLD"
    return wanted if not choices or wanted in choices else choices[0]


def read_bars(bars: SymbolBars | None, named: str | None, known: Sequence[str] = ()) -> str:
    """What the bars show, in words; if no symbol with bars is named, what the book says."""
    if bars is None:
        return f"There are no bars for {named}, so there is no read." if named else _from_the_book(known)
    recent = bars.closes[-RANGE:]
    mean = sum(recent) / len(recent)
    change = (bars.close / recent[0] - 1) * 100 if recent[0] else 0.0
    points = "up" if bars.close > mean else "down" if bars.close < mean else "nowhere"
    return (
        f"{bars.symbol}: the last close {bars.close:g} against a mean of {mean:.6g} over {len(recent)} bars, "
        f"{change:+.1f} % over that time; it points {points}. Made by rules, without a language model."
    )


def _from_the_book(known: Sequence[str]) -> str:
    if not known:
        return f"The book has nothing for this yet. {NOTEBOOK}"
    return "\n".join(["From your book:", *(f"- {line}" for line in known[:MOST_LINES]), "", NOTEBOOK])


def fill_card(form: CardType, text: str, now: datetime) -> dict[str, Any]:
    """A valid card of any type that claims nothing but `text`."""
    return {slot.name: _value(slot, text, now) for slot in form.slots if slot.required and not slot.empty_when}


def _value(slot: Slot, text: str, now: datetime) -> Any:
    if slot.type == "choice":
        return slot.choices[0]
    if slot.type == "number":
        low = slot.min if slot.min is not None else 0.0
        return round((low + slot.max) / 2) if slot.max is not None else low
    if slot.type == "list":
        return [text]
    if slot.type == "time":
        return stamp(now + HOLDING)
    if slot.type == "boolean":
        return False
    return text if slot.max is None else text[: int(slot.max)]


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


def _slots_as_json(slots: Mapping[str, Any]) -> str:
    return json.dumps(slots, ensure_ascii=False)


def _price(value: float) -> float:
    """To six figures, as prices are written."""
    return float(f"{value:.6g}")


def _symbols_in(text: str) -> list[str]:
    """Symbols in the order they are named, pairs before single words."""
    found = [word for word in _SYMBOL.findall(text) if word not in _NO_SYMBOLS]
    found.sort(key=lambda word: "/" not in word)
    return list(dict.fromkeys(found))


def _clock(told: Sequence[str]) -> datetime:
    """The hour that the last prompt was given with."""
    found = next((match for hidden in told if (match := _CLOCK.search(hidden))), None)
    if found is None:
        return datetime.now(UTC)
    return datetime.fromisoformat(found[1]).replace(tzinfo=zone_named(found[2])).astimezone(UTC)
