"""What things mean, beside the words they say: vectors of one embedder's space, searched exactly within one owner.

Writing never waits for an embedder: a vector is filled in right after, and a crash leaves a backlog only, which the
ledger (for memories) and the turns of each chat (for chats) tell. A vector goes with the words of what it stands for,
in the same transaction. All that is kept is the direction, a byte a number. numpy searches one owner's vectors, on
both engines, so that both give the same hits and a server needs no extension; the cache knows by two counters, read
in the transaction it serves, whether another process has written.
"""

import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sqlalchemy import Select, and_, delete, func, insert, select, update

from keepbook.book.memories import IS_ACTIVE
from keepbook.errors import KeepbookError
from keepbook.storage.database import Database, Tx
from keepbook.storage.tables import ledger, memories, messages, threads, vector_spaces, vectors, versions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_log = logging.getLogger("keepbook")

MEMORY, TURN = "memory", "turn"
BATCH = 64
"""So many texts are embedded and written in one go; a crash loses no more than that."""
OWNERS = 32
"""Of so many owners the vectors are held in memory, the last used ones."""

Part = tuple[str, int]
"""A memory and its version, or a chat and its turn."""


class Embedder(Protocol):
    """Turns texts into directions. `space` names the model; below `floor` two texts have nothing in common."""

    space: str
    floor: float

    def embed(self, texts: Sequence[str]) -> "Floats":
        """One row of length 1 for each text; may take its time."""

    def ask(self, text: str) -> "Floats":
        """The row of a question, at once; `ModelFailed` where that cannot be."""


class Text(NamedTuple):
    """What waits to be embedded."""

    kind: str
    item: str
    part: int
    text: str


class Loaded:
    """One owner's vectors in memory; rows are only ever added behind, so a search may go on meanwhile."""

    def __init__(self, added: int, removed: int, parts: list[Part], rows: "Floats") -> None:
        self.added = added
        self.removed = removed
        self.parts = parts
        self.rows = rows

    @cached_property
    def beside(self) -> tuple[Any, Any]:
        return neighbours(self.parts)

    @cached_property
    def row_of(self) -> dict[Part, int]:
        return {part: row for row, part in enumerate(self.parts)}

    @cached_property
    def row_of_item(self) -> dict[str, int]:
        return {item: row for row, (item, _) in enumerate(self.parts)}


# Rules


def packed(rows: "Floats") -> list[bytes]:
    """A direction in a byte a number: the largest becomes 127, which is fine enough to keep the order."""
    # numpy comes with the extra, here and below: whoever packs has an embedder and so has it.
    import numpy as np

    held = np.asarray(rows)
    most = np.maximum(np.abs(held).max(axis=1, keepdims=True), 1e-12)
    return [row.tobytes() for row in np.rint(held / most * 127).astype(np.int8)]


def unpacked(held: Sequence[bytes]) -> "Floats":
    # See packed().
    import numpy as np

    rows = np.frombuffer(b"".join(held), dtype=np.int8).reshape(len(held), -1).astype(np.float32)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return rows


def neighbours(parts: Sequence[Part]) -> tuple[Any, Any]:
    """For each row the rows said just before and just after it in the same chat, -1 where there is none."""
    # See packed().
    import numpy as np

    order = sorted(range(len(parts)), key=parts.__getitem__)
    before, after = np.full(len(parts), -1), np.full(len(parts), -1)
    for one, other in pairwise(order):
        if parts[one][0] == parts[other][0]:
            before[other], after[one] = one, other
    return before, after


def among_neighbours(values: "Floats", beside: tuple[Any, Any]) -> "Floats":
    """Half of what a turn means is its own, half what it means together with those beside it."""
    # See packed().
    import numpy as np

    total, count = values.copy(), np.ones_like(values)
    for rows in beside:
        total += np.where(rows >= 0, values[rows], 0.0)
        count += rows >= 0
    # The length of a sum of directions that have a quarter in common, as turns of one chat do.
    return (0.5 * values + 0.5 * total / np.sqrt(count + 0.25 * count * (count - 1))).astype(np.float32)


def scaled(values: "Floats") -> "Floats":
    """From 0 for the least alike to 1 for the most."""
    low, high = float(values.min()), float(values.max())
    return (values - low) / (high - low) if high > low else values * 0.0


# Operations


def put(tx: Tx, space: str, texts: Sequence[Text], rows: "Floats | None", through: int | None = None) -> int:
    """Keep the vectors of what still says what was embedded; answers how many."""
    known = tx.conn.execute(_state(tx, space)).first()
    added = known.added if known else 1 + secrets.randbelow(2**30)  # an erased book's counters never come again
    if known is None:
        row = {"owner": tx.owner, "space": space, "added": added, "removed": 0, "through": 0}
        tx.conn.execute(insert(vector_spaces), row)
    kept = 0
    for text, vector in zip(texts, () if rows is None else packed(rows), strict=True):
        if not _still_says(tx, space, text):
            continue
        kept += 1
        key = {"owner": tx.owner, "space": space, "kind": text.kind, "item": text.item, "part": text.part}
        tx.conn.execute(insert(vectors), {**key, "nth": added + kept, "vector": vector})
    values = {"added": added + kept} | ({} if through is None else {"through": through})
    here = vector_spaces.c
    tx.conn.execute(update(vector_spaces).where(here.owner == tx.owner, here.space == space).values(values))
    return kept


