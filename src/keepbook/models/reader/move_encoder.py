"""The encoder for moves: MiniLM-L6 with adapters of its own.

A turn is read twice. First all its pieces in one window; then every piece that seems to do more than state something,
in a window of its own, where the model knows which piece is asked about. Most turns end with the first.
"""

import io
from collections.abc import Callable, Sequence
from dataclasses import replace

from keepbook.forking import OncePerProcess
from keepbook.models.minilm.inference import Encoder, MiniLM
from keepbook.models.reader import model_files
from keepbook.models.reader.move_doubt import doubt
from keepbook.models.reader.move_heads import MoveHeads
from keepbook.models.reader.move_linear import LinearMoveReader
from keepbook.models.reader.move_signs import MoveRequest
from keepbook.models.reader.move_windows import MoveCoder, MoveWindow
from keepbook.models.reader.moves import DEEDS, MOST_LINES, Move, MoveBars, MoveLine, idle_move
from keepbook.models.reader.values import ReaderTurn

CLOSER = 0.1
"""From this chance of a deed on, a piece is read once more by itself."""
MOST_CLOSER = 12
"""Pieces of a turn that are read by themselves, the likeliest deeds."""
KEPT_TURNS = 64
"""Turns whose moves are remembered: a turn is often decided twice."""


class EncoderMoveReader:
    name = "encoder"

    def __init__(self, base: MiniLM, linear: Callable[[], LinearMoveReader] = LinearMoveReader) -> None:
        self._base, self._linear = base, linear
        self._network = OncePerProcess(self._open_network)

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
        import numpy as np  # with the first text: a program that never reads does not pay for it

        with np.load(io.BytesIO(model_files.read_pinned("moves.npz")), allow_pickle=False) as file:
            learned = {name: file[name] for name in file.files}
        weights = {name: learned[name].astype("f4") for name in learned if name.startswith("head.")}
        chosen = model_files.chosen_moves("moves")
        heads = MoveHeads(weights, chosen.heat)
        return _Model(self._base.encoder(learned), heads, MoveCoder(self._base.tokenizer()), chosen)


class _Model:
    """An opened encoder: turns in, moves out."""

    def __init__(self, encode: Encoder, heads: MoveHeads, coder: MoveCoder, chosen: model_files.ChosenMoves) -> None:
        self._encode, self._heads, self.coder = encode, heads, coder
        self.bars, self._doubt = chosen.bars, chosen.doubt
        self._kept: dict[MoveRequest, list[Move]] = {}

    def moves(self, asked: MoveRequest) -> list[Move]:
        if (found := self._kept.get(asked)) is None:
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
            found[which] = replace(found[which], unsure=doubt(asked, which, found[which], self._doubt))
        return [found.get(which) or idle_move(*piece) for which, piece in enumerate(asked.pieces)]

    def _read(self, asked: MoveRequest, windows: Sequence[MoveWindow]) -> dict[int, Move]:
        return {
            which: move
            for window in windows
            for which, move in self._heads.read(asked, window, self._encode(window.ids, window.types))
        }
