"""Taking a book elsewhere: export as JSON Lines, restore from it, or merge what another program kept.

An export holds every row of the owner, without the owner's name, in one fixed order and spelling. Restoring
replays the ledger through the same guards that every write passes, then exports again and compares: what
comes in is byte for byte what went out, or nothing is kept. Foreign files go through `remember`.
"""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from sqlalchemy import Double, Integer, Table, insert, select, update

from keepbook.book.ledger.ledger import Origin, canonical
from keepbook.book.ledger.verify import LINK_FIELDS, first_break, verify
from keepbook.book.memory.changes import Statement, remember
from keepbook.book.memory.memories import EVERY_SCOPE, IS_ACTIVE, STATE_FIELDS, WHOLE, fits_scope, said_by
from keepbook.book.owners.authority import ALONE, Actor
from keepbook.book.text.turn_index import put_turn
from keepbook.book.text.word_index import put_words
from keepbook.book.text.words import fold
from keepbook.book.upkeep import admission
from keepbook.errors import Conflict, Invalid, KeepbookError
from keepbook.presets import Preset
from keepbook.storage.database import Tx
from keepbook.storage.tables import (
    agents,
    choices,
    decisions,
    deployments,
    due,
    erasures,
    fills,
    injected,
    injections,
    ledger,
    lessons,
    links,
    mappings,
    memories,
    messages,
    meter,
    notes,
    owners,
    positions,
    proposals,
    runs,
    skill_fields,
    skills,
    threads,
    trades,
    transcripts,
    versions,
)

FORMAT = 1
HEADER = {"kind": "keepbook", "format": FORMAT}

KINDS: dict[str, Table] = {
    "owner": owners, "entry": ledger, "memory": memories, "version": versions, "link": links,
    "injection": injections, "injected": injected, "erasure": erasures, "thread": threads, "message": messages,
    "note": notes, "proposal": proposals, "choice": choices, "meter": meter, "due": due, "agent": agents, "run": runs,
    "line": transcripts, "decision": decisions, "skill": skills, "field": skill_fields, "deployment": deployments,
    "position": positions, "trade": trades, "fill": fills, "mapping": mappings, "lesson": lessons,
}  # fmt: skip
"""The lines of an export and the tables they come from, in file order."""

FOREIGN_TEXT = ("content", "memory", "text", "fact", "data")
"""Where other programs keep the sentence itself."""
FOREIGN_LISTS = ("results", "memories", "facts", "items", "data")
"""Where other programs keep their list."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did: memories taken, memories that were there already, and the agents that would run by themselves
    or start a program once the person arms them here. After a dry run nothing of it was kept."""

    memories: int
    unchanged: int = 0
    to_arm: tuple[str, ...] = ()
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    value: Any


# Rules


def read_lines(texts: Sequence[str]) -> Iterator[Line]:
    """Every line as JSON (or the items of one list over many lines), as they are asked for; the first that is not is
    named by its number."""
    first = next((text for text in texts if text.strip()), None)
    if first is None:
        raise Invalid("the file is empty; nothing was imported", field="file")
    if first.lstrip()[0] in "[{" and not _stands_alone(first) and (items := _one_value(texts)) is not None:
        yield from (Line(number, item) for number, item in enumerate(items, 1))
        return
    yield from (Line(number, _parsed(text, number)) for number, text in enumerate(texts, 1) if text.strip())


