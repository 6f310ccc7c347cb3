"""One owner's vectors in memory, and how similar the texts behind them are to a question.

Vectors are held as they are stored: one byte per number. A long text has several vectors, one for each passage, and is
as similar to a question as its best passage. Up to `EXACT` vectors, all are compared exactly. In a larger book a sketch
of each, which has only the sign of each number, is compared first, in a tenth of the time; the closest by their sketch
are then compared exactly. The result depends on the vectors alone, not on the order in which they came, so two
processes and both engines agree.

Names here: a *part* is a memory's version or a chat's turn, an *item* is a memory or a chat, a *code* is one vector as
it is stored.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import count
from operator import eq
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Codes = NDArray[np.int8]
    RowNumbers = NDArray[np.intp]

EXACT = 10_000
"""Measured: with more vectors than this the sketch saves time."""
CLOSE, FAR = 2000, 50
"""How many are compared exactly after the sketch: the closest, and a few of the farthest, which set the scale. Measured
on what people said: the closest tenth by sketch holds all of the ten most alike, the closest fiftieth 99 of 100."""

AT_ONCE = 4096
"""How many vectors are turned into floats at a time, since these take several times the memory."""

ROOM = 2**20
"""How many bytes of vectors `VectorRows` has room for at first."""

VectorPart = tuple[str, int]
"""A memory's id and version, or a chat's id and turn."""


class VectorIndex:
    """The vectors of one owner in memory. Immutable: a search can go on while its successor is built."""

    def __init__(
        self, added: int, removed: int, parts: list[VectorPart], codes: "Codes", counts: "RowNumbers | None" = None
    ) -> None:
        """`added` and `removed` say how many vectors were ever put into and taken out of the book's space. `counts` is
        the number of codes of each part, in order; None means one each."""
        self.added = added
        self.removed = removed
        self.parts = parts
        self.codes = codes
        self.counts = counts

    @property
    def size(self) -> int:
        """About how many bytes it takes, together with what is computed from it."""
        return int(self.codes.nbytes) * 5 + 200 * len(self.parts)

    def grown(
        self, added: int, parts: Sequence[VectorPart], codes: "Codes", counts: "RowNumbers | None" = None
    ) -> "VectorIndex":
        """A new index with more vectors appended; what was computed for the old ones is reused."""
        # Imported here and below, since numpy is an optional dependency; an embedder, which makes vectors, needs it.
        import numpy as np

        if not parts:
            whole = VectorIndex(added, self.removed, self.parts, self.codes, self.counts)
            whole.__dict__ |= {**self.__dict__, "added": added}
            return whole
        more = VectorIndex(added, self.removed, list(parts), codes, counts)
        several = None
        if self.counts is not None or counts is not None:
            several = [each.all_rows for each in (self, more)]
        whole = VectorIndex(
            added, self.removed, self.parts + more.parts, np.concatenate([self.codes, codes]),
            np.concatenate(several) if several else None,
        )  # fmt: skip
        known = self.__dict__  # what the cached properties have computed
        if "directions" in known and len(whole.codes) <= EXACT:
            whole.__dict__["directions"] = np.concatenate([self.directions, more.directions])
        if "signs" in known:
            whole.__dict__["signs"] = np.concatenate([self.signs, more.signs], axis=1)
        if "row_of_item" in known:
            behind = len(self.parts)
            whole.__dict__["row_of_item"] = self.row_of_item | {
                item: behind + row for item, row in more.row_of_item.items()
            }
        return whole

    @cached_property
    def all_rows(self) -> "RowNumbers":
        """The number of codes of each part."""
        # See grown().
        import numpy as np

        if self.counts is None:
            return np.ones(len(self.parts), dtype=np.intp)
        return self.counts

    def codes_at(self, parts: "RowNumbers") -> "RowNumbers":
        """The row numbers of the codes of these parts."""
        # See grown().
        import numpy as np

        if self.counts is None:
            return parts
        many = self.counts[parts]
        found = np.arange(many.sum(), dtype=np.intp)
        found += np.repeat((self.counts.cumsum() - self.counts)[parts] - (many.cumsum() - many), many)
        return found

    def best(self, values: "NDArray[Any]", least: bool = False, parts: "RowNumbers | None" = None) -> "NDArray[Any]":
        """The highest (or lowest) value of each part, from the values of all codes or of the codes of some parts."""
        # See grown().
        import numpy as np

        if self.counts is None:
            return values
        if parts is None:
            many = self.counts
        else:
            many = self.counts[parts]
        of_each = np.minimum if least else np.maximum
        if len(many):
            return of_each.reduceat(values, many.cumsum() - many)
        return values

    @cached_property
    def directions(self) -> "Floats":
        return directions(self.codes)

    @cached_property
    def signs(self) -> "NDArray[np.uint64]":
        return sign_bits(self.codes)

    @cached_property
    def part_bounds(self) -> tuple[Any, Any]:
        return neighbours(self.parts)

    @cached_property
    def row_of(self) -> dict[VectorPart, int]:
        return dict(zip(self.parts, count()))

    @cached_property
    def row_of_item(self) -> dict[str, int]:
        return {item: row for row, (item, _) in enumerate(self.parts)}


# Rules


class VectorRows:
    """Gathers stored vectors row by row into one array that has room for more. The system gives memory only for the
    part that is used."""

    def __init__(self) -> None:
        # See VectorIndex.grown().
        import numpy as np

        self.parts: list[VectorPart] = []
        self._items: dict[str, str] = {}
        self._codes = np.empty(ROOM, dtype=np.int8)
        self._used = 0
        self._sizes: list[int] = []

    def add(self, rows: Sequence[tuple[str, int, bytes]]) -> None:
        """Add rows: item, part and its vectors. An item's id is kept once, however many parts it has."""
        # See VectorIndex.grown().
        import numpy as np

        known_id = self._items.setdefault
        self.parts += [(known_id(item, item), part) for item, part, _ in rows]
        stored = [vectors for _, _, vectors in rows]
        self._sizes += map(len, stored)
        more = np.frombuffer(b"".join(stored), dtype=np.int8)
        start = self._used
        self._used += len(more)
        if self._used > len(self._codes):
            roomier = np.empty(2 * self._used, dtype=np.int8)
            roomier[:start] = self._codes[:start]
            self._codes = roomier
        self._codes[start : self._used] = more

    def arrays(self, numbers: int) -> tuple["Codes", "RowNumbers | None"]:
        """All of them as one array of codes with so many `numbers` each, and the number of codes of each part, or None
        if that is one each."""
        # See VectorIndex.grown().
        import numpy as np

        codes = self._codes[: self._used].reshape(-1, numbers)
        one_each = len(codes) == len(self._sizes)
        return codes, None if one_each else np.array(self._sizes, dtype=np.intp) // numbers


