"""Writes what an importer has read into a book.

A memory has the source `imported`, and the other program's date as its beginning; it is recorded at the time of the
import. Secrets and topics never to be kept are left out and reported. A second import of the same file changes nothing,
even if the person has changed or forgotten some of it; a text that the other program has reworded since becomes the
next version; what was removed with a load that was taken back comes in again. A chat keeps its own times and is left
open: reading it for memories is a step of its own (`upkeep/chat_reading.py`), so an import never asks a model.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from keepbook.book.chats import adding, learned_memories, threads
from keepbook.book.ground import due
from keepbook.book.ground.limits import clean_line
from keepbook.book.ground.when import stamp
from keepbook.book.ledger.ledger import Origin, chain_head
from keepbook.book.memory.changes import Statement, remember, restore_memory, update
from keepbook.book.memory.likeness.similar import find_alike
from keepbook.book.memory.memories import Memory, find_row
from keepbook.book.memory.proposals import FORGOTTEN
from keepbook.book.owners import owners
from keepbook.book.owners.choices import get_choices
from keepbook.book.owners.switches import Told, topics_told
from keepbook.book.recall.forgotten import forgotten
from keepbook.book.text.indexes.turn_index import TurnWords, turn_words
from keepbook.book.text.secrets import find_secrets
from keepbook.book.text.topic_meaning import Sense
from keepbook.book.text.words import near_duplicate
from keepbook.book.upkeep.importers.incoming import (
    Enough,
    Incoming,
    IncomingChat,
    IncomingMemory,
    LeftOut,
    kept_metadata,
    kept_tags,
    program_name,
)
from keepbook.book.upkeep.importers.known import KnownImport, LookedMemories, came_before, ids_taken_back
from keepbook.errors import KeepbookError, LimitReached, NotAllowed
from keepbook.presets import Preset
from keepbook.storage.database import Tx

NEW, CHANGED, THERE, TRASHED = "new", "changed", "there", "trash"
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class ImportedItem:
    """One memory or chat, and what became of it: `new`, `changed`, `there` already, or, of a chat, there in the
    `trash`."""

    outcome: str
    what: str
    text: str
    category: str | None = None
    since: str | None = None
    repeats: str | None = None
    """The content of a memory that says the same, or if this one is new, nearly the same."""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """What the import of another program's file did in one book."""

    came: tuple[ImportedItem, ...]
    refused: tuple[LeftOut, ...]
    chats: Mapping[str, int] = field(default_factory=dict)
    """How many turns each new chat has, by its id."""
    grown: tuple[str, ...] = ()
    """The ids of chats that were here before and have more turns now."""

    def count(self, what: str, *outcomes: str) -> int:
        return sum(one.what == what and one.outcome in outcomes for one in self.came)