def _stands_alone(text: str) -> bool:
    """Whether a first line is a record of its own, and not the beginning of a list that goes on below, or all of it."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and not any(isinstance(value.get(name), list) for name in FOREIGN_LISTS)


def _parsed(text: str, number: int) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_no_twins)
    except (ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, ValueError) else "nested too deep"
        raise broken(number, f"is not JSON ({why})") from None


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a field stands twice")
    return found


def _one_value(texts: Sequence[str]) -> list[Any] | None:
    """The items of a file that is one JSON value: a list, or an object that holds one, as other programs write."""
    try:
        whole = json.loads("".join(texts))
    except (ValueError, RecursionError):
        return None
    if isinstance(whole, dict):
        whole = next((whole[name] for name in FOREIGN_LISTS if isinstance(whole.get(name), list)), None)
    return whole if isinstance(whole, list) else None


def broken(number: int, why: str) -> Invalid:
    return Invalid(f"line {number} {why}; nothing was imported", code="broken_line", field="file", line=number)


def altered(why: str) -> Invalid:
    return Invalid(
        f"the file does not fit its own ledger, something in it was altered ({why}); nothing was imported",
        field="file",
        code="altered",
    )


def is_ours(first: Line) -> bool:
    return isinstance(first.value, dict) and first.value.get("kind") == "keepbook"


def _of_ours(first: Line, rest: Iterator[Line]) -> list[Line]:
    """All lines of one of our own files; up to the first that cannot be one, where the rest need not be read."""
    lines = [first]
    for line in rest:
        lines.append(line)
        kind = line.value.get("kind") if isinstance(line.value, dict) else None
        if not isinstance(kind, str) or (kind not in KINDS and kind != "end"):
            return [*lines, Line(line.number + 1, None)]
    return lines


def sorted_by_kind(lines: Sequence[Line]) -> dict[str, list[Any]]:
    """The rows of one of our own files, each checked to have exactly its table's columns."""
    head, *rows, last = lines if len(lines) > 1 else [*lines, Line(lines[0].number, None)]
    if head.value.get("format") != FORMAT:
        raise broken(head.number, f"has format {head.value.get('format')!r}; this program reads format {FORMAT}")
    found: dict[str, list[Any]] = {kind: [] for kind in KINDS}
    columns = {kind: {column.name for column in table.c} - {"owner"} for kind, table in KINDS.items()}
    for line in rows:
        value = line.value
        kind = value.get("kind") if isinstance(value, dict) else None
        if not isinstance(kind, str) or kind not in KINDS:
            raise broken(line.number, f"has no kind that this program knows ({kind!r})")
        if value.keys() - {"kind"} != columns[kind]:
            wrong = sorted((value.keys() - {"kind"}) ^ columns[kind])
            raise broken(line.number, f"lacks or adds fields ({', '.join(wrong[:3])})")
        if wrong := [name for name, item in value.items() if name != "kind" and not _fits(item, KINDS[kind], name)]:
            raise broken(line.number, f"has a value of the wrong kind ({', '.join(wrong[:3])})")
        found[kind].append({name: item for name, item in value.items() if name != "kind"})
    if last.value != {"kind": "end", "lines": len(rows)}:
        raise broken(last.number, "should close the file; it seems to be cut off")
    return found


def _fits(value: Any, table: Table, column: str) -> bool:
    """Whether a value is of the column's type; what else it must be, the guards say."""
    kinds: tuple[type, ...] = (int,) if isinstance(table.c[column].type, Integer) else (str,)
    if isinstance(table.c[column].type, Double):
        kinds = (int, float)
    return value is None or (isinstance(value, kinds) and not isinstance(value, bool))


def foreign_memory(line: Line) -> dict[str, Any]:
    """The arguments of `remember` in another program's record."""
    value = line.value
    if isinstance(value, str):
        return {"content": value}
    if not isinstance(value, dict):
        raise broken(line.number, "is neither a text nor an object with a text")
    name = next((name for name in FOREIGN_TEXT if isinstance(value.get(name), str)), None)
    if name is None:
        raise broken(line.number, f"has none of the fields {', '.join(FOREIGN_TEXT)}")
    kept = ("category", "subject", "summary", "body", "importance", "valid_from", "valid_until", "scope")
    return {"content": value[name]} | {key: value[key] for key in kept if value.get(key) is not None}


# Operations


def export_lines(tx: Tx) -> Iterator[str]:
    """The whole book, line by line, without line ends."""
    count = 0
    yield canonical(HEADER)
    for kind, table in KINDS.items():
        query = select(table).where(table.c.owner == tx.owner).order_by(*table.primary_key.columns)
        for row in tx.conn.execute(query):
            count += 1
            yield canonical({"kind": kind} | {name: value for name, value in row._mapping.items() if name != "owner"})
    yield canonical({"kind": "end", "lines": count})


