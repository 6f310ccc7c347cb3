"""A book as the long-term store of LangGraph.

    store = KeepbookStore(kb)                      # ("alice", "memories"): the first label is the owner
    store = KeepbookStore(kb, owner_at=1)          # ("memories", "alice")
    store = KeepbookStore(kb, owner="alice")       # every namespace is alice's

An item is one memory: the namespace is its scope, the key its subject, the body has the whole value, and the content
is one line of it. Putting a key again makes a new version, deleting it puts the memory into the trash, and if a person
undoes or rewrites it in the book, the graph reads that. Every operation is for one owner, never for all.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from keepbook.adapters import missing_framework
from keepbook.app import Keepbook
from keepbook.book.book import Book
from keepbook.book.memory import named_texts
from keepbook.book.memory.memories import BELOW, Memory
from keepbook.book.recall.memories import Hit
from keepbook.book.text.words import query_terms, terms
from keepbook.book.texts import TextChange
from keepbook.errors import Invalid, NotAllowed
from keepbook.patterns import regex

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        InvalidNamespaceError,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
    )
except ImportError as _missing:
    raise missing_framework("LangGraph", "langgraph") from _missing

ROOT = "langgraph"
"""The scope of all items; the labels of a namespace follow after dots."""
MOST_HITS = 200  # of one search
LINE_CHARS = 500
"""The longest content in the shipped presets. If an item's text is longer, its line has only a part of it, and
rewriting the line does not change the item."""
TEXT_FIELDS = ("text", "content", "memory", "fact", "data")
"""The fields of a value that are searched for its text, in this order."""
_UNKEEPABLE = regex("[\x7f-\x9f\ud800-\udfff]")
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": eq, "$ne": ne, "$gt": gt, "$gte": ge, "$lt": lt, "$lte": le,
}  # fmt: skip

Namespace = tuple[str, ...]


class KeepbookStore(BaseStore):
    """Items of a graph as memories of their owner.

    kb: the installation
    owner: whose every namespace is
    owner_at: or the place of a namespace at which the owner stands
    category: under which the memories are filed
    fields: the parts of a value that a question is compared with, as `["text", "notes[*].title"]`; by default all of it
    ttl: how items expire, in LangGraph's words: `{"default_ttl": 60, "refresh_on_read": True}` in minutes
    """

    supports_ttl = True

    def __init__(
        self,
        kb: Keepbook,
        *,
        owner: str | None = None,
        owner_at: int = 0,
        category: str | None = None,
        fields: Sequence[str] | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        if owner_at < 0:
            raise Invalid("owner_at is the place of the owner's label in a namespace, counted from 0", field="owner_at")
        self._kb = kb
        self._owner = owner
        self._owner_at = owner_at
        self._category = category
        self._fields = None
        if fields is not None:
            self._fields = list(fields)
        self.ttl_config = ttl

    # The store's contract

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Reads see the book as it was before the batch. Then the puts of each owner are written together or not at
        all. Of several puts to one key the last one counts."""
        results: list[Result] = []
        puts: dict[str, dict[tuple[Namespace, str], PutOp]] = {}
        for op in ops:
            match op:
                case GetOp():
                    results.append(self._get(op))
                case SearchOp():
                    results.append(self._search(op))
                case ListNamespacesOp():
                    results.append(self._namespaces(op))
                case PutOp():
                    puts.setdefault(self._owner_of(op.namespace), {})[tuple(op.namespace), op.key] = op
                    results.append(None)
                case _:
                    raise Invalid(f"a store cannot do {type(op).__name__}", field="ops")
        for owner, wanted in puts.items():
            book = self._book(owner)
            changes = []
            for put in wanted.values():
                change = self._change(book, put)
                if change is not None:
                    changes.append(change)
            if changes:
                book.texts.write(changes)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Move expired items to the trash; returns how many. They are not read before that either."""
        swept = 0
        for owner in [self._owner] if self._owner is not None else self._kb.owners():
            book = self._book(owner)
            for memory in book.texts.list(ROOT):
                if _is_expired(memory, book):
                    book.delete(memory.id)
                    swept += 1
        return swept

    # Operations

    def _get(self, op: GetOp) -> Item | None:
        book = self._book(self._owner_of(op.namespace))
        memory = _newest(book, self._scope(op.namespace), op.key)
        if memory is None or _is_expired(memory, book):
            return None
        if op.refresh_ttl:
            _refresh(book, memory)
        return Item(**self._item(book, memory))

    def _change(self, book: Book, op: PutOp) -> TextChange | None:
        """The change that a put makes; None if the same value is stored already."""
        if op.ttl is not None and op.ttl <= 0:
            raise Invalid("ttl is minutes, more than 0", field="ttl")
        scope, key = self._scope(op.namespace), named_texts.exact(op.key, "key")
        if op.value is None:
            return TextChange(scope=scope, name=key)
        value, index = _as_json_value(op.value), self._fields if op.index is None else op.index
        known = _newest(book, scope, key)
        if known is not None and op.ttl is None and (_value(known), _index(known), _ttl(known)) == (value, index, None):
            return None
        more = {"index": index, "ttl": op.ttl}
        body = _dump_item({"value": value} | {name: one for name, one in more.items() if one is not None})
        until = "" if op.ttl is None else book.now + timedelta(minutes=op.ttl)
        line = _text_of(value, index)
        return TextChange(scope=scope, name=key, line=line, body=body, category=self._category, valid_until=until)

    def _search(self, op: SearchOp) -> list[SearchItem]:
        book = self._book(self._owner_of(op.namespace_prefix))
        scope = self._scope(op.namespace_prefix)
        found: Iterable[tuple[Memory, float | None]]
        if op.query and op.query.strip():
            hits = book.recall(op.query, MOST_HITS, scope=scope + BELOW)
            found = ((hit, hit.relevance) for hit in hits if hit.subject and _answers(hit, op.query))
        else:
            found = ((memory, None) for memory in book.texts.list(scope))
        fitting = [
            (memory, score)
            for memory, score in found
            if _fits(_value(memory), op.filter or {}) and not _is_expired(memory, book)
        ][op.offset : op.offset + op.limit]
        if op.refresh_ttl:
            for memory, _ in fitting:
                _refresh(book, memory)
        return [SearchItem(**self._item(book, memory), score=score) for memory, score in fitting]

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        begins = (each.path for each in conditions if each.match_type == "prefix" and len(each.path) > self._owner_at)
        owner = self._owner or next((path[self._owner_at] for path in begins if path[self._owner_at] != "*"), None)
        if owner is None:
            raise Invalid(
                "whose namespaces? A store never lists all owners: give a prefix that names one", field="prefix"
            )
        book = self._book(owner)
        every = (self._namespace(book, scope) for scope in book.texts.scopes(ROOT))
        found = (each for each in every if all(_matches(condition, each) for condition in conditions))
        return sorted({each[: op.max_depth] for each in found})[op.offset : op.offset + op.limit]

    # Namespaces and scopes

    def _book(self, owner: str) -> Book:
        return self._kb.book(owner, by="agent", door="langgraph")

    def _owner_of(self, namespace: Sequence[str]) -> str:
        if self._owner is not None:
            return self._owner
        if len(namespace) <= self._owner_at:
            raise Invalid(
                f"whose is {tuple(namespace)}? Label {self._owner_at} of a namespace names the owner; it is missing",
                field="namespace",
            )
        return namespace[self._owner_at]

    def _scope(self, namespace: Sequence[Any]) -> str:
        for label in namespace:
            if not isinstance(label, str) or not label or "." in label:
                raise InvalidNamespaceError(f"a label of a namespace is text without a dot, not {label!r}")
        labels = list(namespace)
        if self._owner is None:
            del labels[self._owner_at]
        return named_texts.exact(".".join([ROOT, *labels]), "namespace")

    def _namespace(self, book: Book, scope: str) -> Namespace:
        labels = scope.split(".")[1:]
        if self._owner is None:
            labels.insert(self._owner_at, book.owner)
        return tuple(labels)

    def _item(self, book: Book, memory: Memory) -> dict[str, Any]:
        return {
            "namespace": self._namespace(book, memory.scope or ROOT),
            "key": memory.subject or "",
            "value": _value(memory),
            "created_at": memory.created_at,
            "updated_at": memory.recorded_at,
        }


def _newest(book: Book, scope: str, key: str) -> Memory | None:
    found = book.texts.list(scope, name=key)
    if found:
        return found[-1]
    return None


# Values


def _as_json_value(value: Mapping[str, Any]) -> dict[str, Any]:
    """The value as it will be read again: converted to JSON and back."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(value)))
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid(f"a value is a mapping that JSON can hold: {error}", field="value") from None
    return plain


