"""Chats beside the memories: how they come to rest, what of them can be found, and what hangs on them.

Notes, proposals, choices and the meter are here too, because each begins in a chat or decides about one. What closing
a chat reads out of it is in tests/models/closing/test_close.py.
"""

import io
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.extensions.storage.every_table import OWNED

from keepbook.book.chats import adding, learned_memories
from keepbook.book.chats.face import Chat, NewTurn, record_session
from keepbook.book.chats.threads import MESSAGE_LIMIT, TITLE_LIMIT
from keepbook.book.chats.view import chat_block
from keepbook.book.ground import due
from keepbook.book.ground.idempotency import StoredAnswer, store_answer
from keepbook.book.ground.when import stamp
from keepbook.book.memory import proposals
from keepbook.book.memory.proposals import Proposal
from keepbook.book.owners.authority import Actor
from keepbook.book.owners.choices import Choices
from keepbook.book.owners.spending import Spent
from keepbook.book.text.topics import find_topics
from keepbook.errors import Conflict, Invalid, KeepbookError, NotAllowed, NotFound

CHATS = ("threads", "messages", "turn_terms")


def ids(listed: Any) -> list[str]:
    return [one.id for one in listed]


def rows(kb: Any, table: str, owner: str = "alice") -> int:
    with kb._database.read(owner) as tx:
        found = tx.conn.exec_driver_sql(f"SELECT count(*) FROM {table} WHERE owner = '{owner}'").scalar()
        return int(found or 0)


def reminders(kb: Any, owner: str = "alice") -> dict[tuple[str, str], str]:
    with kb._database.unscoped() as conn:
        kinds = (due.CLOSE, due.ARCHIVE, due.PURGE, due.PURGE_CHAT, due.EXPIRE)
        found = [item for kind in kinds for item in due.due_by(conn, "9", kind)]
    return {(item.work, item.id): item.at for item in found if item.owner == owner}


def propose(kb: Any, content: str, owner: str = "alice", **told: Any) -> Proposal | None:
    known = {"nature": "proposal", "op": "add", "turn_ids": ("1",), "thread_id": "chat0001", "made_by": "offline"}
    with kb._database.write(owner) as tx:
        return proposals.propose(tx, stamp(kb._database.clock()), content=content, **(known | told))


@pytest.fixture
def chat(alice: Any) -> Chat:
    started: Chat = alice.threads.start()
    return started


# --- how a chat comes to rest


def test_a_chat_is_active_then_idle_then_archived_and_active_again_once_something_is_said(
    kb: Any, alice: Any, chat: Chat, clock: Any
) -> None:
    chat.add("user", "Good morning")
    assert chat.thread.state == "active"
    assert chat.close().status == "closed"
    assert chat.thread.state == "idle"
    chat.add("user", "One more thing")
    assert chat.thread.state == "active"
    chat.close()
    assert alice.threads.archive(chat.id).state == "archived"
    chat.add("user", "Hello again")
    assert chat.thread.state == "active"
    assert [message.text for message in chat.messages()] == ["Good morning", "One more thing", "Hello again"]


