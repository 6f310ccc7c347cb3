"""How many proposals agents leave for one person."""

from typing import Any

import pytest

from keepbook.book.memory import review
from keepbook.book.owners.authority import Actor
from keepbook.errors import LimitReached, NotAllowed


def leave(agent: Any, memory: str, nth: int) -> None:
    with pytest.raises(NotAllowed) as refused:
        agent.update(memory, f"Lives in town number {nth} {'of the coast ' * (nth % 7)}with {nth * 31} people")
    assert refused.value.code == "persons_word"


def test_of_one_agent_twenty_proposals_wait_and_three_about_one_memory(kb: Any, alice: Any) -> None:
    places = ("Oslo", "Bergen", "Graz", "Vienna", "Lima", "Quito", "Cairo", "Delhi")
    mine = [alice.remember(f"Has a cousin who lives in {place}", force=True).id for place in places]

    def with_token(token: str, name: str | None, bound: str | None = None) -> Any:
        hand = Actor("bound" if bound else "agent", frozenset(("read", "write")), token=token, agent=bound)
        return kb.book("alice", by="agent", door="http", hand=hand, name=name)

    agent, other = with_token("tokenone", "courier"), with_token("tokentwo", "clerk")
    for nth in range(3):
        leave(agent, mine[0], nth)
    for one in (agent, other):
        with pytest.raises(LimitReached, match="3 proposals") as refused:
            one.forget(mine[0])
        assert (refused.value.code, refused.value.details["limit"]) == ("limit_reached", 3)
    for nth in range(3, 20):
        leave(agent, mine[1 + (nth - 3) // 3], nth)
    with pytest.raises(LimitReached, match="20 proposals") as refused:
        agent.update(mine[7], "Has a cousin on the moon")
    assert (refused.value.code, refused.value.details["limit"]) == ("limit_reached", 20)
    with pytest.raises(LimitReached, match="20 proposals"):
        with_token("tokenthree", "courier").update(mine[7], "Has a cousin on the moon")
    leave(other, mine[7], 50)
    leave(with_token("tokenfour", None), mine[7], 51)
    leave(with_token("tokenfive", None), mine[7], 52)
    waiting = alice.proposals.list()
    assert [one.asked_by for one in waiting] == ["courier"] * 20 + ["clerk", "agent", "agent"]
    assert {with_token(token, token, "agentone")._agent_name for token in ("tokensix", "tokenseven")} == {"agentone"}
    alice.proposals.decline(waiting[0].id)
    leave(agent, mine[0], 60)
    assert alice.verify().ok


def test_of_what_agents_call_contradictory_twenty_pairs_wait_and_three_of_one_memory(kb: Any, alice: Any) -> None:
    agent = kb.book("alice", by="agent")
    lines = [alice.remember(f"Has a cousin in town number {nth}", force=True).id for nth in range(42)]
    for nth in range(1, 4):
        wrong = agent.link(lines[0], lines[nth], "contradicts")
    with pytest.raises(LimitReached, match="3 contradictions") as refused:
        agent.link(lines[4], lines[0], "Contradicts")
    assert (refused.value.code, refused.value.details["limit"]) == ("limit_reached", 3)
    agent.link(lines[4], lines[0], "relates_to")
    for nth in range(4, 21):
        agent.link(lines[nth], lines[nth + 20], "contradicts")
    with pytest.raises(LimitReached, match="20 contradictions"):
        agent.link(lines[1], lines[41], "contradicts")
    taken = agent.unlink(wrong.id)
    agent.link(lines[1], lines[41], "contradicts")
    with pytest.raises(LimitReached, match="20 contradictions"):
        agent.undo(taken.event)
    alice.link(lines[2], lines[41], "contradicts")
    assert review.count_waiting(alice) == 21


def test_what_closing_offers_of_turns_an_agent_recorded_counts_as_left_by_it(kb: Any, alice: Any) -> None:
    hand = Actor("agent", frozenset(("read", "write")), token="tokenone")
    agent = kb.book("alice", by="agent", door="http", hand=hand, name="courier")
    alice.configure(preset="assistant")
    chat = agent.thread("s1")
    for name in (
        "Clare",
        "Bo",
        "Ida",
        "Knut",
        "Rex",
        "Mia",
        "Tor",
        "Eli",
        "Jon",
        "Siv",
        "Per",
        "Una",
        "Liv",
        "Ola",
        "Kim",
        "Geir",
    ):
        chat.add("user", f"My sister {name} lives in Bergen.")
        chat.add("user", f"My brother {name} works as a baker.")
    alice.close_thread(chat.id, offline=True)
    left = [one for one in alice.proposals.list() if one.asked_by == "courier"]
    assert len(left) == len(alice.proposals.list()) == 20
    home = alice.remember("Has a cousin who lives in Graz")
    with pytest.raises(LimitReached, match="20 proposals"):
        agent.update(home.id, "Has a cousin on the moon")
