"""What goes in and out beside a command's answer: the lines of a file or of stdin, and how far a long work is.

Progress goes to stderr, and only where that is a terminal.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from keepbook.doors.cli.terminal.paper import pluralise
from keepbook.errors import NotFound

if TYPE_CHECKING:
    from rich.progress import Progress

_EVERY = 500
"""Lines between two looks at the progress line."""


@contextmanager
def reading(name: str) -> Iterator[Iterable[str]]:
    """The lines of a file or of stdin."""
    if name == "-":
        yield utf8(sys.stdin, "utf-8-sig")
        return
    path = Path(name).expanduser()
    try:
        stream = path.open(encoding="utf-8-sig")  # some editors begin a file with a mark
    except OSError as error:
        raise NotFound(f"cannot read {path} ({error.strerror}); check its name and permissions", field="file") from None
    with stream:
        yield stream


def utf8(stream: TextIO, encoding: str = "utf-8") -> TextIO:
    """Exports are UTF-8 with plain line ends, whatever the terminal speaks."""
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(encoding=encoding, errors="strict", newline="\n")
    return stream


class Telling:
    """How far a long work is."""

    def __init__(self, progress: "Progress | None", what: str) -> None:
        self._progress, self._what = progress, what
        self._task = None
        if progress is not None:
            self._task = progress.add_task(what, total=None)

    def say(self, how_far: str) -> None:
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, description=f"{self._what}, {how_far}")

    def lines(self, number: int) -> None:
        if number % _EVERY == 0:
            self.say(pluralise(number, "line"))


@contextmanager
def show_progress(what: str) -> Iterator[Telling]:
    if not sys.stderr.isatty():
        yield Telling(None, what)
        return
    # Half of what loading this module would cost, for a line that few runs show.
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    parts = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*parts, console=Console(stderr=True), transient=True) as progress:
        yield Telling(progress, what)
