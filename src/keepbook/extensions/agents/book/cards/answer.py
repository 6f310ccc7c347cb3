"""Reads a card from an answer: finds its JSON, checks every slot, and reports everything that is wrong.

The last object that fits is taken, except objects that the model was given (`json_objects`). All faults are reported
together, because the model has only one retry and would correct only what it was told.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Any

from keepbook.book.ground.limits import clean_text
from keepbook.book.ground.when import instant, parse_stamp
from keepbook.errors import Invalid
from keepbook.extensions.agents.book.cards.distributions import number_in_text, read_classes, read_quantiles
from keepbook.extensions.agents.book.cards.json_objects import (
    given_objects,
    is_alone,
    own_objects,
    stands_in_words,
    without_thoughts,
)
from keepbook.extensions.agents.book.cards.types import CardType, Slot, When

TEXT_LIMIT = 20_000  # characters, if the slot has no limit of its own
MOST_ITEMS = 50  # of a list, likewise
_BOOLEANS = {"true": True, "false": False}


# Rules


def instructions(card: CardType) -> str:
    """How to answer with this card, in words for a model."""
    lines = [f"Answer with one JSON object, a {card.title.lower()}, and nothing after it. Its keys:"]
    lines += [f"- {slot.name}: {_in_words(slot)}" for slot in card.slots]
    lines += [f"Further: {rule.say}." for rule in card.rules]
    return "\n".join(lines)


def _in_words(slot: Slot) -> str:
    """What a slot takes, in words for a model."""
    size = f", at most {slot.max:g} characters" if slot.max else ""
    bounds = f" from {slot.min:g} to {slot.max:g}" if slot.min is not None and slot.max is not None else ""
    above = f" above {slot.above:g}" if slot.above is not None else ""
    future = ", in the future" if slot.future else ""
    each = f"of {', '.join(slot.choices)}" if slot.choices else "class"
    kind = {
        "text": f"text{size}",
        "number": f"a number{bounds}{above}",
        "choice": " or ".join(slot.choices),
        "list": "a list of texts",
        "time": f"a time in ISO 8601 with its zone{future}",
        "boolean": "true or false",
        "classes": f"an object with a probability for each {each}, 1 in all",
        "quantiles": 'an object with rising numbers by level, such as {"0.1": 3, "0.5": 5, "0.9": 8}',
    }[slot.type]
    empty = "; ".join(f"null when {name} is {' or '.join(words)}" for name, words in (slot.empty_when or {}).items())
    parts = [kind, slot.about, empty, "" if slot.required else "may be left out"]
    return "; ".join(part for part in parts if part)


def read_card(
    card: CardType, answer: str, now: str, *, given: Sequence[str] = (), instructed: Sequence[str] = ()
) -> dict[str, Any]:
    """The slots in an answer: of the last object in it that fits. `Invalid` says everything that is wrong.

    An object that is also in what was `given` (prompts, tool results, material) is a quotation and does not count. One
    that is in what the agent was `instructed` does not count either, unless the answer is that object and nothing else.
    If the card type has a `plain` slot, an answer without JSON is a card too.
    """
    found = own_objects(answer)
    text = without_thoughts(answer).strip()
    if not found and card.plain is not None and text and text[0] != "{":
        return validate(card, {card.plain: text}, now)
    if not found:
        raise Invalid("the answer holds no JSON object of its own", field="card", code="invalid_card")
    quotable = given if is_alone(answer) else (*given, *instructed)
    fitting = (_fitting(card, one, now) for one in given_objects(quotable))
    quoted = [slots for slots in fitting if slots is not None]
    for one in reversed(found):
        kept = _fitting(card, one, now)
        if kept is not None and kept not in quoted and not stands_in_words(one, quotable):
            return kept
    own = [one for one in found if _fitting(card, one, now) is None]
    if own:
        return validate(card, own[-1], now)  # raises, and says what is wrong
    raise Invalid(
        "the only card in the answer also stands in what was given, so it may be a quotation; answer with your own",
        field="card",
        code="invalid_card",
    )


def _fitting(card: CardType, given: Mapping[str, Any], now: str) -> dict[str, Any] | None:
    """The slots of an object, if it fits the card type."""
    try:
        return validate(card, given, now)
    except Invalid:
        return None


def validate(card: CardType, given: Mapping[str, Any], now: str) -> dict[str, Any]:
    """The slots in their stored form: every slot of the type, empty ones as None, times as UTC text. `Invalid` says
    everything that is wrong."""
    known = {slot.name for slot in card.slots}
    wrong = {str(name): "there is no such slot" for name in sorted(given.keys() - known, key=str)}
    kept = _read_slots(card, given, now, wrong)
    wrong |= dict(_missing_or_too_much(card, kept, wrong))
    wrong |= dict(_out_of_order(card, kept, wrong))
    if wrong:
        said = "; ".join(f"{name}: {why}" for name, why in wrong.items())
        raise Invalid(
            f"the card does not fit {card.name}: {said}", field=next(iter(wrong)), code="invalid_card", fields=wrong
        )
    return kept


def _read_slots(card: CardType, given: Mapping[str, Any], now: str, wrong: dict[str, str]) -> dict[str, Any]:
    """Every slot read by itself; what is wrong is added to `wrong`."""
    kept: dict[str, Any] = {}
    for slot in card.slots:
        value = given.get(slot.name)
        if _is_empty(slot, value) and slot.from_ is not None:
            value = _heading(given.get(slot.from_), slot)
        try:
            kept[slot.name] = None if _is_empty(slot, value) else _read(slot, value, now)
        except Invalid as error:
            wrong[slot.name] = error.message
    return kept


def _missing_or_too_much(
    card: CardType, kept: Mapping[str, Any], wrong: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """The slots that are empty and should not be, or the other way round, each with what is wrong."""
    for slot in card.slots:
        if slot.name in wrong:
            continue
        must_be_empty = slot.empty_when is not None and _holds(slot.empty_when, kept)
        if must_be_empty and kept[slot.name] is not None:
            yield slot.name, "must be empty here"
        elif not must_be_empty and slot.required and kept[slot.name] is None:
            yield slot.name, "is missing"


def _out_of_order(card: CardType, kept: Mapping[str, Any], wrong: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The last slot of each rule that does not hold, with what the rule says."""
    failed = dict(wrong)
    for rule in card.rules:
        values: list[Any] = [kept.get(name) for name in rule.rising]
        if failed.keys() & set(rule.rising) or None in values or not _holds(rule.when, kept):
            continue
        if any(low >= high for low, high in pairwise(values)):
            failed[rule.rising[-1]] = rule.say
            yield rule.rising[-1], rule.say


