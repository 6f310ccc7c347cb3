"""The guards, attacked with raw SQL: what Python never does, the database must refuse by itself.

One book with every kind of memory in it is made once for each engine. An attack is a name and its steps: raw
statements and, where one is needed, a proper ledger entry written by hand. All steps but the last must be
accepted, the last must be refused, and for the reason given; then everything is rolled back. Lawful writes
made of the same steps must be accepted, or an attack could fail for the wrong reason. PostgreSQL is attacked
as its administrator and as the application's role. SQLite is opened as any program would open it.
"""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from sqlalchemy import Integer, LargeBinary, Text
from tests import databases
from tests.contracts.contract_folders import all_extensions, every_extension, every_table, with_their_tables
from tests.extensions.agents.deciding import busy_desk
from tests.extensions.trading.floor import busy_floor
from tests.furnished import NEVER_FURNISHED

from keepbook import Keepbook, NotAllowed
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes, quotes
from keepbook.book.memory.memories import STATE_FIELDS
from keepbook.book.text.quotation import Span
from keepbook.extensions.agents.tables import RESULT
from keepbook.presets import load_preset
from keepbook.settings import Settings

SQLITE = "sqlite"
ADMIN = "postgresql-as-admin"
APP = "postgresql-as-the-application"
TABLES = every_table()
BY_NAME = {table.name: table for table in TABLES.declared}


# --- the raw way in --------------------------------------------------------------------------------------


class Refused(Exception):
    """The database itself said no."""


