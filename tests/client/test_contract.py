"""One contract for every place: the same methods, values and errors, whether the book is here, elsewhere or awaited."""

import io
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from keepbook import (
    Ambiguous,
    Conflict,
    Hit,
    Invalid,
    Keepbook,
    Link,
    Memory,
    NotAllowed,
    NotFound,
    Page,
    Version,
    Written,
    to_json,
)
from keepbook.book.chats.closing_result import ClosingResult
from keepbook.book.ledger.loads import Load
from keepbook.book.memory.links import MemoryDetail


def test_memories_are_kept_changed_and_looked_at(book: Any) -> None:
    since = datetime(2024, 3, 1, 12, tzinfo=UTC)
    made = book.remember(
        "Lives in Oslo", category="profile", subject="home", body="By the\nharbour", importance=0.8, valid_from=since,
        tags={"b", "a"}, metadata={"source": "crm & mail"}, turn_ids=[3, "4"], thread_id="chat-1",
    )  # fmt: skip
    assert type(made) is Written
    assert (made.content, made.category, made.valid_from, made.tags) == ("Lives in Oslo", "profile", since, ("a", "b"))
    assert (made.metadata, made.turn_ids, made.source) == ({"source": "crm & mail"}, ("3", "4"), "profile")
    again = book.remember("Lives in Oslo", category="fact", subject="Home")
    assert (again.unchanged, again.id, again.version) == (True, made.id, 1)
    assert again.last_confirmed_at is not None
    changed = book.update("in Oslo", "Lives in Bergen / Åsane", valid_until=since + timedelta(days=9000))
    assert (changed.version, changed.body, changed.tags) == (2, made.body, made.tags)
    assert book.update(made.id, changed.content, valid_until="", expect_version=2).valid_until is None

    found = book.get(made.id)
    assert type(found) is MemoryDetail
    assert [type(version) for version in found.versions] == [Version] * 3
    assert book.history("Bergen / Åsane") == found.versions
    assert book.find("Bergen") == made.id
    assert found.valid_from.tzinfo is UTC
    whole = book.list(tags=["a"], metadata={"source": "crm & mail"})
    assert (type(whole), whole.total, [type(one) for one in whole]) == (Page, 1, [Memory])
    assert asdict(whole[0]) == {
        name: value for name, value in asdict(found).items() if name not in ("versions", "links")
    }
    assert book.list(q="BERGEN", subject="Home", scope="*", state="all", limit=1).next is None


def test_times_are_said_in_words_or_in_iso(book: Any) -> None:
    book.configure(zone="Europe/Oslo")
    made = book.remember("Rents a boat", since="March 2021", until="2099-05-01")
    assert (made.valid_from, made.valid_until) == (
        datetime(2021, 2, 28, 23, tzinfo=UTC), datetime(2099, 4, 30, 22, tzinfo=UTC)
    )  # fmt: skip
    changed = book.update(made.id, "Rents a large boat", since=datetime(2022, 3, 1, tzinfo=UTC), until="")
    assert (changed.valid_from, changed.valid_until) == (datetime(2022, 3, 1, tzinfo=UTC), None)
    for wrong in ({"since": "some day"}, {"since": "2021", "valid_from": "2021"}):
        with pytest.raises(Invalid) as refused:
            book.remember("Likes tea", **wrong)
        assert refused.value.field == "since"
    assert [one.content for one in book.as_of(known="tomorrow", valid="June 2022")] == ["Rents a large boat"]
    assert "Rents a large boat" not in book.block(valid="June 2019")
    assert list(book.recall_chats("boat", since="last year", until="tomorrow")) == []
    assert [line.day.year for line in book.timeline("the boat", since="March 2021")] == [2022]


def test_what_is_put_away_comes_back(book: Any) -> None:
    made = book.remember("Likes tea")
    with pytest.raises(Conflict) as stale:
        book.forget(made.id, expect_version=2)
    assert stale.value.code == "version"
    assert book.forget(made.id, "user_corrected", expect_version=1).archived_reason == "user_corrected"
    assert book.restore(made.id, expect_version=1).state == "active"
    assert book.confirm(made.id).last_confirmed_at is not None
    assert book.demote(made.id).confidence == "inferred"
    promoted = book.promote(made.id)
    assert book.undo(promoted.event).confidence == "inferred"
    same = book.demote(made.id)
    with pytest.raises(Invalid) as nothing:
        book.undo(same.event)
    assert (same.event, nothing.value.field) == (None, "event")
    assert book.delete("Likes tea").state == "trash"
    assert book.list(state="trash").total == 1
    assert book.delete(made.id, forever=True) is None
    with pytest.raises(NotFound) as gone:
        book.get(made.id)
    assert (gone.value.code, gone.value.field) == ("not_found", "id")


