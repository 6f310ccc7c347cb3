"""Carries out steps in the transaction that stores their turn: all of them or, on a conflict, none.

What the reader chose is written as extracted, with its score; what the person ordered or changed of their own word is
theirs. Each step becomes a deed: what the ledger says was done, or why it was not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from logging import Logger
from typing import Any

from keepbook.book.chats import threads
from keepbook.book.chats.threads import Message
from keepbook.book.ground.one_line_log import get_logger
from keepbook.book.ground.when import stamp
from keepbook.book.ledger import ledger, undo
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes, proposals, quotes
from keepbook.book.memory.changes import Statement
from keepbook.book.memory.memories import Written
from keepbook.book.owners import choices
from keepbook.book.recall import forgotten
from keepbook.book.text.quotation import shown_text
from keepbook.book.text.words import content_words
from keepbook.errors import Conflict, Invalid, KeepbookError
from keepbook.models.compress import ORDER
from keepbook.models.notebook.decide import MOST_QUESTIONS
from keepbook.models.notebook.quote import FLOOR
from keepbook.models.notebook.values import Deed, QuotedLine, Target, TurnStep, from_parts, standing_deeds
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.tools.memory import brief_state

UNTITLED = "a chat without a title"
MADE_BY = "offline"
LOOKED_BACK = 40
"""So many turns an undo goes back at most."""
OFF, BAN = "off", "never"
"""The names of the questions whether memory is to be switched off, and whether a topic is never to be kept; they are
about no line."""


log: Logger = get_logger(__name__)


class Stale(Exception):
    """Raised if a line has another version than the one a step was decided on."""


@dataclass(frozen=True, slots=True)
class Writer:
    """Where and as whom deeds are written: the chat, the turn, the preset in force, how many questions there were."""

    tx: Tx
    preset: Preset
    thread_id: str
    turn: int
    text: str
    door: str
    asked: int = 0

    def person(self, target: Target | None = None) -> Origin:
        """The origin for writes as the person. What they typed keeps that source."""
        own = target is not None and target.protected
        source = None
        if not own:
            source = "chat"
        return Origin("person", self.door, self.thread_id, source=source)

    def reader(self) -> Origin:
        """The origin for writes as the reader of this chat."""
        return Origin("extractor", self.door, self.thread_id, source="extracted")

    @property
    def now(self) -> str:
        return stamp(self.tx.clock())


def apply(writer: Writer, steps: Sequence[TurnStep]) -> list[Deed]:
    """Carry out some steps and return their deeds. Raises `Stale` if a line has changed since they were decided."""
    deeds: list[Deed] = []
    for step in steps:
        asked = writer.asked + sum(deed.is_own_question for deed in deeds)
        deeds += _apply_one(replace(writer, asked=asked), step)
    return deeds


def _apply_one(writer: Writer, step: TurnStep) -> list[Deed]:
    try:
        return _APPLY[step.act](writer, step)
    except Conflict as error:
        if error.code == "version":
            raise Stale from error
        return [Deed(step.act, failed=error.message)]
    except Invalid as error:
        if error.field != "spans":
            return [Deed(step.act, failed=error.message)]
        log.warning("words could not be quoted: %s", error.message)  # letters and turns tell a person nothing
        return []
    except KeepbookError as error:
        return [Deed(step.act, failed=error.message)]


# Lines


def _keep(writer: Writer, step: TurnStep) -> list[Deed]:
    line = _line(step)
    if line.ordered:
        origin = writer.person()
    else:
        origin = writer.reader()
    said = Statement("", category=line.category, subject=line.subject, force=True, **_facts(line))
    written = quotes.quote(writer.tx, origin, writer.preset, said, writer.thread_id, line.spans, said_on=line.said_on)
    proposals.settle_proposals(writer.tx, written.content, writer.now)
    if written.unchanged:
        act = "repeat"
    else:
        act = "keep"
    return [_deed(writer, act, written)]


def _facts(line: QuotedLine) -> dict[str, Any]:
    score = None
    if not line.ordered:
        score = line.score
    return {"score": score, "made_by": MADE_BY, "valid_from": line.valid_from, "valid_until": line.valid_until}


def _line(step: TurnStep) -> QuotedLine:
    assert step.quotation is not None
    return step.quotation


def _target(step: TurnStep) -> Target:
    assert step.target is not None
    return step.target


def _repeat(writer: Writer, step: TurnStep) -> list[Deed]:
    written = changes.confirm(writer.tx, writer.person(step.target), writer.preset, _target(step).id)
    return [_deed(writer, "repeat", written)]


def _change(writer: Writer, step: TurnStep) -> list[Deed]:
    old, line = _target(step), step.quotation
    # What the person had said or kept themself is changed on their word; what a reader chose, by the reader.
    if old.protected:
        origin = writer.person(old)
    else:
        origin = writer.reader()
    if line is not None:
        score = line.score
    else:
        score = FLOOR
    how: dict[str, Any] = {
        "thread_id": writer.thread_id, "correction": step.mistake, "expect_version": old.version or None,
        "made_by": MADE_BY, "score": score,
    }  # fmt: skip
    if step.exchange is not None:
        place, new = step.exchange
        written = quotes.exchange(writer.tx, origin, writer.preset, old.id, place, new, valid_from=step.until, **how)
    else:
        line = _line(step)
        written = quotes.requote(
            writer.tx, origin, writer.preset, old.id, line.spans, said_on=line.said_on, valid_from=line.valid_from,
            valid_until=line.valid_until, **how,
        )  # fmt: skip
    return [replace(_deed(writer, "change", written), before=old.content)]


def _end(writer: Writer, step: TurnStep) -> list[Deed]:
    old = _target(step)
    until = step.until or writer.now
    origin = writer.person(old)
    written = changes.end(writer.tx, origin, writer.preset, old.id, until, expect_version=old.version or None)
    return [_deed(writer, "end", written)]


# Questions


def _offer(writer: Writer, step: TurnStep) -> list[Deed]:
    line = _line(step)
    if step.target is not None and (step.mistake or _says_all_of(line.content, step.target.content)):
        proposals.expire(writer.tx, step.target.id, writer.now)  # the same offer in other words
    return _ask_question(writer, step, op="add", content=line.content)


def _says_all_of(line: str, earlier: str) -> bool:
    return set(content_words(earlier)) <= set(content_words(line))


def _ask(writer: Writer, step: TurnStep) -> list[Deed]:
    """A question about lines that are there."""
    if step.question == "which":
        return _ask_which(writer, step)
    old = _target(step)
    words = step.content or (step.quotation.content if step.quotation else "")
    if words:
        op = "update"
    else:
        op = "end"
    deeds = _ask_question(writer, step, op=op, content=words or old.content, memory_id=old.id)
    return [replace(deed, before=old.content) for deed in deeds]


def _ask_which(writer: Writer, step: TurnStep) -> list[Deed]:
    """Which of several lines is to go; of one line alone, whether it is."""
    found = [(one.id, one.content) for one in step.targets if one.kind == "memory"]
    if not found:
        return [Deed("withdraw", hushed=step.matter)]
    _expire_asked_before(writer, {id for id, _ in found})
    if len(found) == 1:
        id, content = found[0]
        deeds = _ask_question(writer, replace(step, question=None), op="forget", content=content, memory_id=id)
    else:
        deeds = _ask_question(writer, step, op="forget", content=found[0][1], lines=found)
    lines = tuple(line for _, line in found)
    return [replace(deed, question="which", options=lines, whole=step.whole) for deed in deeds]


def _expire_asked_before(writer: Writer, ids: set[str]) -> None:
    """An order that is given again is asked about again, and once."""
    for one in proposals.list_proposals(writer.tx):
        asked = {choice.memory_id for choice in one.choices} | {one.memory_id}
        if one.op == "forget" and asked - {None} <= ids:
            proposals.expire(writer.tx, one.id, writer.now)


def _ask_question(writer: Writer, step: TurnStep, **asked: Any) -> list[Deed]:
    """Leave a question; nothing where the same is waiting, or was declined. Past the third it waits in Review. An
    order is asked about all the same."""
    line = step.quotation
    told: dict[str, Any] = {}
    if step.until:
        told = {"valid_from": step.until}
    if line is not None:
        if not step.content:
            spans = line.spans
        else:
            spans = ()
        told = {
            "category": line.category, "subject": line.subject, "score": line.score, "valid_from": line.valid_from,
            "valid_until": line.valid_until, "said_on": line.said_on, "spans": spans,
        }  # fmt: skip
    told |= {"turn_ids": (str(writer.turn),), "thread_id": writer.thread_id, "made_by": MADE_BY}
    told["again"] = step.ordered
    if step.question is None:
        left = proposals.propose(writer.tx, writer.now, nature="proposal", **told, **asked)
    else:
        left = proposals.ask_question(writer.tx, writer.now, question=step.question, **told, **asked)
    if left is None:
        return []
    in_reply = (step.ordered or writer.asked < MOST_QUESTIONS) and writer.preset.consent != "silent"
    quoted = bool(told.get("spans"))
    return [
        Deed(
            step.act, left.content, proposal=left.id, question=step.question, asked=in_reply, ordered=step.ordered,
            quoted=quoted,
        )
    ]  # fmt: skip


def _answer(writer: Writer, step: TurnStep) -> list[Deed]:
    if step.proposal == OFF:
        if step.choice == "yes":
            choices.change_choices(writer.tx, memory=False)
        return [Deed("answer", question=OFF, choice=step.choice)]
    if step.proposal == BAN:
        return [Deed("answer", question=BAN, choice=step.choice)]
    before = proposals.get_proposal(writer.tx, step.proposal)
    written = proposals.write_answer(
        writer.tx, writer.person(), writer.preset, step.proposal, step.choice, writer.now, until=step.until
    )
    asked = before.question or ("which" if before.op == "forget" else None)  # of one line alone: whether it is to go
    how: dict[str, Any] = {"question": asked, "choice": step.choice, "proposal": step.proposal}
    if not written:
        return [Deed("answer", before.content, **how)]
    return [replace(_deed(writer, "answer", one), **how) for one in written]


# Orders


def _withdraw(writer: Writer, step: TurnStep) -> list[Deed]:
    """Forget lines, decline offers, and keep the words out; what was found nowhere is kept out of this chat."""
    deeds = []
    for one in step.targets:
        if one.kind == "memory":
            written = changes.forget(
                writer.tx, writer.person(one), writer.preset, one.id, "user_deleted",
                expect_version=one.version or None,
            )  # fmt: skip
            deeds.append(_deed(writer, "withdraw", written))
        elif one.kind == "offered":
            proposals.decline_proposal(writer.tx, one.id, writer.now)
            deeds.append(Deed("withdraw", one.content, proposal=one.id))
        else:
            deeds.append(Deed("withdraw", one.content))
    if not deeds:
        words = " … ".join(_words(writer, span) for span in step.withdrawn)
        deeds = [Deed("withdraw", words)]
    if step.matter:
        chats, silent = _silence(writer, step.matter)
    else:
        chats, silent = (), ()
    hushed = ""
    if not step.targets:
        hushed = step.matter
    deeds[0] = replace(deeds[0], withdrawn=step.withdrawn, hushed=hushed, chats=chats, unquoted=silent)
    return deeds


def _words(writer: Writer, span: tuple[int, int, int]) -> str:
    turn, start, end = span
    if turn == writer.turn:
        return writer.text[start:end].strip()
    return ""


def _silence(writer: Writer, matter: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Recall no longer quotes what chats say of a matter that was forgotten. Answers the titles of earlier chats, and
    the proposals that say so."""
    titles: dict[str, str] = {}
    turns: dict[str, list[int]] = {writer.thread_id: [writer.turn, writer.turn + 1]}
    for row in forgotten.saying(writer.tx, matter):
        turns.setdefault(row.thread_id, []).append(row.turn)
        titles[row.thread_id] = row.title or UNTITLED
    titles.pop(writer.thread_id, None)
    silent = [proposals.note_forgotten(writer.tx, writer.now, matter, id, some) for id, some in sorted(turns.items())]
    return tuple(titles.values()), tuple(silent)