def drop_other_spaces(tx: Tx, space: str) -> None:
    for table in (vectors, vector_spaces):
        tx.conn.execute(delete(table).where(table.c.owner == tx.owner, table.c.space != space))


# Queries


def waiting(tx: Tx, space: str, most: int) -> tuple[list[Text], int | None]:
    """What has no vector yet, memories first, and the ledger entry through which memories have theirs after that."""
    known = tx.conn.execute(_state(tx, space)).first()
    through = known.through if known else 0
    head = tx.conn.execute(select(func.max(ledger.c.seq)).where(ledger.c.owner == tx.owner)).scalar() or 0
    if through < head:
        return _waiting_memories(tx, space, through, head, most)
    found: list[Text] = []
    for thread_id, filled in tx.conn.execute(_behind(tx, space)).all():
        here = messages.c
        query = (
            select(here.turn, here.text)
            .where(here.owner == tx.owner, here.thread_id == thread_id, here.turn > (filled or 0))
            .where(here.role.in_(("user", "assistant")), here.text != "")
            .order_by(here.turn)
            .limit(most - len(found))
        )
        found += [Text(TURN, thread_id, turn, text) for turn, text in tx.conn.execute(query)]
        if len(found) >= most:
            break
    return found, None


def _waiting_memories(tx: Tx, space: str, through: int, head: int, most: int) -> tuple[list[Text], int]:
    touched = (
        select(ledger.c.memory_id, ledger.c.seq)
        .where(ledger.c.owner == tx.owner, ledger.c.seq > through, ledger.c.memory_id.isnot(None))
        .order_by(ledger.c.seq)
        .limit(most)
    )
    rows = tx.conn.execute(touched).all()
    query = (
        select(memories.c.id, memories.c.version, memories.c.subject, versions.c.content, versions.c.summary,
               versions.c.body)
        .join(versions, and_(versions.c.owner == memories.c.owner, versions.c.memory_id == memories.c.id,
                             versions.c.version == memories.c.version))
        .outerjoin(vectors, and_(vectors.c.owner == memories.c.owner, vectors.c.space == space,
                                 vectors.c.kind == MEMORY, vectors.c.item == memories.c.id,
                                 vectors.c.part == memories.c.version))
        .where(memories.c.owner == tx.owner, IS_ACTIVE, vectors.c.item.is_(None))
        .where(memories.c.id.in_({row.memory_id for row in rows}))
        .order_by(memories.c.id)
    )  # fmt: skip
    found = [
        Text(MEMORY, row.id, row.version, ". ".join(filter(None, (row.content, row.summary, (row.body or "")[:1000]))))
        for row in tx.conn.execute(query)
    ]
    return found, rows[-1].seq if len(rows) == most else head


def _behind(tx: Tx, space: str) -> Select[Any]:
    """Chats in which more was said than has vectors. What is hidden or incognito has none."""
    here = vectors.c
    filled = (
        select(func.max(here.part))
        .where(here.owner == tx.owner, here.space == space, here.kind == TURN, here.item == threads.c.id)
        .scalar_subquery()
    )
    return (
        select(threads.c.id, filled)
        .where(threads.c.owner == tx.owner, threads.c.incognito == 0, threads.c.turns > func.coalesce(filled, 0))
        .order_by(threads.c.id)
    )


def _still_says(tx: Tx, space: str, text: Text) -> bool:
    here = vectors.c
    if tx.conn.execute(
        select(here.nth).where(
            here.owner == tx.owner, here.space == space, here.kind == text.kind, here.item == text.item,
            here.part == text.part,
        )
    ).first():  # fmt: skip
        return False
    if text.kind == TURN:
        query = select(threads.c.id).where(threads.c.owner == tx.owner, threads.c.id == text.item)
    else:
        query = select(memories.c.id).where(
            memories.c.owner == tx.owner, memories.c.id == text.item, memories.c.version == text.part, IS_ACTIVE
        )
    return tx.conn.execute(query).first() is not None


def _state(tx: Tx, space: str) -> Select[Any]:
    here = vector_spaces.c
    return select(here.added, here.removed, here.through).where(here.owner == tx.owner, here.space == space)


def has_other_spaces(tx: Tx, space: str) -> bool:
    here = vector_spaces.c
    return tx.conn.execute(select(here.space).where(here.owner == tx.owner, here.space != space)).first() is not None


