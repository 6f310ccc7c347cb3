"""Books of earlier releases are brought up by this one and go on; what was released never changes.

A release pins its migration by a hash and keeps a small book of its schema, as SQL, with something in every table
(`scripts/schema.py freeze`). Until the first release today's schema stands in for both, made anew by each test.
"""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from tests.extensions.storage.every_table import BY_NAME
from tests.furnished import NEVER_FURNISHED, OWNER, SAID, brought_back, dumped, furnished

from keepbook import Keepbook
from keepbook.storage import schema
from keepbook.storage.database import upgrade

KEPT = Path(__file__).parent / "released"
NOW = "2026-12-31T09:00:00Z"


@pytest.fixture(params=schema.REVISIONS)
def released(request: pytest.FixtureRequest, engine_name: str, book_url: str, clock: Any) -> str:
    """The book of one release, as SQL: as it was kept then, or of the schema that is still open."""
    revision = str(request.param)
    clock.set(NOW)
    if revision in schema.PINNED:
        return (KEPT / f"{revision}_{engine_name}.sql").read_text(encoding="utf-8")
    with Keepbook(book_url, clock=clock) as kb:
        furnished(kb)
    return dumped(book_url)


def filled(kb: Any) -> dict[str, int]:
    """How many rows each table has, seen with the owner in force."""
    tables = BY_NAME.keys() - NEVER_FURNISHED
    with kb._database.read(OWNER) as tx:
        return {name: tx.conn.execute(text(f'SELECT count(*) FROM "{name}"')).scalar_one() for name in sorted(tables)}


def test_the_small_book_has_something_in_every_table(book_url: str, clock: Any) -> None:
    clock.set(NOW)
    with Keepbook(book_url, clock=clock) as kb:
        furnished(kb)
        assert [name for name, rows in filled(kb).items() if not rows] == []


@pytest.mark.process  # pg_dump and psql
def test_the_book_of_a_release_is_brought_up_and_goes_on(
    released: str, empty_url: str, engine_name: str, clock: Any, tmp_path: Path
) -> None:
    place = str(tmp_path / "older.db") if engine_name == "sqlite" else empty_url
    brought_back(released, place)
    if engine_name == "postgresql":
        upgrade(place)
    with Keepbook(place, clock=clock) as kb:
        alice = kb.book(OWNER)
        assert alice.verify().ok
        assert [name for name, rows in filled(kb).items() if not rows] == []
        tea = alice.recall("white tea")[0]
        assert [one.content for one in alice.history(tea.id)] == ["Drinks green tea", "Drinks white tea"]
        assert "Owns a teapot" in alice.inject("outside-1")
        assert alice.thread("session-42").messages()[0].text == SAID
        assert alice.trading.lessons()
        assert alice.decisions.list()
        changed = alice.update(tea.id, "Drinks black tea")
        assert alice.undo(changed.event).content == "Drinks white tea"
        assert alice.thread("session-42").add("user", "And a strap").turn == 3
        alice.delete(tea.id, forever=True)
        assert alice.verify().ok
        assert alice.erase(confirm=OWNER).counts["memories"]


def test_what_was_released_never_changes() -> None:
    """The hash of a release is its promise; whoever changes such a file breaks every book made with it."""
    assert {revision: schema.fingerprint(revision) for revision in schema.PINNED} == schema.PINNED
    assert set(schema.REVISIONS) - set(schema.PINNED) <= {schema.REVISIONS[-1]}
    for revision in schema.PINNED:
        assert {path.name for path in KEPT.glob(f"{revision}_*")} == {
            f"{revision}_{engine}.sql" for engine in schema.ENGINES
        }


def test_a_changed_migration_has_another_fingerprint(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hash sees a single sign, on either engine: without that the pin would hold nothing."""
    told = {engine: schema.frozen("0001", engine) for engine in schema.ENGINES}
    seen = {schema.fingerprint.__wrapped__("0001")}
    for engine in schema.ENGINES:
        changed = told | {engine: told[engine].replace("guard", "Guard", 1)}
        monkeypatch.setattr(schema, "frozen", lambda _, engine, changed=changed: changed[engine])
        seen.add(schema.fingerprint.__wrapped__("0001"))
    assert len(seen) == 3
    assert schema.schema_mark("0001") == schema.HEAD


@pytest.mark.parametrize("engine", schema.ENGINES)
def test_the_open_migration_is_what_the_tables_and_guards_say(engine: str) -> None:
    """If this fails: `python scripts/schema.py write`."""
    newest = schema.REVISIONS[-1]
    if newest not in schema.PINNED:
        assert schema.frozen(newest, engine) == schema.shipped_sql(engine)
