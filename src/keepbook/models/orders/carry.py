"""The book changed as an order says, on the person's word and with the person's turn; all of it or nothing.

What cannot be done (a topic never to be kept, a secret, a line that is too long) is said, and nothing is written
for it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from keepbook.book.chats import threads
from keepbook.book.ground.patterns import regex
from keepbook.book.ground.when import stamp
from keepbook.book.ledger import ledger, undo
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes, proposals
from keepbook.book.memory.changes import Statement
from keepbook.book.memory.memories import Written
from keepbook.book.owners import choices
from keepbook.book.recall import forgotten
from keepbook.book.text.secrets import find_secrets
from keepbook.book.text.topic_meaning import Sense
from keepbook.book.text.topics import touched
from keepbook.errors import KeepbookError
from keepbook.models.compress import ORDER
from keepbook.models.lines.categories import category_of
from keepbook.models.lines.people import names_of
from keepbook.models.offline.notebook.phrases import say
from keepbook.models.orders.confirmations import EVERYTHING
from keepbook.models.orders.hear import TAKES_OUT
from keepbook.models.orders.values import Change, Deed, Held, of_parts
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.tools.memory import small

UNTITLED = "a chat without a title"
_MISTAKE = regex(r"\b(?:now|moved?|changed?|since|any ?more|no longer|switched|new)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Hand:
    """In whose name and where: the chat, the turn that said it, and the preset in force."""

    preset: Preset
    thread_id: str
    turn: int
    door: str
    text: str
    sense: Sense | None = None

    def origin(self, old: Held | None = None) -> Origin:
        """As the person. What was the person's own word stays that."""
        own = old is not None and old.protected
        return Origin("person", self.door, self.thread_id, source=None if own else "chat")

    @property
    def updates(self) -> bool:
        """Whether a memory is said anew here; else the old one is forgotten and the new one kept."""
        return any(tool.does == "update" for tool in self.preset.tools) or not self.preset.tools


def carry(tx: Tx, hand: Hand, deeds: Sequence[Deed]) -> list[Deed]:
    """The deeds as they were done: with the entries they made, and with what failed."""
    return [_carried(tx, hand, deed) for deed in deeds]


def _carried(tx: Tx, hand: Hand, deed: Deed) -> Deed:
    calls: list[dict[str, Any]] = []
    try:
        if deed.kind == "undo":
            return _undone(tx, hand, deed)
        if deed.topics:
            chosen = choices.chosen(tx).never
            choices.choose(tx, never=[*chosen, *(topic for topic in deed.topics if topic not in chosen)])
        done = [_change(tx, hand, change, calls) for change in deed.changes]
    except KeepbookError as error:
        return deed.moved(changes=(), taken=deed.taken[:1], failed=error.message)
    refused = next((why for _, why in done if why), None)
    kept = tuple(change for change, _ in done)
    chats, silent = _silenced(tx, hand, deed)
    return deed.moved(
        changes=kept,
        failed=refused,
        chats=chats,
        unquoted=silent,
        calls=tuple(calls),
        events=tuple(call["memory_event"]["event"] for call in calls),
    )


