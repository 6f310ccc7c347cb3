"""A memory's history on both clocks: one lane per version.

The thick bar is when it was true in the world, the thin one when the book said so; the dotted run before the
thin bar is the lag between being true and being told. An arrow means "still". Dates stand beside the bars,
so nothing is told by the drawing alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from keepbook.book.text.quotation import shown_text
from keepbook.doors.cli.sheets.memory import SOURCES
from keepbook.doors.cli.terminal.paper import GONE, HEAD, META, Paper, grid, ink, join_with_dots, pluralise

if TYPE_CHECKING:
    from keepbook.book.memory.memories import Version

WIDEST = 40
NARROWEST = 8
GLYPHS = {True: ("━", "─", "┄", "→"), False: ("=", "-", ".", ">")}
_LABEL = 11


@dataclass(frozen=True, slots=True)
class VersionLane:
    """One version, and by what the book says today: whether it still holds for some time, and until when."""

    version: "Version"
    holds: bool
    until: datetime | None
    replaced_by: int | None


def lanes(versions: Sequence["Version"]) -> list[VersionLane]:
    """What each version still stands for. A correction hides what it corrects; an undo hides what it undid."""
    # The engine is open by now; at the top of the module it would slow --help.
    from keepbook.book.memory.memories import standing_on

    chain = {version.version: version for version in versions}
    seen: dict[int, datetime | None] = {}
    number, newer = max(chain, default=0), None
    while number >= 1:
        ends = [end for end in (chain[number].valid_until, newer) if end is not None]
        seen[number] = min(ends, default=None)
        if newer is None:
            newer = chain[number].valid_from
        else:
            newer = min(newer, chain[number].valid_from)
        number = standing_on(chain, number)
    found = []
    for version in versions:
        until = seen.get(version.version)
        holds = version.version in seen and (until is None or until > version.valid_from)
        replaced_by = None
        if not holds:
            replaced_by = version.version + 1
        found.append(VersionLane(version, holds, until, replaced_by))
    return found


def history_sheet(paper: Paper, versions: Sequence["Version"]) -> None:
    """Every version, oldest first."""
    drawn = lanes(versions)
    first = min(min(lane.version.valid_from, lane.version.recorded_at) for lane in drawn)
    last = max([paper.now, *(lane.until or lane.version.valid_from for lane in drawn)])
    told, length = _teller(paper, first, last)
    scale = _Scale(first, last, min(WIDEST, paper.console.width - _LABEL - 2 * length - 11), paper.fancy)
    if length < len("12 Mar 2026"):  # times alone: the day has to stand somewhere
        paper.put(ink(paper.day(first), META))
    table = grid(text=1)
    for lane in drawn:
        table.add_row(ink(f"{lane.version.version:>2}", META), Group(*_rows(paper, lane, scale, told)))
    paper.sheet(table)


def _rows(paper: Paper, lane: VersionLane, scale: "_Scale", told: Callable[[datetime], str]) -> Iterator[Text]:
    version = lane.version
    if not lane.holds:
        style = GONE
    elif version.retired_at is None:
        style = HEAD
    else:
        style = ""
    if version.content is None:
        text = "its text is gone"
    else:
        text = shown_text(version)
    yield ink(text, style)
    if paper.fancy:
        arrow = "→"
    else:
        arrow = ">"

    def row(label: str, bar: str, start: datetime, end: datetime | None) -> Text:
        dates = f"{told(start)} {arrow} {'still' if end is None else told(end)}"
        return Text.assemble(ink(f"{label:<{_LABEL}}  ", META), f"{bar}  " if bar else "", ink(dates, META))

    if lane.holds:
        yield row("true", scale.bar(0, version.valid_from, lane.until), version.valid_from, lane.until)
    kept = scale.bar(1, version.recorded_at, version.retired_at)
    if version.recorded_at > version.valid_from:
        lag = scale.bar(2, version.valid_from, version.recorded_at)
        before = len(kept) - len(kept.lstrip())
        kept = lag[:before] + kept[before:]
    yield row("in the book", kept, version.recorded_at, version.retired_at)
    yield join_with_dots(_remarks(lane))


def _remarks(lane: VersionLane) -> list[str]:
    version = lane.version
    said = [SOURCES.get(version.source, version.source)]
    lag = version.recorded_at - version.valid_from
    if lag >= timedelta(days=1):
        said.append(f"told {pluralise(lag.days, 'day')} later")
    elif lag <= -timedelta(days=1):
        said.append(f"told {pluralise((-lag).days, 'day')} ahead")
    if version.correction:
        said.append(f"corrects version {version.version - 1}")
    if version.restored_from is not None:
        said.append(f"brings version {version.restored_from} back")
    if lane.replaced_by is not None:
        said.append(f"taken over by version {lane.replaced_by}")
    if version.thread_id:
        said.append(f"chat {version.thread_id}")
    return said


def _teller(paper: Paper, first: datetime, last: datetime) -> tuple[Callable[[datetime], str], int]:
    """Dates as exact as the span needs (times within a day, days over weeks), and how long they get."""
    within = last - first
    if within < timedelta(minutes=1):
        return lambda moment: f"{paper.local(moment):%H:%M:%S.%f}"[:-5], len("09:19:05.1")
    if paper.local(first).date() == paper.local(last).date():
        return lambda moment: f"{paper.local(moment):%H:%M:%S}", len("09:19:05")
    if within < timedelta(days=3):
        return paper.clock, len("12 Mar 2026 09:19")
    return paper.day, len("12 Mar 2026")


class _Scale:
    """Time as columns."""

    def __init__(self, first: datetime, last: datetime, width: int, fancy: bool) -> None:
        self._first, self._width = first, width
        self._span = max((last - first).total_seconds(), 1e-6)
        self._glyphs = GLYPHS[fancy]

    def bar(self, kind: int, start: datetime, end: datetime | None) -> str:
        """Spaces up to the start, then the bar: at least one column, an arrow where it is open."""
        if self._width < NARROWEST:
            return ""
        begin = self._column(start)
        if end is None:
            stop = self._width
        else:
            stop = max(self._column(end), begin + 1)
        drawn = " " * begin + self._glyphs[kind] * (stop - begin)
        if end is None:
            return drawn[:-1] + self._glyphs[3]
        return drawn.ljust(self._width)

    def _column(self, moment: datetime) -> int:
        share = (moment - self._first).total_seconds() / self._span
        return max(0, min(round(share * self._width), self._width - 1))