def test_links_join_and_are_undone(book: Any) -> None:
    one, two = book.remember("Sold the car"), book.remember("Rides a bicycle")
    link = book.link(one.id, two.id, "because_of")
    assert (type(link), link.relation) == (Link, "because_of")
    removed = book.unlink(link.id)
    assert type(book.undo(removed.event)) is Link
    assert [one.id for one in book.get(one.id).links] == [link.id]


def test_questions_are_answered_with_reasons(book: Any) -> None:
    made = book.remember("The dog is called Bo", tags=["pets"])
    then = book.get(made.id).recorded_at
    book.update(made.id, "The dog is called Kit")
    (hit,) = book.recall("what is the dog called?", tags=["pets"])
    assert (type(hit), hit.id, hit.content) == (Hit, made.id, "The dog is called Kit")
    assert hit.reasons == ("words: dog, call",)
    assert book.recall("dog", known=then)[0].content == "The dog is called Bo"
    assert [memory.content for memory in book.as_of(known=then)] == ["The dog is called Bo"]
    assert book.recall("dog", tags=["cars"]) == []
    with pytest.raises(Invalid) as empty:
        book.recall(" ")
    assert empty.value.field == "query"


def test_the_block_keeps_its_bytes(book: Any) -> None:
    book.remember("Likes tea", category="preference")
    given = book.inject("session 1")
    book.remember("Likes cake", category="preference")
    assert book.inject("session 1") == book.replay("session 1") == given
    block, rendered = book.block(), book.rendered()
    assert "Likes cake" in block
    assert (rendered.text, len(rendered.shown), {fate.place for fate in rendered.fates.values()}) == (
        block,
        2,
        {"in_block"},
    )


def test_the_ledger_tells_and_holds(book: Any) -> None:
    ids = [book.remember(f"Fact number {nth}").id for nth in range(3)]
    entries = book.ledger(after=1)
    assert [(entry.event, entry.memory_id, entry.actor) for entry in entries] == [
        (3, ids[2], "person"), (2, ids[1], "person")
    ]  # fmt: skip
    assert entries[0].after["content"] == "Fact number 2"
    assert [entry.event for entry in book.ledger(limit=1, memory=ids[0])] == [1]
    proved = book.verify()
    assert (proved.ok, proved.entries) == (True, 3)
    assert book.audit().memories == 3


def test_refusals_are_the_same_errors(there: Any, book: Any, owner: str) -> None:
    made = book.remember("Prefers index funds")
    book.remember("Avoids hedge funds")
    with pytest.raises(Ambiguous) as several:
        book.forget("funds")
    assert sorted(content for _, content in several.value.candidates) == ["Avoids hedge funds", "Prefers index funds"]
    with pytest.raises(Invalid) as short:
        book.remember("abc")
    assert (short.value.code, short.value.field) == ("invalid", "content")
    assert short.value.message == "content must have 4 to 500 characters; this has 3"
    with pytest.raises(Conflict) as stale:
        book.update(made.id, "Prefers bonds", expect_version=7)
    assert (stale.value.code, stale.value.details["current"]) == ("version", 1)
    book.configure(preset="assistant")
    book.remember("Sarah is in Sales", category="person", subject="Sarah")
    with pytest.raises(Conflict) as close:
        book.remember("Sarah plays chess", category="person", subject="Sarah")
    assert [(type(one), one.content) for one in close.value.similar] == [(Memory, "Sarah is in Sales")]
    with pytest.raises(NotAllowed) as over:
        there.book(owner, by="agent").update(made.id, "Prefers bonds")
    assert over.value.code == "persons_word"
    (left,) = book.proposals.list()
    assert (left.id, book.proposals.get(left.id).content) == (over.value.details["proposal"], "Prefers bonds")
    assert book.proposals.accept(left.id).content == "Prefers bonds"
    with pytest.raises(Invalid, match="'person' or 'agent'"):
        there.book(owner, by="nobody")
    with pytest.raises(TypeError):
        book.remember("Likes tea", colour="red")


def test_none_is_no_way_to_say_as_many_as_there_are(book: Any) -> None:
    for ask in (book.list, lambda **given: book.recall("tea", **given)):
        with pytest.raises(Invalid, match="limit") as refused:
            ask(limit=None)
        assert refused.value.field == "limit"
    assert book.ledger(limit=None) == [], "where None means all, it is all"