def import_lines(
    tx: Tx, origin: Origin, preset: Preset, texts: Sequence[str], *, merge: bool, hand: Actor = ALONE["person"]
) -> Imported:
    """Restore one of our files into an empty book, or add its memories (and any foreign file's) to this one. `hand` is
    who brings it in."""
    rest = read_lines(texts)
    first = next(rest)
    if not is_ours(first):
        return _merge(
            tx, origin, preset, ((line.number, foreign_memory(line)) for line in itertools.chain([first], rest))
        )
    ours = _of_ours(first, rest)
    found = sorted_by_kind(ours)
    admission.check(found, hand)
    try:
        _check_chain(found)
        if merge:
            return _merge(tx, origin, preset, _active(found))
        restored = _restore(tx, found, [canonical(line.value) for line in ours])
        return replace(restored, to_arm=admission.settle(tx))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise altered(f"{type(error).__name__}: {error}") from error


def _restore(tx: Tx, found: Mapping[str, list[Any]], lines: Sequence[str]) -> Imported:
    """Into an empty book; the same file again changes nothing."""
    present = list(export_lines(tx))
    if present == lines:
        return Imported(0, len(found["memory"]))
    if any(json.loads(line)["kind"] != "owner" for line in present[1:-1]):
        raise Conflict(
            "this book is not empty; add the file's memories with --merge, or import into another owner",
            code="not_empty",
        )
    _replay(tx, found)
    if list(export_lines(tx)) != lines:
        raise altered("restored, it would read differently")
    return Imported(len(found["memory"]))


def _check_chain(found: Mapping[str, list[Any]]) -> None:
    texts = {row["event"]: SimpleNamespace(**row) for row in found["version"] if row["content"] is not None}
    rows = [SimpleNamespace(**row, _mapping=row) for row in found["entry"]]
    _, where, why = first_break(rows, texts, {row["memory_id"] for row in found["erasure"]})
    if where is not None:
        raise Invalid(
            f"the file's ledger is broken at entry {where}: {why}; nothing was imported",
            field="file",
            code="altered",
        )


def _merge(tx: Tx, origin: Origin, preset: Preset, records: Iterable[tuple[int, dict[str, Any]]]) -> Imported:
    importing = Origin(origin.actor, origin.door, origin.thread_id, source="imported")
    taken = count = 0
    for number, record in records:
        count += 1
        if preset.categories and record.get("category") not in preset.categories:
            record.pop("category", None)
        try:
            written = remember(tx, importing, preset, Statement(**record, force=True))
        except KeepbookError as error:
            raise broken(number, f"cannot be kept: {error.message}") from error
        taken += not written.unchanged
    return Imported(taken, count - taken)


def _active(found: Mapping[str, list[Any]]) -> list[tuple[int, dict[str, Any]]]:
    """The active memories of an export as records for `remember`, oldest first, with the line they stand on."""
    current = {(row["memory_id"], row["version"]): row for row in found["version"]}
    first_line = 2 + len(found["owner"]) + len(found["entry"])
    records = []
    for position, row in enumerate(found["memory"]):
        if row["archived_at"] or row["trashed_at"] or row["purged_at"]:
            continue
        if not fits_scope(row["scope"], EVERY_SCOPE):  # a lesson without its trades would be hearsay
            continue
        version = current[row["id"], row["version"]]
        record = {name: row[name] for name in ("category", "subject", "scope", "importance") if row[name] is not None}
        record |= {
            name: version[name]
            for name in ("content", "summary", "body", "valid_from", "valid_until")
            if version[name] is not None
        }
        records.append((row["created_at"], first_line + position, record))
    return [(number, record) for _, number, record in sorted(records, key=lambda item: item[:2])]


Put = Callable[[Table, Sequence[Mapping[str, Any]]], None]