def _never(writer: Writer, step: TurnStep) -> list[Deed]:
    chosen = choices.get_choices(writer.tx).never
    new = [topic for topic in step.topics if topic not in chosen]
    changed = choices.change_choices(writer.tx, never=[*chosen, *new])
    proposals.expire_forbidden(writer.tx, changed.never, writer.now)
    return [Deed("never", topics=step.topics)]


def _undo(writer: Writer, _: TurnStep) -> list[Deed]:
    """The last thing that this chat did is taken back: a turn's deeds, or what a tool has written since."""
    entries = ledger.entries(writer.tx, thread_id=writer.thread_id, limit=50)
    gone = {entry.undoes for entry in entries if entry.undoes}
    standing = [entry for entry in entries if entry.event not in gone]
    turn = _last_turn_done(writer)
    if turn is not None:
        wrote = {deed.event for deed in from_parts(turn.parts) if deed.event}
    else:
        wrote = set()
    newest = None
    if standing:
        newest = standing[0]
    if newest is not None and (turn is None or (newest.event not in wrote and newest.at > turn.at)):
        return [_undone(writer, newest.event)]
    if turn is None:
        return [Deed("undo", failed="There is nothing in this chat to take back.")]
    _take_back_words(writer, from_parts(turn.parts))
    events = [entry.event for entry in standing if entry.event in wrote]
    deeds = [_undone(writer, event) for event in events] or [Deed("undo")]
    return [replace(deed, of=turn.turn) for deed in deeds]


