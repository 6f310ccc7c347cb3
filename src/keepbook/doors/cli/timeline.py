"""A memory's history on both clocks: one lane per version.

The thick bar is when it was true in the world, the thin one when the book said so; the dotted run before the
thin bar is the lag between being true and being told. An arrow means "still". Dates stand beside the bars,
so nothing is told by the drawing alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from rich.text import Text

from keepbook.doors.cli.paper import GONE, HEAD, META, Paper, count, dotted, ink
from keepbook.doors.cli.sheets import SOURCES

if TYPE_CHECKING:
    from keepbook.book.memories import Version

WIDEST = 40
NARROWEST = 8
GLYPHS = {True: ("━", "─", "┄", "→"), False: ("=", "-", ".", ">")}
_LABEL = 11


@dataclass(frozen=True, slots=True)
class Lane:
    """One version: when it holds in the world by what the book says today (None: nowhere), and until when."""

    version: "Version"
    holds: bool
    until: datetime | None
    replaced_by: int | None


def lanes(versions: Sequence["Version"]) -> list[Lane]:
    """What each version still stands for. A correction hides what it corrects; an undo hides what it undid."""
    # The book is open by now, and with it this.
    from keepbook.book.memories import standing_on

    chain = {version.version: version for version in versions}
    seen: dict[int, datetime | None] = {}
    number, newer = max(chain, default=0), None
    while number >= 1:
        ends = [end for end in (chain[number].valid_until, newer) if end is not None]
        seen[number] = min(ends, default=None)
        newer = chain[number].valid_from if newer is None else min(newer, chain[number].valid_from)
        number = standing_on(chain, number)
    found = []
    for version in versions:
        until = seen.get(version.version)
        holds = version.version in seen and (until is None or until > version.valid_from)
        replaced_by = None if holds else version.version + 1
        found.append(Lane(version, holds, until, replaced_by))
    return found


def history(paper: Paper, versions: Sequence["Version"]) -> None:
    """Every version, oldest first."""
    drawn = lanes(versions)
    ends = [lane.until for lane in drawn if lane.until is not None]
    first = min(min(lane.version.valid_from, lane.version.recorded_at) for lane in drawn)
    last = max([paper.now, *ends])
    told = _teller(paper, first, last)
    room = paper.console.width - _LABEL - 2 * len(told(first)) - 8
    scale = _Scale(first, last, min(WIDEST, room), paper.fancy)
    if len(told(first)) <= 8:  # times alone: the day has to stand somewhere
        paper.put(ink(paper.day(first), META))
    for lane in drawn:
        _put_lane(paper, lane, scale, told)


def _put_lane(paper: Paper, lane: Lane, scale: "_Scale", told: Callable[[datetime], str]) -> None:
    version = lane.version
    said = "its text is gone" if version.content is None else version.content
    style = GONE if not lane.holds else HEAD if version.retired_at is None else ""
    paper.put(Text.assemble(ink(f"{version.version:>2}  ", META), ink(said, style)))
    if lane.holds:
        end = "still" if lane.until is None else told(lane.until)
        drawn = scale.bar(0, version.valid_from, lane.until)
        paper.put(_row("true", drawn, f"{told(version.valid_from)} → {end}", paper))
    lag = scale.bar(2, version.valid_from, version.recorded_at) if version.recorded_at > version.valid_from else ""
    kept = scale.bar(1, version.recorded_at, version.retired_at)
    end = "still" if version.retired_at is None else told(version.retired_at)
    drawn = lag[: len(kept) - len(kept.lstrip())] + kept[len(lag[: len(kept) - len(kept.lstrip())]) :]
    paper.put(_row("in the book", drawn, f"{told(version.recorded_at)} → {end}", paper))
    paper.put(Text.assemble(" " * 4, dotted(_remarks(paper, lane))))


def _row(label: str, drawn: str, dates: str, paper: Paper) -> Text:
    dates = dates if paper.fancy else dates.replace("→", ">")
    return Text.assemble(" " * 4, ink(f"{label:<{_LABEL}}  ", META), f"{drawn}  " if drawn.strip() else "", ink(dates, META))


def _remarks(paper: Paper, lane: Lane) -> list[str]:
    version = lane.version
    said = [SOURCES.get(version.source, version.source)]
    lag = version.recorded_at - version.valid_from
    if lag >= timedelta(days=1):
        said.append(f"told {count(lag.days, 'day')} later")
    elif lag <= -timedelta(days=1):
        said.append(f"told {count((-lag).days, 'day')} ahead")
    if version.correction:
        said.append(f"corrects version {version.version - 1}")
    if version.restored_from is not None:
        said.append(f"brings version {version.restored_from} back")
    if lane.replaced_by is not None:
        said.append(f"taken over by version {lane.replaced_by}")
    if version.thread_id:
        said.append(f"chat {version.thread_id}")
    return said


def _teller(paper: Paper, first: datetime, last: datetime) -> Callable[[datetime], str]:
    """Dates as exact as the span needs: times within a day, days over weeks."""
    if first.astimezone(paper.zone).date() == last.astimezone(paper.zone).date():
        return lambda moment: f"{moment.astimezone(paper.zone):%H:%M:%S}"
    return paper.clock if last - first < timedelta(days=3) else paper.day


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
        stop = self._width if end is None else max(self._column(end), begin + 1)
        drawn = " " * begin + self._glyphs[kind] * (stop - begin)
        return drawn[:-1] + self._glyphs[3] if end is None else drawn.ljust(self._width)

    def _column(self, moment: datetime) -> int:
        share = (moment - self._first).total_seconds() / self._span
        return max(0, min(round(share * self._width), self._width - 1))
