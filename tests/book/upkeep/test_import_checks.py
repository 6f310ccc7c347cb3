"""An import is data: nothing in it acts, nobody speaks for another, and what is no book of ours is refused early."""

import io
from typing import Any

import pytest
from tests.extensions.storage.every_table import TABLES

from keepbook import Keepbook
from keepbook.book.memory.block_rules import SpelledRules, digest_of_rules, spell_rules
from keepbook.book.owners.authority import Actor
from keepbook.book.upkeep import export_lines, import_checks
from keepbook.book.upkeep.importers import lists
from keepbook.errors import Invalid, NotAllowed
from keepbook.presets import load_preset


def exported(book: Any) -> str:
    out = io.StringIO()
    book.export(out)
    return out.getvalue()


@pytest.mark.parametrize("at", ["", "yesterday", "2026-02-30T00:00:00.000000Z", "\u202e", "2026-03-01"])
def test_what_is_no_instant_does_not_come_in(at: str) -> None:
    """No ledger covers when a note was written: every page that shows one would meet it."""
    for kind, column in (("note", "created_at"), ("injected", "known"), ("due", "at")):
        with pytest.raises(Invalid, match=f"is no {column} of a {kind}"):
            import_checks.check_import({kind: [{"id": "abcdefgh", column: at}]}, Actor("person"), TABLES)


def test_rules_of_a_block_come_in_under_their_own_digest() -> None:
    rules = spell_rules(load_preset("general"))
    forged = (
        rules._replace(rules=rules.rules.replace("have told", "never told")),
        rules._replace(digest=rules.digest[::-1]),
        *(SpelledRules(digest_of_rules(text), text) for text in ("{}", "[" * 9999, rules.rules.replace("365.0", "0"))),
    )
    import_checks.check_import({"block_rules": [rules._asdict()]}, Actor("person"), TABLES)
    for one in forged:
        with pytest.raises(Invalid, match="is no digest of these block_rules"):
            import_checks.check_import({"block_rules": [one._asdict()]}, Actor("person"), TABLES)


def test_nobody_brings_in_entries_on_another_word(kb: Keepbook) -> None:
    rows = {"entry": [{"actor": "person"}]}
    import_checks.check_import(rows, Actor("person"), TABLES)
    for kind in ("agent", "service", "bound"):
        with pytest.raises(NotAllowed) as refused:
            import_checks.check_import(rows, Actor(kind), TABLES)
        assert refused.value.code == "actor"
    alice = kb.book("alice")
    alice.remember("Lives in Oslo")
    text = exported(alice)
    with pytest.raises(NotAllowed):
        kb.book("bob", by="agent").import_(io.StringIO(text))
    assert kb.book("bob").ledger() == []


@pytest.mark.parametrize("engine_name", ["sqlite"], indirect=True)
def test_a_file_is_refused_at_its_first_wrong_line(kb: Keepbook, monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[int]()
    parsed = export_lines._parse_line
    monkeypatch.setattr(
        export_lines, "_parse_line", lambda text, number: (read.append(number), parsed(text, number))[1]
    )
    many = ['"x"'] * (lists.MOST + 1)
    for texts in (many, ["hello there"] * (lists.MOST + 1)):
        with pytest.raises(Invalid) as refused:  # a list of texts it could be, but not of so many
            kb.book("bob").import_(texts)
        assert refused.value.code == "too_many"
    with pytest.raises(Invalid) as refused:
        kb.book("bob").import_(['{"kind":"keepbook","format":1}', *many])
    assert refused.value.details["line"] == 2
    assert max(read) < 10, "the rest is not even read"
    assert kb.book("bob").ledger() == []
