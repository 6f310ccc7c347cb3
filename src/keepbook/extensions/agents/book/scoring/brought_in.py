"""Forecasts that were made elsewhere: brought in as JSON lines with their own dates.

The book has not seen these forecasts before their end, so they count only in a score of their own. A line is a card
with `made_at`; `outcome` and `resolved_at` may come with it or in a later file. A line is identified by its `key`, else
by everything in it but its outcome, so the same file again changes nothing. A wrong line is reported, and the others
are taken. A load is taken back as a whole.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any

from sqlalchemy import delete, insert, select, update

from keepbook.book.ground import stored_json
from keepbook.book.ground.limits import clean_count, clean_line, clean_whole
from keepbook.book.ground.when import instant, parse_stamp, stamp
from keepbook.book.ledger import loads
from keepbook.book.ledger.ledger import Origin
from keepbook.book.owners import owners
from keepbook.errors import Invalid
from keepbook.extensions.agents.book import agents, forecasts, recording
from keepbook.extensions.agents.book.agents import Agent
from keepbook.extensions.agents.book.cards import CardType, CardTypes, validate
from keepbook.extensions.agents.book.cards.types import Forecast
from keepbook.extensions.agents.book.scoring.forms import stated_forecast
from keepbook.extensions.agents.tables import brought_forecasts as rows
from keepbook.storage.database import Tx

FORECASTS = "forecasts"
"""The kind of such a load in the list of loads."""
OWN_FIELDS = ("made_at", "outcome", "resolved_at", "key", "model", "prompt_version", "link")
"""The fields of a line beside the slots of the card."""
ANSWER_FIELDS = ("outcome", "came_to", "closed_at")
"""The columns that say how a forecast came out."""
MOST_LINES = 100_000
MOST_REFUSED = 1000  # wrong lines that are reported; the others are only counted
AT_ONCE = 500  # rows in one statement
PLAIN_ANSWERS = {"yes": True, "true": True, "no": False, "false": False}

ForecastSource = str | PathLike[str] | Iterable[str] | Iterable[Mapping[str, Any]]
"""The path of a file, its lines, or the forecasts themselves."""


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """A line that was not taken: which, counted from 1, and why."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BroughtIn:
    """What came in, or would. `answered` were there and have their outcome now, `unchanged` were there. `refused` tells
    the first thousand wrong lines, `wrong` counts them all. `load` is the number by which it is taken back."""

    added: int
    answered: int
    unchanged: int
    wrong: int
    refused: tuple[RefusedLine, ...]
    dry_run: bool
    load: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BroughtForecast:
    """A forecast that was brought in, with its own dates; `recorded_at` is when it came, with which `load`."""

    agent_id: str
    key: str
    load: int
    recorded_at: datetime
    card_type: str
    card: dict[str, Any]
    probability: float
    claim: str | None
    made_at: datetime
    expires: datetime
    model: str | None
    prompt_version: str | None
    link: str | None
    outcome: str | None
    came_to: str | None
    closed_at: datetime | None


# Operations


def bring_in_forecasts(
    tx: Tx, origin: Origin, cards: CardTypes, agent_id: str, source: ForecastSource, *, dry_run: bool = False,
    title: str = FORECASTS,
) -> BroughtIn:  # fmt: skip
    """Bring in the forecasts of an agent, or tell what would come of it."""
    agent = agents.get_agent(tx, agent_id)
    form = cards.get(agent.card_type)
    if form.forecast is None:
        raise Invalid(f"{agent.name} makes no forecasts: its card is {agent.card_type}", field="agent")
    reader = _LineReader(form, form.forecast, stamp(tx.clock()), owners.zone_name(tx))
    read: dict[str, dict[str, Any]] = {}
    refused: list[RefusedLine] = []
    unchanged = 0
    for number, line in enumerate(_lines(source), 1):
        if number > MOST_LINES:
            raise Invalid(f"at most {MOST_LINES:,} forecasts come in at once; split the file", field="file")
        try:
            row = reader.read(line)
            same = read.get(row["key"])
            if same is not None:
                _refuse_other(same, row)
                unchanged += 1
            else:
                read[row["key"]] = row | {"line": number}
        except Invalid as error:
            refused.append(RefusedLine(number, error.message))
    added, answered, known = _sort(tx, agent.id, read, refused)
    unchanged += known
    load = None
    if not dry_run and (added or answered):
        load = _keep(tx, origin, agent, added, answered, title)
    told = sorted(refused, key=lambda one: one.line)
    return BroughtIn(
        added=len(added), answered=len(answered), unchanged=unchanged, wrong=len(told),
        refused=tuple(told[:MOST_REFUSED]), dry_run=dry_run, load=load,
    )  # fmt: skip


