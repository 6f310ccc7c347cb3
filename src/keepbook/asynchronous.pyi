"""Written by scripts/stubs.py from the classes it stands in for: change those."""

import builtins
import collections.abc
import datetime
import os
import pathlib
import typing
from collections.abc import Awaitable, Callable
from typing import Any, Literal, Self, TypeVar

import keepbook.book.chats.closing_result
import keepbook.book.chats.face
import keepbook.book.chats.notes
import keepbook.book.chats.pencil
import keepbook.book.chats.threads
import keepbook.book.ground.to_json
import keepbook.book.ledger.ledger
import keepbook.book.ledger.loads
import keepbook.book.ledger.owner_settings
import keepbook.book.ledger.thing_entries
import keepbook.book.ledger.verify
import keepbook.book.memory.block
import keepbook.book.memory.links
import keepbook.book.memory.memories
import keepbook.book.memory.proposals
import keepbook.book.owners.authority
import keepbook.book.owners.choices
import keepbook.book.owners.spending
import keepbook.book.owners.tokens
import keepbook.book.recall.chats
import keepbook.book.recall.memories
import keepbook.book.recall.turns.hits
import keepbook.book.recall.turns.topic_events
import keepbook.book.texts
import keepbook.book.upkeep.audit
import keepbook.book.upkeep.erase
import keepbook.book.upkeep.import_answer
import keepbook.extensions.agents.book.agents
import keepbook.extensions.agents.book.calibration
import keepbook.extensions.agents.book.cards.types
import keepbook.extensions.agents.book.decisions
import keepbook.extensions.agents.book.forecasts
import keepbook.extensions.agents.book.recording
import keepbook.extensions.agents.book.results
import keepbook.extensions.agents.book.runs
import keepbook.extensions.agents.book.scoring.brought_in
import keepbook.extensions.agents.book.scoring.comparison
import keepbook.extensions.agents.book.second_looks
import keepbook.extensions.agents.models.runner
import keepbook.extensions.trading.book.breakdown
import keepbook.extensions.trading.book.exposure
import keepbook.extensions.trading.book.files
import keepbook.extensions.trading.book.findings
import keepbook.extensions.trading.book.lessons
import keepbook.extensions.trading.book.loading.loaded
import keepbook.extensions.trading.book.market.bars
import keepbook.extensions.trading.book.market.events
import keepbook.extensions.trading.book.market.face
import keepbook.extensions.trading.book.performance
import keepbook.extensions.trading.book.reflection
import keepbook.extensions.trading.book.skills
import keepbook.extensions.trading.book.trades
import keepbook.jobs
import keepbook.models.chat
import keepbook.models.choose
import keepbook.presets
import keepbook.settings
import keepbook.tools.definition

Value = TypeVar("Value")

class AsyncToolSet:
    """Tools by name, in order. `call` answers, `schemas` shows them to a model.

    At a turn of the person, `lowered` gives the same tools as an agent's, for when an answer has quoted what `others`
    recorded.
    """
    def __contains__(self, name: object) -> bool: ...
    def __getitem__(self, name: str) -> keepbook.tools.definition.Tool: ...
    def __iter__(self) -> collections.abc.Iterator[keepbook.tools.definition.Tool]: ...
    def __len__(self) -> int: ...
    async def call(
        self, name: str, arguments: collections.abc.Mapping[str, Any] | str | None = None
    ) -> keepbook.tools.definition.ToolAnswer:
        """Do what a model asks of the tool of this `name`; what it got wrong is answered too.

        arguments: the model's, as a mapping or as JSON
        """
    def schemas(
        self, format: Literal["openai", "anthropic", "mcp"] = "openai"
    ) -> builtins.list[builtins.dict[str, Any]]:
        """The tools as a client of that kind reads them.

        format: openai, anthropic or mcp
        """
    def without(self, operations: collections.abc.Iterable[str]) -> AsyncToolSet:
        """The same tools but for those that do one of these `operations`."""

class AsyncTexts:
    """The named texts of a book: `book.texts`."""
    async def list(
        self, scope: str, *, name: str | None = None, prefix: str | None = None
    ) -> collections.abc.Sequence[keepbook.book.memory.memories.Memory]:
        """The texts of a scope: those of a `name`, those whose names begin with a `prefix` that ends in a slash, the
        one written last at the end; or else all of it and of the scopes below, in the order of creation.

        scope: the agent or skill it is for; reading, * means every one
        name: how it is called
        """
    async def scopes(self, scope: str) -> collections.abc.Sequence[str]:
        """The scopes that hold texts, this one and those below it.

        scope: the agent or skill it is for; reading, * means every one
        """
    async def write(
        self, changes: collections.abc.Sequence[keepbook.book.texts.TextChange]
    ) -> collections.abc.Sequence[keepbook.book.memory.memories.Written]:
        """Carry out these `changes`, all of them or none. `Conflict` with the code `version` says that a text is
        not the one that a change is based on.
        """

class AsyncTokens:
    """The tokens of an installation: `kb.tokens`."""
    async def asked_for(self) -> bool:
        """Whether a token was ever made here: from then on every request needs one."""
    async def check(self, secret: str) -> keepbook.book.owners.tokens.Token | None:
        """The token behind a secret, if it is still valid.

        secret: what was shown at the door
        """
    async def create(
        self,
        owner: str | None = None,
        *,
        kind: str = "person",
        scopes: collections.abc.Iterable[str] = ("read", "write"),
        name: str | None = None,
        expires: Any = None,
        agent: str | None = None,
        made_with: str | None = None,
    ) -> keepbook.book.owners.tokens.NewToken:
        """Make a token and return its secret, this once. `agent` is the id of the agent whose tools it has. A token
        that is `made_with` another ends no later than that one, and is revoked with it.

        owner: whose: a name of your choice for a person
        kind: which: of a token person, agent or service; of a file what it holds; of a run what began it
        scopes: what it may do: read, write, admin; of a service token also person
        name: how it is called
        expires: until when it opens something; for ever, if nothing is said
        agent: one of the book's agents: its name or id
        made_with: the id of the token it is made with: it ends no later than that one
        """
    async def first_maker(self, token: keepbook.book.owners.tokens.Token) -> str:
        """The id of the token of the same owner that made `token`, or made its maker, and so on; its own id if none
        did. It never changes, so it is looked up once.
        """
    async def list(self, owner: str | None = None) -> collections.abc.Sequence[keepbook.book.owners.tokens.Token]:
        """One owner's tokens, or all of the installation; the newest first.

        owner: whose: a name of your choice for a person
        """
    async def of_session(self, secret: str) -> keepbook.book.owners.tokens.Token | None:
        """The token behind a session of the pages, while both are valid.

        secret: what was shown at the door
        """
    async def revoke(self, id: str, *, owner: str | None = None) -> keepbook.book.owners.tokens.Token:
        """Revoke a token with all that was made with it: from now on they open nothing. With `owner`, only a token of
        that owner.

        id: its id, eight characters
        owner: whose: a name of your choice for a person
        """
    async def session_for(self, token_id: str) -> str:
        """Start a session of the pages for a token; returns its secret, this once.

        token_id: the id of the token
        """
    async def sign_in(self, secret: str) -> tuple[str, keepbook.book.owners.tokens.Token] | None:
        """Start a session of the pages with a person's token; returns the session's secret, this once.

        secret: what was shown at the door
        """
    async def sign_out(self, secret: str) -> None:
        """End a session; its token stays valid.

        secret: what was shown at the door
        """
    async def stands(self, id: str | None) -> bool:
        """Whether a token is still valid. Without a token: whether none was ever made here.

        id: its id, eight characters
        """

