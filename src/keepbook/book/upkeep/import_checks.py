"""Checks what an imported book contains: an import is data, and nothing in it acts.

Ids are checked against their alphabet, so that no id is a path or an option. Actors are checked against what the
importer may act as, so that nobody imports entries in another's name. Each extension checks what in its own rows could
act, such as programs; these wait until the person of this installation allows them.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from keepbook.book.ground.ids import ALPHABET, ID_LENGTH
from keepbook.book.ground.when import parse_stamp
from keepbook.book.ledger.ledger import AUTOMATIC_ACTORS
from keepbook.book.memory.block_rules import digest_of_rules, read_rules
from keepbook.book.memory.labels import clean_metadata, clean_tags
from keepbook.book.owners.authority import Actor
from keepbook.book.upkeep.hooks import upkeep_hooks
from keepbook.errors import Invalid, KeepbookError, NotAllowed
from keepbook.patterns import regex
from keepbook.storage.tables import TableSet
from keepbook.storage.tables.declare import rules_of

ID = regex(rf"[{ALPHABET}]{{{ID_LENGTH}}}")
INSTANT = regex(r"(^|_)(at|time|until|known|valid_from|window_from)$")
"""Matches the names of columns that hold an instant."""


# Rules


def acts_as(hand: Actor) -> tuple[str, ...]:
    """The actors whose entries an importer may bring in: a person may bring in a whole book, everybody else their
    own."""
    if hand.is_person:
        return ("person", "agent", *AUTOMATIC_ACTORS)
    return ("agent",)


def check_import(found: Mapping[str, Sequence[Mapping[str, Any]]], hand: Actor, tables: TableSet) -> None:
    """Refuse a file that is no book of ours, or that has entries of an actor as which the importer may not act."""
    for kind, table in tables.exported.items():
        for row in found.get(kind, ()):
            for column in rules_of(table).ids:
                value = row.get(column)
                if value is not None and not (isinstance(value, str) and ID.fullmatch(value)):
                    raise _refusal(f"{value!r} is no {column} of a {kind}")
    _check_instants(found)
    _check_labels(found.get("version", ()))
    _check_block_rules(found.get("block_rules", ()))
    for _, check in upkeep_hooks("check_import"):
        check(found)
    known = acts_as(hand)
    for row in (*found.get("entry", ()), *found.get("load", ())):
        if row["actor"] not in known:
            raise NotAllowed(
                f"the file holds entries of {row['actor']!r}, on whose word you may not write; nothing was imported",
                code="actor",
            )


def _check_instants(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Refuse values that are no instants, which every page that shows them would fail on."""
    for kind, rows in found.items():
        columns = [name for name in (rows[0] if rows else ()) if INSTANT.search(name)]
        for row in rows:
            for column in columns:
                if isinstance(row[column], str):
                    try:
                        parse_stamp(row[column])
                    except Invalid:
                        raise _refusal(f"{row[column]!r} is no {column} of a {kind}") from None


def _check_labels(versions: Sequence[Mapping[str, Any]]) -> None:
    """Refuse labels that are not spelled as the book spells them, which every page that shows them would fail on."""
    for row in versions:
        for column, clean in (("metadata", clean_metadata), ("tags", clean_tags)):
            held = row.get(column)
            try:
                fits = held is None or clean(json.loads(held)) == held
            except (ValueError, RecursionError, TypeError, KeepbookError):
                fits = False
            if not fits:
                raise _refusal(f"{held!r} are no {column} of a version")


def _check_block_rules(rows: Sequence[Mapping[str, Any]]) -> None:
    """Refuse rules that do not fit their digest: else a block could claim rules that it was not rendered by."""
    for row in rows:
        try:
            fits = bool(read_rules(row["rules"])) and digest_of_rules(row["rules"]) == row["digest"]
        except (KeepbookError, RecursionError):
            fits = False
        if not fits:
            raise _refusal(f"{row['digest']!r} is no digest of these block_rules")


def _refusal(why: str) -> Invalid:
    return Invalid(f"{why[:200]}; nothing was imported", field="file", code="altered")
