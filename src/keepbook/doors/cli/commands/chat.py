"""`keepbook chat`: talk in the terminal to an agent that remembers.

A line is either said or, when it begins with a slash, a command. A chat begins with the first thing said and is closed,
read for memories, when its person moves on: /new, /close, /quit, Ctrl-D, or the end of what is piped in. Ctrl-C stops
a reply, never the program. What goes wrong is told in one line and the chat goes on.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from keepbook.doors.cli.sheets import chats as chat_sheets
from keepbook.doors.cli.sheets import memory as memory_sheets
from keepbook.doors.cli.sheets.chat_screen import ChatDisplay, Screen, Tape
from keepbook.doors.cli.terminal import ending
from keepbook.doors.cli.terminal.command import CHATS, Invocation, command
from keepbook.doors.cli.terminal.paper import META, Paper, grid, ink, visible
from keepbook.doors.cli.terminal.streams import show_progress
from keepbook.errors import Conflict, Invalid, KeepbookError

if TYPE_CHECKING:
    from keepbook.book.book import Book
    from keepbook.book.chats.face import Chat
    from keepbook.book.chats.pencil import Pencil
    from keepbook.book.ground.to_json import Page
    from keepbook.book.memory.memories import Memory
    from keepbook.models.chat import Notice, ReplyStored, Talk
    from keepbook.models.model import ReplyEvent
    from keepbook.models.notebook.open_questions import OpenQuestion

    OpenPoint = OpenQuestion | Pencil
    Reply = AsyncIterator[ReplyEvent | Notice | ReplyStored]

_SHOWN_AGAIN = 2
"""How much of a chat is shown when it goes on: the last exchange."""


def register(app: typer.Typer) -> None:
    command(app, "chat", chat, panel=CHATS, writes=True)


def chat(
    call: Invocation,
    incognito: Annotated[bool, typer.Option("--incognito", help="Read and write no memory.")] = False,
    thread: Annotated[
        str | None, typer.Option("--thread", metavar="CHAT", help="Go on with this one; `threads list` shows its id.")
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="AGENT", help="Go on with the one chat with this agent of yours.")
    ] = None,
) -> None:
    """Talk to an agent that remembers; /help inside lists what else can be done."""
    if agent is not None:
        if thread is not None:
            raise Invalid("a chat with an agent is one chat; leave out --thread", field="thread")
        thread = _chat_with(call, agent)
    going_on = None
    if thread is not None:
        going_on = _find_chat(call, thread, incognito=incognito)
    sitting = Sitting(call, incognito=incognito, going_on=going_on)
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty() and not call.as_json
    if at_terminal:
        sitting.run(_read_typed())
    else:
        sitting.run(_read_piped())
    if sitting.failed and not at_terminal:
        raise typer.Exit(1)


def _chat_with(call: Invocation, agent: str) -> str:
    """The id of the one chat with an agent; refused in words where no extension knows agents."""
    # With the engine, which --help does not need.
    from keepbook.tools.bound import agent_id

    known = agent_id(call.book, agent)
    id: str = call.keepbook.chat_with(call.book, known).id
    return id


def _find_chat(call: Invocation, id: str, *, incognito: bool) -> "Chat":
    """The chat to go on with, as it was begun."""
    found = call.book.threads.get(id)
    thread = found.thread
    if thread.deleted_at is not None:
        raise Conflict(f"chat {id} is in the trash; bring it back with `keepbook threads restore {id}`", code="trash")
    if incognito and not thread.incognito:
        raise Invalid("a chat is incognito from its beginning or not at all; begin a new one", field="incognito")
    if call.given.preset not in (None, thread.preset):
        raise Invalid(f"chat {id} has the preset {thread.preset}, and keeps it; leave out --preset", field="preset")
    return found


# Lines


class _Unreadable(NamedTuple):
    """A line that is no text."""

    why: str


def _read_typed() -> Iterator[str | _Unreadable]:
    """What a person types. Nothing of it is kept in a history file: what is forgotten must be gone."""
    with suppress(ImportError):  # not every system has it
        import readline  # noqa: F401  loading it is what gives input() its line editing
    if sys.stdout.encoding.lower().startswith("utf"):
        prompt = "› "
    else:
        prompt = "> "
    while True:
        try:
            yield input(prompt)
        except KeyboardInterrupt:
            sys.stdout.write("\n/quit or Ctrl-D ends the chat.\n")
        except UnicodeDecodeError:
            yield _Unreadable("that was not text in this terminal's encoding")
        except EOFError:
            sys.stdout.write("\n")
            return


def _read_piped() -> Iterator[str | _Unreadable]:
    for number, raw in enumerate(sys.stdin.buffer, 1):
        try:
            yield raw.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            yield _Unreadable(f"line {number} is not text in UTF-8")


# The sitting


class Sitting:
    """One run of the program: the chat it is in, and where that is shown."""

    def __init__(self, call: Invocation, *, incognito: bool, going_on: "Chat | None") -> None:
        models = call.keepbook.models  # a name that is no model is refused before anything is said
        self.call = call
        self.book: Book = call.book
        self.incognito = incognito
        self.failed: bool = False
        self.model: str = models.called(None)
        remote = models.chat is not models.offline
        self.face: ChatDisplay = Tape() if call.as_json else Screen(call, tuple(COMMANDS), remote=remote)
        self._talk: Talk | None = None
        self._last_event: int | None = None
        self._asked: Sequence[OpenQuestion] = ()
        self._going_on = going_on
        self._loop = asyncio.Runner()  # one for all turns

    def run(self, lines: Iterator[str | _Unreadable]) -> None:
        """Every line until the last, and then the closing."""
        self.face.welcome(self._facts())
        if self._going_on is not None:
            self._enter(self._going_on)
        with self._loop:
            for line in lines:
                try:
                    if self._take(line):
                        break
                except KeepbookError as error:
                    self.failed = True
                    self.face.show_error(error)
        self.close(last=True)

    def _facts(self) -> list[str]:
        begun = None
        if self._going_on is not None:
            begun = self._going_on.thread
        if begun is None:
            preset = self.call.given.preset
        else:
            preset = begun.preset
        facts = [self.book.owner, self.book.preset(preset).name, f"{self.model} answers"]
        if begun.incognito if begun else self.incognito:
            facts.append("incognito: reads and writes no memory")
        elif not self.book.choices.memory:
            facts.append("your memory is switched off")
        return facts

    def _take(self, line: str | _Unreadable) -> bool:
        """Say it or do it; answers whether that was the last."""
        if isinstance(line, _Unreadable):
            raise Invalid(line.why, field="text")
        if not line.startswith("/"):
            if said := line.strip():
                self.say(said)
            return False
        name, _, rest = line[1:].partition(" ")
        if name in ENDINGS:
            return True
        if name not in COMMANDS:
            advice = "/help lists them; to say something that begins with a slash, put a blank before it"
            raise Invalid(f"there is no command /{name}; {advice}", field="command")
        COMMANDS[name].run(self, rest.strip())
        return False

    # Talking

    @property
    def talk(self) -> "Talk":
        """The chat it is in; one begins when there is something to say."""
        if self._talk is None:
            self._enter(self.book.threads.start(incognito=self.incognito, preset=self.call.given.preset))
        assert self._talk is not None
        return self._talk

    def _enter(self, chat: "Chat") -> None:
        self._talk = self.call.keepbook.talk(chat)
        self.face.began(chat.thread, chat.messages()[-_SHOWN_AGAIN:])

    def say(self, text: str) -> None:
        if text.isdecimal() and self._asked and not self.talk.by_notebook and self._choose(int(text)):
            return
        self._show_reply(self.talk, self.talk.say(text))

    def _choose(self, number: int) -> bool:
        """A number alone answers what was asked last, where a model would take it for talk."""
        # As in _show.
        from keepbook.models.notebook.open_questions import choice_of_number

        chosen = choice_of_number(self._asked, number)
        if chosen is None:
            return False
        self._answer_question(*chosen)
        return True

    def _answer_question(self, question: "OpenQuestion", choice: str) -> None:
        answered = self.book.proposals.answer(question.id, choice)
        self._last_event = getattr(answered, "event", None) or self._last_event
        self._asked = [one for one in self._asked if one.id != question.id]
        self.face.answer("answered", answered, chat_sheets.proposal_answered_sheet)

    def again(self, _: str) -> None:
        self._show_reply(self.talk, self.talk.again())

    def _show_reply(self, talk: "Talk", reply: "Reply") -> None:
        written: list[dict[str, Any]] = []
        try:
            ending.run_until_done(self._loop, self._show(reply, written))
        except KeyboardInterrupt:
            self.face.end_reply(None, None)
        except KeepbookError:
            if written:  # before it failed
                self._tell(talk, written)
            raise
        self._tell(talk, written)

    def _tell(self, talk: "Talk", written: list[dict[str, Any]]) -> None:
        if written:
            self._last_event = written[-1]["event"]
        silent = self.book.preset(talk.chat.thread.preset).consent == "silent"
        # As in _show.
        from keepbook.models.notebook.open_questions import last_asked, open_questions

        self._asked = last_asked(open_questions(self.book, talk.chat.id), talk.chat.messages())
        self.face.wrote(written, quietly=silent, pencil=[] if silent else self._new_pencil(talk))
        if self._asked:
            self.face.show_questions(self._asked, in_reply=talk.by_notebook)

    def _new_pencil(self, talk: "Talk") -> "Sequence[Pencil]":
        """What closing would keep of the person's last turn; what is only offered is asked."""
        turns = [message.turn for message in talk.chat.messages() if message.role == "user"]
        lines = [line for line in talk.chat.pencil() if line.proposal is None]
        return [line for line in lines if turns and line.turn_id == turns[-1]]

    async def _show(self, reply: "Reply", written: list[dict[str, Any]]) -> None:
        # Loaded with the engine by now; --help must not load it.
        from keepbook.models.chat import Notice, ReplyStored
        from keepbook.models.model import TextDelta, ToolCalled

        self.face.waiting()
        async for event in reply:
            match event:
                case TextDelta(piece):
                    self.face.show_piece(piece)
                case ToolCalled(used) if used.memory_event:
                    written.append(used.memory_event)
                case Notice(told):
                    self.face.notice(told)
                case ReplyStored(message, titled):
                    self.face.end_reply(message, titled)

    def close(self, *, asked: bool = False, last: bool = False) -> None:
        """The person moves on: what is new is read for memories. Where nothing is, only who asked is told."""
        if self._talk is None:
            return
        chat = self._talk.chat
        try:
            with show_progress("Reading the chat for memories"):
                closed = chat.close()
        except KeyboardInterrupt:
            self.face.notice("Not read for memories now; `keepbook jobs` does it later.")
            return
        if asked or closed.status != "nothing":
            self.face.show_closing(closed, last=last)
        self.failed |= closed.status == "failed"

    # Commands

    def memory(self, words: str) -> None:
        if words:
            self.face.answer("memories", self.book.recall(words), memory_sheets.hits)
        else:
            self.face.answer("memories", self.book.list(scope="*"), self._list_memories)

    def _list_memories(self, paper: Paper, page: "Page[Memory]") -> None:
        memory_sheets.listing_sheet(paper, page, state="active", narrowed=False, rendered=self.book.rendered())

    def block(self, _: str) -> None:
        if self._talk is not None:
            text = self._talk.chat.inject()
        else:
            if self.incognito:
                text = ""
            else:
                text = self.book.block(preset=self.call.given.preset)
        self.face.answer("block", text, _as_it_stands)

    def undo(self, typed: str) -> None:
        number = typed.lstrip("№# ") or str(self._last_event or "")
        if not number.isdecimal():
            raise Invalid("name the entry to undo by its number, as in /undo 12", field="event")
        event = int(number)
        undone = self.book.undo(event)
        self._last_event = undone.event
        self.face.answer("undone", undone, memory_sheets.undo_sheet, event)

    def forget(self, words: str) -> None:
        if not words:
            raise Invalid("say what to forget: its id, or a piece of what it says", field="ref")
        self.face.answer("forgotten", self.book.forget(words), memory_sheets.write_sheet, "forget")

    def pencil(self, _: str) -> None:
        self.face.answer("pencil", list(self._open_points()), chat_sheets.pencil_sheet)

    def keep(self, number: str) -> None:
        # As in _show.
        from keepbook.models.notebook.open_questions import OpenQuestion, choice_to_keep

        line = self._line(number)
        if isinstance(line, OpenQuestion):
            choice = choice_to_keep(line)
            if choice is None:
                raise Invalid(f"that is no question of keeping; answer it with {_answers(line)}", field="number")
            self._answer_question(line, choice)
            return
        written = self.talk.chat.keep(line.key)
        self._last_event = written.event
        self.face.answer("kept", written, memory_sheets.write_sheet, "remember")

    def no(self, number: str) -> None:
        # As in _show.
        from keepbook.models.notebook.open_questions import OpenQuestion, choice_to_refuse

        line = self._line(number)
        if isinstance(line, OpenQuestion):
            self._answer_question(line, choice_to_refuse(line))
            return
        self.face.answer("declined", self.talk.chat.decline(line.key), chat_sheets.pencil_declined_sheet)

    def _open_points(self) -> "Sequence[OpenPoint]":
        """What waits for the person's word: the last reply's questions first, as it counts them, then older ones and
        what closing would keep."""
        if self._talk is None:
            return []
        # As in _show.
        from keepbook.models.notebook.open_questions import last_asked, open_questions

        chat = self._talk.chat
        questions = open_questions(self.book, chat.id)
        latest = last_asked(questions, chat.messages())
        ids = {one.id for one in questions}
        older = [one for one in questions if one not in latest]
        return [*latest, *older, *(line for line in chat.pencil() if line.proposal not in ids)]

    def _line(self, number: str) -> "OpenPoint":
        """A line by its place in the list of /pencil; without a number the only one."""
        lines = self._open_points()
        if number.isdecimal():
            place = int(number)
        else:
            place = 0
        if not number and len(lines) == 1:
            place = 1
        if not 0 < place <= len(lines):
            raise Invalid("name a line by its number in /pencil, as in /keep 1", field="number")
        return lines[place - 1]

    def new(self, _: str) -> None:
        self.close()
        self._talk = None

    def close_now(self, _: str) -> None:
        if self._talk is None:
            raise Invalid("nothing was said yet, so there is nothing to close", field="command")
        self.close(asked=True)

    def help(self, _: str) -> None:
        listed = {f"/{name}{each.takes}": each.words for name, each in COMMANDS.items()}
        self.face.answer(
            "help", listed | {"/quit": "End, and read the chat for memories; so does Ctrl-D."}, _commands_sheet
        )