class AsyncChat:
    """One chat: `book.thread("session-42")` for an outside agent, `book.threads.get(id)` for ours."""

    id: str
    session: str | None
    async def add(
        self,
        role: str,
        text: str,
        at: Any = None,
        speaker: str | None = None,
        *,
        hidden: str | None = None,
        parts: Any = None,
    ) -> keepbook.book.chats.threads.Message:
        """Record what was said, now or at a given moment.

        role: who speaks: user, assistant, tool or system
        text: the words themselves
        at: when it was: a datetime, or a text in ISO 8601; now, if nothing is said
        speaker: the name of who speaks
        hidden: told to the model with it, shown nowhere
        parts: what a model made the message of, to send it again as it was
        """
    async def add_all(
        self, turns: collections.abc.Sequence[keepbook.book.chats.face.NewTurn], after: int | None = None
    ) -> collections.abc.Sequence[keepbook.book.chats.threads.Message]:
        """Record several turns, all or none. `after` is how many you have seen of this chat: where others have come
        meanwhile, a `Conflict` with the code `turns` says so.

        turns: the numbers of turns; by default all that are meant
        after: only what came after the entry of this number
        """
    async def bring_into_view(
        self, turns: collections.abc.Sequence[int] | None = None
    ) -> keepbook.book.chats.threads.Thread:
        """Send turns to the model again that were taken out of its view; without numbers all of them.

        turns: the numbers of turns; by default all that are meant
        """
    async def close(self, offline: bool = False) -> keepbook.book.chats.closing_result.ClosingResult:
        """Read what is new for memories, once. The chat rests until something is said again.

        offline: read with the bundled reader, whatever model is set
        """
    async def decline(self, key: str) -> keepbook.book.chats.pencil.Pencil:
        """Say no to a pencil line: it is not kept.

        key: what makes it the same one when it is sent again; of a pencil line, the line's own
        """
    async def inject(self, *, scope: str | None = None) -> str:
        """The memory block of this chat: rendered once, then the same bytes. Incognito chats have none. An agent that
        asks before the person's own chat has one is shown it, and fixes nothing.

        scope: the agent or skill it is for; reading, * means every one
        """
    async def keep(self, key: str, both: bool = False) -> keepbook.book.memory.memories.Written:
        """Keep a pencil line now, as the person.

        key: what makes it the same one when it is sent again; of a pencil line, the line's own
        both: keep it beside the line that it would change
        """
    async def messages(self) -> collections.abc.Sequence[keepbook.book.chats.threads.Message]:
        """Every turn of the chat, in order."""
    async def pencil(self) -> collections.abc.Sequence[keepbook.book.chats.pencil.Pencil]:
        """What closing would keep or propose of what was said so far, each beside its turn. Nothing of it is stored."""
    async def take_out_of_view(
        self, turns: collections.abc.Sequence[int] | None = None
    ) -> keepbook.book.chats.threads.Thread:
        """Leave turns that others recorded out of what a model is sent; without numbers all of them. They stay
        readable.

        turns: the numbers of turns; by default all that are meant
        """
    @property
    def thread(self) -> Awaitable[keepbook.book.chats.threads.Thread]:
        """The chat's present state."""

class AsyncChats:
    """The chats of a book: `book.threads`."""
    async def archive(self, thread_id: str) -> keepbook.book.chats.threads.Thread:
        """thread_id: the chat it comes from, or is about"""
    async def delete(
        self, thread_id: str, *, memories: bool = False, forever: bool = False
    ) -> keepbook.book.chats.threads.Thread | None:
        """Move a chat to the trash for 30 days, with the memories learned from it if wanted; or remove it at once.

        thread_id: the chat it comes from, or is about
        memories: with what was learned from it
        forever: gone at once, text and all; nothing undoes it
        """
    async def get(self, thread_id: str) -> AsyncChat:
        """thread_id: the chat it comes from, or is about"""
    async def learned(self, thread_id: str) -> collections.abc.Sequence[str]:
        """The ids of the memories that came out of a chat.

        thread_id: the chat it comes from, or is about
        """
    async def list(
        self, *, state: str | None = None, trash: bool = False, limit: int = 100
    ) -> collections.abc.Sequence[keepbook.book.chats.threads.Thread]:
        """The chats, the last touched first.

        state: active, archived, trash or all; of a chat active, idle or archived; of a decision open or resolved
        trash: those in the trash instead
        limit: how many at most
        """
    async def of_session(self, session: str, *, incognito: bool = False) -> AsyncChat:
        """The chat of an outside agent's session. It is begun if there is none.

        session: a name of yours for the chat
        incognito: nothing of it is remembered, and no memory is told in it
        """
    async def recall(
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
    ) -> collections.abc.Sequence[keepbook.book.recall.turns.hits.ChatHit]:
        """The passages that answer a question, best first, or the oldest where it asks for an overview: as many as
        twenty turns would fill, or fewer.

        query: words or a question
        limit: how many at most
        since: from this instant on: a datetime, ISO 8601 or plain words (last Friday), read in the owner's zone
        until: up to this instant, said in the same ways; '' in an update takes an end away
        order: relevance, best first, or time, the oldest first; left out, as the question asks
        spread: whether something of each chat that answers is brought
        tokens: how much is brought, in tokens
        around: so many turns before and after each hit
        """
    async def rename(self, thread_id: str, title: str, *, by: str = "person") -> keepbook.book.chats.threads.Thread:
        """thread_id: the chat it comes from, or is about
        title: a title for it
        by: who: person or agent; of a chat's title person or model
        """
    async def restore(self, thread_id: str) -> keepbook.book.chats.threads.Thread:
        """Bring a chat back from the trash, with the memories that went there together with it; or from the archive.

        thread_id: the chat it comes from, or is about
        """
    async def search(self, query: str, limit: int = 20) -> collections.abc.Sequence[keepbook.book.recall.chats.Snippet]:
        """The turns that contain the words, which are marked; never hidden context.

        query: words or a question
        limit: how many at most
        """
    async def start(
        self,
        *,
        agent: str | None = None,
        incognito: bool = False,
        mode: str | None = None,
        focus: str | None = None,
        preset: str | None = None,
    ) -> AsyncChat:
        """Begin a chat of our own. What stands on the person's screen, only they say.

        agent: one of the book's agents: its name or id
        incognito: nothing of it is remembered, and no memory is told in it
        mode: what the chat is for: authoring, coach or ops
        focus: what was open on the screen
        preset: the vocabulary and policy to go by; by default the one in force
        """

class AsyncJournal:
    """The notes of a book: `book.notes`."""
    async def bookmark(self, thread_id: str, turn: int) -> keepbook.book.chats.notes.Note:
        """thread_id: the chat it comes from, or is about
        turn: the number of the turn
        """
    async def delete(self, id: str) -> keepbook.book.chats.notes.Note:
        """Delete a note for good: notes have no trash.

        id: its id, eight characters
        """
    async def edit(self, id: str, text: str) -> keepbook.book.chats.notes.Note:
        """id: its id, eight characters
        text: the words themselves
        """
    async def get(self, id: str) -> keepbook.book.chats.notes.Note:
        """id: its id, eight characters"""
    async def list(self, query: str | None = None) -> collections.abc.Sequence[keepbook.book.chats.notes.Note]:
        """query: words or a question"""
    async def put_back(self, note: keepbook.book.chats.notes.Note) -> keepbook.book.chats.notes.Note:
        """Undo a deletion: store the note that `delete` returned, under a new id.

        note: where that was seen
        """
    async def write(self, text: str) -> keepbook.book.chats.notes.Note:
        """text: the words themselves"""

class AsyncReview:
    """What waits for the person's answer: `book.proposals`."""
    async def accept(self, id: str, both: bool = False) -> keepbook.book.memory.memories.Written:
        """Accept a proposal: from now on it is the person's own word.

        id: its id, eight characters
        both: keep it beside the line that it would change
        """
    async def answer(
        self, id: str, choice: str
    ) -> keepbook.book.memory.memories.Written | keepbook.book.memory.proposals.Proposal:
        """Answer a question with one of its choices. Returns what that wrote, or the proposal if there was nothing to
        write.

        id: its id, eight characters
        choice: one of the `choices` of its question; of a plain proposal yes, no or both
        """
    async def decline(self, id: str) -> keepbook.book.memory.proposals.Proposal:
        """Decline a proposal: nothing is kept, and it is not proposed again.

        id: its id, eight characters
        """
    async def get(self, id: str) -> keepbook.book.memory.proposals.Proposal:
        """id: its id, eight characters"""
    async def list(self, status: str = "waiting") -> collections.abc.Sequence[keepbook.book.memory.proposals.Proposal]:
        """status: waiting, accepted, declined or expired"""
    async def reopen(self, id: str) -> keepbook.book.memory.proposals.Proposal:
        """Take back a "no": the proposal waits again. What was accepted is undone like any other write.

        id: its id, eight characters
        """

