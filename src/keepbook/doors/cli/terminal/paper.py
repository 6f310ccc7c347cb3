"""Layout of answers for people: a console that fits its terminal, and formats of times and words.

What a person said is plain; what software has inferred is italic and says so in words. A colour never has a meaning
without words. Output to a pipe is plain text without colour and without line breaks.
"""

import os
import sys
import unicodedata
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import cached_property
from zoneinfo import ZoneInfo

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

META, ID, PENCIL, AMBER, GONE, HEAD = "dim", "cyan", "italic", "yellow", "strike dim", "bold"

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_UNBOUNDED = 100_000
_STEERING = {*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x061C, 0x200E, 0x200F}


def visible(text: str) -> str:
    """Text from a book or a file, safe to show: control characters, which move the cursor or reverse the line, are
    replaced."""
    if text.isascii() and text.isprintable():
        return text
    shown = []
    for mark in text.replace("\r\n", "\n"):
        if mark in "\n\t":
            shown.append(mark)
        elif unicodedata.category(mark) in ("Cc", "Cs") or ord(mark) in _STEERING:
            shown.append("\N{REPLACEMENT CHARACTER}")
        else:
            shown.append(mark)
    return "".join(shown)


def name_book(text: str, program: str) -> str:
    """A sentence whose commands, each in ` `, are called for the same book by `program`."""
    return text.replace("`keepbook ", f"`{program} ")


def without_password(place: str) -> str:
    """The address of a database without its passwords; any other place as it is."""
    scheme, mark, rest = place.partition("://")
    if not mark:
        return place
    login, at, server = rest.rpartition("@")
    server, asked, query = server.partition("?")
    more = "&".join(part for part in query.split("&") if not part.partition("=")[0].endswith("password"))
    return f"{scheme}{mark}{login.partition(':')[0]}{at}{server}{asked if more else ''}{more}"


def ink(text: str | None, style: str = "") -> Text:
    """A text for the console that is not read as markup."""
    return Text(visible(text or ""), style=style)


def join_with_dots(parts: Iterable[Text | str]) -> Text:
    """Remarks in a row: a · b · c."""
    row = Text()
    for part in parts:
        row.append(" · " if row else "", style=META)
        if isinstance(part, Text):
            row.append_text(part)
        else:
            row.append_text(ink(part, META))
    return row


def pluralise(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def two_digit_share(number: float) -> str:
    """A number from 0 to 1 in two digits: .82."""
    return f"{number:.2f}".removeprefix("0")


class Paper:
    """Writes an answer to the console; knows the zone and the present for times, and the program's name for hints."""

    def __init__(self, *, zone: Callable[[], str], now: datetime, program: str = "keepbook") -> None:
        self._ask_zone = zone
        self.now = now
        self.program = program
        width = None
        if not (sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()):
            width = _UNBOUNDED
        self.console: Console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False, width=width)

    @cached_property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self._ask_zone())  # looked up late, because many answers show no time

    @property
    def fancy(self) -> bool:
        """Whether the encoding has the characters for drawing lines."""
        return self.console.encoding.lower().startswith("utf")

    def put(self, *parts: Text | str) -> None:
        """Write one line, wrapped between words at the width of the terminal."""
        line = Text.assemble(*parts)
        line.overflow = "fold"
        self.console.print(line)

    def sheet(self, table: RenderableType, *, indent: int = 0) -> None:
        if indent:
            table = Padding(table, (0, 0, 0, indent), expand=False)
        if self.console.is_terminal:
            self.console.print(table)
            return
        with self.console.capture() as drawn:
            self.console.print(table)
        # Cells are filled up with blanks, which a program reading lines does not expect.
        self.console.file.write("".join(f"{line.rstrip()}\n" for line in drawn.get().splitlines()))

    def gap(self) -> None:
        self.console.print()

    def hint(self, *words: object) -> Text:
        """A command that the person may type next."""
        return Text(" ".join([self.program, *map(str, words)]), style=ID)

    # Times

    def age(self, moment: datetime) -> str:
        """How long ago a moment was, in short: 5 min ago, 2 d ago."""
        seconds = (self.now - moment).total_seconds()
        for size, unit in ((31_557_600, "y"), (2_629_800, "mo"), (86_400, "d"), (3_600, "h"), (60, "min")):
            if abs(seconds) >= size:
                amount = f"{int(abs(seconds) // size)} {unit}"
                if seconds > 0:
                    return f"{amount} ago"
                return f"in {amount}"
        return "now"

    def local(self, moment: datetime) -> datetime:
        try:
            return moment.astimezone(self.zone)
        except OverflowError:  # 9999-12-31, meant as "for ever", cannot be converted to a zone further east
            return moment

    def day(self, moment: datetime) -> str:
        local = self.local(moment)
        return f"{local.day} {MONTHS[local.month - 1]} {local.year}"

    def clock(self, moment: datetime) -> str:
        """A day and the time of it: 12 Mar 2026 09:19."""
        return f"{self.day(moment)} {self.local(moment):%H:%M}"

    def edge(self, moment: datetime) -> str:
        """The beginning or end of a validity: only the day, if the time is midnight."""
        time = self.local(moment).time()
        if time in (time.min, time.max):
            return self.day(moment)
        return self.clock(moment)


def grid(*, text: int, count: int = 2) -> Table:
    """A table without column heads."""
    table = columns(*[""] * count, text=text)
    table.show_header = False
    return table


def columns(*heads: str, text: int) -> Table:
    """A table without lines. The column with the number `text` gets the remaining width; the others are not wrapped."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=META)
    for number, head in enumerate(heads):
        ratio = None
        if number == text:
            ratio = 1
        table.add_column(head, overflow="fold", no_wrap=number != text, ratio=ratio)
    return table