def _undone(writer: Writer, event: int) -> Deed:
    result = undo.undo(writer.tx, writer.person(), writer.preset, event)
    if isinstance(result, Written):
        return _deed(writer, "undo", result)
    return Deed("undo")


def _last_turn_done(writer: Writer) -> Message | None:
    """The last turn of this chat whose deeds stand."""
    said = threads.current_messages(
        threads.messages_of(writer.tx, writer.thread_id, after=max(0, writer.turn - LOOKED_BACK))
    )
    turns = {one.turn: one for one in said if one.role == "user"}
    standing = standing_deeds({number: from_parts(one.parts) for number, one in turns.items()})
    done = [number for number, deeds in standing.items() if any(deed.is_done and deed.act != "undo" for deed in deeds)]
    if done:
        return turns[max(done)]
    return None


def _take_back_words(writer: Writer, deeds: Sequence[Deed]) -> None:
    """What deeds did beside writing lines: words kept out, offers declined, topics forbidden."""
    for deed in deeds:
        for id in deed.unquoted:
            proposals.take_back_forgotten(writer.tx, id, writer.now)
        if deed.act == "withdraw" and deed.proposal:
            proposals.reopen_proposal(writer.tx, deed.proposal, writer.now)
    topics = {topic for deed in deeds for topic in deed.topics}
    if topics:
        chosen = choices.get_choices(writer.tx).never
        choices.change_choices(writer.tx, never=[topic for topic in chosen if topic not in topics])


