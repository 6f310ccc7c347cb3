"""Verification: whoever gets past the triggers and edits a row is found out, and the first broken entry is named."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
from tests.book.ledger.unguarded import unguarded, verified

from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import changes
from keepbook.presets import load_preset

FORGED = "2035-01-01T00:00:00.123456Z"

# Every book below, entry by entry:
OSLO, TEA, MOVE, LINK, JAZZ, CONFIRM, FORGET, SECRET, PURGE, LAST = range(1, 11)
SOME = 0  # no entry speaks of it, or two do: any may be named, one must be


def fill(kb: Any, owner: str) -> dict[str, str]:
    """The ids by which a forger finds the rows of this book."""
    book = kb.book(owner)
    oslo = book.remember("Lives in Oslo", category="profile", subject="Home", summary="Oslo", thread_id="c1")
    tea = book.remember("Prefers tea", body="green", turn_ids=["u1"], valid_until="2040")
    book.update(oslo.id, "Lives in Rome")
    link = book.link(oslo.id, tea.id, "because_of")
    origin = Origin("extractor", "chat", source="extracted")
    with kb._database.write(owner) as tx:
        jazz = changes.remember(
            tx, origin, load_preset("general"), changes.Statement("Likes jazz", score=0.8, made_by="rules")
        )
    book.confirm(oslo.id)
    book.forget(tea.id)
    secret = book.remember("A secret to be purged")
    book.delete(secret.id, forever=True)
    book.remember("Has a cat")
    return {"oslo": oslo.id, "tea": tea.id, "jazz": jazz.id, "link": link.id, "secret": secret.id}


@contextmanager
def guards_off(engine_name: str, book_url: str) -> Iterator[Callable[[str], Any]]:
    """Statements as only an administrator can run them, who has switched the triggers off."""
    if engine_name == "sqlite":
        with closing(sqlite3.connect(book_url, isolation_level=None)) as connection:
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                connection.execute(f"DROP TRIGGER {name}")
            yield connection.execute
    else:
        with psycopg.connect(book_url, autocommit=True) as connection:

            def execute(statement: str) -> Any:
                with connection.transaction():  # what is set for one transaction, a cluster's workers are told too
                    connection.execute("SET LOCAL session_replication_role = replica")
                    return connection.execute(statement.encode())

            yield execute


def said(memory: str, column: str, value: str, version: int = 1) -> str:
    return (
        f"UPDATE versions SET {column} = {value} WHERE {{own}} AND memory_id = '{{{memory}}}' AND version = {version}"
    )


def entry(seq: int, changes: str) -> str:
    return f"UPDATE ledger SET {changes} WHERE {{own}} AND seq = {seq}"


def memory(name: str, changes: str) -> str:
    return f"UPDATE memories SET {changes} WHERE {{own}} AND id = '{{{name}}}'"


def link(changes: str) -> str:
    return f"UPDATE links SET {changes} WHERE {{own}} AND id = '{{link}}'"


FORGERIES: dict[str, tuple[int, list[str]]] = {
    # what is done to the rows, and the first entry that no longer holds
    "an old content": (OSLO, [said("oslo", "content", "'Lives in Bonn'")]),
    "the current content": (MOVE, [said("oslo", "content", "'Lives in Bonn'", 2)]),
    "a summary": (OSLO, [said("oslo", "summary", "'Bonn'")]),
    "a body": (TEA, [said("tea", "body", "'black'")]),
    "a body made up": (MOVE, [said("oslo", "body", "'made up'", 2)]),
    "a source": (OSLO, [said("oslo", "source", "'imported'")]),
    "a score": (JAZZ, [said("jazz", "score", "0.9")]),
    "a maker": (JAZZ, [said("jazz", "made_by", "'another model'")]),
    "a chat": (OSLO, [said("oslo", "thread_id", "'c2'")]),
    "turns": (TEA, [said("tea", "turn_ids", "'[]'")]),
    "a beginning in the world": (TEA, [said("tea", "valid_from", f"'{FORGED}'")]),
    "an end in the world": (TEA, [said("tea", "valid_until", "NULL")]),
    "an instant of recording": (TEA, [said("tea", "recorded_at", f"'{FORGED}'")]),
    "an instant of retirement": (SOME, [said("oslo", "retired_at", f"'{FORGED}'")]),
    "a copy that is none": (MOVE, [said("oslo", "restored_from", "1", 2)]),
    "a quotation that is none": (TEA, [said("tea", "quoted", "1, spans = '[]'")]),
    "a correction that is none": (MOVE, [said("oslo", "correction", "1", 2)]),
    "a version that is gone": (OSLO, ["DELETE FROM versions WHERE {own} AND memory_id = '{oslo}' AND version = 1"]),
    "the entry of a version": (OSLO, [said("oslo", "event", "99")]),
    "who did it": (TEA, [entry(TEA, "actor = 'agent'")]),
    "through which door": (TEA, [entry(TEA, "door = 'mcp'")]),
    "in which chat": (MOVE, [entry(MOVE, "thread_id = 'c7'")]),
    "what was done": (FORGET, [entry(FORGET, "action = 'delete'")]),
    "when it was done": (MOVE, [entry(MOVE, f"at = '{FORGED}'")]),
    "to which memory": (CONFIRM, [entry(CONFIRM, "memory_id = '{tea}'")]),
    "to which other memory": (LINK, [entry(LINK, "other_id = '{jazz}'")]),
    "what it undid": (FORGET, [entry(FORGET, "undoes = 2")]),
    "the state before": (FORGET, [entry(FORGET, "before = NULL")]),
    "the state after": (CONFIRM, [entry(CONFIRM, "after = (SELECT after FROM ledger l WHERE l.{own} AND l.seq = 1)")]),
    "a salt": (TEA, [entry(TEA, "salt = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'")]),
    "swapped salts": (OSLO, [entry(OSLO, "salt = '{salt of tea}'"), entry(TEA, "salt = '{salt of oslo}'")]),
    "a digest": (TEA, [entry(TEA, "digest = 'aaaa'")]),
    "a hash": (TEA, [entry(TEA, "hash = 'aaaa'")]),
    "the hash before": (TEA, [entry(TEA, "previous = 'aaaa'")]),
    "an entry that is gone": (MOVE, ["DELETE FROM ledger WHERE {own} AND seq = 3"]),
    "the first entry that is gone": (OSLO, ["DELETE FROM ledger WHERE {own} AND seq = 1"]),
    "a blanked entry": (CONFIRM, [entry(CONFIRM, "before = NULL, after = NULL, salt = NULL")]),
    "words in a blank entry": (SECRET, [entry(SECRET, "after = 'null'")]),
    "words in the entry of a purge": (PURGE, [entry(PURGE, "before = 'null'")]),
    "a blanked text": (TEA, [said("tea", "content", "NULL")]),
    "a blanked memory": (
        TEA,
        [entry(seq, "before = NULL, after = NULL, salt = NULL") for seq in (TEA, FORGET)]
        + [said("tea", "content", "NULL"), said("tea", "body", "NULL")],
    ),
    "a purge that never was": (
        TEA,
        [entry(seq, "before = NULL, after = NULL, salt = NULL") for seq in (TEA, FORGET)]
        + [said("tea", "content", "NULL"), said("tea", "body", "NULL"), memory("tea", f"purged_at = '{FORGED}'")]
        + [f"INSERT INTO erasures (owner, memory_id, at, event) VALUES ('{{owner}}', '{{tea}}', '{FORGED}', 7)"],
    ),
    "a hidden memory": (SOME, [memory("oslo", f"purged_at = '{FORGED}'")]),
    "a purge taken back": (SECRET, ["DELETE FROM erasures WHERE {own} AND memory_id = '{secret}'"]),
    "a category": (CONFIRM, [memory("oslo", "category = 'fact'")]),
    "a subject": (CONFIRM, [memory("oslo", "subject = 'Away'")]),
    "a scope": (CONFIRM, [memory("oslo", "scope = 'cook'")]),
    "an importance": (CONFIRM, [memory("oslo", "importance = 0.51")]),
    "a confirmation": (CONFIRM, [memory("oslo", "last_confirmed_at = NULL")]),
    "a promotion": (JAZZ, [memory("jazz", "confidence = 'asserted'")]),
    "a forgetting": (FORGET, [memory("tea", "archived_at = NULL, archived_reason = NULL")]),
    "a reason": (FORGET, [memory("tea", "archived_reason = 'agent_forget'")]),
    "a deletion": (JAZZ, [memory("jazz", f"trashed_at = '{FORGED}'")]),
    "a creation": (JAZZ, [memory("jazz", f"created_at = '{FORGED}'")]),
    "the version that counts": (CONFIRM, [memory("oslo", "version = 1")]),
    "a memory that is gone": (
        JAZZ,
        [
            "DELETE FROM versions WHERE {own} AND memory_id = '{jazz}'",
            "DELETE FROM memories WHERE {own} AND id = '{jazz}'",
        ],
    ),
    "the last memory with its entry": (SOME, ["DELETE FROM ledger WHERE {own} AND seq = 10"]),
    "a memory smuggled in": (
        SOME,
        [
            "INSERT INTO memories "
            "(owner, id, confidence, importance, version, created_at, edited_at, updated_at, event) "
            "SELECT owner, 'smuggled', confidence, importance, 1, created_at, edited_at, updated_at, 5 "
            "FROM memories WHERE {own} AND id = '{jazz}'",
            "INSERT INTO versions "
            "(owner, memory_id, version, content, source, valid_from, recorded_at, turn_ids, event) "
            "SELECT owner, 'smuggled', 1, 'Never said by anyone', 'profile', valid_from, recorded_at, turn_ids, 99 "
            "FROM versions WHERE {own} AND memory_id = '{jazz}'",
        ],
    ),
    "a version smuggled in": (
        SOME,
        [
            said("oslo", "retired_at", f"'{FORGED}'", 2),
            "INSERT INTO versions "
            "(owner, memory_id, version, content, source, valid_from, recorded_at, turn_ids, event) "
            "SELECT owner, memory_id, 3, 'Never said by anyone', 'profile', valid_from, recorded_at, turn_ids, 99 "
            "FROM versions WHERE {own} AND memory_id = '{oslo}' AND version = 2",
        ],
    ),
    "a removed link": (LINK, [link(f"removed_at = '{FORGED}'")]),
    "a relation": (LINK, [link("relation = 'contradicts'")]),
    "an end of a link": (LINK, [link("to_id = '{jazz}'")]),
    "a link that is gone": (LINK, ["DELETE FROM links WHERE {own} AND id = '{link}'"]),
    "a link smuggled in": (
        SOME,
        [
            "INSERT INTO links (owner, id, from_id, to_id, relation, created_at, event) "
            "SELECT owner, 'smuggled', to_id, from_id, relation, created_at, 4 FROM links WHERE {own}",
        ],
    ),
}  # fmt: skip


def test_a_book_that_nobody_touched_verifies(kb: Any) -> None:
    assert kb.book("nobody").verify().ok
    assert kb.book("nobody").verify().entries == 0
    fill(kb, "alice")
    found = kb.book("alice").verify()

    assert (found.ok, found.entries, found.broken) == (True, LAST, None)


def test_every_forgery_is_found_and_the_first_broken_entry_named(kb: Any, book_url: str) -> None:
    """One book, every forgery made and taken back."""
    alice, answers = kb.book("alice"), {}
    names = fill(kb, "alice") | {"owner": "alice", "own": "owner = 'alice'"}
    with unguarded(book_url) as conn:
        for seq, of in ((OSLO, "oslo"), (TEA, "tea")):
            salt = conn.exec_driver_sql(f"SELECT salt FROM ledger WHERE owner = 'alice' AND seq = {seq}")
            names[f"salt of {of}"] = salt.scalar_one()
        for name, (_, statements) in FORGERIES.items():
            forging = conn.begin_nested()
            for statement in statements:
                conn.exec_driver_sql(statement.format(**names))
            found = verified(alice, conn)
            forging.rollback()
            assert found.ok == (found.broken is None and found.link is None)
            answers[name] = SOME if found.broken and FORGERIES[name][0] == SOME else found.broken
        assert verified(alice, conn).ok

    expected = {name: broken for name, (broken, _) in FORGERIES.items()}
    assert {name: (answers[name], broken) for name, broken in expected.items() if answers[name] != broken} == {}


def test_a_forgery_in_one_book_does_not_touch_another(kb: Any, engine_name: str, book_url: str) -> None:
    fill(kb, "alice")
    fill(kb, "bob")
    with guards_off(engine_name, book_url) as execute:
        execute("UPDATE ledger SET actor = 'job' WHERE owner = 'alice' AND seq = 4")

    assert kb.book("alice").verify().broken == LINK
    assert kb.book("bob").verify().ok


def test_a_hash_that_fits_the_next_entry_only_is_found(kb: Any, engine_name: str, book_url: str) -> None:
    fill(kb, "alice")
    with guards_off(engine_name, book_url) as execute:
        execute("UPDATE ledger SET hash = 'aaaa' WHERE owner = 'alice' AND seq = 2")
        execute("UPDATE ledger SET previous = 'aaaa' WHERE owner = 'alice' AND seq = 3")

    assert kb.book("alice").verify().broken == TEA


def test_what_was_purged_leaves_nothing_to_guess_from_and_the_chain_whole(
    kb: Any, engine_name: str, book_url: str
) -> None:
    secret = fill(kb, "alice")["secret"]
    with guards_off(engine_name, book_url) as execute:
        rows = execute(f"SELECT * FROM versions WHERE memory_id = '{secret}'").fetchall()
        rows += execute(f"SELECT * FROM memories WHERE id = '{secret}'").fetchall()
        rows += execute(f"SELECT * FROM terms WHERE memory_id = '{secret}'").fetchall()
        entries = execute(f"SELECT before, after, salt FROM ledger WHERE memory_id = '{secret}'").fetchall()

    assert len(rows) == len(entries) == 2
    assert "purge" not in str(rows)
    assert set(entries) == {(None, None, None)}
    assert kb.book("alice").verify().ok