class AsyncSpending:
    """What models cost this owner: `book.spending`."""
    async def count(self, operation: str, model: str, tokens_in: int, tokens_out: int) -> None:
        """Record the tokens of one answer of a model.

        operation: what the model was asked for
        model: which model it is
        tokens_in: how many tokens it read
        tokens_out: how many tokens it wrote
        """
    async def list(self) -> collections.abc.Sequence[keepbook.book.owners.spending.Spent]:
        """What each kind of work has cost this owner, by month."""
    async def this_month(self) -> int:
        """How many tokens the models have read and written for this owner this month."""

class AsyncIndex:
    """The indexes that recall searches: `book.index`."""
    async def catch_up(self) -> int:
        """Embed what waits if that is little, for a program that asks and ends; returns how much still waits."""
    async def left(self, most: int = 1000000) -> int:
        """How many memories and turns wait for their vector.

        most: count no further than this
        """
    async def rebuild(self, progress: collections.abc.Callable[[int], None] | None = None) -> int:
        """Analyse every memory and turn anew, and correct what an older program indexed differently.

        progress: is called with how many are done
        """

class AsyncAgents:
    """The agents of a book: `book.agents`. Wherever an agent is named, its id or its name will do."""
    async def arm(self, ref: str) -> keepbook.extensions.agents.book.agents.Agent:
        """Let it run by its schedule, and start its program, on this machine; an import never does.

        ref: its id, or a piece of what exactly one says; of an agent its name
        """
    @property
    def cards(self) -> Awaitable[keepbook.extensions.agents.book.cards.types.CardTypes]:
        """The card types in force, and the files that could not be read."""
    async def claim(
        self, id: str, *, lease_seconds: float
    ) -> keepbook.extensions.agents.book.agents.SessionLease | None:
        """Take the lease on the shared session; None while somebody else has it.

        id: its id, eight characters
        lease_seconds: for how long
        """
    async def compress(
        self, held: keepbook.extensions.agents.book.agents.SessionLease, through: int, summary: str
    ) -> None:
        """Let `summary` replace the steps of the session through this one.

        held: the lease that `claim` gave
        through: the number of the last step that it stands for
        summary: a shorter wording for the block, up to 200 characters
        """
    async def create(self, name: str, **given: Any) -> keepbook.extensions.agents.book.agents.Agent:
        """Create an agent. Only the name is needed; see `agents.FIELDS` for the rest.

        name: how it is called
        given: what is set, by its name
        """
    async def decisions(
        self, ref: str, limit: int = 5
    ) -> collections.abc.Sequence[keepbook.extensions.agents.book.decisions.PastCard]:
        """The agent's own last cards, newest first: what `get_my_decisions` answers.

        ref: its id, or a piece of what exactly one says; of an agent its name
        limit: how many at most
        """
    async def delete(self, ref: str) -> keepbook.extensions.agents.book.agents.Agent:
        """Remove an agent from every list; its runs and decisions stay.

        ref: its id, or a piece of what exactly one says; of an agent its name
        """
    async def disarm(self, ref: str) -> keepbook.extensions.agents.book.agents.Agent:
        """Let its schedule rest, and do not start its program here.

        ref: its id, or a piece of what exactly one says; of an agent its name
        """
    async def get(self, ref: str) -> keepbook.extensions.agents.book.agents.Agent:
        """ref: its id, or a piece of what exactly one says; of an agent its name"""
    async def give_back(self, held: keepbook.extensions.agents.book.agents.SessionLease) -> None:
        """Release the lease.

        held: the lease that `claim` gave
        """
    async def keep_thread(self, id: str, thread_id: str) -> None:
        """Let the chat with an agent go on in this thread.

        id: its id, eight characters
        thread_id: the chat it comes from, or is about
        """
    async def list(self) -> collections.abc.Sequence[keepbook.extensions.agents.book.agents.Agent]:
        """The agents in the order in which they were made."""
    async def renew(self, held: keepbook.extensions.agents.book.agents.SessionLease, *, lease_seconds: float) -> bool:
        """Renew the lease; False if somebody else has it by now.

        held: the lease that `claim` gave
        lease_seconds: for how long
        """
    async def reset(self, ref: str) -> keepbook.extensions.agents.book.agents.Agent:
        """Let the next run start without a past; chats and decisions stay.

        ref: its id, or a piece of what exactly one says; of an agent its name
        """
    async def restore(self, id: str) -> keepbook.extensions.agents.book.agents.Agent:
        """Restore a deleted agent by its id; its session starts fresh.

        id: its id, eight characters
        """
    async def update(self, ref: str, **given: Any) -> keepbook.extensions.agents.book.agents.Agent:
        """Change an agent; what is not given stays. `memory_enabled=True` starts fresh.

        ref: its id, or a piece of what exactly one says; of an agent its name
        given: what is set, by its name
        """

class AsyncRuns:
    """The runs of a book: `book.runs`."""
    async def carried(
        self, turn: keepbook.extensions.agents.book.agents.SessionLease
    ) -> collections.abc.Sequence[
        tuple[
            int,
            keepbook.extensions.agents.book.runs.Run,
            collections.abc.Sequence[keepbook.extensions.agents.book.runs.TranscriptTurn],
        ]
    ]:
        """The steps of a session since its last reset, without compressed ones: step number, run and transcript.

        turn: the number of the turn
        """
    async def fail(self, run_id: str, error: str, **told: Any) -> keepbook.extensions.agents.book.runs.Run:
        """run_id: the id of the run
        error: what went wrong
        told: made_at, key, transcript, link, model and prompt_version, as in `record`
        """
    async def get(self, run_id: str) -> keepbook.extensions.agents.book.runs.Run:
        """run_id: the id of the run"""
    async def list(
        self, agent: str | None = None, **filters: Any
    ) -> collections.abc.Sequence[keepbook.extensions.agents.book.runs.Run]:
        """The runs, newest first; `kind`, `status`, `limit`, `before`.

        agent: one of the book's agents: its name or id
        filters: kind, status, limit and before, as the list shows them
        """
    async def looks_at(
        self, run_ids: collections.abc.Sequence[str]
    ) -> builtins.dict[str, builtins.list[keepbook.extensions.agents.book.runs.Run]]:
        """The second looks at each of these runs, in time order.

        run_ids: the ids of the runs
        """
    async def may_re_examine(self, run_id: str) -> bool:
        """Whether the card type allows another look, and still does.

        run_id: the id of the run
        """
    async def queue(
        self, agent_id: str, kind: str, *, prompt: str, **told: Any
    ) -> keepbook.extensions.agents.book.runs.Run:
        """Begin a run; see `runs.queue`.

        agent_id: the id of the agent
        kind: which: of a token person, agent or service; of a file what it holds; of a run what began it
        prompt: what it is asked
        told: made_at, key, transcript, link, model and prompt_version, as in `record`
        """
    async def re_examinations(self, run_id: str) -> collections.abc.Sequence[keepbook.extensions.agents.book.runs.Run]:
        """The second looks at a run, in time order.

        run_id: the id of the run
        """
    async def renew(self, run_id: str, *, lease_seconds: float) -> None:
        """Renew the run's lease: the sweep waits a while longer before it gives this run up.

        run_id: the id of the run
        lease_seconds: for how long
        """
    async def say(
        self, run_id: str, role: str, text: str, *, parts: Any = None
    ) -> keepbook.extensions.agents.book.runs.TranscriptTurn:
        """run_id: the id of the run
        role: who speaks: user, assistant, tool or system
        text: the words themselves
        parts: what a model made the message of, to send it again as it was
        """
    async def several(
        self, run_ids: collections.abc.Sequence[str]
    ) -> builtins.dict[str, keepbook.extensions.agents.book.runs.Run]:
        """Runs by their ids.

        run_ids: the ids of the runs
        """
    async def specialists(self, run_id: str) -> collections.abc.Sequence[keepbook.extensions.agents.book.runs.Run]:
        """run_id: the id of the run"""
    async def start(
        self,
        run_id: str,
        *,
        adapter: str,
        model: str | None,
        lease_seconds: float,
        turn: keepbook.extensions.agents.book.agents.SessionLease | None = None,
    ) -> keepbook.extensions.agents.book.runs.Run:
        """run_id: the id of the run
        adapter: how the run is carried out: native or claude-cli
        model: which model it is
        lease_seconds: for how long
        turn: the number of the turn
        """
    async def succeed(
        self, run_id: str, *, slots: collections.abc.Mapping[str, Any] | None = None, **told: Any
    ) -> keepbook.extensions.agents.book.runs.Run:
        """Store the result for good: card, decision and session together; see `runs.succeed`.

        run_id: the id of the run
        slots: what the card says, by the names of its slots
        told: made_at, key, transcript, link, model and prompt_version, as in `record`
        """
    async def transcript(
        self, run_id: str
    ) -> collections.abc.Sequence[keepbook.extensions.agents.book.runs.TranscriptTurn]:
        """What was said in a run. It may hold memories that tools brought, and is closed to programs as they are.

        run_id: the id of the run
        """