def line_of(card: CardType, slots: Mapping[str, Any], at: str, now: str) -> str:
    """A card in one line: `2d ago · WAIT · range unresolved`."""
    values = {slot.name: _value_in_words(slots.get(slot.name)) for slot in card.slots}
    return card.line.format(age=age(at, now), **values)


def age(at: str, now: str) -> str:
    """How long ago, in the largest unit that fits: `2d ago`, `3h ago`, `12m ago`, `just now`."""
    gone = max(timedelta(), parse_stamp(now) - parse_stamp(at))
    for unit, length in (("d", timedelta(days=1)), ("h", timedelta(hours=1)), ("m", timedelta(minutes=1))):
        if gone >= length:
            return f"{gone // length}{unit} ago"
    return "just now"


def _read(slot: Slot, value: Any, now: str) -> Any:
    if slot.type == "number":
        return _number(slot, value)
    if slot.type == "choice":
        return _choice(slot, value)
    if slot.type == "list":
        if not isinstance(value, list) or len(value) > (slot.max or MOST_ITEMS):
            raise Invalid(f"is a list of up to {slot.max or MOST_ITEMS:g} texts")
        return [_text(item, None, 1000) for item in value]
    if slot.type == "time":
        return _time(slot, value, now)
    if slot.type == "classes":
        return read_classes(value, slot.choices)
    if slot.type == "quantiles":
        return read_quantiles(value)
    if slot.type == "boolean":
        if isinstance(value, str):
            value = _BOOLEANS.get(value.strip().lower(), value)
        if not isinstance(value, bool):
            raise Invalid(f"is true or false, not {_short_json(value)}")
        return value
    text = _text(value, slot.pattern, int(slot.max or TEXT_LIMIT))
    if slot.min is not None and len(text) < slot.min:
        raise Invalid(f"has at least {slot.min:g} characters, not {len(text)}")
    return text


def _choice(slot: Slot, value: Any) -> str:
    """One of the choices, in whatever case it is written."""
    word = None
    if isinstance(value, str):
        word = value.strip()
    if word in slot.choices:
        return word
    alike = [choice for choice in slot.choices if word is not None and choice.casefold() == word.casefold()]
    if len(alike) != 1:
        raise Invalid(f"is one of {', '.join(slot.choices)}, not {_short_json(value)}")
    return alike[0]


def _number(slot: Slot, value: Any) -> float | int:
    value = number_in_text(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e15:
        raise Invalid(f"is a number, not {_short_json(value)}")
    low, high = slot.min, slot.max
    if (low is not None and value < low) or (high is not None and value > high):
        bounds = "within its bounds"
        if low is not None and high is not None:
            bounds = f"from {low:g} to {high:g}"
        raise Invalid(f"is a number {bounds}, not {value:g}")
    if slot.above is not None and value <= slot.above:
        raise Invalid(f"is a number above {slot.above:g}, not {value:g}")
    return value


def _text(value: Any, pattern: str | None, most: int) -> str:
    if not isinstance(value, str):
        raise Invalid(f"is text, not {_short_json(value)}")
    text = clean_text(value, "card", 10 * TEXT_LIMIT).strip()
    if len(text) > most:
        raise Invalid(f"has at most {most} characters, not {len(text)}")
    if not text or (pattern is not None and not re.fullmatch(pattern, text)):
        raise Invalid(f"does not have the right form: {_short_json(value)}")
    return text


def _time(slot: Slot, value: Any, now: str) -> str:
    if not isinstance(value, str):
        raise Invalid(f"is a time, not {_short_json(value)}")
    try:
        at = instant(value, field=slot.name)
    except Invalid:
        raise Invalid(f"is a time in ISO 8601, not {_short_json(value)}") from None
    if at is None or (slot.future and at <= now):
        raise Invalid(f"lies in the future, unlike {_short_json(value)}")
    return at


def _is_empty(slot: Slot, value: Any) -> bool:
    """Whether a value is empty. `[]` is empty unless the slot is a list."""
    return value is None or value == "" or (value == [] and slot.type != "list")


def _heading(text: Any, slot: Slot) -> str | None:
    """The first line of a text that is not empty, cut at a word if it is too long; None if it has none."""
    lines = (part.strip(" #*") for part in str(text or "").splitlines())
    line = next((part for part in lines if part), None)
    most = int(slot.max or TEXT_LIMIT)
    if line is None or len(line) <= most:
        return line
    return line[: most - 1].rsplit(" ", 1)[0] + "…"


def _holds(when: When, slots: Mapping[str, Any]) -> bool:
    return all(slots.get(name) in choices for name, choices in when.items())


def _value_in_words(value: Any) -> str:
    if isinstance(value, float | int) and not isinstance(value, bool):
        return f"{value:g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {number:g}" for name, number in value.items())
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(value)
    return str(value)


def _short_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)[:60]