class ImportWriter:
    """Writes one person's things into their book, piece by piece, each in a transaction of its own.

    `judge_ahead` does before what needs no lock: it looks for secrets and topics, and computes the words of turns. With
    `looks` nothing is written, and the transactions only read.
    """

    def __init__(self, origin: Origin, incoming: Incoming, sense: Sense | None, *, looks: bool = False) -> None:
        self._origin = replace(origin, source="imported", name=program_name(incoming.source))
        self._source, self._sense, self._looks = incoming.source, sense, looks
        self._steps: list[IncomingMemory | IncomingChat] = [*incoming.memories, *incoming.chats]
        self._needs_memory = bool(incoming.memories)
        self._done = 0
        self._chat: _ChatUnderWay | None = None
        self._never: tuple[str, ...] = ()
        self._verdicts: dict[Told, str | None] = {}
        self._words: dict[tuple[str, str], TurnWords] = {}
        self._expected: int | None = None
        self._looked = LookedMemories()
        self._came: list[ImportedItem] = []
        self._refused = list(incoming.refused)
        self.chats: dict[str, int] = {}
        self.grown: list[str] = []
        self.letters: int = 0
        """How many characters came in."""
        self.has_brought: bool = False
        """Whether the last piece wrote anything."""

    @property
    def is_done(self) -> bool:
        return self._done >= len(self._steps)

    @property
    def result(self) -> ImportResult:
        """What has come in so far."""
        return ImportResult(tuple(self._came), tuple(self._refused), dict(self.chats), tuple(self.grown))

    def judge_ahead(self, preset: Preset, never: tuple[str, ...], enough: Callable[[], bool]) -> None:
        """Judge the texts of the next piece and compute the words of its turns, until `enough()` is true."""
        self._preset = preset
        self._judge_by(never)
        for one in self._steps[self._done :]:
            if isinstance(one, IncomingMemory):
                self._verdict(imported_words(self._statement(one), preset))
                for wording in one.earlier:
                    self._verdict(Told(wording.text))
            elif not self._looks:
                for turn in one.turns[self._chat.turns if self._chat and self._chat.of is one else 0 :]:
                    self._words.setdefault((turn.role, turn.text), turn_words(turn.text, turn.role))
                    if enough():
                        return
            if enough():
                return

    def write_piece(self, tx: Tx, preset: Preset, enough: Callable[[], bool], progress: Progress) -> None:
        """Write the next things, until `enough()` is true. If `progress` raises `Enough`, what has come in stays, and
        the rest is left out."""
        self._open(tx, preset)
        before = chain_head(tx).seq, self.letters, len(self.chats)
        while not self.is_done:
            one = self._steps[self._done]
            try:
                item = self._keep(one) if isinstance(one, IncomingMemory) else self._bring_chat(one, enough)
                if item is None:
                    break
                self._came.append(item)
            except _StaysOut as out:
                self._refused.append(LeftOut(one.where or one.key, str(out), who=one.who))
            except LimitReached:
                raise
            except KeepbookError as error:
                text = one.text if isinstance(one, IncomingMemory) else one.title
                self._refused.append(LeftOut(one.where or one.key, error.message, text, one.who))
            self._done += 1
            try:
                progress(self._done)
            except Enough:
                del self._steps[self._done :]
            if enough():
                break
        self._verdicts.clear()
        self._words.clear()
        self.has_brought = before != (chain_head(tx).seq, self.letters, len(self.chats))
        self._expected = chain_head(tx).link
        if self.has_brought and not self._looks:
            self._expected += 1  # the cover that this transaction ends with

    def _open(self, tx: Tx, preset: Preset) -> None:
        """Begin a piece. If somebody else has written since the last one, what is known of the book is read again."""
        self._tx, self._preset = tx, preset
        self._judge_by(open_for_import(tx, needs_memory=self._needs_memory))
        if self._expected != chain_head(tx).link:
            self._forgotten = forgotten(tx)
            self._known = came_before(tx, self._source, self._forgotten) | self._looked.known
            self._gone = ids_taken_back(tx)

    # Memories

    def _keep(self, one: IncomingMemory) -> ImportedItem:
        said = self._statement(one)
        self._refuse(imported_words(said, self._preset))
        before = self._known.get(said.made_by or "")
        if before is None:
            is_forgotten = self._forgotten.is_forgotten(one.text, one.since or "")
        else:
            is_forgotten = before.forgotten
        if is_forgotten and not one.wanted:
            raise _StaysOut(FORGOTTEN)
        if before is None:
            outcome, repeats = self._anew(one, said)
        else:
            outcome, repeats = self._again(before, said)
        if outcome != THERE:
            self.letters += len(said.content) + len(said.body or "")
        return ImportedItem(outcome, "memory", said.content, said.category, one.since, repeats)

    def _anew(self, one: IncomingMemory, said: Statement) -> tuple[str, str | None]:
        first, *rest = [*self._earlier(one, said), said]
        same = self._looked.same(first)
        if same is not None:
            return THERE, same
        written = remember(self._tx, self._origin, self._preset, first)
        self._known[said.made_by or ""] = KnownImport(written.id, said.content)
        if written.unchanged:
            return THERE, written.content
        for later in rest:
            if self._looks:
                remember(self._tx, self._origin, self._preset, later)
            else:
                update(self._tx, self._origin, self._preset, written.id, later)
        alike = (near.content for near in written.similar if near_duplicate(first.content, near.content))
        if not self._looks:
            return NEW, next(alike, None)
        seen = next(alike, None) or self._looked.near(said, said.category)
        repeats = seen or self._under_another_heading(written, said)
        self._looked.add(said, self._known[said.made_by or ""])
        return NEW, repeats

    def _under_another_heading(self, new: Memory, said: Statement) -> str | None:
        """A nearly equal line in another category. It is reported in a dry run: to a person it is the same line."""
        for category in self._preset.categories:
            if category != new.category:
                now = stamp(self._tx.clock())
                near = find_alike(self._tx, new.content, category, None, new.scope, now, apart_from=new.id).similar
                if near:
                    return str(near[0].content)
                if seen := self._looked.near(said, category):
                    return seen
        return None

    def _again(self, before: KnownImport, said: Statement) -> tuple[str, str | None]:
        """Import a memory again. It changes only if the source has reworded it and nobody has changed it here."""
        if before.forgotten or (not before.untouched and before.memory_id in self._gone):
            back = restore_memory(self._tx, self._origin, self._preset, before.memory_id)
            if back.content != said.content and not self._looks:
                update(self._tx, self._origin, self._preset, before.memory_id, said)
            return NEW, None
        if not before.untouched or before.content == said.content:
            return THERE, before.content
        if not self._looked.has(before):
            update(self._tx, self._origin, self._preset, before.memory_id, said)
        return CHANGED, before.content

    def _earlier(self, one: IncomingMemory, said: Statement) -> Iterator[Statement]:
        for wording in one.earlier:
            content, body = _split_line_and_body(wording.text, self._preset.content_max)
            self._refuse(Told(wording.text))
            yield replace(said, content=content, body=body, valid_from=wording.since, valid_until=None)

    def _statement(self, one: IncomingMemory) -> Statement:
        content, body = _split_line_and_body(one.text, self._preset.content_max)
        closed = self._preset.categories
        category = None
        if one.category and (not closed or one.category in closed):
            category = one.category
        return Statement(
            content, category=category and category[:40], subject=one.subject, scope=one.scope, summary=one.summary,
            body=one.body or body, importance=one.importance, valid_from=one.since, valid_until=one.until,
            made_by=f"{self._source} {one.key}"[:200], force=True, tags=kept_tags(one), metadata=kept_metadata(one),
        )  # fmt: skip

    def _judge_by(self, never: tuple[str, ...]) -> None:
        if never != self._never:
            self._never = never
            self._verdicts.clear()

    def _verdict(self, told: Told) -> str | None:
        """Why words stay out, or None; the same words are judged once."""
        if told not in self._verdicts:
            self._verdicts[told] = self._reason_to_stay_out(told)
        return self._verdicts[told]

    def _reason_to_stay_out(self, told: Told) -> str | None:
        if secrets := find_secrets(told.content):
            return f"it holds a secret ({secrets[0].kind})"
        if topics := topics_told(told, self._never, self._sense):
            return about_topic(topics[0])
        return None

    def _refuse(self, told: Told) -> None:
        why = self._verdict(told)
        if why is not None:
            raise _StaysOut(why)

    # Chats

    def _bring_chat(self, one: IncomingChat, enough: Callable[[], bool]) -> ImportedItem | None:
        """Import a chat. If there is time for some of its turns only, return None, and go on in the next piece."""
        if self._chat is None or self._chat.of is not one:
            for turn in one.turns:  # checked first, so that a chat is either kept whole or left out
                adding.clean_turn(turn.role, turn.text)
            if self._looks:
                self._chat = self._look_at_chat(one)
            else:
                self._chat = self._begin_chat(one)
        under_way = self._chat
        if under_way.id is not None and not self._looks:
            self._add_turns(under_way, under_way.id, enough)
            if under_way.turns < len(one.turns):
                return None
            if one.title and threads.get_thread(self._tx, under_way.id).title is None:
                threads.rename(self._tx, under_way.id, one.title[: threads.TITLE_LIMIT], by="rules")
        self._chat = None
        return ImportedItem(under_way.outcome, "chat", one.title or one.turns[0].text[:60], since=under_way.began)

    def _look_at_chat(self, one: IncomingChat) -> "_ChatUnderWay":
        """What the import of a chat will do."""
        began = next((turn.at for turn in one.turns if turn.at), None) or stamp(self._tx.clock())
        thread = threads.find_session(self._tx, self._session(one))
        if thread is not None and thread.deleted_at is not None and thread.id not in self._gone:
            return _ChatUnderWay(one, None, TRASHED, began, 0)  # the person put it there, so only they bring it back
        if thread is not None:
            known = thread.turns
        else:
            known = 0
        is_back = thread is not None and thread.deleted_at is not None
        if is_back or not known:
            outcome = NEW
        elif one.turns[known:]:
            outcome = CHANGED
        else:
            outcome = THERE
        if self._looks:
            self.letters += sum(len(turn.text) for turn in one.turns[known:])
        return _ChatUnderWay(one, None if thread is None else thread.id, outcome, began, known)

    def _begin_chat(self, one: IncomingChat) -> "_ChatUnderWay":
        looked = self._look_at_chat(one)
        if looked.outcome == TRASHED:
            return looked
        owners.make_known(self._tx, stamp(self._tx.clock()))  # an owner with chats alone has a book too
        thread = threads.start_thread(self._tx, looked.began, self._preset.name, session=self._session(one))
        if thread.deleted_at is not None:
            self._put_back(thread.id)
        if looked.outcome == NEW:
            self.chats[thread.id] = thread.turns
        elif looked.outcome == CHANGED:
            self.grown.append(thread.id)
        return replace(looked, id=thread.id)

    def _add_turns(self, chat: "_ChatUnderWay", id: str, enough: Callable[[], bool]) -> None:
        thread = threads.get_thread(self._tx, id)
        if not thread.turns:
            at = chat.began
        else:
            at = stamp(thread.touched_at)
        for turn in chat.of.turns[chat.turns :]:
            at = max(turn.at or at, at)
            speaker = None
            if turn.role == "assistant":
                speaker = program_name(self._source)
            adding.add_message(
                self._tx, id, turn.role, turn.text, at, speaker=speaker, recorded_by=self._origin.writer(),
                words=self._words.get((turn.role, turn.text)), is_from_elsewhere=True,
            )  # fmt: skip
            chat.turns += 1
            self.letters += len(turn.text)
            if id in self.chats:
                self.chats[id] += 1
            if enough():
                break
        if chat.outcome != THERE:
            due.cancel(self._tx, due.CLOSE, id)  # the person decides when it is read, and by which model

    def _session(self, one: IncomingChat) -> str:
        return clean_line(f"{self._source}:{one.key}"[:200], "session", 1, 200)

    def _put_back(self, thread_id: str) -> None:
        """Restore a chat that was removed when a load was taken back, and the memories that were read out of it."""
        threads.restore_thread(self._tx, thread_id)
        for id in learned_memories.learned_from(self._tx, thread_id):
            row = find_row(self._tx, id)
            if id in self._gone and not self._forgotten.put_away(row, row.content):
                restore_memory(self._tx, self._origin, self._preset, id)


