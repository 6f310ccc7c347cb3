"""What the past has left: when the ledger was written, which chats were given a memory, and both clocks at once."""

from typing import Any

from keepbook.book.ground.when import stamp
from keepbook.book.memory.history import traces
from keepbook.book.memory.history.traces import book_state, chats_named, instants, sessions_that_saw
from keepbook.book.text.quotation import is_guess, shown_text


def test_every_entry_has_its_instant_in_order(alice: Any) -> None:
    assert list(instants(alice)) == []
    first = alice.remember("Lives in Vienna")
    alice.confirm(first.id)
    written = [stamp(entry.at) for entry in reversed(alice.ledger())]
    assert list(instants(alice)) == written == sorted(written)


def test_another_owners_entries_are_not_among_them(kb: Any, alice: Any) -> None:
    kb.book("bob").remember("Lives in Graz")
    assert list(instants(alice)) == []


def test_a_chat_that_was_given_a_memory_has_seen_it_with_its_replies(alice: Any) -> None:
    memory = alice.remember("Lives in Vienna")
    chat = alice.threads.start()
    chat.add("user", "Where do I live?")
    chat.inject()
    chat.add("assistant", "In Vienna.")
    chat.add("user", "And you?")
    chat.add("assistant", "Here.")
    alice.threads.rename(chat.id, "Where people live")
    alice.inject("outside-7")

    latest, earlier = sessions_that_saw(alice, memory.id)

    assert (earlier.thread_id, earlier.title, earlier.version, earlier.replies) == (chat.id, "Where people live", 1, 2)
    assert (latest.session, latest.thread_id, latest.replies) == ("outside-7", None, 0)


def test_a_deleted_chat_is_named_as_one_in_the_trash(alice: Any) -> None:
    memory = alice.remember("Lives in Vienna")
    chat = alice.threads.start()
    chat.add("user", "Hello there")
    chat.inject()
    assert chats_named(alice, [chat.id, "unknown1"]) == {chat.id: ("a chat without a title", False, None)}

    alice.threads.delete(chat.id)

    assert chats_named(alice, [chat.id])[chat.id].in_trash
    assert [sighting.thread_id for sighting in sessions_that_saw(alice, memory.id)] == [None]


def test_a_memory_that_no_chat_was_given_is_seen_by_none(alice: Any) -> None:
    assert list(sessions_that_saw(alice, alice.remember("Lives in Vienna").id)) == []


def test_the_past_is_what_as_of_and_the_block_say(alice: Any) -> None:
    first = alice.remember("Lives in Vienna", category="profile")
    alice.remember("Works with an agent of her own", scope="desk")
    gone = alice.remember("Is saving for a camper van")
    then = stamp(gone.recorded_at)
    alice.update(first.id, "Lives in Graz")
    alice.forget(gone.id)

    for known, valid in ((then, then), (stamp(alice.now), then), (stamp(alice.now), stamp(alice.now))):
        for _ in range(2):  # the second time from what is known of the first
            found = book_state(alice, known, valid)
        assert list(found.first) == [
            (memory.id, shown_text(memory), is_guess(memory), stamp(memory.recorded_at))
            for memory in alice.as_of(known, valid)
        ]
        assert list(found.signs) == [memory.id for memory in alice.as_of(known, valid)]
        assert found.rendered[:2] == alice.rendered(known=known, valid=valid)[:2]
    assert "Lives in Vienna" in book_state(alice, then, then).rendered.text


def test_a_past_that_is_known_follows_what_is_written_and_holds_no_words(alice: Any) -> None:
    first = alice.remember("Lives in Vienna")
    then = stamp(alice.now)
    before = book_state(alice, then, then)
    alice.update(first.id, "Lives in Graz")
    assert book_state(alice, then, then) == before
    now = book_state(alice)
    assert now.signs.keys() == before.signs.keys()
    assert now.signs != before.signs
    assert "Graz" in now.rendered.text
    alice.delete(first.id)
    assert not book_state(alice).signs
    assert "Graz" not in repr(traces._PASTS)
    assert "Vienna" not in repr(traces._PASTS)
