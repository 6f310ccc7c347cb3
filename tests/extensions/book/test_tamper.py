"""Tampering: somebody with the whole database, who drops the guards and edits what they like, is found out.

First as one who does not recompute hashes: every column of every covered table, a row added, a row removed, two rows
swapped, in the database and in an export. Then as one who does, or who cuts off the end with its links: an anchor
tells. What is not covered is listed in docs/ledger.md with the reason.
"""

import hashlib
import io
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Float, Integer, Table, delete, insert, select, text, update
from tests.book.ledger.unguarded import unguarded, verified
from tests.conftest import DEEPER, ENGINES, Clock, Prepared, alike_in_every_run
from tests.contracts.contract_folders import every_extension
from tests.embedding import meant
from tests.extensions.storage.every_table import BY_NAME, TABLES
from tests.furnished import NEVER_FURNISHED, OWNER, furnished

from keepbook import Invalid, Keepbook, NotAllowed
from keepbook.book.ledger import cover, seal_check
from keepbook.book.ledger.batch import batch_kinds
from keepbook.book.ledger.ledger import canonical_json, entry_hash
from keepbook.extensions.trading.book.market import bars as bar_goods
from keepbook.extensions.trading.book.market import events as event_goods
from keepbook.extensions.trading.book.market.batches import find_breaks
from keepbook.extensions.trading.book.market.events import strays
from keepbook.extensions.trading.market_tables import (
    bars,
    batches,
    event_symbols,
    former_bars,
    former_events,
    market_events,
)
from keepbook.storage.cover_rules import row_key
from keepbook.storage.tables import TableSet
from keepbook.storage.tables.cover import covers, seals
from keepbook.storage.tables.declare import rules_of
from keepbook.storage.tables.ledger import ledger
from keepbook.storage.tables.memory import links, memories, versions

NOW = "2026-12-31T09:00:00Z"
MARKET = {"batches", "bars", "former_bars", "market_events", "former_events", "event_symbols"}
NOT_PERSONAL = {*MARKET, "leases"}
DERIVED = {"terms", "likeness", "labels", "turn_terms", "vectors", "vector_spaces", "trade_days"}
GOODS = (bar_goods.GOODS, event_goods.GOODS)
PASSING = {"answers", "due", "meter", "touched"}
OF_THIS_MACHINE = {"armed", "extensions", "page_sessions"}


def held_tables(tables: TableSet) -> dict[str, Table]:
    """What the ledger holds of these: its own tables, what it covers, and what comes in batches."""
    in_batches = [table for kind in batch_kinds(tables).values() for table in (kind.table, kind.former)]
    chain = (ledger, covers, seals, memories, versions, links)
    covered = [table for table in tables.covered.values() if table.name not in NEVER_FURNISHED]
    return {table.name: table for table in (*chain, *covered, *in_batches)}


def tried_here(cases: Iterable[Any], engine: str) -> list[Any]:
    """Each engine tries a third, and not the same; `make test-deep` tries all on both."""
    tried = list(cases)
    return tried if DEEPER > 1 else tried[ENGINES.index(engine) :: 3]


@pytest.fixture(autouse=True)
def _every_extension() -> Iterator[None]:
    with every_extension():
        yield


@pytest.fixture
def book_url(prepared: Prepared, clock: Any) -> Iterator[str]:
    """Where a furnished book lies, the same in every run."""

    def fill(kb: Any, clock: Clock) -> None:
        clock.set(NOW)
        with alike_in_every_run():
            assert furnished(kb).verify().ok

    with prepared("furnished", fill, clock) as (url, _):
        yield url


@pytest.fixture
def full(book_url: str, clock: Any) -> Iterator[Any]:
    with Keepbook(book_url, clock=clock) as kb:
        book = meant(kb, OWNER)
        book.installation = kb
        yield book


def columns_of(table: Table) -> list[str]:
    left_out = {"owner", *rules_of(table).passing}
    return [column.name for column in table.c if column.name not in left_out]


