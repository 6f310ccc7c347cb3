"""`db check`: whatever is missing, altered or added in the database's own catalogue is named, and guards come back."""

import sqlite3
from contextlib import closing
from typing import Any

import psycopg
import pytest

from keepbook import Keepbook
from keepbook.storage.schema_check import differences, repair_guards

SQLITE = {
    "DROP TRIGGER ledger_appends": "trigger ledger_appends is missing",
    "DROP TRIGGER messages_made_is_noted": "trigger messages_made_is_noted is missing",
    "CREATE TRIGGER mine AFTER INSERT ON notes BEGIN SELECT 1; END": "trigger mine is none of this version's",
    "DROP INDEX threads_by_touch": "index threads_by_touch is missing",
    "ALTER TABLE notes ADD COLUMN extra TEXT": "table notes is not as this version installs it",
    "CREATE TABLE loot (a TEXT)": "table loot is none of this version's",
}
POSTGRESQL = {
    "DROP TRIGGER ledger_appends ON ledger": "trigger ledger.ledger_appends is missing",
    "ALTER TABLE versions DISABLE TRIGGER versions_never_change": (
        "trigger versions.versions_never_change is not as this version installs it"
    ),
    "DROP POLICY one_owner ON messages": "policy messages.one_owner is missing",
    "ALTER TABLE notes NO FORCE ROW LEVEL SECURITY": "policy notes in force is not as this version installs it",
    "REVOKE INSERT ON notes FROM keepbook_app": "right notes INSERT is missing",
    "GRANT DELETE ON ledger TO keepbook_app": "right ledger DELETE is none of this version's",
    "ALTER TABLE memories DROP CONSTRAINT archived_with_a_reason": (
        "constraint memories.archived_with_a_reason is missing"
    ),
    "ALTER TABLE notes ADD COLUMN extra text": "column notes.extra is none of this version's",
    "CREATE OR REPLACE FUNCTION keepbook_refuse(why text) RETURNS void LANGUAGE sql AS $$ $$": (
        "function keepbook_refuse is not as this version installs it"
    ),
}
GUARDS = ("trigger", "policy", "right", "function")


def change(url: str, statement: str) -> None:
    connect: Any = psycopg.connect if url.startswith("postgresql:") else sqlite3.connect
    with closing(connect(url)) as raw:
        raw.execute(statement)
        raw.commit()


def test_every_difference_is_named_and_guards_are_put_back(book_url: str, engine_name: str) -> None:
    Keepbook(book_url).close()
    assert differences(book_url) == []
    assert repair_guards(book_url) == []
    made = SQLITE if engine_name == "sqlite" else POSTGRESQL
    for statement in made:
        change(book_url, statement)
    assert set(differences(book_url)) == set(made.values())
    guards = {words for words in made.values() if words.split()[0] in GUARDS}
    assert set(repair_guards(book_url)) == guards
    assert set(differences(book_url)) == set(made.values()) - guards


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_after_the_repair_the_guards_hold_again(book_url: str, clock: Any) -> None:
    with Keepbook(book_url, clock=clock) as kb:
        kb.book("alice").notes.write("Buy reeds")
    change(book_url, "DROP TRIGGER covers_never_change")
    repair_guards(book_url)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        change(book_url, "UPDATE covers SET digest = 'x'")