def _replay(tx: Tx, found: Mapping[str, list[Any]]) -> None:
    """Every write again, in order, through the guards; what was erased comes as the blanks it left."""

    def put(table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        if rows:
            tx.conn.execute(insert(table), [{"owner": tx.owner, **row} for row in rows])

    known = tx.conn.execute(select(owners.c.owner).where(owners.c.owner == tx.owner)).first()
    if known is None:
        put(owners, found["owner"])
    elif found["owner"]:
        tx.conn.execute(update(owners).where(owners.c.owner == tx.owner).values(found["owner"][0]))
    _replay_memories(tx, found, put)
    put(injections, found["injection"])
    put(injected, sorted(found["injected"], key=lambda row: (row["memory_id"], row["nth"])))
    for kind in ("thread", "message", "note", "proposal", "choice", "meter", "due"):
        put(KINDS[kind], found[kind])
    _replay_runs(tx, found, put)
    for kind in ("skill", "field", "deployment", "position", "trade", "fill", "mapping", "lesson"):
        put(KINDS[kind], found[kind])
    _index(tx, found)
    tx.head = None
    result = verify(tx)
    if not result.ok:
        raise altered(f"entry {result.broken}: {result.why}")


def _replay_memories(tx: Tx, found: Mapping[str, list[Any]], put: Put) -> None:
    """The ledger, then what each of its entries did."""
    put(ledger, found["entry"])
    put(erasures, found["erasure"])
    erased = {row["memory_id"] for row in found["erasure"]}
    put(memories, [row for row in found["memory"] if row["id"] in erased])
    put(versions, [row for row in found["version"] if row["memory_id"] in erased])
    made = {row["event"]: row for row in found["version"]}
    for entry in found["entry"]:
        if entry["salt"] is not None and (entry["link_id"] or entry["memory_id"] not in erased):
            _replay_entry(tx, entry, made.get(entry["seq"]))


def _index(tx: Tx, found: Mapping[str, list[Any]]) -> None:
    """The words of what was said and of what is kept: an export carries none."""
    incognito = {row["id"] for row in found["thread"] if row["incognito"]}
    for message in found["message"]:
        if message["role"] in ("user", "assistant"):
            put_turn(tx, message["thread_id"], message["turn"], message["text"], message["thread_id"] in incognito)
    for row in tx.conn.execute(WHOLE.where(IS_ACTIVE), {"owner": tx.owner}).all():
        put_words(tx, row.id, said_by(row, row))


def _replay_runs(tx: Tx, found: Mapping[str, list[Any]], put: Put) -> None:
    """Agents and their runs as they went: begun, spoken in, ended; and decisions opened, then closed."""
    put(agents, found["agent"])
    ended = dict.fromkeys(("card", "error", "session_after", "epoch", "step", "finished_at"))
    spoken: dict[str, list[Any]] = {}
    for line in sorted(found["line"], key=lambda row: row["turn"]):
        spoken.setdefault(line["run_id"], []).append(line)
    for row in sorted(found["run"], key=lambda row: (row["lead_run"] is not None, row["parent_run"] is not None)):
        is_over = row["status"] in ("succeeded", "failed")
        put(runs, [row | ended | {"status": "running"} if is_over else row])
        put(transcripts, spoken.pop(row["id"], []))
        if is_over:
            result = {name: row[name] for name in ("status", *ended)}
            tx.conn.execute(update(runs).where(runs.c.owner == tx.owner, runs.c.id == row["id"]).values(result))
    put(transcripts, [line for lines in spoken.values() for line in lines])  # of no run: the guards refuse them
    closed = dict.fromkeys(("closed_at", "closed_by", "outcome", "exit_price", "result_r", "result_pct", "note"))
    for row in found["decision"]:
        put(decisions, [row | closed | {"state": "open"}])
        if row["state"] != "open":
            mine = (decisions.c.owner == tx.owner, decisions.c.run_id == row["run_id"])
            tx.conn.execute(update(decisions).where(*mine).values({name: row[name] for name in ("state", *closed)}))


def _replay_entry(tx: Tx, entry: Mapping[str, Any], version: Mapping[str, Any] | None) -> None:
    after = json.loads(entry["after"])
    table, known = (links, LINK_FIELDS) if entry["link_id"] else (memories, STATE_FIELDS)
    if after.keys() != set(known):  # what else stands there would be written as it says: an owner, for one
        raise ValueError(f"entry {entry['seq']} records other fields than it may")
    columns = after | {"event": entry["seq"]}
    if table is memories:
        columns |= {
            "id": entry["memory_id"],
            "updated_at": entry["at"],
            "subject_key": after["subject"] and fold(after["subject"]),
        }
    if entry["before"] is None:
        tx.conn.execute(insert(table), {"owner": tx.owner, **columns})
    if version is not None:
        tx.conn.execute(insert(versions), {"owner": tx.owner, **version, "retired_at": None})
    if entry["before"] is not None:
        tx.conn.execute(update(table).where(table.c.owner == tx.owner, table.c.id == columns["id"]).values(columns))