def _dump_item(kept: Mapping[str, Any]) -> str:
    text = json.dumps(kept, ensure_ascii=False)
    # Without escapes it is readable and searchable, but the book refuses some characters.
    if _UNKEEPABLE.search(text):
        return json.dumps(kept)
    return text


def _item_of(memory: Memory) -> dict[str, Any]:
    with suppress(ValueError):
        kept = json.loads(memory.body or "")
        if isinstance(kept, dict) and isinstance(kept.get("value"), dict):
            return kept
    return {"value": {"text": memory.content}}  # put into this scope through another door


def _index(memory: Memory) -> Any:
    return _item_of(memory).get("index")


def _answers(hit: Hit, query: str) -> bool:
    """Whether a hit was found by the indexed part of its value, and not by another."""
    index = _index(hit)
    if index is None or index is False:
        return index is None
    words = set(terms(" ".join(_texts(_value(hit), index))))
    return bool(words & set(query_terms(query))) or any(reason.startswith("meaning") for reason in hit.reasons)


def _text_of(value: Mapping[str, Any], index: Sequence[str] | bool | None) -> str:
    """The text of a value, for its line: its indexed fields, else its text field, else the whole as JSON."""
    texts = _texts(value, index) if isinstance(index, list) else []
    if texts:
        return " ".join(texts)
    path = _text_path(value)
    if path:
        return _value_at(value, path)
    return json.dumps(value, ensure_ascii=False)