def load(tx: Tx, space: str, kind: str, held: Loaded | None) -> Loaded | None:
    """The vectors as this transaction sees them: what is held if nothing changed, with what is new behind it."""
    known = tx.conn.execute(_state(tx, space)).first()
    if known is None:
        return None
    if held is not None and (held.added, held.removed) == (known.added, known.removed):
        return held
    here = vectors.c
    query = select(here.item, here.part, here.vector).where(
        here.owner == tx.owner, here.space == space, here.kind == kind
    )
    newer = held is not None and held.removed == known.removed and held.added < known.added
    if held is not None and newer:
        rows = tx.conn.execute(query.where(here.nth > held.added).order_by(here.nth)).all()
        if not rows:
            return Loaded(known.added, known.removed, held.parts, held.rows)
        # See packed().
        import numpy as np

        parts = held.parts + [(row.item, row.part) for row in rows]
        return Loaded(
            known.added, known.removed, parts, np.concatenate([held.rows, unpacked([row.vector for row in rows])])
        )
    rows = tx.conn.execute(query.order_by(here.nth)).all()
    if not rows:
        return None
    parts = [(row.item, row.part) for row in rows]
    return Loaded(known.added, known.removed, parts, unpacked([row.vector for row in rows]))


class Alike(NamedTuple):
    """How like a question everything is that has a vector, and below what that says nothing."""

    loaded: Loaded
    kind: str
    values: "Floats"
    floor: float

    def near(self, keys: Collection[Any], most: int, without: Collection[str] = ()) -> dict[Any, tuple[float, float]]:
        """Of these and of the most alike: the likeness scaled over all, from 0 to 1, and as it is.

        A memory goes by its id, a turn by its chat and number, and is read together with those beside it.
        """
        # See packed().
        import numpy as np

        values, parts, turns = self.values, self.loaded.parts, self.kind == TURN
        if turns:
            values = among_neighbours(values, self.loaded.beside)
        shares = scaled(values)
        if without:
            values = np.where([item in without for item, _ in parts], -1.0, values)
        best = np.argpartition(-values, most)[:most] if len(parts) > most else np.arange(len(parts))
        where: dict[Any, int] = self.loaded.row_of if turns else self.loaded.row_of_item
        rows = {where[key] for key in keys if key in where} | {int(row) for row in best}
        return {
            parts[row] if turns else parts[row][0]: (float(shares[row]), float(self.values[row]))
            for row in sorted(rows)
            if parts[row][0] not in without
        }


class Meaning:
    """An installation's embedder at work: it fills the backlog behind the writers and answers questions."""

    def __init__(self, database: Database, embedder: Embedder) -> None:
        self.embedder = embedder
        self._database = database
        self._held: OrderedDict[tuple[str, str], Loaded] = OrderedDict()
        self._lock = threading.Lock()
        self._asked_for: dict[str, None] = {}
        self._awake = threading.Condition()
        self._filler: threading.Thread | None = None
        self._closed = False

    def alike(self, tx: Tx, kind: str, question: str) -> Alike | None:
        """How like the question each vector of this owner is; nothing where there are none yet."""
        loaded = self._loaded(tx, kind)
        if loaded is None:
            return None
        return Alike(loaded, kind, loaded.rows @ self.embedder.ask(question), self.embedder.floor)

    def _loaded(self, tx: Tx, kind: str) -> Loaded | None:
        key = (tx.owner, kind)
        with self._lock:
            held = self._held.get(key)
        loaded = load(tx, self.embedder.space, kind, held)
        if loaded is not None and loaded is not held and not tx.writes:  # what is not committed may never have been
            with self._lock:
                self._held[key] = loaded
                self._held.move_to_end(key)
                while len(self._held) > OWNERS:
                    self._held.popitem(last=False)
        return loaded

    def fill(self, owner: str, progress: Callable[[int], None] | None = None) -> int:
        """Embed all that waits, batch by batch, each kept before the next; then drop the spaces of other embedders."""
        space, done = self.embedder.space, 0
        while not self._closed:
            with self._database.read(owner) as tx:
                texts, through = waiting(tx, space, BATCH)
            if not texts and through is None:
                break
            rows = self.embedder.embed([text.text for text in texts]) if texts else None
            with self._database.write(owner) as tx:
                kept = put(tx, space, texts, rows, through)
            done += kept
            if progress is not None:
                progress(done)
            if texts and not kept and through is None:
                break  # what waited is gone, or another process was quicker
        else:
            return done
        with self._database.read(owner) as tx:
            others = has_other_spaces(tx, space)
        if others:
            with self._database.write(owner) as tx:
                drop_other_spaces(tx, space)
        return done

    def nudge(self, owner: str) -> None:
        """Something may wait to be embedded: see to it soon, and let nobody wait for it."""
        with self._awake:
            if self._closed:
                return
            self._asked_for[owner] = None
            if self._filler is None:
                self._filler = threading.Thread(target=self._work, name="keepbook vectors", daemon=True)
                self._filler.start()
            self._awake.notify()

    def _work(self) -> None:
        while True:
            with self._awake:
                while not self._asked_for and not self._closed:
                    self._awake.wait()
                if self._closed:
                    return
                owner = next(iter(self._asked_for))
                del self._asked_for[owner]
            try:
                self.fill(owner)
            except KeepbookError as error:  # a backlog is all that is left; the next nudge tries again
                _log.warning("vectors wait: %s", error.code)

    def close(self) -> None:
        with self._awake:
            self._closed = True
            self._awake.notify()
        if self._filler is not None:
            self._filler.join(timeout=30)
