"""What tests of agents need again and again: a run that ends in a card, without any model."""

from typing import Any

LONG = {
    "action": "LONG", "symbol": "ETH/USDT", "entry": 100.0, "stop": 90.0, "target": 120.0, "size": 1.5,
    "conviction": 60, "reason": "above the range", "thesis": "A week above the range.", "watch_for": ["funding"],
    "expires": "2031-01-01T00:00:00Z",
}  # fmt: skip
SHORT = LONG | {"action": "SHORT", "stop": 110.0, "target": 80.0}
WAIT = LONG | {
    "action": "WAIT",
    "entry": None,
    "stop": None,
    "target": None,
    "size": None,
    "reason": "range unresolved",
}
CALL = {"id": "c1", "name": "get_bars", "arguments": {"symbol": "ETH/USDT", "limit": 60}, "answer": "no bars yet"}
SECOND_LOOK = {"conviction_score": 40, "notes": "Volume faded.", "suggested_action": "HOLD"}


def ran(book: Any, agent: Any, slots: Any, kind: str = "manual", **told: Any) -> Any:
    """A run from beginning to end, with memory where the agent has it on (not in a second look)."""
    turn = None
    if agent.memory_enabled and kind != "re-examination":
        turn = book.agents.claim(agent.id, lease_seconds=60)
    run = book.runs.queue(agent.id, kind, prompt="What now?", **told)
    book.runs.start(run.id, adapter="native", model="offline", lease_seconds=600, turn=turn)
    book.runs.say(run.id, "user", "What now?")
    book.runs.say(run.id, "assistant", str(slots), parts={"calls": [CALL]})
    session = None if turn is None else f"session-{run.id}"
    return book.runs.succeed(run.id, slots=slots, tokens_in=120, tokens_out=8, turn=turn, session=session)


def busy_desk(book: Any, name: str = "Swing desk") -> Any:
    """An agent with all that an agent can have: runs of every kind and end, a team, decisions open and closed."""
    team = [{"name": "Tape", "instructions": "Read the tape ‹é文𝔘›"}]
    agent = book.agents.create(
        name, card_type="trade-decision", memory_enabled=True, schedule="30 7 * * 1-5", team=team,
        instructions="One trade a day,\nor a reason to wait.", default_prompt="Look at the daily picture.",
    )  # fmt: skip
    first, waiting = ran(book, agent, LONG, "scheduled"), ran(book, agent, WAIT)
    look = ran(book, agent, SECOND_LOOK, "re-examination", parent_run=first.id)
    ran(book, agent, None, "re-examination", lead_run=look.id, specialist="Tape")
    ran(book, agent, None, "chat")
    book.decisions.exit(first.id, 110.0)
    failed = book.runs.queue(agent.id, "manual", prompt="Once more")
    book.runs.start(failed.id, adapter="native", model=None, lease_seconds=60)
    book.runs.say(failed.id, "assistant", "I am lost")
    book.runs.fail(failed.id, "the answer holds no JSON object", tokens_in=3)
    book.runs.queue(agent.id, "manual", prompt="Not begun")
    assert waiting.session_before == first.session_after
    return agent
