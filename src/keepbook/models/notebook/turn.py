"""A person's turn as one unit of work: read the book, understand, decide; then store the turn with what it does.

No transaction is open while text is read or embedded. What was decided is written with the versions it was decided on;
if a line has changed meanwhile it is decided anew once, and then asked. If reading or deciding fails, the turn is
stored and nothing is done.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from logging import Logger

from keepbook.book.book import Book
from keepbook.book.chats import adding, threads
from keepbook.book.chats.face import Chat
from keepbook.book.chats.threads import Message
from keepbook.book.ground.one_line_log import get_logger
from keepbook.book.ground.when import stamp
from keepbook.book.recall.turns.hits import ChatHit
from keepbook.book.recall.vectors import Meaning
from keepbook.book.text.own_words import own_words
from keepbook.book.text.topics import find_topics
from keepbook.errors import Invalid
from keepbook.models.model import DialogueTurn
from keepbook.models.notebook.apply import Stale, Writer, apply
from keepbook.models.notebook.brief.title import UNTITLED, chat_title
from keepbook.models.notebook.decide import decide_steps
from keepbook.models.notebook.quote import secrets_of_turn
from keepbook.models.notebook.read import Understood, shared_moves, understand
from keepbook.models.notebook.reply.phrases import says
from keepbook.models.notebook.reply.view import View
from keepbook.models.notebook.scene import TurnContext, load_context, may_ask, with_lines_of_bans, with_turn
from keepbook.models.notebook.values import (
    NOTEBOOK,
    Deed,
    Scene,
    TurnStep,
    deeds_to_parts,
    from_parts,
    is_persons,
    standing_deeds,
    withdrawn_spans,
)
from keepbook.models.recorded_turns import recorders_in_view
from keepbook.storage.database import Tx

BEFORE_A_MODEL = ("withdraw", "never", "undo", "off", "erase")
"""What the engine itself does where a model answers: safe, sure and undoable."""
NOTHING = Understood((), "en")

log: Logger = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class TurnTaken:
    """A stored turn, what it did, what it was read against, and the orders left to the answering model."""

    message: Message
    deeds: tuple[Deed, ...]
    loaded: TurnContext
    read: Understood
    left: tuple[TurnStep, ...] = ()
    titled: str | None = None
    """The title that this turn gave the chat."""


def take_turn(
    book: Book,
    chat: Chat,
    text: str,
    *,
    hidden: str | None = None,
    instead_of: int | None = None,
    with_model: bool = False,
    loaded: TurnContext | None = None,
) -> TurnTaken:
    """Store a turn of the person with what it does. Where a model answers that sees what others recorded, its tools
    do not act for the person: then their orders are carried out here."""
    said = _StoredTurn(book, chat, text, hidden, instead_of, with_model)
    for attempt in (_as_decided, _as_decided, _asked_instead):
        loaded = loaded or load_context(book, chat.id, text, before=instead_of)
        read, steps = _decide(book, loaded, text)
        try:
            return said.store(loaded, read, [attempt(step) for step in steps])
        except Stale:
            stale, loaded = loaded, None
    return said.store(stale, read, [])  # whoever else writes here is faster each time: the words are stored


def _as_decided(step: TurnStep) -> TurnStep:
    return step


def _decide(book: Book, loaded: TurnContext, text: str) -> tuple[Understood, list[TurnStep]]:
    """What the turn means; nothing where memory is not wanted, or where reading fails."""
    if not loaded.remembers:
        return NOTHING, []
    scene = with_turn(loaded, loaded.thread.turns + 1, text, loaded.scene.now)
    try:
        read = understand(scene)
        steps = _steps(scene, read)
        bans = [step.topics for step in steps if step.act == "never"]
        banned = {topic for topics in bans for topic in topics}
        if banned <= set(scene.topics):
            return read, steps
        loaded = with_lines_of_bans(book, loaded, sorted(banned))
        return read, _steps(with_turn(loaded, scene.turn.number, text, scene.now), read)
    except Exception:  # the words are kept whatever becomes of their meaning
        log.exception("a turn could not be understood")
        return NOTHING, []


def _steps(scene: Scene, read: Understood) -> list[TurnStep]:
    moves = shared_moves()
    return decide_steps(scene, read, moves.bars, changes=moves.name != "linear")


def _asked_instead(step: TurnStep) -> TurnStep:
    """A change of a line that keeps changing is asked about."""
    if step.act == "change":
        return replace(step, act="which", question="change")
    if step.act == "end":
        return replace(step, act="which", question="over")
    if step.act == "withdraw" and step.targets:
        return replace(step, act="which", question="which")
    return step


@dataclass(frozen=True, slots=True)
class _StoredTurn:
    """A turn on its way into the book."""

    book: Book
    chat: Chat
    text: str
    hidden: str | None
    instead_of: int | None
    with_model: bool

    def store(self, loaded: TurnContext, read: Understood, steps: Sequence[TurnStep]) -> TurnTaken:
        """The turn and what it does, in one transaction. `Stale` where the chat or a line has gone on meanwhile."""
        others = recorders_in_view(loaded.messages, loaded.thread)
        now = [
            step for step in steps
            if not self.with_model or step.act in BEFORE_A_MODEL or (others and step.is_order)
        ]  # fmt: skip
        left = tuple(step for step in steps if step not in now)
        with self.book.writing(loaded.thread.preset) as (tx, preset):
            number = threads.get_thread(tx, self.chat.id).turns + 1
            if steps and number != loaded.thread.turns + 1:
                raise Stale
            if not self.with_model and loaded.remembers and loaded.thread.turns == 0:
                self.chat.inject()  # what a chat is given is settled before its first word does anything
            adding.announce_turn(tx, self.chat.id, number, "user", self.text)
            writer = Writer(tx, preset, self.chat.id, number, self.text, self.book.origin.door, loaded.scene.asked)
            deeds = apply(writer, now)
            told = None
            if self.with_model:
                told = for_model(deeds)
            message = adding.add_message(
                tx, self.chat.id, "user", self.text, stamp(tx.clock()),
                hidden="\n\n".join(part for part in (self.hidden, told) if part) or None,
                parts=deeds_to_parts(deeds, kept=not self.with_model and loaded.remembers), instead_of=self.instead_of,
                close_after_hours=self.book.close_after_hours,
            )  # fmt: skip
            titled = _update_title(tx, loaded, message, deeds)
        return TurnTaken(message, tuple(deeds), loaded, read, left, titled)


def record_turn(
    book: Book, chat: Chat, text: str, loaded: TurnContext, *, hidden: str | None = None, instead_of: int | None = None
) -> TurnTaken:
    """Store a turn that does nothing by itself."""
    with book.writing() as (tx, _):
        message = adding.add_message(
            tx, chat.id, "user", text, stamp(tx.clock()), hidden=hidden, instead_of=instead_of,
            recorded_by=book.origin.writer(), close_after_hours=book.close_after_hours,
        )  # fmt: skip
        titled = _update_title(tx, loaded, message, ())
    return TurnTaken(message, (), loaded, NOTHING, titled=titled)


def read_again(book: Book, chat: Chat, message: Message) -> TurnTaken:
    """A stored turn as it was taken, for a new answer."""
    loaded = load_context(book, chat.id, message.text, before=message.turn)
    read = NOTHING
    if loaded.remembers and is_persons(message.parts):
        try:
            read = understand(with_turn(loaded, message.turn, message.text, message.at))
        except Exception:  # it is answered all the same
            log.exception("a turn could not be understood")
    return TurnTaken(message, from_parts(message.parts), loaded, read)


def view_of(taken: TurnTaken, meaning: Meaning | None) -> View:
    """The input of the notebook's reply."""
    loaded, text = taken.loaded, taken.message.text
    asks = any(clause.move.act == "ask" for clause in taken.read.clauses) or "?" in text
    asks = asks or (not taken.deeds and _asks_unmarked(taken.read, text))
    turns = tuple(hit for hit in loaded.chat_hits if _may_quote(hit, loaded))
    if loaded.chosen.never:
        read = "\n".join(text[start:end] for start, end in own_words(text))
        never = tuple(find_topics(read, loaded.chosen.never, meaning))
    else:
        never = ()
    return View(
        taken.deeds, loaded.hits, turns, loaded.latest, loaded.offered, loaded.thread.id,
        asks=asks, language=taken.read.language,
        unread=taken.read.unread, sense=meaning,
        never=never,
        topics=loaded.chosen.never, secret=bool(secrets_of_turn(text)), remembers=loaded.remembers,
        introduced=any(one.speaker == NOTEBOOK and says(one.text, "intro") for one in loaded.messages),
        hinted=loaded.hinted, feeling=taken.read.feeling,
        questions=len(loaded.scene.questions),
        topic=loaded.topic, about=loaded.about,
    )  # fmt: skip