def take_back_forecasts(tx: Tx, origin: Origin, nth: int) -> None:
    """Take a load out again: its forecasts, and the answers it brought to earlier ones."""
    load = loads.load_to_take_back(tx, origin, nth)
    mine = (rows.c.owner == tx.owner, rows.c.load == nth)
    went = [dict(one._mapping) for one in tx.conn.execute(select(rows).where(*mine).order_by(rows.c.key))]
    loads.mark_taken_back(tx, load.nth, [{name: one[name] for name in one if name != "owner"} for one in went])
    tx.conn.execute(delete(rows).where(*mine))
    open_again = dict.fromkeys((*ANSWER_FIELDS, "answered_at", "answer_load"))
    tx.conn.execute(update(rows).where(rows.c.owner == tx.owner, rows.c.answer_load == nth).values(open_again))


def _sort(
    tx: Tx, agent_id: str, read: Mapping[str, dict[str, Any]], refused: list[RefusedLine]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int]:
    """The forecasts that are new, those that have their answer now, and how many are stored as they are. Adds those
    that contradict a stored one to `refused`."""
    stored = _known_rows(tx, agent_id, list(read))
    added, answered, unchanged = [], [], 0
    for key, row in read.items():
        before = stored.get(key)
        if before is None:
            added.append(row)
            continue
        try:
            _refuse_other(before, row)
        except Invalid as error:
            refused.append(RefusedLine(row["line"], error.message))
            continue
        if before["outcome"] is None and row["outcome"] is not None:
            answered.append(row)
        else:
            unchanged += 1
    return added, answered, unchanged


def _refuse_other(before: Mapping[str, Any], row: Mapping[str, Any]) -> None:
    """Raise if two rows with the same key are different forecasts, or have different answers."""
    if any(before[name] != row[name] for name in ("card", "made_at", "model", "prompt_version")):
        raise Invalid(f"the key {row['key']!r} stands for another forecast; take a new key", field="key")
    both = before["outcome"] is not None and row["outcome"] is not None
    if both and any(before[name] != row[name] for name in ANSWER_FIELDS):
        raise Invalid("it was brought in with another outcome; take that load back first", field="outcome")


def _keep(
    tx: Tx, origin: Origin, agent: Agent, added: Sequence[dict[str, Any]], answered: Sequence[dict[str, Any]],
    title: str,
) -> int:  # fmt: skip
    """Store new forecasts and new answers as one load; returns its number."""
    now = stamp(tx.clock())
    nth = loads.record_load(
        tx, origin, FORECASTS, title, brought={"agent": agent.id},
        told={"count": len(added), "answered": len(answered), "agent": agent.name, "file": "file"},
    )  # fmt: skip
    of_load = {"owner": tx.owner, "agent_id": agent.id, "load": nth, "recorded_at": now}
    new = [row | of_load | _answer_of(row, nth, now) for row in added]
    for row in new:
        del row["line"]  # only for messages
    for start in range(0, len(new), AT_ONCE):
        tx.conn.execute(insert(rows), new[start : start + AT_ONCE])
    for row in answered:
        this = (rows.c.owner == tx.owner, rows.c.agent_id == agent.id, rows.c.key == row["key"])
        tx.conn.execute(update(rows).where(*this).values(_answer_of(row, nth, now)))
    return nth


def _answer_of(row: Mapping[str, Any], load: int, now: str) -> dict[str, Any]:
    """The columns of a row that say how its forecast came out, and with which load that came."""
    answer = {name: row[name] for name in ANSWER_FIELDS}
    if row["outcome"] is None:
        return answer | {"answered_at": None, "answer_load": None}
    return answer | {"answered_at": now, "answer_load": load}


# Rules


def _lines(source: ForecastSource) -> Iterator[Any]:
    """The forecasts of a source, as texts or objects. A file has one on each line, or all in one JSON list."""
    if isinstance(source, str | PathLike):
        yield from _lines(_text_of(Path(source)).splitlines())
        return
    lines = iter(source)
    for line in lines:
        if isinstance(line, str) and line.lstrip().startswith("["):  # the list goes on to the end
            yield from _whole_list("\n".join([line, *map(str, lines)]))
        elif not isinstance(line, str) or line.strip():
            yield line


def _text_of(path: Path) -> str:
    try:
        return path.expanduser().read_text(encoding="utf-8-sig")
    except OSError as error:
        raise Invalid(f"cannot read {path}: {error.strerror}", field="file") from None
    except UnicodeDecodeError:
        raise Invalid(f"{path} is not text in UTF-8", field="file") from None


