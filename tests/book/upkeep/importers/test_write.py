"""What comes in from elsewhere, written into books: on either engine, once, with its dates, and nothing unwanted."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests.book.upkeep.importers.test_sources import GOLDEN, SAMPLES

from keepbook import Conflict, Invalid, NotAllowed
from keepbook.book.ground.when import stamp

EVERYBODY = {"anna": "anna", "ben": "ben"}


def text_of(value: Any) -> io.StringIO:
    return io.StringIO(json.dumps(value))


def test_two_users_of_mem0_end_in_two_books_as_dated_there(kb: Any) -> None:
    answers = kb.import_from(SAMPLES / "mem0-get-all.json", "me", owner_map=EVERYBODY)

    assert [(one.owner, one.source, one.memories) for one in answers] == [("anna", "mem0", 2), ("ben", "mem0", 1)]
    kept = {owner: {one.content: one for one in kb.book(owner).list()} for owner in EVERYBODY}
    assert {owner: set(found) for owner, found in kept.items()} == {
        "anna": {"Is allergic to walnuts", "Lives in Bergen"},
        "ben": {"Plays the cello on Tuesdays"},
    }
    cello = kept["ben"]["Plays the cello on Tuesdays"]
    assert stamp(cello.valid_from) == "2025-04-11T07:15:00.000000Z"
    assert stamp(cello.recorded_at) > "2025-05-01"
    assert (cello.source, cello.made_by) == ("imported", "mem0 0c1c64c3-c2ac-4f52-b22e-3b032874ae26")
    bergen = kept["anna"]["Lives in Bergen"]
    assert (bergen.category, list(bergen.tags), dict(bergen.metadata)) == ("profile", ["profile"], {"place": "Norway"})
    assert kb.owners() == ["anna", "ben"]
    assert all(kb.book(owner).verify().ok for owner in EVERYBODY)


def test_without_an_answer_whose_they_are_nothing_is_written(kb: Any) -> None:
    with pytest.raises(Conflict) as asked:
        kb.import_from(SAMPLES / "mem0-get-all.json", "me")
    assert asked.value.code == "several_people"
    with pytest.raises(Conflict):
        kb.book("me").import_(io.StringIO((SAMPLES / "mem0-get-all.json").read_text()))
    with pytest.raises(Invalid, match="nobody in this file"):
        kb.book("me").import_(io.StringIO((SAMPLES / "mem0-get-all.json").read_text()), theirs="carl")
    assert kb.owners() == []


def test_an_import_that_stops_in_the_middle_says_what_came_in_and_is_completed(kb: Any) -> None:
    file = SAMPLES / "mem0-get-all.json"
    kb.book("ben").choose(memory=False)
    with pytest.raises(NotAllowed) as stopped:
        kb.import_from(file, "me", owner_map=EVERYBODY)
    told = stopped.value
    assert (told.code, told.details) == ("memory_off", {"imported": ["anna"], "left": ["ben"]})
    assert "Already imported: anna: 2 new, 0 known, 0 chats. Not imported: ben." in told.message
    assert [kb.book(owner).list().total for owner in EVERYBODY] == [2, 0]
    with pytest.raises(NotAllowed) as looked:
        kb.import_from(file, "me", owner_map=EVERYBODY, dry_run=True)
    assert "imported" not in looked.value.details

    kb.book("ben").choose(memory=True)
    again = kb.import_from(file, "me", owner_map=EVERYBODY)
    assert [(one.owner, one.memories, one.unchanged) for one in again] == [("anna", 0, 2), ("ben", 1, 0)]
    assert all(kb.book(owner).verify().ok for owner in EVERYBODY)


def _asked(parts: Any, **more: Any) -> dict[str, Any]:
    """One of ChatGPT's conversations in which somebody said something."""
    said = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": parts}, "create_time": 1.7e9}
    return {"title": "Boats", "mapping": {"a": {"message": said, "parent": None, "children": []}}} | more


