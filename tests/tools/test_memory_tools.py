"""Every tool through JSON, as a model calls it, on both engines: what it writes, what it answers, what it refuses."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepbook import Book, Keepbook, Written
from keepbook.book.ledger.ledger import Origin
from keepbook.book.memory import quotes
from keepbook.book.memory.changes import Statement
from keepbook.book.text.quotation import Span
from keepbook.tools import memory
from keepbook.tools.catalogue import ToolSet, build_tools
from keepbook.tools.definition import ToolAnswer


def tools_of(kb: Keepbook, preset: str, **given: Any) -> ToolSet:
    return build_tools(preset, kb.book("alice"), **given)


def said(tools: ToolSet, name: str, **arguments: Any) -> ToolAnswer:
    """A call that must do what it says."""
    answer = tools.call(name, json.dumps(arguments))
    assert answer.error is None, answer.text
    return answer


def refused(tools: ToolSet, name: str, code: str, **arguments: Any) -> ToolAnswer:
    answer = tools.call(name, json.dumps(arguments))
    assert answer.error == code, answer.text
    assert answer.data["code"] == code
    assert answer.memory_event is None
    return answer


# --- general ---------------------------------------------------------------------------------------------


def test_remember_saves_what_the_person_said(kb: Keepbook, alice: Book) -> None:
    tools = tools_of(kb, "general", thread_id="chat-1", turn_ids=["3", "5"])
    answer = said(
        tools, "remember", content="Prefers index funds", category="preference", detail="Since 2019.\nLow cost."
    )
    id = answer.data["id"]
    assert answer.text == f"Saved [{id}]: Prefers index funds. It counts from the next chat on."
    kept = alice.get(id)
    assert (kept.source, kept.confidence, kept.body) == ("chat", "asserted", "Since 2019.\nLow cost.")
    assert (kept.thread_id, kept.turn_ids) == ("chat-1", ("3", "5"))
    entry = alice.ledger()[0]
    assert (entry.actor, entry.thread_id, entry.event) == ("agent", "chat-1", answer.memory_event["event"])


def test_a_write_answers_with_an_event_that_undoes_it(kb: Keepbook, alice: Book) -> None:
    tools = tools_of(kb, "general")
    first = said(tools, "remember", content="Lives in Oslo", category="profile")
    second = said(tools, "update", memory="oslo", content="Lives in Bergen")
    after = {
        "content": "Lives in Oslo", "version": 1, "category": "profile", "subject": None, "confidence": "asserted",
        "state": "active", "archived_reason": None, "last_confirmed_at": None,
    }  # fmt: skip
    id = first.data["id"]
    assert first.memory_event == {"op": "remember", "id": id, "before": None, "after": after, "event": 1}
    changed = {**after, "content": "Lives in Bergen", "version": 2}
    assert second.memory_event == {"op": "update", "id": id, "before": after, "after": changed, "event": 2}
    alice.undo(second.memory_event["event"])
    assert alice.get(id).content == "Lives in Oslo"


def test_what_is_known_already_is_not_written_again(kb: Keepbook, alice: Book) -> None:
    known = alice.remember("Likes tea", category="preference")
    answer = said(tools_of(kb, "general"), "remember", content="likes  TEA", category="preference")
    assert answer.text == f"Already known [{known.id}] Likes tea (preference). Nothing was written."
    assert answer.data["unchanged"] is True
    assert answer.memory_event is None
    assert len(alice.ledger()) == 1


def test_what_is_close_is_listed_with_the_save(kb: Keepbook, alice: Book) -> None:
    old = alice.remember("Sarah works in Sales", category="person", subject="Sarah")
    answer = said(tools_of(kb, "general"), "remember", content="Sarah plays chess", category="person", subject="sarah")
    assert f"Close to it is:\n[{old.id}] Sarah works in Sales (person; about Sarah)\n" in answer.text
    assert [memory["id"] for memory in answer.data["similar"]] == [old.id]


@pytest.mark.parametrize(
    ("since", "until", "began", "ended"),
    [
        ("2025-06", None, "2025-05-31T22:00:00.000000Z", None),
        ("since January", None, "2025-12-31T23:00:00.000000Z", None),
        ("last Friday", "tomorrow", "2026-02-26T23:00:00.000000Z", "2026-03-02T22:59:59.999999Z"),
        ("2026-01-01T10:00:00Z", "2027", "2026-01-01T10:00:00.000000Z", "2026-12-31T23:00:00.000000Z"),
        ("", " ", "2026-03-01T09:00:", None),
    ],
)
def test_since_and_until_are_read_where_the_owner_lives(
    kb: Keepbook, alice: Book, since: str, until: str | None, began: str, ended: str | None
) -> None:
    alice.configure(zone="Europe/Oslo")
    data = said(tools_of(kb, "general"), "remember", content="Works part time", since=since, until=until).data
    assert data["valid_from"].startswith(began)
    assert data["valid_until"] == ended


@pytest.mark.parametrize(
    ("since", "until", "words"),
    [
        ("2026-04-01", None, "It counts in chats from 2026-04-01 on."),
        ("2020", "2025-06", "It is kept as past: it held until 2025-06-01."),
    ],
)
def test_what_is_not_true_now_is_kept_and_said_so(kb: Keepbook, since: str, until: str | None, words: str) -> None:
    answer = said(tools_of(kb, "general"), "remember", content="Works part time", since=since, until=until)
    assert answer.text.endswith(words)
    assert answer.data["current"] is False


def test_update_is_a_change_or_with_correction_a_correction(kb: Keepbook, alice: Book, clock: Any) -> None:
    known = alice.remember("Sarah is in Sales", body="Met in May.")
    clock.forward(days=9)
    tools = tools_of(kb, "general", thread_id="chat-1", turn_ids=["8"])
    changed = said(tools, "update", memory=known.id, content="Sarah is in Design")
    assert changed.text == f"Updated [{known.id}]: Sarah is in Design. It counts from the next chat on."
    fixed = said(tools, "update", memory="in design", content="Sara is in Design", correction=True, detail="")
    assert fixed.text == f"Corrected [{known.id}]: Sara is in Design. It counts from the next chat on."
    first, second, third = alice.get(known.id).versions
    assert (first.body, second.body, third.body) == ("Met in May.", "Met in May.", None)
    assert first.valid_from < second.valid_from == third.valid_from
    assert second.turn_ids == ("8",)
    again = said(tools, "update", memory=known.id, content="Sara is in Design")
    assert again.text == f"It says so already: [{known.id}] Sara is in Design (fact). Nothing was written."
    assert again.memory_event is None


def test_forget_archives_with_a_reason_and_can_be_taken_back(kb: Keepbook, alice: Book) -> None:
    one, two = alice.remember("Likes tea"), alice.remember("Likes coffee")
    tools = tools_of(kb, "general", thread_id=alice.threads.start().id, turn_ids=["1"])
    answer = said(tools, "forget", memory="TEA")
    assert answer.text == f"Forgotten [{one.id}]: Likes tea. Do not use it any more; it can be restored."
    assert answer.memory_event["after"]["state"] == "archived"
    assert answer.memory_event["before"]["state"] == "active"
    said(tools, "forget", memory=two.id, reason="user_corrected")
    assert alice.get(one.id).archived_reason == "agent_forget"
    assert alice.get(two.id).archived_reason == "user_corrected"
    again = said(tools, "forget", memory=one.id)
    assert again.text.startswith(f"It was forgotten before: [{one.id}] Likes tea")
    assert again.memory_event is None
    alice.undo(answer.memory_event["event"])
    assert alice.get(one.id).state == "active"


def test_confirm_notes_that_it_still_holds(kb: Keepbook, alice: Book) -> None:
    known = alice.remember("Only funds, no stocks!")
    spoken = {"thread_id": alice.threads.start().id, "turn_ids": ("1",)}
    answer = said(tools_of(kb, "general", **spoken), "confirm", memory=known.id)
    assert answer.text == f"Confirmed [{known.id}]: Only funds, no stocks!"
    assert answer.memory_event["before"]["last_confirmed_at"] is None
    assert answer.memory_event["after"]["last_confirmed_at"] == answer.data["last_confirmed_at"]


def test_link_joins_two_memories_once(kb: Keepbook, alice: Book) -> None:
    why, what = alice.remember("Lost money in 2008"), alice.remember("Avoids single stocks")
    tools = tools_of(kb, "general")
    answer = said(tools, "link", from_memory=what.id, to_memory="2008", relation="because of")
    assert answer.text == (
        f"Linked:\n[{what.id}] Avoids single stocks (fact)\nbecause_of\n[{why.id}] Lost money in 2008 (fact)"
    )
    event = answer.memory_event
    assert (event["op"], event["id"], event["before"]) == ("link", what.id, None)
    assert event["after"].items() >= {"from_id": what.id, "to_id": why.id, "relation": "because_of"}.items()
    again = said(tools, "link", from_memory=what.id, to_memory=why.id, relation="because_of")
    assert again.text.startswith("They are linked already:")
    assert again.memory_event is None
    alice.undo(event["event"])
    assert alice.get(what.id).links == ()


def test_list_shows_the_live_set_with_ids(kb: Keepbook, alice: Book) -> None:
    tools = tools_of(kb, "general")
    assert said(tools, "list_memories").text == "Nothing is stored yet."
    tea = alice.remember("Likes tea", category="preference")
    fair = alice.remember("Is fair", category="profile", confidence="inferred")
    alice.forget(alice.remember("Likes coffee").id)
    everything = said(tools, "list_memories", category=None)
    assert everything.text == f"2 stored:\n[{tea.id}] Likes tea (preference)\n[{fair.id}] Is fair (profile; inferred)"
    assert [memory["id"] for memory in everything.data["memories"]] == [tea.id, fair.id]
    assert said(tools, "list_memories", category="profile").text.startswith("1 stored:\n")
    assert said(tools, "list_memories", category="person").text == "Nothing is stored under person."


def test_a_long_list_keeps_the_newest_and_counts_the_rest(
    kb: Keepbook, alice: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "LIST_CHARS", 150)
    monkeypatch.setattr(memory, "PAGE", 4)
    kept = [alice.remember(f"Fact number {number} of many") for number in range(9)]
    answer = said(tools_of(kb, "general"), "list_memories")
    shown = [line for line in answer.text.splitlines() if line.startswith("[")]
    assert len(answer.text) <= 150 + 80
    assert answer.text.startswith(f"9 stored; the {9 - len(shown)} oldest are left out here, search for those:\n")
    assert [line[1:9] for line in shown] == [written.id for written in kept[9 - len(shown) :]]
    assert (len(answer.data["memories"]), answer.data["total"]) == (len(shown), 9)


def test_recall_answers_with_details(kb: Keepbook, alice: Book) -> None:
    known = alice.remember("Holds a mortgage", body="Fixed at 3.1 %\nuntil 2031.")
    alice.remember("Likes tea")
    tools = tools_of(kb, "general")
    answer = said(tools, "recall", query="what about the mortgage?", limit="5")
    assert answer.text == f"1 found, best first:\n[{known.id}] Holds a mortgage (fact)\n    Fixed at 3.1 % until 2031."
    assert answer.data["hits"][0]["reasons"]
    assert said(tools, "recall", query="zeppelin").text == "Nothing stored answers that."
    assert len(said(tools, "recall", query="holds mortgage, likes tea", limit=1).data["hits"]) == 1


def test_history_tells_every_version(kb: Keepbook, alice: Book, clock: Any) -> None:
    known = alice.remember("Sarah is in Sales")
    clock.set("2026-03-11T23:30:00Z")
    alice.configure(zone="Europe/Oslo")
    alice.update(known.id, "Sarah is in Design")
    tools = tools_of(kb, "general")
    assert said(tools, "history", memory="design").text == (
        f"[{known.id}] has 2 versions, oldest first:\n"
        "1. Sarah is in Sales (true from 2026-03-01; noted 2026-03-01, profile)\n"
        "2. Sarah is in Design (true from 2026-03-12; noted 2026-03-12, profile)"
    )
    alice.forget(known.id)
    gone = said(tools, "history", memory=known.id)
    assert gone.text.startswith(f"[{known.id}] (forgotten) has 2 versions, oldest first:")
    assert [version["content"] for version in gone.data["versions"]] == ["Sarah is in Sales", "Sarah is in Design"]


# --- the other presets -----------------------------------------------------------------------------------


def test_the_coach_infers_unless_told(kb: Keepbook, alice: Book) -> None:
    tools = tools_of(kb, "coach")
    reading = said(tools, "remember", fact="Trades mornings only", topic="session")
    word = said(tools, "remember", fact="Risks 1 % a trade", topic="risk", confidence="asserted")
    bare = said(tools, "remember", fact="Wants to quit his job", topic="")
    assert [(a.data["source"], a.data["confidence"]) for a in (reading, word)] == [
        ("inferred", "inferred"),
        ("chat", "asserted"),
    ]
    assert bare.data["category"] is None
    assert said(tools, "forget", fact_id="mornings").data["archived_reason"] == "agent_forget"
    corrected = said(tools, "forget", fact_id=word.data["id"], reason="User_Corrected")
    assert corrected.data["archived_reason"] == "user_corrected"
    block = alice.block(preset="coach")
    assert "quit his job" in block
    assert bare.data["id"] not in block


def test_what_the_coach_inferred_becomes_the_persons_word_when_they_say_it(kb: Keepbook, alice: Book) -> None:
    tools = tools_of(kb, "coach")
    first = said(tools, "remember", fact="Trades BTC only", topic="symbols")
    word = said(tools, "remember", fact="Trades BTC only", topic="symbols", confidence="asserted")
    assert word.data["id"] == first.data["id"]
    assert word.memory_event["before"]["confidence"] == "inferred"
    assert word.memory_event["after"]["confidence"] == "asserted"
    assert alice.get(first.data["id"]).source == "chat"


def test_the_tools_keep_their_own_presets_rules_whatever_the_owners_preset(kb: Keepbook, alice: Book) -> None:
    alice.configure(preset="coach")
    tools = tools_of(kb, "advisor")
    saved = said(tools, "save_preference", category="finance_context", content="Taxed in Norway", detail="Since 2020.")
    assert saved.data["category"] == "finance_context"
    assert saved.data["body"] == "Since 2020."
    assert saved.data["source"] == "chat"


def test_the_advisors_tools(kb: Keepbook, alice: Book) -> None:
    tools = tools_of(kb, "advisor")
    one = said(tools, "save_preference", category="profile", content="Is 40 years old", detail=None)
    two = said(tools, "save_preference", category="response_style", content="Wants short answers")
    id = one.data["id"]
    assert said(tools, "update_preference", id_or_substring="40 years", new_content="Is 41 years old").data["id"] == id
    assert said(tools, "confirm_preference", id_or_substring=id).memory_event["op"] == "confirm"
    linked = said(tools, "link_preferences", from_id=id, to_id=two.data["id"], relation="relates_to")
    assert linked.data["relation"] == "relates_to"
    assert said(tools, "list_preferences", category="profile").data["total"] == 1
    assert said(tools, "recall_preferences", query="short answers?").data["hits"][0]["id"] == two.data["id"]
    assert said(tools, "forget_preference", id_or_substring="short").data["state"] == "archived"
    assert alice.list().total == 1


def test_the_assistant_asks_before_it_keeps_something_close(kb: Keepbook, alice: Book) -> None:
    tools = tools_of(kb, "assistant")
    first = said(tools, "add_to_memory", content="Sarah is in Sales", category="person", subject="Sarah")
    id = first.data["id"]
    call = {"content": "Sarah plays chess", "category": "person", "subject": "Sarah"}
    no = refused(tools, "add_to_memory", "similar", **call)
    assert no.text == (
        "Not saved. Close to it is already stored:\n"
        f"[{id}] Sarah is in Sales (person; about Sarah; by agent)\n"
        "If this is the same matter, call update_memory with its id. If it is another fact, repeat with force = true."
    )
    assert [memory["id"] for memory in no.data["similar"]] == [id]
    assert alice.list().total == 1
    insisted = said(tools, "add_to_memory", **call, force=True)
    assert insisted.text == f"Saved [{insisted.data['id']}]: Sarah plays chess. It counts from the next chat on."
    assert said(tools, "update_memory", memory_id=id, content="Sarah is in Design").data["version"] == 2
    assert said(tools, "recall_memory", query="Who plays chess?").data["hits"][0]["id"] == insisted.data["id"]


# --- what is refused -------------------------------------------------------------------------------------


@pytest.fixture
def funds(alice: Book) -> list[Written]:
    return [alice.remember("Prefers index funds"), alice.remember("Avoids hedge funds")]


LENGTH = "must have 4 to 500 characters"
INVALID = {
    "too short": ("general.remember", {"content": "abc"}, "content", f"`content` {LENGTH}; this has 3."),
    "too short, renamed": ("coach.remember", {"fact": "abc"}, "fact", f"`fact` {LENGTH}; this has 3."),
    "shorter than the assistant takes": (
        "assistant.add_to_memory", {"content": "abcd", "category": "person"}, "content", "`content` must have 5 to"),
    "too long": ("general.remember", {"content": "x" * 501}, "content", f"`content` {LENGTH}; this has 501."),
    "a control character": ("general.remember", {"content": "a\x07bcde"}, "content", "`content` holds a control"),
    "half a character": ("general.remember", {"content": "tea \ud83c"}, "content", "`content` holds a broken"),
    "a long subject": (
        "general.remember", {"content": "Likes tea", "subject": "x" * 201}, "subject", "`subject` must have 1 to 200"),
    "a huge detail": (
        "advisor.save_preference", {"category": "fact", "content": "Likes tea", "detail": "x" * 70_000},
        "detail", "`detail` must stay under 64 KB"),
    "another preset's category": (
        "advisor.save_preference", {"category": "person", "content": "Likes tea"},
        "category", "`category` must be one of profile, finance_context, response_style, fact, not 'person'."),
    "no category": ("advisor.save_preference", {"content": "Likes tea"}, "category", "`category` is missing."),
    "no date": (
        "general.remember", {"content": "Likes tea", "since": "soonish"}, "since", "`since`: 'soonish' is not a date"),
    "an end before the start": (
        "general.remember", {"content": "Likes tea", "since": "2026", "until": "2025"}, "until", "It would end ("),
    "a source of its own": (
        "general.remember", {"content": "Likes tea", "source": "profile"}, "source", "There is no argument 'source'"),
    "a reason that is the book's": (
        "general.forget", {"memory": "index", "reason": "undone"}, "reason", "`reason` must be one of user_deleted"),
    "an empty question": ("general.recall", {"query": " "}, "query", "Ask something: the query is empty."),
    "too many": (
        "general.recall", {"query": "tea", "limit": 201}, "limit", "`limit` must be a whole number from 1 to 200, not"),
    "no memory named": (
        "general.update", {"memory": "", "content": "Likes tea"}, "memory", "Name the memory: its id, or a piece"),
    "a link to itself": (
        "general.link", {"from_memory": "index", "to_memory": "index", "relation": "same"},
        "to_memory", "A link joins two different memories."),
    "a link without a word": (
        "general.link", {"from_memory": "index", "to_memory": "hedge", "relation": ""},
        "relation", "`relation` must have 1 to 40 characters"),
}  # fmt: skip


@pytest.mark.parametrize(("tool", "arguments", "field", "words"), INVALID.values(), ids=INVALID)
def test_a_wrong_call_is_answered_with_what_is_wrong_and_writes_nothing(
    kb: Keepbook, alice: Book, funds: list[Written], tool: str, arguments: dict[str, Any], field: str, words: str
) -> None:
    preset, name = tool.split(".")
    answer = refused(tools_of(kb, preset), name, "invalid", **arguments)
    assert answer.text.startswith(words)
    assert answer.data["field"] == field
    assert len(alice.ledger()) == len(funds)


NOT_FOUND = [
    ("general.confirm", "memory", "Look with list_memories or recall, then use an id."),
    (
        "advisor.forget_preference",
        "id_or_substring",
        "Look with list_preferences or recall_preferences, then use an id.",
    ),
    ("coach.forget", "fact_id", "Use a piece of what it says."),
]


@pytest.mark.parametrize("ref", ["Zz9Zz9Zz", "gold"])
@pytest.mark.parametrize(("tool", "argument", "advice"), NOT_FOUND)
def test_an_unknown_memory_is_answered_with_where_to_look(
    kb: Keepbook, alice: Book, funds: list[Written], tool: str, argument: str, advice: str, ref: str
) -> None:
    preset, name = tool.split(".")
    answer = refused(tools_of(kb, preset), name, "not_found", **{argument: ref})
    assert answer.text == f"No active memory has the id {ref!r} or says {ref!r}.\n{advice}"
    assert answer.data["field"] == argument
    assert len(alice.ledger()) == len(funds)


def test_an_ambiguous_piece_is_answered_with_the_candidates(kb: Keepbook, alice: Book, funds: list[Written]) -> None:
    for preset, name, argument in [
        ("general", "confirm", "memory"),
        ("advisor", "forget_preference", "id_or_substring"),
        ("coach", "forget", "fact_id"),
        ("general", "history", "memory"),
    ]:
        answer = refused(tools_of(kb, preset), name, "ambiguous", **{argument: "FUNDS"})
        assert answer.text.startswith("'FUNDS' fits 2 memories; name one by its id:")
        assert all(f"{known.id} {known.content}" in answer.text for known in funds)
        assert answer.data["candidates"] == [{"id": known.id, "content": known.content} for known in funds]
    assert len(alice.ledger()) == 2


def test_a_piece_that_fits_very_many_lists_only_some(kb: Keepbook, alice: Book) -> None:
    with alice.transaction():
        for number in range(40):
            alice.remember(f"Fact number {number} of many")
    answer = refused(tools_of(kb, "general"), "confirm", "ambiguous", memory="fact")
    assert len(answer.data["candidates"]) == 20
    assert len(answer.text) < 1000


def test_an_id_wins_over_a_piece(kb: Keepbook, alice: Book) -> None:
    known = alice.remember("Likes tea")
    alice.remember(f"Wrote {known.id} on a note")
    assert said(tools_of(kb, "general"), "history", memory=known.id).data["id"] == known.id


@pytest.mark.parametrize("away", ["forget", "delete"])
def test_what_was_put_away_cannot_be_updated(kb: Keepbook, alice: Book, away: str) -> None:
    known = alice.remember("Likes tea")
    getattr(alice, away)(known.id)
    for name, more in [("update", {"content": "Likes coffee"}), ("confirm", {})]:
        answer = tools_of(kb, "general").call(name, {"memory": known.id, **more})
        assert answer.error in ("archived", "trash")
        assert answer.text.endswith("restore it first.\nOnly the person can restore it.")
    assert len(alice.ledger()) == 2


def test_another_owners_memory_does_not_exist(kb: Keepbook) -> None:
    theirs = kb.book("bob").remember("Prefers gold")
    tools = tools_of(kb, "general")
    for ref in (theirs.id, "gold"):
        assert "Prefers" not in refused(tools, "history", "not_found", memory=ref).text
    assert said(tools, "recall", query="gold").data["hits"] == []
    assert said(tools, "list_memories").data["total"] == 0


def test_an_agent_in_a_chat_may_change_the_persons_word(kb: Keepbook, alice: Book) -> None:
    known = alice.remember("Lives in Oslo")
    spoken = tools_of(kb, "general", thread_id="chat-1", turn_ids=["3"])
    said(spoken, "update", memory=known.id, content="Lives in Bergen")
    assert alice.get(known.id).source == "chat"


def test_an_agent_outside_leaves_a_proposal_where_it_would_overrule_the_person(kb: Keepbook, alice: Book) -> None:
    known = alice.remember("Lives in Oslo")
    outside = build_tools("general", kb.book("alice", by="agent"), thread_id="chat-1", turn_ids=["3"])
    refused(outside, "update", "persons_word", memory=known.id, content="Lives in Bergen")
    refused(outside, "forget", "persons_word", memory=known.id)
    assert alice.get(known.id).content == "Lives in Oslo"
    waiting = alice.proposals.list()
    assert [(one.op, one.memory_id, one.content) for one in waiting] == [
        ("update", known.id, "Lives in Bergen"),
        ("forget", known.id, "Lives in Oslo"),
    ]
    alice.proposals.accept(waiting[0].id)
    assert alice.get(known.id).content == "Lives in Bergen"


def test_an_agent_on_its_own_may_not_overrule_the_person(kb: Keepbook, alice: Book) -> None:
    known = alice.remember("Lives in Oslo")
    alone = build_tools("general", alice.acting(source="inferred"))
    no = refused(alone, "update", "persons_word", memory=known.id, content="Lives in Bergen")
    assert no.text == (
        f"Memory {known.id} is the person's own word; what you want is left for them to decide.\n"
        "Nothing was written; the person finds it among what waits for their word. Do not try again."
    )
    assert alice.get(known.id).content == "Lives in Oslo"
    reading = said(alone, "remember", content="Seems to like fish")
    assert (reading.data["source"], reading.data["confidence"]) == ("inferred", "inferred")
    assert said(alone, "update", memory="fish", content="Seems to like trout").data["confidence"] == "inferred"
    alice.promote(reading.data["id"])
    refused(alone, "update", "persons_word", memory="trout", content="Seems to like cod")
    said_again = said(alone, "remember", content="lives in oslo")
    assert said_again.data["unchanged"] is True
    assert alice.get(known.id).source == "profile"


def test_an_unknown_tool_is_answered_with_those_there_are(kb: Keepbook) -> None:
    answer = refused(tools_of(kb, "assistant"), "remember", "unknown_tool", content="Likes tea")
    known = "add_to_memory, update_memory, recall_memory, recall_chats"
    assert answer.text == f"There is no tool 'remember'; the tools are {known}."


def test_broken_json_is_answered(kb: Keepbook, alice: Book) -> None:
    answer = tools_of(kb, "general").call("remember", '{"content": "Likes tea"')
    assert answer.error == "json"
    assert answer.text.startswith("The arguments are not valid JSON")
    assert alice.list().total == 0


def test_tools_take_part_in_the_hosts_transaction(kb: Keepbook, alice: Book) -> None:
    class HostFailed(Exception):
        pass

    def save_and_fail() -> None:
        with alice.transaction():
            said(tools_of(kb, "general"), "remember", content="Likes tea")
            raise HostFailed

    with pytest.raises(HostFailed):
        save_and_fail()
    assert alice.list().total == 0


# --- anything at all -------------------------------------------------------------------------------------

words = st.text(st.characters(exclude_categories=()), max_size=30)  # lone surrogates and NUL too
scalars = st.none() | st.booleans() | st.integers() | st.floats() | words
anything = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3))
plausible = st.sampled_from(
    [
        "Prefers index funds",
        "funds",
        "fact",
        "person",
        "since March",
        "2026",
        "10",
        "true",
        "inferred",
        "agent_forget",
        "",
    ]
)


@pytest.mark.parametrize("preset", ["advisor", "assistant", "coach", "general"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_any_json_is_answered_and_a_refused_call_writes_nothing(
    kb: Keepbook, alice: Book, preset: str, data: st.DataObject
) -> None:
    tools = tools_of(kb, preset)
    if not alice.list():
        alice.remember("Prefers index funds")
    tool = data.draw(st.sampled_from(list(tools)))
    values = plausible | anything
    shaped = st.fixed_dictionaries({}, optional=dict.fromkeys(tool.arguments, values))
    arguments = data.draw(shaped | anything)
    sent = data.draw(st.sampled_from([arguments, json.dumps(arguments)]))
    before = alice.ledger(limit=1)[0].event
    answer = tools.call(tool.name, sent)
    after = alice.ledger(limit=1)[0].event
    assert answer.text
    json.dumps(answer.data)
    if answer.memory_event is None:
        assert after == before
    else:
        assert answer.error is None
        assert not tool.annotations.read_only
        assert answer.memory_event["event"] == after == before + 1


def test_a_quotation_is_told_in_its_marks_and_is_no_guess(kb: Keepbook, alice: Book) -> None:
    chat = alice.threads.start()
    chat.add("user", "I live in Oslo, you know")
    reader, said = Origin("extractor", "close", source="extracted"), Statement("", score=0.9, made_by="offline")
    with alice.writing() as (tx, preset):
        quotes.quote(tx, reader, preset, said, chat.id, [Span(1, 0, 14, "said")], said_on="2026-03-01")
    tools = tools_of(kb, "general")
    shown = "“I live in Oslo” (said 1 Mar 2026)"
    for name, asked in (("list_memories", {}), ("recall", {"query": "Where do I live?"})):
        answer = tools.call(name, asked)
        assert shown in answer.text
        assert "inferred" not in answer.text
    assert tools.call("forget", {"memory": shown}).text.startswith("Forgotten")
