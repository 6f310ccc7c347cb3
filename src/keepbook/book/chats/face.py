"""The faces of a book for chats and notes: each method opens the owner's transaction and calls the one operation that
does the work."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from keepbook.book.chats import adding, learned_memories, notes, pencil, threads
from keepbook.book.chats.adding import ComingTurn
from keepbook.book.chats.chat_facts import PERSONS_PART
from keepbook.book.chats.closing_result import ClosingResult
from keepbook.book.chats.notes import Note
from keepbook.book.chats.pencil import Pencil
from keepbook.book.chats.threads import Message, Thread
from keepbook.book.chats.whose_chats import is_hidden, refuse_noting, refuse_our_name, refuse_persons_chat
from keepbook.book.ground.argument_docs import explain_arguments
from keepbook.book.ground.limits import clean_chat_mode, clean_json
from keepbook.book.ground.open_book import OpenBook, beside_memory, note_memory_use
from keepbook.book.ground.when import instant, later, read_moment, stamp
from keepbook.book.ledger.ledger import present
from keepbook.book.memory import injections
from keepbook.book.memory.likeness.put_away import put_away_keys, refuse_forgotten, refuse_words
from keepbook.book.memory.memories import Written
from keepbook.book.owners import owners, switches
from keepbook.book.owners.switches import Told
from keepbook.book.text.indexes.turn_index import INDEXED, TurnWords, turn_words
from keepbook.book.text.indexes.words_behind import LETTERS_AT_ONCE
from keepbook.book.text.topics import find_topics
from keepbook.errors import Conflict, Invalid, NotAllowed
from keepbook.storage.database import Tx

MOST_TURNS, MOST_LETTERS = 1000, 1_000_000
"""The most turns, and the most letters in them, that one call records: nobody else can write meanwhile."""

if TYPE_CHECKING:
    from keepbook.book.recall.chats import Snippet
    from keepbook.book.recall.turns.hits import ChatHit


@dataclass(frozen=True, slots=True)
class NewTurn:
    """A turn to be recorded. `parts` is what a program notes with it."""

    role: str
    text: str
    at: Any = None
    speaker: str | None = None
    parts: Any = None


def _read_ahead(book: OpenBook, turns: Sequence[NewTurn]) -> list[TurnWords | None]:
    """What turns are found by, read before anything is locked: others write meanwhile. What cannot be recorded is
    refused. Of long turns the words are written later, and read then."""
    if len(turns) > MOST_TURNS:
        raise Invalid(f"record at most {MOST_TURNS:,} turns at once, and the rest after them", field="turns")
    letters = 0
    for one in turns:
        letters += len(adding.clean_turn(one.role, one.text))
        if one.parts:
            letters += len(clean_json(one.parts, "parts"))
        _refuse_persons_mark(book, one.parts)
    if letters > MOST_LETTERS:
        raise Invalid(f"record at most {MOST_LETTERS:,} letters at once, and the rest after it", field="turns")
    if letters > LETTERS_AT_ONCE:
        return [None] * len(turns)
    return [turn_words(one.text, one.role) if one.role in INDEXED else None for one in turns]


def _refuse_persons_mark(book: OpenBook, parts: Any) -> None:
    """Refuse a program that records a turn as one that the person said at a door of ours."""
    if book.hand.is_program and isinstance(parts, Mapping) and PERSONS_PART in parts:
        raise Invalid(f"parts: {PERSONS_PART!r} marks what the person said at a door of ours", field="parts")


def _moment(tx: Tx, at: Any) -> str:
    """When a turn was said."""
    moment = instant(at, field="at", zone=owners.zone_name(tx))
    if moment is not None and moment > later(stamp(tx.clock()), days=1):
        raise Invalid("at: what was said lies in the past", field="at")
    return moment or stamp(tx.clock())


@explain_arguments
class Chat:
    """One chat: `book.thread("session-42")` for an outside agent, `book.threads.get(id)` for ours."""

    def __init__(self, book: OpenBook, thread: Thread) -> None:
        self.book = book
        self.id: str = thread.id
        self.session: str | None = thread.session
        self.agent: str | None = thread.agent

    def __repr__(self) -> str:
        return f"<Chat {self.id} of {self.book.owner!r}>"

    @property
    def thread(self) -> Thread:
        """The chat's present state."""
        with self.book.reading() as (tx, _, _):
            return self._shown(tx)

    def _shown(self, tx: Tx) -> Thread:
        """The chat, if the actor may know that there is one."""
        thread = threads.get_thread(tx, self.id)
        if is_hidden(self.book, tx, thread):
            raise threads.no_chat(self.id)
        return thread

    def add(
        self,
        role: str,
        text: str,
        at: Any = None,
        speaker: str | None = None,
        *,
        hidden: str | None = None,
        parts: Any = None,
    ) -> Message:
        """Record what was said, now or at a given moment."""
        if hidden and role == "assistant" and self.book.origin.actor == "agent":
            raise NotAllowed("hidden words on a reply ride along with what the person says next", code="person_only")
        turn = NewTurn(role, text, at, speaker, parts)
        words = _read_ahead(self.book, [turn])
        with self.book.writing() as (tx, _):
            (added,) = self._record(tx, [turn], words, hidden)
            return added

    def _record(
        self, tx: Tx, turns: Sequence[NewTurn], words: Sequence[TurnWords | None], hidden: str | None = None
    ) -> list[Message]:
        if self.book.hand.is_program:
            self._shown(tx)
        coming = [
            ComingTurn(
                one.role, one.text, _moment(tx, one.at), speaker=one.speaker, hidden=hidden, parts=one.parts,
                recorded_by=self.book.origin.writer(), words=found,
            )
            for one, found in zip(turns, words, strict=True)
        ]  # fmt: skip
        return adding.add_messages(tx, self.id, coming, close_after_hours=self.book.close_after_hours)

    def add_all(self, turns: Sequence[NewTurn], after: int | None = None) -> Sequence[Message]:
        """Record several turns, all or none. `after` is how many you have seen of this chat: where others have come
        meanwhile, a `Conflict` with the code `turns` says so."""
        words = _read_ahead(self.book, turns)
        with self.book.writing(apart=True) as (tx, _):
            now = self._shown(tx).turns
            if after is not None and after != now:
                raise Conflict(f"chat {self.id} has {now} turns by now; read it again", code="turns", turns=now)
            return self._record(tx, turns, words)

    def take_out_of_view(self, turns: Sequence[int] | None = None) -> Thread:
        """Leave turns that others recorded out of what a model is sent; without numbers all of them. They stay
        readable."""
        return self._set_view(lambda away, those: away | those, turns)

    def bring_into_view(self, turns: Sequence[int] | None = None) -> Thread:
        """Send turns to the model again that were taken out of its view; without numbers all of them."""
        return self._set_view(lambda away, those: away - those, turns)

    def _set_view(self, change: Callable[[set[int], set[int]], set[int]], turns: Sequence[int] | None) -> Thread:
        self.book.ask("chats.view")
        with self.book.writing() as (tx, _):
            thread = threads.get_thread(tx, self.id)
            recorded = {one.turn for one in threads.messages_of(tx, self.id) if one.recorders}
            if turns is None:
                wanted = recorded
            else:
                wanted = set(turns)
            if not wanted <= recorded:
                raise Invalid("only turns that others recorded are taken out of view", field="turns")
            return threads.set_out_of_view(tx, self.id, sorted(change(set(thread.out_of_view), wanted)))

    def messages(self) -> Sequence[Message]:
        """Every turn of the chat, in order."""
        with self.book.reading() as (tx, _, _):
            if self.book.hand.is_program:
                self._shown(tx)
            return threads.messages_of(tx, self.id)

    def inject(self, *, scope: str | None = None) -> str:
        """The memory block of this chat: rendered once, then the same bytes. Incognito chats have none. An agent that
        asks before the person's own chat has one is shown it, and fixes nothing."""
        note_memory_use()
        with beside_memory(self.book).writing() as (tx, _):  # a block that is not wanted is empty
            thread = self._shown(tx)
            if thread.incognito or not switches.is_memory_on(tx):
                return ""
            preset = self.book.preset(thread.preset)
            scope = scope or thread.agent
            is_own = scope == thread.agent
            session, space = injections.key_of_chat(tx, self.id, self.session, preset.name, scope, is_own=is_own)
            only_looks = self.book.origin.writer() is not None and threads.is_begun_by_person(tx, self.id)
            if only_looks and injections.find_injection(tx, session, space) is None:
                return injections.preview(tx, preset, present(tx), scope=scope).text
            return injections.inject(tx, preset, present(tx), session, scope=scope, space=space)

    def pencil(self) -> Sequence[Pencil]:
        """What closing would keep or propose of what was said so far, each beside its turn. Nothing of it is stored."""
        if self.book.hand.is_program:
            with self.book.reading() as (tx, _, _):
                self._shown(tx)
        return self.book.pencil_of(self.id)

    def decline(self, key: str) -> Pencil:
        """Say no to a pencil line: it is not kept."""
        self.book.ask("proposals.answer")
        one = pencil.of_key(self.pencil(), key)
        with self.book.writing() as (tx, _):
            return pencil.decline_pencil(tx, self.id, one)

    def keep(self, key: str, both: bool = False) -> Written:
        """Keep a pencil line now, as the person."""
        self.book.ask("proposals.answer")
        one = pencil.of_key(self.pencil(), key)
        with self.book.writing(self.thread.preset) as (tx, preset):
            return pencil.keep_pencil(tx, self.book.origin, preset, self.id, one, both=both)

    def close(self, offline: bool = False) -> ClosingResult:
        """Read what is new for memories, once. The chat rests until something is said again."""
        closed: ClosingResult = self.book.close_thread(self.id, offline=offline)
        return closed


