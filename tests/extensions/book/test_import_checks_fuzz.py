"""Files as somebody with bad intentions might make them: whatever is in one, an import keeps all of it or nothing.

A book with something of every kind is exported once and changed: lines lost, doubled, moved or garbled, fields with
values that are paths, options, other owners or nonsense. Half of the files are sealed again, with digests, chain and
counts that fit, as whoever knows the format can do, so that they get past the ledger's own check. Held against every
row of the database: a refused file leaves none, one that comes in leaves nobody else's touched, reads back as it was
sent, and starts nothing, neither then nor with the jobs a year later.
"""

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, event, given, note, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine, func, make_url, select
from tests.extensions.storage.every_table import BY_NAME, COVERED, EXPORTED, KINDS
from tests.furnished import furnished

from keepbook import Keepbook
from keepbook.book.ledger.batch import Digest
from keepbook.book.ledger.cover import Batch, cover_hash, row_digest, values_to_seal
from keepbook.book.ledger.ledger import canonical_json, digest_fields, digest_of, entry_hash
from keepbook.book.upkeep.export_lines import Closing
from keepbook.errors import KeepbookError
from keepbook.settings import load_settings
from keepbook.storage.cover_rules import row_key

NOW = "2026-12-31T09:00:00Z"
STARTS: dict[Any, tuple[str, ...]] = {
    os: ("execv", "execve", "fork", "forkpty", "posix_spawn", "posix_spawnp", "system"),
    subprocess.Popen: ("_execute_child",),
}
"""Where every way to start a program comes down to. An audit hook would hear it too; but it stays, and slows down every
test after it."""
SHARED = ("leases",)
"""Whose turn it is to sweep is nobody's row."""
MANY = ("bars",)
"""Counted, not compared."""

LONG = "a very long text"
HOSTILE: tuple[Any, ...] = (
    None, "", "x", "../../../tmp/kb", "/bin/sh", "--dangerously-skip-permissions", "; touch /tmp/kb", "alice", "bob",
    "person", "agent", "job", "extractor", "operator", "profile", "claude-cli", "native", "openai:gpt-4o", "* * * * *",
    "2020-01-01T00:00:00.000000Z", "9999-12-31T23:59:59.999999Z", "not an instant", "{}", "[]", "[[[[", "run",
    "running", "queued", "succeeded", "open", "a\x00b", "\ud800", "\u202e\u2028", LONG, 0, 1, -1, 2**31, 2**63,
    10**40, 1e308, True, [], {}, [{"name": "One"}], {"owner": "alice"},
)  # fmt: skip
CHANGE = st.one_of(
    st.tuples(st.sampled_from(("drop", "twice", "swap", "garble", "kind", "owner", "ids")), st.integers(0, 500)),
    st.tuples(st.just("value"), st.integers(0, 500), st.integers(0, 40), st.sampled_from(HOSTILE)),
    st.tuples(st.just("inside"), st.integers(0, 500), st.integers(0, 40), st.sampled_from(HOSTILE)),
    st.tuples(st.just("agent"), st.integers(0, 500), st.sampled_from(("adapter", "schedule", "session", "due", "id"))),
)
FILES = st.tuples(st.lists(CHANGE, max_size=3), st.booleans(), st.sampled_from(("restore", "restore", "merge", "dry")))


@contextmanager
def nothing_started() -> Iterator[None]:
    """Hears of every program that Python starts meanwhile."""
    started: list[str] = []

    def heard(name: str, start: Any) -> Any:
        def begin(*given: Any, **named: Any) -> Any:
            started.append(f"{name} {given[:2]}")
            return start(*given, **named)

        return begin

    with pytest.MonkeyPatch.context() as patch:
        for place, names in STARTS.items():
            for name in names:
                patch.setattr(place, name, heard(name, getattr(place, name)))
        yield
    assert started == []


@pytest.mark.process
def test_a_program_that_starts_is_heard_of() -> None:
    for start in (lambda: subprocess.run(["true"], check=True), lambda: os.system("true")):
        with pytest.raises(AssertionError), nothing_started():
            start()


# Making files


