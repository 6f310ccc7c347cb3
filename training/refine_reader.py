"""Teach the shipped reader the cuts and labels of the moves: `python -m training.refine_reader`.

It goes on from what is shipped, with the chats and the moves together, for a few epochs. Left-out hands say whether it
gains: what is shipped reads them first, then what was taught without them.
"""

import argparse
import multiprocessing
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tokenizers import Tokenizer

from keepbook.models.minilm.parts import Parts
from keepbook.models.reader.windows import Coder
from training import chats, encoder_guess, fit
from training.moves import FOLDER
from training.net import learned

PLAN = fit.Plan(rank=16, rate=4e-4, head_rate=4e-4, epochs=4, warm=True)
GROUPS = ("jnv", "mou")


class Job(NamedTuple):
    name: str
    group: str
    epochs: int
    base: Path
    device: str


def main() -> None:
    known = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    known.add_argument("--base", type=Path, required=True, help="folder with the base's model.onnx and tokenizer.json")
    known.add_argument("--out", type=Path, required=True)
    known.add_argument("--workers", type=int, default=1)
    known.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    given = known.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    jobs = [Job("reader-all", "", PLAN.epochs, given.base, given.device)]
    for group in GROUPS:
        jobs.append(Job(f"reader-{group}", group, PLAN.epochs, given.base, given.device))
        jobs.append(Job(f"reader-{group}-shipped", group, 0, given.base, given.device))
    with multiprocessing.get_context("spawn").Pool(given.workers) as pool:
        for name, result in pool.imap_unordered(work, jobs):
            (given.out / f"{name}.pickle").write_bytes(pickle.dumps(result))


def work(job: Job) -> tuple[str, Any]:
    torch.set_num_threads(1)
    base = Parts((job.base / "model.onnx").read_bytes())
    coder = Coder(Tokenizer.from_file(str(job.base / "tokenizer.json")))
    moves = chats.by_writer(FOLDER)
    others = [chat for some in chats.by_writer().values() for chat in some]
    others += [chat for hand, some in moves.items() if hand not in job.group for chat in some]
    plan = fit.Plan(**{**PLAN.__dict__, "epochs": job.epochs})
    net = fit.train(base, others, coder, plan, job.device)
    print(f"{job.name}: trained", flush=True)
    if not job.group:
        return job.name, learned(net, base)
    found = {}
    for hand in job.group:
        scores, right = encoder_guess.given_cuts(net, moves[hand], coder)
        found[hand] = {"own": encoder_guess.own_cuts(net, moves[hand], coder), "given": (scores.numpy(), right.numpy())}
    return job.name, found


if __name__ == "__main__":
    main()
