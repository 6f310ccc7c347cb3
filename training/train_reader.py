"""Train both readers and write what is shipped: `python -m training.train_reader`.

They learn from the chats and from the parts and labels of the moves. For every group of writers, both are trained on
all the others and read theirs; from these readings come the figures, the heat that makes a probability mean what it
says, the bars, and where the moves of left-out hands would be cut. Then both are trained on everything. Needs torch
and onnx beside the `embed` extra; with a GPU some minutes, without one most of a night.
"""

import argparse
import hashlib
import io
import json
import multiprocessing
import pickle
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.nn import functional as f

from keepbook.models.minilm import weight_files
from keepbook.models.minilm.parts import BaseWeights
from keepbook.models.reader.values import TrainedChoice
from keepbook.models.reader.windows import Coder
from training import chats, encoder_guess, fit, linear_fit, moves
from training.figures import write
from training.judge import Truth, choose, weights
from training.net import learned

HOME = Path(__file__).parent
READER = HOME.parent / "src/keepbook/models/reader"
PLAN = fit.Plan(rank=16, rate=1e-3, epochs=6)
WANTED = {"encoder": (0.9, 8.0), "linear": (0.85, 6.0)}
"""Precision at least, and chats harmed of a hundred at most, that the bars are chosen for: per piece, which is kinder
than a whole chat of a stranger."""
APART = "g-languages"
"""Judged, but not chosen by: without this writer no chat in another language is left to learn from."""
GROUPS = (
    ("a-home", "e-life", "k-every-day", "moves/h", "moves/k", "moves/r", "moves/w"),
    ("b-money", "f-hard", "moves/i", "moves/m", "moves/s", "moves/x"),
    ("c-trading", "h-orders", "j-money-talk", "l-settled", "moves/j", "moves/n", "moves/t", "moves/y"),
    ("d-work", "i-rambles", "g-languages", "moves/l", "moves/o", "moves/u", "moves/v", "moves/z"),
)
"""Writers that are left out together."""

Readings = dict[tuple[str, str | None], Any]
"""By reader and writer; without a writer, what is shipped."""


def writers() -> dict[str, list[chats.Chat]]:
    """All that is learned from: the chats, and the hands of the moves."""
    hands = chats.by_writer(moves.FOLDER)
    named = {f"moves/{hand}": [replace(one, id=f"{hand}/{one.id}") for one in some] for hand, some in hands.items()}
    return {**chats.by_writer(), **named}


def main() -> None:
    given = arguments()
    found: Readings = pickle.loads(given.readings.read_bytes()) if given.readings and given.readings.exists() else {}
    with multiprocessing.get_context("spawn").Pool(given.workers) as pool:
        for work in (encoder_without, linear_without):
            reader = work.__name__.removesuffix("_without")
            jobs = [
                Job(group, given, {writer: found.get(("encoder", writer)) for writer in group})
                for group in ((), *GROUPS)
                if (reader, group[0] if group else None) not in found
            ]
            for results in pool.imap_unordered(work, jobs):
                found |= {(reader, writer): result for writer, result in results.items()}
                if given.readings:
                    given.readings.write_bytes(pickle.dumps(found))
    ship(found, given.out or READER)
    if given.cuts:
        given.cuts.write_text(json.dumps(cuts_of(found)))


def cuts_of(found: Readings) -> dict[str, list[tuple[int, int]]]:
    """Where each hand's turns would be cut by a reader that has not learned from it, by hand/dialogue/turn."""
    every: dict[str, list[tuple[int, int]]] = {}
    for (reader, writer), result in found.items():
        if reader == "encoder" and writer is not None and writer.startswith("moves/"):
            for one in result["own"]:
                every.setdefault(f"{one.chat}/{one.turn}", []).append((one.start, one.end))
    return {place: sorted(some) for place, some in every.items()}


def arguments() -> argparse.Namespace:
    known = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    known.add_argument("--base", type=Path, help="folder with the base's model.onnx and tokenizer.json")
    known.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    known.add_argument("--workers", type=int, default=1, help="writers judged at the same time")
    known.add_argument("--cuts", type=Path, help="write here where the moves of left-out hands would be cut")
    known.add_argument("--pieces", type=Path, help="write here the readers that left out a group, for the moves")
    known.add_argument("--readings", type=Path, help="keep readings here, and go on from them")
    known.add_argument("--out", type=Path, help="write here instead of into the package")
    return with_base(known.parse_args())


def with_base(given: argparse.Namespace) -> argparse.Namespace:
    """With the paths of the base's files: those of a folder, else the installed ones."""
    if given.base:
        given.weights, given.words = given.base / "model.onnx", given.base / "tokenizer.json"
    else:
        given.weights, given.words = weight_files.WEIGHTS.path(), weight_files.WORDS.path()
    return given


