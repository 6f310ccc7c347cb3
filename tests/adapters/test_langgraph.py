"""The store of LangGraph over a book, held against the contract of `BaseStore`."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore
from tests.embedding import meant

from keepbook import Invalid, Keepbook, NotAllowed
from keepbook.adapters.langgraph import KeepbookStore

MINE = ("alice", "memories")


@pytest.fixture
def store(kb: Any) -> KeepbookStore:
    return KeepbookStore(kb)


def _value(store: KeepbookStore, namespace: tuple[str, ...], key: str) -> dict[str, Any]:
    item = store.get(namespace, key)
    assert item is not None
    return item.value


# --- get, put, delete ------------------------------------------------------------------------------------


def test_what_is_put_is_given_back_as_it_was(store: KeepbookStore) -> None:
    value = {"text": "Likes\n tea ", "n": 1.5, "none": None, "nested": {"list": [1, "two", {"three": True}]}, "": "x"}
    store.put(MINE, "drink", value)
    item = store.get(MINE, "drink")
    assert item is not None
    assert (item.value, item.key, item.namespace) == (value, "drink", MINE)


def test_a_key_that_is_not_there_is_none(store: KeepbookStore) -> None:
    store.put(MINE, "drink", {"text": "Likes tea"})
    assert store.get(MINE, "food") is None
    assert store.get(("alice", "other"), "drink") is None
    assert store.get(("alice",), "drink") is None
    assert store.get(("bob", "memories"), "drink") is None
    assert store.get(MINE, "DRINK") is None
    store.delete(MINE, "food")


def test_put_again_is_a_new_version_of_the_same_memory(store: KeepbookStore, alice: Any) -> None:
    store.put(MINE, "drink", {"text": "Likes tea"})
    first = store.get(MINE, "drink")
    store.put(MINE, "drink", {"text": "Likes coffee"})
    second = store.get(MINE, "drink")
    assert first is not None
    assert second is not None
    assert second.value == {"text": "Likes coffee"}
    assert second.created_at == first.created_at
    assert second.updated_at > first.updated_at
    [memory] = alice.list(scope="*")
    assert [version.content for version in alice.history(memory.id)] == ["Likes tea", "Likes coffee"]


def test_the_same_value_again_writes_nothing(store: KeepbookStore, alice: Any) -> None:
    for _ in range(2):
        store.put(MINE, "a", {"text": "Likes tea"})
        store.put(MINE, "b", {"text": "Likes tea"})
    assert len(alice.ledger()) == 2


def test_none_deletes_into_the_trash_and_the_person_can_take_it_back(store: KeepbookStore, alice: Any) -> None:
    store.put(MINE, "drink", {"text": "Likes tea"})
    store.delete(MINE, "drink")
    assert store.get(MINE, "drink") is None
    assert store.search(MINE) == []
    [memory] = alice.list(scope="*", state="trash")
    alice.restore(memory.id)
    assert _value(store, MINE, "drink") == {"text": "Likes tea"}


def test_a_deleted_key_can_be_put_anew(store: KeepbookStore, alice: Any) -> None:
    store.put(MINE, "drink", {"text": "Likes tea"})
    [old] = alice.list(scope="*")
    store.delete(MINE, "drink")
    store.put(MINE, "drink", {"text": "Likes tea"})
    alice.restore(old.id)
    assert _value(store, MINE, "drink") == {"text": "Likes tea"}
    store.delete(MINE, "drink")
    assert store.get(MINE, "drink") is None


def test_undo_in_the_book_is_seen_by_the_graph(store: KeepbookStore, alice: Any) -> None:
    store.put(MINE, "drink", {"text": "Likes tea", "sure": True})
    store.put(MINE, "drink", {"text": "Likes coffee", "sure": False})
    alice.undo(alice.ledger(limit=1)[0].event)
    assert _value(store, MINE, "drink") == {"text": "Likes tea", "sure": True}


REWRITTEN: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"text": "Likes tea", "sure": True}, {"text": "Likes coffee", "sure": True}),
    ({"content": {"content": "Likes tea"}, "k": 1}, {"content": {"content": "Likes coffee"}, "k": 1}),
    ({"drink": "tea"}, {"drink": "tea"}),
    ({"text": "Likes tea " * 80}, {"text": "Likes tea " * 80}),
]


def test_what_a_person_rewrites_is_what_the_graph_reads(store: KeepbookStore, alice: Any) -> None:
    for nth, (value, rewritten) in enumerate(REWRITTEN):
        namespace = ("alice", f"m{nth}")
        store.put(namespace, "drink", value)
        memory = list(alice.list(scope="*"))[-1]
        alice.update(memory.id, "Likes coffee")
        assert _value(store, namespace, "drink") == rewritten
        with pytest.raises(NotAllowed, match="own word"):  # it is left for them to decide
            store.put(namespace, "drink", {"text": "Likes milk"})
        assert _value(store, namespace, "drink") == rewritten


def test_two_keys_may_say_the_same(store: KeepbookStore, alice: Any) -> None:
    keys = ["a", "b", "B", "c"]
    for key in keys:
        store.put(MINE, key, {"text": "Likes tea"})
    assert [item.key for item in store.search(MINE)] == keys
    assert alice.list(scope="*").total == len(keys)
    [second] = [memory for memory in alice.list(scope="*") if memory.subject == "b"]
    assert second.content == "Likes tea [b]"
    alice.update(second.id, "Likes coffee [b]")
    assert _value(store, MINE, "b") == {"text": "Likes coffee"}


def test_a_long_text_goes_to_the_body_under_a_short_line(store: KeepbookStore, alice: Any) -> None:
    long = "Likes tea. " * 400
    store.put(MINE, "drink", {"text": long})
    [memory] = alice.list(scope="*")
    assert len(memory.content) <= 500
    assert _value(store, MINE, "drink") == {"text": long}
    with pytest.raises(Invalid, match="under 64 KB"):
        store.put(MINE, "drink", {"text": "x" * 70_000})
    assert _value(store, MINE, "drink") == {"text": long}


ODD: list[dict[str, Any]] = [
    {}, {"text": ""}, {"text": "x"}, {"a": []}, {"text": "\x00\x1b\x85\ud800 \u200b"}, {"text": "\u200b" * 9},
]  # fmt: skip


def test_odd_values_are_kept_too(store: KeepbookStore) -> None:
    for nth, value in enumerate(ODD):
        store.put(MINE, f"odd{nth}", value)
        assert _value(store, MINE, f"odd{nth}") == value


def test_what_cannot_be_kept_is_refused_in_words(store: KeepbookStore, alice: Any) -> None:
    with pytest.raises(Invalid, match="JSON"):
        store.put(MINE, "a", {"text": object()})
    with pytest.raises(Invalid, match="key must have 1 to 200 characters"):
        store.put(MINE, "a" * 201, {"text": "Likes tea"})
    with pytest.raises(Invalid, match="without spaces at its ends"):
        store.put(MINE, " a", {"text": "Likes tea"})
    with pytest.raises(Invalid, match="namespace"):
        store.put(("alice", "x" * 200), "a", {"text": "Likes tea"})
    for namespace in ((), ("alice", ""), ("alice", "a.b"), ("langgraph", "a")):
        with pytest.raises(InvalidNamespaceError):
            store.put(namespace, "a", {"text": "Likes tea"})
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("alice", "a.b"), "a", {"text": "Likes tea"})])
    assert len(alice.ledger()) == 0


def test_items_expire_and_are_swept_into_the_trash(kb: Any, clock: Any, alice: Any) -> None:
    store = KeepbookStore(kb)
    store.put(MINE, "drink", {"text": "Likes green tea"}, ttl=5)
    store.put(MINE, "home", {"text": "Lives in Oslo"}, ttl=None)
    clock.now += timedelta(minutes=4)
    assert store.get(MINE, "drink", refresh_ttl=False) is not None
    assert store.sweep_ttl() == 0
    clock.now += timedelta(minutes=2)
    assert store.get(MINE, "drink") is None
    assert [item.key for item in store.search(MINE)] == ["home"]
    assert store.search(MINE, query="tea") == []
    assert (store.sweep_ttl(), store.sweep_ttl()) == (1, 0)
    assert [memory.subject for memory in alice.list(state="trash", scope="*")] == ["drink"]
    store.put(MINE, "drink", {"text": "Likes green tea"}, ttl=1)
    store.put(MINE, "drink", {"text": "Likes green tea"})
    clock.now += timedelta(days=9)
    assert store.get(MINE, "drink").value == {"text": "Likes green tea"}
    with pytest.raises(Invalid) as wrong:
        store.put(MINE, "drink", {"text": "Likes tea"}, ttl=0)
    assert wrong.value.field == "ttl"


def test_reading_makes_an_item_last_unless_told_otherwise(kb: Any, clock: Any) -> None:
    store = KeepbookStore(kb, ttl={"default_ttl": 10, "refresh_on_read": True})
    store.put(MINE, "drink", {"text": "Likes green tea"})
    store.put(MINE, "home", {"text": "Lives in Oslo"})
    for _ in range(3):
        clock.now += timedelta(minutes=7)
        assert store.get(MINE, "drink") is not None
    assert store.get(MINE, "home") is None
    clock.now += timedelta(minutes=7)
    assert [item.key for item in store.search(MINE, query="tea")] == ["drink"]
    clock.now += timedelta(minutes=7)
    assert [item.key for item in store.search(MINE, refresh_ttl=False)] == ["drink"]
    clock.now += timedelta(minutes=7)
    assert store.search(MINE) == []
    assert kb.book("alice").verify().ok


def test_a_question_is_held_against_the_fields_that_are_indexed(kb: Any) -> None:
    store = KeepbookStore(kb, fields=["title", "notes[*].text"])
    value = {"title": "Harbour walk", "notes": [{"text": "Bring bread for gulls"}], "inner": "zebra crossing"}
    store.put(MINE, "walk", value)
    assert _keys(store.search(MINE, query="harbour")) == ["walk"]
    assert _keys(store.search(MINE, query="gulls")) == ["walk"]
    assert store.search(MINE, query="zebra") == []
    assert store.get(MINE, "walk").value == value
    store.put(MINE, "walk", value, index=["inner"])
    assert _keys(store.search(MINE, query="zebra")) == ["walk"]
    assert store.search(MINE, query="harbour") == []
    store.put(MINE, "walk", value, index=False)
    assert store.search(MINE, query="zebra") == []
    assert _keys(store.search(MINE)) == ["walk"]


def test_the_persons_choices_bind_the_graph(store: KeepbookStore, alice: Any) -> None:
    alice.choose(never=["health"])
    with pytest.raises(NotAllowed, match="health"):
        store.put(MINE, "a", {"note": "Asked about her health"})
    alice.choose(memory=False)
    with pytest.raises(NotAllowed, match="switched memory off"):
        store.put(MINE, "a", {"text": "Likes tea"})


# --- search ----------------------------------------------------------------------------------------------


def _fill(store: KeepbookStore) -> None:
    store.put(MINE, "tea", {"text": "Drinks green tea every morning", "rank": 1, "kind": "drink"})
    store.put(MINE, "boat", {"text": "Owns a sailing boat in Bergen", "rank": 2, "kind": "thing"})
    store.put((*MINE, "work"), "job", {"text": "Works as a nurse", "rank": 3, "kind": "job", "at": {"city": "Oslo"}})
    store.put(("alice", "memories2"), "dog", {"text": "Has a dog called Rex", "rank": 4, "kind": "animal"})
    store.put(("bob", "memories"), "tea", {"text": "Hates tea", "rank": 5, "kind": "drink"})


def _keys(items: list[Any]) -> list[str]:
    return [item.key for item in items]


def test_search_goes_through_a_namespace_and_those_below_it(store: KeepbookStore) -> None:
    _fill(store)
    assert _keys(store.search(MINE)) == ["tea", "boat", "job"]
    assert _keys(store.search((*MINE, "work"))) == ["job"]
    assert _keys(store.search(("alice",))) == ["tea", "boat", "job", "dog"]
    assert _keys(store.search(("bob",))) == ["tea"]
    assert store.search(("alice", "nothing")) == []
    assert store.search(MINE)[2].namespace == (*MINE, "work")


@pytest.mark.parametrize("by_meaning", [False, True])
def test_a_large_namespace_hides_nothing_in_another(
    kb: Any, store: KeepbookStore, by_meaning: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than a question looks at in a whole book, all of it nearer to the question than what is sought."""
    monkeypatch.setattr("keepbook.book.recall.word_scores.CANDIDATES", 40)
    if by_meaning:
        meant(kb)
    large = [PutOp(("alice", "large"), f"note {number}", {"text": "The dog, the dog"}) for number in range(60)]
    store.batch(large)
    store.put(("alice", "small"), "walk", {"text": "Walks a dog called Bo by the river each morning"})
    if by_meaning:
        kb.book("alice").reindex()
    for prefix in (("alice", "small"), ("alice",)):
        assert store.search(prefix, query="dog", limit=500)
    assert [item.key for item in store.search(("alice", "small"), query="dog")] == ["walk"]
    if by_meaning:
        assert [item.key for item in store.search(("alice", "small"), query="puppy")] == ["walk"]


