"""Files that came in: told afterwards, their chats read for what to remember, and taken back as one."""

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.models.notebook.scripted import Scripted, Sentences
from tests.models.notebook.talking import moved_by, read_by

from keepbook import Conflict
from keepbook.book.ground import in_pieces
from keepbook.book.ground.when import stamp
from keepbook.book.memory import review
from keepbook.book.upkeep import chat_reading, take_back
from keepbook.book.upkeep.importers.incoming import Enough

DAYS = {"Moving": "2023-02-01", "Dinner": "2024-03-12"}
SAID = {
    "Moving": ["I'm allergic to peanuts.", "I live in Leipzig."],
    "Dinner": ["I live in Bremen now.", "I am a nurse and I work nights."],
}


MOVES = {
    "Bremen": {"act": "change", "points": "Leipzig", "old": "Leipzig", "new": "Bremen"},
    "Leipzig": {"act": "change", "points": "Linz", "old": "Linz", "new": "Leipzig"},
}
VERDICTS: dict[str, Any] = {"nurse": "propose", "husband": "propose", "neighbour": "propose", "report": "leave"}


@pytest.fixture(autouse=True)
def _read_as_scripted() -> Iterator[None]:
    with moved_by(Scripted(MOVES)), read_by(Sentences(VERDICTS)):
        yield


def chats(*titles: str) -> io.StringIO:
    """A Claude export with these chats."""
    told = [
        {
            "uuid": title.lower(),
            "name": title,
            "chat_messages": [
                {"sender": sender, "text": text, "created_at": f"{DAYS[title]}T10:0{nth}:00Z"}
                for nth, said in enumerate(SAID[title])
                for sender, text in (("human", said), ("assistant", "I see."))
            ],
        }
        for title in titles
    ]
    return io.StringIO(json.dumps(told))


def contents(book: Any) -> set[str]:
    return {one.content for one in book.list()}


def kept(book: Any, load: int) -> dict[str, str]:
    return {line.content: line.fate for line in chat_reading.found_lines(book, load)}


def test_chats_that_came_in_are_read_as_said_then_and_each_line_is_kept_or_left_out(alice: Any) -> None:
    load = alice.import_(chats("Dinner", "Moving")).load
    assert [
        one.speaker for one in alice.threads.get(take_back.chats_of(take_back.get_arrival(alice, load))[0]).messages()
    ] == [
        None,
        "Claude",
        None,
        "Claude",
    ]
    assert contents(alice) == set()
    closed = chat_reading.read_chats(alice, load, offline=True)
    assert [one.status for one in closed] == ["closed", "closed"]
    assert chat_reading.unread(alice, load) == []
    found = chat_reading.found_lines(alice, load)
    line = next(line for line in found if line.fate == "kept")
    assert stamp(line.said_at)[:10] == DAYS[line.thread.title]
    memory = alice.get(line.memory_id)
    assert stamp(memory.valid_from)[:10] == DAYS[line.thread.title], "what was said then holds since then"
    before = contents(alice)

    keys = {one.key for one in found if one.fate == "kept"}
    assert chat_reading.keep_ticked(alice, load, keys) == len(keys), "each is the person's own word now"
    assert chat_reading.keep_ticked(alice, load, keys) == 0
    assert chat_reading.keep_ticked(alice, load, keys - {line.key}) == 1
    assert kept(alice, load)[line.content] == "out"
    assert contents(alice) == before - {line.content}
    assert chat_reading.keep_ticked(alice, load, keys) == 1
    assert chat_reading.keep_ticked(alice, load, keys - {line.key}) == 1
    assert chat_reading.keep_ticked(alice, load, keys) == 1
    assert contents(alice) == before
    assert alice.verify().ok
    assert {one.confidence for one in alice.list()} == {"asserted"}, "the person has said yes"
    assert review.count_waiting(alice) == len(alice.proposals.list()), "and is not asked again"

    taken = take_back.take_back_load(alice, load)
    assert (taken.undone_at is not None, taken.gone["stayed"], len(taken.gone["chats"])) == (True, 0, 2)
    assert contents(alice) == set()
    assert alice.proposals.list() == []
    assert alice.threads.list() == []
    with pytest.raises(Conflict, match="already"):
        take_back.take_back_load(alice, load)
    again = alice.import_(chats("Dinner", "Moving"))
    assert (again.chats, contents(alice)) == (2, before), "and so may what was read out of it"
    assert alice.verify().ok


