"""Rules that closing shares: which turns ask to forget, and how much two lines have in common."""

from keepbook.book.text.sentences import sentences
from keepbook.book.text.words import STOP_WORDS, stem, tokens
from keepbook.models.notebook.lists.orders import explicit_orders

_FAINT = {
    "user", "they", "them", "is", "has", "ha", "want", "use", "also", "still", "year", "month", "day", "week",
    "about", "one", "two", "new", "now", "get", "make",
}  # fmt: skip
"""Words that do not show what a line is about."""


def asks_to_forget(text: str) -> bool:
    """Whether a turn asks explicitly to forget something, or not to keep it."""
    return any(order.act in ("withdraw", "never") for order in explicit_orders(text, sentences(text)))


def matter_words(text: str) -> set[str]:
    """Content words, stemmed; numbers left out (they are values, not the matter)."""
    return {stem(t) for t in tokens(text) if t not in STOP_WORDS and not t[0].isdecimal() and len(t) > 1} - _FAINT


def overlap(a: str, b: str) -> float:
    """The share of the shorter line's words that both have."""
    one, other = matter_words(a), matter_words(b)
    if one and other:
        return len(one & other) / min(len(one), len(other))
    return 0.0
