"""Finding chats by their titles: each word that is asked for is a word of the title, in any of its forms, or the
beginning of one."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import bindparam, select

from keepbook.book.chats.threads import Thread, to_thread
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.text.words import query_terms, stem, tokens
from keepbook.storage.prepared_statement import PreparedForIds, PreparedStatement
from keepbook.storage.tables.chats import threads

MOST_TITLES = 5_000
"""How many titles are searched: those of the chats that were touched last."""


class FoundTitles(NamedTuple):
    """The chats with such a title, the last touched first, and how many chats were looked through."""

    chats: Sequence[Thread]
    looked_through: int


# Rules


def title_fits(title: str, wanted: Sequence[str]) -> bool:
    """Whether each of these stems is that of a word of the title, or begins one."""
    words = tokens(title)
    stems = set(map(stem, words))
    return all(term in stems or any(word.startswith(term) for word in words) for term in wanted)


# Queries


def find_by_title(book: OpenBook, query: str, limit: int) -> FoundTitles:
    """Chats whose title has the words. Incognito chats and those in the trash are left out."""
    wanted = query_terms(query)
    with book.reading() as (tx, _, _):
        titled = _TITLES.tuples(tx.conn, {"owner": tx.owner})
        fitting = [id for id, title in titled if wanted and title_fits(title, wanted)][:limit]
        rows = {row.id: row for row in _THESE.rows(tx.conn, fitting, {"owner": tx.owner})}
    return FoundTitles([to_thread(rows[id]) for id in fitting if id in rows], len(titled))


_TITLES = PreparedStatement(
    select(threads.c.id, threads.c.title)
    .where(
        threads.c.owner == bindparam("owner"), threads.c.deleted_at.is_(None), threads.c.incognito == 0,
        threads.c.title.isnot(None), threads.c.turns > 0,
    )
    .order_by(threads.c.touched_at.desc(), threads.c.id)
    .limit(MOST_TITLES)
)  # fmt: skip
_THESE = PreparedForIds(lambda ids: select(threads).where(threads.c.owner == bindparam("owner"), threads.c.id.in_(ids)))