class AsyncDecisions:
    """How decisions turn out: `book.decisions`."""
    async def answer(
        self,
        run_id: str,
        outcome: bool | str | float | None,
        *,
        at: Any = None,
        note: str | None = None,
        settled_early: str | None = None,
    ) -> keepbook.extensions.agents.book.decisions.Decision:
        """Say how a forecast came out: true, false, which choice or number it was; None: it cannot be told. Before its
        date `settled_early` says why it is settled already.

        run_id: the id of the run
        outcome: how it came out: true, false, or of a choice what it was
        at: when it was: a datetime, or a text in ISO 8601; now, if nothing is said
        note: where that was seen
        """
    async def brought_in(
        self, agent: str | None = None, *, limit: int = 100, offset: int = 0
    ) -> collections.abc.Sequence[keepbook.extensions.agents.book.scoring.brought_in.BroughtForecast]:
        """What was brought in, the newest made first.

        agent: one of the book's agents: its name or id
        limit: how many at most
        offset: so many of the first are left out
        """
    async def calibration(
        self, agent: str | None = None, *, forecasts: bool = False, known_at: Any = None, series: str = "witnessed"
    ) -> keepbook.extensions.agents.book.calibration.Calibration:
        """The calibration of trades, or of forecasts: what was stated against outcomes, as known now or at an instant.
        Of what the book has witnessed; `series` names what counts apart: recorded_later, self_graded, brought_in.

        agent: one of the book's agents: its name or id
        forecasts: those of forecasts, not of trades
        known_at: as was known at this instant: a datetime, ISO 8601 or plain words; now, if nothing is said
        series: witnessed, or what counts apart: recorded_later, self_graded, brought_in
        """
    async def compare(
        self, agent: str, other: str, *, series: str = "witnessed", tag: str | None = None
    ) -> keepbook.extensions.agents.book.scoring.comparison.AgentComparison:
        """Two agents on the questions that both forecast within a day of each other.

        agent: one of the book's agents: its name or id
        other: the agent it is held against: its name or id
        series: witnessed, or what counts apart: recorded_later, self_graded, brought_in
        tag: only forecasts with this tag
        """
    async def count(self, *, agent: str | None = None, **filters: Any) -> builtins.dict[str, int]:
        """How many there are in each state; `due`: forecasts whose date is over and that nobody has answered.

        agent: one of the book's agents: its name or id
        filters: kind, status, limit and before, as the list shows them
        """
    async def due(
        self, *, agent: str | None = None, limit: int = 100
    ) -> collections.abc.Sequence[keepbook.extensions.agents.book.forecasts.DueForecast]:
        """The forecasts that wait for an answer past their date, the longest waiting first: what a resolver asks.

        agent: one of the book's agents: its name or id
        limit: how many at most
        """
    async def exit(
        self, run_id: str, price: float | None = None, *, at: Any = None
    ) -> keepbook.extensions.agents.book.decisions.Decision:
        """Record that the person got out at a price.

        run_id: the id of the run
        price: at which price
        at: when it was: a datetime, or a text in ISO 8601; now, if nothing is said
        """
    async def find(self, run_id: str) -> keepbook.extensions.agents.book.decisions.Decision | None:
        """The decision of a run, if its card made one.

        run_id: the id of the run
        """
    async def first_resolved(self, agent: str | None = None) -> datetime.datetime | None:
        """When the first of the resolved trades was decided.

        agent: one of the book's agents: its name or id
        """
    async def follow(self) -> int:
        """Follow every open decision on the new bars, and again those whose bars came late or were corrected; returns
        how many were closed. The sweep does it too.
        """
    async def get(self, run_id: str, *, known_at: Any = None) -> keepbook.extensions.agents.book.decisions.Decision:
        """A decision as it is, or as it was known at an instant.

        run_id: the id of the run
        known_at: as was known at this instant: a datetime, ISO 8601 or plain words; now, if nothing is said
        """
    async def history(self, run_id: str) -> collections.abc.Sequence[keepbook.extensions.agents.book.results.Former]:
        """What was known of its end before bars came late or were corrected, the oldest first.

        run_id: the id of the run
        """
    async def list(
        self, *, state: str | None = None, agent: str | None = None, limit: int = 100, **filters: Any
    ) -> collections.abc.Sequence[keepbook.extensions.agents.book.decisions.Decision]:
        """The decisions, newest first; `forecasts` (only those, or none of them), `offset`, `by_due` (what is due
        first).

        state: active, archived, trash or all; of a chat active, idle or archived; of a decision open or resolved
        agent: one of the book's agents: its name or id
        limit: how many at most
        filters: kind, status, limit and before, as the list shows them
        """
    async def record(
        self,
        agent: str,
        card: collections.abc.Mapping[str, Any],
        *,
        made_at: Any = None,
        key: str | None = None,
        transcript: str | collections.abc.Sequence[collections.abc.Mapping[str, Any]] | None = None,
        link: str | None = None,
        model: str | None = None,
        prompt_version: str | None = None,
    ) -> keepbook.extensions.agents.book.recording.RecordedDecision:
        """Record a card of the agent's type that was made elsewhere. The same key with the same card is replayed, with
        another it is a `Conflict`.

        agent: one of the book's agents: its name or id
        card: the slots of the agent's card type, filled
        made_at: when it was made; now, if nothing is said
        key: what makes it the same one when it is sent again; of a pencil line, the line's own
        transcript: what was said on the way
        link: where more of it stands
        model: which model it is
        prompt_version: your own name for the words it was asked with
        """
    async def record_second_look(
        self, run_id: str, card: collections.abc.Mapping[str, Any], **told: Any
    ) -> keepbook.extensions.agents.book.recording.RecordedDecision:
        """Record a second look made elsewhere; `made_at`, `key`, `transcript`, `link`, `model`, `prompt_version` as in
        `record`.

        run_id: the id of the run
        card: the slots of the agent's card type, filled
        told: made_at, key, transcript, link, model and prompt_version, as in `record`
        """
    async def refuse_ambiguous(
        self, card: keepbook.extensions.agents.book.cards.types.CardType, slots: collections.abc.Mapping[str, Any]
    ) -> None:
        """Raise `Invalid`, with the choices, if a card's symbol may mean several of those that have bars.

        card: the slots of the agent's card type, filled
        slots: what the card says, by the names of its slots
        """
    async def second_look(self, run_id: str) -> keepbook.extensions.agents.book.second_looks.SecondLook:
        """The prompt and slots for a second look at a run that is made elsewhere.

        run_id: the id of the run
        """