def test_what_was_said_is_kept_whole_with_who_said_it_and_when(chat: Chat, clock: Any) -> None:
    clock.set("2026-03-05T10:00:00Z")
    text = "  Two lines,\n\tas they were typed.  \u200b"
    parts = [{"name": "recall", "arguments": {"query": "tea"}, "answer": "nothing"}]
    chat.add("user", text, speaker="Nora", hidden="page: Orders")
    chat.add("assistant", "", parts=parts)
    first, second = chat.messages()
    assert (first.turn, first.role, first.speaker, first.text) == (1, "user", "Nora", text)
    assert first.hidden == "page: Orders"
    assert first.at == datetime(2026, 3, 5, 10, tzinfo=UTC)
    assert first.tokens == -(-len(text) // 4)
    assert (second.turn, second.text, second.parts, second.tokens) == (2, "", parts, 0)


def test_a_turn_recorded_later_keeps_the_time_it_was_said_at_where_the_owner_lives(alice: Any) -> None:
    alice.configure(zone="Asia/Bangkok")
    chat = alice.thread("import")
    chat.add("user", "Said at noon in Bangkok", "2025-06-01T12:00")
    chat.add("assistant", "An hour later", datetime(2025, 6, 1, 6, tzinfo=UTC))
    assert [message.at.hour for message in chat.messages()] == [5, 6]
    assert chat.thread.touched_at == datetime(2025, 6, 1, 6, tzinfo=UTC)


def test_an_old_turn_does_not_make_a_chat_older_than_its_last_one(chat: Chat, clock: Any) -> None:
    chat.add("user", "Now")
    touched = chat.thread.touched_at
    chat.add("user", "Said long ago", "2020-01-01")
    assert chat.thread.touched_at == touched


@pytest.mark.parametrize(
    ("role", "text", "field"),
    [
        ("robot", "hello", "role"),
        ("user", "nul \x00", "text"),
        ("user", "half a pair \ud800", "text"),
        ("user", "x" * (MESSAGE_LIMIT + 1), "text"),
        ("user", 7, "text"),
    ],
)
def test_what_no_chat_can_keep_is_refused_and_changes_nothing(chat: Chat, role: str, text: Any, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        chat.add(role, text)
    assert refused.value.field == field
    assert (chat.thread.turns, chat.messages()) == (0, [])


def test_an_open_chat_is_not_archived_before_it_was_read(alice: Any, chat: Chat) -> None:
    chat.add("user", "I moved to Lisbon")
    with pytest.raises(Conflict) as refused:
        alice.threads.archive(chat.id)
    assert refused.value.code == "active"
    assert chat.thread.state == "active"


def test_chats_are_listed_by_their_last_word_and_by_state(alice: Any, bob_chat: Chat) -> None:
    first, second, third = (alice.threads.start() for _ in range(3))
    for chat in (first, second, third, first):
        chat.add("user", "hello")
    assert ids(alice.threads.list()) == [first.id, third.id, second.id]
    assert ids(alice.threads.list(limit=1)) == [first.id]
    second.close()
    assert ids(alice.threads.list(state="idle")) == [second.id]
    assert ids(alice.threads.list(state="active")) == [first.id, third.id]
    assert alice.threads.list(state="archived") == []


@pytest.fixture
def bob_chat(kb: Any) -> Chat:
    chat: Chat = kb.book("bob").threads.start()
    chat.add("user", "Bob keeps bees in Ålesund")
    return chat


def test_a_chat_of_another_owner_is_not_there(alice: Any, bob_chat: Chat) -> None:
    for act in (alice.threads.get, alice.threads.archive, alice.threads.delete, alice.threads.restore):
        with pytest.raises(NotFound):
            act(bob_chat.id)
    with pytest.raises(NotFound):
        alice.notes.bookmark(bob_chat.id, 1)
    assert bob_chat.thread.turns == 1


def test_a_name_by_hand_wins_for_ever(alice: Any, chat: Chat) -> None:
    assert alice.threads.rename(chat.id, "Bees and honey", by="model").titled_by == "model"
    assert alice.threads.rename(chat.id, "Honey, in short", by="rules").title == "Honey, in short"
    named = alice.threads.rename(chat.id, "My hives")
    assert (named.title, named.titled_by) == ("My hives", "person")
    assert alice.threads.rename(chat.id, "Apiculture", by="model").title == "My hives"
    assert alice.threads.rename(chat.id, "Our hives").title == "Our hives"
    for title in ("", "   ", "x" * (TITLE_LIMIT + 1)):
        with pytest.raises(Invalid):
            alice.threads.rename(chat.id, title)


# --- the trash


def test_a_deleted_chat_is_out_of_every_list_and_comes_back_whole(alice: Any, chat: Chat) -> None:
    chat.add("user", "The saxophone needs a new reed")
    chat.close()
    alice.threads.delete(chat.id)
    assert alice.threads.list() == []
    assert ids(alice.threads.list(trash=True)) == [chat.id]
    assert alice.threads.search("saxophone") == alice.recall_chats("saxophone reed") == []
    with pytest.raises(Conflict) as refused:
        chat.add("user", "Still there?")
    assert refused.value.code == "trash"
    alice.threads.restore(chat.id)
    assert (chat.thread.state, chat.thread.deleted_at) == ("idle", None)
    assert alice.threads.search("saxophone")[0].thread_id == chat.id
    chat.add("user", "There it is")


def test_a_chat_in_the_trash_is_not_closed_and_is_once_it_is_back(kb: Any, alice: Any, chat: Chat, clock: Any) -> None:
    chat.add("user", "I live in Oslo")
    alice.threads.delete(chat.id)
    clock.forward(hours=7)
    assert chat.close().status == "nothing"
    assert kb.sweep().done == {}
    assert alice.list().total == 0
    alice.threads.restore(chat.id)
    assert kb.sweep().done == {"close": 1}
    assert alice.list().total == 1


def test_a_reminder_of_what_is_not_there_goes(kb: Any, alice: Any) -> None:
    with alice.writing() as (tx, _):
        due.remind(tx, due.CLOSE, "../../x", "2026-01-01T00:00:00.000000Z")
    assert kb.sweep().failed == []
    with alice.reading() as (tx, _, _):
        assert due.reminders(tx, due.CLOSE) == []


def test_after_thirty_days_in_the_trash_nothing_of_a_chat_is_left(kb: Any, alice: Any, chat: Chat, clock: Any) -> None:
    chat.add("user", "The saxophone needs a new reed", hidden="page: Shop")
    other = alice.threads.start()
    other.add("user", "I also play the clarinet")
    other.close()
    alice.threads.delete(chat.id)
    clock.forward(days=29, hours=23)
    kb.sweep()
    assert ids(alice.threads.list(trash=True)) == [chat.id]
    clock.forward(hours=1)
    assert kb.sweep().done["purge_chat"] == 1
    with pytest.raises(NotFound):
        alice.threads.get(chat.id)
    assert [rows(kb, table) for table in CHATS[:2]] == [1, 1]
    assert alice.threads.search("saxophone") == []
    assert alice.threads.search("clarinet")[0].thread_id == other.id
    assert not [id for _, id in reminders(kb) if id == chat.id]


def test_a_chat_deleted_for_good_is_gone_at_once(kb: Any, alice: Any, chat: Chat) -> None:
    chat.add("user", "The saxophone needs a new reed")
    chat.inject()
    assert alice.threads.delete(chat.id, forever=True) is None
    assert [rows(kb, table) for table in CHATS] == [0, 0, 0]
    assert reminders(kb) == {}


def test_deleting_a_chat_can_take_the_memories_learned_from_it_along(alice: Any, chat: Chat, clock: Any) -> None:
    elsewhere = alice.remember("Plays the cello")
    chat.add("user", "Hello")
    saying = alice.acting(actor="agent", thread_id=chat.id)
    learned, corrected = saying.remember("Lives in Oslo"), alice.acting(actor="agent").remember("Has two cats")
    saying.update(corrected.id, "Has three cats")
    dropped = saying.remember("Once lived in Rome")
    alice.delete(dropped.id)
    clock.forward(hours=1)
    assert set(alice.threads.learned(chat.id)) == {learned.id, corrected.id}
    alice.threads.delete(chat.id)
    assert alice.list().total == 3
    alice.delete(corrected.id)
    alice.threads.restore(chat.id)
    assert set(ids(alice.list())) == {elsewhere.id, learned.id}, "what the person deleted by itself stays in the trash"
    alice.restore(corrected.id)
    alice.threads.delete(chat.id, memories=True)
    assert ids(alice.list()) == [elsewhere.id]
    assert {memory.id for memory in alice.list(state="trash")} == {learned.id, corrected.id, dropped.id}
    assert alice.threads.learned(chat.id) == []
    alice.restore(learned.id)
    alice.threads.restore(chat.id)
    assert set(ids(alice.list())) == {elsewhere.id, learned.id, corrected.id}, "with what went along, and no other"


# --- notes


def test_a_reply_is_bookmarked_with_the_way_back_and_only_once(alice: Any, chat: Chat) -> None:
    chat.add("user", "How do I keep bees?")
    chat.add("assistant", "Start with two hives.")
    note = alice.notes.bookmark(chat.id, 2)
    assert (note.text, note.thread_id, note.turn) == ("Start with two hives.", chat.id, 2)
    assert alice.notes.bookmark(chat.id, 2) == note
    assert alice.notes.list() == [note]
    with pytest.raises(NotFound):
        alice.notes.bookmark(chat.id, 3)


def test_notes_are_edited_searched_and_deleted(kb: Any, alice: Any) -> None:
    bees, tea = alice.notes.write("Bees sleep in winter"), alice.notes.write("Straße nach Österreich")
    assert alice.notes.list() == [tea, bees]
    assert ids(alice.notes.list("STRASSE")) == [tea.id]
    edited = alice.notes.edit(bees.id, "  Bees cluster in winter ")
    assert (edited.text, edited.created_at) == ("Bees cluster in winter", bees.created_at)
    assert edited.updated_at > bees.updated_at
    assert alice.notes.list("sleep") == []
    alice.notes.delete(bees.id)
    assert ids(alice.notes.list()) == [tea.id]
    for act in (alice.notes.get, alice.notes.delete, kb.book("bob").notes.get):
        with pytest.raises(NotFound):
            act(bees.id)
    with pytest.raises(NotFound):
        kb.book("bob").notes.edit(tea.id, "mine now")
    for text in ("", "  \n ", "x" * (MESSAGE_LIMIT + 1)):
        with pytest.raises(Invalid):
            alice.notes.write(text)


def test_a_note_outlives_its_chat_and_loses_only_the_way_back(kb: Any, alice: Any, chat: Chat, clock: Any) -> None:
    chat.add("assistant", "Start with two hives.")
    chat.add("assistant", "Put them in the shade.")
    note = alice.notes.bookmark(chat.id, 1)
    alice.threads.delete(chat.id)
    assert alice.notes.get(note.id).turn == 1
    with pytest.raises(Conflict, match="trash"):
        kb.book("alice", by="agent").notes.bookmark(chat.id, 2)
    clock.forward(days=31)
    kb.sweep()
    left = alice.notes.get(note.id)
    assert (left.text, left.thread_id, left.turn) == ("Start with two hives.", None, None)


def test_a_note_is_in_no_block_and_in_no_recall(alice: Any, chat: Chat) -> None:
    alice.remember("Drinks green tea")
    alice.notes.write("Saxophone reeds come in strengths")
    assert "Saxophone" not in chat.inject() + alice.block()
    assert alice.recall("saxophone reeds") == []
    assert alice.threads.search("saxophone") == alice.recall_chats("saxophone reeds") == []


# --- search


def test_search_marks_the_words_and_finds_both_sides_newest_first(alice: Any, chat: Chat) -> None:
    chat.add("user", "My hives are near the river")
    chat.add("assistant", "Hives want morning sun")
    alice.threads.rename(chat.id, "Bees")
    other = alice.threads.start()
    other.add("user", "I painted a Hive blue")
    found = alice.threads.search("hives")
    assert [(hit.thread_id, hit.turn, hit.role, hit.title) for hit in found] == [
        (other.id, 1, "user", None),
        (chat.id, 2, "assistant", "Bees"),
        (chat.id, 1, "user", "Bees"),
    ]
    assert [hit.text for hit in found] == [
        "I painted a ⟦Hive⟧ blue",
        "⟦Hives⟧ want morning sun",
        "My ⟦hives⟧ are near the river",
    ]
    assert len(alice.threads.search("hives", limit=2)) == 2


def test_a_turn_with_all_the_words_is_found_before_any_with_some(alice: Any, chat: Chat) -> None:
    chat.add("user", "The river was high in spring")
    chat.add("user", "The hives stand near the river")
    chat.add("user", "We painted the hives")
    assert [hit.turn for hit in alice.threads.search("hives river")] == [2]
    assert {hit.turn for hit in alice.threads.search("hives mountain")} == {2, 3}


def test_a_long_turn_is_cut_around_the_word(alice: Any, chat: Chat) -> None:
    chat.add("user", f"{'before ' * 60}saxophone{' after' * 60}")
    (hit,) = alice.threads.search("saxophone")
    assert "⟦saxophone⟧" in hit.text
    assert (hit.text[0], hit.text[-1]) == ("…", "…")
    assert len(hit.text) < 200


def test_search_never_shows_hidden_context_tools_incognito_chats_or_another_owners(
    kb: Any, alice: Any, chat: Chat, bob_chat: Chat
) -> None:
    chat.add("user", "What is this?", hidden="Page about saxophones and bees")
    chat.add("tool", "saxophone bees result")
    chat.add("system", "saxophone bees rules")
    chat.add("assistant", "An instrument.", parts=[{"name": "look", "answer": "saxophone bees"}])
    private = alice.threads.start(incognito=True)
    private.add("user", "I want to sell the saxophone and the bees")
    for query in ("saxophone", "saxophones", "bees", "saxophone bees"):
        assert alice.threads.search(query) == alice.recall_chats(query) == []
    assert [hit.thread_id for hit in kb.book("bob").threads.search("bees")] == [bob_chat.id]
    assert rows(kb, "turn_terms", "alice") > 0


def test_recall_of_chats_answers_with_the_turn_its_speaker_and_its_time(alice: Any) -> None:
    chat = alice.thread("club")
    chat.add("user", "Where do we meet?", "2026-01-05T10:00:00Z", "Nora")
    chat.add("user", "At the boathouse on Fridays", "2026-01-05T10:01:00Z", "Tom")
    best = alice.recall_chats("boathouse on Fridays")[0]
    assert (best.session, best.turn, best.speaker, best.role) == ("club", 2, "Tom", "user")
    assert best.at == datetime(2026, 1, 5, 10, 1, tzinfo=UTC)
    assert best.text == "At the boathouse on Fridays"
    assert 0 < best.relevance <= 1
    assert best.reasons


# --- outside agents, incognito, memory off


def test_an_outside_session_is_found_again_and_is_its_owners_alone(kb: Any, alice: Any) -> None:
    chat = alice.thread("session-42")
    chat.add("user", "Hello")
    again = kb.book("alice").thread("session-42")
    assert (again.id, len(again.messages())) == (chat.id, 1)
    assert kb.book("bob").thread("session-42").id != chat.id
    assert alice.thread("session-43").id != chat.id
    with pytest.raises(Invalid):
        alice.thread("")


def test_a_chat_and_an_outside_session_get_their_block_once_and_the_same_bytes(alice: Any, chat: Chat) -> None:
    alice.remember("Drinks green tea")
    outside = alice.thread("session-42")
    blocks = [chat.inject(), outside.inject()]
    assert all("green tea" in block for block in blocks)
    alice.remember("Plays the saxophone")
    assert [chat.inject(), outside.inject()] == blocks
    assert alice.inject("session-42") == blocks[1]
    assert "saxophone" in alice.threads.start().inject()


def test_an_incognito_chat_reads_no_memory_and_leaves_none(kb: Any, alice: Any) -> None:
    alice.remember("Drinks green tea")
    before = alice.ledger(limit=None)
    for chat in (alice.threads.start(incognito=True), alice.thread("private", incognito=True)):
        chat.add("user", "I live in Oslo and I am a nurse")
        chat.add("user", "Remember that I am allergic to nuts")
        assert chat.inject() == ""
        closed = chat.close()
        assert (closed.status, closed.written, closed.proposed, closed.made_by) == ("closed", (), (), None)
        assert (chat.thread.state, chat.thread.summary, chat.thread.incognito) == ("idle", None, True)
        assert len(chat.messages()) == 2
    assert alice.ledger(limit=None) == before
    assert rows(kb, "turn_terms") == rows(kb, "proposals") == rows(kb, "injections") == 0


def test_a_remembered_session_is_not_quietly_taken_for_an_incognito_one(alice: Any) -> None:
    alice.thread("session-42").add("user", "I live in Oslo")
    with pytest.raises(Conflict) as refused:
        alice.thread("session-42", incognito=True)
    assert refused.value.code == "not_incognito"
    private = alice.thread("private", incognito=True)
    assert alice.thread("private").id == private.id
    assert alice.thread("private").thread.incognito


def test_an_agent_is_shown_the_block_of_the_persons_chat_and_fixes_nothing(kb: Any, alice: Any) -> None:
    agent = kb.book("alice", by="agent", name="Helper")
    agent.remember("Sells yachts", scope="evil")
    chat = alice.threads.start()
    assert "Sells yachts" in agent.threads.get(chat.id).inject(scope="evil")
    agent.threads.get(chat.id).inject()
    alice.remember("Lives in Oslo")
    block = chat.inject()
    assert ("Lives in Oslo" in block, "Sells yachts" in block) == (True, False)
    assert agent.threads.get(chat.id).inject() == block
    own = agent.threads.start()
    first = own.inject()
    alice.remember("Plays chess on Sundays")
    assert own.inject() == first


def test_with_memory_off_nothing_is_injected_or_learned_not_even_later(alice: Any, chat: Chat) -> None:
    alice.remember("Drinks green tea")
    alice.choose(memory=False)
    chat.add("user", "I live in Oslo")
    assert chat.inject() == ""
    assert chat.close().status == "closed"
    alice.choose(memory=True)
    assert "green tea" in chat.inject()
    chat.add("user", "I work as a nurse")
    closed = chat.close()
    said = " ".join(each["content"] for each in closed.written)
    assert "nurse" in said
    assert "Oslo" not in said + " ".join(memory.content for memory in alice.list())


def test_what_was_said_while_memory_was_off_is_neither_learned_nor_recalled_once_it_is_on(
    kb: Any, alice: Any, chat: Chat
) -> None:
    chat.add("user", "I play the tuba in a band")
    alice.choose(memory=False)
    chat.add("user", "Remember that my landlord is called Quuxo. I live in Oslo.")
    alice.choose(memory=True)
    assert not [line for line in chat.pencil() if "Oslo" in line.content]
    chat.add("user", "I work as a nurse")
    closed = chat.close()
    kept = " ".join(memory.content for memory in alice.list())
    assert "nurse" in kept
    assert "Oslo" not in kept + (chat.thread.summary or "") + (chat.thread.title or "")
    assert not closed.proposed
    alice.index.rebuild()
    assert list(alice.recall_chats("Quuxo landlord")) == []
    beside = [one for hit in alice.recall_chats("tuba band", around=2) for one in hit.around]
    assert not [one for one in beside if "Quuxo" in str(one)]
    assert "Quuxo" in chat.messages()[1].text  # the person has it still
    with pytest.raises(NotAllowed) as refused:
        kb.book("alice", by="agent").notes.bookmark(chat.id, 2)
    assert refused.value.code == "memory_off"
    assert "Quuxo" in alice.notes.bookmark(chat.id, 2).text


def test_a_topic_that_is_never_to_be_remembered_is_not_learned(alice: Any, chat: Chat) -> None:
    alice.choose(never=["salary", "my health"])
    chat.add("user", "My salary is 90,000 a year")
    chat.add("user", "I live in Oslo")
    chat.close()
    assert [memory.content for memory in alice.list()] == ["I live in Oslo"]


def test_an_agent_outside_gets_no_block_where_there_is_to_be_no_memory(alice: Any) -> None:
    alice.remember("Drinks green tea")
    alice.thread("private", incognito=True)
    assert alice.inject("private") == ""
    alice.choose(memory=False)
    assert alice.inject("session-42") == ""


def test_an_agents_tools_keep_nothing_that_the_person_does_not_want_kept(kb: Any, alice: Any) -> None:
    tools = kb.tools(owner="alice")
    alice.choose(never=["health"])
    assert not tools.call("remember", {"content": "Has poor health"}).memory_event
    alice.choose(memory=False)
    assert not tools.call("remember", {"content": "Lives in Oslo"}).memory_event
    assert alice.list().total == 0
    assert alice.remember("Lives in Oslo").event  # the person may write what they like


def test_a_memory_about_the_time_zone_sets_it(alice: Any) -> None:
    alice.remember("Europe/Oslo", subject="timezone")
    assert alice.zone == "Europe/Oslo"


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Earns a salary of 90,000", "salary"),
        ("Two SALARIES come in", "salary"),
        ("Worries about her health", "my health"),
        ("Owns a healthy dog", None),
        ("Lives in Oslo", None),
    ],
)
def test_a_topic_is_found_by_its_words_in_any_form(text: str, topic: str | None) -> None:
    assert find_topics(text, ["salary", "my health"]) == ([topic] if topic else [])


