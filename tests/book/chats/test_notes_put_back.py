"""A note that was deleted can be put back as it was."""

from typing import Any


def bookmarked(alice: Any) -> Any:
    chat = alice.threads.start()
    chat.add("user", "Bonds or funds?")
    chat.add("assistant", "Funds.")
    return alice.notes.bookmark(chat.id, 2)


def test_a_deleted_note_is_put_back_as_it_was(alice: Any) -> None:
    alice.notes.edit(bookmarked(alice).id, "Funds, mostly.")
    (note,) = alice.notes.list()
    back = alice.notes.put_back(alice.notes.delete(note.id))
    assert [known.id for known in alice.notes.list()] == [back.id]
    for name in ("text", "thread_id", "turn", "created_at", "updated_at"):
        assert getattr(back, name) == getattr(note, name), name


def test_its_way_back_is_gone_with_the_chat(alice: Any) -> None:
    note = alice.notes.delete(bookmarked(alice).id)
    alice.threads.delete(note.thread_id, forever=True)
    back = alice.notes.put_back(note)
    assert (back.text, back.thread_id, back.turn) == ("Funds.", None, None)


def test_it_leads_to_no_turn_of_another_owner(kb: Any, alice: Any) -> None:
    note = bookmarked(alice)
    theirs = kb.book("bob").notes.put_back(note)
    assert (theirs.thread_id, theirs.turn) == (None, None)