def test_search_pages(store: KeepbookStore) -> None:
    _fill(store)
    assert _keys(store.search(MINE, limit=2)) == ["tea", "boat"]
    assert _keys(store.search(MINE, limit=2, offset=2)) == ["job"]
    assert _keys(store.search(MINE, offset=3)) == []
    assert _keys(store.search(MINE, query="tea or a boat", limit=1, offset=1)) in (["tea"], ["boat"])


FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({"kind": "drink"}, ["tea"]),
    ({"kind": {"$eq": "thing"}}, ["boat"]),
    ({"kind": {"$ne": "thing"}}, ["tea", "job"]),
    ({"rank": {"$gt": 1, "$lte": 3}}, ["boat", "job"]),
    ({"rank": {"$gte": 2}, "kind": "job"}, ["job"]),
    ({"rank": {"$lt": 2}}, ["tea"]),
    ({"kind": {"$gt": 1}}, []),
    ({"absent": {"$gt": 1}}, []),
    ({"absent": None}, ["tea", "boat", "job"]),
    ({"at": {"city": "Oslo"}}, ["job"]),
]


def test_search_filters(store: KeepbookStore) -> None:
    _fill(store)
    for wanted, keys in FILTERS:
        assert _keys(store.search(MINE, filter=wanted)) == keys, wanted