# --- choices


def test_choices_are_kept_one_by_one_and_are_the_owners_own(kb: Any, alice: Any) -> None:
    assert alice.choices == Choices(memory=True, never=(), tier=None)
    alice.choose(memory=False, tier="beginner")
    alice.choose(never=["  health ", "Geld und Schulden"])
    assert alice.choices == Choices(memory=False, never=("health", "Geld und Schulden"), tier="beginner")
    assert alice.choose(never=[], memory=True) == Choices(memory=True, never=(), tier="beginner")
    assert kb.book("bob").choices == Choices()


@pytest.mark.parametrize("wrong", [{"tier": "expert"}, {"never": ["x"]}, {"never": ["a" * 81]}, {"memory": "off"}])
def test_a_choice_that_is_none_is_refused_and_nothing_changes(alice: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refused:
        alice.choose(**wrong)
    assert refused.value.field == next(iter(wrong))
    assert alice.choices == Choices()


def test_a_chat_keeps_the_tier_it_began_with(alice: Any) -> None:
    alice.choose(tier="beginner")
    chat = alice.threads.start(mode="coach", focus="page: Trades")
    alice.choose(tier="advanced")
    assert (chat.thread.tier, chat.thread.mode, chat.thread.focus) == ("beginner", "coach", "page: Trades")
    assert alice.threads.start().thread.tier == "advanced"


# --- the meter


def test_the_meter_adds_up_by_month_operation_and_model(kb: Any, alice: Any, clock: Any) -> None:
    clock.set("2026-01-31T23:00:00Z")
    alice.spending.count("chat", "openai:x", 100, 10)
    clock.set("2026-02-01T09:00:00Z")
    for tokens_in, tokens_out in ((200, 20), (300, 30)):
        alice.spending.count("chat", "openai:x", tokens_in, tokens_out)
    alice.spending.count("extract", "openai:x", 40, 4)
    alice.spending.count("extract", "offline", 5000, 500)
    assert alice.spending.list() == [
        Spent("2026-02", "chat", "openai:x", 2, 500, 50),
        Spent("2026-02", "extract", "offline", 1, 5000, 500),
        Spent("2026-02", "extract", "openai:x", 1, 40, 4),
        Spent("2026-01", "chat", "openai:x", 1, 100, 10),
    ]
    assert alice.spending.this_month() == 594  # what the offline model does costs nothing
    assert kb.book("bob").spending.this_month() == 0


# --- proposals


def test_what_waits_for_a_yes_is_in_no_block_and_in_no_recall(kb: Any, alice: Any) -> None:
    waiting = propose(kb, "Plays the saxophone", category="fact", subject="music", score=0.8)
    assert waiting is not None
    assert alice.proposals.list() == [waiting]
    assert (waiting.nature, waiting.status, waiting.op, waiting.turn_ids) == ("proposal", "waiting", "add", ("1",))
    assert "saxophone" not in alice.block()
    assert alice.recall("saxophone") == []
    assert alice.list().total == 0
    assert alice.ledger() == []
    with pytest.raises(NotFound):
        kb.book("bob").proposals.get(waiting.id)


def test_a_yes_makes_it_the_persons_own_word(kb: Any, alice: Any) -> None:
    waiting = propose(kb, "Plays the saxophone", category="preference", subject="music", valid_from="2025-01-01")
    written = alice.proposals.accept(waiting.id)
    assert (written.content, written.category, written.subject) == ("Plays the saxophone", "preference", "music")
    assert (written.source, written.confidence) == ("profile", "asserted")
    assert (written.thread_id, written.turn_ids) == ("chat0001", ("1",))
    assert written.valid_from == datetime(2025, 1, 1, tzinfo=UTC)
    assert alice.proposals.list() == []
    decided = alice.proposals.get(waiting.id)
    assert (decided.status, decided.decided_at is None) == ("accepted", False)
    assert reminders(kb) == {}
    with pytest.raises(NotAllowed):  # and automation keeps its hands off it
        alice.acting(actor="extractor", source="extracted").update(written.id, "Plays the flute")


def test_a_yes_in_another_preset_keeps_the_fact_under_a_category_it_has(kb: Any, alice: Any) -> None:
    alice.configure(preset="advisor")
    waiting = propose(kb, "The boat project ends in May", category="project")
    assert alice.proposals.accept(waiting.id).category in alice.preset().categories


def test_a_no_keeps_nothing_and_is_not_asked_again(kb: Any, alice: Any) -> None:
    waiting = propose(kb, "Plays the saxophone")
    assert alice.proposals.decline(waiting.id).status == "declined"
    assert alice.list().total == 0
    assert propose(kb, "plays the  Saxophone") is None
    assert propose(kb, "Plays the flute") is not None
    assert propose(kb, "Plays the saxophone", owner="bob") is not None


def test_the_same_fact_waits_only_once(kb: Any, alice: Any) -> None:
    assert propose(kb, "Plays the saxophone") is not None
    assert propose(kb, "Plays the saxophone") is None
    assert len(alice.proposals.list()) == 1


def test_unanswered_for_thirty_days_it_is_gone_and_may_be_proposed_again(kb: Any, alice: Any, clock: Any) -> None:
    waiting = propose(kb, "Plays the saxophone")
    clock.forward(days=29)
    assert kb.sweep().done == {}
    clock.forward(days=1)
    assert kb.sweep().done == {"expire": 1}
    assert alice.proposals.list() == []
    with pytest.raises(Conflict):
        alice.proposals.accept(waiting.id)
    assert propose(kb, "Plays the saxophone") is not None


def test_only_the_person_decides_and_only_once(kb: Any, alice: Any) -> None:
    waiting = propose(kb, "Plays the saxophone")
    for decide in (kb.book("alice", by="agent").proposals.accept, kb.book("alice", by="agent").proposals.decline):
        with pytest.raises(NotAllowed):
            decide(waiting.id)
    alice.proposals.accept(waiting.id)
    for decide in (alice.proposals.accept, alice.proposals.decline):
        with pytest.raises(Conflict) as refused:
            decide(waiting.id)
        assert refused.value.code == "decided"
    assert alice.list().total == 1


def test_a_conflict_changes_the_persons_word_only_with_a_yes(kb: Any, alice: Any) -> None:
    own, other = alice.remember("Lives in Oslo"), alice.remember("Has a dog")
    moved = propose(kb, "Lives in Bergen", nature="conflict", op="update", memory_id=own.id, reason="your own word")
    gone = propose(kb, "Has a dog", nature="conflict", op="forget", memory_id=other.id, reason="your own word")
    kept = propose(kb, "Lives in Rome", nature="conflict", op="update", memory_id=own.id, reason="your own word")
    alice.proposals.decline(kept.id)
    assert alice.get(own.id).content == "Lives in Oslo"
    updated, forgotten = alice.proposals.accept(moved.id), alice.proposals.accept(gone.id)
    assert (updated.id, updated.content, updated.version, updated.source) == (own.id, "Lives in Bergen", 2, "profile")
    assert (forgotten.state, forgotten.archived_reason) == ("archived", "user_corrected")


def test_a_yes_to_what_is_there_no_more_is_refused_and_waits_until_it_is_back(kb: Any, alice: Any) -> None:
    own = alice.remember("Lives in Oslo")
    moved = propose(kb, "Lives in Bergen", nature="conflict", op="update", memory_id=own.id)
    alice.forget(own.id)
    with pytest.raises(Conflict):
        alice.proposals.accept(moved.id)
    assert alice.proposals.list() == []  # nothing is asked about a line that is out of the book
    alice.restore(own.id)
    assert ids(alice.proposals.list()) == [moved.id]
    alice.delete(own.id, forever=True)  # and what was erased is proposed no more
    assert alice.proposals.list() == []


# --- what nobody may do


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE messages SET text = 'I never said that'",
        "UPDATE messages SET hidden = 'new'",
        "UPDATE messages SET role = 'assistant'",
        "UPDATE messages SET at = '2020-01-01T00:00:00.000000Z'",
        "INSERT INTO messages (owner, thread_id, turn, role, text, at, tokens) "
        "SELECT owner, thread_id, 9, role, text, at, tokens FROM messages",
        "INSERT INTO messages (owner, thread_id, turn, role, text, at, tokens) "
        "SELECT owner, thread_id, turn, role, text, at, tokens FROM messages",
    ],
)
def test_what_was_said_cannot_be_rewritten_by_sql(kb: Any, alice: Any, chat: Chat, statement: str) -> None:
    chat.add("user", "I said this")
    with pytest.raises(NotAllowed), kb._database.write("alice") as tx:
        tx.conn.exec_driver_sql(f"{statement} WHERE owner = 'alice'")
    assert [(message.turn, message.role, message.text) for message in chat.messages()] == [(1, "user", "I said this")]