def test_what_is_not_certain_waits_for_the_person(alice: Any) -> None:
    alice.remember("Lives in Rostock", valid_from="2022-01-01")
    load = alice.import_(chats("Dinner", "Moving")).load
    chat_reading.read_chats(alice, load, offline=True)
    asked = [line for line in chat_reading.found_lines(alice, load) if line.fate == "unsure"]
    assert asked
    assert {line.key for line in asked} == {one.id for one in alice.proposals.list()}
    chat_reading.keep_ticked(alice, load, {line.key for line in chat_reading.found_lines(alice, load)})
    assert alice.proposals.list() == []
    fates = [(line.content, line.fate) for line in chat_reading.found_lines(alice, load)]
    ticked = contents(alice) - {"Lives in Rostock"}
    assert sorted(fates) == sorted((content, "kept") for content in ticked), "what was ticked stays, once"
    last = asked[-1]
    accepted = next(one for one in alice.list() if one.content == last.content)
    assert (accepted.confidence, accepted.made_by, accepted.thread_id) == ("asserted", "offline", last.thread.id)
    assert review.count_waiting(alice) == 0, "the person has said yes to all of them"
    review.reopen_answered(alice, last.key)
    alice.undo(alice.ledger(memory=accepted.id)[0].event)
    assert [line.fate for line in chat_reading.found_lines(alice, load) if line.content == last.content] == ["unsure"]


def test_what_is_told_of_ones_own_people_is_asked_about_as_in_a_chat(alice: Any) -> None:
    said = [
        "My husband Lars can't have milk and my brother Per plays the violin. I usually go running on Sundays.",
        "Our neighbour Tor is a policeman. My colleague Ida asked me to send the report.",
    ]
    spoken = [{"sender": who, "text": text} for one in said for who, text in (("human", one), ("assistant", "ok"))]
    told = [{"uuid": "family", "name": "Family", "chat_messages": spoken}]
    load = alice.import_(io.StringIO(json.dumps(told))).load
    chat_reading.read_chats(alice, load, offline=True)
    assert kept(alice, load) == {
        "My husband Lars can't have milk and my brother Per plays the violin": "unsure",
        "Our neighbour Tor is a policeman": "unsure",
        "I usually go running on Sundays": "kept",
    }


def test_undo_takes_what_was_accepted_and_what_came_of_a_deleted_chat(alice: Any) -> None:
    before = alice.remember("Lives in Rostock", valid_from="2022-01-01")
    load = alice.import_(chats("Dinner", "Moving")).load
    chat_reading.read_chats(alice, load, offline=True)
    for one in alice.proposals.list():
        alice.proposals.accept(one.id)
    for memory in alice.list():
        if memory.confidence == "inferred":
            alice.promote(memory.id)
    alice.forget(next(one.id for one in alice.list() if "nights" in one.content))
    moving, dinner = (next(one for one in alice.threads.list() if one.title == title) for title in ("Moving", "Dinner"))
    alice.threads.delete(moving.id)
    assert {line.thread.title for line in chat_reading.found_lines(alice, load)} == {"Moving", "Dinner"}, (
        "its lines stand"
    )
    taken = take_back.take_back_load(alice, load)
    assert contents(alice) == {before.content}
    assert (taken.gone["chats"], taken.gone["deleted"], taken.gone["stayed"]) == ([dinner.id], [moving.id], 0)
    assert {one.archived_reason for one in alice.list(state="archived")} == {"undone", "user_deleted"}
    assert alice.verify().ok
    assert alice.import_(chats("Dinner", "Moving")).chats == 2, "also the one that was in the trash already"
    alice.threads.delete(moving.id)
    again = alice.import_(chats("Dinner", "Moving"), dry_run=True)
    assert [(one.text, one.outcome) for one in again.came] == [("Dinner", "there"), ("Moving", "trash")]


