"""What an order came to: plain values that are stored with the turn that gave it, as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

Kind = Literal["withdraw", "correct", "never", "undo", "answer", "edit"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was said: letters of a turn, and the line it would have become."""

    turn: int
    start: int
    end: int
    content: str = ""


@dataclass(frozen=True, slots=True)
class Held:
    """A line that an order is about: noted in this chat (`place`), or a memory of the book (`memory`)."""

    content: str
    place: Place | None = None
    memory: str | None = None
    protected: bool = False
    proposal: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What the person is asked, and what each answer would do.

    `which`: one of `options` is to go. `value`: one of `lines` is to take the place of `options[0]`. `edit`: what the
    memory `options[0]` should say.
    """

    kind: Literal["which", "value", "edit"]
    options: tuple[Held, ...]
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """One line takes the place of another; without `new` the old one goes, without `old` the new one is said first."""

    old: Held | None = None
    new: str | None = None
    category: str | None = None


@dataclass(frozen=True, slots=True)
class Deed:
    """What an order meant and did. `taken` are words that closing leaves out, `hushed` matters that it keeps out."""

    kind: Kind
    matter: str = ""
    changes: tuple[Change, ...] = ()
    taken: tuple[Place, ...] = ()
    hushed: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    question: Question | None = None
    dropped: bool = False
    """Of an answer: the person wants nothing changed."""
    events: tuple[int, ...] = ()
    failed: str | None = None
    of: int | None = None
    """Of an undo: the turn whose orders no longer hold."""
    chats: tuple[str, ...] = ()
    """Earlier chats that speak of the matter, by title; recall quotes no more what they say of it."""
    unquoted: tuple[str, ...] = ()
    """The proposals that say so."""
    calls: tuple[dict[str, Any], ...] = field(default=(), compare=False)

    @property
    def done(self) -> bool:
        return bool(self.changes or self.topics or self.hushed or self.taken) and self.question is None

    def moved(self, **changed: Any) -> "Deed":
        return replace(self, **changed)


def to_parts(deeds: Sequence[Deed]) -> dict[str, Any]:
    """As a message stores it; also that there were none, so that closing knows that somebody listened."""
    return {"deeds": [asdict(one) for one in deeds]}


def was_heard(parts: Any) -> bool:
    """Whether the turn is one that the person said here; the others were recorded from elsewhere, or said by an agent.
    Nobody's key but ours writes this mark."""
    return isinstance(parts, Mapping) and "deeds" in parts


def of_parts(parts: Any) -> tuple[Deed, ...]:
    """What a message stored; nothing where it stored none."""
    told = parts.get("deeds", ()) if isinstance(parts, Mapping) else ()
    return tuple(_deed(one) for one in told)


def standing(deeds: Mapping[int, tuple[Deed, ...]]) -> dict[int, tuple[Deed, ...]]:
    """The orders of each turn, without those that a later turn took back."""
    undone: set[int] = set()
    for turn in sorted(deeds, reverse=True):
        if turn not in undone:
            undone |= {deed.of for deed in deeds[turn] if deed.of is not None}
    return {turn: () if turn in undone else some for turn, some in deeds.items()}


def _deed(told: Mapping[str, Any]) -> Deed:
    question = told.get("question")
    return Deed(
        told["kind"],
        told["matter"],
        tuple(Change(_held(one["old"]), one["new"], one["category"]) for one in told["changes"]),
        tuple(Place(**one) for one in told["taken"]),
        tuple(told["hushed"]),
        tuple(told["topics"]),
        question
        and Question(question["kind"], tuple(filter(None, map(_held, question["options"]))), tuple(question["lines"])),
        told["dropped"],
        tuple(told["events"]),
        told["failed"],
        told.get("of"),
        tuple(told.get("chats", ())),
        tuple(told.get("unquoted", ())),
        tuple(told.get("calls", ())),
    )


def _held(told: Mapping[str, Any] | None) -> Held | None:
    if told is None:
        return None
    place = told["place"]
    return Held(told["content"], Place(**place) if place else None, told["memory"], told["protected"], told["proposal"])
