"""The faces that extensions add to a book: each method is the person's alone, or an agent's too, as is written here.

Whoever adds a method says which. Those of the person refuse an agent before anything is written. The others are asked
for what is not there, and answer an agent as they do the person.
"""

import inspect
import io
from typing import Any

import pytest

from keepbook import Keepbook, KeepbookError

NOWHERE = "zzzzzzzz"
PERSONS = {
    "agents": {"arm", "create", "delete", "disarm", "reset", "restore", "update"},
    "decisions": {"exit"},
    "trading": {
        "change_deployment", "create_deployment", "create_skill", "pin", "restore_lesson", "retire", "set_field",
        "unpin",
    },
}  # fmt: skip
"""What only the person does."""
AGENTS = {
    "agents": {"decisions", "get", "keep_thread", "list", "claim"},
    "runs": {
        "fail", "get", "list", "looks_at", "may_re_examine", "queue", "re_examinations", "renew", "say", "several",
        "specialists", "start", "succeed", "transcript",
    },
    "decisions": {
        "answer", "bring_in", "brought_in", "calibration", "compare", "count", "due", "find", "first_resolved",
        "follow", "get", "history", "list", "record", "record_second_look", "second_look",
    },
    "trading": {
        "breakdown", "bring_in", "deployment", "deployments", "equity", "events", "field_history", "lessons", "load",
        "loads", "mappings", "performance", "positions", "reflect", "skill", "skills", "split", "take_back",
        "take_back_trade", "trades",
    },
}  # fmt: skip
"""What an agent does too."""
OF_THE_RUNNER = {
    "agents": {"compress", "give_back", "renew"}, "runs": {"carried"}, "decisions": {"refuse_ambiguous"},
}  # fmt: skip
"""What is given things that only the runner of agents has."""
FACES = sorted(PERSONS.keys() | AGENTS.keys())


def methods(face: Any) -> dict[str, inspect.Signature]:
    found = inspect.getmembers(type(face), inspect.isfunction)
    return {name: inspect.signature(one) for name, one in found if not name.startswith("_")}


def answer(face: Any, name: str, agent: str) -> str:
    """What comes of a call that names an agent that is there, and else what is not."""
    told = list(methods(face)[name].parameters.values())[1:]
    needed = [one for one in told if one.default is one.empty and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)]
    given = {one.name: agent if name == "arm" else NOWHERE for one in needed}
    places = [given[one.name] for one in needed if one.kind is not one.KEYWORD_ONLY]
    try:
        getattr(face, name)(*places, **{one.name: given[one.name] for one in needed if one.kind is one.KEYWORD_ONLY})
    except KeepbookError as refused:
        return refused.code
    return "yes"


def exported(book: Any) -> str:
    out = io.StringIO()
    book.export(out)
    return out.getvalue()


@pytest.mark.parametrize("name", FACES)
def test_every_method_of_an_extension_answers_an_agent_as_it_is_written(kb: Keepbook, alice: Any, name: str) -> None:
    desk, agent = alice.agents.create("Desk"), kb.book("alice", by="agent")
    theirs, mine = getattr(agent, name), getattr(alice, name)
    persons, agents = PERSONS.get(name, set()), AGENTS.get(name, set())
    assert methods(theirs).keys() == persons | agents | OF_THE_RUNNER.get(name, set())
    before = exported(alice)
    assert {one: answer(theirs, one, desk.id) for one in persons} == dict.fromkeys(persons, "person_only")
    assert exported(alice) == before
    assert {one: answer(theirs, one, desk.id) for one in agents} == {one: answer(mine, one, desk.id) for one in agents}
    alice.choose(memory=False)
    assert "person_only" not in {answer(mine, one, desk.id) for one in persons}