# --- moving house


def full_book(kb: Any, owner: str) -> Chat:
    """A book that has something in every table."""
    book = kb.book(owner)
    book.choose(never=["health"], tier="advanced")
    old = book.threads.start()
    old.add("user", "An old chat")
    old.close()
    book.threads.delete(old.id)
    chat: Chat = book.thread("session-42")
    kept = book.remember("Drinks green tea")
    book.link(kept.id, book.remember("Owns a teapot").id, "relates_to")
    chat.inject()
    chat.add("user", "The saxophone needs a reed", speaker="Nora", hidden="page: Shop")
    chat.add("assistant", "Noted.", parts=[{"name": "recall", "answer": "-"}])
    book.notes.bookmark(chat.id, 2)
    book.threads.rename(chat.id, "Music")
    propose(kb, "Plays the saxophone", owner)
    declined = propose(kb, "Owns a boat", owner)
    book.proposals.decline(declined.id if declined else "")
    book.spending.count("chat", "openai:x", 100, 10)
    private = book.threads.start(incognito=True)
    private.add("user", "A secret about a saxophone")
    book.delete(book.remember("Soon gone").id, forever=True)
    return chat


def exported(book: Any) -> str:
    stream = io.StringIO()
    book.export(stream)
    return stream.getvalue()


