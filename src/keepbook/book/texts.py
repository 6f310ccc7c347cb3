"""Named texts: what frameworks keep under keys and paths, read and written from wherever the book is.

One memory holds each text. Several changes are written together or not at all. A change may say which version it is
based on, so that a program reads, decides and writes without holding the book meanwhile.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from keepbook.book.ground.argument_docs import explain_arguments
from keepbook.book.ground.when import Moment
from keepbook.book.memory import named_texts
from keepbook.book.memory.memories import Memory, Written
from keepbook.book.writing import Writing
from keepbook.errors import Conflict

NONE_THERE = 0
"""The version of a text that is based on there being none of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextChange:
    """A text to be written, or without a `line` to be put into the trash.

    `line` is what people read of it, shortened to what the preset allows. `valid_until` may be "", for ever; left out
    it stays. `id` is the memory that holds the text so far, which may get another name; without it, those of that name
    are meant. `version` is that of the memory it is based on, 0 where there is none; left out, whatever is there.
    """

    scope: str
    name: str
    line: str | None = None
    body: str = ""
    category: str | None = None
    valid_until: Moment = None
    id: str | None = None
    version: int | None = None


@explain_arguments
class Texts:
    """The named texts of a book: `book.texts`."""

    def __init__(self, book: Writing) -> None:
        self._book = book

    def list(self, scope: str, *, name: str | None = None, prefix: str | None = None) -> Sequence[Memory]:
        """The texts of a scope: those of a `name`, those whose names begin with a `prefix` that ends in a slash, the
        one written last at the end; or else all of it and of the scopes below, in the order of creation."""
        if name is not None:
            return named_texts.all_named(self._book, scope, name)
        if prefix is not None:
            return named_texts.below(self._book, scope, prefix)
        return named_texts.within(self._book, scope)

    def scopes(self, scope: str) -> Sequence[str]:
        """The scopes that hold texts, this one and those below it."""
        return named_texts.scopes_within(self._book, scope)

    def write(self, changes: Sequence[TextChange]) -> Sequence[Written]:
        """Carry out these `changes`, all of them or none. `Conflict` with the code `version` says that a text is
        not the one that a change is based on."""
        written: list[Written] = []
        for change in changes:
            self._book._read_first(change.line, change.body)
        with self._book.writing(apart=True):
            self._refuse_taken(changes)
            for change in changes:
                written += self._write(change)
        return written

    def _refuse_taken(self, changes: Sequence[TextChange]) -> None:
        """Refuse to give a text the name of another that is not renamed as well."""
        moved = {change.id for change in changes}
        for change in changes:
            if change.id is not None and change.line is not None:
                there = named_texts.all_named(self._book, change.scope, change.name)
                if not moved.issuperset(memory.id for memory in there):
                    raise _changed(change.name)

    def _known(self, change: TextChange) -> Sequence[Memory]:
        """What a change is about, the one written last at the end."""
        if change.id is None:
            return named_texts.all_named(self._book, change.scope, change.name)
        return named_texts.of_id(self._book, change.scope, change.id)

    def _write(self, change: TextChange) -> Sequence[Written]:
        known = self._known(change)
        newest = None
        if known:
            newest = known[-1]
        if change.version is not None and change.version != (newest.version if newest else NONE_THERE):
            raise _changed(change.name)
        if change.line is None:
            deleted = [self._book.delete(memory.id) for memory in known]
            return [one for one in deleted if one is not None]
        line = named_texts.line_for(self._book, change.scope, change.name, change.line, known=newest)
        name, until = named_texts.exact(change.name, "name"), change.valid_until
        if newest is not None:
            return [self._book.update(newest.id, line, subject=name, body=change.body, valid_until=until)]
        made = self._book.remember(
            line, category=change.category, subject=name, scope=named_texts.exact(change.scope, "scope"),
            body=change.body, force=True, valid_until=until or None,
        )  # fmt: skip
        return [made]


def _changed(name: str) -> Conflict:
    return Conflict(f"the text {name!r} has changed meanwhile; read it again", code="version")
