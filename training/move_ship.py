"""Writing the files of the readers of moves into the package, with their checksums."""

import io
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np

from keepbook.models.reader.model_files import ChosenMoves
from training.train_reader import READER, pin

Weights = dict[str, np.ndarray]


def write(encoder: Weights, pairs: Weights, linear: bytes, chosen: dict[str, ChosenMoves], out: Path = READER) -> None:
    folder = out / "weights"
    for name, learned in (("moves.npz", encoder), ("pairs.npz", pairs)):
        packed = io.BytesIO()
        np.savez_compressed(packed, **learned)
        (folder / name).write_bytes(packed.getvalue())
    (folder / "moves.bin").write_bytes(linear)
    write_chosen(chosen, out)


def write_chosen(chosen: dict[str, ChosenMoves], out: Path = READER) -> None:
    """The bars, the heat and the doubt, and all checksums."""
    folder = out / "weights"
    path = folder / "bars.json"
    every = json.loads(path.read_text())
    for name, (bars, heat, doubt) in chosen.items():
        fitted = {part: [float(f"{one:.5g}") for one in numbers] for part, numbers in doubt.items()}
        every[name] = {"bars": asdict(bars), "heat": heat._asdict(), "doubt": fitted}
    path.write_text(json.dumps(every, indent=1) + "\n")
    pin(folder, out / "pins.py")