class Command(NamedTuple):
    """A command of the chat: how it is written, what it does."""

    takes: str
    words: str
    run: Callable[[Sitting, str], None]


COMMANDS = {
    "memory": Command(" [WORDS]", "What is known about you, or what answers the words.", Sitting.memory),
    "block": Command("", "The text this chat was given.", Sitting.block),
    "undo": Command(" [N]", "Take back entry N, or the last one.", Sitting.undo),
    "forget": Command(" WORDS", "Archive the memory that says this, or has this id.", Sitting.forget),
    "pencil": Command("", "What this chat asks, offers or would keep, line by line.", Sitting.pencil),
    "keep": Command(" [N]", "Keep line N of the pencil; a number alone answers what was asked last.", Sitting.keep),
    "no": Command(" [N]", "No to line N of the pencil: it is left out.", Sitting.no),
    "again": Command("", "Ask again for a reply that failed or was stopped.", Sitting.again),
    "new": Command("", "Close this chat and begin another.", Sitting.new),
    "close": Command("", "Read this chat for memories now; it goes on with your next word.", Sitting.close_now),
    "help": Command("", "This list.", Sitting.help),
}
ENDINGS = ("quit", "exit", "q")


def _answers(question: "OpenQuestion") -> str:
    return f"`keepbook proposals answer {question.id}` and {' or '.join(one.choice for one in question.choices)}"


def _as_it_stands(paper: Paper, text: str) -> None:
    if text:
        sys.stdout.write(f"{visible(text)}\n")  # not wrapped: these are the bytes of a prompt
    else:
        paper.put(ink("The block is empty: this chat was given no memory.", META))


def _commands_sheet(paper: Paper, commands: dict[str, str]) -> None:
    table = grid(text=1)
    for name, words in commands.items():
        table.add_row(ink(name), ink(words, META))
    paper.sheet(table)