def _texts(value: Mapping[str, Any], index: Sequence[str]) -> list[str]:
    return [text for path in index for text in get_text_at_path(value, path)]


def _ttl(memory: Memory) -> float | None:
    found = _item_of(memory).get("ttl")
    if isinstance(found, int | float):
        return found
    return None


def _is_expired(memory: Memory, book: Book) -> bool:
    return _ttl(memory) is not None and memory.valid_until is not None and memory.valid_until <= book.now


def _refresh(book: Book, memory: Memory) -> None:
    """Let an item that was read expire after its full time again, unless a person's word protects it."""
    ttl = _ttl(memory)
    if ttl is not None:
        with suppress(NotAllowed):
            book.update(memory.id, memory.content, valid_until=book.now + timedelta(minutes=ttl))


def _value(memory: Memory) -> dict[str, Any]:
    """The value as it was put. If its line had all of its text, and was rewritten in the book, with the new text."""
    value: dict[str, Any] = _item_of(memory)["value"]
    path, line = _text_path(value), _text_of(value, _index(memory))
    is_whole = bool(path) and len(line) <= LINE_CHARS and line.startswith(_value_at(value, path))
    if not is_whole or named_texts.is_line_of(memory, line):
        return value
    return _with_value_at(value, path, memory.content.removesuffix(f" [{memory.subject}]"))


def _text_path(value: Mapping[str, Any]) -> tuple[str, ...]:
    """The names that lead to the text of a value, also inside of other mappings; empty if it has no text."""
    for name in TEXT_FIELDS:
        inner = value.get(name)
        if isinstance(inner, str) and inner.strip():
            return (name,)
        rest = _text_path(inner) if isinstance(inner, Mapping) else ()
        if rest:
            return (name, *rest)
    return ()


def _value_at(value: Any, path: Sequence[str]) -> str:
    for name in path:
        value = value[name]
    return str(value)


def _with_value_at(value: Mapping[str, Any], path: Sequence[str], text: str) -> dict[str, Any]:
    first, *rest = path
    return {**value, first: _with_value_at(value[first], rest, text) if rest else text}


# Conditions


def _fits(value: Any, wanted: Any) -> bool:
    """Whether a value fits a filter: is equal to it, or fulfils its comparisons."""
    if not isinstance(wanted, Mapping):
        return bool(value == wanted)
    if any(str(name).startswith("$") for name in wanted):
        return all(_compares(value, name, other) for name, other in wanted.items())
    return isinstance(value, Mapping) and all(_fits(value.get(name), other) for name, other in wanted.items())


def _compares(value: Any, name: str, other: Any) -> bool:
    if name not in _COMPARISONS:
        raise Invalid(f"a filter compares with {', '.join(_COMPARISONS)}, not {name!r}", field="filter")
    try:
        return bool(_COMPARISONS[name](value, other))
    except TypeError:  # a text cannot be compared with a number, nor can a missing value
        return False


def _matches(condition: MatchCondition, namespace: Namespace) -> bool:
    path = condition.path
    if len(path) > len(namespace):
        return False
    if condition.match_type == "prefix":
        part = namespace[: len(path)]
    else:
        part = namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))
