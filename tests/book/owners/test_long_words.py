"""Long words are looked through, for topics never to be kept and for what was put away, before anything is locked."""

from typing import Any

import pytest

from keepbook.book.memory.likeness import put_away
from keepbook.book.text import topics
from keepbook.book.texts import TextChange
from keepbook.errors import Conflict, NotAllowed

LONG = "We walked along the river and spoke of the weather and of boats. " * 40


@pytest.fixture
def locked(kb: Any, alice: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the long texts that are looked through while the owner's lock is held."""
    alice.choose(never=["health", "the boat race"])
    found: list[int] = []

    def watch(module: Any, name: str) -> None:
        done = getattr(module, name)

        def watched(text: str, *rest: Any) -> Any:
            if kb._database.is_writing and len(text) > topics.LONG_TEXT:
                found.append(len(text))
            return done(text, *rest)

        monkeypatch.setattr(module, name, watched)

    watch(topics, "_find")
    watch(put_away, "_keys_of_parts")
    return found


@pytest.mark.parametrize("by", ["person", "agent"])
def test_no_long_words_are_looked_through_while_anybody_waits(kb: Any, locked: list[int], by: str) -> None:
    book = kb.book("alice", by=by)
    line = book.remember("Likes rivers", body=LONG).id
    book.update(line, "Likes wide rivers")
    book.update(line, "Likes wide rivers", body=LONG + "And of trees.")
    book.texts.write(
        [TextChange(scope="notes", name=f"{nth}.md", line=f"Note {nth}", body=f"{nth} {LONG}") for nth in range(2)]
    )
    assert locked == []
    assert book.verify().ok


def test_what_was_put_away_is_found_in_a_list_of_any_length(kb: Any, alice: Any) -> None:
    alice.forget(alice.remember("Is afraid of spiders").id)
    agent = kb.book("alice", by="agent")
    kept = [f"item {nth}" for nth in range(put_away.MANY)]
    for length in (3, len(kept)):
        with pytest.raises(NotAllowed) as refused:
            agent.remember("Has a list", body=", ".join([*kept[:length], "is afraid of spiders", *kept[:2]]))
        assert refused.value.code == "forgotten"
        assert agent.remember(f"Has a list of {length}", body=", ".join(kept[:length])).event


def test_no_long_list_is_taken_apart_where_the_person_has_put_nothing_away(
    kb: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, told = kb.book("alice", by="agent"), ", ".join(f"item {nth}" for nth in range(500))
    agent.forget(agent.remember("Has a list of its own").id)
    monkeypatch.setattr(put_away, "_keys_of_parts", None)
    with agent.transaction():
        assert agent.remember("Has a list", body=told).event


def test_what_was_looked_through_before_is_heeded(kb: Any, alice: Any, locked: list[int]) -> None:
    ill = LONG + "My doctor says that I have diabetes."
    with pytest.raises(Conflict) as asked:
        alice.remember("Likes rivers", body=ill)
    assert asked.value.code == "against_topic"
    with pytest.raises(NotAllowed) as refused:
        kb.book("alice", by="agent").remember("Likes rivers", body=ill)
    assert refused.value.code == "never_topic"
    alice.choose(never=[])
    assert alice.remember("Likes rivers", body=ill).event
    assert locked == []