def directions(codes: "Codes") -> "Floats":
    """The codes as floats, each scaled to length 1."""
    # See VectorIndex.grown().
    import numpy as np

    rows = codes.astype(np.float32)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return rows


def sign_bits(rows: "NDArray[Any]") -> "NDArray[np.uint64]":
    """The sign of every number as one bit, packed into 64-bit words and transposed: row i holds word i of every vector,
    so one XOR compares that word for all vectors."""
    # See VectorIndex.grown().
    import numpy as np

    many, numbers = rows.shape
    bits = np.zeros((many, -(-numbers // 64) * 8), dtype=np.uint8)
    for start in range(0, many, AT_ONCE):
        some = slice(start, start + AT_ONCE)
        bits[some, : -(-numbers // 8)] = np.packbits(rows[some] > 0, axis=1)
    return np.ascontiguousarray(bits.view(np.uint64).T)


def differing(held: "NDArray[np.uint64]", asked: "NDArray[np.uint64]") -> "NDArray[np.uint16]":
    """For each vector, the number of coordinates whose sign differs from that of the question."""
    # See VectorIndex.grown().
    import numpy as np

    total = np.zeros(held.shape[1], dtype=np.uint16)
    for line, word in zip(held, asked[:, 0], strict=True):
        total += np.bitwise_count(line ^ word)
    return total


def closest_and_farthest(differ: "NDArray[np.uint16]", close: int, far: int) -> "NDArray[np.bool_]":
    """Which rows are among the `close` that differ least or the `far` that differ most. All that tie with the last one
    are included, so that the order of rows does not matter."""
    # See VectorIndex.grown().
    import numpy as np

    so_far = np.bincount(differ).cumsum()
    least, most = np.searchsorted(so_far, [close, len(differ) - far])
    found: NDArray[np.bool_] = (differ <= least) | (differ >= most)
    return found


def neighbours(parts: Sequence[VectorPart]) -> tuple[Any, Any]:
    """For each row, the row of the turn before it and of the turn after it in the same chat; -1 if there is none."""
    # See VectorIndex.grown().
    import numpy as np

    order = np.array(sorted(range(len(parts)), key=parts.__getitem__), dtype=np.intp)
    items = [parts[row][0] for row in order]
    before, after = np.full(len(parts), -1), np.full(len(parts), -1)
    follows = np.fromiter(map(eq, items[1:], items), dtype=np.bool_, count=max(0, len(items) - 1))
    one, other = order[:-1][follows], order[1:][follows]
    before[other], after[one] = one, other
    return before, after


def among_neighbours(values: "Floats", beside: tuple[Any, Any]) -> "Floats":
    """The likeness of each turn in its context: half is its own likeness, half that of the turn and its neighbours
    together."""
    # See VectorIndex.grown().
    import numpy as np

    total, count = values.copy(), np.ones_like(values)
    for rows in beside:
        total += np.where(rows >= 0, values[rows], 0.0)
        count += rows >= 0
    # Divided by the length of a sum of directions with a cosine of .25 to each other, as turns of one chat have.
    return (0.5 * values + 0.5 * total / np.sqrt(count + 0.25 * count * (count - 1))).astype(np.float32)


def scale_likeness(values: "Floats") -> "Floats":
    """Likeness scaled to 0…1: 1 for the most alike; 0 for the least alike, or for nothing in common if all have
    something."""
    low, high = min(0.0, float(values.min())), float(values.max())
    if high > low:
        return (values - low) / (high - low)
    return values * 0.0


# Queries


class Likeness:
    """The likeness of every vector to a question. Values below `floor` say nothing."""

    def __init__(self, loaded: VectorIndex, asked: "Floats", floor: float) -> None:
        self.floor = floor
        self._loaded = loaded
        self._asked = asked

    def reaches(self, floor: float) -> bool:
        """Whether any text has at least this likeness to the question."""
        return float(self._values(self._looked_at([])).max()) >= floor

    def blend(
        self,
        words: Mapping[str, float],
        weight: float,
        floor: float,
        most: int,
        slack: float,
        among: Collection[str] | None = None,
    ) -> dict[str, tuple[float, float]]:
        """The `most` best memories by word score (from `words`) + `weight` × likeness (scaled to 0…1 over all), each
        with its score and its unscaled likeness. A memory without any word of the question needs a likeness of at least
        `floor`. Those within `slack` of the last one are included. `among` limits the search to these ids."""
        # See VectorIndex.grown().
        import numpy as np

        row_of, parts = self._loaded.row_of_item, self._loaded.parts
        at = np.array([row_of.get(id, -1) for id in words], dtype=np.intp)
        said = np.fromiter(words.values(), dtype=np.float32, count=len(words))
        if (at < 0).any():
            bare = [id for id, row in zip(words, at, strict=True) if row < 0]
        else:
            bare = []
        at, said = at[at >= 0], said[at >= 0]
        if among is None:
            rows = self._looked_at(at)
        else:
            rows = self._rows_of(among, at)
        if rows is not None and not len(rows):
            return {id: (words[id], 0.0) for id in bare}
        values = self._values(rows)
        scores = weight * scale_likeness(values)
        speaks = values >= floor
        if rows is None:
            place = at
        else:
            place = np.searchsorted(rows, at)
        scores[place] += said
        speaks[place] = True
        kept = np.flatnonzero(speaks)
        if len(kept) > most:
            least = np.partition(scores[kept], len(kept) - most)[len(kept) - most]
            kept = kept[scores[kept] >= least - slack]
        found = {
            parts[row][0]: (float(scores[here]), float(values[here]))
            for here, row in zip(kept, kept if rows is None else rows[kept], strict=True)
        }
        return found | {id: (words[id], 0.0) for id in bare}

    def near(
        self, turns: Collection[VectorPart], most: int, without: Collection[str] = ()
    ) -> dict[VectorPart, tuple[float, float]]:
        """The likeness of these `turns` and of the `most` that are most alike in their context: scaled to 0…1 over all,
        and their own unscaled. Chats in `without` are left out."""
        # See VectorIndex.grown().
        import numpy as np

        loaded, parts = self._loaded, self._loaded.parts
        asked = np.fromiter((loaded.row_of[turn] for turn in turns if turn in loaded.row_of), dtype=np.intp)
        rows = self._looked_at(asked)
        if rows is None:
            values = self._values(None)
        else:
            rows = self._with_neighbours(rows)
            values = np.zeros(len(parts), dtype=np.float32)
            around = self._with_neighbours(rows)
            values[around] = self._values(around)
        together = among_neighbours(values, loaded.part_bounds)
        if rows is None:
            rows = np.arange(len(parts))
        shares = scale_likeness(together[rows])
        if len(rows) > most:
            least = np.partition(shares, len(rows) - most)[len(rows) - most]
        else:
            least = 0.0
        is_kept = shares >= least
        is_kept[np.searchsorted(rows, asked)] = True
        kept = np.flatnonzero(is_kept)
        return {
            parts[row]: (float(shares[here]), float(values[row]))
            for here, row in zip(kept, rows[kept], strict=True)
            if parts[row][0] not in without
        }

    def of_passages(self, part: VectorPart) -> list[float]:
        """The likeness of each passage of a text."""
        # See VectorIndex.grown().
        import numpy as np

        row = self._loaded.row_of.get(part)
        if row is None:
            return []
        return [float(value) for value in self._compared(np.array([row], dtype=np.intp))]

    def _rows_of(self, items: Collection[str], more: "RowNumbers") -> "RowNumbers":
        """The rows of these items, and `more` rows."""
        # See VectorIndex.grown().
        import numpy as np

        row_of = self._loaded.row_of_item
        found = np.array([row_of[item] for item in items if item in row_of], dtype=np.intp)
        return self._with_rows(found, more)

    def _looked_at(self, rows: "RowNumbers | Sequence[int]") -> "RowNumbers | None":
        """The rows that are compared exactly: these, and those that are close by their sketch. None, in a small book,
        means all."""
        # See VectorIndex.grown().
        import numpy as np

        if len(self._loaded.codes) <= EXACT:
            return None
        differ = differing(self._loaded.signs, sign_bits(self._asked[None, :]))
        looked_at = closest_and_farthest(self._loaded.best(differ, least=True), CLOSE, FAR)
        looked_at[rows] = True
        return np.flatnonzero(looked_at)

    def _values(self, rows: "RowNumbers | None") -> "Floats":
        """The likeness of each of these rows, or of all."""
        # See VectorIndex.grown().
        import numpy as np

        # Computed row by row in this thread, not as a product of matrices: so a row gives the same number wherever it
        # stands, and no threads wait for each other when the cores are busy.
        loaded = self._loaded
        if rows is None:
            return loaded.best(np.vecdot(loaded.directions, self._asked))
        return loaded.best(self._compared(rows), parts=rows)

    def _compared(self, rows: "RowNumbers") -> "Floats":
        """The likeness of every vector of these parts, in order."""
        # See VectorIndex.grown().
        import numpy as np

        at = self._loaded.codes_at(rows)
        found = np.empty(len(at), dtype=np.float32)
        for start in range(0, len(at), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            codes = self._loaded.codes[at[some]].astype(np.float32)
            lengths = np.sqrt(np.maximum(np.vecdot(codes, codes), 1e-24))
            found[some] = np.vecdot(codes, self._asked) / lengths
        return found

    def _with_neighbours(self, rows: "RowNumbers") -> "RowNumbers":
        around = [beside[rows] for beside in self._loaded.part_bounds]
        return self._with_rows(rows, *(found[found >= 0] for found in around))

    def _with_rows(self, *several: "RowNumbers") -> "RowNumbers":
        """All of these rows, in order and each once."""
        # See VectorIndex.grown().
        import numpy as np

        has = np.zeros(len(self._loaded.parts), dtype=np.bool_)
        for rows in several:
            has[rows] = True
        return np.flatnonzero(has)
