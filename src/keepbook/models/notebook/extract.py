"""Reads a closing chat without a model: the turns that were not kept at once, each decided as if it were said now.

Lines are quotations. What is sure is a candidate to keep, what is likely one to propose. What a turn does to a line of
the book, or of this chat, becomes a candidate too: closing checks each candidate once more and writes.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import log

from keepbook.book.text.quotation import Span, content_of, exchange_in_spans
from keepbook.book.text.topics import find_topics
from keepbook.book.text.words import content_words, fold_text
from keepbook.errors import Invalid
from keepbook.models.model import Candidate, ClosingChat, KnownMemory, TurnId
from keepbook.models.notebook.decide import decide_steps
from keepbook.models.notebook.read import shared_moves, understand
from keepbook.models.notebook.values import NEW, ChatTurn, Deed, QuotedLine, Scene, Target, TurnStep, withdrawn_spans
from keepbook.models.reader.moves import MoveReader
from keepbook.models.reader.values import ChatReader
from keepbook.presets import Preset, load_preset

MOST_LINES = 8
KNOWN = "it is known already"


def extract(
    reading: ClosingChat, *, reader: ChatReader | None = None, moves: MoveReader | None = None
) -> list[Candidate]:
    """The candidates of a closing chat, in the order they were said."""
    work = _Work(reading, moves or shared_moves(), reader)
    for at, turn in enumerate(reading.turns):
        if turn.role == "user" and turn.id not in reading.kept:
            reading.go_on()
            work.read(at)
    return [one for one in work.found if one is not None]


def extract_ordered(reading: ClosingChat) -> list[Candidate]:
    """What the person explicitly asked to remember, and no tool has written."""
    written = {fold_text(line) for lines in reading.written.values() for line in lines}
    asked = [one for one in extract(reading) if one.ordered and one.op == "add"]
    return [one for one in asked if fold_text(one.content) not in written]


@dataclass(slots=True)
class _Work:
    """A chat being gone through turn by turn."""

    reading: ClosingChat
    moves: MoveReader
    reader: ChatReader | None = None
    found: list[Candidate | None] = field(default_factory=list)
    never: list[str] = field(default_factory=list)
    hushed: list[str] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)

    def read(self, at: int) -> None:
        scene = self._scene(at)
        read = understand(scene, self._turns(at + 1, len(self.reading.turns)), reader=self.reader, moves=self.moves)
        for step in decide_steps(scene, read, self.moves.bars, changes=self.moves.name != "linear"):
            self._take(step, self.reading.turns[at].id)

    def _turns(self, first: int, until: int) -> tuple[ChatTurn, ...]:
        rows = self.reading.turns[first:until]
        return tuple(ChatTurn(_number(one.id, first + at), one.role, one.text, one.speaker, one.at)
                     for at, one in enumerate(rows))  # fmt: skip

    def _scene(self, at: int) -> Scene:
        reading = self.reading
        deeds: dict[int, tuple[Deed, ...]] = {int(turn): some for turn, some in reading.deeds.items()
                                              if str(turn).isdecimal()}  # fmt: skip
        every = [deed for some in deeds.values() for deed in some]
        hushed = [deed.hushed for deed in every if deed.hushed]
        topics = [topic for some in deeds.values() for deed in some for topic in deed.topics]
        return Scene(
            self._turns(0, at + 1), reading.thread_id, reading.zone, reading.turns[at].at or reading.now,
            _preset(reading), targets=tuple(self._targets(reading.turns[at].text)),
            never=(*reading.never, *topics, *self.never), sense=reading.sense, withdrawn=withdrawn_spans(deeds),
            hushed=(*hushed, *self.hushed), extensions=reading.extensions,
        )  # fmt: skip

    def _targets(self, text: str) -> list[Target]:
        """The known lines that share most with a turn, and what this chat has given so far."""
        known = [one for one in self.reading.known if one.id not in self.gone]
        new = [
            Target(f"{NEW}{at}", one.content, quoted=True, spans=one.spans, thread_id=self.reading.thread_id)
            for at, one in enumerate(self.found)
            if one is not None and one.op == "add"
        ]
        return [*nearest_targets(known, text), *new[-MOST_LINES // 2 :]]

    def _take(self, step: TurnStep, turn: TurnId) -> None:
        match step.act:
            case "keep" | "offer":
                self.found.append(_add(step, turn))
            case "repeat" if step.target is not None:
                self.found.append(_skip(step.target, turn))
            case "change" | "end":
                self._apply_change(step, turn)
            case "which" if step.question in ("over", "change") and step.target is not None:
                self._asked_about(step, step.target, turn)
            case "which":
                self.found += [_asked_to_go(one, turn) for one in step.targets if one.kind == "memory"]
            case "withdraw":
                self._withdrawn(step, turn)
            case "never":
                self.never += step.topics
                self.found = [one if one is None or not self._is_barred(one) else None for one in self.found]
            case "undo" if self.found:
                self.found[-1] = None

    def _is_barred(self, one: Candidate) -> bool:
        return bool(find_topics(one.content, self.never, self.reading.sense))

    def _apply_change(self, step: TurnStep, turn: TurnId) -> None:
        target = step.target
        assert target is not None
        if target.id.startswith(NEW):
            self._change_new(int(target.id.removeprefix(NEW)), step)
            return
        made = _changed_line(step, target, turn)
        self.gone.add(target.id)
        self.found.append(made)

    def _asked_about(self, step: TurnStep, target: Target, turn: TurnId) -> None:
        """A line of the book may have changed: that is asked. One of this chat is offered in its later words."""
        if not target.id.startswith(NEW):
            self.found.append(_question_candidate(step, target, turn))
        elif step.question == "change":
            self._change_new(int(target.id.removeprefix(NEW)), step, sure=False)

    def _change_new(self, at: int, step: TurnStep, *, sure: bool = True) -> None:
        """A line of this chat that nobody has written yet says the later words from the start."""
        old = self.found[at]
        if old is None or step.act == "end":
            self.found[at] = None
            return
        if step.quotation is not None:
            spans = step.quotation.spans
        else:
            spans = self._exchanged(old, step)
        if spans:
            content = content_of(spans, self._texts)
            self.found[at] = replace(old, content=content, spans=spans, sure=old.sure and sure)

    def _exchanged(self, old: Candidate, step: TurnStep) -> tuple[Span, ...]:
        """The spans of a line with one value exchanged; none where it cannot be done."""
        if step.exchange is None:
            return ()
        (start, end), new = step.exchange
        try:
            return exchange_in_spans(old.spans, self._texts, start, end, new)
        except Invalid:
            return ()

    @property
    def _texts(self) -> dict[int, str]:
        return {one.number: one.text for one in self._turns(0, len(self.reading.turns))}

    def _withdrawn(self, step: TurnStep, turn: TurnId) -> None:
        for target in step.targets:
            if target.id.startswith(NEW):
                self.found[int(target.id.removeprefix(NEW))] = None
            elif target.kind == "memory":
                self.gone.add(target.id)
                self.found.append(Candidate("forget", target.id, None, None, target.content, 0.9, (turn,)))
        if not step.targets and step.matter:
            self.hushed.append(step.matter)


def _number(id: TurnId, at: int) -> int:
    if str(id).isdecimal():
        return int(id)
    return at


def _preset(reading: ClosingChat) -> Preset:
    if reading.preset is not None:
        return reading.preset
    categories = tuple(reading.categories)
    return replace(load_preset("general"), categories=categories, default_category=next(iter(categories[-1:]), None))


def _add(step: TurnStep, turn: TurnId) -> Candidate:
    line = step.quotation
    assert line is not None
    return _candidate("add", None, line, turn, sure=step.act == "keep")


def _candidate(op: str, target: str | None, line: QuotedLine, turn: TurnId, *, sure: bool) -> Candidate:
    return Candidate(
        op,  # type: ignore[arg-type]
        target, line.category, line.subject, line.content, line.score, (turn,), line.valid_from, None, sure,
        spans=line.spans, said_on=line.said_on, valid_until=line.valid_until, ordered=line.ordered,
    )  # fmt: skip


def _skip(target: Target, turn: TurnId) -> Candidate:
    return Candidate("skip", target.id, None, None, target.content, 0.9, (turn,), reason=KNOWN)


def _changed_line(step: TurnStep, target: Target, turn: TurnId) -> Candidate:
    if step.act == "end":
        return Candidate("update", target.id, None, None, target.content, 0.9, (turn,), valid_until=step.until)
    if step.quotation is not None:
        return _candidate("update", target.id, step.quotation, turn, sure=True)
    return Candidate("update", target.id, None, None, step.content or target.content, 0.9, (turn,))


def _question_candidate(step: TurnStep, target: Target, turn: TurnId) -> Candidate:
    content = step.content or (step.quotation.content if step.quotation else target.content)
    if step.quotation and not step.content:
        spans = step.quotation.spans
    else:
        spans = ()
    return Candidate(
        "update", target.id, None, None, content, 0.6, (turn,), sure=False, spans=spans, question=step.question,
        valid_until=step.until,
    )  # fmt: skip


def _asked_to_go(target: Target, turn: TurnId) -> Candidate:
    return Candidate("forget", target.id, None, None, target.content, 0.6, (turn,), sure=False)


def nearest_targets(known: Sequence[KnownMemory], text: str) -> list[Target]:
    """The known lines that share most with a text, rare words counting more."""
    words = {one.id: set(content_words(one.content)) for one in known}
    often = Counter(word for some in words.values() for word in some)
    wanted = set(content_words(text))
    scores = {id: sum(1 / log(1.5 + often[word]) for word in some & wanted) for id, some in words.items()}
    best = sorted(known, key=lambda one: -scores[one.id])[:MOST_LINES]
    few = len(known) <= MOST_LINES
    return [
        Target(one.id, one.content, "memory", protected=one.protected, quoted=one.quoted, subject=one.subject)
        for one in best
        if few or scores[one.id] > 0
    ]
