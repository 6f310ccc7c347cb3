"""Train both readers and write what is shipped: `python -m training.train_reader`.

For every writer, both readers are trained on all the others and read that one's chats; from these readings come the
figures, the heat that makes a probability mean what it says, and the bars. Then both are trained on everything. Needs
torch and onnx beside the `embed` extra; with a GPU some minutes, without one most of a night.
"""

import argparse
import hashlib
import io
import json
import multiprocessing
import pickle
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.nn import functional as f

from keepbook.models.minilm import packaged
from keepbook.models.minilm.parts import Parts
from keepbook.models.reader.values import Chosen
from keepbook.models.reader.windows import Coder
from training import chats, encoder_guess, fit, linear_fit
from training.figures import write
from training.judge import Truth, choose, weights
from training.net import learned

HOME = Path(__file__).parent
READER = HOME.parent / "src/keepbook/models/reader"
PLAN = fit.Plan(rank=16, rate=1e-3, epochs=8, twice=1.0)
WANTED = {"encoder": (0.85, 15.0), "linear": (0.8, 10.0)}
"""Precision at least, and chats harmed of a hundred at most, that the bars are chosen for: per piece, which is kinder
than a whole chat of a stranger."""
APART = "g-languages"
"""Judged, but not chosen by: without this writer no chat in another language is left to learn from."""

Readings = dict[tuple[str, str | None], Any]
"""By reader and writer; without a writer, what is shipped."""


def main() -> None:
    given = arguments()
    writers = [*sorted(chats.by_writer()), None]
    found: Readings = pickle.loads(given.readings.read_bytes()) if given.readings and given.readings.exists() else {}
    with multiprocessing.get_context("spawn").Pool(given.workers) as pool:
        for work in (encoder_without, linear_without):
            reader = work.__name__.removesuffix("_without")
            jobs = [
                Job(writer, given, found.get(("encoder", writer)))
                for writer in writers
                if (reader, writer) not in found
            ]
            for writer, result in pool.imap_unordered(work, jobs):
                found[reader, writer] = result
                if given.readings:
                    given.readings.write_bytes(pickle.dumps(found))
    ship(found, given.out or READER)


def arguments() -> argparse.Namespace:
    known = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    known.add_argument("--base", type=Path, help="folder with the base's model.onnx and tokenizer.json")
    known.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    known.add_argument("--workers", type=int, default=1, help="writers judged at the same time")
    known.add_argument("--readings", type=Path, help="keep readings here, and go on from them")
    known.add_argument("--out", type=Path, help="write here instead of into the package")
    given = known.parse_args()
    if given.base:
        given.weights, given.words = given.base / "model.onnx", given.base / "tokenizer.json"
    else:
        given.weights, given.words = packaged.WEIGHTS.path(), packaged.WORDS.path()
    return given


class Job(NamedTuple):
    """Train without this writer's chats and read them; without a name, train on everything."""

    writer: str | None
    given: argparse.Namespace
    encoder: Any

    def chats(self) -> tuple[list[chats.Chat], list[chats.Chat]]:
        """To train on, and to read."""
        every = chats.by_writer()
        others = [chat for name, held in every.items() if name != self.writer for chat in held]
        return others, every[self.writer] if self.writer else []


def encoder_without(job: Job) -> tuple[str | None, Any]:
    base, coder = Parts(job.given.weights.read_bytes()), Coder(Tokenizer.from_file(str(job.given.words)))
    others, unread = job.chats()
    net = fit.train(base, others, coder, PLAN, job.given.device)
    if job.writer is None:
        return None, learned(net, base)
    return job.writer, {
        "own": encoder_guess.own_cuts(net, unread, coder),
        "given": _arrays(encoder_guess.given_cuts(net, unread, coder)),
        "ties": _arrays(encoder_guess.ties(net, unread, coder)),
    }


def linear_without(job: Job) -> tuple[str | None, Any]:
    others, unread = job.chats()
    weights = linear_fit.train(others, job.given.device)
    if job.writer is None:
        return None, weights
    return job.writer, {
        "own": linear_fit.guesses(weights, unread),
        "given": _arrays(linear_fit.given_cuts(weights, unread)),
        "beside": linear_fit.beside(weights, unread, job.encoder["own"]),
    }


def _arrays(given: tuple[torch.Tensor, torch.Tensor]) -> tuple[np.ndarray, np.ndarray]:
    return given[0].numpy(), given[1].numpy()


def ship(found: Readings, out: Path) -> None:
    """Choose weights and bars, and write the files, their checksums and the figures."""
    every = chats.by_writer()
    fair = [writer for writer in every if writer != APART]
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
        chosen[reader] = Chosen(bars, own, beside, _sharpened(found, every) if two else 1.0)
    folder = out / "weights"
    folder.mkdir(parents=True, exist_ok=True)
    packed = io.BytesIO()
    np.savez(packed, **found["encoder", None])
    (folder / "encoder.npz").write_bytes(packed.getvalue())
    (folder / "linear.bin").write_bytes(found["linear", None])
    (folder / "bars.json").write_text(json.dumps({name: asdict(one) for name, one in chosen.items()}, indent=1) + "\n")
    pin(folder, out / "pins.py")
    given = {reader: {writer: found[reader, writer]["given"] for writer in every} for reader in WANTED}
    write(read, given, [found["encoder", writer]["ties"] for writer in every], chosen, out if out != READER else HOME)


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