def test_an_export_takes_chats_notes_proposals_and_choices_along(kb: Any, alice: Any) -> None:
    chat = full_book(kb, "alice")
    lines = exported(alice)
    moved = kb.book("moved")
    moved.import_(lines.splitlines(keepends=True))
    assert exported(moved) == lines
    assert moved.threads.get(chat.id).messages() == chat.messages()
    assert moved.threads.get(chat.id).thread == chat.thread
    assert moved.choices == alice.choices
    assert (moved.notes.list(), moved.proposals.list()) == (alice.notes.list(), alice.proposals.list())
    assert moved.spending.list() == alice.spending.list()
    assert ids(moved.threads.list(trash=True)) == ids(alice.threads.list(trash=True))
    assert moved.threads.search("saxophone") == alice.threads.search("saxophone")
    assert [hit.thread_id for hit in moved.threads.search("saxophone")] == [chat.id]
    assert moved.thread("session-42").inject() == chat.inject()
    assert propose(kb, "Owns a boat", "moved") is None


def test_an_imported_chat_goes_on_where_it_was(kb: Any, alice: Any, clock: Any) -> None:
    chat = full_book(kb, "alice")
    moved = kb.book("moved")
    moved.import_(exported(alice).splitlines(keepends=True))
    assert reminders(kb, "moved") == reminders(kb)
    again = moved.thread("session-42")
    assert again.id == chat.id
    assert again.add("user", "I live in Oslo").turn == 3
    clock.forward(hours=7)
    kb.sweep()
    assert again.thread.state == "idle"
    assert "I live in Oslo" in [memory.content for memory in moved.list()]
    assert "I live in Oslo" not in [memory.content for memory in alice.list()]


