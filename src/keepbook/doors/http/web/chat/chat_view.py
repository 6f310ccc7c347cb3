"""The view of a whole chat: the current turns, each with what it kept and what it replaced."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from keepbook.book.chats.face import Chat
from keepbook.book.chats.notes import Note
from keepbook.book.chats.threads import Message, Thread
from keepbook.book.chats.view import ChatBlock, chat_block, tried_again_at
from keepbook.doors.http.web.chat import learning, turn_slips
from keepbook.doors.http.web.chat.answer_slips import answered_events
from keepbook.doors.http.web.chat.learning import ChatLearning, PencilLine
from keepbook.doors.http.web.chat.turn_slips import Slip
from keepbook.doors.http.web.chat.versions import TurnVersion, messages_with_version, versions_by_turn
from keepbook.doors.http.web.frame.extension_pages import ChatPartner, chat_partner
from keepbook.doors.http.web.frame.sidebar import program_of_chat
from keepbook.doors.http.web.frame.visit import Visit
from keepbook.doors.http.web.memory.block_groups import BlockGroups, group_block_lines
from keepbook.doors.http.web.memory.import_page import readers
from keepbook.errors import NotFound
from keepbook.extension import missing_extensions
from keepbook.models.chat import SAID_ANEW
from keepbook.models.choose import OFFLINE, YOUR_BOOK
from keepbook.models.notebook.open_questions import OpenQuestion, open_questions, questions_of_turn
from keepbook.models.notebook.reply.phrases import is_felt
from keepbook.models.notebook.values import NOTEBOOK as SPEAKER
from keepbook.models.notebook.values import is_kept_at_once
from keepbook.presets import Preset


@dataclass(frozen=True, slots=True)
class TurnView:
    """A message as the page shows it, with what it kept and asks; `note` is its bookmark."""

    message: Message
    slips: list[Slip]
    note: Note | None
    lines: list[PencilLine] = field(default_factory=list)
    """What closing would keep of it, if it is the person's and the preset shows that beside the turn."""
    skipped: list[str] = field(default_factory=list)
    """What the person took back with it before it was kept."""
    questions: list[OpenQuestion] = field(default_factory=list)
    """The questions under it that wait for the person's answer."""
    of: TurnVersion | None = None
    """Which version it is, if it was said or answered more than once."""
    by: str = "You"
    """The name of who said it: the person, or the model that answered."""
    heeded: str = ""
    """What the person's order did, unless the notebook's reply says so."""
    banned: Sequence[str] = ()
    """The topics that it asked never to keep."""
    asks_off: bool = False
    """Whether it asks whether memory should be switched off."""

    @property
    def number(self) -> int:
        return self.message.turn

    @property
    def by_notebook(self) -> bool:
        return self.message.role == "assistant" and self.message.speaker == SPEAKER


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message of the person and the turns that answer it. The margin shows what came of them, and questions follow
    below."""

    turns: list[TurnView]

    @property
    def number(self) -> int:
        return self.turns[0].number

    @property
    def _asked(self) -> TurnView | None:
        if self.turns[0].message.role == "user":
            return self.turns[0]
        return None

    @property
    def reply(self) -> TurnView | None:
        """The last reply, which questions stand under."""
        return next((turn for turn in reversed(self.turns) if turn.message.role == "assistant"), None)

    @property
    def slips(self) -> list[Slip]:
        """A slip for each write of the message and of the tools of its reply."""
        return list({slip.event: slip for turn in self.turns for slip in turn.slips}.values())

    @property
    def skipped(self) -> list[str]:
        return [words for turn in self.turns for words in turn.skipped]

    @property
    def lines(self) -> list[PencilLine]:
        return [line for turn in self.turns for line in turn.lines]

    @property
    def offers(self) -> list[OpenQuestion]:
        """Questions whether to keep a new line."""
        every = [one for turn in self.turns for one in turn.questions]
        return [one for one in every if one.question == "keep"]

    @property
    def questions(self) -> list[OpenQuestion]:
        """Questions about lines that are in the book."""
        every = [one for turn in self.turns for one in turn.questions]
        return [one for one in every if one.question != "keep"]

    @property
    def heeded(self) -> str:
        if self._asked:
            return self._asked.heeded
        return ""

    @property
    def banned(self) -> Sequence[str]:
        if self._asked:
            return self._asked.banned
        return ()

    @property
    def asks_off(self) -> bool:
        return any(turn.asks_off for turn in self.turns)

    @property
    def by_notebook(self) -> bool:
        """Whether the notebook answered; its replies contain the question."""
        return any(turn.by_notebook for turn in self.turns)

    @property
    def felt(self) -> bool:
        """Whether the notebook answered to a feeling, and the exchange did nothing else."""
        kind = any(turn.by_notebook and is_felt(turn.message.text) for turn in self.turns)
        return kind and not (self.slips or self.skipped or self.lines or self.offers or self.banned)

    @property
    def new_line(self) -> str:
        """The first new line that it has written to the book and that still holds."""
        return next((slip.after for slip in self.slips if slip.kind == "New" and slip.stands and slip.after), "")

    @property
    def has_margin(self) -> bool:
        came = self.slips or self.skipped or self.lines or self.offers
        return bool(came or self.heeded or self.banned or self.asks_off or self.felt)


def exchanges_of(turns: Iterable[TurnView]) -> list[Exchange]:
    """Group turns into exchanges; each message of the person begins one."""
    found: list[Exchange] = []
    for turn in turns:
        if turn.message.role == "user" or not found:
            found.append(Exchange([]))
        found[-1].turns.append(turn)
    return found


@dataclass(frozen=True, slots=True)
class ChatView:
    """The view of a whole chat."""

    thread: Thread | None
    turns: list[TurnView]
    kept: list[Slip]
    """What the chat wrote apart from its turns: when it was closed, or by a reply that was stopped."""
    given: ChatBlock | None
    lines: BlockGroups | None
    agent: str
    """The name of who answers here: an agent, the notebook or a model."""
    budget: int | None
    tried_again: Any = None
    remote: str | None = None
    """The model that failed to read the chat, if the notebook could read it instead."""
    partner: ChatPartner | None = None
    """Who answers here, if the chat belongs to an extension."""
    learned: ChatLearning = field(default_factory=ChatLearning)
    """What closing would keep of the whole chat."""
    by_model: bool = False
    """Whether a model would answer here, not the notebook."""
    newest: bool = True
    """Whether its current version is shown, and not an earlier one."""
    ahead: bool = True
    """Whether nothing was answered yet; then `given` is the block that the first answer will be given."""
    missing: Sequence[str] = ()
    """A sentence for each extension of the preset that is off: what the preset lacks without it."""

    @property
    def elsewhere(self) -> str | None:
        """The name of the program that this chat was imported from, if it was."""
        if self.thread is not None:
            return program_of_chat(self.thread)
        return None

    @property
    def exchanges(self) -> list[Exchange]:
        return exchanges_of(self.turns)

    def exchange_of(self, turn: int) -> Exchange | None:
        """The exchange that a turn belongs to."""
        return next((one for one in self.exchanges if any(each.number == turn for each in one.turns)), None)

    def same_lines(self, shown: Sequence[Exchange]) -> list[Exchange]:
        """The other exchanges whose margins show the same memories."""
        numbers = {one.number for one in shown}
        meant = {slip.memory_id for one in shown for slip in one.slips}
        others = [one for one in self.exchanges if one.number not in numbers]
        return [one for one in others if any(slip.memory_id in meant for slip in one.slips)]

    @property
    def in_book(self) -> int:
        """How many memories from this chat are in the book."""
        slips = [*self.kept, *(slip for turn in self.turns for slip in turn.slips)]
        return len({slip.memory_id for slip in slips if slip.in_book and slip.after and not slip.took_out})

    @property
    def unanswered(self) -> bool:
        return bool(self.turns) and self.turns[-1].message.role == "user" and self.newest

    @property
    def signed(self) -> str:
        """The name of who answered last; if nobody has, of who would answer."""
        return next((turn.by for turn in reversed(self.turns) if turn.message.role == "assistant"), self.agent)

    @property
    def _open(self) -> bool:
        return self.thread is not None and self.thread.deleted_at is None and self.newest

    @property
    def pinned(self) -> list[int]:
        return [turn.number for turn in self.turns if turn.note]

    @property
    def editable(self) -> list[int]:
        """The numbers of the person's last turns, which can be replaced."""
        mine = [turn.number for turn in self.turns if turn.message.role == "user"]
        if self._open and self.partner is None:
            return mine[-SAID_ANEW:]
        return []

    @property
    def kept_at_once(self) -> bool:
        """Whether all that was said here was read when it was said, so that closing looks for nothing more."""
        mine = [turn.message for turn in self.turns if turn.message.role == "user"]
        return not self.by_model and all(is_kept_at_once(one.parts) for one in mine)

    def said_after(self, number: int) -> int:
        """How many messages the person has sent after this one."""
        return sum(turn.number > number for turn in self.turns if turn.message.role == "user")

    @property
    def repeatable(self) -> int | None:
        """The number of the last turn, if it is a reply that can be replaced; in an extension's chat only if it broke
        off."""
        last = self.turns[-2:]
        asked = [turn.message.role for turn in last] == ["user", "assistant"]
        fits = asked and (self.partner is None or last[-1].message.broke_off is not None)
        if fits and self._open:
            return last[-1].number
        return None

    @property
    def said_at(self) -> dict[int, Any]:
        """When each turn was said."""
        return {turn.number: turn.message.at for turn in self.turns}

    @property
    def unread(self) -> bool:
        """Whether closing would find something new in this chat. If closing has failed, that does not count: the page
        has said so, and it is tried again later."""
        return self.thread is not None and has_news(self.thread) and not self.thread.failures


