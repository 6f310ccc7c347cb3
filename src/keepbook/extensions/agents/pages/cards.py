"""A run and its card as a page shows them: in words, in ruled columns, and as two small pictures.

Nothing here knows one card type from another but by what its slots are: choices and short texts make the headline,
figures stand in columns, long texts are book text, lists are lists. A trade also has a ladder of its prices, and
whatever was looked at again a line of its conviction.
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
"""Up to so many characters a text is a heading, or stands in a column."""
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
    """A slot in a column: what it is called, and its value or its moment."""

    name: str
    value: str
    moment: datetime | None = None


class Rung(NamedTuple):
    """A price on the ladder; `x` is in percent."""

    name: str
    x: float
    anchor: str


@dataclass(frozen=True, slots=True)
class Ladder:
    """Stop, entry, target on one line, and where the price is, or where it was left."""

    stop: Rung
    entry: Rung
    target: Rung
    now: Rung | None
    risk: tuple[float, float]
    reward: tuple[float, float]
    """Each a place and a width."""
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
    """How sure somebody was of a decision at one time; of a later look also the run."""

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
    """`+0.55 R`."""
    text = f"{abs(value):,.{digits}f}"
    if not float(text.replace(",", "")):
        sign = ""
    elif value < 0:
        sign = "−"
    else:
        sign = "+"
    return f"{sign}{text} {unit}"


def slot_label(name: str) -> str:
    """A slot's name as a person reads it."""
    return name.replace("_", " ").capitalize()


def result(run: Run, types: CardTypes, now: datetime) -> str:
    """What came of a run, in one line of a list."""
    if run.status == "failed":
        return _sentence(run.error or "It failed.")
    if run.status != "succeeded":
        return "Waits for its turn" if run.status == "queued" else "At work"
    if run.card is None:
        return run.prompt if run.kind == "chat" else "A read for its lead"
    at = stamp(run.finished_at or run.created_at)
    line = line_of(types.find(run.card.type), run.card.slots, at, stamp(now))
    if " ago · " in line[:12] or line.startswith("just now · "):
        return line.split(" · ", 1)[1]
    return line


def run_title(run: Run, types: CardTypes) -> str:
    """What a run's page is called."""
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
    headline = page.headline
    first, _, rest = headline.partition(" ")
    return f"{first.capitalize() if first.isupper() else first} {rest}".strip() or types.find(run.card.type).title


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


# The card


def card_view(run: Run, types: CardTypes) -> CardView:
    """The card of a run that has one."""
    assert run.card is not None
    kind, slots = types.find(run.card.type), run.card.slots
    page = CardView(kind.name, kind.title, computed=run.card.computed)
    known = kind.slots or tuple(_guess_slot(name, value) for name, value in slots.items())
    if kind.forecast is not None and slots.get(QUESTION):
        heading = [name for name in (QUESTION, kind.forecast.probability) if name]
        page.question, page.headline = slots[QUESTION], _likely(slots.get(kind.forecast.probability or ""))
    else:
        heading = _heading(kind, known)
        page.headline = " ".join(_text(slots[name]) for name in heading if slots.get(name) not in (None, ""))
    for slot in known:
        value = slots.get(slot.name)
        if slot.name not in heading and value not in (None, "", []):
            _sort(page, slot, value, follows=bool(kind.follow))
    plan = None
    if kind.follow:
        plan = _plan(slots)
    if plan:
        entry, stop, target = plan
        page.cells.append(Cell("Reward", f"{abs(target - entry) / abs(entry - stop):.1f} R"))
    return page


def _likely(probability: float | None) -> str:
    """A probability in percent; nothing where the forecast states no single one."""
    if probability is None:
        return ""
    return f"{plain_number(round(100 * probability, 1))}\N{NO-BREAK SPACE}% likely"


def _heading(kind: CardType, slots: Sequence[Slot]) -> list[str]:
    if kind.name == RE_EXAMINATION:
        return ["conviction_score", "suggested_action"]
    choices = [slot.name for slot in slots if slot.type == "choice"][:1]
    names = [slot.name for slot in slots if slot.type == "text" and (slot.max or SHORT + 1) <= SHORT][:1]
    return choices + names


def _sort(page: CardView, slot: Slot, value: Any, *, follows: bool) -> None:
    """One slot to its place on the page."""
    name = slot_label(slot.name)
    if slot.name == "conviction" and slot.type == "number":
        page.conviction = plain_number(value)
    elif slot.type == "time" and follows:
        page.expires = parse_stamp(value)
    elif slot.type == "time":
        page.cells.append(Cell(name, value, parse_stamp(value)))
    elif slot.type == "list":
        page.lists.append((name, [str(one) for one in value]))
    elif slot.type == "text" and slot.max is not None and slot.max <= SHORT:
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
    """A slot of a card whose file is gone."""
    if isinstance(value, list):
        kind = "list"
    elif isinstance(value, int | float):
        kind = "number"
    else:
        kind = "text"
    return Slot(name=name, type=kind)


# Pictures


def _plan(slots: Mapping[str, Any]) -> tuple[float, float, float] | None:
    entry, stop, target = (slots.get(name) for name in ("entry", "stop", "target"))
    if entry is None or stop is None or target is None:
        return None
    return entry, stop, target


def ladder(run: Run, decision: Decision | None) -> Ladder | None:
    """The prices of a trade, the lowest at the left."""
    plan = None
    if run.card is not None and decision is not None:
        plan = _plan(run.card.slots)
    if plan is None or decision is None:
        return None
    entry, stop, target = plan
    if decision.state == "open":
        price, word = decision.last_close, "now"
    else:
        price, word = decision.exit_price, "out at"
    known = [entry, stop, target, *([price] if price is not None else [])]
    low, length = min(known), max(known) - min(known) or 1.0

    def at(value: float) -> float:
        return round(7 + 86 * (value - low) / length, 2)

    near = abs(at(entry) - at(stop)) < 12  # their words would run into each other
    if stop < entry:
        before, after = "end", "start"
    else:
        before, after = "start", "end"
    said = f"Stop {plain_number(stop)}, entry {plain_number(entry)}, target {plain_number(target)}"
    now = None
    if price is not None:
        r = decision.so_far_r if decision.state == "open" else decision.result_r
        words = f"{word} {plain_number(price)}" + ("" if r is None else f" ({signed_number(r, 'R')})")
        x = at(price)
        if x < 20:
            anchor = "start"
        elif x > 80:
            anchor = "end"
        else:
            anchor = "middle"
        now = Rung(words, x, anchor)
        said += f", {words}"
    if near:
        anchor = before
    else:
        anchor = "middle"
    return Ladder(
        Rung("stop", at(stop), anchor),
        Rung("entry", at(entry), after if near else "middle"),
        Rung("target", at(target), "middle"),
        now,
        (min(at(stop), at(entry)), round(abs(at(entry) - at(stop)), 2)),
        (min(at(target), at(entry)), round(abs(at(target) - at(entry)), 2)),
        said,
    )


def conviction(run: Run, again: Sequence[Run]) -> Conviction | None:
    """What was stated, and what every later look made of it; None where nobody looked again."""
    stated = None
    if run.card is not None:
        stated = run.card.slots.get("conviction")
    if stated is not None:
        points = [ConvictionPoint(run.finished_at or run.created_at, stated, None)]
    else:
        points = []
    looks = ((one, one.card.slots) for one in again if one.card is not None)
    points += [
        ConvictionPoint(one.finished_at or one.created_at, slots["conviction_score"], one) for one, slots in looks
    ]
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
