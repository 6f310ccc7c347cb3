"""What a chat shows while it runs: to a person a page that fills as the reply comes, to a program a JSON object a line.

Both take the same calls from the chat, so neither shows something that the other does not.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from rich.cells import cell_len
from rich.text import Text

from keepbook.doors.cli.sheets import chats
from keepbook.doors.cli.terminal.command import Invocation
from keepbook.doors.cli.terminal.paper import AMBER, ID, META, Paper, ink, join_with_dots, name_book, visible
from keepbook.doors.cli.terminal.streams import show_progress
from keepbook.errors import KeepbookError, ModelFailed

if TYPE_CHECKING:
    from keepbook.book.chats.closing_result import ClosingResult
    from keepbook.book.chats.pencil import Pencil
    from keepbook.book.chats.threads import Message, Thread
    from keepbook.models.notebook.open_questions import OpenQuestion

Value = TypeVar("Value")
More = ParamSpec("More")


class ChatDisplay(Protocol):
    """Something that shows a chat, such as the terminal."""

    def welcome(self, facts: Sequence[str]) -> None:
        """Before anything is said: who talks to what."""

    def began(self, thread: "Thread", earlier: Sequence["Message"]) -> None:
        """A chat begins, or goes on after what was said earlier."""

    def waiting(self) -> None:
        """The model has been asked."""

    def show_piece(self, piece: str) -> None:
        """A piece of the reply."""

    def notice(self, text: str) -> None: ...

    def end_reply(self, message: "Message | None", titled: str | None) -> None:
        """The reply is over; without a message it was stopped."""

    def wrote(self, events: Sequence[Mapping[str, Any]], *, quietly: bool, pencil: Sequence["Pencil"] = ()) -> None:
        """What the reply changed in memory, and what the turn left in pencil; `quietly` where the preset wants no line
        about it."""

    def show_questions(self, questions: Sequence["OpenQuestion"], *, in_reply: bool) -> None:
        """What the turn asks, to be answered by number; `in_reply` where the reply has put it in words."""

    def show_error(self, error: KeepbookError) -> None: ...

    def show_closing(self, answer: "ClosingResult", *, last: bool) -> None:
        """What was learned; `last` when the program ends with it."""

    def answer(
        self,
        kind: str,
        value: Value,
        show: Callable[Concatenate[Paper, Value, More], None],
        *args: More.args,
        **more: More.kwargs,
    ) -> None:
        """The answer to a command."""


class Slate(Paper):
    """Paper whose hints are commands of the chat, where the chat has them."""

    commands: frozenset[str] = frozenset()

    def hint(self, *words: object) -> Text:
        if words and str(words[0]) in self.commands:
            return Text(f"/{' '.join(map(str, words))}", style=ID)
        return super().hint(*words)


class Screen:
    """A person's terminal, or the file into which their chat is piped."""

    def __init__(self, call: Invocation, commands: Sequence[str], *, remote: bool) -> None:
        self._desk = call
        self._remote = remote
        self._wait = ExitStack()
        self._flow: Flow | None = None
        self._slate = Slate(zone=lambda: call.zone, now=datetime.now(UTC), program=call.program)
        self._slate.commands = frozenset(commands)

    @property
    def paper(self) -> Paper:
        self._slate.now = datetime.now(UTC)  # a chat may last for hours
        return self._slate

    def welcome(self, facts: Sequence[str]) -> None:
        if not self._slate.console.is_terminal:
            return
        self.paper.put(join_with_dots(facts))
        self.paper.put(ink("/help lists the commands. Ctrl-D ends the chat and reads it for memories.", META))
        self.paper.gap()

    def began(self, thread: "Thread", earlier: Sequence["Message"]) -> None:
        if not earlier or not self._slate.console.is_terminal:
            return
        self.paper.put(ink(f"Going on with: {thread.title or chats.UNTITLED}", META))
        for message in earlier:
            who = message.speaker or ("you" if message.role == "user" else message.role)
            self.paper.put(ink(f"{who}: {message.text}", META))
        self.paper.gap()

    def waiting(self) -> None:
        if self._remote:
            self._wait.enter_context(show_progress("Thinking"))

    def show_piece(self, piece: str) -> None:
        self._wait.close()
        if self._flow is None:
            console = self._slate.console
            if console.is_terminal:
                self._flow = Flow(console.width)
            else:
                self._flow = Flow(None)
        self._flow.write(piece)

    def notice(self, text: str) -> None:
        self._wait.close()
        self._end_line()
        self.paper.put(ink(name_book(text, self.paper.program), META))

    def end_reply(self, message: "Message | None", titled: str | None) -> None:
        self._wait.close()
        self._end_line()
        if message is None:
            self.paper.put(ink("Stopped. What you said is kept, this half of a reply is not.", META))

    def wrote(self, events: Sequence[Mapping[str, Any]], *, quietly: bool, pencil: Sequence["Pencil"] = ()) -> None:
        if events and not quietly:
            chats.slip_sheet(self.paper, events)
        if pencil and self._slate.console.is_terminal:
            chats.in_pencil(self.paper, pencil)
        self._gap_and_flush()

    def show_questions(self, questions: Sequence["OpenQuestion"], *, in_reply: bool) -> None:
        chats.questions_sheet(self.paper, questions, in_reply=in_reply)
        self._gap_and_flush()

    def show_error(self, error: KeepbookError) -> None:
        self._wait.close()
        self._end_line()
        told: list[Text | str] = [ink(chats.as_sentence(error.message), AMBER)]
        if isinstance(error, ModelFailed):
            told += [" What you said is kept. Try ", self.paper.hint("again"), ", or find out more: "]
            told.append(self.paper.hint("doctor", "--model"))
        self.paper.put(*told)
        self._gap_and_flush()

    def show_closing(self, answer: "ClosingResult", *, last: bool) -> None:
        if not last:
            chats.closing_sheet(self.paper, answer)
            self._gap_and_flush()
            return
        paper = self._desk.paper  # the commands of the chat end with it
        chats.closing_sheet(paper, answer)
        if paper.console.is_terminal:
            paper.put(ink("Go on with it: ", META), paper.hint("chat", "--thread", answer.thread_id))

    def answer(
        self,
        kind: str,
        value: Value,
        show: Callable[Concatenate[Paper, Value, More], None],
        *args: More.args,
        **more: More.kwargs,
    ) -> None:
        show(self.paper, value, *args, **more)
        self._gap_and_flush()

    def _end_line(self) -> None:
        if self._flow is not None:
            self._flow.end()
            self._flow = None

    def _gap_and_flush(self) -> None:
        if self._slate.console.is_terminal:
            self.paper.gap()
        sys.stdout.flush()