def _off(_writer: Writer, _step: TurnStep) -> list[Deed]:
    return [Deed("off", question=OFF, asked=True, ordered=True)]


def _ban_asked(_writer: Writer, step: TurnStep) -> list[Deed]:
    return [Deed("ban_asked", question=BAN, asked=True, ordered=True, options=step.topics)]


def _erase(_writer: Writer, _step: TurnStep) -> list[Deed]:
    return [Deed("erase")]


_APPLY: dict[str, Callable[[Writer, TurnStep], list[Deed]]] = {
    "keep": _keep,
    "offer": _offer,
    "repeat": _repeat,
    "change": _change,
    "end": _end,
    "which": _ask,
    "answer": _answer,
    "withdraw": _withdraw,
    "never": _never,
    "undo": _undo,
    "off": _off,
    "ban_asked": _ban_asked,
    "erase": _erase,
}


# As the ledger has it


def _deed(writer: Writer, act: str, written: Written) -> Deed:
    """A deed as its entry says: the words that stand, and the write as a reply shows it with Undo."""
    return Deed(
        act, written.content, memory=written.id, event=written.event, quoted=written.quoted,
        calls=event_calls(writer.tx, written),
    )  # fmt: skip


def event_calls(tx: Tx, written: Written) -> tuple[dict[str, Any], ...]:
    if written.event is None:
        return ()
    entry = ledger.entries(tx, after=written.event - 1, before=written.event + 1, limit=1)[0]
    before, after = brief_state(entry.before), brief_state(entry.after)
    if after is not None and written.quoted:
        after["shown"] = shown_text(written)
    event = {"op": entry.action, "id": written.id, "before": before, "after": after, "event": written.event}
    id = f"order_{written.event}"
    call = {"id": id, "name": ORDER, "arguments": {}, "answer": None, "memory_event": event, "round": 0, "at": 0}
    return (call,)