def test_an_unknown_comparison_is_refused(store: KeepbookStore) -> None:
    _fill(store)
    with pytest.raises(Invalid, match=r"\$gte"):
        store.search(MINE, filter={"rank": {"$near": 1}})


def test_a_question_finds_what_answers_it_best_first(store: KeepbookStore, alice: Any) -> None:
    _fill(store)
    alice.remember("Drinks tea with milk")
    [hit] = store.search(("alice",), query="What tea does she drink?")
    assert hit.key == "tea"
    assert hit.score is not None
    assert 0 < hit.score <= 1
    assert store.search(MINE, query="dog") == []
    assert store.search(MINE, query="tea", filter={"kind": "job"}) == []
    assert _keys(store.search(MINE, query="  ")) == ["tea", "boat", "job"]


def test_what_is_not_indexed_is_found_by_its_key_alone(store: KeepbookStore) -> None:
    store.put(MINE, "tea", {"text": "Drinks green tea"}, index=False)
    assert store.search(MINE, query="tea") == []
    assert _keys(store.search(MINE)) == ["tea"]
    store.put(MINE, "tea", {"text": "Drinks green tea"})
    assert _keys(store.search(MINE, query="tea")) == ["tea"]


# --- namespaces ------------------------------------------------------------------------------------------


def test_namespaces_are_listed_with_conditions_and_to_a_depth(store: KeepbookStore) -> None:
    below = [("a", "b", "c"), ("a", "b", "d", "e"), ("a", "b", "d", "i"), ("a", "b", "f"), ("a", "c", "f")]
    for namespace in (*below, ("z",)):
        store.put(namespace, "k", {"text": "something"})
    assert store.list_namespaces(prefix=("a",)) == sorted(below)
    assert store.list_namespaces(prefix=("a", "b"), max_depth=3) == [("a", "b", "c"), ("a", "b", "d"), ("a", "b", "f")]
    assert store.list_namespaces(prefix=("a",), suffix=("f",)) == [("a", "b", "f"), ("a", "c", "f")]
    assert store.list_namespaces(prefix=("a", "*", "d")) == [("a", "b", "d", "e"), ("a", "b", "d", "i")]
    assert store.list_namespaces(prefix=("a",), suffix=("b", "*")) == [("a", "b", "c"), ("a", "b", "f")]
    assert store.list_namespaces(prefix=("a",), limit=2, offset=1) == sorted(below)[1:3]
    assert store.list_namespaces(prefix=("z",)) == [("z",)]
    store.delete(("z",), "k")
    assert store.list_namespaces(prefix=("z",)) == []