class AsyncTrading:
    """The trading of a book: `book.trading`."""
    async def breakdown(
        self, *, skill: str | None = None, deployment: str | None = None, known_at: Any = None
    ) -> keepbook.extensions.trading.book.breakdown.Breakdown:
        """The results by symbol, hour, weekday and tag, with the time in the market and what holding would have
        made.

        skill: one of the skills: its name or id
        deployment: one of the deployments: its name or id
        known_at: as was known at this instant: a datetime, ISO 8601 or plain words; now, if nothing is said
        """
    async def change_deployment(self, ref: str, **given: Any) -> keepbook.extensions.trading.book.skills.Deployment:
        """Change a deployment; what is not given stays.

        ref: its id, or a piece of what exactly one says; of an agent its name
        given: what is set, by its name
        """
    async def create_deployment(
        self, name: str, skill: str, **given: Any
    ) -> keepbook.extensions.trading.book.skills.Deployment:
        """Create a deployment of a skill: `account`, `capital`, `currency`, `started_at`, `ended_at`.

        name: how it is called
        skill: one of the skills: its name or id
        given: what is set, by its name
        """
    async def create_skill(
        self, name: str, *, description: str = "", **said: str | None
    ) -> keepbook.extensions.trading.book.skills.Skill:
        """Create a skill. Only the name is needed; `strategy`, `schedule` and `chat` are what it says.

        name: how it is called
        description: what it is, in a sentence
        said: strategy, schedule and chat: what the skill says
        """
    async def deployment(self, ref: str) -> keepbook.extensions.trading.book.skills.Deployment:
        """ref: its id, or a piece of what exactly one says; of an agent its name"""
    async def deployments(
        self, skill: str | None = None
    ) -> collections.abc.Sequence[keepbook.extensions.trading.book.skills.Deployment]:
        """The deployments in the order in which they were made, also those that have ended.

        skill: one of the skills: its name or id
        """
    async def equity(
        self,
        *,
        skill: str | None = None,
        deployment: str | None = None,
        known_at: Any = None,
        currency: str | None = None,
    ) -> collections.abc.Sequence[keepbook.extensions.trading.book.performance.EquityPoint]:
        """The equity curve, a point for every day from the first exit to the last; with a `currency` converted into
        it.

        skill: one of the skills: its name or id
        deployment: one of the deployments: its name or id
        known_at: as was known at this instant: a datetime, ISO 8601 or plain words; now, if nothing is said
        """
    async def events(
        self,
        *,
        lookahead_hours: float = 24,
        types: collections.abc.Sequence[str] = (),
        symbols: collections.abc.Sequence[str] = (),
        min_importance: float = 0.4,
        deployment: str | None = None,
        known_at: Any = None,
    ) -> keepbook.extensions.trading.book.exposure.Coming:
        """The coming events; with a deployment also what they may do to its open positions.

        lookahead_hours: how far ahead, in hours
        types: only these kinds of events
        symbols: only what touches these
        min_importance: 0 to 1: what matters less is left out
        deployment: one of the deployments: its name or id
        known_at: as was known at this instant: a datetime, ISO 8601 or plain words; now, if nothing is said
        """
    async def field_history(
        self, ref: str, field: str | None = None
    ) -> collections.abc.Sequence[keepbook.extensions.trading.book.skills.FieldVersion]:
        """ref: its id, or a piece of what exactly one says; of an agent its name
        field: strategy, schedule or chat
        """
    async def lessons(
        self, *, skill: str | None = None, deployment: str | None = None, state: str = "active", known_at: Any = None
    ) -> collections.abc.Sequence[keepbook.extensions.trading.book.lessons.Lesson]:
        """The lessons, pinned ones first, then the best supported; for a skill also those of its deployments. One that
        trades corrected since no longer support says so: `supported` is false.

        skill: one of the skills: its name or id
        deployment: one of the deployments: its name or id
        state: active, archived, trash or all; of a chat active, idle or archived; of a decision open or resolved
        known_at: as was known at this instant: a datetime, ISO 8601 or plain words; now, if nothing is said
        """
    async def load(
        self,
        kind: str,
        source: str
        | os.PathLike[str]
        | collections.abc.Iterable[str]
        | keepbook.extensions.trading.book.files.RowsRead,
        *,
        deployment: str | None = None,
        progress: collections.abc.Callable[[int], None] | None = None,
        corrections: str = "offer",
        dry_run: bool = False,
    ) -> keepbook.extensions.trading.book.loading.loaded.LoadedFile:
        """Load a file of trades, positions, skills or deployments, or freqtrade's trade database.

        corrections: of trades; rows without an id that look like the correction of a trade that is there are offered,
            or with `take` replace it, or with `add` are trades of their own
        dry_run: carry it out and roll it back: what is returned is what would be

        kind: which: of a token person, agent or service; of a file what it holds; of a run what began it
        source: the path of a file, or its lines
        deployment: one of the deployments: its name or id
        progress: is called with how many are done
        dry_run: only say what would come in; nothing is kept
        """
    async def loads(self, *, limit: int = 100) -> collections.abc.Sequence[keepbook.book.ledger.loads.Load]:
        """The files that `bring_in` imported, newest first; also those that were taken back.

        limit: how many at most
        """
    async def mappings(self) -> collections.abc.Mapping[str, collections.abc.Mapping[str, str]]:
        """The stored mappings of columns, by name."""
    async def performance(
        self,
        *,
        skill: str | None = None,
        deployment: str | None = None,
        since: Any = None,
        known_at: Any = None,
        currency: str | None = None,
    ) -> keepbook.extensions.trading.book.performance.Performance:
        """Every figure of the results; with `since` as if trading had begun then.

        currency: convert into this one, by the bars that there are; without it, results in several currencies stand
            apart

        skill: one of the skills: its name or id
        deployment: one of the deployments: its name or id
        since: from this instant on: a datetime, ISO 8601 or plain words (last Friday), read in the owner's zone
        known_at: as was known at this instant: a datetime, ISO 8601 or plain words; now, if nothing is said
        """
    async def pin(self, lesson: str) -> keepbook.extensions.trading.book.lessons.Lesson:
        """Make a lesson the person's own word: it stays as it is, and every chat in the skill's scope sees it.

        lesson: the id of the lesson
        """
    async def positions(
        self, deployment: str | None = None, *, known_at: Any = None
    ) -> collections.abc.Sequence[keepbook.extensions.trading.book.trades.Position]:
        """The open positions.

        deployment: one of the deployments: its name or id
        known_at: as was known at this instant: a datetime, ISO 8601 or plain words; now, if nothing is said
        """
    async def reflect(
        self,
        *,
        skill: str | None = None,
        deployment: str | None = None,
        window: int | None = None,
        known_at: Any = None,
        words: collections.abc.Callable[[keepbook.extensions.trading.book.findings.Finding], str] | None = None,
    ) -> keepbook.extensions.trading.book.reflection.Reflection:
        """Turn the closed trades of the last `window` days (of all time, if none is given) into lessons. New ones are
        looked for when there are 30, 60, 120 … trades, closed on at least 12 days.

        skill: one of the skills: its name or id
        deployment: one of the deployments: its name or id
        window: only the trades of so many last days
        known_at: as was known at this instant: a datetime, ISO 8601 or plain words; now, if nothing is said
        words: says a finding in other words; see `findings.check_wording` for which words are taken
        """
    async def restore_lesson(self, lesson: str) -> keepbook.extensions.trading.book.lessons.Lesson:
        """Bring back a lesson that was put away.

        lesson: the id of the lesson
        """
    async def retire(self, lesson: str) -> keepbook.extensions.trading.book.lessons.Lesson:
        """Put a lesson away; a later reflection does not bring it back.

        lesson: the id of the lesson
        """
    async def set_field(
        self, ref: str, field: str, value: str, *, expect_version: int | None = None
    ) -> keepbook.extensions.trading.book.skills.FieldVersion:
        """Write a new version of a field of a skill; the earlier ones stay.

        ref: its id, or a piece of what exactly one says; of an agent its name
        field: strategy, schedule or chat
        value: what it says from now on
        expect_version: refuse if the memory is at another version by now
        """
    async def skill(self, ref: str) -> keepbook.extensions.trading.book.skills.Skill:
        """ref: its id, or a piece of what exactly one says; of an agent its name"""
    async def skills(self) -> collections.abc.Sequence[keepbook.extensions.trading.book.skills.Skill]:
        """The skills in the order in which they were made, each with its present fields."""
    async def split(self, symbol: str, ratio: float | str, *, on: Any) -> keepbook.book.ledger.loads.Load:
        """Say that a symbol was split: `ratio` is how many there are for one (4, "4:1", "1:10"), from the day `on`, in
        UTC. What was bought before counts so in every deployment, whether it is there or loaded later; `take_back` of
        the load undoes it.

        symbol: what is traded, as BTC/USDT
        """
    async def take_back(self, load: int) -> keepbook.book.ledger.loads.Load:
        """Remove an imported file again, with its trades and fills. `load` is the number that `bring_in` returned.

        load: the number of an import, as it was answered
        """
    async def take_back_trade(self, key: str, *, deployment: str | None = None) -> keepbook.book.ledger.loads.Load:
        """Take one trade out, by its key or the beginning of it. `take_back` of the load that is returned puts it
        back.

        key: what makes it the same one when it is sent again; of a pencil line, the line's own
        deployment: one of the deployments: its name or id
        """
    async def trades(
        self,
        *,
        skill: str | None = None,
        deployment: str | None = None,
        limit: int = 30,
        cursor: str | None = None,
        known_at: Any = None,
    ) -> keepbook.book.ground.to_json.Page[keepbook.extensions.trading.book.trades.Trade]:
        """Closed trades, newest first.

        skill: one of the skills: its name or id
        deployment: one of the deployments: its name or id
        limit: how many at most
        cursor: `next` of the page before; where an answer has none, the id of the last one that you have
        known_at: as was known at this instant: a datetime, ISO 8601 or plain words; now, if nothing is said
        """
    async def unpin(self, lesson: str) -> keepbook.extensions.trading.book.lessons.Lesson:
        """Make a lesson a reading again; reflections may change it.

        lesson: the id of the lesson
        """

