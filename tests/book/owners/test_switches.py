"""The person's switches, whoever comes in: memory off, and topics never to be kept."""

import io
from collections.abc import Callable
from typing import Any

import pytest
from tests.embedding import StandIn, meant

from keepbook.book.chats import face, pencil, threads
from keepbook.book.ground.when import stamp
from keepbook.book.memory import proposals
from keepbook.book.owners import switches
from keepbook.book.owners.authority import Actor
from keepbook.book.text import topic_meaning
from keepbook.book.text.topics import find_topics
from keepbook.errors import Conflict, KeepbookError, NotAllowed

READS: dict[str, Callable[[Any], Any]] = {
    "list": lambda book: book.list(),
    "get": lambda book: book.get("aaaaaaaa"),
    "find": lambda book: book.find("tea"),
    "history": lambda book: book.history("tea"),
    "recall": lambda book: book.recall("tea"),
    "recall_chats": lambda book: book.recall_chats("tea"),
    "rendered": lambda book: book.rendered(),
    "replay": lambda book: book.replay("session-1"),
    "as_of": lambda book: book.as_of(),
    "ledger": lambda book: book.ledger(),
    "audit": lambda book: book.audit(),
    "chats": lambda book: book.threads.list(),
    "search": lambda book: book.threads.search("tea"),
    "session": lambda book: book.thread("session-1"),
    "notes": lambda book: book.notes.list(),
    "proposals": lambda book: book.proposals.list(),
    "loads": lambda book: book.loads(),
}
WRITES: dict[str, Callable[[Any], Any]] = {
    "remember": lambda book: book.remember("Lives in Oslo"),
    "update": lambda book: book.update("tea", "Drinks black tea"),
    "forget": lambda book: book.forget("tea"),
    "delete": lambda book: book.delete("tea"),
    "confirm": lambda book: book.confirm("tea"),
    "undo": lambda book: book.undo(1),
    "note": lambda book: book.notes.write("A note"),
    "chat": lambda book: book.threads.start(),
}


def code_of(do: Callable[[], Any]) -> str:
    with pytest.raises(KeepbookError) as refused:
        do()
    return refused.value.code


def exported(book: Any) -> str:
    out = io.StringIO()
    book.export(out)
    return out.getvalue()


# --- memory off


def test_with_memory_off_an_agent_reads_and_writes_nothing(kb: Any, alice: Any) -> None:
    agent = kb.book("alice", by="agent")
    agent.remember("Drinks green tea")
    assert agent.inject("session-1")
    alice.choose(memory=False)
    before = exported(alice)
    told = {name: code_of(lambda do=do: do(agent)) for name, do in (READS | WRITES).items()}
    assert set(told.values()) == {"memory_off"}, told
    assert (agent.block(), agent.inject("session-1"), agent.inject("session-2")) == ("", "", "")
    assert exported(alice) == before
    assert code_of(lambda: exported(agent)) == "memory_off"
    assert agent.verify().ok
    assert agent.preset().name == "general"


def test_with_memory_off_the_person_goes_on_and_later_an_agent_too(kb: Any, alice: Any) -> None:
    agent = kb.book("alice", by="agent")
    given = agent.inject("session-1")
    alice.choose(memory=False)
    alice.remember("Lives in Oslo")
    assert alice.list().total == 1
    assert alice.ledger()
    with alice.transaction():  # a transaction alone reads nothing
        assert code_of(agent.list) == "memory_off"
        alice.choose(memory=True)
        assert agent.list().total == 1
    assert agent.inject("session-1") == given


# --- topics


def test_nobody_but_the_person_writes_of_a_topic_that_is_never_to_be_kept(kb: Any, alice: Any) -> None:
    agent = kb.book("alice", by="agent")
    kept, other = agent.remember("Lives in Oslo"), agent.remember("Plays the cello")
    alice.choose(never=["diabetes"])
    before = exported(alice)
    for wrong in (
        lambda: agent.remember("Has diabetes"),
        lambda: agent.remember("Sees a doctor", body="For the diabetes of last year"),
        lambda: agent.remember("Sees a doctor", summary="Diabetes"),
        lambda: agent.remember("Sees a doctor", tags=["diabetes"]),
        lambda: agent.remember("Sees a doctor", metadata={"why": "diabetes"}),
        lambda: agent.remember("Sees a doctor", subject="Diabetes"),
        lambda: agent.remember("Sees a doctor", scope="diabetes-desk"),
        lambda: agent.link(kept.id, other.id, "because_of_diabetes"),
        lambda: agent.threads.start(agent="Diabetes helper"),
        lambda: agent.update(kept.id, "Lives in Oslo with diabetes"),
        lambda: agent.notes.write("Asked about diabetes"),
    ):
        assert code_of(wrong) == "never_topic"
    assert exported(alice) == before
    assert agent.remember("Drinks green tea").event