@explain_arguments
class Chats:
    """The chats of a book: `book.threads`."""

    def __init__(self, book: OpenBook) -> None:
        self._book = book

    def start(
        self,
        *,
        agent: str | None = None,
        incognito: bool = False,
        mode: str | None = None,
        focus: str | None = None,
        preset: str | None = None,
    ) -> Chat:
        """Begin a chat of our own. What stands on the person's screen, only they say."""
        if focus is not None and not self._book.hand.is_person:
            raise NotAllowed("what is on the person's screen only they say; record it as a turn", code="person_only")
        return self._open(preset=preset, agent=agent, incognito=incognito, mode=clean_chat_mode(mode), focus=focus)

    def of_session(self, session: str, *, incognito: bool = False) -> Chat:
        """The chat of an outside agent's session. It is begun if there is none."""
        return self._open(session=session, incognito=incognito)

    def _open(self, *, preset: str | None = None, **told: Any) -> Chat:
        with self._book.writing(preset) as (tx, chosen):
            if told.get("agent"):
                refuse_words(tx, self._book.origin, Told(labels=(told["agent"],)))
            if told.get("session") and self._book.hand.is_program:
                refuse_our_name(tx, told["session"])
            owners.make_known(tx, stamp(tx.clock()))  # who only chats has a book too
            begun_by = self._book.origin.writer()
            thread = threads.start_thread(tx, stamp(tx.clock()), chosen.name, begun_by=begun_by, **told)
            if is_hidden(self._book, tx, thread):
                raise threads.no_chat(told["session"])
            return Chat(self._book, thread)

    def get(self, thread_id: str) -> Chat:
        with self._book.reading() as (tx, _, _):
            thread = threads.get_thread(tx, thread_id)
            if is_hidden(self._book, tx, thread):
                raise threads.no_chat(thread_id)
            return Chat(self._book, thread)

    def list(self, *, state: str | None = None, trash: bool = False, limit: int = 100) -> Sequence[Thread]:
        """The chats, the last touched first."""
        with self._book.reading() as (tx, _, _):
            found = threads.list_threads(tx, state=state, trash=trash, limit=limit)
            return [thread for thread in found if not is_hidden(self._book, tx, thread)]

    def rename(self, thread_id: str, title: str, *, by: str = "person") -> Thread:
        if not self._book.hand.is_person:
            self._book._read_first(title)
        with self._book.writing() as (tx, _):
            refuse_persons_chat(self._book, tx, thread_id)
            if by == "person" and self._book.origin.actor == "agent":
                if threads.get_thread(tx, thread_id).titled_by == "person":
                    raise NotAllowed("the person named this chat; only they rename it", code="person_only")
                refuse_words(tx, self._book.origin, Told(labels=(title,)))
                by = "model"
            return threads.rename(tx, thread_id, title, by=by)

    def archive(self, thread_id: str) -> Thread:
        with self._book.writing() as (tx, _):
            refuse_persons_chat(self._book, tx, thread_id)
            return threads.archive(tx, thread_id)

    def delete(self, thread_id: str, *, memories: bool = False, forever: bool = False) -> Thread | None:
        """Move a chat to the trash for 30 days, with the memories learned from it if wanted; or remove it at once."""
        from keepbook.book.chats.whole_chats import delete_chat  # most programs delete none

        return delete_chat(self._book, thread_id, None, memories=memories, forever=forever)

    def restore(self, thread_id: str) -> Thread:
        """Bring a chat back from the trash, with the memories that went there together with it; or from the archive."""
        from keepbook.book.chats.whole_chats import restore_chat  # as in `delete`

        return restore_chat(self._book, thread_id, None)

    def learned(self, thread_id: str) -> Sequence[str]:
        """The ids of the memories that came out of a chat."""
        with self._book.reading() as (tx, _, _):
            if is_hidden(self._book, tx, threads.get_thread(tx, thread_id)):
                raise threads.no_chat(thread_id)
            return learned_memories.learned_from(tx, thread_id)

    def search(self, query: str, limit: int = 20) -> "Sequence[Snippet]":
        """The turns that contain the words, which are marked; never hidden context."""
        from keepbook.book.recall.chats import search  # with the first question: most programs ask none

        with self._book.reading() as (tx, _, _):
            return search(tx, query, limit=limit)

    def recall(
        self,
        query: str,
        limit: int | None = None,
        *,
        since: Any = None,
        until: Any = None,
        order: str | None = None,
        spread: bool = False,
        tokens: int | None = None,
        around: int = 0,
    ) -> "Sequence[ChatHit]":
        """The passages that answer a question, best first, or the oldest where it asks for an overview: as many as
        twenty turns would fill, or fewer."""
        from keepbook.book.recall.chats import ChatsWanted, recall_chats  # as above

        with self._book.reading() as (tx, _, _):
            read = partial(read_moment, moment=tx.clock(), zone=owners.zone_name(tx))
            times = read(since, field="since"), read(until, field="until")
            wanted = ChatsWanted(limit, *times, order, spread, tokens, around)
            return recall_chats(tx, query, wanted=wanted, meaning=self._book.meaning)