class AsyncMarket:
    """"""
    async def event(self, id: str) -> keepbook.extensions.trading.book.market.events.Event | None:
        """id: its id, eight characters"""
    async def load(
        self,
        source: str
        | os.PathLike[str]
        | collections.abc.Iterable[str]
        | keepbook.extensions.trading.book.files.RowsRead,
        *,
        symbol: str | None = None,
        timeframe: str | None = None,
        progress: collections.abc.Callable[[int], None] | None = None,
    ) -> keepbook.extensions.trading.book.loading.loaded.LoadedFile:
        """Bars from a file: CSV, JSON Lines, Parquet or ccxt's OHLCV, which needs the two names beside it.

        source: the path of a file, or its lines
        symbol: what is traded, as BTC/USDT
        timeframe: how long a bar is, as 1h
        progress: is called with how many are done
        """
    async def load_events(
        self,
        source: str
        | os.PathLike[str]
        | collections.abc.Iterable[str]
        | keepbook.extensions.trading.book.files.RowsRead,
        *,
        progress: collections.abc.Callable[[int], None] | None = None,
    ) -> keepbook.extensions.trading.book.loading.loaded.LoadedFile:
        """Events from a file: CSV, JSON Lines or Parquet.

        source: the path of a file, or its lines
        progress: is called with how many are done
        """
    async def recent(
        self, symbol: str, *, timeframe: str | None = None, limit: int = 60
    ) -> collections.abc.Sequence[keepbook.extensions.trading.book.market.bars.Bar]:
        """The last complete bars, oldest first; of the finest timeframe there is, if none is named.

        symbol: what is traded, as BTC/USDT
        timeframe: how long a bar is, as 1h
        limit: how many at most
        """
    async def remove(self, symbol: str, timeframe: str, *, since: Any = None, until: Any = None) -> int:
        """Remove wrong bars, from one instant up to another; returns how many. They stay readable as of before, and
        decisions are followed anew without them.

        symbol: what is traded, as BTC/USDT
        timeframe: how long a bar is, as 1h
        since: from this instant on: a datetime, ISO 8601 or plain words (last Friday), read in the owner's zone
        until: up to this instant, said in the same ways; '' in an update takes an end away
        """
    async def symbols(self) -> collections.abc.Sequence[str]:
        """The symbols that have bars."""
    async def verify(
        self, anchor: str | pathlib.Path | None = None
    ) -> keepbook.extensions.trading.book.market.face.MarketVerification:
        """Verify every bar and event against the chain of the file that brought it. `anchor` is a file with the newest
        hash of each chain: it is compared, then extended.

        anchor: a file that notes the newest hash of each check: held against the ledger, then extended
        """

