"""Every operation of the core on a book.

Thin on purpose: each method opens the owner's transaction, names who acts, and calls the one operation that does the
work. Methods called inside `with book.transaction():` are committed together or not at all. What few calls need (export
and import) is loaded by the first call that does.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TextIO

from keepbook.book.chats.chat_facts import is_incognito, spoke_incognito
from keepbook.book.ground.argument_docs import explain_arguments
from keepbook.book.ground.limits import TIMELINE_TOKENS, clean_line
from keepbook.book.ground.open_book import beside_memory, note_memory_use
from keepbook.book.ground.to_json import Page
from keepbook.book.ground.when import Moment, read_moment, stamp
from keepbook.book.ledger import ledger
from keepbook.book.ledger.owner_settings import Configured
from keepbook.book.memory import injections, links
from keepbook.book.memory.labels import Metadata, Tags, label_filter
from keepbook.book.memory.links import MemoryDetail
from keepbook.book.memory.listing import list_page
from keepbook.book.memory.memories import Memory, Version, find_row, resolve, to_version, version_rows
from keepbook.book.memory.proposals import expire_forbidden, forbidden_offers, list_proposals
from keepbook.book.owners import choices, owners, switches
from keepbook.book.owners.choices import Choices
from keepbook.book.text.topics import find_topics
from keepbook.book.writing import Writing
from keepbook.errors import Invalid, NotAllowed
from keepbook.storage.installed import rows_without_code
from keepbook.storage.transactions.signal_safe import signal_safe

if TYPE_CHECKING:
    from keepbook.book.chats.face import Chat, Chats, Journal
    from keepbook.book.ledger.loads import Load
    from keepbook.book.ledger.verify import Verification
    from keepbook.book.memory.block import ComposedBlock
    from keepbook.book.memory.review import Review
    from keepbook.book.owners.spending import Spending
    from keepbook.book.recall.memories import Hit
    from keepbook.book.recall.rebuild import Index
    from keepbook.book.recall.turns.hits import ChatHit
    from keepbook.book.recall.turns.topic_events import TimelineLine
    from keepbook.book.texts import Texts
    from keepbook.book.upkeep.audit import Audit
    from keepbook.book.upkeep.erase import Receipt
    from keepbook.book.upkeep.import_answer import Imported
    from keepbook.book.upkeep.importers.incoming import Incoming
    from keepbook.storage.database import Tx


@explain_arguments
class BookOperations(Writing):
    """One owner's memory: every operation of the core on it."""

    def __repr__(self) -> str:
        return f"<Book of {self.owner!r}, written by {self.origin.actor}>"

    @property
    def texts(self) -> "Texts":
        """What programs keep under names: keys, paths."""
        from keepbook.book.texts import Texts  # with the first call: most programs keep none

        return Texts(self)

    @signal_safe
    def transaction(self) -> Iterator[Self]:
        """Writes inside are committed together when the block ends, and not at all when it raises. A block inside
        another is rolled back alone. After an error in the database nothing of its block is kept, even if the program
        catches it."""
        with beside_memory(self).writing(apart=True):  # what is done inside is asked for by itself
            yield self

    # Reading

    def get(self, id: str) -> MemoryDetail:
        """A memory with its versions and links, in whatever state it is."""
        with self.reading() as (tx, preset, now):
            return links.memory_detail(tx, id, now, preset)

    def list(
        self,
        category: str | None = None,
        subject: str | None = None,
        scope: str | None = None,
        state: str = "active",
        limit: int = 100,
        cursor: str | None = None,
        q: str | None = None,
        metadata: Metadata | None = None,
        tags: Tags | None = None,
    ) -> Page[Memory]:
        """Memories in order of creation: unscoped ones, with `scope` also its own, with `scope="*"` all."""
        with self.reading() as (tx, preset, now):
            return list_page(
                tx, preset, now, category=category, subject=subject, scope=scope, state=state, limit=limit,
                cursor=cursor, q=q, labels=label_filter(metadata, tags),
            )  # fmt: skip

    def history(self, ref: str) -> tuple[Version, ...]:
        """Every version of a memory, oldest first."""
        with self.reading() as (tx, _, _):
            id = find_row(tx, resolve(tx, ref)).id
            return tuple(to_version(row) for row in version_rows(tx, id))

    def ledger(
        self,
        *,
        memory: str | None = None,
        thread: str | None = None,
        actor: str | None = None,
        after: int = 0,
        before: int | None = None,
        limit: int | None = 100,
    ) -> Sequence[ledger.Entry]:
        """What was written, newest first."""
        with self.reading() as (tx, _, _):
            return ledger.entries(
                tx, memory_id=memory, thread_id=thread, actor=actor, after=after, before=before, limit=limit
            )

    def recall(
        self,
        query: str,
        limit: int = 10,
        category: str | None = None,
        scope: str | None = None,
        known: Moment = None,
        valid: Moment = None,
        metadata: Metadata | None = None,
        tags: Tags | None = None,
        cursor: str | None = None,
    ) -> "Sequence[Hit]":
        """The memories that answer a question, best first, each with its reasons."""
        from keepbook.book.recall.memories import recall, recall_past  # with the first question, as all below

        with self.reading() as (tx, preset, now):
            where: Any = {"category": category, "scope": scope, "labels": label_filter(metadata, tags)}
            where |= {"limit": limit, "cursor": cursor}
            if known is None and valid is None:
                return recall(tx, preset, now, query, meaning=self.meaning, **where)
            return recall_past(tx, preset, *_instants(tx, known, valid, now), query, **where)

    def block(
        self,
        *,
        preset: str | None = None,
        scope: str | None = None,
        known: Moment = None,
        valid: Moment = None,
    ) -> str:
        """The text for a system prompt, as a chat beginning now would see it; a pure read. With memory switched off it
        is empty for a program."""
        try:
            with self.reading(preset) as (tx, chosen, now):
                if known is None and valid is None:
                    return injections.present_block(tx, chosen, now, scope=scope).text
                return injections.preview_past(tx, chosen, *_instants(tx, known, valid, now), scope=scope).text
        except NotAllowed as refused:
            if refused.code == "memory_off":
                return ""
            raise

    def rendered(
        self,
        *,
        preset: str | None = None,
        scope: str | None = None,
        known: Moment = None,
        valid: Moment = None,
    ) -> "ComposedBlock":
        """The block with what it shows, and why each other memory is not in it."""
        with self.reading(preset) as (tx, chosen, now):
            if known is None and valid is None:
                return injections.preview(tx, chosen, now, scope=scope)
            return injections.preview_past(tx, chosen, *_instants(tx, known, valid, now), scope=scope)

    def inject(self, session: str, *, preset: str | None = None, scope: str | None = None) -> str:
        """The block of a session: rendered at the first call, then the same bytes for as long as the session lasts."""
        session = clean_line(session, "session", 1, 200)
        note_memory_use()
        with self._database.read(self.owner) as tx:
            kept = injections.find_injection(tx, session)
            preset = preset or self._presets.chosen or (kept and kept.preset)
            if kept is not None and kept.block is not None and kept.preset == preset and kept.scope == scope:
                return str(kept.block) if kept.memory != "false" else ""
        with beside_memory(self).writing(preset) as (tx, chosen):
            now = ledger.present(tx)
            wanted = switches.is_memory_on(tx) and not is_incognito(tx, session)
            if wanted:
                return injections.inject(tx, chosen, now, session, scope=scope)
            return ""

    def replay(self, session: str) -> str:
        """The block of a session rendered again from the ledger, as of the entry it knew: the bytes it was given."""
        session = clean_line(session, "session", 1, 200)
        with self._database.read(self.owner) as tx:
            self._heed_memory_off(tx)
            return injections.replay(tx, lambda name: self._presets.of(tx, name), session).text

    def as_of(
        self, known: Moment = None, valid: Moment = None, *, limit: int | None = None, cursor: str | None = None
    ) -> Sequence[Memory]:
        """The active memories as they were known at one instant and true at another (each now, if not given), in order
        of creation: all of them, or with `limit` a page."""
        from keepbook.book.memory.history.as_of import as_of  # with the first call

        with self.reading() as (tx, preset, now):
            return as_of(tx, preset, *_instants(tx, known, valid, now), limit=limit, cursor=cursor)

    def verify(
        self, anchor: str | Path | None = None, progress: Callable[[int], None] = lambda _: None
    ) -> "Verification":
        """Walk the whole ledger and compare the book with it, row by row."""
        from keepbook.book.ledger import anchors  # with the first check
        from keepbook.book.ledger.verify import verify  # likewise

        if anchor is None:
            with self._database.read(self.owner) as tx:
                return verify(tx, progress)
        noted = anchors.read_anchors(Path(anchor))
        held = anchors.AnchorCheck(noted, self.owner)
        with self._database.read(self.owner) as tx:
            result = held.check_result(verify(tx, progress, held.see_link))
        if result.ok and result.links:
            new = anchors.Anchor(self.owner, result.links, result.hash, stamp(self._database.clock()))
            anchors.extend(Path(anchor), noted, new)
        return result

    def audit(self) -> "Audit":
        """What a careful person would tidy up in this book, found without a model."""
        from keepbook.book.upkeep.audit import audit  # with the first call

        with self.reading() as (tx, preset, now):
            return audit(tx, preset, now, injections.preview(tx, preset, now))

    # Moving house

    def export(self, stream: TextIO) -> int:
        """Write the whole book as JSON Lines; returns the number of lines."""
        from keepbook.book.upkeep.transfer import export_lines  # it knows every room, and few move house

        with self._database.read(self.owner) as tx:
            if self.hand.has_programs_token:  # the person takes their book along, memory on or off
                ledger.chain_head(tx)
                switches.refuse_memory_off(tx)
                if self.hand.is_program and spoke_incognito(tx):
                    raise NotAllowed("the person talked incognito: only they export this book", code="incognito")
            count = 0
            for line in export_lines(tx):
                stream.write(line + "\n")
                count += 1
            return count

    def import_(
        self,
        stream: str | PathLike[str] | Iterable[str],
        merge: bool = False,
        dry_run: bool = False,
        theirs: str | None = None,
    ) -> "Imported":
        """Restore an export into an empty book, or merge memories from it; or import another program's file, whose
        format is recognised. `theirs` says which person of a file that holds several. With `dry_run` it only says what
        would come in."""
        from keepbook.book.upkeep.importing import import_file  # as in `export`

        self.ask("book.import")
        return import_file(self, stream, merge=merge, dry_run=dry_run, theirs=theirs)

    def bring_in(
        self, incoming: "Incoming", dry_run: bool = False, progress: Callable[[int], None] = lambda _: None
    ) -> "Imported":
        """Import what another program kept of one person, as an importer reads it (`importers/sources.py`, or your
        own). With `dry_run` it only says what would come in."""
        from keepbook.book.upkeep.importing import import_incoming  # as in `export`

        return import_incoming(self, incoming, dry_run=dry_run, progress=progress)

    def loads(self, limit: int = 100) -> "Sequence[Load]":
        """The files that were imported, whatever they brought, newest first; also those that were taken back."""
        from keepbook.book.upkeep.take_back import list_loads_told  # as in `export`

        return list_loads_told(self, limit)

    def take_back(self, load: int) -> "Load":
        """Remove what a file brought, with what was read out of its chats. What something newer changed stays."""
        from keepbook.book.upkeep.take_back import told_back  # as in `export`

        return told_back(self, load)

    def without_code(self) -> Sequence[str]:
        """The extensions of which this book holds rows and whose code is not here. Those rows are exported, covered and
        erased as they are."""
        with self._database.read(self.owner) as tx:
            return rows_without_code(tx.conn, tx.owner, self._database.record)

    def erase(self, confirm: str) -> "Receipt":
        """Erase everything of this owner for good, ledger included. `confirm` must be the owner's name."""
        self.ask("book.erase")
        from keepbook.book.upkeep.hidden.erase_book import erase_book  # only who erases has use for it

        return erase_book(self, confirm)

    # For the layers above: chats close through them, and tools and doors read in one transaction.

    def close_thread(self, thread_id: str, *, offline: bool = False) -> Any:
        """Read a chat for memories with the installation's model; with `offline` by the bundled reader."""
        from keepbook.book.chats.whose_chats import refuse_persons_chat  # with the first chat

        with self.reading() as (tx, _, _):
            refuse_persons_chat(self, tx, thread_id)
        return super().close_thread(thread_id, offline=offline)

    def thread(self, session: str, *, incognito: bool = False) -> "Chat":
        """The chat of an outside agent's session: `.add(role, text)`, `.close()`."""
        return self.threads.of_session(session, incognito=incognito)

    @property
    def threads(self) -> "Chats":
        from keepbook.book.chats.face import Chats  # with the first chat

        return Chats(self)

    @property
    def notes(self) -> "Journal":
        from keepbook.book.chats.face import Journal  # with the first note

        return Journal(self)

    @property
    def proposals(self) -> "Review":
        from keepbook.book.memory.review import Review  # with the first question to answer

        return Review(self)

    @property
    def spending(self) -> "Spending":
        from keepbook.book.owners.spending import Spending  # with the first call

        return Spending(beside_memory(self))

    @property
    def index(self) -> "Index":
        from keepbook.book.recall.rebuild import Index  # with the first call

        return Index(self, self._database)

    def reindex(self, progress: Callable[[int], None] | None = None) -> int:
        """Embed now what waits for the embedder in force; it goes on where it was stopped. Returns how many."""
        if self.meaning is None:
            return 0
        return self.meaning.fill(self.owner, progress)

    def recall_chats(
        self,
        query: str,
        limit: int | None = None,
        *,
        since: Moment = None,
        until: Moment = None,
        order: str | None = None,
        spread: bool = False,
        tokens: int | None = None,
        around: int = 0,
    ) -> "Sequence[ChatHit]":
        """The passages of earlier chats that answer a question, best first, or the oldest where it asks for an
        overview: as many as twenty turns would fill, or fewer."""
        return self.threads.recall(
            query, limit, since=since, until=until, order=order, spread=spread, tokens=tokens, around=around
        )

    def timeline(
        self, topic: str, tokens: int = TIMELINE_TOKENS, *, since: Moment = None, until: Moment = None
    ) -> "Sequence[TimelineLine]":
        """What happened on a topic, a dated line for each event, in the order in which it happened."""
        from keepbook.book.recall.turns import topic_events  # with the first call: few programs ask for it

        with self.reading() as (tx, preset, _):
            read = partial(read_moment, moment=tx.clock(), zone=owners.zone_name(tx))
            begin, end = read(since, field="since"), read(until, field="until")
            return topic_events.timeline(tx, preset, topic, tokens=tokens, since=begin, until=end, meaning=self.meaning)

    def choose(self, **chosen: Any) -> Choices:
        """Set the owner's choices: `memory=False`, `never=["health"]`, `tier="beginner"`, `name="Ines"`."""
        return self._choose(self._ready_to_choose(chosen), chosen)

    def _choose(self, forbidden: Sequence[str], chosen: Mapping[str, Any]) -> Choices:
        with self._database.write(self.owner) as tx:
            changed = choices.change_choices(tx, **chosen)
            expire_forbidden(tx, changed.never, stamp(tx.clock()), ids=forbidden)
        if self.meaning is not None:  # the next write embeds by these, before it locks anything
            self.meaning.topics.put(self.owner, changed.never)
        return changed

    def _ready_to_choose(self, chosen: Mapping[str, Any]) -> Sequence[str]:
        """The offers that speak of a topic that is chosen, by meaning too: embedded before anything is locked."""
        self.ask("choices.change")
        never = chosen.get("never")
        if not never:
            return ()
        with self._database.read(self.owner) as tx:
            topics = choices.clean_never(tx, never)
            waiting = list_proposals(tx)
        return forbidden_offers(waiting, topics, self.meaning and self.meaning.one_by_one)

    def never_of(self, text: str) -> Sequence[str]:
        """The topics never to be remembered that a text touches; a pure read."""
        return find_topics(text, self.choices.never, self.meaning)

    @property
    def choices(self) -> Choices:
        with self._database.read(self.owner) as tx:
            return choices.get_choices(tx)

    def find(self, ref: str) -> str:
        """The id behind a reference: an exact id, else a piece of what one active memory says."""
        with self.reading() as (tx, _, _):
            return resolve(tx, ref)


def _instants(tx: "Tx", known: Moment, valid: Moment, now: str) -> tuple[str, str]:
    for name, said in (("known", known), ("valid", valid)):
        if said == "":
            raise Invalid(f"{name}: say a date, or leave it out for the present", field=name)
    read = partial(read_moment, moment=tx.clock(), zone=owners.zone_name(tx))
    return read(known, field="known") or now, read(valid, field="valid") or now


def configure_and_choose(book: BookOperations, zone: str | None, preset: str | None, **chosen: Any) -> Configured:
    """Set the preset, the zone and the choices together, or none of them. What is embedded is embedded before."""
    ready = book._ready_to_choose(chosen)
    with book.transaction():
        configured = book.configure(zone=zone, preset=preset)
        book._choose(ready, chosen)
    return configured