@pytest.mark.parametrize("parts", [7, "I have a boat", {"0": "I have a boat"}, True])
def test_parts_that_are_no_list_cost_their_chat_alone(alice: Any, parts: Any) -> None:
    for broken, good in (
        (_asked(parts), _asked(["I have a dog"], title={"odd": 1}, current_node=["a"])),
        (
            {"uuid": "1", "name": "Boats", "chat_messages": [{"sender": "human", "content": parts}]},
            {
                "uuid": "2",
                "name": 7,
                "chat_messages": [{"sender": "human", "content": [7, {"type": "text", "text": "Hi"}]}],
            },
        ),
    ):
        found = alice.import_(text_of([broken, good]), merge=True)
        assert (found.chats, [(one.where, "should be a list" in one.why) for one in found.refused]) == (
            1,
            [("chat Boats", True)],
        )


def test_lines_may_come_without_their_ends(alice: Any) -> None:
    assert alice.import_([json.dumps({"memory": text}) for text in ("Likes tea", "Likes rye")]).memories == 2


def test_one_person_of_a_file_comes_into_ones_own_book(kb: Any) -> None:
    sent = io.StringIO((SAMPLES / "mem0-get-all.json").read_text())
    assert kb.book("me").import_(sent, theirs="ben").memories == 1
    assert [one.content for one in kb.book("me").list()] == ["Plays the cello on Tuesdays"]


@pytest.mark.parametrize("name", GOLDEN)
def test_a_dry_run_tells_what_would_come_in_and_the_import_brings_just_that(name: str, tmp_path: Path) -> None:
    from keepbook import Keepbook  # one engine is enough for what the others tests hold on both

    with Keepbook(tmp_path / "book.db") as kb:
        people = EVERYBODY if name in ("mem0-get-all.json", "mem0-qdrant.json", "langgraph-items.json") else {}
        looked = kb.import_from(SAMPLES / name, "anna", owner_map=people, dry_run=True)
        assert kb.owners() == []
        assert all(one.dry_run and one.came for one in looked)
        brought = kb.import_from(SAMPLES / name, "anna", owner_map=people)
        for before, after in zip(looked, brought, strict=True):
            came = [one.text for one in before.came if one.what == "memory"]
            assert came == [one.content for one in kb.book(after.owner).list(limit=100)]
            assert (before.memories, before.chats, before.refused) == (after.memories, after.chats, after.refused)
            assert len(kb.book(after.owner).threads.list()) == after.chats
        again = kb.import_from(SAMPLES / name, "anna", owner_map=people)
        assert [(one.memories, one.chats) for one in again] == [(0, 0)] * len(again)
        assert [one.unchanged for one in again] == [one.memories for one in brought]


def test_a_second_import_leaves_what_the_person_did_with_the_first(alice: Any) -> None:
    items = [{"id": "1", "memory": "Lives in Oslo", "user_id": "a"}, {"id": "2", "memory": "Likes rye", "user_id": "a"}]
    alice.import_(text_of(items))
    oslo, rye = alice.list()
    alice.update(oslo.id, "Lives in Bodø")
    alice.forget(rye.id)

    again = alice.import_(text_of(items))
    assert (again.unchanged, [(one.where, one.why) for one in again.refused]) == (
        1, [("item 2", "you asked to forget this")],
    )  # fmt: skip
    assert [one.content for one in alice.list()] == ["Lives in Bodø"]


def test_what_the_source_words_anew_becomes_the_next_version(alice: Any) -> None:
    alice.import_(text_of([{"id": "1", "memory": "Lives in Oslo", "user_id": "a", "created_at": "2025-01-01"}]))
    anew = [{"id": "1", "memory": "Lives in Bergen", "user_id": "a", "created_at": "2025-02-01"}]
    assert alice.import_(text_of(anew)).memories == 1
    [kept] = alice.list()
    assert [one.content for one in alice.history(kept.id)] == ["Lives in Oslo", "Lives in Bergen"]
    assert alice.import_(text_of(anew)).unchanged == 1


def test_a_history_comes_in_with_its_wordings(kb: Any) -> None:
    kb.import_from(SAMPLES / "mem0-history.sqlite", "alice")
    alice = kb.book("alice")
    [moved] = [one for one in alice.list() if one.content == "Lives in Bergen"]
    assert [(one.content, stamp(one.valid_from)[:10]) for one in alice.history(moved.id)] == [
        ("Lives in Oslo", "2025-03-01"),
        ("Lives in Bergen", "2025-05-20"),
    ]
    assert alice.verify().ok


