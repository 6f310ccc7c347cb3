"""A person's turn as it comes in: its orders heard, decided, carried out, and stored together with the turn."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from keepbook.book.book import Book
from keepbook.book.chats import threads
from keepbook.book.chats.face import Chat
from keepbook.book.chats.threads import Message
from keepbook.book.ground.patterns import regex
from keepbook.book.ground.when import stamp
from keepbook.book.memory import proposals
from keepbook.book.owners import choices
from keepbook.book.recall.forgotten import unquoted
from keepbook.models.closing.known import known_memories
from keepbook.models.lines.matters import HUSHED, fit, sharing
from keepbook.models.model import Known
from keepbook.models.noted import Noted, Said, noted, reader, unpasted
from keepbook.models.orders import confirmations
from keepbook.models.orders.asked import LONGEST, written
from keepbook.models.orders.carry import Hand, carry
from keepbook.models.orders.decide import decide
from keepbook.models.orders.scene import Scene
from keepbook.models.orders.values import Deed, Held, Question, of_parts, standing, to_parts
from keepbook.models.reader.values import Reader

EDITING = regex(r"^The (?:person|user) wants to change the memory (?P<id>[A-Za-z0-9]{8})\b", re.MULTILINE)
"""How a page says, in hidden context of its question, which memory a chat was opened to edit."""


@dataclass(frozen=True, slots=True)
class Heeded:
    """A turn with what it did."""

    message: Message
    deeds: tuple[Deed, ...]


def as_said(messages: Sequence[Message]) -> list[Said]:
    """Stored messages as they are read for statements."""
    orders, wrote = ordered(messages), written(messages)
    return [
        Said(one.turn, one.role, _own(one), orders.get(one.turn, ()), one.speaker, wrote.get(one.turn))
        for one in messages
        if one.role in ("user", "assistant")
    ]


def ordered(messages: Sequence[Message]) -> dict[int, tuple[Deed, ...]]:
    """The orders that each turn of the person gave, as far as they stand."""
    return standing({one.turn: of_parts(one.parts) for one in messages if one.role == "user"})


def _own(message: Message) -> str:
    return unpasted(message.text) if message.role == "user" else message.text


def obey(
    book: Book,
    chat: Chat,
    text: str,
    *,
    hidden: str | None = None,
    instead_of: int | None = None,
    orders: bool = True,
) -> Heeded:
    """Store a turn of the person with what it orders done; an agent's is stored, and orders nothing."""
    if book.origin.actor != "person" or not orders:
        with book.writing() as (tx, _):
            plain = threads.add(
                tx, chat.id, "user", text, stamp(tx.clock()), hidden=hidden, instead_of=instead_of,
                close_after_hours=book.close_after_hours,
            )  # fmt: skip
        return Heeded(plain, ())
    thread = chat.thread
    wanted = not thread.incognito and book.choices.memory
    earlier = [one for one in threads.standing(chat.messages()) if instead_of is None or one.turn < instead_of]
    read = reader() if wanted else None
    scene = None
    own = unpasted(text)
    if read is not None:
        scene = _scene(book, chat, earlier, own, hidden, read)
    deeds = decide(scene) if scene is not None and len(own.strip()) <= LONGEST else []
    with book.writing(thread.preset) as (tx, preset):
        now = threads.get(tx, chat.id)
        hand = Hand(preset, chat.id, now.turns + 1, book.origin.door, own, book.meaning)
        done = carry(tx, hand, deeds) if deeds else []
        context = "\n\n".join(filter(None, [hidden, confirmations.for_model(done)])) or None
        message = threads.add(
            tx, chat.id, "user", text, stamp(tx.clock()), hidden=context, parts=to_parts(done),
            instead_of=instead_of, close_after_hours=book.close_after_hours,
        )  # fmt: skip
    return Heeded(message, tuple(done))


def at_hand(book: Book, chat: Chat) -> tuple[tuple[Known, ...], tuple[Noted, ...]]:
    """What the book says by now, and what this chat has noted; nothing where memory is not wanted."""
    thread = chat.thread
    if thread.incognito or not book.choices.memory:
        return (), ()
    with book.reading() as (tx, _, _):
        known, declined = known_memories(tx), proposals.declined(tx)
    noted = _now_noted(book, chat, reader())
    gone = [*declined, *(one.content for one in known)]

    def is_there(line: str) -> bool:
        return any(proposals.alike(line, text) for text in sharing(line, gone))

    return known, tuple(one for one in noted if not is_there(one.content))


def _now_noted(book: Book, chat: Chat, read: Reader) -> tuple[Noted, ...]:
    thread = chat.thread
    preset, never = book.preset(thread.preset), book.choices.never
    said = as_said(threads.standing(chat.messages()))
    found = noted(said, read, vocabulary=preset.categories, never=never, sense=book.meaning)
    with book.reading() as (tx, _, _):
        gone = unquoted(tx).get(chat.id, {})

    def is_forgotten(one: Noted) -> bool:
        before = {matter for turn, matter in gone.items() if one.place.turn <= turn}
        return any(fit(matter, one.content) >= HUSHED for matter in before)

    return tuple(one for one in found if one.place.turn > thread.extracted_through and not is_forgotten(one))


def _scene(book: Book, chat: Chat, earlier: Sequence[Message], text: str, hidden: str | None, read: Reader) -> Scene:
    """What the turn is read against."""
    thread = chat.thread
    turn = thread.turns + 1
    said = [*as_said(earlier), Said(turn, "user", text)]
    with book.reading(thread.preset) as (tx, preset, _):
        known, never = known_memories(tx), choices.chosen(tx).never
        waiting = proposals.listed(tx)
    found = noted(said, read, vocabulary=preset.categories, never=never, sense=book.meaning, everything=True)
    before = [one for one in found if one.place.turn < turn and one.place.turn > thread.extracted_through]
    people = [one for one in earlier if one.role == "user"]
    replies = [one for one in earlier if one.role == "assistant"]
    previous = people[-1] if people else None
    last = of_parts(previous.parts) if previous else ()
    return Scene(
        turn, text, before, known,
        previous=previous.text if previous else "",
        asked=_open_question(last, replies[-1] if replies else None, hidden, known),
        told=[replies[-1].text] if replies else [],
        last_new=next((change.new for deed in reversed(last) for change in deed.changes if change.new), None),
        tie=read.tie,
        orders=ordered(earlier),
        here=[one for one in found if one.place.turn == turn],
        waiting=[Held(one.content, proposal=one.id) for one in waiting if one.thread_id == chat.id],
        waiting_elsewhere=[Held(one.content, proposal=one.id) for one in waiting if one.thread_id != chat.id],
    )  # fmt: skip


def _open_question(
    last: Sequence[Deed], reply: Message | None, hidden: str | None, known: Sequence[Known]
) -> Question | None:
    asked = next((deed.question for deed in reversed(last) if deed.question is not None), None)
    if asked is not None:
        return asked
    if last:
        return None
    wanted = EDITING.search("\n".join(filter(None, [hidden, reply.hidden if reply else None])))
    memory = next((one for one in known if wanted and one.id == wanted["id"]), None)
    return Question("edit", (Held(memory.content, memory=memory.id, protected=memory.protected),)) if memory else None