def test_what_was_forgotten_stays_so_when_the_file_comes_again_until_it_is_ticked(alice: Any) -> None:
    ids = ['"moving"']

    def load() -> int:
        told = chats("Dinner", "Moving").getvalue().replace('"moving"', ids[0])
        nth: int = alice.import_(io.StringIO(told)).load
        chat_reading.read_chats(alice, nth, offline=True)
        return nth

    def peanuts(nth: int) -> Any:
        return next(line for line in chat_reading.found_lines(alice, nth) if "peanuts" in line.content)

    take_back.take_back_load(alice, load())
    load_twice = load()
    line = peanuts(load_twice)
    assert (line.fate, line.forgotten) == ("kept", False)
    alice.forget(line.memory_id)
    for _ in range(2):
        take_back.take_back_load(alice, load_twice)
        load_twice = load()
        line = peanuts(load_twice)
        assert (line.fate, line.forgotten) == ("out", True)
        assert line.content not in contents(alice)
    take_back.take_back_load(alice, load_twice)
    ids[0] = '"other"'  # the same words in a chat that is new to the book, and read anew
    anew = load()
    line = peanuts(anew)
    assert (line.fate, line.forgotten, line.memory_id) == ("out", True, None)
    assert line.content not in contents(alice)
    assert line.key not in {one.id for one in alice.proposals.list()}, "nobody is asked about it"
    keys = {one.key for one in chat_reading.found_lines(alice, anew) if one.fate == "kept"}
    chat_reading.keep_ticked(alice, anew, keys | {line.key})
    assert [one.fate for one in chat_reading.found_lines(alice, anew) if "peanuts" in one.content] == ["kept"]
    take_back.take_back_load(alice, anew)
    assert peanuts(load()).fate == "kept", "what was ticked since is wanted"
    assert alice.verify().ok


def test_lines_of_a_list_that_were_forgotten_stay_out_too(alice: Any) -> None:
    told = json.dumps([{"memory": "Keeps bees", "created_at": "2024-01-01"}, {"memory": "Sings"}])
    alice.import_(io.StringIO(told))
    bees = next(one for one in alice.list() if one.content == "Keeps bees")
    alice.forget(bees.id)
    alice.remember("Plays the cello")
    alice.forget(next(one.id for one in alice.list() if "cello" in one.content))
    again = alice.import_(io.StringIO(told))
    assert [one.why for one in again.refused] == ["you asked to forget this"]
    other = '[{"memory": "Plays the cello", "created_at": "2024-01-01"}]'
    assert [one.why for one in alice.import_(io.StringIO(other)).refused] == ["you asked to forget this"]
    assert contents(alice) == {"Sings"}
    assert alice.import_(io.StringIO(other.replace("2024", "2099"))).memories == 1, "what is said later is said anew"


def test_a_line_that_was_ticked_can_be_ticked_again_whatever_happened_to_what_it_changed(alice: Any) -> None:
    """The file that brought the line before it is taken back too, and comes again."""
    first = alice.import_(chats("Moving")).load
    chat_reading.read_chats(alice, first, offline=True)
    chat_reading.keep_ticked(alice, first, {one.key for one in chat_reading.found_lines(alice, first)})
    second = alice.import_(chats("Dinner")).load
    chat_reading.read_chats(alice, second, offline=True)
    chat_reading.keep_ticked(alice, second, {one.key for one in chat_reading.found_lines(alice, second)})
    changed = next(one for one in chat_reading.found_lines(alice, second) if one.before)
    before = contents(alice)
    take_back.take_back_load(alice, second)
    take_back.take_back_load(alice, first)
    assert contents(alice) == set()
    first = alice.import_(chats("Moving")).load
    second = alice.import_(chats("Dinner")).load
    again = next(one for one in chat_reading.found_lines(alice, second) if one.content == changed.content)
    assert (again.fate, changed.content in contents(alice)) == ("out", False)
    chat_reading.keep_ticked(alice, second, {one.key for one in chat_reading.found_lines(alice, second)})
    assert contents(alice) == before
    assert {one.fate for one in chat_reading.found_lines(alice, second)} == {"kept"}
    assert alice.verify().ok