class _StaysOut(Exception):
    """Raised for a text that stays out. The report does not repeat such a text."""


@dataclass(slots=True)
class _ChatUnderWay:
    """A chat that is being imported: its id here, and how many of its turns it has so far."""

    of: IncomingChat
    id: str | None
    outcome: str
    began: str
    turns: int


# Rules


def open_for_import(tx: Tx, *, needs_memory: bool = True) -> tuple[str, ...]:
    """The topics whose lines stay out. With memory off nothing that `needs_memory` comes in."""
    choices = get_choices(tx)
    if needs_memory and not choices.memory:
        raise NotAllowed("memory is switched off in this book; switch it on to import memories", code="memory_off")
    return choices.never


def about_topic(topic: str) -> str:
    return f"you asked never to keep anything about {topic}"


def imported_words(said: Statement, preset: Preset) -> Told:
    """All words of a memory that comes in: its texts, and its labels. Nobody chose the name of a preset's category."""
    texts = filter(None, (said.content, said.body, said.subject, said.summary))
    category = None if preset.categories else said.category
    named = filter(None, (said.subject, said.scope, category))
    pairs = (word for pair in (said.metadata or {}).items() for word in pair)
    return Told("\n".join(texts), labels=(*named, *(said.tags or ()), *pairs))


def _split_line_and_body(text: str, most: int) -> tuple[str, str | None]:
    """The line and the body for a text. A text that is too long for a line is cut; the whole text becomes the body."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line, None
    cut = line[: most - 1].rsplit(" ", 1)[0] or line[: most - 1]
    return f"{cut}…", text
