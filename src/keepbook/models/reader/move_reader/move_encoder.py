"""The encoder for moves: MiniLM-L6 with adapters of its own.

A turn is read up to three times: first all its pieces in one window; then each piece that may be a deed in a window
that judges it alone, which is more accurate; and then, by a second reader with adapters of its own, with one line at a
time (`move_pairs`). For most turns the first is enough.
"""

import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from keepbook.forking import OncePerProcess
from keepbook.models.minilm.inference import Encoder, MiniLM
from keepbook.models.reader import model_files
from keepbook.models.reader.move_reader.move_doubt import doubt
from keepbook.models.reader.move_reader.move_heads import MoveHeads
from keepbook.models.reader.move_reader.move_linear import LinearMoveReader
from keepbook.models.reader.move_reader.move_pairs import PairHeads, PairReader, with_pairs
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


class EncoderMoveReader:
    name = "encoder"

    def __init__(self, base: MiniLM, linear: Callable[[], LinearMoveReader] = LinearMoveReader) -> None:
        self._base, self._linear = base, linear
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
        return model.moves(MoveRequest(tuple(turns[: at + 1]), at, tuple(pieces), tuple(lines[:MOST_LINES])))

    @property
    def _model(self) -> "_Model":
        return self._network.get()

    def _open_network(self) -> "_Model":
        learned, weights = _learned("moves.npz")
        chosen = model_files.chosen_moves("moves")
        heads = MoveHeads(weights, chosen.heat)
        return _Model(self._base.encoder(learned), heads, MoveCoder(self._base.tokenizer()), chosen, self._pairs.get)

    def _open_pairs(self) -> PairReader:
        learned, weights = _learned("pairs.npz")
        return PairReader(self._base.encoder(learned), PairHeads(weights), MoveCoder(self._base.tokenizer()))


def _learned(name: str) -> "tuple[Arrays, Arrays]":
    """All learned tensors of a file, and those of the heads."""
    import numpy as np  # loaded with the first text: a program that never reads does not need it

    with np.load(io.BytesIO(model_files.read_pinned(name)), allow_pickle=False) as file:
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
        found = self._kept.get(asked)
        if found is None:
            found = self._moves(asked)
            if len(self._kept) >= KEPT_TURNS:
                self._kept.clear()
            self._kept[asked] = found
        return list(found)

    def _moves(self, asked: MoveRequest) -> list[Move]:
        found = self._read(asked, self.coder.windows(*asked))
        deeds = {which: sum(move.acts[act] for act in DEEDS) for which, move in found.items()}
        closer = sorted((which for which in deeds if deeds[which] >= CLOSER), key=lambda which: -deeds[which])
        closer = closer[:MOST_CLOSER]
        if closer:
            found |= self._read(asked, self.coder.alone(*asked, closer))
        for which in closer:
            pairs = self._pairs().read(asked, which, found[which])
            move = with_pairs(found[which], pairs)
            found[which] = replace(move, unsure=doubt(asked, which, move, self._doubt, pairs))
        return [found.get(which) or idle_move(*piece) for which, piece in enumerate(asked.pieces)]

    def _read(self, asked: MoveRequest, windows: Sequence[MoveWindow]) -> dict[int, Move]:
        return {
            which: move
            for window in windows
            for which, move in self._heads.read(asked, window, self._encode(window.ids, window.types))
        }
