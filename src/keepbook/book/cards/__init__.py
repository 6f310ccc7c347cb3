"""Card types: what the answer of a run must hold, as data.

A card type is one TOML file. Four ship with Keepbook; a folder of your own adds more and never replaces a shipped one.
A file that cannot be read is named with its line and its reason, and the others stand. What a run answered is read
into the slots of its type, every one checked: a card that does not fit is no card.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RE_EXAMINATION = "re-examination"


@dataclass(frozen=True, slots=True)
class Slot:
    """One value of a card. `empty_when` names the choices under which it must be empty (else it is required)."""

    name: str
    type: str  # text, number, choice, list, time, boolean
    about: str = ""
    required: bool = True
    min: float | None = None
    max: float | None = None
    choices: tuple[str, ...] = ()
    pattern: str | None = None
    future: bool = False
    empty_when: Mapping[str, tuple[str, ...]] | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """Slots that must rise strictly in this order, where `when` holds."""

    when: Mapping[str, tuple[str, ...]]
    rising: tuple[str, ...]
    say: str


@dataclass(frozen=True, slots=True)
class CardType:
    """`follow = "trade"`: open until bars or the person close it. `plain`: the slot of an answer without JSON."""

    name: str
    title: str
    line: str
    slots: tuple[Slot, ...]
    re_examinable: str = "false"  # true, false, until_resolved
    re_examine_actions: tuple[str, ...] = ()
    follow: str | None = None
    plain: str | None = None
    rules: tuple[Rule, ...] = ()

    @property
    def is_decision(self) -> bool:
        """Whether its cards have a state: open, resolved, expired."""
        return self.re_examinable == "until_resolved"


@dataclass(frozen=True, slots=True)
class Broken:
    """A file that is no card type: where it breaks, and why."""

    path: str
    line: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class CardTypes:
    """The card types in force, by name, and the files that could not be read."""

    types: Mapping[str, CardType]
    broken: tuple[Broken, ...]

    def get(self, name: str) -> CardType:
        """`Invalid` with the known names, or with what is wrong with its file."""
        raise NotImplementedError

    def re_examination_of(self, parent: CardType) -> CardType:
        """The re-examination card, with the parent's own actions as its vocabulary where it has one."""
        raise NotImplementedError


def card_types(folders: Sequence[Path] = ()) -> CardTypes:
    """The shipped types and those of `folders`; a file is read again only when it changed."""
    raise NotImplementedError


def instructions(card: CardType) -> str:
    """How to answer with this card, in words for a model: the slots, their rules, and that it is one JSON object."""
    raise NotImplementedError


def read_card(card: CardType, answer: str, now: str) -> dict[str, Any]:
    """The slots in an answer: its JSON object (fenced, alone, or the last one in it). `Invalid` says all that is wrong."""
    raise NotImplementedError


def validate(card: CardType, given: Mapping[str, Any], now: str) -> dict[str, Any]:
    """Slots as they are kept: every slot of the type, empty ones as None, times as UTC text. `Invalid` says all."""
    raise NotImplementedError


def line_of(card: CardType, slots: Mapping[str, Any], at: str, now: str) -> str:
    """`2d ago · WAIT · range unresolved`."""
    raise NotImplementedError
