"""Named texts in a book: one memory each, found by its scope and its name, which is its subject.

Frameworks store things under keys and paths, the book under ids; this module maps one to the other. The body has the
whole text, the content has one line of it for people, for the block and for recall. Two texts may begin with the same
line; since the book keeps the same words only once, the second line then has its name added.
"""

import unicodedata
from collections.abc import Callable, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, and_, select

from keepbook.book.ground.limits import clean_line, sought
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.memory.likeness.similar import is_said
from keepbook.book.memory.memories import IS_ACTIVE, WHOLE, Memory, in_or_below
from keepbook.book.memory.memory_json import row_to_memory
from keepbook.book.text.words import fold_text
from keepbook.errors import Invalid
from keepbook.patterns import regex
from keepbook.storage.tables.memory import memories

LONGEST_NAME = 200  # characters
EMPTY = "(empty)"
_UNKEEPABLE = regex("[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


# Rules


def exact(name: object, field: str) -> str:
    """The name, if the book would store it exactly as given; a name that the book would clean is refused."""
    if not isinstance(name, str) or clean_line(name, field, 1, LONGEST_NAME) != name:
        raise Invalid(f"{field} is one line of text without spaces at its ends, not {name!r}", field=field)
    return name


def one_line(text: str) -> str:
    """A text without line breaks and without characters that the book cannot hold."""
    return " ".join(_UNKEEPABLE.sub(" ", text).split())


def is_line_of(memory: Memory, text: str) -> bool:
    """Whether the content of a memory is still the line that was made of this text, and nobody has rewritten it."""
    name, line = memory.subject or "", one_line(text)
    lines = (line, f"{name}: {line or EMPTY}")
    said = _without_mark(memory.content, name)
    if said.endswith("…"):
        return any(one.startswith(said[:-1]) for one in lines)
    return said in lines or memory.content in lines


def _without_mark(content: str, name: str) -> str:
    """A line without the mark that was added because another has the same words: ` [name]` or ` [name 2]`."""
    line, mark, number = content.rpartition(f" [{name}")
    marked = mark and number.endswith("]") and (number == "]" or number[1:-1].isdecimal())
    if marked:
        return line
    return content


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return text[: most - 1] + "…"


def _mark(name: str, nth: int) -> str:
    """What is added to a line of which there are `nth` already."""
    if nth == 0:
        return ""
    if nth == 1:
        return f" [{name}]"
    return f" [{name} {nth}]"


def _first_free(is_taken: Callable[[int], bool]) -> int:
    """The first free number where all before it are taken. It is looked for by doubling and then by halving, since many
    may be taken."""
    if not is_taken(0):
        return 0
    taken, free = 0, 1
    while is_taken(free):
        taken, free = free, 2 * free
    while free - taken > 1:
        middle = (taken + free) // 2
        if is_taken(middle):
            taken = middle
        else:
            free = middle
    return free


# Operations


def line_for(book: OpenBook, scope: str, name: str, text: str, *, known: Memory | None) -> str:
    """The content of a named text; `known` is the memory that holds it already."""
    with book.writing() as (tx, preset):
        line = one_line(text)
        if len(line) < preset.content_min or all(unicodedata.category(mark)[0] in "CZ" for mark in line):
            line = f"{name}: {line or EMPTY}"

        def marked(nth: int) -> str:
            mark = _mark(name, nth)
            return _cut(line, preset.content_max - len(mark)) + mark

        if known is not None:
            return marked(0)
        return marked(_first_free(lambda nth: is_said(tx, marked(nth), scope)))


# Queries


def all_named(book: OpenBook, scope: str, name: str) -> Sequence[Memory]:
    """The memories of that name, the one written last at the end. There may be several, for instance after a
    restore."""
    # The folded name has an index; the name itself is compared as it is written.
    same = and_(memories.c.subject_key == sought(fold_text(name)), memories.c.subject == sought(name))
    return sorted(_read(book, memories.c.scope == sought(scope), same), key=_recorded_order)


def of_id(book: OpenBook, scope: str, id: str) -> Sequence[Memory]:
    """The memory of that id, if it holds a text of this scope."""
    return _read(book, memories.c.scope == sought(scope), memories.c.id == sought(id))


def below(book: OpenBook, scope: str, prefix: str) -> Sequence[Memory]:
    """The memories whose names begin with `prefix`, which ends in a slash, the one written last at the end."""
    # A range of all names that begin with the prefix: "0" follows "/", and both engines sort by code point.
    begins = and_(memories.c.subject >= sought(prefix), memories.c.subject < sought(prefix)[:-1] + "0")
    return sorted(_read(book, memories.c.scope == sought(scope), begins), key=_recorded_order)


def within(book: OpenBook, scope: str) -> Sequence[Memory]:
    """The memories of a scope and of the scopes below it (`scope.…`), in the order of creation."""
    return _read(book, in_or_below(scope), memories.c.subject.isnot(None))


def scopes_within(book: OpenBook, scope: str) -> Sequence[str]:
    with book.reading() as (tx, _, _):
        query = select(memories.c.scope).where(memories.c.owner == tx.owner, IS_ACTIVE, in_or_below(scope))
        return list(tx.conn.execute(query.where(memories.c.subject.isnot(None)).distinct()).scalars())


def _recorded_order(memory: Memory) -> tuple[datetime, str]:
    return memory.recorded_at, memory.id


def _read(book: OpenBook, *wanted: ColumnElement[bool]) -> Sequence[Memory]:
    with book.reading() as (tx, preset, now):
        query = WHOLE.where(IS_ACTIVE, *wanted).order_by(memories.c.created_at, memories.c.id)
        return [row_to_memory(row, now, preset) for row in tx.conn.execute(query, {"owner": tx.owner})]
