"""The person's name: a choice for the pages, and a memory for the models."""

from keepbook.book.book import Book
from keepbook.errors import Ambiguous, Conflict, NotAllowed, NotFound

NAMED = "Is called {name}"


def call_me(book: Book, name: str | None) -> None:
    """Set the person's name, here and in what agents are told."""
    name, before = " ".join((name or "").split()), book.choices.name
    if not name or name == before:
        return
    book.choose(name=name)
    words, preset = NAMED.format(name=name), book.preset()
    try:
        known = None
        if before:
            known = book.find(NAMED.format(name=before))
    except (NotFound, Ambiguous):
        known = None
    try:
        if known is None:
            if "profile" in preset.categories:
                book.remember(words, category="profile")
            else:
                book.remember(words, category=preset.default_category)
        else:
            book.update(known, words)
    except (Conflict, NotAllowed):  # it stands in the book already, or memory is off: the pages know it all the same
        return