def test_no_operation_reads_all_owners(store: KeepbookStore) -> None:
    _fill(store)
    with pytest.raises(Invalid, match="whose"):
        store.search(())
    with pytest.raises(Invalid, match="whose namespaces"):
        store.list_namespaces()
    with pytest.raises(Invalid, match="whose namespaces"):
        store.list_namespaces(prefix=("*", "memories"))
    with pytest.raises(Invalid, match="whose namespaces"):
        store.list_namespaces(suffix=("alice",))


def test_the_owner_may_stand_elsewhere_or_be_fixed(kb: Any) -> None:
    second = KeepbookStore(kb, owner_at=1)
    second.put(("memories", "alice", "work"), "job", {"text": "Works as a nurse"})
    assert kb.book("alice").list(scope="*")[0].scope == "langgraph.memories.work"
    assert _keys(second.search(("memories", "alice"))) == ["job"]
    assert second.search(("memories", "alice"))[0].namespace == ("memories", "alice", "work")
    assert second.list_namespaces(prefix=("*", "alice")) == [("memories", "alice", "work")]
    with pytest.raises(Invalid, match="whose"):
        second.search(("memories",))
    fixed = KeepbookStore(kb, owner="alice")
    assert fixed.list_namespaces() == [("memories", "work")]
    assert _keys(fixed.search(())) == ["job"]
    assert KeepbookStore(kb, owner="bob").search(()) == []