class Flow:
    """Text as it comes, broken between words where the terminal ends."""

    def __init__(self, width: int | None) -> None:
        self._width = width
        self._column = 0
        self._word = ""

    def write(self, piece: str) -> None:
        shown = visible(piece.replace("\r", ""))
        if self._width is None:
            self._put(shown)
        else:
            for mark in shown:
                self._take(mark, self._width)
        sys.stdout.flush()

    def end(self) -> None:
        if self._width is not None:
            self._place(self._width)
        if self._column:
            sys.stdout.write("\n")
        else:
            sys.stdout.write("")
        sys.stdout.flush()

    def _take(self, mark: str, width: int) -> None:
        if not mark.isspace():
            self._word += mark
            if cell_len(mark) > 1:  # scripts without spaces break anywhere
                self._place(width)
            return
        self._place(width)
        if mark == "\n" or self._column < width:
            self._put(mark)
        else:
            self._put("\n")

    def _place(self, width: int) -> None:
        if self._column and self._column + cell_len(self._word) > width:
            self._put("\n")
        self._put(self._word)
        self._word = ""

    def _put(self, text: str) -> None:
        sys.stdout.write(text)
        self._column = cell_len(text.rpartition("\n")[2]) + (0 if "\n" in text else self._column)


class Tape:
    """A program that reads lines: each has a `type`."""

    def _line(self, kind: str, **told: Any) -> None:
        # The engine is loaded by now; --help must not load it.
        from keepbook.book.ground.to_json import to_json

        wide = (sys.stdout.encoding or "").lower().startswith("utf")
        sys.stdout.write(json.dumps({"type": kind, **to_json(told)}, ensure_ascii=not wide) + "\n")
        sys.stdout.flush()

    def welcome(self, facts: Sequence[str]) -> None:
        """A program knows what it has started."""

    def began(self, thread: "Thread", earlier: Sequence["Message"]) -> None:
        self._line("thread", id=thread.id, title=thread.title, preset=thread.preset, incognito=thread.incognito)

    def waiting(self) -> None:
        """It sees that there is no line yet."""

    def show_piece(self, piece: str) -> None:
        self._line("text", text=piece)

    def notice(self, text: str) -> None:
        self._line("notice", text=text)

    def end_reply(self, message: "Message | None", titled: str | None) -> None:
        if message is None:
            self._line("stopped")
        else:
            self._line("reply", turn=message.turn, text=message.text, titled=titled)

    def wrote(self, events: Sequence[Mapping[str, Any]], *, quietly: bool, pencil: Sequence["Pencil"] = ()) -> None:
        for event in events:
            self._line("memory", **event)
        if pencil:
            self._line("pencil", answer=list(pencil))

    def show_questions(self, questions: Sequence["OpenQuestion"], *, in_reply: bool) -> None:
        self._line("questions", answer=list(questions))

    def show_error(self, error: KeepbookError) -> None:
        self._line("error", code=error.code, message=error.message, **error.details)

    def show_closing(self, answer: "ClosingResult", *, last: bool) -> None:
        # As in _line.
        from keepbook.book.ground.to_json import to_json

        self._line("closed", **to_json(answer))

    def answer(
        self,
        kind: str,
        value: Value,
        show: Callable[Concatenate[Paper, Value, More], None],
        *args: More.args,
        **more: More.kwargs,
    ) -> None:
        self._line(kind, answer=value)
