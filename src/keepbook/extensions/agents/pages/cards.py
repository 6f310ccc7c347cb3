"""A run and its card as a page shows them: in words, in columns, and as two small pictures.

No card type is named here; the types of the slots decide what is shown where. Choices and short texts make the
headline, figures stand in columns, long texts are paragraphs, lists are lists. A trade also has a ladder of its prices,
and a card that was looked at again a chart of its conviction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil, floor
from typing import Any, NamedTuple

from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.doors.http.web.frame.charts import ChartCurve, curve
from keepbook.doors.http.web.frame.numbers import plain_number
from keepbook.extensions.agents.book.cards import RE_EXAMINATION, CardType, CardTypes, Slot, line_of
from keepbook.extensions.agents.book.decisions import Decision
from keepbook.extensions.agents.book.runs import Run

SHORT = 120
"""Up to this many characters a text may stand in the headline or in a column."""
QUESTION = "question"
"""The slot of a forecast that says what it answers."""
KINDS = {
    "manual": "run by hand",
    "scheduled": "scheduled run",
    "chat": "chat turn",
    "recorded": "recorded from outside",
    RE_EXAMINATION: "re-examination",
}
STATES = {"queued": "Queued", "running": "Running", "succeeded": "Done", "failed": "Failed, what was said is kept"}


class Cell(NamedTuple):
    """A slot in a column: its name and its value, or if it is a time, its moment."""

    name: str
    value: str
    moment: datetime | None = None


class Rung(NamedTuple):
    """A price on the ladder. `x` is in percent of its width, `anchor` the SVG `text-anchor` of its words."""

    name: str
    x: float
    anchor: str


@dataclass(frozen=True, slots=True)
class Ladder:
    """Stop, entry and target on one line, and the present price (`now`), or that of the exit."""

    stop: Rung
    entry: Rung
    target: Rung
    now: Rung | None
    risk: tuple[float, float]
    reward: tuple[float, float]
    """`risk` and `reward` are bars: where each begins, and its width, in percent."""
    said: str


@dataclass(slots=True)
class CardView:
    """A card, sorted into what a page prints."""

    type: str
    title: str
    headline: str = ""
    question: str = ""
    """What a forecast answers; it is the title of its page."""
    conviction: str = ""
    short: list[str] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    texts: list[tuple[str, str]] = field(default_factory=list)
    lists: list[tuple[str, list[str]]] = field(default_factory=list)
    expires: datetime | None = None
    computed: str | None = None


class ConvictionPoint(NamedTuple):
    """The conviction at one time; `run` is the second look that stated it, None for the card itself."""

    at: datetime
    value: float
    run: Run | None


@dataclass(frozen=True, slots=True)
class Conviction:
    """A decision's conviction over time, as a line between round levels."""

    points: list[ConvictionPoint]
    curve: ChartCurve
    levels: list[int]

    @property
    def last(self) -> str:
        return plain_number(self.points[-1].value)


# Words


def signed_number(value: float, unit: str, digits: int = 2) -> str:
    """A figure with its sign and unit: `+0.55 R`. One that rounds to zero has no sign."""
    text = f"{abs(value):,.{digits}f}"
    is_zero = float(text.replace(",", "")) == 0
    if is_zero:
        return f"{text} {unit}"
    sign = "−" if value < 0 else "+"
    return f"{sign}{text} {unit}"


def slot_label(name: str) -> str:
    """A slot's name as a person reads it."""
    return name.replace("_", " ").capitalize()


def result(run: Run, types: CardTypes, now: datetime) -> str:
    """The result of a run, as one line of a list."""
    if run.status == "failed":
        return _sentence(run.error or "It failed.")
    if run.status != "succeeded":
        return "Waits for its turn" if run.status == "queued" else "At work"
    if run.card is None:
        return run.prompt if run.kind == "chat" else "A read for its lead"
    at = stamp(run.finished_at or run.created_at)
    line = line_of(types.find(run.card.type), run.card.slots, at, stamp(now))
    begins_with_age = " ago · " in line[:12] or line.startswith("just now · ")
    if begins_with_age:  # the list has a column for it
        return line.split(" · ", 1)[1]
    return line


def run_title(run: Run, types: CardTypes) -> str:
    """The title of a run's page."""
    if run.specialist is not None:
        return f"Read of {run.specialist}"
    if run.kind == "chat":
        return "A turn of the chat"
    if run.kind == RE_EXAMINATION:
        return "Looked at again"
    if run.card is None:
        return "A run that failed" if run.status == "failed" else "A run at work"
    page = card_view(run, types)
    if page.question:
        return page.question
    first, _, rest = page.headline.partition(" ")
    if first.isupper():
        first = first.capitalize()
    return f"{first} {rest}".strip() or types.find(run.card.type).title


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


# The card


def card_view(run: Run, types: CardTypes) -> CardView:
    """The card of a run, which must have one, sorted into what a page prints."""
    assert run.card is not None
    kind, slots = types.find(run.card.type), run.card.slots
    page = CardView(kind.name, kind.title, computed=run.card.computed)
    declared = kind.slots or tuple(_guess_slot(name, value) for name, value in slots.items())
    if kind.forecast is not None and slots.get(QUESTION):
        heading = [name for name in (QUESTION, kind.forecast.probability) if name]
        page.question, page.headline = slots[QUESTION], _likely(slots.get(kind.forecast.probability or ""))
    else:
        heading = _heading(kind, declared)
        page.headline = " ".join(_text(slots[name]) for name in heading if slots.get(name) not in (None, ""))
    for slot in declared:
        value = slots.get(slot.name)
        if slot.name not in heading and value not in (None, "", []):
            _place(page, slot, value, follows=bool(kind.follow))
    plan = _plan(slots)
    if kind.follow and plan is not None:
        entry, stop, target = plan
        page.cells.append(Cell("Reward", f"{abs(target - entry) / abs(entry - stop):.1f} R"))
    return page