def test_a_proposal_is_answered_with_a_choice(there: Any, book: Any, owner: str) -> None:
    made = book.remember("Prefers index funds")
    for wanted in ("Prefers bonds", "Prefers gold"):
        with pytest.raises(NotAllowed):
            there.book(owner, by="agent").update(made.id, wanted)
    no, both = book.proposals.list()
    assert (no.question, no.choices, no.quoted) == (None, (), False)
    with pytest.raises(Invalid, match="yes, both, no"):
        book.proposals.answer(no.id, "perhaps")
    answered = book.proposals.answer(no.id, "no")
    assert (type(answered).__name__, answered.status) == ("Proposal", "declined")
    written = book.proposals.answer(both.id, "both")
    assert (type(written), written.content) == (Written, "Prefers gold")
    with pytest.raises(Conflict) as decided:
        book.proposals.answer(both.id, "no")
    assert decided.value.code == "decided"
    with pytest.raises(NotAllowed):
        there.book(owner, by="agent").proposals.answer(no.id, "yes")


def test_an_agent_writes_on_its_own_word(there: Any, owner: str) -> None:
    made = there.book(owner, by="agent").remember("Lives in Oslo")
    assert made.source == "chat"
    with pytest.raises(NotAllowed) as refused:
        there.book(owner, by="agent").promote(made.id)
    assert refused.value.code == "person_only"


def test_a_chat_is_recorded_and_closed(book: Any) -> None:
    chat = book.thread("session 7")
    said = chat.add("user", "I have two dogs called Bo and Kit", at="2026-01-02T10:00:00Z", speaker="Björn")
    assert (said.turn, said.at, said.speaker) == (1, datetime(2026, 1, 2, 10, tzinfo=UTC), "Björn")
    assert book.thread("session 7").id == chat.id
    assert [message.text for message in chat.messages()] == ["I have two dogs called Bo and Kit"]
    assert [type(line).__name__ for line in chat.pencil()] == ["Pencil"]
    closed = chat.close(offline=True)
    assert (type(closed), closed.status, len(closed.written)) == (ClosingResult, "closed", 1)
    assert book.list(limit=1)[0].thread_id == chat.id
    assert chat.thread.state in ("idle", "archived")
    own = book.threads.start(preset="advisor")
    assert (own.session, own.thread.preset, own.inject()) == (None, "advisor", own.inject())
    assert book.threads.rename(own.id, "Money").title == "Money"
    assert {thread.id for thread in book.threads.list()} == {own.id, chat.id}
    assert book.threads.search("Kit")[0].thread_id == chat.id
    assert book.recall_chats("Kit")[0].thread_id == chat.id
    assert book.threads.delete(own.id).deleted_at is not None
    assert book.threads.restore(own.id).deleted_at is None
    assert book.threads.archive(own.id).state == "archived"
    with pytest.raises(NotFound):
        book.threads.get("nowhere0")


def test_notes_choices_and_spending(book: Any) -> None:
    note = book.notes.write("Ask Anna")
    assert book.notes.edit(note.id, "Ask Ben").text == book.notes.get(note.id).text == "Ask Ben"
    assert [one.id for one in book.notes.list("ben")] == [note.id]
    assert book.notes.delete(note.id).id == note.id
    assert book.choose(never=["health"], tier="beginner").never == ("health",)
    assert (book.choices.tier, book.choices.memory) == ("beginner", True)
    assert book.never_of("I am ill and see a doctor") == ["health"]
    configured = book.configure(zone="Europe/Oslo")
    assert (book.zone, configured.zone, configured.preset) == ("Europe/Oslo", "Europe/Oslo", None)
    undone = book.undo(configured.event)
    assert (book.zone, undone.zone, type(undone)) == ("UTC", "UTC", type(configured))
    assert [entry.action for entry in book.ledger()] == ["undo", "configure"]
    assert (book.spending.this_month(), book.spending.list()) == (0, [])


def test_a_book_moves_house(there: Any, book: Any, owner: str, tmp_path: Path) -> None:
    book.remember("Line one\u2028of it", tags=["x"])
    book.remember("Likes tea")
    out = io.StringIO()
    lines = book.export(out)
    assert lines == out.getvalue().count("\n")
    other = there.book(f"{owner} again")
    assert other.import_(io.StringIO(out.getvalue()), dry_run=True).dry_run
    assert other.import_(io.StringIO(out.getvalue())).memories == 2
    back = io.StringIO()
    other.export(back)
    kinds = ('"kind":"seal"', '"kind":"cover"', '"kind":"end"')  # what opens a book elsewhere is its own
    told = [
        [line for line in text.getvalue().splitlines() if not any(kind in line for kind in kinds)]
        for text in (out, back)
    ]
    assert told[0] == told[1]
    brought = other.import_(['{"memory": "Likes coffee"}'], merge=True)
    assert brought.memories == 1
    (tmp_path / "notes.csv").write_text("content\nLives in Oslo\n", encoding="utf-8")
    for named in (tmp_path / "notes.csv", f"{tmp_path}/notes.csv"):
        assert other.import_(named, dry_run=True).memories == 1
    with pytest.raises(NotFound, match="there is nothing at Likes tea"):
        other.import_("Likes tea " * 400)
    assert [(type(one), one.nth, one.undone_at) for one in other.loads(limit=1)] == [(Load, brought.load, None)]
    assert (other.take_back(brought.load).lines_out, other.list().total) == (1, 2)
    with pytest.raises(Conflict, match="taken back already"):
        other.take_back(brought.load)
    with pytest.raises(Invalid) as wrong:
        other.erase("somebody else")
    assert wrong.value.field == "confirm"
    assert other.erase(other.owner).owner == other.owner
    assert other.list().total == 0


