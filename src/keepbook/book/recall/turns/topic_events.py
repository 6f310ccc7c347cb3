"""What happened on a topic, in the order in which it happened: a dated line for each event.

The lines are the person's own words from chats, and memories. Each is dated by the day it names ("last Friday"), or if
it names none, by when it was said, in the owner's zone. If there is too little room, the lines that are least about the
topic are left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from keepbook.book.ground.limits import TIMELINE_TOKENS, clean_count
from keepbook.book.ground.when import parse_stamp, zone_named
from keepbook.book.ledger.ledger import present
from keepbook.book.owners.owners import zone_name
from keepbook.book.recall.memories import ALIKE_FROM, Hit, check_query, leading, recall
from keepbook.book.recall.turns.beside import LINE
from keepbook.book.recall.turns.chat_wording import is_acknowledgement
from keepbook.book.recall.turns.hits import names_topic, recalled_rows
from keepbook.book.recall.turns.passage_search import find_passage
from keepbook.book.recall.turns.ranking import RankedTurns, rank_turns, turns_within
from keepbook.book.recall.turns.told_days import told_days
from keepbook.book.recall.vectors import Meaning
from keepbook.book.text.quotation import shown_text
from keepbook.presets import Preset
from keepbook.storage.database import Tx

MOST_TOKENS = 20_000
EVENT = 150
"""How many letters of an event are shown."""
FLOOR = 0.15
"""Lines with less than this share of the best line's relevance are left out."""
READ = 200
"""How many turns are read."""
MEMORIES = 20
"""How many memories are recalled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineLine:
    """Something that happened on a day, in the words of a turn or of a memory."""

    day: date
    text: str
    thread_id: str | None
    turn: int | None
    memory_id: str | None
    said_at: datetime
    relevance: float
    recorded_by: str | None = None
    """Who recorded it; None if the person said it in one of our own chats."""


# Rules


def within_tokens(lines: Sequence[TimelineLine], tokens: int) -> list[TimelineLine]:
    """The most relevant lines that fit into the given tokens, in the order in which they happened."""
    room = 4 * tokens
    chosen: list[TimelineLine] = []
    for line in sorted(lines, key=lambda line: -line.relevance):
        room -= len(line.text) + LINE
        if room < 0:
            break
        chosen.append(line)
    return sorted(chosen, key=lambda line: (line.day, line.said_at, line.thread_id or "", line.turn or 0))


# Operations


def timeline(
    tx: Tx,
    preset: Preset,
    topic: str,
    *,
    tokens: int = TIMELINE_TOKENS,
    since: str | None = None,
    until: str | None = None,
    meaning: Meaning | None = None,
) -> list[TimelineLine]:
    """The events of a topic, in the order in which they happened."""
    check_query(topic, 1)
    clean_count(tokens, "tokens", MOST_TOKENS)
    zone = zone_name(tx)
    among = None
    if since is not None or until is not None:
        among = turns_within(tx, since, until)
    ranked = rank_turns(tx, topic, meaning=meaning, most=READ, among=among, alike_from=ALIKE_FROM)
    told = list(_told(tx, ranked, zone))
    known = {(line.thread_id, str(line.turn)) for line in told}
    kept = recall(tx, preset, present(tx), topic, limit=MEMORIES, meaning=meaning)
    first = max([*(line.relevance for line in told), *(hit.relevance for hit in kept)], default=0.0)
    lines = [*told, *(_memory_line(hit, zone) for hit in kept if not _is_told(hit, known))]
    lines = [line for line in lines if line.relevance >= FLOOR * first and _is_within(line, since, until)]
    return within_tokens(lines, tokens)


def _told(tx: Tx, ranked: RankedTurns, zone: str) -> Iterator[TimelineLine]:
    """The lines from turns of the person, one for each day that a turn tells of."""
    rows = recalled_rows(tx, leading(ranked.relevance, READ, 0.0))
    for key, row in rows.items():
        if row.role != "user" or (is_acknowledgement(row.text) and not ranked.answers_question(key)):
            continue
        at = parse_stamp(row.at)
        for piece in told_days(row.text, at, zone):
            text = row.text[piece.start : piece.end]
            shown = find_passage(text, EVENT, ranked.asked.wanted)
            if names_topic(tx, text[shown.start : shown.end], len(row.text)):
                continue
            yield TimelineLine(
                day=piece.day, text=text[shown.start : shown.end].strip(), thread_id=row.thread_id, turn=row.turn,
                memory_id=None, said_at=at, relevance=ranked.relevance[key], recorded_by=row.recorded_by,
            )  # fmt: skip


def _memory_line(hit: Hit, zone: str) -> TimelineLine:
    return TimelineLine(
        day=hit.valid_from.astimezone(zone_named(zone)).date(), text=shown_text(hit)[:EVENT], thread_id=None, turn=None,
        memory_id=hit.id, said_at=hit.recorded_at, relevance=hit.relevance,
    )  # fmt: skip


def _is_told(hit: Hit, known: set[tuple[str | None, str]]) -> bool:
    """Whether a memory was made of turns that are among the lines."""
    return any((hit.thread_id, turn) in known for turn in hit.turn_ids)


def _is_within(line: TimelineLine, since: str | None, until: str | None) -> bool:
    if line.memory_id is None:
        return True  # turns were selected by their time already
    day = line.day.isoformat()
    return (since is None or day >= since[:10]) and (until is None or day < until[:10])
