"""The encoder for moves: MiniLM-L6 with adapters of its own.

A turn is read up to three times: first all its pieces in one window; then each piece that may be a deed in a window
that judges it alone, which is more accurate; and then, by a second reader with adapters of its own, with one line at a
time (`move_pairs`). For most turns the first is enough.
"""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from keepbook.forking import OncePerProcess
from keepbook.models.minilm.inference import Encoder, MiniLM
from keepbook.models.reader import model_files
from keepbook.models.reader.move_reader.move_doubt import doubt
from keepbook.models.reader.move_reader.move_heads import MoveHeads
from keepbook.models.reader.move_reader.move_linear import LinearMoveReader
from keepbook.models.reader.move_reader.move_pairs import PairHeads, PairReader, Pairs, with_pairs
from keepbook.models.reader.move_reader.move_signs import MoveRequest
from keepbook.models.reader.move_reader.move_windows import MoveCoder, MoveWindow
from keepbook.models.reader.moves import DEEDS, MOST_LINES, Move, MoveBars, MoveLine, idle_move
from keepbook.models.reader.values import ReaderTurn

if TYPE_CHECKING:
    from keepbook.models.minilm.parts import Arrays

CLOSER = 0.1
"""A piece with this probability of being a deed is read once more by itself."""
MOST_CLOSER = 12
"""How many pieces of a turn are read by themselves: the likeliest deeds."""
KEPT_TURNS = 64
"""How many turns' moves are cached: the same turn is often read twice."""


class MoveReadings(NamedTuple):
    """What both readers say of a turn, before it is weighed: by piece, the move, and of what may be a deed what the
    second reader says."""

    asked: MoveRequest
    moves: Mapping[int, Move]
    pairs: Mapping[int, Pairs]

    def weighed(self, fitted: Mapping[str, Sequence[float]]) -> list[Move]:
        """The moves as both readers have them, each deed with how far it is doubted."""
        found = dict(self.moves)
        for which, pairs in self.pairs.items():
            move = with_pairs(found[which], pairs)
            found[which] = replace(move, unsure=doubt(self.asked, which, move, fitted, pairs))
        return [found.get(which) or idle_move(*piece) for which, piece in enumerate(self.asked.pieces)]


class EncoderMoveReader:
    name = "encoder"

    def __init__(
        self,
        base: MiniLM,
        linear: Callable[[], LinearMoveReader] = LinearMoveReader,
        file: Callable[[str], bytes] = model_files.read_pinned,
    ) -> None:
        self._base, self._linear, self._file = base, linear, file
        self._network = OncePerProcess(self._open_network)
        self._pairs = OncePerProcess(self._open_pairs)

    @property
    def bars(self) -> MoveBars:
        return self._model.bars

    def moves(
        self, turns: Sequence[ReaderTurn], at: int, pieces: Sequence[tuple[int, int]], lines: Sequence[MoveLine]
    ) -> list[Move]:
        model = self._model
        if model.coder.strange(turns[at].text):
            return self._linear().moves(turns, at, pieces, lines)
        return model.moves(_request(turns, at, pieces, lines))

    def readings(
        self, turns: Sequence[ReaderTurn], at: int, pieces: Sequence[tuple[int, int]], lines: Sequence[MoveLine]
    ) -> MoveReadings | None:
        """What `moves` is made of, to learn from; None of a turn that is left to the linear reader."""
        model = self._model
        if model.coder.strange(turns[at].text):
            return None
        return model.readings(_request(turns, at, pieces, lines))

    @property
    def _model(self) -> "_Model":
        return self._network.get()

    def _open_network(self) -> "_Model":
        learned, weights = _learned(self._file("moves.npz"))
        chosen = model_files.chosen_moves("moves")
        heads = MoveHeads(weights, chosen.heat)
        return _Model(self._base.encoder(learned), heads, MoveCoder(self._base.tokenizer()), chosen, self._pairs.get)

    def _open_pairs(self) -> PairReader:
        learned, weights = _learned(self._file("pairs.npz"))
        return PairReader(self._base.encoder(learned), PairHeads(weights), MoveCoder(self._base.tokenizer()))


def _request(
    turns: Sequence[ReaderTurn], at: int, pieces: Sequence[tuple[int, int]], lines: Sequence[MoveLine]
) -> MoveRequest:
    return MoveRequest(tuple(turns[: at + 1]), at, tuple(pieces), tuple(lines[:MOST_LINES]))


def _learned(data: bytes) -> "tuple[Arrays, Arrays]":
    """All that was learned, and the weights of the heads among it."""
    import numpy as np  # with the first text: a program that never reads does not pay for it

    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        learned = {name: file[name] for name in file.files}
    return learned, {name: learned[name].astype("f4") for name in learned if name.startswith("head.")}


class _Model:
    """An opened encoder, which makes moves of turns."""

    def __init__(
        self,
        encode: Encoder,
        heads: MoveHeads,
        coder: MoveCoder,
        chosen: model_files.ChosenMoves,
        pairs: Callable[[], PairReader],
    ) -> None:
        self._encode, self._heads, self.coder, self._pairs = encode, heads, coder, pairs
        self.bars, self._doubt = chosen.bars, chosen.doubt
        self._kept: dict[MoveRequest, list[Move]] = {}

    def moves(self, asked: MoveRequest) -> list[Move]:
        if (found := self._kept.get(asked)) is None:
            found = self.readings(asked).weighed(self._doubt)
            if len(self._kept) >= KEPT_TURNS:
                self._kept.clear()
            self._kept[asked] = found
        return list(found)

    def readings(self, asked: MoveRequest) -> MoveReadings:
        found = self._read(asked, self.coder.windows(*asked))
        deeds = {which: sum(move.acts[act] for act in DEEDS) for which, move in found.items()}
        closer = sorted((which for which in deeds if deeds[which] >= CLOSER), key=lambda which: -deeds[which])
        closer = closer[:MOST_CLOSER]
        if closer:
            found |= self._read(asked, self.coder.alone(*asked, closer))
        pairs = {which: self._pairs().read(asked, which, found[which]) for which in closer}
        return MoveReadings(asked, found, pairs)

    def _read(self, asked: MoveRequest, windows: Sequence[MoveWindow]) -> dict[int, Move]:
        return {
            which: move
            for window in windows
            for which, move in self._heads.read(asked, window, self._encode(window.ids, window.types))
        }