class AsyncBook:
    """One owner's memory, from `Keepbook.book(owner)`."""

    owner: str
    @property
    def agents(self) -> AsyncAgents: ...
    async def as_of(
        self, known: Any = None, valid: Any = None, *, limit: int | None = None, cursor: str | None = None
    ) -> collections.abc.Sequence[keepbook.book.memory.memories.Memory]:
        """The active memories as they were known at one instant and true at another (each now, if not given), in order
        of creation: all of them, or with `limit` a page.

        known: as the book knew it at this instant: a datetime, ISO 8601 or plain words
        valid: about what was true at this instant: a datetime, ISO 8601 or plain words
        limit: how many at most
        cursor: `next` of the page before; where an answer has none, the id of the last one that you have
        """
    async def audit(self) -> keepbook.book.upkeep.audit.Audit:
        """What a careful person would tidy up in this book, found without a model."""
    async def block(
        self, *, preset: str | None = None, scope: str | None = None, known: Any = None, valid: Any = None
    ) -> str:
        """The text for a system prompt, as a chat beginning now would see it; a pure read. With memory switched off it
        is empty for a program.

        preset: the vocabulary and policy to go by; by default the one in force
        scope: the agent or skill it is for; reading, * means every one
        known: as the book knew it at this instant: a datetime, ISO 8601 or plain words
        valid: about what was true at this instant: a datetime, ISO 8601 or plain words
        """
    @property
    def choices(self) -> Awaitable[keepbook.book.owners.choices.Choices]: ...
    async def choose(self, **chosen: Any) -> keepbook.book.owners.choices.Choices:
        """Set the owner's choices: `memory=False`, `never=["health"]`, `tier="beginner"`, `name="Ines"`.

        chosen: what changes: memory (a bool), never (topics), tier (a word)
        """
    async def configure(
        self, *, preset: str | None = None, zone: str | None = None
    ) -> keepbook.book.ledger.owner_settings.Configured:
        """Set the owner's own choices: preset and time zone. It is an entry of the ledger, and undone like any
        other.

        preset: the vocabulary and policy to go by; by default the one in force
        zone: the owner's time zone by its IANA name, as Europe/Oslo
        """
    async def confirm(self, ref: str) -> keepbook.book.memory.memories.Written:
        """Say that a memory is still true: its fading starts anew.

        ref: its id, or a piece of what exactly one says; of an agent its name
        """
    @property
    def decisions(self) -> AsyncDecisions: ...
    async def delete(self, ref: str, forever: bool = False) -> keepbook.book.memory.memories.Written | None:
        """Move a memory to the trash for 30 days; with `forever` it is gone at once, which nothing undoes.

        ref: its id, or a piece of what exactly one says; of an agent its name
        forever: gone at once, text and all; nothing undoes it
        """
    async def demote(self, ref: str) -> keepbook.book.memory.memories.Written:
        """Make the person's word a reading.

        ref: its id, or a piece of what exactly one says; of an agent its name
        """
    async def erase(self, confirm: str) -> keepbook.book.upkeep.erase.Receipt:
        """Erase everything of this owner for good, ledger included. `confirm` must be the owner's name.

        confirm: the owner's name, exactly: a way back there is not
        """
    async def export(self, stream: typing.TextIO) -> int:
        """Write the whole book as JSON Lines; returns the number of lines.

        stream: the path of a file or folder, an open text file, or lines of text
        """
    def face(self, kind: type) -> Any:
        """What an extension adds to this book, by its class.

        kind: the class, as the extension names it among its faces
        """
    async def find(self, ref: str) -> str:
        """The id behind a reference: an exact id, else a piece of what one active memory says.

        ref: its id, or a piece of what exactly one says; of an agent its name
        """
    async def forget(
        self, ref: str, reason: str = "user_deleted", expect_version: int | None = None
    ) -> keepbook.book.memory.memories.Written:
        """Archive a memory: out of every chat and recall, listed apart, restorable.

        ref: its id, or a piece of what exactly one says; of an agent its name
        reason: why: user_deleted, user_corrected or agent_forget
        expect_version: refuse if the memory is at another version by now
        """
    async def get(self, id: str) -> keepbook.book.memory.links.MemoryDetail:
        """A memory with its versions and links, in whatever state it is.

        id: its id, eight characters
        """
    async def history(self, ref: str) -> tuple[keepbook.book.memory.memories.Version, ...]:
        """Every version of a memory, oldest first.

        ref: its id, or a piece of what exactly one says; of an agent its name
        """
    async def import_(
        self,
        stream: str | os.PathLike[str] | collections.abc.Iterable[str],
        merge: bool = False,
        dry_run: bool = False,
        theirs: str | None = None,
    ) -> keepbook.book.upkeep.import_answer.Imported:
        """Restore an export into an empty book, or merge memories from it; or import another program's file, whose
        format is recognised. `theirs` says which person of a file that holds several. With `dry_run` it only says what
        would come in.

        stream: the path of a file or folder, an open text file, or lines of text
        merge: add its memories to what is there; without it the book must be empty
        dry_run: only say what would come in; nothing is kept
        theirs: of a file that holds several people: which one, by the name it has there
        """
    @property
    def index(self) -> AsyncIndex: ...
    async def inject(self, session: str, *, preset: str | None = None, scope: str | None = None) -> str:
        """The block of a session: rendered at the first call, then the same bytes for as long as the session lasts.

        session: a name of yours for the chat
        preset: the vocabulary and policy to go by; by default the one in force
        scope: the agent or skill it is for; reading, * means every one
        """
    async def ledger(
        self,
        *,
        memory: str | None = None,
        thread: str | None = None,
        actor: str | None = None,
        after: int = 0,
        before: int | None = None,
        limit: int | None = 100,
    ) -> collections.abc.Sequence[keepbook.book.ledger.ledger.Entry]:
        """What was written, newest first.

        memory: only what is about the memory of this id
        thread: only what was written in the chat of this id
        actor: only entries of this one: person, agent, extractor or job
        after: only what came after the entry of this number
        before: only what came before the entry of this number
        limit: how many at most
        """
    async def link(self, from_id: str, to_id: str, relation: str) -> keepbook.book.memory.links.Link:
        """Join two memories: relates_to, contradicts, supersedes, because_of, or another short word.

        from_id: the memory it starts at: its id or a piece of what it says
        to_id: the memory it points to: its id or a piece of what it says
        relation: relates_to, contradicts, supersedes, because_of, or another short word
        """
    async def list(
        self,
        category: str | None = None,
        subject: str | None = None,
        scope: str | None = None,
        state: str = "active",
        limit: int = 100,
        cursor: str | None = None,
        q: str | None = None,
        metadata: collections.abc.Mapping[str, str] | None = None,
        tags: collections.abc.Iterable[str] | None = None,
    ) -> keepbook.book.ground.to_json.Page[keepbook.book.memory.memories.Memory]:
        """Memories in order of creation: unscoped ones, with `scope` also its own, with `scope="*"` all.

        category: the group it belongs to; the preset says which there are
        subject: the person, project or thing it is about
        scope: the agent or skill it is for; reading, * means every one
        state: active, archived, trash or all; of a chat active, idle or archived; of a decision open or resolved
        limit: how many at most
        cursor: `next` of the page before; where an answer has none, the id of the last one that you have
        q: only what says this, in any case
        metadata: names and texts that your program notes with it (at most 32); to a filter, those that must be there
        tags: words to file it under (at most 32); to a filter, those that must all be there
        """
    async def loads(self, limit: int = 100) -> collections.abc.Sequence[keepbook.book.ledger.loads.Load]:
        """The files that were imported, whatever they brought, newest first; also those that were taken back.

        limit: how many at most
        """
    async def never_of(self, text: str) -> collections.abc.Sequence[str]:
        """The topics never to be remembered that a text touches; a pure read.

        text: the words themselves
        """
    @property
    def notes(self) -> AsyncJournal: ...
    @property
    def now(self) -> Awaitable[datetime.datetime]: ...
    async def preset(self, asked: str | None = None) -> keepbook.presets.Preset:
        """The preset in force, or the one `asked` for by name."""
    async def promote(self, ref: str) -> keepbook.book.memory.memories.Written:
        """Make a reading the person's own word.

        ref: its id, or a piece of what exactly one says; of an agent its name
        """
    @property
    def proposals(self) -> AsyncReview: ...
    async def purge(self) -> int:
        """Delete for good what has been in the trash for 30 days; returns how many."""
    async def recall(
        self,
        query: str,
        limit: int = 10,
        category: str | None = None,
        scope: str | None = None,
        known: Any = None,
        valid: Any = None,
        metadata: collections.abc.Mapping[str, str] | None = None,
        tags: collections.abc.Iterable[str] | None = None,
        cursor: str | None = None,
    ) -> collections.abc.Sequence[keepbook.book.recall.memories.Hit]:
        """The memories that answer a question, best first, each with its reasons.

        query: words or a question
        limit: how many at most
        category: the group it belongs to; the preset says which there are
        scope: the agent or skill it is for; reading, * means every one
        known: as the book knew it at this instant: a datetime, ISO 8601 or plain words
        valid: about what was true at this instant: a datetime, ISO 8601 or plain words
        metadata: names and texts that your program notes with it (at most 32); to a filter, those that must be there
        tags: words to file it under (at most 32); to a filter, those that must all be there
        cursor: `next` of the page before; where an answer has none, the id of the last one that you have
        """
    async def recall_chats(
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
    ) -> collections.abc.Sequence[keepbook.book.recall.turns.hits.ChatHit]:
        """The passages of earlier chats that answer a question, best first, or the oldest where it asks for an
        overview: as many as twenty turns would fill, or fewer.

        query: words or a question
        limit: how many at most
        since: from this instant on: a datetime, ISO 8601 or plain words (last Friday), read in the owner's zone
        until: up to this instant, said in the same ways; '' in an update takes an end away
        order: relevance, best first, or time, the oldest first; left out, as the question asks
        spread: whether something of each chat that answers is brought
        tokens: how much is brought, in tokens
        around: so many turns before and after each hit
        """
    async def reindex(self, progress: collections.abc.Callable[[int], None] | None = None) -> int:
        """Embed now what waits for the embedder in force; it goes on where it was stopped. Returns how many.

        progress: is called with how many are done
        """
    async def remember(
        self,
        content: str,
        *,
        category: str | None = None,
        subject: str | None = None,
        summary: str | None = None,
        body: str | None = None,
        metadata: collections.abc.Mapping[str, str] | None = None,
        tags: collections.abc.Iterable[str] | None = None,
        confidence: str | None = None,
        importance: float | None = None,
        since: Any = None,
        until: Any = None,
        valid_from: Any = None,
        valid_until: Any = None,
        scope: str | None = None,
        thread_id: str | None = None,
        turn_ids: collections.abc.Sequence[Any] = (),
        force: bool = False,
    ) -> keepbook.book.memory.memories.Written:
        """Keep a new memory. If it was said before, that memory is confirmed (`unchanged`) and gets what is new;
        `similar` lists what is close.

        content: what to keep, in one sentence of 4 to 500 characters
        category: the group it belongs to; the preset says which there are
        subject: the person, project or thing it is about
        summary: a shorter wording for the block, up to 200 characters
        body: longer background, up to 64 KB: found by recall, never in the block
        metadata: names and texts that your program notes with it (at most 32); to a filter, those that must be there
        tags: words to file it under (at most 32); to a filter, those that must all be there
        confidence: asserted (somebody said so, the default) or inferred (read between the lines)
        importance: 0 to 1: what stays when the block is full
        since: from this instant on: a datetime, ISO 8601 or plain words (last Friday), read in the owner's zone
        until: up to this instant, said in the same ways; '' in an update takes an end away
        valid_from: the older name of `since`: a datetime or a text in ISO 8601, in UTC where it names no offset
        valid_until: the older name of `until`, as `valid_from` is of `since`
        scope: the agent or skill it is for; reading, * means every one
        thread_id: the chat it comes from, or is about
        turn_ids: the turns of the chat that said it
        force: keep it although something like it is there, or its topic is one never to be kept
        """
    async def rendered(
        self, *, preset: str | None = None, scope: str | None = None, known: Any = None, valid: Any = None
    ) -> keepbook.book.memory.block.ComposedBlock:
        """The block with what it shows, and why each other memory is not in it.

        preset: the vocabulary and policy to go by; by default the one in force
        scope: the agent or skill it is for; reading, * means every one
        known: as the book knew it at this instant: a datetime, ISO 8601 or plain words
        valid: about what was true at this instant: a datetime, ISO 8601 or plain words
        """
    async def replay(self, session: str) -> str:
        """The block of a session rendered again from the ledger, as of the entry it knew: the bytes it was given.

        session: a name of yours for the chat
        """
    async def restore(self, ref: str, expect_version: int | None = None) -> keepbook.book.memory.memories.Written:
        """Bring a memory back from the trash to where it was, or from the archive; a piece of what it says will do.

        ref: its id, or a piece of what exactly one says; of an agent its name
        expect_version: refuse if the memory is at another version by now
        """
    @property
    def runs(self) -> AsyncRuns: ...
    @property
    def spending(self) -> AsyncSpending: ...
    async def take_back(self, load: int) -> keepbook.book.ledger.loads.Load:
        """Remove what a file brought, with what was read out of its chats. What something newer changed stays.

        load: the number of an import, as it was answered
        """
    @property
    def texts(self) -> AsyncTexts:
        """What programs keep under names: keys, paths."""
    async def thread(self, session: str, *, incognito: bool = False) -> AsyncChat:
        """The chat of an outside agent's session: `.add(role, text)`, `.close()`.

        session: a name of yours for the chat
        incognito: nothing of it is remembered, and no memory is told in it
        """
    @property
    def threads(self) -> AsyncChats: ...
    async def timeline(
        self, topic: str, tokens: int = 2000, *, since: Any = None, until: Any = None
    ) -> collections.abc.Sequence[keepbook.book.recall.turns.topic_events.TimelineLine]:
        """What happened on a topic, a dated line for each event, in the order in which it happened.

        topic: the matter in a few words, such as the kitchen renovation
        tokens: how much is brought, in tokens
        since: from this instant on: a datetime, ISO 8601 or plain words (last Friday), read in the owner's zone
        until: up to this instant, said in the same ways; '' in an update takes an end away
        """
    @property
    def trading(self) -> AsyncTrading: ...
    async def undo(
        self, event: int | None
    ) -> (
        keepbook.book.memory.memories.Written
        | keepbook.book.memory.links.Link
        | keepbook.book.ledger.owner_settings.Configured
        | keepbook.book.ledger.thing_entries.ThingSet
    ):
        """Undo exactly the write that answered with `event`; what changed nothing has none, and is refused. Undo of
        an undo is redo.

        event: the number of an entry, as the write that made it answered
        """
    async def unlink(self, link_id: str) -> keepbook.book.memory.links.Link:
        """Remove a link; the memories stay.

        link_id: the id of the link
        """
    async def update(
        self,
        ref: str,
        content: str,
        *,
        summary: str | None = None,
        body: str | None = None,
        category: str | None = None,
        subject: str | None = None,
        metadata: collections.abc.Mapping[str, str] | None = None,
        tags: collections.abc.Iterable[str] | None = None,
        confidence: str | None = None,
        importance: float | None = None,
        since: Any = None,
        until: Any = None,
        valid_from: Any = None,
        valid_until: Any = None,
        correction: bool = False,
        expect_version: int | None = None,
        thread_id: str | None = None,
        turn_ids: collections.abc.Sequence[Any] = (),
        force: bool = False,
    ) -> keepbook.book.memory.memories.Written:
        """Give a memory new words: a change from now on, or with `correction` as it should have been from the start.

        ref: its id, or a piece of what exactly one says; of an agent its name
        content: what to keep, in one sentence of 4 to 500 characters
        summary: a shorter wording for the block, up to 200 characters
        body: longer background, up to 64 KB: found by recall, never in the block
        category: the group it belongs to; the preset says which there are
        subject: the person, project or thing it is about
        metadata: names and texts that your program notes with it (at most 32); to a filter, those that must be there
        tags: words to file it under (at most 32); to a filter, those that must all be there
        confidence: asserted (somebody said so, the default) or inferred (read between the lines)
        importance: 0 to 1: what stays when the block is full
        since: from this instant on: a datetime, ISO 8601 or plain words (last Friday), read in the owner's zone
        until: up to this instant, said in the same ways; '' in an update takes an end away
        valid_from: the older name of `since`: a datetime or a text in ISO 8601, in UTC where it names no offset
        valid_until: the older name of `until`, as `valid_from` is of `since`
        correction: it was never right: the new words hold from where the old ones began
        expect_version: refuse if the memory is at another version by now
        thread_id: the chat it comes from, or is about
        turn_ids: the turns of the chat that said it
        force: keep it although something like it is there, or its topic is one never to be kept
        """
    async def verify(
        self, anchor: str | pathlib.Path | None = None, progress: collections.abc.Callable[[int], None] = ...
    ) -> keepbook.book.ledger.verify.Verification:
        """Walk the whole ledger and compare the book with it, row by row.

        anchor: a file that notes the newest hash of each check: held against the ledger, then extended
        progress: is called with how many are done
        """
    async def without_code(self) -> collections.abc.Sequence[str]:
        """The extensions of which this book holds rows and whose code is not here. Those rows are exported, covered and
        erased as they are.
        """
    @property
    def zone(self) -> Awaitable[str]: ...

