"""Card types: what the answer of a run must hold, as data.

A card type is one TOML file. Some ship with Keepbook; a folder of your own adds more and never replaces a shipped one.
A file that cannot be read is named with its line and its reason, and the others stand. What a run answered is read
into the slots of its type, every one checked (see `answer`): a card that does not fit is no card.
"""

from collections.abc import Sequence
from pathlib import Path

from keepbook.extensions.agents.book.cards.answer import instructions, line_of, read_card, validate
from keepbook.extensions.agents.book.cards.types import (
    RE_EXAMINATION,
    RULE_PREFIX,
    Broken,
    CardType,
    CardTypes,
    Rule,
    Slot,
    load_card_types,
)

__all__ = [
    "RE_EXAMINATION",
    "RULE_PREFIX",
    "Broken",
    "CardType",
    "CardTypes",
    "Rule",
    "Slot",
    "card_types",
    "instructions",
    "line_of",
    "read_card",
    "validate",
]


def card_types(folders: Sequence[Path] = ()) -> CardTypes:
    """The shipped types and those of `folders`; a file is read again only when it changed."""
    return load_card_types((Path(__file__).parent, *folders))
