"""Labels: metadata and tags are versioned, under the ledger, filtered by, exported, and gone with a purge."""

import io
import json
from typing import Any

import pytest

from keepbook import Invalid
from keepbook.book.upkeep.export_lines import Closing

LABELS: dict[str, Any] = {
    "metadata": {"project": "atlas", "who": 'Ada, "the" first'},
    "tags": ["work", "travel", "work"],
}


@pytest.fixture
def oslo(alice: Any) -> Any:
    return alice.remember("Lives in Oslo", category="profile", **LABELS)


def ids(found: Any) -> list[str]:
    return sorted(memory.id for memory in found)


def test_a_memory_has_them_and_an_update_without_them_keeps_them(alice: Any, oslo: Any) -> None:
    assert (oslo.metadata, oslo.tags) == (LABELS["metadata"], ("travel", "work"))
    changed = alice.update(oslo.id, "Lives in Bergen")
    assert (changed.metadata, changed.tags) == (oslo.metadata, oslo.tags)

    other = alice.update(oslo.id, "Lives in Bergen", tags=["home"])
    assert (other.version, other.metadata, other.tags) == (3, oslo.metadata, ("home",))
    assert alice.update(oslo.id, "Lives in Bergen", tags=["home"]).unchanged
    bare = alice.update(oslo.id, "Lives in Bergen", tags=[], metadata={})
    assert (bare.metadata, bare.tags) == ({}, ())
    assert [version.tags for version in alice.history(oslo.id)] == [("travel", "work")] * 2 + [("home",), ()]


def test_undo_brings_them_back_and_the_past_has_its_own(alice: Any, oslo: Any) -> None:
    then = alice.get(oslo.id).recorded_at
    changed = alice.update(oslo.id, "Lives in Oslo", tags=["home"], metadata={"project": "other"})
    assert ids(alice.list(tags=["home"])) == [oslo.id]
    undone = alice.undo(changed.event)

    assert (undone.metadata, undone.tags) == (oslo.metadata, oslo.tags)
    assert not alice.list(tags=["home"]).items
    assert ids(alice.list(tags=["work"])) == [oslo.id]
    assert [memory.tags for memory in alice.as_of(known=then)] == [oslo.tags]
    assert ids(alice.recall("Oslo", known=then, tags=["work"])) == [oslo.id]
    assert not alice.recall("Oslo", known=then, tags=["home"])
    assert alice.verify().ok


def test_filters_want_all_of_it_in_lists_and_recall(alice: Any, oslo: Any) -> None:
    bare = alice.remember("Works in Oslo on weekdays")
    other = alice.remember("Owns a boat in Oslo", tags=["work"], metadata={"project": "boat"})

    assert ids(alice.list(tags=["work"])) == ids([oslo, other])
    assert ids(alice.list(tags=["work", "travel"])) == [oslo.id]
    assert ids(alice.list(metadata={"project": "boat"}, tags=["work"])) == [other.id]
    assert alice.list(tags=["Work"]).total == alice.list(tags=["project"]).total == 0
    assert alice.list(metadata={"project": ""}).total == 0
    assert ids(alice.list(tags=[], metadata={})) == ids([oslo, bare, other])
    assert ids(alice.list(q="oslo", tags=["work"])) == ids([oslo, other])
    first = alice.list(tags=["work"], limit=1)
    assert (first.total, ids([*first, *alice.list(tags=["work"], limit=1, cursor=first.next)])) == (
        2,
        ids([oslo, other]),
    )
    assert ids(alice.recall("Oslo", tags=["work"])) == ids([oslo, other])
    assert ids(alice.recall("Oslo", metadata=oslo.metadata)) == [oslo.id]
    assert ids(alice.recall("Oslo", category="profile", tags=["work"], scope="*")) == [oslo.id]
    assert not alice.recall("Oslo", tags=["home"])


