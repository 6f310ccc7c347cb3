"""Which lines an explicit order names: by the words that they share with it."""

from collections.abc import Sequence

from keepbook.book.text.words import content_words, tokens, word_set
from keepbook.models.notebook.lists.orders import Order
from keepbook.models.notebook.lists.topics import bare
from keepbook.models.notebook.values import Target

_ALL = word_set("everything anything all both any alles todo todos alt tout tous")
QUESTION_WORDS = frozenset(
    content_words("hvor hva hvem når wie wo was wer wann dónde qué quién cuándo où quand comment")
)
"""Words that ask, of languages whose light words are not known: "hvor jeg bor" names where somebody lives."""


def names_several(matter: str) -> bool:
    """Whether an order names more than one thing: "my dogs", "everything about my job", "what I said of it"."""
    words = tokens(matter)
    if not words or words[0] == "what":
        return bool(words)
    return not _ALL.isdisjoint(words) or (words[-1].endswith("s") and not words[-1].endswith("ss"))


def lines_named(order: Order | None, matter: str, targets: Sequence[Target]) -> list[Target]:
    """The lines that have every word that an explicit order to take something back names."""
    words = set(content_words(bare(matter))) - QUESTION_WORDS
    if order is None or order.act != "withdraw" or not words:
        return []
    return [one for one in targets if words <= set(content_words(one.content))]


def has_words_of(matter: str, meant: Sequence[Target]) -> bool:
    """Whether an order that names something has a word of each line that it points at."""
    words = set(content_words(matter))
    return not words or all(words & set(content_words(one.content)) for one in meant)


def named_elsewhere(matter: str, meant: Sequence[Target], targets: Sequence[Target]) -> list[Target]:
    """Other lines that have words of what an order names, which the lines it points at lack: "Dr. Wu's number"."""
    rest = set(content_words(matter)).difference(*(content_words(one.content) for one in meant))
    others = [one for one in targets if one.kind == "memory" and one not in meant]
    return [one for one in others if rest & set(content_words(one.content))]


def same_lines(some: Sequence[Target], others: Sequence[Target]) -> bool:
    return {one.id for one in some} == {one.id for one in others}