def _may_quote(hit: ChatHit, loaded: TurnContext) -> bool:
    """Whether a turn may be quoted in an answer: any of another chat, and of this one what the person said before,
    unless they took words of it back."""
    if hit.thread_id != loaded.thread.id:
        return True
    return hit.recorded_by is None and hit.turn not in loaded.scene.withdrawn


def _asks_unmarked(read: Understood, text: str) -> bool:
    """Whether a turn without its mark is a question: learned for English, else told by how it begins."""
    if read.language == "en":
        return any(clause.label == "question" for clause in read.clauses)
    return may_ask(text)


def _update_title(tx: Tx, loaded: TurnContext, message: Message, deeds: Sequence[Deed]) -> str | None:
    """A chat is named by its first statement as soon as there is one; anew where that was taken back or said anew. A
    name by hand is never touched, an incognito chat has none."""
    thread = loaded.thread
    named = thread.title not in (None, UNTITLED)
    again = any(deed.withdrawn for deed in deeds) or message.instead_of is not None
    if thread.incognito or thread.titled_by == "person" or (named and not again):
        return None
    unkept = threads.unkept_turns(tx, thread.id)
    messages = [one for one in (*loaded.messages, message) if one.turn not in unkept]
    standing = standing_deeds({one.turn: from_parts(one.parts) for one in messages if one.role == "user"})
    turns = [DialogueTurn(one.turn, one.role, one.text, one.at, one.speaker) for one in messages]
    withdrawn: dict[int | str, Sequence[tuple[int, int]]] = dict(withdrawn_spans(standing).items())
    found = chat_title(turns, withdrawn)[: threads.TITLE_LIMIT]
    if found in (thread.title, UNTITLED) and not named:
        return None
    try:
        return threads.rename(tx, thread.id, found, by="rules").title
    except Invalid:  # an odd sentence is not worth the turn that it was to name
        return None


def for_model(deeds: Sequence[Deed]) -> str | None:
    """What was done before a model answers, in words for the model: statements, never instructions."""
    lines = []
    for deed in deeds:
        line = _statement(deed)
        if line:
            lines.append(line)
    return "\n".join(lines) or None


def _statement(deed: Deed) -> str:
    if deed.failed:
        return f"Not done, because {deed.failed}"
    match deed.act:
        case "keep" | "change" | "end" if deed.memory:
            return f"Written just now ({deed.act}): [{deed.memory}] {deed.content}"
        case "withdraw" if deed.memory:
            return f"Forgotten just now: [{deed.memory}] {deed.content}"
        case "withdraw":
            return f"Will not be kept: {deed.content or deed.hushed}"
        case "never":
            return f"From now on nothing is kept about: {', '.join(deed.topics)}"
        case "undo":
            if deed.content:
                return f"Taken back just now: {deed.content}"
            return "The last order was taken back."
        case "off":
            return "The person is being asked whether memory is to be switched off."
        case "which":
            return "The person is being asked which of several lines they mean."
        case "erase":
            return "Erasing a whole book is done on the memory page, not in a chat."
    return ""
