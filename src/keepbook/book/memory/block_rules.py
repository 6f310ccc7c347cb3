"""Stores the rules of a block in the book: the part of a preset that decided its bytes.

A preset is a file that somebody may edit or remove. So the book stores the rules as canonical JSON under their digest,
and an injection names the digest: so its block can be rendered again exactly as the session was given it.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from keepbook.book.ground import stored_json
from keepbook.book.ledger.ledger import canonical_json
from keepbook.errors import Invalid
from keepbook.presets import BlockRules, fit_block_rules
from keepbook.strict_toml import Wrong


class SpelledRules(NamedTuple):
    """A row of `block_rules` without its owner."""

    digest: str
    rules: str


@lru_cache(maxsize=64)
def spell_rules(rules: BlockRules) -> SpelledRules:
    """The rules of a preset as the book stores them. Values that are not set are left out, as in a file."""
    told = {one.name: _plain(getattr(rules, one.name)) for one in fields(BlockRules)}
    text = canonical_json({name: value for name, value in told.items() if value is not None})
    return SpelledRules(digest_of_rules(text), text)


def digest_of_rules(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@lru_cache(maxsize=64)
def read_rules(text: str) -> BlockRules:
    """The rules that were stored as this JSON."""
    try:
        return fit_block_rules(stored_json.load_json(text))
    except Wrong as wrong:
        raise Invalid(f"the rules of this block are not known to this version of Keepbook: {wrong}") from None


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        value = {one.name: getattr(value, one.name) for one in fields(value)}
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, tuple):
        return [_plain(inner) for inner in value]
    return value
