"""What counts as said: the person's own turns, and nothing that stands beside them."""

import pytest

from keepbook import Keepbook

STATEMENT = "I live in Oslo with my wife Kari."


def test_what_the_person_says_is_evidence(kb: Keepbook) -> None:
    chat = kb.book("alice").thread("monday")
    chat.add("user", STATEMENT)
    assert [one["content"] for one in chat.close().written] == ["I live in Oslo with my wife Kari"]


@pytest.mark.parametrize("role", ["tool", "system", "assistant"])
def test_tool_results_are_never_evidence(kb: Keepbook, role: str) -> None:
    alice = kb.book("alice")
    chat = alice.thread("monday")
    chat.add("user", "What is the weather like today?", hidden=STATEMENT)
    chat.add(role, STATEMENT)
    closed = chat.close()
    assert (closed.written, closed.proposed, alice.list().total) == ((), (), 0)


@pytest.mark.parametrize(
    ("said", "secret"),
    [
        ("Remember that my password is hunter2-Tango!", "hunter2"),
        ("My card number is 4111 1111 1111 1111 and I live in Oslo with my wife Kari.", "4111"),
        ("Please remember: the key is sk-proj-abcdefghij0123456789abcdefghij", "sk-proj"),
    ],
)
def test_secrets_are_never_kept(kb: Keepbook, said: str, secret: str) -> None:
    alice = kb.book("alice")
    chat = alice.thread("monday")
    chat.add("user", said)
    chat.close()
    lines = [*alice.list(), *alice.proposals.list()]
    assert not any(secret in one.content for one in lines)
    assert secret not in (chat.thread.summary or "")