def test_values_are_told_alike(places: Callable[[str], Any], owner: str) -> None:
    """What one place answers, every other does, but for ids and instants."""
    told = []
    for place in ("sqlite", "remote"):
        book = places(place).book(owner)
        made = book.remember("Has a dog called Bo", body="A spaniel", tags=["pets"], metadata={"a": "b"})
        shown = to_json(book.get(made.id))
        told.append(
            {name: shown[name] for name in shown if not name.endswith("_at") and name not in ("id", "valid_from")}
        )
        told[-1].pop("versions")
    assert told[0] == told[1]


def test_keys_are_made_and_revoked(places: Callable[[str], Any], owner: str, served: tuple[str, str]) -> None:
    book = places("remote").book(owner)
    book.remember("Likes tea")
    tokens = places("remote").tokens
    made = tokens.create(owner, kind="agent", name="mine")
    assert (made.known.owner, made.known.kind, made.known.scopes) == (owner, "agent", ("read", "write"))
    assert [one.id for one in tokens.list(owner)] == [made.known.id]
    with Keepbook(served[0], token=made.token) as kb:
        assert kb.book(owner).remember("Likes cake").source == "chat"
        with pytest.raises(NotAllowed) as other:
            kb.book(f"{owner} else").list()
        assert other.value.code == "other_owner"


@pytest.fixture
def tools(there: Any, owner: str) -> Any:
    return there.tools("general", owner=owner, thread_id="chat-7")


def test_tools_are_the_same_and_what_they_save_is_undone(
    tools: Any, book: Any, there: Any, places: Callable[[str], Any], owner: str
) -> None:
    here = places("sqlite").tools("general", owner=owner)
    assert [tool.name for tool in tools] == [tool.name for tool in here]
    for form in ("openai", "anthropic", "mcp"):
        assert tools.schemas(form) == here.schemas(form)
    assert (len(tools), "remember" in tools, "undo" in tools) == (len(here), True, False)
    said = tools.call("remember", '{"content": "Is allergic to peanuts", "category": "profile"}')
    (kept,) = book.list()
    assert said.text.startswith(f"Saved [{kept.id}]: Is allergic to peanuts")
    assert (kept.source, kept.thread_id, said.error) == ("chat", "chat-7", None)
    assert (said.memory_event["op"], said.memory_event["id"]) == ("remember", kept.id)
    assert "Is allergic to peanuts" in tools.call("recall", {"query": "peanuts?"}).text
    book.undo(said.memory_event["event"])
    assert book.list().total == 0
    assert "forget" not in tools.without(["forget"])
    advisor = there.tools("advisor", owner=owner)
    assert "save_preference" in advisor


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("forget", {"memory": "nothing like it"}, "not_found"),
        ("remember", {"words": 1}, "invalid"),
        ("remember", "{no json", "json"),
        ("remember", {"content": "\ud800 half"}, "invalid"),
        ("fly", {}, "unknown_tool"),
        ("recall", None, "invalid"),
    ],
)
def test_what_a_model_gets_wrong_is_answered_in_the_same_words(
    tools: Any, places: Callable[[str], Any], owner: str, book: Any, name: str, arguments: Any, code: str
) -> None:
    here = places("sqlite").tools("general", owner=f"{owner} too").call(name, arguments)
    said = tools.call(name, arguments)
    assert (said.error, said.text, said.data) == (code, here.text, here.data)
    assert book.ledger() == []


def test_a_key_that_only_reads_is_told_so_in_words(served: tuple[str, str], there: Any, owner: str) -> None:
    with Keepbook(served[0], token=served[1]) as kb:
        made = kb.tokens.create(owner, kind="agent", scopes=("read",))
    with Keepbook(served[0], token=made.token) as kb:
        tools = kb.tools("general", owner=owner)
        assert tools.call("remember", {"content": "Likes tea"}).error == "scope"
        assert tools.call("list_memories").error is None
    with Keepbook(served[0], token="kb_unknown") as kb, pytest.raises(NotAllowed) as unknown:
        kb.tools("general", owner=owner)
    assert unknown.value.code == "unauthenticated"
