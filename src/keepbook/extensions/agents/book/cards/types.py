"""Reads the files of card types, strictly and each by itself, so that a broken file does not break the others."""

import os
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, NoReturn

from keepbook.errors import Invalid
from keepbook.patterns import regex
from keepbook.strict_toml import Expecting, NotToml, TomlTable, Wrong, fit_to_shape, nearest_name, parse_toml

RE_EXAMINATION = "re-examination"
TYPES = ("text", "number", "choice", "list", "time", "boolean", "classes", "quantiles")
RE_EXAMINABLE = ("true", "false", "opt_in", "until_resolved")
TESTS = ("close_above", "close_below", "reaches_above", "reaches_below")
"""The tests of a rule: where the last bar by the date closed, or whether any bar until then touched the level."""
TRADE = "trade"
COMPUTED = {"drift": TRADE}
"""The rules that compute a card, and the `follow` that their card types must have."""
RULE_PREFIX = "rule:"
"""A run has a rule in place of a model, under this prefix and its name."""
TRADE_SLOTS = ("action", "symbol", "entry", "stop", "target", "conviction", "expires")
_NAME = regex(r"[a-z][a-z0-9-]{0,39}")
_SLOT = regex(r"[a-z][a-z0-9_]{0,39}")
_WORD = regex(r"[A-Z][A-Z_]{1,19}")

When = Mapping[str, tuple[str, ...]]
"""A condition: choices by slot. It is true if each of these slots has one of its choices."""


_Amount = Annotated[int | float, Expecting("a number")]
_Words = Annotated[tuple[str, ...], Expecting("a list of words", all)]
_ReExaminable = Annotated[bool | str, Expecting('true, false or "until_resolved"')]
_Ordered = Annotated[bool | str, Expecting("true, false or the name of a slot")]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotTable:
    """What the file says of one slot. `min` and `max` bound a number, or the length of a text or list.

    Under the choices in `empty_when` it must be empty, else it is required (unless `required` is false). Left out, it
    takes the first line of the slot named in `from_`.
    """

    type: str
    about: str = ""
    required: bool = True
    min: _Amount | None = None
    max: _Amount | None = None
    above: _Amount | None = None
    choices: _Words = ()
    pattern: str | None = None
    future: bool = False
    from_: str | None = None
    empty_when: TomlTable[_Words] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot(SlotTable):
    """One value of a card, by the name of its table."""

    name: str


@dataclass(frozen=True, slots=True)
class Rule:
    """Slots that must rise strictly in this order, where `when` holds."""

    rising: _Words
    say: str
    when: TomlTable[_Words] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class BarRule:
    """Answers a forecast by itself: `test` of the bars of a symbol against a level, both named by their slots."""

    symbol: str
    test: str
    level: str


@dataclass(frozen=True, slots=True)
class Forecast:
    """Which slots say what is forecast, and by when it is decided (`due`).

    One of three: `probability` (0 to 1), answered by yes or no, or with a `claim` by a choice of which that slot holds
    one to be so; `classes`, answered by one of them (`ordered`: they have an order, always or where that slot says
    so); `quantiles`, answered by a number.
    """

    due: str
    probability: str | None = None
    claim: str | None = None
    classes: str | None = None
    ordered: _Ordered = False
    quantiles: str | None = None
    rule: BarRule | None = None


@dataclass(frozen=True, slots=True)
class CardFile:
    """The keys of a file."""

    name: str
    title: str
    line: str
    slots: TomlTable[SlotTable]
    re_examinable: _ReExaminable = False
    re_examine_actions: _Words = ()
    follow: str | None = None
    plain: str | None = None
    forecast: Forecast | None = None
    rules: tuple[Rule, ...] = ()
    computed: str | None = None


