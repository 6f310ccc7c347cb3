"""Labels: what programs note on a memory. Tags are a set of words, metadata a small map of strings.

A version holds both as canonical JSON, and NULL for none. Filters look them up in `labels`, which has one row for each
tag and each pair of the current version, in every state of the memory. A past version is compared itself.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Select,
    String,
    and_,
    bindparam,
    delete,
    exists,
    insert,
    select,
    true,
)

from keepbook.book.ground import stored_json
from keepbook.book.ground.limits import KEY_CHARS, MOST_LABELS, TAG_CHARS, VALUE_CHARS, clean_line, clean_text
from keepbook.book.ledger.ledger import canonical_json
from keepbook.errors import Invalid
from keepbook.storage.database import Tx
from keepbook.storage.prepared_statement import PreparedStatement
from keepbook.storage.tables.memory import labels, memories

MANY = 500
"""If more memories than this have a label, memories are asked for their labels, and not labels for their memories."""

Metadata = Mapping[str, str]
Tags = Iterable[str]


class LabelFilter(NamedTuple):
    """The tags and metadata that a filter asks for. A memory has to have all of them."""

    pairs: tuple[tuple[str, str], ...] = ()
    tags: tuple[str, ...] = ()

    @property
    def count(self) -> int:  # type: ignore[override]  # no tuple is searched here
        return len(self.pairs) + len(self.tags)


NOTHING = LabelFilter()


# Rules


def clean_metadata(given: object) -> str | None:
    """A checked map of strings in the form a version holds."""
    if not isinstance(given, Mapping):
        raise Invalid("metadata is a map of strings, as {'source': 'crm'}", field="metadata")
    if len(given) > MOST_LABELS:
        raise Invalid(f"metadata has at most {MOST_LABELS} keys; this has {len(given)}", field="metadata")
    kept = {clean_line(key, "a key of metadata", 1, KEY_CHARS): _value(key, value) for key, value in given.items()}
    if len(kept) != len(given):
        raise Invalid("two keys of metadata are the same but for spaces around them", field="metadata")
    if kept:
        return canonical_json(kept)
    return None


def _value(key: object, value: object) -> str:
    if not isinstance(value, str):
        kind = type(value).__name__
        raise Invalid(f"metadata holds strings; {key!r} is of type {kind}: write it as text", field="metadata")
    return clean_text(value, f"metadata {key!r}", VALUE_CHARS)


def clean_tags(given: object) -> str | None:
    """A checked set of words in the form a version holds, sorted."""
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise Invalid("tags is a list of words, as ['work', 'travel']", field="tags")
    kept = sorted({clean_line(tag, "a tag", 1, TAG_CHARS) for tag in given})
    if len(kept) > MOST_LABELS:
        raise Invalid(f"a memory has at most {MOST_LABELS} tags; these are {len(kept)}", field="tags")
    if kept:
        return canonical_json(kept)
    return None


def label_filter(metadata: Metadata | None, tags: Tags | None) -> LabelFilter:
    """A filter, checked by the same rules as a write."""
    pairs = told_metadata(clean_metadata(metadata or {}))
    asked = LabelFilter(tuple(sorted(pairs.items())), told_tags(clean_tags(tags or ())))
    if asked.count:
        return asked
    return NOTHING


def told_metadata(held: str | None) -> dict[str, str]:
    if held is None:
        return {}
    return dict(stored_json.load_json(held))


def told_tags(held: str | None) -> tuple[str, ...]:
    if held is None:
        return ()
    return tuple(stored_json.load_json(held))


def label_texts(metadata: object, tags: object) -> tuple[object, ...]:
    """The texts of labels as somebody gave them, before they are checked."""
    values = tuple(metadata.values()) if isinstance(metadata, Mapping) else ()
    return (*values, *(tags if isinstance(tags, list | tuple) else ()))


def keys_of(metadata: str | None, tags: str | None) -> set[str]:
    """The index keys of a version."""
    if metadata is None and tags is None:
        return set()
    return _keys(LabelFilter(tuple(told_metadata(metadata).items()), told_tags(tags)))


def has(version: Any, asked: LabelFilter) -> bool:
    """Whether a version fits a filter, without a query."""
    return asked is NOTHING or _keys(asked) <= keys_of(version.metadata, version.tags)


def _keys(asked: LabelFilter) -> set[str]:
    return {_key(list(pair)) for pair in asked.pairs} | {_key([tag]) for tag in asked.tags}


def _key(parts: Sequence[str]) -> str:
    """The index key of a pair (two parts) or a tag (one). It is a hash, so that long values have short keys too."""
    return hashlib.blake2b(canonical_json(parts).encode(), digest_size=16).hexdigest()


# Operations


def relabel(tx: Tx, memory_id: str, before: set[str], after: set[str]) -> None:
    """Change the index from the labels of a version to those of the next."""
    row = {"owner": tx.owner, "memory_id": memory_id}
    _TAKE.run_many(tx.conn, [{**row, "key": key} for key in sorted(before - after)])
    _PUT.run_many(tx.conn, [{**row, "key": key} for key in sorted(after - before)])


# Queries


def has_labels(count: int) -> ColumnElement[bool]:
    """A condition: the memory has all of `count` labels now. `bound` gives their parameters."""
    return and_(true(), *(memories.c.id.in_(_having(bindparam(f"label_{nth}", type_=String))) for nth in range(count)))


def has_each_label(count: int) -> ColumnElement[bool]:
    """The same condition, looked up memory by memory: for labels that many memories have."""
    return and_(
        true(),
        *(
            exists(
                select(labels.c.memory_id).where(
                    labels.c.owner == bindparam("owner", type_=String),
                    labels.c.key == bindparam(f"label_{nth}", type_=String),
                    labels.c.memory_id == memories.c.id,
                )
            )
            for nth in range(count)
        ),
    )


def are_many(tx: Tx, asked: LabelFilter) -> bool:
    """Whether more than `MANY` memories have each of these labels."""
    given = {"owner": tx.owner, "many": MANY}
    return asked is not NOTHING and all(_ONE_BEHIND_MANY.tuples(tx.conn, {**given, "key": key}) for key in _keys(asked))


def bound(asked: LabelFilter) -> dict[str, str]:
    """The parameters for `has_labels` and `has_each_label`."""
    return {f"label_{nth}": key for nth, key in enumerate(sorted(_keys(asked)))}


def _having(key: BindParameter[str]) -> Select[str]:
    """The query for the memories that have a label. The owner is compared with the parameter: else a cluster asks every
    node."""
    return select(labels.c.memory_id).where(labels.c.owner == bindparam("owner", type_=String), labels.c.key == key)


_ONE_BEHIND_MANY = PreparedStatement(
    select(labels.c.memory_id)
    .where(labels.c.owner == bindparam("owner"), labels.c.key == bindparam("key"))
    .limit(1)
    .offset(bindparam("many"))
)
_PUT = PreparedStatement(insert(labels), labels.c.keys())
_TAKE = PreparedStatement(
    delete(labels).where(
        labels.c.owner == bindparam("owner"),
        labels.c.key == bindparam("key"),
        labels.c.memory_id == bindparam("memory_id"),
    )
)