class AsyncKeepbook:
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
        db: str | pathlib.Path | None = None,
        *,
        preset: str | None = None,
        clock: collections.abc.Callable[[], datetime.datetime] = ...,
        settings: keepbook.settings.Settings | None = None,
        embedder: str | None = None,
        demo: bool = False,
        token: str | None = None,
    ) -> None: ...
    def book(
        self,
        owner: str,
        *,
        by: str = "person",
        door: str = "python",
        hand: keepbook.book.owners.authority.Actor | None = None,
        name: str | None = None,
    ) -> AsyncBook:
        """One owner's book. `by="agent"` writes as an agent, whose word never outranks the person's; `name` is what
        lines call it that it wrote. A door says with `hand` what the token that it was shown may do.

        owner: whose: a name of your choice for a person
        by: who: person or agent; of a chat's title person or model
        door: the way in, as the ledger tells it
        hand: what the key that was shown may do; for doors
        name: how it is called
        """
    def talk(
        self, chat: AsyncChat, *, models: keepbook.models.choose.Models | None = None
    ) -> keepbook.models.chat.Talk:
        """A chat with the installation's models in it: `async for event in kb.talk(chat).say("hello")`.

        chat: a chat of a book, as `book.thread` gave it
        models: other models than those of the settings
        """
    async def close(self) -> None:
        """Close the database. Books that were opened here cannot be used any more."""
    async def tools(
        self,
        preset: str | None = None,
        *,
        owner: str,
        thread_id: str | None = None,
        turn_ids: collections.abc.Sequence[str] = (),
        mode: str | None = None,
        agent: str | None = None,
    ) -> AsyncToolSet:
        """The preset's tools over one owner's book, for any agent framework. In `authoring` mode they include those
        that write a skill; for one of the book's agents, those with which it records its decisions.

        preset: the vocabulary and policy to go by; by default the one in force
        owner: whose: a name of your choice for a person
        thread_id: the chat it comes from, or is about
        turn_ids: the turns of the chat that said it
        mode: what the chat is for: authoring, coach or ops
        agent: one of the book's agents: its name or id
        """
    async def owners(self) -> builtins.list[str]:
        """The names of all owners that have a book here."""
    async def facts(self) -> builtins.dict[str, str]:
        """What is open: engine, place, size, schema."""
    async def sweep(self) -> keepbook.jobs.SweepResult:
        """Do all that is due, for every owner, until it is told to stop: what `keepbook jobs` repeats for ever."""
    async def import_from(
        self,
        place: str | pathlib.Path,
        owner: str,
        *,
        owner_map: collections.abc.Mapping[str, str] | None = None,
        dry_run: bool = False,
        door: str = "python",
        progress: collections.abc.Callable[[int], None] = ...,
    ) -> tuple[keepbook.book.upkeep.import_answer.Imported, ...]:
        """Import a file or folder of another program. What it knows of one person goes into the owner's book. If it
        holds several people, `owner_map` says whose book here each of them goes into; without that nothing is written.
        Each book is written in a transaction of its own, one after the other: if one refuses, the error says what has
        come in, and the same import again completes it. Returns what was done in each book.

        place: the path of a file or folder
        owner: whose: a name of your choice for a person
        owner_map: whose book here each person of the file goes into
        dry_run: only say what would come in; nothing is kept
        door: the way in, as the ledger tells it
        progress: is called with how many are done
        """
    def runner(
        self, book: AsyncBook, *, models: keepbook.models.choose.Models | None = None
    ) -> keepbook.extensions.agents.models.runner.Runner:
        """The runner for a book's agents: `await kb.runner(book).run("Swing desk")`.

        book: whose agents, as `Keepbook.book` gave it
        models: other models than those of the settings
        """
    async def chat_with(self, book: AsyncBook, agent: str) -> AsyncChat:
        """The one chat with an agent, for `talk`. It is begun if there is none.

        book: whose agents, as `Keepbook.book` gave it
        agent: one of the book's agents: its name or id
        """
    async def perform(self, book: AsyncBook, run_id: str) -> keepbook.extensions.agents.book.runs.Run:
        """Carry out a queued run of a book, until its card or its failure.

        book: whose agents, as `Keepbook.book` gave it
        run_id: the id of the run
        """
    @property
    def tokens(self) -> AsyncTokens:
        """The keys to the doors: `kb.tokens.create("alice")`."""
    @property
    def market(self) -> AsyncMarket:
        """Prices that everybody shares: `kb.market.load(lines)`."""
    async def run(self, work: Callable[..., Value], *args: object) -> Value:
        """Run a function of your own beside the event loop, with the book itself: one transaction, many steps."""
    async def __aenter__(self) -> Self: ...
    async def __aexit__(self, *_: object) -> None: ...