def changed(lines: list[str], changes: list[tuple[Any, ...]]) -> list[str]:
    made = list(lines)
    for what, number, *more in changes:
        at = number % len(made)
        try:
            row = json.loads(made[at])
        except ValueError:
            continue
        match what:
            case "drop":
                del made[at]
            case "twice":
                made.insert(at, made[at])
            case "swap":
                made[at], made[-1 - at] = made[-1 - at], made[at]
            case "garble":
                made[at] = made[at][: len(made[at]) // 2]
            case "kind" | "owner":
                told = {"owner": "alice"} if what == "owner" else {"kind": json.loads(lines[number % 7])["kind"]}
                made[at] = json.dumps(row | told)
            case "ids":
                made = [line.replace(str(row.get("id", "none such")), "../../tmp") for line in made]
            case "value":
                name = sorted(row)[more[0] % len(row)]
                made[at] = json.dumps(row | {name: "x" * 30_000 if more[1] == LONG else more[1]})
            case "inside":
                made[at] = json.dumps(_inside(row, *more))
            case _:
                made = _restless(made, more[0])
        if not made:
            return ["{}"]
    return made


def _inside(row: dict[str, Any], number: int, value: Any) -> dict[str, Any]:
    """With another word in what an entry says it left, or was before: a field changed, lost, or one that is none."""
    for name in ("after", "before"):
        told = json.loads(row.get(name) or "null") if isinstance(row.get(name), str) else None
        if isinstance(told, dict):
            names = [*sorted(told), "owner", "event", "bogus"]
            told[names[number % len(names)]] = value
            if value is None:
                del told[names[number % len(names)]]
            return row | {name: json.dumps(told)}
    return row


def _restless(lines: list[str], what: str) -> list[str]:
    """The agents as somebody wants them who cannot start anything here himself: with a program, due long ago."""
    told: dict[str, Any] = {
        "adapter": {"adapter": "claude-cli", "schedule": "* * * * *"}, "schedule": {"schedule": "* * * * *"}, "due": {},
        "session": {"session": "--resume=x", "adapter": "claude-cli"}, "id": {"id": "../../../tmp"},
    }[what]  # fmt: skip
    rows = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
    ids = [row.get("id") for row in rows if row.get("kind") == "agent"]
    waiting = [row for row in rows if row.get("kind") == "due" and row.get("work") != "run"]
    waiting += [{"kind": "due", "work": "run", "id": id, "at": "2020-01-01T00:00:00.000000Z"} for id in ids]
    waiting.sort(key=lambda row: (str(row.get("work")), str(row.get("id"))))
    made = []
    for row in rows:
        if row.get("kind") == "agent":
            made += [*waiting, row | told]
            waiting = []
        elif row.get("kind") != "due":
            made.append(row)
    return [json.dumps(row) for row in made]


def sealed(lines: list[str]) -> list[str]:
    """The same with digests, seals, hashes and the closing line made to fit."""
    try:
        *rows, _ = [json.loads(line) for line in lines]
        _seal_rows(rows)
        newest = _chain(rows)
        closing = Closing()
        for row in rows:
            closing.add(canonical_json(row), row["kind"])
        return [*map(canonical_json, rows), closing.line(newest)]
    except (KeyError, TypeError, ValueError):
        return lines


def _seal_rows(rows: list[Any]) -> None:
    """Each row's newest seal over what it says now."""
    said_by = {
        (EXPORTED[row["kind"]].name, row_key(EXPORTED[row["kind"]], row)): row
        for row in rows
        if row["kind"] in EXPORTED and EXPORTED[row["kind"]].name in COVERED
    }
    for row in rows:
        if row["kind"] == "seal" and row["salt"] is not None:
            what, key = row["what"], row["key"]
            values = _batch(rows, int(key)) if what == "trades" else values_to_seal(COVERED[what], said_by[what, key])
            row["digest"] = row_digest(row["salt"], what, key, values)


def _batch(rows: list[Any], number: int) -> list[Any]:
    """What a seal of a batch of trades speaks of."""
    kind = KINDS["trades"]
    names, total = kind.columns, Digest(kind)
    former = [one for one in rows if one["kind"] == "former_trade"]
    both = [one for one in rows if one["kind"] == "trade"] + former
    came = sorted(([one[name] for name in names] for one in both if one["batch"] == number), key=lambda one: one[:3])
    total.add_rows([tuple(one[:-1]) for one in came])
    gone = [[*(one[name] for name in names), one["went"], one["until"]] for one in former if one["went"] == number]
    total.go([tuple(one) for one in sorted(gone, key=lambda one: one[:3])])
    return [total.digest()]


def _chain(rows: list[Any]) -> str:
    """Every link on the one before it; answers the newest hash."""
    texts = {row["event"]: row for row in rows if row["kind"] == "version" and row["content"] is not None}
    seals = sorted((row for row in rows if row["kind"] == "seal"), key=lambda row: row["nth"])
    previous = ""
    for row in sorted((row for row in rows if row["kind"] in ("entry", "cover")), key=lambda row: row["link"]):
        row["previous"] = previous
        if row["kind"] == "cover":
            batch = Batch()
            for seal in seals[row["first"] - 1 : row["last"]]:
                batch.add(*(seal[name] for name in ("nth", "what", "key", "was", "digest")))
            row["digest"] = batch.digest()
        elif row["salt"] is not None:
            made = texts.get(row["seq"])
            text = made and digest_fields(made)
            row["digest"] = digest_of(row["salt"], row["before"], row["after"], text)
        row["hash"] = previous = cover_hash(row) if row["kind"] == "cover" else entry_hash(row)
    return previous


# Looking


class Rows:
    """Every row of every table as it lies there, past all policies."""

    def __init__(self, url: str) -> None:
        made = make_url(url).set(drivername="postgresql+psycopg") if "://" in url else f"sqlite:///{url}"
        self._engine = create_engine(made)

    def of(self, *, but: str | None = None) -> dict[str, list[Any]]:
        found = {}
        with self._engine.connect() as conn:
            for name, table in BY_NAME.items():
                if name in SHARED:
                    continue
                query = select(func.count()).select_from(table) if name in MANY else select(table)
                if but is not None and "owner" in table.c:
                    query = query.where(table.c.owner.is_distinct_from(but))
                found[name] = sorted(repr(tuple(row)) for row in conn.execute(query))
        return found

    def close(self) -> None:
        self._engine.dispose()


@pytest.fixture
def rows(kb: Keepbook, book_url: str) -> Iterator[Rows]:
    found = Rows(book_url)
    yield found
    found.close()


class Ground(list[str]):
    """The lines of a file, which say little of themselves where a test fails."""

    def __repr__(self) -> str:
        return f"<{len(self)} lines>"


@pytest.fixture
def ground(kb: Keepbook, clock: Any, alike: None, tmp_path: Path) -> Ground:
    """Alice's book, and a machine on which a program could be started."""
    kb.settings = load_settings(
        agent_programs=(sys.executable,), agent_command=sys.executable, agent_folder=tmp_path / "agents"
    )
    clock.set(NOW)
    out = io.StringIO()
    alice = furnished(kb)
    del kb.__dict__["meaning"]
    alice.agents.disarm(alice.agents.list()[0].id)
    for token in kb.tokens.list("alice"):
        kb.tokens.revoke(token.id)
    alice.export(out)
    return Ground(out.getvalue().split("\n")[:-1])


def taken(kb: Keepbook, file: list[str], how: str) -> str:
    """What came of it, in a word."""
    try:
        kb.book("bob").import_(file, merge=how == "merge", dry_run=how == "dry")
    except KeepbookError as error:
        return error.code
    return "looked" if how == "dry" else "in"


def exported(book: Any) -> list[str]:
    out = io.StringIO()
    book.export(out)
    return out.getvalue().split("\n")[:-1]


@settings(
    max_examples=4,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # three changes are small enough to read
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(made=FILES)
def test_whatever_a_file_holds_it_comes_in_whole_or_not_at_all(
    kb: Keepbook, ground: Ground, rows: Rows, clock: Any, made: Any
) -> None:
    changes, fits, how = made
    note(f"{changes} {fits} {how}")
    file = changed(ground, changes)
    file = sealed(file) if fits else file
    before = rows.of()
    with nothing_started():
        outcome = taken(kb, file, how)
    event(f"{how}: {outcome}")
    if outcome != "in":
        assert rows.of() == before
        return
    bob = kb.book("bob")
    try:
        assert rows.of(but="bob") == before, "somebody else's row was written"
        assert bob.verify().ok
        if how == "restore" and "keepbook" in file[0]:  # without its head it is some other program's file
            assert exported(bob) == [canonical_json(json.loads(line)) for line in file]
        assert [row for row in rows.of()["armed"] if "'bob'" in row] == []
        assert kb.tokens.list("bob") == []
    finally:
        bob.erase("bob")
    assert rows.of() == before


@pytest.mark.parametrize("what", ["adapter", "schedule", "due", "session", "id"])
def test_the_jobs_start_nothing_of_what_came_in(
    kb: Keepbook, ground: Ground, rows: Rows, clock: Any, tmp_path: Path, what: str
) -> None:
    kb.book("alice").erase("alice")
    outcome = taken(kb, sealed(_restless(ground, what)), "restore")
    assert outcome == ("in" if what in ("adapter", "schedule", "due") else "altered")
    runs = len(kb.book("bob").runs.list())
    with nothing_started():
        for _ in range(3):
            clock.forward(days=120)
            swept = kb.sweep()
            assert "run" not in swept.done
            assert not [line for line in swept.failed if line.startswith("run ")]
    assert len(kb.book("bob").runs.list()) == runs
    assert not (tmp_path / "agents").exists()
