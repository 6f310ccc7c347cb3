"""One owner's book as the rooms use it: the owner, who acts, which preset is in force, and `reading()` and `writing()`.

`Book` adds the public operations. A room depends on this class only, not on the whole book.
"""

from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self, TypeVar

from keepbook.book.ledger import ledger
from keepbook.book.ledger.ledger import AGENT, Origin
from keepbook.book.owners import authority, owners, switches
from keepbook.book.owners.authority import Actor
from keepbook.book.owners.owners import Presets
from keepbook.errors import NotAllowed
from keepbook.extension import Extension
from keepbook.presets import Preset
from keepbook.settings import UNLIMITED, Settings
from keepbook.storage.database import Database, Tx
from keepbook.storage.transactions.signal_safe import signal_safe

if TYPE_CHECKING:
    from keepbook.book.recall.vectors import Meaning

Closer = Callable[..., Any]
"""Closes a chat of a book (`closer(opened, thread_id, offline=…)`). It is passed in by the layer of models."""
Penciller = Callable[["OpenBook", str], Sequence[Any]]
"""Returns the pencil lines of an open chat. It is passed in by the layer of models."""

Opened = TypeVar("Opened", bound="OpenBook")


@dataclass(slots=True)
class MemoryUse:
    """Whether a program has asked for memory, which it may not while memory is switched off."""

    asked: bool = False


_NOTED: ContextVar[MemoryUse | None] = ContextVar("memory use", default=None)