def test_owners_with_names_alike_never_meet(store: KeepbookStore) -> None:
    store.put(("ann", "m"), "k", {"text": "Only ann knows this"})
    for other in ("anna", "an", "ann%", "an_", "ANN", "ａnn"):
        assert store.get((other, "m"), "k") is None
        assert store.search((other,)) == []
        assert store.search((other,), query="ann knows") == []
        assert store.list_namespaces(prefix=(other,)) == []


# --- batches ---------------------------------------------------------------------------------------------


def test_a_batch_answers_in_order_and_reads_before_it_writes(store: KeepbookStore) -> None:
    store.put(MINE, "tea", {"text": "Drinks tea"})
    answers = store.batch(
        [
            PutOp(MINE, "tea", {"text": "Drinks coffee"}),
            GetOp(MINE, "tea"),
            PutOp(MINE, "new", {"text": "first"}),
            PutOp(MINE, "new", {"text": "second"}),
            SearchOp(MINE),
            GetOp(MINE, "missing"),
            ListNamespacesOp((MatchCondition("prefix", ("alice",)),)),
        ]
    )
    assert answers[0] is answers[2] is answers[3] is answers[5] is None
    assert answers[1].value == {"text": "Drinks tea"}
    assert _keys(answers[4]) == ["tea"]
    assert answers[6] == [MINE]
    assert [item.value["text"] for item in store.search(MINE)] == ["Drinks coffee", "second"]


def test_the_puts_of_a_batch_are_kept_together_or_not_at_all(store: KeepbookStore, alice: Any) -> None:
    with pytest.raises(Invalid):
        store.batch([PutOp(MINE, "a", {"text": "Likes tea"}), PutOp(MINE, " b", {"text": "Likes boats"})])
    assert store.search(MINE) == []
    assert len(alice.ledger()) == 0


def test_the_async_half_does_the_same(store: KeepbookStore) -> None:
    async def use() -> list[Any]:
        await store.aput(MINE, "tea", {"text": "Drinks tea"})
        await asyncio.gather(*(store.aput(MINE, f"k{n}", {"text": f"Number {n}"}) for n in range(4)))
        await store.adelete(MINE, "k3")
        found = await store.asearch(MINE, query="tea")
        spaces = await store.alist_namespaces(prefix=("alice",))
        return [await store.aget(MINE, "k3"), len(await store.asearch(MINE)), _keys(found), spaces]

    assert asyncio.run(use()) == [None, 4, ["tea"], [MINE]]


def test_the_book_stays_whole(store: KeepbookStore, alice: Any) -> None:
    _fill(store)
    store.put(MINE, "tea", {"text": "Drinks black tea"})
    store.delete(MINE, "boat")
    assert alice.verify().ok
    assert {entry.door for entry in alice.ledger()} == {"langgraph"}
    assert {entry.actor for entry in alice.ledger()} == {"agent"}


_keyed = st.sampled_from(["a", "A", "b c", "ключ", "x/y"])
_spaces = st.sampled_from([("o",), ("o", "m"), ("o", "m", "n"), ("o", "m2")])
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
_values = st.none() | st.dictionaries(st.sampled_from(["text", "content", "n"]), _json, max_size=3)


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(puts=st.lists(st.tuples(_spaces, _keyed, _values), max_size=8))
def test_it_holds_what_the_store_in_memory_holds(puts: list[Any]) -> None:
    reference = InMemoryStore()
    with Keepbook(":memory:") as kb:
        store = KeepbookStore(kb)
        for namespace, key, value in puts:
            for each in (store, reference):
                each.batch([PutOp(namespace, key, value)])
        for prefix in [("o",), ("o", "m")]:
            held = {(item.namespace, item.key): item.value for item in store.search(prefix, limit=100)}
            assert held == {(item.namespace, item.key): item.value for item in reference.search(prefix, limit=100)}
