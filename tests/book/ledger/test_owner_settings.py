"""The preset and the zone of an owner are entries in the ledger: who set them, with undo, and never by an agent."""

import io
import json
from typing import Any

import pytest
from sqlalchemy import text

from keepbook import Conflict, Invalid, NotAllowed

BEFORE = {"preset": None, "zone": "UTC"}


def settings_of(book: Any) -> tuple[str, str]:
    return book.preset().name, book.zone


def test_what_is_configured_is_an_entry(alice: Any) -> None:
    done = alice.configure(preset="coach", zone="Europe/Oslo")
    (entry,) = alice.ledger()
    assert (entry.action, entry.actor, entry.memory_id, entry.event) == ("configure", "person", None, done.event)
    assert (entry.before, entry.after) == (BEFORE, {"preset": "coach", "zone": "Europe/Oslo"})
    assert (done.preset, done.zone) == settings_of(alice) == ("coach", "Europe/Oslo")
    assert alice.verify().ok


def test_what_stays_as_it_is_makes_no_entry(alice: Any) -> None:
    alice.configure(zone="Europe/Oslo")
    assert alice.configure(zone="Europe/Oslo").event is None
    assert alice.configure().event is None
    alice.configure(preset="coach", zone="Europe/Oslo")
    assert [entry.after for entry in alice.ledger()] == [{"preset": "coach"}, {"zone": "Europe/Oslo"}]


def test_a_setting_is_undone_and_redone(alice: Any) -> None:
    event = alice.configure(preset="coach", zone="Europe/Oslo").event
    undone = alice.undo(event)
    assert (undone.preset, undone.zone) == (None, "UTC")
    assert settings_of(alice) == ("general", "UTC")
    assert alice.undo(undone.event).preset == "coach"
    assert settings_of(alice) == ("coach", "Europe/Oslo")
    assert [(entry.action, entry.undoes) for entry in alice.ledger()] == [
        ("undo", undone.event), ("undo", event), ("configure", None),
    ]  # fmt: skip
    assert alice.verify().ok


def test_each_setting_is_undone_for_itself(alice: Any) -> None:
    preset, zone = alice.configure(preset="coach").event, alice.configure(zone="Europe/Oslo").event
    kept = alice.remember("Has a dog")
    again = alice.configure(zone="Asia/Tokyo").event
    with pytest.raises(Conflict, match=f"entry {again} .configure. set the same") as refused:
        alice.undo(zone)
    assert (refused.value.code, refused.value.details["by"]) == ("touched", again)
    alice.undo(preset)
    assert settings_of(alice) == ("general", "Asia/Tokyo")
    alice.undo(kept.event)
    assert alice.list().total == 0
    with pytest.raises(Conflict, match="undid it"):
        alice.undo(preset)


def test_a_preset_that_is_gone_does_not_come_back(alice: Any, kb: Any) -> None:
    event = alice.configure(preset="coach").event
    with kb._database.write("alice") as tx:  # as if it had been set where there was such a file
        tx.conn.execute(text("UPDATE owners SET preset = 'gone' WHERE owner = 'alice'"))
    alice.configure(preset="advisor")
    with pytest.raises(Invalid, match="no preset 'gone'"):
        alice.undo(alice.ledger(limit=1)[0].event)
    assert settings_of(alice)[0] == "advisor"
    assert event


@pytest.mark.parametrize("by", ["agent", "job", "extractor"])
def test_nobody_but_the_person_sets_or_undoes(alice: Any, by: str) -> None:
    event = alice.configure(preset="coach", zone="Europe/Oslo").event
    other = alice.acting(actor=by)
    with pytest.raises(NotAllowed):
        other.configure(preset="general")
    with pytest.raises(NotAllowed):
        other.undo(event)
    assert settings_of(alice) == ("coach", "Europe/Oslo")


def test_an_agent_sets_no_zone_by_a_memory(alice: Any) -> None:
    """What days and figures are counted by is the person's: a memory counts that they wrote."""
    alice.configure(zone="Europe/Oslo")
    agent = alice.acting(actor="agent", door="mcp")
    agent.remember("Lives by Asia/Tokyo", subject="timezone", confidence="asserted")
    assert alice.zone == "Europe/Oslo"
    alice.remember("By America/Lima now", subject="timezone", force=True)
    assert alice.zone == "America/Lima"


def test_an_agent_sets_no_zone_by_what_it_files_under_that_subject(kb: Any, alice: Any) -> None:
    """Neither words that it recorded itself, nor the person's."""
    agent = kb.book("alice", by="agent")
    for chat in (agent.thread("theirs"), alice.thread("mine")):
        chat.add("user", f"My timezone is {'Asia/Tokyo' if chat.session == 'theirs' else 'America/Lima'}")
        chat.close()
    for quoted in alice.list():
        agent.update(quoted.id, quoted.content, subject="timezone")
    assert [quoted.subject for quoted in alice.list()] == ["timezone", "timezone"]
    assert alice.zone == "UTC"
    alice.update("America/Lima", "My timezone is America/Lima", subject="timezone")
    assert alice.zone == "America/Lima"


def test_a_setting_that_no_entry_made_is_found(alice: Any, kb: Any) -> None:
    event = alice.configure(zone="Europe/Oslo").event
    with kb._database.write("alice") as tx:
        tx.conn.execute(text("UPDATE owners SET zone = 'Asia/Tokyo' WHERE owner = 'alice'"))
    found = alice.verify()
    assert (found.ok, found.broken) == (False, event)
    assert "owners" in (found.why or "")


def exported(book: Any) -> str:
    file = io.StringIO()
    book.export(file)
    return file.getvalue()


def test_settings_move_with_the_book(alice: Any, kb: Any) -> None:
    alice.configure(preset="coach")
    event = alice.configure(zone="Europe/Oslo").event
    alice.remember("Has a dog")
    bob = kb.book("bob")
    bob.configure(zone="Asia/Tokyo")  # the first steps of a new book, before the old one is brought in
    bob.import_(io.StringIO(exported(alice)))
    assert exported(bob) == exported(alice)
    assert settings_of(bob) == ("coach", "Europe/Oslo")
    bob.undo(event)
    assert (bob.zone, bob.verify().ok) == ("UTC", True)


def test_a_forged_owner_is_refused(alice: Any, kb: Any) -> None:
    alice.configure(zone="Europe/Oslo")
    lines = [json.loads(line) for line in exported(alice).splitlines()]
    assert [line["kind"] for line in lines][:3] == ["keepbook", "owner", "entry"]
    lines[2]["after"] = '{"created_at":"2020-01-01T00:00:00.000000Z"}'
    with pytest.raises(Invalid) as refused:
        kb.book("bob").import_(io.StringIO("\n".join(json.dumps(line) for line in lines)))
    assert refused.value.code == "altered"
    assert kb.book("bob").ledger() == []