def _likely(probability: float | None) -> str:
    """A probability in percent; nothing where the forecast states no single one."""
    if probability is None:
        return ""
    return f"{plain_number(round(100 * probability, 1))}\N{NO-BREAK SPACE}% likely"


def _heading(kind: CardType, slots: Sequence[Slot]) -> list[str]:
    """The names of the slots that make the headline: the first choice, and the first short text."""
    if kind.name == RE_EXAMINATION:
        return ["conviction_score", "suggested_action"]
    choices = [slot.name for slot in slots if slot.type == "choice"]
    short_texts = [slot.name for slot in slots if slot.type == "text" and _is_short(slot)]
    return choices[:1] + short_texts[:1]


def _is_short(slot: Slot) -> bool:
    return slot.max is not None and slot.max <= SHORT


def _place(page: CardView, slot: Slot, value: Any, *, follows: bool) -> None:
    """Put one slot where it belongs on the page. `follows`: the card is a trade, whose time is when it expires."""
    name = slot_label(slot.name)
    if slot.name == "conviction" and slot.type == "number":
        page.conviction = plain_number(value)
    elif slot.type == "time" and follows:
        page.expires = parse_stamp(value)
    elif slot.type == "time":
        page.cells.append(Cell(name, value, parse_stamp(value)))
    elif slot.type == "list":
        page.lists.append((name, [str(one) for one in value]))
    elif slot.type == "text" and _is_short(slot):
        page.short.append(str(value))
    elif slot.type == "text":
        page.texts.append((name, str(value)))
    else:
        page.cells.append(Cell(name, _text(value)))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return plain_number(value)
    return str(value)


def _guess_slot(name: str, value: Any) -> Slot:
    """A declaration for a slot of a card whose card type is gone."""
    if isinstance(value, list):
        kind = "list"
    elif isinstance(value, int | float):
        kind = "number"
    else:
        kind = "text"
    return Slot(name=name, type=kind)


# Pictures


def _plan(slots: Mapping[str, Any]) -> tuple[float, float, float] | None:
    """Entry, stop and target of a trade, if the card has all three."""
    entry, stop, target = slots.get("entry"), slots.get("stop"), slots.get("target")
    if entry is None or stop is None or target is None:
        return None
    return entry, stop, target


def ladder(run: Run, decision: Decision | None) -> Ladder | None:
    """The prices of a trade, the lowest at the left."""
    plan = None
    if run.card is not None:
        plan = _plan(run.card.slots)
    if plan is None or decision is None:
        return None
    entry, stop, target = plan
    if decision.state == "open":
        price, word, result_r = decision.last_close, "now", decision.so_far_r
    else:
        price, word, result_r = decision.exit_price, "out at", decision.result_r
    prices = [one for one in (entry, stop, target, price) if one is not None]
    low, length = min(prices), max(prices) - min(prices) or 1.0

    def at(value: float) -> float:
        """Where a price stands, in percent; 7 % are free on each side."""
        return round(7 + 86 * (value - low) / length, 2)

    said = f"Stop {plain_number(stop)}, entry {plain_number(entry)}, target {plain_number(target)}"
    now = None
    if price is not None:
        words = f"{word} {plain_number(price)}"
        if result_r is not None:
            words += f" ({signed_number(result_r, 'R')})"
        now = Rung(words, at(price), _anchor(at(price)))
        said += f", {words}"
    stop_anchor, entry_anchor = "middle", "middle"
    if abs(at(entry) - at(stop)) < 12:  # their words would overlap, so they are written away from each other
        stop_anchor, entry_anchor = ("end", "start") if stop < entry else ("start", "end")
    return Ladder(
        stop=Rung("stop", at(stop), stop_anchor),
        entry=Rung("entry", at(entry), entry_anchor),
        target=Rung("target", at(target), "middle"),
        now=now,
        risk=(min(at(stop), at(entry)), round(abs(at(entry) - at(stop)), 2)),
        reward=(min(at(target), at(entry)), round(abs(at(target) - at(entry)), 2)),
        said=said,
    )


def _anchor(x: float) -> str:
    """The SVG `text-anchor` of words at `x` percent, so that they stay within the picture."""
    if x < 20:
        return "start"
    if x > 80:
        return "end"
    return "middle"


def conviction(run: Run, again: Sequence[Run]) -> Conviction | None:
    """The conviction of a card and of every later look at it; None if that makes fewer than two points."""
    points: list[ConvictionPoint] = []
    stated = None
    if run.card is not None:
        stated = run.card.slots.get("conviction")
    if stated is not None:
        points.append(ConvictionPoint(run.finished_at or run.created_at, stated, run=None))
    for look in again:
        if look.card is not None:
            score = look.card.slots["conviction_score"]
            points.append(ConvictionPoint(look.finished_at or look.created_at, score, run=look))
    if len(points) < 2:
        return None
    values = [point.value for point in points]
    low, high = max(0, 10 * floor((min(values) - 5) / 10)), 10 * ceil(max(values) / 10)
    if high - low < 20:
        low, high = max(0, low - 10), min(100, high + 10)
    if high - low <= 50:
        step = 10
    elif (high - low) % 20 == 0:
        step = 20
    else:
        step = high - low
    return Conviction(points, curve(values, low=low, high=high), list(range(high, low - 1, -step)))
