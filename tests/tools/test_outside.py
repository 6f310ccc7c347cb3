"""What agents outside take back and bring back: what agents wrote; of the person's, a proposal is left."""

from typing import Any

import pytest

from keepbook.tools.bound import outside_tools
from keepbook.tools.catalogue import build_tools


def tools_of(kb: Any, preset: str | None = None) -> Any:
    book = kb.book("alice", by="agent")
    return build_tools(preset, book, outside=True, extra=outside_tools(book, preset))


def test_an_agent_takes_back_what_it_wrote_and_does_it_again(kb: Any, alice: Any) -> None:
    tools = tools_of(kb)
    saved = tools.call("remember", {"content": "Lives in Oslo"})
    undone = tools.call("undo", {"event": saved.memory_event["event"]})
    assert (undone.error, alice.list().total) == (None, 0)
    again = tools.call("undo", {"event": undone.memory_event["event"]})
    assert "Lives in Oslo" in again.text
    assert [memory.content for memory in alice.list()] == ["Lives in Oslo"]


def test_an_agent_brings_back_what_agents_put_away(kb: Any, alice: Any) -> None:
    tools = tools_of(kb)
    id = tools.call("remember", {"content": "Lives in Oslo"}).data["id"]
    tools.call("forget", {"memory": id})
    back = tools.call("restore", {"memory": id})
    assert (back.error, alice.get(id).state) == (None, "active")
    assert tools.call("restore", {"memory": id}).memory_event is None


def test_what_is_nowhere_to_be_brought_back_is_not_looked_for_in_lists(kb: Any) -> None:
    refused = tools_of(kb).call("restore", {"memory": "nosuch12"})
    assert refused.error == "not_found"
    assert "put away or not" in refused.text
    assert "list_memories" not in refused.text


def test_a_list_says_which_agent_worded_a_line(kb: Any, alice: Any) -> None:
    kb.book("alice", by="agent", name="Helper").remember("Lives in Oslo", category="profile")
    alice.remember("Likes tea")
    told = tools_of(kb).call("list_memories").text
    assert "Lives in Oslo (profile; by Helper)" in told
    assert "Likes tea (fact)" in told
    alice.confirm("Oslo")
    assert "Lives in Oslo (profile)" in tools_of(kb).call("list_memories").text


@pytest.mark.parametrize(
    ("does", "op", "content"),
    [
        (lambda alice: alice.remember("Lives in Oslo"), "forget", "Lives in Oslo"),
        (lambda alice: alice.update(alice.remember("Lives in Oslo").id, "Lives in Bergen"), "update", "Lives in Oslo"),
        (lambda alice: alice.forget(alice.remember("Lives in Oslo").id), "add", "Lives in Oslo"),
        (lambda alice: alice.delete(alice.remember("Lives in Oslo").id), "add", "Lives in Oslo"),
    ],
)
def test_what_the_person_did_is_left_for_them_to_decide(kb: Any, alice: Any, does: Any, op: str, content: str) -> None:
    written = does(alice)
    before = alice.ledger(limit=None)
    refused = tools_of(kb).call("undo", {"event": written.event})
    assert refused.error == "persons_word"
    (left,) = alice.proposals.list()
    assert (left.op, left.content, left.id) == (op, content, refused.data["proposal"])
    assert alice.ledger(limit=None) == before
    accepted = alice.proposals.accept(left.id)
    assert (accepted.content, accepted.state) == (content, "archived" if op == "forget" else "active")


def test_what_the_person_put_away_stays_away(kb: Any, alice: Any) -> None:
    id = alice.remember("Lives in Oslo").id
    alice.forget(id)
    refused = tools_of(kb).call("restore", {"memory": id})
    assert (refused.error, alice.get(id).state) == ("persons_word", "archived")
    (left,) = alice.proposals.list()
    assert (left.op, left.content) == ("add", "Lives in Oslo")


def test_settings_of_the_person_are_no_agents_to_take_back(kb: Any, alice: Any) -> None:
    event = alice.configure(zone="Europe/Oslo").event
    assert tools_of(kb).call("undo", {"event": event}).error == "person_only"
    assert alice.proposals.list() == []


def test_an_overview_counts_what_is_there(kb: Any, alice: Any) -> None:
    tools = tools_of(kb)
    assert tools.call("memory_stats", {}).data["entries"] == 0
    alice.remember("Lives in Oslo", category="profile")
    alice.forget(alice.remember("Has a boat").id)
    told = tools.call("memory_stats", {})
    assert (told.data["active"], told.data["archived"], told.data["by_category"]) == (1, 1, {"profile": 1})
    assert "1 stored, 1 under profile, 1 forgotten" in told.text


@pytest.mark.parametrize("preset", ["general", "advisor", "assistant"])
def test_every_preset_has_them_outside_and_none_in_its_own_chats(kb: Any, preset: str) -> None:
    names = {"undo", "restore", "memory_stats", "history"}
    assert names <= {tool.name for tool in tools_of(kb, preset)}
    inside = {tool.name for tool in build_tools(preset, kb.book("alice"))}
    assert not inside & (names - {"history"})