def has_news(thread: Thread) -> bool:
    """Whether an open chat has turns that closing has not read."""
    waits = thread.state == "active" and thread.deleted_at is None and not thread.parked
    return waits and thread.turns > thread.extracted_through


def beginning(visit: Visit) -> ChatView:
    """The view of a chat that has not begun."""
    preset = visit.book.preset()
    rendered = None
    if visit.book.choices.memory:
        rendered = visit.book.rendered()
    block = None
    if rendered and rendered.text:
        block = ChatBlock(visit.now, rendered.text, rendered.lines)
    answers, by_model = visit.kb.models.called(None), _by_model(visit, None)
    if block:
        lines = group_block_lines(block.lines, preset)
    else:
        lines = group_block_lines((), preset)
    missing = missing_extensions(preset.name, preset.extensions, visit.kb.extensions)
    return ChatView(None, [], [], block, lines, answers, _budget(preset), by_model=by_model, missing=missing)


def said_at_turn(chat: Chat, turn: int) -> str:
    """What the person said in a chat, to be said again in another one."""
    said = next((one for one in chat.messages() if one.turn == turn and one.role == "user"), None)
    if said is None:
        raise NotFound(f"you said nothing at turn {turn} of this chat", field="turn")
    return said.text


def _by_model(visit: Visit, partner: ChatPartner | None) -> bool:
    return ((partner and partner.model) or visit.kb.settings.model) != OFFLINE