class Raw:
    """A connection that knows nothing of Keepbook; one transaction, always rolled back."""

    def __init__(self, address: str, way: str) -> None:
        self.way = way
        self._connection = _connected(address, way)
        if way == SQLITE:
            self._connection.execute("BEGIN IMMEDIATE")
        elif way == APP:
            self._connection.execute("SELECT keepbook_serve('alice')")

    def run(self, statement: str, values: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
        if self.way != SQLITE:
            statement = re.sub(r"(?<![:\w]):([a-z_]+)", r"%(\1)s", statement)
        try:
            cursor = self._connection.execute(statement, values or {})
            return list(cursor.fetchall()) if cursor.description else []
        except (sqlite3.IntegrityError, psycopg.errors.IntegrityError) as error:
            raise Refused(str(error)) from error
        except psycopg.errors.InsufficientPrivilege as error:
            if self.way != APP:
                raise
            raise Refused(f"no right: {error}") from error
        except psycopg.errors.FeatureNotSupported as error:  # a cluster's: no row goes to another owner
            if "modifying the partition value" not in str(error):
                raise
            raise Refused(f"no right: {error}") from error

    def one(self, table: str, where: str, values: dict[str, Any]) -> dict[str, Any]:
        names = [column.name for column in BY_NAME[table].c]
        found = self.run(f"SELECT {', '.join(names)} FROM {table} WHERE {where}", values)
        assert len(found) == 1
        return dict(zip(names, found[0], strict=True))

    def close(self) -> None:
        """The connection is for the next attack: it knows the tables and guards once they were used."""
        self._connection.rollback()


_OPEN: dict[tuple[str, str], Any] = {}


def _connected(address: str, way: str) -> Any:
    if (address, way) not in _OPEN:
        _OPEN[address, way] = _connect(address, way)
    return _OPEN[address, way]


def _connect(address: str, way: str) -> Any:
    if way == SQLITE:
        return sqlite3.connect(address, isolation_level=None)
    return psycopg.connect(address, options="-c role=keepbook_app" if way == APP else "")


@pytest.fixture(scope="module")
def _closed() -> Iterator[None]:
    yield
    while _OPEN:
        _OPEN.popitem()[1].close()


# --- the book under attack -------------------------------------------------------------------------------


class Tick:
    """Each look at the clock is a second later."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def _read_by_software(kb: Keepbook, content: str) -> str:
    automatic = kb.book("alice").acting(actor="extractor", door="close", source="extracted")
    with kb._database.write("alice") as tx:
        said = changes.Statement(content, score=0.8, made_by="rules", thread_id="t1")
        written = changes.remember(tx, automatic.origin, load_preset("general"), said)
    return written.id


def _quoted(kb: Keepbook) -> str:
    """What a reader quoted, and a person then worded anew."""
    chat = kb.book("alice").threads.start()
    chat.add("user", "I sail on Sundays, mostly")
    origin = Origin("extractor", "close", source="extracted")
    said, spans = changes.Statement("", score=0.8, made_by="rules"), [Span(1, 0, 17, "said")]
    with kb._database.write("alice") as tx:
        made = quotes.quote(tx, origin, load_preset("general"), said, chat.id, spans, said_on="2026-03-01")
    kb.book("alice").update(made.id, "Sails on Sundays")
    return made.id


def make_book(address: str) -> dict[str, str]:
    """A book with a memory of each kind and the tables of every extension; answers ids by name."""
    settings = Settings(allow_bypass_login=True).but(extensions=all_extensions())
    with (
        every_extension(),
        Keepbook(with_their_tables(address), clock=Tick(), settings=settings, embedder="none") as kb,
    ):
        alice, bob = kb.book("alice"), kb.book("bob")
        ids = {
            "asserted": alice.remember("Takes no leverage above five", subject="Leverage").id,
            "history": alice.remember("Lives in Oslo", summary="Oslo", body="Moved there in spring").id,
            "weak": alice.remember("May look at bonds some day", confidence="inferred").id,
            "reading": _read_by_software(kb, "Seems to like jazz"),
            "confirmed": _read_by_software(kb, "Plays the cello on Sundays"),
            "promoted": _read_by_software(kb, "Works for a shipping company"),
            "adopted": _read_by_software(kb, "Has two daughters"),
            "guess": kb.book("alice", by="agent").remember("Prefers short answers", confidence="inferred").id,
            "quoted": _quoted(kb),
            "archived": alice.remember("Owns a boat named Vinden").id,
            "trashed": alice.remember("Hates coriander in soup").id,
            "erased": alice.remember("The secret is under the old oak").id,
            "bobs": bob.remember("Bob keeps bees in the garden").id,
        }
        ids["other"] = bob.remember("Bob has a sister in Bergen").id
        alice.update(ids["history"], "Lives in Bergen")
        alice.confirm(ids["confirmed"])
        alice.promote(ids["promoted"])
        alice.update(ids["adopted"], "Has three daughters")
        alice.forget(ids["archived"])
        alice.delete(ids["trashed"])
        ids["link"] = alice.link(ids["asserted"], ids["history"], "because_of").id
        ids["removed"] = alice.link(ids["weak"], ids["history"], "relates_to").id
        alice.unlink(ids["removed"])
        ids["twin"] = alice.link(ids["weak"], ids["history"], "relates_to").id
        ids["bobs_link"] = bob.link(ids["bobs"], ids["other"], "relates_to").id
        alice.inject("first")
        alice.link(ids["erased"], ids["history"], "relates_to")
        alice.delete(ids["erased"], forever=True)
        alice.inject("first")  # its block was blanked: rendered anew, without the secret
        alice.inject("second")
        busy_desk(bob)
        ids |= _runs_of(alice, busy_desk(alice))
        busy_floor(bob)
        ids |= busy_floor(alice)
        assert alice.verify().ok
    return ids


def _runs_of(book: Any, desk: Any) -> dict[str, str]:
    """A run of each end by name: closed, waiting (its decision open), looked (a re-examination), failed, queued."""
    runs = book.runs.list(desk.id)
    by_status = {run.status: run.id for run in runs if run.status != "succeeded"}
    looked = next(run for run in runs if run.kind == "re-examination")
    waiting = next(run for run in runs if run.card and run.card.slots.get("action") == "WAIT")
    return {"desk": desk.id, "closed": looked.parent_run, "looked": looked.id, "waiting": waiting.id} | by_status


@pytest.fixture(scope="module")
def sqlite_book(_closed: None, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, str]]:
    address = str(tmp_path_factory.mktemp("attacked") / "book.db")
    return address, make_book(address)


@pytest.fixture(scope="module")
def postgresql_book(
    _closed: None, postgres_admin_url: str, postgres_template: str
) -> Iterator[tuple[str, dict[str, str]]]:
    with databases.database(postgres_admin_url, postgres_template) as address:
        yield address, make_book(address)


@dataclass
class Attacked:
    """The raw connection and what a step may name: ids, and the number, instant and versions of an entry."""

    raw: Raw
    values: dict[str, Any]

    def take(self, step: "Step") -> None:
        if isinstance(step, str):
            self.raw.run(step, self.values)
        else:
            self._append(step)

    def _append(self, entry: "Entry") -> None:
        (last,) = self.raw.run("SELECT seq, at FROM ledger WHERE owner = 'alice' ORDER BY seq DESC LIMIT 1")
        ((link, previous),) = self.raw.run(f"SELECT link, hash FROM ({CHAIN}) AS links ORDER BY link DESC LIMIT 1")
        seq, at = last[0] + 1, _after(last[1])
        memory = self.values[entry.memory]
        before = self.raw.one("memories", "owner = 'alice' AND id = :id", {"id": memory})
        self.values |= {
            "now": at, "event": seq, "current": before["version"], "next": before["version"] + 1,
        }  # fmt: skip
        state = {name: before[name] for name in STATE_FIELDS}
        state |= {name: self.values[value[1:]] if _named(value) else value for name, value in entry.after.items()}
        row = {
            "owner": "alice", "seq": seq, "link": link + 1, "at": at, "actor": entry.actor, "door": "raw",
            "action": entry.action, "memory_id": memory, "other_id": entry.other and self.values[entry.other],
            "link_id": entry.link and self.values[entry.link], "before": None, "after": json.dumps(state),
            "salt": "salt", "digest": "digest", "previous": previous, "hash": f"hash {seq}",
        } | dict(entry.wrong)  # fmt: skip
        if entry.action == "purge":
            row |= {"before": None, "after": None, "salt": None}
        names = ", ".join(f'"{name}"' for name in row)
        self.raw.run(f"INSERT INTO ledger ({names}) VALUES ({', '.join(f':{name}' for name in row)})", row)


CHAIN = (
    "SELECT link, hash FROM ledger WHERE owner = 'alice' UNION ALL SELECT link, hash FROM covers WHERE owner = 'alice'"
)
"""The whole chain, of both kinds."""


def _after(at: str) -> str:
    later = datetime.fromisoformat(at) + timedelta(seconds=1)
    return later.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _named(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(":")


@pytest.fixture(params=[ADMIN, APP] if databases.CLUSTER else [SQLITE, ADMIN, APP])
def book(request: pytest.FixtureRequest) -> Iterator[Attacked]:
    made = "sqlite_book" if request.param == SQLITE else "postgresql_book"
    address, ids = request.getfixturevalue(made)
    with closing(Raw(address, request.param)) as raw:
        yield Attacked(raw, dict(ids))


# --- what attacks and lawful writes are made of ----------------------------------------------------------


@dataclass(frozen=True)
class Entry:
    """A ledger entry about a memory, as it should be but for what is `wrong`."""

    actor: str
    action: str
    memory: str
    after: dict[str, Any] = field(default_factory=dict)
    other: str | None = None
    link: str | None = None
    wrong: tuple[tuple[str, Any], ...] = ()


Step = str | Entry
Steps = tuple[Step, ...]


def literal(value: Any) -> str:
    if value is None:
        return "NULL"
    return value if _named(value) or not isinstance(value, str) else f"'{value}'"


def changes_state(memory: str, actor: str, action: str, **columns: Any) -> Steps:
    """An entry, and the memory's state as the entry says."""
    assigned = ", ".join(f"{name} = {literal(value)}" for name, value in columns.items())
    update = f"UPDATE memories SET {assigned}, event = :event WHERE owner = 'alice' AND id = :{memory}"
    return (Entry(actor, action, memory, columns), update)


def closes(memory: str, at: str = ":now") -> str:
    return (
        f"UPDATE versions SET retired_at = {at} WHERE owner = 'alice' AND memory_id = :{memory} AND version = :current"
    )


def begins(memory: str, **columns: Any) -> str:
    row = {
        "owner": "alice", "memory_id": f":{memory}", "version": ":next", "content": "Something else altogether",
        "source": "profile", "valid_from": ":now", "recorded_at": ":now", "event": ":event",
    } | columns  # fmt: skip
    return f"INSERT INTO versions ({', '.join(row)}) VALUES ({', '.join(str(literal(v)) for v in row.values())})"


def points(memory: str, **columns: Any) -> str:
    """The last step of a supersession: the memory's state names its new version."""
    assigned = "".join(f", {name} = {literal(value)}" for name, value in columns.items())
    return f"UPDATE memories SET version = :next, event = :event{assigned} WHERE owner = 'alice' AND id = :{memory}"


def supersedes(memory: str, actor: str, **columns: Any) -> Steps:
    return (Entry(actor, "update", memory, {"version": ":next"}), begins(memory, **columns))


COPIED = (
    "content, summary, body, source, score, made_by, thread_id, turn_ids, valid_from, valid_until, "
    "quoted, spans, said_on, written_by"
)


def copies(memory: str, version: int, **altered: Any) -> str:
    """A version that says it restores an earlier one, with some of its columns altered."""
    said = ", ".join(str(literal(altered[name])) if name in altered else name for name in COPIED.split(", "))
    return (
        f"INSERT INTO versions (owner, memory_id, version, {COPIED}, recorded_at, restored_from, event) "
        f"SELECT owner, memory_id, :next, {said}, :now, {version}, :event FROM versions "
        f"WHERE owner = 'alice' AND memory_id = :{memory} AND version = {version}"
    )


def restores(memory: str, actor: str, version: int, **altered: Any) -> Steps:
    undo = Entry(actor, "undo", memory, {"version": ":next"})
    return (undo, copies(memory, version, **altered))


def new_memory(actor: str, **columns: Any) -> Steps:
    """A memory that was not there before, still without a version."""
    row = {
        "owner": "alice", "id": "GHOST001", "confidence": "inferred", "importance": 0.5, "version": 1,
        "created_at": ":now", "edited_at": ":now", "updated_at": ":now", "event": ":event",
    } | columns  # fmt: skip
    values = ", ".join(str(literal(value)) for value in row.values())
    begun = Entry(actor, "remember", "asserted", {"version": 1}, wrong=(("memory_id", "GHOST001"),))
    return (begun, f"INSERT INTO memories ({', '.join(row)}) VALUES ({values})")


EXTRACTED: dict[str, Any] = {"source": "extracted", "score": 0.9}
INFERRED: dict[str, Any] = {"source": "inferred"}
ARCHIVED: dict[str, Any] = {"archived_at": ":now", "archived_reason": "agent_forget"}
TRASHED: dict[str, Any] = {"trashed_at": ":now"}
PROTECTED = ("asserted", "weak", "confirmed", "promoted", "adopted")

COLUMNS = {name: [column.name for column in table.c] for name, table in BY_NAME.items()}


def puts_again(table: str, where: str, **columns: str) -> str:
    """A row of alice's once more, with some columns altered."""
    names = ", ".join(f'"{name}"' for name in COLUMNS[table])
    said = ", ".join(columns.get(name, f'"{name}"') for name in COLUMNS[table])
    return f"INSERT INTO {table} ({names}) SELECT {said} FROM {table} WHERE owner = 'alice' AND {where}"


JOINS = "INSERT INTO links (owner, id, from_id, to_id, relation, created_at, event) VALUES ({}, :now, :event)"
ERASES = "INSERT INTO erasures (owner, memory_id, at, event) VALUES ('alice', {}, :now, :event)"


def links(actor: str, from_id: str, to_id: str, relation: str = "'because_of'", link: str = "new_link") -> Steps:
    ends = f"'alice', :{link}, {from_id}, {to_id}, {relation}"
    return (Entry(actor, "link", "asserted", other="history", link=link), JOINS.format(ends))


def purges(memory: str, actor: str) -> Steps:
    return (Entry(actor, "purge", memory), ERASES.format(f":{memory}"))


def _attacks_on_trust() -> dict[str, Steps]:
    found: dict[str, Steps] = {}
    for memory in PROTECTED:
        for actor in ("person", "agent", "extractor", "job"):
            found[f"{actor} writes an extracted version over {memory}"] = supersedes(memory, actor, **EXTRACTED)
            found[f"{actor} writes an inferred version over {memory}"] = supersedes(memory, actor, **INFERRED)
        for actor in ("extractor", "job"):
            found[f"{actor} calls its version over {memory} a person's"] = supersedes(memory, actor)
            found[f"{actor} archives {memory}"] = changes_state(memory, actor, "forget", **ARCHIVED)
            found[f"{actor} trashes {memory}"] = changes_state(memory, actor, "delete", **TRASHED)
    for actor in ("extractor", "job"):
        for memory in ("asserted", "promoted", "adopted"):
            found[f"{actor} demotes {memory}"] = changes_state(memory, actor, "demote", confidence="inferred")
        found[f"{actor} promotes its own reading"] = changes_state("reading", actor, "promote", confidence="asserted")
        found[f"{actor} confirms its own reading"] = changes_state(
            "reading", actor, "confirm", last_confirmed_at=":now"
        )
        found[f"{actor} takes a person's confirmation back"] = changes_state(
            "confirmed", actor, "confirm", last_confirmed_at=None
        )
        found[f"{actor} trashes what the person archived"] = changes_state("archived", actor, "delete", **TRASHED)
        found[f"{actor} restores an automatic version over the person's"] = restores("adopted", actor, 1)
    first: dict[str, Any] = {"memory_id": "GHOST001", "version": 1}
    for kind, read in (("extracted", EXTRACTED), ("inferred", INFERRED)):
        begun = new_memory("extractor", confidence="asserted")
        found[f"an {kind} memory is born asserted"] = (*begun, begins("asserted", **first, **read))
    found["an agent restores an automatic version over the person's"] = restores("adopted", "agent", 1)
    forged = {
        "content": "Has four daughters", "summary": "Daughters", "body": "All of them tall", "source": "inferred",
        "score": 0.99, "made_by": "another rule", "thread_id": "t2", "turn_ids": '["9"]',
        "valid_from": "2020-01-01T00:00:00.000000Z", "valid_until": "2030-01-01T00:00:00.000000Z",
    }  # fmt: skip
    for column, value in forged.items():
        altered = {column: value} | ({"score": None} if column == "source" else {})
        found[f"an undo whose copy has another {column}"] = restores("adopted", "person", 1, **altered)
    found["an undo that restores a version that never was"] = (
        Entry("person", "undo", "adopted", {"version": ":next"}),
        begins("adopted", restored_from=7, **EXTRACTED),
    )
    found["an undo that names the version it overrules"] = (
        Entry("person", "undo", "adopted", {"version": ":next"}),
        begins("adopted", restored_from=2, **EXTRACTED),
    )
    return found


TRUST = _attacks_on_trust() | {
    "an undo that brings back a quotation as a note": restores(
        "quoted", "person", 1, quoted=0, spans=None, said_on=None
    ),
    "an undo that brings back a quotation of other words": restores("quoted", "person", 1, spans="[]"),
    "an undo that brings back a quotation of another day": restores("quoted", "person", 1, said_on="2026-03-02"),
}

UPDATES = Entry("person", "update", "asserted", {"version": ":next"})

ONE_CURRENT: dict[str, Steps] = {
    "a version number is skipped": (UPDATES, begins("asserted", version=7)),
    "a version number is used twice": (UPDATES, begins("asserted", version=":current")),
    "a version zero": (UPDATES, begins("asserted", version=0)),
    "a version that begins before its predecessor": (
        "INSERT INTO versions (owner, memory_id, version, content, source, valid_from, recorded_at, event) "
        "SELECT owner, memory_id, 3, 'Lives in Tromso', 'profile', at, at, seq FROM ledger "
        "WHERE owner = 'alice' AND memory_id = :history AND action = 'remember'",
    ),
    "a version that begins with its predecessor": (
        "INSERT INTO versions (owner, memory_id, version, content, source, valid_from, recorded_at, event) "
        "SELECT owner, memory_id, 3, 'Lives in Tromso', 'profile', at, at, seq FROM ledger "
        "WHERE owner = 'alice' AND memory_id = :history AND action = 'update'",
    ),
    "a version at another time than its entry": (
        UPDATES, begins("asserted", recorded_at="2027-01-01T00:00:00.000000Z"),
    ),
    "a version without a ledger entry": (UPDATES, begins("asserted", event=9999)),
    "a version that leans on the entry of another memory": (
        Entry("person", "update", "weak"), begins("asserted", version=2),
    ),
    "a version that leans on an entry about a link": (
        Entry("person", "link", "asserted", other="history", link="link"), begins("asserted"),
    ),
    "a version that was never current": (UPDATES, begins("asserted", retired_at=":now")),
    "a version without content": (UPDATES, begins("asserted", content=None)),
    "a version of a memory that is not there": (
        Entry("person", "remember", "asserted", wrong=(("memory_id", "GHOST001"),)),
        begins("asserted", memory_id="GHOST001", version=1),
    ),
    "a quotation that names no words": (UPDATES, begins("asserted", quoted=1)),
    "a note that names words": (UPDATES, begins("asserted", spans="[]")),
    "a note of a day": (UPDATES, begins("asserted", said_on="2026-03-01")),
    "a quotation of half a day": (UPDATES, begins("asserted", quoted=1, spans="[]", said_on="2026-03")),
    "a version that is quoted twice": (UPDATES, begins("asserted", quoted=2, spans="[]")),
    "a quotation becomes a note": (
        "UPDATE versions SET quoted = 0, spans = NULL WHERE owner = 'alice' AND memory_id = :quoted AND version = 1",
    ),
    "the words of a quotation are blanked without a purge": (
        "UPDATE versions SET content = NULL, spans = NULL "
        "WHERE owner = 'alice' AND memory_id = :quoted AND version = 1",
    ),
    "the current version ends and nothing follows": (
        Entry("person", "confirm", "asserted", {"last_confirmed_at": ":now"}), closes("asserted"),
    ),
    "the current version ends without a ledger entry": (
        "UPDATE versions SET retired_at = '2026-09-09T00:00:00.000000Z' "
        "WHERE owner = 'alice' AND memory_id = :asserted",
    ),
    "the current version ends at another time than the entry says": (
        UPDATES, closes("asserted", "'2026-09-09T00:00:00.000000Z'"),
    ),
    "the current version ends on an entry older than itself": (
        "UPDATE versions SET retired_at = (SELECT at FROM ledger WHERE owner = 'alice' AND seq = 2) "
        "WHERE owner = 'alice' AND memory_id = :history AND version = 2",
    ),
    "a version ends twice": (
        Entry("person", "update", "history"),
        "UPDATE versions SET retired_at = :now WHERE owner = 'alice' AND memory_id = :history AND version = 1",
    ),
    "an ended version is opened again": (
        "UPDATE versions SET retired_at = NULL WHERE owner = 'alice' AND memory_id = :history AND version = 1",
    ),
    "the extractor points a person's memory back at what software read": changes_state(
        "adopted", "extractor", "update", version=1,
    ),
    "a memory points back at an older version": changes_state("history", "person", "update", version=1),
    "a memory points at a version that is not there": changes_state("history", "person", "update", version=3),
}  # fmt: skip

LEDGER: dict[str, Steps] = {
    "an entry skips a number": (Entry("person", "update", "asserted", wrong=(("seq", 9999),)),),
    "an entry takes a number again": (Entry("person", "update", "asserted", wrong=(("seq", 3),)),),
    "an entry does not stand on the last one": (Entry("person", "update", "asserted", wrong=(("previous", "x"),)),),
    "an entry stands on nothing": (Entry("person", "update", "asserted", wrong=(("previous", ""),)),),
    "an entry stands on an older one": (
        "INSERT INTO ledger (owner, seq, link, at, actor, door, action, digest, previous, hash) "
        "SELECT owner, (SELECT max(seq) + 1 FROM ledger WHERE owner = 'alice'), "
        f"(SELECT max(link) + 1 FROM ({CHAIN}) AS links), '2027-01-01T00:00:00.000000Z', "
        "'person', 'raw', 'x', 'x', hash, 'x' FROM ledger WHERE owner = 'alice' AND seq = 1",
    ),
    "an entry before its time": (
        Entry("person", "update", "asserted", wrong=(("at", "2026-03-01T09:00:01.000000Z"),)),
    ),
    "an entry at the very instant of the last one": (
        "INSERT INTO ledger (owner, seq, link, at, actor, door, action, digest, previous, hash) "
        f"SELECT owner, seq + 1, (SELECT max(link) + 1 FROM ({CHAIN}) AS links), at, 'person', 'raw', 'x', 'x', "
        f"(SELECT hash FROM ({CHAIN}) AS links ORDER BY link DESC LIMIT 1), 'x' FROM ledger "
        "WHERE owner = 'alice' ORDER BY seq DESC LIMIT 1",
    ),
    "an entry by an unknown actor": (Entry("nobody", "update", "asserted"),),
}  # fmt: skip

STATE: dict[str, Steps] = {
    "a memory without a ledger entry": (
        "INSERT INTO memories (owner, id, confidence, importance, version, created_at, edited_at, updated_at, event) "
        "VALUES ('alice', 'GHOST001', 'asserted', 0.5, 1, '2027', '2027', '2027', 9999)",
    ),
    "a memory of software that is born confirmed": new_memory("extractor", last_confirmed_at=":now"),
    "a memory that begins with the entry of another": (
        Entry("person", "remember", "asserted"),
        "INSERT INTO memories (owner, id, confidence, importance, version, created_at, edited_at, updated_at, event) "
        "VALUES ('alice', 'GHOST001', 'asserted', 0.5, 1, :now, :now, :now, :event)",
    ),
    "a state that changes on the entry of another memory": (
        Entry("person", "demote", "asserted"),
        "UPDATE memories SET confidence = 'inferred', event = :event WHERE owner = 'alice' AND id = :history",
    ),
    "a state that changes on an entry it has used": (
        "UPDATE memories SET confidence = 'inferred', event = event WHERE owner = 'alice' AND id = :asserted",
    ),
    "a state that changes on an entry that is not there": (
        "UPDATE memories SET confidence = 'inferred', event = 9999 WHERE owner = 'alice' AND id = :asserted",
    ),
    "a state that changes on an entry about a link": (
        Entry("person", "link", "asserted", other="history", link="link"),
        "UPDATE memories SET confidence = 'inferred', event = :event WHERE owner = 'alice' AND id = :asserted",
    ),
    "a memory that was never kept is called older": changes_state(
        "asserted", "person", "update", created_at="2020-01-01T00:00:00.000000Z"
    ),
    "a memory gets another id": changes_state("asserted", "person", "update", id="GHOST001"),
    "a memory moves to another owner": changes_state("asserted", "person", "update", owner="bob"),
    "a memory is called purged": changes_state("asserted", "person", "purge", purged_at=":now", subject=None),
    "a purged memory comes back": changes_state("erased", "person", "restore", purged_at=None),
    "a purged memory gets a subject": changes_state("erased", "person", "update", subject="Oak"),
    "a memory is archived without a reason": changes_state("asserted", "person", "forget", archived_at=":now"),
}  # fmt: skip

LINKS: dict[str, Steps] = {
    "a link to another owner's memory": links("person", ":asserted", ":bobs"),
    "a link from another owner's memory": links("person", ":bobs", ":asserted"),
    "a link to a memory that is not there": links("person", ":asserted", "'GHOST001'"),
    "a link of a memory to itself": links("person", ":asserted", ":asserted"),
    "a link without a ledger entry": (
        Entry("person", "link", "asserted", other="history"),
        JOINS.format("'alice', :new_link, :asserted, :history, 'because_of'"),
    ),
    "a link on the entry of another link": (
        Entry("person", "link", "asserted", other="history", link="link"),
        JOINS.format("'alice', :new_link, :asserted, :weak, 'because_of'"),
    ),
    "the same link twice": links("person", ":asserted", ":history"),
    "a link is turned to another memory": (
        Entry("person", "link", "asserted", other="history", link="link"),
        "UPDATE links SET to_id = :weak, event = :event WHERE owner = 'alice' AND id = :link",
    ),
    "a link is turned to another owner's memory": (
        Entry("person", "link", "asserted", other="history", link="link"),
        "UPDATE links SET to_id = :bobs, event = :event WHERE owner = 'alice' AND id = :link",
    ),
    "a link changes its relation": (
        Entry("person", "link", "asserted", other="history", link="link"),
        "UPDATE links SET relation = 'contradicts', event = :event WHERE owner = 'alice' AND id = :link",
    ),
    "a link is removed without a ledger entry": (
        "UPDATE links SET removed_at = '2027-01-01T00:00:00.000000Z' WHERE owner = 'alice' AND id = :link",
    ),
    "a link stands again beside its twin": (
        Entry("person", "undo", "weak", other="history", link="removed"),
        "UPDATE links SET removed_at = NULL, event = :event WHERE owner = 'alice' AND id = :removed",
    ),
}  # fmt: skip

ERASURES: dict[str, Steps] = {
    "an erasure without a ledger entry": (
        "INSERT INTO erasures (owner, memory_id, at, event) VALUES ('alice', :asserted, '2027', 9999)",
    ),
    "an erasure on the entry of another memory": (Entry("person", "purge", "weak"), ERASES.format(":asserted")),
    "an erasure on an entry that is no purge": (Entry("person", "delete", "asserted"), ERASES.format(":asserted")),
    "the extractor erases": purges("reading", "extractor"),
    "the extractor erases from the trash": purges("trashed", "extractor"),
    "a job erases what is active": purges("asserted", "job"),
    "a job erases what is archived": purges("archived", "job"),
    "a job erases its own kind's reading": purges("reading", "job"),
    "an erasure twice": (Entry("person", "purge", "erased"), ERASES.format(":erased")),
    "a version is blanked by hand": (
        "UPDATE versions SET content = NULL, summary = NULL, body = NULL "
        "WHERE owner = 'alice' AND memory_id = :history AND version = 1",
    ),
    "a version is blanked after a purge entry, without the erasure": (
        Entry("person", "purge", "history"),
        "UPDATE versions SET content = NULL, summary = NULL, body = NULL "
        "WHERE owner = 'alice' AND memory_id = :history AND version = 1",
    ),
    "an entry is blanked by hand": (
        'UPDATE ledger SET "before" = NULL, "after" = NULL, salt = NULL '
        "WHERE owner = 'alice' AND memory_id = :asserted",
    ),
    "a block is blanked by hand": (
        "UPDATE injections SET block = NULL WHERE owner = 'alice' AND session = 'second'",
    ),
    "a block rendered anew is blanked by hand": (
        "UPDATE injections SET block = NULL WHERE owner = 'alice' AND session = 'first'",
    ),
    "an erased version speaks again": (
        "UPDATE versions SET content = 'The secret is back' WHERE owner = 'alice' AND memory_id = :erased",
    ),
    "an erased memory gets a new version": (
        Entry("person", "update", "erased"), begins("erased"),
    ),
    "an erased memory gets a version with a body alone": (
        Entry("person", "update", "erased"),
        begins("erased", content=None, body="The secret is back"),
    ),
    "an erased entry gets its text back": (
        "UPDATE ledger SET \"after\" = '{}', salt = 'x' WHERE owner = 'alice' AND memory_id = :erased",
    ),
}  # fmt: skip

FIRST_INJECTED = "memory_id = :asserted AND nth = 1"

INJECTIONS: dict[str, Steps] = {
    "an injection is counted twice": (puts_again("injected", FIRST_INJECTED, session="'third'"),),
    "an injection skips a count": (puts_again("injected", FIRST_INJECTED, nth="99", session="'third'"),),
    "an injection of a memory that is not there": (
        puts_again("injected", FIRST_INJECTED, memory_id="'GHOST001'", session="'third'"),
    ),
    "a session is injected again": (puts_again("injections", "session = 'first'", block="'forged'"),),
}  # fmt: skip

BEGINS = dict.fromkeys(("card", "session_after", "epoch", "step", "finished_at"), "NULL") | {"status": "'running'"}
OPENS = dict.fromkeys(("closed_at", "closed_by", "outcome", "exit_price", "result_r", "result_pct"), "NULL") | {
    "state": "'open'"
}
CLOSES = "state = 'resolved', closed_by = 'bars', closed_at = '2027', outcome = 'target', result_r = 9"

RUNS: dict[str, Steps] = {
    "a run begins with its result": (puts_again("runs", "id = :closed", id="'NEWRUN01'", step="NULL", epoch="NULL"),),
    "a second look at a run without a card": (
        puts_again("runs", "id = :looked", id="'NEWRUN01'", parent_run=":failed", **BEGINS),
    ),
    "a second look at a second look": (
        puts_again("runs", "id = :looked", id="'NEWRUN01'", parent_run=":looked", **BEGINS),
    ),
    "a second look at nothing": (
        puts_again("runs", "id = :looked", id="'NEWRUN01'", parent_run="'NEWRUN99'", **BEGINS),
    ),
    "a run of an agent that is not there": (
        puts_again("runs", "id = :closed", id="'NEWRUN01'", agent_id="'GHOST001'", **BEGINS),
    ),
    "a run takes another's step": (
        "UPDATE runs SET status = 'running' WHERE owner = 'alice' AND id = :queued",
        "UPDATE runs SET status = 'succeeded', finished_at = '2027', step = 1 WHERE owner = 'alice' AND id = :queued",
    ),
    "a run goes back to the queue": (
        "UPDATE runs SET status = 'running' WHERE owner = 'alice' AND id = :queued",
        "UPDATE runs SET status = 'queued' WHERE owner = 'alice' AND id = :queued",
    ),
    "a running run is told otherwise": ("UPDATE runs SET prompt = 'Sell' WHERE owner = 'alice' AND id = :queued",),
    "a run changes its parent": ("UPDATE runs SET parent_run = :waiting WHERE owner = 'alice' AND id = :looked",),
    "a finished run gets another line": (puts_again("transcripts", "run_id = :closed AND turn = 2", turn="3"),),
    "a line is left out": (
        "UPDATE runs SET status = 'running' WHERE owner = 'alice' AND id = :queued",
        puts_again("transcripts", "run_id = :closed AND turn = 2", run_id=":queued"),
    ),
    "a decision of a run without a card": (puts_again("decisions", "run_id = :closed", run_id=":failed", **OPENS),),
    "a decision of a second look": (
        puts_again("decisions", "run_id = :closed", run_id=":looked", card_type="'re-examination'", **OPENS),
    ),
    "a decision begins closed": (
        "UPDATE runs SET status = 'running' WHERE owner = 'alice' AND id = :queued",
        "UPDATE runs SET status = 'succeeded', card = '{}', finished_at = '9' WHERE owner = 'alice' AND id = :queued",
        puts_again("decisions", "run_id = :closed", run_id=":queued"),
    ),
    **{
        f"an open decision says another {column}": (
            f"UPDATE decisions SET {column} = {value} WHERE owner = 'alice' AND run_id = :waiting",
        )
        for column, value in (
            ("action", "'LONG'"), ("symbol", "'BTC'"), ("entry", "1"), ("stop", "1"), ("target", "1"),
            ("conviction", "99"), ("expires", "'2099'"), ("decided_at", "'2020'"), ("regime", "'chop'"),
            ("card_type", "'note'"), ("agent_id", "'GHOST001'"),
        )
    },
    "a decision is closed twice": (
        f"UPDATE decisions SET {CLOSES} WHERE owner = 'alice' AND run_id = :waiting",
        f"UPDATE decisions SET {CLOSES}, through = '2028' WHERE owner = 'alice' AND run_id = :waiting",
    ),
    "an expired decision is exited": (
        f"UPDATE decisions SET {CLOSES}, outcome = 'time' WHERE owner = 'alice' AND run_id = :waiting".replace(
            "outcome = 'target', ", ""
        ),
        "UPDATE decisions SET closed_by = 'person', outcome = 'exited', through = '2028' "
        "WHERE owner = 'alice' AND run_id = :waiting",
    ),
    "an expired decision opens again": (
        f"UPDATE decisions SET {CLOSES}, outcome = 'time' WHERE owner = 'alice' AND run_id = :waiting".replace(
            "outcome = 'target', ", ""
        ),
        "UPDATE decisions SET state = 'open', closed_by = NULL, closed_at = NULL, outcome = NULL, through = '2028' "
        "WHERE owner = 'alice' AND run_id = :waiting",
    ),
}  # fmt: skip

SAID = "skill_id = :skill AND field = 'strategy' AND version = 2"
LEARNT = "memory_id = :lesson"

BOUGHT = (
    "INSERT INTO fills (owner, deployment_id, key, symbol, side, time, quantity, price, fee, multiplier, remaining) "
    "VALUES ('alice', :deployment, 'f1', 'BTC/USDT', 'buy', '2026', 2, 100, 0, 1, '2')"
)
CAME = (
    "INSERT INTO batches (nth, source, link, what, at, came, went, spans, digest, previous, hash, settled) "
    "VALUES (9001, 'raw', 1, 'bars', '2026', 1, 0, '[]', 'd', '', 'h', 0)"
)
TRADING: dict[str, Steps] = {
    "an execution at another price": (BOUGHT, "UPDATE fills SET price = 90 WHERE owner = 'alice' AND key = 'f1'"),
    "an execution of more": (BOUGHT, "UPDATE fills SET quantity = 3 WHERE owner = 'alice' AND key = 'f1'"),
    "a batch of other bars": (CAME, "UPDATE batches SET digest = 'forged' WHERE nth = 9001"),
    "a version of a field is left out": (puts_again("skill_fields", SAID, version="4"),),
    "a field of no skill": (puts_again("skill_fields", SAID, skill_id="'GHOST001'", version="1"),),
    "a field that no skill has": (puts_again("skill_fields", SAID, field="'mood'", version="1"),),
    "the figures of a version that is not there": (puts_again("lessons", LEARNT, version="2"),),
    "the figures of a lesson once more": (puts_again("lessons", LEARNT, wins="6"),),
    "a trade that ends before it begins": (
        "UPDATE trades SET exit_time = '2020' WHERE owner = 'alice' AND key = 't1'",
    ),
    "a trade known before it ends": ("UPDATE trades SET known_at = '2020' WHERE owner = 'alice' AND key = 't1'",),
    "a trade of no side": ("UPDATE trades SET side = 'up' WHERE owner = 'alice' AND key = 't1'",),
    "a position of nothing": ("UPDATE positions SET quantity = 0 WHERE owner = 'alice'",),
    "a deployment in debt": ("UPDATE deployments SET capital = -1 WHERE owner = 'alice'",),
    "a deployment that ends before it starts": (
        "UPDATE deployments SET started_at = '2027', ended_at = '2026' WHERE owner = 'alice'",
    ),
}

REASONS: dict[str, tuple[str, dict[str, Steps]]] = {
    "trust": (r"automation may not overrule a person|what software read is inferred", TRUST),
    "one current version": (r"guard: |FOREIGN|foreign|UNIQUE|one_current_version|CHECK|check", ONE_CURRENT),
    "ledger": (r"a ledger entry follows the one before it|CHECK|check", LEDGER),
    "state": (r"guard: |archived_with_a_reason", STATE),
    "links": (r"guard: |FOREIGN|foreign|UNIQUE|links_from|joins_two", LINKS),
    "erasures": (r"guard: |UNIQUE|erasures_pkey", ERASURES),
    "injections": (r"guard: |FOREIGN|foreign|UNIQUE|_pkey", INJECTIONS),
    "runs": (r"guard: |FOREIGN|foreign|runs_by_step", RUNS),
    "trading": (r"guard: |foreign|lessons_pkey|CHECK|check", TRADING),
}
ATTACKS = [
    pytest.param(why, steps, id=f"{guard}-{name}")
    for guard, (why, attacks) in REASONS.items()
    for name, steps in attacks.items()
]


@pytest.mark.parametrize(("why", "steps"), ATTACKS)
def test_the_database_refuses(book: Attacked, why: str, steps: Steps) -> None:
    book.values["new_link"] = "NEWLINK1"
    *preparation, attack = steps
    for step in preparation:
        book.take(step)
    with pytest.raises(Refused) as refused:
        book.take(attack)
    assert re.search(why, str(refused.value)) or str(refused.value).startswith("no right: ")


def _rewritten() -> Iterator[Any]:
    """Each column of what only grows, in a row that is whole and in one that was erased."""
    rows = {
        "ledger": {"plain": "seq = 1", "erased": "memory_id = :erased"},
        "versions": {
            "ended": "memory_id = :history AND version = 1",
            "current": "memory_id = :asserted",
            "erased": "memory_id = :erased",
            "quoted": "memory_id = :quoted AND version = 1",
        },
        "memories": {"active": "id = :asserted", "erased": "id = :erased"},
        "links": {"standing": "id = :link"},
        "injections": {"plain": "session = 'second'"},
        "injected": {"plain": "memory_id = :asserted AND nth = 1"},
        "erasures": {"plain": "memory_id = :erased"},
        "runs": {"closed": "id = :closed", "looked at again": "id = :looked", "failed": "id = :failed"},
        "transcripts": {"plain": "run_id = :closed AND turn = 1"},
        "decisions": {"closed": "run_id = :closed"},
        "skill_fields": {"ended": "skill_id = :skill AND field = 'strategy' AND version = 1", "current": SAID},
        "lessons": {"plain": LEARNT},
    }
    for table, kinds in rows.items():
        for column in BY_NAME[table].c:
            if (table, column.name) == ("lessons", "withdrawn_at"):
                continue  # whether the figures still hold may change
            kind = type(column.type)
            forged = "77" if kind is Integer else "'forged'" if kind is Text else "0.125"
            for name, where in kinds.items():
                attack = f"UPDATE {table} SET \"{column.name}\" = {forged} WHERE owner = 'alice' AND {where}"
                yield pytest.param(attack, id=f"{table}.{column.name} of a row that is {name}")


@pytest.mark.parametrize("attack", [*_rewritten()])
def test_what_was_written_is_never_rewritten(book: Attacked, attack: str) -> None:
    with pytest.raises(Refused, match=r"guard: |no right: "):
        book.take(attack)


GROWING = (
    "ledger", "memories", "versions", "links", "injections", "injected", "erasures", "agents", "runs", "transcripts",
    "decisions", "skills", "skill_fields", "deployments", "positions", "trades", "lessons",
)  # fmt: skip


@pytest.mark.parametrize("table", GROWING)
def test_nothing_is_deleted(book: Attacked, table: str) -> None:
    with pytest.raises(Refused, match=r"guard: |no right: "):
        book.take(f"DELETE FROM {table} WHERE owner = 'alice'")


# --- what SQLite alone can do: a conflict that replaces deletes a row without its triggers ----------------

REPLACED: dict[str, Steps] = {
    "an entry": (puts_again("ledger", "seq = 1", actor="'job'"),),
    "a memory's state": (puts_again("memories", "id = :asserted", confidence="'inferred'"),),
    "a memory's trash": (puts_again("memories", "id = :trashed", trashed_at="NULL"),),
    "a purged memory": (puts_again("memories", "id = :erased", purged_at="NULL", subject="'Oak'"),),
    "an ended version": (puts_again("versions", "memory_id = :history AND version = 1", content="'Lives nowhere'"),),
    "a current version": (puts_again("versions", "memory_id = :asserted", content="'Takes any leverage'"),),
    "the ends of a link": (puts_again("links", "id = :link", to_id=":weak"),),
    "a link by its twin": (
        Entry("person", "link", "asserted", other="history", link="new_link"),
        puts_again("links", "id = :link", id="'NEWLINK1'", event=":event"),
    ),
    "a block": (puts_again("injections", "session = 'second'", block="'forged'"),),
    "a count of injections": (puts_again("injected", "memory_id = :asserted AND nth = 1", version="9"),),
    "an erasure": (puts_again("erasures", "memory_id = :erased", at="'2020'"),),
    "an agent": (puts_again("agents", "id = :desk", step="0"),),
    "a run by one that begins": (puts_again("runs", "id = :closed", **BEGINS),),
    "a line of a transcript": (puts_again("transcripts", "run_id = :failed AND turn = 1", text="'I was right'"),),
    "a closed decision": (puts_again("decisions", "run_id = :closed", **OPENS),),
    "a skill": (puts_again("skills", "id = :skill", name="'Another'"),),
    "what a skill said": (puts_again("skill_fields", SAID, value="'Sell low.'"),),
    "a deployment": (puts_again("deployments", "id = :deployment", capital="1"),),
    "the figures of a lesson": (puts_again("lessons", LEARNT, wins="6"),),
}


@pytest.mark.parametrize("verb", ["REPLACE", "INSERT OR REPLACE"])
@pytest.mark.parametrize("steps", [pytest.param(steps, id=name) for name, steps in REPLACED.items()])
@pytest.mark.parametrize("book", [SQLITE], indirect=True)
def test_sqlite_replaces_nothing(book: Attacked, steps: Steps, verb: str) -> None:
    book.values["new_link"] = "NEWLINK1"
    *preparation, attack = steps
    for step in preparation:
        book.take(step)
    with pytest.raises(Refused):
        book.take(str(attack).replace("INSERT", verb, 1))


@pytest.mark.parametrize("book", [SQLITE], indirect=True)
def test_sqlite_replaces_no_twin_when_a_link_stands_again(book: Attacked) -> None:
    book.take(Entry("person", "undo", "weak", other="history", link="removed"))
    with pytest.raises(Refused):
        book.take(
            "UPDATE OR REPLACE links SET removed_at = NULL, event = :event WHERE owner = 'alice' AND id = :removed"
        )


UPSERTED = {
    "ledger": ("seq = 1", "owner, seq", "actor", "'job'"),
    "memories": ("id = :asserted", "owner, id", "confidence", "'inferred'"),
    "versions": ("memory_id = :asserted", "owner, memory_id, version", "content", "'Takes any leverage'"),
    "links": ("id = :link", "owner, id", "to_id", ":weak"),
    "injections": ("session = 'second'", "owner, space, session", "block", "'forged'"),
    "injected": ("memory_id = :asserted AND nth = 1", "owner, memory_id, nth", "version", "9"),
    "erasures": ("memory_id = :erased", "owner, memory_id", "at", "'2020'"),
    "runs": ("id = :closed", "owner, id", "card", "'{}'"),
    "transcripts": ("run_id = :closed AND turn = 1", "owner, run_id, turn", "text", "'Buy'"),
    "decisions": ("run_id = :closed", "owner, run_id", "result_r", "9"),
}


@pytest.mark.parametrize("table", UPSERTED)
def test_an_upsert_is_an_update(book: Attacked, table: str) -> None:
    where, key, column, value = UPSERTED[table]
    row = puts_again(table, where)
    with pytest.raises(Refused, match=r"guard: |no right: "):
        book.take(f"{row} ON CONFLICT ({key}) DO UPDATE SET {column} = {value}")


@pytest.mark.parametrize("book", [SQLITE], indirect=True)
def test_a_temporary_table_of_sqlite_does_not_stand_in_for_the_ledger(book: Attacked) -> None:
    book.take("CREATE TEMP TABLE ledger AS SELECT * FROM main.ledger WHERE owner = 'alice'")
    book.take("UPDATE temp.ledger SET seq = 9999 WHERE memory_id = :asserted AND seq = 1")
    with pytest.raises(Refused, match="guard: "):
        book.take("UPDATE memories SET confidence = 'inferred', event = 9999 WHERE owner = 'alice' AND id = :asserted")


# --- what PostgreSQL alone can do ------------------------------------------------------------------------


@pytest.mark.parametrize("book", [ADMIN, APP], indirect=True)
@pytest.mark.parametrize("table", GROWING)
def test_nothing_is_truncated(book: Attacked, table: str) -> None:
    with pytest.raises(Refused, match=r"guard: |no right: "):
        book.take(f"TRUNCATE {table} CASCADE")


@pytest.mark.parametrize("book", [ADMIN, APP], indirect=True)
def test_a_temporary_table_of_postgresql_does_not_stand_in_for_the_ledger(book: Attacked) -> None:
    steps: Steps = (
        "CREATE TEMP TABLE ledger (LIKE public.ledger)",
        "INSERT INTO pg_temp.ledger SELECT * FROM public.ledger WHERE owner = 'alice'",
        "UPDATE pg_temp.ledger SET seq = 9999 WHERE memory_id = :asserted AND seq = 1",
        "UPDATE public.memories SET confidence = 'inferred', event = 9999 WHERE owner = 'alice' AND id = :asserted",
    )
    with pytest.raises(Refused, match=r"guard: |no right: "):
        _take_all(book, steps)


def _take_all(book: Attacked, steps: Steps) -> None:
    for step in steps:
        book.take(step)


# --- what must be accepted, or the refusals above prove nothing -------------------------------------------

_TOLD = "state, closed_at, closed_by, outcome, exit_price, result_r, result_pct"
KEEPS_FORMER = (
    f"INSERT INTO former_results (owner, run_id, nth, known_at, until, {_TOLD}) "
    f"SELECT owner, run_id, 1, known_at, '2028', {_TOLD} FROM decisions WHERE owner = 'alice' AND run_id = :waiting"
)
LAWFUL: dict[str, Steps] = {
    "what was bought is sold in part": (
        BOUGHT,
        "UPDATE fills SET remaining = '1', fee = 0.5 WHERE owner = 'alice' AND key = 'f1'",
    ),
    "what came is settled": (CAME, "UPDATE batches SET settled = 1 WHERE nth = 9001"),
    "what the bars closed they close anew, once what it said is kept": (
        f"UPDATE decisions SET {CLOSES}, known_at = '2027' WHERE owner = 'alice' AND run_id = :waiting",
        KEEPS_FORMER,
        "UPDATE decisions SET outcome = 'stop', result_r = -1, known_at = '2028' "
        "WHERE owner = 'alice' AND run_id = :waiting",
    ),
    "a run begins, speaks and ends": (
        puts_again("runs", "id = :looked", id="'NEWRUN01'", **BEGINS),
        puts_again("transcripts", "run_id = :closed AND turn = 1", run_id="'NEWRUN01'"),
        "UPDATE runs SET status = 'failed', error = 'no', finished_at = '9' WHERE owner = 'alice' AND id = 'NEWRUN01'",
    ),
    "a field has its next version": (puts_again("skill_fields", SAID, version="3", value="'Wait.'"),),
    "a lesson no longer holds": ("UPDATE lessons SET withdrawn_at = '2027' WHERE owner = 'alice'",),
    "a person erases a lesson": (*purges("lesson", "person"),),
    "a person's version over their own": (*supersedes("asserted", "person"), points("asserted")),
    "a person's new memory": (
        *new_memory("person", confidence="asserted"), begins("asserted", memory_id="GHOST001", version=1),
    ),
    "the extractor's new memory": (
        *new_memory("extractor"), begins("asserted", memory_id="GHOST001", version=1, **EXTRACTED),
    ),
    "an agent's version in a conversation": (*supersedes("asserted", "agent", source="chat"), points("asserted")),
    "a person's version over a reading": (*supersedes("reading", "person"), points("reading")),
    "the extractor's version over a reading": (*supersedes("reading", "extractor", **EXTRACTED), points("reading")),
    "an agent's reading over a reading": (*supersedes("guess", "agent", **INFERRED), points("guess")),
    "a person's undo that copies what software read": (
        *restores("adopted", "person", 1), points("adopted", confidence="inferred"),
    ),
    "the extractor archives a reading": changes_state("reading", "extractor", "forget", **ARCHIVED),
    "the extractor archives an agent's guess": changes_state("guess", "extractor", "forget", **ARCHIVED),
    "an agent archives a person's word": changes_state("asserted", "agent", "forget", **ARCHIVED),
    "a person demotes their own word": changes_state("asserted", "person", "demote", confidence="inferred"),
    "a person promotes a reading": changes_state("reading", "person", "promote", confidence="asserted"),
    "a person confirms a reading": changes_state("reading", "person", "confirm", last_confirmed_at=":now"),
    "a person trashes": changes_state("asserted", "person", "delete", **TRASHED),
    "a person restores from the trash": changes_state("trashed", "person", "restore", trashed_at=None),
    "a link": links("person", ":asserted", ":weak"),
    "a link is removed": (
        Entry("person", "unlink", "asserted", other="history", link="link"),
        "UPDATE links SET removed_at = :now, event = :event WHERE owner = 'alice' AND id = :link",
    ),
    "a person erases": purges("asserted", "person"),
    "a job erases from the trash": purges("trashed", "job"),
    "an injection": (
        puts_again("injections", "session = 'first'", session="'third'", nth="99"),
        puts_again(
            "injected", FIRST_INJECTED, session="'third'", injection="99",
            nth="(SELECT max(nth) + 1 FROM injected WHERE owner = 'alice' AND memory_id = :asserted)",
        ),
    ),
    "the whole book is erased": (
        "INSERT INTO erasures (owner, memory_id, at, event) VALUES ('alice', '*', '2027', 0)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("steps", [pytest.param(steps, id=name) for name, steps in LAWFUL.items()])
def test_the_database_accepts(book: Attacked, steps: Steps) -> None:
    book.values["new_link"] = "NEWLINK1"
    for step in steps:
        book.take(step)


# --- what a lawful erasure takes ------------------------------------------------------------------------

OWNED = [table.name for table in TABLES.owned]


def rows_of(book: Attacked, table: str, where: str = "owner = 'alice'") -> list[dict[str, Any]]:
    key = ", ".join(column.name for column in BY_NAME[table].primary_key)
    names = ", ".join(f'"{name}"' for name in COLUMNS[table])
    found = book.raw.run(f"SELECT {names} FROM {table} WHERE {where} ORDER BY {key}", book.values)
    return [dict(zip(COLUMNS[table], row, strict=True)) for row in found]


def test_an_erasure_takes_the_text_wherever_it_stands(book: Attacked) -> None:
    needle = "leverag"  # as the stemmed index has it
    holding = {name for name in OWNED if any(needle in str(row).lower() for row in rows_of(book, name))}
    assert {"versions", "ledger", "memories", "injections", "terms"} <= holding
    before = rows_of(book, "ledger")
    for step in purges("asserted", "person"):
        book.take(step)
    assert {name for name in OWNED if any(needle in str(row).lower() for row in rows_of(book, name))} == set()
    (version,) = rows_of(book, "versions", "owner = 'alice' AND memory_id = :asserted")
    assert {version[name] for name in ("content", "summary", "body")} == {None}
    (memory,) = rows_of(book, "memories", "owner = 'alice' AND id = :asserted")
    assert memory["purged_at"] == book.values["now"]
    assert {memory[name] for name in ("subject", "subject_key", "category", "scope")} == {None}
    assert rows_of(book, "terms", "owner = 'alice' AND memory_id = :asserted") == []
    assert rows_of(book, "links", "owner = 'alice' AND :asserted IN (from_id, to_id)") == []
    blocks = {row["session"]: row["block"] for row in rows_of(book, "injections")}
    assert blocks == {"first": None, "second": None}
    about = "owner = 'alice' AND (memory_id = :asserted OR other_id = :asserted)"
    blanked = rows_of(book, "ledger", about)
    assert len(blanked) == 3  # remember, link, purge
    assert {row[name] for row in blanked for name in ("before", "after", "salt")} == {None}
    kept = ("seq", "digest", "previous", "hash")
    assert [[row[name] for name in kept] for row in rows_of(book, "ledger")][:-1] == [
        [row[name] for name in kept] for row in before
    ]


def test_an_erasure_leaves_everything_else_as_it_was(book: Attacked) -> None:
    def others() -> dict[str, list[dict[str, Any]]]:
        mine = book.values["asserted"]
        found = {name: rows_of(book, name) for name in ("versions", "memories", "links", "terms", "injected")}
        return {name: [row for row in rows if mine not in row.values()] for name, rows in found.items()}

    before = others()
    for step in purges("asserted", "person"):
        book.take(step)
    assert others() == before


def put_any_row(book: Attacked, table: str, owner: str) -> None:
    """A row that the table's checks allow, for tables that no guard watches."""
    known = BY_NAME[table]
    listed = {
        match[1]: match[2]
        for column in known.c
        for check in column.constraints
        if (match := re.match(r"(\w+) IN \('(\w+)'", str(getattr(check, "sqltext", ""))))
    }
    kinds = {Integer: 1, Text: "ROWROW01", LargeBinary: b"row"}
    row = {column.name: listed.get(column.name) or kinds.get(type(column.type), 0.5) for column in known.c}
    if "instead_of" in row:
        row["instead_of"] = None  # a first turn takes nobody's place
    if table == "loads":
        row |= {"what": "memories", "deployment_id": None}  # a guard watches those of trades
    names = ", ".join(f'"{name}"' for name in row)
    if book.raw.way == ADMIN:
        book.raw.run("SET LOCAL session_replication_role = 'replica'")  # as SQLite's raw way: no foreign keys
    book.raw.run(
        f"INSERT INTO {table} ({names}) VALUES ({', '.join(f':{name}' for name in row)})", row | {"owner": owner}
    )
    if book.raw.way == ADMIN:
        book.raw.run("SET LOCAL session_replication_role = 'origin'")


@pytest.mark.parametrize("book", [SQLITE, ADMIN], indirect=True)
def test_erasing_a_whole_book_leaves_no_row_and_no_other_book_touched(book: Attacked) -> None:
    result = ", ".join(RESULT)
    book.raw.run(  # a guard watches these
        f"INSERT INTO former_results (owner, run_id, nth, known_at, until, {result}) "
        f"SELECT owner, run_id, 1, known_at, '2027', {result} FROM decisions WHERE state <> 'open'"
    )
    for name in OWNED:
        if name not in NEVER_FURNISHED and not rows_of(book, name):
            put_any_row(book, name, "alice")
            put_any_row(book, name, "bob")
    bobs = {name: rows_of(book, name, "owner = 'bob'") for name in OWNED}
    book.take("INSERT INTO erasures (owner, memory_id, at, event) VALUES ('alice', '*', '2027', 0)")
    assert {name: rows_of(book, name) for name in OWNED} == {name: [] for name in OWNED}
    assert {name: rows_of(book, name, "owner = 'bob'") for name in OWNED} == bobs


def test_the_figures_of_a_lesson_go_with_it(book: Attacked) -> None:
    assert rows_of(book, "lessons")
    for step in purges("lesson", "person"):
        book.take(step)
    assert rows_of(book, "lessons") == []


def test_the_chain_still_verifies_after_an_erasure(alice: Any) -> None:
    kept = alice.remember("Lives in Oslo with a dog")
    gone = alice.remember("The secret is under the old oak", subject="Oak")
    alice.link(kept.id, gone.id, "because_of")
    alice.update(gone.id, "The secret is under the young oak")
    alice.inject("s")
    alice.delete(gone.id, forever=True)
    assert alice.verify().ok
    assert "oak" not in alice.inject("s")
    assert [version.content for version in alice.history(kept.id)] == ["Lives in Oslo with a dog"]


def test_a_new_version_ends_the_one_before_it(book: Attacked) -> None:
    for step in supersedes("asserted", "person"):
        book.take(step)
    rows = rows_of(book, "versions", "owner = 'alice' AND memory_id = :asserted")
    assert [row["retired_at"] for row in rows] == [book.values["now"], None]


def test_a_clock_that_was_set_back_does_not_hold_an_erasure_back(alice: Any, clock: Any) -> None:
    """Two machines never agree on the time: what a session saw may be stamped later than its erasure."""
    gone = alice.remember("The secret is under the old oak")
    clock.forward(minutes=5)
    assert "old oak" in alice.inject("s")
    clock.forward(minutes=-5)
    alice.delete(gone.id, forever=True)
    assert alice.inject("s") == ""
    assert alice.verify().ok


def test_a_guard_speaks_through_the_engine_in_plain_words(kb: Any) -> None:
    kb.book("alice").remember("Lives in Oslo with a dog")
    with pytest.raises(NotAllowed, match="the book refuses") as refused, kb._database.write("alice") as tx:
        tx.conn.exec_driver_sql("UPDATE versions SET retired_at = 'never' WHERE owner = 'alice'")
    assert refused.value.code == "guard"
