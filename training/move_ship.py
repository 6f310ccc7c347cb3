"""Writing the files of the readers of moves into the package, with their checksums."""

import io
import json
from dataclasses import asdict
from pathlib import Path

import numpy as np

from keepbook.models.reader.model_files import ChosenMoves
from training.train_reader import READER, pin


def write(encoder: dict[str, np.ndarray], linear: bytes, chosen: dict[str, ChosenMoves], out: Path = READER) -> None:
    folder = out / "weights"
    packed = io.BytesIO()
    np.savez_compressed(packed, **encoder)
    (folder / "moves.npz").write_bytes(packed.getvalue())
    (folder / "moves.bin").write_bytes(linear)
    path = folder / "bars.json"
    every = json.loads(path.read_text())
    for name, (bars, heat, doubt) in chosen.items():
        fitted = {part: [float(f"{one:.5g}") for one in numbers] for part, numbers in doubt.items()}
        every[name] = {"bars": asdict(bars), "heat": heat._asdict(), "doubt": fitted}
    path.write_text(json.dumps(every, indent=1) + "\n")
    pin(folder, out / "pins.py")