def chat_view(visit: Visit, id: str, *, pencil: bool = False, at: int = 0) -> ChatView:
    """The view of a chat's page. `at` chooses the version of a replaced turn. With `pencil` the chat is also read for
    what closing would keep, which can take seconds."""
    book = visit.book
    chat = book.threads.get(id)
    thread = chat.thread
    preset = book.preset(thread.preset)
    partner = chat_partner(visit, chat)
    if not thread.turns:
        begun = beginning(visit)
        if partner is None:
            name = begun.agent
        else:
            name = partner.name
        by_model = _by_model(visit, partner)
        return replace(begun, thread=thread, agent=name, partner=partner, by_model=by_model)
    messages = [one for one in chat.messages() if one.role in ("user", "assistant")]
    block = chat_block(book, thread)
    ahead = block is None and not any(one.role == "user" for one in messages)
    if ahead and not thread.incognito:
        block = beginning(visit).given
    read = ChatLearning(read=not learning.is_open(visit, thread))
    if pencil:
        read = learning.chat_learning(visit, thread, preset)
    shown = messages_with_version(messages, at)
    if partner:
        answers = partner.name
    else:
        answers = (thread.agent or "").capitalize() or visit.kb.models.called(None)
    turns, kept = _turn_views(visit, thread, messages, shown, read, answers, partner is not None)
    lines = None
    if block:
        lines = group_block_lines(block.lines, preset)
    tried_again = None
    if thread.failures and not thread.parked:
        tried_again = tried_again_at(book, thread)
    return ChatView(
        thread,
        turns,
        kept,
        block,
        lines,
        answers,
        _budget(preset),
        tried_again,
        remote=readers(visit)[0] if thread.failures else None,
        partner=partner,
        learned=read,
        by_model=_by_model(visit, partner),
        newest=shown[-1].turn == max(one.turn for one in messages) if shown else True,
        ahead=ahead,
    )