def _silenced(tx: Tx, hand: Hand, deed: Deed) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What chats say of a matter that is to be forgotten, the order itself and its reply among it: recall quotes it no
    more. Answers the titles of earlier chats, and the proposals that say so."""
    if deed.kind != "withdraw" or not deed.hushed or not TAKES_OUT.search(hand.text):
        return (), ()
    matter = deed.matter.removeprefix(EVERYTHING)
    titles: dict[str, str] = {}
    turns: dict[tuple[str, str], list[int]] = {(hand.thread_id, matter): [hand.turn, hand.turn + 1]}
    lines = [change.old.content for change in deed.changes if change.old is not None]
    for told in (matter, *names_of(matter, lines)):
        for row in forgotten.saying(tx, told):
            turns.setdefault((row.thread_id, told), []).append(row.turn)
            titles[row.thread_id] = row.title or UNTITLED
    now = stamp(tx.clock())
    silent = tuple(proposals.note_forgotten(tx, now, told, id, some) for (id, told), some in sorted(turns.items()))
    return tuple(title for id, title in titles.items() if id != hand.thread_id), silent


def _change(tx: Tx, hand: Hand, change: Change, calls: list[dict[str, Any]]) -> tuple[Change, str | None]:
    old, new = change.old, change.new
    if new is not None and (why := _barred(tx, hand, new)):
        return change, why
    if new is None:
        if old is not None:
            _drop(tx, hand, old, "user_deleted", calls)
        return change, None
    told: dict[str, Any] = {"turn_ids": (str(hand.turn),)}
    if old is not None and old.memory is not None and hand.updates:
        mistake = not _MISTAKE.search(hand.text)
        written = changes.update(
            tx, hand.origin(old), hand.preset, old.memory, Statement(new, **told), correction=mistake
        )
        calls.extend(_call(tx, written))
        return change, None
    if old is not None:
        _drop(tx, hand, old, "user_corrected", calls)
    if hand.preset.consent == "ask" and (old is None or old.memory is None):
        proposals.propose(
            tx, stamp(tx.clock()), nature="proposal", op="add", content=new, thread_id=hand.thread_id,
            category=_category(hand, new, change.category), **told,
        )  # fmt: skip
        return change, None
    written = changes.remember(
        tx,
        hand.origin(old),
        hand.preset,
        Statement(new, category=_category(hand, new, change.category), force=True, **told),
    )
    calls.extend(_call(tx, written))
    return change, None


def _category(hand: Hand, content: str, name: str | None) -> str | None:
    known = hand.preset.categories
    return category_of(content, known) or (name if name in known else None)


def _drop(tx: Tx, hand: Hand, old: Held, reason: str, calls: list[dict[str, Any]]) -> None:
    """Out of the book, and out of what waits for an answer, in whichever chat it was found."""
    if old.memory is not None:
        calls.extend(_call(tx, changes.forget(tx, hand.origin(old), hand.preset, old.memory, reason)))
    for waiting in proposals.listed(tx):
        here = waiting.thread_id == hand.thread_id and proposals.alike(waiting.content, old.content)
        if here or waiting.id == old.proposal:
            proposals.decline(tx, waiting.id, stamp(tx.clock()))


def _barred(tx: Tx, hand: Hand, content: str) -> str | None:
    if find_secrets(content):
        return say("en", "secret")
    topics = touched(content, choices.chosen(tx).never, hand.sense)
    return f"You asked never to keep anything about {topics[0]}." if topics else None


def _undone(tx: Tx, hand: Hand, deed: Deed) -> Deed:
    """What the last order of this chat wrote, taken back; where it wrote nothing, it holds no longer. What a tool has
    written since is later and goes first."""
    entries = ledger.entries(tx, thread_id=hand.thread_id, limit=50)
    gone = {entry.undoes for entry in entries if entry.undoes}
    said = threads.said(tx, hand.thread_id, after=deed.of - 1)[0] if deed.of is not None else None
    for id in (id for one in (of_parts(said.parts) if said is not None else ()) for id in one.unquoted):
        proposals.take_back_forgotten(tx, id, stamp(tx.clock()))
    wrote = {event for one in of_parts(said.parts) for event in one.events} if said is not None else set()
    stands = [entry for entry in entries if entry.event not in gone]
    last = next((one for one in stands if one.action != "undo" and (said is None or one.at > said.at)), None)
    meant = [last] if last is not None else [one for one in stands if one.event in wrote]
    if not meant:
        return deed if said is not None else deed.moved(failed="There is nothing in this chat to take back.")
    made = [undo.undo(tx, hand.origin(), hand.preset, one.event) for one in meant]
    written = [one for one in made if isinstance(one, Written)]
    calls = [call for one in written for call in _call(tx, one)]
    return deed.moved(
        matter=written[-1].content if written else "",
        changes=tuple(Change(new=one.content) for one in written if meant[0].action == "undo"),
        of=None if last is not None else deed.of,
        calls=tuple(calls),
        events=tuple(call["memory_event"]["event"] for call in calls),
    )


def _call(tx: Tx, written: Written) -> list[dict[str, Any]]:
    """As a reply stores it: the page shows it as a slip with Undo."""
    if written.event is None:
        return []
    entry = ledger.entries(tx, after=written.event - 1, limit=1)[0]
    event = {
        "op": entry.action,
        "id": written.id,
        "before": small(entry.before),
        "after": small(entry.after),
        "event": written.event,
    }
    id = f"order_{written.event}"
    return [{"id": id, "name": ORDER, "arguments": {}, "answer": None, "memory_event": event, "round": 0, "at": 0}]