def test_reading_can_be_stopped_and_goes_on_later(alice: Any) -> None:
    def enough(_: int) -> None:
        raise Enough

    load = alice.import_(chats("Dinner", "Moving")).load
    assert len(chat_reading.read_chats(alice, load, offline=True, progress=enough)) == 1
    assert len(chat_reading.unread(alice, load)) == 1
    assert {line.thread.title for line in chat_reading.found_lines(alice, load)} == {"Moving"}, (
        "the oldest is read first"
    )
    assert len(chat_reading.read_chats(alice, load, offline=True)) == 1


def test_memories_with_their_wordings_go_as_one_and_come_again(alice: Any) -> None:
    told = [{"id": "1", "memory": "Lives in Bergen", "user_id": "a"}, {"id": "2", "memory": "Sings", "user_id": "a"}]
    load = alice.import_(io.StringIO(json.dumps(told))).load
    told[0]["memory"] = "Lives in Oslo"
    second = alice.import_(io.StringIO(json.dumps(told))).load
    assert [one.nth for one in take_back.list_all_loads(alice)] == [second, load]
    assert take_back.get_arrival(alice, load).told == {
        "chats": 0,
        "file": "file",
        "memories": 2,
        "refused": 0,
        "unchanged": 0,
    }
    take_back.take_back_load(alice, second)
    assert contents(alice) == {"Lives in Bergen", "Sings"}
    sings = next(one for one in alice.list() if one.content == "Sings")
    alice.update(sings.id, "Sings in a choir")
    assert take_back.take_back_load(alice, load).gone["stayed"] == 1, "what the person said anew is theirs"
    assert contents(alice) == {"Sings in a choir"}
    assert alice.import_(io.StringIO(json.dumps(told[1:]))).load is None, "what the person changed is here already"


def test_a_chat_that_went_on_stays_with_what_it_gave(alice: Any) -> None:
    load = alice.import_(chats("Moving", "Dinner")).load
    chat_reading.read_chats(alice, load, offline=True)
    moving = next(one for one in alice.threads.list() if one.title == "Moving")
    alice.threads.get(moving.id).add("user", "And one more thing.")
    assert take_back.take_back_load(alice, load).gone["stayed"] >= 1
    assert [one.title for one in alice.threads.list()] == ["Moving"]
    assert any(line.thread.title == "Moving" for line in chat_reading.found_lines(alice, load))


def test_what_the_book_knows_better_by_now_is_shown_left_out_and_can_be_ticked(alice: Any) -> None:
    chat = alice.threads.start()
    chat.add("user", "I live in Linz.")
    chat.close()
    load = alice.import_(chats("Moving")).load
    chat_reading.read_chats(alice, load, offline=True)
    (line,) = (one for one in chat_reading.found_lines(alice, load) if one.outdated)
    assert (line.fate, line.content) == ("out", "I live in Leipzig")
    assert contents(alice) >= {"I live in Linz"}
    chat_reading.keep_ticked(alice, load, {line.key})
    assert contents(alice) >= {"I live in Linz", line.content}


def lines_load(book: Any, count: int) -> int:
    brought = book.import_(
        [json.dumps({"memory": f"Fact {nth} about river {nth * 7}", "id": f"m{nth}"}) for nth in range(count)]
    )
    return int(brought.load)


def test_others_write_while_a_load_is_taken_back(kb: Any, alice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is ended in between has taken out a part; taken back again, all is out."""
    monkeypatch.setattr(take_back, "PIECE_SECONDS", 0.0)
    alice.remember("Likes tea")
    load = lines_load(alice, 12)
    waits: list[int] = []

    def wait(_: object) -> None:
        waits.append(kb.book("bob").remember(f"Bob's turn came, {len(waits)}", force=True).event)
        if len(waits) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(in_pieces.Gaps, "wait", wait)
    with pytest.raises(KeyboardInterrupt):
        alice.take_back(load)
    assert len(contents(alice)) == 13 - 4
    assert [one.undone_at for one in alice.loads()] == [None]
    alice.take_back(load)
    assert contents(alice) == {"Likes tea"}
    assert len(waits) == 5 + 12
    with pytest.raises(Conflict):
        alice.take_back(load)
    assert alice.verify().ok


def test_a_load_is_taken_back_in_a_transaction_of_the_program_as_a_part_of_it(alice: Any) -> None:
    load = lines_load(alice, 3)

    def block() -> None:
        with alice.transaction():
            alice.take_back(load)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        block()
    assert len(contents(alice)) == 3