def test_what_is_put_away_keeps_them_and_a_purge_takes_them(alice: Any, oslo: Any, book_url: str) -> None:
    alice.forget(oslo.id)
    assert not alice.list(tags=["work"]).items
    assert ids(alice.list(tags=["work"], state="archived")) == [oslo.id]
    alice.delete(oslo.id, forever=True)

    assert not alice.list(tags=["work"], state="all").items
    assert "atlas" not in exported(alice)
    assert "travel" not in exported(alice)
    assert alice.verify().ok


def exported(book: Any) -> str:
    stream = io.StringIO()
    book.export(stream)
    return stream.getvalue()


def test_they_are_exported_restored_and_merged(kb: Any, alice: Any, oslo: Any) -> None:
    alice.update(oslo.id, "Lives in Bergen", tags=["home"])
    alice.forget(alice.remember("Had a boat", tags=["boat"]).id)
    text = exported(alice)
    bob = kb.book("bob")
    bob.import_(io.StringIO(text))

    assert exported(bob) == text
    assert ids(bob.list(tags=["home"])) == [oslo.id]
    assert bob.list(tags=["boat"], state="archived").total == 1
    assert bob.index.rebuild() == 0
    carol = kb.book("carol")
    carol.import_(io.StringIO(text), merge=True)
    assert [(memory.metadata, memory.tags) for memory in carol.list()] == [(LABELS["metadata"], ("home",))]


@pytest.mark.parametrize("wrong", ["[", "{}", '{"a":1}', '["b","a"]', '{"b": "a"}', '{"a":"b"}'])
def test_a_file_with_other_labels_is_refused(kb: Any, alice: Any, oslo: Any, wrong: str) -> None:
    lines = [json.loads(line) for line in exported(alice).splitlines()]
    for line in lines:
        if line["kind"] == "version":
            line["metadata"] = wrong
    closing = Closing()
    told = [json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False) for line in lines[:-1]]
    for text, line in zip(told, lines, strict=False):
        closing.add(text, line["kind"])
    with pytest.raises(Invalid) as refused:
        kb.book("bob").import_([f"{text}\n" for text in [*told, closing.line(lines[-1]["hash"])]])
    assert refused.value.code == "altered"
    assert not kb.book("bob").list().items


def test_the_index_is_put_right(kb: Any, alice: Any, oslo: Any) -> None:
    with kb._database.write("alice") as tx:
        tx.conn.exec_driver_sql("DELETE FROM labels WHERE owner = 'alice'")
    assert not alice.list(tags=["work"]).items
    assert alice.index.rebuild() == 1
    assert ids(alice.list(tags=["work"])) == [oslo.id]


def test_limits_say_what_is_wrong(alice: Any) -> None:
    most = {f"key {nth}": "x" * 500 for nth in range(32)}
    kept = alice.remember("Has every label there can be", metadata=most, tags=[f"tag {nth}" for nth in range(32)])
    assert (kept.metadata, len(kept.tags)) == (most, 32)

    for field, value in (
        ("metadata", {**most, "one": "more"}), ("metadata", {"k" * 65: "v"}), ("metadata", {"": "v"}),
        ("metadata", {"k": "v" * 501}), ("metadata", {"k": 1}), ("metadata", {"k": None}), ("metadata", ["k"]),
        ("metadata", {"k": "a\0b"}), ("metadata", {"k": "v", " k": "w"}), ("metadata", {1: "v"}),
        ("tags", [str(nth) for nth in range(33)]), ("tags", ["t" * 65]), ("tags", [""]), ("tags", [1]),
        ("tags", "work"), ("tags", 3), ("tags", ["a\x07"]),
    ):  # fmt: skip
        with pytest.raises(Invalid) as refused:
            alice.remember("Has a label too many", **{field: value})
        assert field.removesuffix("s") in str(refused.value)
    assert alice.list().total == 1


def test_what_a_person_says_again_takes_over_what_software_read(kb: Any) -> None:
    agent, person = kb.book("alice", by="agent"), kb.book("alice")
    read = agent.remember("Lives in Oslo", confidence="inferred", tags=["read"], metadata={"from": "chat"})
    said = person.remember("Lives in Oslo", tags=["said"])

    assert (said.id, said.version, said.tags, said.metadata) == (read.id, 2, ("read", "said"), {"from": "chat"})