def test_an_agent_whose_name_is_of_such_a_topic_still_writes_in_its_own_scope(kb: Any, alice: Any) -> None:
    alice.choose(never=["diabetes"])
    helper = kb.book("alice", by="agent", hand=Actor("bound", agent="diabetes-desk"))
    assert helper.remember("Lives in Oslo", scope="diabetes-desk").event


def test_a_line_that_was_there_before_its_topic_may_be_ended_and_confirmed(kb: Any, alice: Any) -> None:
    agent = kb.book("alice", by="agent")
    kept = agent.remember("Has diabetes")
    alice.choose(never=["diabetes"])
    assert agent.confirm(kept.id).event
    assert agent.forget(kept.id).event


def test_nobody_but_the_person_brings_back_what_is_of_such_a_topic(kb: Any, alice: Any) -> None:
    agent = kb.book("alice", by="agent")
    kept, changed = agent.remember("Has diabetes"), agent.remember("Takes pills for the diabetes")
    put_away, reworded = agent.forget(kept.id), agent.update(changed.id, "Takes vitamins")
    alice.choose(never=["diabetes"])
    for wrong in (
        lambda: agent.restore(kept.id),
        lambda: agent.undo(put_away.event),
        lambda: agent.undo(reworded.event),
    ):
        assert code_of(wrong) == "never_topic"
    assert [memory.content for memory in agent.list()] == ["Takes vitamins"]
    assert alice.restore(kept.id).event


def test_signs_that_nobody_sees_hide_no_topic(kb: Any, alice: Any) -> None:
    alice.choose(never=["health", "Kaspersky"])
    agent = kb.book("alice", by="agent")
    for unseen in ("\u200b", "\u00ad", "\u2060", "\U000e0041", "\u3164"):
        for said in (f"Has dia{unseen}betes", f"Works at Kasp{unseen}ersky"):
            assert code_of(lambda said=said: agent.remember(said)) == "never_topic"
            assert code_of(lambda said=said: alice.remember(said)) == "against_topic"


@pytest.mark.parametrize(
    "said",
    [
        "Has di\u0430b\u0435t\u0435s",  # Cyrillic а and е
        "Has d\u0456\u0430betes",
        "Has diabete\u0455 of the second kind",
        "Has di\u03b1betes",  # Greek alpha
        "Has D\u0399ABETES",  # a capital iota
        "Has \uff44\uff49\uff41\uff42\uff45\uff54\uff45\uff53",  # wide
        "Has \U0001d5f1\U0001d5f6\U0001d5ee\U0001d5ef\U0001d5f2\U0001d601\U0001d5f2\U0001d600",  # mathematical
        "Works at K\u0430spersk\u0443",
    ],
)
def test_letters_of_another_script_hide_no_topic(kb: Any, alice: Any, said: str) -> None:
    alice.choose(never=["health", "Kaspersky"])
    assert code_of(lambda: kb.book("alice", by="agent").remember(said)) == "never_topic"
    assert code_of(lambda: alice.remember(said)) == "against_topic"


