"""Vectors: recall by meaning, in the space of one embedder, searched exactly within one owner.

Writing never waits for an embedder: a vector is added right afterwards, and a crash leaves only a backlog, which is
computed from the ledger (for memories) and the turns of each chat (for chats). A vector is removed in the same
transaction as the words of its text. Only the direction is stored, one byte per number. numpy searches one owner's
vectors on both engines, so both give the same hits and a server needs no extension. Two counters, read in the same
transaction, tell the cache whether another process has written.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import Select, bindparam, delete, insert, select, tuple_, update

from keepbook.book.recall.background import Filler
from keepbook.book.recall.backlog import TextToEmbed, count_to_embed, still_says, texts_to_embed
from keepbook.book.recall.bounded_cache import BoundedCache
from keepbook.book.recall.nearest import Likeness, VectorIndex, VectorRows
from keepbook.book.text.passages import passages
from keepbook.book.text.topic_meaning import OneByOne, learn_what_was_wanted
from keepbook.errors import ModelFailed
from keepbook.storage.database import Database, Tx
from keepbook.storage.prepared_statement import PreparedStatement
from keepbook.storage.tables.chats import threads
from keepbook.storage.tables.ledger import ledger
from keepbook.storage.tables.upkeep import vector_spaces, vectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

BATCH = 64
"""How many texts are embedded and written at a time; a crash loses at most these."""
CATCH_UP_WITHIN = 1.0
"""How many seconds a program that asks and ends may spend on embedding a backlog."""
HELD_BYTES = 256 * 2**20
"""How many bytes of vectors a process caches: those of the owners that asked last."""
READ = 2048
"""How many rows are read at a time."""
CUT = "passages"
"""The name of the way in which texts are cut before they are embedded."""
DIRECTIONS = 2048
"""For how many texts the vector is cached."""
OWNERS = 10_000
"""For how many owners the topics never to be kept are cached."""


class Embedder(Protocol):
    """Turns texts into vectors of length 1. `space` names the model; below `floor` two texts have nothing in common."""

    @property
    def space(self) -> str: ...

    @property
    def floor(self) -> float: ...

    def embed(self, texts: Sequence[str], within: float | None = None) -> "Floats":
        """One row of length 1 for each text. It may take as long as it needs; with `within`, it raises `ModelFailed`
        after that many seconds."""

    def ask(self, text: str) -> "Floats":
        """The row of a question, at once; raises `ModelFailed` if that is not possible."""


# Rules


def pack_vectors(rows: "Floats") -> list[bytes]:
    """Vectors with one byte per number: the largest becomes 127, which is exact enough to keep the order of hits."""
    # numpy comes with the extra, here and below: whoever packs has an embedder and so has it.
    import numpy as np

    held = np.asarray(rows)
    most = np.maximum(np.abs(held).max(axis=1, keepdims=True), 1e-12)
    return [row.tobytes() for row in np.rint(held / most * 127).astype(np.int8)]


# Operations


def put(tx: Tx, space: str, texts: Sequence[TextToEmbed], held: Sequence[bytes], through: int | None = None) -> int:
    """Store the vectors of texts that have not changed since; returns of how many texts."""
    known = tx.conn.execute(_state(tx, space)).first()
    if known is None and not _has_anything(tx):
        return 0  # the book was erased since it was read: nothing of it may come back, not even the owner's name
    # A new counter begins anywhere, so that a new book's counters never equal those of an erased one.
    added = known.added if known else 1 + secrets.randbelow(2**30)
    if known is None:
        row = {"owner": tx.owner, "space": space, "added": added, "removed": 0, "through": 0}
        tx.conn.execute(insert(vector_spaces), row)
    new: list[dict[str, Any]] = []
    for text, vector in zip(texts, held, strict=True):
        if still_says(tx, space, text):
            key = {"owner": tx.owner, "space": space, "kind": text.kind, "item": text.item, "part": text.part}
            new.append({**key, "nth": added + len(new) + 1, "vector": vector})
    _PUT.run_many(tx.conn, new)
    kept = len(new)
    values = {"added": added + kept} | ({} if through is None else {"through": through})
    here = vector_spaces.c
    tx.conn.execute(update(vector_spaces).where(here.owner == tx.owner, here.space == space).values(values))
    return kept


def drop_other_spaces(tx: Tx, space: str) -> None:
    for table in (vectors, vector_spaces):
        tx.conn.execute(delete(table).where(table.c.owner == tx.owner, table.c.space != space))


# Queries


def _has_anything(tx: Tx) -> bool:
    return any(
        tx.conn.execute(select(table.c.owner).where(table.c.owner == tx.owner).limit(1)).first()
        for table in (ledger, threads)
    )


def _state(tx: Tx, space: str) -> Select[Any]:
    here = vector_spaces.c
    return select(here.added, here.removed, here.through).where(here.owner == tx.owner, here.space == space)


def has_other_spaces(tx: Tx, space: str) -> bool:
    here = vector_spaces.c
    return tx.conn.execute(select(here.space).where(here.owner == tx.owner, here.space != space)).first() is not None


def load_vectors(
    tx: Tx, space: str, kind: str, held: VectorIndex | None, known: Any, numbers: int
) -> VectorIndex | None:
    """The vectors that this transaction sees, or None if there are none. `held` are those of the cache: if the counters
    `known` have not changed since, they are returned; if vectors were only added, the new ones are appended."""
    if held is not None and (held.added, held.removed) == (known.added, known.removed):
        return held
    newer = held is not None and held.removed == known.removed and held.added < known.added
    here = {"owner": tx.owner, "space": space, "kind": kind}
    rows = VectorRows()
    if held is not None and newer:
        rows.add(_NEWER.tuples(tx.conn, {**here, "after": held.added}))
        return held.grown(known.added, rows.parts, *rows.arrays(numbers))
    for some in _in_order(tx, here):
        rows.add(some)
    if rows.parts:
        return VectorIndex(known.added, known.removed, rows.parts, *rows.arrays(numbers))
    return None


def _in_order(tx: Tx, here: Mapping[str, str]) -> Iterator[Sequence[tuple[str, int, bytes]]]:
    """The rows of all vectors of a kind, some at a time: all together they would take twice the memory of the
    arrays."""
    place = {"item": "", "part": 0}
    while True:
        rows = _FOLLOWING.tuples(tx.conn, {**here, **place, "most": READ})
        if rows:
            yield rows
        if len(rows) < READ:
            break
        item, part, _ = rows[-1]
        place = {"item": item, "part": part}


_PUT = PreparedStatement(insert(vectors), vectors.c.keys())
_COUNTERS = PreparedStatement(
    select(vector_spaces.c.added, vector_spaces.c.removed).where(
        vector_spaces.c.owner == bindparam("owner"), vector_spaces.c.space == bindparam("space")
    )
)
_held = select(vectors.c.item, vectors.c.part, vectors.c.vector).where(
    vectors.c.owner == bindparam("owner"),
    vectors.c.space == bindparam("space"),
    vectors.c.kind == bindparam("kind"),
)
# Read in the order of the primary key, in which the rows are stored.
_KEY = (vectors.c.item, vectors.c.part)
_FOLLOWING = PreparedStatement(
    _held.where(tuple_(*_KEY) > tuple_(*(bindparam(one.name, type_=one.type) for one in _KEY)))
    .order_by(*_KEY)
    .limit(bindparam("most"))
)
_NEWER = PreparedStatement(_held.where(vectors.c.nth > bindparam("after")))


class Meaning:
    """The embedder of an installation: embeds what waits after the writes, and answers questions."""

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self.embedder = embedder
        self.failure: str | None = None
        """Why the last question was answered by words alone; None if it was not."""
        self._database = database
        self._held: BoundedCache[tuple[str, str], VectorIndex] = BoundedCache(
            HELD_BYTES, weigh=lambda loaded: loaded.size
        )
        self._met: set[str] = set()
        self._filler = Filler(lambda owner: self.fill(owner))  # noqa: PLW0108  looked up when it is due
        self._directions: BoundedCache[str, Floats] = BoundedCache(DIRECTIONS)
        self.one_by_one: OneByOne = OneByOne(self)
        self.topics: BoundedCache[str, tuple[str, ...]] = BoundedCache(OWNERS)
        """The topics never to be kept, as they were last read, by owner."""

    def alike(self, tx: Tx, kind: str, question: str) -> Likeness | None:
        """The likeness of each vector of this owner to the question; None if there are no vectors yet."""
        if tx.owner not in self._met:  # another program, or a crash, may have left a backlog
            self._met.add(tx.owner)
            self.nudge(tx.owner)
        self.failure = None
        known = _COUNTERS.first(tx.conn, {"owner": tx.owner, "space": self.space_name})
        if known is None:
            return None
        asked = self._direction_of(question)
        loaded = self._load(tx, kind, known, len(asked))
        if loaded is None:
            return None
        return Likeness(loaded, asked, self.embedder.floor)

    @property
    def space(self) -> str:
        return self.embedder.space

    @property
    def space_name(self) -> str:
        """The name under which vectors are stored. It changes with the embedder and with the way texts are cut; then
        everything is embedded anew."""
        return f"{self.embedder.space}/{CUT}"

    def direction(self, text: str) -> "Floats | None":
        """The vector of a text; None if the embedder fails."""
        try:
            return self._direction_of(text)
        except ModelFailed:
            return None

    def _direction_of(self, text: str) -> "Floats":
        """The same; raises `ModelFailed` if the embedder fails. The last vectors are cached. Characters that cannot be
        encoded are replaced: a text that has them is refused when it is stored."""
        held = self._directions.get(text)
        if held is not None:
            return held
        try:
            found = self.embedder.ask(text.encode(errors="replace").decode())
        except ModelFailed as error:
            self.failure = error.message
            raise
        self._directions.put(text, found)
        return found

    def directions(self, texts: Sequence[str]) -> "Floats | None":
        """The vectors of many texts, a row each; None if the embedder fails."""
        try:
            return self.embedder.embed(texts)
        except ModelFailed as error:
            self.failure = error.message
            return None

    def _load(self, tx: Tx, kind: str, known: Any, numbers: int) -> VectorIndex | None:
        key = (tx.owner, kind)
        held = self._held.get(key)
        loaded = load_vectors(tx, self.space_name, kind, held, known, numbers)
        if loaded is not None:
            self._database.tally.add({("vectors", "missed" if held is None else "held"): 1})
        if loaded is not None and loaded is not held and not tx.writes:  # a write may still be rolled back
            self._held.put(key, loaded)
        return loaded

    def fill(
        self,
        owner: str,
        progress: Callable[[int], None] | None = None,
        *,
        most: int | None = None,
        within: float | None = None,
    ) -> int:
        """Embed the backlog, batch by batch, each stored before the next; then drop the spaces of other embedders.
        Returns how many vectors were stored."""
        learn_what_was_wanted(self)
        space, done = self.space_name, 0
        before: Sequence[TextToEmbed] = ()
        while not self._filler.is_closed and (most is None or done < most):
            with self._database.read(owner) as tx:
                texts, through = texts_to_embed(tx, space, BATCH)
            if not texts and through is None:
                break
            if texts:
                held = self._embed(texts, within)
            else:
                held = []
            with self._database.write(owner) as tx:
                kept = put(tx, space, texts, held, through)
            done += kept
            if progress is not None:
                progress(done)
            if texts and not kept and through is None and texts == before:
                break  # these texts cannot be stored; if another process had stored them, others would come now
            before = texts
        else:
            return done
        with self._database.read(owner) as tx:
            others = has_other_spaces(tx, space)
        if others:
            with self._database.write(owner) as tx:
                drop_other_spaces(tx, space)
        return done

    def _embed(self, texts: Sequence[TextToEmbed], within: float | None) -> list[bytes]:
        """The stored form of each text's vectors: those of its passages, joined."""
        cut = [passages(text.text) for text in texts]
        said = [passage for some in cut for passage in some]
        rows = iter(pack_vectors(self.embedder.embed(said) if within is None else self.embedder.embed(said, within)))
        return [b"".join(islice(rows, len(some))) for some in cut]

    def count_waiting(self, owner: str, most: int) -> int:
        """How much waits to be embedded, counted no further than `most`."""
        with self._database.read(owner) as tx:
            return count_to_embed(tx, self.space_name, most)

    def catch_up(self, owner: str) -> int:
        """Embed what waits if that is little, for a program that asks and ends; returns how much still waits."""
        waits = self.count_waiting(owner, BATCH + 1)
        if 0 < waits <= BATCH:
            try:
                self.fill(owner, within=CATCH_UP_WITHIN)
            except ModelFailed:  # the question that follows will fail in the same way, and report it
                return waits
            return 0
        return waits

    def nudge(self, owner: str) -> None:
        """Let the background thread embed soon what may wait for this owner."""
        self._filler.nudge(owner)

    def close(self) -> None:
        self._filler.close()