def test_erasing_an_owner_leaves_no_row_of_any_kind(kb: Any, alice: Any) -> None:
    full_book(kb, "alice")
    full_book(kb, "bob")
    before = {table.name: rows(kb, table.name, "bob") for table in OWNED}
    receipt = alice.erase("alice")
    chatting = ("threads", "messages", "turn_terms", "notes", "proposals", "choices", "meter", "due")
    assert all(receipt.counts[name] for name in chatting)
    assert {table.name: rows(kb, table.name) for table in OWNED} == {table.name: 0 for table in OWNED}
    assert {table.name: rows(kb, table.name, "bob") for table in OWNED} == before
    assert alice.threads.search("saxophone") == []


# --- one result for both engines


def test_both_engines_find_the_same(both_kbs: Any) -> None:
    def found(kb: Any) -> tuple[list[Any], list[Any]]:
        book = kb.book("alice")
        said = ("Bees in Ålesund", "Two hives", "蜜蜂 in the garden", "naïve BEES", "bee keeping")
        for number, text in enumerate(said):
            book.thread(f"s{number % 2}").add("user", text, speaker="Nora" if number % 2 else None)
        asked = ("bees", "alesund", "蜜蜂", "hives garden")
        hits = [(hit.turn, hit.text) for query in asked for hit in book.threads.search(query)]
        best = [(hit.turn, hit.text, round(hit.relevance, 9)) for query in asked for hit in book.recall_chats(query)]
        return hits, best

    assert found(both_kbs.sqlite) == found(both_kbs.postgresql)
    assert found(both_kbs.sqlite)[0]