@pytest.mark.parametrize(
    "said",
    [
        "s a l a r y",
        "S.A.L.A.R.Y",
        "s-a-l-a-r-y",
        "5alary",
        "sa1ary",
        "s4l4ry",
        "$alary",
        "sal.ary",
        "salary_desk",
        "bobsSalary",
        "Salary of the big boss",
        "\uff53\uff41\uff4c\uff41\uff52\uff59",
        "\u0455\u0430l\u0430ry",  # Cyrillic
        "k \u0430 s p e r s k y",
        "K4sp3rsky",
    ],
)
def test_a_bare_word_passes_in_no_field_however_it_is_spelled(kb: Any, alice: Any, said: str) -> None:
    agent = kb.book("alice", by="agent")
    kept, other = agent.remember("Plays the cello"), agent.remember("Has a boat")
    alice.choose(never=["salary", "Kaspersky"])
    for wrong in (
        lambda: agent.remember("Likes the fjord", tags=["fjord", said]),
        lambda: agent.remember("Likes the fjord", subject=said),
        lambda: agent.remember("Likes the fjord", scope=said),
        lambda: agent.remember("Likes the fjord", metadata={"about": said}),
        lambda: agent.remember("Likes the fjord", metadata={said: "yes"}),
        lambda: agent.link(kept.id, other.id, said),
        lambda: agent.threads.start(agent=said),
    ):
        assert code_of(wrong) == "never_topic"
    assert code_of(lambda: alice.remember("Likes the fjord", tags=[said])) == "against_topic"


@pytest.mark.parametrize("said", ["s a l a r y", "5alary", "Salary", "My s.a.l.a.r.y is 65,000", "Gets a s4l4ry"])
def test_nor_does_it_as_a_line_or_note_of_its_own(kb: Any, alice: Any, said: str) -> None:
    alice.choose(never=["salary"])
    agent = kb.book("alice", by="agent")
    for wrong in (
        lambda: agent.remember(said),
        lambda: agent.remember("Likes the fjord", body=said),
        lambda: agent.remember("Likes the fjord", summary=said),
        lambda: agent.notes.write(said),
    ):
        assert code_of(wrong) == "never_topic"


def test_labels_that_only_look_like_a_topic_may_stand(kb: Any, alice: Any) -> None:
    alice.choose(never=["salary", "health", "family", "Tom"])
    agent = kb.book("alice", by="agent")
    tags = ["bank holiday", "Doctor Who", "Brother printer", "v1.2", "tomatoes", "b2b", "room12", "a, b, c"]
    assert agent.remember("Likes the fjord", tags=tags, metadata={"source": "crm-7f3a"}).event


def test_words_of_another_script_are_read_as_such(kb: Any, alice: Any) -> None:
    alice.choose(never=["\u0440\u0430\u043a", "pack"])  # Russian, and one that looks nearly like it
    agent = kb.book("alice", by="agent")
    assert code_of(lambda: agent.remember("\u0423 \u043d\u0435\u0433\u043e \u0440\u0430\u043a")) == "never_topic"
    assert agent.remember("\u0416\u0438\u0432\u0451\u0442 \u0441 \u0436\u0435\u043d\u043e\u0439").event


def test_a_proposal_names_no_such_topic(kb: Any, alice: Any) -> None:
    mine = alice.remember("Lives in Oslo")
    alice.choose(never=["diabetes"])
    agent = kb.book("alice", by="agent")
    assert code_of(lambda: agent.update(mine.id, "Lives with diabetes")) == "never_topic"
    assert alice.proposals.list() == []


def test_what_others_call_or_sum_up_a_chat_names_no_such_topic(kb: Any, alice: Any) -> None:
    alice.choose(never=["diabetes"])
    agent = kb.book("alice", by="agent")
    chat = agent.thread("session-1")
    chat.add("user", "I live in Oslo")
    assert code_of(lambda: agent.threads.rename(chat.id, "Living with diabetes")) == "never_topic"
    alice.threads.rename(chat.id, "Life with diabetes", by="model")
    assert alice.threads.get(chat.id).thread.title is None
    alice.threads.rename(chat.id, "Life with diabetes")
    assert alice.threads.get(chat.id).thread.title == "Life with diabetes"


def test_a_summary_leaves_out_the_sentences_about_such_a_topic(kb: Any, alice: Any) -> None:
    alice.choose(never=["diabetes"])
    chat = alice.thread("session-1")
    chat.add("user", "I live in Oslo")
    said = "They moved to Oslo. Their diabetes is well controlled. They look for a flat."
    with kb._database.write("alice") as tx:
        now = stamp(tx.clock())
        held = threads.claim_closing(tx, chat.id, now, lease_seconds=60)
        assert held is not None
        closed = threads.finish(tx, held, now, summary=said)
        shorter = threads.keep_compression(tx, chat.id, 1, said)
    assert closed.summary == "They moved to Oslo. They look for a flat."
    assert shorter.compressed == closed.summary