class OpenBook:
    """One owner's book with the actor, door and preset that its reads and writes use."""

    def __init__(
        self,
        database: Database,
        owner: str,
        origin: Origin,
        presets: Presets,
        *,
        closer: Closer | None = None,
        penciller: Penciller | None = None,
        close_after_hours: float = 6.0,
        meaning: "Meaning | None" = None,
        settings: Settings | None = None,
        extensions: Sequence[Extension] = (),
        hand: Actor | None = None,
    ) -> None:
        self.owner: str = owners.clean_owner(owner)
        self.origin = origin
        self.hand: Actor = hand or authority.ALONE[origin.actor]
        self.close_after_hours = close_after_hours
        self.meaning = meaning
        self.settings: Settings = settings or Settings.of_nobody()
        self.extensions: tuple[Extension, ...] = tuple(extensions)
        """The extensions that are on for this book."""
        self._database = database
        self._presets = presets
        self._closer = closer
        self._penciller = penciller
        self._about_memory = True

    @classmethod
    def of(cls, opened: "OpenBook") -> Self:
        """The same book with this class's operations on it."""
        if isinstance(opened, cls):
            return opened
        return cls._copy(opened, opened.origin, opened._presets)

    def acting(self, **changed: Any) -> Self:
        """The same book with another actor, door or chat: `acting(actor="agent", door="mcp", thread_id="…")`."""
        other = self._copy(self, replace(self.origin, **changed), self._presets)
        if other.origin.actor != self.origin.actor:
            other.hand = authority.ALONE[other.origin.actor]
        return other

    @property
    def _agent_name(self) -> str:
        """Which agent acts, however many tokens it has: the one that they speak for, else by the name that its lines
        have. Who has none is told from nobody else who has none."""
        return self.hand.agent or self.origin.name or AGENT

    def ask(self, operation: str, *, agent: str | None = None, given: bool = False) -> None:
        """Raise `NotAllowed` unless the actor of this book may do the operation; see `owners.authority`.

        operation: the name of an operation, as `owners.authority` lists it
        given: whether the settings of the token's agent give it the person's memory
        """
        authority.require_permission(self.hand, operation, agent=agent, given=given)

    def under(self, preset: Preset) -> Self:
        """The same book with this preset in force, whatever the owner's own is."""
        return self._copy(self, self.origin, Presets(lambda _: preset, preset.name))

    def preset(self, asked: str | None = None) -> Preset:
        """The preset in force, or the one `asked` for by name."""
        with self._database.read(self.owner) as tx:
            return self._presets.of(tx, asked)

    @classmethod
    def _copy(cls, book: "OpenBook", origin: Origin, presets: Presets) -> Self:
        made = cls(
            book._database, book.owner, origin, presets, closer=book._closer, penciller=book._penciller,
            close_after_hours=book.close_after_hours, meaning=book.meaning, settings=book.settings,
            extensions=book.extensions, hand=book.hand,
        )  # fmt: skip
        made._about_memory = book._about_memory
        return made

    @property
    def zone(self) -> str:
        with self._database.read(self.owner) as tx:
            return owners.zone_name(tx)

    @property
    def _is_writing(self) -> bool:
        """Whether the caller has a transaction open that writes."""
        return self._database.is_writing

    @property
    def _has_limits(self) -> bool:
        """Whether this installation limits how much an owner keeps."""
        return self._database.allowance != UNLIMITED

    @property
    def now(self) -> datetime:
        return self._database.clock()

    def close_thread(self, thread_id: str, *, offline: bool = False) -> Any:
        """Read a chat for memories with the installation's model; with `offline` by the bundled reader."""
        if self._closer is None:
            raise NotAllowed("this book was opened without a model to close chats with", code="no_model")
        return self._closer(self, thread_id, offline=offline)

    def pencil_of(self, thread_id: str) -> Sequence[Any]:
        if self._penciller is None:
            raise NotAllowed("this book was opened without a reader of chats", code="no_model")
        return self._penciller(self, thread_id)

    @signal_safe
    def writing(self, preset: str | None = None, *, apart: bool = False) -> Iterator[tuple[Tx, Preset]]:
        """The owner's transaction. Inside another one this is one operation of that, or with `apart` a savepoint."""
        try:
            with self._database.write(self.owner, apart=apart) as tx, self._reaching(tx):
                ledger.chain_head(tx)  # it brings the switches and the preset along, and is needed anyway
                self._heed_memory_off(tx)
                if self.meaning is not None:
                    self.meaning.topics.put(self.owner, switches.never_topics(tx))
                yield tx, self._presets.of(tx, preset)
        except NotAllowed as refused:
            self._after_refusal(refused, ended=not self._is_writing)
            raise
        if self.meaning is not None:
            self.meaning.nudge(self.owner)

    def _after_refusal(self, refused: NotAllowed, *, ended: bool) -> None:
        """Called after a refusal, once its transaction has `ended`. `Book` leaves a proposal then."""

    @signal_safe
    def reading(self, preset: str | None = None) -> Iterator[tuple[Tx, Preset, str]]:
        with self._database.read(self.owner) as tx, self._reaching(tx):
            now = ledger.present(tx)
            self._heed_memory_off(tx)
            yield tx, self._presets.of(tx, preset), now

    def _read_first(self, words: object, *beside: object) -> None:
        """Look words through, and embed them, before anything is locked: they will be compared with topics never to be
        kept. `beside` are those that stand beside a line, which are not compared by meaning."""
        if self._is_writing:
            return
        long = [str(one) for one in (words, *beside) if switches.is_long(one)]
        if (self.meaning is None or not isinstance(words, str)) and not long:
            return
        never, sense = None, None
        if self.meaning is not None:
            never, sense = self.meaning.topics.get(self.owner), self.meaning.one_by_one
        if never is None:  # the first write here
            with self._database.read(self.owner) as tx:
                never = switches.never_topics(tx)
        if not never:
            return
        if isinstance(words, str) and len(words) <= switches.MOST_READ:
            switches.look_through(words.strip(), never, sense)
        for one in long:
            switches.look_through(one, never)

    def _heed_memory_off(self, tx: Tx) -> None:
        """Refuse a program if the person has switched memory off."""
        if self._about_memory and self.hand.is_program:
            note_memory_use()
            switches.refuse_memory_off(tx)

    @signal_safe
    def _reaching(self, tx: Tx) -> Iterator[None]:
        """Limit a transaction of an agent's token to memories that this agent may name."""
        tx.sense = self.meaning and self.meaning.one_by_one
        before, tx.reach = tx.reach, self.hand.agent
        try:
            yield
        finally:
            tx.reach = before


def beside_memory(book: Opened) -> Opened:
    """The same book for data that are no memories, such as runs, trades and costs. These may be read and written even
    if memory is switched off."""
    return _about(book, memory=False)


def about_memory(book: Opened) -> Opened:
    """The same book for memories, such as those that an extension makes of its own figures."""
    return _about(book, memory=True)


def _about(book: Opened, *, memory: bool) -> Opened:
    other = book._copy(book, book.origin, book._presets)
    other._about_memory = memory
    return other


@signal_safe
def noting_memory_use() -> Iterator[MemoryUse]:
    """Note whether a program asks for memory inside, of whichever book."""
    noted = MemoryUse()
    before = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(before)


def note_memory_use() -> None:
    """Say that what is being answered tells of memory."""
    noted = _NOTED.get()
    if noted is not None:
        noted.asked = True


@signal_safe
def viewing(book: OpenBook) -> Iterator[None]:
    """Read everything inside from one snapshot, with one transaction. Nothing may be written inside."""
    with book._database.view(book.owner):
        yield