def _whole_list(text: str) -> list[Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise Invalid("the file is neither JSON lines nor one JSON list", field="file")
    return found


class _LineReader:
    """Reads lines into rows of the table."""

    def __init__(self, form: CardType, told: Forecast, now: str, zone: str) -> None:
        self._form, self._told, self._now, self._zone = form, told, now, zone

    def read(self, line: Any) -> dict[str, Any]:
        given = _object_of(line)
        own = {name: given.pop(name, None) for name in OWN_FIELDS}
        if own["made_at"] is None:
            raise Invalid("made_at is missing: say when it was forecast", field="made_at")
        made_at = recording.clean_made_at(own["made_at"], self._now, self._zone)
        slots = given.pop("card", None) or {}
        if not isinstance(slots, Mapping):
            raise Invalid("a card is an object with its slots", field="card")
        slots = {**slots, **given}
        resolved_at = instant(own["resolved_at"], field="resolved_at", zone=self._zone)
        if slots.get(self._told.due) is None:
            slots[self._told.due] = resolved_at
        kept = validate(self._form, slots, made_at)
        stated = stated_forecast(self._told, kept)
        row = {
            "card_type": self._form.name, "card": json.dumps(kept, ensure_ascii=False), "made_at": made_at,
            "probability": stated.probability, "claim": stated.claim, "expires": kept[self._told.due],
            "link": recording.clean_link(own["link"]), **recording.clean_source(own["model"], own["prompt_version"]),
        }  # fmt: skip
        row |= self._answer(kept, stated.claim, made_at, resolved_at, own["outcome"])
        return row | {"key": _key(own["key"], row)}

    def _answer(
        self, slots: Mapping[str, Any], claim: str | None, made_at: str, resolved_at: str | None, came: Any
    ) -> dict[str, Any]:
        if came is None:
            return dict.fromkeys(ANSWER_FIELDS)
        outcome, came_to = forecasts.parse_outcome(self._form, slots, claim, _plain_outcome(self._told, came))
        closed_at = resolved_at or str(slots[self._told.due])
        if resolved_at is None and closed_at > self._now:
            raise Invalid("resolved_at is missing: its date lies ahead", field="resolved_at")
        if not made_at < closed_at <= self._now:
            raise Invalid("resolved_at lies after made_at and not in the future", field="resolved_at")
        return {"outcome": outcome, "came_to": came_to, "closed_at": closed_at}


def _object_of(line: Any) -> dict[str, Any]:
    if isinstance(line, str):
        try:
            line = json.loads(line)
        except (ValueError, RecursionError):
            raise Invalid("is no JSON object", field="file") from None
    if not isinstance(line, Mapping):
        raise Invalid("is no JSON object", field="file")
    return {str(name): value for name, value in line.items()}


def _plain_outcome(told: Forecast, outcome: Any) -> Any:
    """The outcome of a yes/no forecast as a boolean, if it is one of the words or numbers for that."""
    if told.probability is None or told.claim is not None:
        return outcome
    if isinstance(outcome, str):
        return PLAIN_ANSWERS.get(outcome.strip().lower(), outcome)
    if outcome in (0, 1):
        return bool(outcome)
    return outcome


def _key(given: Any, row: Mapping[str, Any]) -> str:
    """The key of a line, or a digest of the forecast."""
    if given is not None:
        return clean_line(str(given), "key", 1, 200)
    said = json.dumps([row[name] for name in ("card", "made_at", "model", "prompt_version")], ensure_ascii=False)
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:32]


# Queries


def _known_rows(tx: Tx, agent_id: str, keys: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}
    for start in range(0, len(keys), AT_ONCE):
        has_key = rows.c.key.in_(keys[start : start + AT_ONCE])
        query = select(rows).where(rows.c.owner == tx.owner, rows.c.agent_id == agent_id, has_key)
        found |= {row.key: dict(row._mapping) for row in tx.conn.execute(query)}
    return found


def list_brought_forecasts(
    tx: Tx, *, agent_id: str | None = None, limit: int = 100, offset: int = 0
) -> list[BroughtForecast]:
    """Those that were brought in, the newest made first."""
    query = select(rows).where(rows.c.owner == tx.owner)
    if agent_id is not None:
        query = query.where(rows.c.agent_id == agent_id)
    query = query.order_by(rows.c.made_at.desc(), rows.c.agent_id, rows.c.key)
    query = query.limit(clean_count(limit, "limit", 10_000)).offset(clean_whole(offset, "offset", 0))
    return [_to_brought(row) for row in tx.conn.execute(query)]


def _to_brought(row: Any) -> BroughtForecast:
    known = {name: getattr(row, name) for name in BroughtForecast.__dataclass_fields__}
    known["card"] = stored_json.load_json(row.card)
    for name in ("recorded_at", "made_at", "expires", "closed_at"):
        if known[name] is not None:
            known[name] = parse_stamp(known[name])
    return BroughtForecast(**known)
