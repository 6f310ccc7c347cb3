"""Where the shipped reader would cut the turns of the moves: `python -m training.move_cuts OUT [BASE]`.

Moves are judged on the writers' own parts and on these.
"""

import json
import multiprocessing
import sys
from pathlib import Path

from keepbook.models.minilm.inference import open_minilm
from keepbook.models.minilm.weight_files import Base, find_base
from keepbook.models.reader.choice import linear_reader
from keepbook.models.reader.encoder import EncoderReader
from keepbook.models.reader.values import ReaderTurn
from training import moves

Cuts = dict[str, list[tuple[int, int]]]
"""By hand/dialogue/turn."""


def main(out: Path, base: Base | None, folder: Path = moves.FOLDER) -> None:
    jobs = [(path, base) for path in sorted(folder.glob("*.jsonl"))]
    with multiprocessing.get_context("spawn").Pool(min(len(jobs), 10)) as pool:
        every: Cuts = {}
        for some in pool.imap_unordered(cuts, jobs):
            every |= some
    out.write_text(json.dumps(every))


def cuts(job: tuple[Path, Base | None]) -> Cuts:
    path, base = job
    if base is None:
        raise SystemExit("the base is not installed")
    reader = EncoderReader(open_minilm(base), linear_reader)
    every: Cuts = {}
    for one in moves.load(path):
        turns = [ReaderTurn(turn.role, turn.text) for turn in one.turns]
        for at, turn in enumerate(turns):
            if turn.role == "user":
                pieces = reader.read(turns, upto=at + 1, only=at)
                every[f"{path.stem}/{one.id}/{at}"] = [(piece.start, piece.end) for piece in pieces]
    return every


if __name__ == "__main__":
    given = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    main(Path(sys.argv[1]), Base(given / "model.onnx", given / "tokenizer.json") if given else find_base())