def other(table: Table, name: str, value: Any) -> Any:
    """Another value of the same type."""
    kind = table.c[name].type
    if isinstance(kind, Integer):
        return 1000 if value is None else value + 1000  # far from any other row's number
    if isinstance(kind, Float):
        return 0.25 if value is None else value + 0.125
    return "forged" if value is None else f"{value}x"


def whole_rows(conn: Connection, table: Table) -> list[dict[str, Any]]:
    rows = conn.execute(select(table).where(table.c.owner == OWNER).order_by(*table.primary_key.columns))
    return [dict(row._mapping) for row in rows]


def at(table: Table, row: dict[str, Any]) -> list[Any]:
    return [column == row[column.name] for column in table.primary_key.columns]


def edits(table: Table, rows: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Every edit of one table: its name, and the statements that make it; the first and the last row are tried."""
    key = {column.name for column in table.primary_key.columns}
    for place, row in {"first": rows[0], "last": rows[-1]}.items():
        for name in columns_of(table):
            yield (
                f"{place} row, {name}",
                [update(table).where(*at(table, row)).values({name: other(table, name, row[name])})],
            )
        yield f"{place} row removed", [delete(table).where(*at(table, row))]
    unique = (key | {"hash", "invitation"} & set(table.c.keys())) - {"owner"}
    forged = rows[0] | {name: other(table, name, rows[0][name]) for name in unique}
    if table is links:
        forged |= {"relation": "forged"}  # a link stands once between two
    if key - {"owner"}:
        yield "a row added", [insert(table).values(forged)]
    if len(rows) > 1:
        one, two = rows[0], rows[-1]
        told = [name for name in columns_of(table) if name not in key]
        if {name: one[name] for name in told} != {name: two[name] for name in told}:
            yield (
                "two rows swapped",
                [
                    update(table).where(*at(table, one)).values({name: two[name] for name in told}),
                    update(table).where(*at(table, two)).values({name: one[name] for name in told}),
                ],
            )


def test_every_table_is_held_or_has_a_reason() -> None:
    apart = NOT_PERSONAL | DERIVED | PASSING | OF_THIS_MACHINE
    assert set(BY_NAME) == {*held_tables(TABLES)} | NEVER_FURNISHED | apart


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_every_table_of_a_stranger_is_held_or_shared_or_says_why_not(full: Any) -> None:
    tables = full._database.tables
    strange = [table for table in tables.of_extensions if table.name not in BY_NAME]
    held = held_tables(tables)
    assert strange
    for table in strange:
        assert table.name in held or "owner" not in table.c or rules_of(table).uncovered, table.name


def test_whoever_edits_the_database_is_found_out(full: Any, book_url: str, engine_name: str) -> None:
    """One furnished book, every edit made and taken back: thousands of books would take hours."""
    missed, tried = [], Counter[str]()
    with unguarded(book_url) as conn:
        for table in held_tables(full._database.tables).values():
            for what, statements in tried_here(edits(table, whole_rows(conn, table)), engine_name):
                tried[table.name] += 1
                inner = conn.begin_nested()
                try:
                    for statement in statements:
                        conn.execute(statement)
                    found = verified(full, conn)
                finally:
                    inner.rollback()
                if found.ok or not found.why or (found.broken is None and found.link is None):
                    missed.append(f"{table.name}: {what}")
        assert verified(full, conn).ok
    assert missed == []
    assert tried.total() > 200
    tell(engine_name, "edits of the book", tried)


def tell(engine: str, what: str, tried: Counter[str]) -> None:
    """Which were found out, table by table; seen with -s."""
    tables = ", ".join(f"{name} {times}" for name, times in sorted(tried.items()))
    sys.stdout.write(f"\n{engine}: {tried.total()} {what}, all noticed: {tables}\n")


@pytest.mark.parametrize("at_once", [seal_check.AT_ONCE, 1], ids=["few", "streamed"])
def test_a_break_names_its_table_its_row_and_its_link(
    full: Any, book_url: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of few rows the seals are taken at once, of many they are streamed: either way they are held."""
    monkeypatch.setattr(seal_check, "AT_ONCE", at_once)
    assert full.verify().ok
    with unguarded(book_url) as conn:
        conn.execute(text("UPDATE messages SET text = 'The saxophone is sold' WHERE turn = 1"))
    found = full.verify()
    thread = full.thread("session-42").id
    assert (found.ok, found.table, found.row) == (False, "messages", f"thread_id {thread} turn 1")
    assert found.why == f"messages, thread_id {thread} turn 1: it was altered"
    with full._database.read(OWNER) as tx:
        covering = tx.conn.execute(select(covers).where(covers.c.owner == OWNER, covers.c.link == found.link)).one()
        seal = tx.conn.execute(select(seals).where(seals.c.what == "messages", seals.c.key.endswith("\x1f1"))).one()
    assert covering.first <= seal.nth <= covering.last


# --- exports


def exported(book: Any) -> list[str]:
    stream = io.StringIO()
    book.export(stream)
    return stream.getvalue().splitlines()


def forgeries(lines: list[str], kinds: dict[str, Table]) -> Iterator[tuple[str, list[str]]]:
    """Every field of the first line of each kind, and lines added, moved and taken away."""
    first: dict[str, int] = {}
    for number, line in enumerate(lines[1:-1], 1):
        first.setdefault(json.loads(line)["kind"], number)
    assert set(first) == {kind for kind, table in kinds.items() if table.name not in NEVER_FURNISHED}
    for kind, number in first.items():
        told = json.loads(lines[number])
        for name in sorted(told.keys() - {"kind"}):
            changed = told | {name: other(kinds[kind], name, told[name])}
            yield f"{kind}: {name}", [*lines[:number], canonical_json(changed), *lines[number + 1 :]]
        yield f"{kind}: removed", [*lines[:number], *lines[number + 1 :]]
        yield f"{kind}: doubled", [*lines[:number], lines[number], *lines[number:]]
        yield f"{kind}: moved", [lines[0], lines[number], *(x for n, x in enumerate(lines[1:], 1) if n != number)]
    end = json.loads(lines[-1])
    for name in sorted(end.keys() - {"kind"}):
        yield f"end: {name}", [*lines[:-1], canonical_json(end | {name: "forged"})]
    yield "end: removed", lines[:-1]


def test_whoever_edits_an_export_is_found_out(full: Any, clock: Any, engine_name: str) -> None:
    lines, taken, tried = exported(full), [], Counter[str]()
    with Keepbook(":memory:", clock=clock) as kb:
        for what, forged in tried_here(forgeries(lines, full._database.tables.exported), engine_name):
            if forged == lines:  # moved to where it stands
                continue
            kind = what.split(":")[0]
            tried[kind] += 1
            # As one who mends the closing line; and as it is, which that line tells whatever was edited.
            attempts = [mended] if (mended := resummed(forged)) != lines else [forged]
            if tried[kind] == 1 or kind == "end":
                attempts.append(forged)
            if any(taken_in(kb, attempt) for attempt in attempts):
                taken.append(what)
        kb.book("new").import_(lines)
        assert exported(kb.book("new")) == lines
        assert kb.book("new").verify().ok
    uncovered = {what for what in taken if what.split(":")[0] in ("due", "meter") or what in LEASES}
    assert [what for what in taken if what not in uncovered] == []
    assert tried.total() > 100
    tell(engine_name, f"edits of an export but for {len(uncovered)} of what is not covered", tried)


def taken_in(kb: Any, lines: list[str]) -> bool:
    try:
        kb.book("new").import_(lines)
    except (Invalid, NotAllowed):
        return False
    kb.book("new").erase("new")
    return True


LEASES = {"thread: closing_until", "thread: closing_by", "agent: turn_until", "agent: turn_by"}
"""Not covered: with the closing line mended these come in, and say nothing about anybody."""


def resummed(lines: list[str]) -> list[str]:
    """The lines with a closing line that fits them, but for the chain's own hash."""
    counts: dict[str, int] = {}
    for line in lines[1:-1]:
        kind = json.loads(line)["kind"]
        counts[kind] = counts.get(kind, 0) + 1
    total = hashlib.sha256("".join(line + "\n" for line in lines[:-1]).encode()).hexdigest()
    end = {
        "kind": "end",
        "lines": len(lines) - 2,
        "counts": counts,
        "hash": json.loads(lines[-1]).get("hash"),
        "sum": total,
    }
    return [*lines[:-1], canonical_json(end)]


# --- who recomputes, and who cuts


def test_an_anchor_is_written_held_and_extended(full: Any, tmp_path: Path) -> None:
    file = tmp_path / "anchor"
    assert full.verify(anchor=file).ok
    assert full.verify(anchor=file).ok
    assert len(file.read_text().splitlines()) == 1
    full.notes.write("One more")
    assert full.verify(anchor=file).ok
    noted = [json.loads(line) for line in file.read_text().splitlines()]
    assert [one["owner"] for one in noted] == [OWNER, OWNER]
    assert noted[0]["link"] < noted[1]["link"]


def test_who_recomputes_every_hash_is_found_out_by_the_anchor(full: Any, book_url: str, tmp_path: Path) -> None:
    file = tmp_path / "anchor"
    full.verify(anchor=file)
    with unguarded(book_url) as conn:
        conn.execute(text("UPDATE notes SET text = 'Sell reeds' WHERE text = 'Buy reeds'"))
        recompute(conn, full._database.tables)
    assert full.verify().ok
    before = file.read_text()
    found = full.verify(anchor=file)
    assert not found.ok
    assert "rewritten" in found.why
    assert file.read_text() == before


def test_who_cuts_off_the_end_with_its_links_is_found_out_by_the_anchor(
    full: Any, book_url: str, tmp_path: Path
) -> None:
    full.notes.write("The last word")
    file = tmp_path / "anchor"
    full.verify(anchor=file)
    with unguarded(book_url) as conn:
        conn.execute(text("DELETE FROM notes WHERE text = 'The last word'"))
        last = conn.execute(select(covers).where(covers.c.owner == OWNER).order_by(covers.c.link.desc())).first()
        conn.execute(delete(seals).where(seals.c.owner == OWNER, seals.c.nth >= last.first))
        conn.execute(delete(covers).where(covers.c.owner == OWNER, covers.c.link == last.link))
    assert full.verify().ok
    found = full.verify(anchor=file)
    assert not found.ok
    assert "cut off" in found.why


def recompute(conn: Connection, tables: TableSet) -> None:
    """What somebody does who knows this program: new digests, new batches, new hashes from there on."""
    for what, table in tables.covered.items():
        for row in whole_rows(conn, table):
            key = row_key(table, row)
            seal = conn.execute(
                select(seals).where(
                    seals.c.owner == OWNER, seals.c.what == what, seals.c.key == key, seals.c.salt.isnot(None)
                )
            ).first()
            if seal is not None:
                digest = cover.row_digest(seal.salt, what, key, cover.values_to_seal(table, row))
                conn.execute(update(seals).where(*at(seals, seal._mapping)).values(digest=digest))
    chain = sorted([*whole_rows(conn, ledger), *whole_rows(conn, covers)], key=lambda row: row["link"])
    previous = ""
    for row in chain:
        row["previous"] = previous
        table = ledger if "seq" in row else covers
        if table is covers:
            batch = cover.Batch()
            mine = select(seals).where(seals.c.owner == OWNER, seals.c.nth.between(row["first"], row["last"]))
            for seal in conn.execute(mine.order_by(seals.c.nth)):
                batch.add(seal.nth, seal.what, seal.key, seal.was, seal.digest)
            row["digest"] = batch.digest()
        row["hash"] = previous = (entry_hash if table is ledger else cover.cover_hash)(row)
        told = {name: row[name] for name in ("previous", "digest", "hash")}
        conn.execute(update(table).where(*at(table, row)).values(told))


# --- what everybody shares


def test_whoever_edits_bars_or_events_is_found_out(full: Any, book_url: str, engine_name: str) -> None:
    """Every column of the first and the last row, a row added, a row removed, two rows swapped."""
    missed, tried = [], Counter[str]()
    with unguarded(book_url) as conn:
        for table in (BY_NAME[name] for name in sorted(MARKET)):
            columns = [column for column in table.c if column.name != "settled"]
            rows = [dict(row._mapping) for row in conn.execute(select(*columns).order_by(*table.primary_key.columns))]
            assert len(rows) > 1 or table.name in ("former_bars", "former_events")
            for what, statements in tried_here(market_edits(table, rows), engine_name):
                tried[table.name] += 1
                inner = conn.begin_nested()
                try:
                    for statement in statements:
                        conn.execute(statement)
                    found = [*find_breaks(conn, GOODS), *strays(conn)]
                finally:
                    inner.rollback()
                if not found:
                    missed.append(f"{table.name}: {what}")
        assert [*find_breaks(conn, GOODS), *strays(conn)] == []
    assert missed == []
    assert tried.total() > 20
    tell(engine_name, "edits of bars and events", tried)


def market_edits(table: Table, rows: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    key = [column.name for column in table.primary_key.columns]
    settled = {"settled": 1} if table.name == "batches" else {}
    for place, row in {"first": rows[0], "last": rows[-1]}.items():
        for name in row:
            changed = update(table).where(*at(table, row)).values({name: other(table, name, row[name])})
            yield f"{place} row, {name}", [changed]
        yield f"{place} row removed", [delete(table).where(*at(table, row))]
    forged = rows[0] | {key[-1]: other(table, key[-1], rows[0][key[-1]])} | settled
    yield "a row added", [insert(table).values(forged)]
    one, two = rows[0], rows[-1]
    told = [name for name in one if name not in key]
    if len(rows) > 1 and told:
        swapped = [(one, two), (two, one)]
        yield (
            "two rows swapped",
            [update(table).where(*at(table, a)).values({name: b[name] for name in told}) for a, b in swapped],
        )


def test_the_anchor_holds_the_chains_of_the_market_too(full: Any, book_url: str, tmp_path: Path) -> None:
    file = tmp_path / "anchor"
    assert full.installation.market.verify(file).ok
    assert full.verify(anchor=file).ok
    before = file.read_text()
    assert full.installation.market.verify(file).ok
    assert file.read_text() == before
    with unguarded(book_url) as conn:
        last = conn.execute(select(batches).order_by(batches.c.nth.desc())).first()
        conn.execute(delete(batches).where(batches.c.nth == last.nth))
        table, former = (market_events, former_events) if last.what == "events" else (bars, former_bars)
        for row in conn.execute(select(former).where(former.c.went == last.nth)).all():
            back = {name: value for name, value in row._mapping.items() if name not in ("went", "until")}
            conn.execute(delete(former).where(*at(former, row._mapping)))
            conn.execute(delete(table).where(*at(table, row._mapping)))
            conn.execute(insert(table).values(back))
        if last.what == "events":
            put_right(conn)
    assert full.installation.market.verify().ok
    (why,) = full.installation.market.verify(file).why
    assert "cut off" in why
    assert file.read_text() == before


def put_right(conn: Connection) -> None:
    """The index by symbol, after the events."""
    conn.execute(delete(event_symbols))
    for row in conn.execute(select(market_events)).all():
        for symbol in filter(None, row.symbols.split(";")):
            told = {"symbol": symbol, "kind": row.kind, "time": row.time, "event_id": row.id}
            conn.execute(insert(event_symbols).values(told))