@dataclass(frozen=True, slots=True)
class CardType:
    """`follow = "trade"`: followed on bars. `forecast`: answered by somebody or by a rule, and scored. `plain`: the
    slot that an answer without JSON fills. `re_examinable = "opt_in"`: where its agent says so. `computed`: the rule
    that makes its cards, so that no model is asked."""

    name: str
    title: str
    line: str
    slots: tuple[Slot, ...]
    re_examinable: str = "false"
    re_examine_actions: tuple[str, ...] = ()
    follow: str | None = None
    plain: str | None = None
    rules: tuple[Rule, ...] = ()
    forecast: Forecast | None = None
    computed: str | None = None

    @property
    def is_decision(self) -> bool:
        """Whether its cards have a state: open, resolved, expired."""
        return self.re_examinable == "until_resolved"

    @property
    def schema(self) -> dict[str, Any]:
        """The card as a JSON schema, in what every provider takes: bounds are said in words."""
        slots = {slot.name: _slot_schema(slot) for slot in self.slots}
        return {"type": "object", "properties": slots, "required": list(slots), "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class Broken:
    """A file that is no card type: where it breaks, and why."""

    path: str
    line: int | None
    reason: str

    def __str__(self) -> str:
        return f"{self.path}{'' if self.line is None else f', line {self.line}'}: {self.reason}"


@dataclass(frozen=True, slots=True)
class CardTypes:
    """The card types in force, by name, and the files that could not be read."""

    types: Mapping[str, CardType]
    broken: tuple[Broken, ...]

    def get(self, name: str) -> CardType:
        """The type of this name; `Invalid` says what there is, or what is wrong with its file."""
        found = self.types.get(name)
        if found is not None:
            return found
        for one in self.broken:
            if Path(one.path).stem == name:
                raise Invalid(f"the card type {name!r} cannot be used: {one}", field="card_type")
        hint, known = _suggestion(nearest_name(name, self.types)), ", ".join(sorted(self.types))
        raise Invalid(f"there is no card type {name!r}.{hint} Known: {known}", field="card_type")

    def find(self, name: str) -> CardType:
        """The type of a stored card. If its file is gone, a type with which the card can be shown, and no more."""
        return self.types.get(name) or CardType(name, name, "{age} · " + name, ())

    def re_examination_of(self, parent: CardType) -> CardType:
        """The card type for re-examining a card: with the parent's own actions as choices, if it names any."""
        card = replace(self.get(RE_EXAMINATION), computed=parent.computed)
        if parent.forecast is not None and parent.forecast.probability is not None:
            stated = next(slot for slot in parent.slots if slot.name == parent.forecast.probability)
            anew = replace(stated, name="probability", required=False, about="how likely it is now, from 0 to 1")
            card = replace(card, slots=(*card.slots, anew))
        if not parent.re_examine_actions:
            return card

        def bound(slot: Slot) -> Slot:
            if slot.name != "suggested_action":
                return slot
            return replace(slot, type="choice", choices=parent.re_examine_actions, pattern=None)

        return replace(card, slots=tuple(bound(slot) for slot in card.slots))


_JSON_TYPES = {"number": "number", "boolean": "boolean"}


def _slot_schema(slot: Slot) -> dict[str, Any]:
    form: dict[str, Any] = {"type": _JSON_TYPES.get(slot.type, "string")}
    if slot.type == "choice":
        form["enum"] = list(slot.choices)
    elif slot.type == "list":
        form = {"type": "array", "items": {"type": "string"}}
    if slot.required and slot.empty_when is None and slot.from_ is None:
        return form
    return {"anyOf": [form, {"type": "null"}]}


# Operations


def load_card_types(folders: Sequence[Path]) -> CardTypes:
    """The card types in the files of these folders. If two files have one name, the first counts, so shipped folders
    come first."""
    types: dict[str, CardType] = {}
    broken = []
    for folder in folders:
        for path in sorted(Path(folder).glob("*.toml")):
            found = _load(str(path), os.stat(path).st_mtime_ns)
            if isinstance(found, CardType) and found.name in types:
                found = Broken(str(path), None, f"the name {found.name!r} is taken; rename the file and its `name`")
            if isinstance(found, Broken):
                broken.append(found)
            else:
                types[found.name] = found
    return CardTypes(MappingProxyType(types), tuple(broken))


_AT_LINE = regex(r"at line (\d+)")


@lru_cache(maxsize=256)
def _load(path: str, _mtime: int) -> CardType | Broken:
    text = ""
    try:
        text = Path(path).read_text(encoding="utf-8")
        return _card_type(parse_toml(text), Path(path).stem)
    except NotToml as error:
        where = _AT_LINE.search(str(error))
        line = int(where[1]) if where else len(text.splitlines())
        return Broken(path, line, f"not valid TOML: {str(error).partition(' (at')[0].lower()}")
    except UnicodeDecodeError as error:
        return Broken(path, error.object[: error.start].count(b"\n") + 1, "not text in UTF-8")
    except OSError as error:
        return Broken(path, None, f"cannot be read: {error.strerror}")
    except Wrong as error:
        return _broken(path, text, tuple(map(str, error.key)), _wrong_in_words(error))
    except _Unfit as error:
        return _broken(path, text, error.key, error.reason)


class _Unfit(Exception):
    """A file that has the right shape, but describes a card that would make no sense."""

    def __init__(self, key: tuple[str, ...], reason: str) -> None:
        super().__init__(reason)
        self.key, self.reason = key, reason


def _broken(path: str, text: str, key: tuple[str, ...], reason: str) -> Broken:
    return Broken(path, _line_of(text, key), f"`{'.'.join(key)}`: {reason}")


_TABLE_HEAD = regex(r"\s*+\[++([\w.\- \"\t]+)\]", anchored=True)
_ASSIGNMENT = regex(r"\s*+\"?([\w\-.]++)\"?\s*+=", anchored=True)


def _line_of(text: str, key: tuple[str, ...]) -> int:
    """The number of the line with a key; if the key is not there, of the nearest table around it."""
    table: tuple[str, ...] = ()
    tables: dict[tuple[str, ...], int] = {(): 1}
    rule = -1
    for number, line in enumerate(text.splitlines(), 1):
        heading, named = _TABLE_HEAD.match(line), _ASSIGNMENT.match(line)
        if heading:
            table = tuple(part.strip(' "\t') for part in heading[1].split("."))
            if table == ("rules",):
                rule += 1
                table = ("rules", str(rule))
            tables[table] = number
        elif named and (*table, named[1]) == key:
            return number
    return next(tables[key[:length]] for length in range(len(key), -1, -1) if key[:length] in tables)


# Rules


def _card_type(data: dict[str, Any], stem: str) -> CardType:
    file = fit_to_shape(CardFile, data)
    if file.name != stem or not _NAME.fullmatch(stem):
        _refuse(("name",), f'expected "{stem}", like the file: small letters, digits and dashes')
    slots = {name: _slot(name, table) for name, table in file.slots.items()}
    if not slots:
        _refuse(("slots",), "a card has at least one slot")
    re_examinable = str(file.re_examinable)
    if isinstance(file.re_examinable, bool):
        re_examinable = re_examinable.lower()
    card = CardType(
        name=stem, title=file.title, line=file.line, slots=tuple(slots.values()), re_examinable=re_examinable,
        re_examine_actions=file.re_examine_actions, follow=file.follow, plain=file.plain, forecast=file.forecast,
        rules=file.rules, computed=file.computed,
    )  # fmt: skip
    for ok, key, reason in _checks(card, slots):
        if not ok:
            _refuse(key, reason)
    return card


def _slot(name: str, table: SlotTable) -> Slot:
    at = ("slots", name)
    if not _SLOT.fullmatch(name) or name == "age":
        _refuse(at, "a slot's name has small letters, digits and underscores, and is not `age`")
    if table.type not in TYPES:
        _refuse((*at, "type"), f"expected one of {', '.join(TYPES)}")
    if bool(table.choices) != (table.type == "choice") and table.type != "classes":
        _refuse((*at, "choices"), "a choice has choices, classes may have them, and nothing else has")
    if table.pattern is not None:
        try:
            re.compile(table.pattern)
        except re.error as error:
            _refuse((*at, "pattern"), f"no regular expression: {error}")
    return Slot(name=name, **{each.name: getattr(table, each.name) for each in fields(SlotTable)})


def _forecast_checks(
    card: CardType, told: Forecast, slots: Mapping[str, Slot]
) -> list[tuple[bool, tuple[str, ...], str]]:
    def is_a(name: str, kind: str) -> bool:
        return name in slots and slots[name].type == kind

    stated = told.probability
    share = stated is None or (is_a(stated, "number") and (slots[stated].min, slots[stated].max) == (0, 1))
    forms = [name for name in (told.probability, told.classes, told.quantiles) if name is not None]
    checks = [
        (card.is_decision, ("re_examinable",), "a forecast ends: until_resolved"),
        (card.follow is None, ("follow",), "a forecast is answered, not followed as a trade"),
        (len(forms) == 1, ("forecast",), "expected one of probability, classes and quantiles"),
        (share, ("forecast", "probability"), "expected a number slot from 0 to 1"),
        (told.classes is None or is_a(told.classes, "classes"), ("forecast", "classes"), "expected a classes slot"),
        (
            told.quantiles is None or is_a(told.quantiles, "quantiles"),
            ("forecast", "quantiles"),
            "expected a quantiles slot",
        ),
        (
            isinstance(told.ordered, bool) or is_a(told.ordered, "boolean"),
            ("forecast", "ordered"),
            "expected true, false or a boolean slot",
        ),
        (told.claim is None or told.probability is not None, ("forecast", "claim"), "a claim has a probability"),
        (told.rule is None or told.probability is not None, ("forecast", "rule"), "a rule answers a probability"),
        (is_a(told.due, "time"), ("forecast", "due"), "expected a time slot"),
        (told.claim is None or is_a(told.claim, "choice"), ("forecast", "claim"), "expected a choice slot"),
    ]
    if told.rule is not None:
        at = ("forecast", "rule")
        checks += [
            (told.rule.test in TESTS, (*at, "test"), f"expected one of {', '.join(TESTS)}"),
            (told.claim is None, (*at, "test"), "a rule answers yes or no, so there is no claim beside it"),
            (is_a(told.rule.symbol, "text"), (*at, "symbol"), "expected a text slot"),
            (is_a(told.rule.level, "number"), (*at, "level"), "expected a number slot"),
        ]
    return checks


def _checks(card: CardType, slots: Mapping[str, Slot]) -> list[tuple[bool, tuple[str, ...], str]]:
    """The checks across slots: whether each holds, the key that it is about, and what is expected."""
    shown = _fields(card.line)
    numbers = [name for name, slot in slots.items() if slot.type == "number"]
    allowed = f"expected one of {', '.join(RE_EXAMINABLE)}"
    checks: list[tuple[bool, tuple[str, ...], str]] = [
        (card.re_examinable in RE_EXAMINABLE, ("re_examinable",), allowed),
        (shown is not None, ("line",), "braces that do not close"),
        (set(shown or ()) <= {"age", *slots}, ("line",), "expected only {age} and names of slots in braces"),
        (all(map(_WORD.fullmatch, card.re_examine_actions)), ("re_examine_actions",), "expected short uppercase words"),
        (card.follow in (None, TRADE), ("follow",), f'expected "{TRADE}"'),
        (card.follow is None or card.is_decision, ("re_examinable",), "what is followed ends: until_resolved"),
        (
            card.follow is None or set(TRADE_SLOTS) <= slots.keys(),
            ("follow",),
            f"a trade has the slots {', '.join(TRADE_SLOTS)}",
        ),
        (card.plain is None or card.plain in slots, ("plain",), "expected the name of a slot"),
        (card.computed in (None, *COMPUTED), ("computed",), f"expected one of {', '.join(COMPUTED)}"),
        (
            card.computed is None or card.follow == COMPUTED.get(card.computed),
            ("computed",),
            f"this rule makes what is followed as a {COMPUTED.get(card.computed or '')}",
        ),
    ]
    if card.forecast is not None:
        checks += _forecast_checks(card, card.forecast, slots)
    for name, slot in slots.items():
        fits = slot.empty_when is None or _is_condition_known(slot.empty_when, slots)
        checks.append((fits, ("slots", name, "empty_when"), "expected choices of a slot of this card"))
        checks.append((slot.from_ in (None, *slots), ("slots", name, "from"), "expected the name of a slot"))
    for index, rule in enumerate(card.rules):
        at = ("rules", str(index))
        checks.append((_is_condition_known(rule.when, slots), (*at, "when"), "expected choices of a slot of this card"))
        checks.append((set(rule.rising) <= set(numbers), (*at, "rising"), f"expected of {', '.join(numbers)}"))
    return checks


def _is_condition_known(when: When, slots: Mapping[str, Slot]) -> bool:
    return all(name in slots and set(choices) <= set(slots[name].choices) for name, choices in when.items())


def _fields(line: str) -> list[str] | None:
    """The names in braces in a format; None if it is no format."""
    try:
        return [field for _, field, _, _ in string.Formatter().parse(line) if field is not None]
    except ValueError:
        return None


def _refuse(key: tuple[str, ...], reason: str) -> NoReturn:
    raise _Unfit(key, reason)


def _wrong_in_words(wrong: Wrong) -> str:
    match wrong.kind:
        case "unknown":
            return f"there is no such key;{_suggestion(wrong.nearest)} known are {', '.join(wrong.known)}"
        case "missing":
            return "this key is missing"
        case _:
            return f"expected {wrong.belongs}"


def _suggestion(name: str | None) -> str:
    if name:
        return f" did you mean {name!r}?"
    return ""
