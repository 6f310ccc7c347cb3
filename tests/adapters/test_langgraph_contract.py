"""What LangGraph's own tests of a store expect, asked of ours and of the store in memory that its package brings: the
same program on both must see the same. What does not apply is listed on the page `how-to/langgraph.md`."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.store.base import BaseStore, GetOp, InvalidNamespaceError, ListNamespacesOp, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from keepbook.adapters.langgraph import KeepbookStore

NAMESPACES = [
    ("a", "b", "c"), ("a", "b", "d", "e"), ("a", "b", "d", "i"), ("a", "b", "f"), ("a", "c", "f"), ("b", "a", "f"),
    ("users", "123"), ("users", "456", "settings"), ("admin", "users", "789"),
]  # fmt: skip
LISTINGS: list[dict[str, Any]] = [
    {},
    {"prefix": ("a", "b")},
    {"suffix": ("f",)},
    {"prefix": ("a",), "suffix": ("f",)},
    {"prefix": ("a", "b"), "max_depth": 3},
    {"max_depth": 2},
    {"max_depth": 1},
    {"prefix": ("a", "b"), "limit": 2},
    {"prefix": ("a", "b"), "offset": 2},
    {"prefix": ("a", "b"), "limit": 1, "offset": 3},
    {"prefix": ("a", "*", "f")},
    {"suffix": ("*", "f")},
    {"prefix": ("*", "users")},
    {"prefix": ("users", "*"), "suffix": ("*", "settings")},
    {"prefix": ("nonexistent",)},
    {"prefix": ("users", "123")},
]


@pytest.fixture
def both(kb: Any) -> list[BaseStore]:
    """The oracle, and ours with one owner for every namespace."""
    return [InMemoryStore(), KeepbookStore(kb, owner="alice")]


def same(stores: list[BaseStore], ask: Callable[[BaseStore], Any]) -> Any:
    theirs, ours = (ask(store) for store in stores)
    assert ours == theirs
    return ours


def test_namespaces_are_listed_alike(both: list[BaseStore]) -> None:
    assert same(both, lambda store: store.list_namespaces()) == []
    for store in both:
        for number, namespace in enumerate(NAMESPACES):
            store.put(namespace, f"id-{number}", {"data": f"value {number:02d}"})
    for asked in LISTINGS:
        same(both, lambda store, asked=asked: sorted(store.list_namespaces(**asked)))
    assert len(same(both, lambda store: sorted(store.list_namespaces()))) == len(NAMESPACES)


def test_long_lists_of_namespaces_come_in_pages(both: list[BaseStore]) -> None:
    for store in both:
        for number in range(20):
            store.put(("space", f"sub-{number:02d}"), "id", {"data": f"value {number}"})
    for offset in (0, 5, 15, 20):
        same(both, lambda store, offset=offset: store.list_namespaces(prefix=("space",), limit=5, offset=offset))


@pytest.mark.parametrize("namespace", [(), ("the", "thing.about"), ("some", "fun", ""), ("langgraph", "foo")])
def test_what_is_no_namespace_is_refused_alike(both: list[BaseStore], namespace: tuple[str, ...]) -> None:
    for store in both:
        with pytest.raises(InvalidNamespaceError):
            store.put(namespace, "key", {"foo": "bar"})
        with pytest.raises(InvalidNamespaceError):
            asyncio.run(store.aput(namespace, "key", {"foo": "bar"}))


def test_their_own_word_is_a_label_like_any_other_below(both: list[BaseStore]) -> None:
    for store in both:
        store.put(("foo", "langgraph", "foo"), "bar", {"foo": "bar baz"})
        store.batch([PutOp(("langgraph", "foo"), "bar", {"foo": "past the door"})])
        assert store.get(("foo", "langgraph", "foo"), "bar").value == {"foo": "bar baz"}
        assert store.search(("langgraph", "foo"))[0].value == {"foo": "past the door"}
        store.delete(("foo", "langgraph", "foo"), "bar")
        assert store.get(("foo", "langgraph", "foo"), "bar") is None


def test_a_batch_answers_alike(both: list[BaseStore]) -> None:
    for store in both:
        store.put(("test", "foo"), "one", {"text": "a red boat", "number": 1, "done": True})
        store.put(("test", "bar"), "two", {"text": "a blue boat", "number": 2, "done": False})
    ops = [
        GetOp(("test", "foo"), "one"),
        GetOp(("test", "foo"), "absent"),
        SearchOp(("test",), filter={"number": 2}),
        SearchOp(("test",), filter={"number": {"$gte": 1}, "done": True}),
        SearchOp(("test",), limit=1, offset=1),
        PutOp(("test", "foo"), "three", {"text": "a green boat"}),
        ListNamespacesOp(max_depth=2),
        GetOp(("test", "foo"), "three"),
    ]

    def told(store: BaseStore) -> list[Any]:
        return [_plain(result) for result in store.batch(ops)]

    found = same(both, told)
    assert found[1] is None
    assert found[-1] is None, "a batch reads before it writes"
    assert same(both, lambda store: store.get(("test", "foo"), "three").value) == {"text": "a green boat"}


def test_the_same_key_put_twice_at_once_holds_the_last(both: list[BaseStore]) -> None:
    for store in both:
        store.batch([PutOp(("test",), "key", {"value": "one"}), PutOp(("test",), "key", {"value": "two"})])
    assert same(both, lambda store: store.get(("test",), "key").value) == {"value": "two"}
    same(both, lambda store: [_plain(item) for item in store.search(("test",), filter={"value": "two"})])


def _plain(result: Any) -> Any:
    """Without times, which differ."""
    if isinstance(result, list):
        return sorted((_plain(one) for one in result), key=str)
    return (result.namespace, result.key, result.value) if hasattr(result, "key") else result