def test_secrets_and_what_is_never_to_be_kept_stay_out(alice: Any) -> None:
    alice.choose(never=["health"])
    card = "My card is 4111 1111 1111 1111"
    answer = alice.import_(text_of(["Is allergic to walnuts and takes insulin", card, "Likes rye bread", "ab"]))

    assert [one.content for one in alice.list()] == ["Likes rye bread"]
    assert {one.where: one.text for one in answer.refused} == {"item 1": None, "item 2": None, "item 4": "ab"}
    assert "never to keep" in answer.refused[0].why
    assert "secret" in answer.refused[1].why


def test_nor_do_tags_and_metadata_of_what_is_never_to_be_kept(alice: Any) -> None:
    alice.choose(never=["health"])
    told = {"tags": ["diabetes"]}, {"metadata": {"note": "has diabetes"}}, {"metadata": {"diabetes": "yes"}}
    answer = alice.import_(text_of([{"text": f"Likes tea {at}"} | one for at, one in enumerate((*told, {}))]))
    assert [one.content for one in alice.list()] == ["Likes tea 3"]
    assert [one.text for one in answer.refused] == [None] * 3
    assert {one.why for one in answer.refused} == {"you asked never to keep anything about health"}


def test_a_book_with_memory_switched_off_takes_nothing(alice: Any) -> None:
    alice.choose(memory=False)
    with pytest.raises(NotAllowed, match="switched off"):
        alice.import_(text_of(["Likes rye bread"]))


def test_tags_and_metadata_come_in_as_far_as_there_is_a_place(alice: Any) -> None:
    many = {f"name {number}": "x" * 900 for number in range(40)}
    alice.import_(text_of([{"text": "Likes tea", "tags": ["a b", "c" * 99, ""], "metadata": many | {"n" * 99: "y"}}]))
    [kept] = alice.list()
    assert sorted(kept.tags) == ["a b", "c" * 64]
    assert (len(kept.metadata), {len(value) for value in kept.metadata.values()}) == (32, {500})
    assert alice.list(tags=["a b"]).total == 1


def test_a_long_text_comes_in_as_its_beginning_with_the_whole_behind_it(alice: Any) -> None:
    long = "Restores old boats. " * 60
    alice.import_(text_of([long]))
    [kept] = alice.list()
    assert kept.content.endswith("…")
    assert kept.body == long


def test_an_agent_brings_nothing_in(kb: Any) -> None:
    with pytest.raises(NotAllowed):
        kb.book("alice", by="agent").import_(text_of(["Likes rye bread"]))


# --- chats


def test_chats_come_in_with_their_times_wait_for_the_person_and_are_closed_offline(kb: Any) -> None:
    kb.import_from(SAMPLES / "conversations-chatgpt.json", "alice")
    alice = kb.book("alice")
    [chat] = alice.threads.list()
    assert (chat.session, chat.title, chat.state) == ("chatgpt:c-kitchen", "Kitchen plans", "active")
    assert (stamp(chat.created_at), stamp(chat.touched_at)) == (
        "2025-05-01T09:00:00.000000Z",
        "2025-05-01T09:05:00.000000Z",
    )
    assert kb.sweep().done.get("close", 0) == 0  # no model reads it because a file came in

    closed = alice.close_thread(chat.id, offline=True)
    assert closed.made_by == "offline"
    assert any("walnuts" in one.content for one in [*alice.list(), *alice.proposals.list()])


def test_a_chat_that_went_on_comes_in_from_where_it_was(alice: Any) -> None:
    said = [{"sender": "human", "text": f"Turn {number}", "created_at": "2025-02-01"} for number in range(3)]
    alice.import_(text_of([{"uuid": "1", "name": "A", "chat_messages": said[:2]}]))
    assert alice.import_(text_of([{"uuid": "1", "name": "A", "chat_messages": said}])).chats == 1
    assert alice.import_(text_of([{"uuid": "1", "name": "A", "chat_messages": said}])).chats == 0
    [chat] = alice.threads.list()
    assert [one.text for one in alice.threads.get(chat.id).messages()] == ["Turn 0", "Turn 1", "Turn 2"]
