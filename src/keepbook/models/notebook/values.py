"""The values of the notebook: steps that are decided, deeds that are done.

A `Scene` is everything that a turn is read against. Deciding turns its clauses into `TurnStep`s and writes nothing;
applying turns steps into `Deed`s, in the transaction that stores the turn. Deeds are stored with the turn as JSON, so
that the next turn, closing, titles and pages know what it did.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Literal

from keepbook.book.memory.proposals import Proposal
from keepbook.book.text.quotation import Span
from keepbook.book.text.topic_meaning import Sense
from keepbook.extension import Extension
from keepbook.presets import Preset

NOTEBOOK = "notebook"
"""The speaker of what the notebook says."""

NEW = "new:"
"""How the id of a line begins that a chat being read has given and nobody has written yet."""

StepAct = Literal[
    "keep", "offer", "repeat", "change", "end", "withdraw", "never", "undo", "answer", "off", "ban_asked", "erase",
    "which", "missed"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """A turn of the chat as the notebook reads it: `number` is the stored one."""

    number: int
    role: str
    text: str
    speaker: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A line that a clause may point at: a memory, an offered line, or words of this chat that nobody kept."""

    id: str
    content: str
    kind: Literal["memory", "offered", "said"] = "memory"
    version: int = 0
    protected: bool = False
    quoted: bool = False
    spans: tuple[Span, ...] = ()
    thread_id: str | None = None
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class Scene:
    """What a turn is read against; the last of `turns` is the turn itself."""

    turns: tuple[ChatTurn, ...]
    thread_id: str
    zone: str
    now: datetime
    preset: Preset
    targets: tuple[Target, ...] = ()
    questions: tuple[Proposal, ...] = ()
    """What the last reply asked and nobody has answered."""
    wholes: frozenset[str] = frozenset()
    """Those of them that ask about all lines of a topic."""
    asked: int = 0
    """How many questions this chat has put so far."""
    declined: frozenset[str] = frozenset()
    """Words the person did not want kept, folded."""
    never: tuple[str, ...] = ()
    sense: Sense | None = None
    touched: frozenset[str] = frozenset()
    """The lines that the person's last turn wrote, changed or put back."""
    withdrawn: Mapping[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    """The letters that the person took back, by turn, as (start, end)."""
    hushed: tuple[str, ...] = ()
    """Matters that are kept out of this chat."""
    switching_off: bool = False
    """Whether the last reply asked if memory is to be switched off."""
    forbidding: tuple[str, ...] = ()
    """The topics of which the last reply asked if they are never to be kept."""
    topics: tuple[str, ...] = ()
    """The topics whose lines were looked for."""
    topic_lines: tuple[Target, ...] = ()
    """The lines of the book about a topic that an order bans, or about a shipped topic that it asks to forget."""
    editing: Target | None = None
    """The memory that the chat was opened to change."""
    extensions: tuple[Extension, ...] = ()
    """Those that are on."""

    @property
    def turn(self) -> ChatTurn:
        return self.turns[-1]

    @property
    def texts(self) -> dict[int, str]:
        """Stored turns by their number."""
        return {one.number: one.text for one in self.turns}


@dataclass(frozen=True, slots=True)
class QuotedLine:
    """A line in the person's own words. `standing` is False if it cannot be understood alone."""

    spans: tuple[Span, ...]
    content: str
    category: str | None = None
    subject: str | None = None
    score: float = 0.0
    ordered: bool = False
    valid_from: str | None = None
    valid_until: str | None = None
    said_on: str | None = None
    standing: bool = True


@dataclass(frozen=True, slots=True)
class TurnStep:
    """One step to carry out. `question` names what the person is asked instead of, or after, doing it."""

    act: StepAct
    start: int
    end: int
    target: Target | None = None
    quotation: QuotedLine | None = None
    exchange: tuple[tuple[int, int], Span] | None = None
    """Which letters of the target's content go, and the stretch that takes their place."""
    content: str | None = None
    """What the line would say after the exchange."""
    targets: tuple[Target, ...] = ()
    question: Literal["keep", "over", "change", "which"] | None = None
    mistake: bool = False
    until: str | None = None
    topics: tuple[str, ...] = ()
    matter: str = ""
    withdrawn: tuple[tuple[int, int, int], ...] = ()
    """Letters taken back: turn, from, to."""
    choice: str = ""
    proposal: str = ""
    whole: bool = False
    """Whether the person has answered "which" with all of the lines, as a topic."""
    ordered: bool = False
    """Whether it is of an order. What an order asks is asked whatever was asked before."""

    @property
    def is_order(self) -> bool:
        """Whether the person asked for it in so many words, or says that a line has changed."""
        if self.act == "keep":
            return self.quotation is not None and self.quotation.ordered
        return self.act in ("change", "end") or self.question == "which"


@dataclass(frozen=True, slots=True)
class Deed:
    """What was done with a turn, as its message stores it.

    `event` is the ledger's number of the write and undoes it. `withdrawn` are letters that are not read again,
    `hushed` a matter that stays out of this chat, `proposal` a question that was left. `calls` is the write as a
    reply shows it.
    """

    act: str
    content: str = ""
    before: str = ""
    memory: str | None = None
    event: int | None = None
    proposal: str | None = None
    question: str | None = None
    asked: bool = False
    """Whether the reply puts the question; otherwise it waits in Review."""
    ordered: bool = False
    """Whether it asks about an order."""
    choice: str = ""
    topics: tuple[str, ...] = ()
    withdrawn: tuple[tuple[int, int, int], ...] = ()
    hushed: str = ""
    chats: tuple[str, ...] = ()
    """Earlier chats that speak of what was forgotten, by title."""
    unquoted: tuple[str, ...] = ()
    """Proposals that keep recall from quoting those chats."""
    options: tuple[str, ...] = ()
    whole: bool = False
    """Whether all of these options were named, as a topic."""
    failed: str = ""
    quoted: bool = False
    unread: bool = False
    of: int | None = None
    """The turn whose deeds an undo took back."""
    calls: tuple[dict[str, Any], ...] = field(default=(), compare=False)

    @property
    def is_done(self) -> bool:
        declined = self.act == "withdraw" and self.proposal is not None
        return not self.failed and bool(self.event or self.topics or self.withdrawn or self.hushed or declined)

    @property
    def is_own_question(self) -> bool:
        """Whether the notebook asks it by itself; of these a chat puts no more than `MOST_QUESTIONS`."""
        return self.asked and not self.ordered


# As a message stores them


def deeds_to_parts(deeds: Sequence[Deed], *, kept: bool) -> dict[str, Any]:
    """Deeds in the form that a message stores. `kept` says that its lines were kept at once, so closing reads it for
    the summary only."""
    return {"deeds": [_deed_to_json(one) for one in deeds], "kept": kept}


def _deed_to_json(deed: Deed) -> dict[str, Any]:
    return {name: value for name, value in asdict(deed).items() if value or name == "act"}


def from_parts(parts: Any) -> tuple[Deed, ...]:
    """The deeds of a stored message; none if it has none."""
    if isinstance(parts, Mapping):
        rows = parts.get("deeds", ())
    else:
        rows = ()
    return tuple(_deed(row) for row in rows)


def _deed(row: Mapping[str, Any]) -> Deed:
    known: dict[str, Any] = {name: value for name, value in row.items() if name in Deed.__dataclass_fields__}
    listed: dict[str, Any] = {
        name: tuple(known[name]) for name in ("topics", "chats", "unquoted", "options", "calls") if name in known
    }
    known["withdrawn"] = tuple(tuple(span) for span in known.get("withdrawn", ()))
    known.update(listed)
    return Deed(**known)


def is_persons(parts: Any) -> bool:
    """Whether the person said a turn at a door of ours. Other turns were recorded from elsewhere, or said by an agent.
    Only our own code writes this mark."""
    return isinstance(parts, Mapping) and "deeds" in parts


def is_kept_at_once(parts: Any) -> bool:
    """Whether the lines of a turn were kept when it was said."""
    return is_persons(parts) and bool(parts.get("kept"))


def standing_deeds(deeds: Mapping[int, tuple[Deed, ...]]) -> dict[int, tuple[Deed, ...]]:
    """The deeds of each turn, without those that a later turn took back."""
    undone: set[int] = set()
    for turn in sorted(deeds, reverse=True):
        if turn not in undone:
            undone |= {deed.of for deed in deeds[turn] if deed.of is not None}
    return {turn: () if turn in undone else some for turn, some in deeds.items()}


def withdrawn_spans(deeds: Mapping[int, tuple[Deed, ...]]) -> dict[int, tuple[tuple[int, int], ...]]:
    """The letters that standing deeds took back, by turn."""
    spans: dict[int, list[tuple[int, int]]] = {}
    for some in deeds.values():
        for deed in some:
            for turn, start, end in deed.withdrawn:
                spans.setdefault(turn, []).append((start, end))
    return {turn: tuple(sorted(found)) for turn, found in spans.items()}