@pytest.mark.parametrize("place", [0, 2, 3])
def test_a_turn_takes_the_place_of_an_earlier_one_only(alice: Any, place: int) -> None:
    """Whoever brings in a file of their own making cannot make a turn its own predecessor."""
    chat = alice.threads.start()
    chat.add("user", "Hello")
    with pytest.raises(KeepbookError), alice.writing() as (tx, _):
        adding.add_message(tx, chat.id, "user", "Hello again", stamp(tx.clock()), instead_of=place)
    assert [one.text for one in chat.messages()] == ["Hello"]


def test_a_program_takes_no_name_of_a_session_away(kb: Any, alice: Any) -> None:
    agent = kb.book("alice", by="agent")
    alice.remember("Lives in Oslo")
    agent.inject("support", preset="coach")
    chat, own = alice.thread("support"), alice.threads.start()
    for one in (chat, own):
        for scope in ("gardener", "cook"):
            agent.threads.get(one.id).inject(scope=scope)
        assert "Oslo" in one.inject()
    alice.remember("Has a dog")
    assert "dog" not in chat.inject(), "it was rendered once"
    assert chat_block(alice, chat.thread).text == chat.inject()
    for begin in (
        lambda: agent.thread(" telegram:77:zz"),
        lambda: agent.threads.of_session("telegram:77:zz", incognito=True),
        lambda: record_session(agent, "telegram:77:zz", [NewTurn("user", "Hello")]),
    ):
        with pytest.raises(NotAllowed, match="telegram") as refused:
            begin()
        assert refused.value.code == "person_only"
    ours = alice.thread("telegram:77:zz")
    assert agent.thread("telegram:77:zz").id == ours.id


def test_a_session_that_a_program_began_incognito_binds_nothing_that_the_person_says(kb: Any, alice: Any) -> None:
    agent = kb.book("alice", by="agent")
    theirs = agent.thread("weather", incognito=True)
    theirs.add("user", "It may rain")
    mine = alice.thread("weather")
    assert (mine.id != theirs.id, mine.thread.incognito) == (True, False)
    mine.add("user", "I live in Oslo")
    assert mine.close(offline=True).status == "closed"
    assert [one.content for one in alice.list()] == ["I live in Oslo"]
    assert alice.thread("weather").id == mine.id
    assert theirs.thread.incognito
    assert [one.text for one in theirs.messages()] == ["It may rain"]
    private = alice.thread("private", incognito=True)
    assert alice.thread("private").id == private.id
    assert alice.verify().ok


