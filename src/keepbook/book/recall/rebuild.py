"""Rebuilds the word indexes: what an older program analysed differently is corrected, the rest is left as it is.

Every memory and turn is analysed again and compared with its index, slice by slice. Only differences are written, a few
at a time, so that nobody else waits long. If it is stopped, it may be run again; what is correct by then is only read.
Texts that are written meanwhile are analysed the same way, so they are correct already.

An export has no indexes. When a small book is restored, its words are indexed in the same transaction; those of a
larger book afterwards, in pieces. A reminder notes that they are missing: if the program ends before, a sweep writes
them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import ColumnElement, Select, Table, and_, bindparam, delete, insert, literal, or_, select, tuple_

from keepbook.book.ground import due
from keepbook.book.ground.argument_docs import explain_arguments
from keepbook.book.ground.open_book import OpenBook
from keepbook.book.ground.when import stamp
from keepbook.book.memory.labels import keys_of
from keepbook.book.memory.memories import IN_STATE, IS_ACTIVE, indexed_text_of, state_name
from keepbook.book.text.indexes.turn_index import turn_weights
from keepbook.book.text.indexes.word_index import likeness_keys, put_away_key, term_weights
from keepbook.book.text.indexes.words_behind import write_words
from keepbook.storage.database import Database, Tx
from keepbook.storage.tables.chats import messages, threads, turn_terms
from keepbook.storage.tables.memory import labels, likeness, memories, terms, versions

if TYPE_CHECKING:
    from keepbook.book.ground.in_pieces import Gaps

SLICE = 5000
"""How many memories or turns are compared with their index at a time."""
TOGETHER = 200
"""How many are corrected in one transaction."""

IN_A_PIECE = 40
"""How many memories are indexed in one transaction after a restore."""

IndexKey = tuple[str, int]
"""A memory's id and 0, or a chat's id and a turn."""
WordWeights = dict[tuple[str, str], float]
"""The table and word of each row of the index, and its weight."""


class IndexKind(NamedTuple):
    """One kind of indexed text."""

    texts: Select[Any]
    """The query for the texts, with their key as `item` and `part`."""
    item: ColumnElement[str]
    part: ColumnElement[int]
    words: Callable[[Any], WordWeights]
    """Computes the words of a row of that query, as they should be in the index."""
    indexes: tuple[Table, ...]
    end: Callable[[Tx, str], str | None]
    """The last item of the slice that begins after an item; None for the last slice."""


# Operations


def rebuild(database: Database, owner: str, progress: Callable[[int], None] | None = None) -> int:
    """Correct the indexes, and return for how many memories and turns they differed. `progress` is called with how many
    were checked so far."""
    mended, checked = 0, 0
    for kind in (_MEMORIES, _LABELS, _TURNS):
        after: str | None = ""
        while after is not None:
            with database.read(owner) as tx:
                end = kind.end(tx, after)
                wanted = _wanted_words(tx, kind, _within(kind.item, after, end))
                stored = _stored_words(tx, kind, after, end)
            wrong = sorted(key for key in wanted.keys() | stored.keys() if wanted.get(key, {}) != stored.get(key, {}))
            for start in range(0, len(wrong), TOGETHER):
                with database.write(owner) as tx:
                    _reindex(tx, kind, wrong[start : start + TOGETHER], stored)
            mended += len(wrong)
            if kind is not _LABELS:  # its texts are memories, which are counted already
                checked += len(wanted)
            if progress is not None:
                progress(checked)
            after = end
    return mended


def index_memories(database: Database, owner: str, gaps: "Gaps") -> None:
    """Write the index of all memories after an import, in pieces."""
    after: str | None = ""
    while after is not None:
        with database.read(owner) as tx:
            query = select(memories.c.id).where(memories.c.owner == owner, memories.c.id > after)
            ids = tx.conn.execute(query.order_by(memories.c.id).limit(IN_A_PIECE)).scalars().all()
        keys = [(id, 0) for id in ids]
        after = None
        if ids:
            after = ids[-1]
        if keys:
            gaps.wait()
            with database.write(owner) as tx:
                for kind in (_MEMORIES, _LABELS):
                    _reindex(tx, kind, keys, {})
            gaps.freed()


def leave_words(tx: Tx) -> None:
    """Leave the index of this book to be written after the commit. A reminder lets a sweep write it, if the program
    ends before."""
    due.remind(tx, due.INDEX, due.WHOLE, stamp(tx.clock()))
    tx.afterwards.append(partial(write_all_words, owner=tx.owner))


def write_all_words(database: Database, owner: str, gaps: "Gaps | None" = None) -> None:
    """Write the index of all memories and turns that have none, and cancel the reminder."""
    from keepbook.book.ground.in_pieces import Gaps  # imported late, because most programs never need it

    gaps = gaps or Gaps(database.told_to_stop)
    index_memories(database, owner, gaps)
    with database.read(owner) as tx:
        chats = tx.conn.execute(select(threads.c.id).where(threads.c.owner == owner).order_by(threads.c.id))
        ids = chats.scalars().all()
    for id in ids:
        write_words(database, owner, id, gaps)
    with database.write(owner) as tx:
        due.cancel(tx, due.INDEX, due.WHOLE)


def _reindex(tx: Tx, kind: IndexKind, keys: Sequence[IndexKey], stored: dict[IndexKey, WordWeights]) -> None:
    """Write the index of these texts anew. They are read again in this transaction, because they may have changed since
    the check; `stored` is what the indexes had for them then."""
    wanted = _wanted_words(tx, kind, tuple_(kind.item, kind.part).in_(keys))
    for index in kind.indexes:
        item, part, word, has_weights = _columns(index)
        names = [column.name for column in (item, word, part) if column is not None]
        deleted, inserted = [], []
        for key in keys:
            row: dict[str, Any] = {item.name: key[0]}
            if part is not None:
                row[part.name] = key[1]
            new = {name: weight for (table, name), weight in wanted.get(key, {}).items() if table == index.name}
            old = {name for table, name in stored.get(key, {}) if table == index.name}
            for name in old | new.keys():
                where = row | {word.name: name}
                deleted.append({f"b_{column}": value for column, value in where.items()})
            for name, weight in new.items():
                values = row | {"owner": tx.owner, word.name: name}
                inserted.append(values | {"weight": weight} if has_weights else values)
        if deleted:
            same = and_(index.c.owner == tx.owner, *(index.c[name] == bindparam(f"b_{name}") for name in names))
            tx.conn.execute(delete(index).where(same), deleted)
        if inserted:
            tx.conn.execute(insert(index), inserted)


# Queries


def _wanted_words(tx: Tx, kind: IndexKind, which: ColumnElement[bool]) -> dict[IndexKey, WordWeights]:
    """What the indexes should have for the texts for which a condition holds."""
    rows = tx.conn.execute(kind.texts.where(which), {"owner": tx.owner})
    return {(row.item, row.part): kind.words(row) for row in rows}


def _stored_words(tx: Tx, kind: IndexKind, after: str, end: str | None) -> dict[IndexKey, WordWeights]:
    """What the indexes have for a slice, also for memories and turns that no longer exist."""
    found: dict[IndexKey, WordWeights] = {}
    for index in kind.indexes:
        item, part, word, has_weights = _columns(index)
        number = literal(0) if part is None else part
        weight = index.c.weight if has_weights else literal(1.0)
        query = select(item, number, word, weight).where(index.c.owner == tx.owner, _within(item, after, end))
        for id, nth, name, value in tx.conn.execute(query):
            found.setdefault((id, nth), {})[index.name, name] = value
    return found


def _within(item: ColumnElement[str], after: str, end: str | None) -> ColumnElement[bool]:
    """The condition for the slice after one item and up to another, or to the end."""
    if end is None:
        return item > after
    return and_(item > after, item <= end)


def _columns(index: Table) -> tuple[Any, Any, Any, bool]:
    """The columns of an index: the memory or chat, the turn (None if it has none), the word; and whether it has
    weights."""
    item = index.c.thread_id if "thread_id" in index.c else index.c.memory_id
    word = index.c.term if "term" in index.c else index.c.key
    return item, index.c.get("turn"), word, "weight" in index.c


def _end_of_memories(tx: Tx, after: str) -> str | None:
    query = select(memories.c.id).where(memories.c.owner == tx.owner, IS_ACTIVE, memories.c.id > after)
    return tx.conn.execute(query.order_by(memories.c.id).offset(SLICE - 1).limit(1)).scalar()


def _end_of_turns(tx: Tx, after: str) -> str | None:
    """The last chat of a slice. A slice has whole chats: it ends with the chat with which it has enough turns."""
    query = select(threads.c.id, threads.c.turns).where(threads.c.owner == tx.owner, threads.c.id > after)
    count = 0
    for id, turns in tx.conn.execute(query.order_by(threads.c.id)):
        count += turns
        if count >= SLICE:
            return str(id)
    return None


def _words_of_a_memory(row: Any) -> WordWeights:
    said = indexed_text_of(row, row)
    if state_name(row) != "active":
        return dict(_with_table_name(likeness, [(put_away_key(said.content), 1.0)]))
    keys = dict.fromkeys(likeness_keys(said.content, said.category), 1.0)
    return dict(_with_table_name(terms, term_weights(said).items())) | dict(_with_table_name(likeness, keys.items()))


def _labels_of_a_memory(row: Any) -> WordWeights:
    return dict(_with_table_name(labels, ((key, 1.0) for key in keys_of(row.metadata, row.tags))))


def _words_of_a_turn(row: Any) -> WordWeights:
    return dict(_with_table_name(turn_terms, turn_weights(row.text, row.role, row.speaker, row.at).items()))


def _with_table_name(index: Table, words: Iterable[tuple[str, float]]) -> Iterator[tuple[tuple[str, str], float]]:
    return (((index.name, word), weight) for word, weight in words)


_newest = (
    select(memories.c.id.label("item"), literal(0).label("part"), memories.c.category, memories.c.subject,
           memories.c.archived_at, memories.c.trashed_at,
           versions.c.content, versions.c.summary, versions.c.body, versions.c.metadata, versions.c.tags)
    .join(versions, and_(versions.c.owner == memories.c.owner, versions.c.memory_id == memories.c.id,
                         versions.c.version == memories.c.version))
    .where(memories.c.owner == bindparam("owner"))
)  # fmt: skip
_said = (
    select(messages.c.thread_id.label("item"), messages.c.turn.label("part"), messages.c.role, messages.c.speaker,
           messages.c.text, messages.c.at)
    .join(threads, and_(threads.c.owner == messages.c.owner, threads.c.id == messages.c.thread_id))
    .where(messages.c.owner == bindparam("owner"), threads.c.incognito == 0, messages.c.unkept.is_(None))
    .where(or_(messages.c.role == "user", messages.c.role == "assistant"))
)  # fmt: skip
_MEMORIES = IndexKind(
    texts=_newest.where(IN_STATE["all"]), item=memories.c.id, part=literal(0), words=_words_of_a_memory,
    indexes=(terms, likeness), end=_end_of_memories,
)  # fmt: skip
_LABELS = IndexKind(
    texts=_newest, item=memories.c.id, part=literal(0), words=_labels_of_a_memory, indexes=(labels,),
    end=_end_of_memories,
)  # fmt: skip
_TURNS = IndexKind(
    texts=_said, item=messages.c.thread_id, part=messages.c.turn, words=_words_of_a_turn, indexes=(turn_terms,),
    end=_end_of_turns,
)  # fmt: skip


@explain_arguments
class Index:
    """The indexes that recall searches: `book.index`."""

    def __init__(self, book: OpenBook, database: Database) -> None:
        self._book, self._database = book, database

    def left(self, most: int = 1_000_000) -> int:
        """How many memories and turns wait for their vector."""
        meaning = self._book.meaning
        if meaning is None:
            return 0
        return meaning.count_waiting(self._book.owner, most)

    def catch_up(self) -> int:
        """Embed what waits if that is little, for a program that asks and ends; returns how much still waits."""
        meaning = self._book.meaning
        if meaning is None:
            return 0
        return meaning.catch_up(self._book.owner)

    def rebuild(self, progress: Callable[[int], None] | None = None) -> int:
        """Analyse every memory and turn anew, and correct what an older program indexed differently."""
        return rebuild(self._database, self._book.owner, progress)