def _turn_views(
    visit: Visit,
    thread: Thread,
    messages: Sequence[Message],
    shown: Sequence[Message],
    read: ChatLearning,
    answers: str,
    has_partner: bool,
) -> tuple[list[TurnView], list[Slip]]:
    """The turns that are shown, each with what it wrote; and what the chat wrote apart from them."""
    book = visit.book
    notes = {note.turn: note for note in book.notes.list() if note.thread_id == thread.id}
    entries = [
        one for one in book.ledger(thread=thread.id, limit=None) if one.memory_id and one.action in turn_slips.KINDS
    ]
    told = turn_slips.by_event(book, ((entry.event, entry.memory_id) for entry in entries if entry.memory_id))
    under = {one.turn: turn_slips.events_of(one) for one in messages if one.parts}
    inside = {event for events in under.values() for event in events}
    for turn, events in answered_events(book, thread.id, entries, inside).items():
        under.setdefault(turn, []).extend(events)
        inside.update(events)
    people = {one.turn for one in messages if one.role == "user"}
    kept = []
    for entry in reversed(entries):
        slip = told.get(entry.event)
        if slip is None or slip.event in inside:
            continue
        if slip.turn in people and slip.thread_id == thread.id:
            under.setdefault(slip.turn or 0, []).append(slip.event)
        else:
            kept.append(slip)
    turns, of, asked = [], versions_by_turn(messages, shown), open_questions(book, thread.id)
    for one, following in zip(shown, [*shown[1:], None], strict=True):
        if one.turn in under:
            slips = [told[event] for event in under[one.turn] if event in told]
        else:
            slips = []
        if read.lines and one.role == "user":
            lines = read.of(one.turn)
        else:
            lines = []
        out = learning.withdrawn_lines(one)
        questions = questions_of_turn(asked, one.turn)
        if has_partner:
            by = answers
        else:
            by = _speaker_name(visit, one, answers)
        heeded = "" if following is not None and following.speaker == SPEAKER else learning.order_result(one)
        off = following is None or following is shown[-1]
        asks_off = off and book.choices.memory and learning.asks_off(one)
        note, banned = notes.get(one.turn), learning.banned_topics(one)
        turns.append(TurnView(one, slips, note, lines, out, questions, of.get(one.turn), by, heeded, banned, asks_off))
    return turns, kept


def _speaker_name(visit: Visit, one: Message, answers: str) -> str:
    if one.speaker == SPEAKER:
        return YOUR_BOOK
    return one.speaker or (visit.kb.models.called(one.model) if one.model else answers)


def _budget(preset: Preset) -> int | None:
    return preset.selection.total or sum(preset.selection.budgets.values()) or None


def answers_from(visit: Visit, talked: ChatView) -> str:
    """A sentence that says who answers, and whether what the person writes leaves this computer."""
    if talked.by_model and visit.model_here:
        return f"AI can make mistakes. {talked.agent} answers on this computer."
    if talked.by_model:
        return f"AI can make mistakes. What you write goes to {talked.agent}."
    if getattr(visit.request.state, "local", False):
        return "Answers come from your book alone. Nothing leaves this computer."
    return "Answers come from your book alone."
