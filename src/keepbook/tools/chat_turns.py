"""What an agent can ask of earlier chats: the passages that answer, and what happened on a topic."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from keepbook.book.book import Book
from keepbook.book.ground.limits import TIMELINE_TOKENS
from keepbook.book.ground.to_json import to_json
from keepbook.book.recall.turns import topic_events
from keepbook.book.recall.turns.hits import ChatHit, SaidPassage
from keepbook.book.recall.turns.overview_questions import usual_order
from keepbook.tools.definition import ToolAnswer
from keepbook.tools.spoken_days import zoned_day


@dataclass(frozen=True, slots=True)
class FoundChatTurns:
    hits: list[ChatHit]


@dataclass(frozen=True, slots=True)
class FoundEvents:
    lines: list[topic_events.TimelineLine]


def recall_chats(
    book: Book,
    /,
    query: str,
    limit: Annotated[int | None, Field(ge=1, le=200)] = None,
    since: str | None = None,
    until: str | None = None,
    order: Literal["relevance", "time"] | None = None,
    spread: bool = False,
    tokens: Annotated[int | None, Field(ge=1, le=100_000)] = None,
    around: Annotated[int, Field(ge=0, le=10)] = 0,
) -> ToolAnswer:
    """The passages of earlier chats that answer a question, best first, or in the order in which they were said."""
    hits = book.recall_chats(
        query, limit, since=since, until=until, order=order, spread=spread, tokens=tokens, around=around
    )
    if not hits:
        return ToolAnswer("Nothing said in an earlier chat answers that.", {"hits": []})
    zone = book.zone
    first = {"relevance": "best", "time": "oldest"}[order or usual_order(query)]
    told = [f"{len(hits)} turns found, {first} first:"]
    for hit in hits:
        told.append(f"- {_said_line(hit, zone)}")
        told += [f"  beside it: {_said_line(one, zone)}" for one in hit.around]
    shown = [one for hit in hits for one in (hit, *hit.around)]
    others = tuple(dict.fromkeys(one.recorded_by for one in shown if one.recorded_by is not None))
    return ToolAnswer("\n".join(told), {"hits": to_json(hits)}, others=others)


def timeline(
    book: Book,
    /,
    topic: str,
    tokens: Annotated[int, Field(ge=1, le=20_000)] = TIMELINE_TOKENS,
    since: str | None = None,
    until: str | None = None,
) -> ToolAnswer:
    """What happened on a topic, a dated line for each event, oldest first."""
    lines = book.timeline(topic, tokens, since=since, until=until)
    if not lines:
        return ToolAnswer("Nothing is known of that.", {"lines": []})
    told = [f"{len(lines)} events, oldest first:"]
    told += [f"- {line.day}: {' '.join(line.text.split())} ({_source_of(line)})" for line in lines]
    others = tuple(dict.fromkeys(line.recorded_by for line in lines if line.recorded_by is not None))
    return ToolAnswer("\n".join(told), {"lines": to_json(lines)}, others=others)


def _source_of(line: topic_events.TimelineLine) -> str:
    if line.memory_id is not None:
        return f"memory {line.memory_id}"
    if line.recorded_by is None:
        recorded = ""
    else:
        recorded = f", recorded by {' '.join(line.recorded_by.split())}"
    return f"chat {line.thread_id}, turn {line.turn}{recorded}"


def _said_line(one: SaidPassage, zone: str) -> str:
    """A passage in one line: when, by whom, where it stands, and what it says."""
    before = ""
    if one.start:
        before = "…"
    after = ""
    if one.start + len(one.text) < one.length:
        after = "…"
    return f"{_place_line(one, zone)}: {before}{' '.join(one.text.split())}{after}"


def _place_line(one: SaidPassage, zone: str) -> str:
    return (
        f"{zoned_day(one.at, zone)}, {one.speaker or one.role} (chat {one.thread_id}, turn {one.turn}{_recorded(one)})"
    )


def _recorded(hit: SaidPassage) -> str:
    """Whose words a passage has, if the person did not say them here."""
    if hit.recorded_by is None:
        return ""
    return f", recorded by {' '.join(hit.recorded_by.split())}"
