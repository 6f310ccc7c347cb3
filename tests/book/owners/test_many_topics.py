"""Topics never to be kept: how many there are at most, and that nobody waits while they are looked for."""

from typing import Any

import pytest
from tests.embedding import Watching, meant

from keepbook import Invalid
from keepbook.book.owners.choices import MOST_NEVER
from keepbook.book.texts import TextChange

OWN = [f"affair number{nth}" for nth in range(40)]


def test_there_is_a_limit_and_who_is_past_it_may_take_some_out(alice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [f"topic {nth}" for nth in range(MOST_NEVER + 1)]
    with pytest.raises(Invalid, match="at most 100 topics"):
        alice.choose(never=many)
    assert alice.choices.never == ()
    assert len(alice.choose(never=[*many[1:], many[1]]).never) == MOST_NEVER
    with monkeypatch.context() as patched:
        patched.setattr("keepbook.book.owners.choices.MOST_NEVER", 10)
        assert len(alice.choose(never=many[1:-1]).never) == MOST_NEVER - 1
        with pytest.raises(Invalid):
            alice.choose(never=many[1:])


def test_all_is_embedded_before_anything_is_locked(kb: Any) -> None:
    embedder = Watching(kb)
    book = meant(kb, embedder=embedder)
    book.remember("Was here before")
    book.choose(never=OWN)
    embedder.held.clear()
    book.remember("I feed the otters by the river")
    assert len(embedder.held) > len(OWN)
    agent = kb.book("alice", by="agent")
    agent.texts.write([TextChange(scope="notes", name=f"n{nth}", line=f"Weather of day {nth}") for nth in range(5)])
    chat = agent.thread("one")
    agent.threads.rename(chat.id, "About the weather at sea")
    assert not any(embedder.held)


class Strict(Watching):
    """One that takes only what can be written, as those with a tokenizer do."""

    def ask(self, text: str) -> Any:
        text.encode()
        return super().ask(text)


def test_half_a_surrogate_is_refused_and_not_embedded(kb: Any) -> None:
    book = meant(kb, embedder=Strict(kb))
    book.remember("Was here before")
    book.choose(never=OWN[:2])
    agent = kb.book("alice", by="agent")
    chat = agent.thread("one")
    with pytest.raises(Invalid):
        agent.remember("I feed \ud800 otters")
    with pytest.raises(Invalid):
        book.update("Was here before", "I feed \ud800 otters")
    with pytest.raises(Invalid):
        agent.threads.rename(chat.id, "Otters \ud800 at sea")
    with pytest.raises(Invalid):
        chat.add("user", "Otters \ud800 at sea")
    with pytest.raises(Invalid):
        book.choose(never=["otters \ud800"])
    agent.texts.write([TextChange(scope="notes", name="n", line="Otters \ud800 at sea")])  # it leaves it out
    assert book.choices.never == tuple(OWN[:2])
    assert agent.recall("otters \ud800") == []
