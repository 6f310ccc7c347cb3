"""What the product reads in turns of hands that its readers have not seen: `python -m training.left_out_turns FOLDER`.

Each hand is read with the files that `left_out` wrote without it: cut, judged, and both readers of moves asked, as in
a chat. What comes out is kept in FOLDER/HAND.turns before it is weighed, so that doubt, bars and what is decided can be
chosen and judged in seconds.
"""

import argparse
import lzma
import multiprocessing
import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from keepbook.models.minilm.inference import MiniLM
from keepbook.models.minilm.weight_files import Base, find_base
from keepbook.models.notebook.read import Understood, understand
from keepbook.models.reader.choice import linear_move_reader
from keepbook.models.reader.encoder import EncoderReader
from keepbook.models.reader.linear import LinearReader
from keepbook.models.reader.move_reader.move_encoder import EncoderMoveReader, MoveReadings
from keepbook.models.reader.moves import Move, MoveBars, MoveLine
from keepbook.models.reader.values import KeepThresholds, ReaderPiece, ReaderTurn
from training.judge_turns import scene_of
from training.left_out_groups import GROUPS
from training.move_cases import Case, cases
from training.moves import FOLDER, Dialogue, load


class HeldTurn(NamedTuple):
    """What was read of a turn. `plain`: the moves where it was left to the linear reader."""

    pieces: list[ReaderPiece]
    readings: MoveReadings | None
    plain: list[Move]


@dataclass
class HeldReader:
    """Reads a turn as it was read before, or with a reader whose answer is held."""

    held: list[ReaderPiece]
    reader: Any = None
    name: str = "held"

    @property
    def bars(self) -> KeepThresholds:
        raise NotImplementedError

    def read(self, turns: Sequence[ReaderTurn], upto: int | None = None, only: int | None = None) -> list[ReaderPiece]:
        if self.reader is not None:
            self.held = self.reader.read(turns, upto, only)
        return list(self.held)

    def tie(self, earlier: str, later: str, before: str = "") -> Mapping[str, float]:
        raise NotImplementedError


@dataclass
class HeldMoves:
    """The same for moves, weighed by what was fitted."""

    readings: MoveReadings | None = None
    plain: Sequence[Move] = ()
    fitted: Mapping[str, Sequence[float]] | None = None
    reader: EncoderMoveReader | None = None
    name: str = "encoder"

    @property
    def bars(self) -> MoveBars:
        raise NotImplementedError

    def moves(
        self, turns: Sequence[ReaderTurn], at: int, pieces: Sequence[tuple[int, int]], lines: Sequence[MoveLine]
    ) -> list[Move]:
        if self.reader is not None:
            self.readings = self.reader.readings(turns, at, pieces, lines)
            if self.readings is None:
                self.plain = self.reader.moves(turns, at, pieces, lines)
            else:
                self.plain = self.readings._replace(pairs={}).weighed({})
        if self.readings is None or self.fitted is None:
            return list(self.plain)
        return self.readings.weighed(self.fitted)


def understood(held: HeldTurn, case: Case, dialogue: Dialogue, fitted: Mapping[str, Sequence[float]]) -> Understood:
    """A turn as the product understands it with a doubt that was fitted otherwise."""
    moves = HeldMoves(held.readings, held.plain, fitted)
    return understand(scene_of(case, dialogue), reader=HeldReader(held.pieces), moves=moves)


def held_turns(folder: Path, hand: str) -> list[tuple[Case, Dialogue, HeldTurn]]:
    """The turns of a hand, with what was read of each."""
    every = pickle.loads(lzma.decompress((folder / f"{hand}.turns").read_bytes()))
    given = ((case, dialogue) for dialogue in load(FOLDER / f"{hand}.jsonl") for case in cases(dialogue))
    return [(case, dialogue, held) for (case, dialogue), held in zip(given, every, strict=True)]


def main() -> None:
    known = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    known.add_argument("folder", type=Path)
    known.add_argument("--base", type=Path, help="folder with the base's model.onnx and tokenizer.json")
    known.add_argument("--cores", type=int, default=1)
    given = known.parse_args()
    base = Base(given.base / "model.onnx", given.base / "tokenizer.json") if given.base else find_base()
    jobs = [(hand, group, nth) for group in GROUPS for hand in group for nth in range(PARTS)]
    with multiprocessing.get_context("spawn").Pool(given.cores) as pool:
        parts: dict[str, list[HeldTurn]] = {}
        for (hand, _, _), some in zip(jobs, pool.imap(partial(read_part, given.folder, base), jobs), strict=True):
            parts[hand] = [*parts.get(hand, ()), *some]
    for hand, every in parts.items():
        (given.folder / f"{hand}.turns").write_bytes(lzma.compress(pickle.dumps(every, protocol=5), preset=1))


PARTS = 8
"""A hand is read in so many parts."""


def read_part(folder: Path, base: Base, job: tuple[str, str, int]) -> list[HeldTurn]:
    hand, group, nth = job
    dialogues = load(FOLDER / f"{hand}.jsonl")
    size = -(-len(dialogues) // PARTS)
    return list(read_turns(folder / group, base, dialogues[nth * size : (nth + 1) * size]))


def read_turns(files: Path, base: Base, dialogues: Iterable[Dialogue]) -> Iterable[HeldTurn]:
    net = MiniLM(base)

    def file(name: str) -> bytes:
        return (files / name).read_bytes()

    linear = LinearReader(file("linear.bin"))
    reader = HeldReader([], EncoderReader(net, lambda: linear, file))
    moves = HeldMoves(reader=EncoderMoveReader(net, linear_move_reader, file))
    for dialogue in dialogues:
        for case in cases(dialogue):
            reader.held, moves.readings, moves.plain = [], None, ()
            understand(scene_of(case, dialogue), reader=reader, moves=moves)
            plain = [] if moves.readings is not None else list(moves.plain)
            yield HeldTurn(reader.held, moves.readings, plain)


if __name__ == "__main__":
    main()