def record_session(book: OpenBook, session: str, turns: Sequence[NewTurn]) -> tuple[Chat, Sequence[Message]]:
    """Record turns in the chat of an outside agent's session, which is begun if there is none: all of it, or
    nothing."""
    words = _read_ahead(book, turns)
    with book.writing(apart=True) as (tx, _):
        chat = Chats(book).of_session(session)
        return chat, chat._record(tx, turns, words)


@explain_arguments
class Journal:
    """The notes of a book: `book.notes`."""

    def __init__(self, book: OpenBook) -> None:
        self._book = book

    def bookmark(self, thread_id: str, turn: int) -> Note:
        heeded = self._heed_first(lambda tx: notes.get_text(tx, thread_id, turn))
        with self._book.writing() as (tx, _):
            if not self._book.hand.is_person:
                refuse_noting(tx, thread_id, turn)
            noted = notes.bookmark(tx, stamp(tx.clock()), thread_id, turn)
            self._heed_topics(tx, noted, heeded)
            return noted

    def write(self, text: str) -> Note:
        heeded = self._heed_first(lambda _: notes.clean_note(text))
        with self._book.writing() as (tx, _):
            noted = notes.write_note(tx, stamp(tx.clock()), text)
            self._heed_topics(tx, noted, heeded)
            return noted

    def _heed_first(self, text_of: Callable[[Tx], str]) -> tuple[str, Sequence[str]] | None:
        """Refuse a note of anybody but the person about what they want never kept, before anything is locked: a long
        text takes a while. Returns what was looked at, and for which topics."""
        if self._book.hand.is_person:
            return None
        with self._book.reading() as (tx, _, _):
            text, never, sense = text_of(tx), switches.never_topics(tx), tx.sense
        switches.refuse_found(find_topics(text, never, sense))
        put_away_keys(text)
        return text, never

    def _heed_topics(self, tx: Tx, note: Note, heeded: tuple[str, Sequence[str]] | None) -> None:
        """The same, of what has changed meanwhile; it is not stored then."""
        if heeded is None:
            return
        if heeded != (note.text, switches.never_topics(tx)):
            switches.refuse_topics(tx, Told(note.text))
        refuse_forgotten(tx, self._book.origin, Told(note.text))

    def get(self, id: str) -> Note:
        with self._book.reading() as (tx, _, _):
            return notes.get_note(tx, id)

    def list(self, query: str | None = None) -> Sequence[Note]:
        with self._book.reading() as (tx, _, _):
            return notes.list_notes(tx, query)

    def edit(self, id: str, text: str) -> Note:
        self._book.ask("notes.change")
        with self._book.writing() as (tx, _):
            return notes.edit(tx, stamp(tx.clock()), id, text)

    def delete(self, id: str) -> Note:
        """Delete a note for good: notes have no trash."""
        self._book.ask("notes.change")
        with self._book.writing() as (tx, _):
            return notes.delete_note(tx, id)

    def put_back(self, note: Note) -> Note:
        """Undo a deletion: store the note that `delete` returned, under a new id."""
        self._book.ask("notes.change")
        with self._book.writing() as (tx, _):
            return notes.restore_note(tx, note)