class Job(NamedTuple):
    """Train without some writers and read what they wrote; without any, train on everything."""

    group: tuple[str, ...]
    given: argparse.Namespace
    encoder: dict[str, Any]

    def others(self) -> list[chats.Chat]:
        """What is trained on."""
        return [chat for name, some in writers().items() if name not in self.group for chat in some]


def encoder_without(job: Job) -> dict[str | None, Any]:
    torch.set_num_threads(1 if job.given.workers > 1 else torch.get_num_threads())
    base, coder = BaseWeights(job.given.weights.read_bytes()), Coder(Tokenizer.from_file(str(job.given.words)))
    net = fit.train(base, job.others(), coder, PLAN, job.given.device)
    print(f"encoder without {job.group}: trained", flush=True)
    if not job.group:
        return {None: learned(net, base)}
    if job.given.pieces:
        hands = "".join(writer[-1] for writer in job.group if writer.startswith("moves/"))
        job.given.pieces.mkdir(parents=True, exist_ok=True)
        np.savez(job.given.pieces / f"piece-{hands}.npz", **learned(net, base))
    every = writers()
    return {
        writer: {
            "own": encoder_guess.own_cuts(net, every[writer], coder),
            "given": _arrays(encoder_guess.given_cuts(net, every[writer], coder)),
            "ties": _arrays(encoder_guess.ties(net, every[writer], coder)) if writer in chats.by_writer() else None,
        }
        for writer in job.group
    }


def linear_without(job: Job) -> dict[str | None, Any]:
    torch.set_num_threads(1 if job.given.workers > 1 else torch.get_num_threads())
    weights = linear_fit.train(job.others(), job.given.device)
    print(f"linear without {job.group}: trained", flush=True)
    if not job.group:
        return {None: weights}
    every = writers()
    return {
        writer: {
            "own": linear_fit.guesses(weights, every[writer]),
            "given": _arrays(linear_fit.given_cuts(weights, every[writer])),
            "beside": linear_fit.beside(weights, every[writer], job.encoder[writer]["own"]),
        }
        for writer in job.group
    }


def _arrays(given: tuple[torch.Tensor, torch.Tensor]) -> tuple[np.ndarray, np.ndarray]:
    return given[0].numpy(), given[1].numpy()


def ship(found: Readings, out: Path) -> None:
    """Choose weights and bars, and write the files, their checksums and the figures."""
    every = writers()
    fair = [writer for writer in chats.by_writer() if writer != APART]
    truth = Truth(chat for writer in fair for chat in every[writer])
    read = {
        "encoder": {writer: found["linear", writer]["beside"] for writer in every},
        "linear": {writer: found["linear", writer]["own"] for writer in every},
    }
    chosen = {}
    for reader, (precision, harmed) in WANTED.items():
        two = reader == "encoder"
        own, beside = weights(truth, [one for writer in fair for one in read[reader][writer]], two)
        read[reader] = {name: [one.weighed(own, beside) for one in held] for name, held in read[reader].items()}
        bars = choose(truth, [one for writer in fair for one in read[reader][writer]], precision, harmed)
        chosen[reader] = TrainedChoice(bars, own, beside, _sharpened(found, fair) if two else 1.0)
    folder = out / "weights"
    folder.mkdir(parents=True, exist_ok=True)
    packed = io.BytesIO()
    np.savez(packed, **found["encoder", None])
    (folder / "encoder.npz").write_bytes(packed.getvalue())
    (folder / "linear.bin").write_bytes(found["linear", None])
    bars_file = folder / "bars.json"
    before = json.loads(bars_file.read_text()) if bars_file.exists() else {}
    bars_file.write_text(json.dumps(before | {name: asdict(one) for name, one in chosen.items()}, indent=1) + "\n")
    pin(folder, out / "pins.py")
    given = {reader: {writer: found[reader, writer]["given"] for writer in every} for reader in WANTED}
    tied = [found["encoder", writer]["ties"] for writer in chats.by_writer()]
    write(every, read, given, tied, chosen, out if out != READER else HOME)


def _sharpened(found: Readings, writers: Iterable[str]) -> float:
    """By how much to multiply the scores of ties, so that their probabilities are most nearly right."""
    read = [found["encoder", writer]["ties"] for writer in writers]
    scores, right = (torch.tensor(np.concatenate(part)) for part in zip(*read, strict=True))
    scores, right = scores[right >= 0], right[right >= 0]
    return min((at / 20 for at in range(8, 41)), key=lambda by: float(f.cross_entropy(scores * by, right)))


def pin(weights: Path, code: Path) -> None:
    lines = ['"""The checksums of the reader\'s files, written by training."""', "", "SHA256 = {"]
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(weights.iterdir())}
    lines += [f'    "{name}": "{one}",' for name, one in sums.items()]
    code.write_text("\n".join([*lines, "}", ""]))


if __name__ == "__main__":
    main()
