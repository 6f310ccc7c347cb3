"""An installation: puts the parts of the core together, and has what is done to a whole database.

`Keepbook` in `app.py` adds the parts of extensions (`Extension.house`)."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

from keepbook.book.book import Book
from keepbook.book.ground import due, leases
from keepbook.book.ground.argument_docs import explain_arguments
from keepbook.book.ground.in_pieces import Stopping
from keepbook.book.ground.limits import clean_optional
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ground.system_clock import utc_now
from keepbook.book.ground.when import parse_stamp, stamp
from keepbook.book.ledger import clock_check
from keepbook.book.ledger.cover import cover
from keepbook.book.ledger.ledger import Origin, held_against_clock
from keepbook.book.owners import authority
from keepbook.book.owners.authority import Actor
from keepbook.book.owners.owners import Presets, everyone
from keepbook.book.owners.servers import Servers
from keepbook.errors import Invalid, KeepbookError
from keepbook.extension import Extension, find_extensions, load_part, shipped
from keepbook.presets import load_preset
from keepbook.settings import Settings, load_settings
from keepbook.storage.database import ClockFunction, Database, is_postgresql
from keepbook.storage.database import distribute as distribute_database
from keepbook.storage.database import upgrade as upgrade_database

if TYPE_CHECKING:
    from keepbook.book.chats.closing_result import ClosingResult
    from keepbook.book.chats.face import Chat
    from keepbook.book.chats.pencil import Pencil
    from keepbook.book.owners.identities import Identities
    from keepbook.book.owners.tokens import Tokens
    from keepbook.book.recall.vectors import Meaning
    from keepbook.book.upkeep.import_answer import Imported
    from keepbook.jobs import Errand, SweepResult
    from keepbook.models.chat import Talk
    from keepbook.models.choose import Models
    from keepbook.models.outward import OutwardDoor
    from keepbook.storage.engines.cluster import Spread
    from keepbook.tools.catalogue import ToolSet


def upgrade(db: str, settings: Settings | None = None) -> list[str]:
    """Bring a database to this program's schema with the extensions that are on, as its administrator; answers the
    steps taken."""
    return upgrade_database(db, find_extensions((settings or load_settings(db=db)).extensions))


def distribute(db: str, shards: int = 32) -> "Spread":
    """Spread a PostgreSQL book over the nodes of its Citus cluster, as its administrator. Returns what was done."""
    return distribute_database(db, shards)


def differences(db: str) -> list[str]:
    """How a database differs from what this version installs; on PostgreSQL call it as the administrator."""
    # Loaded when it is called: opening a book needs none of it.
    from keepbook.storage.schema_check import differences as found

    return found(db)


def not_compared(db: str) -> list[str]:
    """The extensions that are installed in a database and whose code is not here."""
    from keepbook.storage.schema_check import not_compared as found  # as above

    return found(db)


def damage_of(file: Path, busy_seconds: float) -> list[str]:
    """What is wrong with the pages and keys of a SQLite file."""
    from keepbook.storage.schema_check import damage_of as found  # as above

    return found(file, busy_seconds)


def put_back_guards(db: str) -> list[str]:
    """Put back the guards that are missing or altered. Returns what was done."""
    from keepbook.storage.schema_check import repair_guards  # as above

    return repair_guards(db)


def check_extensions(extensions: Sequence[Extension]) -> None:
    """Refuse an extension that uses a name which is taken already. The extensions of this package are known to fit."""
    for one in extensions:
        if shipped().get(one.name) is one:
            continue
        authority.check_authority(one)
        others = [other for other in extensions if other is not one]
        names_of_others = {name for other in others for name in (*other.faces, *other.house)}
        for what, owner, names in (("face", Book, one.faces), ("part of an installation", Installation, one.house)):
            for name in names:
                if name in names_of_others or hasattr(owner, name):
                    advice = f"extension {one.name!r}: there is a {what} {name!r} already; call yours otherwise"
                    raise Invalid(advice, field="extensions")


@explain_arguments
class Installation:
    """An open installation: one database, many owners. Use it as a context manager, or close it.

    db: a file (`keepbook.db`), `postgresql://…`, `:memory:`, or a server's address (`https://host`); else the settings'
    token: the key to a server
    preset: the vocabulary and policy in force, whatever an owner's own is
    clock: what tells the time
    settings: instead of those of environment and file
    embedder: what recall by meaning goes by
    demo: whether this is a visitor's copy of the demo
    """

    def __init__(
        self,
        db: str | Path | None = None,
        *,
        preset: str | None = None,
        clock: ClockFunction = utc_now,
        settings: Settings | None = None,
        embedder: str | None = None,
        demo: bool = False,
        token: str | None = None,
    ) -> None:
        if token is not None:
            raise Invalid("a token opens a server: give its address, https://host", field="token")
        self.demo = demo
        """Whether this is a visitor's copy of the demo: no key, no program, no model but the offline one."""
        self.copied_at: datetime | None = None
        self.settings: Settings = settings or load_settings(db=str(db) if db is not None else None, preset=preset)
        self.extensions: tuple[Extension, ...] = find_extensions(self.settings.extensions)
        """The extensions that are on here."""
        check_extensions(self.extensions)
        place = self._place = str(db) if db is not None else self.settings.db
        load = partial(load_preset, folders=(self.settings.presets,))
        chosen = preset or self.settings.preset
        if chosen is not None:
            load(chosen)
        self._presets = Presets(load, chosen)
        self._database = Database(
            place, clock, busy_seconds=self.settings.busy_seconds, allowance=self.settings.allowance,
            allow_bypass_login=self.settings.allow_bypass_login, before_keeping=cover, extensions=self.extensions,
        )  # fmt: skip
        self.servers: Servers = Servers(self._database)
        """The processes that serve this database; each notes here that it is alive."""
        self._embedder: str = embedder or self.settings.embedder

    def book(
        self,
        owner: str,
        *,
        by: str = "person",
        door: str = "python",
        hand: Actor | None = None,
        name: str | None = None,
    ) -> Book:
        """One owner's book. `by="agent"` writes as an agent, whose word never outranks the person's; `name` is what
        lines call it that it wrote. A door says with `hand` what the token that it was shown may do."""
        if by not in ("person", "agent"):
            raise Invalid(f"by is 'person' or 'agent', not {by!r}", field="by")
        called = clean_optional(name, "name", 80) if by == "agent" else None
        return self._book(owner, by, door, hand, called)

    def _book(self, owner: str, by: str, door: str, hand: Actor | None = None, name: str | None = None) -> Book:
        return Book(
            self._database,
            owner,
            Origin(by, door, name=name),
            self._presets,
            closer=self._close,
            penciller=self._pencil,
            close_after_hours=self.settings.close_after_hours,
            meaning=self.meaning,
            settings=self.settings,
            extensions=self.extensions,
            hand=hand,
        )

    @cached_property
    def meaning(self) -> "Meaning | None":
        """The embedder at work, if the settings name one. Without it recall goes by words alone."""
        if self._embedder == "none":
            return None
        # Loaded where there is one: words alone need none of it.
        from keepbook.book.recall.vectors import Meaning
        from keepbook.models.embedders import choose_embedder

        key = self.settings.openai_key
        chosen = choose_embedder(
            self._embedder,
            base_url=self.settings.openai_base_url,
            key=key.reveal() if key else None,
            outward=self.outward if self.settings.openai_base_url else None,
        )
        return None if chosen is None else Meaning(self._database, chosen)

    def tools(
        self,
        preset: str | None = None,
        *,
        owner: str,
        thread_id: str | None = None,
        turn_ids: Sequence[str] = (),
        mode: str | None = None,
        agent: str | None = None,
    ) -> "ToolSet":
        """The preset's tools over one owner's book, for any agent framework. In `authoring` mode they include those
        that write a skill; for one of the book's agents, those with which it records its decisions."""
        # Loaded with the first use, here and below: a book alone needs neither tools nor models.
        from keepbook.tools.bound import agent_id, own_tools
        from keepbook.tools.catalogue import build_tools

        book = self.book(owner, by="agent")
        own = [] if agent is None else own_tools(book, agent_id(book, agent))
        return build_tools(preset, book, thread_id=thread_id, turn_ids=turn_ids, mode=mode, extra=own)

    def talk(self, chat: "Chat", *, models: "Models | None" = None) -> "Talk":
        """A chat with the installation's models in it: `async for event in kb.talk(chat).say("hello")`."""
        # See tools().
        from keepbook.models.chat import Talk
        from keepbook.models.compress import Budget

        for one in self.extensions:
            talk = load_part(one.talks)(self, chat, models) if one.talks is not None else None
            if talk is not None:
                return cast("Talk", talk)
        budget, cap = Budget(self.settings.context_tokens, self.settings.compress_at), self.settings.monthly_tokens
        return Talk(Book.of(chat.book), chat, models or self.models, budget=budget, monthly_tokens=cap)

    @cached_property
    def models(self) -> "Models":
        """The models that the settings name; the offline model if they name none."""
        # See tools().
        from keepbook.models.from_settings import models_under, notebook_alone

        return notebook_alone() if self.demo else models_under(self.settings, self.outward)

    @cached_property
    def outward(self) -> "OutwardDoor":
        """The way to addresses that a person, a page or a file names."""
        # See tools().
        from keepbook.models.outward import OutwardDoor

        return OutwardDoor()

    def _pencil(self, opened: OpenBook, thread_id: str) -> "Sequence[Pencil]":
        # See tools().
        from keepbook.models.pencil import pencil_lines

        return pencil_lines(opened, thread_id)

    def _close(self, opened: OpenBook, thread_id: str, *, offline: bool = False) -> "ClosingResult":
        # See tools().
        from keepbook.models.chat import over_cap
        from keepbook.models.closing.close import LEASE_SECONDS, close

        book = Book.of(opened)
        preset = book.preset(book.threads.get(thread_id).thread.preset)
        model, notice = self.models.for_reading(over_cap=over_cap(book, self.settings.monthly_tokens))
        if offline:
            model, notice = self.models.offline, None
        lease = max(LEASE_SECONDS, 3 * self.settings.model_timeout + 30)  # see there
        return close(
            self._database, book.owner, thread_id, preset, model, notice=notice, lease_seconds=lease,
            sense=book.meaning, extensions=book.extensions,
        )  # fmt: skip

    @cached_property
    def tokens(self) -> "Tokens":
        """The keys to the doors: `kb.tokens.create("alice")`."""
        from keepbook.book.owners.tokens import Tokens  # with the first call: most programs ask for none

        return Tokens(self._database, self.settings.admin_db, locked=self.settings.oidc_issuer is not None)

    @cached_property
    def identities(self) -> "Identities":
        """Who may sign in at the operator's provider: `kb.identities.invite("alice")`."""
        # Loaded with the first use: most installations have no provider.
        from keepbook.book.owners.identities import Identities

        return Identities(self._database)

    def stop_when(self, told: Stopping) -> None:
        """Once `told` says so, long work ends between two pieces: sweeps, closings, and what is left of deleted chats.
        What they have not done stays due."""
        self._database.told_to_stop = told

    def sweep_in_turn(self, holder: str, seconds: float) -> "SweepResult | None":
        """The sweep, unless another worker is at it. `holder` is this worker, which keeps it for `seconds`."""
        return self._sweep() if leases.take(self._database, "sweep", holder, seconds) else None

    def queue_errands_in_turn(self, holder: str, seconds: float) -> "Sequence[Errand]":
        """Begin the errands that are due, unless another worker has the lease. The caller performs them."""
        from keepbook.jobs import SweepResult, queue_errands  # see _sweep()

        if not leases.take(self._database, "errands", holder, seconds):
            return ()
        return queue_errands(self, self._database, self._opens_for_jobs, self.extensions, SweepResult())

    def sweep(self) -> "SweepResult":
        """Do all that is due, for every owner, until it is told to stop: what `keepbook jobs` repeats for ever."""
        from keepbook.jobs import perform_errands, queue_errands  # see _sweep()

        swept = self._sweep()
        if queued := queue_errands(self, self._database, self._opens_for_jobs, self.extensions, swept):
            asyncio.run(perform_errands(queued, self.perform_errand, swept))
        return swept

    async def perform_errand(self, errand: "Errand") -> str:
        """Carry an errand through. Returns how it ended: `succeeded`, or why not.

        errand: what `queue_errands_in_turn` began
        """
        return await errand.perform(self, errand.book, errand.id)

    @property
    def _opens_for_jobs(self) -> "Callable[[str], Book]":
        """Opens the book of an owner for a job."""
        return partial(self._book, by="job", door="jobs")

    def _sweep(self) -> "SweepResult":
        from keepbook.jobs import keep_copies, sweep  # loaded by whoever sweeps, here and above

        swept = sweep(self._database, self._opens_for_jobs, self.extensions)
        if (folder := self.settings.backup_folder) is not None and self._place != ":memory:" and not self.demo:
            address = self.settings.admin_db or self._place if is_postgresql(self._place) else self._place
            keep_copies(address, folder.expanduser(), self.settings, self._database.clock(), swept)
        return swept

    def import_from(
        self,
        place: str | Path,
        owner: str,
        *,
        owner_map: Mapping[str, str] | None = None,
        dry_run: bool = False,
        door: str = "python",
        progress: Callable[[int], None] = lambda _: None,
    ) -> "tuple[Imported, ...]":
        """Import a file or folder of another program. What it knows of one person goes into the owner's book. If it
        holds several people, `owner_map` says whose book here each of them goes into; without that nothing is written.
        Each book is written in a transaction of its own, one after the other: if one refuses, the error says what has
        come in, and the same import again completes it. Returns what was done in each book."""
        # Loaded when it is called: few import.
        from keepbook.book.upkeep.import_answer import say_what_came
        from keepbook.book.upkeep.importers.incoming import portions
        from keepbook.book.upkeep.importers.read_file import read_incoming
        from keepbook.book.upkeep.reading_apart import limits_in

        read = read_incoming(Path(place).expanduser(), limits_in(self.settings))
        found = portions(read, owner, owner_map or {})
        books = [(self.book(name, door=door), incoming) for name, incoming in found.items()]
        done: list[Imported] = []
        for book, incoming in books:
            try:
                done.append(book.bring_in(incoming, dry_run=dry_run, progress=progress))
            except KeepbookError as error:
                if done and not dry_run:
                    done_for = {one.owner for one in done}
                    say_what_came(error, done, [name for name in found if name not in done_for])
                raise
        return tuple(done)

    def counted(self) -> Mapping[tuple[str, str], float]:
        """Counts of this process by name and kind; `due` and `due_seconds` tell what waits in the database now."""
        now = self._database.clock()
        with self._database.unscoped() as conn:
            waiting = due.due_counts(conn, stamp(now))
        found = dict(self._database.tally.counts())
        for work, (number, since) in waiting.items():
            found["due", work] = number
            found["due_seconds", work] = max(0.0, (now - parse_stamp(since)).total_seconds())
        return found

    def follow_counts(self, told: Callable[[Mapping[tuple[str, str], float]], None]) -> None:
        """Call a method with everything that is counted from now on, for as long as its object lives."""
        self._database.tally.follow(told)

    def owners(self) -> list[str]:
        """The names of all owners that have a book here."""
        with self._database.unscoped() as conn:
            return everyone(conn)

    def clock_trouble(self, owner: str) -> str | None:
        """What is wrong between the clock and an owner's book: why nothing can be written to it, or that its last entry
        lies in the future. None if nothing is wrong."""
        with self._database.read(owner) as tx:
            now, last, fault = held_against_clock(tx)
        return fault or clock_check.future_notice(now, last)

    def accept_clock(self, owner: str) -> str | None:
        """Let one write of an owner through, within a day, although it would be refused for the clock. The operator's
        decision. Returns what was wrong with the clock; if nothing is, nothing happens and it returns None."""
        with self._database.read(owner) as tx:
            now, last, fault = held_against_clock(tx)
        clock_check.refuse_last_year(now, last)
        if fault is not None:
            clock_check.accept_clock(self._database, owner, now)
        return fault

    def facts(self) -> dict[str, str]:
        """What is open: engine, place, size, schema."""
        return self._database.facts()

    def copied(self, clock: ClockFunction = utc_now) -> Self:
        """Another installation in memory with a copy of everything in this one, which must be in memory too.

        clock: what tells the time there
        """
        other = type(self)(":memory:", clock=clock, settings=self.settings, embedder=self._embedder, demo=self.demo)
        self._database.copy_into(other._database)
        other.copied_at = other._database.clock()
        return other

    def image(self) -> bytes:
        """Everything in this installation as bytes, for `become`. It must be in memory."""
        return self._database.image()

    def become(self, image: bytes) -> bool:
        """Replace what this installation in memory holds by that of another; False, and no change, if schemas differ.

        image: what `image` returned there
        """
        return self._database.become(image)

    def close(self) -> None:
        """Close the database. Books that were opened here cannot be used any more."""
        meaning = self.__dict__.get("meaning")  # not the property itself, which would make one
        if meaning is not None:
            meaning.close()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def adopt(kb: Installation, settings: Settings) -> None:
    """Use these settings for the installation in this process from now on. Replies that have begun keep the old."""
    kb.settings = settings
    kb.__dict__.pop("models", None)