@pytest.mark.parametrize("parts", [{"deeds": []}, None], ids=["said", "recorded"])
def test_of_an_incognito_chat_a_program_keeps_and_sees_nothing(kb: Any, alice: Any, parts: Any) -> None:
    agent = kb.book("alice", by="agent", name="Helper")
    chats = [alice.threads.start(incognito=True), alice.thread("private", incognito=True)]
    for chat, ref in zip(chats, (chats[0].id, "private"), strict=True):
        chat.add("user", "My lover is called Zoe", parts=parts)
        for write in (
            lambda ref=ref: agent.remember("Has a lover called Zoe", thread_id=ref, turn_ids=["1"]),
            lambda chat=chat: agent.notes.bookmark(chat.id, 1),
        ):
            with pytest.raises(NotAllowed) as refused:
                write()
            assert refused.value.code == "incognito"
    program = kb.book("alice", by="agent", hand=Actor("agent", remote=True))
    assert program.threads.list() == []
    with pytest.raises(NotFound):
        program.threads.get(chats[0].id)
    for by_session in (
        lambda: program.thread("private"),
        lambda: program.thread("private", incognito=True),
        lambda: record_session(program, "private", [NewTurn("user", "Call me")]),
    ):
        with pytest.raises(NotFound):
            by_session()
    for chat in chats:
        theirs = Chat(program, chat.thread)
        for use in (
            theirs.messages, theirs.pencil, theirs.inject, lambda theirs=theirs: theirs.thread,
            lambda theirs=theirs: theirs.add("user", "Call me"),
            lambda theirs=theirs: theirs.add_all([NewTurn("user", "Call me")]),
        ):  # fmt: skip
            with pytest.raises(NotFound):
                use()
        assert len(chat.messages()) == 1
    with pytest.raises(NotAllowed):
        program.export(io.StringIO())
    assert len(alice.threads.list()) == 2
    assert alice.remember("Has a lover called Zoe", thread_id=chats[0].id, turn_ids=["1"]).event is not None


@pytest.mark.parametrize("what", ["chat", "note"])
def test_no_kept_answer_tells_again_what_was_deleted_for_good(kb: Any, alice: Any, what: str) -> None:
    chat, note = alice.thread("one"), alice.notes.write("Zoe called")
    chat.add("user", "Zoe called")
    with alice.writing() as (tx, _):
        store_answer(tx, "k1", b"sent", StoredAnswer(201, '{"text": "Zoe called"}'))
    assert rows(kb, "answers") == 1
    if what == "chat":
        alice.threads.delete(chat.id, forever=True)
    else:
        alice.notes.delete(note.id)
    assert rows(kb, "answers") == 0


@pytest.mark.parametrize("deeds", [{"deeds": []}, None], ids=["said", "recorded"])
def test_what_the_person_says_while_memory_is_off_is_never_learned_or_recalled(alice: Any, deeds: Any) -> None:
    chat = alice.threads.start()
    chat.add("user", "I keep a saxophone in the cellar.", parts=deeds)
    alice.choose(memory=False)
    chat.add("user", "My landlord is called Quuxo. I live in Bergen.", parts=deeds)
    chat.add("assistant", "Quuxo is noted nowhere.")
    alice.choose(memory=True)
    chat.add("user", "I have a boat in the harbour.", parts=deeds)
    assert not [one for one in chat.pencil() if "Bergen" in one.content]
    assert chat.close(offline=True).status == "closed"
    told = " ".join([*(one.content for one in alice.list()), *(one.content for one in alice.proposals.list())])
    assert "Bergen" not in told + str(chat.thread.summary) + str(chat.thread.title)
    for _ in range(2):
        assert [list(alice.threads.search(word)) for word in ("Quuxo", "landlord", "Bergen")] == [[], [], []]
        assert [len(alice.threads.search(word)) for word in ("saxophone", "boat")] == [1, 1]
        assert alice.index.rebuild() == 0
    there = io.StringIO()
    alice.export(there)
    assert len(chat.messages()) == 4  # they stay readable in the chat
    assert alice.verify().ok


def test_others_write_while_a_chat_goes_and_comes_with_its_memories(
    kb: Any, alice: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learned_memories, "PIECE_SECONDS", 0.0)
    waits: list[int] = []

    def wait(_: object) -> None:
        waits.append(kb.book("bob").remember(f"Bob's turn came, {len(waits)}", force=True).event)

    chat = alice.threads.start()
    for nth in range(4):
        alice.remember(f"Fact {nth} about river {nth * 7}", thread_id=chat.id, force=True)
    with monkeypatch.context() as patched:
        patched.setattr(learned_memories.Gaps, "wait", wait)
        alice.threads.delete(chat.id, memories=True)
        assert (len(waits), alice.list().total, alice.threads.list()) == (3, 0, [])
        alice.threads.restore(chat.id)
        assert (len(waits), alice.list().total, len(alice.threads.list())) == (6, 4, 1)
    with alice.transaction():
        alice.threads.delete(chat.id, memories=True)
    assert alice.list().total == 0
    assert alice.verify().ok


def test_what_an_agent_put_away_is_not_taken_for_what_the_person_took_back(kb: Any, alice: Any) -> None:
    chat, agent = alice.threads.start(), kb.book("alice", by="agent")
    chat.add("user", "I have a boat in the harbour and a dog called Rex.", parts={"deeds": []})
    theirs = agent.remember("Has a boat in the harbour", thread_id=chat.id, turn_ids=["1"])
    agent.forget(theirs.id)
    mine = alice.remember("Has a dog called Rex", thread_id=chat.id, turn_ids=["1"])
    alice.forget(mine.id)
    with alice.reading() as (tx, _, _):
        back = learned_memories.memories_taken_back(tx, chat.id)
    assert [one.content for one in back] == ["Has a dog called Rex"]
