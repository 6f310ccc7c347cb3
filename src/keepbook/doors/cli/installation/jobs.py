"""`keepbook jobs`: the sweeps, once or for ever.

Closing chats that fell silent, archiving old ones, emptying the trash, letting proposals expire, and what extensions
have to do when its hour has come: for every owner of the installation. Several may run at once; each piece of work is
done once. SIGTERM and Ctrl-C end a wait at once and let a sweep finish the piece it is at; a second one stops that too.
"""

import json
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from keepbook.doors.cli.terminal.command import CARE, Invocation, command
from keepbook.doors.cli.terminal.paper import AMBER, META, Paper, ink, pluralise
from keepbook.doors.cli.terminal.streams import show_progress
from keepbook.errors import Invalid, KeepbookError
from keepbook.extension import Extension, load_part

if TYPE_CHECKING:
    from keepbook.book.owners.servers import Servers
    from keepbook.jobs import SweepResult

EVERY = 300.0


def register(app: typer.Typer) -> None:
    command(app, "jobs", jobs, panel=CARE, writes=True)


def jobs(
    call: Invocation,
    once: Annotated[bool, typer.Option("--once", help="Do what is due now, and end.")] = False,
    every: Annotated[
        float | None, typer.Option("--every", metavar="SECONDS", min=1, help="Wait so long between two sweeps: 300.")
    ] = None,
) -> None:
    """Do what is due for every owner: close silent chats, archive, empty the trash; once, or for ever."""
    if not once:
        _for_ever(call, every or EVERY)
        return
    if every is not None:
        raise Invalid("--once sweeps a single time; leave out --every", field="every")
    with show_progress("Sweeping"):
        swept = call.keepbook.sweep()
    call.answer(swept, _sweep_sheet, call.keepbook.extensions)
    if swept.failed:
        raise typer.Exit(1)


def _for_ever(call: Invocation, every: float) -> None:
    keepbook = call.keepbook  # a database that cannot be opened is told at once
    if not call.as_json:
        call.note(f"Sweeping every {every:g} seconds; Ctrl-C ends it.")
    with suppress(_StopRequested), _until_told() as end, _known_as_alive(keepbook.servers) as note:
        keepbook.stop_when(lambda: end.told)
        while not end.told:
            try:
                note()
                _report(call, keepbook.sweep())
            except KeepbookError as error:  # a database that is away for a moment comes back
                _report(call, error)
            _wait(end, every, note)
    if not call.as_json:
        call.note("Ended.")


@contextmanager
def _known_as_alive(servers: "Servers") -> Iterator[Callable[[], None]]:
    """Gives what says that this process is alive: an upgrade that takes something away waits for it."""
    from keepbook.jobs import process_name  # with the engine, which --help does not need

    name = process_name()
    try:
        yield lambda: servers.note(name)
    finally:
        with suppress(KeepbookError):
            servers.forget(name)


def _wait(end: "_End", seconds: float, note: Callable[[], None]) -> None:
    """Until the next sweep; said to be alive meanwhile."""
    from keepbook.jobs import ALIVE_EVERY  # as above

    until = time.monotonic() + seconds
    while not end.told and (left := until - time.monotonic()) > 0:
        end.wait(min(left, ALIVE_EVERY))
        with suppress(KeepbookError):  # the next sweep tells it
            note()


def _report(call: Invocation, outcome: "SweepResult | KeepbookError") -> None:
    """One line for a sweep that did or met something; for programs one for each."""
    if isinstance(outcome, KeepbookError):
        if call.as_json:
            _line({"error": {"code": outcome.code, "message": outcome.message}})
        else:
            call.note(f"This sweep failed, the next will try again: {outcome.message}")
    elif call.as_json:
        _line({"done": outcome.done, "failed": outcome.failed})
    elif outcome.done or outcome.failed:
        _sweep_sheet(call.paper, outcome, call.keepbook.extensions)
        sys.stdout.flush()


def _line(told: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


# Ending


class _StopRequested(Exception):
    """It is time to go, and nothing is under way."""


class _End:
    """Whether it is time to go. No lock takes part: a signal may come while one is held."""

    def __init__(self) -> None:
        self.told = False
        self._waiting = False

    def wait(self, seconds: float) -> None:
        try:
            self._waiting = True
            if not self.told:
                time.sleep(seconds)
        except _StopRequested:
            pass
        finally:
            self._waiting = False

    def tell(self, *_: object) -> None:
        again, self.told = self.told, True
        if self._waiting:
            raise _StopRequested
        if again:
            raise KeyboardInterrupt


@contextmanager
def _until_told() -> Iterator[_End]:
    end = _End()
    before = {each: signal.signal(each, end.tell) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield end
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


# What was done

_DONE = {
    "close": ("closed", "chat", "chats"),
    "archive": ("archived", "chat", "chats"),
    "purge": ("removed from the trash", "memory", "memories"),
    "purge_chat": ("removed from the trash", "chat", "chats"),
    "expire": ("let expire", "proposal", "proposals"),
    "index": ("wrote the words of", "chat", "chats"),
    "erase": ("ended the erasure of", "book", "books"),
    "embed": ("embedded", "memory or turn", "memories and turns"),
    "backup": ("made", "copy of the database", "copies of the database"),
}


def _sweep_sheet(paper: Paper, swept: "SweepResult", extensions: Iterable[Extension]) -> None:
    known = _DONE | _words_of(extensions)
    done = []
    for kind, number in swept.done.items():
        verb, one, many = known.get(kind, (f"did {kind}", "time", "times"))
        done.append(f"{verb} {pluralise(number, one, many)}")
    words = ", ".join(done)
    if done:
        paper.put(f"{words[:1].upper()}{words[1:]}.")
    else:
        paper.put("Nothing was due.")
    for failure in swept.failed:
        paper.put(ink("Failed, to be tried again: ", META), ink(failure, AMBER))


def _words_of(extensions: Iterable[Extension]) -> dict[str, tuple[str, str, str]]:
    """`WORDS` of their sweeps: for each kind of work a verb, and what it was done to, one and many."""
    parts = [load_part(one.sweeps) for one in extensions if one.sweeps is not None]
    return {kind: words for part in parts for kind, words in getattr(part, "WORDS", {}).items()}
