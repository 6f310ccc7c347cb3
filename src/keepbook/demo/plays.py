"""Chats as they are written down for the story: who says what, and what the agent does about it.

A chat is a table of a TOML file. Its `said` has a mark at the start of each turn, and lines without one go on with it:

    I: …                    the person
    A: …   A*: …            the agent; with a star the person bookmarks the reply
    + category | content    before its reply the agent saves something,
    ~ piece | content       says anew the memory that holds this piece,
    - piece                 or forgets it
    ? category | .82 | …    what reading the person's last turn for memories will find, and how surely;
    ? ~piece | .82 | …      with a piece of what is known in place of the category, what that should say instead

Where `notebook` is true no model is there, and the notebook answers what the person says; then nothing else is written.

`when` is "-27 19:45" (days before today), "moved+32 18:02" (days after a date of the story) or "now-48m".
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from importlib.resources import files
from typing import Any, NamedTuple

from keepbook.patterns import regex

_MARK = regex(r"(I|A\*?): |([+~?-]) ")
_WHEN = regex(r"(\w*)([+-]\d+) (\d\d):(\d\d)|now-(\d+)m", anchored=True)
TOOLS: dict[str, tuple[str, tuple[str, ...]]] = {
    "+": ("save_preference", ("category", "content")),
    "~": ("update_preference", ("id_or_substring", "new_content")),
    "-": ("forget_preference", ("id_or_substring",)),
}
"""What a mark calls, and with which arguments: the tools of the preset `advisor`."""


class PlayFinding(NamedTuple):
    """A fact that reading a chat finds."""

    category: str
    score: float
    content: str


@dataclass(frozen=True, slots=True)
class PlayExchange:
    """One turn of the person and the reply to it."""

    said: str
    reply: str = ""
    calls: tuple[tuple[str, dict[str, str]], ...] = ()
    findings: tuple[PlayFinding, ...] = ()
    bookmarked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """One chat of the story. `window` is how many tokens its model may be sent, `summary` what it makes of the rest."""

    at: datetime
    exchanges: tuple[PlayExchange, ...]
    title: str | None = None
    preset: str = "advisor"
    incognito: bool = False
    closes: bool = True
    notebook: bool = False
    window: int = 32_000
    summary: str = ""


@dataclass(slots=True)
class _Turn:
    mark: str
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.lines).strip()


@dataclass(frozen=True)
class Calendar:
    """The days that a story speaks of, all counted from the moment at which it ends."""

    now: datetime
    """The end of the story, in the person's zone."""
    days: Mapping[str, datetime]
    words: Mapping[str, str]

    def moment(self, when: str) -> datetime:
        found = _WHEN.fullmatch(when)
        if found is None:
            raise ValueError(f"{when!r} is no moment of the story")
        day, days, hour, minute, minutes = found.groups()
        if minutes:
            return self.now - timedelta(minutes=int(minutes))
        date = (self.days[day] if day else self.now).date() + timedelta(days=int(days))
        return datetime.combine(date, time(int(hour), int(minute)), self.now.tzinfo)


def read_plays(calendar: Calendar) -> list[Play]:
    """Every chat there is."""
    folder = files(__package__).joinpath("chats")
    texts = [file.read_text(encoding="utf-8") for file in folder.iterdir() if file.name.endswith(".toml")]
    return [_play(told, calendar) for text in texts for told in tomllib.loads(text)["chat"]]


def _play(told: dict[str, Any], calendar: Calendar) -> Play:
    said = told.pop("said").format_map(calendar.words)
    return Play(at=calendar.moment(told.pop("when")), exchanges=tuple(_exchanges(said)), **told)


def _exchanges(said: str) -> list[PlayExchange]:
    found: list[PlayExchange] = []
    calls: list[tuple[str, dict[str, str]]] = []
    findings: list[PlayFinding] = []
    for turn in _turns(said):
        parts = [part.strip() for part in turn.text.split("|")]
        if turn.mark in TOOLS:
            tool, names = TOOLS[turn.mark]
            calls.append((tool, dict(zip(names, parts, strict=True))))
        elif turn.mark == "?":
            category, score, content = parts
            findings.append(PlayFinding(category, float(score), content))
        elif turn.mark == "I":
            found.append(PlayExchange(turn.text))
        else:
            found[-1] = PlayExchange(found[-1].said, turn.text, tuple(calls), tuple(findings), turn.mark == "A*")
            calls, findings = [], []
    return found


def _turns(said: str) -> list[_Turn]:
    turns: list[_Turn] = []
    for line in said.strip().splitlines():
        mark = _MARK.match(line)
        if mark is None:
            turns[-1].lines.append(line)
        else:
            turns.append(_Turn(mark[1] or mark[2], [line[mark.end() :]]))
    return turns
