"""The whole OpenAPI document, thrown at the server by schemathesis: nothing breaks, nothing is undocumented."""

import asyncio
from typing import Any

import hypothesis
from hypothesis import strategies as st
from tests.conftest import DEEPER, ENGINES
from tests.extensions.trading.contract.bodies import small_desk

from keepbook import Keepbook
from keepbook.doors.http.app import create_app

OURS = ("X-Keepbook-Owner", "Authorization", "Accept", "Last-Event-ID")
"""Headers that are tested elsewhere: another owner is refused before anything is read, and a stream has no end."""


def filled(kb: Keepbook) -> dict[str, list[Any]]:
    """A book with one of everything, so that ids in a path can be right ones."""
    book = kb.book("alice")
    first = book.remember("Prefers index funds", category="preference")
    second = book.remember("Lives in Oslo", category="profile")
    link = book.link(first.id, second.id, "relates_to")
    chat = book.threads.start()
    chat.add("user", "I have a dog called Bo")
    note = book.notes.write("A note")
    token = kb.tokens.create("alice")
    agent = book.agents.list()[0] if book.agents.list() else book.agents.create("Desk", card_type="trade-decision")
    run = asyncio.run(kb.runner(book).run(agent.id, "ETH/USDT?"))
    ids = [first.id, second.id, link.id, chat.id, note.id, token.known.id, agent.id, run.id, *traded(book)]
    known: dict[str, list[Any]] = {"id": ids, "event": [1, 2, 3], "name": ["recall", "remember"]}
    return known | {"key": ["1-00000000"], "field": ["strategy"]}


def pencilled(kb: Keepbook) -> dict[str, list[Any]]:
    """The keys of lines that an open chat has noted."""
    chat = kb.book("alice").threads.start()
    chat.add("user", "I have a dog called Bo")
    return {"id": [chat.id], "key": [line.key for line in chat.pencil()] or ["1-00000000"]}


def traded(book: Any) -> list[str]:
    """A skill, a deployment that lost seven times, and the lesson of it."""
    trading = book.trading
    if not trading.skills():
        small_desk(book, "Scalper")
    found = [*trading.skills(), *trading.deployments(), *trading.lessons(state="all")]
    assert len(found) >= 3
    return [one.id for one in found]


def held(case: Any, answered: Any) -> None:
    from schemathesis import checks  # here and below: whoever collects this test need not load what it is made with
    from schemathesis.specs.openapi import checks as documented

    names = ("status_code", "content_type", "response_headers", "response_schema")
    known = [getattr(documented, f"{name}_conformance") for name in names]
    case.validate_response(answered, checks=(checks.not_a_server_error, *known))


def attack(operation: Any, known: dict[str, list[Any]], token: str) -> None:
    @hypothesis.settings(max_examples=3 * DEEPER, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
    @hypothesis.given(case=operation.as_strategy(), right=st.booleans(), data=st.data())
    def one(case: Any, right: bool, data: Any) -> None:
        for name in case.path_parameters if right else ():
            case.path_parameters[name] = data.draw(st.sampled_from(known[name]))
        for name in OURS:
            case.headers.pop(name, None)
        answered = case.call(headers={"Authorization": f"Bearer {token}"})
        held(case, answered)

    one()


def test_no_request_breaks_the_server_or_gets_an_undocumented_answer(kb: Keepbook, engine_name: str) -> None:
    """Each engine is thrown every other operation, and not the same ones; `make test-deep` throws all at both."""
    import schemathesis

    schema = schemathesis.openapi.from_asgi("/openapi.json", create_app(kb, hosts=["testserver"]))
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) >= 70
    for number, operation in enumerate(operations if DEEPER > 1 else operations[ENGINES.index(engine_name) :: 2]):
        if number % 10 == 0:  # what the requests took away is there again
            standing = filled(kb)
        known = standing | (pencilled(kb) if "{key}" in operation.path else {})
        attack(operation, known, kb.tokens.create("alice", scopes=("read", "write", "admin")).token)
    assert kb.book("alice").verify().ok
