"""Train the readers of moves and write what is shipped: `python -m training.train_moves`.

For every group of hands a reader is trained on all the others and reads theirs; from these readings come the figures,
the heat that makes a probability mean what it says, and the bars. Then one is trained on everything. Needs torch beside
the `embed` extra; with a GPU some minutes, without one most of a night.
"""

import argparse
import json
import multiprocessing
import pickle
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from tokenizers import Tokenizer

from keepbook.models.minilm import weight_files
from keepbook.models.minilm.parts import BaseWeights
from keepbook.models.reader.choice import linear_reader
from keepbook.models.reader.move_windows import MoveCoder
from training import judged, move_choose, move_fit, move_guess, move_linear_fit, move_ship, moves
from training.judge_moves import Reading, keep
from training.move_cases import Case, cases
from training.move_net import HEADS
from training.move_views import views
from training.net import learned

PLAN = move_fit.Plan()
GROUPS = ("hkrw", "imsx", "jnty", "louvz")
"""Hands that are left out together."""


class Job(NamedTuple):
    """Train without the hands of a group and read them; without a group, train on everything."""

    name: str
    group: str
    plan: move_fit.Plan
    given: argparse.Namespace


def arguments() -> argparse.Namespace:
    known = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    known.add_argument("--base", type=Path, help="folder with the base's model.onnx and tokenizer.json")
    known.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    known.add_argument("--workers", type=int, default=1, help="jobs at the same time")
    known.add_argument("--cuts", type=Path, help="where the reader would cut the turns, by hand/dialogue/turn")
    known.add_argument("--cores", type=int, default=1, help="cores that make the variations")
    known.add_argument("--views", type=int, default=6, help="variations of each dialogue")
    known.add_argument("--jobs", default="", help="names of jobs with settings, as JSON")
    known.add_argument("--out", type=Path, default=Path("build/moves"), help="where results are kept")
    given = known.parse_args()
    if given.base:
        given.weights, given.words = given.base / "model.onnx", given.base / "tokenizer.json"
    else:
        given.weights, given.words = weight_files.WEIGHTS.path(), weight_files.WORDS.path()
    return given


def jobs(given: argparse.Namespace) -> list[Job]:
    if given.jobs:
        rows = json.loads(given.jobs)
        return [Job(row["name"], row.get("group", ""), replace(PLAN, **row.get("plan", {})), given) for row in rows]
    return [Job("all", "", PLAN, given), *(Job(f"without {group}", group, PLAN, given) for group in GROUPS)]


def main() -> None:
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    began = time.time()
    hands, chats = {**moves.by_hand(), **judged.by_hand()}, moves.by_hand(moves.CHATS)
    groups = [*hands.values(), *chats.values()]
    cuts = json.loads(given.cuts.read_text()) if given.cuts else {}
    made = dict(zip([*hands, *chats], views(groups, given.views, given.words, given.cores, cuts), strict=True))
    (given.out / "views").write_bytes(pickle.dumps(made, protocol=5))
    print(f"views made in {time.time() - began:.0f} s", flush=True)
    del made
    with multiprocessing.get_context("spawn").Pool(given.workers) as pool:
        for name, result in pool.imap_unordered(work, jobs(given), chunksize=1):
            (given.out / f"{name.replace(' ', '-')}.pickle").write_bytes(pickle.dumps(result))
    (given.out / "views").unlink()
    if not given.jobs:
        ship(given.out, hands)


def ship(results: Path, hands: dict[str, list[moves.Dialogue]]) -> None:
    """Choose what a deed is trusted by and the bars, and write the files, their checksums and the figures."""
    own, written = {}, {}
    for group in GROUPS:
        for name, readings in pickle.loads((results / f"without-{group}.pickle").read_bytes()).items():
            hand, _, cut = name.partition(" ")
            (own if cut else written)[hand] = readings
    chosen, found = move_choose.encoder(own, written)
    chats = [one for some in moves.by_hand(moves.CHATS).values() for one in some]
    read = {}
    for group in GROUPS:
        others = [one for hand, some in hands.items() if hand not in group for one in some]
        weights = move_linear_fit.train(others + chats)
        for hand in group:
            read[hand] = move_choose.linear_readings(weights, linear_reader(), hands[hand])
    plain, plainly = move_choose.linear(read)
    learned_all = pickle.loads((results / "all.pickle").read_bytes())["weights"]
    everything = move_linear_fit.train([one for some in hands.values() for one in some] + chats)
    move_ship.write(learned_all, everything, {"moves": chosen, "moves_linear": plain})
    keep("left-out hands", {"encoder": found, "linear": plainly})


def work(job: Job) -> tuple[str, Any]:
    torch.set_num_threads(1 if job.given.workers > 1 else torch.get_num_threads())
    began = time.time()
    base, coder = BaseWeights(job.given.weights.read_bytes()), MoveCoder(Tokenizer.from_file(str(job.given.words)))
    made = pickle.loads((job.given.out / "views").read_bytes())
    chats = moves.by_hand(moves.CHATS)
    told = [one for hand, some in made.items() if hand not in chats and hand not in job.group for one in some]
    net = move_fit.train(base, told, [one for hand in chats for one in made[hand]], job.plan, job.given.device)
    print(f"{job.name}: trained in {time.time() - began:.0f} s", flush=True)
    cuts = json.loads(job.given.cuts.read_text()) if job.given.cuts else {}
    hands = moves.by_hand()
    found: dict[str, Any] = {}
    for hand in job.group or ():
        given = [case for one in hands[hand] for case in cases(one)]
        found[hand] = read(net, given, coder, {}, alone=True)
        found[f"{hand} own cuts"] = read(net, given, coder, cuts, alone=True)
    if not job.group:
        found["weights"] = learned(net, base, HEADS)
    print(f"{job.name}: read in {time.time() - began:.0f} s", flush=True)
    return job.name, found


def read(net: Any, given: list[Case], coder: MoveCoder, cuts: dict[str, Any], alone: bool = False) -> list[Reading]:
    """With the writer's parts, or cut as the reader would."""
    pieces = [
        [(start, end) for start, end in cuts.get(f"{case.hand}/{case.dialogue}/{case.at}", case.pieces)]
        for case in given
    ]
    found = move_guess.guesses(net, given, pieces, coder, alone)
    return [Reading(case, tuple(one[at] for at in sorted(one))) for case, one in zip(given, found, strict=True)]


if __name__ == "__main__":
    main()