def test_by_meaning_where_there_is_an_embedder_and_only_with_a_topic(kb: Any, alice: Any) -> None:
    embedder = StandIn()
    meant(kb, embedder=embedder)
    agent = kb.book("alice", by="agent")
    agent.remember("Walks the puppy at noon")
    assert embedder.asked == []
    alice.choose(never=["dog"])
    assert code_of(lambda: agent.remember("Puppy", body="The puppy is brown")) == "never_topic"
    assert embedder.asked.count("Puppy") == 1


def test_words_are_embedded_before_anything_is_locked(kb: Any, alice: Any) -> None:
    locked: list[bool] = []

    class Watched(StandIn):
        def ask(self, text: str) -> Any:
            locked.append(kb._database.is_writing)
            return super().ask(text)

    alice.choose(never=["dog"])
    meant(kb, embedder=Watched())
    agent, person = kb.book("alice", by="agent"), kb.book("alice")
    kept = agent.remember("Plays the cello")
    assert code_of(lambda: agent.remember("Puppy")) == "never_topic"
    assert code_of(lambda: agent.update(kept.id, "Walks the puppy")) == "never_topic"
    assert code_of(lambda: person.remember("Has a puppy")) == "against_topic"
    assert set(locked) == {False}


def test_a_note_is_read_for_topics_before_anything_is_locked(
    kb: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked: list[bool] = []

    def look(text: str, never: Any, sense: Any = None) -> list[str]:
        locked.append(kb._database.is_writing)
        return find_topics(text, never, sense)

    for module in (face, switches):
        monkeypatch.setattr(module, "find_topics", look)
    alice.choose(never=["diabetes"])
    agent = kb.book("alice", by="agent")
    chat = agent.thread("session-1")
    turns = [chat.add("user", text).turn for text in ("I play the cello", "I have diabetes")]
    assert agent.notes.bookmark(chat.id, turns[0]).text == "I play the cello"
    assert agent.notes.write("A note").text == "A note"
    for wrong in (lambda: agent.notes.bookmark(chat.id, turns[1]), lambda: agent.notes.write("Diabetes")):
        assert code_of(wrong) == "never_topic"
    assert set(locked) == {False}
    assert len(alice.notes.list()) == 2


def test_no_write_waits_until_a_group_of_topics_was_learned(
    kb: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes hundreds of sentences, which an embedder elsewhere may embed for a minute."""
    few = tuple(one for one in topic_meaning.topic_examples() if one.group == "health")[::12]
    monkeypatch.setattr(topic_meaning, "topic_examples", lambda: few)
    monkeypatch.setattr(topic_meaning, "_LEARNED", {})
    monkeypatch.setattr(topic_meaning, "_WANTED", set())
    writing: list[bool] = []

    class Watched(StandIn):
        def embed(self, texts: Any, within: float | None = None) -> Any:
            writing.append(kb._database.is_writing)
            return super().embed(texts, within)

    meant(kb, embedder=Watched("elsewhere"))
    alice.choose(never=["health"])
    agent = kb.book("alice", by="agent")
    agent.remember("Plays the cello")
    assert code_of(lambda: agent.remember("Has diabetes")) == "never_topic"  # by its words
    assert topic_meaning._LEARNED == {}
    kb.meaning.fill("alice")
    assert list(topic_meaning._LEARNED) == [("elsewhere", "health")]
    assert set(writing) == {False}


def test_what_the_person_types_against_a_topic_is_asked_once(alice: Any) -> None:
    alice.choose(never=["diabetes"])
    with pytest.raises(Conflict, match="diabetes") as asked:
        alice.remember("Has diabetes")
    assert (asked.value.code, asked.value.details) == ("against_topic", {"topic": "diabetes"})
    kept = alice.remember("Has diabetes", force=True)
    assert alice.update(kept.id, "Has had diabetes since 2020").event  # the line is about it: that was answered
    other = alice.remember("Lives in Oslo")
    with pytest.raises(Conflict):
        alice.update(other.id, "Lives in Oslo with diabetes")
    assert alice.update(other.id, "Lives in Oslo with diabetes", force=True).event


def waiting(kb: Any, *contents: str, **told: Any) -> list[str]:
    """Lines that wait for the person's yes."""
    found = []
    with kb._database.write("alice") as tx:
        for content in contents:
            one = proposals.propose(
                tx, stamp(tx.clock()), nature="proposal", **{"op": "add", "content": content, "turn_ids": (), **told}
            )
            assert one is not None
            found.append(one.id)
    return found


def test_what_is_offered_goes_when_its_topic_is_forbidden(kb: Any, alice: Any) -> None:
    kept = alice.remember("Eats at noon")
    waiting(kb, "Has diabetes", "Insulin, or something like it")
    waiting(kb, "Eats no sugar", subject="diabetes")
    waiting(kb, "Eats at noon for the diabetes", op="update", memory_id=kept.id)
    stays = waiting(kb, "Plays the cello") + waiting(kb, "Eats at noon", op="forget", memory_id=kept.id)
    alice.choose(never=["health"])
    assert [one.id for one in alice.proposals.list()] == stays
    assert len(alice.proposals.list(status="expired")) == 4
    alice.choose(never=[])
    assert waiting(kb, "Has diabetes"), "an offer that nobody has declined may be made again"


def test_by_meaning_too_and_before_anything_is_locked(kb: Any, alice: Any) -> None:
    locked: list[bool] = []

    class Watched(StandIn):
        def ask(self, text: str) -> Any:
            locked.append(kb._database.is_writing)
            return super().ask(text)

    waiting(kb, "Puppy")
    meant(kb, embedder=Watched())
    alice = kb.book("alice")
    alice.choose(never=["dog"])
    assert alice.proposals.list() == []
    (late,) = waiting(kb, "The puppy is brown")
    assert code_of(lambda: alice.proposals.accept(late)) == "against_topic"
    assert set(locked) == {False}


@pytest.mark.parametrize("how", ["accept", "answer", "both", "pencil"])
def test_no_yes_writes_of_a_topic_that_is_never_to_be_kept(kb: Any, alice: Any, how: str) -> None:
    kept = alice.remember("Eats at noon")
    alice.choose(never=["diabetes"])
    (late,) = waiting(kb, "Eats at noon for the diabetes", op="update", memory_id=kept.id)
    yes = {
        "accept": lambda: alice.proposals.accept(late),
        "answer": lambda: alice.proposals.answer(late, "yes"),
        "both": lambda: alice.proposals.accept(late, both=True),
        "pencil": lambda: keep(pencil.Pencil("1-0", 1, "Eats at noon", None, "update", None, 0.9, True, proposal=late)),
    }[how]

    def keep(one: pencil.Pencil) -> Any:
        with alice.writing() as (tx, preset):
            return pencil.keep_pencil(tx, alice.origin, preset, "chat", one)

    assert code_of(yes) == "against_topic"
    assert [memory.content for memory in alice.list()] == ["Eats at noon"]
    assert alice.proposals.get(late).status == "waiting"
    assert alice.proposals.decline(late).status == "declined"


# --- what it costs


@pytest.mark.parametrize("engine_name", ["sqlite"])
@pytest.mark.parametrize("by", ["person", "agent"])
def test_no_statement_is_added_for_them(kb: Any, engine_name: str, by: str) -> None:
    """They are read with the end of the ledger, which every read and every write begins with."""
    book = kb.book("alice", by=by)
    kept = book.remember("Lives in a house")
    with kb._database.write("alice") as tx:
        driver = tx.conn.connection.dbapi_connection
    seen: list[str] = []
    driver.set_trace_callback(seen.append)
    book.remember("Has a red bike")
    book.update(kept.id, "Lives in a flat")
    book.list()
    book.recall("bike")
    book.block()
    book.inject("session")
    book.inject("session")
    driver.set_trace_callback(None)
    asking = [said for said in seen if "choices" in said and not said.startswith("--")]
    assert asking
    assert [said for said in asking if "ledger" not in said and "injections" not in said] == []


def test_refusals_are_not_allowed_and_say_what_to_do(kb: Any, alice: Any) -> None:
    alice.choose(memory=False, never=["diabetes"])
    agent = kb.book("alice", by="agent")
    with pytest.raises(NotAllowed, match="switched memory off"):
        agent.list()
    alice.choose(memory=True)
    with pytest.raises(NotAllowed, match="never to keep anything about diabetes"):
        agent.remember("Has diabetes")
